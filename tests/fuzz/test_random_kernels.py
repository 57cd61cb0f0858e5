# SPDX-License-Identifier: Apache-2.0
"""Random kernels: interpreter, CPU and NumPy must agree to the bit.

`TILEWRIGHT_FUZZ_CASES=10000 pytest tests/fuzz` runs more; the cases are the same in each run, and
others with another TILEWRIGHT_FUZZ_SEED. What fails is shrunk, and left in
build/fuzz/failure_N.py, N the part of the cases, for anyone to run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from failure_file import program
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from random_kernels import RandomKernel, random_inputs, random_kernel
from thread_kernels import ThreadKernel, random_thread_kernel

import tilewright
from tilewright import _compiler

CASES = int(os.environ.get("TILEWRIGHT_FUZZ_CASES", "2000"))
SHARDS = 8
#: Of them, parts with threads and several launches.
THREAD_SHARDS = 2
SEED = int(os.environ.get("TILEWRIGHT_FUZZ_SEED", "20261120"))
FAILED = Path(__file__).parents[2] / "build" / "fuzz"


class Drawn:
    """Decisions made by hypothesis, so that it can shrink them."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def integer(self, low: int, high: int) -> int:
        return self.data.draw(st.integers(low, high))


def load_kernel(source: str, folder: Path, kernel: str = "kernel") -> Any:
    """The kernel of a source text; kernels are captured from files."""
    name = "kernel_" + hashlib.sha256(source.encode()).hexdigest()[:12]
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, kernel)


def check(random: RandomKernel | ThreadKernel, folder: Path, failure: Path) -> None:
    """Compares. The program `failure` is there before anything runs, as a kernel may end the
    process, and stays unless all is right."""
    inputs = random_inputs(random, SEED)
    expected = random.reference(inputs)
    failure.parent.mkdir(parents=True, exist_ok=True)
    failure.write_text(program(random, SEED, expected))
    kernel = load_kernel(random.source, folder)
    arrays = [*inputs.values()]

    interpreted = np.zeros(random.output, np.float32)
    bound = [(a.ctypes.data, list(a.shape), []) for a in [*arrays, interpreted]]
    _, found = _compiler.interpret(kernel.capture().module, bound)  # type: ignore[arg-type]
    assert [d.message for d in found] == []
    np.testing.assert_array_equal(interpreted, expected, err_msg="interpreter and NumPy disagree")

    compiled = np.zeros(random.output, np.float32)
    tilewright.compile(kernel)(*arrays, compiled)
    np.testing.assert_array_equal(compiled, expected, err_msg="cpu and NumPy disagree")
    failure.unlink()


def random_test(shard: int) -> Callable[[Any], None]:
    """A test of its own part of the cases, so that parts run side by side."""

    @seed(SEED + shard)
    @settings(
        max_examples=max(1, CASES // SHARDS),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def test(tmp_path_factory: Any, data: st.DataObject) -> None:
        is_of_threads = shard >= SHARDS - THREAD_SHARDS
        random = (random_thread_kernel if is_of_threads else random_kernel)(Drawn(data))
        check(random, tmp_path_factory.getbasetemp(), FAILED / f"failure_{shard}.py")

    return test


for shard in range(SHARDS):
    globals()[f"test_targets_agree_on_random_kernels_{shard}"] = random_test(shard)


def drawn(make: Callable[[Any], RandomKernel | ThreadKernel]) -> RandomKernel | ThreadKernel:
    """A kernel of decisions by chance, the same in each run."""

    class Chance:
        generator = np.random.default_rng(SEED)

        def integer(self, low: int, high: int) -> int:
            return int(self.generator.integers(low, high + 1))

    return make(Chance())


def run(path: Path) -> tuple[int, str]:
    environment = os.environ | {"PYTHONPATH": str(Path(tilewright.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, env=environment, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("make", [random_kernel, random_thread_kernel])
def test_a_failure_leaves_a_program_that_shows_it(make: Any, tmp_path: Path) -> None:
    random, failure = drawn(make), tmp_path / "build" / "failure.py"
    check(random, tmp_path, failure)
    assert not failure.exists()

    right = random.reference(random_inputs(random, SEED))
    wrong = right.copy()
    wrong.flat[-1] += 1
    random.reference = lambda inputs: wrong  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match="interpreter and NumPy disagree"):
        check(random, tmp_path, failure)
    status, said = run(failure)
    place = [n - 1 for n in right.shape]
    line = f"  Out{place} is {right.flat[-1]}, should be {wrong.flat[-1]}\n"
    count = f"1 of {right.size} elements differ from NumPy's\n"
    assert (status, said) == (1, f"reference: {count}{line}cpu: {count}{line}")

    failure.write_text(program(random, SEED, right))
    assert run(failure) == (0, "reference: right\ncpu: right\n")


def test_what_ends_the_process_leaves_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ended(BaseException):
        """Nothing catches it, as nothing catches the end of a process."""

    def end(source: str, folder: Path) -> None:
        raise Ended

    monkeypatch.setattr(sys.modules[__name__], "load_kernel", end)
    failure = tmp_path / "failure.py"
    with pytest.raises(Ended):
        check(drawn(random_kernel), tmp_path, failure)
    assert run(failure) == (0, "reference: right\ncpu: right\n")
