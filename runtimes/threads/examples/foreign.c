/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An accelerator of the program's own: threads hand rows of numbers to a CPU of another instruction set, which a thread of the program is.
 *
 *	foreign PLAN
 *
 * PLAN is made by `runweir compile accelerator -m accel-2x1 -o PLAN`. docs/threads-library.md explains it.
 */
#include <pthread.h>
#include <stdio.h>
#include <weir/threads.h>

#define ROWS 8

struct row {
	double numbers[1000], sum;
};

/* The "hardware". It does a row at a time; a real one would be started here, and waited for. */
static int process(struct row *row)
{
	row->sum = 0;
	for (int i = 0; i < 1000; i++)
		row->sum += row->numbers[i];
	return 1;
}

/* Source 0, listing 8.1: the next task, its context, and what became of it. */
static void *accelerator(void *arg)
{
	unsigned cpu = *(unsigned *)arg;
	struct weir_work work;

	while (!weir_foreign_pick(cpu, WEIR_FOREVER, &work))
		weir_foreign_give(cpu, process(work.context));
	return 0;
}

static void *adds(void *arg)
{
	struct row *row = arg;

	for (int i = 0; i < 1000; i++)
		row->numbers[i] = i + 0.5;
	/* 1: the first instruction set beside the native one */
	if (weir_thread_foreign(1, row))
		row->sum = -1;
	return 0;
}

int main(int argc, char **argv)
{
	static struct row rows[ROWS];
	struct weir_rt_config config = { .flags = WEIR_RT_OVERSUBSCRIBE };
	weir_thread *t[ROWS];
	unsigned cpu = 0;
	pthread_t server;
	int wrong = 0;

	config.plan_file = argc == 2 ? argv[1] : "PLAN";
	if (weir_rt_open(&config)) {
		fprintf(stderr, "foreign: %s\n", weir_rt_error());
		return 2;
	}
	while (weir_rt_isa(cpu) == 0)
		cpu++;
	if (weir_foreign_take(cpu)) {
		fprintf(stderr, "foreign: the plan has no CPU of another instruction set\n");
		return 2;
	}
	pthread_create(&server, 0, accelerator, &cpu);
	for (int i = 0; i < ROWS; i++)
		weir_thread_create(&t[i], 0, adds, &rows[i]);
	for (int i = 0; i < ROWS; i++) {
		weir_thread_join(t[i], 0);
		wrong += rows[i].sum != 500000;
	}
	weir_foreign_cancel(cpu);
	pthread_join(server, 0);
	printf("%d rows summed by CPU %u, %d wrong\n", ROWS, cpu, wrong);
	return wrong || weir_rt_close();
}
