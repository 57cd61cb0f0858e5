# SPDX-License-Identifier: Apache-2.0
"""A user's own functions of Ascend C, called from kernels and run by the host."""

from __future__ import annotations

import ctypes
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]
random = np.random.default_rng(5)

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}

SOURCE = """
/// dst = a x + b, which must not be dst.
template <typename T>
__aicore__ inline void affine(const AscendC::LocalTensor<T> &dst,
                              const AscendC::LocalTensor<T> &x, float a, float b, int32_t count) {
  AscendC::Muls(dst, x, T(a), count);
  AscendC::PipeBarrier<PIPE_V>();
  AscendC::Adds(dst, dst, T(b), count);
}
"""
ROWS, COLUMNS = 32, 40


def affine_kernel(own: bool, barriers: bool = False) -> Any:
    """y = 3 x - 0.5 by a function of one's own, or by functions of the language."""

    def affine(dst: Any, src: Any) -> None:
        if own:
            count = math.prod(src.shape)
            pointers = dst.access_ptr("w"), src.access_ptr("r")
            T.call_extern("handle", "affine<float>", *pointers, 3.0, -0.5, count)
        else:
            T.tile.mul(dst, src, 3.0)
            T.tile.add(dst, dst, -0.5)

    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS, COLUMNS), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(2, is_npu=True) as (cid, vid):
            if own:
                T.import_source(SOURCE)
            x = T.alloc_ub((ROWS // 4, COLUMNS), "float32")
            y = T.alloc_ub((ROWS // 4, COLUMNS), "float32")
            row = cid * (ROWS // 2) + vid * (ROWS // 4)
            T.copy(A[row, 0], x)
            if barriers:
                T.barrier_all()
            affine(y, x)
            if barriers:
                T.barrier_all()
            T.copy(y, B[row, 0])

    return main


@pytest.mark.parametrize("barriers", [False, True])
def test_own_function(barriers: bool) -> None:
    a = random.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    configs = {} if barriers else AUTOMATIC
    kernel = tilewright.compile(
        affine_kernel(True, barriers), out_idx=[-1], target="ascend", pass_configs=configs
    )
    made = np.asarray(kernel(a))
    np.testing.assert_allclose(made, a.astype(np.float64) * 3 - 0.5, rtol=1e-6, atol=1e-6)
    same = np.zeros_like(a)
    interpret(affine_kernel(False), a, same)
    np.testing.assert_array_equal(made, same)
    source = kernel.get_kernel_source()
    assert source.index("void affine(") < source.index("main_kernel(")
    assert "affine<float>(y, x, 3.0f, -0.5f, 320);" in source
    assert source.count("PipeBarrier<PIPE_ALL>();") == 2


def test_interpreter_runs_what_is_told_in_python() -> None:
    def meaning(dst: int, x: int, a: float, b: float, count: int) -> None:
        numbers = (ctypes.c_float * count).from_address(x)
        (ctypes.c_float * count).from_address(dst)[:] = [a * number + b for number in numbers]

    def kernel(reference: Any) -> Any:
        @T.prim_func
        def main(A: T.Tensor((4, 40), "float32"), B: T.Tensor((4, 40), "float32")):  # type: ignore[no-untyped-def]
            with T.Kernel(1, is_npu=True) as (_, vid):
                T.import_source(SOURCE)
                x = T.alloc_ub((2, 40), "float32")
                y = T.alloc_ub((2, 40), "float32")
                T.copy(A[vid * 2, 0], x)
                pointers = y.access_ptr("w"), x.access_ptr("r")
                T.call_extern(
                    "handle", "affine<float>", *pointers, 3.0, -0.5, 80, reference=reference
                )
                T.copy(y, B[vid * 2, 0])

        return main

    a = random.standard_normal((4, 40)).astype(np.float32)
    b = np.zeros_like(a)
    interpret(kernel(meaning), a, b)
    np.testing.assert_allclose(b, a.astype(np.float64) * 3 - 0.5, rtol=1e-6, atol=1e-6)
    with pytest.raises(tilewright.CompileError) as caught:
        interpret(kernel(None), a, b)
    assert caught.value.errors[0].message == (
        "the reference interpreter can't run the function 'affine<float>', which is known by its "
        "Ascend C only"
    )


def test_function_of_ascend_c_is_ordered_by_flags() -> None:
    @T.prim_func
    def main(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(2, is_npu=True) as (cid, vid):
            x = T.alloc_ub((64,), "float32")
            y = T.alloc_ub((64,), "float32")
            T.copy(A[cid * 2 + vid, 0], x)
            T.call_extern(
                "handle",
                "AscendC::AddRelu",
                y.access_ptr("w"),
                x.access_ptr("r"),
                x.access_ptr("r"),
                64,
            )
            T.copy(y, B[cid * 2 + vid, 0])

    source = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    text = source.get_kernel_source()
    assert "PIPE_ALL" not in text and "SetFlag<HardEvent::MTE2_V>(0);" in text


def test_part_of_a_buffer() -> None:
    """A pointer into rows of 20, which lie 24 elements apart in UB."""

    @T.prim_func
    def main(A: T.Tensor((4, 20), "float32"), B: T.Tensor((4, 20), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            T.import_source(SOURCE)
            x = T.alloc_ub((4, 20), "float32")
            y = T.alloc_ub((4, 20), "float32")
            T.copy(A, x)
            T.copy(A, y)
            for i in T.serial(2):
                row = (2 * i + 1) * 20
                pointers = y.access_ptr("w", offset=row), x.access_ptr("r", offset=row)
                T.call_extern("handle", "affine<float>", *pointers, 3.0, -0.5, 20)
            T.copy(y, B)

    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    a = random.standard_normal((4, 20)).astype(np.float32)
    expected = a.astype(np.float64)
    expected[1::2] = expected[1::2] * 3 - 0.5
    np.testing.assert_allclose(kernel(a), expected, rtol=1e-6, atol=1e-6)


STORE = """
__aicore__ inline void store_tile(const AscendC::GlobalTensor<float> &dst,
                                  const AscendC::LocalTensor<float> &c, uint32_t rows,
                                  uint32_t columns) {
  tilewright::copyL0cToGm(dst, c, rows, columns, rows, columns);
}
"""


def test_own_function_of_the_cube_core() -> None:
    """The seed's way of a complex primitive, by a function that is the user's own; the vector cores
    wait for the tensor that it writes."""

    @T.prim_func
    def main(
        A: T.Tensor((32, 48), "float16"),
        B: T.Tensor((48, 32), "float16"),
        W: T.Tensor((32, 32), "float32"),
        C: T.Tensor((32, 32), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            T.import_source(STORE)
            a = T.alloc_L1((32, 48), "float16")
            b = T.alloc_L1((48, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            u = T.alloc_ub((16, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.call_extern("handle", "store_tile", W.access_ptr("w"), c.access_ptr("r"), 32, 32)
            T.copy(W[vid * 16, 0], u)
            T.tile.mul(u, u, 2.0)
            T.copy(u, C[vid * 16, 0])

    kernel = tilewright.compile(
        main, out_idx=[-1], workspace_idx=[2], target="ascend", pass_configs=AUTOMATIC
    )
    a, b = (random.standard_normal(s).astype(np.float16) for s in ((32, 48), (48, 32)))
    expected = a.astype(np.float64) @ b.astype(np.float64) * 2
    np.testing.assert_allclose(kernel(a, b), expected, rtol=1e-4, atol=1e-4)
    assert "CrossCoreSetFlag" in kernel.get_kernel_source()
    assert (kernel.out_idx, kernel.workspace_idx) == ([3], [2])


def test_source_that_does_not_compile() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            T.import_source("template <class T> __aicore__ void mine(T&&) { no_such_name(); }")
            x = T.alloc_ub((64,), "float32")
            T.copy(A, x)
            T.call_extern("handle", "mine", x.access_ptr("rw"))
            T.copy(x, A)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    assert error.message.startswith("the Ascend C of this kernel does not compile")
    assert "T.import_source:1" in error.message and "no_such_name" in error.message
    assert error.place.line == main.function.__code__.co_firstlineno + 3


def test_the_second_source_does_not_compile() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x = T.alloc_ub((64,), "float32")
            T.import_source("constexpr int one = 1;")
            T.copy(A, x)
            T.import_source("constexpr int two = one + ;")
            T.copy(x, A)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    assert "T.import_source (2):1:27: error: expected expression" in error.message
    assert error.place.line == main.function.__code__.co_firstlineno + 6


@pytest.mark.parametrize(
    ("callee", "message"),
    [
        (
            "no_such<float>",
            "use of undeclared identifier 'no_such'"
            "; T.import_source gives a kernel functions of its own",
        ),
        (
            "tl::ascend::copy_ub_to_ub<float, float, 64>",
            "use of undeclared identifier 'tl'; T.import_source gives",
        ),
        ("AscendC::Nope", "no type named 'Nope' in namespace 'AscendC'; T.import_source"),
        ("affine<float>", "no matching function for call to 'affine'"),
    ],
)
def test_a_call_that_does_not_compile_has_its_place(callee: str, message: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            if callee == "affine<float>":
                T.import_source(SOURCE)
            x = T.alloc_ub((64,), "float32")
            T.copy(A, x)
            T.call_extern("handle", callee, x.access_ptr("rw"))
            T.copy(x, A)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    assert error.message.startswith(f"the call of '{callee}' does not compile: {message}")
    assert error.place.file == __file__
    assert error.place.line == main.function.__code__.co_firstlineno + 7
    assert "internal" not in str(caught.value)


@pytest.mark.parametrize("head", ["", "template <class T> "])
def test_a_call_with_too_few_arguments_says_how_many_there_are(head: str) -> None:
    source = f"{head}__aicore__ void addrow(__ubuf__ float*, __ubuf__ float*, int, int) {{}}"

    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            T.import_source(source)
            x = T.alloc_ub((64,), "float32")
            T.copy(A, x)
            T.call_extern("handle", "addrow", x.access_ptr("rw"), 1)
            T.copy(x, A)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    assert error.message.endswith(
        "no matching function for call to 'addrow': requires 4 arguments, but 2 were provided"
    )


def test_hazard_in_an_own_function_has_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    broken = SOURCE.replace("  AscendC::PipeBarrier<PIPE_V>();\n", "")

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            T.import_source(broken)
            x = T.alloc_ub((64,), "float32")
            y = T.alloc_ub((64,), "float32")
            T.copy(A, x)
            pointers = y.access_ptr("w"), x.access_ptr("r")
            T.call_extern("handle", "affine<float>", *pointers, 3.0, -0.5, 64)
            T.copy(y, B)

    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    with pytest.raises(RuntimeError, match="the kernel failed") as caught:
        kernel(random.standard_normal(64).astype(np.float32))
    assert "T.import_source:6" in str(caught.value)


def rows_by_calls(call: Any, dtypes: tuple[str, str] = ("float32", "float32")) -> Any:
    """Each row of y from that of x by a call in a loop, between barriers of the kernel's own."""
    source, target = dtypes

    @T.prim_func
    def main(A: T.Tensor((8, 64), source), B: T.Tensor((8, 64), target)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            T.import_source(SOURCE)
            x = T.alloc_ub((8, 64), source)
            y = T.alloc_ub((8, 64), target)
            T.copy(A, x)
            T.barrier_all()
            for i in T.serial(8):
                call(y, x, i * 64)
            T.barrier_all()
            T.copy(y, B)

    return main


def warnings_of(kernel: Any, configs: dict[Any, Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel.capture()
        tilewright.compile(kernel, out_idx=[-1], target="ascend", pass_configs=configs)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("configs", [{}, AUTOMATIC])
@pytest.mark.parametrize("dtypes", ["float32 float32", "float16 float32", "float32 bfloat16"])
def test_copies_in_ub_by_name(configs: dict[Any, Any], dtypes: str) -> None:
    source, target = dtypes.split()
    names = {"float32": "float", "float16": "half", "bfloat16": "bfloat16_t"}

    def copy(y: Any, x: Any, first: Any) -> None:
        T.call_extern(
            "handle",
            f"tl::ascend::copy_ub_to_ub<{names[target]}, {names[source]}, 64>",
            y.access_ptr("w", offset=first),
            x.access_ptr("r", offset=first),
        )

    main = rows_by_calls(copy, (source, target))
    a = random.standard_normal((8, 64)).astype(source)
    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=configs)
    if target == "bfloat16":
        torch = pytest.importorskip("torch")
        made, wanted = kernel(torch.from_numpy(a)), torch.from_numpy(a).to(torch.bfloat16)
        assert torch.equal(made, wanted)
    else:
        np.testing.assert_array_equal(kernel(a), a.astype(target))
        same = np.zeros((8, 64), target)
        interpret(main, a, same)
        np.testing.assert_array_equal(same, a.astype(target))
    assert not warnings_of(main, configs)


@pytest.mark.parametrize("extent", [None, 64])
def test_a_pointer_says_how_far_it_goes(extent: int | None) -> None:
    """Else a row's call may touch all rows behind it, which those of later turns write."""

    def affine(y: Any, x: Any, first: Any) -> None:
        target = y.access_ptr("w", offset=first, extent=extent)
        source = x.access_ptr("r", offset=first, extent=extent)
        T.call_extern("handle", "affine<float>", target, source, 3.0, -0.5, 64)

    main = rows_by_calls(affine)
    if extent is None:
        (warning,) = warnings_of(main, {})
        assert "'affine<float>' of an earlier iteration writes to 'y'" in warning
        return
    assert not warnings_of(main, {})
    a = random.standard_normal((8, 64)).astype(np.float32)
    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs={})
    np.testing.assert_allclose(kernel(a), a.astype(np.float64) * 3 - 0.5, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["", "a b", "f(x)", "1st", "f;g", "a::", "f<int"])
def test_a_name_that_is_none(name: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            x = T.alloc_ub((64,), "float32")
            T.call_extern("handle", name, x.access_ptr("rw"))

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    (error,) = caught.value.errors
    assert error.message == f"T.call_extern calls a function by its name, and {name!r} is none"


def test_a_source_that_is_no_text() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (_, vid):
            T.import_source(5)

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    assert caught.value.errors[0].message == "T.import_source takes text, not 5 of type int"


def rows_apart(rows: int, parts: int, call: Callable[..., None]) -> Any:
    """Part p of the result holds every `parts`-th row of the source, from row p on."""

    @T.prim_func
    def main(
        A: T.Tensor((rows * parts, 16), "float32"),
        B: T.Tensor((parts * rows, 16), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1):
            x = T.alloc_ub((rows * parts, 16), "float32")
            y = T.alloc_ub((parts * rows, 16), "float32")
            T.copy(A, x)
            for part in T.serial(parts):
                call(
                    x.access_ptr("r", offset=part * 16),
                    y.access_ptr("w", offset=part * rows * 16),
                )
            T.copy(y, B)

    return main


@pytest.mark.parametrize("is_source_first", [True, False])
def test_copies_of_rows_in_ub_by_name(is_source_first: bool) -> None:
    """The first three numbers are the source's, whichever pointer comes first."""

    def call(source: Any, target: Any) -> None:
        pointers = (source, target) if is_source_first else (target, source)
        name = "tl::ascend::copy_ub_to_ub<float, float, 48>"
        T.call_extern("handle", name, *pointers, 3, 16, 64, 3, 16, 16)

    main = rows_apart(3, 4, call)
    a = random.standard_normal((12, 16)).astype(np.float32)
    wanted = np.concatenate([a[part::4] for part in range(4)])
    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    np.testing.assert_array_equal(kernel(a), wanted)
    same = np.zeros_like(a)
    interpret(main, a, same)
    np.testing.assert_array_equal(same, wanted)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((3, 16, 64, 3, 8, 16), "of 48 elements takes 3 x 16 of them and gives 3 x 8"),
        ((2, 16, 64, 2, 16, 16), "of 48 elements takes 2 x 16 of them and gives 2 x 16"),
        (
            (3, 16, 80, 3, 16, 16),
            "rows of 16 elements that begin 80 elements apart in 'x', which has 192: its size must "
            "be a multiple of the distance, and the rows no longer than that",
        ),
        ((3, 16, 8, 3, 16, 16), "rows of 16 elements that begin 8 elements apart in 'x'"),
        (
            (0, 16, 64, 0, 16, 16),
            "copies rows whose numbers are known while compiling, and above 0",
        ),
    ],
)
def test_wrong_copies_of_rows_in_ub(numbers: tuple[int, ...], message: str) -> None:
    def call(source: Any, target: Any) -> None:
        name = "tl::ascend::copy_ub_to_ub<float, float, 48>"
        T.call_extern("handle", name, source, target, *numbers)

    with pytest.raises(tilewright.CompileError, match=re.escape(message)):
        rows_apart(3, 4, call).capture()
