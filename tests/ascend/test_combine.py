# SPDX-License-Identifier: Apache-2.0
"""What tl.ascend_auto_cv_combine switches: one body for both kinds of core, or a scope for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

KEYS = tilewright.PassConfigKey
COMBINED = {KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_AUTO_CV_COMBINE: True}
a = np.random.default_rng(41).integers(-3, 4, (32, 32)).astype(np.float16)
product = a.astype(np.float64) @ a.astype(np.float64)


@T.prim_func
def one_body(  # type: ignore[no-untyped-def]
    A: T.Tensor((32, 32), "float16"), C: T.Tensor((32, 32), "float32")
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        tile = T.alloc_L1((32, 32), "float16")
        sums = T.alloc_L0C((32, 32), "float32")
        part = T.alloc_ub((32, 32), "float32")
        T.copy(A, tile)
        T.gemm_v0(tile, tile, sums, init=True)
        T.copy(sums, part)
        T.tile.add(part, part, 1.0)
        T.copy(part, C)


def compiled(kernel: Any, configs: dict[Any, bool]) -> Any:
    return tilewright.compile(kernel, out_idx=[-1], target="ascend", pass_configs=configs)


@pytest.mark.filterwarnings("error")
def test_on_one_body_becomes_two_programs() -> None:
    kernel = compiled(one_body, COMBINED | {KEYS.TL_ASCEND_AUTO_CV_SYNC: True})
    np.testing.assert_array_equal(np.asarray(kernel(a)), product + 1)


@pytest.mark.filterwarnings("ignore")
def test_off_what_one_kind_of_core_lacks_needs_a_scope() -> None:
    with pytest.raises(tilewright.CompileError) as caught:
        compiled(one_body, {KEYS.TL_ASCEND_AUTO_SYNC: True})
    (error,) = caught.value.errors
    assert error.message == (
        "outside of T.Scope, code runs on both kinds of core, but only the cube core can do this: "
        'put it into T.Scope("C"), or set tl.ascend_auto_cv_combine'
    )
    cube, vector = (
        f'only the {core} core can do this, too: into T.Scope("{letter}")'
        for core, letter in (("cube", "C"), ("vector", "V"))
    )
    assert {note.message for note in error.notes} == {cube, vector}
    first = one_body.function.__code__.co_firstlineno
    assert error.place.line == first + 8
    assert [note.place.line - first for note in error.notes] == [9, 10, 11, 12]


@pytest.mark.filterwarnings("error")
def test_off_scopes_are_two_programs_and_the_rest_is_of_both() -> None:
    @T.prim_func
    def scopes(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"),
        W: T.Tensor((32, 32), "float32"),
        C: T.Tensor((32, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_L1((32, 32), "float16")
            sums = T.alloc_L0C((32, 32), "float32")
            part = T.alloc_ub((32, 32), "float32")
            size = T.alloc_var("int32", init=32)
            with T.Scope("C"):
                T.copy(A, tile)
                T.gemm_v0(tile, tile, sums, init=True)
                T.copy(sums, W[size - 32, 0])
                T.set_cross_flag("fix", 0)
            with T.Scope("V"):
                T.wait_cross_flag(0)
                T.copy(W[size - 32, 0], part)
                T.tile.add(part, part, 1.0)
                T.copy(part, C)

    kernel = compiled(scopes, {KEYS.TL_ASCEND_AUTO_SYNC: True})
    source = kernel.get_kernel_source()
    assert source.count("if ASCEND_IS_AIC") == source.count("if ASCEND_IS_AIV") == 1
    made = kernel(a, np.zeros((32, 32), np.float32))
    np.testing.assert_array_equal(np.asarray(made), product + 1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("combine", [False, True])
def test_kernels_for_one_kind_of_core_need_no_scope(combine: bool) -> None:
    @T.prim_func
    def increment(  # type: ignore[no-untyped-def]
        A: T.Tensor((32, 32), "float16"), C: T.Tensor((32, 32), "float16")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub((32, 32), "float16")
            T.copy(A, tile)
            T.tile.add(tile, tile, 1.0)
            T.copy(tile, C)

    configs = {KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_AUTO_CV_COMBINE: combine}
    np.testing.assert_array_equal(np.asarray(compiled(increment, configs)(a)), a + 1)


def test_flags_between_cores_are_found_in_one_body_only() -> None:
    with pytest.raises(tilewright.CompileError) as caught:
        compiled(one_body, {KEYS.TL_ASCEND_AUTO_SYNC: True, KEYS.TL_ASCEND_AUTO_CV_SYNC: True})
    text = "tl.ascend_auto_cross_core_sync has no effect without tl.ascend_auto_cv_combine"
    assert f"warning: {text}" in str(caught.value)
