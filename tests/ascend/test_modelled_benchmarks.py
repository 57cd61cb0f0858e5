# SPDX-License-Identifier: Apache-2.0
"""The time of Ascend kernels on the host, for benchmarks and the tuner: the chip's."""

from __future__ import annotations

import os

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.profiler import do_bench
from tilewright.profiling.ascend_time import modelled_time, recorded_times

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}
ROWS, COLUMNS = 64, 256


def doubled(rows: int):  # type: ignore[no-untyped-def]
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS, COLUMNS), "float32")
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            tile = T.alloc_ub((rows, COLUMNS), "float32")
            for step in T.serial(ROWS // rows):
                T.copy(A[step * rows, 0], tile)
                T.tile.mul(tile, tile, 2.0)
                T.copy(tile, B[step * rows, 0])

    return main


def test_benchmarks() -> None:
    kernel = tilewright.compile(doubled(8), target="ascend", pass_configs=AUTOMATIC)
    tensors = [np.ones((ROWS, COLUMNS), np.float32) for _ in range(2)]
    time = modelled_time(kernel, *tensors)
    assert time is not None and 1 < time.task < 100  # microseconds: the host takes much longer
    assert kernel.get_profiler().do_bench() == pytest.approx(time.task / 1e3)
    assert do_bench(lambda: kernel(*tensors), quantiles=[0.2, 0.8]) == pytest.approx(
        [time.task / 1e3] * 2
    )
    twice = do_bench(lambda: (kernel(*tensors), kernel(*tensors)))
    assert twice == pytest.approx(2 * time.task / 1e3)


def test_what_a_first_call_does_besides_does_not_count() -> None:
    """Here it tunes and checks three kernels."""
    choices = [{"rows": rows} for rows in (1, 8, 64)]

    @tilewright.autotune(configs=choices, ref_prog=lambda a: a * 2, cache_input_tensors=True)
    @tilewright.jit(out_idx=[1], target="ascend", pass_configs=AUTOMATIC)
    def tuned(rows=1):  # type: ignore[no-untyped-def]
        return doubled(rows)

    tensor = np.ones((ROWS, COLUMNS), np.float32)
    found = do_bench(lambda: tuned()(tensor))
    time = modelled_time(tuned(), tensor)
    assert time is not None and found == pytest.approx(time.task / 1e3)


def test_recordings_that_end_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of two threads may: none leaves its words behind."""
    for before in ("", "threads=1", None):
        if before is None:
            monkeypatch.delenv("TILEWRIGHT_ASCEND", raising=False)
        else:
            monkeypatch.setenv("TILEWRIGHT_ASCEND", before)
        first, second = recorded_times(), recorded_times("no-check")
        first.__enter__()
        second.__enter__()
        assert "no-check" in os.environ["TILEWRIGHT_ASCEND"]
        first.__exit__(None, None, None)
        assert "no-check" in os.environ["TILEWRIGHT_ASCEND"]
        second.__exit__(None, None, None)
        assert os.environ.get("TILEWRIGHT_ASCEND") == before


def test_tuning() -> None:
    """Few large copies are faster on the chip than many small ones."""
    configs = [{"rows": rows} for rows in (1, 8, 64)]
    calls = []

    def reference(a: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        calls.append(a)
        return a * 2

    @tilewright.autotune(configs=configs, ref_prog=reference, cache_input_tensors=True)
    @tilewright.jit(out_idx=[1], target="ascend", pass_configs=AUTOMATIC)
    def tuned(rows=1):  # type: ignore[no-untyped-def]
        return doubled(rows)

    found = tuned.tune()
    times = {}
    for rows in (1, 8, 64):
        kernel = tilewright.compile(doubled(rows), target="ascend", pass_configs=AUTOMATIC)
        time = modelled_time(kernel, *[np.ones((ROWS, COLUMNS), np.float32) for _ in range(2)])
        assert time is not None
        times[rows] = time.task / 1e3
    assert {c.config["rows"]: c.latency for c in found.candidates} == pytest.approx(times)
    assert found.config == {"rows": min(times, key=lambda rows: times[rows])}
    assert calls
