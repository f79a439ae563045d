#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The book: the pages of docs/SUMMARY.md, searchable, with working links.

    tools/book.py check [MADE]      look at the links of all pages; build nothing
    tools/book.py build DIR MDBOOK  the same, then the book in DIR, by the program MDBOOK

Checked: each relative link leads to a file that git has, each anchor to a heading, each page under docs/ is in the summary, and each page of the
summary exists. A page's links may lead to sources, which the book takes along. Status 1 and a line for each fault.

Pages that repeat what the program says of itself are made for the book and are not in git (tools/docs.sh makes them, here in the folder MADE, docs/
without one). Only the summary and other such pages may link to them: a forge does not show them.
"""

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
SUMMARY = "docs/SUMMARY.md"
# Many small pages that one other page lists: they are in the book, below that page.
LISTED = {"docs/decisions/README.md": "docs/decisions/[0-9]*.md", "experiments/RESULTS.md": "experiments/*/README.md"}
# Made for the book.
MADE = ["docs/help.md", "docs/lab.md", "docs/python.md", "docs/reference.md"]
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")


def tracked():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return set(names.splitlines())


def prose(text):
    """The lines of a page outside of code blocks and comments, numbered."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (fence is None or mark[1].startswith(fence)):
            fence = None if fence else mark[1]
        elif fence is None:
            yield number, line


def slug(heading):
    """The anchor that forges and mdBook give a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = html.unescape(text).strip().lower()
    return "".join("-" if c.isspace() else c for c in text if c.isalnum() or c in "_-" or c.isspace())


def anchors(text):
    seen = {}
    for _, line in prose(text):
        found = HEADING.match(line)
        if found:
            name = slug(found[2])
            count = seen.get(name, 0)
            seen[name] = count + 1
            yield name if count == 0 else f"{name}-{count}"
        yield from re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line)


def links(page, text):
    """Relative links of a page: line, path from the root, anchor, as written."""
    for number, line in prose(text):
        for target in LINK.findall(re.sub(r"`[^`]*`", lambda code: "`" * len(code[0]), line)):
            if re.match(r"[a-z][a-z0-9+.-]*:|//", target):
                continue
            path, _, anchor = target.partition("#")
            where = os.path.normpath(PurePosixPath(page).parent / path) if path else page
            yield number, where, anchor, target


def chapters():
    text = (ROOT / SUMMARY).read_text()
    return [where for _, where, _, _ in links(SUMMARY, text)]


def check(made):
    """Faults of all pages, and the files to which pages of the book lead."""
    files = tracked()
    folders = {str(parent) for name in files for parent in PurePosixPath(name).parents}
    pages = sorted(name for name in files if name.endswith(".md") and (ROOT / name).exists())
    texts = {page: (ROOT / page).read_text() for page in pages}
    texts |= {page: (made / PurePosixPath(page).name).read_text() for page in MADE}
    headings = {page: set(anchors(text)) for page, text in texts.items()}
    faults, linked = [], {}
    for page, text in texts.items():
        for number, where, anchor, target in links(page, text):
            if where in MADE and (page == SUMMARY or page in MADE):
                pass
            elif where in folders:
                inside = os.path.normpath(PurePosixPath(where) / "README.md")
                where = inside if inside in files else where
            elif where not in files:
                faults.append(f"{page}:{number}: `{target}` leads to no file of the repository")
                continue
            linked.setdefault(page, set()).add(where)
            if anchor and where in headings and anchor not in headings[where]:
                faults.append(f"{page}:{number}: `{target}`: {where} has no such heading")
    listed = chapters()
    for name in listed:
        if name not in texts:
            faults.append(f"{SUMMARY}: {name} is no page of the repository")
    for name in pages:
        if PurePosixPath(name).parent == PurePosixPath("docs") and name not in (SUMMARY, "docs/README.md") and name not in listed:
            faults.append(f"{SUMMARY}: {name} is missing: add it where a reader looks for it")
    return faults, linked, texts


def title(text, name):
    for _, line in prose(text):
        found = HEADING.match(line)
        if found:
            return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found[2])
    return name


def build(out, mdbook, linked, texts):
    """Lay out pages and what they lead to as in the repository, so that each link works, and run mdBook."""
    work = out.parent / (out.name + "-pages")
    shutil.rmtree(work, ignore_errors=True)
    source = work / "src"
    summary = []
    taken = []
    for line in (ROOT / SUMMARY).read_text().splitlines():
        found = LINK.search(line)
        if not found:
            summary.append(line)
            continue
        where = os.path.normpath(PurePosixPath(SUMMARY).parent / found[1])
        summary.append(line.replace(f"]({found[1]})", f"]({where})"))
        taken.append(where)
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        below = ROOT.glob(LISTED[where]) if where in LISTED else ()
        for page in sorted(str(path.relative_to(ROOT)) for path in below):
            if page in texts:
                summary.append(f"{indent}- [{title(texts[page], page)}]({page})")
                taken.append(page)
    files = tracked()
    wanted = set(taken)
    for page in taken:
        for name in linked.get(page, ()):
            # A folder: what it has, without what lies deeper.
            inside = [f for f in files if str(PurePosixPath(f).parent) == name] if name not in files else [name]
            wanted.update(inside)
    for name in wanted:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    (source / "SUMMARY.md").write_text("\n".join(summary) + "\n")
    shutil.copyfile(ROOT / "docs/book.toml", work / "book.toml")
    subprocess.run([mdbook, "build", "--dest-dir", str(out), str(work)], check=True)
    shutil.rmtree(work)
    print(f"book: {len(taken)} pages: {out}/index.html")


def main(words):
    if not (words[:1] == ["check"] and len(words) <= 2 or words[:1] == ["build"] and len(words) == 3):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    made = Path(words[1]) if words[0] == "check" and len(words) == 2 else ROOT / "docs"
    missing = [name for name in MADE if not (made / PurePosixPath(name).name).is_file()]
    if missing:
        print(f"book: {', '.join(missing)}: not made yet: run `tools/docs.sh PROGRAM`, which `make docs` does", file=sys.stderr)
        return 2
    faults, linked, texts = check(made)
    for fault in faults:
        print(f"book: {fault}", file=sys.stderr)
    if faults:
        return 1
    if words[0] == "build":
        build(Path(words[1]).resolve(), words[2], linked, texts)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
