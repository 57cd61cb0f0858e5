# SPDX-License-Identifier: Apache-2.0
"""How kernels run: on all cores, interruptible, from several threads, after fork, with faults."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tilewright
from tilewright import _runtime
from tilewright.kernel_fixtures import build_library, manifest_of, scalar, symbol_dim, tensor

COUNT = "__atomic_fetch_add((int64_t *)slots[0] + b, 1, __ATOMIC_RELAXED);"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture(scope="module")
def load(folder):
    made = {}

    def load_kernel(name, body, params, grid="1, 1, 1", out_idx=(), **more):
        if name not in made:
            made[name] = str(build_library(folder, name, body, grid))
        return _runtime.Kernel(made[name], manifest_of(name, params, **more), list(out_idx))

    return load_kernel


@pytest.fixture(autouse=True)
def threads():
    _runtime.set_num_threads(2)
    yield
    _runtime.set_num_threads(0)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_block_runs_once(load, count):
    _runtime.set_num_threads(count)
    assert _runtime.get_num_threads() == count
    grid = "slots[1] * 3, 2, slots[1] > 0"
    params = [tensor("counts", [symbol_dim(0, 6)], "int64")]
    kernel = load("count", COUNT, params, grid, symbols=["n"])
    for n in [1, 2, 10, 1000, 30_000, 7, 0, 100_000]:
        counts = np.zeros(6 * n, np.int64)
        kernel(counts)
        assert (counts == 1).all(), n


def test_default_thread_count():
    assert tilewright.set_num_threads is _runtime.set_num_threads
    _runtime.set_num_threads(0)
    assert _runtime.get_num_threads() == len(os.sched_getaffinity(0))


def test_blocks_run_on_several_threads(load):
    body = """
    extern int gettid(void); ((int64_t *)slots[0])[b] = gettid();
    for (volatile int64_t i = 0; i < 300000; ++i) ;
    """
    kernel = load("tids", body, [tensor("tids", [64], "int64")], "64, 1, 1")
    tids = np.zeros(64, np.int64)
    deadline = time.monotonic() + 10
    while len(set(tids)) < 2 and time.monotonic() < deadline:
        kernel(tids)
    assert len(set(tids)) == 2
    _runtime.set_num_threads(1)
    kernel(tids)
    assert set(tids) == {threading.get_native_id()}


def test_bad_grid(load):
    params = [scalar("x", "int64"), scalar("y", "int64")]
    kernel = load("grid", ";", params, "slots[0], slots[1], 0")
    kernel(5, 5)
    with pytest.raises(RuntimeError, match=re.escape("grid: the grid is (-1, 5, 0) but extents")):
        kernel(-1, 5)
    with pytest.raises(RuntimeError, match="of less than 2\\^62 blocks, were expected"):
        kernel(1 << 40, 1 << 40)


def test_scratch_is_aligned_and_private(load):
    body = """
    int64_t *mine = (int64_t *)scratch, n = 3000000 / 8;
    for (int64_t i = 0; i < n; ++i) mine[i] = b;
    int64_t same = 1;
    for (int64_t i = 0; i < n; ++i) same &= mine[i] == b;
    ((int64_t *)slots[0])[b] = same && (uintptr_t)scratch % 64 == 0;
    """
    params = [tensor("ok", [16], "int64")]
    kernel = load("scratch", body, params, "16, 1, 1", scratch_bytes=3_000_000)
    ok = np.zeros(16, np.int64)
    kernel(ok)
    assert ok.all()
    huge = load("scratch", body, params, "16, 1, 1", scratch_bytes=1 << 40)
    message = "scratch: no memory for 1099511627776 bytes of on-chip buffers per thread"
    try:
        huge(ok)
    except MemoryError as error:
        assert str(error) == message
    else:
        pytest.skip("this system promises any amount of memory")


def test_print_reaches_python(load, capsys):
    body = """
    char text[2] = {'0' + b, '\\n'}; launch->print(launch, text, 2);
    """
    load("printing", body, [], "4, 1, 1")()
    assert sorted(capsys.readouterr().out.split()) == ["0", "1", "2", "3"]


# The first block fails; all others would never end by themselves.
ASSERTING = """
if (b == 0) { launch->device_error = 1 + slots[0]; launch->leave(launch); }
for (;;) if (launch->stop) launch->leave(launch);
"""


def test_device_assert(load):
    asserts = [
        {"message": "x is negative", "file": "kernel.py", "line": 21, "column": 9},
        {"message": "nobody is left", "file": "kernel.py", "line": 22, "column": 5},
        {"message": "device_assert failed: nowhere", "file": "", "line": 0, "column": 0},
    ]
    params = [scalar("which", "int32")]
    kernel = load("asserting", ASSERTING, params, "4, 1, 1", asserts=asserts)
    messages = {
        0: "kernel.py:21:9: error: x is negative",
        1: "kernel.py:22:5: error: nobody is left",
        2: "asserting: device_assert failed: nowhere",
        9: "asserting: device_assert failed",
    }
    for which, message in messages.items():
        with pytest.raises(RuntimeError, match="^" + re.escape(message) + "$"):
            kernel(which)


@pytest.mark.parametrize("grid", ["1, 1, 1", "8, 1, 1"])
def test_faults_are_errors(load, grid):
    kind = grid[0]
    reading = load(
        "reading" + kind, "*(volatile int *)(slots[0]) = 1;", [scalar("p", "int64")], grid
    )
    for _ in range(3):
        message = (
            f"^reading{kind}: the kernel touched memory at 0x1238, which is outside its tensors$"
        )
        with pytest.raises(RuntimeError, match=message):
            reading(0x1238)
    body = "volatile int64_t x = slots[0]; ((volatile int64_t *)slots)[0] = 100 / x;"
    dividing = load("dividing" + kind, body, [scalar("d", "int64")], grid)
    dividing(1)
    with pytest.raises(
        RuntimeError, match=f"^dividing{kind}: the kernel divided an integer by zero"
    ):
        dividing(0)
    illegal = load("illegal" + kind, "__builtin_trap();", [], grid)
    with pytest.raises(
        RuntimeError, match="has an instruction that this CPU lacks, at 0x.*'x86-64'"
    ):
        illegal()


def test_faults_outside_kernels_still_end_the_process():
    code = "import tilewright._runtime as r, ctypes; ctypes.string_at(16)"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, env=environment(), check=False).returncode == -signal.SIGSEGV


def test_the_gil_is_free_meanwhile(load):
    body = "while (!*(volatile int64_t *)slots[0]) if (launch->stop) launch->leave(launch);"
    kernel = load("waiting", body, [tensor("go", [1], "int64")], "2, 1, 1")
    go = np.zeros(1, np.int64)
    timer = threading.Timer(0.1, lambda: go.fill(1))
    timer.start()
    kernel(go)
    timer.join()


def test_calls_from_several_threads(load):
    body = COUNT + "for (volatile int i = 0; i < 100; ++i) ;"
    kernel = load("shared", body, [tensor("counts", [2000], "int64")], "2000, 1, 1")
    problems = []

    def call_often():
        for _ in range(50):
            counts = np.zeros(2000, np.int64)
            kernel(counts)
            if not (counts == 1).all():
                problems.append(counts)

    callers = [threading.Thread(target=call_often) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not problems


def environment():
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}


def run_python(code, *arguments, timeout=60):
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    answer = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=timeout, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.split()


def test_after_fork(load, folder):
    """A child of a process whose threads are busy runs kernels, also when interrupted."""
    params = [tensor("counts", [2000], "int64")]
    load("forked", COUNT + "for (volatile int i = 0; i < 1000; ++i) ;", params, "2000, 1, 1")
    manifest = manifest_of("forked", params)
    code = """
    import os, sys, threading
    import numpy as np
    from tilewright import _runtime
    _runtime.set_num_threads(2)
    kernel = _runtime.Kernel(sys.argv[1], sys.argv[2])
    def call(times):
        for _ in range(times):
            counts = np.zeros(2000, np.int64)
            kernel(counts)
            assert (counts == 1).all()
    call(3)
    caller = threading.Thread(target=call, args=(200,))
    caller.start()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            call(20)
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    caller.join()
    print("done")
    """
    assert run_python(code, str(folder / "forked.so"), manifest) == ["done"]


def test_where_no_threads_can_be_made(load, folder):
    params = [tensor("counts", [2000], "int64")]
    load("forked", COUNT + "for (volatile int i = 0; i < 1000; ++i) ;", params, "2000, 1, 1")
    code = """
    import resource, sys
    import numpy as np
    from tilewright import _runtime
    _runtime.set_num_threads(8)
    kernel = _runtime.Kernel(sys.argv[1], sys.argv[2])
    counts = np.zeros(2000, np.int64)
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    stack = 2 << 20  # too little for the stack of a thread
    resource.setrlimit(resource.RLIMIT_AS, (used + stack, resource.RLIM_INFINITY))
    kernel(counts)
    print((counts == 1).all())
    """
    assert run_python(code, str(folder / "forked.so"), manifest_of("forked", params)) == ["True"]


ENDLESS = "for (;;) if (launch->stop) launch->leave(launch);"
INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from tilewright import _runtime
_runtime.set_num_threads(int(sys.argv[3]))
kernel = _runtime.Kernel(sys.argv[1], sys.argv[2])
def interrupt():
    global sent
    time.sleep(0.3)
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
for _ in range(3):
    threading.Thread(target=interrupt).start()
    try:
        kernel()
    except KeyboardInterrupt:
        print("interrupted", round(time.monotonic() - sent, 3))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
try:  # and outside a kernel, Ctrl-C is as before
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)
except KeyboardInterrupt:
    print("python")
"""


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("grid", ["1, 1, 1", "2, 1, 1", "1000, 1, 1"])
def test_ctrl_c_ends_an_endless_kernel(load, folder, threads, grid):
    name = "endless" + grid.partition(",")[0]
    load(name, ENDLESS, [], grid)
    library = str(folder / f"{name}.so")
    words = run_python(INTERRUPTED, library, manifest_of(name, []), threads)
    assert words[0::2] == ["interrupted"] * 3 + ["python"]
    assert all(float(seconds) < 1 for seconds in words[1::2])


def test_ctrl_c_between_blocks(load, folder):
    """A kernel without a look at `stop` inside its blocks ends between them."""
    body = "for (volatile int64_t i = 0; i < 3000000; ++i) ;"
    load("slow", body, [], "100000, 1, 1")
    words = run_python(INTERRUPTED, str(folder / "slow.so"), manifest_of("slow", []), "2")
    assert words[0::2] == ["interrupted"] * 3 + ["python"]
    assert all(float(seconds) < 1 for seconds in words[1::2])


def test_other_signals_are_handled_between_blocks(load, folder):
    load("slow", "for (volatile int64_t i = 0; i < 3000000; ++i) ;", [], "100000, 1, 1")
    code = """
    import signal, sys, time
    from tilewright import _runtime
    kernel = _runtime.Kernel(sys.argv[1], sys.argv[2])
    seen = []
    def handle(number, frame):
        seen.append(number)
        if len(seen) == 3:
            raise TimeoutError("enough")
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    started = time.monotonic()
    try:
        kernel()
    except TimeoutError:
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(len(seen), time.monotonic() - started < 1)
    """
    assert run_python(code, str(folder / "slow.so"), manifest_of("slow", [])) == ["3", "True"]


def test_ctrl_c_after_fork(load, folder):
    load("endless1", ENDLESS, [], "1, 1, 1")
    code = """
    import os, signal, sys, time
    from tilewright import _runtime
    kernel = _runtime.Kernel(sys.argv[1], sys.argv[2])
    signal.alarm(20)
    parent = os.getpid()
    child = os.fork()
    if child != 0:
        time.sleep(0.4)
        os.kill(child, signal.SIGINT)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    else:
        signal.alarm(10)
        try:
            kernel()
        except KeyboardInterrupt:
            os._exit(9)
    """
    words = run_python(code, str(folder / "endless1.so"), manifest_of("endless1", []))
    assert words == ["9"]
