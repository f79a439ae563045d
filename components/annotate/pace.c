/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pace - ask for the clock that each CPU needs
 *
 * class:     annotate
 * pipes:     none
 * listens:   DISPATCH, RELINQUISH, BLOCK, EXIT: how long each CPU is busy. FREQUENCY: its clock now; the highest is its top
 * publishes: FREQUENCY: the clock that the CPU is to have; the machine takes the next higher one that it has
 * asks:      UCLAMP: what the task that gets the CPU counts as using, at least and at most
 * answers:   -
 * kernel:    on request
 * params:    window ns 10000000 [100000, 1000000000]; over which busy time is measured
 *            room pct 125 [100, 400]; the clock is the demand times this
 * cost:      O(1) per message, O(CPUs) per window; takes the instance's own lock
 * batch:     no pipes
 * long:      demand, clamps and clock of a CPU are one decision
 * source:    ours; the rule is that of Linux's schedutil, a quarter more than what is needed. Weiser et al., "Scheduling for
 *            reduced CPU energy", 1994
 *
 * Without it a machine races to idle: each CPU runs at its top clock and rests afterwards. With it a CPU runs as fast as the last
 * window's load needs at its clock. Pacing saves where power rises faster than the clock, and costs where an idle CPU sleeps
 * deeply; jobs take longer in any case.
 *
 * With the annotator `uclamp`, the clock is within the largest least and the largest most of the tasks that ran in the window, as shares
 * of the largest CPU. A task whose least needs a higher clock gets that at once. (Linux counts the tasks that wait, too.)
 *
 * A CPU of which no FREQUENCY was heard is left alone. While all CPUs are idle there are no windows.
 *
 * example:   annotate affinity, pace; entry -> load_balancer -> each cpu { round_robin -> cpu };
 */
#include <weir/cpus.h>
#include <weir/kit/uclamp.h>

struct pace_cpu {
	u64 top;   /* (l) Hz, 0: not known */
	u64 clock; /* (l) Hz */
	u64 asked; /* (l) Hz */
	u64 since; /* (l) ns + 1 since when it is busy, 0: it is not */
	u64 busy;  /* (l) ns in this window */
	u64 want;  /* (l) Hz, published and not heard yet, 0: nothing */
	u64 runs;  /* (l) clamps of the task that runs, or ran last */
	u32 least; /* (l) the largest of the tasks that ran in this window, 1/1024 */
	u32 most;  /* (l) likewise; with `least` 0: none has */
};

struct pace {
	struct weir_instance inst;
	u64 window;		      /* (c) ns */
	u64 room;		      /* (c) percent */
	u64 began;		      /* (l) ns */
	u64 armed;		      /* (l) */
	struct pace_cpu weir_mem *of; /* (c) by CPU */
};

WEIR_COMPONENT(pace, .summary = "ask for the clock that each CPU needs", .cls = WEIR_ANNOTATE,
	       .kernel = WEIR_KERNEL_ON_REQUEST,
	       .listens = WEIR_TOPIC_BIT(DISPATCH) | WEIR_TOPIC_BIT(RELINQUISH) |
			  WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(EXIT) | WEIR_TOPIC_BIT(FREQUENCY),
	       .publishes = WEIR_TOPIC_BIT(FREQUENCY), .asks = WEIR_TOPIC_BIT(UCLAMP),
	       WEIR_PARAMS(pace,
			   WEIR_PARAM(pace, window, NS, 10000000, 100000, 1000000000,
				      "over which busy time is measured"),
			   WEIR_PARAM(pace, room, PCT, 125, 100, 400,
				      "the clock is the demand times this")));

WEIR_ENTRY int pace_construct(struct pace weir_mem *self)
{
	self->of = weir_instance_alloc(&self->inst, (u64)weir_nr_cpus(self->inst.sched) *
							    sizeof(struct pace_cpu));
	return self->of ? 0 : -WEIR_ENOMEM;
}

/* Its task has run until now. The lock is held. */
static void pace_stop(struct pace_cpu weir_mem *c, u64 now)
{
	if (c->since && now + 1 > c->since)
		c->busy += now + 1 - c->since;
	c->since = 0;
}

/* A task with @clamps counts in this window. The lock is held. */
static void pace_count(struct pace_cpu weir_mem *c, u64 clamps)
{
	u32 least = weir_uclamp_least(clamps), most = weir_uclamp_most(clamps);

	c->runs = clamps;
	c->least = c->least > least ? c->least : least;
	c->most = c->most > most ? c->most : most;
}

/* The clock at which the CPU gives @util, in 1/1024 of the largest CPU. */
static u64 pace_clock(const struct pace weir_mem *self, u32 cpu, u32 util)
{
	u64 top = self->of[cpu].top;
	u32 capacity = weir_cpu_capacity(self->inst.sched, cpu);

	return util >= capacity ? top : top * util / capacity;
}

/* The clock to ask for at once because of the task that @cpu runs; 0: none. The lock is held. */
static u64 pace_raise(struct pace weir_mem *self, u32 cpu)
{
	struct pace_cpu weir_mem *c = &self->of[cpu];
	u64 want = pace_clock(self, cpu, weir_uclamp_least(c->runs));

	if (want <= c->asked)
		return 0;
	c->asked = want;
	c->want = want;
	return want;
}

WEIR_ENTRY int pace_on_dispatch(struct pace weir_mem *self, const struct weir_msg *msg)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 now = weir_now(s), want, clamps = weir_property(s, WEIR_TOPIC_UCLAMP, msg->task);
	u32 cpu = weir_last_cpu(msg->task);
	struct pace_cpu weir_mem *c;
	int err;

	if (cpu >= weir_nr_cpus(s))
		return 0;
	err = weir_instance_lock(&self->inst);
	if (err)
		return err;
	c = &self->of[cpu];
	pace_stop(c, now);
	c->since = now + 1;
	if (!self->armed) {
		self->armed = 1;
		self->began = now;
		weir_timer_set(&self->inst, now + self->window);
	}
	pace_count(c, clamps);
	want = pace_raise(self, cpu);
	weir_instance_unlock(&self->inst);
	if (want)
		weir_publish(&self->inst, WEIR_TOPIC_FREQUENCY, 0, cpu, want);
	return 0;
}

/* @cpu runs no task from now on. */
static int pace_note(struct pace weir_mem *self, u32 cpu)
{
	int err;

	if (cpu >= weir_nr_cpus(self->inst.sched))
		return 0;
	err = weir_instance_lock(&self->inst);
	if (err)
		return err;
	pace_stop(&self->of[cpu], weir_now(self->inst.sched));
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int pace_on_relinquish(struct pace weir_mem *self, const struct weir_msg *msg)
{
	return pace_note(self, weir_last_cpu(msg->task));
}

WEIR_ENTRY int pace_on_block(struct pace weir_mem *self, const struct weir_msg *msg)
{
	return pace_note(self, weir_last_cpu(msg->task));
}

WEIR_ENTRY int pace_on_exit(struct pace weir_mem *self, const struct weir_msg *msg)
{
	return pace_note(self, weir_last_cpu(msg->task));
}

WEIR_ENTRY int pace_on_frequency(struct pace weir_mem *self, const struct weir_msg *msg)
{
	struct pace_cpu weir_mem *c;
	int err;

	if (msg->cpu >= weir_nr_cpus(self->inst.sched))
		return -WEIR_EINVAL;
	err = weir_instance_lock(&self->inst);
	if (err)
		return err;
	c = &self->of[msg->cpu];
	if (c->want && c->want == msg->value) {
		/* Its own wish comes back first: no clock yet, and none at all if it changes nothing. */
		c->want = 0;
	} else {
		c->clock = msg->value;
		c->top = c->top < msg->value ? msg->value : c->top;
		c->asked = c->asked ? c->asked : c->top;
	}
	weir_instance_unlock(&self->inst);
	return 0;
}

/* @want within the clamps of the window's tasks, and at least a 64th of the top. The next window begins with the task that runs. */
static u64 pace_clamped(struct pace weir_mem *self, u32 cpu, u64 want)
{
	struct pace_cpu weir_mem *c = &self->of[cpu];
	u64 least = pace_clock(self, cpu, c->least), most = pace_clock(self, cpu, c->most);

	if (c->least || c->most)
		want = want > most ? most : want < least ? least : want;
	c->least = 0;
	c->most = 0;
	if (c->since)
		pace_count(c, c->runs);
	return want < c->top / 64 ? c->top / 64 : want;
}

/*
 * What the busy time of @cpu in the window of @ns that ends @now asks for; 0: the same clock as before. The lock is held. (A verifier walks
 * through its ways once, not for each CPU.)
 */
WEIR_HELPER u64 pace_wanted(struct pace weir_mem *self weir_arg, u32 cpu, u64 now, u64 ns)
{
	struct pace_cpu weir_mem *c = &self->of[cpu];
	u64 busy = c->busy, want;

	if (c->since && now + 1 > c->since) {
		busy += now + 1 - c->since;
		c->since = now + 1;
	}
	c->busy = 0;
	if (!c->top || ns < 1000)
		return 0;
	busy = busy > ns ? ns : busy;
	/* In kHz and us, so that products fit. */
	want = c->clock / 1000 * (busy / 1000) / (ns / 1000) * self->room / 100 * 1000;
	/* No time was left: the window does not show how much more is needed. */
	if (busy >= ns - ns / 16)
		want = c->top;
	want = pace_clamped(self, cpu, want > c->top ? c->top : want);
	/* Nearly the same is the same. */
	if (want < c->asked + c->asked / 32 && want + c->asked / 32 > c->asked)
		return 0;
	c->asked = want;
	return want;
}

/*
 * A window ends. Messages are published without the lock, because FREQUENCY comes back here. (Each loop rereads its limit: one that two
 * loops share shows the verifier how the first one ended.)
 */
WEIR_ENTRY int pace_on_timer(struct pace weir_mem *self)
{
	u64 now = weir_now(self->inst.sched), active = 0;
	int err = weir_instance_lock(&self->inst);

	if (err) {
		weir_timer_set(&self->inst, now + self->window);
		return err;
	}
	for (u32 i = 0; i < weir_nr_cpus(self->inst.sched) && weir_loop; i++) {
		struct pace_cpu weir_mem *c = &self->of[i];

		active |= c->busy | c->since;
		c->want = pace_wanted(self, i, now, now - self->began);
	}
	self->began = now;
	self->armed = active != 0;
	if (active)
		weir_timer_set(&self->inst, now + self->window);
	weir_instance_unlock(&self->inst);
	for (u32 i = 0; i < weir_nr_cpus(self->inst.sched) && weir_loop; i++) {
		u64 want = weir_load(&self->of[i].want);

		if (want)
			weir_publish(&self->inst, WEIR_TOPIC_FREQUENCY, 0, i, want);
	}
	return 0;
}

WEIR_ENTRY void pace_take_state(struct pace weir_mem *self, struct pace weir_mem *old)
{
	for (u32 i = 0; i < weir_nr_cpus(self->inst.sched) && weir_loop; i++) {
		self->of[i].top = old->of[i].top;
		self->of[i].clock = old->of[i].clock;
		self->of[i].asked = old->of[i].asked;
	}
}
