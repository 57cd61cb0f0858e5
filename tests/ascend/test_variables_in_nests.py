# SPDX-License-Identifier: Apache-2.0
"""What iterations of T.Parallel share, a variable or an element of a row, each uses for itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

ROWS, COLUMNS = 16, 64


def kernel(form: str, threads: int) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, COLUMNS), "float32"), C: T.Tensor((ROWS, COLUMNS), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            x = T.alloc_shared((ROWS, COLUMNS), "float32")
            y = T.alloc_shared((ROWS, COLUMNS), "float32")
            row = T.alloc_shared((ROWS,), "float32")
            number = T.alloc_var("float32", init=1.0)
            place = T.alloc_var("int32")
            T.copy(A, x)
            if form == "number":
                for i, j in T.Parallel(ROWS, COLUMNS):
                    number = x[i, j] * 2.0
                    y[i, j] = number + 1.0
            elif form == "place":
                for i, j in T.Parallel(ROWS, COLUMNS):
                    place = COLUMNS - 1 - j
                    y[i, j] = x[i, place]
            elif form == "row":
                for i, j in T.Parallel(ROWS, COLUMNS):
                    row[i] = x[i, j] * 2.0
                    y[i, j] = row[i] + 1.0
            elif form == "pair":
                for i, j in T.Parallel(ROWS, COLUMNS):
                    row[i // 2] = x[i, j]
                    y[i, j] = row[i // 2] * x[i, j]
            T.copy(y, C)

    return main


EXPECTED: dict[str, Any] = {
    "number": lambda a: a * 2 + 1,
    "place": lambda a: a[:, ::-1],
    "row": lambda a: a * 2 + 1,
    "pair": lambda a: a * a,
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("form", list(EXPECTED))
def test_each_iteration_has_its_own(form: str, threads: int) -> None:
    key = tilewright.PassConfigKey
    automatic = {key.TL_ASCEND_AUTO_SYNC: True, key.TL_ASCEND_MEMORY_PLANNING: True}
    compiled = tilewright.compile(kernel(form, threads), target="ascend", pass_configs=automatic)
    a = np.random.default_rng(4).integers(-9, 10, (ROWS, COLUMNS)).astype(np.float32)
    result = np.zeros_like(a)
    compiled(a, result)
    np.testing.assert_array_equal(result, EXPECTED[form](a))
