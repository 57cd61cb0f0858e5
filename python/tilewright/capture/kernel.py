# SPDX-License-Identifier: Apache-2.0
"""Captures a kernel: its signature and its body, as calls of the builder."""

from __future__ import annotations

import ast
import builtins
import threading
from typing import TYPE_CHECKING, Any

from ..errors import compile_error, raise_at_kernel, warn
from ..language.annotations import HandleAnnotation, PointerAnnotation, TensorAnnotation
from ..language.dtypes import Dtype, is_dtype, to_dtype
from ..language.libm import defines
from ..language.values import POISON, BufferRef, LanguageError
from .functions import outside_names
from .interpreter import Interpreter
from .prescan import Prescan
from .reducers import report_open_reducers
from .scopes import Scope
from .source import FunctionSource, function_source
from .tracer import Tracer, current_or_none, is_array

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FunctionType

    from ..errors import Diagnostic
    from ..language.prim_func import PrimFunc

Value = Any


class CapturedKernel:
    """A finished kernel: the native module (_compiler.KernelModule), its parameters, the
    numbers of those that are outputs, and the pass configs that its factory has."""

    __slots__ = (
        "_are_told",
        "is_npu",
        "module",
        "name",
        "outputs",
        "parameters",
        "pass_configs",
        "references",
        "warnings",
    )

    def __init__(
        self,
        name: str,
        module: Any,
        parameters: list[str],
        outputs: list[int],
        references: dict[str, Any],
        warnings: list[Diagnostic],
        is_npu: bool = False,
    ) -> None:
        #: Whether a launch says `is_npu`.
        self.is_npu = is_npu
        self.name = name
        self.module = module
        self.parameters = parameters
        self.outputs = outputs
        self.pass_configs: dict[Any, Any] | None = None
        #: What the interpreter calls instead of functions in C, by their names.
        self.references = references
        #: Of the trace, which has just told them.
        self.warnings = warnings
        self._are_told = True

    def warn_again(self) -> None:
        """Tells the warnings to whoever compiles, but for the first, who has made the trace."""
        if not self._are_told:
            warn(self.warnings)
        self._are_told = False


class Handle:
    """A parameter whose tensor is declared by T.match_buffer."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Signature:
    """What an eager kernel says about its arguments while it is traced."""

    def __init__(self, tracer: Tracer, constants: Mapping[str, int]) -> None:
        self.tracer = tracer
        self.constants = constants
        self.outputs: list[BufferRef] = []
        #: Where they are among the parameters that calls make, which workspaces are, too.
        self.numbers: list[int] = []

    def constant(self, name: str) -> int:
        if name not in self.constants:
            raise LanguageError(
                f"T.const {name!r} is not an extent or stride of any tensor argument of this call"
            )
        return self.constants[name]

    def output(self, shape: list[Any], dtype: Dtype) -> Value:
        tracer = self.tracer
        name = tracer.take_name(f"output{len(self.outputs)}")
        made = tracer.tensor(name, shape, dtype)
        if isinstance(made, BufferRef):
            self.outputs.append(made)
            self.numbers.append(len(tracer.made_parameters))
            tracer.made_parameters.append(f"output{len(self.numbers) - 1}")
        return made


class FirstPass(threading.local):
    """The signature of the eager kernel whose constants are being read off, in this thread."""

    signature: Any = None


first_pass = FirstPass()


def current_signature(what: str) -> Any:
    """The signature of the eager kernel being traced or prepared; an error elsewhere."""
    tracer = current_or_none()
    signature = first_pass.signature if tracer is None else tracer.signature
    if signature is None:
        raise LanguageError(
            f"{what} can only be used in an eager kernel (@tilelang.jit without T.prim_func)",
            python=RuntimeError,
        )
    return signature


def capture_kernel(kernel: PrimFunc, compiler: Any = None) -> CapturedKernel:
    """Traces `kernel`; raises CompileError with all its errors, at its first wrong line."""
    source = function_source(kernel.function)
    tracer = Tracer(kernel.__name__, source.header_place(), compiler)
    with tracer:
        lookup = outside_names(kernel.function)
        tracer.outer_names = _outer_names(kernel)
        Prescan(source, lookup).run(tracer)
        scope = Scope(tracer.frames)
        interpreter = Interpreter(source, tracer, scope, lookup)
        annotations = _annotations(kernel, source, tracer)
        names = parameter_names(kernel.function)
        for name in names:
            _declare(interpreter, name, annotations)
        _refuse_open_parameters(source, tracer)
        value = interpreter.run(source.node.body)
        if value is not None and value is not POISON:
            message = "a kernel can't return a value; name its outputs with out_idx"
            tracer.report(message, place=interpreter.returned_at)
        return finish(tracer, source, names, [])


def _outer_names(kernel: PrimFunc) -> dict[int, str]:
    """The names of its factory's arguments, by the identity of their values, then of the values
    that it sees from outside. None is the same object wherever it is written: it has no name."""
    outside: dict[int, str] = {}
    lookup = outside_names(kernel.function)
    for name in kernel.function.__code__.co_freevars:
        try:
            outside[id(lookup(name))] = name
        except KeyError:  # not bound yet
            continue
    outside |= {id(value): name for name, value in kernel.arguments.items()}
    outside.pop(id(None), None)
    return outside


def parameter_names(function: FunctionType) -> list[str]:
    code = function.__code__
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _refuse_open_parameters(source: FunctionSource, tracer: Tracer) -> None:
    """`*args`, `**keywords` and defaults: a kernel's parameters are fixed."""
    for star, argument in (("*", source.node.args.vararg), ("**", source.node.args.kwarg)):
        if argument is not None:
            tracer.at(source.place(argument))
            tracer.report(f"a kernel can't have a parameter '{star}{argument.arg}'; name each")
    arguments = source.node.args
    ordered = [*arguments.posonlyargs, *arguments.args]
    with_default = ordered[len(ordered) - len(arguments.defaults) :] if arguments.defaults else []
    with_default += [
        a for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None
    ]
    for argument in with_default:
        tracer.at(source.place(argument))
        tracer.report(
            f"the parameter {argument.arg!r} of a kernel can't have a default; "
            "give it at each call",
            "unsupported",
        )


def finish(
    tracer: Tracer, source: FunctionSource, names: list[str], outputs: list[int]
) -> CapturedKernel:
    """Ends a trace: the kernel, or all its errors."""
    name = source.node.name
    module = None
    if tracer.has_poison and not tracer.has_errors:
        tracer.report("a statement failed without a message", "internal")
    if not tracer.has_errors:
        report_open_reducers(tracer.reducers, tracer)
    for _, _, place in tracer.promises:
        tracer.report("no T.Kernel follows that could check this assert", place=place)
    if not tracer.has_errors:
        tracer.at(source.header_place())
        module = tracer.builder.finish()
    diagnostics = tracer.diagnostics()
    if module is None or tracer.has_errors:
        cause = tracer.causes[0] if tracer.causes else None
        raise_at_kernel(compile_error(diagnostics, name), cause)
    warn(diagnostics)
    of_libm = {f: call for f, call in tracer.of_libm.items() if not defines(tracer.sources, f)}
    references = of_libm | tracer.references
    warnings = [d for d in diagnostics if d.kind == "warning"]
    parameters = [*names, *tracer.made_parameters]
    return CapturedKernel(name, module, parameters, outputs, references, warnings, tracer.is_npu)


def _annotations(kernel: PrimFunc, source: FunctionSource, tracer: Tracer) -> dict[str, Value]:
    """The annotations of the parameters; strings are evaluated where the kernel was defined."""
    result: dict[str, Value] = {}
    for name, annotation in kernel.function.__annotations__.items():
        if isinstance(annotation, str) and not isinstance(annotation, Dtype):
            if is_dtype(annotation):
                annotation = to_dtype(annotation)
            else:
                tracer.at(_argument_place(source, name))
                annotation = _evaluated(annotation, kernel, tracer)
        result[name] = annotation
    return result


def _evaluated(text: str, kernel: PrimFunc, tracer: Tracer) -> Value:
    lookup = outside_names(kernel.function)
    tree = compile(text, "<annotation>", "eval")
    names = dict(kernel.names)
    for name in tree.co_names:
        if name not in names:
            try:
                names[name] = lookup(name)
            except KeyError:
                continue
    try:
        return eval(tree, {"__builtins__": vars(builtins)}, names)
    except LanguageError as error:
        tracer.report(error.message, error.kind, python=error.python)
    except Exception as error:
        text_of = str(error)
        tracer.report(f"{text_of[:1].lower()}{text_of[1:]}", python=type(error))
    return POISON


def _argument_place(source: FunctionSource, name: str) -> Any:
    for node in ast.walk(source.node.args):
        if isinstance(node, ast.arg) and node.arg == name:
            return source.place(node)
    return source.header_place()


def _place_in_annotation(interpreter: Interpreter, parameter: str, operand: object) -> Any:
    """Where the annotation of a parameter names a value from outside; None if it doesn't."""
    outer = interpreter.tracer.outer_names.get(id(operand))
    for argument in ast.walk(interpreter.source.node.args):
        if isinstance(argument, ast.arg) and argument.arg == parameter and argument.annotation:
            for node in ast.walk(argument.annotation):
                if isinstance(node, ast.Name) and node.id == outer:
                    return interpreter.source.place(node)
    return None


def _declare(interpreter: Interpreter, name: str, annotations: dict[str, Value]) -> None:
    """Declares one parameter, and binds its name."""
    tracer = interpreter.tracer
    place = _argument_place(interpreter.source, name)
    tracer.at(place)
    value: Value = POISON
    try:
        if name not in annotations:
            raise LanguageError(
                f"parameter {name!r} of the kernel has no annotation; write what it is, as in "
                f"{name}: T.Tensor((M, N), 'float32')"
            )
        value = declare_parameter(tracer, name, annotations[name])
    except LanguageError as error:
        if error.operand is not None:
            tracer.at(_place_in_annotation(interpreter, name, error.operand) or place)
        tracer.report(error.message, error.kind, python=error.python)
    interpreter.scope.bind(name, value, place)


def _tensor_dtype(annotation: TensorAnnotation) -> Dtype:
    try:
        return to_dtype(annotation.dtype)
    except (TypeError, ValueError) as error:
        raise LanguageError(str(error), python=type(error)) from None


#: In the message of each extent of a parameter that is an array.
ARRAY_AS_EXTENT = "expected an extent but got an array"


def declare_parameter(tracer: Tracer, name: str, annotation: Value) -> Value:
    """The buffer or scalar of a parameter with this annotation."""
    if annotation is POISON:
        return POISON
    if isinstance(annotation, TensorAnnotation):
        for extent in annotation.shape:
            if is_array(extent):
                raise tracer.not_the("an extent", extent)
        if annotation.scope != "global":
            raise LanguageError(f"parameter {name!r} must be in global memory")
        dtype = _tensor_dtype(annotation)
        return tracer.tensor(name, annotation.shape, dtype, annotation.strides or ())
    if is_dtype(annotation):
        return tracer.wrap(tracer.builder.scalar(name, str(to_dtype(annotation))))
    if isinstance(annotation, PointerAnnotation):
        pointee = None if annotation.dtype is None else str(annotation.dtype)
        return tracer.wrap(tracer.builder.pointer(name, pointee))
    if isinstance(annotation, HandleAnnotation):
        return Handle(name)
    raise LanguageError(
        f"the annotation of parameter {name!r} is neither a tensor nor a dtype: {annotation!r}",
        python=TypeError,
    )
