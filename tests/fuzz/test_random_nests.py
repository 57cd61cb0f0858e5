# SPDX-License-Identifier: Apache-2.0
"""Random nests of every dtype on Ascend: NumPy, the interpreter and the host agree, to the last bit
of integers. `python tests/fuzz/test_random_nests.py --seed 1 --cases 100` tries others."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from nest_texts import Nest

sys.path.insert(0, str(Path(__file__).parents[1] / "ascend"))
from kernel_group import KernelGroup

SEED, CASES, NESTS = 20261123, 16, 6
#: Of floats: the least exact one that a nest may go through has 8 bits.
ROUNDING = 2.0**-7


def add(group: KernelGroup, folder: Path, seed: int) -> None:
    nest = Nest(seed, NESTS)
    path = folder / f"nest{seed}.py"
    path.write_text(nest.source())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    results = [term.value for _, term in nest.results]
    made = [np.zeros(nest.shape, term.value.dtype) for _, term in nest.results]
    first = len(nest.inputs)
    expected = {first + number: result for number, result in enumerate(results)}
    arguments = [*nest.inputs.values(), *made]
    group.add(str(seed), module.main, arguments, expected, rtol=ROUNDING, atol=ROUNDING)


def check(group: KernelGroup, name: str) -> None:
    """Floats are near; integers and bools are the same bits, of 64 too."""
    case = group.check(name)
    on_host = group.run(name)
    for number, wanted in case.expected.items():
        if wanted.dtype.kind in "iub":
            np.testing.assert_array_equal(on_host[number], wanted)


def fill(group: KernelGroup, folder: str, seeds: range) -> None:
    for seed in seeds:
        add(group, Path(folder), seed)


GROUP = KernelGroup()
#: As long as the group: a kernel's source is read when it is compiled.
FOLDER = tempfile.TemporaryDirectory(prefix="tilewright-nests-")
fill(GROUP, FOLDER.name, range(SEED, SEED + CASES))


@pytest.mark.parametrize("name", GROUP.cases)
def test_random_nests(name: str) -> None:
    check(GROUP, name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--cases", type=int, default=100)
    options = parser.parse_args()
    wrong = 0
    for first in range(options.seed, options.seed + options.cases, CASES):
        group = KernelGroup()
        with tempfile.TemporaryDirectory(prefix="tilewright-nests-") as folder:
            fill(group, folder, range(first, min(first + CASES, options.seed + options.cases)))
            for name in group.cases:
                try:
                    check(group, name)
                except Exception as error:
                    wrong += 1
                    print(f"seed {name}: {error}", flush=True)
    print(f"{options.cases} kernels of {NESTS} nests, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
