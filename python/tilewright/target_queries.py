# SPDX-License-Identifier: Apache-2.0
"""`tilelang.utils.target`: what scripts ask a target. No target here is a GPU, whatever names it
goes by, nor has a GPU's instructions, so that all answers but one are no."""

from __future__ import annotations

from .options import determine_target

__all__ = ["check_cuda_availability", "determine_target", "target_is_cuda"]


def target_is_cuda(target: object) -> bool:
    """Whether it is built by a GPU's compiler."""
    return False


target_is_hip = target_is_metal = target_is_volta = target_is_turing = target_is_cuda
target_is_ampere = target_is_hopper = target_is_sm120 = target_is_cuda
target_is_cdna = target_is_rdna = target_is_gfx950 = target_is_cuda
target_has_async_copy = target_has_bulk_copy = target_is_cuda
target_has_ldmatrix = target_has_stmatrix = target_is_cuda


def check_cuda_availability() -> bool:
    """Whether a GPU's compiler is used."""
    return False


check_hip_availability = check_metal_availability = check_cuda_availability
