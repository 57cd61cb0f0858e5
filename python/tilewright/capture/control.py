# SPDX-License-Identifier: Apache-2.0
"""Branches, loops and contexts: those of the running kernel, and those that run while tracing."""

from __future__ import annotations

import ast
import itertools
import math
from abc import abstractmethod
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from ..language.frames import KernelLaunch, Loop, RandomBranch, RunTimeContext, ThreadLoop
from ..language.launch import WORK_IN_LAUNCH
from ..language.values import (
    POISON,
    BufferRef,
    Expr,
    LanguageError,
    Poison,
    PoisonUsed,
    unsupported,
)
from .expressions import ExpressionEvaluator
from .hints import not_called
from .scopes import Binding, Escaped, Frame, Scope
from .thread_return import EndingIf, EndingLoop, refuse_in, refuse_one_way
from .tracer import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .source import FunctionSource
    from .tracer import Tracer

Value = Any
#: Launches that a loop may make: a kernel of more is large, and slow to compile.
_MOST_TURNS = 256


def _names_launch(node: ast.For) -> bool:
    return any("Kernel" in (getattr(n, "attr", ""), getattr(n, "id", "")) for n in ast.walk(node))


class OpenFor(ast.For):
    """A loop object that stands without `for`: its body is a with statement's, or what follows in
    its block. `loop` is the object; `has_names` says if its variables are bound to the target."""

    loop: Loop
    has_names: bool

    @staticmethod
    def of(
        loop: Loop, target: ast.expr | None, body: Sequence[ast.stmt], at: ast.stmt, made: ast.expr
    ) -> OpenFor:
        """`made` is the expression that gave the loop, `at` the statement that it stands in."""
        node = OpenFor(target or ast.Tuple([], ast.Store()), made, list(body), [])
        node.loop, node.has_names = loop, target is not None
        return ast.copy_location(node, at)


class Signal(Enum):
    """How a block of statements ended, other than by reaching its end."""

    BREAK = auto()  # of a loop that runs while tracing
    CONTINUE = auto()
    STOP = auto()  # after a break or continue of the running kernel: the rest is never reached
    RETURN = auto()
    END = auto()  # the running thread has ended, or what follows has been dealt with


class OpenLoop(NamedTuple):
    """A loop whose body is being traced."""

    node: ast.For | ast.While
    kind: str  # empty where it runs while tracing
    depth: int  # frames around it


class ControlFlow(ExpressionEvaluator):
    """The statements that hold other statements."""

    def __init__(
        self,
        source: FunctionSource,
        tracer: Tracer,
        scope: Scope,
        outside: Callable[[str], Value],
    ) -> None:
        super().__init__(source, tracer, scope, outside)
        self._loops: list[OpenLoop] = []
        #: Of the outermost loop in which threads may end: the variable that says so, and how often
        #: it is set.
        self._ended: Value = None
        self._returns = 0

    @abstractmethod
    def block(self, body: Sequence[ast.stmt]) -> Signal | None:
        """Runs statements, one after the other."""

    def enter_frame(
        self, kind: str, node: ast.AST, is_loop: bool = False, is_branch: bool = False
    ) -> Frame:
        place = self.place(node)
        frame = Frame(f"{kind} at line {place.line}", place, is_loop, is_branch)
        self.tracer.frames.append(frame)
        self.scope.save()
        return frame

    def leave_frame(
        self,
        frame: Frame,
        others: Sequence[dict[str, Binding | Escaped]] = (),
        hidden: Sequence[str] = (),
    ) -> None:
        """`hidden` names mean behind the frame what they did before."""
        made = self.scope.restore()
        for name in hidden:
            if isinstance(self.scope.names.get(name), Binding):
                made.pop(name, None)
        self.tracer.frames.remove(frame)
        self.scope.leave(frame, [*others, made])

    def exec_If(self, node: ast.If) -> Signal | None:
        condition = self.test(node.test)
        if isinstance(condition, bool):
            return self.block(node.body if condition else node.orelse)
        self.mark(node.test)
        ways = self._branch(node, condition, node.body, node.orelse)
        if ways == [Signal.END, Signal.END]:
            return Signal.END
        if Signal.END in ways and not isinstance(node, EndingIf):
            refuse_one_way()
        return None

    exec_EndingIf = exec_If

    def _branch(
        self,
        node: ast.stmt,
        condition: Value,
        body: Sequence[ast.stmt],
        other: Sequence[ast.stmt],
    ) -> list[Signal | None]:
        """A branch of the running kernel; how each of its ways ended."""
        draws = RandomBranch(self.tracer)
        self.tracer.builder.begin_if(self.tracer.value(condition))
        frame = self.enter_frame("the if", node, is_branch=True)
        ways = [self.block(body)]
        then = self.scope.restore()
        self.scope.save()
        if other:
            self.mark(node)
            self.tracer.builder.begin_else()
            ways.append(self.block(other))
        self.mark(node)
        self.tracer.builder.end_if()
        self.leave_frame(frame, [then])
        draws.leave()
        return ways

    def exec_EndingLoop(self, node: EndingLoop) -> Signal | None:
        """The threads that end leave the loop, and then only the others go on."""
        if self.tracer.launch is not None:
            variable = self.tracer.builder.alloc_var("bool", False, "ended")
            self._ended = self.tracer.buffer(variable, is_variable=True)
        signal = None
        if isinstance(node.loop, ast.While):
            self.exec_While(node.loop)
        else:
            signal = self.exec_For(node.loop)
        returns, self._returns = self._returns, 0
        if not returns or not node.rest:
            return signal or self.block(node.rest)
        return self._branch(node, self._ended, [], node.rest)[-1]

    def end_in_loop(self) -> Signal:
        """T.thread_return in the innermost loop, which the threads leave."""
        for loop in self._loops:
            if loop.kind == "parallel":
                refuse_in("T.Parallel")
            if isinstance(loop.node, OpenFor):
                refuse_in("a loop without 'for'")
            if loop.kind == "grid":
                refuse_in("a loop over several ranges")
            if not loop.kind:
                refuse_in("a loop that runs while compiling")
        self.tracer.store(self._ended.element(), True)
        self._returns += 1
        return self._jump("break", Signal.BREAK)

    def _leave_outer_loop(self, returns_before: int) -> None:
        """Behind an inner loop in which threads may have ended."""
        if self._returns > returns_before and self._loops:
            self.tracer.builder.begin_if(self.tracer.value(self._ended))
            self._jump("break", Signal.BREAK)
            self.tracer.builder.end_if()

    def exec_While(self, node: ast.While) -> None:
        if isinstance(node.test, ast.Constant):
            if not node.test.value:  # it never runs
                return
            raise LanguageError("the condition of this loop is always True")
        builder = self.tracer.builder
        builder.begin_while()
        frame = self.enter_frame("the while loop", node, is_loop=True)
        condition: Value = True
        try:
            condition = self.test(node.test)
            self.mark(node.test)
            if condition is True:
                raise LanguageError("the condition of this loop is always True")
        finally:
            self.tracer.builder.while_condition(self.tracer.value(condition))
            if isinstance(condition, bool):
                self.tracer.builder.end_while()
                self.leave_frame(frame)
        if condition is False:  # as in Python, the body never runs: nobody looks at it
            return
        returns = self._returns
        self._loop_body(node, "while")
        self.mark(node)
        self.tracer.builder.end_while()
        self.leave_frame(frame)
        self._leave_outer_loop(returns)

    def exec_For(self, node: ast.For) -> Signal | None:
        iterable = self._iterable(node.iter)
        self.mark(node.iter)
        return self._for(node, iterable)

    def exec_OpenFor(self, node: OpenFor) -> Signal | None:
        self.mark(node.iter)
        return self._for(node, node.loop)

    def _for(self, node: ast.For, iterable: Value) -> Signal | None:
        if isinstance(iterable, Loop):
            if self.tracer.launch is None:
                return self._trace_time_loop(node, self._turns(iterable, _names_launch(node)))
            self._run_time_loop(node, iterable)
            return None
        if isinstance(iterable, (BufferRef, Expr)):
            raise LanguageError(
                "a for loop needs a loop of the language, a range or a Python sequence, not "
                f"{describe(iterable)}"
            )
        return self._trace_time_loop(node, iterable)

    def _turns(self, loop: Loop, holds_launch: bool) -> list[Value]:
        """The values of a loop outside of T.Kernel: each of its turns makes launches of its own."""
        if isinstance(loop, ThreadLoop):
            loop.refuse_outside()
        bounds = [self.tracer.integers_if_known(bounds) for bounds in loop.ranges]
        turns = [range(*known) for known in bounds if known is not None]
        count = math.prod(map(len, turns))
        if loop.kind not in ("serial", "unroll") or len(turns) < len(bounds) or count > _MOST_TURNS:
            if not holds_launch:
                raise LanguageError(
                    f"a {loop.kind} loop stands outside of T.Kernel; {WORK_IN_LAUNCH} (a loop of "
                    f"launches is a serial one of at most {_MOST_TURNS} turns, whose number is "
                    "known while compiling)"
                )
            raise unsupported(
                "a loop outside of T.Kernel must be a serial one of at most "
                f"{_MOST_TURNS} turns, whose number is known while compiling; else call the kernel "
                "in a loop of Python, or put the loop inside of T.Kernel"
            )
        return list(turns[0]) if len(turns) == 1 else list(itertools.product(*turns))

    def _iterable(self, node: ast.expr) -> Value:
        """The iterable of a for statement, where `range` means T.serial."""
        if isinstance(node, ast.Call):
            function = self.evaluate(node.func)
            if function is range:
                from ..language.loops import serial

                args = self._items(node.args)
                self.mark(node)
                return POISON if any(isinstance(a, Poison) for a in args) else serial(*args)
        value = self.value(node)
        if isinstance(value, Poison):
            raise PoisonUsed
        return value

    def _run_time_loop(self, node: ast.For, loop: Loop) -> None:
        names = _target_names(node.target)
        if loop.scheduled is not None:
            self._check_schedule(node, loop.scheduled)
        loop.written_step = _written_step(node.iter)
        loop.holds_loop = len(node.body) == 1 and isinstance(node.body[0], ast.For)
        is_bound = not isinstance(node, OpenFor) or node.has_names
        variables = loop.enter(self.tracer, names)
        launch = self.tracer.launch
        hidden = names if launch is not None and launch.attributes.get("npu") else []
        frame = self.enter_frame(f"the {loop.kind} loop", node, is_loop=True)
        frame.may_not_run = loop.is_empty
        try:
            self.scope.hide(hidden)
            is_one = len(variables) == 1 and not isinstance(node.target, (ast.Tuple, ast.List))
            if is_bound:
                self.unpack(node.target, variables[0] if is_one else tuple(variables))
            self.scope.mark_indices(hidden)
            returns = self._returns
            self._loop_body(node, loop.kind if len(loop.ranges) == 1 else "grid")
        finally:
            self.mark(node)
            loop.leave(self.tracer)
            self.leave_frame(frame, hidden=hidden)
        self._leave_outer_loop(returns)

    def _check_schedule(self, node: ast.For, scheduled: int) -> None:
        """Warns where a schedule by hand is of more or fewer statements than the body has."""
        from .pipelined_bodies import count_of_statements

        count = count_of_statements(node.body, self.evaluate)
        self.mark(node.iter)
        if count is not None and count != scheduled:
            has = f"{count} statement{'s' * (count != 1)}"
            self.tracer.report(
                f"the schedule of this T.Pipelined is of {scheduled}, but its body has {has}; the "
                "results are those of the loop as it stands",
                kind="warning",
            )

    def _loop_body(self, node: ast.For | ast.While, kind: str = "") -> Signal | None:
        self._loops.append(OpenLoop(node, kind, len(self.tracer.frames)))
        try:
            return self.block(node.body)
        finally:
            self._loops.pop()

    def _trace_time_loop(self, node: ast.For, iterable: Iterable[Value]) -> Signal | None:
        """A loop over a Python sequence runs while tracing, once per item."""
        if "rng" in self.tracer.hints:
            from ..language.nest_generators import settle

            settle()  # each item draws on
        for item in iterable:
            if not isinstance(node, OpenFor) or node.has_names:
                self.unpack(node.target, item)
            signal = self._loop_body(node)
            if signal is Signal.BREAK:
                break
            if signal in (Signal.STOP, Signal.RETURN, Signal.END):
                return signal
        return None

    def exec_Break(self, node: ast.Break) -> Signal:
        return self._jump("break", Signal.BREAK)

    def exec_Continue(self, node: ast.Continue) -> Signal:
        return self._jump("continue", Signal.CONTINUE)

    def _jump(self, word: str, signal: Signal) -> Signal:
        loop = self._loops[-1]
        if isinstance(loop.node, OpenFor):
            raise LanguageError(
                f"'{word}' is for the innermost loop, but that one, at line "
                f"{self.place(loop.node).line}, stands without 'for'; write it with 'for'"
            )
        if loop.kind:
            jump = "break_loop" if signal is Signal.BREAK else "continue_loop"
            getattr(self.tracer.builder, jump)()
            self.tracer.frames[loop.depth - 1].may_not_run = True  # the rest of its body
            return Signal.STOP
        if len(self.tracer.frames) > loop.depth:
            raise unsupported(
                f"'{word}' of a loop over a Python sequence under a condition of the running kernel"
            )
        return signal

    def exec_With(self, node: ast.With) -> Signal | None:
        return self._with(node, node.items)

    def _is_while(self, expression: ast.expr) -> TypeGuard[ast.Call]:
        """Whether this is T.While(condition), whose condition is computed again and again."""
        from ..language.loops import While

        if not isinstance(expression, ast.Call) or len(expression.args) != 1:
            return False
        is_name = isinstance(expression.func, (ast.Attribute, ast.Name))
        return is_name and self.evaluate(expression.func) is While

    def _is_let(self, expression: ast.expr) -> bool:
        """Whether this is T.let(value), or another of its names."""
        if not isinstance(expression, ast.Call):
            return False
        from ..language.tvm_forms import bind, let
        from ..language.tvm_nodes import LetStmt

        is_name = isinstance(expression.func, (ast.Attribute, ast.Name))
        written = self.evaluate(expression.func) if is_name else None
        return any(written is form for form in (let, LetStmt, bind))

    @staticmethod
    def _nested(node: ast.With, items: list[ast.withitem]) -> list[ast.stmt]:
        """The body of a with statement under its remaining items."""
        return [ast.copy_location(ast.With(items, node.body), node)] if items else node.body

    def _with(self, node: ast.With, items: list[ast.withitem]) -> Signal | None:
        if not items:
            return self.block(node.body)
        item = items[0]
        if self._is_while(item.context_expr):
            loop = ast.While(item.context_expr.args[0], self._nested(node, items[1:]), [])
            self.exec_While(ast.copy_location(loop, node))
            return None
        context = self.value(item.context_expr)
        if isinstance(context, Poison):
            if self.tracer.launch is None:  # what follows is wrong without a launch
                raise PoisonUsed
            if item.optional_vars:
                self.unpack(item.optional_vars, POISON)
            return self._with(node, items[1:])
        if isinstance(context, RunTimeContext):
            frame = self.enter_context(context.bound_to(item.optional_vars), item.context_expr)
            try:
                signal = self._with(node, items[1:])
                ends_here = signal is Signal.END and isinstance(context, KernelLaunch)
                return None if ends_here else signal
            finally:
                self.leave_context(context, frame)
        if isinstance(context, Loop):
            body = self._nested(node, items[1:])
            made = item.context_expr
            return self.exec_OpenFor(OpenFor.of(context, item.optional_vars, body, node, made))
        if isinstance(context, Expr) and self._is_let(item.context_expr):
            if item.optional_vars:
                self.unpack(item.optional_vars, context)
            return self._with(node, items[1:])
        if not hasattr(context, "__enter__"):
            self.mark(item.context_expr)
            raise LanguageError(not_called(ast.unparse(item.context_expr), context))
        with context as entered:
            if item.optional_vars:
                self.unpack(item.optional_vars, entered)
            return self._with(node, items[1:])

    def enter_context(self, context: RunTimeContext, node: ast.AST) -> Frame:
        self.mark(node)
        value = context.enter(self.tracer)
        frame = self.enter_frame(context.kind, node)
        frame.may_not_run = context.may_not_run
        try:
            if context.target is not None:
                if isinstance(context, KernelLaunch) and isinstance(value, list):
                    value = self._launched(context, context.target, value)
                self.unpack(context.target, value)
                if isinstance(context, KernelLaunch) and context.attributes.get("npu"):
                    self.scope.mark_indices(_target_names(context.target))
        except Exception:
            self.leave_context(context, frame)
            raise
        return frame

    def _launched(self, launch: KernelLaunch, target: ast.expr, values: list[Value]) -> Value:
        """What a launch gives to the names after `as`: a single number needs no brackets."""
        if isinstance(target, ast.Name):
            return values[0] if len(values) == 1 else values
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        if parts and not any(isinstance(part, ast.Starred) for part in parts):
            launch.refuse_names(len(values), len(parts))
        return values

    def leave_context(self, context: RunTimeContext, frame: Frame) -> None:
        self.tracer.at(frame.place)
        context.leave(self.tracer)
        self.leave_frame(frame)


def _target_names(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for part in target.elts for name in _target_names(part)]
    return ["i"]


def _written_step(iterable: ast.expr) -> str | None:
    """The third argument of `range`, `T.serial` or `T.unroll`."""
    if not isinstance(iterable, ast.Call) or any(isinstance(a, ast.Starred) for a in iterable.args):
        return None
    function = iterable.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in ("range", "serial", "Serial", "unroll", "Unroll"):
        return None
    named = [keyword.value for keyword in iterable.keywords if keyword.arg == "step"]
    return next((ast.unparse(step) for step in [*iterable.args[2:3], *named]), None)
