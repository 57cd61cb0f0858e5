# SPDX-License-Identifier: Apache-2.0
"""Files of a folder that are compiled as one have no names in common that each takes for its own.

Which files meet depends on their sizes (`tilewright_merged` in cmake/Tilewright.cmake): a new file
may bring together what stood apart. So the names that a file keeps to itself differ in all of a
folder, tests apart, and from those of headers; functions of different parameters may share theirs.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from cpp_names import Name, names_of
from sources import files_with, report, shown

MERGED = ("compiler/", "python/bindings/", "runtime/", "simulator/", "tests/ascend/", "tools/")
# Kernels for the Ascend driver and their tests, each of which is a program.
ALONE = ("simulator/ascendc/", "simulator/include/")


def apart(build_file: str, sources: Iterable[Path]) -> set[Path]:
    """Those of a folder's sources that its CMakeLists.txt has compiled for themselves."""
    if "set(TILEWRIGHT_MERGE OFF)" in build_file:
        return set(sources)
    listed = re.search(r"\bAPART((?:\s+\w+\.cpp)+)", build_file)
    names = set(listed[1].split()) if listed else set()
    return {path for path in sources if path.name in names}


def collisions(
    sources: dict[Path, str], declared: dict[str, list[tuple[Path, Name]]]
) -> Iterator[str]:
    """Of files that may be compiled as one, by their paths; `declared` is what headers have."""
    defined: defaultdict[str, list[tuple[Path, Name]]] = defaultdict(list)
    for path, text in sources.items():
        own = [name for name in names_of(text) if name.name != "main"]
        for name in own:
            of_headers = declared.get(name.name, []) if name.is_nameless else []
            met = [(at, other) for at, other in defined[name.name] if name.meets(other)]
            met += [(at, x) for at, x in of_headers if name.meets(x) or name.hides(x)]
            if met:
                yield (
                    f"{shown(path)}:{name.line}: error: '{name.name}' is also a name in "
                    f"{shown(met[0][0])}:{met[0][1].line}, and both files may be compiled as one"
                )
        for name in own:
            defined[name.name].append((path, name))


def findings() -> Iterator[str]:
    """All of the checkout's."""
    declared: dict[str, dict[str, list[tuple[Path, Name]]]] = {root: {} for root in MERGED}
    folders: defaultdict[tuple[str, Path, bool], list[Path]] = defaultdict(list)
    for path in files_with(".cpp", ".h"):
        root = next((root for root in MERGED if shown(path).startswith(root)), None)
        if root is None or shown(path).startswith(ALONE):
            continue
        if path.suffix == ".cpp":
            folders[root, path.parent, path.name.endswith("_test.cpp")].append(path)
            continue
        for name in names_of(path.read_text()):
            declared[root].setdefault(name.name, []).append((path, name))
    for (root, folder, _), paths in folders.items():
        build_file = folder / "CMakeLists.txt"
        alone = apart(build_file.read_text() if build_file.exists() else "", paths)
        texts = {path: path.read_text() for path in paths if path not in alone}
        kernels = {path for path, text in texts.items() if '"kernel_operator.h"' in text}
        yield from collisions({p: texts[p] for p in texts if p not in kernels}, declared[root])


if __name__ == "__main__":
    sys.exit(report(findings))
