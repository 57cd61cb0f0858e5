# SPDX-License-Identifier: Apache-2.0
"""A kernel without the tensors that it doesn't use."""

from __future__ import annotations

from ..errors import load_compiler
from .prim_func import PrimFunc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..capture.kernel import CapturedKernel


class SimplifiedPrimFunc(PrimFunc):
    """What `apply_simplify` makes of a kernel."""

    def __init__(self, kernel: PrimFunc) -> None:
        super().__init__(kernel.function, kernel.names)
        self.kernel = kernel
        self.arguments = kernel.arguments

    def _trace(self, compiler: Any) -> CapturedKernel:
        self.kernel.arguments = self.arguments
        captured = self.kernel._trace(compiler)
        if compiler is None:
            drop = load_compiler().drop_unused_tensors
            dropped = set(drop(captured.module, captured.outputs))
            numbers = [n for n in range(len(captured.parameters)) if n not in dropped]
            captured.outputs = [numbers.index(number) for number in captured.outputs]
            captured.parameters = [captured.parameters[number] for number in numbers]
        return captured
