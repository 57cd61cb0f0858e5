# SPDX-License-Identifier: Apache-2.0
"""A kernel that is found in the cache warns as its first compilation did."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import tilewright
import tilewright.language as T
from tilewright import cache


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    cache.clear_memory()
    yield
    cache.clear_memory()


def told(kernel: Any, **choices: Any) -> list[tuple[str, str, int]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tilewright.compile(kernel, **choices)
    return [(str(w.message), w.filename, w.lineno) for w in found]


@T.prim_func
def unordered(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, is_npu=True, threads=1) as _:
        a = T.alloc_ub((64,), "float32")
        T.copy(A, a)
        T.tile.exp(a, a)
        T.copy(a, B)


@T.prim_func
def unreached(A: T.Tensor((8,), "float32")):
    with T.Kernel(4):
        for i in T.serial(4):
            break
            A[i] = 0.0


@pytest.mark.parametrize(
    ("kernel", "choices", "words"),
    [
        (unordered, {"target": "ascend"}, "nothing orders them"),
        (unreached, {}, "never reached"),
    ],
)
def test_warnings_are_told_again(kernel: Any, choices: dict[str, Any], words: str) -> None:
    first = told(kernel, **choices)
    assert any(words in message for message, _, _ in first)
    assert all(name == __file__ for _, name, _ in first)
    assert told(kernel, **choices) == first  # from memory
    cache.clear_memory()
    assert told(kernel, **choices) == first  # from the disk
    if kernel is unordered:  # with the place of the other half
        load = unordered.function.__code__.co_firstlineno + 4
        assert any(f"; line {load}: the earlier one is here" in message for message, _, _ in first)


def test_without_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_DISABLE_CACHE", "1")
    first = told(unordered, target="ascend")
    assert first
    assert told(unordered, target="ascend") == first


def test_a_kernel_of_a_factory_is_not_compiled_again() -> None:
    """Its factory has it: whoever launches in a loop is told once."""

    @tilewright.jit(target="ascend")
    def factory() -> Any:
        return unordered

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        factory()
        assert found
        number = len(found)
        factory()
    assert len(found) == number
