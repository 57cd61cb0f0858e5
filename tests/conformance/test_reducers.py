# SPDX-License-Identifier: Apache-2.0
"""Reducers: both forms of their updates, and what is reported of a wrong one."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

import tilewright
import tilewright.language as T

ROWS, COLUMNS = 16, 24


def update(op, q, j, value):
    """As kernels of the older form write it."""
    return {
        "max": lambda: T.max(q[j], value),
        "min": lambda: T.min(value, q[j]),
        "bitand": lambda: q[j] & value,
        "bitor": lambda: value | q[j],
        "bitxor": lambda: q[j] ^ value,
    }[op]()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_plain_sums(agree, random, dtype):
    """`q[j] += x` in a T.Parallel is an update of the reducer, also through a cast."""

    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), dtype), S: T.Tensor((2 * COLUMNS,), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_fragment((ROWS, COLUMNS), dtype)
            T.copy(A, s)
            q = T.alloc_reducer((2 * COLUMNS,), "float32", op="sum", replication="all")
            T.clear(q)
            for i, j in T.Parallel(ROWS, COLUMNS):
                q[2 * j + 1] += s[i, j]
            T.finalize_reducer(q)
            T.copy(q, S)

    a = random.standard_normal((ROWS, COLUMNS)).astype(dtype)
    expected = np.zeros(2 * COLUMNS, np.float32)
    expected[1::2] = a.astype(np.float64).sum(0)
    agree(kernel, [a, np.zeros_like(expected)], {1: expected})


@T.macro
def fused(q, j, x):
    q[j] = T.fma(x, x, q[j])


@T.macro
def fused_exactly(q, j, x):
    q[j] = T.ieee_fmaf(x, x, q[j])


@T.macro
def branches(q, j, x):
    if x > 0:
        q[j] += x
    else:
        q[j] += x * -3


@T.macro
def one_branch(q, j, x):
    if x > 0:
        q[j] = q[j] + x


@T.macro
def conditional_expression(q, j, x):
    q[j] = q[j] + x if x > 0 else T.fma(x, x, q[j])


@T.macro
def conditional_expressions(q, j, x):
    q[j] = q[j] + x if x > 0 else q[j] + 1 if x > -1 else q[j]


@T.macro
def lazy_choice(q, j, x):
    q[j] = T.if_then_else(x > 0, q[j] + x, q[j])


#: Updates of a sum, and what each adds.
SUMS = {
    fused: lambda x: x * x,
    fused_exactly: lambda x: x * x,
    branches: lambda x: np.where(x > 0, x, -3 * x),
    one_branch: lambda x: np.maximum(x, 0),
    conditional_expression: lambda x: np.where(x > 0, x, x * x),
    conditional_expressions: lambda x: np.where(x > 0, x, np.where(x > -1, 1, 0)),
    lazy_choice: lambda x: np.maximum(x, 0),
}


@pytest.mark.parametrize("form", SUMS, ids=lambda form: form.__name__)
def test_forms_of_sums(agree, random, form):
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), "float32"), S: T.Tensor((COLUMNS,), "float32")):
        with T.Kernel(1, threads=64):
            s = T.alloc_fragment((ROWS, COLUMNS), "float32")
            T.copy(A, s)
            q = T.alloc_reducer((COLUMNS,), "float32", op="sum")
            T.reducer_init(q)
            for i, j in T.Parallel(ROWS, COLUMNS):
                form(q, j, s[i, j])
            T.finalize_reducer(q)
            T.copy(q, S)

    a = random.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    expected = SUMS[form](a.astype(np.float64)).sum(0).astype(np.float32)
    agree(kernel, [a, np.zeros(COLUMNS, np.float32)], {1: expected})


@pytest.mark.parametrize(
    "statement",
    [
        "q[j] = s[0, j] - q[j]",
        "q[j] = T.fma(q[j], s[0, j], s[0, j])",
        "q[j] = q[j] + 1 if s[0, j] > 0 else s[0, j]",
        "q[j] = q[j] - 1 if s[0, j] > 0 else q[j]",
    ],
)
def test_what_is_no_update_of_a_sum(statement, tmp_path):
    source = f"""import tilewright.language as T

@T.prim_func
def kernel(A: T.Tensor((4, 8), "float32"), S: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=64):
        s = T.alloc_fragment((4, 8), "float32")
        T.copy(A, s)
        q = T.alloc_reducer((8,), "float32", op="sum")
        T.reducer_init(q)
        for j in T.Parallel(7):
            {statement}
        T.finalize_reducer(q)
        T.copy(q, S)
"""
    path = tmp_path / "kernel.py"
    path.write_text(source)
    kernel = runpy.run_path(str(path))["kernel"]
    with pytest.raises(tilewright.CompileError, match="until T.finalize_reducer it is") as caught:
        tilewright.compile(kernel)
    assert caught.value.errors[0].place.line == 11


@pytest.mark.parametrize("op", ["max", "min", "bitand", "bitor", "bitxor"])
def test_plain_updates(agree, random, op):
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), "int32"), S: T.Tensor((COLUMNS,), "int32")):
        with T.Kernel(1, threads=64):
            q = T.alloc_reducer((COLUMNS,), "int32", op=op, replication="all")
            for i, j in T.Parallel(ROWS, COLUMNS):
                q[j] = update(op, q, j, A[i, j])
            T.finalize_reducer(q)
            T.copy(q, S)

    a = random.integers(-1000, 1000, (ROWS, COLUMNS)).astype(np.int32)
    functions = {
        "max": np.maximum, "min": np.minimum,
        "bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor,
    }  # fmt: skip
    agree(kernel, [a, np.zeros(COLUMNS, np.int32)], {1: functions[op].reduce(a, axis=0)})


def kernel_with(statement):
    """8 iterations run `statement(q, o, A, i)`; q is a sum."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            q = T.alloc_reducer((1,), "float32", replication="all")
            o = T.alloc_fragment((1,), "float32")
            T.clear(o)
            for i in T.Parallel(8):
                statement(q, o, A, i)
            T.finalize_reducer(q)

    return kernel


NO_UPDATE = (
    "reducer 'q' is a 'sum', so until T.finalize_reducer it is written by T.reducer_update, or as "
    "q[i] += x or q[i] = T.fma(x, y, q[i])"
)


def test_what_is_no_update_is_refused():
    @T.macro
    def stored(q, o, A, i):
        q[0] = A[i]

    @T.macro
    def of_another_kind(q, o, A, i):
        q[0] = T.max(q[0], A[i])

    @T.macro
    def of_another_element(q, o, A, i):
        q[i // 8] = q[0] + A[i]

    @T.macro
    def taken_off(q, o, A, i):
        q[0] -= A[i]

    @T.macro
    def looked_at(q, o, A, i):
        q[0] += A[i]
        A[i] = q[0]

    @T.macro
    def looked_at_by_itself(q, o, A, i):
        q[0] += q[0]

    read = "reducer 'q' is read before T.finalize_reducer"
    for statement in stored, of_another_kind, of_another_element, taken_off:
        line = statement.function.__code__.co_firstlineno + 2
        assert [f[:2] for f in errors_of(kernel_with(statement))] == [(NO_UPDATE, line)]
    for statement, lines in (looked_at, 3), (looked_at_by_itself, 2):
        line = statement.function.__code__.co_firstlineno + lines
        assert [f[:2] for f in errors_of(kernel_with(statement))] == [(read, line)]


def test_what_is_no_reducer_races():
    @T.macro
    def no_reducer(q, o, A, i):
        o[0] += A[i]

    with pytest.raises(tilewright.KernelError) as caught:
        tilewright.compile(kernel_with(no_reducer), target="reference")(np.ones(8, np.float32))
    assert [d.message for d in caught.value.errors] == [
        "two iterations of the parallel loop use element [0] of 'o', and one of them writes it"
    ]


def errors_of(kernel):
    """The message, the line, and the lines of the notes of each."""
    with pytest.raises(tilewright.CompileError) as caught:
        kernel.capture()
    return [(d.message, d.place.line, [n.place.line for n in d.notes]) for d in caught.value.errors]


def messages_of(body):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8) as bx:
            body(A, bx)

    return errors_of(kernel)


def wrong_order(statement):
    """What is told of a reducer that is finalized, and then `statement(q, A, dst)` runs."""

    @T.macro
    def body(A, bx):
        q = T.alloc_reducer((1,), "float32")
        dst = T.alloc_fragment((1,), "float32")
        T.reducer_init(q)
        for i in T.Parallel(8):
            T.reducer_update(q[0], A[i])
        T.finalize_reducer(q, dst)
        statement(q, A, dst)

    first = statement.function.__code__.co_firstlineno
    body_line = body.function.__code__.co_firstlineno
    return [(m, line - first, [notes[0] - body_line]) for m, line, notes in messages_of(body)]


def test_statements_of_a_reducer_in_a_wrong_order():
    @T.macro
    def finalized_again(q, A, dst):
        T.finalize_reducer(q)

    @T.macro
    def updated(q, A, dst):
        T.reducer_update(q[0], A[1])
        T.finalize_reducer(q)

    @T.macro
    def read_between(q, A, dst):
        T.reducer_init(q)
        A[0] = q[0]
        T.reducer_update(q[0], A[1])
        T.finalize_reducer(q)

    @T.macro
    def copied_between(q, A, dst):
        T.reducer_init(q)
        T.copy(q, dst)
        T.copy(q[0:1], A[0:1])
        T.finalize_reducer(q)

    again = "reducer 'q' is finalized again, with no update since"
    assert wrong_order(finalized_again) == [(again, 2, [7])]
    after = (
        "reducer 'q' is updated after T.finalize_reducer; call T.reducer_init before more updates"
    )
    assert wrong_order(updated) == [(after, 2, [7])]
    read = "reducer 'q' is read before T.finalize_reducer"
    assert wrong_order(read_between) == [(read, 3, [2])]
    assert wrong_order(copied_between) == [(read, 3, [2]), (read, 4, [2])]


def test_finalized_before_it_is_set():
    @T.macro
    def nothing(A, bx):
        q = T.alloc_reducer((1,), "float32")
        T.finalize_reducer(q)

    first = nothing.function.__code__.co_firstlineno
    text = "reducer 'q' is finalized before T.reducer_init sets it"
    ((message, line, notes),) = messages_of(nothing)
    assert (message, line, notes[0]) == (text, first + 3, first + 2)


def test_finalized_where_a_branch_needs_it(agree):
    """Each way finalizes once; what was finalized is an ordinary tile."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((1,), "float32")):
        with T.Kernel(1, threads=8):
            q = T.alloc_reducer((1,), "float32", replication="all")
            for i in T.Parallel(8):
                q[0] += A[i]
            if A[0] > 5:
                T.finalize_reducer(q)
                q[0] = q[0] / 2
            else:
                T.finalize_reducer(q)
            q[0] = q[0] + 1
            B[0] = q[0]

    for first, expected in (6, 18), (0, 29):
        a = np.array([first, 1, 2, 3, 4, 5, 6, 7], np.float32)
        agree(kernel, [a, np.zeros(1, np.float32)], {1: np.array([expected], np.float32)})


def test_never_finalized():
    @T.macro
    def new(A, bx):
        q = T.alloc_reducer((1,), "float32")
        T.reducer_init(q)
        for i in T.Parallel(8):
            T.reducer_update(q[0], A[i])

    @T.macro
    def old(A, bx):
        q = T.alloc_reducer((1,), "float32", replication="all")
        for i in T.Parallel(8):
            q[0] += A[i]

    text = "reducer 'q' is updated but never finalized; call T.finalize_reducer after the loop"
    for body, lines in (new, 4), (old, 3):
        ((message, line, notes),) = messages_of(body)
        first = body.function.__code__.co_firstlineno
        assert (message, line, notes[0]) == (text, first + lines + 1, first + 2)


def test_initialised_twice():
    @T.macro
    def twice(A, bx):
        q = T.alloc_reducer((1,), "float32")
        T.reducer_init(q)
        for _ in T.serial(2):
            T.reducer_init(q)
        T.finalize_reducer(q)

    ((message, line, notes),) = messages_of(twice)
    first = twice.function.__code__.co_firstlineno
    assert message == "reducer 'q' is initialised again before T.finalize_reducer"
    assert (line, notes[0]) == (first + 5, first + 3)


def test_initialised_in_each_branch_and_again_after_the_end(agree):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((2, 1), "float32")):
        with T.Kernel(1, threads=8):
            q = T.alloc_reducer((1,), "float32")
            if A[0] > 0:
                T.reducer_init(q)
            else:
                T.reducer_init(q, 5)
            for i in T.Parallel(8):
                T.reducer_update(q[0], A[i])
            T.finalize_reducer(q)
            T.copy(q, B[0, 0:1])
            T.reducer_init(q)
            for i in T.Parallel(8):
                T.reducer_update(q[0], 2 * A[i])
            T.finalize_reducer(q)
            T.copy(q, B[1, 0:1])

    a = np.arange(8, dtype=np.float32)
    agree(kernel, [a, np.zeros((2, 1), np.float32)], {1: np.array([[33], [56]], np.float32)})


def test_cleared_and_updated_again_behind_the_end(agree):
    """T.clear and T.fill start the next epoch as T.reducer_init does, in a loop or not."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), B: T.Tensor((3,), "float32")):
        with T.Kernel(1, threads=8):
            q = T.alloc_reducer((1,), "float32", replication="all")
            T.clear(q)
            for i in T.Parallel(8):
                T.reducer_update(q[0], A[i])
            T.finalize_reducer(q)
            B[0] = q[0]
            T.clear(q)
            for i in T.Parallel(8):
                T.reducer_update(q[0], 2 * A[i])
            T.finalize_reducer(q)
            B[1] = q[0]
            T.fill(q, 0)
            T.finalize_reducer(q)
            B[2] = q[0]

    a = np.arange(8, dtype=np.float32)
    agree(kernel, [a, np.ones(3, np.float32)], {1: np.array([28, 56, 0], np.float32)})


@pytest.mark.parametrize(("op", "wanted"), [("max", [True, True]), ("min", [False, True])])
def test_the_largest_and_smallest_of_bools(agree, op, wanted):
    """True is above False, also where bools are updated atomically."""

    @T.prim_func
    def picked(A: T.Tensor((2, 4), "bool"), B: T.Tensor((2,), "bool")):
        with T.Kernel(1, threads=32):
            r = T.alloc_reducer((2,), "bool", op=op)
            T.reducer_init(r)
            for i, j in T.Parallel(2, 4):
                T.reducer_update(r[i], A[i, j])
            T.finalize_reducer(r)
            T.copy(r, B)

    a = np.array([[0, 1, 0, 0], [1, 1, 1, 1]], np.bool_)
    agree(picked, [a, np.zeros(2, np.bool_)], {1: np.array(wanted)})


@pytest.mark.parametrize("columns", [4, 32])
def test_updates_under_a_branch(agree, random, columns):
    """Of all iterations, into one element too: none is lost, however they are done at once."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(
        A: T.Tensor((n, columns), "float32"),
        S: T.Tensor((2, 1), "float32"),
        C: T.Tensor((2, columns), "float32"),
    ):
        with T.Kernel(2) as block:
            whole = T.alloc_reducer(1, "float32", replication="all")
            of_columns = T.alloc_reducer(columns, "float32", replication="all")
            T.fill(whole, 0)
            T.fill(of_columns, 0)
            for tile in T.Persistent([T.ceildiv(n, 16)], 2, block, group_size=1):
                for i, j in T.Parallel(16, columns):
                    row = tile * 16 + i
                    if row < n:
                        whole[0] += A[row, j] * A[row, j]
                        of_columns[j] += A[row, j]
            T.finalize_reducer(whole)
            T.finalize_reducer(of_columns)
            T.copy(whole, S[block, :])
            T.copy(of_columns, C[block, :])

    a = random.integers(-9, 9, (74, columns)).astype(np.float32)
    tiles = np.arange(74) // 16 % 2
    squares = np.array([[(a[tiles == block] ** 2).sum()] for block in (0, 1)], np.float32)
    sums = np.stack([a[tiles == block].sum(0) for block in (0, 1)])
    agree(kernel, [a, np.zeros((2, 1), "float32"), np.zeros_like(a[:2])], {1: squares, 2: sums})


@pytest.mark.parametrize(
    "kind, dtype, statement, wanted",
    [
        ("min", "int32", "q[0] = T.min(q[0], i + 3)", 3),
        ("min", "int32", "q[0] = T.min(T.cast(i, 'int32'), q[0])", 0),
        ("max", "int32", "q[0] = T.max(q[0], i)", 7),
        ("sum", "int32", "q[0] += i", 28),
        ("bitor", "int32", "q[0] |= 1 << i", 255),
        ("sum", "int64", "q[0] += i * A[i]", 140),
        ("min", "int32", "q[0] = T.min(q[0], T.if_then_else(A[i] > 2, i, 64))", 3),
        ("sum", "int32", "q[0] = q[0] + A[i] + i", 56),
        ("sum", "int32", "q[0] = i + (q[0] + A[i])", 56),
        ("max", "int32", "q[0] = T.max(T.max(q[0], A[i]), i + 1)", 8),
        # What is combined is folded away.
        ("sum", "int32", "q[0] += 0", 0),
        ("bitor", "int32", "q[0] |= A[i] * 0", 0),
        ("min", "int32", "q[0] = T.min(q[0], 2**31 - 1)", 2**31 - 1),
    ],
)
def test_numbers_of_iterations(agree, tmp_path, kind, dtype, statement, wanted):
    """As a published top-k kernel takes the least index of those that are largest."""
    (tmp_path / "kernel.py").write_text(f"""import tilewright.language as T

@T.prim_func
def kernel(A: T.Tensor((8,), "int32"), B: T.Tensor((1,), "{dtype}")):
    with T.Kernel(1, threads=8):
        q = T.alloc_reducer((1,), "{dtype}", "{kind}", replication="all")
        for i in T.Parallel(8):
            {statement}
        T.finalize_reducer(q)
        T.copy(q, B)
""")
    kernel = runpy.run_path(str(tmp_path / "kernel.py"))["kernel"]
    b = np.zeros(1, dtype)
    agree(kernel, [np.arange(8, dtype=np.int32), b], {1: np.array([wanted], dtype)}, 0.0)


def test_what_a_number_is_made_of_is_looked_at_once(agree):
    """Of a sum of sums of itself, 60 deep: looking at each as often as it is used would not end."""

    def doubled(number):
        for _ in range(60):
            number = number + number
        return number

    @T.prim_func
    def kernel(A: T.Tensor((8,), "int64"), B: T.Tensor((1,), "int64")):
        with T.Kernel(1, threads=8):
            q = T.alloc_reducer((1,), "int64", "sum", replication="all")
            for i in T.Parallel(8):
                q[0] = doubled(A[i]) + q[0]
            T.finalize_reducer(q)
            T.copy(q, B)

    a = np.array([1, 0, 2, 0, 0, 0, 0, 0], np.int64)
    agree(kernel, [a, np.zeros(1, np.int64)], {1: np.array([3 << 60], np.int64)}, 0.0)
