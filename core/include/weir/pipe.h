/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Pipes: ordered sets of tasks with a log of what changed since the receiver last looked.
 *
 * A *list* pipe is positional; a *keyed* pipe is sorted by a 64-bit key, ties in arrival order.
 * Writers are the component before the pipe (adds, moves, removes) and the framework, which takes
 * a task that leaves a pipe out of all deeper pipes too. All functions take the pipe's lock
 * themselves; the receiver's update function is called with it held.
 *
 * Source: 0, 5.3 and 7.1.2; docs/decisions/0001, 0002.
 */
#ifndef WEIR_PIPE_H
#define WEIR_PIPE_H

#include <weir/task.h>

enum weir_change_kind {
	WEIR_VOID = 0, /* cancelled */
	WEIR_ADDED = 1,
	WEIR_REMOVED = 2,
	WEIR_MOVED = 4, /* position or key changed */
};

struct weir_change {
	struct weir_task weir_mem *task;
	u32 kind;
	/* 1: the receiver has it; the task, carried further, may already be in another pipe of this depth */
	u32 handled;
};

struct weir_sched;
struct weir_instance;

/*
 * Ordered by cache lines: fields that all CPUs read and that do not change while the graph is in use; fields that change with each task;
 * fields for logs and worklists; counters. A pipe begins at the start of a line.
 */
struct weir_pipe {
	struct weir_sched weir_mem *sched;   /* (c) */
	struct weir_instance weir_mem *from; /* (b) null for an entry pipe */
	struct weir_instance weir_mem *to;   /* (b) */
	/* (b) carried: the only pipe where its tasks can be linked, if there is exactly one */
	struct weir_pipe weir_mem *deep;
	struct weir_cpumask weir_mem *cpus; /* (c) CPUs that can be reached through the pipe */
	u32 idx;			    /* (c) index in the graph */
	u32 slot;			    /* (c) depth: hook index and lock rank */
	u32 keyed;			    /* (b) */
	u32 carried;			    /* (b) enum weir_carried bits */
	u32 nr_cpus;			    /* (c) number of @cpus */
	u32 cpu;			    /* (c) the lowest of them */

	u32 lock;
	u32 nr;				 /* (a) tasks, written under the lock */
	struct weir_task weir_mem *head; /* (p) */
	struct weir_task weir_mem *tail; /* (p) */
	struct weir_task weir_mem *root; /* (p) treap of a keyed pipe */
	/*
	 * (a) address of the latest task that arrived while the lock was taken; 0: none
	 * (docs/decisions/0034)
	 */
	u64 inbox;
	/*
	 * (a) a call gave up waiting for the lock: the CPU that holds it serves the pipe when it
	 * releases the lock
	 */
	u32 wanted;
	/*
	 * (a) carried: members that are linked further on; kept where calls do not overlap, or
	 * WEIR_COUNTED
	 */
	u32 through;
	u64 nr_added;	/* (a) since the graph was built, written under the lock */
	u64 nr_removed; /* (a) likewise */

	struct weir_change weir_mem *log;     /* (p) */
	struct weir_pipe weir_mem *work_next; /* (o) worklist */
	/* (b) changes that the receiver wants; 0: it has no update, the path ends */
	u32 change_kinds;
	u32 postponed; /* (c) processed when a CPU asks an exit behind it */
	/* (p) 1 + the CPU on whose worklist it is, or waiting if postponed; 0: neither */
	u32 pending;
	u32 rebuild; /* (p) the log is incomplete: present every task again */
	u32 nr_log;  /* (p) */
	u32 cap_log; /* (p) */
	/*
	 * (a) the receiver has work that no CPU has started yet; written under the lock
	 */
	u32 news;
	u32 max_nr;    /* (a) high-water mark, written under the lock */
	u32 to_port;   /* (c) */
	u32 from_port; /* (c) */
	u32 word_lo;   /* (c) first and last used word of @cpus */
	u32 word_hi;

	u64 label; /* (c) port label of the writer: ISA index */
	/* Waits of CPUs that found the lock taken, since the graph was built; 0 if the runtime's port has no clock. (a) all */
	u64 lock_wait_ns;	  /* total time */
	u64 longest_lock_wait_ns; /* the longest wait */
	u64 nr_lock_waits;	  /* number of waits, including those given up */
	u64 nr_lock_given_up;	  /* waits given up: the caller left some work undone */
	/*
	 * (c) between coherence domains: 1 + the domain that it leads to (its tasks are sent
	 * there), or that it comes from
	 */
	u32 outward;
	u32 inward;
	u32 sent;     /* (o) outward: tasks sent so far; inward: tasks that arrived so far */
	u32 beyond;   /* (a) outward: tasks that wait beyond it, as far as is known here */
	u32 reported; /* (o) inward: number of tasks last reported */
	u32 accepted; /* (o) inward: `sent` last reported */
};

#ifndef WEIR_CARRY /* 0: every task is linked in each pipe on its way */
#define WEIR_CARRY 1
#endif
#ifndef WEIR_DEEP /* 0: the runtime limits how deep calls nest, so the core calls components one after the other from its outermost function */
#define WEIR_DEEP 1
#endif
/* enum weir_carried bits of @pipe */
#define weir_carried(pipe) (WEIR_CARRY ? (pipe)->carried : 0u)

/* How tasks are carried through a pipe (carry.c, docs/decisions/0050). */
enum weir_carried {
	/* they are linked further on, and here only if they are withheld or have a pending change */
	WEIR_CARRIED = 1 << 0,
	WEIR_ALONE = 1 << 1,	      /* a step of the receiver is taken under the pipe's lock */
	WEIR_FED = 1 << 2,	      /* the receiver before it has a carried in-pipe */
	WEIR_COUNTED = 1 << 3,	      /* `through` is always counted */
	WEIR_BEHIND_COUNTED = 1 << 4, /* ... of a pipe before it */
};

/* --- for components: out-pipes ------------------------------------------------------------- */

/* List pipes. @after or @before must be in the pipe. O(1). */
int weir_pipe_append(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);
int weir_pipe_prepend(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);
int weir_pipe_insert_after(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
			   struct weir_task weir_mem *after);
/*
 * Put @t, which is in @in, at the same place in @pipe: behind the nearest task before it that is in @pipe
 * and has no change pending in @in. Adds or moves. O(1) for tasks that arrive at the end.
 */
int weir_pipe_mirror(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
		     struct weir_pipe weir_mem *in);
/* Keyed pipes: add behind the members of equal key, or give a member another key. O(log n). */
int weir_pipe_insert(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key);
/*
 * As weir_pipe_insert(), but members of equal key keep their order in @in. O(log n) for the last task of
 * @in, otherwise plus the distance to the next task of equal key there.
 */
int weir_pipe_insert_stable(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key,
			    struct weir_pipe weir_mem *in);
/*
 * Both kinds. Remove @t from @pipe and from every pipe behind it; an absent task is not an error. The lock of the in-pipe that holds @t
 * is held, as within update.
 */
int weir_pipe_remove(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);

/* --- for components: in-pipes, within update ------------------------------------------------- */

/* The record at or after *@pos, or null; steps *@pos and marks the record as handled. */
struct weir_change weir_mem *weir_change_next(struct weir_pipe weir_mem *in, u32 *pos);

#define weir_for_change(c, in) \
	for (u32 pos_ = 0; ((c) = weir_change_next((in), &pos_)) != 0 && weir_loop;)

/* The task is linked in this very pipe, or in its inbox. */
WEIR_INLINE int weir_pipe_holds(const struct weir_pipe weir_mem *pipe,
				const struct weir_task weir_mem *t)
{
	return weir_load_acquire(&t->hooks[pipe->slot].pipe) == pipe;
}

/* The task passed through the carried @pipe and is linked further on. O(depth). */
int weir_passed(const struct weir_pipe weir_mem *pipe, const struct weir_task weir_mem *t);

WEIR_INLINE int weir_pipe_has(const struct weir_pipe weir_mem *pipe,
			      const struct weir_task weir_mem *t)
{
	return weir_pipe_holds(pipe, t) ||
	       (weir_carried(pipe) & WEIR_CARRIED && weir_passed(pipe, t));
}

WEIR_INLINE u32 weir_pipe_nr(const struct weir_pipe weir_mem *pipe)
{
	u32 nr = weir_load(&pipe->nr);

	if (!(weir_carried(pipe) & WEIR_CARRIED))
		return nr;
	return nr + (pipe->deep ? weir_load(&pipe->deep->nr) : weir_load(&pipe->through));
}

/* Neighbours; the pipe's lock is held. */
WEIR_INLINE struct weir_task weir_mem *weir_pipe_next(const struct weir_pipe weir_mem *pipe,
						      const struct weir_task weir_mem *t)
{
	return t->hooks[pipe->slot].next;
}

WEIR_INLINE struct weir_task weir_mem *weir_pipe_prev(const struct weir_pipe weir_mem *pipe,
						      const struct weir_task weir_mem *t)
{
	return t->hooks[pipe->slot].prev;
}

#define weir_for_task(t, pipe) \
	for ((t) = (pipe)->head; (t) != 0 && weir_loop; (t) = weir_pipe_next((pipe), (t)))

/*
 * All members of an in-pipe, which is locked, including tasks that passed through it and are linked further on. The body may route the
 * task. Pipes whose lock cannot be taken are skipped.
 */
/* address; null: the first; 0: no more */
u64 weir_member(struct weir_pipe weir_mem *in, struct weir_task weir_mem *after);

#if WEIR_CARRY
#define weir_for_member(t, in)                                                               \
	for ((t) = (struct weir_task weir_mem *)weir_member((in), 0); (t) != 0 && weir_loop; \
	     (t) = (struct weir_task weir_mem *)weir_member((in), (t)))
#else
#define weir_for_member(t, in) weir_for_task(t, in)
#endif

/* --- for components: outside update, where nothing is locked -------------------------------------- */

/* 0, or -WEIR_EAGAIN after a bounded wait. Hold at most an in-pipe and one out-pipe, in this order. */
int weir_pipe_lock(struct weir_pipe weir_mem *pipe);
/*
 * 1: calls do not overlap and the pipe has no member, so there is nothing to visit. It is recorded as if the lock
 * had been taken. For components that visit the pipes of all CPUs.
 */
int weir_pipe_pass_by(struct weir_pipe weir_mem *pipe);
void weir_pipe_unlock(struct weir_pipe weir_mem *pipe);

/* --- for the framework ----------------------------------------------------------------------- */

/* The pipe has a change that its receiver, or the CPUs behind it, may not have seen. */
WEIR_INLINE int weir_pipe_has_news(const struct weir_pipe weir_mem *pipe)
{
	return weir_load(&pipe->news) || weir_load(&pipe->inbox);
}

/* Remove every task from the pipes behind and log it as added, as for a new receiver; the lock is held. */
int weir_pipe_represent(struct weir_pipe weir_mem *pipe);
/* The same without queueing the pipe on the worklist: the receiver is called right after. */
int weir_pipe_rebuild(struct weir_pipe weir_mem *pipe);
/* Clear the log: every record has been handled. */
int weir_pipe_consume(struct weir_pipe weir_mem *pipe);
/* Add at the tail, or remove one member; the lock is held. */
int weir_pipe_append_locked(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);
int weir_pipe_take(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);
/* Remove from every pipe from depth @slot on. */
int weir_task_withdraw(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u32 slot);

#endif
