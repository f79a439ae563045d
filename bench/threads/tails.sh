#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The example server's two classes of requests under `priority` and `decentral`, and the same server on tokio, with its computations in place and by
# spawn_blocking: bench/threads/tails.sh [RUNS [SECONDS [PLOT.svg]]]. Alternately, with the same load generator; percentiles of all runs together, and a plot. Needs
# `make threads` and a built runweir.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath "${CARGO_TARGET_DIR:-target}")
runweir=$target/release/runweir
[[ -x $runweir ]] || runweir=$target/debug/runweir
[[ -f $target/threads/libweir_threads.a ]] || { echo "tails.sh: no thread library: run \`make threads\`" >&2 && exit 1; }
examples=runtimes/threads/examples
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
CARGO_TARGET_DIR=$target/async cargo build --locked --quiet --release --manifest-path $examples/async/Cargo.toml
for policy in priority decentral; do "$runweir" compile $policy -m "smp-$(nproc)" -q -o "$work/$policy.plan"; done
"${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -O2 -Iruntimes/threads/include -o "$work/server" $examples/server.c "$target/threads/libweir_threads.a" -lpthread
port=18180
one() { # NAME RUN COMMAND...
	port=$((port + 1))
	"${@:3}" >/dev/null &
	server=$!
	sleep 0.5
	python3 $examples/load.py $port "${seconds}" --json "$work/$1.json" >"$work/said"
	mkdir -p "$work/$2" && mv "$work/$1.json" "$work/$2/"
	kill "$server" && wait "$server" 2>/dev/null || true
	server=
}
seconds=${2:-5}
for ((run = 1; run <= ${1:-3}; run++)); do
	one priority "$run" "$work/server" "$work/priority.plan" $((port + 1))
	one tokio "$run" "$target/async/release/runweir-async-server" $((port + 1)) inline
	one decentral "$run" "$work/server" "$work/decentral.plan" $((port + 1))
	one tokio-blocking "$run" "$target/async/release/runweir-async-server" $((port + 1)) blocking
done
python3 - "$work" "${1:-3}" <<'END'
import json, sys
work, runs = sys.argv[1], int(sys.argv[2])
for name in ["priority", "decentral", "tokio", "tokio-blocking"]:
    all = {"fast": [], "slow": []}
    for run in range(1, runs + 1):
        with open(f"{work}/{run}/{name}.json", encoding="utf-8") as f:
            for kind, values in json.load(f)["waits_ms"].items():
                all[kind] += values
    for kind, values in all.items():
        values.sort()
        at = lambda p: round(values[min(len(values) - 1, int(len(values) * p / 100))], 2)
        print(json.dumps({"server": name, "class": kind, "runs": runs, "requests": len(values),
                          "ms": {"p50": at(50), "p90": at(90), "p99": at(99), "max": round(values[-1], 2)}}))
    with open(f"{work}/{name}.json", "w", encoding="utf-8") as f:
        json.dump({"policy": name, "waits_ms": all}, f)
END
if [[ ${3:-} ]]; then
	python3 $examples/load.py --plot "$3" "$work"/{priority,decentral,tokio,tokio-blocking}.json
fi
