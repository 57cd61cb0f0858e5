# SPDX-License-Identifier: Apache-2.0
"""Rows that a variable of int32 times a constant chooses in the turns of a loop: each turn has rows
of its own, for the kernel stops in the turn in which the product would wrap round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

KEYS = tilewright.PassConfigKey
WITHIN_CORES = {KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_MEMORY_PLANNING: True}
GROUP = KernelGroup(tolerance=1e-3)

ROWS = T.Tensor((256, 64), "float32")


def kernel(form: str) -> Any:  # noqa: ANN401, C901
    @T.prim_func
    def main(n: T.int32, C: ROWS):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x = T.alloc_ub((16, 64), "float32")
            i = T.alloc_var("int32", init=0)
            T.tile.fill(x, 1.0)
            if form == "times":
                while i < n:
                    T.copy(x, C[i * 32 + vid * 16, 0])
                    i += 1
            if form == "in a nest":
                while i < n:
                    for r, c in T.Parallel(16, 64):
                        C[i * 32 + vid * 16 + r, c] = x[r, c]
                    i += 1
            if form == "times the sum":
                while i < n:
                    T.copy(x, C[(i * 2 + vid) * 16, 0])
                    i += 1
            if form == "counts rows":
                i = vid * 16
                while i < n * 32:
                    T.copy(x, C[i, 0])
                    i += 32
            if form == "counts rows in a loop":
                for _ in T.serial(n):
                    T.copy(x, C[i + vid * 16, 0])
                    i += 32
            if form == "up to an exit":
                while i >= 0:
                    if i >= n:
                        break
                    T.copy(x, C[i * 32 + vid * 16, 0])
                    i += 1
            if form == "the same rows":
                while i < n:
                    T.copy(x, C[i // 2 * 32 + vid * 16, 0])
                    i += 1

    return main


#: How many rows are stored where n is 3, and how many barriers the text has.
FORMS = {
    "times": (96, 0),
    "in a nest": (96, 0),
    "times the sum": (96, 0),
    "counts rows": (96, 0),
    "counts rows in a loop": (96, 0),
    "up to an exit": (96, 0),
    "the same rows": (64, 1),
}
for name, (rows, _) in FORMS.items():
    wanted = np.zeros((256, 64), np.float32)
    wanted[:rows] = 1
    GROUP.add(name, kernel(name), [3, np.zeros_like(wanted)], wanted)


@T.prim_func
def flags_by_hand(  # type: ignore[no-untyped-def]
    A: T.Tensor((128, 32), "float16"),
    B: T.Tensor((32, 32), "float16"),
    n: T.int32,
    C: T.Tensor((128, 32), "float32"),
    D: T.Tensor((128, 32), "float32"),
):
    """What the cube core stores in one turn is not what the vector cores load of another."""
    with T.Kernel(1, is_npu=True) as (_, vid):
        a = T.alloc_L1((32, 32), "float16")
        b = T.alloc_L1((32, 32), "float16")
        c = T.alloc_L0C((32, 32), "float32")
        x = T.alloc_ub((16, 32), "float32")
        i = T.alloc_var("int32", init=0)
        j = T.alloc_var("int32", init=0)
        with T.Scope("C"):
            T.copy(B, b)
            while i < n:
                T.copy(A[i * 32, 0], a)
                T.gemm_v0(a, b, c, init=True)
                T.copy(c, C[i * 32, 0])
                T.set_cross_flag("FIX", 0)
                T.wait_cross_flag(1)
                i += 1
        with T.Scope("V"):
            while j < n:
                T.wait_cross_flag(0)
                T.set_cross_flag("MTE3", 1)
                T.copy(C[j * 32 + vid * 16, 0], x)
                T.tile.add(x, x, 1.0)
                T.copy(x, D[j * 32 + vid * 16, 0])
                j += 1


random = np.random.default_rng(39)
a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((128, 32), (32, 32)))
product = np.zeros((128, 32), np.float32)
product[:96] = a[:96].astype(np.float32) @ b.astype(np.float32)
more = product.copy()
more[:96] += 1
GROUP.add(
    "flags by hand",
    flags_by_hand,
    [a, b, 3, np.zeros_like(product), np.zeros_like(product)],
    {3: product, 4: more},
    configs=WITHIN_CORES,
)


@pytest.mark.parametrize("name", FORMS)
def test_barriers(name: str) -> None:
    assert GROUP.check(name).ascendc.count("PipeBarrier<PIPE_MTE3>") == FORMS[name][1]


@pytest.mark.parametrize("name", FORMS)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name, most=None)


def test_no_warning_beside_flags_by_hand() -> None:
    GROUP.check("flags by hand")
    assert GROUP.told("flags by hand") == []


MOST_TURNS = {"times": 1 << 26, "counts rows in a loop": (1 << 26) - 1}


@pytest.mark.parametrize("name", MOST_TURNS)
def test_what_has_no_room_is_told(name: str) -> None:
    made = tilewright.compile(kernel(name), target="ascend", pass_configs=AUTOMATIC)
    turns = MOST_TURNS[name]
    made(turns, np.zeros((256, 64), np.float32))
    with pytest.raises(RuntimeError, match=r"has no room in int32"):
        made(turns + 1, np.zeros((256, 64), np.float32))
