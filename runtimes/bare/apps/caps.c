/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tests what capabilities allow and forbid: retype once, copy with fewer rights, revoke, forged slots and objects, transfer on this core
 * and to another one, and two cores that retype the same memory at once: exactly one succeeds. Prints the failures and their number.
 */
#include <weir/mk.h>

static u32 tests, wrong;

static void is(const char *what, s64 have, s64 want)
{
	tests++;
	mk_mark(100 + tests, (u64)have);
	if (have == want)
		return;
	wrong++;
	mk_print("caps: %s: %ld instead of %ld\n", what, (long)have, (long)want);
}

static s64 inv(u64 slot, u64 command, u64 a, u64 b, u64 c, u64 d)
{
	return mk_invoke(slot, command, a, b, c, d).status;
}

/* On the other core: the received capability is in this slot. */
static volatile u64 sent_slot, go, result[2], there, done;

static void other(void *arg)
{
	(void)arg;
	there = 1;
	while (!sent_slot)
		mk_sleep(5000);
	while (!go)
		mk_sleep(100);
	result[1] = (u64)mk_retype(sent_slot, CAP_FRAME, 4096, 8192, 40);
	done = 1;
	for (;;)
		mk_sleep(1000000);
}

static s64 yield_to(u64 slot)
{
	register u64 a0 __asm__("a0") = slot, a7 __asm__("a7") = SYS_YIELD;

	__asm__ volatile("ecall"
			 : "+r"(a0), "+r"(a7)
			 :
			 : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a1", "a2",
			   "a3", "a4", "a5", "a6");
	return (s64)a0;
}

int main(int argc, char **argv)
{
	u64 words[4] = { 0 };
	u32 last = (u32)mk_self()->nr_cores - 1;

	(void)argc;
	(void)argv;
	/* Forged: a nonexistent slot, an empty one, one of another kind, a command of another kind. */
	is("slot beyond the last", inv(4711, CMD_IDENTIFY, 0, 0, 0, 0), MK_ECAP);
	is("empty slot", inv(50, CMD_MAP, 0, 0, 0, 0), MK_ECAP);
	is("message through no endpoint", mk_send_raw(50, words, 0), MK_ECAP);
	is("message through memory", mk_send_raw(SLOT_RAM, words, 0), MK_ECAP);
	is("message through slot 2^63", mk_send_raw(1ull << 63 | SLOT_MONITOR, words, 0), MK_ECAP);
	is("yield to memory", yield_to(SLOT_RAM), MK_ECAP);
	is("yield to slot 2^63", yield_to(1ull << 63 | SLOT_MONITOR), MK_ECAP);
	is("poke through an endpoint", inv(SLOT_MONITOR, CMD_POKE, 0, 0, 0, 0), MK_ECAP);
	is("an endpoint of another program", inv(SLOT_MONITOR, CMD_ENDPOINT, 51, 1, 0, 0), MK_ECAP);
	is("a capability that is not there along with a message",
	   mk_send_raw(SLOT_MONITOR, words, 50ull << LMP_CAP_SHIFT), MK_ECAP);
	is("the monitor's commands", inv(SLOT_SELF, CMD_FORGE, CAP_FRAME, 0x80000000, 4096, 7),
	   MK_EINVAL);
	is("mapping raw memory", inv(SLOT_RAM, CMD_MAP, 0, 0, 0, 0), MK_EINVAL);
	is("a topic that is not a program's", mk_set(WEIR_TOPIC_GANG, 1, 0), MK_ERIGHT);
	/* Retype. */
	is("retype to a frame", inv(SLOT_RAM, CMD_RETYPE, CAP_FRAME, 4096, 0, 20), MK_OK);
	is("the same memory again", inv(SLOT_RAM, CMD_RETYPE, CAP_FRAME, 4096, 0, 21), MK_EUSED);
	is("memory around it", inv(SLOT_RAM, CMD_RETYPE, CAP_FRAME, 8192, 0, 21), MK_EUSED);
	is("into a slot that is taken", inv(SLOT_RAM, CMD_RETYPE, CAP_FRAME, 4096, 4096, 20),
	   MK_EBUSY);
	is("a size that is not a power of two",
	   inv(SLOT_RAM, CMD_RETYPE, CAP_FRAME, 5000, 4096, 21), MK_EINVAL);
	is("beyond the end", inv(SLOT_RAM, CMD_RETYPE, CAP_FRAME, 4096, 1 << 30, 21), MK_EINVAL);
	is("to what memory cannot be", inv(SLOT_RAM, CMD_RETYPE, CAP_KERNEL, 4096, 4096, 21),
	   MK_EINVAL);
	is("a part of it", inv(SLOT_RAM, CMD_RETYPE, CAP_RAM, 16384, 16384, 22), MK_OK);
	is("a frame of the part", inv(22, CMD_RETYPE, CAP_FRAME, 4096, 4096, 23), MK_OK);
	is("the part's memory through the whole",
	   inv(SLOT_RAM, CMD_RETYPE, CAP_FRAME, 4096, 20480, 24), MK_EUSED);
	is("a frame retyped", inv(23, CMD_RETYPE, CAP_FRAME, 4096, 0, 24), MK_EINVAL);
	/* Use. */
	is("map", inv(20, CMD_MAP, 0, 0, 0, 0), MK_OK);
	{
		volatile u64 *p = (volatile u64 *)mk_invoke(20, CMD_IDENTIFY, 0, 0, 0, 0).value[0];

		is("it is zero", (s64)p[0], 0);
		p[5] = 77;
		is("it is ours", (s64)p[5], 77);
	}
	/* Copies. */
	is("copy that may only be read", inv(20, CMD_COPY, 30, RIGHT_READ, 0, 0), MK_OK);
	is("a copy of that", inv(30, CMD_COPY, 31, RIGHT_ALL, 0, 0), MK_ERIGHT);
	is("sent along without the right to",
	   mk_send_raw(SLOT_MONITOR, words, 30ull << LMP_CAP_SHIFT), MK_ERIGHT);
	is("a copy with all rights", inv(20, CMD_COPY, 32, RIGHT_ALL, 0, 0), MK_OK);
	is("its copy", inv(32, CMD_COPY, 33, RIGHT_ALL, 0, 0), MK_OK);
	is("revoke", inv(20, CMD_REVOKE, 0, 0, 0, 0), MK_OK);
	is("revoked",
	   inv(30, CMD_IDENTIFY, 0, 0, 0, 0) + inv(32, CMD_IDENTIFY, 0, 0, 0, 0) +
		   inv(33, CMD_IDENTIFY, 0, 0, 0, 0),
	   3 * MK_ECAP);
	is("what it was made from stays", inv(20, CMD_IDENTIFY, 0, 0, 0, 0), CAP_FRAME);
	is("revoke the part", inv(22, CMD_REVOKE, 0, 0, 0, 0), MK_OK);
	is("its frame is gone", inv(23, CMD_IDENTIFY, 0, 0, 0, 0), MK_ECAP);
	is("and may be made again", inv(22, CMD_RETYPE, CAP_FRAME, 4096, 4096, 23), MK_OK);
	is("delete", inv(23, CMD_DELETE, 0, 0, 0, 0), MK_OK);
	/* To another core, and then there and here at the same time. */
	if (last) {
		s64 number = mk_spawn(last, other, 0), slot;

		is("a dispatcher there", number > 0, 1);
		while (!there)
			mk_sleep(10000);
		slot = mk_cap_send(22, last, (u32)number);
		is("sent", slot > 0, 1);
		is("retype without the others", inv(22, CMD_RETYPE, CAP_FRAME, 4096, 8192, 25),
		   MK_EREMOTE);
		sent_slot = (u64)slot;
		go = 1;
		result[0] = (u64)mk_retype(22, CAP_FRAME, 4096, 8192, 25);
		while (!done)
			mk_sleep(10000);
		is("exactly one of two", ((s64)result[0] == MK_OK) + ((s64)result[1] == MK_OK), 1);
		is("the other one was refused", (s64)(result[0] + result[1]), MK_EUSED);
		is("revoke on all cores", mk_revoke(22), MK_OK);
		is("and retype again", mk_retype(22, CAP_FRAME, 4096, 8192, 26), MK_OK);
		is("what never was sent", mk_cap_send(60, last, (u32)number) < 0, 1);
	}
	mk_print("caps: %u tests, %u wrong\n", tests, wrong);
	if (last)
		mk_exit(wrong != 0);
	return wrong != 0;
}
