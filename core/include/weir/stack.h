/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Stacks onto which any CPU pushes without waiting for another; each user has its own rule for popping. */
#ifndef WEIR_STACK_H
#define WEIR_STACK_H

#include <weir/port.h>

/*
 * @item, a number or an address, becomes the first of those behind the word at @head; @link is the word of the item that holds
 * what follows it.
 */
#define weir_stack_push(head, link, item)                      \
	do {                                                   \
		u64 first_ = weir_load(head), found_;          \
		while (weir_loop) {                            \
			(link) = (__typeof__(link))first_;     \
			found_ = weir_cas(head, first_, item); \
			if (found_ == first_)                  \
				break;                         \
			first_ = found_;                       \
		}                                              \
	} while (0)

#endif
