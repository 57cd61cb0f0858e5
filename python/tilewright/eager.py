# SPDX-License-Identifier: Apache-2.0
"""Eager kernels: a function that is called with tensors, compiled for their shapes, and run.

    @tilelang.jit
    def add(A, B, block=128):
        N = T.const("N")
        A: T.Tensor[[N], T.float32]
        B: T.Tensor[[N], T.float32]
        C = T.empty([N], T.float32)
        with T.Kernel(T.ceildiv(N, block)) as bx: ...
        return C

The statements before the launch are run twice. First without a builder, where a `T.const` is a
symbol: comparing the declared shapes with the tensors of the call gives the constants. Then the
whole function is traced, with the constants as Python integers.
"""

from __future__ import annotations

import ast
import inspect
from copy import copy
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from .capture.functions import outside_names
from .capture.interpreter import Interpreter
from .capture.kernel import Signature, declare_parameter, finish, first_pass
from .capture.prescan import Prescan
from .capture.scopes import Scope
from .capture.source import FunctionSource, function_source
from .capture.tracer import Tracer, is_array
from .captured_state import kind_of
from .compilation import compile_kernel
from .early_statements import EarlyStatements
from .errors import EagerJITBuildError
from .front_key import front_key
from .language.annotations import PointerAnnotation, TensorAnnotation, dyn, dynamic
from .language.dtypes import is_dtype, to_dtype
from .language.prim_func import PrimFunc
from .language.values import POISON, BufferRef, Deferred, LanguageError, Symbol
from .suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FunctionType

    from .capture.kernel import CapturedKernel
    from .jit_factory import JITFunction
    from .kernel import JITKernel

Value = Any
#: What a tensor says of itself without its numbers.
_FACTS = ("shape", "dtype", "ndim", "device", "itemsize", "nbytes")


class Prepared:
    """What calls with the same shapes and values share: the kernel, and where its arguments are
    among those of the call."""

    __slots__ = ("kernel", "picks")

    def __init__(self, call: EagerCall, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.kernel = call.kernel()
        numbers = {name: number for number, name in enumerate(call.plan.parameters[: len(args)])}
        self.picks: list[int | str] = [numbers.get(name, name) for name in call.declared]

    def __call__(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        picked = [args[p] if isinstance(p, int) else keywords[p] for p in self.picks]
        return self.kernel(*picked)


def _call_key(values: Any) -> tuple[Any, ...]:
    """Tells calls apart for which different kernels may be needed."""
    parts: list[Any] = []
    for value in values:
        shape = getattr(value, "shape", None)
        if shape is None:
            parts.append((kind_of(value), value))
            continue
        stride = getattr(value, "stride", None)
        strides = stride() if callable(stride) else getattr(value, "strides", None)
        parts.append((shape, strides, getattr(value, "dtype", None)))
    return tuple(parts)


def run_eager(function: JITFunction, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Compiles for the shapes of these tensors, unless that was done, and runs."""
    key = (_call_key(args), tuple(keywords), _call_key(keywords.values()), function.options())
    try:
        prepared = function.prepared.get(key)
    except TypeError:  # a value that can't be hashed
        call = EagerCall(function, args, keywords)
        return call.kernel()(*call.run_time_arguments())
    if prepared is None or (function.of_arguments and function.is_old(key)):
        call = EagerCall(function, args, keywords)
        is_defaulted = any(n not in keywords and n in call.defaulted for n in call.declared)
        if is_defaulted or call.reads_arrays():
            return call.kernel()(*call.run_time_arguments())
        prepared = Prepared(call, args, keywords)
        function.keep(function.prepared, key, prepared, call.plain().values())
    return prepared(args, keywords)


def compile_eager(
    function: JITFunction, args: tuple[Any, ...], keywords: dict[str, Any]
) -> JITKernel:
    return EagerCall(function, args, keywords, runs=False).kernel()


@dataclass(slots=True)
class Plan:
    """What one look at the source of an eager kernel gives."""

    source: FunctionSource
    parameters: list[str]
    #: Annotation nodes of the parameters, from the signature or from statements.
    annotations: dict[str, ast.expr]
    #: Names given to T.const, and the variables that hold them.
    constants: list[str] = field(default_factory=list)


def plan_of(function: FunctionType) -> Plan:
    source = function_source(function)
    parameters = list(inspect.signature(function).parameters)
    annotations: dict[str, ast.expr] = {}
    arguments = source.node.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        if argument.annotation is not None:
            annotations[argument.arg] = argument.annotation
    plan = Plan(source, parameters, annotations)
    for statement in source.node.body:
        name = getattr(getattr(statement, "target", None), "id", None)
        if isinstance(statement, ast.AnnAssign) and name in parameters:
            annotations[name] = statement.annotation
    return plan


class EagerCall:
    """One call of an eager kernel: which arguments are tensors, and the constants that follow."""

    #: What messages call it.
    kind = "an eager kernel"

    def __init__(
        self,
        function: JITFunction,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        *,
        runs: bool = True,
    ) -> None:
        """Without `runs`, keywords for T.const may stand for the tensors."""
        self.function = function
        self.python = function.function
        state = vars(function)
        if "_plan" not in state:
            state["_plan"] = plan_of(self.python)
            state["_signature"] = inspect.signature(self.python)
        self.plan: Plan = state["_plan"]
        signature: inspect.Signature = state["_signature"]
        names = signature.parameters
        #: Of `**config`, which takes all keywords that name no parameter.
        self.takes_any = any(p.kind is p.VAR_KEYWORD for p in names.values())
        given = {k: v for k, v in keywords.items() if k in names or self.takes_any}
        #: Extra keywords bind T.const names.
        self.bindings = {k: v for k, v in keywords.items() if k not in names}
        #: Parameters without an argument: none in a call that runs; else tensors may be missing.
        self.missing: list[str] = []
        try:
            bound = signature.bind_partial(*args, **given)
            self.missing = [n for n, p in names.items() if n not in bound.arguments and _is_open(p)]
            if runs:
                signature.bind(*args, **given)
        except TypeError as wrong:
            raise TypeError(f"{function.__name__}() {wrong}") from None
        self.defaulted = set(self.plan.parameters) - set(bound.arguments)
        bound.apply_defaults()
        self.values: dict[str, Any] = dict.fromkeys(self.missing) | dict(bound.arguments)
        self.reported: set[int] = set()
        self.wrong: dict[str, tuple[ast.expr, Exception]] = {}
        #: What each parameter of the kernel is declared as; all others are Python values.
        self.declared: dict[str, Any] = {}
        self.constants = self._constants()

    def run_time_arguments(self) -> list[Any]:
        return [self.values[name] for name in self.declared]

    def plain(self) -> dict[str, Any]:
        """The arguments that are Python values."""
        return {k: v for k, v in self.values.items() if k not in self.declared}

    def reads_arrays(self) -> bool:
        """Whether the trace may read numbers of an array, which the shapes don't tell."""
        return any(is_array(v) and not self._is_asked_only(n) for n, v in self.plain().items())

    def declarations(self) -> tuple[str, ...]:
        """What the tensors are declared as, which may follow from what is given, as in `B.dtype`:
        another kernel for the same constants."""
        tensors = [a for a in self.declared.values() if isinstance(a, TensorAnnotation)]
        resolved = [_resolved(a, self.constants) for a in tensors]
        return tuple(f"{a.dtype!s} {a.shape!r} {a.strides!r}" for a in resolved)

    def kernel(self) -> JITKernel:
        """The compiled kernel for these shapes."""
        plain = self.plain()
        kinds = tuple(map(kind_of, plain.values()))
        constants = tuple((name, kind_of(v), v) for name, v in self.constants.items())
        declared = self.declarations()
        key = (tuple(plain.items()), kinds, constants, declared, self.function.options())
        known: JITKernel | None = None
        try:
            known = self.function._kernels.get(key)
        except TypeError:
            key = None  # type: ignore[assignment]
        if known is None or self.function.is_old(key):
            options = self.function.options()
            captured = [plain, self.constants, declared]
            front = front_key(self.python, captured, options.description())
            made = EagerPrimFunc(self)
            known = compile_kernel(made.capture, options, None, front, made)
            if key is not None:
                self.function.keep(self.function._kernels, key, known, plain.values())
        return known

    # First pass: the constants -----------------------------------------------------------------

    def _constants(self) -> dict[str, Any]:
        """Runs the statements before the launch on symbols, and reads the constants off."""
        names = {n: v for n, v in self.values.items() if n not in self.missing}
        lookup = outside_names(self.python)
        found: dict[str, Any] = {
            k: int(v) if isinstance(v, int) else v
            for k, v in self.bindings.items()
            if isinstance(v, (int, float))
        }
        wanted: list[str] = []
        evaluate = EarlyStatements(names, lookup)
        for name in self.missing:
            evaluate.unknown[name] = NameError(f"no argument is given for {name!r}", name=name)
        first_pass.signature = _FirstSignature(wanted)
        try:
            self._read_signature(evaluate, found)
        finally:
            first_pass.signature = None
        for name, value in self.bindings.items():
            if name not in wanted:
                if self.takes_any:
                    continue
                known = [*inspect.signature(self.function).parameters, *wanted]
                raise TypeError(
                    f"{self.function.__name__}() got an unexpected keyword argument {name!r}: it "
                    f"names no parameter and no T.const{did_you_mean(name, known)}"
                )
            if not isinstance(value, (int, float)):
                raise TypeError(
                    f"{self.function.__name__}(): T.const {name!r} is a number, not {value!r}"
                )
        missing = [name for name in wanted if name not in found]
        self._refuse_missing(missing)
        if missing:
            raise EagerJITBuildError(
                f"{self.function.__name__}: T.const {missing[0]!r} is not an extent or stride of "
                f"any tensor argument by itself{self._undeclared(evaluate)}"
            ) from next(iter(evaluate.failures.values()), None)
        #: Annotations without a value, and why.
        self.wrong = {
            name: (node, evaluate.failures[node])
            for name, node in self.plan.annotations.items()
            if node in evaluate.failures
            and not (node in self._signature_annotations() and self._is_asked_only(name))
        }
        self.reported = set(map(id, evaluate.unknown.values()))
        # The order of the parameters is that of the signature.
        self.declared = {n: self.declared[n] for n in self.plan.parameters if n in self.declared}
        return found

    def _refuse_missing(self, constants: list[str]) -> None:
        """TypeError, as Python's own, for an argument that is needed."""
        needed = [n for n in self.missing if constants or n not in self.declared]
        if needed:
            also = f"; or name T.const {constants[0]!r}" if constants else ""
            raise TypeError(
                f"{self.function.__name__}() missing a required argument: {needed[0]!r}{also}"
            )

    def _is_asked_only(self, name: str) -> bool:
        """Whether a parameter is only asked for its shape and the like: then it needs no
        annotation."""
        body = [part for line in self.plan.source.node.body for part in ast.walk(line)]
        asked = (p.value for p in body if isinstance(p, ast.Attribute) and p.attr in _FACTS)
        uses = {p for p in body if isinstance(p, ast.Name) and p.id == name}
        return uses <= set(asked)

    def _undeclared(self, evaluate: EarlyStatements) -> str:
        """Which tensors a constant can't come from, because of what their annotations are."""
        said = ""
        for name, node in self.plan.annotations.items():
            place = self.plan.source.place(node)
            if name in self.declared or not hasattr(self.values[name], "shape"):
                continue
            if node in evaluate.failures:
                wrong = evaluate.failures[node]
                said += (
                    f"\n{place}: the annotation of {name!r} gives {type(wrong).__name__}: {wrong}"
                )
            else:
                said += (
                    f"\n{place}: the annotation of {name!r}, {ast.unparse(node)}, is no tensor's"
                )
        for name in self.plan.parameters:
            if name not in self.plan.annotations and hasattr(self.values[name], "shape"):
                said += f"\n{self.plan.source.header_place()}: {name!r} has no annotation"
        return said

    def _read_signature(self, evaluate: EarlyStatements, found: dict[str, int]) -> None:
        for name, value in self.values.items():  # `A=T.Tensor((8,), "float32")` is one, too
            if name not in self.plan.annotations and isinstance(value, TensorAnnotation):
                self._declare(name, value, found)
        for name, annotation in self.plan.annotations.items():
            if annotation in self._signature_annotations():
                defined = self.python.__annotations__.get(name)
                self._declare(name, evaluate.annotation(annotation, defined), found)
        for statement in self.plan.source.node.body:
            if isinstance(statement, ast.With):
                break
            self._read_statement(statement, evaluate, found)

    def _read_statement(
        self, statement: ast.stmt, evaluate: EarlyStatements, found: dict[str, int]
    ) -> None:
        """What a statement before the launch declares and binds; of an if that which it does."""
        target = getattr(statement, "target", None)
        if isinstance(statement, ast.AnnAssign) and isinstance(target, ast.Name):
            if target.id in self.values:
                self._declare(target.id, evaluate.annotation(statement.annotation), found)
            elif statement.value is not None:
                evaluate.assign([target], statement.value)
        elif isinstance(statement, ast.If):
            for each in evaluate.taken(statement, lambda value: _known(value, found)):
                self._read_statement(each, evaluate, found)
        else:
            evaluate.run(statement, self.python)

    def _signature_annotations(self) -> list[ast.expr]:
        arguments = self.plan.source.node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return [a.annotation for a in every if a.annotation is not None]

    def _declare(self, name: str, annotation: Any, found: dict[str, int]) -> None:
        if isinstance(annotation, TensorAnnotation):
            value = self.values[name]
            annotation = _as_given(name, annotation, value)
            self.declared[name] = annotation
            if value is None:  # a tensor that the kernel doesn't use
                return
            if not hasattr(value, "shape"):
                raise EagerJITBuildError(
                    f"{self.function.__name__}: argument {name!r} is of type "
                    f"{type(value).__name__} but a tensor was expected"
                )
            per_byte = _elements_per_byte(annotation.dtype, value)
            shape = _unpacked_shape(value, per_byte)
            lanes = _lanes(annotation.dtype)
            declared = annotation.shape if lanes == 1 else (*annotation.shape, lanes)
            if len(shape) != len(declared):
                raise EagerJITBuildError(
                    f"{self.function.__name__}: argument {name!r} has {_dims(len(shape))} but "
                    f"{_dims(len(declared))} were declared"
                )
            for dim, size in zip(declared, shape, strict=True):
                if isinstance(dim, _Constant):
                    _bind(found, dim.name, int(size), name, self.function.__name__)
            if annotation.strides is not None:
                self._match_strides(name, annotation.strides, found, lanes, per_byte)
        elif isinstance(annotation, PointerAnnotation):
            self.declared[name] = annotation
        elif is_dtype(annotation) and not isinstance(annotation, type):
            self.declared[name] = to_dtype(annotation)

    def _match_strides(
        self,
        name: str,
        strides: tuple[Any, ...],
        found: dict[str, int],
        lanes: int,
        per_byte: int,
    ) -> None:
        actual = _unpacked_strides(self.values[name], per_byte)
        for dim, size in zip(strides, actual, strict=lanes == 1):  # that of the lanes is 1
            if isinstance(dim, _Constant):
                _bind(found, dim.name, int(size) // lanes, name, self.function.__name__)

    # Second pass: the trace --------------------------------------------------------------------

    def capture(self, compiler: Any = None) -> CapturedKernel:
        """Traces the whole function for the constants of this call."""
        source = self.plan.source
        tracer = Tracer(source.node.name, source.header_place(), compiler)
        with tracer:
            lookup = outside_names(self.python)
            Prescan(source, lookup).run(tracer)
            tracer.signature = Signature(tracer, self.constants)
            interpreter = Interpreter(source, tracer, Scope(tracer.frames), lookup)
            for name in self.plan.parameters:
                self._declare_in(interpreter, name)
            tracer.undeclared = {id(v): n for n, v in self.plain().items() if is_array(v)}
            value = interpreter.run(source.node.body)
            self._report_consequences(interpreter)
            outputs = self._outputs(tracer, value)
            numbers = [len(self.declared) + tracer.signature.numbers[n] for n in outputs]
            return finish(tracer, source, list(self.declared), numbers)

    def _declare_in(self, interpreter: Interpreter, name: str) -> None:
        value: Value = self.values[name]
        if self._is_wrong(name):  # a tensor, but of which kind?
            self._report_annotation(interpreter, *self.wrong[name])
            value = POISON
        elif name in self.declared:
            if name in self.plan.annotations:
                interpreter.mark(self.plan.annotations[name])
            try:
                annotation = _resolved(self.declared[name], self.constants)
                value = declare_parameter(interpreter.tracer, name, annotation)
            except LanguageError as error:
                interpreter.tracer.report(error.message, error.kind, python=error.python)
                value = POISON
        interpreter.scope.bind(name, value, interpreter.source.header_place())

    def _is_wrong(self, name: str) -> bool:
        """Whether it is a tensor whose annotation has no value."""
        return name in self.wrong and hasattr(self.values[name], "shape")

    def _report_annotation(
        self, interpreter: Interpreter, node: ast.expr, wrong: Exception
    ) -> None:
        """Says why an annotation has no value."""
        if id(wrong) in self.reported:  # an assignment's, which says it
            return
        message = f"this annotation raises {type(wrong).__name__}: {wrong}"
        if isinstance(wrong, NameError):
            message = str(wrong)
            names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
            node = next((part for part in names if part.id == wrong.name), node)
        place = interpreter.source.place(node)
        interpreter.tracer.report(message, place=place, python=type(wrong))

    def _report_consequences(self, interpreter: Interpreter) -> None:
        """A tensor without a kind is an error, also where the trace could do what its annotation
        needs and the first pass couldn't."""
        if interpreter.tracer.has_errors:
            return
        self.reported.clear()
        for name in self.plan.parameters:
            if self._is_wrong(name):
                self._report_annotation(interpreter, *self.wrong[name])

    def _outputs(self, tracer: Tracer, value: Value) -> list[int]:
        """The numbers of the T.empty tensors in the order in which they are returned."""
        assert tracer.signature is not None
        made = tracer.signature.outputs
        returned = list(value) if isinstance(value, (tuple, list)) else [value]
        returned = [] if value is None else returned
        if any(item is POISON for item in returned):  # its own error is known
            return []
        tracer.at(self.plan.source.header_place())
        for item in returned:
            if not isinstance(item, BufferRef) or item not in made:
                tracer.report(f"{self.kind} can only return tensors made by T.empty")
                return []
        if len(returned) != len(made):
            tracer.report(
                f"T.empty makes {len(made)} {'tensor' if len(made) == 1 else 'tensors'} but the "
                f"kernel returns {len(returned)}"
            )
            return []
        return [made.index(item) for item in returned]


def declares_itself(function: FunctionType) -> bool:
    """Whether a `T.prim_func` is written as eager kernels are: with its outputs made by `T.empty`
    and returned, or its parameters annotated in its body."""
    plan = plan_of(function)
    if not all(name in plan.annotations for name in plan.parameters):
        return False
    if any(name not in function.__annotations__ for name in plan.parameters):
        return "const" not in function.__code__.co_names
    nodes = [part for line in plan.source.node.body for part in ast.walk(line)]
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    made = any("empty" in (getattr(f, "attr", ""), getattr(f, "id", "")) for f in calls)
    return made and any(isinstance(n, ast.Return) and n.value for n in nodes)


class LazyCall(EagerCall):
    """A `T.prim_func` that `declares_itself`: compiled without arguments."""

    kind = "a kernel"

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel, (), {}, runs=False)

    def _refuse_missing(self, constants: list[str]) -> None:
        """Its arguments are those of its calls."""

    def _is_wrong(self, name: str) -> bool:
        return name in self.wrong


class EagerPrimFunc(PrimFunc):
    """An eager kernel for the shapes and values of one call, whose tensors it lets go."""

    def __init__(self, call: EagerCall) -> None:
        super().__init__(call.python, {})
        self.call = copy(call)
        self.call.values = {n: None if n in call.declared else v for n, v in call.values.items()}

    def _trace(self, compiler: Any) -> CapturedKernel:
        return self.call.capture(compiler)


def _lanes(dtype: Any) -> int:
    """The numbers of an element: a tensor of vectors has a dim more than is declared."""
    return to_dtype(dtype).lanes if is_dtype(dtype) else 1


def _shape_of(tensor: Any) -> tuple[Any, ...]:
    """In numbers; of a `T.Tensor` that stands for one, too."""
    shape = tuple(tensor.shape)
    lanes = _lanes(tensor.dtype) if isinstance(tensor, TensorAnnotation) else 1
    return shape if lanes == 1 else (*shape, lanes)


def _strides_of(tensor: Any) -> Sequence[int]:
    """The same."""
    stride = getattr(tensor, "stride", None)
    if callable(stride):
        steps: Sequence[int] = stride()
        return steps
    if not isinstance(tensor, TensorAnnotation):
        return [step // tensor.itemsize for step in tensor.strides]
    if tensor.strides is not None:
        lanes = _lanes(tensor.dtype)
        return tensor.strides if lanes == 1 else [*(step * lanes for step in tensor.strides), 1]
    shape = _shape_of(tensor)
    return [prod(shape[number + 1 :]) for number in range(len(shape))]


def _elements_per_byte(dtype: Any, value: Any) -> int:
    """Of a dtype of 4 bits, a byte holds two, neighbours in the last dim, where the tensor is one
    of bytes or pairs (and not of NumPy's own numbers of 4 bits); else 1."""
    if isinstance(value, TensorAnnotation) or not is_dtype(dtype):
        return 1
    is_of_bytes = str(getattr(value, "dtype", "")).endswith(("int8", "_x2"))
    return max(8 // to_dtype(dtype).bits, 1) if is_of_bytes else 1


def _unpacked_shape(tensor: Any, per_byte: int) -> tuple[Any, ...]:
    """The extents in elements, of which a byte of the tensor holds `per_byte`."""
    shape = _shape_of(tensor)
    return (*shape[:-1], shape[-1] * per_byte) if shape else shape


def _unpacked_strides(tensor: Any, per_byte: int) -> list[Any]:
    """In elements. Those of one byte are neighbours; the call refuses bytes that lie apart."""
    strides = list(_strides_of(tensor))
    if per_byte == 1:
        return strides
    last = 1 if tensor.shape[-1] <= 1 else strides[-1]
    return [*(step * per_byte for step in strides[:-1]), last]


def _is_open(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )


def _dims(count: int) -> str:
    return "1 dim" if count == 1 else f"{count} dims"


def _as_given(name: str, annotation: TensorAnnotation, value: Any) -> TensorAnnotation:
    """The annotation with what the tensor of the call says: its extents and strides where `int`
    stands, its dtype for `Any`; where `T.dyn` stands, a symbol."""
    dtype, shape, strides = annotation.dtype, annotation.shape, annotation.strides
    if hasattr(value, "shape"):
        if dtype is Any:
            dtype = to_dtype(value.dtype)
        per_byte, lanes = _elements_per_byte(dtype, value), _lanes(dtype)
        rank = -1 if lanes > 1 else None  # without the lanes
        shape = _taken(shape, _unpacked_shape(value, per_byte)[:rank])
        if strides is not None:
            given = _unpacked_strides(value, per_byte)[:rank]
            strides = _taken(strides, [step // lanes for step in given])
    shape = _named(f"{name}_extent", shape)
    if strides is not None:
        strides = _named(f"{name}_stride", strides)
    return TensorAnnotation(shape, dtype, strides, annotation.scope)


def _taken(declared: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
    if len(declared) != len(given):
        return tuple(declared)
    return tuple(g if d is int else d for d, g in zip(declared, map(int, given), strict=True))


def _named(name: str, declared: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        dynamic(f"{name}_{number}") if each is dyn else each for number, each in enumerate(declared)
    )


class _Constant(Symbol):
    """A T.const whose value is not known yet."""

    __slots__ = ()


def _bind(found: dict[str, int], name: str, size: int, argument: str, kernel: str) -> None:
    known = found.setdefault(name, size)
    if known != size:
        raise EagerJITBuildError(
            f"{kernel}: T.const {name!r} is {known} but argument {argument!r} has {size} there"
        )


def _resolved(annotation: Any, constants: dict[str, int]) -> Any:
    """The annotation with its constants as integers."""
    if not isinstance(annotation, TensorAnnotation):
        return annotation
    shape = tuple(_number(e, constants) for e in annotation.shape)
    strides = annotation.strides
    if strides is not None:
        strides = tuple(_number(e, constants) for e in strides)
    return TensorAnnotation(shape, annotation.dtype, strides, annotation.scope)


def _number(value: Any, constants: dict[str, int]) -> Any:
    if isinstance(value, _Constant):
        return constants[value.name]
    if isinstance(value, Deferred):
        operands = [_number(o, constants) for o in value.operands]
        if all(isinstance(o, int) for o in operands):
            return _ON_NUMBERS[value.op](*operands)
    return value


def _known(value: Any, constants: dict[str, int]) -> Any:
    """The number where it is made of constants that are known so far."""
    try:
        return _number(value, constants)
    except KeyError:
        return value


_ON_NUMBERS: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "ceildiv": lambda a, b: -(-a // b),
    "max": max,
    "min": min,
    "neg": lambda a: -a,
}


class _FirstSignature:
    """What T.const and T.empty give before the constants are known."""

    def __init__(self, wanted: list[str]) -> None:
        self.wanted = wanted

    def constant(self, name: str) -> _Constant:
        self.wanted.append(name)
        return _Constant(name)

    def output(self, shape: list[Any], dtype: Any) -> Any:
        return POISON
