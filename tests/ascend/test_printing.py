# SPDX-License-Identifier: Apache-2.0
"""What kernels print: formats as C has them, and no line of two cores."""

from __future__ import annotations

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
