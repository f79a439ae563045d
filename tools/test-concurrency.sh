#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The core under concurrency (docs/concurrency.md): real threads under ThreadSanitizer, then every
# interleaving of small scenarios, then both again on broken code, which they must refuse.
#
#   tools/test-concurrency.sh [seconds of stress: 5, or 20 with WEIR_LONG] [seed]
#
# The short form tries each mutant in the scenario that refuses it soonest; with WEIR_LONG there are more mutants, each one meets all scenarios
# in turn, the stress runs on the strict port too, and the searches also go on with what they cannot finish in their time.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-$([[ ${WEIR_LONG:-} ]] && echo 20 || echo 5)}
seed=${2:-1}
cc=${CC:-gcc}
root=$PWD
conc=tests/concurrency
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

pass() { passed=$((passed + 1)) && echo "ok   $1"; }
fail() { failed=$((failed + 1)) && echo "FAIL $1"; }

tools/programs.sh
glue=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/weir-glue

flags=(-std=gnu11 -g1 -fno-strict-aliasing -Wall -Wextra -Werror -Wno-unused-parameter)
# ThreadSanitizer does not model fences; what they order is also ordered by acquire and release.
tsan=(-O1 -fsanitize=thread)
[[ $("$cc" --version) == *clang* ]] || tsan+=(-Wno-tsan)
# Its shadow memory needs addresses where kernels with much randomisation do not always leave room.
plainly=()
setarch -R true 2>/dev/null && plainly=(setarch -R)

# Jobs: as many at a time as there are processors.
spawn() {
	while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
	"$@" &
}

"$glue" plain . >"$work/unit.c"
build_stress() { # folder of weir/port.h, output, flags...
	local port=$1 out=$2
	shift 2
	"$cc" "${flags[@]}" "$@" -Icore/include -I"$port" -Icore/src -o "$out" \
		"$work/unit.c" core/port/native/{port,host}.c $conc/{plan,graphs,stress}.c -lpthread
}

# The model is compiled file by file, so that a mutant compiles what it changes: core and kit, the components in one unit, the rest.
includes=(-I"$conc/model" -I"$root/core/include" -I"$root/core/src")
model_object() { # file folder flags...: folder/ of the file, with the folder that it lies in
	local file=$1 out=$2
	shift 2
	"$cc" "${flags[@]}" "$@" -c -o "$out/$(basename "$(dirname "$file")")-$(basename "$file" .c).o" "$file"
}
model_core() { # tree folder flags...
	local tree=$1 out=$2
	shift 2
	for file in "$tree"/core/{src,kit}/*.c; do spawn model_object "$file" "$out" "$@"; done
	spawn model_object "$work/components/components.c" "$out" "$@"
}
mkdir -p "$work/components" "$work/objects" "$work/rest"
"$glue" plain . | grep -vE '^#include ".*/core/(src|kit)/.*\.c"' >"$work/components/components.c"

stress() { # name binary seconds seed
	if "${plainly[@]}" "$2" "$3" "$4" >"$work/log" 2>&1; then
		grep '^stress:' "$work/log"
		pass "$1"
	else
		head -80 "$work/log"
		fail "$1"
	fi
}

# --- what real threads run is built at once -----------------------------------------------------------

sanitized=
if echo 'int main(void) { return 0; }' | "$cc" -fsanitize=thread -x c -o "$work/try" - 2>"$work/log" &&
	"${plainly[@]}" "$work/try" 2>>"$work/log"; then
	sanitized=1
	# A lock that does not lock: the sanitizer must see it.
	mkdir -p "$work/port/weir"
	sed 's/return !weir_change(lock, __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE), 1);/return 1;/' core/port/native/weir/port.h \
		>"$work/port/weir/port.h"
	cmp -s core/port/native/weir/port.h "$work/port/weir/port.h" && fail "mutant: port without locks: does not apply"
	spawn build_stress core/port/native "$work/stress" "${tsan[@]}"
	[[ ${WEIR_LONG:-} ]] && spawn build_stress core/port/strict "$work/strict" "${tsan[@]}"
	spawn build_stress "$work/port" "$work/broken" "${tsan[@]}" -O0
else
	echo "skip stress under ThreadSanitizer: $cc cannot build or run it: $(tail -1 "$work/log")"
fi
spawn build_stress core/port/native "$work/fast" -O2

# As the kernel's port has it. (What is broken need not be fast: it is built in a quarter of the time.)
mkdir "$work/unit"
cp "$work/unit.c" "$work/unit/weir_unit.c"
build_kernel() { # runtimes output flags...
	"$cc" "${flags[@]}" "${@:3}" -Wno-error -w -DWEIR_DECLINES=1 -I"$work/unit" -I"$1" -Icore/include -Icore/port/native -Icore/src -include $conc/kernel/kernel.h \
		-o "$2" $conc/kernel/kernel.c core/port/native/{port,host}.c $conc/{plan,graphs}.c -lpthread
}
spawn build_kernel runtimes/linux "$work/kernel-adapter" -O2
kernel_mutants=()
kernel_mutant() { # name file sed-script
	local folder=$work/adapter-${#kernel_mutants[@]}
	kernel_mutants+=("$1")
	cp -r runtimes/linux "$folder"
	sed -i "$3" "$folder/$2"
	if cmp -s "runtimes/linux/$2" "$folder/$2"; then
		fail "mutant: $1: does not apply to runtimes/linux/$2"
		rm -rf "$folder"
	else
		spawn build_kernel "$folder" "$folder/mutant" -O0
	fi
}
kernel_mutant "a task enters twice" weir.bpf.c '/^int weir_enqueue/,/^}/s/if (state == WEIR_SCHEDULABLE)/if (0)/'
[[ ! ${WEIR_LONG:-} ]] || kernel_mutant "a task that runs on is not counted" weir.bpf.c '/COUNT(kept);/,/COUNT(dispatches);/s/COUNT(dispatches);/;/'
wait

# --- real threads ---------------------------------------------------------------------------------

if [[ $sanitized ]]; then
	stress "stress, ThreadSanitizer" "$work/stress" $((seconds * 3 / 5)) "$seed"
	[[ ${WEIR_LONG:-} ]] && stress "stress, strict port, ThreadSanitizer" "$work/strict" $((seconds / 5)) $((seed + 1))
	if TSAN_OPTIONS=halt_on_error=1 timeout 300 "${plainly[@]}" "$work/broken" 2 1 >"$work/log" 2>&1 ||
		! grep -q 'data race' "$work/log"; then
		fail "mutant: port without locks: not seen"
	else
		pass "mutant: port without locks: seen by ThreadSanitizer"
	fi
fi
stress "stress, full speed" "$work/fast" $((seconds / 5)) $((seed + 2))

# --- the kernel's adapter, under a kernel of threads ---------------------------------------------------

for ((i = 0; i < (${WEIR_LONG:+29} + 1); i++)); do
	if timeout 120 "$work/kernel-adapter" 3 $((seed + i)) >"$work/log" 2>&1; then
		grep '^kernel:' "$work/log"
		pass "the kernel's adapter under threads, seed $((seed + i))"
	else
		head -80 "$work/log"
		fail "the kernel's adapter under threads, seed $((seed + i))"
	fi
done
for i in "${!kernel_mutants[@]}"; do
	[[ -d $work/adapter-$i ]] || continue
	if [[ ! -x $work/adapter-$i/mutant ]]; then
		fail "mutant: ${kernel_mutants[i]}: it does not build"
	elif timeout 120 "$work/adapter-$i/mutant" 3 "$seed" >"$work/log" 2>&1; then
		fail "mutant: ${kernel_mutants[i]}: not seen"
	else
		pass "mutant: ${kernel_mutants[i]}: seen by $(grep -o 'kernel: .*\.c:.*' "$work/log" | head -1 | sed 's/^kernel: [^ ]*: //')"
	fi
done

# --- every interleaving -----------------------------------------------------------------------------

model_core . "$work/objects" -O2 "${includes[@]}"
for file in core/port/native/host.c $conc/plan.c $conc/model/*.c; do spawn model_object "$file" "$work/rest" -O2 "${includes[@]}"; done
wait
"$cc" -o "$work/model" "$work"/{objects,rest}/*.o

try_scenario() { # scenario
	# shellcheck disable=SC2046
	timeout 900 "$work/model" $([[ ${WEIR_LONG:-} ]] || echo --finish) 2 "$1" >"$work/scenarios/$1" 2>&1 || echo "FAIL" >>"$work/scenarios/$1"
}
mkdir "$work/scenarios"
"$work/model" list >"$work/list"
while read -r scenario; do spawn try_scenario "$scenario"; done <"$work/list"

refused() { # name binary scenario; without a name all in turn
	local status=0
	# Seconds of CPU time for a scenario: the one that is named ends with what it finds.
	timeout 300 "$2" "$([[ $3 ]] && echo 10 || echo 0.5)" ${3:+"$3"} >"$2.log" 2>&1 || status=$?
	if ((status == 139)); then
		pass "mutant: $1: it crashes"
	elif ((status == 3)); then
		pass "mutant: $1: seen by $(grep -o 'model: .* after this' "$2.log" | sed 's/^model: //; s/ ([^ ]*) after this$//')"
	else
		fail "mutant: $1: not seen (status $status)"
	fi
}

# With an object of the mutant where it has one.
link_mutant() { # folder
	local object objects=()
	for object in "$work"/objects/*.o; do
		if [[ -e $1/${object##*/} ]]; then objects+=("$1/${object##*/}"); else objects+=("$object"); fi
	done
	"$cc" -o "$1/mutant" "${objects[@]}" "$work"/rest/*.o
}

loose=(-O0 -w -Wno-error)
try_mutant() { # folder name scenario file,file... sed-script
	local out=$1 name=$2 scenario=$3 tree=$1/tree changed=() file
	mkdir -p "$tree/core"
	cp -r core/src core/kit core/include "$tree/core"
	for file in ${4//,/ }; do
		sed -i "$5" "$tree/core/src/$file"
		if cmp -s "core/src/$file" "$tree/core/src/$file"; then
			fail "mutant: $name: does not apply to core/src/$file"
			return
		fi
		case $file in
		*.c) changed+=("$tree/core/src/$file") ;;
		# (schedule.h includes settle.h.)
		settle.h | schedule.h) mapfile -t -O ${#changed[@]} changed < <(grep -lE "\"(schedule[.]h|$file)\"" "$tree"/core/src/*.c) ;;
		*) changed=("$tree"/core/{src,kit}/*.c "$work/components/components.c") ;;
		esac
	done
	for file in "${changed[@]}"; do
		file=$(realpath "$file")
		model_object "$file" "$out" "${loose[@]}" -I"$tree/core/src" -I"$tree/core/include" "${includes[@]}"
	done
	link_mutant "$out"
	[[ ${WEIR_LONG:-} ]] && scenario=
	refused "$name" "$out/mutant" "$scenario"
}

# mutant: name scenario file,file... sed-script. The scenario is one that refuses it, soon. What it says is shown at the end.
mutants=()
mutant() {
	local folder
	folder=$(mktemp -d "$work/mutant-XXXXXX")
	mutants+=("$folder")
	spawn reported "$folder" try_mutant "$@"
}
# One of those for the long form: a mechanism that another mutant looks at, too.
long_mutant() {
	[[ -z ${WEIR_LONG:-} ]] || mutant "$@"
}
reported() { # folder function arguments...
	local folder=$1
	shift
	"$1" "$folder" "${@:2}" >"$folder/said" 2>&1
	rm -rf "$folder"/tree "$folder"/mutant* "$folder"/*.o
}

# An exchange, or a lock, in two steps.
try_broken() { # folder name scenario number
	local file
	for file in core/{src,kit}/*.c "$work/components/components.c"; do
		model_object "$file" "$1" "${loose[@]}" -DWEIR_MODEL_BREAK="$4" "${includes[@]}"
	done
	link_mutant "$1"
	refused "$2" "$1/mutant" "$([[ ${WEIR_LONG:-} ]] || echo "$3")"
}

for break in 1 ${WEIR_LONG:+2}; do
	mutants+=("$(mktemp -d "$work/mutant-XXXXXX")")
	spawn reported "${mutants[-1]}" try_broken "$([[ $break == 1 ]] && echo "exchange in two steps" || echo "lock in two steps")" \
		"$([[ $break == 1 ]] && echo stop-claim || echo topic-hold-remove)" $break
done
mutant "no second look before idling" idle-admit pick.c '/^WEIR_GLOBAL int weir_lock_or_want/,/^}/s/^\tu64 w = 0, seen;/\tu64 w = 0, seen; if (1) return 0;/'
mutant "a look in vain leaves no wish" stop-kick pick.c 's/? w . WEIR_WANT : w/? w : w/'
mutant "a wish that nobody grants" stop-kick home.c 's/if (w & WEIR_WANT \&\& h->nr)/if (0)/'
mutant "an unlock that ignores the inbox" stop-inbox home.c '/weir_let_go(/,/^}/s/seen = weir_cas(&h->word, w, w & (WEIR_LOCKED . WEIR_RECORDED));/seen = weir_cas(\&h->word, w, 0); if (seen == w) break;/'
mutant "a task finds no inbox" stop-inbox home.c 's/^\t\tleave(s, h, t, 0);/\t\t;/'
mutant "notes that are cleared unseen" move-block settle.c 's/return weir_cas(&t->pend, WEIR_TOKEN, 0) == WEIR_TOKEN;/weir_store(\&t->pend, 0); return 1;/'
mutant "a block leaves no note" move-block schedule.h '/^WEIR_INLINE int weir_leave_home/,/^}/s/if (weir_unlikely(weir_load_acquire(&t->pend)))/if (0)/'
mutant "a review that finds a task in hand is lost" idle-withheld place.c '/^WEIR_GLOBAL int weir_in_hand/,/^}/s/weir_fetch_add(&s->changes, 1);/return 1;/'
mutant "a call that does not look for changes" leave-admit schedule.h 's/if (weir_unlikely(seen != weir_load(&s->changes)))/if (0)/'
mutant "a CPU that yields does not look for changes" yield-leave schedule.h 's/seen == weir_load(&s->changes))$/1)/'
mutant "a CPU that yields unlocks and believes that it has the lock" yield-pick schedule.h '/^WEIR_INLINE int submit/,/^}/s/return 1;/{ weir_home_unlock(s, y); return 1; }/'
mutant "a CPU that chooses does not see what it was given" give-admit-pick pick.c 's/return WEIR_DECLINES && weir_load(&s->cpus\[target\].curr);/return 0;/'
mutant "a CPU is given a task over another" give-other pick.c 's/if (!weir_load(&s->cpus\[cpu\].curr) && weir_pipe_holds/if (weir_pipe_holds/'
mutant "a CPU declines a claim without a place" decline-waiting schedule.c '/^WEIR_GLOBAL WEIR_RARE int weir_end_this_claim/,/^}/s/if (!h || weir_home_lock(s, h))/if (!h) return weir_end_claim(s, t, claim, WEIR_UNCONSIDERED) == claim ? 0 : -WEIR_ESTATE; if (weir_home_lock(s, h))/'
mutant "a CPU declines a later claim" decline-other schedule.c '/^WEIR_GLOBAL WEIR_RARE int weir_end_this_claim/,/^}/s/if (weir_load_acquire(&t->claim) != claim)/claim = weir_load_acquire(\&t->claim); if (0)/'
mutant "a CPU declines without the lock of the place" decline schedule.c '/^WEIR_GLOBAL WEIR_RARE int weir_end_this_claim/,/^}/{s/ || weir_home_lock(s, h)//;s/weir_home_unlock(s, h);/;/}'
mutant "a CPU chooses and keeps the place of its last task" leave-behind pick.c '/^WEIR_INLINE void chooses/,/^}/s/if (WEIR_DECLINES \&\& .*/if (0)/'
mutant "what was left behind counts as running" leave-behind internal.h '/^WEIR_INLINE int weir_place_valid/,/^}/s/if (WEIR_DECLINES \&\& state/if (0 \&\& state/'
mutant "a place that is no longer valid stays" move-block settle.c '/^static u32 work_look/,/^}/s/if (!weir_place_valid(s, t, claim))/if (0)/'
mutant "callers do not look for a writer" swap-block settle.h 's/return !weir_load_acquire(&s->writer);/return 1;/'
mutant "a writer does not wait for callers" swap-admit swap.c 's/while (busy \&\& weir_wait_long(wait, s->patience) \&\& weir_loop)/while (0)/;s/if (busy)/if (0)/'
mutant "a kick that hits a CPU with a task is lost" idle-kick-spent pick.c 's/if (idle \&\& !weir_mask_clear(s->idle, cpu) \&\& .*/if (idle) weir_mask_clear(s->idle, cpu); if (0)/'
mutant "no barrier before the look for a writer" swap-block settle.h '/^WEIR_INLINE int weir_may_go_in/,/^}/s/weir_light_fence();/;/'
long_mutant "a CPU held off by a swap does not look again" stop-swap-pick pick.c '/weir_mem \*enter_to_pick/,/^}/s/^\t\tif (weir_load(&s->writer))/\t\tif (1)/'
mutant "the end of a swap wakes nobody" stop-swap-pick swap.c '/^WEIR_GLOBAL int weir_start_readers/,/^}/s/if (!weir_load(&s->ctx\[i\].missed))/if (1)/'
mutant "a task is withheld without a second look" idle-withheld ../kit/assign.c 's/^\t\t\tweir_review(self, t);/\t\t\t;/'
mutant "a more urgent task preempts nobody" urgent-claim preempt.c 's/if (k <= key ||/if (1 ||/'
mutant "a hand-over past the more urgent" hand-over-urgent pick.c 's/weir_load(&t->key) < key/0/'
mutant "kick without taking the idle bit" idle-admit-admit preempt.c 's/weir_mask_test(s->idle, cpu) \&\& weir_mask_clear(s->idle, cpu)/weir_mask_test(s->idle, cpu)/'
mutant "a change in a postponed pipe wakes nobody" idle-admit-postponed home.c '/^WEIR_GLOBAL int weir_put_off/,/^}/s/weir_kick(p, t);/;/'
mutant "topics are held without the lock" topic-hold-remove broker.c '/^int weir_topic_hold/,/^}/{s/lock_topics(s)/0/;s/weir_spin_unlock(&s->alloc_lock);//}'
mutant "locks are waited for without bound" stop-inbox home.c 's/while (err \&\& weir_wait(ctx->waited, s->patience) \&\& weir_loop)/while (err)/'
mutant "what a CPU runs is recorded after its claim" stop-block pick.c 's/^\tweir_store(&c->curr, t);/\t;/;s/^\tweir_unlink_at(exit, exit, t, simple);/\tweir_store(\&c->curr, t);&/'
mutant "a CPU keeps what was taken from it" stop-block schedule.h '/^WEIR_INLINE u64 weir_end_claim/,/^}/s/weir_cas(&s->cpus\[cpu\].curr, t, 0) == t/0/'
mutant "a CPU lets go of what it has not claimed" claim-block pick.c 's/weir_cas(&t->claim, w, weir_claim_on(w, cpu)) != w)/(weir_store(\&t->claim, weir_claim_on(w, cpu)), 0))/'

wait
while read -r scenario; do grep -v '^model: [0-9]* scenarios' "$work/scenarios/$scenario" || true; done <"$work/list"
if grep -q '^FAIL' "$work"/scenarios/*; then fail "model"; else
	cat "$work"/scenarios/* | awk '/^model: 1 scenarios/ { n++; all += $4 } END { print "model: " n " scenarios, " all " schedules, all as required" }'
	pass "model"
fi
for folder in "${mutants[@]}"; do
	grep -E '^(ok|FAIL) ' "$folder/said" || { cat "$folder/said" && echo "FAIL mutant: it does not build"; }
	if grep -q '^ok ' "$folder/said"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
((failed == 0))
