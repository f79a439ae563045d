/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Synchronisation. A waiter's record is on the stack of its thread, in a queue under a lock that is held for a few instructions. The
 * thread that removes the record marks it and does not read it again; it may only wake the waiter's thread, which is always safe.
 */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

#define SPIN_NS 20000u /* what it costs to sleep and be woken */

void queue_add(struct weir_queue *q, struct weir_waiter *w)
{
	w->thread = me()->thread;
	w->next = 0;
	if (q->tail)
		q->tail->next = w;
	else
		q->head = w;
	q->tail = w;
	q->nr++;
}

struct weir_waiter *queue_pop(struct weir_queue *q)
{
	struct weir_waiter *w = q->head;

	if (!w)
		return 0;
	q->head = w->next;
	if (!q->head)
		q->tail = 0;
	q->nr--;
	return w;
}

static int queue_remove(struct weir_queue *q, struct weir_waiter *w)
{
	struct weir_waiter *before = 0;

	for (struct weir_waiter *at = q->head; at; before = at, at = at->next) {
		if (at != w)
			continue;
		if (before)
			before->next = w->next;
		else
			q->head = w->next;
		if (q->tail == w)
			q->tail = before;
		q->nr--;
		return 1;
	}
	return 0;
}

void waiter_wake(struct weir_waiter *w)
{
	struct weir_thread *t = w->thread;
	u32 *word = &w->woken;

	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	/* The waiter may be gone by now: a wake at an old address reaches no thread, and a spurious permit is allowed. */
	if (t)
		unpark(t);
	else
		futex_wake(word, 1);
}

int queue_wait(struct weir_queue *q, struct weir_waiter *w, u64 at)
{
	unspin(&q->lock);
	while (!__atomic_load_n(&w->woken, __ATOMIC_ACQUIRE)) {
		if (at != NEVER && now() >= at) {
			int in;

			spin(&q->lock);
			in = queue_remove(q, w);
			unspin(&q->lock);
			if (in)
				return -ETIMEDOUT;
			/* Already removed: the wake-up will come. */
			at = NEVER;
		}
		if (w->thread)
			park_until(at);
		else
			futex_wait(&w->woken, 0, at);
	}
	return 0;
}

/* --- a word ---------------------------------------------------------------------------------------------------------- */

#define WORDS 256u

static struct weir_queue words[WORDS];

static struct weir_queue *queue_of(const u32 *word)
{
	u64 a = (u64)word;

	return &words[(a >> 2 ^ a >> 10 ^ a >> 18) % WORDS];
}

/* The child of a fork has none of the threads that wait. */
void sync_forked(void)
{
	memset(words, 0, sizeof(words));
}

WEIR_API int weir_wait_on(uint32_t *word, uint32_t value, uint64_t at)
{
	struct weir_queue *q = queue_of(word);
	struct weir_waiter w = { .word = (u64)word };
	int err = 0;

	hold();
	spin(&q->lock);
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
		unspin(&q->lock);
		err = -EAGAIN;
	} else {
		queue_add(q, &w);
		err = queue_wait(q, &w, at);
	}
	release();
	return err;
}

WEIR_API void weir_wake_on(uint32_t *word, unsigned n)
{
	struct weir_queue *q = queue_of(word);
	struct weir_waiter *w, *next;

	hold();
	spin(&q->lock);
	for (w = q->head; w && n; w = next) {
		next = w->next;
		if (w->word != (u64)word)
			continue;
		queue_remove(q, w);
		waiter_wake(w);
		n--;
	}
	unspin(&q->lock);
	release();
}

/* --- mutex: 0 free, 1 taken, 2 taken and a thread may wait ---------------------------------------------------------- */

WEIR_API int weir_mutex_trylock(weir_mutex *m)
{
	u32 free = 0;

	return __atomic_compare_exchange_n(&m->state, &free, 1, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED)
		       ? 0
		       : -EBUSY;
}

WEIR_API void weir_mutex_lock(weir_mutex *m)
{
	if (!weir_mutex_trylock(m))
		return;
	hold();
	for (;;) {
		struct weir_waiter w = { 0 };

		spin(&m->queue.lock);
		if (!__atomic_exchange_n(&m->state, 2, __ATOMIC_ACQUIRE)) {
			unspin(&m->queue.lock);
			break;
		}
		queue_add(&m->queue, &w);
		queue_wait(&m->queue, &w, NEVER);
	}
	release();
}

WEIR_API void weir_mutex_unlock(weir_mutex *m)
{
	struct weir_waiter *w;

	if (__atomic_exchange_n(&m->state, 0, __ATOMIC_RELEASE) != 2)
		return;
	hold();
	spin(&m->queue.lock);
	w = queue_pop(&m->queue);
	if (w)
		waiter_wake(w);
	unspin(&m->queue.lock);
	release();
}

/* --- condition ----------------------------------------------------------------------------------------------------- */

WEIR_API int weir_cond_wait_until(weir_cond *c, weir_mutex *m, uint64_t at)
{
	struct weir_waiter w = { 0 };
	int err;

	hold();
	spin(&c->queue.lock);
	queue_add(&c->queue, &w);
	unspin(&c->queue.lock);
	weir_mutex_unlock(m);
	spin(&c->queue.lock);
	err = queue_wait(&c->queue, &w, at);
	weir_mutex_lock(m);
	release();
	return err;
}

WEIR_API void weir_cond_wait(weir_cond *c, weir_mutex *m)
{
	weir_cond_wait_until(c, m, NEVER);
}

static void cond_wake(weir_cond *c, int all)
{
	struct weir_waiter *w;

	hold();
	spin(&c->queue.lock);
	do {
		w = queue_pop(&c->queue);
		if (w)
			waiter_wake(w);
	} while (w && all);
	unspin(&c->queue.lock);
	release();
}

WEIR_API void weir_cond_signal(weir_cond *c)
{
	cond_wake(c, 0);
}

WEIR_API void weir_cond_broadcast(weir_cond *c)
{
	cond_wake(c, 1);
}

/* --- semaphore ------------------------------------------------------------------------------------------------------ */

WEIR_API int weir_sem_trywait(weir_sem *s)
{
	int64_t n = __atomic_load_n(&s->count, __ATOMIC_RELAXED);

	while (n > 0)
		if (__atomic_compare_exchange_n(&s->count, &n, n - 1, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return 0;
	return -EAGAIN;
}

WEIR_API int weir_sem_wait_until(weir_sem *s, uint64_t at)
{
	struct weir_waiter w = { 0 };
	int err = 0;

	if (!weir_sem_trywait(s))
		return 0;
	hold();
	spin(&s->queue.lock);
	if (!weir_sem_trywait(s)) {
		unspin(&s->queue.lock);
	} else {
		queue_add(&s->queue, &w);
		err = queue_wait(&s->queue, &w, at);
	}
	release();
	return err;
}

WEIR_API void weir_sem_wait(weir_sem *s)
{
	weir_sem_wait_until(s, NEVER);
}

WEIR_API void weir_sem_post(weir_sem *s)
{
	struct weir_waiter *w;

	hold();
	spin(&s->queue.lock);
	w = queue_pop(&s->queue);
	if (w)
		waiter_wake(w); /* the unit goes directly to the waiter, not through the count */
	else
		__atomic_fetch_add(&s->count, 1, __ATOMIC_RELEASE);
	unspin(&s->queue.lock);
	release();
}

/* --- barrier --------------------------------------------------------------------------------------------------------- */

WEIR_API int weir_barrier_wait(weir_barrier *b)
{
	u32 generation = __atomic_load_n(&b->generation, __ATOMIC_ACQUIRE);
	struct weir_waiter w = { 0 }, *other;
	u64 until = 0;

	if (__atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) == b->needed) {
		hold();
		spin(&b->queue.lock);
		__atomic_store_n(&b->arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&b->generation, generation + 1, __ATOMIC_RELEASE);
		while ((other = queue_pop(&b->queue)))
			waiter_wake(other);
		unspin(&b->queue.lock);
		release();
		return 1;
	}
	/* With more threads than CPUs, the others may be unable to arrive while this one spins. */
	if (rt.nr_cpus > 1 && b->needed <= rt.nr_cpus)
		until = now() + SPIN_NS;
	while (until && now() < until) {
		for (u32 i = 0; i < 32; i++) {
			if (__atomic_load_n(&b->generation, __ATOMIC_ACQUIRE) != generation)
				return 0;
			weir_port_relax(0);
		}
	}
	hold();
	spin(&b->queue.lock);
	if (__atomic_load_n(&b->generation, __ATOMIC_ACQUIRE) != generation) {
		unspin(&b->queue.lock);
	} else {
		queue_add(&b->queue, &w);
		queue_wait(&b->queue, &w, NEVER);
	}
	release();
	return 0;
}

/* --- channel ------------------------------------------------------------------------------------------------------------ */

struct weir_chan {
	struct weir_queue senders; /* its lock is the channel's */
	struct weir_queue receivers;
	u32 capacity, first, nr, closed;
	u64 words[];
};

WEIR_API weir_chan *weir_chan_new(uint32_t capacity)
{
	weir_chan *c = calloc(1, sizeof(*c) + (size_t)capacity * sizeof(u64));

	if (c)
		c->capacity = capacity;
	return c;
}

WEIR_API void weir_chan_free(weir_chan *c)
{
	free(c);
}

/* The channel's lock also protects the receivers' queue. */
static int chan_wait(weir_chan *c, struct weir_queue *q, struct weir_waiter *w, u64 at)
{
	queue_add(q, w);
	unspin(&c->senders.lock);
	while (!__atomic_load_n(&w->woken, __ATOMIC_ACQUIRE)) {
		if (at != NEVER && now() >= at) {
			int in;

			spin(&c->senders.lock);
			in = queue_remove(q, w);
			unspin(&c->senders.lock);
			if (in)
				return -ETIMEDOUT;
			at = NEVER;
		}
		if (w->thread)
			park_until(at);
		else
			futex_wait(&w->woken, 0, at);
	}
	return w->closed ? -EPIPE : 0;
}

WEIR_API int weir_chan_send_until(weir_chan *c, uint64_t word, uint64_t at)
{
	struct weir_waiter own = { .word = word }, *w;
	int err = 0;

	hold();
	spin(&c->senders.lock);
	if (c->closed) {
		err = -EPIPE;
	} else if ((w = queue_pop(&c->receivers))) {
		w->word = word;
		waiter_wake(w);
	} else if (c->nr < c->capacity) {
		c->words[(c->first + c->nr++) % c->capacity] = word;
	} else if (!at) {
		err = -EAGAIN;
	} else {
		err = chan_wait(c, &c->senders, &own, at);
		release();
		return err;
	}
	unspin(&c->senders.lock);
	release();
	return err;
}

WEIR_API int weir_chan_send(weir_chan *c, uint64_t word)
{
	return weir_chan_send_until(c, word, NEVER);
}

WEIR_API int weir_chan_recv_until(weir_chan *c, uint64_t *word, uint64_t at)
{
	struct weir_waiter own = { 0 }, *w;
	int err = 0;

	hold();
	spin(&c->senders.lock);
	if (c->nr) {
		*word = c->words[c->first];
		c->first = (c->first + 1) % c->capacity;
		c->nr--;
		/* A sender that waits takes the free place. */
		w = queue_pop(&c->senders);
		if (w) {
			c->words[(c->first + c->nr++) % c->capacity] = w->word;
			waiter_wake(w);
		}
	} else if ((w = queue_pop(&c->senders))) {
		*word = w->word;
		waiter_wake(w);
	} else if (c->closed) {
		err = -EPIPE;
	} else if (!at) {
		err = -EAGAIN;
	} else {
		err = chan_wait(c, &c->receivers, &own, at);
		*word = own.word;
		release();
		return err;
	}
	unspin(&c->senders.lock);
	release();
	return err;
}

WEIR_API int weir_chan_recv(weir_chan *c, uint64_t *word)
{
	return weir_chan_recv_until(c, word, NEVER);
}

WEIR_API void weir_chan_close(weir_chan *c)
{
	struct weir_waiter *w;

	hold();
	spin(&c->senders.lock);
	c->closed = 1;
	while ((w = queue_pop(&c->receivers)) || (w = queue_pop(&c->senders))) {
		w->closed = 1;
		waiter_wake(w);
	}
	unspin(&c->senders.lock);
	release();
}
