/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The search. One process, one operating-system thread; a logical thread is a context with its own stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "model.h"
#include <weir/runtime.h>

#define MAX_STEPS   20000u
#define STACK_BYTES (256u << 10)
#define NR_WORDS    4096u		    /* hash table of words; a power of two */
#define MAX_ACTORS  (2 * MODEL_MAX_THREADS) /* threads, then a store buffer for each */
#define NOBODY	    MAX_ACTORS
#define BUFFER	    64u

struct op {
	const volatile void *word;
	const char *what;
	u32 line;
	enum model_kind kind;
	/* MODEL_AWAIT: of the value that must change; a store in a buffer: that is written */
	u32 bytes;
	u64 value;
	/* a wait that ends without success where a thread has stopped and nobody else can go on */
	int bounded;
};

typedef u32 clocks[MAX_ACTORS]; /* 1 + index of the last step known of each */

/* A state on the way: what could be done in it, and what was. Masks are sets of threads and buffers. */
struct step {
	struct op next[MAX_ACTORS];
	u32 enabled;
	u32 todo;  /* to be tried */
	u32 done;  /* tried */
	u32 sleep; /* what leads to nothing new */
	u32 thread;
	u32 preemptions; /* before this step */
};

struct word {
	const volatile void *word;
	u32 run; /* entry is of this run, otherwise empty */
	clocks written;
	clocks read;
};

/* A thread, or what writes its buffered stores to memory, oldest first. */
struct thread {
	ucontext_t context;
	struct op next;
	struct op last_load;
	clocks known;
	u32 cpu;
	int finished;  /* a buffer: it is empty */
	int timed_out; /* its bounded wait ends without success */
	u32 steps;     /* of the present run */
	char *stack;
	u32 first, last; /* of a buffer's stores */
	struct op stores[BUFFER];
	clocks stored[BUFFER]; /* what their thread knew */
};

struct weir_sched *sched;
struct outcome outcome;

static const struct scenario *scenario;
static struct thread threads[MAX_ACTORS];
static struct step steps[MAX_STEPS];
static struct word words[NR_WORDS];
static u32 depth;    /* steps of the present run */
static u32 replay;   /* steps that are given */
static u32 current;  /* thread that runs */
static u32 own_cpu;  /* of set-up and checks */
static int active;   /* a run is under way */
static int complete; /* search mode */
static int buffered; /* stores wait in buffers */
static u32 bound;
/*
 * The search with a thread that stops: the first one takes no step after so many, until the others are through; they have to be,
 * whatever it holds. Then it goes on.
 */
static int stopping;
int model_impatient;
static u32 stop_after;
static int
	hasty; /* no thread stops, but one that would have to wait a bounded time gives up at once */
static u32 first_steps; /* of the first thread, the most that a run of the present search had */
static enum { NOT_STOPPED, STOPPED, RESUMED } stop_phase;
static u32 run;
static ucontext_t home;
static enum { RUN_ENDED, RUN_PRUNED } ending;

/* --- reports ----------------------------------------------------------------------------------- */

static const char *kind_name(enum model_kind kind)
{
	static const char *const names[] = { "read", "write", "lock", "unlock", "await", "fence" };

	return names[kind];
}

static void print_schedule(void)
{
	for (u32 i = 0; i < depth; i++) {
		const struct op *op = &steps[i].next[steps[i].thread];

		u32 owner = steps[i].thread % scenario->nr_threads;

		fprintf(stderr, "  %s%u: %s%s %s :%u %p\n",
			i && steps[i].thread != steps[i - 1].thread ? "-> " : "   ", owner,
			owner == steps[i].thread ? "" : "buffered ", kind_name(op->kind), op->what,
			op->line, (const void *)op->word);
	}
}

void model_fail(const char *what, const char *file, u32 line)
{
	active = 0;
	fprintf(stderr, "model: %s: %s (%s:%u) after this schedule:\n", scenario->name, what, file,
		line);
	print_schedule();
	exit(3);
}

void weir_port_fail(const char *what, const char *file, u32 line)
{
	model_fail(what, file, line);
}

/* --- the runtime --------------------------------------------------------------------------------- */

u64 weir_rt_now(struct weir_sched *s)
{
	(void)s;
	return 0;
}

void weir_rt_message(struct weir_sched *s, const struct weir_msg *msg)
{
	(void)s;
	if (msg->topic == WEIR_TOPIC_KICK) {
		outcome.kicks[msg->cpu]++;
		outcome.kicked_for[msg->cpu] = msg->task;
	} else {
		outcome.preempts[msg->cpu]++;
	}
}

void weir_rt_timer(struct weir_sched *s, u32 instance, u64 at_ns)
{
	(void)s;
	(void)instance;
	(void)at_ns;
}

u32 weir_port_cpu(void)
{
	return active ? threads[current].cpu : own_cpu;
}

void weir_port_set_cpu(u32 cpu)
{
	if (active)
		threads[current].cpu = cpu;
	else
		own_cpu = cpu;
}

/* --- what depends on what ------------------------------------------------------------------------ */

static u32 nr_actors(void)
{
	return scenario->nr_threads * (buffered ? 2 : 1);
}

/* The store buffer of a thread; null for a buffer, and where there are none. */
static struct thread *buffer_of(struct thread *t)
{
	return buffered && t < threads + scenario->nr_threads ? t + scenario->nr_threads : 0;
}

static int is_buffer(const struct thread *t)
{
	return t >= threads + scenario->nr_threads;
}

/* The buffer has to be empty before it. */
static int drains(const struct op *op)
{
	return op->kind == MODEL_WRITE || op->kind == MODEL_LOCK || op->kind == MODEL_FENCE;
}

static int writes(const struct op *op)
{
	return op->kind != MODEL_READ && op->kind != MODEL_AWAIT;
}

static int dependent(const struct op *a, const struct op *b)
{
	return a->word == b->word && (writes(a) || writes(b));
}

static u64 value_of(const struct op *op)
{
	switch (op->bytes) {
	case 1:
		return *(const volatile u8 *)op->word;
	case 4:
		return *(const volatile u32 *)op->word;
	default:
		return *(const volatile u64 *)op->word;
	}
}

/* It need not wait. */
static int may_go_on(const struct thread *t)
{
	if (t->next.kind == MODEL_LOCK)
		return !*(const volatile u32 *)t->next.word;
	return t->next.kind != MODEL_AWAIT || value_of(&t->next) != t->next.value;
}

static int is_enabled(struct thread *t)
{
	const struct thread *buffer = buffer_of(t);

	if (t->finished || (buffer && drains(&t->next) && !buffer->finished))
		return 0;
	if (stopping && t == threads && stop_phase != RESUMED && t->steps >= stop_after)
		return 0;
	return t->timed_out || (hasty && t->next.bounded) || may_go_on(t);
}

static struct word *word_of(const volatile void *p)
{
	u32 at = (u32)((u64)p >> 2) * 2654435761u >> 20;

	while (words[at % NR_WORDS].run == run && words[at % NR_WORDS].word != p)
		at++;
	at %= NR_WORDS;
	if (words[at].run != run)
		words[at] = (struct word){ .word = p, .run = run };
	return &words[at];
}

static void join(clocks to, const clocks from)
{
	for (u32 i = 0; i < MODEL_MAX_THREADS; i++)
		if (from[i] > to[i])
			to[i] = from[i];
}

/* The step happens: what came before it in every equivalent schedule. */
static void advance_clocks(struct thread *t, u32 index)
{
	struct word *w = word_of(t->next.word);

	if (buffer_of(t) && drains(&t->next))
		join(t->known, buffer_of(t)->known);
	join(t->known, w->written);
	if (writes(&t->next))
		join(t->known, w->read);
	t->known[t - threads] = index + 1;
	if (writes(&t->next))
		memcpy(w->written, t->known, sizeof(clocks));
	join(w->read, t->known);
}

/* --- the complete search --------------------------------------------------------------------------- */

/* The last step that could as well have come after @t's next one: that order is to be tried too. */
static void find_race(struct thread *t)
{
	u32 p = t - threads;
	clocks known;

	if (t->finished || t->next.kind == MODEL_UNLOCK)
		return;
	memcpy(known, t->known, sizeof(clocks));
	if (buffer_of(t) && drains(&t->next))
		join(known, buffer_of(t)->known);
	for (u32 i = depth; i-- > 0;) {
		struct step *s = &steps[i];
		const struct op *op = &s->next[s->thread];

		if (s->thread == p || !dependent(op, &t->next) || i < known[s->thread])
			continue;
		/* Never possible in the same state as taking the lock. */
		if (op->kind == MODEL_UNLOCK && t->next.kind == MODEL_LOCK)
			continue;
		/* A store reaches its buffer by steps of its thread, so that one does not stand for both. */
		if (s->enabled >> p & 1 && !buffered)
			s->todo |= 1u << p;
		else
			s->todo |= s->enabled;
		return;
	}
}

static u32 lowest(u32 set)
{
	return (u32)__builtin_ctz(set);
}

/* In a new state: which thread to let go on. NOBODY: all that is left has been seen elsewhere. */
static u32 choose_complete(struct step *s)
{
	u32 open;

	if (depth) {
		const struct step *before = s - 1;
		u32 asleep = (before->sleep | before->done) & ~(1u << before->thread);

		for (u32 i = 0; i < nr_actors(); i++)
			if (asleep >> i & 1 &&
			    !dependent(&before->next[i], &before->next[before->thread]))
				s->sleep |= 1u << i;
	}
	for (u32 i = 0; i < nr_actors(); i++)
		find_race(&threads[i]);
	open = s->enabled & ~s->sleep;
	if (!open)
		return NOBODY;
	s->thread = depth && open >> s[-1].thread & 1 ? s[-1].thread : lowest(open);
	s->todo |= 1u << s->thread;
	return s->thread;
}

static int next_complete(void)
{
	while (depth-- > 0) {
		struct step *s = &steps[depth];
		u32 open = s->todo & s->enabled & ~s->done & ~s->sleep;

		if (!open)
			continue;
		s->thread = lowest(open);
		replay = depth + 1;
		return 1;
	}
	return 0;
}

/* --- the bounded search ---------------------------------------------------------------------------- */

/* Letting @thread go on instead of the last one, which could, costs a preemption. */
static u32 cost_of(const struct step *s, u32 thread)
{
	return s > steps && s[-1].thread != thread && s->enabled >> s[-1].thread & 1;
}

static u32 choose_bounded(struct step *s)
{
	s->preemptions = depth ? s[-1].preemptions + cost_of(s - 1, s[-1].thread) : 0;
	s->thread = depth && s->enabled >> s[-1].thread & 1 ? s[-1].thread : lowest(s->enabled);
	return s->thread;
}

static int next_bounded(void)
{
	while (depth-- > 0) {
		struct step *s = &steps[depth];

		for (u32 i = 0; i < scenario->nr_threads; i++) {
			if (!(s->enabled & ~s->done & 1u << i) ||
			    s->preemptions + cost_of(s, i) > bound)
				continue;
			s->thread = i;
			replay = depth + 1;
			return 1;
		}
	}
	return 0;
}

/* --- runs ------------------------------------------------------------------------------------------- */

static u32 enabled_now(void)
{
	u32 enabled = 0;

	for (u32 i = 0; i < nr_actors(); i++)
		enabled |= (u32)is_enabled(&threads[i]) << i;
	return enabled;
}

/* Nobody can go on: where a thread has stopped, the waits of the others end; when these are through, it goes on. */
static u32 unblock_somebody(void)
{
	u32 waiting = 0;

	if (!stopping || stop_phase == RESUMED)
		return 0;
	stop_phase = STOPPED;
	for (u32 i = 1; i < scenario->nr_threads; i++) {
		if (threads[i].finished)
			continue;
		waiting++;
		threads[i].timed_out = threads[i].next.bounded;
	}
	if (waiting)
		return enabled_now();
	active = 0;
	if (!hasty)
		scenario->stopped();
	active = 1;
	stop_phase = RESUMED;
	return enabled_now();
}

/* The thread whose turn it is, or NOBODY when the run is over. */
static u32 decide(void)
{
	struct step *s = &steps[depth];
	u32 enabled = enabled_now(), finished = 0;

	if (depth >= MAX_STEPS)
		model_fail("the schedule does not end", __FILE__, __LINE__);
	for (u32 i = 0; i < nr_actors(); i++)
		finished += threads[i].finished != 0;
	if (!enabled && finished != nr_actors())
		enabled = unblock_somebody();
	if (depth >= replay) {
		memset(s, 0, sizeof(*s));
		s->enabled = enabled;
		s->thread = NOBODY;
		for (u32 i = 0; i < nr_actors(); i++)
			s->next[i] = threads[i].next;
		ending = RUN_ENDED;
		if (finished == nr_actors())
			return NOBODY;
		if (!enabled)
			model_fail("deadlock", __FILE__, __LINE__);
		ending = RUN_PRUNED;
		if ((complete ? choose_complete(s) : choose_bounded(s)) == NOBODY)
			return NOBODY;
	} else if (s->enabled != enabled) {
		model_fail("a replayed schedule went another way", __FILE__, __LINE__);
	}
	s->done |= 1u << s->thread;
	threads[s->thread].steps++;
	if (hasty && threads[s->thread].next.bounded && !may_go_on(&threads[s->thread]))
		threads[s->thread].timed_out = 1;
	if (complete)
		advance_clocks(&threads[s->thread], depth);
	depth++;
	return s->thread;
}

/* The oldest store of the buffer is what it does next. */
static void look_ahead(struct thread *buffer)
{
	buffer->finished = buffer->first == buffer->last;
	if (buffer->finished)
		return;
	buffer->next = buffer->stores[buffer->first % BUFFER];
	join(buffer->known, buffer->stored[buffer->first % BUFFER]);
}

static void write_back(struct thread *buffer)
{
	const struct op *op = &buffer->stores[buffer->first++ % BUFFER];

	switch (op->bytes) {
	case 4:
		*(volatile u32 *)op->word = (u32)op->value;
		break;
	default:
		weir_assert(op->bytes == 8);
		*(volatile u64 *)op->word = op->value;
		break;
	}
	look_ahead(buffer);
}

/* Buffers take their turns here, threads in their contexts. */
static u32 next_thread(void)
{
	u32 next = decide();

	while (next != NOBODY && is_buffer(&threads[next])) {
		write_back(&threads[next]);
		next = decide();
	}
	return next;
}

static void go_on(u32 self)
{
	u32 next = next_thread();

	if (next == self)
		return;
	current = next;
	swapcontext(&threads[self].context, next == NOBODY ? &home : &threads[next].context);
}

static void announce(struct op op)
{
	u32 self = current;

	threads[self].next = op;
	go_on(self);
}

void model_point(const volatile void *word, enum model_kind kind, const char *what, u32 line)
{
	if (active)
		announce((struct op){ .word = word, .what = what, .line = line, .kind = kind });
	else if (kind == MODEL_LOCK)
		weir_assert(!*(const volatile u32 *)word);
}

int model_store(volatile void *word, u32 bytes, u64 value, enum model_kind kind, const char *what,
		u32 line)
{
	struct thread *buffer = active ? buffer_of(&threads[current]) : 0;

	if (!buffer) {
		model_point(word, kind, what, line);
		return 0;
	}
	weir_assert(buffer->last - buffer->first < BUFFER);
	buffer->stores[buffer->last % BUFFER] = (struct op){ .word = word,
							     .what = what,
							     .line = line,
							     .kind = kind,
							     .bytes = bytes,
							     .value = value };
	memcpy(buffer->stored[buffer->last % BUFFER], threads[current].known, sizeof(clocks));
	buffer->last++;
	if (buffer->finished)
		look_ahead(buffer);
	return 1;
}

int model_forward(const volatile void *word, u64 *value)
{
	struct thread *buffer = active ? buffer_of(&threads[current]) : 0;

	*value = 0;
	for (u32 i = buffer ? buffer->last : 0; buffer && i > buffer->first; i--) {
		if (buffer->stores[(i - 1) % BUFFER].word != word)
			continue;
		*value = buffer->stores[(i - 1) % BUFFER].value;
		return 1;
	}
	return 0;
}

void model_fence(u32 line)
{
	if (active && buffered)
		announce((struct op){ .word = &threads[current],
				      .what = "fence",
				      .line = line,
				      .kind = MODEL_FENCE });
}

void model_loaded(const volatile void *word, u32 bytes, u64 value)
{
	if (active)
		threads[current].last_load = (struct op){ .word = word,
							  .what = "spin",
							  .kind = MODEL_AWAIT,
							  .bytes = bytes,
							  .value = value };
}

/* A wait that may end without success. 1: with it. */
static int wait_bounded(struct op op)
{
	u32 self = current;

	op.bounded = 1;
	announce(op);
	if (!threads[self].timed_out)
		return 1;
	threads[self].timed_out = 0;
	return 0;
}

int model_relax(void)
{
	weir_assert(active);
	return wait_bounded(threads[current].last_load);
}

int model_patient_lock(const volatile void *word, u32 line)
{
	if (active)
		return wait_bounded((struct op){
			.word = word, .what = "lock", .line = line, .kind = MODEL_LOCK });
	return !*(const volatile u32 *)word;
}

/* First thing in a thread: a step of its own on a word of its own, so that every thread has a next step. */
static void body(void)
{
	u32 self = current;

	scenario->thread[self]();
	threads[self].finished = 1;
	threads[self].next = (struct op){ .word = &threads[self], .what = "end" };
	go_on(self);
}

static void start_thread(struct thread *t)
{
	char *stack = t->stack ? t->stack : malloc(STACK_BYTES);

	memset(t->known, 0, sizeof(clocks));
	t->stack = stack;
	t->next = (struct op){ .word = t, .what = "begin" };
	t->first = 0;
	t->last = 0;
	t->timed_out = 0;
	t->steps = 0;
	t->finished = is_buffer(t);
	if (t->finished)
		return;
	getcontext(&t->context);
	t->context.uc_stack.ss_sp = stack;
	t->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&t->context, body, 0);
}

/* --- searches ---------------------------------------------------------------------------------------- */

static char *snapshot;
static u64 snapshot_bytes;

static void restore(void)
{
	u64 used = sched->used;

	memcpy(sched, snapshot, snapshot_bytes);
	if (used > snapshot_bytes)
		memset((char *)sched + snapshot_bytes, 0, used - snapshot_bytes);
	memset(&outcome, 0, sizeof(outcome));
}

/* What we have computed for: a search sees as much on a busy computer. */
static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * Final states, by hash: two schedules that differ in the order of what commutes end in the same one, so
 * the complete search must meet every state that the bounded one met. That tests the checker itself.
 */
#define NR_STATES (1u << 16)
struct states {
	u64 hash[NR_STATES];
	u32 nr;
};

static struct states seen[3]; /* bounded, complete, with store buffers */

/* FNV-1a over words (Fowler, Noll and Vo). */
static u64 state_hash(void)
{
	const u64 *word = (const u64 *)sched;
	u64 h = 0xcbf29ce484222325ull;

	for (u64 i = 0; i < sched->used / 8; i++)
		h = (h ^ word[i]) * 0x100000001b3ull;
	return h ? h : 1;
}

/* 1: it is there already. */
static int state_find(struct states *all, u64 hash, int add)
{
	u32 at = (u32)(hash >> 32) % NR_STATES;

	while (all->hash[at] && all->hash[at] != hash)
		at = (at + 1) % NR_STATES;
	if (all->hash[at])
		return 1;
	if (add && all->nr < NR_STATES / 2) {
		all->hash[at] = hash;
		all->nr++;
	}
	return 0;
}

static void compare_states(void)
{
	for (u32 i = 0; i < NR_STATES; i++)
		if (seen[0].hash[i] && !state_find(&seen[1], seen[0].hash[i], 0))
			model_fail("the complete search missed a final state", __FILE__, __LINE__);
}

struct tally {
	u64 schedules;
	u64 pruned;
	u32 longest;
	int finished; /* the whole space was seen */
};

static void check(void)
{
	int line;

	active = 0;
	/* What a call gave up is left to the next ones, which the scenario makes. */
	if (stopping)
		scenario->check();
	line = weir_check(sched);
	if (line) {
		fprintf(stderr, "model: core/src/check.c:%d does not hold\n", line);
		model_fail("weir_check", __FILE__, __LINE__);
	}
	REQUIRE(!sched->faults && !sched->lost_messages);
	if (!stopping)
		scenario->check();
}

static struct tally search(double until)
{
	struct tally n = { .finished = 1 };
	int more = 1;

	replay = 0;
	while (more) {
		restore();
		for (u32 i = 0; i < nr_actors(); i++)
			start_thread(&threads[i]);
		depth = 0;
		run++;
		stop_phase = NOT_STOPPED;
		active = 1;
		current = next_thread();
		swapcontext(&home, &threads[current].context);
		active = 0;
		if (depth > n.longest)
			n.longest = depth;
		if (threads[0].steps > first_steps)
			first_steps = threads[0].steps;
		if (ending == RUN_ENDED) {
			state_find(&seen[complete + buffered], state_hash(), 1);
			check();
			n.schedules++;
		} else {
			n.pruned++;
		}
		more = complete ? next_complete() : next_bounded();
		if (more && (n.schedules + n.pruned) % 64 == 0 && seconds() > until) {
			n.finished = 0;
			break;
		}
	}
	return n;
}

static void prepare(void)
{
	printf("%-28s", scenario->name);
	fflush(stdout);
	memset(seen, 0, sizeof(seen));
	depth = 0;
	scenario->setup();
	snapshot_bytes = sched->used;
	snapshot = realloc(snapshot, snapshot_bytes);
	memcpy(snapshot, sched, snapshot_bytes);
	complete = 0;
	buffered = 0;
}

/* What is known of the bounds so far: the next one takes as many times longer than the last one as that took longer than its predecessor. */
struct growth {
	u64 before, last; /* schedules */
	double took;	  /* by the last one */
};

/* --finish: begin no bound that will hardly be finished in time. */
static int only_whole;

static int may_begin(const struct growth *g, double until)
{
	double times = g->before ? (double)g->last / (double)g->before : 1;

	return !only_whole || seconds() + g->took * times <= until;
}

static void has_grown(struct growth *g, u64 schedules, double began)
{
	g->before = g->last;
	g->last = schedules;
	g->took = seconds() - began;
}

/* The first thread stops before each of its steps in turn. How many have been tried; @points: how many there are. */
static struct tally search_stops(double until, u32 *points)
{
	struct tally all = { .finished = 1 };

	for (stop_after = 0; stop_after <= *points || !bound; stop_after++) {
		struct tally n;

		first_steps = 0;
		n = search(until);
		all.schedules += n.schedules;
		all.finished &= n.finished;
		/* It was through before it could stop. */
		if (!bound && first_steps < stop_after)
			break;
		if (!bound)
			*points = stop_after;
	}
	return all;
}

/* A stop at each step with up to two more switches, then haste with more and more of them, as far as the time allows. */
static u64 explore_stops(double budget)
{
	double start = seconds();
	struct growth g = { 0 };
	u64 total = 0;
	u32 points = 0, most = 0;

	prepare();
	stopping = 1;
	model_impatient = 1;
	for (bound = 0; bound < 3 && (!bound || may_begin(&g, start + budget * (bound + 1)));
	     bound++) {
		double began = seconds();
		struct tally n = search_stops(start + budget * (bound + 1), &points);

		total += n.schedules;
		has_grown(&g, n.schedules, began);
		if (!n.finished)
			break;
		most = bound;
	}
	printf(" %8llu with a stop at each of %u steps and up to %u preemptions,",
	       (unsigned long long)total, points, most);
	fflush(stdout);
	hasty = 1;
	stop_after = ~0u;
	most = 0;
	g = (struct growth){ 0 };
	for (bound = 0; bound < 6 && may_begin(&g, start + budget * 5); bound++) {
		double began = seconds();
		struct tally n = search(start + budget * 5);
		int whole = bound && n.schedules == g.last;

		total += n.schedules;
		has_grown(&g, n.schedules, began);
		if (!n.finished)
			break;
		most = bound;
		if (whole)
			break;
	}
	hasty = 0;
	stopping = 0;
	model_impatient = 0;
	printf(" in haste up to %u, %.1f s\n", most, seconds() - start);
	return total;
}

/* Bounded with a growing bound for a third of the time, then complete. */
static u64 explore(double budget)
{
	double start = seconds();
	struct tally n = { 0 };
	struct growth g = { 0 };
	u64 total = 0;
	int whole;

	prepare();
	for (bound = 0; bound < 12 && may_begin(&g, start + budget / 3); bound++) {
		double began = seconds();
		struct tally b = search(start + budget / 3);

		total += b.schedules;
		has_grown(&g, b.schedules, began);
		if (!b.finished)
			break;
		whole = bound && b.schedules == n.schedules;
		n = b;
		if (whole)
			break;
	}
	printf(" %8llu up to %2u preemptions,", (unsigned long long)n.schedules, bound - 1);
	complete = 1;
	n = search(start + budget);
	total += n.schedules;
	if (n.finished)
		compare_states();
	printf(" %6llu %s, %3u states,", (unsigned long long)n.schedules,
	       n.finished ? "complete" : "cut off", seen[1].nr);
	fflush(stdout);
	buffered = 1;
	n = search(seconds() + budget);
	total += n.schedules;
	printf(" %6llu with buffers%s, %3u states, %3u steps, %.1f s\n",
	       (unsigned long long)n.schedules, n.finished ? "" : ", cut off", seen[2].nr,
	       n.longest, seconds() - start);
	return total;
}

/* model [--finish] [seconds of CPU time per scenario [scenario]]; model list */
int main(int argc, char **argv)
{
	double budget;
	u64 total = 0;
	u32 nr = 0;

	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (u32 i = 0; i < nr_scenarios; i++)
			puts(scenarios[i].name);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "--finish")) {
		only_whole = 1;
		argc--;
		argv++;
	}
	budget = argc > 1 ? atof(argv[1]) : 4;
	for (u32 i = 0; i < nr_scenarios; i++) {
		if (argc > 2 && strcmp(argv[2], scenarios[i].name) != 0)
			continue;
		scenario = &scenarios[i];
		total += scenario->stopped ? explore_stops(budget) : explore(budget);
		nr++;
	}
	printf("model: %u scenarios, %llu schedules, all as required\n", nr,
	       (unsigned long long)total);
	return !nr;
}
