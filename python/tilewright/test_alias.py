# SPDX-License-Identifier: Apache-2.0
"""`import tilelang` in fresh processes."""

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def python(code: str, *paths: Path) -> subprocess.CompletedProcess:
    import os

    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [PACKAGE, *paths]))}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)


def other_package(folder: Path) -> Path:
    (folder / "tilelang").mkdir()
    (folder / "tilelang" / "__init__.py").write_text("name = 'other'\n")
    return folder


def test_alias_is_the_same_object():
    code = """
import tilewright, tilelang
import tilelang.language as T
from tilelang.profiler import do_bench
import tilewright.language
assert tilelang is tilewright
assert T is tilewright.language
assert tilelang.language is T
assert T.__spec__.name == "tilewright.language", T.__spec__
from tilelang import nothing_like_it
"""
    done = python(code)
    assert "cannot import name 'nothing_like_it'" in done.stderr, done.stderr


def test_another_tilelang_wins(tmp_path):
    other = other_package(tmp_path)
    done = python("import tilewright, tilelang; print(tilelang.name)", other)
    assert done.stdout == "other\n", done.stderr
    done = python("import tilewright.as_tilelang, tilelang; print(tilelang.__name__)", other)
    assert done.stdout == "tilewright\n", done.stderr
    assert "'import tilelang' gives tilewright, not" in done.stderr
    done = python("import tilelang, tilewright.as_tilelang", other)
    assert "another tilelang is already imported" in done.stderr


def test_importing_loads_little():
    code = """
import sys, tilewright, tilewright.language
heavy = {"torch", "numpy", "tilewright._compiler", "inspect", "ast"} & set(sys.modules)
assert not heavy, heavy
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
