/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * marker - mark points in traces
 *
 * class:    service
 * pipes:    none
 * listens:  MARKER: does nothing; value is the number of the mark
 * answers:  -
 * params:   -
 * cost:     O(1); no lock
 * batch:    no pipes
 * source:   CoBaS appendix A.1, component 0x24
 *
 * A message from user space causes a call of this file, which a function trace of the scheduler
 * shows: the interval between two of them is the part to examine.
 *
 * example:  annotate marker;
 */
#include <weir/component.h>

struct marker {
	struct weir_instance inst;
	u64 nr;	  /* (a) landmarks passed */
	u64 last; /* (a) number of the last one */
};

WEIR_COMPONENT(marker, .summary = "mark points in traces", .cls = WEIR_SERVICE,
	       .listens = WEIR_TOPIC_BIT(MARKER));

WEIR_ENTRY int marker_on_marker(struct marker weir_mem *self, const struct weir_msg *msg)
{
	weir_fetch_add(&self->nr, 1);
	weir_store(&self->last, msg->value);
	return 0;
}

WEIR_ENTRY void marker_take_state(struct marker weir_mem *self, struct marker weir_mem *old)
{
	self->nr = old->nr;
	self->last = old->last;
}
