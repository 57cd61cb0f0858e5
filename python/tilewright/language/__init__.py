# SPDX-License-Identifier: Apache-2.0
"""The tile language: `import tilewright.language as T` (or `tilelang.language`)."""

from __future__ import annotations

from . import tile
from .annotate import (
    annotate_compile_flags,
    annotate_consumer_reg_alloc,
    annotate_l2_hit_ratio,
    annotate_layout,
    annotate_min_blocks_per_sm,
    annotate_padding,
    annotate_pass_configs,
    annotate_producer_reg_dealloc,
    annotate_restrict_buffers,
    annotate_safe_value,
    assume,
    block_attr,
    dec_max_nreg,
    disable_warp_group_reg_alloc,
    func_attr,
    inc_max_nreg,
    no_set_max_nreg,
    pdl_sync,
    pdl_trigger,
    set_max_nreg,
    use_swizzle,
)
from .annotations import (
    Buffer,
    FragmentBuffer,
    LocalBuffer,
    Ref,
    SharedBuffer,
    StridedTensor,
    Tensor,
    Var,
    const,
    dyn,
    dynamic,
    handle,
    ptr,
    symbolic,
)
from .arg_reductions import reduce_argmax, reduce_argmin
from .ascend import (
    Scope,
    alloc_L0A,
    alloc_L0B,
    alloc_L0C,
    alloc_L1,
    alloc_UB,
    alloc_ub,
    annotate_address,
    barrier_all,
    clear_flag,
    dump_tensor,
    gemm_v0,
    init_flag,
    mma,
    pipe_barrier,
    printf,
    reinterpretcast,
    set_cross_flag,
    set_deq_scale,
    set_flag,
    sync_all,
    wait_cross_flag,
    wait_flag,
)
from .atomics import (
    atomic_addx2,
    atomic_addx4,
    atomic_load,
    atomic_store,
)
from .branches import Else, If, Then
from .dtypes import DTYPES as _DTYPES
from .dtypes import Dtype as dtype
from .extern import (
    call_extern,
    call_pure_extern,
    get_let_value,
    has_let_value,
    import_source,
)
from .gpu_only import GPU_ONLY as _GPU_ONLY
from .launch import (
    Kernel,
    KernelLaunchFrame,
    WarpSpecialize,
    get_block_binding,
    get_block_bindings,
    get_block_extent,
    get_block_extents,
    get_thread_binding,
    get_thread_bindings,
    get_thread_extent,
    get_thread_extents,
    ws,
)
from .layouts import (
    Fragment,
    Layout,
    PartialFragment,
    get_mma_micro_size,
    get_swizzle_layout,
    make_mma_swizzle_layout,
)
from .loops import (
    Parallel,
    Persistent,
    Pipelined,
    Serial,
    Unroll,
    Vectorized,
    While,
    grid,
    parallel,
    serial,
    thread_binding,
    unroll,
    vectorized,
)
from .math_ops import *  # noqa: F403
from .mbarriers import (
    alloc_barrier,
    barrier_arrive,
    barrier_wait,
    cp_async_barrier_noinc,
    fence_proxy_async,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_expect_tx,
    mbarrier_wait_parity,
    ptx_fence_barrier_init,
    tma_copy,
    tma_store_arrive,
    tma_store_wait,
    wait_wgmma,
    warpgroup_arrive,
    warpgroup_commit_batch,
    warpgroup_fence_operand,
    warpgroup_wait,
    wgmma_gemm,
)
from .memory import (
    alloc_buffer,
    alloc_fragment,
    alloc_global,
    alloc_local,
    alloc_shared,
    alloc_var,
    empty,
    index_to_coordinates,
    reshape,
    view,
)
from .meta import (
    inline,
    meta_class,
)
from .pointers import (
    access_ptr,
    address_of,
    isnullptr,
    make_tensor,
    make_tensor_from_addr,
    match_buffer,
    ptx_cp_async,
)
from .precise_math import *  # noqa: F403
from .prim_func import PrimFunc, macro, prim_func
from .random_numbers import (
    rng_init,
    rng_rand,
    rng_rand_float,
)
from .reducers import (
    alloc_reducer,
    finalize_reducer,
    reducer_init,
    reducer_update,
)
from .reductions import (
    cummax,
    cumsum,
    reduce,
    reduce_absmax,
    reduce_abssum,
    reduce_bitand,
    reduce_bitor,
    reduce_bitxor,
    reduce_max,
    reduce_min,
    reduce_sum,
)
from .schedules import (
    BaseTileScheduler,
    PersistentTileScheduler,
)
from .sparsity import gemm_sp
from .thread_reductions import comm_reducer, tvm_thread_allreduce
from .threads import (
    activemask,
    all_sync,
    any_sync,
    ballot,
    ballot_sync,
    get_lane_idx,
    get_warp_group_idx,
    get_warp_idx,
    get_warp_idx_sync,
    match_all_sync,
    match_any_sync,
    shfl_down,
    shfl_sync,
    shfl_up,
    shfl_xor,
    shuffle_elect,
    sync_global,
    sync_grid,
    sync_threads,
    sync_warp,
    syncthreads,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    thread_return,
    warp_reduce_bitand,
    warp_reduce_bitor,
    warp_reduce_max,
    warp_reduce_min,
    warp_reduce_sum,
)
from .tile_forms import (
    all_of,
    any_of,
    async_copy,
    c2d_im2col,
    im2col,
    ptx_commit_group,
    ptx_wait_group,
    transpose,
)
from .tile_ops import (
    GemmWarpPolicy,
    atomic_add,
    atomic_max,
    atomic_min,
    atomic_or,
    clear,
    copy,
    device_assert,
    fill,
    gemm,
    loop_break,
    print,
)
from .tvm_forms import Assert, Cast, allocate, attr, bind, call_intrin, evaluate, let, undef
from .tvm_nodes import *  # noqa: F403
from .values import Expr as PrimExpr
from .vectors import (
    Shuffle,
    abs2,
    add2,
    extract_lane,
    fma2,
    max2,
    min2,
    mul2,
    sub2,
    vectorcombine,
    vectorhigh,
    vectorlow,
)
from .wide_accesses import *  # noqa: F403

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

kernel = Kernel
gemm_sp_v2 = gemm_sp  # its name before TileLang dropped the first
gemm_v1 = gemm_v2 = gemm  # the names of two forms in TileLang, which T.gemm chose from
globals().update(_DTYPES)
globals().update(_GPU_ONLY)


def __getattr__(name: str) -> Callable[..., None]:
    from .unsupported import refusal_of
    from .values import UnsupportedName

    if (refused := refusal_of(name)) is not None:
        raise UnsupportedName(refused, "unsupported")
    if (function := tile.earlier_function(name)) is not None:
        return function
    from ..suggestions import meant_of_language

    raise AttributeError(f"T has no {name!r}{meant_of_language(name, globals())}")
