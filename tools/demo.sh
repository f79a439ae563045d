#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/demo.sh PROGRAM DIR: the first impression. Two schedulers of the catalogue serve the same
# rt-app workload on the same server, side by side.
set -euo pipefail

program=${1:?usage: demo.sh PROGRAM DIR}
dir=${2:?usage: demo.sh PROGRAM DIR}
root=$(cd "$(dirname "$0")/.." && pwd)

"$program" compare \
	--topology central --topology decentral \
	--machine "$root/machines/MACHINE.xml" \
	--workload "$root/workloads/WORKLOAD.json" \
	--out "$dir"

cat <<EOF

Look further:
  $dir/compare.html                    both side by side, in a browser
  $dir/central/report.html             one run in detail: graph, Gantt chart, latencies
  $dir/central/trace.pftrace           every event: open it at https://ui.perfetto.dev
  $dir/decentral/report.html
  $dir/decentral/trace.pftrace
EOF
