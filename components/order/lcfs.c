/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lcfs - run the youngest task
 *
 * class:    order
 * pipes:    in 1, out 1, keyed
 * listens:  -
 * asks:     LAMPORT: number in order of creation; needed
 * answers:  -
 * params:   -
 * cost:     O(log n) per added task; takes the in-pipe lock and the out-pipe lock
 * batch:    the out-pipe holds the tasks of the in-pipe, by creation stamp, greatest first
 * source:   CoBaS appendix A.1, component 0x03
 *
 * The reverse of fcfs: the youngest task that can run goes first. Useful if later stages of a
 * pipeline must catch up with earlier ones (CoBaS 8.8). Old tasks starve while young ones can run.
 *
 * example:  annotate lamport; entry -> lcfs -> cpus;
 */
#include <weir/component.h>

struct lcfs {
	struct weir_instance inst;
};

WEIR_COMPONENT(lcfs, .summary = "run the youngest task", .cls = WEIR_ORDER, .carries = WEIR_CARRIES,
	       .ordering = WEIR_TOTAL, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1, .change_kinds = WEIR_ADDED, .asks = WEIR_TOPIC_BIT(LAMPORT),
	       .needs = WEIR_TOPIC_BIT(LAMPORT));

WEIR_ENTRY int lcfs_update(struct lcfs weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		u64 stamp = weir_property(self->inst.sched, WEIR_TOPIC_LAMPORT, c->task);

		err = weir_pipe_insert(out, c->task, ~stamp);
		if (err)
			return err;
	}
	return 0;
}
