/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Switch from one stack to another. The old stack keeps what a call preserves by the ABI: six registers and the control words of the
 * two floating-point units. All else is dead at a call; if a signal interrupted the thread, the kernel's frame on that stack has it.
 */
#include "rt.h"

#if defined(__x86_64__)
__asm__(".text\n"
	".globl weir_switch\n"
	".hidden weir_switch\n"
	".type weir_switch, @function\n"
	"weir_switch:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	subq $8, %rsp\n"
	"	stmxcsr (%rsp)\n"
	"	fnstcw 4(%rsp)\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	ldmxcsr (%rsp)\n"
	"	fldcw 4(%rsp)\n"
	"	addq $8, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	retq\n"
	".size weir_switch, . - weir_switch\n");

/* Prepare a stack so that weir_switch() to it continues at @entry, as if that had been called. */
void *weir_first_frame(char *top, void (*entry)(void))
{
	u64 *sp = (u64 *)((u64)top & ~63ull);
	u32 mxcsr;
	u16 control;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(control));
	*--sp = 0; /* ends a debugger's backtrace */
	*--sp = (u64)entry;
	for (int i = 0; i < 6; i++)
		*--sp = 0;
	*--sp = (u64)control << 32 | mxcsr;
	return sp;
}
#else
/* Green threads exist on x86-64 only; thread.c refuses to make any. */
void weir_switch(void **from, void *to)
{
	(void)from;
	(void)to;
	__builtin_trap();
}

void *weir_first_frame(char *top, void (*entry)(void))
{
	(void)top;
	(void)entry;
	return 0;
}
#endif
