/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the examples of OpenMP's specification do, as numbers that do not depend on the order of threads. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int fibonacci(int n)
{
	int a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a) if (n > 5)
	a = fibonacci(n - 1);
#pragma omp task shared(b) final(n < 8)
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}

static void tasks(void)
{
	int fib = 0, chain = 0, group = 0, loop = 0, reduced = 0, urgent = 0;

#pragma omp parallel num_threads(4)
#pragma omp single
	{
		fib = fibonacci(16);
		for (int i = 0; i < 10; i++)
#pragma omp task depend(inout : chain) priority(i % 3)
			chain = chain * 2 + i;
#pragma omp taskgroup
		for (int i = 0; i < 10; i++)
#pragma omp task shared(group)
#pragma omp atomic
			group += i;
#pragma omp taskloop grainsize(3) shared(loop)
		for (int i = 0; i < 40; i++)
#pragma omp atomic
			loop += i;
#pragma omp taskgroup task_reduction(+ : reduced)
		for (int i = 0; i < 10; i++)
#pragma omp task in_reduction(+ : reduced)
			reduced += i * i;
#pragma omp task untied mergeable priority(5)
		{
#pragma omp taskyield
			urgent = omp_get_max_task_priority() >= 0;
		}
	}
	printf("tasks %d %d %d %d %d %d\n", fib, chain, group, loop, reduced, urgent);
}

static int tls;
#pragma omp threadprivate(tls)

static void data(void)
{
	int sum = 0, last = 0, copied = 0, ok = 1;

	tls = 5;
#pragma omp parallel num_threads(4) copyin(tls) reduction(+ : sum)
	sum += tls;
#pragma omp parallel num_threads(4) reduction(&& : ok)
	{
		int got = 0;

#pragma omp single copyprivate(got)
		got = 77;
		ok = ok && got == 77;
	}
#pragma omp parallel for lastprivate(last) firstprivate(copied) num_threads(3)
	for (int i = 0; i < 100; i++)
		last = i + copied;
	printf("data %d %d %d\n", sum, last, ok);
}

static void loops(void)
{
	long sum = 0;
	int order[20], n = 0, across[12][12] = { { 0 } }, scanned[20], carried = 0;

#pragma omp parallel for collapse(2) schedule(guided) reduction(+ : sum)
	for (int i = 0; i < 30; i++)
		for (int k = 0; k < 30; k++)
			sum += i * k;
#pragma omp parallel for ordered schedule(dynamic) num_threads(4)
	for (int i = 0; i < 20; i++)
#pragma omp ordered
		order[n++] = i;
#pragma omp parallel for ordered(2) num_threads(4)
	for (int i = 1; i < 12; i++)
		for (int k = 1; k < 12; k++) {
#pragma omp ordered depend(sink : i - 1, k) depend(sink : i, k - 1)
			across[i][k] = 1 + across[i - 1][k] + across[i][k - 1];
#pragma omp ordered depend(source)
		}
#pragma omp parallel for reduction(inscan, + : carried) num_threads(4)
	for (int i = 0; i < 20; i++) {
		carried += i;
#pragma omp scan inclusive(carried)
		scanned[i] = carried;
	}
	for (int i = 0; i < 20; i++)
		if (order[i] != i)
			n = -1;
	printf("loops %ld %d %d %d\n", sum, n, across[11][11], scanned[19]);
}

static void teams(void)
{
	int sizes = 0, masters = 0, met = 0, levels = 0;

	omp_set_max_active_levels(3);
#pragma omp parallel num_threads(2) reduction(+ : sizes, levels)
	{
#pragma omp parallel num_threads(3) reduction(+ : sizes, levels)
		{
			sizes += omp_get_team_size(1) * 10 + omp_get_team_size(2);
			levels += omp_get_ancestor_thread_num(1);
		}
	}
#pragma omp parallel num_threads(4)
	{
#pragma omp master
		masters++;
		for (int i = 0; i < 50; i++) {
#pragma omp barrier
#pragma omp critical(meeting)
			met++;
#pragma omp flush
		}
	}
	printf("teams %d %d %d %d %d\n", sizes, levels, masters, met, omp_get_num_procs() > 0);
}

int main(void)
{
	int bound = omp_get_proc_bind() >= omp_proc_bind_false;

	tasks();
	data();
	loops();
	teams();
	printf("%d %d\n", bound, omp_get_cancellation());
	return 3;
}
