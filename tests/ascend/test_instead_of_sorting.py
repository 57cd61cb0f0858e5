# SPDX-License-Identifier: Apache-2.0
"""What the messages about T.topk, T.tile.sort and T.tile.gather say that does instead, does."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright
import tilewright.language as T

AUTOMATIC = {
    "tl.ascend_auto_sync": True,
    "tl.ascend_memory_planning": True,
    "tl.ascend_auto_cv_combine": True,
    "tl.ascend_auto_cross_core_sync": True,
}
ROWS, COLUMNS, MOST = 8, 64, 3
SORT = """
/// The numbers of x, the largest first, and their places. Pairs and order hold two words for each.
__aicore__ inline void sortAll(const AscendC::LocalTensor<float> &values,
                               const AscendC::LocalTensor<uint32_t> &places,
                               const AscendC::LocalTensor<float> &x,
                               const AscendC::LocalTensor<float> &pairs,
                               const AscendC::LocalTensor<float> &order, int32_t count) {
  AscendC::CreateVecIndex(places.ReinterpretCast<int32_t>(), int32_t(0), count);
  AscendC::PipeBarrier<PIPE_V>();
  AscendC::Sort32(pairs, x, places, count / 32);
  AscendC::PipeBarrier<PIPE_V>();
  const uint16_t lengths[4] = {32, 32, 0, 0};
  AscendC::MrgSort(order, AscendC::MrgSortSrcList<float>(pairs, pairs[64], pairs, pairs),
                   AscendC::MrgSort4Info(lengths, false, 3, 1));
  AscendC::PipeBarrier<PIPE_V>();
  AscendC::Extract(values, places, order, count / 32);
}
"""


def run(kernel: Any, *arguments: Any) -> None:
    tilewright.compile(kernel, target="ascend", pass_configs=AUTOMATIC)(*arguments)


def test_the_largest_k_of_rows() -> None:
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32"), C: T.Tensor((MOST, ROWS), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((ROWS, COLUMNS), "float32")
            largest = T.alloc_ub((ROWS,), "float32")
            T.copy(A, x)
            for k in T.serial(MOST):
                T.reduce_max(x, largest, dim=-1)
                T.copy(largest, C[k, 0])
                for i, j in T.Parallel(ROWS, COLUMNS):
                    x[i, j] = T.if_then_else(x[i, j] == largest[i], -1e30, x[i, j])

    a = np.random.default_rng(3).permutation(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    c = np.zeros((MOST, ROWS), np.float32)
    run(main, a.astype(np.float32), c)
    np.testing.assert_array_equal(c, -np.sort(-a, axis=1)[:, :MOST].T)


def test_a_sort_in_ascend_c() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((COLUMNS,), "float32"),
        C: T.Tensor((COLUMNS,), "float32"),
        P: T.Tensor((COLUMNS,), "uint32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            T.import_source(SORT)
            x = T.alloc_ub((COLUMNS,), "float32")
            values = T.alloc_ub((COLUMNS,), "float32")
            places = T.alloc_ub((COLUMNS,), "uint32")
            pairs = T.alloc_ub((2 * COLUMNS,), "float32")
            order = T.alloc_ub((2 * COLUMNS,), "float32")
            T.copy(A, x)
            T.call_extern(
                "handle",
                "sortAll",
                values.access_ptr("w"),
                places.access_ptr("w"),
                x.access_ptr("r"),
                pairs.access_ptr("w"),
                order.access_ptr("w"),
                COLUMNS,
            )
            T.copy(values, C)
            T.copy(places, P)

    a = np.random.default_rng(4).permutation(COLUMNS).astype(np.float32)
    c, p = np.zeros_like(a), np.zeros(COLUMNS, np.uint32)
    run(main, a, c, p)
    np.testing.assert_array_equal(c, -np.sort(-a))
    np.testing.assert_array_equal(p, np.argsort(-a))


def test_a_gather_by_a_loop() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((COLUMNS,), "float32"),
        P: T.Tensor((32,), "int32"),
        C: T.Tensor((32,), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((COLUMNS,), "float32")
            places = T.alloc_ub((32,), "int32")
            taken = T.alloc_ub((32,), "float32")
            T.copy(A, x)
            T.copy(P, places)
            for i in T.Parallel(32):
                taken[i] = x[places[i]]
            T.copy(taken, C)

    random = np.random.default_rng(5)
    a = random.standard_normal(COLUMNS).astype(np.float32)
    places = random.integers(0, COLUMNS, 32).astype(np.int32)
    c = np.zeros(32, np.float32)
    run(main, a, places, c)
    np.testing.assert_array_equal(c, a[places])
