# SPDX-License-Identifier: Apache-2.0
"""One name for all the numbers of a launch."""

from __future__ import annotations

from typing import Any

import pytest

import tilewright
import tilewright.language as T

OF_CORES = (
    "the numbers of the block and of the vector core, which `with T.Kernel(n, is_npu=True) as "
    "(cid, vid)` names; with threads=1 or threads=2 the launch gives the block's alone"
)


def on_npu(use: Any) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True) as cid:
            use(A, cid)

    return main


@pytest.mark.parametrize(
    "use",
    [
        lambda _, cid: cid * 16,
        lambda _, cid: 2 + cid,
        lambda _, cid: cid // 2,
        lambda _, cid: 7 % cid,
        lambda _, cid: cid == 0,
        lambda _, cid: cid < 3,
        lambda _, cid: cid[0] - cid,
    ],
)
def test_numbers_of_cores_as_one(use: Any) -> None:
    with pytest.raises(tilewright.CompileError) as found:
        on_npu(use).capture()
    assert f"one number, not {OF_CORES}" in str(found.value)


def test_numbers_of_cores_as_an_index() -> None:
    with pytest.raises(tilewright.CompileError) as found:
        on_npu(lambda a, cid: a[cid]).capture()
    assert f"an index of 'A' must be an integer or a slice, not {OF_CORES}" in str(found.value)


def test_numbers_of_blocks_as_one() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, 2, threads=32) as bx:
            A[bx * 16] = 0.0

    with pytest.raises(tilewright.CompileError) as found:
        main.capture()
    assert (
        "this computes with one number, not a list of numbers; a launch over several extents gives "
        "as many: with T.Kernel(m, n) as (bx, by)"
    ) in str(found.value)


def test_they_are_a_list() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True) as both:
            assert isinstance(both, list) and len(both + [1]) == 3 and both != []
            cid, vid = both
            a = T.alloc_ub((8,), "float32")
            T.copy(A[cid * 16 + vid * 8], a)
            T.copy(a, A[both[0] * 16 + both[1] * 8])

    main.capture()
