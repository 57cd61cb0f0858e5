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
3|whole-tensor operators|operator+
4|global tensors|GlobalTensor SetGlobalBuffer SetL2CacheHint
5|TPipe|InitBuffer InitBufPool AllocEventID ReleaseEventID FetchEventID GetAbsAddr Reset Destroy
6|queues|TQue TQueBind AllocTensor FreeTensor EnQue DeQue VacantInQue HasTensorInQue HasIdleBuffer
7|buffers|TBuf Get GetWithOffset
8|allocator|LocalMemAllocator Alloc GetCurAddr
9|pools|TBufPool TEventID PopStackBuffer
10|flags|SetFlag WaitFlag TQueSync
11|barriers|PipeBarrier
12|cross-core flags|CrossCoreSetFlag CrossCoreWaitFlag
13|all cores|SyncAll
14|pairs of cores|IBSet IBWait GroupBarrier SetNextTaskStart WaitPreTaskEnd
15|caches|DataSyncBarrier DataCacheCleanAndInvalid DataCachePreload ICachePreLoad ReadGmByPassDCache
16|DataCopy of a count|DataCopy
17|strided DataCopy|DataCopyParams
18|converting DataCopy|DataCopyEnhancedParams
19|ND to NZ|Nd2NzParams
20|NZ to ND|Nz2NdParamsFull
21|older L0C copy|DataCopyCO12DstParams
22|slices|SliceInfo
23|padded copies|DataCopyPad DataCopyExtParams DataCopyPadExtParams
24|pad value|SetPadValue
25|masked copy|Copy
26|atomics|SetAtomicAdd SetAtomicMax SetAtomicMin SetAtomicNone DisableDmaAtomic
27|LoadData 2D|LoadData LoadData2DParams
28|LoadData 3D|LoadData3DParamsV2
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
40|scalars|Adds Muls Maxs Mins Subs Divs
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
60|Scatter (not on arch 2201)|Scatter
61|Brcb|Brcb
62|transposes|Transpose TransDataTo5HD
63|Sort32|Sort32
64|merges|MrgSort GetMrgSortResult
65|sorts|Sort Concat Extract ProposalConcat RpSort16 MrgSort4 ProposalExtract
66|sequences|CreateVecIndex ArithProgression Arange
67|BilinearInterpolation|BilinearInterpolation
68|mask register|SetVectorMask ResetMask SetMaskCount SetMaskNorm
69|scalar unit|ScalarCast ScalarGetCountOfValue ScalarCountLeadingZero ScalarGetSFFValue ToFloat
70|debugging|printf PRINTF DumpTensor ascendc_assert KERNEL_LOG PrintTimeStamp TRACE_START
71|tiling|GET_TILING_DATA TILING_KEY_IS GetUserWorkspace PlatformAscendCManager MatmulApiTiling
72|advanced: functions|Sin Cos Tanh Sigmoid Silu Gelu Power Round ClampMax ClampMin Erf Log Floor
72|advanced: matrices|Broadcast Sum Pattern
72|advanced: not there|Matmul SoftMax SoftmaxFlashV2 LayerNorm RmsNorm TopK Mean AscendQuant
"""


def called(name: str, text: str) -> bool:
    """True if `text` uses the name as a function, type or macro."""
    return re.search(rf"(?<![\w]){re.escape(name)}\s*[<({{; ]", text) is not None


def defined(name: str, text: str) -> bool:
    """True if a header defines the name, by hand or by one of its macros."""
    forms = (
        rf"(?:class|struct|enum class) {re.escape(name)}\b",
        rf"[\w&>\]*] {re.escape(name)}\(",
        rf"TW_\w+\({re.escape(name)}[,)]",
        rf"#define {re.escape(name)}\b",
        rf"using {re.escape(name)} =",
        rf"namespace {re.escape(name)} ",
    )
    return any(re.search(form, text) for form in forms)


def page() -> str:
    """The text of the page."""
    headers = "\n".join(p.read_text() for p in sorted((HERE / "ascendc").glob("*.h")))
    tests = "\n".join(p.read_text() for p in sorted(HERE.glob("*_test.cpp")))
    rows, counts = [], [0, 0, 0]
    for line in GROUPS.strip().splitlines():
        number, subject, names = line.split("|")
        there = [n for n in names.split() if defined(n, headers)]
        tested = [n for n in there if called(n, tests)]
        untested = [n for n in there if n not in tested]
        absent = [n for n in names.split() if n not in there]
        for k, part in enumerate((tested, untested, absent)):
            counts[k] += len(part)
        cells = [" ".join(f"`{n}`" for n in part) for part in (tested, untested, absent)]
        rows.append(f"| {number} | {subject} | {' | '.join(cells)} |")
    return (
        "# What of Ascend C the host has\n\n"
        "Made by `simulator/ascendc/make_coverage.py` from the headers and the tests. *Tested*: a\n"
        "kernel of `simulator/ascendc/*_test.cpp` calls it and its result is compared. *Not\n"
        "there*: the kernel doesn't compile.\n\n"
        f"{counts[0]} names tested, {counts[1]} there without a test, {counts[2]} not there.\n\n"
        "| group | subject | tested | there, untested | not there |\n|---|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def main() -> int:
    """Writes the page, or with --check fails if it isn't up to date."""
    if "--check" in sys.argv:
        return 0 if PAGE.read_text() == page() else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
