# SPDX-License-Identifier: Apache-2.0
"""How fast the Ascend host is: seconds of a launch with and without checks, of a start, of a
build. Needs the build folder of the simulator."""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build"))
PROGRAM = BUILD / "benchmarks" / "ascend" / "bin" / "host_speed"
DRIVER = BUILD / "bin" / "tilewright-ascendc"
EXAMPLE = ROOT / "examples" / "ascend" / "relu_custom.cpp"
HUNDRED_LINES = ROOT / "benchmarks" / "ascend" / "hundred_lines.cpp"
REPEATS = 5


def launch(kernel: str, options: str) -> float:
    """Seconds of one launch, the median of some processes."""
    seconds = []
    for _ in range(REPEATS):
        answer = subprocess.run(
            [str(PROGRAM), kernel],
            env=os.environ | {"TILEWRIGHT_ASCEND": options},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        )
        seconds.append(float(answer.stdout.split()[-1]))
    return statistics.median(seconds)


def timed(command: list[str]) -> float:
    """Seconds of a whole process, the median of some; the first is not counted."""
    seconds = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True, timeout=100)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def build() -> float:
    """Seconds to build a program whose kernel has about 100 lines."""
    with tempfile.TemporaryDirectory() as folder:
        return timed([str(DRIVER), "build", str(HUNDRED_LINES), "-o", f"{folder}/program"])


def start_up() -> float:
    """Seconds of a whole run of the example."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/program"
        subprocess.run([str(DRIVER), "build", str(EXAMPLE), "-o", program], check=True)
        return timed([program])


def rows() -> dict[str, Callable[[], float]]:
    """Each row's name and what measures it; all in seconds."""
    return {
        "ascend_host/add_8192": lambda: launch("add", ""),
        "ascend_host/add_8192/no_check": lambda: launch("add", "no-check"),
        "ascend_host/matmul_1024": lambda: launch("matmul", ""),
        "ascend_host/matmul_1024/no_check": lambda: launch("matmul", "no-check"),
        "ascend_host/start_up": start_up,
        "ascend_host/build_100_lines": build,
    }


if __name__ == "__main__":
    for name, measure in rows().items():
        print(f"{name:36}{measure():8.3f} s", flush=True)
