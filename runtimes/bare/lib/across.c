/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads across the dispatchers of a program, which share its variables and nothing else. What one dispatcher has to say to another is a
 * message in that one's inbox, and the message is the thread that it is about: it needs no memory, and an inbox is never full. Source: 1, 1.4.
 *
 * Nothing here spins for another dispatcher, which may not be running: a mutex is one word, changed in one step, and passed on to who
 * waits first.
 */
#include "lib.h"

#define NODES 256
#define POOL  64
#define HELD  1ull

/* A dispatcher of this program. */
static struct place {
	u32 used;
	u32 generation; /* counts its dispatchers; 0: none so far */
	u32 core, number;
	struct mk_node *inbox; /* the last one first */
} places[PLACES] __attribute__((aligned(64)));

static struct mk_node nodes[NODES];
/* The place of the dispatcher for threads that move, and two; 1: it is being made. */
static u32 hosts[64];

/* --- places and messages -------------------------------------------------------------------------------- */

void place_take(void)
{
	struct mk_dcb *d = mk_self();

	for (u32 i = 0; i < PLACES; i++) {
		struct place *p = &places[i];

		if (weir_load(&p->used) || weir_cas(&p->used, 0, 1) != 0)
			continue;
		p->core = (u32)d->core;
		p->number = (u32)d->number;
		p->inbox = 0;
		weir_store_release(&p->generation, p->generation + 1);
		lib()->place = i;
		return;
	}
	/* It can wait for threads of its own only. */
	lib()->place = PLACES;
}

void place_leave(void)
{
	if (lib()->begun && lib()->place < PLACES)
		weir_store_release(&places[lib()->place].used, 0);
}

/* The slot of the notification that wakes a place; the monitor makes it, once. Below 0: there is none. Enabled. */
static s64 peer_slot(u32 place)
{
	struct peer *k = &lib()->peer[place];
	struct place *p = &places[place];
	u32 generation = weir_load_acquire(&p->generation);
	u64 words[4] = { MON_SIBLING, p->core, p->number, 2 }, answer[4];
	s64 err;

	if (k->generation == generation)
		return k->slot;
	err = ask_monitor(words, answer);
	if (err)
		return err;
	if (k->generation)
		mk_invoke(k->slot, CMD_DELETE, 0, 0, 0, 0);
	*k = (struct peer){ .generation = generation, .slot = (u32)answer[1] };
	return k->slot;
}

static void post(struct mk_node *n, u32 place)
{
	struct place *p = &places[place];
	struct mk_node *was;

	do {
		was = weir_load(&p->inbox);
		weir_store(&n->next, was);
	} while (weir_cas(&p->inbox, was, n) != was);
}

/* A message for another place, and the notification that wakes it. */
static void send(struct mk_node *n, u32 place, u64 slot)
{
	post(n, place);
	mk_invoke(slot, CMD_POKE, 0, 0, 0, 0);
}

/* A list whose last one is first, the other way round. */
static struct mk_node *reversed(struct mk_node *list)
{
	struct mk_node *in_order = 0;

	while (list) {
		struct mk_node *next = list->next;

		list->next = in_order;
		in_order = list;
		list = next;
	}
	return in_order;
}

/*
 * The thread that waits with @n goes on. Only its own dispatcher says so, when it has the message: until then @n is in an inbox, and a thread
 * that saw the word earlier would put it into another list. Disabled.
 */
static void grant(struct mk_node *n)
{
	n->granted = 1;
	if (n->thread->state == THREAD_PARKED)
		ready(n->thread, 0);
}

/* Let a thread go on, which waits; it may be on another core. Enabled. */
static void wake(struct mk_node *n)
{
	u32 place = n->place;

	if (place == lib()->place) {
		disable();
		grant(n);
		enable();
		return;
	}
	send(n, place, (u64)peer_slot(place));
}

/* Disabled. */
void take_inbox(void)
{
	u32 place = lib()->place;
	struct mk_node *n, *next;

	if (place == PLACES)
		return;
	for (n = reversed(__atomic_exchange_n(&places[place].inbox, 0, __ATOMIC_ACQ_REL)); n;
	     n = next) {
		next = n->next;
		if (n->thread->state == THREAD_MOVING)
			ready(n->thread, 0);
		else
			grant(n);
	}
}

/* The record of the calling thread; null: all are taken. */
static struct mk_node *own_node(void)
{
	struct mk_thread *t = lib()->current;

	for (u32 i = 0; i < NODES && !t->node; i++) {
		struct mk_node *n = &nodes[i];

		if (weir_load(&n->used) || weir_cas(&n->used, 0, 1) != 0)
			continue;
		n->thread = t;
		n->place = lib()->place;
		t->node = n;
	}
	return t->node;
}

/* Wait until another thread has called wake(). */
static void await(struct mk_node *n)
{
	disable();
	while (!n->granted)
		park();
	enable();
}

/* --- mutexes, condition variables, semaphores -------------------------------------------------------------- */

static void append(struct mk_node **first, struct mk_node **last, struct mk_node *n)
{
	n->next = 0;
	if (*first)
		(*last)->next = n;
	else
		*first = n;
	*last = n;
}

static struct mk_node *remove_first(struct mk_node **first)
{
	struct mk_node *n = *first;

	if (n)
		*first = n->next;
	return n;
}

void mk_lock(struct mk_mutex *m)
{
	struct mk_node *n;

	if (weir_cas(&m->state, 0, HELD) == 0)
		return;
	n = own_node();
	for (;;) {
		u64 s = weir_load(&m->state);

		if (!s && weir_cas(&m->state, 0, HELD) == 0)
			return;
		if (!s)
			continue;
		if (!n) {
			mk_sleep(10000);
			continue;
		}
		n->granted = 0;
		n->next = (struct mk_node *)(s & ~HELD);
		if (weir_cas(&m->state, s, (u64)n | HELD) == s)
			break;
	}
	await(n);
}

/* Those that came since the last look wait behind the others, in the order in which they came. */
static void line_up(struct mk_mutex *m)
{
	u64 came = __atomic_exchange_n(&m->state, HELD, __ATOMIC_ACQ_REL) & ~HELD;
	struct mk_node *n, *next;

	for (n = reversed((struct mk_node *)came); n; n = next) {
		next = n->next;
		append(&m->first, &m->last, n);
	}
}

void mk_unlock(struct mk_mutex *m)
{
	struct mk_node *n = remove_first(&m->first);

	while (!n) {
		if (weir_cas(&m->state, HELD, 0) == HELD)
			return;
		line_up(m);
		n = remove_first(&m->first);
	}
	/* It is the holder now. */
	wake(n);
}

void mk_cond_wait(struct mk_cond *c, struct mk_mutex *m)
{
	struct mk_node *n = own_node();

	if (!n) {
		mk_unlock(m);
		mk_sleep(10000);
		mk_lock(m);
		return;
	}
	n->granted = 0;
	append(&c->first, &c->last, n);
	mk_unlock(m);
	await(n);
}

void mk_cond_signal(struct mk_cond *c, struct mk_mutex *m)
{
	struct mk_node *n = remove_first(&c->first);

	if (n)
		append(&m->first, &m->last, n);
}

void mk_cond_broadcast(struct mk_cond *c, struct mk_mutex *m)
{
	while (c->first)
		mk_cond_signal(c, m);
}

void mk_sem_wait(struct mk_semaphore *s)
{
	mk_lock(&s->lock);
	while (!s->value)
		mk_cond_wait(&s->more, &s->lock);
	s->value--;
	mk_unlock(&s->lock);
}

void mk_sem_post(struct mk_semaphore *s)
{
	mk_lock(&s->lock);
	s->value++;
	mk_cond_signal(&s->more, &s->lock);
	mk_unlock(&s->lock);
}

/* --- threads on other cores ------------------------------------------------------------------------------------- */

/* In the program's variables, so that its stack is where it was on every core. */
struct pooled {
	struct mk_thread thread;
	char stack[STACK_BYTES] __attribute__((aligned(16)));
	u32 taken;
};
static struct pooled pool[POOL];

static void host(void *arg)
{
	u32 core = (u32)mk_self()->core;

	(void)arg;
	weir_store_release(&hosts[core], lib()->place + 2);
	for (;;)
		mk_park();
}

/* The place for threads on @core, or below 0. */
static s64 host_of(u32 core)
{
	u32 at;

	if (core >= mk_self()->nr_cores || lib()->place == PLACES)
		return MK_EINVAL;
	if (core == mk_self()->core)
		weir_cas(&hosts[core], 0, lib()->place + 2);
	if (weir_cas(&hosts[core], 0, 1) == 0 && mk_spawn(core, host, 0) < 0) {
		weir_store(&hosts[core], 0);
		return MK_EROOM;
	}
	while ((at = weir_load_acquire(&hosts[core])) == 1)
		mk_sleep(10000);
	return at ? (s64)at - 2 : MK_EROOM;
}

/* Disabled, on the dispatcher's stack. */
void off_its_stack(struct mk_thread *t)
{
	u32 place = t->own.place, slot;

	if (t->state == THREAD_GONE) {
		thread_release(t);
		return;
	}
	slot = lib()->peer[place].slot;
	send(&t->own, place, slot);
}

struct mk_thread *mk_thread_on(u32 core, void (*fn)(void *), void *arg)
{
	s64 place = host_of(core), slot = 0;

	if (place >= 0 && (u64)place != lib()->place)
		slot = peer_slot((u32)place);
	if (place < 0 || slot < 0)
		return 0;
	for (u32 i = 0; i < POOL; i++) {
		struct pooled *p = &pool[i];
		struct mk_thread *t = &p->thread;

		if (weir_load(&p->taken) || weir_cas(&p->taken, 0, 1) != 0)
			continue;
		*t = (struct mk_thread){
			.fn = fn, .arg = arg, .refs = 2, .moves = 1, .taken = &p->taken
		};
		t->own = (struct mk_node){ .thread = t, .place = (u32)place };
		t->node = &t->own;
		t->area[0] = (u64)thread_begin;
		t->area[2] = (u64)p->stack + STACK_BYTES;
		t->state = THREAD_MOVING;
		if ((u64)place == lib()->place) {
			disable();
			ready(t, 0);
			enable();
		} else {
			send(&t->own, (u32)place, (u64)slot);
		}
		return t;
	}
	return 0;
}

s64 mk_move(u32 core)
{
	struct mk_thread *t = lib()->current;
	s64 place = t->moves ? host_of(core) : MK_EINVAL, slot;

	if (place < 0 || (u64)place == lib()->place)
		return place < 0 ? place : MK_OK;
	slot = peer_slot((u32)place);
	if (slot < 0)
		return slot;
	disable();
	t->has_fp |= (u32)mk_self()->fp;
	t->own.place = (u32)place;
	t->state = THREAD_MOVING;
	lib()->current = 0;
	lib()->off = t;
	/* Continues there. */
	mk_switch_out(t->area);
	return MK_OK;
}
