# SPDX-License-Identifier: Apache-2.0
"""Random kernels: interpreter, CPU and NumPy must agree to the bit.

`TILEWRIGHT_FUZZ_CASES=10000 pytest tests/fuzz` runs more; the cases are the same in each run. What
fails is shrunk, and the kernel is left in build/fuzz for anyone to run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import tilewright
from tilewright import _compiler

sys.path.insert(0, str(Path(__file__).parent))
from random_kernels import RandomKernel, random_inputs, random_kernel  # noqa: E402
from thread_kernels import ThreadKernel, random_thread_kernel  # noqa: E402

CASES = int(os.environ.get("TILEWRIGHT_FUZZ_CASES", "2000"))
SHARDS = 8
#: Of them, parts with threads and several launches.
THREAD_SHARDS = 2
SEED = 20261120
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


def check(random: RandomKernel | ThreadKernel, folder: Path) -> None:
    inputs = random_inputs(random, SEED)
    expected = random.reference(inputs)
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
        try:
            check(random, tmp_path_factory.getbasetemp())
        except Exception:
            FAILED.mkdir(parents=True, exist_ok=True)
            (FAILED / "last_failure.py").write_text(random.source)
            raise

    return test


for shard in range(SHARDS):
    globals()[f"test_targets_agree_on_random_kernels_{shard}"] = random_test(shard)
