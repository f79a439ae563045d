/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Components that came at run time: their class ids follow those of the built-in ones. docs/decisions/0019 */
#include <weir/plugin.h>
#include <weir/schedule.h>

#include "guard.h"
#include "internal.h"

extern const u32 weir_nr_descriptors;

static const struct weir_plugin *loaded[WEIR_MAX_LOADED];

/* The plugin of an instance's class, or null. */
static const struct weir_plugin *of(const struct weir_instance *i)
{
	u32 slot = i->class - weir_nr_descriptors;

	return slot < WEIR_MAX_LOADED ? loaded[slot] : 0;
}

/* Put @plugin into @slot, or null to take it out. No scheduler that uses the slot may be called meanwhile. */
void weir_host_plugin(u32 slot, const struct weir_plugin *plugin)
{
	if (slot < WEIR_MAX_LOADED)
		loaded[slot] = plugin;
}

/* Let a scheduler know class @id. None of its instances is of that class. */
void weir_host_learn_class(struct weir_sched *s, u32 id, const struct weir_class *class)
{
	if (id < s->nr_classes)
		s->classes[id] = *class;
}

/* An error of a message or a timer is counted and reported. */
static int counted(struct weir_instance *i, int result)
{
	if (result < 0 && result != -WEIR_EAGAIN)
		weir_fault(i->sched, i->idx, result);
	return result;
}

/* Each call is noted, so that what goes wrong in it has a name. */
#define CALL(name, code, topic, task, none, ...)        \
	const struct weir_plugin *p = of(i);            \
	struct weir_guard_frame frame;                  \
	__typeof__(p->name(i, ##__VA_ARGS__)) result;   \
                                                        \
	if (!p || !p->name)                             \
		return none;                            \
	weir_guard_enter(&frame, i, code, topic, task); \
	result = p->name(i, ##__VA_ARGS__);             \
	weir_guard_leave(&frame);                       \
	return result

int weir_loaded_construct(struct weir_instance *i)
{
	CALL(construct, WEIR_IN_CONSTRUCT, 0, 0, 0);
}

u32 weir_loaded_step(struct weir_instance *i, u32 what, struct weir_task *t, struct weir_step *s)
{
	CALL(step, WEIR_IN_STEP, 0, t, WEIR_WITHHOLD, what, t, s);
}

int weir_loaded_idle(struct weir_instance *i, u32 cpu)
{
	CALL(idle, WEIR_IN_IDLE, 0, 0, 0, cpu);
}

static int call_timer(struct weir_instance *i)
{
	CALL(timer, WEIR_IN_TIMER, 0, 0, -WEIR_ENOENT);
}

int weir_loaded_timer(struct weir_instance *i)
{
	return counted(i, call_timer(i));
}

int weir_loaded_task_init(struct weir_instance *i, struct weir_task *t)
{
	CALL(task_init, WEIR_IN_TASK_INIT, 0, t, 0, t);
}

int weir_loaded_task_exit(struct weir_instance *i, struct weir_task *t)
{
	CALL(task_exit, WEIR_IN_TASK_EXIT, 0, t, 0, t);
}

int weir_loaded_destroy(struct weir_instance *i)
{
	CALL(destroy, WEIR_IN_DESTROY, 0, 0, 0);
}

int weir_loaded_take_state(struct weir_instance *i, struct weir_instance *old)
{
	CALL(take_state, WEIR_IN_TAKE_STATE, 0, 0, 0, old);
}

static int call_on(struct weir_instance *i, const struct weir_msg *msg)
{
	CALL(on, WEIR_IN_ON, msg->topic, msg->task, 0, msg);
}

int weir_loaded_on(struct weir_instance *i, const struct weir_msg *msg)
{
	return counted(i, call_on(i, msg));
}

int weir_loaded_answer(struct weir_instance *i, struct weir_msg *msg)
{
	CALL(answer, WEIR_IN_ANSWER, msg->topic, msg->task, -WEIR_ENOENT, msg);
}
