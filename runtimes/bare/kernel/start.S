/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Boot, trap entry and exit, and the short way of a message between two dispatchers of one core.
 *
 * mscratch holds the hart's record. A save area holds the pc at 0 and register n at 8 n. Which of a dispatcher's areas a trap
 * saves to is decided before it saves: a dispatcher that is disabled, or between the two addresses of its critical range, may
 * be reading the area `enabled`.
 */
#include <weir/bare.h>
#include <weir/fp.h>

#include "layout.h"

	.section .init, "ax"
	.globl _start
_start:
	csrw mie, zero
	csrr t0, mhartid
	la sp, kernel_stacks
	addi t1, t0, 1
	slli t1, t1, STACK_SHIFT
	add sp, sp, t1
	la tp, harts
	slli t1, t0, H_BYTES_SHIFT
	add tp, tp, t1
	csrw mscratch, tp
	sw t0, H_CPU(tp)
	sd sp, H_STACK(tp)
	la t1, trap_entry
	csrw mtvec, t1
	mv a0, t0
	call boot
1:	wfi
	j 1b

	.text
	.balign 4
	.globl trap_entry
trap_entry:
	csrrw t0, mscratch, t0
	sd t1, H_SCRATCH(t0)
	sd t2, H_SCRATCH+8(t0)
	csrr t1, mcause
	addi t1, t1, -8			/* a call from user mode */
	bnez t1, slow
	addi t1, a7, -SYS_LMP
	bnez t1, slow
	/* From here on the temporary registers are ours: the call clobbers them. */
	csrr t1, mstatus
	bltz t1, slow			/* the receiver must not see floating-point registers */
	ld t1, H_CURRENT(t0)
	li t2, NR_SLOTS
	bgeu a0, t2, slow
	slli t2, a0, C_SHIFT
	add t2, t2, t1
	lw t3, K_CAPS+C_TYPE(t2)
	addi t3, t3, -CAP_ENDPOINT
	bnez t3, slow
	ld t3, K_CAPS+C_OBJECT(t2)	/* the receiver */
	lw t4, K_STATE(t3)
	bnez t4, slow			/* it runs, or is disabled */
	ld t6, K_CONFIG(t3)
	srli t5, t6, 32
	bnez t5, slow			/* it has more memory mapped than the short way sets up */
	ld t4, K_BLOCK(t3)
	ld t5, D_LMP_HEAD(t4)
	ld t6, D_LMP_TAIL(t4)
	bne t5, t6, slow		/* it has older messages */
	ld t5, K_BLOCK(t1)
	beqz a5, 1f
	addi t6, a5, -LMP_FINAL
	bnez t6, slow
	ld t6, H_CHARGED(t0)
	bne t6, t3, slow		/* an answer: the sender's time is not lent */
	ld t6, D_HASWORK(t5)
	bnez t6, slow			/* it wants to be scheduled again */
	sw zero, K_STATE(t1)
	j 3f
1:	ld t6, D_DISABLED(t5)
	bnez t6, 2f
	sw zero, K_STATE(t1)
	addi t6, t5, D_ENABLED
	j 4f
2:	li t6, STATE_DISABLED
	sw t6, K_STATE(t1)
	addi t6, t5, D_SAVED
4:	csrr t5, mepc
	addi t5, t5, 4
	sd t5, 0(t6)
	sd ra, 8(t6)
	sd sp, 16(t6)
	sd tp, 32(t6)
	sd s0, 64(t6)
	sd s1, 72(t6)
	sd zero, 80(t6)			/* the call's result: sent */
	sd s2, 144(t6)
	sd s3, 152(t6)
	sd s4, 160(t6)
	sd s5, 168(t6)
	sd s6, 176(t6)
	sd s7, 184(t6)
	sd s8, 192(t6)
	sd s9, 200(t6)
	sd s10, 208(t6)
	sd s11, 216(t6)
	ld t5, H_LENT(t0)		/* if it runs on another one's time, it goes on on its own */
	ld t6, K_BIT(t1)
	or t5, t5, t6
	sd t5, H_LENT(t0)
3:	ld t5, K_BLOCK(t1)
	ld t6, D_DEALLOCATIONS(t5)
	addi t6, t6, 1
	sd t6, D_DEALLOCATIONS(t5)
	ld a0, K_CAPS+C_BADGE(t2)
	li t5, STATE_RUNNING
	sw t5, K_STATE(t3)
	sd t3, H_CURRENT(t0)
	sd t5, D_DISABLED(t4)
	sd t5, D_HASWORK(t4)
	ld t5, H_BASE(t0)
	sd t5, D_BASE(t4)
	ld t5, H_START(t0)
	sd t5, D_START(t4)
	ld t5, H_LMP(t0)
	addi t5, t5, 1
	sd t5, H_LMP(t0)
	ld t5, K_CONFIG(t3)
	csrw pmpcfg0, t5
	csrw pmpcfg2, zero
	ld t5, K_REGION(t3)
	csrw pmpaddr0, t5
	ld t5, K_REGION+8(t3)
	csrw pmpaddr1, t5
	ld t5, K_REGION+16(t3)
	csrw pmpaddr2, t5
	ld t5, K_REGION+24(t3)
	csrw pmpaddr3, t5
	ld t5, D_LMP(t4)
	csrw mepc, t5
	mv a5, t4
	csrw mscratch, t0
	mret

	/* Where messages are recorded, all take the long way. */
	.balign 4
	.globl trap_entry_long
trap_entry_long:
	csrrw t0, mscratch, t0
	sd t1, H_SCRATCH(t0)
	sd t2, H_SCRATCH+8(t0)

slow:	/* all registers into the current dispatcher's area */
	csrr t1, mstatus
	srli t1, t1, 11
	andi t1, t1, 3
	bnez t1, broken			/* it came from the kernel */
	sd t3, H_SCRATCH+16(t0)
	ld t1, H_CURRENT(t0)
	ld t1, K_BLOCK(t1)
	ld t2, D_DISABLED(t1)
	bnez t2, 2f
	csrr t2, mepc
	ld t3, D_CRIT_LOW(t1)
	bltu t2, t3, 1f
	ld t3, D_CRIT_HIGH(t1)
	bltu t2, t3, 2f
1:	addi t1, t1, D_ENABLED
	j 3f
2:	addi t1, t1, D_SAVED
3:	ld t2, H_SCRATCH+8(t0)
	ld t3, H_SCRATCH+16(t0)
	j save

	.balign 4
save:
	sd x1, 8(t1)
	sd x2, 16(t1)
	sd x3, 24(t1)
	sd x4, 32(t1)
	sd x7, 56(t1)
	sd x8, 64(t1)
	sd x9, 72(t1)
	sd x10, 80(t1)
	sd x11, 88(t1)
	sd x12, 96(t1)
	sd x13, 104(t1)
	sd x14, 112(t1)
	sd x15, 120(t1)
	sd x16, 128(t1)
	sd x17, 136(t1)
	sd x18, 144(t1)
	sd x19, 152(t1)
	sd x20, 160(t1)
	sd x21, 168(t1)
	sd x22, 176(t1)
	sd x23, 184(t1)
	sd x24, 192(t1)
	sd x25, 200(t1)
	sd x26, 208(t1)
	sd x27, 216(t1)
	sd x28, 224(t1)
	sd x29, 232(t1)
	sd x30, 240(t1)
	sd x31, 248(t1)
	ld t2, H_SCRATCH(t0)
	sd t2, 48(t1)			/* t1 as it was */
	csrrw t2, mscratch, t0
	sd t2, 40(t1)			/* t0 as it was */
	csrr t2, mepc
	sd t2, 0(t1)
	mv tp, t0
	ld sp, H_STACK(t0)
	csrr a0, mcause
	csrr a1, mtval
	mv a2, t1
	call trap			/* the area to go on with */

	.globl go
go:
	ld t0, 0(a0)
	csrw mepc, t0
	/* If it was interrupted between lr and sc, a reservation of others must not let its sc succeed. (What it would store is there already.) */
	sc.d zero, t0, (a0)
	ld x1, 8(a0)
	ld x2, 16(a0)
	ld x3, 24(a0)
	ld x4, 32(a0)
	ld x5, 40(a0)
	ld x6, 48(a0)
	ld x7, 56(a0)
	ld x8, 64(a0)
	ld x9, 72(a0)
	ld x11, 88(a0)
	ld x12, 96(a0)
	ld x13, 104(a0)
	ld x14, 112(a0)
	ld x15, 120(a0)
	ld x16, 128(a0)
	ld x17, 136(a0)
	ld x18, 144(a0)
	ld x19, 152(a0)
	ld x20, 160(a0)
	ld x21, 168(a0)
	ld x22, 176(a0)
	ld x23, 184(a0)
	ld x24, 192(a0)
	ld x25, 200(a0)
	ld x26, 208(a0)
	ld x27, 216(a0)
	ld x28, 224(a0)
	ld x29, 232(a0)
	ld x30, 240(a0)
	ld x31, 248(a0)
	ld x10, 80(a0)
	mret

	/* Floating point is on. */
	.option push
	.option arch, +d
	fp_saver fp_save
	fp_loader fp_load
	.option pop

broken:
	mv tp, t0
	csrw mscratch, t0
	csrr a0, mcause
	csrr a1, mepc
	csrr a2, mtval
	j kernel_broken
