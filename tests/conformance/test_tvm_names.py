# SPDX-License-Identifier: Apache-2.0
"""Names of TVM's scripts, reductions over threads, and macros as methods."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.capture.tracer import current


@pytest.fixture
def floats(random):
    def make(*shape):
        return random.standard_normal(shape).astype(np.float32)

    return make


def test_names_of_tvm(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            tile = T.allocate((8,), "float32", scope="shared")
            T.Assert(A.shape[0] == 8, "eight")
            with T.attr(None, "pragma_unroll_explicit", 1):
                T.copy(A, tile)
            with T.Assert(T.get_block_binding() < 1, "one block"):
                first = T.bind(tile[0])
                second = T.let(tile[1])
                T.evaluate(first + second)
                for i in T.serial(8):
                    B[i] = T.call_intrin("float32", "tirx.exp", tile[i]) + first - second
                B[7] = B[7] + T.undef("float32") * 0.0

    a = floats(8)
    wide = a.astype(np.float64)
    expected = (np.exp(wide) + wide[0] - wide[1]).astype(np.float32)
    agree(kernel, [a, np.zeros(8, np.float32)], {1: expected})


def test_values_in_with_statements(agree, floats):
    """The value is computed once, before the block: what the block stores doesn't change it."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            with T.let(A[0] + 1) as x, T.LetStmt(x * 2) as y:
                A[0] = y
                A[1] = x + y
            with T.bind(A[2]):
                A[3] = A[2]

    a = floats(8)
    expected = a.copy()
    x = a[0] + np.float32(1)
    expected[[0, 1, 3]] = x * 2, x * 3, a[2]
    agree(kernel, [a], {0: expected})


def test_variables_with_values(agree, floats):
    """TVM's T.let: in a block, up to the end of one, and in an expression; the inner one counts."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            i = T.int32()
            x = T.float32()
            for k in T.serial(2):
                T.LetStmt(k * 2, var=i)
                with T.let(x, A[i] + 1):
                    B[i] = x * x
                    with T.let(x, A[i + 1]):
                        B[i + 1] = x
                    B[i] = B[i] + x
            for k in T.Parallel(4):
                B[k + 4] = T.let(x, A[k + 4] * 2, x * x + T.let(i, k, T.cast(i, "float32")))

    a = floats(8)
    x = a.astype(np.float64)
    first = (x[:4:2] + 1) ** 2 + x[:4:2] + 1
    expected = np.concatenate(
        [np.stack([first, x[1:4:2]], 1).ravel(), (2 * x[4:]) ** 2 + np.arange(4)]
    )
    agree(kernel, [a, np.zeros(8, np.float32)], {1: expected.astype(np.float32)})


def test_variables_without_values():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            x = T.float32()
            with T.let(x, 1.0):
                A[0] = x
            A[1] = x

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel)
    message = "'x' has no value here; give it one by 'with T.let(x, value):'"
    assert [d.message for d in caught.value.errors] == [message]


def test_variables(agree, floats):
    """Of TVM's class are symbols and values that only the kernel knows."""
    from tilewright import tir

    n = T.Var("n", "int32")

    def rows(count):
        return T.StridedTensor((4, 8), (count, 1), "float32") if isinstance(count, T.Var) else None

    @T.prim_func
    def kernel(A: rows(n), B: T.Tensor((4, 8), "float32")):
        with T.Kernel(4, threads=8) as bx:
            if isinstance(bx, tir.Var):
                T.copy(A[bx, :], B[bx, :])

    assert T.Var is tir.Var and isinstance(T.dynamic("m"), T.Var)
    assert not isinstance(8, T.Var) and rows(8) is None
    a = floats(4, 12)[:, :8]
    agree(kernel, [a, np.zeros((4, 8), np.float32)], {1: np.ascontiguousarray(a)})


def test_reduction_over_threads(agree, floats):
    """The end of published GEMV kernels: 4 columns, 6 threads for each."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 6), "float32"), B: T.Tensor((4, 6), "float32")):
        with T.Kernel(1, threads=(4, 6)):
            tn = T.get_thread_binding(0)
            tk = T.get_thread_binding(1)
            part = T.alloc_local((1,), "float32")
            total = T.alloc_local((1,), "float32")
            part[0] = A[tn, tk] * 2
            with T.attr(
                T.comm_reducer(lambda x, y: x + y, [T.Cast("float32", 0)]),
                "reduce_scope",
                T.reinterpret(T.uint64(0), dtype="handle"),
            ):
                T.evaluate(
                    T.tvm_thread_allreduce(
                        T.uint32(1), part[0], tk != 2, total[0], tk, dtype="handle"
                    )
                )
            B[tn, tk] = total[0]

    a = floats(4, 6)
    wide = a.astype(np.float64)
    expected = np.repeat(2 * (wide.sum(1) - wide[:, 2])[:, None], 6, 1)
    agree(kernel, [a, np.zeros((4, 6), np.float32)], {1: expected})


def test_reduction_over_bound_threads(agree, floats):
    """The threads by `T.thread_binding`, TVM's name."""

    @T.prim_func
    def kernel(A: T.Tensor((3, 8), "float32"), B: T.Tensor((3,), "float32")):
        with T.Kernel(1, threads=(8, 3)):
            lane = T.thread_binding(0, 8, thread="threadIdx.x")
            row = T.thread_binding(0, 3, thread="threadIdx.y")
            total = T.alloc_local((1,), "float32")
            with T.attr(T.comm_reducer(T.max, [T.min_value("float32")]), "reduce_scope", 0):
                T.tvm_thread_allreduce(1, A[row, lane], True, total[0], lane, dtype="handle")
            if lane == 0:
                B[row] = total[0]

    a = floats(3, 8)
    agree(kernel, [a, np.zeros(3, np.float32)], {1: a.max(1)})


def test_reduction_of_pairs_over_all_threads(agree, floats):
    """The largest element and its place, over two thread dims; grids have several blocks."""

    @T.prim_func
    def kernel(
        A: T.Tensor((3, 20), "float32"), V: T.Tensor((3,), "float32"), P: T.Tensor((3,), "int32")
    ):
        with T.Kernel(3, threads=(5, 2, 2)) as bx:
            x = T.get_thread_binding(0)
            y = T.get_thread_binding(1)
            z = T.get_thread_binding(2)
            number = (z * 2 + y) * 5 + x
            value = T.alloc_local((1,), "float32")
            place = T.alloc_local((1,), "int32")
            larger = T.comm_reducer(
                lambda v, i, w, j: (T.Select(w > v, w, v), T.Select(w > v, j, i)),
                [T.min_value("float32"), T.Cast("int32", -1)],
            )
            with T.attr(larger, "reduce_scope", 0):
                T.tvm_thread_allreduce(2, A[bx, number], number, True, value[0], place[0], x, y, z)
            if number == 7:
                V[bx] = value[0]
                P[bx] = place[0]

    a = floats(3, 20)
    empty = [np.zeros(3, np.float32), np.zeros(3, np.int32)]
    agree(kernel, [a, *empty], {1: a.max(1), 2: a.argmax(1).astype(np.int32)})


def test_macros_as_methods(agree):
    @T.meta_class
    class Counter:
        def __init__(self):
            self.value = T.alloc_var("int32", init=1)

        @T.inline
        def advance(self, step):
            self.value += step

    class Table:
        """A plain class: `self` is what Python hands over."""

        factor = 3

        @T.macro
        def scaled(self, target: T.Ref, value):
            target = value * self.factor  # noqa: F841 - stores

        @staticmethod
        @T.macro
        def cleared(target: T.Ref):
            target = 0  # noqa: F841 - stores

    table = Table()

    @T.prim_func
    def kernel(B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=4):
            counter = Counter()
            counter.advance(5)
            Counter.advance(counter, 7)
            B[0] = counter.value
            table.scaled(B[1], counter.value)
            Table.scaled(table, B[2], 2)
            B[3] = 1
            table.cleared(B[3])

    agree(kernel, [np.zeros(4, np.int32)], {0: np.array([13, 39, 6, 0], np.int32)})


def reduced(statement):
    def use(A, K):
        T.comm_reducer(lambda x, y: x + y, [T.Cast("float32", 0)]).enter(current())
        statement(A)

    return use


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (lambda A, K: T.tvm_thread_allreduce(1, A[0], True, A[1], T.get_thread_binding()),
         'T.tvm_thread_allreduce stands within T.attr(T.comm_reducer(...), "reduce_scope", ...)'),
        (reduced(lambda A: T.tvm_thread_allreduce(2, A[0], True, A[1], T.get_thread_binding())),
         "T.tvm_thread_allreduce of 2 values got 4 arguments, and its reducer takes 1: it is "
         "values, a condition, results and thread indices"),
        (reduced(lambda A: T.tvm_thread_allreduce(1, A[0], True, 5, T.get_thread_binding())),
         "a result of T.tvm_thread_allreduce is an element of a buffer: total[0]"),
        (reduced(lambda A: T.tvm_thread_allreduce(1, A[0], True, A[1], 0)),
         "T.tvm_thread_allreduce reduces over thread indices, as of T.get_thread_binding(0)"),
    ],
)  # fmt: skip
def test_refused(statement, message):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), K: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            statement(A, K)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel)
    assert [d.message for d in caught.value.errors] == [message]


def test_layouts_of_gpus(agree, floats):
    """A tile with a GPU's swizzle, and one that the kernel swizzles itself."""

    @T.prim_func
    def kernel(A: T.Tensor((16, 32), "float16"), B: T.Tensor((16, 32), "float16")):
        with T.Kernel(1, threads=32):
            rows, columns, depth = T.get_mma_micro_size("float16")
            tile = T.alloc_shared((rows, depth * 2), "float16")
            own = T.alloc_shared((16, 32), "float16")
            T.annotate_layout({tile: T.make_mma_swizzle_layout(tile)})
            T.copy(A, tile)
            for i, j in T.Parallel(16, 32):
                row, column = T.get_swizzle_layout(i, j, 32, "float16")
                own[row, column] = tile[i, j]
            T.sync_threads()
            for i, j in T.Parallel(16, 32):
                row, column = T.get_swizzle_layout(i, j, 32, "float16")
                B[i, j] = own[row, column] * columns

    a = floats(16, 32).astype(np.float16)
    agree(kernel, [a, np.zeros((16, 32), np.float16)], {1: a * np.float16(16)})
