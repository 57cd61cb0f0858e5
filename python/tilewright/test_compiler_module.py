# SPDX-License-Identifier: Apache-2.0
"""`_compiler`: the bindings alone; the rules have their tests beside the builder."""

from __future__ import annotations

import ast
import threading
from pathlib import Path

import numpy as np
import pytest

from tilewright import _compiler, _runtime


def new_builder() -> _compiler.KernelBuilder:
    return _compiler.KernelBuilder("kernel", _compiler.Place("kernel.py", 1, 1))


def doubling(size: int = 8) -> _compiler.KernelModule:
    """B = A * 2, in one block."""
    b = new_builder()
    a_tensor = b.tensor("A", [size], "float32")
    b_tensor = b.tensor("B", [size], "float32")
    b.begin_launch([1], [128])
    (i,) = b.begin_parallel([size], ["i"])
    b.store(b_tensor, [i], b.binary("mul", b.load(a_tensor, [i]), 2))
    b.end_parallel()
    b.end_launch()
    module = b.finish()
    assert module is not None
    return module


def messages(b: _compiler.KernelBuilder) -> list[str]:
    return [diagnostic.message for diagnostic in b.diagnostics]


def names(body: list[ast.stmt]) -> set[str]:
    """The public names that a stub's body declares."""
    declared = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    declared |= {n.target.id for n in body if isinstance(n, ast.AnnAssign)}  # type: ignore[union-attr]
    return {name for name in declared if not name.startswith("_")}


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_stub_names_what_the_module_has() -> None:
    stub = ast.parse(Path(__file__).with_name("_compiler.pyi").read_text())
    assert names(stub.body) == public(_compiler)
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and node.name != "LoopKind":
            assert names(node.body) == public(getattr(_compiler, node.name)), node.name


def test_numbers_become_literals_of_the_operand() -> None:
    b = new_builder()
    small = b.scalar("small", "int8")
    wide = b.scalar("wide", "int64")
    half = b.scalar("half", "float16")
    flag = b.scalar("flag", "bool")
    b.begin_launch([1], [128])
    assert b.binary("add", wide, 1).dtype == "int64"
    # Beside less than 32 bits an int32, as in TVM (docs/language-rules.md).
    assert b.binary("add", small, 1).dtype == "int32"
    assert b.binary("add", small, np.int64(1)).dtype == "int32"
    assert b.binary("add", half, 2).dtype == "float16"
    assert b.binary("add", half, 2.0).dtype == "float32"
    assert b.binary("add", half, np.float64(2)).dtype == "float32"
    assert b.binary("and", flag, True).dtype == "bool"
    assert b.constant_value(b.binary("floordiv", -7, 2)) == -4
    assert b.constant(3).dtype == "int32"
    assert b.constant(2**40).dtype == "int64"
    assert b.constant(3, "uint8").dtype == "uint8"
    assert b.constant(2**64 - 1, "uint64").dtype == "uint64"
    assert b.constant(2**64 - 1).dtype == "uint64"
    assert b.constant(True).dtype == "bool"
    assert not messages(b)


def test_integers_beyond_64_bits_are_errors_of_the_kernel() -> None:
    b = new_builder()
    b.at("kernel.py", 7, 3, 9)
    assert b.constant(2**70).is_poison
    assert b.constant(2**65, "uint64").is_poison
    assert b.constant(2**63, "int64").is_poison
    assert messages(b) == [
        f"the integer {2**70} does not fit int64",
        f"the integer {2**65} does not fit uint64",
        f"the integer {2**63} does not fit int64",
    ]


def test_wrong_python_types_are_type_errors() -> None:
    b = new_builder()
    with pytest.raises(TypeError):
        b.binary("add", "one", 2)
    with pytest.raises(TypeError):
        b.fill("buffer", 2)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _compiler.Value()


def test_unknown_dtypes_are_value_errors() -> None:
    b = new_builder()
    with pytest.raises(ValueError, match="there is no dtype 'float33'"):
        b.scalar("x", "float33")


def test_diagnostics_are_objects() -> None:
    b = new_builder()
    b.begin_launch([1], [128])
    b.at("kernel.py", 4, 5, 9)
    b.alloc([4], "float32", "shared", "S")
    b.at("kernel.py", 6, 5)
    b.enter_macro("step", _compiler.Place("kernel.py", 20, 1))
    buffer = b.alloc([4], "float32", "shared", "R")
    assert b.load(buffer, [0, 0]).is_poison
    b.leave_macro()
    (diagnostic,) = b.diagnostics
    assert b.has_errors
    assert diagnostic.severity == "error"
    assert (diagnostic.place.file, diagnostic.place.line, diagnostic.place.column) == (
        "kernel.py",
        6,
        5,
    )
    assert diagnostic.message == "'R' has 1 dim but is indexed with 2 indices"
    assert [note.message for note in diagnostic.notes] == [
        "'R' was allocated here",
        "in the macro 'step', called here",
    ]
    assert diagnostic.render().startswith("kernel.py:6:5: error: 'R' has 1 dim")
    assert "\033[" in diagnostic.render(color=True)
    assert b.finish() is None


def test_front_ends_make_diagnostics_too() -> None:
    place = _compiler.Place("kernel.py", 3, 2, 5)
    note = _compiler.Note(place, "see here")
    diagnostic = _compiler.Diagnostic("unsupported", place, "no such thing", [note])
    assert diagnostic.severity == "unsupported"
    assert diagnostic.notes[0].place == place
    assert "kernel.py:3:2: unsupported: no such thing" in str(diagnostic)
    with pytest.raises(ValueError, match="severity is"):
        _compiler.Diagnostic("fatal", place, "m")
    b = new_builder()
    b.at("kernel.py", 9, 1)
    b.error("'x' is not defined", [note])
    assert messages(b) == ["'x' is not defined"]


def test_queries_and_regions() -> None:
    b = new_builder()
    rows = b.symbol("M")
    tensor = b.tensor("A", [rows, 32], "float16")
    assert b.rank(tensor) == 2
    assert b.dtype(tensor) == "float16"
    assert b.scope(tensor) == "global"
    assert b.name(tensor) == "A"
    first, second = b.shape(tensor)
    assert isinstance(first, _compiler.Value)
    assert second == 32
    region = _compiler.Region(tensor, [0, first], [1, 4], [True, False])
    assert region.offsets[0] == 0
    assert region.extents == [1, 4]
    assert region.dropped == [True, False]
    assert b.constant_value(first) is None


def test_compiles_and_runs() -> None:
    artifact, diagnostics = _compiler.compile(doubling())
    assert artifact is not None
    assert not diagnostics
    assert artifact.name == "kernel"
    assert artifact.library.startswith(b"\x7fELF")
    assert '"params"' in artifact.manifest
    assert {name for name, _ in artifact.times} >= {"passes", "emit"}
    assert hasattr(_runtime, "Kernel")


def test_inspects_every_stage() -> None:
    stages = dict(_compiler.inspect(doubling()))
    assert "tile.parallel" in stages["tile"]
    assert "define" in stages["llvm"]
    assert stages["asm"]


def test_unknown_targets_have_a_place() -> None:
    options = _compiler.CompileOptions(target="abacus")
    assert options.target == "abacus"
    artifact, diagnostics = _compiler.compile(doubling(), options)
    assert artifact is None
    assert diagnostics[0].severity == "unsupported"
    assert diagnostics[0].place.file == "kernel.py"
    with pytest.raises(ValueError, match="there is no target 'abacus'"):
        _compiler.inspect(doubling(), options)


def test_one_kernel_compiles_on_several_threads() -> None:
    module = doubling()
    sizes: list[int] = []

    def work() -> None:
        artifact, _ = _compiler.compile(module)
        assert artifact is not None
        sizes.append(len(artifact.library))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sizes) == 4
    assert len(set(sizes)) == 1
