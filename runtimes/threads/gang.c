/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Gangs of the program's threads. The controller of runtimes/multikernel decides which CPUs and slots a manifest gets; the policy
 * receives them as messages, one row for each CPU. All CPUs read one clock, so slots begin everywhere at once without further
 * messages. A program has one address space, so there is one controller and no planner.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../multikernel/controller.h"
#include "remote.h"

#define NOTICE_NS \
	5000000ull /* from a request until its slots are in force: time for the messages to reach all CPUs */

static struct mk_controller *controller; /* under `busy` */
static u32 phase_of[MK_MAX_GANGS];
static u64 since[MK_MAX_GANGS];
static u32 taken[MK_MAX_GANGS]; /* by a team */
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

/* Send the rows of a gang's phase to its CPUs; @none: it has no slots any more. */
static void announce(u32 number, int none)
{
	const struct mk_gang *g = &controller->gang[number];
	const struct mk_row *row = &g->row[phase_of[number]];

	for (u32 cpu = 0; cpu < rt.nr_cpus; cpu++) {
		if (!mk_has(&g->cpus, cpu))
			continue;
		field(cpu, number, WEIR_GANG_OFFSET, row->offset);
		field(cpu, number, WEIR_GANG_PERIOD, row->period);
		field(cpu, number, WEIR_GANG_LENGTH, none ? 0 : row->length);
		if (g->alone)
			field(cpu, number, WEIR_GANG_ALONE, 1);
		field(cpu, number, WEIR_GANG_FROM, since[number]);
	}
}

static const struct mk_gang *gang_at(int number)
{
	return controller && number >= 0 && number < (int)MK_MAX_GANGS &&
			       controller->gang[number].used
		       ? &controller->gang[number]
		       : 0;
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
		if (!controller || mk_controller_init(controller, rt.nr_cpus)) {
			free(controller);
			controller = 0;
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
	phase_of[number] = 0;
	since[number] = at + NOTICE_NS;
	taken[number] = 0;
	announce(number, 0);
	weir_mutex_unlock(&busy);
	return (int)number;
}

WEIR_API int weir_gang_phase(int gang, unsigned phase)
{
	const struct mk_gang *g;
	int err = -EINVAL;

	if (rt.joined)
		return ask(CALL_GANG_PHASE, gang, phase);
	weir_mutex_lock(&busy);
	g = gang_at(gang);
	if (g && phase < g->manifest.nr_phases) {
		phase_of[gang] = phase;
		since[gang] = now() + NOTICE_NS + g->manifest.phase[phase].release;
		announce((u32)gang, 0);
		err = 0;
	}
	weir_mutex_unlock(&busy);
	return err;
}

WEIR_API int weir_gang_close(int gang)
{
	int err = -EINVAL;

	if (rt.joined)
		return ask(CALL_GANG_CLOSE, gang, 0);
	weir_mutex_lock(&busy);
	if (gang_at(gang)) {
		since[gang] = now();
		announce((u32)gang, 1);
		err = mk_leave(controller, (u32)gang);
		/* Gangs that had been cut have new rows now. */
		for (u32 i = 0; !err && i < MK_MAX_GANGS; i++)
			if (controller->gang[i].used &&
			    controller->gang[i].version == controller->version)
				announce(i, 0);
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

/* Set the thread's gang and CPUs in the policy; @gang 0: no gang, any CPU (null). */
int gang_member(struct weir_thread *t, u64 gang, u64 outside, const struct weir_cpumask *mask)
{
	struct weir_msg both[] = {
		{ .topic = WEIR_TOPIC_AFFINITY, .cpu = WEIR_NO_CPU, .mask = mask },
		{ .topic = WEIR_TOPIC_GANG, .cpu = WEIR_NO_CPU, .value = gang, .value2 = outside },
	};

	return tell(t, both, 2);
}

/* The CPU of a gang's member, and where its thread may be outside of the slots. */
int gang_place(int gang, unsigned member, struct weir_cpumask *mask, u64 *outside)
{
	const struct mk_gang *g;
	u32 cpu = ~0u, withheld = 0;

	weir_mutex_lock(&busy);
	g = gang_at(gang);
	if (g && member < g->threads) {
		cpu = mk_member_cpu(controller, (u32)gang, member);
		withheld = g->manifest.withheld;
	}
	weir_mutex_unlock(&busy);
	if (cpu >= rt.nr_cpus)
		return -EINVAL;
	*mask = (struct weir_cpumask){ 0 };
	mask->word[cpu / 64] = 1ull << cpu % 64;
	*outside = withheld ? WEIR_GANG_WAIT : WEIR_GANG_RUN;
	return 0;
}

/* The thread returns on its CPU, in its slot. */
static int settle(int err)
{
	weir_thread_yield();
	return err;
}

WEIR_API int weir_gang_join(int gang, unsigned member)
{
	struct weir_thread *t = me()->thread;
	struct weir_cpumask mask;
	u64 outside;
	int err;

	if (!t || gang < 0)
		return -EINVAL;
	if (rt.joined)
		return settle(join_gang(t, gang, member));
	err = gang_place(gang, member, &mask, &outside);
	return err ? err : settle(gang_member(t, (u64)gang + 1, outside, &mask));
}

WEIR_API int weir_gang_leave(void)
{
	struct weir_thread *t = me()->thread;

	if (!t)
		return -EINVAL;
	return settle(rt.joined ? join_gang(t, -1, 0) : gang_member(t, 0, WEIR_GANG_RUN, 0));
}

WEIR_API int weir_gang_slot(int gang, uint64_t at, uint64_t *from, uint64_t *until)
{
	const struct mk_gang *g;
	int err = -EINVAL;

	if (rt.joined) {
		struct remote_question q = { .call = CALL_GANG_SLOT, .gang = gang, .at = at };
		struct remote_answer a;

		err = join_ask(&q, 0, -1, &a);
		*from = a.from;
		*until = a.until;
		return err;
	}
	weir_mutex_lock(&busy);
	g = gang_at(gang);
	if (g) {
		const struct mk_row *row = &g->row[phase_of[gang]];

		err = -ENOENT;
		if (row->length) {
			u64 earliest = at > row->length ? at - row->length + 1 : 0;

			if (earliest < since[gang])
				earliest = since[gang];
			*from = mk_next_slot(row, earliest);
			*until = *from + row->length;
			err = 0;
		}
	}
	weir_mutex_unlock(&busy);
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
			announce(i, 0);
	weir_mutex_unlock(&busy);
}

void gangs_forget(void)
{
	free(controller);
	controller = 0;
}
