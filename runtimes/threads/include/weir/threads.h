/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * libweir_threads: threads of one program under a Runweir policy. docs/threads-library.md is the guide.
 *
 * Functions return 0 or a negated error number (-EINVAL …) unless their line says otherwise; only the calls named
 * after system calls set errno. Times are nanoseconds of CLOCK_MONOTONIC.
 *
 * Two kinds of thread. A *bound* thread is a POSIX thread that runs only while the policy gives it a CPU: thread-local storage,
 * any library and debuggers work. A *green* thread has only a stack; a switch costs a tenth of that of a bound thread. Green
 * threads share the thread-local storage of the CPU that they run on, and may resume on another CPU after any call of this file
 * and after a preemption: read docs/threads-library.md before you run code that keeps state there in a green thread.
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
	/* The plan may have more CPUs than this process may use; they share the available ones. For tests. */
	WEIR_RT_OVERSUBSCRIBE = 1,
	/* Green threads give up their CPU only in calls of this file; they are not preempted. */
	WEIR_RT_COOPERATIVE = 2,
	/* `runweir top --pid` gets no answer: there is no socket for it, and no thread that answers. */
	WEIR_RT_PRIVATE = 4,
	/*
	 * For programs that spin until another thread has done something: where the policy sets no end to a slice, the thread goes to the end of
	 * its queue after 5 ms; one that waits beside an idle CPU is placed anew; with the next flag, one that waits for 2 s goes on without the policy.
	 */
	WEIR_RT_FALLBACK = 8,
	/* A thread that waits for a CPU for 2 s is reported on stderr, once. */
	WEIR_RT_WATCHDOG = 16,
};

struct weir_rt_config {
	const char *plan_file; /* made by `runweir compile`; or null: the plan is in memory */
	const void *plan;      /* copied */
	size_t plan_bytes;
	unsigned flags; /* enum weir_rt_flags */
	/* of tasks to which the policy gives no slice; 0: 4 ms; at least 50 us */
	uint64_t slice_ns;
	size_t stack_bytes; /* default for threads; 0: 256 KiB */
	/* address space of the policy's state; 0: 1 GiB, touched only as needed */
	size_t arena_bytes;
	/* Other processes of this user may have their threads under this policy, by this name; null: none. */
	const char *serve;
	/* No plan here: the threads of this process are under the policy that is served by this name. Bound threads only. */
	const char *join;
	/*
	 * With `join`: called once if the process that serves ends, or turns this one away. All threads continue without a policy. By a
	 * thread of the library; may be null.
	 */
	void (*alone)(const char *why);
};

/*
 * Start the runtime: a pinned driver thread for each CPU of the plan, a thread that waits for files and timers, and one that answers
 * `runweir top --pid` (for this user and root).
 */
int weir_rt_open(const struct weir_rt_config *config);
/*
 * Where the next weir_rt_open() with a plan has its CPUs: Linux's numbers, as `0-3,8`; null: the first ones that the process may use. -EINVAL:
 * it is no such list.
 */
int weir_rt_place(const char *cpus);
/* End it. -EBUSY while threads of it are alive. */
int weir_rt_close(void);
/* Why weir_rt_open() or weir_rt_swap() failed, in words. */
const char *weir_rt_error(void);

struct weir_rt_swapped {
	uint32_t represented; /* threads that were presented to the new policy */
	uint32_t built;	      /* instances built again */
	uint32_t kept;	      /* instances that kept their state */
	uint64_t pause_ns;
};

/* Switch to another policy while threads run. If this fails, the old policy stays. */
int weir_rt_swap(const void *plan, size_t plan_bytes, struct weir_rt_swapped *swapped);
int weir_rt_swap_file(const char *plan_file, struct weir_rt_swapped *swapped);

/*
 * What the process that has the policy says to a program that joined it (`join`), on a page that both have. It may change at any time; read with
 * atomic loads.
 */
struct weir_activation {
	uint32_t
		cpus; /* the program is to use at most so many; 0: nobody says, as it does not follow */
	uint32_t asked;	       /* how often that changed */
	uint64_t asked_at;     /* the last time, CLOCK_MONOTONIC, ns */
	uint32_t confined;     /* 1: it did not answer in time, and its threads share `cpus` CPUs */
	uint32_t confinements; /* how often that happened */
	uint32_t wish;	       /* of the program */
	uint32_t uses;	       /* its answer */
	uint32_t answered;     /* the value of `asked` that it has answered */
	uint32_t unused;
};

/* Null: this program has not joined another one's policy. */
const struct weir_activation *weir_rt_activation(void);
/*
 * The program could use @wish CPUs (0: it uses what it likes from now on). Returns how many it is to use, which is its answer, too: call it
 * wherever it can change that, such as before each parallel phase. It costs a few loads if nothing has changed. Without `join`, @wish or the
 * CPUs of the policy, whichever is less.
 */
unsigned weir_rt_allotment(unsigned wish);

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
	uint64_t handovers; /* directed yields that the policy allowed */
	uint64_t kicks;	    /* idle CPUs that were woken */
	uint64_t polls_hit; /* of those, found before the CPU went to sleep */
	uint64_t sleeps;    /* times a CPU went to sleep */
	uint64_t idle_ns;   /* summed over CPUs */
	uint64_t swaps;
	uint64_t deadline_misses; /* that the policy reported */
	uint64_t faults;	  /* components that failed and were rebuilt */
	/* CPUs taken from threads of other processes that were stopped or did not give way; serving only */
	uint64_t taken;
};

void weir_rt_stats(struct weir_rt_stats *stats);
/*
 * From now on, write what runs where to @file, until weir_rt_trace_end() or weir_rt_close(): trace events in JSON, for ui.perfetto.dev.
 * Keeps a million entries per CPU; the file says how many more there were.
 */
int weir_rt_trace(const char *file);
int weir_rt_trace_end(void);
const char *weir_rt_policy(void); /* name of the topology in force */
/* What programs may ask of Linux's scheduler that it does not obey: a line each, KIND=SENTENCE; the kinds are nice, priority, weight, group, fifo, rr,
 * batch, idle, deadline and cpus. Never null. */
const char *weir_rt_ignores(void);
/* 0: the policy's state is sound; for tests, with all threads at rest */
int weir_rt_check(void);

/* For libraries that wrap libc. Whether the file is the runtime's. The child of a call like fork(), of which libc's handlers do not learn. */
int weir_rt_owns(int fd);
void weir_rt_forked(void);
/* Around such a call: before it, and after it in the parent and, when it has called weir_rt_forked(), in the child. */
void weir_rt_fork_begins(void);
void weir_rt_fork_done(void);
/* A signal was put off because weir_disabled(): it is raised at the end of that. */
void weir_rt_deferred(void);

/* Of a process that serves its policy: how many others are there, and how many have been. */
unsigned weir_rt_clients(void);
unsigned weir_rt_served(void);

/* --- threads ----------------------------------------------------------------------------------------- */

typedef struct weir_thread weir_thread;

enum weir_kind { WEIR_BOUND = 0, WEIR_GREEN = 1 };

/* A thread's attributes for the policy; a policy without the annotator ignores them. */
enum weir_attribute {
	WEIR_PRIORITY, /* value: greater is more urgent (annotate priority) */
	WEIR_DEADLINE, /* value: absolute, ns; value2: period, ns (annotate deadline) */
	WEIR_WEIGHT,   /* value: share of CPU time; the default is 1024 (annotate weight) */
	WEIR_GROUP,    /* value: number of its group (annotate group_weight) */
	/* value: a job's worst-case execution time, ns; value2: relative deadline, ns (annotate job) */
	WEIR_JOB,
	WEIR_LATENCY, /* value: how long it wants to run at a time, ns (annotate latency) */
	WEIR_NR_ATTRIBUTES,
};

struct weir_thread_attr {
	uint32_t kind;	    /* enum weir_kind */
	uint32_t given;	    /* bits 1 << enum weir_attribute: which entries of the arrays count */
	size_t stack_bytes; /* 0: the runtime's default */
	int64_t value[WEIR_NR_ATTRIBUTES];
	int64_t value2[WEIR_NR_ATTRIBUTES];
};

/* @attr may be null: bound, no attributes. @thread may be null: detached. */
int weir_thread_create(weir_thread **thread, const struct weir_thread_attr *attr,
		       void *(*run)(void *), void *arg);
/* Wait until it ends, then free it. */
int weir_thread_join(weir_thread *thread, void **result);
/* It is freed when it ends. */
int weir_thread_detach(weir_thread *thread);
void weir_thread_exit(void *result) __attribute__((noreturn));
/* Null if the caller is not a thread of the runtime. */
weir_thread *weir_thread_self(void);
void weir_thread_yield(void); /* no effect while preemption is disabled */
/* If the policy has nothing more urgent, give the CPU to @thread, which waits in weir_thread_park() or for a CPU: 0. Else yield: 1. */
int weir_thread_hand_over(weir_thread *thread);
int weir_thread_set(weir_thread *thread, enum weir_attribute what, int64_t value, int64_t value2);
/*
 * Topics that components of the policy bring along (docs/topics.md), by name. Publish a message about @about, or about no thread if it
 * is null; @words are all words of the topic's payload. -ENOENT: no component has the topic; -EPERM: it is not for programs; -EINVAL:
 * another number of words; -ESRCH: the thread has ended; -ENOTSUP: the policy is that of another process.
 */
int weir_thread_publish(weir_thread *about, const char *topic, const uint64_t *words, unsigned nr);
/*
 * Ask the component that answers the topic. The answer's words go to @words, @nr at most; returns how many there are. -ENOENT: nobody
 * answers; otherwise as above.
 */
int weir_thread_request(weir_thread *about, const char *topic, uint64_t *words, unsigned nr);
/* Sleep until unparked; an earlier unpark counts. It may return spuriously: call it in a loop. */
void weir_thread_park(void);
void weir_thread_unpark(weir_thread *thread);
int weir_thread_kind(const weir_thread *thread); /* enum weir_kind */
/* The policy's CPU that it has; -1: none. A waiter need not spin for a thread that has no CPU. */
int weir_thread_cpu(const weir_thread *thread);
/* Copy @thread's attributes to the caller. Call it again to follow changes; cheap if there are none. */
int weir_thread_like(const weir_thread *thread);
/* How often it was taken off a CPU: a reader that sees the number change knows that the thread stopped running. */
uint64_t weir_thread_deallocations(const weir_thread *thread);
/* The calling POSIX thread becomes a bound thread; it stops being one. */
int weir_thread_adopt(const struct weir_thread_attr *attr);
int weir_thread_leave(void);

/* Disable preemption: the thread keeps its CPU until as many enables. Keep it short. */
void weir_disable(void);
void weir_enable(void);
unsigned weir_disabled(void); /* current depth; calls of this file count, too */
/* Put these around any call outside this file that may block: a bound thread gives up its CPU meanwhile. A green thread keeps it. */
void weir_blocking_begin(void);
void weir_blocking_end(void);

/* Whether the caller is between the two, and gave up a CPU. */
int weir_blocking(void);

uint64_t weir_clock(void);
void weir_sleep(uint64_t ns);
void weir_sleep_until(uint64_t at);

/* --- foreign CPUs: processing elements that the program serves ------------------------------------------- */

/*
 * CPUs of the plan with another instruction set than the native one (docs/threads-library.md) have no driver. A thread of the program, a bound one or none of
 * the runtime's, serves one and asks for its tasks:
 *
 *	weir_foreign_take(cpu);
 *	while (!weir_foreign_pick(cpu, WEIR_FOREVER, &work))
 *		weir_foreign_give(cpu, process(work.context));
 */
struct weir_work {
	weir_thread *thread; /* that waits for its end; null: none */
	void *context;
	uint64_t slice_ns; /* that the policy grants */
};

/* The instruction set of a CPU, by its number in the plan: 0 is the native one. -EINVAL: there is no such CPU. */
int weir_rt_isa(unsigned cpu);
/* The caller serves this CPU from now on. -EINVAL: it is a native one, or there is none; -EBUSY: another thread serves it. */
int weir_foreign_take(unsigned cpu);
/* It no longer does. -EBUSY: it has work. */
int weir_foreign_drop(unsigned cpu);
/*
 * The next task for this CPU, waiting for one until @at (-ETIMEDOUT). -ECANCELED: the CPU was cancelled, and is no longer served;
 * -EPROTO: the policy gives a task of another instruction set.
 */
int weir_foreign_pick(unsigned cpu, uint64_t at, struct weir_work *work);
/* Whether the policy wants the CPU for another task, or the slice is over: give the work back, unfinished. */
int weir_foreign_must_go(unsigned cpu);
/* Give back the work. @finished: its thread continues, and work without a thread ends; else it will be picked again. */
int weir_foreign_give(unsigned cpu, int finished);
/* For any thread: let the server's pick, the one under way or the next, return -ECANCELED. */
int weir_foreign_cancel(unsigned cpu);
/*
 * The caller's task goes to CPUs of instruction set @isa, with @context; returns when one has finished it and the caller has a CPU again.
 * -EINVAL: no CPU has the instruction set, or the caller is no thread of the runtime; -ENOTSUP: the policy does not go by instruction sets.
 */
int weir_thread_foreign(unsigned isa, void *context);
/* Work that no thread waits for. It counts as a thread until it is finished. */
int weir_foreign_submit(unsigned isa, void *context, const struct weir_thread_attr *attr);

/* --- gangs: threads that have their CPUs at the same time ------------------------------------------------- */

/*
 * Admit a gang by its manifest (docs/gangs.md); the policy needs the order `gang`. Returns its number, or -EINVAL, -ENOTSUP, -EBUSY:
 * weir_rt_error() says why. Phase 0 is in force 5 ms later.
 */
int weir_gang_open(const char *manifest, size_t bytes);
int weir_gang_close(int gang);
/* The caller becomes its member @member, from 0: in the gang's slots it has that member's CPU to itself. */
int weir_gang_join(int gang, unsigned member);
int weir_gang_leave(void);
/*
 * Groups of a gang's members, each in a phase of its own; all begin in group 0, and there are 16 (docs/gangs.md). A change is in force 5 ms later.
 * The caller's CPU in the gang is in @group from now on.
 */
int weir_gang_group(unsigned group);
/* The caller's group enters @phase; of a caller that is no member, the group in which the gang's first CPU is. */
int weir_gang_phase(int gang, unsigned phase);
/* @groups, a bit each, merge into group @into, which enters @phase, or stays in its own. */
int weir_gang_merge(int gang, unsigned groups, unsigned into, unsigned phase);
#define WEIR_GANG_SAME_PHASE (~0u)
/* The groups that were merged into @group leave it, each for the phase that it had; -EINVAL: there are none. */
int weir_gang_split(int gang, unsigned group);
/* The first slot of the caller's CPU that ends after @at, in times of weir_clock(); -ENOENT: the phase is best effort. */
int weir_gang_slot(int gang, uint64_t at, uint64_t *from, uint64_t *until);
/* For libraries that make teams: a gang of this many members that no team has taken, or -ENOENT. */
int weir_gang_take(unsigned threads);
void weir_gang_return(int gang);

/* --- synchronisation, for threads of both kinds and others; zeroed memory is initialised ------------------- */

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
	int64_t count; /* initial value */
	struct weir_queue queue;
} weir_sem;
typedef struct {
	uint32_t needed; /* number of threads */
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
/* Sleep while @word is @value, until a wake (0) or @at (-ETIMEDOUT). -EAGAIN: it is not @value. As Linux's futex, for all kinds of threads. */
int weir_wait_on(uint32_t *word, uint32_t value, uint64_t at);
void weir_wake_on(uint32_t *word, unsigned n); /* wakes @n of the threads that sleep at @word */
/* Spins for the cost of a sleep and wake-up, then sleeps. Returns 1 to one thread, 0 to the others. */
int weir_barrier_wait(weir_barrier *b);

/* A queue of at most @capacity words between any threads; 0: each send waits for a receive. */
weir_chan *weir_chan_new(uint32_t capacity);
void weir_chan_free(weir_chan *c);
int weir_chan_send(weir_chan *c, uint64_t word); /* -EPIPE: closed */
/* -ETIMEDOUT; with @at 0: -EAGAIN at once */
int weir_chan_send_until(weir_chan *c, uint64_t word, uint64_t at);
int weir_chan_recv(weir_chan *c, uint64_t *word); /* -EPIPE: closed and empty */
int weir_chan_recv_until(weir_chan *c, uint64_t *word, uint64_t at);
void weir_chan_close(weir_chan *c);

/* --- files: block the thread, not its CPU; results and errno as of the system calls ------------------------- */

ssize_t weir_read(int fd, void *buffer, size_t bytes);
ssize_t weir_write(int fd, const void *buffer, size_t bytes);
int weir_accept(int fd, struct sockaddr *address, socklen_t *length);
int weir_connect(int fd, const struct sockaddr *address, socklen_t length);
/* Wait for POLLIN or POLLOUT. Returns what is ready, 0 at time @at, or -1 with errno. */
int weir_wait_fd(int fd, short events, uint64_t at);

#ifdef __cplusplus
}
#endif
#endif
