/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Simulates a netlist of weir_laxity (netlist.py; standard input) with as many tasks as the argument says, and counts how often
 * outputs of LUTs and flip-flops change. Zero delay: at a clock edge, and at each change of the inputs, a net changes once or not.
 *
 * Work is the same for all sizes: 90 % of two CPUs, jobs of 2 to 9 ticks, so that equally many jobs come in a tick. A CPU reads
 * SCHED in the middle of the tick. Prints a line: LUTs, flip-flops, ticks, interrupts; changes a tick of LUTs, of flip-flops, and
 * of both while nothing happens except that clocks are counted.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct lut {
	uint32_t out, table, level;
	std::vector<uint32_t> in;
};

struct flip_flop {
	uint32_t out, in;
	int enable;
	bool polarity;
	char reset;
};

struct netlist {
	std::vector<bool> value;
	std::vector<lut> luts;
	std::vector<flip_flop> flops;
	std::map<std::string, std::vector<uint32_t>> ports;
	std::vector<std::vector<uint32_t>> readers; /* of a net: LUTs */
	std::vector<std::vector<uint32_t>> due;	    /* by level: LUTs with a changed input */
	std::vector<bool> is_due;
	uint64_t clocks = 0, lut_changes = 0, flop_changes = 0;

	explicit netlist(std::istream &in);
	void put(uint32_t net, bool v);
	void settle();
	void edge();
	void set(const char *port, uint64_t v);
	uint64_t get(const char *port) const;
};

[[noreturn]] void fail(const std::string &what)
{
	std::cerr << "activity: " << what << "\n";
	exit(1);
}

netlist::netlist(std::istream &in)
{
	std::string line, word;
	size_t nets = 0;

	while (std::getline(in, line)) {
		std::istringstream s(line);
		uint32_t net;
		s >> word;
		if (word == "nets") {
			s >> nets;
		} else if (word == "port") {
			s >> word;
			while (s >> net)
				ports[word].push_back(net);
		} else if (word == "lut") {
			lut l = {};
			s >> l.out >> l.table;
			while (s >> net)
				l.in.push_back(net);
			luts.push_back(l);
		} else if (word == "ff") {
			flip_flop f = {};
			s >> f.out >> f.in >> f.enable >> f.polarity >> f.reset;
			flops.push_back(f);
		} else {
			fail("not a line of a netlist: " + line);
		}
	}
	value.resize(nets);
	readers.resize(nets);
	value[1] = true;

	/* A LUT's level is above those of its inputs; a netlist without loops has no more levels than LUTs. */
	std::vector<uint32_t> level(nets), waits(luts.size()), next;
	std::vector<bool> driven(nets);
	for (const auto &l : luts)
		driven[l.out] = true;
	for (uint32_t i = 0; i < luts.size(); i++) {
		for (uint32_t n : luts[i].in) {
			readers[n].push_back(i);
			waits[i] += driven[n];
		}
		if (!waits[i])
			next.push_back(i);
	}
	size_t placed = 0;
	while (!next.empty()) {
		uint32_t i = next.back();
		next.pop_back();
		placed++;
		for (uint32_t n : luts[i].in)
			luts[i].level = std::max(luts[i].level, level[n]);
		level[luts[i].out] = luts[i].level + 1;
		if (due.size() <= luts[i].level)
			due.resize(luts[i].level + 1);
		for (uint32_t r : readers[luts[i].out])
			if (!--waits[r])
				next.push_back(r);
	}
	if (placed != luts.size())
		fail("the netlist has a combinational loop");
	is_due.assign(luts.size(), true);
	for (uint32_t i = 0; i < luts.size(); i++)
		due[luts[i].level].push_back(i);
	settle();
}

void netlist::put(uint32_t net, bool v)
{
	if (value[net] == v)
		return;
	value[net] = v;
	for (uint32_t r : readers[net]) {
		if (!is_due[r])
			due[luts[r].level].push_back(r);
		is_due[r] = true;
	}
}

void netlist::settle()
{
	for (auto &level : due) {
		for (uint32_t i : level) {
			const lut &l = luts[i];
			uint32_t row = 0;
			for (size_t b = 0; b < l.in.size(); b++)
				row |= uint32_t(value[l.in[b]]) << b;
			is_due[i] = false;
			bool v = l.table >> row & 1;
			lut_changes += v != value[l.out];
			put(l.out, v);
		}
		level.clear();
	}
}

void netlist::edge()
{
	std::vector<std::pair<uint32_t, bool>> now;

	clocks++;
	settle();
	for (const auto &f : flops)
		if ((f.enable < 0 || value[f.enable] == f.polarity) && value[f.in] != value[f.out])
			now.emplace_back(f.out, value[f.in]);
	flop_changes += now.size();
	for (auto [net, v] : now)
		put(net, v);
	settle();
}

void netlist::set(const char *port, uint64_t v)
{
	for (uint32_t net : ports.at(port)) {
		put(net, v & 1);
		v >>= 1;
	}
}

uint64_t netlist::get(const char *port) const
{
	const auto &nets = ports.at(port);
	uint64_t v = 0;

	for (size_t b = 0; b < nets.size(); b++)
		v |= uint64_t(value[nets[b]]) << b;
	return v;
}

/* Byte offsets of registers: docs/hardware-registers.md. */
enum { CTRL = 0x00, TICK = 0x04, PARAM0 = 0x08, PARAM1 = 0x0c, CMD = 0x10, SCHED = 0x14, TICKS = 0x28 };
enum { CPUS = 2, TICK_CLOCKS = 4800, WARM_UP = 100, COUNTED = 400 };
/* Clocks of a tick by which the choice is made, in which CPUs ask for it, by which they have it. */
enum { DECIDED = 200, ASK = 2400, ASKED = 2420 };

/* The answer comes two clocks after the request. */
uint32_t access(netlist &n, unsigned cpu, unsigned addr, bool write, uint32_t data)
{
	n.set("req_i", 1);
	n.set("we_i", write);
	n.set("cpu_i", cpu);
	n.set("addr_i", addr >> 2);
	n.set("wdata_i", data);
	n.edge();
	n.set("req_i", 0);
	for (int i = 0; i < 4; i++) {
		if (n.get("rvalid_o"))
			return n.get("rdata_o");
		n.edge();
	}
	fail("a request has no answer");
}

} // namespace

int main(int argc, char **argv)
{
	uint32_t tasks = argc == 2 ? atoi(argv[1]) : 0, random = 1;
	if (tasks < 4 || tasks > 64)
		fail("how many tasks? 4 to 64");
	netlist n(std::cin);
	/* Out of reset everything begins at its value there. */
	for (const auto &f : n.flops)
		if (f.reset != 'x')
			n.put(f.out, f.reset == '1');
	n.set("rst_ni", 1);
	n.settle();

	double load = 0;
	for (uint32_t t = 0; t < tasks; t++) {
		random = random * 1664525 + 1013904223;
		uint32_t wcet = 2 + (random >> 16) % 8;
		uint32_t period = lround(wcet * tasks / (0.9 * CPUS));
		load += double(wcet) / period;
		access(n, 0, PARAM0, true, period | wcet << 16);
		access(n, 0, PARAM1, true, ((random >> 8) % period) << 16);
		access(n, 0, CMD, true, 1 | t << 8);
		if (access(n, 0, CMD, false, 0))
			fail("a task is refused");
	}
	access(n, 0, TICK, true, TICK_CLOCKS);
	access(n, 0, CTRL, true, 1);

	uint64_t luts = 0, flops = 0, idle = 0, interrupts = 0, busy = 0;
	const uint64_t start = n.clocks;
	for (int tick = 0; tick < WARM_UP + COUNTED; tick++) {
		if (tick == WARM_UP) {
			luts = n.lut_changes;
			flops = n.flop_changes;
			interrupts = busy = idle = 0;
		}
		uint64_t began = start + uint64_t(tick) * TICK_CLOCKS;
		while (n.clocks < began + TICK_CLOCKS) {
			uint64_t phase = n.clocks - began, before = n.lut_changes + n.flop_changes;
			n.edge();
			/* By the middle all is decided; the CPUs ask then. */
			if (phase >= DECIDED && (phase < ASK || phase >= ASKED))
				idle += n.lut_changes + n.flop_changes - before;
			for (unsigned c = 0; phase == ASK && c < CPUS; c++) {
				if (n.get("irq_o") >> c & 1) {
					interrupts++;
					access(n, c, SCHED, false, 0);
				}
				busy += n.get("busy_o") >> c & 1;
			}
		}
	}
	luts = n.lut_changes - luts;
	flops = n.flop_changes - flops;

	uint32_t ticks = access(n, 0, TICKS, false, 0);
	if (std::abs(double(ticks) - WARM_UP - COUNTED) > 1)
		fail("it counted " + std::to_string(ticks) + " ticks");
	if (std::abs(double(busy) / COUNTED - load) > 0.05 * load)
		fail("CPUs were busy " + std::to_string(double(busy) / COUNTED) + ", not " + std::to_string(load));
	printf("%zu,%zu,%d,%llu,%.1f,%.1f,%.1f\n", n.luts.size(), n.flops.size(), COUNTED,
	       (unsigned long long)interrupts, double(luts) / COUNTED, double(flops) / COUNTED, double(idle) / COUNTED);
}
