# SPDX-License-Identifier: Apache-2.0
"""Kernels with several launches, which run one after the other."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright import _compiler


@pytest.fixture
def floats(random):
    def make(*shape):
        return random.standard_normal(shape).astype(np.float32)

    return make


def found_by_the_interpreter(kernel, *arrays):
    captured = kernel.capture()
    arguments = [
        (a.ctypes.data, list(a.shape), [s // a.itemsize for s in a.strides]) for a in arrays
    ]
    return _compiler.interpret(captured.module, arguments, captured.references)[1]


def test_two_launches(agree, floats):
    """The second reads what other blocks of the first wrote; each has its own grid and threads."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 8), "float32"),
        P: T.Tensor((64, 8), "float32"),
        B: T.Tensor((8, 64), "float32"),
    ):
        with T.Kernel(64, threads=32) as b:
            for j in T.Parallel(8):
                P[b, j] = A[b, j] * 2
        with T.Kernel(4, 64, threads=(16, 2)) as (x, y):
            tx, ty = T.get_thread_binding(0), T.get_thread_binding(1)
            if tx == 3:
                B[x * 2 + ty, y] = P[63 - y, x * 2 + ty] + 1

    a = floats(64, 8)
    expected = a[::-1].T * 2 + 1
    agree(kernel, [a, a * 0, np.zeros((8, 64), np.float32)], {1: a * 2, 2: expected})


def test_workspaces_of_the_kernel_and_of_launches(agree, floats):
    """One that all launches share, and one of each launch, which don't overlap it."""

    @T.prim_func
    def kernel(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
        shared = T.alloc_global((256,), "float32")
        with T.Kernel(256) as b:
            own = T.alloc_global((256,), "float32")
            own[b] = A[b] + 1
            shared[b] = own[b] * 3
        with T.Kernel(256) as b:
            own = T.alloc_global((256,), "float32")
            own[b] = 100.0
            B[b] = shared[255 - b] + own[b]

    a = floats(256)
    agree(kernel, [a, a * 0], {1: (a[::-1] + 1) * 3 + 100})


def test_many_launches_in_order(agree):
    """Every block of a step needs those of the step before; steps are unrolled while tracing."""
    steps, n = 6, 512

    @T.macro
    def step(source, target):
        with T.Kernel(n // 8, threads=8) as b:
            for i in T.Parallel(8):
                target[b * 8 + i] = source[(b * 8 + i + 37) % n] + source[n - 1 - (b * 8 + i)]

    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        for number in range(steps):
            if number % 2 == 0:
                step(A, B)
            else:
                step(B, A)

    @T.prim_func
    def unrolled(A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
        for source, target in ((A, B), (B, A)) * (steps // 2):
            step(source, target)

    a, b = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    state = [a.copy(), b.copy()]
    for number in range(steps):
        source = state[number % 2]
        state[1 - number % 2] = np.roll(source, -37) + source[::-1]
    agree(unrolled, [a, b], {0: state[0], 1: state[1]})
    agree(kernel, [a, b], {0: state[0], 1: state[1]})


@pytest.mark.parametrize("size", [0, 1, 5, 64])
def test_dynamic_grids(agree, size):
    """Each launch has its own grid, computed between them; an empty one is left out."""
    n = T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(n) as b:
            A[b] = A[b] + b
        half = n // 2
        with T.Kernel(half, 2) as (x, y):
            A[x * 2 + y] = A[x * 2 + y] * 10
        with T.Kernel(4) as b:
            B[b] = half + b

    a = np.full(size, 7, np.int32)
    expected = a + np.arange(size, dtype=np.int32)
    expected[: size // 2 * 2] *= 10
    agree(kernel, [a, np.zeros(4, np.int32)], {0: expected, 1: size // 2 + np.arange(4)})


def test_flash_decoding(agree, floats):
    """Keys and values in parts, a launch for the parts and one that joins them."""
    batch, heads, length, dim, parts = 2, 3, 96, 16, 4
    span = length // parts

    @T.macro
    def split(Q, K, V, logsum, partial):
        with T.Kernel(heads, parts, batch, threads=64) as (h, p, b):
            q = T.alloc_shared((1, dim), "float32")
            k = T.alloc_shared((span, dim), "float32")
            v = T.alloc_shared((span, dim), "float32")
            scores = T.alloc_fragment((1, span), "float32")
            out = T.alloc_fragment((1, dim), "float32")
            largest = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(Q[b, h, :], q[0, :])
            T.copy(K[b, p * span : (p + 1) * span, h, :], k)
            T.copy(V[b, p * span : (p + 1) * span, h, :], v)
            T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
            T.reduce_max(scores, largest, dim=1)
            for i, j in T.Parallel(1, span):
                scores[i, j] = T.exp(scores[i, j] - largest[i])
            T.reduce_sum(scores, total, dim=1)
            T.gemm(scores, v, out, clear_accum=True)
            for i, j in T.Parallel(1, dim):
                partial[b, h, p, j] = out[i, j] / total[i]
            logsum[b, h, p] = T.log(total[0]) + largest[0]

    @T.macro
    def combine(logsum, partial, Out):
        with T.Kernel(heads, batch, threads=32) as (h, b):
            largest = T.alloc_var("float32", -T.infinity("float32"))
            total = T.alloc_var("float32", 0)
            out = T.alloc_fragment((dim,), "float32")
            T.clear(out)
            for p in T.serial(parts):
                largest = T.max(largest, logsum[b, h, p])
            for p in T.serial(parts):
                total += T.exp(logsum[b, h, p] - largest)
            for p in T.serial(parts):
                for j in T.Parallel(dim):
                    out[j] += partial[b, h, p, j] * T.exp(logsum[b, h, p] - largest) / total
            T.copy(out, Out[b, h, :])

    @T.prim_func
    def kernel(
        Q: T.Tensor((batch, heads, dim), "float32"),
        K: T.Tensor((batch, length, heads, dim), "float32"),
        V: T.Tensor((batch, length, heads, dim), "float32"),
        Out: T.Tensor((batch, heads, dim), "float32"),
    ):
        logsum = T.alloc_global((batch, heads, parts), "float32")
        partial = T.alloc_global((batch, heads, parts, dim), "float32")
        split(Q, K, V, logsum, partial)
        combine(logsum, partial, Out)

    q, k, v = (floats(*s) for s in ((batch, heads, dim), *[(batch, length, heads, dim)] * 2))
    scores = np.einsum("bhd,bshd->bhs", q.astype(float), k.astype(float))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    expected = np.einsum("bhs,bshd->bhd", weights, v.astype(float)).astype(np.float32)
    agree(kernel, [q, k, v, q * 0], {3: expected})


def test_split_k_with_atomics(agree, floats):
    """A launch clears, one adds parts up, one casts."""

    @T.prim_func
    def kernel(
        A: T.Tensor((32, 128), "float32"),
        B: T.Tensor((128, 32), "float32"),
        C: T.Tensor((32, 32), "float16"),
    ):
        space = T.alloc_global((32, 32), "float32")
        with T.Kernel(2, threads=32) as b:
            for i, j in T.Parallel(16, 32):
                space[b * 16 + i, j] = 0
        with T.Kernel(4, threads=32) as k:
            a = T.alloc_shared((32, 32), "float32")
            b = T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A[0, k * 32], a)
            T.copy(B[k * 32, 0], b)
            T.gemm(a, b, c, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                T.atomic_add(space[i, j], c[i, j])
        with T.Kernel(1):
            T.copy(space, C)

    a, b = floats(32, 128), floats(128, 32)
    expected = (a.astype(float) @ b.astype(float)).astype(np.float16)
    agree(kernel, [a, b, np.zeros((32, 32), np.float16)], {2: expected})


def test_eager_with_two_launches(eager, floats):
    def scaled(A, factor=3):
        M, N = T.const("M, N")
        A: T.Tensor[[M, N], T.float32]
        Rows = T.empty([M], T.float32)
        with T.Kernel(M, threads=32) as b:
            row = T.alloc_fragment((1, N), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(A[b, 0], row)
            T.reduce_sum(row, total, dim=1)
            Rows[b] = total[0]
        Out = T.empty([M, N], T.float32)
        with T.Kernel(N, threads=32) as b:
            for i in T.Parallel(M):
                Out[i, b] = A[i, b] * factor + Rows[M - 1 - i]
        return Rows, Out

    a = floats(6, 16)
    rows = a.astype(float).sum(1)
    eager(scaled, [a], [rows.astype(np.float32), (a * 3 + rows[::-1, None]).astype(np.float32)])


def test_launches_that_wait_for_all_blocks(agree):
    """Only the launch that has T.sync_grid gives each block a thread: others may have more."""

    @T.prim_func
    def kernel(A: T.Tensor((4096,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(4096) as b:
            A[b] = b
        with T.Kernel(4) as b:
            B[b] = A[4095 - b]
            T.sync_grid()
            A[b] = B[3 - b]
        with T.Kernel(4096) as b:
            A[b] = A[b] + 1

    expected = np.arange(4096) + 1
    expected[:4] = 4095 - np.arange(4)[::-1] + 1
    arrays = [np.zeros(4096, np.int32), np.zeros(4, np.int32)]
    agree(kernel, arrays, {0: expected.astype(np.int32), 1: 4095 - np.arange(4)})


def test_an_assertion_ends_all_launches():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            T.device_assert(A[b] >= 0, "negative")
            A[b] = A[b] + 1
        with T.Kernel(4) as b:
            T.device_assert(A[b] != 9, "nine")
            B[b] = 1

    compiled = tilewright.compile(kernel)
    first = kernel.function.__code__.co_firstlineno
    a, b = np.array([1, -1, 1, 1], np.int32), np.zeros(4, np.int32)
    with pytest.raises(RuntimeError, match=f"py:{first + 3}:.*device_assert failed: negative"):
        compiled(a, b)
    assert b.tolist() == [0, 0, 0, 0]
    with pytest.raises(RuntimeError, match=f"py:{first + 6}:.*device_assert failed: nine"):
        compiled(np.array([8, 8, 8, 8], np.int32), b)
    found = found_by_the_interpreter(kernel, np.array([8, 8, 8, 8], np.int32), b)
    assert [(d.message, d.place.line) for d in found] == [("assertion failed: nine", first + 6)]


def test_prints_come_in_the_order_of_launches(capfd):
    @T.prim_func
    def kernel(A: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=1):
            A[0] = 5
            T.print(A[0], msg="first")
        with T.Kernel(1, threads=1):
            A[0] = A[0] + 1
            T.print(A[0], msg="second")

    tilewright.compile(kernel)(np.zeros(1, np.int32))
    printed = capfd.readouterr().out
    assert printed.index("first") < printed.index("5") < printed.index("second")
    assert "6" in printed[printed.index("second") :]


def test_races_are_those_of_one_launch():
    @T.prim_func
    def racing(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            A[b] = b
        with T.Kernel(4) as b:
            B[b] = A[3 - b]
        with T.Kernel(4) as b:
            A[b] = A[(b + 1) % 4]

    found = found_by_the_interpreter(racing, np.zeros(4, np.int32), np.zeros(4, np.int32))
    assert [d.message for d in found] == [
        "two blocks of the grid use element [1] of 'A', and one of them writes it"
    ]
    assert found[0].place.line == racing.function.__code__.co_firstlineno + 7


def test_names_of_a_launch_end_with_it():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            doubled = A[b] * 2
            A[b] = doubled
        with T.Kernel(4) as c:
            A[c] = doubled

    with pytest.raises(tilewright.CompileError, match="doubled"):
        tilewright.compile(kernel)


def test_statements_between_launches_must_be_expressions():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            A[b] = 1
        A[0] = 2
        with T.Kernel(4) as b:
            A[b] = 3

    with pytest.raises(tilewright.CompileError, match="a store stands after the end of T.Kernel"):
        tilewright.compile(kernel)


def test_nested_launches_are_refused():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            A[b] = 1
        with T.Kernel(4) as b, T.Kernel(4) as c:
            A[c] = b

    with pytest.raises(tilewright.CompileError, match="T.Kernel stands inside of another T.Kernel"):
        tilewright.compile(kernel)


def test_each_launch_has_all_memory_on_chip():
    """Of what the CPU target has for a block, 2^28 bytes, each takes more than half."""

    @T.prim_func
    def kernel(A: T.Tensor((4,), "int8")):
        for _ in (1, 2):
            with T.Kernel(0) as b:
                tile = T.alloc_shared((160 << 20,), "int8")
                tile[b] = 1
                A[b] = tile[b]

    a = np.zeros(4, np.int8)
    tilewright.compile(kernel)(a)
    assert a.tolist() == [0, 0, 0, 0]


def test_the_source_and_a_cached_kernel(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))

    def made():
        @T.prim_func
        def kernel(A: T.Tensor((4,), "int32")):
            with T.Kernel(4) as b:
                A[b] = b
            with T.Kernel(2) as b:
                A[b] = A[b + 2] * 2

        return tilewright.compile(kernel)

    for _ in range(2):  # the second comes from the cache
        compiled = made()
        source = compiled.get_kernel_source()
        assert "@kernel_blocks(" in source and "@kernel_blocks_1(" in source
        a = np.zeros(4, np.int32)
        compiled(a)
        assert a.tolist() == [4, 6, 2, 3]


def test_a_loop_of_launches(agree):
    """Each turn makes launches of its own, which see what those before stored."""

    @T.prim_func
    def steps(A: T.Tensor((8,), "int32"), B: T.Tensor((2, 3), "int32")):
        for step in range(3):
            with T.Kernel(8) as i:
                A[i] = A[i] * 2 + step
        for i, j in T.grid(2, 3):
            with T.Kernel(1):
                B[i, j] = A[i] + j
        for _ in T.serial(0):
            with T.Kernel(1):
                A[0] = 100

    a = np.arange(8, dtype=np.int32)
    stepped = a * 8 + 4
    sums = (stepped[:2, None] + np.arange(3)).astype(np.int32)
    agree(steps, [a, np.zeros((2, 3), np.int32)], {0: stepped, 1: sums})


def turns_of(which, n):
    """Loops of turns that aren't known, aren't in order, or are too many."""
    if which == "many":
        return T.serial(1000)
    if which == "parallel":
        return T.Parallel(4)
    return T.serial(n) if which == "n" else T.Pipelined(4, num_stages=2)


@pytest.mark.parametrize("which", ["n", "parallel", "many", "pipelined"])
def test_loops_of_launches_that_cannot_be(which):
    @T.prim_func
    def steps(A: T.Tensor((8,), "int32"), n: T.int32):
        for _ in turns_of(which, n):
            with T.Kernel(8) as i:
                A[i] = A[i] * 2

    with pytest.raises(tilewright.errors.UnsupportedError) as caught:
        tilewright.compile(steps)
    assert [d.message for d in caught.value.errors] == [
        "a loop outside of T.Kernel must be a serial one of at most 256 turns, whose number is "
        "known while compiling; else call the kernel in a loop of Python, or put the loop inside "
        "of T.Kernel"
    ]


@pytest.mark.parametrize("target", ["cpu", "reference", "ascend"])
def test_kernels_without_a_launch(target):
    """Whoever forgot T.Kernel hears so, whatever stands first."""

    @T.prim_func
    def parallel(A: T.Tensor((16,), "float32")):
        for i in T.Parallel(16):
            A[i] = 1.0

    @T.prim_func
    def store(A: T.Tensor((16,), "float32")):
        A[0] = 1.0

    @T.prim_func
    def nothing(A: T.Tensor((16,), "float32")):
        pass

    @T.prim_func
    def thread(A: T.Tensor((16,), "float32")):
        T.get_thread_binding()

    starts = {
        parallel: "a parallel loop stands outside of T.Kernel; ",
        store: "a store stands outside of T.Kernel; ",
        nothing: "the kernel 'nothing' has no T.Kernel; ",
        thread: "a thread binding stands outside of T.Kernel; ",
    }
    for kernel, start in starts.items():
        with pytest.raises(tilewright.CompileError) as caught:
            tilewright.compile(kernel, target=target)
        said = [d.message for d in caught.value.errors]
        launch = "a kernel's work stands in a launch, `with T.Kernel(blocks, threads=128) as bx:`"
        assert len(said) == 1 and said[0].startswith(start + launch), said
    loop = (
        "as bx:` (a loop of launches is a serial one of at most 256 turns, whose number is known "
        "while compiling)"
    )
    with pytest.raises(tilewright.CompileError, match=re.escape(loop)):
        tilewright.compile(parallel, target=target)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_a_grid_that_is_negative_in_the_run(target):
    """It's told at T.Kernel's line, which another kernel of the same source has elsewhere."""

    def make():
        @T.prim_func
        def kernel(A: T.Tensor((4,), "int32"), n: T.int32):
            with T.Kernel(1, threads=4):
                A[0] = 7
            with T.Kernel(2, n, threads=4) as (bx, by):
                A[by] = 1

        return kernel

    def make_another():
        @T.prim_func
        def kernel(A: T.Tensor((4,), "int32"), n: T.int32):
            with T.Kernel(1, threads=4):
                A[0] = 7
            with T.Kernel(2, n, threads=4) as (bx, by):
                A[by] = 1

        return kernel

    for made in (make, make_another):
        compiled = tilewright.compile(made(), target=target)
        numbers = np.zeros(4, np.int32)
        compiled(numbers, 0)
        assert numbers[0] == 7
        line = made.__code__.co_firstlineno + 5
        grid = r"the grid is \(2, -3" + (r", 1\)" if target == "cpu" else r"\)")
        with pytest.raises(RuntimeError, match=f":{line}:18: error: {grid} but extents from 0 on"):
            compiled(numbers, -3)


def test_a_buffer_before_the_launches_is_global(agree, random):
    """Without a scope, T.alloc_buffer is the kernel's memory there, and the block's within one."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 32), "float32"), B: T.Tensor((32,), "float32")):
        halves = T.alloc_buffer([2, 32], "float32")
        with T.Kernel(2, threads=32) as bx:
            tile = T.alloc_buffer((2, 32), "float32")
            T.copy(A[2 * bx, 0], tile)
            for j in T.Parallel(32):
                halves[bx, j] = tile[0, j] + tile[1, j]
        with T.Kernel(1, threads=32):
            for j in T.Parallel(32):
                B[j] = halves[0, j] + halves[1, j]

    a = random.integers(-8, 9, (4, 32)).astype(np.float32)
    agree(kernel, [a, np.zeros(32, np.float32)], {1: a.sum(axis=0)})
