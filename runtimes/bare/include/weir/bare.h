/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Between kernel and programs: system calls, capabilities, and the dispatcher's control block. docs/bare.md explains them. Also read by
 * the assembler. Source: 1, 1.4 and 1.5.
 */
#ifndef WEIR_BARE_H
#define WEIR_BARE_H

/* Number in a7. All three clobber the registers that a call clobbers. */
#define SYS_YIELD \
	0 /* a0: slot of an endpoint whose dispatcher is to run next, 0: as the policy says */
#define SYS_INVOKE \
	1 /* a0: slot, a1: command, a2 to a5: its arguments; a0: result, a1 to a3: more of it */
#define SYS_LMP 2 /* a0: slot of an endpoint, a1 to a4: words, a5: flags; a0: result */

/* Flags of SYS_LMP. */
#define LMP_FINAL     1 /* an answer; the sender does not return here: its next entry is an upcall */
#define LMP_HANDOVER  2 /* the receiver runs on its own account, if the policy allows that */
#define LMP_ANSWER    4 /* the receiver runs at once on its own time only, and never on the sender's */
#define LMP_CAP_SHIFT 8 /* from this bit on: slot of a capability to transfer, 0: none */

#define CAP_NULL       0
#define CAP_RAM	       1 /* raw memory */
#define CAP_FRAME      2 /* memory that can be mapped */
#define CAP_DISPATCHER 3
#define CAP_ENDPOINT   4 /* of a dispatcher on this core */
#define CAP_NOTIFY     5 /* of a dispatcher on any core */
#define CAP_IRQ	       6
#define CAP_KERNEL     7 /* the monitor's */
#define CAP_DEAD       8 /* was of a dispatcher that has ended; keeps its slot until that is deleted */

#define RIGHT_READ  1
#define RIGHT_WRITE 2
#define RIGHT_GRANT 4 /* may be copied and sent */
#define RIGHT_ALL   7

/* Slots that are initially filled. */
#define SLOT_SELF    1
#define SLOT_MONITOR 2
#define SLOT_RAM     3
#define SLOT_DEVICE  4 /* of drivers: the device's registers */
#define SLOT_IRQ     5
#define SLOT_KERNEL  4 /* of monitors */
#define SLOT_FREE    6
/* Of monitors: the endpoint of local dispatcher n is here + n. */
#define SLOT_CLIENTS 64
#define NR_SLOTS     128

/* Commands of all capabilities. */
#define CMD_IDENTIFY 0 /* a0: type, a1: base or object, a2: bytes or badge, a3: rights */
#define CMD_COPY     1 /* to slot a2, with the rights in a3 */
#define CMD_DELETE   2
#define CMD_REVOKE   3 /* delete all copies and descendants; a1: how many */
/* RAM */
#define CMD_RETYPE 10 /* into type a2, of a3 bytes at offset a4, to slot a5 */
/* FRAME */
#define CMD_MAP	  8
#define CMD_UNMAP 9
/* DISPATCHER */
#define CMD_SET	     8	/* topic a2: value a3, value2 a4 */
#define CMD_TIMER    9	/* notify bit 63 at time a2, ns; 0: none */
#define CMD_EXIT     10 /* with the number a2 */
#define CMD_ENDPOINT 11 /* mint an endpoint of this dispatcher with badge a3 to slot a2 */
#define CMD_NOTIFY   12 /* mint a notification of this dispatcher, bit a3, to slot a2 */
#define CMD_MARK     13 /* number a2, value a3 into the trace */
/* NOTIFY */
#define CMD_POKE 8
/* IRQ */
#define CMD_BIND 8 /* messages go to the endpoint in slot a2 */
#define CMD_ACK	 9
/* KERNEL */
#define CMD_CREATE 32 /* a dispatcher of domain a2, entered at a3 with a4; a1: its number */
#define CMD_KILL   33 /* dispatcher a2 */
#define CMD_GRANT \
	34 /* a copy of the capability in slot a2 to dispatcher a3, an endpoint with badge a4; a1: its slot there */
#define CMD_FORGE \
	35 /* type a2, object a3, bytes or badge a4, rights a5, to a free slot; a1: the slot */
#define CMD_PUBLISH 36 /* topic a2 about dispatcher a3 (~0: none): a4, a5 */
#define CMD_OVERLAP \
	37 /* a1: capabilities of other types in the memory from a2 of a3 bytes; a4 & 1: they are deleted, 2: so are those of raw memory */
#define CMD_FIND   38 /* the capability in slot a3 of dispatcher a2: as CMD_IDENTIFY */
#define CMD_REMOTE 39 /* from now on other cores know the memory from a2 of a3 bytes */

/* Results. */
#define MK_OK	    0
#define MK_EINVAL   -1 /* no such command, argument or slot */
#define MK_ECAP	    -2 /* the slot holds no capability of that kind */
#define MK_ERIGHT   -3 /* it lacks the right */
#define MK_EBUSY    -4 /* the receiver's buffer is full; the slot is taken */
#define MK_EUSED    -5 /* the memory has been retyped before */
#define MK_EROOM    -6 /* no slot, region or dispatcher is free */
#define MK_EDEAD    -7 /* the dispatcher has ended */
#define MK_EREMOTE  -8 /* other cores know it: the monitors must agree */
#define MK_EUNKNOWN -9
#define MK_EREFUSED -10

/* Control block, offsets in bytes. Save areas hold the pc, then x1 to x31. */
#define D_DISABLED	 0
#define D_HASWORK	 8
#define D_CRIT_LOW	 16
#define D_CRIT_HIGH	 24
#define D_RUN		 32
#define D_FAULT		 40
#define D_FAULT_DISABLED 48
#define D_TRAP		 56
#define D_LMP		 64
#define D_STACK		 72
#define D_DEALLOCATIONS	 80
#define D_BASE		 88
#define D_START		 96
#define D_NOTIFIED	 104
#define D_LMP_HEAD	 112
#define D_LMP_TAIL	 120
#define D_ENABLED	 128
#define D_SAVED		 384
#define D_TRAPPED	 640
#define D_REST		 896
#define D_FP		 992
#define D_LIBRARY	 1664 /* the library's own */
#define D_HEAP		 8192
#define D_STACK_BYTES	 8192 /* at the end */

#define LMP_BUFFERS 16

/* First word of the message that a monitor gets, through the endpoint of the dispatcher that has ended. */
#define LMP_GONE 255

#ifndef __ASSEMBLER__

#include <weir/port.h>

struct mk_lmp {
	u64 badge; /* bits 48 on: slot of a transferred capability */
	u64 word[4];
};

/* At the start of the dispatcher's own memory. The kernel trusts nothing in it. */
struct mk_dcb {
	volatile u64 disabled; /* no upcall except for faults */
	volatile u64 haswork;
	u64 crit_low, crit_high;
	/* Entry points. Source: 1, 1.4. */
	u64 run, fault, fault_disabled, trap, lmp;
	u64 stack;
	volatile u64 deallocations;	 /* times that it lost its core */
	volatile u64 base, start;	 /* time, ns: base + instructions counted since start */
	volatile u64 notified;		 /* bits of notifications */
	volatile u64 lmp_head, lmp_tail; /* the kernel's; the dispatcher's */
	u64 enabled[32], saved[32], trapped[32];
	/* Set at the start. */
	u64 number; /* on its core */
	u64 core, nr_cores, domain;
	u64 entry, argument; /* of its first thread */
	u64 argc;
	u64 arguments; /* argc strings, one after the other */
	u64 heap, heap_end;
	volatile u64 fault_address, fault_cause;
	volatile u64
		fp; /* the kernel's: 1 once the dispatcher has used a floating-point register */
	struct mk_lmp buffer[LMP_BUFFERS];
	volatile u64 hart; /* where it runs: with one scheduler for all harts not always its core */
};

_Static_assert(__builtin_offsetof(struct mk_dcb, run) == D_RUN &&
		       __builtin_offsetof(struct mk_dcb, lmp) == D_LMP,
	       "layout");
_Static_assert(__builtin_offsetof(struct mk_dcb, base) == D_BASE &&
		       __builtin_offsetof(struct mk_dcb, lmp_tail) == D_LMP_TAIL,
	       "layout");
_Static_assert(__builtin_offsetof(struct mk_dcb, enabled) == D_ENABLED &&
		       __builtin_offsetof(struct mk_dcb, saved) == D_SAVED,
	       "layout");
_Static_assert(__builtin_offsetof(struct mk_dcb, fp) == D_FP, "layout");
_Static_assert(__builtin_offsetof(struct mk_dcb, number) == D_REST &&
		       sizeof(struct mk_dcb) <= D_LIBRARY,
	       "layout");

#endif
#endif
