# SPDX-License-Identifier: Apache-2.0
"""Hints: they may change speed, never results, so a target is free to ignore them."""

from __future__ import annotations

from ..capture.tracer import current
from .values import unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _keep(name: str, value: object) -> None:
    current().hints[name] = value


def use_swizzle(panel_size: int, order: str = "row", enable: bool = True) -> None:
    """Visits the blocks in panels, for reuse in the L2 cache."""
    if enable:
        _keep("swizzle", (panel_size, order))


def annotate_layout(layouts: dict[Any, Any], **options: Any) -> None:
    """The layout of buffers, where the compiler should not choose."""
    _keep("layout", list(layouts))


def annotate_safe_value(values: dict[Any, Any]) -> None:
    """What reads past the end of a tensor give, instead of 0."""
    if any(value != 0 for value in values.values()):
        raise unsupported("a safe value other than 0 is not supported yet")
    current()


def annotate_l2_hit_ratio(ratios: dict[Any, float]) -> None:
    _keep("l2_hit_ratio", list(ratios))


def annotate_min_blocks_per_sm(count: int) -> None:
    _keep("min_blocks_per_sm", count)


def annotate_restrict_buffers(*buffers: Any) -> None:
    _keep("restrict_buffers", list(buffers))


def annotate_compile_flags(*flags: Any) -> None:
    _keep("compile_flags", flags)


def annotate_producer_reg_dealloc(count: int = 24) -> None:
    _keep("producer_registers", count)


def annotate_consumer_reg_alloc(count: int = 240) -> None:
    _keep("consumer_registers", count)


def no_set_max_nreg() -> None:
    current()


def disable_warp_group_reg_alloc() -> None:
    current()


def assume(condition: Any) -> None:
    """Promises that `condition` holds."""
    current()
