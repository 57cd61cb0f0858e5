# SPDX-License-Identifier: Apache-2.0
"""What a user does wrong is an error of the compiler, at the line of the kernel, with the values
that disagree."""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
}


def errors_of(kernel: Any, configs: dict[Any, Any] | None = None) -> list[tuple[str, int]]:
    """Each message with its notes, and how many lines its place is behind the launch."""
    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(kernel, target="ascend", pass_configs=configs or {})
    launch = kernel.function.__code__.co_firstlineno + 2
    assert all(error.place.file == __file__ for error in caught.value.errors)
    return [
        (" ".join([e.message, *(note.message for note in e.notes)]), e.place.line - launch)
        for e in caught.value.errors
    ]


@pytest.mark.parametrize("configs", [{}, AUTOMATIC])
def test_overflow(configs: dict[Any, Any]) -> None:
    @T.prim_func
    def main(A: T.Tensor((256, 256), "float"), C: T.Tensor((256, 256), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((128, 256), "float")
            y = T.alloc_ub((128, 256), "float")
            T.copy(A[0, 0], x)
            T.copy(A[128, 0], y)
            T.tile.add(x, x, y)
            T.copy(x, C[0, 0])

    ((text, line),) = errors_of(main, configs)
    assert line in (1, 2)
    assert "the buffers in UB need 262144 bytes, but it has 196352" in text
    assert "x takes 131072 bytes" in text and "y takes 131072 bytes" in text
    assert "they fit with half of the rows or columns in each tile; threads=2 in T.Kernel" in text


@pytest.mark.parametrize(("threads", "rows"), [(2, 128), (1, 64)])
def test_what_an_overflow_advises_helps(threads: int, rows: int) -> None:
    """As above, with what the error says."""

    @T.prim_func
    def main(A: T.Tensor((256, 256), "float"), C: T.Tensor((256, 256), "float")):
        with T.Kernel(1, is_npu=True, threads=threads) as _:
            x = T.alloc_ub((rows, 256), "float")
            y = T.alloc_ub((rows, 256), "float")
            T.copy(A[0, 0], x)
            T.copy(A[128, 0], y)
            T.tile.add(x, x, y)
            T.copy(x, C[0, 0])

    tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)


@pytest.mark.filterwarnings("error")
def test_tiles_share_bytes_where_flags_are_found() -> None:
    """Four tiles of which two are needed at once take more than UB, without planning."""

    @T.prim_func
    def main(A: T.Tensor((64, 256), "float"), C: T.Tensor((3, 64, 256), "float")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64, 256), "float")
            y = T.alloc_ub((64, 256), "float")
            z = T.alloc_ub((64, 256), "float")
            w = T.alloc_ub((64, 256), "float")
            T.copy(A, x)
            T.tile.add(y, x, 1.0)
            T.copy(x, C[0, 0, 0])
            T.tile.mul(z, y, 2.0)
            T.copy(y, C[1, 0, 0])
            T.tile.add(w, z, 1.0)
            T.copy(w, C[2, 0, 0])

    configs = {tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=configs)
    a = np.arange(64 * 256, dtype=np.float32).reshape(64, 256)
    np.testing.assert_array_equal(np.asarray(kernel(a)), [a, a + 1, 2 * a + 3])


def test_the_last_bytes_of_ub() -> None:
    """Three tiles that take all of it, as in published kernels: a chip runs them."""

    @T.prim_func
    def main(A: T.Tensor((64, 256), "float"), C: T.Tensor((64, 256), "float")):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((64, 256), "float")
            y = T.alloc_ub((64, 256), "float")
            z = T.alloc_ub((64, 256), "float")
            T.copy(A, x)
            T.copy(A, y)
            T.barrier_all()
            T.tile.add(z, x, y)
            T.barrier_all()
            T.copy(z, C)

    message = (
        "z reaches into the last 256 of the 196608 bytes of UB, which the system keeps: functions "
        "of the vendor may write there"
    )
    with pytest.warns(tilewright.errors.TilewrightWarning, match=message):
        kernel = tilewright.compile(main, out_idx=[-1], target="ascend")
    a = np.arange(64 * 256, dtype=np.float32).reshape(64, 256)
    np.testing.assert_array_equal(np.asarray(kernel(a)), 2 * a)
    assert "UB: 196608 of 196608 bytes" in kernel.report()


@pytest.mark.parametrize("configs", [{}, AUTOMATIC])
def test_elements_that_the_cube_core_lacks(configs: dict[Any, Any]) -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "float16"), C: T.Tensor((32, 32), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float")
            with T.Scope("C"):
                T.copy(A, a)
                T.gemm_v0(a, a, c, init=True)
                for i, j in T.Parallel(32, 32):
                    c[i, j] = c[i, j] * 2.0
                T.copy(c, C)

    ((text, line),) = errors_of(main, configs)
    assert (
        'T.Scope("C") has no vector unit and no single elements of L0C; '
        'put this nest into T.Scope("V")' in text
    )
    assert line == 6


@pytest.mark.parametrize("configs", [{}, AUTOMATIC])
def test_nests_that_only_some_vector_cores_would_reach(configs: dict[Any, Any]) -> None:
    def kernel(form: str) -> Any:
        @T.prim_func
        def main(A: T.Tensor((32, 32), "float16"), C: T.Tensor((32, 32), "float")):
            with T.Kernel(1, is_npu=True) as (cid, vid):
                a = T.alloc_L1((32, 32), "float16")
                c = T.alloc_L0C((32, 32), "float")
                first = T.alloc_var("int32")
                first = vid * 16
                with T.Scope("C"):
                    T.copy(A, a)
                    T.gemm_v0(a, a, c, init=True)
                    for _ in T.serial(vid + 1):
                        if form == "loop":
                            for i, j in T.Parallel(32, 32):
                                C[i, j] = c[i, j] * 2.0
                    if vid == 0 and form == "branch":
                        for i, j in T.Parallel(32, 32):
                            C[i, j] = c[i, j] * 2.0
                    if form == "variable":
                        start = first + 1
                        for i, j in T.Parallel(16, 32):
                            C[start + i, j] = c[i, j] * 2.0

        return main

    reach = "vid says whether or how often it runs, so they would not meet the cube core"
    reads = "it reads a variable that vid has set, which is 0 for the cube core"
    for form, place, why in (("loop", 10, reach), ("branch", 13, reach), ("variable", 17, reads)):
        ((text, line),) = errors_of(kernel(form), configs)
        assert text == (
            'unsupported on ascend: T.Scope("C") has no vector unit, and the vector cores '
            f'can\'t do this in its place: {why}; put this nest into T.Scope("V")'
        )
        assert line == place


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_elements_of_half_a_byte(dtype: str) -> None:
    """No unit takes them one by one, and the message says what does instead."""

    @T.prim_func
    def main(C: T.Tensor((64,), "int8")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((64,), dtype)
            T.tile.add(x, x, x)
            T.tile.max(x, x, 0)

    ((text, line),) = errors_of(main)
    assert f"'x' has elements of {dtype}; hold two of them in an int8" in text
    assert "T.tile.bitwise_lshift and T.tile.bitwise_rshift" in text
    assert line == 1


#: What a loop over numbers without a sign can't do, by the words that the user knows, and what can.
SCALAR_LOOPS: dict[str, Callable[..., Any]] = {
    "the vector unit has no div of uint64, but divides floats": lambda x: x // T.uint64(3),
    "the vector unit has no max of uint64, but has it of 32 bits": lambda x: T.max(x, T.uint64(3)),
    "the vector unit converts no uint64 to float32": lambda x: T.cast(
        T.cast(x, "float32"), "uint64"
    ),
    "compares integers of 64 bits by == and != only": lambda x: T.if_then_else(
        x < T.uint64(3), x, T.uint64(3)
    ),
}


@pytest.mark.parametrize("message", SCALAR_LOOPS)
def test_messages_name_what_the_user_wrote(message: str) -> None:
    function = SCALAR_LOOPS[message]

    @T.prim_func
    def main(A: T.Tensor((64,), "uint64"), C: T.Tensor((64,), "uint64")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((64,), "uint64")
            T.copy(A, x)
            for i in T.Parallel(64):
                x[i] = function(x[i])
            T.copy(x, C)

    with pytest.warns(match=message):
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)


def test_counts_of_parts_of_rows() -> None:
    """The user wrote no arithmetic of indices."""

    @T.prim_func
    def main(A: T.Tensor((4, 64), "float16"), C: T.Tensor((4, 64), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((4, 64), "float16")
            y = T.alloc_ub((4, 64), "float32")
            T.copy(A, x)
            T.tile.fill(y, 0)
            T.tile.cast(y[:, 0:48], x[:, 0:48], "CAST_NONE", 100)
            T.copy(y, C)

    with pytest.warns(match="scalar unit: its count goes from one part of a row to the next"):
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)


def test_bfloat16_is_computed_in_float32() -> None:
    """The kernel says so once, and not of what only moves or converts numbers."""

    def compiled(computes: bool) -> list[str]:
        @T.prim_func
        def main(A: T.Tensor((4, 64), "bfloat16"), C: T.Tensor((4, 64), "bfloat16")):
            with T.Kernel(1, is_npu=True) as (cid, vid):
                x = T.alloc_ub((4, 64), "bfloat16")
                y = T.alloc_ub((4, 64), "float32")
                T.copy(A, x)
                T.copy(x, y)
                if computes:
                    T.tile.add(x, x, x)
                    for i, j in T.Parallel(4, 64):
                        x[i, j] = x[i, j] * 2
                T.copy(x, C)

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
        return [str(warning.message) for warning in told]

    assert not any("bfloat16" in text for text in compiled(computes=False))
    (text,) = compiled(computes=True)
    assert "this kernel computes bfloat16 in float32" in text


def test_loops_over_rows_are_not_shared() -> None:
    def compiled(threads: int) -> list[str]:
        @T.prim_func
        def main(A: T.Tensor((8, 64), "float32"), C: T.Tensor((8, 64), "float32")):
            with T.Kernel(1, is_npu=True, threads=threads) as _:
                x = T.alloc_ub((8, 64), "float32")
                T.copy(A, x)
                for i in T.serial(8):
                    for j in T.Parallel(64):
                        x[i, j] = x[i, j] + 1
                T.copy(x, C)

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
        return [str(warning.message) for warning in told]

    assert compiled(1) == []
    (text,) = compiled(2)
    assert "both vector cores run all of this loop over the rows of x" in text


def test_another_target() -> None:
    @T.prim_func
    def main(A: T.Tensor((64,), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            T.copy(A, T.alloc_ub((64,), "float"))

    with pytest.raises(tilewright.CompileError, match='compile it with target="ascend"'):
        tilewright.compile(main, target="cpu")


def test_no_route() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 16), "float16")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_L0A((16, 16), "float16")
            T.copy(A[0, 0], x)

    ((text, line),) = errors_of(main)
    assert "there is no copy from 'A' in global memory to 'x' in L0A; it goes through L1" in text
    assert line == 2


def test_misalignment() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 3), "float"), C: T.Tensor((16, 16), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((16, 16), "float")
            T.copy(A[0:16, 0:3], x[:, 3:6])
            T.copy(x, C[0, 0])

    ((text, line),) = errors_of(main, AUTOMATIC)
    assert "begins at byte 12 of its buffer, but UB is accessed in blocks of 32 bytes" in text
    assert line == 2


def test_rows_of_bytes_that_are_transposed() -> None:
    """b of a gemm, 100 rows of int8 at an address of its own, goes in squares of 32."""

    @T.prim_func
    def main(
        A: T.Tensor((16, 100), "int8"),
        B: T.Tensor((100, 32), "int8"),
        C: T.Tensor((16, 32), "int32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_shared((16, 100), "int8")
            b = T.alloc_shared((100, 32), "int8")
            c = T.alloc_fragment((16, 32), "int32")
            T.annotate_address({b: 32768})
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C)

    ((text, line),) = errors_of(main, AUTOMATIC)
    assert text.endswith(
        "b of a gemm is a tile of 100 rows of int8, which is transposed on its way in squares of "
        "32; give it 128 rows"
    )
    assert line == 11


def test_notes_stand_where_tiles_were_allocated() -> None:
    """Also where an operation takes the elements of a tile one after the other."""

    @T.prim_func
    def main(A: T.Tensor((16, 16), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((16, 16), "float")
            y = T.alloc_ub((8, 16), "float")
            mask = T.alloc_ub((2, 16), "uint8")
            T.copy(A, x)
            T.tile.compare(mask, x, y, "GT")

    with pytest.raises(tilewright.CompileError) as caught:
        tilewright.compile(main, target="ascend")
    (error,) = caught.value.errors
    assert error.message == (
        "T.tile.compare has source 0 'x' of 256 elements but source 1 'y' of 128"
    )
    first = main.function.__code__.co_firstlineno + 3
    notes = [(note.place.line - first, note.message) for note in error.notes]
    assert notes == [(0, "'x' was allocated here"), (1, "'y' was allocated here")]


#: Of x and y, tiles of 128 float32, with i that counts from 0.
MISALIGNED: dict[str, Callable[..., None]] = {
    "T.tile.add begins 12 bytes behind": lambda x, y, m, i: T.tile.add(y[0:32], x[3:35], 1.0),
    "T.tile.exp begins 20 bytes behind": lambda x, y, m, i: T.tile.exp(
        y[i * 8 + 5 : i * 8 + 37], x[0:32]
    ),
    "T.tile.compare begins 12 bytes behind": lambda x, y, m, i: T.tile.compare(
        m[0:8], x[3:67], 0.0, "GT"
    ),
    "the fill begins at byte 12 of its buffer": lambda x, y, m, i: T.fill(y[3:35], 1.0),
    "the fill begins 4 bytes from where it did in the iteration": lambda x, y, m, i: T.tile.fill(
        y[i : i + 32], 1.0
    ),
    "the copy's target begins 8 bytes from where it did": lambda x, y, m, i: T.copy(
        x[0:8], y[64 - 2 * i : 72 - 2 * i]
    ),
    "T.tile.sub begins 12 bytes from where it did in the iteration": lambda x, y, m, i: T.tile.sub(
        y[0:32], x[3 * i : 3 * i + 32], 1.0
    ),
    "the reduction's source begins at byte 12": lambda x, y, m, i: T.reduce_max(
        x[3:35], y[0:1], dim=0
    ),
    "the copy's source begins 4 bytes behind the start of a block": lambda x, y, m, i: T.copy(
        x[i * 8 + 1 : i * 8 + 9], y[0:8]
    ),
}


@pytest.mark.parametrize("message", MISALIGNED)
def test_misaligned_operands(message: str) -> None:
    """What is written as one operation of a unit can't be another's; a loop over elements can."""
    statement = MISALIGNED[message]

    @T.prim_func
    def main(A: T.Tensor((128,), "float"), C: T.Tensor((128,), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((128,), "float")
            y = T.alloc_ub((128,), "float")
            m = T.alloc_ub((64,), "uint8")
            T.copy(A, x)
            for i in T.serial(4):
                statement(x, y, m, i)
            T.copy(y, C)

    ((text, line),) = errors_of(main, AUTOMATIC)
    assert message in text
    assert line == 6


def test_all_that_is_misaligned_is_told_at_once() -> None:
    """Products, copies, reductions, operations of the vector unit: each kind has its own pass."""

    @T.prim_func
    def main(A: T.Tensor((128,), "float"), C: T.Tensor((128,), "float")):
        with T.Kernel(1, is_npu=True, threads=1):
            x = T.alloc_ub((128,), "float")
            y = T.alloc_ub((128,), "float")
            a = T.alloc_L1((48, 32), "float16")
            b = T.alloc_L1((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float")
            T.copy(A[0:8], x[3:11])
            T.tile.add(y[0:32], x[3:35], 1.0)
            T.reduce_max(x[3:35], y[0:1], dim=0)
            T.gemm_v0(a[4:36, :], b, c, init=True)
            T.fill(y[3:35], 1.0)
            T.copy(y, C)

    found = {line: text for text, line in errors_of(main, AUTOMATIC)}
    assert sorted(found) == [6, 7, 8, 9, 10]
    for line, what in (
        (6, "the copy's target begins at byte 12"),
        (7, "an operand of T.tile.add begins 12 bytes behind"),
        (8, "the reduction's source begins at byte 12"),
        (9, "a of a gemm begins at row 4"),
        (10, "the fill begins at byte 12"),
    ):
        assert what in found[line]


def test_a_start_that_is_not_known_to_be_misaligned() -> None:
    """Each fill is only there where it begins at a block, or its loop may run once."""

    @T.prim_func
    def main(C: T.Tensor((128,), "float"), n: T.int32):
        with T.Kernel(1, is_npu=True, threads=1):
            y = T.alloc_ub((128,), "float")
            T.tile.fill(y, 0.0)
            for i in T.serial(64):
                if i % 8 == 0:
                    T.tile.fill(y[i : i + 8], 1.0)
            for i in T.serial(n):
                T.tile.fill(y[64 + i : 72 + i], 2.0)
            T.copy(y, C)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    made = np.zeros(128, np.float32)
    assert kernel(made, 1) == []
    np.testing.assert_array_equal(made, np.repeat([1.0, 2.0, 0.0], [64, 8, 56]))


def test_misaligned_loop_runs_on_the_scalar_unit() -> None:
    @T.prim_func
    def main(A: T.Tensor((128,), "float"), C: T.Tensor((128,), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((128,), "float")
            y = T.alloc_ub((128,), "float")
            T.copy(A, x)
            T.copy(A, y)
            for i in T.Parallel(32):
                y[i] = x[i + 3] + 1.0
            T.copy(y, C)

    with pytest.warns(match="on the scalar unit: it begins within a block of 32 bytes"):
        tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)


@pytest.mark.parametrize("dtype", ["float64", "e4m3_float8", "e5m2_float8"])
def test_dtype_that_the_chip_lacks(dtype: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 16), "float16")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((16, 16), dtype)
            T.copy(A, x)

    assert any(
        "unsupported on ascend: 'x' has elements of float" in text
        and "which 910B2 does not have" in text
        and line == 1
        for text, line in errors_of(main)
    )


def test_a_flag_that_nothing_sets() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 16), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((16, 16), "float")
            T.copy(A[0, 0], x)
            T.wait_flag("mte2", "v", 0)
            T.tile.add(x, x, 1.0)

    ((text, line),) = errors_of(main)
    assert "event 0 from MTE2 to V is waited for, but nothing has set it" in text
    assert line == 3


def test_a_flag_that_nothing_waits_for() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 16), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((16, 16), "float")
            T.copy(A[0, 0], x)
            T.set_flag("mte2", "v", 3)

    ((text, line),) = errors_of(main)
    assert "event 3 from MTE2 to V is still set when the kernel ends" in text
    assert line == 3  # where it is set


def test_a_flag_of_one_branch() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 16), "float")):
        with T.Kernel(4, is_npu=True) as (cid, vid):
            if cid > 2:
                T.set_flag("mte2", "v", 0)
            T.wait_flag("mte2", "v", 0)

    texts = errors_of(main)
    assert any("is set, or waited for, in one branch only" in text for text, _ in texts)


@pytest.mark.parametrize(
    ("core", "pipe", "pipes"),
    [("C", "v", "s, m, mte1, mte2, mte3, fix"), ("V", "fix", "s, v, mte2, mte3")],
)
def test_a_flag_on_a_pipe_that_the_core_lacks(core: str, pipe: str, pipes: str) -> None:
    other = "V" if core == "C" else "C"

    @T.prim_func
    def main(A: T.Tensor((16, 16), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            with T.Scope(core):
                T.set_cross_flag(pipe, 3)
            with T.Scope(other):
                T.wait_cross_flag(3)

    ((text, line),) = errors_of(main)
    assert f"has no pipe '{pipe}' that could set this flag: it is one of {pipes}" in text
    assert line == 2


def test_a_flag_that_one_vector_core_sets() -> None:
    """The cube core waits for both."""

    @T.prim_func
    def main(A: T.Tensor((16, 64), "float"), C: T.Tensor((16, 64), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((16, 64), "float")
            with T.Scope("C"):
                T.wait_cross_flag(0)
            with T.Scope("V"):
                if vid == 0:
                    T.copy(A, x)
                    T.barrier_all()
                    T.copy(x, C)
                    T.set_cross_flag("mte3", 0)

    ((text, line),) = errors_of(main)
    assert text.startswith("cross-core flag 0 is set by vector core 0 of a block only")
    assert line == 9


def test_words_of_an_assertion(capfd: pytest.CaptureFixture[str]) -> None:
    """They stand in a string of C++, and are a format there."""

    @T.prim_func
    def main(A: T.Tensor((16,), "float"), n: T.int32):
        with T.Kernel(1, is_npu=True, threads=1):
            T.print(n, 'the "n" of 100% \\')
            T.device_assert(n > 0, 'is "n" 100% right \\?')

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    kernel(np.zeros(16, np.float32), 5)
    assert capfd.readouterr().out == 'the "n" of 100% \\ 5\n'
    with pytest.raises(RuntimeError) as caught:
        kernel(np.zeros(16, np.float32), 0)
    assert 'assertion failed: n > 0: is "n" 100% right \\?' in str(caught.value)


def test_control_characters_in_words(capfd: pytest.CaptureFixture[str]) -> None:
    words = "\ttab\rreturn \x01" + "7 \x7f ??/ ??' \N{LATIN SMALL LETTER E WITH ACUTE}"

    @T.prim_func
    def main(A: T.Tensor((16,), "float"), n: T.int32):
        with T.Kernel(1, is_npu=True, threads=1):
            T.print(n, words)
            T.print(msg="a\0b")
            T.device_assert(n > 0, words)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    kernel(np.zeros(16, np.float32), 5)
    assert capfd.readouterr().out == words + " 5\na\\0b\n"
    with pytest.raises(RuntimeError) as caught:
        kernel(np.zeros(16, np.float32), 0)
    assert f"assertion failed: n > 0: {words}" in str(caught.value)


def test_file_of_any_name(tmp_path: Path) -> None:
    """It stands in directives of C++, where quotes and backslashes mean something."""
    path = tmp_path / 'back\\slash and "quotes" n\\n.py'
    path.write_text(
        "import tilewright.language as T\n"
        "@T.prim_func\n"
        "def main(A: T.Tensor((8,), 'float')):\n"
        "    with T.Kernel(2, is_npu=True, threads=1):\n"
        "        x = T.alloc_ub((8,), 'float')\n"
        "        T.tile.fill(x, 1.0)\n"
        "        T.copy(x, A)\n"
    )
    main = runpy.run_path(str(path))["main"]
    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    with pytest.raises(RuntimeError) as caught:
        kernel(np.zeros(8, np.float32))
    assert f"{path}:7: error: nothing orders this write of 'A'[" in str(caught.value)


def test_line_of_a_later_statement() -> None:
    """The host's finding names the user's line, also if it becomes many lines of Ascend C."""

    @T.prim_func
    def main(A: T.Tensor((32, 64), "float16"), C: T.Tensor((32, 64), "float16")):
        with T.Kernel(2, is_npu=True, threads=1):
            x = T.alloc_ub((32, 64), "float16")
            T.copy(A, x)
            for i, j in T.Parallel(32, 64):
                x[i, j] = x[i, j] + 1
            T.copy(x, C)

    kernel = tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)
    with pytest.raises(RuntimeError) as caught:
        kernel(np.zeros((32, 64), np.float16), np.zeros((32, 64), np.float16))
    line = main.function.__code__.co_firstlineno + 7
    assert f"{__file__}:{line}: error: nothing orders this write of 'C'[" in str(caught.value)


def test_memory_by_numbers() -> None:
    @T.prim_func
    def main(A: T.ptr("float"), N: T.Tensor((1,), "int32"), C: T.Tensor((8,), "float")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((8,), "float")
            T.copy(T.make_tensor(A, (N[0],), "float")[0:8], x)
            T.copy(x, C)

    ((text, line),) = errors_of(main, AUTOMATIC)
    assert text.endswith(
        "addresses of memory as numbers, but for a T.ptr argument that T.make_tensor makes one "
        "tensor of, with a shape of constants, arguments and dynamic dims"
    )
    assert line == 2


def test_sums_that_the_cube_core_lacks() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, 16), "float16")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_L1((16, 16), "float16")
            sums = T.alloc_L0C((16, 16), "float16")
            T.copy(A, x)
            T.gemm_v0(x, x, sums, init=True)

    ((text, line),) = errors_of(main, AUTOMATIC)
    assert "a gemm of float16 with sums of float16; the cube core multiplies float16" in text
    assert line == 4


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "int64"])
def test_factors_that_the_cube_core_lacks(dtype: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 16), dtype), C: T.Tensor((16, 16), "int32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_L1((16, 16), dtype)
            sums = T.alloc_L0C((16, 16), "int32")
            T.copy(A, x)
            T.gemm_v0(x, x, sums, init=True)

    ((text, line),) = errors_of(main, AUTOMATIC)
    assert f"a gemm of {dtype} with sums of int32; the cube core multiplies float16" in text
    assert line == 4


def test_a_gemm_within_fractals() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float16"), m: T.int32, C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((64, 64), "float16")
            c = T.alloc_L0C((32, 64), "float32")
            T.copy(A, a)
            T.gemm_v0(a[8:40, :], a, c, init=True)
            T.gemm_v0(a[m * 16 + 8 : m * 16 + 40, :], a, c, init=True)
            T.copy(c, C)

    (known, first), (behind, second) = errors_of(main, AUTOMATIC)
    assert known.endswith("begins at row 8 of a tile in L1, whose rows come in groups of 16")
    assert "begins 8 rows behind a multiple of 16 in a tile in L1" in behind
    assert (first, second) == (4, 5)


def test_between_tensors() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1):
            T.copy(A, C)

    ((text, line),) = errors_of(main)
    assert line == 1
    assert "there is no way to copy from global to global; copy to a tile, and from there" in text
