/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pmc_fair - derive penalties for a fair scheduler from cache and branch misses
 *
 * class:    annotate
 * pipes:    none
 * listens:  COUNTERS: update the task's penalty
 * answers:  PENALTY: stretch of the task's virtual run time (value) and reduction of its slice
 *           (value2), signed, in 1/1024. Without a task: value selects a debug counter, or
 *           WEIR_PENALTY_BRANCHES: whether mispredicted branches count
 * params:   level count 1 [1, 3]; cache whose misses count
 *           branch flag 0 [0, 1]; mispredicted branches count too
 *           cache_weight pct 50 [0, 100]; weight of the cache's misses if branches count; they get
 *           the rest
 *           reward flag 0 [0, 1]; reward tasks that miss instead of penalising them
 *           log_only flag 0 [0, 1]; compute penalties, but do not apply them
 *           scale count 0 [0, 2]; scale 0 both, 1 the slice only, 2 the virtual run time only
 *           slice_rule count 0 [0, 2]; slices shrink by 0 the penalty, 1 the share of L1, 2 always 45 %
 *           alpha pct 50 [1, 100]; weight of the latest stint in the moving average
 * per-task: 16 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   Izzi 3.1 to 3.4 (fixed point, model, update_pmcs, compute_penalty); slice_rule 1 is ours
 *
 * Together with the component `cfs`, which requests penalties, this is the scheduler of Izzi's thesis. The
 * variants of its thirty kernels are parameters here. All numbers have ten fraction bits and
 * every product is rounded down, which biases the average by about -1/1024.
 *
 *   c = misses / loads of the level, or weighted with 10 * mispredicts / branches; reward: 1 - c
 *   penalty = alpha * (c - 0.5) + (1 - alpha) * penalty, within -0.5 .. 0.5
 *
 * Level 1 without branches counts loads of lines in flight as misses; with branches the
 * hardware of the thesis had no counter left for them, so they are omitted. A new task has penalty
 * 0, and the stint that has just ended is charged before the penalty is updated by it.
 *
 * Slice rules. The thesis concludes that slices, not virtual run times, should change. Rule 1: by a
 * switch a task loses what it keeps in the larger caches, and little of what L1 serves, so its slice
 * shrinks by half the share of its loads that L1 serves, and never grows. Rule 2 shrinks every slice
 * by the same 45 %, which is close to the result of the thesis's best configuration.
 *
 * Debug counters: 0 cache rates above one, 1 branch rates above one, 2 branch rates above 10 %, of which
 * ten times are cut to one, 3 combinations above one, 4 penalties beyond the bounds, 5 updates. Weights add
 * up to one and the average of bounded values is bounded, so 3 and 4 stay 0. The kernel's log of counts asks
 * whether branches count, so that its rates are those of the policy.
 *
 * example:  annotate affinity, weight, fair, pmc_fair(level = 1, reward = true);
 *           entry -> weight_balancer -> each cpu { cfs -> cpu };
 */
#include <weir/component.h>

#define PMC_FAIR_ONE	      1024
#define PMC_FAIR_HALF	      512
#define PMC_FAIR_BRANCH_SCALE 10240 /* ten, with ten fraction bits */
#define PMC_FAIR_CONSTANT     461   /* 45 % */

enum pmc_fair_event {
	PMC_FAIR_CACHE_RATE,
	PMC_FAIR_BRANCH_RATE,
	PMC_FAIR_BRANCH_CUT,
	PMC_FAIR_COMBINATION,
	PMC_FAIR_PENALTY,
	PMC_FAIR_UPDATES,
	PMC_FAIR_EVENTS,
};

struct pmc_fair_task {
	u64 penalty; /* (a) signed, 1/1024 */
	u64 served;  /* (a) moving average of the share of loads that L1 serves, 1/1024 */
};

struct pmc_fair {
	struct weir_instance inst;
	u64 level;		     /* (c) */
	u64 branch;		     /* (c) */
	u64 cache_weight;	     /* (c) */
	u64 reward;		     /* (c) */
	u64 log_only;		     /* (c) */
	u64 scale;		     /* (c) */
	u64 slice_rule;		     /* (c) */
	u64 alpha;		     /* (c) */
	u64 events[PMC_FAIR_EVENTS]; /* (a) */
};

WEIR_COMPONENT(
	pmc_fair, .summary = "derive penalties for a fair scheduler from cache and branch misses",
	.cls = WEIR_ANNOTATE, .listens = WEIR_TOPIC_BIT(COUNTERS),
	.answers = WEIR_TOPIC_BIT(PENALTY), .per_task = sizeof(struct pmc_fair_task),
	WEIR_PARAMS(pmc_fair,
		    WEIR_PARAM(pmc_fair, level, COUNT, 1, 1, 3, "cache whose misses count"),
		    WEIR_PARAM(pmc_fair, branch, FLAG, 0, 0, 1, "mispredicted branches count too"),
		    WEIR_PARAM(pmc_fair, cache_weight, PCT, 50, 0, 100,
			       "weight of the cache's misses if branches count; they get the rest"),
		    WEIR_PARAM(pmc_fair, reward, FLAG, 0, 0, 1,
			       "reward tasks that miss instead of penalising them"),
		    WEIR_PARAM(pmc_fair, log_only, FLAG, 0, 0, 1,
			       "compute penalties, but do not apply them"),
		    WEIR_PARAM(pmc_fair, scale, COUNT, 0, 0, 2,
			       "scale 0 both, 1 the slice only, 2 the virtual run time only"),
		    WEIR_PARAM(pmc_fair, slice_rule, COUNT, 0, 0, 2,
			       "slices shrink by 0 the penalty, 1 the share of L1, 2 always 45 %"),
		    WEIR_PARAM(pmc_fair, alpha, PCT, 50, 1, 100,
			       "weight of the latest stint in the moving average")));

static void pmc_fair_note(struct pmc_fair weir_mem *self, u32 event)
{
	weir_fetch_add(&self->events[event], 1);
}

/* @value, at most one; more is noted. */
static u64 pmc_fair_cut(struct pmc_fair weir_mem *self, u64 value, u32 event)
{
	if (value <= PMC_FAIR_ONE)
		return value;
	pmc_fair_note(self, event);
	return PMC_FAIR_ONE;
}

/* @part / @whole, rounded down; 0 where there is no whole. */
static u64 pmc_fair_rate(struct pmc_fair weir_mem *self, u64 part, u64 whole, u32 event)
{
	return whole ? pmc_fair_cut(self, (part << 10) / whole, event) : 0;
}

static u64 pmc_fair_cache_rate(struct pmc_fair weir_mem *self,
			       const struct weir_counters weir_mem *c)
{
	u64 hits, misses;

	if (self->level == 1) {
		hits = c->l1_hits;
		misses = c->l1_misses + (self->branch ? 0 : c->lfb_hits);
	} else if (self->level == 2) {
		hits = c->l2_hits;
		misses = c->l2_misses;
	} else {
		hits = c->l3_hits;
		misses = c->l3_misses;
	}
	return pmc_fair_rate(self, misses, hits + misses, PMC_FAIR_CACHE_RATE);
}

static u64 pmc_fair_branch_rate(struct pmc_fair weir_mem *self,
				const struct weir_counters weir_mem *c)
{
	u64 rate = pmc_fair_rate(self, c->mispredicts, c->branches, PMC_FAIR_BRANCH_RATE);

	return pmc_fair_cut(self, rate * PMC_FAIR_BRANCH_SCALE >> 10, PMC_FAIR_BRANCH_CUT);
}

/* How badly the task behaved by this policy, 0 .. 1. */
static u64 pmc_fair_score(struct pmc_fair weir_mem *self, const struct weir_counters weir_mem *c)
{
	u64 score = pmc_fair_cache_rate(self, c);

	if (self->branch) {
		u64 weight = self->cache_weight * PMC_FAIR_ONE / 100;

		score = (score * weight >> 10) +
			(pmc_fair_branch_rate(self, c) * (PMC_FAIR_ONE - weight) >> 10);
		score = pmc_fair_cut(self, score, PMC_FAIR_COMBINATION);
	}
	return self->reward ? PMC_FAIR_ONE - score : score;
}

/* A moving average's next value; shifts of negative numbers round down, as in the source. */
static s64 pmc_fair_average(const struct pmc_fair weir_mem *self, s64 now, s64 before)
{
	s64 alpha = self->alpha * PMC_FAIR_ONE / 100;

	return (now * alpha >> 10) + (before * (PMC_FAIR_ONE - alpha) >> 10);
}

WEIR_ENTRY int pmc_fair_on_counters(struct pmc_fair weir_mem *self, const struct weir_msg *msg)
{
	const struct weir_counters weir_mem *c = msg->counters;
	struct pmc_fair_task weir_mem *p;
	s64 penalty, served;

	if (!msg->task || !c)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	penalty = pmc_fair_average(self, (s64)pmc_fair_score(self, c) - PMC_FAIR_HALF,
				   (s64)weir_load(&p->penalty));
	if (penalty > PMC_FAIR_HALF || penalty < -PMC_FAIR_HALF) {
		pmc_fair_note(self, PMC_FAIR_PENALTY);
		penalty = penalty > 0 ? PMC_FAIR_HALF : -PMC_FAIR_HALF;
	}
	weir_store(&p->penalty, (u64)penalty);
	served = weir_share_q10(c->l1_hits, c->l1_hits + c->l1_misses + c->lfb_hits);
	weir_store(&p->served, (u64)pmc_fair_average(self, served, (s64)weir_load(&p->served)));
	pmc_fair_note(self, PMC_FAIR_UPDATES);
	return 0;
}

WEIR_ENTRY int pmc_fair_answer_penalty(struct pmc_fair weir_mem *self, struct weir_msg *msg)
{
	struct pmc_fair_task weir_mem *p;
	u64 penalty, slice;

	if (!msg->task) {
		if (msg->value == WEIR_PENALTY_BRANCHES) {
			msg->value = self->branch;
			return 0;
		}
		if (msg->value >= PMC_FAIR_EVENTS)
			return -WEIR_EINVAL;
		msg->value = weir_load(&self->events[msg->value]);
		return 0;
	}
	p = weir_priv(&self->inst, msg->task);
	penalty = weir_load(&p->penalty);
	slice = penalty;
	if (self->slice_rule == 1)
		slice = weir_load(&p->served) >> 1;
	else if (self->slice_rule == 2)
		slice = PMC_FAIR_CONSTANT;
	msg->value = self->log_only || self->scale == 1 ? 0 : penalty;
	msg->value2 = self->log_only || self->scale == 2 ? 0 : slice;
	return 0;
}

WEIR_ENTRY void pmc_fair_take_state(struct pmc_fair weir_mem *self, struct pmc_fair weir_mem *old)
{
	for (u32 i = 0; i < weir_unknown(PMC_FAIR_EVENTS) && weir_loop; i++)
		self->events[i] = old->events[i];
}
