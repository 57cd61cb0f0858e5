# SPDX-License-Identifier: Apache-2.0
"""The dtypes of the language: names that are also casts and annotations.

`T.float16` is the string "float16" with behaviour: `T.float16(x)` casts, `T.float16.bits` tells the
width, `x: T.float16` declares a scalar argument. Which dtypes exist for a computation and how they
promote is decided by the builder; here are only names and widths.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .values import Operand

ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "uint": "uint32",
    "long": "int64",
    "short": "int16",
    "boolean": "bool",
    "bfloat": "bfloat16",
    "float8_e4m3": "float8_e4m3fn",
    "e4m3_float8": "float8_e4m3fn",
    "e5m2_float8": "float8_e5m2",
}
#: What others call dtypes, where the name is too short to look like ours.
_ELSEWHERE = {
    "fp8": "float8_e4m3fn",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "fp16": "float16",
    "f16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "f32": "float32",
    "fp64": "float64",
    "f64": "float64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
}
_SCALARS = [
    "bool",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float8_e3m4",
    "float8_e4m3b11fnuz",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
    "float4_e2m1_unpacked",
    "tfloat32",
]
_BITS = {"bool": 8, "int4": 4, "uint4": 4, "float4_e2m1fn": 4, "float4_e2m1_unpacked": 8}
_BITS |= {"handle": 64}  # an address
_LANES = (2, 4, 8, 16, 32, 64)
#: TVM's name of a float of 4 bits that has a byte of its own.
_CUSTOM = "custom[float4_e2m1_unpacked]8"


#: All dtypes by their names and aliases.
DTYPES: dict[str, Dtype] = {}


class Dtype(str):
    """The name of a dtype, callable as a cast. Made of a name, or of what `to_dtype` takes."""

    __slots__ = ()

    def __new__(cls, value: object) -> Dtype:
        if not isinstance(value, str):
            return to_dtype(value)
        found = DTYPES.get(value) or _rarer(value)
        if found is None:
            raise _unknown(value)
        return found

    def __call__(self, value: Operand | None = None, *more: Operand) -> Any:
        if value is None:
            return _symbol(self)
        if more:
            from .vectors import vector_made_of

            return vector_made_of(self, [value, *more])
        from .math_ops import cast

        return cast(value, self)

    def __eq__(self, other: object) -> bool:
        """A dtype of torch is equal to its name, too; NumPy's know names themselves."""
        if type(other).__module__ == "torch" and (name := _foreign_name(other)) is not None:
            return str.__eq__(self, DTYPES.get(name, name))
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"T.{self!s}"

    @property
    def lanes(self) -> int:
        return _split(self)[1]

    @property
    def scalar(self) -> Dtype:
        """The dtype of one lane."""
        return Dtype(_split(self)[0])

    @property
    def bits(self) -> int:
        """Bits of one element, all lanes together."""
        scalar, lanes = _split(self)
        if scalar in _BITS:
            return _BITS[scalar] * lanes
        width = scalar.partition("_")[0].lstrip("abcdefghijklmnopqrstuvwxyz")
        return int(width) * lanes

    @property
    def bytes(self) -> int:
        return (self.bits + 7) // 8

    itemsize = bytes

    def as_torch(self) -> Any:
        """The torch dtype of this name; imports torch."""
        import torch

        bytes_ = ["uint4", "float8_e3m4", "float8_e4m3b11fnuz", "float6_e2m3fn", "float6_e3m2fn"]
        bytes_.append("float4_e2m1_unpacked")
        other = {"int4": "int8", "float4_e2m1fn": "float4_e2m1fn_x2", "tfloat32": "float32"}
        other |= dict.fromkeys(bytes_, "uint8")
        return getattr(torch, other.get(self, str(self)))

    @property
    def is_float(self) -> bool:
        return "float" in self

    def is_float4(self) -> bool:
        return is_float4(self)

    def is_float4_e2m1fn(self) -> bool:
        return is_float4_e2m1fn(self)

    def is_float4_e2m1_unpacked(self) -> bool:
        return is_float4_e2m1_unpacked(self)


def _symbol(dtype: Dtype) -> Any:
    """`n = T.int32()`: TVM's way to name an extent, for T.match_buffer, or what T.let gives a
    value."""
    from ..capture.tracer import current_or_none
    from .values import LanguageError, Symbol

    tracer = current_or_none()
    name = None if tracer is None else tracer.take_name("")
    if not name or dtype.lanes > 1:
        raise LanguageError(
            f"T.{dtype!s}() has no value; write T.{dtype!s}(0), or n = T.dynamic('n') for an "
            "integer that is bound from the shapes of the arguments",
            python=TypeError,
        )
    return Symbol(name, str(dtype))


def _split(name: str) -> tuple[str, int]:
    """The scalar and the number of lanes of `float32x4`."""
    scalar, x, lanes = name.rpartition("x")
    return (scalar, int(lanes)) if x and lanes.isdecimal() else (name, 1)


def _named(name: str) -> Dtype:
    return str.__new__(Dtype, name)


def _rarer(name: str) -> Dtype | None:
    """A dtype that T has no name for: vectors of any length, as of bools, and what TVM has."""
    if name == _CUSTOM:
        return DTYPES["float4_e2m1_unpacked"]
    if name == "handle":
        return _named(name)
    scalar, lanes = _split(name)
    if lanes < 1 or scalar == name or scalar not in DTYPES:
        return None
    full = f"{DTYPES[scalar]}x{lanes}"
    return DTYPES.get(full) or _named(full)


def _unknown(name: str) -> ValueError:
    from ..suggestions import did_you_mean

    known = DTYPES if "x" in name else (n for n in DTYPES if "x" not in n)  # vectors, if meant
    meant = _ELSEWHERE.get(name.lower())
    hint = f"; did you mean {meant!r}?" if meant else did_you_mean(name, known)
    return ValueError(f"there is no dtype {name!r}{hint}")


def _all_dtypes() -> dict[str, Dtype]:
    table = {name: _named(name) for name in _SCALARS}
    for name in _SCALARS:
        if name not in ("bool", "float4_e2m1_unpacked"):
            table.update({f"{name}x{n}": _named(f"{name}x{n}") for n in _LANES})
    for alias, name in ALIASES.items():
        table[alias] = table[name]
        if alias == "float8_e4m3":
            table.update({f"{alias}x{n}": table[f"{name}x{n}"] for n in _LANES})
    return table


DTYPES.update(_all_dtypes())


def is_dtype(value: object) -> bool:
    """Whether `value` names a dtype in any of the forms that users write."""
    if isinstance(value, str):
        return value in DTYPES
    return _foreign_name(value) is not None


def _foreign_name(value: object) -> str | None:
    """The name behind a Python type, a torch dtype or a NumPy dtype; never imports either."""
    if isinstance(value, type) and value in (bool, int, float):
        return {bool: "bool", int: "int32", float: "float32"}[value]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.dtype):
        name = str(value).removeprefix("torch.")
        return "float4_e2m1fn" if name == "float4_e2m1fn_x2" else name  # a byte of two of them
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(value, numpy.dtype):
            return str(value.name)
        if isinstance(value, type) and issubclass(value, numpy.generic):
            return str(numpy.dtype(value).name)
    return None


def to_dtype(value: object) -> Dtype:
    """The dtype that a string, a torch or NumPy dtype, a Python type or `T.float16` stands for."""
    if isinstance(value, Dtype):
        return value
    name = value if isinstance(value, str) else _foreign_name(value)
    if name is None:
        hint = "; the dims of a shape are one argument, as in (64, 64)"
        is_dim = isinstance(value, int) and not isinstance(value, bool)
        raise TypeError(f"expected a dtype but got {value!r}{hint if is_dim else ''}")
    dtype = DTYPES.get(name)
    if dtype is None:
        raise _unknown(name)
    return dtype


def _scalar(dtype: object) -> str:
    """The name of one lane of what names a dtype; empty for all else."""
    name = dtype if isinstance(dtype, str) else _foreign_name(dtype)
    return "" if name is None or name not in DTYPES else str(DTYPES[name].scalar)


def is_float4_e2m1fn(dtype: object) -> bool:
    """Whether it is the packed float of 4 bits, or a vector of it; not so what names no dtype."""
    return _scalar(dtype) == "float4_e2m1fn"


def is_float4_e2m1_unpacked(dtype: object) -> bool:
    """Whether it is the float of 4 bits that has a byte of its own, by our name or TVM's."""
    is_custom = isinstance(dtype, str) and dtype == _CUSTOM
    return is_custom or _scalar(dtype) == "float4_e2m1_unpacked"


def is_float4(dtype: object) -> bool:
    """Whether it is a float of 4 bits, packed or not."""
    return is_float4_e2m1fn(dtype) or is_float4_e2m1_unpacked(dtype)


#: TVM's name for it.
DataType = to_dtype
