# SPDX-License-Identifier: Apache-2.0
"""Reductions of a tile into one plane of a buffer of more dims: T.reduce_max(x, m[k, :, :])."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}
ROWS, COLUMNS, PLANES = 8, 40, 3


@pytest.mark.parametrize("target", ["ascend", "reference"])
@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("clear", [True, False])
def test_planes_as_targets(target: str, dims: int, clear: bool) -> None:
    """`m` has rows of numbers, or of planes of one column."""
    shape = (PLANES, ROWS, 1)[: dims + 1]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((PLANES, ROWS, COLUMNS), "float32"), C: T.Tensor((PLANES, ROWS), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), "float32")
            m = T.alloc_ub(shape, "float32")
            T.tile.fill(m, 1.5)
            for k in T.serial(PLANES):
                T.copy(A[k, 0, 0], a)
                if dims == 1:
                    T.reduce_max(a, m[k, :], dim=-1, clear=clear)
                else:
                    T.reduce_max(a, m[k, :, :], dim=-1, clear=clear, real_shape=[ROWS, 7])
            T.copy(T.reshape(m, (PLANES, ROWS)), C)

    a = np.random.default_rng(7).standard_normal((PLANES, ROWS, COLUMNS)).astype(np.float32)
    kernel = tilewright.compile(main, out_idx=[-1], target=target, pass_configs=AUTOMATIC)
    wanted = a[..., : COLUMNS if dims == 1 else 7].max(-1)
    if not clear:
        wanted = np.maximum(wanted, 1.5)
    np.testing.assert_array_equal(np.asarray(kernel(a)), wanted)


def test_a_plane_that_does_not_fit() -> None:
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((ROWS, COLUMNS), "float32")
            m = T.alloc_ub((2, 2, ROWS), "float32")
            T.copy(A, a)
            T.reduce_max(a, m[1, :, :], dim=-1)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    assert caught.value.errors[0].message == (
        "reduce_max of 'a' (8, 40) over dim 1 gives (8), but 'm' is (1, 2, 8)"
    )
