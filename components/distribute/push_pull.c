/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * push_pull - let no real-time or deadline task wait while a CPU that it may use runs something less urgent
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   DISPATCH: push what waits behind the task, and pull if the task is less urgent than what waits elsewhere.
 *            BLOCK, EXIT: pull. PRIORITY: place the task again, and pull if its CPU runs it. AFFINITY: place the
 *            task again. CPU_STATUS: check all tasks again
 * publishes: WITHHELD: no CPU that the task may use is online
 * asks:      AFFINITY: where the task may run; needed. PRIORITY: 101 to 199 is real time; needed. DEADLINE: absolute, ns
 * answers:   -
 * kernel:    on request
 * params:    reach count 8 [1, 4096]; waiting tasks looked at for one that may move
 * per-task:  48 bytes
 * cost:      O(1) for a task of another class, and for an urgent one that its CPU runs at once; else O(out-pipes), and O(levels)
 *            for a CPU that becomes less urgent while urgent tasks wait; a task that is moved passes all stages before once more;
 *            O(tasks) when a CPU goes offline or online; takes the instance's lock
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is withheld if there is
 *            none; every out-pipe keeps the order of each in-pipe
 * source:    Linux 6.12, kernel/sched/rt.c and deadline.c: push_rt_task(), pull_rt_task(); cpupri.c
 * long:      pushing, pulling and placing keep one account of the urgent tasks that wait
 *
 * Put it between the stage that places tasks and the orders of the CPUs (`rt`, `edf`), with an in-port and an out-port for each CPU: in the
 * example `lane` has no stage, so `each cpu { lane }` is a pipe for each CPU. A task goes where the stage before has placed it, unless it is
 * urgent, which means that it has a deadline or real-time priority, and that CPU runs or is about to run a task that is at least as urgent.
 * Then it is pushed: to an idle CPU, else to one that runs a task of another class, else to the one with the least urgent task; near its
 * last CPU if there are several. If no CPU runs anything less urgent, it waits, and is pulled by the first CPU that would. So a set of
 * per-CPU queues serves urgent tasks like one queue for all CPUs, except that tasks bound to CPUs are respected, and one that waits behind a
 * task of equal priority is not moved to another such wait.
 *
 * A deadline counts as it was when the task was placed; a task whose deadline changes while it waits or runs is looked at again
 * when its CPU chooses. If the numbers of in-ports and out-ports differ, a task goes to its last CPU, or to the out-pipe with the fewest tasks.
 * Out-pipes that lead to several CPUs are no targets of pushing. Differences from Linux: idle CPUs are preferred, and a task that waits is
 * pushed also if it has not been preempted. Capacities of CPUs are not looked at.
 *
 * example:   annotate affinity, executed, policy, priority;
 *            topology lane { in -> out; }
 *            entry -> load_balancer -> each cpu { lane } -> push_pull -> each cpu { round_robin(slice = 3ms) -> rt -> cpu };
 */
#include <weir/cpus.h>
#include <weir/kit/idle_sibling.h>
#include <weir/kit/realtime.h>
#include <weir/kit/review.h>

/* Level 0 is for deadlines, 1 for the most urgent priority. A power of two. */
#define PUSH_PULL_LEVELS 128u

struct push_pull_task {
	/* (l) a CPU may take it if the urgency of what it runs is greater */
	u64 limit;
	struct weir_task weir_mem *next; /* (l) in the list of its level */
	struct weir_task weir_mem *prev; /* (l) */
	u64 epoch;			 /* (l) of the instance that has it in a list */
	u32 level;			 /* (l) 1 + level; 0: it is in no list */
	u32 port; /* (l) where it waits, or, with `goes`, where it is to go */
	u32 goes; /* (l) its REVIEW is under way */
	u32 unused;
};

struct push_pull {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 reach; /* (c) */
	u64 epoch; /* (c) private memory inherited from another instance has another one */
	u16 weir_mem *count; /* (l) waiting tasks by port and level */
	/* (a) by port, two words: levels with waiting tasks; written under the lock */
	u64 weir_mem *bits;
	u64 levels[2]; /* (l) the same of all ports */
	u32 nr;	       /* (a) waiting tasks */
	u32 unused;
	struct weir_task weir_mem *head[PUSH_PULL_LEVELS]; /* (l) by limit, then by arrival */
	struct weir_task weir_mem *tail[PUSH_PULL_LEVELS]; /* (l) */
};

WEIR_COMPONENT(push_pull,
	       .summary = "let no real-time or deadline task wait while a CPU that it may use runs "
			  "something less urgent",
	       .cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	       .out_label = WEIR_BY_IN, .in_min = 1, .in_max = WEIR_ANY, .out_min = 1,
	       .out_max = WEIR_ANY,
	       .listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS) |
			  WEIR_TOPIC_BIT(DISPATCH) | WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(EXIT) |
			  WEIR_TOPIC_BIT(PRIORITY),
	       .reviews = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(PRIORITY),
	       .publishes = WEIR_TOPIC_BIT(WITHHELD),
	       .asks = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(PRIORITY) |
		       WEIR_TOPIC_BIT(DEADLINE),
	       .needs = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(PRIORITY),
	       .per_task = sizeof(struct push_pull_task),
	       WEIR_PARAMS(push_pull, WEIR_PARAM(push_pull, reach, COUNT, 8, 1, 4096,
						 "waiting tasks looked at for one that may move")));

/* --- urgency ------------------------------------------------------------------------------------------------ */

/* Of a task with this priority and deadline; WEIR_KEY_NONE: it is not urgent. Equal priorities do not displace each other. */
static u64 push_pull_limit(u64 priority, u64 deadline)
{
	if (deadline)
		return deadline;
	return weir_is_realtime(priority) ? weir_realtime_key(priority) | WEIR_REALTIME_PLACE_MASK
					  : WEIR_KEY_NONE;
}

static u64 push_pull_limit_of(const struct push_pull weir_mem *self, struct weir_task weir_mem *t)
{
	u64 deadline = weir_property(self->inst.sched, WEIR_TOPIC_DEADLINE, t);

	return push_pull_limit(
		deadline ? 0 : weir_property(self->inst.sched, WEIR_TOPIC_PRIORITY, t), deadline);
}

static u32 push_pull_level(u64 limit)
{
	if (limit < WEIR_KEY_FIXED)
		return 0;
	return (1 + (u32)((limit - WEIR_KEY_FIXED) >> WEIR_REALTIME_PLACE_BITS)) &
	       (PUSH_PULL_LEVELS - 1);
}

/* The urgency of the most urgent task that waits at the port. */
static u64 push_pull_queued(const struct push_pull weir_mem *self, u32 port)
{
	u64 low = weir_load(&self->bits[2 * port]), high = weir_load(&self->bits[2 * port + 1]);
	u32 level;

	if (!low && !high)
		return WEIR_KEY_NONE;
	level = low ? weir_lowest_bit(low) : 64 + weir_lowest_bit(high);
	return level ? weir_realtime_key(WEIR_REALTIME_HIGHEST + 1 - level) : 0;
}

/* The urgency of what the port's CPU runs, or of what it is about to run. */
static u64 push_pull_urgency(const struct push_pull weir_mem *self, u32 port)
{
	u64 key = weir_cpu_key(self->inst.sched, weir_out(&self->inst, port)->cpu);
	u64 queued = push_pull_queued(self, port);

	return queued < key ? queued : key;
}

/* --- the tasks that wait, under the instance's lock ------------------------------------------------------------ */

static struct push_pull_task weir_mem *push_pull_of(const struct push_pull weir_mem *self,
						    struct weir_task weir_mem *t)
{
	return weir_priv(&self->inst, t);
}

static int push_pull_waits(const struct push_pull weir_mem *self,
			   const struct push_pull_task weir_mem *p)
{
	return weir_load(&p->level) && p->epoch == self->epoch;
}

static void push_pull_unlink(struct push_pull weir_mem *self, struct push_pull_task weir_mem *p)
{
	u32 level = (p->level - 1) & (PUSH_PULL_LEVELS - 1), word = level / 64;
	u16 weir_mem *count = &self->count[p->port * PUSH_PULL_LEVELS + level];

	if (p->prev)
		push_pull_of(self, p->prev)->next = p->next;
	else
		self->head[level] = p->next;
	if (p->next)
		push_pull_of(self, p->next)->prev = p->prev;
	else
		self->tail[level] = p->prev;
	weir_store(&p->level, 0);
	weir_store(&self->nr, self->nr - 1);
	if (!--*count)
		weir_store(&self->bits[2 * p->port + word],
			   self->bits[2 * p->port + word] & ~(1ull << (level % 64)));
	if (!self->head[level])
		self->levels[word] &= ~(1ull << (level % 64));
}

static void push_pull_link(struct push_pull weir_mem *self, struct weir_task weir_mem *t,
			   struct push_pull_task weir_mem *p, u32 port, u64 limit)
{
	u32 level = push_pull_level(limit), word = level / 64;
	u16 weir_mem *count = &self->count[port * PUSH_PULL_LEVELS + level];
	struct weir_task weir_mem *before = self->tail[level];

	while (before && push_pull_of(self, before)->limit > limit && weir_loop)
		before = push_pull_of(self, before)->prev;
	p->limit = limit;
	p->port = port;
	p->epoch = self->epoch;
	p->prev = before;
	p->next = before ? push_pull_of(self, before)->next : self->head[level];
	if (p->prev)
		push_pull_of(self, p->prev)->next = t;
	else
		self->head[level] = t;
	if (p->next)
		push_pull_of(self, p->next)->prev = t;
	else
		self->tail[level] = t;
	weir_store(&p->level, level + 1);
	weir_store(&self->nr, self->nr + 1);
	if (!(*count)++)
		weir_store(&self->bits[2 * port + word],
			   self->bits[2 * port + word] | 1ull << (level % 64));
	self->levels[word] |= 1ull << (level % 64);
}

/*
 * From now on @t waits at @port - 1, 0: nowhere, with @limit. With @from only if it waits at @from - 1 and is to go nowhere yet: then it is
 * to go to @port - 1, with the limit that it has. 1: so it is.
 */
WEIR_HELPER int push_pull_note(struct push_pull weir_mem *self weir_arg,
			       struct weir_task weir_mem *t weir_arg, u32 port, u64 limit, u32 from)
{
	struct push_pull_task weir_mem *p = push_pull_of(self, t);
	int waits, does;

	if (!port && !weir_load(&p->level))
		return 0;
	if (weir_instance_lock(&self->inst))
		return 0;
	waits = push_pull_waits(self, p);
	does = !from || (waits && p->port == from - 1 && !p->goes);
	if (does) {
		limit = from ? p->limit : limit;
		if (waits)
			push_pull_unlink(self, p);
		weir_store(&p->level, 0);
		if (port && port <= self->inst.nr_out)
			push_pull_link(self, t, p, port - 1, limit);
		weir_store(&p->goes, from != 0);
	}
	weir_instance_unlock(&self->inst);
	return does;
}

/*
 * Number @n of the tasks that wait at @port, or, with @elsewhere, at another one, and which a CPU of urgency @key may take; the most
 * urgent first: its address; 0: there are not as many.
 */
WEIR_HELPER u64 push_pull_nth(struct push_pull weir_mem *self weir_arg, u32 port, int elsewhere,
			      u64 key, u32 n)
{
	struct weir_task weir_mem *t = 0;

	if (weir_instance_lock(&self->inst))
		return 0;
	for (u32 word = 0; word < weir_unknown(2) && !t && weir_loop; word++) {
		u64 levels = self->levels[word & 1];

		while (levels && !t && weir_loop) {
			u32 level = (word * 64 + weir_lowest_bit(levels)) & (PUSH_PULL_LEVELS - 1);

			levels &= levels - 1;
			for (t = self->head[level]; t && weir_loop;
			     t = push_pull_of(self, t)->next) {
				struct push_pull_task weir_mem *p = push_pull_of(self, t);

				if (p->limit < key && (p->port == port) != elsewhere && !n--)
					break;
			}
		}
	}
	weir_instance_unlock(&self->inst);
	return (u64)t;
}

/* --- choice of a pipe --------------------------------------------------------------------------------------- */

/*
 * Of the CPUs in @mask that run something which a task with @limit may displace, the one with the least urgent: 1 + its port, not
 * @except; 0: there is none.
 */
WEIR_HELPER u32 push_pull_lowest(struct push_pull weir_mem *self weir_arg, u32 here,
				 const struct weir_cpumask weir_mem *mask weir_arg, u64 limit,
				 u32 except)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 least = weir_unknown(~0ull);
	u32 best = weir_unknown(0u);

	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
		u64 key, rank;

		if (i + 1 == except || out->nr_cpus != 1 || !weir_cpu_may(s, out->cpu, mask))
			continue;
		key = push_pull_urgency(self, i);
		if (key <= limit)
			continue;
		/* Idle, of another class, then by levels; the nearest of equals. */
		if (key < weir_realtime_key(0))
			rank = (WEIR_KEY_NONE - key) >> WEIR_REALTIME_PLACE_BITS;
		else
			rank = weir_unknown(!weir_cpu_waits(s, out->cpu) || weir_pipe_nr(out));
		rank = rank * 4 + (here < weir_nr_cpus(s) ? weir_distance(s, here, out->cpu) : 0);
		if (rank < least) {
			least = rank;
			best = i + 1;
		}
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return best;
}

/* The out-pipe with the fewest tasks that @mask allows: 1 + its port; 0: there is none. */
WEIR_FLAT static u32 push_pull_shortest(struct push_pull weir_mem *self,
					const struct weir_cpumask weir_mem *mask)
{
	u32 least = ~0u, best = 0;

	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
		u32 idle, load;

		if (!weir_pipe_allows(out, mask))
			continue;
		load = weir_pipe_load(out, &idle);
		if (load < least) {
			least = load;
			best = i + 1;
		}
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return best;
}

/* Where the stage before has placed a task of in-port @in: 1 + its port; 0: it may not use any. */
WEIR_FLAT static u32 push_pull_home(struct push_pull weir_mem *self, u32 in,
				    struct weir_task weir_mem *t,
				    const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *to;

	if (self->inst.nr_out == 1)
		to = weir_out(&self->inst, 0);
	else if (self->inst.nr_in == self->inst.nr_out)
		to = weir_out(&self->inst, in);
	else
		to = weir_port_to(&self->inst, &self->map, weir_last_cpu(t));
	return to && weir_pipe_allows(to, mask) ? to->from_port + 1
						: push_pull_shortest(self, mask);
}

/* Where @t of in-port @in goes, @mask: its affinity: 1 + the port, 0: nowhere; it is noted if it is urgent. */
WEIR_HELPER u32 push_pull_place(struct push_pull weir_mem *self weir_arg, u32 in,
				struct weir_task weir_mem *t weir_arg,
				const struct weir_cpumask weir_mem *mask weir_arg)
{
	u64 limit = push_pull_limit_of(self, t);
	u32 port = push_pull_home(self, in, t, mask), lower;

	push_pull_note(self, t, 0, 0, 0);
	if (!port || limit == WEIR_KEY_NONE)
		return port;
	lower = push_pull_urgency(self, port - 1) > limit
			? 0
			: push_pull_lowest(self, weir_last_cpu(t), mask, limit, port);
	port = lower ? lower : port;
	push_pull_note(self, t, port, limit, 0);
	/* A CPU that has got it meanwhile says so before or after this: then it waits no longer. */
	if (weir_state(t) != WEIR_SCHEDULABLE)
		push_pull_note(self, t, 0, 0, 0);
	return port;
}

/* The CPU of the port where it waits is about to choose, or will be preempted for it. */
static int push_pull_is_next(const struct push_pull weir_mem *self,
			     const struct push_pull_task weir_mem *p)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	struct weir_task weir_mem *runs = weir_cpu_curr(s, weir_out(&self->inst, p->port)->cpu);

	return !runs || weir_load(&runs->key) > p->limit;
}

/* REVIEW: 1 + the port where @t, which is to be moved, goes, or where it stays; 0: it is to be placed anew. */
WEIR_FLAT static u32 push_pull_again(struct push_pull weir_mem *self, struct weir_task weir_mem *t,
				     const struct weir_cpumask weir_mem *mask)
{
	struct push_pull_task weir_mem *p = push_pull_of(self, t);
	u32 now = weir_stays(&self->inst, WEIR_REVIEW, t, mask), port = weir_load(&p->port);

	if (!push_pull_waits(self, p))
		return push_pull_limit_of(self, t) == WEIR_KEY_NONE ? now + 1 : 0;
	if (port >= self->inst.nr_out)
		return 0;
	if (weir_load(&p->goes)) {
		weir_store(&p->goes, 0);
		return weir_pipe_allows(weir_out(&self->inst, port), mask) ? port + 1 : 0;
	}
	return now == port && push_pull_limit_of(self, t) == p->limit && push_pull_is_next(self, p)
		       ? port + 1
		       : 0;
}

/* Move @t, which waits at @from, to out-pipe @to, which it may use. 1: it goes there. */
WEIR_HELPER int push_pull_move(struct push_pull weir_mem *self weir_arg,
			       struct weir_task weir_mem *t weir_arg, u32 from, u32 to)
{
	u32 now = weir_port_of(&self->inst, t);

	if (now != from) {
		/* A stage before has it: it is noted again when it comes. */
		if (now == WEIR_WITHHOLD && weir_load(&t->home))
			push_pull_note(self, t, 0, 0, 0);
		return 0;
	}
	if (!push_pull_note(self, t, to + 1, 0, from + 1))
		return 0;
	weir_review(&self->inst, t);
	return 1;
}

/* --- push and pull ------------------------------------------------------------------------------------------ */

/* What waits at @port goes where something less urgent runs. */
WEIR_FLAT static int push_pull_push(struct push_pull weir_mem *self, u32 port)
{
	u32 n = 0;

	for (u64 i = 0; i < self->reach && weir_loop; i++) {
		struct weir_task weir_mem *t =
			(struct weir_task weir_mem *)push_pull_nth(self, port, 0, WEIR_KEY_NONE, n);
		u32 to;

		if (!t)
			break;
		to = push_pull_lowest(self, weir_last_cpu(t), weir_affinity(self->inst.sched, t),
				      push_pull_of(self, t)->limit, port + 1);
		if (!to || !push_pull_move(self, t, port, to - 1))
			n++;
	}
	return 0;
}

/* The CPU of @port runs, or is about to run, something of urgency @key: it gets what is more urgent and waits elsewhere. 1: it did. */
WEIR_HELPER int push_pull_pull(struct push_pull weir_mem *self weir_arg, u32 port, u64 key)
{
	u32 cpu = weir_out(&self->inst, port)->cpu;

	if (weir_out(&self->inst, port)->nr_cpus != 1 || !weir_cpu_may(self->inst.sched, cpu, 0))
		return 0;
	for (u32 n = 0; n < self->reach && weir_loop; n++) {
		struct weir_task weir_mem *t =
			(struct weir_task weir_mem *)push_pull_nth(self, port, 1, key, n);
		struct push_pull_task weir_mem *p;

		if (!t)
			break;
		p = push_pull_of(self, t);
		if (!push_pull_is_next(self, p) &&
		    weir_cpu_may(self->inst.sched, cpu, weir_affinity(self->inst.sched, t)) &&
		    push_pull_move(self, t, p->port, port))
			return 1;
	}
	return 0;
}

/* 1 + the port of @cpu if urgent tasks wait somewhere; else 0, as there is nothing to do. */
static u32 push_pull_at(const struct push_pull weir_mem *self, u32 cpu)
{
	return weir_load(&self->nr) && cpu < self->map.nr ? self->map.port[cpu] : 0;
}

/* --- entry points ------------------------------------------------------------------------------------------- */

WEIR_ENTRY int push_pull_construct(struct push_pull weir_mem *self)
{
	u64 nr = self->inst.nr_out;

	if (nr > WEIR_MAX_CPUS)
		return -WEIR_EPORTS;
	self->count = weir_instance_alloc(&self->inst, nr * PUSH_PULL_LEVELS * sizeof(u16));
	self->bits = weir_instance_alloc(&self->inst, nr * 2 * sizeof(u64));
	if (!self->count || !self->bits)
		return -WEIR_ENOMEM;
	self->epoch = (u64)self->count ^ weir_now(self->inst.sched);
	return weir_port_map(&self->inst, &self->map);
}

WEIR_ENTRY u32 push_pull_step(struct push_pull weir_mem *self, u32 what,
			      struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t);
	u32 port = what == WEIR_REVIEW ? push_pull_again(self, t, mask) : 0;

	if (!port)
		port = push_pull_place(self, s->in, t, mask);
	return port ? port - 1 : weir_withhold(&self->inst, what, t, 0);
}

WEIR_ENTRY int push_pull_on_cpu_status(struct push_pull weir_mem *self, const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}

WEIR_ENTRY int push_pull_on_dispatch(struct push_pull weir_mem *self, const struct weir_msg *msg)
{
	u32 port;

	push_pull_note(self, msg->task, 0, 0, 0);
	port = push_pull_at(self, msg->cpu);
	if (!port)
		return 0;
	push_pull_push(self, port - 1);
	push_pull_pull(self, port - 1, push_pull_urgency(self, port - 1));
	return 0;
}

/* The CPU where it ran becomes less urgent. */
WEIR_FLAT static int push_pull_leave(struct push_pull weir_mem *self, struct weir_task weir_mem *t)
{
	u32 cpu = weir_last_cpu(t), port;

	push_pull_note(self, t, 0, 0, 0);
	port = push_pull_at(self, cpu);
	if (port && !weir_cpu_curr(self->inst.sched, cpu))
		push_pull_pull(self, port - 1, push_pull_urgency(self, port - 1));
	return 0;
}

WEIR_ENTRY int push_pull_on_block(struct push_pull weir_mem *self, const struct weir_msg *msg)
{
	return push_pull_leave(self, msg->task);
}

WEIR_ENTRY int push_pull_on_exit(struct push_pull weir_mem *self, const struct weir_msg *msg)
{
	return push_pull_leave(self, msg->task);
}

/* If it runs, its CPU may have become less urgent than what waits elsewhere. */
WEIR_ENTRY int push_pull_on_priority(struct push_pull weir_mem *self, const struct weir_msg *msg)
{
	struct weir_task weir_mem *t = msg->task;
	u32 cpu = t ? weir_last_cpu(t) : WEIR_NO_CPU, port = push_pull_at(self, cpu);
	u64 deadline;

	if (!port || weir_cpu_curr(self->inst.sched, cpu) != t)
		return 0;
	deadline = weir_property(self->inst.sched, WEIR_TOPIC_DEADLINE, t);
	return push_pull_pull(self, port - 1, push_pull_limit(msg->value, deadline));
}

WEIR_ENTRY int push_pull_on_idle(struct push_pull weir_mem *self, u32 cpu)
{
	u32 port = push_pull_at(self, cpu);

	return port ? push_pull_pull(self, port - 1, WEIR_KEY_NONE) : 0;
}
