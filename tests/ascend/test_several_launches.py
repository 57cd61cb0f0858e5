# SPDX-License-Identifier: Apache-2.0
"""Kernels with several launches: a device function for each, which the host starts one after the
other."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T

random = np.random.default_rng(23)
GROUP = KernelGroup()


@T.prim_func
def of_all_kinds(
    A: T.Tensor((64, 64), "float16"),
    B: T.Tensor((64, 64), "float16"),
    n: T.int32,
    C: T.Tensor((64, 64), "float32"),
    D: T.Tensor((64, 64), "float32"),
):
    """A gemm with vector work, vector work on a grid of the caller's, and a launch for a GPU. Both
    spaces are the launches' own; the second one isn't used by all of them."""
    first = T.alloc_global((64, 64), "float32")
    second = T.alloc_global((64, 64), "float32")
    with T.Kernel(2, is_npu=True) as (cid, _vid):
        a = T.alloc_shared((32, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((32, 64), "float32")
        u = T.alloc_shared((32, 64), "float32")
        T.copy(A[cid * 32, 0], a)
        T.copy(B, b)
        T.gemm(a, b, c, clear_accum=True)
        for i, j in T.Parallel(32, 64):
            u[i, j] = c[i, j] * 2.0
        T.copy(u, second[cid * 32, 0])
    with T.Kernel(n, is_npu=True) as (cid, _vid):
        u = T.alloc_ub((16, 64), "float32")
        T.copy(second[cid * 16, 0], u)
        T.tile.add(u, u, 1.0)
        T.copy(u, first[cid * 16, 0])
        T.copy(u, C[cid * 16, 0])
    with T.Kernel(64) as cid:
        for j in T.Parallel(64):
            D[cid, j] = first[63 - cid, j]


@T.prim_func
def of_two_vector_cores(A: T.Tensor((8, 64), "float32"), C: T.Tensor((8, 64), "float32")):
    """Grids of blocks of two cores and of one."""
    with T.Kernel(4, is_npu=True) as (cid, vid):
        x = T.alloc_ub((64,), "float32")
        T.copy(A[cid * 2 + vid, 0], x)
        T.tile.exp(x, x)
        T.copy(x, C[cid * 2 + vid, 0])
    with T.Kernel(2, is_npu=True, threads=1) as cid:
        x = T.alloc_ub((4, 64), "float32")
        T.copy(C[cid * 4, 0], x)
        T.tile.add(x, x, x)
        T.copy(x, C[cid * 4, 0])


@T.prim_func
def of_many_blocks(
    A: T.Tensor((T.symbolic("m"), 32), "float32"), C: T.Tensor((T.symbolic("m"), 32), "float32")
):
    """Each block of the first launch has a workspace; how many there are is known when it runs."""
    with T.Kernel(T.ceildiv(A.shape[0], 32), is_npu=True) as (cid, _vid):
        a = T.alloc_shared((32, 32), "float32")
        h = T.alloc_shared((32, 32), "float32")
        s = T.alloc_fragment((32, 32), "float32")
        T.copy(A[cid * 32, 0], a)
        T.gemm(a, a, s, clear_accum=True)
        T.copy(s, h)
        T.gemm(h, a, s, clear_accum=True)
        T.copy(s, C[cid * 32, 0])
    with T.Kernel(A.shape[0], is_npu=True) as (cid, _vid):
        x = T.alloc_ub((32,), "float32")
        T.copy(C[cid, 0], x)
        T.tile.sub(x, x, 1.0)
        T.copy(x, C[cid, 0])


def add_all() -> None:
    a, b = (random.uniform(-1, 1, (64, 64)).astype(np.float16) for _ in range(2))
    product = 2 * (a.astype(np.float64) @ b.astype(np.float64)) + 1
    c = np.zeros((64, 64), np.float32)
    GROUP.add("kinds", of_all_kinds, [a, b, 4, c, c.copy()], {3: product, 4: product[::-1]})
    a = random.uniform(-1, 1, (8, 64)).astype(np.float32)
    exact = 2 * np.exp(a.astype(np.float64))
    GROUP.add("two cores", of_two_vector_cores, [a, np.zeros_like(a)], exact)
    a = random.uniform(-1, 1, (96, 32)).astype(np.float32)
    squares = a.astype(np.float64).reshape(3, 32, 32)
    exact = (squares @ squares @ squares).reshape(96, 32) - 1
    GROUP.add("many blocks", of_many_blocks, [a, np.zeros_like(a)], exact, atol=1e-3)


add_all()


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_each_flag_of_each_launch_is_needed(name: str) -> None:
    removals = GROUP.removals(name)
    assert removals.missed() == []
    assert removals.needless() == []
    assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []
    of_launches = {why.partition(",")[0] for why in removals.inserted}
    several = GROUP.cases[name].ascendc.count("__global__")
    assert of_launches == {f"launch {number + 1}" for number in range(several)}


def compiled(kernel: Any, out_idx: list[int]) -> Any:
    return tilewright.compile(kernel, out_idx, target="ascend", pass_configs=AUTOMATIC)


def test_a_library_of_its_own() -> None:
    """Its source, which has a device function for each launch."""
    kernel = compiled(of_two_vector_cores, [1])
    a = random.uniform(-1, 1, (8, 64)).astype(np.float32)
    np.testing.assert_allclose(kernel(a), 2 * np.exp(a), rtol=1e-5)
    source = kernel.get_kernel_source()
    assert source.count("__global__") == 2 and source.count("#include") == 2


def test_the_report_tells_of_each_launch(tmp_path: Path) -> None:
    kernel = compiled(of_two_vector_cores, [1])
    a = np.zeros((8, 64), np.float32)
    picture, timeline = tmp_path / "memory.svg", tmp_path / "time.svg"
    report = kernel.report(a, svg=str(picture), timeline=str(timeline))
    assert "estimated time of 2 launches: " in report
    assert report.count("on average; waits are those of") == 2
    start = of_two_vector_cores.function.__code__.co_firstlineno
    first, second = f"launch 1 of 2 (line {start + 3})", f"launch 2 of 2 (line {start + 8})"
    assert f"\n{first}: estimated time on 910B2: " in report
    assert f"\n{second}: estimated time on 910B2: " in report
    memory, _, flags = report.partition("\nflags and barriers\n")
    assert f"\n{first}\nUB: 256 of " in memory and f"\n{second}\nUB: 1024 of " in memory
    of_first, _, of_second = flags.partition(f"{second}\n")
    assert of_first.startswith(f"{first}\nflag ") and "exp (line" in of_first
    assert "add (line" not in of_first
    assert "add (line" in of_second and "exp" not in of_second
    texts = "".join(ET.parse(picture).getroot().itertext())
    assert f"{first}, UB: 256 of" in texts and f"{second}, UB: 1024 of" in texts
    for number, page in enumerate((timeline, tmp_path / "time.2.svg")):
        assert f" of of_two_vector_cores_{number}_kernel<" in page.read_text()


def test_the_report_of_launches_that_have_no_blocks() -> None:
    """One launch isn't there, in which nothing is ordered; the other one still has its number."""

    @T.prim_func
    def main(n: T.int32, C: T.Tensor((64,), "int32")):
        with T.Kernel(n, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((16,), "int32")
            T.tile.fill(x, cid)
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((16,), "int32")
            T.copy(C[cid * 16], x)
            T.tile.add(x, x, 1)
            T.copy(x, C[cid * 16])

    report = compiled(main, []).report(0, np.zeros(64, np.int32))
    line = main.function.__code__.co_firstlineno + 2
    assert report.startswith("estimated time of 1 launch: ")
    assert f"\nlaunch 2 of 2 (line {line + 3}): estimated time on" in report
    assert f"launch 1 of 2 (line {line})\nnone was put in by the compiler\n" in report


def test_grids_of_the_caller() -> None:
    @T.prim_func
    def main(n: T.int32, C: T.Tensor((64,), "int32")):
        with T.Kernel(n, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((16,), "int32")
            T.tile.fill(x, 1)
            T.copy(x, C[cid * 16])
        with T.Kernel(2, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((16,), "int32")
            T.copy(C[cid * 16], x)
            T.tile.add(x, x, 1)
            T.copy(x, C[cid * 16])

    kernel = compiled(main, [])
    for blocks in (0, 1, 4):
        c = np.zeros(64, np.int32)
        kernel(blocks, c)
        wanted = np.repeat([blocks > i for i in range(4)], 16).astype(np.int32)
        wanted[:32] += 1
        np.testing.assert_array_equal(c, wanted)
    line = main.function.__code__.co_firstlineno + 2
    with pytest.raises(
        RuntimeError,
        match=rf":{line}:\d+: error: the grid has 70000 blocks, but a launch has at most",
    ):
        kernel(70000, c)
