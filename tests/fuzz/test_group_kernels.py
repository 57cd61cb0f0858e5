# SPDX-License-Identifier: Apache-2.0
"""Random kernels whose groups of threads share fragments: the CPU and the reference give what
threads with registers of their own give, or refuse.
`python tests/fuzz/test_group_kernels.py --seed 1 --cases 100` tries others."""

from __future__ import annotations

import argparse
import collections
import importlib.util
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from group_kernels import GroupKernel, State, Undefined

import tilewright
from tilewright.errors import CompileError

SEED, CASES = 20261124, 30
SOURCES = (8, 16)


def load(source: str, folder: Path, name: str) -> Any:  # noqa: ANN401
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def compare(made: list[Any], wanted: State, what: str) -> None:
    for ours, theirs, is_open in (
        (made[1], wanted.b, wanted.open_b),
        (made[2], wanted.c, wanted.open_c),
    ):
        np.testing.assert_array_equal(ours[~is_open], theirs[~is_open], err_msg=what)


def has_meaning(kernel: GroupKernel, a: Any) -> bool:  # noqa: ANN401
    """Whether it has for all numbers that the compiler doesn't know."""
    try:
        for n, m in itertools.product((0, 8, 32, 50, 64, 128), (16, 64, 96)):
            kernel.run(a, n, m)
    except Undefined:
        return False
    return True


def check(seed: int, folder: Path) -> str:
    """What became of a kernel: "right", or why it was refused."""
    generator = np.random.default_rng(seed)
    a = generator.integers(0, 50, SOURCES).astype(np.int32)
    n = int(generator.choice([0, 8, 32, 50, 64, 128]))
    m = int(generator.choice([16, 64, 96]))
    kernel, wanted = GroupKernel.make(seed, a, n, m)
    program = load(kernel.source, folder, f"group_kernel{seed}")
    try:
        compiled = tilewright.compile(program)
    except CompileError as error:
        text = str(error.diagnostics[0].message)
        return ("refused: " if has_meaning(kernel, a) else "rightly refused: ") + text
    assert wanted is not None, f"seed {seed}: compiled, though it has no meaning\n{kernel.source}"
    for target in ("cpu", "reference"):
        if target == "reference":
            compiled = tilewright.compile(program, target=target)
        arguments: list[Any] = [a, wanted.b.astype(np.int32) * 0, wanted.c.astype(np.int32) * 0]
        try:
            compiled(*arguments, n, m)
        except RuntimeError as error:
            if target == "reference" and "never written" in str(error):
                return "right, but for what nobody wrote"
            raise AssertionError(f"seed {seed}, {target}: {error}\n{kernel.source}") from error
        compare(arguments, wanted, f"seed {seed}, {target}\n{kernel.source}")
    return "right"


@pytest.mark.parametrize("seed", range(SEED, SEED + CASES, 10))
def test_groups_share_fragments(seed: int, tmp_path: Path) -> None:
    found = [check(one, tmp_path) for one in range(seed, seed + 10)]
    assert sum(text.startswith("right") for text in found) >= 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--cases", type=int, default=CASES)
    chosen = parser.parse_args()
    found: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="tilewright-groups-") as folder:
        for seed in range(chosen.seed, chosen.seed + chosen.cases):
            try:
                found[check(seed, Path(folder))] += 1
            except AssertionError as error:
                found["WRONG"] += 1
                print(error, file=sys.stderr)
    for text, count in found.most_common():
        print(count, text)


if __name__ == "__main__":
    main()
