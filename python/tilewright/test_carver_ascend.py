# SPDX-License-Identifier: Apache-2.0
"""Hints for tuning GEMMs on Ascend."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright
import tilewright.language as T
from tilewright import carver
from tilewright.carver_ascend import Ascend
from tilewright.language.values import LanguageError

AUTOMATIC = {
    tilewright.PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    tilewright.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    tilewright.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}
random = np.random.default_rng(2)


@pytest.mark.parametrize("dtype", ["float16", "int8", "float32"])
@pytest.mark.parametrize("sizes", [(1024, 1024, 1024), (8192, 64, 96), (48, 4096, 512)])
def test_hints_fit(sizes: tuple[int, int, int], dtype: str) -> None:
    arch = Ascend()
    template = carver.MatmulTemplate(*sizes, in_dtype=dtype, accum_dtype="float").with_arch(arch)
    hints = template.recommend_hints(topk=8)
    assert 0 < len(hints) <= 8
    assert len({(*hint.block, *hint.rstep) for hint in hints}) == len(hints)
    for hint in hints:
        (m, n), (k,) = hint.block, hint.rstep
        assert [length % part for length, part in zip(sizes, (m, n, k), strict=True)] == [0] * 3
        assert 4 * m * n <= 128 * 1024
        assert 2 * (m + n) * k * np.dtype(dtype).itemsize < 512 * 1024


def test_the_first_is_a_large_block() -> None:
    """What is loaded for a block pays off in a larger one, as long as all cores have work."""
    large = carver.MatmulTemplate(8192, 8192, 8192).with_arch(Ascend()).recommend_hints(1)[0]
    assert sorted(large.block) == [128, 256]
    small = carver.MatmulTemplate(256, 256, 8192).with_arch(Ascend()).recommend_hints(1)[0]
    assert 256 * 256 // (small.block[0] * small.block[1]) >= 16


def test_hints_are_configs_of_a_tuning() -> None:
    M, N, K = 64, 32, 64
    template = carver.MatmulTemplate(M=M, N=N, K=K, out_dtype="float16").with_arch(Ascend())
    configs = [
        {"rows": hint.block[0], "columns": hint.block[1], "step": hint.rstep[0]}
        for hint in template.recommend_hints(topk=2)
    ]

    @tilewright.autotune(configs=configs, ref_prog=lambda a, b: a @ b)
    @tilewright.jit(out_idx=[-1], target="ascend", pass_configs=AUTOMATIC)
    def product(rows: int = 0, columns: int = 0, step: int = 0):  # type: ignore[no-untyped-def]
        @T.prim_func
        def main(
            A: T.Tensor((M, K), "float16"),
            B: T.Tensor((K, N), "float16"),
            C: T.Tensor((M, N), "float16"),
        ):
            with T.Kernel(M // rows * (N // columns), is_npu=True) as (cid, _):
                a = T.alloc_shared((rows, step), "float16")
                b = T.alloc_shared((step, columns), "float16")
                c = T.alloc_fragment((rows, columns), "float")
                for k in T.serial(K // step):
                    T.copy(A[cid // (N // columns) * rows, k * step], a)
                    T.copy(B[k * step, cid % (N // columns) * columns], b)
                    T.gemm_v0(a, b, c, init=(k == 0))
                T.copy(c, C[cid // (N // columns) * rows, cid % (N // columns) * columns])

        return main

    kernel = product()
    assert kernel.config in configs
    a = random.integers(-3, 4, (M, K)).astype(np.float16)
    b = random.integers(-3, 4, (K, N)).astype(np.float16)
    np.testing.assert_array_equal(np.asarray(kernel(a, b)), a.astype(float) @ b)


def test_what_has_no_hints() -> None:
    message = r"carver.MatmulTemplate needs with_arch before it has hints"
    with pytest.raises(LanguageError, match=message):
        carver.MatmulTemplate(16, 16, 16).recommend_hints()
    message = r"carver\.MatmulTemplate for 'cuda' is not supported: .*give configs"
    with pytest.raises(LanguageError, match=message):
        carver.MatmulTemplate(16, 16, 16).with_arch("cuda")
