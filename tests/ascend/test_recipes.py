# SPDX-License-Identifier: Apache-2.0
"""The founding recipe for a simple and a complex primitive: the page's wrappers are those that are
printed there, and its kernels run on the host, too."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_group import ROOT, KernelGroup

Array = np.ndarray[Any, Any]
random = np.random.default_rng(41)
GROUP = KernelGroup()
PAGE = ROOT / "docs" / "ascend-primitives.md"
PLACES = [os.environ.get("TILEWRIGHT_SEEDS"), ROOT.parent / "shared" / "seeds"]


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)


def kernel_of(number: int, folder: Path) -> Any:
    """The kernel `main` of a block of the page, which is run as a module of its own."""
    path = folder / f"recipe{number}.py"
    path.write_text(blocks()[number])
    names: dict[str, Any] = {"__name__": "recipe", "__file__": str(path)}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102
    return names["main"]


@pytest.fixture(scope="module", autouse=True)
def _kernels(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("recipes")
    x = random.standard_normal((8, 64)).astype(np.float32)
    simple = [x, np.zeros_like(x)]
    GROUP.add("simple", kernel_of(0, folder), simple, np.exp(x.astype(np.float64)))
    a = random.standard_normal((2, 32, 64)).astype(np.float16)
    b = random.standard_normal((16, 64)).astype(np.float16)
    product = a.astype(np.float64).sum(0) @ b.T.astype(np.float64)
    given = [a, b, np.zeros((32, 16), np.float32)]
    GROUP.add("complex", kernel_of(1, folder), given, product, configs={})


@pytest.mark.parametrize("name", ["simple", "complex"])
def test_recipe(name: str) -> None:
    GROUP.check(name)
    GROUP.check_removals(name)


def test_recipes_are_instructions() -> None:
    assert "Exp(a, a, 512);" in GROUP.check("simple").ascendc
    assert GROUP.check("complex").ascendc.count("multiply(c, ") == 2


def printed() -> str:
    for place in PLACES:
        for path in sorted(Path(place).glob("004*.txt")) if place else []:
            return path.read_text()
    pytest.skip("the founding documents are not here")


def test_wrappers_are_as_printed() -> None:
    page = "".join(blocks())
    functions = re.findall(r"^```\n(def .*?)^```", printed(), re.M | re.S)
    wrappers = [text for text in functions if "call_extern" in text]
    assert len(wrappers) == 2
    for text in wrappers:
        lines = [line.rstrip() for line in text.strip().splitlines()]
        assert "\n".join(lines) in page
