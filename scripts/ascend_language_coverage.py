# SPDX-License-Identifier: Apache-2.0
"""Writes docs/ascend-language-coverage.md: the state of every name of TileLang-Ascend's language.

Nothing in the table is claimed by hand. "Works": a test of `python/tilewright/language` or an
example of `examples/ascend` uses the name in a kernel that the reference interpreter runs, checked
against NumPy. "Unsupported": using it is an error that says so, or compiling for Ascend is. All
else is without a test. The names are in scripts/ascend_language_names.txt.
"""

import ast
import sys
from pathlib import Path
from typing import Any

from sources import ROOT, shown

NAMES = ROOT / "scripts/ascend_language_names.txt"
PAGE = ROOT / "docs/ascend-language-coverage.md"
TESTS = sorted((ROOT / "python/tilewright/language").glob("test_*.py"))
#: What the Ascend host runs, too.
ON_HOST = [
    *sorted((ROOT / "examples/ascend").glob("*.py")),
    *sorted((ROOT / "tests/ascend").glob("test_*.py")),
]
#: Its lists say what of T.tile is tried on slices, and in which modes.
SLICES = ROOT / "tests/ascend/test_slices_of_functions.py"
#: By option: what there is, and the lists of `SLICES` that hold what is tried.
MODES = {
    "modes of `tile.cast`": ("CAST_", "NONE RINT FLOOR CEIL ROUND TRUNC ODD", "ROUNDINGS"),
    "modes of `tile.compare`": ("", "EQ NE GT GE LT LE", "COMPARISONS"),
    "modes of `tile.select`": (
        "VSEL_",
        "CMPMASK_SPR TENSOR_SCALAR_MODE TENSOR_TENSOR_MODE",
        "SELECTIONS",
    ),
}
#: A name stands for these where a test takes it from a list.
LISTS = {"test_tile.py": "tile.", "test_tile_functions.py": "tile."}

#: Functions that are one instruction each, with operands as it takes them.
ONE_INSTRUCTION = ("row expansion", "raw wrappers", "deprecated")

HEAD = """# What of TileLang-Ascend's language works

Made by `scripts/ascend_language_coverage.py` from the tests. *Works*: a kernel that uses the name
runs on the reference interpreter and agrees with NumPy; in bold where an example of
`examples/ascend` or a test of `tests/ascend` uses it, which the Ascend host runs too.
*Unsupported*: using it, or compiling it for Ascend, is an error with its place. The second table
says which functions of `T.tile` are tried on slices, and in which modes, by
`tests/ascend/test_slices_of_functions.py`.

"""


def names() -> dict[str, list[str]]:
    """The names by subject."""
    table: dict[str, list[str]] = {}
    subject = ""
    for line in NAMES.read_text().splitlines():
        if line.startswith("["):
            subject = line.strip("[]")
            table[subject] = []
        elif line and not line.startswith("#"):
            table[subject] += line.split()
    return table


def _dotted(node: ast.Attribute) -> str:
    """`tile.add` of T.tile.add, `copy` of T.copy; empty for other attributes."""
    parts = [node.attr]
    value = node.value
    while isinstance(value, ast.Attribute):
        parts.insert(0, value.attr)
        value = value.value
    return ".".join(parts) if isinstance(value, ast.Name) and value.id == "T" else ""


def used_names(path: Path) -> set[str]:
    """The names of the language that a file uses."""
    tree = ast.parse(path.read_text())
    used = {_dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    words = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = {word for word in words if isinstance(word, str)}
    if path.name in LISTS:
        used |= {LISTS[path.name] + text for text in texts}
    plain = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return used | texts & set(names()["dtypes"]) | plain & set(names()["layouts"])


def refuses(dtype: str) -> bool:
    """Whether the chip or its target lacks a dtype: a tile of it is an error."""
    import tilewright.language
    from tilewright import _compiler

    T: Any = tilewright.language

    def tile():  # type: ignore[no-untyped-def]  # noqa: ANN202
        with T.Kernel(1, is_npu=True) as (_, vid):
            T.alloc_ub((32,), dtype)

    options = _compiler.CompileOptions("ascend", "native", {}, build_library=False)
    _, found = _compiler.compile(T.prim_func(tile).capture().module, options)
    return any("has elements of" in diagnostic.message for diagnostic in found)


def refused_addresses() -> set[str]:
    """The names of addresses as numbers, if the chip's target refuses them."""
    import tilewright.language
    from tilewright import _compiler

    T: Any = tilewright.language

    def at(A: T.ptr("float32")):  # type: ignore  # noqa: ANN202
        with T.Kernel(1, is_npu=True) as (_, vid):
            T.copy(T.make_tensor(A, (8,), "float32"), T.alloc_ub((8,), "float32"))

    options = _compiler.CompileOptions("ascend", "native", {}, build_library=False)
    _, found = _compiler.compile(T.prim_func(at).capture().module, options)
    refused = any("T.make_tensor" in diagnostic.message for diagnostic in found)
    return {"ptr", "make_tensor"} if refused else set()


def unsupported() -> set[str]:
    """The names whose use is an "unsupported" error."""
    sys.path.insert(0, str(ROOT / "python"))
    import tilewright.language as language
    from tilewright.language.gpu_only import GPU_ONLY, NOT_ON_NPUS
    from tilewright.language.values import UnsupportedName

    found = {*GPU_ONLY, *NOT_ON_NPUS} | {"ws", "WarpSpecialize"}  # an AI core has no warps
    for name in (name for entries in names().values() for name in entries):
        owner = language.tile if name.startswith("tile.") else language
        try:
            getattr(owner, name.rpartition(".")[2])
        except UnsupportedName:
            found.add(name)
        except AttributeError:
            continue
    return found | refused_addresses() | {dtype for dtype in names()["dtypes"] if refuses(dtype)}


def listed(name: str) -> set[str]:
    """The strings that a list, or the keys that a dict, of `SLICES` holds."""
    for node in ast.parse(SLICES.read_text()).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = getattr(node, "value", None)
            entries = value.keys if isinstance(value, ast.Dict) else getattr(value, "elts", [])
            return {str(entry.value) for entry in entries if isinstance(entry, ast.Constant)}
    raise LookupError(f"{shown(SLICES)} has no {name}")


def options(refused: set[str]) -> str:
    """What of T.tile works on slices, and in which modes."""
    tried = set().union(*map(listed, ("FLOATS", "NUMBERS", "WITH_MODES", "SHAPES")))
    functions = [
        name.removeprefix("tile.")
        for subject, entries in names().items()
        for name in entries
        if name.startswith("tile.") and name not in refused and subject not in ONE_INSTRUCTION
    ]
    rows = {"functions of `T.tile` on slices": (functions, tried)}
    for option, (prefix, modes, where) in MODES.items():
        rows[option] = ([prefix + mode for mode in modes.split()], listed(where))
    text = "\n| option | works | without a test |\n|---|---|---|\n"
    for option, (all_of_it, found) in rows.items():
        cells = [[f"**`{name}`**" for name in all_of_it if name in found]]
        cells.append([f"`{name}`" for name in all_of_it if name not in found])
        text += f"| {option} | " + " | ".join(" ".join(cell) for cell in cells) + " |\n"
    return text


def page() -> str:
    """The whole page."""
    refused = unsupported()
    in_tests = set().union(*map(used_names, TESTS)) - refused
    on_host = set().union(*map(used_names, ON_HOST)) - refused
    rows, counts = [], [0, 0, 0]
    for subject, entries in names().items():
        cells: list[list[str]] = [[], [], []]
        for name in entries:
            works = name in in_tests or name in on_host
            column = 0 if works else 1 if name in refused else 2
            cells[column].append(f"**`{name}`**" if name in on_host else f"`{name}`")
            counts[column] += 1
        rows.append(f"| {subject} | " + " | ".join(" ".join(cell) for cell in cells) + " |")
    summary = (
        f"{counts[0]} names work, {counts[1]} are unsupported, {counts[2]} are without a test.\n\n"
    )
    table = "| subject | works | unsupported | without a test |\n|---|---|---|---|\n"
    return HEAD + summary + table + "\n".join(rows) + "\n" + options(refused)


def main() -> int:
    """Writes the page; with --check only says whether it is up to date."""
    text = page()
    if "--check" in sys.argv:
        if PAGE.read_text() == text:
            return 0
        print(f"{shown(PAGE)} is out of date: run python scripts/ascend_language_coverage.py")
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
