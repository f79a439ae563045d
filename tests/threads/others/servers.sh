# SPDX-License-Identifier: MIT OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154,SC2317
#
# Rows of tests/threads/others.sh: servers and their load generators. Each prints what is to be the same; ${under[@]} runs a program.

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
	timeout 60 redis-benchmark -p "$port" -q -n 1000 -c 20 -t set,get,incr >/dev/null 2>&1
	echo "benchmark $?"
	redis-cli -p "$port" get counter:__rand_int__
	kill -TERM "$pid"
	wait "$pid"
}
# port_open PORT
port_open() {
	for ((i = 0; i < 100; i++)); do (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return || sleep 0.1; done
	return 1
}
row_memcached() {
	local port=$((20000 + RANDOM % 20000)) pid
	"${under[@]}" memcached -u root -l 127.0.0.1 -p "$port" -t 3 &
	pid=$!
	port_open "$port"
	"$python" - "$port" <<'END'
import socket, sys, threading
good = [0] * 6
def client(n):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); f = s.makefile("rwb")
    for i in range(300):
        f.write(b"set k%d-%d 0 0 5\r\nhello\r\nget k%d-%d\r\n" % (n, i, n, i)); f.flush()
        good[n] += [f.readline() for _ in range(4)][0::2] == [b"STORED\r\n", b"hello\r\n"]
t = [threading.Thread(target=client, args=(n,)) for n in range(6)]
[x.start() for x in t]; [x.join() for x in t]; print(sum(good))
END
	kill -TERM "$pid"
	wait "$pid"
}
row_haproxy() {
	local port=$((20000 + RANDOM % 20000)) behind pid
	mkdir -p "$work/page" && echo hello >"$work/page/index.html"
	"$python" -m http.server -b 127.0.0.1 -d "$work/page" $((port + 1)) >/dev/null 2>&1 &
	behind=$!
	printf 'global\n nbthread 3\ndefaults\n mode http\n timeout connect 9s\n timeout client 9s\n timeout server 9s\nfrontend f\n bind 127.0.0.1:%s\n default_backend b\nbackend b\n server s 127.0.0.1:%s\n' \
		"$port" $((port + 1)) >"$work/haproxy.cfg"
	"${under[@]}" haproxy -q -f "$work/haproxy.cfg" &
	pid=$!
	port_open $((port + 1)) && port_open "$port"
	ab -q -n 300 -c 6 "http://127.0.0.1:$port/index.html" 2>&1 | grep -E '^(Complete|Failed) requests'
	kill -TERM "$pid" "$behind"
	wait "$pid"
}
# The server and its processes; the load generator with threads beside it, and under the policy, too. It does not run as root.
row_postgres() {
	local port=$((20000 + RANDOM % 20000)) pid bin data=$work/postgres as=()
	bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -1)
	rm -rf "$data"
	mkdir "$data"
	((UID)) || { as=(setpriv --reuid nobody --regid nogroup --clear-groups); chmod 755 "$work"; chown nobody "$data"; }
	"${as[@]}" "$bin/initdb" -D "$data" -U me -A trust >/dev/null || return 77
	"${as[@]}" "${under[@]}" "$bin/postgres" -D "$data" -p "$port" -k "$data" -c listen_addresses= -c fsync=off >/dev/null 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do "$bin/pg_isready" -q -h "$data" -p "$port" && break || sleep 0.1; done
	"$bin/pgbench" -q -i -h "$data" -p "$port" -U me postgres >/dev/null 2>&1
	"${as[@]}" "${under[@]}" "$bin/pgbench" -n -h "$data" -p "$port" -U me -c 4 -j 2 -t 100 postgres 2>/dev/null | grep 'actually processed'
	"$bin/psql" -h "$data" -p "$port" -U me postgres -Atc 'select count(*), sum(a.s) - sum(b.s) from pgbench_history, (select sum(abalance) s from pgbench_accounts) a, (select sum(bbalance) s from pgbench_branches) b where delta = 12345678'
	kill -INT "$(head -1 "$data/postmaster.pid")"
	wait "$pid"
}
