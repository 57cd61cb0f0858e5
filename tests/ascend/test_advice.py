# SPDX-License-Identifier: Apache-2.0
"""What the compiler and the host advise is written in the language of the kernel: Python's lines
get the language's own statements."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup, compiled

import tilewright.language as T
from tilewright.language.prim_func import PrimFunc

ROWS, STEP = 16, 4
GROUP = KernelGroup()


def one_core(body: Callable[..., None]) -> PrimFunc:
    """`body` gets the tensors and a tile; its flags are all there are."""

    @T.prim_func
    def main(A: T.Tensor((ROWS, 64), "float32"), B: T.Tensor((ROWS, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
            tile = T.alloc_ub((ROWS, 64), "float32")
            body(A, B, tile)

    return main


def told(name: str) -> tuple[list[str], str]:
    """By the compiler and by the host."""
    with pytest.raises(RuntimeError) as error:
        GROUP.run(name)
    return GROUP.told(name), str(error.value)


def line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.strip() == text)


@T.prim_func
def load_then_add(A: T.Tensor((ROWS, 64), "float32"), B: T.Tensor((ROWS, 64), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
        tile = T.alloc_ub((ROWS, 64), "float32")
        T.copy(A[0:ROWS, 0:64], tile)
        T.tile.add(tile, tile, 2.0)
        T.barrier_all()
        T.copy(tile, B[0, 0])


def add_twice(A: Any, B: Any, tile: Any) -> None:
    T.copy(A[0, 0], tile)
    T.barrier_all()
    T.tile.add(tile, tile, 1.0)
    T.tile.mul(tile, tile, 1.0)
    T.barrier_all()
    T.copy(tile, B[0, 0])


def add_thrice(A: Any, B: Any, tile: Any) -> None:
    T.copy(A[0, 0], tile)
    T.barrier_all()
    T.tile.add(tile, tile, 1.0)
    T.tile.mul(tile, tile, 1.0)
    T.tile.add(tile, tile, 1.0)
    T.barrier_all()
    T.copy(tile, B[0, 0])


def store_then_load(A: Any, B: Any, tile: Any) -> None:
    other = T.alloc_ub((ROWS, 64), "float32")
    T.tile.fill(tile, 1.0)
    T.barrier_all()
    T.copy(tile, B[0, 0])
    T.copy(B[0, 0], other)


def store_twice(A: Any, B: Any, tile: Any) -> None:
    T.tile.fill(tile, 1.0)
    T.barrier_all()
    T.copy(tile, B[0, 0])
    T.copy(tile, B[8:16, 0:64])


def test_a_flag() -> None:
    compiler, host = told("load_then_add")
    assert any(
        'set a flag from MTE2 to V: T.set_flag("mte2", "v", id) behind the earlier one and '
        'T.wait_flag("mte2", "v", id) before this one' in each
        for each in compiler
    )
    first, then = line_of("T.copy(A[0:ROWS, 0:64], tile)"), line_of("T.tile.add(tile, tile, 2.0)")
    assert (
        f'add T.set_flag("mte2", "v", id) after line {first} and T.wait_flag("mte2", "v", id) '
        f"before line {then}" in host
    )
    assert "SetFlag<" not in host


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("add_twice", 'T.pipe_barrier("v") between them'),
        ("store_twice", 'T.pipe_barrier("mte3") between them'),
    ],
)
def test_a_barrier(name: str, advice: str) -> None:
    compiler, host = told(name)
    assert any(f": {advice}" in each for each in compiler)
    assert f"add {advice}" in host
    assert "PipeBarrier<" not in host


def test_a_flag_for_global_memory() -> None:
    compiler, host = told("store_then_load")
    assert any('T.set_flag("mte3", "mte2", id) behind' in each for each in compiler)
    assert (
        'add T.set_flag("mte3", "mte2", id) and T.wait_flag("mte3", "mte2", id) between them'
        in host
    )


@T.prim_func
def two_loads_then_add(A: T.Tensor((ROWS, 64), "float32"), B: T.Tensor((ROWS, 64), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
        left = T.alloc_ub((ROWS, 64), "float32")
        right = T.alloc_ub((ROWS, 64), "float32")
        T.copy(A, left)
        T.copy(B, right)
        T.tile.sub(left, left, right)
        T.copy(left, B)


@T.prim_func
def ring(A: T.Tensor((ROWS, 64), "float32"), B: T.Tensor((ROWS, 64), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
        left = T.alloc_ub((STEP, 64), "float32")
        right = T.alloc_ub((STEP, 64), "float32")
        for i in T.serial(ROWS // STEP):
            T.copy(A[i * STEP, 0], left)
            T.copy(A[i * STEP, 0], right)
            T.set_flag("mte2", "v", 0)
            T.wait_flag("mte2", "v", 0)
            T.tile.div(left, left, right)
            T.set_flag("v", "mte3", 0)
            T.wait_flag("v", "mte3", 0)
            T.copy(left, B[i * STEP, 0])


def test_each_missing_flag_once() -> None:
    """Not once per buffer, and not what other flags order already: here from MTE2 to MTE3."""
    compiler, _ = told("two_loads_then_add")
    load, store = line_of("T.copy(B, right)"), line_of("T.tile.sub(left, left, right)")
    switch = ", or switch tl.ascend_auto_sync on in pass_configs"
    flag = (
        'set a flag from {0} to {1}: T.set_flag("{2}", "{3}", id) behind the earlier one and '
        'T.wait_flag("{2}", "{3}", id) before this one{5}; line {4}: the earlier one is here'
    )
    assert compiler == [
        "sub needs what T.copy to UB writes to 'right', but nothing orders them: "
        + flag.format("MTE2", "V", "mte2", "v", load, switch),
        "T.copy from UB needs what sub writes to 'left', but nothing orders them: "
        + flag.format("V", "MTE3", "v", "mte3", store, ""),  # one switch does it for all
    ]


def test_what_a_loop_lacks_once() -> None:
    """The next turn's loads overwrite what the store reads: one flag back orders both, and the
    barriers that each of them would need."""
    compiler, _ = told("ring")
    (warning,) = compiler
    assert warning.startswith(
        "T.copy to UB overwrites what T.copy from UB of an earlier iteration reads of 'left', but "
        "nothing orders them: set a flag from MTE3 to MTE2: "
    )


@T.prim_func
def between_blocks(A: T.Tensor((ROWS, 64), "float32"), B: T.Tensor((ROWS, 64), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(2, is_npu=True, threads=1) as _, T.Scope("V"):
        tile = T.alloc_ub((ROWS, 64), "float32")
        T.tile.fill(tile, 1.0)
        T.barrier_all()
        T.copy(tile, B[0, 0])


@T.prim_func
def blocks_read_each_other(A: T.Tensor((ROWS, 64), "float32"), B: T.Tensor((ROWS, 64), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(2, is_npu=True, threads=1) as cid, T.Scope("V"):
        tile = T.alloc_ub((ROWS // 2, 64), "float32")
        T.tile.fill(tile, 1.0)
        T.barrier_all()
        T.copy(tile, B[cid * 8, 0])
        T.barrier_all()
        T.copy(B[8 - cid * 8, 0], tile)


@T.prim_func
def both_vector_cores(A: T.Tensor((ROWS, 64), "float32"), B: T.Tensor((ROWS, 64), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True) as (_, vid), T.Scope("V"):
        tile = T.alloc_ub((ROWS // 2, 64), "float32")
        T.copy(A[vid * 8, 0], tile)
        T.barrier_all()
        T.copy(tile, B[0, 0])


@T.prim_func
def set_alone(A: T.Tensor((ROWS, 64), "float32"), n: T.int32, B: T.Tensor((ROWS, 64), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
        tile = T.alloc_ub((ROWS, 64), "float32")
        for k in T.serial(n):
            T.tile.fill(tile, 1.0)
            T.barrier_all()
            T.copy(tile, B[0, 0])
            T.barrier_all()
            if k * n % 7 == 0:
                T.set_flag("mte3", "v", 3)


def test_between_cores() -> None:
    _, host = told("blocks_read_each_other")
    advice = (
        r"order the cores with T\.set_cross_flag and T\.wait_cross_flag "
        r"\(T\.set_cross_flag\(\"mte3\", id, mode=0\) behind line \d+ and "
        r"T\.wait_cross_flag\(id\) before line \d+; or .*\) or T\.sync_all\(\), let them touch "
        r"different bytes, or use T\.tile\.atomic_add"
    )
    assert re.search(advice, host), host


def test_one_store_of_several_cores() -> None:
    """No flag orders what all of them do at once."""
    one = (
        "let each core store a part of its own, by them, put T.sync_all() between turns of "
        "a loop that store it, or use T.tile.atomic_add"
    )
    _, of_blocks = told("between_blocks")
    compiler, of_pair = told("both_vector_cores")
    for host in (of_blocks, of_pair):
        assert "store it on one core only (`if` the numbers of T.Kernel, such as bx or cid" in host
        assert one in host
        assert "T.set_cross_flag" not in host
    (warning,) = compiler
    assert warning == (
        "both vector cores of a block store this at the same place of 'B', and nothing orders "
        "them: store where `vid == 0`, or a part of its own on each, by vid"
    )


@pytest.mark.parametrize(("count", "where"), [(1, "behind it"), (2, "between them")])
def test_a_flag_that_nothing_waits_for(count: int, where: str) -> None:
    a = np.ones((ROWS, 64), np.float32)
    with pytest.raises(RuntimeError) as error:
        GROUP.run("set_alone", a, 7 if count == 2 else 1, np.zeros_like(a))
    assert f'add T.wait_flag("mte3", "v", 3) {where}' in str(error.value)


@T.prim_func
def scalar_after_vector(A: T.Tensor((ROWS, 64), "float32"), B: T.Tensor((ROWS, 64), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _, T.Scope("V"):
        tile = T.alloc_ub((ROWS, 64), "float32")
        T.tile.fill(tile, 3.0)
        tile[0, 0] = tile[0, 1] - 2.0
        T.barrier_all()
        T.copy(tile, B[0, 0])


@T.prim_func
def scopes_hand_on(
    A: T.Tensor((ROWS, 64), "float16"),
    B: T.Tensor((ROWS, ROWS), "float32"),
    workspace: T.Tensor((ROWS, ROWS), "float32"),
):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1):
        left = T.alloc_L1((ROWS, 64), "float16")
        product = T.alloc_L0C((ROWS, ROWS), "float32")
        tile = T.alloc_ub((ROWS, ROWS), "float32")
        with T.Scope("C"):
            T.copy(A, left)
            T.gemm_v0(left, left, product, transpose_B=True, init=True)
            T.copy(product, workspace)
        with T.Scope("V"):
            T.copy(workspace, tile)
            T.copy(tile, B)


SYNC, SCALAR, COMBINE, CROSS = (
    "tl.ascend_auto_sync",
    "tl.ascend_auto_sync_vs",
    "tl.ascend_auto_cv_combine",
    "tl.ascend_auto_cross_core_sync",
)


ARGUMENTS = {
    "scopes_hand_on": [
        np.ones((ROWS, 64), np.float16),
        np.zeros((ROWS, ROWS), np.float32),
        np.zeros((ROWS, ROWS), np.float32),
    ],
}
ONES = [np.ones((ROWS, 64), np.float32), np.zeros((ROWS, 64), np.float32)]
#: A kernel, the switches that are on, and those that it lacks.
SWITCHES: list[tuple[PrimFunc, tuple[str, ...], tuple[str, ...]]] = [
    (load_then_add, (), (SYNC,)),
    (load_then_add, (SCALAR,), (SYNC,)),
    (scalar_after_vector, (), (SCALAR,)),
    (scopes_hand_on, (SYNC,), (COMBINE, CROSS)),
    (scopes_hand_on, (SYNC, COMBINE), (CROSS,)),
]


def mended(kernel: PrimFunc, switches: tuple[str, ...]) -> str:
    return f"{kernel.__name__} by {', '.join(sorted(switches))}"


for kernel in (
    load_then_add,
    two_loads_then_add,
    ring,
    between_blocks,
    blocks_read_each_other,
    both_vector_cores,
):
    GROUP.add_faulty(kernel.__name__, kernel, ONES, {})
for body in (add_twice, add_thrice, store_twice, store_then_load):
    GROUP.add_faulty(body.__name__, one_core(body), ONES, {})
GROUP.add_faulty("set_alone", set_alone, [ONES[0], 1, ONES[1]], {})
GROUP.add_faulty(
    "scopes_hand_on",
    scopes_hand_on,
    ARGUMENTS["scopes_hand_on"],
    {SYNC: True, COMBINE: True},
)
for kernel, on, missing in SWITCHES:
    switches = (*on, *missing)
    arguments = ARGUMENTS.get(kernel.__name__, ONES)
    configs = dict.fromkeys(switches, True)
    if mended(kernel, switches) not in GROUP.cases:
        GROUP.add(mended(kernel, switches), kernel, arguments, {}, configs=configs)


@pytest.mark.parametrize(("kernel", "on", "missing"), SWITCHES)
def test_a_switch(kernel: PrimFunc, on: tuple[str, ...], missing: tuple[str, ...]) -> None:
    """Each warning names the switches that are off and would order it; with them on there is none,
    and the host agrees."""
    _, said = compiled(kernel, dict.fromkeys(on, True))
    end = f", or switch {' and '.join(missing)} on in pass_configs"
    assert said and all(end + "; line " in each for each in said), said
    name = mended(kernel, (*on, *missing))
    GROUP.run(name)
    assert GROUP.told(name) == []


def test_the_host_names_switches() -> None:
    _, within = told("load_then_add")
    assert "; or let the compiler do it, by tl.ascend_auto_sync in pass_configs" in within
    _, of_tensor = told("store_then_load")
    assert "; or let the compiler do it, by tl.ascend_auto_sync in pass_configs" in of_tensor
    _, between = told("scopes_hand_on")
    assert (
        "T.tile.atomic_add; or, within a block, let the compiler do it, by "
        f"{COMBINE} and {CROSS} in pass_configs" in between
    )


@T.prim_func
def flags_of_its_own(A: T.Tensor((ROWS, 64), "float16"), B: T.Tensor((ROWS, ROWS), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1):
        left = T.alloc_L1((ROWS, 64), "float16")
        product = T.alloc_L0C((ROWS, ROWS), "float32")
        tile = T.alloc_ub((ROWS, ROWS), "float32")
        with T.Scope("C"):
            T.copy(A, left)
            T.gemm_v0(left, left, product, transpose_B=True, init=True)
            T.set_cross_flag("fix", 3)
            T.copy(product, B)
        with T.Scope("V"):
            T.wait_cross_flag(3)
            T.copy(B, tile)
            T.copy(tile, B)


def test_no_switch_where_flags_between_cores_are_the_kernels() -> None:
    _, said = compiled(flags_of_its_own, {SYNC: True, COMBINE: True})
    assert any("set a cross-core flag" in each for each in said)
    assert not any("pass_configs" in each for each in said)


def led_between_cores(is_left_early: bool) -> PrimFunc:
    @T.prim_func
    def main(A: T.Tensor((ROWS, 64), "float16"), n: T.int32, B: T.Tensor((ROWS, ROWS), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1):
            left = T.alloc_shared((ROWS, 64), "float16")
            given = T.alloc_ub((ROWS, 64), "float16")
            product = T.alloc_fragment((ROWS, ROWS), "float32")
            tile = T.alloc_ub((ROWS, ROWS), "float32")
            T.copy(A, given)
            T.barrier_all()
            for k in T.serial(n):
                T.copy(given, left)
                T.barrier_all()
                T.gemm_v0(left, left, product, transpose_B=True, init=k == 0)
                T.barrier_all()
                T.copy(product, tile)
                T.barrier_all()
                if is_left_early:  # noqa: SIM102
                    if k == 1:
                        T.loop_break()
                T.tile.add(tile, tile, 1.0)
                T.barrier_all()
            T.copy(tile, B)

    return main


@T.prim_func
def led_beside_flags(  # type: ignore[no-untyped-def]
    A: T.Tensor((ROWS, 64), "float16"),
    B: T.Tensor((ROWS, ROWS), "float32"),
    C: T.Tensor((ROWS, ROWS), "float32"),
):
    with T.Kernel(1, is_npu=True, threads=1):
        left = T.alloc_L1((ROWS, 64), "float16")
        product = T.alloc_L0C((ROWS, ROWS), "float32")
        tile = T.alloc_ub((ROWS, ROWS), "float32")
        T.copy(A, left)
        T.gemm_v0(left, left, product, transpose_B=True, init=True)
        with T.Scope("C"):
            T.copy(product, B)
            T.set_cross_flag("fix", 0)
        with T.Scope("V"):
            T.wait_cross_flag(0)
            T.copy(B, tile)
            T.copy(tile, C)
        T.copy(product, tile)
        T.copy(tile, C)


HALF = np.ones((ROWS, 64), np.float16)
LED = {
    f"led between cores, {is_left_early}, {' and '.join(switches)}": (is_left_early, switches)
    for is_left_early in (False, True)
    for switches in ((COMBINE,), (SYNC, COMBINE), (SYNC, COMBINE, CROSS))
}
for name, (is_left_early, switches) in LED.items():
    GROUP.add(
        name,
        led_between_cores(is_left_early),
        [HALF, 3, np.zeros((ROWS, ROWS), np.float32)],
        np.full((ROWS, ROWS), 2 * 64 if is_left_early else 3 * 64 + 1),
        configs=dict.fromkeys(switches, True),
    )
GROUP.add(
    "led beside flags",
    led_beside_flags,
    [HALF, *(np.zeros((ROWS, ROWS), np.float32) for _ in range(2))],
    {1: np.full((ROWS, ROWS), 64), 2: np.full((ROWS, ROWS), 64)},
    configs=dict.fromkeys((SYNC, COMBINE), True),
)


@pytest.mark.parametrize("name", LED)
def test_what_the_compiler_leads_between_cores(name: str) -> None:
    """A copy between the cores has no place for a flag of the kernel's: its two steps are ordered
    whatever the switches say."""
    GROUP.check(name)
    assert GROUP.told(name) == []


def test_its_steps_beside_flags_of_the_kernels_own() -> None:
    """Whose numbers it doesn't take."""
    GROUP.run("led beside flags")
    source = GROUP.cases["led beside flags"].ascendc
    for number in (0, 1):
        assert source.count(f"CrossCoreSetFlag<2, PIPE_FIX>({number})") == 1


def test_advice_that_all_findings_share_is_told_once() -> None:
    """Which switch does it, and how the host is told that the vendor's compiler orders them."""
    _, host = told("add_thrice")
    assert host.count("may still be writing") == 2
    assert host.count("; or let the compiler do it, by tl.ascend_auto_sync in pass_configs") == 1
    assert host.count("TILEWRIGHT_ASCEND=relaxed") == 1
    _, other = told("load_then_add")
    assert "TILEWRIGHT_ASCEND=relaxed" not in other  # it doesn't order these
