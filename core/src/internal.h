/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the files of the core share with each other, and the generated dispatch. */
#ifndef WEIR_INTERNAL_H
#define WEIR_INTERNAL_H

#include <weir/component.h>
#include <weir/runtime.h>
#include <weir/stack.h>

/*
 * Blocks of the arena begin with a cache line (state.c), so neighbours in these tables share none, and a CPU's writes to one do not slow
 * CPUs that use the next (bench/RESULTS.md, "two threads").
 */
#define WEIR_LINE 64u
_Static_assert(sizeof(struct weir_pipe) % WEIR_LINE == 0, "pipes are whole cache lines");
_Static_assert(__builtin_offsetof(struct weir_pipe, sched) == WEIR_LINE,
	       "what is written with each task is the first line");
_Static_assert(sizeof(struct weir_ctx) % WEIR_LINE == 0, "contexts are whole cache lines");
_Static_assert(sizeof(struct weir_cpu) % WEIR_LINE == 0, "CPUs are whole cache lines");
_Static_assert(__builtin_offsetof(struct weir_cpu, away) == WEIR_LINE,
	       "what a CPU writes with each task is in no line that balancers read");
_Static_assert(sizeof(struct weir_task) == 2 * WEIR_LINE, "a task is two cache lines");
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

/* Take the lock word of an instance or a table, within the rest of the call's waiting time. 0 or -WEIR_EAGAIN. */
WEIR_INLINE int weir_lock_word(struct weir_sched weir_mem *s, u32 weir_mem *lock)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	int err = weir_impatient_lock(lock, ctx->waited, s->patience);

	if (err)
		weir_give_up(s);
	return err;
}

/* A block of task records, or an instance of the graph, that is in another domain's memory: there is a gap in the table. */
#define weir_gap(p) (WEIR_DOMAINS && !(p))

/* Whether task numbers of block @c are created here. Each domain has every so manieth block, so numbers are the same everywhere. */
WEIR_INLINE int weir_own_block(const struct weir_sched weir_mem *s, u32 c)
{
	return !weir_distributed(s) || c % s->nr_domains == s->domain;
}

/* task.c */
WEIR_INLINE struct weir_task weir_mem *weir_record(const struct weir_sched weir_mem *s, u32 id)
{
	return &s->chunks[id / WEIR_TASK_CHUNK][id % WEIR_TASK_CHUNK];
}
int weir_task_free(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);
struct weir_task weir_mem *weir_task_open(struct weir_sched weir_mem *s, u64 cookie);
/* Coherence domains: the record of a task that comes from another one, under its number; null: the arena is full, or a lock is taken. */
struct weir_task weir_mem *weir_task_import(struct weir_sched weir_mem *s, u32 id, u64 cookie);
/* The task has left, which may have been created here: its number stays in use elsewhere. */
void weir_task_lend(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);
/* Number @id has ended elsewhere. */
void weir_task_number_back(struct weir_sched weir_mem *s, u32 id);

/* --- home.c: locks and inboxes ------------------------------------------------------------------------ */

/* Bits of a home's word; from bit 32 on 1 + the task in its inbox that came last, 0: none. */
#define WEIR_LOCKED 1ull
#define WEIR_WANT   2ull /* a CPU looked in vain */
#define WEIR_ANEW   4ull /* all tasks there are to be reviewed from their entries on */
#define WEIR_RECORDED \
	8ull /* always set where operations are recorded: so locking takes the longer way, which does that */
#define WEIR_BITS 15ull

/*
 * Bits of a task's `pend`. It is not 0 as long as exactly one inbox or one CPU has the task in work: who raises it from 0 has the TOKEN,
 * all others only note something, and the holder takes the notes by an exchange, so that each note changes the word.
 */
enum weir_pend {
	WEIR_TOKEN = 1,
	WEIR_LOOK = 2, /* its state has changed */
	WEIR_HAND = 4, /* who has the token is to place it: it is nowhere */
	WEIR_HERE =
		8, /* the same, at the home in whose inbox it is: the shared stages are behind it */
	WEIR_AGAIN = 16,   /* it is to be reviewed, from the first stage of its home on */
	WEIR_AFRESH = 32,  /* likewise, from its entry on */
	WEIR_DIE = 64,	   /* its end was its last word: free the record */
	WEIR_ONWARD = 128, /* with HAND or HERE: its way begins at a pipe, see weir_send_onward() */
};

/*
 * @t, which the caller has in its hand or in an inbox and which is nowhere: its way begins at @from, not at its entry. (What it knows of a
 * treap is free then.)
 */
WEIR_INLINE void weir_send_onward(struct weir_task weir_mem *t,
				  const struct weir_pipe weir_mem *from)
{
	t->least = from->idx;
	weir_fetch_or(&t->pend, WEIR_ONWARD);
}

WEIR_INLINE struct weir_pipe weir_mem *weir_holder(struct weir_pipe weir_mem *p)
{
	return p->holder;
}

int weir_wait_for(struct weir_pipe weir_mem *h);
int weir_let_go(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h);
/*
 * Leave @t, with @bits of its pend, in the inbox of @h; @mine: the caller has the token. Who has the lock of @h carries it out, or the
 * caller does, if nobody has.
 */
int weir_post(struct weir_pipe weir_mem *h, struct weir_task weir_mem *t, u32 bits, int mine);
/* Leave a bit in the word of @h, as a change. */
int weir_ask_home(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h, u64 bit);
/* All changes of a postponed pipe, the latest first: 1 + number, 0: none. */
u32 weir_take_posted(struct weir_pipe weir_mem *p);
/* What was put off in @p, if that is a postponed pipe, comes into this CPU's hand: it goes on from there (@onward), or from its entry. */
int weir_recall_from(struct weir_pipe weir_mem *p, int onward);
/* What was put off anywhere, from its entry. */
int weir_recall_posted(struct weir_sched weir_mem *s);
int weir_put_off(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *p,
		 struct weir_task weir_mem *t, int wake);

WEIR_INLINE void weir_set_online(struct weir_cpu weir_mem *cpu, u32 online)
{
	weir_store(&cpu->online, online);
	if (online)
		weir_fetch_and(&cpu->away, ~(u32)WEIR_CPU_OFF);
	else
		weir_fetch_or(&cpu->away, (u32)WEIR_CPU_OFF);
}

/* Strict: one home at a time. */
WEIR_INLINE void weir_note_locked(struct weir_sched weir_mem *s, const struct weir_pipe weir_mem *h)
{
	if (WEIR_STRICT) {
		weir_assert(!weir_ctx(s)->held);
		weir_ctx(s)->held = h->idx + 1;
	}
}

WEIR_INLINE void weir_note_unlocked(struct weir_sched weir_mem *s,
				    const struct weir_pipe weir_mem *h)
{
	if (WEIR_STRICT) {
		weir_assert(weir_ctx(s)->held == h->idx + 1);
		weir_ctx(s)->held = 0;
	}
}

/* 0, or -WEIR_EAGAIN. */
WEIR_INLINE int weir_home_lock(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h)
{
	if (weir_unlikely(WEIR_STRICT || weir_cas(&h->word, 0, WEIR_LOCKED))) {
		int err = weir_wait_for(h);

		if (err)
			return err;
	}
	weir_note_locked(s, h);
	return 0;
}

WEIR_INLINE void weir_home_unlock(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h)
{
	if (weir_unlikely(weir_cas(&h->word, WEIR_LOCKED, 0) != WEIR_LOCKED))
		weir_let_go(s, h);
	weir_note_unlocked(s, h);
}

/* The task is in the calling CPU's hand from now on; the token is its. */
WEIR_INLINE void weir_own(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			  struct weir_task weir_mem *t)
{
	ctx->todo = 1;
	weir_store(&t->in_next, 0);
	if (ctx->own_first)
		weir_store(&weir_record(s, ctx->own_last - 1)->in_next, t->id + 1);
	else
		ctx->own_first = t->id + 1;
	ctx->own_last = t->id + 1;
}

/* --- order.c: the order of a pipe; the home's lock is held -------------------------------------------------- */

/* Into the tree and the list; the number of steps down. */
u32 weir_tree_link(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t);
/* Out of the tree, and not of the list. */
int weir_tree_unlink(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t);
/* By arrival: one that is reviewed may come in between. */
int weir_list_insert(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t);

/* --- place.c: a task's way and its place ------------------------------------------------------------------ */

/* The pipe through which @t came to @pipe; null: @pipe is an entry. */
struct weir_pipe weir_mem *weir_before(const struct weir_pipe weir_mem *pipe,
				       const struct weir_task weir_mem *t);
/*
 * @t goes from @at through the stages without a home: where it stops, in ctx->reached. That is a pipe of a home; or one whose receiver
 * withholds it; or a postponed one (@first: go on behind it).
 */
int weir_walk(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *at,
	      struct weir_task weir_mem *t, u32 what, u32 first);
/* The home of @at is locked: @t is placed in it from there on, by number @number. */
int weir_place(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *at,
	       struct weir_task weir_mem *t, u32 number);
/* @h is locked: if it counts @t, it does so no longer. */
int weir_drop(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h,
	      struct weir_task weir_mem *t, u32 why);
/* What @t's instances hear when it is picked at @h, which is locked. */
int weir_hear(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *at,
	      struct weir_task weir_mem *t, u32 what, u32 runs);
/* @h is locked and counts @t, which waits or runs: its stages there see it again, from pipe @at on (null: where it came in). */
int weir_review_here(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h,
		     struct weir_pipe weir_mem *at, struct weir_task weir_mem *t);

u64 weir_came_in(struct weir_pipe weir_mem *h, struct weir_pipe weir_mem *at,
		 struct weir_task weir_mem *t);
/* The out-pipe of @at's receiver by which @t, which is linked in @end or runs, went on. */
struct weir_pipe weir_mem *weir_went_on(struct weir_pipe weir_mem *at,
					struct weir_pipe weir_mem *end,
					struct weir_task weir_mem *t);

/*
 * Whether @t, which is to be reviewed, need not be noted: it neither waits nor runs, or it is in the hand of a call that has not placed it
 * yet and looks at it once more afterwards, because `changes` has moved on.
 */
int weir_in_hand(struct weir_sched weir_mem *s, const struct weir_task weir_mem *t);

/* A step begins with nothing known. */
WEIR_INLINE void weir_begin_steps(struct weir_ctx weir_mem *ctx, u32 why)
{
	ctx->step.key = WEIR_KEY_NONE;
	ctx->step.gate = 0;
	ctx->step.tie = 0;
	ctx->step.urgent = 0;
	ctx->step.in = 0;
	ctx->step.runs = 0;
	ctx->step.keeps_tie = 0;
	ctx->step.why = why;
	ctx->step.want = WEIR_WITHHOLD;
}

/*
 * The place of @t, whose claim is @w, was given for that claim; its home is locked. Where tasks are declined, a CPU may have chosen again without its
 * last task having been taken from it: that has no place any more.
 */
WEIR_INLINE int weir_place_valid(const struct weir_sched weir_mem *s,
				 const struct weir_task weir_mem *t, u64 w)
{
	u32 state = weir_claim_state(w);

	if (WEIR_DECLINES && state == WEIR_RUNNING &&
	    (weir_claim_raw_cpu(w) >= s->nr_cpus ||
	     weir_load(&s->cpus[weir_claim_raw_cpu(w)].curr) != t))
		return 0;
	return (state == WEIR_SCHEDULABLE || state == WEIR_RUNNING) &&
	       weir_claim_number(w) == t->placed;
}

/* The entry of @t. */
WEIR_INLINE struct weir_pipe weir_mem *weir_entry(const struct weir_sched weir_mem *s,
						  const struct weir_task weir_mem *t)
{
	struct weir_graph weir_mem *g = s->graph;

	return &g->pipes[g->cpus[weir_load(&t->entry_cpu)].entry];
}

/* The home of @t, or the pipe that holds it; null: none. */
WEIR_INLINE struct weir_pipe weir_mem *weir_home_of(const struct weir_sched weir_mem *s,
						    const struct weir_task weir_mem *t)
{
	u32 home = weir_load(&t->home);

	return home ? &s->graph->pipes[home - 1] : 0;
}

/* --- settle.c: tasks in work ------------------------------------------------------------------------------- */

/* One stage of the work at a task in this CPU's hand. */
u32 weir_work_on(struct weir_sched weir_mem *s);
/* A message on @topic about @t may change its way or its place: it is noted that those on its way whose topic it is are to see it again. */
int weir_look_at(struct weir_sched weir_mem *s, u32 topic, struct weir_task weir_mem *t);
/* The message in the context, to all its recipients. */
void weir_deliver(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx);
/* What a call has left to do: tasks in its hand, messages. No lock is held. */
int weir_drain(struct weir_sched weir_mem *s);
/* The same, but where there are only messages for the runtime, with little ado. */
int weir_settle(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx);
/* Note @bits for @t; if nobody has it in work, the calling CPU has, from now on. */
int weir_note(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u32 bits);

/* --- preempt.c ---------------------------------------------------------------------------------------------- */

/* Kick one idle CPU behind @pipe, near @t (null: any); all: every one. 1: there was one. */
int weir_kick(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);
int weir_kick_all(struct weir_pipe weir_mem *pipe);

/* state.c: memory */
/* weir_alloc_at(), weir_free() and weir_copy() for the end of a chain of calls, where no frame is left. */
u64 weir_alloc_here(struct weir_sched weir_mem *s, u64 bytes);
int weir_free_here(struct weir_sched weir_mem *s, void weir_mem *p, u64 bytes);
void weir_copy_here(void weir_mem *to, const void weir_mem *from, u64 bytes);
void weir_mem *weir_region_alloc(struct weir_sched weir_mem *s, struct weir_region weir_mem *r,
				 u64 bytes);
void weir_region_drop(struct weir_sched weir_mem *s, struct weir_region weir_mem *r,
		      void weir_mem *p);
int weir_region_free(struct weir_sched weir_mem *s, struct weir_region weir_mem *r);

/* broker.c */
/* A component failed with @err. */
int weir_fault(struct weir_sched weir_mem *s, u32 instance, int err);
void weir_msg_push(struct weir_sched weir_mem *s, const struct weir_msg *msg);
/* The runtime is told at once that @cpu, behind @exit, is to be preempted. No lock is held. */
int weir_tell_preempt(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *exit,
		      struct weir_task weir_mem *t, u32 cpu, u64 key);
/* weir_request() without a frame */
int weir_request_here(struct weir_sched weir_mem *s, struct weir_msg *msg);
/* Give an instance's topics places in the table, and free them. */
int weir_topics_bind(struct weir_sched weir_mem *s, struct weir_instance weir_mem *inst);
int weir_topics_unbind(struct weir_sched weir_mem *s, struct weir_instance weir_mem *inst);
/* Delivery of the message in the context, one recipient at a time (see broker.c). */
int weir_next_recipient(struct weir_sched weir_mem *s);
int weir_report(struct weir_sched weir_mem *s, const struct weir_queued weir_mem *m);

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
/* @t was created elsewhere, has ended, and is free here: its number is returned with the next remote messages. */
void weir_number_ended(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);
#else
#define weir_domains_init(s, plan) 0
#define weir_borders(s, plan, g)   0
#define weir_remote_send(s, msg)   ((void)0)
#define weir_reconsider(s, msg)	   ((void)0)
#define weir_number_ended(s, t)	   ((void)0)
#endif

/* The record of @t, which has ended, is no longer used by anybody. */
WEIR_INLINE void weir_task_ended(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	weir_task_free(s, t);
	if (weir_distributed(s))
		weir_number_ended(s, t);
}

/* graph.c */
int weir_graph_build(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan,
		     struct weir_graph weir_mem *g);
/* What follows from the classes of the instances: order of pipes, who hears and reviews. */
int weir_graph_facts(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g);
int weir_graph_homes(struct weir_graph weir_mem *g);
int weir_graph_follow(struct weir_graph weir_mem *g);
void weir_instance_ports(struct weir_instance weir_mem *inst);
int weir_instance_params(struct weir_instance weir_mem *inst, const u64 weir_mem *params);
int weir_graph_subscribe(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g);
int weir_graph_free(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g);
struct weir_instance weir_mem *weir_instance_new(struct weir_sched weir_mem *s,
						 struct weir_graph weir_mem *g, u32 class, u32 idx);
int weir_instance_free(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g,
		       struct weir_instance weir_mem *inst);
int weir_instance_priv(struct weir_sched weir_mem *s, struct weir_instance weir_mem *inst);
int weir_instance_priv_free(struct weir_sched weir_mem *s, struct weir_instance weir_mem *inst);

/* The calling CPU enters, or -WEIR_EAGAIN; publish a state change of @t. See settle.h. */
int weir_enter(struct weir_sched weir_mem *s, u32 cpu);
int weir_announce(struct weir_sched weir_mem *s, u32 topic, struct weir_task weir_mem *t, u32 cpu);

/* schedule.c */
/* @t, which has come to ctx->reached, leaves the home of before, if that is another one. 1: whoever has the lock of that sees to it. */
int weir_leave_other(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);
/* It is placed at ctx->reached: a lock that is taken, a postponed pipe. 0. */
int weir_submit_slowly(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u32 number);
int weir_forget(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);

/* swap.c */
int weir_swap_clean(struct weir_sched weir_mem *s);

/* The instance's number for @topic among its own topics: WEIR_OWN(n), or WEIR_MAX_TOPICS. */
u32 weir_own_number(const struct weir_instance weir_mem *i, u32 topic);

/* @topic as the class of @i numbers it; WEIR_MAX_TOPICS: it is none of its. */
WEIR_INLINE u32 weir_topic_number(const struct weir_instance weir_mem *i, u32 topic)
{
	return topic < WEIR_NR_STD_TOPICS ? topic : weir_own_number(i, topic);
}

/* The case of a class and a topic in the dispatch that is generated for BPF; one past all: none. */
WEIR_INLINE u32 weir_topic_case(const struct weir_instance weir_mem *i, u32 topic)
{
	u32 number = weir_topic_number(i, topic);

	return number < WEIR_MAX_TOPICS ? i->class * WEIR_MAX_TOPICS + number : ~0u;
}

/* Generated from the files in components/. */
int weir_class_construct(struct weir_instance weir_mem *i);
/* (A port without function pointers has a function instead of the table.) */
u32(weir_class_step)(struct weir_instance weir_mem *i, u32 what, struct weir_task weir_mem *t,
		     struct weir_step weir_mem *s);
extern u32 (*const weir_steps[])(struct weir_instance weir_mem *i, u32 what,
				 struct weir_task weir_mem *t, struct weir_step weir_mem *s);
int weir_class_on(struct weir_instance weir_mem *i, const struct weir_msg weir_mem *msg);
int weir_class_answer(struct weir_instance weir_mem *i, struct weir_msg *msg);
int weir_class_idle(struct weir_instance weir_mem *i, u32 cpu);
int weir_class_timer(struct weir_instance weir_mem *i);
int weir_class_task_init(struct weir_instance weir_mem *i, struct weir_task weir_mem *t);
int weir_class_task_exit(struct weir_instance weir_mem *i, struct weir_task weir_mem *t);
int weir_class_take_state(struct weir_instance weir_mem *i, struct weir_instance weir_mem *old);
int weir_class_destroy(struct weir_instance weir_mem *i);

#endif
