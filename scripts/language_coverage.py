# SPDX-License-Identifier: Apache-2.0
"""Writes docs/language-coverage.md: what of the GPU kernels' language runs on the CPU.

Nothing in the table is claimed by hand. "Works on cpu": a conformance test uses the name in a
kernel that runs on the CPU and on the reference interpreter and agrees with NumPy. "Unsupported by
nature": the name stands in `language/gpu_only.py`, and a test calls it. All other names are in "not
yet". The names and how many kernels use them are in tests/conformance/language_names.txt.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from sources import ROOT, shown

NAMES = ROOT / "tests/conformance/language_names.txt"
PAGE = ROOT / "docs/language-coverage.md"

HEAD = """# What of the language runs on the CPU

Made by `scripts/language_coverage.py` from the tests. *Works*: a kernel of `tests/conformance` that
uses the name runs on the CPU and on the reference interpreter, and agrees with NumPy. *By nature*:
what only a GPU has; using it on the CPU is an error that says what to write instead. The second
table has the reasons.
A number is how many of TileLang's 158 example kernels use the name; names without one: 12 or fewer.

"""


def names() -> dict[str, list[tuple[str, int]]]:
    """The names by subject, each with its number of uses (0: not counted)."""
    table: dict[str, list[tuple[str, int]]] = {}
    subject = ""
    for line in NAMES.read_text().splitlines():
        if line.startswith("["):
            subject = line.strip("[]")
            table[subject] = []
        elif line and not line.startswith("#"):
            name, _, count = line.partition(" ")
            table[subject].append((name, int(count or 0)))
    return table


def agreeing_tests() -> Iterator[tuple[Path, ast.FunctionDef]]:
    """The tests that compare a kernel on the CPU with the interpreter and NumPy."""
    for path in sorted((ROOT / "tests/conformance").rglob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            if {"agree", "eager", "cpu_only"} & {a.arg for a in node.args.args}:
                yield path, node


def used_names(node: ast.AST) -> set[str]:
    """X of every `T.X` in the tree; dtypes also where they are strings."""
    attributes = {
        n.attr
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "T"
    }
    texts = {
        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }
    return attributes | (texts & {name for name, _ in names()["dtypes"]})


def working() -> set[str]:
    """The names that a conformance test uses."""
    used: set[str] = set()
    for _, test in agreeing_tests():
        used |= used_names(test)
    return used


def reasons() -> str:
    """The table of what the names of a GPU belong to, and what to write instead."""
    sys.path.insert(0, str(ROOT / "python"))
    from tilewright.language.gpu_only import GPU_ONLY

    groups: dict[tuple[str, str], list[str]] = {}
    for name, stand_in in GPU_ONLY.items():
        groups.setdefault((stand_in.what, stand_in.instead), []).append(f"`{name}`")
    rows = [f"| {what} | {instead} | {' '.join(of)} |" for (what, instead), of in groups.items()]
    head = "| unsupported by nature | instead | names |\n|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


def gpu_only() -> set[str]:
    """The names that are a GPU's instructions."""
    sys.path.insert(0, str(ROOT / "python"))
    from tilewright.language.gpu_only import GPU_ONLY

    return set(GPU_ONLY)


def page() -> str:
    """The whole page."""
    works, nature = working(), gpu_only()
    rows, counts = [], [0, 0, 0]
    for subject, entries in names().items():
        cells: list[list[str]] = [[], [], []]
        for name, uses in entries:
            column = 1 if name in nature else 0 if name in works else 2
            cells[column].append(f"`{name}`" + (f" {uses}" if uses else ""))
            counts[column] += 1
        rows.append(f"| {subject} | " + " | ".join(" ".join(cell) for cell in cells) + " |")
    summary = (
        f"{counts[0]} names work on the CPU, {counts[1]} are unsupported by nature, "
        f"{counts[2]} are not there yet.\n\n"
    )
    table = "| subject | works on cpu | unsupported by nature | not yet |\n|---|---|---|---|\n"
    return HEAD + summary + table + "\n".join(rows) + "\n\n" + reasons()


def main() -> int:
    """Writes the page; with --check only says whether it is up to date."""
    text = page()
    if "--check" in sys.argv:
        if PAGE.read_text() == text:
            return 0
        print(f"{shown(PAGE)} is out of date: run python scripts/language_coverage.py")
        return 1
    PAGE.write_text(text)
    print(text.split("\n\n")[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
