/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* decide.c on this machine: decide_here PLANS STEPS. */
#include <stdio.h>
#include <stdlib.h>

#include "decide.h"

u8 decide_arena[16 << 20] __attribute__((aligned(4096))),
	decide_room[8 << 20] __attribute__((aligned(4096)));
static u8 plans[32 << 20] __attribute__((aligned(8)));

void decide_print(const char *text, u32 n)
{
	fwrite(text, 1, n, stdout);
}

int main(int argc, char **argv)
{
	FILE *f = argc == 3 ? fopen(argv[1], "rb") : 0;

	if (!f || fread(plans, 1, sizeof(plans) - 8, f) == 0)
		return 1;
	fclose(f);
	decide(plans, (u32)atoi(argv[2]));
	return 0;
}
