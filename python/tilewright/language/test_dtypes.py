# SPDX-License-Identifier: Apache-2.0
import importlib
import pickle
import re

import ml_dtypes
import numpy as np
import pytest

import tilewright.language as T
from tilewright.language.dtypes import DTYPES, is_dtype, to_dtype


@pytest.mark.parametrize(
    ("name", "bits", "lanes", "bytes_"),
    [
        ("float16", 16, 1, 2),
        ("bfloat16", 16, 1, 2),
        ("float32x4", 128, 4, 16),
        ("int4", 4, 1, 1),
        ("int4x8", 32, 8, 4),
        ("bool", 8, 1, 1),
        ("uint64", 64, 1, 8),
        ("float8_e4m3fn", 8, 1, 1),
        ("float8_e5m2x16", 128, 16, 16),
        ("float4_e2m1fnx2", 8, 2, 1),
    ],
)
def test_widths(name, bits, lanes, bytes_):
    dtype = getattr(T, name)
    assert (dtype, dtype.bits, dtype.lanes, dtype.bytes) == (name, bits, lanes, bytes_)


def test_all_have_a_width():
    assert all(dtype.bits > 0 for dtype in DTYPES.values())


@pytest.mark.parametrize("module", ["tilewright.dtypes", "tilewright.language.dtypes"])
def test_floats_of_4_bits(module):
    """Packed or not, as methods and as functions, of all that names a dtype, or none."""
    dtypes = importlib.import_module(module)
    asked = ("is_float4", "is_float4_e2m1fn", "is_float4_e2m1_unpacked")
    for dtype, answers in (
        (T.float4_e2m1fn, (True, True, False)),
        (T.float4_e2m1fnx2, (True, True, False)),
        (T.float4_e2m1_unpacked, (True, False, True)),
        (T.float16, (False, False, False)),
        (T.float8_e4m3fn, (False, False, False)),
        (T.int4, (False, False, False)),
    ):
        assert tuple(getattr(dtype, name)() for name in asked) == answers
        for form in (dtype, str(dtype)):
            assert tuple(getattr(dtypes, name)(form) for name in asked) == answers
    assert dtypes.is_float4("custom[float4_e2m1_unpacked]8")
    assert dtypes.is_float4_e2m1_unpacked("custom[float4_e2m1_unpacked]8")
    for other in (float, np.float16, np.dtype("int8"), None, 4, "float5"):
        assert not any(getattr(dtypes, name)(other) for name in asked)
    assert not hasattr(T, "float4_e2m1_unpackedx2")


def test_forms():
    numpy = pytest.importorskip("numpy")
    assert [to_dtype(v) for v in ("half", "float", "double", "int", "long", bool, int, float)] == [
        "float16", "float32", "float64", "int32", "int64", "bool", "int32", "float32"
    ]  # fmt: skip
    assert to_dtype(numpy.float16) == to_dtype(numpy.dtype("float16")) == "float16"
    assert to_dtype(T.float) is T.float32
    of_lanes = [getattr(T, f"float8_e4m3x{n}") for n in (2, 4, 8, 16, 32, 64)]
    assert of_lanes == [f"float8_e4m3fnx{n}" for n in (2, 4, 8, 16, 32, 64)]
    assert T.float8_e4m3x8 is T.float8_e4m3fnx8
    assert to_dtype("float8_e4m3x8") is T.float8_e4m3fnx8
    assert not is_dtype("nothing") and not is_dtype(3)
    assert repr(T.float16) == "T.float16"
    assert T.float16.is_float and not T.int8.is_float
    with pytest.raises(ValueError, match="there is no dtype 'float17'"):
        to_dtype("float17")


def test_torch():
    torch = pytest.importorskip("torch")
    assert to_dtype(torch.bfloat16) == "bfloat16"
    assert T.float16.as_torch() is torch.float16
    assert T.int4.as_torch() is torch.int8


def test_dtypes_of_torch_are_equal_to_their_names():
    torch = pytest.importorskip("torch")
    pairs = [("float16", "half"), ("int64", "long"), ("bool", "bool"), ("bfloat16", "bfloat16")]
    for ours, theirs in pairs:
        dtype = getattr(torch, theirs)
        assert getattr(T, ours) == dtype and dtype == getattr(T, ours) and T.dtype(dtype) == ours
    assert T.float16 != torch.float32 and T.float16 != torch.quint8 and T.float16 != 16
    assert T.dtype("half") is T.float16 and repr(T.dtype(float)) == "T.float32"
    assert {T.float16: 1}["float16"] == 1 and T.float16 != "float32"


def test_packed_floats_of_torch():
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "float4_e2m1fn_x2"):
        pytest.skip("this PyTorch has no float4_e2m1fn_x2")
    pairs = T.float4_e2m1fn.as_torch()
    assert pairs is torch.float4_e2m1fn_x2
    assert T.dtype(pairs) is to_dtype(pairs) is T.float4_e2m1fn
    assert T.float4_e2m1fn == pairs and T.float4_e2m1fnx2 != pairs and is_dtype(pairs)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("bogus", ""),
        ("", ""),
        ("bogusx4", ""),
        ("float32x0", "; did you mean 'float32x8'?"),
        ("float32x²", "; did you mean 'float32x8'?"),
        ("flot32", "; did you mean 'float32'?"),
        ("Float16", "; did you mean 'float16'?"),
        ("e4m3", "; did you mean 'float8_e4m3fn'?"),
        ("bf16", "; did you mean 'bfloat16'?"),
    ],
)
def test_names_of_no_dtype(name, hint):
    """T.dtype takes no name that its width isn't known of."""
    message = f"there is no dtype {name!r}{hint}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        T.dtype(name)


def test_every_name_makes_its_dtype():
    """Aliases too, and the ones that T has no name for."""
    for name, dtype in DTYPES.items():
        assert T.dtype(name) is T.dtype(dtype) is dtype
    for name, full, bits in (
        ("boolx4", "boolx4", 32),
        ("float32x3", "float32x3", 96),
        ("halfx2", "float16x2", 32),
        ("intx3", "int32x3", 96),
        ("handle", "handle", 64),
        ("custom[float4_e2m1_unpacked]8", "float4_e2m1_unpacked", 8),
    ):
        assert (str(T.dtype(name)), T.dtype(name).bits) == (full, bits)
    assert T.dtype("halfx2") is T.float16x2
    assert pickle.loads(pickle.dumps(T.dtype("boolx4"))) == "boolx4"  # noqa: S301


def test_dtypes_of_numpy_are_equal_to_their_names():
    """Whichever stands first."""
    for ours, theirs in [("float16", "float16"), ("int64", "int64"), ("bool", "bool")]:
        dtype, name = np.dtype(theirs), getattr(T, ours)
        assert name == dtype and dtype == name
        assert (name != dtype, dtype != name) == (False, False)
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    assert T.bfloat16 == bfloat16 and bfloat16 == T.bfloat16
    assert T.float16 != np.dtype("float32") and np.dtype("float32") != T.float16


def test_what_decides_itself_is_asked():
    class Anything:
        def __eq__(self, other):
            return True

        def __ne__(self, other):
            return False

    assert (T.float16 == Anything(), T.float16 != Anything()) == (True, False)
    assert T.float16 != None and T.float16 != 16  # noqa: E711


def test_values_of_a_kernel_are_of_one_class():
    found = []

    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(1) as bx:
            found.extend(isinstance(v, T.PrimExpr) for v in (bx, A[0] + 1, 3))

    kernel.capture()
    assert found == [True, True, False]
