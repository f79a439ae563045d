#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# tools/draw-crates.sh: the page docs/crates.md, from what cargo knows of the workspace: which crate builds on which.
# An arrow that follows from two others is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v jq >/dev/null || { echo "draw-crates: no jq (tools/setup.sh installs it)" >&2 && exit 1; }
metadata=$(mktemp)
trap 'rm -f "$metadata"' EXIT
cargo metadata --locked --no-deps --format-version 1 >"$metadata"

cat <<'PAGE'
<!-- SPDX-License-Identifier: MIT OR GPL-2.0-only -->
<!-- Made by `make docs` from the manifests: change those. -->
# The crates

An arrow leads from a crate to a crate that it depends on. Arrows that follow from others are omitted, and so are dependencies of builds and
tests only. There is no circle, and no arrow leads up.

```mermaid
graph TD
PAGE
jq -r '.packages | map(.name) as $ours | .[] | .name as $crate | .dependencies[]
	| select(.kind == null and (.name as $n | $ours | index($n))) | "\($crate) \(.name)"' "$metadata" | sort -u | awk '
	{ direct[$1, $2] = 1; crates[$1]; crates[$2]; from[NR] = $1; to[NR] = $2 }
	# Whether b can be reached from a without the arrow from a to b itself.
	function beyond(a, b, c) {
		for (c in crates)
			if (c != b && ((a, c) in direct) && reaches(c, b)) return 1
		return 0
	}
	function reaches(a, b, c) {
		if (a == b) return 1
		for (c in crates)
			if (((a, c) in direct) && reaches(c, b)) return 1
		return 0
	}
	END { for (i = 1; i <= NR; i++) if (!beyond(from[i], to[i])) print "    " from[i] " --> " to[i] }'
# The wings, by the folders of the manifests.
wing='(.manifest_path | if test("/research/([^/]*/)?Cargo.toml$") then "research" elif test("/hw/[^/]*/Cargo.toml$") then "hardware" else "product" end)'
jq -r "[.packages[] | {wing: $wing, name}] | group_by(.wing)[]"' | select(.[0].wing != "product")
	| "    subgraph \(.[0].wing)\n" + (map("        \(.name)") | join("\n")) + "\n    end"' "$metadata"
cat <<'PAGE'
    weir-core --> core["core/ (C)"]
    components["components/ (C)"] --> core
```

| crate | wing | content |
|---|---|---|
PAGE
jq -r ".packages | sort_by($wing, .name)[]"' | "| `\(.name)` | \('"$wing"') | \(.description // error("\(.name) has no description")) |"' "$metadata"
