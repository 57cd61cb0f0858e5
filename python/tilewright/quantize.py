# SPDX-License-Identifier: Apache-2.0
"""`tilelang.quantize`: numbers of few bits in larger words, as kernels unpack them and scripts pack
them.

`_tir_packed_...(kind, bits)` makes a conversion for words of that dtype. A kernel calls it with the
bits of a number, a word, the number's position in it (the lowest bits first) and the dtype wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from .language.gpu_only import GpuSource
from .language.math_ops import Select, cast, reinterpret
from .language.math_ops import min as minimum
from .language.values import unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    Conversion = Callable[[int, Any, Any, Any], Any]


def _check_word(word: Any, dtype: str) -> None:
    if str(word.dtype) != dtype:
        raise TypeError(f"the packed numbers are of {word.dtype} but {dtype} was expected")


def _field(word: Any, position: Any, bits: int, dtype: str) -> Any:
    """The number at a position, without its sign."""
    shift = cast(position, dtype) * cast(bits, dtype)
    return (word >> shift) & cast((1 << bits) - 1, dtype)


def _tir_packed_to_unsigned_convert(
    storage_type: str = "uint", storage_nbit: int = 8
) -> Conversion:
    """Unsigned numbers."""
    storage = f"{storage_type}{storage_nbit}"

    def convert(nbit: int, val: Any, pos: Any, dtype: Any) -> Any:
        _check_word(val, storage)
        return cast(_field(val, pos, nbit, storage), dtype)

    return convert


def _tir_packed_to_unsigned_convert_with_zeros(
    storage_type: str = "uint", storage_nbit: int = 8
) -> Callable[[int, Any, Any, Any, Any], Any]:
    """Unsigned numbers from which a zero point is taken; what is below it is negative."""
    storage = f"{storage_type}{storage_nbit}"

    def convert(nbit: int, val: Any, pos: Any, zero: Any, dtype: Any) -> Any:
        _check_word(val, storage)
        signed = "int32" if storage_nbit < 32 or nbit < 32 else "int64"
        whole = isinstance(zero, int) or "int" in str(getattr(zero, "dtype", ""))
        number = cast(_field(val, pos, nbit, storage), signed)
        return cast(number - (cast(zero, signed) if whole else zero), dtype)

    return convert


def _tir_packed_to_signed_convert(storage_type: str = "uint", storage_nbit: int = 8) -> Conversion:
    """Numbers that are stored with half of their range added."""
    storage = f"{storage_type}{storage_nbit}"

    def convert(nbit: int, val: Any, pos: Any, dtype: Any) -> Any:
        _check_word(val, storage)
        return cast(_field(val, pos, nbit, storage), dtype) - cast(1 << (nbit - 1), dtype)

    return convert


def _tir_packed_int_to_int_convert(storage_type: str = "uint", storage_nbit: int = 8) -> Conversion:
    """Numbers in two's complement."""
    storage = f"{storage_type}{storage_nbit}"

    def convert(nbit: int, val: Any, pos: Any, dtype: Any) -> Any:
        _check_word(val, storage)
        unsigned = cast(_field(val, pos, nbit, storage), "int32")
        rest = cast(32 - nbit, "int32")
        return cast((unsigned << rest) >> rest, dtype)

    return convert


def _tir_packed_to_fp4_to_f16(storage_type: str = "uint", storage_nbit: int = 8) -> Conversion:
    """Floats of a sign and an exponent e of 3 bits: 2 to the power of e - 7, or 0 for e = 0."""
    storage = f"{storage_type}{storage_nbit}"

    def convert(nbit: int, val: Any, pos: Any, dtype: Any) -> Any:
        if nbit != 4 or str(dtype) != "float16":
            raise unsupported(f"_tir_packed_to_fp4_to_f16 of {nbit} bits to {dtype}")
        _check_word(val, storage)
        bits = cast(_field(val, pos, nbit, storage), "uint16")
        exponent = bits & cast(7, "uint16")
        sign = (bits >> cast(3, "uint16")) << cast(15, "uint16")
        number = reinterpret(sign | ((exponent + cast(8, "uint16")) << cast(10, "uint16")), dtype)
        return Select(exponent == cast(0, "uint16"), cast(0, dtype), number)

    return convert


def _tir_u8_to_f8_e4m3_to_f16(nbit: int, val: Any, dtype: Any) -> Any:
    """The float8_e4m3fn of these bits."""
    if nbit != 8 or str(dtype) != "float16":
        raise unsupported(f"_tir_u8_to_f8_e4m3_to_f16 of {nbit} bits to {dtype}")
    return cast(reinterpret(cast(val, "uint8"), "float8_e4m3fn"), dtype)


def _tir_u8_to_f4_to_bf16(nbit: int, val: Any, pos: Any, scale: Any, dtype: Any) -> Any:
    """A number of a sign, an exponent e of 2 bits and one m of the mantissa, from a byte of two:
    (1 + m / 2) * 2 to the power of e - 1 + scale, also for e = 0, as TileLang's kernels and their
    references have it; the exponent ends at infinity. `scale` is an integer of 16 bits."""
    if nbit != 4 or str(dtype) != "bfloat16":
        raise unsupported(f"_tir_u8_to_f4_to_bf16 of {nbit} bits to {dtype}")
    _check_word(val, "uint8")
    bits = cast(_field(val, pos, nbit, "uint8"), "uint16")
    moved = ((bits >> cast(1, "uint16")) & cast(3, "uint16")) + cast(126, "uint16")
    moved = minimum(moved + cast(scale, "uint16"), cast(255, "uint16"))
    sign = (bits >> cast(3, "uint16")) << cast(15, "uint16")
    mantissa = (bits & cast(1, "uint16")) << cast(6, "uint16")
    return reinterpret(sign | (moved << cast(7, "uint16")) | mantissa, dtype)


def _of_gpus(name: str) -> dict[str, str]:
    text = GpuSource(name)
    return {"func_name": text, "c_source": text}


def get_lop3_intrin_group(*choices: object, **named: object) -> dict[str, str]:
    """A GPU's function that unpacks integers; a kernel that calls it is refused."""
    return _of_gpus("get_lop3_intrin_group")


def get_mxfp_intrin_group(*choices: object, **named: object) -> dict[str, str]:
    """A GPU's function that unpacks floats; a kernel that calls it is refused."""
    return _of_gpus("get_mxfp_intrin_group")


def general_compress(
    lowprecision_weight: Any, source_bits: int = 4, storage_dtype: Any = None
) -> Any:
    """Numbers of `source_bits` bits of a torch tensor in bytes, the first one lowest."""
    import torch

    count, mask = 8 // source_bits, (1 << source_bits) - 1
    numbers = lowprecision_weight.to(torch.int32) & mask
    groups = numbers.reshape(*numbers.shape[:-1], numbers.shape[-1] // count, count)
    shifts = torch.arange(count, dtype=torch.int32, device=numbers.device) * source_bits
    packed = (groups << shifts).sum(-1).to(torch.uint8).view(torch.int8)
    return packed.to(torch.int8 if storage_dtype is None else storage_dtype)


def interleave_weight(*arguments: object, **named: object) -> NoReturn:
    """Refuses: only functions of GPUs read numbers in that order."""
    GpuSource("interleave_weight").refuse()


def gen_quant4(k: int, n: int, groupsize: int = -1) -> tuple[Any, Any, Any, Any]:
    """Random weights of k times n, each group of rows in 4 bits: the weights, a linear layer of the
    quantized ones, the scales and the integers."""
    import torch

    rows = k if groupsize == -1 else groupsize
    weights = torch.randn((k, n), dtype=torch.half)
    grouped = weights.reshape(-1, rows, n)
    scales = grouped.abs().amax(1, keepdim=True) / 8
    integers = torch.clamp((grouped / scales).round().int() + 8, 0, 16) - 8
    linear = torch.nn.Linear(k, n, bias=False)
    linear.weight.data = (integers.half() * scales).reshape(k, n).t()
    return weights, linear, scales.reshape(-1, n), integers.reshape(k, n)
