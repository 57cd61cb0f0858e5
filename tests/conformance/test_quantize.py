# SPDX-License-Identifier: Apache-2.0
"""`tvm.tir` and `tilelang.quantize` in functions that kernels call to unpack numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright import quantize, tir
from tilewright.language.values import LanguageError


def unpacks(word, count, dtype, convert):
    """A kernel that stores each of the `count` numbers of each word."""

    @T.prim_func
    def kernel(A: T.Tensor((16,), word), B: T.Tensor((16 * count,), dtype)):
        with T.Kernel(1, threads=16):
            tile = T.alloc_fragment((16,), word)
            T.copy(A, tile)
            for i in T.Parallel(16 * count):
                B[i] = convert(tile[i // count], i % count)

    return kernel


BYTES = np.random.default_rng(5).integers(0, 256, 16, dtype=np.uint8)
NIBBLES = np.stack([BYTES & 15, BYTES >> 4], -1).ravel()
PAIRS = np.stack([BYTES >> 2 * n & 3 for n in range(4)], -1).ravel()
SIGNED = np.where(NIBBLES > 7, NIBBLES.astype(np.int8) - 16, NIBBLES).astype(np.int8)
POWERS = np.where(NIBBLES & 7, 2.0 ** ((NIBBLES & 7).astype(int) - 7), 0) * (
    1 - 2.0 * (NIBBLES >> 3)
)


def of_two_complement(word, place):
    """As public kernels write it for themselves."""
    assert word.dtype == "uint8"
    mask = tir.const(15, "uint8")
    bits = (word >> (place.astype("uint8") * tir.const(4, "uint8"))) & mask
    return tir.reinterpret("int8", bits << tir.const(4, "uint8")) >> tir.const(4, "int8")


def chooses(word, place):
    is_first = tir.all(place == 0, word >= 0)
    return tir.if_then_else(tir.any(is_first, tir.Not(place == 1)), word & 15, word >> 4)


CASES = {
    "unsigned": ("uint8", 2, "int8", quantize._tir_packed_to_unsigned_convert(), NIBBLES),
    "two bits": ("uint8", 4, "float16", quantize._tir_packed_to_unsigned_convert(), PAIRS),
    "signed": ("int8", 2, "int8", quantize._tir_packed_int_to_int_convert("int"), SIGNED),
    "shifted": (
        "uint8", 2, "float32", quantize._tir_packed_to_signed_convert(), NIBBLES.astype(int) - 8
    ),
    "powers": ("uint8", 2, "float16", quantize._tir_packed_to_fp4_to_f16(), POWERS),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_packed_numbers(agree, name):
    word, count, dtype, convert, expected = CASES[name]
    bits = 8 // count
    kernel = unpacks(word, count, dtype, lambda w, at: convert(bits, w, at, dtype))
    agree(kernel, [BYTES.view(word), np.zeros(16 * count, dtype)], {1: expected.astype(dtype)}, 0)


@pytest.mark.parametrize(
    ("convert", "dtype", "expected"),
    [(of_two_complement, "int8", SIGNED), (chooses, "uint8", NIBBLES)],
)
def test_names_of_tir(agree, convert, dtype, expected):
    kernel = unpacks("uint8", 2, dtype, convert)
    agree(kernel, [BYTES, np.zeros(32, dtype)], {1: expected}, 0)


@pytest.mark.parametrize("scale", [0, 3, 127])
def test_scaled_numbers_of_bfloat16(agree, scale):
    """A sign, two bits of exponent, one of mantissa; 0 is no number of its own, as in TileLang."""
    kernel = unpacks(
        "uint8",
        2,
        "bfloat16",
        lambda w, at: quantize._tir_u8_to_f4_to_bf16(4, w, at, T.uint16(scale), "bfloat16"),
    )
    code = NIBBLES.astype(int)
    exponent = (code >> 1 & 3) - 1 + scale
    value = np.where(code & 8, -1.0, 1.0) * (1 + (code & 1) / 2) * 2.0 ** np.minimum(exponent, 127)
    infinite = np.where(code & 1, np.nan, np.copysign(np.inf, value))  # all bits of the exponent
    expected = np.where(exponent >= 128, infinite, value).astype(ml_dtypes.bfloat16)
    output = np.zeros(32, ml_dtypes.bfloat16)
    agree(kernel, [BYTES, output], {1: expected}, 0)


def test_zero_points_and_float8(agree):
    with_zeros = quantize._tir_packed_to_unsigned_convert_with_zeros("int")

    @T.prim_func
    def kernel(
        A: T.Tensor((16,), "int8"), B: T.Tensor((32,), "int8"), C: T.Tensor((16,), "float16")
    ):
        with T.Kernel(1, threads=16):
            for i in T.Parallel(32):
                B[i] = with_zeros(4, A[i // 2], i % 2, T.int8(3), "int8")
            for i in T.Parallel(16):
                C[i] = quantize._tir_u8_to_f8_e4m3_to_f16(8, A[i], "float16")

    codes = BYTES & 0x77
    packed = codes.view(np.int8)
    exponent, mantissa = (codes >> 3).astype(int), codes & 7
    values = np.where(exponent, (8 + mantissa) * 2.0 ** (exponent - 10), mantissa * 2.0**-9)
    nibbles = np.stack([codes & 15, codes >> 4], -1).ravel().astype(np.int8)
    arguments = [packed, np.zeros(32, np.int8), np.zeros(16, np.float16)]
    agree(kernel, arguments, {1: nibbles - 3, 2: values.astype(np.float16)}, 0)


@pytest.mark.parametrize(
    ("word", "bits", "dtype"),
    [("uint32", 4, "float16"), ("uint32", 32, "float32"), ("uint8", 4, "float32"),
     ("uint16", 2, "int32")],
)  # fmt: skip
def test_numbers_below_their_zero_point_are_negative(agree, random, word, bits, dtype):
    with_zeros = quantize._tir_packed_to_unsigned_convert_with_zeros("uint", int(word[4:]))
    count = int(word[4:]) // bits

    @T.prim_func
    def kernel(A: T.Tensor((16,), word), Z: T.Tensor((16,), word), S: T.Tensor((16,), "float16"),
               B: T.Tensor((3, 16 * count), dtype)):  # fmt: skip
        with T.Kernel(1, threads=16):
            for i in T.Parallel(16 * count):
                B[0, i] = with_zeros(bits, A[i // count], i % count, Z[i // count], dtype)
                B[1, i] = with_zeros(bits, A[i // count], i % count, 2, dtype)
                if bits == 4:  # a difference of float16
                    B[2, i] = with_zeros(bits, A[i // count], i % count, S[i // count], dtype)

    words = random.integers(0, 1 << int(word[4:]), 16, dtype=word)
    zeros = random.integers(0, 1 << bits, 16, dtype=word)
    halves = (zeros % 16 + 0.5).astype(np.float16)
    fields = [words >> bits * n & ((1 << bits) - 1) for n in range(count)]
    numbers = np.stack(fields, -1).ravel().astype(np.int64)
    per_word = [numbers - zeros.repeat(count), numbers - 2, numbers - halves.repeat(count)]
    if bits != 4:
        per_word[2] = np.zeros(16 * count)
    expected = np.stack(per_word).astype(dtype)
    output = np.zeros((3, 16 * count), dtype)
    agree(kernel, [words, zeros, halves, output], {3: expected})


def test_functions_of_gpus():
    """Importable and callable, as scripts choose later which way to go; a kernel can't use them."""
    found = quantize.get_lop3_intrin_group("float16", source_bit=4, storage_dtype="int8")
    assert found["func_name"] and quantize.get_mxfp_intrin_group(out_dtype="bfloat16")["c_source"]

    @T.prim_func
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            T.import_source(found["c_source"])
            A[0] = 1

    with pytest.raises(
        tilewright.CompileError,
        match="unpacks numbers by instructions of GPUs: unpack "
        "each one in a T.Parallel loop, as tilelang.quantize._tir_packed_to_unsigned_convert does",
    ):
        tilewright.compile(kernel, target="reference")
    with pytest.raises(TypeError, match="the packed numbers are of uint8 but int8 was expected"):
        unpacks("uint8", 2, "int8", lambda w, at: CASES["signed"][3](4, w, at, "int8")).capture()


def test_what_is_unpacked_in_one_way_only():
    convert = quantize._tir_packed_to_fp4_to_f16()
    with pytest.raises(LanguageError, match="_tir_packed_to_fp4_to_f16 of 4 bits to float32"):
        convert(4, None, 0, "float32")
    with pytest.raises(LanguageError, match="_tir_u8_to_f8_e4m3_to_f16 of 4 bits to float16"):
        quantize._tir_u8_to_f8_e4m3_to_f16(4, None, "float16")
    with pytest.raises(LanguageError, match="_tir_u8_to_f4_to_bf16 of 4 bits to float16"):
        quantize._tir_u8_to_f4_to_bf16(4, None, None, 0, "float16")
    with pytest.raises(LanguageError, match="tilelang.quantize.interleave_weight unpacks"):
        quantize.interleave_weight(None)
    with pytest.raises(AttributeError, match="tvm.tir has no 'conts' here; did you mean 'const'?"):
        tir.conts  # noqa: B018
    number = tir.IntImm("int8", 3), tir.FloatImm("float16", 1), tir.const(True), tir.const(2.0)
    assert [n.operands for n in number] == [
        (3, "int8"), (1.0, "float16"), (True, "bool"), (2.0, "float32")
    ]  # fmt: skip
    assert tir.StringImm("x") == "x" and tir.exp is T.exp


def test_packing_of_tensors():
    torch = pytest.importorskip("torch")
    numbers = torch.arange(-8, 8, dtype=torch.int8).reshape(2, 8)
    packed = quantize.general_compress(numbers, 4)
    assert packed.dtype == torch.int8 and packed.shape == (2, 4)
    assert ((packed[0, 0] & 15) - 16, packed[0, 0] >> 4) == (-8, -7)
    weights, linear, scales, integers = quantize.gen_quant4(8, 4, groupsize=4)
    assert (weights.shape, scales.shape) == ((8, 4), (2, 4)) and linear.weight.shape == (4, 8)
    assert int(integers.min()) >= -8 and int(integers.max()) <= 8
