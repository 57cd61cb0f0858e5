# SPDX-License-Identifier: Apache-2.0
"""Which kernel a call takes, and what it reads of its tensors."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T


def test_equal_arguments_of_other_kinds_make_other_kernels():
    """1, 1.0 and True are equal for Python, and so are 0.0 and -0.0, also inside of a tuple."""

    @tilewright.jit
    def filled(A, value=0):
        A: T.Tensor[[1], T.float32]
        B = T.empty((1,), T.float32)
        with T.Kernel(1):
            B[0] = {bool: 1, int: 2, float: 3}[type(value)]
        return B

    a = np.zeros(1, np.float32)
    assert [filled(a, v)[0] for v in (1, 1.0, True, 1)] == [2, 3, 1, 2]
    assert [filled(a, value=v)[0] for v in (True, 1, 1.0)] == [1, 2, 3]

    @tilewright.jit(out_idx=[0])
    def constant(values):
        @T.prim_func
        def kernel(B: T.Tensor((1,), "float32")):
            with T.Kernel(1):
                B[0] = values[0]

        return kernel

    assert [np.signbit(float(constant((v,))()[0])) for v in (-0.0, 0.0)] == [True, False]


def test_a_tensor_whose_memory_holds_negatives_is_refused():
    torch = pytest.importorskip("torch")

    @T.prim_func
    def read(A: T.StridedTensor((2,), (2,), "float32"), B: T.Tensor((2,), "float32")):
        with T.Kernel(1):
            for i in T.serial(2):
                B[i] = A[i]

    part = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    kernel, out = tilewright.compile(read), torch.zeros(2)
    with pytest.raises(
        ValueError, match=r"holds the negatives of its elements; pass tensor.resolve"
    ):
        kernel(part, out)
    kernel(torch.tensor([1 + 2j, 3 - 4j]).imag, out)
    assert out.tolist() == [2, -4]


def test_a_single_negated_element_is_refused_too():
    """It lies densely, whatever its stride."""
    torch = pytest.importorskip("torch")

    @T.prim_func
    def read(A: T.Tensor((1,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1):
            B[0] = A[0]

    kernel, out = tilewright.compile(read), torch.zeros(1)
    with pytest.raises(ValueError, match=r"holds the negatives of its elements; pass tensor.reso"):
        kernel(torch.tensor([1 + 2j]).conj().imag, out)
    kernel(torch.tensor([1 + 2j]).conj().imag.resolve_neg(), out)
    assert out.tolist() == [-2]
