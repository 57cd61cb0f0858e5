# SPDX-License-Identifier: Apache-2.0
"""`tilelang.lower` and what belongs to it: a kernel as its target compiles it, not loaded."""

from __future__ import annotations

from .compilation import stages_of
from .options import Options, PassConfigKey, remark, tracing_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .language.prim_func import PrimFunc

__all__ = ["CompiledArtifact", "PassConfigKey", "lower"]


class CompiledArtifact:
    """A lowered kernel. `kernel_source` is the last text before machine code."""

    def __init__(self, name: str, stages: list[tuple[str, str]], params: list[str]) -> None:
        self.name = name
        self.stages = stages
        #: The names of the parameters.
        self.params = params

    @property
    def kernel_source(self) -> str:
        """LLVM's IR for the CPU; tile IR for the reference interpreter."""
        texts = dict(self.stages)
        return texts.get("llvm", self.stages[-1][1] if self.stages else "")

    def __repr__(self) -> str:
        return f"<lowered kernel {self.name}>"


def lower(
    func: PrimFunc,
    target: object = None,
    target_host: object = None,
    runtime_only: bool = False,
    enable_host_codegen: bool = False,
    enable_device_compile: bool = False,
) -> CompiledArtifact:
    """Lowers a kernel for a target; CompileError with all its errors."""
    if not hasattr(func, "capture"):
        from .jit_factory import what_it_is

        raise TypeError(f"expected a kernel (@T.prim_func) but got {what_it_is(func)}")
    options = Options(target)
    with tracing_for(options.target):
        captured = func.capture()
    stages = stages_of(captured, options)
    return CompiledArtifact(captured.name, stages, list(captured.parameters))


def _postproc(what: str) -> Callable[..., Any]:
    def register(func: Any = None, override: bool = True) -> Any:
        remark(f"tilelang.{what} has no effect: kernels for the CPU are not compiled from source")
        return func if func is not None else lambda function: function

    register.__name__ = what
    register.__doc__ = "Accepted: there is no source code here that a function could change."
    return register


register_cuda_postproc = _postproc("register_cuda_postproc")
register_hip_postproc = _postproc("register_hip_postproc")
register_c_postproc = _postproc("register_c_postproc")
# The names that the newest releases have for them.
register_cuda_postproc_callback = register_cuda_postproc
register_hip_postproc_callback = register_hip_postproc
register_c_postproc_callback = register_c_postproc
