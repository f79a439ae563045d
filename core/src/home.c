/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Locks and inboxes of homes, and of pipes that have none.
 *
 * Lock, inbox and the mark of a CPU that looked in vain are one word, and unlocking is an exchange that fails if anything was left in it: so
 * no home is free with something in its inbox, and a change that was posted is seen by whoever has the lock, or by its poster, who is then
 * that. A CPU may stop anywhere: the others go on, and what it holds is at most its own task, one home, and what waits there.
 */
#include "internal.h"

/* The lock of @h is taken if it is free. 1: it is the caller's. */
static int try_home(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h)
{
	u64 w = weir_load(&h->word);

	if (w & ~WEIR_RECORDED || weir_cas(&h->word, w, w | WEIR_LOCKED) != w)
		return 0;
	weir_op(s, WEIR_OP_LOCK, h->idx, 0);
	return 1;
}

/* Another CPU has the lock, or it is recorded: wait a bounded time for it, and count the wait. */
WEIR_GLOBAL WEIR_RARE int weir_wait_for(struct weir_pipe weir_mem *h weir_arg)
{
	struct weir_sched weir_mem *s = h->sched;
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	u64 began, ns;
	int err = -WEIR_EAGAIN;

	weir_valid(s, h);
	if (weir_port_gives_up())
		return err;
	if (try_home(s, h))
		return 0;
	began = weir_port_clock();
	while (err && weir_wait(ctx->waited, s->patience) && weir_loop)
		if (try_home(s, h))
			err = 0;
	if (!began)
		return err;
	ns = weir_port_clock() - began;
	weir_fetch_add(&h->lock_wait_ns, ns);
	weir_fetch_add(&h->nr_lock_waits, 1);
	if (err)
		weir_fetch_add(&h->nr_lock_given_up, 1);
	if (ns > weir_load(&h->longest_lock_wait_ns))
		weir_store(&h->longest_lock_wait_ns, ns);
	return err;
}

/* Reverse the list of tasks that begins with number @id - 1: the oldest first. */
static u32 reversed(struct weir_sched weir_mem *s, u32 id)
{
	u32 first = 0;

	while (id && weir_loop) {
		struct weir_task weir_mem *t = weir_record(s, id - 1);
		u32 next = weir_load(&t->in_next);

		weir_store(&t->in_next, first);
		first = id;
		id = next;
	}
	return first;
}

/* Tasks of @h are to start over: they come into this CPU's hand. */
static void anew(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h)
{
	struct weir_pipe weir_mem *p = h;
	struct weir_task weir_mem *t;

	while (p && weir_loop) {
		weir_for_task(t, p)
			weir_note(s, t, WEIR_AFRESH);
		p = p->next_in_home ? &s->graph->pipes[p->next_in_home - 1] : 0;
	}
}

/* The tasks of an inbox, the latest first, come into this CPU's hand. @h: its home. */
static void take_over(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h, u32 id)
{
	id = reversed(s, id);
	while (id && weir_loop) {
		struct weir_task weir_mem *t = weir_record(s, id - 1);

		id = weir_load(&t->in_next);
		/* The shared stages are behind it. */
		if (weir_load(&t->pend) & WEIR_HERE && !weir_load(&t->home))
			weir_send_onward(t, h->home ? h->border : h);
		weir_own(s, weir_ctx(s), t);
	}
}

/* Unlock @h, into whose inbox something may have come. */
WEIR_GLOBAL WEIR_RARE int weir_let_go(struct weir_sched weir_mem *s weir_arg,
				      struct weir_pipe weir_mem *h weir_arg)
{
	while (weir_loop) {
		u64 w = weir_load(&h->word), seen;

		if (!(w & ~(WEIR_LOCKED | WEIR_RECORDED))) {
			if (w & WEIR_RECORDED)
				weir_op(s, WEIR_OP_UNLOCK, h->idx, 0);
			if (weir_cas(&h->word, w, w & ~WEIR_LOCKED) == w)
				break;
			continue;
		}
		seen = weir_cas(&h->word, w, w & (WEIR_LOCKED | WEIR_RECORDED));
		if (seen != w)
			continue;
		take_over(s, h, (u32)(w >> 32));
		if (w & WEIR_ANEW)
			anew(s, h);
		if (w & WEIR_WANT && h->nr)
			weir_kick_all(h);
	}
	return 0;
}

/* Leave something in the word of @h: @bit, and @t in the inbox if that is not null. */
WEIR_INLINE void leave(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h,
		       struct weir_task weir_mem *t, u64 bit)
{
	u64 w = weir_load(&h->word), seen, to;

	while (weir_loop) {
		to = w | WEIR_LOCKED | bit;
		if (t) {
			weir_store(&t->in_next, (u32)(w >> 32));
			to = (to & WEIR_BITS) | ((u64)t->id + 1) << 32;
		}
		seen = weir_cas(&h->word, w, to);
		if (seen == w)
			break;
		w = seen;
	}
	if (w & WEIR_LOCKED)
		return;
	weir_note_locked(s, h);
	if (w & WEIR_RECORDED)
		weir_op(s, WEIR_OP_LOCK, h->idx, 0);
	weir_home_unlock(s, h);
}

/* Note @bits in the task's word. 1: the caller has the token now. */
WEIR_INLINE int take_token(struct weir_task weir_mem *t, u32 bits, int mine)
{
	u32 old = weir_load(&t->pend), seen;

	while (weir_loop) {
		u32 all = old | WEIR_TOKEN | bits;

		/* Another one has it in work: the shared stages are behind it there only by chance. */
		if (old & WEIR_TOKEN && !mine && bits & WEIR_HERE)
			all = (all & ~(u32)WEIR_HERE) | WEIR_HAND;
		seen = weir_cas(&t->pend, old, all);
		if (seen == old)
			break;
		old = seen;
	}
	return !(old & WEIR_TOKEN);
}

WEIR_GLOBAL WEIR_RARE int weir_post(struct weir_pipe weir_mem *h weir_arg,
				    struct weir_task weir_mem *t weir_arg, u32 bits, int mine)
{
	struct weir_sched weir_mem *s = h->sched;
	struct weir_cpu weir_mem *cpu = &s->cpus[weir_ctx(s)->cpu];

	weir_op(s, WEIR_OP_POST, h->idx, 0);
	weir_store(&cpu->nr_inboxed, cpu->nr_inboxed + 1);
	if (take_token(t, bits, mine) || mine)
		leave(s, h, t, 0);
	return 0;
}

WEIR_FLAT int weir_ask_home(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h, u64 bit)
{
	leave(s, h, 0, bit);
	return 0;
}

WEIR_GLOBAL WEIR_RARE int weir_note(struct weir_sched weir_mem *s weir_arg,
				    struct weir_task weir_mem *t weir_arg, u32 bits)
{
	if (take_token(t, bits, 0))
		weir_own(s, weir_ctx(s), t);
	return 0;
}

/* --- postponed pipes: inboxes that a CPU empties when it asks ------------------------------------------- */

/* @t, which is in the caller's hand with its token, waits in postponed @p. */
WEIR_GLOBAL int weir_put_off(struct weir_sched weir_mem *s weir_arg,
			     struct weir_pipe weir_mem *p weir_arg,
			     struct weir_task weir_mem *t weir_arg, int wake)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	u64 w = weir_load(&p->word), seen;

	weir_op(s, WEIR_OP_LINK, p->idx, t->id << 8);
	weir_fetch_add(&p->behind, 1);
	if (!ctx->keeps)
		t->seq = ++ctx->stamp;
	/* @wake is 0 if its receiver, which may have changed them, has withheld it. */
	if (p->keyed && wake) {
		weir_store(&t->key, ctx->step.key);
		t->tie = ctx->step.tie;
		t->gate = ctx->step.gate;
	}
	t->least = p->idx;
	while (weir_loop) {
		weir_store(&t->in_next, (u32)(w >> 32));
		seen = weir_cas(&p->word, w, ((u64)t->id + 1) << 32);
		if (seen == w)
			break;
		w = seen;
	}
	if (wake)
		weir_kick(p, t);
	return 0;
}

WEIR_GLOBAL u32 weir_take_posted(struct weir_pipe weir_mem *p weir_arg)
{
	u64 w = weir_load(&p->word), seen;

	while (w && weir_loop) {
		seen = weir_cas(&p->word, w, 0);
		if (seen == w)
			break;
		w = seen;
	}
	return reversed(p->sched, (u32)(w >> 32));
}

WEIR_FLAT int weir_recall_from(struct weir_pipe weir_mem *p, int onward)
{
	struct weir_sched weir_mem *s = p->sched;
	u32 id = p->postponed && weir_load(&p->word) ? weir_take_posted(p) : 0;

	while (id && weir_loop) {
		struct weir_task weir_mem *t = weir_record(s, id - 1);

		id = weir_load(&t->in_next);
		weir_fetch_add(&p->behind, (u32)-1);
		if (onward)
			weir_send_onward(t, p);
		weir_own(s, weir_ctx(s), t);
	}
	return 0;
}

WEIR_GLOBAL int weir_recall_posted(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_graph weir_mem *g = s->graph;

	for (u32 i = 0; i < g->nr_pipes && weir_loop; i++)
		weir_recall_from(&g->pipes[i], 0);
	return 0;
}

/* --- for components ---------------------------------------------------------------------------------------- */

WEIR_GLOBAL int weir_pipe_lock(struct weir_pipe weir_mem *pipe weir_arg)
{
	struct weir_pipe weir_mem *h = weir_holder(pipe);

	/* An inbox and nothing else: no task is linked there, and what waits in it would never let this CPU in. */
	return h->postponed && !h->home ? -WEIR_EAGAIN : weir_home_lock(pipe->sched, h);
}

WEIR_FLAT int weir_pipe_unlock(struct weir_pipe weir_mem *pipe)
{
	weir_home_unlock(pipe->sched, weir_holder(pipe));
	return 0;
}

WEIR_GLOBAL int weir_steps_lock(struct weir_instance weir_mem *self weir_arg)
{
	if (self->home)
		return weir_home_lock(self->sched, self->home);
	return weir_lock_word(self->sched, &self->step_lock);
}

WEIR_FLAT int weir_steps_unlock(struct weir_instance weir_mem *self)
{
	if (self->home)
		weir_home_unlock(self->sched, self->home);
	else
		weir_spin_unlock(&self->step_lock);
	return 0;
}
