#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Programs that others wrote, beside Linux: bench/threads/others.sh [PAIRS [POLICIES [ROWS]]]. A line for each row and policy: medians of the seconds
# without a policy, and of the pairs' ratios in time and in processor time, with the first and third quartile. Runs take turns. The programs have as many
# working threads as there are CPUs. Of a server, the time is that of its load, and the processor time its own.
#
# The plan is compiled before, so the 2 to 4 ms in which a program meets its policy are in the times, and those of `runweir` are not. `tree` as
# a policy is `decentral` in a process of its own. OpenMP has a script of its own, openmp.sh. Needs `make threads`, a built runweir, GNU time, and what the rows name; rows that lack it are left out.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath "${CARGO_TARGET_DIR:-target}")
runweir=${RUNWEIR:-$target/release/runweir}
[[ -x $runweir ]] || runweir=$target/debug/runweir
pairs=${1:-9} policies=${2:-decentral} rows=${3:-all}
cpus=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=/usr/bin/python3

made() { # FILE COMMAND...: once
	[[ -e $work/$1 ]] || "${@:2}" >"$work/made" 2>&1
}
block() { seq "$1" >"$work/block"; }
# Each makes what it needs, and says what is run.
row_xz() { made block block 400000 && command=(xz -kc -T"$cpus" -3 --block-size=500KiB "$work/block"); }
row_zstd() { made block block 400000 && command=(zstd -qc -T"$cpus" -15 -B500KiB "$work/block"); }
row_pigz() { made block block 400000 && made long sh -c "cat $work/block $work/block $work/block >$work/long" && command=(pigz -c -p "$cpus" "$work/long"); }
row_sort() { made shuffled shuf -i 1-800000 -o "$work/shuffled" && command=(sort -n --parallel="$cpus" -S 200M "$work/shuffled"); }
row_python() { command=("$python" -c 'import threading, hashlib
def f():
    for i in range(80): hashlib.sha256(b"x" * 2000000).digest()
t = [threading.Thread(target=f) for _ in range('"$cpus"')]; [x.start() for x in t]; [x.join() for x in t]'); }
row_pool() { command=("$python" -c 'import multiprocessing as m
with m.Pool('"$cpus"') as p: p.map(sum, [range(1000000)] * 60)'); }
row_node() { command=(node -e 'const {Worker}=require("worker_threads");for(let i=0;i<'"$cpus"';i++)new Worker("let s=0;for(let i=0;i<3e8;i++)s+=i%7",{eval:true})'); }
java_source() {
	cat >"$work/T.java" <<'END'
import java.util.stream.*;
public class T { public static void main(String[] a) { double s = 0; for (int r = 0; r < 12; r++) s += IntStream.range(0, 3000000).parallel().mapToDouble(i -> Math.sqrt(i) * Math.sin(i)).sum(); System.out.println(s); } }
END
	javac -d "$work" "$work/T.java"
}
row_java() { made T.class java_source && command=(java -cp "$work" T); }
go_source() {
	cat >"$work/t.go" <<'END'
package main
// #include <pthread.h>
import "C"
import ("fmt"; "runtime"; "sync")
func main() { var w sync.WaitGroup; var m sync.Mutex; s := 0
 for i := 0; i < runtime.NumCPU(); i++ { w.Add(1); go func(n int) { defer w.Done(); for k := 0; k < 150; k++ { v := 0; for j := 0; j < 1000000; j++ { v += j % (n + 3) }; m.Lock(); s += v; m.Unlock() } }(i) }
 w.Wait(); fmt.Println(s) }
END
	(cd "$work" && GO111MODULE=off go build -o go t.go)
}
row_go() { made go go_source && command=("$work/go"); }
haskell_source() {
	cat >"$work/h.hs" <<'END'
import Control.Concurrent
import Control.Exception
main :: IO ()
main = do
  n <- getNumCapabilities
  vs <- mapM (\i -> do { v <- newEmptyMVar; _ <- forkIO (evaluate (foldl (\s x -> (s * 31 + x) `mod` 1000003) i [1 .. 20000000]) >>= putMVar v); return v }) [1 .. n]
  mapM takeMVar vs >>= print . sum
END
	(cd "$work" && ghc -v0 -O1 -threaded -rtsopts h.hs -o haskell)
}
row_ghc() { made haskell haskell_source && command=("$work/haskell" +RTS -N"$cpus"); }
row_make() {
	mkdir -p "$work/tree"
	made tree/Makefile sh -c "printf 'all: %s\n%%.o: %%.c ; cc -O2 -c -o \$@ \$<\n' '$(seq -f '%g.o' 8 | tr '\n' ' ')' >$work/tree/Makefile"
	for i in $(seq 8); do cp tests/threads/program.c "$work/tree/$i.c"; done
	command=(make -s -B -j"$cpus" -C "$work/tree")
}
row_sqlite() { command=("$python" -c 'import sqlite3, threading
def f():
    c = sqlite3.connect(":memory:"); c.execute("create table t(a, b)")
    c.executemany("insert into t values(?, ?)", ((i, i % 1000) for i in range(120000))); c.execute("select b, count(*), sum(a) from t group by b order by 3").fetchall()
t = [threading.Thread(target=f) for _ in range('"$cpus"')]; [x.start() for x in t]; [x.join() for x in t]'); }
port=$((20000 + RANDOM % 20000))
row_redis() { command=(redis-server --port "$port" --save '' --dir "$work" --logfile "$work/redis.log") load=(redis-benchmark -p "$port" -q -n 20000 -c 20 -P 4 -t 'set,get'); }
row_nginx() {
	mkdir -p "$work/nginx/logs"
	echo hello >"$work/nginx/index.html"
	printf 'worker_processes 1; daemon off; master_process off; pid %s/pid; error_log %s/e;\nevents {}\nhttp { access_log off; client_body_temp_path %s/b; proxy_temp_path %s/p; fastcgi_temp_path %s/f; uwsgi_temp_path %s/u; scgi_temp_path %s/s; server { listen 127.0.0.1:%s; root %s; } }\n' \
		"$work" "$work" "$work" "$work" "$work" "$work" "$work" "$port" "$work/nginx" >"$work/nginx.conf"
	command=(nginx -p "$work/nginx" -c "$work/nginx.conf") load=(ab -q -n 5000 -c 8 "http://127.0.0.1:$port/index.html")
}
[[ $rows == all ]] && rows=$(declare -F | sed -n 's/^declare -f row_//p')

prefix() { # POLICY: sets `under`
	under=()
	case $1 in
	plain) ;;
	tree) under=(env WEIR_THREADS_JOIN=others LD_PRELOAD="$target/threads/libweir_preload.so:$target/threads/libweir_gomp.so") ;;
	*) under=(env WEIR_THREADS_PLAN="$work/$1.plan" LD_PRELOAD="$target/threads/libweir_preload.so:$target/threads/libweir_gomp.so") ;;
	esac
}
run() { # POLICY: prints seconds and seconds of the processor
	local under pid wall before
	prefix "$1"
	before=$(date +%s%N)
	if ((${#load[@]} == 0)); then
		timeout 120 /usr/bin/time -o "$work/time" -f '%e %U %S' "${under[@]}" "${command[@]}" >/dev/null 2>"$work/stderr" || return 0
		wall=$(($(date +%s%N) - before))
	else
		/usr/bin/time -o "$work/time" -f '%e %U %S' "${under[@]}" "${command[@]}" >/dev/null 2>&1 &
		pid=$!
		for ((i = 0; i < 100; i++)); do (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 0.05; done
		before=$(date +%s%N)
		timeout 120 "${load[@]}" >/dev/null 2>&1 || return 0
		wall=$(($(date +%s%N) - before))
		kill -TERM "$(pgrep -P "$pid")"
		wait "$pid" || true
	fi
	awk -v wall="$wall" 'END { print wall / 1e9, $2 + $3 }' "$work/time"
}
serve() {
	"$target/threads/weir-cpus" serve others "$work/decentral.plan" >"$work/served" 2>/dev/null &
	server=$!
	for ((i = 0; i < 100; i++)); do [[ -s $work/served ]] && break || sleep 0.1; done
}
for policy in $policies decentral; do
	[[ $policy == tree ]] || "$runweir" compile "$policy" -m "smp-$cpus" -q -o "$work/$policy.plan"
done
for row in $rows; do
	command=() load=()
	"row_$row" && command -v "${command[0]}" >/dev/null && { ((!${#load[@]})) || command -v "${load[0]}" >/dev/null; } || { echo "skip $row" && continue; }
	run plain >/dev/null
	for policy in $policies; do
		if [[ $policy == tree ]]; then serve; fi
		for ((n = 0; n < pairs; n++)); do
			echo "$(run plain) $(run "$policy")"
		done | "$python" -c 'import statistics as s, sys
lines = [line.split() for line in sys.stdin]; rows = [list(map(float, l)) for l in lines if len(l) == 4]
if len(rows) < len(lines): print(f"{sys.argv[1]} {sys.argv[2]}: {len(lines) - len(rows)} pairs failed", flush=True)
def q(v): a = s.quantiles(v, n=4); return f"{a[1]:.3f} ({a[0]:.2f} to {a[2]:.2f})"
print(f"{sys.argv[1]:8} {sys.argv[2]:10} {len(rows)} pairs  without {s.median(r[0] for r in rows):.2f} s, cpu {s.median(r[1] for r in rows):.2f} s  time x {q([r[2] / r[0] for r in rows])}  cpu x {q([r[3] / r[1] for r in rows])}", flush=True)' "$row" "$policy"
		if [[ $policy == tree ]]; then kill "$server" && wait "$server" || true; fi
	done
done
