/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the files of the preloaded library share: shim.c (threads, the program's beginning and end), shim-wait.c (calls that may block),
 * shim-sched.c (settings of Linux's scheduler), shim-signal.c, shim-exec.c (other programs and processes), shim-leave.c (what a thread leaves the policy for).
 */
#ifndef WEIR_SHIM_H
#define WEIR_SHIM_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <weir/threads.h>

#define SHIM __attribute__((visibility("default")))

/* The runtime's thread for a POSIX thread of the program. */
struct record {
	struct record *next;
	pthread_t thread;
	weir_thread *own; /* null: it could not be adopted, and runs without the policy */
	int tid;
	unsigned rounds;       /* of destructors of thread-specific data that have passed */
	volatile int cancels;  /* cancellation is asynchronous: emulated (shim.c) */
	cpu_set_t cpus;	       /* what the program asked for, */
	int policy;	       /* likewise; */
	struct sched_param at; /* they are returned, the runtime does not obey them */
	unsigned long
		reservation[3]; /* of SCHED_DEADLINE: runtime, deadline, period, ns; likewise */
	int nice;		/* Linux's */
	int blocks_urgent;	/* at first */
	int outside;		/* made by a thread that has left the policy */
	void *(*run)(void *);
	void *arg;
};

/* The program asks for something of this kind (weir_rt_ignores()). Said once if the policy does not obey it. */
void shim_unheeded(const char *kind);
extern int shim_active;
extern cpu_set_t shim_whole; /* CPUs that the program may use */
/* A child shares the memory and the thread-local variables of a thread: whether a call is that thread's is a question now. */
extern int shim_clones;

/* Whether the caller is a thread under the policy. */
int shim_mine(void);
struct record *shim_self(void);
/* Call it on all records. */
void shim_on_all(int (*f)(struct record *r, void *with), void *with);
/* Tell the policy what the thread's priority is now: of a policy of Linux, or else by its nice value. 0, or an error number. */
int shim_prioritise(struct record *r);
/* The nice value and the priority that a thread begins with. */
void shim_nice(struct record *r);
/* A system call that sets or asks a thread's scheduling, and its result; 0: it is another call, or not about a thread of the program. */
int shim_scheduling(long number, const long *a, long *result);
/* sched_getattr(2) has answered. */
void shim_attributes_got(const long *a);
/* Call @f on the record of a thread, with the list locked; 0 if there is none. By POSIX's or, if that is 0, by Linux's number. */
int shim_on(pthread_t thread, int tid, int (*f)(struct record *r, void *with), void *with);

/* The calling thread goes on without the policy, and so does what it starts. */
void shim_leave(void);
/* The program has one thread. */
int shim_is_single(void);
/* A system call is about to be made; if the thread cannot make it or what follows under the policy, it leaves. */
void shim_before(long number, const long *a);
void *shim_next(const char *name);
/* A system call that is not the program's. */
long weir_shim_call(long number, long a, long b, long c);
/* In a child with memory of its own that came about without fork(). */
void shim_follow(void);
/* Note what the program's predecessor set for the runtime's signal, before the runtime sets it. */
void shim_urgent(void);
/* Whether the program has it blocked in this thread, as far as it knows. */
int shim_blocks_urgent(void);
void shim_block_urgent(int blocked);
/* For the kernel, which blocks it at other times only while a thread waits. */
void shim_mask_urgent(int how);
/* A child has no policy, and the mask that the program knows. */
void shim_urgent_without_policy(void);
/* A system call that sets what the runtime's signal does, and its result; 0: it is another call. */
int shim_actions(long number, const long *a, long *result);
/* The library's files, which the program must not close. */
int shim_owns(int fd);
/* A system call that closes or replaces files, and its result; 0: it is another call. */
int shim_files(long number, const long *a, long *result);
/* @copy is @set and our signal. */
const sigset_t *shim_with_ours(const sigset_t *set, sigset_t *copy);
const sigset_t *shim_without_ours(const sigset_t *set, sigset_t *copy);

/* Around a call that waits: asynchronous cancellation is libc's matter there. */
int shim_leaves(void);
void shim_asynchronous(void);
void shim_deferred(void);

static inline void shim_back(const int *cancels)
{
	if (*cancels)
		shim_deferred();
	weir_blocking_end();
}

/*
 * What a wrapper calls, found when the runtime opens or, before that, when it is first called. Not later: dlsym() waits for a thread that loads a
 * library, and that one may wait for a CPU which the caller is about to give it.
 */
struct shim_real {
	const char *name;
	void **real;
};
#define REAL_AS(name, type)                                                               \
	static __typeof__(type) *real;                                                    \
	static const struct shim_real found_                                              \
		__attribute__((section("shim_reals"), used)) = { #name, (void **)&real }; \
	if (!real)                                                                        \
	real = (__typeof__(type) *)shim_next(#name)
#define REAL(name) REAL_AS(name, name)
/* A thread that is cancelled in the call gets a CPU before its clean-up handlers run. */
#define BLOCKING(call)                                                            \
	({                                                                        \
		int cancels_ __attribute__((cleanup(shim_back))) = shim_leaves(); \
		if (cancels_)                                                     \
			shim_asynchronous();                                      \
		(call);                                                           \
	})

#endif
