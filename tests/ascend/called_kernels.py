# SPDX-License-Identifier: Apache-2.0
"""The kernels that a module of tests compiles and calls itself, without a group, for
`all_verdicts.py`: with the arguments of the first calls that went well."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from verdicts import Asked, Removals, Subject, instructions_in

from tilewright import _runtime
from tilewright.kernel import JITKernel


class Recorder:
    """Keeps each kernel for Ascend by its text, and copies of what its first calls give it, if that
    is all that it takes: arrays and numbers."""

    most_calls = 6

    def __init__(self) -> None:
        self.calls: dict[str, tuple[JITKernel, list[list[Any]]]] = {}

    @contextmanager
    def recording(self) -> Iterator[None]:
        def call(kernel: JITKernel, *arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401
            given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
            made = _runtime.Kernel.__call__(kernel, *arguments, **keywords)
            if kernel.target == "ascend" and not keywords:
                self.keep(kernel, given)
            return made

        JITKernel.__call__ = call  # type: ignore[method-assign]
        try:
            yield
        finally:
            del JITKernel.__call__

    def keep(self, kernel: JITKernel, given: list[Any]) -> None:
        is_plain = all(isinstance(each, np.ndarray | int | float) for each in given)
        if is_plain and len(given) == len(json.loads(kernel.entry.manifest)["params"]):
            text = dict(kernel.stages())["ascendc"]
            _, calls = self.calls.setdefault(text, (kernel, []))
            if len(calls) < self.most_calls:
                calls.append(given)


def removals_of(kernel: JITKernel, calls: list[list[Any]]) -> Removals:
    with tempfile.TemporaryDirectory() as name:
        subject = Subject.built(kernel.stages(), kernel.entry.manifest, Path(name))
        subject.checked = lambda: kernel
        return subject.removals(calls[0], also=calls[1:])


def of_called_kernels(modules: list[Path]) -> Iterator[tuple[str, Callable[[], Asked]]]:
    for module in modules:
        recorder = Recorder()
        with recorder.recording():
            pytest.main([str(module), "-q", "-p", "no:cacheprovider", "-p", "no:xdist"])
        for number, (kernel, calls) in enumerate(recorder.calls.values()):
            yield (
                f"{module.stem}: call {number}",
                lambda kernel=kernel, calls=calls: Asked(
                    instructions_in(kernel.stages()), lambda: removals_of(kernel, calls)
                ),
            )
