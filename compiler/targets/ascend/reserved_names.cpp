// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/reserved_names.h"

#include <llvm/ADT/StringExtras.h>

namespace tilewright::ascend {

/// Keywords, types and macros of C++, and what our own functions call their arguments.
static constexpr llvm::StringLiteral kOfCpp =
    "EOF NULL abs alignas alignof and and_eq asm assert auto bfloat16_t bitand bitor bool "
    "break case catch char class co_await co_return co_yield compl concept const const_cast "
    "consteval constexpr constinit continue decltype default delete do double dynamic_cast "
    "else enum errno explicit export extern false float for friend goto half if inline "
    "int int16_t int32_t int4b_t int64_t int8_t linux long main max min mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires return short signed size_t sizeof static static_assert "
    "static_cast std stderr stdin stdout struct switch template this thread_local "
    "throw true try typedef typeid typename uint16_t uint32_t uint64_t uint8_t union unix "
    "unsigned using virtual void volatile wchar_t while xor xor_eq ";

/// Macros of the C headers that those of Ascend C bring along.
static constexpr llvm::StringLiteral kOfC =
    "ACLRT_LAUNCH_KERNEL ASCENDC_ASSERT ASCEND_IS_NOT_AIC ASCEND_IS_NOT_AIV BIG_ENDIAN "
    "BUFSIZ BYTE_ORDER CHAR_BIT CHAR_MAX CHAR_MIN CLOCKS_PER_SEC CSIGNAL DBL_EPSILON "
    "DBL_MAX DBL_MIN E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN "
    "EALREADY EBADE EBADF EBADFD EBADMSG EBADR EBADRQC EBADSLT EBFONT EBUSY ECANCELED "
    "ECHILD ECHRNG ECOMM ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDEADLOCK "
    "EDESTADDRREQ EDOM EDOTDOT EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EHWPOISON "
    "EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR EISNAM EKEYEXPIRED "
    "EKEYREJECTED EKEYREVOKED EL2HLT EL2NSYNC EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC "
    "ELIBMAX ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE EMLINK EMSGSIZE EMULTIHOP "
    "ENABLE_PRINTF ENAMETOOLONG ENAVAIL ENETDOWN ENETRESET ENETUNREACH ENFILE ENOANO "
    "ENOBUFS ENOCSI ENODATA ENODEV ENOENT ENOEXEC ENOKEY ENOLCK ENOLINK ENOMEDIUM ENOMEM "
    "ENOMSG ENONET ENOPKG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN ENOTDIR "
    "ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENOTUNIQ ENXIO EOPNOTSUPP "
    "EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE "
    "EREMCHG EREMOTE EREMOTEIO ERESTART ERFKILL EROFS ESHUTDOWN ESOCKTNOSUPPORT ESPIPE "
    "ESRCH ESRMNT ESTALE ESTRPIPE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY EUCLEAN EUNATCH "
    "EUSERS EWOULDBLOCK EXDEV EXFULL EXIT_FAILURE EXIT_SUCCESS FD_CLR FD_ISSET FD_SET "
    "FD_SETSIZE FD_ZERO FILENAME_MAX FLT_EPSILON FLT_MAX FLT_MIN FOPEN_MAX ICPU_RUN_KF "
    "ICPU_SET_TILING_KEY INFINITY INT_MAX INT_MIN KERNEL_TASK_TYPE LITTLE_ENDIAN LLONG_MAX "
    "LLONG_MIN LONG_MAX LONG_MIN L_ctermid L_cuserid L_tmpnam MATH_ERREXCEPT MATH_ERRNO "
    "MAXFLOAT MB_CUR_MAX NAN NFDBITS PDP_ENDIAN PTRDIFF_MAX PTRDIFF_MIN PTRDIFF_WIDTH "
    "P_tmpdir RAND_MAX REGISTER_TILING_DEFAULT RENAME_EXCHANGE RENAME_NOREPLACE "
    "RENAME_WHITEOUT SCHAR_MAX SCHAR_MIN SEEK_CUR SEEK_DATA SEEK_END SEEK_HOLE SEEK_SET "
    "SHRT_MAX SHRT_MIN SIG_ATOMIC_MAX SIG_ATOMIC_MIN SIG_ATOMIC_WIDTH SIZE_MAX SIZE_WIDTH "
    "TIMER_ABSTIME TIME_UTC TMP_MAX UCHAR_MAX UINT_MAX ULLONG_MAX ULONG_MAX USHRT_MAX "
    "WCHAR_MAX WCHAR_MIN WCHAR_WIDTH WCONTINUED WEOF WEXITED WEXITSTATUS WIFCONTINUED "
    "WIFEXITED WIFSIGNALED WIFSTOPPED WINT_MAX WINT_MIN WINT_WIDTH WNOHANG WNOWAIT WSTOPPED "
    "WSTOPSIG WTERMSIG WUNTRACED alloca assert_perror be16toh be32toh be64toh char16_t "
    "char32_t char8_t htobe16 htobe32 htobe64 htole16 htole32 htole64 issubnormal le16toh "
    "le32toh le64toh math_errhandling offsetof sched_priority strdupa strndupa "
    "tilewrightBlocks tilewrightStream va_arg va_copy va_end va_start ";

/// How more of these macros begin, and constants of Ascend C: none of a kernel's names does.
static constexpr llvm::StringLiteral kBeginnings =
    "ADJ_ ATOMIC_ CACHELINE_ CLOCK_ CLONE_ CPU_ EVENT_ID FP_ HUGE_VAL INT8_ INT16_ INT32_ INT64_ "
    "INTMAX_ INTPTR_ INT_FAST INT_LEAST KERNEL_TYPE_ LC_ MOD_ M_1_ M_2_ M_E M_LN M_LOG M_PI M_SQRT "
    "PIPE_ PTHREAD_ SCHED_ SNAN STA_ TILEWRIGHT_ TW_ UINT8_ UINT16_ UINT32_ UINT64_ UINTMAX_ "
    "UINTPTR_ UINT_FAST UINT_LEAST pthread_ ";

/// The interface of Ascend C (simulator/ascendc/interface_names.txt), and macros of its headers.
static constexpr llvm::StringLiteral kOfAscendC =
    "ASCEND_IS_AIC ASCEND_IS_AIV ASSERT Abs Acos Acosh Add AddDeqRelu AddRelu AddReluCast "
    "AddedAs Adds AdjustSoftMaxRes Alloc AllocEventID AllocTensor And Ands Arange "
    "ArithProgression AscendAntiQuant AscendC AscendDequant AscendQuant Asin Asinh Atan Atanh "
    "Axpy BEGIN_TILING_DATA_DEF BilinearInterpolation BinaryRepeatParams BlockReduceMax "
    "BlockReduceMin BlockReduceSum Brcb BrcbRepeatParams BroadCast Broadcast CFG_ROW_MAJOR "
    "CMPMODE CacheLine CacheMode CacheRwMode Cast CastDeq CastDequant Ceil ClampMax ClampMin "
    "Compare CompareScalar Compares Concat Conversion Copy CopyRepeatParams CoreMemType Cos "
    "Cosh CreateVecIndex CrossCoreSetFlag CrossCoreWaitFlag DataCacheCleanAndInvalid "
    "DataCachePreload DataCopy DataCopyCO12DstParams DataCopyEnhancedParams DataCopyExtParams "
    "DataCopyPad DataCopyPadExtParams DataCopyPadParams DataCopyParams DataSyncBarrier "
    "DcciDst DeQue Destroy DisableDmaAtomic Div Divs DumpAccChkPoint DumpTensor Duplicate "
    "END_TILING_DATA_DEF EnQue End Erf Erfc Exp Expand Extract FetchEventID Fill Fixpipe "
    "FixpipeConfig FixpipeParamsV220 Floor FmatrixMode Frac FreeTensor FusedMulAdd "
    "FusedMulAddRelu GET_TILING_DATA GET_TILING_DATA_WITH_STRUCT GM_ADDR Gather GatherMask "
    "GatherMaskParams GatherRepeatParams Gatherb Gelu Get GetAbsAddr GetAccVal GetArchVersion "
    "GetBlockIdx GetBlockNum GetCmpMask GetCoreMemSize GetCoreNumAic GetCoreNumAiv GetCurAddr "
    "GetInstance GetMrgSortResult GetPhyAddr GetPosition GetReduceMaxMinCount "
    "GetReduceRepeatMaxMinSpr GetReduceRepeatSumSpr GetShapeInfo GetSize "
    "GetSoftMaxMaxMinTmpSize GetSubBlockIdx GetSubBlockNum GetSystemCycle GetTPipePtr "
    "GetTaskRatio GetTaskRation GetTensorC GetTensorCountInQue GetUserWorkspace GetValue "
    "GetWithOffset GlobalTensor GroupBarrier HF32Mode HardEvent Hardware HasIdleBuffer "
    "HasTensorInQue IBSet IBWait ICachePreLoad Init InitBufPool InitBuffer InitConstValue "
    "InitConstValueParams InitDetermineComputeWorkspace InitSocState Iterate IterateAll "
    "KERNEL_LOG KERNEL_TASK_TYPE_DEFAULT LayerNorm LeakyRelu Ln LoadData LoadData2DParams "
    "LoadData2dParams LoadData2dTransposeParams LoadData3DParamsV2 LoadData3DParamsV2Pro "
    "LoadDataWithSparse LoadDataWithStride LoadDataWithTranspose LocalMemAllocator "
    "LocalTensor Log Log10 Log2 MaskMode Matmul MatmulApiTiling MatmulImpl MatmulType Max "
    "Maxs Mean MemDsbT Min Mins Mmad MmadParams MmadWithSparse MrgSort MrgSort4 MrgSort4Info "
    "MrgSortSrcList Mul MulAddDst MulAddRelu MulCast Muls Nd2NzParams Not NotifyNextBlock "
    "Nz2NdParamsFull Or Ors PRINTF Pad PaddingMode PairReduceSum Pattern PipeBarrier PipeMode "
    "PlatformAscendCManager PopStackBuffer Power PrintTimeStamp ProposalConcat "
    "ProposalExtract REGISTER_TILING_DATA_CLASS REGIST_MATMUL_OBJ ReadGmByPassDCache "
    "Reciprocal Reduce ReduceDataBlock ReduceMax ReduceMin ReduceOrder ReducePairElem "
    "ReduceRepeat ReduceSum ReduceType ReinterpretCast ReleaseEventID Relu RepeatReduceSum "
    "Reset ResetMask RmsNorm Round RoundMode RpSort16 Rsqrt SELMODE ScalarCast "
    "ScalarCountLeadingZero ScalarGetCountOfValue ScalarGetSFFValue Scatter Select "
    "SetAtomicAdd SetAtomicMax SetAtomicMin SetAtomicNone SetAtomicType SetBufferLen "
    "SetCmpMask SetDeqScale SetFixPipeConfig SetFixpipeNz2ndFlag SetFixpipePreQuantFlag "
    "SetFlag SetFmatrix SetGlobalBuffer SetHF32Mode SetHF32TransMode SetL2CacheHint "
    "SetLoadDataBoundary SetLoadDataPaddingValue SetLoadDataRepeat "
    "SetLoadDataRepeatWithStride SetMMColumnMajor SetMMLayoutTransform SetMMRowMajor "
    "SetMaskCount SetMaskNorm SetNextTaskStart SetPadValue SetShapeInfo SetSize "
    "SetStoreAtomicConfig SetSysWorkspace SetTail SetTensorA SetTensorB SetUserTag SetValue "
    "SetVectorMask ShapeInfo ShiftLeft ShiftRight Sigmoid Sign Silu SimpleSoftMax Sin Sinh "
    "SliceInfo SoftMax SoftMaxTilingFunc SoftmaxFlashV2 Sort Sort32 Sqrt Sub SubRelu "
    "SubReluCast Subs Sum SwiGLU SyncAll TBuf TBufPool TCubeTiling TEventID "
    "TILING_DATA_FIELD_DEF TILING_KEY_IS TPipe TPosition TQue TQueBind TQueSync TRACE_START "
    "TRACE_STOP Tan Tanh ToBfloat16 ToFloat TopK TransDataTo5HD TransDataTo5HDParams "
    "Transpose TransposeParamsExt Trap Trunc UnPad UnaryRepeatParams VacantInQue WaitFlag "
    "WaitPreBlock WaitPreTaskEnd WholeReduceMax WholeReduceMin WholeReduceSum "
    "WriteGmByPassDCache Xor ascendc_assert bfloat16_t half localTensor matmul_tiling "
    "operator optiling pipe_t platform_ascendc printf tilewright ";

/// What headers of Ascend C declare beside it, for their own use.
static constexpr llvm::StringLiteral kBesideAscendC =
    "AIC AIV AlignUp AtomicDtype AtomicOp BLOCK_CUBE BlockMode BufferState CFG_NZ CO2Layout "
    "CUBE_MAX_SIZE CountBitsCntSameAsSignBit DEFAULT_BLK_NUM DEFAULT_BLK_STRIDE "
    "DEFAULT_BLOCK_SIZE DEFAULT_C0_SIZE DEFAULT_REPEAT_STRIDE DEQF16 DataFormat DeqScale "
    "DequantParams DivCeil ENTIRE_DATA_CACHE F322BF16 F322F16 GetSortLen GetSortOffset "
    "GetSysWorkSpacePtr GmAlloc GmFree IS_RESER_LOAD3D_DEFAULT_CONFIG InitGlobalMemory "
    "InitOutput IsResetLoad3dConfig IsSameType KernelMetaType KernelMode LNCFG_NORM "
    "LayerNormConfig LayerNormPara LayerNormSeparateTiling LayerNormTiling "
    "LoadDataRepeatParam MASK_PLACEHOLDER MASK_PLACEHOLDER_LIST MAX_REPEAT_TIMES MIX MaskNone "
    "MeanParams NoQuant ONE_BLK_FLOAT_NUM ONE_BLK_HALF_NUM ONE_BLK_SIZE ONE_BYTE_BIT_SIZE "
    "ONE_REPEAT_BYTE_SIZE PadParams PadTiling QF322B8_PRE QuantMode_t QuePosition REQ8 "
    "ReducePattern RmsNormTiling SINGLE_CACHE_LINE SOFTMAX_DEFAULT_CFG SetKernelMode "
    "SetSaturationFlag SetSyncBaseAddr SoftMaxShapeInfo SoftMaxTiling SoftmaxConfig "
    "SoftmaxMode Std SumParams TOTAL_UB_SIZE Tensor TopKInfo TopKMode TopkTiling "
    "TransDataTo5HDImpl TransposeType UnPadParams UnPadTiling VDEQF16 VQF322B8_PRE VREQ8 "
    "VdeqInfo bilinear cubeRegisters ";

/// The functions of device/ascend.
static constexpr llvm::StringLiteral kOfOurHeaders =
    "addByRows addL0cToGm addUbToGm afterVector ascend bitsOfScale blockBytes blocksOf "
    "broadcastColumns broadcastRows divByRows maxByRows minByRows mulByRows subByRows "
    "ceilDiv copyGmToL1 copyGmToUb copyL0cToGm copyL0cToL1 copyL1ToL0A "
    "copyL1ToL0ATransposed copyL1ToL0B copyL1ToL0BTransposed copySign copyUbToGm copyUbToUb "
    "countBits errorFunction exclusiveOr fillL1 fillRepeats fillRow firstIntegral "
    "floatMod floorDiv fractalBytes fractalRows fromFloat hyperbolicTangent "
    "leadingZeros loadFractals loadRows loadTransposedFloats localTensor "
    "mostGmPitch mostRepeats mostRows nonZeroDivisor notANumber positiveInfinity reduceColumns "
    "reduceFarRows reducesNothing "
    "reduceRepeats reduceRows reduceSomeRows repeatBytes roundDown roundToEven roundToZero "
    "roundUp roundedTo rowBytes rowExpand rowsAtOnce sameBits slotValue "
    "spreadToBlocks squareRoot tensorAddress toBfloat16 toFloat toInteger transposeTile truncDiv "
    "truncMod unitsIn wholeReduceMax wholeReduceMin withSign ";

/// Those of its functions that the text calls whose names kernels may well have.
static constexpr llvm::StringLiteral kPlainFunctions =
    "cosine larger magnitude multiply power sine smaller";

llvm::SmallVector<llvm::StringRef> reservedNames() {
  llvm::SmallVector<llvm::StringRef> names;
  for (llvm::StringRef list : {kOfCpp, kOfC, kOfAscendC, kBesideAscendC, kOfOurHeaders})
    llvm::SplitString(list, names, " ");
  return names;
}

bool isPlainFunction(llvm::StringRef word) {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::SplitString(kPlainFunctions, names, " ");
  return llvm::is_contained(names, word);
}

bool beginsAsReserved(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> beginnings;
  llvm::SplitString(kBeginnings, beginnings, " ");
  // TwPlace and twSetFlag are the host's.
  const bool isOfHost = name.size() > 2 && name.drop_front().starts_with("w") &&
                        llvm::toLower(name[0]) == 't' && llvm::isUpper(name[2]);
  return isOfHost || llvm::any_of(beginnings, [&](llvm::StringRef beginning) {
           return name.starts_with(beginning);
         });
}

} // namespace tilewright::ascend
