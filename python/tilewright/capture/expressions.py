# SPDX-License-Identifier: Apache-2.0
"""Evaluates the expressions of a kernel: Python's for Python values, the builder for the rest."""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import operator
import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ..errors import CompileError
from ..language.frames import Loop
from ..language.meta import is_meta_object
from ..language.values import (
    POISON,
    BufferRef,
    Element,
    Expr,
    LanguageError,
    Poison,
    PoisonUsed,
    RegionRef,
    VectorElement,
    binary,
    has_poison,
    unary,
    unsupported,
)
from ..language.vectors import load_at, vector_of
from ..suggestions import did_you_mean, unknown_keyword
from .hints import (
    check_item,
    check_numbers,
    check_operands,
    check_sides,
    for_buffer,
    formatted_at_once,
    function_for,
    printed_at_once,
)
from .laziness import dtype_seen, is_total
from .prescan import is_of_language, is_unsupported_construct
from .scopes import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..errors import Place
    from .source import FunctionSource
    from .tracer import Tracer

Value = Any  # a value of the kernel, poison, or any Python object

_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Value, Value], Value]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: _contains(b, a),
    ast.NotIn: lambda a, b: _negated(_contains(b, a)),
}
#: Builtins that fold values of the kernel, too.
_FOLDS = (max, min, all, any)
_CONVERSIONS: dict[str, Callable[[Value], str]] = {"r": repr, "s": str, "a": ascii}
#: Builtins that would look at the interpreter's own frame.
_FRAME_BUILTINS = (locals, globals, vars, eval, exec)


def _contains(items: Value, item: Value) -> Value:
    """`item in items`; on values of the kernel, a comparison with each of them."""
    if isinstance(items, BufferRef):
        raise LanguageError(
            f"buffer {items.name!r} has no 'in'; compare elements, as in {items.first_element()}",
            python=TypeError,
        )
    if isinstance(items, range) and isinstance(item, Expr):
        return _is_in_range(items, item)
    if not isinstance(items, (tuple, list, set, frozenset, dict)):
        return item in items
    if not any(isinstance(v, Expr) for v in (item, *items)):
        return item in items
    same = [operator.eq(item, other) for other in items]
    unknown = [s for s in same if isinstance(s, Expr)]
    if any(s is True for s in same) or not unknown:
        return any(s is True for s in same)
    return functools.reduce(lambda a, b: binary("logical_or", a, b), unknown)


def _is_in_range(numbers: range, item: Expr) -> Value:
    if not numbers:
        return False
    low, high = sorted((numbers[0], numbers[-1]))
    inside = binary("logical_and", item >= low, item <= high)
    if abs(numbers.step) == 1:
        return inside
    return binary("logical_and", inside, (item - low) % abs(numbers.step) == 0)


def _refuse_whole_buffers(op: ast.cmpop, left: Value, right: Value) -> None:
    """`A == B` on tensors and tiles would be Python's answer whether they are one object."""
    if isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) or left is None or right is None:
        return
    for value in (left, right):
        if isinstance(value, RegionRef):
            raise LanguageError(
                f"a region of {value.buffer.name!r} can't be compared; compare elements",
                python=TypeError,
            )
        if isinstance(value, BufferRef) and not value.is_variable:
            raise LanguageError(
                f"buffer {value.name!r} can't be compared; compare elements, as in "
                f"{value.first_element()}, or write 'is' to ask whether two names are one buffer",
                python=TypeError,
            )


def _is_bool(value: Value) -> bool:
    return isinstance(value, bool) or (isinstance(value, Expr) and value.dtype == "bool")


def _items_to_fold(function: Value, args: list[Value]) -> list[Value]:
    """What `max(a, b)`, `min([a, b])` or `all(a for ..)` is asked of, where that is at hand."""
    if len(args) > 1:
        return args if function is builtins.max or function is builtins.min else []
    held = args[0]
    if isinstance(held, type(iter([]))):  # of a generator: a call may still go through it
        held = copy.copy(held)
    return list(held) if isinstance(held, (list, tuple, set, type(iter([])))) else []


def _folded(function: Value, items: list[Value]) -> Value:
    from ..language import math_ops

    if function is builtins.max or function is builtins.min:
        return functools.reduce(math_ops.max if function is builtins.max else math_ops.min, items)
    return (math_ops.And if function is builtins.all else math_ops.Or)(*items)


def _negated(value: Value) -> Value:
    return unary("logical_not", value) if isinstance(value, Expr) else not value


class Reference:
    """What a `T.Ref` parameter of a macro is bound to: reading loads, assigning stores."""

    __slots__ = ("element",)

    def __init__(self, element: Element) -> None:
        self.element = element


class ExpressionEvaluator(ABC):
    """Evaluates expressions of one activation of a kernel, macro or nested function."""

    def __init__(
        self,
        source: FunctionSource,
        tracer: Tracer,
        scope: Scope,
        outside: Callable[[str], Value],
    ) -> None:
        self.source = source
        self.tracer = tracer
        self.scope = scope
        #: Names from outside the function: closure, globals, builtins; KeyError if unknown.
        self.outside = outside
        self._places: dict[ast.AST, Place] = {}

    def place(self, node: ast.AST) -> Place:
        place = self._places.get(node)
        if place is None:
            place = self._places[node] = self.source.place(node)
        return place

    def mark(self, node: ast.AST) -> None:
        """What is built from now on comes from `node`."""
        self.tracer.at(self.place(node))

    def evaluate(self, node: ast.expr) -> Value:
        """The value of `node`. An element stays a reference to its buffer until it is used."""
        method = getattr(self, "eval_" + type(node).__name__, None)
        if method is None:
            if is_unsupported_construct(node):
                raise PoisonUsed  # the prescan has reported it
            self.mark(node)
            raise unsupported(f"{type(node).__name__.lower()} can't be captured in a kernel")
        return method(node)

    def value(self, node: ast.expr) -> Value:
        """The value of `node`, with elements loaded: what a name is bound to."""
        return self.settled(self.evaluate(node), node)

    def settled(self, value: Value, node: ast.AST) -> Value:
        if isinstance(value, Element):
            self.mark(node)
            return self.tracer.expression(value)
        if isinstance(value, Reference):
            return self.settled(value.element, node)
        if isinstance(value, VectorElement):
            self.mark(node)
            return vector_of(value, "a vector")
        return value

    # Names and constants -----------------------------------------------------------------------

    def eval_Constant(self, node: ast.Constant) -> Value:
        return node.value

    def lookup(self, node: ast.Name) -> Value:
        """What a name is bound to, variables as themselves."""
        scope = self.scope.find(node.id)
        if scope is not None:
            self.mark(node)
            return scope.read(node.id, self.place(node))
        try:
            return self.outside(node.id)
        except KeyError:
            pass
        if self.tracer.reach(node):
            return POISON
        self.mark(node)
        raise LanguageError(f"name {node.id!r} is used before it is bound", python=NameError)

    def peek(self, node: ast.Name) -> Value:
        """What a name is bound to, where the trace may not come to it; None if it is unknown."""
        return None if node in self.tracer.unknown_names else self.lookup(node)

    def eval_Name(self, node: ast.Name) -> Value:
        value = self.lookup(node)
        if isinstance(value, BufferRef) and value.is_variable:
            self.mark(node)
            return self.tracer.expression(value)
        return self.settled(value, node)

    def eval_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.mark(node)
        self.bind_name(node.target.id, value, node.target)
        return value

    @abstractmethod
    def bind_name(self, name: str, value: Value, node: ast.AST) -> None:
        """Assigns to a name of the function."""

    def eval_Attribute(self, node: ast.Attribute) -> Value:
        owner = self.base(node.value)
        self.mark(node)
        if isinstance(owner, Poison):
            return POISON
        try:
            found = getattr(owner, node.attr)
            if isinstance(found, BufferRef) and found.is_variable and is_meta_object(owner):
                return self.tracer.expression(found)
            return found
        except LanguageError:
            raise
        except AttributeError as missing:
            if is_of_language(owner):
                if isinstance(node.value, ast.Name) and self.tracer.reach(node):
                    return POISON
                written = ast.unparse(node.value)
                message = f"{written} has no {node.attr!r}{_meant(owner, node.attr)}"
                if str(missing).startswith(f"{written} "):  # it knows more names than dir() has
                    message = str(missing)
                raise LanguageError(message, python=AttributeError) from None
            if isinstance(owner, BufferRef):
                meant = for_buffer(ast.unparse(node.value), node.attr) or _meant(owner, node.attr)
                raise LanguageError(
                    f"buffer {owner.name!r} has no attribute {node.attr!r}{meant}",
                    python=AttributeError,
                ) from None
            message = str(missing)
            if isinstance(owner, Expr):
                meant = _meant(owner, node.attr) or function_for(node.attr)
                message = f"a value has no attribute {node.attr!r}{meant}"
            raise LanguageError(message, python=AttributeError) from None

    def base(self, node: ast.expr) -> Value:
        """What stands before a dot or a bracket: a variable is not loaded there."""
        if isinstance(node, ast.Name):
            value = self.lookup(node)
            return value.element if isinstance(value, Reference) else value
        return self.evaluate(node)

    # Operators ---------------------------------------------------------------------------------

    def eval_BinOp(self, node: ast.BinOp) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        self.mark(node)
        check_numbers(node, left, right)
        return self.operate(node.op, left, right)

    def operate(self, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(left, Poison) or isinstance(right, Poison):
            return POISON
        try:
            return _BINARY[type(op)](left, right)
        except TypeError as error:
            check_operands(error, left, right)
            raise

    def eval_UnaryOp(self, node: ast.UnaryOp) -> Value:
        is_not = isinstance(node.op, ast.Not)
        operand = self._condition(node.operand) if is_not else self.evaluate(node.operand)
        self.mark(node)
        if isinstance(operand, Poison):
            return POISON
        if is_not:
            known = self.truth(operand)
            if isinstance(known, bool):
                return not known
            return self.tracer.unary("logical_not", known)
        if isinstance(node.op, ast.USub):
            return -operand
        return ~operand if isinstance(node.op, ast.Invert) else +operand

    def _condition(self, node: ast.expr) -> Value:
        """What has the truth of `node`, of which that alone is asked."""
        if isinstance(node, ast.BoolOp):
            return self._lazy_chain(node, node.values, True)
        return self.value(node)

    def test(self, node: ast.expr) -> Value:
        """The truth of `node`: a bool where it is known while tracing, else the kernel's value."""
        return self.truth(self._condition(node))

    def truth(self, value: Value) -> Value:
        """A condition: a bool where it is known while tracing, else a value of the kernel."""
        if isinstance(value, Poison):
            raise PoisonUsed
        if isinstance(value, BufferRef) and value.is_variable:
            value = self.tracer.expression(value)
        if isinstance(value, Expr):
            value = self.tracer.expression(value)
            if isinstance(value, Poison):
                raise PoisonUsed
            known = self.tracer.constant_value(value) if isinstance(value, Expr) else value
            return value if known is None else bool(known)
        return bool(value)

    def eval_Compare(self, node: ast.Compare) -> Value:
        return self._comparisons(node, self.evaluate(node.left), 0)

    def _comparisons(self, node: ast.Compare, left: Value, at: int) -> Value:
        """Operand `at - 1`, which is `left`, with the next one, and so on while that holds."""
        right = self.evaluate(node.comparators[at])
        self.mark(node)
        if has_poison((left, right)):
            return POISON
        _refuse_whole_buffers(node.ops[at], left, right)
        step = _COMPARE[type(node.ops[at])](left, right)
        if at + 1 == len(node.ops) or isinstance(step, Poison):
            return step
        known = self.truth(step)
        if isinstance(known, bool):
            return self._comparisons(node, right, at + 1) if known else step
        following = node.comparators[at + 1 :]
        return self._lazily(
            node, known, following, lambda: self._comparisons(node, right, at + 1), True, False
        )

    def eval_BoolOp(self, node: ast.BoolOp) -> Value:
        return self._lazy_chain(node, node.values, False)

    def _lazy_chain(self, node: ast.BoolOp, values: list[ast.expr], is_test: bool) -> Value:
        """As in Python the operand that decides, or with `is_test` what has its truth."""
        is_and = isinstance(node.op, ast.And)
        first = self._condition(values[0]) if is_test else self.value(values[0])
        if len(values) == 1:
            return first
        if isinstance(first, Poison):
            return POISON
        known = self.truth(first)
        if isinstance(known, bool):
            return self._lazy_chain(node, values[1:], is_test) if known == is_and else first
        rest = values[1:]
        decided = not is_and if is_test or _is_bool(first) else first

        def compute() -> Value:
            value = self._lazy_chain(node, rest, is_test)
            return self._as_bool(value) if is_test else value

        return self._lazily(node, known, rest, compute, is_and, decided)

    def _as_bool(self, value: Value) -> Value:
        """The truth of a value as one of dtype bool; poison stays."""
        known = value if isinstance(value, Poison) else self.truth(value)
        return known if isinstance(known, (bool, Poison)) or _is_bool(known) else known != 0

    def _lazily(
        self,
        node: ast.expr,
        first: Expr,
        nodes: list[ast.expr],
        compute: Callable[[], Value],
        is_and: bool,
        decided: Value,
    ) -> Value:
        """What `compute` makes of `nodes` where `first` holds (with `is_and`) or doesn't; else
        `decided`, which is a bool where the whole may be one."""

        def choice(choose: Callable[..., Value], rest: Value, other: Value) -> Value:
            return choose(first, rest, other) if is_and else choose(first, other, rest)

        if not all(is_total(self, v) for v in nodes):
            return choice(self.tracer.choose, compute, lambda: decided)
        with self.tracer.only_where(first, is_and):
            right = compute()
        self.mark(node)
        if isinstance(right, Poison):
            return POISON
        if isinstance(decided, bool) and isinstance(right, bool):
            return first if right == is_and else right
        if isinstance(decided, bool) and _is_bool(right):
            return self.tracer.binary("logical_and" if is_and else "logical_or", first, right)
        return choice(self.tracer.select, right, decided)

    def eval_IfExp(self, node: ast.IfExp) -> Value:
        return self.choose(node, node.test, node.body, node.orelse)

    def choose(
        self,
        node: ast.expr,
        test: ast.expr,
        then: ast.expr,
        other: ast.expr,
        promotes: bool = False,
    ) -> Value:
        """Lazy choice. Both sides are computed only where neither can fault: that vectorizes. One
        that is made here and now `promotes` to the dtype of both, as in the kernel, where that of
        the other side is seen without computing it."""
        condition = self.test(test)
        if isinstance(condition, bool):
            taken, left = (then, other) if condition else (other, then)
            value = self.evaluate(taken)
            dtype = dtype_seen(self, left) if promotes else None
            return value if dtype is None else self.tracer.promoted(value, dtype)
        if not (is_total(self, then) and is_total(self, other)):
            self.mark(node)
            return self.tracer.choose(
                condition, lambda: self.value(then), lambda: self.value(other)
            )
        with self.tracer.only_where(condition, True):
            when_true = self.value(then)
        with self.tracer.only_where(condition, False):
            when_false = self.value(other)
        self.mark(node)
        if has_poison((when_true, when_false)):
            return POISON
        check_sides(when_true, when_false)
        return self.tracer.select(condition, when_true, when_false)

    # Containers --------------------------------------------------------------------------------

    def _items(self, nodes: list[ast.expr]) -> list[Value]:
        items: list[Value] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items.extend(self.value(node.value))
            else:
                items.append(self.value(node))
        return items

    def eval_Tuple(self, node: ast.Tuple) -> Value:
        return tuple(self._items(node.elts))

    def eval_List(self, node: ast.List) -> Value:
        return self._items(node.elts)

    def eval_Set(self, node: ast.Set) -> Value:
        return set(self._items(node.elts))

    def eval_Dict(self, node: ast.Dict) -> Value:
        result: dict[Value, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                result.update(self.value(value))
            else:
                result[self.value(key)] = self.value(value)
        return result

    def eval_JoinedStr(self, node: ast.JoinedStr) -> Value:
        return "".join(str(self.value(part)) for part in node.values)

    def eval_FormattedValue(self, node: ast.FormattedValue) -> Value:
        value = self.value(node.value)
        spec = self.value(node.format_spec) if node.format_spec else ""
        if told := formatted_at_once(value, ast.unparse(node.value)):
            if spec:  # of a number, which it isn't
                raise LanguageError(told, python=TypeError)
            self.tracer.report(told, "warning", self.place(node))
        if node.conversion != -1:
            value = _CONVERSIONS[chr(node.conversion)](value)
        return format(value, spec)

    def eval_Slice(self, node: ast.Slice) -> Value:
        parts = [self.value(p) if p else None for p in (node.lower, node.upper, node.step)]
        return slice(*parts)

    def eval_Subscript(self, node: ast.Subscript) -> Value:
        owner = self.base(node.value)
        index = self.value(node.slice)
        self.mark(node)
        if isinstance(owner, Poison) or has_poison(index):
            return POISON
        if isinstance(owner, BufferRef):
            return load_at(owner, index)
        check_item(self.tracer, owner, index)
        found = owner[index]
        if isinstance(found, BufferRef) and found.is_variable:
            return self.tracer.expression(found)
        return found

    # Comprehensions and lambdas: Python, at trace time ---------------------------------------

    def _comprehend(self, generators: list[ast.comprehension], at: int = 0) -> Iterator[None]:
        if at == len(generators):
            yield
            return
        generator = generators[at]
        items = self.value(generator.iter)
        if isinstance(items, Loop):
            self.mark(generator.iter)
            raise LanguageError(
                f"a comprehension runs while tracing, so it can't go over a {items.kind} loop; use "
                "range() with numbers that are known then, or write a for loop",
                python=TypeError,
            )
        for item in items:
            self.unpack(generator.target, item)
            if all(self._known_truth(test) for test in generator.ifs):
                yield from self._comprehend(generators, at + 1)

    def _known_truth(self, test: ast.expr) -> bool:
        known = self.test(test)
        if not isinstance(known, bool):
            self.mark(test)
            raise LanguageError(
                "a comprehension runs while tracing, so its conditions must be known then; write a "
                "loop with an if statement",
                python=TypeError,
            )
        return known

    @abstractmethod
    def unpack(self, target: ast.expr, value: Value) -> None:
        """Assigns to whatever may stand left of `=`."""

    def _in_inner_scope(self, collect: Callable[[], Value]) -> Value:
        outer = self.scope
        self.scope = Scope(self.tracer.frames, outer)
        try:
            return collect()
        finally:
            self.scope = outer

    def eval_ListComp(self, node: ast.ListComp) -> Value:
        steps = self._comprehend(node.generators)
        return self._in_inner_scope(lambda: [self.value(node.elt) for _ in steps])

    def eval_SetComp(self, node: ast.SetComp) -> Value:
        return set(self.eval_ListComp(node))  # type: ignore[arg-type]

    def eval_GeneratorExp(self, node: ast.GeneratorExp) -> Value:
        return iter(self.eval_ListComp(node))  # type: ignore[arg-type]

    def eval_DictComp(self, node: ast.DictComp) -> Value:
        steps = self._comprehend(node.generators)
        return self._in_inner_scope(
            lambda: {self.value(node.key): self.value(node.value) for _ in steps}
        )

    # Calls -------------------------------------------------------------------------------------

    def eval_Call(self, node: ast.Call) -> Value:
        function = self.evaluate(node.func)
        if isinstance(function, Poison):
            self._arguments_only(node)
            return POISON
        if getattr(function, "is_lazy_choice", False) and len(node.args) == 3 and not node.keywords:
            condition, then, other = node.args
            return self.choose(node, condition, then, other, promotes=True)
        if getattr(function, "is_let", False) and len(node.args) == 3 and not node.keywords:
            return self._let(function, *node.args)
        module = getattr(function, "__module__", None) or ""
        keeps_elements = module.startswith("tilewright.language")
        read = self.evaluate if keeps_elements else self.value
        name, self.tracer.pending_name = self.tracer.pending_name, None
        args: list[Value] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                args.extend(self.value(argument.value))
            else:
                args.append(read(argument))
        keywords: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                keywords.update(self.value(keyword.value))
            else:
                keywords[keyword.arg] = read(keyword.value)
        self.mark(node)
        self.tracer.pending_name = name
        return self._call(function, args, keywords, node)

    def _let(self, let: Value, variable: ast.expr, value: ast.expr, body: ast.expr) -> Value:
        """`T.let(v, value, body)`: the body is computed where the variable has the value."""
        given = let(self.evaluate(variable), self.value(value))
        if isinstance(given, Poison):
            return given
        given.enter(self.tracer)
        try:
            return self.tracer.expression(self.value(body))
        finally:
            given.leave(self.tracer)

    def _arguments_only(self, node: ast.Call) -> None:
        """Evaluates the arguments of an unknown function, for the errors in them."""
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            if not isinstance(argument, ast.Starred):
                self.evaluate(argument)

    def _call(
        self, function: Value, args: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> Value:
        if isinstance(function, type(max)) and function in _FOLDS and args and not keywords:
            items = _items_to_fold(function, args)
            if any(isinstance(item, Expr) for item in items):
                return _folded(function, items)
        name = getattr(function, "__name__", "")
        if any(function is builtin for builtin in _FRAME_BUILTINS):
            raise unsupported(f"{name}() can't be captured in a kernel")
        if function is builtins.super and not args and not keywords:
            args = self._method_of(node)
        if told := printed_at_once(function, args):
            self.tracer.report(told, "warning", self.place(node))
        place = self.tracer.place
        try:
            return function(*args, **keywords)
        except (PoisonUsed, CompileError):
            raise
        except Exception as error:
            if hint := _hint_for_numbers_only(function, ast.unparse(node.func), args):
                self.tracer.at(place)
                raise LanguageError(hint, python=TypeError) from error
            if isinstance(error, LanguageError):
                self._mark_operand(error, args, keywords, node)
                raise
            self.tracer.at(place)
            called = ast.unparse(node.func)
            if wrong := unknown_keyword(error, function, keywords):
                self._mark_keyword(wrong[0], node)
                message = f"{called} has no argument {wrong[0]!r}{wrong[1]}"
                raise LanguageError(message, python=TypeError) from error
            if has_poison((*args, *keywords.values())):  # its cause is told already
                raise PoisonUsed from error
            raise CallFailed(called, error) from error

    def _method_of(self, node: ast.Call) -> list[Value]:
        """The class whose method this is, and the object it was called on: what super() alone
        would look for in the frame. None where Python has no class either."""
        given = self.source.node.args
        try:
            owner = self.outside("__class__")
            first = [*given.posonlyargs, *given.args][0].arg
        except (KeyError, IndexError):
            return []
        scope = self.scope.find(first)
        return [owner, scope.read(first, self.place(node))] if scope is not None else []

    def _mark_keyword(self, name: str, node: ast.Call) -> None:
        """Sets the place to the keyword of this name, if the call spells it."""
        for keyword in node.keywords:
            if keyword.arg == name:
                self.mark(keyword)

    def _mark_operand(
        self, error: LanguageError, args: list[Value], keywords: dict[str, Value], node: ast.Call
    ) -> None:
        """Sets the place to the argument that the error is about, if it is one of this call's."""
        if error.operand is None or self.tracer.place != self.place(node):
            return
        nodes: list[ast.expr] = [] if len(args) != len(node.args) else [*node.args]
        written = [k for k in node.keywords if k.arg is not None]
        nodes += [k.value for k in written]
        values = [*args[: len(nodes) - len(written)], *(keywords[str(k.arg)] for k in written)]
        for argument, value in zip(nodes, values, strict=True):
            if value is error.operand:
                self.mark(argument)
                return


def _meant(owner: object, attribute: str) -> str:
    """The end of a message about an attribute that `owner` does not have."""
    return did_you_mean(attribute, dir(owner))


def _is_of_torch(function: Value) -> bool:
    """Whether it is a function of torch, as torch.exp; never imports it."""
    name = getattr(function, "__name__", None)
    torch = sys.modules.get("torch")
    return isinstance(name, str) and torch is not None and getattr(torch, name, None) is function


def _hint_for_numbers_only(function: Value, name: str, args: list[Value]) -> str:
    """What to write in the place of a function of Python's or NumPy's numbers, or of torch's
    tensors, that was given a value of the kernel; empty for all others."""
    is_of_numbers = (
        function is builtins.round
        or _is_of_torch(function)
        or type(function).__name__ == "ufunc"
        or getattr(function, "__module__", None) == "math"
    )
    if not is_of_numbers or not any(isinstance(a, (Expr, BufferRef)) for a in args):
        return ""
    from .. import language

    twin = function.__name__
    instead = f"T.{twin}" if hasattr(language, twin) else "functions of the language"
    taken = "tensors" if _is_of_torch(function) else "numbers"
    return f"{name}() takes {taken}, not values of the kernel; use {instead}"


class CallFailed(Exception):
    """A function that the kernel called while it was traced raised an exception."""

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(name)
        self.name = name
        self.error = error
