/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A solver with the communication of NAS's LU, over several transports: `solver SIZE STEPS ROUNDS`. Prints `NAME PROCESSES NS` lines, the lower
 * quartile of ROUNDS runs, and `same_NAME PROCESSES 1` if the solution has the same bits as that of one process.
 *
 * Symmetric Gauss-Seidel relaxation of five coupled fields on SIZE cubed points. A process has half of the rows. In each plane it needs the other's row before
 * it begins, and sends its own when it is done, so planes pass through the processes as through a pipeline. Processes share only the transport.
 *
 * ump: UMP. ncp: the transport for cores whose caches do not cohere, here with plain memory behind its calls. socket: a Unix socket, polled: what the
 * operating system has for this.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noncoherent.h"
#include "ump.h"

#include "pair.h"

#define FIELDS 5u
#define SLOTS  64u
/* A message of an unused kind. */
#define ROW 1u

static u32 size, steps;

/* --- transports: send and receive a row --------------------------------------------------------------------------- */

struct transport {
	const char *name;
	void (*open)(u32 me);
	void (*send)(const double *row, u32 words);
	void (*receive)(double *row, u32 words);
};

static struct ump_ring *ring[2];
static struct ump ump;

static void ump_open(u32 me)
{
	if (ump_init(&ump, ring[me], ring[!me], SLOTS))
		exit(2);
}

static void by_ump(const double *row, u32 words)
{
	u64 message[UMP_WORDS];

	for (u32 i = 0; i < words; i += UMP_WORDS) {
		u32 nr = words - i < UMP_WORDS ? words - i : UMP_WORDS, spins = 0;

		memcpy(message, row + i, nr * 8);
		while (ump_send(&ump, message, nr, ROW, i))
			weir_port_relax(spins++);
	}
}

static void from_ump(double *row, u32 words)
{
	u64 message[UMP_WORDS];
	u32 kind, tag;

	for (u32 i = 0; i < words; i += UMP_WORDS) {
		u32 nr = words - i < UMP_WORDS ? words - i : UMP_WORDS, spins = 0;

		while (ump_recv(&ump, message, nr, &kind, &tag))
			weir_port_relax(spins++);
		memcpy(row + i, message, nr * 8);
	}
}

static struct {
	struct nc_line channel[2][NCP_LINES(SLOTS)];
	struct nc_line notes[2][NC_RING_LINES(SLOTS)];
	u32 lock[2] __attribute__((aligned(64)));
	u32 raised[2];
} *tile;

static struct nc_ring notified[2];
static struct ncp ncp;

/* Each line has one word that says that the others are valid: the last of a message, the only one of a counter or a number. */
void nc_read(u32 core, void *to, const struct nc_line *line)
{
	struct nc_line *copy = to;

	(void)core;
	for (u32 i = NC_LINE / 8; i--;)
		copy->word[i] = weir_load_acquire(&line->word[i]);
}

void nc_write(u32 core, struct nc_line *line, const void *from)
{
	const struct nc_line *copy = from;

	(void)core;
	for (u32 i = 0; i < NC_LINE / 8; i++)
		weir_store_release(&line->word[i], copy->word[i]);
}

int nc_try_lock(u32 core)
{
	return weir_try_lock(&tile->lock[core]);
}

void nc_unlock(u32 core)
{
	weir_store_release(&tile->lock[core], 0);
}

int nc_raised(u32 core)
{
	return weir_load(&tile->raised[core]) != 0;
}

void nc_raise(u32 core)
{
	weir_store_release(&tile->raised[core], 1);
}

static void ncp_open(u32 me)
{
	for (u32 i = 0; i < 2; i++)
		nc_ring_init(&notified[i], i, tile->notes[i], SLOTS);
	ncp_init(&ncp, me, tile->channel[me], tile->channel[!me], SLOTS, &notified[!me], 7);
}

static void by_ncp(const double *row, u32 words)
{
	u64 message[NCP_WORDS];

	for (u32 i = 0; i < words; i += NCP_WORDS) {
		u32 nr = words - i < NCP_WORDS ? words - i : NCP_WORDS, spins = 0;

		memcpy(message, row + i, nr * 8);
		while (ncp_send(&ncp, message, nr, ROW, i))
			weir_port_relax(spins++);
	}
}

/* Take the notifications, as the interrupt's handler does; a message is looked for only after one. */
static void await_notes(u32 me)
{
	u32 spins = 0;
	u16 channel;

	while (!weir_load(&tile->raised[me])) {
		(void)ncp_push(&ncp);
		weir_port_relax(spins++);
	}
	weir_store(&tile->raised[me], 0);
	weir_fence();
	while (!nc_notified(&notified[me], &channel))
		;
}

static void from_ncp(double *row, u32 words)
{
	u64 message[NCP_WORDS];
	u32 kind, tag;

	for (u32 i = 0; i < words; i += NCP_WORDS) {
		u32 nr = words - i < NCP_WORDS ? words - i : NCP_WORDS;

		while (ncp_recv(&ncp, message, nr, &kind, &tag))
			await_notes(ncp.core);
		memcpy(row + i, message, nr * 8);
	}
}

static int ends[2], end;

static void socket_open(u32 me)
{
	end = ends[me];
}

static void by_socket(const double *row, u32 words)
{
	const char *p = (const char *)row;
	size_t left = words * 8ul;

	while (left) {
		ssize_t n = send(end, p, left, MSG_DONTWAIT);

		if (n < 0 && errno != EAGAIN)
			exit(2);
		p += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
}

static void from_socket(double *row, u32 words)
{
	char *p = (char *)row;
	size_t left = words * 8ul;

	while (left) {
		ssize_t n = recv(end, p, left, MSG_DONTWAIT);

		if (n < 0 && errno != EAGAIN)
			exit(2);
		p += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
}

static const struct transport transports[] = {
	{ "ump", ump_open, by_ump, from_ump },
	{ "ncp", ncp_open, by_ncp, from_ncp },
	{ "socket", socket_open, by_socket, from_socket },
};

/* --- the solver: knows no transport ---------------------------------------------------------------------------------- */

static const struct transport *net;
static double *field;
static u32 first, rows; /* ours, counted from 1; there is a row around them on each side */

static double *at(u32 k, u32 j, u32 i)
{
	return field + (((u64)k * (rows + 2) + j) * (size + 2) + i) * FIELDS;
}

static void relax(u32 k, u32 j, u32 i)
{
	double *u = at(k, j, i), rest[FIELDS];
	const double *near[6] = { at(k - 1, j, i), at(k + 1, j, i), at(k, j - 1, i),
				  at(k, j + 1, i), at(k, j, i - 1), at(k, j, i + 1) };

	for (u32 m = 0; m < FIELDS; m++) {
		double source = (double)((k * 7 + (first + j) * 11 + i * 13 + m * 17) % 32) - 15.5;

		rest[m] = source - 6.4 * u[m];
		for (u32 n = 0; n < 6; n++)
			rest[m] += near[n][m];
	}
	for (u32 m = 0; m < FIELDS; m++) {
		double change = 0;

		for (u32 n = 0; n < FIELDS; n++)
			change += (m == n ? 0.15 : 0.01) * rest[n];
		u[m] += 1.2 * change;
	}
}

/* Our last row before the other's first one, and back: rows of the plane that the other side needs. */
static void sweep(int up, int before, int after)
{
	for (u32 n = 0; n < size; n++) {
		u32 k = up ? n + 1 : size - n;

		if (before)
			net->receive(at(k, up ? 0 : rows + 1, 0), (size + 2) * FIELDS);
		for (u32 a = 0; a < rows; a++)
			for (u32 b = 0; b < size; b++)
				relax(k, up ? a + 1 : rows - a, up ? b + 1 : size - b);
		if (after)
			net->send(at(k, up ? rows : 1, 0), (size + 2) * FIELDS);
	}
}

/* Of the bits of our points, wherever they lie. */
static u64 digest(void)
{
	u64 sum = 0, bits;

	for (u32 k = 1; k <= size; k++)
		for (u32 j = 1; j <= rows; j++)
			for (u32 x = FIELDS; x < (size + 1) * FIELDS; x++) {
				memcpy(&bits, at(k, j, 0) + x, 8);
				sum += (bits ^ bits >> 29) *
				       (2 * (((u64)k * size + first + j) * 1024 + x) + 1);
			}
	return sum;
}

static struct {
	u64 ready, from, until[2], digest[2];
} *shared;

static void solve(u32 me, u32 nr)
{
	u32 spins = 0;
	u64 points;

	stay_on((int)me);
	first = me * (size / nr);
	rows = me + 1 == nr ? size - first : size / nr;
	points = (u64)(size + 2) * (rows + 2) * (size + 2);
	field = calloc(points, FIELDS * sizeof(double));
	if (!field)
		exit(2);
	if (nr > 1)
		net->open(me);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	while (weir_load_acquire(&shared->ready) < nr)
		weir_port_relax(spins++);
	if (!me)
		shared->from = now();
	for (u32 s = 0; s < steps; s++) {
		sweep(1, me > 0, me + 1 < nr);
		sweep(0, me + 1 < nr, me > 0);
	}
	shared->until[me] = now();
	shared->digest[me] = digest();
	free(field);
}

/* The time of a run, ns; *@sum is the solution's digest. */
static double run(u32 nr, u64 *sum)
{
	u64 until = 0;
	pid_t child[2];

	memset(shared, 0, sizeof(*shared));
	memset(tile, 0, sizeof(*tile));
	for (int i = 0; i < 2; i++)
		memset(ring[i], 0, ump_bytes(SLOTS));
	for (u32 i = 0; i < nr; i++) {
		child[i] = fork();
		if (child[i] < 0)
			exit(2);
		if (!child[i]) {
			end_with_parent();
			solve(i, nr);
			_exit(0);
		}
	}
	*sum = 0;
	for (u32 i = 0; i < nr; i++) {
		int status;

		if (waitpid(child[i], &status, 0) < 0 || !WIFEXITED(status))
			exit(2);
		if (WEXITSTATUS(status))
			exit(WEXITSTATUS(status));
		until = shared->until[i] > until ? shared->until[i] : until;
		*sum += shared->digest[i];
	}
	return (double)(until - shared->from);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

#define NR (sizeof(transports) / sizeof(*transports))

int main(int argc, char **argv)
{
	u64 rounds = argc == 4 ? strtoull(argv[3], 0, 0) : 0, same[NR + 1] = { 0 };
	double *samples = malloc((rounds + 1) * (NR + 1) * sizeof(double));

	be_patient();
	size = argc == 4 ? (u32)atoi(argv[1]) : 0;
	steps = argc == 4 ? (u32)atoi(argv[2]) : 0;
	if (size < 4 || size > 200 || !steps || !rounds || !samples)
		return 2;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 2;
	for (int i = 0; i < 2; i++)
		ring[i] = pages(ump_bytes(SLOTS));
	tile = pages(sizeof(*tile));
	shared = pages(sizeof(*shared));
	for (u64 r = 0; r < rounds; r++) {
		u64 one, sum;

		samples[r] = run(1, &one);
		for (u32 i = 0; i < NR; i++) {
			net = &transports[i];
			samples[(i + 1) * rounds + r] = run(2, &sum);
			same[i + 1] += sum == one;
		}
	}
	for (u32 i = 0; i <= NR; i++) {
		double *mine = samples + i * rounds;

		qsort(mine, rounds, sizeof(*mine), by_value);
		printf("%s %u %.0f\n", i ? transports[i - 1].name : "one", i ? 2 : 1,
		       mine[rounds / 4]);
		if (i)
			printf("same_%s 2 %d\n", transports[i - 1].name, same[i] == rounds);
	}
	return 0;
}
