/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What all systems share: devices, console, figures. */
#include "io.h"

/* The compiler may make calls of these. */
void *memset(void *to, int value, u32 bytes)
{
	u8 *p = to;

	while (bytes--)
		*p++ = (u8)value;
	return to;
}

void *memcpy(void *to, const void *from, u32 bytes)
{
	u8 *p = to;
	const u8 *q = from;

	while (bytes--)
		*p++ = *q++;
	return to;
}

void device_set(u32 device, u32 period, int random, u32 events)
{
	DEVICE(device, 0) = 0;
	DEVICE(device, 1) = (u32)random;
	DEVICE(device, 2) = events;
	DEVICE(device, 0) = period;
}

void device_trigger(u32 device)
{
	DEVICE(device, 5) = 1;
}
u32 device_take(u32 device)
{
	return DEVICE(device, 3);
}
u32 device_waiting(u32 device)
{
	return DEVICE(device, 4);
}
u32 device_dropped(u32 device)
{
	return DEVICE(device, 6);
}
u32 now(void)
{
	return IO_CLOCK;
}
void mark(u32 value)
{
	probe(P_MARK, value & 0xffffff);
}

void finish(u32 status)
{
	IO_EXIT = status;
	for (;;)
		;
}

void print(const char *text)
{
	while (*text)
		IO_CONSOLE = (u8)*text++;
}

void print_number(u32 value)
{
	char digits[11];
	int n = 10;

	digits[10] = 0;
	do
		digits[--n] = (char)('0' + value % 10);
	while (value /= 10);
	print(digits + n);
}

void figure(const char *name, u32 value)
{
	print("= ");
	print(name);
	print(" ");
	print_number(value);
	print("\n");
}

void sample(struct samples *s, u32 value)
{
	if (!s->count || value < s->min)
		s->min = value;
	if (!s->count || value > s->max)
		s->max = value;
	s->count++;
	s->sum += value;
}

static void figure_part(const char *name, const char *part, u32 value)
{
	print("= ");
	print(name);
	print(part);
	print(" ");
	print_number(value);
	print("\n");
}

void figure_samples(const char *name, const struct samples *s)
{
	figure_part(name, "_count", s->count);
	figure_part(name, "_min", s->min);
	figure_part(name, "_mean", s->count ? (u32)(s->sum / s->count) : 0);
	figure_part(name, "_max", s->max);
}

u32 work(u32 seed, u32 rounds)
{
	u32 a = seed, b = ~seed, c = seed << 7;

	while (rounds--) {
		a += b ^ c;
		b = (b << 5 | b >> 27) + a;
		c ^= a + rounds;
	}
	return a ^ b ^ c;
}
