/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Asking the responder of a topic about a task, which every step does: where the answer is a word of the data of the task, it is read. (The end of schedule.h.) */
#ifndef WEIR_ASK_H
#define WEIR_ASK_H

void weir_op_add(struct weir_oplog *log, u32 kind, u32 object, u32 n);

/* An operation of the call, where they are recorded. */
WEIR_INLINE void weir_op(struct weir_sched weir_mem *s, u32 kind, u32 object, u32 n)
{
	if (WEIR_OPLOG && s->oplog)
		weir_op_add(s->log, kind, object, n);
}

/* The responder is called. */
u64 weir_property_asked(struct weir_sched weir_mem *s, u32 topic, struct weir_task weir_mem *t);

WEIR_PART u64 weir_property(struct weir_sched weir_mem *s weir_arg, u32 topic,
			    struct weir_task weir_mem *t weir_arg)
{
	const struct weir_subs weir_mem *subs = weir_subs(s, topic);
	u32 at = subs->answer_at;
	u64 answer;

	if (weir_unlikely(!at))
		return subs->responder ? weir_property_asked(s, topic, t) : 0;
	answer = weir_load_acquire((u64 weir_mem *)((char weir_mem *)weir_priv(subs->responder, t) +
						    (at & ~WEIR_ASK_FURTHER) - 1));
	if (weir_unlikely(at & WEIR_ASK_FURTHER) && answer)
		return weir_property_asked(s, topic, t);
	weir_op(s, WEIR_OP_REQUEST, topic, 0);
	return answer;
}

/* To ask costs nothing: the answer is a word of the data of a task, and no record says that it was asked; or there is no responder. */
WEIR_INLINE int weir_at_hand(struct weir_sched weir_mem *s, u32 topic)
{
	const struct weir_subs weir_mem *subs = weir_subs(s, topic);

	return !subs->responder || (subs->answer_at && !(subs->answer_at & WEIR_ASK_FURTHER) &&
				    !(WEIR_OPLOG && s->log));
}

#endif
