/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the simulated system has beside threads: devices, a clock, a console. Times are clocks, which wrap after 2^32. */
#ifndef WEIR_SOC_BOARD_H
#define WEIR_SOC_BOARD_H

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned char u8;

/* Devices: see weir_soc_device. device_take() gives how many clocks ago the oldest event came, -1 if none waits. */
void device_set(u32 device, u32 period, int random, u32 events);
void device_trigger(u32 device);
u32 device_take(u32 device);
u32 device_waiting(u32 device);
u32 device_dropped(u32 device);

u32 now(void);
/* End the program; 0: all is well. */
void finish(u32 status) __attribute__((noreturn));

/* Text, and figures that `runweir soc` collects: a line `= name value`. */
void print(const char *text);
void print_number(u32 value);
void figure(const char *name, u32 value);
/* A mark in the trace. */
void mark(u32 value);

/* Least, mean and greatest of what was measured, and how often it was 2^n .. 2^(n+1)-1. */
struct samples {
	u32 count, min, max;
	u64 sum;
};
void sample(struct samples *s, u32 value);
void figure_samples(const char *name, const struct samples *s);

/* Work that keeps registers busy: what it gives shows whether they survived. About 14 clocks a round. */
u32 work(u32 seed, u32 rounds);
#endif
