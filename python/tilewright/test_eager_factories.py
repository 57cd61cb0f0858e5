# SPDX-License-Identifier: Apache-2.0
"""Other ways to an eager kernel: `**config`, `tilelang.lazy_jit`, `T.prim_func(generator=True)`."""

from __future__ import annotations

import runpy
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.front_key import why_not

NUMBERS = np.arange(8, dtype=np.float32)


def scaled(A, block: int = 4, **config):
    N = T.const("N")
    A: T.Tensor[[N], T.float32]
    B = T.empty([N], T.float32)
    with T.Kernel(T.ceildiv(N, block), threads=config.get("threads", 32)) as bx:
        for i in T.Parallel(block):
            B[bx * block + i] = A[bx * block + i] * config["scale"]
    return B


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_any_keywords(target):
    """Those that name no parameter; each of their values is a kernel of its own."""
    kernel = tilewright.jit(target=target)(scaled)
    for config in ({"scale": 3}, {"scale": 2, "threads": 64}, {"scale": 3, "block": 8}):
        expected = NUMBERS * config["scale"]
        assert kernel(NUMBERS, **config).tolist() == expected.tolist()
        assert kernel(np.arange(8, dtype=np.float32), **config).tolist() == expected.tolist()
    compiled = kernel.compile(NUMBERS, scale=5)
    assert compiled(NUMBERS).tolist() == (NUMBERS * 5).tolist()
    with pytest.raises(tilewright.CompileError, match="KeyError: 'scale'"):
        kernel(NUMBERS)


def test_keywords_that_name_constants():
    """Beside `**config`, without a tensor for them: as without it."""

    @tilewright.jit
    def kernel(A, **config):
        N, count = T.const("N, count")
        A: T.Tensor[[N], T.float32]
        with T.Kernel(1, threads=32):
            for i in T.Parallel(count):
                A[i] = config["value"] + config["count"]

    made = np.zeros(8, np.float32)
    kernel(made, count=3, value=2)
    assert made.tolist() == [5, 5, 5, 0, 0, 0, 0, 0]


def test_lazy_jit():
    kernel = tilewright.lazy_jit(scaled)
    assert kernel(NUMBERS, scale=2).tolist() == (NUMBERS * 2).tolist()
    kernel = tilewright.lazy_jit(target="reference")(scaled)
    assert kernel(NUMBERS, scale=3).tolist() == (NUMBERS * 3).tolist()
    from tilelang.jit import lazy_jit

    assert lazy_jit is tilewright.lazy_jit
    message = "lazy_jit has no out_idx: its kernels return the T.empty tensors"
    with pytest.raises(TypeError, match=message):
        tilewright.lazy_jit(out_idx=[1])

    def made():
        @T.macro
        def body(A, B):
            with T.Kernel(1, threads=32):
                T.copy(A, B)

        return body

    @tilewright.lazy_jit
    def by_a_macro(A: T.Tensor[[int], "float32"]):
        B = T.empty(A.shape, dtype=A.dtype)
        made()(A, B)
        return B

    assert by_a_macro(NUMBERS).tolist() == NUMBERS.tolist()


def test_kernels_of_a_generator():
    generator = T.prim_func(scaled, generator=True)
    assert repr(generator) == "<kernels of scaled>"
    for block in (2, 8):
        kernel = generator(NUMBERS, block, scale=5)
        compiled = tilewright.compile(kernel)
        assert compiled(NUMBERS).tolist() == (NUMBERS * 5).tolist()
    assert tilewright.jit(generator)(NUMBERS, scale=7).tolist() == (NUMBERS * 7).tolist()

    @T.prim_func(generator=True)
    def filled(A, value):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        with T.Kernel(1, threads=32):
            T.fill(A, value)

    made = np.zeros(4, np.float32)
    tilewright.compile(filled(T.Tensor((4,), "float32"), 3))(made)
    assert made.tolist() == [3, 3, 3, 3]


def test_tensors_that_are_defaults():
    """What stands for a tensor says what it is, where no annotation does."""

    @T.prim_func(generator=True)
    def copied(A=T.Tensor((8,), "float32"), B=T.Tensor((8,), "float32")):  # noqa: B008
        with T.Kernel(8) as (bx,):
            T.copy(A[bx], B[bx])

    made = np.zeros(8, np.float32)
    tilewright.compile(copied())(NUMBERS, made)
    assert made.tolist() == NUMBERS.tolist()
    given, made = np.arange(9, dtype=np.int32), np.zeros(9, np.int32)
    tilewright.compile(copied(*[T.Tensor((9,), "int32")] * 2))(given, made)
    assert made.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0]


def test_extents_and_dtypes_of_the_call():
    """`int` and `Any` in annotations are what the tensor has; `T.dyn` is a number of each call."""

    @tilewright.jit
    def doubled(A: T.Tensor[[T.dyn, int], Any], B: T.StridedTensor[[int, 3], [int, int], Any]):
        rows, columns = A.shape
        factor = 2 if A.shape == [rows, 3] and A.shape == (rows, 3) and B.shape != [3] else 0
        C = T.empty(rows, columns, dtype=A.dtype)
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(rows, columns):
                C[i, j] = A[i, j] * factor + T.cast(B[0, j], A.dtype)
        return C

    for dtype, count in ((np.float32, 2), (np.int32, 4), (np.float32, 5)):
        a = np.arange(3 * count).reshape(count, 3).astype(dtype)
        b = np.arange(24, dtype=np.float32).reshape(4, 6)[:, ::2]
        made = doubled(a, b)
        assert made.dtype == dtype
        np.testing.assert_array_equal(made, 2 * a + b[0].astype(dtype))
    assert why_not(doubled.function) is None  # so that they are kept
    kernel = doubled.compile(T.Tensor((4, 3), "int32"), T.Tensor((4, 3), "float32"))
    assert [param["dtype"] for param in kernel.params[:2]] == ["int32", "float32"]
    assert kernel.params[0]["shape"][0] != 4 and kernel.params[1]["shape"] == (4, 3)
    assert len(doubled._kernels) == 3  # float32 of any number of rows, int32, B with other strides


def test_generated_kernels_of_other_tensors_are_others():
    """The same function and numbers: what the tensors are tells them apart, in the cache, too."""

    @T.prim_func(generator=True)
    def twice(A: T.Tensor[[int], Any]):
        B = T.empty(A.shape, dtype=A.dtype)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(A.shape[0]):
                B[i] = A[i] * 2
        return B

    for dtype in (np.float32, np.int32):
        for count in (4, 9):
            given = np.arange(count).astype(dtype)
            made = tilewright.compile(twice(given))(given)
            assert made.dtype == dtype and made.tolist() == (given * 2).tolist()


USES = {
    "A[i]": "C[i] = B[i] + A[i]",
    "A[i] as a target": "A[i] = B[i]",
    "A[i:j]": "T.copy(A[i : i + 1], C[i : i + 1])",
    "A as an operand": "T.copy(A, C)",
}


@pytest.mark.parametrize("name", USES)
def test_a_tensor_without_an_annotation(name, tmp_path):
    """What is to be done is said; the numbers of the call aren't what the kernel has."""
    path = tmp_path / "undeclared.py"
    path.write_text(
        "import tilewright\nimport tilewright.language as T\n\n\n"
        "@tilewright.jit\ndef kernel(A, B):\n"
        '    N = T.const("N")\n'
        '    B: T.Tensor[[N], "float32"]\n'
        '    C = T.empty([N], "float32")\n'
        "    with T.Kernel(1, threads=1):\n"
        "        for i in T.serial(N):\n"
        f"            {USES[name]}\n"
        "    return C\n"
    )
    kernel = runpy.run_path(str(path))["kernel"]
    with pytest.raises(tilewright.CompileError) as caught:
        kernel(NUMBERS, NUMBERS.copy())
    assert [(d.place.line, d.message) for d in caught.value.diagnostics] == [
        (
            12,
            "'A' is a tensor of the call, but no annotation says so; write "
            "A: T.Tensor[[8], T.float32] before the launch",
        )
    ]


def test_numbers_that_the_trace_reads_of_a_tensor():
    """They are those of each call, not of the first with such a shape."""

    @tilewright.jit
    def added(A, B):
        N = T.const("N")
        B: T.Tensor[[N], T.float32]
        C = T.empty([N], T.float32)
        with T.Kernel(1, threads=32):
            for i in T.Parallel(N):
                C[i] = B[i] + A[1]
        return C

    for number in (0, 5, 7):
        made = added(np.arange(4, dtype=np.float32) + number, NUMBERS)
        assert made.tolist() == (NUMBERS + number + 1).tolist()


def test_an_annotation_under_a_condition_on_constants():
    """T.const, and what is made of it, is known behind the annotations that give it."""

    @tilewright.jit
    def biased(A, bias=None):
        M, N = T.const("M, N")
        A: T.Tensor[[M, N], T.float32]
        halves = M // 2
        if bias is not None:
            if M > 3:
                if halves == 2:
                    bias: T.Tensor[[N], T.float32]
                else:
                    bias: T.Tensor[[M], T.float32]
            else:
                bias: T.Tensor[[1], T.float32]
        C = T.empty([M, N], T.float32)
        with T.Kernel(M, threads=32) as row:
            for j in T.Parallel(N):
                C[row, j] = A[row, j]
                if bias is not None:
                    C[row, j] += bias[row if halves > 2 else j if M > 3 else 0]
        return C

    for rows, extent in ((4, 3), (7, 7), (2, 1)):
        a = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        bias = np.arange(extent, dtype=np.float32) + 1
        added = bias[:, None] if rows == 7 else bias
        np.testing.assert_array_equal(biased(a), a)
        np.testing.assert_array_equal(biased(a, bias), a + added)
