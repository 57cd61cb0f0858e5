# SPDX-License-Identifier: Apache-2.0
"""The kernels in tile-ir.md are the lit tests of compiler/ir/kernels, word for word."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OP = re.compile(r'^def (?:Tile|Ascend|Cuda)_\w+Op\b[^"]*"(\w+)"', re.M)
BLOCK = re.compile(r"<!-- (compiler/\S+\.mlir) -->\n\n```mlir\n(.*?)```\n", re.S)


TILE = ("structure_ops", "memory_ops", "tensor_ops", "thread_ops")


def test_kernels_are_those_of_the_lit_tests() -> None:
    """A test's own first comment lines are not part of its kernel."""
    blocks = BLOCK.findall((ROOT / "docs/tile-ir.md").read_text())
    for path, shown in blocks:
        text = (ROOT / path).read_text()
        kernel = re.sub(r"\A(//[^\n]*\n|\n)*", "", text)
        assert shown == kernel, f"docs/tile-ir.md differs from {path}"
    folder = ROOT / "compiler/ir/kernels"
    assert {path for path, _ in blocks} == {str(f.relative_to(ROOT)) for f in folder.glob("*.mlir")}


def test_every_op_is_on_the_page() -> None:
    page = BLOCK.sub("", (ROOT / "docs/tile-ir.md").read_text())
    groups = [*(ROOT / "compiler/ir").glob("*_ops.td")]
    ops = [
        f"{'tile' if group.stem in TILE else group.stem.removesuffix('_ops')}.{name}"
        for group in groups
        if not group.stem.startswith("npu_")
        for name in OP.findall(group.read_text())
    ]
    assert len(ops) > 40
    assert [op for op in ops if not re.search(rf"`[^`\n]*\b{op}\b", page)] == []
