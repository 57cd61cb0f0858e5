# SPDX-License-Identifier: Apache-2.0
"""Lets scripts that are written for a GPU run on the CPU, over torch: see docs/device-map.md.

`install()` changes torch in this process, `remove()` changes it back. `tilewright run` installs it
when the script imports torch. Nothing else of the package uses it.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def install() -> None:
    """Maps torch's device "cuda" to the CPU, from now on, in all threads."""
    from . import patches

    patches.install()


def remove() -> None:
    """Gives torch back as it was."""
    from . import patches

    patches.remove()


def is_installed() -> bool:
    patches = sys.modules.get("tilewright.device_map.patches")
    return patches is not None and bool(patches.is_installed())


class _InstallAfterTorch:
    """Installs the map right after torch was imported for the first time."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        loader = spec.loader if spec is not None else None
        if spec is None or loader is None:
            return spec
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            install()

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install_with_torch() -> None:
    """Installs the map now if torch is loaded, else as soon as it is."""
    if "torch" in sys.modules:
        install()
    else:
        sys.meta_path.insert(0, _InstallAfterTorch())
