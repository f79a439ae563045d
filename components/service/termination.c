/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * termination - end a path: CPUs take their tasks from the pipe that leads here
 *
 * class:     service
 * pipes:     in 1, out 0
 * listens:   -
 * publishes: KICK: an idle CPU has work
 * asks:      AFFINITY: which of several idle CPUs may run the task
 * answers:   -
 * params:    -
 * cost:      O(1) per added task, plus the search for an idle CPU if several share the pipe; no lock of
 *            its own
 * batch:     no out-pipes
 * source:    CoBaS appendix A.1, component 0xFD
 *
 * The language adds it at the end of every path; topologies do not mention it.
 *
 * example:   entry -> head_queue -> cpus;
 */
#include <weir/component.h>

struct termination {
	struct weir_instance inst;
};

/* No step: the core wakes a CPU for every task that comes to a pipe without one. */
WEIR_COMPONENT(termination,
	       .summary = "end a path: CPUs take their tasks from the pipe that leads here",
	       .cls = WEIR_SERVICE, .in_min = 1, .in_max = 1, .publishes = WEIR_TOPIC_BIT(KICK),
	       .asks = WEIR_TOPIC_BIT(AFFINITY));
