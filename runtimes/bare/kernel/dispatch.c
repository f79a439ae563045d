/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scheduler, of one hart or of all, and the running dispatcher. A dispatcher is a task of the policy. `charged` is the chosen one,
 * `current` the running one: a message lends the sender's time to the receiver, until the receiver has no more work or the time is over.
 */
#include "kernel.h"
#include "plan.h"

extern const struct weir_descriptor *const weir_descriptors[];
extern const u32 weir_nr_descriptors;
void weir_host_classes(struct weir_class *out);
void weir_host_setup(struct weir_sched *s, u64 cookie, u64 rt_topics);

struct kdcb dispatchers[MAX_HARTS][MAX_DISPATCHERS];
struct home homes[MAX_HARTS];
static u32 nr_tasks;	/* made so far, by all harts */
static u32 nr_programs; /* dispatchers that the machine waits for */
u64 ended_at;

u32 programs_left(void)
{
	return weir_load(&nr_programs);
}

/* Of one scheduler; if it is for all harts, hart 0 serves them. */
static struct timers {
	u64 at[MAX_TIMERS]; /* 0: none */
	u32 nr;		    /* instances */
} timers[MAX_HARTS];
static u32 has_slice, has_tick;

/* --- what the core calls ------------------------------------------------------------------------------- */

/* Clocks of harts differ by up to a quantum; the core's goes forward only. */
u64 weir_rt_now(struct weir_sched *s)
{
	static u64 latest;
	u64 t = now(self()), seen;

	(void)s;
	if (!SHARED)
		return t;
	do {
		seen = weir_load(&latest);
		if (seen >= t)
			return seen;
	} while (weir_cas(&latest, seen, t) != seen);
	return t;
}

/* Another hart chooses again. */
static void ask(struct hart *h, u32 hart, u32 what)
{
	weir_fetch_or(&remotes[hart].asked, what);
	prod(h, hart);
}

void weir_rt_message(struct weir_sched *s, const struct weir_msg *msg)
{
	struct hart *h = self();

	(void)s;
	if (msg->topic == WEIR_TOPIC_DEADLINE_MISS) {
		if (msg->task)
			trace(h, TRACE_MISS, ((struct kdcb *)msg->task->cookie)->id, 0, 0);
		return;
	}
	/* KICK or PREEMPT. */
	if (!SHARED || msg->cpu == h->cpu)
		h->resched = 1;
	else if (msg->cpu < boot_record()->harts)
		ask(h, msg->cpu,
		    msg->topic == WEIR_TOPIC_KICK ? ASKED_TO_CHOOSE : ASKED_TO_PREEMPT);
}

void weir_rt_timer(struct weir_sched *s, u32 instance, u64 at)
{
	struct timers *t = &timers[s->cookie];
	struct hart *h = self();

	if (instance >= MAX_TIMERS)
		stop(STOP_BROKEN, (s32)instance,
		     "an instance beyond the last one that may have a timer");
	weir_store(&t->at[instance], at);
	for (u32 nr; (nr = weir_load(&t->nr)) <= instance;)
		weir_cas(&t->nr, nr, instance + 1);
	if (SHARED && h->cpu)
		prod(h, 0);
	else
		h->rearm = 1;
}

/* --- the scheduler ---------------------------------------------------------------------------------------- */

static u64 classes_at;

/* Of this hart, or hart 0's for all: arena and plan. Then each hart's memory for dispatchers. */
int sched_start(struct hart *h)
{
	struct boot *boot = boot_record();
	struct weir_config c = { .seed = boot->seed,
				 .nr_classes = weir_nr_descriptors,
				 .nr_cpus = SHARED ? boot->harts : 1 };
	struct weir_swap_stats stats;
	struct weir_plan plan;
	const u64 mask = ~(PRIVATE_BYTES - 1);
	u64 all = boot->free_end - boot->free, each = all / boot->harts & mask,
	    arena = SHARED ? all / 4 & mask : each / 4, room, tables, behind;
	struct weir_sched *sched;
	int err;

	room = (weir_plan_room((void *)boot->plan, boot->plan_bytes, 0) + 63) & ~63ull;
	tables = SHARED ? boot->free : boot->free + h->cpu * each;
	behind = tables +
		 ((room + sizeof(struct weir_class) * weir_nr_descriptors + PRIVATE_BYTES) & mask);
	if (SHARED) {
		if (behind + arena >= boot->free_end)
			stop(STOP_PLAN, WEIR_PLAN_ROOM, 0);
		each = (boot->free_end - behind - arena) / boot->harts & mask;
		h->pool = behind + arena + h->cpu * each;
		h->pool_end = h->pool + each;
		h->sched_cpu = h->cpu;
		if (h->cpu) {
			while (!(h->sched = weir_load_acquire(&harts[0].sched)))
				weir_port_relax(0);
			return 0;
		}
	} else {
		h->pool = behind + arena;
		h->pool_end = tables + each;
		if (h->pool >= h->pool_end)
			stop(STOP_PLAN, WEIR_PLAN_ROOM, 0);
	}
	err = weir_plan_load((void *)boot->plan, boot->plan_bytes, 0, (void *)tables, room, &plan);
	if (err)
		stop(STOP_PLAN, -err, weir_plan_why(-err));
	if (plan.nr_cpus != c.nr_cpus)
		stop(STOP_PLAN, 0, "the plan is for another number of CPUs");
	classes_at = tables + room;
	c.classes = (struct weir_class *)classes_at;
	weir_host_classes((struct weir_class *)classes_at);
	sched = (struct weir_sched *)behind;
	c.arena_bytes = arena;
	err = weir_init(sched, &c);
	if (err)
		stop(STOP_PLAN, err, "the arena is too small");
	weir_host_setup(sched, h->cpu,
			WEIR_TOPIC_BIT(KICK) | WEIR_TOPIC_BIT(PREEMPT) |
				WEIR_TOPIC_BIT(DEADLINE_MISS));
	err = weir_swap(sched, 0, &plan, &stats);
	if (err)
		stop(STOP_PLAN, err, "the core refuses the plan");
	for (u32 i = 0; i < plan.nr_instances; i++) {
		struct weir_class *class = &sched->classes[plan.instances[i].class];

		has_slice |= class->answers >> WEIR_TOPIC_SLICE & 1;
		has_tick |= (class->on | class->reviews) >> WEIR_TOPIC_TICK & 1;
	}
	weir_store_release(&h->sched, sched);
	return 0;
}

/* Calls of the core take time, which is recorded. */
static void spent(struct hart *h, u32 call, u64 from)
{
	u64 ns = CSR_READ(minstret) - from;

	h->n.kernel_ns += ns;
	if (call == CALL_PICK) {
		h->n.picks++;
		h->n.pick_ns += ns;
	} else if (call == CALL_RELINQUISH) {
		h->n.relinquish_ns += ns;
	}
	trace(h, TRACE_SCHED, ~0u, call, ns);
}

#define ASK(h, call, expression)                          \
	({                                                \
		u64 from_ = CSR_READ(minstret);           \
		__typeof__(expression) r_ = (expression); \
		spent(h, call, from_);                    \
		r_;                                       \
	})

static void must(int err, const char *what)
{
	if (err)
		stop(STOP_BROKEN, err, what);
}

u64 next_due(const struct hart *h)
{
	const struct timers *t = &timers[h->cpu];
	const struct remote *m = &remotes[h->cpu];
	u64 at = NEVER, due;

	/* If one scheduler is for all harts, others may change these: they prod this hart, which looks again. */
	for (u32 i = 0; i < weir_load(&t->nr); i++) {
		due = weir_load(&t->at[i]);
		if (due && due < at)
			at = due;
	}
	for (u32 i = 0; i < weir_load(&h->nr_dispatchers); i++) {
		const struct kdcb *k = &dispatchers[h->cpu][i];

		due = weir_load(&k->timer);
		if (weir_load(&k->block) && due && due < at)
			at = due;
	}
	if (h->charged) {
		if (h->slice_end < at)
			at = h->slice_end;
		if (has_tick && h->next_tick < at)
			at = h->next_tick;
	}
	if (weir_load_acquire(&m->any) && m->at < at)
		at = m->at;
	return at;
}

static void deliver_notifications(struct hart *h, u64 t)
{
	struct remote *m = &remotes[h->cpu];

	if (!weir_load_acquire(&m->any) || (!PARALLEL && m->at > t))
		return;
	/* Before the looks: a sender behind them sets it again. */
	weir_fetch_and(&m->any, 0);
	if (SHARED) {
		u32 asked = weir_fetch_and(&m->asked, 0);

		if (asked & ASKED_TO_PREEMPT || (asked && !h->charged))
			h->resched = 1;
	}
	for (u32 i = 0; i < MAX_DISPATCHERS; i++) {
		if (!weir_load(&m->mine[i]))
			continue;
		weir_store(&m->mine[i], 0);
		notify(h, &dispatchers[h->cpu][i], weir_fetch_and(&m->notified[i], 0));
	}
}

void events(struct hart *h)
{
	struct timers *w = &timers[h->cpu];
	u64 t, due;

	if (PARALLEL)
		prodded(h);
	t = now(h);
	home_lock(h, h->cpu);
	deliver_notifications(h, t);
	for (u32 i = 0; i < weir_load(&w->nr); i++) {
		due = weir_load(&w->at[i]);
		if (!due || due > t || weir_cas(&w->at[i], due, 0) != due)
			continue;
		h->n.timers++;
		ASK(h, CALL_TIMER, weir_timer_expired(h->sched, cpu_of(h), i));
	}
	for (u32 i = 0; i < h->nr_dispatchers; i++) {
		struct kdcb *k = &dispatchers[h->cpu][i];

		if (!k->block || !k->timer || k->timer > t)
			continue;
		k->timer = 0;
		notify(h, k, 1ull << 63);
	}
	home_unlock(h);
	if (!h->charged)
		return;
	if (has_tick && t >= h->next_tick) {
		struct weir_msg msg = { .topic = WEIR_TOPIC_TICK, .cpu = cpu_of(h) };

		h->next_tick = t + TICK_NS;
		ASK(h, CALL_NOTIFY, weir_notify(h->sched, cpu_of(h), &msg));
	}
	if (t >= h->slice_end)
		h->resched = 2;
}

static void ready(struct hart *h, struct kdcb *k, int woken)
{
	k->on = SCHED_QUEUED;
	k->ready_at = now(h);
	trace(h, TRACE_READY, k->id, woken, 0);
}

void wake(struct hart *h, struct kdcb *k)
{
	weir_assert(!SHARED || h->holds == k->home + 1);
	/* One that runs on borrowed time keeps its place; another hart must not choose it. */
	if (k->block && k->on == SCHED_BLOCKED && k->state != STATE_RUNNING &&
	    !(SHARED && k == h->current)) {
		ready(h, k, 1);
		must(ASK(h, CALL_UNBLOCK, weir_unblock(h->sched, cpu_of(h), k->task)), "unblock");
	}
}

void notify(struct hart *h, struct kdcb *k, u64 bits)
{
	if (!k->block)
		return;
	weir_fetch_or(&k->block->notified, bits);
	k->block->haswork = 1;
	trace(h, TRACE_NOTIFY, k->id, bits, 0);
	wake(h, k);
}

void left(struct hart *h, struct kdcb *k)
{
	if (k->block)
		k->block->deallocations++;
	if (!SHARED)
		return;
	k->left_at = now(h);
	/* It may go on on another hart. */
	if (h->fp_owner == k) {
		CSR_WRITE(mstatus, FS_ON);
		fp_save(k->fp);
		h->fp_owner = 0;
	}
}

void regions_set(const struct kdcb *k)
{
	CSR_WRITE(pmpcfg0, k->config[0]);
	CSR_WRITE(pmpcfg2, k->config[1]);
	switch (k->nr_regions) {
#define REGION(n)                                    \
	case n + 1:                                  \
		CSR_WRITE(pmpaddr##n, k->region[n]); \
		__attribute__((fallthrough))
		REGION(15);
		REGION(14);
		REGION(13);
		REGION(12);
		REGION(11);
		REGION(10);
		REGION(9);
		REGION(8);
		REGION(7);
		REGION(6);
		REGION(5);
		REGION(4);
		REGION(3);
		REGION(2);
		REGION(1);
		REGION(0);
	default:
		break;
	}
}

void regions_changed(struct hart *h, struct kdcb *k)
{
	struct hart *at;

	if (k == h->current)
		regions_set(k);
	if (!SHARED || k == h->current || k->state != STATE_RUNNING)
		return;
	/* It runs on another hart, or that one is in the kernel and waits for the lock that we have. */
	at = &harts[k->hart];
	weir_store(&at->stale, 1);
	weir_fence();
	if (weir_load(&at->inside))
		return;
	prod(h, k->hart);
	while (weir_load(&at->stale) && !weir_load(&at->inside))
		weir_port_relax(0);
}

void leave(struct hart *h)
{
	if (!SHARED)
		return;
	home_unlock(h);
	for (;;) {
		weir_store(&h->inside, 0);
		weir_fence();
		if (!weir_load(&h->stale))
			return;
		weir_store(&h->inside, 1);
		weir_store(&h->stale, 0);
		weir_fence();
		regions_set(h->current);
	}
}

/* A hart whose clock is behind runs nothing that another one did later. */
static void catch_up(struct hart *h, u64 at)
{
	u64 t = now(h);

	if (SHARED && !PARALLEL && at > t) {
		h->base += at - t;
		h->rearm = 1;
	}
}

/* The save area to resume from. */
u64 *dispatch(struct hart *h, struct kdcb *k)
{
	struct mk_dcb *d = k->block;
	u32 state = k->state;

	h->current = k;
	k->state = STATE_RUNNING;
	if (SHARED) {
		k->hart = h->cpu;
		catch_up(h, k->left_at);
	}
	d->hart = h->cpu;
	d->base = h->base;
	d->start = h->start;
	regions_set(k);
	CSR_WRITE(mstatus, h->fp_owner == k ? FS_ON : 0);
	if (state == STATE_DISABLED)
		return (u64 *)d->saved;
	h->n.upcalls++;
	d->disabled = 1;
	h->fresh[0] = d->run;
	h->fresh[10] = (u64)d;
	return h->fresh;
}

/*
 * The registers stay with the dispatcher that used them last, until another one uses any: programs without floating point pay for
 * nothing. On is always dirty, which the fast path of messages tests in one bit.
 */
int fp_give(struct hart *h)
{
	struct kdcb *k = h->current;

	if (CSR_READ(mstatus) & FS_ON)
		return 0;
	CSR_WRITE(mstatus, FS_ON);
	if (!(CSR_READ(mstatus) & FS_ON))
		return 0;
	if (h->fp_owner && h->fp_owner != k)
		fp_save(h->fp_owner->fp);
	if (h->fp_owner != k)
		fp_load(k->fp);
	h->fp_owner = k;
	k->block->fp = 1;
	return 1;
}

static void stay_over(struct hart *h, u32 why)
{
	struct kdcb *k = h->charged;

	trace(h, TRACE_OFF, k->id, why, 0);
	h->n.busy_ns += now(h) - h->began;
	/* A dispatcher that ran on this time and is not done continues on its own time. */
	for (u64 lent = h->lent; lent; lent &= lent - 1) {
		struct kdcb *other = &dispatchers[k->home][weir_ctz(lent)];

		if (other != k && other->block &&
		    (other->state == STATE_DISABLED || has_something(other)))
			wake(h, other);
	}
	h->lent = 0;
}

/* `current` leaves, but `charged` has time left: the loan returns. */
static void loan_over(struct hart *h)
{
	struct kdcb *k = h->current;

	if (k == h->charged)
		return;
	h->current = 0;
	if (k->block && (k->state == STATE_DISABLED || has_something(k)))
		wake(h, k);
}

static void begin(struct hart *h, struct kdcb *k)
{
	u64 t = now(h), slice = weir_load(&k->task->slice_ns);

	h->charged = k;
	h->rearm = 1;
	k->on = SCHED_RUNNING;
	h->began = t;
	if (has_slice) {
		struct weir_msg msg = { .topic = WEIR_TOPIC_SLICE,
					.cpu = cpu_of(h),
					.task = k->task };

		if (!weir_ask(h->sched, cpu_of(h), &msg))
			slice = msg.value;
	}
	if (!slice)
		slice = SLICE_NS;
	h->slice_end = slice > NEVER - t ? NEVER : t + slice;
	if (has_tick && h->next_tick <= t)
		h->next_tick = t + TICK_NS;
	trace(h, TRACE_RUN, k->id, t > k->ready_at ? t - k->ready_at : 0, 0);
}

static void idle(struct hart *h)
{
	h->charged = h->current = 0;
	if (!h->idle) {
		h->idle = 1;
		h->idle_from = now(h);
		trace(h, TRACE_IDLE, ~0u, 1, 0);
	}
	while (!h->resched) {
		turn_pass(h, next_due(h));
		if (CSR_READ(mip) & 0x800)
			interrupt_external(h);
		events(h);
	}
}

/* What the hart runs next. @left (null: none) has it until now, and goes back to the policy with the same call: it blocks, or stays schedulable. */
static u64 *choose(struct hart *h, struct weir_task *left, int blocks)
{
	h->current = h->charged = 0;
	for (;; left = 0) {
		struct weir_task *t;
		struct kdcb *k;

		/* Nobody wakes or takes what leaves before all of it is done. */
		if (!left)
			home_unlock(h);
		h->resched = 0;
		/* What other harts have done before they asked is seen by this choice. */
		if (SHARED)
			weir_fetch_and(&remotes[h->cpu].asked, 0);
		if (left)
			must(ASK(h, CALL_PICK, weir_yield(h->sched, cpu_of(h), left, blocks, &t)),
			     "yield");
		else
			t = ASK(h, CALL_PICK, weir_pick(h->sched, cpu_of(h), cpu_of(h)));
		home_unlock(h);
		if (weir_gave_up(h->sched, cpu_of(h)))
			h->resched = 1;
		if (!t) {
			idle(h);
			continue;
		}
		k = (struct kdcb *)t->cookie;
		/* The hart where it ran has the lock until all of it is saved. */
		home_lock(h, k->home);
		weir_assert(!SHARED || (k->on == SCHED_QUEUED && k->state != STATE_RUNNING));
		catch_up(h, k->ready_at);
		if (h->idle) {
			h->idle = 0;
			h->n.idle_ns += now(h) - h->idle_from;
			trace(h, TRACE_IDLE, ~0u, 0, 0);
		}
		begin(h, k);
		if (SHARED && k->ending) {
			h->current = k;
			retire(h, k, k->end_number, k->end_cause);
			continue;
		}
		/* Its messages were handled on borrowed time. */
		if (k->state == STATE_ENABLED && !has_something(k)) {
			stay_over(h, WHY_BLOCK);
			k->on = SCHED_BLOCKED;
			must(ASK(h, CALL_BLOCK, weir_block(h->sched, cpu_of(h), t)), "block");
			h->charged = 0;
			continue;
		}
		return dispatch(h, k);
	}
}

u64 *next(struct hart *h)
{
	return choose(h, 0, 0);
}

u64 *preempt(struct hart *h, u32 why)
{
	struct kdcb *k = h->charged;

	if (h->current) {
		left(h, h->current);
		loan_over(h);
	}
	stay_over(h, why);
	ready(h, k, 0);
	return choose(h, k->task, 0);
}

/* The current dispatcher, saved, gives up its core. */
u64 *yield(struct hart *h, struct kdcb *to)
{
	struct kdcb *k = h->current, *c = h->charged;
	int waits = k->state == STATE_ENABLED && !has_something(k);
	int err;

	left(h, k);
	if (k != c) {
		loan_over(h);
		/* Back to the owner of the time, if it can use it. */
		if (c->block && !(SHARED && c->ending) &&
		    (c->state == STATE_DISABLED || has_something(c)))
			return dispatch(h, c);
		waits = !(SHARED && c->ending);
	}
	if (waits) {
		stay_over(h, WHY_BLOCK);
		c->on = SCHED_BLOCKED;
		return choose(h, c->task, 1);
	}
	/* One that runs on another hart, on borrowed time or not, needs no help. */
	if (!to || to == c || to->on == SCHED_RUNNING || (SHARED && to->state == STATE_RUNNING))
		return preempt(h, WHY_YIELD);
	stay_over(h, WHY_YIELD);
	ready(h, c, 0);
	h->current = h->charged = 0;
	if (to->on == SCHED_BLOCKED)
		ready(h, to, 1);
	err = ASK(h, CALL_RELINQUISH, weir_hand_over(h->sched, cpu_of(h), c->task, to->task));
	if (err < 0)
		must(err, "hand over");
	if (err)
		return next(h);
	h->resched = 0;
	catch_up(h, to->ready_at);
	begin(h, to);
	return dispatch(h, to);
}

int publish(struct hart *h, struct kdcb *k, u32 cpu, u32 topic, u64 value, u64 value2)
{
	struct weir_msg msg = { .topic = topic,
				.cpu = SHARED ? cpu : 0,
				.task = k ? k->task : 0,
				.value = value,
				.value2 = value2 };

	if (k && topic == WEIR_TOPIC_DEADLINE)
		trace(h, TRACE_DEADLINE, k->id, value, value2);
	/* The gang's slots on this core are those of its hart. */
	if (SHARED && k && topic == WEIR_TOPIC_GANG) {
		struct weir_cpumask home = { .word = { 1ull << k->home } };
		struct weir_msg bound = { .topic = WEIR_TOPIC_AFFINITY,
					  .cpu = WEIR_NO_CPU,
					  .task = k->task,
					  .mask = value ? &home : 0 };

		ASK(h, CALL_NOTIFY, weir_notify(h->sched, cpu_of(h), &bound));
	}
	return ASK(h, CALL_NOTIFY, weir_notify(h->sched, cpu_of(h), &msg));
}

/* --- making and ending dispatchers --------------------------------------------------------------------------- */

/* PRIVATE_BYTES of the hart's memory, aligned to that size; 0: there is no more. */
u64 pool_take(struct hart *h)
{
	u64 at = h->free_blocks;

	if (at) {
		h->free_blocks = *(u64 *)at;
	} else {
		at = (h->pool + PRIVATE_BYTES - 1) & ~(PRIVATE_BYTES - 1);
		if (at + PRIVATE_BYTES > h->pool_end)
			return 0;
		h->pool = at + PRIVATE_BYTES;
	}
	memset((void *)at, 0, PRIVATE_BYTES);
	return at;
}

static void pool_give(struct hart *h, u64 at)
{
	*(u64 *)at = h->free_blocks;
	h->free_blocks = at;
}

static void region(struct kdcb *k, u64 base, u64 bytes, u32 rights)
{
	u32 n = k->nr_regions++;

	k->region[n] = (base | (bytes / 2 - 1)) >> 2;
	k->config[n / 8] |= (u64)(0x18 | rights) << n % 8 * 8;
}

struct kdcb *create(struct hart *h, u32 home, u32 domain, u64 entry, u64 argument)
{
	struct hart *at = &harts[home];
	struct boot *boot = boot_record();
	struct boot_image *image = &boot->image[domain];
	struct image_header *header = (struct image_header *)image->text;
	struct kdcb *k = 0, *monitor = &dispatchers[home][0];
	struct mk_dcb *d;
	u64 memory, ram;

	for (u32 i = 0; i < MAX_DISPATCHERS && !k; i++)
		if (!dispatchers[home][i].block) {
			k = &dispatchers[home][i];
			k->number = i;
		}
	if (k && k->number >= at->nr_dispatchers)
		weir_store(&at->nr_dispatchers, k->number + 1);
	memory = k ? pool_take(at) : 0;
	ram = memory ? pool_take(at) : 0;
	if (!ram) {
		if (memory)
			pool_give(at, memory);
		return 0;
	}
	*k = (struct kdcb){ .number = k->number,
			    .bit = 1ull << k->number,
			    .home = home,
			    .domain = domain,
			    .hart = h->cpu,
			    .memory = memory,
			    .ram = ram };
	k->id = weir_fetch_add(&nr_tasks, 1);
	region(k, image->text, image->text_bytes, 5);
	region(k, image->data, image->data_bytes, 3);
	region(k, memory, PRIVATE_BYTES, 3);
	if (image->flags & IMAGE_MONITOR)
		region(k, boot->mesh, boot->mesh_bytes, 3);
	k->block = d = (struct mk_dcb *)memory;
	d->run = header->run;
	d->fault = header->fault;
	d->fault_disabled = header->fault_disabled;
	d->trap = header->trap;
	d->lmp = header->lmp;
	d->crit_low = header->crit_low;
	d->crit_high = header->crit_high;
	d->stack = memory + PRIVATE_BYTES;
	d->heap = memory + D_HEAP;
	d->heap_end = memory + PRIVATE_BYTES - D_STACK_BYTES;
	d->number = k->number;
	d->core = home;
	d->nr_cores = boot->harts;
	d->domain = domain;
	d->entry = entry ? entry : header->main;
	d->argument = argument;
	d->haswork = 1;
	if (!entry) {
		u64 bytes = (image->args_bytes + 7) & ~7ull;

		memcpy((void *)d->heap, (void *)image->args, image->args_bytes);
		d->arguments = d->heap;
		d->heap += bytes;
		d->argc = image->argc;
	}
	cap_put(h, &k->cap[SLOT_SELF], k,
		&(struct cap){ .type = CAP_DISPATCHER, .rights = RIGHT_ALL, .object = (u64)k }, 0);
	cap_put(h, &k->cap[SLOT_RAM], k,
		&(struct cap){
			.type = CAP_RAM, .rights = RIGHT_ALL, .object = ram, .bytes = RAM_BYTES },
		0);
	if (image->flags & IMAGE_MONITOR) {
		cap_put(h, &k->cap[SLOT_KERNEL], k,
			&(struct cap){ .type = CAP_KERNEL, .rights = RIGHT_ALL }, 0);
	} else {
		cap_put(h, &k->cap[SLOT_MONITOR], k,
			&(struct cap){ .type = CAP_ENDPOINT,
				       .rights = RIGHT_WRITE,
				       .object = (u64)monitor,
				       .badge = k->number + 1 },
			0);
		cap_put(h, &monitor->cap[SLOT_CLIENTS + k->number], monitor,
			&(struct cap){ .type = CAP_ENDPOINT,
				       .rights = RIGHT_WRITE,
				       .object = (u64)k,
				       .badge = 0 },
			0);
	}
	if (image->flags & IMAGE_CONSOLE) {
		cap_put(h, &k->cap[SLOT_DEVICE], k,
			&(struct cap){ .type = CAP_FRAME,
				       .rights = RIGHT_READ | RIGHT_WRITE,
				       .object = 0x10000000,
				       .bytes = 4096 },
			0);
		cap_put(h, &k->cap[SLOT_IRQ], k,
			&(struct cap){ .type = CAP_IRQ, .rights = RIGHT_ALL, .object = 10 }, 0);
	}
	k->first = !entry && !(image->flags & IMAGE_SERVICE);
	if (k->first)
		weir_fetch_add(&nr_programs, 1);
	trace(h, TRACE_NEW, k->id, domain, k->number | (u64)home << 32);
	k->task = weir_task_new(h->sched, cpu_of(h), (u64)k);
	if (!k->task)
		stop(STOP_BROKEN, 0, "the arena has no room for a task");
	ready(h, k, 1);
	must(ASK(h, CALL_ADMIT, weir_admit(h->sched, cpu_of(h), k->task)), "admit");
	return k;
}

/* A dispatcher ends; if it runs here, the caller continues with next(). */
void retire(struct hart *h, struct kdcb *k, u64 number, u64 cause)
{
	struct results *r = (struct results *)boot_record()->results;

	if (k == h->current && k != h->charged) {
		/* On borrowed time: the policy has chosen the lender, which continues later. */
		struct kdcb *c = h->charged;

		h->current = 0;
		stay_over(h, WHY_PREEMPTED);
		ready(h, c, 0);
		h->charged = 0;
		must(ASK(h, CALL_RELINQUISH, weir_relinquish(h->sched, cpu_of(h), c->task)),
		     "relinquish");
	} else if (k == h->charged) {
		if (h->current != k)
			loan_over(h);
		stay_over(h, WHY_EXIT);
		h->current = h->charged = 0;
	}
	trace(h, TRACE_EXIT, k->id, number, cause);
	if (h->fp_owner == k)
		h->fp_owner = 0;
	k->on = SCHED_GONE;
	must(ASK(h, CALL_EXIT, weir_exit(h->sched, cpu_of(h), k->task)), "exit");
	/* Capabilities made from its memory are void, wherever they are; the monitors handle other cores' copies. */
	if (k->cap[SLOT_RAM].type == CAP_RAM && k->cap[SLOT_RAM].object == k->ram &&
	    !k->cap[SLOT_RAM].remote) {
		cap_revoke(h, &k->cap[SLOT_RAM]);
		pool_give(&harts[k->home], k->ram);
	}
	for (u32 i = 0; i < NR_SLOTS; i++)
		if (k->cap[i].type)
			cap_delete(h, &k->cap[i]);
	/* Endpoints that name it, in the slots of others. */
	for (struct cap *c = harts[k->home].caps, *after; c; c = after) {
		after = c->next;
		if ((c->type == CAP_ENDPOINT || c->type == CAP_DISPATCHER) && c->object == (u64)k)
			cap_die(h, c);
	}
	pool_give(&harts[k->home], k->memory);
	weir_store(&k->block, 0);
	/* What it had of its monitor is free again. */
	if (k->number && dispatchers[k->home][0].block)
		deliver(h, &dispatchers[k->home][0], k->number + 1, (u64[4]){ LMP_GONE });
	weir_store(&k->timer, 0);
	if (cause)
		weir_fetch_add(&r->ended, 1);
	if (cause || number)
		weir_fetch_add(&r->failed, 1);
	r->tasks = nr_tasks;
	/* A program ends with its first dispatcher; there is still some time to print the others' output. */
	if (k->first && weir_fetch_add(&nr_programs, -1u) == 1)
		ended_at = now(h);
}

void end(struct hart *h, struct kdcb *k, u64 number, u64 cause)
{
	if (!SHARED || k == h->current) {
		retire(h, k, number, cause);
		return;
	}
	/* It may run on any hart, or be chosen by one at this moment: it is queued until one has chosen it, which then removes it. */
	k->ending = 1;
	k->end_number = number;
	k->end_cause = cause;
	if (k->state == STATE_RUNNING)
		ask(h, k->hart, ASKED_TO_PREEMPT);
	wake(h, k);
}
