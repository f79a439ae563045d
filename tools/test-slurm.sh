#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# A sweep as an array of jobs under Slurm, on a cluster of one node from Debian's packages (slurmctld, slurmd, munge): the bytes of one
# machine, also where a task is killed. The daemons run for this script only. RUNWEIR names another program than the debug build.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in slurmctld slurmd sbatch squeue munged; do
	command -v $tool >/dev/null || { echo "skipped: no $tool (apt-get install slurmctld slurmd slurm-client munge)"; exit 77; }
done
((EUID == 0)) || { echo "skipped: Slurm's daemons need root"; exit 77; }
[[ ${RUNWEIR:-} ]] || tools/programs.sh
runweir=$(realpath "${RUNWEIR:-${CARGO_TARGET_DIR:-target}/debug/runweir}")
work=$(mktemp -d)
chmod 755 "$work"
pids=()
cleanup() {
	((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
	sleep 1
	rm -rf "$work"
}
trap cleanup EXIT
cd "$work"

# Keys and sockets of its own: a running cluster is left alone.
mkdir -m 700 munge state spool
dd if=/dev/urandom of=munge/key bs=1 count=1024 status=none
chmod 400 munge/key
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
	--log-file="$work/munge/log" --seed-file="$work/munge/seed" >munge.out 2>&1 &
pids+=($!)
host=$(hostname -s)
cat >slurm.conf <<CONF
ClusterName=alone
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
SlurmctldPort=26817
SlurmdPort=26818
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SchedulerParameters=sched_interval=1
MinJobAge=10
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$work/slurm.conf
for _ in $(seq 50); do [[ -S munge/socket ]] && break; sleep 0.1; done
slurmctld -D >ctld.out 2>&1 &
pids+=($!)
slurmd -D >slurmd.out 2>&1 &
pids+=($!)
for _ in $(seq 300); do
	sinfo --noheader --format=%t 2>/dev/null | grep -q idle && break
	sleep 0.2
done
sinfo --noheader --format=%t 2>/dev/null | grep -q idle || {
	echo "skipped: Slurm's daemons do not come up here"
	tail -3 slurmctld.log slurmd.log ctld.out slurmd.out munge.out 2>/dev/null
	exit 77
}

cat >grid.toml <<'SPEC'
topology = ["edf", "p-edf"]
machine = "smp-4"
workload = "periodic"
costs = "zero"
seeds = 400
duration = "200ms"
[keys]
tasks = 10
util = ["220%", "300%", "380%"]
SPEC
same() {
	for file in results.csv summary.csv sweep.json sweep.html; do
		cmp "whole/$file" "$1/$file"
	done
}
"$runweir" sweep grid.toml --out whole --quiet

# Two tasks are killed while they run; what they have done stays, and the same command makes the rest.
"$runweir" sweep grid.toml --executor slurm --shards 5 --out array 2>array.log &
sweep=$!
for _ in $(seq 600); do
	ls array/.runweir-shards/of-5/*/.runweir-sweep/runs >/dev/null 2>&1 && break
	sleep 0.1
done
killed=$(squeue --noheader --array --states=R --format=%i | tr '\n' ' ')
[[ $killed ]] || { echo "no task ran that could be killed" && cat array.log && exit 1; }
scancel --full --signal=KILL $killed
status=0
wait $sweep || status=$?
((status == 1)) || { echo "status $status though tasks were killed" && cat array.log && exit 1; }
"$runweir" sweep grid.toml --executor slurm --shards 5 --out array --quiet
same array
echo "an array of jobs under Slurm $(slurmctld -V | cut -d' ' -f2); killed: $killed; after the same command again the same bytes"

# Ctrl-C leaves the jobs in the queue, and the same command waits for them.
"$runweir" sweep grid.toml --executor slurm --shards 3 --out later 2>later.log &
sweep=$!
for _ in $(seq 600); do grep -q '^submitted' later.log && break; sleep 0.1; done
kill -INT $sweep
status=0
wait $sweep || status=$?
((status == 1)) || { echo "status $status after an interrupt" && cat later.log && exit 1; }
"$runweir" sweep grid.toml --executor slurm --shards 3 --out later 2>again.log
grep -q 'in the queue already\|submitted' again.log || { cat again.log && exit 1; }
same later
echo "interrupted, then gone on: the same bytes"
