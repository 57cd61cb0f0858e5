# SPDX-License-Identifier: Apache-2.0
"""Single vector instructions by T.tile's raw wrappers, on the host and the interpreter alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]
random = np.random.default_rng(29)
GROUP = KernelGroup()


def kernel(function: Callable[..., None], arrays: list[Array]) -> Any:
    """The last array is the result, and has a value before; all are copied to UB."""
    names = [f"X{number}" for number in range(len(arrays))]

    def body(*tensors: Any) -> None:
        tiles = [T.alloc_ub(a.shape, a.dtype.name) for a in arrays]
        for tensor, tile in zip(tensors, tiles, strict=True):
            T.copy(tensor, tile)
        function(tiles[-1], *tiles[:-1])
        T.copy(tiles[-1], tensors[-1])

    if len(names) == 2:

        @T.prim_func
        def two(
            A: T.Tensor(arrays[0].shape, arrays[0].dtype.name),
            C: T.Tensor(arrays[1].shape, arrays[1].dtype.name),
        ):
            with T.Kernel(1, is_npu=True, threads=1) as _:
                body(A, C)

        return two
    if len(names) == 3:

        @T.prim_func
        def three(
            A: T.Tensor(arrays[0].shape, arrays[0].dtype.name),
            B: T.Tensor(arrays[1].shape, arrays[1].dtype.name),
            C: T.Tensor(arrays[2].shape, arrays[2].dtype.name),
        ):
            with T.Kernel(1, is_npu=True, threads=1) as _:
                body(A, B, C)

        return three

    @T.prim_func
    def four(
        A: T.Tensor(arrays[0].shape, arrays[0].dtype.name),
        B: T.Tensor(arrays[1].shape, arrays[1].dtype.name),
        D: T.Tensor(arrays[2].shape, arrays[2].dtype.name),
        C: T.Tensor(arrays[3].shape, arrays[3].dtype.name),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            body(A, B, D, C)

    return four


def add(
    name: str, function: Callable[..., None], arrays: list[Array], expected: Array, **more: Any
) -> None:
    GROUP.add(name, kernel(function, arrays), arrays, expected, **more)


def floats(*shape: int, dtype: str = "float32") -> Array:
    return random.standard_normal(shape).astype(dtype)


def partly(before: Array, part: Array) -> Array:
    """What was there, but for its first elements."""
    after = before.astype(np.float64).ravel()
    after[: part.size] = part.ravel()
    return after.reshape(before.shape)


def add_counted() -> None:
    a, b, c = floats(128), floats(128), floats(128)
    add(
        "sub_experiment",
        lambda d, x, y: T.tile.sub_experiment(d, x, y, 72),
        [a, b, c],
        partly(c, a[:72].astype(np.float64) - b[:72]),
    )
    add(
        "abs_experiment",
        lambda d, x: T.tile.abs_experiment(d, x, 72),
        [a, c],
        partly(c, np.abs(a[:72])),
    )
    add(
        "mins_experiment",
        lambda d, x: T.tile.mins_experiment(d, x, 0.25, 72),
        [a, c],
        partly(c, np.minimum(a[:72], 0.25)),
    )


def add_sums(dtype: str) -> None:
    lanes = 256 // np.dtype(dtype).itemsize
    block = lanes // 8
    a, c = floats(4 * lanes, dtype=dtype), floats(block, dtype=dtype)
    x = a.astype(np.float64)
    loose = {"rtol": 2e-2, "atol": 5e-2} if dtype == "float16" else {}
    count = 2 * lanes + 5
    add(
        f"reduce_sum_experiment, {dtype}",
        lambda d, s: T.tile.reduce_sum_experiment(d, s, count),
        [a, c],
        partly(c, x[:count].sum()[None]),
        **loose,
    )
    # 20 elements of repeats that are 6 blocks apart; the buffer as an older version takes it.
    rows = x[: 3 * 6 * block].reshape(3, 6 * block)

    def with_buffer(d: Any, s: Any) -> None:
        space = T.alloc_ub((64,), dtype)
        T.tile.reduce_sum_mask_experiment(d, s, space, 20, 3, 6)

    add(
        f"reduce_sum_mask_experiment, {dtype}",
        with_buffer,
        [a, c],
        partly(c, rows[:, :20].sum()[None]),
        **loose,
    )
    add(
        f"sum_experiment, {dtype}",
        lambda d, s: T.tile.sum_experiment(d, s, [4, lanes, 21]),
        [a, c],
        partly(c, x.reshape(4, lanes)[:, :21].sum(1)),
        **loose,
    )
    # From a block that begins no row, and rows that don't fill the buffer.
    shifted = x[block : block + 4 * 2 * block].reshape(4, 2 * block)
    add(
        f"sum_experiment of a part, {dtype}",
        lambda d, s: T.tile.sum_experiment(d, s[block : 9 * block], [4, 2 * block, 2 * block]),
        [a, c],
        partly(c, shifted.sum(1)),
        **loose,
    )
    add(
        f"sum_experiment of rows of three blocks, {dtype}",
        lambda d, s: T.tile.sum_experiment(d, s, [5, 3 * block, 3 * block]),
        [a, c],
        partly(c, x[: 15 * block].reshape(5, 3 * block).sum(1)),
        **loose,
    )


def add_repeats(dtype: str) -> None:
    size = np.dtype(dtype).itemsize
    lanes, block = 256 // size, 32 // size
    a = floats(3 * lanes, dtype=dtype)
    c = floats(64, dtype=dtype)
    x = a.astype(np.float64)
    rows = x[: 3 * lanes].reshape(3, lanes)
    mask = lanes - 3
    loose = {"rtol": 2e-2, "atol": 5e-2} if dtype == "float16" else {}
    sums = c.astype(np.float64)
    sums[0:6:2] = rows[:, :mask].sum(1)
    add(
        f"wholereducesum, {dtype}",
        lambda d, s: T.tile.wholereducesum(d, s, mask, 3, 2, 1, 8),
        [a, c],
        sums,
        **loose,
    )
    # Pairs of a value and its number, which is an integer among floats.
    index = rows[:, :mask].argmax(1).astype(f"uint{8 * size}").view(dtype)
    pairs = np.stack([rows[:, :mask].max(1), index.astype(np.float64)], 1)
    add(
        f"wholereducemax, {dtype}",
        lambda d, s: T.tile.wholereducemax(d, s, mask, 3, 1, 1, 8),
        [a, c],
        partly(c, pairs),
        rtol=0,
        atol=0,
    )
    add(
        f"wholereducemin, {dtype}",
        lambda d, s: T.tile.wholereducemin(d, s, mask, 3, 1, 1, 8, "ORDER_ONLY_VALUE"),
        [a, c],
        partly(c, rows[:, :mask].min(1)),
        rtol=0,
        atol=0,
    )
    # Every second block of a repeat.
    blocks = rows.reshape(3, 8, block)[:2, ::2]
    kinds = {
        "max": T.tile.block_reduce_max,
        "min": T.tile.block_reduce_min,
        "sum": T.tile.block_reduce_sum,
    }
    for kind, reduce in kinds.items():
        made = getattr(blocks, kind)(2)
        after = c.astype(np.float64)
        after[0:4], after[16:20] = made
        add(
            f"block_reduce_{kind}, {dtype}",
            lambda d, s, reduce=reduce: reduce(d, s, 2, 4 * block, 2, 2, 8),
            [a, c],
            after,
            **loose,
        )


def add_spreading() -> None:
    a, c = floats(16), floats(16, 8)
    spread = np.repeat(a.astype(np.float64)[:, None], 8, 1)
    add("brcb_experiment", lambda d, s: T.tile.brcb_experiment(d, s, 2, 1, 8), [a, c], spread)
    add("brcb", lambda d, s: T.tile.brcb(d, s, 2, 1, 8), [a, c], spread)
    numbers = random.integers(-99, 99, 8).astype(np.int16)
    halves = np.zeros((8, 16), np.int16)
    add(
        "brcb of int16",
        lambda d, s: T.tile.brcb(d, s, 1, 1, 8),
        [numbers, halves],
        np.repeat(numbers[:, None], 16, 1),
    )
    tile, m = floats(16, 128), floats(16)

    def by_rows(name: str) -> Callable[..., None]:
        def function(d: Any, s: Any, numbers: Any) -> None:
            blocks = T.alloc_ub((16, 8), "float32")
            T.tile.brcb_experiment(blocks, numbers, 2, 1, 8)
            expand = getattr(T.tile, f"row_expand_{name}_experiment")
            for column in range(0, 128, 64):
                expand(d[:, column : column + 64], s[:, column : column + 64], blocks)

        return function

    x, y = tile.astype(np.float64), m.astype(np.float64)[:, None]
    for name, made in {"mul": x * y, "sub": x - y, "div": x / y}.items():
        add(f"row_expand_{name}_experiment", by_rows(name), [tile, m, floats(16, 128)], made)
    before = floats(160)
    after = before.astype(np.float64)
    lanes = [number for number in range(64) if 0xF00000000000000F >> number & 1]
    for repeat in range(2):
        after[[64 * repeat + lane for lane in lanes]] = 2.5
    add(
        "fill_experiment",
        lambda d, _: T.tile.fill_experiment(d, 2.5, [0xF00000000000000F], 2, 1, 8),
        [before, before],
        after,
    )


def add_interpolation() -> None:
    source = floats(256, dtype="float16")
    weights = floats(16, dtype="float16")
    starts = (32 * random.integers(0, 15, 16)).astype(np.uint32)
    c = floats(256, dtype="float16")
    x, w = source.astype(np.float64), weights.astype(np.float64)
    after = np.zeros((1, 128))
    for time in range(2):
        for block in range(8):
            first = starts[time * 8 + block] // 2
            after[0, block * 16 : block * 16 + 16] += x[first : first + 16] * w[time]
    add(
        "bilinear_interpolation",
        lambda d, s, at, w: T.tile.bilinear_interpolation(d, s, at, w, 128, 2, False, 1, 128, 1),
        [source, starts, weights, c],
        partly(c, after),
        rtol=1e-2,
        atol=1e-2,
    )


add_counted()
for each in ("float32", "float16"):
    add_sums(each)
    add_repeats(each)
add_spreading()
add_interpolation()


@pytest.mark.parametrize("name", GROUP.cases)
def test_instruction(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_verdicts(name: str) -> None:
    GROUP.check_removals(name)


def test_scalar_cache() -> None:
    """What the scalar unit stored reaches memory, where the other core reads it."""

    @T.prim_func
    def main(A: T.Tensor((16,), "float32"), C: T.Tensor((16,), "float32")):
        with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
            x = T.alloc_ub((16,), "float32")
            for i in T.serial(16):
                A[i] = T.cast(i, "float32")
            T.tile.datacachecleanandinvalid_experiment(A, "SINGLE_CACHE_LINE", "CACHELINE_OUT")
            T.barrier_all()
            T.copy(A, x)
            T.barrier_all()
            T.copy(x, C)

    made = np.zeros(16, np.float32)
    tilewright.compile(main, target="ascend")(np.zeros(16, np.float32), made)
    np.testing.assert_array_equal(made, np.arange(16))
    same = np.zeros(16, np.float32)
    interpret(main, np.zeros(16, np.float32), same)
    np.testing.assert_array_equal(same, made)


ROW, TILE = np.zeros(64, np.float32), np.zeros((4, 10), np.float32)
REFUSED: list[tuple[Callable[..., None], list[Array], str]] = [
    (
        lambda d, s: T.tile.brcb(d, s, 1, 1, 8),
        [ROW, np.zeros(32, np.float32)],
        "T.tile.brcb goes through 64 elements of destination 'UB', which has 32",
    ),
    (
        lambda d, s: T.tile.wholereducesum(d, s, 65, 1, 1, 1, 8),
        [ROW, ROW],
        "T.tile.wholereducesum has a mask of 65 elements; a repeat of float32 has 1 to 64",
    ),
    (
        lambda d, s: T.tile.wholereducesum(d, s, 4, 1, 1, 1, 8),
        [TILE, ROW],
        "T.tile.wholereducesum counts whole blocks of 32 bytes, but a row of source 0 'UB' has "
        "40 bytes",
    ),
    (
        lambda d, s: T.tile.block_reduce_max(d, s, 1, 4, 1, 1, 8),
        [np.zeros(64, np.int32), np.zeros(64, np.int32)],
        "T.tile.block_reduce_max takes float16 or float32, but destination 'UB' is int32",
    ),
    (
        lambda d, s: T.tile.wholereducemax(d, s, 4, 1, 1, 1, 8),
        [np.zeros(64, np.float16), ROW],
        "T.tile.wholereducemax has destination 'UB' of float32 but source 0 'UB' of float16",
    ),
    (
        lambda d, s: T.tile.wholereducemax(d, s, 4, 1, 1, 1, 8, "ORDER"),
        [ROW, ROW],
        "T.tile.wholereducemax has no order 'ORDER'; there are ORDER_VALUE_INDEX, "
        "ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX",
    ),
    (
        lambda d, s: T.tile.reduce_sum_experiment(d, s),
        [ROW, ROW],
        "T.tile.reduce_sum_experiment takes dst, src, a buffer that may be left out, and count",
    ),
    (
        lambda d, s: T.tile.reduce_sum_mask_experiment(d, s, 4),
        [ROW, ROW],
        "T.tile.reduce_sum_mask_experiment takes dst, src, a buffer that may be left out, mask, "
        "repeatTime and srcRepStride",
    ),
    (
        lambda d, s: T.tile.brcb(d, 1.0, 1, 1, 8),
        [ROW, ROW],
        "T.tile.brcb takes a buffer or slices of one as source",
    ),
    (
        lambda d, s: T.tile.brcb(d, s, 1, 1, 8),
        [np.zeros(64, np.float16), ROW],
        "T.tile.brcb has destination 'UB' of float32 but source 'UB' of float16",
    ),
    (
        lambda d, s: T.tile.fill_experiment(d, 1.0, [0], 1, 1, 8),
        [ROW, ROW],
        "T.tile.fill_experiment has a mask without a bit",
    ),
    (
        lambda d, s: T.tile.datacachecleanandinvalid_experiment(d, "HALF", "CACHELINE_OUT"),
        [ROW, ROW],
        "T.tile.datacachecleanandinvalid_experiment has no 'HALF'; there are SINGLE_CACHE_LINE, "
        "ENTIRE_DATA_CACHE",
    ),
    (
        lambda d, a, b: T.tile.row_expand_mul_experiment(d[:, 0:8], a, b),
        [
            np.zeros((8, 16), np.float32),
            np.zeros((8, 8), np.float32),
            np.zeros((8, 16), np.float32),
        ],
        "T.tile.row_expand_mul_experiment has destination 'UB' of [8, 8] but source 0 'UB' "
        "of [8, 16]",
    ),
]


@pytest.mark.parametrize(("function", "arrays", "message"), REFUSED)
def test_refused(function: Callable[..., None], arrays: list[Array], message: str) -> None:
    with pytest.raises(tilewright.CompileError) as caught:
        kernel(function, arrays).capture()
    assert caught.value.errors[0].message == message


def test_offset_behind_the_end_of_the_interpreters_memory() -> None:
    arrays = [floats(256, dtype="float16"), np.full(8, 4096, np.uint32)]
    arrays += [floats(16, dtype="float16"), floats(128, dtype="float16")]
    main = kernel(
        lambda d, s, at, w: T.tile.bilinear_interpolation(d, s, at, w, 128, 1, False, 1, 128, 1),
        arrays,
    )
    with pytest.raises(
        tilewright.CompileError, match="offset 4096 is behind the end of the source"
    ):
        interpret(main, *arrays)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("brcb", "brcb"),
        ("fill_experiment", "fill_experiment"),
        ("row_expand_mul_experiment", "row_expand_mul"),
        ("wholereducemax, float16", "wholereducemax"),
        ("wholereducesum, float32", "wholereducesum"),
        ("reduce_sum_experiment, float32", "reduce_sum_experiment"),
        ("reduce_sum_mask_experiment, float16", "reduce_sum_mask_experiment"),
        ("block_reduce_max, float32", "block_reduce_max"),
        ("bilinear_interpolation", "bilinear_interpolation"),
    ],
)
def test_a_message_names_the_statement(name: str, words: str) -> None:
    """Not the function that it calls."""
    with pytest.warns(TilewrightWarning) as caught:
        tilewright.compile(
            GROUP.cases[name].kernel,
            target="ascend",
            pass_configs={tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True},
        )
    told = [str(each.message) for each in caught]
    assert any(f"T.copy from UB needs what {words} writes to" in each for each in told)
