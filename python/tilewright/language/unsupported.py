# SPDX-License-Identifier: Apache-2.0
"""Names of the language that this version knows of and does not carry out yet.

Using one is an "unsupported" error with its place; any other name is an unknown one.
"""

_NAMES = """
transpose ClusterKernel CUDASourceCodeKernel WarpSpecialize ws Persistent Scope tile alloc_barrier
alloc_cluster_barrier alloc_tmem deallocate_tmem alloc_reducer alloc_descriptor alloc_wgmma_desc
alloc_tcgen05_smem_desc alloc_tcgen05_instr_desc alloc_L1 alloc_L0A alloc_L0B alloc_L0C alloc_ub
allocate make_tensor make_tensor_from_addr match_buffer async_copy tma_copy copy_cluster
tma_gather4 tma_scatter4 tma_gather4_bytes im2col c2d_im2col wgmma_gemm wait_wgmma tcgen05_gemm
tcgen05_gemm_blockscaled mma_gemm_blockscaled gemm_v0 gemm_sp wgmma_gemm_sp tcgen05_gemm_sp
make_blockscaled_gemm_layout reducer_init reducer_update finalize_reducer warp_reduce_sum
warp_reduce_max warp_reduce_min warp_reduce_bitand warp_reduce_bitor any_of all_of atomic_addx2
atomic_addx4 atomic_load atomic_store get_thread_extent get_thread_extents get_block_extent
get_block_extents thread_binding If Then Else While Assert evaluate bind let attr
BaseTileScheduler PersistentTileScheduler fast_rcp ieee_add ieee_sub ieee_mul ieee_fdiv ieee_fmaf
ieee_frcp ieee_fsqrt ieee_frsqrt add2 sub2 mul2 fma2 max2 min2 abs2 dp4a rng_init rng_rand
rng_rand_float extract_lane Shuffle call_extern call_pure_extern call_intrin import_source
address_of hypot ldexp nextafter lookup_param undef isnullptr
vectorlow vectorhigh vectorcombine access_ptr Layout Fragment annotate_pass_configs
annotate_ws_schedule WSSchedule WSRole WSPipeline WSScope WSOpRef WSSync ws_op meta_class inline
named_barrier_arrive sync_warp sync_grid sync_global syncthreads_count syncthreads_and
syncthreads_or shfl_sync shfl_xor shfl_up shfl_down any_sync all_sync ballot_sync ballot
activemask match_any_sync match_all_sync get_lane_idx get_warp_idx get_warp_idx_sync
get_warp_group_idx shuffle_elect mbarrier_wait_parity mbarrier_arrive mbarrier_expect_tx
mbarrier_arrive_expect_tx barrier_wait barrier_arrive cp_async_barrier_noinc
ptx_arrive_cluster_barrier ptx_fence_barrier_init create_tma_descriptor tma_load tma_load_2sm
tma_store_arrive tma_store_wait fence_proxy_async warpgroup_arrive warpgroup_commit_batch
warpgroup_wait warpgroup_fence_operand ptx_wgmma_ss ptx_wgmma_rs initialize_wgmma_descriptor
increase_descriptor_offset ptx_mma ptx_mma_sp ptx_ldmatrix mma_fill mma_store set_max_nreg
inc_max_nreg dec_max_nreg cluster_arrive cluster_arrive_relaxed cluster_wait cluster_sync
block_rank_in_cluster pdl_trigger pdl_sync ldg32 ldg64 ldg128 ldg256 stg32 stg64 stg128 stg256
ptx_cp_async ptx_commit_group ptx_wait_group barrier_all set_flag wait_flag pipe_barrier
set_cross_flag wait_cross_flag init_sort_buf merge_sort topk tfloat32 float8_e3m4
float8_e4m3b11fnuz float6_e2m3fn float6_e3m2fn float4_e2m1_unpacked
"""

KNOWN_NAMES = frozenset(_NAMES.split())


def is_known_name(name: str) -> bool:
    return name in KNOWN_NAMES
