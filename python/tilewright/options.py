# SPDX-License-Identifier: Apache-2.0
"""How a kernel is compiled: target, CPU and pass configs, in the forms that users write them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, EnumMeta, StrEnum

from .captured_state import is_ours
from .errors import TilewrightWarning, unsupported
from .simplify import apply_simplify as apply_simplify
from .simplify import simplify_prim_func as simplify_prim_func
from .suggestions import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: Names of targets, and what they mean here.
TARGETS = {"cpu": "cpu", "llvm": "cpu", "c": "cpu", "reference": "reference", "auto": "auto"}
TARGETS |= dict.fromkeys(("ascend", "ascendc", "npu", "pto"), "ascend")
#: Targets of others that are not carried out, and what to take instead.
_PLANNED = dict.fromkeys(("cuda", "hip", "metal", "webgpu", "cutedsl"), "cpu")
_PLANNED |= {"npuir": "ascend"}

#: Set by `tilewright run`: what a script's targets and devices stand for.
mapped_target: str | None = None


#: The target that a kernel is being traced for, on this thread: messages name it.
traced_for: ContextVar[str] = ContextVar("traced_for", default="cpu")


@contextmanager
def tracing_for(target: str) -> Iterator[None]:
    """What is traced here is for this target."""
    token = traced_for.set(target)
    try:
        yield
    finally:
        traced_for.reset(token)


#: The targets of `with tvm.target.Target(...)`, the innermost last.
scoped_targets: list[str] = []


class PassContext:
    """What TVM has for options of passes, `with tvm.transform.PassContext(config={..}):`. It
    chooses nothing here: `pass_configs` of jit does."""

    def __init__(
        self, opt_level: int = 2, config: dict[str, Any] | None = None, **others: object
    ) -> None:
        self.opt_level = opt_level
        self.config = dict(config or {})

    @staticmethod
    def current() -> PassContext:
        """The innermost one that is open, or one without any options."""
        return _pass_contexts[-1] if _pass_contexts else PassContext()

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """The keys that there are."""
        return {str(key): {} for key in PassConfigKey}

    def __enter__(self) -> PassContext:
        _pass_contexts.append(self)
        return self

    def __exit__(self, *raised: object) -> None:
        _pass_contexts.remove(self)


_pass_contexts: list[PassContext] = []
get_pass_context = PassContext.current


class _NamesKeys(EnumMeta):
    """A misspelt name gets the nearest one."""

    def __getattr__(cls, name: str) -> Any:
        members = cls.__dict__.get("_member_map_", {})
        if name in members:
            return members[name]
        raise AttributeError(f"{cls.__name__} has no {name!r}{did_you_mean(name, members)}")


class PassConfigKey(StrEnum, metaclass=_NamesKeys):
    """The keys of `pass_configs`, as TileLang names them."""

    TL_SIMPLIFY = "tl.Simplify"
    TL_SIMPLIFY_TRANSITIVELY_PROVE_INEQUALITIES = "transitively_prove_inequalities"
    TL_SIMPLIFY_CONVERT_BOOLEAN_TO_AND_OF_ORS = "convert_boolean_to_and_of_ors"
    TL_SIMPLIFY_APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES = "apply_constraints_to_boolean_branches"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_PROVE_CONDITIONAL = "propagate_knowns_to_prove_conditional"
    TL_SIMPLIFY_PROPAGATE_KNOWNS_TO_SIMPLIFY_EXPRESSIONS = (
        "propagate_knowns_to_simplify_expressions"
    )
    TL_SIMPLIFY_ENABLE_LET_INLINE = "enable_simplify_let_inline"
    TL_DISABLE_WARP_SPECIALIZED = "tl.disable_warp_specialized"
    TL_DISABLE_TMA_LOWER = "tl.disable_tma_lower"
    TL_ENABLE_FAST_MATH = "tl.enable_fast_math"
    TL_DISABLE_FAST_MATH = "tl.disable_fast_math"
    TL_CONFIG_INDEX_BITWIDTH = "tl.config_index_bitwidth"
    TL_PTXAS_REGISTER_USAGE_LEVEL = "tl.ptxas_register_usage_level"
    TL_ENABLE_PTXAS_VERBOSE_OUTPUT = "tl.enable_ptxas_verbose_output"
    TL_DEVICE_COMPILE_FLAGS = "tl.device_compile_flags"
    TL_DISABLE_SAFE_MEMORY_ACCESS = "tl.disable_safe_memory_legalize"
    TL_DISABLE_VECTORIZE_256 = "tl.disable_vectorize_256"
    TL_ENABLE_ASYNC_COPY = "tl.enable_async_copy"
    TL_DISABLE_WGMMA = "tl.disable_wgmma"
    TL_ENABLE_AGGRESSIVE_SHARED_MEMORY_MERGE = "tl.enable_aggressive_shared_memory_merge"
    TL_DISABLE_SHARED_MEMORY_REUSE = "tl.disable_shared_memory_reuse"
    TL_DISABLE_THREAD_STORAGE_SYNC = "tl.disable_thread_storage_sync"
    TL_CPU_PARALLEL = "tl.cpu_parallel"
    TL_CPU_PARALLEL_MIN_TRIP = "tl.cpu_parallel_min_trip"
    TL_DISABLE_DATA_RACE_CHECK = "tl.disable_data_race_check"
    TL_DISABLE_BUFFER_INIT_CHECK = "tl.disable_buffer_init_check"
    TL_DISABLE_OUT_OF_BOUND_WARNING = "tl.disable_out_of_bound_warning"
    TL_FORCE_LET_INLINE = "tl.force_let_inline"
    TL_LAYOUT_VISUALIZATION_ENABLE = "tl.layout_visualization_enable"
    TL_LAYOUT_VISUALIZATION_FORMATS = "tl.layout_visualization_formats"
    TL_ENABLE_REDUCER_PLAN_VERBOSE = "tl.enable_reducer_plan_verbose"
    TL_REDUCER_FORCE_BASELINE = "tl.reducer_force_baseline"
    TL_ENABLE_VECTORIZE_PLANNER_VERBOSE = "tl.enable_vectorize_planner_verbose"
    TL_LAYOUT_COST_MODEL = "tl.layout_cost_model"
    TL_ENABLE_LOWER_LDGSTG = "tl.enable_lower_ldgstg"
    TL_ENABLE_LOWER_LDGSTG_PREDICATED = "tl.enable_lower_ldgstg_predicated"
    TL_DISABLE_PRELOWER_SEMANTIC_CHECK = "tl.disable_prelower_semantic_check"
    TL_DISABLE_SHUFFLE_ELECT = "tl.disable_shuffle_elect"
    TL_DISABLE_LOOP_UNSWITCHING = "tl.disable_loop_unswitching"
    TL_LOOP_UNSWITCHING_ALLOW_NON_TRIVIAL_ELSE = "tl.loop_unswitching_allow_non_trivial_else"
    TL_IF_STMT_BINDING_INLINE_REPLAYABLE_BINDS = "tl.if_stmt_binding_inline_replayable_binds"
    TL_EMIT_LINE_DIRECTIVES = "tl.emit_line_directives"
    TL_PASS_PROFILE = "tl.pass_profile"
    TL_PASS_PROFILE_THRESHOLD_MS = "tl.pass_profile_threshold_ms"
    TL_STORAGE_REWRITE_DETECT_INPLACE = "tl.storage_rewrite_detect_inplace"
    TL_AST_PRINT_ENABLE = "tl.ast_print_enable"
    TL_ENABLE_DUMP_IR = "tl.enable_dump_ir"
    TL_DUMP_IR_PATH = TL_DUMP_IR_DIR = "tl.dump_ir_path"
    TL_ASCEND_AUTO_CV_COMBINE = "tl.ascend_auto_cv_combine"
    TL_ASCEND_AUTO_CV_SYNC = "tl.ascend_auto_cross_core_sync"
    TL_ASCEND_AUTO_SYNC = "tl.ascend_auto_sync"
    TL_ASCEND_MEMORY_PLANNING = "tl.ascend_memory_planning"
    TL_ASCEND_AUTO_SYNC_VS = "tl.ascend_auto_sync_vs"
    TL_ASCEND_TAIL_MASK = "tl.ascend_tail_mask"
    TL_ASCEND_VECTOR_MASK_REUSE = "tl.ascend_vector_mask_reuse"
    TL_ASCEND_SCALAR_STORE_TO_DMA = "tl.ascend_scalar_store_to_dma"
    TL_DYNAMIC_ALIGNMENT = "tl.dynamic_alignment"
    TL_DISABLE_DYNAMIC_TAIL_SPLIT = "tl.disable_dynamic_tail_split"
    TL_DEBUG_MERGE_SHARED_MEMORY_ALLOCATIONS = "tl.debug_merge_shared_memory_allocations"
    TIR_DISABLE_VECTORIZE = "tirx.disable_vectorize"
    TIR_DISABLE_STORAGE_REWRITE = "tirx.disable_storage_rewrite"
    TIR_USE_ASYNC_COPY = "tirx.use_async_copy"
    TIR_MERGE_STATIC_SMEM = "tirx.merge_static_smem"
    TIR_ENABLE_EQUIV_TERMS_IN_CSE = "tirx.enable_equiv_terms_in_cse_tir"
    TIR_DISABLE_CSE = "tirx.disable_cse_tir"
    TIR_SIMPLIFY = "tirx.Simplify"
    TIR_ENABLE_DEBUG = "tirx.enable_debug"
    TIR_ADD_LOWER_PASS = "tirx.add_lower_pass"
    TIR_NOALIAS = "tirx.noalias"
    CUDA_KERNELS_OUTPUT_DIR = "cuda.kernels_output_dir"


#: Of our own: the bits that exp and exp2 must have right where fast math is on.
EXP_BITS = "tilewright.exp_bits"
#: What no argument of exp and exp2 exceeds, where the kernel knows.
EXP_MOST = "tilewright.exp_most"
#: A sum of a float32 gemm may be as wrong as if all of its row and column were as large as the
#: largest there.
NORMWISE_GEMM = "tilewright.normwise_gemm"
#: Of a kernel for the Ascend host: what `--cce-auto-sync=on` of compile_flags asks for.
VENDOR_ORDERS = "tilewright.cce_auto_sync"
#: Other known keys without a name in TileLang's enumeration.
_MORE_KEYS = frozenset(["tl.fast_math", EXP_BITS, EXP_MOST, NORMWISE_GEMM])
#: Keys with which a user expects other results or speed, and gets the same; why.
_WITHOUT_EFFECT = {
    **dict.fromkeys(
        [
            "tl.device_compile_flags",
            "tl.enable_dump_ir",
            "tl.dump_ir_path",
            "tl.ast_print_enable",
            "tl.layout_visualization_enable",
            "tl.layout_visualization_formats",
            "tl.pass_profile",
            "tl.pass_profile_threshold_ms",
            "cuda.kernels_output_dir",
        ],
        "whatever the target",
    ),
    "tl.ascend_tail_mask": "because what a load leaves of a tile is pad_value, also in reductions",
    "tl.ascend_scalar_store_to_dma": "because single elements go past the scalar unit's cache",
    **dict.fromkeys(
        ["tl.cpu_parallel", "tl.cpu_parallel_min_trip"],
        "because the blocks of a kernel run on all cores",
    ),
}
#: Keys by which a GPU's compiler is told to do what has no counterpart here. Those that turn off
#: what there is none of (tl.disable_tma_lower, tl.disable_wgmma) have what they ask for; and what
#: public kernels for NPUs set by habit (tirx.disable_vectorize, tirx.merge_static_smem) isn't told.
_OF_COMPILERS = frozenset(
    [
        *("tl.config_index_bitwidth", "tl.ptxas_register_usage_level", "tl.enable_async_copy"),
        *("tl.enable_ptxas_verbose_output", "tl.enable_aggressive_shared_memory_merge"),
        *("tl.disable_shared_memory_reuse", "tl.disable_thread_storage_sync"),
        *("tl.force_let_inline", "tl.enable_lower_ldgstg", "tl.enable_lower_ldgstg_predicated"),
        *("tl.layout_cost_model", "tl.loop_unswitching_allow_non_trivial_else"),
        *("tl.enable_reducer_plan_verbose", "tl.reducer_force_baseline"),
        *("tl.enable_vectorize_planner_verbose", "tl.disable_prelower_semantic_check"),
        *("tl.if_stmt_binding_inline_replayable_binds", "tl.storage_rewrite_detect_inplace"),
        *("tl.debug_merge_shared_memory_allocations", "tirx.disable_storage_rewrite"),
        *("tirx.use_async_copy", "tirx.enable_debug", "tirx.add_lower_pass"),
    ]
)
#: The automatic passes of the Ascend target, each on or off.
_SWITCHES = (
    "tl.ascend_auto_sync",
    "tl.ascend_auto_sync_vs",
    "tl.ascend_memory_planning",
    "tl.ascend_auto_cv_combine",
    "tl.ascend_auto_cross_core_sync",
)
#: How TileLang's CPU kernels are called, and its ways to GPUs and of older releases.
_BACKENDS = ("auto", "tvm_ffi", "cython")
_OTHER_BACKENDS = ("nvrtc", "torch", "cutedsl", "ctypes", "dlpack")


class Options:
    """The choices of one compilation, all resolved."""

    __slots__ = ("target", "cpu", "cpu_is_from", "pass_configs", "_given")

    def __init__(
        self,
        target: object = None,
        cpu: str | None = None,
        pass_configs: dict[Any, Any] | None = None,
        platform: str | None = None,
        compile_flags: Sequence[str] | str | None = None,
    ) -> None:
        self._given = (target, cpu, pass_configs, platform, compile_flags)
        self.target = resolve_target(target)
        chip = chip_of(platform) if self.target == "ascend" else None
        named = os.environ.get("TILEWRIGHT_CPU")
        self.cpu = cpu or named or chip or "native"
        #: The beginning of a message about the CPU: who named it, where that isn't the call.
        self.cpu_is_from = "environment variable TILEWRIGHT_CPU: " if named and not cpu else ""
        check_pass_configs(pass_configs)
        self.pass_configs = {
            _config_key(key): _config_value(key, value)
            for key, value in (pass_configs or {}).items()
            if value is not None
        }
        for name in ("tl.enable_fast_math", EXP_BITS, NORMWISE_GEMM):
            if self.target == "ascend" and self.pass_configs.get(name):
                remark(f"pass config '{name}' has no effect on Ascend")
        if self.target == "ascend" and (_is_host_relaxed() or _has_auto_sync(compile_flags)):
            self.pass_configs[VENDOR_ORDERS] = True

    def for_npu(self) -> Options | None:
        """The same for Ascend, where nobody has named a target: the kernel does, by `is_npu`."""
        target, cpu, pass_configs, platform, compile_flags = self._given
        if _named_target(target) is not None:
            return None
        return Options("ascend", cpu, pass_configs, platform, compile_flags)

    def description(self) -> str:
        """Text that differs where the machine code may."""
        text = f"{self.target} {self.cpu} {sorted(self.pass_configs.items())!r}"
        if self.target == "ascend":
            from .ascend_toolchain import stamp

            text += f" {stamp()}"
        return text


def chip_of(platform: str | None) -> str | None:
    """The chip that a platform of TileLang-Ascend stands for; None: the usual one, a 910B2."""
    name = platform if platform not in (None, "auto") else os.environ.get("TL_PLATFORM", "auto")
    if name in ("auto", "A2"):
        return None
    if name == "A3":
        return name
    raise unsupported(f"there is no platform {name!r}; there are: auto, A2, A3")


def check_pass_configs(pass_configs: object) -> None:
    """TypeError where it is no dict, ValueError for a wrong number of bits and for a switch that is
    neither on nor off; one remark for each key that is unknown or has no effect."""
    if pass_configs is None:
        return
    if not isinstance(pass_configs, dict):
        raise TypeError(f"pass_configs is {pass_configs!r} but must be a dict")
    bits = pass_configs.get(EXP_BITS, 24)
    if not isinstance(bits, int) or isinstance(bits, bool) or not 1 <= bits <= 24:
        raise ValueError(f"pass config '{EXP_BITS}' is {bits!r} but must be from 1 to 24")
    most = pass_configs.get(EXP_MOST, 0)
    if not isinstance(most, int) or isinstance(most, bool):
        raise ValueError(f"pass config '{EXP_MOST}' is {most!r} but must be a whole number")
    known = {key.value for key in PassConfigKey} | _MORE_KEYS
    idle: list[str] = []
    for key, value in pass_configs.items():
        name = _config_key(key)
        if name in (*_SWITCHES, NORMWISE_GEMM) and value is not None and not _is_switch(value):
            raise ValueError(f"pass config '{name}' is {value!r} but must be True or False")
        if name.replace("tir.", "tirx.") not in known:
            hint = did_you_mean(name, known) or did_you_mean(f"tl.{name}", known)
            remark(f"pass config {name!r} is unknown, and ignored{hint}")
        elif name in _WITHOUT_EFFECT and value:
            remark(f"pass config {name!r} has no effect here, {_WITHOUT_EFFECT[name]}")
        elif name.replace("tir.", "tirx.") in _OF_COMPILERS and value:
            idle.append(f"'{name}'")
    if idle:
        names = ", ".join(idle)
        subject = f"config {names} has" if len(idle) == 1 else f"configs {names} have"
        remark(f"pass {subject} no effect here: a GPU's compiler is told so how to work")


def _is_switch(value: object) -> bool:
    return isinstance(value, int) and value in (0, 1)


def check_backend(execution_backend: object) -> None:
    """ValueError for an unknown name, here or in the environment; a known one is accepted and has
    no effect, which is said once of those that are not for CPUs."""
    variable = "TILELANG_EXECUTION_BACKEND"
    known = _BACKENDS + _OTHER_BACKENDS
    chosen = os.environ.get(variable) or "auto"
    if execution_backend is None and chosen not in known:
        raise ValueError(
            f"the environment variable {variable} is {chosen!r}; there are: {', '.join(known)}, "
            "which all mean the same here"
        )
    if execution_backend in _OTHER_BACKENDS:
        remark(f"execution_backend {execution_backend!r} has no effect here, whatever the target")
    elif execution_backend is not None and execution_backend not in _BACKENDS:
        raise ValueError(
            f"there is no execution_backend {execution_backend!r}; there are: "
            f"{', '.join(known)}, which all mean the same here"
        )


def check_target(target: object) -> None:
    """ValueError for a name that means nothing, where the kernel is decorated; targets that are
    planned are refused only when a kernel is made for one."""
    if isinstance(target, str) and target.split() and _kind(target) not in _PLANNED:
        resolve_target(target)


def _words(compile_flags: Sequence[str] | str | None) -> list[str]:
    given = [compile_flags] if isinstance(compile_flags, str) else compile_flags or []
    return [word for flag in given for word in str(flag).split()]


_AUTO_SYNC = "--cce-auto-sync"
#: Its values, in small letters.
_ON = ("on", "1", "true")
_OFF = ("off", "0", "false")


def _split_flags(compile_flags: Sequence[str] | str | None) -> tuple[list[str], list[str]]:
    """The values of `--cce-auto-sync`, which is on without one, and the other words."""
    values: list[str] = []
    others: list[str] = []
    words = _words(compile_flags)
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name != _AUTO_SYNC:
            others.append(name)
        elif equals:
            values.append(value)
        elif words and words[0].lower() in _ON + _OFF:
            values.append(words.pop(0))
        else:
            values.append("on")
    return values, others


def _has_auto_sync(compile_flags: Sequence[str] | str | None) -> bool:
    """Whether an NPU's compiler is asked to order some instructions by itself; the last word
    counts. Without one the host assumes that it doesn't."""
    values, _ = _split_flags(compile_flags)
    return bool(values) and values[-1].lower() in _ON


def _is_host_relaxed() -> bool:
    return "relaxed" in os.environ.get("TILEWRIGHT_ASCEND", "").split(",")


def relax_host() -> None:
    """From here on, for all kernels: `relaxed` of TILEWRIGHT_ASCEND."""
    if not _is_host_relaxed():
        given = os.environ.get("TILEWRIGHT_ASCEND")
        os.environ["TILEWRIGHT_ASCEND"] = f"{given},relaxed" if given else "relaxed"


def remark_flags(compile_flags: Sequence[str] | str | None) -> None:
    """Says once that flags for a compiler have no effect, but for `--cce-auto-sync`, and which
    values of that are none."""
    values, others = _split_flags(compile_flags)
    if others:
        remark(f"compile_flags but {_AUTO_SYNC} have no effect here, whatever the target")
    for value in values:
        if value.lower() not in _ON + _OFF:
            remark(
                f"{_AUTO_SYNC} of compile_flags is {value!r}, which is taken as off; write on or "
                "off"
            )


def remark_debug_path(debug_root_path: object) -> None:
    """Says once that nothing is written there."""
    if debug_root_path:
        remark(
            "debug_root_path has no effect here, whatever the target; get_kernel_source() gives a "
            "kernel's text"
        )


_remarks: set[str] = set()


def remark(message: str) -> None:
    """Warns once in a process, at the user's line."""
    if message in _remarks:
        return
    _remarks.add(message)
    import warnings

    level, frame = 1, sys._getframe()
    while frame.f_back and is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, TilewrightWarning, stacklevel=level)


def _kind(target: object, what: str = "target") -> str:
    """The name of a target in any form: `llvm -mcpu=x`, {"kind": "llvm", ..}, that as JSON, an
    object with a kind as TVM's."""
    kind = getattr(target, "kind", None)
    if kind is not None:
        return str(getattr(kind, "name", kind))
    fields = target
    if isinstance(target, str) and target.lstrip().startswith("{"):
        from json import loads

        try:
            fields = loads(target)
        except ValueError as error:
            raise ValueError(f"{what} is {target!r} but must be JSON: {error}") from None
    if isinstance(fields, dict):
        if not isinstance(fields.get("kind"), str):
            raise ValueError(f'{what} is {target!r} but a target of fields needs "kind", a name')
        return str(fields["kind"])
    return (str(target).split() or [""])[0]


def _named_target(target: object) -> str | None:
    """The first name that the call, a scope, the environment or `tilewright run --target` give."""
    if mapped_target is not None:
        return mapped_target
    name = "auto" if target is None else _kind(target)
    for variable in ("", "TILEWRIGHT_TARGET", "TILELANG_DEFAULT_TARGET"):
        if name != "auto":
            return name
        if variable:
            name = _kind(os.environ.get(variable) or "auto", f"the environment variable {variable}")
        elif scoped_targets:
            name = scoped_targets[-1]
    return None if name == "auto" else name


def resolve_target(target: object = None) -> str:
    """The target that `target`, the environment or `tilewright run --target` choose."""
    name = _named_target(target) or "cpu"
    if name == "pto":
        remark(
            "target 'pto' is 'ascend' here: the same kernels become Ascend C, not PTO instructions"
        )
    if name in TARGETS:
        return TARGETS[name]
    if name in _PLANNED:
        instead = _PLANNED[name]
        run = "run" if instead == "cpu" else f"run --target {instead}"
        message = (
            f"target '{name}' is not supported yet; use target='{instead}', or 'tilewright {run}' "
            "to run a script that is written for another device"
        )
        raise unsupported(message)
    known = ", ".join(sorted(TARGETS))
    hint = did_you_mean(name, TARGETS) or f"; there are: {known}"
    raise ValueError(f"there is no target '{name}'{hint}")


def _config_key(key: object) -> str:
    return str(key.value) if isinstance(key, Enum) else str(key)


def _config_value(key: object, value: object) -> bool | int | float | str | list[int]:
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(v, int) for v in value):
        return list(value)
    if isinstance(value, (list, tuple)):
        return " ".join(str(v) for v in value)
    if isinstance(value, dict):  # of a pass of TVM's: {"tirx.Simplify": {..}}
        return repr(sorted(value.items(), key=repr))
    raise ValueError(f"pass config '{_config_key(key)}' has the value {value!r}")


def determine_target(target: object = "auto", return_object: bool = False) -> str:
    """The name of the target that "auto", a name or a dict stands for (`tilelang.utils.target`)."""
    return resolve_target(target)
