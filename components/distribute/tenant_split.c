/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tenant_split - send the tasks of each tenant to a pipe of their own
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   TENANT: move the task
 * asks:      TENANT: the tenant of the task; needed
 * answers:   -
 * params:    -
 * cost:      O(1) per added task; no lock of its own
 * batch:     tasks of tenant n are in out-pipe n; those of tenants beyond the last out-pipe are in the first one, with
 *            those of no tenant; every out-pipe keeps the order of each in-pipe
 * source:    CoBaS 3.3 (policies for tenants); the topic is ours
 *
 * What a tenant's pipe leads to is the tenant's policy: another order, other CPUs, a share. The stages behind it decide which of
 * their CPUs are online and allowed.
 *
 * example:   annotate tenant, affinity; entry -> tenant_split -> each part of 2 { -> cpus };
 */
#include <weir/component.h>

#define WEIR_TOPIC_TENANT WEIR_OWN(0)

/* What TENANT carries. */
struct tenant_split_record {
	u64 tenant;
};

struct tenant_split {
	struct weir_instance inst;
};

WEIR_COMPONENT(tenant_split, .summary = "send the tasks of each tenant to a pipe of their own",
	       .cls = WEIR_DISTRIBUTE, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY,
	       .out_min = 1, .out_max = WEIR_ANY, .listens = WEIR_TOPIC_BIT(TENANT),
	       .reviews = WEIR_TOPIC_BIT(TENANT), .asks = WEIR_TOPIC_BIT(TENANT),
	       .needs = WEIR_TOPIC_BIT(TENANT),
	       WEIR_TOPICS(WEIR_TOPIC_OF(TENANT, 0x9c1f3b7ae24d5680ull, 1,
					 sizeof(struct tenant_split_record), "tenant",
					 WEIR_FROM_USER, "the tenant that a task belongs to")));

WEIR_ENTRY u32 tenant_split_step(struct tenant_split weir_mem *self, u32 what,
				 struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	u64 tenant = weir_property(self->inst.sched, weir_topic(&self->inst, WEIR_TOPIC_TENANT), t);

	weir_use(what);
	weir_use(s);
	return tenant < self->inst.nr_out ? (u32)tenant : 0;
}
