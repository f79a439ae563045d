#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Loads the example server with two classes of requests and says what each waited: load.py PORT [SECONDS] [--json FILE].
With --plot OUT.svg FILE... it draws the tails of what earlier runs wrote."""

import json
import socket
import sys
import threading
import time

FAST_US, SLOW_US = 200, 20_000
FAST_EVERY, SLOWS = 0.005, 6


def request(connection, path):
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"ok\n"):
        got = connection.recv(4096)
        if not got:
            raise ConnectionError("the server closed the connection")
        answer += got


def fast(port, end, waits):
    """One request every few milliseconds, due whether or not the one before was late."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        due = time.monotonic()
        while due < end:
            time.sleep(max(0.0, due - time.monotonic()))
            request(connection, f"/fast/{FAST_US}")
            waits.append((time.monotonic() - due) * 1e3)
            due += FAST_EVERY


def slow(port, end, waits):
    """One after the other: as many as the server can take."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        while time.monotonic() < end:
            start = time.monotonic()
            request(connection, f"/slow/{SLOW_US}")
            waits.append((time.monotonic() - start) * 1e3)


def percentile(sorted_values, p):
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * p / 100))]


def run(port, seconds):
    waits = {"fast": [], "slow": []}
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=fast, args=(port, end, waits["fast"]))]
    threads += [threading.Thread(target=slow, args=(port, end, waits["slow"])) for _ in range(SLOWS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for name, values in waits.items():
        values.sort()
        parts = " ".join(f"p{p} {percentile(values, p):.2f}" for p in (50, 90, 99, 99.9))
        print(f"{name}: {len(values)} requests, ms: {parts} max {values[-1]:.2f}")
    return waits


def plot(out, files):
    """Latency over the share of requests that took longer, both logarithmic."""
    import math

    width, height, left, top = 640, 360, 60, 20
    colours = ["#1b6ca8", "#c8553d", "#3a7d44", "#7d5ba6", "#8a6d00", "#444444"]
    curves = []
    for file in files:
        with open(file, encoding="utf-8") as f:
            recorded = json.load(f)
        for name, values in recorded["waits_ms"].items():
            curves.append((f'{recorded["policy"]}: {name}', sorted(values)))
    low = min(max(v[0], 0.01) for _, v in curves)
    high = max(v[-1] for _, v in curves)
    nines = max(math.log10(len(v)) for _, v in curves)

    def x(share_longer):
        return left + (-math.log10(share_longer)) / nines * (width - left - 20)

    def y(ms):
        return top + (1 - math.log(max(ms, low) / low) / math.log(high / low)) * (height - top - 50)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + 20 * len(curves)}" font-family="sans-serif" '
             f'font-size="12"><rect width="100%" height="100%" fill="white"/>']
    for k in range(int(nines) + 1):
        label = "all" if k == 0 else f"{100 - 100 / 10 ** k:g} %"
        parts.append(f'<line x1="{x(10 ** -k):.1f}" x2="{x(10 ** -k):.1f}" y1="{top}" y2="{height - 50}" stroke="#ddd"/>'
                     f'<text x="{x(10 ** -k):.1f}" y="{height - 34}" text-anchor="middle">{label}</text>')
    ms = 10 ** math.ceil(math.log10(low))
    while ms <= high:
        parts.append(f'<line x1="{left}" x2="{width - 20}" y1="{y(ms):.1f}" y2="{y(ms):.1f}" stroke="#ddd"/>'
                     f'<text x="{left - 6}" y="{y(ms) + 4:.1f}" text-anchor="end">{ms:g} ms</text>')
        ms *= 10
    for n, (name, values) in enumerate(curves):
        colour = colours[n % len(colours)]
        points = " ".join(f"{x((len(values) - i) / len(values)):.1f},{y(v):.1f}" for i, v in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
                     f'<text x="{left}" y="{height + 20 * n}" fill="{colour}">{name} ({len(values)} requests)</text>')
    parts.append(f'<text x="{width / 2}" y="{height - 18}" text-anchor="middle">requests that were no slower</text></svg>')
    with open(out, "w", encoding="utf-8") as f:
        f.write("\n".join(parts) + "\n")


def main(args):
    if len(args) >= 3 and args[0] == "--plot":
        plot(args[1], args[2:])
        return
    if not args or args[0].startswith("-"):
        sys.exit(__doc__)
    out, policy = None, "server"
    if "--json" in args:
        at = args.index("--json")
        out = args[at + 1]
        del args[at:at + 2]
        policy = out.rsplit("/", 1)[-1].removesuffix(".json")
    waits = run(int(args[0]), float(args[1]) if len(args) > 1 else 5.0)
    if out:
        with open(out, "w", encoding="utf-8") as f:
            json.dump({"policy": policy, "waits_ms": waits}, f)


main(sys.argv[1:])
