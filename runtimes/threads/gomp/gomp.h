/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The OpenMP library: what its files share. It has the interface that gcc's -fopenmp emits calls to, so a program that was linked with
 * libgomp.so.1 runs with it unchanged. If the thread library is in the process and has adopted the caller, members of teams are bound
 * threads of its policy; else they are ordinary threads. docs/threads.md is the guide, docs/decisions/0140 has the reasons.
 */
#ifndef WEIR_GOMP_H
#define WEIR_GOMP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sched.h>

#include <weir/threads.h>

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef unsigned long long ull;

#define GOMP_API  __attribute__((visibility("default")))
#define LINE	  64
#define ALIGNED	  __attribute__((aligned(LINE)))
#define NR_WORKS  32u /* worksharing constructs by which the fastest member may be ahead */
#define NR_LEVELS 8u  /* of OMP_NUM_THREADS' list */

#define get(p)	  __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define set(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define glance(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define add(p, v) __atomic_add_fetch((p), (v), __ATOMIC_ACQ_REL)
#define cas(p, o, n) \
	__atomic_compare_exchange_n((p), (o), (n), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* Numbers as in gcc's calls and omp_sched_t. */
enum kind { KIND_RUNTIME, KIND_STATIC, KIND_DYNAMIC, KIND_GUIDED, KIND_AUTO };
#define KIND_MONOTONIC 0x80000000u

/* Flags of GOMP_task() and GOMP_taskloop(). */
enum task_flag {
	TASK_UNTIED = 1 << 0,
	TASK_FINAL = 1 << 1,
	TASK_DEPEND = 1 << 3,
	TASK_PRIORITY = 1 << 4,
	TASK_UP = 1 << 8,
	TASK_GRAINSIZE = 1 << 9,
	TASK_IF = 1 << 10,
	TASK_NOGROUP = 1 << 11,
	TASK_REDUCTION = 1 << 12,
	TASK_DETACH = 1 << 13,
	TASK_STRICT = 1 << 14,
};

/* What GOMP_cancel() ends. */
enum cancel { CANCEL_PARALLEL = 1, CANCEL_LOOP = 2, CANCEL_SECTIONS = 4, CANCEL_GROUP = 8 };

/* Where members of a region go: omp_proc_bind_t. */
enum bind { BIND_FALSE, BIND_TRUE, BIND_PRIMARY, BIND_CLOSE, BIND_SPREAD };

/* A task's settings; its children inherit them. */
struct settings {
	u32 threads;	/* of the next region; 0: of the environment, by level */
	u32 max_levels; /* of regions with more than one thread */
	u32 sched;	/* enum kind, perhaps KIND_MONOTONIC */
	u32 dynamic;
	long chunk;
	u32 limit; /* threads of a contention group at most */
	int device;
	uintptr_t allocator; /* for memory without one */
};

/* The environment, read once. */
struct environment {
	struct settings settings;
	u32 threads[NR_LEVELS];
	u32 nr_levels;
	u32 teams;	  /* of a league; 0: the program says it */
	u32 teams_limit;  /* threads of each; 0: no limit of its own */
	u32 cancels;	  /* whether a program may cancel anything */
	int max_priority; /* of tasks */
	u32 mandatory;	  /* no host instead of a device that is not there */
	enum bind binds[NR_LEVELS];
	u32 nr_binds;
	cpu_set_t *places;
	u32 nr_places;
	char *format; /* of a thread's affinity */
	u32 shows_affinity;
	int policy; /* -1 passive, 0 not given, 1 active */
	size_t stack_bytes;
	u64 spin_ns;
	u32 procs;
	cpu_set_t cpus; /* CPUs that the process may use */
};

extern struct environment env;

/* A word that changes at every event that waiting threads must see. */
struct event {
	u32 word;     /* (a) */
	u32 sleepers; /* (a) */
};

struct links {
	struct task *next, *before;
};

struct list {
	struct task *head, *tail;
};

enum { LIST_TEAM, LIST_PARENT, LIST_GROUP, NR_LISTS };

/* A taskgroup; on the stack of the task that opened it. */
struct group {
	struct group *outer;
	u32 running; /* (a) tasks in it that have not ended */
	u32 workshare;
	u32 blocked;	    /* (l) tasks in it that depend on others */
	u32 cancelled;	    /* (a) its tasks that have not begun never do */
	struct list queued; /* (l) */
	u64 *reductions;
};

struct depend {
	void *address;
	u32 reads; /* only */
	u32 linked;
	struct task *task;
	struct depend *next, **at; /* in the parent's table */
};

struct task {
	void (*run)(void *);
	void *data;
	struct task *parent;
	struct team *team;
	struct group *group;
	struct settings settings;
	u32 children; /* (a) children that have not ended */
	u32 keepers;  /* (l) itself and its children: frees it at 0 */
	int priority;
	u32 copied; /* its data have constructors, which have run */
	u32 final;
	u32 implicit;
	u32 detached;		     /* ends when its body has and its event is fulfilled */
	u32 detach;		     /* (l) what it still waits for then, enum detach */
	u32 blockers;		     /* (l) tasks that it depends on */
	struct list queued;	     /* (l) its children that have not begun */
	struct links link[NR_LISTS]; /* (l) */
	struct task **after;	     /* (l) tasks that depend on it */
	u32 nr_after, room_after;
	u32 nr_depends;
	struct depend *depends;
	struct depend **table; /* (l) dependences of its children */
};

/* One loop or one set of sections, of a team. */
struct work {
	u64 ready; /* (a) 1 + number of the construct that it is set up for */
	u32 lock;
	u32 left;	  /* (a) members that have finished it */
	u64 gone;	  /* (a) number of the construct that may take it */
	u64 next ALIGNED; /* (a) first iteration not handed out */
	u64 nr;		  /* iterations */
	u64 chunk;
	u64 start, end, step; /* of the loop variable; signed ones by their bits */
	u32 kind;
	u32 ordered;
	u64 turn; /* (a) iteration whose ordered region is next */
	u64 *reductions;
	void *memory; /* requested by the program */
	u64 memory_bytes;
	u64 *posted; /* (a) doacross: for each outer iteration, inner ones done */
	u32 nr_counts;
	u64 *counts;
} ALIGNED;

/* A place in a team, and the thread that takes it. */
struct member {
	struct team *team; /* null: outside of all regions */
	u32 id;
	u32 waiting;	   /* (a) for the others */
	u32 awaits;	   /* (a) while the team's event has this word */
	struct task *task; /* that it runs */
	u64 works;	   /* constructs that it has entered */
	u64 singles;
	struct work *work;
	u64 trip;		 /* of static loops */
	u64 lo, hi;		 /* ordered: the chunk it has; none if they are equal */
	u32 nr_teams, nth_team;	 /* of the league that it is in: 1 and 0 outside */
	struct member *outer;	 /* the leader's own place, one level up */
	struct team *led;	 /* by it, from here; kept for the next region */
	struct team *alone;	 /* for constructs outside of regions */
	struct member *inner;	 /* the place of an initial thread that it is for a while; kept */
	struct member *root;	 /* whose contention group it is in */
	u32 busy;		 /* (a) of a root: threads of its group, without itself */
	struct work spare;	 /* for constructs that the others of a cancelled region left */
	u32 seen;		 /* the last region that it has begun */
	struct event recall;	 /* (a) for places that the last region left empty */
	weir_thread *thread;	 /* (a) */
	u32 place;		 /* 1 + its number; 0: none */
	u32 part_first, part_nr; /* the places of its regions */
	u32 bound;		 /* 1 + the place whose CPUs its thread has */
	u32 shown, shown_place;	 /* its team's size and place when they were shown */
	int gang;		 /* the team's, which its thread has joined */
	pthread_t posix;
	struct task implicit;
} ALIGNED;

struct team {
	u32 n;
	u32 level;
	u32 active_level;
	void (*run)(void *);
	void *data;
	struct settings settings;
	struct member **member;
	u32 nr; /* places with a thread */
	u32 quit;
	int gang;  /* 1 + its number; 0: not a gang */
	u32 asked; /* whether it should be a gang */
	u32 first; /* the region begins in a construct that the leader has set up */
	u64 works; /* constructs before this region */
	void *copied;
	u32 reserved;	    /* threads of the contention group */
	struct group group; /* of reductions over a whole region */
	struct event event ALIGNED;
	u64 go;		     /* (a) regions so far, and members of the last one below bit 32 */
	u64 barrier ALIGNED; /* (a) generation, and below bit 32 the number of arrivals */
	u64 end;	     /* (a) the same of the barrier that ends a region */
	u64 single;	     /* (a) */
	u32 cancelled;	     /* (a) its region */
	u64 cancelled_work;  /* (a) 1 + generation of the barrier behind the construct */
	u32 ahead;	     /* (a) members that wait for a construct's record */
	u32 lock ALIGNED;    /* of tasks */
	u32 queued;	     /* (l); read without it */
	u32 unfinished;	     /* (a) tasks that have not ended */
	struct list tasks;
	struct work work[NR_WORKS];
};

/* team.c */
extern u32 crowd; /* (a) this library's threads, plus one */
struct member *me(void);
u32 level_threads(u32 level);
/* Whether the region was cancelled: then it did not wait. */
bool barrier(struct member *m);
/* The calling thread is an initial thread, outside of all regions, until the second call. */
void initial_begin(void);
void initial_end(void);
/* The teams of threads that wait for the caller's next region end. */
void teams_dismiss(void);
/* Begin a region of @threads (0: from the settings); @flags as in gcc's calls. */
struct team *region_begin(void (*run)(void *), void *data, u32 threads, u32 flags);
void region_go(struct team *t);
void region_run(struct team *t);
void region_end(void);

/* place.c */
void places_read(void);
/* @m is of an initial thread: all places are its. */
void place_initial(struct member *m);
/* Places for a region's members. @clause: a bind that the region asks for, or 0. */
void place_members(struct team *t, u32 clause);
/* Its thread goes to the CPUs of its place, unless a policy has it. */
void place_take(struct member *m);
/* A list such as 0-3,8, of CPUs, cut after @bytes. */
void cpus_write(char *text, size_t bytes, const cpu_set_t *cpus);

/* affinity.c */
/* For OMP_DISPLAY_AFFINITY: a line, if the calling member's team or place is another one than last time. */
void affinity_show(struct member *m);

/* wait.c */
u64 now_ns(void);
void relax(void);
u32 nr_procs(void);
weir_thread *own_thread(void);
void keep_cpu(void);
void free_cpu(void);
void lock(u32 *word);
void unlock(u32 *word);
void mutex_lock(u32 *word);
int mutex_trylock(u32 *word);
void mutex_unlock(u32 *word);
/* Wait until the event's word is not @seen, or return spuriously; @m waits for other members. */
void event_wait(struct event *e, u32 seen, struct member *m);
void event_bump(struct event *e);
void *fresh(size_t bytes);
void fatal(const char *what) __attribute__((noreturn, cold));

/* task.c */
/* A task that a member may begin at a barrier. 0: there is none. */
int task_run_any(struct member *m);
/* Wait for the siblings that @list depends on, for what happens at once. */
void await_depends(struct member *m, void **list);
void task_implicit(struct task *t, struct team *team, struct task *parent,
		   const struct settings *s);
void task_drop_table(struct task *t);
void group_begin(struct group *g);
void group_end(void);
/* Make copies for @n members; chain @data before @old. */
u64 *reductions_allocate(u64 *data, u64 n, u64 *old);
void reductions_register(u64 *data);
void reductions_share(u64 *data, const u64 *first);
void GOMP_taskgroup_reduction_unregister(uintptr_t *data);

/* cancel.c */
/* Whether a task that has not begun never does. */
int task_cancelled(const struct task *t);

/* work.c */
void works_begin(struct team *t);
void works_free(struct team *t);
void work_free(struct work *w);
struct work *work_enter(struct member *m, int *first);
void work_ready(struct member *m, struct work *w);
void work_leave(struct member *m);
void loop_signed(struct work *w, u32 kind, long start, long end, long step, long chunk);
void loop_unsigned(struct work *w, u32 kind, int up, ull start, ull end, ull step, ull chunk);
void loop_sections(struct work *w, u32 count);

/* env.c */
void environment_read(void);
void environment_show(int verbose);
/* Parts of values: what is behind blanks; a number of at least @least, behind which *@at points then. 0: there is none. */
const char *value_skip(const char *at);
int value_number(const char **at, unsigned long least, unsigned long most, unsigned long *out);
void value_misread(const char *name, const char *value, const char *wants);

#endif
