/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Preemption at every instruction of the thread library (x86-64): `steps PLAN KIND TIMES SECONDS [SEED]`. KIND is 0 for bound threads, 1 for green ones,
 * 2 for both.
 *
 * A few threads yield, park, lock and disable preemption. Every POSIX thread that holds a CPU runs with the processor's trap flag set, so a handler is called
 * after each instruction, on a stack of its own. It interrupts the thread there: as another CPU does at the policy's word (`resched` and a signal), or as the
 * slice's timer does. The test ends when each instruction of the library that was executed, those of its own handler included, was interrupted TIMES times, or
 * after SECONDS of a processor. With ALL=1 in the environment this includes the core and the components, and 98 % of them must have been. Some signals arrive while an earlier
 * one is handled; with ALL=1 most do, because there are so many instructions, so that a lost request may be hidden by the next one: the form without it finds those.
 *
 * No context may be lost: general, vector and floating-point registers, their modes, flags and errno hold patterns of the thread's own. No request may be
 * lost: a thread does not go on in its own code while its CPU is asked to choose again.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../runtimes/threads/rt.h"

#define NR 3 /* threads of the test */
#define PATIENCE \
	3000u /* instructions of its own that a thread may execute while its CPU is asked to choose again, */
#define STRETCH 8000u	 /* and that it does execute then, without a call of the library */
#define STUCK	8000000u /* instructions without progress */
#define STACK	4194304u /* one frame for each signal within another: thousands of bytes */

#define REQUIRE(cond)                                                                     \
	do {                                                                              \
		if (!(cond)) {                                                            \
			fprintf(stderr, "steps: %s:%d: %s\n", __FILE__, __LINE__, #cond); \
			_exit(1);                                                         \
		}                                                                         \
	} while (0)

static u32 times;
static int avx;
static int all;		   /* the core is of interest, too */
static volatile u32 over;  /* the threads are to end */
static volatile u32 asked; /* a request is outstanding */
static u64 rounds;
static void trace_on(void);

/* --- threads whose contexts can be checked --------------------------------------------------------------------------- */

struct context {
	u64 general[13]; /* rax, rbx, rbp, rsi, r8 to r15, rdi */
	u64 x87;
	u32 mxcsr;
	u16 control, carry;
	u64 low[16][2], high[16][2]; /* of the vector registers */
};

/* Fill all registers by @seed, count @loops down, and store them. */
void steps_pattern(u64 seed, u64 loops, struct context *out, int avx);
extern const char steps_loop[];

#define VECTOR(n, from) "movq %" from ", %xmm" #n "\n\tpinsrq $1, %rdi, %xmm" #n "\n\t"
#define UPPER(n)	"vinsertf128 $1, %xmm" #n ", %ymm" #n ", %ymm" #n "\n\t"
#define STORE(n)	"movdqu %xmm" #n ", 120+16*" #n "(%rdx)\n\t"
#define STORE_UPPER(n)	"vextractf128 $1, %ymm" #n ", 376+16*" #n "(%rdx)\n\t"
#define ALL(what)                                                                                \
	what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8) what(9) what(10) \
		what(11) what(12) what(13) what(14) what(15)

__asm__(".section steps_text, \"ax\", @progbits\n"
	".globl steps_pattern\n"
	"steps_pattern:\n\t"
	"push %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
	"push %rcx\n\tpush %rdi\n\t"
	"fildq (%rsp)\n\t"
	"mov %rcx, %rax\n\tmov %rsi, %rcx\n\ttest %eax, %eax\n\t"
	"lea 1(%rdi), %rax\n\tlea 2(%rdi), %rbx\n\tlea 3(%rdi), %rbp\n\tlea 4(%rdi), %rsi\n\t"
	"lea 5(%rdi), %r8\n\tlea 6(%rdi), %r9\n\tlea 7(%rdi), %r10\n\tlea 8(%rdi), %r11\n\t"
	"lea 9(%rdi), %r12\n\tlea 10(%rdi), %r13\n\tlea 11(%rdi), %r14\n\tlea 12(%rdi), "
	"%r15\n\t" VECTOR(0, "rax") VECTOR(1, "rbx") VECTOR(2, "rbp") VECTOR(3, "rsi") VECTOR(
		4, "r8") VECTOR(5, "r9") VECTOR(6, "r10") VECTOR(7, "r11") VECTOR(8, "r12")
		VECTOR(9, "r13") VECTOR(10, "r14") VECTOR(11, "r15") VECTOR(12, "rax")
			VECTOR(13, "rbx") VECTOR(14, "rbp") VECTOR(15, "rsi") "jz 1f\n\t" ALL(
				UPPER) "1:\tbtq $0, %rdi\n"
				       ".globl steps_loop\nsteps_loop:\n\t"
				       "dec %rcx\n\tjnz steps_loop\n\t"
				       "mov $0, %ecx\n\tsetc %cl\n\tmov %cx, 118(%rdx)\n\t"
				       "mov %rax, 0(%rdx)\n\tmov %rbx, 8(%rdx)\n\tmov %rbp, "
				       "16(%rdx)\n\tmov %rsi, 24(%rdx)\n\t"
				       "mov %r8, 32(%rdx)\n\tmov %r9, 40(%rdx)\n\tmov %r10, "
				       "48(%rdx)\n\tmov %r11, 56(%rdx)\n\t"
				       "mov %r12, 64(%rdx)\n\tmov %r13, 72(%rdx)\n\tmov %r14, "
				       "80(%rdx)\n\tmov %r15, 88(%rdx)\n\t"
				       "mov %rdi, 96(%rdx)\n\t"
				       "fistpq 104(%rdx)\n\tstmxcsr 112(%rdx)\n\tfnstcw "
				       "116(%rdx)\n\t" ALL(
					       STORE) "mov 8(%rsp), %rcx\n\ttest %ecx, %ecx\n\tjz "
						      "3f\n\t" ALL(STORE_UPPER) "vzeroupper\n"
										"3:\tpop "
										"%rdi\n\tpop "
										"%rcx\n\tpop "
										"%r15\n\tpop "
										"%r14\n\tpop "
										"%r13\n\tpop "
										"%r12\n\tpop "
										"%rbx\n\tpop "
										"%rbp\n\t"
										"ret\n"
										".previous\n");

_Static_assert(offsetof(struct context, x87) == 104 && offsetof(struct context, mxcsr) == 112 &&
		       offsetof(struct context, control) == 116 &&
		       offsetof(struct context, carry) == 118 &&
		       offsetof(struct context, low) == 120,
	       "the code has the offsets");

static u32 mxcsr_of(u64 n)
{
	return 0x1f80u | (u32)(n + 1) % 4 << 13;
}

static u16 control_of(u64 n)
{
	return (u16)(0x37f | (n + 1) % 4 << 10);
}

/* Not stepped through, because a third of all steps would be here. */
__attribute__((noinline)) static void check(u64 n, u64 seed, const struct context *c)
{
	for (u64 i = 0; i < 13; i++)
		REQUIRE(c->general[i] == (i < 12 ? seed + 1 + i : seed));
	for (u64 i = 0; i < 16; i++) {
		REQUIRE(c->low[i][0] == seed + 1 + i % 12 && c->low[i][1] == seed);
		REQUIRE(!avx || (c->high[i][0] == seed + 1 + i % 12 && c->high[i][1] == seed));
	}
	REQUIRE(c->x87 == seed && c->carry == (seed & 1));
	REQUIRE(c->mxcsr == mxcsr_of(n) && c->control == control_of(n));
}

static weir_thread *threads[NR];
static weir_mutex mutex;
static u64 plain, total;

static void stretch(u64 n, u64 seed, u64 loops)
{
	struct context c;
	int was = 1000 + (int)n;

	set_errno(was);
	steps_pattern(seed, loops, &c, avx);
	REQUIRE(get_errno() == was);
	check(n, seed, &c);
}

static void disabled(u64 n, u64 seed)
{
	u64 was;

	weir_disable();
	was = weir_thread_deallocations(threads[n]);
	weir_disable();
	stretch(n, seed, 10);
	weir_enable();
	stretch(n, seed + 1, 3);
	REQUIRE(weir_thread_deallocations(threads[n]) == was);
	weir_enable();
}

static void *runs(void *arg)
{
	u64 n = (u64)arg, seed = (n + 1) << 40;
	u32 mxcsr = mxcsr_of(n);
	u16 control = control_of(n);

	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(control));
	while (!over) {
		trace_on();
		stretch(n, ++seed, asked ? STRETCH : 5);
		weir_thread_yield();
		stretch(n, ++seed, asked ? STRETCH : 1);
		disabled(n, ++seed);
		stretch(n, ++seed, asked ? STRETCH : 1);
		weir_mutex_lock(&mutex);
		plain++;
		if (seed % 3 == 0)
			weir_thread_yield();
		weir_mutex_unlock(&mutex);
		__atomic_fetch_add(&total, 1, __ATOMIC_RELAXED);
		if (all && seed / 64 % 2) {
			/* As if it had last run elsewhere: it is pinned before it is woken. */
			if (seed % 5 == 0)
				threads[n]->linux_cpu = ~0u;
			/* CPUs become idle and are woken: the two sleep until thread 0 comes by, and that one until main() does. */
			if (!n) {
				for (int i = 1; i < NR; i++) {
					weir_thread_unpark(threads[i]);
					stretch(n, ++seed, asked ? STRETCH : 1);
				}
			}
			weir_thread_park();
			continue;
		}
		/* With a permit from each other the two do not sleep, as a rule; else thread 0 wakes them when it comes by. */
		if (n && seed % 2) {
			if (seed / 2 % 2)
				weir_thread_unpark(threads[3 - n]);
			weir_thread_park();
		} else if (!n) {
			weir_thread_unpark(threads[1]);
			weir_thread_unpark(threads[2]);
		}
		stretch(n, ++seed, asked ? STRETCH : 1);
		__atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

/* --- after each instruction --------------------------------------------------------------------------------------------- */

extern const char __start_weir_text[], __stop_weir_text[];
extern const char __start_steps_text[], __stop_steps_text[];

static u8 *done;       /* by instruction: 1 + how often it was interrupted */
static u64 executed;   /* instructions of the library that were */
static u64 unfinished; /* of those, not interrupted often enough yet */
static u64 steps, requests, nested, progress, progress_at, until;
static const char *first; /* instruction that is of interest */

/* Processor time of the process, ns. */
static u64 computed(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (u64)at.tv_sec * 1000000000 + (u64)at.tv_nsec;
}

/* Of a POSIX thread. */
static __thread struct {
	int tid;
	u32 own;    /* instructions of its own code since its CPU was asked */
	u32 gap;    /* steps until it may be interrupted again */
	u32 inside; /* the last instruction was of interest, */
	greg_t sp;  /* and the stack pointer after it */
	u32 bait; /* what it does now is the handling of a request that was made for this purpose */
	u64 dice;
	char stack[16384] __attribute__((aligned(64)));
} here;

static u64 first_dice;

static u64 roll(void)
{
	here.dice ^= here.dice << 13;
	here.dice ^= here.dice >> 7;
	here.dice ^= here.dice << 17;
	return here.dice;
}

static void fails(const char *why)
{
	fprintf(stderr, "steps: %s (after %llu steps, %llu requests)\n", why,
		(unsigned long long)steps, (unsigned long long)requests);
	_exit(1);
}

static struct cpu *held(void)
{
	for (u32 i = 0; i < rt.nr_cpus; i++)
		if (__atomic_load_n(&rt.cpus[i].holder, __ATOMIC_SEQ_CST) == here.tid)
			return &rt.cpus[i];
	return 0;
}

static int is_asked(const struct cpu *c)
{
	return weir_load(&c->resched) || weir_load(&c->slice_end) == 1;
}

/* Ask @c, which this thread holds, to choose again. The signal is delivered on the way back to the thread. */
static void ask(struct cpu *c)
{
	siginfo_t info = { .si_signo = rt.signal, .si_code = SI_TIMER };

	__atomic_fetch_add(&requests, 1, __ATOMIC_RELAXED);
	if (asked)
		__atomic_fetch_add(&nested, 1, __ATOMIC_RELAXED);
	asked = 1;
	if (roll() % 2) {
		__atomic_store_n(&c->resched, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_tgkill, getpid(), here.tid, rt.signal);
	} else {
		c->slice_end = 1;
		syscall(SYS_rt_tgsigqueueinfo, getpid(), here.tid, rt.signal, &info);
	}
}

/* An instruction of a thread's own, in a stretch without calls. */
static void own_code(greg_t *regs)
{
	struct cpu *c;
	u32 any = 0, chance;

	if (!asked) {
		/* It has been long enough. */
		if (regs[REG_RIP] == (greg_t)steps_loop && regs[REG_RCX] > 20)
			regs[REG_RCX] = 1;
		/*
		 * How a request is handled is of interest, too. If the core is, a call takes so long that this must be rarer: a call of the library that
		 * begins while a request is outstanding is not interrupted.
		 */
		chance = !all ? 16 : regs[REG_RIP] > (greg_t)steps_loop ? 512 : 64;
		c = roll() % chance ? 0 : held();
		if (c) {
			here.bait = 1;
			here.own = 0;
			here.gap = roll() % 100;
			ask(c);
		}
		return;
	}
	if (here.own++ % 16 != 15)
		return;
	c = held();
	if (c && is_asked(c)) {
		if (here.own > PATIENCE)
			fails("a request to choose again was lost");
		return;
	}
	here.own = 0;
	for (u32 i = 0; i < rt.nr_cpus; i++)
		any |= (u32)is_asked(&rt.cpus[i]);
	asked = any;
}

/*
 * Steps cost microseconds, and most would be in code that is not of interest: the core's and libc's. If that is called from code that is, the return
 * address is replaced by that of steps_back, which begins to step again, and goes on there. It is part of
 * the library for `may_leave()`.
 */
static struct {
	u64 slot; /* (a) where the return address was; 0: free */
	u64 to;
} replaced[64];

void steps_back(void);
__asm__(".section weir_text, \"ax\", @progbits\n"
	"steps_back:\n\t"
	"sub $8, %rsp\n\tpush %rax\n\tpush %rdx\n\tsub $8, %rsp\n\tlea 24(%rsp), %rdi\n\tcall "
	"steps_return\n\t"
	"add $8, %rsp\n\tpop %rdx\n\tpop %rax\n\t"
	"pushfq\n\torq $0x100, (%rsp)\n\tpopfq\n\tret\n"
	".previous\n");

__attribute__((section("weir_text"))) void steps_return(u64 *slot);
void steps_return(u64 *slot)
{
	for (u32 i = 0; i < 64; i++)
		if (weir_load(&replaced[i].slot) == (u64)slot) {
			*slot = replaced[i].to;
			__atomic_store_n(&replaced[i].slot, 0, __ATOMIC_RELEASE);
			return;
		}
	fails("a stack was lost");
}

static int of_interest(u64 pc)
{
	return pc >= (u64)first && pc < (u64)__stop_weir_text;
}

/*
 * Whether a thread that the library sends to @pc keeps its CPU there. It did not in a linkage table between the library and libc: a thread that came back on
 * another CPU went on with the first one's `struct self`, or took the first one's alternate stack along, and two CPUs ran on one stack. By chance, a signal
 * arrived there in two of thirteen runs (ALL=1, green threads, two CPUs, 20 or 30 s each): one crashed, one hung.
 */
static int stays(u64 pc)
{
	const struct self *s = me();

	if ((pc >= (u64)__start_weir_text && pc < (u64)__stop_weir_text) || pc == (u64)runs ||
	    s->disabled || !s->thread || s->thread->kind != WEIR_GREEN)
		return 1;
	for (u32 i = 0; i < rt.nr_keep; i++)
		if (pc >= rt.keep[i].from && pc < rt.keep[i].to)
			return 1;
	return 0;
}

static void skip(greg_t *regs)
{
	u64 *slot = (u64 *)regs[REG_RSP];

	for (u32 i = 0; i < 64; i++)
		if (__sync_bool_compare_and_swap(&replaced[i].slot, 0, (u64)slot)) {
			replaced[i].to = *slot;
			*slot = (u64)steps_back;
			regs[REG_EFL] &= ~0x100ll;
			return;
		}
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	u64 pc = (u64)regs[REG_RIP], n = __atomic_add_fetch(&steps, 1, __ATOMIC_RELAXED);
	int was = errno;
	struct cpu *c;

	(void)sig;
	(void)info;
	if (over) {
		regs[REG_EFL] &= ~0x100ll;
		return;
	}
	if (n % 4096 == 0) {
		u64 now_rounds = weir_load(&rounds);

		if (now_rounds != progress)
			progress_at = n;
		progress = now_rounds;
		if (n - progress_at > STUCK)
			fails("the threads are stuck");
		if ((n > 200000 && !weir_load(&unfinished)) || computed() > until)
			over = 1;
	}
	if (pc >= (u64)__start_steps_text && pc < (u64)__stop_steps_text) {
		own_code(regs);
	} else if (pc == (u64)check && n > 20000) {
		skip(regs);
	} else if (here.inside && !of_interest(pc)) {
		/* Called or jumped to, not returned to. */
		if (regs[REG_RSP] <= here.sp && of_interest(*(u64 *)regs[REG_RSP])) {
			if (!stays(pc))
				fails("the library calls code in which it may be preempted");
			skip(regs);
		}
	} else if (of_interest(pc)) {
		pc -= (u64)__start_weir_text;
		/* Nobody asks a thread that has given its CPU away to choose again. */
		if (!done[pc] && (!all || held())) {
			done[pc] = 1;
			__atomic_fetch_add(&executed, 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&unfinished, 1, __ATOMIC_RELAXED);
		}
		if (here.gap) {
			here.gap--;
		} else if (done[pc] && done[pc] <= times &&
			   (!asked || here.bait || (all && roll() % 4)) && (c = held())) {
			if (++done[pc] > times)
				__atomic_fetch_sub(&unfinished, 1, __ATOMIC_RELAXED);
			/* Then not before the thread is in its own code, which shows that nothing was lost, as a rule. */
			here.bait = all ? roll() % 8 != 0 : roll() % 8 == 0;
			here.gap = roll() % 20;
			here.own = 0;
			ask(c);
		}
	}
	here.inside = of_interest((u64)regs[REG_RIP]);
	here.sp = regs[REG_RSP];
	errno = was;
}

/* In the place of the library's handler: the kernel clears the flag for handlers. */
void steps_entry(int sig, siginfo_t *info, void *context);
__asm__(".section weir_text, \"ax\", @progbits\n"
	"steps_entry:\n\t"
	"pushfq\n\torq $0x100, (%rsp)\n\tpopfq\n\tjmp on_signal\n"
	".previous\n");

/* Step this POSIX thread from here on. Not inlined: its variables have another address on another CPU. */
__attribute__((noinline)) static void trace_on(void)
{
	weir_disable();
	if (!here.tid) {
		stack_t stack = { .ss_sp = here.stack, .ss_size = sizeof(here.stack) };

		here.tid = gettid();
		here.dice = first_dice + (u64)here.tid * 0x9e3779b97f4a7c15ull;
		REQUIRE(!sigaltstack(&stack, 0));
	}
	__asm__ volatile(
		"sub $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
		:
		:
		: "memory", "cc");
	weir_enable();
}

static void on_crash(int sig, siginfo_t *info, void *context)
{
	const greg_t *regs = ((const ucontext_t *)context)->uc_mcontext.gregs;

	fprintf(stderr, "steps: signal %d at %#llx of the library, address %p, stack %#llx\n", sig,
		(unsigned long long)regs[REG_RIP] - (u64)__start_weir_text, info->si_addr,
		(unsigned long long)regs[REG_RSP]);
	fails("the program crashed");
}

static void on_alarm(int sig)
{
	(void)sig;
	fails("the threads do not end");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_step,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
	struct weir_rt_config config = { .slice_ns = 1000000000000ull,
					 .arena_bytes = 64u << 20,
					 .flags = WEIR_RT_OVERSUBSCRIBE | WEIR_RT_PRIVATE };
	int kind;

	if (argc < 5) {
		fprintf(stderr, "usage: steps PLAN KIND TIMES SECONDS [SEED]\n");
		return 2;
	}
	config.plan_file = argv[1];
	kind = atoi(argv[2]);
	times = (u32)atoi(argv[3]);
	first_dice = argc > 5 ? strtoull(argv[5], 0, 0) : 1;
	avx = __builtin_cpu_supports("avx") != 0;
	/* driver.c begins with me(); the core and its components come before. */
	all = getenv("ALL") != 0;
	first = all ? __start_weir_text : (const char *)me;
	done = calloc(1, (size_t)(__stop_weir_text - __start_weir_text));
	REQUIRE(times && times < 250 && done && __builtin_cpu_supports("sse4.1"));
	if (weir_rt_open(&config)) {
		fprintf(stderr, "steps: %s\n", weir_rt_error());
		return 2;
	}
	sigfillset(&action.sa_mask);
	REQUIRE(!sigaction(SIGTRAP, &action, 0));
	action.sa_sigaction = on_crash;
	REQUIRE(!sigaction(SIGSEGV, &action, 0) && !sigaction(SIGILL, &action, 0) &&
		!sigaction(rt.signal, 0, &action));
	action.sa_sigaction = steps_entry;
	REQUIRE(!sigaction(rt.signal, &action, 0));
	signal(SIGALRM, on_alarm);
	until = computed() + (u64)(atof(argv[4]) * 1e9);
	/* On a computer that does other work. */
	alarm((unsigned)atof(argv[4]) * 10 + 60);
	for (u64 i = 0; i < NR; i++) {
		struct weir_thread_attr attr = { .kind = kind == 2 ? (u32)i % 2 : (u32)kind,
						 .stack_bytes = STACK };

		REQUIRE(!weir_thread_create(&threads[i], &attr, runs, (void *)i));
	}
	while (!over) {
		usleep(1000);
		if (all)
			weir_thread_unpark(threads[0]);
	}
	/* Whoever parks is woken, whichever of them ends first. */
	while (__atomic_load_n(&rt.nr_threads, __ATOMIC_ACQUIRE)) {
		for (int i = !all; i < NR; i++)
			weir_thread_unpark(threads[i]);
		usleep(1000);
	}
	for (u64 i = 0; i < NR; i++) {
		void *result;

		REQUIRE(!weir_thread_join(threads[i], &result) && result == (void *)i);
	}
	REQUIRE(plain == total && !weir_rt_check() && !weir_rt_close());
	setvbuf(stdout, 0, _IOLBF, 0);
	printf("     steps: %llu instructions of the library, %llu of them interrupted %u times; "
	       "%llu requests, %llu while another was handled, %llu steps, %llu "
	       "rounds\n",
	       (unsigned long long)executed, (unsigned long long)(executed - unfinished), times,
	       (unsigned long long)requests, (unsigned long long)nested, (unsigned long long)steps,
	       (unsigned long long)rounds);
	/* Rare ones may come too late. */
	if (all && unfinished * 50 > executed)
		fails("too little time for so many instructions");
	return 0;
}
