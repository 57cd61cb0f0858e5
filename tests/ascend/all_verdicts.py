# SPDX-License-Identifier: Apache-2.0
"""Takes each synchronisation out of each kernel of tests/ascend and examples/ascend, and of random
kernels, one at a time, and holds what the compiler's checker says against what the host says:

    python tests/ascend/all_verdicts.py                  # the kernels of the tests and examples
    python tests/ascend/all_verdicts.py --random 300     # and so many random ones
    python tests/ascend/all_verdicts.py --of test_gemm_add --of test_language
    python tests/ascend/all_verdicts.py --of random --random 20 --first 1000     # no others
    python tests/ascend/all_verdicts.py --done build/verdicts.jsonl     # goes on where it ended

What is done stays so for as long as a kernel's instructions are the same ones. After a change of
the checker or of the host, begin a new file.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "fuzz")]
from ascend_cases import CONFIGS, kernel_of, load_kernel, many_runs  # noqa: E402
from called_kernels import of_called_kernels  # noqa: E402
from verdicts import Asked, Removals, Subject, insertion_of, instructions_in, stages_of  # noqa: E402

#: Those that have groups of kernels.
MODULES = [path.stem for path in sorted(FOLDER.glob("test_*.py")) if "GROUP" in path.read_text()]
#: All others, whose tests compile kernels themselves; not those that ask for verdicts, too.
OTHERS = [
    path
    for path in sorted(FOLDER.glob("test_*.py"))
    if path.stem not in MODULES and "verdicts" not in path.read_text()
]
Counts = dict[str, Any]


def of_groups(modules: list[str]) -> Iterator[tuple[str, Callable[[], Asked]]]:
    for module in modules:
        group = importlib.import_module(module).GROUP

        def asked(name: str, group: Any = group) -> Asked:  # noqa: ANN401
            group.told(name)  # compiles it
            return Asked(
                instructions_in(group.cases[name].texts), lambda name=name: group.removals(name)
            )

        for name in (name for name, case in group.cases.items() if not case.is_faulty):
            yield f"{module}: {name}", lambda name=name, asked=asked: asked(name)


def of_random_kernels(numbers: range, has_loops: bool) -> Iterator[tuple[str, Callable[[], Asked]]]:
    kind = "with loops" if has_loops else "without loops"

    def asked(number: int) -> Asked:
        random = kernel_of(number, has_loops)
        with tempfile.TemporaryDirectory() as name:
            captured = load_kernel(random.source, Path(name), random.name).capture()
        stages, manifest = stages_of(captured, CONFIGS)

        def removals() -> Removals:
            with tempfile.TemporaryDirectory() as name:
                subject = Subject.built(stages, manifest, Path(name))
                return subject.removals_of_runs(many_runs(random))

        return Asked(instructions_in(stages), removals)

    for number in numbers:
        yield f"random kernel {number} {kind}", lambda number=number: asked(number)


def counts_of(name: str, asked: Asked) -> Counts:
    """What is kept of a kernel: numbers, and what is to be looked at."""
    result = asked.removals()
    findings = [
        f"{name}: inserted, and the host misses nothing: {text}"
        for text, is_needed in result.inserted.items()
        if not is_needed
    ]
    findings += [f"{name}: the host alone reports {line}" for line in result.missed()]
    findings += [f"{name}: the checker alone reports {line}" for line in result.needless()]
    neither = result.neither()
    return {
        "kernel": name,
        "instructions": asked.instructions,
        "kernels": 1,
        "removals": len(result.host),
        "reported": sum(result.host.values()),
        "missed": len(result.missed()),
        "needless": len(result.needless()),
        "neither": len(neither),
        "left": len(result.left_to_host),
        "left_reported": sum(result.host[number] for number in result.left_to_host),
        "own": sum(insertion_of(line) is None for line in neither),
        "insertions": len(result.inserted),
        "needed": sum(result.inserted.values()),
        "refused": len(result.refused),
        "findings": findings,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    names = [*MODULES, *(path.stem for path in OTHERS), "random"]
    parser.add_argument("--of", action="append", choices=names, metavar="MODULE", help="only these")
    parser.add_argument(
        "--random", type=int, default=0, help="random kernels besides, and as many with loops"
    )
    parser.add_argument("--first", type=int, default=0, help="the first random kernel")
    parser.add_argument("--done", type=Path, help="a file that keeps what is done, to go on there")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.random)
    wanted = options.of or names
    modules = [each for each in wanted if each in MODULES]
    known: dict[str, Counts] = {}
    if options.done is not None and options.done.exists():
        kept = [json.loads(line) for line in options.done.read_text().splitlines()]
        known = {each["kernel"]: each for each in kept}
    sums = {"left": 0, "left_reported": 0}  # files of what is done may be older
    failed = 0
    for found in (
        of_groups(modules),
        of_called_kernels([path for path in OTHERS if path.stem in wanted]),
        of_random_kernels(numbers, has_loops=False),
        of_random_kernels(numbers, has_loops=True),
    ):
        for name, ask in found:
            try:
                asked = ask()
                counts = known.get(name)
                if counts is None or counts["instructions"] != asked.instructions:
                    counts = counts_of(name, asked)
                    if options.done is not None:
                        with options.done.open("a") as file:
                            print(json.dumps(counts), file=file)
            except Exception as problem:  # all others are tried
                print(f"{name}: {problem}", flush=True)
                failed += 1
                continue
            for text in counts["findings"]:
                print(text, flush=True)
            for key, value in counts.items():
                if isinstance(value, int):
                    sums[key] = sums.get(key, 0) + value
    if failed:
        print(f"{failed} kernels could not be asked")
    if "kernels" not in sums:
        return 1
    print(
        "{kernels} kernels, {removals} removals: both report {both}, the host alone {missed}, "
        "the checker alone {needless}, neither {neither} ({own} of the kernel's own, {others} "
        "inserted); {left} the checker leaves to the host, and says so: it reports "
        "{left_reported}\n{insertions} flags (all ends at once) and barriers that the compiler has "
        "inserted: the host misses {needed}; {refused} runs are left out, for whose numbers a "
        "kernel isn't made".format(
            **sums,
            both=sums["reported"] - sums["missed"] - sums["left_reported"],
            others=sums["neither"] - sums["own"],
        )
    )
    is_right = (
        not failed
        and not sums["missed"]
        and not sums["needless"]
        and sums["needed"] == sums["insertions"]
    )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
