# SPDX-License-Identifier: Apache-2.0
"""`tilelang.layout`: layouts by name."""

from __future__ import annotations

from .language.layouts import (
    Fragment,
    Layout,
    PartialFragment,
    make_cutlass_metadata_layout,
    make_full_bank_swizzled_layout,
    make_fully_replicated_layout_fragment,
    make_fully_replicated_partial_fragment,
    make_gemm_fragment_8x8,
    make_gemm_fragment_8x8_transposed,
    make_half_bank_swizzled_layout,
    make_linear_layout,
    make_quarter_bank_swizzled_layout,
    make_swizzled_layout,
    make_tcgen05mma_swizzled_layout,
    make_volta_swizzled_layout,
    make_wgmma_swizzled_layout,
)

__all__ = [
    "Fragment",
    "PartialFragment",
    "make_fully_replicated_partial_fragment",
    "Layout",
    "make_cutlass_metadata_layout",
    "make_full_bank_swizzled_layout",
    "make_fully_replicated_layout_fragment",
    "make_gemm_fragment_8x8",
    "make_gemm_fragment_8x8_transposed",
    "make_half_bank_swizzled_layout",
    "make_linear_layout",
    "make_quarter_bank_swizzled_layout",
    "make_swizzled_layout",
    "make_tcgen05mma_swizzled_layout",
    "make_volta_swizzled_layout",
    "make_wgmma_swizzled_layout",
]
