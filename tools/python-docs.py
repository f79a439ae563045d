#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""tools/python-docs.py: the page docs/python.md, made from the docstrings in python/runweir. Part of tools/docs.sh; nothing is imported, so
that neither the package nor its libraries need to be built."""

import ast
import inspect
import re
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "python" / "runweir"


def tree(name: str) -> ast.Module:
    return ast.parse((SOURCES / f"{name}.py").read_text(encoding="utf-8"))


def markdown(text: str) -> str:
    """The few marks of our docstrings in Markdown: literals, references, examples."""
    out: list[str] = []
    fenced = False
    lines = inspect.cleandoc(text).splitlines()
    for i, line in enumerate(lines):
        example = line.startswith(">>> ") or (fenced and line and (line.startswith("... ") or not out[-1].startswith("```")))
        indented = line.startswith("    ")
        if (example or indented) and not fenced:
            out.append("```python")
            fenced = True
        elif fenced and not line:
            following = next((x for x in lines[i:] if x), "")
            if not following.startswith((">>> ", "    ")):
                out.append("```")
                fenced = False
        if fenced:
            out.append(line.removeprefix("    ").replace("<BLANKLINE>", ""))
            continue
        line = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", line)
        line = re.sub(r"``([^`]+)``", r"`\1`", line)
        out.append(re.sub(r"::$", ":", line))
    if fenced:
        out.append("```")
    text = "\n".join(out)
    # A parameter a line is a list.
    return re.sub(r"(?m)^([a-z_]+(?:, [a-z_]+)*): ", r"- `\1`: ", text)


def signature(function: ast.FunctionDef) -> str:
    """Names and defaults; the types are for checkers."""
    a = function.args
    args = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(args) - len(a.defaults)) + list(a.defaults)
    shown = [x.arg + (f"={ast.unparse(d)}" if d else "") for x, d in zip(args, defaults) if x.arg != "self"]
    if a.vararg:
        shown.append("*" + a.vararg.arg)
    elif a.kwonlyargs:
        shown.append("*")
    shown += [x.arg + (f"={ast.unparse(d)}" if d else "") for x, d in zip(a.kwonlyargs, a.kw_defaults)]
    return f"{function.name}({', '.join(shown)})"


def is_property(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(d) == "property" for d in function.decorator_list)


def functions(name: str, prefix: str, wanted: set[str] | None = None) -> list[str]:
    out = []
    for node in tree(name).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and (wanted is None or node.name in wanted):
            out += [f"### {prefix}{node.name}", "", f"```python\n{prefix}{signature(node)}\n```", "", markdown(ast.get_docstring(node) or ""), ""]
    return out


def classes(name: str, wanted: set[str]) -> list[str]:
    out = []
    for node in tree(name).body:
        if not isinstance(node, ast.ClassDef) or node.name not in wanted:
            continue
        out += [f"### {node.name}", "", markdown(ast.get_docstring(node) or ""), ""]
        rows = []
        for member in node.body:
            text = ast.get_docstring(member) if isinstance(member, ast.FunctionDef) else None
            if text and not member.name.startswith("_"):
                shown = member.name if is_property(member) else signature(member)
                said = markdown(text).replace("\n", " ").replace("|", "\\|")
                rows.append(f"| `.{shown}` | {said} |")
        if rows:
            out += ["| | |", "|---|---|", *rows, ""]
    return out


def main() -> None:
    init = tree("__init__")
    names = {a.asname or a.name for n in init.body if isinstance(n, ast.ImportFrom) for a in n.names}
    page = ["# Python reference", "", "Made by `make docs` from the docstrings in `python/runweir`. [How to begin](../python/README.md).", ""]
    page += [markdown(ast.get_docstring(init) or ""), "", "## Functions", "", *functions("api", "runweir.", names)]
    page += ["## Results", "", *classes("results", names), "## Texts", "", *classes("texts", names), *classes("widget", names)]
    page += ["## Pictures", "", "`runweir.plots` needs matplotlib (the extra `plot`).", "", *functions("plots", "plots.")]
    print("\n".join(page).rstrip())


main()
