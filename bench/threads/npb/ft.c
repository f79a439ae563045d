/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * FT: a partial differential equation solved by a Fourier transform in three dimensions; `ft S|W`. Forward once, then six times one step of time and back. The
 * published checksums verify each.
 */
#include "npb.h"

#include <complex.h>

#define ROUNDS	 6
#define ALPHA	 1e-6
#define MULTIPLY 1220703125ull
#define SEED	 314159265ull
#define BLOCK \
	8 /* lines that are transformed side by side, so that strides touch whole cache lines */
#define LONGEST 128

typedef double complex cplx;

static const double published[2][ROUNDS][2] = {
	{ { 5.546087004964e+02, 4.845363331978e+02 },
	  { 5.546385409189e+02, 4.865304269511e+02 },
	  { 5.546148406171e+02, 4.883910722336e+02 },
	  { 5.545423607415e+02, 4.901273169046e+02 },
	  { 5.544255039624e+02, 4.917475857993e+02 },
	  { 5.542683411902e+02, 4.932597244941e+02 } },
	{ { 5.673612178944e+02, 5.293246849175e+02 },
	  { 5.631436885271e+02, 5.282149986629e+02 },
	  { 5.594024089970e+02, 5.270996558037e+02 },
	  { 5.560698047020e+02, 5.260027904925e+02 },
	  { 5.530898991250e+02, 5.249400845633e+02 },
	  { 5.504159734538e+02, 5.239212247086e+02 } },
};

static int nx, ny, nz;
static cplx *u, *work;
static double *decay;
static cplx root[LONGEST]; /* of LONGEST; shorter lines take every so-manieth */

static size_t at(int x, int y, int z)
{
	return (size_t)x + (size_t)nx * ((size_t)y + (size_t)ny * (size_t)z);
}

/* BLOCK lines of length @n at once, element i of line l at [i * BLOCK + l]; Stockham's order, the result is in the one returned. */
static cplx *transform(cplx *a, cplx *b, int n, int back)
{
	for (int half = n / 2, groups = 1; half; half /= 2, groups *= 2) {
		cplx *swap = a;

		for (int k = 0; k < half; k++) {
			cplx w = root[k * (LONGEST / 2 / half)];

			if (!back)
				w = conj(w);
			for (int g = 0; g < groups; g++)
				for (int l = 0; l < BLOCK; l++) {
					cplx s = a[(k * groups + g) * BLOCK + l];
					cplx t = a[((k + half) * groups + g) * BLOCK + l];

					b[(2 * k * groups + g) * BLOCK + l] = s + t;
					b[((2 * k + 1) * groups + g) * BLOCK + l] = (s - t) * w;
				}
		}
		a = b;
		b = swap;
	}
	return a;
}

/* All lines in one direction: the @n elements of a line are @stride apart; a block's lines, @next. */
static void lines(cplx *data, int n, size_t stride, size_t next, size_t from, int back)
{
	cplx a[LONGEST * BLOCK], b[LONGEST * BLOCK], *done;

	for (int i = 0; i < n; i++)
		for (int l = 0; l < BLOCK; l++)
			a[i * BLOCK + l] = data[from + (size_t)i * stride + (size_t)l * next];
	done = transform(a, b, n, back);
	for (int i = 0; i < n; i++)
		for (int l = 0; l < BLOCK; l++)
			data[from + (size_t)i * stride + (size_t)l * next] = done[i * BLOCK + l];
}

/* Within a region: the members share the lines. */
static void transform_all(cplx *data, int back)
{
#pragma omp for collapse(2) schedule(static)
	for (int z = 0; z < nz; z++)
		for (int y = 0; y < ny; y += BLOCK)
			lines(data, nx, 1, (size_t)nx, at(0, y, z), back);
#pragma omp for collapse(2) schedule(static)
	for (int z = 0; z < nz; z++)
		for (int x = 0; x < nx; x += BLOCK)
			lines(data, ny, (size_t)nx, 1, at(x, 0, z), back);
#pragma omp for collapse(2) schedule(static)
	for (int y = 0; y < ny; y++)
		for (int x = 0; x < nx; x += BLOCK)
			lines(data, nz, (size_t)nx * (size_t)ny, 1, at(x, y, 0), back);
}

/* Where the wave numbers fold. */
static double square(int i, int n)
{
	int k = (i + n / 2) % n - n / 2;

	return (double)k * k;
}

static void prepare(void)
{
	for (int k = 0; k < LONGEST; k++)
		root[k] = cexp(2 * M_PI * I * k / LONGEST);
#pragma omp parallel for schedule(dynamic)
	for (int z = 0; z < nz; z++) {
		uint64_t state = (uint64_t)((unsigned __int128)SEED *
						    random_power(MULTIPLY, 2 * at(0, 0, z)) &
					    MASK46);

		for (int y = 0; y < ny; y++)
			for (int x = 0; x < nx; x++) {
				double re = next_random(&state, MULTIPLY);

				u[at(x, y, z)] = re + I * next_random(&state, MULTIPLY);
				decay[at(x, y, z)] =
					exp(-4 * ALPHA * M_PI * M_PI *
					    (square(x, nx) + square(y, ny) + square(z, nz)));
			}
	}
}

static cplx checksum(void)
{
	cplx sum = 0;

	for (int j = 1; j <= 1024; j++)
		sum += work[at(j % nx, 3 * j % ny, 5 * j % nz)];
	return sum / ((double)nx * ny * nz);
}

int main(int argc, char **argv)
{
	char name = class_of(argc, argv);
	int class = name == 'W', right = 0;
	size_t all;
	double from, cpu;

	nx = class ? 128 : 64;
	ny = class ? 128 : 64;
	nz = class ? 32 : 64;
	all = (size_t)nx * (size_t)ny * (size_t)nz;
	u = room(all * sizeof(cplx));
	work = room(all * sizeof(cplx));
	decay = room(all * sizeof(double));
	from = omp_get_wtime();
	cpu = cpu_seconds();
	for (int r = 0; r < repeats; r++) {
		prepare();
#pragma omp parallel
		transform_all(u, 0);
		for (int round = 0; round < ROUNDS; round++) {
			cplx sum;

#pragma omp parallel
			{
#pragma omp for schedule(static)
				for (size_t i = 0; i < all; i++) {
					u[i] *= decay[i];
					work[i] = u[i];
				}
				transform_all(work, 1);
			}
			sum = checksum();
			right += fabs(creal(sum) / published[class][round][0] - 1) < 1e-12 * 10 &&
				 fabs(cimag(sum) / published[class][round][1] - 1) < 1e-12 * 10;
			if (getenv("NPB_VERBOSE"))
				fprintf(stderr, "%d: %.12e %.12e\n", round + 1, creal(sum),
					cimag(sum));
		}
	}
	cpu = cpu_seconds() - cpu;
	from = omp_get_wtime() - from;
	return npb_report("ft", name, from, cpu, right == repeats * ROUNDS);
}
