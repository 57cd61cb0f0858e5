# SPDX-License-Identifier: Apache-2.0
"""How compiled kernels behave in a process: cache hits, Ctrl-C, threads, fork, torch beside us.

Each case is a process of its own, which runs a file with kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("tilewright._compiler")

KERNELS = """
import os, signal, sys, threading, time
import tilewright
import tilewright.language as T

@tilewright.jit(out_idx=[1])
def scale(n, factor):
    @T.prim_func
    def scale_kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as b:
            for i in T.Parallel(128):
                B[b * 128 + i] = A[b * 128 + i] * T.float32(factor)
    return scale_kernel

@tilewright.jit
def very_long(blocks):
    @T.prim_func
    def very_long_kernel(A: T.Tensor((128,), "float32")):
        with T.Kernel(blocks, threads=128) as b:
            sums = T.alloc_fragment((128,), "float32")
            T.clear(sums)
            for k in T.serial(10**12):
                for i in T.Parallel(128):
                    sums[i] = sums[i] * 0.5 + A[i]
            T.copy(sums, A)
    return very_long_kernel

def maps(word):
    with open("/proc/self/maps") as lines:
        return sorted({line.split()[-1] for line in lines if word in line})
"""


@pytest.fixture
def run(tmp_path):
    """Runs code after KERNELS in a new process; gives the words that it prints."""

    def run_code(code, before=""):
        path = tmp_path / "kernels_of_a_user.py"
        path.write_text(before + KERNELS + textwrap.dedent(code))
        paths = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"),
        }
        answer = subprocess.run(
            [sys.executable, str(path)],
            env=environment, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert (answer.returncode, answer.stderr) == (0, "")
        return answer.stdout.split()

    return run_code


CALL = """
import numpy as np
kernel = scale(1000, 3.0)
assert (kernel(np.full(1000, 2.0, np.float32)) == 6.0).all()
"""


def test_a_cache_hit_loads_no_compiler(run):
    hit = CALL + 'print("hit", *maps("LLVM"), *maps("MLIR"), *maps("torch"), *maps("_compiler"))'
    assert len(run(hit)) > 1
    assert run(hit) == ["hit"]


def test_import_loads_no_framework(run):
    code = """
    print("imported", *sorted({"numpy", "torch", "tilewright._compiler"} & set(sys.modules)))
    """
    assert run(code) == ["imported"]


def test_a_damaged_entry_is_compiled_again(run, tmp_path):
    run(CALL)
    libraries = list((tmp_path / "cache").rglob("kernel.so"))
    assert len(libraries) == 1
    whole = libraries[0].read_bytes()
    for damaged in (b"", whole[:-1], whole[:100] + b"?" + whole[101:]):
        libraries[0].write_bytes(damaged)
        assert "compiled" in run(CALL + 'print("compiled" if maps("_compiler") else "hit")')
        assert libraries[0].read_bytes() == whole
        assert "hit" in run(CALL + 'print("compiled" if maps("_compiler") else "hit")')


@pytest.mark.parametrize("before", ["import torch", ""])
def test_torch_before_and_after_us(run, before):
    """Two LLVMs may live in one process: torch has one inside, and is used after we compiled."""
    pytest.importorskip("torch")
    code = """
    kernel = scale(1000, 3.0)
    import torch
    assert torch.equal(kernel(torch.full((1000,), 2.0)), torch.full((1000,), 6.0))
    assert torch.linalg.svdvals(torch.eye(64)).sum() == 64
    assert scale(256, 2.0)(torch.ones(256)).sum() == 512
    print("done")
    """
    assert run(code, before) == ["done"]


@pytest.mark.parametrize("blocks", [1, 8])
def test_ctrl_c_ends_a_compiled_kernel(run, blocks):
    code = f"""
    import numpy as np
    kernel = very_long({blocks})
    for _ in range(2):
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = time.monotonic()
        try:
            kernel(np.ones(128, np.float32))
        except KeyboardInterrupt:
            print(time.monotonic() - started < 1.2)
    """
    assert run(code) == ["True", "True"]


def test_threads_and_fork(run):
    code = """
    import numpy as np
    kernel = scale(100_000, 3.0)
    def call(times=20):
        for i in range(times):
            x = np.full(100_000, i, np.float32)
            assert (kernel(x) == x * 3).all()
    call(1)
    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    child = os.fork()
    if child == 0:
        call()
        scale(512, 4.0)(np.ones(512, np.float32))
        os._exit(7)
    for thread in threads:
        thread.join()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert run(code) == ["7"]


def test_the_process_may_end_while_daemon_threads_run_kernels(run):
    code = """
    import numpy as np
    kernel = scale(1000, 3.0)
    x = np.ones(1000, np.float32)
    def forever():
        while True:
            kernel(x)
    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()
    threading.Thread(target=very_long(2), args=(x[:128],), daemon=True).start()
    time.sleep(0.2)
    print("end")
    """
    assert run(code) == ["end"]


def test_debuggers_find_the_names(run, tmp_path):
    """gdb and perf look in the mapped file for the function's symbol."""
    library = next(path for path in run(CALL + 'print(*maps("kernel.so"))'))
    assert library.startswith(str(tmp_path))
    assert b"scale_kernel_blocks" in Path(library).read_bytes()
