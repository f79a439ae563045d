/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The thread library: `threads FOLDER SECONDS [TEST...]`, FOLDER has the plans. Each test opens a runtime of its own. SECONDS is
 * how long those that only end by time run each; without names all tests run. SWAPS=N: as many, however long they take.
 * NO_GREEN=1: bound threads only. COOPERATIVE=1: green ones are not preempted. JOINED=1: bound threads under the policy of another
 * process, which ends with the test and then examines the policy's state.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weir/threads.h>

#define REQUIRE(cond)                                                                       \
	do {                                                                                \
		if (!(cond)) {                                                              \
			fprintf(stderr, "threads: %s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                            \
		}                                                                           \
	} while (0)

typedef uint64_t u64;

static const char *folder;
static double seconds = 0.3;
static unsigned more_flags;
static int no_green; /* ThreadSanitizer does not follow them */

static char *plan_file(const char *policy)
{
	static char name[512];

	snprintf(name, sizeof(name), "%s/%s.plan", folder, policy);
	return name;
}

static int joined;
static pid_t server;
static int server_ends[2];

/* The process that has the policy: until the test closes the other end. */
static void serve(struct weir_rt_config *config, int ready, int over)
{
	char byte = 0;
	int err = weir_rt_open(config);

	if (err)
		fprintf(stderr, "threads: %s\n", weir_rt_error());
	REQUIRE(!err && write(ready, &byte, 1) == 1);
	while (read(over, &byte, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; weir_rt_clients() && i < 2000; i++)
		usleep(1000);
	REQUIRE(!weir_rt_clients());
	REQUIRE(!weir_rt_check());
	REQUIRE(!weir_rt_close());
	_exit(0);
}

static void alone(const char *why)
{
	fprintf(stderr, "threads: %s\n", why);
	REQUIRE(!"the server goes on until the test ends");
}

static void open_joined(struct weir_rt_config *config)
{
	static char name[64];
	struct weir_rt_config join = { .join = name, .alone = alone, .flags = config->flags };
	int ready[2];
	char byte;

	snprintf(name, sizeof(name), "test-%d", getpid());
	REQUIRE(!pipe(ready) && !pipe(server_ends));
	server = fork();
	REQUIRE(server >= 0);
	config->serve = name;
	if (!server) {
		close(server_ends[1]);
		alarm(120);
		serve(config, ready[1], server_ends[0]);
	}
	close(ready[1]);
	close(server_ends[0]);
	REQUIRE(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	*config = join;
}

static void begin_with(const char *policy, unsigned flags, u64 slice_ns)
{
	struct weir_rt_config config = { .plan_file = plan_file(policy),
					 .flags = WEIR_RT_OVERSUBSCRIBE | flags | more_flags,
					 .slice_ns = slice_ns,
					 .arena_bytes = 256u << 20 };
	int err;

	if (joined)
		open_joined(&config);
	err = weir_rt_open(&config);
	if (err)
		fprintf(stderr, "threads: %s\n", weir_rt_error());
	REQUIRE(!err);
}

static void begin(const char *policy)
{
	begin_with(policy, 0, 1000000);
}

static void end(void)
{
	int status;

	REQUIRE(!weir_rt_check());
	REQUIRE(!weir_rt_close());
	if (!joined)
		return;
	close(server_ends[1]);
	REQUIRE(waitpid(server, &status, 0) == server && !status);
}

static struct weir_thread_attr kind_of(int i)
{
	return (struct weir_thread_attr){ .kind = i % 2 && !no_green ? WEIR_GREEN : WEIR_BOUND,
					  .stack_bytes = 128 << 10 };
}

static void start(weir_thread **t, int i, void *(*run)(void *), void *arg)
{
	struct weir_thread_attr attr = kind_of(i);

	REQUIRE(!weir_thread_create(t, &attr, run, arg));
}

static u64 until;
static void run_for(double s)
{
	__atomic_store_n(&until, weir_clock() + (u64)(s * 1e9), __ATOMIC_RELAXED);
}

static void time_is_over(void)
{
	__atomic_store_n(&until, 0, __ATOMIC_RELAXED);
}

static int time_left(void)
{
	return weir_clock() < __atomic_load_n(&until, __ATOMIC_RELAXED);
}

/* --- making, yielding, joining ------------------------------------------------------------------------------------- */

static u64 sum;

static void *adds(void *arg)
{
	for (int i = 0; i < 50; i++) {
		__atomic_fetch_add(&sum, (u64)arg, __ATOMIC_RELAXED);
		weir_thread_yield();
	}
	return arg;
}

/* The load averages of the `linux` model are read while others write them, which ThreadSanitizer reports. */
static int skip(const char *policy)
{
	return no_green && !strcmp(policy, "linux");
}

static void t_create(void)
{
	static const char *const policies[] = { "decentral", "priority", "central", "linux",
						"worksteal" };
	enum { N = 60 };

	for (unsigned p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
		weir_thread *t[N];
		struct weir_rt_stats stats;

		if (skip(policies[p]))
			continue;

		begin(policies[p]);
		REQUIRE(!strcmp(weir_rt_policy(), policies[p]));
		sum = 0;
		for (u64 i = 0; i < N; i++)
			start(&t[i], (int)i, adds, (void *)(i + 1));
		for (u64 i = 0; i < N; i++) {
			void *result;

			REQUIRE(!weir_thread_join(t[i], &result) && result == (void *)(i + 1));
		}
		REQUIRE(sum == 50ull * N * (N + 1) / 2);
		weir_rt_stats(&stats);
		REQUIRE(stats.threads == 0 && stats.created == N && stats.yields == 50 * N &&
			!stats.faults);
		REQUIRE(stats.dispatches >= N);
		end();
	}
}

/* --- crossing: CPUs that take each other's threads while these still leave their stacks ------------------------------ */

static u64 crossings;
static weir_thread *crossing[4];

static void wake_other(u64 who)
{
	weir_thread *t = __atomic_load_n(&crossing[who], __ATOMIC_ACQUIRE);

	if (t)
		weir_thread_unpark(t);
	else
		weir_thread_yield();
}

/* Two yield, two wake each other; each looks whether its own stack is as it left it. */
static void *crosses(void *arg)
{
	volatile u64 mine[32];
	u64 me = (u64)arg, n = 0;

	for (int i = 0; i < 32; i++)
		mine[i] = me << 32;
	while (time_left()) {
		for (int i = 0; i < 32; i++) {
			REQUIRE(mine[i] == (me << 32 | n));
			mine[i] = me << 32 | (n + 1);
		}
		n++;
		if (me < 2) {
			weir_thread_yield();
		} else {
			wake_other(me ^ 1);
			weir_thread_park();
		}
	}
	if (me >= 2)
		wake_other(me ^ 1);
	__atomic_fetch_add(&crossings, n, __ATOMIC_RELAXED);
	return 0;
}

static void t_crossing(void)
{
	static const char *const policies[] = { "central", "worksteal", "decentral" };
	enum { N = 4 };

	if (no_green)
		return;
	for (unsigned p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
		struct weir_thread_attr attr = kind_of(1);

		begin(policies[p]);
		crossings = 0;
		memset(crossing, 0, sizeof(crossing));
		run_for(seconds);
		for (u64 i = 0; i < N; i++)
			REQUIRE(!weir_thread_create(&crossing[i], &attr, crosses, (void *)i));
		for (u64 i = 0; i < N; i++)
			REQUIRE(!weir_thread_join(crossing[i], 0));
		REQUIRE(crossings > 1000);
		end();
	}
}

/* --- mutual exclusion: threads that count without atomics ------------------------------------------------------------- */

static weir_mutex mutex;
static u64 plain, rounds;

static void *excludes(void *arg)
{
	(void)arg;
	while (time_left()) {
		u64 was;

		weir_mutex_lock(&mutex);
		was = plain;
		if (was % 7 == 0)
			weir_thread_yield();
		plain = was + 1;
		weir_mutex_unlock(&mutex);
		__atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static void t_mutex(void)
{
	enum { N = 12 };
	weir_thread *t[N];

	begin("decentral");
	plain = rounds = 0;
	run_for(seconds);
	for (int i = 0; i < N; i++)
		start(&t[i], i, excludes, 0);
	/* One that is not a thread of the runtime takes part. */
	excludes(0);
	for (int i = 0; i < N; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	REQUIRE(plain == rounds && rounds > N && !mutex.state && !mutex.queue.nr);
	end();
}

/* --- no wake-up is lost: tokens go round through every kind of waiting ------------------------------------------------ */

static weir_sem sems[8];
static u64 passed[8];

static void *passes(void *arg)
{
	u64 i = (u64)arg;

	while (1) {
		int over;

		weir_sem_wait(&sems[i]);
		__atomic_fetch_add(&passed[i], 1, __ATOMIC_RELAXED);
		/* Asked before the token goes on: a thread that gets it from one that ends sees that time is over, too. */
		over = !time_left();
		weir_sem_post(&sems[(i + 1) % 8]);
		if (over)
			return 0;
	}
}

static int all_passed_twice(void)
{
	for (int i = 0; i < 8; i++)
		if (__atomic_load_n(&passed[i], __ATOMIC_RELAXED) < 2)
			return 0;
	return 1;
}

static void t_semaphore(void)
{
	weir_thread *t[8];
	u64 enough;

	begin("decentral");
	memset(sems, 0, sizeof(sems));
	memset(passed, 0, sizeof(passed));
	run_for(3600);
	enough = weir_clock() + (u64)(seconds * 1e9);
	for (u64 i = 0; i < 8; i++)
		start(&t[i], (int)i, passes, (void *)i);
	weir_sem_post(&sems[0]);
	weir_sem_post(&sems[3]);
	while (weir_clock() < enough || !all_passed_twice())
		usleep(1000);
	time_is_over();
	for (int i = 0; i < 8; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	/* Two tokens went in; two are left. */
	{
		int64_t left = 0;

		for (int i = 0; i < 8; i++)
			left += sems[i].count;
		REQUIRE(left == 2);
	}
	REQUIRE(weir_sem_wait_until(&sems[7], 0) == -ETIMEDOUT || sems[7].count >= 0);
	end();
}

static weir_cond not_empty, not_full;
static u64 ring[4], put_at, got_at, got_sum, put_sum;

static void *produces(void *arg)
{
	u64 n = 1;

	(void)arg;
	while (n <= 30 || time_left()) {
		weir_mutex_lock(&mutex);
		while (put_at - got_at == 4)
			weir_cond_wait(&not_full, &mutex);
		ring[put_at++ % 4] = n;
		put_sum += n++;
		weir_cond_signal(&not_empty);
		weir_mutex_unlock(&mutex);
	}
	return 0;
}

static void *consumes(void *arg)
{
	(void)arg;
	for (;;) {
		u64 n;

		weir_mutex_lock(&mutex);
		while (put_at == got_at)
			weir_cond_wait(&not_empty, &mutex);
		n = ring[got_at++ % 4];
		got_sum += n;
		weir_cond_signal(&not_full);
		weir_mutex_unlock(&mutex);
		if (!n)
			return 0;
	}
}

static void t_condition(void)
{
	weir_thread *p[4], *c[4];
	u64 from;

	begin("decentral");
	put_at = got_at = got_sum = put_sum = 0;
	run_for(seconds);
	for (int i = 0; i < 4; i++) {
		start(&p[i], i, produces, 0);
		start(&c[i], i + 1, consumes, 0);
	}
	for (int i = 0; i < 4; i++)
		REQUIRE(!weir_thread_join(p[i], 0));
	for (int i = 0; i < 4; i++) {
		weir_mutex_lock(&mutex);
		while (put_at - got_at == 4)
			weir_cond_wait(&not_full, &mutex);
		ring[put_at++ % 4] = 0;
		weir_cond_signal(&not_empty);
		weir_mutex_unlock(&mutex);
	}
	for (int i = 0; i < 4; i++)
		REQUIRE(!weir_thread_join(c[i], 0));
	REQUIRE(put_sum == got_sum && put_at == got_at && put_at > 100);
	/* A time that passes. */
	from = weir_clock();
	weir_mutex_lock(&mutex);
	REQUIRE(weir_cond_wait_until(&not_empty, &mutex, from + 5000000) == -ETIMEDOUT);
	weir_mutex_unlock(&mutex);
	REQUIRE(weir_clock() >= from + 5000000 && !not_empty.queue.nr);
	end();
}

static weir_barrier barrier;
static u64 phase[6], serial;

static void *meets(void *arg)
{
	u64 i = (u64)arg;

	for (u64 n = 1; n <= 400; n++) {
		phase[i] = n;
		if (weir_barrier_wait(&barrier))
			__atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);
		for (u64 k = 0; k < 6; k++)
			REQUIRE(phase[k] == n);
		weir_barrier_wait(&barrier);
	}
	return 0;
}

static void t_barrier(void)
{
	weir_thread *t[6];

	begin("decentral");
	barrier = (weir_barrier)WEIR_BARRIER_INIT(6);
	serial = 0;
	for (u64 i = 0; i < 6; i++)
		start(&t[i], (int)i, meets, (void *)i);
	for (int i = 0; i < 6; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	REQUIRE(serial == 400);
	end();
}

static weir_chan *chan;
static u64 sent_sum, received_sum, sent_nr, received_nr;

static void *sends(void *arg)
{
	u64 n = (u64)arg << 32, first = n;

	while (n - first < 30 || time_left()) {
		n++;
		REQUIRE(!weir_chan_send(chan, n));
		__atomic_fetch_add(&sent_sum, n, __ATOMIC_RELAXED);
		__atomic_fetch_add(&sent_nr, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static void *receives(void *arg)
{
	u64 n;

	(void)arg;
	while (!weir_chan_recv(chan, &n)) {
		__atomic_fetch_add(&received_sum, n, __ATOMIC_RELAXED);
		__atomic_fetch_add(&received_nr, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static void t_channel(void)
{
	static const uint32_t capacities[] = { 0, 1, 16 };

	for (int k = 0; k < 3; k++) {
		weir_thread *s[4], *r[4];
		u64 word;

		begin("decentral");
		chan = weir_chan_new(capacities[k]);
		REQUIRE(chan);
		sent_sum = received_sum = sent_nr = received_nr = 0;
		REQUIRE(weir_chan_recv_until(chan, &word, 0) == -EAGAIN);
		REQUIRE(weir_chan_recv_until(chan, &word, weir_clock() + 1000000) == -ETIMEDOUT);
		run_for(seconds / 2);
		for (u64 i = 0; i < 4; i++) {
			start(&s[i], (int)i, sends, (void *)(i + 1));
			start(&r[i], (int)i + 1, receives, 0);
		}
		for (int i = 0; i < 4; i++)
			REQUIRE(!weir_thread_join(s[i], 0));
		weir_chan_close(chan);
		for (int i = 0; i < 4; i++)
			REQUIRE(!weir_thread_join(r[i], 0));
		REQUIRE(sent_nr == received_nr && sent_sum == received_sum && sent_nr > 100);
		REQUIRE(weir_chan_send(chan, 1) == -EPIPE);
		weir_chan_free(chan);
		end();
	}
}

/* --- preemption -------------------------------------------------------------------------------------------------------------- */

static u64 corrupted, turns[16];

#if defined(__x86_64__)
/* General and vector registers hold a pattern of the thread's own while it is taken off and put back, maybe elsewhere. */
__attribute__((noinline)) static u64 pattern(u64 seed, u64 loops)
{
	u64 out[12] = { 0 }, bad = 0;

	__asm__ volatile(
		"mov %1, %%r8\n\tlea 1(%1), %%r9\n\tlea 2(%1), %%r10\n\tlea 3(%1), %%r11\n\t"
		"lea 4(%1), %%r12\n\tlea 5(%1), %%r13\n\tlea 6(%1), %%r14\n\tlea 7(%1), %%r15\n\t"
		"movq %1, %%xmm3\n\tmovq %1, %%xmm12\n\tmovq %1, %%xmm15\n\tmov %2, %%rcx\n"
		"1:\tdec %%rcx\n\tjnz 1b\n\t"
		"mov %%r8, 0(%0)\n\tmov %%r9, 8(%0)\n\tmov %%r10, 16(%0)\n\tmov %%r11, 24(%0)\n\t"
		"mov %%r12, 32(%0)\n\tmov %%r13, 40(%0)\n\tmov %%r14, 48(%0)\n\tmov %%r15, "
		"56(%0)\n\t"
		"movq %%xmm3, 64(%0)\n\tmovq %%xmm12, 72(%0)\n\tmovq %%xmm15, 80(%0)"
		:
		: "r"(out), "r"(seed), "r"(loops)
		: "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rcx", "xmm3", "xmm12",
		  "xmm15", "memory", "cc");
	for (u64 i = 0; i < 8; i++)
		bad += out[i] != seed + i;
	for (u64 i = 8; i < 11; i++)
		bad += out[i] != seed;
	return bad;
}
#else
static u64 pattern(u64 seed, u64 loops)
{
	volatile double x = (double)seed;

	while (loops--)
		x = x + 1.0 - 1.0;
	return (u64)x != seed;
}
#endif

/* A busy computer may give the whole process too little time for all of them to have their turns by then. */
static int all_had_turns(void)
{
	struct weir_rt_stats stats;

	weir_rt_stats(&stats);
	if (stats.preemptions <= 8)
		return 0;
	for (int i = 0; i < 8; i++)
		if (!__atomic_load_n(&turns[i], __ATOMIC_RELAXED))
			return 0;
	return 1;
}

static void *computes(void *arg)
{
	u64 i = (u64)arg, n = 0;

	while (n % 16 || time_left() || !all_had_turns()) {
		__atomic_fetch_add(&corrupted, pattern(i * 0x0101010101ull + n, 20000),
				   __ATOMIC_RELAXED);
		__atomic_store_n(&turns[i], ++n, __ATOMIC_RELAXED);
	}
	return 0;
}

static void preempt(int green, const char *policy)
{
	weir_thread *t[8];
	struct weir_rt_stats stats;

	begin_with(policy, 0, 1000000);
	memset(turns, 0, sizeof(turns));
	corrupted = 0;
	run_for(seconds * 2);
	for (u64 i = 0; i < 8; i++)
		start(&t[i], green, computes, (void *)i);
	for (int i = 0; i < 8; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	weir_rt_stats(&stats);
	REQUIRE(!corrupted);
	printf("     %s, %s: %llu preemptions, %llu put off\n", policy, green ? "green" : "bound",
	       (unsigned long long)stats.preemptions, (unsigned long long)stats.deferred);
	end();
}

static void t_preemption(void)
{
	preempt(0, "rr1");
	if (!no_green) {
		preempt(1, "rr1");
		preempt(1, "decentral");
	}
}

/* A thread that never gives way does not keep a more urgent one out, which wakes by time. */
static u64 late, wakes;

static void *is_parked(void *arg)
{
	while (time_left())
		weir_thread_park();
	return arg;
}

static void *urgent(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++) {
		u64 at = weir_clock() + 3000000;

		weir_sleep_until(at);
		late += weir_clock() - at;
		wakes++;
	}
	time_is_over();
	return 0;
}

static void *hogs(void *arg)
{
	while (time_left())
		pattern((u64)arg, 20000);
	return 0;
}

static void t_priority(void)
{
	for (int kind = 0; kind < (no_green ? 1 : 2); kind++) {
		weir_thread *t[5];

		/* A slice that never ends: only the policy's word takes a thread off. */
		begin_with("priority1", 0, 1000000000000ull);
		late = wakes = 0;
		run_for(60);
		for (u64 i = 0; i < 4; i++) {
			struct weir_thread_attr attr = kind_of(kind);

			attr.given = 1 << WEIR_PRIORITY;
			attr.value[WEIR_PRIORITY] = 1;
			REQUIRE(!weir_thread_create(&t[i], &attr, hogs, (void *)i));
		}
		{
			struct weir_thread_attr attr = kind_of(kind);

			attr.given = 1 << WEIR_PRIORITY;
			attr.value[WEIR_PRIORITY] = 10;
			REQUIRE(!weir_thread_create(&t[4], &attr, urgent, 0));
		}
		for (int i = 0; i < 5; i++)
			REQUIRE(!weir_thread_join(t[i], 0));
		REQUIRE(wakes == 20);
		printf("     priority, %s: awake %.0f us late in the mean\n",
		       kind ? "green" : "bound", (double)late / 20e3);
		end();
	}
}

/* --- hand-over, disable, attributes --------------------------------------------------------------------------------------------- */

static weir_thread *partner[2];
static u64 balls, deals;

static void *plays(void *arg)
{
	u64 i = (u64)arg;

	for (u64 n = 0; n < 300; n++) {
		while (__atomic_load_n(&balls, __ATOMIC_ACQUIRE) % 2 != i)
			weir_thread_park();
		__atomic_fetch_add(&balls, 1, __ATOMIC_RELEASE);
		if (!weir_thread_hand_over(partner[!i]))
			__atomic_fetch_add(&deals, 1, __ATOMIC_RELAXED);
	}
	weir_thread_unpark(partner[!i]);
	return 0;
}

static void *starts_players(void *arg)
{
	for (u64 i = 0; i < 2; i++)
		start(&partner[i], *(int *)arg, plays, (void *)i);
	for (int i = 0; i < 2; i++)
		REQUIRE(!weir_thread_join(partner[i], 0));
	return 0;
}

static void t_hand_over(void)
{
	for (int kind = 0; kind < (no_green ? 1 : 2); kind++) {
		struct weir_rt_stats stats;
		weir_thread *t;

		begin_with("rr1", 0, 100000000);
		balls = deals = 0;
		start(&t, 0, starts_players, &kind);
		REQUIRE(!weir_thread_join(t, 0));
		weir_rt_stats(&stats);
		REQUIRE(balls == 600 && deals == stats.handovers && deals > 300);
		end();
	}
}

static void *keeps_cpu(void *arg)
{
	weir_thread *t = weir_thread_self();
	u64 was;

	(void)arg;
	weir_disable();
	was = weir_thread_deallocations(t);
	for (int i = 0; i < 200; i++)
		pattern(5, 20000);
	REQUIRE(weir_thread_deallocations(t) == was);
	weir_enable();
	/* The slice was over long ago. */
	while (weir_thread_deallocations(t) == was)
		pattern(5, 20000);
	time_is_over();
	return 0;
}

static void t_disable(void)
{
	for (int kind = 0; kind < (no_green ? 1 : 2); kind++) {
		weir_thread *t[2];

		begin_with("rr1", 0, 500000);
		run_for(60);
		start(&t[0], kind, keeps_cpu, 0);
		start(&t[1], kind, hogs, (void *)3);
		REQUIRE(!weir_thread_join(t[0], 0) && !weir_thread_join(t[1], 0));
		end();
	}
}

/* --- files ---------------------------------------------------------------------------------------------------------------------------- */

static int pairs[6][2];
static u64 echoed;

static void *echoes(void *arg)
{
	int fd = pairs[(u64)arg][1];
	char c[64];
	ssize_t n;

	while ((n = weir_read(fd, c, sizeof(c))) > 0)
		REQUIRE(weir_write(fd, c, (size_t)n) == n);
	REQUIRE(n == 0);
	return 0;
}

static void *asks(void *arg)
{
	int fd = pairs[(u64)arg][0];
	char c[8];

	for (u64 i = 0; i < 200; i++) {
		ssize_t n = 0;

		REQUIRE(weir_write(fd, &i, 8) == 8);
		while (n < 8) {
			ssize_t got = weir_read(fd, c + n, (size_t)(8 - n));

			REQUIRE(got > 0);
			n += got;
		}
		REQUIRE(!memcmp(c, &i, 8));
		__atomic_fetch_add(&echoed, 1, __ATOMIC_RELAXED);
	}
	shutdown(fd, SHUT_WR);
	return 0;
}

/* Runs on while others read: a read blocks its thread and not the CPU. */
static void *works(void *arg)
{
	(void)arg;
	while (time_left()) {
		pattern(9, 2000);
		__atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
		weir_thread_yield();
	}
	return 0;
}

static void *reads_pipe(void *arg)
{
	char c;

	REQUIRE(weir_read(*(int *)arg, &c, 1) == 1 && c == 'x');
	return 0;
}

static void t_files(void)
{
	weir_thread *t[12], *w, *r[2];
	int p[2][2];

	begin("decentral");
	echoed = 0;
	for (u64 i = 0; i < 6; i++) {
		REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]));
		start(&t[2 * i], (int)i, echoes, (void *)i);
		start(&t[2 * i + 1], (int)i + 1, asks, (void *)i);
	}
	for (int i = 0; i < 12; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	REQUIRE(echoed == 1200);
	for (int i = 0; i < 6; i++) {
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
	end();
	begin_with("rr1", 0, 1000000);
	rounds = 0;
	run_for(60);
	for (int i = 0; i < 2; i++) {
		REQUIRE(!pipe(p[i]));
		start(&r[i], i, reads_pipe, &p[i][0]);
	}
	start(&w, 1, works, 0);
	while (__atomic_load_n(&rounds, __ATOMIC_RELAXED) < 100)
		usleep(100);
	for (int i = 0; i < 2; i++) {
		REQUIRE(write(p[i][1], "x", 1) == 1);
		REQUIRE(!weir_thread_join(r[i], 0));
		close(p[i][0]);
		close(p[i][1]);
	}
	time_is_over();
	REQUIRE(!weir_thread_join(w, 0));
	/* As the system calls do. */
	REQUIRE(weir_read(-1, p, 1) == -1 && errno == EBADF);
	REQUIRE(weir_wait_fd(12345, POLLIN, WEIR_FOREVER) == -1 && errno == EBADF);
	end();
}

/* --- time -------------------------------------------------------------------------------------------------------------------------------- */

static void *sleeps(void *arg)
{
	u64 n = (u64)arg;

	for (u64 i = 0; i < 10; i++) {
		u64 from = weir_clock(), ns = 100000 + (n * 37 + i * 911) % 1900 * 1000;

		weir_sleep(ns);
		REQUIRE(weir_clock() - from >= ns);
	}
	__atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
	return 0;
}

static void t_sleep(void)
{
	enum { N = 40 };
	weir_thread *t[N];

	begin("decentral");
	sum = 0;
	for (u64 i = 0; i < N; i++)
		start(&t[i], (int)i, sleeps, (void *)i);
	for (int i = 0; i < N; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	REQUIRE(sum == N);
	end();
}

static double processor(const struct rusage *r)
{
	return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) +
	       1e-6 * (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec);
}

/*
 * With everybody asleep the CPUs are, too: nobody looks round, which shows as sleeps that end, and nobody spins, which shows as half
 * the time or more even on a busy machine. A sanitizer's own thread wakes ten times a second.
 */
static void t_idle(void)
{
	struct rusage a, b;
	weir_thread *t;

	begin("decentral");
	start(&t, 1, sleeps, 0);
	REQUIRE(!weir_thread_join(t, 0));
	/* The thread that looks for sleeping holders (runtimes/threads/watch.c) gives up, too, on a busy machine somewhat later. */
	usleep(150000);
	do {
		getrusage(RUSAGE_SELF, &a);
		usleep(500000);
		getrusage(RUSAGE_SELF, &b);
	} while (b.ru_nvcsw - a.ru_nvcsw >= 50 || processor(&b) - processor(&a) >= 0.25);
	end();
}

/* --- swaps under load -------------------------------------------------------------------------------------------------------------------------- */

static void *shifts(void *arg)
{
	u64 i = (u64)arg, n = 0;

	while (time_left()) {
		switch ((i + n++) % 5) {
		case 0:
			weir_sleep(50000);
			break;
		case 1:
			pattern(i, 5000);
			break;
		case 2:
			weir_mutex_lock(&mutex);
			plain++;
			weir_mutex_unlock(&mutex);
			__atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
			break;
		default:
			weir_thread_yield();
			break;
		}
	}
	return 0;
}

static void t_swap(void)
{
	static const char *const policies[] = { "decentral", "priority",  "central",
						"linux",     "worksteal", "edf" };
	enum { N = 16 };
	weir_thread *t[N];
	struct weir_rt_swapped swapped;
	struct weir_rt_stats stats;
	u64 swaps = 0, least = getenv("SWAPS") ? strtoull(getenv("SWAPS"), 0, 10) : 11;
	u64 enough = getenv("SWAPS") ? 0 : weir_clock() + (u64)(seconds * 3e9);

	begin("decentral");
	plain = rounds = 0;
	run_for(3600);
	if (!enough)
		alarm(3600);
	for (u64 i = 0; i < N; i++)
		start(&t[i], (int)i, shifts, (void *)i);
	while (swaps < least || weir_clock() < enough) {
		const char *next = policies[skip(policies[swaps % 6]) ? 0 : swaps % 6];

		REQUIRE(!weir_rt_swap_file(plan_file(next), &swapped));
		REQUIRE(!strcmp(weir_rt_policy(), next));
		swaps++;
		if (swaps % 16 == 0)
			usleep(2000);
	}
	time_is_over();
	/* What is refused changes nothing. */
	REQUIRE(weir_rt_swap_file(plan_file("rr1"), 0) == -EINVAL &&
		strstr(weir_rt_error(), "number of CPUs"));
	REQUIRE(weir_rt_swap_file("/dev/null", 0) == -EINVAL &&
		weir_rt_swap("none", 4, 0) == -EINVAL);
	for (int i = 0; i < N; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	weir_rt_stats(&stats);
	REQUIRE(plain == rounds && stats.swaps == swaps && !stats.faults && !stats.threads);
	printf("     %llu swaps under load\n", (unsigned long long)swaps);
	end();
}

/* --- what is wrong is refused ----------------------------------------------------------------------------------------------------------------- */

/* --- gangs ------------------------------------------------------------------------------------------------------- */

#define SAMPLE_NS 20000u

static int gang_number;
static u64 inside[2], outside[2], between[2], shortest[2];
static int gang_cpu[2];

/* The number in a file of a thread in /proc, behind @skip others; 0: there is none. */
static u64 number_in(const char *task, const char *name, int skip)
{
	char path[300], text[256];
	FILE *f;
	u64 n = 0;

	snprintf(path, sizeof(path), "%s/%s", task, name);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fgets(text, sizeof(text), f))
		for (char *at = text; skip-- >= 0;)
			n = strtoull(at, &at, 10);
	fclose(f);
	return n;
}

/* A thread that has a part in the end of a slot: the one that waits for timers, and a driver that acts for threads of other processes. */
static int ends_slots(const char *task)
{
	char path[300], text[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/comm", task);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return !strcmp(text, "weir-events\n") || (joined && !strcmp(text, "weir-driver\n"));
}

/* How long Linux has made those of process @pid wait for a processor, ns. */
static u64 held_up(pid_t pid)
{
	char folder_of[64], task[256];
	struct dirent *d;
	u64 ns = 0;
	DIR *dir;

	snprintf(folder_of, sizeof(folder_of), "/proc/%d/task", pid);
	dir = opendir(folder_of);
	REQUIRE(dir);
	while ((d = readdir(dir))) {
		snprintf(task, sizeof(task), "%s/%.20s", folder_of, d->d_name);
		if (ends_slots(task))
			ns += number_in(task, "schedstat", 1);
	}
	closedir(dir);
	return ns;
}

/* The same in all processes that have a part in the policy, and what the host took of the whole machine. */
static u64 disturbance(void)
{
	char name[16], text[256] = "";
	u64 words[8] = { 0 };
	FILE *f = fopen("/proc/stat", "r");

	REQUIRE(f && fgets(text, sizeof(text), f));
	fclose(f);
	sscanf(text, "%15s %lu %lu %lu %lu %lu %lu %lu %lu", name, &words[0], &words[1], &words[2],
	       &words[3], &words[4], &words[5], &words[6], &words[7]);
	return held_up(getpid()) + (joined ? held_up(server) : 0) +
	       words[7] * 1000000000ull / (u64)sysconf(_SC_CLK_TCK);
}

/* Counts in which slots it runs; what it does there takes far less than a slot. */
static void *belongs(void *arg)
{
	u64 own = (u64)arg, from, until_ns, before = 0;

	REQUIRE(!weir_gang_join(gang_number, (unsigned)own));
	weir_sleep(20000000); /* its slots are in force by then */
	gang_cpu[own] = weir_thread_cpu(weir_thread_self());
	while (time_left() || !inside[own]) {
		u64 at = weir_clock();

		REQUIRE(!weir_gang_slot(gang_number, at, &from, &until_ns));
		REQUIRE(until_ns - from == 20000000 && at < until_ns);
		if (at - before < shortest[own])
			shortest[own] = at - before;
		before = at;
		if (at >= from)
			inside[own]++;
		else if (from - at < 39000000)
			outside[own]++;
		else
			between[own]++; /* the slot has just ended, and the CPU is on its way */
		for (u64 spin = weir_clock() + SAMPLE_NS; weir_clock() < spin;)
			;
	}
	REQUIRE(!weir_gang_leave());
	return 0;
}

static void t_gangs(void)
{
	static const char manifest[] = "name pair\nthreads 2\noutside wait\nH 20 60\nB 0\n";
	weir_thread *t[2];
	u64 from, to, late;

	REQUIRE(weir_gang_open(manifest, sizeof(manifest) - 1) == -EINVAL);
	begin("decentral");
	REQUIRE(weir_gang_open(manifest, sizeof(manifest) - 1) == -ENOTSUP);
	end();
	begin("gang");
	REQUIRE(weir_gang_open("H 3", 3) == -EINVAL && strstr(weir_rt_error(), "line 1, column 1"));
	REQUIRE(weir_gang_open("threads 4\nH 1 2\n", 16) == -EBUSY);
	gang_number = weir_gang_open(manifest, sizeof(manifest) - 1);
	REQUIRE(gang_number >= 0);
	REQUIRE(weir_gang_take(3) == -ENOENT && weir_gang_take(2) == gang_number &&
		weir_gang_take(2) == -ENOENT);
	weir_gang_return(gang_number);
	memset(inside, 0, sizeof(inside));
	memset(outside, 0, sizeof(outside));
	shortest[0] = shortest[1] = ~0ull;
	run_for(seconds + 0.4);
	late = disturbance();
	for (u64 i = 0; i < 2; i++)
		REQUIRE(!weir_thread_create(&t[i], 0, belongs, (void *)i));
	for (int i = 0; i < 2; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	late = disturbance() - late;
	/*
	 * By chance there would be twice as many outside. The policy decides; it is late by as much as the threads are by which it is carried out,
	 * but then there are as many inside at least.
	 */
	for (int i = 0; i < 2; i++) {
		u64 excused = late / shortest[i];

		REQUIRE(outside[i] <= inside[i] / 5 + (excused < inside[i] ? excused : inside[i]));
	}
	printf("     gangs: %llu and %llu samples outside of %llu and %llu; held up for %.1f ms\n",
	       (unsigned long long)outside[0], (unsigned long long)outside[1],
	       (unsigned long long)inside[0], (unsigned long long)inside[1], (double)late / 1e6);
	REQUIRE(gang_cpu[0] >= 0 && gang_cpu[1] >= 0 && gang_cpu[0] != gang_cpu[1]);
	REQUIRE(!weir_gang_phase(gang_number, 1) && weir_gang_phase(gang_number, 2) == -EINVAL);
	REQUIRE(weir_gang_slot(gang_number, 0, &from, &to) == -ENOENT);
	REQUIRE(!weir_gang_close(gang_number) && weir_gang_close(gang_number) == -EINVAL);
	REQUIRE(weir_gang_join(gang_number, 0) == -EINVAL);
	end();
}

/* Groups of one gang, each in its own phase. */
static weir_barrier grouped;
static u64 free_samples;

/* The length of the caller's slots, ns; 0: its phase is best effort. */
static u64 slot_length(void)
{
	u64 from, until_ns;
	int err = weir_gang_slot(gang_number, weir_clock(), &from, &until_ns);

	REQUIRE(!err || err == -ENOENT);
	return err ? 0 : until_ns - from;
}

/* Member 1 changes groups and phases, and both look at what became of theirs. */
static void *regroups(void *arg)
{
	/* What member 1 does before each look, and the slots of both after it, ms. */
	static const struct {
		unsigned merge, split, phase, ms[2];
	} step[] = { { 0, 0, 1, { 20, 0 } },  { 0, 0, 2, { 20, 10 } }, { 1, 0, 1, { 0, 0 } },
		     { 0, 1, 0, { 20, 10 } }, { 1, 0, 2, { 10, 10 } }, { 0, 1, 0, { 20, 10 } } };
	u64 own = (u64)arg;

	REQUIRE(!weir_gang_join(gang_number, (unsigned)own));
	if (own)
		REQUIRE(!weir_gang_group(1) && weir_gang_group(16) == -EINVAL);
	for (unsigned i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		weir_barrier_wait(&grouped);
		if (own && step[i].merge)
			REQUIRE(!weir_gang_merge(gang_number, 3, 7, step[i].phase));
		else if (own && step[i].split)
			REQUIRE(!weir_gang_split(gang_number, 7) &&
				weir_gang_split(gang_number, 7) == -EINVAL);
		else if (own)
			REQUIRE(!weir_gang_phase(gang_number, step[i].phase));
		weir_barrier_wait(&grouped);
		REQUIRE(slot_length() == step[i].ms[own] * 1000000ull);
	}
	REQUIRE(weir_gang_merge(gang_number, 1, 16, 0) == -EINVAL &&
		weir_gang_phase(gang_number, 3) == -EINVAL);
	REQUIRE(!weir_gang_leave());
	return 0;
}

/* It is best effort, in a group of its own, and counts what it does outside of its neighbour's slots. */
static void *is_free(void *arg)
{
	u64 from = *(u64 *)arg;

	REQUIRE(!weir_gang_join(gang_number, 1) && !weir_gang_group(1) &&
		!weir_gang_phase(gang_number, 1));
	weir_sleep(20000000);
	while (time_left() || !free_samples)
		if ((weir_clock() - from) % 60000000 > 20000000)
			free_samples++;
	REQUIRE(!weir_gang_leave());
	return 0;
}

static void t_groups(void)
{
	static const char manifest[] =
		"name halves\nthreads 2\noutside wait\nH 20 60\nB 0\nH 10 60\n";
	weir_thread *t[2];
	u64 from, to;

	begin("gang");
	gang_number = weir_gang_open(manifest, sizeof(manifest) - 1);
	REQUIRE(gang_number >= 0);
	grouped = (weir_barrier)WEIR_BARRIER_INIT(2);
	for (u64 i = 0; i < 2; i++)
		REQUIRE(!weir_thread_create(&t[i], 0, regroups, (void *)i));
	for (int i = 0; i < 2; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	/* The policy obeys: one has slots only, the other all the time that is left. */
	memset(inside, 0, sizeof(inside));
	memset(outside, 0, sizeof(outside));
	shortest[0] = ~0ull;
	free_samples = 0;
	run_for(seconds + 0.4);
	REQUIRE(!weir_gang_slot(gang_number, weir_clock(), &from, &to));
	REQUIRE(!weir_thread_create(&t[0], 0, belongs, 0));
	REQUIRE(!weir_thread_create(&t[1], 0, is_free, &from));
	for (int i = 0; i < 2; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	printf("     groups: %llu samples outside of slots beside %llu inside; %llu of the other "
	       "group\n",
	       (unsigned long long)outside[0], (unsigned long long)inside[0],
	       (unsigned long long)free_samples);
	REQUIRE(outside[0] <= inside[0]);
	REQUIRE(!weir_gang_close(gang_number));
	end();
}

/* --- traces ------------------------------------------------------------------------------------------------------ */

static void t_trace(void)
{
	char name[] = "/tmp/weir-trace-XXXXXX", *text;
	int fd = mkstemp(name), yields = 0, ends = 0;
	weir_thread *t[4];
	off_t size;

	REQUIRE(fd >= 0 && weir_rt_trace(name) == -EINVAL);
	begin("priority");
	REQUIRE(weir_rt_trace("/nowhere/trace.json") == -ENOENT &&
		strstr(weir_rt_error(), "/nowhere/trace.json"));
	REQUIRE(weir_rt_trace_end() == -EINVAL);
	REQUIRE(!weir_rt_trace(name) && weir_rt_trace(name) == -EBUSY);
	for (int i = 0; i < 4; i++)
		start(&t[i], i, adds, (void *)1);
	for (int i = 0; i < 4; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	end(); /* writes it */
	size = lseek(fd, 0, SEEK_END);
	text = calloc(1, (size_t)size + 1);
	REQUIRE(text && pread(fd, text, (size_t)size, 0) == size);
	for (const char *at = text; (at = strstr(at, "\"left\":\"")); at++) {
		yields += !strncmp(at, "\"left\":\"yield\"", 14);
		ends += !strncmp(at, "\"left\":\"ended\"", 14);
	}
	/* A thread that yields and comes back at once has left its CPU, too. */
	REQUIRE(yields == 4 * 50 && ends == 4);
	REQUIRE(!strncmp(text, "{\"displayTimeUnit\"", 18) && !strcmp(text + size - 3, "]}\n") &&
		strstr(text, "\"CPU 2\""));
	free(text);
	close(fd);
	unlink(name);
}

/* --- what `runweir top` asks for ---------------------------------------------------------------------------------- */

static int door(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int n = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "runweir-threads-%d", getpid());
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	REQUIRE(fd >= 0);
	if (!connect(fd, (struct sockaddr *)&at,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
		return fd;
	close(fd);
	return -1;
}

/* The answer to @question, to be freed. */
static char *ask(const char *question)
{
	size_t got = 0, room = 1 << 20;
	char *text = malloc(room);
	int fd = door();
	ssize_t n;

	REQUIRE(text && fd >= 0 &&
		write(fd, question, strlen(question)) == (ssize_t)strlen(question));
	while ((n = read(fd, text + got, room - 1 - got)) > 0)
		got += (size_t)n;
	close(fd);
	text[got] = 0;
	REQUIRE(got && text[got - 1] == '\n');
	return text;
}

static int times(const char *text, const char *words)
{
	int n = 0;

	for (const char *at = text; (at = strstr(at, words)); at++)
		n++;
	return n;
}

static u64 total_of(const char *text, const char *name)
{
	u64 all = 0;

	for (const char *at = text; (at = strstr(at, name)); at++)
		all += strtoull(at + strlen(name), 0, 10);
	return all;
}

static void t_status(void)
{
	enum { N = 9 };
	struct weir_thread_attr attr;
	weir_thread *t[N];
	pid_t child;
	char *text;
	int idle;

	begin("priority");
	run_for(60);
	for (u64 i = 0; i < N; i++) {
		attr = kind_of((int)i);
		attr.given = 1 << WEIR_PRIORITY;
		attr.value[WEIR_PRIORITY] = i ? 1 : 10;
		REQUIRE(!weir_thread_create(&t[i], &attr, i ? hogs : is_parked, (void *)i));
	}
	/* Until the most urgent one has got a CPU. */
	do {
		text = ask("{\"verb\":\"status\"}\n");
		idle = !strstr(text, "\"state\":\"blocked\"");
		free(text);
	} while (idle || weir_thread_deallocations(t[0]) < 1);
	/* One that says nothing holds the others up for a second. */
	idle = door();
	text = ask(" { \"verb\" : \"status\" } \n");
	close(idle);
	REQUIRE(!strncmp(text, "{\"ok\":true,\"result\":{", 21));
	REQUIRE(strstr(text, "\"topology\":\"priority\"") && strstr(text, "\"nr_cpus\":3,"));
	REQUIRE(times(text, "\"tgid\":") == N && times(text, "\"state\":\"running\"") <= 3);
	REQUIRE(strstr(text, "\"state\":\"waiting\"") && strstr(text, "\"state\":\"blocked\""));
	REQUIRE(times(text, "\"curr\":") == 3 && strstr(text, "\"from\":\"entry\""));
	/* For a second, three CPUs were busy and the others waited. */
	REQUIRE(total_of(text, "\"run_ns\":") > 1500000000 &&
		total_of(text, "\"wait_ns\":") > 1500000000);
	free(text);
	for (int i = 0; i < 2; i++) {
		text = ask(i ? "status\n" : "{\"verb\":\"stop\"}\n");
		REQUIRE(strstr(text, "\"ok\":false") && strstr(text, "\"kind\":\"input\""));
		free(text);
	}
	REQUIRE(!weir_rt_swap_file(plan_file("decentral"), 0));
	text = ask("{\"verb\":\"status\"}\n");
	REQUIRE(strstr(text, "\"topology\":\"decentral\"") &&
		strstr(text, "\"from\":\"priority\""));
	free(text);
	/* A child has no runtime, and does not answer in its parent's place. */
	child = no_green ? 0 : fork();
	if (!no_green && !child) {
		pause();
		_exit(0);
	}
	time_is_over();
	weir_thread_unpark(t[0]);
	for (int i = 0; i < N; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	end();
	REQUIRE(door() < 0);
	if (child)
		kill(child, SIGKILL), waitpid(child, 0, 0);
	begin_with("priority", WEIR_RT_PRIVATE, 0);
	REQUIRE(door() < 0);
	end();
}

/* --- words, and attributes of others ---------------------------------------------------------------------------- */

static uint32_t flag;

static void *waits_on(void *arg)
{
	while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
		weir_wait_on(&flag, 0, WEIR_FOREVER);
	return arg;
}

static void *is_like(void *arg)
{
	REQUIRE(!weir_thread_like(arg) && !weir_thread_like(arg));
	REQUIRE(weir_thread_like(weir_thread_self()) == -EINVAL);
	REQUIRE(weir_thread_cpu(weir_thread_self()) >= 0);
	return 0;
}

static void t_words(void)
{
	weir_thread *t[6], *other;
	pthread_t p;

	begin("priority");
	flag = 0;
	REQUIRE(weir_wait_on(&flag, 1, WEIR_FOREVER) == -EAGAIN);
	REQUIRE(weir_wait_on(&flag, 0, weir_clock() + 1000000) == -ETIMEDOUT);
	for (int i = 0; i < 6; i++)
		start(&t[i], i, waits_on, 0);
	/* One that is not a thread of the runtime. */
	REQUIRE(!pthread_create(&p, 0, waits_on, 0));
	usleep(5000);
	__atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
	weir_wake_on(&flag, 100);
	for (int i = 0; i < 6; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	REQUIRE(!pthread_join(p, 0));
	run_for(60);
	start(&other, 0, hogs, 0);
	REQUIRE(!weir_thread_set(other, WEIR_PRIORITY, 7, 0));
	start(&t[0], 0, is_like, other);
	REQUIRE(!weir_thread_join(t[0], 0));
	time_is_over();
	REQUIRE(!weir_thread_join(other, 0));
	end();
}

static void *says(void *arg)
{
	u64 tenant = (u64)arg, heard = 99;

	REQUIRE(!weir_thread_publish(weir_thread_self(), "TENANT", &tenant, 1));
	weir_thread_yield();
	REQUIRE(weir_thread_request(weir_thread_self(), "TENANT", &heard, 1) == 1 &&
		heard == tenant);
	REQUIRE(weir_thread_request(weir_thread_self(), "TENANT", 0, 0) == 1);
	return 0;
}

/* A topic that the framework does not know: programs publish it and ask for it. */
static void t_topics(void)
{
	u64 words[2] = { 1, 2 }, heard = 99;
	weir_thread *t[6];

	REQUIRE(weir_thread_publish(0, "TENANT", words, 1) == -EINVAL);
	begin("tenants");
	if (joined) {
		REQUIRE(weir_thread_publish(0, "TENANT", words, 1) == -ENOTSUP);
		REQUIRE(weir_thread_request(0, "TENANT", words, 1) == -ENOTSUP);
		end();
		return;
	}
	for (int i = 0; i < 6; i++)
		start(&t[i], i, says, (void *)(u64)(i % 3));
	for (int i = 0; i < 6; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	run_for(60);
	start(&t[0], 0, hogs, 0);
	/* From outside, about another. */
	REQUIRE(weir_thread_request(t[0], "TENANT", &heard, 1) == 1 && heard == 0);
	REQUIRE(!weir_thread_publish(t[0], "TENANT", words + 1, 1));
	REQUIRE(weir_thread_request(t[0], "TENANT", &heard, 1) == 1 && heard == 2);
	REQUIRE(weir_thread_publish(t[0], "TENANT", words, 2) == -EINVAL);
	REQUIRE(weir_thread_publish(t[0], "TENANTS", words, 1) == -ENOENT);
	REQUIRE(weir_thread_request(0, "TENANT", words, 1) == -EINVAL);
	REQUIRE(weir_thread_request(t[0], 0, words, 1) == -EINVAL);
	time_is_over();
	REQUIRE(!weir_thread_join(t[0], 0));
	end();
	begin("decentral");
	REQUIRE(weir_thread_publish(0, "TENANT", words, 1) == -ENOENT);
	end();
}

/* An accelerator: it adds @by to a counter so many times, three at a time, and gives way in between. */
struct sums {
	u64 left, by, sum, given;
	u64 ended; /* (a) */
};

static u64 served;

static void *serves(void *arg)
{
	unsigned cpu = (unsigned)(u64)arg;
	struct weir_work work;
	int err;

	REQUIRE(!weir_foreign_take(cpu) && weir_foreign_take(cpu) == -EBUSY);
	while (!(err = weir_foreign_pick(cpu, WEIR_FOREVER, &work))) {
		struct sums *s = work.context;

		REQUIRE(weir_foreign_pick(cpu, 0, &work) == -EINVAL && work.slice_ns > 0);
		REQUIRE(weir_foreign_drop(cpu) == -EBUSY);
		if (work.thread)
			REQUIRE(weir_thread_cpu(work.thread) == (int)cpu);
		for (int i = 0; i < 3 && s->left; i++, s->left--)
			s->sum += s->by;
		s->given++;
		__atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
		if (!s->left && !work.thread)
			__atomic_store_n(&s->ended, 1, __ATOMIC_RELEASE);
		REQUIRE(!weir_foreign_give(cpu, !s->left));
		REQUIRE(weir_foreign_give(cpu, 1) == -EINVAL && !weir_foreign_must_go(cpu));
	}
	REQUIRE(err == -ECANCELED && weir_foreign_drop(cpu) == -EINVAL);
	return 0;
}

static void *offloads(void *arg)
{
	for (u64 i = 1; i <= 200; i++) {
		struct sums s = { .left = i % 10 + 1, .by = i };

		REQUIRE(!weir_thread_foreign((unsigned)(u64)arg, &s));
		REQUIRE(!s.left && s.sum == (i % 10 + 1) * i && s.given == (i % 10 + 3) / 3);
		/* It is on a CPU of its own kind again. */
		REQUIRE(!weir_rt_isa((unsigned)weir_thread_cpu(weir_thread_self())));
	}
	return 0;
}

/* Processing elements that the program serves (source 0, listing 8.1): by a thread beside the runtime, and by one of it. */
static void t_foreign(void)
{
	struct sums work[20] = { 0 };
	pthread_t outside;
	weir_thread *t[6], *inside;
	int first = -1, isa = 0;
	struct weir_work w;

	REQUIRE(weir_foreign_take(0) == -EINVAL && weir_rt_isa(0) == -EINVAL);
	if (joined)
		return;
	begin("accelerator");
	for (int i = 0; weir_rt_isa((unsigned)i) >= 0; i++)
		if (first < 0 && weir_rt_isa((unsigned)i)) {
			first = i;
			isa = weir_rt_isa((unsigned)i);
		}
	REQUIRE(first > 0 && weir_rt_isa((unsigned)first + 1) == isa);
	REQUIRE(weir_foreign_take(0) == -EINVAL && weir_foreign_take(99) == -EINVAL);
	REQUIRE(weir_foreign_pick((unsigned)first, 0, &w) == -EINVAL);
	REQUIRE(weir_foreign_submit(0, 0, 0) == -EINVAL && weir_foreign_submit(9, 0, 0) == -EINVAL);
	REQUIRE(weir_thread_foreign((unsigned)isa, 0) == -EINVAL);
	REQUIRE(!weir_foreign_take((unsigned)first));
	REQUIRE(weir_foreign_pick((unsigned)first, weir_clock() + 1000000, &w) == -ETIMEDOUT);
	REQUIRE(weir_rt_close() == -EBUSY && strstr(weir_rt_error(), "weir_foreign_cancel"));
	REQUIRE(!weir_foreign_drop((unsigned)first));
	served = 0;
	REQUIRE(!pthread_create(&outside, 0, serves, (void *)(u64)first));
	REQUIRE(!weir_thread_create(&inside, 0, serves, (void *)(u64)(first + 1)));
	for (int i = 0; i < 6; i++)
		start(&t[i], i, offloads, (void *)(u64)isa);
	for (int i = 0; i < 20; i++) {
		work[i] = (struct sums){ .left = 10, .by = 1 };
		REQUIRE(!weir_foreign_submit((unsigned)isa, &work[i], 0));
	}
	for (int i = 0; i < 6; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	for (int i = 0; i < 20; i++) {
		while (!__atomic_load_n(&work[i].ended, __ATOMIC_ACQUIRE))
			usleep(100);
		REQUIRE(work[i].sum == 10 && work[i].given == 4);
	}
	/* 200 sets of 6 threads, each of 1 to 10 sums, three a time. */
	REQUIRE(served == 6 * 20 * (1 + 1 + 1 + 2 + 2 + 2 + 3 + 3 + 3 + 4) + 20 * 4);
	REQUIRE(!weir_foreign_cancel((unsigned)first) && !weir_foreign_cancel((unsigned)first + 1));
	REQUIRE(!pthread_join(outside, 0) && !weir_thread_join(inside, 0));
	end();
	begin("decentral");
	REQUIRE(weir_rt_isa(0) == 0 && weir_foreign_take(0) == -EINVAL);
	REQUIRE(weir_foreign_submit(1, 0, 0) == -EINVAL);
	end();
}

static void *nothing(void *arg)
{
	return arg;
}

static void *adopted(void *arg)
{
	struct weir_thread_attr attr = { .given = 1 << WEIR_PRIORITY,
					 .value = { [WEIR_PRIORITY] = 3 } };

	REQUIRE(!weir_thread_self() && !weir_thread_adopt(&attr) && weir_thread_self());
	REQUIRE(weir_thread_adopt(0) == -EINVAL);
	weir_thread_yield();
	weir_sleep(100000);
	weir_blocking_begin();
	usleep(1000);
	weir_blocking_end();
	REQUIRE(!weir_thread_set(weir_thread_self(), WEIR_PRIORITY, 5, 0));
	REQUIRE(!weir_thread_leave() && !weir_thread_self());
	return arg;
}

static void t_refusals(void)
{
	struct weir_rt_config config = { 0 };
	weir_thread *t;
	pthread_t p;

	REQUIRE(weir_rt_open(0) == -EINVAL && weir_rt_open(&config) == -EINVAL &&
		weir_rt_close() == -EINVAL);
	REQUIRE(weir_thread_create(&t, 0, nothing, 0) == -EINVAL);
	config.slice_ns = 10000;
	REQUIRE(weir_rt_open(&config) == -EINVAL && strstr(weir_rt_error(), "50 us"));
	config.slice_ns = 0;
	config.plan_file = "/nowhere/x.plan";
	REQUIRE(weir_rt_open(&config) == -ENOENT && strstr(weir_rt_error(), "/nowhere/x.plan"));
	config.plan_file = plan_file("wide");
	REQUIRE(weir_rt_open(&config) == -EINVAL && strstr(weir_rt_error(), "-m smp-"));
	begin("priority");
	config.plan_file = plan_file("decentral");
	REQUIRE(weir_rt_open(&config) == -EBUSY);
	REQUIRE(weir_thread_create(&t, 0, 0, 0) == -EINVAL && weir_thread_join(0, 0) == -EINVAL);
	REQUIRE(weir_thread_set(0, WEIR_PRIORITY, 0, 0) == -EINVAL &&
		weir_thread_leave() == -EINVAL);
	run_for(60);
	REQUIRE(!weir_thread_create(&t, 0, hogs, 0));
	REQUIRE(weir_rt_close() == -EBUSY &&
		weir_thread_set(t, WEIR_NR_ATTRIBUTES, 0, 0) == -EINVAL);
	time_is_over();
	REQUIRE(!weir_thread_join(t, 0));
	for (int i = 0; i < 3; i++) {
		REQUIRE(!pthread_create(&p, 0, adopted, 0) && !pthread_join(p, 0));
	}
	/* Nobody joins these. */
	for (int i = 0; i < 20; i++)
		start(0, i, nothing, 0);
	for (struct weir_rt_stats stats = { .threads = 1 }; stats.threads; usleep(1000))
		weir_rt_stats(&stats);
	end();
}

/* --- a stack that is used up -------------------------------------------------------------------------------------- */

/* A frame is larger than a page: the first touch may be far below the stack's end. */
static int deep(int n)
{
	volatile char frame[20000];

	frame[0] = (char)n;
	return n ? deep(n - 1) + frame[0] : frame[0];
}

static void *too_deep(void *arg)
{
	return (void *)(long)deep((int)(long)arg);
}

static void *at_nowhere(void *arg)
{
	*(volatile int *)arg = 1;
	return 0;
}

static void own_handler(int sig)
{
	_exit(sig == SIGSEGV ? 7 : 8);
}

/* What a child in which a thread of kind @i runs @run says and ends with. */
static int fault(int i, void *(*run)(void *), void *arg, int handler, char *said, size_t room)
{
	struct rlimit none = { 0 };
	int out[2], status;
	ssize_t n;
	size_t had = 0;
	pid_t child;

	REQUIRE(!pipe(out));
	child = fork();
	REQUIRE(child >= 0);
	if (!child) {
		const struct sigaction action = { .sa_handler = own_handler,
						  .sa_flags = SA_ONSTACK };
		weir_thread *t;

		dup2(out[1], STDERR_FILENO);
		setrlimit(RLIMIT_CORE, &none);
		if (handler)
			sigaction(SIGSEGV, &action, 0);
		begin("decentral");
		start(&t, i, run, arg);
		weir_thread_join(t, 0);
		_exit(0);
	}
	close(out[1]);
	while ((n = read(out[0], said + had, room - 1 - had)) > 0)
		had += n;
	said[had] = 0;
	close(out[0]);
	REQUIRE(waitpid(child, &status, 0) == child);
	return status;
}

static void t_overflow(void)
{
	char said[1024];
	int status;

	if (no_green)
		return;
	REQUIRE(!fault(1, too_deep, (void *)4, 0, said, sizeof(said)) && !said[0]);
	status = fault(1, too_deep, (void *)40, 0, said, sizeof(said));
	REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	REQUIRE(strstr(said, "stack overflow: its 128 KiB are used up"));
	/* Other faults are no matter of the stack. */
	status = fault(1, at_nowhere, 0, 0, said, sizeof(said));
	REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && !said[0]);
	status = fault(0, at_nowhere, 0, 0, said, sizeof(said));
	REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && !said[0]);
	/* The program's own handler stays. */
	status = fault(1, too_deep, (void *)40, 1, said, sizeof(said));
	REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7 && !said[0]);
}

static const struct test {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "create", t_create },	      { "crossing", t_crossing },
	{ "mutex", t_mutex },	      { "semaphore", t_semaphore },
	{ "condition", t_condition }, { "barrier", t_barrier },
	{ "channel", t_channel },     { "preemption", t_preemption },
	{ "priority", t_priority },   { "hand-over", t_hand_over },
	{ "disable", t_disable },     { "files", t_files },
	{ "sleep", t_sleep },	      { "idle", t_idle },
	{ "swap", t_swap },	      { "gangs", t_gangs },
	{ "groups", t_groups },	      { "words", t_words },
	{ "trace", t_trace },	      { "status", t_status },
	{ "topics", t_topics },	      { "foreign", t_foreign },
	{ "refusals", t_refusals },   { "overflow", t_overflow },
};

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: threads FOLDER SECONDS [TEST...]\n");
		return 2;
	}
	setvbuf(stdout, 0, _IOLBF, 0);
	folder = argv[1];
	seconds = atof(argv[2]);
#ifdef __SANITIZE_THREAD__
	no_green = 1;
#endif
	if (getenv("NO_GREEN"))
		no_green = 1;
	joined = getenv("JOINED") != 0;
	no_green |= joined;
	if (getenv("COOPERATIVE"))
		more_flags = WEIR_RT_COOPERATIVE;
	for (unsigned i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		int wanted = argc == 3;

		for (int k = 3; k < argc; k++)
			wanted |= !strcmp(argv[k], tests[i].name);
		/* Another process has the state that this one asks for. */
		if (!wanted || (joined && tests[i].run == t_status))
			continue;
		alarm(120);
		tests[i].run();
		printf("ok   threads: %s\n", tests[i].name);
	}
	return 0;
}
