#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Programs that others wrote, under policies: the same output and exit status as without us. A long test; what is not installed is skipped.
#
#   tests/threads/others.sh RUNWEIR [ROWS [POLICIES [WAYS [CPUS]]]]       rows and others are lists in quotes, or `all`
#
#   WAYS: alone, tree, join. A line for each: name, policy, way, CPUs, seconds without and with, ok or what differs.
#
# Python's tests come with Debian's libpython3.11-testsuite, others with packages of their names.
# The rows are called by their names.
# shellcheck disable=SC2317
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
runweir=$(realpath "$1")
rows=${2:-all} policies=${3:-all} ways=${4:-all} sizes=${5:-all}
[[ $policies == all ]] && policies="decentral priority edf linux worksteal"
[[ $ways == all ]] && ways="alone tree join"
[[ $sizes == all ]] && sizes="1 2 3 8"
limit=${LIMIT:-300}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=/usr/bin/python3
failed=0

# Each row prints what is to be the same.
python_test() { "${under[@]}" "$python" -m test -q "$1" "${@:2}" >"$work/said" 2>&1; local status=$?; grep -E '^(Result|test .* (failed|crashed))|^(FAIL|ERROR):' "$work/said"; return "$status"; }
row_test_threading() { python_test test_threading; }
row_test_subprocess() { python_test test_subprocess; }
row_test_asyncio() { python_test test_asyncio; }
row_test_socket() { python_test test_socket; }
row_test_futures() { python_test test_concurrent_futures; }
row_test_queue() { python_test test_queue test_thread test_threadsignals; }
stress() { "${under[@]}" stress-ng --timeout 3s --quiet --"$1" 2 2>/dev/null; }
for kind in pthread mutex futex sem fork exec signal timer fifo pipe epoll vfork clone sigfd poll switch; do
	eval "row_stress_$kind() { stress $kind; }"
done
row_sqlite() {
	rm -f "$work/db"*
	"${under[@]}" "$python" - "$work/db" <<'END'
import sqlite3, sys, threading
name = sys.argv[1]
c = sqlite3.connect(name); c.execute("pragma journal_mode=wal"); c.execute("create table t(a, b)"); c.commit(); c.close()
def work(n):
    c = sqlite3.connect(name, timeout=60)
    for i in range(40):
        with c: c.execute("insert into t values(?, ?)", (n, i))
ts = [threading.Thread(target=work, args=(n,)) for n in range(6)]
[t.start() for t in ts]; [t.join() for t in ts]
print(sqlite3.connect(name).execute("select count(*), sum(a), sum(b) from t").fetchone())
END
}
row_pool() { "${under[@]}" "$python" -c 'import multiprocessing as m
with m.Pool(3) as p: print(sum(p.map(abs, range(2000))))'; }
row_xz() { seq 400000 | "${under[@]}" xz -T4 -c --block-size=200KiB | xz -dc | cksum; }
row_sort() { seq 200000 | shuf --random-source=<(yes) | "${under[@]}" sort -n --parallel=4 -S 1M | cksum; }
row_make() {
	mkdir -p "$work/make"
	printf 'all: %s\n%%.o: ; cc -x c -c -o $@ /dev/null && echo built\n' "$(seq -f '%g.o' 12 | tr '\n' ' ')" >"$work/make/Makefile"
	rm -f "$work/make/"*.o
	"${under[@]}" make -s -j4 -C "$work/make"
}
row_node() { "${under[@]}" node -e 'const {Worker,isMainThread,parentPort}=require("worker_threads"),c=require("crypto");let n=0;for(let i=0;i<4;i++){const w=new Worker("const{parentPort}=require(\"worker_threads\");let s=0;for(let i=0;i<3e6;i++)s+=i;parentPort.postMessage(s)",{eval:true});w.on("message",m=>{n+=m});w.on("exit",()=>{})}for(let i=0;i<8;i++)c.pbkdf2("a","b",2000,32,"sha256",(e,k)=>{n+=k[0]});process.on("exit",()=>console.log(n))'; }
row_java() {
	cat >"$work/T.java" <<'END'
import java.util.concurrent.*; import java.util.stream.*;
public class T { public static void main(String[] a) throws Exception {
 ExecutorService e = Executors.newFixedThreadPool(6); long s = 0; java.util.List<Future<Long>> l = new java.util.ArrayList<>();
 for (int i = 0; i < 30; i++) { final int n = i; l.add(e.submit(() -> { Thread.sleep(2); long t = 0; for (int j = 0; j < 100000; j++) t += j % (n + 1); return t; })); }
 for (var f : l) s += f.get(); e.shutdown(); System.out.println(s + " " + IntStream.range(0, 1000000).parallel().asLongStream().sum()); } }
END
	"${under[@]}" java "$work/T.java"
}
row_go() {
	[[ -x $work/go ]] || {
		cat >"$work/t.go" <<'END'
package main
// #include <pthread.h>
import "C"
import ("fmt"; "sync"; "time")
func main() { var w sync.WaitGroup; c := make(chan int, 10); s := 0
 for i := 0; i < 20; i++ { w.Add(1); go func(n int) { defer w.Done(); for j := 0; j < 200000; j++ { n += j % 3 }; time.Sleep(time.Millisecond); c <- n }(i) }
 go func() { w.Wait(); close(c) }(); for n := range c { s += n }; fmt.Println(s) }
END
		(cd "$work" && GOFLAGS=-mod=mod GO111MODULE=off go build -o go t.go) >/dev/null 2>&1 || return 77
	}
	"${under[@]}" "$work/go"
}
row_openmp() {
	[[ -x $work/openmp ]] || gcc -std=gnu11 -D_GNU_SOURCE -O2 -fopenmp -o "$work/openmp" tests/threads/openmp.c -lpthread || return 77
	"${under[@]}" "$work/openmp" 1
}
row_asan() {
	[[ -x $work/asan ]] || gcc -std=gnu11 -D_GNU_SOURCE -O1 -fsanitize=address -o "$work/asan" tests/threads/program.c -lpthread || return 77
	"${under[@]}" "$work/asan"
}
row_tsan() {
	[[ -x $work/tsan ]] || gcc -std=gnu11 -D_GNU_SOURCE -O1 -fsanitize=thread -o "$work/tsan" tests/threads/posix.c -lpthread || return 77
	"${under[@]}" "$work/tsan" shared_between_processes
}
# A debugger comes while it runs, stops, steps and leaves; the program goes on to its own end.
row_gdb() {
	[[ -x $work/debugged ]] || {
		cat >"$work/debugged.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile int stop;
static long done;
static void *work(void *arg) { while (!stop) usleep(100); __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST); return arg; }
int turn(int n) { n++; return n; }
int main(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);
	for (int n = 0; n < 30;) { usleep(100000); n = turn(n); }
	stop = 1;
	for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	printf("%ld threads\n", done);
	return 5;
}
END
		gcc -g -O0 -o "$work/debugged" "$work/debugged.c" -lpthread || return 77
	}
	local started status=0
	"${under[@]}" "$work/debugged" &
	started=$!
	sleep 0.8
	timeout 60 gdb -q -batch -p "$(pgrep -fx "$work/debugged" | head -1)" -ex 'break turn' -ex continue -ex next -ex 'info threads' -ex delete -ex detach 2>&1 |
		grep -c -E 'hit Breakpoint 1, turn|detached'
	wait "$started" || status=$?
	return "$status"
}
row_nginx() {
	local port=$((20000 + RANDOM % 20000)) pid
	mkdir -p "$work/nginx/logs"
	echo hello >"$work/nginx/index.html"
	printf 'worker_processes 2; daemon off; master_process on; pid %s/pid; error_log %s/e;\nevents {}\nhttp { access_log off; aio threads; client_body_temp_path %s/b; proxy_temp_path %s/p; fastcgi_temp_path %s/f; uwsgi_temp_path %s/u; scgi_temp_path %s/s; server { listen 127.0.0.1:%s; root %s; } }\n' \
		"$work" "$work" "$work" "$work" "$work" "$work" "$work" "$port" "$work/nginx" >"$work/nginx.conf"
	"${under[@]}" nginx -p "$work/nginx" -c "$work/nginx.conf" 2>/dev/null &
	pid=$!
	for ((i = 0; i < 50; i++)); do (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 0.1; done
	ab -q -n 3000 -c 8 "http://127.0.0.1:$port/index.html" 2>&1 | grep -E '^(Complete|Failed) requests'
	kill -TERM "$pid"
	wait "$pid"
}
row_redis() {
	local port=$((20000 + RANDOM % 20000)) pid
	"${under[@]}" redis-server --port "$port" --save '' --io-threads 3 --io-threads-do-reads yes --dir "$work" --logfile "$work/redis.log" >/dev/null &
	pid=$!
	for ((i = 0; i < 50; i++)); do (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break || sleep 0.1; done
	timeout 60 redis-benchmark -p "$port" -q -n 4000 -c 20 -t set,get,incr >/dev/null 2>&1
	echo "benchmark $?"
	redis-cli -p "$port" get counter:__rand_int__
	kill -TERM "$pid"
	wait "$pid"
}

[[ $rows == all ]] && rows=$(declare -F | sed -n 's/^declare -f row_//p')
missing() { # ROW: the program that it needs
	case $1 in
	test_*) "$python" -c "import test.test_threading" 2>/dev/null || echo libpython3-testsuite ;;
	stress_*) command -v stress-ng >/dev/null || echo stress-ng ;;
	nginx) command -v nginx >/dev/null && command -v ab >/dev/null || echo nginx, ab ;;
	redis) command -v redis-benchmark >/dev/null || echo redis ;;
	node | java | go | xz | gdb) command -v "$1" >/dev/null || echo "$1" ;;
	esac
}
run() { # ROW FILE: output and status; returns ns
	local from status
	from=$(date +%s%N)
	(
		export limit
		"row_$1"
		echo "status $?"
	) >"$2" 2>"$work/stderr"
	ns=$(($(date +%s%N) - from))
}
for row in $rows; do
	lacks=$(missing "$row")
	[[ $lacks ]] && echo "skip $row: $lacks is not installed" && continue
	under=(timeout "$limit" env)
	run "$row" "$work/plain"
	plain=$ns
	grep -q 'status 77' "$work/plain" && echo "skip $row: it cannot be built here" && continue
	for policy in $policies; do for way in $ways; do for cpus in $sizes; do
		((cpus > $(nproc))) && continue
		case $way in
		alone) under=(timeout "$limit" "$runweir" threads "$policy" --cpus "$cpus" --) ;;
		tree) under=(timeout "$limit" "$runweir" threads "$policy" --cpus "$cpus" --tree --) ;;
		join)
			"$runweir" threads "$policy" --cpus "$cpus" --serve "others-$$" >"$work/served" 2>/dev/null &
			server=$!
			for ((i = 0; i < 100; i++)); do [[ -s $work/served ]] && break || sleep 0.1; done
			under=(timeout "$limit" "$runweir" threads --join "others-$$" --)
			;;
		esac
		run "$row" "$work/other"
		if cmp -s "$work/plain" "$work/other"; then verdict=ok; else
			verdict="DIFFERS: $(diff "$work/plain" "$work/other" | grep '^[<>]' | head -4 | tr '\n' ';') $(grep -a runweir "$work/stderr" | head -1)"
			failed=1
		fi
		printf '%-16s %-10s %-5s %s  %6.1f %6.1f s  %s\n' "$row" "$policy" "$way" "$cpus" "$((plain / 100000000))e-1" "$((ns / 100000000))e-1" "$verdict"
		[[ $way == join ]] && kill "$server" && wait "$server" 2>/dev/null
	done; done; done
done
exit $failed
