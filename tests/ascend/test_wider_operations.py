# SPDX-License-Identifier: Apache-2.0
"""Reductions, fills, copies and functions that the chip has no single instruction for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright
import tilewright.language as T

Array = np.ndarray[Any, Any]
GROUP = KernelGroup()
NUMPY = {"bfloat16": ml_dtypes.bfloat16}
random = np.random.default_rng(23)


def numbers(shape: tuple[int, ...], dtype: str, low: float = -4, high: float = 4) -> Array:
    """Small and whole, so that sums are exact."""
    return random.integers(low, high, shape).astype(NUMPY.get(dtype, dtype))


def zeros(shape: tuple[int, ...], dtype: str) -> Array:
    return np.zeros(shape, NUMPY.get(dtype, dtype))


# --- reductions ---------------------------------------------------------------------------------


def reduction(kind: str, dim: int, shape: Any, out: Any, dtype: str, clear: bool) -> Any:
    @T.prim_func
    def main(A: T.Tensor(shape, dtype), C: T.Tensor(out, dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, dtype)
            c = T.alloc_ub(out, dtype)
            T.copy(A, a)
            T.copy(C, c)
            T.reduce(a, c, kind, dim, clear=clear)
            T.copy(c, C)

    return main


FUNCTIONS = {
    "sum": np.sum,
    "max": np.max,
    "abssum": lambda a, axis: np.sum(np.abs(a), axis),
    "absmax": lambda a, axis: np.max(np.abs(a), axis),
}


def add_reduction(kind: str, dim: int, shape: Any, out: Any, dtype: str, clear: bool) -> None:
    a, c = numbers(shape, dtype), numbers(out, dtype)
    wide = FUNCTIONS[kind](a.astype(np.float64), axis=dim).reshape(out)
    if not clear:
        held = c.astype(np.float64)
        wide = np.maximum(wide, held) if kind == "max" else wide + held
    name = f"{kind}_{dim}_{'x'.join(map(str, shape))}_{len(out)}_{dtype}_{clear}"
    GROUP.add(name, reduction(kind, dim, shape, out, dtype, clear), [a, c], wide)


for DTYPE in ("float32", "float16", "bfloat16", "int32"):
    add_reduction("sum", -3, (3, 5, 24), (5, 24), DTYPE, True)
    add_reduction("max", -2, (3, 5, 24), (3, 1, 24), DTYPE, False)
    add_reduction("sum", -1, (3, 5, 24), (3, 5), DTYPE, True)
    add_reduction("sum", -1, (3, 8, 24), (3, 8, 1), DTYPE, False)
    # Rows of one number lie side by side.
    add_reduction("sum", 0, (16, 1), (1, 1), DTYPE, True)
    add_reduction("max", -1, (16, 1), (16,), DTYPE, True)
    add_reduction("sum", -3, (3, 5, 1), (5, 1), DTYPE, True)
    add_reduction("sum", 0, (24,), (1,), DTYPE, False)
add_reduction("abssum", 0, (16, 1), (1, 1), "float32", True)
add_reduction("abssum", -2, (3, 5, 24), (3, 24), "float16", True)
add_reduction("max", 0, (6, 24), (24,), "bfloat16", False)
add_reduction("sum", 1, (6, 24), (6,), "bfloat16", False)
# Parts of what is kept begin within a block.
for DTYPE in ("float16", "bfloat16", "float32"):
    add_reduction("max", -1, (2, 20, 1), (2, 20, 1), DTYPE, True)
    add_reduction("sum", -1, (2, 20, 1), (2, 20), DTYPE, False)
    add_reduction("absmax", -4, (2, 3, 20, 1), (3, 20, 1), DTYPE, True)
# Rows of numbers in a tile of columns of one.
add_reduction("abssum", -2, (24, 8, 1), (24, 1, 1), "float32", True)
add_reduction("absmax", -2, (24, 16, 1), (24, 1), "float16", True)


def reduction_of_part(
    kind: str, dim: int, shape: Any, part: Any, out: Any, dtype: str, clear: bool
) -> Any:
    @T.prim_func
    def main(A: T.Tensor(shape, dtype), C: T.Tensor(out, dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub(shape, dtype)
            c = T.alloc_ub(out, dtype)
            T.copy(A, a)
            T.copy(C, c)
            T.reduce(a[part], c, kind, dim, clear=clear)
            T.copy(c, C)

    return main


def add_reduction_of_part(
    kind: str, dim: int, shape: Any, part: Any, out: Any, dtype: str, clear: bool = True
) -> None:
    a, c = numbers(shape, dtype), numbers(out, dtype)
    wide = FUNCTIONS[kind](a[part].astype(np.float64), axis=dim).reshape(out)
    if not clear:
        wide = wide + c.astype(np.float64)
    name = f"{kind}_{dim}_of_part_{'x'.join(map(str, shape))}_{'x'.join(map(str, out))}_{dtype}"
    GROUP.add(name, reduction_of_part(kind, dim, shape, part, out, dtype, clear), [a, c], wide)


# One column of a wider tile.
for DTYPE in ("float16", "bfloat16", "float32"):
    for KIND in ("absmax", "abssum", "max"):
        add_reduction_of_part(KIND, -1, (32, 17), np.s_[0:24, 16:17], (24, 1), DTYPE)
        add_reduction_of_part(KIND, -2, (8, 17), np.s_[6:8, 16:17], (1, 1), DTYPE)
        add_reduction_of_part(KIND, -1, (3, 20, 17), np.s_[0:3, 0:20, 16:17], (3, 20, 1), DTYPE)
# Rows are reduced to numbers that begin within a block.
add_reduction_of_part("max", -1, (3, 8, 24), np.s_[0:3, 0:5, 0:24], (3, 5, 1), "float16")
add_reduction_of_part("sum", -1, (3, 8, 24), np.s_[0:3, 0:5, 0:24], (3, 5, 1), "float16", False)


def into_columns(dtype: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((16, 32), dtype), C: T.Tensor((16, 32), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 32), dtype)
            c = T.alloc_ub((16, 32), dtype)
            T.copy(A, a)
            T.copy(C, c)
            T.reduce_sum(a, c[:, 0:1], dim=1)
            T.reduce_max(a[:, 16:32], c[:, 16:17], dim=1)
            T.copy(c, C)

    return main


for DTYPE in ("float32", "bfloat16"):
    A, C = numbers((16, 32), DTYPE), numbers((16, 32), DTYPE)
    EXPECTED = C.astype(np.float64)
    EXPECTED[:, 0] = A.astype(np.float64).sum(1)
    EXPECTED[:, 16] = A.astype(np.float64)[:, 16:].max(1)
    GROUP.add(f"into_columns_{DTYPE}", into_columns(DTYPE), [A, C], EXPECTED)


# --- fills --------------------------------------------------------------------------------------

FILLED_PARTS: dict[str, Any] = {
    "whole": None,
    "part": (slice(0, 3), slice(0, 31)),
    "to_the_end": (slice(1, 3), slice(0, 33)),
    "column": (slice(0, 3), slice(32, 33)),
}


def fills(shape: Any, part: Any, dtype: str, from_memory: bool) -> Any:
    @T.prim_func
    def main(A: T.Tensor((8,), dtype), C: T.Tensor(shape, dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            c = T.alloc_ub(shape, dtype)
            T.copy(C, c)
            value = A[3] if from_memory else -3
            if part is None:
                T.fill(c, value)
            else:
                T.fill(c[part], value)
            T.copy(c, C)

    return main


for DTYPE in ("int8", "int64"):
    for SHAPE in ((4, 64), (3, 33)):
        for PLACE, PART in FILLED_PARTS.items():
            VALUE = numbers((8,), DTYPE, -100, 100)
            FILLED = numbers(SHAPE, DTYPE, -100, 100)
            for FROM_MEMORY in (False, True):
                EXPECTED = FILLED.astype(np.float64)
                EXPECTED[PART or slice(None)] = VALUE[3] if FROM_MEMORY else -3
                GROUP.add(
                    f"fill_{DTYPE}_{SHAPE[1]}_{PLACE}_{FROM_MEMORY}",
                    fills(SHAPE, PART, DTYPE, FROM_MEMORY),
                    [VALUE, FILLED],
                    EXPECTED,
                )


# --- copies -------------------------------------------------------------------------------------


def copies(body: Any) -> Any:
    """D from A, by a copy of a [24, 40] tensor that `body` makes."""

    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((24, 40), "float32"),
        H: T.Tensor((24, 40), "float16"),
        D: T.Tensor((24, 40), "float32"),
        E: T.Tensor((40, 24), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((24, 40), "float32")
            t = T.alloc_ub((40, 24), "float32")
            T.copy(A, a)
            T.fill(t, 0)
            body(A, H, D, E, a, t)

    return main


@T.macro
def load_transposed(A, H, D, E, a, t):  # type: ignore[no-untyped-def]
    T.copy(A, t, transpose=True)
    T.copy(t, E)
    T.copy(a, D)


@T.macro
def store_transposed(A, H, D, E, a, t):  # type: ignore[no-untyped-def]
    T.copy(a, E, transpose=True)
    T.copy(a, D)


@T.macro
def convert_transposed(A, H, D, E, a, t):  # type: ignore[no-untyped-def]
    T.copy(H, t, transpose=True)
    T.copy(t, E)
    T.copy(a, D)


@T.macro
def load_positive(A, H, D, E, a, t):  # type: ignore[no-untyped-def]
    T.copy(H, a, enable_relu=True)
    T.copy(a, D)
    T.copy(t, E)


@T.macro
def load_positive_edge(A, H, D, E, a, t):  # type: ignore[no-untyped-def]
    T.copy(A[8, 32], a, enable_relu=True, pad_value=-2.0)
    T.copy(a, D)
    T.copy(t, E)


@T.macro
def copy_positive(A, H, D, E, a, t):  # type: ignore[no-untyped-def]
    T.copy(a[0:8, 0:8], a[8:16, 8:16], enable_relu=True)
    T.copy(a, D)
    T.copy(t, E)


@T.macro
def store_positive(A, H, D, E, a, t):  # type: ignore[no-untyped-def]
    T.copy(a, D)
    T.copy(a[:, 8:9], D[:, 3:4], enable_relu=True)
    T.copy(a, D[20, 8], enable_relu=True)
    T.copy(t, E)


def expected_copies(a: Array, h: Array) -> dict[str, tuple[Any, Array]]:
    none = np.zeros((40, 24))
    edge, part, stored = np.zeros((24, 40)), a.copy(), a.copy()
    edge[:16, :8] = np.maximum(a[8:, 32:], 0)
    part[8:16, 8:16] = np.maximum(a[:8, :8], 0)
    stored[:, 3] = np.maximum(a[:, 8], 0)
    stored[20:, 8:] = np.maximum(a[:4, :32], 0)
    return {
        "load_transposed": (load_transposed, {2: a, 3: a.T}),
        "store_transposed": (store_transposed, {2: a, 3: a.T}),
        "convert_transposed": (convert_transposed, {2: a, 3: h.T}),
        "load_positive": (load_positive, {2: np.maximum(h, 0), 3: none}),
        "load_positive_edge": (load_positive_edge, {2: edge, 3: none}),
        "copy_positive": (copy_positive, {2: part, 3: none}),
        "store_positive": (store_positive, {2: stored, 3: none}),
    }


A, H = numbers((24, 40), "float32"), numbers((24, 40), "float16")
for NAME, (BODY, WANTED) in expected_copies(A.astype(np.float64), H.astype(np.float64)).items():
    D, E = zeros((24, 40), "float32"), zeros((40, 24), "float32")
    GROUP.add(NAME, copies(BODY), [A, H, D, E], WANTED)


@T.prim_func
def between_cores(  # type: ignore[no-untyped-def]
    A: T.Tensor((32, 48), "float16"),
    B: T.Tensor((48, 16), "float16"),
    C: T.Tensor((16, 32), "float32"),
):
    """Both ways through global memory, transposed."""
    with T.Kernel(1, is_npu=True, threads=1) as _:
        t = T.alloc_ub((32, 48), "float16")
        a = T.alloc_L1((48, 32), "float16")
        b = T.alloc_L1((48, 16), "float16")
        p = T.alloc_L0C((32, 16), "float32")
        c = T.alloc_ub((16, 32), "float32")
        T.copy(A, t)
        T.copy(t, a, transpose=True)
        T.copy(B, b)
        T.gemm_v0(a, b, p, transpose_A=True, init=True)
        T.copy(p, c, transpose=True)
        T.copy(c, C)


A, B = numbers((32, 48), "float16"), numbers((48, 16), "float16")
GROUP.add(
    "between_cores",
    between_cores,
    [A, B, zeros((16, 32), "float32")],
    (A.astype(np.float64) @ B.astype(np.float64)).T,
)


# --- bfloat16 -----------------------------------------------------------------------------------


@T.prim_func
def bfloat16_functions(  # type: ignore[no-untyped-def]
    A: T.Tensor((8, 32), "bfloat16"), C: T.Tensor((6, 8, 32), "bfloat16")
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((8, 32), "bfloat16")
        c = T.alloc_ub((8, 32), "bfloat16")
        T.copy(A, a)
        T.tile.sin(c, a)
        T.copy(c, C[0, 0:8, 0:32])
        T.tile.cos(c, a)
        T.copy(c, C[1, 0:8, 0:32])
        T.tile.pow(c, a, a)
        T.copy(c, C[2, 0:8, 0:32])
        for i, j in T.Parallel(8, 32):
            c[i, j] = T.tanh(a[i, j])
        T.copy(c, C[3, 0:8, 0:32])
        T.tile.broadcast(c, a[0:1, :], 0)
        T.copy(c, C[4, 0:8, 0:32])
        for i, j in T.Parallel(8, 32):
            c[i, j] = a[0, j]
        T.copy(c, C[5, 0:8, 0:32])


A = random.uniform(0.5, 2, (8, 32)).astype(ml_dtypes.bfloat16)
WIDE = A.astype(np.float64)
ROWS = np.broadcast_to(WIDE[0], WIDE.shape)
GROUP.add(
    "bfloat16_functions",
    bfloat16_functions,
    [A, zeros((6, 8, 32), "bfloat16")],
    np.stack([np.sin(WIDE), np.cos(WIDE), WIDE**WIDE, np.tanh(WIDE), ROWS, ROWS]),
    rtol=8e-3,
)


def parts(dtype: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((6, 64), dtype), C: T.Tensor((6, 64), dtype)):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((6, 64), dtype)
            c = T.alloc_ub((6, 64), dtype)
            T.copy(A, a)
            T.copy(C, c)
            T.copy(a[0:4, 0:13], c[1:5, 32:45])
            T.copy(c, C)

    return main


for DTYPE in ("bfloat16", "uint16", "int8", "int64"):
    A, C = numbers((6, 64), DTYPE, 0, 90), numbers((6, 64), DTYPE, 0, 90)
    EXPECTED = C.astype(np.float64)
    EXPECTED[1:5, 32:45] = A.astype(np.float64)[:4, :13]
    GROUP.add(f"part_{DTYPE}", parts(DTYPE), [A, C], EXPECTED)


# --- nests over some columns of wider tiles ------------------------------------------------------


@T.macro
def constant(a, c, v, m, n):  # type: ignore[no-untyped-def]
    for i, j in T.Parallel(m, n):
        c[i, j] = 6


@T.macro
def in_place(a, c, v, m, n):  # type: ignore[no-untyped-def]
    for i, j in T.Parallel(m, n):
        c[i, j] = c[i, j] + a[i, j]


@T.macro
def one_per_row(a, c, v, m, n):  # type: ignore[no-untyped-def]
    for i, j in T.Parallel(m, n):
        c[i, j] = v[i]


@T.macro
def choice(a, c, v, m, n):  # type: ignore[no-untyped-def]
    for i, j in T.Parallel(m, n):
        c[i, j] = T.if_then_else(a[i, j] > 0, a[i, j], c[i, j])


@T.macro
def tile_function(a, c, v, m, n):  # type: ignore[no-untyped-def]
    T.tile.add(c[:, 0:n], a[:, 0:n], a[:, 0:n])


@T.macro
def spread(a, c, v, m, n):  # type: ignore[no-untyped-def]
    T.tile.broadcast(c[:, 0:n], v, 1)


NARROW: dict[str, tuple[Any, Callable[[Array, Array, Array], Array]]] = {
    "constant": (constant, lambda a, c, v: np.full_like(a, 6)),
    "in_place": (in_place, lambda a, c, v: a + c),
    "one_per_row": (one_per_row, lambda a, c, v: np.broadcast_to(v[:, None], a.shape)),
    "choice": (choice, lambda a, c, v: np.where(a > 0, a, c)),
    "tile_function": (tile_function, lambda a, c, v: a + a),
    "spread": (spread, lambda a, c, v: np.broadcast_to(v[:, None], a.shape)),
}


def narrow(body: Any, m: int, width: int, n: int, dtype: str) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((m, width), dtype), V: T.Tensor((m,), dtype), C: T.Tensor((m, width), dtype)
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((m, width), dtype)
            c = T.alloc_ub((m, width), dtype)
            v = T.alloc_ub((m,), dtype)
            T.copy(A, a)
            T.copy(V, v)
            T.copy(C, c)
            body(a, c, v, m, n)
            T.copy(c, C)

    return main


for DTYPE, (M, WIDTH, N) in {
    "float32": (7, 64, 61),
    "float16": (3, 100, 97),
    "int32": (8, 32, 29),
}.items():
    for NAME, (BODY, FUNCTION) in NARROW.items():
        A, V, C = (numbers(shape, DTYPE) for shape in ((M, WIDTH), (M,), (M, WIDTH)))
        EXPECTED = C.astype(np.float64)
        EXPECTED[:, :N] = FUNCTION(*(each.astype(np.float64) for each in (A, C, V)))[:, :N]
        GROUP.add(f"narrow_{NAME}_{DTYPE}", narrow(BODY, M, WIDTH, N, DTYPE), [A, V, C], EXPECTED)


# --- a tensor that two vector cores change in place ----------------------------------------------


def in_place_by_two(rows: int, block: int, of_columns: bool) -> Any:
    @T.prim_func
    def main(A: T.Tensor((rows, 16), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(T.ceildiv(rows, block), is_npu=True, threads=2) as cid:
            a = T.alloc_shared((block, 16), "float32")
            v = T.alloc_shared((16,), "float32")
            T.copy(A[cid * block, 0], a)
            if of_columns:
                T.reduce_sum(a, v, 0)
                for i, j in T.Parallel(block, 16):
                    a[i, j] = a[i, j] + v[j]
            else:
                T.tile.add(a, a, 1.0)
            T.copy(a, A[cid * block, 0])

    return main


for ROWS, BLOCK, OF_COLUMNS in ((8, 8, False), (7, 7, False), (3, 1, False), (20, 16, True)):
    A = numbers((ROWS, 16), "float32")
    WIDE = A.astype(np.float64)
    EXPECTED = WIDE + 1
    if OF_COLUMNS:
        PARTS = [WIDE[first : first + BLOCK] for first in range(0, ROWS, BLOCK)]
        EXPECTED = np.concatenate([part + part.sum(0) for part in PARTS])
    GROUP.add(
        f"in_place_{ROWS}_{BLOCK}_{OF_COLUMNS}",
        in_place_by_two(ROWS, BLOCK, OF_COLUMNS),
        [A],
        EXPECTED,
    )


@pytest.mark.parametrize(("rows", "is_shared"), [(8, True), (7, False)])
def test_one_core_of_two(rows: int, is_shared: bool) -> None:
    """Rows that do not divide are no two cores' work, and a remark says so."""
    kernel = in_place_by_two(rows, rows, False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source = tilewright.compile(kernel, target="ascend").get_kernel_source()
    found = [str(w.message) for w in caught if "one vector core does the work of" in str(w.message)]
    assert len(found) == (0 if is_shared else 1)
    assert ("GetBlockIdx() % 2" in source) == is_shared


def stores_by_two(first: int, second: int, apart: bool) -> Any:
    """Two tiles of a tensor that is only written, from rows that both or neither have."""

    @T.prim_func
    def main(A: T.Tensor((16, 16), "float32"), C: T.Tensor((24, 16), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True, threads=2) as _:
            a = T.alloc_shared((first, 16), "float32")
            b = T.alloc_shared((second, 16), "float32")
            T.copy(A[0, 0], a)
            T.copy(A[0, 0], b)
            T.tile.add(b, b, 1.0)
            T.copy(a, C[1, 0])
            T.copy(b, C[1 + (first if apart else 0), 0])

    return main


for FIRST, SECOND, APART in ((8, 4, False), (6, 12, False), (8, 4, True), (7, 4, False)):
    A = numbers((16, 16), "float32")
    EXPECTED = np.zeros((24, 16))
    EXPECTED[1 : 1 + FIRST] = A[:FIRST]
    START = 1 + (FIRST if APART else 0)
    EXPECTED[START : START + SECOND] = A[:SECOND] + 1
    GROUP.add(
        f"stores_{FIRST}_{SECOND}_{APART}",
        stores_by_two(FIRST, SECOND, APART),
        [A, np.zeros((24, 16), np.float32)],
        EXPECTED,
    )


@pytest.mark.parametrize("is_shared", [True, False])
def test_one_core_stores_what_two_would_share_differently(is_shared: bool) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source = tilewright.compile(stores_by_two(8, 4, is_shared), target="ascend")
    found = [str(w.message) for w in caught if "one vector core does the work of" in str(w.message)]
    assert len(found) == (0 if is_shared else 1)
    assert ("GetBlockIdx() % 2" in source.get_kernel_source()) == is_shared


# --- updates of tiles ---------------------------------------------------------------------------


def reducers(op: str, dtype: str) -> Any:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((16, 24), dtype),
        C: T.Tensor((24,), dtype),
        D: T.Tensor((16,), dtype),
        E: T.Tensor((12,), dtype),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            a = T.alloc_ub((16, 24), dtype)
            T.copy(A, a)
            columns = T.alloc_reducer((24,), dtype, op=op)
            rows = T.alloc_reducer((16,), dtype, op=op)
            pairs = T.alloc_reducer((12,), dtype, op=op)
            T.reducer_init(columns)
            T.reducer_init(rows)
            T.reducer_init(pairs)
            for i, j in T.Parallel(16, 24):
                T.reducer_update(columns[j], a[i, j])
            for i, j in T.Parallel(16, 24):
                T.reducer_update(rows[i], a[i, j] + a[i, j])
            for i, j in T.Parallel(16, 24):
                T.reducer_update(pairs[j // 2], a[i, j])
            T.finalize_reducer(columns)
            T.finalize_reducer(rows)
            T.finalize_reducer(pairs)
            T.copy(columns, C)
            T.copy(rows, D)
            T.copy(pairs, E)

    return main


for OP in ("sum", "max", "min"):
    for DTYPE in ("float32", "int32"):
        A = numbers((16, 24), DTYPE, -30, 30)
        FUNCTION = {"sum": np.sum, "max": np.max, "min": np.min}[OP]
        WIDE = A.astype(np.float64)
        GROUP.add(
            f"reducer_{OP}_{DTYPE}",
            reducers(OP, DTYPE),
            [A, zeros((24,), DTYPE), zeros((16,), DTYPE), zeros((12,), DTYPE)],
            {
                1: FUNCTION(WIDE, axis=0),
                2: FUNCTION(2 * WIDE, axis=1),
                3: FUNCTION(WIDE.reshape(16, 12, 2), axis=(0, 2)),
            },
        )


# --- functions of tiles of three dims; variables of one kind of core -----------------------------


@T.prim_func
def three_dims(A: T.Tensor((3, 6, 32), "float32"), C: T.Tensor((3, 6, 32), "float32")):  # type: ignore[no-untyped-def]
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((3, 6, 32), "float32")
        c = T.alloc_ub((3, 6, 32), "float32")
        T.copy(A, a)
        T.copy(C, c)
        T.tile.add(c[:, 0:5, :], a[:, 0:5, :], 1.0)
        T.tile.relu(c[1:3, 5:6, 0:16], a[1:3, 5:6, 0:16])
        T.copy(c, C)


A, C = numbers((3, 6, 32), "float32"), numbers((3, 6, 32), "float32")
EXPECTED = C.astype(np.float64)
EXPECTED[:, :5] = A[:, :5] + 1.0
EXPECTED[1:, 5, :16] = np.maximum(A[1:, 5, :16], 0)
GROUP.add("three_dims", three_dims, [A, C], EXPECTED)


@T.prim_func
def counted_by_vectors(  # type: ignore[no-untyped-def]
    A: T.Tensor((32, 32), "float16"),
    P: T.Tensor((32,), "int32"),
    C: T.Tensor((32, 32), "float32"),
    D: T.Tensor((32, 32), "float32"),
):
    """The cube core needs none of the sum and the count."""
    with T.Kernel(1, threads=1, is_npu=True) as _:
        a = T.alloc_shared((32, 32), "float16")
        c = T.alloc_fragment((32, 32), "float32")
        u = T.alloc_shared((32, 32), "float32")
        ix = T.alloc_shared((32,), "int32")
        T.copy(A, a)
        T.gemm_v0(a, a, c, init=True)
        T.copy(c, u)
        T.copy(P, ix)
        total = T.alloc_var("float32", init=0.0)
        count = T.alloc_var("int32", init=0)
        for t in T.serial(32):
            total = total + u[t, 0]
            if ix[t] > 15:
                count += 1
        T.tile.fill(u, total + T.cast(count, "float32"))
        T.copy(u, D)
        T.copy(c, C)


A, P = numbers((32, 32), "float16"), random.permutation(32).astype(np.int32)
PRODUCT = A.astype(np.float64) @ A.astype(np.float64)
GROUP.add(
    "counted_by_vectors",
    counted_by_vectors,
    [A, P, zeros((32, 32), "float32"), zeros((32, 32), "float32")],
    {2: PRODUCT, 3: np.full((32, 32), PRODUCT[:, 0].sum() + 16)},
)


# --- starts that only memory knows ---------------------------------------------------------------


@T.prim_func
def start_from_memory(  # type: ignore[no-untyped-def]
    A: T.Tensor((64, 64), "float16"),
    B: T.Tensor((64, 32), "float16"),
    P: T.Tensor((4,), "int32"),
    C: T.Tensor((32, 32), "float32"),
):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_L1((64, 64), "float16")
        b = T.alloc_L1((64, 32), "float16")
        c = T.alloc_L0C((32, 32), "float32")
        T.copy(A, a)
        T.copy(B, b)
        row = P[1]
        T.gemm_v0(a[row : row + 32, :], b, c, init=True)
        T.copy(c, C)


A, B = numbers((64, 64), "float16"), numbers((64, 32), "float16")
PLACES = np.array([0, 16, 8, 0], np.int32)
GROUP.add(
    "start_from_memory",
    start_from_memory,
    [A, B, PLACES, zeros((32, 32), "float32")],
    A.astype(np.float64)[16:48] @ B.astype(np.float64),
)


@pytest.mark.parametrize("name", GROUP.cases)
def test_values(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_removals(name: str) -> None:
    GROUP.check_removals(name)


def test_starts_within_fractals() -> None:
    """What only memory knows is checked when the kernel runs, with the line of the gemm."""
    kernel = tilewright.compile(start_from_memory, target="ascend")
    a, b = numbers((64, 64), "float16"), numbers((64, 32), "float16")
    with pytest.raises(RuntimeError, match="no multiple of 16") as caught:
        kernel(a, b, np.array([0, 8, 0, 0], np.int32), zeros((32, 32), "float32"))
    line = start_from_memory.function.__code__.co_firstlineno + 14
    assert f"{line}" in str(caught.value)
