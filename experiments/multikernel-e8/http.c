/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A web server's static page of 4.1 kB on one CPU, and its load on another: `http threads PLAN PORT | epoll PORT | load PORT CONNECTIONS SECONDS`.
 *
 * threads: a green thread per connection of the thread library, under the policy of PLAN. epoll: one loop of events, without the library. load: requests
 * one after the other on each connection; prints their number and the seconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <weir/threads.h>

#define PAGE 4100

static char answer[PAGE + 128];
static size_t answer_bytes;
static int on = 1;

static void make_answer(void)
{
	int head = snprintf(answer, 128, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", PAGE);

	memset(answer + head, 'x', PAGE);
	answer_bytes = (size_t)head + PAGE;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void stay_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		fail("http: affinity");
}

static struct sockaddr_in place(const char *port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((uint16_t)atoi(port)),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int open_door(const char *port)
{
	struct sockaddr_in at = place(port);
	int door = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (door < 0 || bind(door, (struct sockaddr *)&at, sizeof(at)) || listen(door, 128))
		fail("http: listen");
	return door;
}

/* A request is whole when its empty line is there; the load sends one at a time. */
static int whole(const char *text, ssize_t n)
{
	return n >= 4 && !memcmp(text + n - 4, "\r\n\r\n", 4);
}

/* --- a thread per connection ---------------------------------------------------------------------------------------- */

static void *serve(void *arg)
{
	int fd = (int)(long)arg;
	char text[2048];
	ssize_t n;

	while ((n = weir_read(fd, text, sizeof(text))) > 0 && whole(text, n))
		if (weir_write(fd, answer, answer_bytes) < 0)
			break;
	close(fd);
	return 0;
}

static int threads(const char *plan, const char *port)
{
	struct weir_rt_config config = { .plan_file = plan };
	struct weir_thread_attr attr = { .kind = WEIR_GREEN };
	int door = open_door(port), fd;

	if (weir_rt_open(&config)) {
		fprintf(stderr, "http: %s\n", weir_rt_error());
		return 2;
	}
	while ((fd = weir_accept(door, 0, 0)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (weir_thread_create(0, &attr, serve, (void *)(long)fd))
			close(fd);
	}
	return 1;
}

/* --- a loop of events ----------------------------------------------------------------------------------------------- */

static int events(const char *port)
{
	struct epoll_event about = { .events = EPOLLIN }, got[64];
	int door = open_door(port), set = epoll_create1(0);

	about.data.fd = door;
	if (set < 0 || epoll_ctl(set, EPOLL_CTL_ADD, door, &about))
		fail("http: epoll");
	for (;;) {
		int nr = epoll_wait(set, got, 64, -1);

		for (int i = 0; i < nr; i++) {
			int fd = got[i].data.fd;
			char text[2048];
			ssize_t n;

			if (fd == door) {
				fd = accept(door, 0, 0);
				setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
				about.data.fd = fd;
				if (fd >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, fd, &about))
					close(fd);
				continue;
			}
			n = read(fd, text, sizeof(text));
			if (n <= 0 || !whole(text, n) || write(fd, answer, answer_bytes) < 0)
				close(fd);
		}
	}
}

/* --- load ------------------------------------------------------------------------------------------------------------ */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void ask(int fd)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

	if (write(fd, request, sizeof(request) - 1) != sizeof(request) - 1)
		fail("http: request");
}

static int load(const char *port, int nr, double duration)
{
	struct sockaddr_in at = place(port);
	struct epoll_event got[64];
	size_t came[1024] = { 0 };
	int set = epoll_create1(0);
	unsigned long answers = 0;
	double from, until;

	for (int i = 0; i < nr; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		struct epoll_event about = { .events = EPOLLIN, .data.fd = fd };

		if (fd < 0 || fd >= 1024 || connect(fd, (struct sockaddr *)&at, sizeof(at)) ||
		    epoll_ctl(set, EPOLL_CTL_ADD, fd, &about))
			fail("http: connect");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		ask(fd);
	}
	from = seconds();
	do {
		int ready = epoll_wait(set, got, 64, 1000);

		for (int i = 0; i < ready; i++) {
			static char text[8192];
			int fd = got[i].data.fd;
			ssize_t n = read(fd, text, sizeof(text));

			if (n <= 0)
				fail("http: answer");
			came[fd] += (size_t)n;
			if (came[fd] < answer_bytes)
				continue;
			came[fd] = 0;
			answers++;
			ask(fd);
		}
		until = seconds();
	} while (until - from < duration);
	printf("%lu %.6f\n", answers, until - from);
	return 0;
}

int main(int argc, char **argv)
{
	make_answer();
	if (argc == 4 && !strcmp(argv[1], "threads"))
		return stay_on(0), threads(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "epoll"))
		return stay_on(0), events(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "load"))
		return stay_on(1), load(argv[2], atoi(argv[3]), atof(argv[4]));
	fprintf(stderr,
		"usage: http threads PLAN PORT | epoll PORT | load PORT CONNECTIONS SECONDS\n");
	return 2;
}
