# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# The calls between files: reads C files and headers with functions, prints each pair of files of which one calls functions of the other, as `from to`, then the files
# that reach themselves in this way, as `circle FILE`, and the floor of each, as `floor N FILE`: one above the highest of those that it calls. Both are without the arrows to `top`,
# which are reported as `up from to` unless they lead down anyway. A function belongs to the file that defines it, at the beginning of a line.
# Usage: awk -v top=FILE -f tools/layers.awk FILE... (names without folder and ending; what lies in kit/ is one room)

function room(path) {
	if (path ~ /\/kit\//)
		return "kit"
	sub(/.*\//, "", path)
	sub(/\.[ch]$/, "", path)
	return path
}

FNR == 1 { here = room(FILENAME); rooms[here]; comment = 0; head = "" }

{
	line = $0
	# Comments, also those of several lines.
	if (comment) {
		if (line !~ /\*\//)
			next
		sub(/.*\*\//, "", line)
		comment = 0
	}
	gsub(/\/\*[^*]*\*\//, "", line)
	if (line ~ /\/\*/) {
		sub(/\/\*.*/, "", line)
		comment = 1
	}
	# A definition: a name at the beginning of a line and a parenthesis, a brace later, no semicolon in between.
	if (line ~ /^[A-Za-z]/ && line ~ /weir_[a-z0-9_]+\(/ && line !~ /^static/ && line !~ /;/) {
		head = line
		sub(/\(.*/, "", head)
		sub(/.*[^A-Za-z0-9_]/, "", head)
	}
	if (line ~ /;/)
		head = ""
	if (line ~ /^\{/ && head != "") {
		home[head] = here
		head = ""
	}
	text[here] = text[here] " " line
}

END {
	for (from in rooms) {
		n = split(text[from], words, /[^A-Za-z0-9_]+/)
		for (i = 1; i <= n; i++)
			if (words[i] in home && home[words[i]] != from)
				calls[from, home[words[i]]] = 1
	}
	for (via in rooms)
		for (from in rooms)
			for (to in rooms)
				if (via != top && to != top && ((from, via) in calls || (from, via) in reach) && ((via, to) in calls || (via, to) in reach))
					reach[from, to] = 1
	for (pair in calls) {
		split(pair, p, SUBSEP)
		print p[1], p[2]
	}
	for (r in rooms)
		if ((r, r) in reach)
			print "circle", r
	# As often as there are rooms: a longer way is a circle beside the top one.
	for (r in rooms) {
		floor[r] = 1
		number++
	}
	for (turn = 0; turn < number; turn++)
		for (pair in calls) {
			split(pair, p, SUBSEP)
			if (p[2] != top && floor[p[1]] <= floor[p[2]])
				floor[p[1]] = floor[p[2]] + 1
		}
	for (r in rooms)
		print "floor", floor[r], r
	for (pair in calls) {
		split(pair, p, SUBSEP)
		if (p[2] == top && floor[p[1]] <= floor[top])
			print "up", p[1], p[2]
	}
}
