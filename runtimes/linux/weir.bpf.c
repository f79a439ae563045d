/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The live Linux kernel as a runtime: sched_ext's callbacks become calls of schedule.h, and what the components
 * ask for becomes calls of the kernel. The core and the components are included as they are.
 *
 * All callbacks that call the core run with interrupts off and the run queue locked, so calls of one CPU never
 * overlap, and a CPU that holds a lock of the core goes on to release it. What comes in other contexts (a CPU
 * comes or goes, a wish of the loader) is noted and carried out by the next dispatch.
 *
 * Whose a task is. Between enqueue and the moment when a dispatch hands it over, the graph has it. A dispatch may
 * choose a task that the kernel takes away, changes or queues again at the same time: the kernel drops a task whose
 * queueing is not the one that was seen, and we give up one that is no longer ours (see hand_over()).
 */
#include "weir_unit.c"

#include "kernel.h"
#include "live.h"

char _license[] SEC("license") = "Dual MIT/GPL";

WEIR_VISIBLE struct weir_live weir_live;

/* The kernel finds the arena by the map that a program names. */
struct {
	int (*type)[33];	   /* BPF_MAP_TYPE_ARENA */
	int (*map_flags)[1 << 10]; /* BPF_F_MMAPABLE */
	int (*max_entries)[16384]; /* pages; the loader sets it */
	enum { weir_arena_base = 1ull << 44 } map_extra; /* the same addresses in the loader */
} arena SEC(".maps");

struct {
	int (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	int (*max_entries)[1 << 22];
} events SEC(".maps");

/* What the adapter keeps of a task of the kernel. */
struct weir_linux_task {
	u64 task;  /* address of struct weir_task in the arena; 0: none, it runs beside the graph */
	u32 dirty; /* enum weir_linux_dirty: what the graph is to be told when the task next enters it */
	u32 flags; /* enum weir_linux_flag */
	u64 epoch; /* swaps that there had been when the graph was last told about the task */
};

enum weir_linux_dirty { DIRTY_AFFINITY = 1, DIRTY_PRIORITY = 2 };
enum weir_linux_flag { WOKEN = 1, YIELDED = 2, KNOWN = 4, NEW = 8 };

struct {
	int (*type)[29];      /* BPF_MAP_TYPE_TASK_STORAGE */
	int (*map_flags)[1];  /* BPF_F_NO_PREALLOC */
	int *key;
	struct weir_linux_task *value;
} tasks SEC(".maps");

#define IN_ARENA asm volatile("" ::"r"(&arena))
#define SCHED ((struct weir_sched weir_mem *)weir_live.sched)

/* A queue a CPU for tasks that no exit leads to; numbers without the topmost bit are ours. */
#define ASIDE(cpu) (0x77656972ull << 16 | (u32)(cpu))

/* What the graph is still to be told; the next dispatch does. */
struct weir_linux_news {
	u32 cpu;      /* (a) this CPU came (1) or went (2) */
	u32 priority; /* (o) a waiting task, by number in the kernel, whose priority was changed here */
	u32 gone;     /* (o) 1 + the number of a task that is no more, head of a list */
	u32 unused;
};

/* Address in the arena of the news of each CPU. */
static u64 all_news;
static u32 any_cpu_news;
/* Some CPU went, or was kept by a higher class, since the start. */
static u32 some_gone;
#define NEWS(cpu) ((struct weir_linux_news weir_mem *)all_news + (cpu))
/* Whose turn it is: the graph's or the queue beside it. */
static u32 turns[WEIR_MAX_CPUS];
/* Address in the arena of one mask a CPU, to tell an affinity. */
static u64 masks;

/* --- counting and recording ---------------------------------------------------------------------------- */

WEIR_INLINE struct weir_live_cpu *counters(void)
{
	return &weir_live.cpus[weir_port_cpu() & (WEIR_MAX_CPUS - 1)];
}

#define COUNT(field) (counters()->field++)

WEIR_INLINE struct weir_live_task weir_mem *live_task(u32 id)
{
	struct weir_live_task weir_mem *all = (struct weir_live_task weir_mem *)weir_live.tasks;

	/* Numbers beyond the table share its last entry, which nobody reads. */
	return &all[id < weir_live.max_tasks ? id : weir_live.max_tasks];
}

/* A record of the ring, to be submitted; null and counted if the ring is full. */
WEIR_INLINE struct weir_live_event *new_event(u32 kind, u32 cpu, u32 task, u32 pid, u64 value)
{
	struct weir_live_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		COUNT(lost_events);
		return 0;
	}
	e->t_ns = bpf_ktime_get_ns();
	e->kind = kind;
	e->cpu = cpu;
	e->task = task;
	e->pid = pid;
	e->value = value;
	return e;
}

WEIR_GLOBAL int weir_linux_tell(u32 kind, u32 cpu, u32 task, u32 pid, u64 value)
{
	struct weir_live_event *e = new_event(kind, cpu, task, pid, value);

	if (e)
		bpf_ringbuf_submit(e, 0);
	return 0;
}

WEIR_INLINE void tell(u32 kind, u32 cpu, u32 task, u32 pid, u64 value)
{
	if (weir_live.recording)
		weir_linux_tell(kind, cpu, task, pid, value);
}

static void tell_task(struct task_struct *p, u32 task)
{
	struct weir_live_event *e;

	if (!weir_live.recording)
		return;
	e = new_event(WEIR_EVENT_TASK, 0, task, p->pid, p->tgid);
	if (!e)
		return;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), p->comm);
	bpf_ringbuf_submit(e, 0);
}

/* --- what the core needs (runtime.h) -------------------------------------------------------------------- */

WEIR_FLAT u64 weir_rt_now(struct weir_sched weir_mem *s)
{
	return bpf_ktime_get_ns();
}

/* The loader sees the due time in the instance and posts the expiry. */
WEIR_FLAT void weir_rt_timer(struct weir_sched weir_mem *s, u32 instance, u64 at_ns)
{
}

WEIR_FLAT void weir_rt_message(struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	struct weir_task weir_mem *t = msg->task;

	switch (msg->topic) {
	case WEIR_TOPIC_KICK:
		COUNT(kicks);
		scx_bpf_kick_cpu(msg->cpu, SCX_KICK_IDLE);
		break;
	case WEIR_TOPIC_PREEMPT:
		COUNT(preempts);
		scx_bpf_kick_cpu(msg->cpu, SCX_KICK_PREEMPT);
		break;
	case WEIR_TOPIC_WITHHELD:
		if (t)
			weir_store(&live_task(t->id)->withheld, 1);
		break;
	}
	COUNT(messages);
	tell(WEIR_EVENT_MESSAGE, msg->cpu, t ? t->id : WEIR_NO_TASK, msg->topic, msg->value);
}

/* --- tasks ------------------------------------------------------------------------------------------------ */

WEIR_INLINE struct weir_linux_task *of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, 0, 0);
}

WEIR_INLINE struct weir_task weir_mem *task_of(const struct weir_linux_task *own)
{
	return (struct weir_task weir_mem *)own->task;
}

/* Must not wait for any policy: the kernel relies on it. */
WEIR_INLINE bool is_urgent(const struct task_struct *p)
{
	return p->flags & PF_KTHREAD && p->nr_cpus_allowed == 1;
}

WEIR_INLINE bool is_bound(const struct task_struct *p)
{
	return (u32)p->nr_cpus_allowed < weir_live.nr_cpus;
}

/* Beside the graph: the queue of the CPU where the kernel has the task, which takes turns with the graph. */
static void run_aside(struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);

	COUNT(aside);
	weir_dsq_insert(p, ASIDE(cpu), weir_live.slice_ns, enq_flags);
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* The kernel's set of CPUs at @from into the mask that CPU @cpu tells affinities with. */
WEIR_GLOBAL int weir_linux_copy_mask(u32 cpu, u64 from)
{
	struct weir_cpumask weir_mem *mask = (struct weir_cpumask weir_mem *)masks + cpu;
	u64 word;

	for (u32 w = 0; w < weir_load(&SCHED->mask_words) && weir_loop; w++) {
		word = 0;
		bpf_probe_read_kernel(&word, sizeof(word), (const void *)(from + w * 8));
		weir_store(&mask->word[w & (WEIR_MASK_WORDS - 1)], word);
	}
	return 0;
}

/* Tell the graph on which CPUs the task may run. */
static void tell_affinity(struct task_struct *p, struct weir_msg *msg)
{
	/* Read as a number: the verifier follows a pointer through a loop turn by turn. */
	bpf_probe_read_kernel(&msg->value, sizeof(msg->value), &p->cpus_ptr);
	weir_linux_copy_mask(msg->cpu, msg->value);
	msg->topic = WEIR_TOPIC_AFFINITY;
	msg->mask = is_bound(p) ? (struct weir_cpumask weir_mem *)masks + msg->cpu : 0;
	weir_notify(SCHED, msg->cpu, msg);
}

static void tell_priority(struct task_struct *p, struct weir_msg *msg)
{
	msg->topic = WEIR_TOPIC_PRIORITY;
	msg->value = (u64)(s64)(120 - p->static_prio);
	weir_notify(SCHED, msg->cpu, msg);
}

/* What the graph is to be told before the task enters it. (Not inline: the message's bytes would weigh on each enqueue.) */
__attribute__((noinline)) static int tell_changes(struct task_struct *p, struct weir_linux_task *own)
{
	struct weir_msg msg = { .cpu = weir_port_cpu(), .task = task_of(own) };

	if (own->dirty & DIRTY_AFFINITY)
		tell_affinity(p, &msg);
	if (own->dirty & DIRTY_PRIORITY)
		tell_priority(p, &msg);
	own->dirty = 0;
	return 0;
}

/* Out of the graph, and counted. */
static void take_out(struct weir_task weir_mem *t, u64 now)
{
	struct weir_live_task weir_mem *live = live_task(t->id);
	u64 since = live->since_ns;

	if (since) {
		live->wait_ns += now - since;
		weir_store(&live->since_ns, 0);
	}
}

/* Calls of this CPU gave up waiting for another one: it chooses again soon, and does what they left undone. */
WEIR_INLINE void go_on(void)
{
	u32 cpu = weir_port_cpu();

	if (weir_gave_up(SCHED, cpu)) {
		COUNT(gave_up);
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
}

/* How long a call of the core took, where somebody records it. */
WEIR_INLINE void tell_cost(u32 call, u32 task, u64 start)
{
	if (weir_live.recording)
		weir_linux_tell(WEIR_EVENT_SCHED, weir_port_cpu(), task, call, bpf_ktime_get_ns() - start);
}

WEIR_INLINE u32 state_of(struct weir_task weir_mem *t)
{
	u32 state = weir_load(&t->state);

	/* A CPU that has just chosen it is not through yet; it needs nothing that we hold. */
	while (state == WEIR_CLAIMED && weir_loop)
		state = weir_load(&t->state);
	return state;
}

/*
 * A record for a task that has none: as many as the loader made room for; the others run beside the graph. NEW
 * stays where the core had no time for us, for another attempt.
 */
__attribute__((noinline)) static int get_to_know(struct task_struct *p, struct weir_linux_task *own)
{
	struct weir_live_task weir_mem *live;
	struct weir_task weir_mem *t = 0;

	own->flags = 0;
	if (weir_load(&SCHED->nr_tasks) < weir_live.max_tasks)
		t = weir_task_new(SCHED, weir_port_cpu(), (u32)p->pid);
	if (!t && weir_gave_up(SCHED, weir_port_cpu())) {
		COUNT(gave_up);
		own->flags = NEW;
		return 0;
	}
	if (!t || t->id >= weir_live.max_tasks) {
		weir_fetch_add(&weir_live.no_memory, 1);
		return 0;
	}
	own->task = (u64)t;
	own->dirty = DIRTY_PRIORITY | (is_bound(p) ? DIRTY_AFFINITY : 0);
	own->epoch = weir_live.swaps;
	live = live_task(t->id);
	live->tgid = p->tgid;
	live->since_ns = 0;
	live->run_ns = 0;
	live->wait_ns = 0;
	live->started_ns = 0;
	live->cpu = WEIR_NO_CPU;
	live->nr_runs = 0;
	live->nr_migrations = 0;
	live->withheld = 0;
	{
		char comm[WEIR_LIVE_COMM] = {};
		u64 *from = (u64 *)comm;
		u64 weir_mem *to = (u64 weir_mem *)live->comm;

		bpf_probe_read_kernel_str(comm, sizeof(comm), p->comm);
		to[0] = from[0];
		to[1] = from[1];
	}
	weir_store(&live->pid, p->pid);
	weir_fetch_add(&weir_live.nr_tasks, 1);
	tell_task(p, t->id);
	return 0;
}

/* A CPU came (1) or went (2): the next dispatch tells. */
static void note_cpu(u32 cpu, u32 news)
{
	weir_store(&NEWS(cpu)->cpu, news);
	weir_fence();
	weir_live_u32(any_cpu_news) = 1;
}

#define FIRST_OF_OURS 100 /* prio of a task from which on it is of no higher class */

/*
 * Since when a higher class has a CPU: the kernel's own callbacks do not tell of one that was idle before. The loader
 * looks at it every now and then, and its doing so makes some CPU dispatch when this one is back.
 */
static void note_class(u32 cpu, bool taken)
{
	struct weir_live_cpu *c = &weir_live.cpus[cpu & (WEIR_MAX_CPUS - 1)];

	if (taken == !!c->away_ns)
		return;
	*(volatile u64 *)&c->away_ns = taken ? bpf_ktime_get_ns() : 0;
	weir_fence();
	if (!taken && *(volatile u64 *)&c->told_away) {
		*(volatile u64 *)&c->told_away = 0;
		note_cpu(cpu, 1);
	}
}

/* The task changed its class while it ran. */
static void note_class_of(struct task_struct *p)
{
	if (scx_bpf_task_running(p))
		note_class(scx_bpf_task_cpu(p), p->prio < FIRST_OF_OURS);
}

/* --- callbacks -------------------------------------------------------------------------------------------- */

SEC("struct_ops/weir_select_cpu")
s32 weir_select_cpu(u64 *ctx)
{
	/* Where a task waits is the graph's decision, and it falls when the task enters. */
	return (s32)ctx[1];
}

SEC("struct_ops/weir_enqueue")
int weir_enqueue(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	u64 enq_flags = ctx[1];
	struct weir_linux_task *own = of(p);
	struct weir_live_task weir_mem *live;
	struct weir_task weir_mem *t;
	u32 state, call;
	u64 start;
	int err;

	IN_ARENA;
	if (is_urgent(p)) {
		COUNT(direct);
		weir_dsq_insert(p, SCX_DSQ_LOCAL, weir_live.slice_ns, enq_flags);
		return 0;
	}
	if (own && own->flags & NEW)
		get_to_know(p, own);
	if (!own || !own->task || weir_live.leave) {
		run_aside(p, enq_flags);
		return 0;
	}
	t = task_of(own);
	state = state_of(t);
	if (weir_live.bind && is_bound(p)) {
		if (state != WEIR_UNCONSIDERED && !weir_block(SCHED, weir_port_cpu(), t) && state == WEIR_SCHEDULABLE) {
			COUNT(dequeues);
			take_out(t, bpf_ktime_get_ns());
		}
		run_aside(p, enq_flags);
		goto out;
	}
	/* A graph that came since may have annotators that know nothing yet. */
	if (own->epoch != weir_live.swaps) {
		own->epoch = weir_live.swaps;
		own->dirty |= (is_bound(p) ? DIRTY_AFFINITY : 0) | (p->static_prio != 120 ? DIRTY_PRIORITY : 0);
	}
	if (own->dirty)
		tell_changes(p, own);
	/* The dispatch that ended its turn has put it back already; or it never left the graph (see weir_quiescent). */
	if (state == WEIR_SCHEDULABLE)
		goto out;
	live = live_task(t->id);
	weir_store(&live->withheld, 0);
	start = bpf_ktime_get_ns();
	weir_store(&live->since_ns, start);
	tell(WEIR_EVENT_READY, weir_port_cpu(), t->id, p->pid, own->flags & WOKEN);
	if (state == WEIR_RUNNING) {
		call = WEIR_CALL_RELINQUISH;
		err = weir_relinquish(SCHED, weir_port_cpu(), t);
	} else {
		call = own->flags & KNOWN ? WEIR_CALL_UNBLOCK : WEIR_CALL_ADMIT;
		err = own->flags & KNOWN ? weir_unblock(SCHED, weir_port_cpu(), t) : weir_admit(SCHED, weir_port_cpu(), t);
	}
	own->flags = KNOWN;
	tell_cost(call, t->id, start);
	if (!err && !weir_load(&live->withheld)) {
		COUNT(enqueues);
		goto out;
	}
	if (!err)
		weir_block(SCHED, weir_port_cpu(), t);
	else if (err != -WEIR_EAGAIN)
		COUNT(failures);
	weir_store(&live->since_ns, 0);
	run_aside(p, enq_flags);
out:
	go_on();
	return 0;
}

/* --- dispatch --- */

static u64 slice_of(struct weir_task weir_mem *t)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_SLICE, .task = t };

	if (weir_request(SCHED, &msg) || msg.value == WEIR_SLICE_DEFAULT)
		return weir_live.slice_ns;
	return msg.value;
}

/*
 * Give a task that weir_pick() chose to the kernel. The insertion notes the task's present queueing; only then we
 * look whether the task is still ours and may run here. Whatever changes afterwards changes the queueing, and the
 * kernel drops the insertion. 1: done.
 */
static int hand_over(struct weir_task weir_mem *t, s32 cpu)
{
	struct task_struct *p = bpf_task_from_pid((s32)weir_load(&t->cookie));
	struct weir_linux_task *own;
	int done = 0;

	if (!p) {
		/* It ended since; its record goes when the kernel has told. */
		weir_store(&live_task(t->id)->since_ns, 0);
		return 0;
	}
	own = of(p);
	if (own && own->task == (u64)t) {
		weir_dsq_insert(p, SCX_DSQ_LOCAL, slice_of(t), 0);
		done = weir_load(&t->state) == WEIR_RUNNING && weir_load(&t->cpu) == (u32)cpu;
		if (!done) {
			scx_bpf_dispatch_cancel();
		} else if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr) || p->migration_disabled) {
			/* A graph that knows no affinities, or not this one yet: it may not run here. */
			scx_bpf_dispatch_cancel();
			weir_block(SCHED, weir_port_cpu(), t);
			take_out(t, bpf_ktime_get_ns());
			own->dirty |= DIRTY_AFFINITY;
			run_aside(p, 0);
			done = 0;
		}
	}
	bpf_task_release(p);
	return done;
}

/* A new graph, or a new instance in the present one. */
WEIR_GLOBAL int weir_linux_reconfigure(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_live_request *r = &weir_live.request;
	struct weir_replacement with = { .instance = r->instance, .class = r->class,
					 .params = (const u64 weir_mem *)r->plan };
	u32 cpu = weir_port_cpu();
	int err;

	err = r->kind == WEIR_LIVE_SWAP ? weir_swap(s, cpu, (const struct weir_plan weir_mem *)r->plan, &r->stats) :
					  weir_swap_instance(s, cpu, &with, &r->stats);
	if (err)
		return err;
	weir_fetch_add(&weir_live.swaps, 1);
	tell(WEIR_EVENT_SWAP, cpu, WEIR_NO_TASK, r->stats.represented, r->stats.pause_ns);
	return 0;
}

/*
 * A higher class holds a CPU for long: the graph is to look elsewhere. The fence pairs with the one in
 * note_class(): either we see that the CPU is back, or it sees that the graph has to hear so.
 */
static int tell_away(struct weir_sched weir_mem *s, u32 cpu)
{
	struct weir_live_cpu *c = &weir_live.cpus[cpu & (WEIR_MAX_CPUS - 1)];
	struct weir_msg msg = { .topic = WEIR_TOPIC_CPU_STATUS, .cpu = cpu };

	*(volatile u64 *)&c->told_away = 1;
	weir_fence();
	if (!*(volatile u64 *)&c->away_ns) {
		*(volatile u64 *)&c->told_away = 0;
		return 0;
	}
	weir_live_u32(some_gone) = 1;
	return weir_notify(s, weir_port_cpu(), &msg);
}

/* @t was chosen in the name of a CPU that takes no tasks: it runs beside the graph, wherever it may, and enters anew. */
__attribute__((noinline)) static int rescue(struct weir_task weir_mem *t)
{
	struct task_struct *p = bpf_task_from_pid((s32)weir_load(&t->cookie));
	struct weir_linux_task *own;

	if (!p) {
		weir_store(&live_task(t->id)->since_ns, 0);
		return 0;
	}
	own = of(p);
	if (own && own->task == (u64)t && !weir_block(SCHED, weir_port_cpu(), t)) {
		take_out(t, bpf_ktime_get_ns());
		COUNT(dequeues);
		COUNT(aside);
		weir_dsq_insert(p, SCX_DSQ_GLOBAL, weir_live.slice_ns, 0);
	}
	bpf_task_release(p);
	return 0;
}

#define RESCUED_AT_ONCE 8 /* a dispatch may insert 32 */

/*
 * A topology that follows no CPU_STATUS leaves tasks at the exit of a CPU that takes none, and the kernel waits for them before it
 * lets a CPU go. One CPU is looked at in a call: number @turn.
 */
WEIR_GLOBAL int weir_linux_rescue(u32 cpu, u32 turn)
{
	struct weir_sched weir_mem *s = SCHED;
	struct weir_graph weir_mem *g = s->graph;
	struct weir_pipe weir_mem *exit;
	struct weir_task weir_mem *t;
	u32 gone = s->nr_cpus ? turn % s->nr_cpus : 0;

	if (!g || weir_load(&s->cpus[gone].online) || g->cpus[gone].exit == WEIR_NONE)
		return 0;
	exit = &g->pipes[g->cpus[gone].exit];
	if (!weir_pipe_nr(exit) || weir_pipe_allows(exit, 0))
		return 0;
	for (u32 i = 0; i < weir_limit(RESCUED_AT_ONCE) && weir_loop; i++) {
		t = weir_pick(s, cpu, gone);
		if (!t) {
			/* It does not wait for work. */
			weir_mask_clear(s->idle, gone);
			break;
		}
		rescue(t);
	}
	return 0;
}

/* Carry out what the loader wishes. */
static int carry_out(struct weir_live_request *r)
{
	struct weir_sched weir_mem *s = SCHED;
	struct weir_msg msg;

	switch (r->kind) {
	case WEIR_LIVE_SWAP:
	case WEIR_LIVE_REPLACE:
		return weir_linux_reconfigure(s);
	case WEIR_LIVE_TIMER:
		return weir_timer_expired(s, weir_port_cpu(), r->instance);
	case WEIR_LIVE_AWAY:
		return tell_away(s, r->cpu);
	case WEIR_LIVE_NOTIFY:
		msg.topic = r->topic;
		msg.cpu = r->cpu;
		msg.task = 0;
		msg.value = r->value;
		msg.value2 = r->value2;
		msg.mask = 0;
		if (r->task != WEIR_NO_TASK) {
			msg.task = weir_task_get(s, r->task);
			if (!msg.task)
				return -WEIR_ENOENT;
		}
		return weir_notify(s, weir_port_cpu(), &msg);
	default:
		return -WEIR_EINVAL;
	}
}

static void serve_loader(void)
{
	struct weir_live_request *r = &weir_live.request;
	u64 paused = 0;

	if (weir_cas(&r->state, WEIR_LIVE_POSTED, WEIR_LIVE_UNDER_WAY) != WEIR_LIVE_POSTED)
		return;
	if (r->attempts++)
		paused = r->stats.pause_ns;
	r->result = carry_out(r);
	r->stats.pause_ns += paused;
	if (r->result == -WEIR_EAGAIN && r->attempts < WEIR_LIVE_ATTEMPTS) {
		/* The CPU that did not come to an end has no turn, perhaps: another dispatch tries again. */
		*(volatile u32 *)&r->state = WEIR_LIVE_POSTED;
		return;
	}
	r->done_ns = bpf_ktime_get_ns();
	COUNT(requests);
	weir_fence();
	*(volatile u32 *)&r->state = WEIR_LIVE_DONE;
}

/* CPUs that came or went since. */
WEIR_FLAT static int serve_cpu_news(struct weir_sched weir_mem *s)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_CPU_STATUS };

	weir_live_u32(any_cpu_news) = 0;
	for (u32 i = 0; i < weir_load(&s->nr_cpus) && weir_loop; i++) {
		u32 news = weir_load(&NEWS(i)->cpu);

		if (!news)
			continue;
		weir_store(&NEWS(i)->cpu, 0);
		msg.cpu = i;
		msg.value = news == 1;
		if (weir_notify(s, weir_port_cpu(), &msg)) {
			/* A swap took too long to wait for: the next dispatch tries again. */
			weir_store(&NEWS(i)->cpu, news);
			weir_live_u32(any_cpu_news) = 1;
			continue;
		}
		weir_live_u32(some_gone) = 1;
		tell(WEIR_EVENT_ONLINE, i, WEIR_NO_TASK, 0, news == 1);
	}
	return 0;
}

/* A waiting task got another priority. */
static void serve_priority_news(void)
{
	struct weir_linux_news weir_mem *news = NEWS(weir_port_cpu());
	struct task_struct *p = bpf_task_from_pid(weir_load(&news->priority));
	struct weir_linux_task *own;

	weir_store(&news->priority, 0);
	if (!p)
		return;
	own = of(p);
	if (own && own->task) {
		struct weir_msg msg = { .cpu = weir_port_cpu(), .task = task_of(own) };

		tell_priority(p, &msg);
	}
	bpf_task_release(p);
}

/* Tasks that are no more. */
WEIR_FLAT static int serve_gone(struct weir_sched weir_mem *s, u32 cpu)
{
	while (weir_loop) {
		u32 id = weir_load(&NEWS(cpu)->gone), next;

		if (!id)
			break;
		id--;
		next = live_task(id)->next_gone;
		/* The number may belong to another task right after. */
		tell(WEIR_EVENT_EXIT, cpu, id, 0, 0);
		if (weir_exit(s, cpu, weir_task_get(s, id)) == -WEIR_EAGAIN)
			break;
		weir_store(&NEWS(cpu)->gone, next);
	}
	return 0;
}

SEC("struct_ops/weir_dispatch")
int weir_dispatch(u64 *ctx)
{
	s32 cpu = (s32)ctx[0];
	struct task_struct *prev = (struct task_struct *)ctx[1];
	u32 *turn = &turns[cpu & (WEIR_MAX_CPUS - 1)];
	struct weir_linux_task *own = 0;
	struct weir_task weir_mem *t = 0;
	u64 start, ran = 0;

	IN_ARENA;
	if (weir_live.request.state == WEIR_LIVE_POSTED)
		serve_loader();
	if (weir_live_u32(any_cpu_news))
		serve_cpu_news(SCHED);
	if (weir_load(&NEWS(cpu)->priority))
		serve_priority_news();
	if (weir_load(&NEWS(cpu)->gone))
		serve_gone(SCHED, cpu);
	if (weir_live_u32(some_gone))
		weir_linux_rescue(cpu, *turn);
	if (++*turn & 1 && scx_bpf_dsq_nr_queued(ASIDE(cpu)) && weir_dsq_move_to_local(ASIDE(cpu)))
		return 0;
	start = bpf_ktime_get_ns();
	/*
	 * Its turn is over, but it would run on: it competes with what waits, as it does in every other runtime. One
	 * that may not leave this CPU now (our own program counts once), or that ends, stays with the kernel.
	 */
	if (prev && prev->scx.flags & SCX_TASK_QUEUED && prev->migration_disabled <= 1 && !(prev->flags & PF_EXITING) &&
	    !weir_live.leave) {
		own = of(prev);
		if (own && own->task && weir_load(&task_of(own)->state) == WEIR_RUNNING) {
			ran = own->task;
			weir_store(&live_task(task_of(own)->id)->since_ns, start);
			if (weir_relinquish(SCHED, cpu, task_of(own)))
				ran = 0;
			else
				COUNT(enqueues);
		}
	}
	while (weir_loop) {
		t = weir_pick(SCHED, cpu, cpu);
		if (!t)
			break;
		if ((u64)t == ran && prev) {
			COUNT(kept);
			COUNT(dispatches);
			take_out(t, start);
			weir_set_slice(prev, slice_of(t));
			break;
		}
		if (hand_over(t, cpu)) {
			COUNT(dispatches);
			take_out(t, start);
			break;
		}
		/* It left the graph all the same: the kernel has it, and enqueues it again if it is to come back. */
		COUNT(dropped);
		COUNT(dequeues);
	}
	tell_cost(WEIR_CALL_PICK, WEIR_NO_TASK, start);
	go_on();
	if (t)
		return 0;
	COUNT(empty);
	if (!(*turn & 1))
		weir_dsq_move_to_local(ASIDE(cpu));
	return 0;
}

/* (loader, before load) some component listens to TICK; if none does, the verifier drops the call. */
WEIR_VISIBLE const volatile u32 weir_linux_ticks SEC(".rodata");

SEC("struct_ops/weir_tick")
int weir_tick(u64 *ctx)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_TICK, .cpu = weir_port_cpu() };

	IN_ARENA;
	if (weir_linux_ticks && SCHED->graph && SCHED->graph->subs[WEIR_TOPIC_TICK].nr)
		weir_notify(SCHED, msg.cpu, &msg);
	return 0;
}

SEC("struct_ops/weir_runnable")
int weir_runnable(u64 *ctx)
{
	struct weir_linux_task *own = of((struct task_struct *)ctx[0]);

	if (own && ctx[1] & SCX_ENQ_WAKEUP)
		own->flags |= WOKEN;
	return 0;
}

SEC("struct_ops/weir_running")
int weir_running(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	struct weir_linux_task *own = of(p);
	struct weir_live_task weir_mem *live;
	struct weir_task weir_mem *t;
	u32 cpu = weir_port_cpu();

	IN_ARENA;
	if (!own || !own->task)
		return 0;
	t = task_of(own);
	COUNT(runs);
	live = live_task(t->id);
	if (live->cpu != WEIR_NO_CPU && live->cpu != cpu) {
		live->nr_migrations++;
		COUNT(migrations);
	}
	live->nr_runs++;
	weir_store(&live->cpu, cpu);
	/* Whatever way it took to get here. */
	if (live->since_ns)
		take_out(t, bpf_ktime_get_ns());
	weir_store(&live->started_ns, bpf_ktime_get_ns());
	weir_store(&weir_live.cpus[cpu & (WEIR_MAX_CPUS - 1)].curr_pid, p->pid);
	tell(WEIR_EVENT_RUN, cpu, t->id, p->pid, 0);
	return 0;
}

SEC("struct_ops/weir_stopping")
int weir_stopping(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	struct weir_linux_task *own = of(p);
	struct weir_live_task weir_mem *live;
	u64 ran, stop = WEIR_STOP_BLOCK;

	IN_ARENA;
	if (!own || !own->task)
		return 0;
	live = live_task(task_of(own)->id);
	if (live->started_ns) {
		ran = bpf_ktime_get_ns() - live->started_ns;
		weir_store(&live->run_ns, live->run_ns + ran);
		weir_store(&live->started_ns, 0);
		counters()->busy_ns += ran;
	}
	weir_store(&weir_live.cpus[weir_port_cpu() & (WEIR_MAX_CPUS - 1)].curr_pid, 0);
	if (ctx[1])
		stop = own->flags & YIELDED ? WEIR_STOP_YIELD : p->scx.slice ? WEIR_STOP_PREEMPTED : WEIR_STOP_SLICE;
	own->flags &= ~YIELDED;
	tell(WEIR_EVENT_OFF, weir_port_cpu(), task_of(own)->id, p->pid, stop);
	return 0;
}

/*
 * The task waits for something else than a CPU, or changes. There is no dequeue callback: where this one does not
 * follow, the task is enqueued again at once and finds itself in the graph. A CPU that chooses it in between is
 * told by the kernel that there is nothing to hand over, and the enqueue puts the task back.
 */
SEC("struct_ops/weir_quiescent")
int weir_quiescent(u64 *ctx)
{
	struct weir_linux_task *own = of((struct task_struct *)ctx[0]);
	struct weir_task weir_mem *t;
	u32 state;

	IN_ARENA;
	if (!own || !own->task)
		return 0;
	t = task_of(own);
	state = state_of(t);
	if (state != WEIR_RUNNING && state != WEIR_SCHEDULABLE)
		return 0;
	if (!weir_block(SCHED, weir_port_cpu(), t)) {
		if (state == WEIR_SCHEDULABLE)
			COUNT(dequeues);
		take_out(t, bpf_ktime_get_ns());
	}
	go_on();
	return 0;
}

SEC("struct_ops/weir_yield")
bool weir_yield(u64 *ctx)
{
	struct task_struct *from = (struct task_struct *)ctx[0];
	struct weir_linux_task *own = of(from);

	if (ctx[1])
		return 0; /* a wish for a certain successor: the graph decides */
	if (own)
		own->flags |= YIELDED;
	weir_set_slice(from, 0);
	return 0;
}

SEC("struct_ops/weir_set_weight")
int weir_set_weight(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	struct weir_linux_task *own = of(p);

	IN_ARENA;
	if (!own || !own->task)
		return 0;
	own->dirty |= DIRTY_PRIORITY;
	/* A task that starves for its low priority may have been given a higher one for that reason: tell soon. */
	if (weir_load(&task_of(own)->state) == WEIR_SCHEDULABLE)
		weir_store(&NEWS(weir_port_cpu())->priority, p->pid);
	return 0;
}

SEC("struct_ops/weir_set_cpumask")
int weir_set_cpumask(u64 *ctx)
{
	struct weir_linux_task *own = of((struct task_struct *)ctx[0]);

	/* The kernel takes a waiting task out before, and enqueues it again after. */
	if (own)
		own->dirty |= DIRTY_AFFINITY;
	return 0;
}

/* A task of a higher class takes the CPU: what the kernel has queued there already may go elsewhere. */
SEC("struct_ops/weir_cpu_release")
int weir_cpu_release(u64 *ctx)
{
	weir_reenqueue_local();
	return 0;
}

SEC("tp_btf/sched_switch")
int weir_switched(u64 *ctx)
{
	const struct task_struct *next = (const struct task_struct *)ctx[2];

	IN_ARENA;
	note_class(weir_port_cpu(), next->prio < FIRST_OF_OURS);
	return 0;
}

/* Somebody has to look: this CPU, once the thread that changes the machine waits. */
static void look(void)
{
	scx_bpf_kick_cpu(weir_port_cpu(), SCX_KICK_PREEMPT);
}

SEC("struct_ops/weir_cpu_online")
int weir_cpu_online(u64 *ctx)
{
	IN_ARENA;
	note_cpu(ctx[0], 1);
	look();
	return 0;
}

SEC("struct_ops/weir_cpu_offline")
int weir_cpu_offline(u64 *ctx)
{
	IN_ARENA;
	note_cpu(ctx[0], 2);
	look();
	return 0;
}

SEC("struct_ops.s/weir_init_task")
s32 weir_init_task(u64 *ctx)
{
	struct weir_linux_task *own =
		bpf_task_storage_get(&tasks, (struct task_struct *)ctx[0], 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	return own ? 0 : -12; /* -ENOMEM */
}

/* The task is of our class from now on; unlike in init_task, nothing else happens on this CPU meanwhile. */
SEC("struct_ops/weir_enable")
int weir_enable(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	struct weir_linux_task *own = of(p);

	IN_ARENA;
	note_class_of(p);
	if (own && !own->task)
		get_to_know(p, own);
	return 0;
}

/*
 * The task leaves our class, or the kernel. It is in no pipe any more, for it was quiescent before; its record
 * goes with the next dispatch here, for what that takes the verifier has seen there.
 */
SEC("struct_ops/weir_disable")
int weir_disable(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	struct weir_linux_task *own = of(p);
	u32 cpu = weir_port_cpu(), id;

	IN_ARENA;
	note_class_of(p);
	if (!own || !own->task)
		return 0;
	id = task_of(own)->id;
	own->task = 0;
	weir_fetch_add(&weir_live.nr_tasks, (u64)-1);
	if (id >= weir_live.max_tasks)
		return 0;
	weir_store(&live_task(id)->pid, 0);
	weir_store(&live_task(id)->since_ns, 0);
	weir_store(&live_task(id)->next_gone, weir_load(&NEWS(cpu)->gone));
	weir_store(&NEWS(cpu)->gone, id + 1);
	return 0;
}

SEC("struct_ops.s/weir_init")
s32 weir_init_scheduler(u64 *ctx)
{
	u32 nr = weir_live.nr_cpus;
	s32 err = 0;

	IN_ARENA;
	masks = weir_alloc_at(SCHED, nr * sizeof(struct weir_cpumask));
	all_news = weir_alloc_at(SCHED, nr * sizeof(struct weir_linux_news));
	if (!masks || !all_news)
		return -12; /* -ENOMEM */
	for (u32 i = 0; i < nr && !err && weir_loop; i++)
		err = scx_bpf_create_dsq(ASIDE(i), -1);
	if (!err)
		weir_live.attached = 1;
	return err;
}

SEC("struct_ops/weir_exit_scheduler")
int weir_exit_scheduler(u64 *ctx)
{
	struct scx_exit_info *info = (struct scx_exit_info *)ctx[0];

	bpf_probe_read_kernel_str(weir_live.exit_reason, sizeof(weir_live.exit_reason), info->reason);
	bpf_probe_read_kernel_str(weir_live.exit_msg, sizeof(weir_live.exit_msg), info->msg);
	weir_live.exit_code = info->exit_code;
	weir_live.faults = weir_port_faults;
	weir_fence();
	weir_live_u32(weir_live.exit_kind) = info->kind;
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops weir_ops = {
	.select_cpu = (void *)weir_select_cpu,
	.enqueue = (void *)weir_enqueue,
	.dispatch = (void *)weir_dispatch,
	.tick = (void *)weir_tick,
	.runnable = (void *)weir_runnable,
	.running = (void *)weir_running,
	.stopping = (void *)weir_stopping,
	.quiescent = (void *)weir_quiescent,
	.yield = (void *)weir_yield,
	.set_weight = (void *)weir_set_weight,
	.set_cpumask = (void *)weir_set_cpumask,
	.cpu_release = (void *)weir_cpu_release,
	.init_task = (void *)weir_init_task,
	.enable = (void *)weir_enable,
	.disable = (void *)weir_disable,
	.cpu_online = (void *)weir_cpu_online,
	.cpu_offline = (void *)weir_cpu_offline,
	.init = (void *)weir_init_scheduler,
	.exit = (void *)weir_exit_scheduler,
	.flags = SCX_OPS_ENQ_LAST,
	.timeout_ms = 10000,
	.name = "weir",
};
