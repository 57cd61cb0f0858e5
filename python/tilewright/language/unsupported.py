# SPDX-License-Identifier: Apache-2.0
"""Names of the language that this version knows of and does not carry out yet.

Using one is an "unsupported" error with its place; any other name is an unknown one.
"""

_NAMES = """
transpose alloc_reducer allocate make_tensor make_tensor_from_addr match_buffer async_copy im2col
c2d_im2col reducer_init reducer_update finalize_reducer warp_reduce_sum warp_reduce_max
warp_reduce_min warp_reduce_bitand warp_reduce_bitor any_of all_of atomic_addx2 atomic_addx4
atomic_load atomic_store get_thread_extent get_thread_extents get_block_extent get_block_extents
thread_binding While Assert evaluate bind let attr BaseTileScheduler PersistentTileScheduler
fast_rcp ieee_add ieee_sub ieee_mul ieee_fdiv ieee_fmaf ieee_frcp ieee_fsqrt ieee_frsqrt add2 sub2
mul2 fma2 max2 min2 abs2 dp4a rng_init rng_rand rng_rand_float extract_lane Shuffle call_extern
call_pure_extern call_intrin import_source address_of hypot ldexp nextafter lookup_param undef
isnullptr vectorlow vectorhigh vectorcombine access_ptr Layout Fragment annotate_pass_configs
meta_class inline sync_warp sync_grid sync_global syncthreads_count syncthreads_and syncthreads_or
shfl_sync shfl_xor shfl_up shfl_down any_sync all_sync ballot_sync ballot activemask match_any_sync
match_all_sync get_lane_idx get_warp_idx get_warp_idx_sync get_warp_group_idx shuffle_elect
set_max_nreg inc_max_nreg dec_max_nreg pdl_trigger pdl_sync ldg32 ldg64 ldg128 ldg256 stg32 stg64
stg128 stg256 ptx_cp_async ptx_commit_group ptx_wait_group init_sort_buf merge_sort topk tfloat32
float8_e3m4 float8_e4m3b11fnuz float6_e2m3fn float6_e3m2fn float4_e2m1_unpacked set_deq_scale
shmem_put_nbi shmem_get_nbi shmem_ub_put_nbi shmem_ub_get_nbi block_attr
"""

KNOWN_NAMES = frozenset(_NAMES.split())


def is_known_name(name: str) -> bool:
    return name in KNOWN_NAMES
