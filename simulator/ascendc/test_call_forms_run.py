# SPDX-License-Identifier: Apache-2.0
"""Each form of call in call_forms.txt that changes memory runs, several times with numbers by
chance, on each kind of core that has it; all of memory is compared with a plain reference."""

import os
import re
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import call_forms
import form_cube as cube
import form_references as plain
import form_selections as some
import numpy as np
import pytest
from call_forms import Form, declarations, number_names, read_forms, why_not_compared

BUILD = Path(os.environ.get("TILEWRIGHT_BUILD", call_forms.HERE.parents[1] / "build"))
DRIVER = BUILD / "bin" / "tilewright-ascendc"
pytestmark = pytest.mark.skipif(not DRIVER.exists(), reason="tilewright-ascendc is not built")

FORMS = read_forms()
CASES = int(os.environ.get("TILEWRIGHT_FORM_CASES", "4"))
IMAGES = 3
VECTOR, CUBE = 0, 1

Reference = Callable[[plain.Case, plain.Call], None]
# By group, with a part of the name where a group has several.
REFERENCES: list[tuple[int, str, Reference]] = [
    *[(group, "Fixpipe|c0, ", cube.fixpipe) for group in (21, 35)],
    (36, "", cube.fixpipe),
    *[(group, "", plain.data_copy) for group in (16, 17, 18, 19, 20, 22)],
    (23, "", plain.data_copy_pad),
    (24, "", plain.pad_value),
    (25, "", plain.lanewise),
    (26, "", plain.atomics),
    (27, "", cube.load_fractals),
    (28, "", cube.load_image),
    (29, "", cube.load_transposed),
    (30, "", cube.load_sparse),
    (31, "", cube.load_image),
    (32, "", cube.fill_constant),
    (33, "MmadWithSparse", cube.sparse_product),
    (33, "", cube.product),
    (34, "", cube.product_of_floats),
    (38, "Xor", some.exclusive_or),
    *[(group, "", plain.lanewise) for group in range(37, 46)],
    (46, "", some.dequantise),
    (47, "", some.duplicate),
    (48, r"\(s0, s1, CMP", some.compare_mask),
    *[(group, "", some.compare) for group in (48, 49)],
    (50, "", some.compare_mask),
    (51, "", some.select),
    *[(group, "", some.whole_reduce) for group in (52, 55)],
    *[(group, "", some.group_reduce) for group in (53, 54)],
    (56, "Get", some.scalar_results),
    (56, "", some.reduce_all),
    (57, "", some.gather),
    (58, "", some.gather_blocks),
    (59, "", some.gather_mask),
    (61, "", some.broadcast_blocks),
    (62, "", some.transposes),
    (63, "", some.sort),
    (64, "", some.merge),
    (65, "Sort", some.sort),
    (65, "Extract", some.extract),
    (66, "", some.sequence),
    (67, "", some.interpolation),
    (68, "", some.vector_mask),
]
# Forms whose text is no call of the above kinds: what they leave.
HANDED_OUT: dict[str, Callable[[plain.Case], object]] = {
    "int64_t a": lambda c: c.put(np.int64(4)),
    "LocalTensor<half> t(TPos": lambda c: (some.fill(c, "dst", 8, 1), c.put(c.of("dst")[9])),
    "auto r": lambda c: c.put(np.uint32(8), np.int64(16)),
    "dst.SetUserTag": lambda c: c.put(np.int32(1), np.uint32(32)),
    "GlobalTensor<half> x": lambda c: (some.fill(c, "gp", 8, c.n["sc"] / 8), c.put(np.uint64(56))),
    "LocalMemAllocator<Hardware::UB> a; auto t = a.Alloc<TPos": lambda c: c.put(np.uint32(384)),
    "LocalMemAllocator<Hardware::UB> a; auto t = a.Alloc<half": lambda c: c.put(np.uint32(128)),
    "half v = Read": lambda c: c.put(c.of("gp")[0]),
    "Concat": lambda c: c.put(np.uint32(1)),
    "auto v = ScalarCast": lambda c: c.put(np.int32(2)),
    "auto v = ScalarGet": lambda c: c.put(np.int64(2), np.int64(62), np.int64(2)),
    "float v = ToFloat": lambda c: c.put(np.float32(1), np.uint16(0x3F80)),
    "uint32_t v = 0; GetArch": lambda c: c.put(np.uint32(0x220)),
}

TO_REGISTER = (
    "if (N(counter)) { SetMaskCount(); SetVectorMask<half, MaskMode::COUNTER>(0, count); } "
    "else SetVectorMask<half, MaskMode::NORMAL>(mask[1], mask[0]);"
)
RESET = "SetMaskNorm(); ResetMask();"
ADD = f"Add<half, false>(dst, s0, s1, MASK_PLACEHOLDER, rt, BinaryRepeatParams()); {RESET}"
IMAGE_IN = (
    "SetFmatrix(N(l1H), N(l1W), pad, FmatrixMode::FMATRIX_LEFT); SetLoadDataPaddingValue(sc);"
)
COMPARED = "Compare(s0, s1, CMPMODE::LT, mask, brp); PipeBarrier<PIPE_V>();"
SCALES = """VdeqInfo vd; for (int k = 0; k < 16; ++k) { vd.vdeqScale[k] = 0.25f * (k + 1);
vd.vdeqOffset[k] = k; vd.vdeqSignMode[k] = true; } SetDeqScale(u64, vd);
SetFlag<HardEvent::S_V>(0); WaitFlag<HardEvent::S_V>(0);""".replace("\n", " ")
STORED = "; SetAtomicNone();"
FLOATS = """LoadData(a2.ReinterpretCast<float>(), f0, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
LoadData(b2.ReinterpretCast<float>(), f1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
PipeBarrier<PIPE_ALL>();""".replace("\n", " ")
MULTIPLIED = """Mmad(c0, a2.ReinterpretCast<float>(), b2.ReinterpretCast<float>(),
MmadParams(16, 16, 3, 0, false, true));""".replace("\n", " ")
# (group, part of the text, statements before it, statements behind it)
AROUND: list[tuple[int, str, str, str]] = [
    (1, "", "", "put(a);"),
    (2, "", "SetVectorMask<half, MaskMode::NORMAL>(0, 1);", ADD),
    (3, "^LocalTensor<half> t", "", "put(h);"),
    (
        3,
        "^auto r",
        "",
        "put(r.GetSize()); put((int64_t)((char*)r.GetPhyAddr(8) - (char*)dst.GetPhyAddr()));",
    ),
    (3, "SetUserTag", "", "put(dst.GetUserTag()); put(dst.GetLength());"),
    (4, "", "", "put(x.GetSize());"),
    (8, "", "", "put(a.GetCurAddr());"),
    (15, "", "", "put(v);"),
    (24, "", "", "DataCopyPad(dst, g, ext, DataCopyPadExtParams<half>(false, 0, 0, 0));"),
    (26, "half", "", "DataCopy(g, s0, 64)" + STORED),
    (
        26,
        "bfloat16_t",
        "",
        "DataCopy(globalAt<bfloat16_t>((uint8_t*)gp), s0.ReinterpretCast<bfloat16_t>(), 64)"
        + STORED,
    ),
    (26, "int8_t", "", "DataCopy(globalAt<int8_t>((uint8_t*)gp), i8, 64)" + STORED),
    (26, "int32_t", "", "DataCopy(gi, q0, 64)" + STORED),
    (26, "Type<float>", "SetAtomicAdd<int32_t>();", "DataCopy(gf, f0, 64)" + STORED),
    (26, "None|Disable", "SetAtomicAdd<float>();", "DataCopy(gf, f0, 64)" + STORED),
    (26, "", "", "DataCopy(gf, f0, 64)" + STORED),
    (28, "Pro", IMAGE_IN, ""),
    (31, "Fmatrix", "SetLoadDataPaddingValue(sc);", "LoadData(a2, a1, load3dPro);"),
    (31, "", IMAGE_IN, "LoadData(a2, a1, load3dPro);"),
    (
        33,
        "Sparse",
        "LoadDataWithSparse(i8b2, i8, tmp8, LoadData2DParams(0, N(mmN) > 16 ? 2 : 1, 1, 0, 0, "
        "false, 0)); PipeBarrier<PIPE_ALL>();",
        "",
    ),
    (34, "TransMode", FLOATS + "SetHF32Mode(true);", MULTIPLIED),
    (34, "", FLOATS, MULTIPLIED),
    (36, "PreQuant", "", "rowsOut.quantPre = DEQF16; DataCopy(g, qc, rowsOut);"),
    (36, "Config<", "", "Fixpipe<half, int32_t>(g, qc, fixScale);"),
    (36, "Config", "", "rowsOut.quantPre = VDEQF16; DataCopy(g, qc, rowsOut);"),
    (36, "", "", "DataCopy(gf, c0, rowsOut);"),
    (39, "AddDeqRelu", "SetDeqScale((half)0.25);", ""),
    (46, r"SetDeqScale\(\(", "", "CastDequant(dst, q0, 64);"),
    (46, r"SetDeqScale\(1", "", "CastDeq<int8_t, int16_t, false, false>(i8, h16, 64);"),
    (46, "CastDequant", "SetDeqScale((half)0.25);", ""),
    (46, "true, false", "SetDeqScale(1.0f, 0, true);", ""),
    (46, "CastDeq", SCALES, ""),
    (48, r"\(s0, s1, CMP", "", "PipeBarrier<PIPE_V>(); GetCmpMask(tmp8);"),
    (50, "Get", COMPARED, ""),
    (
        50,
        "Set",
        "",
        "PipeBarrier<PIPE_V>(); Select<half, SELMODE::VSEL_CMPMASK_SPR>(dst, s0, s1, rt, brp);",
    ),
    (
        51,
        "SPR",
        "Compare(s0, s1, CMPMODE::LT, (uint64_t)128, BinaryRepeatParams()); PipeBarrier<PIPE_V>();",
        "",
    ),
    (56, "GetA|SumSpr", "WholeReduceSum(dst, s0, 64, 1, 1, 1, 8);", "put(v);"),
    (56, "v, i;.*Get", "WholeReduceMax(dst, s0, 64, 1, 1, 1, 8);", "put(v); put(i);"),
    (56, "Get", "WholeReduceMax(dst, s0, 64, 1, 1, 1, 8);", "put(v);"),
    (59, "", "", "put(c);"),
    (64, r"n\[4\]", "", "for (uint32_t k : n) put(k);"),
    (65, "Concat", "", "put((uint32_t)(f0.GetPhyAddr() == f1.GetPhyAddr()));"),
    (68, "COUNTER", "SetMaskCount();", ADD),
    (68, "MaskCount", "SetVectorMask<half, MaskMode::COUNTER>(0, count);", ADD),
    (68, "Norm", "SetMaskCount();", ADD),
    (68, "Reset", "SetVectorMask<half, MaskMode::NORMAL>(0, 1);", ADD),
    (68, "", "", ADD),
    (69, "ScalarCast", "", "put(v);"),
    (
        69,
        "ScalarGet",
        "",
        "put(ScalarGetCountOfValue<1>(3ull)); put(ScalarCountLeadingZero(3ull)); put(v);",
    ),
    (69, "ToFloat", "", "put(v); put(b);"),
    (69, "Arch", "", "put(v);"),
]


def body(form: Form) -> str:
    """The statements of a form, with what shows its effect."""
    before = after = ""
    for group, part, first, last in AROUND:
        if form.group == group and re.search(part, form.text):
            before, after = first, last
            break
    call = plain.call_of(form)
    if call and form.group not in (46, 68) and plain.keeps_mask(call):
        before, after = before + TO_REGISTER, after + RESET
    return f"{before} {form.text}; {after}"


def cores_of(form: Form) -> list[int]:
    """The kinds of cores that have this form."""
    if form.group in range(27, 37) or re.search(r"\bc0\b|\bbt\b|\bfb\b", form.text):
        return [CUBE]
    if form.group in (16, 17, 18) and "s0" not in form.text:
        return [VECTOR, CUBE]
    if form.group == 19:
        return [CUBE] if ", g," in form.text else [VECTOR]
    return [VECTOR, CUBE] if form.group in (23,) and "(dst" in form.text else [VECTOR]


# --- numbers by chance ----------------------------------------------------------------------


def draw(form: Form, random: np.random.Generator) -> dict[str, int]:
    """Numbers of one case that fit into a tensor each."""

    def upto(most: int, least: int = 0) -> int:
        return int(random.integers(least, most + 1))

    call = plain.call_of(form)
    tensors = [a for a in call.arguments if a in plain.TENSORS] if call else []
    size = max([plain.size_of(a) for a in tensors] or [2])
    lanes = 128 if size <= 2 else 64
    n = {"m": upto(lanes, 1), "rt": upto(4, 1), "sc": upto(64, -64), "count": upto(1000, 1)}
    if form.group in (40, 41) and call and call.name == "Divs":
        n["sc"] = upto(64, 1)
    n["counter"] = upto(1) if form.group in range(25, 48) else 0
    if n["counter"]:
        n["count"] = upto(4 * lanes, 1)
    n |= {f"mask{k}": upto((1 << 62) - 1) << upto(1) | 1 for k in range(2)}
    if lanes == 64:
        n["mask1"] = 0
    if form.group in (48, 49, 50):  # whole repeats
        n |= {"m": lanes, "mask0": -1, "mask1": -1}
    if call and call.name == "SetMaskCount":
        n["count"] = upto(4 * lanes, 1)
    dst_block, step = upto(2, 1), upto(4)
    n |= {"brp0": dst_block, "brp1": upto(2), "brp2": upto(2), "brp3": 7 * dst_block + 1 + step}
    n |= {"brp4": upto(16), "brp5": upto(16)}
    n |= {"urp0": dst_block, "urp1": upto(2), "urp2": 7 * dst_block + 1 + step, "urp3": upto(16)}
    if len(tensors) > 1 and tensors[0] == tensors[1]:  # in place
        n |= {"urp1": n["urp0"], "urp3": n["urp2"]}
    n |= {"gmp2": upto(16), "gmp3": upto(2)}
    n |= {"dcp0": upto(4, 1), "dcp1": upto(6, 1), "dcp2": upto(2), "dcp3": upto(2)}
    n |= {"ext0": upto(4, 1), "ext1": 2 * upto(60, 1), "ext2": 2 * upto(1), "ext3": 2 * upto(1)}
    n |= {"padLeft": upto(4), "padRight": upto(4), "padBits": upto(65535)}
    rows, columns = upto(8, 1), upto(40, 1)
    pitch, apart = columns + upto(4), upto(2, 1)
    block = rows * apart + upto(2)
    n |= {"nd0": upto(2, 1), "nd1": rows, "nd2": columns, "nd3": rows * pitch + upto(3)}
    n |= {"nd4": pitch, "nd5": block, "nd6": apart}
    n["nd7"] = 16 * (-(-columns // 16) * block + upto(1))
    n |= {"nz0": upto(2, 1), "nz1": rows, "nz2": columns, "nz3": 2, "nz4": rows + upto(1)}
    n |= {"nz5": pitch, "nz6": rows * pitch + upto(3)}
    m = upto(32, 2)
    n |= {"mmM": m, "mmN": upto(32, 1), "mmK": upto(32, 1), "mmInit": upto(1)}
    n |= {"fixM": m, "fixN": upto(32, 1), "fixSrc": -(-m // 16) * 16, "relu": upto(1)}
    n |= {"fixRows": n["fixN"] + upto(9), "fixNz": -(-m // 16) * 32 + upto(3)}
    n |= {"sliceBlocks": upto(7, 1), "sliceRows": upto(10, 1)}
    n["sliceWidth"] = n["sliceBlocks"] * 16
    n |= {"ldStart": upto(2), "ldRepeat": upto(3, 1), "ldStride": upto(2), "ldGap": upto(1)}
    n |= {f"pad{k}": upto(1) for k in range(4)}
    n |= {"l1H": upto(6, 2), "l1W": upto(6, 2), "channels": 16 * upto(2, 1)}
    n |= {
        "kExt": 16 * upto(2, 1),
        "mExt": 16 * upto(2, 1),
        "kStart": 16 * upto(1),
        "mStart": upto(5),
    }
    n |= {
        "strideW": upto(2, 1),
        "strideH": upto(2, 1),
        "filterW": upto(2, 1),
        "filterH": upto(2, 1),
    }
    n |= {
        "dilationW": 1,
        "dilationH": 1,
        "rep3dStride": upto(2),
        "rep3d": upto(2, 1),
        "rep3dK": upto(1),
    }
    if call and call.name == "SetFmatrix":
        n["filterH"] = 1
    n |= {f"len{k}": upto(60, 1) for k in range(4)}
    n |= {"suspend": upto(1), "validLists": [3, 7, 15][upto(2)]}
    return n


def image_of(random: np.random.Generator, core_is_cube: bool) -> np.ndarray:
    """UB or L1, and GM: numbers of each tensor's type."""
    image = np.zeros(plain.IMAGE, np.uint8)
    case = plain.Case(FORMS[0], {}, image)
    for name, (kind, _, _) in plain.TENSORS.items():
        if name in call_forms.CUBE:
            continue
        out = case.of(name)
        if kind in ("half", "float"):
            out[:] = random.integers(-64, 65, len(out)) / 8
        elif name == "off":
            out[:] = random.integers(0, 127, len(out)) * 32
        elif name == "u64":
            scale = (random.integers(1, 8, len(out)) / 4).astype(np.float32)
            out[:] = scale.view(np.uint32)
        elif kind == "int32_t":
            out[:] = random.integers(-30000, 30000, len(out))
        else:
            case.of(name, "uint8_t")[:] = random.integers(0, 256, plain.TENSORS[name][2])
    if core_is_cube:  # indices of sparse matrices are 0, 1 and 2; small factors
        parts = random.integers(0, 3, (4, SLOT := call_forms.SLOT))
        case.of("tmp8")[:] = sum(parts[k] << (2 * k) for k in range(4))
        case.of("i8")[:] = random.integers(-8, 9, SLOT)
        for name in ("f0", "f1"):  # with more digits than HF32 has
            case.of(name)[:] = 1 + random.integers(0, 5, len(case.of(name))) / 4096
    return image


def header() -> str:
    """What run_forms.cpp includes: the forms as members, and tables of those of each core."""
    run = [not why_not_compared(form) for form in FORMS]
    sizes = {"local": plain.SIZES["local"], "GM": plain.SIZES["GM"], "image": plain.IMAGE}
    lines = [f"constexpr size_t {k}Bytes = {v};" for k, v in sizes.items()]
    lines += [f"constexpr size_t numImages = {2 * IMAGES};"]
    lines += [f"constexpr size_t putAt = {plain.FIRST['put']}, numNumbers = {len(number_names())};"]
    lines += [call_forms.FUNCTIONS, f"enum {{ {', '.join(f'k_{n}' for n in number_names())} }};"]
    lines += ["#define N(name) ((int64_t)numbers[k_##name])", "struct Forms {", "FORMS_HEAD"]
    lines += declarations()
    lines += [f"void form{k}() {{ {body(f)} }}" for k, f in enumerate(FORMS) if run[k]] + ["};"]
    for name, core in (("vectorForms", VECTOR), ("cubeForms", CUBE)):
        there = [run[k] and core in cores_of(form) for k, form in enumerate(FORMS)]
        members = [f"&Forms::form{k}" if t else "nullptr" for k, t in enumerate(there)]
        lines += [f"#define {name} {{{', '.join(members)}}}"]
    return "\n".join(lines) + "\n"


def reference(case: plain.Case) -> None:
    """Makes of the case's image what the form does."""
    for start, hand in HANDED_OUT.items():
        if case.form.text.startswith(start):
            hand(case)
            return
    if case.form.group == 3:
        some.whole_tensors(case, case.form.text)
        return
    if case.form.group == 2:
        some.vector_mask(case, plain.Call("ResetMask", [], []))
        return
    call = plain.call_of(case.form)
    assert call, case.form.text
    for group, part, function in REFERENCES:
        if group == case.form.group and re.search(part, case.form.text):
            function(case, call)
            return
    raise AssertionError(f"no reference: {case.form.text}")


def drawn() -> Iterator[tuple[int, int, int, dict[str, int]]]:
    """All cases: the kind of core, the form, the image, the numbers."""
    for k, form in enumerate(FORMS):
        if why_not_compared(form):
            continue
        for core in cores_of(form):
            for number in range(CASES):
                random = np.random.default_rng([k, core, number])
                yield core, k, core * IMAGES + number % IMAGES, draw(form, random)


def differences(case: plain.Case, got: np.ndarray) -> np.ndarray:
    """The bytes in which memory isn't what it should be."""
    wanted = case.image
    wrong = np.flatnonzero(wanted != got)
    if not len(wrong):
        return wrong
    for begin, end in case.undefined:
        wrong = wrong[(wrong < begin) | (wrong >= end)]
    right = []
    for name, (kind, first, size) in plain.TENSORS.items():
        if kind not in ("half", "float"):
            continue
        x = got[first : first + size].view(plain.DTYPES[kind])
        y = wanted[first : first + size].view(plain.DTYPES[kind])
        near = case.tolerance if name == case.tolerant else 0
        with np.errstate(all="ignore"):
            same = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= near * np.abs(y))
        width = x.itemsize
        right += [first + width * k + b for k in np.flatnonzero(same) for b in range(width)]
    return np.setdiff1d(wrong, right)


def test_forms_do_what_they_should(tmp_path: Path) -> None:
    """All findings at once, each with its form and the numbers."""
    source, binary = call_forms.HERE / "run_forms.cpp", tmp_path / "forms"
    (tmp_path / "forms.h").write_text(header())
    built = subprocess.run(
        [str(DRIVER), "build", str(source), "-o", str(binary), f"-I{tmp_path}", "-w", "-O1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert built.returncode == 0, built.stderr[-6000:]
    images = [image_of(np.random.default_rng(k), k >= IMAGES) for k in range(2 * IMAGES)]
    local, gm = plain.SIZES["local"], plain.SIZES["GM"]
    at = plain.FIRST["GM"]
    cases, names = list(drawn()), number_names()
    with (tmp_path / "cases").open("wb") as file:
        for image in images:
            file.write(image[:local].tobytes() + image[at : at + gm].tobytes())
        for core, form, image, n in cases:
            file.write(
                struct.pack(
                    f"<{3 + len(names)}q",
                    core,
                    form,
                    image,
                    *[v - (1 << 64) if (v := n[name]) >= 1 << 63 else v for name in names],
                )
            )
    ran = subprocess.run(
        [str(binary), str(tmp_path / "cases"), str(tmp_path / "results")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    wrong = [f"{ran.stderr[:3000]}"] if ran.stderr else []
    idle = {k for _, k, _, _ in cases}  # forms that have changed nothing
    with (tmp_path / "results").open("rb") as file:
        for core, k, _, n in cases:
            error = int.from_bytes(file.read(8), "little", signed=True)
            before, after = (np.frombuffer(file.read(plain.IMAGE), np.uint8) for _ in range(2))
            if (before != after).any():
                idle.discard(k)
            n = {
                name: v & ((1 << 64) - 1) if name.startswith("mask") else v for name, v in n.items()
            }
            case = plain.Case(FORMS[k], n, before.copy())
            with np.errstate(all="ignore"):
                reference(case)
            bad = differences(case, after)
            if error or len(bad):
                wrong.append(
                    f"{FORMS[k].text} on core {core}, error {error}: {describe(case, after, bad)}"
                )
    wrong += [f"{FORMS[k].text} changes nothing" for k in idle]
    assert not wrong, "\n".join(wrong[:40]) + f"\n{len(wrong)} in all"
    assert ran.returncode == 0


def describe(case: plain.Case, got: np.ndarray, bad: np.ndarray) -> str:
    """The first wrong element, and how many bytes are wrong."""
    if not len(bad):
        return "the launch failed"
    for name, (kind, first, size) in plain.TENSORS.items():
        if first <= bad[0] < first + size:
            k = (bad[0] - first) // np.dtype(plain.DTYPES[kind]).itemsize
            x, y = (i[first : first + size].view(plain.DTYPES[kind])[k] for i in (got, case.image))
            return f"{name}[{k}] is {x}, not {y}; {len(bad)} bytes are wrong ({case.n})"
    return f"byte {bad[0]} is {got[bad[0]]}, not {case.image[bad[0]]}; {len(bad)} bytes are wrong"
