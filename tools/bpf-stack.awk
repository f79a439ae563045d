# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Call chains of each function of a BPF object, from `llvm-objdump -dr`. Two lines each: `bytes`, the stack of the
# deepest chain and that chain; `frames`, how many the longest has and that chain. The kernel rounds a frame up to
# 16 bytes when it compiles programs (which arenas require) and grants a chain 512 bytes (MAX_BPF_STACK) and, before
# Linux 7.2, 8 frames (MAX_CALL_FRAMES; kernel/bpf/verifier.c, check_max_stack_depth).

function hex(s,    n, i) {
	n = 0
	s = tolower(s)
	sub(/^0x/, "", s)
	for (i = 1; i <= length(s); i++)
		n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
	return n
}

function uses(bytes) {
	if (bytes > frame[name])
		frame[name] = bytes
}

# A label of the compiler's is no function.
/^[0-9a-f]+ <.*>:$/ {
	label = $2
	gsub(/[<>:]/, "", label)
	if (label ~ /^LBB/)
		next
	name = label
	start[hex($1) / 8] = name
	order[++nr] = name
	frame[name] = 0
	next
}

/R_BPF_64_32/ {
	target = $3
	if (target != ".text" && called)
		callee[name, called] = target
	called = 0
	next
}

/^ *[0-9]+:/ {
	called = 0
	at = $1
	sub(/:/, "", at)
	# 85 10: a call of a function of ours; the offset is counted from the next instruction.
	if ($2 == "85" && $3 == "10") {
		called = ++calls[name]
		off = $NF
		callee[name, called] = substr(off, 1, 1) == "-" ? "@" (at + 1 - hex(substr(off, 2))) : "@" (at + 1 + hex(off))
	}
	if (match($0, /r10 - 0x[0-9a-f]+/))
		uses(hex(substr($0, RSTART + 6, RLENGTH - 6)))
	if ($0 ~ /r[0-9] = r10$/) {
		base = $(NF - 2)
	} else if (base != "" && $(NF - 2) == base && $(NF - 1) == "+=" && $NF ~ /^-0x/) {
		uses(hex(substr($NF, 2)))
		base = ""
	}
}

function follow(f,    i, c, best, b, n, deep, long) {
	if (f in bytes)
		return bytes[f]
	if (f in busy) {
		print "recursion at " f
		exit 1
	}
	busy[f] = 1
	best = 0
	n = 0
	deep = ""
	long = ""
	for (i = 1; i <= calls[f]; i++) {
		c = callee[f, i]
		if (substr(c, 1, 1) == "@")
			c = start[substr(c, 2) + 0]
		if (!(c in frame))
			continue
		b = follow(c)
		if (b > best) {
			best = b
			deep = " > " deepest[c]
		}
		if (frames[c] > n) {
			n = frames[c]
			long = " > " longest[c]
		}
	}
	delete busy[f]
	b = frame[f] > 1 ? frame[f] : 1
	bytes[f] = int((b + 15) / 16) * 16 + best
	frames[f] = n + 1
	deepest[f] = f " " frame[f] deep
	longest[f] = f long
	return bytes[f]
}

END {
	for (i = 1; i <= nr; i++)
		follow(order[i])
	for (i = 1; i <= nr; i++) {
		print "bytes", bytes[order[i]], deepest[order[i]]
		print "frames", frames[order[i]], longest[order[i]]
	}
}
