#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# A sweep on workers of Dask: the bytes of one machine, also where workers are killed meanwhile, the disk of a worker is full, or the command is
# interrupted. WEIR_LONG: 100,000 task sets. RUNWEIR names another program than the debug build, PYTHON an interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

# Dask of the interpreter, or in an environment of its own, once.
export PYTHON=${PYTHON:-python3}
has_dask() { "$PYTHON" -c 'import dask.distributed' 2>/dev/null; }
if ! has_dask; then
	environment=$(realpath -m "${CARGO_TARGET_DIR:-target}")/dask
	[[ -x $environment/bin/python ]] || "$PYTHON" -m venv "$environment" >/dev/null 2>&1 || true
	PYTHON=$environment/bin/python
	has_dask || "$environment/bin/pip" install --quiet 'dask[distributed]==2026.8.0' >/dev/null 2>&1 || true
	has_dask || { echo "skipped: Dask cannot be installed from PyPI (no network, or no Debian package python3-venv)"; exit 77; }
fi
[[ ${RUNWEIR:-} ]] || tools/programs.sh
runweir=$(realpath "${RUNWEIR:-${CARGO_TARGET_DIR:-target}/debug/runweir}")
work=$(mktemp -d)
pids=()
cleanup() {
	# A worker that is asked to end waits for a scheduler that has ended before it.
	if ((${#pids[@]})); then
		kill -9 "${pids[@]}" 2>/dev/null || true
		wait "${pids[@]}" 2>/dev/null || true
	fi
	rm -rf "$work"
}
trap cleanup EXIT
cd "$work"

shards=30
cat >grid.toml <<SPEC
topology = ["edf", "p-edf"]
machine = "smp-4"
workload = "periodic"
costs = "zero"
seeds = 150
duration = "100ms"
stop_at_miss = true
[keys]
tasks = 10
unit = "1ms"
util = ["220%", "250%", "280%", "300%", "320%", "340%", "360%", "380%"]
SPEC
same() { # DIR [WHOLE]
	for file in results.csv summary.csv sweep.json success.svg sweep.html; do
		cmp "${2:-whole}/$file" "$1/$file"
	done
}
TIMEFORMAT='%R s by the clock, %U s of CPU time'
# both SPEC SHARDS WHOLE AWAY: on one machine, and on two workers of this computer.
both() {
	echo -n "one machine, two threads: "
	time "$runweir" sweep "$1" --out "$3" --quiet --jobs 2
	echo "  for $(($(wc -l <"$3/results.csv") - 1)) runs"
	echo -n "two workers of Dask on this computer: "
	time "$runweir" sweep "$1" --executor dask --jobs 2 --shards "$2" --out "$4" --quiet
	same "$4" "$3"
	echo "  the same bytes"
}
both grid.toml $shards whole local

# A scheduler of its own, and two workers, of which one is killed while it works, and another comes.
"$PYTHON" -m distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --dashboard-address :0 --no-dashboard --scheduler-file s.json >scheduler.log 2>&1 &
pids+=($!)
for _ in $(seq 300); do [[ -s s.json ]] && break; sleep 0.2; done
address=$("$PYTHON" -c 'import json; print(json.load(open("s.json"))["address"])')
worker() {
	"$PYTHON" -m distributed.cli.dask_worker "$address" --no-nanny --nthreads 1 --no-dashboard --local-directory "$work/w$1" >"worker$1.log" 2>&1 &
	pids+=($!)
}
worker 1
victim=${pids[-1]}
worker 2
# under_way DIR: some shards are done, and others are not.
under_way() {
	for _ in $(seq 600); do
		done=$(find "$1/.runweir-shards/of-$shards" -maxdepth 1 2>/dev/null | grep -c "/[0-9]*$" || true)
		((done == 0)) || break
		sleep 0.1
	done
	((done > 0 && done < shards)) || { echo "$done of $shards shards are done: nothing to be lost" && exit 1; }
}
"$runweir" sweep grid.toml --executor "dask:$address" --shards $shards --out lost --quiet &
sweep=$!
under_way lost
kill -9 "$victim"
worker 3
wait $sweep
same lost
echo "a worker is killed after $done of $shards shards, another comes: the same bytes"

# Interrupted, then again.
"$runweir" sweep grid.toml --executor "dask:$address" --shards $shards --out again --quiet &
sweep=$!
under_way again
kill -INT $sweep
status=0
wait $sweep || status=$?
((status == 1)) || { echo "status $status after an interrupt" && exit 1; }
[[ ! -e again/results.csv ]] || { echo "half a sweep looks like a result" && exit 1; }
"$runweir" sweep grid.toml --executor "dask:$address" --shards $shards --out again --quiet
same again
echo "interrupted after $done shards, then gone on: the same bytes"

# A shard whose disk is full fails, and says so; with room it goes on.
if ((EUID == 0)) && mkdir full && mount -t tmpfs -o size=24k none full 2>/dev/null; then
	status=0
	"$runweir" sweep grid.toml --shard 1/2 --out full/part --quiet 2>full.log || status=$?
	kept=$(wc -l <full/part/.runweir-sweep/runs)
	mount -o remount,size=4m full
	"$runweir" sweep grid.toml --shard 1/2 --out full/part --quiet
	"$runweir" sweep grid.toml --shard 2/2 --out half --quiet
	"$runweir" sweep grid.toml --merge full/part half --out disk --quiet
	umount full
	same disk
	((status == 1)) || { echo "status $status where the disk is full" && cat full.log && exit 1; }
	echo "a full disk (after $kept runs): status 1, nothing lost, the same bytes"
fi

# What is not there is said.
status=0
"$runweir" sweep grid.toml --executor dask:tcp://127.0.0.1:9 --out none --quiet 2>none.log || status=$?
((status == 2)) && grep -q 'no scheduler of Dask' none.log || { cat none.log && exit 1; }

# 100,000 sets of a published study, under two policies.
if [[ ${WEIR_LONG:-} ]]; then
	both "$root/bench/against_simso/study.toml" 64 study study-away
fi
