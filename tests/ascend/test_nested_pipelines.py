# SPDX-License-Identifier: Apache-2.0
"""A T.Pipelined loop in another: each loads ahead what its own iterations begin with, and a load of
the inner one's first iteration stays in the iteration of the outer one that needs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T

GROUP = KernelGroup()
random = np.random.default_rng(0)
OUTER, INNER, ROWS, WIDTH = 3, 4, 16, 32


def copies(outer: int, inner: int) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        X: T.Tensor((OUTER * INNER * ROWS, WIDTH), "float32"),
        Y: T.Tensor((OUTER * INNER * ROWS, WIDTH), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((ROWS, WIDTH), "float32")
            for q in T.Pipelined(OUTER, num_stages=outer):
                for k in T.Pipelined(INNER, num_stages=inner):
                    T.copy(X[(q * INNER + k) * ROWS, 0], x)
                    T.copy(x, Y[(q * INNER + k) * ROWS, 0])

    return main


def scores(outer: int, inner: int) -> Any:
    """As attention, without its softmax: a tile of Q beside all of K and V."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        Q: T.Tensor((OUTER * ROWS, WIDTH), "float16"),
        K: T.Tensor((INNER * ROWS, WIDTH), "float16"),
        V: T.Tensor((INNER * ROWS, WIDTH), "float16"),
        O: T.Tensor((OUTER * ROWS, WIDTH), "float32"),  # noqa: E741
    ):
        with T.Kernel(1, threads=128) as _:
            q = T.alloc_shared((ROWS, WIDTH), "float16")
            k = T.alloc_shared((ROWS, WIDTH), "float16")
            v = T.alloc_shared((ROWS, WIDTH), "float16")
            s = T.alloc_fragment((ROWS, ROWS), "float32")
            p = T.alloc_fragment((ROWS, ROWS), "float16")
            o = T.alloc_fragment((ROWS, WIDTH), "float32")
            for t in T.Pipelined(OUTER, num_stages=outer):
                T.copy(Q[t * ROWS, 0], q)
                T.clear(o)
                for j in T.Pipelined(INNER, num_stages=inner):
                    T.copy(K[j * ROWS, 0], k)
                    T.clear(s)
                    T.gemm(q, k, s, transpose_B=True)
                    for a, b in T.Parallel(ROWS, ROWS):
                        s[a, b] = T.max(s[a, b], 0.0)
                    T.copy(s, p)
                    T.copy(V[j * ROWS, 0], v)
                    T.gemm(p, v, o)
                T.copy(o, O[t * ROWS, 0])

    return main


def parts(outer: int, inner: int) -> Any:
    """Of a tile only some rows are loaded: no other turn may have its version meanwhile."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, 48), "float16"),
        B: T.Tensor((INNER, 48, WIDTH), "float16"),
        C: T.Tensor((OUTER, INNER, ROWS, WIDTH), "float32"),
    ):
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((ROWS, 48), "float16")
            b = T.alloc_shared((48, WIDTH), "float16")
            c = T.alloc_fragment((ROWS, WIDTH), "float32")
            for p in T.Pipelined(OUTER, num_stages=outer):
                T.copy(A, a)
                for q in T.Pipelined(INNER, num_stages=inner):
                    T.copy(B[q, 0:32, :], b[0:32, :])
                    T.gemm(a[:, 0:32], b[0:32, :], c, clear_accum=True)
                    T.copy(c, C[p, q, :, :])

    return main


STAGES = [(2, 2), (3, 2), (2, 3), (1, 2), (2, 1)]
X = random.standard_normal((OUTER * INNER * ROWS, WIDTH)).astype(np.float32)
# Small whole numbers: all products and sums are exact.
Q, K, V = (
    random.integers(-2, 3, (count * ROWS, WIDTH)).astype(np.float16)
    for count in (OUTER, INNER, INNER)
)
WEIGHTS = np.maximum(Q.astype(np.float64) @ K.T.astype(np.float64), 0)
for stages in STAGES:
    GROUP.add(f"copies {stages}", copies(*stages), [X, np.zeros_like(X)], X)
    GROUP.add(
        f"scores {stages}",
        scores(*stages),
        [Q, K, V, np.zeros((OUTER * ROWS, WIDTH), np.float32)],
        WEIGHTS @ V.astype(np.float64),
    )
A, B = (
    random.integers(-2, 3, (n, *shape)).astype(np.float16)
    for n, shape in (
        (ROWS, (48,)),
        (INNER, (48, WIDTH)),
    )
)
STAGES_OF_PARTS = [(3, 2), (4, 2), (4, 3), (2, 3)]
for stages in STAGES_OF_PARTS:
    shape = (OUTER, INNER, ROWS, WIDTH)
    GROUP.add(
        f"parts {stages}",
        parts(*stages),
        [A, B, np.zeros(shape, np.float32)],
        np.broadcast_to(A[:, :32].astype(np.float64) @ B[:, :32].astype(np.float64), shape),
    )


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("kind", ["copies", "scores"])
def test_nested_pipelines(kind: str, stages: tuple[int, int]) -> None:
    GROUP.check(f"{kind} {stages}")


@pytest.mark.parametrize("stages", STAGES_OF_PARTS)
def test_parts_of_tiles(stages: tuple[int, int]) -> None:
    """The inner loop's stages alone say how many versions there are."""
    case = GROUP.check(f"parts {stages}")
    assert case.stages["rotate-buffers"].count(f"ascend.versions = {stages[1]} : i64") == 1
