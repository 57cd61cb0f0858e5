# SPDX-License-Identifier: Apache-2.0
"""What `kernel.report()` says, held against the timeline of the launch and the kernel's lines."""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.profiling.ascend_time import AscendTime, recorded_times

key = tilewright.PassConfigKey
AUTOMATIC = {
    key.TL_ASCEND_AUTO_SYNC: True,
    key.TL_ASCEND_MEMORY_PLANNING: True,
    key.TL_ASCEND_AUTO_CV_COMBINE: True,
    key.TL_ASCEND_AUTO_CV_SYNC: True,
}
CORES = 8


def gemm_and_exp() -> Any:
    """Both kinds of core copy by MTE2, and the cube cores far more."""

    @T.prim_func
    def main(
        A: T.Tensor((CORES * 64, 512), "float16"),
        B: T.Tensor((512, 128), "float16"),
        D: T.Tensor((CORES * 64, 128), "float32"),
        C: T.Tensor((CORES * 64, 128), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 128), "float16")
            c = T.alloc_fragment((64, 128), "float32")
            u = T.alloc_shared((64, 128), "float32")
            d = T.alloc_shared((64, 128), "float32")
            for k in T.serial(8):
                T.copy(A[cid * 64, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm_v0(a, b, c, init=k == 0)
            T.copy(c, u)
            T.copy(D[cid * 64, 0], d)
            for i, j in T.Parallel(64, 128):
                u[i, j] = T.exp(u[i, j]) + d[i, j]
            T.copy(u, C[cid * 64, 0])

    return tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)


def gemm_only() -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((256, 128), "float16"),
        B: T.Tensor((128, 128), "float16"),
        C: T.Tensor((256, 128), "float32"),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True) as (cid, _):
            a = T.alloc_shared((64, 128), "float16")
            b = T.alloc_shared((128, 128), "float16")
            c = T.alloc_fragment((64, 128), "float32")
            T.copy(A[cid * 64, 0], a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C[cid * 64, 0])

    return tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)


def one_half_only() -> Any:
    """Of two vector cores only one works."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(2, is_npu=True) as (cid, vid):
            x = T.alloc_ub((32, 64), "float32")
            if vid == 0:
                T.copy(A[cid * 32, 0], x)
                T.tile.exp(x, x)
                T.copy(x, C[cid * 32, 0])

    return tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)


def more_blocks_than_cores() -> Any:
    @T.prim_func
    def main(A: T.Tensor((100 * 1024,), "float32"), C: T.Tensor((100 * 1024,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(100, is_npu=True, threads=1) as cid:
            x = T.alloc_ub((1024,), "float32")
            T.copy(A[cid * 1024], x)
            T.tile.exp(x, x)
            T.copy(x, C[cid * 1024])

    return tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)


def busy_by_the_timeline(trace: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Of each core and pipe the time in which any instruction runs."""
    cores: dict[int, str] = {}
    pipes: dict[tuple[int, int], str] = {}
    spans: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["name"] == "process_name":
            cores[event["pid"]] = event["args"]["name"].partition(" of ")[0]
        elif event["name"] == "thread_name":
            pipes[event["pid"], event["tid"]] = event["args"]["name"]
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            where = cores[event["pid"]], pipes[event["pid"], event["tid"]]
            spans[where].append((event["ts"], event["ts"] + event["dur"]))
    busy = {}
    for where, each in spans.items():
        end = total = 0.0
        for start, stop in sorted(each):
            total += max(stop - max(start, end), 0.0)
            end = max(end, stop)
        busy[where] = total
    return busy


def modelled(kernel: Any, folder: Path) -> tuple[AscendTime, dict[tuple[str, str], float]]:
    given = [np.zeros(p["shape"], p["dtype"]) for p in json.loads(kernel.entry.manifest)["params"]]
    with recorded_times(f"chrome-trace={folder / 'trace.json'}") as times:
        kernel(*given[:-1])
    (page,) = folder.iterdir()  # its name counts launches
    return times[0], busy_by_the_timeline(json.loads(page.read_text()))


@pytest.mark.parametrize(
    "make",
    [gemm_and_exp, gemm_only, one_half_only, more_blocks_than_cores],
    ids=lambda f: f.__name__,
)
def test_numbers_are_those_of_the_timeline(make: Any, tmp_path: Path) -> None:
    time, busy = modelled(make(), tmp_path)
    ends = {core["name"]: core["end_us"] for core in time.cores}
    for kind, said in time.kinds.items():
        names = [core["name"] for core in time.cores if core["name"].startswith(kind)]
        spent = {c["name"]: c["end_us"] - c["start_us"] for c in time.cores if c["name"] in names}
        assert said["cores_of_chip"] == {"cube": 24, "vector": 48}[kind]
        assert said["cores"] == min(len(names), said["cores_of_chip"])
        assert ends[said["last"]] == max(ends[name] for name in names)
        assert said["core_us"] == pytest.approx(sum(spent.values()) / said["cores"], abs=2e-3)
        for pipe, use in said["pipes"].items():
            users = [name for name in names if (name, pipe) in busy]
            if pipe == "S":
                continue  # runs no instructions of the timeline
            assert use["cores"] == min(len(users), said["cores_of_chip"])
            total = sum(busy[name, pipe] for name in users)
            assert use["busy_us"] == pytest.approx(total / use["cores"], rel=0.01, abs=3e-3)
            wanted = total / sum(spent[name] for name in users)
            assert use["share"] == pytest.approx(wanted, rel=0.01, abs=2e-3)
            assert 0 < use["share"] <= 1
    lasts = max(ends.values())
    for kind, pipe in (("cube", "M"), ("vector", "V")):
        total = sum(spent for (name, at), spent in busy.items() if at == pipe and kind in name)
        if kind in time.limits:
            wanted = total / lasts / time.kinds[kind]["cores_of_chip"]
            assert time.limits[kind] == pytest.approx(wanted, rel=0.01, abs=6e-4)
    assert f"{time.task - lasts:.2f} of them for the launch" in time.text()


def test_pipes_are_those_of_one_kind_of_core(tmp_path: Path) -> None:
    """MTE2 of the cube cores holds all up; beside that of the vector cores it isn't to be seen."""
    kernel = gemm_and_exp()
    time, _ = modelled(kernel, tmp_path)
    of_cube, of_vector = (time.kinds[kind]["pipes"]["MTE2"] for kind in ("cube", "vector"))
    assert of_cube["share"] > 2 * of_vector["share"]
    assert time.busiest() == ("cube", "MTE2", of_cube["share"])
    text = kernel.report()
    cube, vector = (
        text.index("\ncube cores: 8 of the chip's 24, "),
        text.index("\nvector cores: 16 of"),
    )
    memory = text.index("\nUB: ")
    pipes = [
        re.findall(r"^  (\w+) +busy", part, re.M)
        for part in (text[:cube], text[cube:vector], text[vector:memory])
    ]
    assert pipes == [[], ["MTE2", "MTE1", "M", "FIX", "S"], ["MTE2", "V", "MTE3", "S"]]
    assert f"MTE2  busy {of_cube['busy_us']:10.2f} us, {of_cube['share']:4.0%}" in text[cube:vector]
    assert re.search(r"; waits are those of cube core \d, which ends last\n", text[cube:vector])
    assert re.search(
        r"; waits are those of vector core \d+, which ends last\n", text[vector:memory]
    )
    assert "for cross-core flag 0 of cube core" in text[vector:memory]
    for kind, cores in (("cube", "8 of its 24"), ("vector", "16 of its 48")):
        share = f"{time.limits[kind]:.0%}"
        assert f"  {kind}: {share} of the chip's limit ({cores} cores are used)\n" in text
    flags = text.partition("flags and barriers\n")[2]
    assert re.search(r"^flag MTE2_MTE1 id \d on the cube core: gemm ", flags, re.M)
    assert re.search(r"^flag MTE2_V id \d on the vector cores: exp ", flags, re.M)
    assert re.search(r"^cross-core flag 0 on the cube core, behind FIX: T.copy to UB ", flags, re.M)


def test_all_cores_of_the_chip_are_a_limit_of_their_own() -> None:
    text = more_blocks_than_cores().report()
    assert re.search(r"^  vector: \d+% of the chip's limit$", text, re.M)
    found = re.search(
        r"\nvector cores: all 48 of the chip for 100 in turn, ([0-9.]+) us on average; waits are "
        r"those of the one that ends last, with vector core \d+\n"
        r"  MTE2  busy +([0-9.]+) us, .*\n"
        r"  V     busy +[0-9.]+ us, .*; waited ([0-9.]+) us for flag MTE2_V id 0",
        text,
    )
    assert found
    each, copies, waits = map(float, found.groups())
    # All that a core runs in turn: V waits for its copies to end.
    assert 0.8 * copies < waits < each
    halves = one_half_only().report()
    assert re.search(r"^  V +busy .*, +\d+% on 2 cores", halves, re.M)


MACROS = """
import tilewright.language as T

@T.macro
def load(A, x, row):
    T.copy(A[row, 0], x)
"""


def test_reasons_name_places_and_buffers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is needed, what is read before it is written over, and what is written twice."""
    (tmp_path / "macros_of_a_report.py").write_text(MACROS)
    monkeypatch.syspath_prepend(str(tmp_path))
    import macros_of_a_report as macros

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((16, 64), "float32")
            y = T.alloc_ub((16, 64), "float32")
            for k in T.serial(4):
                T.tile.fill(x, 0.0)
                macros.load(A, x, k * 16)
                T.tile.exp(y, x)
                T.copy(y, B[k * 16, 0])

    kernel = tilewright.compile(main, out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    text = kernel.report()
    del sys.modules["macros_of_a_report"]
    fill = main.function.__code__.co_firstlineno + 6
    load, exp, store = "macros_of_a_report.py:6", f"line {fill + 2}", f"line {fill + 3}"
    lines = set(text.partition("flags and barriers\n")[2].splitlines())
    assert lines == {
        f"flag V_MTE2 id 0: T.copy to UB ({load}) overwrites what fill (line {fill}) writes to 'x'",
        f"flag MTE2_V id 0: exp ({exp}) needs what T.copy to UB ({load}) writes to 'x'",
        f"flag V_MTE3 id 0: T.copy from UB ({store}) needs what exp ({exp}) writes to 'y'",
        f"flag MTE3_V id 0: exp ({exp}) overwrites what T.copy from UB ({store}) of an earlier "
        "iteration reads of 'y'",
    }
    assert f"  x  lines {fill} to {fill + 2}\n" in text
