# SPDX-License-Identifier: Apache-2.0
"""Runs every code block of the documentation: it must work as printed."""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doc_blocks import Block, all_blocks, blocks_of
from sources import ROOT

# What runs in a block of shell commands; `make` commands run the gate, so they cannot run in it.
SHELL_COMMANDS = (
    "tilewright",
    "python",
    ".venv/bin/",
    "build/",
    "clang",
    "cmake",
    "cc",
    "./",
    "cd",
    "cat",
)
MAKE_TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))


def environment():
    """Finds the package, its command and the build's programs."""
    path = [ROOT / ".venv/bin", Path(sys.executable).parent, ROOT / "build/bin"]
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT / "python"),
        "PATH": ":".join([*map(str, path), os.environ["PATH"]]),
    }


def run(command, cwd):
    """Fails the test with all output."""
    answer = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert answer.returncode == 0, f"{command}\n{answer.stdout}\n{answer.stderr}"


def compile_only(block, folder):
    """Checks C or C++ against the public headers."""
    compiler = shutil.which("clang++-22" if block.language != "c" else "clang-22") or "c++"
    suffix, standard = (".c", "c11") if block.language == "c" else (".cpp", "c++20")
    source = folder / f"block{suffix}"
    source.write_text(block.text)
    run([compiler, "-fsyntax-only", f"-std={standard}", f"-I{ROOT}/include", source], folder)


def run_shell(block, folder):
    """Runs the commands that can run here; checks that a make command has its target."""
    for line in filter(None, (line.split("#")[0].strip() for line in block.text.splitlines())):
        make = re.match(r"make ([a-z]+)", line)
        if make:
            assert make[1] in MAKE_TARGETS, line
        elif not line.startswith(("git clone", "cd tilewright", "pip install")):
            command = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", line)
            assert command.startswith(SHELL_COMMANDS), f"cannot tell how to check: {line}"
            run(["bash", "-euc", line], ROOT)


def joined(blocks):
    """The shell commands of a page are one block: one command may build what a later one runs."""
    first_of = {}
    for block in blocks:
        key = (block.document, block.language)
        if block.language != "sh" or block.not_run:
            yield block
        elif key not in first_of:
            first_of[key] = block
    for first in first_of.values():
        same = [
            b for b in blocks if (b.document, b.language, b.not_run) == (first.document, "sh", None)
        ]
        yield dataclasses.replace(first, text="\n".join(block.text for block in same))


@pytest.mark.parametrize(
    "block", [pytest.param(block, id=block.name()) for block in joined(all_blocks())]
)
def test_block_works_as_printed(block, tmp_path):
    if block.not_run:
        pytest.skip(f"documentation block not run: {block.not_run}")
    if block.language == "python":
        program = tmp_path / f"{block.document.stem}.py"
        program.write_text(block.text)
        run([sys.executable, program], tmp_path)
    elif block.language == "sh":
        run_shell(block, tmp_path)
    elif block.language == "mlir":
        source = tmp_path / "block.mlir"
        source.write_text(block.text)
        run(["tilewright-opt", source, "-o", os.devnull], tmp_path)
    else:
        compile_only(block, tmp_path)


def compile_in(folder, kernel, *options):
    """What `tilewright compile` says of the kernel, which is kernel.py in `folder`."""
    (folder / "kernel.py").write_text(kernel)
    sizes = ["M=200", "N=300", "K=100"]
    command = [sys.executable, "-m", "tilewright", "compile", "kernel.py", *options]
    command += ["-o", "kernel.so", "--args", *sizes]
    answer = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
    return answer.stderr


def test_the_readme_says_what_happens_to_its_kernel_when_it_is_edited(tmp_path):
    readme = (ROOT / "README.md").read_text()
    kernel = re.search(r"^```python\n(.*?)^```", readme, re.M | re.S)[1].split("\na = ")[0]
    edit = re.search(r"With `(T\.gemm\(.*?\))` in the kernel above", readme)[1]
    said = compile_in(tmp_path, re.sub(r"T\.gemm\(.*?\)", edit, kernel))
    printed = re.findall(r"^    (kernel\.py:.*)$", readme, re.M)
    assert re.findall(r"kernel\.py:.* error: .*", said) == printed

    target = "--target", "ascend"
    assert compile_in(tmp_path, kernel, *target) == ""
    of_tensors = re.compile(r"(T.Tensor.*|_shared = .*)float32")
    assert compile_in(tmp_path, of_tensors.sub(r"\1float16", kernel), *target) == ""


def test_python_blocks_are_one_program_with_true_line_numbers():
    text = "# T\n```python\nx = 1\n```\ntext\n```python\nprint(x)\n```\n```sh\nmake test\n```\n"
    shell, program = blocks_of(Path("doc.md"), text)
    assert program.text.splitlines()[2] == "x = 1"
    assert program.text.splitlines()[6] == "print(x)"
    assert shell.text == "make test\n"


def test_a_block_can_be_taken_out_with_a_reason():
    text = "<!-- not run: needs a GPU -->\n```python\nx\n```\n"
    assert [block.not_run for block in blocks_of(Path("doc.md"), text)] == ["needs a GPU"]


def test_shell_blocks_of_a_page_are_one():
    sh, other = "```sh\n{}\n```\n", "```python\nx\n```\n"
    text = (
        sh.format("cat a") + other + "<!-- not run: no -->\n" + sh.format("b") + sh.format("cat c")
    )
    blocks = [*blocks_of(Path("a.md"), text), *blocks_of(Path("b.md"), sh.format("cat d"))]
    found = list(joined(blocks))
    assert sorted(b.text.split()[-1] for b in found if b.language == "sh") == ["b", "c", "d"]
    assert "cat a\n\ncat c\n" in [b.text for b in found] and len(found) == 4


def test_a_wrong_block_fails(tmp_path):
    with pytest.raises(AssertionError):
        run_shell(Block(Path("d.md"), 1, "sh", "make nothing\n"), tmp_path)
    with pytest.raises(AssertionError):
        compile_only(Block(Path("d.md"), 1, "c++", "int f( {"), tmp_path)
