/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The loader of flat plans: `plan N FILE.plan...`. Each file is loaded and run; then N damaged copies of each are offered, of
 * which the loader refuses the bad ones by itself, and what it takes must build or be refused by a component, run, and keep
 * all invariants. Meant for AddressSanitizer: no damage may lead outside of the tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../runtimes/multikernel/plan.h"
#include <weir/runtime.h>
#include <weir/schedule.h>

#define ARENA	 (256ull << 20)
#define NR_TASKS 12u

#define REQUIRE(cond)                                                                    \
	do {                                                                             \
		if (!(cond)) {                                                           \
			fprintf(stderr, "plan: %s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                         \
		}                                                                        \
	} while (0)

extern const u32 weir_nr_descriptors;
void weir_host_classes(struct weir_class *out);

static u64 now_ns;

u64 weir_rt_now(struct weir_sched *s)
{
	(void)s;
	return now_ns += 1000;
}

void weir_rt_message(struct weir_sched *s, const struct weir_msg *msg)
{
	(void)s;
	(void)msg;
}

void weir_rt_timer(struct weir_sched *s, u32 instance, u64 at_ns)
{
	(void)s;
	(void)instance;
	(void)at_ns;
}

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003). */
static u64 dice = 88172645463325252ull;

static u32 below(u32 n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (u32)((dice >> 32) % n);
}

static void *arena;

static struct weir_sched *fresh(u32 nr_cpus)
{
	struct weir_class *classes = calloc(weir_nr_descriptors, sizeof(*classes));
	struct weir_config config = { .arena_bytes = ARENA,
				      .seed = 1,
				      .nr_cpus = nr_cpus,
				      .nr_classes = weir_nr_descriptors,
				      .classes = classes };

	REQUIRE(classes);
	if (arena)
		munmap(arena, ARENA);
	arena = mmap(0, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		     -1, 0);
	REQUIRE(arena != MAP_FAILED);
	weir_host_classes(classes);
	REQUIRE(!weir_init(arena, &config));
	free(classes);
	return arena;
}

/* Load into memory of exactly the size that is asked for. */
static int load(const void *blob, u64 bytes, u32 extra, struct weir_plan *plan, void **memory)
{
	u64 room = weir_plan_room(blob, bytes, extra);
	int err;

	*memory = malloc(room ? room : 8);
	REQUIRE(*memory);
	err = weir_plan_load(blob, bytes, extra, *memory, room, plan);
	REQUIRE(err <= 0 && err >= -WEIR_PLAN_DOMAINS);
	if (err)
		REQUIRE(strcmp(weir_plan_why(-err), "unknown fault"));
	return err;
}

/* Every task that comes in goes out, where a CPU may have it; @whole: each must be seen. */
static void run(struct weir_sched *s, u32 nr_cpus, int whole)
{
	struct weir_task *tasks[NR_TASKS];
	u32 idle = 0, seen = 0;

	for (u32 i = 0; i < NR_TASKS; i++) {
		tasks[i] = weir_task_new(s, i % nr_cpus, i);
		REQUIRE(tasks[i] && !weir_admit(s, i % nr_cpus, tasks[i]));
	}
	for (u32 c = 0; idle < 2 * nr_cpus; c = (c + 1) % nr_cpus) {
		struct weir_task *t = weir_pick(s, c, c);

		idle = t ? 0 : idle + 1;
		now_ns += 1000000;
		if (!t)
			continue;
		seen++;
		REQUIRE(!weir_exit(s, c, t));
	}
	REQUIRE(seen <= NR_TASKS && (!whole || seen == NR_TASKS));
	REQUIRE(!weir_check(s));
}

/* As the writer does it. */
static void seal(u8 *blob)
{
	struct weir_plan_header *h = (struct weir_plan_header *)blob;
	u64 hash = 0xcbf29ce484222325ull;

	for (u64 i = 32; i < h->bytes; i++)
		hash = (hash ^ blob[i]) * 0x100000001b3ull;
	h->checksum = hash;
}

/* What the loader took: a component may still refuse it; after that it has to work. Returns whether it was built. */
static int build_and_run(const struct weir_plan *plan)
{
	struct weir_swap_stats stats;
	struct weir_sched *s = fresh(plan->nr_cpus);

	if (weir_swap(s, 0, plan, &stats))
		return 0;
	run(s, plan->nr_cpus - 1, 0);
	return 1;
}

static u8 *read_file(const char *name, u64 *bytes)
{
	FILE *f = fopen(name, "rb");
	u8 *data;

	REQUIRE(f && !fseek(f, 0, SEEK_END));
	*bytes = (u64)ftell(f);
	rewind(f);
	data = malloc(*bytes);
	REQUIRE(data && fread(data, 1, *bytes, f) == *bytes);
	fclose(f);
	return data;
}

int main(int argc, char **argv)
{
	u64 refused = 0, not_built = 0, ran = 0;
	u32 n = argc > 1 ? (u32)atoi(argv[1]) : 0;

	for (int a = 2; a < argc; a++) {
		struct weir_swap_stats stats;
		struct weir_plan plan;
		struct weir_sched *s;
		void *memory;
		u64 bytes;
		u8 *good = read_file(argv[a], &bytes);
		int err = load(good, bytes, 1, &plan, &memory);

		if (err) {
			fprintf(stderr, "plan: %s: %s\n", argv[a], weir_plan_why(-err));
			return 1;
		}
		s = fresh(plan.nr_cpus);
		REQUIRE(!weir_swap(s, 0, &plan, &stats) && stats.built == plan.nr_instances);
		/* The same once more: every instance goes on. */
		weir_plan_continue(&plan, good, good);
		REQUIRE(!weir_swap(s, 0, &plan, &stats) && stats.kept == plan.nr_instances);
		run(s, plan.nr_cpus - 1, 1);
		free(memory);
		/* Cut off anywhere. */
		for (u64 cut = 0; cut < bytes; cut += 1 + cut / 8) {
			u8 *copy = malloc(cut ? cut : 1);

			REQUIRE(copy);
			memcpy(copy, good, cut);
			REQUIRE(load(copy, cut, 1, &plan, &memory) < 0);
			free(memory);
			free(copy);
		}
		/* A changed byte is seen; changed and sealed again it is judged by what it says. */
		for (u32 i = 0; i < n; i++) {
			u32 changes = 1 + below(3);
			u8 *copy = malloc(bytes);

			REQUIRE(copy);
			memcpy(copy, good, bytes);
			for (u32 k = 0; k < changes; k++) {
				u32 at = below((u32)bytes);

				switch (below(3)) {
				case 0:
					copy[at] ^= (u8)(1u << below(8));
					break;
				case 1:
					copy[at] = (u8)below(256);
					break;
				default:
					at &= ~3u;
					*(u32 *)(copy + at) = below(2) ? below(8) : ~0u - below(3);
					break;
				}
			}
			if (memcmp(copy, good, bytes)) {
				REQUIRE(load(copy, bytes, 1, &plan, &memory) < 0);
				free(memory);
			}
			if (((struct weir_plan_header *)copy)->bytes == bytes)
				seal(copy);
			err = load(copy, bytes, 1, &plan, &memory);
			if (err)
				refused++;
			else if (build_and_run(&plan))
				ran++;
			else
				not_built++;
			free(memory);
			free(copy);
		}
		free(good);
	}
	printf("plan: %d plans; of the damaged ones %llu refused by the loader, %llu by a "
	       "component, %llu ran\n",
	       argc - 2, (unsigned long long)refused, (unsigned long long)not_built,
	       (unsigned long long)ran);
	return 0;
}
