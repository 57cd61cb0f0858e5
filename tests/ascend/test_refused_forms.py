# SPDX-License-Identifier: Apache-2.0
"""Forms of copies and products that the chip has no way for are errors at their line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


def error_of(body: Any) -> tuple[str, int]:
    """The message of a macro, and how many lines behind its head it stands."""

    @T.prim_func
    def main(A: T.Tensor((32, 64), "float16"), C: T.Tensor((32, 32), "float32"), n: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            body(A, C, n)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    return error.message, error.place.line - body.function.__code__.co_firstlineno


@T.macro
def transposed_to_l1(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((64, 32), "float16")
    T.copy(A, a, transpose=True)


@T.macro
def positive_to_l1(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((32, 64), "float16")
    T.copy(A, a, enable_relu=True)


@T.macro
def transposed_of_some(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_ub((64, 32), "float16")
    T.copy(A[0:n, 0:64], a[0:64, 0:n], transpose=True)


@T.macro
def computed_in_l1(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((32, 64), "float16")
    T.tile.add(a, a, 1.0)  # what it reads and what it writes are wrong alike: one error


BETWEEN = "; those from L1 to L0 and to or from UB can be"
REFUSED = {
    "unsupported on ascend: a transposed copy from global to L1" + BETWEEN: transposed_to_l1,
    "unsupported on ascend: ReLU in a copy from global to L1; "
    "those from L0C and to or from UB can have it": positive_to_l1,
    "unsupported on ascend: a transposed copy of extents that are known at run time only": (
        transposed_of_some
    ),
    "unsupported on ascend: single elements of L1; cores read and write those of UB (T.alloc_ub) "
    "and of tensors": computed_in_l1,
}


@pytest.mark.parametrize("message", REFUSED)
def test_copies(message: str) -> None:
    assert error_of(REFUSED[message]) == (message, 3)


@T.macro
def filled_in_two_widths(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((32, 64), "float16")
    left = T.alloc_L0A((32, 64), "float16")
    right = T.alloc_L0B((32, 32), "float16")
    c = T.alloc_L0C((32, 32), "float32")
    T.copy(A, a)
    T.copy(a[:, 0:32], right)
    T.copy(a[:, 0:32], left[:, 0:32])
    T.mma(left[:, 0:32], right, c, init=True)
    T.copy(a, left)
    T.mma(left[:, 0:32], right, c)
    T.copy(c, C)


@T.macro
def filled_in_two_branches(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((32, 64), "float16")
    left = T.alloc_L0A((32, 64), "float16")
    right = T.alloc_L0B((32, 32), "float16")
    c = T.alloc_L0C((32, 32), "float32")
    T.copy(A, a)
    T.copy(a[:, 0:32], right)
    if n > 1:
        T.copy(a[:, 0:32], left[:, 0:32])
    else:
        T.copy(a, left)
    T.mma(left[:, 0:32], right, c, init=True)
    T.copy(c, C)


@T.macro
def filled_by_the_iteration_before(A, C, n):  # type: ignore[no-untyped-def]
    a = T.alloc_L1((32, 64), "float16")
    left = T.alloc_L0A((32, 64), "float16")
    right = T.alloc_L0B((32, 32), "float16")
    c = T.alloc_L0C((32, 32), "float32")
    T.copy(A, a)
    T.copy(a[:, 0:32], right)
    T.copy(a[:, 0:32], left[:, 0:32])
    for _ in T.serial(2):
        T.mma(left[:, 0:32], right, c, init=True)
        T.copy(a, left)
    T.copy(c, C)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (filled_in_two_widths, 11),
        (filled_in_two_branches, 12),
        (filled_by_the_iteration_before, 10),
    ],
)
def test_products_of_tiles_filled_in_two_widths(body: Any, line: int) -> None:
    message, found = error_of(body)
    assert message == (
        "unsupported on ascend: a of a gemm is 32 columns of a tile in L0A that a copy fills with "
        "64, so that its rows do not meet; copy these columns only"
    )
    assert found == line


def test_a_product_of_what_the_last_copy_has_filled() -> None:
    """An earlier copy of another width does no harm."""

    @T.prim_func
    def main(A: T.Tensor((32, 64), "float16"), C: T.Tensor((32, 32), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((32, 64), "float16")
            left = T.alloc_L0A((32, 64), "float16")
            right = T.alloc_L0B((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            T.copy(A, a)
            T.copy(a[:, 0:32], right)
            T.copy(a, left)
            T.copy(a[:, 32:64], left[:, 0:32])
            T.mma(left[:, 0:32], right, c, init=True)
            T.copy(c, C)

    a = np.random.default_rng(2).integers(-4, 4, (32, 64)).astype(np.float16)
    c = np.zeros((32, 32), np.float32)
    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)(a, c)
    wide = a.astype(np.float64)
    np.testing.assert_array_equal(c, wide[:, 32:] @ wide[:, :32])


@T.macro
def flags_of_a_tensor(A, C, n):  # type: ignore[no-untyped-def]
    T.init_flag(A)


@T.macro
def one_flag_alone(A, C, n):  # type: ignore[no-untyped-def]
    T.clear_flag({"mte2": {"v": 0}})


@T.macro
def no_format(A, C, n):  # type: ignore[no-untyped-def]
    T.printf(A, n)


@T.macro
def no_layouts(A, C, n):  # type: ignore[no-untyped-def]
    T.annotate_layout("zN")


FLAGS = ' takes {source pipe: {target pipe: [events]}}, as in {"mte2": {"v": [0, 1]}}, not '


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (flags_of_a_tensor, f"T.init_flag{FLAGS}buffer 'A'"),
        (one_flag_alone, f"T.clear_flag{FLAGS}{{'mte2': {{'v': 0}}}} of type dict"),
        (no_format, "T.printf takes a format first, not buffer 'A'"),
        (
            no_layouts,
            "T.annotate_layout takes buffers and their layouts, {buffer: layout}, not 'zN' of type "
            "str",
        ),
    ],
)
def test_arguments_of_other_kinds(body: Any, message: str) -> None:
    assert error_of(body) == (message, 2)
