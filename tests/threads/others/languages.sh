# SPDX-License-Identifier: MIT OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2317
#
# Rows of tests/threads/others.sh: languages and their libraries. Each prints what is to be the same; ${under[@]} runs a program.

python_test() { "${under[@]}" "$python" -m test -q "$1" "${@:2}" >"$work/said" 2>&1; local status=$?; grep -E '^(Result|test .* (failed|crashed))|^(FAIL|ERROR):' "$work/said"; return "$status"; }
row_test_threading() { python_test test_threading; }
row_test_subprocess() { python_test test_subprocess; }
row_test_asyncio() { python_test test_asyncio; }
row_test_socket() { python_test test_socket; }
row_test_futures() { python_test test_concurrent_futures; }
row_test_queue() { python_test test_queue test_thread test_threadsignals; }
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
import ("fmt"; "runtime"; "sync"; "time")
func main() { var w sync.WaitGroup; c := make(chan int, 10); s := 0
 for i := 0; i < 20; i++ { w.Add(1); go func(n int) { defer w.Done(); for j := 0; j < 200000; j++ { n += j % 3 }; time.Sleep(time.Millisecond); c <- n }(i) }
 go func() { w.Wait(); close(c) }(); for n := range c { s += n }
 // The collector stops a loop without calls by a signal.
 t := s; go func() { for { s++; if false { return } } }(); for i := 0; i < 3; i++ { time.Sleep(5 * time.Millisecond); runtime.GC() }
 fmt.Println(t) }
END
		(cd "$work" && GOFLAGS=-mod=mod GO111MODULE=off go build -o go t.go) >/dev/null 2>&1 || return 77
	}
	"${under[@]}" "$work/go"
}
row_openmp() {
	[[ -x $work/openmp ]] || gcc -std=gnu11 -D_GNU_SOURCE -O2 -fopenmp -o "$work/openmp" tests/threads/openmp.c -lpthread || return 77
	"${under[@]}" "$work/openmp" 1
}
row_xdist() {
	mkdir -p "$work/xdist"
	printf 'import pytest\n@pytest.mark.parametrize("n", range(30))\ndef test_sum(n):\n    assert sum(range(n * 1000)) == n * 1000 * (n * 1000 - 1) // 2\n' >"$work/xdist/test_sums.py"
	"${under[@]}" "$(python3 -c 'import sys; print(sys.executable)')" -m pytest -q -n 3 -p no:cacheprovider "$work/xdist" | grep -o '[0-9]* passed'
}
# Fortran's names of OpenMP's functions, and its directives.
row_fortran() {
	[[ -x $work/fortran ]] || gfortran -O2 -fopenmp -o "$work/fortran" tests/threads/others/teams.f90 || return 77
	"${under[@]}" "$work/fortran"
}
# What the specification's examples do with tasks, priorities, places, cancellation and nested teams.
row_openmp_examples() {
	[[ -x $work/examples ]] || gcc -O2 -fopenmp -o "$work/examples" tests/threads/others/examples.c || return 77
	OMP_PLACES=cores OMP_PROC_BIND=spread OMP_MAX_TASK_PRIORITY=5 "${under[@]}" "$work/examples" 2>/dev/null
}
row_rust() {
	[[ -x $work/rust/target/debug/rust ]] || {
		mkdir -p "$work/rust/src"
		printf '[package]\nname = "rust"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nrayon = "1"\ntokio = { version = "1", features = ["rt-multi-thread", "time", "sync", "net", "io-util"] }\n' >"$work/rust/Cargo.toml"
		cp Cargo.lock "$work/rust/"
		cp tests/threads/others/pools.rs "$work/rust/src/main.rs"
		(cd "$work/rust" && cargo build -q --offline) || return 77
	}
	"${under[@]}" "$work/rust/target/debug/rust"
}
# What the standard library makes of threads, and a pool that steals work: no crates.
row_rust_std() {
	[[ -x $work/standard ]] || rustc -O -o "$work/standard" tests/threads/others/standard.rs || return 77
	"${under[@]}" "$work/standard"
}
row_ruby() { "${under[@]}" ruby -e 'q = Queue.new; t = 6.times.map { |n| Thread.new { 50.times { |i| q << n * i; Thread.pass if i % 7 == 0 }; sleep 0.01; n } }; r = Ractor.new { (1..20000).sum }; p t.sum(&:value), 300.times.sum { q.pop }, r.take; p `echo child`; pid = fork { exit 3 }; Process.wait pid; exit $?.exitstatus' 2>/dev/null; }
row_perl() { "${under[@]}" perl -Mthreads -MThread::Queue -e 'my $q = Thread::Queue->new; my @t = map { my $n = $_; threads->create(sub { for my $i (1..50) { $q->enqueue($n * $i) } select undef, undef, undef, 0.01; return $n }) } 1..5; my $s = 0; $s += $q->dequeue for 1..250; $s += $_->join for @t; print "$s\n"; exit 4'; }
row_php() { "${under[@]}" php -r '$s = 0; for ($i = 0; $i < 3; $i++) { $p = popen("echo " . $i * $i, "r"); $s += (int)fgets($p); pclose($p); } usleep(20000); for ($i = 0; $i < 2000000; $i++) $s += $i % 3; echo $s, "\n"; exit(6);'; }
row_processes() {
	cat >"$work/processes.py" <<'END'
import concurrent.futures as c, multiprocessing as m, os, signal
def f(n, q): q.put(n * n)
if __name__ == "__main__":
    for how in "fork", "spawn", "forkserver":
        x = m.get_context(how); q = x.Queue(); p = [x.Process(target=f, args=(n, q)) for n in range(4)]
        [a.start() for a in p]; print(how, sum(q.get() for a in p)); [a.join() for a in p]; print([a.exitcode for a in p])
    with c.ProcessPoolExecutor(3) as e: print(sum(e.map(abs, range(200), chunksize=7)))
    with m.Manager() as g: d = g.dict(); d[1] = 2; print(dict(d), flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
END
	"${under[@]}" "$python" "$work/processes.py"
}
# Schedulers of the runtime's own, one for each CPU that it sees, which steal from each other, and threads for files.
row_erlang() {
	local root
	# `erl` is a script, which is refused, and starts a program that becomes this one.
	root=$(erl -noinput -eval 'io:format("~s", [code:root_dir()]), halt().')
	ROOTDIR=$root BINDIR=$(echo "$root"/erts-*/bin) EMU=beam "${under[@]}" "$root"/erts-*/bin/beam.smp -S 4:4 -A 4 -- -root "$root" -bindir "$root"/erts-*/bin -progname erl -home "$HOME" -noshell -noinput -eval 'Self = self(), {ok, _} = file:read_file("Makefile"),
F = fun(N) -> timer:sleep(1), lists:sum([X rem (N + 1) || X <- lists:seq(1, 20000)]) end,
[spawn(fun() -> Self ! F(N) end) || N <- lists:seq(1, 60)],
S = lists:sum([receive R -> R end || _ <- lists:seq(1, 60)]),
{ok, L} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}, binary, {active, false}]), {ok, P} = inet:port(L),
spawn(fun() -> {ok, C} = gen_tcp:connect({127, 0, 0, 1}, P, [binary]), [gen_tcp:send(C, <<I:32>>) || I <- lists:seq(1, 500)], gen_tcp:close(C) end),
{ok, A} = gen_tcp:accept(L), T = lists:sum([begin {ok, <<I:32>>} = gen_tcp:recv(A, 4), I end || _ <- lists:seq(1, 500)]),
io:format("~p ~p ~s", [S, T, os:cmd("echo child")]), halt(7).'
}
# Light threads on four of the system's, bound ones, and calls that the runtime knows to block.
row_ghc() {
	[[ -x $work/haskell ]] || {
		cat >"$work/haskell.hs" <<'END'
import Control.Concurrent
import Control.Exception
import Control.Monad
import System.Exit
work :: MVar Int -> (IO () -> IO ThreadId) -> Int -> IO ()
work box start n = void $ start $ do
  threadDelay 1000
  s <- evaluate (sum [x `mod` (n + 1) | x <- [1 .. 20000]])
  modifyMVar_ box (return . (+ s))
main :: IO ()
main = do
  box <- newMVar 0
  done <- newEmptyMVar
  forM_ [1 .. 60] $ \n -> work box (\a -> (if n `mod` 9 == 0 then forkOS else forkIO) (a `finally` putMVar done ())) n
  replicateM_ 60 (takeMVar done)
  c <- newChan
  forM_ [1 .. 8] $ \n -> forkIO (forM_ [1 .. 200] (writeChan c . (* n)))
  xs <- replicateM 1600 (readChan c)
  t <- forkIO (threadDelay 60000000)
  killThread t
  readMVar box >>= print
  print (sum xs)
  exitWith (ExitFailure 4)
END
		(cd "$work" && ghc -v0 -O1 -threaded -rtsopts haskell.hs -o haskell) || return 77
	}
	"${under[@]}" "$work/haskell" +RTS -N4 -A256k -RTS
}
