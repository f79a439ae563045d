#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The index of docs/decisions/README.md, from the first lines of the pages: `# NNNN Title`, an empty line, `Status: …`.

    tools/decisions.py          write it
    tools/decisions.py --check  write nothing; status 1 if it is out of date, or a page begins otherwise
"""

import re
import sys
from pathlib import Path

from generated import keep

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "decisions"


def rows():
    for page in sorted(FOLDER.glob("[0-9]*.md")):
        lines = page.read_text().split("\n")
        title = re.fullmatch(r"# (\d{4}) (.+)", lines[0])
        status = re.fullmatch(r"Status: ((?:accepted|replaced by)(?:.*[^.])?)", lines[2]) if len(lines) > 3 and not lines[1] and not lines[3] else None
        if not title or not status or title[1] != page.name[:4]:
            sys.exit(f"decisions: docs/decisions/{page.name} does not begin with `# {page.name[:4]} TITLE`, an empty line, `Status: accepted …` or `Status: replaced by …`, an empty line")
        yield f"| [{title[1]}]({page.name}) | {title[2]} | {status[1]} |"


if __name__ == "__main__":
    table = ["| | decision | status |", "|---|---|---|", *rows()]
    sys.exit(keep(FOLDER / "README.md", "index", table, sys.argv[1:], __doc__))
