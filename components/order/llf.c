/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * llf - run the task first that can wait least
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   DEADLINE, JOB: a waiting task takes its new place; a running one gives way if it must
 * publishes: PREEMPT: a CPU runs a task of more laxity than one that waits
 * asks:      DEADLINE: absolute, ns, 0: none; JOB: the worst-case execution time; EXECUTED: how much of
 *            it is done; all needed. AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    no, its calls are nested deeper than the verifier allows
 * params:    tick ns 100000 [0, 1000000000]; laxities are compared at its multiples, 0: never
 *            eager flag 1 [0, 1]; and also when a task comes
 * cost:      O(log n) per change, plus O(CPUs) for laxities and per preemption, at each tick while a
 *            task waits too; takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe, stably sorted by laxity, those without a
 *            deadline last
 * source:    Mok and Dertouzos, "Multiprocessor scheduling in a hard real-time environment", 1978;
 *            ticks and ties: Mancuso et al., hardware scheduling engine, V-B
 *
 * Laxity is the time to the deadline less the work left. It shrinks while a task waits and stays while
 * it runs, so among waiting tasks the order by deadline less work left never changes, and only running
 * ones are weighed anew. A task that runs keeps its CPU against one of equal laxity. Optimal on one CPU
 * with a fine tick; ties make it switch at each. Without ticks a task that comes to be in a hurry waits
 * for the next arrival or end.
 *
 * example:   annotate deadline, job, executed; entry -> llf(tick = 1ms) -> cpus;
 */
#include <weir/component.h>

struct llf {
	struct weir_instance inst;
	u64 tick;    /* (c) ns */
	u64 eager;   /* (c) */
	u64 weighed; /* (a) ns + 1; running tasks were weighed then */
};

WEIR_COMPONENT(llf, .summary = "run the task first that can wait least", .cls = WEIR_ORDER,
	       .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1, .listens = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB),
	       .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(EXECUTED) |
		       WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(EXECUTED),
	       WEIR_PARAMS(llf,
			   WEIR_PARAM(llf, tick, NS, 100000, 0, 1000000000,
				      "laxities are compared at its multiples, 0: never"),
			   WEIR_PARAM(llf, eager, FLAG, 1, 0, 1, "and also when a task comes")));

/*
 * Tell the framework how urgent the running tasks are by now, once an instant: afterwards a CPU that was
 * told to give way counts with what it is to run (weir_preempt()).
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
		u64 bits = out->cpus->word[w] & weir_load(&s->busy->word[w]);

		while (bits && weir_loop) {
			struct weir_cpu weir_mem *c = &s->cpus[w * 64 + weir_lowest_bit(bits)];
			struct weir_task weir_mem *t = weir_load(&c->curr);
			u64 key;

			bits &= bits - 1;
			if (!t)
				continue;
			key = weir_latest_start(s, t);
			weir_store(&t->key, key);
			weir_store(&c->curr_key, key);
		}
	}
	weir_note_scan(&self->inst, out->nr_cpus);
}

/* The next tick, if ticks are wanted and a task waits. */
static void llf_arm(struct llf weir_mem *self)
{
	u64 at;

	if (!self->tick || !weir_pipe_nr(weir_out(&self->inst, 0)))
		return;
	at = (weir_now(self->inst.sched) / self->tick + 1) * self->tick;
	if (weir_load(&self->inst.timer_ns) != at)
		weir_timer_set(&self->inst, at);
}

static int llf_put(struct llf weir_mem *self, struct weir_pipe weir_mem *in,
		   struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u64 key = weir_latest_start(self->inst.sched, t);
	int err = weir_pipe_insert_stable(out, t, key, in);

	if (err)
		return err;
	if (self->eager) {
		llf_weigh(self);
		weir_preempt(&self->inst, out, t, key);
	}
	llf_arm(self);
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
	return weir_pipe_has(weir_out(&self->inst, 0), msg->task) ? llf_put(self, in, msg->task) : 0;
}

WEIR_ENTRY int llf_follow_job(struct llf weir_mem *self, const struct weir_msg *msg,
			      struct weir_pipe weir_mem *in)
{
	return weir_pipe_has(weir_out(&self->inst, 0), msg->task) ? llf_put(self, in, msg->task) : 0;
}

/* A tick: waiting tasks, most urgent first, take CPUs until nobody that runs has more laxity. */
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
		if (!weir_preempt(&self->inst, out, t, weir_load(&t->key)))
			break;
	weir_pipe_unlock(out);
	llf_arm(self);
	return 0;
}
