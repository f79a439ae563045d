/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Between a component in Rust and the framework: inline functions of the headers get an address, and the layouts that support.rs writes
 * down are checked. Part of the generated unit.
 */
_Static_assert(__builtin_offsetof(struct weir_step, key) == 0, "support.rs: Step");
_Static_assert(__builtin_offsetof(struct weir_step, urgency) == 8, "support.rs: Step");
_Static_assert(__builtin_offsetof(struct weir_step, gate) == 16, "support.rs: Step");
_Static_assert(__builtin_offsetof(struct weir_step, tie) == 24, "support.rs: Step");
_Static_assert(__builtin_offsetof(struct weir_step, urgent) == 32, "support.rs: Step");
_Static_assert(__builtin_offsetof(struct weir_step, in) == 36, "support.rs: Step");
_Static_assert(__builtin_offsetof(struct weir_step, runs) == 40, "support.rs: Step");
_Static_assert(__builtin_offsetof(struct weir_step, keeps_tie) == 44, "support.rs: Step");
_Static_assert(__builtin_offsetof(struct weir_step, why) == 48, "support.rs: Step");
_Static_assert(__builtin_offsetof(struct weir_step, want) == 52, "support.rs: Step");
_Static_assert(sizeof(struct weir_step) == 56, "support.rs: Step");
_Static_assert(WEIR_ARRIVED == 0 && WEIR_PICKED == 1 && WEIR_LEFT == 2 && WEIR_REVIEW == 3,
	       "support.rs: What");
_Static_assert(WEIR_WHY_ADMITTED == 0 && WEIR_WHY_WOKE == 1 && WEIR_WHY_REQUEUED == 2 &&
		       WEIR_WHY_CAME == 3 && WEIR_WHY_AGAIN == 4 && WEIR_WHY_BLOCKED == 5 &&
		       WEIR_WHY_ENDED == 6 && WEIR_WHY_WENT == 7 && WEIR_WHY_NONE == 8,
	       "support.rs: Why");
_Static_assert(WEIR_WITHHOLD == ~0u && WEIR_KEY_NONE == ~0ull, "support.rs: WITHHOLD, KEY_NONE");
_Static_assert(__builtin_offsetof(struct weir_msg, topic) == 0, "support.rs: Msg");
_Static_assert(__builtin_offsetof(struct weir_msg, cpu) == 4, "support.rs: Msg");
_Static_assert(__builtin_offsetof(struct weir_msg, task) == 8, "support.rs: Msg");
_Static_assert(__builtin_offsetof(struct weir_msg, value) == 16, "support.rs: Msg");
_Static_assert(__builtin_offsetof(struct weir_msg, value2) == 24, "support.rs: Msg");
_Static_assert(__builtin_offsetof(struct weir_msg, data) == 32, "support.rs: Msg");
_Static_assert(sizeof(struct weir_msg) == 40, "support.rs: Msg");
_Static_assert(WEIR_ENOMEM == 1 && WEIR_EINVAL == 2 && WEIR_ENOENT == 5 && WEIR_EPORTS == 10 &&
		       WEIR_EPARAM == 11,
	       "support.rs: Error");

u32 weir_rs_task_id(const struct weir_task *t)
{
	return t->id;
}

void weir_rs_slice(struct weir_task *t, u64 ns)
{
	weir_store(&t->slice_ns, ns);
}

u32 weir_rs_nr(const struct weir_pipe *p)
{
	return weir_pipe_nr(p);
}

int weir_rs_has(const struct weir_pipe *p, const struct weir_task *t)
{
	return weir_pipe_has(p, t);
}

struct weir_task *weir_rs_first(const struct weir_pipe *p)
{
	return p->head;
}

struct weir_task *weir_rs_next(const struct weir_pipe *p, const struct weir_task *t)
{
	return weir_pipe_next(p, t);
}

struct weir_task *weir_rs_member(struct weir_pipe *p, struct weir_task *after)
{
	return (struct weir_task *)weir_member(p, after);
}

u32 weir_rs_nr_in(const struct weir_instance *i)
{
	return i->nr_in;
}

u32 weir_rs_nr_out(const struct weir_instance *i)
{
	return i->nr_out;
}

struct weir_pipe *weir_rs_in(const struct weir_instance *i, u32 port)
{
	return weir_in(i, port);
}

struct weir_pipe *weir_rs_out(const struct weir_instance *i, u32 port)
{
	return weir_out(i, port);
}

void weir_rs_publish(struct weir_instance *i, u32 topic, struct weir_task *t, u32 cpu, u64 value)
{
	weir_publish(i, topic, t, cpu, value);
}

u64 weir_rs_property(const struct weir_instance *i, u32 topic, struct weir_task *t)
{
	return weir_property(i->sched, topic, t);
}

struct weir_pipe *weir_rs_first_allowed(struct weir_instance *i, struct weir_task *t)
{
	return weir_first_allowed(i, weir_affinity(i->sched, t));
}

u64 weir_rs_now(const struct weir_instance *i)
{
	return weir_now(i->sched);
}

void weir_rs_timer(struct weir_instance *i, u64 at_ns)
{
	weir_timer_set(i, at_ns);
}

u64 weir_rs_random(const struct weir_instance *i)
{
	return weir_random(i->sched);
}

void *weir_rs_priv(const struct weir_instance *i, const struct weir_task *t)
{
	return i->per_task ? weir_priv(i, t) : 0;
}

/* As an invariant of the framework that is broken: the fault is the component's. */
void weir_rs_panic(void)
{
	__builtin_trap();
}

/* Components have no library: what the compiler calls for copies. */
void *memcpy(void *to, const void *from, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		((volatile char *)to)[i] = ((const char *)from)[i];
	return to;
}

void *memmove(void *to, const void *from, unsigned long n)
{
	if (to <= from)
		return memcpy(to, from, n);
	while (n--)
		((volatile char *)to)[n] = ((const char *)from)[n];
	return to;
}

void *memset(void *to, int value, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		((volatile char *)to)[i] = (char)value;
	return to;
}

int memcmp(const void *a, const void *b, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		int d = ((const volatile unsigned char *)a)[i] -
			((const volatile unsigned char *)b)[i];

		if (d)
			return d;
	}
	return 0;
}

/* Nothing unwinds. */
void rust_eh_personality(void)
{
}
