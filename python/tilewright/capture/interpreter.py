# SPDX-License-Identifier: Apache-2.0
"""Runs the statements of a kernel against the builder.

Every statement is guarded: one that fails records its message, and the names that it would have
bound are poison, which silences all that follows from them. So one run finds all errors.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from ..errors import CompileError, JITNoBuilderError, Note, Place
from ..language.dtypes import Dtype
from ..language.frames import Loop, RunTimeContext, ThreadLoop, TileLoop
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
    assign_region,
    subscript,
    unsupported,
)
from ..language.vectors import elements_at, load_at, store_at
from .control import ControlFlow, OpenFor, Signal
from .expressions import CallFailed, Reference
from .guarded import value_is_dropped
from .hints import gives_nothing, refuse_nothing
from .imports import imported
from .prescan import is_unsupported_construct
from .scopes import Binding, Frame, Scope
from .thread_return import is_end, refuse_in, refuse_misplaced, with_rest
from .tracer import plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .source import FunctionSource
    from .tracer import Tracer

Value = Any


class Interpreter(ControlFlow):
    """One activation of a kernel, a macro or a nested function."""

    def __init__(
        self,
        source: FunctionSource,
        tracer: Tracer,
        scope: Scope,
        outside: Callable[[str], Value],
    ) -> None:
        super().__init__(source, tracer, scope, outside)
        self.returned: Value = None
        self.returned_at: Place | None = None
        self._base_depth = len(tracer.frames)
        #: Names and the calls of which they had None.
        self._calls: dict[str, ast.Call] = {}

    def run(self, body: Sequence[ast.stmt]) -> Value:
        self.tracer.has_ended = self.block(body) is Signal.END
        return self.returned

    # Blocks and guards -------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt]) -> Signal | None:
        """Runs statements; contexts and loops without `with` and `for` end with the block."""
        opened: list[tuple[RunTimeContext, Frame]] = []
        signal: Signal | None = None
        for number, statement in enumerate(body):
            # In a loop the threads that end leave it.
            ending = None if self._loops else with_rest(statement, body[number + 1 :])
            done = self.statement(ending or statement, opened)
            if isinstance(done, OpenFor):
                done.body = list(body[number + 1 :])
                done = self.statement(done, opened)
                signal = done if isinstance(done, Signal) else None
                break
            signal = done
            if ending is not None:  # it held the rest
                break
            if signal is not None:
                jumps = isinstance(statement, (ast.Break, ast.Continue))
                if jumps and number + 1 < len(body):
                    self._warn(body[number + 1], "code after break or continue is never reached")
                break
        for context, frame in reversed(opened):
            self.leave_context(context, frame)
        return signal

    def statement(
        self, node: ast.stmt, opened: list[tuple[RunTimeContext, Frame]]
    ) -> Signal | OpenFor | None:
        method = getattr(self, "exec_" + type(node).__name__, None)
        depth = len(self.tracer.frames)
        try:
            self.mark(node)
            if method is None:
                if is_unsupported_construct(node):
                    raise PoisonUsed  # reported by the prescan
                raise unsupported(f"{type(node).__name__.lower()} can't be captured in a kernel")
            signal = method(node)
            if isinstance(signal, RunTimeContext):
                opened.append((signal, self.enter_context(signal, node)))
                return None
            if self.tracer.has_ended:  # in a macro that the statement called
                self.tracer.has_ended = False
                if self._loops:
                    refuse_in("a macro that a loop calls")
                return Signal.END
            return signal  # type: ignore[no-any-return]
        except (PoisonUsed, LanguageError, CallFailed, CompileError, JITNoBuilderError) as error:
            self._failed(node, error)
        except RecursionError:
            self._failed(node, LanguageError("the kernel nests too deeply", python=RecursionError))
        except Exception as error:
            self.tracer.report(f"this raises {_described(error)}", python=type(error))
            self._poison(node)
        assert len(self.tracer.frames) == depth, "a failed statement left a frame open"
        return None

    def _failed(self, node: ast.stmt, error: Exception) -> None:
        tracer = self.tracer
        tracer.pending_name = None
        if isinstance(error, LanguageError):
            nothing = self._of_nothing(node, error)
            message, notes = nothing or (error.message, _notes(error))
            tracer.report(message, error.kind, notes=notes, python=error.python)
        elif isinstance(error, CompileError):
            tracer.found.extend(d for d in error.diagnostics if d not in tracer.found)
        elif isinstance(error, CallFailed):
            notes = _inner_place(error.error)
            if notes:
                tracer.causes.append(error.error)
            tracer.report(_call_message(error), notes=notes, python=type(error.error))
        elif isinstance(error, JITNoBuilderError):
            tracer.report(str(error), python=RuntimeError)
        self._poison(node)

    def _of_nothing(self, node: ast.stmt, error: LanguageError) -> tuple[str, list[Note]] | None:
        """What is said of a name that a call which gives no value was bound to, where a statement
        takes it for one."""
        if "None of type NoneType" not in error.message:
            return None
        for child in ast.walk(node):
            binding = self.scope.names.get(child.id) if isinstance(child, ast.Name) else None
            if isinstance(child, ast.Name) and isinstance(binding, Binding):
                made = self._calls.get(child.id) if binding.value is None else None
                if made is not None:
                    note = Note(binding.place, f"{child.id!r} was bound here")
                    return f"{child.id!r} is None, as {gives_nothing(made)}", [note]
        return None

    def _poison(self, node: ast.stmt) -> None:
        """Binds all names that the failed statement would have bound. What the trace would have
        reached in it isn't known, so its unknown names are all reported."""
        self.tracer.has_poison = True
        for child in ast.walk(node):
            self.tracer.reach(child)
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                binding = self.scope.names.get(child.id)
                if isinstance(binding, Binding) and _is_variable(binding.value):
                    continue
                self.scope.names[child.id] = Binding(
                    POISON, len(self.tracer.frames), self.place(child)
                )

    def _warn(self, node: ast.AST, message: str) -> None:
        self.tracer.report(message, "warning", self.place(node))

    # Binding -----------------------------------------------------------------------------------

    def bind_name(self, name: str, value: Value, node: ast.AST) -> None:
        self.mark(node)
        binding = self.scope.names.get(name)
        if isinstance(binding, Binding):
            known = binding.value
            if isinstance(known, Reference):
                self.tracer.store(known.element, value)
                return
            if _is_variable(known) and not _is_variable(value):
                self.tracer.store(self.scope.read(name, self.place(node)).element(), value)
                return
        self.tracer.name_value(name, value)
        self.scope.bind(name, value, self.place(node))

    def assign(self, target: ast.expr, value: Value) -> None:
        """What a statement assigns to this target alone; a name that hides a value of the kernel
        is warned of. As in TileLang, parts of tuples, chains of assignments and numbers of a dtype
        in the place of other ones are not."""
        hidden = None
        if isinstance(target, ast.Name):
            hidden = self.scope.rebound(target.id, value, self.place(target))
        self.unpack(target, value)
        if hidden and not all(map(self.tracer.is_immediate, (value, hidden.value))):
            self._warn(
                target,
                f"{ast.unparse(target)!r} is bound to another value here than at line "
                f"{hidden.place.line}; use T.alloc_var for a variable that changes",
            )

    def unpack(self, target: ast.expr, value: Value) -> None:
        """Binds or stores `value` to the target of an assignment."""
        if isinstance(target, ast.Name):
            self.bind_name(target.id, value, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part, item in self._parts(target, value):
                self.unpack(part, item)
        elif isinstance(target, ast.Subscript):
            self._store_item(target, value)
        elif isinstance(target, ast.Attribute):
            self._set_attribute(target, value)
        else:
            self.mark(target)
            raise unsupported(f"assigning to {type(target).__name__.lower()} can't be captured")

    def _parts(
        self, target: ast.Tuple | ast.List, value: Value
    ) -> Iterable[tuple[ast.expr, Value]]:
        if isinstance(value, Poison):
            return [(part, POISON) for part in target.elts]
        if isinstance(value, Expr) and len(target.elts) == 1:
            return [(target.elts[0], value)]
        items = list(value)
        stars = [k for k, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
        if not stars:
            if len(items) != len(target.elts):
                self.mark(target)
                values = "1 value" if len(items) == 1 else f"{len(items)} values"
                raise LanguageError(f"{len(target.elts)} names are bound to {values}")
            return list(zip(target.elts, items, strict=True))
        at, rest = stars[0], len(target.elts) - stars[0] - 1
        starred = target.elts[at]
        assert isinstance(starred, ast.Starred)
        middle = items[at : len(items) - rest]
        return [
            *zip(target.elts[:at], items[:at], strict=True),
            (starred.value, middle),
            *zip(target.elts[at + 1 :], items[len(items) - rest :], strict=True),
        ]

    def _set_attribute(self, target: ast.Attribute, value: Value) -> None:
        """Only objects of a T.meta_class have attributes to assign to; variables are stored to."""
        owner = self.base(target.value)
        self.mark(target)
        if isinstance(owner, Poison):
            return
        if not is_meta_object(owner):
            raise unsupported("assigning to an attribute can't be captured in a kernel")
        held = getattr(owner, target.attr, None)
        if isinstance(held, BufferRef) and _is_variable(held) and not _is_variable(value):
            self.tracer.store(held.element(), value)
        else:
            setattr(owner, target.attr, value)

    def _store_item(self, target: ast.Subscript, value: Value) -> None:
        owner = self.base(target.value)
        index = self.value(target.slice)
        self.mark(target)
        if isinstance(owner, Poison):
            return
        if not isinstance(owner, BufferRef):
            held = owner[index] if isinstance(owner, list) else None
            if isinstance(held, BufferRef) and held.is_variable:
                self.tracer.store(held.element(), value)
            else:
                self.tracer.refuse_undeclared(owner)
                owner[index] = value
            return
        store_at(owner, index, value)

    # Simple statements -------------------------------------------------------------------------

    def _choice_of_updates(self, node: ast.Assign) -> ast.If | None:
        """`q[i] = q[i] + x if c else q[i]` of a reducer, by a conditional expression or
        T.if_then_else, as the branch that it means: each side is an update."""
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            return None
        if not isinstance(value, (ast.IfExp, ast.Call)) or not self.tracer.reducers:
            return None
        buffer = self.peek(target.value)
        handle = buffer.handle if isinstance(buffer, BufferRef) else None
        reducer = self.tracer.reducers.get(handle)
        if reducer is None or reducer.is_finalized or len(node.targets) > 1:
            return None
        if isinstance(value, ast.IfExp):
            test, then, other = value.test, value.body, value.orelse
        elif len(value.args) == 3 and not value.keywords:
            if not getattr(self.base(value.func), "is_lazy_choice", False):
                return None
            test, then, other = value.args
        else:
            return None
        sides = [ast.copy_location(ast.Assign(node.targets, side), node) for side in (then, other)]
        return ast.copy_location(ast.If(test, [sides[0]], [sides[1]]), node)

    def exec_Assign(self, node: ast.Assign) -> Signal | OpenFor | RunTimeContext | None:
        if (choice := self._choice_of_updates(node)) is not None:
            return self.exec_If(choice)
        first = node.targets[0]
        if isinstance(first, ast.Name):
            self.tracer.pending_name = first.id
        elif isinstance(first, ast.Attribute):
            self.tracer.pending_name = first.attr
        value = self.value(node.value)
        self.tracer.pending_name = None
        if value is None and isinstance(first, ast.Subscript):
            self.mark(node.value)
            refuse_nothing(node.value)
        if isinstance(value, RunTimeContext):
            return value.bound_to(first)
        if isinstance(value, ThreadLoop):
            value = value.number()
        if isinstance(value, Loop) and self._is_opened_by(node):
            return self._open_loop(value, first, node, node.value)
        give = self.assign if len(node.targets) == 1 else self.unpack
        for target in node.targets:
            self.mark(target)
            give(target, value)
        if value is None and isinstance(node.value, ast.Call):
            self._calls.update((n.id, node.value) for n in node.targets if isinstance(n, ast.Name))
        return None

    def _is_opened_by(self, node: ast.Assign) -> bool:
        """Whether the names stand for a loop's variables, as in TileLang: no `for` goes over them,
        and nothing else takes the loop for one that may."""
        first = node.targets[0]
        names = first.elts if isinstance(first, (ast.Tuple, ast.List)) else [first]
        ids = {name.id for name in names if isinstance(name, ast.Name)}
        if len(node.targets) > 1 or len(ids) < len(names):
            return False
        for other in ast.walk(self.source.node):
            taken: list[ast.expr | None] = []
            if isinstance(other, (ast.For, ast.comprehension)):
                taken = [other.iter]
            elif isinstance(other, ast.Call) and isinstance(other.func, ast.Name):
                taken = [*other.args, *(keyword.value for keyword in other.keywords)]
            elif isinstance(other, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
                taken = [other.value]
            elif isinstance(other, ast.IfExp):
                taken = [other.body, other.orelse]
            if any(isinstance(part, ast.Name) and part.id in ids for part in taken):
                return False
        return True

    def _open_loop(
        self, loop: Loop, target: ast.expr | None, at: ast.stmt, made: ast.expr
    ) -> OpenFor:
        """The loop over the rest of the block, which is warned of."""
        if target is None:
            count = len(loop.domain if isinstance(loop, TileLoop) else loop.ranges)
            names = ", ".join("ijklmn"[:count])
        else:
            names = ast.unparse(target).strip("()")
        message = f"a {loop.kind} loop without 'for' holds all that follows in its block"
        self._warn(at, f"{message}; write 'for {names} in {ast.unparse(made)}:'")
        return OpenFor.of(loop, target, [], at, made)

    def exec_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            return
        if isinstance(node.target, ast.Name):
            self.tracer.pending_name = node.target.id
        value = self.value(node.value)
        self.tracer.pending_name = None
        annotation = self._annotation(node.annotation)
        if isinstance(annotation, Dtype) and isinstance(value, (Expr, bool, int, float)):
            self.mark(node.value)
            value = annotation(value)
        self.assign(node.target, value)

    def _annotation(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node = ast.parse(node.value, mode="eval").body
        try:
            return self.evaluate(node)
        except (LanguageError, PoisonUsed, CallFailed):
            return None

    def exec_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            current = self.lookup(target)
            if isinstance(current, BufferRef) and not current.is_variable:
                self.mark(node)
                raise LanguageError(
                    f"augmented assignment to the whole buffer {current.name!r}; "
                    f"write {current.first_element(target.id)} op= value",
                    python=RuntimeError,
                )
            current = self.eval_Name(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            self._aug_names(target, node)
            value = self.evaluate(node.value)
            self.mark(node)
            self.assign(target, self.operate(node.op, current, value))
            return
        if isinstance(target, ast.Attribute):
            if not is_meta_object(self.base(target.value)):
                raise unsupported("assigning to an attribute can't be captured in a kernel")
            current = self.evaluate(ast.copy_location(_loaded(target), target))
            value = self.evaluate(node.value)
            self.mark(node)
            self._set_attribute(target, self.operate(node.op, current, value))
            return
        if not isinstance(target, ast.Subscript):
            raise unsupported("this assignment can't be captured in a kernel")
        owner = self.base(target.value)
        index = self.value(target.slice)
        value = self.value(node.value)
        self.mark(node)
        if isinstance(owner, Poison) or isinstance(value, Poison):
            return
        if isinstance(owner, BufferRef):
            if elements_at(owner, index) is not None:
                store_at(owner, index, self.operate(node.op, load_at(owner, index), value))
                return
            element = subscript(owner, index)
            if isinstance(element, VectorElement):
                assign_region(element, self.operate(node.op, element, value))
            elif isinstance(element, RegionRef):
                raise LanguageError(
                    f"a slice of {owner.name!r} can't be assigned; use T.Parallel", python=TypeError
                )
            if isinstance(element, Element):
                with self.tracer.reads_may_be_outside():  # the store is told of
                    result = self.operate(node.op, element, value)
                self.tracer.store(element, result)
        else:
            held = owner[index]
            result = self.operate(node.op, held, value)
            if isinstance(held, BufferRef) and held.is_variable:
                self.tracer.store(held.element(), result)
            else:
                owner[index] = result

    def _aug_names(self, target: ast.Name, node: ast.AugAssign) -> None:
        self._places.setdefault(target, self.source.place(target))

    def exec_Expr(self, node: ast.Expr) -> OpenFor | RunTimeContext | Signal | None:
        if isinstance(node.value, ast.Constant):
            return None
        with value_is_dropped(self.tracer):
            value = self.evaluate(node.value)
        if isinstance(value, Loop):
            return self._open_loop(value, None, node, node.value)
        if is_end(value):
            is_in_macro = bool(self.tracer.call_sites)
            self.mark(node)
            refuse_misplaced(node.value, self.source.node, is_in_macro and self._is_conditional())
            return self.end_in_loop() if self._loops else Signal.END
        has_effect = not isinstance(node.value, (ast.BinOp, ast.Compare, ast.UnaryOp))
        if isinstance(value, Expr) and not has_effect:
            meant = "; write '=' to assign" if isinstance(node.value, ast.Compare) else ""
            self._warn(node, f"the value of this expression is not used{meant}")
        return value if isinstance(value, RunTimeContext) else None

    def exec_Pass(self, node: ast.Pass) -> None:
        return None

    def exec_Assert(self, node: ast.Assert) -> None:
        condition = self.test(node.test)
        if isinstance(condition, bool):
            if not condition:
                message = f": {self.value(node.msg)}" if node.msg else ""
                self.mark(node)
                raise LanguageError(
                    f"assertion failed while tracing{message}", python=AssertionError
                )
            return
        text = str(self.value(node.msg)) if node.msg else ast.unparse(node.test)
        self.mark(node)
        held = self.tracer.value(condition)
        if self.tracer.launch is None:  # between launches: the next one checks it
            self.tracer.promises.append((held, plain_text(text), self.place(node)))
            return
        self.tracer.builder.device_assert(held, plain_text(text))

    def exec_Raise(self, node: ast.Raise) -> None:
        error = self.value(node.exc) if node.exc else RuntimeError("No active exception to reraise")
        if isinstance(error, type):
            error = error()
        self.mark(node)
        if self._is_conditional():
            raise unsupported("'raise' under a condition of the running kernel; use assert")
        raise LanguageError(f"the kernel raises {_described(error)}", python=type(error))

    def exec_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for name, value in imported(node, self.source.function).items():
            self.bind_name(name, value, node)

    exec_ImportFrom = exec_Import

    def exec_Return(self, node: ast.Return) -> Signal:
        value = self.value(node.value) if node.value else None
        self.mark(node)
        if self._is_conditional():
            if self.returned is POISON:  # one message is enough
                raise PoisonUsed
            self.returned = POISON
            raise unsupported("'return' inside a loop or branch of the running kernel")
        self.returned = value
        self.returned_at = self.source.place(node)
        return Signal.RETURN

    def _is_conditional(self) -> bool:
        """Whether this statement runs under a loop or branch of this function."""
        return any(f.is_conditional for f in self.tracer.frames[self._base_depth :])

    def exec_FunctionDef(self, node: ast.FunctionDef) -> None:
        from .functions import NestedFunction

        function: Value = NestedFunction(self, node.name, node.args, node.body)
        for decorator in reversed(node.decorator_list):
            function = self.evaluate(decorator)(function)
        self.bind_name(node.name, function, node)

    def eval_Lambda(self, node: ast.Lambda) -> Value:
        from .functions import NestedFunction

        body = ast.copy_location(ast.Return(node.body), node.body)
        return NestedFunction(self, "<lambda>", node.args, [body])


def _loaded(target: ast.Attribute) -> ast.Attribute:
    """The target of an assignment as something to read."""
    return ast.Attribute(target.value, target.attr, ast.Load())


def _is_variable(value: object) -> bool:
    return isinstance(value, BufferRef) and value.is_variable


def _notes(error: LanguageError) -> list[Note]:
    return [n if isinstance(n, Note) else Note(Place(), str(n)) for n in error.notes]


def _call_message(failed: CallFailed) -> str:
    error = failed.error
    if isinstance(error, TypeError) and "argument" in str(error) and "()" in str(error):
        _, _, rest = str(error).partition("()")
        return f"{failed.name}(){rest}"
    if isinstance(error, (ValueError, TypeError)) and _inner_place(error) == []:
        text = str(error)
        return text[:1].lower() + text[1:]
    return f"{failed.name}() raised {_described(error)}"


def _described(error: Exception) -> str:
    """Its type, and the first line of its message if it has one."""
    first = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _inner_place(error: BaseException) -> list[Note]:
    """Where in the user's own code an exception was raised."""
    trace = error.__traceback__
    place: Place | None = None
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if not module.startswith("tilewright."):
            place = Place(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    if place is None:
        return []
    return [Note(place, f"{type(error).__name__} was raised here")]
