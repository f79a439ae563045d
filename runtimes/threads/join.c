/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The client's side of remote.h: this process's threads under the policy of another process.
 *
 * There are no drivers here and no scheduler, only bound threads. What the core would be called for is said to the server: by messages,
 * or, of a thread that has a CPU, in its control block. If the server ends, or turns this process away, all threads continue as if each
 * had a CPU of its own.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "remote.h"

#define STACK (64u << 10)

enum use {
	USE_FREE,
	USE_TAKEN,
	USE_LEFT
}; /* left: it is free once the server says that its thread has ended */

static struct {
	int socket;
	int bell;
	char *memory;
	u32 lock; /* of `ump` and `used` */
	struct ump ump;
	u32 at; /* where the search for a free block goes on */
	u8 used[REMOTE_THREADS];
	weir_mutex asking;
	pthread_t watcher;
	u32 watched;
	u32 closing; /* (a) */
	void (*alone)(const char *why);
	char policy[128];
	char ignores[REMOTE_IGNORES];
	char why[256];
} jo = { .socket = -1, .bell = -1 };

void ump_wake(const void *word)
{
	u64 one = 1;

	(void)word;
	/* Not by names that the preloaded library wraps. */
	syscall(SYS_write, jo.bell, &one, sizeof(one));
}

static u32 number_of(const struct control *b)
{
	return (u32)(b - remote_controls(jo.memory));
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static void say(struct weir_thread *t, enum remote_message kind, const u64 *words, u32 nr)
{
	struct control *b;
	u32 number, spins = 0;
	int was;

	hold();
	was = get_errno();
	spin(&jo.lock);
	/* It may end at this moment; its block may be another thread's afterwards. */
	b = t->control;
	number = b ? number_of(b) : 0;
	while (b && !weir_load(&rt.alone) &&
	       ump_send(&jo.ump, words, nr, kind, number) == -WEIR_EAGAIN)
		weir_port_relax(spins++);
	unspin(&jo.lock);
	set_errno(was);
	release();
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

int join_new(struct weir_thread *t)
{
	struct control *all = remote_controls(jo.memory);
	int err = -EAGAIN;

	hold();
	spin(&jo.lock);
	for (u32 n = 0; n < REMOTE_THREADS && err; n++) {
		u32 i = jo.at++ % REMOTE_THREADS;

		if (jo.used[i] == USE_TAKEN || (jo.used[i] == USE_LEFT && !weir_load(&rt.alone) &&
						!__atomic_load_n(&all[i].ended, __ATOMIC_ACQUIRE)))
			continue;
		jo.used[i] = USE_TAKEN;
		all[i] = (struct control){ .cpu = -1 };
		t->turn = 0;
		__atomic_store_n(&t->wants, 0, __ATOMIC_RELAXED);
		err = 0;
		__atomic_store_n(&t->control, &all[i], __ATOMIC_RELEASE);
	}
	unspin(&jo.lock);
	release();
	if (!err)
		say(t, SAYS_NEW, 0, 0);
	return err;
}

/* Whether the policy takes it is not known here. */
int join_set(struct weir_thread *t, enum weir_attribute what, int64_t value, int64_t value2)
{
	u64 words[] = { what, (u64)value, (u64)value2 };

	if (!__atomic_load_n(&t->control, __ATOMIC_ACQUIRE) || weir_load(&t->ended))
		return -ESRCH;
	say(t, SAYS_ATTRIBUTE, words, 3);
	return 0;
}

/* Before the server hears of it: once it has, the thread may run and end. If the server has ended, it runs at once. */
static void want(struct weir_thread *t)
{
	__atomic_store_n(&t->wants, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&rt.alone, __ATOMIC_SEQ_CST))
		return;
	__atomic_store_n(&t->control->gate, 1, __ATOMIC_SEQ_CST);
	shared_wake(&t->control->gate);
}

void join_admit(struct weir_thread *t)
{
	u64 words[3] = { (u64)t->tid };

	memcpy(&words[1], t->name, sizeof(t->name));
	want(t);
	say(t, SAYS_ADMIT, words, 3);
}

void join_wake(struct weir_thread *t)
{
	want(t);
	say(t, SAYS_WAKE, 0, 0);
}

static void give_back(struct weir_thread *t)
{
	u32 number = number_of(t->control);

	hold();
	spin(&jo.lock);
	__atomic_store_n(&t->control, 0, __ATOMIC_RELEASE);
	jo.used[number] = USE_LEFT;
	unspin(&jo.lock);
	release();
}

/* The thread has no CPU. */
void join_end(struct weir_thread *t)
{
	say(t, SAYS_END, 0, 0);
	give_back(t);
}

/* @t is the caller and has a CPU, unless it has lost its turn. Gives it up. 1: the driver reads what it says of it. */
static int tell(struct weir_thread *t, enum remote_op op)
{
	struct control *b = t->control;
	static const u8 why[] = { [OP_YIELD] = LEFT_YIELD,
				  [OP_PREEMPTED] = LEFT_PREEMPTED,
				  [OP_BLOCK] = LEFT_BLOCKED,
				  [OP_HAND_OVER] = LEFT_YIELD,
				  [OP_EXIT] = LEFT_ENDED };
	u32 runs = t->turn << OP_BITS;
	int stays = op != OP_BLOCK && op != OP_EXIT, heard = 0;

	/* Before the driver hears of it: then the CPU's list is another thread's. */
	if (weir_load(&tracing))
		trace(me()->cpu, 0, why[op]);
	if (stays)
		want(t);
	else
		__atomic_store_n(&t->wants, 0, __ATOMIC_SEQ_CST);
	if (weir_load(&rt.alone)) {
		if (stays)
			syscall(SYS_sched_yield);
		else
			__atomic_store_n(&b->gate, 0, __ATOMIC_SEQ_CST);
	} else if (__atomic_compare_exchange_n(&b->op, &(u32){ runs }, runs | op, 0,
					       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		shared_wake(&b->op);
		heard = 1;
	} else if (stays) {
		/* The driver has taken the CPU and counts the thread as asleep. */
		say(t, SAYS_WAKE, 0, 0);
	} else if (op == OP_EXIT) {
		say(t, SAYS_END, 0, 0);
	}
	return heard;
}

void join_yield(struct weir_thread *t, int preempted)
{
	tell(t, preempted ? OP_PREEMPTED : OP_YIELD);
}

void join_block(struct weir_thread *t)
{
	tell(t, OP_BLOCK);
}

void join_exit(struct weir_thread *t)
{
	tell(t, OP_EXIT);
	give_back(t);
}

void join_hand_over(struct weir_thread *t, struct weir_thread *to, int woken)
{
	struct control *b = t->control;

	/* Its block, unless it ends at this moment; the server checks the number. */
	hold();
	spin(&jo.lock);
	weir_store(&b->to, to->control ? number_of(to->control) : ~0u);
	unspin(&jo.lock);
	release();
	weir_store(&b->woken, (u32)woken);
	weir_store(&b->passed, 1);
	if (woken)
		want(to);
	if (!tell(t, OP_HAND_OVER) && woken)
		say(to, SAYS_WAKE, 0, 0);
}

/* 0 if the last join_hand_over() did. */
int join_passed(const struct weir_thread *t)
{
	return weir_load(&rt.alone) ? 1 : (int)weir_load(&t->control->passed);
}

/* Wait for a CPU; returns its number. */
u32 join_wait(struct weir_thread *t)
{
	struct control *b = t->control;
	u32 gate;

	while (!(gate = __atomic_load_n(&b->gate, __ATOMIC_ACQUIRE)))
		shared_wait(&b->gate, GATE_SHUT, NEVER);
	__atomic_store_n(&b->gate, GATE_SHUT, __ATOMIC_RELAXED);
	t->turn = __atomic_load_n(&b->op, __ATOMIC_RELAXED) >> OP_BITS;
	return gate <= rt.nr_cpus ? gate - 1 : 0;
}

int join_must_go(const struct weir_thread *t)
{
	return __atomic_load_n(&t->control->resched, __ATOMIC_SEQ_CST) && !weir_load(&rt.alone);
}

/* --- the connection ----------------------------------------------------------------------------------------------- */

/* Every thread that wants a CPU has one from here on. */
static void go_alone(const char *why)
{
	struct weir_thread *t;
	struct control *b;

	__atomic_store_n(&rt.alone, 1, __ATOMIC_SEQ_CST);
	if (jo.alone)
		jo.alone(why);
	for (u32 i = 0; (t = record_at(i)); i++) {
		b = __atomic_load_n(&t->control, __ATOMIC_ACQUIRE);
		if (!b)
			continue;
		unpin(__atomic_load_n(&t->tid, __ATOMIC_RELAXED));
		if (!__atomic_load_n(&t->wants, __ATOMIC_SEQ_CST))
			continue;
		__atomic_store_n(&b->gate, 1, __ATOMIC_SEQ_CST);
		shared_wake(&b->gate);
	}
}

static void *watches(void *arg)
{
	struct pollfd p = { .fd = jo.socket, .events = POLLRDHUP };
	struct remote_answer a;

	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
	prctl(PR_SET_NAME, "weir-join");
	while (poll(&p, 1, -1) < 0 && get_errno() == EINTR)
		;
	if (__atomic_load_n(&jo.closing, __ATOMIC_ACQUIRE))
		return 0;
	snprintf(jo.why, sizeof(jo.why), "the process that has the policy has ended");
	/* Its reason is still in the socket, if it gave one. */
	if (recv(jo.socket, &a, sizeof(a), MSG_DONTWAIT) == sizeof(a) && a.result < 0) {
		a.why[sizeof(a.why) - 1] = 0;
		snprintf(jo.why, sizeof(jo.why), "%s", a.why);
	}
	go_alone(jo.why);
	return 0;
}

static int receive(int fd, void *to, size_t bytes, int *files, u32 nr)
{
	char control[CMSG_SPACE(2 * sizeof(int))] __attribute__((aligned(8)));
	struct iovec io = { .iov_base = to, .iov_len = bytes };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = nr ? control : 0,
			    .msg_controllen = nr ? sizeof(control) : 0 };
	struct cmsghdr *c;
	ssize_t n;

	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && get_errno() == EINTR);
	if (n != (ssize_t)bytes)
		return n < 0 ? -get_errno() : -EPIPE;
	c = nr ? CMSG_FIRSTHDR(&m) : 0;
	if (nr && (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(nr * sizeof(int))))
		return -EPROTO;
	if (nr)
		memcpy(files, CMSG_DATA(c), nr * sizeof(int));
	return 0;
}

/* Ask the server; waits for the answer. @text of @q->bytes; @file: -1, or goes with it. Returns its result, or an error. */
int join_ask(struct remote_question *q, const void *text, int file, struct remote_answer *a)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct iovec io[] = { { .iov_base = q, .iov_len = sizeof(*q) },
			      { .iov_base = (void *)text, .iov_len = q->bytes } };
	struct msghdr m = { .msg_iov = io, .msg_iovlen = 2 };
	struct remote_answer own;
	int err = 0, state;

	if (!a)
		a = &own;
	*a = (struct remote_answer){ 0 };
	if (file >= 0) {
		struct cmsghdr *c;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &file, sizeof(int));
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	weir_mutex_lock(&jo.asking);
	/* The runtime's own call: a thread that loses its turn here has not fallen asleep unnoticed, and gives its CPU up after the answer. */
	hold();
	if (weir_load(&rt.alone) || sendmsg(jo.socket, &m, MSG_NOSIGNAL) < 0 ||
	    receive(jo.socket, a, sizeof(*a), 0, 0))
		err = -EPIPE;
	release();
	a->why[sizeof(a->why) - 1] = 0;
	a->policy[sizeof(a->policy) - 1] = 0;
	/* Still one at a time: there is one text for errors. */
	if (err)
		fail(err, jo.policy, "the process that has the policy does not answer");
	else if (a->result < 0)
		fail_as(a->result, a->why);
	weir_mutex_unlock(&jo.asking);
	pthread_setcancelstate(state, 0);
	return err ? err : a->result;
}

struct weir_activation *join_activation(void)
{
	return rt.joined && jo.memory && !weir_load(&rt.alone) ? remote_activation(jo.memory) : 0;
}

int join_gang(const struct weir_thread *t, struct remote_question *q, struct remote_answer *a)
{
	q->thread = t ? number_of(t->control) : ~0u;
	return join_ask(q, 0, -1, a);
}

const char *join_ignores(void)
{
	return jo.ignores;
}

const char *join_policy(void)
{
	return jo.policy;
}

void join_switched(const char *policy)
{
	snprintf(jo.policy, sizeof(jo.policy), "%s", policy);
}

/* Say why, and leave nothing behind. */
static int refused(int err, const char *name, const char *why)
{
	join_close();
	return fail(err, name, why);
}

int join_open(const char *name, void (*alone)(const char *why))
{
	struct sockaddr_un address;
	socklen_t len = remote_address(&address, name);
	struct remote_hello h;
	int files[2] = { -1, -1 }, err;

	if (!len)
		return fail(-EINVAL, "join", "the name is empty or longer than 90 characters");
	jo.socket = high_file(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	if (jo.socket < 0 || connect(jo.socket, (struct sockaddr *)&address, len))
		return refused(-get_errno(), name,
			       get_errno() == ECONNREFUSED
				       ? "no process serves a policy under this name"
				       : strerror(get_errno()));
	if (!same_user(jo.socket, 0))
		return refused(-EPERM, name, "another user serves this name");
	err = receive(jo.socket, &h, sizeof(h), files, 2);
	jo.bell = high_file(files[1]);
	if (err)
		return refused(err, name,
			       "the process that serves this name does not take this one in: it "
			       "has another user or a thousand others");
	if (h.version != REMOTE_VERSION || h.bytes != REMOTE_BYTES || !h.nr_cpus ||
	    h.nr_cpus > REMOTE_CPUS) {
		close(files[0]);
		return refused(-EPROTO, name, "it is served by another version of the library");
	}
	jo.memory = mmap(0, REMOTE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0);
	close(files[0]);
	if (jo.memory == MAP_FAILED) {
		jo.memory = 0;
		return refused(-ENOMEM, name, "no memory");
	}
	if (cpus_new(h.nr_cpus))
		return refused(-ENOMEM, name, "no memory");
	for (u32 i = 0; i < h.nr_cpus; i++)
		rt.cpus[i].linux_cpu = h.linux_cpu[i];
	h.policy[sizeof(h.policy) - 1] = 0;
	memcpy(jo.policy, h.policy, sizeof(jo.policy));
	h.ignores[sizeof(h.ignores) - 1] = 0;
	memcpy(jo.ignores, h.ignores, sizeof(jo.ignores));
	ump_init(&jo.ump, jo.memory, jo.memory + REMOTE_RING, REMOTE_SLOTS);
	memset(jo.used, USE_FREE, sizeof(jo.used));
	jo.alone = alone;
	jo.closing = 0;
	rt.alone = 0;
	jo.watched = !quiet_thread(&jo.watcher, STACK, watches, 0);
	return jo.watched ? 0
			  : refused(-EAGAIN, name,
				    "no thread can be made that watches the connection");
}

/* The runtime's threads have ended. */
void join_close(void)
{
	__atomic_store_n(&jo.closing, 1, __ATOMIC_RELEASE);
	if (jo.watched) {
		shutdown(jo.socket, SHUT_RDWR);
		pthread_join(jo.watcher, 0);
	}
	jo.watched = 0;
	if (jo.socket >= 0)
		close(jo.socket);
	if (jo.bell >= 0)
		close(jo.bell);
	if (jo.memory)
		munmap(jo.memory, REMOTE_BYTES);
	jo.socket = jo.bell = -1;
	jo.memory = 0;
}

int join_owns(int fd)
{
	return fd == jo.socket || fd == jo.bell;
}

/* The child of a fork is not the server's client. */
void join_forked(void)
{
	jo.watched = 0;
	if (rt.joined)
		join_close();
	memset(&jo.asking, 0, sizeof(jo.asking));
	jo.lock = 0;
}
