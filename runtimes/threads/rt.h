/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the files of the thread library share. docs/decisions has the reasons. */
#ifndef WEIR_RT_H
#define WEIR_RT_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#include <weir/runtime.h>
#include <weir/schedule.h>
#include <weir/threads.h>

#include "../multikernel/plan.h"

#define WEIR_API __attribute__((visibility("default")))
#define NEVER	 (~0ull)
/* WEIR_RT_FALLBACK: instead of a slice without an end. Programs whose threads spin for each other wait for whole slices; a shorter one would cost 1 %. */
#define FALLBACK_NS 5000000ull
#define TICK_NS	    4000000ull /* for policies that listen to TICK; Linux at 250 Hz */
/* Beside enum weir_kind: a thread of another process (serve.c). */
#define WEIR_REMOTE 2u
/* Likewise: work for a foreign CPU, which no thread waits for (foreign.c). */
#define WEIR_WORK 3u

/* A gate's value: which CPU its POSIX thread is given to hold. */
enum gate { GATE_SHUT = 0 }; /* else 1 + CPU */

/* States in weir_thread.park. */
enum park { PARK_NONE, PARK_ASLEEP, PARK_PERMIT };

/* What a green thread asks of the driver when it switches back to it. */
enum request { REQUEST_NOTHING, REQUEST_YIELD, REQUEST_PARK, REQUEST_EXIT };

/* Why a thread left its CPU. */
enum left { LEFT_BEGIN, LEFT_YIELD, LEFT_BLOCKED, LEFT_PREEMPTED, LEFT_ENDED };

/* In self.lost: another thread takes the CPU from one that sleeps (watch.c). */
enum lost { LOST_NOT, LOST_ASKED, LOST_TAKEN };

/* A timer in the heap of events.c. */
struct timer {
	u64 at;
	u32 place;    /* in the heap, 1 is the first; 0: not in it */
	u32 instance; /* of the policy, if there is no thread */
	struct weir_thread *thread;
	u32 due; /* (a) */
};

/* Never returned to the system: a late unpark of a thread that has ended only leaves a spurious permit. */
struct weir_thread {
	struct weir_task *task;
	u32 kind;
	u32 lock; /* serialises the calls about the task of all but the thread itself; see call_over() */
	u32 park;      /* (a) enum park */
	u32 on_cpu;    /* (a) green: its stack is in use */
	u32 gate;      /* (a) bound: futex, enum gate */
	u32 linux_cpu; /* bound: where it is pinned, ~0: nowhere yet */
	int cpu;       /* (a) that it has, or is about to get; -1: none */
	u32 ended;     /* (a) futex: 1 once it has ended */
	u32 owners;    /* (a) itself and the thread that may join it */
	u32 adopted;
	int tid;    /* (a) */
	u32 number; /* in a trace: Linux's thread id; green threads have numbers of their own */
	char name[16];
	void *sp; /* green: where it resumes */
	char *stack;
	size_t stack_bytes;
	u64 armed;	   /* bound: when its timer fires; 0: not armed */
	u64 deallocations; /* (a) */
	int has_timer;
	timer_t timer;
	/* Its attributes, for threads that are to be like it. */
	struct weir_thread_attr attr;	/* under `lock` */
	u32 changes;			/* (a) of `attr` */
	const struct weir_thread *like; /* the thread whose attributes it last took, */
	u32 like_changes;		/* and at which of its changes */
	u64 mask; /* bound: signal mask before weir_blocking_begin(), in the kernel's form */
	/* Of a thread under another process's policy, there and here (remote.h). */
	struct control *control; /* (a) */
	u32 turn;
	u64 slice_end; /* here */
	u32 wants;     /* (a) here: it waits for a CPU, or has one */
	int pid;       /* there: its process, */
	struct client *client;
	struct cpu *remote_cpu; /* and the CPU that it has; under `lock` */
	u32 waits;		/* there: it sleeps; under `lock` */
	u32 early;		/* it was woken before it said that it sleeps */
	/* Its task is one of CPUs of this instruction set, with this context; 0: it is its own; under `lock` */
	u32 foreign; /* (a) */
	void *context;
	void *(*run)(void *);
	void *arg;
	void *result;
	struct timer alarm;
	struct weir_queue joiners;
	struct weir_thread *next_free;
	struct self *self; /* bound: of its POSIX thread; under watch.c's lock */
	u32 astray;	   /* (a) it slept with a CPU, and has none now */
	u64 ran;	   /* its CPU time then, ns */
	/* watch.c: it waits for a CPU since then, in this turn; */
	u64 waits_at, waits_turn;
	u32 reported;	    /* that was said; */
	u32 leaves;	    /* (a) it is to go on without the policy */
	u32 gang, gang_cpu; /* 1 + the gang that it is a member of, 0: none; its CPU there */
	/* While somebody watches (status.c). (a) all */
	u64 run_ns, wait_ns, nr_runs, nr_migrations;
	u64 runs_since, waits_since; /* 0: it does not, or nobody watched then */
	u32 last_cpu;		     /* 1 + the CPU; 0: none yet */
};

struct counters {
	u64 dispatches, yields, blocks, preemptions, deferred, expiries, handovers, kicks,
		polls_hit, sleeps, idle_ns, migrations, taken, strays;
};

struct cpu {
	u32 id;
	u32 linux_cpu;
	u32 isa;    /* not 0: it has no driver, and `next` is what its server does (foreign.c) */
	u32 server; /* (a) of such a CPU */
	u32 gate;   /* (a) the driver's futex: 1, the CPU is the driver's */
	u32 kicked; /* (a) futex: there may be work */
	u32 asleep; /* (a) the driver waits at `kicked` */
	/* (a) nobody has it, and the driver waits at `gate`: who clears this has it */
	u32 vacant;
	u32 works;   /* the driver has run green threads, and has a timer for them */
	u32 resched; /* (a) the policy wants it to choose again */
	int holder;  /* (a) Linux's number of the thread that has the CPU */
	int driver;
	enum request request;
	struct weir_thread *next;    /* chosen already, for the driver */
	struct weir_thread *leaving; /* green: it switched to another one, which frees its stack */
	struct weir_thread *bound;   /* (a) the bound thread that has the CPU, */
	struct weir_thread *seen;    /* and what watch.c saw of it at its last look */
	u64 seen_turn, seen_ran;
	struct weir_thread *remote; /* of another process, that has the CPU; written under */
	u32 remote_lock;
	void *sp;      /* of the driver, while a green thread runs */
	u64 slice_end; /* 0: `slice_ns` after the counter was at `slice_from` */
	u64 slice_ns;
	u64 slice_from;
	u64 next_tick;
	u64 armed;     /* when the driver's timer fires; 0: not armed */
	u64 armed_for; /* ns from then on, when it was set */
	u32 retries;   /* attempts in a row at a thread that could not be preempted */
	timer_t timer;
	u32 window;	/* ns to poll before sleeping */
	u32 misses;	/* polls in a row that found nothing */
	u64 idle_since; /* (a) 0: it is not */
	pthread_t thread;
	struct counters n;
} __attribute__((aligned(64)));

/* State of a POSIX thread. */
struct self {
	struct cpu *cpu;	    /* that it holds; null: none */
	struct weir_thread *thread; /* that runs on it */
	struct cpu *home;	    /* a driver's CPU, */
	int *error;		    /* and its errno */
	volatile u32 disabled;	    /* it keeps the CPU */
	volatile u32 pending;	    /* a signal came meanwhile */
	volatile u32 raises;	    /* so did one of the program */
	/* weir_blocking_begin()s without an end; the first gave up the CPU */
	u32 away;
	u32 lost;	  /* (a) enum lost */
	u32 returns;	  /* it makes its own task ready: a vacant CPU that is kicked for that */
	struct cpu *took; /* is this, which it has then */
};

struct range {
	u64 from, to;
};

struct rt {
	struct weir_sched *sched;
	u64 arena_bytes;
	struct cpu *cpus;
	u32 nr_cpus; /* of the plan; the core has one more, for calls of threads that hold none */
	u32 out_lock;
	u32 stop;      /* (a) */
	u32 open;      /* (a) */
	u32 has_slice; /* (a) a component answers SLICE */
	u32 has_tick;  /* (a) a component listens to TICK */
	u32 has_slots; /* (a) a component listens to GANG_SLOT */
	u32 joined;    /* the policy is in another process, */
	u32 alone;     /* (a) which has ended */
	u32 serving;
	u32 preemptive; /* green threads */
	u32 fallback;	/* WEIR_RT_FALLBACK */
	u32 watchdog;	/* WEIR_RT_WATCHDOG */
	int says;	/* its stderr: the program may close its own; 0: none */
	u32 nr_posix;	/* (a) futex: bound threads that exist */
	u32 nr_threads; /* (a) */
	u64 slice_ns;
	/* a constant-rate counter of the processor: readings of it and of the clock at one time; 0: there is none */
	u64 counter_at;
	u64 clock_at;
	size_t stack_bytes;
	int signal;
	u64 created;	/* (a) */
	u32 nr_records; /* (a) */
	u64 swaps;	/* (a) */
	u64 misses;	/* (a) */
	struct {
		u64 t_ns; /* 0: none yet */
		char from[128];
		struct weir_rt_swapped what;
	} last_swap; /* under swap_lock() */
	void *blob;  /* the plan in force */
	u64 blob_bytes;
	struct range keep[8]; /* code in which green threads are not preempted */
	u32 nr_keep;
};

extern struct rt rt;

/*
 * The runtime's signals are its timers', and those that it sends itself, which bear a mark: a program may send the same signal to its threads (Go's
 * runtime does, to preempt them).
 */
#define OWN_MARK ((void *)0x77656972ul)

void send_own(int pid, int tid);

static inline int is_own(const siginfo_t *info)
{
	return info->si_code == SI_TIMER ||
	       (info->si_code == SI_QUEUE && info->si_value.sival_ptr == OWN_MARK);
}

/* One writer at a time. */
static inline void count(u64 *n)
{
	__atomic_store_n(n, weir_load(n) + 1, __ATOMIC_RELAXED);
}

/* @t has @c no longer; another thread may have it already. */
static inline void has_not(struct cpu *c, struct weir_thread *t)
{
	__atomic_compare_exchange_n(&c->bound, &t, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* driver.c */
struct self *me(void);
int futex_wait(u32 *word, u32 value, u64 at);
void futex_wake(u32 *word, int n);
/* The same at a word that several processes share; wakes one. */
int shared_wait(u32 *word, u32 value, u64 at);
void shared_wake(u32 *word);
void set_cpus(int tid, const cpu_set_t *set);
void pin(int tid, u32 linux_cpu);
void spin(u32 *lock);
void unspin(u32 *lock);
/* The CPU in whose name the caller may call the core until core_leave(). */
u32 core_enter(void);
void core_leave(u32 cpu);
void kick(struct cpu *c);
void interrupt(struct cpu *c);
/*
 * @t runs, so it alone calls about its task, apart from messages, which may overlap with that: it needs no lock. But the call by which another one let it
 * in may not be over.
 */
void wait_for_call(struct weir_thread *t);

WEIR_INLINE void call_over(struct weir_thread *t)
{
	if (weir_unlikely(__atomic_load_n(&t->lock, __ATOMIC_ACQUIRE)))
		wait_for_call(t);
}

/* The policy has claimed @t, which is not green, for @c. A bound thread calls this itself, because the timer is its own. */
void cpu_begin(struct cpu *c, struct weir_thread *t);
/* The next thread of a CPU that the caller holds, or null. From here on, `resched` is about the new thread. */
struct weir_thread *cpu_choose(struct cpu *c);
/* The same, once the policy has @t, which has @c, back: it blocks (LEFT_BLOCKED) or stays schedulable. (A policy in another process tells the next one itself.) */
struct weir_thread *cpu_yield(struct cpu *c, struct weir_thread *t, enum left why);

/* @t is about to go into the policy's queue, from where another CPU, even a foreign one, may take it at once. */
WEIR_INLINE void leaves(struct weir_thread *t)
{
	__atomic_store_n(&t->cpu, -1, __ATOMIC_RELAXED);
}

void cpu_give(struct cpu *c, struct weir_thread *next);
/*
 * The caller sleeps in the kernel and gives up @c, which is @next's. Null: nobody has it, so that the thread has it again when it wakes up, without
 * switches to the driver and back.
 */
void cpu_leave(struct cpu *c, struct weir_thread *next);
void bound_wait(struct weir_thread *t);
/* @t is the caller, and slept: its task is ready again. Returns with a CPU. */
void bound_return(struct weir_thread *t);
/*
 * The running thread, which is in hold() as @s, gives up the CPU; REQUEST_NOTHING: its task has already. Returns with the next CPU that it gets: as whom
 * it goes on.
 */
struct self *switch_out(struct self *s, enum request request, enum left why);
void preempt_point(void);
void green_arrived(void);
int drivers_start(void);
void drivers_stop(void);
void on_signal(int sig, siginfo_t *info, void *context);
u64 now(void);
/* If the processor's counter has a constant rate, slices of green threads begin by it from here on. */
void counter_start(void);

/* watch.c */
int watch_start(void);
void watch_stop(void);
void watch_forked(void);
void watch_wake_up(void);
/* The thread ends. */
void watch_leaves(struct weir_thread *t);
void lost_point(void);
void go_astray(void);
/* Whether strays are looked for. */
int watch_runs(void);
char state_of(int pid, int tid);

/* Keep the CPU, if the caller has one, as whom it returns. */
WEIR_INLINE struct self *hold(void)
{
	struct self *s = me();

	s->disabled++;
	__asm__ volatile("" ::: "memory");
	if (weir_unlikely(__atomic_load_n(&s->lost, __ATOMIC_RELAXED) && s->disabled == 1))
		lost_point();
	return s;
}

/* The end of that; @s: the caller. The other one is for calls that may have changed its CPU. */
void release_as(struct self *s);
void release(void);

/* overflow.c */
/* What cannot be touched below a green thread's stack: more than most functions have as local variables. */
#define GUARD (64u << 10)
void overflow_reported(void);
/* For the calling thread, on which green ones run: where faults are handled. */
void overflow_stack(char *stack, size_t bytes);

/* switch.c */
void weir_switch(void **from, void *to);
void *weir_first_frame(char *top, void (*entry)(void));

/* The preloaded form's: a system call that is not the program's. */
extern long weir_shim_call(long number, long a, long b, long c) __attribute__((weak));
/* Likewise: a signal that is the program's. */
extern void weir_shim_urgent(siginfo_t *info, void *context, int own) __attribute__((weak));
/* open.c: in the child after a fork, which has none of the threads */
void forked(void);

int fail(int err, const char *what, const char *why);
int fail_as(int err, const char *why);
/* Where it may run is what was allowed to the process when it opened the runtime. */
void unpin(int tid);
int cpus_new(u32 nr);
/* A thread without the program's signals. 0, or an error number. */
int quiet_thread(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *arg);
/*
 * For a calling thread that works little, and would do so late on a busy machine: Linux is asked for a short slice, and lets it run sooner when it
 * wakes (6.12 and later; its share is as before, and it needs no right). 0: it works for the program, and has the usual slice.
 */
#define PROMPT_NS 100000ull
void be_prompt(int on);
/* Move a file away from the small numbers, which programs count on. */
int high_file(int fd);
/* Whether the other end is a process of this user, or of root; then its number is in @pid, if that is not null. */
int same_user(int socket, pid_t *pid);
/* Held while the plan in force changes, and while the runtime opens or closes. */
weir_mutex *swap_lock(void);

/* trace.c */
/* For the holder of @c: @t runs there from now on. Null: no thread runs there; @why says why the last one left. */
void trace(struct cpu *c, struct weir_thread *t, enum left why);
/* (a) who wants to know of switches; read at each */
enum { TRACING_FILE = 1, TRACING_WATCHED = 2 };
extern u32 tracing;

void trace_forked(void);

/* status.c */
void status_start(void);
void status_stop(void);
void status_forked(void);
int status_owns(int fd);
void watch_switch(struct cpu *c, struct weir_thread *t, enum left why);
void watch_wake(struct weir_thread *t);

/* tasks.c. The caller has @c. */
int task_new(struct weir_thread *t);
int task_admit(struct weir_thread *t);
void task_end(struct weir_thread *t);
int task_set(struct weir_thread *t, enum weir_attribute what, int64_t value, int64_t value2);
void task_unblock(struct weir_thread *t);
/* As weir_hand_over(). @woken: @to sleeps, and the caller has the right to wake it. */
int task_hand_over(struct cpu *c, struct weir_thread *t, struct weir_thread *to, int woken);

/* gang.c. Null: a caller that is no thread of the runtime. */
struct gang_change {
	u32 kind;   /* enum mk_change */
	u32 groups; /* a bit each */
	u32 group;
	u32 phase;
};
int gang_change(const struct weir_thread *t, int gang, const struct gang_change *what);
int gang_group(struct weir_thread *t, u32 group);
int gang_slot(const struct weir_thread *t, int gang, u64 at, u64 *from, u64 *until);
int gang_place(int gang, unsigned member, u32 *cpu, u64 *outside);
/* It runs on these CPUs only; null: on all. A policy without `annotate affinity` ignores that. */
void thread_bind(struct weir_thread *t, const struct weir_cpumask *mask);
int gang_member(struct weir_thread *t, int gang, u32 cpu, u64 outside);
void gangs_announce(void);
void gangs_forget(void);

/* thread.c */
void set_errno(int value);
int get_errno(void);
void thread_finish_park(struct weir_thread *t);
void thread_finish_exit(struct weir_thread *t);
struct weir_thread *record_new(void);
void record_drop(struct weir_thread *t);
void unpark(struct weir_thread *t);
/* Records are never freed; null behind the last. */
struct weir_thread *record_at(u32 n);
void park_until(u64 at);

void records_forked(void);
/* The calling thread, which waits for a CPU, leaves the runtime, unless it was chosen meanwhile: 0. */
int bound_leave(struct weir_thread *t);

/* Work for a foreign CPU, with a task that has not been admitted; its end. */
struct weir_thread *work_new(const struct weir_thread_attr *attr);
void work_ended(struct weir_thread *t);

/* sync.c */
void sync_forked(void);
struct weir_waiter {
	struct weir_waiter *next;
	struct weir_thread *thread; /* null: not a thread of the runtime */
	u32 woken;		    /* (a) futex for such a thread */
	u32 closed;
	u64 word;
	short events;
	short ready;
};
void queue_add(struct weir_queue *q, struct weir_waiter *w);
struct weir_waiter *queue_pop(struct weir_queue *q);
void waiter_wake(struct weir_waiter *w);
/* @q is locked and holds @w; returns with it unlocked. 0, or -ETIMEDOUT with @w removed. */
int queue_wait(struct weir_queue *q, struct weir_waiter *w, u64 at);

/* events.c */
int events_start(u32 nr_instances);
void events_stop(void);
void events_forked(void);
int events_own(int fd);
int events_room(u32 nr_instances);
void timer_add(struct timer *t, u64 at);
void timer_remove(struct timer *t);
int fd_wait(int fd, short events, u64 at);

#endif
