/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Flat plans: `runweir compile T -m M -o T.plan` writes them, and a runtime without the language loads them.
 *
 * The file is little-endian. It names components, and the loader finds them among its built-in ones, so a plan survives a
 * change of class numbers; a component whose parameters have changed is refused. The file is not trusted: the loader checks
 * everything that the core assumes about a plan. docs/plan-files.md has the format.
 */
#ifndef WEIR_PLAN_H
#define WEIR_PLAN_H

#include <weir/topology.h>

#define WEIR_PLAN_MAGIC	    0x4e414c5052494557ull /* "WEIRPLAN" */
#define WEIR_PLAN_VERSION   1u
#define WEIR_PLAN_MAX_PIPES (1u << 22)
#define WEIR_PLAN_MAX_BYTES (1ull << 30)

struct weir_plan_header {
	u64 magic;
	u32 version;
	u32 header_bytes;
	u64 bytes;    /* of the whole file */
	u64 checksum; /* FNV-1a, 64 bits, of all that follows this field */
	u32 nr_pipes;
	u32 nr_instances;
	u32 nr_cpus;
	u32 nr_slots;
	u32 nr_masks;
	u32 nr_domains;
	u32 nr_links;
	u32 nr_lists;
	u32 nr_params;
	u32 nr_classes;
	u32 mask_words;
	u32 text_bytes;
	u32 name;    /* of the topology, into the text */
	u32 ignores; /* likewise: weir_plan_ignores() */
};

/* A component that the plan needs. */
struct weir_plan_class {
	u32 name; /* into the text */
	u32 nr_params;
	u64 signature; /* weir_plan_signature() */
};

/* Why a plan is refused; weir_plan_load() returns the negative number. */
enum weir_plan_fault {
	WEIR_PLAN_SHORT = 1,
	WEIR_PLAN_FOREIGN,
	WEIR_PLAN_NEWER,
	WEIR_PLAN_CHECKSUM,
	WEIR_PLAN_SIZES,
	WEIR_PLAN_TEXT,
	WEIR_PLAN_COMPONENT,
	WEIR_PLAN_CHANGED,
	WEIR_PLAN_PARAMETER,
	WEIR_PLAN_WIRING,
	WEIR_PLAN_CPUS,
	WEIR_PLAN_LISTS,
	WEIR_PLAN_ROOM,
	WEIR_PLAN_DOMAINS,
};

/* What a fault number means and how to fix it. */
const char *weir_plan_why(int fault);
/* Bytes of memory that the tables take, with @extra CPUs; 0: no sound header. */
u64 weir_plan_room(const void *blob, u64 bytes, u32 extra);
/*
 * Fill @plan and put its tables into @memory (aligned to 8). Adds @extra CPUs that make calls and run nothing.
 * 0, or the negated fault; @plan is then unusable.
 */
int weir_plan_load(const void *blob, u64 bytes, u32 extra, void *memory, u64 room,
		   struct weir_plan *plan);
/* Instances of the loaded @blob inherit from those of @present, also loaded, with the same name and component. */
void weir_plan_continue(struct weir_plan *plan, const void *blob, const void *present);
/* Name of the topology of a loaded plan; never null. */
const char *weir_plan_name(const void *blob);
/*
 * What programs may ask of Linux's scheduler that the topology does not obey: a line each, KIND=SENTENCE, where KIND is nice, priority, weight,
 * group, fifo, rr, batch, idle, deadline or cpus. Never null.
 */
const char *weir_plan_ignores(const void *blob);
/* Name of an instance of a loaded plan; never null. */
const char *weir_plan_instance(const void *blob, u32 instance);
/* Number of CPUs for which a loaded plan was made. */
u32 weir_plan_cpus(const void *blob);
/* Identifies a component's parameters. */
u64 weir_plan_signature(const struct weir_descriptor *d);

#endif
