# SPDX-License-Identifier: Apache-2.0
"""`target="reference"`: a kernel that the reference interpreter runs (docs/interpreter.md)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .cache import Entry
from .compilation import compile_artifact, strict_indices
from .errors import Diagnostic, KernelError, load_compiler, raise_at_kernel, warn
from .kernel import kernel_of, stage_files

if TYPE_CHECKING:
    from .capture.kernel import CapturedKernel
    from .kernel import JITKernel
    from .options import Options


def reports_out_of_range(options: Options) -> bool:
    """Whether an element outside of a tensor is an error: on a GPU it is guarded only by the pass
    that this key turns off."""
    return strict_indices() or bool(options.pass_configs.get("tl.disable_safe_memory_legalize"))


def pairs_cores(options: Options) -> bool:
    """Whether Ascend's compiler would set the flags between the cores (docs/ascend-sync.md)."""
    keys = ("tl.ascend_auto_cv_combine", "tl.ascend_auto_cross_core_sync")
    return all(options.pass_configs.get(key) for key in keys)


def reference_kernel(
    captured: CapturedKernel,
    options: Options,
    out_idx: list[int] | None,
    source: object,
    tells_unwritten: bool = True,
) -> JITKernel:
    """A kernel whose calls check every access and raise KernelError with the place of the first
    wrong one, and warn of outputs that it makes but does not fill. Nothing is cached: there is no
    machine code."""

    is_strict = reports_out_of_range(options)
    pairs = pairs_cores(options)
    takes_turns = bool(options.pass_configs.get("tl.disable_data_race_check"))

    def run(*arguments: Any) -> None:
        printed, found = load_compiler().interpret(
            captured.module,
            list(arguments),
            captured.references,
            is_strict,
            kernel.out_idx if tells_unwritten else [],
            takes_turns,
            pairs,
        )
        sys.stdout.write(printed)
        diagnostics = [Diagnostic.from_native(d) for d in found]
        if any(d.is_error for d in diagnostics):
            raise_at_kernel(KernelError(diagnostics, captured.name))
        warn(diagnostics)

    artifact = compile_artifact(captured, options)
    files = stage_files(artifact.stages, artifact.header)
    entry = Entry("0" * 64, run, artifact.manifest, files)
    kernel = kernel_of(entry, out_idx, target=options.target, prim_func=source)
    return kernel
