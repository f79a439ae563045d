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
 *            task waits too; with `defer` takes the instance's own lock
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
 * example:   annotate deadline, job, executed; entry -> llf(tick = 1ms) -> cpus;
 */
#include <weir/component.h>
#include <weir/cpus.h>
#include <weir/kit/laxity.h>
#include <weir/kit/timetree.h>

struct llf_task {
	u32 in_latest; /* (l) place among the deadlines */
	u32 in_starts; /* (l) place among the latest starts */
};

struct llf {
	struct weir_instance inst;
	struct weir_timetree latest; /* waiting tasks by deadline and latest start, with `defer` */
	struct weir_timetree starts; /* likewise, by latest start */
	u64 tick;		     /* (c) ns */
	u64 eager;		     /* (c) */
	u64 defer;		     /* (c) */
	u64 weighed;		     /* (a) ns + 1; running tasks were weighed then */
};

WEIR_COMPONENT(llf, .summary = "run the task with the least laxity", .cls = WEIR_ORDER,
	       .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1,
	       .out_min = 1, .out_max = 1, .keyed_out = 1,
	       .hears = WEIR_HEARS_PICKED | WEIR_HEARS_LEFT,
	       .listens = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DISPATCH),
	       .reviews = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB),
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

/* When waiting tasks cannot be put off any longer, ns; 0: none with a deadline ahead waits. */
static u64 llf_put_off(struct llf weir_mem *self, u64 now)
{
	u64 most = llf_most_laxity(self, now), at, deadline = 0;
	u32 steps = 0, n = 0;

	at = weir_timetree_after(&self->starts, now, now, &steps);
	if (at)
		deadline = weir_timetree_after(&self->latest, now, now + most, &n);
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

	if (!self->tick)
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

/* @t does not wait here any more. */
static int llf_forget(struct llf weir_mem *self, struct weir_task weir_mem *t)
{
	int err = weir_timetree_clear(&self->latest, t);

	return err ? err : weir_timetree_clear(&self->starts, t);
}

/* @t waits: its deadline counts, if it has one. */
static int llf_note_deadline(struct llf weir_mem *self, struct weir_task weir_mem *t, u64 key)
{
	int err;

	if (key == WEIR_KEY_NONE)
		return llf_forget(self, t);
	err = weir_timetree_set(&self->latest, t,
				weir_property(self->inst.sched, WEIR_TOPIC_DEADLINE, t), key);
	return err ? err : weir_timetree_set(&self->starts, t, key, WEIR_KEY_NONE);
}

WEIR_ENTRY int llf_construct(struct llf weir_mem *self)
{
	weir_timetree_init(&self->latest, &self->inst,
			   __builtin_offsetof(struct llf_task, in_latest));
	weir_timetree_init(&self->starts, &self->inst,
			   __builtin_offsetof(struct llf_task, in_starts));
	return 0;
}

WEIR_ENTRY u32 llf_step(struct llf weir_mem *self, u32 what, struct weir_task weir_mem *t,
			struct weir_step weir_mem *s)
{
	u64 key;
	int err = 0;

	if (what == WEIR_PICKED || what == WEIR_LEFT) {
		llf_forget(self, t);
		return 0;
	}
	weir_store(&t->slice_ns, WEIR_SLICE_UNLIMITED);
	key = weir_latest_start(self->inst.sched, t);
	if (s->runs)
		return weir_place_urgent(s, key);
	if (self->defer)
		err = llf_note_deadline(self, t, key);
	/* Without memory for its deadline it waits for the next decision. */
	if (err)
		weir_step_failed(&self->inst, t, err);
	/* Among equals the youngest gives way: not what weir_urgent() does. */
	if (self->eager) {
		llf_weigh(self);
		llf_preempt(self, t, key);
	}
	llf_arm(self, 0);
	s->key = key;
	return 0;
}

/* Some task waits; the lock of the steps is held. */
static int llf_has_waiting(const struct llf weir_mem *self)
{
	const struct weir_pipe weir_mem *home = self->inst.home;

	return home ? weir_home_nr(home) != 0 : weir_pipe_nr(weir_out(&self->inst, 0)) != 0;
}

/* The running tasks decide how long the others can be put off. */
WEIR_ENTRY int llf_on_dispatch(struct llf weir_mem *self, const struct weir_msg *msg)
{
	(void)msg;
	if (!self->defer || weir_steps_lock(&self->inst))
		return 0;
	llf_weigh(self);
	if (llf_has_waiting(self))
		llf_arm(self, 0);
	weir_steps_unlock(&self->inst);
	return 0;
}

/* A tick: waiting tasks, most urgent first, take CPUs until no running task has more laxity. */
WEIR_ENTRY int llf_on_timer(struct llf weir_mem *self)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_task weir_mem *t;
	int err = weir_steps_lock(&self->inst);

	if (err)
		return err;
	llf_weigh(self);
	if (self->inst.home)
		weir_for_member(t, out)
			if (!llf_preempt(self, t, weir_load(&t->key)))
				break;
	if (llf_has_waiting(self))
		llf_arm(self, 1);
	weir_steps_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY void llf_task_exit(struct llf weir_mem *self, struct weir_task weir_mem *t)
{
	llf_forget(self, t);
}

WEIR_ENTRY void llf_destroy(struct llf weir_mem *self)
{
	weir_timetree_free(&self->latest);
	weir_timetree_free(&self->starts);
}
