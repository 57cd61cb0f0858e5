# SPDX-License-Identifier: Apache-2.0
"""Atomic adds of each element type: what the DMA can add has all its carries, anything else is
refused."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.testing import interpret

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
ROWS, COLUMNS = 4, 24
FORMS = ("nest", "reversed", "tile")
REFUSED = "; there is that of float16, bfloat16, float32, int8, int16, int32 and uint32"


def adding(form: str, dtype: str) -> Any:
    """C += A: from a nest whose elements are a rectangle or are not, or as a tile."""

    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), dtype), C: T.Tensor((ROWS, COLUMNS), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=64) as _:
            if form == "nest":
                for i, j in T.Parallel(ROWS, COLUMNS):
                    T.atomic_add(C[i, j], A[i, j])
            elif form == "reversed":
                for i, j in T.Parallel(ROWS, COLUMNS):
                    T.atomic_add(C[ROWS - 1 - i, j], A[i, j])
            else:
                x = T.alloc_shared((ROWS, COLUMNS), dtype)
                T.copy(A, x)
                T.atomic_add(C, x)

    return main


def adding_thrice(dtype: str) -> Any:
    """The three forms in one kernel, which is built once."""
    tensor = T.Tensor((ROWS, COLUMNS), dtype)

    @T.prim_func
    def main(A: tensor, C: tensor, D: tensor, E: tensor):  # type: ignore[no-untyped-def, valid-type]
        with T.Kernel(1, threads=64) as _:
            x = T.alloc_shared((ROWS, COLUMNS), dtype)
            for i, j in T.Parallel(ROWS, COLUMNS):
                T.atomic_add(C[i, j], A[i, j])
            for i, j in T.Parallel(ROWS, COLUMNS):
                T.atomic_add(D[ROWS - 1 - i, j], A[i, j])
            T.copy(A, x)
            T.atomic_add(E, x)

    return main


@pytest.mark.filterwarnings("ignore::tilewright.errors.TilewrightWarning")
@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "uint32", "float16", "bfloat16", "float32"]
)
def test_sums(dtype: str) -> None:
    """Integers from and to all numbers: carries from each byte to the next, and out of the last."""
    random = np.random.default_rng(0)
    shape = (ROWS, COLUMNS)
    if "int" in dtype:
        limits = np.iinfo(dtype)
        a, c = (
            random.integers(limits.min, limits.max, shape, np.dtype(dtype), endpoint=True)
            for _ in range(2)
        )
        a[0, :3], c[0, :3] = (limits.max, 1, limits.max), (1, limits.max, limits.max)
    else:
        number = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
        a, c = (random.integers(-9, 9, shape).astype(number) for _ in range(2))
    with np.errstate(over="ignore"):
        expected = c + a, c + a[::-1], c + a
    made, same = ([c.copy() for _ in FORMS] for _ in range(2))
    interpret(adding_thrice(dtype), a, *same)
    tilewright.compile(adding_thrice(dtype), target="ascend")(a, *made)
    for number, form in enumerate(FORMS):
        np.testing.assert_array_equal(made[number], expected[number], err_msg=form)
        np.testing.assert_array_equal(same[number], expected[number], err_msg=form)


@pytest.mark.filterwarnings("ignore::tilewright.errors.TilewrightWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int64", "uint64"])
def test_types_that_the_dma_does_not_add(form: str, dtype: str) -> None:
    kernel = adding(form, dtype)
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel, target="ascend")
    (error,) = caught.value.errors
    message = f"unsupported on ascend: an atomic add of {dtype} elements" + REFUSED
    assert error.message == message
    first = kernel.function.__code__.co_firstlineno
    assert error.place.line - first == {"nest": 5, "reversed": 8, "tile": 12}[form]


@pytest.mark.filterwarnings("ignore::tilewright.errors.TilewrightWarning")
def test_element_before_and_behind_its_atomic_add() -> None:
    """The scalar unit reads what the DMA has added, not what its cache held before."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((40,), "float32"), C: T.Tensor((40,), "float32"), D: T.Tensor((40,), "float32")
    ):
        with T.Kernel(1, threads=64) as _:
            for i in T.Parallel(32):
                D[i] = C[i]
                T.atomic_add(C[i], A[i])
                A[i] = C[i] * 2.0

    a, c = np.arange(40, dtype=np.float32), np.full(40, 3, np.float32)
    expected_a, expected_c, expected_d = a.copy(), c.copy(), np.zeros(40, np.float32)
    expected_c[:32] += a[:32]
    expected_d[:32] = 3
    expected_a[:32] = expected_c[:32] * 2
    d, same = np.zeros(40, np.float32), [a.copy(), c.copy(), np.zeros(40, np.float32)]
    interpret(main, *same)
    tilewright.compile(main, target="ascend")(a, c, d)
    for made, wanted in ((same, "interpreter"), ([a, c, d], "ascend")):
        for one, other in zip(made, (expected_a, expected_c, expected_d), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=wanted)


def adding_of_each_core(threads: int | None) -> Any:
    """Three blocks whose cores don't ask who they are."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 16), "float16"),
        C: T.Tensor((16, 16), "float32"),
        D: T.Tensor((16, 16), "float32"),
    ):
        with T.Kernel(3, is_npu=True, threads=threads) as _:
            a = T.alloc_L1((16, 16), "float16")
            product = T.alloc_L0C((16, 16), "float32")
            tile = T.alloc_ub((16, 16), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a, product, init=True)
            T.copy(product, tile)
            T.tile.atomic_add(C[0, 0], tile)
            T.tile.atomic_add(D[0, 0], product)

    return main


TWICE = (
    ", so that it counts twice: add it where `vid == 0`, a part of its own on each, by vid, or "
    "launch one with threads=1"
)


@contextmanager
def warned_of_sums(tensor: str | None) -> Iterator[None]:
    """Exactly that of what both vector cores add to a tensor, if one is named."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    said = f"both vector cores of a block add the same to '{tensor}' here{TWICE}"
    assert [str(warning.message) for warning in caught] == ([said] if tensor else [])


@pytest.mark.parametrize("threads", [None, 1, 2])
def test_both_vector_cores_add(threads: int | None) -> None:
    """Without `threads` a block has two vector cores, and both add what each does."""
    main = adding_of_each_core(threads)
    a = (np.arange(256) % 7 - 3).reshape(16, 16).astype(np.float16)
    product = a.astype(np.float64) @ a.astype(np.float64)
    made, same = ([np.zeros((16, 16), np.float32) for _ in range(2)] for _ in range(2))
    with warned_of_sums(None if threads else "C"):
        kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    kernel(a, *made)
    interpret(main, a, *same)
    for results in (made, same):
        np.testing.assert_array_equal(results[0], product * (3 if threads else 6))
        np.testing.assert_array_equal(results[1], product * 3)


def test_both_vector_cores_of_vector_work_add() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 24), "float32"), C: T.Tensor((11, 21), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(3, is_npu=True) as (_, _):
            tile = T.alloc_ub((16, 24), "float32")
            T.copy(A, tile)
            T.tile.atomic_add(C[0, 0], tile)

    a = np.arange(16 * 24).reshape(16, 24).astype(np.float32)
    made, same = (np.zeros((11, 21), np.float32) for _ in range(2))
    with warned_of_sums("C"):
        kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    kernel(a, made)
    interpret(main, a, same)
    np.testing.assert_array_equal(made, 6 * a[:11, :21])
    np.testing.assert_array_equal(same, made)


def adding_and_storing(threads: int | None, is_told_apart: bool) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16,), "float32"), C: T.Tensor((16,), "float32"), D: T.Tensor((16,), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=threads) as ids:
            tile = T.alloc_ub((16,), "float32")
            T.copy(A, tile)
            T.tile.atomic_add(C[0], tile)
            if is_told_apart:
                if ids[1] == 0:
                    T.copy(tile, D)
            else:
                T.copy(tile, D)

    return main


def test_what_both_vector_cores_store_besides() -> None:
    """The sum says that both run; the warning says it of the copy, and each way out."""
    a = np.arange(16, dtype=np.float32)
    kernel = adding_and_storing(None, False)
    with pytest.warns(TilewrightWarning) as caught:
        tilewright.compile(kernel, target="ascend", pass_configs=AUTOMATIC)
    sums, warning = caught
    assert str(sums.message) == f"both vector cores of a block add the same to 'C' here{TWICE}"
    assert sums.lineno == kernel.function.__code__.co_firstlineno + 7
    assert "both vector cores of a block store this at the same place" in str(warning.message)
    assert warning.lineno == kernel.function.__code__.co_firstlineno + 12
    for threads, is_told_apart, sums in ((1, False, 1), (None, True, 2)):
        c, d = np.zeros(16, np.float32), np.zeros(16, np.float32)
        kernel = adding_and_storing(threads, is_told_apart)
        with warned_of_sums(None if threads else "C"):
            made = tilewright.compile(kernel, target="ascend", pass_configs=AUTOMATIC)
        made(a, c, d)
        np.testing.assert_array_equal(c, sums * a)
        np.testing.assert_array_equal(d, a)


def split_k(scope: str, factor: float | None) -> Any:
    """Each block adds its part of the sum; in `scope`, by `factor`, if there is one."""

    @T.macro
    def body(A, B, C, part):  # type: ignore[no-untyped-def]
        a = T.alloc_shared((32, 16), "float16")
        b = T.alloc_shared((16, 32), "float16")
        c = T.alloc_fragment((32, 32), "float32")
        for k in T.serial(2):
            T.copy(A[0, part * 32 + k * 16], a)
            T.copy(B[part * 32 + k * 16, 0], b)
            T.gemm_v0(a, b, c, init=(k == 0))
        if factor:
            T.tile.mul(c, c, factor)
        T.tile.atomic_add(C[0, 0], c)

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 96), "float16"),
        B: T.Tensor((96, 32), "float16"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(3, is_npu=True) as (cid, _):
            if scope:
                with T.Scope(scope):
                    body(A, B, C, cid)
            else:
                body(A, B, C, cid)

    return main


@pytest.mark.parametrize(("scope", "factor"), [("", None), ("C", None), ("", 2.0)])
def test_accumulators_are_added_once(scope: str, factor: float | None) -> None:
    """What gemms add to lies in L0C, and is added from there, or by one vector core."""
    values = np.random.default_rng(4).integers(-3, 4, (2, 32, 96)).astype(np.float16)
    a, b = values[0], np.ascontiguousarray(values[1].T)
    expected = a.astype(np.float64) @ b.astype(np.float64) * (factor or 1)
    c = np.zeros((32, 32), np.float32)
    made = tilewright.compile(split_k(scope, factor), target="ascend", pass_configs=AUTOMATIC)
    made(a, b, c)
    np.testing.assert_array_equal(c, expected)
    assert ("addL0cToGm(" in made.get_kernel_source()) == (factor is None)


def adding_to_its_result(stores: bool) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64,), "float32")
            if stores:
                T.tile.fill(x, 0.0)
                T.copy(x, C)
            T.copy(A, x)
            T.tile.atomic_add(C, x)

    return main


@pytest.mark.parametrize("times", ["first", "from the cache"])
def test_a_result_that_is_only_added_to_is_told(times: str) -> None:
    """Each call makes it, as `torch.empty` does."""
    kernel = adding_to_its_result(stores=False)
    with pytest.warns(TilewrightWarning) as caught:
        tilewright.compile(kernel, out_idx=[1], target="ascend", pass_configs=AUTOMATIC)
    (told,) = caught
    first = kernel.function.__code__.co_firstlineno
    assert told.lineno == first + 1
    assert str(told.message) == (
        "'C' is given back, but the kernel only updates what was in memory before: store its first "
        "values, such as zeros, in the kernel, or give the call a tensor that holds them; line "
        f"{first + 8}: it is updated here"
    )


@pytest.mark.filterwarnings("error")
def test_a_result_that_is_stored_first_or_given_is_not_told() -> None:
    a, c = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    stored = tilewright.compile(
        adding_to_its_result(stores=True), out_idx=[1], target="ascend", pass_configs=AUTOMATIC
    )
    np.testing.assert_array_equal(stored(a), a)
    given = tilewright.compile(
        adding_to_its_result(stores=False), target="ascend", pass_configs=AUTOMATIC
    )
    given(a, c)
    np.testing.assert_array_equal(c, a + 1)
