# SPDX-License-Identifier: Apache-2.0
"""`tilelang.contrib.nvcc`: what scripts ask of the GPU to choose their kernels."""

from __future__ import annotations

__all__ = ["get_target_compute_version", "parse_compute_version"]


def get_target_compute_version(target: object = None) -> str:
    """The compute capability that the device map shows: without Hopper's instructions."""
    return "8.0"


def parse_compute_version(compute_version: str) -> tuple[int, int]:
    """Major and minor number of "8.0"."""
    major, _, minor = compute_version.partition(".")
    return int(major), int(minor or 0)
