# SPDX-License-Identifier: Apache-2.0
"""Two tiles of which arguments choose: where the compiler can tell that they are never one, no
barrier stands between what is written to both; where they may be, one does, and is needed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_group import KernelGroup

import tilewright.language as T
from tilewright.language.prim_func import PrimFunc

GROUP = KernelGroup()
random = np.random.default_rng(53)
Choice = Callable[[Any, Any], tuple[Any, Any]]


def remainder_of_sum(f: Any, g: Any) -> tuple[Any, Any]:  # noqa: ANN401
    first = (f + g) % 2
    return first, (first + 1) % 2


def remainder_of_choice(f: Any, g: Any) -> tuple[Any, Any]:  # noqa: ANN401
    first = T.Select(f > g, 1, 0)
    return first, (first + 1) % 2


def signed_remainder(number: Any, by: int) -> Any:  # noqa: ANN401
    """Has the sign of the number."""
    if isinstance(number, int):
        return int(math.fmod(number, by))
    return T.truncmod(number, by)


def signed_remainders(f: Any, g: Any, by: int, more: int) -> tuple[Any, Any]:  # noqa: ANN401
    one, other = signed_remainder(f + g, by), signed_remainder(f + g + more, by)
    return one + by - 1, other + by - 1


#: By name: how many tiles, and which two; no two of them are ever one.
APART: dict[str, tuple[int, Choice]] = {
    "bits": (2, lambda f, _: (f & 1, (f & 1) ^ 1)),
    "bits, the other first": (2, lambda f, _: ((f & 1) ^ 1, f & 1)),
    "two bits": (4, lambda f, _: (f & 3, (f & 3) ^ 3)),
    "two and one bit": (4, lambda f, _: (f & 3, (f & 1) ^ 1)),
    "sum": (2, remainder_of_sum),
    "sum and one more": (2, lambda f, g: ((f + g) % 2, (f + g + 1) % 2)),
    "sum of four": (4, lambda f, g: ((f + g) % 4, (f + g + 3) % 4)),
    "difference": (2, lambda f, g: ((f - g) % 2, (f + g + 1) % 2)),
    "choice": (2, remainder_of_choice),
    "turned in two bits": (4, lambda f, _: (f & 3, (f ^ 1) & 3)),
    "one of two bits turned": (4, lambda f, _: (f & 3, (f & 3) ^ 1)),
    "a higher bit, too": (2, lambda f, _: (f & 1, (f ^ 5) & 1)),
    "in the other half": (8, lambda f, _: (f & 3, (f & 3) ^ 6)),
    "turned twice": (8, lambda f, _: ((f & 7) ^ 1, ((f ^ 1) & 7) ^ 1)),
    "product": (4, lambda f, g: ((f * 3 + g) % 4, (g - f + 2) % 4)),
    "bits that differ": (2, lambda f, g: ((f ^ g) & 1, (f + g + 1) % 2)),
    "signed": (3, lambda f, g: signed_remainders(f, g, 2, 1)),
    "signed, of four": (7, lambda f, g: signed_remainders(f, g, 4, 3)),
}
#: The same of those that are one for some arguments.
MEET: dict[str, tuple[int, Choice]] = {
    "same bits": (2, lambda f, _: (1 - (f & 1), (f & 1) ^ 1)),
    "bits of two": (2, lambda f, g: (f & 1, (g & 1) ^ 1)),
    "sum and difference": (2, lambda f, g: ((f + g) % 2, (f - g) % 2)),
    "sum and argument": (2, lambda f, g: ((f + g) % 2, f % 2)),
    "sum and two more": (4, lambda f, g: ((f + g) % 4, (f + g * 3 + 2) % 4)),
    "turned and two more": (4, lambda f, _: ((f + 2) & 3, (f ^ 2) & 3)),
    "turned and one more": (4, lambda f, _: ((f + 1) & 3, (f ^ 1) & 3)),
    "turned bits of two": (8, lambda f, g: (f & 7, ((f + g) & 7) ^ 2)),
    "product of five": (4, lambda f, g: ((f * 5 + g) % 4, (g + f) % 4)),
    "signed, of four and four more": (7, lambda f, g: signed_remainders(f, g, 4, 4)),
    # Of the largest number the next one is the smallest: both have the remainder 1.
    "sum of three": (3, lambda f, g: ((f + g) % 3, (wrapped(f + g + 1)) % 3)),
    "choice and remainder": (2, lambda f, g: (T.Select(f > g, 1, 0), (f + 1) % 2)),
}


def written(tiles: int, choice: Choice) -> PrimFunc:
    @T.prim_func
    def main(  # type: ignore[no-untyped-def]
        A: T.Tensor((8, 64), "float32"),
        f: T.int32,
        g: T.int32,
        C: T.Tensor((tiles, 8, 64), "float32"),
    ):
        with T.Kernel(1, is_npu=True, threads=1) as _:
            x = T.alloc_ub((tiles, 8, 64), "float32")
            y = T.alloc_ub((8, 64), "float32")
            T.tile.fill(x, 0.0)
            T.copy(A, y)
            one, other = choice(f, g)
            T.tile.add(x[one, :, :], y, 1.0)
            T.tile.add(x[other, :, :], y, 2.0)
            T.copy(x, C)

    return main


def wrapped(number: Any) -> Any:  # noqa: ANN401
    """What 32 bits hold of it."""
    return (number + 2**31) % 2**32 - 2**31 if isinstance(number, int) else number


def chosen(name: str, f: int, g: int) -> tuple[int, int]:
    """As Python counts."""
    if name.startswith("choice"):
        one = int(f > g)
        return one, (one + 1) % 2 if name in APART else (f + 1) % 2
    return ({**APART, **MEET}[name][1])(f, g)


for name, (tiles, choice) in {**APART, **MEET}.items():
    for f, g in ((2**31 - 1, 0),) if name == "sum of three" else ((3, 6), (-5, 0)):
        given = random.standard_normal((8, 64)).astype(np.float32)
        wanted = np.zeros((tiles, 8, 64))
        one, other = chosen(name, f, g)
        wanted[one] = given.astype(np.float64) + 1
        wanted[other] = given.astype(np.float64) + 2
        GROUP.add(
            f"{name} {f} {g}",
            written(tiles, choice),
            [given, f, g, np.zeros(wanted.shape, np.float32)],
            {3: wanted},
        )


@pytest.mark.parametrize("name", GROUP.cases)
def test_numbers(name: str) -> None:
    GROUP.check(name)


@pytest.mark.parametrize("name", GROUP.cases)
def test_what_is_there_is_needed(name: str) -> None:
    GROUP.check_removals(name, most=None)


@pytest.mark.parametrize("name", GROUP.cases)
def test_barriers(name: str) -> None:
    text = GROUP.check(name).ascendc
    between = re.search(r"Adds\(.*?\);(.*?)Adds\(", text, re.DOTALL)
    assert between is not None
    assert ("PipeBarrier<PIPE_V>" in between[1]) == (name.rsplit(" ", 2)[0] in MEET)
