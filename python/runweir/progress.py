# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Progress of long calls: a bar in notebooks, a line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable

Progress = Callable[[float | None], None]


def make(progress: bool | Progress | None, what: str) -> Progress | None:
    """``True``: a bar where somebody can see it; a function: it is called with the share done (0 to 1), or None where that
    is not known; ``False``: nothing; ``None``: as True in a notebook, else as False."""
    if callable(progress):
        return progress
    notebook = _in_notebook()
    if progress is False or (progress is None and not notebook):
        return None
    if notebook:
        return _Bar(what)
    if sys.stderr.isatty():
        return _Line(what)
    return None


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    ip = shell.get_ipython()
    return ip is not None and ip.__class__.__name__ == "ZMQInteractiveShell"


class _Bar:
    """An HTML bar that goes when the work is done."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.shown = None

    def __call__(self, share: float | None) -> None:
        from IPython.display import HTML, display

        value = "" if share is None else f' value="{share:.3f}"'
        text = "" if share is None else f" {100 * share:.0f} %"
        page = HTML("" if share == 1.0 else f"<progress{value}></progress> {self.what}{text}")
        if self.shown is None:
            if share != 1.0:
                self.shown = display(page, display_id=True)
        else:
            self.shown.update(page)


class _Line:
    """A line on the terminal."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __call__(self, share: float | None) -> None:
        text = "" if share is None else f" {100 * share:3.0f} %"
        end = "\r\x1b[K" if share == 1.0 else f"\r{self.what}{text}"
        sys.stderr.write(end)
        sys.stderr.flush()
