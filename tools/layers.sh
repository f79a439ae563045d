#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/layers.sh: the page docs/architecture.md, drawn from the code: which file of the core calls which. Part of tools/docs.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

calls=$(awk -f tools/layers.awk core/src/*.c core/src/{call,transit}.h core/kit/*.c | sort)
# For the drawing, what the whole core uses stands at the bottom without arrows of its own.
below='alloc|state|task|list'

cat <<'TEXT'
# Architecture of the core

Made by `make docs` from the code (`tools/layers.sh`). The [glossary](glossary.md) explains the words; [components.md](components.md) describes
components, [concurrency.md](concurrency.md) the locks, [crates.md](crates.md) the crates around the core.

## Files

An arrow leads from a file in `core/src` to a file whose functions it calls; `kit` stands for all files in `core/kit`. Every file may use
TEXT
echo "\`$(echo "$below" | sed 's/|/`, `/g')\`, whose arrows are omitted."
cat <<'TEXT'

```mermaid
graph TD
TEXT
echo "$calls" | grep -v '^circle' | grep -vE " ($below)\$" |
	awk '{ printf "    f_%s[\"%s\"] --> f_%s[\"%s\"]\n", $1, $1, $2, $2 }'
echo '```'
echo
circle=$(echo "$calls" | sed -n 's/^circle /`/p' | sed 's/$/`/' | paste -sd, | sed 's/,/, /g')
if [[ -n $circle ]]; then
	cat <<TEXT
These files call each other in a circle: $circle. The reason is their work. A pipe that receives a task wakes an idle CPU (\`preempt\`), which
publishes a message (\`broker\`). The message can be a remote one (\`remote\`). Its delivery changes pipes again, and \`propagate\` completes all of
this from a worklist. At run time there is no recursion: a message is queued and a pipe is put on the worklist, and
both are handled by one loop in \`propagate\`. tools/test-ports.sh checks that no call chain returns to itself. The calls of a runtime
(\`schedule\`, \`pick\`, \`settle\`, \`call\`) stand above the circle.
TEXT
else
	echo "No file calls itself by way of others."
fi
