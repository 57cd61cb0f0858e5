# SPDX-License-Identifier: Apache-2.0
"""What stands in the signature of a kernel: tensors, scalars, and symbols for dynamic shapes."""

from __future__ import annotations

from .dtypes import is_dtype, to_dtype
from .values import LanguageError, Symbol, Traced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class TensorAnnotation:
    """A tensor argument. `strides` (in elements) is None for row-major. `dtype` may be one that
    there is not: the kernel that declares the argument says so, with its other errors."""

    __slots__ = ("shape", "dtype", "strides", "scope")

    def __init__(
        self, shape: tuple[Any, ...], dtype: object, strides: tuple[Any, ...] | None, scope: str
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        self.scope = scope

    def __repr__(self) -> str:
        return f"T.Tensor({self.shape}, {str(self.dtype)!r})"


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _dtype_if_known(value: object) -> object:
    try:
        return to_dtype(value)
    except (TypeError, ValueError):
        return value


class _TensorType:
    """`T.Tensor((M, N), dtype)`, `T.Tensor[[M, N], dtype]`, `T.Tensor[(M, N), dtype]`."""

    def __init__(self, scope: str) -> None:
        self._scope = scope

    def __call__(
        self,
        shape: Any,
        dtype: Any = "float32",
        data: Any = None,
        scope: str | None = None,
        strides: Any = None,
    ) -> Any:
        if isinstance(shape, int) and isinstance(dtype, int):
            raise LanguageError(
                f"T.Tensor takes its shape as one argument: ({shape}, {dtype}), not {shape}, "
                f"{dtype}",
                python=TypeError,
            )
        if data is not None:  # in a kernel: another view of a buffer's memory
            from .memory import view

            return view(data, shape, dtype)
        if isinstance(dtype, PointerAnnotation):  # a table of addresses
            dtype = "int64"
        return TensorAnnotation(
            _tuple(shape),
            _dtype_if_known(dtype),
            None if strides is None else _tuple(strides),
            scope or self._scope,
        )

    def __getitem__(self, key: Any) -> TensorAnnotation:
        parts = list(key) if isinstance(key, tuple) else [key]
        last = parts[-1]
        is_listed = len(parts) == 2 and isinstance(parts[0], (tuple, list))
        is_named = isinstance(last, str) or is_dtype(last) or last is ptr
        is_typed = is_listed or (len(parts) > 1 and is_named)
        dtype = parts.pop() if is_typed else "float32"
        shape = parts[0] if len(parts) == 1 else tuple(parts)
        made: TensorAnnotation = self(shape, dtype)
        return made

    def __repr__(self) -> str:
        return "T.Tensor"


Tensor = _TensorType("global")
Buffer = Tensor
SharedBuffer = _TensorType("shared")
FragmentBuffer = _TensorType("fragment")
LocalBuffer = _TensorType("local")


class _StridedTensorType:
    """A tensor argument with the given strides, in elements: `T.StridedTensor((M, N), (S, 1),
    dtype)` or `T.StridedTensor[[M, N], [S, 1], dtype]`."""

    def __call__(self, shape: Any, strides: Any, dtype: Any = "float32") -> TensorAnnotation:
        annotation: TensorAnnotation = Tensor(shape, dtype, strides=strides)
        if annotation.strides is None or len(annotation.shape) != len(annotation.strides):
            raise LanguageError(
                f"{len(_tuple(strides))} strides for {len(_tuple(shape))} dimensions"
            )
        return annotation

    def __getitem__(self, key: Any) -> TensorAnnotation:
        if not isinstance(key, tuple) or len(key) not in (2, 3):
            raise LanguageError(
                "T.StridedTensor[...] needs a shape, strides and a dtype, as in "
                "T.StridedTensor[[M, N], [S, 1], dtype]",
                python=TypeError,
            )
        return self(*key)

    def __repr__(self) -> str:
        return "T.StridedTensor"


StridedTensor = _StridedTensorType()


class PointerAnnotation:
    """`T.ptr`: an argument that is an address; a tensor may be passed for it, of `dtype` if that
    is given. How its elements lie in memory is up to the kernel."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: Any = None) -> None:
        is_any = dtype is None or (isinstance(dtype, str) and dtype in ("handle", "void"))
        # A tensor that is read as vectors holds their elements.
        self.dtype = None if is_any else to_dtype(dtype).scalar

    def __call__(self, dtype: Any = None, storage_scope: str = "global") -> PointerAnnotation:
        return PointerAnnotation(dtype)

    def __repr__(self) -> str:
        return "T.ptr" if self.dtype is None else f"T.ptr({str(self.dtype)!r})"


ptr = PointerAnnotation()


class HandleAnnotation:
    """`T.handle`: an argument that `T.match_buffer` declares."""

    __slots__ = ()


handle = HandleAnnotation()


class Ref:
    """Annotates a parameter of a macro that is passed by reference."""


def _names(names: str) -> list[str]:
    found = names.replace(",", " ").split() if isinstance(names, str) else []
    if not found or not all(name.isidentifier() for name in found):
        raise ValueError(f"{names!r} is not a list of names")
    return found


def dynamic(name: str, dtype: Any = "int32") -> Any:
    """Integers that are bound from the shapes of the arguments at each call; one per name."""
    symbols = [Symbol(n, str(to_dtype(dtype))) for n in _names(name)]
    return symbols[0] if len(symbols) == 1 else tuple(symbols)


symbolic = dynamic


class _Variables(type):
    """Values of no known number, whatever class they are of."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (Symbol, Traced))

    def __call__(cls, name: str = "v", dtype: Any = "int32", span: object = None) -> Symbol:
        return Symbol(name, str(to_dtype(dtype)))


class Var(metaclass=_Variables):
    """TVM's class of variables: `T.Var("n", "int32")` is `T.dynamic("n")`, and
    `isinstance(n, T.Var)` asks whether n is a number that isn't known yet."""


class _DynamicNames:
    """`T.dyn["M"]` and `T.dyn.M`."""

    def __getitem__(self, name: str) -> Any:
        return dynamic(name)


dyn = _DynamicNames()


def const(name: str, dtype: Any = "int32") -> Any:
    """Numbers that are compiled into an eager kernel: integers, read off the tensors of each call,
    or what the keyword of that name gives."""
    from ..capture.kernel import current_signature

    values = [current_signature("T.const").constant(each) for each in _names(name)]
    return values[0] if len(values) == 1 else tuple(values)
