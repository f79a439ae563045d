/* SPDX-License-Identifier: MIT */
/*
 * What the engine chooses is resumed, all else of its threads is suspended. Zephyr does not allow either in an interrupt handler, so a
 * thread does it, which is more urgent than all of the engine's.
 */
#include <errno.h>
#include <zephyr/init.h>
#include <zephyr/irq.h>
#include "weir_zephyr.h"

#define NODE DT_INST(0, runweir_laxity)

struct weir_task {
	struct k_thread *thread;
	weir_job job;
	void *argument;
};

static struct weir_task tasks[CONFIG_WEIR_LAXITY_TASKS];
static int nr_tasks;

static K_SEM_DEFINE(changed, 0, 1);

/* The line stands until the claim: it is off until then. */
static void interrupt(const void *unused)
{
	ARG_UNUSED(unused);
	irq_disable(DT_IRQN(NODE));
	k_sem_give(&changed);
}

/* Whatever ran has its context in memory here, as the claim demands. */
static void follow(void *a, void *b, void *c)
{
	struct weir_task *chosen = NULL;

	ARG_UNUSED(a);
	ARG_UNUSED(b);
	ARG_UNUSED(c);
	for (;;) {
		struct weir_task *before = chosen;
		uint32_t sched;

		k_sem_take(&changed, K_FOREVER);
		sched = weir_laxity_claim(WEIR_ZEPHYR_WINDOW);
		chosen = sched & WEIR_LAXITY_SCHED_IDLE_MASK
				 ? NULL
				 : &tasks[WEIR_GET(sched, WEIR_LAXITY_SCHED_TASK)];
		if (chosen != before) {
			if (before)
				k_thread_suspend(before->thread);
			if (chosen)
				k_thread_resume(chosen->thread);
		}
		irq_enable(DT_IRQN(NODE));
	}
}
K_THREAD_DEFINE(weir_follow, CONFIG_WEIR_LAXITY_STACK, follow, NULL, NULL, NULL,
		CONFIG_WEIR_LAXITY_PRIORITY - 1, 0, 0);

/* Each job, identified by its number: a task may be released again while it stays chosen, without any interrupt. */
static void loop(void *number, void *b, void *c)
{
	const uint32_t me = (uint32_t)(uintptr_t)number;
	uint32_t last = ~0u;

	ARG_UNUSED(b);
	ARG_UNUSED(c);
	for (;;) {
		const uint32_t state = weir_laxity_state(WEIR_ZEPHYR_WINDOW, me),
			       job = WEIR_GET(state, WEIR_LAXITY_STATE_JOB);

		if (!(state & WEIR_LAXITY_STATE_READY_MASK) || job == last)
			continue;
		last = job;
		tasks[me].job(tasks[me].argument);
		weir_laxity_done(WEIR_ZEPHYR_WINDOW, me, job);
	}
}

int weir_task_create(struct k_thread *thread, k_thread_stack_t *stack, size_t stack_size,
		     weir_job job, void *argument, const struct weir_laxity_task *times)
{
	const int n = nr_tasks;

	if (n >= CONFIG_WEIR_LAXITY_TASKS ||
	    n >= (int)WEIR_GET(weir_laxity_read(WEIR_ZEPHYR_WINDOW, WEIR_LAXITY_STATUS),
			       WEIR_LAXITY_STATUS_TASKS))
		return -ENOMEM;
	if (weir_laxity_set(WEIR_ZEPHYR_WINDOW, n, times))
		return -EINVAL;
	tasks[n] = (struct weir_task){ thread, job, argument };
	nr_tasks++;
	/* Not one step of it before the engine has chosen it. */
	k_sched_lock();
	k_thread_create(thread, stack, stack_size, loop, (void *)(uintptr_t)n, NULL, NULL,
			CONFIG_WEIR_LAXITY_PRIORITY, 0, K_NO_WAIT);
	k_thread_suspend(thread);
	k_sched_unlock();
	return n;
}

int weir_start(uint32_t policy, uint32_t tick_clocks)
{
	if (weir_laxity_start(WEIR_ZEPHYR_WINDOW, policy, tick_clocks))
		return -EINVAL;
	irq_enable(DT_IRQN(NODE));
	return 0;
}

static int connect_line(void)
{
	IRQ_CONNECT(DT_IRQN(NODE), DT_IRQ(NODE, priority), interrupt, NULL, 0);
	return 0;
}
SYS_INIT(connect_line, POST_KERNEL, CONFIG_KERNEL_INIT_PRIORITY_DEVICE);
