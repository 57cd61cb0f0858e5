# SPDX-License-Identifier: Apache-2.0
"""form_references.py, continued: comparisons, reductions, gathers, sorts, registers."""

import re

import numpy as np
from form_references import (
    BLOCK,
    REPEAT,
    Call,
    Case,
    Shape,
    bits_to_lanes,
    keeps_mask,
    lanes_of_repeats,
    lanewise,
    number,
    numbers_of,
    shape_of,
    size_of,
)

# --- compare and select ---------------------------------------------------------------------


def set_bits(case: Case, name: str, at: np.ndarray, values: np.ndarray) -> None:
    """Single bits of a tensor's bytes."""
    out = case.of(name, "uint8_t")
    for k, value in zip(at, values, strict=True):
        out[k // 8] = (out[k // 8] & ~(1 << k % 8) & 255) | (int(value) << k % 8)


def bits_of(case: Case, name: str, at: np.ndarray) -> np.ndarray:
    """Single bits of a tensor's bytes."""
    return case.of(name, "uint8_t")[at // 8] >> (at % 8) & 1 == 1


def two_source_shape(
    case: Case, rest: list[str], lanes: int, call: Call
) -> tuple[Shape, list[int]]:
    """The shape behind a mode: a count, or mask, repeats and strides."""
    if len(rest) == 1:
        return Shape(counted=number(rest[0], case)), [1, 1, 1, 8, 8, 8]
    steps = numbers_of(rest[2], case)
    if len(steps) == 4:  # of one source
        steps = [steps[0], steps[1], steps[1], steps[2], steps[3], steps[3]]
    return shape_of(case, rest[0], number(rest[1], case), lanes, keeps_mask(call)), steps


def compare(case: Case, call: Call) -> None:
    """A bit for each element: less than."""
    to, a, b, _, *rest = call.arguments
    lanes = REPEAT // size_of(a)
    shape, steps = two_source_shape(case, rest, lanes, call)
    x = case.of(a)[shape.bytes_of(size_of(a), steps[1], steps[4]) // size_of(a)]
    if call.name == "Compare":
        y = case.of(b)[shape.bytes_of(size_of(b), steps[2], steps[5]) // size_of(b)]
    else:
        y = np.float16(case.n["sc"] / 8)
    set_bits(case, to, shape.numbers(lanes), x < y)


def compare_mask(case: Case, call: Call) -> None:
    """The bits of the compare mask register, shown by GetCmpMask: of the active lanes."""
    if call.name == "SetCmpMask":
        return select_by_register(case, bits_of(case, "tmp8", np.arange(128)))
    mask, params = call.arguments[-2:] if call.name == "Compare" else ("mask", "brp")
    steps = numbers_of(params, case)
    shape = shape_of(case, mask, 1, 128, keeps_mask(call))
    x = case.of("s0")[shape.bytes_of(2, steps[1], steps[4]) // 2]
    y = case.of("s1")[shape.bytes_of(2, steps[2], steps[5]) // 2]
    bits = np.zeros(128, bool)
    bits[shape.active[0]] = x < y
    set_bits(case, "tmp8", np.arange(128), bits)
    return None


def select_by_register(case: Case, bits: np.ndarray) -> None:
    """Select with the compare mask: its 128 bits again for each repeat."""
    steps = [case.n[f"brp{k}"] for k in range(6)]
    shape = Shape(active=[np.arange(128)] * case.n["rt"])
    x = case.of("s0")[shape.bytes_of(2, steps[1], steps[4]) // 2]
    y = case.of("s1")[shape.bytes_of(2, steps[2], steps[5]) // 2]
    at = shape.bytes_of(2, steps[0], steps[3]) // 2
    case.of("dst")[at] = np.where(bits[shape.numbers(128) % 128], x, y)


def select(case: Case, call: Call) -> None:
    """By bits: the first source or the second, or a scalar."""
    if "SELMODE::VSEL_CMPMASK_SPR" in call.templates:
        whole = case.of("s0")[:128] < case.of("s1")[:128]
        return select_by_register(case, whole)
    to, bits, a, b, _, *rest = call.arguments
    size = size_of(to)
    lanes = REPEAT // size
    shape, steps = two_source_shape(case, rest, lanes, call)
    x = case.of(a)[shape.bytes_of(size, steps[1], steps[4]) // size]
    if b == "s1":
        y = case.of(b)[shape.bytes_of(size, steps[2], steps[5]) // size]
    else:
        y = np.asarray(case.n["sc"] / 8 if b == "sc" else 0, x.dtype)
    at = shape.bytes_of(size, steps[0], steps[3]) // size
    case.of(to)[at] = np.where(bits_of(case, bits, shape.numbers(lanes)), x, y)
    return None


# --- reductions -----------------------------------------------------------------------------


def tree_sum(values: np.ndarray) -> np.ndarray:
    """Neighbours are added, then their sums, each rounded."""
    while len(values) > 1:
        values = (values[0::2].astype(np.float32) + values[1::2]).astype(values.dtype)
    return values[0]


def with_zeros(active: np.ndarray, values: np.ndarray, lanes: int) -> np.ndarray:
    """All lanes of a repeat; those that don't count are zero."""
    whole = np.zeros(lanes, values.dtype)
    whole[active] = values
    return whole


def extreme(active: np.ndarray, values: np.ndarray, largest: bool) -> tuple[np.ndarray, int]:
    """The first of the largest (smallest), and its lane."""
    k = int(np.argmax(values) if largest else np.argmin(values))
    return values[k], int(active[k])


def kind_of(call: Call) -> str:
    """SUM, MAX or MIN, by the name or the template argument."""
    text = call.name + "".join(call.templates[:1])
    return (
        "MAX"
        if "Max" in text or "MAX" in text
        else "MIN"
        if "Min" in text or "MIN" in text
        else "SUM"
    )


def repeats_of_half(case: Case, call: Call, mask: str, repeat: str, block: str, step: str) -> list:
    """The lanes of each repeat of s0 that a reduction of half takes."""
    shape = shape_of(case, mask, number(repeat, case), 128, keeps_mask(call))
    return list(lanes_of_repeats(case, shape, "s0", 128, number(block, case), number(step, case)))


def whole_reduce(case: Case, call: Call) -> None:
    """One result for each repeat."""
    arguments = list(call.arguments)
    if call.name == "RepeatReduceSum":  # repeats come first, and the destination's block stride
        to, source, repeat, mask, _, block, pitch, step = arguments
        arguments = [to, source, mask, repeat, pitch, block, step]
    to, _, mask, repeat, pitch, block, step, *order = arguments
    out, kind = case.of(to), kind_of(call)
    with_index = order[0].split("_", 1)[1] if order else "VALUE_INDEX"
    for k, (active, values) in enumerate(repeats_of_half(case, call, mask, repeat, block, step)):
        at = k * number(pitch, case)
        if kind == "SUM":
            out[at] = tree_sum(with_zeros(active, values, 128))
            continue
        value, lane = extreme(active, values, kind == "MAX")
        index = np.array([lane], np.uint16).view(np.float16)[0]
        if with_index == "ONLY_VALUE":
            out[at] = value
        else:
            pair = [value, index] if with_index == "VALUE_INDEX" else [index, value]
            out[2 * at : 2 * at + 2] = pair


def group_reduce(case: Case, call: Call) -> None:
    """One result for each block of 32 bytes, or each pair."""
    to, _, mask, repeat, pitch, block, step = call.arguments
    if call.name.startswith(("Block", "Pair")):
        mask, repeat = repeat, mask
    each = 2 if "Pair" in call.name else 16
    kind, out = kind_of(call), case.of(to)
    for k, (active, values) in enumerate(repeats_of_half(case, call, mask, repeat, block, step)):
        for group in range(128 // each):
            here = active // each == group
            if not here.any():
                continue
            own = values[here]
            result = {"MAX": own.max(), "MIN": own.min()}.get(kind)
            if kind == "SUM":
                result = tree_sum(with_zeros(active[here] % each, own, each))
            out[(k * number(pitch, case) * 128) // each + group] = result


def reduce_all(case: Case, call: Call) -> None:
    """One result of a count, or of all repeats."""
    to, _, _, *rest = call.arguments
    out, kind, n = case.of(to), kind_of(call), case.n
    if len(rest) > 2:
        shape = shape_of(case, rest[0], number(rest[1], case), 128, keeps_mask(call))
        step, flags = number(rest[2], case), rest[3:]
    else:
        total, step, flags = n["count"], 8, rest[1:]
        shape = Shape(active=[np.arange(min(128, total - k)) for k in range(0, total, 128)])
    repeats = list(lanes_of_repeats(case, shape, "s0", 128, 1, step))
    if kind == "SUM":
        total = None
        for active, values in repeats:
            part = tree_sum(with_zeros(active, values, 128))
            total = part if total is None else np.float16(np.float32(total) + np.float32(part))
        out[0] = total
        return
    lanes = np.concatenate([k * 128 + active for k, (active, _) in enumerate(repeats)])
    value, lane = extreme(lanes, np.concatenate([v for _, v in repeats]), kind == "MAX")
    out[0] = value
    if flags and flags[0] in ("true", "1"):
        out[1] = np.array([lane], np.uint16).view(np.float16)[0]


def scalar_results(case: Case, call: Call) -> None:
    """What a reduction of s0 left for the scalar unit (the kernel reduces 64 lanes first)."""
    values = case.of("s0")[:64]
    if call.name in ("GetAccVal", "GetReduceRepeatSumSpr"):
        total = tree_sum(with_zeros(np.arange(64), values, 128))
        case.of("dst")[0] = total
        case.put(total)
        return
    value, lane = extreme(np.arange(64), values, True)
    index = np.array([lane], np.uint16).view(np.float16)[0]
    case.of("dst")[:2] = [value, index]
    case.put(*[value, index][: len(call.arguments)])


# --- gathers and rearrangement --------------------------------------------------------------


def gather(case: Case, call: Call) -> None:
    """Elements by byte offsets."""
    to, source, offsets, _, mask, *rest = call.arguments
    if rest:
        shape = shape_of(case, mask, number(rest[0], case), 128, False)
        at = shape.bytes_of(2, 1, number(rest[1], case)) // 2
    else:
        at = np.arange(number(mask, case))
    own = shape.numbers(128) if rest else at
    case.of(to)[at] = case.of(source)[case.of(offsets)[own] // 2]


def gather_blocks(case: Case, call: Call) -> None:
    """Blocks of 32 bytes by byte offsets."""
    to, source, offsets, repeat, params = call.arguments
    block, step = numbers_of(params, case)
    src, out = case.of(source, "uint8_t").copy(), case.of(to, "uint8_t")
    for k in range(number(repeat, case) * 8):
        at = (k // 8 * step + k % 8 * block) * BLOCK
        first = case.of(offsets)[k]
        out[at : at + BLOCK] = src[first : first + BLOCK]


def gather_mask(case: Case, call: Call) -> None:
    """What a pattern chooses, side by side."""
    to, source, pattern, counted, count, params, _ = call.arguments
    n = case.n
    repeats, step, pattern_step = (
        (n["rt"], n["gmp2"], n["gmp3"]) if params == "gmp" else numbers_of(params, case)[1:]
    )
    lanes = number(count, case) if counted == "true" else 128
    kept = []
    for rep in range(repeats):
        lane = np.arange(lanes)
        if pattern == "u1":
            chosen = bits_of(case, "u1", rep * pattern_step * BLOCK * 8 + lane)
        else:  # the first of the fixed patterns: each other lane
            chosen = lane % 2 == 0
        kept.append(case.of(source)[rep * step * 16 + lane[chosen]])
    values = np.concatenate(kept)
    case.of(to)[: len(values)] = values
    case.put(np.uint64(len(values)))


def broadcast_blocks(case: Case, _call: Call) -> None:
    """Brcb: eight elements fill a block each."""
    case.of("dst")[:128] = np.repeat(case.of("s0")[:8], 16)


def transposes(case: Case, call: Call) -> None:
    """A square of 16, or the rows of lists, 128 bytes apart."""
    if call.name == "Transpose":
        case.of("dst")[:256] = case.of("s0")[:256].reshape(16, 16).T.reshape(-1)
        return
    repeats = 1 if call.arguments[2].startswith("{") else case.n["rt"]
    rows, out = case.of("s0")[:1024].reshape(16, 64).copy(), case.of("dst")[:1024].reshape(16, 64)
    for k in range(repeats):
        out[:, k * 16 : k * 16 + 16] = rows[:, k * 16 : k * 16 + 16].T


# --- sorts ----------------------------------------------------------------------------------


def pairs_of(case: Case, name: str) -> np.ndarray:
    """Pairs of 8 bytes: a score, and bits."""
    return case.of(name, "uint32_t").reshape(-1, 2)


def sort(case: Case, call: Call) -> None:
    """32 scores fall, with their indices; equal ones keep their order."""
    scores = case.of("f1")[:32]
    order = np.argsort(-scores, kind="stable")
    out = pairs_of(case, "f0")
    out[:32, 0] = scores.view(np.uint32)[order]
    out[:32, 1] = case.of("off")[:32][order]


def merge(case: Case, call: Call) -> None:
    """Of the heads of lists, all of them f1, the largest, again and again."""
    n = case.n
    by_array = "lengths" in call.arguments
    valid = 15 if by_array else n["validLists"]
    suspends = "true" in call.templates if by_array else n["suspend"]
    lists, out, taken = pairs_of(case, "f1").copy(), pairs_of(case, "f0"), [0, 0, 0, 0]
    made = 0
    while True:
        left = [k for k in range(4) if valid >> k & 1 and taken[k] < n[f"len{k}"]]
        if not left:
            break
        best = max(left, key=lambda k: (lists.view(np.float32)[taken[k], 0], -k))
        out[made] = lists[taken[best]]
        made += 1
        taken[best] += 1
        if suspends and taken[best] == n[f"len{best}"]:
            break
    if by_array:
        case.put(*[np.uint32(t) for t in taken])


def extract(case: Case, _call: Call) -> None:
    """Pairs become scores and indices."""
    pairs = pairs_of(case, "f1")[:32].copy()
    case.of("f0", "uint32_t")[:32] = pairs[:, 0]
    case.of("off")[:32] = pairs[:, 1]


# --- values without a source ----------------------------------------------------------------


def duplicate(case: Case, call: Call) -> None:
    """One value everywhere."""
    to, value, *rest = call.arguments
    size = size_of(to)
    if len(rest) == 1:
        at = np.arange(number(rest[0], case))
    else:
        mask, repeat, block, step = rest
        shape = shape_of(case, mask, number(repeat, case), REPEAT // size, keeps_mask(call))
        at = shape.bytes_of(size, number(block, case), number(step, case)) // size
    if value.startswith("s0"):
        case.of(to)[at] = case.of("s0")[0]
    else:
        case.of(to)[at] = (
            case.n["sc"] / 8 if value == "sc" else float(re.sub(r"^\(\w+\)|f$", "", value))
        )


def sequence(case: Case, call: Call) -> None:
    """0, 1, 2 and so on, each in its lane."""
    to, _, *rest = call.arguments
    size = size_of(to)
    if len(rest) <= 2:
        at = np.arange(number(rest[-1], case))
    else:
        mask, repeat, block, step = rest
        shape = shape_of(case, mask, number(repeat, case), REPEAT // size, False)
        at = shape.bytes_of(size, number(block, case), number(step, case)) // size
    own = np.arange(len(at)) if len(rest) <= 2 else shape.numbers(REPEAT // size)
    case.of(to)[at] = own


def spoil_scratch(case: Case, call: Call) -> None:
    """In temporary memory is nothing to rely on behind a call: the host fills it."""
    if "tmp8" in call.arguments:
        case.of("tmp8")[:] = 0xFF


def interpolation(case: Case, call: Call) -> None:
    """Eight blocks by offsets, times one weight, each rounded."""
    spoil_scratch(case, call)
    shape = shape_of(case, call.arguments[4], 1, 128, False)
    for lane in shape.active[0]:
        first = case.of("off")[lane // 16] // 2
        product = np.float32(case.of("s0")[first + lane % 16]) * np.float32(case.of("s1")[0])
        case.of("dst")[lane] = product


# --- registers ------------------------------------------------------------------------------


def vector_mask(case: Case, call: Call) -> None:
    """Add with the mask that the register holds then: two repeats."""
    n, arguments = case.n, call.arguments
    counter = "MaskMode::COUNTER" in call.templates or call.name == "SetMaskCount"
    high = low = (1 << 64) - 1
    if call.name == "SetVectorMask" and len(arguments) == 2 and not counter:
        words = {"0ull": 0, "~0ull": low, "mask[0]": n["mask0"], "mask[1]": n["mask1"]}
        high, low = (words[a] for a in arguments)
    elif call.name == "SetVectorMask" and not counter:
        high, low = 0, (1 << number(arguments[0], case)) - 1
    if counter:
        total = n["count"] if call.name == "SetMaskCount" else 128
        shape = Shape(active=[np.arange(min(128, total - k)) for k in range(0, total, 128)])
    else:
        shape = Shape(active=[bits_to_lanes(low, high, 128)] * n["rt"])
    at = shape.bytes_of(2, 1, 8) // 2
    case.of("dst")[at] = case.of("s0")[at] + case.of("s1")[at]


def dequantise(case: Case, call: Call) -> None:
    """int32_t times a scale, or int16_t to half of each block of bytes."""
    if call.name == "SetDeqScale" and len(call.arguments) == 1:
        out = case.of("dst")
        out[:64] = case.of("q0")[:64].astype(np.float32)
        return
    if call.name == "CastDequant":
        lanewise(case, call)
        return
    by_table = call.name == "CastDeq" and "false" not in call.templates
    if by_table:
        for k in range(16):
            bits = int(np.array([0.25 * (k + 1)], np.float32).view(np.uint32)[0])
            case.of("u64")[k] = bits | (k & 511) << 37 | 1 << 46
    counted = len(call.arguments) == 3 or call.name == "SetDeqScale"
    steps = [1, 1] if counted else [case.n["urp0"], case.n["urp1"]]
    for k in range(64 if counted else 128):
        scale, offset = (0.25 * (k % 16 + 1), k % 16) if by_table else (1.0, 0)
        value = case.of("h16")[k // 16 * 16 * steps[1] + k % 16]
        value = np.rint(np.float32(value) * np.float32(scale)) + offset
        at = k // 16 * steps[0] * BLOCK + k % 16 + (0 if by_table else 16)
        case.of("i8")[at] = np.clip(value, -128, 127)


def whole_tensors(case: Case, text: str) -> None:
    """dst = a + b and a < b, on all of dst."""
    match = re.fullmatch(r"(\w+) = (\w+)([^\w]+)(\w+)", text)
    assert match
    to, a, operator, b = match.groups()
    x, y = case.of(a), case.of(b)
    bits = {"<": x < y, ">": x > y, "<=": x <= y, ">=": x >= y, "==": x == y, "!=": x != y}
    if operator in bits:
        set_bits(case, to, np.arange(len(x)), bits[operator])
    elif operator in "&|":
        case.of(to)[:] = x & y if operator == "&" else x | y
    else:
        case.of(to)[:] = (
            {"+": x + y, "-": x - y, "*": x * y}[operator] if operator != "/" else x / y
        )


def exclusive_or(case: Case, call: Call) -> None:
    """64 elements or all, bit by bit."""
    spoil_scratch(case, call)
    count = 64 if call.arguments[-1] == "64" else len(case.of("u0"))
    case.of("u0")[:count] = case.of("u1")[:count] ^ case.of("u2")[:count]


def fill(case: Case, name: str, at: int, value: float) -> None:
    """One element."""
    case.of(name)[at] = value
