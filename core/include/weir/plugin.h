/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a component that is loaded at run time passes to its process. Source: 0, 7.4; docs/decisions/0019.
 *
 * Only processes load components: this struct has function pointers, which the BPF target does not support. The struct
 * and its functions are generated (weir-glue); a component's source is the same as for a built-in one.
 */
#ifndef WEIR_PLUGIN_H
#define WEIR_PLUGIN_H

#include <weir/component.h>

/* Maximum number of classes loaded at a time, beside the built-in ones. */
#define WEIR_MAX_LOADED	  16u
#define WEIR_PLUGIN_MAGIC 0x324e4947554c5057ull

struct weir_plugin {
	u64 magic;
	u64 abi; /* hash of the headers it was built with */
	const struct weir_descriptor *descriptor;
	const char *manual;
	struct weir_entries entries;
	/* Functions of the framework: the loader puts their addresses here, in the order of the ABI. */
	void **imports;
	u64 nr_imports;
	int (*construct)(struct weir_instance *i);
	u32 (*step)(struct weir_instance *i, u32 what, struct weir_task *t, struct weir_step *s);
	int (*idle)(struct weir_instance *i, u32 cpu);
	int (*timer)(struct weir_instance *i);
	int (*task_init)(struct weir_instance *i, struct weir_task *t);
	int (*task_exit)(struct weir_instance *i, struct weir_task *t);
	int (*destroy)(struct weir_instance *i);
	int (*take_state)(struct weir_instance *i, struct weir_instance *old);
	int (*on)(struct weir_instance *i, const struct weir_msg *msg);
	int (*answer)(struct weir_instance *i, struct weir_msg *msg);
};

/* The host's functions for a plugin, in place of those with these names, and for each step of its code. */
int weir_guarded_pipe_lock(struct weir_pipe *pipe);
int weir_guarded_pipe_unlock(struct weir_pipe *pipe);
int weir_guarded_steps_lock(struct weir_instance *self);
int weir_guarded_steps_unlock(struct weir_instance *self);
void weir_guard_step(void);

/* The generated dispatch calls these for classes that it does not know. */
int weir_loaded_construct(struct weir_instance *i);
u32 weir_loaded_step(struct weir_instance *i, u32 what, struct weir_task *t, struct weir_step *s);
int weir_loaded_idle(struct weir_instance *i, u32 cpu);
int weir_loaded_timer(struct weir_instance *i);
int weir_loaded_task_init(struct weir_instance *i, struct weir_task *t);
int weir_loaded_task_exit(struct weir_instance *i, struct weir_task *t);
int weir_loaded_destroy(struct weir_instance *i);
int weir_loaded_take_state(struct weir_instance *i, struct weir_instance *old);
int weir_loaded_on(struct weir_instance *i, const struct weir_msg *msg);
int weir_loaded_answer(struct weir_instance *i, struct weir_msg *msg);

#endif
