/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pace - ask for the clock that each CPU needs
 *
 * class:     annotate
 * pipes:     none
 * listens:   DISPATCH, RELINQUISH, BLOCK, EXIT: how long each CPU is busy. FREQUENCY: its clock now; the highest is its top
 * publishes: FREQUENCY: the clock that the CPU is to have; the machine takes the next higher one that it has
 * answers:   -
 * kernel:    on request
 * params:    window ns 10000000 [100000, 1000000000]; over which busy time is measured
 *            room pct 125 [100, 400]; the clock is the demand times this
 * cost:      O(1) per message, O(CPUs) per window; takes the instance's own lock
 * batch:     no pipes
 * source:    ours; the rule is that of Linux's schedutil, a quarter more than what is needed. Weiser et al., "Scheduling for
 *            reduced CPU energy", 1994
 *
 * Without it a machine races to idle: each CPU runs at its top clock and rests afterwards. With it a CPU runs as fast as the last
 * window's load needs at its clock. Pacing saves where power rises faster than the clock, and costs where an idle CPU sleeps
 * deeply; jobs take longer in any case.
 *
 * A CPU of which no FREQUENCY was heard is left alone. While all CPUs are idle there are no windows.
 *
 * example:   annotate affinity, pace; entry -> load_balancer -> each cpu { round_robin -> cpu };
 */
#include <weir/component.h>
#include <weir/cpus.h>

struct pace_cpu {
	u64 top;   /* (l) Hz, 0: not known */
	u64 clock; /* (l) Hz */
	u64 asked; /* (l) Hz */
	u64 since; /* (l) ns + 1 since when it is busy, 0: it is not */
	u64 busy;  /* (l) ns in this window */
	u64 want;  /* (l) Hz, published and not heard yet, 0: nothing */
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
	       .publishes = WEIR_TOPIC_BIT(FREQUENCY),
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

/* The CPU runs a task from now on, or none. */
static int pace_note(struct pace weir_mem *self, u32 cpu, int busy)
{
	u64 now = weir_now(self->inst.sched);
	struct pace_cpu weir_mem *c;
	int err;

	if (cpu >= weir_nr_cpus(self->inst.sched))
		return 0;
	err = weir_instance_lock(&self->inst);
	if (err)
		return err;
	c = &self->of[cpu];
	if (c->since && now + 1 > c->since)
		c->busy += now + 1 - c->since;
	c->since = busy ? now + 1 : 0;
	if (busy && !self->armed) {
		self->armed = 1;
		self->began = now;
		weir_timer_set(&self->inst, now + self->window);
	}
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int pace_on_dispatch(struct pace weir_mem *self, const struct weir_msg *msg)
{
	return pace_note(self, weir_last_cpu(msg->task), 1);
}

WEIR_ENTRY int pace_on_relinquish(struct pace weir_mem *self, const struct weir_msg *msg)
{
	return pace_note(self, weir_last_cpu(msg->task), 0);
}

WEIR_ENTRY int pace_on_block(struct pace weir_mem *self, const struct weir_msg *msg)
{
	return pace_note(self, weir_last_cpu(msg->task), 0);
}

WEIR_ENTRY int pace_on_exit(struct pace weir_mem *self, const struct weir_msg *msg)
{
	return pace_note(self, weir_last_cpu(msg->task), 0);
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

/* What the busy time of the window of @ns that ends @now asks for; 0: the same clock as before. */
static u64 pace_wanted(const struct pace weir_mem *self, struct pace_cpu weir_mem *c, u64 now,
		       u64 ns)
{
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
	want = want > c->top ? c->top : want < c->top / 64 ? c->top / 64 : want;
	/* Nearly the same is the same. */
	if (want < c->asked + c->asked / 32 && want + c->asked / 32 > c->asked)
		return 0;
	c->asked = want;
	return want;
}

/* A window ends. Messages are published without the lock, because FREQUENCY comes back here. */
WEIR_ENTRY int pace_on_timer(struct pace weir_mem *self)
{
	u64 now = weir_now(self->inst.sched), active = 0;
	u32 nr = weir_nr_cpus(self->inst.sched);
	int err = weir_instance_lock(&self->inst);

	if (err) {
		weir_timer_set(&self->inst, now + self->window);
		return err;
	}
	for (u32 i = 0; i < nr && weir_loop; i++) {
		struct pace_cpu weir_mem *c = &self->of[i];

		active |= c->busy || c->since;
		c->want = pace_wanted(self, c, now, now - self->began);
	}
	self->began = now;
	self->armed = active;
	if (active)
		weir_timer_set(&self->inst, now + self->window);
	weir_instance_unlock(&self->inst);
	for (u32 i = 0; i < nr && weir_loop; i++) {
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
