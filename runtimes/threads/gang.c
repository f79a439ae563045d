/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Gangs of the program's threads. The controller of runtimes/multikernel decides which CPUs and slots a manifest gets; the policy
 * receives them as messages, one row for each CPU. All CPUs read one clock, so slots begin everywhere at once without further
 * messages. Phases and groups are those of the planners, of which each CPU of a gang has one; in one address space, their messages
 * arrive at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../multikernel/planner.h"
#include "remote.h"

#define NOTICE_NS \
	5000000ull /* from a request until its slots are in force: time for the messages to reach all CPUs */

/* A CPU's part in the gangs. */
struct part {
	struct mk_planner planner;
	struct mk_submit last[MK_MAX_GANGS]; /* what its scheduler was told */
};

static struct mk_controller *controller; /* under `busy`, with all that follows */
static struct part **parts;		 /* of each CPU; null: no gang has been there */
static u32 taken[MK_MAX_GANGS];		 /* by a team */
static weir_mutex busy;

static void field(u32 cpu, u32 number, u32 what, u64 value)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_GANG_SLOT,
				.cpu = cpu,
				.value = (u64)(number + 1) | (u64)what << 32,
				.value2 = value };
	u32 own = core_enter();

	weir_notify(rt.sched, own, &msg);
	core_leave(own);
}

/* Tell the CPU's scheduler about the gang's slots there; length 0: it has none. */
static void announce(u32 cpu, const struct mk_submit *s)
{
	field(cpu, s->gang, WEIR_GANG_OFFSET, s->row.offset);
	field(cpu, s->gang, WEIR_GANG_PERIOD, s->row.period);
	field(cpu, s->gang, WEIR_GANG_LENGTH, s->row.length);
	if (controller->gang[s->gang].alone)
		field(cpu, s->gang, WEIR_GANG_ALONE, 1);
	field(cpu, s->gang, WEIR_GANG_FROM, s->from);
}

static void submit(u32 cpu, const struct mk_submit *s)
{
	parts[cpu]->last[s->gang] = *s;
	announce(cpu, s);
}

static const struct mk_gang *gang_at(int number)
{
	return controller && number >= 0 && number < (int)MK_MAX_GANGS &&
			       controller->gang[number].used
		       ? &controller->gang[number]
		       : 0;
}

static u32 next_cpu(const struct mk_gang *g, u32 cpu)
{
	while (cpu < rt.nr_cpus && !mk_has(&g->cpus, cpu))
		cpu++;
	return cpu;
}

#define for_cpus_of(cpu, g) \
	for (u32 cpu = next_cpu(g, 0); cpu < rt.nr_cpus; cpu = next_cpu(g, cpu + 1))

/* The planners of a gang's CPUs learn its rows. */
static void push(u32 number, u64 from)
{
	const struct mk_gang *g = &controller->gang[number];

	for_cpus_of(cpu, g)
	{
		struct mk_planner *p = &parts[cpu]->planner;
		struct mk_submit s;

		mk_planner_learn(p, number, g, from, &s);
		for (u32 i = 0; i < g->manifest.nr_phases; i++)
			if (mk_planner_push(p, number, i, g->version, &g->row[i], from, &s))
				submit(cpu, &s);
	}
}

static int parts_new(const struct mk_gang *g)
{
	for_cpus_of(cpu, g)
	{
		if (parts[cpu])
			continue;
		parts[cpu] = calloc(1, sizeof(*parts[cpu]));
		if (!parts[cpu])
			return -ENOMEM;
		mk_planner_init(&parts[cpu]->planner, cpu);
	}
	return 0;
}

/* The CPU that speaks for @t: its own in the gang; of others, the gang's first. */
static u32 seat(const struct weir_thread *t, int gang, const struct mk_gang *g)
{
	return t && t->gang == (u32)gang + 1 ? t->gang_cpu : next_cpu(g, 0);
}

/* A change that the planner of @cpu has begun goes to all peers, and their answers come back. */
static void carry(u32 cpu, const struct mk_gang *g, const struct mk_phase_message *msg)
{
	for_cpus_of(peer, g)
	{
		struct mk_phase_result result;
		struct mk_phase_reply reply;
		struct mk_submit s;

		if (peer == cpu)
			continue;
		if (mk_planner_receive(&parts[peer]->planner, msg, &s, &reply))
			submit(peer, &s);
		mk_planner_reply(&parts[cpu]->planner, &reply, &result);
	}
}

/* The gangs are in another process. */
static int ask(u32 call, int gang, u32 number)
{
	struct remote_question q = { .call = call, .gang = gang, .number = number };

	return join_ask(&q, 0, -1, 0);
}

/* A policy without slots would silently leave all members best effort. */
static int has_slots(void)
{
	return (int)weir_load(&rt.has_slots);
}

WEIR_API int weir_gang_open(const char *text, size_t bytes)
{
	struct mk_manifest m;
	struct mk_fault fault;
	struct mk_refusal why;
	char about[64];
	u32 number;
	u64 at = now();

	if (!__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE))
		return fail(-EINVAL, "weir_gang_open", "the runtime is not open");
	if (rt.joined) {
		struct remote_question q = { .call = CALL_GANG_OPEN, .bytes = bytes };

		return bytes > REMOTE_TEXT ? fail(-EINVAL, "manifest", "longer than 64 KiB")
					   : join_ask(&q, text, -1, 0);
	}
	if (!has_slots())
		return fail(-ENOTSUP, weir_rt_policy(),
			    "this policy has no slots for gangs: take `gang`, or put the order "
			    "`gang` into it");
	if (mk_manifest_parse(text, bytes, &m, &fault)) {
		char why_not[200];

		snprintf(about, sizeof(about), "manifest, line %u, column %u", fault.line,
			 fault.column);
		snprintf(why_not, sizeof(why_not), "%s: %s", mk_manifest_what(fault.code),
			 mk_manifest_remedy(fault.code));
		return fail(-EINVAL, about, why_not);
	}
	weir_mutex_lock(&busy);
	if (!controller) {
		controller = calloc(1, sizeof(*controller));
		parts = calloc(rt.nr_cpus, sizeof(struct part *));
		if (!controller || !parts || mk_controller_init(controller, rt.nr_cpus)) {
			gangs_forget();
			weir_mutex_unlock(&busy);
			return fail(-ENOMEM, "weir_gang_open", "no memory");
		}
	}
	if (mk_admit(controller, &m, at, 0, &number, &why)) {
		char why_not[200];

		weir_mutex_unlock(&busy);
		snprintf(about, sizeof(about), "gang `%s`", m.name[0] ? m.name : "?");
		snprintf(why_not, sizeof(why_not), "%s: %s", mk_refusal_what(why.code),
			 mk_refusal_remedy(why.code));
		return fail(-EBUSY, about, why_not);
	}
	if (parts_new(&controller->gang[number])) {
		mk_leave(controller, number);
		weir_mutex_unlock(&busy);
		return fail(-ENOMEM, "weir_gang_open", "no memory");
	}
	taken[number] = 0;
	push(number, at + NOTICE_NS);
	weir_mutex_unlock(&busy);
	return (int)number;
}

/* The caller holds `busy`. */
static int change(const struct weir_thread *t, int gang, const struct gang_change *what)
{
	const struct mk_gang *g = gang_at(gang);
	u64 from = now() + NOTICE_NS;
	struct mk_phase_message msg;
	struct mk_phase_result result;
	struct mk_planner *p;
	struct mk_submit s;
	int err = -EINVAL;
	u32 cpu;

	if (!g)
		return -EINVAL;
	cpu = seat(t, gang, g);
	p = &parts[cpu]->planner;
	if (what->kind == MK_CHANGE_PHASE)
		err = mk_planner_change(p, (u32)gang, what->phase, from, &msg, &s, &result);
	else if (what->kind == MK_CHANGE_MERGE)
		err = mk_planner_merge(p, (u32)gang, what->groups, what->group, what->phase, from,
				       &msg, &s, &result);
	else if (what->kind == MK_CHANGE_SPLIT)
		err = mk_planner_split(p, (u32)gang, what->group, from, &msg, &s, &result);
	if (err < 0)
		return -EINVAL;
	submit(cpu, &s);
	carry(cpu, g, &msg);
	return 0;
}

int gang_change(const struct weir_thread *t, int gang, const struct gang_change *what)
{
	int err;

	weir_mutex_lock(&busy);
	err = change(t, gang, what);
	weir_mutex_unlock(&busy);
	return err;
}

int gang_group(struct weir_thread *t, u32 group)
{
	struct mk_submit s;
	int err = -EINVAL;

	weir_mutex_lock(&busy);
	if (gang_at((int)t->gang - 1)) {
		err = mk_planner_join(&parts[t->gang_cpu]->planner, t->gang - 1, group,
				      now() + NOTICE_NS, &s);
		if (err == 1)
			submit(t->gang_cpu, &s);
	}
	weir_mutex_unlock(&busy);
	return err < 0 ? -EINVAL : 0;
}

static int changed(int gang, const struct gang_change *what)
{
	struct remote_question q = { .call = CALL_GANG_CHANGE, .gang = gang, .change = *what };
	struct weir_thread *t = me()->thread;

	return rt.joined ? join_gang(t, &q, 0) : gang_change(t, gang, what);
}

WEIR_API int weir_gang_phase(int gang, unsigned phase)
{
	struct gang_change what = { .kind = MK_CHANGE_PHASE, .phase = phase };

	return changed(gang, &what);
}

WEIR_API int weir_gang_merge(int gang, unsigned groups, unsigned into, unsigned phase)
{
	struct gang_change what = {
		.kind = MK_CHANGE_MERGE, .groups = groups, .group = into, .phase = phase
	};

	return changed(gang, &what);
}

WEIR_API int weir_gang_split(int gang, unsigned group)
{
	struct gang_change what = { .kind = MK_CHANGE_SPLIT, .group = group };

	return changed(gang, &what);
}

WEIR_API int weir_gang_group(unsigned group)
{
	struct remote_question q = { .call = CALL_GANG_GROUP, .number = group };
	struct weir_thread *t = me()->thread;

	if (!t)
		return -EINVAL;
	return rt.joined ? join_gang(t, &q, 0) : gang_group(t, group);
}

WEIR_API int weir_gang_close(int gang)
{
	const struct mk_gang *g;
	int err = -EINVAL;

	if (rt.joined)
		return ask(CALL_GANG_CLOSE, gang, 0);
	weir_mutex_lock(&busy);
	g = gang_at(gang);
	if (g) {
		for_cpus_of(cpu, g)
		{
			struct mk_submit s;

			if (mk_planner_forget(&parts[cpu]->planner, (u32)gang, now(), &s))
				submit(cpu, &s);
		}
		err = mk_leave(controller, (u32)gang);
		/* Gangs that had been cut have new rows now. */
		for (u32 i = 0; !err && i < MK_MAX_GANGS; i++)
			if (controller->gang[i].used &&
			    controller->gang[i].version == controller->version)
				push(i, now());
	}
	weir_mutex_unlock(&busy);
	return err;
}

/* Tell the policy @n things about the thread, if it has a task. */
static int tell(struct weir_thread *t, struct weir_msg *msg, u32 n)
{
	u32 own = core_enter();
	int err = -1;

	spin(&t->lock);
	if (t->task) {
		err = 0;
		for (u32 i = 0; i < n; i++) {
			msg[i].task = t->task;
			err |= weir_notify(rt.sched, own, &msg[i]);
		}
	}
	unspin(&t->lock);
	core_leave(own);
	return err ? -EINVAL : 0;
}

void thread_bind(struct weir_thread *t, const struct weir_cpumask *mask)
{
	struct weir_msg bound = { .topic = WEIR_TOPIC_AFFINITY, .cpu = WEIR_NO_CPU, .mask = mask };

	tell(t, &bound, 1);
}

/* Set the thread's gang and CPU in the policy; @gang -1: no gang, any CPU. */
int gang_member(struct weir_thread *t, int gang, u32 cpu, u64 outside)
{
	struct weir_cpumask mask = { 0 };
	struct weir_msg both[] = {
		{ .topic = WEIR_TOPIC_AFFINITY, .cpu = WEIR_NO_CPU, .mask = gang < 0 ? 0 : &mask },
		{ .topic = WEIR_TOPIC_GANG,
		  .cpu = WEIR_NO_CPU,
		  .value = (u64)(gang + 1),
		  .value2 = outside },
	};

	mask.word[cpu / 64] = 1ull << cpu % 64;
	t->gang = (u32)(gang + 1);
	t->gang_cpu = cpu;
	return tell(t, both, 2);
}

/* The CPU of a gang's member, and where its thread may be outside of the slots. */
int gang_place(int gang, unsigned member, u32 *cpu, u64 *outside)
{
	const struct mk_gang *g;

	*cpu = ~0u;
	weir_mutex_lock(&busy);
	g = gang_at(gang);
	if (g && member < g->threads) {
		*cpu = mk_member_cpu(controller, (u32)gang, member);
		*outside = g->manifest.withheld ? WEIR_GANG_WAIT : WEIR_GANG_RUN;
	}
	weir_mutex_unlock(&busy);
	return *cpu < rt.nr_cpus ? 0 : -EINVAL;
}

/* The thread returns on its CPU, in its slot. */
static int settle(int err)
{
	weir_thread_yield();
	return err;
}

WEIR_API int weir_gang_join(int gang, unsigned member)
{
	struct remote_question q = { .call = CALL_GANG_JOIN, .gang = gang, .number = member };
	struct weir_thread *t = me()->thread;
	u64 outside;
	u32 cpu;
	int err;

	if (!t || gang < 0)
		return -EINVAL;
	if (rt.joined)
		return settle(join_gang(t, &q, 0));
	err = gang_place(gang, member, &cpu, &outside);
	return err ? err : settle(gang_member(t, gang, cpu, outside));
}

WEIR_API int weir_gang_leave(void)
{
	struct remote_question q = { .call = CALL_GANG_JOIN, .gang = -1 };
	struct weir_thread *t = me()->thread;

	if (!t)
		return -EINVAL;
	return settle(rt.joined ? join_gang(t, &q, 0) : gang_member(t, -1, 0, WEIR_GANG_RUN));
}

int gang_slot(const struct weir_thread *t, int gang, u64 at, u64 *from, u64 *until)
{
	const struct mk_gang *g;
	int err = -EINVAL;

	weir_mutex_lock(&busy);
	g = gang_at(gang);
	if (g) {
		const struct mk_submit *s = &parts[seat(t, gang, g)]->last[gang];

		err = -ENOENT;
		if (s->row.length) {
			u64 earliest = at > s->row.length ? at - s->row.length + 1 : 0;

			if (earliest < s->from)
				earliest = s->from;
			*from = mk_next_slot(&s->row, earliest);
			*until = *from + s->row.length;
			err = 0;
		}
	}
	weir_mutex_unlock(&busy);
	return err;
}

WEIR_API int weir_gang_slot(int gang, uint64_t at, uint64_t *from, uint64_t *until)
{
	struct remote_question q = { .call = CALL_GANG_SLOT, .gang = gang, .at = at };
	struct weir_thread *t = me()->thread;
	struct remote_answer a;
	int err;

	if (!rt.joined)
		return gang_slot(t, gang, at, from, until);
	err = join_gang(t, &q, &a);
	*from = a.from;
	*until = a.until;
	return err;
}

WEIR_API int weir_gang_take(unsigned threads)
{
	int found = -ENOENT;

	if (rt.joined)
		return ask(CALL_GANG_TAKE, -1, threads);
	weir_mutex_lock(&busy);
	for (int i = 0; found < 0 && controller && i < (int)MK_MAX_GANGS; i++)
		if (controller->gang[i].used && !taken[i] &&
		    controller->gang[i].threads == threads) {
			taken[i] = 1;
			found = i;
		}
	weir_mutex_unlock(&busy);
	return found;
}

WEIR_API void weir_gang_return(int gang)
{
	if (rt.joined) {
		ask(CALL_GANG_RETURN, gang, 0);
		return;
	}
	weir_mutex_lock(&busy);
	if (gang_at(gang))
		taken[gang] = 0;
	weir_mutex_unlock(&busy);
}

/* A new policy has no rows yet. */
void gangs_announce(void)
{
	weir_mutex_lock(&busy);
	for (u32 i = 0; controller && i < MK_MAX_GANGS; i++)
		if (controller->gang[i].used)
			for_cpus_of(cpu, &controller->gang[i]) announce(cpu, &parts[cpu]->last[i]);
	weir_mutex_unlock(&busy);
}

void gangs_forget(void)
{
	for (u32 i = 0; parts && i < rt.nr_cpus; i++)
		free(parts[i]);
	free(parts);
	free(controller);
	parts = 0;
	controller = 0;
}
