# SPDX-License-Identifier: Apache-2.0
"""No source and no argument may end the process: mutated kernels, and calls with anything."""

from __future__ import annotations

import ast
import copy
import os
import random
import warnings
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from random_kernels import random_inputs, random_kernel
from test_random_kernels import load_kernel

import tilewright
import tilewright.language as T
from tilewright import _compiler
from tilewright.errors import TilewrightError

CASES = int(os.environ.get("TILEWRIGHT_FUZZ_CASES", "400"))
SEED = 20261121
EXPRESSIONS = (
    "0", "-1", "7", "2**31", "2**63", "2**70", "1.5", "float('nan')", "None", "True", "()", "[]",
    "'float16'", "'int4'", "bx", "by", "A", "V", "Out", "t0", "t1", "T", "T.copy", "T.alloc_shared",
    "T.float32", "T.alloc_var('int32')", "T.Parallel(3)", "T.if_then_else", "A[0, 0]", "A[bx]",
    "A[0:2, 1:9]", "A[::2]", "A[-1, None]", "t0[bx:, by]", "lambda: bx", "[bx for _ in range(3)]",
    "(yield)", "T.dynamic('n')", "T.ceildiv(bx, 0)", "1 // by", "1 % 0", "bx and by", "not A",
    "bx < by < 3", "bx if by else A", "f'{bx}'", "max(bx, by)", "len(A)", "range(10)", "A.shape",
    "T.cast(A, 'float32')", "T.cast(bx, 'float8_e4m3fn')", "T.min(bx)", "T.exp('a')", "*A",
)  # fmt: skip


STATEMENTS = (
    "break", "continue", "return", "return bx", "pass", "x = bx", "bx = 1", "A = t0", "A[0, 0] = 1",
    "Out[bx] = 1", "del A", "global A", "import os", "raise ValueError", "assert bx", "x: int = 3",
    "x += 1", "t0 += t0", "A, V = V, A", "while True: pass", "while bx: break",
    "for q in range(3): x = q", "for q in A: pass", "for q in T.Pipelined(2): T.clear(t0)",
    "if bx: y = 1", "with T.Kernel(1): pass", "try:\n    pass\nexcept ValueError:\n    pass",
    "def f(): pass", "class C: pass", "T.copy(A, Out)", "T.gemm(A, V, Out)", "T.clear(A)",
    "T.print(A)", "T.reduce_sum(A, V)", "T.fill(t0, 1e300)", "T.sync_threads()",
    "T.cumsum(A, A, 5)",
    "T.atomic_add(Out[0, 0], 1)", "T.device_assert(bx)", "q = T.alloc_shared((bx,), 'float32')",
    "q = T.alloc_fragment((1 << 40,), 'float32')", "q = T.alloc_shared((-1,), 'int8')",
    "q = T.alloc_local((0, 3), 'bool')", "q = T.view(t0, (7,), 'float64')",
)  # fmt: skip


class Chances:
    """The generator's decisions, from `random`."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)


class Mutation(ast.NodeTransformer):
    """Replaces expression number `at`, counted from the body's first."""

    def __init__(self, at: int, by: ast.expr) -> None:
        self.at = at
        self.by = by

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            self.at -= 1
            if self.at == -1:
                return self.by
        return self.generic_visit(node)


def mutated(source: str, chance: random.Random) -> str:
    """The source with some expressions replaced and statements moved, doubled or left out."""
    tree = ast.parse(source)
    for _ in range(chance.randint(1, 3)):
        blocks = [n.body for n in ast.walk(tree) if isinstance(n, (ast.With, ast.For, ast.If))]
        block = chance.choice(blocks)
        at, other = chance.randrange(len(block)), chance.randrange(len(block))
        what = chance.randrange(8)
        if what == 0 and len(block) > 1:
            del block[at]
        elif what == 1:
            block.insert(at, copy.deepcopy(block[other]))
        elif what == 2:
            block[at], block[other] = block[other], block[at]
        elif what == 3:
            block.insert(at, ast.parse(chance.choice(STATEMENTS)).body[0])
        else:
            text = chance.choice(EXPRESSIONS)
            every = [n for n in ast.walk(block[at]) if isinstance(n, ast.expr)]
            new = ast.parse(f"f({text})").body[0].value.args[0]  # type: ignore[attr-defined]
            if every:
                Mutation(chance.randrange(len(every)), new).visit(block[at])
    return ast.unparse(ast.fix_missing_locations(tree))


def survives(source: str, inputs: list[Any], folder: Path) -> str:
    """Captures and compiles; gives what came of it. What Python itself says of a text is its own
    affair; all else must be our error."""
    try:
        compile(source, "kernel", "exec")
    except (SyntaxError, ValueError):
        return "no Python"
    try:
        kernel = load_kernel(source, folder)
        module = kernel.capture().module
    except TilewrightError as wrong:
        assert str(wrong)
        return "refused"
    try:
        tilewright.compile(kernel)
    except TilewrightError:
        return "not compiled"
    return "interpreted" if interpretable(module, inputs) else "compiled"


def interpretable(module: Any, inputs: list[Any]) -> bool:
    bound = [(a.ctypes.data, list(a.shape), []) for a in inputs]
    _, found = _compiler.interpret(module, bound)
    return not found


@pytest.mark.parametrize("shard", range(4))
def test_mutated_kernels_are_refused_or_compiled(shard, tmp_path):
    outcomes: dict[str, int] = {}
    for case in range(shard, CASES, 4):
        chance = random.Random(SEED + case)
        kernel = random_kernel(Chances(SEED + case))
        inputs = [*random_inputs(kernel, SEED).values(), np.zeros(kernel.output, np.float32)]
        source = mutated(kernel.source, chance)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcome = survives(source, inputs, tmp_path)
        except BaseException:
            (tmp_path / "failed.py").write_text(source)
            print(source)
            raise
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    print(outcomes)
    if CASES >= 400:
        assert outcomes.get("refused", 0) > 10 and outcomes.get("interpreted", 0) > 2


@T.prim_func
def target(
    A: T.Tensor((8, 4), "float32"),
    B: T.StridedTensor((8, 4), (4, 1), "int8"),
    n: T.int32,
    x: T.float16,
    C: T.Tensor((8,), "bfloat16"),
):
    with T.Kernel(8) as i:
        C[i] = T.cast(A[i, 0] * x + B[i, 1] + n, "bfloat16")


def anything(chance: random.Random) -> Any:
    """Fitting arguments, arguments that nearly fit, and what is none at all."""
    read_only = np.zeros((8, 4), np.float32)
    read_only.setflags(write=False)
    choices = [
        np.zeros((8, 4), np.float32),
        np.zeros((8, 4), np.int8),
        np.zeros(8, ml_dtypes.bfloat16),
        np.zeros((4, 8), np.float32).T,
        np.zeros((16, 8), np.float32)[::2, ::2],
        np.zeros((8, 4), np.float32)[::-1],
        np.broadcast_to(np.zeros((1, 4), np.float32), (8, 4)),
        np.zeros((0, 4), np.float32),
        np.zeros(33, np.uint8)[1:].view(np.float32).reshape(8, 1),
        read_only,
        np.zeros((8, 4), dtype=object),
        np.zeros((8, 4), dtype="U3"),
        np.zeros((8, 4), dtype=[("a", "f4")]),
        np.float32(1),
        np.datetime64("2026-01-01"),
        3,
        -1,
        2**31,
        2**70,
        True,
        1.5,
        float("nan"),
        1e300,
        1j,
        "text",
        b"bytes",
        bytearray(128),
        memoryview(bytearray(128)),
        None,
        [],
        [[0.0] * 4] * 8,
        {},
        object(),
        type,
        target,
        Chances(1),
    ]
    return choices[chance.randrange(len(choices))]


def test_calls_with_anything_give_a_result_or_an_exception():
    kernel = tilewright.compile(target, out_idx=[4])
    chance = random.Random(SEED)
    right = [np.zeros((8, 4), np.float32), np.zeros((8, 4), np.int8), 3, 0.5]
    done = 0
    for _ in range(20 * CASES):
        arguments = list(right)
        for _ in range(chance.randint(0, 2)):
            arguments[chance.randrange(len(arguments))] = anything(chance)
        if chance.random() < 0.2:
            arguments = arguments[: chance.randint(0, 4)] + [anything(chance)]
        keywords = {chance.choice("ABnxCZ"): anything(chance)} if chance.random() < 0.1 else {}
        try:
            kernel(*arguments, **keywords)
            done += 1
        except (TypeError, ValueError) as wrong:
            assert str(wrong).startswith("target: "), wrong
    assert done > CASES


def test_what_llvm_remarks_is_not_told_to_the_user(tmp_path, capfd):
    for case in range(20):
        tilewright.compile(load_kernel(random_kernel(Chances(case)).source, tmp_path))
    assert capfd.readouterr() == ("", "")
