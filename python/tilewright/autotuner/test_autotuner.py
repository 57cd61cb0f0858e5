# SPDX-License-Identifier: Apache-2.0
"""Tuning: what is found, what is skipped and why, what is kept."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tl
import tilewright.language as T
from tilewright import autotuner
from tilewright.autotuner import AutoTuner, TuningError, autotune, set_autotune_inputs
from tilewright.autotuner.results import Candidate, format_table
from tilewright.autotuner.time_limit import TimeLimit, TimeLimitReached

QUICK = {"warmup": 0, "rep": 1}


@tl.jit(out_idx=[1])
def scaled(n: int, block: int = 64, factor: int = 2, turns: int = 1) -> Any:
    @T.prim_func
    def scaled_kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block)) as bx:
            for _ in T.serial(turns):
                for i in T.Parallel(block):
                    B[bx * block + i] = A[bx * block + i] * factor

    return scaled_kernel


@tl.jit
def eager_scaled(A, block: int = 64):
    n = T.const("n")
    A: T.Tensor((n,), "float32")
    B = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, block)) as bx:
        for i in T.Parallel(block):
            B[bx * block + i] = A[bx * block + i] * 2
    return B


tuned_by_name = autotune(scaled, configs=[{"block": 32}, {"block": 64}], **QUICK)


def twice(a: np.ndarray) -> np.ndarray:
    return a * 2


def tuned(function: Any, configs: Any, **settings: Any) -> Any:
    return autotune(function, configs=configs, **{**QUICK, **settings})


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    tl.cache.clear_memory()


def test_the_kernel_is_the_fastest_one_and_says_so():
    best = tuned(scaled, [{"block": 64, "turns": 2000}, {"block": 64, "turns": 1}])(4096)
    assert best.config == {"block": 64, "turns": 1}
    assert best.latency > 0
    a = np.arange(4096, dtype=np.float32)
    np.testing.assert_array_equal(best(a), a * 2)


def test_what_is_wrong_fails_or_hangs_is_skipped_with_its_reason():
    configs = [
        {"factor": 3},
        {"block": "x"},
        {"turns": 1 << 40},
        {"factor": 2},
    ]
    result = tuned(scaled, configs, ref_prog=twice, timeout=1).tune(4096)
    assert [c.state for c in result.candidates] == ["wrong", "failed", "hung", "best"]
    assert "differs at" in result.candidates[0].reason
    assert result.candidates[1].reason
    assert result.candidates[2].reason == "not done within 1 s"
    assert result.ref_latency > 0


def test_when_none_is_left_the_error_holds_the_table():
    with pytest.raises(TuningError, match=r"none of 1 configurations is right\n.*latency ms") as e:
        tuned(scaled, [{"factor": 3}], ref_prog=twice)(4096)
    assert "wrong" in str(e.value)


def test_the_error_begins_with_what_became_of_them():
    """A misspelt parameter isn't a wrong result."""
    misspelt = r"none of 2 configurations runs: .*'blok'; did you mean 'block'\?.*\nlatency ms"
    with pytest.raises(TuningError, match=misspelt):
        tuned(scaled, [{"blok": 32}, {"blok": 64}])(4096)
    both = r"none of 2 configurations can be used \(1 failed, 1 wrong\)\n"
    with pytest.raises(TuningError, match=both):
        tuned(scaled, [{"blok": 32}, {"factor": 3}], ref_prog=twice)(4096)


def test_the_error_tells_of_random_inputs_that_a_kernel_may_not_be_made_for():
    @tl.jit(out_idx=[-1], target="ascend")
    def half_written(block: int):
        @T.prim_func
        def main(A: T.Tensor((block,), "float32"), C: T.Tensor((block,), "float32")):
            with T.Kernel(1, is_npu=True):
                tile = T.alloc_ub((block,), "float32")
                if A[0] > 1e30:  # never
                    T.copy(A, tile)
                T.barrier_all()
                T.copy(tile, C)

        return main

    told = "random inputs; set_autotune_inputs(...) or supply_prog gives them others."
    with pytest.raises(TuningError) as random:
        tuned(half_written, [{"block": 32}])()
    assert "which nothing has written" in str(random.value)
    assert str(random.value).endswith(told)
    with pytest.raises(TuningError) as given, set_autotune_inputs(np.zeros(32, np.float32)):
        tuned(half_written, [{"block": 32}])()
    assert "random inputs" not in str(given.value)


def test_a_slow_candidate_is_stopped_early():
    configs = [{"turns": 1}, {"turns": 5000}]
    result = tuned(scaled, configs, early_stop=True, early_stop_factor=2.0, rep=20).tune(65536)
    assert [c.state for c in result.candidates] == ["best", "slow"]
    assert "stopped early" in result.candidates[1].reason


def test_a_call_that_names_the_whole_configuration_is_not_tuned():
    kernel = tuned(scaled, [{"block": 32}, {"block": 64}])(4096, block=16)
    assert kernel.config is None


def test_results_are_kept_on_disk_and_in_memory(monkeypatch):
    runs = []
    keep = autotuner.tuner._Run.best
    monkeypatch.setattr(
        autotuner.tuner._Run, "best", lambda self, pool: runs.append(1) or keep(self, pool)
    )
    configs = [{"block": 32}, {"block": 64}]
    first = tuned(scaled, configs)
    assert first(4096) is first(4096)
    again = tuned(scaled, configs).tune(4096)
    assert again.from_cache and again.latency == first.tune(4096).latency
    assert len(runs) == 1
    tuned(scaled, configs)(8192)
    tuned(scaled, [{"block": 32}])(4096)
    assert len(runs) == 3


def test_a_damaged_result_on_disk_is_tuned_again(tmp_path):
    configs = [{"block": 32}, {"block": 64}]
    tuned(scaled, configs)(4096)
    (stored,) = (tmp_path / "autotune").glob("*.json")
    stored.write_text('{"config": 3}')
    assert not tuned(scaled, configs).tune(4096).from_cache


def test_arguments_that_are_not_specialized_share_a_result():
    shared = tuned(scaled, [{"block": 32}, {"block": 64}], do_not_specialize=["n"])
    assert shared.tune(4096) is shared.tune(8192)


def test_configurations_may_come_from_a_function():
    assert tuned(scaled, lambda: [{"block": 32}])(4096).config == {"block": 32}
    assert tuned(scaled, lambda n: [{"block": n // 64}])(4096).config == {"block": 64}


def test_an_eager_kernel_is_tuned_on_its_own_arguments():
    tune = tuned(eager_scaled, [{"block": 32}, {"block": 64}], ref_prog=twice)
    a = np.arange(256, dtype=np.float32)
    np.testing.assert_array_equal(tune(a), a * 2)
    assert tune.tune(a).config in ({"block": 32}, {"block": 64})


@tl.jit
def counted_in_place(A, block: int = 64):
    N = T.const("N")
    A: T.StridedTensor((N,), (2,), T.float32)
    with T.Kernel(1):
        for i in T.serial(N):
            A[i] = A[i] + 1


def test_candidates_leave_the_callers_tensors_alone():
    """An eager kernel that changes its argument: it does so once, in the call itself."""
    whole = np.zeros(64, np.float32)
    tuned(counted_in_place, [{"block": 32}, {"block": 64}])(whole[::2])
    np.testing.assert_array_equal(whole, np.tile(np.array([1, 0], np.float32), 32))
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(64)
    tuned(counted_in_place, [{"block": 32}, {"block": 128}])(tensor[::2])
    assert tensor[:4].tolist() == [1, 0, 1, 0]


def test_inputs_can_be_given_by_context_or_function():
    seen = []
    tune = tuned(scaled, [{"block": 32}], ref_prog=lambda a: seen.append(a) or a * 2)
    a = np.full(4096, 7, np.float32)
    with set_autotune_inputs(a):
        tune(4096)
    assert seen[0] is a
    b = np.full(4096, 8, np.float32)
    with set_autotune_inputs([b]):
        tuned(scaled, [{"block": 16}], ref_prog=lambda x: seen.append(x) or x * 2)(4096)
    assert seen[-1] is b

    def supply(params):
        assert len(params) == 1
        return [np.full(4096, 9, np.float32)]

    tuned(scaled, [{"block": 8}], supply_prog=supply, ref_prog=lambda x: seen.append(x) or x * 2)(
        4096
    )
    assert seen[-1][0] == 9


def test_a_check_of_ones_own():
    seen = []
    tune = tuned(
        scaled,
        [{"factor": 3}],
        ref_prog=twice,
        manual_check_prog=lambda ours, theirs: seen.append((ours, theirs)),
    )
    tune(4096)
    assert len(seen) == 1
    unchecked = tuned(scaled, [{"factor": 3}], ref_prog=twice, skip_check=True)
    assert unchecked(4096).config == {"factor": 3}


def test_a_kernel_that_gives_nothing_cannot_be_compared():
    plain = tl.JITFunction(scaled.function)
    with pytest.raises(TuningError) as e:
        tuned(plain, [{"block": 32}], ref_prog=lambda a, b: a * 2)(4096)
    missing = "the kernel gives nothing to compare; use out_idx, manual_check_prog or skip_check"
    assert missing in str(e.value)


def test_the_tuner_takes_a_plain_function():
    result = (
        AutoTuner.from_kernel(lambda block: scaled.function(4096, block), [{"block": 32}])
        .set_compile_args(out_idx=[-1])
        .set_profile_args(**QUICK, ref_prog=twice)
        .run()
    )
    assert result.config == {"block": 32}
    assert result.kernel.ref_latency > 0
    assert result.libcode


def test_wrong_settings_are_named():
    with pytest.raises(TypeError) as e:
        autotune(scaled)
    assert str(e.value) == "autotune() needs configs: a list of dicts, or a function that gives one"
    with pytest.raises(TypeError) as e:
        autotune(scaled, configs=[{}], warmups=3)
    said = str(e.value)
    assert said.startswith("autotune() got an unexpected keyword argument 'warmups'; did you mean")
    assert "did you mean 'warmup'? (it has: configs, do_not_specialize, executor, verbose, " in said
    with pytest.raises(TypeError) as e:
        AutoTuner.from_kernel(scaled, [{}]).set_profile_args(warmups=3)
    said = "autotune: there is no profile setting 'warmups'; did you mean 'warmup'? (it has: warmup"
    assert str(e.value).startswith(said)
    with pytest.raises(TypeError) as e:
        autotune(3, configs=[{}])
    assert str(e.value) == "@autotune stands above @tilelang.jit, not above 3"
    with pytest.raises(ValueError, match="autotune: scaled has no configurations"):
        tuned(scaled, [])(4096)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"configs": 5}, "autotune: configs must be a list of dicts, not 5"),
        (
            {"configs": {"block": 32}},
            "autotune: configs must be a list of dicts, not {'block': 32}",
        ),
        ({"executor": 5}, "autotune: executor must be a concurrent.futures.Executor, not 5"),
        (
            {"executor": Executor},
            "autotune: executor must be a concurrent.futures.Executor, not <c",
        ),
        ({"configs": b"ab"}, "autotune: configs must be a list of dicts, not b'ab'"),
        ({"configs": [{}, 5]}, "autotune: configs[1] must be a dict, not 5"),
        ({"configs": [[("block", 3)]]}, "autotune: configs[0] must be a dict, not [('block', 3)]"),
        ({"warmup": "a"}, "autotune: warmup must be a number from 0 to 1e9, not 'a'"),
        ({"timeout": -1}, "autotune: timeout must be a number from 0 to 1e9, not -1"),
        ({"timeout": float("inf")}, "autotune: timeout must be a number from 0 to 1e9, not inf"),
        ({"warmup": 10**400}, "autotune: warmup must be a number from 0 to 1e9, not 1000"),
        ({"rtol": "a"}, "autotune: rtol must be a number from 0 to 1e9, not 'a'"),
        ({"supply_type": "x"}, "autotune: supply_type must be a TensorSupplyType, not 'x'"),
        ({"ref_prog": 5}, "autotune: ref_prog must be a function, not 5"),
    ],
)
def test_values_that_no_candidate_can_have_are_told_at_once(settings, said):
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        autotune(scaled, **{"configs": [{"block": 32}], **settings})
    if "configs" in settings:
        with pytest.raises(TypeError, match=re.escape(said)):
            AutoTuner.from_kernel(scaled, settings["configs"])
        return
    tuner = AutoTuner.from_kernel(scaled, [{"block": 32}])
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        is_of_run = next(iter(settings)) in ("warmup", "timeout", "executor")
        (tuner.run if is_of_run else tuner.set_profile_args)(**settings)


def test_what_gives_no_dicts_is_told_when_called():
    with pytest.raises(TypeError, match=re.escape("configs must be a list of dicts, not 5")):
        tuned(scaled, lambda: 5)(4096)


def test_configurations_given_once_are_there_for_all_calls():
    function = tuned(scaled, ({"block": block} for block in (32, 64)))
    assert function(4096).config in ({"block": 32}, {"block": 64})
    assert function(8192).config in ({"block": 32}, {"block": 64})


class InlineExecutor(Executor):
    """Runs each task at once, as an executor of the user's own might."""

    def __init__(self) -> None:
        self.tasks = 0

    def submit(self, fn, /, *args, **kwargs):
        self.tasks += 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_one_name_of_the_configuration_is_enough_for_no_tuning():
    """As in TileLang; the other names have their defaults."""
    function = tuned(scaled, [{"block": 32, "factor": 5}, {"block": 64, "factor": 7}])
    a = np.arange(256, dtype=np.float32)
    said = "scaled is not tuned, as the call gives 'block'; 'factor' has its default"
    with pytest.warns(tl.errors.TilewrightWarning, match=said):
        kernel = function(256, block=16)
    assert kernel.config is None
    np.testing.assert_array_equal(kernel(a), a * 2)
    np.testing.assert_array_equal(function.compile(256, 16)(a), a * 2)


def test_any_executor_compiles():
    executor = InlineExecutor()
    assert tuned(scaled, [{"block": 32}, {"block": 64}], executor=executor)(4096).latency
    assert executor.tasks == 2


def test_processes_compile_into_the_cache_on_disk():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        result = autotuner.AutoTuner.from_kernel(
            tuned_by_name.function_to_tune, [{"block": 32}, {"block": "x"}]
        ).run(**QUICK, args=(4096,), executor=pool)
    assert [c.state for c in result.candidates] == ["best", "failed"]


class BrokenExecutor(Executor):
    def submit(self, fn, /, *args, **kwargs):
        future: Future[Any] = Future()
        future.set_exception(RuntimeError("the worker is gone"))
        return future


class StuckExecutor(Executor):
    def submit(self, fn, /, *args, **kwargs):
        return Future()


def test_a_broken_or_stuck_executor_is_reported():
    with pytest.raises(TuningError, match="the worker is gone"):
        tuned(scaled, [{"block": 32}], executor=BrokenExecutor())(4096)
    with pytest.raises(TuningError, match=r"not compiled within 0\.1 s"):
        tuned(scaled, [{"block": 32}], executor=StuckExecutor(), timeout=0.1)(4096)


def scaled_body(n, block=32):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block)) as x:
            for i in T.Parallel(block):
                B[x * block + i] = A[x * block + i] * 2

    return kernel


#: The name of its function stands for something else.
scaled_elsewhere = tl.jit(scaled_body, out_idx=[1])


def test_a_kernel_that_its_functions_name_does_not_stand_for():
    """An executor that may have processes compiles it here; one that has only processes can't."""
    executor = InlineExecutor()
    assert tuned(scaled_elsewhere, [{"block": 32}], executor=executor)(64).latency
    assert executor.tasks == 1
    said = (
        r"a pool of processes finds a kernel by its function's name, but '[\w.]+\.scaled_body' "
        "is not this kernel; decorate the function where it is defined, or use threads"
    )
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(TuningError, match=said):
            tuned(scaled_elsewhere, [{"block": 32}], executor=pool)(96)
        with pytest.raises(TuningError, match="the kernel's arguments don't pickle, which a pool"):
            tuned(tuned_by_name.function_to_tune, [{"block": 32}], executor=pool)(lambda: 64)


class CancellingExecutor(Executor):
    def submit(self, fn, /, *args, **kwargs):
        future: Future[Any] = Future()
        future.cancel()
        return future


def test_a_cancelled_compilation_is_told_as_one():
    with pytest.raises(TuningError, match="its compilation was cancelled"):
        tuned(scaled, [{"block": 32}], executor=CancellingExecutor())(4096)


HANGS_WHILE_COMPILING = """
import time
from concurrent.futures import ThreadPoolExecutor
import tilewright as tl
import tilewright.language as T

@tl.autotune(configs=[{"block": 64}, {"block": 77}], warmup=0, rep=1, timeout=3,
             executor=EXECUTOR)
@tl.jit(out_idx=[1])
def slow(n, block=64):
    while block == 77:
        PASS
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block)) as bx:
            T.copy(A[bx * block], B[bx * block])
    return kernel

print(slow(128).config, flush=True)
"""


@pytest.mark.parametrize("executor", ["None", "ThreadPoolExecutor(2)"])
@pytest.mark.parametrize("turn", ["pass", "time.sleep(1000)"])
def test_a_candidate_that_hangs_while_compiling_lets_the_process_end(tmp_path, turn, executor):
    """Its thread can't be stopped, and must not be waited for."""
    script = tmp_path / "hangs.py"
    text = HANGS_WHILE_COMPILING.replace("PASS", turn).replace("EXECUTOR", executor)
    script.write_text(text)
    python = str(Path(tl.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": python, "TILELANG_AUTO_TUNING_CPU_COUNTS": "2"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "{'block': 64}\n"), done.stderr


def test_the_table_puts_the_fastest_first():
    lines = format_table(
        [
            Candidate({"b": 1}, "failed", reason="no"),
            Candidate({"b": 2}, "measured", 2.0, 10.0),
            Candidate({"b": 3}, "best", 1.0, 10.0),
        ]
    ).splitlines()
    assert lines[1].split() == ["1.0000", "10.0", "best", "b=3"]
    assert lines[3].split() == ["-", "-", "failed", "b=1", "no"]


def test_a_time_limit_ends_python_code_and_leaves_ctrl_c_alone():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(TimeLimitReached), TimeLimit(0.05):
        time.sleep(5)
    with TimeLimit(5):
        pass
    with pytest.raises(KeyboardInterrupt), TimeLimit(5):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_off_the_main_thread_nothing_is_limited():
    def work() -> None:
        with TimeLimit(0.01):
            time.sleep(0.05)
        ended.append(True)

    ended: list[bool] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]


def test_a_candidate_that_is_wrong_says_where():
    def factory(n, extent):
        @T.prim_func
        def kernel(A: T.Tensor((n,), "float32")):
            with T.Kernel(1):
                tile = T.alloc_shared((extent,), "float32")
                A[0] = tile[0, 0] if extent == 8 else 1.0

        return kernel

    configs = [{"extent": 8}, {"extent": 16}]
    result = autotuner.AutoTuner.from_kernel(factory, configs).run(**QUICK, args=(64,))
    wrong = result.candidates[0]
    line = factory.__code__.co_firstlineno + 5
    said = f"test_autotuner.py:{line}: buffer 'tile' has 1 dimension but is indexed with 2"
    assert wrong.state == "failed" and wrong.reason.startswith(said)
