# SPDX-License-Identifier: Apache-2.0
"""Random kernels on the Ascend host: the bits of NumPy and of the interpreter, nothing that nothing
orders says the compiler, and nothing is what the host finds.

Kernels share a generated file, because its compiler takes seconds to start. What fails is left in
build/fuzz as a program for anyone to run. More than `make test` runs, and a failing one made small:

    python tests/fuzz/ascend_cases.py --first 300 --kernels 1000
    python tests/fuzz/ascend_cases.py --shrink 317
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ascend_kernels import random_ascend_kernel
from random_kernels import LIMIT, RandomKernel, random_inputs

from tilewright import _compiler, _runtime

SEED = 20261120
KERNELS_PER_FILE = 25
ROOT = Path(__file__).parents[2]
FAILED = ROOT / "build" / "fuzz"
DRIVER = ROOT / "build" / "bin" / "tilewright-ascendc"
CONFIGS = dict.fromkeys(
    [
        "tl.ascend_auto_sync",
        "tl.ascend_memory_planning",
        "tl.ascend_auto_cv_combine",
        "tl.ascend_auto_cross_core_sync",
    ],
    True,
)


class Dice:
    """Decisions by a generator of random numbers, which remembers them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.thrown: list[int] = []

    def integer(self, low: int, high: int) -> int:
        self.thrown.append(self.random.randint(low, high) - low)
        return self.thrown[-1] + low


class Script:
    """Decisions from a list of how far each is above the least; behind its end, the least."""

    def __init__(self, decisions: list[int]) -> None:
        self.left = list(decisions)

    def integer(self, low: int, high: int) -> int:
        return min(low + (self.left.pop(0) if self.left else 0), high)


class DrawnText:
    """Lines of a kernel, by decisions."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.lines: list[str] = []

    def pick(self, low: int, high: int) -> int:
        return self.dice.integer(low, high)

    def one_of(self, *choices: Any) -> Any:  # noqa: ANN401
        return choices[self.pick(0, len(choices) - 1)]

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)


#: From here on kernels also have tiles in turn.
FIRST_WITH_TURNS = 10_000
#: From here on they have `while` loops that ask for elements, in place of these.
FIRST_WITH_WHILES = 20_000
#: From here on they have `while` loops whose turns variables count, in place of those.
FIRST_WITH_COUNTERS = 30_000


def kernel_of(number: int, has_loops: bool = True) -> RandomKernel:
    return made_by(Dice(SEED + number), number, has_loops)


def made_by(choices: Dice | Script, number: int, has_loops: bool = True) -> RandomKernel:
    has_counters = number >= FIRST_WITH_COUNTERS
    has_whiles = FIRST_WITH_WHILES <= number < FIRST_WITH_COUNTERS
    has_turns = FIRST_WITH_TURNS <= number < FIRST_WITH_WHILES
    return random_ascend_kernel(
        choices, f"kernel{number}", has_loops, has_turns, has_whiles, has_counters
    )


def load_kernel(source: str, folder: Path, name: str) -> Any:  # noqa: ANN401
    """The kernel of a source text; kernels are captured from files."""
    path = folder / f"{name}_{abs(hash(source))}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def many_runs(kernel: RandomKernel, more: int = 40) -> Iterator[list[Any]]:
    """Arguments for a kernel: those of its own runs, then others, for loops of other lengths, short
    ones first; then tensors that name rows outside of others, and such whose numbers lie elsewhere,
    for what loops and branches ask of elements: near one number, or each by itself near another."""
    dice = random.Random(SEED)
    tensors = [*random_inputs(kernel, SEED).values(), np.zeros(kernel.output, np.float32)]
    for numbers in kernel.runs():
        yield [*tensors, *numbers.values()]
    for lengths in ([0, 1, 2, 3, 4, 5, 7, 12], range(13, 41)):
        for _ in range(more if kernel.numbers else 0):
            yield [*tensors, *(dice.choice(lengths) for _ in kernel.numbers)]
    for value in (np.inf, -np.inf):
        for numbers in kernel.runs():
            yield [*(np.full_like(each, value) for each in tensors), *numbers.values()]
    for time in range(3 * more):
        spread, at = dice.choice([0, 1, 3, LIMIT]), dice.randint(-LIMIT, LIMIT)
        made = []
        for each in tensors:
            middle = at if time % 2 else dice.randint(-LIMIT, LIMIT)
            near = [middle + dice.randint(-spread, spread) for _ in range(each.size)]
            made.append(np.clip(near, -LIMIT, LIMIT).astype(each.dtype).reshape(each.shape))
        yield [*made, *(dice.choice([0, 1, 2, 3, 4, 5, 7]) for _ in kernel.numbers)]


class Compiled:
    """A kernel's numbers, and its Ascend C. AssertionError: something disagrees with NumPy, or the
    compiler says more than nothing of hazards."""

    def __init__(self, kernel: RandomKernel, folder: Path) -> None:
        self.random = kernel
        self.inputs = random_inputs(kernel, SEED)
        self.expected = [kernel.results(self.inputs, numbers) for numbers in kernel.runs()]
        module = load_kernel(kernel.source, folder, kernel.name).capture().module
        self.interpret(module)
        options = _compiler.CompileOptions("ascend", "native", CONFIGS, build_library=False)
        artifact, found = _compiler.compile(module, options)
        unordered = [d.message for d in found if "nothing orders them" in d.message]
        assert artifact is not None and not unordered, [d.message for d in found]
        self.manifest = artifact.manifest
        self.ascendc = dict(artifact.stages)["ascendc"]

    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """Of a run: the inputs, some of which it writes, and the result."""
        copies = [array.copy() for array in self.inputs.values()]
        return [*copies, np.zeros(self.random.output, np.float32)]

    def interpret(self, module: Any) -> None:  # noqa: ANN401
        self.written = []
        for numbers, expected in zip(self.random.runs(), self.expected, strict=True):
            arrays = self.arrays()
            tensors = [(a.ctypes.data, list(a.shape), []) for a in arrays]
            bound = [*tensors, *numbers.values()]
            _, found = _compiler.interpret(module, bound)  # type: ignore[arg-type]
            assert [d.message for d in found] == []
            made = dict(zip([*self.inputs, "Out"], arrays, strict=True))
            for name, wanted in expected.items():
                np.testing.assert_array_equal(made[name], wanted, err_msg="interpreter and NumPy")
            self.written.append(arrays)

    def run(self, library: Path) -> None:
        """RuntimeError: the host found something."""
        kernel = _runtime.Kernel(str(library), self.manifest, None)
        for numbers, written in zip(self.random.runs(), self.written, strict=True):
            arrays = self.arrays()
            kernel(*arrays, *numbers.values())
            for made, wanted in zip(arrays, written, strict=True):
                np.testing.assert_array_equal(
                    made, wanted, err_msg=f"ascend and the interpreter, with {numbers}"
                )


def build(kernels: list[Compiled], library: Path) -> None:
    text = library.with_suffix(".cpp")
    text.write_text("\n".join(kernel.ascendc for kernel in kernels))
    # Kernels run for a moment: to optimise them takes four times as long as all else.
    command = [DRIVER, "build", "--shared", text, "-o", library, "-O0", f"-I{ROOT}/device/ascend"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr


def check_all(numbers: range, folder: Path) -> dict[int, Exception]:
    """Compiles, builds and runs kernels as one file; what went wrong, by number."""
    os.environ["TILEWRIGHT_ASCEND_EXIT"] = "0"
    failed: dict[int, Exception] = {}
    kernels: dict[int, Compiled] = {}
    for number in numbers:
        try:
            kernels[number] = Compiled(kernel_of(number), folder)
        except Exception as problem:  # all of a file are tried
            failed[number] = problem
    library = folder / f"kernels{numbers.start}.so"
    build(list(kernels.values()), library)
    for number, compiled in kernels.items():
        try:
            compiled.run(library)
        except Exception as problem:
            failed[number] = problem
    return failed


MAIN = """

if __name__ == "__main__":
    import numpy as np

    import tilewright

    random = np.random.default_rng({seed})
    inputs = [
        random.integers(-{limit}, {limit} + 1, shape).astype(dtype) for shape, dtype in {tensors}
    ]
    for numbers in {runs}:
        results = []
        for target in ("reference", "ascend"):
            results.append(np.zeros({output}, np.float32))
            compiled = tilewright.compile({name}, target=target, pass_configs={configs})
            compiled(*(array.copy() for array in inputs), results[-1], *numbers)
        np.testing.assert_array_equal(results[1], results[0])
"""


def keep(kernel: RandomKernel, suffix: str = "") -> Path:
    """Leaves a kernel in build/fuzz, as a program that holds it against the interpreter."""
    FAILED.mkdir(parents=True, exist_ok=True)
    path = FAILED / f"ascend_{kernel.name}{suffix}.py"
    main = MAIN.format(
        seed=SEED,
        limit=LIMIT,
        tensors=[(shape, kernel.dtype_of(name)) for name, shape in kernel.inputs.items()],
        runs=[list(numbers.values()) for numbers in kernel.runs()],
        output=kernel.output,
        name=kernel.name,
        configs=CONFIGS,
    )
    path.write_text(kernel.source + main)
    return path


def problem_of(kernel: RandomKernel, folder: Path) -> str:
    """What is wrong with a kernel, as the first words of the problem; empty: nothing."""
    try:
        compiled = Compiled(kernel, folder)
        library = folder / f"kernel_{abs(hash(kernel.source))}.so"
        build([compiled], library)
        compiled.run(library)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return ""


def shrink(
    decisions: list[int], fails: Callable[[list[int]], bool], most_trials: int = 300
) -> list[int]:
    """Fewer and smaller decisions with which it still fails: parts are left out, the larger ones
    first, then each decision is made the least, or half."""
    trials = 0

    def try_these(candidate: list[int]) -> bool:
        nonlocal trials, decisions
        trials += 1
        if trials > most_trials or candidate == decisions or not fails(candidate):
            return False
        decisions = candidate
        return True

    size = len(decisions) // 2
    while size > 0:
        start = 0
        while start < len(decisions):
            if not try_these(decisions[:start] + decisions[start + size :]):
                start += size
        size //= 2
    for place in range(len(decisions)):
        for smaller in (0, decisions[place] // 2):
            if place < len(decisions) and smaller < decisions[place]:
                try_these(decisions[:place] + [smaller] + decisions[place + 1 :])
    return decisions


def shrink_kernel(number: int, folder: Path) -> tuple[RandomKernel, str]:
    """The smallest kernel found that fails as kernel `number` does."""
    dice = Dice(SEED + number)
    kernel = made_by(dice, number)
    problem = problem_of(kernel, folder)
    if not problem:
        raise SystemExit(f"kernel {number} does not fail")
    kind = problem[:60]

    def make(decisions: list[int]) -> RandomKernel:
        return made_by(Script(decisions), number)

    decisions = shrink(dice.thrown, lambda d: problem_of(make(d), folder)[:60] == kind)
    return make(decisions), problem


def main() -> int:
    parser = argparse.ArgumentParser(description="random kernels on the Ascend host")
    parser.add_argument("--first", type=int, default=0, help="the first kernel")
    parser.add_argument("--kernels", type=int, default=300, help="how many")
    parser.add_argument("--shrink", type=int, help="make this kernel small")
    options = parser.parse_args()
    os.environ["TILEWRIGHT_ASCEND_EXIT"] = "0"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.shrink is not None:
            small, problem = shrink_kernel(options.shrink, folder)
            print(f"{keep(small, '_small')}: {problem}")
            return 1
        count = 0
        for first in range(options.first, options.first + options.kernels, KERNELS_PER_FILE):
            last = min(first + KERNELS_PER_FILE, options.first + options.kernels)
            for number, reason in check_all(range(first, last), folder).items():
                print(f"{keep(kernel_of(number))}: {reason}", flush=True)
                count += 1
        print(f"{options.kernels} kernels, {count} failed")
        return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
