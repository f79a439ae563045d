/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * weir-cpus: a process that has CPUs and a policy for the threads of others, and runs nothing itself. `runweir threads --serve` becomes it.
 *
 *   weir-cpus serve NAME PLAN [--with-parent] [--stats] [--trace FILE] [--unlink] [--no-fallback] [--oversubscribe]
 *   weir-cpus ask NAME                  CPUs and policy, as JSON
 *   weir-cpus switch NAME PLAN          another policy under load, as JSON what it took
 *
 * Exit status: 0, 1 if the system lacks something, 2 for a wrong name, plan or call.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weir/threads.h>

static int failed(int err)
{
	fprintf(stderr, "%s\n", weir_rt_error());
	return err == -ENOMEM || err == -EAGAIN ? 1 : 2;
}

/* Until a signal comes, or @parent (a pidfd; -1: none) has ended and no program is left. A program that it becomes is the same process. */
static void wait_for_end(const sigset_t *ends, int parent)
{
	struct pollfd p[2] = { { .fd = signalfd(-1, ends, SFD_CLOEXEC), .events = POLLIN },
			       { .fd = parent, .events = POLLIN } };

	while (poll(p, 2, -1) < 0 || !(p[0].revents || p[1].revents))
		;
	while (!p[0].revents && weir_rt_clients())
		poll(p, 1, 50);
}

static int serve(const char *name, int argc, char **argv)
{
	struct weir_rt_config config = { .plan_file = argv[0],
					 .serve = name,
					 .flags = WEIR_RT_WATCHDOG | WEIR_RT_FALLBACK };
	const char *trace = 0;
	int follows = 0, stats = 0, unlinks = 0, err, parent = -1;
	struct weir_rt_stats s;
	sigset_t ends;

	for (int i = 1; i < argc; i++) {
		follows |= !strcmp(argv[i], "--with-parent");
		stats |= !strcmp(argv[i], "--stats");
		unlinks |= !strcmp(argv[i], "--unlink");
		if (!strcmp(argv[i], "--no-fallback"))
			config.flags &= ~(unsigned)WEIR_RT_FALLBACK;
		/* For tests: the plan may have more CPUs than there are. */
		if (!strcmp(argv[i], "--oversubscribe"))
			config.flags |= WEIR_RT_OVERSUBSCRIBE;
		if (!strcmp(argv[i], "--trace") && i + 1 < argc)
			trace = argv[++i];
	}
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	/* Beside a program: Ctrl-C is for that one, and this is not a child that it would have to wait for. */
	if (follows) {
		pid_t pid;

		parent = (int)syscall(SYS_pidfd_open, getppid(), 0);
		pid = fork();
		if (pid)
			return pid < 0;
		signal(SIGINT, SIG_IGN);
		sigdelset(&ends, SIGINT);
	}
	sigprocmask(SIG_BLOCK, &ends, 0);
	err = weir_rt_open(&config);
	if (unlinks)
		unlink(argv[0]);
	if (err)
		return failed(err);
	if (trace && weir_rt_trace(trace)) {
		failed(-EINVAL);
		return 2;
	}
	weir_rt_stats(&s);
	printf("{\"name\":\"%s\",\"policy\":\"%s\",\"cpus\":%u,\"pid\":%d}\n", name,
	       weir_rt_policy(), s.cpus, getpid());
	fclose(stdout);
	wait_for_end(&ends, parent);
	if (trace && weir_rt_trace_end() == -EIO)
		fprintf(stderr, "the trace could not be written\n");
	weir_rt_stats(&s);
	if (stats)
		fprintf(stderr,
			"{\"policy\":\"%s\",\"cpus\":%u,\"programs\":%u,\"threads\":%llu,"
			"\"dispatches\":%llu,\"blocks\":%llu,\"preemptions\":%llu,\"taken\":%llu,"
			"\"expiries\":%llu,"
			"\"kicks\":%llu,\"sleeps\":%llu,\"idle_ns\":%llu,\"deadline_misses\":%llu}"
			"\n",
			weir_rt_policy(), s.cpus, weir_rt_served(), (unsigned long long)s.created,
			(unsigned long long)s.dispatches, (unsigned long long)s.blocks,
			(unsigned long long)s.preemptions, (unsigned long long)s.taken,
			(unsigned long long)s.expiries, (unsigned long long)s.kicks,
			(unsigned long long)s.sleeps, (unsigned long long)s.idle_ns,
			(unsigned long long)s.deadline_misses);
	err = weir_rt_close();
	return err ? failed(err) : 0;
}

static int join(const char *name)
{
	struct weir_rt_config config = { .join = name };

	return weir_rt_open(&config);
}

static int ask(const char *name)
{
	struct weir_rt_stats s;
	int err = join(name);

	if (err)
		return failed(err);
	weir_rt_stats(&s);
	printf("{\"cpus\":%u,\"policy\":\"%s\"}\n", s.cpus, weir_rt_policy());
	weir_rt_close();
	return 0;
}

static int change(const char *name, const char *plan)
{
	struct weir_rt_swapped what;
	int err = join(name);

	if (!err)
		err = weir_rt_swap_file(plan, &what);
	if (err)
		return failed(err);
	printf("{\"represented\":%u,\"built\":%u,\"kept\":%u,\"pause_ns\":%llu}\n",
	       what.represented, what.built, what.kept, (unsigned long long)what.pause_ns);
	weir_rt_close();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 4 && !strcmp(argv[1], "serve"))
		return serve(argv[2], argc - 3, argv + 3);
	if (argc == 3 && !strcmp(argv[1], "ask"))
		return ask(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "switch"))
		return change(argv[2], argv[3]);
	fprintf(stderr, "usage: weir-cpus serve NAME PLAN [--with-parent] [--stats] [--trace FILE] "
			"[--unlink] [--no-fallback] | "
			"ask NAME | switch NAME PLAN\n");
	return 2;
}
