# SPDX-License-Identifier: Apache-2.0
"""What import statements within a kernel bind."""

from __future__ import annotations

import ast
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FunctionType


def imported(node: ast.Import | ast.ImportFrom, function: FunctionType) -> dict[str, Any]:
    """What an import statement of `function` binds."""
    if isinstance(node, ast.ImportFrom):
        package = function.__globals__.get("__package__")
        module = importlib.import_module("." * node.level + (node.module or ""), package)
        return {alias.asname or alias.name: getattr(module, alias.name) for alias in node.names}
    found = {}
    for alias in node.names:
        module = importlib.import_module(alias.name)
        top = alias.name.split(".")[0]
        found[alias.asname or top] = module if alias.asname else importlib.import_module(top)
    return found
