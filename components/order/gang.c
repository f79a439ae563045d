/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * gang - run a gang's member first while the gang's slot lasts, by absolute time
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   GANG_SLOT: when a gang's slots are on this CPU. GANG: a waiting task joined or left
 * publishes: PREEMPT: a slot began, and another task runs; a slot ended, and its member runs
 * asks:      GANG: the task's gang, and what it does between slots; needed. AFFINITY: which CPUs the task may take
 * answers:   -
 * params:    slice ns 3000000 [20000, 1000000000]; run time of best effort before it goes to the tail
 * cost:      O(log n + gangs of the CPU) per change; O(n) where a slot begins or ends; takes the instance's own lock
 * batch:     the out-pipe holds the tasks of the in-pipe: members of the gang whose slot it is, then members between slots
 *            that may run and tasks of no gang, then, without a key, members and others that wait; each in the order of the in-pipe
 * long:      rows of slots, their change at a time, and the order and timer that follow from them share one lock
 * source:    Peter, 2012, 3.5.4 and 3.6.3 (phase-locked scheduling); docs/decisions/0035
 *
 * One instance per CPU. A slot begins at all times that are `offset` modulo `period`, and lasts `length`; equal clocks and
 * equal rows make the members of a gang start at once, without a message. In its slot a member runs for as long as the slot lasts; if it
 * blocks, the CPU goes to best effort until it wakes. If two slots meet, the one that was announced first has the CPU;
 * the controller sees to it that they never do.
 *
 * A row comes as messages GANG_SLOT to a CPU (no CPU: to all): OFFSET, PERIOD and LENGTH of the row, in any order, then FROM,
 * from which time on it replaces the gang's last row. A length of 0 takes the gang's slots away. Up to 16 gangs a CPU.
 *
 * A row with ALONE, announced before FROM, keeps the CPU for members in its slots, as core scheduling does: other tasks lose
 * it, wait without a key until the slot is over, and the CPU is idle while no member runs. Give such a row to all CPUs of a
 * core, and nobody else shares the core with a member.
 *
 * Members that `wait` between their slots get no key; put `urgent` behind this order to withhold them. Without it they run
 * when nothing else does. Where the gang has no slots in force, its members are best effort, whatever they are to do
 * between slots. Pin members: one that is elsewhere finds no slot there.
 *
 * example:   annotate affinity, membership;
 *            entry -> load_balancer -> each cpu { gang(slice = 2ms) -> urgent -> cpu };
 */
#include <weir/component.h>
#include <weir/cpus.h>

#define GANG_ROWS    16u
#define GANG_NEVER   (~0ull)
#define GANG_LONGEST (1ull << 62) /* ns, so that sums stay in 64 bits */
/* Urgencies: above all times; below them, as best effort. */
#define GANG_KEY_SLOT	     1
#define GANG_KEY_BEST_EFFORT WEIR_KEY_FIXED

struct gang_slots {
	u64 offset; /* ns, below the period */
	u64 period; /* ns */
	u64 length; /* ns, 0: none */
	u64 from;   /* ns, absolute; no slot begins before */
	u64 alone;  /* 1: in slots only members run */
};

struct gang_row {
	u64 gang;		  /* (l) 0: free */
	u32 pending;		  /* (l) `next` is announced and not in force yet */
	u32 announcing;		  /* (l) FROM has not come yet */
	struct gang_slots now;	  /* (l) in force */
	struct gang_slots next;	  /* (l) in force from its `from` on */
	struct gang_slots staged; /* (l) being announced */
};

struct gang {
	struct weir_instance inst;
	u64 slice;			/* (c) ns */
	u32 nr;				/* (l) rows that were ever used */
	u32 withheld;			/* (l) tasks of no gang may wait without a key */
	u64 active;			/* (l) gang whose slot it is, 0: none */
	u64 alone;			/* (l) of the active slot */
	u64 until;			/* (l) ns; when that changes, at the earliest */
	u64 end;			/* (l) ns; of the active slot */
	struct gang_row row[GANG_ROWS]; /* (l) */
};

/* What a task is here. */
struct gang_place {
	u64 key;
	u64 slice; /* ns */
};

WEIR_COMPONENT(gang,
	       .summary = "run a gang's member first while the gang's slot lasts, by absolute time",
	       .cls = WEIR_ORDER, .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1, .keyed_out = 1,
	       .listens = WEIR_TOPIC_BIT(GANG_SLOT) | WEIR_TOPIC_BIT(GANG),
	       .reviews = WEIR_TOPIC_BIT(GANG), .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(GANG) | WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(GANG),
	       WEIR_PARAMS(gang, WEIR_PARAM(gang, slice, NS, 3000000, 20000, 1000000000,
					    "run time of best effort before it goes to the tail")));

/* --- slots: all under the instance's own lock ------------------------------------------------------ */

/* Slots at @now: 1 within one, whose end is *@change; else *@change is the next begin. */
static int gang_within(const struct gang_slots weir_mem *s, u64 now, u64 *change)
{
	u64 first, into;

	*change = GANG_NEVER;
	if (!s->length)
		return 0;
	first = s->from + (s->period + s->offset - s->from % s->period) % s->period;
	if (now < first) {
		*change = first;
		return 0;
	}
	into = (now - first) % s->period;
	*change = now - into + (into < s->length ? s->length : s->period);
	return into < s->length;
}

static void gang_copy(struct gang_slots weir_mem *to, const struct gang_slots weir_mem *from)
{
	to->offset = from->offset;
	to->period = from->period;
	to->length = from->length;
	to->from = from->from;
	to->alone = from->alone;
}

/* Bring one row to @now. */
static void gang_see(struct gang weir_mem *self, struct gang_row weir_mem *r, u64 now)
{
	u64 change;
	int within;

	if (r->pending && r->next.from <= now) {
		gang_copy(&r->now, &r->next);
		r->pending = 0;
	}
	within = gang_within(&r->now, now, &change);
	if (r->pending && r->next.from < change)
		change = r->next.from;
	if (within && !self->active) {
		self->active = r->gang;
		self->alone = r->now.alone;
		self->end = change;
	}
	if (change < self->until)
		self->until = change;
}

/* Bring the table to the present. */
WEIR_HELPER int gang_look(struct gang weir_mem *self weir_arg, u64 now)
{
	self->active = self->alone = self->end = 0;
	self->until = GANG_NEVER;
	for (u32 i = 0; i < self->nr && weir_loop; i++)
		gang_see(self, &self->row[i & (GANG_ROWS - 1)], now);
	return 0;
}

/*
 * See to it that the timer comes when something changes. @reviewed: all tasks have been, or will be, looked at since; else a
 * timer that is due is not put off, because it makes others see the change.
 */
static void gang_arm(struct gang weir_mem *self, int reviewed)
{
	u64 at = self->until == GANG_NEVER ? 0 : self->until;
	u64 armed = weir_load(&self->inst.timer_ns);

	if (at != armed && (reviewed || !armed || (at && at < armed)))
		weir_timer_set(&self->inst, at);
}

/* The row of gang @number, or a free one; null: there is none. */
WEIR_HELPER u64 gang_row_at(struct gang weir_mem *self weir_arg, u64 number)
{
	u32 free = GANG_ROWS;

	for (u32 i = 0; i < weir_unknown(GANG_ROWS) && weir_loop; i++) {
		struct gang_row weir_mem *r = &self->row[i & (GANG_ROWS - 1)];

		if (r->gang == number)
			return i;
		if (free == GANG_ROWS && !r->now.length && !r->pending && !r->announcing)
			free = i;
	}
	return free;
}

/* What FROM completes: the staged row replaces the last one at @from. */
static int gang_commit(struct gang weir_mem *self, struct gang_row weir_mem *r, u64 from)
{
	struct gang_slots weir_mem *s = &r->staged;

	r->announcing = 0;
	if (s->length && (!s->period || s->length > s->period || s->offset >= s->period))
		return -WEIR_EINVAL;
	s->from = from;
	gang_copy(&r->next, s);
	s->alone = 0;
	r->pending = 1;
	return 0;
}

/* Set a field of the row of a gang. 1: the table has changed. */
static int gang_set_row(struct gang weir_mem *self, u64 number, u32 field, u64 value)
{
	u64 i = gang_row_at(self, number);
	struct gang_row weir_mem *r = &self->row[i & (GANG_ROWS - 1)];

	if (i >= GANG_ROWS || value > GANG_LONGEST)
		return -WEIR_EINVAL;
	if (i >= self->nr)
		self->nr = i + 1;
	r->gang = number;
	r->announcing = 1;
	if (field == WEIR_GANG_OFFSET)
		r->staged.offset = value;
	else if (field == WEIR_GANG_PERIOD)
		r->staged.period = value;
	else if (field == WEIR_GANG_LENGTH)
		r->staged.length = value;
	else if (field == WEIR_GANG_ALONE)
		r->staged.alone = value != 0;
	else
		return gang_commit(self, r, value) ? -WEIR_EINVAL : 1;
	return 0;
}

/* Slots of gang @number are in force here. */
static int gang_has_slots(struct gang weir_mem *self, u64 number)
{
	u64 i = gang_row_at(self, number);
	const struct gang_row weir_mem *r = &self->row[i & (GANG_ROWS - 1)];

	return i < GANG_ROWS && r->gang == number && r->now.length;
}

/* --- tasks ------------------------------------------------------------------------------------------ */

/* What @t is here now. */
static int gang_place(struct gang weir_mem *self, struct weir_task weir_mem *t,
		      struct gang_place *place)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_GANG, .task = t };
	u64 now = weir_now(self->inst.sched);
	int err;

	place->key = GANG_KEY_BEST_EFFORT;
	place->slice = self->slice;
	if (weir_request(self->inst.sched, &msg))
		msg.value = 0;
	err = weir_instance_lock(&self->inst);
	if (err)
		return err;
	gang_look(self, now);
	gang_arm(self, 0);
	if (msg.value && msg.value == self->active) {
		place->key = GANG_KEY_SLOT;
		place->slice = self->end - now;
	} else if (self->alone) {
		place->key = WEIR_KEY_NONE;
		self->withheld = 1;
	} else if (msg.value && msg.value2 == WEIR_GANG_WAIT && gang_has_slots(self, msg.value)) {
		place->key = WEIR_KEY_NONE;
	}
	weir_instance_unlock(&self->inst);
	return 0;
}

/* A running task keeps what it has until its slot is over, see gang_review_running(). */
WEIR_ENTRY u32 gang_step(struct gang weir_mem *self, u32 what, struct weir_task weir_mem *t,
			 struct weir_step weir_mem *s)
{
	struct gang_place place;

	weir_use(what);
	if (s->runs)
		return 0;
	/* Without the lock, what it is here is not known: best effort, until the timer looks at all at once. */
	if (gang_place(self, t, &place))
		weir_timer_set(&self->inst, weir_now(self->inst.sched));
	weir_store(&t->slice_ns, place.slice);
	return weir_place_urgent(s, place.key);
}

/* Some task waits here; the lock of the steps is held. */
static int gang_has_waiting(const struct gang weir_mem *self)
{
	const struct weir_pipe weir_mem *home = self->inst.home;

	return home ? weir_home_nr(home) != 0 : weir_pipe_nr(weir_in(&self->inst, 0)) != 0;
}

/* The task that @cpu runs keeps it, has it as best effort, or must go. */
WEIR_HELPER int gang_review_running(struct gang weir_mem *self weir_arg, u32 cpu)
{
	struct weir_task weir_mem *t = weir_cpu_curr(self->inst.sched, cpu);
	struct gang_place place;
	u64 key = weir_cpu_key(self->inst.sched, cpu);

	if (!t || gang_place(self, t, &place))
		return 0;
	if (key == place.key)
		return 0;
	weir_cpu_set_key(self->inst.sched, cpu, place.key);
	/* Its slot is over: others run, and it goes to the tail. */
	if (place.key > key && (place.key == WEIR_KEY_NONE || gang_has_waiting(self)))
		weir_publish(&self->inst, WEIR_TOPIC_PREEMPT, t, cpu, 0);
	return 0;
}

/* Whether tasks of no gang take new places, too: a slot for members alone begins, lasts or is over. */
static int gang_concerns_all(struct gang weir_mem *self)
{
	int all, err = weir_instance_lock(&self->inst);

	if (err)
		return 1;
	all = self->alone || self->withheld;
	if (!self->alone)
		self->withheld = 0;
	weir_instance_unlock(&self->inst);
	return all;
}

/* A slot began or ended: those that run get what they are now, and those that wait are asked for. */
WEIR_FLAT static int gang_review(struct gang weir_mem *self)
{
	struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	struct weir_task weir_mem *t;
	int all, err = weir_steps_lock(&self->inst);

	if (err)
		return err;
	all = gang_concerns_all(self);
	for (u32 w = in->word_lo; w <= in->word_hi && weir_loop; w++) {
		u64 bits = in->cpus->word[w] & weir_busy_word(self->inst.sched, w);

		while (bits && weir_loop) {
			gang_review_running(self, w * 64 + weir_lowest_bit(bits));
			bits &= bits - 1;
		}
	}
	if (self->inst.home) {
		weir_note_scan(&self->inst, weir_home_nr(self->inst.home));
		weir_for_member(t, in)
			if (all || weir_property(self->inst.sched, WEIR_TOPIC_GANG, t))
				weir_review(&self->inst, t);
	}
	weir_steps_unlock(&self->inst);
	return self->inst.home ? 0 : weir_review_all(&self->inst);
}

WEIR_ENTRY int gang_on_gang_slot(struct gang weir_mem *self, const struct weir_msg *msg)
{
	struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	u32 field = (u32)(msg->value >> 32);
	u64 now = weir_now(self->inst.sched);
	int err;

	if (!(u32)msg->value || field > WEIR_GANG_ALONE)
		return -WEIR_EINVAL;
	if (msg->cpu != WEIR_NO_CPU && !weir_mask_test(in->cpus, msg->cpu))
		return 0;
	err = weir_instance_lock(&self->inst);
	if (err)
		return err;
	err = gang_set_row(self, (u32)msg->value, field, msg->value2);
	if (err > 0) {
		gang_look(self, now);
		gang_arm(self, 1);
	}
	weir_instance_unlock(&self->inst);
	return err > 0 ? gang_review(self) : err;
}

WEIR_ENTRY int gang_on_timer(struct gang weir_mem *self)
{
	u64 now = weir_now(self->inst.sched);
	int err = weir_instance_lock(&self->inst);

	if (err)
		return err;
	gang_look(self, now);
	gang_arm(self, 1);
	weir_instance_unlock(&self->inst);
	return gang_review(self);
}

/* The table comes along. The timer is set by the first task that comes. */
WEIR_ENTRY void gang_take_state(struct gang weir_mem *self, struct gang weir_mem *old)
{
	self->nr = old->nr;
	self->withheld = old->withheld;
	for (u32 i = 0; i < weir_unknown(GANG_ROWS) && weir_loop; i++) {
		struct gang_row weir_mem *to = &self->row[i & (GANG_ROWS - 1)];
		struct gang_row weir_mem *from = &old->row[i & (GANG_ROWS - 1)];

		to->gang = from->gang;
		to->pending = from->pending;
		to->announcing = from->announcing;
		gang_copy(&to->now, &from->now);
		gang_copy(&to->next, &from->next);
		gang_copy(&to->staged, &from->staged);
	}
}
