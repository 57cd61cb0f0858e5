# SPDX-License-Identifier: Apache-2.0
"""The language's words for control flow, memory and copies, on the host and the interpreter."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright.intrinsics import make_col_major_layout, make_nz_layout, make_zn_layout

Array = np.ndarray[Any, Any]
random = np.random.default_rng(37)
GROUP = KernelGroup()


def floats(*shape: int, dtype: str = "float32") -> Array:
    return random.standard_normal(shape).astype(dtype)


def add_swizzle() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((64, 48), "float16"),
        B: T.Tensor((48, 64), "float16"),
        C: T.Tensor((64, 64), "float"),
    ):
        with T.Kernel(16, is_npu=True) as (cid, _):
            a = T.alloc_L1((16, 48), "float16")
            b = T.alloc_L1((48, 16), "float16")
            c = T.alloc_L0C((16, 16), "float")
            T.annotate_layout({a: make_zn_layout(a), b: make_zn_layout(b)})
            block = T.use_swizzle(cid, 64, 64, 48, 16, 16, off=2)
            m, n = block // 4 * 16, block % 4 * 16
            T.copy(A[m, 0], a)
            T.copy(B[0, n], b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C[m, n])

    a, b = floats(64, 48, dtype="float16"), floats(48, 64, dtype="float16")
    c = np.zeros((64, 64), np.float32)
    GROUP.add("use_swizzle", main, [a, b, c], a.astype(np.float64) @ b.astype(np.float64))


def add_branches() -> None:
    @T.prim_func
    def main(A: T.Tensor((8, 16), "float"), C: T.Tensor((8, 16), "float")):
        with T.Kernel(4, is_npu=True) as (cid, vid):
            x = T.alloc_ub((1, 16), "float")
            row = cid * 2 + vid
            total = T.alloc_var("int32", init=0)
            for i in T.serial(16):
                if i > row:
                    T.loop_break()
                total += i
            while total > 10:
                total -= 3
            T.copy(A[row, 0], x)
            with T.If(row % 2 == 0):
                with T.Then():
                    T.tile.mul(x, x, 2.0)
                with T.Else():
                    T.tile.add(x, x, T.cast(total, "float"))
            T.copy(x, C[row, 0])

    a = floats(8, 16)
    expected = a.astype(np.float64)
    for row in range(8):
        total = sum(range(row + 1))
        while total > 10:
            total -= 3
        expected[row] = expected[row] * 2 if row % 2 == 0 else expected[row] + total
    GROUP.add("If, while, loop_break, alloc_var", main, [a, np.zeros_like(a)], expected)


def add_views() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((8, 16), "float"), C: T.Tensor((128,), "float"), B: T.Tensor((128,), "int32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((8, 16), "float")
            bits = T.alloc_ub((128,), "int32")
            T.reinterpretcast(bits, x, "int32")
            T.copy(A, x)
            flat = T.reshape(x, (128,))
            same = T.view(flat, dtype="int32")
            T.copy(flat, C)
            T.tile.add(same, bits, 1)
            T.copy(bits, B)

    a = floats(8, 16)
    flat = a.ravel()
    results = {1: flat, 2: flat.view(np.int32) + 1}
    given = [a, np.zeros(128, np.float32), np.zeros(128, np.int32)]
    GROUP.add("reshape, view, reinterpretcast", main, given, results, rtol=0, atol=0)


def add_dynamic() -> None:
    M, N = T.symbolic("M"), T.symbolic("N")

    @T.macro
    def scaled(x: T.SharedBuffer((4, 16), "float"), factor: Any):
        T.tile.mul(x, x, factor)

    @T.prim_func
    def main(A: T.Tensor((M, N), "float"), C: T.Tensor((M, N), "float")):
        with T.Kernel(T.ceildiv(M, 8), is_npu=True) as (cid, vid):
            tile = T.alloc_ub((4, 16), "float")
            first = cid * 8 + vid * 4
            for j in T.serial(T.floordiv(N + 15, 16)):
                T.copy(A[first, j * 16], tile)
                scaled(tile, 3.0)
                T.copy(tile, C[first, j * 16])

    a = floats(19, 37)
    GROUP.add("dynamic dims, macro", main, [a, np.zeros_like(a)], a.astype(np.float64) * 3)


def add_meeting() -> None:
    """All cores wait for each other; then those of a block, by flags of mode 1 and 0."""

    @T.prim_func
    def main(A: T.Tensor((8, 8), "float"), C: T.Tensor((8, 8), "float")):
        with T.Kernel(4, is_npu=True) as (cid, vid), T.Scope("V"):
            x = T.alloc_ub((1, 8), "float")
            own = cid * 2 + vid
            T.tile.fill(x, T.cast(own, "float"))
            T.barrier_all()
            T.copy(x, A[own, 0])
            T.set_cross_flag("MTE3", 2, mode=1)
            T.wait_cross_flag(2)
            T.barrier_all()
            T.copy(A[own + 1 - 2 * vid, 0], x)
            T.barrier_all()
            T.set_cross_flag("MTE2", 3, mode=0)
            T.wait_cross_flag(3)
            T.copy(x, A[own, 0])
            T.set_cross_flag("MTE3", 3, mode=0)
            T.wait_cross_flag(3)
            T.barrier_all()
            T.copy(A[7 - own, 0], x)
            T.barrier_all()
            T.copy(x, C[own, 0])

    swapped = np.array([1, 0, 3, 2, 5, 4, 7, 6.0])[::-1, None]
    given = [np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32)]
    GROUP.add("cross flags of all modes", main, given, swapped + np.zeros(8), configs={})

    @T.prim_func
    def all_cores(A: T.Tensor((4, 8), "float"), C: T.Tensor((4, 8), "float")):
        with T.Kernel(4, is_npu=True) as (cid, vid):
            x = T.alloc_ub((1, 8), "float")
            if vid == 0:
                T.tile.fill(x, T.cast(cid, "float"))
                T.barrier_all()
                T.copy(x, A[cid, 0])
            T.barrier_all()
            T.sync_all()
            if vid == 0:
                T.copy(A[3 - cid, 0], x)
                T.barrier_all()
                T.copy(x, C[cid, 0])

    order = np.array([3, 2, 1, 0.0])[:, None] + np.zeros(8)
    given = [np.zeros((4, 8), np.float32), np.zeros((4, 8), np.float32)]
    GROUP.add("sync_all", all_cores, given, order, configs={})


def add_addresses() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((32, 48), "float16"),
        B: T.Tensor((48, 32), "float16"),
        C: T.Tensor((32, 32), "float16"),
    ):
        with T.Kernel(1, is_npu=True) as (_, __), T.Scope("C"):
            a_l1 = T.alloc_L1((32, 48), "float16")
            b_l1 = T.alloc_L1((48, 32), "float16")
            a = T.alloc_L0A((32, 48), "float16")
            b = T.alloc_L0B((48, 32), "float16")
            c = T.alloc_L0C((32, 32), "float")
            T.annotate_address({a_l1: 0, b_l1: 4096, a: 1024, b: 0, c: 2048})
            T.init_flag({"mte1": {"mte2": [0]}})
            T.wait_flag("mte1", "mte2", 0)
            T.copy(A, a_l1)
            T.copy(B, b_l1)
            T.set_flag("mte2", "mte1", 0)
            T.wait_flag("mte2", "mte1", 0)
            T.copy(a_l1, a)
            T.copy(b_l1, b)
            T.set_flag("mte1", "m", 0)
            T.set_flag("mte1", "mte2", 1)
            T.wait_flag("mte1", "m", 0)
            T.mma(a, b, c, init=True)
            T.set_flag("m", "fix", 0)
            T.wait_flag("m", "fix", 0)
            T.copy(c, C, enable_relu=True)
            T.clear_flag({"mte1": {"mte2": [1]}})

    a, b = floats(32, 48, dtype="float16"), floats(48, 32, dtype="float16")
    c = np.zeros((32, 32), np.float16)
    expected = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0)
    GROUP.add(
        "annotate_address, flags, mma, ReLU",
        main,
        [a, b, c],
        expected,
        configs={},
        rtol=2e-3,
        atol=1e-3,
    )


def add_scaled() -> None:
    """int32 to float16 on the way out of L0C, with ReLU, by a scale that a call gives."""

    @T.prim_func
    def main(
        A: T.Tensor((40, 64), "int8"),
        B: T.Tensor((48, 64), "int8"),
        C: T.Tensor((40, 48), "float16"),
        D: T.Tensor((40, 48), "float16"),
        scale: T.float32,
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_L1((40, 64), "int8")
            b = T.alloc_L1((48, 64), "int8")
            c = T.alloc_L0C((40, 48), "int32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, transpose_B=True, init=True)
            T.set_deq_scale(scale)
            T.copy(c, C)
            T.tile.set_deq_scale(0.25)
            T.copy(c, D, enable_relu=True)

    a = random.integers(-20, 20, (40, 64)).astype(np.int8)
    b = random.integers(-20, 20, (48, 64)).astype(np.int8)
    made = a.astype(np.float64) @ b.T.astype(np.float64)
    half = np.zeros((40, 48), np.float16)
    results = {2: made * 0.01, 3: np.maximum(made * 0.25, 0)}
    GROUP.add("set_deq_scale", main, [a, b, half, half, 0.01], results, rtol=2**-10)


def add_routes() -> None:
    """Rows and columns of UB, with and without a conversion; parts of tiles of the cube core."""

    @T.prim_func
    def columns(
        A: T.Tensor((16, 24), "float"),
        C: T.Tensor((16, 24), "float"),
        D: T.Tensor((16,), "float16"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((16, 24), "float")
            y = T.alloc_ub((16, 24), "float")
            row = T.alloc_ub((16,), "float")
            half = T.alloc_ub((16,), "float16")
            T.copy(A, x)
            T.tile.fill(y, 7.0)
            T.copy(x[:, 8:9], row)
            T.copy(row, y[:, 16:17])
            T.copy(x[:, 16:17], half)
            T.copy(half, y[:, 0:1])
            T.copy(y, C)
            T.copy(half, D)

    a = floats(16, 24)
    expected = np.full((16, 24), 7.0)
    expected[:, 16] = a[:, 8]
    half = a[:, 16].astype(np.float16)
    expected[:, 0] = half
    given = [a, np.zeros_like(a), np.zeros(16, np.float16)]
    GROUP.add("columns of UB", columns, given, {1: expected, 2: half}, rtol=0, atol=0)

    @T.prim_func
    def halves(
        A: T.Tensor((64, 32), "float16"),
        B: T.Tensor((32, 48), "float16"),
        C: T.Tensor((64, 48), "float"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((32, 32), "float16")
            a = T.alloc_L1((64, 32), "float16")
            b = T.alloc_L1((32, 48), "float16")
            c = T.alloc_L0C((64, 48), "float")
            y = T.alloc_ub((32, 48), "float")
            T.copy(A[vid * 32, 0], x)
            T.tile.mul(x, x, 2.0)
            T.copy(x, a[vid * 32, 0])
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c[vid * 32 : vid * 32 + 32, :], y)
            T.copy(y, C[vid * 32, 0])

    a, b = floats(64, 32, dtype="float16"), floats(32, 48, dtype="float16")
    c = np.zeros((64, 48), np.float32)
    GROUP.add(
        "halves of the cube's tiles",
        halves,
        [a, b, c],
        2 * a.astype(np.float64) @ b.astype(np.float64),
    )

    @T.prim_func
    def padded(A: T.Tensor((3, 5), "float"), C: T.Tensor((4, 8), "float")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((4, 8), "float")
            T.copy(A[0, 0], x, pad_value=-T.infinity("float"))
            T.copy(x, C)

    a = floats(3, 5)
    expected = np.full((4, 8), -np.inf)
    expected[:3, :5] = a
    GROUP.add("pad_value", padded, [a, np.zeros((4, 8), np.float32)], expected, rtol=0, atol=0)


def add_dtypes() -> None:
    """Each dtype of the chip through UB, with a tail."""
    dtypes = ["float16", "half", "float32", "float", "bfloat16"]
    dtypes += ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    for dtype in dtypes:

        def kernel(dtype: str) -> Any:
            @T.prim_func
            def main(A: T.Tensor((20, 40), dtype), C: T.Tensor((20, 40), dtype)):
                with T.Kernel(2, is_npu=True) as (cid, vid):
                    x = T.alloc_ub((8, 64), dtype)
                    T.copy(A[cid * 16 + vid * 8, 0], x)
                    T.copy(x, C[cid * 16 + vid * 8, 0])

            return main

        name = {"half": "float16", "float": "float32"}.get(dtype, dtype)
        kind = ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)
        a = (random.standard_normal((20, 40)) * 40 + 99).astype(kind)
        GROUP.add(f"copies of {dtype}", kernel(dtype), [a, np.zeros_like(a)], a, rtol=0, atol=0)


def add_older_forms() -> None:
    """Seed 004's: names without T.tile, destination first."""

    @T.prim_func
    def main(
        A: T.Buffer((8, 64), "float"), B: T.Buffer((8, 64), "float"), C: T.Buffer((3, 8), "float")
    ):
        with T.kernel(1, is_npu=True) as (cid, vid):
            T.func_attr({"enable_auto_sync": True})
            a = T.alloc_UB((4, 64), "float")
            b = T.alloc_UB((4, 64), "float")
            tmp = T.alloc_UB((4, 64), "float")
            row = T.alloc_UB((4,), "float")
            first = vid * 4
            T.copy(A[first, 0], a)
            T.copy(B[first, 0], b)
            T.add(tmp, a, b)
            T.mul(tmp, tmp, a)
            T.sub(tmp, tmp, b)
            T.exp(b, b)
            T.div(tmp, tmp, b)
            T.reduce_max(row, tmp, a, 1)
            T.copy(row, C[0, first])
            T.reduce_min(tmp, row, dim=-1)
            T.copy(row, C[1, first])
            T.reduce(tmp, row, "sum", 1)
            T.copy(row, C[2, first])

    a, b = floats(8, 64), floats(8, 64)
    x, y = a.astype(np.float64), b.astype(np.float64)
    z = ((x + y) * x - y) / np.exp(y)
    results = np.stack([z.max(1), z.min(1), z.sum(1)])
    GROUP.add("seed 004", main, [a, b, np.zeros((3, 8), np.float32)], results, rtol=1e-3, atol=1e-3)


def add_scalars() -> None:
    M = T.dynamic("M")

    @T.macro
    def cleared(x: T.FragmentBuffer((4, 16), "float"), y: T.LocalBuffer((1,), "float")):
        T.tile.fill(x, y[0])

    @T.prim_func
    def main(
        A: T.Tensor((M,), "float"),
        C: T.Tensor((6, 16), "float"),
        B: T.Tensor((16,), "int32"),
        D: T.Tensor((4, 16), "float"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((16,), "float")
            c = T.alloc_ub((6, 16), "float")
            b = T.alloc_ub((16,), "int32")
            d = T.alloc_ub((4, 16), "float")
            zero = T.alloc_local((1,), "float")
            zero[0] = 2.5
            cleared(d, zero)
            T.copy(A[0], x)
            for i in T.Parallel(16):
                c[0, i] = T.Select(x[i] > 1.0, x[i], 0.0)
                c[1, i] = T.log(x[i])
                c[2, i] = T.sqrt(x[i])
                c[3, i] = T.clamp(x[i], 0.5, 1.5)
                c[4, i] = T.if_then_else(i < 8, x[i], -x[i])
                c[5, i] = T.floordiv(i, 3)  # by the scalar unit, which has no logarithm
                b[i] = T.reinterpret(x[i], "int32")
            for i in T.unroll(2):
                d[i, 0] = x[i]
            for i in T.vectorized(4):
                d[3, i] = x[i]
            T.copy(c, C)
            T.copy(b, B)
            T.copy(d, D)

    a = random.uniform(0.1, 2, 16).astype(np.float32)
    x = a.astype(np.float64)
    signs = np.where(np.arange(16) < 8, 1, -1)
    rows = [np.where(x > 1, x, 0), np.log(x), np.sqrt(x), np.clip(x, 0.5, 1.5), x * signs]
    d = np.full((4, 16), 2.5)
    d[:2, 0], d[3, :4] = a[:2], a[:4]
    results = {1: np.stack([*rows, np.arange(16) // 3]), 2: a.view(np.int32), 3: d}
    given = [
        a,
        np.zeros((6, 16), np.float32),
        np.zeros(16, np.int32),
        np.zeros((4, 16), np.float32),
    ]
    GROUP.add("scalar expressions", main, given, results, rtol=1e-5)


def add_layouts() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((32, 48), "float16"),
        B: T.Tensor((64, 48), "float16"),
        C: T.Tensor((32, 64), "float"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, _):
            a = T.alloc_L1((32, 48), "float16")
            b = T.alloc_L1((64, 48), "float16")
            x = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((32, 64), "float")
            T.annotate_layout(
                {a: make_zn_layout(a), b: make_nz_layout(b), x: make_col_major_layout(x)}
            )
            T.annotate_padding({A: 0})
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, transpose_B=True, init=True)
            T.copy(c, C)

    a, b = floats(32, 48, dtype="float16"), floats(64, 48, dtype="float16")
    expected = a.astype(np.float64) @ b.T.astype(np.float64)
    GROUP.add("layouts", main, [a, b, np.zeros((32, 64), np.float32)], expected)


def add_global_nests() -> None:
    """Nests that read and write global memory: the compiler puts tiles in UB."""
    M = T.symbolic("M")

    @T.prim_func
    def rectangles(
        A: T.Tensor((M, 64), "float"), B: T.Tensor((64,), "float"), C: T.Tensor((M, 64), "float16")
    ):
        with T.Kernel(T.ceildiv(M, 32), threads=2, is_npu=True) as cid:
            for i, j in T.Parallel(32, 64):
                C[cid * 32 + i, j] = A[cid * 32 + i, j] * 2.0 + B[j]

    a, b = floats(50, 64), floats(64)
    expected = a.astype(np.float64) * 2 + b
    given = [a, b, np.zeros((50, 64), np.float16)]
    GROUP.add("nest over global memory", rectangles, given, expected, rtol=2e-3, atol=2e-3)

    @T.prim_func
    def in_place(A: T.Tensor((30,), "float"), C: T.Tensor((30,), "float")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            for k in T.serial(2):
                for i in T.Parallel(16):
                    C[k * 16 + i] = C[k * 16 + i] + A[k * 16 + i]

    a, c = floats(30), floats(30)
    GROUP.add("nest that updates global memory", in_place, [a, c], a.astype(np.float64) + c)


add_swizzle()
add_global_nests()
add_older_forms()
add_scalars()
add_layouts()
add_dtypes()
add_branches()
add_views()
add_dynamic()
add_meeting()
add_addresses()
add_scaled()
add_routes()


@pytest.mark.parametrize("name", GROUP.cases)
def test_language(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


@pytest.mark.parametrize("name", ["nest over global memory", "nest that updates global memory"])
def test_no_element_of_global_memory_is_touched_by_itself(name: str) -> None:
    source = GROUP.check(name).ascendc
    assert "GetValue" not in source and "SetValue" not in source


def test_printing(capfd: pytest.CaptureFixture[str]) -> None:
    @T.prim_func
    def main(A: T.Tensor((2, 6), "float")):
        with T.Kernel(1, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((2, 6), "float")
            T.copy(A, x)
            T.printf("block %d has %f\n", cid, x[0, 1])
            T.printf("50%% of %d%%, %%d and %%%d\n", cid, cid)
            T.dump_tensor(x, 9, 12)
            T.print(A, "all of A")

    a = np.arange(12, dtype=np.float32).reshape(2, 6)
    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    kernel(a)
    said = capfd.readouterr().out.splitlines()
    assert said == [
        "block 0 has 1.000000",
        "50% of 0%, %d and %0",
        "DumpTensor 9: 6 elements of block 0",
        "0 1 2 3 4 5",
        "DumpTensor 9: 6 elements of block 0",
        "6 7 8 9 10 11",
        "all of A",
        "DumpTensor 0: 12 elements of block 0",
        "0 1 2 3 4 5 6 7 8 9 10 11",
    ]


def test_what_cannot_be_printed() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 16), "float16")):
        with T.Kernel(1, is_npu=True) as (_, __):
            a = T.alloc_L1((16, 16), "float16")
            T.copy(A, a)
            T.dump_tensor(a, 1, 256)

    with pytest.raises(
        tilewright.CompileError,
        match="printing a buffer in L1; it prints dense tensors and tiles in UB of static shapes",
    ):
        tilewright.compile(main, target="ascend")


def test_a_scale_that_is_not_there() -> None:
    def kernel(scaled: bool) -> Any:
        @T.prim_func
        def main(A: T.Tensor((16, 32), "int8"), C: T.Tensor((16, 16), "float16")):
            with T.Kernel(1, is_npu=True) as (_, __):
                a = T.alloc_L1((16, 32), "int8")
                c = T.alloc_L0C((16, 16), "int32")
                T.copy(A, a)
                T.gemm_v0(a, a, c, transpose_B=True, init=True)
                for i in T.serial(2):
                    if scaled:
                        T.set_deq_scale(T.cast(i, "float"))
                T.copy(c, C)

        return main

    with pytest.raises(tilewright.CompileError, match="call T.set_deq_scale before this copy"):
        tilewright.compile(kernel(False), target="ascend")
    with pytest.raises(
        tilewright.CompileError, match="is a value of a loop or branch that has ended"
    ):
        kernel(True).capture()


@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_a_cast_leaves_the_scale_of_copies_out(scale: float) -> None:
    """On the chip a register scales both; here only what leaves L0C, and a warning tells it."""

    @T.prim_func
    def main(A: T.Tensor((16,), "int32"), B: T.Tensor((16,), "float16")):
        with T.Kernel(1, threads=1, is_npu=True):
            a = T.alloc_ub((16,), "int32")
            b = T.alloc_ub((16,), "float16")
            T.copy(A, a)
            T.tile.set_deq_scale(scale)
            T.tile.cast(b, a, "CAST_RINT")
            T.copy(b, B)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        main.capture()
    assert [str(each.message) for each in told] == [
        "T.tile.cast from int32 to float16 leaves out the scale of T.set_deq_scale, which counts "
        "in copies from L0C; multiply with T.tile.mul"
    ] * (scale != 1)
