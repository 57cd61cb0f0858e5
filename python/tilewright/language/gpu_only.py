# SPDX-License-Identifier: Apache-2.0
"""Names that exist only as an instruction of an NVIDIA GPU.

They can be imported, so that a file that mentions them loads; calling one in a kernel
is an "unsupported" error with its place and what to write instead.
"""

from __future__ import annotations

import re

from ..options import traced_for
from .values import unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_COPY = "use T.copy, which is complete when it returns"
_GEMM = "use T.gemm, which is complete when it returns"
_LAYOUT = "T.gemm and T.copy choose their instructions and layouts themselves"

#: What a group of names is, what to use instead, and the names.
_GROUPS = (
    (
        "TMA, the GPU's copy engine",
        _COPY,
        """tma_gather4 tma_scatter4 tma_gather4_bytes create_tma_descriptor tma_load
        tma_load_2sm""",
    ),
    (
        "memory barriers of several blocks",
        "use T.alloc_barrier, or T.sync_grid",
        "alloc_cluster_barrier ptx_arrive_cluster_barrier",
    ),
    (
        "schedules of warp specialisation",
        "write one code for all threads, with T.Pipelined",
        "annotate_ws_schedule WSSchedule WSRole WSPipeline WSScope WSOpRef WSSync ws_op",
    ),
    (
        "warps that run side by side, of which one arrives at a barrier that only others wait at",
        "use T.sync_threads, at which all threads wait",
        "named_barrier_arrive",
    ),
    (
        "wgmma, the matrix instructions of Hopper",
        _GEMM,
        """wgmma_mma ptx_wgmma_ss ptx_wgmma_rs alloc_descriptor alloc_wgmma_desc
        initialize_wgmma_descriptor increase_descriptor_offset WGMMATensorCoreIntrinEmitter""",
    ),
    (
        "tcgen05, the matrix instructions and tensor memory of Blackwell",
        _GEMM,
        """alloc_tmem deallocate_tmem tcgen05_gemm tcgen05_gemm_blockscaled
        tcgen05_mma tcgen05_mma_arrive tcgen05_cp_warpx4 tcgen05_before_thread_sync
        tcgen05_after_thread_sync alloc_tcgen05_smem_desc alloc_tcgen05_instr_desc
        alloc_tcgen05_instruction_desc initialize_tcgen05_descriptor ptx_tcgen05_mma_ss
        ptx_tcgen05_mma_ts ptx_tcgen05_mma_blockscaled_ss tcgen05_mma_blockscaled
        tcgen05_sf_warp_transpose TCGEN05TensorCoreIntrinEmitter mma_gemm_blockscaled
        make_blockscaled_gemm_layout""",
    ),
    (
        "mma, the matrix instructions of a warp",
        _LAYOUT,
        """ptx_mma ptx_mma_block_scale ptx_mma_sm70 ptx_ldmatrix TensorCoreIntrinEmitter
        INT4TensorCoreIntrinEmitter TensorCoreIntrinEmitterWithLadderTransform
        INT4TensorCoreIntrinEmitterWithLadderTransform""",
    ),
    (
        "mma, whose accumulators lie in registers as its instructions leave them",
        "use T.clear and T.copy on the fragment of T.gemm",
        "mma_fill mma_store",
    ),
    (
        "2:4 sparsity in the instructions of each GPU, with its layouts of metadata",
        "use T.gemm_sp, which is complete when it returns",
        """wgmma_gemm_sp tcgen05_gemm_sp ptx_mma_sp ptx_wgmma_sp_ss ptx_wgmma_sp_rs
        SparseTensorCoreIntrinEmitter WGSparseTensorCoreIntrinEmitter""",
    ),
    (
        "thread-block clusters",
        "use T.Kernel, and global memory between blocks",
        """ClusterKernel copy_cluster cluster_arrive cluster_arrive_relaxed cluster_wait
        cluster_sync block_rank_in_cluster""",
    ),
    (
        "cluster launch control, by which a block takes the work of one that hasn't started",
        "use T.Persistent, or a loop over the tiles of a block",
        """clc_try_cancel clc_try_cancel_multicast clc_is_canceled clc_get_first_ctaid_x
        clc_get_first_ctaid_y clc_get_first_ctaid_z""",
    ),
    ("CUDA source code", "write the kernel in the language", "CUDASourceCodeKernel"),
    ("TVM's modules with parameters", "pass the tensor as an argument", "lookup_param"),
)
#: What the CPU has, too (language/mbarriers.py), and an NPU doesn't.
_GROUPS_OF_NPUS = (
    (
        "TMA, the GPU's copy engine",
        _COPY,
        "tma_copy tma_store_arrive tma_store_wait fence_proxy_async",
    ),
    ("asynchronous copies of a given width", "index the buffer, or use T.copy", "ptx_cp_async"),
    (
        "memory barriers (mbarrier)",
        "use T.sync_threads and T.copy, and let T.Pipelined overlap them",
        """alloc_barrier mbarrier_wait_parity mbarrier_arrive mbarrier_expect_tx
        mbarrier_arrive_expect_tx barrier_wait barrier_arrive cp_async_barrier_noinc
        ptx_fence_barrier_init""",
    ),
    (
        "wgmma, the matrix instructions of Hopper",
        _GEMM,
        """wgmma_gemm wait_wgmma warpgroup_arrive warpgroup_commit_batch warpgroup_wait
        warpgroup_fence_operand""",
    ),
)


class GpuOnly:
    """Stands for such a name."""

    def __init__(self, name: str, what: str, instead: str) -> None:
        self.__name__ = name
        self.what = what
        self.instead = instead
        self.__doc__ = f"{name} belongs to {what}. On the CPU it is unsupported: {instead}."

    def _refuse(self) -> NoReturn:
        raise unsupported(
            f"T.{self.__name__} is unsupported on {traced_for.get()}: it belongs to {self.what}; "
            f"{self.instead}"
        )

    def __call__(self, *args: object, **keywords: object) -> NoReturn:
        self._refuse()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self) -> str:
        return f"T.{self.__name__}"


class GpuSource(str):
    """Stands for a function in CUDA: a script may pass its name and text on, but no kernel here can
    use them."""

    __slots__ = ()

    def refuse(self) -> NoReturn:
        raise unsupported(
            f"tilelang.quantize.{self!s} unpacks numbers by instructions of GPUs: unpack each one "
            "in a T.Parallel loop, as tilelang.quantize._tir_packed_to_unsigned_convert does"
        )


#: What only CUDA and HIP say of a function or a variable.
_QUALIFIER = re.compile(r"\b__(?:device|global|shared|constant|forceinline)__\b")
#: What a source that is meant for other compilers, too, has before that.
_PORTABLE = re.compile(r"#\s*(?:define\s+__\w+__|if.*__(?:CUDA|HIP)\w*__)")


def refuse_source_of_gpus(text: object) -> None:
    """Unsupported: a source in CUDA, by its qualifiers."""
    if isinstance(text, GpuSource):
        text.refuse()
    found = _QUALIFIER.search(str(text))
    if found and not _PORTABLE.search(str(text)):
        raise unsupported(
            f"the source of T.import_source is CUDA ({found[0]}), which is unsupported on "
            f"{traced_for.get()}: write its functions in C, or what they do in the language"
        )


def _stand_ins(groups: tuple[tuple[str, str, str], ...]) -> dict[str, GpuOnly]:
    return {
        name: GpuOnly(name, what, instead)
        for what, instead, names in groups
        for name in names.split()
    }


GPU_ONLY = _stand_ins(_GROUPS)
NOT_ON_NPUS = _stand_ins(_GROUPS_OF_NPUS)
