/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Registers of the simulated system, and what a kernel reports through one of them. */
#ifndef WEIR_SOC_IO_H
#define WEIR_SOC_IO_H
#include "board.h"

#define IO(n)	     (*(volatile u32 *)(0x10000000 + 4 * (n)))
#define IO_CONSOLE   IO(0)
#define IO_EXIT	     IO(1)
#define IO_CLOCK     IO(2)
#define IO_CPU	     IO(3)
#define IO_PROBE     IO(4)
#define IO_COMPARE   IO(5)
#define IO_LOCK	     IO(6)
#define IO_IPI	     IO(7)
#define IO_IPI_DONE  IO(8)
#define IO_LINES     IO(9)
#define IO_LINES_NOW IO(10) /* a store acknowledges edges */
#define IO_EDGES     IO(11)
#define DEVICE(d, n) (*(volatile u32 *)(0x20000000 + 32 * (d) + 4 * (n)))
/* The window of the scheduler in hardware. */
#define SCHEDULER 0x40000000u

/* What the kernel reports to an observer: one store each, in all systems. */
enum {
	P_NEW = 1,
	P_NAME,
	P_READY,
	P_RUN,
	P_BLOCK,
	P_LEAVE,
	P_YIELD,
	P_MARK,
	P_SERVE,
	P_SERVED,
	P_JOB,
	P_DONE
};
#ifdef NO_PROBES
#define probe(kind, value) ((void)(value))
#else
#define probe(kind, value) (IO_PROBE = (u32)(kind) << 24 | (value))
#endif
#endif
