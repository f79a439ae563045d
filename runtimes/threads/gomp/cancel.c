/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Cancellation, if OMP_CANCELLATION allows it. GOMP_cancel() leaves a mark, at the region, the taskgroup or the barrier behind the construct;
 * gcc has each member jump to the construct's end when it is told of a mark, here and at barriers. Tasks that have not begun never do.
 */
#include "gomp.h"

static int construct_cancelled(struct team *t)
{
	return t && get(&t->cancelled_work) == (get(&t->barrier) >> 32) + 1;
}

/* The taskgroup around @t that the program wrote: a construct with reductions of tasks is one, too, but is not cancelled as such. */
static struct group *group_of(const struct task *t)
{
	struct group *g = t->group;

	while (g && g->workshare)
		g = g->outer;
	return g;
}

static int group_cancelled(const struct task *t)
{
	const struct group *g = group_of(t);

	return g && get(&g->cancelled);
}

int task_cancelled(const struct task *t)
{
	return env.cancels && ((t->team && get(&t->team->cancelled)) || group_cancelled(t));
}

GOMP_API bool GOMP_cancellation_point(int which)
{
	struct member *m = me();

	if (!env.cancels)
		return false;
	if (which & (CANCEL_LOOP | CANCEL_SECTIONS) && construct_cancelled(m->team))
		return true;
	if (which & CANCEL_GROUP && group_cancelled(m->task))
		return true;
	return m->team && get(&m->team->cancelled);
}

GOMP_API bool GOMP_cancel(int which, bool doit)
{
	struct member *m = me();
	struct team *t = m->team;

	if (!env.cancels)
		return false;
	if (!doit)
		return GOMP_cancellation_point(which);
	if (which & CANCEL_GROUP) {
		struct group *g = group_of(m->task);

		/* Where there is no group, nothing is left to end but the task itself. */
		if (g)
			set(&g->cancelled, 1);
	} else if (which & (CANCEL_LOOP | CANCEL_SECTIONS)) {
		if (t)
			set(&t->cancelled_work, (get(&t->barrier) >> 32) + 1);
	} else if (t) {
		set(&t->cancelled, 1);
		event_bump(&t->event);
	}
	return true;
}

GOMP_API bool GOMP_barrier_cancel(void)
{
	return barrier(me());
}
