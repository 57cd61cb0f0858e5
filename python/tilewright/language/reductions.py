# SPDX-License-Identifier: Apache-2.0
"""Reductions and scans of tiles, in the forms of TileLang, TileLang-Ascend and seed 004.

After the dim, positional arguments are told apart by their type: a bool is `clear`, a list is
`real_shape`, another integer is `batch`. A third buffer is scratch memory, which isn't needed: of
the two before it the larger is the source; where they are alike they are seed 004's `(dst, src)`.
"""

from __future__ import annotations

import math

from ..capture.tracer import current, guarded_by_poison
from .tile import is_tile
from .values import LanguageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _meant(key: str) -> str:
    """The argument that is nearest to an unknown one, and all of them."""
    from ..suggestions import which_exist

    known = ["dim", "clear", "real_shape", "batch", "nan_propagate", "tmp"]
    return which_exist(key, known, "dim" if key == "axis" else "")


_KINDS = ("sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor")


class _Options:
    """The arguments of a reduction besides its tiles."""

    def __init__(self, name: str, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.clear: Any = True
        self.real_shape: Any = None
        self.attributes: dict[str, Any] = {}
        for value in positional:
            if isinstance(value, bool):
                self.clear = value
            elif isinstance(value, (list, tuple)):
                self.real_shape = value
            elif isinstance(value, int):
                self._keep("batch", value)
            elif value is not None:
                raise LanguageError(
                    f"T.{name} takes clear (a bool) and real_shape (a list) after dim, "
                    f"not {type(value).__name__}"
                )
        for key, value in named.items():
            if key in ("clear", "real_shape"):
                setattr(self, key, value)
            elif key in ("batch", "nan_propagate"):
                self._keep(key, value)
            elif key == "tmp" and (value is None or is_tile(value)):
                pass  # scratch memory
            elif key == "tmp":
                raise LanguageError(
                    f"tmp of T.{name} is a tile of scratch memory, not {type(value).__name__}"
                )
            else:
                raise LanguageError(f"T.{name} has no argument {key!r}{_meant(key)}")

    def _keep(self, key: str, value: Any) -> None:
        if value not in (False, 1) or value is True:
            self.attributes[key] = value


def _build(kind: str, buffer: Any, out: Any, dim: Any, options: _Options) -> None:
    tracer = current()
    source = tracer.operand(buffer, f"the source of T.reduce_{kind}")
    target = tracer.operand(out, f"the target of T.reduce_{kind}")
    (number,) = tracer.integers([dim], f"the dim of T.reduce_{kind}")
    extents = [tracer.index(extent) for extent in options.real_shape or ()]
    attributes = tracer.attributes(options.attributes)
    more = (extents,) if extents else ()
    tracer.builder.reduce(kind, source, target, number, bool(options.clear), attributes, *more)


@guarded_by_poison
def reduce(
    buffer: Any, out: Any, reduce_type: str, dim: int = -1, *extras: Any, **named: Any
) -> None:
    """Reduces one dimension of `buffer` into `out`; `clear=False` combines with what it holds.

    `reduce_type` is sum, max, min, abssum, absmax, bitand, bitor or bitxor. With `real_shape` only
    the first elements of the last dims take part. After `dim` come clear, real_shape, batch and
    nan_propagate.
    """
    if reduce_type not in _KINDS:
        instead = "; for a mean, divide what T.reduce_sum gives" * (reduce_type == "mean")
        raise LanguageError(
            f"there is no reduction {reduce_type!r}; there are: {', '.join(_KINDS)}{instead}"
        )
    _build(reduce_type, buffer, out, dim, _Options("reduce", extras, named))


def _is_larger(one: Any, other: Any) -> bool:
    """By numbers of elements; by dims where those are not all known."""
    both = one.shape, other.shape
    if all(isinstance(extent, int) for shape in both for extent in shape):
        return bool(math.prod(one.shape) > math.prod(other.shape))
    return bool(len(one.shape) > len(other.shape))


def _reduction(kind: str, what: str) -> Callable[..., None]:
    @guarded_by_poison
    def function(buffer: Any, out: Any, *extras: Any, **named: Any) -> None:
        if extras and is_tile(extras[0]):
            extras = extras[1:]
            if not (is_tile(buffer) and is_tile(out)) or not _is_larger(buffer, out):
                buffer, out = out, buffer
        dim = named.pop("dim", None)
        if dim is None:
            dim, extras = (extras[0], extras[1:]) if extras else (-1, ())
        _build(kind, buffer, out, dim, _Options(f"reduce_{kind}", extras, named))

    function.__name__ = function.__qualname__ = f"reduce_{kind}"
    function.__doc__ = (
        "(buffer, out, dim=-1, clear=True, real_shape=None, batch=1, nan_propagate=False): "
        f"{what} With `clear=False` what `out` holds takes part."
    )
    return function


reduce_sum = _reduction("sum", "sums along a dim.")
reduce_max = _reduction("max", "maxima along a dim.")
reduce_min = _reduction("min", "minima along a dim.")
reduce_abssum = _reduction("abssum", "sums of magnitudes along a dim.")
reduce_absmax = _reduction("absmax", "maxima of magnitudes along a dim.")
reduce_bitand = _reduction("bitand", "bitwise and along a dim.")
reduce_bitor = _reduction("bitor", "bitwise or along a dim.")
reduce_bitxor = _reduction("bitxor", "bitwise exclusive or along a dim.")


def _scan(kind: str, src: Any, dst: Any, dim: int, reverse: bool) -> None:
    tracer = current()
    source = tracer.operand(src, f"the source of T.cum{kind}")
    target = source if dst is None else tracer.operand(dst, f"the target of T.cum{kind}")
    (number,) = tracer.integers([dim], f"the dim of T.cum{kind}")
    tracer.builder.scan(kind, source, target, number, bool(reverse))


@guarded_by_poison
def cumsum(
    src: Any,
    dst: Any = None,
    dim: int = 0,
    reverse: bool = False,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Running sums along `dim`, in place without `dst`. `annotations` are hints for GPUs."""
    _scan("sum", src, dst, dim, reverse)


@guarded_by_poison
def cummax(
    src: Any,
    dst: Any = None,
    dim: int = 0,
    reverse: bool = False,
    annotations: dict[str, Any] | None = None,
) -> None:
    """Running maxima along `dim`, in place without `dst`. `annotations` are hints for GPUs."""
    _scan("max", src, dst, dim, reverse)
