/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * On each core a periodic dispatcher: PERIOD us (1000), WORK us (200), N jobs (20). It reports its priority (10) and each job's deadline,
 * the end of the period, to the policy, and counts missed deadlines.
 */
#include <weir/mk.h>

static u64 period, work, jobs, missed;
static u32 left;

static u64 number(int argc, char **argv, int n, u64 otherwise)
{
	u64 v = 0;

	if (argc <= n)
		return otherwise;
	for (const char *p = argv[n]; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (u64)(*p - '0');
	return v;
}

static void periodic(void *arg)
{
	u64 release = mk_now();

	(void)arg;
	for (u64 i = 0; i < jobs; i++) {
		mk_set(WEIR_TOPIC_JOB, work, period);
		mk_set(WEIR_TOPIC_DEADLINE, release + period, period);
		mk_work(work);
		if (mk_now() > release + period)
			weir_fetch_add(&missed, 1);
		release += period;
		mk_sleep_until(release);
	}
	weir_fetch_add(&left, -1u);
}

int main(int argc, char **argv)
{
	u32 nr = (u32)mk_self()->nr_cores;

	period = number(argc, argv, 1, 1000) * 1000;
	work = number(argc, argv, 2, 200) * 1000;
	jobs = number(argc, argv, 3, 20);
	left = nr;
	mk_set(WEIR_TOPIC_PRIORITY, 10, 0);
	for (u32 core = 0; core < nr; core++)
		if (core != mk_self()->core && mk_spawn(core, periodic, 0) < 0)
			return 1;
	periodic(0);
	while (weir_load(&left))
		mk_sleep(period);
	mk_mark(5, missed);
	mk_print("deadlines: %lu jobs on %u cores, %lu missed\n", (unsigned long)(jobs * nr), nr,
		 (unsigned long)missed);
	return missed != 0;
}
