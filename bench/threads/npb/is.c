/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * IS: rank whole numbers by counting, ten times; `is S|W`. Before each time two keys change, and the ranks of five keys are compared with those
 * that were published; at the end the keys are put in their order.
 */
#include "npb.h"

#define ROUNDS 10
#define PROBES 5

static const int probe_at[2][PROBES] = { { 48427, 17148, 23627, 62548, 4431 },
					 { 357773, 934767, 875723, 898999, 404505 } };
static const int probe_rank[2][PROBES] = { { 0, 18, 346, 64917, 65463 },
					   { 1249, 11698, 1039987, 1043896, 1048018 } };

static int *key, *rank, **count;
static int nr_keys, nr_values;

/* Sums of four numbers of the generator. */
static void make_keys(void)
{
#pragma omp parallel
	{
		int n = omp_get_num_threads(), id = omp_get_thread_num();
		int from = (int)((int64_t)nr_keys * id / n),
		    to = (int)((int64_t)nr_keys * (id + 1) / n);
		uint64_t x = (uint64_t)((unsigned __int128)314159265 *
						random_power(1220703125, 4ull * (uint64_t)from) &
					MASK46);

		for (int i = from; i < to; i++) {
			double sum = 0;

			for (int k = 0; k < 4; k++)
				sum += next_random(&x, 1220703125);
			key[i] = (int)(nr_values / 4 * sum);
		}
	}
}

/* How many keys are below or equal to each value; each thread counts its own first. */
static void rank_keys(void)
{
#pragma omp parallel
	{
		int n = omp_get_num_threads(), *own = count[omp_get_thread_num()];

		memset(own, 0, (size_t)nr_values * sizeof(int));
#pragma omp for schedule(static)
		for (int i = 0; i < nr_keys; i++)
			own[key[i]]++;
#pragma omp for schedule(static)
		for (int v = 0; v < nr_values; v++) {
			int sum = 0;

			for (int t = 0; t < n; t++)
				sum += count[t][v];
			rank[v] = sum;
		}
#pragma omp single
		for (int v = 1; v < nr_values; v++)
			rank[v] += rank[v - 1];
	}
}

/* The published ranks move with the rounds: up for the low ones, down for the high ones. */
static int probes_right(int class, int round)
{
	int right = 0;

	for (int i = 0; i < PROBES; i++) {
		int k = key[probe_at[class][i]], shift;

		if (k <= 0 || k >= nr_keys)
			continue;
		if (class == 0)
			shift = i <= 2 ? round : -round;
		else
			shift = i < 2 ? round - 2 : -round;
		right += rank[k - 1] == probe_rank[class][i] + shift;
	}
	return right;
}

static int in_order(void)
{
	int *sorted = room((size_t)nr_keys * sizeof(int)), wrong = 0;

	for (int i = nr_keys - 1; i >= 0; i--)
		sorted[--rank[key[i]]] = key[i];
	for (int i = 1; i < nr_keys; i++)
		wrong += sorted[i - 1] > sorted[i];
	free(sorted);
	return !wrong;
}

int main(int argc, char **argv)
{
	char name = class_of(argc, argv);
	int first[2 * ROUNDS + 1];
	int class = name == 'W', right = 0, n = omp_get_max_threads();
	double from, cpu;

	nr_keys = class ? 1 << 20 : 1 << 16;
	nr_values = class ? 1 << 16 : 1 << 11;
	key = room((size_t)nr_keys * sizeof(int));
	rank = room((size_t)nr_values * sizeof(int));
	count = room((size_t)n * sizeof(*count));
	for (int t = 0; t < n; t++)
		count[t] = room((size_t)nr_values * sizeof(int));
	make_keys();
	memcpy(first, key, sizeof(first));
	/* Touches what follows; a round that is not counted. */
	rank_keys();
	from = omp_get_wtime();
	cpu = cpu_seconds();
	for (int r = 0; r < repeats; r++) {
		memcpy(key, first, sizeof(first));
		for (int round = 1; round <= ROUNDS; round++) {
			key[round] = round;
			key[round + ROUNDS] = nr_values - round;
			rank_keys();
			right += probes_right(class, round);
		}
	}
	cpu = cpu_seconds() - cpu;
	from = omp_get_wtime() - from;
	return npb_report("is", name, from, cpu, right == repeats * ROUNDS * PROBES && in_order());
}
