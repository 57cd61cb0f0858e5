# SPDX-License-Identifier: Apache-2.0
"""Without automatic flags, one statement that becomes several instructions orders these by itself,
and nothing else is ordered."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import AUTOMATIC, KernelGroup

import tilewright
import tilewright.language as T
from tilewright import _compiler

GROUP = KernelGroup()
random = np.random.default_rng(47)
REDUCED = {"sum": np.sum, "max": np.max, "min": np.min}


def numbers(shape: tuple[int, ...], dtype: str) -> Any:  # noqa: ANN401
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    return random.integers(-4, 5, shape).astype(kind)


def reduction(kind: str, dtype: str, shape: tuple[int, int], dim: int) -> Any:  # noqa: ANN401
    count = shape[1 - dim]

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), D: T.Tensor((count,), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, dtype)
            d = T.alloc_ub((count,), dtype)
            T.copy(A, a)
            T.barrier_all()
            T.reduce(a, d, kind, dim)
            T.barrier_all()
            T.copy(d, D)

    return main


def running_sum(dtype: str, shape: tuple[int, int], dim: int) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, dtype)
            c = T.alloc_ub(shape, dtype)
            T.copy(A, a)
            T.barrier_all()
            T.cumsum(a, c, dim=dim)
            T.barrier_all()
            T.copy(c, C)

    return main


def magnitudes(shape: tuple[int, int]) -> Any:  # noqa: ANN401
    """Through a tile in float32, whose rows end within a block."""

    @T.prim_func
    def main(A: T.Tensor(shape, "bfloat16"), D: T.Tensor(shape[:1], "bfloat16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, "bfloat16")
            d = T.alloc_ub(shape[:1], "bfloat16")
            T.copy(A, a)
            T.barrier_all()
            T.reduce_absmax(a, d, dim=1)
            T.barrier_all()
            T.copy(d, D)

    return main


def transposed(dtype: str, shape: tuple[int, int]) -> Any:  # noqa: ANN401
    """There and back again, in each turn of a loop."""
    rows, columns = shape

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((3, rows, columns), dtype), C: T.Tensor((3, columns, rows), dtype)
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            t = T.alloc_ub((columns, rows), dtype)
            u = T.alloc_ub((rows, columns), dtype)
            for i in T.serial(3):
                if i < 2:
                    T.copy(A[i, 0:rows, 0:columns], t, transpose=True)
                    T.barrier_all()
                    T.copy(t, C[i, 0, 0])
                else:
                    T.copy(A[i, 0, 0], u)
                    T.barrier_all()
                    T.copy(u, C[i, 0:columns, 0:rows], transpose=True)
                T.barrier_all()

    return main


def column(dtype: str, rows: int) -> Any:  # noqa: ANN401
    @T.prim_func
    def main(A: T.Tensor((rows, 32), dtype), C: T.Tensor((rows, 32), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub((rows,), dtype)
            T.copy(A[0:rows, 3], c)
            T.barrier_all()
            T.copy(c, C[0:rows, 2])

    return main


def converted(source: str, target: str, is_load: bool) -> Any:  # noqa: ANN401, FBT001
    shape = (5, 20)

    @T.prim_func
    def main(A: T.Tensor(shape, source), C: T.Tensor(shape, target)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, target if is_load else source)
            T.copy(A, a)
            T.barrier_all()
            T.copy(a, C)

    return main


@T.prim_func
def padded(A: T.Tensor((5, 20), "int64"), C: T.Tensor((8, 32), "int64")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 32), "int64")
        T.copy(A[0:8, 0:32], a, pad_value=2)
        T.barrier_all()
        T.copy(a, C)


def rows_within_blocks(has_cube: bool) -> Any:  # noqa: ANN401, FBT001
    """What lies behind the rows of a tile is read, though no statement writes there."""

    @T.prim_func
    def main(A: T.Tensor((4, 17), "int64"), C: T.Tensor((5, 17), "int64")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((5, 17), "int64")
            c = T.alloc_ub((5, 17), "int64")
            if has_cube:
                with T.Scope("C"):
                    T.set_cross_flag("fix", 0)
            with T.Scope("V"):
                if has_cube:
                    T.wait_cross_flag(0)
                for _turn in T.serial(2):
                    T.copy(A[0:5, 0:17], a, pad_value=2)
                    T.barrier_all()
                    T.copy(a, c)
                    T.barrier_all()
                    T.copy(c, C)
                    T.barrier_all()

    return main


def function(name: str) -> Any:  # noqa: ANN401
    shape = (8, 64)

    @T.prim_func
    def main(A: T.Tensor(shape, "float32"), C: T.Tensor(shape, "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, "float32")
            c = T.alloc_ub(shape, "float32")
            T.copy(A, a)
            T.tile.fill(c, 0.0)
            T.barrier_all()
            if name == "pow":
                T.tile.pow(c[1:7, 0:60], a[1:7, 0:60], a[1:7, 0:60])
            else:
                getattr(T.tile, name)(c[1:7, 0:60], a[1:7, 0:60])
            T.barrier_all()
            T.copy(c, C)

    return main


def zeros(shape: tuple[int, ...], dtype: str) -> Any:  # noqa: ANN401
    return np.zeros_like(numbers(shape, dtype))


def from_the_cube_core(form: str) -> Any:  # noqa: ANN401
    """What the compiler brings to the vector core belongs to no statement of the kernel's."""

    @T.prim_func
    def main(A: T.Tensor((32, 32), "float16"), C: T.Tensor((32, 32), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_L1((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            u = T.alloc_ub((32, 32), "float32")
            v = T.alloc_ub((32, 32), "float32")
            T.copy(A, a)
            if form == "in a loop":
                T.tile.fill(u, 1.0)
                for _k in T.serial(3):
                    T.gemm_v0(a, a, c, init=True)
                    T.barrier_all()
                    for i, j in T.Parallel(32, 32):
                        u[i, j] = u[i, j] + c[i, j]
                T.barrier_all()
            else:
                T.gemm_v0(a, a, c, init=True)
                if form == "copied":
                    T.copy(c, v)
                    T.barrier_all()
                    T.tile.add(u, v, 1.0)
                elif form == "used behind another one":
                    T.tile.fill(u, 1.0)
                    T.pipe_barrier("v")
                    for i, j in T.Parallel(32, 32):
                        u[i, j] = u[i, j] + c[i, j]
                else:
                    for i, j in T.Parallel(32, 32):
                        u[i, j] = c[i, j] + 1.0
                T.barrier_all()
                if form == "used, and copied later":
                    T.copy(c, v)
                    T.barrier_all()
                    T.tile.add(u, v, 1.0)
                    T.barrier_all()
            T.copy(u, C)

    return main


def add(name: str, kernel: Any, given: Any, out: Any, expected: Any) -> None:  # noqa: ANN401
    tolerance = 0 if out.dtype.kind in "iu" else 1e-2
    GROUP.add(name, kernel, [given, out], expected, configs={}, rtol=tolerance, atol=tolerance)


for dtype in ("int32", "int16"):
    for kind, by in REDUCED.items():
        given = numbers((8, 64), dtype)
        add(
            f"{kind} of {dtype}",
            reduction(kind, dtype, (8, 64), 0),
            given,
            zeros((64,), dtype),
            by(given, 0),
        )
given = numbers((3, 1), "bfloat16")
add(
    "sum of a column",
    reduction("sum", "bfloat16", (3, 1), 0),
    given,
    zeros((1,), "bfloat16"),
    given.astype(float).sum(0),
)
for dtype in ("int32", "int16", "float32", "float16", "bfloat16"):
    for dim in (0, 1):
        given = numbers((5, 20), dtype)
        add(
            f"running sum of {dtype} along {dim}",
            running_sum(dtype, (5, 20), dim),
            given,
            zeros((5, 20), dtype),
            given.astype(float).cumsum(dim),
        )
given = numbers((5, 20), "bfloat16")
add(
    "magnitudes",
    magnitudes((5, 20)),
    given,
    zeros((5,), "bfloat16"),
    abs(given.astype(float)).max(1),
)
for dtype, shape in (("int8", (16, 32)), ("float16", (5, 20)), ("int64", (24, 7))):
    given = numbers((3, *shape), dtype)
    flipped = given.astype(float).transpose(0, 2, 1)
    add(
        f"transposed {dtype}",
        transposed(dtype, shape),
        given,
        zeros(flipped.shape, dtype),
        flipped,
    )
for dtype, rows in (("int16", 16), ("float32", 5), ("bfloat16", 16), ("int64", 8)):
    given = numbers((rows, 32), dtype)
    after = np.zeros((rows, 32))
    after[:, 2] = given[:, 3].astype(float)
    add(f"column of {dtype}", column(dtype, rows), given, zeros((rows, 32), dtype), after)
for source, target in (("int64", "int32"), ("int32", "int64")):
    for is_load in (True, False):
        given = numbers((5, 20), source)
        add(
            f"{source} to {target}, {'load' if is_load else 'store'}",
            converted(source, target, is_load),
            given,
            zeros((5, 20), target),
            given.astype(float),
        )
for target in ("int8", "uint8", "int32"):
    for is_load in (True, False):
        # What is next to an integer is cut off, too: no float16 on the way rounds it.
        given = np.linspace(0, 126, 100, dtype=np.float32).reshape(5, 20)
        given[0, :4] = 1.5, 2.9999998, 3.0, 126.99999
        add(
            f"float32 to {target}, {'load' if is_load else 'store'}",
            converted("float32", target, is_load),
            given,
            zeros((5, 20), target),
            np.trunc(given),
        )
given = numbers((32, 32), "float16")
product = given.astype(float) @ given.astype(float)
for form in ("copied", "used", "used, and copied later", "used behind another one", "in a loop"):
    times = 3 if form == "in a loop" else 1
    name = f"of the cube core, {form}"
    add(name, from_the_cube_core(form), given, zeros((32, 32), "float32"), times * product + 1)
    GROUP.cases[name].configs = {**AUTOMATIC, tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: False}
given = numbers((5, 20), "int64")
after = np.full((8, 32), 2.0)
after[:5, :20] = given
add("padded int64", padded, given, zeros((8, 32), "int64"), after)
for has_cube in (False, True):
    given = numbers((4, 17), "int64")
    after = np.full((5, 17), 2)
    after[:4] = given
    name = f"rows within blocks{' and a cube core' if has_cube else ''}"
    add(name, rows_within_blocks(has_cube), given, zeros((5, 17), "int64"), after)
for name in ("sin", "cos", "pow"):
    given = np.abs(random.standard_normal((8, 64)).astype(np.float32)) + 0.5
    after = np.zeros((8, 64))
    part = given[1:7, :60].astype(np.float64)
    after[1:7, :60] = part**part if name == "pow" else getattr(np, name)(part)
    add(f"{name} of a part", function(name), given, zeros((8, 64), "float32"), after)


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", ["sum of int32", "transposed int8", "column of int16"])
def test_removals(name: str) -> None:
    removals = GROUP.removals(name)
    assert removals.missed() == []
    assert removals.needless() == []
    assert [why for why, is_needed in removals.inserted.items() if not is_needed] == []


def text_of(kernel: Any) -> tuple[str, list[str]]:  # noqa: ANN401
    options = _compiler.CompileOptions(
        "ascend", "native", {}, keep_stages=True, build_library=False
    )
    artifact, found = _compiler.compile(kernel.capture().module, options)
    assert artifact is not None
    return dict(artifact.stages)["ascendc"], [each.message for each in found]


def test_nothing_between_statements() -> None:
    """Also where a loop of Python makes two statements of one line."""

    @T.prim_func
    def main(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((64,), "float32")
            T.copy(A, a)
            for _step in range(2):
                T.tile.add(a, a, 1.0)
            for _turn in T.serial(3):
                T.tile.mul(a, a, 2.0)
            T.copy(a, C)

    text, messages = text_of(main)
    assert "SetFlag" not in text
    assert "PipeBarrier" not in text
    assert sum("nothing orders them" in message for message in messages) >= 4


def test_own_events_are_left_alone() -> None:
    """An event that the kernel uses, in any statement, is none of a statement's own."""

    @T.prim_func
    def main(A: T.Tensor((16, 32), "int8"), C: T.Tensor((32, 16), "int8")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            t = T.alloc_ub((32, 16), "int8")
            T.set_flag("mte2", "s", 0)
            T.copy(A, t, transpose=True)
            T.wait_flag("mte2", "s", 0)
            T.barrier_all()
            T.copy(t, C)

    text, messages = text_of(main)
    assert text.count("SetFlag<HardEvent::MTE2_S>(0);") == 1
    assert text.count("SetFlag<HardEvent::MTE2_S>(1);") == 1
    assert not any("nothing orders them" in message for message in messages)
    configs: dict[Any, Any] = {}
    kernel = tilewright.compile(main, target="ascend", pass_configs=configs)
    given = numbers((16, 32), "int8")
    result = zeros((32, 16), "int8")
    kernel(given, result)
    np.testing.assert_array_equal(result, given.T)
