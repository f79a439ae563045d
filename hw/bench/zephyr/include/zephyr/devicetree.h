/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* One node: runweir,laxity. */
#define DT_INST(number, compatible) stub_node_##number##_##compatible
#define DT_REG_ADDR(node)	    0x40000000u
#define DT_IRQN(node)		    7u
#define DT_IRQ(node, cell)	    3u
