# SPDX-License-Identifier: Apache-2.0
"""The one way to the native builder while a kernel is traced.

A tracer holds the builder, the current place, the open control frames and the messages that the
front end itself found. `current()` gives the tracer of this thread, so that `T.copy` and the others
work from the kernel, from macros and from plain Python functions alike.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial

from ..errors import Diagnostic, JITNoBuilderError, Note, Place, load_compiler
from ..language.dtypes import to_dtype
from ..language.values import (
    POISON,
    BufferRef,
    Deferred,
    Element,
    Expr,
    LanguageError,
    Poison,
    PoisonUsed,
    RegionRef,
    Symbol,
    Traced,
    VectorBuffer,
    assign_region,
    has_poison,
    unsupported,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from ..language.branches import If
    from ..language.dtypes import Dtype
    from ..language.frames import KernelLaunch
    from .guarded import ExpressionsOnly
    from .kernel import Signature
    from .reducers import Reducer
    from .scopes import Frame

#: Of tensors, as many as the runtime takes.
MOST_DIMS = 32
_local = threading.local()


def current_or_none() -> Tracer | None:
    tracer: Tracer | None = getattr(_local, "tracer", None)
    return tracer


def current() -> Tracer:
    tracer = current_or_none()
    if tracer is None:
        raise JITNoBuilderError(
            "the tile language can only be used inside a kernel (@T.prim_func or @T.macro)"
        )
    return tracer


def _about(operand: object, message: str) -> LanguageError:
    """The error for a value of the wrong kind, which the text gives somewhere."""
    error = LanguageError(message, python=TypeError)
    error.operand = operand
    return error


class Tracer:
    """One kernel under construction. `compiler` is the native module, or a fake of it in tests."""

    def __init__(self, name: str, place: Place, compiler: Any = None) -> None:
        compiler = compiler or load_compiler()
        self.compiler = compiler
        self._builder = compiler.KernelBuilder(name, self._native_place(place))
        self._place = place
        self._sent: Place | None = None
        self.frames: list[Frame] = []
        self.found: list[Diagnostic] = []
        #: What there is to say of names that nothing is known of, where the trace reaches them.
        self.unknown_names: dict[ast.AST, Diagnostic] = {}
        self.causes: list[BaseException] = []
        #: Name for the next allocation or loop variable: the name that it is assigned to.
        self.pending_name: str | None = None
        #: Call sites of the macros being inlined, outermost first.
        self.call_sites: list[tuple[str, Place]] = []
        #: Whether the macro that was inlined last ended with T.thread_return.
        self.has_ended = False
        #: Notes of annotate_*: kept for targets that use them.
        self.hints: dict[str, Any] = {}
        #: Whether a statement failed; there must be a message of it.
        self.has_poison = False
        #: Number of lazy choices that are being built.
        self.lazy_depth = 0
        #: Number of `reads_may_be_outside` that are open.
        self._quiet_reads = 0
        #: Whether reading beyond any tensor may give what the kernel says of a tile.
        self.has_padding = False
        #: Tensors of which the kernel says what reading beyond them gives.
        self.safe_values: set[Any] = set()
        #: Both as they were before each open launch or block, with which they end.
        self._said_before: list[tuple[bool, set[Any]]] = []
        #: What stands before the builder while a lazy expression calls a macro.
        self.expressions_only: ExpressionsOnly | None = None
        #: The signature of an eager kernel; None in others.
        self.signature: Signature | None = None
        #: What is known of each buffer of T.alloc_reducer.
        self.reducers: dict[Any, Reducer] = {}
        #: The buffers that T.view made, which have the names of others.
        self.views: set[Any] = set()
        #: The counts of each buffer of T.alloc_barrier.
        self.barriers: dict[Any, list[int]] = {}
        #: The T.Ifs that are open.
        self.open_ifs: list[If] = []
        #: The launch that is open.
        self.launch: KernelLaunch | None = None
        #: Python functions that stand for functions in C (T.call_extern), by their names.
        self.references: dict[str, Any] = {}
        #: Functions of libm that are called by name, if the kernel has no own ones of these names.
        self.of_libm: dict[str, Any] = {}
        #: Parameters that calls make: the outputs of an eager kernel, and workspaces, which they
        #: drop (T.alloc_global of extents that calls say).
        self.made_parameters: list[str] = []
        #: Whether a launch says `is_npu`.
        self.is_npu = False
        #: What T.set_deq_scale gave last.
        self.deq_scale: Any = 1
        #: What must hold when the next launch begins: conditions, texts and places of asserts.
        self.promises: list[tuple[Any, str, Place]] = []
        #: Texts of T.import_source.
        self.sources: list[str] = []
        #: Names of functions whose arguments took libm's dtypes.
        self.typed_by_libm: set[str] = set()
        #: Names of an eager kernel's tensors without an annotation, by their identity.
        self.undeclared: dict[int, str] = {}
        #: Names of values from outside of the kernel, by their identity: messages name them.
        self.outer_names: dict[int, str] = {}
        #: Messages of such values: each comes once, however often the value is used.
        self._of_outer_values: set[str] = set()
        self._symbols: dict[str, Traced] = {}
        #: What T.let has given to variables, by their identities.
        self.lets: dict[int, Traced] = {}
        #: While a tree of symbols is lowered: what its parts became.
        self._lowered: dict[int, Any] | None = None
        self._outer: Tracer | None = None

    # The thread's current tracer ---------------------------------------------------------------

    def __enter__(self) -> Tracer:
        self._outer = current_or_none()
        _local.tracer = self
        return self

    def __exit__(self, *exc: object) -> None:
        _local.tracer = self._outer

    # Places and messages -----------------------------------------------------------------------

    def _native_place(self, place: Place) -> Any:
        return self.compiler.Place(place.file, place.line, place.column, place.end_column)

    def at(self, place: Place) -> None:
        self._place = place

    @property
    def place(self) -> Place:
        return self._place

    @property
    def builder(self) -> Any:
        """The builder, told of the current place."""
        if self._place is not self._sent:
            place = self._place
            self._builder.at(place.file, place.line, place.column, place.end_column)
            self._sent = place
        return self._builder if self.expressions_only is None else self.expressions_only

    def report(
        self,
        message: str,
        kind: str = "error",
        place: Place | None = None,
        notes: Iterable[Note] = (),
        python: type[BaseException] = ValueError,
    ) -> None:
        """Records a message of the front end at `place` or the current place; `python` is the class
        that such an error has in Python."""
        sites = list(reversed(self.call_sites))
        if len(sites) > 6:
            sites = [*sites[:3], *sites[-2:]]
        chain = [Note(site, f"in macro '{name}' called here") for name, site in sites]
        diagnostic = Diagnostic(kind, place or self._place, message, [*notes, *chain], python)
        if message in self._of_outer_values and any(d.message == message for d in self.found):
            return
        if diagnostic not in self.found:
            self.found.append(diagnostic)

    def report_found(self, found: Diagnostic) -> None:
        """Records a message that was made before the trace."""
        python = found.python or ValueError
        self.report(found.message, found.kind, found.place, found.notes, python)

    def reach(self, node: ast.AST) -> bool:
        """The trace has come to `node`: says if it is an unknown name, and reports it then."""
        unknown = self.unknown_names.get(node)
        if unknown is not None:
            self.report_found(unknown)
        return unknown is not None

    def diagnostics(self) -> list[Diagnostic]:
        """All messages, the builder's and ours, by place."""
        native = [
            Diagnostic.from_native(found, fault)
            for found, fault in zip(self._builder.diagnostics, self._builder.faults, strict=True)
        ]
        return sorted(
            native + self.found, key=lambda d: (d.place.file, d.place.line, d.place.column)
        )

    @property
    def has_errors(self) -> bool:
        return bool(self._builder.has_errors) or any(d.is_error for d in self.found)

    def enter_macro(self, name: str, site: Place) -> None:
        self.call_sites.append((name, site))
        self._builder.enter_macro(name, self._native_place(site))

    def leave_macro(self) -> None:
        self.call_sites.pop()
        self._builder.leave_macro()

    def take_name(self, otherwise: str) -> str:
        name, self.pending_name = self.pending_name, None
        return name or otherwise

    def name_value(self, name: str, value: object) -> None:
        """Text that people read calls the value by the first name that it is bound to."""
        if not name.strip("_"):
            return
        if isinstance(value, Traced) and value.tracer is self:
            self._builder.name_value(value.handle, name)
        elif isinstance(value, Deferred):
            value.name = value.name or name

    # Scalars -----------------------------------------------------------------------------------

    def value(self, operand: object) -> Any:
        """What the builder takes for `operand`: its Value, or the Python number itself."""
        if isinstance(operand, Traced):
            if operand.tracer is not self:
                raise LanguageError("a value of another kernel is used here", python=RuntimeError)
            return operand.handle
        if isinstance(operand, (bool, int, float)):
            return in_64_bits(operand)
        if isinstance(operand, Element):
            return self._load(operand)
        if isinstance(operand, Symbol):
            return self.symbol(operand).handle
        if isinstance(operand, Deferred):
            return self._lower(operand)
        if isinstance(operand, BufferRef):
            if isinstance(operand, VectorBuffer):
                raise _about(operand, f"{operand.name!r} holds {operand.dtype}, not a scalar")
            if operand.is_variable:
                return self._load(operand.element())
            raise _about(
                operand,
                f"buffer {operand.name!r} is used as a scalar; "
                f"index it, as in {operand.first_element()}",
            )
        if isinstance(operand, RegionRef):
            raise _about(operand, f"a region of {operand.buffer.name!r} is used as a scalar")
        if type(operand).__module__ == "numpy" and getattr(operand, "size", 0) == 1:
            return operand.item()  # type: ignore[attr-defined]
        raise self.not_the("a scalar", operand)

    def not_the(self, wanted: str, operand: object) -> LanguageError:
        """The error where `operand` stands in the place of what is wanted."""
        if isinstance(operand, Poison):
            raise PoisonUsed  # an error has been told of it
        message = f"expected {wanted} but got {describe(operand)}"
        name = self.outer_names.get(id(operand))
        if name is not None:
            message += f", the value of {name!r}"
            self._of_outer_values.add(message)
        elif wanted == "an integer" and isinstance(operand, float) and operand.is_integer():
            message += "; write '//' or T.ceildiv for a quotient"
        return _about(operand, message)

    def index(self, operand: object) -> Any:
        """An extent, offset or index: an int or a Value."""
        value = self.value(operand)
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, float):  # also 4.0, as everywhere in Python
            raise self.not_the("an integer", operand)
        return in_int64(value)

    def expression(self, operand: object) -> Any:
        """`operand` as a value of the kernel (loaded where it is an element) or a Python number."""
        if isinstance(operand, (Traced, bool, int, float, Poison)):
            return operand
        if isinstance(operand, VectorBuffer) and operand.is_variable:
            from ..language.vectors import vector_of

            return vector_of(operand.element(), "a variable")
        handle = self.value(operand)
        if isinstance(handle, (bool, int, float)):
            return handle
        origin = operand if isinstance(operand, Element) else None
        if isinstance(operand, BufferRef):
            origin = operand.element()
        return self.wrap(handle, origin)

    def wrap(self, handle: Any, origin: Element | None = None) -> Traced | Poison:
        return POISON if handle.is_poison else Traced(handle, self, origin)

    def constant_value(self, operand: Expr) -> int | None:
        handle = self.value(operand)
        if isinstance(handle, (bool, int)):
            return handle
        known: int | None = self.builder.constant_value(handle)
        return known

    def is_immediate(self, value: object) -> bool:
        """Whether it is a number of a dtype, as T.int32(1), that is known while compiling."""
        return isinstance(value, Traced) and bool(self.builder.is_constant(value.handle))

    def symbol(self, symbol: Symbol) -> Traced:
        known = self.lets.get(id(symbol), self._symbols.get(symbol.name))
        if known is None:
            if "float" in symbol.symbol_dtype:
                raise LanguageError(
                    f"{symbol.name!r} has no value here; give it one by "
                    f"'with T.let({symbol.name}, value):'"
                )
            known = Traced(self.builder.symbol(symbol.name, symbol.symbol_dtype), self)
            self._symbols[symbol.name] = known
        return known

    def binary(self, op: str, left: object, right: object) -> Any:
        a, b = self.value(left), self.value(right)
        return self.wrap(self.builder.binary(op, a, b))

    def unary(self, op: str, operand: object) -> Any:
        return self.wrap(self.builder.unary(op, self.value(operand)))

    def _lower(self, tree: Deferred) -> Any:
        """The value of a tree; parts that it holds several times are made once."""
        is_outermost = self._lowered is None
        made = self._lowered = {} if self._lowered is None else self._lowered
        try:
            if id(tree) not in made:
                made[id(tree)] = self._lower_once(tree)
                if tree.name:
                    self._builder.name_value(made[id(tree)], tree.name)
            return made[id(tree)]
        except RecursionError:
            if not is_outermost:
                raise
            raise LanguageError(
                "an expression of symbols nests too deeply", python=RecursionError
            ) from None
        finally:
            if is_outermost:
                self._lowered = None

    def _lower_once(self, tree: Deferred) -> Any:
        if tree.op == "constant":
            return self.builder.constant(*tree.operands)
        if tree.op == "cast":
            return self.builder.cast(self.value(tree.operands[0]), tree.operands[1])
        operands = [self.value(o) for o in tree.operands]
        if len(operands) == 1:
            return self.builder.unary(tree.op, operands[0])
        return self.builder.binary(tree.op, operands[0], operands[1])

    # Memory ------------------------------------------------------------------------------------

    def buffer(self, handle: Any, is_variable: bool = False) -> BufferRef | Poison:
        return POISON if handle.is_poison else BufferRef(handle, self, is_variable)

    def made(
        self,
        make: Callable[[list[Any], str, list[Any]], Any],
        shape: Sequence[Any],
        dtype: Dtype,
        strides: Sequence[Any] = (),
        is_variable: bool = False,
    ) -> BufferRef | Poison:
        """What `make` makes of extents, a dtype and strides; of vectors their lanes, a dim more."""
        extents = [self.index(e) for e in shape]
        if dtype.lanes == 1:
            steps = [self.index(s) for s in strides]
            return self.buffer(make(extents, str(dtype), steps), is_variable)
        steps = [self.index(s * dtype.lanes) for s in strides]
        lane = str(dtype).rpartition("x")[0]
        lanes = self.buffer(make([*extents, dtype.lanes], lane, [*steps, 1] if steps else []))
        return VectorBuffer(lanes, dtype, is_variable) if isinstance(lanes, BufferRef) else lanes

    def tensor(
        self, name: str, shape: Sequence[Any], dtype: Dtype, strides: Sequence[Any] = ()
    ) -> BufferRef | Poison:
        """A parameter that is a tensor."""
        count = len(shape) + (dtype.lanes > 1)
        if count > MOST_DIMS:
            raise LanguageError(f"{name!r} has {count} dims, but a tensor has {MOST_DIMS} at most")
        return self.made(partial(self.builder.tensor, name), shape, dtype, strides)

    def buffer_handle(self, buffer: BufferRef | Poison) -> Any:
        """The builder's handle of a buffer of this kernel."""
        if isinstance(buffer, Poison):
            raise PoisonUsed
        if buffer.tracer is not self:
            raise LanguageError("a buffer of another kernel is used here", python=RuntimeError)
        return buffer.handle

    def _load(self, element: Element) -> Any:
        indices = [self.index(i) for i in element.indices]
        is_said = self.has_padding or element.buffer.handle in self.safe_values
        if not (self.lazy_depth or self._quiet_reads or is_said):
            self.warn_outside(element.buffer, indices, "this read gives 0")
        if reducer := self.reducers.get(element.buffer.handle):
            reducer.read_by(self)
        return self.builder.load(self.buffer_handle(element.buffer), indices)

    @contextmanager
    def reads_may_be_outside(self) -> Iterator[None]:
        """Of a tensor, without a warning: what is read need not be asked for, or is stored to."""
        self._quiet_reads += 1
        try:
            yield
        finally:
            self._quiet_reads -= 1

    @contextmanager
    def only_where(self, condition: object, holds: bool) -> Iterator[None]:
        """What is computed here, in any case, counts only where the condition holds, or doesn't."""
        builder = (
            self.builder if isinstance(condition, Traced) else None
        )  # an element tells nothing
        if builder is not None:
            builder.begin_assumption(self.value(condition), holds)
        try:
            with self.reads_may_be_outside():
                yield
        finally:
            if builder is not None:
                builder.end_assumption()

    def begin_said(self) -> None:
        """A launch or block begins, to whose end what it says of such reads holds."""
        self._said_before.append((self.has_padding, set(self.safe_values)))

    def end_said(self) -> None:
        self.has_padding, self.safe_values = self._said_before.pop()

    def warn_outside(self, buffer: BufferRef, indices: Sequence[Any], told: str) -> None:
        """Warns of a read or store beyond a tensor, which the targets drop, where its index is a
        constant and nothing is in its way. The builder refuses it of other buffers, and a negative
        one."""
        if any(frame.may_not_run for frame in self.frames):
            return
        if not any(isinstance(index, int) and index > 0 for index in indices):
            return
        if buffer.scope() != "global":
            return
        for dim, (index, size) in enumerate(zip(indices, buffer.shape, strict=True)):
            if isinstance(index, int) and isinstance(size, int) and index >= size > 0:
                self.report(
                    f"index {dim} of {buffer.name!r} is {index}, but the dim has {size} elements: "
                    f"{told}",
                    kind="warning",
                )

    def is_negative(self, index: object) -> bool:
        """Whether an index is a value of the kernel that is always negative."""
        return isinstance(index, Traced) and self.builder.is_negative(self.index(index))

    # Lazy expressions --------------------------------------------------------------------------

    def is_surely_inside(self, element: Element) -> bool:
        """Whether loading `element` can't fault: the targets guard global memory themselves, and
        loop variables and numbers may be known to be in range."""
        if element.buffer.scope() == "global":
            return True
        for index, size in zip(element.indices, element.buffer.shape, strict=True):
            extent = index.extent if isinstance(index, Traced) else None
            limit = index + 1 if isinstance(index, int) and index >= 0 else extent
            if limit is None or not isinstance(size, int) or limit > size:
                return False
        return True

    def choose(
        self, condition: Expr, when_true: Callable[[], Any], when_false: Callable[[], Any]
    ) -> Any:
        """A lazy choice: each side is built so that it runs only where it is chosen."""
        self.builder.begin_select(self.value(condition))
        self.lazy_depth += 1
        first: Any = 0
        second: Any = 0
        try:
            try:
                first = self._side(yes := when_true())
            finally:  # what is refused must not leave the choice open
                self.builder.else_select(first)
            second = self._side(no := when_false())
        finally:
            self.lazy_depth -= 1
            chosen = self.builder.end_select(second)
        return POISON if has_poison((yes, no)) else self.wrap(chosen)

    def _side(self, value: object) -> Any:
        if value is None:
            message = "a side of this choice gives no value; "
            raise LanguageError(f"{message}where a statement is meant, write `if` and `else`")
        return 0 if isinstance(value, Poison) else self.value(value)

    def select(self, condition: object, when_true: object, when_false: object) -> Any:
        sides = [self._side(when_true), self._side(when_false)]
        return self.wrap(self.builder.select(self.value(condition), *sides))

    def promoted(self, value: Any, other: Any) -> Any:
        """`value` in the dtype that a choice between it and a number of the dtype `other` has."""
        if not isinstance(value, Expr) or value.dtype == other:
            return value
        return self.select(True, value, self.wrap(self.builder.cast(self.value(0), other)))

    def store(self, target: Element | RegionRef, value: object) -> None:
        if isinstance(target, RegionRef):
            return assign_region(target, value)
        if isinstance(value, Poison) or has_poison(target.indices):
            return
        stored = self.value(value)
        indices = [self.index(i) for i in target.indices]
        self.warn_outside(target.buffer, indices, "this store does nothing")
        self.builder.store(self.buffer_handle(target.buffer), indices, stored)
        if reducer := self.reducers.get(target.buffer.handle):
            reducer.written_by(self)

    def operand(self, operand: object, role: str) -> Any:
        """A tile operand: a buffer, a region, or an element load where a tile starts."""
        if isinstance(operand, Traced) and operand.origin is not None:
            operand = operand.origin
        takes_vectors = role.endswith(("T.copy", "T.fill", "T.clear"))
        if isinstance(operand, VectorBuffer) and not takes_vectors:
            raise unsupported(
                f"{role} can't be {operand.name!r}, a buffer of {operand.dtype}; only T.copy, "
                "T.fill and T.clear take whole buffers of vectors"
            )
        buffer = getattr(operand, "buffer", operand)
        if isinstance(buffer, BufferRef) and (reducer := self.reducers.get(buffer.handle)):
            reducer.taken_by(self, role)
        if isinstance(operand, BufferRef):
            return self.buffer_handle(operand)
        if isinstance(operand, Element):
            offsets = [self.index(i) for i in operand.indices]
            return self.compiler.Region(self.buffer_handle(operand.buffer), offsets)
        if isinstance(operand, RegionRef):
            offsets = [self.index(o) for o in operand.offsets]
            extents = [self.index(e) for e in operand.extents]
            buffer = self.buffer_handle(operand.buffer)
            return self.compiler.Region(buffer, offsets, extents, operand.dropped)
        self.refuse_undeclared(operand)
        raise LanguageError(
            f"{role} must be a buffer or a part of one, not {describe(operand)}", python=TypeError
        )

    def refuse_undeclared(self, value: object) -> None:
        """LanguageError for a tensor of the call that the kernel can't use as it is."""
        if (name := self.undeclared.get(id(value))) is None:
            return
        extents = ", ".join(map(str, value.shape))  # type: ignore[attr-defined]
        dtype = to_dtype(value.dtype)  # type: ignore[attr-defined]
        raise LanguageError(
            f"{name!r} is a tensor of the call, but no annotation says so; write "
            f"{name}: T.Tensor[[{extents}], {dtype!r}] before the launch",
            python=TypeError,
        )

    def attributes(self, given: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments for the builder: numbers, texts, lists of integers."""
        result = {}
        for key, value in given.items():
            if isinstance(value, Expr):
                value = self.constant_value(value)
            if isinstance(value, (list, tuple)):
                value = self.integers(value, f"{key!r}")
            if not isinstance(value, (bool, int, float, str, list)):
                raise LanguageError(f"{key!r} can't be {describe(given[key])}", python=TypeError)
            result[str(key)] = in_int64(value)
        return result

    def integers_if_known(self, values: Sequence[object]) -> list[int] | None:
        """The integers, or None where one is known only in the running kernel."""
        return self.known_integers([self.index(value) for value in values])

    def known_integers(self, indices: Sequence[Any]) -> list[int] | None:
        """The same of what `index` gave."""
        known = [v if isinstance(v, int) else self.builder.constant_value(v) for v in indices]
        return None if None in known else known

    def integers(self, values: Sequence[object], what: str, *, signed: bool = True) -> list[int]:
        """Integers that must be known while tracing, as the shape of an allocation; of 64 bits,
        with or without a sign."""
        result = []
        for value in values:
            known = value if isinstance(value, int) else None
            if isinstance(value, Expr):
                known = self.constant_value(value)
            if known is None and hasattr(value, "__index__") and not isinstance(value, Expr):
                known = value.__index__()
            if known is None and not isinstance(value, Expr):
                raise self.not_the("an integer", value)
            if known is None:
                raise LanguageError(
                    f"{what} must be known while compiling, not {describe(value)}",
                    python=TypeError,
                )
            result.append(int(in_int64(known) if signed else in_64_bits(known)))
        return result


def in_64_bits(number: Any) -> Any:
    """The number, unless it is an integer that no dtype holds."""
    if isinstance(number, int) and not -(1 << 63) <= number < (1 << 64):
        digits = str(number) if abs(number) < 10**40 else f"of {number.bit_length()} bits"
        raise LanguageError(f"the number {digits} does not fit in 64 bits", python=OverflowError)
    return number


def in_int64(number: Any) -> Any:
    """The same of an index, an extent or a choice, which have a sign."""
    if isinstance(number, int) and 1 << 63 <= number < 1 << 64:
        raise LanguageError(f"the number {number} does not fit int64", python=OverflowError)
    return in_64_bits(number)


def plain_text(text: object) -> str:
    """A message as UTF-8 can hold it."""
    return str(text).encode("utf-8", "replace").decode()


def is_array(value: object) -> bool:
    """Whether it is a tensor of NumPy, torch or another library, with one dimension or more."""
    return isinstance(getattr(value, "shape", None), tuple) and getattr(value, "ndim", 0) > 0


def describe(value: object) -> str:
    """What a message calls a value; what follows from an error has none."""
    from ..language.frames import Loop
    from ..language.vectors import Vector

    if isinstance(value, Poison):
        raise PoisonUsed
    if isinstance(value, Loop):
        return f"a {value.kind} loop, which only 'for' takes"
    if isinstance(value, Vector):
        return f"a vector of {len(value)} lanes"
    if isinstance(value, Expr):
        return "a value of the running kernel"
    if isinstance(value, BufferRef):
        return f"buffer {value.name!r}"
    if callable(value):
        return f"the function {getattr(value, '__name__', repr(value))!r}"
    if is_array(value):
        return f"an array of shape {tuple(value.shape)}"  # type: ignore[attr-defined]
    text = repr(value)
    return f"{text if len(text) < 60 else '...'} of type {type(value).__name__}"


def guarded_by_poison(function: Callable[..., Any]) -> Callable[..., Any]:
    """A language function that gives poison, and does nothing, when an argument is poison."""
    import functools

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if has_poison(args) or has_poison(tuple(kwargs.values())):
            return POISON
        return function(*args, **kwargs)

    return checked
