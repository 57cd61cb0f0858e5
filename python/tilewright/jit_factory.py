# SPDX-License-Identifier: Apache-2.0
"""`@tilelang.jit` and `tilelang.compile`."""

from __future__ import annotations

import sys
import time
from functools import cached_property
from types import MethodType

from .captured_state import CapturedState, is_ours, kind_of
from .compilation import compile_kernel
from .errors import CompileError, short_traceback
from .front_key import front_key
from .kernel_style import is_eager, names_kernel
from .options import (
    Options,
    check_backend,
    check_pass_configs,
    check_target,
    remark,
    remark_debug_path,
    remark_flags,
)
from .simplify import apply_simplify
from .suggestions import which_exist

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import FunctionType
    from typing import Any

    from .capture.kernel import CapturedKernel
    from .kernel import JITKernel
    from .language.prim_func import PrimFunc


def _missing_return(factory: FunctionType) -> str:
    """What to say of a factory that gives nothing: where it is, and the return that it may lack."""
    code = factory.__code__
    inner = [c.co_name for c in code.co_consts if hasattr(c, "co_name")]
    named = [name for name in inner if name in (*code.co_varnames, *code.co_cellvars)]
    said = f"\n{code.co_filename}:{code.co_firstlineno}: the factory begins here"
    return said + (f"; 'return {named[-1]}' is missing at its end" if named else "")


def what_it_is(made: object) -> str:
    """Of what should be a kernel: its type, and for a function where it stands and what to do."""
    function: Any = getattr(made, "function", made)
    code = getattr(function, "__code__", None)
    if code is None:
        return type(made).__name__
    said = f"{function.__name__!r} ({code.co_filename}:{code.co_firstlineno})"
    makes = any(hasattr(const, "co_name") for const in code.co_consts)
    if function is not made or makes:
        return f"the factory {said}; call it first: what it gives is a kernel"
    return f"function {said}; put @T.prim_func above it"


@short_traceback
def compile(
    func: PrimFunc,
    out_idx: Sequence[int] | int | None = None,
    execution_backend: str | None = None,
    target: object = None,
    target_host: object = None,
    verbose: bool | None = None,
    pass_configs: dict[Any, Any] | None = None,
    compile_flags: Sequence[str] | str | None = None,
    cpu: str | None = None,
    workspace_idx: Sequence[int] | int | None = None,
    platform: str = "auto",
) -> JITKernel:
    """Compiles a kernel; parameters whose numbers are in `out_idx` are made at each call and given,
    those in `workspace_idx` are made and dropped."""
    check_backend(execution_backend)
    remark_flags(compile_flags)
    options = Options(target, cpu, pass_configs, platform, compile_flags)
    outputs = output_numbers(out_idx, workspace_idx)
    function = getattr(func, "function", None)
    if function is None or not hasattr(func, "capture"):
        raise TypeError(f"expected a kernel (@T.prim_func) but got {what_it_is(func)}")
    front = front_key(func, outputs, options.description())
    started = time.perf_counter()
    kernel = compile_kernel(func.capture, options, outputs, front, func)
    if verbose:
        _tell(kernel, started)
    return kernel


def output_numbers(
    out_idx: Sequence[int] | int | None, workspace_idx: Sequence[int] | int | None = None
) -> list[int] | None:
    """The parameters that a call makes; None if there are none."""
    results = _numbers("out_idx", out_idx)
    if workspace_idx is None:
        return results if out_idx is not None else None
    from .kernel import Outputs

    return Outputs(results, _numbers("workspace_idx", workspace_idx))


def _numbers(name: str, given: Sequence[int] | int | None) -> list[int]:
    if given is None:
        return []
    numbers: list[Any] = list(given) if isinstance(given, (list, tuple, range)) else [given]
    if any(isinstance(number, bool) or not isinstance(number, int) for number in numbers):
        raise TypeError(f"{name} is {given!r} but must be an integer or a list of integers")
    return numbers


def _tell(kernel: JITKernel, started: float) -> None:
    elapsed = (time.perf_counter() - started) * 1e3
    sys.stderr.write(f"tilewright: {kernel.name} for {kernel.target} in {elapsed:.0f} ms\n")


#: A flag of Python's code objects (`inspect.CO_VARKEYWORDS`).
_TAKES_ANY_KEYWORD = 0x08
#: The choices of `jit` that `Options` takes.
_OF_OPTIONS = ("target", "cpu", "pass_configs", "platform", "compile_flags")


class JITFunction:
    """A factory of kernels: calling it compiles for these arguments and gives the kernel.

    A function that opens `T.Kernel` itself or by a macro (instead of giving a `T.prim_func`) is an
    eager kernel: calling it with tensors compiles for their shapes and runs.
    """

    def __init__(self, function: FunctionType, **choices: Any) -> None:
        if vars(function).get("gives_simplified"):  # by simplify_prim_func
            function, choices["simplifies"] = vars(function)["__wrapped__"], True
        self.function = function
        self.choices = choices
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.__module__ = function.__module__
        self._kernels: dict[Any, Any] = {}
        #: What the kernels were made from besides their arguments.
        self._captured: CapturedState | None = None
        #: What they were made from that their arguments hold, by the same keys; few hold anything.
        self.of_arguments: dict[Any, CapturedState] = {}
        #: Calls of an eager kernel that were prepared, by the shapes and values of their arguments.
        self.prepared: dict[Any, Any] = {}
        self._options: tuple[object, Options] | None = None
        if names_kernel(function):
            self._refuse_outputs()

    @property
    def __jit_impl__(self) -> JITFunction:
        """By this name scripts ask TileLang for what `jit` was given."""
        return self

    @property
    def func(self) -> FunctionType:
        return self.function

    @property
    def target(self) -> object:
        """As it was named; "auto" where it wasn't."""
        return self.choices.get("target") or "auto"

    @cached_property
    def is_eager(self) -> bool:
        """Whether it is a kernel itself. Found out when it is used first: the macros that it calls
        may stand below it."""
        found = is_eager(self.function)
        if found:
            self._refuse_outputs()
        return found

    def _refuse_outputs(self) -> None:
        if self.choices.get("out_idx") is not None:
            raise ValueError(
                f"{self.__name__}: out_idx is not for eager kernels; return the T.empty tensors"
            )
        if self.choices.get("workspace_idx") is not None:
            raise ValueError(
                f"{self.__name__}: workspace_idx is not for eager kernels; use T.alloc_global"
            )

    def options(self) -> Options:
        from . import options

        state = options.mapped_target
        if self._options is None or self._options[0] != state:
            chosen = self.choices
            made = Options(*(chosen.get(name) for name in _OF_OPTIONS))
            self._options = (state, made)
        return self._options[1]

    def options_key(self) -> str:
        numbers = self.choices.get("out_idx"), self.choices.get("workspace_idx")
        simplifies = " simplified" if self.choices.get("simplifies") else ""
        return f"{self.options().description()} {numbers!r}{simplifies}"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """As a method of a class: called with its object first."""
        return self if instance is None else MethodType(self, instance)

    def _forget_what_changed(self) -> None:
        """Drops the kernels that were made from globals or closures that have other values now."""
        if self._captured is not None:
            if self._captured.holds():
                return
            self._kernels.clear()
            self.prepared.clear()
            self.of_arguments.clear()
            if self._captured.unknown:
                return
        self._captured = CapturedState(self.function)
        if self._captured.unknown:
            remark(
                f"{self.__name__} reads {self._captured.unknown} outside itself, which can't be "
                "compared with what it was: its kernels are looked up anew at each call"
            )

    def is_old(self, key: Any) -> bool:
        """Whether the arguments hold something else than when that kernel was made."""
        state = self.of_arguments.get(key)
        return state is not None and not state.holds()

    def keep(self, among: dict[Any, Any], key: Any, made: Any, arguments: Iterable[Any]) -> None:
        """Keeps what was made for these arguments, and notes what they hold."""
        among[key] = made
        state = CapturedState(self.function, arguments)
        if state.is_empty():
            self.of_arguments.pop(key, None)
        else:
            self.of_arguments[key] = state

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        self._forget_what_changed()
        if self.is_eager:
            return self._run_eager(args, keywords)
        if args and _has_state(args[0]):  # a method, whose object may have changed
            return self.compile(*args, **keywords)
        named = tuple(sorted(keywords.items())) if keywords else ()
        kinds = tuple(map(kind_of, args)), tuple(kind_of(value) for _, value in named)
        key = (args, named, kinds, self.options())
        try:
            known = self._kernels.get(key)
        except TypeError:
            return self.compile(*args, **keywords)
        if known is None or (self.of_arguments and self.is_old(key)):
            known = self.compile(*args, **keywords)
            self.keep(self._kernels, key, known, (*args, *keywords.values()))
        return known

    @short_traceback
    def _run_eager(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        from .eager import run_eager

        return run_eager(self, args, keywords)

    @short_traceback
    def compile(self, *args: Any, **keywords: Any) -> JITKernel:
        """The kernel for these arguments."""
        if self.is_eager:
            from .eager import compile_eager

            self._forget_what_changed()
            return compile_eager(self, args, keywords)
        self._check_names(keywords)
        options = self.options()
        outputs = output_numbers(self.choices.get("out_idx"), self.choices.get("workspace_idx"))
        asked = [args, keywords, outputs, self.choices.get("simplifies")]
        front = front_key(self.function, asked, options.description())
        made: list[PrimFunc] = []

        def tir() -> PrimFunc:
            if not made:
                made.append(self.get_tir(*args, **keywords))
            return made[0]

        def capture() -> CapturedKernel:
            return tir().capture()

        started = time.perf_counter()
        try:
            kernel = compile_kernel(capture, options, outputs, front, tir)
        except Exception as error:
            self._advise_on_arrays(error, args, keywords)
            raise
        if self.choices.get("verbose"):
            _tell(kernel, started)
        return kernel

    def get_tir(self, *args: Any, **keywords: Any) -> PrimFunc:
        """The kernel as the factory gives it, not compiled."""
        if self.is_eager:
            from .eager import EagerCall, EagerPrimFunc

            return EagerPrimFunc(EagerCall(self, args, keywords, runs=False))
        made = self.function(*args, **keywords)
        if not hasattr(made, "capture"):
            raise TypeError(
                f"{self.__name__} must give a kernel (@T.prim_func) but gave {what_it_is(made)}"
                + (_missing_return(self.function) if made is None else "")
            )
        kernel: PrimFunc = made
        if self.choices.get("simplifies"):
            kernel = apply_simplify(kernel)
        kernel.arguments = self._named(args, keywords)
        return kernel

    def _parameters(self) -> tuple[str, ...]:
        code = self.function.__code__
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def _check_names(self, keywords: dict[str, Any]) -> None:
        """TypeError, as Python's own, for a keyword that the factory does not have."""
        unknown = [name for name in keywords if name not in self._parameters()]
        if unknown and not self.function.__code__.co_flags & _TAKES_ANY_KEYWORD:
            raise TypeError(
                f"{self.__name__}() got an unexpected keyword argument {unknown[0]!r}"
                f"{which_exist(unknown[0], self._parameters())}"
            )

    def _named(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        return dict(zip(self._parameters(), args, strict=False)) | keywords

    def _advise_on_arrays(self, error: Exception, args: Any, keywords: Any) -> None:
        """Says more where the factory failed and may have been called as if it were the kernel:
        raises a TypeError where that is certain, else leaves a note with the error."""
        from .capture.kernel import ARRAY_AS_EXTENT
        from .capture.tracer import is_array

        arguments = self._named(args, keywords)
        name = next((name for name, value in arguments.items() if is_array(value)), None)
        if name is None:
            return
        given = f"argument {name!r} of the factory {self.__name__!r} is an array"
        call = f"{self.__name__}({', '.join(self._parameters())})"
        remedy = f"first make the kernel, {call}, then call it with the arrays"
        if isinstance(error, CompileError):
            if any(ARRAY_AS_EXTENT in found.message for found in error.errors):
                raise TypeError(f"{given}: {remedy}") from None
        elif not self._takes(args, keywords):
            raise TypeError(f"{given}: {remedy}") from error
        elif isinstance(error, (TypeError, ValueError, RuntimeError)):  # torch's are RuntimeErrors
            error.add_note(f"{given}; if its kernel was meant: {remedy}")

    def _takes(self, args: Any, keywords: Any) -> bool:
        """Whether the factory's parameters fit these arguments."""
        from inspect import signature

        try:
            signature(self.function).bind(*args, **keywords)
        except TypeError:
            return False
        return True

    def get_kernel_source(self, *args: Any, **keywords: Any) -> str:
        return self.compile(*args, **keywords).get_kernel_source()

    def par_compile(
        self, configs: Iterable[Any], num_workers: int | None = None, ignore_error: bool = False
    ) -> list[JITKernel | None]:
        """Compiles for many arguments (a tuple or a dict each), in threads."""

        def one(config: Any) -> JITKernel:
            if isinstance(config, dict):
                return self.compile(**config)
            return self.compile(*(config if isinstance(config, tuple) else (config,)))

        return _in_threads(one, list(configs), num_workers, ignore_error)

    def __repr__(self) -> str:
        return f"<tilewright.jit {self.__name__}>"


def _has_state(value: object) -> bool:
    """Whether it is an object of a class of the user's, whose attributes may change."""
    kind = type(value)
    return (
        kind.__module__ != "builtins"
        and hasattr(value, "__dict__")
        and not hasattr(value, "shape")
        and not is_ours(kind.__module__)
        and kind.__module__.partition(".")[0] not in ("torch", "numpy")
    )


def par_compile(
    funcs: Iterable[PrimFunc],
    out_idx: list[int] | int | None = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: dict[Any, Any] | None = None,
    compile_flags: Any = None,
    num_workers: int | None = None,
    ignore_error: bool = False,
    **choices: Any,
) -> list[JITKernel | None]:
    """Compiles many kernels as `compile` does, in threads; `ignore_error` gives None for those that
    fail."""
    choices |= {
        "out_idx": out_idx,
        "execution_backend": execution_backend,
        "target": target,
        "target_host": target_host,
        "verbose": verbose,
        "pass_configs": pass_configs,
        "compile_flags": compile_flags,
    }
    given = {name: value for name, value in choices.items() if value is not None}
    return _in_threads(lambda f: compile(f, **given), list(funcs), num_workers, ignore_error)


def _in_threads(
    work: Callable[[Any], JITKernel],
    items: Sequence[Any],
    num_workers: int | None,
    ignore_error: bool,
) -> list[JITKernel | None]:
    from .compile_pool import compile_pool

    def guarded(item: Any) -> JITKernel | None:
        try:
            return work(item)
        except Exception:
            if ignore_error:
                return None
            raise

    with compile_pool(num_workers) as pool:
        return list(pool.map(guarded, items))


class KernelFactory:
    """What `jit` makes of a `T.prim_func`: a factory without arguments. With arguments, or asked
    for anything else, it is the kernel."""

    is_eager = False

    def __init__(self, made: PrimFunc, choices: dict[str, Any]) -> None:
        self.made, self.choices = made, choices
        self.function = made.function
        self.__name__ = made.__name__
        self.__doc__ = made.function.__doc__
        self.kernel = compile(made, **choices)

    def get_tir(self) -> PrimFunc:
        return self.made

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.kernel(*arguments, **keywords) if arguments or keywords else self.kernel

    def __repr__(self) -> str:
        return f"<tilewright.jit {self.__name__}, a kernel>"

    def par_compile(self, *_: Any, **__: Any) -> list[JITKernel | None]:
        raise TypeError(
            f"{self.__name__!r} is a kernel already: par_compile is for factories, @jit functions "
            "that make kernels of arguments"
        )

    def __getattr__(self, name: str) -> Any:
        if name == "kernel":  # it isn't there yet: a copy that is being made
            raise AttributeError(name)
        return getattr(self.kernel, name)


@short_traceback
def jit(
    func: Any = None,
    *,
    out_idx: Sequence[int] | int | None = None,
    target: object = None,
    target_host: object = None,
    execution_backend: str | None = None,
    verbose: bool | None = None,
    pass_configs: dict[Any, Any] | None = None,
    debug_root_path: str | None = None,
    compile_flags: Sequence[str] | str | None = None,
    workspace_idx: Sequence[int] | int | None = None,
    cpu: str | None = None,
    platform: str = "auto",
) -> Any:
    """Makes a factory of kernels, or an eager kernel, of a function."""
    output_numbers(out_idx, workspace_idx)
    check_target(target)
    check_backend(execution_backend)
    check_pass_configs(pass_configs)
    remark_flags(compile_flags)
    remark_debug_path(debug_root_path)
    choices: dict[str, Any] = {
        "out_idx": out_idx,
        "target": target,
        "verbose": verbose,
        "pass_configs": pass_configs,
        "cpu": cpu,
        "workspace_idx": workspace_idx,
        "platform": platform,
        "compile_flags": compile_flags,
    }

    def decorate(function: Any) -> Any:
        if hasattr(function, "capture"):
            return KernelFactory(function, choices)
        if type(function).__name__ == "AutotunedFunction":
            raise TypeError(
                "@jit stands above @autotune: swap them, as @autotune tunes what @jit made"
            )
        if isinstance(function, KernelMaker):
            function = function.function
        if not hasattr(function, "__code__"):
            raise TypeError(f"@jit needs a function defined with 'def' but got {function!r}")
        return JITFunction(function, **choices)

    return decorate if func is None else decorate(func)


@short_traceback
def lazy_jit(func: Any = None, **choices: Any) -> Any:
    """An older name of `jit` for eager kernels: a call with tensors compiles for them, and runs."""
    if "out_idx" in choices:
        raise TypeError("lazy_jit has no out_idx: its kernels return the T.empty tensors")

    def decorate(function: Any) -> Any:
        made = jit(function, **choices)
        vars(made)["is_eager"] = True  # also where a macro that is made in it opens T.Kernel
        return made

    return decorate if func is None else decorate(func)


class KernelMaker:
    """What `T.prim_func(generator=True)` makes of an eager kernel: calling it with tensors, or what
    stands for them, gives the kernel for these, as `get_tir` of a `jit` function does."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._factory = JITFunction(function)
        vars(self._factory)["is_eager"] = True

    def __call__(self, *args: Any, **keywords: Any) -> PrimFunc:
        return self._factory.get_tir(*args, **keywords)

    def __repr__(self) -> str:
        return f"<kernels of {self.__name__}>"
