# SPDX-License-Identifier: Apache-2.0
"""Takes each synchronisation out of each kernel of tests/ascend and examples/ascend, and of random
kernels, one at a time, and holds what the compiler's checker says against what the host says:

    python tests/ascend/all_verdicts.py                  # the kernels of the tests and examples
    python tests/ascend/all_verdicts.py --random 300     # and so many random ones
    python tests/ascend/all_verdicts.py --of test_gemm_add
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "fuzz")]
from ascend_cases import CONFIGS, kernel_of, load_kernel, many_runs  # noqa: E402
from verdicts import Removals, Subject, insertion_of  # noqa: E402

#: Those that have groups of kernels.
MODULES = [path.stem for path in sorted(FOLDER.glob("test_*.py")) if "GROUP" in path.read_text()]


def of_groups(modules: list[str]) -> Iterator[tuple[str, Removals]]:
    for module in modules:
        group = importlib.import_module(module).GROUP
        for name in (name for name, case in group.cases.items() if not case.is_faulty):
            group.told(name)  # compiles it
            yield f"{module}: {name}", group.removals(name)


def of_random_kernels(numbers: range, has_loops: bool) -> Iterator[tuple[str, Removals]]:
    for number in numbers:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            random = kernel_of(number, has_loops)
            captured = load_kernel(random.source, folder, random.name).capture()
            subject = Subject.of(captured, CONFIGS, folder)
            kind = "with loops" if has_loops else "without loops"
            yield f"random kernel {number} {kind}", subject.removals_of_runs(many_runs(random))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--of", action="append", choices=MODULES, help="only these")
    parser.add_argument(
        "--random", type=int, default=0, help="random kernels besides, and as many with loops"
    )
    parser.add_argument("--first", type=int, default=0, help="the first random kernel")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.random)
    kernels = removals = reported = missed = needless = own = 0
    insertions = needed = refused = 0
    for found in (
        of_groups(options.of if options.of is not None else MODULES),
        of_random_kernels(numbers, has_loops=False),
        of_random_kernels(numbers, has_loops=True),
    ):
        for name, result in found:
            kernels += 1
            removals += len(result.host)
            reported += sum(result.host.values())
            missed += len(result.missed())
            needless += len(result.needless())
            own += sum(insertion_of(line) is None for line in result.neither())
            insertions += len(result.inserted)
            needed += sum(result.inserted.values())
            refused += len(result.refused)
            for text, is_needed in result.inserted.items():
                if not is_needed:
                    print(f"{name}: inserted, and the host misses nothing: {text}", flush=True)
            for line in result.missed():
                print(f"{name}: the host alone reports {line}", flush=True)
            for line in result.needless():
                print(f"{name}: the checker alone reports {line}", flush=True)
    neither = removals - reported - needless
    print(
        f"{kernels} kernels, {removals} removals: both report {reported - missed}, "
        f"the host alone {missed}, the checker alone {needless}, neither {neither} "
        f"({own} of the kernel's own, {neither - own} inserted)"
    )
    print(
        f"{insertions} flags (all ends at once) and barriers that the compiler has inserted: "
        f"the host misses {needed}; {refused} runs are left out, for whose numbers a kernel isn't "
        "made"
    )
    return 1 if missed or needless else 0


if __name__ == "__main__":
    sys.exit(main())
