# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a script and all that it started, with one line."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interrupts import SPEAKER, UNREAD
from sources import ROOT

#: A script whose process starts another one, which says who it is.
SCRIPT = """
import subprocess, sys
from interrupts import run_until_interrupted

def main():
    subprocess.run(["bash", "-c", {command!r}])
    return 0

sys.exit(run_until_interrupted(main, {patience}))
"""


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def interrupted(command, **environment):
    """The first line that it printed before SIGINT to it alone, all that came then, and its
    status."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT / "scripts",
        env={k: v for k, v in os.environ.items() if k != SPEAKER} | environment,
    ) as process:
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
        return line, rest + errors, process.returncode


@pytest.mark.parametrize(
    ("command", "patience"),
    [
        ("bash -c 'echo $$; exec sleep 100'; true", 10),
        ("sleep 100 & echo $!; wait", 0.1),
        ("trap 'bash -c \"exec sleep 100\"' INT; echo $$; sleep 100", 10),
    ],
    ids=["ends", "ignores it, as background jobs do", "starts another at the signal"],
)
def test_all_that_a_script_started_ends(command, patience):
    code = SCRIPT.format(command=command, patience=patience)
    line, errors, status = interrupted([sys.executable, "-c", code])
    assert errors == "\ninterrupted; the same command goes on where it stopped\n"
    assert status == 130
    time.sleep(0.05)
    assert not is_running(int(line))


def test_a_script_that_another_one_started_says_nothing(tmp_path):
    inner = tmp_path / "inner.py"
    inner.write_text(SCRIPT.format(command="echo $$; exec sleep 100", patience=10))
    started = f"PYTHONPATH={ROOT / 'scripts'} {sys.executable} {inner}; true"
    code = SCRIPT.format(command=started, patience=10)
    line, errors, status = interrupted([sys.executable, "-c", code])
    assert errors == "\ninterrupted; the same command goes on where it stopped\n"
    assert status == 130
    assert not is_running(int(line))


def test_a_build(tmp_path):
    """With a program `cmake` that starts what never ends."""
    cmake = tmp_path / "cmake"
    cmake.write_text("#!/bin/bash\nbash -c 'echo $$; exec sleep 100'\ntrue\n")
    cmake.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    line, errors, status = interrupted([sys.executable, "build.py", "release"], PATH=path)
    assert errors == "\ninterrupted; the same command goes on where it stopped\n"
    assert status == 130
    assert not is_running(int(line))


def test_checks_side_by_side(tmp_path):
    """What Ctrl-C ends has not failed, and what waits for its turn doesn't begin."""
    started = tmp_path / "started"
    code = f"""
import pathlib, sys, time
from concurrent.futures import ThreadPoolExecutor
import check
from interrupts import run_until_interrupted

started = pathlib.Path({str(started)!r})

def main():
    command = ["bash", "-c", f"echo $$ >> {{started}}; exec sleep 100"]
    with ThreadPoolExecutor(1) as pool:
        jobs = [pool.submit(check.run, "sleep", command) for _ in range(2)]
        while not started.exists() or not started.read_text():
            time.sleep(0.01)
        print(started.read_text(), end="", flush=True)
        return jobs[0].result()

sys.exit(run_until_interrupted(main))
"""
    line, errors, status = interrupted([sys.executable, "-c", code])
    assert errors == "\ninterrupted; the same command goes on where it stopped\n"
    assert status == 130
    assert started.read_text() == line
    assert not is_running(int(line))


@pytest.mark.parametrize(
    "script",
    ["build.py", "setup.py", "run_tests.py", "check.py", "make_docs.py", "../benchmarks/run.py"],
)
def test_every_script_of_the_makefile(script):
    text = (ROOT / "scripts" / script).read_text()
    assert "sys.exit(run_until_interrupted(" in text


def test_nobody_reads():
    """It ends what it started, without a traceback."""
    script = """
import subprocess, sys
from interrupts import run_until_interrupted

def main():
    started = subprocess.Popen(["sleep", "100"])
    print(started.pid, flush=True)
    sys.stdin.readline()
    print("more", flush=True)
    return 0

sys.exit(run_until_interrupted(main))
"""
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT / "scripts",
    ) as process:
        started = int(process.stdout.readline())
        process.stdout.close()
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert process.stderr.read() == ""
        assert process.wait(60) == UNREAD
        assert not is_running(started)
