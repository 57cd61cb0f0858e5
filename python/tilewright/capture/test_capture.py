# SPDX-License-Identifier: Apache-2.0
"""What a kernel's Python turns into, against a builder that writes down its calls."""

import sys
from pathlib import Path

import pytest

import tilewright
import tilewright.language as T
from tilewright.capture import recording_compiler
from tilewright.capture.recording_compiler import body_of as body
from tilewright.capture.recording_compiler import lines_of as lines


def test_tutorial_gemm():
    M = N = K = 1024
    block = 64

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
        scale: T.float32,
    ):
        with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block, 32), "float16")
            C_local = T.alloc_fragment((block, block), "float")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=3):
                T.copy(A[by * block, k * 32], A_shared)
                T.gemm(A_shared, A_shared, C_local, transpose_B=True)
            for i, j in T.Parallel(block, block):
                C_local[i, j] = T.max(C_local[i, j] * scale, T.float32(0.0))
            T.copy(C_local, C[by * block, bx * block])

    assert lines(gemm) == [
        "tensor [1024, 1024] float16 -> %A",
        "tensor [1024, 1024] float16 -> %B",
        "tensor [1024, 1024] float16 -> %C",
        "scalar float32 -> %scale",
        "begin_launch [16, 16] [128]",
        "alloc [64, 32] float16 shared -> %A_shared",
        "alloc [64, 64] float32 fragment -> %C_local",
        "fill %C_local 0",
        "for Pipelined 0..32 step 1 {'num_stages': 3} -> %k",
        "mul(%b1, 64) -> %1",
        "mul(%k, 32) -> %2",
        "copy %A[%1, %2] -> %A_shared",
        "gemm %A_shared %A_shared %C_local B 0",
        "end_for",
        "parallel [64, 64] ['i', 'j']",
        "load %C_local[%i, %j] -> %3",
        "mul(%3, %scale) -> %4",
        "max(%4, %float32(0.0)) -> %5",
        "store %C_local[%i, %j] = %5",
        "end_parallel",
        "mul(%b1, 64) -> %6",
        "mul(%b0, 64) -> %7",
        "copy %C_local -> %C[%6, %7]",
        "end_launch",
    ]


def test_places_are_those_of_the_file():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            é = A[0]
            A[1] = é + A[2]  # noqa: E702

    module = kernel.capture(recording_compiler).module
    text = Path(__file__).read_text().splitlines()
    add = next(k for k, line in enumerate(module.lines) if line.startswith("add"))
    line, column = module.places[add]
    assert text[line - 1][column - 1 :].startswith("é + A[2]")


def test_a_name_is_bound_to_the_value_at_that_time():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            x = A[0]
            A[0] = 1.0
            A[1] = x

    assert body(kernel) == ["load %A[0] -> %1", "store %A[0] = 1.0", "store %A[1] = %1"]


def test_tuple_swap_and_chained_assignment():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            x, y = A[0], A[1]
            x, y = y, x
            A[2] = A[3] = x
            A[4] = y

    assert body(kernel)[2:] == ["store %A[2] = %2", "store %A[3] = %2", "store %A[4] = %1"]


def test_variables_load_and_store():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            x = T.alloc_var("int32", init=0)
            for i in T.serial(4):
                before = x
                x = before + i
                x += 1
            A[0] = x

    assert body(kernel) == [
        "alloc_var int32 0 -> %x",
        "for Serial 0..4 step 1 -> %i",
        "load %x[] -> %1",
        "add(%1, %i) -> %2",
        "store %x[] = %2",
        "load %x[] -> %3",
        "add(%3, 1) -> %4",
        "store %x[] = %4",
        "end_for",
        "load %x[] -> %5",
        "store %A[0] = %5",
    ]


def test_known_conditions_fold():
    causal = False

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            if causal or 1 > 2:
                A[0] = 1.0
            elif not causal:
                A[1] = 2.0 if causal else 3.0
            A[2] = T.if_then_else(causal, A[9], 4.0)
            if causal and A[0] > bx:
                A[3] = 5.0

    assert body(kernel) == ["store %A[1] = 3.0", "store %A[2] = 4.0"]


def test_conditions_of_the_kernel():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), n: T.int32):
        with T.Kernel(4) as bx:
            if 0 < bx < n:
                A[0] = 1.0
            else:
                A[0] = 2.0
            while n > 5:
                T.loop_break()

    assert body(kernel) == [
        "gt(%b0, 0) -> %1",
        "lt(%b0, %n) -> %2",
        "logical_and(%1, %2) -> %3",
        "if %3",
        "store %A[0] = 1.0",
        "else",
        "store %A[0] = 2.0",
        "end_if",
        "while",
        "gt(%n, 5) -> %4",
        "do_while %4",
        "break",
        "end_while",
    ]


def test_choices_are_lazy_where_a_side_could_fault():
    @T.prim_func
    def kernel(n: T.int32, A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            S = T.alloc_shared((8,), "float32")
            for i in T.Parallel(8):
                S[i] = T.if_then_else(i < n, S[i], 0.0)
                S[i] = S[i + n] if i > n else A[i + n]
            if n > 0 and bx // n == 1:
                A[0] = 0.0

    assert body(kernel) == [
        "alloc [8] float32 shared -> %S",
        "parallel [8] ['i']",
        "lt(%i, %n) -> %1",
        "load %S[%i] -> %2",
        "select(%1, %2, 0.0) -> %3",
        "store %S[%i] = %3",
        "gt(%i, %n) -> %4",
        "begin_select %4",
        "add(%i, %n) -> %5",
        "load %S[%5] -> %6",
        "else_select %6",
        "add(%i, %n) -> %7",
        "load %A[%7] -> %8",
        "end_select %8 -> %9",
        "store %S[%i] = %9",
        "end_parallel",
        "gt(%n, 0) -> %10",
        "begin_select %10",
        "floordiv(%b0, %n) -> %11",
        "eq(%11, 1) -> %12",
        "else_select %12",
        "end_select False -> %13",
        "if %13",
        "store %A[0] = 0.0",
        "end_if",
    ]


def test_the_scope_of_an_allocation_counts():
    @T.prim_func
    def kernel():
        with T.Kernel(1):
            a = T.alloc_fragment((4,), "int32", "local")  # noqa: F841
            b = T.alloc_fragment((4,), "int32")  # noqa: F841
            c = T.alloc_shared((4,), "int32", scope="local.fragment")  # noqa: F841
            d = T.alloc_local((4,), "int32", scope="shared.dyn")  # noqa: F841
            e = T.alloc_shared((4,), "int32", scope="shared")  # noqa: F841

    assert body(kernel) == [
        "alloc [4] int32 local -> %a",
        "alloc [4] int32 fragment -> %b",
        "alloc [4] int32 fragment -> %c",
        "alloc [4] int32 shared -> %d",
        "alloc [4] int32 shared -> %e",
    ]


def test_loops():
    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float32"), n: T.int32):
        with T.Kernel(1):
            for i in range(*(2, n), 3):
                A[i, 0] = 0.0
            for i, j in T.grid(2, 3):
                A[i, j] = 1.0
            for i in T.unroll(2):
                A[i, i] = 2.0
            for i in T.vectorized(4):
                A[0, i] = 3.0
            for pair in [(0, 1), (2, 3)]:
                A[pair[0], pair[1]] = 4.0
            for k, x in enumerate(zip((5,), (6,), strict=True)):
                A[k, x[0]] = 5.0

    assert body(kernel) == [
        "for Serial 2..%n step 3 -> %i",
        "store %A[%i, 0] = 0.0",
        "end_for",
        "for Serial 0..2 step 1 -> %i",
        "for Serial 0..3 step 1 -> %j",
        "store %A[%i, %j] = 1.0",
        "end_for",
        "end_for",
        "for Unroll 0..2 step 1 -> %i",
        "store %A[%i, %i] = 2.0",
        "end_for",
        "for Vectorized 0..4 step 1 -> %i",
        "store %A[0, %i] = 3.0",
        "end_for",
        "store %A[0, 1] = 4.0",
        "store %A[2, 3] = 4.0",
        "store %A[0, 5] = 5.0",
    ]


def test_break_and_continue():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), n: T.int32):
        with T.Kernel(1):
            for i in T.serial(8):
                if i == n:
                    break
                if i < n:
                    continue
                A[i] = 0.0
            for k in [0, 1, 2]:
                if k == 1:
                    continue
                if k == 2:
                    break
                A[k] = 1.0

    assert body(kernel) == [
        "for Serial 0..8 step 1 -> %i",
        "eq(%i, %n) -> %1",
        "if %1",
        "break",
        "end_if",
        "lt(%i, %n) -> %2",
        "if %2",
        "continue",
        "end_if",
        "store %A[%i] = 0.0",
        "end_for",
        "store %A[0] = 1.0",
    ]


def test_regions():
    @T.prim_func
    def kernel(A: T.Tensor((2, 64, 32), "float32")):
        with T.Kernel(4) as bx:
            S = T.alloc_shared((16, 32), "float32")
            T.copy(A[1, bx * 16 : bx * 16 + 16, :], S)
            T.copy(A[1, 16:, 0:8], S[:, -8:])
            T.copy(S, A[..., 0])
            T.fill(S[3, 2:4], 1)

    recorded = body(kernel)
    assert recorded[-4:] == [
        "copy %A[1, %1, 0]:[1, %4, 32] -> %S",
        "copy %A[1, 16, 0]:[1, 48, 8] -> %S[0, 24]:[16, 8]",
        "copy %S -> %A[0, 0, 0]:[2, 64, 1]",
        "fill %S[3, 2]:[1, 2] 1",
    ]


def test_launch_without_with():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        bx, by = T.Kernel(4, 2, threads=(32, 2))
        A[bx] = by

    assert lines(kernel)[1:] == [
        "begin_launch [4, 2] [32, 2]",
        "store %A[%b0] = %b1",
        "end_launch",
    ]


@pytest.mark.parametrize("form", ["one", "list", "tuple"])
def test_one_block_id(form):
    if form == "one":

        @T.prim_func
        def kernel(A: T.Tensor((8,), "float32")):
            with T.Kernel(4) as b:
                A[b] = 0.0
    elif form == "list":

        @T.prim_func
        def kernel(A: T.Tensor((8,), "float32")):
            with T.Kernel(4) as [b]:
                A[b] = 0.0
    else:

        @T.prim_func
        def kernel(A: T.Tensor((8,), "float32")):
            with T.Kernel(4) as (b,):
                A[b] = 0.0

    assert body(kernel) == ["store %A[%b0] = 0.0"]


def test_dynamic_shapes():
    m = T.dynamic("m")
    n, k = T.dynamic("n, k")

    @T.prim_func
    def kernel(A: T.Tensor((m, k), "float32"), B: T.Tensor((k, n + 1), "float32")):
        with T.Kernel(T.ceildiv(m, 64), n // 2) as (bx, by):
            A[bx, by] = B[bx, by]

    assert lines(kernel)[:4] == [
        "symbol int32 -> %m",
        "symbol int32 -> %k",
        "tensor [%m, %k] float32 -> %A",
        "symbol int32 -> %n",
    ]
    assert "begin_launch [%2, %3] [128]" in lines(kernel)


@T.macro
def scaled(x, factor=2):
    doubled = x * factor
    return doubled


@T.macro
def swap(a: T.Ref, b: T.Ref):
    old = a
    a = b
    b = old


def test_macros():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            doubled = A[1]
            A[0] = scaled(A[0])
            A[1] = doubled
            swap(A[2], A[bx])

    assert body(kernel) == [
        "load %A[1] -> %1",
        "load %A[0] -> %2",
        "enter_macro scaled",
        "mul(%2, 2) -> %3",
        "leave_macro",
        "store %A[0] = %3",
        "store %A[1] = %1",
        "load %A[2] -> %4",
        "load %A[%b0] -> %5",
        "enter_macro swap",
        "load %A[2] -> %6",
        "load %A[%b0] -> %7",
        "store %A[2] = %7",
        "store %A[%b0] = %6",
        "leave_macro",
    ]


def test_functions_of_python():
    def plain(x, y):
        return (x + y) * 2 if y > 1 else x

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            table = {n: n * n for n in range(4) if n}
            late = [lambda v, k=k: v + k for k in range(3)]

            def inner(v):
                return max(v, bx)

            A[0] = plain(A[1], table[3])
            A[1] = late[2](bx)
            A[2] = inner(5)
            A[len(f"{table[2]}x")] = 0.0

    assert body(kernel) == [
        "load %A[1] -> %1",
        "add(%1, 9) -> %2",
        "mul(%2, 2) -> %3",
        "store %A[0] = %3",
        "add(%b0, 2) -> %4",
        "store %A[1] = %4",
        "max(5, %b0) -> %5",
        "store %A[2] = %5",
        "store %A[2] = 0.0",
    ]


def test_a_choice_of_numbers_and_a_typed_name():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1) as bx:
            x: T.float16 = bx
            A[0] = x
            A[1] = -T.infinity("float32")

    assert body(kernel) == [
        "cast(%b0, float16) -> %1",
        "store %A[0] = %1",
        "neg(%float32(inf)) -> %2",
        "store %A[1] = %2",
    ]


def test_assert():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            assert 1 < 2
            assert bx < 8, "too many blocks"

    assert body(kernel) == ["lt(%b0, 8) -> %1", "assert %1 'too many blocks'"]


def test_code_after_break_warns():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4):
            for i in T.serial(4):
                break
                A[i] = 0.0

    with pytest.warns(UserWarning, match="never reached"):
        assert "break" in body(kernel)


def test_membership():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), n: T.int32):
        with T.Kernel(4):
            if n in (1, 2):
                A[0] = 1.0
            if n not in [3]:
                A[1] = 1.0
            if 3 in (1, 3) and "a" not in "bc":
                A[2] = 1.0

    assert body(kernel) == [
        "eq(%n, 1) -> %1",
        "eq(%n, 2) -> %2",
        "logical_or(%1, %2) -> %3",
        "if %3",
        "store %A[0] = 1.0",
        "end_if",
        "eq(%n, 3) -> %4",
        "logical_not(%4) -> %5",
        "if %5",
        "store %A[1] = 1.0",
        "end_if",
        "store %A[2] = 1.0",
    ]


def test_buffers_keep_dtype_and_shape_behind_the_trace():
    kept = []

    @T.prim_func
    def kernel(A: T.Tensor((64, 8), "float16"), B: T.Tensor((64,), "int32")):
        with T.Kernel(1):
            tile = T.alloc_shared((4, 8), "bfloat16")
            kept.extend([A, B, tile, tile[0:2, :], T.view(tile, (32,), "int16")])

    kernel.capture()
    assert [str(buffer.dtype) for buffer in kept] == [
        "float16",
        "int32",
        "bfloat16",
        "bfloat16",
        "int16",
    ]
    assert [buffer.shape for buffer in kept] == [(64, 8), (64,), (4, 8), (2, 8), (32,)]
    assert [buffer.ndim for buffer in kept if hasattr(buffer, "ndim")] == [2, 1, 2, 1]


@T.macro
def counted_down(A, n):
    if n > 0:
        counted_down(A, n - 1)
    else:
        A[0] = A[0] + 1.0


@T.macro
def without_buffer(n):
    if n > 0:
        without_buffer(n - 1)
    else:
        T.copy(1, 2)


def test_macros_may_nest_deeply():
    """Also where Python's own limit of calls would end them; of a wrong one some are told."""
    limit = sys.getrecursionlimit()

    @T.prim_func
    def kernel(A: T.Tensor((1,), "float32")):
        with T.Kernel(1):
            counted_down(A, 400)

    assert body(kernel).count("enter_macro counted_down") == 401

    @T.prim_func
    def wrong(A: T.Tensor((1,), "float32")):
        with T.Kernel(1):
            without_buffer(400)

    with pytest.raises(tilewright.CompileError) as caught:
        wrong.capture()
    (error,) = caught.value.errors
    assert len(error.notes) == 5
    assert sys.getrecursionlimit() == limit
