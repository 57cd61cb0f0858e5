# SPDX-License-Identifier: Apache-2.0
"""Flags by hand whose numbers are known in each turn: by arithmetic on the loop's number, by
a choice, or from a variable that the turns count up or toggle. The checker follows them, so it has
nothing to say of a kernel as it is, and reports what it lacks as the host does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError

SIZE, COUNT = 32, 7
GROUP = KernelGroup({})

A = np.arange(COUNT * SIZE, dtype=np.float32) % 97
ZEROS = np.zeros_like(A)


def added(turns: int) -> np.ndarray[Any, Any]:
    """A + 1 where the first turns come."""
    return np.where(np.arange(COUNT * SIZE) < turns * SIZE, A + 1, 0).astype(np.float64)


Number = Callable[[Any], Any]
#: How many buffers there are, and which one a turn takes.
BY_TURN: dict[str, tuple[int, Number]] = {
    "1 - k % 2": (2, lambda k: 1 - k % 2),
    "k & 1 ^ 1": (2, lambda k: (k & 1) ^ 1),
    "k ^ 1": (2, lambda k: (k ^ 1) % 2),
    "(k - 1) % 2": (2, lambda k: (k - 1) % 2),
    "k % 2 * 2": (3, lambda k: k % 2 * 2),
    "k % 2 + 3": (5, lambda k: k % 2 + 3),
    "k % 3": (3, lambda k: k % 3),
    "2 - k % 3": (3, lambda k: 2 - k % 3),
    "k // 2 % 2": (2, lambda k: k // 2 % 2),
    "k // 2 % 3 + k % 2": (4, lambda k: k // 2 % 3 + k % 2),
    "k >> 1 & 1": (2, lambda k: (k >> 1) & 1),
    "k % 4 // 2": (2, lambda k: k % 4 // 2),
    "k * k % 4": (2, lambda k: (k % 4) * (k % 4) % 4),
    "1 if k % 2 == 0": (2, lambda k: T.if_then_else(k % 2 == 0, 1, 0)),
    "4 if k % 3 == 1": (5, lambda k: T.if_then_else(k % 3 == 1, 4, k % 3 // 2)),
    "max(k % 3, 1)": (3, lambda k: T.max(k % 3, 1)),
}


@T.macro
def one_turn(A: Any, C: Any, tiles: Any, k: Any, number: Any) -> None:
    """Loads a tile once it is free, adds to it, stores it, and frees it."""
    T.wait_flag("mte3", "mte2", number)
    T.copy(A[k * SIZE : (k + 1) * SIZE], tiles[number, :])
    T.set_flag("mte2", "v", number)
    T.wait_flag("mte2", "v", number)
    T.tile.add(tiles[number, :], tiles[number, :], 1.0)
    T.set_flag("v", "mte3", number)
    T.wait_flag("v", "mte3", number)
    T.copy(tiles[number, :], C[k * SIZE : (k + 1) * SIZE])
    T.set_flag("mte3", "mte2", number)


@T.macro
def free_all(buffers: int) -> None:
    for each in range(buffers):
        T.set_flag("mte3", "mte2", each)


@T.macro
def await_all(buffers: int) -> None:
    for each in range(buffers):
        T.wait_flag("mte3", "mte2", each)


@GROUP.each(number=BY_TURN)
def by_turn(number: str) -> Any:
    buffers, of = BY_TURN[number]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((buffers, SIZE), "float32")
            free_all(buffers)
            for k in T.serial(n):
                one_turn(A, C, tiles, k, of(k))
            await_all(buffers)

    return main, [A, ZEROS, 6], {1: added(6)}


Change = Callable[[Any], Any]
#: How many buffers there are, the variable's first number, and the next one.
NEXT: dict[str, tuple[int, int, Change]] = {
    "1 - buf": (2, 0, lambda buf: 1 - buf),
    "1 - buf from 1": (2, 1, lambda buf: 1 - buf),
    "buf ^ 1": (2, 0, lambda buf: buf ^ 1),
    "(buf + 1) % 2": (2, 1, lambda buf: (buf + 1) % 2),
    "(buf + 1) % 3": (3, 0, lambda buf: (buf + 1) % 3),
    "(buf + 2) % 4": (4, 1, lambda buf: (buf + 2) % 4),
    "buf + 1 & 3": (4, 2, lambda buf: (buf + 1) & 3),
    "buf + 1 or 0": (3, 0, lambda buf: T.if_then_else(buf == 2, 0, buf + 1)),
    "the same": (2, 1, lambda buf: buf),
}


@GROUP.each(change=NEXT, is_first=[False, True])
def by_variable(change: str, is_first: bool) -> Any:
    """The variable goes on at the begin of a turn, or at its end."""
    buffers, start, next_of = NEXT[change]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((buffers, SIZE), "float32")
            buf = T.alloc_var("int32", init=start)
            free_all(buffers)
            for k in T.serial(n):
                if is_first:
                    buf = next_of(buf)
                one_turn(A, C, tiles, k, buf)
                if not is_first:
                    buf = next_of(buf)  # noqa: F841
            await_all(buffers)

    return main, [A, ZEROS, 6], {1: added(6)}


def wide(number: Any) -> Any:
    """With room for its tile's place, which else may wrap round to that of an earlier turn."""
    return T.cast(number, "int64")


#: How many buffers there are, and which one a turn takes, by a count of turns.
BY_COUNT: dict[str, tuple[int, Number]] = {
    "count % 2": (2, lambda count: count % 2),
    "count % 3": (3, lambda count: count % 3),
    "count // 2 % 2": (2, lambda count: count // 2 % 2),
    "1 - (count & 1)": (2, lambda count: 1 - (count & 1)),
}


@GROUP.each(number=BY_COUNT, kind=["for", "while", "by another variable"])
def by_count(number: str, kind: str) -> Any:
    """A variable that counts the turns."""
    buffers, of = BY_COUNT[number]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((buffers, SIZE), "float32")
            count = T.alloc_var("int32", init=0)
            buf = T.alloc_var("int32", init=0)
            free_all(buffers)
            if kind == "while":
                while count < n:
                    one_turn(A, C, tiles, wide(count), of(count))
                    count = count + 1
            elif kind == "for":
                for k in T.serial(n):
                    one_turn(A, C, tiles, k, of(count))
                    count = count + 1
            else:
                for k in T.serial(n):
                    buf = of(count)
                    one_turn(A, C, tiles, k, buf)
                    count = count + 1
            await_all(buffers)

    return main, [A, ZEROS, 6], {1: added(6)}


@GROUP.each(change=["1 - buf", "(buf + 1) % 3"])
def in_a_while(change: str) -> Any:
    buffers, start, next_of = NEXT[change]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((buffers, SIZE), "float32")
            buf = T.alloc_var("int32", init=start)
            k = T.alloc_var("int32", init=0)
            free_all(buffers)
            while k < n:
                one_turn(A, C, tiles, wide(k), buf)
                buf = next_of(buf)
                k = k + 1
            await_all(buffers)

    return main, [A, ZEROS, 6], {1: added(6)}


@GROUP.each(buffers=[2, 3])
def ahead(buffers: int) -> Any:
    """The next tile is loaded before the present one is taken; two variables say which."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((buffers, SIZE), "float32")
            now = T.alloc_var("int32", init=0)
            later = T.alloc_var("int32", init=5)
            free_all(buffers)
            T.wait_flag("mte3", "mte2", 0)
            T.copy(A[0:SIZE], tiles[0, :])
            T.set_flag("mte2", "v", 0)
            for k in T.serial(COUNT):
                later = (now + 1) % buffers
                if k < COUNT - 1:
                    T.wait_flag("mte3", "mte2", later)
                    T.copy(A[(k + 1) * SIZE : (k + 2) * SIZE], tiles[later, :])
                    T.set_flag("mte2", "v", later)
                T.wait_flag("mte2", "v", now)
                T.tile.add(tiles[now, :], tiles[now, :], 1.0)
                T.set_flag("v", "mte3", now)
                T.wait_flag("v", "mte3", now)
                T.copy(tiles[now, :], C[k * SIZE : (k + 1) * SIZE])
                T.set_flag("mte3", "mte2", now)
                now = later
            await_all(buffers)

    return main, [A, ZEROS], {1: added(COUNT)}


@GROUP.each(outer=[None, 2], inner=[2, 3])
def over_two_loops(outer: int | None, inner: int) -> Any:
    """A variable goes on from turn to turn of the inner loop, all through the outer one, whose
    length an argument gives or the kernel."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((2, SIZE), "float32")
            buf = T.alloc_var("int32", init=0)
            free_all(2)
            for j in T.serial(n if outer is None else outer):
                for k in T.serial(inner):
                    one_turn(A, C, tiles, j * inner + k, buf)
                    buf = 1 - buf
            await_all(2)

    return main, [A, ZEROS, 2], {1: added(2 * inner)}


@GROUP.each(inner=[1, 3])
def begun_anew(inner: int) -> Any:
    """Each turn of the outer loop begins with the first buffer; what is left of the turn before is
    drained by then, so the inner loop may have any length."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
        m: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((2, SIZE), "float32")
            buf = T.alloc_var("int32", init=0)
            for j in T.serial(n):
                buf = 1
                free_all(2)
                for k in T.serial(m):
                    one_turn(A, C, tiles, j * 4 + k, buf)
                    buf = 1 - buf
                await_all(2)

    done = np.arange(COUNT * SIZE) // SIZE % 4 < inner
    return main, [A, ZEROS, 2, inner], {1: np.where(done, A + 1, 0).astype(np.float64)}


@GROUP.each(outer=[3])
def two_numbers(outer: int) -> Any:
    """The buffers of two loops: a pair for each of two turns of the outer one."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((4, SIZE), "float32")
            free_all(4)
            for j in T.serial(outer):
                for k in T.serial(2):
                    one_turn(A, C, tiles, j * 2 + k, j % 2 * 2 + (1 - k))
            await_all(4)

    return main, [A, ZEROS], {1: added(2 * outer)}


@GROUP.each(start=[0, 1])
def asked(start: int) -> Any:
    """A branch on the variable chooses between two tiles that have a flag each."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            first = T.alloc_ub((1, SIZE), "float32")
            second = T.alloc_ub((4, SIZE), "float32")
            buf = T.alloc_var("int32", init=start)
            T.set_flag("mte3", "mte2", 0)
            T.set_flag("mte3", "mte2", 3)
            for k in T.serial(n):
                if buf == 0:
                    one_turn(A, C, first, k, 0)
                else:
                    one_turn(A, C, second, k, 3)
                buf = 1 - buf
            T.wait_flag("mte3", "mte2", 0)
            T.wait_flag("mte3", "mte2", 3)

    return main, [A, ZEROS, 6], {1: added(6)}


@GROUP.each(turns=[5])
def downwards(turns: int) -> Any:
    """Each turn of a short loop has a number of its own."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((turns, SIZE), "float32")
            left = T.alloc_var("int32", init=turns)
            for k in T.serial(turns):
                T.copy(A[k * SIZE : (k + 1) * SIZE], tiles[k, :])
                T.set_flag("mte2", "v", turns - 1 - k)
            for k in T.serial(turns):
                left = left - 1
                T.wait_flag("mte2", "v", left)
                T.tile.add(tiles[k, :], tiles[k, :], 1.0)
                T.set_flag("v", "mte3", k ^ 1)
                T.wait_flag("v", "mte3", k ^ 1)
                T.copy(tiles[k, :], C[k * SIZE : (k + 1) * SIZE])

    return main, [A, ZEROS], {1: added(turns)}


@GROUP.each(change=["1 - buf", "(buf + 1) % 3"])
def beside_found_flags(change: str) -> Any:
    """What flags by hand order in turn, the compiler adds nothing to; it orders what they don't,
    the load of what is added."""
    buffers, start, next_of = NEXT[change]

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        B: T.Tensor((SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((buffers, SIZE), "float32")
            ones = T.alloc_ub((SIZE,), "float32")
            buf = T.alloc_var("int32", init=start)
            free_all(buffers)
            T.copy(B, ones)
            for k in T.serial(n):
                T.wait_flag("mte3", "mte2", buf)
                T.copy(A[k * SIZE], tiles[buf, :])
                T.set_flag("mte2", "v", buf)
                T.wait_flag("mte2", "v", buf)
                T.tile.add(tiles[buf, :], tiles[buf, :], ones)
                T.set_flag("v", "mte3", buf)
                T.wait_flag("v", "mte3", buf)
                T.copy(tiles[buf, :], C[k * SIZE])
                T.set_flag("mte3", "mte2", buf)
                buf = next_of(buf)  # noqa: F841
            await_all(buffers)

    automatic = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    # Behind the tensor's end tiles are filled, from the third one of a buffer on over its add.
    return main, [A, np.ones(SIZE, np.float32), ZEROS, 12], {2: added(COUNT)}, automatic


SIDE = 32
SQUARES = np.random.default_rng(11).integers(-2, 3, (6, SIDE, SIDE)).astype(np.float16)


@GROUP.each(number=["1 - i % 2", "buf"])
def of_the_cube_core(number: str) -> Any:
    """Operands in L1 take turns."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor(SQUARES.shape, "float16"),  # type: ignore[valid-type]
        C: T.Tensor(SQUARES.shape, "float32"),  # type: ignore[valid-type]
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            tiles = T.alloc_L1((2, SIDE, SIDE), "float16")
            product = T.alloc_L0C((SIDE, SIDE), "float32")
            buf = T.alloc_var("int32", init=0)
            with T.Scope("C"):
                T.set_flag("mte1", "mte2", 0)
                T.set_flag("mte1", "mte2", 1)
                for i in T.serial(n):
                    at = buf if number == "buf" else 1 - i % 2
                    T.wait_flag("mte1", "mte2", at)
                    T.copy(A[i, :, :], tiles[at, :, :])
                    T.set_flag("mte2", "mte1", at)
                    T.wait_flag("mte2", "mte1", at)
                    T.gemm_v0(tiles[at, :, :], tiles[at, :, :], product, init=True)
                    T.set_flag("mte1", "mte2", at)
                    T.set_flag("m", "fix", at)
                    T.wait_flag("m", "fix", at)
                    T.copy(product, C[i, :, :])
                    T.set_flag("fix", "m", at)
                    T.wait_flag("fix", "m", at)
                    buf = 1 - buf
                T.wait_flag("mte1", "mte2", 0)
                T.wait_flag("mte1", "mte2", 1)

    wide = SQUARES.astype(np.float64)
    products = np.where(np.arange(6)[:, None, None] < 5, wide @ wide, 0)
    return main, [SQUARES, np.zeros(SQUARES.shape, np.float32), 5], {1: products}


TURNS = 4
WITHIN_CORES = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


def from_core_to_core(of_cube: Number, of_vectors: Callable[[Any, Any], Any]) -> Any:
    """Tiles of a workspace of the kernel's own take turns, with a flag between cores each."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((SIDE, SIDE), "float16"),  # type: ignore[valid-type]
        W: T.Tensor((3, SIDE, SIDE), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((TURNS, SIDE, SIDE), "float32"),  # type: ignore[valid-type]
        first: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (_, vid):
            a = T.alloc_L1((SIDE, SIDE), "float16")
            product = T.alloc_L0C((SIDE, SIDE), "float32")
            half = T.alloc_ub((SIDE // 2, SIDE), "float32")
            buf = T.alloc_var("int32", init=first if of_cube is None else 1)
            with T.Scope("C"):
                T.copy(A, a)
                for i in T.serial(TURNS):
                    T.gemm_v0(a, a, product, init=True)
                    if i > 0:
                        T.wait_cross_flag(5)
                    T.copy(product, W[first if of_cube is None else of_cube(i), :, :])
                    T.set_cross_flag("FIX", first if of_cube is None else of_cube(i))
                T.wait_cross_flag(5)
            with T.Scope("V"):
                for i in T.serial(TURNS):
                    T.wait_cross_flag(of_vectors(i, buf))
                    T.copy(W[of_vectors(i, buf), vid * SIDE // 2, 0], half)
                    T.tile.add(half, half, 1.0)
                    T.copy(half, C[i, vid * SIDE // 2, 0])
                    T.set_cross_flag("MTE2", 5)
                    if i % 2 == 0:
                        buf = 3 - buf  # noqa: F841

    wide = SQUARES[0].astype(np.float64)
    results = np.zeros((TURNS, SIDE, SIDE), np.float32)
    arguments = [SQUARES[0], np.zeros((3, SIDE, SIDE), np.float32), results, 2]
    return main, arguments, {2: np.broadcast_to(wide @ wide + 1, results.shape)}, WITHIN_CORES


CROSSING: dict[str, tuple[Number, Callable[[Any, Any], Any]]] = {
    "2 - i % 2": (lambda i: 2 - i % 2, lambda i, buf: 2 - (i & 1)),
    "buf": (lambda i: 1 + (i + 1) // 2 % 2, lambda i, buf: buf),
}


@GROUP.each(numbers=CROSSING)
def between_cores(numbers: str) -> Any:
    return from_core_to_core(*CROSSING[numbers])


def test_a_number_between_cores_that_is_not_followed() -> None:
    """Nor what such flags order: the compiler says so, and the host checks it."""
    kernel, arguments, expected, configs = from_core_to_core(None, lambda i, buf: buf)
    wanted = (
        "the number of this flag, made of 'first', is known only when the kernel runs: what the "
        "flags between its cores order isn't checked while it is compiled, but the host checks it"
    )
    with pytest.warns(UserWarning, match=wanted):
        made = tilewright.compile(kernel, target="ascend", pass_configs=configs)
    with pytest.raises(RuntimeError, match="cross"):
        made(*arguments)


@pytest.mark.parametrize("name", GROUP.cases)
def test_a_kernel(name: str) -> None:
    GROUP.check(name)
    assert GROUP.told(name) == []


@pytest.mark.parametrize("name", GROUP.cases)
def test_what_a_kernel_lacks(name: str) -> None:
    GROUP.check_removals(name)


UNKNOWN = (
    "the number of this flag, made of 'buf', is known only when the kernel runs: none of its flags "
    "is checked while it is compiled, but the host checks them"
)


def with_numbers(change: Callable[[Any, Any], Any], start: int | None = 0) -> Any:
    """`change` gives the next number of the last one and an argument; None starts with that."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((COUNT * SIZE,), "float32"),  # type: ignore[valid-type]
        n: T.int32,
        first: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid), T.Scope("V"):
            tiles = T.alloc_ub((13, SIZE), "float32")  # more than there are flags
            buf = T.alloc_var("int32", init=first if start is None else start)
            free_all(2)
            for k in T.serial(n):
                one_turn(A, C, tiles, k, buf)
                buf = change(buf, first)  # noqa: F841
            await_all(2)

    return main


def test_a_number_that_goes_astray() -> None:
    """Every third turn waits for what nothing has set."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kernel = tilewright.compile(with_numbers(lambda buf, _: (buf + 1) % 3), target="ascend")
    assert any("event 2 from MTE3 to MTE2 is waited for" in str(each.message) for each in told)
    with pytest.raises(RuntimeError, match="wait"):
        kernel(A, ZEROS.copy(), 4, 0)


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "from an argument on": lambda buf, first: 1 - buf,
    "by an argument": lambda buf, first: T.if_then_else(first == 1, 1 - buf, 2 - buf),
    "after many turns": lambda buf, first: (buf + 1) % 13,
}


@pytest.mark.parametrize("is_automatic", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_a_number_that_is_not_followed(change: str, is_automatic: bool) -> None:
    """The compiler says so; the host runs the kernel, and finds the flag that nothing has set."""
    start = None if change == "from an argument on" else 0
    configs = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: is_automatic}
    with pytest.warns(UserWarning, match=UNKNOWN):
        kernel = tilewright.compile(
            with_numbers(CHANGES[change], start), target="ascend", pass_configs=configs
        )
    c = ZEROS.copy()
    kernel(A, c, 2, 1)
    np.testing.assert_array_equal(c, added(2))
    with pytest.raises(RuntimeError, match="wait"):
        kernel(A, c, 4, 2)


@pytest.mark.parametrize("length", [8 * SIZE, 6 * SIZE + 8])
def test_a_wait_is_missing_at_the_end(length: int) -> None:
    """The last tile may lie beyond the end: the branches of its copies hold none of the flags."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((length,), "float32"),  # type: ignore[valid-type]
        C: T.Tensor((length,), "float32"),  # type: ignore[valid-type]
    ):
        with T.Kernel(2, is_npu=True) as (cid, _), T.Scope("V"):
            tiles = T.alloc_ub((2, SIZE), "float32")
            free_all(2)
            for k in T.serial(4):
                one_turn(A, C, tiles, cid * 4 + k, k % 2)

    with pytest.raises(CompileError) as caught:
        tilewright.compile(main, target="ascend")
    assert [error.message for error in caught.value.errors] == [
        f"event {event} from MTE3 to MTE2 is still set when the kernel ends" for event in (0, 1)
    ]
