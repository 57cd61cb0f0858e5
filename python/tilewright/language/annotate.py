# SPDX-License-Identifier: Apache-2.0
"""Hints: they may change speed, never results, so a target is free to ignore them."""

from __future__ import annotations

from ..capture.tracer import current, describe
from ..options import traced_for
from ..suggestions import unknown_keyword
from .layouts import Fragment, Layout, shared_place
from .values import BufferRef, LanguageError, RegionRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _keep(name: str, value: object) -> None:
    current().hints[name] = value


def use_swizzle(*given: Any, **named: Any) -> Any:
    """Visits the blocks in panels, for reuse in the L2 cache.

    `use_swizzle(panel_size, order="row", enable=True)` is a hint for all blocks. With more than
    these, `use_swizzle(cid, m, n, k, block_m, block_n, off=1, dir=0, in_loop=False)` gives the
    number of the block to compute: panels of `off` rows (dir 0) or columns (dir 1) of blocks, every
    other one backwards.
    """
    is_number = len(given) + len(named.keys() & {"m", "n", "k", "block_m", "block_n", "cid"}) >= 6
    form = _swizzled if is_number else _swizzle_hint
    try:
        return form(*given, **named)
    except TypeError as error:
        if wrong := unknown_keyword(error, form, named):
            message = f"T.use_swizzle has no argument {wrong[0]!r}{wrong[1]}"
            raise LanguageError(message, python=TypeError) from None
        raise


def check_hint(name: str, given: object, names: tuple[str, ...]) -> None:
    """Raises for a hint for GPUs that none of them has, as a misspelt one."""
    if given is not None and given not in names:
        raise LanguageError(f"{name} is {given!r}, but must be {' or '.join(map(repr, names))}")


def _swizzle_hint(panel_size: int, order: str = "row", enable: bool = True) -> None:
    check_hint("order of T.use_swizzle", order, ("row", "column", "col", "mlx"))
    if enable:
        if isinstance(panel_size, str) or (isinstance(panel_size, int) and panel_size < 1):
            raise LanguageError(
                f"panel_size of T.use_swizzle is {panel_size!r}, but must be a positive integer"
            )
        _keep("swizzle", (panel_size, order))


def _swizzled(
    cid: Any,
    m: Any,
    n: Any,
    k: Any,
    block_m: int,
    block_n: int,
    off: int = 1,
    dir: int = 0,
    in_loop: bool = False,
) -> Any:
    from .math_ops import if_then_else
    from .math_ops import min as smaller

    for extent, block, name in ((m, block_m, "m"), (n, block_n, "n")):
        if isinstance(block, int) and block < 1:
            raise LanguageError(f"block_{name} of T.use_swizzle is {block}, but must be 1 or more")
        if isinstance(extent, int) and extent % block != 0:
            raise LanguageError(
                f"T.use_swizzle needs whole blocks, but {name} is {extent} and block_{name} {block}"
            )
    if dir not in (0, 1) or off < 1:
        raise LanguageError("T.use_swizzle takes off of 1 or more, and dir 0 (rows) or 1 (columns)")
    rows, columns = m // block_m, n // block_n
    across, along = (rows, columns) if dir == 0 else (columns, rows)
    panel, within = cid // (off * along), cid % (off * along)
    width = smaller(off, across - panel * off)
    step = within // width
    place = if_then_else(panel % 2 == 1, along - 1 - step, step)
    line = panel * off + within % width
    return line * columns + place if dir == 0 else place * columns + line


def annotate_layout(
    layout_map: dict[Any, Any], allow_reannotation: bool = False, allow_buffer_region: bool = False
) -> None:
    """The layout of buffers, where the compiler should not choose; what is allowed besides means
    nothing here."""
    tracer = current()
    if not isinstance(layout_map, dict):
        raise LanguageError(
            f"T.annotate_layout takes buffers and their layouts, {{buffer: layout}}, not "
            f"{describe(layout_map)}",
            python=TypeError,
        )
    _keep("layout", list(layout_map))
    for buffer, layout in layout_map.items():
        _check_layout(buffer, layout)
        if isinstance(layout, FractalLayout):
            tracer.builder.annotate_layout(tracer.buffer_handle(buffer), layout.name)
    metadata = [b for b, layout in layout_map.items() if getattr(layout, "is_of_metadata", False)]
    if metadata:
        _keep("metadata layout", metadata)


def _check_layout(buffer: Any, layout: Any) -> None:
    """None leaves the choice to the compiler."""
    if not isinstance(buffer, (BufferRef, RegionRef)):
        raise LanguageError(
            f"T.annotate_layout takes layouts of buffers, not of {describe(buffer)}",
            python=TypeError,
        )
    if layout is not None and not callable(layout) and not isinstance(layout, FractalLayout):
        name = (buffer.buffer if isinstance(buffer, RegionRef) else buffer).name
        raise LanguageError(
            f"the layout of {name!r} must be a T.Layout, a T.Fragment or a function of the "
            f"indices, not {describe(layout)}",
            python=TypeError,
        )
    if isinstance(layout, Layout) and not isinstance(layout, Fragment):
        name = (buffer.buffer if isinstance(buffer, RegionRef) else buffer).name
        if (places := shared_place(layout)) is not None:
            raise LanguageError(
                f"the layout of {name!r} puts elements {places[0]} and {places[1]} at one place"
            )


class FractalLayout:
    """An order of a tile's elements in L1, made by tilelang.intrinsics."""

    def __init__(self, name: str) -> None:
        self.name = name


def func_attr(attrs: dict[str, Any]) -> None:
    """Raw attributes of the kernel: hints."""
    _asked_for_dict("T.func_attr", "names and values", attrs)
    _keep("func_attr", dict(attrs))


def block_attr(attrs: dict[str, Any]) -> None:
    """Raw attributes of a block: hints."""
    _asked_for_dict("T.block_attr", "names and values", attrs)
    _keep("block_attr", dict(attrs))


def _asked_for_dict(name: str, what: str, given: Any) -> None:
    if not isinstance(given, dict):
        raise LanguageError(
            f"{name} takes a dict of {what}, not {describe(given)}", python=TypeError
        )


def as_annotations(name: str, given: dict[str, Any] | None) -> dict[str, Any]:
    """The keyword `annotations` of a loop or of an operation on tiles."""
    if given is not None and not isinstance(given, dict):
        raise LanguageError(
            f"annotations of {name} must be a dict, not {describe(given)}", python=TypeError
        )
    return given or {}


def annotate_padding(values: dict[Any, Any]) -> None:
    """What copies and stores of elements of tensors put into a tile from past the tensors' ends,
    instead of 0: `{tile: constant}`. Of a tensor, as `annotate_safe_value`."""
    tracer = current()
    _asked_for_dict("T.annotate_padding", "tiles and numbers", values)
    for buffer, value in values.items():
        tracer.builder.annotate_padding(tracer.buffer_handle(buffer), tracer.value(value))
        tracer.has_padding = True


def annotate_safe_value(safe_value_map: dict[Any, Any]) -> None:
    """What reads past the end of a tensor give, instead of 0: `{tensor: constant}`.

    It holds for copies (without a `pad_value` of their own) and for single elements, to the end of
    the `T.Kernel` or `T.sblock` that it stands in, and stands before the first use of the tensor
    there. Of several, the last counts.
    """
    tracer = current()
    _asked_for_dict("T.annotate_safe_value", "tensors and numbers", safe_value_map)
    for buffer, value in safe_value_map.items():
        tracer.builder.annotate_safe_value(tracer.buffer_handle(buffer), tracer.value(value))
        tracer.safe_values.add(buffer.handle)


def annotate_l2_hit_ratio(l2_hit_ratio_map: dict[Any, float]) -> None:
    """How much of each buffer a GPU should keep in its L2 cache."""
    _keep("l2_hit_ratio", list(l2_hit_ratio_map))


def annotate_min_blocks_per_sm(n: int) -> None:
    """The least number of blocks that a GPU's processor should hold at once."""
    _keep("min_blocks_per_sm", n)


def annotate_restrict_buffers(*buffers: Any) -> None:
    """Tensors that may overlap others in part, which a call with such tensors is refused for else.
    What one operation, or iterations of `T.Parallel`, then read and write have no order."""
    tracer = current()
    for buffer in buffers:
        if not isinstance(buffer, BufferRef):
            raise LanguageError(
                f"T.annotate_restrict_buffers takes tensors, not {describe(buffer)}",
                python=TypeError,
            )
    _keep("restrict_buffers", list(buffers))
    for buffer in buffers:
        tracer.builder.annotate_overlaps(tracer.buffer_handle(buffer))


def annotate_compile_flags(*flags: Any) -> None:
    """Flags for a GPU's compiler."""
    _keep("compile_flags", flags)


def annotate_producer_reg_dealloc(reg_count: int = 24) -> None:
    """Registers of the threads that copy, on a GPU."""
    _keep("producer_registers", reg_count)


def annotate_consumer_reg_alloc(reg_count: int = 240) -> None:
    """Registers of the threads that compute, on a GPU."""
    _keep("consumer_registers", reg_count)


def no_set_max_nreg() -> None:
    """Registers are not moved between warp groups of a GPU."""
    current()


def disable_warp_group_reg_alloc() -> None:
    """Registers are not moved between warp groups; the CPU has none to move."""
    current()


def set_max_nreg(reg_count: int, is_inc: Any = None) -> None:
    """The registers that a thread may use from here on; the CPU chooses its own."""
    current()


def inc_max_nreg(reg_count: int) -> None:
    """More registers for the threads of this warp group; the CPU chooses its own."""
    current()


def dec_max_nreg(reg_count: int) -> None:
    """Fewer registers for the threads of this warp group; the CPU chooses its own."""
    current()


def pdl_trigger() -> None:
    """Lets the next kernel start early; on the CPU kernels follow each other."""
    current()


def pdl_sync() -> None:
    """Waits for the kernel before; on the CPU it has ended."""
    current()


def annotate_pass_configs(configs: dict[Any, Any]) -> None:
    """Pass configs of this kernel, as in `tilelang.compile`."""
    _asked_for_dict("T.annotate_pass_configs", "keys and values", configs)
    _keep("pass_configs", {str(key): value for key, value in configs.items()})


def assume(condition: Any) -> None:
    """Promises that `condition` holds. One of arguments and symbols alone that stands before the
    launch, or right in it, is checked when the kernel runs; on an NPU none is."""
    tracer = current()
    is_checked = traced_for.get() != "ascend"
    held = tracer.value(condition)
    if tracer.launch is None and is_checked:
        tracer.promises.append((held, "T.assume does not hold", tracer.place))
    else:
        tracer.builder.assume(held, is_checked)
