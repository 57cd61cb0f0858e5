# SPDX-License-Identifier: Apache-2.0
"""What the compiler's checker and the host say of a kernel from which one synchronisation is taken
out.

For the checker, a line of the instructions is left out, for the host, the statement that was
printed for it is switched off. Numbers that are given to the lines before the kernel is split by
cores say which statement is which line's.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tilewright import _compiler, _runtime

if TYPE_CHECKING:
    from tilewright.capture.kernel import CapturedKernel

Captured = pytest.CaptureFixture[str]

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "build" / "bin"
SYNC = re.compile(
    r"^ *ascend\.(set_flag|wait_flag|pipe_barrier|set_cross_flag|wait_cross_flag)\b", re.MULTILINE
)
STATEMENT = re.compile(
    r"^ *(SetFlag|WaitFlag|PipeBarrier|CrossCoreSetFlag|CrossCoreWaitFlag)<?.*?\(.*\);"
)
NUMBER = "verdict.number"


def optimizer(text: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [PROGRAMS / "tilewright-opt", "-", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def numbered(text: str) -> str:
    """Each synchronisation with a number of its own."""
    number = 0
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if not SYNC.match(line):
            continue
        body, brace, attributes = line.partition(" {")
        rest = attributes.removesuffix("}") + ", " if brace else ""
        lines[place] = f"{body} {{{rest}{NUMBER} = {number} : i64}}"
        number += 1
    return "\n".join(lines) + "\n"


def numbers_in(text: str) -> list[int]:
    return [int(number) for number in re.findall(rf"{NUMBER} = (\d+)", text)]


@dataclass
class Removals:
    """By number of a synchronisation: whether each of the two reports that it lacks."""

    checker: dict[int, bool]
    host: dict[int, bool]
    lines: dict[int, str]

    def missed(self) -> list[str]:
        """What the host reports and the checker doesn't."""
        return [self.lines[n] for n, found in self.host.items() if found and not self.checker[n]]

    def needless(self) -> list[str]:
        """What the checker reports and the host doesn't."""
        return [self.lines[n] for n, found in self.host.items() if not found and self.checker[n]]


class Subject:
    """A kernel whose instructions and whose library are at hand."""

    def __init__(self, stages: dict[str, str], manifest: str, folder: Path) -> None:
        self.manifest = manifest
        self.instructions = numbered(stages["check-hazards"])
        self.source = stages["ascendc"]
        self.library = folder / "kernel.so"
        self.text = folder / "kernel.cpp"
        self.text.write_text(self.source)
        driver = PROGRAMS / "tilewright-ascendc"
        command = [driver, "build", "--shared", self.text, "-o", self.library, "-O0"]
        built = subprocess.run(
            [*command, f"-I{ROOT}/device/ascend"], capture_output=True, text=True, check=False
        )
        assert built.returncode == 0, built.stdout + built.stderr

    @classmethod
    def of(cls, captured: CapturedKernel, configs: dict[str, Any], folder: Path) -> Subject:
        """Of a captured kernel, of which the checker says nothing."""
        options = _compiler.CompileOptions(
            "ascend", "native", configs, keep_stages=True, build_library=False
        )
        artifact, found = _compiler.compile(captured.module, options)
        unordered = [d.message for d in found if "nothing orders them" in d.message]
        assert artifact is not None and not unordered, [d.message for d in found]
        return cls(dict(artifact.stages), artifact.manifest, folder)

    def checker(self) -> dict[int, bool]:
        """Whether the checker reports each removal. All go through one process."""
        lines = self.instructions.splitlines(keepends=True)
        numbers, ends, texts = [], [], []
        for number, place in self.places(lines):
            texts.append("".join(lines[:place] + lines[place + 1 :]))
            numbers.append(number)
            ends.append((ends[-1] if ends else 0) + texts[-1].count("\n") + 1)
        told = optimizer("// -----\n".join(texts), "--ascend-check-hazards", "--split-input-file")
        verdicts = dict.fromkeys(numbers, False)
        for at in re.findall(r"^<stdin>:(\d+):\d+: (?:warning|error):", told.stderr, re.MULTILINE):
            verdicts[numbers[bisect_left(ends, int(at))]] = True
        return verdicts

    @staticmethod
    def places(lines: list[str]) -> list[tuple[int, int]]:
        return [(numbers_in(line)[0], i) for i, line in enumerate(lines) if NUMBER in line]

    def statements(self) -> dict[int, list[int]]:
        """The lines of the source that each number became."""
        split = optimizer(self.instructions, "--ascend-split-cube-vector")
        assert split.returncode == 0, split.stderr
        numbers = numbers_in(split.stdout)
        lines = [i + 1 for i, line in enumerate(self.source.splitlines()) if STATEMENT.match(line)]
        assert len(numbers) == len(lines), (numbers, lines)
        found: dict[int, list[int]] = {}
        for number, line in zip(numbers, lines, strict=True):
            found.setdefault(number, []).append(line)
        return found

    def findings(
        self, arguments: list[Any], mode: str, patch: pytest.MonkeyPatch, fd: Captured
    ) -> str:
        """What the host says; empty: nothing."""
        patch.setenv("TILEWRIGHT_ASCEND", f"threads=1,{mode}")
        patch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
        own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        problem = ""
        try:
            _runtime.Kernel(str(self.library), self.manifest, None)(*own)
        except RuntimeError as error:
            problem = str(error)
        told: str = fd.readouterr().err
        return told if "error:" in told or mode == "list-syncs" else problem

    def removals(self, arguments: list[Any], patch: pytest.MonkeyPatch, fd: Captured) -> Removals:
        listed = self.findings(arguments, "list-syncs", patch, fd)
        assert "error:" not in listed, listed
        sites: dict[int, list[str]] = {}
        for number, line in re.findall(rf"synchronisation (\d+): {self.text}:(\d+) ", listed):
            sites.setdefault(int(line), []).append(number)
        host = {}
        for number, lines in self.statements().items():
            muted = [site for line in lines for site in sites.get(line, [])]
            if muted:  # else it doesn't run with these arguments
                host[number] = any(
                    self.findings(arguments, f"mute={site}", patch, fd) for site in muted
                )
        names = {
            numbers_in(line)[0]: line.strip()
            for line in self.instructions.splitlines()
            if NUMBER in line
        }
        return Removals(self.checker(), host, names)
