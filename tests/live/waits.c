/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * waits SECONDS WORKERS WORK_US - how long woken tasks wait for a CPU, as they see it themselves.
 *
 * A round: the main thread writes the time into a pipe of each worker. A worker that was asleep in read() notes how late it is,
 * computes for WORK_US of its own CPU time and passes a message on to its neighbour, which is late in its turn and answers. Then the
 * main thread sleeps for half a millisecond, which it notes, too. One JSON object on standard output: for `messages` (worker to
 * worker and main to worker) and `timers` (the main thread's sleeps) the number of wake-ups and the distribution of their delays.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_WORKERS 256
#define MAX_SAMPLES 1000000
#define PAUSE_NS    500000
#define STOP	    0

struct worker {
	int first[2];  /* from the main thread: the time */
	int second[2]; /* from the neighbour: the time */
	int answer;
	struct worker *neighbour;
	pthread_t thread;
	uint64_t late[2]; /* ns, in this round */
};

static uint64_t work_ns;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "waits: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void compute(uint64_t ns)
{
	uint64_t until = now(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now(CLOCK_THREAD_CPUTIME_ID) < until)
		for (volatile int i = 0; i < 200; i++)
			;
}

static uint64_t receive(int fd)
{
	uint64_t word;

	if (read(fd, &word, sizeof(word)) != sizeof(word))
		fail("read");
	return word;
}

static void send(int fd, uint64_t word)
{
	if (write(fd, &word, sizeof(word)) != sizeof(word))
		fail("write");
}

/* What came at @sent is read now: so late. */
static uint64_t since(uint64_t sent)
{
	return now(CLOCK_MONOTONIC) - sent;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t sent;

	while ((sent = receive(w->first[0])) != STOP) {
		w->late[0] = since(sent);
		compute(work_ns);
		send(w->neighbour->second[1], now(CLOCK_MONOTONIC));
		sent = receive(w->second[0]);
		w->late[1] = since(sent);
		send(w->answer, 1);
	}
	return NULL;
}

struct samples {
	uint64_t *ns;
	size_t nr;
};

static void note(struct samples *s, uint64_t ns)
{
	if (s->nr < MAX_SAMPLES)
		s->ns[s->nr++] = ns;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank. */
static uint64_t quantile(const struct samples *s, unsigned per_mille)
{
	size_t rank = (s->nr * per_mille + 999) / 1000;

	return s->nr ? s->ns[rank ? rank - 1 : 0] : 0;
}

static void print(const char *name, struct samples *s, const char *end)
{
	qsort(s->ns, s->nr, sizeof(*s->ns), compare);
	printf("\"%s\":{\"count\":%zu,\"p50_ns\":%llu,\"p95_ns\":%llu,\"p99_ns\":%llu,\"max_ns\":%"
	       "llu}%s",
	       name, s->nr, (unsigned long long)quantile(s, 500),
	       (unsigned long long)quantile(s, 950), (unsigned long long)quantile(s, 990),
	       (unsigned long long)quantile(s, 1000), end);
}

static long number(const char *text, long least, long most)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || end == text || n < least || n > most) {
		fprintf(stderr, "waits: `%s` is not a number from %ld to %ld\n", text, least, most);
		exit(2);
	}
	return n;
}

static uint64_t seconds_ns(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (*end || end == text || !(seconds >= 0.01 && seconds <= 3600)) {
		fprintf(stderr, "waits: `%s` is not a time from 0.01 to 3600 s\n", text);
		exit(2);
	}
	return (uint64_t)(seconds * 1e9);
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_WORKERS];
	struct samples messages = { 0 }, timers = { 0 };
	int answers[2], nr;
	uint64_t end;

	if (argc != 4) {
		fprintf(stderr, "usage: waits SECONDS WORKERS WORK_US\n");
		return 2;
	}
	end = now(CLOCK_MONOTONIC) + seconds_ns(argv[1]);
	nr = (int)number(argv[2], 2, MAX_WORKERS);
	work_ns = (uint64_t)number(argv[3], 0, 1000000) * 1000u;
	messages.ns = calloc(MAX_SAMPLES, sizeof(uint64_t));
	timers.ns = calloc(MAX_SAMPLES, sizeof(uint64_t));
	if (!messages.ns || !timers.ns || pipe(answers))
		fail("memory or pipes");
	for (int i = 0; i < nr; i++) {
		if (pipe(workers[i].first) || pipe(workers[i].second))
			fail("pipe");
		workers[i].answer = answers[1];
		workers[i].neighbour = &workers[(i + 1) % nr];
	}
	for (int i = 0; i < nr; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			fail("pthread_create");
	while (now(CLOCK_MONOTONIC) < end) {
		struct timespec pause = { .tv_nsec = PAUSE_NS };
		uint64_t began;

		for (int i = 0; i < nr; i++)
			send(workers[i].first[1], now(CLOCK_MONOTONIC));
		for (int i = 0; i < nr; i++)
			receive(answers[0]);
		for (int i = 0; i < nr; i++) {
			note(&messages, workers[i].late[0]);
			note(&messages, workers[i].late[1]);
		}
		began = now(CLOCK_MONOTONIC);
		nanosleep(&pause, NULL);
		note(&timers, since(began) - PAUSE_NS);
	}
	for (int i = 0; i < nr; i++)
		send(workers[i].first[1], STOP);
	for (int i = 0; i < nr; i++)
		pthread_join(workers[i].thread, NULL);
	printf("{");
	print("messages", &messages, ",");
	print("timers", &timers, "}\n");
	return 0;
}
