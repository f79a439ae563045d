# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What scripts share that keep a part of a page up to date: between two marks stands what they make."""

import sys


def keep(page, mark, lines, words, usage):
    """Write @lines between `<!-- mark -->` and `<!-- end of the mark -->` of @page; with `--check` only compare. The exit status."""
    if words not in ([], ["--check"]):
        print(usage.strip(), file=sys.stderr)
        return 2
    begin, end = f"<!-- {mark} -->\n", f"<!-- end of the {mark} -->\n"
    text = page.read_text()
    head, rest = text.split(begin)
    fresh = head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1]
    if fresh != text and words:
        print(f"{sys.argv[0]}: {page} is out of date: run {sys.argv[0]}", file=sys.stderr)
        return 1
    if fresh != text:
        page.write_text(fresh)
    return 0
