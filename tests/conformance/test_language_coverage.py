# SPDX-License-Identifier: Apache-2.0
"""docs/language-coverage.md says what the tests say, and names of GPUs only are refused."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import tilewright
import tilewright.language as T
from tilewright.language.gpu_only import GPU_ONLY

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch):
    """Loads a script of scripts/ as a module."""
    monkeypatch.syspath_prepend(str(SCRIPTS))

    def load(name):
        sys.modules.pop("sources", None)
        spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def coverage(script):
    return script("language_coverage")


def test_page_is_up_to_date(coverage):
    assert coverage.PAGE.read_text() == coverage.page(), "run python scripts/language_coverage.py"


def test_counted_names_are_there(coverage):
    """What TileLang's examples use most (section 1.1 of the reference counts these)."""
    there = coverage.working() | coverage.gpu_only()
    counted = [name for names in coverage.names().values() for name, uses in names if uses]
    assert [name for name in counted if name not in there] == []


def test_no_name_is_missing(coverage):
    """Every name runs on the CPU or says what to write instead, those without a count too."""
    there = coverage.working() | coverage.gpu_only()
    listed = {name for names in coverage.names().values() for name, _ in names}
    assert sorted(listed - there) == []


def test_every_name_has_its_page(script, coverage):
    """What works has a signature or dtype, a sentence, and an example that is run."""
    pages = script("language_reference").pages()
    works, gpu_only = coverage.working(), coverage.gpu_only()
    for name, text in pages.items():
        if name in gpu_only:
            assert "On the CPU it is unsupported: " in text, name
            told = (
                rf"\nkernel.py:\d+:\d+: unsupported: T.{name} is unsupported on cpu: it belongs to "
            )
            assert re.search(told, text) and text.count(f" T.{name}") >= 3, name
        elif name in works:
            assert f"```python\nT.{name}" in text and "\nExample (tests/conformance/" in text, name
            assert f"T.{name}" in text.split("Example (")[1] or f'"{name}"' in text, name
        else:
            assert "Not there yet" in text, name


@pytest.mark.parametrize("name", sorted(GPU_ONLY))
def test_gpu_only(name):
    stand_in = getattr(T, name)

    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            stand_in(A)

    with pytest.raises(tilewright.UnsupportedError) as caught:
        kernel.capture()
    (found,) = caught.value.errors
    assert found.message.startswith(f"T.{name} is unsupported on cpu: it belongs to ")
    assert found.message.endswith(f"; {GPU_ONLY[name].instead}")
    assert found.place.file == __file__ and found.place.line > 0


def test_gpu_only_class():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            T.WSSync.producer_acquire(0)

    with pytest.raises(tilewright.UnsupportedError, match="T.WSSync is unsupported on cpu"):
        kernel.capture()
