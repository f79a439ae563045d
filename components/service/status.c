/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * status - report the state of the scheduler
 *
 * class:    service
 * pipes:    none
 * listens:  -
 * answers:  STATUS: value selects the query (enum weir_status_query), value2 the pipe or instance; the
 *           answer is in value
 * params:   -
 * cost:     O(1), O(pipes) for schedulable tasks, O(CPUs) for counts of CPUs; no lock
 * batch:    no pipes
 * source:   CoBaS appendix A.1, component 0x22
 *
 * The numbers are read without locks: each is exact at some time during the request, but two of them
 * may be from different times. Unlike other components this one reads the scheduler's own structures.
 *
 * example:  annotate status;
 */
#include <weir/component.h>
#include <weir/cpus.h>
#include <weir/schedule.h>
#include <weir/status.h>

struct status {
	struct weir_instance inst;
};

WEIR_COMPONENT(status, .summary = "report the state of the scheduler", .cls = WEIR_SERVICE,
	       .answers = WEIR_TOPIC_BIT(STATUS));

static int status_of_pipe(const struct weir_pipe weir_mem *pipe, struct weir_msg *msg)
{
	u32 idle, nr;

	switch (msg->value) {
	case WEIR_STATUS_PIPE_NR:
		msg->value = weir_pipe_nr(pipe);
		return 0;
	case WEIR_STATUS_PIPE_LOAD:
		msg->value = weir_pipe_load(pipe, &idle);
		return 0;
	case WEIR_STATUS_PIPE_MAX:
		msg->value = weir_pipe_max(pipe);
		return 0;
	case WEIR_STATUS_PIPE_ADDED:
		msg->value = weir_pipe_added(pipe);
		return 0;
	default:
		/* (The two numbers are not taken at one time.) */
		nr = weir_pipe_nr(pipe);
		msg->value = weir_pipe_added(pipe);
		msg->value -= msg->value < nr ? msg->value : nr;
		return 0;
	}
}

static u64 status_schedulable(const struct weir_graph weir_mem *g)
{
	u64 n = 0;

	for (u32 i = 0; i < g->nr_pipes && weir_loop; i++)
		if (!g->pipes[i].from)
			n += weir_pipe_nr(&g->pipes[i]);
	return n;
}

static u64 status_count(const struct weir_sched weir_mem *s,
			const struct weir_cpumask weir_mem *mask)
{
	u64 n = 0;

	for (u32 w = 0; w < weir_mask_words(s) && weir_loop; w++)
		n += weir_count_bits(weir_load(&mask->word[w]));
	return n;
}

static u64 status_online(const struct weir_sched weir_mem *s)
{
	u64 n = 0;

	for (u32 i = 0; i < weir_nr_cpus(s) && weir_loop; i++)
		n += weir_cpu_is_online(s, i);
	return n;
}

WEIR_ENTRY int status_answer_status(struct status weir_mem *self, struct weir_msg *msg)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	struct weir_graph weir_mem *g = s->graph;

	switch (msg->value) {
	case WEIR_STATUS_PIPE_NR:
	case WEIR_STATUS_PIPE_LOAD:
	case WEIR_STATUS_PIPE_MAX:
	case WEIR_STATUS_PIPE_ADDED:
	case WEIR_STATUS_PIPE_REMOVED:
		return msg->value2 < g->nr_pipes ? status_of_pipe(&g->pipes[msg->value2], msg)
						 : -WEIR_ENOENT;
	case WEIR_STATUS_NR_PIPES:
		msg->value = g->nr_pipes;
		return 0;
	case WEIR_STATUS_NR_INSTANCES:
		msg->value = g->nr_instances;
		return 0;
	case WEIR_STATUS_INSTANCE_UPDATES:
		if (msg->value2 >= g->nr_instances)
			return -WEIR_ENOENT;
		msg->value = weir_came_to(g->instances[msg->value2]);
		return 0;
	case WEIR_STATUS_NR_TASKS:
		msg->value = weir_load(&s->nr_tasks);
		return 0;
	case WEIR_STATUS_NR_SCHEDULABLE:
		msg->value = status_schedulable(g);
		return 0;
	case WEIR_STATUS_NR_RUNNING:
		msg->value = status_count(s, s->busy);
		return 0;
	case WEIR_STATUS_NR_IDLE:
		msg->value = status_count(s, s->idle);
		return 0;
	case WEIR_STATUS_NR_ONLINE:
		msg->value = status_online(s);
		return 0;
	case WEIR_STATUS_ARENA_USED:
		msg->value = weir_load(&s->used) - weir_load(&s->freed);
		return 0;
	case WEIR_STATUS_FAULTS:
		msg->value = weir_load(&s->faults);
		return 0;
	default:
		return -WEIR_EINVAL;
	}
}
