/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A topology as tables, and the graph built from it. The tables come from the language compiler
 * (weir-lang, weir-core); they are the same for every runtime. Shared with Rust.
 */
/* (Its end needs what is here.) */
#include <weir/component.h>

#ifndef WEIR_TOPOLOGY_H
#define WEIR_TOPOLOGY_H

#define WEIR_NONE      (~0u)
#define WEIR_MAX_DEPTH 32u
#define WEIR_NAME_MAX  64

struct weir_plan_pipe {
	u32 slot;
	u32 keyed;
	u32 postponed; /* its changes wait until a CPU asks an exit behind it */
	u32 from;      /* instance, WEIR_NONE for an entry pipe */
	u32 to;
	u32 to_port;
	u32 mask; /* index of the set of CPUs reachable through it */
	u32 home; /* the exit of its home, WEIR_NONE: it leads to several */
	u64 label;
};

struct weir_plan_instance {
	u32 class;
	u32 nr_in;
	u32 nr_out;
	u32 first_in;  /* into links */
	u32 first_out; /* into links */
	u32 first_param;
	u32 keep; /* instance of the present graph whose state it inherits, WEIR_NONE: none */
	u32 domain;
};

struct weir_plan_cpu {
	u32 entry;	     /* pipe */
	u32 exit;	     /* pipe, WEIR_NONE: the topology leaves the CPU out */
	u32 first_postponed; /* into lists: postponed pipes before its exit, by depth */
	u32 nr_postponed;
	u32 first_puller; /* into lists: instances with on_idle before its exit, nearest first */
	u32 nr_puller;
	u32 core;
	u32 llc;
	u32 node;
	u32 isa;
	u32 capacity;
	u32 domain; /* CPUs of one share memory */
};

struct weir_plan {
	u32 nr_pipes;
	u32 nr_instances;
	u32 nr_cpus;
	u32 nr_slots;
	struct weir_plan_pipe weir_mem *pipes;
	struct weir_plan_instance weir_mem *instances;
	struct weir_plan_cpu weir_mem *cpus;
	u32 weir_mem *links;
	u32 weir_mem *lists;
	u64 weir_mem *params;
	struct weir_cpumask weir_mem *masks;
	u32 nr_masks;
	u32 nr_domains; /* 0 as 1: all CPUs share memory */
	u32 epoch;	/* several domains: number of this plan; the same in all of them */
	u32 unused;
};

/* In an instance's `answer_at`: if the word is not 0, the responder is called nevertheless. */
#define WEIR_ASK_FURTHER (1u << 31)

/* Subscriptions of one topic; see core/src/subscribe.c. */
struct weir_subs {
	u32 nr;		  /* subscribers that hear every message */
	u32 first;	  /* into graph->sub_list */
	u32 nr_scoped;	  /* subscribers that hear messages about their own CPUs */
	u32 first_scoped; /* likewise */
	/* into graph->scopes, if there are scoped ones: for each CPU, where its part of sub_list begins */
	u32 scope;
	u32 answer_at; /* the responder's: 1 + where the answer is in the private data of a task, 0: weir_property_asked() */
	struct weir_instance weir_mem *responder;
};

/* Chains of collected tasks: of 1, 2, 4 … runs. */
#define WEIR_MERGES 24

struct weir_graph {
	u32 nr_pipes;
	u32 nr_instances;
	u32 nr_slots;
	u32 nr_cpus;
	u64 reviewed;	/* topics on which some class reviews tasks */
	u64 subscribed; /* topics with a subscriber, or reviewed */
	u64 wanted;	/* the same, and what the runtime wants */
	u64 alone;	/* topics that nobody hears but the responder, if it does */
	struct weir_pipe weir_mem *pipes;
	struct weir_instance weir_mem *weir_mem *instances;
	struct weir_plan_cpu weir_mem *cpus;
	u32 weir_mem *lists;
	struct weir_instance weir_mem *weir_mem *sub_list;
	u32 weir_mem *scopes;
	struct weir_cpumask weir_mem *reach; /* scratch: CPUs to which an instance leads */
	u64 scoped;			     /* scratch: topics that it hears for these CPUs only */
	struct weir_region region;
	/* tasks that a swap has collected, by `next`: the latest run, and chains of those before it; in the end all, in order of arrival */
	struct weir_task weir_mem *first;
	struct weir_task weir_mem *last;
	struct weir_task weir_mem *runs[WEIR_MERGES];
	u32 nr_task_init; /* instances with task_init or task_exit */
	u32 nr_priv;	  /* instances with private data per task */
	struct weir_instance weir_mem *weir_mem *init_list;
	struct weir_instance weir_mem *weir_mem *priv_list;
	/* coherence domains: standard topics that somebody in each other one hears */
	u64 weir_mem *heard;
	u64 reviewed_anywhere; /* topics on which a class of any domain reviews tasks */
	u32 weir_mem *borders; /* pipes that lead to another domain or come from one */
	u32 nr_borders;
	u32 epoch;   /* number of the plan */
	u32 refused; /* 1 + the instance whose construct() failed */
	u32 scan;    /* how far a swap has collected: pipes, then CPUs */
	u32 all;     /* a swap collects all tasks, not only those of one instance */
	struct weir_instance
		weir_mem *other; /* a swap of one instance: the one that is not in use */
	struct weir_task weir_mem
	*leaves; /* the task that is collected, its home, and the next one in its pipe */
	struct weir_pipe weir_mem *leaves_at;
	struct weir_task weir_mem *follows;
	struct weir_subs subs[WEIR_MAX_TOPICS];
};

#endif
