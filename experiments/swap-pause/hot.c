/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The hot path: threads pick a task, give it back, and now and then let one block and wake up. Prints processor time, ns per call.
 *
 *   hot THREADS MILLISECONDS
 *
 * Built twice, with reconfiguration and without (WEIR_SWAPS=0). Every thread is a CPU with a queue of its own, so that what is
 * measured is the path itself and not waiting for locks.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <weir/runtime.h>
#include <weir/schedule.h>

#define MAX_THREADS 8
#define ARENA	    (64ull << 20)

extern const u32 weir_nr_descriptors;
extern const struct weir_descriptor *const weir_descriptors[];
void weir_host_classes(struct weir_class *out);

u64 weir_rt_now(struct weir_sched *s)
{
	(void)s;
	return 0;
}

void weir_rt_message(struct weir_sched *s, const struct weir_msg *msg)
{
	(void)s, (void)msg;
}

void weir_rt_timer(struct weir_sched *s, u32 instance, u64 at_ns)
{
	(void)s, (void)instance, (void)at_ns;
}

static u32 class_called(const char *name)
{
	for (u32 i = 0; i < weir_nr_descriptors; i++)
		if (weir_descriptors[i] && !__builtin_strcmp(weir_descriptors[i]->name, name))
			return i;
	fprintf(stderr, "no component %s\n", name);
	exit(1);
}

/* entry -> head_queue -> cpu, for each CPU. */
static void load(struct weir_sched *s, u32 cpus)
{
	static struct weir_plan_pipe pipes[2 * MAX_THREADS];
	static struct weir_plan_instance instances[2 * MAX_THREADS];
	static struct weir_plan_cpu plan_cpus[MAX_THREADS];
	static struct weir_cpumask masks[MAX_THREADS];
	static u32 links[4 * MAX_THREADS];
	static u64 params[8];
	struct weir_plan plan = { .nr_pipes = 2 * cpus,
				  .nr_instances = 2 * cpus,
				  .nr_cpus = cpus,
				  .nr_slots = 2,
				  .pipes = pipes,
				  .instances = instances,
				  .cpus = plan_cpus,
				  .links = links,
				  .lists = links,
				  .params = params,
				  .masks = masks,
				  .nr_masks = cpus };
	struct weir_swap_stats stats;
	u32 queue = class_called("head_queue"), end = class_called("termination");

	for (u32 c = 0; c < cpus; c++) {
		u32 in = c, out = cpus + c;

		masks[c].word[0] = 1ull << c;
		links[2 * c] = in;
		links[2 * c + 1] = out;
		pipes[in] =
			(struct weir_plan_pipe){ .slot = 0, .from = WEIR_NONE, .to = c, .mask = c };
		pipes[out] =
			(struct weir_plan_pipe){ .slot = 1, .from = c, .to = cpus + c, .mask = c };
		instances[c] = (struct weir_plan_instance){ .class = queue,
							    .nr_in = 1,
							    .nr_out = 1,
							    .first_in = 2 * c,
							    .first_out = 2 * c + 1,
							    .keep = WEIR_NONE };
		instances[cpus + c] = (struct weir_plan_instance){
			.class = end, .nr_in = 1, .first_in = 2 * c + 1, .keep = WEIR_NONE
		};
		plan_cpus[c] = (struct weir_plan_cpu){
			.entry = in, .exit = out, .core = c, .capacity = 1024
		};
	}
	if (weir_swap(s, 0, &plan, &stats)) {
		fprintf(stderr, "the graph cannot be built\n");
		exit(1);
	}
}

static struct weir_sched *sched;
static volatile int stop;
static u64 calls[MAX_THREADS][16], used_ns[MAX_THREADS][16];

/* The processor time of the calling thread: what else the computer does is not counted. */
static u64 thread_time_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * 1000000000ull + used.tv_nsec;
}

static void *work(void *arg)
{
	u32 cpu = (u32)(u64)arg, n = 0;
	u64 done = 0, began;

	for (u32 i = 0; i < 4; i++)
		weir_admit(sched, cpu, weir_task_new(sched, cpu, i));
	began = thread_time_ns();
	while (!stop) {
		struct weir_task *t = weir_pick(sched, cpu, cpu);

		if (++n % 8) {
			weir_relinquish(sched, cpu, t);
			done += 2;
		} else {
			weir_block(sched, cpu, t);
			weir_unblock(sched, cpu, t);
			done += 3;
		}
	}
	used_ns[cpu][0] = thread_time_ns() - began;
	calls[cpu][0] = done;
	return 0;
}

int main(int argc, char **argv)
{
	u32 threads = argc > 1 ? atoi(argv[1]) : 1, ms = argc > 2 ? atoi(argv[2]) : 500;
	struct weir_class *classes = calloc(weir_nr_descriptors, sizeof(*classes));
	struct weir_config config = { .arena_bytes = ARENA,
				      .seed = 1,
				      .nr_classes = weir_nr_descriptors };
	struct timespec nap = { ms / 1000, ms % 1000 * 1000000l };
	pthread_t ids[MAX_THREADS];
	u64 total = 0, ns = 0;

	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	weir_host_classes(classes);
	config.nr_cpus = threads;
	config.classes = classes;
	sched = mmap(0, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (weir_init(sched, &config))
		return 1;
	load(sched, threads);
	for (u32 i = 0; i < threads; i++)
		pthread_create(&ids[i], 0, work, (void *)(u64)i);
	nanosleep(&nap, 0);
	stop = 1;
	for (u32 i = 0; i < threads; i++) {
		pthread_join(ids[i], 0);
		total += calls[i][0];
		ns += used_ns[i][0];
	}
	printf("%.2f\n", (double)ns / total);
	return 0;
}
