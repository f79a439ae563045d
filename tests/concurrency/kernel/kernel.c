/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The kernel side (runtimes/linux) under real threads: `kernel [seconds [seed]]`.
 *
 * The adapter's files are compiled as they are, for an ordinary process. Each thread is a CPU of a small kernel that calls the
 * callbacks as Linux's kernel/sched/ext.c does, with the same locks held: a run queue a CPU, queues of its own, ops_state with the
 * number of the queueing, a buffer of what a dispatch inserts, tasks that are moved to the CPU that chose them. Tasks compute, block,
 * wake others, yield, change priorities and affinities, end and are born. One more thread exchanges topologies by requests. Threads
 * are taken off their processor by the host wherever it likes: so a CPU stops within calls, with locks held.
 *
 * Left out: hotplug, higher classes, groups, timers, counters. At the end all tasks must have had their turns, the adapter's counters
 * must add up, and the core's invariants hold.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../graphs.h"
#include "weir.bpf.c"

#define NR_CPUS		4u
#define NR_TASKS	24u
#define ARENA		(256ull << 20)
#define SLICE_NS	300000ull
#define LONGEST_WAIT_NS 20000000000ull
#define NOWHERE		(~0u)

#define REQUIRE(cond)                                                                      \
	do {                                                                               \
		if (!(cond)) {                                                             \
			fprintf(stderr, "kernel: %s:%d: %s\n", __FILE__, __LINE__, #cond); \
			print_report();                                                    \
			_exit(1);                                                          \
		}                                                                          \
	} while (0)

static void print_report(void);

/* --- the kernel's records ------------------------------------------------------------------------------ */

enum { OPSS_NONE, OPSS_QUEUEING, OPSS_QUEUED, OPSS_DISPATCHING };
#define OPSS(state, seq) ((u64)(seq) << 2 | (state))

struct dsq {
	pthread_mutex_t lock;
	struct model_task *head, *tail;
	u32 nr;
};

struct model_task {
	struct task_struct p;
	struct weir_linux_task own;
	struct cpumask mask;
	u32 cpu;       /* whose run queue it belongs to; changes under that queue's lock */
	u32 on_rq;     /* runnable */
	u64 ops_state; /* (a) */
	u64 qseq;
	struct dsq *dsq; /* where it waits for its CPU */
	struct model_task *next;
	u32 holding_cpu; /* (rq) which CPU is about to move it */
	u32 sent;	 /* (rq) 1 + the CPU to whose local queue it is on its way; 0: none */
	u32 sticky;
	u64 ready_since; /* (a) ns */
	u64 turns;	 /* (a) */
	u32 alive;
};

struct rq {
	pthread_mutex_t lock;
	struct model_task *curr; /* null: idle */
	struct dsq local;
	u32 kicked;    /* (a) bits of SCX_KICK_… */
	u32 interrupt; /* (a) 1: it is to wake somebody */
	pthread_mutex_t sleep_lock;
	pthread_cond_t sleep;
	u64 seq;
	struct {
		struct model_task *t;
		u64 qseq, dsq, slice;
	} buffer[64];
	u32 nr_buffer;
	struct model_task *direct; /* inserted by the enqueue under way */
	struct model_task *enqueueing;
	u64 direct_dsq;
	u64 moved; /* dispatches that moved a task here */
	u64 lost;  /* of which the task had changed */
};

static struct model_task tasks_of_model[NR_TASKS];
static struct rq rqs[NR_CPUS];
static struct dsq aside[NR_CPUS], global;
static u32 stop;
static struct plan plans[4];
static u64 nr_swaps;

enum event { WAKE_UPS, BIRTHS, BLOCKS, YIELDS, SLEEPS, SENT, NR_EVENTS };
static u64 nr_events[NR_EVENTS]; /* (a) */
static __thread u64 dice;
static __thread u32 me;
static __thread u32 kicks[NR_CPUS]; /* that the callbacks under way have asked for */
/* Tasks that enqueues sent to other CPUs (process_ddsp_deferred_locals()). */
static __thread struct model_task *sending[16];
static __thread u32 nr_sending;

static u64 roll(u64 n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (dice >> 16) % n;
}

static void count(enum event what)
{
	__atomic_fetch_add(&nr_events[what], 1, __ATOMIC_RELAXED);
}

/* --- what the adapter calls -------------------------------------------------------------------------- */

u64 bpf_ktime_get_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

void *model_storage(struct task_struct *p)
{
	return &p->model->own;
}

static void wake_cpu(u32 cpu, u32 how)
{
	__atomic_fetch_or(&rqs[cpu].kicked, how, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&rqs[cpu].sleep_lock);
	pthread_cond_signal(&rqs[cpu].sleep);
	pthread_mutex_unlock(&rqs[cpu].sleep_lock);
}

u64 bpf_get_current_pid_tgid(void)
{
	return rqs[me].curr ? (u64)rqs[me].curr->p.pid : 0;
}

/* A device: the CPU wakes somebody, whatever it does. */
static void interrupt(u32 cpu)
{
	__atomic_store_n(&rqs[cpu].interrupt, 1, __ATOMIC_SEQ_CST);
	wake_cpu(cpu, 0);
}

/* They are sent by an interrupt, so once no run queue is locked: what a callback inserts stands in its queue by then. */
void scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	if ((u32)cpu < NR_CPUS)
		kicks[cpu] |= (u32)flags;
}

static void deliver_sent(void);

static void send_kicks(void)
{
	deliver_sent();
	for (u32 cpu = 0; cpu < NR_CPUS; cpu++) {
		if (kicks[cpu])
			wake_cpu(cpu, kicks[cpu]);
		kicks[cpu] = 0;
	}
}

s32 scx_bpf_task_cpu(const struct task_struct *p)
{
	return (s32)__atomic_load_n(&p->model->cpu, __ATOMIC_RELAXED);
}

bool scx_bpf_task_running(const struct task_struct *p)
{
	return rqs[scx_bpf_task_cpu(p)].curr == p->model;
}

struct task_struct *bpf_task_from_pid(s32 pid)
{
	return pid > 0 && (u32)pid <= NR_TASKS ? &tasks_of_model[pid - 1].p : 0;
}

void bpf_task_release(struct task_struct *p)
{
	(void)p;
}

static void dsq_add(struct dsq *q, struct model_task *t)
{
	pthread_mutex_lock(&q->lock);
	t->next = 0;
	if (q->tail)
		q->tail->next = t;
	else
		q->head = t;
	q->tail = t;
	q->nr++;
	__atomic_store_n(&t->dsq, q, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&q->lock);
}

/* 1: it was there. */
static int dsq_remove(struct dsq *q, struct model_task *t)
{
	struct model_task **at, *before = 0;
	int there = 0;

	pthread_mutex_lock(&q->lock);
	for (at = &q->head; *at; before = *at, at = &(*at)->next) {
		if (*at != t)
			continue;
		*at = t->next;
		if (q->tail == t)
			q->tail = before;
		q->nr--;
		__atomic_store_n(&t->dsq, 0, __ATOMIC_RELEASE);
		there = 1;
		break;
	}
	pthread_mutex_unlock(&q->lock);
	return there;
}

static struct dsq *dsq_of(u64 id)
{
	if (id == SCX_DSQ_GLOBAL)
		return &global;
	REQUIRE(id - ASIDE(0) < NR_CPUS);
	return &aside[id - ASIDE(0)];
}

void weir_dsq_insert(struct task_struct *p, u64 id, u64 slice, u64 enq_flags)
{
	struct rq *rq = &rqs[me];
	u64 state;

	(void)enq_flags;
	if (rq->enqueueing == p->model) {
		REQUIRE(!rq->direct);
		p->scx.slice = slice;
		rq->direct = p->model;
		rq->direct_dsq = id;
		return;
	}
	/* Of a dispatch: noted with the queueing that is seen, and done when it is over. */
	REQUIRE(rq->nr_buffer < 64);
	state = __atomic_load_n(&p->model->ops_state, __ATOMIC_ACQUIRE);
	rq->buffer[rq->nr_buffer].t = p->model;
	rq->buffer[rq->nr_buffer].qseq = state >> 2;
	rq->buffer[rq->nr_buffer].dsq = id;
	rq->buffer[rq->nr_buffer++].slice = slice;
}

void scx_bpf_dispatch_cancel(void)
{
	REQUIRE(rqs[me].nr_buffer);
	rqs[me].nr_buffer--;
}

/* --- moving --------------------------------------------------------------------------------------------- */

static void lock_both(u32 a, u32 b)
{
	pthread_mutex_lock(&rqs[a < b ? a : b].lock);
	if (a != b)
		pthread_mutex_lock(&rqs[a < b ? b : a].lock);
}

static void unlock_both(u32 a, u32 b)
{
	pthread_mutex_unlock(&rqs[a].lock);
	if (a != b)
		pthread_mutex_unlock(&rqs[b].lock);
}

/* The run queue of @t, locked; it may change until it is. */
static u32 lock_rq_of(struct model_task *t)
{
	for (;;) {
		u32 cpu = __atomic_load_n(&t->cpu, __ATOMIC_ACQUIRE);

		pthread_mutex_lock(&rqs[cpu].lock);
		if (t->cpu == cpu)
			return cpu;
		pthread_mutex_unlock(&rqs[cpu].lock);
	}
}

static int may_run_on(const struct model_task *t, u32 cpu)
{
	return __atomic_load_n(&t->mask.bits[0], __ATOMIC_RELAXED) >> cpu & 1;
}

/*
 * @t, which no queue holds and that waits for nobody else, to the local queue of this CPU. Called and left with this CPU's run queue
 * locked. 1: done.
 */
static int move_here(struct model_task *t)
{
	u32 from;

	t->holding_cpu = me;
	__atomic_store_n(&t->ops_state, OPSS(OPSS_NONE, 0), __ATOMIC_RELEASE);
	from = __atomic_load_n(&t->cpu, __ATOMIC_ACQUIRE);
	if (from != me) {
		pthread_mutex_unlock(&rqs[me].lock);
		lock_both(me, from);
	}
	if (__atomic_load_n(&t->holding_cpu, __ATOMIC_RELAXED) != me || t->cpu != from ||
	    !t->on_rq) {
		/* It was dequeued in between. */
		if (from != me)
			pthread_mutex_unlock(&rqs[from].lock);
		return 0;
	}
	t->holding_cpu = NOWHERE;
	if (may_run_on(t, me)) {
		__atomic_store_n(&t->cpu, me, __ATOMIC_RELEASE);
		dsq_add(&rqs[me].local, t);
	} else {
		/* The kernel's answer to a wrong CPU. */
		dsq_add(&global, t);
	}
	if (from != me)
		pthread_mutex_unlock(&rqs[from].lock);
	return 1;
}

/* Once no run queue is locked, what enqueues sent goes to the local queues of other CPUs, unless it was dequeued meanwhile. */
static void deliver_sent(void)
{
	for (u32 i = 0; i < nr_sending; i++) {
		struct model_task *t = sending[i];
		u32 from, to = __atomic_load_n(&t->sent, __ATOMIC_RELAXED) - 1;

		if (to >= NR_CPUS)
			continue;
		from = __atomic_load_n(&t->cpu, __ATOMIC_ACQUIRE);
		lock_both(from, to);
		if (t->cpu == from && t->sent == to + 1 && t->on_rq) {
			t->sent = 0;
			/* The kernel ends a scheduler that sends a task where it may not run. */
			REQUIRE(may_run_on(t, to));
			__atomic_store_n(&t->cpu, to, __ATOMIC_RELEASE);
			dsq_add(&rqs[to].local, t);
			count(SENT);
		}
		unlock_both(from, to);
		wake_cpu(to, SCX_KICK_IDLE);
	}
	nr_sending = 0;
}

/* Tasks of the shared queue @q that may run here: the first one comes. */
static bool consume(struct dsq *q)
{
	struct model_task *t;
	u32 from;

	pthread_mutex_lock(&q->lock);
	for (t = q->head; t; t = t->next)
		if (may_run_on(t, me))
			break;
	from = t ? __atomic_load_n(&t->cpu, __ATOMIC_ACQUIRE) : 0;
	pthread_mutex_unlock(&q->lock);
	if (!t)
		return 0;
	if (from != me) {
		pthread_mutex_unlock(&rqs[me].lock);
		lock_both(me, from);
	}
	if (t->cpu == from && t->on_rq && may_run_on(t, me) && dsq_remove(q, t)) {
		__atomic_store_n(&t->cpu, me, __ATOMIC_RELEASE);
		dsq_add(&rqs[me].local, t);
	} else {
		from == me ? (void)0 : (void)pthread_mutex_unlock(&rqs[from].lock);
		return 0;
	}
	if (from != me)
		pthread_mutex_unlock(&rqs[from].lock);
	return 1;
}

bool weir_dsq_move_to_local(u64 id)
{
	return consume(dsq_of(id));
}

/* What the dispatch has inserted (finish_dispatch()). */
static void flush(void)
{
	struct rq *rq = &rqs[me];

	for (u32 i = 0; i < rq->nr_buffer; i++) {
		struct model_task *t = rq->buffer[i].t;
		u64 seq = rq->buffer[i].qseq,
		    state = __atomic_load_n(&t->ops_state, __ATOMIC_ACQUIRE);

		while ((state & 3) == OPSS_QUEUEING)
			state = __atomic_load_n(&t->ops_state, __ATOMIC_ACQUIRE);
		if ((state & 3) != OPSS_QUEUED || state >> 2 != seq ||
		    !__atomic_compare_exchange_n(&t->ops_state, &state, OPSS(OPSS_DISPATCHING, seq),
						 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			rq->lost++;
			continue;
		}
		t->p.scx.slice = rq->buffer[i].slice;
		if (rq->buffer[i].dsq == SCX_DSQ_LOCAL) {
			rq->moved += move_here(t);
			continue;
		}
		/* A shared queue: its run queue is not locked; dequeues wait for the end of DISPATCHING. */
		dsq_add(dsq_of(rq->buffer[i].dsq), t);
		__atomic_store_n(&t->ops_state, OPSS(OPSS_NONE, 0), __ATOMIC_RELEASE);
	}
	rq->nr_buffer = 0;
}

/* --- callbacks, as ext.c makes them ------------------------------------------------------------------------ */

#define CALL(name, ...) weir_##name((u64[]){ __VA_ARGS__ })

/* Its run queue is locked. */
static void do_enqueue(struct model_task *t, u64 flags)
{
	struct rq *rq = &rqs[me];
	u64 seq = ++rqs[t->cpu].seq * NR_CPUS + t->cpu;

	REQUIRE(!rq->enqueueing && (t->ops_state & 3) == OPSS_NONE && !t->dsq);
	__atomic_store_n(&t->ops_state, OPSS(OPSS_QUEUEING, seq), __ATOMIC_RELAXED);
	rq->enqueueing = t;
	rq->direct = 0;
	CALL(enqueue, (u64)&t->p, flags);
	rq->enqueueing = 0;
	if (!rq->direct) {
		__atomic_store_n(&t->ops_state, OPSS(OPSS_QUEUED, seq), __ATOMIC_RELEASE);
		return;
	}
	if ((rq->direct_dsq & SCX_DSQ_LOCAL_ON) == SCX_DSQ_LOCAL_ON) {
		u32 to = (u32)rq->direct_dsq;

		REQUIRE(to < NR_CPUS);
		if (to == t->cpu) {
			dsq_add(&rqs[to].local, t);
			wake_cpu(to, SCX_KICK_IDLE);
		} else {
			REQUIRE(nr_sending < 16);
			t->sent = to + 1;
			sending[nr_sending++] = t;
		}
	} else if (rq->direct_dsq == SCX_DSQ_LOCAL) {
		dsq_add(&rqs[t->cpu].local, t);
		wake_cpu(t->cpu, SCX_KICK_IDLE);
	} else {
		dsq_add(dsq_of(rq->direct_dsq), t);
		if (rq->direct_dsq == SCX_DSQ_GLOBAL)
			wake_cpu(t->cpu, SCX_KICK_IDLE);
	}
	__atomic_store_n(&t->ops_state, OPSS(OPSS_NONE, 0), __ATOMIC_RELEASE);
}

/* Out of whatever queue has it, or the adapter. */
static void ops_dequeue(struct model_task *t)
{
	u64 state = __atomic_load_n(&t->ops_state, __ATOMIC_ACQUIRE);
	struct dsq *q;

	if ((state & 3) == OPSS_QUEUED &&
	    !__atomic_compare_exchange_n(&t->ops_state, &state, OPSS(OPSS_NONE, 0), 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		REQUIRE((state & 3) != OPSS_QUEUEING);
	while ((__atomic_load_n(&t->ops_state, __ATOMIC_ACQUIRE) & 3) == OPSS_DISPATCHING)
		;
	__atomic_store_n(&t->holding_cpu, NOWHERE, __ATOMIC_RELAXED);
	t->sent = 0;
	q = __atomic_load_n(&t->dsq, __ATOMIC_ACQUIRE);
	if (q)
		dsq_remove(q, t);
}

static void note_ready(struct model_task *t)
{
	__atomic_store_n(&t->ready_since, bpf_ktime_get_ns(), __ATOMIC_RELAXED);
}

static void enqueue_task(struct model_task *t, u64 flags)
{
	t->on_rq = 1;
	t->p.scx.flags |= SCX_TASK_QUEUED;
	CALL(runnable, (u64)&t->p, flags);
	if (rqs[t->cpu].curr == t) {
		/* It is changed while it runs, and goes on. */
		dsq_add(&rqs[t->cpu].local, t);
		return;
	}
	note_ready(t);
	do_enqueue(t, flags);
}

static void dequeue_task(struct model_task *t, u64 flags)
{
	ops_dequeue(t);
	if (rqs[t->cpu].curr == t)
		CALL(stopping, (u64)&t->p, 0);
	CALL(quiescent, (u64)&t->p, flags);
	t->on_rq = 0;
	t->p.scx.flags &= ~(u32)SCX_TASK_QUEUED;
}

static void set_next(struct model_task *t)
{
	ops_dequeue(t);
	__atomic_store_n(&t->ready_since, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->turns, 1, __ATOMIC_RELAXED);
	rqs[me].curr = t;
	REQUIRE(may_run_on(t, me) && t->cpu == me);
	CALL(running, (u64)&t->p, 0);
}

/* This CPU chooses (balance, put_prev, pick, set_next). Its run queue is locked. */
static void schedule(void)
{
	struct rq *rq = &rqs[me];
	struct model_task *prev = rq->curr, *next;
	int keep = 0;

	if (prev && prev->on_rq && prev->p.scx.slice)
		keep = 1;
	else if (!rq->local.head && !consume(&global)) {
		for (u32 loops = 0; loops < 32; loops++) {
			u32 inserted;

			CALL(dispatch, me, (u64)(prev && prev->on_rq ? &prev->p : 0));
			inserted = rq->nr_buffer;
			flush();
			if (prev && prev->on_rq && prev->p.scx.slice) {
				keep = 1;
				break;
			}
			if (rq->local.head || consume(&global) || !inserted)
				break;
		}
	}
	if (keep && rq->local.head == 0)
		return;
	keep = keep && !rq->local.head;
	next = rq->local.head;
	if (prev) {
		/* (Unlocked meanwhile, others may have changed it; it cannot have left.) */
		if (prev->on_rq) {
			CALL(stopping, (u64)&prev->p, 1);
			rq->curr = 0;
			note_ready(prev);
			if (prev->p.scx.slice) {
				/* Still its turn: at the head of the local queue, without being asked. */
				dsq_add(&rq->local, prev);
			} else {
				do_enqueue(prev, 0);
			}
		}
		rq->curr = 0;
	}
	next = rq->local.head;
	if (next)
		set_next(next);
}

/* --- what tasks do -------------------------------------------------------------------------------------------- */

static void wake_up(struct model_task *t)
{
	u32 cpu = lock_rq_of(t), to = cpu;

	if (t->alive == 1 && !t->on_rq && rqs[cpu].curr != t) {
		if (!may_run_on(t, cpu)) {
			to = (u32)__builtin_ctzl(t->mask.bits[0]);
			pthread_mutex_unlock(&rqs[cpu].lock);
			lock_both(cpu, to);
			if (t->cpu != cpu || t->on_rq || !may_run_on(t, to)) {
				unlock_both(cpu, to);
				return;
			}
			__atomic_store_n(&t->cpu, to, __ATOMIC_RELEASE);
			pthread_mutex_unlock(&rqs[cpu].lock);
		}
		enqueue_task(t, SCX_ENQ_WAKEUP);
		count(WAKE_UPS);
	}
	pthread_mutex_unlock(&rqs[to].lock);
}

/* Like sched_setaffinity(): one that runs keeps its CPU among those it may use. */
static void set_affinity(struct model_task *t, unsigned long mask)
{
	u32 cpu = lock_rq_of(t), to;

	if (t->alive != 1) {
		pthread_mutex_unlock(&rqs[cpu].lock);
		return;
	}
	if (rqs[cpu].curr == t) {
		mask |= 1ul << cpu;
		if (t->on_rq) {
			dequeue_task(t, 0);
			__atomic_store_n(&t->mask.bits[0], mask, __ATOMIC_RELAXED);
			t->p.nr_cpus_allowed = __builtin_popcountl(mask);
			CALL(set_cpumask, (u64)&t->p, 0);
			enqueue_task(t, 0);
			/* set_next_task(): it runs on. */
			ops_dequeue(t);
			CALL(running, (u64)&t->p, 0);
		}
		pthread_mutex_unlock(&rqs[cpu].lock);
		return;
	}
	to = mask >> cpu & 1 ? cpu : (u32)__builtin_ctzl(mask);
	if (t->on_rq)
		dequeue_task(t, 0);
	else
		to = cpu;
	__atomic_store_n(&t->mask.bits[0], mask, __ATOMIC_RELAXED);
	t->p.nr_cpus_allowed = __builtin_popcountl(mask);
	CALL(set_cpumask, (u64)&t->p, 0);
	if (!__atomic_load_n(&t->ready_since, __ATOMIC_RELAXED)) {
		pthread_mutex_unlock(&rqs[cpu].lock);
		return;
	}
	if (to == cpu) {
		enqueue_task(t, 0);
		pthread_mutex_unlock(&rqs[cpu].lock);
		return;
	}
	/* Nobody else finds it meanwhile: it is on no queue and has no waker. */
	t->alive = 2;
	__atomic_store_n(&t->cpu, to, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&rqs[cpu].lock);
	pthread_mutex_lock(&rqs[to].lock);
	t->alive = 1;
	enqueue_task(t, 0);
	pthread_mutex_unlock(&rqs[to].lock);
}

static void renice(struct model_task *t)
{
	u32 cpu = lock_rq_of(t);

	if (t->alive == 1) {
		t->p.static_prio = 100 + (int)roll(40);
		CALL(set_weight, (u64)&t->p, 100);
	}
	pthread_mutex_unlock(&rqs[cpu].lock);
}

static void be_born(struct model_task *t, unsigned long mask)
{
	t->p.pid = (s32)(t - tasks_of_model) + 1;
	t->p.tgid = t->p.pid;
	t->p.model = t;
	t->p.prio = t->p.static_prio = 120;
	t->p.cpus_ptr = &t->mask;
	t->mask.bits[0] = mask;
	t->p.nr_cpus_allowed = __builtin_popcountl(mask);
	t->p.scx.flags = 0;
	t->holding_cpu = NOWHERE;
	memset(&t->own, 0, sizeof(t->own));
	CALL(enable, (u64)&t->p);
	t->alive = 1;
}

/* The current task ends; its record is another's at once. */
static void end_and_begin(struct model_task *t)
{
	struct rq *rq = &rqs[me];

	t->p.flags |= PF_EXITING;
	dequeue_task(t, SCX_DEQ_SLEEP);
	rq->curr = 0;
	t->alive = 0;
	CALL(disable, (u64)&t->p);
	t->p.flags &= ~(u32)PF_EXITING;
	be_born(t, (1ul << NR_CPUS) - 1);
	count(BIRTHS);
}

static struct model_task *anybody(void)
{
	return &tasks_of_model[roll(NR_TASKS)];
}

/* The current task's next step; this CPU's run queue is locked, before and after. */
static void step(void)
{
	struct rq *rq = &rqs[me];
	struct model_task *t = rq->curr;

	pthread_mutex_unlock(&rq->lock);
	send_kicks();
	for (volatile u32 i = 0; i < roll(2000); i++)
		;
	if (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		switch (roll(8)) {
		case 0:
		case 1:
		case 2:
			wake_up(anybody());
			break;
		case 3:
			if (!roll(8))
				set_affinity(anybody(), 1 + roll((1u << NR_CPUS) - 1));
			break;
		case 4:
			if (!roll(8))
				renice(anybody());
			break;
		}
		send_kicks();
	}
	pthread_mutex_lock(&rq->lock);
	if (rq->curr != t || !t->on_rq)
		return;
	switch (roll(8)) {
	case 0:
	case 1:
		dequeue_task(t, SCX_DEQ_SLEEP);
		rq->curr = 0;
		count(BLOCKS);
		break;
	case 2:
		CALL(yield_task, (u64)&t->p, 0);
		t->p.scx.slice = 0;
		count(YIELDS);
		break;
	case 3:
		if (!roll(16))
			end_and_begin(t);
		break;
	case 4:
		CALL(tick, (u64)&t->p);
		break;
	case 5:
		t->p.scx.slice = 0;
		break;
	}
}

static void *cpu_thread(void *arg)
{
	struct rq *rq;
	struct timespec until;
	u32 kicked;

	me = (u32)(u64)arg;
	weir_port_set_cpu(me);
	dice = 88172645463325252ull + me * 7919 + (u64)nr_swaps;
	rq = &rqs[me];
	pthread_mutex_lock(&rq->lock);
	while (__atomic_load_n(&stop, __ATOMIC_RELAXED) < 2) {
		kicked = __atomic_exchange_n(&rq->kicked, 0, __ATOMIC_SEQ_CST);
		if (kicked & SCX_KICK_PREEMPT && rq->curr)
			rq->curr->p.scx.slice = 0;
		schedule();
		if (rq->curr) {
			step();
			continue;
		}
		/* Idle until somebody kicks. A kick that is lost is a task that waits for ever. */
		pthread_mutex_unlock(&rq->lock);
		send_kicks();
		pthread_mutex_lock(&rq->sleep_lock);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 60;
		while (!__atomic_load_n(&rq->kicked, __ATOMIC_SEQ_CST) &&
		       !__atomic_load_n(&rq->interrupt, __ATOMIC_SEQ_CST) &&
		       __atomic_load_n(&stop, __ATOMIC_RELAXED) < 2)
			if (pthread_cond_timedwait(&rq->sleep, &rq->sleep_lock, &until))
				break;
		pthread_mutex_unlock(&rq->sleep_lock);
		if (__atomic_exchange_n(&rq->interrupt, 0, __ATOMIC_SEQ_CST))
			wake_up(anybody());
		send_kicks();
		count(SLEEPS);
		pthread_mutex_lock(&rq->lock);
	}
	pthread_mutex_unlock(&rq->lock);
	return 0;
}

/* --- the loader, and the end --------------------------------------------------------------------------------- */

static int request(const struct weir_plan *plan)
{
	struct weir_live_request *r = &weir_live.request;

	r->kind = WEIR_LIVE_SWAP;
	r->plan = (u64)plan;
	r->attempts = 0;
	__atomic_store_n(&r->state, WEIR_LIVE_POSTED, __ATOMIC_SEQ_CST);
	for (u32 i = 0; i < 100000; i++) {
		/* As the loader does: it yields, so that some CPU dispatches. */
		wake_cpu(i % NR_CPUS, SCX_KICK_PREEMPT);
		usleep(200);
		if (__atomic_load_n(&r->state, __ATOMIC_SEQ_CST) == WEIR_LIVE_DONE)
			break;
	}
	REQUIRE(r->state == WEIR_LIVE_DONE);
	r->state = WEIR_LIVE_FREE;
	return r->result;
}

static u64 sum(size_t field)
{
	u64 n = 0;

	for (u32 i = 0; i < NR_CPUS; i++)
		n += *(u64 *)((char *)&weir_live.cpus[i] + field);
	return n;
}
#define SUM(field) sum(__builtin_offsetof(struct weir_live_cpu, field))

static void print_report(void)
{
	for (u32 i = 0; i < NR_TASKS; i++) {
		struct model_task *t = &tasks_of_model[i];

		fprintf(stderr,
			"  task %u: on_rq %u, cpu %u, ops_state %llu, dsq %p, mask %lx, turns "
			"%llu, graph's state %d\n",
			i + 1, t->on_rq, t->cpu, (unsigned long long)t->ops_state & 3,
			(void *)t->dsq, t->mask.bits[0], (unsigned long long)t->turns,
			t->own.task ? (int)weir_state(task_of(&t->own)) : -1);
	}
	for (u32 i = 0; i < NR_CPUS; i++)
		fprintf(stderr, "  CPU %u: curr %d, local %u, aside %u, kicked %x, idle %d\n", i,
			rqs[i].curr ? rqs[i].curr->p.pid : 0, rqs[i].local.nr, aside[i].nr,
			rqs[i].kicked, weir_mask_test(SCHED->idle, i));
}

static void check_waits(void)
{
	u64 now = bpf_ktime_get_ns();

	for (u32 i = 0; i < NR_TASKS; i++) {
		u64 since = __atomic_load_n(&tasks_of_model[i].ready_since, __ATOMIC_RELAXED);

		REQUIRE(!since || since > now || now - since < LONGEST_WAIT_NS);
	}
}

static int all_quiet(void)
{
	for (u32 i = 0; i < NR_TASKS; i++)
		if (__atomic_load_n(&tasks_of_model[i].on_rq, __ATOMIC_RELAXED))
			return 0;
	return 1;
}

/* What a call that gave up left undone, the next one about the same task or of the same CPU does. */
static void finish_calls(void)
{
	for (u32 i = 0; i < NR_TASKS; i++) {
		struct weir_task *t = task_of(&tasks_of_model[i].own);

		if (!tasks_of_model[i].own.task)
			continue;
		if (weir_state(t) == WEIR_UNCONSIDERED)
			weir_unblock(SCHED, 0, t);
		weir_block(SCHED, 0, t);
	}
	for (me = 0; me < NR_CPUS; me++) {
		weir_port_set_cpu(me);
		CALL(dispatch, me, 0);
		rqs[me].nr_buffer = 0;
		weir_gave_up(SCHED, me);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	u64 end = bpf_ktime_get_ns() + (u64)(seconds * 1e9), turns = 0, moved = 0, lost = 0;
	static struct weir_live_task known[NR_TASKS * 2 + 1];
	struct weir_swap_stats stats;
	pthread_t threads[NR_CPUS];
	u64 left = 0;
	int check;

	dice = argc > 2 ? strtoull(argv[2], 0, 0) * 104729 + 1 : 1;
	graph_balanced(&plans[0], NR_CPUS);
	graph_shared(&plans[1], NR_CPUS);
	graph_stealing(&plans[2], NR_CPUS);
	graph_postponed(&plans[3], NR_CPUS);
	weir_live.sched = (u64)plan_sched(NR_CPUS + 1, ARENA, 1);
	SCHED->patience = 20;
	SCHED->rt_topics =
		WEIR_TOPIC_BIT(KICK) | WEIR_TOPIC_BIT(PREEMPT) | WEIR_TOPIC_BIT(WITHHELD);
	weir_live.nr_cpus = NR_CPUS;
	weir_live.max_tasks = NR_TASKS * 2;
	weir_live.tasks = (u64)known;
	weir_live.slice_ns = SLICE_NS;
	REQUIRE(!weir_swap(SCHED, NR_CPUS, &plans[0].tables, &stats));
	REQUIRE(!weir_init_scheduler((u64[]){ 0 }));
	pthread_mutex_init(&global.lock, 0);
	for (u32 i = 0; i < NR_CPUS; i++) {
		pthread_mutex_init(&rqs[i].lock, 0);
		pthread_mutex_init(&rqs[i].sleep_lock, 0);
		pthread_cond_init(&rqs[i].sleep, 0);
		pthread_mutex_init(&rqs[i].local.lock, 0);
		pthread_mutex_init(&aside[i].lock, 0);
	}
	/* Until its thread begins, this one is CPU 0. */
	weir_port_set_cpu(0);
	for (u32 i = 0; i < NR_TASKS; i++)
		be_born(&tasks_of_model[i], (1ul << NR_CPUS) - 1);
	for (u32 i = 0; i < NR_TASKS; i++)
		wake_up(&tasks_of_model[i]);
	send_kicks();
	for (u64 i = 0; i < NR_CPUS; i++)
		pthread_create(&threads[i], 0, cpu_thread, (void *)i);
	while (bpf_ktime_get_ns() < end) {
		usleep((u32)roll(3000));
		interrupt((u32)roll(NR_CPUS));
		check_waits();
		if (!roll(2)) {
			int err = request(&plans[roll(4)].tables);

			REQUIRE(!err || err == -WEIR_EAGAIN);
			nr_swaps += !err;
		}
	}
	/* Nobody is woken any more; all come to their ends by themselves, or a kick was lost. */
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	for (u32 i = 0; i < 20000 && !all_quiet(); i++) {
		usleep(1000);
		check_waits();
	}
	REQUIRE(all_quiet());
	usleep(100000);
	__atomic_store_n(&stop, 2, __ATOMIC_SEQ_CST);
	for (u32 i = 0; i < NR_CPUS; i++) {
		wake_cpu(i, SCX_KICK_IDLE);
		pthread_join(threads[i], 0);
	}
	for (u32 i = 0; i < NR_TASKS; i++)
		turns += tasks_of_model[i].turns;
	for (u32 i = 0; i < NR_CPUS; i++) {
		moved += rqs[i].moved;
		lost += rqs[i].lost;
	}
	setvbuf(stdout, 0, _IOLBF, 0);
	printf("kernel: %llu turns, %llu wake-ups, %llu new tasks, %llu blocks, %llu yields, %llu "
	       "sleeps; %llu enqueues, %llu dispatches, "
	       "%llu dequeues, %llu aside (%llu given up), %llu kept, %llu dropped (%llu by the "
	       "kernel), %llu waits given up, %llu sent, %llu arrived, %llu swaps\n",
	       (unsigned long long)turns, (unsigned long long)nr_events[WAKE_UPS],
	       (unsigned long long)nr_events[BIRTHS], (unsigned long long)nr_events[BLOCKS],
	       (unsigned long long)nr_events[YIELDS], (unsigned long long)nr_events[SLEEPS],
	       (unsigned long long)SUM(enqueues), (unsigned long long)SUM(dispatches),
	       (unsigned long long)SUM(dequeues), (unsigned long long)SUM(aside),
	       (unsigned long long)SUM(aside_given_up), (unsigned long long)SUM(kept),
	       (unsigned long long)SUM(dropped), (unsigned long long)lost,
	       (unsigned long long)SUM(gave_up), (unsigned long long)SUM(given),
	       (unsigned long long)nr_events[SENT], (unsigned long long)nr_swaps);
	(void)moved;
	REQUIRE(turns > 1000 && nr_swaps);
	REQUIRE(!SUM(failures) && !SCHED->faults && !SCHED->lost_messages && !weir_port_faults);
	/* One whose block was held off is in the graph still, until a CPU chooses it. */
	for (u32 i = 0; i < weir_live.max_tasks; i++)
		left += known[i].since_ns != 0;
	REQUIRE(SUM(enqueues) == SUM(dispatches) + SUM(dequeues) + left);
	finish_calls();
	check = weir_check(SCHED);
	if (check)
		fprintf(stderr, "kernel: core/src/check.c:%d does not hold\n", check);
	REQUIRE(!check);
	return 0;
}
