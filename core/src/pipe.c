/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Pipes: lists, change logs, and the rule that a task leaves all deeper pipes with the one it leaves. */
#include "internal.h"

#define FIRST_LOG 8u

/* --- change log ------------------------------------------------------------------------------ */

/* Squeeze cancelled records out; 1 if that made room. */
static int log_compact(struct weir_pipe weir_mem *pipe)
{
	u32 n = 0;

	weir_assert_locked(pipe);
	for (u32 i = 0; i < pipe->nr_log && weir_loop; i++) {
		struct weir_change weir_mem *c = &pipe->log[i];

		if (c->kind == WEIR_VOID)
			continue;
		pipe->log[n].task = c->task;
		pipe->log[n].kind = c->kind;
		pipe->log[n].handled = c->handled;
		n++;
		if (c->kind != WEIR_REMOVED && !c->handled)
			weir_hook(pipe, c->task)->change = n;
	}
	if (n == pipe->nr_log)
		return 0;
	pipe->nr_log = n;
	return 1;
}

/* Room for one more record, or -WEIR_ENOMEM. */
WEIR_GLOBAL int weir_log_room(struct weir_pipe weir_mem *pipe weir_arg)
{
	u32 cap = pipe->cap_log ? 2 * pipe->cap_log : FIRST_LOG;
	struct weir_change weir_mem *log;

	if (log_compact(pipe))
		return 0;
	log = (struct weir_change weir_mem *)weir_alloc_here(pipe->sched,
							     cap * sizeof(struct weir_change));
	if (!log)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < pipe->nr_log && weir_loop; i++) {
		log[i].task = pipe->log[i].task;
		log[i].kind = pipe->log[i].kind;
		log[i].handled = pipe->log[i].handled;
	}
	weir_free_here(pipe->sched, pipe->log, pipe->cap_log * sizeof(struct weir_change));
	pipe->log = log;
	pipe->cap_log = cap;
	return 0;
}

/* The receiver has work: put the pipe on this CPU's worklist, once. */
WEIR_FLAT static void wake_receiver(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	weir_assert_locked(pipe);
	if (!pipe->news && !pipe->sched->exclusive)
		weir_store(&pipe->news, 1);
	if (pipe->pending) {
		/* Another CPU is responsible for the change, and may have stopped. */
		if (!pipe->postponed && !pipe->sched->exclusive &&
		    pipe->pending != weir_ctx(pipe->sched)->cpu + 1)
			weir_pipe_news(pipe, t);
		return;
	}
	pipe->pending = weir_ctx(pipe->sched)->cpu + 1;
	if (!pipe->postponed)
		weir_work_push(pipe->sched, pipe);
}

/* Record a change for the receiver. Without memory for the record, the next update is a rebuild. */
WEIR_FLAT static void log_change(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
				 u32 kind)
{
	struct weir_hook weir_mem *h = weir_hook(pipe, t);

	weir_assert_locked(pipe);
	if (h->change) {
		struct weir_change weir_mem *c = &pipe->log[h->change - 1];

		if (kind != WEIR_REMOVED)
			/* the receiver reads the place when it handles the pending record */
			return;
		h->change = 0;
		if (c->kind == WEIR_ADDED) {
			c->kind = WEIR_VOID;
			return;
		}
		c->kind = WEIR_VOID;
	}
	if (!(pipe->change_kinds & kind))
		return;
	if (pipe->nr_log == pipe->cap_log && weir_log_room(pipe)) {
		pipe->rebuild |= 1;
		wake_receiver(pipe, t);
		return;
	}
	pipe->log[pipe->nr_log].task = t;
	pipe->log[pipe->nr_log].kind = kind;
	pipe->log[pipe->nr_log].handled = 0;
	pipe->nr_log++;
	if (kind == WEIR_REMOVED)
		weir_fetch_add(&t->refs, 1);
	else
		h->change = pipe->nr_log;
	wake_receiver(pipe, t);
}

WEIR_FLAT struct weir_change weir_mem *weir_change_next(struct weir_pipe weir_mem *in, u32 *pos)
{
	if (weir_carried(in) & WEIR_CARRIED) {
		struct weir_ctx weir_mem *ctx = weir_ctx(in->sched);

		/* A step: one task arrives, and it is in no log. */
		if (ctx->carrying == in)
			return (*pos)++ ? 0 : &ctx->arrival;
	}
	weir_assert_locked(in);
	while (*pos < in->nr_log && weir_loop) {
		struct weir_change weir_mem *c = &in->log[(*pos)++];

		if (c->kind == WEIR_VOID)
			continue;
		if (c->kind != WEIR_REMOVED && !c->handled) {
			weir_hook(in, c->task)->change = 0;
			c->handled = 1;
		}
		return c;
	}
	return 0;
}

WEIR_GLOBAL int weir_pipe_consume(struct weir_pipe weir_mem *pipe weir_arg)
{
	weir_assert_locked(pipe);
	for (u32 i = 0; i < pipe->nr_log && weir_loop; i++) {
		struct weir_change weir_mem *c = &pipe->log[i];

		if (c->kind == WEIR_REMOVED)
			weir_task_put(pipe->sched, c->task);
		else if (c->kind != WEIR_VOID && !c->handled)
			weir_hook(pipe, c->task)->change = 0;
	}
	pipe->nr_log = 0;
	return 0;
}

WEIR_FLAT int weir_pipe_represent(struct weir_pipe weir_mem *pipe)
{
	struct weir_task weir_mem *t;
	int err = 0;

	weir_assert_locked(pipe);
	weir_pipe_consume(pipe);
	if (pipe->rebuild & WEIR_REBUILD_ALL && weir_carried(pipe) & WEIR_CARRIED)
		err = weir_recall_all(pipe);
	pipe->rebuild = 0;
	weir_for_task(t, pipe) {
		/* A pipe whose lock a preempted CPU holds must not delay the others. */
		if (weir_task_withdraw(pipe->sched, t, pipe->slot + 1))
			err = -WEIR_EAGAIN;
		else
			log_change(pipe, t, WEIR_ADDED);
	}
	if (err)
		pipe->rebuild = 1;
	return err;
}

/* If it were called again here, a receiver that always fails would never end. */
WEIR_GLOBAL int weir_pipe_rebuild(struct weir_pipe weir_mem *pipe weir_arg)
{
	u32 was_pending = pipe->pending;
	int err;

	pipe->pending = weir_ctx(pipe->sched)->cpu + 1;
	err = weir_pipe_represent(pipe);
	pipe->pending = was_pending;
	return err;
}

/* --- members --------------------------------------------------------------------------------- */

/* The lock is held and @t is linked: make it a member. */
WEIR_FLAT static void joined(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	weir_join(pipe, t);
	if (weir_hook(pipe, t)->change || pipe->change_kinds & WEIR_ADDED)
		log_change(pipe, t, WEIR_ADDED);
	/* The path ends here, or continues only when a CPU asks: wake one. */
	if (pipe->postponed || !pipe->change_kinds)
		weir_kick_later(pipe, t);
}

/* --- locks and inboxes -------------------------------------------------------------------------

 * No CPU waits for a pipe's lock without bound, because the CPU that holds it may have stopped (docs/decisions/0034). While the
 * lock is taken,
 *
 * - a task to be added goes into the inbox and counts as a member from then on. The receiver, or the CPU that claims from
 *   the pipe, links the tasks in the inbox;
 * - any other caller gives up and sets `wanted`.
 *
 * Each writes first and then checks the lock once more; the CPU that releases the lock checks both words afterwards. Both sides have
 * a full barrier in between, so one of them sees the other and kicks a sleeping CPU behind the pipe.
 */

/* Take all tasks from the inbox, the latest first. */
WEIR_FLAT static struct weir_task weir_mem *inbox_take(struct weir_pipe weir_mem *pipe)
{
	u64 at = weir_load(&pipe->inbox), seen;

	while (at && weir_loop) {
		seen = weir_cas(&pipe->inbox, at, 0);
		if (seen == at)
			break;
		at = seen;
	}
	return (struct weir_task weir_mem *)at;
}

WEIR_FLAT static void inbox_put(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	weir_stack_push(&pipe->inbox, weir_hook(pipe, t)->next, (u64)t);
}

/* Reverse a list of the inbox. */
WEIR_FLAT static struct weir_task weir_mem *inbox_reverse(const struct weir_pipe weir_mem *pipe,
							  struct weir_task weir_mem *t)
{
	struct weir_task weir_mem *first = 0;

	while (t && weir_loop) {
		struct weir_task weir_mem *next = weir_hook(pipe, t)->next;

		weir_hook(pipe, t)->next = first;
		first = t;
		t = next;
	}
	return first;
}

/* The lock is held: link the tasks that arrived while it was taken, in order of arrival. */
WEIR_GLOBAL int weir_inbox_open(struct weir_pipe weir_mem *pipe weir_arg)
{
	struct weir_task weir_mem *first = inbox_reverse(pipe, inbox_take(pipe)), *t;

	weir_assert_locked(pipe);
	while (first && weir_loop) {
		t = first;
		first = weir_hook(pipe, t)->next;
		if (pipe->keyed)
			weir_keyed_insert(pipe, t, weir_hook(pipe, t)->key);
		else
			weir_list_link(pipe, t, pipe->tail);
		joined(pipe, t);
	}
	return 0;
}

/* The lock is held: @t, which is in the inbox, leaves the pipe. O(tasks in the inbox). */
WEIR_GLOBAL int weir_inbox_drop(struct weir_pipe weir_mem *pipe weir_arg,
				struct weir_task weir_mem *t weir_arg)
{
	struct weir_task weir_mem *at = inbox_reverse(pipe, inbox_take(pipe));

	weir_assert_locked(pipe);
	while (at && weir_loop) {
		struct weir_task weir_mem *next = weir_hook(pipe, at)->next;

		if (at != t)
			inbox_put(pipe, at);
		at = next;
	}
	weir_hook(pipe, t)->next = 0;
	weir_hook(pipe, t)->prev = 0;
	weir_depart(pipe, t);
	return 0;
}

/* The wait was given up: set `wanted`, then try once more. */
static int leave_word(struct weir_pipe weir_mem *pipe)
{
	weir_store(&pipe->wanted, 1);
	weir_barrier(pipe->sched);
	return weir_try_lock(&pipe->lock) ? 0 : -WEIR_EAGAIN;
}

/* Another CPU has the lock: wait a bounded time for it, and count the wait. */
WEIR_FLAT static int wait_for_lock(struct weir_pipe weir_mem *pipe)
{
	u64 began = weir_port_clock(), ns;
	int err = weir_lock_word(pipe->sched, &pipe->lock);

	if (err)
		err = leave_word(pipe);
	if (!began)
		return err;
	ns = weir_port_clock() - began;
	weir_fetch_add(&pipe->lock_wait_ns, ns);
	weir_fetch_add(&pipe->nr_lock_waits, 1);
	if (err)
		weir_fetch_add(&pipe->nr_lock_given_up, 1);
	if (ns > weir_load(&pipe->longest_lock_wait_ns))
		weir_store(&pipe->longest_lock_wait_ns, ns);
	return err;
}

WEIR_GLOBAL int weir_pipe_lock(struct weir_pipe weir_mem *pipe weir_arg)
{
	struct weir_sched weir_mem *s = pipe->sched;

	weir_valid(s, pipe);
	weir_note_locked(pipe);
	if (!s->exclusive && !weir_lock_at_once(&pipe->lock) && wait_for_lock(pipe)) {
		weir_note_unlocked(pipe);
		return -WEIR_EAGAIN;
	}
	weir_op(s, WEIR_OP_LOCK, pipe->idx, 0);
	return 0;
}

int weir_pipe_pass_by(struct weir_pipe weir_mem *pipe)
{
	if (!weir_solo(pipe->sched) || weir_pipe_nr(pipe))
		return 0;
	weir_op(pipe->sched, WEIR_OP_LOCK, pipe->idx, 0);
	weir_op(pipe->sched, WEIR_OP_UNLOCK, pipe->idx, 0);
	return 1;
}

WEIR_FLAT void weir_pipe_unlock(struct weir_pipe weir_mem *pipe)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 wanted;

	weir_op(s, WEIR_OP_UNLOCK, pipe->idx, 0);
	weir_note_unlocked(pipe);
	if (s->exclusive)
		return;
	if (!WEIR_IMPATIENT && !s->patience) {
		weir_spin_unlock(&pipe->lock);
		return;
	}
	wanted = weir_load(&pipe->wanted);
	if (wanted)
		weir_store(&pipe->wanted, 0);
	weir_unlock_fenced(&pipe->lock);
	wanted |= weir_load(&pipe->wanted);
	/* A CPU that looked in vain also takes tasks from the inbox, and wakes other CPUs for the rest. */
	if (wanted || weir_load(&pipe->inbox))
		weir_pipe_news(pipe,
			       wanted ? 0 : (struct weir_task weir_mem *)weir_load(&pipe->inbox));
}

/*
 * The lock of @pipe could not be taken: @t, which is in no pipe of this depth, joins through the inbox: last in a list, by
 * @key in a keyed pipe. -WEIR_EAGAIN: it is in a pipe of this depth.
 */
WEIR_FLAT int weir_post(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key)
{
	struct weir_cpu weir_mem *cpu = &pipe->sched->cpus[weir_ctx(pipe->sched)->cpu];
	struct weir_hook weir_mem *h = weir_hook(pipe, t);

	if (weir_load(&h->pipe))
		return -WEIR_EAGAIN;
	weir_store(&cpu->nr_inboxed, cpu->nr_inboxed + 1);
	h->key = key;
	h->prev = t;
	if (pipe->keyed)
		weir_store(&t->key, key);
	if (weir_carried(pipe))
		weir_store(&t->landing, pipe->idx + 1);
	weir_store_release(&h->pipe, pipe);
	inbox_put(pipe, t);
	/* Still taken: the holder checks when it releases the lock. */
	if (!weir_load(&pipe->lock))
		weir_pipe_news(pipe, t);
	return 0;
}

/* Remove a member that was reported to the receiver, or is about to be. */
WEIR_COLD void weir_log_removed(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	log_change(pipe, t, WEIR_REMOVED);
}

/*
 * 1: already a member; 0: free to join; negative: in another pipe of this depth, which no component may do. A task that was in
 * the inbox joins like any other.
 */
WEIR_FLAT static int membership(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *holder = weir_load(&weir_hook(pipe, t)->pipe);

	weir_assert_locked(pipe);
	weir_valid(pipe->sched, t);
	if (!holder)
		return 0;
	if (holder == pipe && weir_is_boxed(pipe, t)) {
		weir_inbox_drop(pipe, t);
		return 0;
	}
	return holder == pipe ? 1 : -WEIR_EEXIST;
}

/* List pipes: add behind @after or, if @move, put a member there. The lock is held. */
WEIR_FLAT static int place(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
			   struct weir_task weir_mem *after, int move)
{
	int member = membership(pipe, t);

	weir_assert_locked(pipe);
	if (member < 0 || pipe->keyed)
		return member < 0 ? member : -WEIR_EINVAL;
	if (member && !move)
		return -WEIR_EEXIST;
	if (after && !weir_pipe_linked(pipe, after))
		return -WEIR_ENOENT;
	if (!member) {
		weir_list_link(pipe, t, after);
		weir_op(pipe->sched, WEIR_OP_ADD, pipe->idx, 0);
		joined(pipe, t);
	} else if (weir_hook(pipe, t)->prev != after) {
		weir_list_unlink(pipe, t);
		weir_list_link(pipe, t, after);
		weir_op(pipe->sched, WEIR_OP_MOVE, pipe->idx, 0);
		log_change(pipe, t, WEIR_MOVED);
	}
	return 0;
}

WEIR_GLOBAL int weir_pipe_append(struct weir_pipe weir_mem *pipe weir_arg,
				 struct weir_task weir_mem *t weir_arg)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return weir_post(pipe, t, 0);
	err = place(pipe, t, pipe->tail, 0);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_GLOBAL int weir_pipe_append_locked(struct weir_pipe weir_mem *pipe weir_arg,
					struct weir_task weir_mem *t weir_arg)
{
	return place(pipe, t, pipe->tail, 0);
}

WEIR_GLOBAL int weir_pipe_take(struct weir_pipe weir_mem *pipe weir_arg,
			       struct weir_task weir_mem *t weir_arg)
{
	weir_unlink(pipe, t);
	return 0;
}

WEIR_GLOBAL int weir_pipe_prepend(struct weir_pipe weir_mem *pipe weir_arg,
				  struct weir_task weir_mem *t weir_arg)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return weir_post(pipe, t, 0);
	err = place(pipe, t, 0, 1);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_GLOBAL int weir_pipe_insert_after(struct weir_pipe weir_mem *pipe weir_arg,
				       struct weir_task weir_mem *t weir_arg,
				       struct weir_task weir_mem *after weir_arg)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return weir_post(pipe, t, 0);
	err = after == t ? -WEIR_EINVAL : place(pipe, t, after, 1);
	weir_pipe_unlock(pipe);
	return err;
}

/* The nearest task before @t in @in that is in @pipe and has no pending change, or null. */
static struct weir_task weir_mem *settled_before(const struct weir_pipe weir_mem *pipe,
						 struct weir_task weir_mem *t,
						 const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = weir_pipe_prev(in, t);

	while (at && (weir_hook(in, at)->change || !weir_pipe_linked(pipe, at)) && weir_loop)
		at = weir_pipe_prev(in, at);
	return at;
}

#define NEAR 64u /* steps spent on fairness among in-pipes */

/*
 * The task to put @t behind if @pipe also holds tasks of other in-pipes: as late as the order of its own
 * in-pipe allows, so that it does not overtake earlier tasks from elsewhere.
 */
static struct weir_task weir_mem *behind_others(const struct weir_pipe weir_mem *pipe,
						struct weir_task weir_mem *t,
						const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = weir_pipe_next(in, t);
	u32 n = 0;

	while (at && (weir_hook(in, at)->change || !weir_pipe_linked(pipe, at)) && n < NEAR &&
	       weir_loop) {
		at = weir_pipe_next(in, at);
		n++;
	}
	if (n == NEAR)
		return settled_before(pipe, t, in);
	at = at ? weir_pipe_prev(pipe, at) : pipe->tail;
	return at == t ? weir_pipe_prev(pipe, t) : at;
}

/* Whether no member of a fed @pipe came through @in after @t, if calls do not overlap. (Only for the account of operations.) */
static int is_newest(const struct weir_pipe weir_mem *pipe, const struct weir_task weir_mem *t,
		     const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = pipe->head;

	if (!WEIR_OPLOG || !pipe->sched->oplog)
		return 0;
	while (at && (weir_before(pipe, at) != in || weir_arrival(at) <= weir_arrival(t)) &&
	       weir_loop)
		at = weir_pipe_next(pipe, at);
	return !at;
}

/* The last member of a fed @pipe with this key that came through @in before @t, if calls do not overlap. */
static struct weir_task weir_mem *equal_before(const struct weir_pipe weir_mem *pipe,
					       const struct weir_task weir_mem *t, u64 key,
					       const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = pipe->root, *last = 0;

	while (at && weir_loop) {
		if (weir_hook(pipe, at)->key <= key) {
			last = at;
			at = weir_hook(pipe, at)->right;
		} else {
			at = weir_hook(pipe, at)->left;
		}
	}
	for (; last && weir_hook(pipe, last)->key == key && weir_loop;
	     last = weir_pipe_prev(pipe, last))
		if (weir_before(pipe, last) == in && weir_arrival(last) < weir_arrival(t))
			return last;
	return 0;
}

WEIR_FLAT static int insert_keyed(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
				  u64 key, struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *after = 0;
	int member = membership(pipe, t);
	/* If calls overlap, carried tasks have no order before they arrive here. */
	int last = !in || (weir_carried(pipe) ? !weir_solo(pipe->sched) || is_newest(pipe, t, in)
					      : in->tail == t);

	if (member < 0 || !pipe->keyed)
		return member < 0 ? member : -WEIR_EINVAL;
	if (member) {
		if (!in && weir_hook(pipe, t)->key == key)
			return 0;
		weir_keyed_remove(pipe, t);
	}
	if (!last && weir_carried(pipe)) {
		after = equal_before(pipe, t, key, in);
	} else if (!last) {
		after = weir_pipe_prev(in, t);
		while (after && weir_loop) {
			if (!weir_hook(in, after)->change && weir_pipe_linked(pipe, after) &&
			    weir_hook(pipe, after)->key == key)
				break;
			after = weir_pipe_prev(in, after);
		}
	}
	if (last)
		weir_keyed_insert(pipe, t, key);
	else if (after)
		weir_keyed_insert_after(pipe, t, key, after);
	else
		weir_keyed_insert_first(pipe, t, key);
	weir_store(&t->key, key);
	if (member)
		log_change(pipe, t, WEIR_MOVED);
	else
		joined(pipe, t);
	return 0;
}

/* --- carried tasks: see carry.c ---------------------------------------------------------------- */

/* @t is linked in carried @in, which is locked, and gets no record there. */
WEIR_FLAT static void link_carried(struct weir_pipe weir_mem *in, struct weir_task weir_mem *t)
{
	struct weir_task weir_mem *after = in->tail;

	if (weir_solo(in->sched) && weir_ctx(in->sched)->chained == in) {
		weir_settle_in(in, t);
		return;
	}
	while (weir_solo(in->sched) && after && weir_arrival(after) > weir_arrival(t) && weir_loop)
		after = weir_pipe_prev(in, after);
	weir_list_link(in, t, after);
	weir_settle_in(in, t);
}

/* It has been linked further on; a pending record is void. */
WEIR_FLAT static void unlink_carried(struct weir_pipe weir_mem *in, struct weir_task weir_mem *t)
{
	struct weir_hook weir_mem *h = weir_hook(in, t);

	if (weir_is_boxed(in, t)) {
		weir_inbox_drop(in, t);
		return;
	}
	if (h->change) {
		in->log[h->change - 1].kind = WEIR_VOID;
		h->change = 0;
	}
	if (!weir_solo(in->sched) || weir_ctx(in->sched)->chained != in)
		weir_list_unlink(in, t);
	weir_store(&in->nr, in->nr - 1);
	weir_depart(in, t);
}

/* In a fed list: behind the tasks that came before @t through @in, as in weir_pipe_mirror(). */
static struct weir_task weir_mem *arrived_before(const struct weir_pipe weir_mem *pipe,
						 const struct weir_task weir_mem *t,
						 const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = pipe->tail, *next = 0;

	if (!weir_solo(pipe->sched))
		return at;
	for (; at && weir_loop; at = weir_pipe_prev(pipe, at)) {
		if (weir_before(pipe, at) != in)
			continue;
		if (weir_arrival(at) < weir_arrival(t))
			break;
		next = at;
	}
	return next ? weir_pipe_prev(pipe, next) : pipe->tail;
}

/*
 * @t does not arrive, but is a member of @in, which is locked: put it into @pipe, or change its key there. If it was linked further on, it
 * may have left meanwhile, and even have returned by another path.
 */
WEIR_GLOBAL int weir_carry_on(struct weir_pipe weir_mem *pipe weir_arg,
			      struct weir_task weir_mem *t weir_arg, u64 key,
			      struct weir_pipe weir_mem *in weir_arg)
{
	struct weir_sched weir_mem *s = pipe->sched;
	int linked, err;

	if (!weir_pipe_holds(pipe, t) && weir_pipe_has(pipe, t)) {
		/* It is already further on, in the same place. */
		weir_op(s, WEIR_OP_LOCK, pipe->idx, 0);
		weir_op(s, WEIR_OP_UNLOCK, pipe->idx, 0);
		return 0;
	}
	linked = weir_pipe_holds(in, t);
	err = weir_pipe_lock(pipe);
	if (err) {
		if (!linked)
			return weir_pipe_holds(pipe, t) ? err : 0;
		err = weir_post(pipe, t, key);
	} else if (weir_pipe_holds(pipe, t)) {
		err = pipe->keyed ? insert_keyed(pipe, t, key, in) : 0;
		weir_pipe_unlock(pipe);
		return err;
	} else {
		/* A CPU has taken a task that is linked nowhere. */
		if (linked)
			err = pipe->keyed ? insert_keyed(pipe, t, key, in)
					  : place(pipe, t, arrived_before(pipe, t, in), 0);
		weir_pipe_unlock(pipe);
	}
	if (!linked || err)
		return err;
	unlink_carried(in, t);
	if (weir_solo(s))
		in->through++;
	else if (weir_carried(in) & WEIR_COUNTED)
		weir_fetch_add(&in->through, 1);
	return 0;
}

/* The task that @ctx's call has brought to a receiver that takes a step. */
WEIR_INLINE int is_arriving(const struct weir_ctx weir_mem *ctx, const struct weir_task weir_mem *t)
{
	return ctx->carrying && ctx->arrival.task == t;
}

/* A receiver that may take steps puts @t into @pipe. */
WEIR_FLAT static int put_carried(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
				 u64 key, struct weir_pipe weir_mem *in)
{
	struct weir_sched weir_mem *s = pipe->sched;
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	int err;

	if (!is_arriving(ctx, t))
		return weir_carry_on(pipe, t, key, in);
	ctx->put = pipe;
	if (!pipe->keyed)
		return weir_land(s, pipe, t);
	err = weir_pipe_lock(pipe);
	if (err)
		return weir_post(pipe, t, key);
	err = insert_keyed(pipe, t, key, 0);
	weir_pipe_unlock(pipe);
	return err;
}

/* --- what receivers call ------------------------------------------------------------------------ */

/*
 * Members without a pending change have the same order in @pipe as in @in. Putting the task behind the nearest
 * such member keeps that true, whatever changes follow.
 */
WEIR_GLOBAL int weir_pipe_mirror(struct weir_pipe weir_mem *pipe weir_arg,
				 struct weir_task weir_mem *t weir_arg,
				 struct weir_pipe weir_mem *in weir_arg)
{
	struct weir_task weir_mem *after;
	int err;

	if (weir_carried(pipe) & WEIR_FED)
		return put_carried(pipe, t, 0, in);
	err = weir_pipe_lock(pipe);
	if (err)
		return weir_post(pipe, t, 0);
	if (in->tail == t && !weir_pipe_linked(pipe, t)) {
		after = pipe->tail;
	} else {
		if (pipe->from && pipe->from->nr_in > 1)
			after = behind_others(pipe, t, in);
		else
			after = settled_before(pipe, t, in);
	}
	err = place(pipe, t, after, 1);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_GLOBAL int weir_pipe_insert(struct weir_pipe weir_mem *pipe weir_arg,
				 struct weir_task weir_mem *t weir_arg, u64 key)
{
	int err;

	if (weir_carried(pipe) & WEIR_FED)
		return put_carried(pipe, t, key, pipe->from->in[0]);
	err = weir_pipe_lock(pipe);
	if (err)
		return weir_post(pipe, t, key);
	err = insert_keyed(pipe, t, key, 0);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_GLOBAL int weir_pipe_insert_stable(struct weir_pipe weir_mem *pipe weir_arg,
					struct weir_task weir_mem *t weir_arg, u64 key,
					struct weir_pipe weir_mem *in weir_arg)
{
	int err;

	if (weir_carried(pipe) & WEIR_FED)
		return put_carried(pipe, t, key, in);
	err = weir_pipe_lock(pipe);
	if (err)
		return weir_post(pipe, t, key);
	err = insert_keyed(pipe, t, key, in);
	weir_pipe_unlock(pipe);
	return err;
}

/*
 * Shallow to deep, one lock at a time. Only the receiver of a shallower pipe that holds the task may put
 * it into a deeper one, under the shallower pipe's lock; once the task has left that pipe, no CPU can add
 * it behind this walk (docs/decisions/0002).
 */
WEIR_FLAT static int withdraw(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u32 slot)
{
	u32 nr = s->graph->nr_slots;

	for (u32 i = slot; i < nr && weir_loop; i++) {
		struct weir_pipe weir_mem *pipe = weir_load_acquire(&t->hooks[i].pipe);
		int err;

		if (!pipe)
			continue;
		err = weir_pipe_lock(pipe);
		if (err)
			return err;
		if (weir_pipe_holds(pipe, t))
			weir_unlink(pipe, t);
		weir_pipe_unlock(pipe);
	}
	return 0;
}

/* The same for the pipe where a carried task is linked; it may be in transit from one to another. */
WEIR_FLAT static int withdraw_carried(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *pipe = weir_landing(s, t);
	int done = 0, err;

	while (pipe && !done && weir_loop) {
		if (weir_solo(s))
			weir_leave(s, pipe, t, 0);
		err = weir_pipe_lock(pipe);
		if (err)
			return err;
		done = weir_pipe_holds(pipe, t);
		if (done)
			weir_unlink(pipe, t);
		weir_pipe_unlock(pipe);
		if (done && !weir_solo(s))
			weir_leave(s, pipe, t, 0);
		pipe = weir_landing(s, t);
	}
	return 0;
}

WEIR_GLOBAL int weir_task_withdraw(struct weir_sched weir_mem *s weir_arg,
				   struct weir_task weir_mem *t weir_arg, u32 slot)
{
	int err = 0;

	if (WEIR_CARRY && !slot && weir_load(&t->landing))
		err = withdraw_carried(s, t);
	if (!err)
		err = withdraw(s, t, slot);
	/* No CPU can take it meanwhile: its state does not allow that. Its owner continues later. */
	if (!slot && (err || weir_load(&t->torn)))
		weir_store(&t->torn, err != 0);
	return err;
}

WEIR_GLOBAL int weir_pipe_remove(struct weir_pipe weir_mem *pipe weir_arg,
				 struct weir_task weir_mem *t weir_arg)
{
	int err;

	if (!(weir_carried(pipe) & WEIR_FED))
		return weir_pipe_holds(pipe, t) ? withdraw(pipe->sched, t, pipe->slot) : 0;
	/* A task that has just arrived at the receiver is linked nowhere yet. */
	if (is_arriving(weir_ctx(pipe->sched), t) || !weir_pipe_has(pipe, t))
		return 0;
	err = weir_recall(pipe->from->in[0], t, pipe->slot);
	return err < 0 ? err : 0;
}

/* --- carried tasks again ----------------------------------------------------------------------- */

WEIR_GLOBAL int weir_recall(struct weir_pipe weir_mem *in weir_arg,
			    struct weir_task weir_mem *t weir_arg, u32 slot)
{
	struct weir_sched weir_mem *s = in->sched;
	struct weir_pipe weir_mem *pipe = 0;
	int err, done = 0;

	while (!done && weir_loop) {
		if (weir_pipe_holds(in, t))
			return 1;
		pipe = weir_landing(s, t);
		if (!pipe || !weir_passed(in, t))
			return 0;
		if (weir_solo(s))
			weir_leave(s, pipe, t, slot);
		err = weir_pipe_lock(pipe);
		if (err)
			return err;
		/* Once more: it may have returned by another path. */
		done = weir_pipe_holds(pipe, t) && weir_passed(in, t);
		if (done) {
			link_carried(in, t);
			weir_unlink(pipe, t);
			if (weir_solo(s))
				in->through--;
			else
				weir_leave(s, pipe, t, in->slot);
		}
		weir_pipe_unlock(pipe);
	}
	err = withdraw(s, t, pipe->slot + 1);
	return err ? err : 1;
}

WEIR_GLOBAL int weir_keep(struct weir_sched weir_mem *s weir_arg,
			  struct weir_pipe weir_mem *pipe weir_arg, u32 pending)
{
	struct weir_task weir_mem *t = weir_ctx(s)->arrival.task;

	if (weir_solo(s)) {
		pipe->through--;
	} else if (weir_carried(pipe) & WEIR_COUNTED) {
		weir_fetch_add(&pipe->through, (u32)-1);
	}
	if (!(weir_carried(pipe) & WEIR_ALONE) && !weir_solo(s) && weir_pipe_lock(pipe))
		return weir_post(pipe, t, 0);
	link_carried(pipe, t);
	if (!weir_solo(s))
		weir_store(&pipe->nr_added, pipe->nr_added + 1);
	if (pending)
		log_change(pipe, t, WEIR_ADDED);
	if (!(weir_carried(pipe) & WEIR_ALONE) && !weir_solo(s))
		weir_pipe_unlock(pipe);
	return 0;
}

WEIR_GLOBAL int weir_present_again(struct weir_pipe weir_mem *entry weir_arg,
				   struct weir_task weir_mem *t weir_arg)
{
	int err = weir_pipe_lock(entry);

	if (err) {
		weir_store(&entry->rebuild, 1 | WEIR_REBUILD_ALL);
		weir_store(&entry->news, 1);
		return err;
	}
	if (weir_recall(entry, t, entry->slot + 1) == 1)
		log_change(entry, t, WEIR_ADDED);
	weir_pipe_unlock(entry);
	return 0;
}
