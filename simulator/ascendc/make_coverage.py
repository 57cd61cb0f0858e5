# SPDX-License-Identifier: Apache-2.0
"""Writes docs/ascend-host-coverage.md: which names of the Ascend C interface are there, and which
of them a kernel of our tests calls. Nothing in the table is claimed by hand."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "ascend-host-coverage.md"

# Number, subject and names of the 72 groups of the interface.
GROUPS = """
1|cores|GetBlockIdx GetBlockNum GetSubBlockIdx GetSubBlockNum GetTaskRation GetTaskRatio
2|start|InitSocState
3|local tensors|LocalTensor GetValue SetValue ReinterpretCast GetSize SetSize GetPhyAddr GetPosition
3|whole-tensor operators|operator+ operator- operator* operator/ operator& operator| operator<
3|shapes|SetShapeInfo GetShapeInfo ShapeInfo
4|global tensors|GlobalTensor SetGlobalBuffer SetL2CacheHint
5|TPipe|InitBuffer InitBufPool AllocEventID ReleaseEventID FetchEventID GetAbsAddr Reset Destroy
6|queues|TQue TQueBind AllocTensor FreeTensor EnQue DeQue VacantInQue HasTensorInQue HasIdleBuffer
6|queues: counts|GetTensorCountInQue
7|buffers|TBuf Get GetWithOffset
8|allocator|LocalMemAllocator Alloc GetCurAddr
9|pools|TBufPool TEventID PopStackBuffer
10|flags|SetFlag WaitFlag TQueSync
11|barriers|PipeBarrier
12|cross-core flags|CrossCoreSetFlag CrossCoreWaitFlag
13|all cores|SyncAll
14|pairs of cores|IBSet IBWait GroupBarrier SetNextTaskStart WaitPreTaskEnd
14|cores in turn|InitDetermineComputeWorkspace WaitPreBlock NotifyNextBlock
15|caches|DataSyncBarrier DataCacheCleanAndInvalid DataCachePreload ICachePreLoad
15|past the cache|ReadGmByPassDCache WriteGmByPassDCache
16|DataCopy of a count|DataCopy
17|strided DataCopy|DataCopyParams
18|converting DataCopy|DataCopyEnhancedParams
19|ND to NZ|Nd2NzParams
20|NZ to ND|Nz2NdParamsFull
21|older L0C copy|DataCopyCO12DstParams
22|slices|SliceInfo
23|padded copies|DataCopyPad DataCopyExtParams DataCopyPadExtParams DataCopyPadParams
24|pad value|SetPadValue
25|masked copy|Copy
26|atomics|SetAtomicAdd SetAtomicMax SetAtomicMin SetAtomicNone DisableDmaAtomic SetAtomicType
26|atomics by configuration|SetStoreAtomicConfig
27|LoadData 2D|LoadData LoadData2DParams
28|LoadData 3D|LoadData3DParamsV2 LoadData3DParamsV2Pro
29|LoadData transposed|LoadDataWithTranspose
30|sparse and strided loads|LoadDataWithSparse LoadDataWithStride
31|load registers|SetFmatrix SetLoadDataBoundary SetLoadDataPaddingValue SetLoadDataRepeat
32|fills|InitConstValue Fill
33|matrix multiply|Mmad MmadWithSparse
34|HF32|SetHF32Mode SetHF32TransMode SetMMLayoutTransform
35|Fixpipe|Fixpipe FixpipeParamsV220
36|Fixpipe registers|SetFixPipeConfig SetFixpipeNz2ndFlag SetFixpipePreQuantFlag
37|two sources|Add Sub Mul Div Max Min
38|bits|And Or Xor
39|fused|AddRelu SubRelu MulAddDst FusedMulAdd FusedMulAddRelu AddReluCast SubReluCast MulCast
39|fused with a scale|AddDeqRelu
40|scalars|Adds Muls Maxs Mins Subs Divs Ands Ors
41|LeakyRelu|LeakyRelu
42|shifts|ShiftLeft ShiftRight
43|Axpy|Axpy
44|one source|Exp Ln Abs Reciprocal Sqrt Rsqrt Relu Not
45|Cast|Cast
46|scales|SetDeqScale CastDeq
47|Duplicate|Duplicate
48|Compare|Compare
49|Compare with a scalar|CompareScalar Compares
50|compare mask|GetCmpMask SetCmpMask
51|Select|Select
52|reduce a repeat|WholeReduceSum WholeReduceMax WholeReduceMin ReduceRepeat
53|reduce blocks|BlockReduceSum BlockReduceMax BlockReduceMin ReduceDataBlock
54|reduce pairs|PairReduceSum ReducePairElem
55|RepeatReduceSum|RepeatReduceSum
56|reduce all|ReduceSum ReduceMax ReduceMin GetReduceMaxMinCount GetAccVal
57|Gather|Gather
58|Gather blocks|Gatherb
59|Gather by mask|GatherMask
60|Scatter|Scatter
61|Brcb|Brcb
62|transposes|Transpose TransDataTo5HD
63|Sort32|Sort32
64|merges|MrgSort GetMrgSortResult
65|sorts|Sort Concat Extract ProposalConcat RpSort16 MrgSort4 ProposalExtract
66|sequences|CreateVecIndex ArithProgression Arange
67|BilinearInterpolation|BilinearInterpolation
68|mask register|SetVectorMask ResetMask SetMaskCount SetMaskNorm
69|scalar unit|ScalarCast ScalarGetCountOfValue ScalarCountLeadingZero ScalarGetSFFValue ToFloat
69|scalar unit: more|ToBfloat16 GetSystemCycle Trap GetArchVersion
70|debugging|printf PRINTF DumpTensor DumpAccChkPoint KERNEL_LOG PrintTimeStamp
70|assertions|ascendc_assert ASSERT
70|tracing|TRACE_START TRACE_STOP
71|tiling|GET_TILING_DATA TILING_KEY_IS GetUserWorkspace PlatformAscendCManager MatmulApiTiling
72|advanced: functions|Sin Cos Tanh Sigmoid Silu Gelu Power Round ClampMax ClampMin Erf Log Floor
72|advanced: more functions|SwiGLU Tan Sinh Cosh Asin Acos Atan Asinh Acosh Atanh Erfc Ceil Trunc
72|advanced: and more|Frac Sign Log2 Log10
72|advanced: matrices|Broadcast BroadCast Sum Mean Pattern TopK
72|advanced: rows|SoftMax SimpleSoftMax SoftmaxFlashV2 AdjustSoftMaxRes LayerNorm RmsNorm
72|advanced: quantisation|AscendQuant AscendDequant AscendAntiQuant
72|advanced: Matmul|Matmul MatmulImpl MatmulType REGIST_MATMUL_OBJ IterateAll Iterate GetTensorC
72|advanced: padding|Pad UnPad
"""
# Documented for other chips only: a kernel that uses one is told so by the compiler.
NOT_ON_2201 = {
    "Scatter",
    "LoadDataWithStride",
    "ProposalConcat",
    "RpSort16",
    "MrgSort4",
    "ProposalExtract",
}


def uses(name: str, text: str) -> bool:
    """True if `text` has the name as a word of its own, or the operator between two tensors."""
    if name.startswith("operator"):
        return re.search(rf"\b[a-z]+\W*{re.escape(name[8:])} b\b", text) is not None
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def without_comments(text: str) -> str:
    """C++ text without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def defined(name: str, text: str) -> bool:
    """True if a header defines the name, by hand or by one of its macros."""
    if name.startswith("operator"):
        return re.search(rf"TW_(OPERATOR|COMPARISON)\({re.escape(name[8:])},", text) is not None
    forms = (
        rf"(?:class|struct|enum class)(?: TILEWRIGHT_\w+)? {re.escape(name)}\b",
        rf"[\w&>\]*] {re.escape(name)}\(",
        rf"TW_\w+\({re.escape(name)}[,)]",
        rf"#define {re.escape(name)}\b",
        rf"using {re.escape(name)} =",
        rf"namespace {re.escape(name)} ",
    )
    return any(re.search(form, text) for form in forms)


def texts(pattern: str, *folders: Path) -> str:
    """All files of that pattern, without comments."""
    files = (p for folder in folders for p in sorted(folder.rglob(pattern)))
    return "\n".join(without_comments(p.read_text()) for p in files)


def page() -> str:
    """The text of the page."""
    headers = texts("*.h", HERE / "ascendc", HERE / "lib", HERE.parent / "include" / "tiling")
    tests, row_tests = texts("*_test.cpp", HERE), texts("*_rows_test.cpp", HERE)
    rows, counts = [], [0, 0, 0, 0, 0]
    for line in GROUPS.strip().splitlines():
        number, subject, names = line.split("|", 2)
        other = [n for n in names.split() if n in NOT_ON_2201]
        there = [n for n in names.split() if n not in other and defined(n, headers)]
        tested = [n for n in there if uses(n, tests)]
        at_random = [n for n in tested if uses(n, row_tests)]
        missing = [n for n in names.split() if n not in tested and n not in other]
        untested = [n for n in there if n not in tested]
        for k, part in enumerate((tested, at_random, other, untested)):
            counts[k] += len(part)
        counts[4] += len(missing) - len(untested)
        state = (
            "missing in part"
            if missing and tested
            else "missing"
            if missing
            else "not on arch 2201"
            if not tested
            else "tested at random"
            if len(at_random) == len(tested)
            else "tested"
        )
        cells = [
            " ".join(f"`{n}`" + ("*" if n in at_random else "") for n in tested),
            " ".join(f"`{n}`" for n in other),
            " ".join(f"`{n}`" + (" (no test)" if n in untested else "") for n in missing),
        ]
        cells = [c.replace("operator|", "operator\\|") for c in cells]
        rows.append(f"| {number} | {subject} | {state} | {' | '.join(cells)} |")
    return (
        "# What of Ascend C the host has\n\n"
        "Made by `simulator/ascendc/make_coverage.py` from the headers and the tests. *Tested*: a\n"
        "kernel of `simulator/ascendc/*_test.cpp` uses the name and its effect is compared with\n"
        "an independent reference. *At random* (names with a star): a row of `*_rows_test.cpp`\n"
        "does so in random shapes, masks, repeats and strides. *Not on arch 2201*: documented for\n"
        "other chips only; a kernel that uses the name is told so when it is compiled.\n\n"
        f"{counts[0]} names tested, {counts[1]} of them at random; {counts[2]} not on arch 2201;\n"
        f"{counts[3]} there without a test; {counts[4]} missing.\n\n"
        "| group | subject | state | tested | not on arch 2201 | missing |\n"
        "|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def main() -> int:
    """Writes the page, or with --check fails if it isn't up to date."""
    if "--check" in sys.argv:
        return 0 if PAGE.read_text() == page() else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
