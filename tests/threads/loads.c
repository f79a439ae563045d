/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Calls that a thread makes for the first time while another one is loading a library, which takes until they have returned. In the preloaded library they
 * looked for libc's functions, and so waited for the loading. The library is this file again: loads.so, beside the program.
 *
 *   cc -rdynamic -o loads loads.c; cc -shared -fPIC -o loads.so loads.c; ./loads
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The program's: a shared object's own are behind it. */
volatile int loads_state; /* 1: it is to be loaded, 2: that goes on, 3: the calls have returned */

__attribute__((constructor)) static void loaded(void)
{
	if (loads_state != 1)
		return;
	loads_state = 2;
	while (loads_state != 3)
		;
}

static void *calls(void *arg)
{
	struct timespec soon = { .tv_nsec = 1000 };
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	struct pollfd none;
	sem_t sem;

	while (loads_state != 2)
		;
	sched_yield();
	sem_init(&sem, 0, 1);
	sem_wait(&sem);
	pthread_rwlock_wrlock(&lock);
	pthread_rwlock_unlock(&lock);
	nanosleep(&soon, 0);
	ppoll(&none, 0, &soon, 0);
	sched_setaffinity(0, 0, 0);
	loads_state = 3;
	return arg;
}

int main(int argc, char **argv)
{
	char name[4096];
	pthread_t t;

	(void)argc;
	snprintf(name, sizeof(name), "%s.so", argv[0]);
	pthread_create(&t, 0, calls, 0);
	loads_state = 1;
	if (!dlopen(name, RTLD_NOW)) {
		puts(dlerror());
		return 1;
	}
	pthread_join(t, 0);
	puts("loads: done");
	return 0;
}
