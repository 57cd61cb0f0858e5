# SPDX-License-Identifier: Apache-2.0
"""Random numbers in kernels, with the sequences of cuRAND's generators of the same names."""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison
from .generators import Generator, Mrg, Philox, Xorwow
from .launch import (
    get_block_bindings,
    get_block_extents,
    get_thread_bindings,
    get_thread_extents,
)
from .math_ops import Select, cast, cos, log, sin, sqrt
from .memory import alloc_var
from .nest_generators import Nests, settle
from .values import POISON, LanguageError, Poison, PoisonUsed, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_GENERATORS: dict[str, Callable[[Any, Any, Any], Generator]] = {
    "curandStatePhilox4_32_10_t": Philox,
    "curandStateXORWOW_t": Xorwow,
    "curandStateMRG32k3a_t": Mrg,
}
_PI = 3.141592653589793


def _generator(what: str) -> Generator:
    generator = settle()
    if isinstance(generator, Poison):
        raise PoisonUsed
    if not isinstance(generator, Generator):
        raise LanguageError(f"{what} needs T.rng_init before it")
    return generator


_BLOCKS = ((get_block_bindings, get_block_extents),)
_THREADS = ((get_thread_bindings, get_thread_extents),)


def _number_of(parts: Any) -> Any:
    """The block's number in the grid, or the thread's: of its block, then of the blocks; x is the
    fastest."""
    number: Any = 0
    for indices, extents in parts:
        for index, extent in zip(reversed(indices()), reversed(extents()), strict=True):
            if not (isinstance(extent, int) and extent == 1):
                number = number * extent + index
    return number


@guarded_by_poison
def rng_init(
    seed: Any, seq: Any = None, off: Any = 0, generator: str = "curandStatePhilox4_32_10_t"
) -> None:
    """Starts the thread's generator; without `seq` each thread of the grid has its own sequence.

    In loops of T.Parallel, each iteration has its own, of Philox, whatever the generator.
    """
    tracer = current()
    if generator not in _GENERATORS:
        tracer.hints["rng"] = POISON  # what asks for its numbers isn't told once more
        raise unsupported(
            f"the generator {generator!r} is not supported; there are {', '.join(_GENERATORS)}"
        )
    sequence = _number_of((*_BLOCKS, *_THREADS)) if seq is None else seq
    made = _GENERATORS[generator](seed, sequence, off)
    made.nests = Nests(seed, _number_of(_BLOCKS) if seq is None else seq, off)
    tracer.hints["rng"] = made


def rng_rand() -> Any:
    """The next 32 random bits, as uint32."""
    return _generator("T.rng_rand").next()


def rng_rand_float(bit: int = 32, dist: str = "uniform") -> Any:
    """The next random number: uniform in (0, 1], or normal with mean 0 and deviation 1."""
    generator = _generator("T.rng_rand_float")
    if dist not in ("uniform", "normal") or bit not in (32, 64):
        raise LanguageError(
            f"T.rng_rand_float gives 32 or 64 bits, uniform or normal, not {bit} bits, {dist!r}"
        )
    if dist == "normal":
        return _normal(generator, f"float{bit}")
    return generator.uniform() if bit == 32 else generator.uniform_double()


def _normal(generator: Generator, dtype: str) -> Any:
    """Two numbers at a time (Box and Muller); the second waits for the next call. Those of float32
    are computed in float64 and rounded once, so that all targets give the same."""
    tracer = current()
    spare, is_there = generator.spare[dtype], generator.has_spare[dtype]
    had = tracer.expression(is_there)
    result = alloc_var(dtype, init=tracer.expression(spare))
    tracer.builder.begin_if(tracer.value(had == False))  # noqa: E712 - a value of the kernel
    if dtype == "float32":
        u, v = (cast(number, "float64") for number in (generator.uniform(), generator.angle()))
    else:
        u = generator.uniform_double()
        v = generator.uniform_double() * cast(2 * _PI, dtype)
    scale = sqrt(log(u) * cast(-2.0, "float64"))
    tracer.store(result.element(), cast(sin(v) * scale, dtype))
    tracer.store(spare.element(), cast(cos(v) * scale, dtype))
    tracer.builder.end_if()
    tracer.store(is_there.element(), Select(had, False, True))
    return tracer.expression(result)
