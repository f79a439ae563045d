/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs the simulated system to the end of its program and reports what happens, a line an event, on standard output:
 *
 *   T CLOCK TEXT         a line that the program wrote
 *   P CLOCK CPU KIND N   the kernel reports (kernel.h, P_...)
 *   W CLOCK THREAD       weir_kernel woke a thread
 *   D CLOCK DEVICE       an event of a device
 *   A CLOCK DEVICE AGE   it was taken, AGE clocks old
 *   K CPU RISE ENTRY EXIT SINCE   the CPU was in the kernel: when its interrupt rose (or 0), its first instruction there, the first
 *                        one of a thread after it; SINCE: the last decision of weir_laxity before it, or 0
 *   E CLOCK STATUS       the program ended; last line. STATUS: its own, or `limit`, `trap`
 *
 *   sim +hex=FILE TASK_BEGIN LIMIT [quiet]
 *
 * TASK_BEGIN: where code of threads begins. LIMIT: clocks. quiet: only T, D, A, K and E.
 */
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <verilated.h>
#include "Vweir_soc.h"

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "sim +hex=FILE TASK_BEGIN LIMIT [quiet]\n");
		return 2;
	}
	VerilatedContext context;
	context.commandArgs(argc, argv);
	const uint32_t task_begin = strtoul(argv[2], nullptr, 0);
	const uint64_t limit = strtoull(argv[3], nullptr, 0);
	const bool quiet = argc > 4 && !strcmp(argv[4], "quiet");
	auto top = std::make_unique<Vweir_soc>(&context);
	static char buffer[1 << 16];
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);

	uint64_t rise[8] = {}, led[8] = {}, entry[8] = {}, decided = 0, now = 0;
	bool stands[8] = {}, inside[8] = {};
	std::string line;

	top->rst_ni = 0;
	for (int i = 0; i < 8; i++) {
		top->clk_i = 0;
		top->eval();
		top->clk_i = 1;
		top->eval();
	}
	top->rst_ni = 1;
	for (; now < limit; now++) {
		top->clk_i = 0;
		top->eval();
		top->clk_i = 1;
		top->eval();
		if (top->console_o) {
			const char c = top->data_o;
			if (c == '\n') {
				printf("T %" PRIu64 " %s\n", now, line.c_str());
				line.clear();
			} else
				line += c;
		}
		if (top->probe_o && !quiet)
			printf("P %" PRIu64 " %u %u %u\n", now, (unsigned)top->cpu_o, top->data_o >> 24, top->data_o & 0xffffff);
		if (top->wake_o && !quiet)
			printf("W %" PRIu64 " %u\n", now, top->wake_id_o);
		if (top->event_o)
			for (unsigned d = 0; d < 8; d++)
				if (top->event_o >> d & 1)
					printf("D %" PRIu64 " %u\n", now, d);
		if (top->take_o)
			for (unsigned d = 0; d < 8; d++)
				if (top->take_o >> d & 1)
					printf("A %" PRIu64 " %u %u\n", now, d, top->age_o);
		if (top->tick_o)
			decided = now;
		for (unsigned c = 0; c < CPUS; c++) {
			const bool irq = top->irq_o >> c & 1;
			/* One that goes away before the CPU has noticed led to nothing. */
			if (irq != stands[c])
				rise[c] = irq ? now : 0;
			stands[c] = irq;
			if (!(top->fetch_o >> c & 1))
				continue;
#if CPUS > 2
			const uint32_t pc = top->pc_o[c];
#else
			const uint32_t pc = (uint32_t)((uint64_t)top->pc_o >> 32 * c);
#endif
			if (pc == 0x10 && !inside[c]) {
				inside[c] = true;
				entry[c] = now;
				led[c] = rise[c];
			} else if (inside[c] && pc >= task_begin) {
				inside[c] = false;
				printf("K %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c, led[c], entry[c], now, decided);
			}
		}
		if (top->exit_o || top->trap_o) {
			if (!line.empty())
				printf("T %" PRIu64 " %s\n", now, line.c_str());
			if (top->exit_o)
				printf("E %" PRIu64 " %u\n", now, top->data_o);
			else
				printf("E %" PRIu64 " trap\n", now);
			return 0;
		}
	}
	printf("E %" PRIu64 " limit\n", now);
	return 0;
}
