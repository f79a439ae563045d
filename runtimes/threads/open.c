/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Opening and closing the runtime, swapping the policy, and statistics. */
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "remote.h"

#define DEFAULT_ARENA  (1ull << 30)
#define DEFAULT_SLICE  4000000ull
#define SHORTEST_SLICE 50000ull
#define DEFAULT_STACK  (256u << 10)

extern const u32 weir_nr_descriptors;
void weir_host_classes(struct weir_class *out);
void weir_host_setup(struct weir_sched *s, u64 cookie, u64 rt_topics);

static char error[256];
static int hooked;
static __thread u64 mask_before; /* of signals, before a fork */
static cpu_set_t allowed;	 /* CPUs that the process was allowed when it opened the runtime */
static weir_mutex one_at_a_time; /* not POSIX's: any thread may hold it across a preemption */

int fail(int err, const char *what, const char *why)
{
	snprintf(error, sizeof(error), "%s: %s", what, why);
	return err;
}

int fail_as(int err, const char *why)
{
	snprintf(error, sizeof(error), "%s", why);
	return err;
}

weir_mutex *swap_lock(void)
{
	return &one_at_a_time;
}

WEIR_API const char *weir_rt_error(void)
{
	return error;
}

static void *map(u64 bytes)
{
	void *p = mmap(0, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? 0 : p;
}

/* --- plans ---------------------------------------------------------------------------------------------------- */

/* Copy the plan into memory of its own. */
static int read_plan(const char *file, const void *plan, u64 bytes, void **blob)
{
	struct stat st;
	u64 got = 0;
	int fd;

	*blob = 0;
	if (!file) {
		if (!plan || !bytes)
			return fail(-EINVAL, "weir_rt_config",
				    "neither plan_file nor plan is given");
		*blob = map(bytes);
		if (!*blob)
			return fail(-ENOMEM, "plan", "no memory");
		memcpy(*blob, plan, bytes);
		return 0;
	}
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		int err = errno;

		if (fd >= 0)
			close(fd);
		return fail(-err, file, strerror(err));
	}
	if (!S_ISREG(st.st_mode) || st.st_size < 16 || (u64)st.st_size > WEIR_PLAN_MAX_BYTES) {
		close(fd);
		return fail(-EINVAL, file, weir_plan_why(WEIR_PLAN_FOREIGN));
	}
	*blob = map((u64)st.st_size);
	while (*blob && got < (u64)st.st_size) {
		ssize_t n = read(fd, (char *)*blob + got, (u64)st.st_size - got);

		if (n <= 0)
			break;
		got += (u64)n;
	}
	close(fd);
	if (!*blob || got < (u64)st.st_size) {
		if (*blob)
			munmap(*blob, (u64)st.st_size);
		*blob = 0;
		return fail(-EIO, file, "cannot be read");
	}
	return 0;
}

static u64 blob_bytes(const char *file, const void *blob, u64 bytes)
{
	const struct weir_plan_header *h = blob;

	return file ? h->bytes : bytes;
}

static const char *core_why(int err)
{
	switch (-err & ((1 << WEIR_EPARAM_SHIFT) - 1)) {
	case WEIR_ENOMEM:
		return "the arena is full; give arena_bytes";
	case WEIR_EBUSY:
		return "another swap runs";
	case WEIR_EPORTS:
		return "a component refuses its pipes; compile the plan again";
	case WEIR_EPARAM:
		return "a component refuses a parameter; compile the plan again";
	case WEIR_EINVAL:
		return "the plan is for another number of CPUs than the one in force";
	}
	return "the core refuses it";
}

/* Find out what the policy in force needs from the runtime. */
static void learn(const struct weir_plan *plan)
{
	u64 on = 0, answers = 0;

	for (u32 i = 0; i < plan->nr_instances; i++) {
		on |= rt.sched->classes[plan->instances[i].class].on |
		      rt.sched->classes[plan->instances[i].class].reviews;
		answers |= rt.sched->classes[plan->instances[i].class].answers;
	}
	weir_store(&rt.has_slice, answers >> WEIR_TOPIC_SLICE & 1);
	weir_store(&rt.has_tick, on >> WEIR_TOPIC_TICK & 1);
	weir_store(&rt.has_slots, on >> WEIR_TOPIC_GANG_SLOT & 1);
}

/* Load the plan of @bytes at @blob into tables of @room bytes, which are to be unmapped. */
static int load_plan(const char *name, const void *blob, u64 bytes, struct weir_plan *plan,
		     void **tables, u64 *room)
{
	int err;

	*room = weir_plan_room(blob, bytes, 1);
	*tables = map(*room ? *room : 8);
	if (!*room)
		*room = 8;
	if (!*tables)
		return fail(-ENOMEM, name, weir_plan_why(WEIR_PLAN_ROOM));
	err = weir_plan_load(blob, bytes, 1, *tables, *room, plan);
	if (err) {
		munmap(*tables, *room);
		*tables = 0;
		return fail(-EINVAL, name, weir_plan_why(-err));
	}
	return 0;
}

static int swap_to(const char *file, const void *given, u64 given_bytes,
		   struct weir_rt_swapped *out)
{
	const char *name = file ? file : "plan";
	struct weir_swap_stats stats = { 0 };
	struct weir_plan plan;
	void *blob, *tables;
	u64 bytes, room;
	int err;

	err = read_plan(file, given, given_bytes, &blob);
	if (err)
		return err;
	bytes = blob_bytes(file, blob, given_bytes);
	err = load_plan(name, blob, bytes, &plan, &tables, &room);
	if (!err && plan.nr_cpus != rt.nr_cpus + 1) {
		munmap(tables, room);
		err = fail(-EINVAL, name, core_why(-WEIR_EINVAL));
	}
	for (u32 i = 0; !err && i < rt.nr_cpus; i++)
		if (plan.cpus[i].isa != rt.cpus[i].isa) {
			munmap(tables, room);
			err = fail(-EINVAL, name,
				   "its CPUs have other instruction sets than those of the plan in "
				   "force; compile it for the same machine");
		}
	if (!err && rt.blob)
		weir_plan_continue(&plan, blob, rt.blob);
	if (!err)
		err = events_room(plan.nr_instances);
	if (err) {
		munmap(blob, bytes);
		return err;
	}
	/* Call in the name of the CPU that runs nothing: the caller's own CPU may be in the middle of a call. */
	hold();
	spin(&rt.out_lock);
	err = weir_swap(rt.sched, rt.nr_cpus, &plan, &stats);
	if (!err)
		learn(&plan);
	unspin(&rt.out_lock);
	release();
	munmap(tables, room);
	if (err) {
		munmap(blob, bytes);
		return fail(err == -WEIR_ENOMEM ? -ENOMEM : -EINVAL, name, core_why(err));
	}
	rt.last_swap.what = (struct weir_rt_swapped){ .represented = stats.represented,
						      .built = stats.built,
						      .kept = stats.kept,
						      .pause_ns = stats.pause_ns };
	if (rt.blob) {
		rt.last_swap.t_ns = now();
		snprintf(rt.last_swap.from, sizeof(rt.last_swap.from), "%s", weir_rt_policy());
		munmap(rt.blob, rt.blob_bytes);
	}
	rt.blob = blob;
	rt.blob_bytes = bytes;
	if (out)
		*out = rt.last_swap.what;
	return 0;
}

/* The policy is in another process. */
static int swap_there(const char *file, const void *plan, u64 bytes, struct weir_rt_swapped *out)
{
	struct remote_question q = { .call = CALL_SWAP };
	struct remote_answer a;
	void *blob;
	int fd, err;

	err = read_plan(file, plan, bytes, &blob);
	if (err)
		return err;
	bytes = blob_bytes(file, blob, bytes);
	fd = memfd_create("weir-plan", MFD_CLOEXEC);
	if (fd < 0 || write(fd, blob, bytes) != (ssize_t)bytes)
		err = fail(-EIO, file ? file : "plan", "no memory to hand it on");
	else
		err = join_ask(&q, 0, fd, &a);
	if (fd >= 0)
		close(fd);
	munmap(blob, bytes);
	if (err)
		return err;
	join_switched(a.policy);
	if (out)
		*out = a.swapped;
	return 0;
}

static int swap_running(const char *file, const void *plan, u64 bytes, struct weir_rt_swapped *out)
{
	int err = -EINVAL;

	weir_mutex_lock(&one_at_a_time);
	if (__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE) && rt.joined) {
		err = swap_there(file, plan, bytes, out);
		if (!err)
			__atomic_fetch_add(&rt.swaps, 1, __ATOMIC_RELAXED);
	} else if (__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE)) {
		err = swap_to(file, plan, bytes, out);
		if (!err) {
			__atomic_fetch_add(&rt.swaps, 1, __ATOMIC_RELAXED);
			/*
			 * A driver that idled under the old policy looks for work once under the new one, and what runs may have been given a
			 * slice without an end.
			 */
			hold();
			for (u32 i = 0; i < rt.nr_cpus; i++) {
				kick(&rt.cpus[i]);
				interrupt(&rt.cpus[i]);
			}
			release();
			gangs_announce();
		}
	} else {
		fail(err, "weir_rt_swap", "the runtime is not open");
	}
	weir_mutex_unlock(&one_at_a_time);
	return err;
}

WEIR_API int weir_rt_swap(const void *plan, size_t bytes, struct weir_rt_swapped *swapped)
{
	return swap_running(0, plan, bytes, swapped);
}

WEIR_API int weir_rt_swap_file(const char *file, struct weir_rt_swapped *swapped)
{
	return file ? swap_running(file, 0, 0, swapped) : -EINVAL;
}

WEIR_API const char *weir_rt_policy(void)
{
	return rt.joined ? join_policy() : rt.blob ? weir_plan_name(rt.blob) : "";
}

WEIR_API const char *weir_rt_ignores(void)
{
	return rt.joined ? join_ignores() : rt.blob ? weir_plan_ignores(rt.blob) : "";
}

/* --- code in which green threads are not preempted ------------------------------------------------------------------------ */

/* Such a library's locks and caches belong to the POSIX thread; another green thread on it would find them in the middle of a change. */
static int is_kept(const char *path)
{
	static const char *const names[] = { "libc.so",	  "libc-",	"ld-linux",
					     "ld-",	  "libpthread", "libgcc_s",
					     "libstdc++", "libasan",	"libtsan" };
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	for (u32 i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return 1;
	return 0;
}

static int add_kept(struct dl_phdr_info *info, size_t size, void *found)
{
	(void)size;
	if (!is_kept(info->dlpi_name))
		return 0;
	if (strstr(info->dlpi_name, "libc.so"))
		*(int *)found = 1;
	for (int i = 0; i < info->dlpi_phnum && rt.nr_keep < sizeof(rt.keep) / sizeof(rt.keep[0]);
	     i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			rt.keep[rt.nr_keep].from = info->dlpi_addr + p->p_vaddr;
			rt.keep[rt.nr_keep++].to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
		}
	}
	return 0;
}

extern const char __start_weir_text[] __attribute__((weak, visibility("hidden")));

/* Where libc cannot be distinguished from the program, green threads are not preempted. */
static void find_kept(unsigned flags)
{
	int found = 0;

	rt.nr_keep = 0;
	dl_iterate_phdr(add_kept, &found);
	rt.preemptive = found && __start_weir_text && !(flags & WEIR_RT_COOPERATIVE);
}

/* --- beginning and end ------------------------------------------------------------------------------------------------------ */

int cpus_new(u32 nr)
{
	rt.nr_cpus = nr;
	rt.cpus = map(nr * sizeof(*rt.cpus));
	for (u32 i = 0; rt.cpus && i < nr; i++)
		rt.cpus[i].id = i;
	return rt.cpus ? 0 : -ENOMEM;
}

void unpin(int tid)
{
	set_cpus(tid, &allowed);
}

int quiet_thread(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, was;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack_bytes);
	err = pthread_create(thread, &attr, run, arg);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &was, 0);
	return err;
}

/* As in linux/sched/types.h, first version, which cannot be included together with sched.h everywhere. */
struct attributes {
	u32 size, policy;
	u64 flags;
	int nice;
	u32 priority;
	u64 runtime, deadline, period;
};

void be_prompt(int on)
{
	struct attributes a = { .size = sizeof(a) };

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) || a.policy != SCHED_OTHER)
		return;
	a.size = sizeof(a);
	a.runtime = on ? PROMPT_NS : 0;
	syscall(SYS_sched_setattr, 0, &a, 0);
}

int same_user(int socket, pid_t *pid)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	    (peer.uid && peer.uid != geteuid()))
		return 0;
	if (pid)
		*pid = peer.pid;
	return 1;
}

int high_file(int fd)
{
	int to = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 200);

	if (to < 0)
		return fd;
	close(fd);
	return to;
}

/* For the plan's CPUs; empty: all of `allowed`. */
static cpu_set_t wanted;

WEIR_API int weir_rt_place(const char *cpus)
{
	cpu_set_t set;
	char *end;

	CPU_ZERO(&set);
	while (cpus && *cpus) {
		unsigned long from = strtoul(cpus, &end, 10), to = from;

		if (end > cpus && *end == '-')
			to = strtoul(end + 1, &end, 10);
		if (end == cpus || from > to || to >= CPU_SETSIZE || (*end && *end != ','))
			return fail(-EINVAL, cpus, "not a list of CPUs such as 0-3,8");
		for (; from <= to; from++)
			CPU_SET(from, &set);
		cpus = end + (*end == ',');
	}
	wanted = set;
	return 0;
}

static int place_cpus(const struct weir_plan *plan, unsigned flags)
{
	u32 usable[CPU_SETSIZE], nr = 0, native = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return fail(-errno, "sched_getaffinity", strerror(errno));
	for (u32 i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &allowed) && (!CPU_COUNT(&wanted) || CPU_ISSET(i, &wanted)))
			usable[nr++] = i;
	if (!nr)
		return fail(-EINVAL, "CPUs",
			    "this process may use none of those that it is to have");
	for (u32 i = 0; i < rt.nr_cpus; i++)
		native += !plan->cpus[i].isa;
	if (native > nr && !(flags & WEIR_RT_OVERSUBSCRIBE)) {
		char why[128];

		snprintf(why, sizeof(why),
			 "the plan is for %u CPUs and this process may use %u: compile it with -m "
			 "smp-%u",
			 native, nr, nr);
		return fail(-EINVAL, "plan", why);
	}
	if (cpus_new(rt.nr_cpus))
		return fail(-ENOMEM, "plan", "no memory");
	native = 0;
	for (u32 i = 0; i < rt.nr_cpus; i++) {
		rt.cpus[i].isa = plan->cpus[i].isa;
		rt.cpus[i].linux_cpu = usable[native % nr];
		native += !rt.cpus[i].isa;
	}
	return 0;
}

static int core_start(const struct weir_rt_config *config)
{
	struct weir_class *classes = calloc(weir_nr_descriptors, sizeof(*classes));
	struct weir_config c = { .seed = 1,
				 .nr_cpus = rt.nr_cpus + 1,
				 .nr_classes = weir_nr_descriptors,
				 .classes = classes };
	int err;

	rt.arena_bytes =
		config->arena_bytes ? (config->arena_bytes + 4095) & ~4095ull : DEFAULT_ARENA;
	c.arena_bytes = rt.arena_bytes;
	rt.sched = map(rt.arena_bytes);
	if (!classes || !rt.sched) {
		free(classes);
		return fail(-ENOMEM, "arena", "no address space; give a smaller arena_bytes");
	}
	weir_host_classes(classes);
	err = weir_init(rt.sched, &c);
	free(classes);
	if (err)
		return fail(-ENOMEM, "arena", "too small; give more arena_bytes");
	weir_host_setup(rt.sched, 0,
			WEIR_TOPIC_BIT(KICK) | WEIR_TOPIC_BIT(PREEMPT) |
				WEIR_TOPIC_BIT(DEADLINE_MISS));
	return 0;
}

static void forget(void)
{
	gangs_forget();
	events_stop();
	if (rt.cpus)
		munmap(rt.cpus, rt.nr_cpus * sizeof(*rt.cpus));
	if (rt.sched)
		munmap(rt.sched, rt.arena_bytes);
	if (rt.blob)
		munmap(rt.blob, rt.blob_bytes);
	memset(&rt, 0, sizeof(rt));
}

#define REQUEST (1ull << (SIGURG - 1))

/*
 * From before a fork until the child has forgotten the parent's thread, requests wait. Otherwise the child would obey one as that thread, whose place it
 * has a copy of, and give away its CPU.
 */
WEIR_API void weir_rt_fork_begins(void)
{
	u64 set = REQUEST;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, &mask_before, sizeof(set));
}

WEIR_API void weir_rt_fork_done(void)
{
	u64 set = REQUEST & ~mask_before;

	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, 0, sizeof(set));
}

/* (The shim has more to do first.) */
static void fork_child(void)
{
	forked();
	if (!weir_shim_urgent)
		weir_rt_fork_done();
}

/* The policy is in this process. */
static int open_here(const struct weir_rt_config *config)
{
	struct weir_plan plan;
	void *blob, *tables;
	u64 bytes, room;
	int err = read_plan(config->plan_file, config->plan, config->plan_bytes, &blob);

	if (err)
		return err;
	bytes = blob_bytes(config->plan_file, blob, config->plan_bytes);
	err = load_plan(config->plan_file ? config->plan_file : "plan", blob, bytes, &plan, &tables,
			&room);
	if (!err) {
		rt.nr_cpus = plan.nr_cpus - 1;
		err = place_cpus(&plan, config->flags);
		munmap(tables, room);
	}
	if (!err)
		err = core_start(config);
	if (!err)
		err = events_start(plan.nr_instances);
	if (!err)
		err = swap_to(config->plan_file, config->plan, config->plan_bytes, 0);
	munmap(blob, bytes);
	find_kept(config->flags);
	counter_start();
	if (!err)
		err = drivers_start();
	if (!err)
		err = watch_start();
	if (!err && config->serve)
		err = serve_start(config->serve);
	rt.serving = !err && config->serve;
	return err;
}

/* The policy is in another process. */
static int open_there(const struct weir_rt_config *config)
{
	int err;

	if (config->plan_file || config->plan || config->serve)
		return fail(-EINVAL, "weir_rt_config",
			    "a process that joins another one's policy has none of its own");
	rt.joined = 1;
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return fail(-errno, "sched_getaffinity", strerror(errno));
	err = join_open(config->join, config->alone);
	if (!err)
		err = events_start(0);
	return err ? err : watch_start();
}

WEIR_API int weir_rt_open(const struct weir_rt_config *config)
{
	/*
	 * A driver goes on with another green thread inside the handler, so the signal may come again there. Bound threads alone do without: the kernel's
	 * frame for a second one would take half of a small stack.
	 */
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_RESTART |
						(weir_shim_urgent ? 0 : SA_NODEFER) };
	int err = 0;

	if (!config)
		return fail(-EINVAL, "weir_rt_open", "no configuration");
	if (config->slice_ns && config->slice_ns < SHORTEST_SLICE)
		return fail(-EINVAL, "slice_ns",
			    "shorter than 50 us: the timer that ends it would take more than the "
			    "thread gets "
			    "(`runweir doctor` measures how much)");
	weir_mutex_lock(&one_at_a_time);
	if (rt.open) {
		weir_mutex_unlock(&one_at_a_time);
		return fail(-EBUSY, "weir_rt_open", "the runtime is open already");
	}
	rt.slice_ns = config->slice_ns ? config->slice_ns : DEFAULT_SLICE;
	rt.fallback = !!(config->flags & WEIR_RT_FALLBACK);
	rt.watchdog = !!(config->flags & WEIR_RT_WATCHDOG);
	rt.stack_bytes = config->stack_bytes ? config->stack_bytes : DEFAULT_STACK;
	/* Ignored by default, and one pending at a time is enough. */
	rt.signal = SIGURG;
	if (!hooked)
		hooked = !pthread_atfork(weir_rt_fork_begins, weir_rt_fork_done, fork_child);
	/* libc's signal of pthread_cancel(): a thread is not unwound in the handler. sigaddset() refuses it. */
	*(u64 *)&action.sa_mask = 1ull << (32 - 1);
	if (sigaction(rt.signal, &action, 0))
		err = fail(-errno, "sigaction", strerror(errno));
	if (!err)
		err = config->join ? open_there(config) : open_here(config);
	if (err) {
		__atomic_store_n(&rt.stop, 1, __ATOMIC_RELEASE);
		watch_stop();
		if (rt.cpus)
			drivers_stop();
		forget();
	} else {
		__atomic_store_n(&rt.open, 1, __ATOMIC_RELEASE);
		if (!(config->flags & WEIR_RT_PRIVATE) && !rt.joined)
			status_start();
	}
	weir_mutex_unlock(&one_at_a_time);
	return err;
}

/*
 * The child has one thread, which belongs to no runtime. The parent's state stays mapped and unused; what a runtime that the child opens
 * would find of it is forgotten.
 */
void forked(void)
{
	struct self *s = me();
	int pinned = s->thread != 0;

	status_forked();
	watch_forked();
	trace_forked();
	gangs_forget();
	join_forked();
	events_forked();
	sync_forked();
	records_forked();
	*s = (struct self){ 0 };
	memset(&one_at_a_time, 0, sizeof(one_at_a_time));
	memset(&rt, 0, sizeof(rt));
	if (pinned)
		unpin(0);
}

WEIR_API void weir_rt_forked(void)
{
	forked();
}

WEIR_API int weir_rt_owns(int fd)
{
	return __atomic_load_n(&rt.open, __ATOMIC_RELAXED) &&
	       ((rt.says && fd == rt.says) || events_own(fd) || status_owns(fd) ||
		(rt.joined && join_owns(fd)));
}

WEIR_API int weir_rt_close(void)
{
	u32 left;

	weir_mutex_lock(&one_at_a_time);
	if (!rt.open) {
		weir_mutex_unlock(&one_at_a_time);
		return fail(-EINVAL, "weir_rt_close", "the runtime is not open");
	}
	if (__atomic_load_n(&rt.nr_threads, __ATOMIC_ACQUIRE) >
	    (rt.serving ? serve_threads() : 0)) {
		weir_mutex_unlock(&one_at_a_time);
		return fail(-EBUSY, "weir_rt_close",
			    "threads of the runtime are alive: join them first");
	}
	for (u32 i = 0; i < rt.nr_cpus && !rt.joined; i++)
		if (__atomic_load_n(&rt.cpus[i].server, __ATOMIC_ACQUIRE)) {
			weir_mutex_unlock(&one_at_a_time);
			return fail(-EBUSY, "weir_rt_close",
				    "a thread serves a foreign CPU: call weir_foreign_cancel()");
		}
	__atomic_store_n(&rt.open, 0, __ATOMIC_RELEASE);
	status_stop();
	/* The threads have ended for the runtime, but not yet for POSIX. */
	while ((left = __atomic_load_n(&rt.nr_posix, __ATOMIC_ACQUIRE)))
		futex_wait(&rt.nr_posix, left, NEVER);
	if (rt.serving)
		serve_stop();
	if (rt.joined) {
		__atomic_store_n(&rt.stop, 1, __ATOMIC_SEQ_CST);
		join_close();
	}
	__atomic_store_n(&rt.stop, 1, __ATOMIC_SEQ_CST);
	watch_stop();
	drivers_stop();
	weir_rt_trace_end();
	forget();
	weir_mutex_unlock(&one_at_a_time);
	return 0;
}

WEIR_API int weir_rt_check(void)
{
	int line = 0;

	if (!__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE) || rt.joined)
		return 0;
	/* A call may be under way until every CPU sleeps. A kicked CPU may still be marked asleep for a moment. */
	for (u32 i = 0; i < rt.nr_cpus; i++)
		while (!rt.cpus[i].isa &&
		       (__atomic_load_n(&rt.cpus[i].kicked, __ATOMIC_SEQ_CST) ||
			(!__atomic_load_n(&rt.cpus[i].asleep, __ATOMIC_SEQ_CST) &&
			 !__atomic_load_n(&rt.cpus[i].vacant, __ATOMIC_SEQ_CST))))
			usleep(100);
	hold();
	spin(&rt.out_lock);
	line = weir_check(rt.sched);
	unspin(&rt.out_lock);
	release();
	return line;
}

WEIR_API void weir_rt_stats(struct weir_rt_stats *out)
{
	memset(out, 0, sizeof(*out));
	if (!__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE))
		return;
	out->cpus = rt.nr_cpus;
	out->threads = weir_load(&rt.nr_threads);
	out->created = weir_load(&rt.created);
	out->swaps = weir_load(&rt.swaps);
	out->deadline_misses = weir_load(&rt.misses);
	if (rt.sched)
		out->faults = weir_load(&rt.sched->faults);
	for (u32 i = 0; i < rt.nr_cpus; i++) {
		struct counters *n = &rt.cpus[i].n;

		out->dispatches += weir_load(&n->dispatches);
		out->yields += weir_load(&n->yields);
		out->blocks += weir_load(&n->blocks);
		out->preemptions += weir_load(&n->preemptions);
		out->deferred += weir_load(&n->deferred);
		out->expiries += weir_load(&n->expiries);
		out->handovers += weir_load(&n->handovers);
		out->kicks += weir_load(&n->kicks);
		out->polls_hit += weir_load(&n->polls_hit);
		out->sleeps += weir_load(&n->sleeps);
		out->idle_ns += weir_load(&n->idle_ns);
		out->taken += weir_load(&n->taken);
	}
}
