/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * libweir_threads: threads of one program under a Runweir policy. docs/threads.md is the guide.
 *
 * Functions return 0 or a negated error number (-EINVAL …) unless their line says otherwise; nothing sets errno but
 * the calls that are named after system calls. Times are nanoseconds of CLOCK_MONOTONIC.
 *
 * Two kinds of thread. A *bound* thread is a POSIX thread that runs only while the policy gives it a CPU: thread-local storage,
 * any library and debuggers work. A *green* thread has a stack and nothing else; a switch costs a tenth of that of a bound one. Green
 * threads share the thread-local storage of the CPU that they are on, and may come back on another one after any call of this
 * file, and after a preemption: see docs/threads.md before code that keeps state there runs in one.
 */
#ifndef WEIR_THREADS_H
#define WEIR_THREADS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- the runtime: one in a process ---------------------------------------------------------------- */

enum weir_rt_flags {
	/* More CPUs in the plan than this process may use: they take turns on those there are. For tests. */
	WEIR_RT_OVERSUBSCRIBE = 1,
	/* Green threads give up their CPU only in calls of this file. */
	WEIR_RT_COOPERATIVE = 2,
};

struct weir_rt_config {
	const char *plan_file; /* made by `runweir compile`; or null: the plan is in memory */
	const void *plan;      /* copied */
	size_t plan_bytes;
	unsigned flags; /* enum weir_rt_flags */
	/* of tasks to which the policy grants none; 0: 4 ms; at least 50 us */
	uint64_t slice_ns;
	size_t stack_bytes; /* of threads that say nothing; 0: 256 KiB */
	/* address space of the policy's state; 0: 1 GiB, touched as it is needed */
	size_t arena_bytes;
};

/* Start the runtime: a driver thread for each CPU of the plan, pinned, and one that waits for files and timers. */
int weir_rt_open(const struct weir_rt_config *config);
/* End it. -EBUSY while threads of it are alive. */
int weir_rt_close(void);
/* Why weir_rt_open() or weir_rt_swap() failed, in words. */
const char *weir_rt_error(void);

struct weir_rt_swapped {
	uint32_t represented; /* threads that were presented to the new policy */
	uint32_t built;	      /* instances made anew */
	uint32_t kept;	      /* instances that went on with their state */
	uint64_t pause_ns;
};

/* Another policy for the threads as they run. The old one stays if it fails. */
int weir_rt_swap(const void *plan, size_t plan_bytes, struct weir_rt_swapped *swapped);
int weir_rt_swap_file(const char *plan_file, struct weir_rt_swapped *swapped);

/* All counted from weir_rt_open() on. */
struct weir_rt_stats {
	uint32_t cpus;
	uint32_t threads; /* alive */
	uint64_t created;
	uint64_t dispatches; /* times a thread was given a CPU */
	uint64_t yields;
	uint64_t blocks;
	uint64_t preemptions; /* threads that had to give up their CPU */
	/* of those, attempts put off: in this library, in libc, or disabled by the program */
	uint64_t deferred;
	uint64_t expiries;  /* of slice timers */
	uint64_t handovers; /* directed ones that the policy allowed */
	uint64_t kicks;	    /* idle CPUs that were woken */
	uint64_t polls_hit; /* of those, found before the CPU went to sleep */
	uint64_t sleeps;    /* times a CPU went to sleep */
	uint64_t idle_ns;   /* summed over CPUs */
	uint64_t swaps;
	uint64_t deadline_misses; /* that the policy reported */
	uint64_t faults;	  /* components that failed and were rebuilt */
};

void weir_rt_stats(struct weir_rt_stats *stats);
/*
 * Write what runs where from now on to @file, until weir_rt_trace_end() or weir_rt_close(): trace events in JSON, for ui.perfetto.dev. A million turns a CPU
 * are kept; how many more there were, the file says.
 */
int weir_rt_trace(const char *file);
int weir_rt_trace_end(void);
const char *weir_rt_policy(void); /* name of the topology in force */
/* 0: the policy's state is sound; for tests, with all threads at rest */
int weir_rt_check(void);

/* --- threads ----------------------------------------------------------------------------------------- */

typedef struct weir_thread weir_thread;

enum weir_kind { WEIR_BOUND = 0, WEIR_GREEN = 1 };

/* What the policy may know of a thread; a policy without the annotator does not look at it. */
enum weir_attribute {
	WEIR_PRIORITY, /* value: greater is more urgent (annotate priority) */
	WEIR_DEADLINE, /* value: absolute, ns; value2: period, ns (annotate deadline) */
	WEIR_WEIGHT,   /* value: share of CPU time, 1024 is the usual (annotate weight) */
	WEIR_GROUP,    /* value: number of its group (annotate group_weight) */
	/* value: what a job needs at most, ns; value2: relative deadline, ns (annotate job) */
	WEIR_JOB,
	WEIR_LATENCY, /* value: for how long it wants to run at a time, ns (annotate latency) */
	WEIR_NR_ATTRIBUTES,
};

struct weir_thread_attr {
	uint32_t kind;	    /* enum weir_kind */
	uint32_t given;	    /* bits 1 << enum weir_attribute of the two arrays that count */
	size_t stack_bytes; /* 0: the runtime's */
	int64_t value[WEIR_NR_ATTRIBUTES];
	int64_t value2[WEIR_NR_ATTRIBUTES];
};

/* @attr may be null: bound, nothing given. @thread may be null: detached. */
int weir_thread_create(weir_thread **thread, const struct weir_thread_attr *attr,
		       void *(*run)(void *), void *arg);
/* Wait for its end and forget it. */
int weir_thread_join(weir_thread *thread, void **result);
/* It is forgotten at its end. */
int weir_thread_detach(weir_thread *thread);
void weir_thread_exit(void *result) __attribute__((noreturn));
/* Null where the caller is no thread of the runtime. */
weir_thread *weir_thread_self(void);
void weir_thread_yield(void); /* nothing happens while it is disabled */
/* Give the CPU to @thread, which waits in weir_thread_park() or for a CPU, if the policy has nothing more urgent: 0. Else as yield: 1. */
int weir_thread_hand_over(weir_thread *thread);
int weir_thread_set(weir_thread *thread, enum weir_attribute what, int64_t value, int64_t value2);
/* Sleep until somebody unparks it; one that came before counts, and it may come back for no reason: call it in a loop. */
void weir_thread_park(void);
void weir_thread_unpark(weir_thread *thread);
int weir_thread_kind(const weir_thread *thread); /* enum weir_kind */
/* The CPU of the policy that it has, -1 if it has none: waiting for a thread that does not run, one may as well sleep. */
int weir_thread_cpu(const weir_thread *thread);
/* The caller takes the attributes that @thread was given, and again after they have changed; cheap if they have not. */
int weir_thread_like(const weir_thread *thread);
/* How often it was taken off a CPU: a reader that sees the number change knows that it is not running. */
uint64_t weir_thread_deallocations(const weir_thread *thread);
/* The calling POSIX thread becomes a bound one, and is none any more. */
int weir_thread_adopt(const struct weir_thread_attr *attr);
int weir_thread_leave(void);

/* The thread keeps its CPU, whatever the policy says, until as many enables. Keep it short. */
void weir_disable(void);
void weir_enable(void);
unsigned weir_disabled(void); /* how many are open; also inside calls of this file */
/* Around anything that may block and is not in this file: a bound thread gives up its CPU meanwhile. Green ones keep it. */
void weir_blocking_begin(void);
void weir_blocking_end(void);

uint64_t weir_clock(void);
void weir_sleep(uint64_t ns);
void weir_sleep_until(uint64_t at);

/* --- gangs: threads that have their CPUs at the same time ------------------------------------------------- */

/*
 * Admit a gang by its manifest (docs/gangs.md); the policy needs the order `gang`. Its number, or -EINVAL, -ENOTSUP, -EBUSY: weir_rt_error() says
 * why. Phase 0 is in force 5 ms later.
 */
int weir_gang_open(const char *manifest, size_t bytes);
int weir_gang_close(int gang);
/* The caller is its member @member, from 0: it has that member's CPU to itself in the gang's slots. */
int weir_gang_join(int gang, unsigned member);
int weir_gang_leave(void);
int weir_gang_phase(int gang, unsigned phase);
/* The slot that ends after @at, as times of weir_clock(); -ENOENT: the phase is best effort. */
int weir_gang_slot(int gang, uint64_t at, uint64_t *from, uint64_t *until);
/* For libraries that make teams: a gang of as many members that no team has taken, or -ENOENT. */
int weir_gang_take(unsigned threads);
void weir_gang_return(int gang);

/* --- synchronisation: threads of both kinds and others alike; zeroed memory is a proper start -------------- */

struct weir_waiter;
struct weir_queue {
	uint32_t lock;
	uint32_t nr;
	struct weir_waiter *head, *tail;
};

typedef struct {
	uint32_t state;
	struct weir_queue queue;
} weir_mutex;
typedef struct {
	struct weir_queue queue;
} weir_cond;
typedef struct {
	int64_t count; /* its start value */
	struct weir_queue queue;
} weir_sem;
typedef struct {
	uint32_t needed; /* as many threads */
	uint32_t arrived;
	uint32_t generation;
	struct weir_queue queue;
} weir_barrier;
typedef struct weir_chan weir_chan;

#define WEIR_MUTEX_INIT	     { 0 }
#define WEIR_COND_INIT	     { { 0 } }
#define WEIR_SEM_INIT(n)     { .count = (n) }
#define WEIR_BARRIER_INIT(n) { .needed = (n) }
#define WEIR_FOREVER	     UINT64_MAX

void weir_mutex_lock(weir_mutex *m);
int weir_mutex_trylock(weir_mutex *m); /* -EBUSY */
void weir_mutex_unlock(weir_mutex *m);
void weir_cond_wait(weir_cond *c, weir_mutex *m);
int weir_cond_wait_until(weir_cond *c, weir_mutex *m, uint64_t at); /* -ETIMEDOUT */
void weir_cond_signal(weir_cond *c);
void weir_cond_broadcast(weir_cond *c);
void weir_sem_wait(weir_sem *s);
int weir_sem_wait_until(weir_sem *s, uint64_t at); /* -ETIMEDOUT */
int weir_sem_trywait(weir_sem *s);		   /* -EAGAIN */
void weir_sem_post(weir_sem *s);
/* Sleep while @word is @value, until a wake or @at: 0, -EAGAIN: it is not, -ETIMEDOUT. As Linux's futex, for threads of any kind. */
int weir_wait_on(uint32_t *word, uint32_t value, uint64_t at);
void weir_wake_on(uint32_t *word, unsigned n); /* @n of the threads that sleep at @word */
/* Spins for as long as it costs to sleep and be woken, then sleeps. 1 for one of them, 0 for the others. */
int weir_barrier_wait(weir_barrier *b);

/* A queue of at most @capacity words between any threads; 0: each send meets a receive. */
weir_chan *weir_chan_new(uint32_t capacity);
void weir_chan_free(weir_chan *c);
int weir_chan_send(weir_chan *c, uint64_t word); /* -EPIPE: closed */
/* -ETIMEDOUT; @at 0: -EAGAIN at once */
int weir_chan_send_until(weir_chan *c, uint64_t word, uint64_t at);
int weir_chan_recv(weir_chan *c, uint64_t *word); /* -EPIPE: closed and empty */
int weir_chan_recv_until(weir_chan *c, uint64_t *word, uint64_t at);
void weir_chan_close(weir_chan *c);

/* --- files: block the thread, not its CPU; results and errno as of the system calls ------------------------- */

ssize_t weir_read(int fd, void *buffer, size_t bytes);
ssize_t weir_write(int fd, const void *buffer, size_t bytes);
int weir_accept(int fd, struct sockaddr *address, socklen_t *length);
int weir_connect(int fd, const struct sockaddr *address, socklen_t length);
/* Wait for POLLIN or POLLOUT: what is ready, 0 at time @at, -1 with errno. */
int weir_wait_fd(int fd, short events, uint64_t at);

#ifdef __cplusplus
}
#endif
#endif
