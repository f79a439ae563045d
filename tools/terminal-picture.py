#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Draws what a terminal showed as an SVG: tools/terminal-picture.py WIDTH FILE.txt FILE.svg. FILE.txt has the escape sequences of its colours.

Needs rich from PyPI (tools/walks.sh installs it into an environment of its own)."""

import io
import sys

from rich.console import Console
from rich.text import Text


def main() -> None:
    width, source, target = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    with open(source, encoding="utf-8", errors="replace") as file:
        text = file.read()
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in text.splitlines():
        # What was written over in place, as a line of progress is, is not on the screen any more.
        console.print(Text.from_ansi(line.rsplit("\r", 1)[-1]), no_wrap=True, crop=False, overflow="ignore", highlight=False)
    console.save_svg(target, title=f"{width} columns")


main()
