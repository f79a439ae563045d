/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the files of the core share with each other, and the generated dispatch. */
#ifndef WEIR_INTERNAL_H
#define WEIR_INTERNAL_H

#include <weir/runtime.h>
#include <weir/schedule.h>
#include <weir/stack.h>

/*
 * Blocks of the arena begin with a cache line (alloc.c), so neighbours in these tables share none, and a CPU's writes to one do not slow
 * CPUs that use the next (bench/RESULTS.md, "two threads").
 */
#define WEIR_LINE 64u
_Static_assert(sizeof(struct weir_pipe) % WEIR_LINE == 0, "pipes are whole cache lines");
_Static_assert(__builtin_offsetof(struct weir_pipe, lock) % WEIR_LINE == 0,
	       "what is written with each task begins a line");
_Static_assert(sizeof(struct weir_ctx) % WEIR_LINE == 0, "contexts are whole cache lines");
_Static_assert(sizeof(struct weir_cpu) % WEIR_LINE == 0, "CPUs are whole cache lines");
_Static_assert(sizeof(struct weir_task) % WEIR_LINE == 0, "tasks are whole cache lines");
_Static_assert(sizeof(struct weir_hook) % WEIR_LINE == 0, "hooks are whole cache lines");
/* One bit each in the words of a class and of the runtime (shared with Rust). */
_Static_assert(WEIR_MAX_TOPICS <= 64, "topics fit into a word");

/* state.c */
#define WEIR_FIRST_MSGS \
	4u /* there from the beginning, so that a call always has room for its own */
int weir_msgs_room(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx);
void weir_op_add(struct weir_oplog *log, u32 kind, u32 object, u32 n);

WEIR_INLINE void weir_op(struct weir_sched weir_mem *s, u32 kind, u32 object, u32 n)
{
	if (WEIR_OPLOG && s->oplog)
		weir_op_add(s->log, kind, object, n);
}

/* A call of this CPU has waited too long for another one and leaves work undone: see weir_gave_up(). */
WEIR_INLINE void weir_give_up(struct weir_sched weir_mem *s)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_cpu weir_mem *cpu = &s->cpus[ctx->cpu];

	ctx->gave_up = 1;
	weir_store(&cpu->nr_gave_up, cpu->nr_gave_up + 1);
}

/* Take the lock word of a pipe or an instance, within the rest of the call's waiting time. 0 or -WEIR_EAGAIN. */
WEIR_INLINE int weir_lock_word(struct weir_sched weir_mem *s, u32 weir_mem *lock)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	int err = weir_impatient_lock(lock, ctx->waited, s->patience);

	if (err)
		weir_give_up(s);
	return err;
}

/* A full barrier between CPUs, if there are several. */
WEIR_INLINE void weir_barrier(const struct weir_sched weir_mem *s)
{
	if (!s->exclusive)
		weir_fence();
}

/*
 * Assert that the calling CPU holds the lock of @pipe, or a swap holds off all callers; checked in ports that check lock order. Depths
 * represent pipes: no update has two pipes of one depth locked.
 */
WEIR_INLINE void weir_assert_locked(const struct weir_pipe weir_mem *pipe)
{
	if (WEIR_STRICT) {
		struct weir_ctx weir_mem *ctx = weir_ctx(pipe->sched);
		u32 n = ctx->nr_held;

		weir_assert(weir_load(&pipe->sched->writer) ||
			    (n && ctx->held[n - 1] == pipe->slot) ||
			    (n > 1 && ctx->held[0] == pipe->slot));
	}
}

/* Check the rank order: the pipe is deeper than every lock held, so no two CPUs can wait for each other. */
WEIR_INLINE void weir_note_locked(struct weir_pipe weir_mem *pipe)
{
	if (WEIR_STRICT) {
		struct weir_ctx weir_mem *ctx = weir_ctx(pipe->sched);

		weir_assert(ctx->nr_held < WEIR_MAX_DEPTH);
		weir_assert(!ctx->nr_held || ctx->held[ctx->nr_held - 1] < pipe->slot);
		/* An update holds its in-pipe and one more (docs/decisions/0001). */
		weir_assert(ctx->nr_held < 2);
		ctx->held[ctx->nr_held++] = pipe->slot;
	}
}

WEIR_INLINE void weir_note_unlocked(struct weir_pipe weir_mem *pipe)
{
	if (WEIR_STRICT) {
		struct weir_ctx weir_mem *ctx = weir_ctx(pipe->sched);

		weir_assert(ctx->nr_held && ctx->held[ctx->nr_held - 1] == pipe->slot);
		ctx->nr_held--;
	}
}

/* Calls never overlap. */
#define weir_solo(s) (WEIR_SOLO && (s)->exclusive)

/* The membership of @t at the depth of @pipe. */
WEIR_INLINE struct weir_hook weir_mem *weir_hook(const struct weir_pipe weir_mem *pipe,
						 struct weir_task weir_mem *t)
{
	return &t->hooks[pipe->slot];
}

/* weir_pipe_lock() and weir_pipe_unlock() for the common case: no other CPU has or wants the lock. */
WEIR_INLINE int weir_lock(struct weir_pipe weir_mem *pipe)
{
	const struct weir_sched weir_mem *s = pipe->sched;

	if (!WEIR_CARRY || WEIR_STRICT || s->exclusive || !weir_lock_at_once(&pipe->lock))
		return weir_pipe_lock(pipe);
	weir_op(pipe->sched, WEIR_OP_LOCK, pipe->idx, 0);
	return 0;
}

WEIR_INLINE void weir_unlock(struct weir_pipe weir_mem *pipe)
{
	const struct weir_sched weir_mem *s = pipe->sched;

	if (!WEIR_CARRY || WEIR_STRICT || WEIR_IMPATIENT || s->exclusive || s->patience) {
		weir_pipe_unlock(pipe);
		return;
	}
	weir_op(pipe->sched, WEIR_OP_UNLOCK, pipe->idx, 0);
	weir_spin_unlock(&pipe->lock);
}

/* In the pipe and linked; the lock is held. (A task in the inbox is its own neighbour.) */
WEIR_INLINE int weir_pipe_linked(const struct weir_pipe weir_mem *pipe,
				 const struct weir_task weir_mem *t)
{
	return weir_pipe_holds(pipe, t) && t->hooks[pipe->slot].prev != t;
}

/* carry.c */
#define WEIR_REBUILD_ALL 2u	     /* in `rebuild`: also tasks that passed through the pipe */
#define WEIR_VISIT	 0x80000000u /* numbers of visits, which are no numbers of records */
int weir_carry_plan(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g);
u64 weir_carried_at(struct weir_sched weir_mem *s, const struct weir_task weir_mem *t, u32 slot);
int weir_leave(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *landing,
	       const struct weir_task weir_mem *t, u32 slot);
int weir_recall_all(struct weir_pipe weir_mem *in);
/* after a walk through members, even one that was interrupted */
void weir_unchain(struct weir_ctx weir_mem *ctx);
void weir_sort_by_arrival(struct weir_pipe weir_mem *pipe);
int weir_gather(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g);

/* The pipe of depth @slot of which @t is a member, linked or not, or null. */
WEIR_INLINE struct weir_pipe weir_mem *weir_pipe_at(struct weir_sched weir_mem *s,
						    const struct weir_task weir_mem *t, u32 slot)
{
	struct weir_pipe weir_mem *pipe = weir_load_acquire(&t->hooks[slot].pipe);

	if (WEIR_CARRY && !pipe)
		pipe = (struct weir_pipe weir_mem *)weir_carried_at(s, t, slot);
	return pipe;
}

/* The pipe where @t was carried to, or null. */
WEIR_INLINE struct weir_pipe weir_mem *weir_landing(struct weir_sched weir_mem *s,
						    const struct weir_task weir_mem *t)
{
	u32 landing = weir_load_acquire(&t->landing);

	return landing ? &s->graph->pipes[landing - 1] : 0;
}

/* The pipe through which @t came to @pipe, whose writer takes steps; null: @pipe is an entry. */
WEIR_INLINE struct weir_pipe weir_mem *weir_before(const struct weir_pipe weir_mem *pipe,
						   const struct weir_task weir_mem *t)
{
	const struct weir_instance weir_mem *from = pipe->from;
	struct weir_graph weir_mem *g = pipe->sched->graph;

	if (!from)
		return 0;
	return from->nr_in == 1 ? from->in[0] : &g->pipes[g->cpus[weir_load(&t->entry_cpu)].entry];
}

/* When @t entered, if calls do not overlap: kept in the hook of the entry, which has no keys. */
WEIR_INLINE u64 weir_arrival(const struct weir_task weir_mem *t)
{
	return t->hooks[0].key;
}

/* @t is a member of the carried @pipe from now on. */
WEIR_INLINE void weir_pass(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe)
{
	if (weir_solo(s)) {
		u32 nr = pipe->nr + ++pipe->through;

		pipe->nr_added++;
		if (nr > pipe->max_nr)
			pipe->max_nr = nr;
	} else if (weir_carried(pipe) & WEIR_COUNTED) {
		weir_fetch_add(&pipe->through, 1);
	}
}

/* preempt.c */
/*
 * A CPU behind @pipe should take @t: once no lock is held, send a KICK to the task's last CPU if that is idle,
 * else to the nearest idle one by LLC and node that its affinity allows.
 */
int weir_kick_later(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);

/* The same, which usually finds no CPU. */
WEIR_INLINE void weir_kick_for(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	if (pipe->nr_cpus != 1 || weir_mask_test(pipe->sched->idle, pipe->cpu))
		weir_kick_later(pipe, t);
}

/* Wake a sleeping CPU behind @pipe to process work that no other CPU continues; near @t's CPU (null: any). */
int weir_pipe_news(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);
/*
 * The idle CPU to kick for @t in pipe number @where, removed from the idle set; WEIR_NO_CPU if none is left. If @t is null: a CPU that
 * could not look at its exit, from the CPU in the upper half of @where on, else any.
 */
u32 weir_kick_target(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u64 where);

/* alloc.c */
/* weir_alloc_at(), weir_free() and weir_copy() for the end of a chain of calls, where no frame is left. */
u64 weir_alloc_here(struct weir_sched weir_mem *s, u64 bytes);
int weir_free_here(struct weir_sched weir_mem *s, void weir_mem *p, u64 bytes);
void weir_copy_here(void weir_mem *to, const void weir_mem *from, u64 bytes);
void weir_mem *weir_region_alloc(struct weir_sched weir_mem *s, struct weir_region weir_mem *r,
				 u64 bytes);
void weir_region_drop(struct weir_sched weir_mem *s, struct weir_region weir_mem *r,
		      void weir_mem *p);
int weir_region_free(struct weir_sched weir_mem *s, struct weir_region weir_mem *r);

/* keyed.c: the treap and list of a keyed pipe; the pipe's lock is held. */
int weir_keyed_insert(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key);
int weir_keyed_insert_first(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key);
int weir_keyed_insert_after(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key,
			    struct weir_task weir_mem *after);
int weir_keyed_remove(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);

/* withdraw.c: link @t, a member of carried @in, which is locked, there; it leaves the pipes behind, from depth @slot on. 1: done; 0: not a member. */
int weir_recall(struct weir_pipe weir_mem *in, struct weir_task weir_mem *t, u32 slot);
/* The task that arrived at the carried pipe stays there: withheld, or (@pending) to be presented again. It is locked, or the receiver needs no lock. */
int weir_keep(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe, u32 pending);
/* @t, a member of carried @entry, starts over. */
int weir_present_again(struct weir_pipe weir_mem *entry, struct weir_task weir_mem *t);
/*
 * A receiver that may take steps puts @t, from @in, into @pipe: under @key if that is keyed (@keyed, a constant, so that lists carry no
 * code of keyed pipes).
 */
int weir_put_carried(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key,
		     struct weir_pipe weir_mem *in, int keyed);
/* @t is linked in carried @in, which is locked, and gets no record there. */
void weir_link_carried(struct weir_pipe weir_mem *in, struct weir_task weir_mem *t);

/* lock.c: put a task into the inbox of a pipe whose lock could not be taken. */
int weir_post(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key);
/* Link the tasks that arrived while the lock was taken; it is held. */
int weir_inbox_open(struct weir_pipe weir_mem *pipe);
int weir_inbox_drop(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);

/* log.c: record a change of @pipe, which is locked, for its receiver. Without memory for the record, the next update is a rebuild. */
void weir_log_change(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u32 kind);
void weir_log_removed(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);

/* pipe.c: add @t to a list behind @after (null: first) or, if @move, put a member there. The lock is held. */
int weir_pipe_place(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
		    struct weir_task weir_mem *after, int move);
/*
 * Add @t to a keyed pipe, or change its key, behind all tasks with that key; @in (null: none): behind those that came through it before @t.
 * The lock is held.
 */
int weir_pipe_insert_keyed(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key,
			   struct weir_pipe weir_mem *in);
/* The same for a pipe that is not locked; if its lock cannot be taken, the task goes into the inbox. */
int weir_put_keyed(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key,
		   struct weir_pipe weir_mem *in);

/* list.c: the list of a pipe; the pipe's lock is held. Links @t behind @after, or first if that is null. */
void weir_list_link(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
		    struct weir_task weir_mem *after);
void weir_list_unlink(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);

/* For a pipe that leads to one CPU: whether that is online and in @mask (null: any). */
WEIR_INLINE int weir_one_allows(const struct weir_pipe weir_mem *pipe,
				const struct weir_cpumask weir_mem *mask)
{
	return weir_load(&pipe->sched->cpus[pipe->cpu].online) &&
	       (!mask || weir_mask_test(mask, pipe->cpu));
}

/* weir_pipe_load() for such a pipe. */
WEIR_INLINE u32 weir_one_load(const struct weir_pipe weir_mem *pipe, u32 *idle)
{
	const struct weir_sched weir_mem *s = pipe->sched;
	/* A CPU that is about to choose runs nothing. */
	u32 load = weir_pipe_nr(pipe) + (weir_load(&s->cpus[pipe->cpu].curr) != 0);

	/* A CPU that chooses from an empty pipe takes a new task without a KICK. */
	*idle = !load || weir_mask_test(s->idle, pipe->cpu);
	return load;
}

/* The lock is held and @t is linked: record the pipe. */
WEIR_INLINE void weir_settle_in(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	u32 nr = pipe->nr + 1;

	weir_assert_locked(pipe);
	weir_store_release(&weir_hook(pipe, t)->pipe, pipe);
	if (weir_carried(pipe))
		weir_store_release(&t->landing, pipe->idx + 1);
	weir_store(&pipe->nr, nr);
}

/* The task is in the pipe's inbox. The lock is held. */
WEIR_INLINE int weir_is_boxed(const struct weir_pipe weir_mem *pipe,
			      const struct weir_task weir_mem *t)
{
	return t->hooks[pipe->slot].prev == t;
}

/* The lock is held: @t is not linked there any more. */
WEIR_INLINE void weir_depart(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	if (weir_carried(pipe) && weir_load(&t->landing) == pipe->idx + 1)
		weir_store_release(&t->landing, 0);
	weir_store_release(&weir_hook(pipe, t)->pipe, 0);
}

/* The lock is held: member @t leaves. */
WEIR_INLINE void weir_unlink(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	struct weir_hook weir_mem *h = weir_hook(pipe, t);

	weir_assert_locked(pipe);
	weir_op(pipe->sched, WEIR_OP_REMOVE, pipe->idx, 0);
	if (weir_is_boxed(pipe, t)) {
		weir_inbox_drop(pipe, t);
		return;
	}
	if (pipe->keyed)
		weir_keyed_remove(pipe, t);
	else
		weir_list_unlink(pipe, t);
	if (h->change || pipe->change_kinds & WEIR_REMOVED)
		weir_log_removed(pipe, t);
	weir_store(&pipe->nr, pipe->nr - 1);
	weir_store(&pipe->nr_removed, pipe->nr_removed + 1);
	weir_depart(pipe, t);
}

/* The same, counted; the receiver does not know yet. */
WEIR_INLINE void weir_join(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	u32 nr;

	weir_settle_in(pipe, t);
	nr = pipe->nr;
	if (weir_carried(pipe) && weir_solo(pipe->sched))
		nr += pipe->through;
	weir_store(&pipe->nr_added, pipe->nr_added + 1);
	if (nr > pipe->max_nr)
		weir_store(&pipe->max_nr, nr);
}

/* The lock is held and @t is linked: make it a member. */
WEIR_INLINE void weir_joined(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	weir_join(pipe, t);
	if (weir_hook(pipe, t)->change || pipe->change_kinds & WEIR_ADDED)
		weir_log_change(pipe, t, WEIR_ADDED);
	/* The path ends here, or continues only when a CPU asks: wake one. */
	if (pipe->postponed || !pipe->change_kinds)
		weir_kick_later(pipe, t);
}

/*
 * A receiver puts @t, which has just arrived at it, into the list @pipe: the task passes through, or its path ends there. (Inline down to
 * the list: this is the cost of a carried task.)
 */
WEIR_INLINE int weir_land(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe,
			  struct weir_task weir_mem *t)
{
	const struct weir_hook weir_mem *h = weir_hook(pipe, t);

	if (weir_carried(pipe) & WEIR_CARRIED) {
		weir_op(s, WEIR_OP_PASS, pipe->idx, 0);
		weir_pass(s, pipe);
		return 0;
	}
	/* For a receiver that keeps a log, or outside the common case. */
	if (pipe->change_kinds || weir_load(&h->pipe) || h->change)
		return weir_pipe_append(pipe, t);
	if (weir_lock(pipe))
		return weir_post(pipe, t, 0);
	weir_list_link(pipe, t, pipe->tail);
	weir_op(s, WEIR_OP_ADD, pipe->idx, 0);
	weir_join(pipe, t);
	weir_kick_for(pipe, t);
	weir_unlock(pipe);
	return 0;
}

/* pick.c: the address of the next pipe before @exit with changes that no CPU has processed yet; 0: there is none. */
u64 weir_unfinished(struct weir_sched weir_mem *s, const struct weir_pipe weir_mem *exit);

/* propagate.c: the worklist of the calling CPU */
void weir_work_push(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe);
/*
 * Work on a task of @pipe could not be completed, because a deeper pipe's lock could not be taken: its receiver starts over with all
 * tasks. That needs no further change: this CPU looks again on its own. The pipe is locked.
 */
void weir_start_over(struct weir_pipe weir_mem *pipe);
/* The update of @pipe, which is locked, failed with @err. */
void weir_put_off(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe, int err);
int weir_fault(struct weir_sched weir_mem *s, u32 instance, int err);
/*
 * Propagate changes through the graph and deliver messages until none is left. First, @pipe (null: none) gets
 * @add (null: nothing) at its tail and its receiver handles it, under one lock. The caller holds no pipe lock.
 */
int weir_drain(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe,
	       struct weir_task weir_mem *add);
void weir_deliver(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx);

/* The call has not waited for another CPU yet, and nothing has failed. */
WEIR_INLINE void weir_begin_drain(struct weir_ctx weir_mem *ctx)
{
	ctx->draining = 1;
	ctx->next_msg = 0;
	ctx->tired = 0;
	ctx->failed = 0;
	ctx->entered = 0;
}

/* What is left of weir_drain() after that. */
int weir_process(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx);

/* task.c */
int weir_task_put(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);
struct weir_task weir_mem *weir_task_open(struct weir_sched weir_mem *s, u64 cookie);
int weir_task_hooks_new(struct weir_sched weir_mem *s, u32 nr_slots,
			struct weir_hook weir_mem *weir_mem *hooks);
/* Coherence domains: the record of a task that comes from another one, under its number; null: the arena is full, or a lock is taken. */
struct weir_task weir_mem *weir_task_import(struct weir_sched weir_mem *s, u32 id, u64 cookie);
/* The task has left, which may have been created here: its number stays in use elsewhere. */
void weir_task_lend(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);
/* Number @id has ended elsewhere. */
void weir_task_number_back(struct weir_sched weir_mem *s, u32 id);

/* A walk through members (weir_member()) has finished with the last visited task, or was interrupted. */
WEIR_INLINE void weir_unvisit(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	if (!ctx->visited)
		return;
	weir_task_put(s, ctx->visited);
	ctx->visited = 0;
}

/* broker.c */
void weir_msg_push(struct weir_sched weir_mem *s, const struct weir_msg *msg);
/* weir_request() without a frame */
int weir_request_here(struct weir_sched weir_mem *s, struct weir_msg *msg);
/* Give an instance's topics places in the table, and free them. */
int weir_topics_bind(struct weir_sched weir_mem *s, struct weir_instance weir_mem *inst);
int weir_topics_unbind(struct weir_sched weir_mem *s, struct weir_instance weir_mem *inst);
/* Delivery of the message in the context, one recipient at a time (see broker.c). */
int weir_next_recipient(struct weir_sched weir_mem *s);
int weir_followed(struct weir_sched weir_mem *s, int err);
int weir_delivered(struct weir_sched weir_mem *s);

/* Copy a message field by field: either side may be in the arena or in the caller's memory, which differ in kind. */
#define weir_set_msg(to, from)                 \
	do {                                   \
		(to)->topic = (from)->topic;   \
		(to)->cpu = (from)->cpu;       \
		(to)->task = (from)->task;     \
		(to)->value = (from)->value;   \
		(to)->value2 = (from)->value2; \
		(to)->mask = (from)->mask;     \
	} while (0)

/* remote.c: several coherence domains */
#if WEIR_DOMAINS
int weir_domains_init(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan);
/* In a new graph: its borders, and what other domains hear. */
int weir_borders(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan,
		 struct weir_graph weir_mem *g);
/* Leave @msg, which is about no task, for the other domains that hear its topic. */
void weir_remote_send(struct weir_sched weir_mem *s, const struct weir_msg *msg);
/* @msg was delivered: tasks from other domains for which it may change the path start over at this domain's entry. */
void weir_reconsider(struct weir_sched weir_mem *s, const struct weir_msg *msg);
/* The pipe of the present graph where tasks of @p, which came from another domain in the old graph, wait from now on; null: the entry. */
struct weir_pipe weir_mem *weir_same_border(struct weir_sched weir_mem *s,
					    const struct weir_pipe weir_mem *p);
/* A task that was created elsewhere has ended: its number is returned with the next remote messages. */
void weir_number_ended(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);
/* The first message for another domain, after all that is ready to leave was added; null: none. */
const struct weir_remote_msg weir_mem *weir_remote_collect(struct weir_sched weir_mem *s);
/* @p, which is no call and is about @t if that is not null, has come from another domain. */
int weir_remote_take_in(struct weir_sched weir_mem *s, const struct weir_remote_msg *p,
			struct weir_task weir_mem *t);
#else
#define weir_domains_init(s, plan) 0
#define weir_borders(s, plan, g)   0
#define weir_remote_send(s, msg)   ((void)0)
#define weir_reconsider(s, msg)	   ((void)0)
#define weir_same_border(s, p)	   ((struct weir_pipe weir_mem *)0)
#define weir_number_ended(s, t)	   ((void)0)
#endif

/* A block of task records, or an instance of the graph, that is in another domain's memory: there is a gap in the table. */
#define weir_gap(p) (WEIR_DOMAINS && !(p))

/* Whether task numbers of block @c are created here. Each domain has every so manieth block, so numbers are the same everywhere. */
WEIR_INLINE int weir_own_block(const struct weir_sched weir_mem *s, u32 c)
{
	return !weir_distributed(s) || c % s->nr_domains == s->domain;
}

/* graph.c */
int weir_graph_build(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan,
		     struct weir_graph weir_mem *g);
int weir_instance_params(struct weir_instance weir_mem *inst, const u64 weir_mem *params);
int weir_graph_subscribe(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g);
int weir_graph_free(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g);
struct weir_instance weir_mem *weir_instance_new(struct weir_sched weir_mem *s,
						 struct weir_graph weir_mem *g, u32 class, u32 idx);
int weir_instance_free(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g,
		       struct weir_instance weir_mem *inst);
int weir_instance_priv(struct weir_sched weir_mem *s, struct weir_instance weir_mem *inst);
int weir_instance_priv_free(struct weir_sched weir_mem *s, struct weir_instance weir_mem *inst);

/* call.c: the calling CPU enters, or -WEIR_EAGAIN; publish a state change of @t. See call.h. */
int weir_enter(struct weir_sched weir_mem *s, u32 cpu);
int weir_announce(struct weir_sched weir_mem *s, u32 topic, struct weir_task weir_mem *t, u32 cpu);

/* schedule.c: the CPU that ran @t has nothing now and will choose next. */
void weir_off_cpu(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);
int weir_forget(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);

/* swap.c */
int weir_swap_clean(struct weir_sched weir_mem *s);

/* The instance's number for @topic among its own topics: WEIR_OWN(n), or WEIR_MAX_TOPICS. */
u32 weir_own_number(const struct weir_instance weir_mem *i, u32 topic);

/* The case of a class and a topic in the generated dispatch, where own topics have the class's numbers; one past all: none. */
WEIR_INLINE u32 weir_topic_case(const struct weir_instance weir_mem *i, u32 topic)
{
	u32 number = topic < WEIR_NR_STD_TOPICS ? topic : weir_own_number(i, topic);

	return number < WEIR_MAX_TOPICS ? i->class * WEIR_MAX_TOPICS + number : ~0u;
}

/* Generated from the files in components/. */
int weir_class_construct(struct weir_instance weir_mem *i);
int weir_class_update(struct weir_instance weir_mem *i, struct weir_pipe weir_mem *in);
/* The same for the arrival of one task (step.h). Not in the kernel's port. */
int weir_class_step(struct weir_instance weir_mem *i, struct weir_pipe weir_mem *in);
int weir_class_on(struct weir_instance weir_mem *i, const struct weir_msg weir_mem *msg);
int weir_class_follow(struct weir_instance weir_mem *i, const struct weir_msg weir_mem *msg,
		      struct weir_pipe weir_mem *in);
int weir_class_answer(struct weir_instance weir_mem *i, struct weir_msg *msg);
int weir_class_idle(struct weir_instance weir_mem *i, u32 cpu);
int weir_class_timer(struct weir_instance weir_mem *i);
int weir_class_task_init(struct weir_instance weir_mem *i, struct weir_task weir_mem *t);
int weir_class_task_exit(struct weir_instance weir_mem *i, struct weir_task weir_mem *t);
int weir_class_take_state(struct weir_instance weir_mem *i, struct weir_instance weir_mem *old);
int weir_class_destroy(struct weir_instance weir_mem *i);

#endif
