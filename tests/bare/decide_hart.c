/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* decide.c on a bare hart in machine mode: the plans are at PLANS, their first word is the number of steps; lines go to the serial port. */
#include "decide.h"

#define PLANS ((const u64 *)0x88000000)

u8 decide_arena[16 << 20] __attribute__((aligned(4096))),
	decide_room[8 << 20] __attribute__((aligned(4096)));
u8 decide_stack[65536] __attribute__((aligned(16)));
static u32 record[16]; /* the port's: its first word is the CPU */

__asm__(".section .init, \"ax\"\n.globl _start\n_start:\n\tla sp, decide_stack + 65536\n\tcall "
	"begin\n1:\tj 1b\n.text");

void begin(void);

void decide_print(const char *text, u32 n)
{
	while (n--)
		*(volatile u8 *)0x10000000 = (u8)*text++;
}

static void end(void)
{
	*(volatile u32 *)0x100000 = 0x5555;
	for (;;)
		;
}

void weir_port_fail(const char *what, const char *file, u32 line)
{
	(void)file;
	(void)line;
	decide_print("broken ", 7);
	for (; *what; what++)
		decide_print(what, 1);
	end();
}

void begin(void)
{
	__asm__ volatile("mv tp, %0" ::"r"(record));
	decide(PLANS + 1, (u32)PLANS[0]);
	end();
}

void *memset(void *p, int c, __SIZE_TYPE__ n)
{
	for (u8 *to = p; n--; to++)
		*to = (u8)c;
	return p;
}

void *memcpy(void *p, const void *q, __SIZE_TYPE__ n)
{
	const u8 *from = q;

	for (u8 *to = p; n--; to++)
		*to = *from++;
	return p;
}

int memcmp(const void *a, const void *b, __SIZE_TYPE__ n)
{
	const u8 *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}
