# SPDX-License-Identifier: Apache-2.0
"""A front key changes with all that a kernel can depend on, and is absent where that is unknown."""

import math
import os
import random
import textwrap
from enum import Enum

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.front_key import front_key, why_not

FACTORY = """
import math
import tilewright.language as T
{header}
BLOCK = {block}

def rounded(n):
    return n + {helper}

@T.macro
def scaled(x):
    return x * {macro}

def make(bias):
    def factory(M, dtype="float16"):
        size = rounded(M) * BLOCK

        @T.prim_func
        def kernel(A: T.Tensor((M,), dtype), B: T.Tensor((size,), dtype)):
            with T.Kernel({grid}) as bx:
                x: T.{annotation} = A[bx]
                B[bx] = scaled(x) + bias

        return kernel
    return factory

def later():
    return {later}
"""
PLAIN = dict(header="", block=4, helper=1, macro=2, grid=8, annotation="float16", later=0, bias=1.0)


def key_of(folder, name="kernel", args=(16,), options="cpu", **changes) -> str | None:
    choices = {**PLAIN, **changes}
    path = folder / f"{name}.py"
    path.write_text(FACTORY.format(**choices))
    names: dict = {"__name__": name}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return front_key(names["make"](choices["bias"]), args, options)


def test_the_same_again(tmp_path):
    first = key_of(tmp_path)
    assert first is not None and len(first) == 64
    assert key_of(tmp_path) == first
    assert key_of(tmp_path, later=5) == first


@pytest.mark.parametrize(
    "change",
    [
        {"block": 8},
        {"helper": 2},
        {"macro": 3},
        {"grid": 9},
        {"annotation": "float32"},
        {"bias": 2.0},
        {"bias": 1},
        {"args": (17,)},
        {"args": (16, "float32")},
        {"options": "cpu avx2"},
    ],
    ids=str,
)
def test_what_changes_it(tmp_path, change):
    first = key_of(tmp_path)
    other = key_of(tmp_path, **change)
    assert other is not None
    assert other != first


def test_names_of_annotations_that_are_strings(tmp_path):
    header = "from __future__ import annotations"
    text = "    def factory(M, dtype='float16'):"
    source = FACTORY.replace("\nimport math", "\n{header}\nimport math", 1).replace(
        "{header}\nBLOCK", "BLOCK"
    )
    source = source.replace("(size,), dtype)", "(BLOCK,), 'float16')")
    assert text

    def key(block: int) -> str | None:
        path = tmp_path / "strings.py"
        path.write_text(source.format(**{**PLAIN, "header": header, "block": block}).lstrip())
        names: dict = {"__name__": "strings"}
        exec(compile(path.read_text(), str(path), "exec"), names)
        return front_key(names["make"](1.0), (16,), "")

    assert key(4) == key(4) != key(8)


class Color(Enum):
    RED = 1
    BLUE = 2


class Settings:
    block = 3


SETTINGS = Settings()


def reads_environment():
    return os.environ["X"]


def uses_random():
    return random.random()


def imports():
    import json

    return json


def opens():
    return open("x")  # noqa: PTH123, SIM115


def uses_object():
    return SETTINGS.block


def uses_math():
    return math.sqrt(2) + len([1])


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (reads_environment, "uses 'environ'"),
        (uses_random, "uses 'random'"),
        (imports, "it imports a module"),
        (opens, "uses 'open'"),
        (uses_object, "Settings may hold anything"),
    ],
)
def test_what_has_no_key(function, reason):
    assert front_key(function, (), "") is None
    assert reason in str(why_not(function))


def test_values():
    assert front_key(uses_math, (), "") is not None
    keys = [
        front_key(uses_math, value, "")
        for value in [
            (1,), (1.0,), (True,), ("1",), (None,), ([1],), ({"a": 1},),
            (Color.RED,), (Color.BLUE,),
            (T.float16,), (T.dynamic("m"),), (T.dynamic("n"),), (T.dynamic("n") + 1,),
        ]
    ]  # fmt: skip
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert front_key(uses_math, (object(),), "") is None


def test_recursion_and_missing_source(tmp_path):
    def loops(n):
        return loops(n - 1)

    assert front_key(loops, (), "") is not None
    names: dict = {}
    exec("def made(): pass", names)
    assert "can't be read" in str(why_not(names["made"]))


def test_frameworks():
    torch = pytest.importorskip("torch")
    numpy = pytest.importorskip("numpy")
    keys = {
        front_key(uses_math, (value,), "")
        for value in [torch.float16, torch.float32, numpy.float32, numpy.dtype("float32")]
    }
    assert None not in keys
    assert len(keys) >= 3
    assert textwrap.dedent(" x") == "x"


def test_names_in_string_annotations_count(tmp_path):
    """With `from __future__ import annotations` no closure holds what only an annotation names."""
    path = tmp_path / "future_kernel.py"
    path.write_text(
        textwrap.dedent("""
        from __future__ import annotations
        import tilewright.language as T

        def make(size):
            @T.prim_func
            def kernel(A: T.Tensor((size,), "float32")):
                with T.Kernel(1) as bx:
                    A[0] = 1.0

            return kernel
        """)
    )
    names: dict = {"__name__": "future_kernel"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    keys = {front_key(names["make"](size), (), "cpu") for size in (4, 8)}
    assert len(keys) == 2 and None not in keys


def test_names_of_typing_in_annotations_can_be_captured():
    from typing import Any, Optional

    def one(n: Optional[int] = 3) -> Any:  # noqa: UP045 - the old spelling is what is tested
        return n

    def other(n: Optional[str] = 3) -> Any:  # noqa: UP045
        return n

    assert front_key(one, [], "") is not None
    assert front_key(one, [], "") != front_key(other, [], "")


def test_functions_in_one_line():
    """Their source is the same: all of the line."""
    # fmt: off
    functions = [lambda x: T.exp(x), lambda x: T.log(x), lambda x: T.log(x + 1), lambda x: T.log(x + 2), lambda x: [T.log(y) for y in x], lambda x: [T.exp(y) for y in x]]  # noqa: E501
    same = [lambda x: T.sin(x), lambda x: T.sin(x)]
    # fmt: on
    keys = [front_key(function, (), "cpu") for function in functions]
    assert None not in keys and len(set(keys)) == len(functions)
    assert front_key(same[0], (), "cpu") == front_key(same[1], (), "cpu")


def test_kernels_of_functions_in_one_line():
    made = []
    for function in (lambda x: x + 1, lambda x: x * 5):

        @T.prim_func
        def kernel(A: T.Tensor((8,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(8):
                    A[i] = function(A[i])  # noqa: B023 - it is compiled before the next one

        values = np.full(8, 2, np.float32)
        tilewright.compile(kernel, target="cpu")(values)
        made.append(values[0])
    assert made == [3, 10]
