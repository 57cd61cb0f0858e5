# SPDX-License-Identifier: Apache-2.0
"""Random element-wise nests over every dtype of the vector unit's tiles, each with what NumPy says
it makes: an expression is made as text and as numbers at once."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NUMPY: dict[str, Any] = {name: np.dtype(name) for name in INTEGERS}
NUMPY |= {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
FLOATS = ["float32", "float16", "bfloat16"]
COMPARISONS = {
    "<": np.less,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
#: What floats are kept to, so that no sum or product of theirs is rounded in 8 bits.
NEAR = 9


@dataclass
class Term:
    text: str
    value: Array


class Nest:
    """The text of a kernel of `nests` nests, its inputs by name, and what each nest makes."""

    def __init__(self, seed: int, nests: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.rows, self.columns = self.pick([1, 3, 4, 8]), self.pick([5, 8, 16, 24, 33, 64])
        self.shape = (self.rows, self.columns)
        self.dtypes = self.random.sample(INTEGERS, 3) + self.random.sample(FLOATS, 2)
        self.row, self.column = np.meshgrid(
            np.arange(self.rows), np.arange(self.columns), indexing="ij"
        )
        self.inputs: dict[str, Array] = {"m": self.numbers.integers(0, 2, self.shape).astype(bool)}
        for dtype in self.dtypes:
            for letter, shape in (("a", self.shape), ("b", self.shape), ("r", (self.rows,)),
                                  ("c", (self.columns,))):  # fmt: skip
                self.inputs[f"{letter}_{dtype}"] = self.fresh(dtype, shape)
        self.results: list[tuple[str, Term]] = []
        for _ in range(nests):
            dtype = self.pick([*self.dtypes, "bool"])
            depth = self.pick([1, 2, 2, 3])
            made = self.condition(depth) if dtype == "bool" else self.number(dtype, depth)
            self.results.append((dtype, made))

    def pick(self, choices: list[Any]) -> Any:  # noqa: ANN401
        return self.random.choice(choices)

    def fresh(self, dtype: str, shape: tuple[int, ...]) -> Array:
        if dtype in FLOATS:
            return (self.numbers.integers(-4 * NEAR, 4 * NEAR + 1, shape) / 4).astype(NUMPY[dtype])
        limits = np.iinfo(dtype)
        least = 0 if dtype.startswith("u") else -NEAR
        small = self.numbers.integers(least, NEAR + 1, shape).astype(dtype)
        any_of_all = self.numbers.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        return np.where(self.numbers.random(shape) < 0.15, any_of_all, small)

    def everywhere(self, value: Array | np.generic | int, dtype: str) -> Array:
        return np.broadcast_to(np.asarray(value).astype(NUMPY[dtype]), self.shape)

    def leaf(self, dtype: str) -> Term:
        kind = self.random.random()
        letter = self.pick(["a", "b"])
        tile = self.inputs[f"{letter}_{dtype}"]
        if kind < 0.5:
            return Term(f"{letter}_{dtype}[i, j]", tile)
        if kind < 0.6:
            line = self.inputs[f"r_{dtype}"]
            return Term(f"r_{dtype}[i]", self.everywhere(line[:, None], dtype))
        if kind < 0.7:
            return Term(f"c_{dtype}[j]", self.everywhere(self.inputs[f"c_{dtype}"], dtype))
        if kind < 0.78:
            return Term(f"{letter}_{dtype}[0, 0]", self.everywhere(tile[0, 0], dtype))
        if kind < 0.9:
            text, value = self.pick(
                [("i", self.row), ("j", self.column), ("i + j", self.row + self.column),
                 ("i * 3 + j", self.row * 3 + self.column)]
            )  # fmt: skip
            return Term(f'T.cast({text}, "{dtype}")', self.everywhere(value, dtype))
        constant = self.random.randint(1, 5)
        return Term(f'T.cast({constant}, "{dtype}")', self.everywhere(constant, dtype))

    def near(self, term: Term, dtype: str, least: int = -NEAR) -> Term:
        low, high = (f'T.cast({bound}, "{dtype}")' for bound in (least, NEAR))
        value = np.clip(term.value, *(np.asarray(b).astype(NUMPY[dtype]) for b in (least, NEAR)))
        return Term(f"T.min(T.max({term.text}, {low}), {high})", value)

    def number(self, dtype: str, depth: int) -> Term:
        if depth == 0:
            return self.leaf(dtype)
        kinds = ["+", "-", "*", "max", "min", "choice", "cast"]
        if dtype in INTEGERS:
            kinds += ["&", "|", "^", "~", "<<", ">>", "//", "%"]
        kind = self.pick(kinds)
        with np.errstate(all="ignore"):
            made = self.operation(kind, dtype, depth - 1)
            return Term(made.text, made.value.astype(NUMPY[dtype]))

    def operation(self, kind: str, dtype: str, depth: int) -> Term:
        one = self.number(dtype, depth)
        if kind == "cast":
            return self.cast(dtype, depth)
        if kind == "~":
            return Term(f"(~{one.text})", ~one.value)
        if kind in ("<<", ">>", "//", "%"):
            by = self.random.randint(1, 5)
            amount = np.asarray(by).astype(NUMPY[dtype])
            whole = {"<<": np.left_shift, ">>": np.right_shift, "//": np.floor_divide,
                     "%": np.mod}[kind]  # fmt: skip
            text = f'({one.text} {kind} T.cast({by}, "{dtype}"))'
            return Term(text, whole(one.value, amount))
        other = self.number(dtype, depth)
        if kind == "choice":
            when = self.condition(min(depth, 1))
            text = f"T.if_then_else({when.text}, {one.text}, {other.text})"
            return Term(text, np.where(when.value, one.value, other.value))
        if kind in ("max", "min"):
            larger = {"max": np.maximum, "min": np.minimum}[kind]
            return Term(f"T.{kind}({one.text}, {other.text})", larger(one.value, other.value))
        if dtype in FLOATS and kind == "*":
            one, other = self.near(one, dtype), self.near(other, dtype)
        combined = {"+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and,
                    "|": np.bitwise_or, "^": np.bitwise_xor}[kind]  # fmt: skip
        return Term(f"({one.text} {kind} {other.text})", combined(one.value, other.value))

    def cast(self, dtype: str, depth: int) -> Term:
        source = self.pick(self.dtypes)
        given = self.number(source, depth)
        if source in FLOATS and dtype in INTEGERS:
            given = self.near(given, source, 0 if dtype.startswith("u") else -NEAR)
        return Term(f'T.cast({given.text}, "{dtype}")', given.value.astype(NUMPY[dtype]))

    def condition(self, depth: int) -> Term:
        kind = self.random.random()
        if kind < 0.15:
            return Term("m[i, j]", self.inputs["m"])
        if kind < 0.3:
            return self.pick(
                [Term("j < 3", self.column < 3), Term("i + j < 6", self.row + self.column < 6),
                 Term("i == 0", self.row == 0), Term("j >= i", self.column >= self.row)]
            )  # fmt: skip
        if kind < 0.4 and depth > 0:
            one, other = self.condition(depth - 1), self.condition(depth - 1)
            return Term(f"T.And({one.text}, {other.text})", one.value & other.value)
        dtype, sign = self.pick(self.dtypes), self.pick(list(COMPARISONS))
        one, other = self.number(dtype, max(depth - 1, 0)), self.number(dtype, 0)
        value = COMPARISONS[sign](one.value, other.value)
        return Term(f"{one.text} {sign} {other.text}", np.broadcast_to(value, self.shape))

    def source(self) -> str:
        """A module with the kernel `main` of the inputs and a tensor for each nest's result."""
        given = [(name, value.shape, str(value.dtype)) for name, value in self.inputs.items()]
        made = [(f"o{number}", self.shape, dtype) for number, (dtype, _) in enumerate(self.results)]
        lines = ["import tilewright.language as T", "", "", "@T.prim_func", "def main("]
        lines += [f'    {n.upper()}: T.Tensor({s}, "{d}"),' for n, s, d in given + made]
        lines += ["):", "    with T.Kernel(1, is_npu=True, threads=1) as _:"]
        lines += [f'        {n} = T.alloc_ub({s}, "{d}")' for n, s, d in given + made]
        lines += [f"        T.copy({n.upper()}, {n})" for n, _, _ in given]
        for number, (_, term) in enumerate(self.results):
            lines += [
                f"        for i, j in T.Parallel({self.rows}, {self.columns}):",
                f"            o{number}[i, j] = {term.text}",
                f"        T.copy(o{number}, O{number})",
            ]
        return "\n".join(lines) + "\n"
