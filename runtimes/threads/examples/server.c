/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A web server with two classes of requests: `server PLAN [PORT]`. /fast/N is more urgent than /slow/N; each computes for N
 * microseconds and answers. Each connection has a thread; the policy decides what runs first. docs/threads-library.md builds it step by step.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weir/threads.h>

/* Work that takes about this long at 3 GHz. */
static void compute(unsigned us)
{
	volatile unsigned long sink;
	unsigned long x = us + 1;

	for (unsigned long i = 0; i < us * 500ul; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	sink = x;
	(void)sink;
}

static void *serve(void *arg)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
	int fd = (int)(long)arg;
	char text[2048];
	ssize_t n;

	while ((n = weir_read(fd, text, sizeof(text) - 1)) > 0) {
		int fast;

		text[n] = 0;
		fast = !strncmp(text, "GET /fast/", 10);
		weir_thread_set(weir_thread_self(), WEIR_PRIORITY, fast ? 10 : 1, 0);
		compute((unsigned)atoi(text + 10));
		/* reading and writing are urgent for all */
		weir_thread_set(weir_thread_self(), WEIR_PRIORITY, 10, 0);
		if (weir_write(fd, answer, sizeof(answer) - 1) < 0)
			break;
	}
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct weir_rt_config config = { .plan_file = argc > 1 ? argv[1] : "policy.plan" };
	struct weir_thread_attr attr = { .kind = WEIR_GREEN,
					 .given = 1 << WEIR_PRIORITY,
					 .value = { [WEIR_PRIORITY] = 10 } };
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)(argc > 2 ? atoi(argv[2]) : 8080)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int door = socket(AF_INET, SOCK_STREAM, 0), one = 1, fd;

	setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (weir_rt_open(&config)) {
		fprintf(stderr, "server: %s\n", weir_rt_error());
		return 2;
	}
	if (bind(door, (struct sockaddr *)&at, sizeof(at)) || listen(door, 128)) {
		perror("server");
		return 1;
	}
	printf("http://127.0.0.1:%d under %s\n", ntohs(at.sin_port), weir_rt_policy());
	fflush(stdout);
	while ((fd = weir_accept(door, 0, 0)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (weir_thread_create(0, &attr, serve, (void *)(long)fd))
			close(fd);
	}
	return 0;
}
