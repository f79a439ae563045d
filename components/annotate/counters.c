/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * counters - accumulate the hardware counters of each task
 *
 * class:    annotate
 * pipes:    none
 * listens:  COUNTERS: add the task's counters
 * answers:  COUNTERS: counters has the recent counters or, requested with value 1, all since the task's creation;
 *           value is the number of loads from the last-level cache per 1024 instructions
 * params:   memory count 100000000 [1000000, 1000000000000]; cycles after which a count
 *           weighs half
 * per-task: 176 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   ours; the counters are those of Izzi 2.2
 *
 * The recent counters are a sum that is halved whenever it covers twice the memory, so ratios of
 * its fields are rates that follow the task's phases, and a sleeping task keeps its history.
 * Fields are read one by one: two of them may differ by the current stint. With a runtime
 * without counters all fields are 0.
 *
 * example:  annotate affinity, counters; entry -> cache_balancer -> each llc { round_robin -> cpus };
 */
#include <weir/component.h>

struct counters_task {
	struct weir_counters recent; /* (a) field by field */
	struct weir_counters all;    /* (a) likewise */
};

struct counters {
	struct weir_instance inst;
	u64 memory; /* (c) cycles */
};

WEIR_COMPONENT(counters, .summary = "accumulate the hardware counters of each task",
	       .cls = WEIR_ANNOTATE, .travels = 1, .plain = 1, .listens = WEIR_TOPIC_BIT(COUNTERS),
	       .answers = WEIR_TOPIC_BIT(COUNTERS), .per_task = sizeof(struct counters_task),
	       WEIR_PARAMS(counters,
			   WEIR_PARAM(counters, memory, COUNT, 100000000, 1000000, 1000000000000,
				      "cycles after which a count weighs half")));

/* One counter more by @more, then by half if @halve. */
static void counters_count(u64 weir_mem *to, u64 more, u64 halve)
{
	weir_store(to, (weir_load(to) + more) >> halve);
}

static void counters_add(struct weir_counters weir_mem *to,
			 const struct weir_counters weir_mem *more, u64 halve)
{
	counters_count(&to->instructions, more->instructions, halve);
	counters_count(&to->cycles, more->cycles, halve);
	counters_count(&to->l1_hits, more->l1_hits, halve);
	counters_count(&to->l1_misses, more->l1_misses, halve);
	counters_count(&to->lfb_hits, more->lfb_hits, halve);
	counters_count(&to->l2_hits, more->l2_hits, halve);
	counters_count(&to->l2_misses, more->l2_misses, halve);
	counters_count(&to->l3_hits, more->l3_hits, halve);
	counters_count(&to->l3_misses, more->l3_misses, halve);
	counters_count(&to->branches, more->branches, halve);
	counters_count(&to->mispredicts, more->mispredicts, halve);
}

WEIR_ENTRY int counters_on_counters(struct counters weir_mem *self, const struct weir_msg *msg)
{
	struct counters_task weir_mem *p;
	u64 cycles;

	if (!msg->task || !msg->counters)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	cycles = weir_load(&p->recent.cycles) + msg->counters->cycles;
	counters_add(&p->recent, msg->counters, cycles >= 2 * self->memory);
	counters_add(&p->all, msg->counters, 0);
	return 0;
}

WEIR_ENTRY int counters_answer_counters(struct counters weir_mem *self, struct weir_msg *msg)
{
	struct counters_task weir_mem *p;
	struct weir_counters weir_mem *c;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	c = msg->value ? &p->all : &p->recent;
	msg->value = weir_share_q10(weir_load(&c->l2_misses), weir_load(&c->instructions));
	msg->counters = c;
	return 0;
}
