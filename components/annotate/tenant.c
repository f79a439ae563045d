/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tenant - remember which tenant each task belongs to
 *
 * class:    annotate
 * pipes:    none
 * listens:  TENANT: store the tenant
 * answers:  TENANT: the tenant, also in `value`; 0 if none was published
 * params:   -
 * per-task: 8 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   CoBaS 3.1 (properties that are defined at run time) and 3.3 (tenants); the topic is ours
 *
 * TENANT is not a topic of the framework: this component brings it along, and users of it name the same UUID. Programs publish
 * it: `runweir publish TENANT task=4711 tenant=2`, a workload's `publish`, a scenario.
 *
 * example:  annotate tenant, affinity; entry -> tenant_split -> each part of 2 { -> cpus };
 */
#include <weir/component.h>

#define WEIR_TOPIC_TENANT WEIR_OWN(0)

/* What TENANT carries. */
struct tenant_record {
	u64 tenant;
};

struct tenant {
	struct weir_instance inst;
};

WEIR_COMPONENT(tenant, .summary = "remember which tenant each task belongs to",
	       .cls = WEIR_ANNOTATE, .listens = WEIR_TOPIC_BIT(TENANT),
	       .answers = WEIR_TOPIC_BIT(TENANT), .per_task = sizeof(struct tenant_record),
	       WEIR_TOPICS(WEIR_TOPIC_OF(TENANT, 0x9c1f3b7ae24d5680ull, 1,
					 sizeof(struct tenant_record), "tenant", WEIR_FROM_USER,
					 "the tenant that a task belongs to")));

WEIR_ENTRY int tenant_on_tenant(struct tenant weir_mem *self, const struct weir_msg *msg)
{
	const struct tenant_record weir_mem *said =
		(const struct tenant_record weir_mem *)msg->data;
	struct tenant_record weir_mem *known;

	if (!msg->task || !said)
		return -WEIR_EINVAL;
	known = (struct tenant_record weir_mem *)weir_priv(&self->inst, msg->task);
	weir_store(&known->tenant, said->tenant);
	return 0;
}

WEIR_ENTRY int tenant_answer_tenant(struct tenant weir_mem *self, struct weir_msg *msg)
{
	struct tenant_record weir_mem *known;

	if (!msg->task)
		return -WEIR_EINVAL;
	known = (struct tenant_record weir_mem *)weir_priv(&self->inst, msg->task);
	msg->value = weir_load(&known->tenant);
	msg->data = known;
	return 0;
}
