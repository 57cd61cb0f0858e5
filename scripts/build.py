# SPDX-License-Identifier: Apache-2.0
"""Configures and builds one preset of CMakePresets.json, and says how long it took."""

import argparse
import compileall
import subprocess
import sys
import time
from pathlib import Path

from interrupts import run_until_interrupted

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Gives the status of the first step that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("preset")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    folder = ROOT / {"release": "build"}.get(options.preset, f"build-{options.preset}")
    start = time.monotonic()
    steps = [["cmake", "--build", "--preset", options.preset, "--parallel", str(options.jobs)]]
    if not (folder / "build.ninja").exists():
        configure = ["cmake", "--preset", options.preset, "--log-level=WARNING"]
        # A build folder that was moved, or configured with another compiler, is of no use.
        steps.insert(
            0, [*configure, *(["--fresh"] if (folder / "CMakeCache.txt").exists() else [])]
        )
    for step in steps:
        status = subprocess.run(step, cwd=ROOT, check=False).returncode
        if status != 0:
            print(f"build: failed: {' '.join(step)}", file=sys.stderr)
            return status
    # Where Python keeps no bytecode of its own, each process would compile the package anew.
    compileall.compile_dir(ROOT / "python", quiet=2)
    print(f"build: {options.preset} in {time.monotonic() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(run_until_interrupted(main))
