/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * partition - assign each task permanently to an out-pipe, by load
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   AFFINITY: move the task if necessary. CPU_STATUS: check all tasks again. EXIT: its load
 *            is released
 * publishes: OVERLOAD: the task fits nowhere. WITHHELD: no CPU that it may use is online
 * asks:      AFFINITY: where the task may run; DEADLINE: the period in value2; JOB: the worst-case
 *            execution time, and the relative deadline in value2; all needed
 * answers:   -
 * kernel:    on request
 * params:    fit count 0 [0, 2]; of the pipes with room, 0: the first, 1: the fullest, 2: the emptiest
 *            bound pct 100 [1, 100]; largest load of a CPU
 *            unknown pct 0 [0, 100]; load assumed for a task without JOB
 * per-task:  16 bytes
 * cost:      O(out-pipes) for a task's first job, then O(1), O(tasks) when a CPU goes offline or
 *            online; its own lock
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is withheld
 *            if there is none; every out-pipe keeps the order of each in-pipe
 * source:    Dhall and Liu, "On a real-time scheduling problem", 1978; Lopez, Diaz and Garcia, 2004
 *
 * Load is the execution time divided by the period or the relative deadline, whichever is shorter; it
 * counts against the capacity of the CPUs behind a pipe. A task that fits nowhere goes to the
 * emptiest pipe. Tasks without JOB count as no load, or as `unknown`: with `fit` 2 they are
 * then spread. Tasks are assigned in order of arrival; the classic heuristics sort
 * them by decreasing load first.
 *
 * example:   annotate affinity, deadline, job; entry -> partition(fit = 0) -> each cpu { edf -> cpu };
 */
#include <weir/component.h>

/* Load of one CPU of capacity 1024. */
#define PARTITION_FULL (1ull << 32)

struct partition_task {
	u64 load; /* (l) what is booked */
	u32 port; /* (l) 1 + the pipe where it is, 0: not placed */
	u32 unused;
};

struct partition {
	struct weir_instance inst;
	u64 fit;	    /* (c) */
	u64 bound;	    /* (c) percent */
	u64 unknown;	    /* (c) percent */
	u64 weir_mem *load; /* (l) by out-pipe */
	u32 best, least;    /* (l) what a search has found so far */
};

WEIR_COMPONENT(
	partition, .summary = "assign each task permanently to an out-pipe, by load",
	.cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	.in_min = 1, .in_max = WEIR_ANY, .out_min = 1, .out_max = WEIR_ANY,
	.listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS) | WEIR_TOPIC_BIT(EXIT),
	.reviews = WEIR_TOPIC_BIT(AFFINITY),
	.publishes = WEIR_TOPIC_BIT(WITHHELD) | WEIR_TOPIC_BIT(OVERLOAD),
	.asks = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB),
	.needs = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB),
	.per_task = sizeof(struct partition_task),
	WEIR_PARAMS(
		partition,
		WEIR_PARAM(partition, fit, COUNT, 0, 0, 2,
			   "of the pipes with room, 0: the first, 1: the fullest, 2: the emptiest"),
		WEIR_PARAM(partition, bound, PCT, 100, 1, 100, "largest load of a CPU"),
		WEIR_PARAM(partition, unknown, PCT, 0, 0, 100,
			   "load assumed for a task without JOB")),
	WEIR_RELATIONS(WEIR_RELATION(partition, AT_MOST, unknown, bound,
				     "a task without JOB would fit nowhere")));

/* Execution time over the shorter of period and relative deadline, PARTITION_FULL: 1; rounded down. */
WEIR_HELPER u64 partition_load(struct partition weir_mem *self weir_arg,
			       struct weir_task weir_mem *t weir_arg)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	struct weir_msg msg = { .topic = WEIR_TOPIC_JOB, .task = t };
	u64 wcet, period, span;

	if (weir_request(s, &msg))
		return 0;
	wcet = msg.value;
	period = msg.value2;
	/* (Two messages would take the room of another frame in the kernel.) */
	msg = (struct weir_msg){ .topic = WEIR_TOPIC_DEADLINE, .task = t };
	if (weir_request(s, &msg))
		return 0;
	span = msg.value2;
	if (period && (!span || period < span))
		span = period;
	if (!span || !wcet)
		return PARTITION_FULL / 100 * self->unknown;
	if (wcet >= span)
		return PARTITION_FULL;
	while (wcet >= PARTITION_FULL && weir_loop) {
		wcet >>= 1;
		span >>= 1;
	}
	return wcet * PARTITION_FULL / span;
}

/* What pipe @i may carry. */
static u64 partition_room(struct partition weir_mem *self, u32 i)
{
	u64 capacity = weir_pipe_capacity(weir_out(&self->inst, i));

	return PARTITION_FULL / 1024 * capacity / 100 * self->bound +
	       PARTITION_FULL / 1024 * capacity % 100 * self->bound / 100;
}

/* Pipe @i is one that a task of @load may use. The lock of the instance is held. */
static void partition_compare(struct partition weir_mem *self, u32 i, u64 load)
{
	u32 nr = self->inst.nr_out, best = self->best, least = self->least;

	if (least >= nr || self->load[i] < self->load[least])
		self->least = i;
	if (self->load[i] + load > partition_room(self, i))
		return;
	if (best >= nr || (self->fit == 1 && self->load[i] > self->load[best]) ||
	    (self->fit == 2 && self->load[i] < self->load[best]))
		self->best = i;
}

/*
 * The port for a task of @load on the CPUs of @mask, or the number of ports if it may use none. The lock of the instance is held. (What a
 * turn of the loop leaves to the next is in memory, where a verifier does not follow it.)
 */
WEIR_HELPER u32 partition_choose(struct partition weir_mem *self weir_arg,
				 struct weir_task weir_mem *t weir_arg,
				 const struct weir_cpumask weir_mem *mask weir_arg, u64 load)
{
	u32 nr = self->inst.nr_out;

	self->best = nr;
	self->least = nr;
	for (u32 i = 0; i < weir_load(&self->inst.nr_out) && weir_loop; i++)
		if (weir_pipe_allows(weir_out(&self->inst, i), mask))
			partition_compare(self, i, load);
	weir_note_scan(&self->inst, nr);
	if (self->best >= nr && self->least < nr)
		weir_publish(&self->inst, WEIR_TOPIC_OVERLOAD, t, WEIR_NO_CPU, load);
	return self->best < nr ? self->best : self->least;
}

/* Give back what the task has booked. The lock of the instance is held. */
static void partition_unbook(struct partition weir_mem *self, struct partition_task weir_mem *p)
{
	if (p->port && p->port <= self->inst.nr_out) {
		u64 weir_mem *load = &self->load[p->port - 1];

		*load -= p->load < *load ? p->load : *load;
	}
	p->port = 0;
	p->load = 0;
}

/* The port by which @t goes, or the number of ports; it stays where it is if it may. */
WEIR_HELPER u32 partition_place(struct partition weir_mem *self weir_arg,
				struct weir_task weir_mem *t weir_arg)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	struct partition_task weir_mem *p = weir_priv(&self->inst, t);
	u64 load = partition_load(self, t);
	const struct weir_cpumask weir_mem *mask = weir_affinity(s, t);
	u32 port;

	/* Another CPU stopped in it: not booked before the task's next arrival. */
	if (weir_instance_lock(&self->inst)) {
		struct weir_pipe weir_mem *out = weir_first_allowed(&self->inst, mask);

		return out ? out->from_port : self->inst.nr_out;
	}
	port = p->port - 1;
	if (port >= self->inst.nr_out || !weir_pipe_allows(weir_out(&self->inst, port), mask)) {
		partition_unbook(self, p);
		port = partition_choose(self, t, mask, load);
	}
	if (port < self->inst.nr_out && (!p->port || p->load != load)) {
		partition_unbook(self, p);
		p->port = port + 1;
		p->load = load;
		self->load[port] += load;
	}
	weir_instance_unlock(&self->inst);
	return port;
}

WEIR_ENTRY int partition_construct(struct partition weir_mem *self)
{
	self->load = weir_instance_alloc(&self->inst, (u64)self->inst.nr_out * sizeof(u64));
	return self->load ? 0 : -WEIR_ENOMEM;
}

WEIR_ENTRY u32 partition_step(struct partition weir_mem *self, u32 what,
			      struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	u32 port;

	if (s->runs)
		return WEIR_WITHHOLD;
	port = partition_place(self, t);
	return weir_send(&self->inst, what, t,
			 port < self->inst.nr_out ? weir_out(&self->inst, port) : 0);
}

WEIR_ENTRY int partition_on_cpu_status(struct partition weir_mem *self, const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}

WEIR_ENTRY int partition_on_exit(struct partition weir_mem *self, const struct weir_msg *msg)
{
	int err = weir_instance_lock(&self->inst);

	if (err)
		return err;
	partition_unbook(self, weir_priv(&self->inst, msg->task));
	weir_instance_unlock(&self->inst);
	return 0;
}

/* As before: tasks return to their pipes, and nothing is booked yet except here. */
WEIR_ENTRY void partition_take_state(struct partition weir_mem *self,
				     struct partition weir_mem *old)
{
	for (u32 i = 0; i < self->inst.nr_out && i < old->inst.nr_out && weir_loop; i++)
		self->load[i] = old->load[i];
}
