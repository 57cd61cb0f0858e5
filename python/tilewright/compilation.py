# SPDX-License-Identifier: Apache-2.0
"""From a kernel to a loaded one, through the cache."""

from __future__ import annotations

import os

from . import cache
from .env import remark_ignored
from .errors import (
    Diagnostic,
    Place,
    compile_error,
    load_compiler,
    raise_at_kernel,
    unsupported,
    warn,
    warning_text,
)
from .front_key import digest, machine_stamp
from .kernel import kernel_of, stage_files
from .options import tracing_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .capture.kernel import CapturedKernel
    from .front_key import FrontKey
    from .kernel import JITKernel
    from .options import Options


#: Of a cache entry: what the compiler has warned of.
_WARNINGS = "warnings.json"


def warnings_file(diagnostics: Sequence[Diagnostic]) -> dict[str, bytes]:
    """The warnings as an extra file of a cache entry; none, no file."""
    told = [
        [d.place.file, d.place.line, d.place.column, d.place.end_column, warning_text(d)]
        for d in diagnostics
        if d.kind == "warning"
    ]
    if not told:
        return {}
    from json import dumps

    return {_WARNINGS: dumps(told).encode("utf-8")}


def warn_again(entry: cache.Entry) -> None:
    """What the compilation that made an entry has warned of."""
    data = entry.extra(_WARNINGS)
    if data is None:
        return
    from json import loads

    warn([Diagnostic("warning", Place(*place), text) for *place, text in loads(data)])


def load(
    key: str,
    options: Options,
    out_idx: list[int] | None,
    source: object,
    recompile: Callable[[], Sequence[tuple[str, str]]],
) -> JITKernel | None:
    """The kernel of a cache entry, or None if it must be compiled."""
    entry = cache.lookup(key)
    if entry is None:
        return None
    try:
        kernel = kernel_of(
            entry, out_idx, target=options.target, prim_func=source, recompile=recompile
        )
    except OSError:
        return None
    warn_again(entry)
    return kernel


def kernel_key(captured: CapturedKernel, options: Options, with_places: bool) -> str:
    """The key of a kernel's machine code; with the places of its lines where those are in its
    messages."""
    text = captured.module.text(with_places)
    parts = ["kernel 4", machine_stamp(), options.description(), text]
    if captured.outputs:  # they are in the manifest
        parts.append(repr(captured.outputs))
    return digest("\0".join(parts))


def _tells_places(manifest: str, extra: Iterable[str]) -> bool:
    """Whether a kernel's messages tell lines: of assertions and launches, and as warnings."""
    return '"line":' in manifest or _WARNINGS in extra


def manifest_of(artifact: Any, outputs: list[int]) -> str:
    """The manifest, with the outputs that an eager kernel names itself: a later process that finds
    the kernel by its front key does not trace it."""
    text: str = artifact.manifest
    if not outputs:
        return text
    from json import dumps, loads

    return dumps(loads(text) | {"out_idx": outputs}, separators=(",", ":"))


def warn_of_unwritten_results(
    kernel: JITKernel, options: Options, captured: Callable[[], CapturedKernel]
) -> None:
    """Of those that no statement writes, and, on an NPU, of those that are only updated, by
    atomics; what `captured` gives knows their places."""
    results = kernel.out_idx
    tells_updates = bool(results) and '"updated":true' in kernel.entry.manifest
    if options.pass_configs.get("tl.disable_buffer_init_check") or (
        not tells_updates
        and all(kernel.params[number].get("is_written", True) for number in results)
    ):
        return
    found = load_compiler().unwritten_results(captured().module, results, tells_updates)
    warn([Diagnostic.from_native(each) for each in found])


def native_options(options: Options, keep_stages: bool = False, build: bool = True) -> Any:
    compiler = load_compiler()
    problem = options.cpu != "native" and compiler.cpu_problem(options.cpu, options.target)
    if problem:
        raise unsupported(f"{options.cpu_is_from}{problem}")
    return compiler.CompileOptions(
        options.target, options.cpu, options.pass_configs, keep_stages, build
    )


def _compile(captured: CapturedKernel, native: Any) -> tuple[Any, list[Diagnostic]]:
    """What the compiler makes, and what it says besides; CompileError with all its messages."""
    from .cancellation import cancellation, in_compiler

    compiler = load_compiler()
    with in_compiler():
        artifact, found = compiler.compile(captured.module, native, cancellation())
    diagnostics = [Diagnostic.from_native(d) for d in found]
    if artifact is None:
        raise_at_kernel(compile_error(diagnostics, captured.name))
    return artifact, diagnostics


def compile_and_warn(
    captured: CapturedKernel, options: Options, keep_stages: bool = False
) -> tuple[Any, list[Diagnostic]]:
    """Compiles; CompileError with all messages of the target."""
    remark_ignored()
    artifact, diagnostics = _compile(captured, native_options(options, keep_stages))
    warn(diagnostics)
    return artifact, diagnostics


def compile_artifact(captured: CapturedKernel, options: Options, keep_stages: bool = False) -> Any:
    """`compile_and_warn` without the messages."""
    return compile_and_warn(captured, options, keep_stages)[0]


def stages_of(captured: CapturedKernel, options: Options) -> list[tuple[str, str]]:
    """Every stage as (name, text); CompileError with all messages of the target."""
    native = native_options(options, keep_stages=True, build=False)
    return list(_compile(captured, native)[0].stages)


def kernel_of_library(
    func: Any, source: str, library: str, options: Options, out_idx: list[int] | None
) -> JITKernel:
    """A kernel whose library is there. ValueError if `source`, its `get_kernel_source()`, is not
    what `func` becomes: the library would be called in another way than it was made for."""
    with tracing_for(options.target):
        captured = func.capture()
    artifact, _ = _compile(captured, native_options(options, keep_stages=True, build=False))
    manifest = manifest_of(artifact, captured.outputs)
    entry = cache.Entry("", library, manifest, stage_files(artifact.stages, artifact.header))
    kernel = kernel_of(entry, out_idx, target=options.target, prim_func=func)
    if kernel.get_kernel_source() != source:
        raise ValueError(
            f"{kernel.name}: this function with these options gives another source than "
            f"'{library}' was made of"
        )
    return kernel


def strict_indices() -> bool:
    """Whether elements outside of tensors are errors (docs/interpreter.md)."""
    return os.environ.get("TILEWRIGHT_STRICT_INDICES", "0") not in ("", "0")


def compile_kernel(
    capture: Callable[[], CapturedKernel],
    options: Options,
    out_idx: list[int] | None = None,
    front: FrontKey | None = None,
    source: object = None,
) -> JITKernel:
    """The kernel that `capture` gives, compiled or found in the cache. With a front key that is
    known, nothing is captured."""

    def captured_kernel() -> CapturedKernel:
        with tracing_for(options.target):
            return capture()

    if options.target == "reference":
        from .reference_kernel import reference_kernel

        captured = captured_kernel()
        return reference_kernel(captured, options, out_idx or captured.outputs or None, source)

    def recompile() -> Sequence[tuple[str, str]]:
        return stages_of(captured_kernel(), options)

    is_strict = options.target == "ascend" and strict_indices()
    if front is not None and not is_strict:
        known = cache.lookup_front(front) or cache.lookup_front(front.placed)
        kernel = None if known is None else load(known, options, out_idx, source, recompile)
        if kernel is not None:
            warn_of_unwritten_results(kernel, options, captured_kernel)
            return kernel
    captured = captured_kernel()
    if captured.is_npu and options.target == "cpu" and (chosen := options.for_npu()) is not None:
        return compile_kernel(capture, chosen, out_idx, None, source)  # nobody named a target
    captured.warn_again()
    for with_places in (False, True):
        key = kernel_key(captured, options, with_places)
        kernel = load(key, options, out_idx, source, recompile)
        if kernel is not None:
            break
    if kernel is None:
        artifact, diagnostics = compile_and_warn(captured, options)
        extra = stage_files([], artifact.header) | warnings_file(diagnostics)
        key = kernel_key(captured, options, _tells_places(artifact.manifest, extra))
        entry = cache.store(key, artifact.library, manifest_of(artifact, captured.outputs), extra)
        kernel = kernel_of(
            entry, out_idx, target=options.target, prim_func=source, recompile=recompile
        )
    warn_of_unwritten_results(kernel, options, lambda: captured)
    if is_strict:
        from .strict_indices import strict_kernel

        return strict_kernel(
            kernel, captured, options, out_idx, prim_func=source, recompile=recompile
        )
    # What was noticed while tracing is noticed only then.
    if front is not None and not captured.warnings:
        placed = _tells_places(kernel.entry.manifest, kernel.entry.extra_names())
        cache.store_front(front.placed if placed else front, key)
    return kernel
