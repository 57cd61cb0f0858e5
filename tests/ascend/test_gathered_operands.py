# SPDX-License-Identifier: Apache-2.0
"""Rows of a gemm's operand that indices in a tile name: vector cores know these, so they bring the
rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

random = np.random.default_rng(41)
GROUP = KernelGroup(tolerance=2e-3)


def gather(rows: int, dim: int, form: str, parts: int = 1) -> Any:
    """S = Q K[I]^T, in parts of so many rows; `form` says where the numbers are known."""

    @T.prim_func
    def main(
        Q: T.Tensor((2, 16, dim), "float16"),
        K: T.Tensor((64, dim), "float16"),
        I: T.Tensor((2, rows * parts), "int32"),  # noqa: E741
        S: T.Tensor((2, 16, rows * parts), "float32"),
    ):
        with T.Kernel(2, is_npu=True) as (cid, _vid):
            q = T.alloc_shared((16, dim), "float16")
            k = T.alloc_shared((rows, dim), "float16")
            s = T.alloc_fragment((16, rows), "float32")
            picked = T.alloc_shared((rows,), "int32")
            T.copy(Q[cid, :, :], q)
            for part in T.Pipelined(parts, num_stages=2):
                T.copy(I[cid, part * rows], picked)
                if form == "maybe":
                    T.clear(k)
                for i in T.serial(rows):
                    if form == "tensor":
                        T.copy(K[I[cid, part * rows + i], :], k[i, :])
                    elif form == "maybe":
                        if picked[i] >= 0:
                            T.copy(K[picked[i], :], k[i, :])
                    else:
                        T.copy(K[picked[i], :], k[i, :])
                T.gemm(q, k, s, transpose_B=True, clear_accum=True)
                T.copy(s, S[cid, :, part * rows : (part + 1) * rows])

    return main


for rows, dim, form, parts in (
    (32, 64, "tile", 1),
    (32, 64, "tensor", 1),
    (32, 64, "maybe", 1),
    (20, 48, "tile", 1),
    (16, 64, "tile", 3),
    (16, 64, "maybe", 3),
):
    q = random.uniform(-1, 1, (2, 16, dim)).astype(np.float16)
    k = random.uniform(-1, 1, (64, dim)).astype(np.float16)
    picked = random.integers(-8 if form == "maybe" else 0, 64, (2, rows * parts)).astype(np.int32)
    chosen = np.where(picked[..., None] >= 0, k[picked], 0).astype(np.float64)
    GROUP.add(
        f"{rows} {dim} {form} {parts}",
        gather(rows, dim, form, parts),
        [q, k, picked, np.zeros((2, 16, rows * parts), np.float32)],
        np.einsum("bhd,bkd->bhk", q.astype(np.float64), chosen),
    )


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    text = GROUP.check(name).ascendc
    # By the DMA, on the core that knows the number.
    assert "GetValue(" in text or "tensor" in name
    assert ".SetValue(" not in text


@pytest.mark.parametrize("name", ["16 64 tile 3", "16 64 maybe 3"])
def test_verdicts(name: str) -> None:
    """What fills rows that indices behind the tensor name needs its order, too."""
    GROUP.check_removals(name, most=None)
