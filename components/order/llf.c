/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * llf - run the task with the least laxity
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   DEADLINE, JOB: a waiting task is reordered; a running one is preempted if necessary.
 *            DISPATCH: with `defer`, the time of the next decision
 * publishes: PREEMPT: a CPU runs a task with more laxity than a waiting one
 * asks:      DEADLINE: absolute, ns, 0: none; JOB: the worst-case execution time; EXECUTED: execution time
 *            so far; all needed. AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    tick ns 100000 [0, 1000000000]; laxities are compared at its multiples, 0: never
 *            eager flag 1 [0, 1]; compare laxities also when a task arrives
 *            defer flag 0 [0, 1]; compare as late as possible instead of at ticks (MLLF)
 * per-task:  8 bytes
 * cost:      O(log n) per change, plus O(CPUs) for laxities and per preemption, at each tick while a
 *            task waits too; takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe, stably sorted by laxity, those without a
 *            deadline last
 * source:    Mok and Dertouzos, "Multiprocessor scheduling in a hard real-time environment", 1978;
 *            ticks and ties: Mancuso et al., hardware scheduling engine, V-B; `defer`: Oh and Yang, "A
 *            modified least-laxity-first scheduling algorithm for real-time tasks", 1998
 * long:      the order, its timer and preemption work on the same laxities
 *
 * Laxity is the time to the deadline less the remaining work. It shrinks while a task waits and is constant while
 * it runs. The order among waiting tasks therefore never changes, and only running tasks are re-evaluated.
 * A running task keeps its CPU against one of equal laxity. Optimal on one CPU
 * with a fine tick; tasks of equal laxity alternate at each tick. Without ticks, a task whose laxity falls waits
 * for the next arrival or end.
 *
 * With `defer` a running task continues against others of equal and, for a time, of less laxity: until the
 * earliest deadline of the waiting tasks is as far away as the running task has laxity. On one CPU this is
 * early enough whenever all deadlines can be met. On several CPUs it may not be, so a waiting task
 * also triggers a decision when its laxity reaches zero; this is ours.
 *
 * Takes no steps, so tasks are linked before it (docs/decisions/0050): it looks at all that wait
 * when one runs out of laxity.
 *
 * example:   annotate deadline, job, executed; entry -> llf(tick = 1ms) -> cpus;
 */
#include <weir/component.h>
#include <weir/cpus.h>
#include <weir/kit/laxity.h>
#include <weir/kit/timetree.h>

struct llf_task {
	u32 place; /* (l) among the deadlines */
	u32 unused;
};

struct llf {
	struct weir_instance inst;
	struct weir_timetree latest; /* waiting tasks by deadline and latest start, with `defer` */
	u64 tick;		     /* (c) ns */
	u64 eager;		     /* (c) */
	u64 defer;		     /* (c) */
	u64 weighed;		     /* (a) ns + 1; running tasks were weighed then */
};

WEIR_COMPONENT(llf, .summary = "run the task with the least laxity", .cls = WEIR_ORDER,
	       .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1,
	       .out_min = 1, .out_max = 1, .keyed_out = 1,
	       .listens = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DISPATCH),
	       .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(EXECUTED) |
		       WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(EXECUTED),
	       .per_task = sizeof(struct llf_task),
	       WEIR_PARAMS(llf,
			   WEIR_PARAM(llf, tick, NS, 100000, 0, 1000000000,
				      "laxities are compared at its multiples, 0: never"),
			   WEIR_PARAM(llf, eager, FLAG, 1, 0, 1,
				      "compare laxities also when a task arrives"),
			   WEIR_PARAM(llf, defer, FLAG, 0, 0, 1,
				      "compare as late as possible instead of at ticks (MLLF)")),
	       WEIR_RELATIONS(WEIR_RELATION(llf, ONE_OF, tick, eager,
					    "laxities would never be compared")));

/*
 * Report to the framework how urgent the running tasks are by now, once an instant: afterwards a CPU that was
 * asked to give way counts with what it is to run (weir_preempt()).
 */
static void llf_weigh(struct llf weir_mem *self)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 now = weir_now(s);

	if (weir_load(&self->weighed) == now + 1)
		return;
	weir_store(&self->weighed, now + 1);
	for (u32 w = out->word_lo; w <= out->word_hi && weir_loop; w++) {
		u64 bits = out->cpus->word[w] & weir_busy_word(s, w);

		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			struct weir_task weir_mem *t = weir_cpu_curr(s, cpu);
			u64 key;

			bits &= bits - 1;
			if (!t)
				continue;
			key = weir_latest_start(s, t);
			weir_store(&t->key, key);
			weir_cpu_set_key(s, cpu, key);
		}
	}
	weir_note_scan(&self->inst, out->nr_cpus);
}

/* The most laxity, ns, that a task has which runs now; the keys of running tasks are up to date. */
static u64 llf_most_laxity(const struct llf weir_mem *self, u64 now)
{
	const struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 most = 0;

	for (u32 w = out->word_lo; w <= out->word_hi && weir_loop; w++) {
		u64 bits = out->cpus->word[w] & weir_busy_word(s, w);

		while (bits && weir_loop) {
			u64 key = weir_cpu_key(s, w * 64 + weir_lowest_bit(bits));

			bits &= bits - 1;
			if (key != WEIR_KEY_NONE && key > now + most)
				most = key - now;
		}
	}
	return most;
}

/* The least key after @now of the tasks in @pipe, which is locked; WEIR_KEY_NONE: none. */
static u64 llf_key_after(const struct weir_pipe weir_mem *pipe, u64 now, u32 *looked)
{
	struct weir_task weir_mem *t = pipe->root;
	u64 found = WEIR_KEY_NONE;

	while (t && weir_loop) {
		const struct weir_hook weir_mem *h = &t->hooks[pipe->slot];
		int after = h->key > now;

		if (after)
			found = h->key;
		t = after ? h->left : h->right;
		++*looked;
	}
	return found;
}

/* When waiting tasks cannot be put off any longer, ns; 0: none with a deadline ahead waits. */
static u64 llf_put_off(struct llf weir_mem *self, u64 now)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u64 most = llf_most_laxity(self, now), at, deadline = 0;
	u32 steps = 0, n = 0;

	if (weir_pipe_lock(out))
		return now + self->tick;
	at = llf_key_after(out, now, &steps);
	if (at == WEIR_KEY_NONE)
		at = 0;
	else
		deadline = weir_timetree_after(&self->latest, out, now, now + most, &n);
	weir_pipe_unlock(out);
	weir_note_scan(&self->inst, steps + n);
	return deadline && deadline - most < at ? deadline - most : at;
}

/*
 * The next tick, if ticks are wanted and a task waits; or what stands for it. @decided: a decision has just been made.
 * The time of the next one moves on with the remaining work of a running task, so one that is nearly done would never
 * come to its end if the handler itself took longer than that: an eighth of a tick is left to it.
 */
static void llf_arm(struct llf weir_mem *self, int decided)
{
	u64 now = weir_now(self->inst.sched), at;

	if (!self->tick || !weir_pipe_nr(weir_out(&self->inst, 0)))
		return;
	at = self->defer ? llf_put_off(self, now) : (now / self->tick + 1) * self->tick;
	if (decided && at && at < now + self->tick / 8)
		at = now + self->tick / 8;
	if (at && weir_load(&self->inst.timer_ns) != at)
		weir_timer_set(&self->inst, at);
}

/*
 * @t takes the CPU of a running task of more laxity: of the most there is, and among equals of the youngest
 * one, as older tasks go first. 1: it is asked to give way; 0: none, or a CPU is idle.
 */
static int llf_preempt(struct llf weir_mem *self, struct weir_task weir_mem *t, u64 key)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_sched weir_mem *s = self->inst.sched;
	const struct weir_cpumask weir_mem *mask = weir_affinity(s, t);
	u64 most = key;
	u32 cpu = WEIR_NO_CPU, youngest = 0;

	weir_note_scan(&self->inst, out->nr_cpus);
	for (u32 w = out->word_lo; w <= out->word_hi && weir_loop; w++) {
		u64 bits = out->cpus->word[w] & (mask ? weir_load(&mask->word[w]) : ~0ull);

		if (bits & weir_idle_word(s, w))
			return 0;
		bits &= weir_busy_word(s, w);
		while (bits && weir_loop) {
			u32 at = w * 64 + weir_lowest_bit(bits);
			struct weir_task weir_mem *runs = weir_cpu_curr(s, at);
			u64 k = weir_cpu_key(s, at);

			bits &= bits - 1;
			/* It chooses, and has not yet been asked to give way. */
			if (!runs && k == WEIR_KEY_NONE && weir_load(&s->cpus[at].online)) {
				weir_cas(&s->cpus[at].curr_key, k, key);
				return 0;
			}
			if (!runs || k <= key || k < most || (k == most && runs->id < youngest))
				continue;
			most = k;
			youngest = runs->id;
			cpu = at;
		}
	}
	if (cpu == WEIR_NO_CPU)
		return 0;
	/* Until it chooses again the CPU counts as running @t, so the next one looks elsewhere. */
	weir_cpu_set_key(s, cpu, key);
	weir_publish(&self->inst, WEIR_TOPIC_PREEMPT, t, cpu, key);
	return 1;
}

/* @t waits: its deadline counts, if it has one. */
static int llf_note_deadline(struct llf weir_mem *self, struct weir_task weir_mem *t, u64 key)
{
	if (key == WEIR_KEY_NONE)
		return weir_timetree_clear(&self->latest, t);
	return weir_timetree_set(&self->latest, t,
				 weir_property(self->inst.sched, WEIR_TOPIC_DEADLINE, t), key);
}

static int llf_put(struct llf weir_mem *self, struct weir_pipe weir_mem *in,
		   struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u64 key = weir_latest_start(self->inst.sched, t);
	int err = weir_pipe_insert_stable(out, t, key, in);

	if (!err && self->defer)
		err = llf_note_deadline(self, t, key);
	if (err)
		return err;
	if (self->eager) {
		llf_weigh(self);
		llf_preempt(self, t, key);
	}
	llf_arm(self, 0);
	return 0;
}

WEIR_ENTRY int llf_construct(struct llf weir_mem *self)
{
	weir_timetree_init(&self->latest, &self->inst, __builtin_offsetof(struct llf_task, place));
	return 0;
}

WEIR_ENTRY int llf_update(struct llf weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		weir_store(&c->task->slice_ns, WEIR_SLICE_UNLIMITED);
		err = llf_put(self, in, c->task);
		if (err)
			return err;
	}
	return 0;
}

/* The running tasks decide how long the others can be put off. */
WEIR_ENTRY int llf_on_dispatch(struct llf weir_mem *self, const struct weir_msg *msg)
{
	if (self->defer) {
		if (msg->task && !weir_pipe_has(weir_out(&self->inst, 0), msg->task))
			weir_timetree_clear(&self->latest, msg->task);
		llf_weigh(self);
		llf_arm(self, 0);
	}
	return 0;
}

WEIR_ENTRY int llf_on_deadline(struct llf weir_mem *self, const struct weir_msg *msg)
{
	if (msg->task)
		weir_rekey_running(&self->inst, weir_out(&self->inst, 0), msg->task,
				   weir_latest_start(self->inst.sched, msg->task));
	return 0;
}

/* A task that update has still to look at gets its key there. */
WEIR_ENTRY int llf_follow_deadline(struct llf weir_mem *self, const struct weir_msg *msg,
				   struct weir_pipe weir_mem *in)
{
	return weir_pipe_has(weir_out(&self->inst, 0), msg->task) ? llf_put(self, in, msg->task)
								  : 0;
}

WEIR_ENTRY int llf_follow_job(struct llf weir_mem *self, const struct weir_msg *msg,
			      struct weir_pipe weir_mem *in)
{
	return weir_pipe_has(weir_out(&self->inst, 0), msg->task) ? llf_put(self, in, msg->task)
								  : 0;
}

/* A tick: waiting tasks, most urgent first, take CPUs until no running task has more laxity. */
WEIR_ENTRY int llf_on_timer(struct llf weir_mem *self)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_task weir_mem *t;
	int err;

	llf_weigh(self);
	err = weir_pipe_lock(out);
	if (err)
		return err;
	weir_for_task(t, out)
		if (!llf_preempt(self, t, weir_load(&t->key)))
			break;
	weir_pipe_unlock(out);
	llf_arm(self, 1);
	return 0;
}

WEIR_ENTRY void llf_task_exit(struct llf weir_mem *self, struct weir_task weir_mem *t)
{
	weir_timetree_clear(&self->latest, t);
}

WEIR_ENTRY void llf_destroy(struct llf weir_mem *self)
{
	weir_timetree_free(&self->latest);
}
