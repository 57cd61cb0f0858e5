# SPDX-License-Identifier: Apache-2.0
"""`tilelang.transform.simplify`: kernels without the tensors that they don't use.

Every kernel is simplified when it is compiled; what these functions change is its parameters.
"""

from __future__ import annotations

from functools import wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .language.prim_func import PrimFunc


def apply_simplify(stmt: Any) -> PrimFunc:
    """The kernel without the tensor parameters that no statement of it reads or writes; scalars
    stay, and tensors that alone tell a symbol that it needs."""
    from .jit_factory import what_it_is
    from .language.simplified import SimplifiedPrimFunc

    if not hasattr(stmt, "capture"):
        raise ValueError(f"expected a kernel (@T.prim_func) but got {what_it_is(stmt)}")
    return stmt if isinstance(stmt, SimplifiedPrimFunc) else SimplifiedPrimFunc(stmt)


def simplify_prim_func(func: Any) -> Callable[..., PrimFunc] | PrimFunc:
    """Above a factory: it gives its kernels by `apply_simplify`. Above a kernel: that one."""
    if hasattr(func, "capture"):
        return apply_simplify(func)

    @wraps(func)
    def simplified(*args: Any, **keywords: Any) -> PrimFunc:
        return apply_simplify(func(*args, **keywords))

    vars(simplified)["gives_simplified"] = True
    return simplified
