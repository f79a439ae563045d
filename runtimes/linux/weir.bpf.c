/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The live Linux kernel as a runtime: sched_ext's callbacks become calls of schedule.h, and the components' requests
 * become calls of the kernel. The core and the components are included unchanged.
 *
 * All callbacks that call the core run with interrupts off and the run queue locked, so calls of one CPU never
 * overlap, and a CPU that holds a lock of the core continues until it releases it. Events in other contexts (a CPU
 * goes online or offline, a request of the loader) are recorded and handled by the next dispatch.
 *
 * Ownership of a task. From its enqueue until a dispatch hands it over, the graph has it. A dispatch may choose a task
 * that the kernel removes, changes or requeues at the same time: the kernel drops an insertion if the task's queueing
 * has changed, and we give up a task that we no longer own (see hand_over()).
 *
 * The rest is in headers, because the verifier sees one program: state.h, report.h (counters and events), tasks.h, cpus.h
 * (availability of CPUs), groups.h (control groups), timers.h, pmu.h (hardware counters) and requests.h (requests of the
 * loader); kernel.h has all knowledge about the kernel.
 */
#include "weir_unit.c"

#include "pmu.h"
#include "requests.h"
#include "timers.h"

char _license[] SEC("license") = "Dual MIT/GPL";

/* --- what the core needs (runtime.h) -------------------------------------------------------------------- */

WEIR_FLAT u64 weir_rt_now(struct weir_sched weir_mem *s)
{
	return bpf_ktime_get_ns();
}

WEIR_FLAT void weir_rt_message(struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	struct weir_task weir_mem *t = msg->task;

	switch (msg->topic) {
	case WEIR_TOPIC_KICK:
		COUNT(kicks);
		/* For the task that an enqueue here lets in: that may send it there itself (send()). */
		if (t && NEWS(weir_port_cpu())->entering == t->id + 1 &&
		    !NEWS(weir_port_cpu())->wakes)
			NEWS(weir_port_cpu())->wakes = msg->cpu + 1;
		else
			scx_bpf_kick_cpu(msg->cpu, SCX_KICK_IDLE);
		break;
	case WEIR_TOPIC_PREEMPT:
		COUNT(preempts);
		scx_bpf_kick_cpu(msg->cpu, SCX_KICK_PREEMPT);
		break;
	case WEIR_TOPIC_WITHHELD:
		if (t && msg->value)
			weir_store(&live_task(t->id)->until_ns, msg->value);
		else if (t)
			note_withheld(t);
		break;
	}
	COUNT(messages);
	report(WEIR_EVENT_MESSAGE, msg->cpu, t ? t->id : WEIR_NO_TASK, msg->topic, msg->value);
}

/* Replaces a component that the loader left out; no topology that it accepts leads here. */
WEIR_GLOBAL int weir_absent(void)
{
	weir_port_faults++;
	return -WEIR_ENOENT;
}

/* --- callbacks -------------------------------------------------------------------------------------------- */

SEC("struct_ops/weir_select_cpu")
s32 weir_select_cpu(u64 *ctx)
{
	IN_ARENA;
	/* The task enters on this CPU, next of all. */
	weir_wakes_and_leaves(SCHED, weir_port_cpu(), (u32)ctx[2] & SCX_WAKE_SYNC);
	/* The graph decides where a task waits, when the task enters. */
	return (s32)ctx[1];
}

/* (A separate function keeps its message out of the caller's frame.) */
WEIR_GLOBAL u64 weir_linux_slice(struct weir_task weir_mem *t weir_arg)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_SLICE, .task = t };

	if (weir_request(SCHED, &msg) || msg.value == WEIR_SLICE_DEFAULT)
		return weir_live.slice_ns;
	return msg.value;
}

/*
 * @p, which has just entered the graph as @t, had CPU @cpu woken, which waits for work: if the policy gives it @t, the kernel gets it at once, and that CPU
 * need not dispatch.
 */
WEIR_INLINE void send(struct task_struct *p, struct weir_task weir_mem *t, s32 cpu, u64 enq_flags,
		      u64 start)
{
	if (!takes_tasks(cpu) || p->migration_disabled || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr) ||
	    !TIMED(PICK, weir_give(SCHED, weir_port_cpu(), cpu, t))) {
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		return;
	}
	weir_dsq_insert(p, SCX_DSQ_LOCAL_ON | cpu, weir_linux_slice(t), enq_flags);
	COUNT(given);
	if (is_out(t, start))
		COUNT(dispatches);
}

SEC("struct_ops/weir_enqueue")
int weir_enqueue(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	u64 enq_flags = ctx[1];
	struct weir_linux_task *own = of(p);
	struct weir_live_task weir_mem *live;
	struct weir_task weir_mem *t;
	u32 state, call, wakes;
	u64 start;
	int err;

	IN_ARENA;
	if (is_urgent(p) || cannot_kick()) {
		COUNT(direct);
		weir_dsq_insert(p, SCX_DSQ_LOCAL, weir_live.slice_ns, enq_flags);
		return 0;
	}
	if (own && own->flags & NEW) {
		get_to_know(p, own);
		if (own->flags & NEW)
			COUNT(aside_given_up);
	}
	if (!own || !own->task || weir_live.leave) {
		run_aside(p, enq_flags);
		return 0;
	}
	t = task_of(own);
	state = weir_state(t);
	if (weir_live.bind && is_bound(p)) {
		call = WEIR_CALL_BLOCK;
		err = state == WEIR_UNCONSIDERED ? -WEIR_ESTATE : 0;
		goto leave;
	}
	/* A newer graph may have annotators without data about the task. */
	if (own->epoch != weir_live.swaps) {
		own->epoch = weir_live.swaps;
		own->dirty |= (is_bound(p) ? DIRTY_AFFINITY : 0) |
			      (negated_nice(p) ? DIRTY_PRIORITY : 0) |
			      (own->group ? DIRTY_GROUP : 0) | (is_batch(p) ? DIRTY_POLICY : 0);
	}
	if (own->dirty)
		publish_changes(p, own);
	/* The dispatch that ended its turn has already put it back; or it never left the graph (see weir_quiescent). */
	if (state == WEIR_SCHEDULABLE)
		goto out;
	live = live_task(t->id);
	weir_store(&live->withheld, 0);
	NEWS(weir_port_cpu())->entering = t->id + 1;
	NEWS(weir_port_cpu())->wakes = 0;
	start = bpf_ktime_get_ns();
	put_in(t, start);
	now_ready(live, state == WEIR_RUNNING ? WEIR_WAIT_RETURNED : WEIR_WAIT_WOKEN, start);
	report(WEIR_EVENT_READY, weir_port_cpu(), t->id, p->pid,
	       own->flags & WOKEN ? 1 | (u64)own->waker << 32 : 0);
	call = state == WEIR_RUNNING ? WEIR_CALL_RELINQUISH
	       : own->flags & KNOWN  ? WEIR_CALL_UNBLOCK
				     : WEIR_CALL_ADMIT;
	call_begins(call);
	err = weir_let_in(SCHED, weir_port_cpu(), t,
			  call == WEIR_CALL_RELINQUISH ? WEIR_WHY_REQUEUED
			  : call == WEIR_CALL_UNBLOCK  ? WEIR_WHY_WOKE
						       : WEIR_WHY_ADMITTED);
	/* (Not each wake-up asks for a CPU.) */
	weir_wakes_and_leaves(SCHED, weir_port_cpu(), 0);
	weir_linux_call_over(call);
	NEWS(weir_port_cpu())->entering = 0;
	t = task_of(own);
	live = live_task(t->id);
	own->flags = KNOWN;
	report_cost(call, t->id, start);
	wakes = NEWS(weir_port_cpu())->wakes;
	if (!err && !weir_load(&live->withheld)) {
		COUNT(enqueues);
		if (wakes)
			send((struct task_struct *)ctx[0], t, (s32)wakes - 1, ctx[1], start);
		goto out;
	}
	if (wakes)
		scx_bpf_kick_cpu((s32)wakes - 1, SCX_KICK_IDLE);
	if (err == -WEIR_EAGAIN || (err == -WEIR_ESTATE && call == WEIR_CALL_RELINQUISH))
		/* (A CPU that had chosen it, but where it may not run, has just blocked it.) */
		COUNT(aside_given_up);
	else if (err)
		note_failure(call, err, weir_state(t));
leave:
	if (!err)
		err = TIMED(BLOCK, weir_block(SCHED, weir_port_cpu(), t));
	if (call != WEIR_CALL_BLOCK)
		not_in(t);
	else if (!err)
		take_out(t, 0);
	run_aside((struct task_struct *)ctx[0], ctx[1]);
out:
	go_on();
	return 0;
}

/* --- dispatch --- */

/*
 * Give a task that weir_pick() chose to the kernel. The insertion records the task's present queueing; only then we
 * check whether we still own the task and it may run here. Any later change also changes the queueing, and the kernel
 * drops the insertion. 1: it runs here.
 *
 * If it was chosen in the name of another CPU, which takes no tasks, it runs outside the graph, on any CPU that it may use.
 */
static int hand_over(struct weir_task weir_mem *t, s32 cpu, s32 target)
{
	struct task_struct *p = bpf_task_from_pid((s32)weir_load(&t->cookie));
	struct weir_linux_task *own;
	int done = 0, aside = 0;
	u64 claim;

	if (!p) {
		/* It has ended since; its record is freed when the kernel reports the end. */
		return 0;
	}
	own = of(p);
	if (own && own->task == (u64)t) {
		if (target == cpu) {
			weir_dsq_insert(p, SCX_DSQ_LOCAL, weir_linux_slice(t), 0);
			claim = claim_on(t, cpu);
			done = claim != 0;
			/* The graph does not know affinities, or not this one yet: the task may not run here. */
			aside = done &&
				(!bpf_cpumask_test_cpu(cpu, p->cpus_ptr) || p->migration_disabled);
			if (!done || aside)
				scx_bpf_dispatch_cancel();
		} else {
			claim = claim_on(t, target);
			aside = claim != 0;
		}
		if (aside) {
			/* Its own CPU may remove it at the same time, and let it in again: then it is in the graph. */
			if (TIMED(BLOCK, weir_decline(SCHED, weir_port_cpu(), t, claim)) !=
			    -WEIR_ESTATE) {
				take_out(t, 0);
				own->dirty |= DIRTY_AFFINITY;
				if (done)
					run_aside(p, 0);
				else
					run_anywhere(p);
			}
			done = 0;
		}
	}
	bpf_task_release(p);
	return done;
}

SEC("struct_ops/weir_dispatch")
int weir_dispatch(u64 *ctx)
{
	s32 cpu = (s32)ctx[0];
	struct task_struct *prev;
	struct weir_linux_task *own = 0;
	struct weir_task weir_mem *t = 0;
	u32 turn, target;
	bool here;

	IN_ARENA;
	if (weir_live.request.state == WEIR_LIVE_POSTED)
		serve_loader();
	serve_cpus();
	if (weir_live_u32(any_group_news))
		serve_groups();
	if (!TIMERS_AT_ONCE && weir_live_u32(any_timer_news))
		serve_timers();
	if (weir_load(&NEWS(cpu)->priority)) {
		call_begins(WEIR_CALL_NOTIFY);
		if (!begin_priority_news())
			weir_notify_end(SCHED);
		weir_linux_call_over(WEIR_CALL_NOTIFY);
	}
	if (weir_load(&NEWS(cpu)->gone))
		serve_gone(cpu);
	if (weir_load(&NEWS(cpu)->late))
		serve_late(cpu);
	weir_only_now(cpu);
	prev = (struct task_struct *)ctx[1];
	here = presence_of(cpu) == HERE;
	turn = ++turns[cpu & (WEIR_MAX_CPUS - 1)];
	if ((turn & 1 || !here) && take_aside(cpu))
		return 0;
	if (!here) {
		/* The kernel itself moves its tasks away from here. */
		go_on();
		return 0;
	}
	weir_store(&NEWS(cpu)->start, bpf_ktime_get_ns());
	weir_store(&NEWS(cpu)->ran, 0);
	weir_store(&NEWS(cpu)->target, cpu);
	weir_only_now(prev);
	/*
	 * Its turn is over, but it is still runnable: it competes with waiting tasks, as in every other runtime. A task that
	 * may not leave this CPU now (our own program counts once), or that is ending, stays with the kernel.
	 */
	if (prev && prev->scx.flags & SCX_TASK_QUEUED && prev->migration_disabled <= 1 &&
	    !(prev->flags & PF_EXITING) && !weir_live.leave) {
		own = of(prev);
		if (own && own->task && weir_state(task_of(own)) == WEIR_RUNNING) {
			put_in(task_of(own), weir_load(&NEWS(cpu)->start));
			now_ready(live_task(task_of(own)->id), WEIR_WAIT_RETURNED,
				  weir_load(&NEWS(cpu)->start));
			if (TIMED(RELINQUISH, weir_relinquish(SCHED, cpu, task_of(own)))) {
				not_in(task_of(own));
			} else {
				weir_store(&NEWS(cpu)->ran, own->task);
				COUNT(enqueues);
			}
		}
	}
	if (weir_live_u32(some_gone))
		weir_store(&NEWS(cpu)->target, weir_linux_abandoned(cpu, turn));
	while (weir_loop) {
		weir_only_now(cpu);
		t = TIMED(PICK, weir_pick(SCHED, cpu, weir_load(&NEWS(cpu)->target)));
		target = weir_load(&NEWS(cpu)->target);
		if (!t && target == (u32)cpu)
			break;
		if (!t) {
			rescued(target);
			weir_store(&NEWS(cpu)->target, cpu);
			continue;
		}
		prev = (struct task_struct *)ctx[1];
		if ((u64)t == weir_load(&NEWS(cpu)->ran) && prev) {
			COUNT(kept);
			if (is_out(t, weir_load(&NEWS(cpu)->start)))
				COUNT(dispatches);
			weir_store(&live_task(t->id)->ready_ns, 0);
			weir_set_slice(prev, weir_linux_slice(t));
			break;
		}
		if (hand_over(t, cpu, (s32)weir_load(&NEWS(cpu)->target))) {
			if (is_out(t, weir_load(&NEWS(cpu)->start)))
				COUNT(dispatches);
			break;
		}
		/* It has left the graph anyway: the kernel has it, and enqueues it again if it must return. */
		COUNT(dropped);
		take_out(t, weir_load(&NEWS(cpu)->start));
		if (weir_load(&NEWS(cpu)->target) != (u32)cpu &&
		    NEWS(cpu)->rescued++ == ASIDE_AT_ONCE)
			weir_store(&NEWS(cpu)->target, cpu);
	}
	report_cost(WEIR_CALL_PICK, WEIR_NO_TASK, weir_load(&NEWS(cpu)->start));
	go_on();
	if (t)
		return 0;
	COUNT(empty);
	if (!(turns[cpu & (WEIR_MAX_CPUS - 1)] & 1) && take_aside(cpu))
		return 0;
	prev = (struct task_struct *)ctx[1];
	if (!weir_load(&NEWS(cpu)->ran) && prev && prev->scx.flags & SCX_TASK_QUEUED)
		continues(prev, cpu);
	return 0;
}

SEC("struct_ops/weir_tick")
int weir_tick(u64 *ctx)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_TICK, .cpu = weir_port_cpu() };

	IN_ARENA;
	if (SCHED->graph && SCHED->graph->subs[WEIR_TOPIC_TICK].nr)
		TIMED(NOTIFY, weir_notify(SCHED, msg.cpu, &msg));
	return 0;
}

/*
 * What wakes a task here: the number of a thread, or WEIR_WAKER_*. Without SCX_OPS_ALLOW_QUEUED_WAKEUP the kernel wakes our tasks in
 * the context of the waker.
 */
WEIR_INLINE u32 waker_here(void)
{
	if (!weir_shows_interrupts())
		return WEIR_WAKER_UNKNOWN;
	return weir_in_interrupt() ? WEIR_WAKER_INTERRUPT : (u32)bpf_get_current_pid_tgid();
}

SEC("struct_ops/weir_runnable")
int weir_runnable(u64 *ctx)
{
	struct weir_linux_task *own = of((struct task_struct *)ctx[0]);

	if (own && ctx[1] & SCX_ENQ_WAKEUP) {
		own->flags |= WOKEN;
		own->waker = weir_live.recording ? waker_here() : WEIR_WAKER_UNKNOWN;
	}
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
	u64 now;

	IN_ARENA;
	weir_live_u64(weir_live.cpus[cpu & (WEIR_MAX_CPUS - 1)].curr_pid) = p->pid;
	/* It may run outside the graph, which took the CPU for idle: a kick would not reach it. */
	if (weir_mask_test(SCHED->idle, cpu))
		weir_mask_clear(SCHED->idle, cpu);
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
	/* By whatever path it got here. */
	take_out(t, 0);
	now = bpf_ktime_get_ns();
	if (live->ready_ns) {
		weir_linux_waited(cpu, live->ready_as, now - live->ready_ns);
		weir_store(&live->ready_ns, 0);
	}
	weir_store(&live->started_ns, now);
	report(WEIR_EVENT_RUN, cpu, t->id, p->pid, 0);
	stint_begins(cpu);
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
	weir_live_u64(weir_live.cpus[weir_port_cpu() & (WEIR_MAX_CPUS - 1)].curr_pid) = 0;
	if (!own || !own->task)
		return 0;
	stint_ends(p, task_of(own), ctx[1]);
	live = live_task(task_of(own)->id);
	if (live->started_ns) {
		ran = bpf_ktime_get_ns() - live->started_ns;
		weir_store(&live->run_ns, live->run_ns + ran);
		weir_store(&live->started_ns, 0);
		counters()->busy_ns += ran;
	}
	if (ctx[1])
		stop = own->flags & YIELDED ? WEIR_STOP_YIELD
		       : p->scx.slice	    ? WEIR_STOP_PREEMPTED
					    : WEIR_STOP_SLICE;
	own->flags &= ~YIELDED;
	report(WEIR_EVENT_OFF, weir_port_cpu(), task_of(own)->id, p->pid, stop);
	return 0;
}

/*
 * The task blocks, or changes. There is no dequeue callback: where this callback does not follow, the task is enqueued
 * again at once and is found in the graph. If a CPU chooses it in between, the kernel reports that there is nothing to
 * hand over, and the enqueue puts the task back.
 */
SEC("struct_ops/weir_quiescent")
int weir_quiescent(u64 *ctx)
{
	struct weir_linux_task *own = of((struct task_struct *)ctx[0]);
	struct weir_task weir_mem *t;
	u64 claim;

	IN_ARENA;
	if (!own || !own->task)
		return 0;
	t = task_of(own);
	/* A task that only changes continues to wait. */
	if (ctx[1] & SCX_DEQ_SLEEP)
		weir_store(&live_task(t->id)->ready_ns, 0);
	if (weir_state(t) == WEIR_UNCONSIDERED)
		return 0;
	claim = weir_load(&t->claim);
	if (!TIMED(BLOCK, weir_block(SCHED, weir_port_cpu(), t)))
		take_out(t, 0);
	/* It may not have arrived on the CPU that it was given to, which sleeps and has not announced that. */
	if (weir_claim_state(claim) == WEIR_RUNNING &&
	    (u32)bpf_get_current_pid_tgid() != (u32)((struct task_struct *)ctx[0])->pid)
		scx_bpf_kick_cpu((s32)weir_claim_cpu(claim), SCX_KICK_IDLE);
	go_on();
	return 0;
}

SEC("struct_ops/weir_yield_task")
bool weir_yield_task(u64 *ctx)
{
	struct task_struct *from = (struct task_struct *)ctx[0];
	struct weir_linux_task *own = of(from);

	if (ctx[1])
		return 0; /* a request for a certain successor: the graph decides */
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
	own->dirty |= DIRTY_PRIORITY | DIRTY_POLICY;
	/* The kernel also calls when the task enters the class, with what is known. */
	if (own->urgency != urgency_of(p)) {
		own->urgency = urgency_of(p);
		report_task(p, task_of(own)->id);
	}
	/* A starving task with a low priority may have got a higher one for that reason: report it soon. */
	if (weir_state(task_of(own)) == WEIR_SCHEDULABLE)
		weir_store(&NEWS(weir_port_cpu())->priority, p->pid);
	return 0;
}

SEC("struct_ops/weir_set_cpumask")
int weir_set_cpumask(u64 *ctx)
{
	struct weir_linux_task *own = of((struct task_struct *)ctx[0]);

	/* The kernel dequeues a waiting task before, and enqueues it again after. */
	if (own)
		own->dirty |= DIRTY_AFFINITY;
	return 0;
}

SEC("struct_ops.s/weir_init_task")
s32 weir_init_task(u64 *ctx)
{
	struct scx_init_task_args *args = (struct scx_init_task_args *)ctx[1];
	struct weir_linux_task *own = bpf_task_storage_get(&tasks, (struct task_struct *)ctx[0], 0,
							   BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!own)
		return -12; /* -ENOMEM */
	if (weir_kernel_knows(args->cgroup) && args->cgroup)
		own->group = number_of(id_of(args->cgroup));
	if (args->fork)
		log_fork((struct task_struct *)ctx[0]);
	return 0;
}

/* The task is in our class from now on; unlike in init_task, no other event occurs on this CPU meanwhile. */
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
 * The task leaves our class, or the kernel. It is no longer in a pipe, because it was quiescent before. The next
 * dispatch here frees its record, because the verifier has checked the necessary code there.
 */
SEC("struct_ops/weir_disable")
int weir_disable(u64 *ctx)
{
	struct task_struct *p = (struct task_struct *)ctx[0];
	struct weir_linux_task *own = of(p);
	u32 cpu = weir_port_cpu(), id;
	struct weir_task weir_mem *t;

	IN_ARENA;
	note_class_of(p);
	if (!own || !own->task)
		return 0;
	t = task_of(own);
	id = t->id;
	own->task = 0;
	weir_fetch_add(&weir_live.nr_tasks, (u64)-1);
	if (id >= weir_live.max_tasks)
		return 0;
	weir_store(&live_task(id)->pid, 0);
	take_out(t, 0);
	weir_store(&live_task(id)->ready_ns, 0);
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
	all_groups = weir_alloc_at(SCHED, MAX_GROUPS * sizeof(struct weir_linux_group));
	weir_live.gauges = weir_alloc_at(SCHED, nr * sizeof(struct weir_live_gauge));
	if (!masks || !all_news || !all_groups || !weir_live.gauges || !make_pmus(nr))
		return -12; /* -ENOMEM */
	for (u32 i = 0; i < nr && !err && weir_loop; i++)
		err = scx_bpf_create_dsq(ASIDE(i), -1);
	if (!err)
		err = make_timers();
	if (!err)
		weir_live.attached = 1;
	return err;
}

SEC("struct_ops/weir_exit_scheduler")
int weir_exit_scheduler(u64 *ctx)
{
	struct scx_exit_info *info = (struct scx_exit_info *)ctx[0];

	bpf_probe_read_kernel_str(weir_live.exit_reason, sizeof(weir_live.exit_reason),
				  info->reason);
	bpf_probe_read_kernel_str(weir_live.exit_msg, sizeof(weir_live.exit_msg), info->msg);
	weir_live.exit_code = info->exit_code;
	weir_live.faults = weir_port_faults;
	weir_fence();
	weir_live_u32(weir_live.exit_kind) = info->kind;
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops weir_ops = {
	.cgroup_init = (void *)weir_cgroup_init,
	.cgroup_exit = (void *)weir_cgroup_exit,
	.cgroup_move = (void *)weir_cgroup_move,
	.cgroup_set_weight = (void *)weir_cgroup_set_weight,
	.cgroup_set_bandwidth = (void *)weir_cgroup_set_bandwidth,
	.select_cpu = (void *)weir_select_cpu,
	.enqueue = (void *)weir_enqueue,
	.dispatch = (void *)weir_dispatch,
	.tick = (void *)weir_tick,
	.runnable = (void *)weir_runnable,
	.running = (void *)weir_running,
	.stopping = (void *)weir_stopping,
	.quiescent = (void *)weir_quiescent,
	.yield = (void *)weir_yield_task,
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
