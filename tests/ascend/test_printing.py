# SPDX-License-Identifier: Apache-2.0
"""What kernels print: formats as C has them, and no line of two cores."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright
import tilewright.language as T

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


def kernel(blocks: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((4, 12), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(blocks, is_npu=True, threads=1) as cid:
            a = T.alloc_ub((4, 12), "float32")
            T.copy(A, a)
            T.printf('cid %d and x=%f, "%s" done\n', cid, a[0, 3], "50%")
            T.printf("no end %d;", cid)
            T.printf("%5.2f|%x|%u|%%\n", a[0, 1], cid + 10, cid - 1)
            T.dump_tensor(a, 7, 15)

    return tilewright.compile(main, target="ascend", pass_configs=AUTOMATIC)


def test_formats(capfd: pytest.CaptureFixture[str]) -> None:
    made = kernel(1)
    text = made.get_kernel_source()
    made(np.arange(48, dtype=np.float32).reshape(4, 12))
    assert capfd.readouterr().out == (
        'cid 0 and x=3.000000, "50%" done\n'
        "no end 0; 1.00|a|18446744073709551615|%\n"
        "DumpTensor 7: 12 elements of block 0\n0 1 2 3 4 5 6 7 8 9 10 11\n"
        "DumpTensor 7: 3 elements of block 0\n12 13 14\n"
    )
    assert text.count("PRINTF(") == 3
    # The scalar unit, which reads the elements, has waited for the copy once.
    assert text.count("SetFlag<HardEvent::MTE2_S>") == 1 and "PipeBarrier" not in text
    assert 'PRINTF("cid %ld and x=%f, \\"50%%\\" done\\n", int64_t(cid), float(' in text


def test_lines_of_many_cores(capfd: pytest.CaptureFixture[str]) -> None:
    """Each call of a core is printed at once."""
    kernel(8)(np.arange(48, dtype=np.float32).reshape(4, 12))
    printed = capfd.readouterr().out
    for block in range(8):
        assert f'cid {block} and x=3.000000, "50%" done\n' in printed
        assert f" 1.00|{block + 10:x}|" in printed
        assert f"12 elements of block {block}\n0 1 2 3 4 5 6 7 8 9 10 11\n" in printed
        assert f"3 elements of block {block}\n12 13 14\n" in printed


@T.macro
def _scaled_rows(A, tile, first, count):  # type: ignore[no-untyped-def]
    last = first + count
    T.copy(A[first, 0], tile)
    T.tile.add(tile, tile, T.cast(last * count, "float32"))


@T.macro
def _named_body(A, B, bid, core):  # type: ignore[no-untyped-def]
    """What both styles of a kernel hold."""
    tile = T.alloc_ub((32, 16), "float32")
    row = bid * 64 + core * 32
    width = 16
    same = row
    _scaled_rows(A, tile, same, bid + 3)
    double = tile[0, 3] * 2.0
    most = T.if_then_else(double > 3.0, double, bid * 1.0)
    for i in T.serial(4):
        there = row + i * 8
        if there < 200:
            T.tile.mul(tile[i * 8 : i * 8 + 8, :], tile[i * 8 : i * 8 + 8, :width], most)
    for i in T.serial(2):
        there = row + i * 16
        T.copy(tile[i * 16, 0], B[there : there + 16, :])


def _named_lazily() -> Any:
    @T.prim_func
    def main(A: T.Tensor((256, 16), "float32"), B: T.Tensor((256, 16), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(4, is_npu=True) as (bid, core):
            _named_body(A, B, bid, core)

    return tilewright.compile(main, target="ascend", out_idx=[1], pass_configs=AUTOMATIC)


@tilewright.jit(target="ascend", pass_configs=AUTOMATIC)
def _named_eagerly(A):  # type: ignore[no-untyped-def]
    rows = T.const("rows")
    A: T.Tensor[[rows, 16], "float32"]
    B = T.empty((rows, 16), "float32")
    with T.Kernel(4, is_npu=True) as (bid, core):
        _named_body(A, B, bid, core)
    return B


@pytest.mark.parametrize("is_lazy", [True, False])
def test_variables_keep_their_names(is_lazy: bool) -> None:
    given = np.arange(256 * 16, dtype=np.float32).reshape(256, 16) % 7
    made = _named_lazily() if is_lazy else _named_eagerly.compile(given)
    text = made.get_kernel_source()
    for line in (
        "const int64_t bid = GetBlockIdx() / 2;",
        "const int64_t core = GetBlockIdx() % 2;",
        "const int64_t row = bid * 64 + core * 32;",
        "const int64_t count = bid + 3;",
        "const int64_t last = row + count;",
        "const float double_1 = ",
        "const float most = double_1 > 3.0f ? double_1 : float(int64_t(bid));",
    ):
        assert line in text, text
    # A name is free again after its loop; constants and second names stand for themselves.
    assert text.count("for (int64_t i = 0;") == 2
    assert "const int64_t there = row + i * 8;" in text
    assert "const int64_t there = row + i * 16;" in text
    assert "width" not in text and "same" not in text and "first" not in text
    found = made(given)
    rows = np.arange(0, 256, 32)
    blocks = rows // 64
    tiles = given.reshape(8, 32, 16) + ((rows + blocks + 3) * (blocks + 3))[:, None, None]
    double = tiles[:, 0, 3] * 2
    most = np.where(double > 3, double, blocks)[:, None, None]
    isIn = (np.arange(256).reshape(8, 32, 1) // 8 * 8) < 200
    assert np.array_equal(found, np.where(isIn, tiles * most, tiles).reshape(256, 16))


def _reserved() -> list[str]:
    """Names of the interface, of our headers, of C++ and of the emitted text itself."""
    root = Path(__file__).parents[2]
    names = {"int64_t", "register", "main", "std", "linux", "NULL", "given_gm", "cid", "vid"}
    names |= {"named_kernel", "own_function"}
    for line in (root / "simulator/ascendc/interface_names.txt").read_text().splitlines():
        if not line.startswith("#"):
            names |= {name for name in line.split("|")[2].split() if name.isidentifier()}
    for header in (root / "device/ascend").glob("*.h"):
        names |= set(re.findall(r"^[\w<>:&* ]+ (\w+)\(", header.read_text(), re.MULTILINE))
    return sorted(names - {"operator", "half"} | {"half"})


def test_no_name_clashes(tmp_path: Path) -> None:
    """A kernel whose variables are called as what the text needs, in all that it can need."""
    lines = "\n".join(f"        {name} = number + {k}" for k, name in enumerate(_reserved()))
    total = " + ".join(name for name in _reserved())
    (tmp_path / "clashes.py").write_text(f"""
import tilewright.language as T
OWN = '''__aicore__ inline void own_function(AscendC::LocalTensor<float> x, int64_t) {{
  AscendC::Adds(x, x, 0.0f, 64);
}}'''
@T.prim_func
def named_kernel(given: T.Tensor((4, 64), "float32"), wanted: T.Tensor((4, 64), "float16")):
    with T.Kernel(4, is_npu=True, threads=1) as number:
        T.import_source(OWN)
{lines}
        tile = T.alloc_ub((64,), "float32")
        result = T.alloc_ub((64,), "float16")
        T.copy(given[number, 0], tile)
        T.call_extern("handle", "own_function", tile.access_ptr("rw"), own_function)
        T.tile.add(tile, tile, T.cast({total}, "float32"))
        T.tile.exp(tile, tile)
        T.copy(tile, result)
        T.copy(result, wanted[number, 0])
""")
    spec = importlib.util.spec_from_file_location("clashes", tmp_path / "clashes.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = tilewright.compile(module.named_kernel, target="ascend", pass_configs=AUTOMATIC)
    found = np.zeros((4, 64), np.float16)
    made(np.full((4, 64), -1e30, np.float32), found)
    assert not found.any()
