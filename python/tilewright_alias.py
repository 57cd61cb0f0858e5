# SPDX-License-Identifier: Apache-2.0
"""Lets `import tilelang` find tilewright in an environment where no other tilelang is installed.

Python imports this at its start (tilewright_alias.pth), so it does next to nothing until a script
imports tilelang and no installed package of that name was found. See tilewright/alias.py.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class LateFinder:
    """Stands last on sys.meta_path until it is needed."""

    @staticmethod
    def find_spec(
        name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name != "tilelang":
            return None
        from tilewright.alias import AliasFinder

        return AliasFinder().find_spec(name)


sys.meta_path.append(LateFinder)
