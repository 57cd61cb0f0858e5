# SPDX-License-Identifier: Apache-2.0
"""Loops that are left early, and flags whose numbers are known only when the kernel runs: flags of
the compiler's own order the rest, on one kind of core and on both."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
random = np.random.default_rng(5)


@pytest.mark.filterwarnings("error")
def test_loop_that_is_left_early() -> None:
    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), S: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "float32")
            total = T.alloc_ub((64,), "float32")
            T.tile.fill(total, 0.0)
            for i in T.serial(8):
                T.copy(A[i, 0], x)
                if x[0] < 0.0:
                    T.loop_break()
                T.tile.add(total, total, x)
            T.copy(total, S)

    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    text = kernel.get_kernel_source()
    assert "PipeBarrier<PIPE_ALL>" not in text
    # As it was written, with the flag for which the next iteration would have waited.
    assert text.count("break;") == 1 and "exit_state" not in text
    leaves = text.split("if (x_value < 0.0f) {")[1].split("}")[0]
    assert leaves.count("SetFlag<HardEvent::") == 1 and "break;" in leaves
    a = np.abs(random.standard_normal((8, 64))).astype(np.float32)
    a[5, 0] = -1.0
    made = np.asarray(kernel(a))
    np.testing.assert_allclose(made, a[:5].astype(np.float64).sum(0), rtol=1e-6)
    same = np.zeros(64, np.float32)
    interpret(main, a, same)
    np.testing.assert_allclose(made, same, rtol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("stop", [0, 1, 3, 9])
def test_mixed_kernel_that_is_left_early(stop: int) -> None:
    """Products of parts, of which the odd ones are skipped and those from `stop` on left."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, 32, 32), "float16"),
        B: T.Tensor((32, 32), "float16"),
        C: T.Tensor((32, 32), "float32"),
        stop: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 32), "float16")
            product = T.alloc_fragment((32, 32), "float32")
            part = T.alloc_ub((32, 32), "float32")
            total = T.alloc_ub((32, 32), "float32")
            T.tile.fill(total, 0.0)
            T.copy(B, b)
            for i in T.serial(4):
                if i >= stop:
                    T.loop_break()
                T.copy(A[i, 0, 0], a)
                T.gemm_v0(a, b, product, init=True)
                T.copy(product, part)
                if i % 2 == 1:
                    continue
                T.tile.add(total, total, part)
            T.copy(total, C)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    cube = kernel.get_kernel_source().split("if ASCEND_IS_AIV {")[0]
    assert "exit_state" not in cube and "break;" in cube
    a = random.integers(-3, 4, (4, 32, 32)).astype(np.float16)
    b = random.integers(-3, 4, (32, 32)).astype(np.float16)
    made, same = np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32)
    kernel(a, b, made, stop)
    interpret(main, a, b, same, stop)
    taken = a[: min(stop, 4) : 2].astype(np.float64).sum(0) @ b.astype(np.float64)
    np.testing.assert_array_equal(made, taken)
    np.testing.assert_array_equal(same, taken)


@pytest.mark.filterwarnings("error")
def test_while_that_is_left_early() -> None:
    @T.prim_func
    def main(A: T.Tensor((8, 64), "float32"), S: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "float32")
            row = T.alloc_var("int32", init=0)
            while row < 8:
                T.copy(A[row, 0], x)
                if x[0] < 0.0:
                    break
                row = row + 1
            T.copy(x, S)

    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    assert "exit_state" not in kernel.get_kernel_source()
    assert "goes_on" not in kernel.get_kernel_source()
    a = np.abs(random.standard_normal((8, 64))).astype(np.float32)
    a[6, 0] = -1.0
    np.testing.assert_array_equal(np.asarray(kernel(a)), a[6])


@pytest.mark.parametrize("event", [0, 5])
def test_mixed_kernel_with_a_flag_of_a_number_at_run_time(event: int) -> None:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"), C: T.Tensor((32, 32), "float32"), event: T.int32
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_shared((32, 32), "float16")
            product = T.alloc_fragment((32, 32), "float32")
            part = T.alloc_ub((32, 32), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a, product, init=True)
            T.copy(product, part)
            T.set_flag("mte2", "v", event)
            T.wait_flag("mte2", "v", event)
            T.tile.add(part, part, 1.0)
            T.copy(part, C)

    with pytest.warns(UserWarning) as told:
        kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    assert ["made of 'event', is known only when" in str(each.message) for each in told] == [True]
    a = random.integers(-3, 4, (32, 32)).astype(np.float16)
    made = np.zeros((32, 32), np.float32)
    kernel(a, made, event)
    wide = a.astype(np.float64)
    np.testing.assert_array_equal(made, wide @ wide + 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("first", [0, 1, 4])
def test_clear_before_gemms_that_may_be_skipped(first: int) -> None:
    """A sum of products that begins behind what is skipped, or is empty."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4, 32, 32), "float16"), C: T.Tensor((2, 32, 32), "float32"), first: T.int32
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            for again in T.serial(2):
                T.clear(c)
                for i in T.serial(4):
                    if i < first:
                        continue
                    T.copy(A[i, 0, 0], a)
                    T.gemm(a, a, c)
                T.copy(c, C[again, 0, 0])

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a = random.integers(-3, 4, (4, 32, 32)).astype(np.float16)
    made, same = np.full((2, 32, 32), 7, np.float32), np.zeros((2, 32, 32), np.float32)
    kernel(a, made, first)
    interpret(main, a, same, first)
    wide = a[first:].astype(np.float64)
    np.testing.assert_array_equal(made, np.stack([(wide @ wide).sum(0)] * 2))
    np.testing.assert_array_equal(same, made)


@pytest.mark.filterwarnings("error")
def test_clear_before_a_loop_counted_by_memory() -> None:
    """Blocks of which some have nothing to add up."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        N: T.Tensor((3,), "int32"),
        A: T.Tensor((4, 32, 32), "float16"),
        C: T.Tensor((3, 32, 32), "float32"),
    ):
        with T.Kernel(3, is_npu=True, threads=1) as cid:
            a = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for i in T.serial(N[cid]):
                T.copy(A[i, 0, 0], a)
                T.gemm(a, a, c)
            T.copy(c, C[cid, 0, 0])

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    count = np.array([2, 0, 4], np.int32)
    a = random.integers(-3, 4, (4, 32, 32)).astype(np.float16)
    made = np.full((3, 32, 32), 7, np.float32)
    kernel(count, a, made)
    wide = a.astype(np.float64)
    expected = [(wide[:n] @ wide[:n]).sum(0) for n in count]
    np.testing.assert_array_equal(made, np.stack(expected))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("rows", "turns"), [(0, 0), (40, 3)])
def test_clear_before_loops_that_may_run_no_turn(rows: int, turns: int) -> None:
    """Counts of an outer loop, a block's number, an argument and a dynamic dim."""
    length = T.dynamic("length")

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"),
        B: T.Tensor((length, 32), "float16"),
        C: T.Tensor((2, 5, 32, 32), "float32"),
        turns: T.int32,
    ):
        with T.Kernel(2, threads=128) as block:
            a = T.alloc_shared((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            for j in T.serial(2):
                T.clear(c)
                for _ in T.serial(1 - j):
                    T.copy(A, a)
                    T.gemm(a, a, c)
                T.copy(c, C[block, j, 0, 0])
            T.clear(c)
            for _ in T.serial(block):
                T.copy(A, a)
                T.gemm(a, a, c)
            T.copy(c, C[block, 2, 0, 0])
            T.clear(c)
            for _ in T.serial(turns):
                T.copy(A, a)
                T.gemm(a, a, c)
            T.copy(c, C[block, 3, 0, 0])
            T.clear(c)
            for i in T.serial(T.ceildiv(length, 32)):
                T.copy(B[i * 32, 0], a)
                T.gemm(a, a, c)
            T.copy(c, C[block, 4, 0, 0])

    kernel = tilewright.compile(main, target="ascend")
    a = random.integers(-3, 4, (32, 32)).astype(np.float16)
    b = random.integers(-3, 4, (rows, 32)).astype(np.float16)
    made, same = np.full((2, 5, 32, 32), 7, np.float32), np.zeros((2, 5, 32, 32), np.float32)
    kernel(a, b, made, turns)
    interpret(main, a, b, same, turns)
    once = a.astype(np.float64) @ a.astype(np.float64)
    tiles = np.zeros((-(-rows // 32), 32, 32))
    tiles.reshape(-1, 32)[:rows] = b
    counts = np.array([[1, 0, 0, turns], [1, 0, 1, turns]])
    np.testing.assert_array_equal(made[:, :4], counts[..., None, None] * once)
    np.testing.assert_array_equal(made[:, 4], np.stack([(tiles @ tiles).sum(0)] * 2))
    np.testing.assert_array_equal(same, made)


@pytest.mark.parametrize("leaves", [True, False])
def test_tile_that_the_iteration_of_an_exit_does_not_write(leaves: bool) -> None:
    """It keeps its bytes for itself: the iteration before has written them."""
    rows, columns = 64, 320  # 80 KB

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((4 * rows, columns), "float32"), C: T.Tensor((4 * rows, columns), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            kept = T.alloc_ub((rows, columns), "float32")
            x = T.alloc_ub((rows, columns), "float32")
            last = T.alloc_ub((rows, columns), "float32")
            for k in T.serial(3):
                T.copy(A[k * rows, 0], x)
                T.barrier_all()
                T.copy(x, C[k * rows, 0])
                T.barrier_all()
                if k == 2:
                    if leaves:
                        T.loop_break()
                    else:
                        continue
                T.copy(A[k * rows, 0], kept)
                T.barrier_all()
            T.copy(kept, C[3 * rows, 0])
            T.barrier_all()
            T.copy(A[3 * rows, 0], last)
            T.barrier_all()
            T.copy(last, C[0, 0])

    planned = {tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}
    kernel = tilewright.compile(main, target="ascend", pass_configs=planned)
    a = random.standard_normal((4, rows, columns)).astype(np.float32)
    result = np.zeros((4 * rows, columns), np.float32)
    kernel(a.reshape(4 * rows, columns), result)
    np.testing.assert_array_equal(result.reshape(a.shape), a[[3, 1, 2, 1]])


@pytest.mark.parametrize("stop", [0, 1, 5])
def test_flags_between_cores_of_a_loop_that_is_left_early(stop: int) -> None:
    """Those within a core are by hand."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"), C: T.Tensor((32, 32), "float32"), stop: T.int32
    ):
        with T.Kernel(1, is_npu=True) as (_cid, _vid):
            a = T.alloc_L1((32, 32), "float16")
            product = T.alloc_L0C((32, 32), "float32")
            x = T.alloc_ub((32, 32), "float32")
            T.copy(A, a)
            T.barrier_all()
            for k in T.serial(3):
                T.gemm_v0(a, a, product, init=(k == 0))
                T.barrier_all()
                T.copy(product, x)
                T.barrier_all()
                if k == stop:
                    T.loop_break()
            T.barrier_all()
            T.copy(x, C)

    key = tilewright.PassConfigKey
    between = {key.TL_ASCEND_AUTO_CV_COMBINE: True, key.TL_ASCEND_AUTO_CV_SYNC: True}
    kernel = tilewright.compile(main, target="ascend", pass_configs=between)
    a = random.integers(-3, 4, (32, 32)).astype(np.float16)
    result = np.zeros((32, 32), np.float32)
    kernel(a, result, stop)
    wide = a.astype(np.float32)
    np.testing.assert_array_equal(result, min(stop + 1, 3) * (wide @ wide))


@pytest.mark.filterwarnings("error")
def test_attention_of_a_window() -> None:
    """Blocks behind the query end the loop, those before the window are skipped: on both kinds of
    core, by the block's number."""
    length, dim, rows, window = 128, 32, 32, 40

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        Q: T.Tensor((length, dim), "float16"),
        K: T.Tensor((length, dim), "float16"),
        V: T.Tensor((length, dim), "float16"),
        R: T.Tensor((length, dim), "float32"),
    ):
        with T.Kernel(length // rows, is_npu=True) as (cid, _vid):
            q = T.alloc_shared((rows, dim), "float16")
            k = T.alloc_shared((rows, dim), "float16")
            v = T.alloc_shared((rows, dim), "float16")
            s = T.alloc_fragment((rows, rows), "float32")
            p = T.alloc_shared((rows, rows), "float16")
            o = T.alloc_fragment((rows, dim), "float32")
            T.copy(Q[cid * rows, 0], q)
            T.clear(o)
            for j in T.serial(length // rows):
                if j > cid:
                    break
                if (j + 1) * rows - 1 < cid * rows - window:
                    continue
                T.copy(K[j * rows, 0], k)
                T.copy(V[j * rows, 0], v)
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                for a, b in T.Parallel(rows, rows):
                    apart = (cid - j) * rows + a - b
                    p[a, b] = T.if_then_else(T.And(apart >= 0, apart <= window), s[a, b], 0.0)
                T.gemm(p, v, o)
            T.copy(o, R[cid * rows, 0])

    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    q, k, v = (random.uniform(-0.5, 0.5, (length, dim)).astype(np.float16) for _ in range(3))
    apart = np.arange(length)[:, None] - np.arange(length)
    weights = q.astype(np.float64) @ k.astype(np.float64).T * ((apart >= 0) & (apart <= window))
    wanted = weights @ v.astype(np.float64)
    np.testing.assert_allclose(kernel(q, k, v), wanted, rtol=1e-2, atol=5e-3)
    same = np.zeros((length, dim), np.float32)
    interpret(main, q, k, v, same)
    np.testing.assert_allclose(same, wanted, rtol=1e-2, atol=5e-3)
