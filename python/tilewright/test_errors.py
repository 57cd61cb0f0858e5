# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys
import traceback

import pytest

from tilewright.errors import (
    CompileError,
    CompilerMissingError,
    Diagnostic,
    Note,
    Place,
    UnsupportedError,
    compile_error,
    load_compiler,
    raise_at_kernel,
    warning_text,
)


@pytest.fixture
def kernel_file(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text("def kernel():\n\tx = T.copy(A, B)\n    宽 = é + y\n")
    return str(path)


def test_render(kernel_file):
    note = Note(Place(kernel_file, 1, 5, 11), "declared here")
    error = Diagnostic("error", Place(kernel_file, 2, 6, 18), "sizes 4 and 8 differ", [note])
    assert error.render() == (
        f"{kernel_file}:2:6: error: sizes 4 and 8 differ\n"
        "    \tx = T.copy(A, B)\n"
        "    \t    ^~~~~~~~~~~~\n"
        f"{kernel_file}:1:5: note: declared here\n"
        "    def kernel():\n"
        "        ^~~~~~"
    )


def test_wide_characters(kernel_file):
    error = Diagnostic("unsupported", Place(kernel_file, 3, 9, 10), "no")
    assert error.render().splitlines()[1:] == ["        宽 = é + y", "             ^"]
    assert error.render().startswith(f"{kernel_file}:3:9: unsupported: no")


def test_without_source():
    assert Diagnostic("error", Place("gone.py", 3, 9), "no").render() == "gone.py:3:9: error: no"
    assert Diagnostic("internal", Place(), "no").render() == "internal error: no"


def test_errors_come_before_warnings():
    place = Place("gone.py", 3, 9)
    told = [Diagnostic("warning", place, "odd"), Diagnostic("error", place, "wrong")]
    assert str(compile_error(told, "kernel")) == (
        "1 error in kernel 'kernel'\ngone.py:3:9: error: wrong\ngone.py:3:9: warning: odd"
    )


def test_a_warning_says_its_other_places():
    notes = [
        Note(Place("k.py", 7, 5), "here"),
        Note(Place("m.py", 2, 1), "there"),
        Note(Place(), "x"),
    ]
    found = Diagnostic("warning", Place("k.py", 9, 5), "nothing orders them", notes)
    assert warning_text(found) == "nothing orders them; line 7: here; m.py:2: there; x"


def test_colors(kernel_file, monkeypatch):
    error = compile_error([Diagnostic("error", Place(kernel_file, 1, 5, 11), "no")], "kernel")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in str(error)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in str(error)
    assert str(error).startswith("1 error in kernel 'kernel'\n")


def test_kinds():
    place = Place("k.py", 1, 1)
    both = [Diagnostic("unsupported", place, "a"), Diagnostic("error", place, "b")]
    assert type(compile_error(both)) is CompileError
    assert type(compile_error(both[:1])) is UnsupportedError


def test_what_a_target_refuses_is_no_mistake():
    place = Place("k.py", 1, 1)
    refused = Diagnostic("error", place, "unsupported on ascend: a gemm of float32")
    wrong = Diagnostic("error", place, "c has 3 rows", python=ValueError)
    assert type(compile_error([refused])) is UnsupportedError
    assert isinstance(compile_error([refused]), NotImplementedError)
    assert str(compile_error([refused])).endswith("error: unsupported on ascend: a gemm of float32")
    both = compile_error([refused, wrong])
    assert isinstance(both, NotImplementedError) and not isinstance(both, UnsupportedError)
    other = compile_error([wrong, refused])
    assert isinstance(other, ValueError) and not isinstance(other, NotImplementedError)


def test_no_compiler(monkeypatch):
    monkeypatch.setitem(sys.modules, "tilewright._compiler", None)
    monkeypatch.delattr("tilewright._compiler", raising=False)
    with pytest.raises(CompilerMissingError, match="_compiler is not built; run 'make build'"):
        load_compiler()


def test_a_compiler_that_cannot_be_loaded(tmp_path):
    """A file that is no library, in the place of the module, in a process of its own."""
    (tmp_path / "_compiler.so").write_text("")
    code = f"import tilewright; tilewright.__path__[:] = [{str(tmp_path)!r}, *tilewright.__path__]"
    answer = subprocess.run(
        [sys.executable, "-c", f"{code}\nfrom tilewright import _compiler"],
        capture_output=True,
        text=True,
    )
    last = answer.stderr.splitlines()[-1]
    assert "CompilerMissingError: tilewright._compiler can't be loaded (" in last
    assert last.endswith("; run 'make build' in a clone, or install a wheel of tilewright")


def test_the_kernel_is_the_last_frame(kernel_file):
    error = compile_error([Diagnostic("error", Place(kernel_file, 2, 6), "no")], "my_kernel")
    with pytest.raises(CompileError) as caught:
        raise_at_kernel(error)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno, last.name) == (kernel_file, 2, "my_kernel")


@pytest.mark.parametrize(
    "place, columns", [((3, 9, 10), (10, 12)), ((2, 6, 18), (5, 17)), ((2, 0, 0), (1, 17))]
)
def test_python_marks_the_columns_of_the_kernel(kernel_file, place, columns):
    """Python counts bytes of UTF-8 from 0; a place without columns is a whole line, unmarked."""
    error = compile_error([Diagnostic("error", Place(kernel_file, *place), "no")], "my_kernel")
    with pytest.raises(CompileError) as caught:
        raise_at_kernel(error)
    last = list(traceback.walk_tb(caught.value.__traceback__))[-1][0]
    (found,) = set(last.f_code.co_positions()) - {(0, 1, 0, 0)}
    assert found == (place[0], place[0], *columns)
