# SPDX-License-Identifier: Apache-2.0
"""`prim_func` of a compiled kernel is the kernel as written, whichever way it was made."""

import gc
import weakref

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.language.prim_func import PrimFunc

calls: list[int] = []


@tilewright.jit(out_idx=[1])
def adds_one(size):
    calls.append(size)

    @T.prim_func
    def kernel(A: T.Tensor((size,), "float32"), B: T.Tensor((size,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(size):
                B[i] = A[i] + 1

    return kernel


@tilewright.jit(out_idx=[1])
def gives_the_kernel_of_another(size):
    return adds_one(size).prim_func


@tilewright.jit
def eager(A, B, add: int = 1):
    N, S = T.const("N, S")
    A: T.StridedTensor[[N], [S], "float32"]
    B: T.Tensor[[N], "float32"]
    with T.Kernel(1):
        for i in T.Parallel(N):
            B[i] = A[i] + add


given = np.arange(4, dtype="float32")


def test_of_a_factory():
    kernel = adds_one(4)
    assert isinstance(kernel.prim_func, PrimFunc)
    assert kernel.prim_func is kernel.prim_func
    again = tilewright.compile(kernel.prim_func, out_idx=[1])
    assert (again(given) == given + 1).all()
    assert (gives_the_kernel_of_another(4)(given) == given + 1).all()


def test_of_a_kernel_from_the_cache():
    """Its factory is first called for this."""
    tilewright.compile(adds_one.get_tir(5), out_idx=[1])
    adds_one.compile(5)
    calls.clear()
    kernel = tilewright.jit(adds_one.function, out_idx=[1]).compile(5)
    assert kernel.prim_func.capture().parameters == ["A", "B"]
    assert calls == [5]


def test_its_parameters_have_the_names_of_tvm():
    @T.prim_func
    def scaled(
        A: T.Tensor((8,), "float16"), by: T.float32, *, count: "int32", B: T.Tensor((8,), "float16")
    ):
        with T.Kernel(1):
            for i in T.Parallel(8):
                B[i] = A[i] * by + count

    function = tilewright.compile(scaled).prim_func
    assert [param.name for param in function.params] == ["A_handle", "by", "count", "B_handle"]
    assert [param.dtype for param in function.params] == ["handle", "float32", "int32", "handle"]
    assert [repr(param) for param in function.buffer_map] == ["A_handle", "B_handle"]
    assert function.buffer_map[function.params[0]].shape == (8,)


def test_of_prim_funcs():
    made = adds_one.get_tir(4)
    assert tilewright.compile(made).prim_func is made
    assert tilewright.jit(made).prim_func is made


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_of_eager_kernels(target):
    results = np.zeros(4, "float32")
    kernel = eager.compile(given, results, 3)
    made = tilewright.compile(kernel.prim_func, target=target)
    made(given, results)
    assert (results == given + 3).all()


def test_the_text_of_eager_kernels():
    """For tensors, or for what stands for them; one front key for each."""
    tensor = T.Tensor((4, 2), "float32")
    with pytest.raises(tilewright.EagerJITBuildError, match="has 2 dims but 1 dim"):
        eager.get_tir(tensor, tensor)
    plain = eager.get_tir(T.Tensor((4,)), T.Tensor((4,)))
    apart = eager.get_tir(T.StridedTensor((4,), (2,)), T.Tensor((4,)), add=2)
    kernels = tilewright.par_compile([plain, apart, plain])
    wide, results = np.arange(8, dtype="float32"), np.zeros((3, 4), "float32")
    kernels[0](given, results[0])
    kernels[1](wide[::2], results[1])
    kernels[2](given, results[2])
    assert (results == [given + 1, wide[::2] + 2, given + 1]).all()


def test_tensors_are_let_go():
    """A kernel keeps no tensor of the call that it was compiled for."""
    torch = pytest.importorskip("torch")
    tensors = torch.arange(7.0), torch.zeros(7)
    known = [weakref.ref(tensor) for tensor in tensors]
    kernel = eager.compile(*tensors)
    kernel(*tensors)
    del tensors
    gc.collect()
    assert [reference() for reference in known] == [None, None]
    assert kernel.prim_func.capture().parameters == ["A", "B"]


def test_tuning_what_gives_the_kernel_of_another():
    @tilewright.autotune(configs=[{"size": 4}, {"size": 8}], warmup=1, rep=1)
    @tilewright.jit(out_idx=[1])
    def tuned(size=None):
        return adds_one(size).prim_func

    result = tuned.tune()
    assert {found.state for found in result.candidates} <= {"best", "measured", "slow"}
