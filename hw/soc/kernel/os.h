/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What programs may call: the same on all systems. Greater priorities are more urgent; of equals the first to arrive runs until it
 * waits or yields. Times are clocks, which wrap after 2^32.
 */
#ifndef WEIR_SOC_OS_H
#define WEIR_SOC_OS_H

typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned char u8;

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

/* Devices: see weir_soc_device. device_take() gives how many clocks ago the oldest event came, -1 if none waits. */
void device_set(u32 device, u32 period, int random, u32 events);
void device_trigger(u32 device);
u32 device_take(u32 device);
u32 device_waiting(u32 device);
u32 device_dropped(u32 device);

u32 now(void);
/* End the program; 0: all is well. */
void finish(u32 status) __attribute__((noreturn));

/* Text, and figures that `runweir soc` collects: a line `= name value`. */
void print(const char *text);
void print_number(u32 value);
void figure(const char *name, u32 value);
/* A mark in the trace. */
void mark(u32 value);

/* Least, mean and greatest of what was measured, and how often it was 2^n .. 2^(n+1)-1. */
struct samples {
	u32 count, min, max;
	u64 sum;
};
void sample(struct samples *s, u32 value);
void figure_samples(const char *name, const struct samples *s);

/* Work that keeps registers busy: what it gives shows whether they survived. About 14 clocks a round. */
u32 work(u32 seed, u32 rounds);

/* The priority of the thread that executes main(). */
#define MAIN_PRIORITY 100
int main(void);
#endif
