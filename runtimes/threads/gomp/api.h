/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Functions of omp.h, with Fortran's forms: the same names with an underscore, arguments by reference. */
#ifndef WEIR_GOMP_API_H
#define WEIR_GOMP_API_H

#include "gomp.h"

#define MAX_LEVELS 0x7fffffff

static inline int as_int(int64_t value)
{
	return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int)value;
}

/* A function without arguments, and one with a number, each also in Fortran's form. */
#define ASKS(type, name)            \
	GOMP_API type name(void);   \
	GOMP_API type name##_(void) \
	{                           \
		return name();      \
	}                           \
	GOMP_API type name(void)
#define SETS(name)                                    \
	GOMP_API void name(int value);                \
	GOMP_API void name##_(const int *value)       \
	{                                             \
		name(*value);                         \
	}                                             \
	GOMP_API void name##_8_(const int64_t *value) \
	{                                             \
		name(as_int(*value));                 \
	}                                             \
	GOMP_API void name(int value)
#define ASKS_OF(name)                                \
	GOMP_API int name(int value);                \
	GOMP_API int name##_(const int *value)       \
	{                                            \
		return name(*value);                 \
	}                                            \
	GOMP_API int name##_8_(const int64_t *value) \
	{                                            \
		return name(as_int(*value));         \
	}                                            \
	GOMP_API int name(int value)

int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_get_level(void);
int omp_get_ancestor_thread_num(int level);
int omp_get_team_num(void);
int omp_get_num_teams(void);

#endif
