# SPDX-License-Identifier: Apache-2.0
"""Tilewright: a language, a compiler and operators for tile kernels.

Importing this loads neither the compiler nor torch or NumPy; each part is loaded when it is used.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

#: The module of each public name.
_HOMES = {
    "CompileError": "errors",
    "UnsupportedError": "errors",
    "KernelError": "errors",
    "JITNoBuilderError": "errors",
    "EagerJITBuildError": "errors",
    "jit": "jit_factory",
    "lazy_jit": "jit_factory",
    "compile": "jit_factory",
    "par_compile": "jit_factory",
    "JITFunction": "jit_factory",
    "JITKernel": "kernel",
    "PassConfigKey": "options",
    "determine_target": "options",
    "lower": "lowering",
    "register_cuda_postproc": "lowering",
    "register_hip_postproc": "lowering",
    "register_c_postproc": "lowering",
    "Layout": "layout",
    "Fragment": "layout",
    "DataType": "language.dtypes",
    "Profiler": "profiler",
    "TensorSupplyType": "profiler",
    "do_bench": "profiler",
    "autotune": "autotuner",
    "JITImpl": "jit_module",
    "AutoTuner": "autotuner",
    "set_autotune_inputs": "autotuner",
    "set_num_threads": "_runtime",
    "get_num_threads": "_runtime",
}
_MODULES = (
    "analysis",
    "autodd",
    "autotuner",
    "cache",
    "carver",
    "contrib",
    "dtypes",
    "env",
    "errors",
    "intrinsics",
    "language",
    "layout",
    "libinfo",
    "lowering",
    "math",
    "profiler",
    "profiling",
    "quantize",
    "tensors",
    "testing",
    "tileop",
    "tools",
    "tvm",
)
#: Modules of the emitters of GPUs' matrix instructions, and of their layouts.
_EMITTERS = tuple(
    f"{kind}_macro_generator"
    for kind in ("mma", "mma_sm70", "mma_sp", "tcgen05", "wgmma", "wgmma_sp")
)
_LAYOUTS = ("mma_layout", "mma_sm70_layout", "mma_sp_layout")
#: Modules of TileLang whose contents lie elsewhere here.
ELSEWHERE = {
    "utils": "tensors",
    "utils.tensor": "tensors",
    "utils.target": "target_queries",
    "utils.sparse": "sparse",
    "engine": "lowering",
    "engine.callback": "lowering",
    "engine.lower": "lowering",
    "engine.param": "kernel_param",
    "jit": "jit_module",
    "jit.exceptions": "errors",
    "jit.kernel": "kernel",
    "transform": "options",
    "transform.pass_config": "options",
    "transform.simplify": "simplify",
    **dict.fromkeys(("language.common", "language.tir"), "language"),
    **dict.fromkeys(("language.eager", "language.eager.builder"), "language"),
    **dict.fromkeys(("language.tir.ir", "language.tir.op"), "language"),
    **dict.fromkeys(("language.proxy", "language.v2", "language.v2.builder"), "language"),
    "language.kernel": "language.launch",
    "ir": "tileop",
    "tvm.tir": "tir",
    "tvm.tir.op": "tir",
    "tvm.tirx": "tir",
    "tvm.tirx.op": "tir",
    "backend": "options",
    "backend.target": "options",
    "contrib.nvcc": "nvcc",
    "tvm.target": "tvm",
    "tvm.testing": "testing",
    "tvm.transform": "options",
    "tvm.error": "errors",
    "quantize.lop3": "quantize",
    "quantize.mxfp": "quantize",
    "quantize.quantization": "quantize",
    "quantize.utils": "quantize",
    **dict.fromkeys(("primitives", "primitives.gemm", "primitives.gemm.base"), "tileop"),
    "tileop.base": "tileop",
    "tileop.gemm": "tileop",
    "tools.plot_layout": "tools",
    **{
        f"{package}.{name}": "intrinsics"
        for package, names in {
            "intrinsics": ("utils", *_LAYOUTS, *_EMITTERS),
            "cuda": ("intrinsics", "intrinsics.layout", "intrinsics.macro"),
            "cuda.intrinsics.layout": ("utils", *_LAYOUTS),
            "cuda.intrinsics.macro": _EMITTERS,
        }.items()
        for name in names
    },
    "layout.swizzle": "layout",
    "layout.fragment": "layout",
    "profiler.bench": "profiler",
    "autotuner.capture": "autotuner",
    "carver.arch": "carver",
    "carver.common_schedules": "carver",
    "carver.arch.cuda": "carver",
    "carver.arch.ascend": "carver_ascend",
    "carver.roller": "carver",
    "carver.roller.rasterization": "carver",
    "carver.template": "carver",
    **{dialect: "dialects" for dialect in ("cpu", "cuda", "rocm", "metal", "webgpu")},
    **{f"{name}.language": "language" for name in ("cpu", "cuda", "rocm", "metal", "webgpu")},
    **{
        f"cuda.language.{name}": "language"
        for name in ("cluster", "intrinsics", "pdl", "random", "tir", "warpgroup")
    },
    "layout.layout": "layout",
}

#: What CMake builds: `from tilewright import _runtime` comes here first.
_NATIVE = ("_compiler", "_runtime")


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is not None:
        try:
            module = __getattr__(home) if home in _NATIVE else import_module(f"tilewright.{home}")
            value = getattr(module, name)
        except ImportError as error:
            from .errors import CompilerMissingError

            if isinstance(error, CompilerMissingError):  # without the frames of our imports
                raise error.with_traceback(None) from None
            raise
    elif name in _NATIVE:
        from .errors import native_module

        value = native_module(name)
    elif name in _MODULES:
        value = import_module(f"tilewright.{name}")
    elif name in ELSEWHERE:
        value = import_module(f"tilewright.{ELSEWHERE[name]}")
    else:
        from .suggestions import did_you_mean

        hint = did_you_mean(name, {*_HOMES, *_MODULES, *globals()})
        raise AttributeError(f"tilewright has no {name!r}{hint}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})


def enable_cache() -> None:
    """Uses the cache on disk (again)."""
    import_module("tilewright.cache").enable()


def disable_cache() -> None:
    """Compiles every kernel anew in each process."""
    import_module("tilewright.cache").disable()


def is_cache_enabled() -> bool:
    return bool(import_module("tilewright.cache").is_enabled())


def set_log_level(level: str | int) -> None:
    """Accepted for TileLang's scripts; `verbose=True` of jit tells what is compiled."""


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def next_power_of_2(n: int) -> int:
    """The smallest power of 2 that is at least n."""
    return 1 << max(n - 1, 0).bit_length()


# `import tilelang` gives this package where no other of that name is installed.
import_module("tilewright.alias").offer()
