# SPDX-License-Identifier: Apache-2.0
"""`TILEWRIGHT_STRICT_INDICES=1` on Ascend: an element outside of its tensor, which reads as 0 or is
dropped there, is an error with its place. The interpreter looks for one before each call."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from .errors import KernelError
from .reference_kernel import reference_kernel

if TYPE_CHECKING:
    from .capture.kernel import CapturedKernel
    from .kernel import JITKernel
    from .options import Options

_OUTSIDE = "is out of range for dim"


def _copies(arguments: tuple[Any, ...]) -> list[Any]:
    """An array that is given twice stays one."""
    made: dict[int, Any] = {}
    for argument in arguments:
        duplicate = getattr(argument, "clone", None) or getattr(argument, "copy", None)
        made.setdefault(id(argument), duplicate() if callable(duplicate) else argument)
    return [made[id(argument)] for argument in arguments]


def strict_kernel(
    kernel: JITKernel, captured: CapturedKernel, options: Options, out_idx: Any, **more: Any
) -> JITKernel:
    """The same kernel, whose calls end with a KernelError before they begin if an element leaves
    its tensor. What else the interpreter finds is the host's to tell."""
    of_reference = copy.copy(options)
    of_reference.target = "reference"
    reference = reference_kernel(
        captured, of_reference, out_idx, more["prim_func"], tells_unwritten=False
    )
    kind: Any = type(kernel)

    class StrictKernel(kind):  # type: ignore[misc]
        def __call__(self, *arguments: Any, **keywords: Any) -> Any:
            given = _copies((*arguments, *keywords.values()))
            try:
                reference(
                    *given[: len(arguments)],
                    **dict(zip(keywords, given[len(arguments) :], strict=True)),
                )
            except KernelError as error:
                if any(_OUTSIDE in found.message for found in error.diagnostics):
                    raise
            return super().__call__(*arguments, **keywords)

    made: JITKernel = StrictKernel(kernel.entry, out_idx, target=options.target, **more)
    return made
