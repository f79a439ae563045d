#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/layers.sh: the page docs/architecture.md, drawn from the code: which file of the core calls which. Part of tools/docs.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

all=$(awk -v top=remote -f tools/layers.awk core/src/*.c core/src/{settle,place}.h core/kit/*.c | sort)
calls=$(echo "$all" | grep -vE '^(circle|floor|up) ')
# What the whole core uses stands at the bottom; its arrows are not drawn.
below='state|task'

cat <<'TEXT'
# Architecture of the core

Made by `make docs` from the code (`tools/layers.sh`). The [glossary](glossary.md) explains the words; [components.md](components.md) describes
components, [concurrency.md](concurrency.md) the locks, [crates.md](crates.md) the crates around the core.

## Files

An arrow leads from a file in `core/src` to a file whose functions it calls. The headers `settle.h`, `place.h` and `schedule.h`, with the inline part of
each call, count as their files, and `kit` stands for all files in `core/kit`. Every file may use
TEXT
echo "\`$(echo "$below" | sed 's/|/`, `/g')\` and the inline functions of \`internal.h\`, whose arrows are left out."
cat <<'TEXT'

```mermaid
graph TD
TEXT
echo "$calls" | grep -vE " ($below)\$" | awk '{ printf "    f_%s[\"%s\"] --> f_%s[\"%s\"]\n", $1, $1, $2, $2 }'
echo '```'
cat <<'TEXT'

## Floors

A file stands one floor above the highest file that it calls.

| floor | files |
|---|---|
TEXT
echo "$all" | awk '
	/^floor/ {
		files[$2] = files[$2] (files[$2] == "" ? "" : ", ") "`" $3 "`"
		if ($2 > highest)
			highest = $2
	}
	END {
		for (f = highest; f > 0; f--)
			printf "| %d | %s |\n", f, files[f]
	}'
echo
upward=$(echo "$all" | sed -n 's/^up \([a-z_]*\) .*/`\1`/p' | paste -sd, | sed 's/,/, /g')
stray=$(echo "$all" | sed -n 's/^circle //p')
if [[ -n $stray ]]; then
	echo "tools/layers.sh: files that call each other in a circle: $(echo "$stray" | paste -sd' ')" >&2
	exit 1
fi
cat <<TEXT
Arrows lead upward to \`remote\` alone, from $upward: a message, the end of a task and a new graph can concern other coherence
domains. \`remote\` is compiled only where there can be several domains. These calls leave something for another domain, and call nothing on a higher
floor. \`remote\` stands on top because messages that arrive from other domains make the calls of a runtime. No other file calls itself by way of others.

## A task's way

| | file | what happens there |
|---|---|---|
| 1 | \`schedule\` | \`weir_admit()\`: the claim says that it may run |
| 2 | \`settle\` | the call begins; at its end, the work that was left |
| 3 | \`place\` | the steps of the stages on its way, then its link, under the lock of its home |
| 4 | \`order\` | if the pipe is keyed: its place there |
| 5 | \`preempt\` | if the exit has several CPUs, or the only one sleeps, or the task is urgent: a CPU for it |
| 6 | \`pick\` | \`weir_pick()\`: a CPU claims it, and it leaves the pipe. \`weir_yield()\`: 1 to 6 in one call, for a CPU whose task goes back |

Rare cases are beside this way:

- \`home\`: if another CPU has the lock, the task goes into the inbox of its home. In a postponed pipe it waits.
- \`settle\`: one loop handles messages and the tasks that this CPU still has to place, when no lock is held. So there is no recursion at run time:
  messages are queued and tasks are noted until then. \`tools/test-ports.sh\` checks that no call chain returns to itself.
TEXT
