# SPDX-License-Identifier: Apache-2.0
"""What a factory reads outside itself, when that changes in one process."""

import configparser
import contextvars
import ctypes
import functools
import glob
import math
import operator
import os
import pathlib
import random as random_module
import subprocess
import types
import uuid
import weakref
from array import array
from collections import ChainMap, deque
from glob import glob as files_like
from os.path import expandvars
from pathlib import Path
from random import choice

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright.captured_state import CapturedState

BLOCK = 4
SIZES = [1, 2]
settings = types.SimpleNamespace(block=4, unread=1)


def one_more():
    return BLOCK + 1


def reads_global():
    return BLOCK


def reads_through_another():
    return one_more()


def reads_list():
    return SIZES[0]


def reads_attribute():
    return settings.block


def closing_over(number):
    def reads_cell():
        return number

    def change(value):
        nonlocal number
        number = value

    return reads_cell, change


def test_globals(monkeypatch):
    states = [CapturedState(f) for f in (reads_global, reads_through_another)]
    other = CapturedState(reads_list)
    assert all(state.holds() for state in [*states, other])
    monkeypatch.setitem(globals(), "BLOCK", 8)
    assert not any(state.holds() for state in states)
    assert other.holds()


def test_contents_of_lists(monkeypatch):
    state = CapturedState(reads_list)
    monkeypatch.setitem(globals(), "BLOCK", 8)
    assert state.holds()
    SIZES.append(3)
    assert not state.holds()
    SIZES.pop()
    assert state.holds()


def test_attributes(monkeypatch):
    state = CapturedState(reads_attribute)
    monkeypatch.setattr(settings, "unread", 2)
    assert state.holds()
    monkeypatch.setattr(settings, "block", 8)
    assert not state.holds()


def test_closures():
    reads_cell, change = closing_over(1)
    state = CapturedState(reads_cell)
    assert state.holds()
    change(2)
    assert not state.holds()


class Sizes:
    block = 4
    unread = 1


class Derived(Sizes):
    def twice(self):
        return 2 * self.hidden

    def __getitem__(self, number):
        return self.rows[number]


class Slotted:
    __slots__ = ("block",)


class Point(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int),)


TABLE = {"k": [1, (2, [3])], "other": 0.0}
OBJECTS = [Sizes(), one_more]
ARRAY = np.arange(4)
QUEUE, BYTES, NUMBERS = deque([1]), bytearray(2), array("i", [1, 2])
derived, slotted = Derived(), Slotted()
derived.hidden, derived.rows, slotted.block = 3, [4], 5
VIEW, C_ARRAY, POINT = memoryview(BYTES), (ctypes.c_int * 2)(1, 2), Point(1)
INNER = {"a": 1}
PROXY, CHAIN = types.MappingProxyType(INNER), ChainMap({}, INNER)
partly = functools.partial(lambda sizes, n: sizes["k"][0] + n, TABLE)


def reads_class():
    return Sizes.block


def reads_derived():
    return derived.block + derived.twice() + derived[0]


def reads_slot():
    return slotted.block


def reads_table():
    return TABLE["k"][1][1][0]


def reads_objects():
    return OBJECTS[0].block + OBJECTS[1]()


def reads_array():
    return int(ARRAY[1])


def reads_other_sequences():
    return QUEUE[0] + BYTES[0] + NUMBERS[0]


def reads_shared_memory():
    return VIEW[0] + C_ARRAY[0] + POINT.x


class Meta(type):
    hidden = 1

    @property
    def doubled(cls):
        return 2 * cls.hidden


class OfMeta(metaclass=Meta):
    pass


def reads_metaclass():
    return OfMeta.doubled


@functools.singledispatch
def dispatched(value):
    return SIZES[0]


def reads_dispatched():
    return dispatched(1)


def reads_other_mappings():
    return PROXY["a"] + CHAIN["a"]


def with_attribute():
    return 1


with_attribute.size = 4


def reads_attribute_of_function():
    return with_attribute.size


def reads_partial():
    return partly(1)


def reads_default(sizes=SIZES):
    return sizes[0]


def reads_method(twice=derived.twice):
    return twice()


@pytest.mark.parametrize(
    ("function", "change", "back"),
    [
        (reads_class, "Sizes.block = 5", "Sizes.block = 4"),
        (reads_derived, "Sizes.block = 5", "Sizes.block = 4"),
        (reads_derived, "Derived.block = 5", "del Derived.block"),
        (reads_derived, "derived.block = 5", "del derived.block"),
        (reads_derived, "derived.hidden = 5", "derived.hidden = 3"),
        (reads_derived, "derived.rows[0] = 5", "derived.rows[0] = 4"),
        (reads_slot, "slotted.block = 6", "slotted.block = 5"),
        (reads_table, "TABLE['k'][0] = 2", "TABLE['k'][0] = 1"),
        (reads_table, "TABLE['k'][0] = True", "TABLE['k'][0] = 1"),
        (reads_table, "TABLE['k'][0] = 1.0", "TABLE['k'][0] = 1"),
        (reads_table, "TABLE['other'] = -0.0", "TABLE['other'] = 0.0"),
        (reads_table, "TABLE['k'][1][1][0] = 4", "TABLE['k'][1][1][0] = 3"),
        (reads_table, "TABLE['k'][1][1][0] = one_more", "TABLE['k'][1][1][0] = 3"),
        (reads_objects, "OBJECTS[0].block = 5", "del OBJECTS[0].block"),
        (reads_objects, "OBJECTS.append(1)", "OBJECTS.pop()"),
        (reads_objects, "OBJECTS[1] = reads_list", "OBJECTS[1] = one_more"),
        (reads_objects, "global BLOCK; BLOCK = 5", "global BLOCK; BLOCK = 4"),
        (reads_array, "ARRAY[1] = 5", "ARRAY[1] = 1"),
        (reads_array, "ARRAY.shape = 2, 2", "ARRAY.shape = 4"),
        (reads_other_sequences, "QUEUE[0] = 2", "QUEUE[0] = 1"),
        (reads_other_sequences, "BYTES[0] = 2", "BYTES[0] = 0"),
        (reads_other_sequences, "NUMBERS[0] = 2", "NUMBERS[0] = 1"),
        (reads_shared_memory, "BYTES[0] = 2", "BYTES[0] = 0"),
        (reads_shared_memory, "C_ARRAY[0] = 2", "C_ARRAY[0] = 1"),
        (reads_shared_memory, "POINT.x = 2", "POINT.x = 1"),
        (reads_metaclass, "Meta.hidden = 2", "Meta.hidden = 1"),
        (reads_dispatched, "SIZES[0] = 2", "SIZES[0] = 1"),
        (reads_other_mappings, "INNER['a'] = 2", "INNER['a'] = 1"),
        (reads_attribute_of_function, "with_attribute.size = 2", "with_attribute.size = 4"),
        (reads_partial, "TABLE['k'][0] = 2", "TABLE['k'][0] = 1"),
        (reads_default, "SIZES[0] = 2", "SIZES[0] = 1"),
        (reads_method, "derived.hidden = 5", "derived.hidden = 3"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_is_deep_inside(function, change, back):
    state = CapturedState(function)
    assert state.holds()
    exec(change, globals())
    try:
        assert not state.holds()
    finally:
        exec(back, globals())
    assert state.holds()


def test_one_object_that_two_read():
    """Each its own attribute."""
    read = types.SimpleNamespace(first=1, second=2)

    def second():
        return read.second

    def first():
        return read.first + second()

    state = CapturedState(first)
    read.second = 3
    assert not state.holds()


def test_lists_that_hold_themselves():
    endless: list = [1]
    endless.append(endless)

    def reads():
        return endless[0]

    state = CapturedState(reads)
    assert state.holds()
    endless[0] = 2
    assert not state.holds()


def test_elements_of_torch_tensors():
    torch = pytest.importorskip("torch")
    tensors = [torch.zeros(2), torch.zeros(2, dtype=torch.bfloat16)]

    def reads():
        return tensors[0][0], tensors[1][0]

    for tensor in tensors:
        state = CapturedState(reads)
        assert state.holds()
        tensor[0] = 1
        assert not state.holds()
    state = CapturedState(reads)
    tensors[0].numpy()[1] = 1
    assert not state.holds()


def test_arguments():
    sizes = Sizes()
    state = CapturedState(reads_class, [sizes, one_more, 3, (1, "a")])
    sizes.unread = 2
    assert state.holds()
    sizes.block = 5
    assert not state.holds()
    assert CapturedState(reads_class, [3, (1, "a"), 2.5, None]).is_empty()


def test_what_costs_nothing():
    """Calls compare no more than what a factory reads: libraries are taken to stay."""

    def reads():
        return math.ceil(1.5), np.float32(1), T.ceildiv(3, 2), range(3)

    state = CapturedState(reads)
    assert len(state._names) + len(state._cells) <= 8
    assert not state._contents and not state._slots


LARGE = np.zeros((1000, 100))


def test_large_arrays_that_are_asked_for_their_shape():
    """Comparing them at each call would take long; one that is read is compared."""
    large = LARGE

    def asks():
        return large.shape[0] + LARGE.shape[1], [LARGE.dtype for _ in range(2)]

    def reads():
        return large.shape[0] + LARGE[0, 0]

    def reads_the_other():
        return large[0, 0] + LARGE.shape[0]

    assert not CapturedState(asks)._contents
    for function in (reads, reads_the_other):
        state = CapturedState(function)
        LARGE[5, 5] += 1
        assert not state.holds()


KIND = T.int32


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_names_of_annotations(target, monkeypatch):
    """Those of local names leave no trace in the bytecode."""

    @tilewright.jit(target=target)
    def lazy(size):
        @T.prim_func
        def kernel(A: T.Tensor((size,), "float32")):
            with T.Kernel(1):
                x: KIND = A[0]
                A[1] = x

        return kernel

    @tilewright.jit(target=target)
    def eager(A):
        A: T.Tensor[[2], "float32"]
        with T.Kernel(1):
            x: KIND = A[0]
            A[1] = x

    def results():
        made = np.full((2, 2), 2.5, "float32")
        lazy(2)(made[0])
        eager(made[1])
        return made[:, 1].tolist()

    assert results() == [2, 2]
    monkeypatch.setitem(globals(), "KIND", T.float32)
    assert results() == [2.5, 2.5]


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_kernels_follow(target):
    @tilewright.jit(target=target)
    def lazy(size, sizes, kind=Sizes):
        @T.prim_func
        def kernel(A: T.Tensor((size,), "int32")):
            with T.Kernel(1):
                A[0] = TABLE["k"][0]
                A[1] = int(ARRAY[1])
                A[2] = Sizes.block
                A[3] = sizes.block
                A[4] = kind.unread

        return kernel

    @tilewright.jit(target=target)
    def eager(A, sizes, kind=Sizes):
        N = T.const("N")
        A: T.Tensor[[N], "int32"]
        with T.Kernel(1):
            A[0] = TABLE["k"][0]
            A[1] = int(ARRAY[1])
            A[2] = Sizes.block
            A[3] = sizes.block
            A[4] = kind.unread

    sizes = Slotted(), Slotted()
    sizes[0].block = sizes[1].block = 6

    def results(*more):
        made = np.zeros((3, 5), "int32")
        lazy(5, sizes[0], *more)(made[0])
        eager(made[1], sizes[1], *more)
        eager.compile(made[2], sizes[1], *more)(made[2])
        assert (made == made[0]).all()
        return made[0].tolist()

    assert results() == [1, 1, 4, 6, 1]
    changes = {
        "TABLE['k'][0] = 2": [2, 1, 4, 6, 1],
        "ARRAY[1] = 7": [2, 7, 4, 6, 1],
        "Sizes.block = 5": [2, 7, 5, 6, 1],
        "sizes[0].block = sizes[1].block = 9": [2, 7, 5, 9, 1],
        "Sizes.unread = 8": [2, 7, 5, 9, 8],
    }
    try:
        for change, expected in changes.items():
            exec(change, {**globals(), "sizes": sizes})
            assert results() == expected
            assert results(Sizes) == expected
        Derived.unread = 3
        assert results(Derived) == [2, 7, 5, 9, 3]
        Derived.unread = 4
        assert results(Derived) == [2, 7, 5, 9, 4]
    finally:
        TABLE["k"][0], ARRAY[1], Sizes.block, Sizes.unread = 1, 1, 4, 1
        del Derived.unread


def test_a_kernel_that_is_compiled_again():
    """Its front key says what it reads now, so its text must, too."""

    @T.prim_func
    def kernel(A: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            A[0] = TABLE["k"][0]

    made = np.zeros(1, "int32")
    try:
        for value in (1, 2):
            TABLE["k"][0] = value
            tilewright.compile(kernel, target="cpu")(made)
            assert made[0] == value
    finally:
        TABLE["k"][0] = 1


def test_long_chains_and_large_libraries():
    """Neither ends in a RecursionError, and what Python brings isn't followed at all."""
    import copy
    import inspect

    functions = {}
    for number in range(5000):
        space = {"__name__": "of_a_user", "size": [number], "next_one": functions.get(number - 1)}
        exec("def one():\n    return size, next_one", space)
        functions[number] = space["one"]
    chain = CapturedState(functions[4999])
    assert chain.holds()
    functions[4000].__globals__["size"][0] += 1
    assert not chain.holds()

    def reads():
        return copy.deepcopy, inspect.signature

    state = CapturedState(reads)
    assert state.holds() and len(state._kept) < 20


class OwnSettings(configparser.ConfigParser):
    pass


def test_the_environment_and_settings(monkeypatch):
    """Python's modules stay as they are, but not all that they hold."""
    settings, own_settings = configparser.ConfigParser(), OwnSettings()
    environ = os.environ
    readers = [
        lambda: os.environ["TILE_SIZE"],
        lambda: os.environ.get("TILE_SIZE"),
        lambda: environ["TILE_SIZE"],
        lambda: os.getenv("TILE_SIZE"),
        lambda: settings["tile"]["size"],
        lambda: own_settings.getint("tile", "size"),
        lambda: settings.getint("tile", "size"),
    ]

    def choose(size):
        monkeypatch.setenv("TILE_SIZE", size)
        for each in (settings, own_settings):
            each["tile"] = {"size": size}

    choose("1")
    states = [CapturedState(reader) for reader in readers]
    assert all(state.holds() for state in states)
    choose("2")
    assert not any(state.holds() for state in states)
    assert all(len(state._kept) < 500 for state in states)


def test_functions_that_are_registered_later():
    @functools.singledispatch
    def size(value):
        return 1

    def reads():
        return size(2)

    state = CapturedState(reads)
    assert state.holds()
    size.register(int, lambda value: 2)
    assert not state.holds()


SPACE = types.SimpleNamespace(block=1, inner=types.SimpleNamespace(size=1))
CONTEXT = contextvars.ContextVar("CONTEXT")
GET_BLOCK, GET_SIZE = operator.attrgetter("block"), operator.attrgetter("inner.size")
GETTERS = [GET_BLOCK]
FIELD = "block"


class Sized:
    def __init__(self):
        self.held = 1

    def size(self, more=0):
        return self.held + more


SIZED = Sized()
CALL_SIZE = operator.methodcaller("size", more=1)


def by_parameter(getter=operator.attrgetter("block")):
    return getter(SPACE)


def test_attributes_by_getters_and_contexts(monkeypatch):
    """Their names stand in no text of the function."""
    get_block = operator.attrgetter("block")
    readers = [
        lambda: CONTEXT.get(),
        lambda: CONTEXT.get(3),
        lambda: GET_BLOCK(SPACE),
        lambda: GET_SIZE(SPACE),
        lambda: get_block(SPACE),
        lambda: operator.attrgetter("block")(SPACE),
        lambda: CALL_SIZE(SIZED),
        lambda: getattr(SPACE, FIELD),
        by_parameter,
    ]
    token = CONTEXT.set([1])
    states = [CapturedState(reader) for reader in readers]
    assert all(state.holds() for state in states) and not any(s.unknown for s in states)
    CONTEXT.get()[0] = 2
    monkeypatch.setattr(SPACE, "block", 2)
    monkeypatch.setattr(SPACE.inner, "size", 2)
    monkeypatch.setattr(SIZED, "held", 2)
    assert not any(state.holds() for state in states)
    state = CapturedState(readers[0])
    CONTEXT.reset(token)
    assert not state.holds()
    # Who knows which attribute of what is read.
    assert "by a getter" in CapturedState(lambda: GETTERS[0](SPACE)).unknown


def test_functions_that_read_the_environment_and_the_folder(monkeypatch, tmp_path):
    readers = [
        lambda: os.path.expandvars("$TILE_SIZE"),
        lambda: os.path.expanduser("~/$TILE_SIZE"),  # noqa: PTH111
        lambda: expandvars("$TILE_SIZE"),
        lambda: os.getcwd(),  # noqa: PTH109
        lambda: os.path.abspath("x"),  # noqa: PTH100
        lambda: Path.cwd(),
        lambda: Path("x").absolute(),
        lambda: pathlib.Path.home(),
    ]
    monkeypatch.setenv("TILE_SIZE", "1")
    states = [CapturedState(reader) for reader in readers]
    assert all(state.holds() for state in states)
    monkeypatch.setenv("TILE_SIZE", "2")
    monkeypatch.chdir(tmp_path)
    assert not any(state.holds() for state in states)


def test_files_and_random_numbers_are_unknown():
    here = Path(__file__)
    readers = {
        "a file": [
            lambda: here.read_text(),
            lambda: Path("x").read_text(),
            lambda: pathlib.Path("x").stat(),
            lambda: open("x").read(),  # noqa: SIM115, PTH123
            lambda: os.listdir("."),  # noqa: PTH208
            lambda: os.path.exists("x"),  # noqa: PTH110
            lambda: np.load("x"),
        ],
        "random numbers": [
            lambda: random_module.randint(1, 2),
            lambda: choice([1, 2]),
            lambda: uuid.uuid4().int,
        ],
        "another process": [lambda: subprocess.check_output(["true"])],
        "a folder's files": [lambda: glob.glob("*"), lambda: files_like("*")],  # noqa: PTH207
    }
    for kind, functions in readers.items():
        for function in functions:
            state = CapturedState(function)
            assert state.unknown == kind and not state.holds()

    def reads_none_of_it():
        """Words in it, open and read_text and random, are no calls."""
        return here.name, here.suffix, Path("x") / "y", np.zeros(3), os.path.basename("a/b")  # noqa: PTH119

    state = CapturedState(reads_none_of_it)
    assert not state.unknown, state.unknown
    assert state.holds() and not CapturedState(lambda: settings.open).unknown


class Weakly:
    size = 1


def test_what_cannot_be_compared():
    """It never counts as what it was: kernels are made anew, and one remark says why."""
    thing = Weakly()
    reference, many = weakref.ref(thing), [Weakly() for _ in range(20_000)]

    def reads_weakly():
        return reference().size

    def reads_many():
        return many[-1].size

    for function in (reads_weakly, reads_many):
        state = CapturedState(function)
        assert not state.holds() and not state.is_empty() and state.unknown

    @tilewright.jit(target="reference")
    def follows_weakly():
        size = reference().size

        @T.prim_func
        def kernel(A: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(4):
                    A[i] = size

        return kernel

    made = np.zeros(4, np.float32)
    with pytest.warns(tilewright.errors.TilewrightWarning, match="reads a weak reference outside"):
        follows_weakly()(made)
    assert made[0] == 1
    thing.size = 2
    follows_weakly()(made)
    assert made[0] == 2
