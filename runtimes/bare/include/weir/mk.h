/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program's library on the bare kernel: threads of its own on each core, messages, and the monitor's services. docs/bare.md has examples.
 *
 * A program is one image with a dispatcher on each core where it requests one. All share its variables; each has its own heap and
 * stacks. Threads of one dispatcher share its core and are switched without the kernel. The policy schedules dispatchers.
 */
#ifndef WEIR_MK_H
#define WEIR_MK_H

#include <weir/bare.h>
#include <weir/broker.h>

#include "ordered.h"
#include "ump.h"

/* A program begins here, in its first thread; its result is the program's exit number, 0: success. */
int main(int argc, char **argv);

void *memset(void *p, int c, __SIZE_TYPE__ n);
void *memcpy(void *p, const void *q, __SIZE_TYPE__ n);
int memcmp(const void *a, const void *b, __SIZE_TYPE__ n);

/* A call may return on another core (mk_move), where it is another one: so it is a register of its own for the compiler. */
register struct mk_dcb *mk_dispatcher __asm__("tp");

WEIR_INLINE struct mk_dcb *mk_self(void)
{
	return mk_dispatcher;
}

/* --- system calls --------------------------------------------------------------------------------------- */

struct mk_result {
	s64 status;
	u64 value[3];
};

struct mk_result mk_invoke(u64 slot, u64 command, u64 a, u64 b, u64 c, u64 d);
WEIR_INLINE s64 mk_send_raw(u64 slot, const u64 *words, u64 flags)
{
	register u64 a0 __asm__("a0") = slot, a1 __asm__("a1") = words[0],
			a2 __asm__("a2") = words[1], a3 __asm__("a3") = words[2],
			a4 __asm__("a4") = words[3], a5 __asm__("a5") = flags,
			a7 __asm__("a7") = SYS_LMP;

	__asm__ volatile("ecall"
			 : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3), "+r"(a4), "+r"(a5), "+r"(a7)
			 :
			 : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a6");
	return (s64)a0;
}

/* --- time -------------------------------------------------------------------------------------------------- */

/* ns since the machine began, by this core's clock. */
u64 mk_now(void);
/* Compute for @ns instructions, which is @ns of CPU time, however long that takes. */
void mk_work(u64 ns);
void mk_sleep_until(u64 at);
void mk_sleep(u64 ns);

/* --- threads ----------------------------------------------------------------------------------------------------- */

struct mk_thread;
/* Of this dispatcher. Null: no memory. */
struct mk_thread *mk_thread(void (*fn)(void *), void *arg);
/*
 * On any core, in the dispatcher that this program has there for such threads, which is made if it is the first one; up to 64 at a time.
 * Null: no room.
 */
struct mk_thread *mk_thread_on(u32 core, void (*fn)(void *), void *arg);
/* A thread of mk_thread_on() continues on another core. MK_EINVAL: it is another thread, or there is no such core. */
s64 mk_move(u32 core);
/* Once for each thread, from any core; then its memory is free again. */
void mk_join(struct mk_thread *t);
void mk_yield(void);
struct mk_thread *mk_current(void);
/* Wait until mk_unpark(); an earlier one counts. */
void mk_park(void);
void mk_unpark(struct mk_thread *t);

/*
 * Mutexes, condition variables and semaphores are for threads of all dispatchers of a program; in variables of the program, zero at first.
 * Who waits gets a message from the dispatcher that lets it go on. Not for handlers, which use mk_unpark().
 */
struct mk_node;
struct mk_mutex {
	u64 state;
	struct mk_node *first, *last; /* the holder's: waiting, in order */
};
void mk_lock(struct mk_mutex *m);
void mk_unlock(struct mk_mutex *m);
struct mk_cond {
	struct mk_node *first, *last;
};
/* Both with @m locked, also those below. May return early: look again. */
void mk_cond_wait(struct mk_cond *c, struct mk_mutex *m);
/* The first waiting one gets the mutex next; or all, one after the other. */
void mk_cond_signal(struct mk_cond *c, struct mk_mutex *m);
void mk_cond_broadcast(struct mk_cond *c, struct mk_mutex *m);
struct mk_semaphore {
	struct mk_mutex lock;
	struct mk_cond more;
	u64 value;
};
void mk_sem_wait(struct mk_semaphore *s);
void mk_sem_post(struct mk_semaphore *s);

/* From this dispatcher's heap, aligned to 16; null: full. Only threads' memory is used again. */
void *mk_alloc(u64 bytes);
/* Capability slots. */
u64 mk_slot(void);

/* --- reports to the policy ---------------------------------------------------------------------------------------- */

s64 mk_set(u32 topic, u64 value, u64 value2);
/* A landmark in the trace. */
void mk_mark(u64 number, u64 value);
void mk_exit(u64 number) __attribute__((noreturn));

/*
 * Called for a forbidden operation of the program, on the dispatcher's stack and disabled; it does not return to the thread. Null: the
 * kernel ends the program.
 */
typedef void (*mk_fault_handler)(u64 cause, u64 address);
void mk_on_fault(mk_fault_handler handler);

/* --- messages on this core: LMP ------------------------------------------------------------------------------------- */

/*
 * Called for each message, with threads held off; @badge identifies the endpoint, @along is a capability's slot or 0. Badge 0 is the
 * monitor's; channels have badges from MK_BADGE on.
 */
#define MK_BADGE (1u << 16)
typedef void (*mk_handler)(u64 badge, const u64 *words, u64 along);
void mk_on_message(mk_handler handler);
/* Send; MK_EBUSY: the receiver's buffer is full. @along: a capability, or 0. */
s64 mk_send(u64 endpoint, const u64 *words, u64 along);
/* From a handler, as its last action: the receiver runs at once. */
void mk_answer(u64 endpoint, const u64 *words);
/* Send, and wait for the answer, which arrives through an own endpoint with badge @badge. */
s64 mk_call(u64 endpoint, u64 badge, const u64 *words, u64 *answer);

/* --- messages between cores: UMP -------------------------------------------------------------------------------------- */

struct mk_channel {
	struct ump ump;
	u64 notify; /* slot: wakes the other side */
	/* on this core: slot of the other side's endpoint; 0: it is on another core */
	u64 endpoint;
	u64 badge; /* of its messages at our endpoint */
	u64 frame; /* slot and address of its memory */
	u64 base;
	u32 gone; /* the other side has closed it, or has ended; read what is left, then close it */
	u32 unused;
	struct mk_channel *next;
	struct mk_thread *waiting;
	u64 polls;
};
/* Wait for room. */
void mk_channel_send(struct mk_channel *c, const u64 *words, u32 nr, u32 kind, u32 tag);
/* Wait for a message: poll, then block. */
void mk_channel_recv(struct mk_channel *c, u64 *words, u32 nr, u32 *kind, u32 *tag);
/* 0, or -WEIR_EAGAIN. */
int mk_channel_try(struct mk_channel *c, u64 *words, u32 nr, u32 *kind, u32 *tag);
void mk_channel_add(struct mk_channel *c);
/* When both sides have closed it, or have ended, its memory is free again. */
void mk_channel_close(struct mk_channel *c);

/* --- the monitor's services ---------------------------------------------------------------------------------------------- */

#define MK_NAME_LENGTH 16

/* Make a dispatcher of this program on @core, which begins with fn(arg) and the caller's priority. Returns its number there, or below 0. */
s64 mk_spawn(u32 core, void (*fn)(void *), void *arg);
/* Register a service under @name; MK_EUSED: the name is taken. */
s64 mk_export(const char *name);
/* Whether a client requests it; wait for a client's channel. Null: refused, or no room. */
int mk_client_asks(void);
struct mk_channel *mk_next_client(int refuse);
/* Wait until a channel without a waiting thread has a message, or a client requests the service. */
void mk_wait_any(void);
/* A channel to the service, on this core or another one. MK_EUNKNOWN, MK_EREFUSED. */
s64 mk_bind(const char *name, struct mk_channel *out);
/* Send the memory in @slot as a capability to dispatcher @number on another core. Returns its slot there, or below 0. */
s64 mk_cap_send(u64 slot, u32 core, u32 number);
/* As CMD_RETYPE and CMD_REVOKE, for memory that other cores know. */
s64 mk_retype(u64 slot, u64 type, u64 bytes, u64 offset, u64 to);
s64 mk_revoke(u64 slot);

/*
 * Groups that publish: all members get the same entries in the same order, among them who joins and leaves. An entry waits until the
 * dispatcher runs; while a member has not taken eight of them, publishing in its group waits.
 */
struct mk_event {
	u32 group, index; /* without gaps, from the own join on */
	u32 kind;	  /* enum mk_entry_kind */
	u64 word[3]; /* as published; JOIN, LEAVE: core << 32 | dispatcher, members from then on */
};
/* Called for each entry, with threads held off. */
typedef void (*mk_event_handler)(const struct mk_event *e);
void mk_on_event(mk_event_handler handler);
/* The group with a name, which is made; or below 0. */
s64 mk_topic(const char *name);
/* Become a member: the number of the entry that says so. MK_EUSED: it is one. Group 0 is the names': of services and groups. */
s64 mk_subscribe(u32 group);
s64 mk_unsubscribe(u32 group);
/* The number of the entry, which all members get. */
s64 mk_publish(u32 group, const u64 *words);

/* Gangs: docs/gangs.md. The manifest's number, or below 0. */
s64 mk_manifest(const char *text);
/* This dispatcher joins a group of the gang. MK_EUSED: another dispatcher of this core is in another group of it. */
s64 mk_join_gang(u64 gang, u32 group);
/* The group of this core enters a phase. The number of cores in it, or below 0. */
s64 mk_phase(u64 gang, u32 phase);
/* @groups, a bit each, merge into one, which enters @phase (MK_SAME_PHASE: stays in its own); they leave it again. As mk_phase(). */
#define MK_SAME_PHASE (~0u)
s64 mk_merge(u64 gang, u32 groups, u32 into, u32 phase);
s64 mk_split(u64 gang, u32 group);

/* --- the console ------------------------------------------------------------------------------------------------------------ */

/* %s %d %u %x %c; lines are not mixed. */
void mk_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * The next line of the console's input (`runweir bare --input`), without its end and at most @room - 1 bytes of it, ended by a zero byte: how
 * many. -1: there is none. Each line is read once, by the program that asks first.
 */
s64 mk_read(char *line, u32 room);

/* Between programs and the console: kinds of messages, whose tag is a number of bytes. */
#define CONSOLE_LINE 512u /* bytes of a line, at most */
enum {
	CONSOLE_MORE = 1, /* a part of a line */
	CONSOLE_LAST = 2, /* the end of a line */
	CONSOLE_READ = 3, /* the client asks for one */
	CONSOLE_END = 4	  /* there is none */
};

#endif
