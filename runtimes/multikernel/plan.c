/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "plan.h"

extern const struct weir_descriptor *const weir_descriptors[];
extern const struct weir_entries weir_entries[];
extern const u32 weir_nr_descriptors;

_Static_assert(sizeof(struct weir_plan_header) == 88, "the file's layout");
_Static_assert(sizeof(struct weir_plan_class) == 16, "the file's layout");
_Static_assert(sizeof(struct weir_plan_pipe) == 40, "the file's layout");
_Static_assert(sizeof(struct weir_plan_instance) == 32, "the file's layout");
_Static_assert(sizeof(struct weir_plan_cpu) == 48, "the file's layout");

/* The parts of the file behind its header, each at a multiple of 8. */
struct parts {
	const struct weir_plan_header *head;
	const struct weir_plan_class *classes;
	const struct weir_plan_pipe *pipes;
	const struct weir_plan_instance *instances;
	const u32 *names; /* of the instances, into the text */
	const struct weir_plan_cpu *cpus;
	const u32 *links;
	const u32 *lists;
	const u64 *params;
	const u64 *masks;
	const char *text;
};

const char *weir_plan_why(int fault)
{
	switch (fault) {
	case WEIR_PLAN_SHORT:
		return "the plan is cut off: compile it again";
	case WEIR_PLAN_FOREIGN:
		return "this is not a plan: make one with `runweir compile T -m M -o T.plan`";
	case WEIR_PLAN_NEWER:
		return "the plan has another version of the format: compile it with the runweir "
		       "that this library comes from";
	case WEIR_PLAN_CHECKSUM:
		return "the plan is damaged, its checksum differs: compile it again";
	case WEIR_PLAN_SIZES:
		return "the plan's sizes contradict each other: compile it again";
	case WEIR_PLAN_TEXT:
		return "a name in the plan is not ended: compile it again";
	case WEIR_PLAN_COMPONENT:
		return "the plan uses a component that this library was built without (or that "
		       "exists in Rust only): "
		       "build the library from the same components/ folder";
	case WEIR_PLAN_CHANGED:
		return "a component has other parameters than when the plan was compiled: compile "
		       "it again";
	case WEIR_PLAN_PARAMETER:
		return "a parameter is outside of its range: compile the plan again";
	case WEIR_PLAN_WIRING:
		return "pipes and instances of the plan do not fit together: compile it again";
	case WEIR_PLAN_CPUS:
		return "a CPU of the plan has no proper entry or exit: compile it again";
	case WEIR_PLAN_LISTS:
		return "a list of postponed pipes or pulling instances is wrong: compile the plan "
		       "again";
	case WEIR_PLAN_ROOM:
		return "too little memory for the plan's tables";
	case WEIR_PLAN_DOMAINS:
		return "the plan is for a machine without common memory, which this runtime does "
		       "not serve: compile it "
		       "for another machine";
	}
	return "unknown fault";
}

static u64 fnv(u64 hash, const void *data, u64 bytes)
{
	const u8 *p = data;

	for (u64 i = 0; i < bytes; i++)
		hash = (hash ^ p[i]) * 0x100000001b3ull;
	return hash;
}

#define FNV_BASIS 0xcbf29ce484222325ull

static u64 length(const char *text)
{
	u64 n = 0;

	while (text[n])
		n++;
	return n;
}

static int same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

u64 weir_plan_signature(const struct weir_descriptor *d)
{
	u64 hash = FNV_BASIS;

	for (u32 i = 0; i < d->nr_params; i++) {
		u8 unit = (u8)d->params[i].unit;

		hash = fnv(hash, d->params[i].name, length(d->params[i].name) + 1);
		hash = fnv(hash, &unit, 1);
	}
	return fnv(hash, d->keyed_out ? "k" : "l", 1);
}

static u64 padded(u64 bytes)
{
	return (bytes + 7) & ~7ull;
}

/* Check that no sum of sizes from the header's numbers overflows. */
static int sane(const struct weir_plan_header *h)
{
	const u32 max = WEIR_PLAN_MAX_PIPES;

	return h->nr_pipes && h->nr_pipes <= max && h->nr_instances && h->nr_instances <= max &&
	       h->nr_cpus && h->nr_cpus <= WEIR_MAX_CPUS && h->nr_slots &&
	       h->nr_slots <= WEIR_MAX_DEPTH && h->nr_masks && h->nr_masks <= h->nr_pipes &&
	       h->nr_domains && h->nr_domains <= h->nr_cpus && h->nr_links <= 2 * h->nr_pipes &&
	       h->nr_lists <= (1u << 26) && h->nr_params <= WEIR_MAX_PARAMS * h->nr_instances &&
	       h->nr_classes && h->nr_classes <= h->nr_instances &&
	       h->mask_words == (h->nr_cpus + 63) / 64 && h->text_bytes &&
	       h->text_bytes <= (1u << 28);
}

/* Find the parts; 0, or the negated fault. */
static int open_plan(const void *blob, u64 bytes, struct parts *p)
{
	const struct weir_plan_header *h = blob;
	const char *at = (const char *)blob + sizeof(*h);
	u64 all = sizeof(*h);

	if (!blob || bytes < 16 || (u64)blob % 8)
		return -WEIR_PLAN_SHORT;
	if (h->magic != WEIR_PLAN_MAGIC)
		return -WEIR_PLAN_FOREIGN;
	if (h->version != WEIR_PLAN_VERSION)
		return -WEIR_PLAN_NEWER;
	if (bytes < sizeof(*h) || h->bytes > bytes || h->bytes > WEIR_PLAN_MAX_BYTES)
		return -WEIR_PLAN_SHORT;
	if (h->header_bytes != sizeof(*h) || h->bytes < sizeof(*h) || !sane(h))
		return -WEIR_PLAN_SIZES;
	p->head = h;
#define PART(field, count, size)                                  \
	do {                                                      \
		p->field = (const void *)(at + all - sizeof(*h)); \
		all += padded((u64)(count) * (size));             \
	} while (0)
	PART(classes, h->nr_classes, sizeof(*p->classes));
	PART(pipes, h->nr_pipes, sizeof(*p->pipes));
	PART(instances, h->nr_instances, sizeof(*p->instances));
	PART(names, h->nr_instances, sizeof(u32));
	PART(cpus, h->nr_cpus, sizeof(*p->cpus));
	PART(links, h->nr_links, sizeof(u32));
	PART(lists, h->nr_lists, sizeof(u32));
	PART(params, h->nr_params, sizeof(u64));
	PART(masks, (u64)h->nr_masks * h->mask_words, sizeof(u64));
	PART(text, h->text_bytes, 1);
#undef PART
	return all == h->bytes ? 0 : -WEIR_PLAN_SIZES;
}

static int check_text(const struct parts *p)
{
	const struct weir_plan_header *h = p->head;

	if (p->text[h->text_bytes - 1] || h->name >= h->text_bytes || h->ignores >= h->text_bytes)
		return -WEIR_PLAN_TEXT;
	for (u32 i = 0; i < h->nr_classes; i++)
		if (p->classes[i].name >= h->text_bytes)
			return -WEIR_PLAN_TEXT;
	for (u32 i = 0; i < h->nr_instances; i++)
		if (p->names[i] >= h->text_bytes)
			return -WEIR_PLAN_TEXT;
	return 0;
}

/* Class number in this program, or the negated fault. */
static int find_class(const struct parts *p, u32 n)
{
	const struct weir_plan_class *c = &p->classes[n];

	for (u32 i = 0; i < weir_nr_descriptors; i++) {
		const struct weir_descriptor *d = weir_descriptors[i];

		if (!d || !same(d->name, p->text + c->name))
			continue;
		if (d->nr_params != c->nr_params || weir_plan_signature(d) != c->signature)
			return -WEIR_PLAN_CHANGED;
		return (int)i;
	}
	return -WEIR_PLAN_COMPONENT;
}

static int check_params(const struct parts *p, const struct weir_plan_instance *pi,
			const struct weir_descriptor *d)
{
	if (pi->first_param > p->head->nr_params ||
	    d->nr_params > p->head->nr_params - pi->first_param)
		return -WEIR_PLAN_SIZES;
	for (u32 i = 0; i < d->nr_params; i++) {
		u64 value = p->params[pi->first_param + i];

		if (value < d->params[i].min || value > d->params[i].max)
			return -WEIR_PLAN_PARAMETER;
	}
	return 0;
}

static const u64 *mask_of(const struct parts *p, u32 pipe)
{
	return p->masks + (u64)p->pipes[pipe].mask * p->head->mask_words;
}

/* The CPUs behind an in-pipe are those behind all out-pipes, or, of a pair (WEIR_BY_IN), behind the one of the same number. */
static int check_mask(const struct parts *p, const struct weir_plan_instance *pi,
		      const struct weir_descriptor *d)
{
	int pairs = d->out_label == WEIR_BY_IN && pi->nr_in == pi->nr_out;

	for (u32 w = 0; pi->nr_in && pi->nr_out && w < p->head->mask_words; w++) {
		u64 behind = 0;

		for (u32 i = 0; i < pi->nr_out; i++)
			behind |= mask_of(p, p->links[pi->first_out + i])[w];
		for (u32 i = 0; i < pi->nr_in; i++) {
			if (pairs)
				behind = mask_of(p, p->links[pi->first_out + i])[w];
			if (mask_of(p, p->links[pi->first_in + i])[w] != behind)
				return -WEIR_PLAN_WIRING;
		}
	}
	return 0;
}

/*
 * Check the ports of instance @n: its pipes name it and these port numbers, and each out-pipe is deeper than all in-pipes. @seen is the
 * caller's copy of the pipes, in which pipes at an out-port are marked: their homes are not known yet.
 */
static int check_ports(const struct parts *p, u32 n, const struct weir_descriptor *d,
		       struct weir_plan_pipe *seen)
{
	const struct weir_plan_instance *pi = &p->instances[n];
	const struct weir_plan_header *h = p->head;
	u32 deepest = 0;

	if (pi->first_in > h->nr_links || pi->nr_in > h->nr_links - pi->first_in ||
	    pi->first_out > h->nr_links || pi->nr_out > h->nr_links - pi->first_out ||
	    pi->domain >= h->nr_domains)
		return -WEIR_PLAN_SIZES;
	if (pi->nr_in < d->in_min || pi->nr_in > d->in_max || pi->nr_out < d->out_min ||
	    pi->nr_out > d->out_max)
		return -WEIR_PLAN_WIRING;
	for (u32 i = 0; i < pi->nr_in; i++) {
		u32 k = p->links[pi->first_in + i];

		if (k >= h->nr_pipes || p->pipes[k].to != n || p->pipes[k].to_port != i)
			return -WEIR_PLAN_WIRING;
		if (p->pipes[k].slot > deepest)
			deepest = p->pipes[k].slot;
	}
	for (u32 i = 0; i < pi->nr_out; i++) {
		u32 k = p->links[pi->first_out + i];

		if (k >= h->nr_pipes || p->pipes[k].from != n || p->pipes[k].slot <= deepest ||
		    p->pipes[k].slot != p->pipes[p->links[pi->first_out]].slot || seen[k].home)
			return -WEIR_PLAN_WIRING;
		seen[k].home = 1;
	}
	return check_mask(p, pi, d);
}

static int check_pipes(const struct parts *p)
{
	const struct weir_plan_header *h = p->head;
	u64 ins = 0, outs = 0, written = 0;

	for (u32 i = 0; i < h->nr_pipes; i++) {
		const struct weir_plan_pipe *pipe = &p->pipes[i];

		if (pipe->slot >= h->nr_slots || pipe->mask >= h->nr_masks ||
		    pipe->to >= h->nr_instances || pipe->keyed > 1 || pipe->postponed > 1)
			return -WEIR_PLAN_WIRING;
		/* An entry is a list: no component sets keys there. */
		if (pipe->from == WEIR_NONE && pipe->keyed)
			return -WEIR_PLAN_WIRING;
		/* Each instance comes after its feeding instances, so there is no cycle. */
		if (pipe->from != WEIR_NONE && pipe->from >= pipe->to)
			return -WEIR_PLAN_WIRING;
		written += pipe->from != WEIR_NONE;
	}
	for (u32 i = 0; i < h->nr_instances; i++) {
		ins += p->instances[i].nr_in;
		outs += p->instances[i].nr_out;
	}
	/* Each pipe is at one in-port, by its number, so these sums count every pipe. */
	return ins == h->nr_pipes && outs == written && ins + outs == h->nr_links
		       ? 0
		       : -WEIR_PLAN_WIRING;
}

/* The mask of an exit pipe holds exactly the CPUs that take tasks there. */
static int check_cpus(const struct parts *p)
{
	const struct weir_plan_header *h = p->head;
	u64 exits = 0, behind = 0;

	for (u32 c = 0; c < h->nr_cpus; c++) {
		const struct weir_plan_cpu *cpu = &p->cpus[c];

		if (cpu->entry >= h->nr_pipes || p->pipes[cpu->entry].from != WEIR_NONE ||
		    cpu->domain >= h->nr_domains)
			return -WEIR_PLAN_CPUS;
		if (cpu->first_postponed > h->nr_lists ||
		    cpu->nr_postponed > h->nr_lists - cpu->first_postponed ||
		    cpu->first_puller > h->nr_lists ||
		    cpu->nr_puller > h->nr_lists - cpu->first_puller)
			return -WEIR_PLAN_SIZES;
		for (u32 i = 0; i < cpu->nr_postponed; i++) {
			u32 k = p->lists[cpu->first_postponed + i];

			if (k >= h->nr_pipes || !p->pipes[k].postponed)
				return -WEIR_PLAN_LISTS;
		}
		for (u32 i = 0; i < cpu->nr_puller; i++)
			if (p->lists[cpu->first_puller + i] >= h->nr_instances)
				return -WEIR_PLAN_LISTS;
		if (cpu->exit == WEIR_NONE)
			continue;
		exits++;
		if (cpu->exit >= h->nr_pipes || p->instances[p->pipes[cpu->exit].to].nr_out ||
		    !(mask_of(p, cpu->exit)[c / 64] >> (c % 64) & 1))
			return -WEIR_PLAN_CPUS;
	}
	for (u32 i = 0; i < h->nr_instances; i++) {
		const struct weir_plan_instance *pi = &p->instances[i];

		if (pi->nr_out || !pi->nr_in)
			continue;
		for (u32 w = 0; w < h->mask_words; w++) {
			behind += weir_count_bits(mask_of(p, p->links[pi->first_in])[w]);
			for (u32 k = 1; k < pi->nr_in; k++)
				if (mask_of(p, p->links[pi->first_in + k])[w] !=
				    mask_of(p, p->links[pi->first_in])[w])
					return -WEIR_PLAN_WIRING;
		}
	}
	return exits && exits == behind ? 0 : -WEIR_PLAN_CPUS;
}

/*
 * The home of each pipe: the exit to which all its ways lead. What the file says does not count, because locks depend on it. Each instance comes
 * after those that feed it, so from the last one on what lies behind is known. As weir-core's Plan::homes(), for one coherence domain.
 */
static void find_homes(struct weir_plan *plan)
{
	for (u32 n = plan->nr_instances; n > 0; n--) {
		const struct weir_plan_instance *pi = &plan->instances[n - 1];
		u32 home = pi->nr_out ? plan->pipes[plan->links[pi->first_out]].home : WEIR_NONE;

		for (u32 i = 1; i < pi->nr_out; i++)
			if (plan->pipes[plan->links[pi->first_out + i]].home != home)
				home = WEIR_NONE;
		for (u32 i = 0; i < pi->nr_in; i++) {
			u32 k = plan->links[pi->first_in + i];

			if (!pi->nr_out)
				plan->pipes[k].home = k;
			else
				plan->pipes[k].home = plan->pipes[k].postponed ? WEIR_NONE : home;
		}
	}
}

u64 weir_plan_room(const void *blob, u64 bytes, u32 extra)
{
	const struct weir_plan_header *h;
	struct parts p;

	if (open_plan(blob, bytes, &p) || extra > WEIR_MAX_CPUS)
		return 0;
	h = p.head;
	return padded((u64)h->nr_pipes * sizeof(struct weir_plan_pipe)) +
	       padded((u64)h->nr_instances * sizeof(struct weir_plan_instance)) +
	       padded(((u64)h->nr_cpus + extra) * sizeof(struct weir_plan_cpu)) +
	       padded((u64)h->nr_links * 4) + padded((u64)h->nr_lists * 4) +
	       padded((u64)h->nr_params * 8) + (u64)h->nr_masks * sizeof(struct weir_cpumask);
}

static void *take(char **at, const void *from, u64 bytes, u64 room)
{
	char *to = *at;

	for (u64 i = 0; i < bytes; i++)
		to[i] = ((const char *)from)[i];
	*at += padded(room);
	return to;
}

int weir_plan_load(const void *blob, u64 bytes, u32 extra, void *memory, u64 room,
		   struct weir_plan *plan)
{
	const struct weir_plan_header *h;
	char *at = memory;
	struct parts p;
	int err = open_plan(blob, bytes, &p);

	if (err)
		return err;
	h = p.head;
	if (fnv(FNV_BASIS, (const char *)blob + 32, h->bytes - 32) != h->checksum)
		return -WEIR_PLAN_CHECKSUM;
	err = check_text(&p);
	if (!err)
		err = check_pipes(&p);
	if (err)
		return err;
	if (h->nr_domains > 1)
		return -WEIR_PLAN_DOMAINS;
	if (h->nr_cpus + (u64)extra > WEIR_MAX_CPUS)
		return -WEIR_PLAN_SIZES;
	if (!memory || (u64)memory % 8 || room < weir_plan_room(blob, bytes, extra))
		return -WEIR_PLAN_ROOM;
	plan->nr_pipes = h->nr_pipes;
	plan->nr_instances = h->nr_instances;
	plan->nr_cpus = h->nr_cpus + extra;
	plan->nr_slots = h->nr_slots;
	plan->nr_masks = h->nr_masks;
	plan->nr_domains = h->nr_domains;
	plan->pipes = take(&at, p.pipes, (u64)h->nr_pipes * sizeof(*p.pipes),
			   (u64)h->nr_pipes * sizeof(*p.pipes));
	for (u32 i = 0; i < h->nr_pipes; i++)
		plan->pipes[i].home = 0;
	plan->instances = take(&at, p.instances, (u64)h->nr_instances * sizeof(*p.instances),
			       (u64)h->nr_instances * sizeof(*p.instances));
	plan->cpus = take(&at, p.cpus, (u64)h->nr_cpus * sizeof(*p.cpus),
			  (u64)plan->nr_cpus * sizeof(*p.cpus));
	plan->links = take(&at, p.links, (u64)h->nr_links * 4, (u64)h->nr_links * 4);
	plan->lists = take(&at, p.lists, (u64)h->nr_lists * 4, (u64)h->nr_lists * 4);
	plan->params = take(&at, p.params, (u64)h->nr_params * 8, (u64)h->nr_params * 8);
	plan->masks = (struct weir_cpumask *)at;
	for (u32 i = 0; i < h->nr_masks; i++)
		for (u32 w = 0; w < WEIR_MASK_WORDS; w++)
			plan->masks[i].word[w] =
				w < h->mask_words ? p.masks[(u64)i * h->mask_words + w] : 0;
	for (u32 i = 0; i < h->nr_instances; i++) {
		struct weir_plan_instance *pi = &plan->instances[i];
		int class;

		if (pi->class >= h->nr_classes)
			return -WEIR_PLAN_SIZES;
		class = find_class(&p, pi->class);
		if (class < 0)
			return class;
		err = check_params(&p, pi, weir_descriptors[class]);
		if (!err)
			err = check_ports(&p, i, weir_descriptors[class], plan->pipes);
		if (err)
			return err;
		pi->class = (u32) class;
		pi->keep = WEIR_NONE;
		for (u32 k = 0; k < pi->nr_out; k++)
			if (!p.pipes[p.links[pi->first_out + k]].keyed !=
			    !weir_descriptors[class]->keyed_out)
				return -WEIR_PLAN_WIRING;
	}
	find_homes(plan);
	err = check_cpus(&p);
	if (err)
		return err;
	for (u32 c = 0; c < h->nr_cpus; c++)
		for (u32 i = 0; i < p.cpus[c].nr_puller; i++)
			if (!(weir_entries[plan->instances[p.lists[p.cpus[c].first_puller + i]]
						   .class]
				      .has &
			      WEIR_HAS_IDLE))
				return -WEIR_PLAN_LISTS;
	for (u32 c = h->nr_cpus; c < plan->nr_cpus; c++)
		plan->cpus[c] = (struct weir_plan_cpu){ .entry = plan->cpus[0].entry,
							.exit = WEIR_NONE,
							.core = c,
							.llc = plan->cpus[0].llc,
							.node = plan->cpus[0].node,
							.capacity = plan->cpus[0].capacity };
	return 0;
}

void weir_plan_continue(struct weir_plan *plan, const void *blob, const void *present)
{
	struct parts new, old;

	if (open_plan(blob, ((const struct weir_plan_header *)blob)->bytes, &new) ||
	    open_plan(present, ((const struct weir_plan_header *)present)->bytes, &old))
		return;
	for (u32 i = 0; i < plan->nr_instances; i++) {
		const char *name = new.text + new.names[i];
		const char *class = new.text + new.classes[new.instances[i].class].name;

		/* Most plans for one machine have the same order of instances: try the same position first. */
		for (u32 k = 0; k < old.head->nr_instances; k++) {
			u32 at = (i + k) % old.head->nr_instances;

			if (same(old.text + old.names[at], name) &&
			    same(old.text + old.classes[old.instances[at].class].name, class)) {
				plan->instances[i].keep = at;
				break;
			}
		}
	}
}

const char *weir_plan_name(const void *blob)
{
	struct parts p;

	return open_plan(blob, ((const struct weir_plan_header *)blob)->bytes, &p)
		       ? ""
		       : p.text + p.head->name;
}

const char *weir_plan_ignores(const void *blob)
{
	struct parts p;

	return open_plan(blob, ((const struct weir_plan_header *)blob)->bytes, &p)
		       ? ""
		       : p.text + p.head->ignores;
}

const char *weir_plan_instance(const void *blob, u32 instance)
{
	struct parts p;

	return open_plan(blob, ((const struct weir_plan_header *)blob)->bytes, &p) ||
			       instance >= p.head->nr_instances
		       ? ""
		       : p.text + p.names[instance];
}

u32 weir_plan_cpus(const void *blob)
{
	return ((const struct weir_plan_header *)blob)->nr_cpus;
}
