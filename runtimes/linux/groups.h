/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Control groups with their own CPU shares (cgroup v2, `cpu`): each has a number here, and the graph receives its weight, its
 * parent, its limit, and the group of each task. The kernel reports changes in contexts that may not call the core, so the next
 * dispatch passes them on.
 */
#ifndef WEIR_LINUX_GROUPS_H
#define WEIR_LINUX_GROUPS_H

#include "tasks.h"

#define MAX_GROUPS 256u
/* Of a group, 1/1024, from that of the kernel's files. */
#define GROUP_WEIGHT(weight) ((u32)(((u64)(weight) * 1024 + 50) / 100))

enum weir_linux_group_news { NEWS_WEIGHT = 1, NEWS_LIMIT = 2 };

/* (a) all */
struct weir_linux_group {
	u32 used; /* 1: the number is in use */
	u32 news; /* enum weir_linux_group_news: changes not yet reported to the graph */
	u32 parent;
	u32 weight;
	u32 period_us;
	u32 quota_us; /* in each period, 0: no limit */
	u32 burst_us; /* of earlier periods, at most */
	u32 unused;
};

/* Address in the arena of the groups by number; 0 is the root. */
static u64 all_groups;
#define GROUP(number) IN_TABLE(struct weir_linux_group, all_groups, number)
static u32 any_group_news;
/* 1: a CPU is reporting them. */
static u32 publishing_groups;

/* Data about a group of the kernel. */
struct weir_linux_group_of {
	u32 number; /* of its nearest ancestor if all numbers are in use */
	u32 is_own;
};

/* Indexed by the number in the kernel's file system. */
struct {
	int (*type)[1];	     /* BPF_MAP_TYPE_HASH */
	int (*map_flags)[1]; /* BPF_F_NO_PREALLOC */
	int (*max_entries)[65536];
	u64 *key;
	struct weir_linux_group_of *value;
} group_numbers SEC(".maps");

WEIR_INLINE u64 id_of(const struct cgroup *group)
{
	return group->kn->id;
}

static u32 number_of(u64 id)
{
	struct weir_linux_group_of *known = bpf_map_lookup_elem(&group_numbers, &id);

	return known ? known->number : 0;
}

/* The group's own number; 0: it has none. */
static u32 own_number_of(u64 id)
{
	struct weir_linux_group_of *known = bpf_map_lookup_elem(&group_numbers, &id);

	return known && known->is_own ? known->number : 0;
}

/* A free number greater than the parent's, because a group comes after its parent; 0: there is none. */
WEIR_GLOBAL u32 weir_linux_new_group(u32 parent)
{
	for (u32 i = parent + 1; i < weir_unknown(MAX_GROUPS) && weir_loop; i++)
		if (!weir_cas(&GROUP(i)->used, 0, 1))
			return i;
	return 0;
}

static void note_group(u32 number, u32 news)
{
	weir_fetch_or(&GROUP(number)->news, news);
	weir_fence();
	weir_live_u32(any_group_news) = 1;
}

static void set_limit(u32 number, u64 period_us, u64 quota_us, u64 burst_us)
{
	/* Without a limit, the kernel reports a quota longer than any period. */
	bool limited = period_us && quota_us <= ~0u;

	weir_store(&GROUP(number)->period_us, limited ? period_us : 0);
	weir_store(&GROUP(number)->quota_us, limited ? quota_us : 0);
	weir_store(&GROUP(number)->burst_us, !limited ? 0 : burst_us > ~0u ? ~0u : burst_us);
	note_group(number, NEWS_LIMIT);
}

/* A new graph may have components that have received no reports yet. */
WEIR_FLAT int weir_linux_republish_groups(void)
{
	for (u32 i = 1; i < weir_unknown(MAX_GROUPS) && weir_loop; i++)
		if (weir_load(&GROUP(i)->used))
			note_group(i,
				   NEWS_WEIGHT | (weir_load(&GROUP(i)->quota_us) ? NEWS_LIMIT : 0));
	return 0;
}

/* Put one pending report about group @number into @msg. */
static void put_group_news(u32 number, u32 what, struct weir_msg *msg)
{
	struct weir_linux_group weir_mem *group = GROUP(number);

	msg->value = number;
	if (what == NEWS_WEIGHT) {
		msg->topic = WEIR_TOPIC_GROUP;
		msg->value2 = (u64)weir_load(&group->parent) << 32 | weir_load(&group->weight);
	} else {
		msg->topic = WEIR_TOPIC_LIMIT;
		msg->value |= (u64)weir_load(&group->period_us) << 32;
		msg->value2 = (u64)weir_load(&group->burst_us) << 32 | weir_load(&group->quota_us);
	}
}

/*
 * Report changed groups: 1 if a report is under way. Only one CPU at a time reports, until it is done, because an older state must
 * not be reported after a newer one.
 */
WEIR_GLOBAL int weir_linux_begin_group_news(void)
{
	struct weir_msg msg = { .cpu = WEIR_NO_CPU };

	if (weir_cas(&publishing_groups, 0, 1))
		return 0;
	weir_live_u32(any_group_news) = 0;
	weir_fence();
	for (u32 i = 1; i < weir_unknown(MAX_GROUPS) && weir_loop; i++) {
		u32 news = weir_load(&GROUP(i)->news), what;

		if (!news)
			continue;
		what = news & NEWS_WEIGHT ? NEWS_WEIGHT : NEWS_LIMIT;
		weir_fetch_and(&GROUP(i)->news, ~what);
		weir_fence();
		put_group_news(i, what, &msg);
		/* There may be more. */
		weir_live_u32(any_group_news) = 1;
		if (!weir_notify_begin(SCHED, weir_port_cpu(), &msg))
			return 1;
		/* A swap took too long: the next dispatch tries again. */
		weir_fetch_or(&GROUP(i)->news, what);
		break;
	}
	weir_fence();
	weir_live_u32(publishing_groups) = 0;
	return 0;
}

WEIR_INLINE void serve_groups(void)
{
	while (weir_live_u32(any_group_news) && weir_linux_begin_group_news() && weir_loop) {
		call_begins(WEIR_CALL_NOTIFY);
		weir_notify_end(SCHED);
		weir_linux_call_over(WEIR_CALL_NOTIFY);
		weir_fence();
		weir_live_u32(publishing_groups) = 0;
	}
}

/* --- callbacks --- */

/* A group exists or was created; its ancestors were reported before. */
SEC("struct_ops.s/weir_cgroup_init")
s32 weir_cgroup_init(u64 *ctx)
{
	struct cgroup *cgroup = (struct cgroup *)ctx[0];
	struct scx_cgroup_init_args *args = (struct scx_cgroup_init_args *)ctx[1];
	struct cgroup_subsys_state *around = cgroup->self.parent;
	u64 id = id_of(cgroup);
	struct weir_linux_group_of own = {};
	u32 parent, number;

	IN_ARENA;
	if (!around)
		return 0;
	parent = number_of(id_of(around->cgroup));
	number = weir_linux_new_group(parent);
	own.number = number ? number : parent;
	own.is_own = !!number;
	if (number) {
		weir_store(&GROUP(number)->parent, parent);
		weir_store(&GROUP(number)->weight, GROUP_WEIGHT(args->weight));
		note_group(number, NEWS_WEIGHT);
		/* Linux 6.17. */
		if (weir_kernel_knows(args->bw_quota_us))
			set_limit(number, args->bw_period_us, args->bw_quota_us, args->bw_burst_us);
	}
	if (bpf_map_update_elem(&group_numbers, &id, &own, 0) && number)
		weir_store(&GROUP(number)->used, 0);
	return 0;
}

SEC("struct_ops.s/weir_cgroup_exit")
int weir_cgroup_exit(u64 *ctx)
{
	u64 id = id_of((struct cgroup *)ctx[0]);
	u32 number = own_number_of(id);

	IN_ARENA;
	if (number)
		weir_store(&GROUP(number)->used, 0);
	bpf_map_delete_elem(&group_numbers, &id);
	return 0;
}

SEC("struct_ops/weir_cgroup_move")
int weir_cgroup_move(u64 *ctx)
{
	struct weir_linux_task *own = of((struct task_struct *)ctx[0]);

	/* The kernel dequeues a waiting task before, and enqueues it again after. */
	if (own) {
		own->group = number_of(id_of((struct cgroup *)ctx[2]));
		own->dirty |= DIRTY_GROUP;
	}
	return 0;
}

SEC("struct_ops/weir_cgroup_set_weight")
int weir_cgroup_set_weight(u64 *ctx)
{
	u32 number = own_number_of(id_of((struct cgroup *)ctx[0]));

	IN_ARENA;
	if (number) {
		weir_store(&GROUP(number)->weight, GROUP_WEIGHT((u32)ctx[1]));
		note_group(number, NEWS_WEIGHT);
	}
	return 0;
}

/* Linux 6.17. */
SEC("struct_ops/weir_cgroup_set_bandwidth")
int weir_cgroup_set_bandwidth(u64 *ctx)
{
	u32 number = own_number_of(id_of((struct cgroup *)ctx[0]));

	IN_ARENA;
	if (number)
		set_limit(number, ctx[1], ctx[2], ctx[3]);
	return 0;
}

#endif
