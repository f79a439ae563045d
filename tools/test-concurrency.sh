#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The core under concurrency (docs/concurrency.md): real threads under ThreadSanitizer, then every
# interleaving of small scenarios, then both again on broken code, which they must refuse.
#
#   tools/test-concurrency.sh [seconds of stress: 5, or 20 with WEIR_LONG] [seed]
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

flags=(-std=gnu11 -g -fno-strict-aliasing -Wall -Wextra -Werror -Wno-unused-parameter)
# ThreadSanitizer does not model fences; what they order is also ordered by acquire and release.
tsan=(-O1 -fsanitize=thread)
[[ $("$cc" --version) == *clang* ]] || tsan+=(-Wno-tsan)
# Its shadow memory needs addresses where kernels with much randomisation do not always leave room.
plainly=()
setarch -R true 2>/dev/null && plainly=(setarch -R)

# tree: where core/ and components/ are; port: folder of weir/port.h
build_stress() { # tree port output flags...
	local tree=$1 port=$2 out=$3
	shift 3
	"$glue" plain "$tree" >"$work/unit.c"
	"$cc" "${flags[@]}" "$@" -I"$root/core/include" -I"$port" -I"$tree/core/src" -o "$out" \
		"$work/unit.c" core/port/native/{port,host}.c $conc/{plan,graphs,stress}.c -lpthread
}

# Everything but the core itself is the same for all models.
objects=$work
includes=(-I$conc/model -I"$root/core/include")
for file in core/port/native/host.c $conc/plan.c $conc/model/*.c; do
	"$cc" "${flags[@]}" -O2 "${includes[@]}" -c -o "$work/$(basename "$file" .c).model.o" "$file"
done

build_model() { # tree output flags...
	local tree=$1 out=$2
	shift 2
	"$glue" plain "$tree" >"$work/unit.c"
	"$cc" "${flags[@]}" "$@" -I"$tree/core/include" "${includes[@]}" -I"$tree/core/src" -o "$out" "$work/unit.c" "$objects"/*.model.o
}

stress() { # name binary seconds seed
	if "${plainly[@]}" "$2" "$3" "$4" >"$work/log" 2>&1; then
		grep '^stress:' "$work/log"
		pass "$1"
	else
		head -80 "$work/log"
		fail "$1"
	fi
}

# --- real threads ---------------------------------------------------------------------------------

if echo 'int main(void) { return 0; }' | "$cc" -fsanitize=thread -x c -o "$work/try" - 2>"$work/log" &&
	"${plainly[@]}" "$work/try" 2>>"$work/log"; then
	build_stress . core/port/native "$work/stress" "${tsan[@]}"
	stress "stress, ThreadSanitizer" "$work/stress" $((seconds * 3 / 5)) "$seed"
	build_stress . core/port/strict "$work/strict" "${tsan[@]}"
	stress "stress, strict port, ThreadSanitizer" "$work/strict" $((seconds / 5)) $((seed + 1))
	# A lock that does not lock: the sanitizer must see it.
	mkdir -p "$work/port/weir"
	sed 's/return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);/return 1;/' core/port/native/weir/port.h \
		>"$work/port/weir/port.h"
	cmp -s core/port/native/weir/port.h "$work/port/weir/port.h" && fail "mutant: port without locks: does not apply"
	build_stress . "$work/port" "$work/broken" "${tsan[@]}"
	if TSAN_OPTIONS=halt_on_error=1 timeout 300 "${plainly[@]}" "$work/broken" 2 1 >"$work/log" 2>&1 ||
		! grep -q 'data race' "$work/log"; then
		fail "mutant: port without locks: not seen"
	else
		pass "mutant: port without locks: seen by ThreadSanitizer"
	fi
else
	echo "skip stress under ThreadSanitizer: $cc cannot build or run it: $(tail -1 "$work/log")"
fi
build_stress . core/port/native "$work/fast" -O2
stress "stress, full speed" "$work/fast" $((seconds / 5)) $((seed + 2))

# --- the kernel's adapter, under a kernel of threads ---------------------------------------------------

# As the kernel's port has it: no task is carried. The long form carries them, too: another schedule of the same calls.
build_kernel() { # runtimes output [carry]
	"$glue" plain . >"$work/weir_unit.c"
	"$cc" "${flags[@]}" -O2 -Wno-error -w -DWEIR_CARRY="${3:-0}" -DWEIR_DECLINES=1 -I"$work" -I"$1" -Icore/include -Icore/port/native -Icore/src -include $conc/kernel/kernel.h \
		-o "$2" $conc/kernel/kernel.c core/port/native/{port,host}.c $conc/{plan,graphs}.c -lpthread
}
for ((i = 0; i < (${WEIR_LONG:+29} + 1); i++)); do
	((i % 15)) || build_kernel runtimes/linux "$work/kernel" $((i / 15))
	if timeout 120 "$work/kernel" 3 $((seed + i)) >"$work/log" 2>&1; then
		grep '^kernel:' "$work/log"
		pass "the kernel's adapter under threads, seed $((seed + i))"
	else
		head -80 "$work/log"
		fail "the kernel's adapter under threads, seed $((seed + i))"
	fi
done
kernel_mutant() { # name file sed-script
	rm -rf "$work/runtimes"
	cp -r runtimes/linux "$work/runtimes"
	sed -i "$3" "$work/runtimes/$2"
	if cmp -s "runtimes/linux/$2" "$work/runtimes/$2"; then
		fail "mutant: $1: does not apply to runtimes/linux/$2"
		return
	fi
	build_kernel "$work/runtimes" "$work/mutant"
	if timeout 120 "$work/mutant" 3 "$seed" >"$work/log" 2>&1; then
		fail "mutant: $1: not seen"
	else
		pass "mutant: $1: seen by $(grep -o 'kernel: .*\.c:.*' "$work/log" | head -1 | sed 's/^kernel: [^ ]*: //')"
	fi
}
kernel_mutant "a task enters twice" weir.bpf.c '/^int weir_enqueue/,/^}/s/if (state == WEIR_SCHEDULABLE)/if (0)/'
kernel_mutant "a task that runs on is not counted" weir.bpf.c '/COUNT(kept);/,/COUNT(dispatches);/s/COUNT(dispatches);/;/'

# --- every interleaving -----------------------------------------------------------------------------

build_model . "$work/model" -O2
if timeout 600 "$work/model" 2; then pass "model"; else fail "model"; fi

refused() { # name binary
	local status=0
	timeout 300 "$2" 0.5 >"$work/log" 2>&1 || status=$?
	if ((status == 139)); then
		pass "mutant: $1: it crashes"
	elif ((status == 3)); then
		pass "mutant: $1: seen by $(grep -o 'model: .* after this' "$work/log" | sed 's/^model: //; s/ ([^ ]*) after this$//')"
	else
		fail "mutant: $1: not seen (status $status)"
	fi
}

try_mutant() { # name file,file... sed-script
	local tree=$work/tree
	mkdir -p "$tree/core"
	cp -r core/src core/kit core/include "$tree/core"
	ln -s "$root/components" "$tree/components"
	for file in ${2//,/ }; do
		sed -i "$3" "$tree/core/src/$file"
		if cmp -s "core/src/$file" "$tree/core/src/$file"; then
			fail "mutant: $1: does not apply to core/src/$file"
			return
		fi
	done
	build_model "$tree" "$work/mutant" -O0 -Wno-unused -Wno-misleading-indentation -Wno-error
	refused "$1" "$work/mutant"
}

# mutant: name file,file... sed-script. As many at a time as there are processors; each has a folder, and what it says is shown at the end.
mutants=()
mutant() {
	while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
	mutants+=("$(mktemp -d "$work/mutant-XXXXXX")")
	(
		work=${mutants[-1]}
		try_mutant "$@"
		rm -rf "$work/tree" "$work/mutant"
	) >"${mutants[-1]}/said" 2>&1 &
}

for break in 1 2; do
	build_model . "$work/mutant" -O0 -DWEIR_MODEL_BREAK=$break
	refused "$([[ $break == 1 ]] && echo "exchange in two steps" || echo "lock in two steps")" "$work/mutant"
done
mutant "a claimed task counts as running" pick.c 's/WEIR_SCHEDULABLE, WEIR_CLAIMED)/WEIR_SCHEDULABLE, WEIR_RUNNING)/'
mutant "no second look before idling" pick.c 's/^\t\tctx->pick_stage++;/\t\tctx->pick_stage = PICK_FETCH;/'
mutant "callers do not look for a writer" call.h 's/return !weir_load_acquire(&s->writer);/return 1;/'
mutant "a writer does not wait for callers" swap.c 's/while (busy \&\& weir_wait_long(wait, s->patience) \&\& weir_loop)/while (0)/;s/if (busy)/if (0)/'
mutant "a pipe stays on the worklist" propagate.c '/^WEIR_GLOBAL int weir_visit(/,/^}/s/pipe->pending = still;/;/'
mutant "a receiver runs without its lock" propagate.c 's/weir_visited(s, next, weir_class_update(next->to, next));/weir_pipe_unlock(next), weir_class_update(next->to, next), weir_pipe_lock(next), weir_visited(s, next, 0);/'
mutant "removal leaves its record" log.c 's/^\t\tif (c->kind == WEIR_ADDED) {/\t\tif (0) {/;s/^\t\tc->kind = WEIR_VOID;/\t\t;/'
mutant "withdrawal from deep to shallow" withdraw.c '/static int withdraw/,/^}/s/&t->hooks\[i\].pipe/\&t->hooks[nr - 1 - i + slot].pipe/'
mutant "a CPU blocks what is not its own" schedule.c '/^WEIR_GLOBAL int weir_revoke/,/^}/s/^\tint err, linked;/\tint err = weir_retire(s, t, WEIR_UNCONSIDERED), linked; if (1) return err > 0 ? 0 : err;/'
mutant "a waiting task is declined without the lock" schedule.c '/^WEIR_GLOBAL int weir_revoke/,/^}/s/if (from == WEIR_SCHEDULABLE) {/if (0) {/'
mutant "a task is declined on its way into an inbox" schedule.c '/^WEIR_GLOBAL int weir_revoke/,/^}/s/weir_pipe_linked/weir_pipe_holds/'
mutant "a task is withheld without a second look" ../kit/background.c 's/if (cpu == WEIR_NO_CPU \&\& !assign->withheld) {/if (cpu == WEIR_NO_CPU) weir_store(\&assign->withheld, 1); if (0) {/'
mutant "a more urgent task preempts nobody" preempt.c 's/if (k > key)/if (0)/'
mutant "followers served without the lock" broker.c '/^static int next_follower/,/^}/{s/if (weir_pipe_lock(pipe))/if (0)/;s/weir_pipe_unlock(pipe);//};s/weir_pipe_unlock(ctx->held_for);//'
mutant "a hand-over past the more urgent" pick.c 's/weir_load(&t->key) < key/0/'
mutant "kick without taking the idle bit" preempt.c 's/cpu < s->nr_cpus \&\& weir_mask_clear(s->idle, cpu)/cpu < s->nr_cpus/'
mutant "one CPU is kicked for two tasks" preempt.c '/^static u32 take_near/,/^}/s/while (cpu < .*/while (0); if (!take_idle(s, cpu)) return WEIR_NO_CPU;/;/^WEIR_GLOBAL u32 weir_kick_target/,/^}/s/weir_pipe_lock(pipe)/1/'
# Seen with store buffers only.
mutant "no barrier before the look for a writer" call.h '/^WEIR_INLINE int weir_may_go_in/,/^}/s/weir_light_fence();/;/'
mutant "an idle CPU looks without the lock" pick.c 's/(weir_solo(s) || !announced)/1/'
# Carried tasks (docs/decisions/0050).
mutant "a step that no review knows of" transit.c,transit.h 's/(ctx->seen != weir_load(&s->changes))/(0)/'
mutant "no barrier before the look for changes" transit.h '/^WEIR_INLINE int weir_carry(/,/^}/s/weir_light_fence();/;/'
mutant "a carried task is unlinked before it is linked" carried.c '/^WEIR_GLOBAL int weir_recall/,/^}/{s/link_carried(in, t);//;s/weir_unlink(pipe, t);/weir_unlink(pipe, t), weir_fence(), link_carried(in, t);/}'
mutant "a CPU that takes a task out does not look again" withdraw.c '/^WEIR_FLAT static int withdraw_carried/,/^}/s/pipe = weir_landing(s, t);$/pipe = 0;/'
mutant "topics are held without the lock" broker.c '/^int weir_topic_hold/,/^}/{s/lock_topics(s)/0/;s/weir_spin_unlock(&s->alloc_lock);//}'
# Seen where a CPU stops, or gives up waiting (docs/decisions/0034).
mutant "locks are waited for without bound" internal.h 's/weir_impatient_lock(lock, ctx->waited, s->patience)/(weir_spin_lock(lock), 0)/'
mutant "a task finds no inbox" pipe.c,carried.c 's/return weir_post(pipe, t, [a-z0-9]*);/return -WEIR_EAGAIN;/'
mutant "an inbox that is not reported" lock.c '/^WEIR_FLAT int weir_post/,/^}/s/if (!weir_load(&pipe->lock))/if (0)/;/^WEIR_FLAT void weir_pipe_unlock/,/^}/s/if (wanted || .*/if (0)/'
mutant "a CPU lets go of a lock and does not look" lock.c '/^WEIR_FLAT void weir_pipe_unlock/,/^}/s/if (wanted || .*/if (0)/'
mutant "no second look at a lock given up" lock.c '/^static int leave_word/,/^}/s/return weir_try_lock(&pipe->lock) ? 0 : -WEIR_EAGAIN;/return -WEIR_EAGAIN;/;/^WEIR_FLAT void weir_pipe_unlock/,/^}/s/wanted |= .*//'
mutant "one CPU is kicked for all that looked in vain" propagate.c 's/ctx->next_msg--;/;/'
mutant "a look in vain leaves no mark" pick.c 's/weir_store(&s->ctx\[cpu\].missed, 1);/;/'
mutant "another CPU's worklist is left alone" pick.c '/^static int pick_help/,/^}/s/ctx->pick_stage != PICK_AGAIN/1/'
mutant "a task in the inbox is moved" ../include/weir/component.h 's/(h->change != 0 || h->prev == t)/h->change != 0/'
mutant "a CPU held off by a swap does not look again" pick.c '/weir_mem \*enter_to_pick/,/^}/s/if (weir_load(&s->writer) || !s->graph)/if (1)/'
mutant "the end of a swap wakes nobody" swap.c '/^WEIR_GLOBAL int weir_start_readers/,/^}/s/if (!weir_load(&s->ctx\[i\].missed))/if (1)/'
mutant "a block waits for the claim" schedule.c '/^WEIR_GLOBAL int weir_retire/,/^}/s/if (weir_cas(&t->state, WEIR_CLAIMED, WEIR_REVOKED) == WEIR_CLAIMED \&\&/if (!weir_wait(ctx->waited, s->patience)) break; if (0 \&\&/'
mutant "a revoked claim is kept" pick.c '/^static int pick_keep/,/^}/s/if (weir_cas(&t->state, WEIR_CLAIMED, WEIR_RUNNING) == WEIR_CLAIMED)/weir_store(\&t->state, WEIR_RUNNING); if (1)/'

wait
for folder in "${mutants[@]}"; do
	grep -E '^(ok|FAIL) ' "$folder/said" || { cat "$folder/said" && echo "FAIL mutant: it does not build"; }
	if grep -q '^ok ' "$folder/said"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
((failed == 0))
