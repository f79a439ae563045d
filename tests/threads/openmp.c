/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An OpenMP program, for the library with GOMP's interface and for libgomp itself: `openmp [ROUNDS]`. Each test computes something whose result is
 * known. It prints the number of tests, and one line at the end; what fails says where.
 */
#include <omp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUIRE(cond)                                                              \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "openmp: line %d: %s\n", __LINE__, #cond); \
			abort();                                                   \
		}                                                                  \
	} while (0)

#define N 5000

static int rounds = 3, nr_tests;
static int seen[N];
static long plain;
static __thread long native;
static long kept;
#pragma omp threadprivate(kept)

static void clear(void)
{
	memset(seen, 0, sizeof(seen));
}

static void all_once(int n)
{
	for (int i = 0; i < n; i++)
		REQUIRE(seen[i] == 1);
}

/* --- regions ---------------------------------------------------------------------------------------------------- */

static void regions(void)
{
	int nr = 0, sum = 0;

	REQUIRE(!omp_in_parallel() && omp_get_num_threads() == 1 && omp_get_thread_num() == 0);
	for (int n = 1; n <= 6; n++) {
		nr = sum = 0;
#pragma omp parallel num_threads(n) reduction(+ : nr, sum)
		{
			nr++;
			sum += omp_get_thread_num();
			REQUIRE(omp_get_num_threads() == n && omp_get_level() == 1);
		}
		REQUIRE(nr == n && sum == n * (n - 1) / 2);
	}
	/* Larger and smaller in turn. */
	for (int i = 0; i < 20 * rounds; i++) {
		int n = 1 + i * 7 % 5;

		nr = 0;
#pragma omp parallel num_threads(n)
		{
#pragma omp atomic
			nr++;
		}
		REQUIRE(nr == n);
	}
#pragma omp parallel if (0)
	REQUIRE(omp_get_num_threads() == 1 && !omp_in_parallel());
	omp_set_num_threads(3);
	REQUIRE(omp_get_max_threads() == 3);
#pragma omp parallel
	{
		REQUIRE(omp_get_num_threads() == 3);
#pragma omp barrier
#pragma omp master
		omp_set_num_threads(7); /* of that task alone */
	}
	REQUIRE(omp_get_max_threads() == 3);
}

static void barriers(void)
{
	int shared[8] = { 0 };

#pragma omp parallel num_threads(4)
	{
		int id = omp_get_thread_num();

		for (int i = 0; i < 100 * rounds; i++) {
			shared[id] = i;
#pragma omp barrier
			for (int k = 0; k < 4; k++)
				REQUIRE(shared[k] == i);
#pragma omp barrier
		}
	}
}

static void private_of_threads(void)
{
#pragma omp parallel num_threads(4)
	{
		kept = 100 + omp_get_thread_num();
		native = kept;
	}
#pragma omp parallel num_threads(4)
	REQUIRE(kept == 100 + omp_get_thread_num() && native == kept);
	kept = 5;
#pragma omp parallel num_threads(4) copyin(kept)
	REQUIRE(kept == 5);
}

static void nested(void)
{
	int leaves = 0;

	omp_set_max_active_levels(3);
#pragma omp parallel num_threads(2)
	{
		int outer = omp_get_thread_num();

		for (int i = 0; i < 5; i++) {
#pragma omp parallel num_threads(3)
			{
				REQUIRE(omp_get_level() == 2 && omp_get_active_level() == 2);
				REQUIRE(omp_get_ancestor_thread_num(1) == outer);
				REQUIRE(omp_get_team_size(1) == 2 && omp_get_team_size(2) == 3);
				REQUIRE(omp_get_ancestor_thread_num(0) == 0);
#pragma omp atomic
				leaves++;
			}
		}
	}
	REQUIRE(leaves == 30);
	omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
	{
#pragma omp parallel num_threads(3)
		REQUIRE(omp_get_num_threads() == 1 && omp_get_level() == 2 &&
			omp_get_active_level() == 1);
	}
}

/* --- loops -------------------------------------------------------------------------------------------------------- */

static void loops(void)
{
	static const omp_sched_t kinds[] = { omp_sched_static, omp_sched_dynamic, omp_sched_guided,
					     omp_sched_auto };
	omp_sched_t kind;
	int chunk, last = 0;
	long sum = 0;

#define TRY(clause)                                         \
	clear();                                            \
	_Pragma("omp parallel num_threads(4)")              \
	{                                                   \
		_Pragma(clause) for (int i = 0; i < N; i++) \
		{                                           \
			_Pragma("omp atomic") seen[i]++;    \
		}                                           \
	}                                                   \
	all_once(N)
	TRY("omp for schedule(static)");
	TRY("omp for schedule(static, 7)");
	TRY("omp for schedule(dynamic)");
	TRY("omp for schedule(dynamic, 13)");
	TRY("omp for schedule(monotonic : dynamic, 13)");
	TRY("omp for schedule(nonmonotonic : dynamic, 3)");
	TRY("omp for schedule(guided)");
	TRY("omp for schedule(guided, 5)");
	TRY("omp for schedule(monotonic : guided)");
	TRY("omp for schedule(auto)");
	TRY("omp for schedule(dynamic) nowait");
	for (int k = 0; k < 4; k++)
		for (int c = 0; c < 20; c += 9) {
			omp_set_schedule(kinds[k], c);
			omp_get_schedule(&kind, &chunk);
			REQUIRE(kind == kinds[k]);
			TRY("omp for schedule(runtime)");
			TRY("omp for schedule(nonmonotonic : runtime)");
			TRY("omp for schedule(monotonic : runtime)");
		}
	/* Combined with the region, backwards, with a step, with a value after it. */
	for (int r = 0; r < 10 * rounds; r++) {
		clear();
		sum = 0;
#pragma omp parallel for num_threads(3) schedule(dynamic, 4) reduction(+ : sum) lastprivate(last)
		for (int i = N - 1; i >= 0; i -= 3) {
			seen[i] = 1;
			sum += i;
			last = i;
		}
		REQUIRE(last == (N - 1) % 3);
		for (int i = N - 1; i >= 0; i -= 3)
			sum -= i;
		REQUIRE(!sum);
	}
#pragma omp parallel for num_threads(3) schedule(guided) reduction(+ : sum)
	for (long i = -1000; i < 1000; i += 7)
		sum += i;
	for (long i = -1000; i < 1000; i += 7)
		sum -= i;
	REQUIRE(!sum);
#pragma omp parallel for num_threads(3) schedule(runtime) reduction(+ : sum)
	for (int i = 0; i < 1000; i++)
		sum += i;
	REQUIRE(sum == 499500);
	/* No iterations at all. */
#pragma omp parallel for num_threads(3) schedule(dynamic)
	for (int i = 5; i < last - 10; i++)
		abort();
	/* Outside of a region. */
	clear();
#pragma omp for schedule(dynamic, 3)
	for (int i = 0; i < N; i++)
		seen[i]++;
	all_once(N);
}

static void large_loops(void)
{
	unsigned long long most = ~0ull - 100, n = 0, begin = most - 1000;
	long m = 0;

#pragma omp parallel num_threads(4) reduction(+ : n)
	{
#pragma omp for schedule(dynamic, 9)
		for (unsigned long long i = begin; i < most; i++)
			n += i - begin;
#pragma omp for schedule(guided)
		for (unsigned long long i = most; i > begin; i--)
			n += most - i;
#pragma omp for schedule(static, 9)
		for (unsigned long long i = begin; i < most; i += 3)
			n += 1;
#pragma omp for schedule(runtime)
		for (unsigned long long i = 0; i < 100; i++)
			n += 1;
#pragma omp for schedule(dynamic, 2)
		for (unsigned long long i = 0; i < 7ull << 60; i += 1ull << 60)
			n += 1;
	}
	REQUIRE(n == 2 * 499500 + 334 + 100 + 7);
#pragma omp parallel for num_threads(4) schedule(dynamic) collapse(3) reduction(+ : m)
	for (int i = 0; i < 11; i++)
		for (int j = 0; j < 7; j++)
			for (int k = 0; k < 5; k++)
				m += i * 100 + j * 10 + k;
	REQUIRE(m == 35 * 55 * 100 + 55 * 21 * 10 + 77 * 10);
}

/* Many constructs without a wait between: the fastest is far ahead. */
static void far_ahead(void)
{
	long sum = 0;

#pragma omp parallel num_threads(3) reduction(+ : sum)
	{
		for (int r = 0; r < 200 * rounds; r++) {
#pragma omp for schedule(dynamic) nowait
			for (int i = 0; i < 5; i++)
				sum++;
#pragma omp single nowait
			sum++;
		}
	}
	REQUIRE(sum == 1200 * rounds);
}

static void ordered(void)
{
	int next = 0;

#define ORDERED(clause)                                       \
	next = 0;                                             \
	_Pragma("omp parallel num_threads(4)")                \
	{                                                     \
		_Pragma(clause) for (int i = 0; i < 300; i++) \
		{                                             \
			_Pragma("omp ordered")                \
			{                                     \
				REQUIRE(next == i);           \
				next++;                       \
			}                                     \
		}                                             \
	}                                                     \
	REQUIRE(next == 300)
	ORDERED("omp for ordered schedule(static)");
	ORDERED("omp for ordered schedule(static, 3)");
	ORDERED("omp for ordered schedule(dynamic)");
	ORDERED("omp for ordered schedule(dynamic, 4)");
	ORDERED("omp for ordered schedule(guided)");
	ORDERED("omp for ordered schedule(runtime)");
	/* Some iterations have no ordered region. */
	next = 0;
#pragma omp parallel for num_threads(3) ordered schedule(dynamic, 2)
	for (unsigned long long i = 0; i < 200; i++) {
		if (i % 3 == 0)
			continue;
#pragma omp ordered
		{
			REQUIRE(next < (int)i);
			next = (int)i;
		}
	}
	REQUIRE(next == 199);
}

static void doacross(void)
{
	static int a[40][40];

	memset(a, 0, sizeof(a));
	for (int r = 0; r < rounds; r++) {
#pragma omp parallel for num_threads(4) ordered(2) schedule(dynamic)
		for (int i = 1; i < 40; i++)
			for (int j = 1; j < 40; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
				a[i][j] =
					1 + (a[i - 1][j] > a[i][j - 1] ? a[i - 1][j] : a[i][j - 1]);
#pragma omp ordered depend(source)
			}
		REQUIRE(a[39][39] == 77);
	}
}

/* --- sections, single, critical --------------------------------------------------------------------------------------- */

static void sections(void)
{
	for (int r = 0; r < 10 * rounds; r++) {
		clear();
#pragma omp parallel num_threads(3)
		{
#pragma omp sections
			{
#pragma omp section
				seen[0]++;
#pragma omp section
				seen[1]++;
#pragma omp section
				seen[2]++;
#pragma omp section
				seen[3]++;
			}
#pragma omp sections nowait
			{
				seen[4]++;
#pragma omp section
				seen[5]++;
			}
		}
#pragma omp parallel sections num_threads(2)
		{
			seen[6]++;
#pragma omp section
			seen[7]++;
#pragma omp section
			seen[8]++;
		}
		all_once(9);
	}
}

static void single(void)
{
	int n = 0;

#pragma omp parallel num_threads(4)
	{
		for (int i = 0; i < 50 * rounds; i++) {
			int mine = 0, copied;

#pragma omp single
			n++;
			REQUIRE(n == i + 1);
#pragma omp barrier
#pragma omp single copyprivate(copied)
			{
				copied = 1000 + i;
				mine = 1;
			}
			REQUIRE(copied == 1000 + i);
			(void)mine;
#pragma omp master
			plain = i;
#pragma omp barrier
			REQUIRE(plain == i);
#pragma omp barrier
		}
	}
}

static void exclusion(void)
{
	long a = 0, b = 0, c = 0, d = 0, e = 0;
	long double f = 0;
	omp_lock_t lock;
	omp_nest_lock_t nest;

	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(4)
	{
		for (int i = 0; i < 500 * rounds; i++) {
#pragma omp critical
			a++;
#pragma omp critical(named)
			b++;
#pragma omp atomic
			f += 1;
			omp_set_lock(&lock);
			c++;
			omp_unset_lock(&lock);
			omp_set_nest_lock(&nest);
			REQUIRE(omp_test_nest_lock(&nest) == 2);
			d++;
			omp_unset_nest_lock(&nest);
			omp_unset_nest_lock(&nest);
			if (omp_test_lock(&lock)) {
				e++;
				omp_unset_lock(&lock);
			}
		}
	}
	REQUIRE(a == 2000 * rounds && b == a && c == a && d == a && f == a && e > 0);
	omp_destroy_lock(&lock);
	omp_destroy_nest_lock(&nest);
}

/* --- tasks -------------------------------------------------------------------------------------------------------------- */

static long fib(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fib(n - 1);
#pragma omp task shared(b) final(n < 8)
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

static void tasks(void)
{
	long result = 0, done = 0;

	for (int r = 0; r < rounds; r++) {
#pragma omp parallel num_threads(4)
#pragma omp single
		result = fib(17);
		REQUIRE(result == 1597);
	}
	/* More than are kept, made by all, and left to the barrier. */
#pragma omp parallel num_threads(4)
	{
		for (int i = 0; i < 1000; i++) {
#pragma omp task firstprivate(i)
			{
				REQUIRE(i < 1000);
#pragma omp atomic
				done++;
			}
		}
#pragma omp barrier
		REQUIRE(done == 4000);
	}
	/* A task outlives its parent; a taskgroup waits for both. */
	done = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
	{
#pragma omp taskgroup
		for (int i = 0; i < 30; i++) {
#pragma omp task
			{
#pragma omp task
				{
					usleep(50);
#pragma omp atomic
					done++;
				}
			}
		}
		REQUIRE(done == 30);
#pragma omp task if (0)
		done++;
		REQUIRE(done == 31);
#pragma omp task final(1)
		{
			REQUIRE(omp_in_final());
#pragma omp task
			done++;
			REQUIRE(done == 32);
		}
#pragma omp taskwait
		REQUIRE(done == 32);
	}
	/* Outside of a region. */
#pragma omp task shared(done)
	done++;
#pragma omp taskwait
	REQUIRE(done == 33);
}

static void depends(void)
{
	for (int r = 0; r < 10 * rounds; r++) {
		int x = 0, y = 0, sum[8] = { 0 };
		long chain = 0;

#pragma omp parallel num_threads(4)
#pragma omp single
		{
			for (int i = 0; i < 100; i++) {
#pragma omp task depend(inout : chain)
				{
					REQUIRE(chain == i);
					chain = i + 1;
				}
			}
#pragma omp task depend(out : x)
			{
				usleep(20);
				x = 1;
			}
			for (int i = 0; i < 8; i++) {
#pragma omp task depend(in : x) depend(out : sum[i])
				sum[i] = x;
			}
#pragma omp task depend(in : sum[0], sum[7]) depend(inout : x)
			x = sum[0] + sum[7] + 1;
#pragma omp task depend(in : x) if (0)
			{
				REQUIRE(x == 3);
				y = x;
			}
			REQUIRE(y == 3);
			for (int i = 0; i < 5; i++) {
#pragma omp task depend(mutexinoutset : y)
				y += i;
			}
#pragma omp taskwait depend(in : y)
			REQUIRE(y == 13);
			{
				omp_depend_t object;
#pragma omp depobj(object) depend(inout : y)
#pragma omp task depend(depobj : object)
				y = 20;
#pragma omp task depend(inout : y)
				{
					REQUIRE(y == 20);
					y = 21;
				}
#pragma omp depobj(object) destroy
			}
		}
		REQUIRE(chain == 100 && x == 3 && y == 21);
		for (int i = 0; i < 8; i++)
			REQUIRE(sum[i] == 1);
	}
}

static void taskloops(void)
{
	long sum = 0;

	for (int r = 0; r < rounds; r++) {
		clear();
#pragma omp parallel num_threads(4)
#pragma omp single
		{
#pragma omp taskloop grainsize(37)
			for (int i = 0; i < N; i++)
				seen[i]++;
			all_once(N);
#pragma omp taskloop num_tasks(9)
			for (int i = N - 1; i >= 0; i--)
				seen[i]--;
#pragma omp taskloop grainsize(strict : 100) nogroup
			for (unsigned long long i = 0; i < N; i++)
				seen[i]++;
#pragma omp taskwait
			all_once(N);
		}
	}
#pragma omp parallel num_threads(4)
#pragma omp single
	{
#pragma omp taskloop reduction(+ : sum)
		for (int i = 0; i < 1000; i++)
			sum += i;
		REQUIRE(sum == 499500);
	}
}

static void reduced_tasks(void)
{
	for (int r = 0; r < 5 * rounds; r++) {
		long a = 0, b = 0, c = 0, d = 1;

#pragma omp parallel num_threads(4)
#pragma omp single
		{
#pragma omp taskgroup task_reduction(+ : a)
			for (int i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : a)
				a += i;
			}
		}
		REQUIRE(a == 1225);
#pragma omp parallel num_threads(4) reduction(task, + : b)
		{
#pragma omp task in_reduction(+ : b)
			b += 1;
			b += 10;
		}
		REQUIRE(b == 44);
#pragma omp parallel num_threads(3)
		{
#pragma omp for reduction(task, + : c) schedule(dynamic)
			for (int i = 0; i < 60; i++) {
#pragma omp task in_reduction(+ : c)
				c += i;
			}
			REQUIRE(c == 1770);
#pragma omp sections reduction(task, * : d)
			{
#pragma omp section
				{
#pragma omp task in_reduction(* : d)
					d *= 3;
				}
#pragma omp section
				d *= 5;
			}
			REQUIRE(d == 15);
#pragma omp scope reduction(task, + : d)
			{
#pragma omp task in_reduction(+ : d)
				d += 1;
			}
			REQUIRE(d == 18);
		}
	}
}

static void *fulfils(void *event)
{
	usleep(2000);
	omp_fulfill_event((omp_event_handle_t)(uintptr_t)event);
	return 0;
}

static void detached(void)
{
	omp_event_handle_t event;
	pthread_t t;
	int ran = 0;

#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task detach(event)
		{
			ran = 1;
			REQUIRE(!pthread_create(&t, 0, fulfils, (void *)(uintptr_t)event));
		}
#pragma omp taskwait
		REQUIRE(ran);
		pthread_join(t, 0);
	}
}

static void inclusive_scan(void)
{
	static long a[200];
	long sum = 0;

#pragma omp parallel for num_threads(4) reduction(inscan, + : sum)
	for (int i = 0; i < 200; i++) {
		sum += i;
#pragma omp scan inclusive(sum)
		a[i] = sum;
	}
	for (int i = 0; i < 200; i++)
		REQUIRE(a[i] == (long)i * (i + 1) / 2);
	sum = -1;
#pragma omp parallel for num_threads(4) schedule(dynamic) lastprivate(conditional : sum)
	for (int i = 0; i < 200; i++)
		if (i % 7 == 3)
			sum = i;
	REQUIRE(sum == 199);
}

/* --- more than one master --------------------------------------------------------------------------------------------------- */

static void *leads(void *arg)
{
	long own = (long)arg, sum = 0;

	for (int r = 0; r < 20 * rounds; r++) {
		sum = 0;
#pragma omp parallel num_threads(2 + (int)own % 2) reduction(+ : sum)
		{
#pragma omp for schedule(dynamic)
			for (int i = 0; i < 20; i++)
				sum += i;
		}
		REQUIRE(sum == 190);
	}
	return arg;
}

static void masters(void)
{
	pthread_t t[3];
	void *result;

	for (long i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&t[i], 0, leads, (void *)i));
	for (long i = 0; i < 3; i++)
		REQUIRE(!pthread_join(t[i], &result) && result == (void *)i);
}

static void settings(void)
{
	double from = omp_get_wtime();
	char text[100];

	REQUIRE(omp_get_num_procs() >= 1 && omp_get_thread_limit() >= 1);
	REQUIRE(omp_is_initial_device() && !omp_get_num_devices());
	omp_set_dynamic(1);
	REQUIRE(omp_get_dynamic());
#pragma omp parallel num_threads(1000)
	REQUIRE(omp_get_num_threads() <= omp_get_num_procs());
	omp_set_dynamic(0);
	REQUIRE(omp_get_wtick() > 0 && omp_get_wtime() >= from);
	REQUIRE(omp_capture_affinity(text, sizeof(text), "%0.4n/%3N|%%|%{nesting_level}") == 12);
	REQUIRE(!strcmp(text, "0000/1  |%|0"));
	{
		char *p = omp_aligned_alloc(256, 1000, omp_default_mem_alloc);

		REQUIRE(p && (uintptr_t)p % 256 == 0);
		memset(p, 1, 1000);
		omp_free(p, omp_default_mem_alloc);
		p = omp_calloc(10, 10, omp_null_allocator);
		REQUIRE(p && !p[99]);
		omp_free(p, omp_null_allocator);
	}
}

/* --- cancellation, with OMP_CANCELLATION=true; without it nothing is ever cancelled ----------------------------------- */

static void cancelled_loops(void)
{
	int done[64];

	for (int i = 0; i < 10 * rounds; i++) {
		memset(done, 0, sizeof(done));
#pragma omp parallel num_threads(4)
		for (int k = 0; k < 64; k++) {
			/* Twice as many constructs as there are records of them. */
#pragma omp for schedule(dynamic)
			for (int n = 0; n < 100; n++) {
				if (n == 10) {
#pragma omp cancel for
				}
#pragma omp cancellation point for
#pragma omp atomic
				done[k]++;
			}
		}
		for (int k = 0; k < 64; k++)
			REQUIRE(omp_get_cancellation() ? done[k] < 100 : done[k] == 100);
	}
}

static void cancelled_regions(void)
{
	for (int i = 0; i < 20 * rounds; i++) {
		int reached = 0, begun = 0;

#pragma omp parallel num_threads(4)
		{
#pragma omp atomic
			begun++;
			if (omp_get_thread_num() == i % 4) {
#pragma omp cancel parallel
			}
#pragma omp barrier
#pragma omp atomic
			reached++;
		}
		/* Those that pass it were there before the mark. */
		REQUIRE(begun == 4 && (omp_get_cancellation() ? reached < 4 : reached == 4));
		/* The next one begins anew. */
		reached = 0;
#pragma omp parallel num_threads(4) reduction(+ : reached)
		{
#pragma omp for
			for (int n = 0; n < 40; n++)
				reached++;
#pragma omp barrier
		}
		REQUIRE(reached == 40);
	}
}

static void cancelled_groups(void)
{
	int done = 0, other = 0;

#pragma omp parallel num_threads(3)
#pragma omp single
	{
#pragma omp taskgroup
		for (int n = 0; n < 500; n++) {
#pragma omp task
			{
#pragma omp cancellation point taskgroup
#pragma omp atomic
				done++;
				if (n == 3) {
#pragma omp cancel taskgroup
				}
			}
		}
		for (int n = 0; n < 50; n++) {
#pragma omp task
#pragma omp atomic
			other++;
		}
	}
	REQUIRE(other == 50 && (omp_get_cancellation() ? done < 500 : done == 500));
}

static void cancels(void)
{
	cancelled_loops();
	cancelled_regions();
	cancelled_groups();
}

/* --- priorities, with OMP_MAX_TASK_PRIORITY ------------------------------------------------------------------------------- */

static void priorities(void)
{
	int order[30], nr = 0;

#pragma omp parallel num_threads(1)
#pragma omp single
	{
		for (int n = 0; n < 30; n++) {
#pragma omp task priority(n / 10) firstprivate(n)
			order[nr++] = n;
		}
	}
	REQUIRE(nr == 30);
	for (int n = 1; n < 30 && omp_get_max_task_priority() >= 2; n++)
		REQUIRE(order[n] / 10 <= order[n - 1] / 10);
}

/* --- leagues, the host as a device, memory -------------------------------------------------------------------------------- */

static void leagues(void)
{
	int members = 0, teams = 0;

#pragma omp teams num_teams(3) thread_limit(2) reduction(+ : members, teams)
	{
		teams += omp_get_num_teams() == 3 && omp_get_team_num() < 3;
#pragma omp parallel num_threads(8) reduction(+ : members)
		members += omp_get_num_threads() <= 2;
	}
	REQUIRE(teams == 3 && members >= 3 && members <= 6);
	REQUIRE(omp_get_num_teams() == 1 && omp_get_team_num() == 0);
}

static void targets(void)
{
	int own = 7, shared = 0, a[100];

	for (int i = 0; i < 100; i++)
		a[i] = i;
#pragma omp parallel num_threads(2)
	{
#pragma omp target map(tofrom : shared) firstprivate(own)
		{
			REQUIRE(omp_get_num_threads() == 1 && omp_get_level() == 0);
			own++;
#pragma omp atomic
			shared += own;
		}
	}
	REQUIRE(own == 7 && shared == 16);
#pragma omp target data map(tofrom : a)
	{
#pragma omp target teams distribute parallel for
		for (int i = 0; i < 100; i++)
			a[i] *= 2;
#pragma omp target update from(a)
	}
#pragma omp target enter data map(to : a)
#pragma omp target exit data map(from : a)
	for (int i = 0; i < 100; i++)
		REQUIRE(a[i] == 2 * i);
}

static void memory(void)
{
	const omp_alloctrait_t traits[] = { { omp_atk_alignment, 128 },
					    { omp_atk_pool_size, 2000 },
					    { omp_atk_fallback, omp_atv_null_fb } };
	const omp_alloctrait_t wrong[] = { { omp_atk_alignment, 3 } };
	omp_allocator_handle_t a = omp_init_allocator(omp_default_mem_space, 3, traits);
	char *p, *q;

	REQUIRE(a != omp_null_allocator);
	REQUIRE(omp_init_allocator(omp_default_mem_space, 1, wrong) == omp_null_allocator);
	p = omp_alloc(600, a);
	REQUIRE(p && (uintptr_t)p % 128 == 0);
	memset(p, 5, 600);
	REQUIRE(!omp_alloc(1900, a));
	q = omp_realloc(p, 900, a, a);
	REQUIRE(q && (uintptr_t)q % 128 == 0 && q[599] == 5);
	omp_free(q, a);
	q = omp_alloc(1000, a);
	REQUIRE(q);
	omp_free(q, omp_null_allocator);
	omp_destroy_allocator(a);
}

/* Bounds of a taskloop's parts belong to the parts, also where its variables are copied by a function. */
static void copied_loops(void)
{
	int last = -1;

#pragma omp parallel num_threads(2)
#pragma omp single
	for (int n = 1; n < 60; n++) {
		int x = n;

#pragma omp taskloop firstprivate(x) lastprivate(x) num_tasks(3)
		for (int i = 0; i < n; i++)
			x = i + 1;
		REQUIRE(x == n);
		last = x;
	}
	REQUIRE(last == 59);
}

static const struct {
	const char *name;
	void (*run)(void);
} list[] = {
	{ "regions", regions },
	{ "barriers", barriers },
	{ "private", private_of_threads },
	{ "nested", nested },
	{ "loops", loops },
	{ "large_loops", large_loops },
	{ "far_ahead", far_ahead },
	{ "ordered", ordered },
	{ "doacross", doacross },
	{ "sections", sections },
	{ "single", single },
	{ "exclusion", exclusion },
	{ "tasks", tasks },
	{ "depends", depends },
	{ "taskloops", taskloops },
	{ "reduced_tasks", reduced_tasks },
	{ "detached", detached },
	{ "scan", inclusive_scan },
	{ "masters", masters },
	{ "settings", settings },
	{ "cancels", cancels },
	{ "priorities", priorities },
	{ "leagues", leagues },
	{ "targets", targets },
	{ "memory", memory },
	{ "copied_loops", copied_loops },
};

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = atoi(argv[1]);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (argc > 2 && strcmp(argv[2], list[i].name))
			continue;
		if (getenv("OPENMP_VERBOSE"))
			fprintf(stderr, "%s\n", list[i].name);
		list[i].run();
		nr_tests++;
	}
	printf("openmp: %d tests, done\n", nr_tests);
	return 0;
}
