# SPDX-License-Identifier: Apache-2.0
"""Random kernels on the Ascend host: the bits of NumPy and of the interpreter, nothing that nothing
orders says the compiler, and nothing is what the host finds.

25 kernels share a generated file, because its compiler takes seconds to start. Kernels are the same
in each run. What fails is left in build/fuzz for anyone to run.

`TILEWRIGHT_ASCEND_FUZZ_FILES=12 pytest tests/fuzz/test_ascend_kernels.py` runs 300. It is no part
of `make test` as long as some fail, most of them in nests that the vector unit takes.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright import _compiler, _runtime

sys.path.insert(0, str(Path(__file__).parent))
from ascend_kernels import random_ascend_kernel  # noqa: E402
from random_kernels import RandomKernel, random_inputs  # noqa: E402
from test_random_kernels import FAILED, SEED, load_kernel  # noqa: E402

FILES = int(os.environ.get("TILEWRIGHT_ASCEND_FUZZ_FILES", "0"))
KERNELS_PER_FILE = 25
ROOT = Path(__file__).parents[2]
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
    """Decisions by a generator of random numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)


class Compiled:
    """A kernel's source, its numbers, and its Ascend C."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = random_ascend_kernel(Dice(SEED + seed), f"kernel{seed}")
        self.inputs = random_inputs(self.random, SEED + seed)
        self.expected = self.random.reference(self.inputs)
        module = load_kernel(self.random.source, folder, self.random.name).capture().module
        self.interpret(module)
        options = _compiler.CompileOptions("ascend", "native", CONFIGS, build_library=False)
        artifact, found = _compiler.compile(module, options)
        unordered = [d.message for d in found if "nothing orders them" in d.message]
        assert artifact is not None and not unordered, [d.message for d in found]
        self.manifest = artifact.manifest
        self.ascendc = dict(artifact.stages)["ascendc"]

    def interpret(self, module: Any) -> None:
        result = np.zeros(self.random.output, np.float32)
        arrays = [*self.inputs.values(), result]
        bound = [(a.ctypes.data, list(a.shape), []) for a in arrays]
        _, found = _compiler.interpret(module, bound)  # type: ignore[arg-type]
        assert [d.message for d in found] == []
        np.testing.assert_array_equal(result, self.expected, err_msg="interpreter and NumPy")

    def run(self, library: Path) -> None:
        result = np.zeros(self.random.output, np.float32)
        _runtime.Kernel(str(library), self.manifest, None)(*self.inputs.values(), result)
        np.testing.assert_array_equal(result, self.expected, err_msg="ascend and NumPy")


def keep(kernel: RandomKernel, problem: Exception) -> str:
    """Leaves a kernel that failed in build/fuzz; a line that says so."""
    FAILED.mkdir(parents=True, exist_ok=True)
    path = FAILED / f"ascend_{kernel.name}.py"
    path.write_text(kernel.source)
    return f"{path}: {problem}"


@pytest.mark.parametrize("file", range(FILES))
def test_ascend_agrees_on_random_kernels(
    file: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_ASCEND_EXIT", "0")
    failed, kernels = [], []
    for seed in range(file * KERNELS_PER_FILE, (file + 1) * KERNELS_PER_FILE):
        try:
            kernels.append(Compiled(seed, tmp_path))
        except Exception as problem:  # all of a file are tried
            kernel = random_ascend_kernel(Dice(SEED + seed), f"kernel{seed}")
            failed.append(keep(kernel, problem))
    text, library = tmp_path / "kernels.cpp", tmp_path / "kernels.so"
    text.write_text("\n".join(kernel.ascendc for kernel in kernels))
    driver = ROOT / "build" / "bin" / "tilewright-ascendc"
    command = [driver, "build", "--shared", text, "-o", library, f"-I{ROOT}/device/ascend"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    for compiled in kernels:
        try:
            compiled.run(library)
        except Exception as problem:
            failed.append(keep(compiled.random, problem))
    assert not failed, "\n".join(failed)
