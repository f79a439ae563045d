/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the threads do now, for `runweir top` and `runweir status`. A thread of its own answers at a socket by the protocol of `runweir
 * live` (docs/live.md). It reads what the others write anyway. Only while somebody asks, the holders of CPUs note times, in the place
 * where they look for a trace, too; so a program that nobody watches pays nothing.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "remote.h"

#define NAME	   "runweir-threads-" /* and the process's number, without a file in the file system */
#define WATCHED_NS 10000000000ull     /* from the last question on, times are noted */
#define PATIENCE   1000	 /* ms that a client has for its question, and again for the answer */
#define QUESTION   4096u /* bytes; longer ones than `status` are refused anyway */
#define STACK	   (128u << 10)

extern const struct weir_descriptor *const weir_descriptors[];

/* What runs on a CPU. */
struct seat {
	u32 number; /* of the thread; 0: none runs */
	char name[17];
};

static struct {
	int door; /* -1: none */
	int over; /* eventfd: ends the thread */
	ino_t inode; /* of the door: a program may close files that it does not know, and use the number again */
	u64 opened;	 /* when the runtime was */
	u64 asked;	 /* last */
	struct seat *on; /* one for each CPU */
	char *text;
	size_t nr, room;
	int failed; /* no memory */
	pthread_t thread;
	u32 running;
} st = { .door = -1, .over = -1 };

/* --- times, while somebody watches --------------------------------------------------------------------------------- */

static void set(u64 *to, u64 value)
{
	__atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static void add(u64 *to, u64 more)
{
	set(to, weir_load(to) + more);
}

/* For the holder of @c: @t runs there from now on; null: its thread leaves it. */
void watch_switch(struct cpu *c, struct weir_thread *t, enum left why)
{
	u64 at = now();

	if (t) {
		u32 last = weir_load(&t->last_cpu);

		if (weir_load(&t->waits_since))
			add(&t->wait_ns, at - t->waits_since);
		set(&t->waits_since, 0);
		set(&t->runs_since, at);
		add(&t->nr_runs, 1);
		if (last != c->id + 1 && last) {
			add(&t->nr_migrations, 1);
			add(&c->n.migrations, 1);
		}
		__atomic_store_n(&t->last_cpu, c->id + 1, __ATOMIC_RELAXED);
		return;
	}
	t = me()->thread;
	if (!t)
		return;
	if (weir_load(&t->runs_since))
		add(&t->run_ns, at - t->runs_since);
	set(&t->runs_since, 0);
	set(&t->waits_since, why == LEFT_YIELD || why == LEFT_PREEMPTED ? at : 0);
}

/* @t, which has blocked or is new, waits for a CPU from now on. */
void watch_wake(struct weir_thread *t)
{
	set(&t->waits_since, now());
}

static int runs(const struct weir_thread *t)
{
	return __atomic_load_n(&t->cpu, __ATOMIC_RELAXED) >= 0;
}

static int waits(const struct weir_thread *t)
{
	u32 state = weir_state(t->task);

	return state == WEIR_SCHEDULABLE || state == WEIR_RUNNING;
}

/* The next thread from number *@at on; locked, so that it does not end meanwhile. */
static struct weir_thread *next_thread(u32 *at)
{
	struct weir_thread *t;

	while ((t = record_at((*at)++))) {
		hold();
		spin(&t->lock);
		if (t->task)
			return t;
		unspin(&t->lock);
		release();
	}
	return 0;
}

static void done_with(struct weir_thread *t)
{
	unspin(&t->lock);
	release();
}

static void watch_begin(void)
{
	struct weir_thread *t;
	u64 at = now();

	for (u32 i = 0; (t = next_thread(&i));) {
		set(&t->runs_since, runs(t) ? at : 0);
		set(&t->waits_since, !runs(t) && waits(t) ? at : 0);
		done_with(t);
	}
	__atomic_or_fetch(&tracing, TRACING_WATCHED, __ATOMIC_RELAXED);
}

static void watch_end(void)
{
	__atomic_and_fetch(&tracing, ~(u32)TRACING_WATCHED, __ATOMIC_RELAXED);
}

/* --- the answer: a line of JSON --------------------------------------------------------------------------------------- */

/* Memory directly from the system: malloc's lock may belong to a thread that waits for a CPU. */
static int room_for(size_t more)
{
	size_t room = st.room ? st.room : 65536;
	void *p;

	while (room - st.nr < more)
		room *= 2;
	if (room == st.room)
		return 1;
	p = st.text ? mremap(st.text, st.room, room, MREMAP_MAYMOVE)
		    : mmap(0, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		st.failed = 1;
		return 0;
	}
	st.text = p;
	st.room = room;
	return 1;
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	va_list args;
	int n;

	if (!room_for(1024))
		return;
	va_start(args, format);
	n = vsnprintf(st.text + st.nr, 1024, format, args);
	va_end(args);
	st.nr += n < 0 ? 0 : n < 1024 ? (size_t)n : 1023;
}

/* A program chooses names of threads and topologies. */
static void put_text(const char *text, size_t most)
{
	if (!room_for(8 * most + 8))
		return;
	st.text[st.nr++] = '"';
	for (size_t i = 0; i < most && text[i]; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c > '~')
			c = '?';
		if (c == '"' || c == '\\')
			st.text[st.nr++] = '\\';
		st.text[st.nr++] = (char)c;
	}
	st.text[st.nr++] = '"';
}

static void put_number(const char *name, u64 value)
{
	put(",\"%s\":%llu", name, (unsigned long long)value);
}

static void put_zeros(const char *const *names)
{
	for (; *names; names++)
		put_number(*names, 0);
}

/* Bound threads may have got another name since they began. */
static void name_of(const struct weir_thread *t, char name[17])
{
	char file[64];
	ssize_t n = 0;
	int fd;

	memset(name, 0, 17);
	if (t->kind != WEIR_GREEN) {
		snprintf(file, sizeof(file), "/proc/%d/task/%u/comm",
			 t->kind == WEIR_REMOTE ? t->pid : getpid(), t->number);
		fd = open(file, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			n = read(fd, name, 16);
			close(fd);
		}
		if (n > 0 && name[n - 1] == '\n')
			name[n - 1] = 0;
	}
	if (n <= 0)
		memcpy(name, t->name, sizeof(t->name));
	if (!*name)
		strcpy(name, "green");
}

struct sums {
	u64 tasks, waiting, dispatches, kicks, preemptions, empty, migrations, idle_ns, busy_ns;
};

/* Threads first: what runs on the CPUs follows. */
static void put_threads(u64 at, struct sums *sum, struct seat *on)
{
	struct weir_thread *t;

	put(",\"tasks\":[");
	for (u32 i = 0; (t = next_thread(&i)); done_with(t)) {
		u64 ran = weir_load(&t->run_ns), waited = weir_load(&t->wait_ns),
		    runs_since = weir_load(&t->runs_since),
		    waits_since = weir_load(&t->waits_since);
		int cpu = __atomic_load_n(&t->cpu, __ATOMIC_RELAXED);
		u32 last = weir_load(&t->last_cpu);
		struct seat s = { .number = t->number };
		const char *state = cpu >= 0 ? "running" : waits(t) ? "waiting" : "blocked";

		name_of(t, s.name);
		if (cpu >= 0 && (u32)cpu < rt.nr_cpus)
			on[cpu] = s;
		if (*state == 'w')
			sum->waiting++;
		put("%s{\"id\":%u", sum->tasks++ ? "," : "", i);
		put_number("pid", t->number);
		put_number("tgid", (u64)(t->kind == WEIR_REMOTE ? t->pid : getpid()));
		put(",\"comm\":");
		put_text(s.name, sizeof(s.name));
		if (cpu < 0 && last)
			cpu = (int)last - 1;
		if (cpu >= 0)
			put_number("cpu", (u64)cpu);
		else
			put(",\"cpu\":null");
		put_number("run_ns", ran + (runs_since && at > runs_since ? at - runs_since : 0));
		put_number("wait_ns",
			   waited + (waits_since && at > waits_since ? at - waits_since : 0));
		put_number("waiting_since_ns", *state == 'w' ? waits_since : 0);
		put_number("runs", (u32)weir_load(&t->nr_runs));
		put_number("migrations", (u32)weir_load(&t->nr_migrations));
		put(",\"state\":\"%s\",\"aside\":false}", state);
	}
	put("]");
}

static void put_cpus(u64 at, struct sums *sum, struct seat *on)
{
	static const char *const none[] = { "enqueues",	   "dequeues", "direct",   "aside",
					    "dropped",	   "kept",     "messages", "failures",
					    "lost_events", 0 };

	put(",\"cpus\":[");
	for (u32 i = 0; i < rt.nr_cpus; i++) {
		struct cpu *c = &rt.cpus[i];
		u64 since = weir_load(&c->idle_since), idle = weir_load(&c->n.idle_ns);
		u64 dispatches = weir_load(&c->n.dispatches), kicks = weir_load(&c->n.kicks);
		u64 empty = weir_load(&c->n.polls_hit) + weir_load(&c->n.sleeps);
		u64 preemptions = weir_load(&c->n.preemptions), busy;

		if (since && at > since)
			idle += at - since;
		busy = at - st.opened > idle ? at - st.opened - idle : 0;
		put("%s{\"cpu\":%u,\"linux_cpu\":%u,\"online\":true,\"curr\":", i ? "," : "", i,
		    c->linux_cpu);
		if (on[i].number) {
			put("%u,\"curr_comm\":", on[i].number);
			put_text(on[i].name, sizeof(on[i].name));
		} else {
			put("null,\"curr_comm\":\"\"");
		}
		put_number("busy_ns", busy);
		put_number("runs", dispatches);
		put_number("dispatches", dispatches);
		put_number("migrations", weir_load(&c->n.migrations));
		put_number("empty", empty);
		put_number("kicks", kicks);
		put_number("preempts", preemptions);
		put_zeros(none);
		put("}");
		sum->dispatches += dispatches;
		sum->kicks += kicks;
		sum->preemptions += preemptions;
		sum->empty += empty;
		sum->migrations += weir_load(&c->n.migrations);
		sum->idle_ns += idle;
		sum->busy_ns += busy;
	}
	put("]");
}

/* As `0-3,8`. */
static void put_set(const struct weir_cpumask *set)
{
	u32 nr = 0;

	put(",\"cpus\":\"");
	for (u32 i = 0; i < rt.nr_cpus; i++) {
		u32 from = i;

		if (!weir_mask_test(set, i))
			continue;
		while (i + 1 < rt.nr_cpus && weir_mask_test(set, i + 1))
			i++;
		put(i > from ? "%s%u-%u" : "%s%u", nr++ ? "," : "", from, i);
	}
	put("\"");
}

static void put_instance_name(const struct weir_instance *i)
{
	put_text(weir_plan_instance(rt.blob, i->idx), 256);
}

/* No swap runs meanwhile, so the plan in force is that of the graph. */
static void put_graph(void)
{
	const struct weir_graph *g = rt.sched->graph;

	put(",\"pipes\":[");
	for (u32 i = 0; i < g->nr_pipes; i++) {
		const struct weir_pipe *p = &g->pipes[i];
		u64 depth = weir_pipe_nr(p), added = weir_pipe_added(p);

		put("%s{\"idx\":%u,\"name\":", i ? "," : "", i);
		if (p->from) {
			put_instance_name(p->from);
			st.nr--; /* goes on inside the quotes */
			put(".out%u\",\"from\":", p->from_port);
			put_instance_name(p->from);
		} else {
			put("\"entry\",\"from\":\"entry\"");
		}
		put(",\"to\":");
		put_instance_name(p->to);
		put_number("depth", depth);
		put_number("max_depth", weir_pipe_max(p));
		put_number("added", added);
		put_number("removed", added > depth ? added - depth : 0);
		put_set(p->cpus);
		put_number("lock_wait_ns", weir_load(&p->lock_wait_ns));
		put_number("longest_lock_wait_ns", weir_load(&p->longest_lock_wait_ns));
		put_number("lock_waits", weir_load(&p->nr_lock_waits));
		put_number("lock_waits_given_up", weir_load(&p->nr_lock_given_up));
		put("}");
	}
	put("],\"instances\":[");
	for (u32 i = 0; i < g->nr_instances; i++) {
		const struct weir_instance *in = g->instances[i];

		put("%s{\"idx\":%u,\"name\":", i ? "," : "", i);
		put_instance_name(in);
		put(",\"component\":");
		put_text(weir_descriptors[in->class]->name, WEIR_NAME_MAX);
		put_number("updates", weir_came_to(in));
		put("}");
	}
	put("]");
}

static void put_totals(const struct sums *sum)
{
	static const char *const none[] = { "dequeues", "direct",	 "aside",     "dropped",
					    "kept",	"messages",	 "failures",  "lost_events",
					    "requests", "lost_messages", "no_memory", 0 };

	/* A thread that came into the graph has left it for a CPU, or waits. */
	put(",\"totals\":{\"enqueues\":%llu", (unsigned long long)(sum->dispatches + sum->waiting));
	put_number("dispatches", sum->dispatches);
	put_number("in_graph", sum->waiting);
	put_number("empty", sum->empty);
	put_number("kicks", sum->kicks);
	put_number("preempts", sum->preemptions);
	put_number("runs", sum->dispatches);
	put_number("migrations", sum->migrations);
	put_number("busy_ns", sum->busy_ns);
	put_number("faults", weir_load(&rt.sched->faults));
	put_number("swaps", weir_load(&rt.swaps));
	put_number("tasks", sum->tasks);
	put_number("arena_used", weir_load(&rt.sched->used) - weir_load(&rt.sched->freed));
	put_number("arena_bytes", rt.arena_bytes);
	put_zeros(none);
	put("}");
}

static void put_own(const struct sums *sum)
{
	struct weir_rt_stats s;

	weir_rt_stats(&s);
	put(",\"program\":{\"pid\":%d,\"name\":", getpid());
	put_text(program_invocation_short_name, 64);
	if (*serve_name()) {
		put(",\"served\":");
		put_text(serve_name(), 96);
	}
	put_number("created", s.created);
	put_number("yields", s.yields);
	put_number("blocks", s.blocks);
	put_number("preemptions", s.preemptions);
	put_number("deferred", s.deferred);
	put_number("expiries", s.expiries);
	put_number("handovers", s.handovers);
	put_number("polls_hit", s.polls_hit);
	put_number("sleeps", s.sleeps);
	put_number("idle_ns", sum->idle_ns);
	put_number("deadline_misses", s.deadline_misses);
	put("}");
}

static void put_status(struct seat *on)
{
	u64 at = now();
	struct sums sum = { 0 };

	memset(on, 0, rt.nr_cpus * sizeof(struct seat));
	put("{\"ok\":true,\"result\":{\"t_ns\":%llu,\"topology\":", (unsigned long long)at);
	put_text(weir_rt_policy(), 256);
	put(",\"source\":\"\"");
	put_number("nr_cpus", rt.nr_cpus);
	put_number("uptime_ns", at - st.opened);
	put(",\"attached\":true");
	put_threads(at, &sum, on);
	put_cpus(at, &sum, on);
	put_graph();
	put_totals(&sum);
	put_own(&sum);
	if (rt.last_swap.t_ns) {
		put(",\"last_swap\":{\"t_ns\":%llu,\"from\":",
		    (unsigned long long)rt.last_swap.t_ns);
		put_text(rt.last_swap.from, sizeof(rt.last_swap.from));
		put(",\"to\":");
		put_text(weir_rt_policy(), sizeof(rt.last_swap.from));
		put_number("pause_ns", rt.last_swap.what.pause_ns);
		put_number("represented", rt.last_swap.what.represented);
		put_number("built", rt.last_swap.what.built);
		put_number("kept", rt.last_swap.what.kept);
		put("}");
	}
	put("}}\n");
}

static void put_error(const char *kind, const char *message, const char *help)
{
	st.nr = 0;
	put("{\"ok\":false,\"error\":{\"message\":");
	put_text(message, 256);
	put(",\"help\":");
	put_text(help, 256);
	put(",\"kind\":\"%s\",\"findings\":[]}}\n", kind);
}

/* --- clients ---------------------------------------------------------------------------------------------------------- */

/* The word after "verb" in the line @text. */
static int asks_for(const char *text, const char *verb)
{
	const char *at = strstr(text, "\"verb\"");
	size_t n = strlen(verb);

	if (!at)
		return 0;
	at += 6;
	at += strspn(at, " \t:");
	return *at == '"' && !strncmp(at + 1, verb, n) && at[1 + n] == '"';
}

static int question(int client, char *text)
{
	size_t got = 0;

	while (got < QUESTION - 1) {
		ssize_t n = read(client, text + got, QUESTION - 1 - got);

		if (n <= 0)
			return 0;
		got += (size_t)n;
		text[got] = 0;
		if (strchr(text, '\n'))
			return 1;
	}
	return 1;
}

/* One question, one answer. The runtime does not close meanwhile: that waits for this thread. */
static void answer(int client, struct seat *on)
{
	struct timeval patience = { .tv_sec = PATIENCE / 1000 };
	char text[QUESTION];

	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	st.nr = 0;
	st.failed = 0;
	if (!same_user(client, 0)) {
		put_error("permission", "only the user who runs the program, and root, may ask it",
			  "use the account that runs the program, or root");
	} else if (!question(client, text)) {
		return;
	} else if (!asks_for(text, "status")) {
		put_error("input", "a program with threads under a policy answers `status` only",
			  "for another policy, the program calls weir_rt_swap()");
	} else {
		if (!(weir_load(&tracing) & TRACING_WATCHED))
			watch_begin();
		st.asked = now();
		while (weir_mutex_trylock(swap_lock()))
			if (poll(&(struct pollfd){ .fd = st.over, .events = POLLIN }, 1, 1))
				return;
		put_status(on);
		weir_mutex_unlock(swap_lock());
		if (st.failed)
			put_error("io", "no memory for the answer", "try again");
	}
	for (size_t sent = 0; sent < st.nr;) {
		ssize_t n = send(client, st.text + sent, st.nr - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		sent += (size_t)n;
	}
}

static int still_ours(void)
{
	struct stat s;

	return !fstat(st.door, &s) && S_ISSOCK(s.st_mode) && s.st_ino == st.inode;
}

static void *answers(void *arg)
{
	struct seat *on = arg;
	struct pollfd p[2] = { { .fd = st.over, .events = POLLIN },
			       { .fd = st.door, .events = POLLIN } };

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
	prctl(PR_SET_NAME, "weir-status");
	for (;;) {
		int watched = weir_load(&tracing) & TRACING_WATCHED, client;
		int n = poll(p, 2, watched ? 1000 : -1);

		if (watched && now() - st.asked > WATCHED_NS)
			watch_end();
		if (n < 0 && get_errno() == EINTR)
			continue;
		if (n < 0 || p[0].revents || !still_ours())
			break;
		if (!p[1].revents)
			continue;
		client = accept4(st.door, 0, 0, SOCK_CLOEXEC);
		if (client < 0)
			continue;
		answer(client, on);
		close(client);
	}
	watch_end();
	return 0;
}

/* If anything is missing, the program runs unwatched. */
void status_start(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, NAME "%d", getpid());
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	struct seat *on;
	struct stat s;

	st.opened = now();
	st.door = high_file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	st.over = high_file(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	on = mmap(0, rt.nr_cpus * sizeof(*on), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		  -1, 0);
	if (st.door < 0 || st.over < 0 || on == MAP_FAILED || fstat(st.door, &s) ||
	    bind(st.door, (struct sockaddr *)&address, len) || listen(st.door, 4)) {
		if (on != MAP_FAILED)
			munmap(on, rt.nr_cpus * sizeof(*on));
		status_stop();
		return;
	}
	st.inode = s.st_ino;
	st.running = !quiet_thread(&st.thread, STACK, answers, on);
	st.on = on;
	if (!st.running)
		status_stop();
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void status_stop(void)
{
	u64 one = 1;

	if (st.running && write(st.over, &one, sizeof(one)) == sizeof(one))
		pthread_join(st.thread, 0);
	st.running = 0;
	if (st.door >= 0 && (!st.inode || still_ours()))
		shut(&st.door);
	st.door = -1;
	shut(&st.over);
	if (st.text)
		munmap(st.text, st.room);
	if (st.on)
		munmap(st.on, rt.nr_cpus * sizeof(*st.on));
	st.text = 0;
	st.on = 0;
	st.room = 0;
	st.inode = 0;
}

int status_owns(int fd)
{
	return fd == st.door;
}

/* The child has the files, but not the thread. */
void status_forked(void)
{
	if (st.running && still_ours())
		close(st.door);
	st.door = -1;
	st.running = 0;
	__atomic_and_fetch(&tracing, ~(u32)TRACING_WATCHED, __ATOMIC_RELAXED);
}
