/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A malicious program; its argument selects the attack: write or read the kernel's memory or another program's, jump into it or into its
 * own data, write to a frame that it may only read, keep interrupts off, keep the monitor's priority, use privileged instructions, stay disabled forever, make endless calls. The kernel ends it, or schedules it as any other.
 */
#include <weir/mk.h>

#define KERNEL 0x80000000ull
#define OTHER  0x82000000ull /* the first image: a monitor */

static u32 code[2] = { 0x8067, 0x8067 }; /* ret */

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
	else if (is(how, "peek"))
		(void)*(volatile u64 *)(OTHER + 0x100000);
	else if (is(how, "run"))
		((void (*)(void))(OTHER + 72))(); /* its entry for upcalls */
	else if (is(how, "data"))
		((void (*)(void))code)();
	else if (is(how, "frame")) {
		/* It may be read only. */
		volatile u64 *frame;

		mk_invoke(SLOT_RAM, CMD_RETYPE, CAP_FRAME, 4096, 0, 40);
		mk_invoke(40, CMD_COPY, 41, RIGHT_READ, 0, 0);
		mk_invoke(41, CMD_MAP, 0, 0, 0, 0);
		frame = (volatile u64 *)mk_invoke(41, CMD_IDENTIFY, 0, 0, 0, 0).value[0];
		if (*frame)
			return 4;
		*frame = 1;
	} else if (is(how, "text"))
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
	else if (is(how, "answered")) {
		/* The monitor answers on its own time, which has a higher priority. */
		struct mk_channel c;

		mk_bind("nothing", &c);
		for (;;)
			;
	} else if (is(how, "calls"))
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
