# SPDX-License-Identifier: Apache-2.0
"""The decorators of the language: @T.prim_func and @T.macro."""

from __future__ import annotations

import sys

from ..capture.definition import as_defined
from ..captured_state import CapturedState
from .dtypes import is_dtype, to_dtype
from .values import LanguageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, FunctionType
    from typing import Any

    from ..capture.kernel import CapturedKernel


class Parameter:
    """A parameter of a kernel, as scripts ask TVM for it: its `name` and its `dtype`."""

    def __init__(self, name: str, annotation: Any) -> None:
        is_number = is_dtype(annotation)
        self.dtype = str(to_dtype(annotation)) if is_number else "handle"
        self.name = name if is_number else f"{name}_handle"
        self.annotation = annotation

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameter) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class PrimFunc:
    """A kernel as written; captured on first use."""

    def __init__(self, function: FunctionType, names: dict[str, Any]) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        #: Local names of where it was defined, for annotations that are strings.
        self.names = names
        #: The arguments of the factory that made it, by name: messages name them.
        self.arguments: dict[str, Any] = {}
        self._captured: CapturedKernel | None = None
        #: What it was made from.
        self._state: CapturedState | None = None

    def capture(self, compiler: Any = None) -> CapturedKernel:
        """The kernel as tile IR, anew if what it reads outside itself has changed; raises
        CompileError with all messages."""
        is_old = self._state is None or not self._state.holds()
        if self._captured is None or is_old or compiler is not None:
            self._state = CapturedState(self.function)
            self._captured = self._trace(compiler)
        return self._captured

    def _trace(self, compiler: Any) -> CapturedKernel:
        from ..capture.kernel import capture_kernel

        if _may_declare_itself(self.function):
            from ..eager import LazyCall, declares_itself

            if declares_itself(self.function):
                return LazyCall(self).capture(compiler)
        return capture_kernel(self, compiler)

    @property
    def params(self) -> list[Parameter]:
        """Its parameters in order, under TVM's names: `A_handle` of a tensor A."""
        from ..kernel import WORKSPACE

        annotations = self.function.__annotations__
        names = [n for n in self.capture().parameters if not n.startswith(WORKSPACE)]
        return [Parameter(name, annotations.get(name)) for name in names]

    @property
    def buffer_map(self) -> dict[Parameter, Any]:
        """What was written of each parameter that is no number."""
        return {param: param.annotation for param in self.params if param.dtype == "handle"}

    def script(self) -> str:
        """The tile IR as text."""
        return str(self.capture().module.text())

    def show(self) -> None:
        sys.stdout.write(self.script() + "\n")

    def __call__(self, *args: object, **keywords: object) -> None:
        raise LanguageError(
            f"kernel {self.__name__!r} can't be called; compile it with tilelang.compile or "
            "@tilelang.jit"
        )

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


def _may_declare_itself(function: FunctionType) -> bool:
    """A quick look without the source for what `declares_itself` tells."""
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return "empty" in code.co_names or any(n not in function.__annotations__ for n in parameters)


def _definition_names(function: FunctionType, frame: FrameType | None) -> dict[str, Any]:
    """The caller's local names where annotations are strings; nothing is kept otherwise."""
    has_strings = any(isinstance(a, str) for a in function.__annotations__.values())
    return dict(frame.f_locals) if has_strings and frame is not None else {}


def prim_func(
    func: FunctionType | None = None,
    *,
    private: bool = False,
    check_well_formed: bool = False,
    generator: bool = False,
) -> Any:
    """Makes a function a kernel of the tile language. With `generator`, it makes kernels for the
    tensors that it is called with: their shapes give its `T.const`."""
    frame = sys._getframe(1)
    if generator:
        from ..jit_factory import KernelMaker

        return KernelMaker if func is None else KernelMaker(func)
    if func is not None:
        return _prim_func(func, frame)
    return lambda function: _prim_func(function, frame)


def _prim_func(func: FunctionType, frame: FrameType) -> PrimFunc:
    if not hasattr(func, "__code__"):
        from ..capture.functions import NestedFunction

        if isinstance(func, NestedFunction):
            raise LanguageError("a kernel inside a kernel is not supported", "unsupported")
        what = "a kernel" if isinstance(func, PrimFunc) else f"{func!r}"
        raise LanguageError(f"@T.prim_func needs a function defined with 'def' but got {what}")
    return PrimFunc(as_defined(func), _definition_names(func, frame))


def macro(func: FunctionType | None = None, hygienic: bool = True) -> Any:
    """Makes a function a macro: it is inlined, with its own names, wherever a kernel calls it."""
    if func is None:
        return macro
    if not hasattr(func, "__code__"):
        return func  # defined inside a kernel: inlined already
    from ..capture.functions import InlinedFunction

    return InlinedFunction(func)
