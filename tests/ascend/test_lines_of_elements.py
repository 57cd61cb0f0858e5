# SPDX-License-Identifier: Apache-2.0
"""Elements that the scalar unit stores beside copies: what lies in one line of its cache is
ordered, what lies apart is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

GROUP = KernelGroup()


def of_rows(form: str) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(n: T.int32, C: T.Tensor((256,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1, is_npu=True) as _:
            u = T.alloc_ub((32,), "float32")
            T.tile.fill(u, 3.0)
            if form == "line, before":
                C[20] = 5.0
                T.copy(u[0:4], C[16:20])
            elif form == "line, behind":
                T.copy(u[0:4], C[16:20])
                C[20] = 5.0
            elif form == "line, read before":  # and in the cache since then
                C[40] = C[24] + 1.0
                T.copy(u[0:4], C[16:20])
                C[20] = 5.0
            elif form == "lines, before":
                C[64] = 5.0
                T.copy(u[0:8], C[16:24])
            elif form == "lines, behind":
                T.copy(u[0:8], C[16:24])
                C[64] = 5.0
            elif form == "line, in turns":
                for i in T.serial(n):
                    C[i] = 5.0
                    T.copy(u[0:4], C[16:20])
            elif form == "line, each turn":
                for i in T.serial(n):
                    T.copy(u[0:8], C[i * 16 : i * 16 + 8])
                    C[i * 16 + 9] = 5.0

    return main


def of_planes(form: str) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(n: T.int32, C: T.Tensor((4, 32, 32), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1, is_npu=True) as _:
            u = T.alloc_ub((32, 32), "float32")
            T.tile.fill(u, 3.0)
            if form == "planes, behind":
                T.copy(u, C[0, 0, 0])
                C[2, 9, 9] = 5.0
            elif form == "planes, before":
                C[2, 9, 9] = 5.0
                T.copy(u, C[0, 0, 0])
            elif form == "plane, line":
                T.copy(u[0, 0:4], C[0, 0, 16:20])
                C[0, 0, 20] = 5.0
            elif form == "planes, next line":
                T.copy(u[0, 0:16], C[0, 0, 0:16])
                C[0, 0, 16] = 5.0
            elif form == "planes, beside columns":
                T.copy(u[:, 0:16], C[0, 0:32, 0:16])
                C[0, 5, 20] = 5.0
            elif form == "plane, columns":
                T.copy(u[:, 0:8], C[0, 0:32, 0:8])
                C[0, 5, 10] = 5.0
            elif form == "plane, in turns":
                for i in T.serial(n):
                    C[3, i, 0] = 5.0
                    T.copy(u, C[i, 0, 0])

    return main


TURNS = 3


def results() -> dict[str, Any]:
    found = {}
    lines = {
        "line, before": (slice(16, 20), 20),
        "line, behind": (slice(16, 20), 20),
        "line, read before": (slice(16, 20), 20),
        "lines, before": (slice(16, 24), 64),
        "lines, behind": (slice(16, 24), 64),
        "line, in turns": (slice(16, 20), slice(0, TURNS)),
        "line, each turn": (
            np.arange(TURNS * 16).reshape(TURNS, 16)[:, :8],
            np.arange(TURNS) * 16 + 9,
        ),
    }
    for form, (copied, stored) in lines.items():
        found[form] = np.zeros(256, np.float32)
        found[form][copied], found[form][stored] = 3.0, 5.0
    found["line, read before"][40] = 1.0
    planes: dict[str, tuple[Any, Any]] = {
        "planes, behind": (0, (2, 9, 9)),
        "planes, before": (0, (2, 9, 9)),
        "plane, line": ((0, 0, slice(16, 20)), (0, 0, 20)),
        "planes, next line": ((0, 0, slice(0, 16)), (0, 0, 16)),
        "planes, beside columns": ((0, slice(None), slice(0, 16)), (0, 5, 20)),
        "plane, columns": ((0, slice(None), slice(0, 8)), (0, 5, 10)),
        "plane, in turns": (slice(0, TURNS), (3, slice(0, TURNS), 0)),
    }
    for form, (copied, stored) in planes.items():
        found[form] = np.zeros((4, 32, 32), np.float32)
        found[form][copied], found[form][stored] = 3.0, 5.0
    return found


RESULTS = results()


def kernel(form: str) -> Any:  # noqa: ANN401
    return of_rows(form) if form.startswith("line") else of_planes(form)


for form, expected in RESULTS.items():
    GROUP.add(
        form, kernel(form), [TURNS, np.zeros_like(expected)], {1: expected}, configs=AUTOMATIC
    )


@pytest.mark.parametrize("form", RESULTS)
def test_stored(form: str) -> None:
    GROUP.check(form)


@pytest.mark.parametrize("form", RESULTS)
def test_order(form: str) -> None:
    """Between the copy and the scalar unit, where they share a line."""
    made = tilewright.compile(kernel(form), target="ascend", pass_configs=AUTOMATIC)
    text = made.get_kernel_source()
    assert ("MTE3_S>" in text or "S_MTE3>" in text) == form.startswith(("line,", "plane,"))
