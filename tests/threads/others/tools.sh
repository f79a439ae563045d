# SPDX-License-Identifier: MIT OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2317
#
# Rows of tests/threads/others.sh: tools, and those that look into programs. Each prints what is to be the same; ${under[@]} runs a program.

stress() { "${under[@]}" stress-ng --timeout 1s --quiet --"$1" 2 2>/dev/null; }
for kind in pthread mutex futex sem fork exec signal timer fifo pipe epoll vfork clone sigfd poll switch; do
	eval "row_stress_$kind() { stress $kind; }"
done
row_xz() { seq 400000 | "${under[@]}" xz -T4 -c --block-size=200KiB | xz -dc | cksum; }
row_sort() { seq 200000 | shuf --random-source=<(yes) | "${under[@]}" sort -n --parallel=4 -S 1M | cksum; }
row_make() {
	mkdir -p "$work/make"
	printf 'all: %s\n%%.o: ; cc -x c -c -o $@ /dev/null && echo built\n' "$(seq -f '%g.o' 12 | tr '\n' ' ')" >"$work/make/Makefile"
	rm -f "$work/make/"*.o
	"${under[@]}" make -s -j4 -C "$work/make"
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
# A block of something that compresses, the same each time.
block() { [[ -s $work/block ]] || seq 600000 >"$work/block"; }
row_zstd() { block && "${under[@]}" zstd -q -T0 -19 --long -c <(head -c 1500000 "$work/block") | zstd -dc | cksum; }
row_pigz() { block && "${under[@]}" pigz -p 4 -c "$work/block" | gzip -dc | cksum; }
# Debian's `7z` is a script, which is refused.
row_7z() { block && rm -f "$work/a.7z" && (cd "$work" && "${under[@]}" /usr/lib/p7zip/7z a -mmt=4 -bso0 -bsp0 a.7z block) && 7z x -so "$work/a.7z" | cksum; }
row_tar_xz() { block && (cd "$work" && "${under[@]}" tar -c --use-compress-program='xz -T0 -1' -f a.tar.xz block) && tar -xJOf "$work/a.tar.xz" | cksum; }
row_ffmpeg() { "${under[@]}" ffmpeg -v error -f lavfi -i testsrc=size=160x120:rate=10:duration=3 -threads 4 -c:v libx264 -preset veryfast -f rawvideo - | ffmpeg -v error -i - -f rawvideo - | wc -c; }
row_x265() { "${under[@]}" x265 --input <(yes | head -c 460800) --input-res 160x120 --fps 10 --preset ultrafast --log-level none --pools 4 -o "$work/v.hevc" && cksum <"$work/v.hevc"; }
row_lto() {
	local i
	for i in $(seq 20); do echo "int f$i(int a) { return a * $i; }"; done >"$work/l1.c"
	printf 'int f7(int);\nint main(void) { return f7(3); }\n' >"$work/l2.c"
	(cd "$work" && "${under[@]}" gcc -O2 -flto=4 -o lto l1.c l2.c) && "$work/lto"
}
row_ninja() {
	mkdir -p "$work/ninja"
	{
		printf 'rule cc\n command = cc -x c -c -o $out /dev/null\n'
		for i in $(seq 12); do echo "build $i.o: cc"; done
	} >"$work/ninja/build.ninja"
	rm -f "$work/ninja/"*.o "$work/ninja/".ninja*
	"${under[@]}" ninja -C "$work/ninja" --quiet -j4 && ls "$work/ninja" | wc -l
}
row_git() {
	rm -rf "$work/git" && mkdir "$work/git" && (
		cd "$work/git" && git init -q . && git config user.email a@b && git config user.name a
		for i in $(seq 60); do seq "$i" $((i + 500)) >"f$((i % 7))" && git add . && git commit -qm "$i"; done
		"${under[@]}" git -c pack.threads=4 -c gc.auto=0 gc -q --aggressive && git fsck 2>/dev/null && git count-objects -v | grep -E '^(in-pack|packs)'
		"${under[@]}" git -c grep.threads=4 grep -c 33 | sort
	)
}
row_rsync() { rm -rf "$work/to" && mkdir -p "$work/from" && seq 200000 | split -l 9000 - "$work/from/x" && "${under[@]}" rsync -a --checksum "$work/from/" "$work/to" && diff -r "$work/from" "$work/to" && "${under[@]}" rsync -a --delete --dry-run -i "$work/from/" "$work/to"; }
row_curl() {
	local i list=()
	for i in $(seq 20); do
		seq "$i" $((i * 300)) >"$work/c$i"
		list+=("file://$work/c$i" -o "$work/d$i")
	done
	"${under[@]}" curl -s --parallel --parallel-max 6 "${list[@]}" && cat $(seq -f "$work/d%g" 20) | cksum
}
threaded() { [[ -x $work/threaded ]] || gcc -std=gnu11 -D_GNU_SOURCE -O2 -o "$work/threaded" tests/threads/program.c -lpthread; }
# Under the policy, seen from outside.
row_strace() { threaded && strace -f -qq -o /dev/null "${under[@]}" "$work/threaded"; }
row_valgrind() { threaded && "${under[@]}" "$(command -v valgrind.bin valgrind | head -1)" -q --error-exitcode=9 "$work/threaded"; }
row_jemalloc() { threaded && LD_PRELOAD=libjemalloc.so.2 "${under[@]}" "$work/threaded"; }
row_tcmalloc() { threaded && LD_PRELOAD=libtcmalloc.so.4 "${under[@]}" "$work/threaded"; }
row_ubsan() {
	[[ -x $work/ubsan ]] || gcc -std=gnu11 -D_GNU_SOURCE -O1 -fsanitize=undefined -o "$work/ubsan" tests/threads/program.c -lpthread || return 77
	"${under[@]}" "$work/ubsan"
}
