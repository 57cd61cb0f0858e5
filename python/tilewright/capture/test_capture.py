# SPDX-License-Identifier: Apache-2.0
"""What a kernel's Python turns into, against a builder that writes down its calls."""

from pathlib import Path

import pytest

import tilewright.language as T
from tilewright.capture import recording_compiler
from tilewright.errors import CompileError, JITNoBuilderError
from tilewright.language.values import LanguageError, PoisonUsed


def lines(kernel) -> list[str]:
    return kernel.capture(recording_compiler).module.lines


def body(kernel) -> list[str]:
    """The calls between the launch and its end."""
    recorded = lines(kernel)
    start = next(k for k, line in enumerate(recorded) if line.startswith("begin_launch"))
    return recorded[start + 1 : recorded.index("end_launch")]


def errors(kernel) -> list[str]:
    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    return [d.message for d in caught.value.errors]


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


def test_loops():
    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float32"), n: T.int32):
        with T.Kernel(1):
            for i in range(2, n, 3):
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


def test_values_of_another_kernel():
    kept = []

    @T.prim_func
    def first(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            kept.extend([A, bx])

    @T.prim_func
    def second(A: T.Tensor((8,), "float32")):
        with T.Kernel(4):
            A[kept[1]] = 0.0
            T.clear(kept[0])
            A[0] = kept[0][0]

    lines(first)
    assert errors(second) == [
        "a value of another kernel is used here",
        "a buffer of another kernel is used here",
        "a buffer of another kernel is used here",
    ]


# Errors ------------------------------------------------------------------------------------------


def test_outside_a_kernel():
    with pytest.raises(
        JITNoBuilderError,
        match=r"the tile language can only be used inside a kernel \(@T.prim_func or @T.macro\)",
    ):
        T.alloc_shared((1,), "float32")


def test_five_errors_at_once():
    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float32")):
        with T.Kernel(4) as bx:
            S = T.alloc_shred((8,), "float32")
            T.copy(A[0, 0], S)
            x = undefined + 1  # noqa: F821
            A[0] = x
            try:
                pass
            finally:
                pass
            y = [1, 2][5]
            A[0, 0] = y
            T.copy(A)
            A[bx, 0] = 1 / 0

    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    found = [(d.place.line, d.message) for d in caught.value.errors]
    start = kernel.function.__code__.co_firstlineno
    assert [(line - start, text) for line, text in found] == [
        (3, "T has no 'alloc_shred'; did you mean 'alloc_shared'?"),
        (5, "name 'undefined' is not defined"),
        (6, "buffer 'A' has 2 dimensions but is indexed with 1"),
        (7, "'try' can't be captured in a kernel"),
        (11, "this raises IndexError: list index out of range"),
        (13, "T.copy() missing 1 required positional argument: 'dst'"),
        (14, "this raises ZeroDivisionError: division by zero"),
    ]
    text = str(caught.value)
    assert f"{__file__}:{start + 3}:17: error: T has no 'alloc_shred'" in text
    assert "            S = T.alloc_shred((8,)" in text
    assert "7 errors in kernel 'kernel'" in text
    traceback = caught.value.__traceback__
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    assert traceback.tb_lineno == start + 3
    assert traceback.tb_frame.f_code.co_filename == __file__


def test_a_name_can_not_leave_its_loop():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), n: T.int32):
        with T.Kernel(4):
            for i in T.serial(4):
                S = T.alloc_shared((8,), "float32")
                last = A[i]
            A[0] = last
            A[1] = S[0]
            A[2] = i
            if n > 1:  # noqa: SIM108
                size = 3
            else:
                size = 4
            A[3] = size

    found = errors(kernel)
    assert [text.split(" at line")[0] for text in found] == [
        "'last' is used outside the serial loop",
        "'S' is used outside the serial loop",
        "'i' is used outside the serial loop",
        "'size' is used outside the if",
    ]


def test_a_change_is_not_carried():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            total = 0.0
            for i in T.serial(4):
                total += A[i]
            A[0] = 0.0
            scale = 1.0
            if bx > 1:
                scale = 2.0
            A[1] = scale

    found = errors(kernel)
    start = kernel.function.__code__.co_firstlineno
    assert found == [
        f"'total' is changed in the serial loop at line {start + 4}"
        ", but the change is not carried to the next iteration; use T.alloc_var or a buffer",
        f"'scale' was changed in the if at line {start + 8}"
        ", and its value after that is not known while tracing; use T.alloc_var or a buffer",
    ]


def test_a_harmless_change_is_allowed():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4) as bx:
            offset = 0
            dtype = "float32"
            for i in T.serial(4):
                offset = i * 2
                A[offset] = T.cast(bx, dtype)
                dtype = "float32"
            A[0] = T.cast(bx, dtype)

    assert body(kernel)[1] == "mul(%i, 2) -> %1"


UNSUPPORTED = {
    "for i in T.serial(4):\n    pass\nelse:\n    pass": (
        "'else' of a for loop can't be captured in a kernel"
    ),
    "while A[0] > 1:\n    pass\nelse:\n    pass": (
        "'else' of a while loop can't be captured in a kernel"
    ),
    "class C:\n    pass": "a class definition can't be captured in a kernel",
    "del A": "'del' can't be captured in a kernel",
    "match A:\n    case _:\n        pass": "'match' can't be captured in a kernel",
    "global g\ng = 1": "'global' can't be captured in a kernel",
    "x = yield": "'yield' can't be captured in a kernel",
    "A.x = 1": "assigning to an attribute can't be captured in a kernel",
    "A.x += 1": "assigning to an attribute can't be captured in a kernel",
    "T.gemm_v0(A, A, A)": "T.gemm_v0 is not supported yet",
    "T.serial(4)": "a loop object must be used in a for statement",
    "x = locals()": "locals() can't be captured in a kernel",
    "if A[0] > 1:\n    return": "'return' inside a loop or branch of the running kernel",
    "T.copy(A[0:8:2], A)": "a slice of 'A' with a step is not supported",
    "for k in [1, 2]:\n    if A[0] > 1:\n        break": (
        "'break' of a loop over a Python sequence under a condition of the running kernel"
    ),
    "if A[0] > 1:\n    raise ValueError": (
        "'raise' under a condition of the running kernel; use assert"
    ),
    "T.annotate_safe_value({A: 1.0})": "a safe value other than 0 is not supported yet",
    "x = T.Tensor((1,), data=3)": "data of T.Tensor is not supported",
    "x = T.Tensor((1,), T.ptr)": "tensors of pointers are not supported yet",
    "T.Kernel(1, is_npu=True)": (
        "is_npu of T.Kernel needs the ascend target, which is not supported yet"
    ),
    "T.Kernel(1, prelude='x')": "prelude of T.Kernel is not supported yet",
    "x = T.Parallel(4, loop_layout=1)": "loop_layout of T.Parallel is not supported yet",
    "x = T.Pipelined(4, sync=[1])": "sync and group of T.Pipelined are not supported yet",
    "x = T.cast(bx, 'int8', sat=False)": "round, sat and rbits of T.cast are not supported yet",
    "x = T.view(A[0], (1,))": "T.view of a part of a buffer is not supported",
    "T.transpose(A, A)": "T.transpose is not supported yet",
    "T.copy(A, A, loop_layout=1)": "loop_layout of T.copy is not supported yet",
    "T.gemm(A, A, A, mbar=1)": "mbar of T.gemm is not supported yet",
    "T.sync_threads(1)": "named barriers are not supported yet",
    "@T.prim_func\ndef k():\n    pass": "a kernel inside a kernel is not supported",
}
WRONG = {
    "A[10**30] = 1": f"the number {10**30} does not fit in 64 bits",
    "S = T.alloc_shared((10**30,), 'float32')": f"the number {10**30} does not fit in 64 bits",
    "for i in T.Pipelined(4, num_stages=A):\n    pass": "'num_stages' can't be buffer 'A'",
    "x = " + "- " * 900 + "A[0]": "the kernel nests too deeply",
    "forever()": "macro 'forever' calls itself without end",
    "while True:\n    pass": "the condition of this loop is always True",
    "while 1 < 2:\n    pass": "the condition of this loop is always True",
    "if A:\n    pass": "buffer 'A' can't be a condition; index it",
    "x, y = A": "buffer 'A' can't be iterated or unpacked",
    "A += 1": "augmented assignment to the whole buffer 'A'; write A[0] op= value",
    "A[0:2] = 1": "a slice of 'A' can't be assigned; use T.copy or T.fill",
    "A[0:2] += 1": "a slice of 'A' can't be assigned; use T.Parallel",
    "A.__setitem__(slice(0, 2), 1)": "a slice of 'A' can't be assigned; use T.copy or T.fill",
    "x = A + 1": "buffer 'A' has no arithmetic; index it, as in A[0]",
    "for x in A:\n    pass": (
        "a for loop needs a loop of the language, a range or a Python sequence"
    ),
    "for i in range(0, 4, 0):\n    pass": "the step of a loop must not be 0",
    "a, b = 1, 2, 3": "2 names are bound to 3 values",
    "A['x'] = 1": "an index of 'A' must be an integer or a slice, not str",
    "A[0.5] = 1": "an index of 'A' must be an integer or a slice, not float",
    "T.copy(A, 3)": "the target of T.copy must be a buffer or a part of one, not 3 of type int",
    "S = T.alloc_shared((A[0],), 'float32')": (
        "the shape of an allocation must be known while compiling, not "
        "a value of the running kernel"
    ),
    "S = T.alloc_shared((8,), 'floot')": "there is no dtype 'floot'",
    "S = T.alloc_shared((8,), 8)": "expected a dtype but got 8",
    "assert 1 > 2, 'sizes'": "assertion failed while tracing: sizes",
    "raise ValueError('bad tile')": "the kernel raises ValueError: bad tile",
    "x = y_later\ny_later = 1": "name 'y_later' is used before it is bound",
    "x = A.shap": "buffer 'A' has no attribute 'shap'",
    "x = int(A[0])": "an integer that is known only in the running kernel can't be used here",
    "x = float(A[0])": "a value of the kernel is not known while tracing; use T.cast",
    "for i in T.Parallel():\n    pass": "T.Parallel needs at least one extent",
    "x = T.max(A, 1)": "buffer 'A' is used as a scalar; index it, as in A[0]",
    "x = T.max('a', 1)": "expected a scalar but got 'a' of type str",
    "x = T.exp(A[0:2])": "a region of 'A' is used as a scalar",
    "x = T.const('M')": (
        "T.const can only be used in an eager kernel (@tilelang.jit without T.prim_func)"
    ),
    "return 3": "a kernel can't return a value; name its outputs with out_idx",
    "with 3:\n    pass": "int can't be used in a with statement",
    "choose(A[0])": (
        "a condition that is known only in the running kernel can't be used here in a plain Python "
        "function; make it a @T.macro"
    ),
    "broken()": "broken() raised KeyError: 'no such tile'",
    "swap(1, 2)": "parameter 'a' is a T.Ref and needs a variable or an element",
    "x = A[bx + 4] if bx > 1 else twice(bx)": (
        "macro 'twice' has statements and can't be used in a lazy expression"
    ),
    "x = T.alloc_var('int32', 1, 2)": "T.alloc_var takes a dtype, an initial value and a scope",
    "x = T.view(3, (1,))": "T.view needs a buffer",
    "x = T.infinity('int32')": "int32 has no infinity; use T.max_value",
    "x = T.int32(T_INF)": "inf can't be converted to int32",
    "T.Kernel()": "T.Kernel takes 1 to 3 grid extents but got 0",
    "T.Kernel(1, threads=[1, 1, 1, 1])": "threads of T.Kernel takes 1 to 3 extents but got 4",
    "T.Kernel(1, threads=0)": "threads of T.Kernel must be positive, not 0",
    "T.Kernel(1.5)": "expected an integer but got 1.5",
    "T.atomic_add(A, A, return_prev=True)": (
        "return_prev of T.atomic_add needs a scalar, not a tile"
    ),
    "x, y = A[0]": "a scalar of the kernel can't be iterated or unpacked",
    "x = A[0]\nA[1] = x[0]": "a scalar of the kernel can't be indexed",
    "x = T.StridedTensor((1, 2), (1,))": "1 strides for 2 dimensions",
    "x = T.dynamic('')": "'' is not a list of names",
    "x = list(T.serial(4))": (
        "a serial loop can only be used in a kernel or a @T.macro, not in plain Python"
    ),
}


def _kernel_of(text: str, folder: Path):
    lines = "\n".join("        " + line for line in text.splitlines())
    source = f"""import tilewright.language as T

def choose(x):
    return 1 if x > 0 else 2

def broken():
    raise KeyError("no such tile")

@T.macro
def forever():
    forever()

@T.macro
def swap(a: T.Ref, b: T.Ref):
    a = b

@T.macro
def twice(x):
    T.clear(x)
    return 1

T_INF = float("inf")

@T.prim_func
def kernel(A: T.Tensor((8,), "float32")):
    with T.Kernel(4) as bx:
{lines}
"""
    path = folder / "kernel.py"
    path.write_text(source)
    names: dict = {"__name__": "kernel"}
    exec(compile(source, str(path), "exec"), names)
    return names["kernel"]


@pytest.mark.parametrize("text", [*UNSUPPORTED, *WRONG])
def test_message(text, tmp_path):
    kernel = _kernel_of(text, tmp_path)
    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    first = caught.value.errors[0]
    assert first.message == {**UNSUPPORTED, **WRONG}[text]
    assert first.kind == ("unsupported" if text in UNSUPPORTED else "error")
    assert first.place.file == str(tmp_path / "kernel.py")
    assert first.place.line >= 10
    assert first.message[0].islower() or first.message[0] in "'T12"
    assert len(caught.value.errors) == 1


def test_an_exception_of_user_code_is_chained(tmp_path):
    kernel = _kernel_of("broken()", tmp_path)
    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    assert isinstance(caught.value.__cause__, KeyError)
    note = caught.value.errors[0].notes[0]
    assert (note.place.line, note.message) == (7, "KeyError was raised here")


def test_errors_in_a_macro_name_both_places():
    @T.macro
    def wrong(x):
        T.copy(x)

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4):
            wrong(A)

    with pytest.raises(CompileError) as caught:
        kernel.capture(recording_compiler)
    error = caught.value.errors[0]
    assert error.place.line == wrong.function.__code__.co_firstlineno + 2
    assert error.notes[-1].place.line == kernel.function.__code__.co_firstlineno + 3
    assert error.notes[-1].message == "in macro 'wrong' called here"


def test_no_source():
    names: dict = {"T": T}
    exec("@T.prim_func\ndef kernel(A: T.Tensor((8,), 'float32')):\n    pass\n", names)
    with pytest.raises(CompileError, match="the source of kernel 'kernel' can't be read"):
        names["kernel"].capture(recording_compiler)


def test_a_failure_without_a_message_is_a_fault_of_ours():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4):
            fail()

    def fail():
        raise PoisonUsed

    assert errors(kernel) == ["a statement failed without a message"]


def test_layouts_of_source(tmp_path):
    text = """import tilewright.language as T
if True:
    @T.prim_func
    def kernel(
        A: T.Tensor((8,), "float32"),
    ):
        with T.Kernel(
1
):
            A[0] = 1.0; A[
1] = (2.0
)
# a comment to the left
            A[2] = 3.0
        # the end
    after = 1
"""
    path = tmp_path / "kernel.py"
    path.write_text(text)
    names: dict = {"__name__": "kernel"}
    exec(compile(text, str(path), "exec"), names)
    assert body(names["kernel"]) == [
        "store %A[0] = 1.0",
        "store %A[1] = 2.0",
        "store %A[2] = 3.0",
    ]
    path.write_text("gone")
    names["kernel"]._captured = None
    with pytest.raises(CompileError, match="kernel.py' has changed"):
        names["kernel"].capture(recording_compiler)


def test_a_lambda_is_no_kernel():
    with pytest.raises(CompileError, match="it is not a plain 'def'"):
        T.prim_func(lambda A: None).capture(recording_compiler)
    with pytest.raises(
        LanguageError, match="'k' can't be called; compile it with tilelang.compile or"
    ):
        T.prim_func(_kernel_named_k)()


def _kernel_named_k():
    pass


_kernel_named_k.__name__ = "k"


def test_signatures():
    @T.prim_func
    def kernel(A, B: T.Tensor, c: 3, d: T.ptr, e: T.SharedBuffer((1,))):
        with T.Kernel(4):
            pass

    assert errors(kernel) == [
        "parameter 'A' of the kernel has no annotation",
        "the annotation of parameter 'B' is neither a tensor nor a dtype: T.Tensor",
        "the annotation of parameter 'c' is neither a tensor nor a dtype: 3",
        "T.ptr arguments are not supported yet",
        "parameter 'e' must be in global memory",
    ]


def test_annotations_that_are_strings():
    size = 16

    @T.prim_func
    def kernel(A: "T.Tensor((size, 4), 'float16')", n: "int32", B: "T.Tensor((sise,))"):  # noqa: F821
        with T.Kernel(4):
            pass

    assert errors(kernel) == ["name 'sise' is not defined"]


def test_keyboard_interrupt_passes():
    def interrupt():
        raise KeyboardInterrupt

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(4):
            interrupt()

    with pytest.raises(KeyboardInterrupt):
        kernel.capture(recording_compiler)
