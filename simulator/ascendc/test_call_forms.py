# SPDX-License-Identifier: Apache-2.0
"""Each form of call in call_forms.txt compiles, with each compiler and for each kind of core."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from call_forms import FUNCTIONS, HERE, declarations, read_forms

FORMS = read_forms()


@pytest.mark.parametrize("compiler", ["clang++-22", "g++-12"])
@pytest.mark.parametrize("core", ["VEC", "CUBE"])
def test_forms(tmp_path: Path, compiler: str, core: str) -> None:
    """One function each, so that an error says which form it is."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    lines = ['#include "kernel_operator.h"', "#include <algorithm>", "using namespace AscendC;"]
    lines += [FUNCTIONS.replace("\n", " "), "#define N(name) (int64_t)number"]
    lines += ["struct Forms { int64_t number; uint8_t* memory; TPosition local;", *declarations()]
    lines += [f"void form{k}() {{ {form.text}; }}" for k, form in enumerate(FORMS)] + ["};"]
    source = tmp_path / "forms.cpp"
    source.write_text("\n".join(lines) + "\n")
    every = "-ferror-limit=0" if "clang" in compiler else "-fmax-errors=0"
    answer = subprocess.run(
        [compiler, every, "-std=c++17", "-fsyntax-only", "-w", f"-D__DAV_{core}__=1", f"-I{HERE}"]
        + [f"-I{HERE.parent / 'include'}", str(source)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    wrong = {lines[int(at) - 1] for at in re.findall(r"forms\.cpp:(\d+):\d+: error", answer.stderr)}
    assert not wrong, wrong
    assert answer.returncode == 0, answer.stderr
