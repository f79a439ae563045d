/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Queries of the topic STATUS: `value` of the request; `value2` names the object; the answer is in `value`. */
#ifndef WEIR_STATUS_H
#define WEIR_STATUS_H

enum weir_status_query {
	WEIR_STATUS_PIPE_NR,	      /* tasks in the pipe now; object: pipe */
	WEIR_STATUS_PIPE_LOAD,	      /* plus CPUs behind it that run one */
	WEIR_STATUS_PIPE_MAX,	      /* most tasks it ever held */
	WEIR_STATUS_PIPE_ADDED,	      /* tasks added since the graph was built */
	WEIR_STATUS_PIPE_REMOVED,     /* tasks removed since then */
	WEIR_STATUS_NR_PIPES,	      /* of the graph */
	WEIR_STATUS_NR_INSTANCES,     /* of the graph */
	WEIR_STATUS_INSTANCE_UPDATES, /* tasks that came to it; object: instance */
	WEIR_STATUS_NR_TASKS,	      /* known to the framework, in any state */
	WEIR_STATUS_NR_SCHEDULABLE,   /* in the entry pipes */
	WEIR_STATUS_NR_RUNNING,	      /* CPUs that run a task */
	WEIR_STATUS_NR_IDLE,	      /* CPUs that wait for work */
	WEIR_STATUS_NR_ONLINE,	      /* online CPUs */
	WEIR_STATUS_ARENA_USED,	      /* bytes in use */
	WEIR_STATUS_FAULTS,	      /* components that failed and were rebuilt */
	WEIR_NR_STATUS,
};

#endif
