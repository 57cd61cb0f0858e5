# SPDX-License-Identifier: Apache-2.0
"""What the compiler's checker and the host say of a kernel from which one synchronisation is taken
out.

For the checker, a line of the instructions is left out, for the host, the statement that was
printed for it is switched off. Numbers that are given to the lines before the kernel is split by
cores say which statement is which line's.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import subprocess
import tempfile
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _compiler, _runtime

if TYPE_CHECKING:
    from tilewright.capture.kernel import CapturedKernel

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "build" / "bin"
SYNC = re.compile(
    r"^ *ascend\.(set_flag|wait_flag|pipe_barrier|set_cross_flag|wait_cross_flag)\b", re.MULTILINE
)
STATEMENT = re.compile(
    r"^ *(SetFlag|WaitFlag|PipeBarrier|CrossCoreSetFlag|CrossCoreWaitFlag)<?.*?\(.*\);"
)
NUMBER = "verdict.number"
#: Of numbers for which a kernel isn't made: it would leave its tensors, or says so itself.
REFUSED = re.compile(
    r"\[Error(Read|Write)[1-4]\]|, but 'w+' has shape|outside|behind the end|assertion failed: "
    r"|, but at most \d+ fits into tile |, but its shape is "
)
#: Legal orders in which a kernel is tried; of some hundred, one may stop a core where it matters.
ORDERS = 500
SET_TWICE = "again before it is waited for"
#: What the host only warns of: whose bytes stay, the order of the cores decides.
SHARED_LINE = re.compile("64-byte (?:cache )?line")
#: Where the checker says that it leaves flags to the host: all of them, or those between cores.
PLACE = r"^<stdin>:(\d+):\d+: "
LEFT_TO_HOST = re.compile(
    PLACE + r"remark: the (?:number of this flag|compiler can't follow the kernel's flags).*?: "
    r"(none of its flags is|what (?:the flags between its cores|they) order isn't) checked while "
    r"it is compiled, but the host checks (?:them|it)$",
    re.MULTILINE,
)
#: No synchronisation keeps cores from writing one line of the cache.
WARNED = r"(?:warning|error): (?!.* 64-byte (?:cache )?line)"
CROSS_FLAG = re.compile(r"ascend\.(set|wait)_cross_flag\b")


def optimizer(text: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [PROGRAMS / "tilewright-opt", "-", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def numbered(text: str, first: int = 0) -> str:
    """Each synchronisation with a number of its own, from `first` on."""
    number = first
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
    #: Of what the compiler has inserted, all ends of a flag at once, or a barrier: whether the host
    #: reports that it lacks.
    inserted: dict[str, bool]
    #: Runs that the kernel isn't made for: what the host says of them with nothing taken out.
    refused: list[str]
    #: Of which the checker gives no verdict, and says so, and that the host does.
    left_to_host: set[int] = field(default_factory=set)

    def missed(self) -> list[str]:
        """What the host reports and the checker doesn't, which has said nothing of its own."""
        silent = {n for n, found in self.checker.items() if not found} - self.left_to_host
        return [self.lines[n] for n, found in self.host.items() if found and n in silent]

    def neither(self) -> list[str]:
        """What neither reports, though both are asked."""
        reported = {n for found in (self.checker, self.host) for n in found if found[n]}
        return [self.lines[n] for n in self.host if n not in reported | self.left_to_host]

    def needless(self) -> list[str]:
        """What the checker reports and the host doesn't."""
        return [self.lines[n] for n, found in self.host.items() if not found and self.checker[n]]


@dataclass
class Asked:
    """A kernel of which both are asked: what tells its instructions from all others, and what they
    say."""

    instructions: str
    removals: Callable[[], Removals]


INSERTED = re.compile(
    r"ascend\.(?:set_|wait_)?(?P<kind>flag|cross_flag|pipe_barrier) (?P<what>.*?) "
    r"\{.*?ascend\.why = \"(?P<why>.*?)\"(?:, ascend\.why_number = (?P<number>\d+))?"
)


BETWEEN_CORES = "between cores"


def insertion_of(line: str) -> str | None:
    """The same for all ends of one flag that the compiler has inserted, and of no other: its
    number, what it orders, and why."""
    found = INSERTED.search(line)
    if not found:
        return None
    if found["number"] is None:  # a barrier that another pass has put in: each is there for itself
        return f"{found['what']} {line[line.index(NUMBER) :]}"
    is_flag = found["kind"] == "flag"
    what = found["what"].partition(",")[0] if is_flag else found["what"]
    what = BETWEEN_CORES if found["kind"] == "cross_flag" else what
    return f"{found['number']} {what}: {found['why']}"


def other_runs(
    arguments: Sequence[Any], most: int = 5, lengths: Sequence[int] = ()
) -> Iterator[list[Any]]:
    """Other lengths and other words of tensors of integers, which may be slots and conditions, from
    0 on: all of them at once and each by itself; then each of `lengths` by itself, and words that
    name no row of any tensor. What else a kernel is given stays."""
    places = [
        at
        for at, given in enumerate(arguments)
        if isinstance(given, int) or (isinstance(given, np.ndarray) and given.dtype == np.int32)
    ]
    together = [places] if len(places) > 1 else []
    for chosen in [*together, *([at] for at in places)]:
        for number in range(most):
            run = list(arguments)
            for at in chosen:
                given = run[at]
                run[at] = np.full_like(given, number) if isinstance(given, np.ndarray) else number
            yield run
    behind = max(
        (max(a.shape, default=0) for a in arguments if isinstance(a, np.ndarray)), default=0
    )
    for at in places:
        given = arguments[at]
        if isinstance(given, np.ndarray):
            for number in (*lengths, behind):
                yield [*arguments[:at], np.full_like(given, number), *arguments[at + 1 :]]
        else:
            for number in lengths:
                yield [*arguments[:at], number, *arguments[at + 1 :]]


def _scaled(arguments: Sequence[Any]) -> Iterator[list[Any]]:
    """With all tensors of floats times a factor, and each by itself."""
    places = [
        at
        for at, given in enumerate(arguments)
        if isinstance(given, np.ndarray) and np.issubdtype(given.dtype, np.floating)
    ]
    together = [places] if len(places) > 1 else []
    for chosen in [*together, *([at] for at in places)]:
        for factor in (0, 0.25, 4, -1):
            run = list(arguments)
            for at in chosen:
                run[at] = (run[at] * factor).astype(run[at].dtype)
            yield run


def more_runs(
    arguments: Sequence[Any], most: int = 600, by_chance: int = 300
) -> Iterator[list[Any]]:
    """For what `other_runs` don't show: tensors of floats smaller, larger, and with other signs,
    which loops and branches may ask for; each length up to the largest dim of a tensor, in an order
    without pattern; and some lengths and numbers of rows by chance, all at once, of which every
    second time all are small."""
    yield from _scaled(arguments)
    places = [
        at
        for at, given in enumerate(arguments)
        if isinstance(given, int) or (isinstance(given, np.ndarray) and given.dtype == np.int32)
    ]
    dims = [d for a in arguments if isinstance(a, np.ndarray) for d in a.shape]
    behind = min(max(dims, default=0) + 1, most)
    dice = random.Random(0)
    for at in (at for at in places if isinstance(arguments[at], int)):
        for number in dice.sample(range(behind), behind):
            yield [*arguments[:at], number, *arguments[at + 1 :]]
    for time in range(by_chance if len(places) > 1 else 0):
        run = list(arguments)
        end = min(behind, dice.randint(2, 17)) if time % 2 else behind
        for at in places:
            given = run[at]
            if isinstance(given, int):
                run[at] = dice.randrange(end)
            else:
                numbers = [dice.randrange(end) for _ in range(given.size)]
                run[at] = np.array(numbers, given.dtype).reshape(given.shape)
        yield run


COMPARED = re.compile(r"arith\.cmpi \w+, .*%c(\d+)(?:_\w+)? :")


def lengths_asked_for(instructions: str, most: int = 40) -> list[int]:
    """With which branches are taken that `other_runs` else doesn't come to: `if n > 15` asks for
    16. The largest first, with which most are."""
    bounds = {int(number) + 1 for number in COMPARED.findall(instructions)}
    return sorted((each for each in bounds if 4 < each <= most), reverse=True)


@contextmanager
def host_mode(mode: str) -> Iterator[Callable[[], str]]:
    """Kernels run as `mode` says; what they print to stderr is the result of what is given."""
    chosen = {"TILEWRIGHT_ASCEND": f"threads=1,{mode}", "TILEWRIGHT_ASCEND_EXIT": "0"}
    before = {name: os.environ.get(name) for name in chosen}
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:

        def told() -> str:
            file.seek(0)
            return file.read().decode()

        os.environ.update(chosen)
        os.dup2(file.fileno(), 2)
        try:
            yield told
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


Stages = Sequence[tuple[str, str]]


def instructions_in(stages: Stages) -> str:
    """A digest of all that the checker sees, but the kernel's own name, which a group gives."""
    texts = [text for name, text in stages if name == "check-hazards"]
    same = re.sub(r"\bkernel_?\d+", "kernel", "".join(texts))
    return hashlib.sha256(same.encode()).hexdigest()[:16]


def stages_of(captured: CapturedKernel, configs: dict[str, Any]) -> tuple[Stages, str]:
    """The stages and the manifest of a captured kernel, of which the checker says nothing. Its text
    is the host's, which checks its parts of tiles, with comments in place of lines of the
    kernel."""
    for_host = configs | {"tl.emit_line_directives": True}
    options = _compiler.CompileOptions(
        "ascend", "native", for_host, keep_stages=True, build_library=False
    )
    artifact, found = _compiler.compile(captured.module, options)
    unordered = [d.message for d in found if "nothing orders them" in d.message]
    assert artifact is not None and not unordered, [d.message for d in found]
    stages = [
        (name, re.sub(r'^#line (\d+) "(.*)"$', r"// \2:\1", text, flags=re.MULTILINE))
        for name, text in artifact.stages
    ]
    return stages, artifact.manifest


class Subject:
    """A kernel whose instructions and whose library are at hand. Its Ascend C stands in the file
    `text`, behind `lines_before` lines. Numbers go on from launch to launch."""

    def __init__(
        self,
        stages: Stages,
        manifest: str,
        library: Path,
        text: Path,
        lines_before: int = 0,
    ) -> None:
        self.manifest = manifest
        self.launches: list[str] = []
        #: By number: the line, and the launch in which it stands.
        self.names: dict[int, str] = {}
        self.launch_of: dict[int, int] = {}
        for launch, own in enumerate(text for name, text in stages if name == "check-hazards"):
            self.launches.append(numbered(own, len(self.names)))
            for line in self.launches[-1].splitlines():
                if NUMBER in line:
                    number = numbers_in(line)[0]
                    self.names[number], self.launch_of[number] = line.strip(), launch
        self.source = dict(stages)["ascendc"]
        self.library = library
        self.text = text
        self.lines_before = lines_before
        self.tells_of_counts = self.tells_of_lines = False
        #: Runs the kernel with the checks of its parts of tiles, which `text` may lack.
        self.checked: Callable[[], Callable[..., Any]] | None = None

    @classmethod
    def built(cls, stages: Stages, manifest: str, folder: Path) -> Subject:
        """With a library of its own."""
        library, text = folder / "kernel.so", folder / "kernel.cpp"
        text.write_text(dict(stages)["ascendc"])
        driver = PROGRAMS / "tilewright-ascendc"
        command = [driver, "build", "--shared", text, "-o", library, "-O0"]
        built = subprocess.run(
            [*command, f"-I{ROOT}/device/ascend"], capture_output=True, text=True, check=False
        )
        assert built.returncode == 0, built.stdout + built.stderr
        return cls(stages, manifest, library, text)

    @classmethod
    def of(cls, captured: CapturedKernel, configs: dict[str, Any], folder: Path) -> Subject:
        stages, manifest = stages_of(captured, configs)
        return cls.built(stages, manifest, folder)

    def checker(self, chosen: set[int]) -> tuple[dict[int, bool], set[int]]:
        """Whether the checker reports each removal, and which of them it leaves to the host. All go
        through one process."""
        numbers, ends, texts = [], [], []
        for launch in self.launches:
            lines = launch.splitlines(keepends=True)
            for number, place in self.places(lines):
                if number not in chosen:
                    continue
                texts.append("".join(lines[:place] + lines[place + 1 :]))
                numbers.append(number)
                ends.append((ends[-1] if ends else 0) + texts[-1].count("\n") + 1)
        told = optimizer("// -----\n".join(texts), "--ascend-check-hazards", "--split-input-file")
        verdicts = dict.fromkeys(numbers, False)
        for at in re.findall(PLACE + WARNED, told.stderr, re.MULTILINE):
            verdicts[numbers[bisect_left(ends, int(at))]] = True
        left = set()
        for at, which in LEFT_TO_HOST.findall(told.stderr):
            number = numbers[bisect_left(ends, int(at))]
            if which == "none of its flags is" or CROSS_FLAG.search(self.names[number]):
                left.add(number)
        return verdicts, left

    def insertion(self, number: int) -> str | None:
        """As `insertion_of`; each launch counts its own."""
        found = insertion_of(self.names[number])
        if found is None or len(self.launches) == 1:
            return found
        return f"launch {self.launch_of[number] + 1}, {found}"

    @staticmethod
    def places(lines: list[str]) -> list[tuple[int, int]]:
        return [(numbers_in(line)[0], i) for i, line in enumerate(lines) if NUMBER in line]

    @cached_property
    def statements(self) -> dict[int, list[int]]:
        """The lines of the file that each number became."""
        passes = ("--ascend-split-cube-vector", "--ascend-plain-exits")
        numbers = []
        for launch in self.launches:
            split = optimizer(launch, *passes)
            assert split.returncode == 0, split.stderr
            numbers += numbers_in(split.stdout)
        first = self.lines_before + 1
        source = self.source.splitlines()
        lines = [first + i for i, line in enumerate(source) if STATEMENT.match(line)]
        assert len(numbers) == len(lines), (numbers, lines)
        found: dict[int, list[int]] = {}
        for number, line in zip(numbers, lines, strict=True):
            found.setdefault(number, []).append(line)
        return found

    def findings(self, arguments: list[Any], mode: str) -> str:
        """What the host says; empty: nothing."""
        own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        problem = ""
        with host_mode(mode) as told, warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                _runtime.Kernel(str(self.library), self.manifest, None)(*own)
            except (RuntimeError, ValueError) as error:  # the latter: an argument that doesn't fit
                problem = str(error)
            text = told() + "".join(f"{each.message}\n" for each in warned)
        is_told = (self.tells_of_counts and SET_TWICE in text) or (
            self.tells_of_lines and SHARED_LINE.search(text)
        )
        is_found = "error:" in text or bool(is_told)
        return text if is_found or mode == "list-syncs" else problem

    def sites(self, arguments: list[Any]) -> dict[int, list[str]]:
        """How the host names the statements of each number that run with these arguments."""
        listed = self.findings(arguments, "list-syncs")
        assert "error:" not in listed, listed
        # A kernel may count by flags of its own, up to 15; what the compiler puts in doesn't.
        self.tells_of_counts = SET_TWICE not in listed
        self.tells_of_lines = not SHARED_LINE.search(listed)
        sites: dict[int, list[str]] = {}
        for text, line in re.findall(rf"synchronisation \d+: ({self.text}:(\d+) .*)", listed):
            sites.setdefault(int(line), []).append(text)
        found = {
            number: [site for line in lines for site in sites.get(line, [])]
            for number, lines in self.statements.items()
        }
        return {number: texts for number, texts in found.items() if texts}

    def possible_runs(self, runs: Iterable[list[Any]], refused: list[str]) -> Iterator[list[Any]]:
        """Those that the host doesn't refuse; never for flags, which must do for each run."""
        for run in runs:
            self.tells_of_lines = False
            if not (found := self.findings(run, "threads=1")):
                yield run
                continue
            if not REFUSED.search(found) and self.checked is not None:
                found = self.refusal(run) or found
            assert REFUSED.search(found), f"with {run[-3:]}: {found}"
            refused.append(found)

    def refusal(self, run: list[Any]) -> str:
        """What the kernel with its checks says of a run; empty: nothing."""
        assert self.checked is not None
        own = [a.copy() if isinstance(a, np.ndarray) else a for a in run]
        with host_mode("threads=1"):
            try:
                self.checked()(*own)
            except RuntimeError as error:
                return str(error)
        return ""

    def notices(self, arguments: list[Any], texts: set[str], orders: Iterable[int] = (0,)) -> bool:
        """Whether the host finds something without these statements, in one of some orders."""
        mute = ",".join(f"mute={text}" for text in texts)
        return any(self.findings(arguments, f"{mute},seed={order}") for order in orders)

    def removals(
        self,
        arguments: list[Any],
        most: int | None = None,
        seed: int = 0,
        also: Sequence[list[Any]] = (),
    ) -> Removals:
        """All of them, or `most` by chance. What these arguments don't need, others may, those in
        `also` first."""
        refused: list[str] = []
        lengths = lengths_asked_for("\n".join(self.launches))
        runs = chain(also, other_runs(arguments, lengths=lengths), more_runs(arguments))
        others = self.possible_runs(runs, refused)
        removals = self.removals_of_runs(chain([arguments], others), most, seed)
        removals.refused = refused
        return removals

    def removals_of_runs(
        self, runs: Iterable[list[Any]], most: int | None = None, seed: int = 0
    ) -> Removals:
        """What the host reports in any of several runs; those behind the first are asked only for
        what none has reported so far."""
        host: dict[int, bool] = {}
        inserted: dict[str, bool] = {}
        tried: list[tuple[list[Any], dict[str, set[str]]]] = []
        for arguments in runs:
            sites = self.sites(arguments)
            chosen = sorted(sites)
            if most is not None and host:
                chosen = [number for number in chosen if number in host]
            elif most is not None and most < len(chosen):
                chosen = random.Random(seed).sample(chosen, most)
            for number in chosen:
                host[number] = host.get(number, False) or any(
                    self.findings(arguments, f"mute={site}") for site in sites[number]
                )
            whole: dict[str, set[str]] = {}
            for number in chosen:
                if (insertion := self.insertion(number)) is not None:
                    whole.setdefault(insertion, set())
            for number, found in sites.items():
                insertion = self.insertion(number)
                if insertion is not None and insertion in whole:
                    whole[insertion].update(found)
            for insertion, texts in whole.items():
                inserted[insertion] = inserted.get(insertion, False) or self.notices(
                    arguments, texts
                )
            tried.append((arguments, whole))
            is_all = most is not None or len(host) == len(self.statements)
            if is_all and all(host.values()) and all(inserted.values()):
                break
        self.tells_of_lines = False  # that is the last run's
        # That a flag between cores is set again too early is seen where the cores come to that.
        for insertion, is_noticed in inserted.items():
            if not is_noticed and f" {BETWEEN_CORES}: " in insertion:
                inserted[insertion] = any(
                    self.notices(arguments, whole[insertion], range(1, ORDERS))
                    for arguments, whole in tried
                    if insertion in whole
                )
        verdicts, left = self.checker(set(host))
        return Removals(verdicts, host, self.names, inserted, [], left)
