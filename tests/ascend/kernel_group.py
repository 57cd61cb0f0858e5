# SPDX-License-Identifier: Apache-2.0
"""Kernels that share one library for the host, because its compiler takes seconds to start.

Each is compiled to Ascend C on its own, without a warning of the static checker, and run twice: by
the reference interpreter, and by the host, which raises where it finds a hazard. Both must agree
with what NumPy gives in float64.
"""

from __future__ import annotations

import itertools
import subprocess
import tempfile
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from verdicts import Removals, Subject

import tilewright
from tilewright import _compiler, _runtime
from tilewright.errors import Diagnostic, warning_text
from tilewright.jit_factory import JITFunction
from tilewright.language.prim_func import PrimFunc
from tilewright.testing import interpret

Array = np.ndarray[Any, Any]
LEFT_TO_HOST = "checked while it is compiled, but the host checks "
ROOT = Path(__file__).parents[2]

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


def compiled(kernel: PrimFunc, configs: dict[Any, Any]) -> tuple[Any, list[str]]:
    """What the compiler makes, without a library, which takes seconds, and its warnings as Python
    gives them."""
    options = _compiler.CompileOptions(
        "ascend",
        "native",
        {getattr(key, "value", key): value for key, value in configs.items()},
        keep_stages=True,
        build_library=False,
    )
    artifact, found = _compiler.compile(kernel.capture().module, options)
    assert artifact is not None, [d.message for d in found]
    return artifact, [warning_text(Diagnostic.from_native(each)) for each in found]


@dataclass
class Case:
    """A kernel, all of its arguments, and what the results (by number) must be."""

    kernel: PrimFunc
    configs: dict[Any, Any]
    arguments: list[Array | float]
    expected: dict[int, Array]
    rtol: float
    atol: float
    is_faulty: bool = False
    told: list[str] = field(default_factory=list)
    manifest: Any = None
    texts: list[tuple[str, str]] = field(default_factory=list)
    lines_before: int = 0
    loaded: Any = None
    problem: Exception | None = None

    def compile(self, name: str) -> None:
        self.kernel = PrimFunc(self.kernel.function, self.kernel.names)
        self.kernel.__name__ = name
        artifact, self.told = compiled(self.kernel, self.configs)
        if not self.is_faulty:
            assert [each for each in self.told if "nothing orders them" in each] == []
        self.manifest = artifact.manifest
        self.texts = list(artifact.stages)

    def checked(self) -> Callable[..., Any]:
        """The kernel with the host's checks of its parts, in a library of its own."""
        return tilewright.compile(self.kernel, target="ascend", pass_configs=self.configs)

    @property
    def stages(self) -> dict[str, str]:
        """The text of each stage; of several launches those of the last one."""
        return dict(self.texts)

    @property
    def ascendc(self) -> str:
        return self.stages["ascendc"]

    def check(self, made: Sequence[Array | float], by: str) -> None:
        for number, wanted in self.expected.items():
            result = np.asarray(made[number])
            if self.rtol == self.atol == 0 and result.dtype == wanted.dtype:
                np.testing.assert_array_equal(result, wanted, err_msg=by)  # all 64 bits
                continue
            result = result.astype(np.float64)
            close = {"rtol": self.rtol, "atol": self.atol}
            np.testing.assert_allclose(result, wanted, err_msg=by, **close)


class KernelGroup:
    """Add cases when the module is loaded; `check` one by name in a test."""

    def __init__(self, configs: dict[Any, Any] | None = None, *, tolerance: float = 1e-4) -> None:
        self.configs = AUTOMATIC if configs is None else configs
        self.tolerance = tolerance
        self.cases: dict[str, Case] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def add(
        self,
        name: str,
        kernel: PrimFunc,
        arguments: Sequence[Array | float],
        expected: Array | dict[int, Array],
        *,
        configs: dict[Any, Any] | None = None,
        rtol: float | None = None,
        atol: float | None = None,
    ) -> None:
        """`expected` is that of the last argument, or by the arguments' numbers."""
        results = expected if isinstance(expected, dict) else {len(arguments) - 1: expected}
        chosen = self.configs if configs is None else configs
        relative, absolute = (self.tolerance if each is None else each for each in (rtol, atol))
        self.cases[name] = Case(kernel, chosen, list(arguments), results, relative, absolute)

    def each(self, **values: Sequence[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Adds what a function gives for all combinations of these values of its parameters: a
        kernel, its arguments, what is expected and, if not the group's, its pass configs."""

        def add_all(make: Callable[..., Any]) -> Callable[..., Any]:
            for chosen in itertools.product(*values.values()):
                name = " ".join([make.__name__, *map(str, chosen)])
                assert name not in self.cases
                made = make(**dict(zip(values, chosen, strict=True)))
                kernel, arguments, expected, *configs = made
                self.add(name, kernel, arguments, expected, configs=configs[0] if configs else None)
            return make

        return add_all

    def add_faulty(
        self,
        name: str,
        kernel: PrimFunc,
        arguments: Sequence[Array | float],
        configs: dict[Any, Any],
    ) -> None:
        """A kernel that lacks flags: what it says of them is in the kernel's own lines."""
        lines = {"tl.emit_line_directives": True}
        self.cases[name] = Case(kernel, configs | lines, list(arguments), {}, 0, 0, is_faulty=True)

    def told(self, name: str) -> list[str]:
        """What the compiler warns of."""
        self._library()
        case = self.cases[name]
        if case.problem is not None:
            raise case.problem
        return case.told

    def add_example(
        self,
        name: str,
        factory: JITFunction,
        sizes: Sequence[object],
        arguments: Sequence[Array | float],
        expected: Array,
        *,
        rtol: float = 1e-4,
        atol: float = 1e-4,
    ) -> None:
        """A kernel of a `@tilelang.jit` factory, with its pass configs."""
        configs = factory.choices.get("pass_configs") or {}
        kernel = factory.get_tir(*sizes)
        self.add(name, kernel, arguments, expected, configs=configs, rtol=rtol, atol=atol)

    def check(self, name: str) -> Case:
        made = self.run(name)
        case = self.cases[name]
        case.check(made, "host")
        same = copies(case.arguments)
        interpret(case.kernel, *same)
        case.check(same, "interpreter")
        return case

    def run(self, name: str, *arguments: Array | float) -> list[Any]:
        """The arguments, the case's own or these, after the host has run the kernel; RuntimeError
        for what it finds."""
        library = self._library()
        case = self.cases[name]
        if case.problem is not None:
            raise case.problem
        made = copies(arguments or case.arguments)
        if case.loaded is None:
            case.loaded = _runtime.Kernel(str(library), case.manifest, None)
        case.loaded(*made)
        return made

    def removals(self, name: str, most: int | None = None, seed: int = 0) -> Removals:
        """What the compiler's checker and the host say of `most` of its synchronisations."""
        library = self._library()
        case = self.cases[name]
        if case.problem is not None:
            raise case.problem
        subject = Subject(
            case.texts, case.manifest, library, library.with_suffix(".cpp"), case.lines_before
        )
        subject.checked = case.checked
        return subject.removals(case.arguments, most, seed)

    def check_removals(self, name: str, most: int | None = 3) -> None:
        """A few of them, always the same, or all; `python tests/ascend/all_verdicts.py` tries those
        of all kernels."""
        removals = self.removals(name, most, seed=zlib.crc32(name.encode()))
        assert removals.missed() == []
        assert removals.needless() == []
        # What the checker gives no verdict of, the user has been told to be the host's.
        has_told = any(LEFT_TO_HOST in each for each in self.told(name))
        assert not removals.left_to_host or has_told
        assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []

    def _library(self) -> Path:
        """The library of all cases that compile; the problem of another is its own."""
        if self._folder is not None:
            return Path(self._folder.name) / "kernels.so"
        self._folder = tempfile.TemporaryDirectory(prefix="tilewright-group-")
        texts = []
        for number, case in enumerate(self.cases.values()):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    case.compile(f"kernel{number}")
                case.lines_before = sum(text.count("\n") + 1 for text in texts)
                texts.append(case.ascendc)
            except Exception as problem:  # raised by its own test
                case.problem = problem
        text = Path(self._folder.name) / "kernels.cpp"
        text.write_text("\n".join(texts))
        driver = ROOT / "build" / "bin" / "tilewright-ascendc"
        library = text.with_suffix(".so")
        command = [driver, "build", "--shared", text, "-o", library, f"-I{ROOT}/device/ascend"]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stdout + built.stderr
        return library


def copies(arguments: Sequence[Array | float]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
