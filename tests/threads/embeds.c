/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program that opens the runtime by itself and has OpenMP regions in a thread of it: `embeds PLAN [green]`. Members are the policy's threads, with the
 * leader's attributes; a region in a green thread is refused.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weir/threads.h>

static int members, regions;

static void *leads(void *arg)
{
	for (int i = 0; i < 50; i++) {
		/* An attribute that changes between regions. */
		weir_thread_set(weir_thread_self(), WEIR_PRIORITY, i, 0);
#pragma omp parallel num_threads(3)
		{
			if (weir_thread_self() && weir_thread_cpu(weir_thread_self()) >= 0) {
#pragma omp atomic
				members++;
			}
		}
		regions++;
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct weir_rt_config config = { .plan_file = argv[1] };
	struct weir_thread_attr attr = { .kind = argc > 2 ? WEIR_GREEN : WEIR_BOUND,
					 .stack_bytes = 256 << 10 };
	weir_thread *t;

	if (argc < 2 || weir_rt_open(&config)) {
		fprintf(stderr, "embeds: %s\n", argc < 2 ? "no plan" : weir_rt_error());
		return 2;
	}
	if (weir_thread_create(&t, &attr, leads, 0) || weir_thread_join(t, 0))
		return 1;
	/* Its team ends with it, a moment later. */
	while (weir_rt_close())
		usleep(1000);
	printf("embeds: %d members in %d regions\n", members, regions);
	return 0;
}
