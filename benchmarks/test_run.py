# SPDX-License-Identifier: Apache-2.0
"""The harness itself: names and form of the rows, pairs, and what happens when a row fails."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from pathlib import Path

import ascend_speed
import host_speed
import operator_speed
import profile_rows
import pytest

HERE = Path(__file__).resolve().parent


def load(name):
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


run = load("run")
pairs = load("pairs")


def test_names_and_order():
    expected = ["import", "compile/fused_gemm", "compile/flash_attention", "cache_load"]
    expected += ["call/alloc", "call/out"]
    expected += [f"gemm/{t}/{n}" for t in ("f32", "f16", "bf16") for n in (512, 1024, 2048, 4096)]
    expected += operator_speed.rows()
    expected += ascend_speed.names()
    expected += list(host_speed.rows())
    expected += profile_rows.names()
    assert list(run.all_rows(1)) == expected


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8"])
@pytest.mark.parametrize("shape", [(1024, 1024, 1024), (4096, 4096, 4096), (4096, 4096, 64)])
@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("cpu", ["znver4", "sapphirerapids"])
def test_long_blocks_fill_the_shape(monkeypatch, dtype, shape, threads, cpu):
    m, n, k = shape
    monkeypatch.setattr("tilewright._compiler.host_cpu", lambda: f"{cpu} avx512")
    form = operator_speed.long_blocks(m, n, k, dtype, threads)
    assert bool(form) == (k > 64 or (cpu == "sapphirerapids" and dtype.startswith("float")))
    if form:
        assert m % form["rows"] == form["rows"] % form["block_m"] == n % form["block_n"] == 0
        assert k % form.get("block_k", k) == 0
        assert (m // form["rows"]) * (n // form["block_n"]) >= threads
    monkeypatch.setattr("tilewright._compiler.host_cpu", lambda: "avx2")
    assert not operator_speed.long_blocks(m, n, k, dtype, threads)


@pytest.mark.parametrize(
    ("cpu", "dtype", "vectors"),
    [
        ("znver4 avx512", "float32", 1),
        ("sapphirerapids avx512", "float32", 4),
        ("znver3 avx2", "float32", 2),
        ("znver3 avx2", "bfloat16", 2),
        ("znver4 avx512", "bfloat16", 0),
    ],
)
def test_strips_of_attention(monkeypatch, cpu, dtype, vectors):
    monkeypatch.setattr("tilewright._compiler.host_cpu", lambda: cpu)
    lanes = 16 if "avx512" in cpu else 8
    assert operator_speed.attention_form(dtype, False, 64).get("strip", 0) == vectors * lanes
    for causal in (False, True):
        wide = operator_speed.attention_form(dtype, causal, 128)
        assert wide.get("panel", 0) == (16 if "avx2" in cpu else 0)


def test_a_share_of_a_limit_is_no_ratio():
    row = run.Row("ascend/add/expert/8192", 250.0, "us", share=0.5)
    assert run.table_line(row).endswith("50.0% of the limit, aim 85%  MISSED")
    row = run.Row("ascend/gemm/expert/8192", 3500.0, "us", "published", 4038.0, share=0.9)
    assert run.table_line(row).endswith("90.0% of the limit")


def test_ratio_above_one_is_better_for_us():
    measured = pairs.measure(
        lambda: time.sleep(0.001), lambda: time.sleep(0.03), 0.001, 20, spin_s=0
    )
    # Sleeps last longer on a busy machine; only the direction is certain.
    assert measured.ratio() > 1
    assert len(measured.ours) == len(measured.peer) == 20
    assert measured.ratio(0.25) == 4 * measured.ratio()


def test_pairs_keep_to_their_budget():
    started = time.monotonic()
    measured = pairs.measure(
        lambda: time.sleep(0.05), lambda: time.sleep(0.05), 0.01, 0.05, spin_s=0
    )
    assert time.monotonic() - started < 1
    assert len(measured.ratios) == 1


def test_rows_are_medians(monkeypatch):
    seconds = iter([9.0, 1.0, 3.0, 2.0])
    monkeypatch.setattr(run, "measure", lambda cache, *what: {"seconds": next(seconds)})
    row = run.repeated("import", 3, True, "import")
    assert (row.value, row.unit, row.ratio) == (2.0, "s", None)
    answer = {"ours": [1.0, 2.0, 9.0], "peer": [4.0], "ratio": 0.5}
    monkeypatch.setattr(run, "measure", lambda cache, *what: answer)
    row = run.compared("gemm/f32/512", "GFLOP/s", "torch.matmul", "gemm", "float32", "512")
    expected = run.Row("gemm/f32/512", 2.0, "GFLOP/s", "torch.matmul", 4.0, 0.5)
    assert row == expected
    answer["peer"] = []
    row = run.compared("gemm/f32/512", "GFLOP/s", "torch.matmul", "gemm", "float32", "512")
    assert (row.peer, row.peer_value, row.ratio) == (None, None, None)


def test_a_share_of_a_limit_has_no_ratio():
    entry = run.Row("ascend/gemm", 200.0, "us", share=0.75).entry()
    expected = {"name": "ascend/gemm", "value": 200.0, "unit": "us", "peer": None}
    assert entry == {**expected, "peer_value": None, "share": 0.75}


def test_what_is_not_gated_says_why(monkeypatch):
    answers = {
        name: {"value": 2.0, "peer_value": 4.0, "gated": gated, "fitted": gated}
        for name, gated in (
            ("profile/add_case1/vec", True), ("profile/add_case2/scalar", False),
            ("profile/matmul_case0/scalar", False), ("profile/matmul_case2/mte2", False),
            ("profile/matmul_basic1/fixpipe", False),
        )
    }  # fmt: skip
    monkeypatch.setattr(profile_rows, "answers", lambda: answers)
    for name, answer in answers.items():
        row = run.profiled(name)
        line, entry = run.table_line(row), row.entry()
        if answer["gated"]:
            assert "not gated" not in line
            assert "reason" not in entry
            assert "(published, fitted)" in line
        else:
            assert line.endswith(f"  not gated: {profile_rows.reason(name)}")
            assert entry["reason"] == profile_rows.reason(name)
            assert "(published, predicted)" in line
    assert "waits for the cube unit" in run.table_line(
        run.profiled("profile/matmul_basic1/fixpipe")
    )


def test_results_and_failures(monkeypatch, tmp_path, capsys):
    def measure(cache, *what):
        if what[0] == "call":
            raise run.Failed("ModuleNotFoundError: No module named 'torch'")
        return {"seconds": 0.2}

    monkeypatch.setattr(run, "measure", measure)
    output = tmp_path / "deep" / "results.json"
    assert run.main(["import", "call", "--output", str(output)]) == 0
    assert json.loads(output.read_text()) == [
        {
            "name": "import", "value": 0.2, "unit": "s", "peer": None, "peer_value": None,
            "ratio": None,
        }
    ]  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["import", "200", "ms", "aim", "150", "ms", "MISSED"]
    assert "call/alloc" in lines[1]
    assert "No module named 'torch'" in lines[1]

    def broken(cache, *what):
        raise run.Failed("RuntimeError: the kernel is wrong")

    monkeypatch.setattr(run, "measure", broken)
    assert run.main(["import", "--output", str(output)]) == 1
    with pytest.raises(SystemExit):
        run.main(["nothing"])
    assert "no row begins with nothing; there are: import" in capsys.readouterr().err


def test_a_failing_process_is_a_failed_row(tmp_path):
    with pytest.raises(run.Failed, match="ValueError: .*'x'"):
        run.measure(str(tmp_path), "gemm", "float32", "x")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(1.5, "s", "1.5 s"), (0.0123, "s", "12.3 ms"), (2.5e-6, "s", "2.5 us"), (3e-7, "s", "300 ns"),
     (123.45, "GFLOP/s", "123.5 GFLOP/s"), (None, "s", "")],
)  # fmt: skip
def test_numbers_are_short(value, unit, text):
    assert run.shown(value, unit) == text


def test_a_slow_matmul_is_measured_by_fewer_rows(monkeypatch):
    torch = pytest.importorskip("torch")
    whole = torch.matmul
    now = [0.0]
    monkeypatch.setattr(operator_speed.time, "perf_counter", lambda: now[0])

    def a_second_a_row(left, right, out):
        now[0] += left.shape[0]
        return whole(left, right, out=out)

    monkeypatch.setattr(torch, "matmul", a_second_a_row)
    left, right, out = torch.randn(128, 16), torch.randn(16, 8), torch.zeros(128, 8)
    call, share = operator_speed.matmul(left, right, out)
    assert share == 2 / 128
    out.zero_()
    call()
    assert torch.equal(out[:2], whole(left, right)[:2])
    assert not out[2:].any()
