// SPDX-License-Identifier: Apache-2.0
// Registers that a kernel reads before it has put anything into them, and tensors that it has given no memory: each is
// told, and no more is as soon as it has.
#include "kernel_operator.h"

#include "simulator/ascendc/device_buffer.h"

#include <gtest/gtest.h>

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {

/// Clears options and lets launches run at once.
class Unwritten : public ::testing::Test {
protected:
  void SetUp() override {
    catchLaunches();
    nextOptions() = {};
    nextOptions().threads = 1;
  }
  static void expectFinding(const std::string& part) {
    EXPECT_NE(allFindings().find(part), std::string::npos) << part << "\n" << allFindings();
    EXPECT_NE(allFindings().find("unwritten_test.cpp:"), std::string::npos) << allFindings();
  }
};

template <class T> LocalTensor<T> at(uint32_t byte, uint32_t elements) {
  return {TPosition::VECCALC, byte, elements};
}

enum class Of {
  cast,
  castNothing, ///< no elements: nothing is read
  castToFloat,
  addDeqRelu,
  castDequant,
  castDeq,
  castDeqVector,
  select,
  selectByBits,
  getCmpMask,
  extreme,
  extremeNewer,
  sum,
  sumNewer,
  merged,
};
enum class Moves { Brcb, BrcbAll, Transpose, TransposeAll, To5HD, To5HDAll, Twice };
/// Part of what these take is there; without "All" no more than its result is used.
template <Moves moves> __global__ __aicore__ void movesPart(GM_ADDR out) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<half> from = at<half>(0, 256), to = at<half>(1024, 256), used = at<half>(4096, 256);
  GlobalTensor<half> global;
  global.SetGlobalBuffer((__gm__ half*)out);
  constexpr uint32_t rows = 5, row = 16;
  Duplicate(from, half(1), moves == Moves::Brcb || moves == Moves::BrcbAll ? rows : rows * row);
  PipeBarrier<PIPE_V>();
  if constexpr (moves == Moves::Brcb || moves == Moves::BrcbAll) {
    Brcb(to, from, 1, {1, 8});
    PipeBarrier<PIPE_V>();
    Adds(used, to, half(1), moves == Moves::Brcb ? rows * row : (rows + 1) * row);
    return;
  }
  if constexpr (moves == Moves::To5HD || moves == Moves::To5HDAll) {
    LocalTensor<half> sources[16], targets[16];
    for (uint32_t k = 0; k < 16; ++k) {
      sources[k] = from[k * row];
      targets[k] = to[k * row];
    }
    TransDataTo5HD(targets, sources, TransDataTo5HDParams(false, false, 1, 0, 0));
  } else {
    Transpose(to, from);
  }
  if constexpr (moves == Moves::Twice) {
    PipeBarrier<PIPE_V>();
    Transpose(used, to);
    PipeBarrier<PIPE_V>();
    Adds(from, used, half(1), (rows + 1) * row);
    return;
  }
  constexpr bool isAll = moves == Moves::TransposeAll || moves == Moves::To5HDAll;
  SetFlag<HardEvent::V_MTE3>(0);
  WaitFlag<HardEvent::V_MTE3>(0);
  constexpr uint32_t size = (rows + isAll) * sizeof(half);
  DataCopyPad(global, to, DataCopyExtParams(16, size, 0, 0, 0));
}

TEST_F(Unwritten, IsNoHarmWhereItIsOnlyMoved) {
  DeviceBuffer<half> y(256);
  for (auto kernel :
       {movesPart<Moves::Brcb>, movesPart<Moves::Transpose>, movesPart<Moves::To5HD>}) {
    kernel<<<1, nullptr, nullptr>>>(y.gm());
    EXPECT_EQ(allFindings(), "");
  }
}

TEST_F(Unwritten, IsToldWhereItIsUsedAfterAMove) {
  DeviceBuffer<half> y(256);
  auto expect = [&](const char* bytes, const char* by) {
    expectFinding(std::string("reads UB bytes ") + bytes + ", to which " + by +
                  " has moved what nothing has written (vector core 0) [ErrorRead2]");
    expectFinding(std::string("note: ") + by +
                  " is here; write all that it takes before, or use less of it");
  };
  movesPart<Moves::BrcbAll><<<1, nullptr, nullptr>>>(y.gm());
  expect("1184 to 1215", "Brcb");
  movesPart<Moves::TransposeAll><<<1, nullptr, nullptr>>>(y.gm());
  expect("1034 to 1035", "Transpose");
  movesPart<Moves::To5HDAll><<<1, nullptr, nullptr>>>(y.gm());
  expect("1034 to 1035", "TransDataTo5HD");
  movesPart<Moves::Twice><<<1, nullptr, nullptr>>>(y.gm());
  expect("4256 to 4287", "Transpose");
}

} // namespace

/// What puts something into the register.
template <Of of> __aicore__ void put(LocalTensor<float> x, LocalTensor<float> spare) {
  if constexpr (of == Of::cast || of == Of::addDeqRelu || of == Of::castDequant)
    SetDeqScale(half(0.5f));
  if constexpr (of == Of::castDeq)
    SetDeqScale(0.5f, int16_t{0}, true);
  if constexpr (of == Of::castDeqVector) {
    SetDeqScale(spare.ReinterpretCast<uint64_t>(), VdeqInfo());
    PipeBarrier<PIPE_ALL>();
  }
  if constexpr (of == Of::select)
    SetCmpMask(x);
  if constexpr (of == Of::getCmpMask)
    Compare(x, x, CMPMODE::LE, uint64_t{64}, BinaryRepeatParams());
  if constexpr (of == Of::extreme)
    WholeReduceMax(spare, x, 64, 1, 1, 1, 8);
  if constexpr (of == Of::extremeNewer)
    ReduceMin(spare, x, spare[64], 64);
  if constexpr (of == Of::sum)
    WholeReduceSum(spare, x, 64, 1, 1, 1, 8);
  if constexpr (of == Of::sumNewer)
    ReduceSum(spare, x, spare[64], 64);
  if constexpr (of == Of::merged) {
    uint16_t lengths[4] = {16, 16, 0, 0};
    MrgSort(spare, MrgSortSrcList<float>(x, x[32], x, x), MrgSort4Info(lengths, true, 3, 1));
  }
  PipeBarrier<PIPE_V>();
}

/// What reads it.
template <Of of> __aicore__ void take(LocalTensor<float> x, LocalTensor<float> out) {
  auto words = x.ReinterpretCast<int32_t>();
  auto shorts = x.ReinterpretCast<int16_t>();
  auto halves = out.ReinterpretCast<half>();
  auto bytes = out.ReinterpretCast<int8_t>();
  float value = 0, index = 0;
  if constexpr (of == Of::cast || of == Of::castNothing)
    Cast(halves, words, RoundMode::CAST_NONE, of == Of::cast ? 64u : 0u); // reads here
  if constexpr (of == Of::castToFloat)
    Cast(out, words, RoundMode::CAST_NONE, 64);
  if constexpr (of == Of::addDeqRelu)
    AddDeqRelu(halves, words, words, 64);
  if constexpr (of == Of::castDequant)
    CastDequant<half, int32_t>(halves, words, 64);
  if constexpr (of == Of::castDeq)
    CastDeq<int8_t, int16_t, false, false>(bytes, shorts, 128);
  if constexpr (of == Of::castDeqVector)
    CastDeq<int8_t, int16_t, true, false>(bytes, shorts, 128);
  if constexpr (of == Of::select)
    Select<float, SELMODE::VSEL_CMPMASK_SPR>(out, x, x, 1, BinaryRepeatParams());
  if constexpr (of == Of::selectByBits)
    Select(out, x.ReinterpretCast<uint8_t>(), x, x, SELMODE::VSEL_CMPMASK_SPR, 64);
  if constexpr (of == Of::getCmpMask)
    GetCmpMask(out);
  if constexpr (of == Of::extreme)
    GetReduceMaxMinCount(value, index);
  if constexpr (of == Of::extremeNewer)
    GetReduceRepeatMaxMinSpr(value);
  if constexpr (of == Of::sum)
    value = GetAccVal<float>();
  if constexpr (of == Of::sumNewer)
    value = GetReduceRepeatSumSpr<float>();
  if constexpr (of == Of::merged) {
    uint16_t counts[4];
    GetMrgSortResult(counts[0], counts[1], counts[2], counts[3]);
  }
  (void)value;
  (void)index;
}

template <Of of, bool isWritten> __global__ __aicore__ void registers() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  auto x = at<float>(0, 128), out = at<float>(1024, 256), spare = at<float>(4096, 256);
  Duplicate(x, 1.0f, 128);
  PipeBarrier<PIPE_ALL>();
  if (isWritten)
    put<of>(x, spare);
  take<of>(x, out);
}

TEST_F(Unwritten, RegistersOfVectorCores) {
  auto expect = [&](auto of, const std::string& error, const std::string& advice) {
    constexpr Of one = decltype(of)::value;
    registers<one, false><<<1, nullptr, nullptr>>>();
    expectFinding("error: " + error + ", which nothing has written [ErrorRead2] (vector core 0)");
    expectFinding("note: " + advice + "\n");
    registers<one, true><<<1, nullptr, nullptr>>>();
    EXPECT_EQ(allFindings(), "") << error;
  };
  const std::string scale = "reads the scale of SetDeqScale";
  const std::string setScale = "call SetDeqScale(scale) before it; 1 leaves the values as they are";
  expect(std::integral_constant<Of, Of::cast>(), "Cast " + scale, setScale);
  expect(std::integral_constant<Of, Of::addDeqRelu>(), "AddDeqRelu " + scale, setScale);
  expect(std::integral_constant<Of, Of::castDequant>(), "Cast " + scale, setScale);
  expect(std::integral_constant<Of, Of::castDeq>(),
         "CastDeq reads the scale and offset of SetDeqScale",
         "call SetDeqScale(scale, offset, signMode) before it");
  expect(std::integral_constant<Of, Of::castDeqVector>(), "CastDeq reads the scales of SetDeqScale",
         "call SetDeqScale(tensor, vdeqInfo) before it");
  const std::string setMask = "call SetCmpMask, or Compare without a destination, before it";
  expect(std::integral_constant<Of, Of::select>(), "Select reads the register of compare masks",
         setMask);
  expect(std::integral_constant<Of, Of::getCmpMask>(),
         "GetCmpMask reads the register of compare masks", setMask);
  const std::string extreme = " reads the register of maxima and minima";
  const std::string reduce = "call WholeReduceMax, ReduceMax or their like before it";
  expect(std::integral_constant<Of, Of::extreme>(), "GetReduceMaxMinCount" + extreme, reduce);
  expect(std::integral_constant<Of, Of::extremeNewer>(), "GetReduceRepeatMaxMinSpr" + extreme,
         reduce);
  const std::string sum = " reads the register of sums";
  const std::string add = "call WholeReduceSum or ReduceSum before it";
  expect(std::integral_constant<Of, Of::sum>(), "GetAccVal" + sum, add);
  expect(std::integral_constant<Of, Of::sumNewer>(), "GetReduceRepeatSumSpr" + sum, add);
  expect(std::integral_constant<Of, Of::merged>(),
         "GetMrgSortResult reads the register of merged counts", "call MrgSort before it");
}

TEST_F(Unwritten, CallsThatReadNoRegister) {
  registers<Of::castNothing, false><<<1, nullptr, nullptr>>>();
  EXPECT_EQ(allFindings(), "");
  registers<Of::castToFloat, false><<<1, nullptr, nullptr>>>();
  EXPECT_EQ(allFindings(), "");
  registers<Of::selectByBits, false><<<1, nullptr, nullptr>>>();
  EXPECT_EQ(allFindings(), "");
  nextOptions().check = false;
  registers<Of::cast, false><<<1, nullptr, nullptr>>>();
  EXPECT_EQ(allFindings(), "");
}

constexpr IsResetLoad3dConfig keepsImage = {false, true};
enum class Image { own, kept, keptOfSet, pro, proOfSet, proOfOwn, right, rightOfSet };
template <Image way> __global__ __aicore__ void loads(GM_ADDR x) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<half> in;
  in.SetGlobalBuffer((__gm__ half*)x);
  LocalTensor<half> l1(TPosition::A1, 0, 256), a(TPosition::A2, 0, 256);
  DataCopy(l1, in, 256);
  PipeBarrier<PIPE_ALL>();
  LoadData3DParamsV2<half> p;
  p.l1H = 4;
  p.l1W = 4;
  p.channelSize = p.kExtension = p.mExtension = 16;
  p.strideW = p.strideH = p.filterW = p.filterH = p.dilationFilterW = p.dilationFilterH = 1;
  LoadData3DParamsV2Pro pro;
  pro.channelSize = 16;
  pro.extConfig = 16 | 16 << 16;
  const uint8_t padding[4] = {0, 0, 0, 0};
  if (way == Image::keptOfSet || way == Image::proOfSet)
    SetFmatrix(4, 4, padding, FmatrixMode::FMATRIX_LEFT);
  if (way == Image::rightOfSet)
    SetFmatrix(4, 4, padding, FmatrixMode::FMATRIX_RIGHT);
  p.fMatrixCtrl = way == Image::right || way == Image::rightOfSet;
  if (way == Image::own || way == Image::right || way == Image::rightOfSet ||
      way == Image::proOfOwn)
    LoadData(a, l1, p);
  PipeBarrier<PIPE_ALL>();
  if (way == Image::kept || way == Image::keptOfSet)
    LoadData<half, keepsImage>(a, l1, p);
  if (way == Image::pro || way == Image::proOfSet || way == Image::proOfOwn)
    LoadData(a, l1, pro);
}

TEST_F(Unwritten, ImagesOfLoadData3D) {
  DeviceBuffer<half> x(256);
  const std::string left = "error: LoadData3D reads the left register of images, which nothing has "
                           "written [ErrorRead2] (cube core 0)";
  loads<Image::kept><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding(left);
  expectFinding("note: call SetFmatrix(l1H, l1W, padList, mode) before it, for this one\n");
  loads<Image::pro><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding(left);
  loads<Image::right><<<1, nullptr, nullptr>>>(x.gm());
  expectFinding("error: LoadData3D reads the right register of images, which nothing has written");
  for (auto* kernel : {loads<Image::own>, loads<Image::keptOfSet>, loads<Image::proOfSet>,
                       loads<Image::proOfOwn>, loads<Image::rightOfSet>}) {
    kernel<<<1, nullptr, nullptr>>>(x.gm());
    EXPECT_EQ(allFindings(), "");
  }
}

template <QuantMode_t quant, bool isWritten>
__global__ __aicore__ void storesScaled(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<int8_t> in;
  GlobalTensor<half> out;
  in.SetGlobalBuffer((__gm__ int8_t*)x);
  out.SetGlobalBuffer((__gm__ half*)y);
  LocalTensor<int8_t> l1(TPosition::A1, 0, 512), a(TPosition::A2, 0, 512), b(TPosition::B2, 0, 512);
  LocalTensor<int32_t> c(TPosition::CO1, 0, 256);
  DataCopy(l1, in, 512);
  PipeBarrier<PIPE_ALL>();
  LoadData(a, l1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  LoadData(b, l1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  PipeBarrier<PIPE_ALL>();
  Mmad(c, a, b, MmadParams(16, 16, 32, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  if (isWritten)
    SetFixpipePreQuantFlag(0x3f800000);
  DataCopy(out, c, DataCopyCO12DstParams(16, 16, 16, 16, quant, 0, false, true));
}

TEST_F(Unwritten, ScaleOfCopiesFromL0C) {
  DeviceBuffer<int8_t> x(512);
  DeviceBuffer<half> y(256);
  storesScaled<DEQF16, false><<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  expectFinding("error: DataCopy reads the scale of SetFixpipePreQuantFlag, which nothing has "
                "written [ErrorRead2] (cube core 0)");
  expectFinding("note: call SetFixpipePreQuantFlag(scale) before it\n");
  storesScaled<DEQF16, true><<<1, nullptr, nullptr>>>(x.gm(), y.gm());
  EXPECT_EQ(allFindings(), "");
}

/// Both kinds of core run the calls of both.
__global__ __aicore__ void commonCode() {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  auto x = at<float>(0, 128);
  if ASCEND_IS_AIV {
    Duplicate(x, 1.0f, 64);
    PipeBarrier<PIPE_ALL>();
    WholeReduceSum(x, x, 64, 1, 1, 1, 8);
    PipeBarrier<PIPE_ALL>();
  }
  float sum = GetAccVal<float>();
  (void)sum;
}

TEST_F(Unwritten, CodeForTheOtherKindOfCore) {
  commonCode<<<1, nullptr, nullptr>>>();
  EXPECT_EQ(allFindings(), "");
}

enum class Lost {
  destination,
  source,
  secondSource,
  cast, ///< both: one would lie over the other
  part,
  copyIn,
  copyOut,
  getValue,
  setValue,
  scalarReference,
  bits,
  temporary,
  softMax,
  transData,
  none,
  nothingToDo,
};
/// Uses `lost`, which may have no memory.
template <Lost lost>
__aicore__ void use(LocalTensor<float> lostOne, LocalTensor<float> x, LocalTensor<float> out,
                    GlobalTensor<float> gm) {
  if constexpr (lost == Lost::destination)
    Adds(lostOne, x, 1.0f, 64);
  if constexpr (lost == Lost::source)
    Adds(out, lostOne, 1.0f, 64);
  if constexpr (lost == Lost::secondSource)
    Add(out, x, lostOne, 64);
  if constexpr (lost == Lost::cast)
    Cast(lostOne, lostOne.ReinterpretCast<half>(), RoundMode::CAST_NONE, 64);
  if constexpr (lost == Lost::part)
    Adds(lostOne[8], x, 1.0f, 64);
  if constexpr (lost == Lost::copyIn)
    DataCopy(lostOne, gm, 64);
  if constexpr (lost == Lost::copyOut)
    DataCopy(gm, lostOne, 64);
  if constexpr (lost == Lost::getValue)
    out.SetValue(0, lostOne.GetValue(3));
  if constexpr (lost == Lost::setValue)
    lostOne.SetValue(3, 1.0f);
  if constexpr (lost == Lost::scalarReference)
    lostOne(3) = 1.0f;
  if constexpr (lost == Lost::bits)
    Select(out, lostOne.ReinterpretCast<uint8_t>(), x, 1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
  if constexpr (lost == Lost::temporary)
    ReduceMax(out, x, lostOne, 128, true);
  if constexpr (lost == Lost::softMax)
    SoftMax(out, lostOne, x, x, SoftMaxTiling(), {8, 8, 8, 8});
  if constexpr (lost == Lost::transData) {
    LocalTensor<half> to[16], from[16];
    for (uint32_t k = 0; k < 16; ++k) {
      from[k] = x.ReinterpretCast<half>();
      to[k] = k == 9 ? lostOne.ReinterpretCast<half>() : out.ReinterpretCast<half>()[k * 16];
    }
    TransDataTo5HD<half>(to, from, TransDataTo5HDParams(false, false, 1, 0, 0));
  }
  if constexpr (lost == Lost::nothingToDo)
    Adds(lostOne, x, 1.0f, 0);
}
template <Lost lost, bool hasMemory> __global__ __aicore__ void tensors(GM_ADDR g) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer((__gm__ float*)g);
  auto x = at<float>(0, 256), out = at<float>(2048, 256);
  TPipe pipe;
  TBuf<> all, some;
  pipe.InitBuffer(all, 4096);
  pipe.InitBuffer(some, 1024);
  LocalTensor<float> lostOne;
  if (hasMemory) {
    lostOne = some.Get<float>();
    Duplicate(lostOne, 1.0f, 256);
  }
  Duplicate(x, 1.0f, 256);
  Duplicate(out, 1.0f, 256);
  PipeBarrier<PIPE_ALL>();
  use<lost>(lostOne, x, out, gm);
}

TEST_F(Unwritten, TensorsWithoutMemory) {
  DeviceBuffer<float> gm(256);
  auto expect = [&](auto of, const std::string& error, const char* code) {
    constexpr Lost one = decltype(of)::value;
    tensors<one, false><<<1, nullptr, nullptr>>>(gm.gm());
    expectFinding("error: " + error + " a LocalTensor that has no memory [" + code + "]");
    expectFinding("note: let it be what AllocTensor, DeQue or TBuf::Get gives, or "
                  "LocalTensor(position, address, size)\n");
    if (one == Lost::cast || one == Lost::softMax)
      return; // wrong in other ways
    tensors<one, true><<<1, nullptr, nullptr>>>(gm.gm());
    EXPECT_EQ(allFindings(), "") << error;
  };
  const char *write = "ErrorWrite1", *read = "ErrorRead1";
  expect(std::integral_constant<Lost, Lost::destination>(), "Adds writes to", write);
  expect(std::integral_constant<Lost, Lost::source>(), "Adds reads", read);
  expect(std::integral_constant<Lost, Lost::secondSource>(), "Add reads", read);
  expect(std::integral_constant<Lost, Lost::cast>(), "Cast writes to", write);
  expect(std::integral_constant<Lost, Lost::part>(), "Adds writes to", write);
  expect(std::integral_constant<Lost, Lost::copyIn>(), "DataCopy writes to", write);
  expect(std::integral_constant<Lost, Lost::copyOut>(), "DataCopy reads", read);
  expect(std::integral_constant<Lost, Lost::getValue>(), "GetValue reads", read);
  expect(std::integral_constant<Lost, Lost::setValue>(), "SetValue writes to", write);
  expect(std::integral_constant<Lost, Lost::scalarReference>(), "SetValue writes to", write);
  expect(std::integral_constant<Lost, Lost::bits>(), "Select reads", read);
  expect(std::integral_constant<Lost, Lost::temporary>(), "ReduceMax writes to", write);
  expect(std::integral_constant<Lost, Lost::softMax>(),
         "SoftMax, LayerNorm, TopK or a like function writes to", write);
  expect(std::integral_constant<Lost, Lost::transData>(), "TransDataTo5HD writes to", write);
  tensors<Lost::nothingToDo, false><<<1, nullptr, nullptr>>>(gm.gm());
  EXPECT_EQ(allFindings(), "");
  tensors<Lost::none, false><<<1, nullptr, nullptr>>>(gm.gm());
  EXPECT_EQ(allFindings(), "");
}

enum class LostOfCube { l1, l0, product, scalesUnused };
template <LostOfCube lost, bool mixed> __aicore__ void cubeTensors(GM_ADDR g) {
  GlobalTensor<half> gm;
  gm.SetGlobalBuffer((__gm__ half*)g);
  LocalTensor<half> l1(TPosition::A1, 0, 256), a(TPosition::A2, 0, 256), b(TPosition::B2, 0, 256);
  LocalTensor<float> c(TPosition::CO1, 0, 256);
  LocalTensor<uint64_t> noScales;
  GlobalTensor<float> out;
  out.SetGlobalBuffer((__gm__ float*)g);
  if (lost == LostOfCube::l1)
    l1 = LocalTensor<half>();
  if (lost == LostOfCube::l0)
    b = LocalTensor<half>();
  if (lost == LostOfCube::product)
    c = LocalTensor<float>();
  DataCopy(l1, gm, 256);
  PipeBarrier<PIPE_ALL>();
  LoadData(a, l1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  LoadData(b, l1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  PipeBarrier<PIPE_ALL>();
  Mmad(c, a, b, MmadParams(16, 16, 16, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  Fixpipe(out, c, noScales, FixpipeParamsV220(16, 16, 16, 16, false));
}
template <LostOfCube lost> __global__ __aicore__ void onCube(GM_ADDR g) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  cubeTensors<lost, false>(g);
}
/// The vector code of a mixed kernel, which cube cores run to no effect.
__global__ __aicore__ void onBoth(GM_ADDR g) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  GlobalTensor<float> gm;
  gm.SetGlobalBuffer((__gm__ float*)g);
  LocalTensor<float> t;
  if ASCEND_IS_AIV
    t = at<float>(0, 64);
  DataCopy(t, gm[GetBlockIdx() * 64], 64);
  PipeBarrier<PIPE_ALL>();
  Adds(t, t, 1.0f, 64);
  PipeBarrier<PIPE_ALL>();
  t.SetValue(0, 2.0f);
}

TEST_F(Unwritten, TensorsWithoutMemoryOnCubeCores) {
  DeviceBuffer<float> gm(256);
  onCube<LostOfCube::l1><<<1, nullptr, nullptr>>>(gm.gm());
  expectFinding("error: DataCopy writes to a LocalTensor that has no memory [ErrorWrite1] (cube "
                "core 0)");
  onCube<LostOfCube::l0><<<1, nullptr, nullptr>>>(gm.gm());
  expectFinding("error: LoadData writes to a LocalTensor that has no memory [ErrorWrite1] (cube "
                "core 0)");
  onCube<LostOfCube::product><<<1, nullptr, nullptr>>>(gm.gm());
  expectFinding("error: Mmad writes to a LocalTensor that has no memory [ErrorWrite1] (cube core "
                "0)");
  onCube<LostOfCube::scalesUnused><<<1, nullptr, nullptr>>>(gm.gm());
  EXPECT_EQ(allFindings(), "");
  onBoth<<<1, nullptr, nullptr>>>(gm.gm());
  EXPECT_EQ(allFindings(), "");
}

/// Offsets of which the last `missing` are not written, or all count elements.
__global__ __aicore__ void gathersBy(GM_ADDR, uint32_t missing, uint32_t step) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  constexpr uint32_t n = 64;
  LocalTensor<float> from = at<float>(0, n), to = at<float>(4096, n);
  LocalTensor<uint32_t> offsets = at<uint32_t>(8192, n);
  Duplicate(from, 1.0f, n);
  if (missing < n)
    Duplicate(offsets, step, n - missing);
  PipeBarrier<PIPE_V>();
  Gather(to, from, offsets, 0u, n);
}
TEST_F(Unwritten, OffsetsOfGather) {
  DeviceBuffer<float> x(8);
  gathersBy<<<1, nullptr, nullptr>>>(x.gm(), 64, 0);
  expectFinding("Gather on PIPE_V reads UB bytes 8192 to 8447, which nothing has written");
  gathersBy<<<1, nullptr, nullptr>>>(x.gm(), 8, 4);
  expectFinding("Gather on PIPE_V reads UB bytes 8416 to 8447, which nothing has written");
  EXPECT_EQ(allFindings().find("Gather: offset"), std::string::npos) << allFindings();
  gathersBy<<<1, nullptr, nullptr>>>(x.gm(), 0, 6);
  expectFinding("Gather: offset 0 is 6, which is no multiple of 4");
  expectFinding("note: offsets count bytes: multiply the element's number by its size");
  EXPECT_EQ(allFindings().find("nothing has written"), std::string::npos) << allFindings();
  gathersBy<<<1, nullptr, nullptr>>>(x.gm(), 0, 4);
  EXPECT_EQ(allFindings(), "");
}

/// Elements 0, `step`, 2 * `step` ... of a tensor of 64 numbers, of which the first `there` are written.
template <class T, bool isByBlock>
__global__ __aicore__ void gathers(GM_ADDR, uint32_t there, uint32_t step, uint32_t count) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<T> from = at<T>(0, 64), behind = at<T>(64 * sizeof(T), 192), to = at<T>(4096, 256);
  LocalTensor<uint32_t> offsets = at<uint32_t>(8192, 64);
  Duplicate(from, T(1), there);
  Duplicate(behind, T(2), 64);
  for (uint32_t k = 0; k < 64; ++k)
    offsets.SetValue(k, k < count ? k * step * sizeof(T) : 0);
  SetFlag<HardEvent::S_V>(0);
  WaitFlag<HardEvent::S_V>(0);
  PipeBarrier<PIPE_V>();
  if constexpr (isByBlock)
    Gatherb(to, from, offsets, 1, GatherRepeatParams(1, 8));
  else
    Gather(to, from, offsets, 0u, 64u);
}
/// As before, of a table of which `there` elements are written. The result takes the offsets' place.
__global__ __aicore__ void gathersInPlace(GM_ADDR, uint32_t there) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  LocalTensor<float> from = at<float>(0, 64), to = at<float>(4096, 64);
  LocalTensor<int32_t> offsets = at<int32_t>(4096, 64);
  Duplicate(from, 1.0f, there);
  CreateVecIndex(offsets, 0, 64u);
  PipeBarrier<PIPE_V>();
  Muls(offsets, offsets, 4, 64);
  PipeBarrier<PIPE_V>();
  Gather(to, from, offsets.ReinterpretCast<uint32_t>(), 0u, 64u);
}
TEST_F(Unwritten, ElementsOfGatherInPlace) {
  DeviceBuffer<float> x(8);
  gathersInPlace<<<1, nullptr, nullptr>>>(x.gm(), 64);
  EXPECT_EQ(allFindings(), "");
  gathersInPlace<<<1, nullptr, nullptr>>>(x.gm(), 60);
  expectFinding("Gather on PIPE_V reads UB bytes 240 to 255, which nothing has written");
}
TEST_F(Unwritten, ElementsOfGather) {
  DeviceBuffer<float> x(8);
  for (auto* run : {gathers<float, false>, gathers<half, false>}) {
    const uint32_t size = run == gathers<half, false> ? 2 : 4;
    auto bytes = [&](uint32_t element) {
      return "UB bytes " + std::to_string(element * size) + " to " +
             std::to_string((element + 1) * size - 1);
    };
    run<<<1, nullptr, nullptr>>>(x.gm(), 32, 5, 7); // up to 30
    EXPECT_EQ(allFindings(), "");
    run<<<1, nullptr, nullptr>>>(x.gm(), 64, 9, 8); // up to 63
    EXPECT_EQ(allFindings(), "");
    run<<<1, nullptr, nullptr>>>(x.gm(), 32, 5, 8);
    expectFinding("Gather on PIPE_V reads " + bytes(35) + ", which nothing has written");
    run<<<1, nullptr, nullptr>>>(x.gm(), 64, 16, 5);
    expectFinding("Gather: offset 4 is " + std::to_string(64 * size) + ", which leads to UB byte " +
                  std::to_string(64 * size) + ", but the tensor ends at byte " +
                  std::to_string(64 * size - 1) + " [ErrorRead3]");
  }
  gathers<float, true><<<1, nullptr, nullptr>>>(x.gm(), 32, 8, 4);
  EXPECT_EQ(allFindings(), "");
  gathers<float, true><<<1, nullptr, nullptr>>>(x.gm(), 32, 8, 5);
  expectFinding("Gatherb on PIPE_V reads UB bytes 128 to 159, which nothing has written");
  gathers<float, true><<<1, nullptr, nullptr>>>(x.gm(), 64, 60, 2);
  expectFinding("Gatherb: offset 1 is 240, which is no multiple of 32");
  gathers<float, true><<<1, nullptr, nullptr>>>(x.gm(), 64, 64, 2);
  expectFinding("but the tensor ends at byte 255 [ErrorRead3]");
}
