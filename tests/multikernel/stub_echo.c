/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Sends back what it receives, over its standard input and output: the other half of a test of crates/weir-stubs. */
#include <string.h>
#include <unistd.h>

#include "all.h"

static int ended;

static int all_of(int in, char *p, size_t n)
{
	while (n) {
		ssize_t got = in ? read(0, p, n) : write(1, p, n);

		if (got <= 0)
			return 0;
		p += got;
		n -= (size_t)got;
	}
	return 1;
}

static int pipe_send(void *end, const u64 *words, u32 nr, u32 kind, u32 tag)
{
	u64 all[8] = { kind | (u64)tag << 32 };

	memcpy(all + 1, words, nr * 8);
	return all_of(0, (char *)all, sizeof(all)) ? 0 : -WEIR_ENOENT;
}

static int pipe_recv(void *end, u64 *words, u32 nr, u32 *kind, u32 *tag)
{
	u64 all[8];

	if (!all_of(1, (char *)all, sizeof(all))) {
		ended = 1;
		return -WEIR_EAGAIN;
	}
	*kind = (u32)all[0];
	*tag = (u32)(all[0] >> 32);
	memcpy(words, all + 1, nr * 8);
	return 0;
}

static const struct stub_transport over_pipe = { 7, pipe_send, pipe_recv };
static const struct stub_then none;

static int empty(struct all *b, void *ctx)
{
	return all_send_empty(b, none);
}

static int scalars(struct all *b, void *ctx, u8 a, u64 l, u16 d, u32 e, signed char f, short g,
		   s32 h, s64 i, _Bool j, float k, double m)
{
	return all_send_scalars(b, none, a, l, d, e, f, g, h, i, j, k, m);
}

static int texts(struct all *b, void *ctx, const char *first, u32 first_len, const char *second,
		 u32 second_len)
{
	u64 n = strlen(second);

	return all_send_lists(b, none, (const u8 *)first, first_len, &n, 1, 0, 0, 0, 0, 0, 0);
}

static int lists(struct all *b, void *ctx, const u8 *raw, u32 raw_len, const u64 *wide,
		 u32 wide_len, const _Bool *truths, u32 truths_len, const double *reals,
		 u32 reals_len, const short *small, u32 small_len)
{
	return all_send_lists(b, none, raw, raw_len, wide, wide_len, truths, truths_len, reals,
			      reals_len, small, small_len);
}

static int records(struct all *b, void *ctx, const struct all_point *one,
		   const struct all_point *many, u32 many_len, u8 end)
{
	return all_send_records(b, none, one, many, many_len, end);
}

static int look(struct all *b, void *ctx, u32 call, const char *path, u32 path_len)
{
	static const struct all_point points[3];

	return all_send_look_reply(b, none, call, points, path_len % 4, 1);
}

int main(void)
{
	static const struct all_handlers handlers = { .empty = empty,
						      .scalars = scalars,
						      .texts = texts,
						      .lists = lists,
						      .records = records,
						      .look = look };
	static struct all b;

	all_open(&b, 1, &over_pipe, 0, &handlers, 0);
	while (!ended)
		if (all_poll(&b) < 0)
			return 1;
	return 0;
}
