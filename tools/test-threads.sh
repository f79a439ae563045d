#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Runtimes in C. Flat plans: every topology of the catalogue, run, and damaged in many ways under AddressSanitizer. The thread
# library: both kinds of thread under several policies, then bound ones under ThreadSanitizer.
#
#   tools/test-threads.sh [seconds of each timed test, 0.2 by default]
#
# WEIR_LONG=1: 100,000 swaps under load, signals at every instruction of the core and of the library, and Valgrind, too.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-0.2}
cc=${CC:-gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tools/programs.sh
debug=$(realpath "${CARGO_TARGET_DIR:-target}")/debug
"$debug/weir-glue" plain . >"$work/unit.c"
flags=(-std=gnu11 -D_GNU_SOURCE -g1 -fno-strict-aliasing -Wall -Wextra -Werror -Wno-unused-parameter -ftls-model=initial-exec -Icore/include
	-Icore/port/native -Icore/src -Iruntimes/threads/include)
# What build.sh makes the library of, but for the unit.
library=(core/port/native/{port,host}.c runtimes/multikernel/{plan,manifest,controller,planner}.c
	runtimes/threads/{allot,driver,foreign,gang,trace,status,tasks,thread,sync,events,open,overflow,join,serve,switch,watch}.c)
compile() { "$debug/runweir" compile "$@" -q 2>/dev/null; }
# Kernels with much randomisation do not always leave room for a sanitizer's shadow memory.
plainly=()
setarch -R true 2>/dev/null && plainly=(setarch -R)

# --- plans ------------------------------------------------------------------------------------------

mkdir "$work/plans" "$work/policies"
nr=0
for file in topologies/*.weir; do
	for machine in smp-1 smp-4; do
		name=$(basename "$file" .weir)
		compile "$name" -m $machine -o "$work/plans/$name-$machine.plan" && nr=$((nr + 1))
	done
done
((nr > 100)) || { echo "FAIL only $nr plans were compiled" && exit 1; }
"$cc" "${flags[@]}" -O1 -fsanitize=address -o "$work/plan" "$work/unit.c" core/port/native/{port,host}.c \
	runtimes/multikernel/plan.c tests/threads/plan.c
"${plainly[@]}" "$work/plan" 60 "$work"/plans/*.plan
echo "ok   flat plans"

# --- threads ----------------------------------------------------------------------------------------

for name in decentral priority central linux worksteal edf gang tenants; do
	compile $name -m smp-3 -o "$work/policies/$name.plan"
done
echo 'entry -> round_robin(slice = 1ms) -> cpus;' >"$work/rr1.weir"
compile "$work/rr1.weir" -m smp-1 -o "$work/policies/rr1.plan"
compile accelerator -m accel-2x2 -o "$work/policies/accelerator.plan"
compile priority -m smp-1 -o "$work/policies/priority1.plan"
compile decentral -m smp-1024 -o "$work/policies/wide.plan"

OPT=1 CC="$cc" runtimes/threads/build.sh "$work/unit.c" "$work/lib"
"$cc" "${flags[@]}" -O2 -o "$work/threads" tests/threads/threads.c "$work/lib/libweir_threads.a" -lpthread
"$work/threads" "$work/policies" "$seconds"
# The example of a foreign CPU.
"$cc" "${flags[@]}" -O2 -o "$work/foreign" runtimes/threads/examples/foreign.c "$work/lib/libweir_threads.a" -lpthread
[[ $("$work/foreign" "$work/policies/accelerator.plan") == "8 rows summed by CPU 2, 0 wrong" ]]
[[ ${WEIR_LONG:-} ]] && SWAPS=100000 "$work/threads" "$work/policies" "$seconds" swap
# The same as a shared library, whose code lies elsewhere.
"$cc" "${flags[@]}" -O2 -o "$work/shared" tests/threads/threads.c -L"$work/lib" -lweir_threads -Wl,-rpath,"$work/lib" -lpthread
"$work/shared" "$work/policies" "$seconds" preemption swap
# The way from the library to libc has no code between them, in which a green thread could leave its CPU.
if comm -12 <(readelf -rW "$work/lib/weir_threads.o" | awk '$3 == "R_X86_64_PLT32" { print $5 }' | sort -u) \
	<(nm -u "$work/lib/weir_threads.o" | awk '{ print $2 }' | sort -u) | grep .; then
	echo "FAIL the library calls these by way of a linkage table" && exit 1
fi
if nm -D --defined-only "$work/lib/libweir_threads.so" | awk '{ print $3 }' | grep -v '^weir_'; then
	echo "FAIL the library exports other names" && exit 1
fi

# A signal at every instruction, and mistakes in the library that this has to find: name, file, what sed does to it.
if [[ $(uname -m) == x86_64 ]]; then
	echo 'entry -> round_robin(slice = 1s) -> cpus;' >"$work/long.weir"
	for cpus in 1 2; do compile "$work/long.weir" -m smp-$cpus -o "$work/long$cpus.plan"; done
	mkdir "$work/steps"
	object() { "$cc" "${flags[@]}" -O2 -fvisibility=hidden -fno-plt -fno-reorder-functions -fno-reorder-blocks-and-partition -iquote runtimes/threads "${@:3}" -c -o "$work/steps/$1.o" "$2"; }
	object unit "$work/unit.c" -O1
	parts=(unit)
	for file in "${library[@]}"; do
		parts+=("$(basename "$file" .c)")
		object "${parts[-1]}" "$file"
	done
	program_of_steps() { # OUT
		ld -r -o "$work/steps/all.o" "${parts[@]/#/$work/steps/}" && objcopy --rename-section .text=weir_text,alloc,load,readonly,code,contents "$work/steps/all.o"
		"$cc" "${flags[@]}" -O2 -o "$1" tests/threads/steps.c "$work/steps/all.o" -lpthread
	}
	parts=("${parts[@]/%/.o}")
	program_of_steps "$work/stepped"
	mutant() { # NAME FILE SED PLAN KIND [FLAG]
		cp "runtimes/threads/$2.c" "$work/steps/$2.c"
		sed -i -e "$3" -e 's|"../multikernel/|"'"$PWD"'/runtimes/multikernel/|' "$work/steps/$2.c"
		object mutant "$work/steps/$2.c" "${@:6}"
		(parts=("${parts[@]/#$2.o/mutant.o}") && program_of_steps "$work/mutant")
		if timeout 700 "$work/mutant" "$4" "$5" 3 60 >"$work/said" 2>&1; then
			echo "FAIL steps: not found: $1" && exit 1
		fi
		! grep -q 'do not end' "$work/said"
	}
	mutant 'a request between the look at `pending` and the end of `disabled` is lost' driver \
		'/^void release_as/,/^}/s/	if (--s->disabled == 0 && s->pending)/	u32 pending = s->pending;\n\n	if (--s->disabled == 0 \&\& pending)/' "$work/long1.plan" 1
	mutant 'the mode of the vector unit is lost in a switch' switch 's/ldmxcsr (%rsp)/nop/' "$work/long1.plan" 1
	mutant 'a linkage table between the library and libc' driver '' "$work/long2.plan" 1 -fplt
	if [[ ${WEIR_LONG:-} ]]; then
		mutant 'a request during the handling of another is lost' driver \
			'/^static void handled/,/^}/{s/	obey();//;s/	if (s->pending)/	if (0)/}' "$work/long1.plan" 1
		# It goes to the bound thread that has just left the CPU to the driver, so there must be both kinds.
		mutant 'a request before a thread has arrived is lost' driver '/^WEIR_INLINE void green_begin/,/^}/s/s->pending = 1;/{ }/' "$work/long1.plan" 2
		mutant 'errno is that of another thread' driver \
			'/^static struct self \*green_next/,/^}/s/\*s->error = was;/(void)was;/;/^void on_signal/,/^}/s/set_errno(was);/(void)was;/' "$work/long2.plan" 1
		mutant 'threads leave the code of the library' driver '/^static int may_leave/,/^}/s/(u64)__start_weir_text/NEVER/' "$work/long2.plan" 1
		for kind in 0 1 2; do
			for cpus in 1 2; do ALL=1 "$work/stepped" "$work/long$cpus.plan" $kind 2 60 $((kind + 1)); done
		done
	else
		"$work/stepped" "$work/long1.plan" 0 1 4
		"$work/stepped" "$work/long2.plan" 1 1 6
	fi
	echo "ok   threads, a signal at every instruction"
else
	echo "skip a signal at every instruction: for x86-64 only"
fi

# Under Valgrind. It runs one thread at a time, so gangs, idleness and latencies are not what they are; it loses the thread-local variables of a green thread that
# is preempted on one CPU and goes on on another.
if [[ ${WEIR_LONG:-} ]] && command -v valgrind >/dev/null; then
	checked() { timeout 600 valgrind -q --error-exitcode=9 --fair-sched=yes "$work/threads" "$work/policies" 2 "$@"; }
	NO_GREEN=1 checked create mutex semaphore condition barrier channel preemption priority hand-over disable files sleep swap words trace status refusals
	COOPERATIVE=1 checked create crossing mutex semaphore condition barrier channel hand-over files sleep words
	echo "ok   threads, Valgrind"
elif [[ ${WEIR_LONG:-} ]]; then
	echo "skip Valgrind: not installed"
fi

# An unmodified program, and programs that others wrote.
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o "$work/program" tests/threads/program.c -lpthread
preloaded() { # PLAN COMMAND...
	# The program itself, not the one that watches over its time, is to have the policy.
	timeout 120 env WEIR_THREADS_PLAN="$1" WEIR_THREADS_OVERSUBSCRIBE=1 LD_PRELOAD="$work/lib/libweir_preload.so" "${@:2}"
}
for name in decentral priority central; do
	compile $name -m "smp-$(nproc)" -o "$work/here-$name.plan"
	[[ $(preloaded "$work/here-$name.plan" "$work/program") == "program: done" ]]
done
# First calls while another thread loads a library.
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -rdynamic -o "$work/loads" tests/threads/loads.c -lpthread
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -shared -fPIC -o "$work/loads.so" tests/threads/loads.c
[[ $(preloaded "$work/here-decentral.plan" "$work/loads") == "loads: done" ]]
# What POSIX and Linux promise: the same output and status as without us, alone and joined.
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o "$work/posix" tests/threads/posix.c -lpthread -lrt
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o "$work/rare" tests/threads/rare.c -lpthread -lrt -ldl
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o "$work/seldom" tests/threads/seldom.c -lpthread -lrt -ldl -lutil
for n in 0 1; do "$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -DLIBRARY -shared -fPIC -o "$work/rare$n.so" tests/threads/rare.c; done
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o "$work/cancel" tests/threads/cancel.c -lpthread -lrt
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o "$work/spins" tests/threads/spins.c -lpthread
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -o "$work/asleep" tests/threads/asleep.c -lpthread -lrt
"$cc" "${flags[@]}" -O2 -DEMBEDS -o "$work/cancel-green" tests/threads/cancel.c "$work/lib/libweir_threads.a" -lpthread -lrt
joined() { # NAME COMMAND...
	timeout 120 env WEIR_THREADS_JOIN="$1" LD_PRELOAD="$work/lib/libweir_preload.so" "${@:2}"
}
served_plan() { # PLAN NAME
	: >"$work/served-plan"
	"$work/lib/weir-cpus" serve "$2" "$1" --oversubscribe >"$work/served-plan" &
	server=$!
	for ((i = 0; i < 100; i++)); do [[ -s $work/served-plan ]] && return || sleep 0.1; done
	return 1
}
stop_served() {
	kill "$server"
	wait "$server"
}
outcome() { # COMMAND...: output and status
	local status=0
	"$@" 2>/dev/null || status=$?
	echo "status $status"
}
same() { # WHAT COMMAND...
	outcome "${@:2}" >"$work/other" 2>/dev/null
	if ! cmp -s "$work/plain" "$work/other"; then
		echo "FAIL $1 differs:" && diff "$work/plain" "$work/other"
		exit 1
	fi
}
says() { # WHAT WORDS COMMAND...
	local said
	said=$("${@:3}" 2>/dev/null) || true
	[[ $said == *"$2"* ]] || { echo "FAIL $1: no \`$2\` in: $said" && exit 1; }
}
sizes=(1 2)
[[ ${WEIR_LONG:-} ]] && sizes=(1 2 8)
for cpus in "${sizes[@]}"; do
	compile decentral -m "smp-$cpus" -o "$work/cpus$cpus.plan"
	served_plan "$work/cpus$cpus.plan" "posix-$$-$cpus"
	first=$server
	for program in "$work/posix" "$work/rare" "$work/seldom"; do
		while read -r case; do
			outcome timeout 60 "$program" "$case" >"$work/plain" 2>/dev/null
			same "$case, $cpus CPUs" preloaded "$work/cpus$cpus.plan" "$program" "$case"
			same "$case, $cpus CPUs, joined" joined "posix-$$-$cpus" "$program" "$case"
		done < <("$program")
	done
	outcome timeout 60 "$work/cancel" >"$work/plain"
	same "cancel, $cpus CPUs" preloaded "$work/cpus$cpus.plan" "$work/cancel"
	same "cancel, $cpus CPUs, joined" joined "posix-$$-$cpus" "$work/cancel"
	# Calls in which a thread sleeps unknown to the library: another one gets the CPU within 50 ms (docs/threads.md has what is usual).
	says "asleep, $cpus CPUs" 'asleep: done' preloaded "$work/cpus$cpus.plan" "$work/asleep" 50
	says "asleep, $cpus CPUs, joined" 'asleep: done' joined "posix-$$-$cpus" "$work/asleep" 50
	# Spinners under a policy without slices.
	compile priority -m "smp-$cpus" -o "$work/spins$cpus.plan"
	served_plan "$work/spins$cpus.plan" "spins-$$-$cpus"
	for how in equals urgent; do
		says "spinning $how, $cpus CPUs" 'spins: done' preloaded "$work/spins$cpus.plan" "$work/spins" $how
		says "spinning $how, $cpus CPUs, joined" 'spins: done' joined "spins-$$-$cpus" "$work/spins" $how
	done
	stop_served
	# To the letter, it is reported, and hangs, if there are fewer CPUs than spinners.
	if ((cpus < 8)); then
		if [[ $(timeout 5 env WEIR_THREADS_PLAN="$work/spins$cpus.plan" WEIR_THREADS_NO_FALLBACK=1 LD_PRELOAD="$work/lib/libweir_preload.so" \
			"$work/spins" equals 2>"$work/said") ]]; then
			echo "FAIL spinners end without a fall-back slice, $cpus CPUs" && exit 1
		fi
		says "spinners are reported, $cpus CPUs" 'has waited 2.0 s for a CPU, in priority_order@cpu' cat "$work/said"
	fi
	says "cancel, green, $cpus CPUs" 'cancel: green, done' "$work/cancel-green" green "$work/cpus$cpus.plan"
	server=$first
	stop_served
done
echo "ok   what POSIX promises, cancellation"
# Watched while it runs; the answer has all that `runweir live` gives.
WEIR_THREADS_PLAN="$work/here-decentral.plan" LD_PRELOAD="$work/lib/libweir_preload.so" "$work/program" wait >"$work/started" &
program=$!
for ((i = 0; i < 100; i++)); do [[ -s $work/started ]] && break || sleep 0.1; done
"$debug/runweir" status --pid $program --json >"$work/status.json"
(($(grep -c '"tgid": '$program "$work/status.json") == 4))
grep -q '"name": "program"' "$work/status.json"
"$debug/runweir" top --once --interval 50ms --pid $program | grep -q "^program $program · decentral · .* 4 tasks"
kill $program
wait $program 2>/dev/null || true
"$debug/runweir" status --pid $program 2>"$work/said" && exit 1
grep -q 'has no threads under a policy' "$work/said"
echo "ok   runweir top, runweir status"
# --- processes --------------------------------------------------------------------------------------

# The same tests with the policy in another process, and processes that end badly.
JOINED=1 "$work/threads" "$work/policies" "$seconds"
"$cc" "${flags[@]}" -O2 -o "$work/processes" tests/threads/processes.c "$work/lib/libweir_threads.a" -lpthread
"$cc" "${flags[@]}" -Wno-unused -iquote runtimes/threads -O2 -o "$work/allot" tests/threads/allot.c "$work/lib/libweir_threads.a" -lpthread
"$work/allot" "$work/policies/decentral.plan"
"$work/processes" "$work/policies/priority1.plan" stopped
"$work/processes" "$work/policies/decentral.plan" 2 1
if [[ ${WEIR_LONG:-} ]]; then
	seed=10
	for name in decentral priority central linux worksteal edf gang rr1; do "$work/processes" "$work/policies/$name.plan" 20 $((seed++)); done
	# Mistakes that this has to find: name, file, what sed does to it.
	mkdir "$work/wrong"
	"$cc" "${flags[@]}" -O1 -c -o "$work/wrong/unit.o" "$work/unit.c"
	wrong() {
		local parts=("$work/wrong/unit.o" "${library[@]/%"runtimes/threads/$2.c"/$work/wrong/$2.c}")
		sed -e "$3" -e 's|"../multikernel/|"'"$PWD"'/runtimes/multikernel/|' "runtimes/threads/$2.c" >"$work/wrong/$2.c"
		"$cc" "${flags[@]}" -Wno-unused -iquote runtimes/threads -DREMOTE_THREADS=16u -O1 -o "$work/wrong/processes" "${parts[@]}" tests/threads/processes.c -lpthread
		if timeout 60 "$work/wrong/processes" "$work/policies/priority1.plan" stopped >"$work/said" 2>&1 &&
			timeout 60 "$work/wrong/processes" "$work/policies/priority.plan" 8 5 >"$work/said" 2>&1; then
			echo "FAIL processes: not found: $1" && exit 1
		fi
		pkill -9 -f "^$work/wrong/processes" || true
	}
	wrong 'a wake-up before the sleep is lost' serve 's/^		t->early = 1;/		;/'
	wrong 'a thread that lost its turn does not ask for another one' join 's/^		say(t, SAYS_WAKE, 0, 0);/		;/'
	wrong 'the threads of a dead process stay' serve '/^static void client_end/,/^}/s/!thread_end(cl, i)/1/'
	wrong 'a stopped thread keeps its CPU' serve "s/asked + ANSWER_NS) || state == 'T' || state == 't'/NEVER)/"
	wrong 'a thread that runs is ended beside its driver' serve 's/	runs = t->remote_cpu != 0;/	runs = 0;/'
	wrong 'the number of a partner is not checked' serve 's/	to = number < REMOTE_THREADS ? cl->thread\[number\] : 0;/	to = cl->thread[number];/'
	wrong 'a client can take memory away' serve 's/F_SEAL_SHRINK | //'
fi
# Unmodified programs, each a process of its own, and what they start.
export RUNWEIR_LIB=$work/lib
# Beside a loaded machine, two programs under a policy in a process of its own take more than a minute.
# (A nice value that the test inherits would be said, too.)
even=()
(($(nice) == 0)) || even=(nice -n $((-$(nice))))
threads() { timeout 300 "${even[@]}" "$debug/runweir" threads "$@"; }

# What programs ask of Linux's scheduler is obeyed, or said once; with --strict it ends the program (docs/settings.md).
"$cc" -std=gnu11 -O2 -Wall -Wextra -Werror -o "$work/asks" tests/threads/asks.c -lpthread
asks() { # POLICY SETTING said|obeyed
	threads "$1" -- "$work/asks" "$2" 2>"$work/said" || { echo "FAIL $1: asked for $2" && cat "$work/said" && exit 1; }
	local lines status=0
	lines=$(grep -c "^runweir threads: .$1. " "$work/said" || true)
	threads "$1" --strict -- "$work/asks" "$2" 2>/dev/null || status=$?
	[[ $3 == said && $lines == 1 && $status == 2 || $3 == obeyed && $lines == 0 && $status == 0 ]] && return
	echo "FAIL $1: $2 is to be $3: $lines lines, status $status with --strict" && cat "$work/said" && exit 1
}
for setting in priority nice fifo; do asks decentral $setting said; done
asks priority priority obeyed
asks cfs nice obeyed
asks fp fifo obeyed
for setting in rr batch idle deadline; do asks linux $setting said; done
# chrt and nice set it for themselves, and then become the program.
[[ $(threads decentral -- chrt -r 5 true 2>&1 | grep -c 'ignores SCHED_RR') == 1 ]]
[[ $(threads decentral -- nice -n 5 true 2>&1 | grep -c 'ignores nice values') == 1 ]]
[[ $(nice -n 5 "$debug/runweir" threads decentral --tree -- sh -c 'true; true' 2>&1 | grep -c 'ignores nice values') == 1 ]]
(($(nproc) == 1)) || asks linux affinity said
echo "ok   what programs ask of Linux's scheduler"
[[ $(threads decentral --tree -- bash -c "$work/program & $work/program; wait" | grep -c 'program: done') == 2 ]]
served() { # NAME POLICY ARGS...
	"$debug/runweir" threads "$2" --serve "$1" "${@:3}" >"$work/served" 2>"$work/stats" &
	server=$!
	for ((i = 0; i < 100; i++)); do [[ -s $work/served ]] && return || sleep 0.1; done
	return 1
}
desk=desk-$$
served $desk priority --cpus 1 --stats
grep -q '"policy":"priority","cpus":1' "$work/served"
# Policies with fewer CPUs than there are have different ones; what a program starts without the policy may run anywhere.
if (($(nproc) > 1)); then
	allowed() { grep '^Cpus_allowed_list' "/proc/$1/status"; }
	[[ $(threads decentral --cpus 1 -- grep '^Cpus_allowed_list' /proc/self/status) != $(allowed $server) ]]
	[[ $(threads decentral --cpus 1 --tree -- grep '^Cpus_allowed_list' /proc/self/status) != $(allowed $server) ]]
	[[ $(threads decentral --cpus 1 -- bash -c "grep '^Cpus_allowed_list' /proc/self/status; true") == $(allowed self) ]]
fi
"$debug/runweir" ask policies | grep -q " served *$desk *priority "
WEIR_THREADS_CPUS=x threads decentral -- true 2>"$work/said" && exit 1
grep -q 'not a list of CPUs' "$work/said"
threads --serve $desk decentral 2>"$work/said" && exit 1
grep -q 'serves this name already' "$work/said"
# What a joined program asks for is obeyed or said as well.
[[ -z $(threads --join $desk --priority 5 -- "$work/asks" fifo 2>&1) ]]
[[ $(threads --join $desk --weight 5 -- "$work/asks" rr 2>&1 | grep -c '`priority` ignores') == 2 ]]
threads --join $desk --weight 5 --strict -- true 2>/dev/null && exit 1
# The urgent program has the only CPU as long as it wants it.
cat >"$work/burn.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv)
{
	struct timespec t;
	(void)argc;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < atoi(argv[1]));
	puts(argv[2]);
	return 0;
}
END
"$cc" -O2 -o "$work/burn" "$work/burn.c"
threads --join $desk --priority 9 -- "$work/burn" 900 urgent >>"$work/order" &
first=$!
sleep 0.3
threads --join $desk --priority 1 -- "$work/burn" 50 other >>"$work/order" &
second=$!
sleep 0.2
"$debug/runweir" status --pid $server --json >"$work/status.json"
(($(grep -c '"comm": "burn"' "$work/status.json") == 2))
threads decentral --switch $desk | grep -q "^$desk: priority -> decentral in .*; 1 thread presented"
wait $first $second
[[ $(tr '\n' ' ' <"$work/order") == 'other urgent ' ]]
# The server ends, the programs do not.
threads --join $desk -- bash -c 'sleep 0.5; echo done' >"$work/order" 2>"$work/said" &
first=$!
sleep 0.2
kill -INT $server
wait $server
grep -q '"programs":' "$work/stats"
wait $first
[[ $(<"$work/order") == "done" ]]
grep -q 'continues without a policy' "$work/said"
threads --join $desk -- true 2>"$work/said" && exit 1
grep -q 'no process serves a policy' "$work/said"
echo "ok   threads, several processes"
seq 200000 | sort -R >"$work/numbers"
cmp <(preloaded "$work/here-decentral.plan" sort -n --parallel=4 "$work/numbers") <(seq 200000)
echo "ok   unmodified programs"

# OpenMP: the same program and kernels with libgomp, with ours without a policy, and under policies; teams as gangs.
if echo 'int main(void) { return 0; }' | "$cc" -fopenmp -x c -o "$work/try" - 2>/dev/null; then
	"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -fopenmp -o "$work/openmp" tests/threads/openmp.c -lpthread
	for kernel in is cg ft; do
		"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -fcx-limited-range -Wall -Wextra -Werror -fopenmp -o "$work/$kernel" bench/threads/npb/$kernel.c -lm
	done
	gomp=$work/lib/libweir_gomp.so
	done='openmp: 26 tests, done'
	export OMP_MAX_TASK_PRIORITY=9
	for cancels in true false; do
		export OMP_CANCELLATION=$cancels
		[[ $(timeout 120 "$work/openmp" 1) == "$done" && $(LD_PRELOAD=$gomp timeout 120 "$work/openmp" 2) == "$done" ]]
	done
	export OMP_CANCELLATION=true
	# No name may be left to libgomp: it is not loaded.
	LD_PRELOAD=$gomp ldd "$work/openmp" | grep -q '/libgomp.so' && echo "FAIL libgomp is loaded, too" && exit 1
	# All of libgomp's names, but for OpenACC's and those of its plugins for devices.
	names_of() { nm -D --defined-only "$1" | awk '{ print $3 }' | sed 's/@.*//' | sort -u; }
	if [[ $("$cc" -dumpversion) == 12* ]] && comm -23 <(names_of "$("$cc" -print-file-name=libgomp.so.1)") <(names_of "$gomp") |
		grep -vE '^(acc_|GOACC_|GOMP_PLUGIN_|GOMP_offload_(un)?register$|[A-Z]+_[0-9.]+$)'; then
		echo "FAIL these names of libgomp are absent" && exit 1
	fi
	with_openmp() { # PLAN COMMAND...
		timeout 120 env WEIR_THREADS_PLAN="$1" LD_PRELOAD="$work/lib/libweir_preload.so:$gomp" "${@:2}"
	}
	for name in decentral priority; do
		[[ $(with_openmp "$work/here-$name.plan" "$work/openmp" 1) == "$done" ]]
		for kernel in is cg ft; do
			with_openmp "$work/here-$name.plan" "$work/$kernel" S | grep -q '"verified":true'
		done
	done
	compile gang -m "smp-$(nproc)" -o "$work/here-gang.plan"
	printf 'threads %d\nH 8 20\n' "$(nproc)" >"$work/team.manifest"
	WEIR_THREADS_GANGS=$work/team.manifest with_openmp "$work/here-gang.plan" "$work/is" S | grep -q '"verified":true'
	# A program that opens the runtime by itself.
	"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -fopenmp -Iruntimes/threads/include -o "$work/embeds" tests/threads/embeds.c \
		-L"$work/lib" -lweir_threads -Wl,-rpath,"$work/lib"
	[[ $(LD_PRELOAD=$gomp timeout 60 "$work/embeds" "$work/here-priority.plan") == 'embeds: 150 members in 50 regions' ]]
	LD_PRELOAD=$gomp timeout 60 "$work/embeds" "$work/here-priority.plan" green 2>"$work/said" && exit 1
	grep -q 'in a green thread' "$work/said"
	# What the specification's examples do, and Fortran's names.
	"$cc" -O2 -Wall -Wextra -Werror -fopenmp -o "$work/examples" tests/threads/others/examples.c
	outcome "$work/examples" >"$work/plain"
	same 'examples of OpenMP' with_openmp "$work/here-decentral.plan" "$work/examples"
	if command -v gfortran >/dev/null; then
		gfortran -O2 -fopenmp -o "$work/teams" tests/threads/others/teams.f90
		outcome "$work/teams" >"$work/plain"
		same 'OpenMP in Fortran' with_openmp "$work/here-decentral.plan" "$work/teams"
	fi
	unset OMP_CANCELLATION OMP_MAX_TASK_PRIORITY
	# What cannot be is said: no slots in the policy, no such device, a wrong value.
	WEIR_THREADS_GANGS=$work/team.manifest with_openmp "$work/here-decentral.plan" "$work/is" S 2>"$work/said" && exit 1
	grep -q 'no slots for gangs' "$work/said"
	OMP_PLACES='{0' OMP_SCHEDULE=nonsense OMP_DISPLAY_ENV=true LD_PRELOAD=$gomp "$work/openmp" 1 2>"$work/said" >/dev/null
	for words in "OMP_PLACES='{0' is left out" "OMP_SCHEDULE='nonsense' is left out" 'OPENMP DISPLAY ENVIRONMENT BEGIN'; do
		grep -q "$words" "$work/said"
	done
	echo "ok   OpenMP"
else
	echo "skip OpenMP: $cc has no -fopenmp here"
fi

if echo 'int main(void) { return 0; }' | "$cc" -fsanitize=thread -x c -o "$work/try" - 2>/dev/null && "${plainly[@]}" "$work/try"; then
	# It does not model fences; what they order is also ordered by acquire and release.
	"$cc" "${flags[@]}" -O1 -fsanitize=thread -Wno-tsan -o "$work/tsan" "$work/unit.c" "${library[@]}" tests/threads/threads.c -lpthread
	TSAN_OPTIONS=halt_on_error=1 "${plainly[@]}" "$work/tsan" "$work/policies" "$seconds"
	# What goes from thread to thread by way of the server only, it does not see.
	JOINED=1 TSAN_OPTIONS=halt_on_error=1 "${plainly[@]}" "$work/tsan" "$work/policies" "$seconds" create crossing mutex semaphore condition barrier \
		channel preemption priority disable files sleep idle swap gangs groups words refusals
	echo "ok   threads, ThreadSanitizer"
	if [[ -x $work/openmp ]]; then
		# The library's own threads; libgomp's instrumented stand-in is the library itself.
		"$cc" "${flags[@]}" -O1 -fsanitize=thread -fopenmp -c -o "$work/openmp.o" tests/threads/openmp.c
		"$cc" "${flags[@]}" -O1 -fsanitize=thread -Wno-tsan -o "$work/openmp-tsan" "$work/openmp.o" runtimes/threads/gomp/*.c -lpthread
		OMP_CANCELLATION=true TSAN_OPTIONS=halt_on_error=1 "${plainly[@]}" "$work/openmp-tsan" 1 >/dev/null
		echo "ok   OpenMP, ThreadSanitizer"
	fi
else
	echo "skip ThreadSanitizer: not installed, or it does not run here"
fi
# Programs that others wrote: each under five policies, which take turns with ways and CPUs. (All cells take a day: tests/threads/others.sh alone.)
if [[ ${WEIR_LONG:-} ]]; then
	tests/threads/libgomp-suite.py "$debug/runweir" || (($? == 77))
	echo "ok   libgomp's own tests"
	CELLS=5 tests/threads/others.sh "$debug/runweir" all all all "1 $(nproc)"
	echo "ok   programs that others wrote"
fi
