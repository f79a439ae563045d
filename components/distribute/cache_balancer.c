/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cache_balancer - separate tasks that compete for a cache
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   AFFINITY: move the task if necessary. CPU_STATUS: check all tasks again
 * publishes: WITHHELD: no CPU that the task may use is online
 * asks:      AFFINITY: where the task may run; needed. COUNTERS: its loads from the last-
 *            level cache; needed
 * answers:   -
 * params:    hungry count 4 [1, 1024]; loads from the last-level cache per 1024 instructions above
 *            which a task is hungry
 *            slack pct 25 [0, 400]; largest load above the minimum at which a pipe is considered
 *            for such a task, in tasks per CPU
 * per-task:  8 bytes
 * cost:      O(CPUs) per added task, O(tasks) when a CPU goes offline or online; no lock of its own
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is
 *            withheld if there is none; every out-pipe keeps the order of each in-pipe
 * source:    ours; proposed as future work in Izzi 7; pairing tasks by their use of
 *            shared caches comes from contention-aware schedulers
 *
 * Give it an out-pipe per shared cache. A task with few loads from the last-level cache goes to the pipe
 * with the least load, to its last pipe among equals. A hungry task goes, among the pipes with an
 * idle CPU, or else with little more than the least load, to the one whose running tasks load least from
 * their cache. Load takes precedence over caches: no CPU is left idle to separate tasks. Tasks are placed
 * on arrival; running tasks are not moved. Without counters it balances by load alone.
 *
 * example:   annotate affinity, counters; entry -> cache_balancer -> each llc { fifo -> cpus };
 */
#include <weir/component.h>
#include <weir/cpus.h>
#include <weir/kit/review.h>

struct cache_balancer {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 hungry; /* (c) */
	u64 slack;  /* (c) percent of a task */
};

/* Behind all pipes with an idle CPU. */
#define CACHE_BALANCER_BUSY (1u << 30)

WEIR_COMPONENT(
	cache_balancer, .summary = "separate tasks that compete for a cache",
	.cls = WEIR_DISTRIBUTE, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY,
	.out_min = 1, .out_max = WEIR_ANY,
	.listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	.reviews = WEIR_TOPIC_BIT(AFFINITY), .publishes = WEIR_TOPIC_BIT(WITHHELD),
	.asks = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(COUNTERS),
	.needs = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(COUNTERS), .per_task = sizeof(u64),
	WEIR_PARAMS(
		cache_balancer,
		WEIR_PARAM(cache_balancer, hungry, COUNT, 4, 1, 1024,
			   "loads from the last-level cache per 1024 instructions above which a "
			   "task is hungry"),
		WEIR_PARAM(cache_balancer, slack, PCT, 25, 0, 400,
			   "largest load above the minimum at which a pipe is considered for "
			   "such a task, in tasks per CPU")));

/* What the tasks that run behind the pipe loaded from their cache when they were placed. */
static u64 cache_balancer_fight(struct cache_balancer weir_mem *self,
				const struct weir_pipe weir_mem *pipe)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 sum = 0;

	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w];

		while (bits && weir_loop) {
			struct weir_task weir_mem *t =
				weir_cpu_curr(s, w * 64 + weir_lowest_bit(bits));

			bits &= bits - 1;
			if (t)
				sum += weir_load((u64 weir_mem *)weir_priv(&self->inst, t));
		}
	}
	return sum;
}

/* Tasks with one more, in 1/100 of a CPU; a pipe without an idle CPU comes behind all others. */
static u32 cache_balancer_rank(const struct weir_pipe weir_mem *pipe)
{
	u32 idle, load = (weir_pipe_load(pipe, &idle) + 1) * 100 / pipe->nr_cpus;

	if (load >= CACHE_BALANCER_BUSY)
		load = CACHE_BALANCER_BUSY - 1;
	return idle ? load : load + CACHE_BALANCER_BUSY;
}

/* The least rank of the pipes that the task may use, or ~0. */
static u32 cache_balancer_least(struct cache_balancer weir_mem *self,
				const struct weir_cpumask weir_mem *mask)
{
	u32 least = ~0u;

	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
		u32 rank = weir_pipe_allows(out, mask) ? cache_balancer_rank(out) : ~0u;

		if (rank < least)
			least = rank;
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return least;
}

/* Of the pipes up to a rank, the one with the least contention for its cache, or the one of the least rank. */
static struct weir_pipe weir_mem *cache_balancer_best(struct cache_balancer weir_mem *self,
						      struct weir_task weir_mem *t,
						      const struct weir_cpumask weir_mem *mask,
						      u32 most, int hungry)
{
	struct weir_pipe weir_mem *last = weir_port_to(&self->inst, &self->map, weir_last_cpu(t));
	struct weir_pipe weir_mem *best = 0;
	u64 least = 0;

	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
		u64 score;

		if (!weir_pipe_allows(out, mask))
			continue;
		score = cache_balancer_rank(out);
		if (score > most)
			continue;
		if (hungry)
			score = cache_balancer_fight(self, out);
		if (!best || score < least || (score == least && out == last)) {
			best = out;
			least = score;
		}
	}
	return best;
}

/* The port by which the task goes, nr_out for none; what it loads has been noted. */
WEIR_HELPER u32 cache_balancer_port(struct cache_balancer weir_mem *self weir_arg,
				    struct weir_task weir_mem *t weir_arg,
				    const struct weir_cpumask weir_mem *mask weir_arg)
{
	int hungry = weir_load((u64 weir_mem *)weir_priv(&self->inst, t)) >= self->hungry;
	u32 most = cache_balancer_least(self, mask);
	struct weir_pipe weir_mem *best;

	if (most == ~0u)
		return self->inst.nr_out;
	best = cache_balancer_best(self, t, mask, hungry ? most + (u32)self->slack : most, hungry);
	/* All have become busier since. */
	if (!best)
		best = weir_first_allowed(&self->inst, mask);
	return best ? best->from_port : self->inst.nr_out;
}

/*
 * The pipe to which the task goes, null for none. What it loads is asked now, and remembered for as
 * long as it runs.
 */
WEIR_FLAT static struct weir_pipe weir_mem *cache_balancer_choose(struct cache_balancer
								  weir_mem *self,
								  struct weir_task weir_mem *t,
								  const struct weir_cpumask
								  weir_mem *mask)
{
	u32 port;

	weir_store((u64 weir_mem *)weir_priv(&self->inst, t),
		   weir_property(self->inst.sched, WEIR_TOPIC_COUNTERS, t));
	port = cache_balancer_port(self, t, mask);
	return port < self->inst.nr_out ? weir_out(&self->inst, port) : 0;
}

WEIR_PLACE(cache_balancer)

WEIR_ENTRY u32 cache_balancer_step(struct cache_balancer weir_mem *self, u32 what,
				   struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	weir_use(s);
	return cache_balancer_place(self, what, t);
}

WEIR_ENTRY int cache_balancer_construct(struct cache_balancer weir_mem *self)
{
	return weir_port_map(&self->inst, &self->map);
}

WEIR_ENTRY int cache_balancer_on_cpu_status(struct cache_balancer weir_mem *self,
					    const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}
