# SPDX-License-Identifier: Apache-2.0
"""Each form of call in call_forms.txt compiles, with each compiler and for each kind of core."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FORMS = [
    line.split("|", 1)[1]
    for line in (HERE / "call_forms.txt").read_text().splitlines()
    if not line.startswith("#")
]

# Every form may use these.
VARIABLES = """
LocalTensor<half> dst, s0, s1, a1, a2, b2; LocalTensor<float> f0, f1, c0, bt;
LocalTensor<uint16_t> u0, u1, u2; LocalTensor<int16_t> h16; LocalTensor<int8_t> i8, i8a2, i8b2;
LocalTensor<int32_t> q0, q1, qc; LocalTensor<uint8_t> tmp8; LocalTensor<uint32_t> off;
LocalTensor<uint64_t> u64; GlobalTensor<half> g; GlobalTensor<float> gf; GlobalTensor<int32_t> gi;
GlobalTensor<uint64_t> g64; uint64_t mask[2] = {1, 1}; const uint64_t cmask[2] = {1, 1};
uint64_t m = 64; uint8_t rt = 1; int32_t count = 64; half sc = (half)1.0; uint8_t pad[4] = {0};
BinaryRepeatParams brp; UnaryRepeatParams urp; GatherMaskParams gmp; DataCopyParams dcp;
DataCopyEnhancedParams dce; uint64_t tu0[16], tu1[16]; void* gp = nullptr;
""".replace("\n", " ")


@pytest.mark.parametrize("compiler", ["clang++-22", "g++-12"])
@pytest.mark.parametrize("core", ["VEC", "CUBE"])
def test_forms(tmp_path: Path, compiler: str, core: str) -> None:
    """One function each, so that an error says which form it is."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    lines = ['#include "kernel_operator.h"', "using namespace AscendC;", f"#define V {VARIABLES}"]
    lines += [f"void form{k}() {{ V {form}; }}" for k, form in enumerate(FORMS)]
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
