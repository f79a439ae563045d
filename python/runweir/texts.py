# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Topologies, workloads and specifications that are text or objects instead of files."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Union, overload


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Help for a name that does not exist: the nearest one, else all.

    >>> did_you_mean("utill", ["tasks", "util"])
    'did you mean `util`?'
    """
    names = list(names)
    near = difflib.get_close_matches(word, names, n=1)
    return f"did you mean `{near[0]}`?" if near else f"there are {', '.join(names)}"


class Topology:
    """A topology as text.

    >>> Topology("entry -> fifo -> cpus;", name="mine").name
    'mine'
    """

    def __init__(self, text: str, name: str = "topology") -> None:
        self.text = text
        self.name = name

    def __repr__(self) -> str:
        return f"Topology({self.text!r}, name={self.name!r})"

    def _repr_svg_(self) -> str:
        from .api import drawing

        return drawing(self)


class Workload:
    """A workload as text, or as an object with the keys of a TOML or rt-app file.

    ``kind`` is ``"toml"`` (the default), ``"json"`` (rt-app), ``"xml"`` (SimSo) or ``"csv"`` (a table of periodic tasks). Whole numbers
    where an object has a time are nanoseconds, as everywhere.

    >>> w = Workload({"task": [{"name": "a", "period": "10ms", "run": "1ms"}]})
    >>> print(w.text)
    [[task]]
    name = "a"
    period = "10ms"
    run = "1ms"
    <BLANKLINE>
    """

    def __init__(self, text: str | Mapping[str, Any], kind: str = "toml", name: str = "workload") -> None:
        if kind not in ("toml", "json", "xml", "csv"):
            raise ValueError(f"a workload is toml, json, xml or csv, not {kind!r}")
        if not isinstance(text, str):
            text = json.dumps(text, indent=1) if kind == "json" else to_toml(_with_units(text))
        self.text = text
        self.kind = kind
        self.name = name

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the text into a file."""
        Path(path).write_text(self.text, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Workload {self.name!r}: {len(self.text.splitlines())} lines of {self.kind}>"


# Keys of a workload file that hold times.
TIMES = frozenset(
    "period wcet wcet_hi deadline offset jitter blocking acet deviation run duration start stagger slice at quota".split()
)


def _with_units(value: Any, key: str = "") -> Any:
    """The same object, its whole numbers with the unit ns where a time belongs."""
    if isinstance(value, Mapping):
        return {k: _with_units(v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_units(v, key) for v in value]
    if key in TIMES and not isinstance(value, (bool, str)) and hasattr(value, "__index__"):
        return f"{int(value)}ns"
    if key in TIMES and isinstance(value, float):
        raise ValueError(f"{key} = {value!r}: a time is a whole number of nanoseconds, or a string with its unit such as '1.5ms'")
    return value


def to_toml(value: Mapping[str, Any]) -> str:
    """A mapping as TOML: numbers, strings, booleans, lists, tables, lists of tables."""
    out: list[str] = []
    _table(value, (), out)
    return "\n".join(out) + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...], out: list[str]) -> None:
    later: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, Mapping) or _is_tables(value):
            later.append((key, value))
        else:
            out.append(f"{_key(key)} = {_value(value)}")
    for key, value in later:
        where = (*path, key)
        shown = ".".join(_key(part) for part in where)
        for one in [value] if isinstance(value, Mapping) else value:
            if out:
                out.append("")
            out.append(f"[{shown}]" if isinstance(value, Mapping) else f"[[{shown}]]")
            _table(one, where, out)


def _is_tables(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(v, Mapping) for v in value)


def _key(key: str) -> str:
    plain = key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key)
    return key if plain else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # What JSON escapes, TOML's basic strings escape alike, except DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if hasattr(value, "item"):
        # A number of NumPy.
        return _value(value.item())
    raise TypeError(f"a TOML file cannot hold a {type(value).__name__}: {value!r}")


Something = Union[str, "os.PathLike[str]", Mapping[str, Any], Topology, Workload]


class Files:
    """Gives texts and objects a file for as long as a call lasts."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.n = 0

    def put(self, name: str, ending: str, text: str) -> str:
        """The text in a new file, which keeps its name for reports."""
        place = self.folder / str(self.n)
        place.mkdir()
        self.n += 1
        safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in name) or "text"
        path = place / f"{safe}.{ending}"
        path.write_text(text, encoding="utf-8")
        return str(path)

    @overload
    def topology(self, what: Something) -> str: ...
    @overload
    def topology(self, what: Something | None) -> str | None: ...
    def topology(self, what: Any) -> str | None:
        """A name, a path, or text: whatever has an arrow is text."""
        if isinstance(what, Topology):
            return self.put(what.name, "weir", what.text)
        if isinstance(what, str) and ("->" in what or "\n" in what):
            return self.put("topology", "weir", what)
        return _path(what)

    @overload
    def workload(self, what: Something) -> str: ...
    @overload
    def workload(self, what: Something | None) -> str | None: ...
    def workload(self, what: Any) -> str | None:
        """A name, a path, a Workload, a mapping (TOML), or the text of a TOML file."""
        if isinstance(what, Mapping):
            what = Workload(what)
        if isinstance(what, str) and "\n" in what:
            what = Workload(what)
        if isinstance(what, Workload):
            return self.put(what.name, what.kind, what.text)
        return _path(what)

    @overload
    def toml(self, what: Something, name: str) -> str: ...
    @overload
    def toml(self, what: Something | None, name: str) -> str | None: ...
    def toml(self, what: Any, name: str) -> str | None:
        """A path, a mapping, or the text of a TOML file."""
        if isinstance(what, Mapping):
            return self.put(name, "toml", to_toml(what))
        if isinstance(what, str) and "\n" in what:
            return self.put(name, "toml", what)
        return _path(what)


def _path(what: Any) -> str | None:
    return None if what is None else os.fspath(what)


@contextlib.contextmanager
def files() -> Iterator[Files]:
    """A folder for texts."""
    with tempfile.TemporaryDirectory(prefix="runweir-") as folder:
        yield Files(folder)


UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "min": 60 * 10**9}


@overload
def time_ns(value: str | int | float, what: str = ...) -> int: ...
@overload
def time_ns(value: None, what: str = ...) -> None: ...
@overload
def time_ns(value: str | int | float | None, what: str = ...) -> int | None: ...
def time_ns(value: str | int | float | None, what: str = "duration") -> int | None:
    """A time with its unit (``"20ms"``), or a number of nanoseconds.

    >>> time_ns("1.5ms"), time_ns(7000), time_ns("2 s")
    (1500000, 7000, 2000000000)
    """
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip().replace("_", "")
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyzµ").strip()
        unit = text[len(text.rstrip("abcdefghijklmnopqrstuvwxyzµ")) :]
        try:
            from fractions import Fraction

            return int(Fraction(digits) * UNITS[unit])
        except (KeyError, ValueError, ZeroDivisionError):
            raise ValueError(f"{what} {value!r} is not a time with its unit, such as '20ms'") from None
    if value < 0:
        raise ValueError(f"{what} {value!r} is negative")
    if value != int(value):
        raise ValueError(f"{what} {value!r}: a number is whole nanoseconds; write a time with its unit, such as '{value:g}s'")
    if what == "duration" and 0 < value < 1000:
        raise ValueError(f"{what} {value!r} is {value:g} ns; write '{value:g}s' for seconds, or the number of nanoseconds")
    return int(value)


def groups(names: str | Iterable[str]) -> list[str]:
    """One name or several, as a list."""
    return [names] if isinstance(names, str) else list(names)


def settings(values: Mapping[str, Any] | list[str] | None) -> list[str]:
    """Parameters of components: ``{"round_robin.slice": "1ms"}``."""
    if values is None:
        return []
    if isinstance(values, Mapping):
        return [f"{key}={str(v).lower() if isinstance(v, bool) else v}" for key, v in values.items()]
    return list(values)
