#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# UMP and bulk channels, monitors (docs/messages.md): every interleaving of two ends with the model checker of tests/concurrency;
# real threads and checksums; names, binds and agreement of up to 16 monitors, messages in random order; groups, in every order of messages; stubs of an interface over every transport;
# memory that does not cohere. Each of these has to find mistakes that are planted in copies of the sources, one at a time: two of each kind in
# the short form, all with WEIR_LONG=1.
#
#   tools/test-messages.sh [messages, 20000 by default]
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/mistakes.sh

messages=${1:-20000}
cc=${CC:-gcc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tools/programs.sh
"$(realpath "${CARGO_TARGET_DIR:-target}")/debug/weir-glue" plain . >"$work/unit.c"
flags=(-std=gnu11 -g1 -O1 -fno-strict-aliasing -Wall -Wextra -Werror -Wno-unused-parameter)
includes=(-Itests/concurrency/model -Icore/include -Icore/src)
for file in "$work/unit.c" core/port/native/host.c tests/concurrency/{plan,model/checker}.c; do
	"$cc" "${flags[@]}" "${includes[@]}" -c -o "$work/$(basename "$file" .c).o" "$file"
done
model() { # TREE SECONDS
	"$cc" "${flags[@]}" "${includes[@]}" -o "$work/model" "$1/tests/concurrency/ump/scenarios.c" "$work"/{unit,host,plan,checker}.o
	timeout 300 "$work/model" "$2"
}
in_long() { [[ -z ${WEIR_LONG:-} ]] || "$@"; }
# Each mistake: what is wrong, and the change that makes it so.
found=0
seen() { # NAME STATUS WANTED
	if (($2 != $3)); then
		tail -20 "$work/log"
		echo "FAIL not found (status $2): $1"
		exit 1
	fi
	found=$((found + 1))
}
told() { # WHERE: how many were found
	echo "ok   $1: $found mistakes found"
	found=0
}
ump=runtimes/multikernel/ump.h
in_model() { # NAME SCRIPT
	local status=0
	plant "$work/tree" $ump "$2"
	model "$work/tree" 0.5 >"$work/log" 2>&1 || status=$?
	seen "$1" "$status" 3
}

model . 1
in_model "a message too many in a full ring" '/ump_full(/,/^}/s/return c->sent - c->taken >= c->nr/return c->sent - c->taken > c->nr/'
in_long in_model "the epoch never changes" '/ump_epoch(/,/^}/s/return .*/return 1;/'
in_long in_model "control before the words" '/ump_send(/,/^}/{/weir_store_release(&s->control/d;s/^\tfor (u32 i = 0; i < nr/\tweir_store_release(\&s->control, control);\n&/}'
in_long in_model "acknowledged before it is read" '/ump_recv(/,/^}/s/^\tfor (u32 i = 0; i < nr/\tc->received++, ump_ack(c), c->received--;\n&/'
in_model "no fence before the look at the sleeper" '/ump_rouse(/,/^}/s/weir_fence();/;/'
in_long in_model "the wrong word is woken" '/ump_rouse(/,/^}/s/ump_wake(&s->control)/ump_wake(\&c->tx->asleep)/'
in_long in_model "nobody is woken" '/ump_rouse(/,/^}/s/weir_fence();/return;/'
in_long in_model "nothing is acknowledged" '/ump_recv(/,/^}/s/if (c->received - c->acked >= c->nr \/ 2)/if (0)/'
in_long in_model "one acknowledged too many" '/ump_ack(/,/^}/s/taken, c->received)/taken, c->received + 1)/'
in_long in_model "the sleeper's flag is taken from it" '/ump_rouse(/,/^}/s/^\tump_wake/\tweir_store(\&c->tx->asleep, 0);\n&/'
in_long in_model "no second look before the sleep" '/ump_wait(/,/^}/s/^\t\tif (ump_ready(c))$/\t\tif (0)/'
in_model "nobody is woken for room" '/ump_ack(/,/^}/s/== UMP_WAITS_ROOM/== 9/'
in_long in_model "no fence before the look at who waits for room" '/ump_ack(/,/^}/s/weir_fence();/;/'
in_long in_model "room is not looked at before the sleep" '/ump_wait_room(/,/^}/s/ || !ump_full(c)//'
told UMP

messages() { # TREE OUT
	"$cc" "${flags[@]}" -O2 -Icore/include -Icore/port/native -o "$2" "$1/tests/threads/messages.c" core/port/native/port.c -lpthread
}
messages . "$work/messages"
"$work/messages" "$messages"
plant "$work/tree" $ump '/ump_full(/,/^}/s/if (line > c->taken)/if (1)/'
messages "$work/tree" "$work/mistake"
if ("$work/mistake" 1000) >"$work/log" 2>&1 || ! grep -q 'messages.c' "$work/log"; then
	echo "FAIL not found: an old line counts" && exit 1
fi

# --- monitors: names, binds, agreement --------------------------------------------------------------

monitors() { # TREE FLAGS...
	"$cc" "${flags[@]}" "${@:2}" -Icore/include -Icore/port/native -I"$1/runtimes/multikernel" -o "$work/monitors" \
		"$1"/tests/multikernel/monitors.c "$1"/runtimes/multikernel/{monitor,commit,ordered}.c
}
in_monitors() { # NAME SCRIPT
	local status=0
	plant "$work/tree" runtimes/multikernel/commit.c "$2"
	monitors "$work/tree" -w
	"$work/monitors" 2000 >"$work/log" 2>&1 || status=$?
	seen "$1" "$status" 3
}
monitors . -fsanitize=address,undefined
"$work/monitors" "${WEIR_CASES:-1000}"
in_monitors "two operations on one object" '/^static int promise/,/^}/s/else if (p->id != id \&\& /else if (0 \&\& /'
in_long in_monitors "a promise is kept for ever" '/^static void forget/,/^}/s/if (c->promise\[i\].id == id)/if (0)/'
in_long in_monitors "committed although one refused" 's/op->value == MK_COMMIT_YES ? MK_STEP_COMMIT/1 ? MK_STEP_COMMIT/'
in_monitors "the answers below are not joined" 's/op->value = both(op->value, msg->value);/;/'
in_long in_monitors "the first answer is taken for all" 's/if (--op->waiting == 0)/if (--op->waiting + 1)/'
told monitors

# --- groups: entries in one order, exhaustively ------------------------------------------------------

ordered() { # TREE FLAGS...
	"$cc" "${flags[@]}" -O2 -DMK_LOG=2u "${@:2}" -Icore/include -Icore/port/native -I"$1/runtimes/multikernel" -o "$work/ordered" \
		"$1"/tests/multikernel/ordered.c "$1"/runtimes/multikernel/{monitor,commit,ordered}.c
}
in_ordered() { # FILE NAME SCRIPT
	local status=0
	plant "$work/tree" "runtimes/multikernel/$1" "$3"
	ordered "$work/tree" -w
	timeout 300 "$work/ordered" >"$work/log" 2>&1 || status=$?
	seen "$2" "$status" 3
}
ordered .
timeout 600 "$work/ordered"
in_ordered ordered.c "a full log is written" '/^int mk_ordered_may/,/^}/s/return 0;/;/'
in_long in_ordered ordered.c "what a member has no room for is dropped" '/^int mk_ordered_pump/,/^}/s/^\t\t\t\tbreak;//'
in_long in_ordered ordered.c "a member gets what was before it" '/^static void subscribe/,/^}/s/s->at = at;/s->at = at ? at - 1 : 0;/'
in_long in_ordered ordered.c "a member that leaves is counted on" 's/log->members += e->kind == ENTRY_JOIN ? 1 : -1u;/log->members += e->kind == ENTRY_JOIN;/'
in_long in_ordered monitor.c "a name outlives its service" '/^static void name_over/,/^}/s/if (!status \&\& client == ~0u)/if (0)/'
in_ordered monitor.c "a refused leave is forgotten" 's/state = status == MON_EBUSY ? 1 : 0;/state = 0;/'
in_long in_ordered monitor.c "each core numbers groups itself" '/^static s32 topic_register/,/^}/s/for (\*group = 1;/for (*group = 1 + m->core % 2;/'
in_long in_ordered monitor.c "a member that ended while it joined stays" '/^static void ordered(/,/^}/s/!status \&\& was.client == ~0u/0/'
in_long in_ordered commit.c "appended although one refused" 's/op->value == MK_COMMIT_YES ? MK_STEP_COMMIT/1 ? MK_STEP_COMMIT/'
told "groups"

# --- stubs of an interface, over every transport ----------------------------------------------------

"$(realpath "${CARGO_TARGET_DIR:-target}")/debug/runweir" stubs tests/multikernel/all.toml --lang c -o "$work" 2>"$work/log" ||
	{ cat "$work/log" && exit 1; }
multikernel() { # TREE PROGRAM FLAGS...
	local files=("$1/tests/multikernel/$2.c" core/port/native/port.c)
	[[ $2 != stubs ]] || files+=("$work/all.c" "$1/runtimes/multikernel/stub.c")
	"$cc" "${flags[@]}" -Icore/include -Icore/port/native -I"$1/runtimes/multikernel" -I"$work" "${@:3}" -o "$work/$2" "${files[@]}"
}
in_program() { # PROGRAM FILE NAME SCRIPT
	local status=0
	plant "$work/tree" "runtimes/multikernel/$2" "$4"
	multikernel "$work/tree" "$1" -w
	timeout 300 "$work/$1" 2000 >"$work/log" 2>&1 || status=$?
	seen "$3" "$status" 3
}
multikernel . stubs -fsanitize=address,undefined
"$work/stubs" "${WEIR_CASES:-1000}"
in_program stubs stub.h "a second message over the first" '/^WEIR_INLINE int stub_begin/,/^}/s/if (s->busy || s->due)/if (0)/'
in_long in_program stubs stub.h "a list longer than allowed" '/^WEIR_INLINE u32 stub_length/,/^}/s/ || \*n > most//'
in_long in_program stubs stub.h "a bool that is 2" '/^WEIR_INLINE void stub_check_bools/,/^}/s/ > 1)/ > 255)/'
in_program stubs stub.c "a fragment of another message" 's/} else if (kind != s->in_kind || tag != s->in_bytes) {/} else if (0) {/'
told stubs
multikernel . noncoherent -fsanitize=undefined
"$work/noncoherent" "${WEIR_CASES:-2000}"
in_program noncoherent noncoherent.h "a full notification ring is written" '/^WEIR_INLINE int nc_notify/,/^}/s/if (written.word\[0\] - read.word\[0\] >= r->nr)/if (0)/'
in_program noncoherent noncoherent.h "counted before it is written" '/^WEIR_INLINE int nc_notify/,/^}/{/nc_write(from, &r->line\[0\], &written);/d;s/^\t\tnc_write(from, &r->line\[2/\t\tnc_write(from, \&r->line[0], \&written);\n&/}'
in_long in_program noncoherent noncoherent.h "a failed notification is forgotten" '/^WEIR_INLINE int ncp_push/,/^}/s/if (!err)/if (1)/'
in_long in_program noncoherent noncoherent.h "a full channel is written" '/^WEIR_INLINE int ncp_send/,/^}/s/^\t\tif (c->sent - c->taken >= c->nr)/\t\tif (0)/'
told noncoherent
