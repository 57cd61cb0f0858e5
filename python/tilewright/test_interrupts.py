# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a process within a second, whatever it is doing: compiling, or running a kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytest.importorskip("tilewright._compiler")
from tilewright.cli.ascendc import program  # noqa: E402

#: Seconds from the signal to the end of the process.
LIMIT_S = 0.8

# With 2000 loops, a kernel that compiles for 10 s and more, most of it in LLVM.
SLOW_TO_COMPILE = """
import tilewright
import tilewright.language as T
from tilewright import _compiler

b = _compiler.KernelBuilder("kernel", _compiler.Place("kernel.py", 1, 1))
A = b.tensor("A", [4096], "float32")
b.begin_launch([1], [128])
for _ in range({loops}):
    (i,) = b.begin_parallel([4096], ["i"])
    b.store(A, [i], b.unary("exp", b.unary("sin", b.load(A, [i]))))
    b.end_parallel()
b.end_launch()
module = b.finish()
print("now", flush=True)
"""

ENDLESS = """
import numpy
import tilewright
import tilewright.language as T

@tilewright.jit
def endless():
    @T.prim_func
    def kernel(A: T.Tensor((128,), "float32")):
        with T.Kernel(4, threads=128) as b:
            sums = T.alloc_fragment((128,), "float32")
            T.clear(sums)
            for k in T.serial(10**12):
                for i in T.Parallel(128):
                    sums[i] = sums[i] * 0.5 + A[i]
            T.copy(sums, A)
    return kernel

kernel = endless()
print("now", flush=True)
"""


def interrupted_once(command, environment, delay):
    """SIGINT comes `delay` seconds after the command printed "now". Gives the seconds until it
    ended, its status, and what else it printed."""
    with subprocess.Popen(
        command,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n", process.communicate()[1]
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        try:
            output, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return time.monotonic() - started, (process.returncode, output, errors)


@pytest.fixture
def interrupt(tmp_path):
    """Runs a script as above; checks that it ends in time, and gives its status and its output. A
    machine that does much else may take longer: one of three runs counts."""

    def run(script, delay, before=(), limit_s=LIMIT_S):
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(script))
        paths = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"),
        }
        command = [sys.executable, *before, str(path)]
        times = []
        for _ in range(3):
            seconds, answer = interrupted_once(command, environment, delay)
            times.append(seconds)
            if seconds < limit_s:
                return answer
        pytest.fail(f"the process ended after {', '.join(f'{s:.2f} s' for s in times)}")

    return run


CATCHING = """
try:
    _compiler.compile(module)
except KeyboardInterrupt:
    print("interrupted")
"""


# In MLIR's passes, and in LLVM's.
@pytest.mark.parametrize("delay", [0.2, 3])
def test_a_process_that_compiles(interrupt, delay):
    script = SLOW_TO_COMPILE.format(loops=2000) + CATCHING
    status, output, errors = interrupt(script, delay)
    assert (status, output, errors) == (0, "interrupted\n", "")  # nanobind would name what leaks


def test_the_status_of_a_script_stays(interrupt):
    script = SLOW_TO_COMPILE.format(loops=2000) + CATCHING + "raise SystemExit(7)\n"
    status, output, errors = interrupt(script, 0.3)
    assert (status, output, errors) == (7, "interrupted\n", "")


def test_an_interrupt_that_nobody_catches(interrupt):
    script = SLOW_TO_COMPILE.format(loops=2000) + "_compiler.compile(module)\n"
    status, _, errors = interrupt(script, 0.3)
    assert status == -signal.SIGINT
    assert errors.endswith("KeyboardInterrupt\n")


@pytest.mark.parametrize("is_running", [False, True])
def test_the_command_run(interrupt, is_running):
    compiling = SLOW_TO_COMPILE.format(loops=2000) + "_compiler.compile(module)\n"
    running = ENDLESS + "kernel(numpy.ones(128, numpy.float32))\n"
    script = running if is_running else compiling
    status, _, errors = interrupt(script, 0.5, ("-m", "tilewright", "run"))
    assert (status, errors) == (130, "tilewright: interrupted\n")


REFERENCE = """
import numpy
import tilewright
import tilewright.language as T

@tilewright.jit(target="reference")
def endless():
    @T.prim_func
    def kernel(A: T.Tensor((512, 512), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((512, 512), "float32")
            sums = T.alloc_fragment((512, 512), "float32")
            T.clear(tile)
            T.clear(sums)
            for k in T.serial(10**9):
                T.gemm(tile, tile, sums)
    return kernel

kernel = endless()
print("now", flush=True)
try:
    kernel(numpy.ones((512, 512), numpy.float32))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_the_reference_interpreter(interrupt):
    status, output, errors = interrupt(REFERENCE, 1)
    assert (status, output, errors) == (0, "interrupted\n", "")


def test_a_compilation_of_a_kernel_that_was_interrupted(interrupt):
    script = (
        SLOW_TO_COMPILE.format(loops=40)
        + """
try:
    _compiler.compile(module)
except KeyboardInterrupt:
    artifact, diagnostics = _compiler.compile(module)
    print(len(artifact.library) > 1000, diagnostics)
"""
    )
    status, output, errors = interrupt(script, 0.02, limit_s=60)
    assert (status, output, errors) == (0, "True []\n", "")


def test_the_compiler_of_ascend_c_ends_too(interrupt, tmp_path, monkeypatch):
    started = tmp_path / "started"
    driver = tmp_path / "driver"
    driver.write_text(
        f"#!/bin/sh\nsleep 60 &\necho $! > {started}.part\nmv {started}.part {started}\nwait\n"
    )
    driver.chmod(0o700)
    monkeypatch.setenv("TILEWRIGHT_ASCENDC", str(driver))
    script = f"""
import os, threading, time
from tilewright import _compiler

b = _compiler.KernelBuilder("kernel", _compiler.Place("kernel.py", 1, 1))
A = b.tensor("A", [64], "float32")
b.begin_launch([1], [128])
(i,) = b.begin_parallel([64], ["i"])
b.store(A, [i], 1.0)
b.end_parallel()
b.end_launch()
module = b.finish()

if os.path.exists({str(started)!r}):
    os.remove({str(started)!r})

def tell():
    while not os.path.exists({str(started)!r}):
        time.sleep(0.01)
    print("now", flush=True)

threading.Thread(target=tell, daemon=True).start()
try:
    _compiler.compile(module, _compiler.CompileOptions("ascend"))
except KeyboardInterrupt:
    print("interrupted")
"""
    status, output, errors = interrupt(script, 0.05)
    assert (status, output, errors) == (0, "interrupted\n", "")
    sleeper = Path("/proc", started.read_text().strip())
    deadline = time.monotonic() + 5
    while sleeper.exists() and time.monotonic() < deadline:
        time.sleep(0.02)  # until its new parent has noticed
    assert not sleeper.exists() or "Z" in (sleeper / "stat").read_text().split()[2]


ASCEND = """
import numpy
import tilewright
import tilewright.language as T

@tilewright.jit(target="ascend")
def endless():
    @T.prim_func
    def kernel(A: T.Tensor((64, 128), "float32")):
        with T.Kernel(64, is_npu=True) as (cid, vid):
            tile = T.alloc_ub((128,), "float32")
            T.copy(A[cid, 0], tile)
            T.barrier_all()
            for k in T.serial(10**9):
                T.tile.add(tile, tile, 1.0)
                T.barrier_all()
            T.copy(tile, A[cid, 0])
    return kernel

kernel = endless()
print("now", flush=True)
try:
    kernel(numpy.ones((64, 128), numpy.float32))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(program() is None, reason="tilewright-ascendc is not built")
def test_a_kernel_on_the_ascend_host(interrupt):
    status, output, errors = interrupt(ASCEND, 0.6)
    assert (status, output, errors) == (0, "interrupted\n", "")


TUNING = """
import tilewright
import tilewright.language as T

@tilewright.autotune(configs=[{"block": 32}, {"block": 64}])
@tilewright.jit
def tuned(N, block=32):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32")):
        with T.Kernel(N // block, threads=128) as b:
            tile = T.alloc_fragment((block,), "float32")
            T.copy(A[b * block], tile)
            for k in T.serial(10**12):
                for i in T.Parallel(block):
                    tile[i] = T.exp(T.sin(tile[i]))
            T.copy(tile, A[b * block])
    return kernel

print("now", flush=True)
try:
    tuned(4096)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_the_autotuner_while_it_measures(interrupt):
    status, output, errors = interrupt(TUNING, 2)
    assert (status, output, errors) == (0, "interrupted\n", "")


COMPILED_IN_A_POOL = """
import tilewright
import tilewright.language as T

{decorator}
@tilewright.jit
def kernels(N, threads=128):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32")):
        with T.Kernel(1, threads=threads) as b:
            pass
{loops}
    return kernel

print("now", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("decorator", "call"),
    [
        ('@tilewright.autotune(configs=[{"threads": 64}, {"threads": 128}])', "kernels(4096)"),
        ("", "kernels.par_compile([{'N': 4096}, {'N': 8192}])"),
    ],
)
def test_a_pool_that_compiles(interrupt, decorator, call):
    loop = " " * 12 + "for i in T.Parallel(N):\n" + " " * 16 + "A[i] = T.exp(T.sin(A[i]))"
    loops = "\n".join([loop] * 2500)
    script = COMPILED_IN_A_POOL.format(decorator=decorator, loops=loops, call=call)
    status, output, errors = interrupt(script, 4)
    assert (status, output, errors) == (0, "interrupted\n", "")
