# SPDX-License-Identifier: Apache-2.0
"""What a call checks: each mistake with our message, and the text that TileLang has for it."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

import tilewright
import tilewright.language as T

M, N, K = 8, 6, 4


@T.prim_func
def matmul(
    A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")
):
    with T.Kernel(M) as i:
        for j in T.serial(N):
            C[i, j] = A[i, 0] * B[0, j]


@T.prim_func
def scalars(x: T.int32, flag: T.bool, f: T.float32, Out: T.Tensor((1,), "float32")):
    with T.Kernel(1):
        if flag:
            Out[0] = x + f


def halves(*shape):
    return np.zeros(shape, np.float16)


OUT = np.zeros(1, np.float32)
#: The kernel, wrong arguments, what we say, and what TileLang says.
MISTAKES = {
    "count": (
        matmul, (halves(M, K), halves(K, N)),
        "takes 3 arguments (A, B, C), but 2 were given",
        "matmul: num_args should be 3; expected: 3, got: 2",
    ),
    "pointer": (
        matmul, (1, halves(K, N), halves(M, N)),
        "argument 0 'A' is of type int but a tensor was expected",
        "matmul: Expect arg[0] to be pointer",
    ),
    "none": (
        matmul, (halves(M, K), None, halves(M, N)),
        "argument 1 'B' is None but the kernel uses it",
        "matmul.B_handle is expected to have non-NULL pointer",
    ),
    "ndim": (
        matmul, (halves(M, K, 1), halves(K, N), halves(M, N)),
        "argument 0 'A' has 3 dims, shape (8, 4, 1), but 2 dims were expected",
        "matmul.A_handle.ndim is expected to equal 2, but got mismatched ndim",
    ),
    "dtype": (
        matmul, (np.zeros((M, K), np.float32), halves(K, N), halves(M, N)),
        "argument 0 'A' has dtype float32 but float16 was expected",
        "matmul.A_handle.dtype is expected to be float16, but got incompatible dtype",
    ),
    "shape": (
        matmul, (halves(M, K + 1), halves(K, N), halves(M, N)),
        "argument 0 'A' has shape (8, 5) but (8, 4) was expected at dim 1",
        "Argument matmul.A_handle.shape[1] has an unsatisfied constraint: 5 == 4",
    ),
    "strides": (
        matmul, (halves(K, M).T, halves(K, N), halves(M, N)),
        "argument 0 'A' has strides (1, 8) for shape (8, 4) but stride 1 was expected at dim 1",
        "Argument matmul.A_handle.strides[1] has an unsatisfied constraint: 8 == 1",
    ),
    "int": (
        scalars, (1.0, True, 1.0, OUT),
        "argument 0 'x' is of type float but a number for int32 was expected",
        "scalars: Expect arg[0] to be int",
    ),
    "bool": (
        scalars, (1, 2.5, 1.0, OUT),
        "argument 1 'flag' is of type float but a number for bool was expected",
        "scalars: Expect arg[1] to be boolean",
    ),
    "float": (
        scalars, (1, True, "text", OUT),
        "argument 2 'f' is of type str but a number for float32 was expected",
        "scalars: Expect arg[2] to be float",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", list(MISTAKES))
def test_wrong_argument(case):
    kernel, arguments, ours, theirs = MISTAKES[case]
    with pytest.raises((TypeError, ValueError)) as caught:
        tilewright.compile(kernel)(*arguments)
    first, second = str(caught.value).split("\n")
    assert first.startswith(f"{kernel.__name__}: {ours}")
    assert second == f"in TileLang's words: {theirs}"


class OnDevice:
    """A tensor that says that it is elsewhere, or that it has no memory."""

    def __init__(self, **fields):
        class Tensor(ctypes.Structure):
            _fields_ = [
                ("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("number", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
            ]  # fmt: skip

        self.memory = halves(M, K)
        self.shape = (ctypes.c_int64 * 2)(M, K)
        self.tensor = Tensor(
            data=self.memory.ctypes.data, device=1, ndim=2, code=2, bits=16, lanes=1,
            shape=ctypes.addressof(self.shape),
        )  # fmt: skip
        for name, value in fields.items():
            setattr(self.tensor, name, value)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.make = lambda: make(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack__(self):
        return self.make()


@pytest.mark.parametrize(
    ("fields", "ours", "theirs"),
    [
        ({"device": 2}, "argument 0 'A' is on device cuda:0 but cpu was expected",
         "matmul.A_handle.device_type mismatch [expected: 1 (CPU)], got: 2"),
        ({"data": None}, "argument 0 'A' has no memory (is it a fake tensor?)",
         "matmul.A is expected to have non-NULL data pointer, but got NULL"),
        ({"ndim": -1}, "'A' can't be read as a tensor: its DLPack capsule has -1 dims", ""),
        ({"ndim": 1 << 30}, "argument 0 'A' can't be read as a tensor: its DLPack capsule has", ""),
        ({"shape": None}, "argument 0 'A' can't be read as a tensor: its DLPack capsule has 2 dims "
         "and no shape", ""),
    ],
)  # fmt: skip
def test_odd_capsule(fields, ours, theirs):
    with pytest.raises(ValueError, match=re.escape(ours)) as caught:
        tilewright.compile(matmul)(OnDevice(**fields), halves(K, N), halves(M, N))
    assert str(caught.value).partition("\nin TileLang's words: ")[2] == theirs


class Misnamed:
    """A capsule whose name does not fit what it holds: `words`, or what NumPy gave."""

    def __init__(self, words=None):
        self.array = halves(M, K)
        self.old = self.array.__dlpack__()
        take = ctypes.pythonapi.PyCapsule_GetPointer
        take.restype = ctypes.c_void_p
        take.argtypes = [ctypes.py_object, ctypes.c_char_p]
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.words = (ctypes.c_uint64 * 16)(*(words or []))
        place = ctypes.addressof(self.words) if words else take(self.old, b"dltensor")
        self.capsule = make(place, b"dltensor_versioned", None)

    def __dlpack__(self, **options):
        return self.capsule


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (None, r"its DLPack version \d+\.\d+ is not 1\.x"),
        ([7], r"its DLPack version 7\.0 is not 1\.x"),
        # Version 1.0, a context, a deleter that is none; then flags, or a device, that cannot be.
        ([1, 0, 12345, 1 << 40], "its DLPack capsule holds something else than a tensor"),
        ([1, 0, 12345, 0, 0, 0], "its DLPack capsule holds something else than a tensor"),
        ([1, 0, 12345, 0, 0, 1, 1 | 1 << 48, 7], "holds something else than a tensor"),
        ([1, 0, 12345, 0, 0, 1, 99 | 1 << 48], "its DLPack capsule has 99 dims and no shape"),
    ],
)  # fmt: skip
def test_capsule_that_holds_something_else(words, message):
    """Its deleter is no function: it may not be called."""
    with pytest.raises(ValueError, match=message):
        tilewright.compile(matmul)(Misnamed(words), halves(K, N), halves(M, N))


def test_linear_equations_and_products():
    """A: (m,), B: (m + n,), C: (n * k,), D: (3 * n * k,): one unknown at a time."""
    m, n, k = T.dynamic("m, n, k")

    @T.prim_func
    def kernel(
        A: T.Tensor((m,), "float32"),
        B: T.Tensor((m + n,), "float32"),
        C: T.Tensor((n * k,), "float32"),
        D: T.Tensor((3 * n * k,), "float32"),
        Out: T.Tensor((4,), "int32"),
    ):
        with T.Kernel(1):
            Out[0] = m
            Out[1] = n
            Out[2] = k
            Out[3] = C.shape[0] + T.cast(A[0] + B[m + n - 1] + C[n * k - 1] + D[0], "int32")

    def zeros(count):
        return np.zeros(count, np.float32)

    for target in ("cpu", "reference"):
        compiled = tilewright.compile(kernel, target=target)
        out = np.zeros(4, np.int32)
        compiled(zeros(2), zeros(5), zeros(12), zeros(36), out)
        assert out.tolist() == [2, 3, 4, 12]
        with pytest.raises(ValueError, match=r"but n\*k was expected, which no integer 'k'"):
            compiled(zeros(2), zeros(5), zeros(13), zeros(36), out)
        with pytest.raises(
            ValueError, match=r"\(3\*n\*k,\) was expected at dim 0, where n = 3, k = 4"
        ):
            compiled(zeros(2), zeros(5), zeros(12), zeros(37), out)


def test_product_without_another_equation():
    m, n = T.dynamic("m, n")

    @T.prim_func
    def kernel(A: T.Tensor((m * n,), "float32")):
        with T.Kernel(1):
            A[0] = 1.0

    with pytest.raises((ValueError, RuntimeError, tilewright.CompileError), match="can't be found"):
        tilewright.compile(kernel)(np.zeros(6, np.float32))


def test_quotients_are_checked():
    """Packed and blocked shapes: K // 2 bytes, ceildiv(K, 32) scales. They give no symbol."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(
        A: T.Tensor((n // 2,), "uint8"),
        S: T.Tensor((T.ceildiv(n, 32), n % 7 + 1), "float32"),
        B: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(1):
            for i in T.serial(n):
                B[i] = T.cast(A[i // 2], "float32") + S[i // 32, 0]

    for target in ("cpu", "reference"):
        compiled = tilewright.compile(kernel, target=target)
        a, s, b = (
            np.arange(35, dtype=np.uint8),
            np.ones((3, 1), np.float32),
            np.zeros(70, np.float32),
        )
        compiled(a, s, b)
        np.testing.assert_array_equal(b, np.arange(70) // 2 + 1)
        with pytest.raises(ValueError, match=r"\(n // 2,\) was expected at dim 0, where n = 70"):
            compiled(a[:34], s, b)


@pytest.mark.parametrize("doubles", [False, True])
def test_shape_of_too_many_parts(doubles):
    n = T.dynamic("n")
    size = n // 2
    for _ in range(60 if doubles else 2000):
        size = size * size if doubles else (size + n) // 2

    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((size,), "float32")):
        with T.Kernel(1):
            B[0] = A[0]

    message = (
        "must be an integer, a symbol, a sum or product"
        if doubles
        else "an expression of symbols nests too deeply"
    )
    with pytest.raises(tilewright.CompileError, match=message):
        kernel.capture()


@pytest.mark.parametrize("address", [8, 2**63, 2**64 - 8])
@pytest.mark.parametrize("writes", [False, True])
def test_wild_address(address, writes):
    """An address that is none ends the call, not the process."""

    @T.prim_func
    def kernel(p: T.ptr, B: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            there = T.make_tensor(p, (8,), "float32")
            if writes:
                there[0] = B[0]
            else:
                B[0] = there[0]

    with pytest.raises(RuntimeError, match="the kernel touched memory at"):
        tilewright.compile(kernel)(address, np.zeros(8, np.float32))
    with pytest.raises(
        tilewright.KernelError, match=r"element \[0\] of 'tensor', which is given by"
    ):
        tilewright.compile(kernel, target="reference")(address, np.zeros(8, np.float32))


def test_memory_that_must_stay():
    """Read-only memory is taken where the kernel only reads it, through views too."""

    @T.prim_func
    def kernel(A: T.Tensor((2, 2), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=4):
            flat = T.view(A, (4,))
            target = T.view(B, (2, 2))
            for i in T.Parallel(4):
                target[i // 2, i % 2] = flat[i] + 1

    compiled = tilewright.compile(kernel)
    fixed = np.frombuffer(np.arange(4, dtype=np.float32).tobytes(), np.float32)
    result = np.zeros(4, np.float32)
    compiled(fixed.reshape(2, 2), result)
    assert result.tolist() == [1, 2, 3, 4]
    message = "kernel: argument 1 'B' is read-only but the kernel writes it"
    with pytest.raises(ValueError, match=message):
        compiled(fixed.reshape(2, 2), fixed)
    assert fixed.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_order_of_outputs(target):
    """They come in the order of out_idx, or of an eager kernel's return statement."""

    @T.prim_func
    def kernel(
        B: T.Tensor((3,), "float32"), A: T.Tensor((2,), "float32"), C: T.Tensor((3,), "float32")
    ):
        with T.Kernel(1, threads=1):
            for i in T.serial(3):
                B[i] = A[0] + i
                C[i] = A[1] * i

    @tilewright.jit(target=target)
    def eager(A):
        A: T.Tensor((2,), "float32")
        first = T.empty((2,), "float32")
        second = T.empty((2,), "float32")
        with T.Kernel(1, threads=1):
            for i in T.serial(2):
                first[i] = A[i]
                second[i] = -A[i]
        return second, first

    a = np.array([5, 7], np.float32)
    for numbers in ([2, 0], [-1, 0], [0, 2]):
        compiled = tilewright.compile(kernel, out_idx=numbers, target=target)
        expected = {0: [5, 6, 7], 2: [0, 7, 14]}
        assert [np.asarray(o).tolist() for o in compiled(a)] == [expected[n % 3] for n in numbers]
        assert compiled.out_idx == [n % 3 for n in numbers]
    second, first = eager(a)
    assert np.asarray(second).tolist() == [-5, -7] and np.asarray(first).tolist() == [5, 7]


@pytest.mark.parametrize("before_the_launch", [True, False])
def test_what_is_assumed_of_arguments_alone_is_checked(before_the_launch):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), most: T.int32):
        if before_the_launch:
            T.assume(n % 4 == 0)
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            if not before_the_launch:
                T.assume(n % 4 == 0)
            T.assume(n <= most)
            T.assume(bx < 1)  # of the block's number: a promise that nobody checks
            for i in T.Parallel(32):
                A[bx * 32 + i] = 1.0

    made = tilewright.compile(kernel)
    out = np.zeros(64, np.float32)
    made(out, 64)
    assert out.tolist() == [1] * 64
    for size, most in ((66, 100), (64, 63)):
        with pytest.raises(RuntimeError, match="T.assume does not hold"):
            made(np.zeros(size, np.float32), most)
