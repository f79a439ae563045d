/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The CPU of weir_masters: its one thread adds to the shared number too, under the same mutex, while the accelerators do; then it waits
 * for them on condition 0. Ends with 0 if no addition was lost, all masters waited for each other, and calls came together.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <verilated.h>
#include "Vweir_masters.h"
#include "weir_kernel.h"

namespace {
VerilatedContext context;
auto top = std::make_unique<Vweir_masters>(&context);
uint64_t now, together, woken[2];
const uint64_t limit = 2000000;

[[noreturn]] void fail(const char *why)
{
	fprintf(stderr, "masters: clock %llu: %s\n", (unsigned long long)now, why);
	exit(1);
}

void step()
{
	static bool was[2];

	top->clk_i = 0;
	top->eval();
	/* Calls that begin in one clock. */
	const unsigned asks = top->asks_o;
	together += (asks & (asks - 1)) != 0;
	top->clk_i = 1;
	top->eval();
	for (int a = 0; a < 2; a++) {
		const bool irq = top->irqs_o >> a & 1;
		woken[a] += irq && !was[a];
		was[a] = irq;
	}
	if (++now > limit)
		fail("it takes too long");
}

uint32_t call(uint32_t unit, uint32_t command, uint32_t thread, uint32_t argument)
{
	const uintptr_t at = WEIR_AT(WEIR_ADDRESS_KERNEL_UNIT, unit) | WEIR_AT(WEIR_ADDRESS_KERNEL_COMMAND, command) |
			     WEIR_AT(WEIR_ADDRESS_KERNEL_THREAD, thread) | WEIR_AT(WEIR_ADDRESS_KERNEL_ARGUMENT, argument);

	top->addr_i = at >> 2;
	top->req_i = 1;
	step();
	top->req_i = 0;
	while (!top->rvalid_o)
		step();
	const uint32_t answer = top->rdata_o;
	step();
	return answer;
}
#define CALL(unit, command, thread, argument) call(WEIR_UNIT_##unit, WEIR_##unit##_##command, thread, argument)

/* The thread is blocked: the idle one runs until the interrupt, unless it has been woken meanwhile. */
void give_up(uint32_t me)
{
	const uint32_t next = CALL(THREADS, NEXT, 0, 0);

	if (!(next & WEIR_LISTS_NEXT_NONE_MASK)) {
		if (WEIR_GET(next, WEIR_LISTS_NEXT_THREAD) != me)
			fail("a thread of hardware runs on the CPU");
		return;
	}
	while (!top->irq_o)
		step();
	if (WEIR_GET(CALL(THREADS, NEXT, 0, 0), WEIR_LISTS_NEXT_THREAD) != me)
		fail("another thread than the one that was woken runs");
}

void lock(uint32_t me, uint64_t &waits)
{
	if (CALL(MUTEXES, LOCK, me, 0) == WEIR_KERNEL_BLOCKED) {
		waits++;
		give_up(me);
	}
}
}

int main(int argc, char **argv)
{
	const uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
	uint64_t waits = 0;

	top->rst_ni = 0;
	step();
	step();
	top->rst_ni = 1;
	for (int i = 0; i < 20; i++)
		step();
	const uint32_t idle = CALL(THREADS, CREATE, 0, 0), me = CALL(THREADS, CREATE, 0, 0);
	CALL(LISTS, SET_IDLE, idle, 0);
	CALL(LISTS, PREEMPTION, 0, 1);
	CALL(LISTS, SET_PRIORITY, me, 3);
	CALL(THREADS, ADD, me, 0);
	CALL(THREADS, NEXT, 0, 0);
	const uint32_t first = CALL(THREADS, CREATE, 0, 0), second = CALL(THREADS, CREATE, 0, 0);
	if (CALL(THREADS, HARDWARE, first, 1) || CALL(THREADS, HARDWARE, second, 1) || CALL(THREADS, HARDWARE, first, 1) != 1)
		fail("a thread that exists is not made one of hardware");
	if (CALL(THREADS, HARDWARE, 7, 1) != WEIR_KERNEL_FAILED)
		fail("a thread that does not exist is made one of hardware");
	top->first_i = first;
	top->second_i = second;
	top->go_i = 1;
	for (uint32_t i = 0; i < rounds; i++) {
		lock(me, waits);
		const uint32_t value = top->value_o;
		for (uint32_t w = 0; w < i % 7; w++)
			step();
		top->value_i = value + 1;
		top->write_i = 1;
		step();
		top->write_i = 0;
		if (CALL(MUTEXES, UNLOCK, me, 0))
			fail("the CPU does not own what it has locked");
		for (uint32_t w = 0; w < i % 31; w++)
			step();
	}
	lock(me, waits);
	while (top->ended_o != 3) {
		CALL(CONDITIONS, WAIT, me, 0);
		CALL(MUTEXES, UNLOCK, me, 0);
		if (CALL(CONDITIONS, SLEEP, me, 0) == WEIR_KERNEL_BLOCKED)
			give_up(me);
		lock(me, waits);
	}
	printf("masters: %u additions, %llu clocks; the CPU waited %llu times, the accelerators were woken %llu and %llu times, calls came together "
	       "%llu times\n",
	       top->value_o, (unsigned long long)now, (unsigned long long)waits, (unsigned long long)woken[0], (unsigned long long)woken[1],
	       (unsigned long long)together);
	if (top->value_o != 3 * rounds)
		fail("an addition is missing");
	if (waits < 10 || woken[0] < 10 || woken[1] < 10 || together < 10)
		fail("the masters hardly met");
	return 0;
}
