# SPDX-License-Identifier: Apache-2.0
"""Each folder includes and imports only what the layering allows.

The table below is that of ARCHITECTURE.md. It is transitive: who
may use a folder may use what that folder may use.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sources import ROOT, cpp_files, python_files, report, shown

MLIR = "MLIR"
PYTHON_PACKAGE = "python/tilewright"
# Folder: what it may include, besides itself and the standard library.
MAY_USE: dict[str, tuple[str, ...]] = {
    "include/tilewright": (),
    "compiler/base": ("include/tilewright",),
    "compiler/chips": ("compiler/base",),
    "compiler/ir": ("compiler/base", MLIR),
    "compiler/builder": ("compiler/ir",),
    "compiler/interpreter": ("compiler/ir",),
    "compiler/passes": ("compiler/ir", "compiler/chips"),
    "compiler/targets/cpu": ("compiler/passes",),
    "compiler/targets/ascend": ("compiler/passes",),
    "compiler/driver": (
        "compiler/builder",
        "compiler/interpreter",
        "compiler/targets/cpu",
        "compiler/targets/ascend",
    ),
    "compiler/api": ("compiler/driver",),
    "device": (),
    "simulator": ("compiler/chips",),
    "runtime": ("compiler/base",),
    "python/bindings": ("include/tilewright", "runtime"),
    "operators": ("include/tilewright", "simulator"),
    "tools": ("compiler/driver", "simulator"),
    "examples": ("include/tilewright",),
    "tests": ("compiler/api", "simulator", "runtime"),
    "benchmarks": ("compiler/api", "simulator", "runtime"),
}
# Imported by the package only inside functions: torch is optional, and never imported by us first.
LATE_MODULES = {"torch", "jax", "cupy", "numpy", "ml_dtypes"}
# Its modules are imported after torch was (docs/device-map.md).
OVER_TORCH = "python/tilewright/device_map"
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.M)


@cache
def closure(folder: str) -> frozenset[str]:
    """What the folder may use, itself included."""
    return frozenset({folder}.union(*(closure(used) for used in MAY_USE.get(folder, ()))))


def folder_of(path: str) -> str | None:
    """The folder of the table that a path from the root lies in."""
    fitting = [folder for folder in MAY_USE if path == folder or path.startswith(folder + "/")]
    return max(fitting, key=len, default=None)


def included_folder(header: str, source: Path) -> str | None:
    """The folder that `header` lies in, for an include in `source`; None for what is not ours."""
    if header.startswith(("mlir/", "llvm/", "mlir-c/", "llvm-c/", "lld/")):
        return MLIR
    if (source.parent / header).exists():
        return folder_of(shown((source.parent / header).resolve()))
    if header.startswith("tilewright/"):
        return "include/tilewright"
    if (ROOT / "simulator" / "include" / header).exists() and not (ROOT / header).exists():
        return None  # of the acl interface, whose runtime/ is not our folder
    # Also headers that the build generates: they lie in the build folder under the source's path.
    return folder_of(header)


def include_faults(source: Path, text: str) -> Iterator[tuple[int, str]]:
    """Line and finding of each include that the table forbids."""
    folder = folder_of(shown(source))
    if folder is None:
        return
    for match in INCLUDE.finditer(text):
        used = included_folder(match[1], source)
        if used is not None and used not in closure(folder):
            line = text.count("\n", 0, match.start(1)) + 1
            yield line, f"{folder} may not use {used} (includes {match[1]})"


def imported_early(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of the modules that are imported when the file is."""
    pending: list[ast.stmt] = list(ast.parse(text).body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            pending.extend(
                child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)
            )


def import_faults(source: Path, text: str) -> Iterator[tuple[int, str]]:
    """Line and finding of each import in the package that may not stand there."""
    name = shown(source)
    if not name.startswith(PYTHON_PACKAGE) or source.name.startswith(("test_", "conftest")):
        return
    for line, module in imported_early(text):
        top = module.split(".")[0]
        is_over_torch = name.startswith(OVER_TORCH) and source.name != "__init__.py"
        if top in LATE_MODULES and not (top == "torch" and is_over_torch):
            yield line, f"{PYTHON_PACKAGE} imports {top} only inside functions"
        if top in ("operators", "scripts", "tests", "benchmarks", "examples"):
            yield line, f"{PYTHON_PACKAGE} may not use {top}"


def findings() -> Iterator[str]:
    """All of the checkout's."""
    for path in cpp_files():
        for line, fault in include_faults(path, path.read_text(errors="replace")):
            yield f"{shown(path)}:{line}: error: {fault}"
    for path in python_files():
        for line, fault in import_faults(path, path.read_text()):
            yield f"{shown(path)}:{line}: error: {fault}"
    yield from (
        f"{shown(folder)}:1: error: the folder is not in the layering table"
        for folder in unknown_folders(ROOT)
    )


def unknown_folders(root: Path) -> Iterator[Path]:
    """The compiler's folders, and those of its targets, that the table doesn't know."""
    for folder in (*root.glob("compiler/*/"), *root.glob("compiler/targets/*/")):
        name = str(folder.relative_to(root))
        if name != "compiler/targets" and folder_of(name) is None and any(folder.iterdir()):
            yield folder


if __name__ == "__main__":
    sys.exit(report(findings))
