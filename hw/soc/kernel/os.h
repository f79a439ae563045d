/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What programs may call: the same on all systems. Greater priorities are more urgent; of equals the first to arrive runs until it
 * waits or yields. Times are clocks, which wrap after 2^32.
 */
#ifndef WEIR_SOC_OS_H
#define WEIR_SOC_OS_H

#include "board.h"

#ifndef MAX_THREADS
#define MAX_THREADS 200
#endif
#define MAX_MUTEXES    64
#define MAX_CONDITIONS 64
#define MAX_SEMAPHORES 16

/* Threads. spawn() gives the thread's number, or -1 where there is no room. */
int spawn(const char *name, void (*entry)(void *), void *argument, u32 priority);
/* As spawn(), but nobody joins it: its number and stack are free again when it has ended. */
int spawn_detached(const char *name, void (*entry)(void *), void *argument, u32 priority);
void leave(void) __attribute__((noreturn));
void join(int thread);
void yield(void);
int self(void);

/* Mutexes and condition variables, by number; waiters are served in order of arrival. */
void lock(u32 mutex);
int try_lock(u32 mutex);
void unlock(u32 mutex);
void wait(u32 condition, u32 mutex);
void signal(u32 condition);
void broadcast(u32 condition);

/* Semaphores; post() is allowed in the service of an interrupt. */
void post(u32 semaphore);
void take(u32 semaphore);

/* Sleep until the clock is @at. */
void sleep_until(u32 at);

/*
 * Serve the interrupts of a device. Where interrupts are above all, @service is executed by the interrupt; else by a thread of
 * this priority. It must take an event from the device.
 */
void on_interrupt(u32 device, void (*service)(u32 device), u32 priority);
/*
 * As on_interrupt(), but each event interrupts, even while earlier ones wait for their service. This differs in the system
 * `threaded` only, which else keeps the line off until the thread has served.
 */
void on_each_interrupt(u32 device, void (*service)(u32 device), u32 priority);

/* The priority of the thread that executes main(). */
#define MAIN_PRIORITY 100
int main(void);
#endif
