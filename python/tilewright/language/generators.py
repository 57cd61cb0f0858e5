# SPDX-License-Identifier: Apache-2.0
"""The states of random number generators, in variables of a kernel.

Philox 4x32-10 counts, so that a thread begins anywhere at once. XORWOW (Marsaglia, 2003) and
MRG32k3a (L'Ecuyer, 1999) are linear recurrences: sequence n begins n * 2**67 or n * 2**76 steps on.
`Jump` goes there, by one power of the recurrence for each bit of n.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache

from ..capture.tracer import current
from .math_ops import Select, cast
from .memory import alloc_local, alloc_var

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .nest_generators import Deferred, Nests

_PHILOX_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_TWO_PI = 6.2831853071795864769


def wide(value: Any) -> Any:
    """As uint64."""
    return cast(value, "uint64")


def low_word(value: Any) -> Any:
    """The low 32 bits."""
    return cast(value & 0xFFFFFFFF, "uint32")


class Generator(ABC):
    """What the generators have in common."""

    def __init__(self) -> None:
        #: For loops of T.Parallel; without, they draw as the thread does.
        self.nests: Nests | None = None
        pairs = [(dtype, alloc_var(dtype, init=0.0)) for dtype in ("float32", "float64")]
        #: Of two normal numbers the one that waits, by dtype, and whether there is one.
        self.spare = dict(pairs)
        self.has_spare = {dtype: alloc_var("bool", init=False) for dtype, _ in pairs}

    @abstractmethod
    def next(self) -> Any:
        """The next 32 bits."""

    def of_iteration(
        self, indices: Sequence[Any], extents: Sequence[Any], holds_loop: bool
    ) -> Generator | Deferred:
        """That of an iteration of the loop of T.Parallel that begins here. One that holds nothing
        but another loop may be one with that, and gets none before it is asked for."""
        from .nest_generators import Deferred, OfIteration

        if self.nests is None or not self.nests.are_here():
            return self
        return (Deferred if holds_loop else OfIteration)(self.nests, indices, extents)

    def after_nest(self) -> Generator:
        """Called where the loop has ended; gives itself."""
        if self.nests is not None and self.nests.are_here():
            self.nests.leave()
        return self

    def uniform(self) -> Any:
        """In (0, 1], as float32."""
        return cast(self.next(), "float32") * (2.0**-32) + 2.0**-33

    def angle(self) -> Any:
        """In (0, 2 pi], as float32."""
        return cast(self.next(), "float32") * (2.0**-32 * _TWO_PI) + 2.0**-33 * _TWO_PI

    def uniform_double(self) -> Any:
        """In (0, 1], as float64, of 53 bits."""
        low, high = wide(self.next()), wide(self.next())
        mixed = cast(low ^ (high << 21), "float64")
        return mixed * cast(2.0**-53, "float64") + cast(2.0**-54, "float64")


def philox(counter: list[Any], key: list[Any]) -> list[Any]:
    """Ten rounds on four 32-bit words."""
    for _ in range(_PHILOX_ROUNDS):
        first = wide(counter[0]) * _MULTIPLIERS[0]
        second = wide(counter[2]) * _MULTIPLIERS[1]
        counter = [
            low_word(second >> 32) ^ counter[1] ^ key[0],
            low_word(second),
            low_word(first >> 32) ^ counter[3] ^ key[1],
            low_word(first),
        ]
        key = [low_word(wide(k) + w) for k, w in zip(key, _WEYL, strict=True)]
    return counter


class Philox(Generator):
    """Philox 4x32-10: four words for each count."""

    def __init__(self, seed: Any, sequence: Any, offset: Any) -> None:
        super().__init__()
        tracer = current()
        seed, sequence, offset = (wide(tracer.expression(v)) for v in (seed, sequence, offset))
        self.key = [low_word(seed), low_word(seed >> 32)]
        self.sequence = [low_word(sequence), low_word(sequence >> 32)]
        self.counter = alloc_var("uint64", init=offset >> 2)
        self.position = alloc_var("int32", init=cast(offset & 3, "int32"))
        self.words = alloc_local((4,), "uint32")
        self.fill()

    def fill(self) -> None:
        counter = current().expression(self.counter)
        words = philox([low_word(counter), low_word(counter >> 32), *self.sequence], self.key)
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


class _Repeated:
    """`with _Repeated(count) as k:`: a loop of the kernel."""

    def __init__(self, count: int) -> None:
        from .loops import serial

        self.loop = serial(count)

    def __enter__(self) -> Any:
        return self.loop.enter(current(), ["k"])[0]

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self.loop.leave(current())


class _Where:
    """`with _Where(condition):`: an if of the kernel."""

    def __init__(self, condition: Any) -> None:
        self.condition = condition

    def __enter__(self) -> None:
        tracer = current()
        tracer.builder.begin_if(tracer.value(self.condition))

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            current().builder.end_if()


def _jump(
    distance: Any,
    words_of: Callable[[int], list[int]],
    dtype: str,
    apply: Callable[[Callable[[Any], Any]], None],
) -> None:
    """Goes on by `distance` units. `words_of(n)` is the recurrence's power for n units, and `apply`
    takes it as a function from the number of a word to the word."""
    tracer = current()
    value = tracer.expression(distance)
    known = tracer.constant_value(value)
    if known is not None:
        if known % 2**64:
            _apply_known(words_of(known % 2**64), dtype, apply)
        return
    name = str(value.dtype)
    # A negative int is one that cuRAND takes as its 64 bits: the top bit stands for all above it.
    width = int("".join(c for c in name if c.isdigit()) or 1)
    top = 2**64 - 2 ** (width - 1) if name.startswith("int") else 2 ** (width - 1)
    powers = [words_of(2**bit) for bit in range(width - 1)] + [words_of(top)]
    bits = wide(value)
    size = len(powers[0])
    table = alloc_local((width * size,), dtype)
    for number, word in enumerate(w for words in powers for w in words):
        table[number] = word
    with _Repeated(width) as k, _Where(((bits >> wide(k)) & 1) == 1):
        apply(lambda word: tracer.expression(table[k * size + word]))


def _apply_known(
    words: list[int], dtype: str, apply: Callable[[Callable[[Any], Any]], None]
) -> None:
    tracer = current()
    table = alloc_local((len(words),), dtype)
    for number, word in enumerate(words):
        table[number] = word
    apply(lambda word: tracer.expression(table[word]))


# XORWOW

_XORWOW_BITS = 160


def _xorwow_step(v: list[Any], cut: Callable[[Any], Any] = lambda word: word) -> list[Any]:
    t = v[0] ^ (v[0] >> 2)
    return [*v[1:], cut((v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1)))]


@cache
def _xorwow_polynomial() -> int:
    """The least polynomial that the recurrence is a root of (Berlekamp and Massey), bit by bit."""
    v = [1, 2, 3, 4, 5]
    stream = []
    for _ in range(2 * _XORWOW_BITS):
        stream.append(v[0] & 1)
        v = _xorwow_step(v, lambda word: word & 0xFFFFFFFF)
    found, before, length, since = 1, 1, 0, 1
    for position, _ in enumerate(stream):
        terms = (stream[position - i] & (found >> i) for i in range(length + 1))
        if sum(term & 1 for term in terms) % 2 == 0:
            since += 1
        elif 2 * length <= position:
            found, before = found ^ (before << since), found
            length, since = position + 1 - length, 1
        else:
            found ^= before << since
            since += 1
    # Connection polynomials have their coefficients the other way round.
    return int(f"{found:0{length + 1}b}"[::-1], 2)


def _reduced(value: int) -> int:
    polynomial = _xorwow_polynomial()
    while (excess := value.bit_length() - polynomial.bit_length()) >= 0:
        value ^= polynomial << excess
    return value


def _product(a: int, b: int) -> int:
    total = 0
    while b:
        total ^= a if b & 1 else 0
        a, b = a << 1, b >> 1
    return _reduced(total)


@cache
def _xorwow_power(doublings: int) -> int:
    """x to the power of 2**doublings, modulo the polynomial."""
    if doublings == 0:
        return 2
    half = _xorwow_power(doublings - 1)
    return _product(half, half)


def _xorwow_words(steps: int) -> list[int]:
    power = 1
    for bit in range(steps.bit_length()):
        if steps >> bit & 1:
            power = _product(power, _xorwow_power(bit))
    return [power >> shift & 0xFFFFFFFF for shift in range(0, _XORWOW_BITS, 32)]


class Xorwow(Generator):
    """XORWOW: five words that are shifted and mixed, and a counter."""

    def __init__(self, seed: Any, sequence: Any, offset: Any) -> None:
        super().__init__()
        tracer = current()
        seed = wide(tracer.expression(seed))
        low, high = low_word(seed) ^ 0xAAD26B49, low_word(seed >> 32) ^ 0xF7DCEFDD
        a, b = low_word(wide(low) * 1099087573), low_word(wide(high) * 2591861531)
        self.words = alloc_local((5,), "uint32")
        first = (123456789, 362436069, 521288629, 88675123, 5783321)
        for number, (mix, salt) in enumerate(zip(first, (a, a, b, b, a), strict=True)):
            is_sum = number % 2 == 0
            self.words[number] = low_word(wide(salt) + mix) if is_sum else salt ^ mix
        past = low_word(wide(tracer.expression(offset)) * 362437)
        self.counter = alloc_var("uint32", init=low_word(wide(a) + wide(b) + wide(past) + 6615241))
        _jump(sequence, lambda n: _xorwow_words(n << 67), "uint32", self._apply)
        _jump(offset, _xorwow_words, "uint32", self._apply)

    def _apply(self, word_of: Callable[[Any], Any]) -> None:
        """The sum of those of the next 160 states that the polynomial names."""
        tracer = current()
        total = alloc_local((5,), "uint32")
        for number in range(5):
            total[number] = 0
        with _Repeated(_XORWOW_BITS) as k:
            bit = cast(k & 31, "uint32")
            with _Where(((word_of(k >> 5) >> bit) & 1) == 1):
                for number in range(5):
                    total[number] = total[number] ^ self.words[number]
            self._step()
        for number in range(5):
            self.words[number] = tracer.expression(total[number])

    def _step(self) -> None:
        tracer = current()
        for number, word in enumerate(
            _xorwow_step([tracer.expression(self.words[n]) for n in range(5)])
        ):
            self.words[number] = word

    def next(self) -> Any:
        tracer = current()
        self._step()
        count = low_word(wide(tracer.expression(self.counter)) + 362437)
        tracer.store(self.counter.element(), count)
        return low_word(wide(tracer.expression(self.words[4])) + wide(count))


# MRG32k3a

_MODULI = (4294967087, 4294944443)
#: What the newest of three values is made of, the oldest first.
_FACTORS = ((-810728, 1403580, 0), (-1370589, 0, 527612))


def _times(a: list[list[int]], b: list[list[int]], modulus: int) -> list[list[int]]:
    columns = list(zip(*b, strict=True))
    return [[sum(x * y for x, y in zip(r, c, strict=True)) % modulus for c in columns] for r in a]


@cache
def _mrg_power(doublings: int) -> list[list[list[int]]]:
    """The matrices of 2**doublings steps, one for each recurrence."""
    if doublings == 0:
        return [
            [[0, 1, 0], [0, 0, 1], [f % modulus for f in factors]]
            for modulus, factors in zip(_MODULI, _FACTORS, strict=True)
        ]
    half = _mrg_power(doublings - 1)
    return [_times(m, m, modulus) for m, modulus in zip(half, _MODULI, strict=True)]


def _mrg_words(steps: int) -> list[int]:
    """Those of `steps`, row by row."""
    found = [[[1, 0, 0], [0, 1, 0], [0, 0, 1]]] * 2
    for bit in range(steps.bit_length()):
        if steps >> bit & 1:
            powers = zip(found, _mrg_power(bit), _MODULI, strict=True)
            found = [_times(a, b, modulus) for a, b, modulus in powers]
    return [word for matrix in found for row in matrix for word in row]


class Mrg(Generator):
    """MRG32k3a: two recurrences of three values each, whose difference is the number."""

    def __init__(self, seed: Any, sequence: Any, offset: Any) -> None:
        super().__init__()
        seed = wide(current().expression(seed))
        x = wide(low_word(seed) ^ 0x55555555)
        y = wide(low_word(seed >> 32) ^ 0xAAAAAAAA)
        self.values = alloc_local((6,), "uint64")
        for number, factor in enumerate((x, y, x, y, x, y)):
            scrambled = factor * 12345 % _MODULI[number // 3]
            self.values[number] = Select(seed == 0, wide(12345), scrambled)
        _jump(sequence, lambda n: _mrg_words(n << 76), "uint64", self._apply)
        _jump(offset, _mrg_words, "uint64", self._apply)

    def _read(self) -> list[Any]:
        return [current().expression(self.values[number]) for number in range(6)]

    def _apply(self, word_of: Callable[[Any], Any]) -> None:
        before = self._read()
        for number in range(6):
            part, row = divmod(number, 3)
            modulus = _MODULI[part]
            terms = [word_of(number * 3 + i) * before[part * 3 + i] % modulus for i in range(3)]
            self.values[number] = (terms[0] + terms[1] + terms[2]) % modulus

    def _number(self) -> Any:
        """The next one, from 1 to the first modulus, as uint64."""
        v = self._read()
        first = (v[1] * 1403580 + (_MODULI[0] - v[0]) * 810728) % _MODULI[0]
        second = (v[5] * 527612 + (_MODULI[1] - v[3]) * 1370589) % _MODULI[1]
        for number, value in enumerate((v[1], v[2], first, v[4], v[5], second)):
            self.values[number] = value
        return Select(first > second, first - second, first + _MODULI[0] - second)

    def next(self) -> Any:
        scaled = cast(cast(self._number(), "float64") * 1.000000048662, "uint64")
        return cast(Select(scaled > 0xFFFFFFFF, wide(0xFFFFFFFF), scaled), "uint32")

    def uniform(self) -> Any:
        return cast(self.uniform_double(), "float32")

    def angle(self) -> Any:
        return self.uniform() * cast(_TWO_PI, "float32")

    def uniform_double(self) -> Any:
        return cast(self._number(), "float64") * 2.3283065498378288e-10
