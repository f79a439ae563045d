#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The bare kernel (docs/bare.md) in its emulator: messages, capabilities, threads, gangs, programs that mean ill; the same bytes from two
# runs on 4 and on 16 harts. Skipped where the emulator or the compiler is missing. WEIR_LONG=1: more of everything.
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=${RISCV:-riscv64-unknown-elf-}
for need in qemu-system-riscv64 "${prefix}gcc"; do
	command -v "$need" >/dev/null || { echo "skip the bare kernel: $need is not installed" && exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools/programs.sh
debug=$(realpath "${CARGO_TARGET_DIR:-target}")/debug
"$debug/weir-glue" plain . >"$work/unit.c"
runtimes/bare/build.sh "$work/unit.c" "$work/bare"
export RUNWEIR_BARE=$work/bare
bare() { timeout 600 "$debug/runweir" bare "$@"; }
says() { # WORDS COMMAND...
	local status=0
	"${@:2}" >"$work/out" 2>&1 || status=$?
	if ((status)) || ! grep -qF -- "$1" "$work/out"; then
		cat "$work/out"
		echo "FAIL ${*:2}: status $status, expected 0 and: $1"
		exit 1
	fi
}
refuses() { # STATUS WORDS COMMAND...
	local status=0
	"${@:3}" >"$work/out" 2>&1 || status=$?
	if ((status != $1)) || ! grep -qF -- "$2" "$work/out"; then
		cat "$work/out"
		echo "FAIL ${*:3}: status $status, expected $1 and: $2"
		exit 1
	fi
}

# --- messages, capabilities, threads -----------------------------------------------------------------

says 'hello from core 3, spawned' bare priority --harts 4 -q -- hello
says '1000 calls, 0 wrong' bare priority --harts 1 -q -- lmp
says 'buffered 16, refused 4' bare linux --harts 2 -q -- lmp
says 'lmp: served 1000' bare edf --harts 1 -q -- lmp 1000 call + lmp 1000 serve
bare priority --harts 1 --json -- lmp 2>/dev/null >"$work/lmp.json"
python3 - "$work/lmp.json" <<'PYTHON'
import json, sys
bare = json.load(open(sys.argv[1]))["bare"]
one_way = [m["value"] for m in bare["marks"] if m["number"] == 1][0]
# Docs/bare.md has the figure; it is exact, so the bound is tight.
assert one_way <= 150, f"a message takes {one_way} instructions"
assert bare["harts"][0]["messages_short"] >= 2000, bare["harts"][0]
PYTHON
says '2000 messages to core 3 and back, 0 wrong' bare decentral --harts 4 -q -- ump
says 'unknown -9, refused -10' bare decentral --harts 1 -q -- ump
says '47 tests, 0 wrong' bare priority --harts 4 -q -- caps
says '47 tests, 0 wrong' bare priority --harts 2 --quantum 1us -q -- caps
says '7200 rounds on 4 cores, 0 wrong' bare decentral --harts 4 -q -- threads
says '24 sums of 4000 terms, 0 wrong' bare decentral --harts 4 -q --set round_robin.slice=100us -- floats
says '6 sums of 4000 terms, 0 wrong' bare priority --harts 1 -q --quantum 3us -- floats
# Threads, mutexes, condition variables and semaphores across cores; groups that publish.
says '96 counts, 32 moves of 8 threads over 4 cores, 0 wrong' bare priority --harts 4 -q --no-trace --duration 400ms -- across 12
says '768 counts, 256 moves of 32 threads over 16 cores, 0 wrong' bare priority --harts 16 -q --no-trace --duration 900ms -- across 24
says ', 0 wrong' bare decentral --harts 3 -q --no-trace --quantum 2700ns --set round_robin.slice=100us --duration 400ms -- across 12
says ', 0 wrong' bare worksteal --shared --harts 4 -q --no-trace --duration 400ms -- across 12
says '120 binds from 4 cores' bare priority --harts 4 -q --no-trace --duration 300ms -- channels
says ', 0 wrong' bare worksteal --shared --harts 4 -q --no-trace --duration 300ms -- channels
says '20 changes on 1 cores in one order' bare priority --harts 1 -q --no-trace --duration 300ms -- topics
says '80 changes on 16 cores in one order' bare priority --harts 16 -q --no-trace --duration 500ms -- topics 5
says ', 0 wrong' bare worksteal --shared --harts 4 -q --no-trace --duration 500ms -- topics
# Preempted and passed on in ever other places, from the first instruction of the monitors on.
quanta=(1000 1300 2700 7900 23000)
[[ -z ${WEIR_LONG:-} ]] || mapfile -t quanta < <(seq 1000 37 4000)
for quantum in "${quanta[@]}"; do
	says '3600 rounds on 2 cores, 0 wrong' bare decentral --harts 2 -q --quantum ${quantum}ns --set round_robin.slice=100us --no-trace -- threads
done
"$debug/runweir" reproduce multikernel-e4 --quick >"$work/e4" 2>/dev/null
! grep -q 'Nothing was measured now' "$work/e4" || { cat "$work/e4" && exit 1; }
echo "ok   bare kernel: messages, capabilities, threads"

# --- preemption at every instruction ------------------------------------------------------------------------

# In a kernel whose expiries come to the instruction; and in kernels and libraries with one mistake each, which have to be noticed.
inject() { # FOLDER
	RUNWEIR_BARE=$1 bare priority --harts 1 --quantum 1ms -q --no-trace --duration 3s -- tests/bare/inject.c
}
alter() { # NAME FILE SED: the folder $folder is made
	folder=$work/mutant
	rm -rf "$folder"
	mkdir "$folder"
	cp -r core runtimes "$folder"
	sed -i "$3" "$folder/runtimes/bare/$2"
	! cmp -s "runtimes/bare/$2" "$folder/runtimes/bare/$2" || { echo "FAIL mutant: $1: does not apply to $2" && exit 1; }
}
mutant() { # NAME FILE SED
	alter "$@"
	BARE_FLAGS=-DBARE_EXACT BARE_KERNELS=kernel "$folder/runtimes/bare/build.sh" "$work/bare/obj/unit.o" "$folder/out"
	# One whose expiries are all late does not come to its end in time.
	if inject "$folder/out" >"$work/out" 2>&1 && grep -qF 'that must be; 0 wrong' "$work/out"; then
		echo "FAIL mutant: $1: not noticed"
		exit 1
	fi
	mutants=$((${mutants:-0} + 1))
}
BARE_FLAGS=-DBARE_EXACT BARE_KERNELS='kernel kernel-shared' runtimes/bare/build.sh "$work/bare/obj/unit.o" "$work/exact"
says 'that must be; 0 wrong' inject "$work/exact"
places=$(grep -o 'inject: [0-9]* instants, [0-9]* places' "$work/out" | cut -d' ' -f2-)
mutant "the critical range ends an instruction early" lib/entry.S 's/^critical_high:$/too_late:/; s/^\tjr gp$/critical_high:\n\tjr gp/'
mutant "the last look comes before the announcement" lib/threads.c \
	's|^\t\t/\* Enabled and without a thread|\t\td->haswork = 0;\n&|; /^\t\td->haswork = 0;$/d'
mutant "the kernel forgets floating-point registers" kernel/dispatch.c 's/^\t\tfp_save(h->fp_owner->fp);$/\t\t(void)0;/'
if [[ -n ${WEIR_LONG:-} ]]; then
	mutant "the library forgets floating-point registers" lib/threads.c 's/^\t\tmk_fp_save(t->fp);$/\t\t(void)0;/'
	mutant "an answer ignores notifications" lib/messages.c 's/ && !d->notified)$/)/'
	mutant "the critical range is not looked at" kernel/start.S '/^\tbltu t2, t3, 2f$/d'
	mutant "the word disabled is not looked at" kernel/start.S '/^\tld t2, D_DISABLED(t1)$/{n;d}'
	mutant "an expiry on the way to idle waits for the next round" kernel/turn.c 's/if (until && until < h->turn_end/if (until > t \&\& until < h->turn_end/'
fi
# With one scheduler for all harts no message takes the short way, so fewer places are hit.
if [[ -n ${WEIR_LONG:-} ]]; then
	inject_shared() { RUNWEIR_BARE=$work/exact bare priority --harts 1 --shared --quantum 1ms -q --no-trace --duration 3s -- tests/bare/inject.c; }
	refuses 1 'that must be; 0 wrong' inject_shared
fi
echo "ok   bare kernel: preemption at every instruction, $places; $mutants mutants refused"

# --- one scheduler for all harts ------------------------------------------------------------------------------

# More dispatchers than harts, all made on one core: they stay there, or go where the policy puts them.
says '1200 rounds on 1 harts' bare worksteal --harts 4 -q -- spread
says '`work_stealing` moves no dispatchers; --shared' bare worksteal --harts 2 -- hello
says ', 0 wrong' bare worksteal --harts 4 --shared --json -q -- spread
bare worksteal --harts 4 --shared --json -q -- spread 2>/dev/null >"$work/spread.json"
python3 - "$work/spread.json" <<'PYTHON'
import json, sys
run = json.load(open(sys.argv[1]))
rounds = [m["value"] for m in run["bare"]["marks"] if 20 <= m["number"] < 24]
assert sum(rounds) == 1200 and min(rounds) > 150, rounds
assert all(h["messages_short"] == 0 for h in run["bare"]["harts"])
assert run["totals"]["migrations"] > 5, run["totals"]
PYTHON
policies=(edf linux)
[[ -z ${WEIR_LONG:-} ]] || policies=(worksteal edf linux priority central decentral global_rr stride eevdf)
for policy in "${policies[@]}"; do
	for harts in 2 3 16; do
		says ', 0 wrong' bare $policy --harts $harts --shared -q --no-trace -- spread
	done
	says ', 0 wrong' bare $policy --harts 4 --shared -q --no-trace --quantum 3us -- lmp + caps
done
# What is taken from a dispatcher that runs on another hart is gone at once.
says '40 frames revoked, 40 faults, 0 wrong' bare decentral --harts 2 -q -- tests/bare/shared.c
says '40 frames revoked, 40 faults, 0 wrong' bare worksteal --harts 4 --shared -q -- tests/bare/shared.c
says '7200 rounds on 4 cores, 0 wrong' bare worksteal --harts 4 --shared -q -- threads
says '24 sums of 4000 terms, 0 wrong' bare worksteal --harts 4 --shared -q --set round_robin.slice=100us -- floats
says '2000 messages to core 3 and back, 0 wrong' bare worksteal --harts 4 --shared -q -- ump
says 'rounds of 4 members' bare gang --harts 4 --shared -q -- gang slots 2000
for how in write frame; do
	refuses 1 'the kernel ended `intruder`' bare worksteal --harts 2 --shared -q -- deadlines + intruder $how
	grep -qF '40 jobs on 2 cores, 0 missed' "$work/out"
done
for how in disabled block answered; do
	says '40 jobs on 2 cores, 0 missed' bare worksteal --harts 2 --shared -q --no-trace --duration 60ms -- deadlines + intruder $how
done
# Harts that run in parallel: in the long form only, because they depend on what else the host does.
overlapped=0
for ((i = 0; i < ${WEIR_LONG:+22}+0; i++)); do
	for harts in 2 4; do
		says ', 0 wrong' bare worksteal --harts $harts --shared --parallel -q --no-trace --seed $i -- spread 12 60
		says '10 frames revoked, 10 faults, 0 wrong' bare worksteal --harts $harts --shared --parallel -q --no-trace --seed $i -- tests/bare/shared.c 10
		says ', 0 wrong' bare edf --harts $harts --shared --parallel -q --no-trace --seed $i -- caps + threads
		says ', 0 wrong' bare decentral --harts $harts --parallel -q --no-trace --seed $i -- ump + caps
		overlapped=$((overlapped + 4))
	done
done
mutants=0
echo 'annotate affinity; entry -> round_robin(slice = 100us) -> cpus;' >"$work/fast.weir"
says ', 0 wrong' bare "$work/fast.weir" --harts 3 --shared -q --no-trace -- spread
# Whether harts meet at a mistake depends on single instructions: several lengths of a turn try several meetings.
noticed() { # POLICY PROGRAM
	local quantum harts
	for quantum in 10us 3us 30us 7us 17us 5us; do
		for harts in 2 3 4; do
			RUNWEIR_BARE=$folder/out bare "$1" --harts $harts --shared --quantum $quantum -q --no-trace --duration 60ms -- "${@:2}" >"$work/out" 2>&1 || return 0
			grep -qF ', 0 wrong' "$work/out" || return 0
		done
	done
	return 1
}
mutant_shared() { # NAME FILE SED POLICY PROGRAM
	alter "${@:1:3}"
	BARE_KERNELS='kernel kernel-shared' "$folder/runtimes/bare/build.sh" "$work/bare/obj/unit.o" "$folder/out"
	noticed "${@:4}" || { echo "FAIL mutant: $1: not noticed" && exit 1; }
	mutants=$((mutants + 1))
}
mutant_shared "another hart keeps the old regions" kernel/dispatch.c 's/^	weir_store(&at->stale, 1);$//' worksteal tests/bare/shared.c
mutant_shared "a thread moves before it is off its stack" lib/across.c \
	's/^	lib()->off = t;$/	post(\&t->own, (u32)place); mk_invoke((u64)slot, CMD_POKE, 0, 0, 0, 0);/' edf across 4
mutant_shared "an expiry by the clock of another hart is lost" lib/threads.c 's/ || was >> 63)$/ || was == 1)/' edf spread
if [[ -n ${WEIR_LONG:-} ]]; then
	mutant_shared "who waits for a mutex is forgotten" lib/across.c '/^void mk_unlock/,/^}/s/line_up(m);/line_up(m); m->first = 0;/' edf across 4
	mutant_shared "floating-point registers of a thread stay behind" lib/across.c 's/t->has_fp |= .*/t->has_fp = 0;/' edf across 4
	mutant_shared "floating-point registers stay where they are" kernel/dispatch.c 's/^		fp_save(k->fp);$/		(void)0;/' "$work/fast.weir" spread
	mutant_shared "a queued receiver runs on borrowed time" kernel/message.c 's/return SHARED ? k->on == SCHED_BLOCKED : /return /' edf spread
	mutant_shared "the policy's request does not reach the other hart" kernel/dispatch.c '/^static void ask/,/^}/s/^\tprod(h, hart);$//' worksteal spread
fi
echo "ok   bare kernel: one scheduler for all harts; $overlapped runs of harts in parallel; $mutants mutants refused"

# --- programs that mean ill ------------------------------------------------------------------------------

for how in write read jump other peek run data frame text clint interrupts wfi; do
	refuses 1 'the kernel ended `intruder`' bare priority --harts 2 -q -- deadlines + intruder $how
	grep -qF '40 jobs on 2 cores, 0 missed' "$work/out"
done
for how in disabled spin calls block answered; do
	says '40 jobs on 2 cores, 0 missed' bare priority --harts 2 -q --duration 60ms -- deadlines + intruder $how
done
echo "ok   bare kernel: seventeen intruders; nobody else missed a deadline"

# --- gangs -------------------------------------------------------------------------------------------------

# Apart, the members of a team wait for each other's slices; in slots they meet.
says 'rounds of 4 members' bare gang --harts 4 -q -- gang slots 2000
slots=$(grep -o '[0-9]* rounds/s' "$work/out" | cut -d' ' -f1)
says 'rounds of 4 members' bare gang --harts 4 -q -- gang best 200
best=$(grep -o '[0-9]* rounds/s' "$work/out" | cut -d' ' -f1)
((slots > 5 * best)) || { echo "FAIL $slots rounds/s in slots, $best apart" && exit 1; }
echo "ok   bare kernel: gangs, $slots rounds/s in slots, $best apart"

# A collector's threads meet at barriers: in one group, with long slots, they are done in less than half of the time.
says 'and 0 us for merge and split' bare gang --harts 4 -q --no-trace -- collector 2 apart
apart=$(grep -o '[0-9]* us each' "$work/out" | cut -d' ' -f1)
says '; 0 wrong' bare gang --harts 4 -q --no-trace -- collector 2
merged=$(grep -o '[0-9]* us each' "$work/out" | cut -d' ' -f1)
((2 * merged < apart)) || { echo "FAIL a collection takes $merged us merged, $apart us apart" && exit 1; }
echo "ok   bare kernel: groups, a collection of $merged us merged, $apart us apart"

# --- the same bytes --------------------------------------------------------------------------------------------

for harts in 4 16; do
	for run in 1 2; do
		status=0
		bare priority --harts $harts -o "$work/run$run" --force --json -- threads + lmp + intruder write + deadlines \
			>"$work/json$run" 2>"$work/console$run" || status=$?
		((status == 1))
		sed -i '/^written/d' "$work/console$run"
	done
	cmp "$work/json1" "$work/json2"
	cmp "$work/console1" "$work/console2"
	diff -r "$work/run1" "$work/run2"
	for run in 1 2; do
		status=0
		bare worksteal --shared --harts $harts -o "$work/run$run" --force --json -- spread + threads + intruder write + deadlines \
			>"$work/json$run" 2>"$work/console$run" || status=$?
		((status == 1))
		sed -i '/^written/d' "$work/console$run"
	done
	cmp "$work/json1" "$work/json2"
	cmp "$work/console1" "$work/console2"
	diff -r "$work/run1" "$work/run2"
done
echo "ok   bare kernel: two runs on 4 and on 16 harts, with a scheduler each and with one for all, the same bytes"

# --- the same decisions ------------------------------------------------------------------------------------

# Each topology of the catalogue and of each component's test, as a plan, under one random history: what the core answers on a bare hart is what it
# answers here, word for word.
mkdir "$work/plans"
for file in topologies/*.weir components/*/*.wtest; do
	name=$(basename "${file%.*}")
	source=$file
	if [[ $file == *.wtest ]]; then
		source=$work/$name.weir
		awk '/^%/ { on = $1 == "%topology" } on && !/^%/' "$file" >"$source"
	fi
	# In the short form on the first machine that fits.
	for machine in smp-4 accel-4x2 machines/npu-board.toml smp-2 smp-1; do
		! "$debug/runweir" compile "$source" -m $machine -q -o "$work/plans/$(basename "$file")-$(basename $machine).plan" 2>/dev/null ||
			[[ ${WEIR_LONG:-} ]] || break
	done
done
python3 - "$work/plans" "$work/all" "${WEIR_CASES:-400}" "$debug/runweir" <<'PYTHON'
import json, os, struct, subprocess, sys
folder, out, steps, runweir = sys.argv[1:]
plans, names = b"", b""
for name in sorted(os.listdir(folder)):
    plan = open(os.path.join(folder, name), "rb").read()
    plans += struct.pack("<Q", len(plan)) + plan + bytes(-len(plan) % 8)
    names += plan
plans += bytes(8)
open(out, "wb").write(plans)
open(out + ".hart", "wb").write(struct.pack("<Q", int(steps)) + plans)
components = json.loads(subprocess.run([runweir, "components", "--json"], capture_output=True, check=True).stdout)["components"]
missing = [c["name"] for c in components if b"\0" + c["name"].encode() + b"\0" not in names and os.path.exists("components/%s/%s.c" % (c["class"], c["name"]))]
assert not missing, f"no plan has {missing}"
PYTHON
include=(-std=gnu11 -Icore/include -Icore/src -Iruntimes/multikernel -Itests/bare -Wall -Wextra -Werror -Wno-unused-parameter)
"${CC:-gcc}" "${include[@]}" -O1 -Icore/port/native -o "$work/here" "$work/unit.c" core/port/native/{port,host}.c runtimes/multikernel/plan.c \
	tests/bare/decide{,_here}.c
"${prefix}gcc" "${include[@]}" -O2 -march=rv64imac_zicsr -mabi=lp64 -mcmodel=medany -ffreestanding -fno-builtin -Icore/port/bare -nostdlib \
	-T tests/bare/decide.ld -o "$work/hart.elf" tests/bare/decide{,_hart}.c "$work"/bare/obj/{unit,host,plan}.o \
	"$("${prefix}gcc" -march=rv64imac -mabi=lp64 -print-libgcc-file-name)"
"$work/here" "$work/all" "${WEIR_CASES:-400}" >"$work/decided.here"
timeout 600 qemu-system-riscv64 -M virt -m 256M -bios none -display none -monitor none -serial file:"$work/decided.hart" -kernel "$work/hart.elf" \
	-device loader,file="$work/all.hart",addr=0x88000000,force-raw=on
diff "$work/decided.here" "$work/decided.hart"
nr=$(wc -l <"$work/decided.here")
((nr > 200)) || { echo "FAIL only $nr plans" && exit 1; }
! grep -q ' 0000000000000000$' "$work/decided.here" || { echo "FAIL a plan was not loaded" && exit 1; }
echo "ok   bare kernel: the same decisions as here, $nr plans"

# --- own programs, wrong input -----------------------------------------------------------------------------------

cat >"$work/mine.c" <<'C'
#include <weir/mk.h>
int main(int argc, char **argv)
{
	mk_print("%s: %d\n", argv[argc - 1], argc);
	return argc == 3 ? 0 : 5;
}
C
cat >"$work/reads.c" <<'C'
#include <weir/mk.h>
int main(int argc, char **argv)
{
	char line[100];
	u64 sum = 0, lines = 0;
	s64 n;
	while ((n = mk_read(line, sizeof(line))) >= 0) {
		lines++;
		for (s64 i = 0, v = 0; i <= n; i++) {
			if (line[i] >= '0' && line[i] <= '9')
				v = v * 10 + line[i] - '0';
			else
				sum += v, v = 0;
		}
	}
	mk_print("%lu lines, sum %lu\n", (unsigned long)lines, (unsigned long)sum);
	return mk_read(line, sizeof(line)) != -1;
}
C
printf '1 2\n\n30 %0100d\n400' 5 >"$work/input"
says '4 lines, sum 433' bare priority --harts 2 -q --input "$work/input" -- "$work/reads.c"
says '0 lines, sum 0' bare worksteal --harts 2 --shared -q -- "$work/reads.c"
says '1 lines, sum 7' bare priority --harts 1 -q --input - -- "$work/reads.c" <<<7
head -c 20000 /dev/zero >"$work/zeros"
refuses 2 'is no input for the console' bare priority -q --input "$work/zeros" -- hello
says 'two: 3' bare priority --harts 1 -q -- "$work/mine.c" one two
refuses 1 'one: 2' bare priority --harts 1 -q -- "$work/mine.c" one
echo 'int main(void) { return nothing; }' >"$work/bad.c"
refuses 2 'does not compile' bare priority -- "$work/bad.c"
refuses 2 'there is no program `helo`' bare priority -- helo
refuses 2 'stands between two programs' bare priority -- hello + + hello
refuses 2 'there is no topology called' bare prioritty -- hello
refuses 2 'a quantum is' bare priority --quantum 5s -- hello
refuses 1 'every program waits' bare priority --harts 1 -q -- "$(echo '#include <weir/mk.h>
int main(int argc, char **argv) { mk_park(); return 0; }' >"$work/waits.c" && echo "$work/waits.c")"
says 'duration' bare priority --harts 2 --duration 3ms --json -- intruder spin
echo "ok   bare kernel: own programs, wrong input"
if [[ -n ${WEIR_LONG:-} ]]; then
	says '100000 calls, 0 wrong' bare priority --harts 1 -q --no-trace -- lmp 100000
	says '100000 messages to core 15 and back, 0 wrong' bare priority --harts 16 -q --no-trace -- ump 100000
	echo "ok   bare kernel: long runs"
fi
