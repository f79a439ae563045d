/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Asking the responder of a topic about a task, which every step does: where the answer is a word of the data of the task, it is read. (The end of schedule.h.) */
#ifndef WEIR_ASK_H
#define WEIR_ASK_H

/* The responder is called, unless the word is known to be the answer. */
u64 weir_property_asked(struct weir_sched weir_mem *s, u32 topic, struct weir_task weir_mem *t);

WEIR_PART u64 weir_property(struct weir_sched weir_mem *s weir_arg, u32 topic,
			    struct weir_task weir_mem *t weir_arg)
{
	const struct weir_subs weir_mem *subs = weir_subs(s, topic);
	u32 at = subs->answer_at;

	/* (Where operations are recorded, they are asked.) */
	if (weir_unlikely(!at))
		return subs->responder ? weir_property_asked(s, topic, t) : 0;
	return weir_load_acquire(
		(u64 weir_mem *)((char weir_mem *)weir_priv(subs->responder, t) + at - 1));
}

/* Nobody need be called for it: the answer is a word of the data of a task, or there is no responder. */
WEIR_INLINE int weir_at_hand(struct weir_sched weir_mem *s, u32 topic)
{
	const struct weir_subs weir_mem *subs = weir_subs(s, topic);

	return subs->answer_at || !subs->responder;
}

#endif
