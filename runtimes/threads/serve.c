/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The server's side of remote.h: threads of other processes under this process's policy.
 *
 * One thread answers at the socket, takes messages, and learns of a client's death (pidfd). The drivers (driver.c) run clients' threads:
 * they open a gate and sleep until the thread gives the CPU up, or its slice is over and a signal tells it to. A client is not trusted
 * with anything but itself: its words are numbers that are checked, a thread that does not give way loses its turn after a tenth of a second, and
 * the threads of a client that ends, or sends nonsense, are taken out of the policy.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "remote.h"

#include "../multikernel/controller.h"

#define ANSWER_NS 100000000ull /* a thread that has not given way by then loses its turn */
#define AGAIN_NS  5000000ull   /* until it is signalled again */
#define LATE_NS	  1000000ull   /* a thread has not ended its slice by then: it is told to */
#define LOOK_NS	  100000000ull /* between looks at whether a thread that has a CPU is stopped */
#define QUESTION  (sizeof(struct remote_question) + REMOTE_TEXT)
#define CLIENTS	  1024u
#define STACK	  (256u << 10)

enum source { SOURCE_SOCKET, SOURCE_BELL, SOURCE_DEATH, NR_SOURCES };

struct client {
	struct client *next;
	u32 number;
	int file[NR_SOURCES];
	pid_t pid;
	char *memory;
	u32 lock; /* of `ump` and what the messages change */
	u32 gone; /* (a) */
	u32 refs; /* (a) one for the list, one for each thread */
	struct ump ump;
	u64 gangs; /* that it opened: bits of their numbers */
	/* allot.c; of the thread that serves, but `confined`, which `lock` guards, too */
	u32 wish;
	u32 allotted; /* CPUs; 0: it does not follow */
	u32 asked;
	u32 confined; /* 1 + the first of its CPUs; 0: it is not */
	u64 due;      /* for the answer; NEVER: there is nothing to answer */
	struct weir_thread *thread[REMOTE_THREADS];
};

static struct {
	int door;
	int epoll;
	int over;
	pthread_t thread;
	u32 running;
	u32 stopping;	/* (a) */
	u32 nr;		/* (a) clients */
	u32 numbers;	/* (a) clients that there have been */
	u32 nr_threads; /* (a) of all clients */
	struct client *clients;
	char *question;
	char name[96]; /* empty: this process serves nobody */
} sv = { .door = -1, .epoll = -1, .over = -1 };

/* --- records ------------------------------------------------------------------------------------------------------ */

static void client_drop(struct client *cl)
{
	if (__atomic_sub_fetch(&cl->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (u32 i = 0; i < NR_SOURCES; i++)
		if (cl->file[i] >= 0)
			close(cl->file[i]);
	if (cl->memory)
		munmap(cl->memory, REMOTE_BYTES);
	munmap(cl, sizeof(*cl));
}

/* Its task has ended, and no driver has it. */
static void thread_drop(struct weir_thread *t)
{
	struct client *cl = t->client;

	__atomic_fetch_sub(&rt.nr_threads, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&sv.nr_threads, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&t->ended, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&t->control->ended, 1, __ATOMIC_RELEASE);
	record_drop(t);
	client_drop(cl);
}

/*
 * The client is locked. -EBUSY: it has a CPU, whose driver ends it. A driver may have chosen it at this moment: it finds no task, or the look
 * here comes after it has noted that it runs.
 */
static int thread_end(struct client *cl, u32 number)
{
	struct weir_thread *t = cl->thread[number];
	u32 cpu = core_enter();
	int runs;

	spin(&t->lock);
	runs = t->remote_cpu != 0;
	if (!runs) {
		weir_assert(!weir_exit(rt.sched, cpu, t->task));
		t->task = 0;
	}
	unspin(&t->lock);
	core_leave(cpu);
	if (runs)
		return -EBUSY;
	cl->thread[number] = 0;
	thread_drop(t);
	return 0;
}

/* --- messages; the client is locked ------------------------------------------------------------------------------- */

static int thread_new(struct client *cl, u32 number)
{
	struct weir_thread *t = record_new();

	if (!t)
		return -ENOMEM;
	t->kind = WEIR_REMOTE;
	t->owners = 1;
	t->client = cl;
	t->pid = cl->pid;
	t->control = &remote_controls(cl->memory)[number];
	t->turn = 0;
	t->waits = 0;
	t->early = 0;
	t->tid = 0;
	t->remote_cpu = 0;
	if (task_new(t)) {
		record_drop(t);
		return -ENOMEM;
	}
	__atomic_store_n(&t->control->ended, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&cl->refs, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&rt.nr_threads, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&rt.created, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sv.nr_threads, 1, __ATOMIC_RELAXED);
	cl->thread[number] = t;
	return 0;
}

/* The client is locked. Its threads have its CPUs only, or all; a policy without `annotate affinity` ignores that. */
static void thread_confine(struct client *cl, struct weir_thread *t)
{
	struct weir_cpumask mask = { 0 };

	for (u32 i = 0; cl->confined && i < cl->allotted; i++) {
		u32 cpu = (cl->confined - 1 + i) % rt.nr_cpus;

		mask.word[cpu / 64] |= 1ull << cpu % 64;
	}
	thread_bind(t, cl->confined ? &mask : 0);
}

static int thread_admit(struct client *cl, struct weir_thread *t, const u64 *words)
{
	int tid = (int)words[0];

	if (t->tid || tid <= 0 || syscall(SYS_tgkill, cl->pid, tid, 0))
		return -EPROTO;
	t->tid = tid;
	t->number = (u32)tid;
	memcpy(t->name, &words[1], sizeof(t->name));
	t->name[sizeof(t->name) - 1] = 0;
	if (cl->confined)
		thread_confine(cl, t);
	return task_admit(t);
}

/* It sleeps, or is about to say so: a message may overtake what it tells its driver. */
static void thread_wake(struct weir_thread *t)
{
	spin(&t->lock);
	if (!t->waits) {
		t->early = 1;
		unspin(&t->lock);
		return;
	}
	t->waits = 0;
	unspin(&t->lock);
	task_unblock(t);
}

static int message(struct client *cl, u32 kind, u32 number, const u64 *words)
{
	struct weir_thread *t = number < REMOTE_THREADS ? cl->thread[number] : 0;

	if (number >= REMOTE_THREADS || (t && kind == SAYS_NEW))
		return -EPROTO;
	/* It has ended, which another thread did not know yet. */
	if (!t && kind != SAYS_NEW)
		return 0;
	switch (kind) {
	case SAYS_NEW:
		return thread_new(cl, number);
	case SAYS_ATTRIBUTE:
		/* What the policy refuses has no effect. */
		if (words[0] < WEIR_NR_ATTRIBUTES)
			task_set(t, (enum weir_attribute)words[0], (int64_t)words[1],
				 (int64_t)words[2]);
		return 0;
	case SAYS_ADMIT:
		return thread_admit(cl, t, words);
	case SAYS_WAKE:
		if (!t->tid)
			return -EPROTO;
		thread_wake(t);
		return 0;
	case SAYS_END:
		return thread_end(cl, number) ? -EPROTO : 0;
	}
	return -EPROTO;
}

static void turn_away(struct client *cl, const char *why);

/* Take all messages that are there. The caller is a driver, or has no CPU. */
static void drain(struct client *cl)
{
	u64 words[UMP_WORDS];
	u32 kind, number;
	int err = 0;

	hold();
	spin(&cl->lock);
	while (!err && !weir_load(&cl->gone) &&
	       !ump_recv(&cl->ump, words, UMP_WORDS, &kind, &number))
		err = message(cl, kind, number, words);
	unspin(&cl->lock);
	release();
	if (err)
		turn_away(cl, err == -ENOMEM ? "the policy has no memory for more threads"
					     : "it sent what is no message, or its threads are not "
					       "visible here (another PID namespace)");
}

/* --- the CPU's side ----------------------------------------------------------------------------------------------- */

static void signal_to(struct weir_thread *t)
{
	__atomic_store_n(&t->control->resched, 1, __ATOMIC_SEQ_CST);
	send_own(t->pid, t->tid);
}

/*
 * The thread has the CPU. Sleep until it gives it up; tell it to when its slice is over or the policy asks for the CPU. What it said; OP_TAKEN: it does
 * not answer, or is stopped; OP_EXIT: it is gone.
 */
static u32 wait_for(struct cpu *c, struct weir_thread *t)
{
	struct control *b = t->control;
	const u32 runs = t->turn << OP_BITS;
	u64 asked = 0, again = 0, look = now() + LOOK_NS;
	u64 end = c->slice_end > NEVER - LATE_NS ? NEVER : c->slice_end + LATE_NS;

	for (;;) {
		u32 word = __atomic_load_n(&b->op, __ATOMIC_ACQUIRE);
		u64 at, until;

		if (weir_load(&t->client->gone) || __atomic_load_n(&rt.stop, __ATOMIC_RELAXED))
			return OP_EXIT;
		if (word != runs)
			return word >> OP_BITS == t->turn ? OP_OF(word) : OP_EXIT;
		at = now();
		if (weir_load(&rt.has_tick) && at >= c->next_tick) {
			struct weir_msg msg = { .topic = WEIR_TOPIC_TICK, .cpu = c->id };

			c->next_tick = at + TICK_NS;
			weir_notify(rt.sched, c->id, &msg);
		}
		if (at >= look || (asked && at >= asked + ANSWER_NS)) {
			char state = state_of(t->pid, t->tid);
			u32 expected = runs;

			look = at + LOOK_NS;
			if (state == 'X')
				return OP_EXIT;
			if (((asked && at >= asked + ANSWER_NS) || state == 'T' || state == 't') &&
			    __atomic_compare_exchange_n(&b->op, &expected, runs | OP_TAKEN, 0,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
				/* For when it goes on. */
				signal_to(t);
				return OP_TAKEN;
			}
			continue;
		}
		if (at >= again && (at >= end || __atomic_load_n(&c->resched, __ATOMIC_SEQ_CST))) {
			if (!asked)
				asked = at;
			again = at + AGAIN_NS;
			signal_to(t);
		}
		until = asked ? again : end;
		if (weir_load(&rt.has_tick) && c->next_tick < until)
			until = c->next_tick;
		if (look < until)
			until = look;
		shared_wait(&b->op, runs, until);
	}
}

/* The thread @t gives its CPU to another one of its process. */
static void pass_on(struct cpu *c, struct weir_thread *t)
{
	struct client *cl = t->client;
	u32 number = weir_load(&t->control->to), woken = weir_load(&t->control->woken), passed = 1;
	struct weir_thread *to, *first, *second;

	spin(&cl->lock);
	to = number < REMOTE_THREADS ? cl->thread[number] : 0;
	if (to == t || (to && !to->tid))
		to = 0;
	first = to && to < t ? to : t;
	second = first == t ? to : t;
	spin(&first->lock);
	if (second)
		spin(&second->lock);
	t->remote_cpu = 0;
	if (to && ((woken && to->waits) || weir_state(to->task) == WEIR_SCHEDULABLE)) {
		__atomic_store_n(&c->resched, 0, __ATOMIC_SEQ_CST);
		passed = (u32)weir_hand_over(rt.sched, c->id, t->task, to->task);
		weir_assert(passed <= 1);
		to->waits = 0;
	} else {
		weir_assert(!weir_relinquish(rt.sched, c->id, t->task));
		if (to && woken)
			to->early = 1;
	}
	weir_store(&t->control->passed, passed);
	if (second)
		unspin(&second->lock);
	unspin(&first->lock);
	unspin(&cl->lock);
	if (passed)
		return;
	c->next = to;
	c->n.handovers++;
}

/* @t leaves the CPU. */
static void leave(struct cpu *c, struct weir_thread *t, u32 op)
{
	struct client *cl = t->client;
	u32 number = (u32)(t->control - remote_controls(cl->memory));

	/* What it said before comes before: a new priority counts for this choice. */
	if (op != OP_EXIT)
		drain(cl);
	if (op == OP_HAND_OVER) {
		pass_on(c, t);
	} else {
		spin(&t->lock);
		t->remote_cpu = 0;
		if ((op == OP_BLOCK || op == OP_TAKEN) && t->early) {
			t->early = 0;
			op = OP_YIELD;
		}
		if (op == OP_BLOCK || op == OP_TAKEN) {
			t->waits = 1;
			weir_assert(!weir_block(rt.sched, c->id, t->task));
		} else if (op != OP_EXIT) {
			weir_assert(!weir_relinquish(rt.sched, c->id, t->task));
		}
		unspin(&t->lock);
	}
	if (op != OP_EXIT && !weir_load(&cl->gone))
		return;
	spin(&cl->lock);
	/* Unless the other side ended it after it had left the CPU. */
	if (cl->thread[number] == t)
		thread_end(cl, number);
	unspin(&cl->lock);
}

void remote_run(struct cpu *c, struct weir_thread *t)
{
	static const u8 why[] = { [OP_YIELD] = LEFT_YIELD,   [OP_PREEMPTED] = LEFT_PREEMPTED,
				  [OP_BLOCK] = LEFT_BLOCKED, [OP_HAND_OVER] = LEFT_YIELD,
				  [OP_EXIT] = LEFT_ENDED,    [OP_TAKEN] = LEFT_PREEMPTED };
	struct control *b;
	struct client *cl;
	u32 op;

	/* Its client may have died since the policy chose it; then the record may be another thread's by now, which this CPU has not chosen. */
	spin(&t->lock);
	if (t->kind != WEIR_REMOTE || !t->task || !weir_runs(t->task) ||
	    weir_last_cpu(t->task) != c->id) {
		unspin(&t->lock);
		return;
	}
	b = t->control;
	cl = t->client;
	__atomic_fetch_add(&cl->refs, 1, __ATOMIC_RELAXED);
	t->remote_cpu = c;
	t->turn = (t->turn + 1) & ~0u >> OP_BITS;
	__atomic_store_n(&t->cpu, (int)c->id, __ATOMIC_RELAXED);
	unspin(&t->lock);
	if (t->linux_cpu != c->linux_cpu) {
		pin(t->tid, c->linux_cpu);
		t->linux_cpu = c->linux_cpu;
	}
	__atomic_store_n(&b->op, t->turn << OP_BITS, __ATOMIC_RELAXED);
	__atomic_store_n(&b->resched, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&b->cpu, (int)c->id, __ATOMIC_RELAXED);
	spin(&c->remote_lock);
	__atomic_store_n(&c->remote, t, __ATOMIC_SEQ_CST);
	unspin(&c->remote_lock);
	watch_wake_up();
	cpu_begin(c, t);
	weir_store(&b->slice_end, c->slice_end);
	__atomic_store_n(&b->gate, c->id + 1, __ATOMIC_RELEASE);
	shared_wake(&b->gate);
	op = wait_for(c, t);
	spin(&c->remote_lock);
	__atomic_store_n(&c->remote, 0, __ATOMIC_SEQ_CST);
	unspin(&c->remote_lock);
	if (op == OP_RUNS || op > OP_TAKEN)
		op = OP_EXIT;
	c->n.preemptions += op == OP_PREEMPTED || op == OP_TAKEN;
	c->n.taken += op == OP_TAKEN;
	c->n.expiries += op == OP_PREEMPTED && now() >= c->slice_end;
	c->n.blocks += op == OP_BLOCK;
	c->n.yields += op == OP_YIELD;
	if (weir_load(&tracing))
		trace(c, 0, why[op]);
	t->deallocations++;
	__atomic_store_n(&b->deallocations, t->deallocations, __ATOMIC_RELAXED);
	__atomic_store_n(&b->cpu, -1, __ATOMIC_RELAXED);
	__atomic_store_n(&t->cpu, -1, __ATOMIC_RELAXED);
	leave(c, t, op);
	client_drop(cl);
}

/* The policy wants @c to choose again. */
void remote_interrupt(struct cpu *c)
{
	spin(&c->remote_lock);
	if (c->remote)
		signal_to(c->remote);
	unspin(&c->remote_lock);
}

/* --- clients ------------------------------------------------------------------------------------------------------ */

static void answer(struct client *cl, int result, const char *why)
{
	struct remote_answer a = { .result = result };

	if (result < 0)
		snprintf(a.why, sizeof(a.why), "%s", why);
	(void)!send(cl->file[SOURCE_SOCKET], &a, sizeof(a), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* The client is turned away; the thread that answers does the rest. Not with its lock. */
static void turn_away(struct client *cl, const char *why)
{
	if (__atomic_exchange_n(&cl->gone, 1, __ATOMIC_SEQ_CST))
		return;
	answer(cl, -EPROTO, why);
	shutdown(cl->file[SOURCE_SOCKET], SHUT_RDWR);
}

/* A thread waits in vain. */
void remote_give_up(struct weir_thread *t)
{
	struct client *cl = 0;

	hold();
	spin(&t->lock);
	if (t->kind == WEIR_REMOTE && t->task) {
		cl = t->client;
		__atomic_fetch_add(&cl->refs, 1, __ATOMIC_RELAXED);
	}
	unspin(&t->lock);
	release();
	if (!cl)
		return;
	turn_away(cl, "one of its threads waited 2 s for a CPU");
	client_drop(cl);
}

/* --- how many CPUs each program is to use (allot.c) ------------------------------------------------------------------- */

/* It did not answer, or it did after all. */
static void confine(struct client *cl, u32 from)
{
	struct weir_activation *a = remote_activation(cl->memory);
	int is_new;

	hold();
	spin(&cl->lock);
	is_new = from && !cl->confined;
	cl->confined = from;
	for (u32 i = 0; i < REMOTE_THREADS; i++)
		if (cl->thread[i])
			thread_confine(cl, cl->thread[i]);
	unspin(&cl->lock);
	release();
	if (is_new)
		weir_store(&a->confinements, weir_load(&a->confinements) + 1);
	weir_store(&a->confined, from != 0);
}

static void ask_for(struct client *cl, u32 cpus)
{
	struct weir_activation *a = remote_activation(cl->memory);
	/* It is to give some up. A program that was never asked for any uses as many as it likes. */
	int less = cpus && (!cl->allotted || cpus < cl->allotted);

	if (cl->allotted == cpus)
		return;
	cl->allotted = cpus;
	weir_store(&a->cpus, cpus);
	weir_store(&a->asked_at, now());
	/* `cpus` before it. */
	__atomic_store_n(&a->asked, ++cl->asked, __ATOMIC_RELEASE);
	cl->due = less ? now() + REMOTE_ANSWER_NS : NEVER;
	if (cl->confined)
		confine(cl, cpus ? cl->confined : 0);
}

/* Divide the CPUs anew. */
static void allot(void)
{
	u32 wish[CLIENTS], cpus[CLIENTS], n = 0;

	/* The last client is the first one of the list. */
	for (struct client *cl = sv.clients; cl; cl = cl->next)
		wish[CLIENTS - ++n] = cl->wish;
	allot_divide(rt.nr_cpus, n, &wish[CLIENTS - n], cpus);
	for (struct client *cl = sv.clients; cl; cl = cl->next)
		ask_for(cl, cpus[--n]);
}

static int answered(const struct client *cl)
{
	const struct weir_activation *a = remote_activation(cl->memory);

	return __atomic_load_n(&a->answered, __ATOMIC_ACQUIRE) == cl->asked &&
	       weir_load(&a->uses) <= cl->allotted;
}

/* Multiplex those whose answer is overdue. Returns how long there is nothing else to do, ms; -1: for ever. */
static int overdue(void)
{
	u64 at = now(), next = NEVER;
	u32 from = 0;

	for (struct client *cl = sv.clients; cl; cl = cl->next) {
		if (cl->due <= at) {
			cl->due = NEVER;
			if (!answered(cl))
				confine(cl, 1 + from % rt.nr_cpus);
		}
		if (cl->due < next)
			next = cl->due;
		from += cl->allotted;
	}
	return next == NEVER ? -1 : next > at ? (int)((next - at) / 1000000) + 1 : 0;
}

static void wishes(struct client *cl, u32 wish)
{
	cl->wish = wish < rt.nr_cpus ? wish : rt.nr_cpus;
	allot();
	if (cl->confined && answered(cl))
		confine(cl, 0);
}

/* --- beginning and end of clients -------------------------------------------------------------------------------------- */

/* It has died, has left, or was turned away: its threads end here. */
static void client_end(struct client *cl)
{
	for (struct client **at = &sv.clients; *at; at = &(*at)->next)
		if (*at == cl) {
			*at = cl->next;
			break;
		}
	weir_store(&sv.nr, sv.nr - 1);
	for (u32 i = 0; i < NR_SOURCES; i++)
		epoll_ctl(sv.epoll, EPOLL_CTL_DEL, cl->file[i], 0);
	shutdown(cl->file[SOURCE_SOCKET], SHUT_RDWR);
	hold();
	spin(&cl->lock);
	__atomic_store_n(&cl->gone, 1, __ATOMIC_SEQ_CST);
	for (u32 i = 0; i < REMOTE_THREADS; i++) {
		struct weir_thread *t = cl->thread[i];

		if (!t || !thread_end(cl, i))
			continue;
		/* Its driver ends it. */
		__atomic_store_n(&t->control->op, OP_EXIT, __ATOMIC_SEQ_CST);
		shared_wake(&t->control->op);
	}
	unspin(&cl->lock);
	release();
	for (int i = 0; i < (int)MK_MAX_GANGS; i++)
		if (cl->gangs >> i & 1)
			weir_gang_close(i);
	if (cl->wish)
		allot();
	client_drop(cl);
}

static int watch(struct client *cl, enum source source)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP };

	event.data.u64 = (u64)cl->number << 2 | source;
	return epoll_ctl(sv.epoll, EPOLL_CTL_ADD, cl->file[source], &event);
}

static int memory_new(char **memory)
{
	int fd = memfd_create("weir-threads", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	*memory = 0;
	/* Sealed: a client that made it shorter would end the server by SIGBUS. */
	if (fd < 0 || ftruncate(fd, (off_t)REMOTE_BYTES) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	*memory = mmap(0, REMOTE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*memory == MAP_FAILED)
		*memory = 0;
	return fd;
}

static int hello(struct client *cl, int memory)
{
	struct remote_hello h = { .version = REMOTE_VERSION,
				  .bytes = (u32)REMOTE_BYTES,
				  .nr_cpus = rt.nr_cpus };
	int files[2] = { memory, cl->file[SOURCE_BELL] };
	char control[CMSG_SPACE(sizeof(files))] __attribute__((aligned(8))) = { 0 };
	struct iovec io = { .iov_base = &h, .iov_len = sizeof(h) };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	snprintf(h.policy, sizeof(h.policy), "%s", weir_rt_policy());
	snprintf(h.ignores, sizeof(h.ignores), "%s", weir_rt_ignores());
	for (u32 i = 0; i < rt.nr_cpus && i < REMOTE_CPUS; i++)
		h.linux_cpu[i] = (u16)rt.cpus[i].linux_cpu;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(files));
	memcpy(CMSG_DATA(c), files, sizeof(files));
	return sendmsg(cl->file[SOURCE_SOCKET], &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void client_new(int fd)
{
	struct client *cl;
	pid_t pid;
	int memory = -1, err = -EPERM;

	if (!same_user(fd, &pid) || sv.nr >= CLIENTS) {
		close(fd);
		return;
	}
	cl = mmap(0, sizeof(*cl), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (cl == MAP_FAILED) {
		close(fd);
		return;
	}
	cl->refs = 1;
	cl->due = NEVER;
	cl->number = sv.numbers + 1;
	weir_store(&sv.numbers, cl->number);
	cl->pid = pid;
	cl->file[SOURCE_SOCKET] = fd;
	cl->file[SOURCE_DEATH] = (int)syscall(SYS_pidfd_open, pid, 0);
	cl->file[SOURCE_BELL] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	memory = memory_new(&cl->memory);
	if (cl->memory && cl->file[SOURCE_DEATH] >= 0 && cl->file[SOURCE_BELL] >= 0) {
		ump_init(&cl->ump, cl->memory + REMOTE_RING, cl->memory, REMOTE_SLOTS);
		/* The client rings unless this side is at it. */
		weir_store(&cl->ump.rx->asleep, 1);
		err = hello(cl, memory);
	}
	if (memory >= 0)
		close(memory);
	for (u32 i = 0; !err && i < NR_SOURCES; i++)
		err = watch(cl, i);
	if (err) {
		client_drop(cl);
		return;
	}
	cl->next = sv.clients;
	sv.clients = cl;
	weir_store(&sv.nr, sv.nr + 1);
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

/* The caller of a question about gangs becomes a member, or is none any more. */
static int gang_seat(struct client *cl, const struct remote_question *q)
{
	u64 outside = WEIR_GANG_RUN;
	struct weir_thread *t;
	int result = 0;
	u32 cpu = 0;

	drain(cl);
	if (q->thread >= REMOTE_THREADS)
		return -EPROTO;
	if (q->gang >= 0)
		result = gang_place(q->gang, q->number, &cpu, &outside);
	if (result)
		return result;
	hold();
	spin(&cl->lock);
	t = cl->thread[q->thread];
	result = t ? gang_member(t, q->gang < 0 ? -1 : q->gang, cpu, outside) : -EINVAL;
	unspin(&cl->lock);
	release();
	return result;
}

static int gang_call(struct client *cl, const struct remote_question *q, const char *text,
		     struct remote_answer *a)
{
	/* Threads of a client end here only, and records stay. */
	struct weir_thread *t = q->thread < REMOTE_THREADS ? cl->thread[q->thread] : 0;
	int result;

	switch (q->call) {
	case CALL_GANG_OPEN:
		result = weir_gang_open(text, q->bytes);
		if (result >= 0)
			cl->gangs |= 1ull << result;
		return result;
	case CALL_GANG_CLOSE:
		result = weir_gang_close(q->gang);
		if (!result)
			cl->gangs &= ~(1ull << q->gang);
		return result;
	case CALL_GANG_CHANGE:
		return gang_change(t, q->gang, &q->change);
	case CALL_GANG_GROUP:
		return t ? gang_group(t, q->number) : -EINVAL;
	case CALL_GANG_JOIN:
		return gang_seat(cl, q);
	case CALL_GANG_SLOT:
		return gang_slot(t, q->gang, q->at, &a->from, &a->until);
	case CALL_GANG_TAKE:
		return weir_gang_take(q->number);
	case CALL_GANG_RETURN:
		weir_gang_return(q->gang);
		return 0;
	}
	return -EPROTO;
}

/* 0, or the client is to be turned away. */
static int question(struct client *cl)
{
	struct remote_question *q = (struct remote_question *)sv.question;
	struct remote_answer a = { 0 };
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec io = { .iov_base = sv.question, .iov_len = QUESTION };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(cl->file[SOURCE_SOCKET], &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;
	int plan = -1;

	if (n < 0 && get_errno() == EAGAIN)
		return 0;
	if (n <= 0)
		return -EPIPE;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&plan, CMSG_DATA(c), sizeof(plan));
	if ((size_t)n < sizeof(*q) || q->bytes != (size_t)n - sizeof(*q)) {
		a.result = -EPROTO;
	} else if (q->call == CALL_SWAP) {
		char path[32];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", plan);
		a.result = weir_rt_swap_file(path, &a.swapped);
	} else if (q->call == CALL_WISH) {
		wishes(cl, q->number);
	} else {
		a.result = gang_call(cl, q, sv.question + sizeof(*q), &a);
	}
	if (plan >= 0)
		close(plan);
	snprintf(a.policy, sizeof(a.policy), "%s", weir_rt_policy());
	if (a.result < 0)
		snprintf(a.why, sizeof(a.why), "%s", weir_rt_error());
	send(cl->file[SOURCE_SOCKET], &a, sizeof(a), MSG_DONTWAIT | MSG_NOSIGNAL);
	return a.result == -EPROTO ? -EPROTO : 0;
}

static void rung(struct client *cl)
{
	u64 word;

	if (read(cl->file[SOURCE_BELL], &word, sizeof(word)) < 0)
		word = 0;
	weir_store(&cl->ump.rx->asleep, 0);
	drain(cl);
	weir_store(&cl->ump.rx->asleep, 1);
	weir_fence();
	/* What came before the client could see that it has to ring. */
	drain(cl);
}

static void event(u64 of, u32 what)
{
	enum source source = of & 3;
	struct client *cl = sv.clients;

	while (cl && cl->number != (u32)(of >> 2))
		cl = cl->next;
	if (!cl)
		return;
	if (source == SOURCE_BELL)
		rung(cl);
	else if (source == SOURCE_DEATH || what & (EPOLLHUP | EPOLLRDHUP | EPOLLERR))
		client_end(cl);
	else if (question(cl))
		turn_away(cl, "it asked what is not a question");
}

static void *serves(void *arg)
{
	struct epoll_event events[64];

	(void)arg;
	prctl(PR_SET_NAME, "weir-serve");
	while (!__atomic_load_n(&sv.stopping, __ATOMIC_ACQUIRE)) {
		int n = epoll_wait(sv.epoll, events, 64, overdue());

		for (int i = 0; i < n; i++) {
			int fd;

			if (events[i].data.u64 != NEVER) {
				event(events[i].data.u64, events[i].events);
				continue;
			}
			fd = accept4(sv.door, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK);
			if (fd >= 0)
				client_new(fd);
		}
	}
	while (sv.clients)
		client_end(sv.clients);
	return 0;
}

socklen_t remote_address(struct sockaddr_un *address, const char *name)
{
	size_t room = sizeof(address->sun_path) - 1;
	int n = snprintf(address->sun_path + 1, room, REMOTE_NAME "%s", name);

	address->sun_family = AF_UNIX;
	address->sun_path[0] = 0;
	return n < 0 || (size_t)n >= room || !*name
		       ? 0
		       : (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int serve_start(const char *name)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .u64 = NEVER } };
	struct sockaddr_un address;
	socklen_t len = remote_address(&address, name);
	int err = 0;

	if (!len)
		return fail(-EINVAL, "serve", "the name is empty or longer than 90 characters");
	if (rt.nr_cpus > REMOTE_CPUS)
		return fail(-EINVAL, "serve", "more than 1024 CPUs");
	sv.stopping = sv.numbers = 0;
	sv.question = malloc(QUESTION);
	sv.epoll = epoll_create1(EPOLL_CLOEXEC);
	sv.over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sv.door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (!sv.question || sv.epoll < 0 || sv.over < 0 || sv.door < 0 ||
	    bind(sv.door, (struct sockaddr *)&address, len) || listen(sv.door, 16) ||
	    epoll_ctl(sv.epoll, EPOLL_CTL_ADD, sv.door, &event) ||
	    epoll_ctl(sv.epoll, EPOLL_CTL_ADD, sv.over, &event)) {
		err = -errno;
		serve_stop();
		return fail(err, name,
			    err == -EADDRINUSE ? "a process serves this name already"
					       : strerror(-err));
	}
	snprintf(sv.name, sizeof(sv.name), "%s", name);
	sv.running = !quiet_thread(&sv.thread, STACK, serves, 0);
	if (sv.running)
		return 0;
	serve_stop();
	return fail(-EAGAIN, name, "no thread can be made that serves it");
}

const char *serve_name(void)
{
	return sv.name;
}

WEIR_API unsigned weir_rt_clients(void)
{
	return weir_load(&sv.nr);
}

WEIR_API unsigned weir_rt_served(void)
{
	return weir_load(&sv.numbers);
}

u32 serve_threads(void)
{
	return __atomic_load_n(&sv.nr_threads, __ATOMIC_ACQUIRE);
}

/* All clients go on without a policy. */
void serve_stop(void)
{
	u64 one = 1;

	if (sv.running) {
		__atomic_store_n(&sv.stopping, 1, __ATOMIC_RELEASE);
		if (write(sv.over, &one, sizeof(one)) == sizeof(one))
			pthread_join(sv.thread, 0);
		/* The drivers end those that had a CPU. */
		while (serve_threads())
			usleep(1000);
	}
	sv.running = 0;
	if (sv.door >= 0)
		close(sv.door);
	if (sv.epoll >= 0)
		close(sv.epoll);
	if (sv.over >= 0)
		close(sv.over);
	sv.door = sv.epoll = sv.over = -1;
	free(sv.question);
	sv.question = 0;
	sv.name[0] = 0;
}
