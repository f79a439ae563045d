/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Placement, admission, and equal cuts. */
#include "controller.h"

#include <weir/error.h>

static const char *const what[MK_NR_REFUSALS] = {
	[0] = "no refusal",
	[MK_REFUSED_GANGS] = "64 gangs are there already",
	[MK_REFUSED_NAME] = "a gang of this name is there already",
	[MK_REFUSED_CPUS] = "there are too few CPUs online among those that the manifest allows",
	[MK_REFUSED_CORES] =
		"there are too few whole cores among the CPUs that the manifest allows",
	[MK_REFUSED_SHARE] = "the CPUs have too little left beside the floor for best effort",
	[MK_REFUSED_SLOT] =
		"no place in the period where its slots never meet those of a gang that is there",
	[MK_REFUSED_SHORT] = "cut in equal proportion, a slot would be shorter than 20 us",
};

static const char *const remedy[MK_NR_REFUSALS] = {
	[0] = "",
	[MK_REFUSED_GANGS] = "end one of them first",
	[MK_REFUSED_NAME] = "give it another `name`, or end the other one first",
	[MK_REFUSED_CPUS] = "lower `threads`, or allow more CPUs with `cpus`",
	[MK_REFUSED_CORES] =
		"lower `threads`, or allow all CPUs of more cores with `cpus`: lscpu -e shows them",
	[MK_REFUSED_SHARE] = "lower execution times, allow other CPUs, or admit it with equal cuts",
	[MK_REFUSED_SLOT] = "choose periods that divide each other, lower execution times, or "
			    "admit it with equal cuts",
	[MK_REFUSED_SHORT] =
		"choose longer periods that divide each other, or end other gangs first",
};

const char *mk_refusal_what(u32 code)
{
	return code < MK_NR_REFUSALS ? what[code] : "unknown refusal";
}

const char *mk_refusal_remedy(u32 code)
{
	return code < MK_NR_REFUSALS ? remedy[code] : "";
}

static u64 divisor(u64 a, u64 b)
{
	while (b) {
		u64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

int mk_rows_fit(const struct mk_row *a, const struct mk_row *b)
{
	u64 g, ahead;

	if (!a->length || !b->length)
		return 1;
	g = divisor(a->period, b->period);
	ahead = (b->offset % g + g - a->offset % g) % g;
	return a->length <= ahead && b->length <= g - ahead;
}

u64 mk_next_slot(const struct mk_row *row, u64 at)
{
	u64 into = (at % row->period + row->period - row->offset) % row->period;

	return into ? at + row->period - into : at;
}

/* Share of a CPU, rounded up. */
static u32 share(const struct mk_row *row)
{
	return row->length ? (u32)((row->length * MK_WHOLE + row->period - 1) / row->period) : 0;
}

/* The most that the gang takes in any phase. */
static u32 most(const struct mk_gang *g)
{
	u32 top = 0;

	for (u32 p = 0; p < g->manifest.nr_phases; p++) {
		if (share(&g->row[p]) > top)
			top = share(&g->row[p]);
	}
	return top;
}

u32 mk_booked(const struct mk_controller *c, u32 cpu)
{
	u32 sum = 0;

	for (u32 g = 0; g < MK_MAX_GANGS; g++) {
		if (c->gang[g].used && mk_has(&c->gang[g].cpus, cpu))
			sum += most(&c->gang[g]);
	}
	return sum;
}

int mk_verify(const struct mk_controller *c)
{
	for (u32 cpu = 0; cpu < c->nr_cpus; cpu++) {
		if (mk_booked(c, cpu) > MK_WHOLE - c->floor)
			return 0;
	}
	for (u32 a = 0; a < MK_MAX_GANGS; a++) {
		for (u32 b = a + 1; b < MK_MAX_GANGS; b++) {
			const struct mk_gang *x = &c->gang[a], *y = &c->gang[b];

			if (!x->used || !y->used || !mk_meet(&x->cpus, &y->cpus))
				continue;
			for (u32 i = 0; i < x->manifest.nr_phases * y->manifest.nr_phases; i++) {
				if (!mk_rows_fit(&x->row[i % x->manifest.nr_phases],
						 &y->row[i / x->manifest.nr_phases]))
					return 0;
			}
		}
	}
	return 1;
}

int mk_controller_init(struct mk_controller *c, u32 nr_cpus)
{
	if (!nr_cpus || nr_cpus > MK_MAX_CPUS)
		return -WEIR_EINVAL;
	c->nr_cpus = nr_cpus;
	c->floor = MK_FLOOR;
	c->place = mk_place_least;
	c->version = 0;
	for (u32 cpu = 0; cpu < MK_MAX_CPUS; cpu++)
		c->cpu[cpu] = (struct mk_cpu_fact){ .online = cpu < nr_cpus, .core = cpu };
	for (u32 g = 0; g < MK_MAX_GANGS; g++)
		c->gang[g].used = 0;
	return 0;
}

int mk_set_cpu(struct mk_controller *c, u32 cpu, u32 online, u32 load)
{
	if (cpu >= c->nr_cpus || load > MK_WHOLE)
		return -WEIR_EINVAL;
	c->cpu[cpu].online = online != 0;
	c->cpu[cpu].load = load;
	return 0;
}

int mk_set_core(struct mk_controller *c, u32 cpu, u32 core)
{
	if (cpu >= c->nr_cpus || core >= MK_MAX_CPUS)
		return -WEIR_EINVAL;
	c->cpu[cpu].core = core;
	return 0;
}

u64 mk_controller_bytes(void)
{
	return sizeof(struct mk_controller);
}

const struct mk_gang *mk_gang_at(const struct mk_controller *c, u32 gang)
{
	return gang < MK_MAX_GANGS && c->gang[gang].used ? &c->gang[gang] : 0;
}

u32 mk_member_cpu(const struct mk_controller *c, u32 gang, u32 nr)
{
	if (gang >= MK_MAX_GANGS || !c->gang[gang].used || nr >= c->gang[gang].threads)
		return ~0u;
	for (u32 cpu = 0; cpu < c->nr_cpus; cpu++) {
		if (mk_has(&c->gang[gang].members, cpu) && !nr--)
			return cpu;
	}
	return ~0u;
}

int mk_place_least(const struct mk_controller *c, const struct mk_cpus *from, u32 nr,
		   struct mk_cpus *out)
{
	struct mk_cpus left = *from;
	u32 booked[MK_MAX_CPUS];

	*out = (struct mk_cpus){ 0 };
	for (u32 cpu = 0; cpu < c->nr_cpus; cpu++)
		booked[cpu] = mk_has(from, cpu) ? mk_booked(c, cpu) + c->cpu[cpu].load : 0;
	for (; nr; nr--) {
		u32 best = ~0u;

		for (u32 cpu = 0; cpu < c->nr_cpus; cpu++) {
			if (mk_has(&left, cpu) && (best == ~0u || booked[cpu] < booked[best]))
				best = cpu;
		}
		if (best == ~0u)
			return 0;
		mk_add(out, best);
		mk_take(&left, best);
	}
	return 1;
}

/* --- whole cores --------------------------------------------------------------------------------------------------------- */

/*
 * One CPU for each core whose online CPUs are all in @from: the one with most booked and other load, so that a policy sees that
 * of the core. Returns the number of CPUs of the largest of these cores.
 */
static u32 whole_cores(const struct mk_controller *c, const struct mk_cpus *from,
		       struct mk_cpus *out)
{
	u32 most_load[MK_MAX_CPUS], widest = 0;
	u16 nr[MK_MAX_CPUS] = { 0 }, fullest[MK_MAX_CPUS];

	*out = (struct mk_cpus){ 0 };
	for (u32 cpu = 0; cpu < c->nr_cpus; cpu++) {
		u32 core = c->cpu[cpu].core, load = mk_booked(c, cpu) + c->cpu[cpu].load;

		if (!c->cpu[cpu].online)
			continue;
		if (!nr[core]++ || load > most_load[core]) {
			most_load[core] = load;
			fullest[core] = (u16)cpu;
		}
	}
	for (u32 cpu = 0; cpu < c->nr_cpus; cpu++) {
		if (c->cpu[cpu].online && !mk_has(from, cpu))
			nr[c->cpu[cpu].core] = 0;
	}
	for (u32 core = 0; core < MK_MAX_CPUS; core++) {
		if (nr[core])
			mk_add(out, fullest[core]);
		if (nr[core] > widest)
			widest = nr[core];
	}
	return widest;
}

/* All online CPUs of the cores of @some. */
static struct mk_cpus completed(const struct mk_controller *c, const struct mk_cpus *some)
{
	struct mk_cpus all = { 0 }, cores = { 0 };

	for (u32 cpu = 0; cpu < c->nr_cpus; cpu++) {
		if (mk_has(some, cpu))
			mk_add(&cores, c->cpu[cpu].core);
	}
	for (u32 cpu = 0; cpu < c->nr_cpus; cpu++) {
		if (c->cpu[cpu].online && mk_has(&cores, c->cpu[cpu].core))
			mk_add(&all, cpu);
	}
	return all;
}

/* Choose the gang's CPUs from @from. 0: there are too few. */
static int place(const struct mk_controller *c, struct mk_gang *g, const struct mk_cpus *from)
{
	struct mk_cpus cores, chosen;
	u32 widest, nr;

	if (!g->alone) {
		if (!c->place(c, from, g->threads, &g->cpus))
			return 0;
		g->members = g->cpus;
		return 1;
	}
	widest = whole_cores(c, from, &cores);
	if (!widest)
		return 0;
	nr = g->manifest.cores == MK_CORES_ONE ? g->threads : (g->threads + widest - 1) / widest;
	for (;; nr++) {
		if (!c->place(c, &cores, nr, &chosen))
			return 0;
		g->cpus = completed(c, &chosen);
		g->members = g->manifest.cores == MK_CORES_ONE ? chosen : g->cpus;
		/* Cores may differ in their number of CPUs. */
		if (mk_count(&g->members) >= g->threads)
			return 1;
	}
}

/* --- one more gang, beside unchanged ones ----------------------------------------------------------------------------- */

/* A gang whose slots on @cpu meet @row, or on any of @cpus where @cpu is ~0; ~0: none. */
static u32 in_the_way(const struct mk_controller *c, u32 self, const struct mk_row *row,
		      const struct mk_cpus *cpus, u32 cpu)
{
	for (u32 g = 0; g < MK_MAX_GANGS; g++) {
		const struct mk_gang *other = &c->gang[g];

		if (!other->used || g == self ||
		    (cpu == ~0u ? !mk_meet(&other->cpus, cpus) : !mk_has(&other->cpus, cpu)))
			continue;
		for (u32 p = 0; p < other->manifest.nr_phases; p++) {
			if (!mk_rows_fit(&other->row[p], row))
				return g;
		}
	}
	return ~0u;
}

/*
 * Places to try for a slot: the wanted one, then behind each existing slot, in each of its periods. If any place is free, one of these
 * is, because a slot can be moved back until it touches another one.
 */
struct places {
	const struct mk_controller *c;
	u32 self;
	u32 g, p, k;
	u64 wanted;
	u32 begun;
};

static int next_place(struct places *at, struct mk_row *row)
{
	if (!at->begun) {
		at->begun = 1;
		row->offset = at->wanted;
		return 1;
	}
	for (; at->g < MK_MAX_GANGS; at->g++, at->p = 0) {
		const struct mk_gang *other = &at->c->gang[at->g];

		if (!other->used || at->g == at->self)
			continue;
		for (; at->p < other->manifest.nr_phases; at->p++, at->k = 0) {
			const struct mk_row *there = &other->row[at->p];
			u64 g = there->length ? divisor(there->period, row->period) : 0;

			if (!g || there->length + row->length > g || at->k == MK_MAX_TRIES ||
			    at->k * g >= row->period)
				continue;
			row->offset =
				((there->offset + there->length) % g + at->k++ * g) % row->period;
			return 1;
		}
	}
	return 0;
}

static struct mk_row wanted_row(const struct mk_phase *phase, u32 scale, u64 at)
{
	struct mk_row row = { 0 };

	if (phase->kind != MK_HARD)
		return row;
	row.period = phase->period;
	row.length = phase->wcet * scale / 1000;
	row.offset = (at + phase->release) % phase->period;
	return row;
}

/* Find a place for phase @p of gang @self, whose CPUs are known. */
static int fit_phase(struct mk_controller *c, u32 self, u32 p, u64 at, struct mk_refusal *why)
{
	struct mk_gang *g = &c->gang[self];
	struct mk_row row = wanted_row(&g->manifest.phase[p], g->scale, at);
	struct places places = { .c = c, .self = self, .wanted = row.offset };

	if (!row.length) {
		g->row[p] = row;
		return 1;
	}
	while (next_place(&places, &row)) {
		u32 other = in_the_way(c, self, &row, &g->cpus, ~0u);

		if (other == ~0u) {
			g->row[p] = row;
			return 1;
		}
		*why = (struct mk_refusal){ MK_REFUSED_SLOT, p, ~0u, other, row.length, 0 };
	}
	return 0;
}

/* Whether every CPU of the gang keeps the floor free. The gang itself counts, whether already admitted or not. */
static int fits_floor(struct mk_controller *c, u32 self, struct mk_refusal *why)
{
	u32 own = most(&c->gang[self]), limit = MK_WHOLE - c->floor;

	for (u32 cpu = 0; cpu < c->nr_cpus; cpu++) {
		u32 others;

		if (!mk_has(&c->gang[self].cpus, cpu))
			continue;
		others = mk_booked(c, cpu) - (c->gang[self].used ? own : 0);
		if (others + own > limit) {
			*why = (struct mk_refusal){ MK_REFUSED_SHARE,
						    ~0u,
						    cpu,
						    ~0u,
						    own,
						    limit > others ? limit - others : 0 };
			return 0;
		}
	}
	return 1;
}

/* The phase with the largest share; ~0: all are best effort. */
static u32 leading_phase(const struct mk_manifest *m)
{
	u64 top = 0;
	u32 best = ~0u;

	for (u32 p = 0; p < m->nr_phases; p++) {
		u64 part = m->phase[p].kind == MK_HARD
				   ? m->phase[p].wcet * MK_WHOLE / m->phase[p].period + 1
				   : 0;

		if (part > top) {
			top = part;
			best = p;
		}
	}
	return best;
}

/* CPUs of @from on which @row meets no slot. */
static void free_for(const struct mk_controller *c, u32 self, const struct mk_row *row,
		     const struct mk_cpus *from, struct mk_cpus *out)
{
	*out = (struct mk_cpus){ 0 };
	for (u32 cpu = 0; cpu < c->nr_cpus; cpu++) {
		if (mk_has(from, cpu) && in_the_way(c, self, row, from, cpu) == ~0u)
			mk_add(out, cpu);
	}
}

/* Place all phases except @lead on the gang's CPUs, and check the floor. */
static int fit_others(struct mk_controller *c, u32 self, u32 lead, u64 at, struct mk_refusal *why)
{
	for (u32 p = 0; p < c->gang[self].manifest.nr_phases; p++) {
		if (p != lead && !fit_phase(c, self, p, at, why))
			return 0;
	}
	return fits_floor(c, self, why);
}

/* Find CPUs with one free place for the leading phase and some place for every other. Admitted gangs stay unchanged. */
static int fit_beside(struct mk_controller *c, u32 self, const struct mk_cpus *from, u64 at,
		      struct mk_refusal *why)
{
	struct mk_gang *g = &c->gang[self];
	u32 lead = leading_phase(&g->manifest);
	struct mk_row row = lead == ~0u ? (struct mk_row){ 0 }
					: wanted_row(&g->manifest.phase[lead], g->scale, at);
	struct places places = { .c = c, .self = self, .wanted = row.offset };
	struct mk_cpus free;

	*why = (struct mk_refusal){ MK_REFUSED_SLOT, lead, ~0u, ~0u, row.length, 0 };
	if (lead == ~0u)
		return place(c, g, from) && fit_others(c, self, lead, at, why);
	while (next_place(&places, &row)) {
		free_for(c, self, &row, from, &free);
		if (!place(c, g, &free)) {
			why->other = in_the_way(c, self, &row, from, ~0u);
			continue;
		}
		g->row[lead] = row;
		if (fit_others(c, self, lead, at, why))
			return 1;
	}
	return 0;
}

/* --- equal cuts ------------------------------------------------------------------------------------------------------------ */

/* Gangs that share CPUs with @self, directly or through others, a bit each. */
static u64 neighbours(const struct mk_controller *c, u32 self)
{
	u64 found = 1ull << self;

	for (u64 before = 0; before != found;) {
		before = found;
		for (u32 a = 0; a < MK_MAX_GANGS; a++) {
			for (u32 b = 0; (found >> a & 1) && b < MK_MAX_GANGS; b++) {
				if (c->gang[b].used && mk_meet(&c->gang[a].cpus, &c->gang[b].cpus))
					found |= 1ull << b;
			}
		}
	}
	return found;
}

static const struct mk_phase *ordered_phase(const struct mk_controller *c, u32 n)
{
	return &c->gang[c->order[n] / MK_MAX_PHASES].manifest.phase[c->order[n] % MK_MAX_PHASES];
}

/* Write the phases of @gangs with slots into `order`: short periods first, long slots first among equals. Returns their number. */
static u32 in_order(struct mk_controller *c, u64 gangs)
{
	u32 nr = 0;

	for (u32 n = 0; n < MK_MAX_GANGS * MK_MAX_PHASES; n++) {
		const struct mk_gang *g = &c->gang[n / MK_MAX_PHASES];
		const struct mk_phase *phase = &g->manifest.phase[n % MK_MAX_PHASES];
		u32 at = nr;

		if (!(gangs >> n / MK_MAX_PHASES & 1) ||
		    n % MK_MAX_PHASES >= g->manifest.nr_phases || phase->kind != MK_HARD)
			continue;
		for (; at; at--) {
			const struct mk_phase *before = ordered_phase(c, at - 1);

			if (before->period < phase->period ||
			    (before->period == phase->period && before->wcet >= phase->wcet))
				break;
			c->order[at] = c->order[at - 1];
		}
		c->order[at] = n;
		nr++;
	}
	return nr;
}

/* Place all slots of @gangs again, @nr in `order`, with execution times cut to @scale of 1000. */
static int pack(struct mk_controller *c, u64 gangs, u32 nr, u32 scale, struct mk_refusal *why)
{
	for (u32 g = 0; g < MK_MAX_GANGS; g++) {
		if (!(gangs >> g & 1))
			continue;
		c->gang[g].scale = scale;
		for (u32 p = 0; p < MK_MAX_PHASES; p++)
			c->gang[g].row[p] = (struct mk_row){ 0 };
	}
	for (u32 n = 0; n < nr; n++) {
		u32 g = c->order[n] / MK_MAX_PHASES, p = c->order[n] % MK_MAX_PHASES;

		/* From the start of the period on, so that slots lie side by side. */
		if (!fit_phase(c, g, p,
			       c->gang[g].manifest.phase[p].period -
				       c->gang[g].manifest.phase[p].release %
					       c->gang[g].manifest.phase[p].period,
			       why))
			return 0;
	}
	for (u32 g = 0; g < MK_MAX_GANGS; g++) {
		if ((gangs >> g & 1) && !fits_floor(c, g, why))
			return 0;
	}
	return 1;
}

/* The smallest scale at which the slots in `order` are long enough. */
static u32 least_scale(const struct mk_controller *c, u32 nr)
{
	u64 least = 1;

	for (u32 n = 0; n < nr; n++) {
		u64 wcet = ordered_phase(c, n)->wcet,
		    need = (MK_SHORTEST * 1000ull + wcet - 1) / wcet;

		if (need > least)
			least = need;
	}
	return (u32)least;
}

/* The largest scale at which @gangs fit together, in 1000ths. The search assumes that smaller scales fit, too; correctness does not need it. */
static int cut(struct mk_controller *c, u64 gangs, struct mk_refusal *why)
{
	u32 nr = in_order(c, gangs), low = least_scale(c, nr), high = 1000;
	struct mk_refusal last;

	if (pack(c, gangs, nr, 1000, &last))
		return 1;
	if (low >= 1000 || !pack(c, gangs, nr, low, &last)) {
		*why = (struct mk_refusal){ MK_REFUSED_SHORT, last.phase,  last.cpu,
					    last.other,	      MK_SHORTEST, 0 };
		return 0;
	}
	while (high - low > 1) {
		u32 middle = (low + high) / 2;

		if (pack(c, gangs, nr, middle, &last))
			low = middle;
		else
			high = middle;
	}
	return pack(c, gangs, nr, low, &last);
}

/* --- calls ------------------------------------------------------------------------------------------------------------------ */

static void save(struct mk_controller *c)
{
	for (u32 g = 0; g < MK_MAX_GANGS; g++) {
		c->scale_before[g] = c->gang[g].scale;
		for (u32 p = 0; p < MK_MAX_PHASES; p++)
			c->before[g][p] = c->gang[g].row[p];
	}
}

static void restore(struct mk_controller *c)
{
	for (u32 g = 0; g < MK_MAX_GANGS; g++) {
		c->gang[g].scale = c->scale_before[g];
		for (u32 p = 0; p < MK_MAX_PHASES; p++)
			c->gang[g].row[p] = c->before[g][p];
	}
}

/* Gangs whose rows have changed get the version of this call. */
static void publish(struct mk_controller *c)
{
	c->version++;
	for (u32 g = 0; g < MK_MAX_GANGS; g++) {
		int other = c->gang[g].scale != c->scale_before[g];

		for (u32 p = 0; p < MK_MAX_PHASES; p++) {
			const struct mk_row *a = &c->before[g][p], *b = &c->gang[g].row[p];

			other |= a->offset != b->offset || a->length != b->length ||
				 a->period != b->period;
		}
		if (c->gang[g].used && other)
			c->gang[g].version = c->version;
	}
}

static int same_name(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Find the online CPUs that the manifest allows; returns their number. */
static u32 allowed(const struct mk_controller *c, const struct mk_manifest *m, struct mk_cpus *out)
{
	u32 nr = 0;

	*out = (struct mk_cpus){ 0 };
	for (u32 cpu = 0; cpu < c->nr_cpus; cpu++) {
		if (c->cpu[cpu].online && (m->any_cpu || mk_has(&m->cpus, cpu))) {
			mk_add(out, cpu);
			nr++;
		}
	}
	return nr;
}

static int refuse(struct mk_refusal *why, u32 code, u32 other, u64 needed, u64 available)
{
	*why = (struct mk_refusal){ code, ~0u, ~0u, other, needed, available };
	return -WEIR_EINVAL;
}

/* A number for the new gang; ~0: its name is taken, or there are too many. */
static u32 number_for(const struct mk_controller *c, const struct mk_manifest *m,
		      struct mk_refusal *why)
{
	u32 self = ~0u;

	for (u32 g = MK_MAX_GANGS; g--;) {
		if (!c->gang[g].used) {
			self = g;
		} else if (m->name[0] && same_name(c->gang[g].manifest.name, m->name)) {
			refuse(why, MK_REFUSED_NAME, g, 0, 0);
			return ~0u;
		}
	}
	if (self == ~0u)
		refuse(why, MK_REFUSED_GANGS, ~0u, MK_MAX_GANGS + 1, MK_MAX_GANGS);
	return self;
}

int mk_admit(struct mk_controller *c, const struct mk_manifest *m, u64 at, int may_cut, u32 *gang,
	     struct mk_refusal *why)
{
	struct mk_cpus from, cores;
	u32 nr = allowed(c, m, &from), self = number_for(c, m, why);
	struct mk_gang *g = &c->gang[self == ~0u ? 0 : self];
	int fits;

	if (self == ~0u)
		return -WEIR_EINVAL;
	if (!nr || m->threads > nr)
		return refuse(why, MK_REFUSED_CPUS, ~0u, m->threads ? m->threads : 1, nr);
	if (m->cores != MK_CORES_SHARED) {
		whole_cores(c, &from, &cores);
		if (m->cores == MK_CORES_WHOLE)
			cores = completed(c, &cores);
		nr = mk_count(&cores);
		if (!nr || m->threads > nr)
			return refuse(why, MK_REFUSED_CORES, ~0u, m->threads ? m->threads : 1, nr);
	}
	*g = (struct mk_gang){ .manifest = *m,
			       .threads = m->threads ? m->threads : nr,
			       .alone = m->cores != MK_CORES_SHARED,
			       .scale = 1000 };
	save(c);
	fits = fit_beside(c, self, &from, at, why);
	g->used = 1;
	if (!fits && may_cut) {
		/* Choose CPUs by load alone; slots are moved to make room. */
		g->used = 0;
		place(c, g, &from);
		g->used = 1;
		fits = cut(c, neighbours(c, self), why);
	}
	if (!fits) {
		restore(c);
		g->used = 0;
		return -WEIR_EINVAL;
	}
	publish(c);
	g->version = c->version;
	*gang = self;
	return 0;
}

int mk_leave(struct mk_controller *c, u32 gang)
{
	struct mk_refusal why;

	if (gang >= MK_MAX_GANGS || !c->gang[gang].used)
		return -WEIR_ENOENT;
	c->gang[gang].used = 0;
	save(c);
	for (u32 g = 0; g < MK_MAX_GANGS; g++) {
		if (!c->gang[g].used || c->gang[g].scale == 1000 ||
		    !mk_meet(&c->gang[g].cpus, &c->gang[gang].cpus))
			continue;
		/* They already fit at the present scale, so a smaller result is discarded. */
		if (!cut(c, neighbours(c, g), &why) || c->gang[g].scale < c->scale_before[g])
			restore(c);
	}
	publish(c);
	return 0;
}
