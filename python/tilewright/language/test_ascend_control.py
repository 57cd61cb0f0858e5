# SPDX-License-Identifier: Apache-2.0
"""TileLang-Ascend's control flow, views, hints and printing on the reference interpreter."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.errors import TilewrightWarning
from tilewright.intrinsics import make_col_major_layout, make_nz_layout, make_zn_layout
from tilewright.testing import interpret


def refusal(kernel: Any, *arguments: Any) -> str:
    with pytest.raises(tilewright.CompileError) as caught:
        interpret(kernel, *arguments)
    return str(caught.value.errors[0].message)


@pytest.mark.parametrize(("shape", "group"), [((3, 5), 2), ((4, 4), 8), ((2, 3, 5), 4), ((13,), 8)])
def test_persistent_visits_each_tile_once(shape: tuple[int, ...], group: int) -> None:
    @T.prim_func
    def two(count: T.Tensor(shape, "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True, threads=1) as cid:
            for m, n in T.Persistent(shape, 4, cid, group_size=group):
                count[m, n] += 1

    @T.prim_func
    def three(count: T.Tensor(shape, "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True, threads=1) as cid:
            for b, m, n in T.Persistent(list(shape), 4, cid, group):
                count[b, m, n] += 1

    @T.prim_func
    def one(count: T.Tensor(shape, "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True, threads=1) as cid:
            for m in T.Persistent(shape[0], 4, cid):
                count[m] += 1

    count = np.zeros(shape, np.int32)
    interpret({1: one, 2: two, 3: three}[len(shape)], count)
    np.testing.assert_array_equal(count, np.ones(shape))


@pytest.mark.parametrize("dir", [0, 1])
@pytest.mark.parametrize("off", [1, 2, 3, 8])
def test_swizzled_blocks_are_all_visited(off: int, dir: int) -> None:
    @T.prim_func
    def main(order: T.Tensor((20,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(20, is_npu=True) as (cid, _):
            order[cid] = T.use_swizzle(cid, 64, 80, 32, 16, 16, off=off, dir=dir)

    order = np.zeros(20, np.int32)
    interpret(main, order)
    assert sorted(order) == list(range(20))
    blocks = [(int(number) // 5, int(number) % 5) for number in order]
    # Neighbours in time share a row or a column of blocks, or are one step apart.
    steps = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in zip(blocks, blocks[1:], strict=False)]
    assert max(steps) <= max(off, 2)


def test_swizzle_wants_whole_blocks() -> None:
    @T.prim_func
    def main(C: T.Tensor((4,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True) as (cid, _):
            C[cid] = T.use_swizzle(cid, 60, 64, 32, 16, 16)

    @T.prim_func
    def wrong(C: T.Tensor((4,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True) as (cid, _):
            C[cid] = T.use_swizzle(cid, 64, 64, 32, 16, 16, dir=2)

    @T.prim_func
    def empty(C: T.Tensor((4,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True) as (cid, _):
            C[cid] = T.use_swizzle(cid, 64, 64, 32, 16, 0)

    zeros = np.zeros(4, np.int32)
    assert refusal(main, zeros) == ("T.use_swizzle needs whole blocks, but m is 60 and block_m 16")
    assert refusal(wrong, zeros) == (
        "T.use_swizzle takes off of 1 or more, and dir 0 (rows) or 1 (columns)"
    )
    assert refusal(empty, zeros) == "block_n of T.use_swizzle is 0, but must be 1 or more"


def test_branches_as_contexts() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(8, is_npu=True) as (cid, _):
            with T.If(cid > 4):
                with T.Then():
                    C[cid] = 1
                with T.Else():
                    C[cid] = 2
            with T.If(cid == 0), T.Then():
                C[cid] = 3

    c = np.zeros(8, np.int32)
    interpret(main, c)
    np.testing.assert_array_equal(c, [3, 2, 2, 2, 2, 1, 1, 1])


_IF = " write `with T.If(condition):`, and right in it `with T.Then():` and `with T.Else():`"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("else", "T.Else doesn't stand right in a T.If;"),
        ("then", "T.Then doesn't stand right in a T.If;"),
        ("inner", "T.Else doesn't stand right in a T.If;"),
        ("two", "this T.If has a T.Else already;"),
        ("order", "T.Then stands behind the T.Else;"),
    ],
)
def test_sides_of_a_branch_stand_right_in_it(form: str, message: str) -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(8, is_npu=True) as (cid, _):
            if form == "else":
                T.Else()
            elif form == "then":
                with T.Then():
                    C[cid] = 1
            else:
                with T.If(cid > 4):
                    if form == "inner":
                        with T.Then(), T.Else():
                            C[cid] = 1
                    else:
                        with T.Else():
                            C[cid] = 1
                        if form == "two":
                            with T.Else():
                                C[cid] = 2
                        else:
                            with T.Then():
                                C[cid] = 2

    assert refusal(main, np.zeros(8, np.int32)) == message + _IF


@pytest.mark.parametrize(
    "number",
    [
        T.get_thread_binding,
        lambda: T.get_thread_bindings()[0],
        T.get_lane_idx,
        T.get_warp_idx,
        T.get_warp_idx_sync,
        T.get_warp_group_idx,
        lambda: T.shuffle_elect(0),
    ],
)
def test_no_thread_of_a_core_has_a_number(number: Any) -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(8, is_npu=True) as (cid, _):
            C[cid] = number()

    assert refusal(main, np.zeros(8, np.int32)) == (
        "in an is_npu kernel no thread has a number: each of its cores runs one; write T.Parallel "
        "over the elements, or tell the vector cores apart by vid, `with T.Kernel(blocks, "
        "is_npu=True) as (cid, vid):`"
    )


def test_variables_and_breaks() -> None:
    @T.prim_func
    def main(A: T.Tensor((16,), "int32"), C: T.Tensor((2,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((16,), "int32")
            T.copy(A, tile)
            total = T.alloc_var("int32", init=0)
            at = T.alloc_var("int32")
            at = 5 * vid
            for i in T.serial(16):
                if tile[i] == 7 + vid:
                    T.loop_break()
                total += tile[i]
                at = i
            C[vid] = total * 100 + at

    c = np.zeros(2, np.int32)
    interpret(main, np.arange(16, dtype=np.int32), c)
    np.testing.assert_array_equal(c, [2106, 2807])


@pytest.mark.parametrize("spelled", ["int16", "int16_t", T.int16])
def test_views_of_other_dtypes(spelled: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((8,), "float"), C: T.Tensor((16,), "int16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((8,), "float")
            bits = T.alloc_ub((16,), "int16")
            T.reinterpretcast(bits, tile, spelled)
            T.copy(A, tile)
            T.copy(bits, C)

    a, c = np.arange(8, dtype=np.float32), np.zeros(16, np.int16)
    interpret(main, a, c)
    np.testing.assert_array_equal(c, a.view(np.int16))

    @T.prim_func
    def wrong(A: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            T.reinterpretcast(A, 1, "int16")

    assert refusal(wrong, a) == "T.reinterpretcast takes two buffers and a dtype"

    @T.prim_func
    def unknown(A: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((8,), "float")
            bits = T.alloc_ub((8,), "int32")
            T.reinterpretcast(bits, tile, "size_t")

    assert "size_t" in refusal(unknown, a)


def test_printing() -> None:
    @T.prim_func
    def main(A: T.Tensor((4,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            T.printf("hello\n")
            T.printf("block %d of %5.2f, or 50%%;", cid, 2)
            T.printf(" %s has %lld, %x and %u 100%%\n", "all of %d", A[0] + 10, 255, A[0] - 1)
            T.printf("%-5d|%c|%.3e\n", A[3], 65, T.cast(A[2], "float16"))
            tile = T.alloc_ub((8,), "float")
            T.printf("at %p %d%x\n", A, cid + 4, tile)
            T.dump_tensor(A, 9, 3)

    assert interpret(main, np.arange(4, dtype=np.int32)).splitlines() == [
        "hello",
        "block 0 of  2.00, or 50%; all of %d has 10, ff and 4294967295 100%",
        "3    |A|2.000e+00",
        "at A 4tile",
        "9 A = [0, 1, 2]",
    ]

    @T.prim_func
    def wrong(A: T.Tensor((4,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            T.printf("%d %d\n", cid)

    message = "T.printf has 1 arguments for 2 place holders"
    assert refusal(wrong, np.zeros(4, np.int32)) == message


@pytest.mark.parametrize(
    ("holder", "value", "message"),
    [
        ("%d", 1.5, "argument 0 of T.printf is float32, but %d prints an integer"),
        ("%s", 3, "%s of T.printf does not print 3"),
        ("%d", "x", "%d of T.printf does not print 'x'"),
        ("%d", None, "%d of T.printf does not print buffer 'A'"),
    ],
)
def test_place_holders_of_another_kind(holder: str, value: Any, message: str) -> None:
    @T.prim_func
    def wrong(A: T.Tensor((4,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            T.printf(holder, A if value is None else value)

    assert refusal(wrong, np.zeros(4, np.int32)) == message


def test_dump_of_a_number() -> None:
    @T.prim_func
    def wrong(A: T.Tensor((4,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            T.dump_tensor(A[0], 1, 4)

    assert refusal(wrong, np.zeros(4, np.int32)) == "T.dump_tensor takes a buffer"


@pytest.mark.parametrize("is_before", [True, False])
def test_prints_outside_of_the_launch(is_before: bool) -> None:
    def prints(A: Any) -> None:
        T.dump_tensor(A, 1, 4)
        T.printf("text")
        T.print(A)

    @T.prim_func
    def wrong(A: T.Tensor((4,), "int32")):  # type: ignore[no-untyped-def]
        if is_before:
            prints(A)
        with T.Kernel(1, is_npu=True) as (cid, _):
            A[0] = 1
        if not is_before:
            prints(A)

    with pytest.raises(tilewright.CompileError) as caught:
        interpret(wrong, np.zeros(4, np.int32))
    place = "outside of T.Kernel; " if is_before else "after the end of T.Kernel"
    names = ("T.dump_tensor", "T.printf", "T.print")
    for name, error in zip(names, caught.value.errors, strict=True):
        assert error.message.startswith(f"{name} stands {place}")


def test_hints_change_nothing() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, 16), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            T.func_attr({"enable_auto_sync": True})
            T.block_attr({"a_hint": 1})
            a = T.alloc_L1((16, 16), "float16")
            b = T.alloc_L1((16, 16), "float16")
            x = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float")
            T.annotate_layout(
                {a: make_zn_layout(a), b: make_nz_layout(b), x: make_col_major_layout(x)}
            )
            T.annotate_padding({A: 0})
            T.init_flag({"mte1": {"mte2": [0, 1]}})
            T.copy(A, a)
            T.copy(A, b)
            T.gemm_v0(a, b, c, transpose_B=True, init=True)
            T.clear_flag({"mte1": {"mte2": [0, 1]}})
            T.copy(c, C)

    a = np.random.default_rng(2).standard_normal((16, 16)).astype(np.float16)
    c = np.zeros((16, 16), np.float32)
    interpret(main, a, c)
    np.testing.assert_allclose(
        c, a.astype(np.float64) @ a.T.astype(np.float64), rtol=1e-5, atol=1e-5
    )
    text = main.capture().module.text()
    assert 'layout = "nz"' in text

    @T.prim_func
    def wrong(A: T.Tensor((16, 16), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            a = T.alloc_ub((16, 16), "float16")
            T.annotate_layout({a: make_zn_layout(a)})

    assert refusal(wrong, a) == "T.annotate_layout takes tiles in L1, but 'a' is in UB"


def test_parallel_loops_of_more_dims() -> None:
    @T.prim_func
    def main(C: T.Tensor((2, 3, 4), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            for i, j, k in T.Parallel(2, 3, 4):
                C[i, j, k] = i * 100 + j * 10 + k

    c = np.zeros((2, 3, 4), np.int32)
    interpret(main, c)
    i, j, k = np.indices(c.shape)
    np.testing.assert_array_equal(c, i * 100 + j * 10 + k)


@pytest.mark.parametrize("name", ["init_sort_buf", "merge_sort", "topk"])
def test_sorting_is_not_there_yet(name: str) -> None:
    @T.prim_func
    def main(C: T.Tensor((64,), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            tile = T.alloc_ub((64,), "float")
            if name == "init_sort_buf":
                T.init_sort_buf(tile, 64, 0)
            elif name == "merge_sort":
                T.merge_sort(tile, tile, tile)
            else:
                T.topk(tile, tile, 8, 64)

    with pytest.raises(tilewright.CompileError) as caught:
        interpret(main, np.zeros(64, np.float32))
    (error,) = caught.value.errors
    assert error.message.startswith(f"T.{name} is not supported yet; ")
    instead = "take k times the T.reduce_max" if name == "topk" else "call "
    assert instead in error.message
    assert "in an Ascend C function of your own by T.call_extern (docs/" in error.message
    assert error.kind == "unsupported"
    assert error.place.file == __file__


# docs/dialects.md --------------------------------------------------------------------------------


def test_older_names() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "float")):  # type: ignore[no-untyped-def]
        with T.kernel(1, is_npu=True) as (cid, vid):
            tile = T.alloc_UB((8,), "float")
            T.tile.fill(tile, 4.0)
            T.copy(tile, C)

    c = np.zeros(8, np.float32)
    interpret(main, c)
    np.testing.assert_array_equal(c, np.full(8, 4))


def test_a_swizzle_of_panels_is_a_hint() -> None:
    @T.prim_func
    def main(C: T.Tensor((2,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(2, threads=32) as cid:
            nothing = T.use_swizzle(10, order="row", enable=True)
            assert nothing is None
            T.use_swizzle(panel_size=10)
            C[cid] = cid

    c = np.zeros(2, np.int32)
    interpret(main, c)
    np.testing.assert_array_equal(c, [0, 1])


def test_positional_options_of_a_copy() -> None:
    @T.prim_func
    def main(A: T.Tensor((4, 8), "float"), C: T.Tensor((8, 4), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=32) as _:
            tile = T.alloc_shared((4, 8), "float")
            T.copy(A, tile, coalesced_width=8)
            T.copy(tile, C, True, True)

    a, c = np.arange(-16, 16, dtype=np.float32).reshape(4, 8), np.zeros((8, 4), np.float32)
    interpret(main, a, c)
    np.testing.assert_array_equal(c, np.maximum(a.T, 0))


def test_pipelined_takes_start_and_stop() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            for i in T.Pipelined(2, 5, num_stages=2, cross_interval=2):
                C[i] += 1
            for i in T.Pipelined(4, num_stages=2):
                C[i] += 10

    c = np.zeros(8, np.int32)
    interpret(main, c)
    np.testing.assert_array_equal(c, [10, 10, 11, 11, 1, 0, 0, 0])


def test_stages_as_the_second_argument_of_pipelined() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            for i in T.Pipelined(8, 2):
                C[i] += 1

    message = (
        "T.Pipelined(8, 2) makes no turn: the second argument is the end, as of range; stages are "
        "T.Pipelined(8, num_stages=2)"
    )
    with pytest.warns(TilewrightWarning, match=re.escape(message)):
        (told,) = main.capture().warnings
    assert told.message == message


def test_no_turn_where_the_stages_are_named() -> None:
    @T.prim_func
    def main(C: T.Tensor((8,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            for i in T.Pipelined(8, 2, num_stages=2):
                C[i] += 1

    assert main.capture().warnings == []


def test_gemm_on_an_npu() -> None:
    @T.prim_func
    def main(A: T.Tensor((16, 32), "float16"), C: T.Tensor((16, 16), "float")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, _):
            a = T.alloc_shared((16, 32), "float16")
            c = T.alloc_fragment((16, 16), "float")
            T.copy(A, a)
            T.gemm(a, a, c, transpose_B=True, clear_accum=True)
            T.copy(c, C)

    a = np.random.default_rng(3).standard_normal((16, 32)).astype(np.float16)
    c = np.zeros((16, 16), np.float32)
    interpret(main, a, c)
    np.testing.assert_allclose(c, a.astype(float) @ a.T.astype(float), rtol=1e-5, atol=1e-5)


def test_local_arrays_on_an_npu() -> None:
    @T.prim_func
    def main(C: T.Tensor((2,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            held = T.alloc_local((4,), "int32")
            for i in T.serial(4):
                held[i] = i * (vid + 1)
            C[vid] = held[3]

    c = np.zeros(2, np.int32)
    interpret(main, c)
    np.testing.assert_array_equal(c, [3, 6])


def test_a_loop_hides_a_name() -> None:
    """Behind the loop the name means what it did before, also in a loop around both."""

    @T.prim_func
    def main(C: T.Tensor((2, 4), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            row = vid
            for k in T.serial(3):
                C[row, 3] = k
                for row in range(2):  # noqa: PLW2901
                    C[vid, row] = row + 10
                C[row, 2] = k + 20

    c = np.zeros((2, 4), np.int32)
    interpret(main, c)
    np.testing.assert_array_equal(c, [[10, 11, 22, 2], [10, 11, 22, 2]])


def test_a_number_of_the_launch_is_hidden_in_a_loop_or_branch() -> None:
    """As in TVMScript: each turn, and what is behind the loop, sees the launch's own number."""

    @T.prim_func
    def main(C: T.Tensor((3, 8), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(3, is_npu=True) as (cid, vid):
            if vid == 0:
                for i in T.serial(4):
                    cid = i * 10 + cid  # noqa: PLW2901
                    C[cid % 10, i] = cid
                C[cid, 4] = cid
                if cid > 0:
                    cid = cid + 100  # noqa: PLW2901
                    C[cid - 100, 5] = cid
                for j in T.serial(2):
                    for k in T.serial(1):
                        j = j + 1 + k  # noqa: PLW2901
                        C[cid, 5 + j] = j

    c = np.zeros((3, 8), np.int32)
    interpret(main, c)
    wanted = [[cid, 10 + cid, 20 + cid, 30 + cid, cid, cid and 100 + cid, 1, 2] for cid in range(3)]
    np.testing.assert_array_equal(c, wanted)


def test_a_domain_has_extents() -> None:
    @T.prim_func
    def main(C: T.Tensor((2,), "int32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            for i in T.Persistent([], 1, cid):
                C[i] = 0

    message = refusal(main, np.zeros(2, np.int32))
    assert message == "T.Persistent needs a domain of at least one extent"


def test_unknown_functions_on_tiles() -> None:
    with pytest.raises(AttributeError, match=r"T\.tile has no 'exq'"):
        T.tile.exq  # noqa: B018
