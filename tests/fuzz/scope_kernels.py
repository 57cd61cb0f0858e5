# SPDX-License-Identifier: Apache-2.0
"""Random small Ascend kernels with T.Scope, whose variables are assigned in scopes and outside: the
interpreter's numbers on the host, or an error that says which variable is whose.

    python tests/fuzz/scope_kernels.py --first 100 --kernels 300
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "ascend")]
from ascend_cases import Dice, DrawnText, load_kernel  # noqa: E402
from kernel_group import AUTOMATIC, KernelGroup, copies  # noqa: E402

from tilewright import _compiler  # noqa: E402
from tilewright.testing import interpret  # noqa: E402

SEED = 20261202
TILES, ROWS, WIDTH, HALF = 4, 32, 16, 16
HEAD = """import tilewright.language as T
@T.prim_func
def {name}(
    A: T.Tensor(({tiles}, {rows}, {width}), "float16"),
    P: T.Tensor((8,), "int32"),
    n: T.int32,
    C: T.Tensor(({tiles}, {rows}, {rows}), "float32"),
    D: T.Tensor(({tiles}, {rows}, {width}), "float16"),
    Q: T.Tensor((8,), "int32"),
):
    with T.Kernel(1, is_npu=True, threads={threads}) as _:
        h = T.alloc_ub(({rows}, {width}), "float16")
        p = T.alloc_{operand}(({rows}, {width}), "float16")
        c = T.alloc_{product}(({rows}, {rows}), "float32")
        i = T.alloc_var("int32", init={first})
        j = T.alloc_var("int32", init={second})
"""
WHOSE = r"only the (vector cores assign|cube core assigns) to '\w+' here, but "
#: Why a kernel may be refused, without `unsupported on ascend: `.
REFUSALS = (
    WHOSE + "what needs it takes both kinds of core, and the .* can't compute it: .*",
    WHOSE + "what needs it takes both kinds of core, and elsewhere the .* without this: .*",
    WHOSE + r"the '\w+' of the .* is needed for what takes both kinds of core: .*",
    "'[pc]' goes from .* here, which takes both kinds of core, but the .* can't come here as .*; "
    "put this copy outside of T.Scope",
    "T.copy .* but both are where not all cores of a block come alike .*",
    "'[pc]' is computed with in UB, which the cube core of this T.Scope cannot reach: put this .*",
)


class ScopeKernel(DrawnText):
    """All of its loops end: each `while` has a counter of its own, which nothing else changes."""

    def __init__(self, dice: Dice, name: str) -> None:
        super().__init__(dice)
        self.name = name
        self.counters: list[str] = []  # of the loops around
        self.loops = 0
        self.numbers = {"first": self.one_of("0", "1", "n"), "second": self.one_of("0", "2", "n")}
        self.threads = self.one_of(1, 2, None)
        #: Tiles that the compiler places by their use: vector cores have a part in gemms' tiles.
        self.is_placed = self.pick(0, 2) == 0
        self.line(0, "T.copy(A[0, 0, 0], h)")
        self.line(0, "T.copy(A[1, 0, 0], p)")
        if self.is_placed:
            self.product(0, None)
        for _ in range(self.pick(3, 6)):
            self.statement(0, None)
        self.product(0, None)

    @property
    def source(self) -> str:
        sizes = {"tiles": TILES, "rows": ROWS, "width": WIDTH}
        spaces = ("shared", "fragment") if self.is_placed else ("L1", "L0C")
        chosen = dict(zip(("operand", "product"), spaces, strict=True)) | sizes | self.numbers
        head = HEAD.format(name=self.name, threads=self.threads, **chosen)
        return head + "".join(" " * 8 + line + "\n" for line in self.lines)

    def number(self) -> str:
        return self.one_of("i", "i", "j", *self.counters[-2:])

    def tile(self) -> str:
        return self.one_of("2", f"{self.number()} & 3", f"{self.number()} & 3")

    def question(self) -> str:
        bound = self.one_of("1", "2", "n", self.number(), "P[1]")
        return f"{self.number()} {self.one_of('<', '>', '==', '!=')} {bound}"

    def assign(self, depth: int) -> None:
        variable = self.one_of("i", "j")
        value = self.one_of(
            f"({variable} + 1) & 7",
            f"({variable} + 1) & 7",
            f"({self.number()} + {self.number()}) & 7",
            f"{self.number()} & 3",
            "n & 3",
            "1",
            f"P[{self.one_of('2', self.number() + ' & 7')}]",
        )
        self.line(depth, f"{variable} = {value}")

    def hand_on(self, depth: int) -> None:
        """From UB to L1: both kinds of core take part."""
        rows = self.one_of(
            "", f"[0:{HALF}, :]", *[f"[({self.number()} & 1) * {HALF}, 0]"] * 2, f"[{HALF}, 0]"
        )
        if rows.endswith("0]"):
            place = rows[1 : rows.index(",")]
            rows = f"[{place} : {place} + {HALF}, :]"
        self.line(depth, f"T.copy(h{rows}, p{rows})")

    def product(self, depth: int, cores: str | None) -> None:
        if cores is None and self.pick(0, 1):
            self.line(depth, 'with T.Scope("C"):')
            depth += 1
        self.line(depth, "T.gemm_v0(p, p, c, transpose_B=True, init=True)")
        self.line(depth, f"T.copy(c, C[{self.tile()}, 0, 0])")

    def with_gemms_tile(self, depth: int) -> None:
        """What block_cores.h gives to the cube core, and vector cores do."""
        if self.pick(0, 1):
            self.line(depth, f"T.fill(p, T.cast({self.number()} & 3, 'float16'))")
        else:
            self.line(depth, f"for a, b in T.Parallel({ROWS}, {ROWS}):")
            self.line(depth + 1, f"c[a, b] = c[a, b] + {self.number()}")

    def work(self, depth: int, cores: str | None) -> None:
        if cores == "C" or (cores is None and self.pick(0, 3) == 0):
            if self.pick(0, 2) == 0:
                return self.line(depth, f"T.copy({self.one_of('A', 'D')}[{self.tile()}, 0, 0], p)")
            return self.product(depth, cores)
        kind = self.pick(0, 9)
        if self.is_placed and cores is None and kind >= 7:
            return self.with_gemms_tile(depth)
        if kind <= 2:
            self.line(depth, f"T.copy(A[{self.tile()}, 0, 0], h)")
        elif kind == 3:
            self.line(depth, f"T.tile.fill(h, {self.one_of('1.0', '2.0')})")
        elif kind == 4:
            self.line(depth, f"T.copy(h, D[{self.tile()}, 0, 0])")
        elif kind == 5 and cores is None:
            self.line(depth, f"Q[{self.number()} & 7] = {self.number()}")
        else:
            self.hand_on(depth)

    def loop(self, depth: int, cores: str | None) -> None:
        counter = f"{self.one_of('t', 'w')}{self.loops}"
        self.loops += 1
        if counter.startswith("t"):
            self.line(depth, f"for {counter} in T.serial({self.one_of('2', '3', 'n')}):")
        else:
            bound = self.one_of("2", "n", f"({self.number()} & 3)")
            self.line(depth, f'{counter} = T.alloc_var("int32", init=0)')
            self.line(depth, f"while {counter} < {bound}:")
            self.line(depth + 1, f"{counter} = {counter} + 1")
        self.counters.append(counter)
        for _ in range(self.pick(1, 3)):
            self.statement(depth + 1, cores)
        if self.pick(0, 4) == 0:
            self.line(depth + 1, f"if {self.question()}:")
            self.line(depth + 2, self.one_of("break", "continue"))
            self.statement(depth + 1, cores)
        self.counters.pop()

    def statement(self, depth: int, cores: str | None) -> None:
        kind = self.pick(0, 15)
        if kind <= 3:
            self.assign(depth)
        elif kind <= 7 and cores is None and depth < 3:
            cores = self.one_of("V", "V", "C")
            self.line(depth, f'with T.Scope("{cores}"):')
            self.assign(depth + 1) if self.pick(0, 2) else self.work(depth + 1, cores)
            for _ in range(self.pick(0, 2)):
                self.statement(depth + 1, cores)
        elif kind <= 9 and depth < 3:
            self.line(depth, f"if {self.question()}:")
            self.statement(depth + 1, cores)
            if self.pick(0, 2) == 0:
                self.line(depth, "else:")
                self.statement(depth + 1, cores)
        elif kind <= 12 and len(self.counters) < 2:
            self.loop(depth, cores)
        else:
            self.work(depth, cores)


def arguments_of(number: int) -> Iterator[list[Any]]:
    random = np.random.default_rng(SEED + number)
    tiles = random.integers(-3, 4, (TILES, ROWS, WIDTH)).astype(np.float16)
    for n in (0, 1, 2, 3):
        made = [np.zeros((TILES, ROWS, ROWS), np.float32), np.zeros_like(tiles)]
        elements = random.integers(0, 4, 8).astype(np.int32)
        yield [tiles, elements, n, *made, np.zeros(8, np.int32)]


def errors_of(kernel: Any) -> list[str]:  # noqa: ANN401
    configs = {key.value: value for key, value in AUTOMATIC.items()}
    options = _compiler.CompileOptions("ascend", "native", configs, build_library=False)
    made, found = _compiler.compile(kernel.capture().module, options)
    return [] if made else [each.message for each in found if "error" in str(each.severity).lower()]


def is_documented(message: str) -> bool:
    words = message.removeprefix("unsupported on ascend: ")
    return any(re.fullmatch(each, words) for each in REFUSALS)


def differences(group: KernelGroup, name: str, number: int) -> str:
    """What the host does otherwise than the interpreter; empty: nothing."""
    for given in arguments_of(number):
        meant = copies(given)
        try:
            interpret(group.cases[name].kernel, *meant)
            made = group.run(name, *given)
        except Exception as problem:  # all are tried
            return f"n = {given[2]}: {type(problem).__name__}: {problem}"
        for tensor, host, right in zip("APnCDQ", made, meant, strict=True):
            if not np.array_equal(host, right):
                return f"n = {given[2]}: {tensor} differs"
    return ""


def check_all(numbers: range, folder: Path) -> tuple[dict[int, str], int]:
    """What is wrong, by kernels, and how many were refused as the documents say."""
    group = KernelGroup()
    failed: dict[int, str] = {}
    refused = 0
    for number in numbers:
        name = f"scopes{number}"
        kernel = load_kernel(ScopeKernel(Dice(SEED + number), name).source, folder, name)
        errors = errors_of(kernel)
        others = [each for each in errors if not is_documented(each)]
        if others:
            failed[number] = others[0]
        elif errors:
            refused += 1
        else:
            group.add(name, kernel, next(arguments_of(number)), {})
    for name in group.cases:
        number = int(name.removeprefix("scopes"))
        if problem := differences(group, name, number):
            failed[number] = problem
    return failed, refused


def main() -> int:
    parser = argparse.ArgumentParser(description="random kernels whose scopes assign to variables")
    parser.add_argument("--first", type=int, default=0, help="the first kernel")
    parser.add_argument("--kernels", type=int, default=100, help="how many")
    parser.add_argument("--show", action="store_true", help="the text of those that fail")
    options = parser.parse_args()
    os.environ["TILEWRIGHT_ASCEND_EXIT"] = "0"
    last = options.first + options.kernels
    count = refused = 0
    for first in range(options.first, last, 50):
        with tempfile.TemporaryDirectory() as folder:
            failed, more = check_all(range(first, min(first + 50, last)), Path(folder))
        for number, problem in failed.items():
            print(f"{number}: {problem}", flush=True)
            if options.show:
                print(ScopeKernel(Dice(SEED + number), f"scopes{number}").source, flush=True)
        count += len(failed)
        refused += more
    print(f"{options.kernels} kernels, {refused} refused; {count} failed")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
