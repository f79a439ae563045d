/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Timers and files. One thread waits for both and wakes the threads concerned; a waiting thread costs nothing. Timers are in a binary
 * heap, whose memory is reserved ahead (a thread that holds a CPU does not call malloc).
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "rt.h"

#define HEAP  (1u << 20) /* timers at most; address space, touched only as needed */
#define FILES (1u << 20) /* file numbers that may be waited for */

/* A thread that waits for a file. */
struct file {
	struct weir_queue queue;
};

static struct {
	u32 lock;
	u32 nr;
	struct timer **heap; /* from 1 on */
	struct timer *of_instance;
	u32 nr_instances;
	u64 set; /* when the timer file is due; NEVER: not set */
	int timer_file;
	int wake_file;
	int epoll;
	struct file *files;
	pthread_t thread;
	u32 running;
} ev = { .timer_file = -1, .wake_file = -1, .epoll = -1 };

/* --- the heap; ev.lock is held ------------------------------------------------------------------------------------ */

static void put(u32 place, struct timer *t)
{
	ev.heap[place] = t;
	t->place = place;
}

static void sift(u32 place, struct timer *t)
{
	while (place > 1 && ev.heap[place / 2]->at > t->at) {
		put(place, ev.heap[place / 2]);
		place /= 2;
	}
	for (u32 child; (child = 2 * place) <= ev.nr; place = child) {
		if (child < ev.nr && ev.heap[child + 1]->at < ev.heap[child]->at)
			child++;
		if (ev.heap[child]->at >= t->at)
			break;
		put(place, ev.heap[child]);
	}
	put(place, t);
}

static void take(struct timer *t)
{
	u32 place = t->place;
	struct timer *last = ev.heap[ev.nr--];

	t->place = 0;
	if (last != t)
		sift(place, last);
}

static void set_file(void)
{
	u64 at = ev.nr ? ev.heap[1]->at : NEVER;
	struct itimerspec t = { .it_value = { .tv_sec = (time_t)(at / 1000000000ull),
					      .tv_nsec = (long)(at % 1000000000ull) } };

	/* Due later than the file is set for: the file fires early once, and is set again. */
	if (at >= ev.set)
		return;
	if (!at)
		t.it_value.tv_nsec = 1;
	ev.set = at;
	timerfd_settime(ev.timer_file, TFD_TIMER_ABSTIME, &t, 0);
}

void timer_add(struct timer *t, u64 at)
{
	hold();
	spin(&ev.lock);
	if (t->place)
		take(t);
	weir_assert(ev.nr + 1 < HEAP);
	t->at = at;
	sift(++ev.nr, t);
	set_file();
	unspin(&ev.lock);
	release();
}

void timer_remove(struct timer *t)
{
	hold();
	spin(&ev.lock);
	if (t->place)
		take(t);
	unspin(&ev.lock);
	release();
}

/* For the core: set a component's timer. */
void weir_rt_timer(struct weir_sched *s, u32 instance, u64 at_ns)
{
	struct timer *t;

	(void)s;
	if (instance >= ev.nr_instances)
		return;
	t = &ev.of_instance[instance];
	if (at_ns)
		timer_add(t, at_ns);
	else
		timer_remove(t);
}

int events_room(u32 nr_instances)
{
	struct timer *more;

	if (nr_instances <= ev.nr_instances)
		return 0;
	more = mmap(0, (size_t)nr_instances * sizeof(*more), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (more == MAP_FAILED)
		return -ENOMEM;
	hold();
	spin(&ev.lock);
	for (u32 i = 0; i < nr_instances; i++)
		more[i].instance = i;
	/* The heap points to the timers that are set. */
	for (u32 i = 0; i < ev.nr_instances; i++) {
		more[i] = ev.of_instance[i];
		if (more[i].place)
			ev.heap[more[i].place] = &more[i];
	}
	ev.of_instance = more; /* keep the old ones: a call under way may read them */
	ev.nr_instances = nr_instances;
	unspin(&ev.lock);
	release();
	return 0;
}

static void expire(void)
{
	for (;;) {
		struct weir_thread *thread = 0;
		struct timer *t = 0;
		u32 instance = 0;

		hold();
		spin(&ev.lock);
		if (ev.nr && ev.heap[1]->at <= now()) {
			t = ev.heap[1];
			take(t);
			thread = t->thread;
			instance = t->instance;
		} else {
			set_file();
		}
		unspin(&ev.lock);
		release();
		if (!t)
			return;
		if (thread) {
			unpark(thread);
		} else {
			u32 cpu = core_enter();

			weir_timer_expired(rt.sched, cpu, instance);
			core_leave(cpu);
		}
	}
}

/* --- files ------------------------------------------------------------------------------------------------------------ */

/* The file's lock is held: watch once for the events that its waiters want. */
static int watch(int fd, struct file *f)
{
	struct epoll_event event = { .events = EPOLLONESHOT, .data = { .fd = fd } };

	for (struct weir_waiter *w = f->queue.head; w; w = w->next)
		event.events |= (w->events & POLLIN ? EPOLLIN | EPOLLRDHUP : 0) |
				(w->events & POLLOUT ? EPOLLOUT : 0);
	if (!epoll_ctl(ev.epoll, EPOLL_CTL_MOD, fd, &event))
		return 0;
	/* New, or the number now belongs to another file. */
	return errno == ENOENT && !epoll_ctl(ev.epoll, EPOLL_CTL_ADD, fd, &event) ? 0 : -errno;
}

static short poll_bits(u32 events)
{
	return (short)((events & (EPOLLIN | EPOLLRDHUP) ? POLLIN : 0) |
		       (events & EPOLLOUT ? POLLOUT : 0) | (events & EPOLLERR ? POLLERR : 0) |
		       (events & EPOLLHUP ? POLLHUP : 0));
}

static void file_ready(int fd, u32 events)
{
	struct file *f = &ev.files[fd];
	short ready = poll_bits(events);
	struct weir_waiter *left = 0, *last = 0, *w;
	u32 nr = 0;

	hold();
	spin(&f->queue.lock);
	while ((w = queue_pop(&f->queue))) {
		short mine = ready & (w->events | POLLERR | POLLHUP);

		if (mine) {
			w->ready = mine;
			waiter_wake(w);
			continue;
		}
		w->next = 0;
		if (last)
			last->next = w;
		else
			left = w;
		last = w;
		nr++;
	}
	f->queue.head = left;
	f->queue.tail = last;
	f->queue.nr = nr;
	if (left)
		watch(fd, f);
	unspin(&f->queue.lock);
	release();
}

/* A green thread sleeps until @fd is ready. Returns what it is ready for, 0 at @at, or -1 with errno. */
int fd_wait(int fd, short events, u64 at)
{
	struct pollfd p = { .fd = fd, .events = events };
	struct weir_waiter w = { .events = events };
	struct file *f;
	int err, n;

	do
		n = poll(&p, 1, 0);
	while (n < 0 && get_errno() == EINTR);
	if (n)
		return p.revents & POLLNVAL ? (set_errno(EBADF), -1) : p.revents;
	if (fd < 0 || (u32)fd >= FILES) {
		set_errno(EBADF);
		return -1;
	}
	f = &ev.files[fd];
	hold();
	spin(&f->queue.lock);
	queue_add(&f->queue, &w);
	err = watch(fd, f);
	if (err) {
		/* Ordinary files are always ready. */
		struct weir_waiter *other, *before = 0;

		for (other = f->queue.head; other != &w; before = other, other = other->next)
			;
		if (before)
			before->next = w.next;
		else
			f->queue.head = w.next;
		if (f->queue.tail == &w)
			f->queue.tail = before;
		f->queue.nr--;
		unspin(&f->queue.lock);
		release();
		if (err == -EPERM)
			return events;
		set_errno(-err);
		return -1;
	}
	err = queue_wait(&f->queue, &w, at);
	release();
	return err ? 0 : w.ready;
}

static void *wait_for_events(void *arg)
{
	struct epoll_event events[64];
	u64 word;

	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
	prctl(PR_SET_NAME, "weir-events");
	prctl(PR_SET_TIMERSLACK, 1);
	be_prompt(1);
	while (!__atomic_load_n(&rt.stop, __ATOMIC_ACQUIRE)) {
		int n = epoll_wait(ev.epoll, events, 64, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == ev.wake_file) {
				if (read(ev.wake_file, &word, sizeof(word)) < 0)
					continue;
			} else if (events[i].data.fd == ev.timer_file) {
				if (read(ev.timer_file, &word, sizeof(word)) < 0)
					word = 0;
				hold();
				spin(&ev.lock);
				ev.set = NEVER;
				unspin(&ev.lock);
				release();
				expire();
			} else {
				file_ready(events[i].data.fd, events[i].events);
			}
		}
	}
	return 0;
}

int events_start(u32 nr_instances)
{
	struct epoll_event event = { .events = EPOLLIN };

	ev.nr = 0;
	ev.set = NEVER;
	ev.heap = mmap(0, HEAP * sizeof(*ev.heap), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ev.files = mmap(0, FILES * sizeof(*ev.files), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ev.epoll = high_file(epoll_create1(EPOLL_CLOEXEC));
	ev.timer_file = high_file(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	ev.wake_file = high_file(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (ev.heap == MAP_FAILED || ev.files == MAP_FAILED || ev.epoll < 0 || ev.timer_file < 0 ||
	    ev.wake_file < 0 || events_room(nr_instances))
		return -ENOMEM;
	event.data.fd = ev.timer_file;
	if (epoll_ctl(ev.epoll, EPOLL_CTL_ADD, ev.timer_file, &event))
		return -errno;
	event.data.fd = ev.wake_file;
	if (epoll_ctl(ev.epoll, EPOLL_CTL_ADD, ev.wake_file, &event))
		return -errno;
	if (pthread_create(&ev.thread, 0, wait_for_events, 0))
		return -EAGAIN;
	ev.running = 1;
	return 0;
}

/* rt.stop is set, or the thread was never made. */
void events_stop(void)
{
	u64 one = 1;

	if (ev.running && write(ev.wake_file, &one, sizeof(one)) == sizeof(one))
		pthread_join(ev.thread, 0);
	ev.running = 0;
	if (ev.epoll >= 0)
		close(ev.epoll);
	if (ev.timer_file >= 0)
		close(ev.timer_file);
	if (ev.wake_file >= 0)
		close(ev.wake_file);
	ev.epoll = ev.timer_file = ev.wake_file = -1;
	if (ev.heap && ev.heap != MAP_FAILED)
		munmap(ev.heap, HEAP * sizeof(*ev.heap));
	if (ev.files && ev.files != MAP_FAILED)
		munmap(ev.files, FILES * sizeof(*ev.files));
	ev.heap = 0;
	ev.files = 0;
	if (ev.of_instance)
		munmap(ev.of_instance, ev.nr_instances * sizeof(*ev.of_instance));
	ev.of_instance = 0;
	ev.nr_instances = 0;
}

int events_own(int fd)
{
	return fd == ev.epoll || fd == ev.timer_file || fd == ev.wake_file;
}

/* The child of a fork has the files, but not the thread. */
void events_forked(void)
{
	ev.running = 0;
	ev.lock = 0;
	events_stop();
}

/* --- calls that may block --------------------------------------------------------------------------------------------------- */

static int is_green(void)
{
	struct weir_thread *t = me()->thread;

	return t && t->kind == WEIR_GREEN;
}

WEIR_API int weir_wait_fd(int fd, short events, uint64_t at)
{
	struct pollfd p = { .fd = fd, .events = events };
	int n;

	if (is_green())
		return fd_wait(fd, events, at);
	do
		n = poll(&p, 1, 0);
	while (n < 0 && errno == EINTR);
	if (!n && at) {
		weir_blocking_begin();
		do {
			u64 time = now(), left = at > time ? at - time : 0;
			struct timespec t = { .tv_sec = (time_t)(left / 1000000000ull),
					      .tv_nsec = (long)(left % 1000000000ull) };

			n = ppoll(&p, 1, at == NEVER ? 0 : &t, 0);
		} while (n < 0 && errno == EINTR);
		weir_blocking_end();
	}
	if (n > 0 && p.revents & POLLNVAL) {
		errno = EBADF;
		return -1;
	}
	return n > 0 ? p.revents : n;
}

/*
 * Complete at once where possible. A socket reports that it would block; another file is polled first. Between the poll and the call
 * another thread may take the data: then the green thread blocks its CPU, once.
 */
WEIR_API ssize_t weir_read(int fd, void *buffer, size_t bytes)
{
	int tried = 0;

	for (;;) {
		ssize_t n = recv(fd, buffer, bytes, MSG_DONTWAIT);

		if (n >= 0)
			return n;
		if (get_errno() == ENOTSOCK) {
			int ready = weir_wait_fd(fd, POLLIN, NEVER);

			return ready < 0 ? -1 : read(fd, buffer, bytes);
		}
		if (get_errno() == EINTR)
			continue;
		if (get_errno() != EAGAIN)
			return -1;
		/* If others have work, ours may come meanwhile: a wait costs four system calls and two more switches. */
		if (!tried++ && is_green())
			weir_thread_yield();
		else if (weir_wait_fd(fd, POLLIN, NEVER) < 0)
			return -1;
	}
}

WEIR_API ssize_t weir_write(int fd, const void *buffer, size_t bytes)
{
	size_t done = 0;

	for (;;) {
		ssize_t n = send(fd, (const char *)buffer + done, bytes - done, MSG_DONTWAIT);

		if (n >= 0) {
			done += (size_t)n;
			if (done == bytes)
				return (ssize_t)done;
			continue;
		}
		if (get_errno() == ENOTSOCK) {
			int ready = weir_wait_fd(fd, POLLOUT, NEVER);

			return ready < 0 ? -1 : write(fd, buffer, bytes);
		}
		if (get_errno() == EINTR)
			continue;
		if (get_errno() != EAGAIN || weir_wait_fd(fd, POLLOUT, NEVER) < 0)
			return done ? (ssize_t)done : -1;
	}
}

WEIR_API int weir_accept(int fd, struct sockaddr *address, socklen_t *length)
{
	for (;;) {
		int n;

		if (weir_wait_fd(fd, POLLIN, NEVER) < 0)
			return -1;
		n = accept4(fd, address, length, SOCK_CLOEXEC);
		if (n >= 0 ||
		    (get_errno() != EAGAIN && get_errno() != EINTR && get_errno() != ECONNABORTED))
			return n;
	}
}

WEIR_API int weir_connect(int fd, const struct sockaddr *address, socklen_t length)
{
	int flags = fcntl(fd, F_GETFL), err, n;
	socklen_t size = sizeof(err);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	n = connect(fd, address, length);
	if (n < 0 && get_errno() == EINPROGRESS && weir_wait_fd(fd, POLLOUT, NEVER) >= 0 &&
	    !getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size)) {
		set_errno(err);
		n = err ? -1 : 0;
	}
	err = get_errno();
	fcntl(fd, F_SETFL, flags);
	set_errno(err);
	return n;
}
