/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Packets of 1,000 bytes between two CPUs of this computer: `loopback ROUNDS`. Prints `NAME BYTES NS` lines, the time per packet at the
 * sink: the 10th percentile of ROUNDS blocks of 1,024 packets, so that what else runs here counts little.
 *
 * udp, udp_poll: through Linux's loopback; the sink sleeps for packets, or polls for them.
 * bulk: the packet lies in a buffer of a bulk channel over UMP, with IPv4 and UDP headers that the source writes and the sink checks, both checksums
 * included. Linux leaves out checksums on loopback.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bulk.h"

#include "pair.h"

#define PAYLOAD 1000u
#define HEADERS 28u
#define BUFFER	1088u
#define BUFFERS 64u
#define BLOCK	1024u
#define SLOTS	64u
/* Numbers and addresses in the headers. */
#define PORT 9

/* --- payload: the same work on either way ------------------------------------------------------------------------- */

static void fill(char *payload, u64 n)
{
	memset(payload, (int)n, PAYLOAD);
}

static u64 look(const char *payload)
{
	u64 sum = 0, word;

	for (u32 i = 0; i + 8 <= PAYLOAD; i += 8) {
		memcpy(&word, payload + i, 8);
		sum += word;
	}
	return sum;
}

static u64 rounds, *samples, stop, seen;

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void print(const char *name)
{
	qsort(samples, rounds, sizeof(*samples), by_value);
	printf("%s %u %.2f\n", name, PAYLOAD, (double)samples[rounds / 10] / BLOCK);
}

/* --- Linux's loopback ----------------------------------------------------------------------------------------------- */

static int to_sink, at_sink;

static void *udp_source(void *arg)
{
	char payload[PAYLOAD];

	stay_on(0);
	for (u64 n = 0; !weir_load(&stop); n++) {
		fill(payload, n);
		if (send(to_sink, payload, PAYLOAD, 0) < 0) {
			perror("loopback: send");
			exit(2);
		}
	}
	return arg;
}

static void open_udp(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);

	at_sink = socket(AF_INET, SOCK_DGRAM, 0);
	to_sink = socket(AF_INET, SOCK_DGRAM, 0);
	if (at_sink < 0 || to_sink < 0 || bind(at_sink, (struct sockaddr *)&at, sizeof(at)) ||
	    getsockname(at_sink, (struct sockaddr *)&at, &size) ||
	    connect(to_sink, (struct sockaddr *)&at, sizeof(at))) {
		fprintf(stderr, "no UDP on loopback\n");
		exit(3);
	}
}

static void udp(const char *name, int flags)
{
	char payload[PAYLOAD];
	pthread_t source;

	weir_store(&stop, 0);
	if (pthread_create(&source, 0, udp_source, 0))
		exit(2);
	for (u64 r = 0; r < rounds; r++) {
		u64 from = now();

		for (u32 i = 0; i < BLOCK;) {
			if (recv(at_sink, payload, PAYLOAD, flags) != PAYLOAD)
				continue;
			seen += look(payload);
			i++;
		}
		samples[r] = now() - from;
	}
	weir_store(&stop, 1);
	pthread_join(source, 0);
	print(name);
}

/* --- a bulk channel --------------------------------------------------------------------------------------------------- */

static struct ump_ring *ring[2];
static char *pool;

typedef u16 __attribute__((may_alias)) any16;

/* The Internet checksum's sum, of an even number of bytes. */
static u32 sum_of(const void *p, u32 bytes, u32 sum)
{
	const any16 *w = p;
	u64 wide = sum;

	for (u32 i = 0; i < bytes / 2; i++)
		wide += w[i];
	while (wide >> 16)
		wide = (wide & 0xffff) + (wide >> 16);
	return (u32)wide;
}

struct headers {
	u8 version, service;
	u16 length, id, fragment;
	u8 ttl, protocol;
	u16 sum;
	u32 from, to;
	u16 source, sink, udp_length, udp_sum;
};

static u32 udp_sum(const struct headers *h)
{
	struct {
		u32 from, to;
		u16 protocol, length;
	} pseudo = { h->from, h->to, htons(17), h->udp_length };
	u32 sum = sum_of(&pseudo, sizeof(pseudo), 0);

	return sum_of(&h->source, 8 + PAYLOAD, sum);
}

static void seal(struct headers *h, u64 n)
{
	*h = (struct headers){
		.version = 0x45,
		.length = htons(HEADERS + PAYLOAD),
		.id = htons((u16)n),
		.ttl = 64,
		.protocol = 17,
		.from = htonl(INADDR_LOOPBACK),
		.to = htonl(INADDR_LOOPBACK),
		.source = htons(PORT),
		.sink = htons(PORT),
		.udp_length = htons(8 + PAYLOAD),
	};
	h->sum = (u16)~sum_of(h, 20, 0);
	h->udp_sum = (u16)~udp_sum(h);
}

static int sound(const struct headers *h)
{
	return h->version == 0x45 && h->length == htons(HEADERS + PAYLOAD) && h->protocol == 17 &&
	       h->sink == htons(PORT) && sum_of(h, 20, 0) == 0xffff && udp_sum(h) == 0xffff;
}

static void *bulk_source(void *arg)
{
	struct bulk b;
	struct ump c;

	stay_on(0);
	if (ump_init(&c, ring[0], ring[1], SLOTS) || bulk_init(&b, &c, pool, BUFFERS, BUFFER, 1))
		exit(2);
	for (u64 n = 0; !weir_load(&stop); n++) {
		char *buffer;
		u32 spins = 0;

		while (!(buffer = bulk_buffer(&b))) {
			if (weir_load(&stop))
				return arg;
			weir_port_relax(spins++);
		}
		fill(buffer + HEADERS, n);
		seal((struct headers *)buffer, n);
		if (bulk_send(&b, buffer, HEADERS + PAYLOAD, 0))
			exit(2);
	}
	return arg;
}

static void bulk(void)
{
	pthread_t source;
	struct bulk b;
	struct ump c;

	if (ump_init(&c, ring[1], ring[0], SLOTS) || bulk_init(&b, &c, pool, BUFFERS, BUFFER, 0))
		exit(2);
	weir_store(&stop, 0);
	if (pthread_create(&source, 0, bulk_source, 0))
		exit(2);
	for (u64 r = 0; r < rounds; r++) {
		u64 from = now();

		for (u32 i = 0; i < BLOCK; i++) {
			u32 bytes, tag, spins = 0;
			void *buffer;
			int err;

			while ((err = bulk_recv(&b, &buffer, &bytes, &tag)) == -WEIR_EAGAIN)
				weir_port_relax(spins++);
			if (err || bytes != HEADERS + PAYLOAD || !sound(buffer)) {
				fprintf(stderr, "a damaged packet\n");
				exit(2);
			}
			seen += look((char *)buffer + HEADERS);
			if (bulk_return(&b, buffer))
				exit(2);
		}
		samples[r] = now() - from;
	}
	weir_store(&stop, 1);
	pthread_join(source, 0);
	print("bulk");
}

int main(int argc, char **argv)
{
	rounds = argc == 2 ? strtoull(argv[1], 0, 0) : 0;
	samples = malloc((rounds + 1) * sizeof(*samples));
	if (!rounds || !samples)
		return 2;
	be_patient();
	for (int i = 0; i < 2; i++)
		ring[i] = pages(ump_bytes(SLOTS));
	pool = pages(BUFFERS * BUFFER);
	open_udp();
	/* The sources go to the first CPU by themselves, before they inherit this one's. */
	stay_on(1);
	udp("udp", 0);
	udp("udp_poll", MSG_DONTWAIT);
	bulk();
	return seen ? 0 : 2;
}
