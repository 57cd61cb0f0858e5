# SPDX-License-Identifier: Apache-2.0
"""The pool of threads that compile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tilewright
from tilewright.cancellation import cancellation
from tilewright.compile_pool import CompilePool, compile_pool


def test_results_and_failures_come_in_order():
    with compile_pool(2) as pool:
        assert list(pool.map(lambda x: x * 2, range(20))) == list(range(0, 40, 2))
        with pytest.raises(ZeroDivisionError):
            pool.submit(lambda: 1 // 0).result()
    with CompilePool(1) as pool:  # waits, and cancels nothing
        done = [pool.submit(int, "7") for _ in range(5)]
    assert [future.result() for future in done] == [7] * 5


def test_the_end_of_the_block_cancels():
    entered, said = threading.Event(), []

    def work():
        is_cancelled = cancellation()
        assert is_cancelled is not None
        said.append(is_cancelled())
        entered.set()
        while not is_cancelled():
            pass

    with compile_pool(1) as pool:
        running, waiting = pool.submit(work), pool.submit(work)
        entered.wait(10)
    running.result(10)
    assert waiting.cancelled() and said == [False]
    with pytest.raises(RuntimeError, match="the pool is shut down"):
        pool.submit(work)


ONE_KERNEL = """
import sys
import tilewright
import tilewright.language as T

@T.prim_func
def kernel(A: T.Tensor((4,), "float32")):
    with T.Kernel(1) as bx:
        A[0] = 1

tilewright.compile(kernel)
print([name for name in sys.modules if name.startswith("concurrent")])
"""


def test_one_kernel_imports_no_pool(tmp_path):
    """The import costs milliseconds, which only a pool should pay."""
    script = tmp_path / "one.py"
    script.write_text(ONE_KERNEL)
    python = str(Path(tilewright.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": python, "TILEWRIGHT_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr
