# SPDX-License-Identifier: Apache-2.0
"""Kernels for an Ascend core on the reference interpreter, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]
random = np.random.default_rng(5)


def normal(*shape: int, dtype: str = "float16") -> Array:
    return random.standard_normal(shape).astype(dtype)


def product(a: Array, b: Array) -> Array:
    return a.astype(np.float64) @ b.astype(np.float64)


def refusal(kernel: Any, *arguments: Any) -> str:
    """The first message of a kernel that doesn't build or run."""
    with pytest.raises(tilewright.CompileError) as caught:
        interpret(kernel, *arguments)
    return str(caught.value.errors[0].message)


# Seed 002, sections 1 and 2 ----------------------------------------------------------------------


def developer_matmul(
    M: int,
    N: int,
    K: int,
    block_M: int,
    block_N: int,
    K_L1: int,
    dtype: str = "float16",
    accum_dtype: str = "float",
) -> Any:
    m_num = M // block_M
    n_num = N // block_N

    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), dtype),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(m_num * n_num, is_npu=True) as (cid, _):
            bx = cid // n_num
            by = cid % n_num

            A_L1 = T.alloc_shared((block_M, K_L1), dtype)
            B_L1 = T.alloc_shared((K_L1, block_N), dtype)
            C_L0 = T.alloc_fragment((block_M, block_N), accum_dtype)

            loop_k = T.ceildiv(K, K_L1)
            for k in T.serial(loop_k):
                T.copy(A[bx * block_M, k * K_L1], A_L1)
                T.copy(B[k * K_L1, by * block_N], B_L1)
                T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0))

            T.copy(C_L0, C[bx * block_M, by * block_N])

    return main


def expert_matmul(
    M: int,
    N: int,
    K: int,
    block_M: int,
    block_N: int,
    block_K: int,
    dtype: str = "float16",
    accum_dtype: str = "float",
) -> Any:
    m_num = T.ceildiv(M, block_M)
    n_num = T.ceildiv(N, block_N)

    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((K, N), dtype),
        C: T.Tensor((M, N), accum_dtype),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(m_num * n_num, is_npu=True) as (cid, _):
            bx = cid // n_num
            by = cid % n_num

            A_L1 = T.alloc_L1([block_M, block_K], dtype)
            B_L1 = T.alloc_L1([block_K, block_N], dtype)
            C_L0 = T.alloc_L0C([block_M, block_N], accum_dtype)

            for k in T.serial(T.ceildiv(K, block_K)):
                T.copy(A[bx * block_M, k * block_K], A_L1)
                T.copy(B[k * block_K, by * block_N], B_L1)
                T.barrier_all()
                T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0), kL0Size=64)
                T.barrier_all()

            T.copy(C_L0, C[bx * block_M, by * block_N])

    return main


def test_developer_gemm() -> None:
    a, b, c = normal(64, 48), normal(48, 32), np.zeros((64, 32), np.float16)
    interpret(developer_matmul(64, 32, 48, 32, 16, 16), a, b, c)
    np.testing.assert_allclose(c, product(a, b), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_expert_gemm_with_tails(dtype: str) -> None:
    a, b = normal(70, 40, dtype=dtype), normal(40, 50, dtype=dtype)
    c = np.zeros((70, 50), np.float32)
    interpret(expert_matmul(70, 50, 40, 32, 32, 16, dtype), a, b, c)
    np.testing.assert_allclose(c, product(a, b), rtol=1e-5, atol=1e-5)


def test_integer_gemm() -> None:
    a = random.integers(-128, 128, (32, 64)).astype(np.int8)
    b = random.integers(-128, 128, (64, 32)).astype(np.int8)
    c = np.zeros((32, 32), np.int32)
    interpret(expert_matmul(32, 32, 64, 32, 32, 32, "int8", "int32"), a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.int64) @ b.astype(np.int64))


def test_mma_by_hand() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((32, 16), "float16"),
        B: T.Tensor((48, 16), "float16"),
        C: T.Tensor((32, 48), "float16"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, __):
            A_L1 = T.alloc_L1((32, 16), "float16")
            B_L1 = T.alloc_L1((48, 16), "float16")
            A_L0 = T.alloc_L0A((32, 16), "float16")
            B_L0 = T.alloc_L0B((16, 48), "float16")
            C_L0 = T.alloc_L0C((32, 48), "float")
            T.annotate_address({A_L1: 0, B_L1: 1024, A_L0: 0, B_L0: 0, C_L0: 0})
            with T.Scope("C"):
                T.copy(A, A_L1)
                T.copy(B, B_L1)
                T.set_flag("mte2", "mte1", 0)
                T.wait_flag("mte2", "mte1", 0)
                T.copy(A_L1, A_L0)
                T.copy(B_L1, B_L0, transpose=True)
                T.set_flag("mte1", "m", 0)
                T.wait_flag("mte1", "m", 0)
                T.mma(A_L0, B_L0, C_L0, init=True)
                T.set_flag("m", "fix", 0)
                T.wait_flag("m", "fix", 0)
                T.copy(C_L0, C, enable_relu=True)

    a, b, c = normal(32, 16), normal(48, 16), np.zeros((32, 48), np.float16)
    interpret(main, a, b, c)
    np.testing.assert_allclose(c, np.maximum(product(a, b.T), 0), rtol=2e-3, atol=1e-3)


# Cube and vector cores ---------------------------------------------------------------------------


def gemm_add(scoped: bool) -> Any:
    @T.prim_func
    def by_hand(
        A: T.Tensor((64, 32), "float16"),
        B: T.Tensor((32, 64), "float16"),
        D: T.Tensor((64, 64), "float"),
        workspace: T.Tensor((64, 64), "float"),
        C: T.Tensor((64, 64), "float"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            A_L1 = T.alloc_L1((64, 32), "float16")
            B_L1 = T.alloc_L1((32, 64), "float16")
            C_L0 = T.alloc_L0C((64, 64), "float")
            c_ub = T.alloc_ub((32, 64), "float")
            d_ub = T.alloc_ub((32, 64), "float")
            with T.Scope("V"):
                T.copy(D[vid * 32, 0], d_ub)
                T.wait_cross_flag(0)
                T.copy(workspace[vid * 32, 0], c_ub)
                for i, j in T.Parallel(32, 64):
                    c_ub[i, j] = c_ub[i, j] + d_ub[i, j]
                T.copy(c_ub, C[vid * 32, 0])
                T.set_cross_flag("MTE3", 1)
            with T.Scope("C"):
                T.copy(A, A_L1)
                T.copy(B, B_L1)
                T.gemm_v0(A_L1, B_L1, C_L0, init=True, n_actual=None)
                T.copy(C_L0, workspace)
                T.set_cross_flag("FIX", 0)
                T.wait_cross_flag(1)

    @T.prim_func
    def left_to_the_compiler(
        A: T.Tensor((64, 32), "float16"),
        B: T.Tensor((32, 64), "float16"),
        D: T.Tensor((64, 64), "float"),
        workspace: T.Tensor((64, 64), "float"),
        C: T.Tensor((64, 64), "float"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            A_L1 = T.alloc_shared((64, 32), "float16")
            B_L1 = T.alloc_shared((32, 64), "float16")
            C_L0 = T.alloc_fragment((64, 64), "float")
            c_ub = T.alloc_shared((32, 64), "float")
            d_ub = T.alloc_shared((32, 64), "float")
            T.copy(D[vid * 32, 0], d_ub)
            T.copy(A, A_L1)
            T.copy(B, B_L1)
            T.gemm_v0(A_L1, B_L1, C_L0, init=True)
            T.copy(C_L0, workspace)
            T.copy(workspace[vid * 32, 0], c_ub)
            for i, j in T.Parallel(32, 64):
                c_ub[i, j] = c_ub[i, j] + d_ub[i, j]
            T.copy(c_ub, C[vid * 32, 0])

    return by_hand if scoped else left_to_the_compiler


@pytest.mark.parametrize("scoped", [True, False])
def test_gemm_then_add(scoped: bool) -> None:
    a, b, d = normal(64, 32), normal(32, 64), normal(64, 64, dtype="float32")
    workspace, c = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    interpret(gemm_add(scoped), a, b, d, workspace, c)
    np.testing.assert_allclose(c, product(a, b) + d, rtol=1e-5, atol=1e-5)


def test_each_vector_core_has_its_own_tile() -> None:
    @T.prim_func
    def main(C: T.Tensor((2, 2, 8), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(2, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((1, 8), "int32")
            count = T.alloc_var("int32", 0)
            for _ in T.serial(vid + 1):  # the two take different ways
                count += 10
            for i, j in T.Parallel(1, 8):
                tile[i, j] = count + cid * 100 + j
            T.copy(tile, C[cid, vid, 0])

    c = np.zeros((2, 2, 8), np.int32)
    interpret(main, c)
    expected = np.arange(8) + np.array([10, 20])[:, None] + np.array([0, 100])[:, None, None]
    np.testing.assert_array_equal(c, expected)


def test_atomics_of_both_vector_cores() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(3, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((8,), "float")
            T.fill(tile, 1.0)
            T.atomic_add(C, tile)

    c = np.zeros(8, np.float32)
    interpret(main, c)
    np.testing.assert_array_equal(c, np.full(8, 6))


def test_cores_of_all_blocks_meet() -> None:
    @T.prim_func
    def main(A: T.Tensor((4, 8), "float"), C: T.Tensor((4, 8), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((1, 8), "float")
            if vid == 0:
                T.fill(tile, T.cast(cid, "float"))
                T.copy(tile, A[cid, 0])
            T.sync_all()
            if vid == 0:
                T.copy(A[3 - cid, 0], tile)
                T.copy(tile, C[cid, 0])

    a, c = np.zeros((4, 8), np.float32), np.zeros((4, 8), np.float32)
    interpret(main, a, c)
    np.testing.assert_array_equal(c[:, 0], [3, 2, 1, 0])


@pytest.mark.parametrize("form", ["copies", "elements", "reads", "behind a meeting"])
def test_blocks_use_one_element(form: str) -> None:
    """What lies on both sides of a meeting of all is ordered."""

    @T.prim_func
    def main(A: T.Tensor((8,), "float"), C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            tile = T.alloc_ub((8,), "float")
            T.copy(A, tile)
            if form == "behind a meeting":
                if cid == 0:
                    T.copy(tile, C)
                T.sync_all()
                T.copy(C, tile)
                T.sync_all()
            if form == "elements":
                for i in T.Parallel(8):
                    C[i] = tile[i]
            elif form == "reads":
                if cid == 0:
                    T.copy(tile, C)
                else:
                    T.copy(C, tile)
            else:
                T.copy(tile, C)

    message = "two blocks of the grid use element [0] of 'C', and one of them writes it"
    assert refusal(main, np.zeros(8, np.float32), np.zeros(8, np.float32)) == message


def test_cross_flags_of_a_kind() -> None:
    @T.prim_func
    def main(A: T.Tensor((2, 8), "float"), C: T.Tensor((2, 8), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tile = T.alloc_ub((1, 8), "float")
            T.fill(tile, T.cast(vid + 1, "float"))
            T.copy(tile, A[vid, 0])
            T.set_cross_flag("MTE3", 2, mode=1)
            T.wait_cross_flag(2)
            T.copy(A[1 - vid, 0], tile)
            T.copy(tile, C[vid, 0])

    a, c = np.zeros((2, 8), np.float32), np.zeros((2, 8), np.float32)
    interpret(main, a, c)
    np.testing.assert_array_equal(c[:, 0], [2, 1])


def test_cross_flags_of_the_grid() -> None:
    @T.prim_func
    def main(A: T.Tensor((6, 8), "float"), C: T.Tensor((6, 8), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(3, is_npu=True) as (cid, vid), T.Scope("V"):
            tile = T.alloc_ub((1, 8), "float")
            T.fill(tile, T.cast(cid * 2 + vid, "float"))
            T.copy(tile, A[cid * 2 + vid, 0])
            T.set_cross_flag("MTE3", 2, mode=0)
            T.wait_cross_flag(2)
            T.copy(A[5 - cid * 2 - vid, 0], tile)
            T.copy(tile, C[cid * 2 + vid, 0])

    a, c = np.zeros((6, 8), np.float32), np.zeros((6, 8), np.float32)
    interpret(main, a, c)
    np.testing.assert_array_equal(c[:, 0], [5, 4, 3, 2, 1, 0])


def test_pad_value() -> None:
    @T.prim_func
    def main(A: T.Tensor((3, 5), "float"), C: T.Tensor((4, 8), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=2) as (cid):
            tile = T.alloc_ub((4, 8), "float")
            T.copy(A[0, cid], tile, pad_value=-T.infinity("float"))
            T.copy(tile, C)

    a, c = normal(3, 5, dtype="float32"), np.zeros((4, 8), np.float32)
    interpret(main, a, c)
    expected = np.full((4, 8), -np.inf)
    expected[:3, :5] = a
    np.testing.assert_array_equal(c, expected)


# What goes wrong ---------------------------------------------------------------------------------


def test_a_cross_flag_that_nobody_sets() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            with T.Scope("V"):
                T.wait_cross_flag(1)
            with T.Scope("C"):
                T.wait_cross_flag(2)

    with pytest.raises(tilewright.CompileError) as caught:
        interpret(main, np.zeros(8, np.float32))
    (error,) = caught.value.errors
    assert error.message == "the cube core waits here for cross-core flag 2, which is never set"
    assert [note.message for note in error.notes] == ["vector core 0 waits here"]
    assert error.place.line == error.notes[0].place.line + 2


def test_one_core_does_not_come() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            if vid == 1:
                T.sync_all()

    with pytest.raises(tilewright.CompileError) as caught:
        interpret(main, np.zeros(8, np.float32))
    (error,) = caught.value.errors
    assert error.message == "vector core 1 waits here for cores that never come"
    ended = ["the cube core has ended", "vector core 0 has ended"]
    assert [note.message for note in error.notes] == ended


def test_a_flag_that_nobody_sets() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            T.wait_flag("mte2", "v", 0)
            T.set_flag("v", "mte2", 1)  # queued behind the wait
            T.wait_flag("v", "mte2", 1)
            T.set_flag("mte2", "v", 0)  # queued behind that wait
            T.barrier_all()

    with pytest.raises(tilewright.CompileError) as caught:
        interpret(main, np.zeros(8, np.float32))
    (error,) = caught.value.errors
    assert error.message == (
        "vector core 0 waits here for event 0 from MTE2 to V, which is never set"
    )
    (note,) = error.notes
    assert note.message == "MTE2 would set it here, but waits itself before that"
    assert note.place.line == error.place.line + 3


def test_a_core_has_only_flags_of_its_own_pipes() -> None:
    """The cube core has no V: of a kernel for vector cores it says nothing."""

    @T.prim_func
    def main(n: T.int32, C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            if n + vid > 0:
                T.set_flag("mte2", "v", 3)
            T.wait_flag("mte2", "v", 3)
            T.barrier_all()

    interpret(main, 1, np.zeros(8, np.float32))
    message = refusal(main, 0, np.zeros(8, np.float32))
    assert message == "vector core 0 waits here for event 3 from MTE2 to V, which is never set"


def test_a_wait_before_its_set_in_the_text() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            T.wait_flag("mte2", "v", 0)
            T.set_flag("mte2", "v", 0)
            T.barrier_all()

    interpret(main, np.zeros(8, np.float32))


def test_a_gemm_that_depends_on_the_vector_cores() -> None:
    def kernel(in_region: bool) -> Any:
        @T.prim_func
        def main(A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, 16), "float")):  # type: ignore[no-untyped-def]
            with T.Kernel(1, is_npu=True) as (cid, vid):
                a = T.alloc_L1((16, 16), "float16")
                c = T.alloc_L0C((16, 16), "float")
                ub = T.alloc_ub((8,), "int32")
                T.fill(ub, vid)
                T.copy(A, a)
                if in_region:
                    if ub[0] == 0:
                        T.gemm_v0(a, a, c, init=True)
                else:
                    T.gemm_v0(a, a, c, init=ub[0] == 0)

        return main

    a, c = normal(16, 16), np.zeros((16, 16), np.float32)
    assert refusal(kernel(True), a, c) == (
        "a gemm depends on a value here that only the vector cores know, not the cube core"
    )
    assert refusal(kernel(False), a, c) == (
        "the cube core needs a value here that only the vector cores know"
    )


def test_the_launch() -> None:
    def launched(**options: Any) -> Any:
        @T.prim_func
        def main(C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
            with T.Kernel(1, is_npu=True, **options) as _:
                pass

        return main

    zeros = np.zeros(8, np.float32)
    interpret(launched(threads=1), zeros)
    interpret(launched(threads=2), zeros)
    assert refusal(launched(threads=3), zeros) == "T.Kernel for an NPU takes 1 or 2 threads, not 3"
    told = "pipeline of T.Kernel is not supported yet; write the kernel's loop as T.Pipelined"
    assert refusal(launched(pipeline=True), zeros) == told


def test_addresses_are_of_buffers() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            T.annotate_address({"C": 0})

    wanted = "T.annotate_address takes buffers and their byte offsets, {buffer: 0}, not "
    assert refusal(main, np.zeros(8, np.float32)) == f"{wanted}'C' of type str"

    @T.prim_func
    def plain(C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            T.annotate_address(3)

    assert refusal(plain, np.zeros(8, np.float32)) == f"{wanted}3 of type int"


def test_hints_of_a_buffer_that_failed_are_silent() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            b = T.alloc_ub((8, 64), "float64x")
            T.annotate_address({b: 8192})
            T.annotate_layout({b: None})
            T.annotate_padding({b: 0})
            T.annotate_safe_value({b: 0})
            T.annotate_restrict_buffers(b)
            T.annotate_address({nothing: 0})  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="reference")
    assert [error.message for error in caught.value.errors] == [
        "there is no dtype 'float64x'; did you mean 'float64x8'?",
        "name 'nothing' is not defined",
    ]
