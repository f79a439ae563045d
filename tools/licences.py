#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The licences of the libraries in the lock file: each must go with one of ours, and those that do not go with GPL-2.0-only are
those that LICENSE names. Prints every violation."""
import json
import re
import subprocess
import sys

# Of these, one at least is open to us in every "OR"; all go with the MIT licence.
WITH_MIT = {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "0BSD", "Unlicense", "BSL-1.0", "Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception"}
WITH_GPL2 = WITH_MIT - {"Apache-2.0", "Apache-2.0 WITH LLVM-exception"}


def fits(expression, among):
    """Whether a licence expression can be met by licences among these. "/" is an old way to write OR."""
    for side in re.split(r"\bAND\b", expression.replace("/", " OR ").replace("(", "").replace(")", "")):
        if not any(word.strip() in among for word in re.split(r"\bOR\b", side)):
            return False
    return True


assert fits("(MIT OR Apache-2.0) AND Unicode-3.0", WITH_GPL2) and not fits("Apache-2.0", WITH_GPL2)
assert fits("LGPL-2.1-only OR BSD-2-Clause", WITH_GPL2) and not fits("MIT AND AGPL-3.0-only", WITH_MIT)

command = ["cargo", "metadata", "--locked", "--format-version", "1"]
metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
named = set(re.findall(r"^    ([a-z0-9_-]+)$", open("LICENSE", encoding="utf-8").read(), re.M))
bad, apart = [], set()
for package in metadata["packages"]:
    if package["source"] is None:
        continue
    licence = package["license"] or "no licence"
    if not fits(licence, WITH_MIT):
        bad.append(f"{package['name']} {package['version']}: {licence} does not go with the MIT licence")
    elif not fits(licence, WITH_GPL2):
        apart.add(package["name"])
bad += [f"{name}: does not go with GPL-2.0-only, and LICENSE does not name it" for name in sorted(apart - named)]
bad += [f"{name}: LICENSE names it, but it is not used or goes with GPL-2.0-only" for name in sorted(named - apart)]
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
