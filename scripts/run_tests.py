# SPDX-License-Identifier: Apache-2.0
"""Runs every kind of test in a phase of its own; the last line is N passed, N failed, N skipped.

The phases: check (scripts/check.py), ctest (GoogleTest), sanitized (the GoogleTests of code without
MLIR, under sanitizers, where build-sanitized is there), lit (IR tests), pytest. Each leaves a
JUnit file in `build/reports`, from which the counts come; a phase that fails without naming a test
counts as one failure. Skipped tests are listed with their reasons: they prove nothing.
"""

import argparse
import re
import shlex
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from interrupts import run_until_interrupted
from sources import ROOT, files_with

NO_TESTS_COLLECTED = 5  # pytest's status


@dataclass
class Counts:
    """What one phase, or all together, came to."""

    passed: int = 0
    failures: list[str] = field(default_factory=list)
    skips: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Counts") -> None:
        """Adds another phase's counts to these."""
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips

    def summary(self) -> str:
        """The one line."""
        return f"{self.passed} passed, {len(self.failures)} failed, {self.skips.total()} skipped"


def skip_reason(case: ElementTree.Element) -> str:
    """Why a case was skipped: GoogleTest's sentence where ctest only says that it was."""
    printed = re.search(r": Skipped\n(.+)", case.findtext("system-out") or "")
    if printed:
        return printed[1]
    skipped = case.find("skipped")
    message = skipped.get("message", "") if skipped is not None else ""
    # ctest's own words for it say nothing.
    return f"no reason given: {case.get('name')}" if message[:5] in ("", "SKIP_") else message


def read_junit(path: Path) -> Counts:
    """Counts the cases of a JUnit file as pytest, lit and ctest write it."""
    counts = Counts()
    if not path.exists():
        return counts
    for case in ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        skipped = case.find("skipped")
        if (
            case.find("failure") is not None
            or case.find("error") is not None
            or case.get("status") == "fail"
        ):
            counts.failures.append(name)
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            counts.skips[skip_reason(case)] += 1
        else:
            counts.passed += 1
    return counts


def run_phase(name: str, command: str, report: Path | None) -> Counts:
    """Runs one phase with its output shown."""
    print(f"\n=== {name}", flush=True)
    start = time.monotonic()
    if report:
        report.unlink(missing_ok=True)
    words = shlex.split(command)
    status = subprocess.run(words, cwd=ROOT, check=False, stdin=subprocess.DEVNULL).returncode
    counts = read_junit(report) if report else Counts(passed=int(status == 0))
    nothing_collected = name == "pytest" and status == NO_TESTS_COLLECTED
    if status != 0 and not counts.failures and not nothing_collected:
        counts.failures.append(f"{name} itself (status {status})")
    print(f"=== {name}: {counts.summary()}, {time.monotonic() - start:.0f} s", flush=True)
    return counts


def phases(build: Path, jobs: int) -> dict[str, tuple[str, Path | None]]:
    """The command and the report of each phase; a phase without any test is left out."""
    reports = build / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    lit, pytest = reports / "lit.xml", reports / "pytest.xml"
    tests = (path for path in files_with(".py") if path.name.startswith("test_"))
    folders = sorted({path.relative_to(ROOT).parts[0] for path in tests})
    check = f"python scripts/check.py --tidy -j {jobs}"
    table: dict[str, tuple[str, Path | None]] = {"check": (check, None)}
    for name, folder in (("ctest", build), ("sanitized", ROOT / "build-sanitized")):
        if name == "sanitized" and not (folder / "build.ninja").exists():
            continue
        report = reports / f"{name}.xml"
        table[name] = (
            f"ctest --test-dir {folder} -j {jobs} --output-on-failure --output-junit {report}"
            " --timeout 300 --no-tests=ignore --quiet",
            report,
        )
    if any((ROOT / "compiler").rglob("*.mlir")):
        table["lit"] = (
            f"lit compiler -j {jobs} --param build={build} --xunit-xml-output {lit} --quiet -v",
            lit,
        )
    if folders:
        workers = f"-n {jobs} --dist loadgroup"
        command = f"python -m pytest -q {workers} --junitxml={pytest} {' '.join(folders)}"
        table["pytest"] = (command, pytest)
    return table


def main() -> int:
    """Gives 1 if anything failed or nothing passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--only", help="phases, separated by commas")
    options = parser.parse_args()
    table = phases(options.build.resolve(), options.jobs)
    wanted = options.only.split(",") if options.only else list(table)
    total, times = Counts(), []
    for name in (name for name in table if name in wanted):
        start = time.monotonic()
        total.add(run_phase(name, *table[name]))
        times.append(f"{name} {time.monotonic() - start:.0f} s")
    print(f"\ntime: {', '.join(times)}")
    for reason, count in total.skips.most_common():
        print(f"skipped {count}: {reason.splitlines()[0]}")
    for failure in total.failures:
        print(f"FAILED {failure}")
    print(total.summary(), flush=True)
    return 1 if total.failures or not total.passed else 0


if __name__ == "__main__":
    sys.exit(run_until_interrupted(main))
