# SPDX-License-Identifier: Apache-2.0
"""`target="reference"`: a kernel that the reference interpreter runs (docs/interpreter.md)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .cache import Entry
from .compilation import compile_artifact
from .errors import Diagnostic, KernelError, load_compiler, raise_at_kernel
from .kernel import kernel_of, stage_files

if TYPE_CHECKING:
    from .capture.kernel import CapturedKernel
    from .kernel import JITKernel
    from .options import Options


def reference_kernel(
    captured: CapturedKernel, options: Options, out_idx: list[int] | None, source: object
) -> JITKernel:
    """A kernel whose calls check every access and raise KernelError with the place of the first
    wrong one. Nothing is cached: there is no machine code."""

    def run(*arguments: Any) -> None:
        printed, found = load_compiler().interpret(
            captured.module, list(arguments), captured.references
        )
        sys.stdout.write(printed)
        if found:
            error = KernelError([Diagnostic.from_native(d) for d in found], captured.name)
            raise_at_kernel(error)

    artifact = compile_artifact(captured, options)
    files = stage_files(artifact.stages, artifact.header)
    entry = Entry("0" * 64, run, artifact.manifest, files)
    return kernel_of(entry, out_idx, target=options.target, prim_func=source)
