# SPDX-License-Identifier: Apache-2.0
"""`tilelang.libinfo`: where the native parts of this package lie."""

from __future__ import annotations

from pathlib import Path

from . import __version__

__all__ = ["__version__", "find_lib_path"]


def find_lib_path(name: str, py_ext: bool = False) -> str:
    """The file of a native part: `_compiler` or `_runtime`. RuntimeError if there is none of the
    name."""
    folder = Path(__file__).parent
    found = sorted(folder.glob(f"{name}*.so")) if name.isidentifier() else []
    if not found:
        parts = ", ".join(sorted({each.name.split(".")[0] for each in folder.glob("_*.so")}))
        raise RuntimeError(f"there is no library {name!r} in {folder}, which has {parts}")
    return str(found[0])
