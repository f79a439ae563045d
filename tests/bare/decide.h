/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Between decide.c and the platform. */
#ifndef TEST_DECIDE_H
#define TEST_DECIDE_H

#include <weir/port.h>

extern u8 decide_arena[16 << 20], decide_room[8 << 20];
void decide_print(const char *text, u32 n);
/* @plans: for each its bytes as a u64, then it, filled up to a multiple of 8; 0 ends them. */
void decide(const void *plans, u32 steps);

#endif
