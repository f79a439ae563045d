#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The resource service of gangs (docs/gangs.md), under AddressSanitizer: manifests, admission against a check that draws every slot, phase
# changes, merges and splits of groups in every order of messages, clocks. Then nine mistakes in that protocol that it must find.
#
#   tools/test-gangs.sh [histories of a controller, 2000 by default]
#
# With WEIR_LONG there are 20 times as many histories, and a gang of 16 has a million slots in the simulator: all members start each of
# them at once, to the nanosecond.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/mistakes.sh

histories=${1:-2000}
[[ -z ${WEIR_LONG:-} ]] || histories=$((histories * 20))
cc=${CC:-gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Kernels with much randomisation do not always leave room for a sanitizer's shadow memory.
plainly=()
setarch -R true 2>/dev/null && plainly=(setarch -R)

flags=(-std=gnu11 -g1 -O1 -Wall -Wextra -Werror -Icore/include -Icore/port/native)
service=(runtimes/multikernel/{manifest,controller,planner,clocksync}.c)
"$cc" "${flags[@]}" -fsanitize=address,undefined -fno-sanitize-recover -o "$work/service" "${service[@]}" tests/gangs/service.c
"${plainly[@]}" "$work/service" "$histories"
echo "ok   the resource service"

# Freestanding: nothing but what a compiler itself may call for.
"$cc" "${flags[@]}" -O2 -ffreestanding -r -nostdlib -o "$work/all.o" "${service[@]}"
if nm -u "$work/all.o" | awk '{ print $2 }' | grep -vE '^(memcpy|memset|memmove|memcmp|__stack_chk_fail)$'; then
	echo "FAIL the service needs more than memcpy, memset, memmove and memcmp" && exit 1
fi
mistake() { # NAME SCRIPT
	plant "$work/tree" runtimes/multikernel/planner.c "$2"
	"$cc" "${flags[@]}" -w -o "$work/broken" "${service[@]/#/$work/tree/}" "$work/tree/tests/gangs/service.c"
	if "$work/broken" 10 >"$work/log" 2>&1; then
		echo "FAIL not found: $1" && exit 1
	fi
}
mistake "the last to arrive wins" '/^static int later/,/^}/s/if (msg->sequence != r->sequence)/if (1) return 1;\n\t&/'
mistake "of equal sequences the first to arrive wins" '/^static int later/,/^}/s/return msg->coordinator > .*/return 0;/'
mistake "an answer to an old change counts" 's/if (!r || !r->pending || r->pending != reply->sequence || !r->waiting)/if (!r || !r->waiting)/'
mistake "a group is merged into another that is merged into it" 's/^\t\tu32 stays = .*/\t\tu32 stays = 0;/'
mistake "a CPU of another group is counted" '/^static void add_reply/,/^}/s/if (status == MK_PHASE_OTHER)/if (0)/'
mistake "a phase of the merged group is a phase of each" 's/write_register(&r->group\[msg->group\].phase/write_register(\&r->group[r->home].phase/'
mistake "the scheduler is not told of a merge" '/^int mk_planner_receive/,/^}/s/if (phase_of(r) == was && since(r) == before)/if (msg->change || (phase_of(r) == was \&\& since(r) == before))/'
mistake "only the last merge is followed" '/^static u32 way_to_group/,/^}/s/i < MK_MAX_GROUPS/i < 1/'
mistake "a split leaves them merged" 's/msg->change == MK_CHANGE_SPLIT ? i :/0 ? i :/'
echo "ok   nine mistakes found"

[[ ${WEIR_LONG:-} ]] || exit 0
cargo build --locked --quiet --release --package runweir
"${CARGO_TARGET_DIR:-target}/release/runweir" run --topology gang --machine smp-16 --costs zero --duration 250s --json --quiet \
	--workload team:work=50us,imbalance=0%,hogs=8,slot=100us,period=250us,release=1ms >"$work/million.json"
python3 - "$work/million.json" <<'END'
import json, sys

with open(sys.argv[1]) as f:
    gang = json.load(f)["gangs"][0]
# The first four periods are over before the release.
expected = {"slots": 999_996, "incomplete": 0, "skew_max_ns": 0, "late_max_ns": 0, "messages": 30}
wrong = {key: gang[key] for key in expected if gang[key] != expected[key]}
if wrong:
    sys.exit(f"FAIL a million slots: {wrong}, expected {expected}")
END
echo "ok   a million slots: no member started a nanosecond after another"
