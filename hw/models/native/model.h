/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* One simulated module: a clock, a reset, and a waveform on demand. Included once a model, with MODEL and TOP defined. */
#ifndef WEIR_HW_MODEL_H
#define WEIR_HW_MODEL_H
#include <cstdint>
#include <memory>
#include <verilated.h>
#include <verilated_fst_c.h>

#define WEIR_JOIN2(a, b) a##_##b
#define WEIR_JOIN(a, b)	 WEIR_JOIN2(a, b)
#define WEIR_NAME(what)	 WEIR_JOIN(MODEL, what)

namespace
{
struct model {
	VerilatedContext context;
	TOP top;
	std::unique_ptr<VerilatedFstC> wave;

	model() : top(&context)
	{
		context.traceEverOn(true);
		top.rst_ni = 0;
		top.clk_i = 0;
	}

	void edge(int level)
	{
		top.clk_i = level;
		top.eval();
		if (wave)
			wave->dump(context.time());
		context.timeInc(1);
	}

	/* Inputs are set: let what follows from them settle, then the rising edge. */
	void clock()
	{
		edge(0);
		edge(1);
	}
};
} // namespace

extern "C" {
void *WEIR_NAME(new)(void)
{
	auto *m = new model;
	for (int i = 0; i < 3; i++)
		m->clock();
	m->top.rst_ni = 1;
	return m;
}

void WEIR_NAME(free)(void *p)
{
	auto *m = static_cast<model *>(p);
	if (m->wave)
		m->wave->close();
	m->top.final();
	delete m;
}

/* From now on every edge is written to @path; null: no longer. */
void WEIR_NAME(trace)(void *p, const char *path)
{
	auto *m = static_cast<model *>(p);
	if (m->wave)
		m->wave->close();
	m->wave.reset();
	if (path) {
		m->wave.reset(new VerilatedFstC);
		m->top.trace(m->wave.get(), 99);
		m->wave->open(path);
	}
}
}
#endif
