# SPDX-License-Identifier: Apache-2.0
"""Names of the language that this version knows of and does not carry out yet.

Using one is an "unsupported" error with its place, which says what does instead; any other name is
an unknown one.
"""

from __future__ import annotations

_PAGE = "(docs/ascend-primitives.md)"
_SORT = f"call Sort32 and MrgSort in an Ascend C function of your own by T.call_extern {_PAGE}"
_MERGE = f"call MrgSort in an Ascend C function of your own by T.call_extern {_PAGE}"
_MASK = f"call GatherMask in an Ascend C function of your own by T.call_extern {_PAGE}"
_GATHER = "a T.Parallel loop over elements, dst[i] = src[index[i]], does the same"
_LARGEST = (
    "for a small k take k times the T.reduce_max and put the least number in its place, "
    f"or, on an NPU, call TopK in an Ascend C function of your own by T.call_extern {_PAGE}"
)
_PAGES = (
    "copy page by page: `for i in T.serial(pages): T.copy(cache[table[i], 0, 0], "
    "tile[i * rows : (i + 1) * rows, :])`"
)
_SCALED = (
    "this chip's cube unit knows no scales: multiply an operand by its scales in a T.Parallel "
    "loop, into a tile of float16 or bfloat16, and call "
)
_BY_COPY = "T.copy between L0C, UB and L1 does the same through global memory"
_PATCHES = "copy the rows of each filter element by T.copy, in a loop over these elements"
_OTHERS = "exchange between devices outside of the kernel"

#: What there is instead of each, in T and in T.tile.
_IN_T = {
    "copy_cv_experiment": _BY_COPY,
    "copy_vc_experiment": _BY_COPY,
    "gemm_mx": _SCALED + "T.gemm_v0",
    "Let": "bind a name before the expression: x = value",
    "env_thread": 'write tx = T.launch_thread("threadIdx.x", extent)',
    "init": "write the first step of a reduction under an if: `if k == 0:`",
    "copy_pa": _PAGES,
    "gemm_v0_mx": _SCALED + "T.gemm_v0",
    "mma_mx": _SCALED + "T.mma",
    "init_sort_buf": _SORT,
    "merge_sort": _MERGE,
    "topk": _LARGEST,
    "shmem_put_nbi": _OTHERS,
    "shmem_get_nbi": _OTHERS,
    "shmem_ub_put_nbi": _OTHERS,
    "shmem_ub_get_nbi": _OTHERS,
}
_IN_TILE = {
    "copy_cv_experiment": _BY_COPY,
    "copy_vc_experiment": _BY_COPY,
    "gemm_mx": _SCALED + "T.gemm_v0",
    "gather": _GATHER,
    "gatherb": _GATHER,
    "gather_mask": _MASK,
    "gathermask_experiment": _MASK,
    "im2col": _PATCHES,
    "sort": _SORT,
    "sort32": _SORT,
    "init_sort_buf": _SORT,
    "merge_sort": _MERGE,
    "topk": _LARGEST,
    "copy_pa": _PAGES,
    "gemm_v0_mx": _SCALED + "T.gemm_v0",
    "mma_mx": _SCALED + "T.mma",
}


def refusal_of(name: str, of: str = "T") -> str | None:
    """The message for a name that is known; None for any other. `of` is T or T.tile."""
    instead = (_IN_T if of == "T" else _IN_TILE).get(name)
    return None if instead is None else f"{of}.{name} is not supported yet; {instead}"


def is_known_name(name: str) -> bool:
    return name in _IN_T
