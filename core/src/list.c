/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The doubly linked list of a pipe's tasks. The pipe's lock is held. */
#include "internal.h"

/* Behind @after, or first if that is null. */
WEIR_FLAT void weir_list_link(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
			      struct weir_task weir_mem *after)
{
	struct weir_hook weir_mem *h = weir_hook(pipe, t);

	weir_assert_locked(pipe);
	h->prev = after;
	h->next = after ? weir_hook(pipe, after)->next : pipe->head;
	if (h->next)
		weir_hook(pipe, h->next)->prev = t;
	else
		pipe->tail = t;
	if (after)
		weir_hook(pipe, after)->next = t;
	else
		pipe->head = t;
}

WEIR_FLAT void weir_list_unlink(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	struct weir_hook weir_mem *h = weir_hook(pipe, t);

	weir_assert_locked(pipe);
	if (h->prev)
		weir_hook(pipe, h->prev)->next = h->next;
	else
		pipe->head = h->next;
	if (h->next)
		weir_hook(pipe, h->next)->prev = h->prev;
	else
		pipe->tail = h->prev;
	h->next = 0;
	h->prev = 0;
}
