#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/demo.sh PROGRAM DIR: the first impression. Two schedulers of the catalogue serve the same
# rt-app workload on the same desktop, side by side.
set -euo pipefail

program=${1:?usage: demo.sh PROGRAM DIR}
dir=${2:?usage: demo.sh PROGRAM DIR}
root=$(cd "$(dirname "$0")/.." && pwd)

cat <<EOF
A video player and a parallel build share a desktop with four cores. The player has 16.7 ms for a
frame and 5.3 ms for each sound buffer; the build takes what it gets. Which task should run when?

  decentral   a balancer, then turns of 3 ms on each CPU for every task alike
  priority    the same balancer, then the most urgent task first

\$ runweir compare -t decentral -t priority -m machines/desktop.xml -w workloads/video.json --out $dir

EOF
"$program" compare -t decentral -t priority -m "$root/machines/desktop.xml" \
	-w "$root/workloads/video.json" --out "$dir"
cat <<EOF

Look further:
  $dir/compare.html                both side by side, in a browser
  $dir/decentral/report.html       a run in detail: its graph, which task ran where, latencies, lock waiting
  $dir/priority/report.html
  $dir/decentral/trace.pftrace     every event: open it at https://ui.perfetto.dev
  $dir/priority/trace.pftrace

The two schedulers are the few lines of topologies/decentral.weir and topologies/priority.weir.
Try your own:  export PATH=$(dirname "$(realpath "$program")"):\$PATH; runweir --help
This quick build leaves out what is for the browser, kernels, assistants and papers: \`make build\` has all commands.
Next: docs/tutorial.md, your own component in ten minutes.
EOF
