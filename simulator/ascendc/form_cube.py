# SPDX-License-Identifier: Apache-2.0
"""form_references.py, continued: loads of L0A and L0B, products, Fixpipe."""

import numpy as np
from form_references import Call, Case, numbers_of, raw

FRACTAL, SIDE, ROW = 512, 16, 32


def load_fractals(case: Case, call: Call) -> None:
    """LoadData of whole fractals."""
    to, source, params = call.arguments
    n = case.n
    if params == "load2d":
        start, repeat, stride, gap = (n[k] for k in ("ldStart", "ldRepeat", "ldStride", "ldGap"))
    else:
        start, repeat, stride, _, gap, _, _ = numbers_of(params, case)
    src, out = raw(case, source).copy(), raw(case, to)
    for r in range(repeat):
        first = (start + r * stride) * FRACTAL
        out[r * (gap + 1) * FRACTAL :][:FRACTAL] = src[first : first + FRACTAL]


def load_transposed(case: Case, call: Call) -> None:
    """Squares of 16 x 16 halves, transposed."""
    to, source, params = call.arguments
    n = case.n
    if params == "load2dt":
        start, repeat, stride, gap = (n[k] for k in ("ldStart", "ldRepeat", "ldStride", "ldGap"))
    else:
        start, repeat, stride, gap, _ = numbers_of(params, case)
    src, out = case.of(source).copy(), case.of(to)
    for r in range(repeat):
        square = src[(start + r * stride) * 256 :][:256].reshape(16, 16)
        out[r * (gap + 1) * 256 :][:256] = square.T.reshape(-1)


def image_element(n: dict[str, int], image: np.ndarray, m: int, k: int, value: float) -> float:
    """Element (m, k) of the matrix of all places of the filter."""
    reach_w, reach_h = (n["filterW"] - 1) * n["dilationW"], (n["filterH"] - 1) * n["dilationH"]
    wide = (n["l1W"] + n["pad0"] + n["pad1"] - reach_w - 1) // n["strideW"] + 1
    high = (n["l1H"] + n["pad2"] + n["pad3"] - reach_h - 1) // n["strideH"] + 1
    place, column = n["mStart"] + m, n["kStart"] + k
    block = column // 16
    fx, fy = block % n["filterW"], block // n["filterW"] % n["filterH"]
    c1 = block // (n["filterW"] * n["filterH"])
    if place >= wide * high or c1 * 16 >= n["channels"]:
        return 0
    x = place % wide * n["strideW"] + fx * n["dilationW"] - n["pad0"]
    y = place // wide * n["strideH"] + fy * n["dilationH"] - n["pad2"]
    if not (0 <= x < n["l1W"] and 0 <= y < n["l1H"]):
        return value
    return image[((c1 * n["l1H"] + y) * n["l1W"] + x) * 16 + column % 16]


# The form with the numbers in its text.
LITERAL = {"l1H": 1, "l1W": 16, "channels": 16, "kExt": 16, "mExt": 16, "kStart": 0, "mStart": 0}
LITERAL |= {k: 1 for k in ("strideW", "strideH", "filterW", "filterH", "dilationW", "dilationH")}


def load_image(case: Case, call: Call) -> None:
    """LoadData with LoadData3DParamsV2 to L0A, by its parameters or by registers."""
    n, value = dict(case.n), case.n["sc"] / 8
    repeats, along_k, apart = 1, 0, 0
    if call.name == "LoadData" and call.arguments[2].startswith("{"):
        n |= LITERAL
        value = 0
    elif call.name == "SetFmatrix":
        n |= {"l1H": 1, "l1W": 16}
    elif call.name == "SetLoadDataPaddingValue":
        value = 0
    elif call.name == "SetLoadDataRepeat":
        repeats, along_k, apart = n["rep3d"], n["rep3dK"], n["rep3dStride"]
    out, image = case.of("a2"), case.of("a1")
    for r in range(repeats):
        window = dict(n)
        window["kStart" if along_k else "mStart"] += r * apart * SIDE
        for m in range(n["mExt"]):
            for k in range(n["kExt"]):
                fractal = m // SIDE * (n["kExt"] // 16) + k // 16
                at = r * n["mExt"] * n["kExt"] + fractal * 256 + m % SIDE * 16 + k % 16
                out[at] = image_element(window, image, m, k, value)


def load_sparse(case: Case, _call: Call) -> None:
    """Two fractals of a dense B (the indices show in MmadWithSparse)."""
    raw(case, "i8b2")[: 2 * FRACTAL] = raw(case, "i8")[: 2 * FRACTAL]


def fill_constant(case: Case, _call: Call) -> None:
    """One block of L1 becomes zeros."""
    case.of("a1")[:16] = 0


# --- products -------------------------------------------------------------------------------


def matrix_a(x: np.ndarray, rows: int, depth: int, c0: int) -> np.ndarray:
    """L0A: rows of fractals, each row by row."""
    m1, k1 = -(-rows // SIDE), -(-depth // c0)
    blocks = x[: m1 * k1 * SIDE * c0].reshape(m1, k1, SIDE, c0)
    return blocks.transpose(0, 2, 1, 3).reshape(m1 * SIDE, k1 * c0)[:rows, :depth]


def matrix_b(x: np.ndarray, depth: int, columns: int, c0: int) -> np.ndarray:
    """L0B: fractals of 16 columns, each column by column."""
    n1, k1 = -(-columns // SIDE), -(-depth // c0)
    blocks = x[: n1 * k1 * SIDE * c0].reshape(k1, n1, SIDE, c0)
    return blocks.transpose(0, 3, 1, 2).reshape(k1 * c0, n1 * SIDE)[:depth]


def result_view(x: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """L0C: columns of fractals, as [n1, m, 16]."""
    m16, n1 = -(-rows // SIDE) * SIDE, -(-columns // SIDE)
    return x[: m16 * n1 * SIDE].reshape(n1, m16, SIDE)


def product(case: Case, call: Call) -> None:
    """Mmad of halves: small numbers, so that every sum is exact."""
    n, params = case.n, call.arguments[-1]
    m, columns, k, starts = n["mmM"], n["mmN"], n["mmK"], n["mmInit"]
    if params != "mm":
        m = columns = k = 16
        starts = 1
    a, b = (case.of(t).astype(float) for t in ("a2", "b2"))
    out = np.zeros((-(-m // SIDE) * SIDE, -(-columns // SIDE) * SIDE))
    out[:m] = matrix_a(a, m, k, 16) @ matrix_b(b, k, columns, 16)
    view = result_view(case.of("c0"), m, columns)
    fractals = out.reshape(len(out), -1, SIDE).transpose(1, 0, 2)
    if "bt" in call.arguments:
        bias = np.zeros(len(out[0]))
        bias[:columns] = case.of("bt")[:columns]
        view[:] = fractals + bias.reshape(-1, 1, SIDE)
        case.undefined.extend(beyond(case, "c0", m, columns))
        return
    view[:] = fractals if starts else view + fractals


def product_of_floats(case: Case, call: Call) -> None:
    """16 x 3 x 16 floats of 13 digits, of which HF32 has 12: ties go to even, or to zero."""
    for to, source in (("a2", "f0"), ("b2", "f1")):
        raw(case, to)[:FRACTAL] = raw(case, source)[:FRACTAL]
    a, b = (case.of(t, "float")[:128].astype(float).reshape(SIDE, 8)[:, :3] for t in ("a2", "b2"))
    if call.name.startswith("SetHF32"):
        a, b = (x * 2048 for x in (a, b))
        if call.name == "SetHF32TransMode":
            a, b = (np.where(x % 1 == 0.5, np.trunc(x), np.rint(x)) for x in (a, b))
        a, b = (np.rint(x) / 2048 for x in (a, b))
    result_view(case.of("c0"), SIDE, SIDE)[0] = a @ b.T
    case.tolerance, case.tolerant = 1e-6, "c0"


def beyond(case: Case, name: str, m: int, columns: int) -> list[tuple[int, int]]:
    """Rows and columns of a result's last fractals that nobody asked for."""
    base = case.of(name).ctypes.data - case.image.ctypes.data
    m16, n1 = -(-m // SIDE) * SIDE, -(-columns // SIDE)
    ranges = [
        (base + ((k * m16) + m) * SIDE * 4, base + (k + 1) * m16 * SIDE * 4) for k in range(n1)
    ]
    if rest := columns % SIDE:
        first = base + (n1 - 1) * m16 * SIDE * 4
        ranges += [(first + (r * SIDE + rest) * 4, first + (r + 1) * SIDE * 4) for r in range(m16)]
    return ranges


def sparse_product(case: Case, _call: Call) -> None:
    """Indices say which two of four elements of A each pair of B meets; tmp8 has them."""
    m, columns, k = case.n["mmM"], case.n["mmN"], 64
    a = matrix_a(case.of("i8a2").astype(np.int64), m, k, 32)
    n1 = -(-columns // SIDE)
    indices = case.of("tmp8")
    dense = case.of("i8").astype(np.int64)
    raw(case, "i8b2")[: n1 * FRACTAL] = raw(case, "i8")[: n1 * FRACTAL]
    out = np.zeros((-(-m // SIDE) * SIDE, n1 * SIDE), np.int64)
    for c in range(n1 * SIDE):
        for j in range(k // 2):
            at = c // SIDE * FRACTAL + c % SIDE * ROW + j
            index = indices[at // 4] >> (at % 4 * 2) & 3
            out[:m, c] += dense[at] * a[:, j // 2 * 4 + j % 2 + index]
    view = result_view(case.of("qc"), m, columns)
    view[:] = out.reshape(len(out), -1, SIDE).transpose(1, 0, 2)


# --- Fixpipe --------------------------------------------------------------------------------


def fixpipe(case: Case, call: Call) -> None:
    """L0C to rows or fractals, perhaps to half, perhaps times a scale for each column."""
    n = case.n
    arguments = call.arguments
    if call.name.startswith("Set"):  # a register, and a copy that uses it
        arguments = ["gf", "c0", ""] if "Nz2nd" in call.name else ["g", "qc", ""]
    to, source, *_, params = arguments
    if params == "p":  # DataCopyCO12DstParams in the text
        n = {**n, "fixN": 16, "fixM": 16, "fixSrc": 16, "fixRows": 16, "relu": 0}
    rows, columns = n["fixM"], n["fixN"]
    kind = np.float32 if to == "gf" else np.float16
    nz = params in ("fixNz", "fixHalfNz", "fixScaleNz", "halvesOut")
    x = case.of(source)
    values = np.zeros((rows, columns), np.float32)
    for c in range(columns):
        first = c // SIDE * n["fixSrc"] * SIDE + c % SIDE
        values[:, c] = x[first : first + rows * SIDE : SIDE].astype(np.float32)
    if source == "qc":
        scales = case.of("fb", "float")[0 : 2 * columns : 2]
        values = values * (np.float32(0.25) if "PreQuant" in call.name else scales)
    if n["relu"]:
        values = np.maximum(values, 0)
    out = case.of(to)
    c0 = 16
    for r in range(rows):
        for c in range(columns):
            at = r * n["fixRows"] + c
            if nz:
                at = c // c0 * (n["fixNz"] * ROW // out.itemsize) + r * c0 + c % c0
            out[at] = values[r, c].astype(kind)
