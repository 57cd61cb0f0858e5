# SPDX-License-Identifier: Apache-2.0
"""Random numbers in kernels: the Philox 4x32-10 generator, with the sequences of cuRAND's."""

from __future__ import annotations

from ..capture.tracer import current, guarded_by_poison
from .launch import get_block_binding, get_thread_binding, get_thread_extent
from .math_ops import Select, cast, cos, log, sin, sqrt
from .memory import alloc_local, alloc_var
from .values import POISON, LanguageError, Poison, PoisonUsed, unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_GENERATOR = "curandStatePhilox4_32_10_t"
_TWO_PI = 6.2831853071795864769


def _u64(value: Any) -> Any:
    return cast(value, "uint64")


def _low(value: Any) -> Any:
    return cast(value & 0xFFFFFFFF, "uint32")


def _philox(counter: list[Any], key: list[Any]) -> list[Any]:
    """Ten rounds on four 32-bit words."""
    for _ in range(_ROUNDS):
        first = _u64(counter[0]) * _MULTIPLIERS[0]
        second = _u64(counter[2]) * _MULTIPLIERS[1]
        counter = [
            _low(second >> 32) ^ counter[1] ^ key[0],
            _low(second),
            _low(first >> 32) ^ counter[3] ^ key[1],
            _low(first),
        ]
        key = [_low(_u64(k) + w) for k, w in zip(key, _WEYL, strict=True)]
    return counter


class _Generator:
    """The state of a thread's generator, in variables of the kernel."""

    def __init__(self, seed: Any, sequence: Any, offset: Any) -> None:
        tracer = current()
        seed, sequence, offset = (_u64(tracer.expression(v)) for v in (seed, sequence, offset))
        self.key = [_low(seed), _low(seed >> 32)]
        self.sequence = [_low(sequence), _low(sequence >> 32)]
        self.counter = alloc_var("uint64", init=offset >> 2)
        self.position = alloc_var("int32", init=cast(offset & 3, "int32"))
        self.words = alloc_local((4,), "uint32")
        self.spare = alloc_var("float32", init=0.0)
        self.has_spare = alloc_var("bool", init=False)
        self.fill()

    def fill(self) -> None:
        counter = current().expression(self.counter)
        words = _philox([_low(counter), _low(counter >> 32), *self.sequence], self.key)
        for number, word in enumerate(words):
            self.words[number] = word

    def next(self) -> Any:
        tracer = current()
        position = tracer.expression(self.position)
        word = tracer.expression(self.words[position])
        tracer.store(self.position.element(), (position + 1) & 3)
        tracer.builder.begin_if(tracer.value(position == 3))
        tracer.store(self.counter.element(), tracer.expression(self.counter) + 1)
        self.fill()
        tracer.builder.end_if()
        return word


def _generator() -> _Generator:
    generator = current().hints.get("rng")
    if isinstance(generator, Poison):
        raise PoisonUsed
    if not isinstance(generator, _Generator):
        raise LanguageError("T.rng_rand needs T.rng_init before it")
    return generator


@guarded_by_poison
def rng_init(seed: Any, seq: Any = None, off: Any = 0, generator: str = _GENERATOR) -> None:
    """Starts the thread's generator; without `seq` each thread of the grid has its own sequence."""
    if generator != _GENERATOR:
        current().hints["rng"] = POISON  # what asks for its numbers isn't told once more
        raise unsupported(f"the generator {generator!r} is not supported; there is {_GENERATOR}")
    if seq is None:
        seq = get_thread_binding() + get_block_binding() * get_thread_extent()
    tracer = current()
    tracer.hints["rng"] = _Generator(seed, seq, off)


def rng_rand() -> Any:
    """The next 32 random bits, as uint32."""
    return _generator().next()


def rng_rand_float(bit: int = 32, dist: str = "uniform") -> Any:
    """The next random number: uniform in (0, 1], or normal with mean 0 and deviation 1."""
    generator = _generator()
    if dist not in ("uniform", "normal") or bit not in (32, 64):
        raise LanguageError(
            f"T.rng_rand_float gives 32 or 64 bits, uniform or normal, not {bit} bits, {dist!r}"
        )
    if dist == "normal":
        if bit == 64:
            raise unsupported("normal random numbers of 64 bits are not supported")
        return _normal(generator)
    if bit == 32:
        return cast(generator.next(), "float32") * (2.0**-32) + 2.0**-33
    low, high = _u64(generator.next()), _u64(generator.next())
    mixed = cast(low ^ (high << 21), "float64")
    return mixed * cast(2.0**-53, "float64") + cast(2.0**-54, "float64")


def _normal(generator: _Generator) -> Any:
    """Two numbers at a time (Box and Muller); the second waits for the next call."""
    tracer = current()
    had = tracer.expression(generator.has_spare)
    result = alloc_var("float32", init=tracer.expression(generator.spare))
    tracer.builder.begin_if(tracer.value(had == False))  # noqa: E712 - a value of the kernel
    u = cast(generator.next(), "float32") * (2.0**-32) + 2.0**-33
    v = cast(generator.next(), "float32") * (2.0**-32 * _TWO_PI) + 2.0**-33 * _TWO_PI
    scale = sqrt(log(u) * -2.0)
    tracer.store(result.element(), sin(v) * scale)
    tracer.store(generator.spare.element(), cos(v) * scale)
    tracer.builder.end_if()
    tracer.store(generator.has_spare.element(), Select(had, False, True))
    return tracer.expression(result)
