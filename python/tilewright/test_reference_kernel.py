# SPDX-License-Identifier: Apache-2.0
"""`target="reference"`: kernels run by the interpreter, called as compiled ones are."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import tilewright as tl
import tilewright.language as T
from tilewright.errors import KernelError


@tl.jit(out_idx=[-1], target="reference")
def matmul(m, n, k):
    @T.prim_func
    def main(
        A: T.Tensor((m, k), "bfloat16"),
        B: T.Tensor((k, n), "bfloat16"),
        scale: T.float16,
        C: T.Tensor((m, n), "float32"),
    ):
        with T.Kernel(T.ceildiv(n, 16), T.ceildiv(m, 16), threads=32) as (bx, by):
            a = T.alloc_shared((16, k), "bfloat16")
            b = T.alloc_shared((k, 16), "bfloat16")
            c = T.alloc_fragment((16, 16), "float32")
            T.clear(c)
            T.copy(A[by * 16, 0], a)
            T.copy(B[0, bx * 16], b)
            T.gemm(a, b, c)
            for i, j in T.Parallel(16, 16):
                c[i, j] = c[i, j] * scale
            T.copy(c, C[by * 16, bx * 16])

    return main


def test_it_is_called_as_a_compiled_kernel_is():
    random = np.random.default_rng(1)
    a = random.standard_normal((20, 24), np.float32).astype(ml_dtypes.bfloat16)
    b = random.standard_normal((24, 18), np.float32).astype(ml_dtypes.bfloat16)
    kernel = matmul(20, 18, 24)
    c = kernel(a, b, 0.5)
    wanted = a.astype(np.float64) @ b.astype(np.float64) * 0.5
    np.testing.assert_allclose(c, wanted, rtol=1e-6, atol=1e-6)
    assert kernel.target == "reference"
    assert "tile.gemm" in kernel.get_kernel_source()
    with pytest.raises(ValueError, match=r"argument 0 'A' has shape \(24, 18\) but \(20, 24\)"):
        kernel(b, b, 0.5)


def test_symbols_and_strides_reach_the_interpreter():
    n, s = T.symbolic("n"), T.symbolic("s")

    @T.prim_func
    def rows(X: T.StridedTensor((n, 4), (s, 1), "float32"), Y: T.Tensor((n, 4), "float32")):
        with T.Kernel(n, threads=32) as i:
            for j in T.serial(4):
                Y[i, j] = X[i, j] + s

    x = np.arange(14, dtype=np.float32).reshape(2, 7)[:, 2:6]
    y = np.zeros((2, 4), np.float32)
    tl.compile(rows, target="reference")(x, y)
    np.testing.assert_array_equal(y, x + 7)


def test_packed_types_and_scalars_reach_the_interpreter():
    @T.prim_func
    def rows(
        X: T.Tensor((2, 4), "int4"),
        flag: T.bool,
        big: T.uint64,
        Y: T.Tensor((2, 4), "int32"),
        Z: T.Tensor((1,), "uint64"),
    ):
        with T.Kernel(2, threads=32) as i:
            for j in T.serial(4):
                Y[i, j] = T.if_then_else(flag, T.cast(X[i, j], "int32"), 0)
            if i == 0:
                Z[0] = big

    packed = np.array([[0x21, 0x43], [0x65, -8]], np.int8)
    y, z = np.zeros((2, 4), np.int32), np.zeros(1, np.uint64)
    tl.compile(rows, target="reference")(packed, True, 2**64 - 1, y, z)
    assert y.tolist() == [[1, 2, 3, 4], [5, 6, -8, -1]]
    assert z[0] == 2**64 - 1


@tl.jit(target="reference")
def reads_too_far(n):
    @T.prim_func
    def main(X: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((4,), "float32")
            for i in T.serial(n):
                if X[0] == 0:
                    tile[i] = X[0]

    return main


def test_what_is_wrong_is_an_exception_at_the_kernels_line():
    with pytest.raises(KernelError) as wrong:
        reads_too_far(5)(np.zeros(4, np.float32))
    assert "index 4 is out of range for dim 0 of 'tile' with extent 4" in str(wrong.value)
    assert "tile[i] = X[0]" in str(wrong.value)
    assert isinstance(wrong.value, RuntimeError)


def test_prints_go_to_standard_output(capsys):
    @T.prim_func
    def says(X: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=32):
            T.print(X[0])

    tl.compile(says, target="reference")(np.ones(1, np.float32))
    assert "1" in capsys.readouterr().out


def test_an_eager_kernel_runs_too():
    @tl.jit(target="reference")
    def twice(X):
        n = T.const("n")
        X: T.Tensor((n,), "float32")
        Y = T.empty((n,), "float32")
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                Y[i] = X[i] * 2
        return Y

    assert twice(np.arange(3, dtype=np.float32)).tolist() == [0, 2, 4]


def test_it_has_no_library(tmp_path):
    with pytest.raises(tl.UnsupportedError, match="target 'reference' makes no library"):
        matmul(16, 16, 16).export_library(str(tmp_path / "x.so"))


def test_an_output_that_nobody_wrote_is_told_where_it_is_read():
    """Outputs that the call makes hold nothing: T.empty, and those of out_idx."""

    @tl.jit(target="reference")
    def eager(A):
        A: T.Tensor[[4], T.float32]
        B = T.empty((4,), T.float32)
        with T.Kernel(1):
            for i in T.serial(4):
                B[i] += A[i]
        return B

    a = np.ones(4, np.float32)
    message = r"reads element \[0\] of 'B', which was never written"
    with pytest.raises(KernelError, match=message):
        eager(a)

    @T.prim_func
    def lazy(A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")):
        with T.Kernel(1):
            for i in T.serial(4):
                B[i] = A[i] + B[3 - i]

    with pytest.raises(KernelError, match=message.replace("0", "3")):
        tl.compile(lazy, out_idx=[1], target="reference")(a)
    given = np.full(4, 2, np.float32)  # the caller's own holds what the caller wrote
    tl.compile(lazy, out_idx=[1], target="reference")(a, given)
    assert given.tolist() == [3, 3, 4, 4]


def test_only_the_chosen_side_of_a_choice_is_read():
    """T.if_then_else, `and` and `or` are lazy: what isn't chosen needs no value and can't race."""

    @T.prim_func
    def group_of_rows(P: T.Tensor((3,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(8, threads=32) as b:
            group = T.alloc_local([1], "int32")
            for i in range(3):
                group[0] = T.if_then_else(b >= P[i], i, group[0])
            B[b] = group[0]

    starts = np.array([0, 3, 5], np.int32)
    kernel = tl.compile(group_of_rows, out_idx=[1], target="reference")
    assert kernel(starts).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    with pytest.raises(KernelError, match=r"reads element \[0\] of 'group', which was never"):
        kernel(starts + 1)

    @T.prim_func
    def nested(B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=32):
            seen = T.alloc_local([1], "int32")
            for i in T.Parallel(8):
                before = T.if_then_else(i < 0, B[i - 1] + 1, 5)
                B[i] = T.if_then_else(i < 0, T.if_then_else(i < 4, seen[0], 1) * 2, before)
            for i in range(8):
                if i > 8 and seen[0] == 1:
                    B[i] = 0

    assert tl.compile(nested, out_idx=[0], target="reference")().tolist() == [5] * 8

    @T.prim_func
    def read_before_the_write(A: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=32):
            old = A[0]
            A[0] = 7
            A[1] = T.if_then_else(A[0] == 7, old, 0)

    a = np.array([3, 4], np.int32)
    tl.compile(read_before_the_write, target="reference")(a)
    assert a.tolist() == [7, 3]


def test_the_chosen_side_may_read_where_another_read_says():
    """An index that only the lazy side needs is computed with it."""

    @T.prim_func
    def successors(A: T.Tensor((10,), "int32"), B: T.Tensor((10,), "int32")):
        with T.Kernel(10, threads=1) as bx:
            best = T.alloc_var("int32", init=-1)
            for i in T.serial(10):
                if A[i] > A[bx]:  # noqa: SIM102
                    if best == -1 or A[i] < A[best]:
                        best = i
            B[bx] = best

    a = np.array([3, 7, 0, 9, 1, 4, 8, 2, 6, 5], np.int32)
    wanted = [int(np.flatnonzero(a == x + 1)[0]) if x < 9 else -1 for x in a]
    for target in ("reference", "cpu"):
        b = np.zeros(10, np.int32)
        tl.compile(successors, target=target)(a, b)
        assert b.tolist() == wanted, target

    @T.prim_func
    def nested(P: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(4):
                B[i] = T.if_then_else(P[i] >= 0, P[P[P[i]]] * 10 + P[3 - P[i]], -1)

    p = np.array([2, 0, 3, -1], np.int32)
    made = [tl.compile(nested, out_idx=[1], target=t)(p).tolist() for t in ("reference", "cpu")]
    assert made[0] == made[1] == [-10, 29, 2, -1]


@T.prim_func
def shifted(A: T.Tensor((64,), "int32"), Out: T.Tensor((70,), "int32"), first: T.int32):
    with T.Kernel(2, threads=32) as bx:
        tile = T.alloc_shared((40,), "int32")
        T.copy(A[bx * 40], tile)  # the last tile is ragged
        for i in T.Parallel(40):
            if bx * 40 + i < 70:
                inside = T.if_then_else(bx * 40 + i < 64, A[bx * 40 + i], 0)
                Out[bx * 40 + i + first] = tile[i] + inside


@T.prim_func
def looked_up(A: T.Tensor((64,), "int32"), Out: T.Tensor((64,), "int32"), first: T.int32):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(64):
            Out[i] = A[i + first]


@T.prim_func
def counted(A: T.Tensor((64,), "int32"), Out: T.Tensor((64,), "int32"), first: T.int32):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(64):
            T.atomic_add(Out[i - first], A[i])


UNGUARDED = {tl.PassConfigKey.TL_DISABLE_SAFE_MEMORY_ACCESS: True}


@pytest.mark.parametrize(
    "kernel, count, message",
    [
        (
            shifted,
            70,
            "index 70 is out of range for dim 0 of 'Out' with extent 70; guard it by `if i < 70`",
        ),
        (
            looked_up,
            64,
            "index 64 is out of range for dim 0 of 'A' with extent 64; guard it by `if i < 64`, "
            "or choose another value: T.if_then_else(i < 64, .., ..)",
        ),
        (
            counted,
            64,
            "index -1 is out of range for dim 0 of 'Out' with extent 64; guard it by `if i >= 0`",
        ),
    ],
)
def test_elements_outside_of_tensors_are_found_where_asked(kernel, count, message, monkeypatch):
    a, out = np.arange(64, dtype=np.int32), np.zeros(count, np.int32)
    tl.compile(kernel, target="reference")(a, out, 1)  # the language's edges
    strict = tl.compile(kernel, target="reference", pass_configs=UNGUARDED)
    with pytest.raises(KernelError, match=re.escape(message)) as found:
        strict(a, out, 1)
    assert "first" in str(found.value)  # the line that has the index
    strict(a, out, 0)  # the ragged tile and the choice stay silent
    monkeypatch.setenv("TILEWRIGHT_STRICT_INDICES", "1")
    with pytest.raises(KernelError, match=re.escape(message)):
        tl.compile(kernel, target="reference")(a, out, 1)
    tl.compile(kernel, target="cpu", pass_configs=UNGUARDED)(a, out, 1)


def test_tiles_of_images_stay_silent():
    """Their padding, and what is behind the last image, are zeros by definition."""

    @T.prim_func
    def columns(X: T.Tensor((2, 3, 3, 4), "float32"), Out: T.Tensor((32, 36), "float32")):
        with T.Kernel(2, threads=32) as by:
            tile = T.alloc_shared((16, 36), "float32")
            T.im2col(X, tile, by, 0, 3, 1, 1, 1)
            T.copy(tile, Out[by * 16, 0])

    x, out = np.ones((2, 3, 3, 4), np.float32), np.ones((32, 36), np.float32)
    tl.compile(columns, target="reference", pass_configs=UNGUARDED)(x, out)
    assert out[4].sum() == 36 and out[0].sum() == 16 and not out[18:].any()
