/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Start, and the one way into the kernel: interrupts and `ebreak` save all registers in the thread that runs, ask trap() which
 * thread goes on, and load its registers. The same for all systems. PicoRV32 keeps q0: where to return, q1: which interrupts,
 * q2: ours, q3: the thread that runs. Its registers are saved where `struct thread` begins.
 */
#define getq(rd, qs) .insn r 0x0b, 4, 0, rd, qs, x0
#define setq(qd, rs) .insn r 0x0b, 2, 1, qd, rs, x0
#define retirq .insn r 0x0b, 0, 2, x0, x0, x0
#define maskirq(rd, rs) .insn r 0x0b, 6, 3, rd, rs, x0
#define waitirq .insn r 0x0b, 4, 4, x0, x0, x0
#define CPU 0x1000000c

	.section .text.boot, "ax"
	.globl	_start
_start:
	j	boot

	.org	0x10
	setq(x2, sp)
	getq(sp, x3)
	.irp	r, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	sw	x\r, 4 * \r(sp)
	.endr
	getq(t0, x2)
	sw	t0, 8(sp)
	getq(t0, x0)
	sw	t0, 0(sp)
	mv	a1, sp
	getq(a0, x1)
	la	sp, kernel_stacks + 2048
#if CPUS > 1
	li	t0, CPU
	lw	t0, 0(t0)
	slli	t0, t0, 11
	add	sp, sp, t0
#endif
	call	trap
	setq(x3, a0)
	mv	sp, a0
	lw	t0, 0(sp)
	setq(x0, t0)
	/* A thread goes on with interrupts on: only an interrupt or a switch on purpose leads here. */
	maskirq(x0, x0)
	.irp	r, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	lw	x\r, 4 * \r(sp)
	.endr
	lw	sp, 8(sp)
	retirq

boot:
	li	t0, CPU
	lw	a0, 0(t0)
	la	sp, kernel_stacks + 2048
	slli	t0, a0, 11
	add	sp, sp, t0
	call	begin
	/*
	 * begin() gives the thread to go on as. It has not run yet: its stack and arguments are all that it needs. An interrupt after
	 * maskirq finds the thread's registers in place, and comes back to the jump.
	 */
	setq(x3, a0)
	mv	t1, a0
	lw	t0, 0(t1)
	lw	sp, 8(t1)
	lw	a0, 40(t1)
	lw	a1, 44(t1)
	maskirq(x0, x0)
	jr	t0

	.section .text.task, "ax"
	.globl	idle
idle:
	waitirq
	j	idle
