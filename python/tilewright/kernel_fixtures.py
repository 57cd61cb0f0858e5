# SPDX-License-Identifier: Apache-2.0
"""Kernels written in C by hand, which stand in for compiled ones in the tests of the runtime."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

INCLUDE = Path(__file__).resolve().parents[2] / "include"


def symbol_dim(number: int, coefficient: int = 1, constant: int = 0) -> dict[str, Any]:
    """The dim `coefficient * symbol + constant`."""
    return {"const": constant, "terms": [[coefficient, number]]}


def tensor(name: str, shape: list[Any], dtype: str = "float32", **more: object) -> dict[str, Any]:
    entry = {"kind": "tensor", "name": name, "dtype": dtype, "shape": shape, "strides": None}
    return entry | {"align": 1, "used": True} | more


def scalar(name: str, dtype: str) -> dict[str, Any]:
    return {"kind": "scalar", "name": name, "dtype": dtype}


def manifest_of(name: str, params: list[dict[str, Any]], **more: object) -> str:
    fields: dict[str, Any] = {"format": 1, "name": name, "target": "cpu", "cpu": "x86-64"}
    fields |= {"params": params, "symbols": [], "scratch_bytes": 0, "asserts": []}
    return json.dumps(fields | more)


def build_library(folder: Path, name: str, body: str, grid: str = "1, 1, 1") -> Path:
    """Compiles a kernel. `body` runs once per block `b`; `slots`, `scratch`, `launch` are as in
    kernel_abi.h; `grid` is a C expression list that may use `slots`."""
    compiler = shutil.which("clang-22") or shutil.which("clang") or shutil.which("gcc")
    assert compiler, "no C compiler"
    source = folder / f"{name}.c"
    source.write_text(f"""
#include "tilewright/kernel_abi.h"
#include <string.h>
void {name}_grid(const uint64_t *slots, int64_t grid[3]) {{
  int64_t g[3] = {{{grid}}}; memcpy(grid, g, sizeof g);
}}
void {name}_blocks(const uint64_t *slots, char *scratch, int64_t begin, int64_t end,
                   TwLaunch *launch) {{
  for (int64_t b = begin; b < end; ++b) {{
    if (launch->stop) launch->leave(launch);
    {body}
  }}
}}
""")
    library = folder / f"{name}.so"
    command = [compiler, "-O1", "-shared", "-fPIC", f"-I{INCLUDE}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return library
