# SPDX-License-Identifier: Apache-2.0
"""What each form of call_forms.txt does to memory, in plain numpy: by name, with the mask, repeats
and strides as the call's text has them. Nothing here knows the simulator."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from call_forms import CUBE, GLOBAL, GLOBAL_SLOT, LOCAL, SLOT, Form

DTYPES = {
    "half": np.float16,
    "float": np.float32,
    "uint8_t": np.uint8,
    "int8_t": np.int8,
    "uint16_t": np.uint16,
    "int16_t": np.int16,
    "uint32_t": np.uint32,
    "int32_t": np.int32,
    "uint64_t": np.uint64,
}
# The image: UB or L1, the cube's memories, GM, numbers that the kernel puts out.
SIZES = {"local": SLOT * len(LOCAL), "A2": 2 * SLOT, "B2": 2 * SLOT, "CO1": 2 * SLOT}
SIZES |= {"C2": 1024, "C2PIPE2GM": 2048, "GM": (len(GLOBAL) + 1) * GLOBAL_SLOT, "put": 64}
FIRST = {name: sum(list(SIZES.values())[:k]) for k, name in enumerate(SIZES)}
IMAGE = sum(SIZES.values())
TENSORS = {
    name: (kind, FIRST["local"] + SLOT * k, SLOT) for k, (name, kind) in enumerate(LOCAL.items())
}
TENSORS |= {name: (kind, FIRST[at] + first, size) for name, (at, kind, first, size) in CUBE.items()}
TENSORS |= {
    name: (kind, FIRST["GM"] + GLOBAL_SLOT * k, GLOBAL_SLOT)
    for k, (name, kind) in enumerate([*GLOBAL.items(), ("gp", "half")])
}
BLOCK, REPEAT = 32, 256


@dataclass
class Case:
    """A form with numbers; `image` becomes what memory is afterwards."""

    form: Form
    n: dict[str, int]
    image: np.ndarray
    undefined: list[tuple[int, int]] = field(default_factory=list)
    tolerance: float = 0
    tolerant: str = ""

    def of(self, name: str, kind: str = "") -> np.ndarray:
        """A tensor's elements."""
        own, first, size = TENSORS[name]
        return self.image[first : first + size].view(DTYPES[kind or own])

    def put(self, *values: object) -> None:
        """Numbers that the kernel shows, each of 8 bytes with zeros behind it."""
        for k, value in enumerate(values):
            at = FIRST["put"] + 8 * k
            self.image[at : at + 8] = 0
            raw = np.atleast_1d(np.asarray(value)).view(np.uint8)
            self.image[at : at + len(raw)] = raw


@dataclass
class Call:
    """Name<templates>(arguments), as texts."""

    name: str
    templates: list[str]
    arguments: list[str]


def split(text: str, at: str = ",") -> list[str]:
    """Parts between commas that no bracket encloses."""
    parts, depth, last = [], 0, ""
    for c in text:
        depth += (c in "([{<") - (c in ")]}>")
        if c == at and depth == 0:
            parts.append(last.strip())
            last = ""
        else:
            last += c
    return [p for p in [*parts, last.strip()] if p]


def call_of(form: Form) -> Call | None:
    """The last call of the form."""
    for statement in reversed(split(form.text, ";")):
        match = re.fullmatch(r"(?:\w+ \w+ = )?(\w+)(?:<(.*?)>)?\((.*)\)", statement)
        if match:
            return Call(match[1], split(match[2] or ""), split(match[3]))
    return None


# --- masks, repeats, strides ----------------------------------------------------------------


@dataclass
class Shape:
    """Lanes of repeats: those that count, of each repeat."""

    counted: int | None = None
    active: list[np.ndarray] = field(default_factory=list)

    def bytes_of(self, size: int, block: int, repeat: int) -> np.ndarray:
        """The byte of each active lane, in order, for elements of `size` bytes."""
        if self.counted is not None:
            return np.arange(self.counted) * size
        per_block, parts = BLOCK // size, []
        for k, lanes in enumerate(self.active):
            in_repeat = lanes // per_block * block * BLOCK + lanes % per_block * size
            parts.append(k * repeat * BLOCK + in_repeat)
        return np.concatenate(parts) if parts else np.array([], int)

    def numbers(self, lanes: int) -> np.ndarray:
        """The number of each active lane among all lanes."""
        if self.counted is not None:
            return np.arange(self.counted)
        return np.concatenate([k * lanes + a for k, a in enumerate(self.active)])


def number(text: str, case: Case) -> int:
    """The value of an argument."""
    text = re.sub(r"^\(\w+\)", "", text)
    if text in ("true", "false"):
        return int(text == "true")
    return case.n[text] if text in case.n else int(text.rstrip("u"))


def numbers_of(text: str, case: Case) -> list[int]:
    """The strides of repeats, by name or in braces or as a constructor."""
    if text in ("brp", "urp"):
        return [case.n[f"{text}{k}"] for k in range(6 if text == "brp" else 4)]
    inner = re.sub(r"^\w*[({]|[)}]$", "", text)
    return [number(part, case) for part in split(inner)]


def bits_to_lanes(low: int, high: int, lanes: int) -> np.ndarray:
    """The lanes whose bits are set."""
    both = low | high << 64
    return np.array([k for k in range(lanes) if both >> k & 1], int)


def shape_of(case: Case, mask: str, repeats: int, lanes: int, register: bool) -> Shape:
    """The lanes of a mask that a call gives, or that the register holds."""
    n = case.n
    if register or mask.startswith("MASK_PLACEHOLDER"):
        if n["counter"]:
            total = n["count"]
            return Shape(
                active=[np.arange(min(lanes, total - first)) for first in range(0, total, lanes)]
            )
        one = bits_to_lanes(n["mask0"], n["mask1"], lanes)
    elif mask in ("mask", "cmask"):
        one = bits_to_lanes(n["mask0"], n["mask1"], lanes)
    else:
        one = np.arange(min(number(mask, case), lanes))
    return Shape(active=[one] * repeats)


def size_of(name: str) -> int:
    """Bytes of an element of a tensor."""
    return np.dtype(DTYPES[TENSORS[name][0]]).itemsize


def widest(call: Call) -> int:
    """Bytes of the widest element among the call's tensors."""
    return max(size_of(a) for a in call.arguments if a in TENSORS)


def keeps_mask(call: Call) -> bool:
    """True if the call takes the mask that the register holds."""
    return "false" in call.templates


# --- numbers --------------------------------------------------------------------------------

Numbers = np.ndarray


def f32(x: Numbers) -> Numbers:
    """Rounded to float."""
    return np.asarray(x, np.float32)


def wide(x: Numbers) -> Numbers:
    """As float, or as a wide integer."""
    return f32(x) if np.issubdtype(x.dtype, np.floating) else x.astype(np.int64)


def narrow(x: Numbers, kind: type) -> Numbers:
    """To the destination's type: integers wrap, floats that become 8 bits saturate."""
    if np.issubdtype(kind, np.integer):
        if np.issubdtype(x.dtype, np.floating):
            info = np.iinfo(kind)
            return np.clip(np.rint(np.nan_to_num(x)), info.min, info.max).astype(kind)
        return x.astype(np.int64).astype(kind)
    return x.astype(kind)


def relu(x: Numbers) -> Numbers:
    """Not below zero."""
    return np.where(x > 0, x, x * 0)


Lanewise = Callable[..., Numbers]
# d: what the destination holds, a and b: the sources, c: the scalar.
TWO: dict[str, Lanewise] = {
    "Add": lambda d, a, b: a + b,
    "Sub": lambda d, a, b: a - b,
    "Mul": lambda d, a, b: a * b,
    "Div": lambda d, a, b: a / b,
    "Max": lambda d, a, b: np.maximum(a, b),
    "Min": lambda d, a, b: np.minimum(a, b),
    "And": lambda d, a, b: a & b,
    "Or": lambda d, a, b: a | b,
    "AddRelu": lambda d, a, b: relu(a + b),
    "SubRelu": lambda d, a, b: relu(a - b),
    "FusedMulAdd": lambda d, a, b: f32(a * d) + b,
    "FusedMulAddRelu": lambda d, a, b: relu(f32(a * d) + b),
    "MulAddRelu": lambda d, a, b: relu(f32(a * d) + b),
    "MulAddDst": lambda d, a, b: f32(a * b) + d,
    "MulCast": lambda d, a, b: a * b,
    "AddReluCast": lambda d, a, b: relu(a + b),
    "SubReluCast": lambda d, a, b: relu(a - b),
    "AddDeqRelu": lambda d, a, b: relu(f32(f32(a + b) * f32(0.25))),
}
WITH_SCALAR: dict[str, Lanewise] = {
    "Adds": lambda d, a, c: a + c,
    "Subs": lambda d, a, c: a - c,
    "Muls": lambda d, a, c: a * c,
    "Divs": lambda d, a, c: a / c,
    "Maxs": lambda d, a, c: np.maximum(a, c),
    "Mins": lambda d, a, c: np.minimum(a, c),
    "Ands": lambda d, a, c: a & c,
    "Ors": lambda d, a, c: a | c,
    "LeakyRelu": lambda d, a, c: np.where(a >= 0, a, a * c),
    "ShiftLeft": lambda d, a, c: a << c,
    "ShiftRight": lambda d, a, c: a >> c,
    "Axpy": lambda d, a, c: f32(a * c) + d,
}
ONE: dict[str, Lanewise] = {
    "Exp": lambda d, a: np.exp(a.astype(float)),
    "Ln": lambda d, a: np.log(a.astype(float)),
    "Abs": lambda d, a: np.abs(a),
    "Reciprocal": lambda d, a: 1 / a.astype(float),
    "Sqrt": lambda d, a: np.sqrt(a.astype(float)),
    "Rsqrt": lambda d, a: 1 / np.sqrt(a.astype(float)),
    "Relu": lambda d, a: relu(a),
    "Not": lambda d, a: ~a,
    "Copy": lambda d, a: a,
    "Cast": lambda d, a: a,
    "CastDequant": lambda d, a: f32(f32(a) * f32(0.25)),
}
# Functions of the C library, and what is computed from them: half's last digit.
TOLERANCE = {"Exp": 1e-3, "Ln": 1e-3, "Reciprocal": 1e-3, "Rsqrt": 1e-3, "Sqrt": 1e-3}


def scalar_of(text: str, case: Case) -> float:
    """The scalar of a call."""
    if text == "sc":
        return case.n["sc"] / 8
    value = float(re.sub(r"^\(\w+\)|f$", "", text))
    return int(value) if value == int(value) else value


def lanewise(case: Case, call: Call) -> None:
    """Element by element: tensors, a scalar perhaps, rounding perhaps, and the shape."""
    name, arguments = call.name, list(call.arguments)
    tensors = [arguments.pop(0)]
    while arguments and arguments[0] in TENSORS:
        tensors.append(arguments.pop(0))
    scalars = [scalar_of(arguments.pop(0), case)] if name in WITH_SCALAR else []
    rounds = arguments and arguments[-1] == "true"
    arguments = [a for a in arguments if not a.startswith("RoundMode::") and a != "true"]
    sizes = [size_of(t) for t in tensors]
    lanes = REPEAT // max(sizes)
    if len(arguments) == 1:
        shape = Shape(counted=number(re.sub(r"^\(\w+\)", "", arguments[0]), case))
        blocks, repeats = [1] * len(tensors), [8] * len(tensors)
    else:
        steps = numbers_of(arguments[2], case)
        blocks, repeats = steps[: len(tensors)], steps[len(tensors) :]
        count = number(arguments[1], case)
        shape = shape_of(case, arguments[0], count, lanes, keeps_mask(call))
    at = [
        shape.bytes_of(size, block, repeat) // size
        for size, block, repeat in zip(sizes, blocks, repeats, strict=True)
    ]
    values = [wide(case.of(t)[where]) for t, where in zip(tensors, at, strict=True)]
    function = {**TWO, **WITH_SCALAR, **ONE}[name]
    extra = [
        values[0].dtype.type(s) if name == "Axpy" else values[-1].dtype.type(s) for s in scalars
    ]
    if name == "ShiftRight" and rounds:
        values[1] = values[1] + (1 << (int(extra[0]) - 1))
    out = case.of(tensors[0])
    out[at[0]] = narrow(function(*values, *extra), out.dtype.type)
    case.tolerance, case.tolerant = TOLERANCE.get(name, 0), tensors[0]


# --- copies ---------------------------------------------------------------------------------


def raw(case: Case, name: str) -> np.ndarray:
    """The bytes of a tensor."""
    return case.of(name, "uint8_t")


def copy_rows(  # noqa: PLR0913 - a copy has these
    case: Case, to: str, source: str, rows: int, length: int, to_pitch: int, from_pitch: int
) -> None:
    """Rows of bytes."""
    src, dst = raw(case, source).copy(), raw(case, to)
    for r in range(rows):
        dst[r * to_pitch : r * to_pitch + length] = src[r * from_pitch : r * from_pitch + length]


def data_copy(case: Case, call: Call) -> None:
    """DataCopy in all of its forms but those from L0C."""
    to, source, *rest = call.arguments
    n, size = case.n, size_of(source)
    if rest[0] == "nd2nz":
        return nd_to_nz(case, to, source)
    if rest[0] == "nz2nd":
        return nz_to_nd(case, to, source)
    if rest[0] == "slicesTo":
        width = n["sliceWidth"]
        for r in range(n["sliceRows"]):
            first = (r + 2) * 128 + 16
            case.of(to)[r * 160 : r * 160 + width] = case.of(source)[first : first + width]
        return None
    if rest[0] == "a":  # slices of one dimension, 48 elements from 16 on
        case.of(to)[16:64] = case.of(source)[16:64]
        return None
    if rest[0] == "dcp":
        steps = [n[f"dcp{k}"] for k in range(4)]
    elif rest[0][0] in "{D":
        steps = numbers_of(rest[0], case)
    else:
        return copy_rows(case, to, source, 1, number(rest[0], case) * size, 0, 0)
    if to in ("bt", "fb"):  # units of 64 and 128 bytes; those of fb go from start to start
        count, length, src_gap, dst_gap = steps
        if to == "fb":
            return copy_rows(case, to, source, count, length * 128, dst_gap * 128, src_gap * 32)
        for r in range(count):  # perhaps of halves
            first, step = r * (length * 16 + src_gap * 32 // size), r * (length + dst_gap) * 16
            case.of(to)[step : step + length * 16] = case.of(source)[first : first + length * 16]
        return None
    rows, length, src_gap, dst_gap = (s if k == 0 else s * BLOCK for k, s in enumerate(steps))
    return copy_rows(case, to, source, rows, length, length + dst_gap, length + src_gap)


def nd_to_nz(case: Case, to: str, source: str) -> None:
    """Rows to columns of blocks; the rest of the last block of a row is zero."""
    _, rows, columns, src_matrix, src_row, block_pitch, row_pitch, dst_matrix = (
        case.n[f"nd{k}"] for k in range(8)
    )
    src, dst = case.of(source).copy(), case.of(to)
    for matrix in range(case.n["nd0"]):
        for r in range(rows):
            for c in range(-(-columns // 16) * 16):
                at = matrix * dst_matrix + (c // 16 * block_pitch + r * row_pitch) * 16 + c % 16
                first = matrix * src_matrix + r * src_row
                dst[at] = src[first + c] if c < columns else 0


def nz_to_nd(case: Case, to: str, source: str) -> None:
    """Columns of blocks to rows."""
    _, rows, columns, src_matrix, block_pitch, dst_row, dst_matrix = (
        case.n[f"nz{k}"] for k in range(7)
    )
    src, dst = case.of(source), case.of(to)
    for matrix in range(case.n["nz0"]):
        for r in range(rows):
            for c in range(columns):
                at = matrix * src_matrix * 256 + c // 16 * block_pitch * 16 + r * 16 + c % 16
                dst[matrix * dst_matrix + r * dst_row + c] = src[at]


def data_copy_pad(case: Case, call: Call) -> None:
    """Rows of bytes with padding up to whole blocks in UB."""
    to, source, steps, *padding = call.arguments
    n, size = case.n, 2
    if steps == "packed":
        length = n["dcp1"] * 32
        return copy_rows(case, to, source, n["ext0"], length, length, length + n["ext2"])
    rows, length, src_gap, dst_gap = (
        [n[f"ext{k}"] for k in range(4)] if steps[0] not in "{D" else numbers_of(steps, case)[:4]
    )
    if not padding:
        pitch = -(-length // BLOCK) * BLOCK
        return copy_rows(case, to, source, rows, length, length + dst_gap, pitch + src_gap * BLOCK)
    known = padding[0] in ("padding", "oldPadding")
    left, right = (n["padLeft"], n["padRight"]) if known else (0, 0)
    value = np.float16(n["sc"] / 8) if padding[0] == "padding" else np.uint16(n["padBits"])
    row = -(-(length + (left + right) * size) // BLOCK) * BLOCK
    _, first, _ = TENSORS[to]
    src, dst = raw(case, source).copy(), raw(case, to)
    for r in range(rows):
        at = r * (row + dst_gap * BLOCK)
        if known:
            dst[at : at + row] = np.full(row // size, value).view(np.uint8)
        else:
            case.undefined.append((first + at + length, first + at + row))
        begin = at + left * size
        dst[begin : begin + length] = src[r * (length + src_gap) :][:length]
    return None


def pad_value(case: Case, call: Call) -> None:
    """SetPadValue, then rows whose parameters give no value."""
    n, row = case.n, -(-case.n["ext1"] // BLOCK) * BLOCK
    for r in range(n["ext0"]):
        at = r * (row + n["ext3"] * BLOCK)
        raw(case, "dst")[at : at + row] = np.full(row // 2, np.float16(1)).view(np.uint8)
    length = n["ext1"]
    copy_rows(case, "dst", "g", n["ext0"], length, row + n["ext3"] * BLOCK, length + n["ext2"])


def bf16(bits: Numbers) -> Numbers:
    """bfloat16 as float."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bf16(x: Numbers) -> Numbers:
    """float as bfloat16, ties to even."""
    bits = f32(x).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def atomics(case: Case, call: Call) -> None:
    """64 elements stored to GM, combined with what is there."""
    kind = call.templates[0] if call.templates else ""
    if kind == "bfloat16_t":
        total = bf16(case.of("gp", "uint16_t")[:64]) + bf16(case.of("s0", "uint16_t")[:64])
        case.of("gp", "uint16_t")[:64] = to_bf16(total)
        return
    to, source = {
        "": ("gf", "f0"),
        "float": ("gf", "f0"),
        "half": ("g", "s0"),
        "int32_t": ("gi", "q0"),
        "int8_t": ("gp", "i8"),
    }[kind]
    out = case.of(to, kind) if kind else case.of(to)
    x, y = out[:64].copy(), case.of(source)[:64]
    out[:64] = {
        "SetAtomicNone": y,
        "DisableDmaAtomic": y,
        "SetAtomicMax": np.maximum(x, y),
        "SetAtomicMin": np.minimum(x, y),
    }.get(call.name, x + y)


def lanes_of_repeats(
    case: Case, shape: Shape, source: str, lanes: int, block: int, repeat: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The active lanes of each repeat, and their values."""
    size = size_of(source)
    for k, active in enumerate(shape.active):
        one = Shape(active=[active]).bytes_of(size, block, 0) + k * repeat * BLOCK
        yield active, case.of(source)[one // size]
