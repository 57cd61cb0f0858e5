# SPDX-License-Identifier: Apache-2.0
"""`_runtime.Kernel`: what it takes, makes, gives and refuses."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import _runtime
from tilewright.errors import TilewrightWarning
from tilewright.kernel_fixtures import build_library, manifest_of, scalar, symbol_dim, tensor

torch = pytest.importorskip("torch")

ADD = """
const float *x = (const float *)slots[0], *y = (const float *)slots[1];
float *z = (float *)slots[2]; int64_t n = (int64_t)slots[3];
for (int64_t i = b * 64; i < n && i < b * 64 + 64; ++i) z[i] = x[i] + y[i];
"""
ADD_PARAMS = [tensor(name, [symbol_dim(0)]) for name in ("x", "y", "z")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(scope="module")
def add(folder):
    library = build_library(folder, "add", ADD, "((int64_t)slots[3] + 63) / 64, 1, 1")
    return _runtime.Kernel(str(library), manifest_of("add", ADD_PARAMS, symbols=["n"]), [-1])


@pytest.fixture(scope="module")
def nothing(folder):
    """Makes kernels that do nothing, with any parameters."""
    library = str(build_library(folder, "nothing", ";"))

    def make(params, symbols=(), out_idx=()):
        text = manifest_of("nothing", params, symbols=list(symbols))
        return _runtime.Kernel(library, text, list(out_idx))

    return make


def expect(error, message, call, *args, **kwargs):
    """The message's first line; a second one may say it in TileLang's words."""
    with pytest.raises(error, match="^" + re.escape(message) + r"($|\nin TileLang's words: )"):
        call(*args, **kwargs)


def test_tensors_that_require_gradients(nothing):
    """A warning, once, where PyTorch would record them."""
    params = [tensor("x", [4]), tensor("y", [4])]
    x, plain = torch.ones(4, requires_grad=True), torch.ones(4)
    kernel = nothing(params)
    sentence = (
        "nothing: argument 1 'y' requires a gradient, but what a kernel computes has none; "
        "call it under torch.no_grad() or in a torch.autograd.Function"
    )
    with pytest.warns(TilewrightWarning) as caught:
        kernel(plain, x)
    assert [str(warning.message) for warning in caught] == [sentence]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(x, x)
        nothing(params)(plain, plain.numpy())
        with torch.no_grad():
            nothing(params)(x, x)
        with pytest.raises(TilewrightWarning, match="argument 0 'x' requires a gradient"):
            nothing(params)(x, plain)


def test_torch_output_is_torch(add):
    x = torch.arange(1000, dtype=torch.float32)
    z = add(x, 2 * x)
    assert isinstance(z, torch.Tensor)
    np.testing.assert_array_equal(z.numpy(), np.arange(1000) * 3.0)


def test_numpy_output_is_numpy(add):
    x = np.arange(1000, dtype=np.float32)
    z = add(x, 2 * x)
    assert type(z) is np.ndarray
    np.testing.assert_array_equal(z, np.arange(1000) * 3.0)


def test_given_output_is_written_and_returned(add):
    x = torch.ones(7)
    z = torch.zeros(7)
    assert add(x, x, z) is z
    assert z.tolist() == [2.0] * 7


def test_keywords(add):
    x = np.ones(3, np.float32)
    z = np.zeros(3, np.float32)
    assert add(x, z=z, y=x) is z
    assert z.tolist() == [2.0] * 3
    expect(TypeError, "add: has no parameter 'w'; it has: x, y, z", add, x, w=x)
    expect(TypeError, "add: argument 0 'x' is given twice", add, x, x=x)
    expect(TypeError, "add: argument 1 'y' is missing", add, x, z=z)


def test_empty_grid_does_nothing(add):
    assert add(torch.empty(0), torch.empty(0)).shape == (0,)


def test_wrong_number_of_arguments(add, nothing):
    x = torch.ones(3)
    text = "add: takes 2 arguments (x, y), or 3 with the outputs (x, y, z), but "
    expect(TypeError, text + "1 was given", add, x)
    expect(TypeError, text + "4 were given", add, x, x, x, x)
    kernel = nothing([tensor("x", [3])])
    expect(TypeError, "nothing: takes 1 argument (x), but 0 were given", kernel)


def test_no_tensor(add):
    text = "but a tensor was expected (torch, NumPy, or one with __dlpack__)"
    x = torch.ones(3)
    expect(TypeError, f"add: argument 1 'y' is of type list {text}", add, x, [1.0])
    expect(TypeError, f"add: argument 0 'x' is of type numpy.float32 {text}", add, np.float32(1), x)
    text += "; with 3 arguments, the outputs are among them"
    expect(TypeError, f"add: argument 2 'z' is of type float {text}", add, x, x, 0.5)


def test_dtype(add):
    x = torch.ones(3)
    text = "add: argument 1 'y' has dtype {} but float32 was expected"
    expect(ValueError, text.format("float64"), add, x, x.double())
    expect(ValueError, text.format("bfloat16"), add, x, x.bfloat16())
    expect(ValueError, text.format("complex64"), add, x, np.ones(3, np.complex64))
    expect(ValueError, text.format("bool"), add, x, np.ones(3, np.bool_))


def test_rank_and_shape(add, nothing):
    x = torch.ones(4)
    message = "add: argument 1 'y' has 2 dims, shape (2, 2), but 1 dim was expected"
    expect(ValueError, message, add, x, torch.ones(2, 2))
    message = "add: argument 1 'y' has shape (5,) but (n,) was expected at dim 0, where n = 4"
    expect(ValueError, message, add, x, torch.ones(5))
    kernel = nothing([tensor("A", [4, 2]), tensor("B", [1024, 1024])])
    message = "nothing: argument 1 'B' has shape (512, 1024) but (1024, 1024) was expected at dim 0"
    expect(ValueError, message, kernel, torch.ones(4, 2), torch.ones(512, 1024))


def test_symbols_are_solved_from_linear_equations(nothing):
    # A: (m,), B: (m + n,), C: (2*n + 1, k*n): n and k have no dim of their own.
    both = {"const": 0, "terms": [[1, 0], [1, 1]]}
    product = {"product": [2, 1]}
    params = [tensor("C", [symbol_dim(1, 2, 1), product]), tensor("B", [both])]
    kernel = nothing([*params, tensor("A", [symbol_dim(0)])], ["m", "n", "k"])
    kernel(torch.ones(7, 12), torch.ones(8), torch.ones(5))
    message = (
        "nothing: argument 0 'C' has size 8 at dim 0 but 2*n + 1 was expected, which no integer "
        "'n' >= 0 gives"
    )
    expect(ValueError, message, kernel, torch.ones(8, 12), torch.ones(8), torch.ones(5))
    message = (
        "nothing: argument 1 'B' has shape (9,) but (m + n,) was expected at dim 0, where m = 5, "
        "n = 3"
    )
    expect(ValueError, message, kernel, torch.ones(7, 12), torch.ones(9), torch.ones(5))
    # 0 * k == 0 says nothing about k.
    message = (
        "nothing: symbol 'k' can't be found from the shapes and strides of the arguments given"
    )
    expect(ValueError, message, kernel, torch.ones(1, 0), torch.ones(5), torch.ones(5))


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_any_linear_shapes(nothing, data):
    """Shapes made from values of the symbols are accepted; one dim changed is not, unless the
    symbols may have other values."""
    values = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    coefficients = st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values))
    expressions = [([int(i == s) for i in range(len(values))], 0) for s in range(len(values))]
    expressions += data.draw(st.lists(st.tuples(coefficients, st.integers(0, 2)), max_size=4))
    expressions = data.draw(st.permutations(expressions))
    dims = [
        {"const": constant, "terms": [[c, s] for s, c in enumerate(row) if c]}
        for row, constant in expressions
    ]
    sizes = [
        constant + sum(c * value for c, value in zip(row, values, strict=True))
        for row, constant in expressions
    ]
    params = [tensor(f"t{i}", [dim], "int8") for i, dim in enumerate(dims)]
    kernel = nothing(params, [f"s{i}" for i in range(len(values))])
    kernel(*[np.zeros(size, np.int8) for size in sizes])
    changed = data.draw(st.integers(0, len(sizes) - 1))
    sizes[changed] += data.draw(st.integers(1, 3))
    # Every symbol is the size of a tensor, so the sizes are right for those values or for none.
    known = {row.index(1): size for (row, constant), size in zip(expressions, sizes, strict=True)
             if sum(row) == 1 and constant == 0}  # fmt: skip
    right = all(
        size == constant + sum(c * known[s] for s, c in enumerate(row))
        for (row, constant), size in zip(expressions, sizes, strict=True)
    )
    arguments = [np.zeros(size, np.int8) for size in sizes]
    if right:
        kernel(*arguments)
    else:
        with pytest.raises(ValueError, match="^nothing: argument [0-9]+ 't[0-9]+' has "):
            kernel(*arguments)


def test_unfindable_symbol_is_refused_when_loading(nothing):
    both = {"const": 0, "terms": [[1, 0], [1, 1]]}
    message = "nothing: symbol 'm' can't be found from the shapes and strides of the arguments"
    expect(ValueError, message, nothing, [tensor("A", [both])], ["m", "n"])


def test_contiguity(add, nothing):
    x = torch.ones(8)
    message = (
        "add: argument 1 'y' has strides (2,) for shape (8,) but stride 1 was expected at dim 0 "
        "(a contiguous tensor; give a contiguous copy, as .contiguous() makes one, or declare the "
        "parameter as a T.StridedTensor)"
    )
    expect(ValueError, message, add, x, torch.ones(16)[::2])
    # Strides of dims of one element, and of empty tensors, are arbitrary.
    kernel = nothing([tensor("A", [1, 4, 1])])
    kernel(torch.as_strided(torch.ones(100), (1, 4, 1), (77, 1, 13)))
    nothing([tensor("A", [0, 4])])(torch.ones(4, 0).t())


def test_strided_tensor(nothing):
    params = [tensor("A", [4, symbol_dim(0)], strides=[symbol_dim(1), 1])]
    kernel = nothing(params, ["n", "ld"])
    kernel(torch.ones(4, 16)[:, :8])
    kernel(torch.ones(4, 8))
    message = (
        "nothing: argument 0 'A' has strides (16, 2) for shape (4, 8) but stride 1 was expected "
        "at dim 1"
    )
    expect(ValueError, message, kernel, torch.ones(4, 16)[:, ::2])


def test_strided_output_is_not_made(nothing):
    kernel = nothing([tensor("A", [4]), tensor("C", [4], strides=[2])], out_idx=[1])
    message = "nothing: argument 1 'C' has strides of its own, so it can't be made: pass it"
    expect(ValueError, message, kernel, torch.ones(4))


def test_read_only_output(add):
    x = np.ones(3, np.float32)
    z = np.zeros(3, np.float32)
    z.flags.writeable = False
    expect(ValueError, "add: argument 2 'z' is read-only but the kernel writes it", add, x, x, z)
    x.flags.writeable = False
    assert add(x, x).tolist() == [2.0] * 3


def test_alignment(nothing):
    x = torch.ones(64)
    offset = x.data_ptr() % 64 // 4
    aligned = x[(16 - offset) % 16 :]
    kernel = nothing([tensor("A", [4], align=64)])
    kernel(aligned[:4])
    message = (
        "nothing: argument 0 'A' starts 4 bytes past a multiple of 64 but an alignment of 64 bytes "
        "was expected"
    )
    expect(ValueError, message, kernel, aligned[1:5])


def test_outputs_are_aligned_as_wanted(nothing):
    kernel = nothing([tensor("A", [4]), tensor("C", [4], align=64)], out_idx=[1])
    kept = [kernel(np.ones(4, np.float32)) for _ in range(20)]
    assert all(array.ctypes.data % 64 == 0 for array in kept)


def test_none_only_for_unused(nothing):
    kernel = nothing([tensor("A", [4]), tensor("B", [4], used=False)])
    kernel(torch.ones(4), None)
    message = "nothing: argument 0 'A' is None but the kernel uses it"
    expect(ValueError, message, kernel, None, None)


class DeviceTensor:
    """A tensor on a GPU that is not there."""

    def __init__(self, array, device_type):
        self.capsule = array.__dlpack__()
        get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
        get_pointer.restype = ctypes.c_void_p
        get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        device = get_pointer(self.capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)
        ctypes.c_int32.from_address(device).value = device_type

    def __dlpack__(self):
        return self.capsule


def test_device(add):
    x = torch.ones(3)
    message = "add: argument 1 'y' is on device {} but cpu was expected"
    ones = np.ones(3, np.float32)
    expect(ValueError, message.format("cuda:0"), add, x, DeviceTensor(ones, 2))
    expect(ValueError, message.format("DLPack type 8:0"), add, x, DeviceTensor(ones, 8))


class OnlyDlpack:
    """A framework with no more than the array standard."""

    def __init__(self, array, versioned=True):
        self.array = array
        self.versioned = versioned

    def __dlpack__(self, **keywords):
        if keywords and not self.versioned:
            raise TypeError("no max_version")
        return self.array.__dlpack__(**keywords)

    @staticmethod
    def __array_namespace__():
        class Namespace:
            @staticmethod
            def from_dlpack(array):
                return OnlyDlpack(array)

        return Namespace


@pytest.mark.parametrize("versioned", [True, False])
def test_any_framework_with_dlpack(add, versioned):
    x = OnlyDlpack(np.arange(5, dtype=np.float32), versioned)
    z = add(x, x)
    assert type(z) is OnlyDlpack
    assert z.array.tolist() == [0, 2, 4, 6, 8]


class Bare:
    """A tensor that can be read, of which no others can be made."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)


def test_outputs_of_a_framework_without_a_namespace(add):
    x = Bare(np.arange(5, dtype=np.float32))
    message = "add: argument 2 'z' can't be made: "
    message += "Bare has no __array_namespace__ to make it with; pass it"
    expect(ValueError, message, add, x, x)
    z = np.zeros(5, np.float32)
    add(x, x, z)
    assert z.tolist() == [0, 2, 4, 6, 8]


class NoCapsule:
    def __dlpack__(self, **keywords):
        return 3


class Raising:
    def __dlpack__(self, **keywords):
        raise BufferError("lost")


def test_unreadable_tensors(add):
    text = "add: argument 0 'x' can't be read as a tensor: "
    x = np.ones(3, np.float32)
    expect(ValueError, text + "its __dlpack__ gave no DLPack capsule", add, NoCapsule(), x)
    expect(ValueError, text + "lost", add, Raising(), x)
    expect(ValueError, text + "its byte order is swapped", add, x.astype(">f4"), x)
    message = text + "its NumPy dtype 'datetime64[s]' is none of ours"
    expect(TypeError, message, add, x.astype("datetime64[s]"), x)
    packed = np.zeros(3, np.dtype([("a", "f4"), ("b", "u1")]))["a"]
    message = text + "its stride of 5 bytes at dim 0 is no multiple of 4 bytes"
    expect(ValueError, message, add, packed, x)
    deep = np.ones((1,) * 33, np.float32)
    expect(ValueError, text + "it has 33 dims, more than 32", add, deep, x)


def test_torch_tensors_without_memory(add):
    x = torch.ones(3)
    text = "add: argument 0 'x' can't be read as a tensor: Cannot pack tensors on meta"
    expect(ValueError, text, add, torch.empty(3, device="meta"), x)
    with torch._subclasses.fake_tensor.FakeTensorMode():
        fake = torch.ones(3)
    expect(ValueError, "add: argument 0 'x' has no memory (is it a fake tensor?)", add, fake, x)


def test_addresses_of_tensors(nothing):
    """A tensor that stands for its address has memory that a kernel can read."""
    kernel = nothing([scalar("p", "uint64")])
    x = torch.ones(3)
    for taken in (x, np.ones((3, 4))[:, 1], np.uint64(7), torch.nn.Parameter(x)):
        kernel(taken)
    text = "nothing: argument 0 'p' can't be read as a tensor: "
    expect(ValueError, text + "Cannot pack tensors on meta", kernel, torch.empty(3, device="meta"))
    expect(TypeError, text + "its NumPy dtype 'object' is none of ours", kernel, np.ones(3, object))
    gpu = DeviceTensor(np.ones(3, np.float32), 2)
    gpu.data_ptr = lambda: 4096
    expect(
        ValueError, "nothing: argument 0 'p' is on device cuda:0 but cpu was expected", kernel, gpu
    )


def test_parameters_of_a_model(add):
    x = torch.nn.Parameter(torch.ones(3))
    assert add(x, x).tolist() == [2.0] * 3


def test_several_outputs_in_order(nothing):
    params = [tensor("A", [symbol_dim(0)]), tensor("B", [2, symbol_dim(0)]), tensor("C", [3])]
    kernel = nothing(params, ["n"], [2, 1])
    first, second = kernel(torch.ones(4))  # as TileLang's adapters give them
    assert first.shape == (3,)
    assert second.shape == (2, 4)
    assert kernel.out_idx == [2, 1]


def test_no_inputs_makes_torch_outputs_where_torch_is_loaded(nothing):
    assert isinstance(nothing([tensor("C", [3])], out_idx=[0])(), torch.Tensor)


def test_output_dtypes(nothing):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    torch_of = {"float16": torch.float16, "bfloat16": torch.bfloat16, "int8": torch.int8}
    torch_of |= {"bool": torch.bool, "float8_e4m3fn": torch.float8_e4m3fn, "int64": torch.int64}
    numpy_of = {"bfloat16": ml_dtypes.bfloat16, "float8_e5m2": ml_dtypes.float8_e5m2}
    numpy_of |= {"float64": np.float64, "uint16": np.uint16, "bool": np.bool_}
    for dtype, expected in torch_of.items():
        kernel = nothing([tensor("A", [4], dtype), tensor("C", [4], dtype)], out_idx=[1])
        assert kernel(torch.zeros(4, dtype=expected)).dtype == expected
    for dtype, expected in numpy_of.items():
        kernel = nothing([tensor("A", [4], dtype), tensor("C", [4], dtype)], out_idx=[1])
        assert kernel(np.zeros(4, expected)).dtype == expected


def test_float8_with_infinities(nothing):
    """float8_e4m3 of ml_dtypes isn't T.float8_e4m3, which is torch's: 0x78 is inf, not 256."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kernel = nothing([tensor("A", [4], "float8_e4m3fn")])
    kernel(np.zeros(4, ml_dtypes.float8_e4m3fn))
    kernel(torch.zeros(4, dtype=torch.float8_e4m3fn))
    message = "nothing: argument 0 'A' has dtype float8_e4m3 but float8_e4m3fn was expected"
    expect(ValueError, message, kernel, np.zeros(4, ml_dtypes.float8_e4m3))


def test_packed_int4(nothing):
    params = [tensor("A", [3, symbol_dim(0)], "int4"), tensor("C", [3, symbol_dim(0)], "int4")]
    kernel = nothing(params, ["n"], [1])
    packed = torch.zeros(3, 8, dtype=torch.int8)
    made = kernel(packed)
    assert made.dtype == torch.int8
    assert made.shape == (3, 8)
    kernel = nothing([tensor("A", [3, 16], "int4"), tensor("B", [5], "int4")])
    kernel(packed, torch.zeros(3, dtype=torch.uint8))
    message = (
        "nothing: argument 0 'A' has shape (3, 7) but (3, 16) was expected at dim 1 "
        "(2 elements of int4 in a byte, so 8 bytes)"
    )
    expect(ValueError, message, kernel, packed[:, :7].contiguous(), packed[0, :3])
    message = message.replace("(3, 7)", "(3, 16)")  # as many bytes as elements
    expect(ValueError, message, kernel, torch.zeros(3, 16, dtype=torch.int8), packed[0, :3])


def test_impossible_output(nothing):
    big = 1 << 40
    params = [tensor("A", [symbol_dim(0)]), tensor("C", [symbol_dim(0, big), big])]
    message = "nothing: argument 1 'C' would have more than 2^60 elements"
    expect(ValueError, message, nothing(params, ["n"], [1]), torch.ones(4))
    params = [tensor("A", [symbol_dim(0)]), tensor("C", [symbol_dim(0, 1, -5)])]
    message = "nothing: argument 1 'C' would have size n + -5 = -1 at dim 0, where n = 4"
    expect(ValueError, message, nothing(params, ["n"], [1]), torch.ones(4))
    kernel = nothing([tensor("A", [2]), tensor("C", [1 << 55])], out_idx=[1])
    with pytest.raises(MemoryError, match="^nothing: argument 1 'C' can't be made: "):
        kernel(np.ones(2, np.float32))


SCALARS = "int64_t *out = (int64_t *)slots[0]; for (int i = 0; i < 1; ++i) out[i] = slots[1];"


@pytest.fixture(scope="module")
def bits(folder):
    """Gives the bits of a scalar argument of some dtype, as the kernel sees them."""
    library = str(build_library(folder, "bits", SCALARS))

    def make(dtype):
        params = [tensor("out", [1], "int64"), scalar("s", dtype)]
        kernel = _runtime.Kernel(library, manifest_of("bits", params), [0])
        return lambda value: int(kernel(value)[0])

    return make


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_float_scalars(bits, dtype):
    numpy_type = np.dtype(dtype)
    values = [0.0, -0.0, 1.0, -2.5, 1 / 3, 6e-8, 2.98e-8, 65504.0, 65519.0, np.inf, -np.inf]
    for value in values:
        expected = int(np.array(value, numpy_type).view(f"u{numpy_type.itemsize}"))
        assert bits(dtype)(value) % (1 << 64) == expected, value
        assert bits(dtype)(np.float64(value)) % (1 << 64) == expected
    assert np.isnan(
        np.array(bits(dtype)(np.nan), "i8")
        .view("u8")
        .astype(f"u{numpy_type.itemsize}")
        .view(numpy_type)
    )
    assert bits(dtype)(3) == int(np.array(3, numpy_type).view(f"u{numpy_type.itemsize}"))
    assert bits(dtype)(torch.tensor(2.0)) == bits(dtype)(2.0)


@pytest.mark.parametrize(
    "dtype",
    [
        "bfloat16",
        "float8_e4m3fn",
        "float8_e4m3",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
    ],
)
def test_extension_float_scalars(bits, dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = np.dtype(getattr(ml_dtypes, dtype))
    make = bits(dtype)
    largest = float(ml_dtypes.finfo(kind).max)
    random = np.random.default_rng(1)
    spread = np.exp2(random.uniform(-20, 7, 500)) * random.choice([-1, 1], 500)
    for value in [*spread.tolist(), 0.0, largest, -largest, 2.0**-10]:
        expected = int(np.array(value).astype(kind).view(f"u{kind.itemsize}"))
        assert make(value) == expected, value
    value = largest * 1.2
    message = f"bits: argument 1 's' is {value!r} but a value in the range of {dtype} was expected"
    expect(ValueError, message, make, value)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integer_scalars(bits, dtype):
    info = np.iinfo(dtype)
    make = bits(dtype)
    mask = (1 << info.bits) - 1
    for value in [info.min, info.max, 0, 1]:
        assert make(int(value)) & mask == int(value) & mask
        assert make(np.dtype(dtype).type(value)) & mask == int(value) & mask
    for value in [int(info.min) - 1, int(info.max) + 1, 1 << 70]:
        message = (
            f"bits: argument 1 's' is {value} but a value in the range of {dtype} was expected"
        )
        expect(ValueError, message, make, value)
    assert make(True) == 1
    text = f"bits: argument 1 's' is of type {{}} but a number for {dtype} was expected"
    expect(TypeError, text.format("float"), make, 1.0)
    expect(TypeError, text.format("str"), make, "1")


def test_bool_and_wrong_float_scalars(bits):
    make = bits("bool")
    assert [make(v) for v in (True, False, 1, 0, np.bool_(True))] == [1, 0, 1, 0, 1]
    expect(
        ValueError,
        "bits: argument 1 's' is 2 but a value in the range of bool was expected",
        make,
        2,
    )
    text = "bits: argument 1 's' is of type str but a number for float32 was expected"
    expect(TypeError, text, bits("float32"), "1.5")
    text = "bits: argument 1 's' is 1e+39 but a value in the range of float32 was expected"
    expect(ValueError, text, bits("float32"), 1e39)
    big = 10**400
    with pytest.raises(ValueError, match="in the range of float64 was expected"):
        bits("float64")(big)


def test_loads_from_memory(folder):
    library = build_library(folder, "fromemory", "((float *)slots[0])[0] = 42;")
    kernels = [
        _runtime.Kernel(library.read_bytes(), manifest_of("fromemory", [tensor("C", [1])]), [0])
        for _ in range(3)
    ]
    assert [float(kernel()[0]) for kernel in kernels] == [42.0] * 3


def test_loads_from_a_folder_without_execution(folder):
    places = [Path(place) for place in ("/dev/shm", "/run") if os.access(place, os.W_OK)]
    places = [place for place in places if os.statvfs(place).f_flag & os.ST_NOEXEC]
    if not places:
        pytest.skip("no writable folder that is mounted noexec")
    library = build_library(folder, "noexec", "((float *)slots[0])[0] = 42;")
    with tempfile.TemporaryDirectory(dir=places[0]) as place:
        copy = shutil.copy(library, place)
        kernel = _runtime.Kernel(copy, manifest_of("noexec", [tensor("C", [1])]), [0])
        assert float(kernel()[0]) == 42.0


def test_load_errors(folder):
    library = str(build_library(folder, "other", ";"))
    one, two = scalar("s", "int32"), tensor("t", [1])
    value_errors = {
        "[]": "manifest: not a JSON object",
        "{": "manifest: not a JSON object",
        manifest_of("a b", []): "manifest: 'name' must be a C identifier",
        manifest_of("x", [], format=3): "manifest: 'format' must be an integer from 1 to 2",
        manifest_of("x", [], out_idx=[0]): "x: out_idx 0 is out of range for 0 parameters",
        manifest_of("x", [one], out_idx=[-1]): "x: out_idx -1 is 's', which is no tensor",
        manifest_of("x", [two], out_idx=[0, -1]): ("x: out_idx names parameter 0, 't', twice"),
        manifest_of("x", [tensor("t", [1], "int3")]): (
            "manifest: 'dtype' is 'int3', which can't be passed"
        ),
        manifest_of("x", [scalar("t", "int4")]): (
            "manifest: 'dtype' is 'int4', which can't be passed as a scalar"
        ),
    }
    for text, message in value_errors.items():
        expect(ValueError, message, _runtime.Kernel, library, text)
    os_errors = {
        manifest_of("x", []): "x: the kernel library has no function 'x_grid'",
        manifest_of("other", [], launches=[{}, {}]): (
            "other: the kernel library has no function 'other_grid_1'"
        ),
        manifest_of("x", [], target="cuda"): "x: made for target 'cuda' but 'cpu' was expected",
    }
    for text, message in os_errors.items():
        expect(OSError, message, _runtime.Kernel, library, text)
    with pytest.raises(OSError, match="^other: can't load the kernel library: .*no-such.so"):
        _runtime.Kernel("/no-such.so", manifest_of("other", []))
    with pytest.raises(OSError, match="^other: can't load the kernel library: "):
        _runtime.Kernel(b"no library", manifest_of("other", []))


def test_many_parameters(nothing):
    params = [tensor(f"t{i}", [2]) for i in range(30)]
    assert nothing(params)(*[torch.ones(2)] * 30) is None


def test_description(add):
    assert add.name == "add"
    assert add.symbols == ["n"]
    assert add.params[2] == {
        "kind": "tensor",
        "name": "z",
        "dtype": "float32",
        "is_output": True,
        "shape": ("n",),
        "is_written": False,
    }
    assert json.loads(manifest_of("add", ADD_PARAMS))["name"] == "add"


def test_sha256_of_known_messages(tmp_path):
    for size in [0, 1, 3, 55, 56, 63, 64, 65, 1000, 100_000]:
        message = bytes(i % 251 for i in range(size))
        assert _runtime.sha256(message) == hashlib.sha256(message).hexdigest()
    path = tmp_path / "file"
    path.write_bytes(b"abc" * 50_000)
    assert _runtime.sha256_file(str(path)) == hashlib.sha256(b"abc" * 50_000).hexdigest()
    assert _runtime.sha256_file(str(tmp_path / "none")) is None
