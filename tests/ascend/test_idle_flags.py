# SPDX-License-Identifier: Apache-2.0
"""Flags and barriers by hand between pipes that no core of the kernel has: they are left out, and
the compiler says so where they stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.testing import interpret

KEYS = tilewright.PassConfigKey
PLANNED = {KEYS.TL_ASCEND_MEMORY_PLANNING: True}


def on_vectors() -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1, is_npu=True) as _:
            h = T.alloc_ub((64,), "float32")
            T.copy(A, h)
            T.set_flag("m", "fix", 0)
            T.wait_flag("m", "fix", 0)
            T.pipe_barrier("fix")
            T.barrier_all()
            T.copy(h, A)

    return main


def on_the_cube() -> Any:  # noqa: ANN401
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, 16), "float32")
    ):
        with T.Kernel(1, threads=1, is_npu=True) as _:
            a = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            T.copy(A, a)
            T.set_flag("mte2", "v", 0)
            T.wait_flag("mte2", "v", 0)
            T.pipe_barrier("v")
            T.barrier_all()
            T.gemm_v0(a, a, c, init=True)
            T.barrier_all()
            T.copy(c, C)

    return main


@pytest.mark.parametrize(
    ("make", "other", "first"), [(on_vectors, "cube", 5), (on_the_cube, "vector", 8)]
)
def test_what_is_left_out_is_told(make: Any, other: str, first: int) -> None:  # noqa: ANN401
    kernel = make()
    line = kernel.function.__code__.co_firstlineno
    with pytest.warns(TilewrightWarning) as told:
        made = tilewright.compile(kernel, target="ascend", pass_configs=PLANNED)
    head = f"this is left out: the kernel has no work for the {other} core, which alone has "
    for number, what in enumerate(["these pipes", "these pipes", "this pipe"]):
        assert told[number].lineno == line + first + number
        assert str(told[number].message).startswith(head + what)
    assert len(told) == 3
    source = made.get_kernel_source()
    assert ("M_FIX" if other == "cube" else "MTE2_V") not in source
    assert "PipeBarrier<PIPE_ALL>" in source


def test_numbers() -> None:
    kernel = on_the_cube()
    given = np.random.default_rng(3).integers(-3, 4, (16, 16)).astype(np.float16)
    wanted = given.astype(np.float64) @ given.astype(np.float64)
    with pytest.warns(TilewrightWarning):
        made = tilewright.compile(kernel, target="ascend", pass_configs=PLANNED)
    for run in (made, lambda *args: interpret(kernel, *args)):
        result = np.zeros((16, 16), np.float32)
        run(given, result)
        np.testing.assert_array_equal(result, wanted)
