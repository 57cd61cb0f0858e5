# SPDX-License-Identifier: Apache-2.0
"""What `tilewright profile` records, counts and draws."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from array import array
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilewright as tl
import tilewright.language as T
from tilewright.kernel import JITKernel
from tilewright.profiling import KernelRecorder, evaluate, roofline, table

PEAKS = {"flops": 1e11, "bfloat16_flops": 2e11, "byte_operations": 0.0, "bytes": 1e10}
PACKAGE = Path(__file__).resolve().parents[2]


@tl.jit(out_idx=[-1])
def scaled():
    n = T.symbolic("n")

    @T.prim_func
    def scaled_kernel(X: T.Tensor((n,), "float32"), times: T.int32, Y: T.Tensor((n,), "float32")):
        with T.Kernel(1):
            for i in T.serial(n):
                Y[i] = X[i] * 2.0
                for _ in T.serial(times):
                    Y[i] = Y[i] + 1.0

    return scaled_kernel


def test_calls_are_grouped_by_kernel_and_shapes():
    kernel = scaled()
    plain = JITKernel.__call__
    with KernelRecorder() as recorder:
        for _ in range(3):
            result = kernel(np.ones(100, np.float32), 4)
        out = np.empty(50, np.float32)
        kernel(np.ones(50, np.float32), 0, out)
        kernel(X=np.ones(50, np.float32), times=0, Y=out)
    assert JITKernel.__call__ is plain
    kernel(np.ones(100, np.float32), 4)
    assert result.tolist() == [6.0] * 100
    assert [(r.calls, r.arguments) for r in recorder.rows] == [
        (3, [(100,), 4, (100,)]),
        (2, [(50,), 0, (50,)]),
    ]
    assert recorder.rows[0].sizes == [400, 0, 400]
    assert recorder.rows[0].symbols() == [100]
    assert all(time > 0 for time in recorder.rows[0].milliseconds)


def test_work_and_limits_are_those_of_the_arguments():
    kernel = scaled()
    with KernelRecorder() as recorder:
        kernel(np.ones(1000, np.float32), 4)
    row = recorder.rows[0]
    row.milliseconds[0] = 0.5
    one = evaluate(row, PEAKS)
    assert one.flops == 5000
    # X is read; Y is written, and read again.
    assert one.bytes == 3 * 4000
    assert one.limit == "memory"
    assert one.fraction == pytest.approx(12000 / 1e10 / 0.5e-3)
    assert one.flops_per_second == pytest.approx(5000 / 0.5e-3)
    assert one.bytes_per_second == pytest.approx(12000 / 0.5e-3)
    assert one.shapes == "1000 4 1000"
    assert one.as_dict()["bytes_per_second"] == one.bytes_per_second


def test_the_table_has_the_longest_first_and_the_machine_last():
    kernel = scaled()
    with KernelRecorder() as recorder:
        kernel(np.ones(10, np.float32), 0)
        kernel(np.ones(20, np.float32), 0)
    recorder.rows[0].milliseconds[0] = 1.0
    recorder.rows[1].milliseconds[0] = 2.0
    lines = table([evaluate(row, PEAKS) for row in recorder.rows], PEAKS).splitlines()
    assert lines[0].split()[:3] == ["kernel", "shapes", "calls"]
    assert lines[1].startswith("scaled_kernel  20 0 20")
    assert lines[2].startswith("scaled_kernel  10 0 10")
    assert lines[3] == (
        "machine: 100 GFLOP/s of float32, 200 of bfloat16; 10.0 GB/s of a large copy"
    )


def test_the_first_call_is_not_counted_but_where_it_is_alone():
    kernel = scaled()
    with KernelRecorder() as recorder:
        for _ in range(3):
            kernel(np.ones(10, np.float32), 0)
        kernel(np.ones(20, np.float32), 0)
    recorder.rows[0].milliseconds[:] = array("d", [100.0, 1.0, 2.0])
    recorder.rows[1].milliseconds[:] = array("d", [7.0])
    several, alone = (evaluate(row, PEAKS) for row in recorder.rows)
    assert (several.calls, several.total, several.median) == (3, 3.0, 1.5)
    assert (alone.calls, alone.total, alone.median) == (1, 7.0, 7.0)
    line = table([several], PEAKS).splitlines()[1]
    assert re.search(rf" \S*test_profiling\.py:{line_of_kernel()}$", line)


def line_of_kernel():
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if "def scaled_kernel" in line) - 1


def test_launches_have_the_shapes_of_their_calls():
    from tilewright.profiling.ascend_time import AscendTime, times_table

    kernel = scaled()
    with KernelRecorder(keeps_order=True) as recorder:
        for extent in (10, 20, 10):
            kernel(np.ones(extent, np.float32), 4)
    times = [AscendTime(f"{kernel.name}_kernel", "910B2", 2.0, {}, {}, [], "")] * 3
    other = replace(times[0], kernel="other_kernel")
    lines = times_table([*times, other], recorder.order).splitlines()
    found = [re.split("  +", line)[:3] for line in lines[1:4]]
    assert found == [
        ["scaled_kernel", "10 4 10", "2"],
        ["scaled_kernel", "20 4 20", "1"],
        ["other_kernel", "-", "1"],
    ]
    assert lines[1].endswith(f"test_profiling.py:{line_of_kernel()}")
    # What else launched kernels of that name isn't known.
    assert " - " in times_table([*times, *times], recorder.order).splitlines()[1]


def test_the_roofline_has_a_dot_per_kernel():
    kernel = scaled()
    with KernelRecorder() as recorder:
        kernel(np.ones(10, np.float32), 0)
        kernel(np.ones(20, np.float32), 8)
    svg = roofline([evaluate(row, PEAKS) for row in recorder.rows], PEAKS)
    root = ET.fromstring(svg)
    titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 2
    assert any("scaled_kernel 20 8 20" in title for title in titles)
    assert "float32: 100" in svg and "bfloat16: 200" in svg and "int8" not in svg
    ET.fromstring(roofline([], PEAKS))


def test_the_legend_tells_the_shapes_of_one_kernel_apart():
    """By the shapes that differ; two kernels of one name and the same shapes by a number."""
    kernel = scaled()
    with KernelRecorder() as recorder:
        kernel(np.ones(10, np.float32), 8)
        kernel(np.ones(20, np.float32), 8)
    measured = [evaluate(row, PEAKS) for row in recorder.rows]
    assert legend_of(measured) == ["scaled_kernel", "10 10", "scaled_kernel", "20 20"]
    assert legend_of(measured[:1]) == ["scaled_kernel"]
    twice = [measured[0], *measured]
    assert legend_of(twice) == [
        "scaled_kernel", "10 10", "scaled_kernel", "10 10", "number 2", "scaled_kernel", "20 20"
    ]  # fmt: skip


def legend_of(measured):
    """The words beside the picture, without what share of the limit each has."""
    in_order = [replace(one, total=10.0 - number) for number, one in enumerate(measured)]
    svg = ET.fromstring(roofline(in_order, PEAKS))
    words = [e for e in svg.iter("{http://www.w3.org/2000/svg}text") if e.get("fill") != "#333"]
    return [re.sub(r" \(\d+%\)", "", e.text) for e in words]


SCRIPT = """
import sys
import numpy as np
import tilelang
import tilelang.language as T

@tilelang.jit(out_idx=[1])
def double(N):
    @T.prim_func
    def twice(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(N) as bx:
            B[bx] = A[bx] * 2.0
    return twice

if "--idle" not in sys.argv:
    double(64)(np.ones(64, np.float32))
"""


def test_estimates_of_the_script_do_not_hide_its_calls():
    """`report()` and a time for another chip are no launches of it; what `do_bench` calls is."""
    from tilewright.profiling.ascend_time import is_estimated, modelled_time, recorded_times

    kernel = tl.compile(scaled.get_tir(), out_idx=[2], target="ascend")
    x = np.ones(1000, np.float32)
    with recorded_times() as times, KernelRecorder(True, is_estimated) as recorder:
        kernel(x, 4)
        other = modelled_time(kernel, x, 4, chip="910B4")
        kernel.report(x, 4)
        with recorded_times() as inner:
            kernel(x[:500], 4)
        kernel(x, 4)
    assert other is not None and other.chip == "910B4"
    assert [row.arguments[0] for row in recorder.order] == [(1000,), (500,), (1000,)]
    assert len(times) == 3 and inner == times[1:2]
    assert {time.chip for time in times} == {"910B2"}


def profile(tmp_path, *arguments):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {
        **os.environ,
        "PYTHONPATH": str(PACKAGE),
        "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"),
    }
    words = [str(w) if w != "SCRIPT" else str(script) for w in arguments]
    return subprocess.run(
        [sys.executable, "-m", "tilewright", "profile", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_command_prints_draws_and_gives_json(tmp_path):
    picture = tmp_path / "roofline.svg"
    done = profile(tmp_path, "--json", "--roofline", picture, "SCRIPT")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["kernels"][0]["kernel"] == "twice"
    assert report["kernels"][0]["flops"] == 64
    assert report["kernels"][0]["place"] == "script.py:9"
    assert report["machine"]["flops"] > 0
    assert "twice" in picture.read_text()
    idle = profile(tmp_path, "SCRIPT", "--idle")
    assert idle.stdout == "no kernel was called\n"
    on_ascend = profile(tmp_path, "--target", "ascend", "SCRIPT")
    assert re.search(
        r"^twice +64 64 +[12] +[0-9.]+ +[0-9.]+ +vector [A-Z0-9]+ [0-9]+%  script.py:9$",
        on_ascend.stdout,
        re.M,
    )
    assert on_ascend.stdout.endswith("modelled times of launches on 910B2\n")
    idle = profile(tmp_path, "--target", "ascend", "SCRIPT", "--idle")
    assert idle.stdout == "no kernel was launched on the Ascend host\n"
    missing = profile(tmp_path, tmp_path / "nowhere.py")
    assert missing.returncode == 2
    assert "there is no file" in missing.stderr


def test_a_picture_that_cannot_be_drawn_is_told_before_the_script_runs(tmp_path):
    for name, message in [
        ("roofline.png", "a roofline is drawn as SVG: '{}' must end in .svg"),
        ("no/roofline.svg", "'{}' can't be written: No such file or directory"),
    ]:
        path = tmp_path / name
        refused = profile(tmp_path, "--roofline", path, "SCRIPT")
        assert refused.returncode == 2
        assert message.format(path) in refused.stderr
        assert not path.exists()


def test_waits_of_no_time_are_not_told():
    from tilewright.profiling.ascend_time import AscendTime

    waits = {"issue": 0.001, "flag MTE2_V id 0": 0.5, "flag V_MTE3 id 0": 0.25}
    core = {"name": "vector core 0", "kind": "vector", "end_us": 1.5}
    uses = {
        "V": vector_pipe(1.0, waits),
        "S": vector_pipe(0.5, {"issue": 0.004}),
        "MTE3": vector_pipe(0.25),
    }
    time = AscendTime("k", "910B2", 2.0, {"vector": vectors(uses)}, {"vector": 0.1}, [core], "")
    assert time.text() == (
        "estimated time on 910B2: 2.00 us, 0.50 of them for the launch\n"
        "  vector: 10% of the chip's limit (1 of its 48 cores is used)\n"
        "vector cores: 1 of the chip's 48, 1.00 us on average; waits are those of vector core 0, "
        "which ends last\n"
        "  V     busy       1.00 us, 100%; waited 0.50 us for flag MTE2_V id 0, 0.25 us for flag "
        "V_MTE3 id 0\n"
        "  MTE3  busy       0.25 us,  25%\n"
        "  S     busy       0.50 us,  50%\n"
    )


def vector_pipe(busy, waits=None):
    return {"busy_us": busy, "share": busy, "cores": 1, "waits_us": waits or {}}


def vectors(pipes):
    return {
        "cores": 1, "cores_of_chip": 48, "core_us": 1.0, "last": "vector core 0", "pipes": pipes
    }  # fmt: skip


def test_the_busiest_pipe_is_that_of_one_kind_of_core():
    from tilewright.profiling.ascend_time import AscendTime, times_table

    kinds = {
        "cube": vectors({"MTE2": vector_pipe(0.9), "M": vector_pipe(0.3)}),
        "vector": vectors({"MTE2": vector_pipe(0.1), "V": vector_pipe(0.2)}) | {"core_us": 1.25},
    }
    kinds["vector"]["pipes"]["V"]["share"] = 0.95  # of cores that are done soon
    time = AscendTime("k", "910B2", 2.0, kinds, {}, [], "")
    assert time.busiest() == ("cube", "MTE2", 0.9)
    words = times_table([time]).splitlines()[1].split()
    assert words == ["k", "-", "1", "2.00", "1.25", "cube", "MTE2", "90%"]
    assert times_table([replace(time, kinds={})]).splitlines()[1].split()[4:] == ["0.00", "-"]


def trace_of(*cores, ends=3.0):
    """One instruction on each of two pipes of these cores, as the host writes it."""
    events = []
    for number, core in enumerate(cores):
        events.append({"ph": "M", "name": "process_name", "pid": number, "args": {"name": core}})
        for lane, pipe in enumerate(("MTE3", "MTE2")):
            events += [
                {"ph": "M", "name": "thread_name", "pid": number, "tid": lane,
                 "args": {"name": pipe}},
                {"ph": "X", "name": "DataCopy", "pid": number, "tid": lane, "ts": 0.0,
                 "dur": ends - number, "args": {"line": "k.py:3", "critical": False}},
            ]  # fmt: skip
    return {"traceEvents": events}


def test_the_timeline_names_cores_and_pipes_in_any_viewer():
    """Plain text, that is, none of which what lies over it or the picture's edge hides."""
    from tilewright.profiling.timeline_picture import timeline_picture

    names = ["cube core 0 of k", "vector core 1 of k", "vector core 0 of k"]
    svg = ET.fromstring(timeline_picture(trace_of(*names)))
    words = [e for e in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert [e.text for e in words if e.text in (*names, "MTE2", "MTE3")] == [
        "cube core 0 of k", "MTE2", "MTE3", "vector core 1 of k", "MTE2", "MTE3"
    ]  # fmt: skip
    for text in words:
        assert set(text.keys()) <= {"x", "y", "fill"}
        assert float(text.get("x")) + 6 * len(text.text) <= float(svg.get("width"))
