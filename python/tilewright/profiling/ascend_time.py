# SPDX-License-Identifier: Apache-2.0
"""What the timing model of the Ascend host says of launches (docs/ascend-timing.md)."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tilewright.kernel import JITKernel

    from .recorder import Row

_VARIABLE = "TILEWRIGHT_ASCEND"
#: Seconds of this machine that a launch may take in the model.
_TIME_LIMIT = 600


@dataclass
class AscendTime:
    """The modelled time of one launch, in microseconds. `kinds` has, for `cube` and `vector` cores
    where they were launched, what the pipes of that kind did, means over the cores that use them;
    `limits` the share of a limit of the chip that was reached; `cores` the details of each core."""

    kernel: str
    chip: str
    task: float
    kinds: dict[str, dict[str, Any]]
    limits: dict[str, float]
    cores: list[dict[str, Any]]
    stuck: str

    @classmethod
    def from_json(cls, text: str) -> AscendTime:
        """What the host wrote."""
        said = json.loads(text)
        return cls(
            kernel=said["kernel"],
            chip=said["chip"],
            task=said["task_us"],
            kinds=said["kinds"],
            limits=said["limits"],
            cores=said["cores"],
            stuck=said["stuck"],
        )

    def text(self) -> str:
        """Some lines for a terminal."""
        launch = self.task - max((core["end_us"] for core in self.cores), default=0.0)
        lines = [
            f"estimated time on {self.chip}: {self.task:.2f} us, "
            f"{launch:.2f} of them for the launch"
        ]
        lines += [self._limit(*limit) for limit in self.limits.items()]
        for name, kind in self.kinds.items():
            asked = sum(core["kind"] == name for core in self.cores)
            in_turn = f" for {asked} in turn" if asked > kind["cores"] else ""
            last = f"the one that ends last, with {kind['last']}" if in_turn else kind["last"]
            lines.append(
                f"{name} cores: {_of_chip(kind)}{in_turn}, {kind['core_us']:.2f} us on average; "
                f"waits are those of {last}{'' if in_turn else ', which ends last'}"
            )
            lines += [_pipe_line(pipe, kind) for pipe in _PIPES if pipe in kind["pipes"]]
        if self.stuck:
            lines.append(f"  the instructions wait for each other for ever: {self.stuck}")
        return "\n".join(lines) + "\n"

    def _limit(self, name: str, share: float) -> str:
        """Of units of which some weren't launched it says so: they lower the share."""
        kind = self.kinds.get(name, {"cores": 0, "cores_of_chip": 0})
        used, there = kind["cores"], kind["cores_of_chip"]
        verb = "is" if used == 1 else "are"
        few = f" ({used} of its {there} cores {verb} used)" if used < there else ""
        return f"  {name}: {share:.0%} of the chip's limit{few}"

    def busiest(self) -> tuple[str, str, float]:
        """The pipe that is busy the longest: the kind of core, its name and its share of their
        time; empty words where none is."""
        uses = [
            (use["busy_us"], kind, pipe, use["share"])
            for kind, does in self.kinds.items()
            for pipe, use in does["pipes"].items()
        ]
        return max(uses, default=(0.0, "", "", 0.0))[1:]

    @property
    def core(self) -> float:
        """Mean over the cores of the kind that takes longest."""
        return max((kind["core_us"] for kind in self.kinds.values()), default=0.0)


#: In the order in which data passes them, on cube cores and on vector cores.
_PIPES = ("MTE2", "MTE1", "M", "FIX", "V", "MTE3", "S")


def _of_chip(kind: dict[str, Any]) -> str:
    used, there = kind["cores"], kind["cores_of_chip"]
    return f"all {there} of the chip" if used == there else f"{used} of the chip's {there}"


def _pipe_line(pipe: str, kind: dict[str, Any]) -> str:
    """How busy a pipe is, and what that of the core that ends last waited for most."""
    use = kind["pipes"][pipe]
    waits = use["waits_us"]
    some = "" if use["cores"] == kind["cores"] else f" on {use['cores']} cores"
    longest = sorted(waits.items(), key=lambda wait: -wait[1])[:2]
    told = ", ".join(f"{us:.2f} us for {cause}" for cause, us in longest if round(us, 2) > 0)
    line = f"  {pipe:<5} busy {use['busy_us']:10.2f} us, {use['share']:4.0%}{some}"
    return f"{line}; waited {told}" if told else line


class _HostOptions:
    """Adds to the host's options, which it reads at each launch. Threads may do so at once, so that
    the first who begins need not be the last who ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._before: str | None = None
        self._added: list[str] = []
        #: Where those who record without words of their own have the host write, innermost last.
        self.folders: list[Path] = []
        #: How many calls with words of their own, which estimate something, run now.
        self.estimates = 0

    @contextmanager
    def with_words(self, *words: str) -> Iterator[None]:
        """With these, too, for a while."""
        text = ",".join(words)
        with self._lock:
            if not self._added:
                self._before = os.environ.get(_VARIABLE)
            self._added.append(text)
            self._write()
        try:
            yield
        finally:
            with self._lock:
                self._added.remove(text)
                self._write()

    def _write(self) -> None:
        if self._added or self._before is not None:
            os.environ[_VARIABLE] = ",".join(filter(None, [self._before, *self._added]))
        else:
            os.environ.pop(_VARIABLE, None)


_HOST_OPTIONS = _HostOptions()


def _in_order(folder: Path) -> list[Path]:
    """What the host wrote for launches, `time.json`, `time.2.json` and so on."""

    def number(path: Path) -> int:
        _, *between, _ = path.name.split(".")
        return int(between[0]) if between else 1

    return sorted(folder.iterdir(), key=number)


@contextmanager
def recorded_times(*words: str) -> Iterator[list[AscendTime]]:
    """The modelled times of all launches in a `with` block, in the list from its end on. `words`
    are further options of the host. A block without words in another one counts for both, one with
    words, which asks for an estimate, for itself alone."""
    times: list[AscendTime] = []
    options = _HOST_OPTIONS
    if options.folders and not words and not options.estimates:
        folder = options.folders[-1]
        before = len(_in_order(folder))
        yield times
        times += [AscendTime.from_json(path.read_text()) for path in _in_order(folder)[before:]]
        return
    with tempfile.TemporaryDirectory(prefix="tilewright-") as name:
        folder = Path(name)
        wanted = f"time-json={folder}/time.json"
        with options.with_words(wanted, f"time-limit={_TIME_LIMIT}", *words):
            options.estimates += bool(words)
            if not words:
                options.folders.append(folder)
            try:
                yield times
            finally:
                options.estimates -= bool(words)
                if not words:
                    options.folders.remove(folder)
        times += [AscendTime.from_json(path.read_text()) for path in _in_order(folder)]


def is_estimated() -> bool:
    """Whether what is launched now serves an estimate, such as `report()`'s, and nothing else."""
    return _HOST_OPTIONS.estimates > 0


def modelled_time(kernel: JITKernel, *arguments: Any, **choices: Any) -> AscendTime | None:
    """The modelled time of one call: of its last launch; None where the kernel doesn't run on our
    host. `choices` are those of `modelled_times`."""
    times = modelled_times(kernel, *arguments, **choices)
    return times[-1] if times else None


def modelled_times(
    kernel: JITKernel,
    *arguments: Any,
    chip: str | None = None,
    time_only: bool = False,
    timeline: str | None = None,
) -> list[AscendTime]:
    """The modelled times of the launches of one call, on the chip that the kernel was compiled for
    unless another is named; none where the kernel doesn't run on our host. `time_only`: no
    effects and no checks, which is fast, but only for kernels that don't branch on data in memory.
    `timeline` names a file for the page that shows every instruction or, if it ends in `.svg`, for
    a picture of the cores that end last; behind the first launch, others have their number before
    its suffix."""
    chip = chip or json.loads(kernel.entry.manifest)["cpu"]
    words = [f"chip={chip}", *(["time-only"] if time_only else [])]
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        is_picture = str(timeline).endswith(".svg")
        if timeline is not None:
            kind = "chrome-trace=" if is_picture else "timeline="
            words.append(f"{kind}{folder}/page.txt")
        with recorded_times(*words) as times:
            kernel(*arguments)
        pages = _in_order(Path(folder))
        for number, page in enumerate(pages if timeline is not None else [], 1):
            text = page.read_text(encoding="utf-8")
            if is_picture:
                from .timeline_picture import timeline_picture

                text = timeline_picture(json.loads(text))
            path = Path(str(timeline))
            named = path if number == 1 else path.with_suffix(f".{number}{path.suffix}")
            named.write_text(text, encoding="utf-8")
    return times


def text_of(times: list[AscendTime], launches: Mapping[str, str]) -> str:
    """Of the launches of one call; `launches` has words for each, by the host's name for it."""
    if len(times) == 1 and not launches:
        return times[0].text()
    if not times:
        return "no estimate of its time: it didn't run on the host\n"
    total = sum(time.task for time in times)
    parts = [f"{launches.get(time.kernel, time.kernel)}: {time.text()}" for time in times]
    all_of_them = "1 launch" if len(times) == 1 else f"{len(times)} launches"
    return "".join([f"estimated time of {all_of_them}: {total:.2f} us\n", *parts])


def calls_of(times: list[AscendTime], order: Sequence[Row]) -> list[Row | None]:
    """The call that made each launch. Both are in order; None for all launches of a name that
    something else launched, too."""
    calls: dict[str, list[Row]] = {}
    for row in order:
        calls.setdefault(f"{row.kernel.name}_kernel", []).append(row)  # as the host names it
    launches = Counter(time.kernel for time in times)
    known = {name: iter(rows) for name, rows in calls.items() if len(rows) == launches[name]}
    return [next(known[time.kernel]) if time.kernel in known else None for time in times]


def times_table(times: list[AscendTime], order: Sequence[Row] = ()) -> str:
    """A line per kernel, shapes and time, the one with most time first. `order` has the calls of
    kernels, as the recorder keeps them."""
    heads = ("launches", "us", "us per core", "busiest pipe")
    rows = [("kernel", "shapes", *heads, "at")]
    kinds: dict[tuple[str, str, str, float], list[AscendTime]] = {}
    for time, call in zip(times, calls_of(times, order), strict=True):
        named = call.kernel.name if call else time.kernel
        shapes, place = (call.shapes(), call.place()) if call else ("-", "")
        kinds.setdefault((named, shapes, place, time.task), []).append(time)
    for (named, shapes, place, _), alike in sorted(
        kinds.items(), key=lambda kind: -kind[1][0].task * len(kind[1])
    ):
        one = alike[0]
        core, busiest, share = one.busiest()
        most = f"{core} {busiest} {share:.0%}" if busiest else "-"
        words = (f"{one.task:.2f}", f"{one.core:.2f}", most)
        rows.append((named, shapes, str(len(alike)), *words, place))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        left = [text.ljust(width) for text, width in zip(row[:2], widths, strict=False)]
        cells = [text.rjust(width) for text, width in zip(row[2:-1], widths[2:-1], strict=True)]
        lines.append("  ".join([*left, *cells, row[-1]]).rstrip())
    chips = sorted({time.chip for time in times})
    return "\n".join([*lines, f"modelled times of launches on {', '.join(chips)}"])
