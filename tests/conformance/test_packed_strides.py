# SPDX-License-Identifier: Apache-2.0
"""Strides of tensors whose bytes hold two elements each: those of a byte are neighbours."""

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as T

TARGETS = ["cpu", "reference"]


def unpack(tensor):
    """Its elements, the low half of a byte first."""
    return np.stack([tensor & 15, tensor >> 4], -1).reshape(*tensor.shape[:-1], -1)


def lazy_copy(target):
    m, n, s, t = (T.dynamic(name) for name in "mnst")

    @T.prim_func
    def kernel(A: T.StridedTensor((m, n), (s, t), "uint4"), B: T.Tensor((m, n), "int32")):
        with T.Kernel(1, threads=1):
            for i, j in T.grid(m, n):
                B[i, j] = A[i, j]

    return tilewright.compile(kernel, target=target)


def eager_copy(target):
    @tilewright.jit(target=target)
    def kernel(
        A: T.StridedTensor[[int, int], [int, int], "uint4"], B: T.Tensor[[int, int], "int32"]
    ):
        m, n = B.shape
        with T.Kernel(1, threads=1):
            for i, j in T.grid(m, n):
                B[i, j] = A[i, j]

    return kernel


FORMS = [lazy_copy, eager_copy]
BYTES = (np.arange(24, dtype=np.uint8) * 11).reshape(4, 6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given", [BYTES, BYTES[:, 1:4], BYTES[::2], BYTES[:, 2:3], BYTES[:1].T])
def test_strides_of_rows(form, target, given):
    out = np.zeros((given.shape[0], 2 * given.shape[1]), np.int32)
    form(target)(given, out)
    np.testing.assert_array_equal(out, unpack(given))


@pytest.mark.parametrize("target", TARGETS)
def test_one_byte_in_a_row_of_a_contiguous_tensor(target):
    @T.prim_func
    def kernel(A: T.Tensor((6, 2), "uint4"), B: T.Tensor((6, 2), "int32")):
        with T.Kernel(1, threads=1):
            for i, j in T.grid(6, 2):
                B[i, j] = A[i, j]

    out = np.zeros((6, 2), np.int32)
    tilewright.compile(kernel, target=target)(BYTES[:1].T, out)
    np.testing.assert_array_equal(out, unpack(BYTES[:1].T))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("given", "strides"), [(BYTES[:, ::2], "(6, 2)"), (BYTES.T, "(1, 6)")])
def test_bytes_that_lie_apart_are_refused(form, target, given, strides):
    out = np.zeros((given.shape[0], 2 * given.shape[1]), np.int32)
    message = (
        f"has strides {strides} for shape {given.shape}, but the bytes of its last dim hold 2 "
        "elements each and must be neighbours; give a contiguous copy"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        form(target)(given, out)


@pytest.mark.parametrize("target", TARGETS)
def test_bytes_in_reverse_are_refused(target):
    """A stride that the call gives is no negative number."""
    with pytest.raises(ValueError, match="has stride -1 at dim 1"):
        lazy_copy(target)(BYTES[:, ::-1], np.zeros((4, 12), np.int32))
