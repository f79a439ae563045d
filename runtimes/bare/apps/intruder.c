/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A malicious program; its argument selects the attack: write or read the kernel's memory or another program's, jump into it, keep
 * interrupts off, use privileged instructions, stay disabled forever, make endless calls. The kernel ends it, or schedules it as any other.
 */
#include <weir/mk.h>

#define KERNEL 0x80000000ull
#define OTHER  0x82000000ull /* the first image: a monitor */

static int is(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "write";

	if (is(how, "write"))
		*(volatile u64 *)KERNEL = 1;
	else if (is(how, "read"))
		(void)*(volatile u64 *)KERNEL;
	else if (is(how, "jump"))
		((void (*)(void))KERNEL)();
	else if (is(how, "other"))
		*(volatile u64 *)(OTHER + 0x100000) = 1;
	else if (is(how, "text"))
		*(volatile u64 *)main = 1;
	else if (is(how, "clint"))
		*(volatile u64 *)0x2004000 = ~0ull;
	else if (is(how, "interrupts"))
		__asm__ volatile("csrci mstatus, 8");
	else if (is(how, "wfi"))
		__asm__ volatile("csrw mie, zero\n\twfi");
	else if (is(how, "disabled"))
		for (mk_self()->disabled = 1;;)
			;
	else if (is(how, "spin"))
		for (;;)
			;
	else if (is(how, "calls"))
		for (;;)
			mk_invoke(SLOT_SELF, CMD_IDENTIFY, 0, 0, 0, 0);
	else if (is(how, "block")) {
		/* The kernel trusts none of it. */
		struct mk_dcb *d = mk_self();

		d->lmp_tail = d->lmp_head + 1000;
		d->run = d->lmp = KERNEL;
		d->stack = 0;
		d->crit_low = 0;
		d->crit_high = ~0ull;
		for (;;)
			;
	}
	mk_print("intruder: %s went through\n", how);
	return 3;
}
