/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Stand-in of Zephyr's kernel for bench.c: what weir_zephyr.c uses of its documented interface, and no more. */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H
#include <stddef.h>
#include <stdint.h>

#define CONFIG_WEIR_LAXITY_TASKS	   3
#define CONFIG_WEIR_LAXITY_PRIORITY	   5
#define CONFIG_WEIR_LAXITY_STACK	   1024
#define CONFIG_KERNEL_INIT_PRIORITY_DEVICE 50

#define ARG_UNUSED(x) (void)(x)

typedef void (*k_thread_entry_t)(void *, void *, void *);
typedef struct {
	int forever;
} k_timeout_t;
typedef unsigned char k_thread_stack_t;

struct k_thread {
	k_thread_entry_t entry;
	void *p1;
	int priority, suspended;
};
struct k_sem {
	unsigned count, limit;
};

#define K_NO_WAIT			  ((k_timeout_t){ 0 })
#define K_FOREVER			  ((k_timeout_t){ 1 })
#define K_SEM_DEFINE(name, initial, most) struct k_sem name = { initial, most }
#define K_THREAD_DEFINE(name, size, function, p1, p2, p3, prio, options, delay) \
	struct k_thread name = { function, p1, prio, 0 }

void k_sem_give(struct k_sem *sem);
int k_sem_take(struct k_sem *sem, k_timeout_t timeout);
void k_sched_lock(void);
void k_sched_unlock(void);
void k_thread_suspend(struct k_thread *thread);
void k_thread_resume(struct k_thread *thread);
struct k_thread *k_thread_create(struct k_thread *thread, k_thread_stack_t *stack, size_t size,
				 k_thread_entry_t entry, void *p1, void *p2, void *p3, int priority,
				 uint32_t options, k_timeout_t delay);
#endif
