# SPDX-License-Identifier: Apache-2.0
"""What a launch can't do is an error at the line of T.Kernel, and a loop without an end one at the
loop."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC

import tilewright
import tilewright.language as T

ELEMENTS = 70000


def copies(blocks: Any, cores: int) -> Any:  # noqa: ANN401
    """A kernel whose T.Kernel stands three lines behind its head."""

    @T.prim_func
    def one(A: T.Tensor((ELEMENTS,), "float32"), n: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(n if blocks is None else blocks, is_npu=True, threads=1) as _:
            a = T.alloc_ub((8,), "float32")
            T.copy(A[0], a)
            T.copy(a, A[0])

    @T.prim_func
    def two(A: T.Tensor((ELEMENTS,), "float32"), n: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(n if blocks is None else blocks, is_npu=True) as (_, vid):
            a = T.alloc_ub((8,), "float32")
            T.copy(A[vid * 8], a)
            T.copy(a, A[vid * 8])

    return one if cores == 1 else two


OF_TWO = " of two vector cores each"


@pytest.mark.parametrize(
    ("blocks", "cores", "sentence"),
    [
        (65536, 1, "the grid has 65536 blocks, but a launch has at most 65535"),
        (2**40, 1, "the grid has 1099511627776 blocks, but a launch has at most 65535"),
        (32768, 2, f"the grid has 32768 blocks{OF_TWO}, but a launch has at most 65535 cores"),
    ],
)
def test_more_blocks_than_a_launch_has(blocks: int, cores: int, sentence: str) -> None:
    """Of a constant grid the compiler says it, of another the call."""
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(copies(blocks, cores), target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    line = copies(blocks, cores).function.__code__.co_firstlineno + 2
    advice = "; let each block do several parts of the work"
    assert error.message == f"unsupported on ascend: {sentence}{advice}"
    assert (error.place.file, error.place.line) == (__file__, line)
    if blocks < 2**31:
        kernel = tilewright.compile(copies(None, cores), target="ascend", pass_configs=AUTOMATIC)
        with pytest.raises(RuntimeError) as refused:
            kernel(np.ones(ELEMENTS, np.float32), blocks)
        assert re.fullmatch(rf"{__file__}:{line}:\d+: error: {sentence}", str(refused.value))


def test_largest_constant_grid() -> None:
    options = {"target": "ascend", "pass_configs": AUTOMATIC}
    assert "one_kernel" in tilewright.compile(copies(65535, 1), **options).get_kernel_source()


@T.prim_func
def endless(A: T.Tensor((32,), "float32"), n: T.int32):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((32,), "float32")
        v = T.alloc_var("int32")
        v = n
        while v < 10:
            v = v * 2
        T.copy(A, a)
        T.copy(a, A)


@T.prim_func
def endless_behind_a_copy(A: T.Tensor((32,), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((32,), "float32")
        v = T.alloc_var("int32")
        v = 0
        T.copy(A, a)
        while v < 1:
            v = v * 2
        T.copy(a, A)


@pytest.mark.parametrize(
    ("kernel", "arguments", "behind"), [(endless, [0], (6, 7)), (endless_behind_a_copy, [], (7,))]
)
def test_a_loop_without_an_end_has_its_line(
    kernel: Any,  # noqa: ANN401
    arguments: list[int],
    behind: tuple[int, ...],
) -> None:
    """C++ takes every loop for one with an end: the first was left out, the second a trap. The host
    stops a kernel at one of the loop's instructions: those of the first are the `while`'s and its
    body's, the second has one, a jump to itself."""
    made = tilewright.compile(kernel, target="ascend", pass_configs=AUTOMATIC)
    with pytest.raises(RuntimeError, match="endless loop: the kernel is back in the") as caught:
        made(np.ones(32, np.float32), *arguments)
    first = kernel.function.__code__.co_firstlineno
    places = [f"{__file__}:{first + line}: error: endless loop" for line in behind]
    assert any(place in str(caught.value) for place in places)


@pytest.mark.parametrize("loop", [T.serial, T.vectorized, T.unroll, T.Parallel])
def test_a_loop_of_2_to_the_40_compiles(loop: Any) -> None:  # noqa: ANN401
    """The search for flags wrote out each iteration, of which it kept nothing, without end."""

    @T.prim_func
    def main(A: T.Tensor((8,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((8,), "float32")
            T.copy(A, a)
            for _i in loop(1 << 40):
                a[0] = 1.0
            T.copy(a, A)

    options = {"target": "ascend", "pass_configs": AUTOMATIC}
    assert "1099511627776" in tilewright.compile(main, **options).get_kernel_source()


@T.prim_func
def of_two_dims(A: T.Tensor((64,), "float32"), n: T.int32, m: T.int32):  # type: ignore[no-untyped-def]
    with T.Kernel(n, m, threads=128) as (x, y):
        A[x * 8 + y] = 1.0


@T.prim_func
def of_two_launches(A: T.Tensor((64,), "float32"), n: T.int32, m: T.int32):  # type: ignore[no-untyped-def]
    with T.Kernel(1, n, threads=128) as (x, y):
        A[x * 8 + y] = 1.0
    with T.Kernel(m, threads=128) as x:
        A[x * 8] = 2.0


@pytest.mark.parametrize("target", ["ascend", "cpu"])
@pytest.mark.parametrize(
    ("kernel", "sizes", "grid", "behind"),
    [
        (of_two_dims, (-1, 2), "(-1, 2, 1)", 2),
        (of_two_dims, (0, -3), "(0, -3, 1)", 2),
        (of_two_launches, (-7, 1), "(1, -7, 1)", 2),
        (of_two_launches, (0, -2), "(-2, 1, 1)", 4),
    ],
)
def test_a_grid_of_less_than_no_block(
    target: str,
    kernel: Any,  # noqa: ANN401
    sizes: tuple[int, int],
    grid: str,
    behind: int,
) -> None:
    """In the CPU's words, at T.Kernel. A grid of no block is none."""
    made = tilewright.compile(kernel, target=target)
    line = kernel.function.__code__.co_firstlineno + behind
    a = np.zeros(64, np.float32)
    with pytest.raises(RuntimeError) as refused:
        made(a, *sizes)
    assert re.fullmatch(
        rf"{__file__}:{line}:\d+: error: the grid is {re.escape(grid)} but extents from 0 on, of "
        r"less than 2\^62 blocks, were expected",
        str(refused.value),
    )
    made(a, 0, 0)
    np.testing.assert_array_equal(a, 0)
