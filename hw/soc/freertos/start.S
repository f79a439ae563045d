/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Start, and where traps go: an observer takes address 0x10 for the kernel's first instruction, on all systems. */
	.section .text.boot, "ax"
	.globl	_start
_start:
	j	boot

	.org	0x10
	j	freertos_risc_v_trap_handler

boot:
	la	sp, start_stack + 2048
	li	t0, 0x10
	csrw	mtvec, t0
	/* The scheduler's line and the devices' make external interrupts: a register of this core. */
	li	t0, 3
	csrw	0xbc0, t0
	call	begin
1:	j	1b

	.section .bss
	.balign	16
start_stack:
	.skip	2048
