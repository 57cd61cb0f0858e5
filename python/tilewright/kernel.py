# SPDX-License-Identifier: Apache-2.0
"""A compiled kernel, as `tilelang.compile` and `@tilelang.jit` give it.

Calling it goes straight to C++ (`_runtime.Kernel`): this class only adds what is asked for between
calls. Nothing slow is imported here.
"""

from __future__ import annotations

import os
from itertools import compress
from types import FunctionType

from tilewright import _runtime
from tilewright.errors import short_traceback, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    from tilewright.cache import Entry
    from tilewright.language.prim_func import PrimFunc
    from tilewright.profiler import Profiler, TensorSupplyType

_STAGE = "stage-"
_HEADER = "header.h"


def stage_files(stages: Sequence[tuple[str, str]], header: str = "") -> dict[str, bytes]:
    """The texts of a compilation as extra files of its cache entry, for `JITKernel.stages`."""
    files = {
        f"{_STAGE}{number:02d}-{name}": text.encode("utf-8")
        for number, (name, text) in enumerate(stages)
    }
    return files | ({_HEADER: header.encode("utf-8")} if header else {})


class JITKernel(_runtime.Kernel):
    """Call it with all arguments, or without the outputs (`out_idx`): it then makes and gives them,
    as it does where one of them is None.

    `prim_func` is what it was made of, or a function that gives that. `recompile` compiles the
    kernel anew and gives (stage, text) pairs; it is used where the cache entry holds no stages.
    OSError: the entry's library is gone or can't be loaded; the entry is as good as missing, so
    compile again.
    """

    latency: float | None = None
    """Milliseconds, set by the autotuner."""
    ref_latency: float | None = None
    config: dict[str, Any] | None = None
    """The autotuner's choice."""

    def __new__(cls, entry: Any, *args: Any, **options: Any) -> JITKernel:
        """`JITKernel(prim_func, ..)` is `tilelang.compile(prim_func, ..)`."""
        if hasattr(entry, "library"):
            return super().__new__(cls)
        from .jit_factory import compile

        options.pop("from_database", None)
        return compile(entry, *args, **options)

    def __init__(
        self,
        entry: Entry,
        out_idx: list[int] | int | None = None,
        *,
        target: str = "cpu",
        prim_func: object = None,
        recompile: Callable[[], Sequence[tuple[str, str]]] | None = None,
        **options: object,
    ) -> None:
        if not hasattr(entry, "library"):
            return  # compiled by __new__
        outputs = [out_idx] if isinstance(out_idx, int) else out_idx
        results = len(out_idx.results) if isinstance(out_idx, Outputs) else None
        super().__init__(entry.library, entry.manifest, outputs, results)
        self.entry = entry
        self.target = target
        self._prim_func = prim_func
        self._recompile = recompile
        self._stages: list[tuple[str, str]] | None = None

    @property
    def params(self) -> list[dict[str, Any]]:
        """What each parameter is, as a KernelParam."""
        from .kernel_param import KernelParam

        return [KernelParam(**param) for param in super().params]

    @property
    def prim_func(self) -> Any:
        """The kernel as written, which `tilelang.compile` takes. A kernel from the cache was made
        without its factory, which is called now."""
        if isinstance(self._prim_func, FunctionType):
            self._prim_func = self._prim_func()
        return self._prim_func

    def stages(self) -> list[tuple[str, str]]:
        """(stage, text) in the order of the pipeline; compiles again if they were not kept."""
        if self._stages is None:
            names = [name for name in self.entry.extra_names() if name.startswith(_STAGE)]
            texts = [(name[len(_STAGE) + 3 :], self.entry.extra(name)) for name in names]
            kept = [(name, text.decode("utf-8")) for name, text in texts if text is not None]
            if len(kept) < max(1, len(names)) and self._recompile is not None:
                kept = list(self._recompile())
            self._stages = kept
        return self._stages

    def stage(self, name: str) -> str:
        """The text of one stage, e.g. `tile`, `llvm` or `asm`. KeyError: there is no such stage."""
        for stage, text in self.stages():
            if stage == name:
                return text
        known = ", ".join(stage for stage, _ in self.stages()) or "none"
        raise KeyError(f"{self.name}: no stage '{name}'; there are: {known}")

    def get_kernel_source(self, kernel_only: bool = True) -> str:
        """The kernel as its target compiles it: LLVM's IR for the CPU, Ascend C for an NPU; for the
        reference, tile IR; without `kernel_only`, also the C header of the library."""
        text = self.stage({"reference": "tile", "ascend": "ascendc"}.get(self.target, "llvm"))
        return text if kernel_only else f"{self.get_host_source()}\n{text}"

    def get_host_source(self) -> str:
        """The C header that declares the kernel, for callers without our runtime; for an NPU, the
        functions of the host behind the kernel, which count its blocks and launch it."""
        if self.target == "ascend":
            _, start, rest = self.stage("ascendc").partition(f'extern "C" void {self.name}_grid(')
            return start + rest
        header = self.entry.extra(_HEADER)
        return header.decode("utf-8") if header is not None else ""

    @property
    def kernel_source(self) -> str:
        return self.get_kernel_source()

    @property
    def host_source(self) -> str:
        return self.get_host_source()

    @property
    def adapter(self) -> JITKernel:
        """What TileLang's kernels have in a part of their own is the kernel's here."""
        return self

    @property
    def artifact(self) -> JITKernel:
        """As `adapter`."""
        return self

    @property
    def made_idx(self) -> list[int]:
        """The parameters that calls make: those that they give, and those that they drop."""
        return self.out_idx

    @property
    def workspace_idx(self) -> list[int]:
        """The parameters that calls make and drop."""
        return []

    @property
    def auto_gm_idx(self) -> list[int]:
        """No parameter: workspaces that the compiler adds are the runtime's."""
        return []

    @classmethod
    def from_tilelang_function(cls, tilelang_func: PrimFunc, **choices: Any) -> JITKernel:
        """As `tilewright.compile`."""
        from tilewright.jit_factory import compile

        return compile(tilelang_func, **choices)

    @classmethod
    def from_database(
        cls,
        func: PrimFunc,
        kernel_global_source: str,
        kernel_lib_path: str,
        params: Sequence[object] | None = None,
        target: object = None,
        target_host: object = None,
        out_idx: Sequence[int] | int | None = None,
        workspace_idx: Sequence[int] | int | None = None,
        execution_backend: str | None = None,
        pass_configs: dict[Any, Any] | None = None,
    ) -> JITKernel:
        """The kernel of a library that was made of `func` before (`export_library`). `params` are
        those of `func`. ValueError: the source is not what `func` becomes with these options."""
        from tilewright.compilation import kernel_of_library
        from tilewright.jit_factory import output_numbers
        from tilewright.options import Options, check_backend

        check_backend(execution_backend)
        return kernel_of_library(
            func,
            kernel_global_source,
            kernel_lib_path,
            Options(target, pass_configs=pass_configs),
            output_numbers(out_idx, workspace_idx),
        )

    def run_once(self, func: Callable[..., object] | None = None) -> Any:
        """What a call (or `func`) gives for inputs that are made for it."""
        return self.get_profiler().run_once(func)

    def update_tuner_result(
        self, latency: float, config: dict[str, Any], ref_latency: float | None
    ) -> JITKernel:
        """Keeps what a tuner has found: milliseconds, and its choice."""
        self.latency, self.config, self.ref_latency = latency, config, ref_latency
        return self

    def get_tuner_result(self) -> dict[str, Any]:
        """What `update_tuner_result`, or the autotuner, has kept."""
        if self.latency is None:
            raise ValueError(f"{self.name}: no tuner has measured this kernel")
        return {
            "latency": self.latency,
            "config": self.config,
            "ref_latency": self.ref_latency,
        }

    def report(
        self,
        *arguments: Any,
        svg: str | None = None,
        timeline: str | None = None,
        time_only: bool = False,
    ) -> str:
        """Of a kernel for Ascend: how long the chip would take and what each pipe does meanwhile,
        where buffers lie in each memory, and each flag and barrier that the compiler put in, with
        the reason. The kernel is called once for that, with `arguments`, or with zeros. Of several
        launches each has a part of its own in all of them: `launch 2 of 3 (line 41)`.

        `svg` names a file for a picture of the memories, `timeline` one for a page that shows every
        instruction (docs/ascend-timing.md) or, if it ends in `.svg`, for a picture of it; the
        second launch is in `time.2.html` where the first is in `time.html`.
        `time_only` is faster, and only for kernels that don't branch on data in memory:
        instructions have no effect then.
        """
        if self.target != "ascend":
            raise unsupported(f"target '{self.target}' has no report; only 'ascend' has")
        if svg is not None:
            from pathlib import Path

            Path(svg).write_text(self.stage("memory.svg"), encoding="utf-8")
        waits = self.stage("waits") or "none was put in by the compiler\n"
        time = self._time_text(arguments, timeline, time_only)
        return f"{time}\n{self.stage('memory')}\nflags and barriers\n{waits}"

    def _time_text(self, arguments: tuple[Any, ...], timeline: str | None, only: bool) -> str:
        import json

        from tilewright.profiler import Profiler, TensorSupplyType
        from tilewright.profiling.ascend_time import modelled_times, text_of

        if not arguments and (symbols := json.loads(self.entry.manifest)["symbols"]):
            needed = f"{', '.join(symbols)} can be any number; give arguments, as in a call"
            if timeline is not None:
                raise ValueError(f"{self.name}: report(timeline='{timeline}'): {needed}")
            return f"no estimate of its time: {needed}\n"
        # Wrong arguments are an error, as in a call.
        told = RuntimeError if arguments else (RuntimeError, ValueError)
        try:
            given = arguments or tuple(Profiler(self, TensorSupplyType.Zero).inputs())
            times = modelled_times(self, *given, time_only=only, timeline=timeline)
        except told as problem:
            return f"no estimate of its time: {problem}\n"
        return text_of(times, self._launches())

    def _launches(self) -> dict[str, str]:
        """Of a kernel with several launches: which one a function of the device is."""
        texts = [text for name, text in self.stages() if name == "launches"]
        pairs = [line.partition(": ") for text in texts for line in text.splitlines()]
        return {f"{name}_kernel": words for name, _, words in pairs}  # as the host names it

    def show_source(self, which: str = "kernel") -> None:
        """Prints `get_kernel_source()`: here the host's part has no source of its own."""
        print(self.get_kernel_source())

    def show_ptx(self, *options: object, **named: object) -> NoReturn:
        """Refuses: `show_ptx`, `export_ptx`, `show_sass` and `export_sass` show a GPU's code."""
        raise unsupported(
            f"target '{self.target}' has no PTX or SASS, the code of GPUs; see get_kernel_source()"
        )

    export_ptx = show_sass = export_sass = show_ptx

    def export_library(self, path: str) -> None:
        """Writes the shared library (its functions: tilewright/kernel_abi.h)."""
        from pathlib import Path

        library = self.entry.library
        if callable(library):
            raise unsupported(f"target '{self.target}' makes no library")
        data = library if isinstance(library, bytes) else Path(library).read_bytes()
        Path(path).write_bytes(data)

    def export_sources(self, kernel_path: str | None = None, host_path: str | None = None) -> None:
        """Writes `get_kernel_source()` and `get_host_source()`."""
        from pathlib import Path

        if kernel_path is None and host_path is None:
            raise ValueError(f"{self.name}: export_sources needs kernel_path or host_path")
        if kernel_path is not None:
            Path(kernel_path).write_text(self.get_kernel_source(), encoding="utf-8")
        if host_path is not None:
            Path(host_path).write_text(self.get_host_source(), encoding="utf-8")

    @short_traceback
    def get_profiler(self, tensor_supply_type: TensorSupplyType | None = None) -> Profiler:
        """Measures and compares this kernel, on inputs of its own making."""
        from tilewright.profiler import Profiler, TensorSupplyType

        return Profiler(self, tensor_supply_type or TensorSupplyType.Auto)

    def __repr__(self) -> str:
        params = ", ".join(param["name"] for param in self.params)
        return f"<JITKernel {self.name}({params}) for {self.target}>"


class Outputs(list[int]):
    """Parameters that a call makes: those that it gives, and workspaces, which it drops."""

    def __init__(self, results: Sequence[int], workspaces: Sequence[int]) -> None:
        super().__init__([*results, *workspaces])
        self.results = results


class WorkspaceKernel(JITKernel):
    """A kernel whose calls make workspaces (`workspace_idx`) beside the outputs."""

    def __init__(self, entry: Entry, outputs: Outputs, **more: Any) -> None:
        super().__init__(entry, outputs, **more)
        # The runtime (runtime/manifest.h) has them in the order of the lists: results first.
        self._is_kept = [at < len(outputs.results) for at in range(len(self.made_idx))]

    @property
    def made_idx(self) -> list[int]:
        return super().out_idx

    @property
    def out_idx(self) -> list[int]:
        return list(compress(self.made_idx, self._is_kept))

    @property
    def workspace_idx(self) -> list[int]:
        return [number for number in self.made_idx if number not in self.out_idx]

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        made = super().__call__(*arguments, **keywords)
        results = list(compress(made if isinstance(made, list) else [made], self._is_kept))
        if len(results) == 1:
            return results[0]
        return results if results or self.target == "ascend" else None


#: How the parameters begin that a kernel has beside its own: workspaces (T.alloc_global).
WORKSPACE = "tw_workspace"


def _with_workspaces(manifest: str, out_idx: list[int] | None) -> list[int] | None:
    """`out_idx`, which counts the kernel's own parameters, and the workspaces behind these; of an
    eager kernel, whose manifest has its outputs, workspaces may stand between them."""
    if f'"{WORKSPACE}' not in manifest:
        return out_idx
    import json

    described = json.loads(manifest)
    params = described["params"]
    added = [n for n, each in enumerate(params) if each["name"].startswith(WORKSPACE)]
    given = list(out_idx or described.get("out_idx") or [])
    own = [number - len(added) if number < 0 else number for number in given]
    kept = len(out_idx.results) if isinstance(out_idx, Outputs) else len(own)
    return Outputs(own[:kept], [*own[kept:], *added])


#: Of variables that may have to be told of, also where the kernel was compiled before.
_TELLING = ("TILELANG_", "TL_", "TVM_", "SKIP_LOADING_", "TILEWRIGHT_CACHE_BYTES")


def kernel_of(entry: Entry, out_idx: list[int] | None, **more: Any) -> JITKernel:
    """A kernel that makes the parameters `out_idx` at each call."""
    if any(name.startswith(_TELLING) for name in os.environ):
        from .env import remark_ignored

        remark_ignored()
    out_idx = _with_workspaces(entry.manifest, out_idx)
    if not isinstance(out_idx, Outputs):
        return JITKernel(entry, out_idx, **more)
    return WorkspaceKernel(entry, out_idx, **more)
