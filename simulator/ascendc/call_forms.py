# SPDX-License-Identifier: Apache-2.0
"""What the lines of call_forms.txt are made of: the variables that they may use, with numbers that
a test draws, and which of them have no effect on memory that a test could compare."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Form:
    """A line: the group of the interface, and what a kernel writes."""

    group: int
    text: str


def read_forms() -> list[Form]:
    """All lines of call_forms.txt."""
    lines = (HERE / "call_forms.txt").read_text().splitlines()
    parts = [line.split("|", 1) for line in lines if not line.startswith("#")]
    return [Form(int(group), text) for group, text in parts]


# --- variables ------------------------------------------------------------------------------

SLOT = 4096  # bytes of a tensor
# Tensors of UB on a vector core and of L1 on a cube core, a slot each.
LOCAL = {
    "dst": "half",
    "s0": "half",
    "s1": "half",
    "f0": "float",
    "f1": "float",
    "u0": "uint16_t",
    "u1": "uint16_t",
    "u2": "uint16_t",
    "h16": "int16_t",
    "i8": "int8_t",
    "q0": "int32_t",
    "q1": "int32_t",
    "tmp8": "uint8_t",
    "off": "uint32_t",
    "u64": "uint64_t",
    "a1": "half",
}
# The cube's own memories: position, type, first byte, bytes.
CUBE = {
    "a2": ("A2", "half", 0, SLOT),
    "i8a2": ("A2", "int8_t", SLOT, SLOT),
    "b2": ("B2", "half", 0, SLOT),
    "i8b2": ("B2", "int8_t", SLOT, SLOT),
    "c0": ("CO1", "float", 0, SLOT),
    "qc": ("CO1", "int32_t", SLOT, SLOT),
    "bt": ("C2", "float", 0, 1024),
    "fb": ("C2PIPE2GM", "uint64_t", 0, 2048),
}
# Tensors of GM, two slots each.
GLOBAL = {"g": "half", "gf": "float", "gi": "int32_t", "g64": "uint64_t"}
GLOBAL_SLOT = 2 * SLOT

# N(name) is a number that a case draws.
NUMBERS = """
uint64_t m = N(m);
uint64_t mask[2] = {(uint64_t)N(mask0), (uint64_t)N(mask1)};
const uint64_t cmask[2] = {(uint64_t)N(mask0), (uint64_t)N(mask1)};
uint8_t rt = N(rt);
int32_t count = N(count);
half sc = (half)(N(sc) / 8.0f);
uint8_t pad[4] = {(uint8_t)N(pad0), (uint8_t)N(pad1), (uint8_t)N(pad2), (uint8_t)N(pad3)};
BinaryRepeatParams brp = BinaryRepeatParams(N(brp0), N(brp1), N(brp2), N(brp3), N(brp4), N(brp5));
UnaryRepeatParams urp = UnaryRepeatParams(N(urp0), N(urp1), N(urp2), N(urp3));
GatherMaskParams gmp = GatherMaskParams(1, N(rt), N(gmp2), N(gmp3));
DataCopyParams dcp = DataCopyParams(N(dcp0), N(dcp1), N(dcp2), N(dcp3));
DataCopyEnhancedParams dce;
DataCopyExtParams ext = DataCopyExtParams(N(ext0), N(ext1), N(ext2), N(ext3), 0);
DataCopyExtParams packed = DataCopyExtParams(N(ext0), N(dcp1) * 32, N(ext2), 0, 0);
DataCopyParams oldExt = DataCopyParams(N(ext0), N(ext1), N(ext2), N(ext3));
DataCopyPadExtParams<half> padding = DataCopyPadExtParams<half>(true, N(padLeft), N(padRight), sc);
DataCopyPadParams oldPadding = DataCopyPadParams(true, N(padLeft), N(padRight), N(padBits));
Nd2NzParams nd2nz = Nd2NzParams(N(nd0), N(nd1), N(nd2), N(nd3), N(nd4), N(nd5), N(nd6), N(nd7));
Nz2NdParamsFull nz2nd = Nz2NdParamsFull(N(nz0), N(nz1), N(nz2), N(nz3), N(nz4), N(nz5), N(nz6));
DataCopyCO12DstParams rowsOut =
    DataCopyCO12DstParams(N(fixN), N(fixM), N(fixRows), N(fixSrc), NoQuant, N(relu), false, true);
DataCopyCO12DstParams halvesOut =
    DataCopyCO12DstParams(N(fixN), N(fixM), N(fixNz), N(fixSrc), F322F16, N(relu), false, false);
FixpipeParamsV220 fix = FixpipeParamsV220(N(fixN), N(fixM), N(fixSrc), N(fixRows), N(relu));
FixpipeParamsV220 fixNz = FixpipeParamsV220(N(fixN), N(fixM), N(fixSrc), N(fixNz), N(relu));
FixpipeParamsV220 fixHalf = FixpipeParamsV220(N(fixN), N(fixM), N(fixSrc), N(fixRows), N(relu),
                                              F322F16, 0, 1, 0, 0, 0);
FixpipeParamsV220 fixHalfNz = FixpipeParamsV220(N(fixN), N(fixM), N(fixSrc), N(fixNz), N(relu),
                                                F322F16, 0, 1, 0, 0, 0);
FixpipeParamsV220 fixScale = FixpipeParamsV220(N(fixN), N(fixM), N(fixSrc), N(fixRows), N(relu),
                                               VDEQF16, 0, 1, 0, 0, 0);
FixpipeParamsV220 fixScaleNz = FixpipeParamsV220(N(fixN), N(fixM), N(fixSrc), N(fixNz), N(relu),
                                                 VDEQF16, 0, 1, 0, 0, 0);
SliceInfo slicesTo[2] = {{0, (uint32_t)N(sliceWidth) - 1, 0, (uint32_t)N(sliceBlocks), 160},
                         {0, (uint32_t)N(sliceRows) - 1, 0, 1, 12}};
SliceInfo slicesFrom[2] = {{16, (uint32_t)N(sliceWidth) + 15, 0, (uint32_t)N(sliceBlocks), 128},
                           {2, (uint32_t)N(sliceRows) + 1, 0, 1, 12}};
LoadData2DParams load2d =
    LoadData2DParams(N(ldStart), N(ldRepeat), N(ldStride), 0, N(ldGap), false, 0);
LoadData2dTransposeParams load2dt =
    LoadData2dTransposeParams(N(ldStart), N(ldRepeat), N(ldStride), N(ldGap), 0);
LoadData3DParamsV2<half> load3d = LoadData3DParamsV2<half>(
    pad, N(l1H), N(l1W), N(channels), N(kExt), N(mExt), N(kStart), N(mStart), N(strideW),
    N(strideH), N(filterW), N(filterH), N(dilationW), N(dilationH), false, false, sc);
LoadData3DParamsV2Pro load3dPro = proOf(load3d);
LoadDataRepeatParam repeats3d = LoadDataRepeatParam(N(rep3dStride), N(rep3d), N(rep3dK));
MmadParams mm = MmadParams(N(mmM), N(mmN), N(mmK), 0, false, N(mmInit));
MmadParams mmSparse = MmadParams(N(mmM), N(mmN), 64, 0, false, true);
MrgSort4Info merge = mergeOf(lengths, N(suspend), N(validLists));
uint16_t lengths[4] = {(uint16_t)N(len0), (uint16_t)N(len1), (uint16_t)N(len2), (uint16_t)N(len3)};
uint64_t deqScale = 0x3E800000;
TransDataTo5HDParams to5hd = TransDataTo5HDParams(false, false, N(rt), 1, 1);
TransposeParamsExt square = TransposeParamsExt(1, 16, 16, 1, TransposeType::TRANSPOSE_ND2ND_B16);
"""
# What the numbers above are made with; `gp` is memory of GM that no tensor has.
FUNCTIONS = """
inline LoadData3DParamsV2Pro proOf(const LoadData3DParamsV2<half>& p) {
  LoadData3DParamsV2Pro pro;
  pro.channelSize = p.channelSize;
  pro.extConfig = p.kExtension | (uint64_t)p.mExtension << 16 | (uint64_t)p.kStartPt << 32 |
                  (uint64_t)p.mStartPt << 48;
  pro.filterConfig = p.strideW | p.strideH << 8 | p.filterW << 16 | (uint64_t)p.filterH << 24 |
                     (uint64_t)p.dilationFilterW << 32 | (uint64_t)p.dilationFilterH << 40;
  return pro;
}
inline MrgSort4Info mergeOf(const uint16_t* lengths, bool suspend, uint16_t valid) {
  return MrgSort4Info(lengths, suspend, valid, 1);
}
template <class T> GlobalTensor<T> globalAt(uint8_t* at) {
  GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer((__gm__ T*)at);
  return tensor;
}
"""


def _number_lines() -> list[str]:
    """NUMBERS in an order in which each uses earlier ones only."""
    lines = " ".join(NUMBERS.split("\n")).split(";")
    statements = [" ".join(line.split()) + ";" for line in lines if line.strip()]
    return sorted(statements, key=lambda s: "lengths[4]" not in s)


def number_names() -> list[str]:
    """The names of all numbers that a case draws."""
    return list(dict.fromkeys(re.findall(r"N\((\w+)\)", NUMBERS))) + ["counter"]


def declarations() -> list[str]:
    """The variables as members of a structure that has `memory` (GM)."""
    lines = [
        f"LocalTensor<{kind}> {name} = "
        f"LocalTensor<{kind}>(local, {SLOT * k}, {SLOT} / sizeof({kind}));"
        for k, (name, kind) in enumerate(LOCAL.items())
    ]
    lines += [
        f"LocalTensor<{kind}> {name} = LocalTensor<{kind}>(TPosition::{position}, {first}, "
        f"{size} / sizeof({kind}));"
        for name, (position, kind, first, size) in CUBE.items()
    ]
    lines += [
        f"GlobalTensor<{kind}> {name} = globalAt<{kind}>(memory + {GLOBAL_SLOT * k});"
        for k, (name, kind) in enumerate(GLOBAL.items())
    ]
    lines += [f"void* gp = memory + {GLOBAL_SLOT * len(GLOBAL)};"]
    lines += ["LocalTensor<half> to[16], from[16]; uint64_t tu0[16], tu1[16];"]
    return lines + _number_lines()


# --- forms that nothing is compared of ------------------------------------------------------

MAKES = "makes an object or a part of one"
FRAMEWORK = "is of the framework's buffers: vector_kernels_test.cpp, small_functions_test.cpp"
ORDERS = "orders pipes: sync_checks_test.cpp and the mutation tests"
MEETS = "needs several cores: meetings_test.cpp"
HINT = "is about caches, which hold what memory does: checks_test.cpp, registers_test.cpp"
PRINTS = "prints or asserts: registers_test.cpp"
ENDS = "ends the kernel: registers_test.cpp"
# (group, part of the text or nothing, why)
NOT_COMPARED = [
    (3, r"^LocalTensor<half> t\(0u\)", MAKES),
    (5, "", FRAMEWORK),
    (6, "", FRAMEWORK),
    (7, "", FRAMEWORK),
    (8, r"^LocalMemAllocator<> a", MAKES),
    (9, "", FRAMEWORK),
    (10, "", ORDERS),
    (11, "", ORDERS),
    (12, "", MEETS),
    (13, "", MEETS),
    (14, "", MEETS),
    (15, "DataSyncBarrier|DataCache|ICache", HINT),
    (69, "GetSystemCycle", ENDS),
    (70, "", PRINTS),
]


def why_not_compared(form: Form) -> str:
    """Why no test compares what this form does to memory; nothing if one does."""
    for group, part, why in NOT_COMPARED:
        if form.group == group and re.search(part, form.text):
            return why
    return ""


def not_compared() -> Iterator[tuple[Form, str]]:
    """The forms that nothing is compared of, with the reasons."""
    for form in read_forms():
        if why := why_not_compared(form):
            yield form, why
