/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Flat plans: what `runweir compile T -m M -o T.plan` writes, and what a runtime without the language loads.
 *
 * The file is little-endian. Components are named, and the loader finds them among those that it was built with, so a plan
 * outlives a change of class numbers; a component whose parameters have changed is refused. Nothing in the file is believed:
 * whatever the core takes for granted of a plan is checked here. The format is docs/plan-files.md.
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
	u32 name; /* of the topology, into the text */
	u32 unused;
};

/* A component that the plan needs. */
struct weir_plan_class {
	u32 name; /* into the text */
	u32 nr_params;
	u64 signature; /* weir_plan_signature() */
};

/* Why a plan is not loaded; weir_plan_load() returns the negative number. */
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

/* What a fault number means and how to mend it. */
const char *weir_plan_why(int fault);
/* Bytes of memory that the tables take, with @extra CPUs; 0: no sound header. */
u64 weir_plan_room(const void *blob, u64 bytes, u32 extra);
/*
 * Fill @plan, whose tables are put into @memory (aligned to 8). @extra CPUs are added that make calls and run nothing.
 * 0, or the negated fault; then @plan is not to be used.
 */
int weir_plan_load(const void *blob, u64 bytes, u32 extra, void *memory, u64 room,
		   struct weir_plan *plan);
/* Instances of the loaded @blob go on as those of @present, also loaded, of the same name and component. */
void weir_plan_continue(struct weir_plan *plan, const void *blob, const void *present);
/* Name of the topology, of a plan that was loaded; never null. */
const char *weir_plan_name(const void *blob);
/* CPUs that the plan is made for, of a plan that was loaded. */
u32 weir_plan_cpus(const void *blob);
/* By which a component's parameters are known again. */
u64 weir_plan_signature(const struct weir_descriptor *d);

#endif
