# SPDX-License-Identifier: Apache-2.0
"""T.meta_class with what classes of Python have: inheritance, super(), dataclasses."""

import dataclasses

import numpy as np
import pytest

import tilewright.language as T
from tilewright.errors import CompileError


def test_super(agree):
    class Plain:
        def describe(self):
            return 7

    @T.meta_class
    class Base(Plain):
        def __init__(self, n):
            self.n = n
            self.v = T.alloc_var("int32", init=n)

        def step(self, times=1):
            for _ in T.serial(times):
                self.v += self.n

        @property
        def twice(self):
            return self.v * 2

    @T.meta_class
    class Middle(Base):
        def step(self, times=1):
            if self.v < 20:
                super().step(times)
            else:
                self.v += 1

    @T.meta_class
    class Derived(Middle):
        def __init__(self, n):
            super().__init__(n)
            self.w = T.alloc_var("int32", init=0)

        def step(self, times=2):
            super().step(times)
            self.w = super(Middle, self).twice + super().describe()

        def of_inner_function(self):
            def inner(more):
                return super().twice + more

            return inner(1)

    @T.prim_func
    def kernel(B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=8):
            base = Base(100)
            base.step()
            d = Derived(4)
            for _ in T.serial(3):
                d.step()
            B[0] = d.v
            B[1] = d.w
            B[2] = base.v
            B[3] = d.of_inner_function()

    v = 4 + 8 + 8 + 1
    expected = np.array([v, v * 2 + 7, 200, v * 2 + 1], np.int32)
    agree(kernel, [np.zeros(4, np.int32)], {0: expected})


def test_dataclasses(agree):
    @T.meta_class
    @dataclasses.dataclass
    class Tile:
        size: int
        start: object = None
        count: object = dataclasses.field(default_factory=lambda: T.alloc_var("int32", init=3))

        def at(self, i):
            self.count += 1
            return self.start + i * self.size

    @T.meta_class
    @dataclasses.dataclass(order=True)
    class Last(Tile):
        last: int = 0

        def __post_init__(self):
            self.more = T.alloc_var("int32", init=self.last)

        def at(self, i):
            self.more += 2
            return super().at(i)

    @dataclasses.dataclass
    @T.meta_class
    class Outside:
        size: int

        def bump(self, by: T.Ref):
            for _ in T.serial(self.size):
                by += 1

    @T.prim_func
    def kernel(B: T.Tensor((12,), "int32")):
        with T.Kernel(2, threads=8) as b:
            tile = Tile(1, b * 4)
            last = Last(size=1, start=b * 4, last=5)
            for i in T.serial(4):
                B[tile.at(i)] = last.at(i) * 3
            if b == 1:
                by = T.alloc_var("int32", init=1)
                B[8] = tile.count
                B[9] = last.count
                B[10] = last.more
                Outside(4).bump(by)
                B[11] = by
            assert repr(Outside(4)).endswith("Outside(size=4)")

    expected = np.array([*(3 * np.arange(8)), 7, 7, 13, 5], np.int32)
    agree(kernel, [np.zeros(12, np.int32)], {0: expected})


def test_a_method_without_source():
    names = {"T": T}
    exec("@T.meta_class\nclass Bare:\n    def __init__(self):\n        self.n = 1\n", names)
    bare = names["Bare"]

    @T.prim_func
    def kernel(B: T.Tensor((8,), "int32")):
        with T.Kernel(1, threads=8):
            B[0] = bare().n

    with pytest.raises(CompileError, match="the source of kernel '__init__' can't be read"):
        kernel.capture()
