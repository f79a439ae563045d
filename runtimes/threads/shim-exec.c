/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Other programs and processes: they do not inherit the place that the policy gave to a thread. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

/*
 * A program that this one starts may run where the program said, not only where the calling thread is pinned now, and has the runtime's signal blocked
 * if the program has. After a fork, weir_rt_open()'s handler unpins the child; these calls have no such handler.
 */
struct place {
	cpu_set_t was;
	int changed;
	int blocked;
};

static struct place anywhere(void)
{
	struct place p = { .blocked = shim_active && shim_blocks_urgent() };

	if (p.blocked)
		shim_mask_urgent(SIG_BLOCK);
	if (shim_mine() && shim_self() &&
	    weir_shim_call(SYS_sched_getaffinity, 0, sizeof(p.was), (long)&p.was) > 0)
		p.changed = !weir_shim_call(SYS_sched_setaffinity, 0, sizeof(cpu_set_t),
					    (long)&shim_self()->cpus);
	return p;
}

static void back(const struct place *p)
{
	if (p->changed)
		weir_shim_call(SYS_sched_setaffinity, 0, sizeof(p->was), (long)&p->was);
	if (p->blocked)
		shim_mask_urgent(SIG_UNBLOCK);
}

#define FREED(call)                                                                      \
	({                                                                               \
		struct place place_ __attribute__((cleanup(back), unused)) = anywhere(); \
		(call);                                                                  \
	})

SHIM int posix_spawn(pid_t *restrict pid, const char *restrict path,
		     const posix_spawn_file_actions_t *actions,
		     const posix_spawnattr_t *restrict attr, char *const argv[restrict],
		     char *const envp[restrict])
{
	REAL(posix_spawn);
	return FREED(real(pid, path, actions, attr, argv, envp));
}

SHIM int posix_spawnp(pid_t *restrict pid, const char *restrict path,
		      const posix_spawn_file_actions_t *actions,
		      const posix_spawnattr_t *restrict attr, char *const argv[restrict],
		      char *const envp[restrict])
{
	REAL(posix_spawnp);
	return FREED(real(pid, path, actions, attr, argv, envp));
}

SHIM int execve(const char *path, char *const argv[], char *const envp[])
{
	REAL(execve);
	return FREED(real(path, argv, envp));
}

SHIM int execv(const char *path, char *const argv[])
{
	REAL(execv);
	return FREED(real(path, argv));
}

SHIM int execvp(const char *path, char *const argv[])
{
	REAL(execvp);
	return FREED(real(path, argv));
}

SHIM int system(const char *command)
{
	REAL(system);
	return BLOCKING(FREED(real(command)));
}

SHIM FILE *popen(const char *command, const char *mode)
{
	REAL(popen);
	return FREED(real(command, mode));
}

SHIM int execvpe(const char *path, char *const argv[], char *const envp[])
{
	REAL(execvpe);
	return FREED(real(path, argv, envp));
}

SHIM int fexecve(int fd, char *const argv[], char *const envp[])
{
	REAL(fexecve);
	return FREED(real(fd, argv, envp));
}

SHIM int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	REAL(execveat);
	return FREED(real(dir, path, argv, envp, flags));
}

/* The arguments from @arg on as a vector, which is in the caller's frame, and what follows them. */
#define ARGUMENTS(argv, arg, after)                                        \
	size_t nr_ = 0;                                                    \
	va_list list_;                                                     \
	va_start(list_, arg);                                              \
	for (const char *a_ = (arg); a_; a_ = va_arg(list_, const char *)) \
		nr_++;                                                     \
	va_end(list_);                                                     \
	char *argv[nr_ + 1];                                               \
	va_start(list_, arg);                                              \
	argv[0] = (char *)(arg);                                           \
	for (size_t i_ = 1; i_ <= nr_; i_++)                               \
		argv[i_] = va_arg(list_, char *);                          \
	after;                                                             \
	va_end(list_)

SHIM int execl(const char *path, const char *arg, ...)
{
	ARGUMENTS(argv, arg, );
	return execv(path, argv);
}

SHIM int execlp(const char *path, const char *arg, ...)
{
	ARGUMENTS(argv, arg, );
	return execvp(path, argv);
}

SHIM int execle(const char *path, const char *arg, ...)
{
	char *const *envp;

	ARGUMENTS(argv, arg, envp = va_arg(list_, char *const *));
	return execve(path, argv, envp);
}

/* --- processes that libc's handlers of fork() do not see --------------------------------------------------------- */

struct child {
	int (*run)(void *);
	void *arg;
};

static int begins(void *arg)
{
	struct child c = *(struct child *)arg;

	shim_follow();
	/* On return libc would end this thread alone, and the library's own would keep the process. */
	_exit(c.run(c.arg));
}

SHIM int clone(int (*run)(void *), void *stack, int flags, void *arg, ...)
{
	struct child c = { run, arg };
	va_list list;
	void *a[3];
	int child;

	REAL(clone);
	va_start(list, arg);
	for (int i = 0; i < 3; i++)
		a[i] = va_arg(list, void *);
	va_end(list);
	if (!shim_active)
		return real(run, stack, flags, arg, a[0], a[1], a[2]);
	/* The child has a copy of this frame. */
	if (!(flags & CLONE_VM)) {
		weir_rt_fork_begins();
		child = real(begins, stack, flags, &c, a[0], a[1], a[2]);
		weir_rt_fork_done();
		return child;
	}
	if (!(flags & CLONE_SETTLS))
		shim_clones = 1;
	return real(run, stack, flags, arg, a[0], a[1], a[2]);
}

SHIM pid_t _Fork(void)
{
	pid_t pid;

	REAL(_Fork);
	if (!shim_active)
		return real();
	weir_rt_fork_begins();
	pid = real();
	if (!pid)
		shim_follow();
	else
		weir_rt_fork_done();
	return pid;
}

/* --- the runtime's files ------------------------------------------------------------------------------------------ */

/* To a program that closes all numbers that there may be, those of the runtime are none of its own. */
SHIM int close(int fd)
{
	REAL(close);
	if (shim_active && shim_owns(fd)) {
		errno = EBADF;
		return -1;
	}
	return real(fd);
}

static int close_others(unsigned from, unsigned to, int flags)
{
	int err = 0;

	REAL(close_range);

	/* Files of the runtime have large numbers, so this is one call or a few. */
	while (from <= to && !err) {
		unsigned last = from;

		if (shim_owns((int)from)) {
			from++;
			continue;
		}
		while (last < to && last < 1u << 16 && !shim_owns((int)(last + 1)))
			last++;
		if (last >= 1u << 16)
			last = to;
		err = real(from, last, flags);
		if (last == ~0u)
			break;
		from = last + 1;
	}
	return err;
}

SHIM int close_range(unsigned from, unsigned to, int flags)
{
	REAL(close_range);
	return shim_active && from <= to ? close_others(from, to, flags) : real(from, to, flags);
}

SHIM void closefrom(int from)
{
	REAL(closefrom);
	if (!shim_active || close_others(from < 0 ? 0 : (unsigned)from, ~0u, 0))
		real(from);
}

SHIM int dup2(int from, int to)
{
	REAL(dup2);
	if (shim_active && shim_owns(to)) {
		errno = EBUSY;
		return -1;
	}
	return real(from, to);
}

SHIM int dup3(int from, int to, int flags)
{
	REAL(dup3);
	if (shim_active && shim_owns(to)) {
		errno = EBUSY;
		return -1;
	}
	return real(from, to, flags);
}

/* Daemons close all numbers by calls of their own. */
int shim_files(long number, const long *a, long *result)
{
	switch (number) {
	case SYS_close:
		*result = close((int)a[0]);
		return 1;
	case SYS_close_range:
		*result = close_range((unsigned)a[0], (unsigned)a[1], (int)a[2]);
		return 1;
#ifdef SYS_dup2
	case SYS_dup2:
		*result = dup2((int)a[0], (int)a[1]);
		return 1;
#endif
	case SYS_dup3:
		*result = dup3((int)a[0], (int)a[1], (int)a[2]);
		return 1;
	}
	return 0;
}
