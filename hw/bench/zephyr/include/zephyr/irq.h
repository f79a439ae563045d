/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <zephyr/kernel.h>
void irq_enable(unsigned line);
void irq_disable(unsigned line);
void stub_connect(unsigned line, unsigned priority, void (*handler)(const void *),
		  const void *argument);
#define IRQ_CONNECT(line, priority, handler, argument, flags) \
	stub_connect(line, priority, handler, argument)
