# SPDX-License-Identifier: Apache-2.0
"""What the cube core reads beside what each vector core stores at a place that vid says: parts that
lie apart need no order, and parts that meet are told by the compiler and by the host."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

ROWS, SIDE = 16, 32
BLOCKS = 2
GROUP = KernelGroup()
#: The first of the rows that each vector core stores, from the first row of its block on; the cube
#: core reads the first 32. Of a branch, those of the core that takes it. Whether they lie apart.
STARTS = {
    "a step": (lambda vid, _k: 32 + vid * 16, True),
    "a step, the other way round": (lambda vid, _k: 48 - vid * 16, True),
    "a step over the end": (lambda vid, _k: 16 + vid * 16, False),
    "a step over the end, the other way round": (lambda vid, _k: 32 - vid * 16, False),
    "a sum with a loop's number": (lambda vid, k: 32 + k * 32 + vid * 16, True),
    "a sum that a loop brings over the end": (lambda vid, k: 48 - k * 32 + vid * 16, False),
    "a product with a loop's number": (lambda vid, k: 32 + k * 64 + vid * (k + 1) * 16, True),
    "a product over the end": (lambda vid, k: 16 + k * 64 + vid * (k + 1) * 16, False),
    "a product that goes back over the end": (lambda vid, k: 64 - vid * (k + 1) * 20, False),
    "a quotient": (lambda vid, _k: (vid * 128 + 256) // 8, True),
    "a quotient over the end": (lambda vid, _k: (vid * 128 + 248) // 8, False),
    "a remainder": (lambda vid, _k: 32 + vid % 2 * 16, True),
    "a remainder of a sum": (lambda vid, k: 32 + (vid + k * 2) % 4 * 16, True),
    "a remainder of a sum, over the end": (lambda vid, k: 16 + (vid + k * 2) % 4 * 16, False),
    "a product of both": (lambda vid, k: 32 + (vid * 2 + 1) * (k + 1) * 16, True),
    "in a branch of the second": (lambda vid, _k: 16 + vid * 16, True),
    "in a branch of the first": (lambda vid, _k: 32 - vid * 16, True),
    "in a branch of the first, over the end": (lambda vid, _k: 16 + vid * 32, False),
}
TOLD = (
    "T.copy to L1 needs what T.copy from UB (of an earlier iteration )?writes to 'W', but "
    "|T.copy from UB overwrites what T.copy to L1 reads of 'W', but "
)
#: How the cores tell each other that they have come so far, which orders neither. Without, all that
#: a kernel does is seen as one text; with flags of its own, as one that is written out.
WORDS = ("nothing", "a flag", "a flag back", "a meeting")


def kernel(form: str, word: str) -> Any:
    start, _ = STARTS[form]

    @T.prim_func
    def main(
        W: T.Tensor((BLOCKS * 256, 64), "float16"), C: T.Tensor((BLOCKS * SIDE, SIDE), "float32")
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(BLOCKS, is_npu=True) as (cid, vid):
            a = T.alloc_L1((SIDE, 64), "float16")
            u = T.alloc_ub((ROWS, 64), "float16")
            c = T.alloc_L0C((SIDE, SIDE), "float32")
            with T.Scope("V"):
                T.tile.fill(u, 1.0)
                T.barrier_all()
                for k in T.serial(2):
                    if "branch of the second" in form:
                        if vid == 1:
                            T.copy(u, W[cid * 256 + start(vid, k), 0])
                    elif "branch of the first" in form:
                        if vid == 0:
                            T.copy(u, W[cid * 256 + start(vid, k), 0])
                    else:
                        T.copy(u, W[cid * 256 + start(vid, k), 0])
                    T.barrier_all()
                if word == "a flag":
                    T.set_cross_flag("mte3", 0)
                elif word == "a flag back":
                    T.wait_cross_flag(0)
                elif word == "a meeting":
                    T.sync_all()
            with T.Scope("C"):
                T.copy(W[cid * 256 : cid * 256 + SIDE, 0:64], a)
                T.barrier_all()
                T.gemm_v0(a, a, c, transpose_B=True, init=True)
                T.barrier_all()
                T.copy(c, C[cid * SIDE, 0])
                if word == "a flag":
                    T.wait_cross_flag(0)
                elif word == "a flag back":
                    T.set_cross_flag("m", 0)
                elif word == "a meeting":
                    T.sync_all()

    return main


FILLED = np.full((BLOCKS * 256, 64), 2, np.float16)
EMPTY = np.zeros((BLOCKS * SIDE, SIDE), np.float32)
CASES = [
    (form, word)
    for form in STARTS
    for word in WORDS
    if not (word == "a flag back" and not STARTS[form][1])
]
for each, how in CASES:
    named = f"{each}, {how}"
    if STARTS[each][1]:
        GROUP.add(
            named, kernel(each, how), [FILLED, EMPTY], np.full_like(EMPTY, 4 * 64), configs={}
        )
    else:
        GROUP.add_faulty(named, kernel(each, how), [FILLED, EMPTY], {})


@pytest.mark.parametrize(("form", "word"), CASES)
def test_compiler_and_host_agree(form: str, word: str) -> None:
    name = f"{form}, {word}"
    if STARTS[form][1]:
        GROUP.check(name)
        assert GROUP.told(name) == []
        return
    with pytest.raises(RuntimeError, match="nothing orders this"):
        GROUP.run(name)
    told = [each for each in GROUP.told(name) if "nothing orders them" in each]
    assert told
    assert all(re.match(TOLD, each) for each in told), told
