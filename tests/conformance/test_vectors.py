# SPDX-License-Identifier: Apache-2.0
"""Pairs and other small vectors, and TVM's loops by thread and while."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_arithmetic_on_pairs(agree, random, numpy_dtypes, dtype):
    @T.prim_func
    def pairs(
        A: T.Tensor((3, 16), dtype),
        B: T.Tensor((7, 16), dtype),
    ):
        with T.Kernel(1, threads=8):
            i = T.get_thread_binding() * 2
            x = A[0, i : i + 2]
            B[0, i : i + 2] = T.add2(x, A[1, i : i + 2])
            B[1, i : i + 2] = T.sub2(x, A[1, i : i + 2])
            B[2, i : i + 2] = T.mul2(x, A[1, i : i + 2])
            B[3, i : i + 2] = T.fma2(x, A[1, i : i + 2], A[2, i : i + 2])
            B[4, i : i + 2] = T.max2(x, A[1, i : i + 2])
            B[5, i : i + 2] = T.min2(x, A[1, i : i + 2])
            B[6, i : i + 2] = T.abs2(x)

    kind = numpy_dtypes[dtype]
    a = random.standard_normal((3, 16)).astype(kind)
    x, y, z = a
    once = (x.astype(float) * y.astype(float) + z.astype(float)).astype(kind)
    rows = [x + y, x - y, x * y, once, np.maximum(x, y), np.minimum(x, y), np.abs(x)]
    agree(pairs, [a, np.zeros((7, 16), kind)], {1: np.stack(rows)}, 0)


def test_lanes_of_vectors(agree, random):
    """Shuffles, halves, lanes by number and by value, casts, and bits as other lanes."""

    @T.prim_func
    def lanes(
        A: T.Tensor((8,), "float32"), B: T.Tensor((5, 4), "float32"), C: T.Tensor((4,), "uint32")
    ):
        with T.Kernel(1, threads=1):
            low = A[0:4]
            high = A[4:8]
            B[0, 0:4] = T.Shuffle([low, high], [7, 0, 5, 2])
            B[1, 0:4] = T.vectorcombine(
                "float32x4", T.vectorhigh("float32x2", low), T.vectorlow("float32x2", high)
            )
            for k in T.serial(4):
                B[2, k] = T.extract_lane(low, 3 - k)
            pair = T.cast(A[0:2], "float16x2")
            C[0] = T.reinterpret(pair, "uint32")
            back = T.reinterpret(C[0], "float16x2")
            B[3, 0] = T.cast(T.extract_lane(back, 0), "float32")
            B[3, 1] = T.cast(T.extract_lane(back, 1), "float32")
            B[3, 2] = T.Shuffle([A[3]], [0])
            B[3, 3] = 0.0
            B[4, 0:4] = (low + high) * 2.0 - low / high

    a = random.uniform(1, 2, 8).astype(np.float32)
    halves = a[:2].astype(np.float16)
    low, high = a[:4], a[4:]
    expected = np.stack(
        [
            a[[7, 0, 5, 2]],
            a[2:6],
            low[::-1],
            np.array([halves[0], halves[1], a[3], 0], np.float32),
            (low + high) * np.float32(2) - low / high,
        ]
    )
    bits = np.array([halves.view(np.uint32)[0], 0, 0, 0], np.uint32)
    agree(lanes, [a, np.zeros((5, 4), np.float32), np.zeros(4, np.uint32)], {1: expected, 2: bits})


def refusal(body: str) -> str:
    """The message for a kernel with one statement."""
    import linecache

    text = (
        "import tilewright.language as T\n"
        "@T.prim_func\n"
        "def kernel(A: T.Tensor((8,), 'float32'), n: T.int32):\n"
        "    with T.Kernel(1, threads=4):\n"
        f"        {body}\n"
    )
    name = f"<refusal {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, object] = {}
    exec(compile(text, name, "exec"), scope)
    with pytest.raises(tilewright.CompileError) as caught:
        scope["kernel"].capture()  # type: ignore[attr-defined]
    return caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("T.add2(A[0:4], A[4:8])", "T.add2 takes pairs, not a vector of 4 lanes"),
        ("T.add2(A[0], A[1])", "T.add2 takes a vector or a part of a buffer"),
        ("A[0:2] = A[0:2]", "a slice of 'A' can't be assigned; use T.copy or T.fill"),
        ("A[0:3] = T.add2(A[0:2], A[2:4])", "a vector of 2 lanes is stored to 3 elements"),
        ("x = T.add2(A[0:2], A[2:4]) + T.vectorlow('float32x4', A)",
         "a vector of 2 lanes meets one of 4 lanes"),
        ("T.abs2(A[0:n])",
         "T.abs2 needs a part of 'A' of one dim and of at most 64 elements, whose number is known "
         "while compiling"),
        ("T.Shuffle([A[0:2]], [2])", "T.Shuffle: there is no lane [2] among 2 lanes"),
        ("T.extract_lane(A[0:2], 5)", "T.extract_lane: there is no lane 5 among 2 lanes"),
        ("T.reinterpret(A[0:2], 'uint32')",
         "T.reinterpret can't make uint32 of 32 bits from float32x2 of 64 bits; they must be as "
         "many"),
        ("T.cast(A[0:2], 'float16x4')", "a vector of 2 lanes can't become float16x4"),
        ("T.While(n > 0)", "T.While is used in a with statement: with T.While(condition):"),
        ("for t in T.thread_binding(8, thread='threadIdx.x'): pass",
         "T.thread_binding over 8 needs as many of threadIdx.x, but the launch has 4"),
        ("for t in T.thread_binding(4, thread='warpIdx'): pass",
         "T.thread_binding: there is no thread 'warpIdx'; it is threadIdx or blockIdx, and .x, .y "
         "or .z"),
    ],
)  # fmt: skip
def test_wrong_uses(body, message):
    assert refusal(body) == message


def test_thread_binding(agree):
    """TVM's loops over threads and blocks; the threads beyond the extent rest."""

    @T.prim_func
    def numbers(Out: T.Tensor((3, 8), "int32")):
        with T.Kernel(3, threads=8):
            for b in T.thread_binding(3, thread="blockIdx.x"):
                for t in T.thread_binding(0, 6, thread="threadIdx.x"):
                    Out[b, t] = b * 10 + t

    expected = (np.arange(3)[:, None] * 10 + np.arange(8)) * (np.arange(8) < 6)
    agree(numbers, [np.zeros((3, 8), np.int32)], {0: expected.astype(np.int32)})


def test_while_as_a_context(agree):
    """The condition is computed before each turn."""

    @T.prim_func
    def collatz(N: T.Tensor((6,), "int32"), Steps: T.Tensor((6,), "int32")):
        with T.Kernel(6) as i:
            n = T.alloc_var("int32", init=N[i])
            steps = T.alloc_var("int32", init=0)
            with T.While(n != 1):
                n = T.if_then_else(n % 2 == 0, n // 2, 3 * n + 1)
                steps += 1
            Steps[i] = steps

    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    n = np.array([1, 2, 3, 7, 27, 97], np.int32)
    expected = np.array([steps(int(k)) for k in n], np.int32)
    agree(collatz, [n, np.zeros(6, np.int32)], {1: expected})


def test_vectors_of_scalars(agree):
    """`T.float16x2(a, b)` has a value for each lane, converted to the lane's dtype."""

    @T.prim_func
    def lanes(A: T.Tensor((4,), "float16"), B: T.Tensor((7,), "float32")):
        with T.Kernel(1, threads=1):
            pair = T.float16x2(A[0], A[1])
            B[0] = T.extract_lane(pair, 0)
            B[1] = T.extract_lane(pair, 1)
            whole = T.int8x4(A[2], 7, A[3], -1)
            for k in T.serial(4):
                B[2 + k] = T.extract_lane(whole, k)
            B[6] = T.extract_lane(pair + T.float16x2(1.0, 2.0), 1)

    a = np.array([1.5, -2.25, 3.75, -4.5], np.float16)
    expected = np.array([1.5, -2.25, 3, 7, -4, -1, -0.25], np.float32)
    agree(lanes, [a, np.zeros(7, np.float32)], {1: expected}, 0)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda A: T.float16x2(A[0], A[1], A[2]), "T.float16x2 has 2 lanes but 3 values are given"),
        (lambda A: T.float16(A[0], A[1]), "T.float16 has 1 lane but 2 values are given"),
    ],
)
def test_vectors_of_too_many_scalars(made, message):
    @T.prim_func
    def lanes(A: T.Tensor((4,), "float16")):
        with T.Kernel(1, threads=1):
            A[0] = T.extract_lane(made(A), 0)

    with pytest.raises(tilewright.CompileError, match=message):
        tilewright.compile(lanes, target="reference")
