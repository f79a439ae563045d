/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One thread that only computes: sorting, strings, multiplication and division. Nothing is scheduled meanwhile, so that all systems
 * should take the same time. N: how often.
 */
#include "os.h"

#ifndef N
#define N 20
#endif

static u32 numbers[64];
static char text[64], copy[64];

int main(void)
{
	u32 began = now(), sum = 0;

	for (u32 n = 0; n < N; n++) {
		u32 length = 0;

		for (u32 i = 0; i < 64; i++)
			numbers[i] = (n * 7919 + i * 104729) % 10007;
		for (u32 i = 1; i < 64; i++) {
			u32 x = numbers[i], j = i;

			for (; j && numbers[j - 1] > x; j--)
				numbers[j] = numbers[j - 1];
			numbers[j] = x;
		}
		for (u32 i = 0; i < 63; i++)
			text[i] = (char)('a' + numbers[i] % 26);
		while ((copy[length] = text[length]))
			length++;
		sum += numbers[n % 64] / (n + 1) + length;
	}
	figure("total", now() - began);
	figure("sum", sum);
	return 0;
}
