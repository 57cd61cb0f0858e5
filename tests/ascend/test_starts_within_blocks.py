# SPDX-License-Identifier: Apache-2.0
"""Parts of UB whose start only the call or memory knows: the kernel checks it, with the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]
AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
}
SIDE = 16


@T.macro
def load(A: Any, C: Any, x: Any, y: Any, s: Any, p: Any) -> None:
    T.copy(A[0:16, 0:16], x[:, p : p + 16])
    T.copy(x, C)


@T.macro
def store(A: Any, C: Any, x: Any, y: Any, s: Any, p: Any) -> None:
    T.copy(x, C)
    T.copy(x[:, p : p + 16], C[0:16, 16:32])


@T.macro
def move(A: Any, C: Any, x: Any, y: Any, s: Any, p: Any) -> None:
    T.copy(x[:, p : p + 16], y)
    T.copy(y, C[0:16, 0:16])


@T.macro
def fill(A: Any, C: Any, x: Any, y: Any, s: Any, p: Any) -> None:
    T.tile.fill(x[:, p : p + 16], 5.0)
    T.copy(x, C)


@T.macro
def reduce(A: Any, C: Any, x: Any, y: Any, s: Any, p: Any) -> None:
    T.reduce_max(x[:, p : p + 16], s, dim=-1)
    T.copy(s, C[0, 0:16])


STEPS: dict[str, tuple[Any, str]] = {
    "load": (load, "the copy's target"),
    "store": (store, "the copy's source"),
    "move": (move, "the copy's source"),
    "fill": (fill, "the fill"),
    "reduce": (reduce, "the reduction's source"),
}


def kernel_of(name: str, is_in_memory: bool) -> Any:
    step = STEPS[name][0]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, 64), "float32"),
        P: T.Tensor((8,), "int32"),
        C: T.Tensor((SIDE, 64), "float32"),
        p: T.int32,
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((SIDE, 64), "float32")
            y = T.alloc_ub((SIDE, 16), "float32")
            s = T.alloc_ub((SIDE,), "float32")
            starts = T.alloc_ub((8,), "int32")
            T.copy(A, x)
            T.copy(P, starts)
            step(A, C, x, y, s, starts[2] if is_in_memory else p)

    return main


@pytest.mark.parametrize("is_in_memory", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_starts(name: str, is_in_memory: bool) -> None:
    main = kernel_of(name, is_in_memory)
    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    a = np.random.default_rng(0).standard_normal((SIDE, 64)).astype(np.float32)
    made, same = np.zeros_like(a), np.zeros_like(a)
    kernel(a, np.full(8, 24, np.int32), made, 24)
    interpret(main, a, np.full(8, 24, np.int32), same, 24)
    expected = np.zeros(a.shape) if name in ("move", "reduce") else a.astype(np.float64)
    if name == "load":
        expected[:, 24:40] = a[:, :16]
    elif name == "store":
        expected[:, 16:32] = a[:, 24:40]
    elif name == "move":
        expected[:, :16] = a[:, 24:40]
    elif name == "fill":
        expected[:, 24:40] = 5
    else:
        expected[0, :16] = a[:, 24:40].max(1)
    for result in (made, same):
        np.testing.assert_array_equal(result, expected)
    with pytest.raises(RuntimeError) as caught:
        kernel(a, np.full(8, 3, np.int32), made, 3)
    assert f"{STEPS[name][1]} begins within a block of 32 bytes of UB" in str(caught.value)
    assert "x[:, p : p + 16]" in str(caught.value)
