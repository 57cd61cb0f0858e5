# SPDX-License-Identifier: Apache-2.0
"""Warp specialisation and what only matrix instructions have: refused, with what to write."""

from __future__ import annotations

from linecache import getline

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import UnsupportedError

TARGETS = ["cpu", "reference", "ascend"]


@pytest.mark.parametrize("target", TARGETS)
def test_warp_specialisation(target):
    """Its parts run side by side, each with variables of its own: not one after the other."""

    @T.prim_func
    def parts(A: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=256):
            phase = T.alloc_var("int32", init=0)
            with T.ws(0):
                phase += 1
                A[0] = phase
            with T.WarpSpecialize(1):
                phase += 1
                A[1] = phase

    with pytest.raises(UnsupportedError) as caught:
        tilewright.compile(parts, target=target)
    errors = caught.value.errors
    assert [(d.message, getline(d.place.file, d.place.line).strip()) for d in errors] == [
        (
            f"T.{name} is unsupported on {target}: it belongs to warp specialisation, whose parts "
            "run side by side, each with registers of its own; write one code for all threads, with "
            "T.Pipelined to overlap its copies, or 'if T.get_thread_binding() // 128 == group:' "
            "around what single threads do",
            f"with T.{name}({group}):",
        )
        for name, group in [("ws", 0), ("WarpSpecialize", 1)]
    ]


def test_threads_of_a_warp_group(agree):
    """What the message says to write."""

    @T.prim_func
    def written(A: T.Tensor((256,), "int32"), B: T.Tensor((2,), "int32")):
        with T.Kernel(1, threads=256):
            t = T.get_thread_binding()
            phase = T.alloc_var("int32", init=0)
            if t // 128 == 0:
                phase += 1
                B[0] = phase
            if t // 128 == 1:
                phase += 1
                A[t] = t
                B[1] = phase

    expected = np.where(np.arange(256) >= 128, np.arange(256), 0).astype(np.int32)
    arguments = [np.zeros(256, np.int32), np.zeros(2, np.int32)]
    agree(written, arguments, {0: expected, 1: np.ones(2, np.int32)})


def test_what_only_matrix_instructions_have():
    @T.prim_func
    def wrong(A: T.Tensor((8, 8), "float16")):
        with T.Kernel(1, threads=128):
            c = T.alloc_fragment((8, 8), "float32")
            T.wgmma_gemm_sp(A, A, A, c)
            T.mma_fill("float32", 8, c, 0)

    with pytest.raises(UnsupportedError) as caught:
        tilewright.compile(wrong)
    assert [d.message for d in caught.value.errors] == [
        "T.wgmma_gemm_sp is unsupported on cpu: it belongs to 2:4 sparsity in the instructions of "
        "each GPU, with its layouts of metadata; use T.gemm_sp, which is complete when it returns",
        "T.mma_fill is unsupported on cpu: it belongs to mma, whose accumulators lie in registers "
        "as its instructions leave them; use T.clear and T.copy on the fragment of T.gemm",
    ]
