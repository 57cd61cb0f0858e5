# SPDX-License-Identifier: Apache-2.0
"""The compiler's native module: the kernel builder of `tilewright/builder.h`, and `compile`.

Dtypes cross as their names ("float16"); an unknown name is a ValueError. A wrong call on the
builder never raises: it records a Diagnostic at the current place and returns a poisoned handle.
Only misuse by the front end itself (a wrong Python type) raises TypeError. Importing this module
loads LLVM and MLIR: do it late.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

AttributeValue = bool | int | float | str | Sequence[int]

class Place:
    """A range on one line, counted from 1; `end_column` is one past the end, or 0."""

    file: str
    line: int
    column: int
    end_column: int
    def __init__(
        self, file: str = "", line: int = 0, column: int = 0, end_column: int = 0
    ) -> None: ...

class Note:
    place: Place
    message: str
    def __init__(self, place: Place, message: str) -> None: ...

class Diagnostic:
    """One message; `severity` is "error", "unsupported", "internal", "warning" or "remark"."""

    severity: str
    place: Place
    message: str
    notes: list[Note]
    def __init__(
        self, severity: str, place: Place, message: str, notes: Sequence[Note] = ()
    ) -> None: ...
    def render(self, color: bool = False) -> str:
        """`file:line:column: error: message`, the source line with a caret, and the notes."""

class Value:
    """A scalar of the kernel. Made by a KernelBuilder only."""

    @property
    def is_poison(self) -> bool: ...
    @property
    def dtype(self) -> str: ...

class Buffer:
    """A buffer of the kernel. Made by a KernelBuilder only."""

    @property
    def is_poison(self) -> bool: ...

class Region:
    """A rectangular part of a buffer; without extents, an element load `A[i, j]`.

    An element load in a copy means "the tile that starts here". `dropped[d]` is true where an
    integer index stood beside slices (the extent there is 1).
    """

    buffer: Buffer
    def __init__(
        self,
        buffer: Buffer,
        offsets: Sequence[Value | int],
        extents: Sequence[Value | int] = (),
        dropped: Sequence[bool] = (),
    ) -> None: ...
    @property
    def offsets(self) -> list[Value | int]: ...
    @property
    def extents(self) -> list[Value | int]: ...
    @property
    def dropped(self) -> list[bool]: ...

class LoopKind(Enum):
    Serial = 0
    Unroll = 1
    Vectorized = 2
    Pipelined = 3
    Persistent = 4

class KernelModule:
    @property
    def name(self) -> str: ...
    def text(self, places: bool = False) -> str:
        """The tile IR as text."""

class KernelBuilder:
    """One kernel under construction. A Python bool, int or float given as a value is a literal."""

    def __init__(self, name: str, place: Place = ...) -> None: ...
    def at(self, file: str, line: int, column: int, end_column: int = 0) -> None:
        """Sets the place of all that follows."""
    @property
    def place(self) -> Place: ...
    def name_value(self, value: Value, name: str) -> None: ...
    def enter_macro(self, name: str, call_site: Place) -> None: ...
    def leave_macro(self) -> None: ...
    def error(self, message: str, notes: Sequence[Note] = ()) -> None: ...
    @property
    def diagnostics(self) -> list[Diagnostic]: ...
    @property
    def faults(self) -> list[str]:
        """Of each of `diagnostics`: "value", "type", "index" or "state"."""
    @property
    def has_errors(self) -> bool: ...

    # Arguments, in the order of the signature.
    def symbol(self, name: str, dtype: str = "int32") -> Value: ...
    def tensor(
        self,
        name: str,
        shape: Sequence[Value | int],
        dtype: str,
        strides: Sequence[Value | int] = (),
        scope: str = "global",
    ) -> Buffer: ...
    def scalar(self, name: str, dtype: str) -> Value: ...
    def pointer(self, name: str, dtype: str | None = None) -> Value: ...

    # Launch.
    def begin_launch(
        self,
        grid: Sequence[Value | int],
        threads: Sequence[Value | int],
        attributes: Mapping[str, AttributeValue] = ...,
    ) -> list[Value]: ...
    def end_launch(self) -> None: ...
    def thread_binding(self, dim: int) -> Value: ...
    def block_binding(self, dim: int) -> Value: ...

    # Memory.
    def alloc(self, shape: Sequence[int], dtype: str, scope: str, name: str) -> Buffer: ...
    def alloc_sized(
        self, shape: Sequence[Value | int], dtype: str, scope: str, name: str
    ) -> Buffer: ...
    def alloc_var(self, dtype: str, init: Value | float | None, name: str) -> Buffer: ...
    def view(self, source: Buffer, shape: Sequence[Value | int], dtype: str) -> Buffer: ...
    def annotate_layout(self, buffer: Buffer, layout: str) -> None: ...
    def annotate_safe_value(self, buffer: Buffer, value: Value | float) -> None: ...
    def annotate_padding(self, buffer: Buffer, value: Value | float) -> None: ...
    def begin_block(self) -> None: ...
    def end_block(self) -> None: ...
    def annotate_overlaps(self, tensor: Buffer) -> None: ...
    def annotate_reducer(self, tile: Buffer, op: str) -> None: ...
    def ends_update(self) -> bool: ...
    def begin_assumption(self, condition: Value, holds: bool) -> None: ...
    def end_assumption(self) -> None: ...
    def is_negative(self, index: Value | int) -> bool: ...
    def is_never_negative(self, index: Value | int) -> bool: ...
    def annotate_address(self, buffer: Buffer, bytes: int) -> None: ...
    def tensor_at(
        self,
        address: Value | int,
        shape: Sequence[Value | int],
        dtype: str,
        strides: Sequence[Value | int] = ...,
        name: str = ...,
    ) -> Buffer: ...
    def address(self, buffer: Buffer, indices: Sequence[Value | int]) -> Value: ...
    def rank(self, buffer: Buffer) -> int: ...
    def shape(self, buffer: Buffer) -> list[Value | int]: ...
    def dtype(self, buffer: Buffer) -> str: ...
    def scope(self, buffer: Buffer) -> str: ...
    def name(self, buffer: Buffer) -> str: ...

    # Scalars.
    def constant(self, value: bool | int | float, dtype: str | None = None) -> Value:
        """Without a dtype, a literal: an int takes the dtype that it meets; a float is float32."""
    def constant_value(self, value: Value) -> int | None:
        """The value of an integer or bool that is known while building."""
    def is_constant(self, value: Value) -> bool: ...
    def binary(self, op: str, left: Value | float, right: Value | float) -> Value: ...
    def unary(self, op: str, operand: Value | float) -> Value: ...
    def fma(self, x: Value | float, y: Value | float, z: Value | float) -> Value: ...
    def cast(self, value: Value | float, dtype: str) -> Value: ...
    def reinterpret(self, value: Value | float, dtype: str) -> Value: ...
    def select(
        self, condition: Value | float, when_true: Value | float, when_false: Value | float
    ) -> Value: ...
    def begin_select(self, condition: Value | float) -> None:
        """A lazy choice: what follows runs only where the condition is true ..."""
    def else_select(self, when_true: Value | float) -> None:
        """... what follows now only where it is false ..."""
    def end_select(self, when_false: Value | float) -> Value:
        """... and this is the chosen value."""
    def load(self, buffer: Buffer, indices: Sequence[Value | int]) -> Value: ...
    def store(
        self, buffer: Buffer, indices: Sequence[Value | int], value: Value | float
    ) -> None: ...

    # Tile operations.
    def copy(
        self,
        source: Buffer | Region,
        target: Buffer | Region,
        attributes: Mapping[str, AttributeValue] = ...,
        pad: Value | float | None = None,
    ) -> None: ...
    def fill(self, target: Buffer | Region, value: Value | float, name: str = "T.fill") -> None: ...
    def gemm(
        self,
        a: Buffer | Region,
        b: Buffer | Region,
        c: Buffer | Region,
        transpose_a: bool,
        transpose_b: bool,
        clear_accum: Value | int = 0,
        attributes: Mapping[str, AttributeValue] = ...,
    ) -> None: ...
    def reduce(
        self,
        kind: str,
        source: Buffer | Region,
        target: Buffer | Region,
        dim: int,
        clear: bool,
        attributes: Mapping[str, AttributeValue] = ...,
        real_shape: Sequence[Value | int] = (),
    ) -> None: ...
    def compute(
        self,
        function: str,
        target: Buffer | Region,
        arguments: Sequence[Buffer | Region | Value | float],
        attributes: Mapping[str, AttributeValue] = ...,
    ) -> None: ...
    def scan(
        self, kind: str, source: Buffer | Region, target: Buffer | Region, dim: int, reverse: bool
    ) -> None: ...
    def atomic(
        self,
        kind: str,
        target: Buffer | Region,
        value: Value | float,
        attributes: Mapping[str, AttributeValue] = ...,
    ) -> Value: ...
    def atomic_tile(
        self,
        kind: str,
        target: Buffer | Region,
        source: Buffer | Region,
        attributes: Mapping[str, AttributeValue] = ...,
    ) -> None: ...
    def print(
        self,
        what: Value | Buffer | None,
        message: str,
        attributes: Mapping[str, AttributeValue] = ...,
        name: str = ...,
    ) -> None: ...
    def device_assert(self, condition: Value | float, message: str) -> None: ...
    def wait_until(self, condition: Value | float, message: str) -> None: ...
    def assume(self, condition: Value | float) -> None: ...
    def barrier(
        self, scope: str = ..., number: int | None = ..., thread_count: int | None = ...
    ) -> None: ...
    def shuffle(
        self, kind: str, value: Value | float, lane: Value | int, width: int = ...
    ) -> Value: ...
    def vote(self, kind: str, scope: str, condition: Value | float) -> Value: ...
    def call_extern(
        self, name: str, arguments: Sequence[Value | float], result: str | None = ...
    ) -> Value: ...

    # Control.
    def begin_for(
        self,
        kind: LoopKind,
        start: Value | int,
        stop: Value | int,
        step: Value | int,
        name: str,
        attributes: Mapping[str, AttributeValue] = ...,
    ) -> Value: ...
    def end_for(self) -> None: ...
    def begin_parallel(
        self,
        extents: Sequence[Value | int],
        names: Sequence[str],
        attributes: Mapping[str, AttributeValue] = ...,
    ) -> list[Value]: ...
    def end_parallel(self) -> None: ...
    def begin_if(self, condition: Value | float) -> None: ...
    def begin_else(self) -> None: ...
    def end_if(self) -> None: ...
    def begin_while(self) -> None: ...
    def while_condition(self, condition: Value | float) -> None: ...
    def end_while(self) -> None: ...
    def break_loop(self) -> None: ...
    def continue_loop(self) -> None: ...

    # Ascend.
    def vector_id(self) -> Value: ...
    def begin_scope(self, agent: str) -> None: ...
    def end_scope(self) -> None: ...
    def set_flag(
        self, source: str, target: str, event: Value | int, name: str = "T.set_flag"
    ) -> None: ...
    def wait_flag(
        self, source: str, target: str, event: Value | int, name: str = "T.wait_flag"
    ) -> None: ...
    def pipe_barrier(self, pipe: str) -> None: ...
    def set_cross_flag(self, pipe: str, flag: Value | int, mode: int) -> None: ...
    def wait_cross_flag(self, flag: Value | int, pipe: str) -> None: ...
    def sync_all(self) -> None: ...
    def set_deq_scale(self, scale: Value | float) -> None: ...
    def import_source(self, text: str) -> None: ...
    def print_formatted(self, format: str, arguments: Sequence[Value | float]) -> None: ...
    def call_external(
        self,
        function: str,
        arguments: Sequence[Value | float | tuple[Buffer, Value | int, str, tuple[int, int, int]]],
        called_as: str,
    ) -> None: ...
    def finish(self) -> KernelModule | None:
        """The verified kernel, or None if there were errors (see `diagnostics`)."""

class CompileOptions:
    target: str
    cpu: str
    pass_configs: dict[str, bool | int | float | str | list[int]]
    keep_stages: bool
    build_library: bool
    """For "ascend": whether the Ascend C is built for the host, which takes seconds."""
    def __init__(
        self,
        target: str = "cpu",
        cpu: str = "native",
        pass_configs: Mapping[str, AttributeValue] = ...,
        keep_stages: bool = False,
        build_library: bool = True,
    ) -> None: ...

class Artifact:
    @property
    def name(self) -> str: ...
    @property
    def library(self) -> bytes:
        """An ELF shared library."""
    @property
    def manifest(self) -> str:
        """JSON, as in docs/kernel-abi.md."""
    @property
    def header(self) -> str:
        """A C header for users of the library without our runtime."""
    @property
    def stages(self) -> list[tuple[str, str]]: ...
    @property
    def times(self) -> list[tuple[str, float]]:
        """Milliseconds per phase."""

def compile(
    kernel: KernelModule,
    options: CompileOptions = ...,
    is_cancelled: Callable[[], bool] | None = None,
) -> tuple[Artifact | None, list[Diagnostic]]:
    """Compiles on a thread of its own with the GIL free; Ctrl-C raises KeyboardInterrupt at once.
    Where `is_cancelled`, asked 20 times a second, gives True, RuntimeError.

    The artifact is None if the diagnostics hold an error; they may hold warnings beside it.
    """

def inspect(kernel: KernelModule, options: CompileOptions = ...) -> list[tuple[str, str]]:
    """Every stage of the pipeline as (name, text): "tile", one per pass, "llvm", "asm".

    Raises ValueError with the rendered diagnostics if the kernel does not compile.
    """

def interpret(
    kernel: KernelModule,
    arguments: list[tuple[int, list[int], list[int]] | int | float],
    functions: dict[str, Callable[..., int | float | None]] = ...,
    reports_out_of_range: bool = ...,
    results: list[int] = ...,
    iterations_take_turns: bool = ...,
    pairs_cores: bool = ...,
) -> tuple[str, list[Diagnostic]]:
    """Runs the kernel in the reference interpreter (docs/interpreter.md): what it printed, and what it found.

    A tensor is (address, shape, strides in elements; empty for row-major). An element outside of
    one is an error with `reports_out_of_range`; else it reads as 0. `results` are the numbers of
    tensors that the caller gets: a warning tells what the kernel left unwritten of those that were
    made for the call. With `iterations_take_turns` the iterations of T.Parallel run in order, and may
    share elements. With `pairs_cores` what an NPU's cores hand to each other comes before its use.
    Ctrl-C ends the run.
    """

def unwritten_results(
    kernel: KernelModule, results: Sequence[int], tells_updates: bool = False
) -> list[Diagnostic]:
    """Warnings of those of these parameters that no statement writes; with `tells_updates` also of
    those that are only updated, by atomics."""

def drop_unused_tensors(kernel: KernelModule, kept: Sequence[int]) -> list[int]:
    """Takes the tensors that nothing reads or writes from a kernel's parameters, but for those in `kept`
    and those that alone tell a symbol; gives their numbers."""

def host_cpu() -> str:
    """The CPU that "native" stands for on this machine."""

def cpu_problem(cpu: str, target: str = "cpu") -> str:
    """Why no kernel can be compiled for a CPU of this name or level, or for a chip of `target`; empty
    if one can."""

class Work:
    """How much a kernel does in one launch."""

    @property
    def flops(self) -> float | None:
        """Float operations, and integer ones of gemms, a multiply-add as two; None if a loop's length depends on data."""
    @property
    def is_upper_bound(self) -> bool:
        """Branches that depend on data were counted as their larger side."""
    @property
    def bfloat16_flops(self) -> float:
        """Of `flops`, those of gemms of bfloat16."""
    @property
    def byte_operations(self) -> float:
        """Of `flops`, those of gemms of 8-bit integers."""
    @property
    def is_read(self) -> list[bool]:
        """Per parameter, and then per symbol: a tensor that is read."""
    @property
    def is_written(self) -> list[bool]: ...

def count_work(tile_text: str, arguments: list[int | None]) -> Work:
    """Counts what the kernel of this tile IR (stage `tile`) does. `arguments`: what is known of its
    arguments, then of its symbols. ValueError: the text is no kernel, or the number is wrong."""
