/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Offsets in the kernel's records, for the assembler; kernel.h asserts them. */
#ifndef BARE_LAYOUT_H
#define BARE_LAYOUT_H

#define MAX_HARTS	16
#define MAX_DISPATCHERS 32
#define STACK_SHIFT	14

#define H_SCHED_CPU   0
#define H_CPU	      4
#define H_CURRENT     8
#define H_STACK	      16
#define H_SCRATCH     24 /* t1, t2, t3 */
#define H_BASE	      56
#define H_START	      64
#define H_LMP	      72 /* messages on the fast path */
#define H_LENT	      80 /* dispatchers that left while running on another's time, a bit each */
#define H_CHARGED     88
#define H_BYTES_SHIFT 12

#define K_BLOCK	     0
#define K_STATE	     8
#define K_NR_REGIONS 12
#define K_CONFIG     16 /* two words */
#define K_REGION     32 /* 16 words */
#define K_BIT	     168
#define K_CAPS	     176

#define FS_ON 0x6000 /* mstatus: floating-point registers may be used */

#define C_TYPE	 0
#define C_RIGHTS 4
#define C_OBJECT 8
#define C_BADGE	 24
#define C_SHIFT	 6

#define STATE_ENABLED  0 /* not running: the next entry is an upcall */
#define STATE_RUNNING  1
#define STATE_DISABLED 2 /* not running: it resumes where it was */

#endif
