# SPDX-License-Identifier: Apache-2.0
"""TVM's nodes by their names, vectors of lanes, blocks of schedules, and modes of T.round."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import CompileError


@pytest.fixture
def floats(random):
    return random.standard_normal(16).astype(np.float32) * 4


COMPARED = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}
REAL = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Max": np.maximum,
    "Min": np.minimum,
}
WHOLE = {
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "Mod": np.fmod,
    "Div": lambda a, b: np.trunc(a / b).astype(np.int32),
}


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons(agree, floats, name):
    compare = getattr(T, name)

    @T.prim_func
    def kernel(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=16):
            for i in T.Parallel(16):
                holds = compare(A[i], T.float32(1))
                B[i] = T.if_then_else(holds, 1, 0) + T.if_then_else(T.Not(holds), 2, 0)

    a = np.where(np.arange(16) % 3 == 0, np.float32(1), floats)
    expected = np.where(COMPARED[name](a, 1), 1, 2).astype(np.int32)
    agree(kernel, [a, np.zeros(16, np.int32)], {1: expected})


@pytest.mark.parametrize("name", REAL)
def test_arithmetic(agree, floats, name):
    node, function = getattr(T, name), REAL[name]

    @T.prim_func
    def kernel(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=16):
            for i in T.Parallel(16):
                B[i] = node(A[i], 3.0)

    expected = function(floats.astype(np.float64), 3.0).astype(np.float32)
    agree(kernel, [floats, np.zeros(16, np.float32)], {1: expected})


@pytest.mark.parametrize("name", WHOLE)
def test_whole_quotients(agree, name):
    node = getattr(T, name)

    @T.prim_func
    def kernel(A: T.Tensor((16,), "int32"), B: T.Tensor((16,), "int32")):
        with T.Kernel(1, threads=16):
            for i in T.Parallel(16):
                B[i] = node(A[i], 3)

    a = np.arange(-8, 8, dtype=np.int32)
    agree(kernel, [a, np.zeros(16, np.int32)], {1: WHOLE[name](a, 3).astype(np.int32)})


def test_vectors_of_lanes(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32"), n: T.int32):
        with T.Kernel(1, threads=1):
            B[0:4] = T.Broadcast(A[3], 4) + A[4:8]
            B[T.Ramp(4, 1, 4)] = A[T.Ramp(n, -2, 4)]
            B[T.Ramp(8, 2, 4)] = T.Broadcast(2.0, 4) * A[0:4]
            B[T.Ramp(9, 2, 4)] = A[0]
            B[T.Ramp(0, 3, 2)] += T.Broadcast(1, 2)
            B[T.Ramp(14, 1, 2)] += T.Cast("float32x2", T.Ramp(n, n, 2))

    expected = np.zeros(16, np.float32)
    expected[0:4] = floats[3] + floats[4:8]
    expected[4:8] = floats[[15, 13, 11, 9]]
    expected[8:16:2] = 2 * floats[0:4]
    expected[9:16:2] = floats[0]
    expected[[0, 3]] += 1
    expected[14:16] += [15, 30]
    agree(kernel, [floats, np.zeros(16, np.float32), 15], {1: expected})


def test_negative_lanes_of_an_index(agree, floats):
    """They count from the end where all lanes are negative, whatever the branch says of them; else
    nothing is read or written there, as it is in a loop."""

    @T.prim_func
    def kernel(
        A: T.Tensor((16,), "float32"), B: T.Tensor((8, 8), "float32"), C: T.Tensor((8,), "float32")
    ):
        with T.Kernel(4, threads=1) as bx:
            if bx == 1:
                B[0, T.Ramp(0, 1, 8)] = A[T.Ramp(-8, 1, 8)]
                B[1, T.Ramp(0, 1, 8)] = A[T.Ramp(-4, 1, 8)]
                B[2, T.Ramp(0, 1, 8)] = A[T.Ramp(3, -1, 8)]
                B[3, T.Ramp(0, 1, 8)] = A[T.Ramp(bx - 5, 1, 8)]
                B[4, T.Ramp(0, 1, 8)] = A[T.Ramp(bx - 9, 1, 8)]
                B[T.Broadcast(-1, 8), T.Ramp(0, 1, 8)] = A[T.Broadcast(-2, 8)]
                B[5, 0:8] = A[bx - 5 : bx + 3] + T.Broadcast(0.0, 8)
                for i in T.vectorized(8):
                    B[6, i] = A[i - 4]
                C[T.Ramp(-3, 1, 8)] = A[T.Ramp(8, 1, 8)]

    middle = np.concatenate([np.zeros(4, np.float32), floats[:4]])
    expected = np.stack(
        [floats[8:], middle, np.append(floats[3::-1], [0] * 4), middle, floats[8:]]
        + [middle, middle, np.full(8, floats[14])]
    ).astype(np.float32)
    c = np.full(8, 7, np.float32)
    after = np.append(floats[11:], [7] * 3).astype(np.float32)
    agree(kernel, [floats, np.zeros((8, 8), np.float32), c], {1: expected, 2: after})


def test_negative_lanes_of_an_index_on_chip():
    @T.prim_func
    def kernel(A: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=1):
            s = T.alloc_shared((2, 16), "float32")
            T.copy(A, s[0, :])
            A[T.Ramp(0, 1, 4)] = s[0, T.Ramp(-4, 1, 4)]
            A[T.Ramp(0, 1, 8)] = s[0, T.Ramp(-4, 1, 8)]

    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel)
    line = kernel.function.__code__.co_firstlineno
    assert [(d.place.line - line, d.message) for d in caught.value.errors] == [
        (
            6,
            "lane 0 of index 1 of 's' is negative but lane 4 is not: they count from the end only "
            "where all lanes do",
        )
    ]


def test_blocks_of_schedules(agree, floats):
    """Blocks, and what they say that they read and write, change nothing."""

    @T.prim_func
    def kernel(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=16):
            tile = T.decl_buffer((16,), "float32", scope="shared")
            with T.sblock("root"):
                T.reads(A[0:16])
                T.writes(tile[0:16])
                T.copy(A, tile)
            for i, j in T.grid(4, 4):
                with T.block("update"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    vk = T.axis.spatial(16, vi * 4 + vj)
                    vl = T.axis.remap("R", [vk])
                    T.reads([tile[vk]], A[vk])
                    T.writes(B[vk])
                    T.block_attr({"any": 1})
                    T.buffer_store(B, T.BufferLoad(tile, [vl]) + T.FloatImm("float32", 1.5), [vk])

    agree(kernel, [floats, np.zeros(16, np.float32)], {1: floats + np.float32(1.5)})


def test_threads_of_a_launch(agree, floats):
    @T.prim_func
    def kernel(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
        with T.Kernel(2, threads=16):
            bx = T.launch_thread("blockIdx.x", 2)
            tx = T.launch_thread("threadIdx.x", 16)
            part = T.alloc_shared((8,), "float32")
            with T.launch_thread("threadIdx.x", 8) as few:
                part[7 - few] = A[bx * 8 + few]
            T.tvm_storage_sync("shared")
            T.tvm_storage_sync("warp")
            twice = T.LetStmt(part[0] * 2)
            if tx < T.IntImm("int32", 8):
                B[bx * 8 + tx] = part[tx] + twice

    parts = floats.reshape(2, 8)[:, ::-1]
    expected = (parts + 2 * parts[:, :1]).reshape(16)
    agree(kernel, [floats, np.zeros(16, np.float32)], {1: expected})


ROUNDED = {
    "ties-away-from-zero": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "ties-to-even": np.rint,
    "toward-zero": np.trunc,
    "toward-positive": np.ceil,
    "toward-negative": np.floor,
}


@pytest.mark.parametrize("mode", ROUNDED)
def test_modes_of_round(agree, mode):
    @T.prim_func
    def kernel(A: T.Tensor((16,), "float32"), B: T.Tensor((2, 16), "float32")):
        with T.Kernel(1, threads=16):
            for i in T.Parallel(16):
                B[0, i] = T.round(A[i], mode)
                B[1, i] = T.round(A[i], rounding_mode=mode, span=None)

    a = (np.arange(16) / 2 - 4).astype(np.float32) + np.float32([0, 0.25]).repeat(8)
    expected = ROUNDED[mode](a.astype(np.float64)).astype(np.float32)
    agree(kernel, [a, np.zeros((2, 16), np.float32)], {1: np.stack([expected, expected])})


WRONG = {
    "T.round": (lambda A: T.round(A[0], "up"), "T.round has no rounding_mode 'up'; it is ties-"),
    "lanes": (lambda A: T.Broadcast(A[0], 65), "lanes of T.Broadcast must be from 1 to 64, not 65"),
    "lanes of a number": (lambda A: T.Ramp(0, 1, 2.0), "lanes of T.Ramp must be from 1 to 64"),
    "BufferLoad": (lambda A: T.BufferLoad(3, [0]), "T.BufferLoad needs a buffer"),
    "buffer_store": (lambda A: T.buffer_store(A[0], 1, [0]), "T.buffer_store needs a buffer"),
    "decl_buffer": (
        lambda A: T.decl_buffer((4,), "float32", A),
        "T.decl_buffer with data is a view of memory, which T.view(buffer, shape, dtype) gives",
    ),
    "remap": (
        lambda A: T.axis.remap("SSR", [1, 2]),
        "T.axis.remap has 3 kinds 'SSR' for 2 bindings",
    ),
    "launch_thread": (
        lambda A: T.launch_thread(3, 4),
        'T.launch_thread takes the name of a dim of the launch, as in "threadIdx.x"',
    ),
    "dims": (lambda A: T.launch_thread("threadIdx.w", 4), "there is no thread 'threadIdx.w'"),
    "sync": (
        lambda A: T.tvm_storage_sync("global"),
        "; it is shared or warp, and T.sync_grid waits for all blocks",
    ),
    "LetStmt": (
        lambda A: T.LetStmt(A[0], var=A[1]),
        "T.let takes a value, or a variable, as of v = T.int32(), and its value: x = T.let(1), "
        "with T.let(v, 1):",
    ),
    "Let": (lambda A: T.Let, "T.Let is not supported yet; bind a name before the expression"),
    "env_thread": (lambda A: T.env_thread, "T.env_thread is not supported yet; write tx ="),
    "init": (lambda A: T.init, "T.init is not supported yet; write the first step of a reduction"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_refused(wrong):
    call, message = WRONG[wrong]

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=8):
            call(A)

    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel)
    (error,) = caught.value.errors
    assert message in error.message
    assert error.place.line == kernel.function.__code__.co_firstlineno + 3


def test_vectors_as_indices_that_do_not_fit():
    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float32"), B: T.Tensor((8,), "float32x2")):
        with T.Kernel(1, threads=8):
            A[T.Ramp(0, 1, 2), T.Ramp(0, 1, 4)] = 1.0
            A[T.Ramp(0, 1, 2), 0:2] = 1.0
            A[0, T.Ramp(0, 1, 2)] = T.Broadcast(1.0, 3)
            A[0, 0] = B[T.Ramp(0, 1, 2)]

    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel)
    line = kernel.function.__code__.co_firstlineno
    assert [(d.place.line - line, d.message) for d in caught.value.errors] == [
        (3, "the indices of 'A' are vectors of 2 and 4 lanes"),
        (
            4,
            "a vector indexes 'A' beside a slice, or chooses among vectors; write a T.vectorized "
            "loop",
        ),
        (5, "a vector of 3 lanes is stored to 2 elements"),
        (
            6,
            "a vector indexes 'B' beside a slice, or chooses among vectors; write a T.vectorized "
            "loop",
        ),
    ]


def test_threads_outside_of_a_launch():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        bx = T.launch_thread("blockIdx.x", 8)
        A[bx] = 1.0

    with pytest.raises(CompileError) as caught:
        tilewright.compile(kernel)
    assert [d.message for d in caught.value.errors] == [
        "T.launch_thread stands outside of T.Kernel, which says how many threads there are"
    ]
