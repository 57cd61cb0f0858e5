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


WRITTEN = {
    "from tilelang import nothing": "cannot import name 'nothing' from 'tilelang'",
    "from tilelang.language import alloc_shred": "cannot import name 'alloc_shred' from "
    "'tilelang.language'; did you mean 'alloc_shared'?",
    "from tilelang.layout import (\n Layout, nothing\n)": "cannot import name 'nothing' from "
    "'tilelang.layout'",
    "from tilelang.utils.tensor import nothing": "cannot import name 'nothing' from "
    "'tilelang.utils.tensor'",
    "from tilelang.jit import nothing": "cannot import name 'nothing' from 'tilelang.jit'",
    "from tvm import nothing": "cannot import name 'nothing' from 'tvm'",
    "import tilelang.nothing": "No module named 'tilelang.nothing'",
    "import tilelang.utils.nothing": "No module named 'tilelang.utils.nothing'",
    "import tilelang.engine.nothing": "No module named 'tilelang.engine.nothing'",
    # Whoever writes our name gets ours.
    "from tilewright.layout import nothing": "cannot import name 'nothing' from "
    "'tilewright.layout'",
    "import tilewright.nothing": "No module named 'tilewright.nothing'",
    "tilelang.layout.nothing": "tilelang.layout has no 'nothing'",
    "tilelang.layout.make_swizled_layout": "tilelang.layout has no 'make_swizled_layout'; did you "
    "mean 'make_swizzled_layout'?",
    "tilelang.jitt": "tilelang has no 'jitt'; did you mean 'jit'?",
}


def test_a_module_hides_no_function_of_its_name():
    code = """
import tilewright, tilelang, tilelang.tools
from tilelang.engine.lower import lower
from tilelang.tools.plot_layout import plot_layout
import tilelang.language.kernel
assert lower is tilelang.lower is tilelang.engine.lower is tilewright.lowering.lower
assert plot_layout is tilelang.tools.plot_layout
assert tilelang.language.kernel is tilelang.language.Kernel
assert callable(tilelang.jit)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_import_errors_have_the_name_that_was_written():
    """Not that of the module of ours behind it."""
    code = f"""
import tilelang.layout
for line in {list(WRITTEN)!r}:
    try:
        exec(line)
    except (ImportError, AttributeError) as error:
        print(str(error).partition(" (")[0])
print(hasattr(tilelang.layout, "nothing"), getattr(tilelang.layout, "nothing", 3))
"""
    done = python(code)
    assert done.stdout.splitlines() == [*WRITTEN.values(), "False 3"], done.stderr


def test_a_script_that_knows_only_our_name_is_told_that(tmp_path):
    """Though another module has imported the package by TileLang's name. What says more than that a
    name is missing stays as it is."""
    (tmp_path / "other.py").write_text("import tilelang, tilelang.language\n")
    code = """
import other, tilewright, tilewright.language as T
try: tilewright.compil
except AttributeError as error: print(error)
try: T.topk
except AttributeError as error: print(type(error).__name__, error)
"""
    run = python(code, tmp_path)
    missing, unsupported = run.stdout.splitlines()
    assert missing == "tilewright has no 'compil'; did you mean 'compile'?", run.stderr
    assert unsupported.startswith("Unsupported") and "T.topk is not supported yet" in unsupported


def test_another_tilelang_wins(tmp_path):
    other = other_package(tmp_path)
    done = python("import tilewright, tilelang; print(tilelang.name)", other)
    assert done.stdout == "other\n", done.stderr
    done = python("import tilewright.as_tilelang, tilelang; print(tilelang.__name__)", other)
    assert done.stdout == "tilewright\n", done.stderr
    assert "'import tilelang' gives tilewright, not" in done.stderr
    done = python("import tilelang, tilewright.as_tilelang", other)
    assert "another tilelang is already imported, from" in done.stderr


def test_the_start_of_python(tmp_path):
    code = "import sys, tilewright_alias; print('tilewright' in sys.modules); "
    done = python(code + "import tilelang.language as T; print(T.__name__)")
    assert done.stdout == "False\ntilewright.language\n", done.stderr
    done = python(code + "import tilelang; print(tilelang.name)", other_package(tmp_path))
    assert done.stdout == "False\nother\n", done.stderr
    assert (PACKAGE / "tilewright_alias.pth").read_text() == "import tilewright_alias\n"


def test_importing_loads_little():
    code = """
import sys, tilewright, tilewright.language
heavy = {"torch", "numpy", "tilewright._compiler", "inspect", "ast"} & set(sys.modules)
assert not heavy, heavy
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_public_names():
    code = """
import tilewright
homes = dict(tilewright._HOMES)
for name in homes:
    assert callable(getattr(tilewright, name)), name
for name in homes:  # no module of ours takes the place of a name
    assert callable(getattr(tilewright, name)), name
assert callable(tilewright.jit) and tilewright.cdiv(5, 2) == 3
assert tilewright.next_power_of_2(5) == 8 and tilewright.next_power_of_2(8) == 8
assert "jit" in dir(tilewright)
tilewright.disable_cache(); assert not tilewright.is_cache_enabled(); tilewright.enable_cache()
try:
    tilewright.autotune
except AttributeError as error:
    assert str(error) == "tilewright has no 'autotune' yet"
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_tvm_of_tilelang(tmp_path):
    """TileLang brings a TVM, so `tvm` is importable behind it: ours, if no other is installed."""
    code = """
import {name}
from tvm import tir, DataType
from tvm.target import Target
import tvm, tvm.tir, tilelang
assert tilelang.tvm is tvm and tvm.tir is tir
print(tvm.__name__, DataType("float16").bits, tir.PrimExpr.__name__, Target("c").kind)
"""
    done = python(code.format(name="tilelang"))
    assert done.stdout == "tilewright.tvm 16 Expr cpu\n", done.stderr
    done = python("import tilewright, tvm")  # nobody has asked for TileLang
    assert "No module named 'tvm'" in done.stderr
    (tmp_path / "tvm").mkdir()
    (tmp_path / "tvm" / "__init__.py").write_text("name = 'theirs'\n")
    done = python("import tilelang, tvm; print(tvm.name)\nimport tvm.tir", tmp_path)
    assert done.stdout == "theirs\n" and "No module named 'tvm.tir'" in done.stderr, done.stderr
