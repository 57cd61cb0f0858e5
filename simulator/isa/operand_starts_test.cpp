// SPDX-License-Identifier: Apache-2.0
// Operands that start where the documentation doesn't let them, also within one another.
#include "simulator/isa/effects.h"
#include "simulator/memory/local_memory.h"

#include <gtest/gtest.h>

namespace tilewright::ascend::isa {
namespace {

/// An instruction on a UB of zeros, its operands where all of them may be.
class OperandStarts : public ::testing::Test {
protected:
  OperandStarts() {
    context.base[static_cast<unsigned>(Space::UB)] = ub.data();
  }
  static VectorInstr vector(VectorOp op, DType type = DType::F32) {
    VectorInstr i;
    i.op = op;
    i.form = VectorForm::Mask;
    i.mode = 1; // a fixed pattern, a comparison, an order
    i.dst = {8192, 4096, Space::UB, type};
    i.src0 = {0, 4096, Space::UB, type};
    i.src1 = {4096, 2048, Space::UB, type};
    i.aux = {6144, 2048, Space::UB, DType::U32};
    return i;
  }
  template <class Instr> std::string check(const Instr& i) const {
    AccessList accesses;
    return inspect(i, accesses, context);
  }
  /// All right as it is, and with `operand` at `allowed` bytes more; not at `wrong` more.
  void expectStart(VectorInstr i, Operand VectorInstr::* operand, const char* name,
                   uint32_t allowed, uint32_t wrong) const {
    EXPECT_EQ(check(i), "") << nameOf(i.op);
    (i.*operand).address += allowed;
    EXPECT_EQ(check(i), "") << nameOf(i.op);
    (i.*operand).address += wrong;
    (i.*operand).address -= allowed;
    std::string text = check(i);
    std::string part = std::string(name) + " starts at UB byte " +
                       std::to_string((i.*operand).address) + ", which is no multiple of " +
                       std::to_string(allowed);
    EXPECT_NE(text.find(part), std::string::npos) << nameOf(i.op) << ": " << text;
  }

  std::vector<uint8_t> ub = std::vector<uint8_t>(spaceBytes[static_cast<unsigned>(Space::UB)]);
  Context context;
};

TEST_F(OperandStarts, OfBlocks) {
  for (VectorOp op : {VectorOp::Gather, VectorOp::Gatherb, VectorOp::GatherMask, VectorOp::Brcb,
                      VectorOp::Compare, VectorOp::Select, VectorOp::Sort32})
    expectStart(vector(op), &VectorInstr::dst, "dst", 32, 4);
  expectStart(vector(VectorOp::Transpose, DType::F16), &VectorInstr::dst, "dst", 32, 4);
  for (VectorOp op : {VectorOp::Gather, VectorOp::Gatherb, VectorOp::Brcb, VectorOp::Compare,
                      VectorOp::Select, VectorOp::Sort32})
    expectStart(vector(op), &VectorInstr::src0, "src", 32, 8);
  expectStart(vector(VectorOp::Compare), &VectorInstr::src1, "src1", 32, 16);
  expectStart(vector(VectorOp::Sort32), &VectorInstr::src1, "src1", 32, 16);
  expectStart(vector(VectorOp::Gather), &VectorInstr::aux, "srcOffset", 32, 4);
  expectStart(vector(VectorOp::Select), &VectorInstr::aux, "selMask", 32, 4);
  expectStart(vector(VectorOp::ReduceSum), &VectorInstr::aux, "sharedTmpBuffer", 32, 4);
  expectStart(vector(VectorOp::ExtractScores), &VectorInstr::aux, "dstIndex", 32, 16);
}

TEST_F(OperandStarts, NameReadsAndWrites) {
  VectorInstr i = vector(VectorOp::Gather);
  i.dst.address += 4;
  EXPECT_EQ(check(i), "dst starts at UB byte 8196, which is no multiple of 32 [ErrorWrite4]");
  i = vector(VectorOp::Gather);
  i.aux.address += 4;
  EXPECT_EQ(check(i), "srcOffset starts at UB byte 6148, which is no multiple of 32 [ErrorRead4]");
}

TEST_F(OperandStarts, OfReductions) {
  auto reduction = [&](VectorOp op, DType type, ReduceOrder order) {
    VectorInstr i = vector(op, type);
    i.mode = static_cast<uint8_t>(order);
    return i;
  };
  auto value = ReduceOrder::OnlyValue, both = ReduceOrder::ValueIndex;
  VectorOp whole = VectorOp::WholeReduceMax, sum = VectorOp::WholeReduceSum;
  Operand VectorInstr::* dst = &VectorInstr::dst;
  expectStart(reduction(sum, DType::F32, value), dst, "dst", 4, 2);
  expectStart(reduction(sum, DType::F16, value), dst, "dst", 2, 1);
  expectStart(reduction(whole, DType::F32, value), dst, "dst", 4, 2);
  expectStart(reduction(whole, DType::F32, both), dst, "dst", 8, 4);
  expectStart(reduction(whole, DType::F16, both), dst, "dst", 4, 2);
  expectStart(reduction(VectorOp::BlockReduceSum, DType::F32, value), dst, "dst", 32, 4);
  expectStart(reduction(VectorOp::BlockReduceMax, DType::F16, value), dst, "dst", 16, 8);
  expectStart(reduction(VectorOp::PairReduceSum, DType::F16, value), dst, "dst", 32, 16);
  expectStart(vector(VectorOp::ReduceSum), dst, "dst", 4, 2);
  VectorInstr index = vector(VectorOp::ReduceMax);
  index.flag = true;
  expectStart(index, dst, "dst", 8, 4);
}

TEST_F(OperandStarts, AndTheSizeOfTemporaryMemory) {
  VectorInstr i = vector(VectorOp::ReduceSum);
  i.form = VectorForm::Count;
  i.count = 1024; // 16 repeats
  i.aux.bytes = 64;
  EXPECT_EQ(check(i), "");
  i.aux.bytes = 32;
  EXPECT_EQ(check(i), "sharedTmpBuffer has 32 bytes, but 16 repeats need 64: a value of each "
                      "[ErrorWrite2]");
  i.op = VectorOp::ReduceMax;
  i.aux.bytes = 127;
  EXPECT_EQ(check(i), "sharedTmpBuffer has 127 bytes, but 16 repeats need 128: a value and an "
                      "index of each [ErrorWrite2]");
  i.count = 3; // less than a repeat
  i.aux.bytes = 32;
  EXPECT_EQ(check(i), "");
  i.form = VectorForm::Mask;
  i.repeat = 5;
  EXPECT_EQ(check(i), "sharedTmpBuffer has 32 bytes, but 5 repeats need 64: a value and an index "
                      "of each [ErrorWrite2]");
}

TEST_F(OperandStarts, OfSortedLists) {
  VectorInstr i = vector(VectorOp::MrgSort);
  i.validBits = 5;
  for (uint16_t& length : i.lengths)
    length = 16;
  expectStart(i, &VectorInstr::src0, "list 0", 8, 4);
  expectStart(i, &VectorInstr::aux, "list 2", 8, 4);
  i.src1.address += 4; // not one of the lists
  EXPECT_EQ(check(i), "");
  expectStart(i, &VectorInstr::dst, "dst", 32, 8);
}

TEST_F(OperandStarts, OfMatrices) {
  CubeInstr load;
  load.op = CubeOp::Load2D;
  load.repeat = 1;
  load.dst = {64, 512, Space::L0A, DType::F16};
  load.a = {0, 512, Space::L1, DType::F16};
  EXPECT_EQ(check(load), "dst starts at L0A byte 64, which is no multiple of 512 [ErrorWrite4]");
  load.dst.address = 512;
  load.a.address = 16;
  EXPECT_EQ(check(load), "src starts at L1 byte 16, which is no multiple of 32 [ErrorRead4]");
  CubeInstr fill;
  fill.op = CubeOp::Fill;
  fill.repeat = fill.m = 1;
  fill.dst = {16, 512, Space::L1, DType::F16};
  EXPECT_EQ(check(fill), "dst starts at L1 byte 16, which is no multiple of 32 [ErrorWrite4]");
  fill.dst = {32, 512, Space::L1, DType::F16};
  EXPECT_EQ(check(fill), "");
  fill.dst.space = Space::L0A;
  EXPECT_EQ(check(fill), "dst starts at L0A byte 32, which is no multiple of 512 [ErrorWrite4]");
  CubeInstr mmad;
  mmad.m = mmad.n = mmad.k = 16;
  mmad.a = {0, 512, Space::L0A, DType::F16};
  mmad.b = {0, 512, Space::L0B, DType::F16};
  mmad.dst = {16, 1024, Space::L0C, DType::F32};
  EXPECT_EQ(check(mmad), "dst starts at L0C byte 16, which is no multiple of 64 [ErrorWrite4]");
  mmad.dst.address = 64;
  EXPECT_EQ(check(mmad), "");
  CubeInstr store;
  store.op = CubeOp::Fixpipe;
  store.m = store.n = 16;
  store.a = {16, 1024, Space::L0C, DType::F32};
  store.dst = {0, 0, Space::GM, DType::F32};
  EXPECT_EQ(check(store), "src starts at L0C byte 16, which is no multiple of 64 [ErrorRead4]");
  store.a.address = 64;
  EXPECT_EQ(check(store), "");
}

TEST_F(OperandStarts, LoadsBehindTheTensor) {
  CubeInstr load;
  load.op = CubeOp::Load2D;
  load.repeat = 8;
  load.dst = {512, 4096, Space::L0A, DType::F16};
  load.a = {0, 512, Space::L1, DType::F16}; // it may read rows that nobody needs
  EXPECT_EQ(check(load), "");
  load.repeat = 9;
  EXPECT_EQ(check(load),
            "writes fractals up to byte 5119, but the tensor ends at byte 4607; give it "
            "room for whole fractals [ErrorWrite2]");
  load.dst.bytes = 0; // not known
  EXPECT_EQ(check(load), "");
}

TEST_F(OperandStarts, CubeInstructionsBehindTheTensor) {
  CubeInstr mmad;
  mmad.m = mmad.n = 20;
  mmad.k = 32;
  mmad.a = {0, 4 * 512 - 384, Space::L0A, DType::F16}; // 4 rows of the last fractal
  mmad.b = {0, 4 * 512 - 384, Space::L0B, DType::F16};
  mmad.dst = {0, (32 + 20) * 64, Space::L0C, DType::F32};
  EXPECT_EQ(check(mmad), "");
  for (Operand CubeInstr::* operand : {&CubeInstr::a, &CubeInstr::b, &CubeInstr::dst}) {
    CubeInstr wrong = mmad;
    (wrong.*operand).bytes -= 32;
    EXPECT_NE(check(wrong), "");
  }
  mmad.dst.bytes = 1024;
  EXPECT_EQ(check(mmad), "writes up to L0C byte 3327, but the tensor ends at byte 1023 "
                         "[ErrorWrite2]");
  CubeInstr store;
  store.op = CubeOp::Fixpipe;
  store.m = store.n = 20;
  store.fixSrcStride = 32;
  store.fixDstStride = 20;
  store.rowMajor = true;
  store.a = {0, (32 + 20) * 64, Space::L0C, DType::F32};
  store.dst = {0, 1600, Space::L1, DType::F32};
  EXPECT_EQ(check(store), "");
  store.dst.bytes = 1599;
  EXPECT_EQ(check(store), "writes up to L1 byte 1599, but the tensor ends at byte 1598 "
                          "[ErrorWrite2]");
  store.dst.bytes = 1600;
  store.a.bytes = 3200;
  EXPECT_EQ(check(store), "reads up to L0C byte 3327, but the tensor ends at byte 3199 "
                          "[ErrorRead3]");
  CubeInstr load;
  load.op = CubeOp::Load2D;
  load.repeat = 2;
  load.srcStride = 3;
  load.dst = {0, 4096, Space::L0A, DType::F16};
  load.a = {0, 3 * 512 + 32, Space::L1, DType::F16}; // a row of the last one
  EXPECT_EQ(check(load), "");
  load.a.bytes = 3 * 512;
  EXPECT_EQ(check(load), "reads up to L1 byte 1567, but the tensor ends at byte 1535 [ErrorRead3]");
}

TEST_F(OperandStarts, ImagesBehindTheTensor) {
  CubeInstr load;
  load.op = CubeOp::Load3D;
  load.l1H = load.l1W = 4;
  load.channels = 32;
  load.mExtension = 16;
  load.kExtension = 32;
  load.dst = {0, 1024, Space::L0A, DType::F16};
  load.a = {0, 1024, Space::L1, DType::F16};
  EXPECT_EQ(check(load), "");
  load.a.bytes = 512;
  EXPECT_NE(check(load), "");
  load.kExtension = 16; // the first half of the channels
  EXPECT_EQ(check(load), "");
  load.dst.bytes = 256;
  EXPECT_EQ(check(load),
            "writes up to L0A byte 511, but the tensor ends at byte 255 [ErrorWrite2]");
}

/// Sources and destinations with bytes in common.
class OperandOverlaps : public OperandStarts {
protected:
  static VectorInstr masked(VectorOp op, uint32_t dst, uint32_t repeat = 4, uint32_t mask = 64) {
    VectorInstr i = vector(op);
    i.dst.address = dst;
    i.repeat = repeat;
    i.maskLength = mask;
    return i;
  }
  /// From halves at `src` to floats at `dst`, or back.
  static VectorInstr cast(DType to, uint32_t dst, uint32_t src, uint32_t repeat) {
    VectorInstr i = masked(VectorOp::Cast, dst, repeat);
    i.dst.type = to;
    i.src0.type = to == DType::F32 ? DType::F16 : DType::F32;
    i.src0.address = src;
    (to == DType::F32 ? i.src0Rep : i.dstRep) = 4;
    i.mode = 0; // the rounding of none
    return i;
  }
  static VectorInstr counted(VectorInstr i) {
    i.form = VectorForm::Count;
    i.count = i.repeat * 64;
    return i;
  }
};

TEST_F(OperandOverlaps, OfRepeats) {
  const char* part = "source and destination overlap in part (UB bytes 0 and 32); they must be the "
                     "same or apart";
  EXPECT_EQ(check(masked(VectorOp::Adds, 32)), part);
  EXPECT_EQ(check(masked(VectorOp::Adds, 32, 1)), part);
  EXPECT_EQ(check(masked(VectorOp::Add, 32)), part);
  EXPECT_EQ(check(masked(VectorOp::Adds, 0)), "");
  EXPECT_EQ(check(masked(VectorOp::Add, 0)), "");
  EXPECT_EQ(check(masked(VectorOp::Add, 4096)), "");  // the other source
  EXPECT_EQ(check(masked(VectorOp::Adds, 1024)), ""); // just behind
  EXPECT_NE(check(masked(VectorOp::Adds, 256)), "");
  EXPECT_NE(check(masked(VectorOp::Add, 4096 + 32)), "");
  // Half of each row of two: beside the other halves.
  EXPECT_EQ(check(masked(VectorOp::Adds, 128, 4, 32)), "");
  EXPECT_NE(check(masked(VectorOp::Adds, 128, 4, 40)), "");
}

TEST_F(OperandOverlaps, OfOtherStrides) {
  VectorInstr i = masked(VectorOp::Adds, 0);
  i.src0Rep = 4;
  EXPECT_EQ(check(i), "source and destination overlap in part (both start at UB byte 0); their "
                      "strides must be the same");
  i.repeat = 1; // then it is of no importance
  EXPECT_EQ(check(i), "");
  i.repeat = 4;
  i.src0Rep = i.dstRep = 0; // accumulates
  EXPECT_EQ(check(i), "");
  i = masked(VectorOp::Sub, 0);
  i.src1.address = 0; // one row for all repeats, which the first one changes
  i.src1Rep = 0;
  EXPECT_EQ(check(i), "source and destination overlap in part (both start at UB byte 0); their "
                      "strides must be the same");
  i.repeat = 1;
  EXPECT_EQ(check(i), "");
}

TEST_F(OperandOverlaps, OfCasts) {
  const std::string late = "the destination, at UB byte 0, lies over elements of the source, at 0, "
                           "that are yet to be read";
  EXPECT_EQ(check(cast(DType::F32, 0, 0, 4)), late);
  EXPECT_EQ(check(cast(DType::F32, 0, 0, 1)), late);
  EXPECT_EQ(check(counted(cast(DType::F32, 0, 0, 4))), late);
  for (uint32_t repeats : {1u, 4u}) {
    // The halves at the end of the memory of the floats, and floats that shrink.
    for (VectorInstr right :
         {cast(DType::F32, 0, 128 * repeats, repeats), cast(DType::F16, 0, 0, repeats)}) {
      EXPECT_EQ(check(right), "");
      EXPECT_EQ(check(counted(right)), "");
    }
    for (VectorInstr wrong :
         {cast(DType::F32, 0, 128 * repeats - 32, repeats), cast(DType::F16, 32, 0, repeats)}) {
      EXPECT_NE(check(wrong), "") << repeats;
      EXPECT_NE(check(counted(wrong)), "") << repeats;
    }
  }
}

TEST_F(OperandOverlaps, OfBrcb) {
  VectorInstr i = masked(VectorOp::Brcb, 0);
  EXPECT_EQ(check(i), "the destination, at UB byte 0, lies over elements of the source, at 0, that "
                      "are yet to be read");
  i.dst.address = 128; // 4 repeats of 8 floats are read
  EXPECT_EQ(check(i), "");
}

TEST_F(OperandOverlaps, OfGathers) {
  const std::string late = "the destination, at UB byte 0, lies over elements of the source, at 0, "
                           "that are yet to be read";
  VectorInstr i = masked(VectorOp::Gather, 8192); // all offsets are 0
  EXPECT_EQ(check(i), "");
  i.dst.address = 32; // beside what is gathered
  EXPECT_EQ(check(i), "");
  i.dst.address = 0;
  EXPECT_EQ(check(i), late);
  i.dst.address = 6144; // each offset is used when it goes
  EXPECT_EQ(check(i), "");
  i.dst.address = 6144 + 256;
  EXPECT_NE(check(i), ""); // the offsets
  i.maskLength = 0;
  i.mask[0] = ~0ull << 32; // the first lanes rest
  i.mask[1] = 0;
  EXPECT_NE(check(i), "");
  i.dst.address = 6144 + 128; // beside those of the other lanes
  EXPECT_EQ(check(i), "");
  i.maskLength = 64;
  i.dst.address = 6144 + 256;
  i = counted(i);
  EXPECT_NE(check(i), "");
  i.dst.address = 6144; // each offset is used when it goes
  EXPECT_EQ(check(i), "");
  i = masked(VectorOp::Gatherb, 0, 1);
  EXPECT_EQ(check(i), late);
  i.dst.address = 32;
  EXPECT_EQ(check(i), "");
  i = masked(VectorOp::GatherMask, 0); // moves elements to the front
  EXPECT_EQ(check(i), "");
  i.dst.address = 32;
  EXPECT_NE(check(i), "");
}

TEST_F(OperandOverlaps, OfReducedRepeats) {
  VectorInstr i = masked(VectorOp::WholeReduceSum, 768, 8); // four words in the fourth row
  i.dstRep = 1;
  const std::string late = "the destination, at UB byte 768, lies over elements of the source, at "
                           "0, that are yet to be read";
  EXPECT_EQ(check(i), late);
  i.maskLength = 0;
  i.mask[0] = ~1ull; // the first lane rests
  i.mask[1] = 0;
  EXPECT_EQ(check(i), late);
  i.mask[0] = ~0ull << 8; // behind the results
  EXPECT_EQ(check(i), "");
}

TEST_F(OperandOverlaps, OfSorts) {
  VectorInstr i = masked(VectorOp::Sort32, 0);
  EXPECT_NE(check(i), "");
  i.dst.address = 4096; // the indices
  EXPECT_NE(check(i), "");
  i.dst.address = 512;
  EXPECT_EQ(check(i), "");
  i = masked(VectorOp::MrgSort, 8192, 1);
  i.validBits = 3;
  for (uint16_t& length : i.lengths)
    length = 16;
  EXPECT_EQ(check(i), "");
  i.dst.address = 4096;
  EXPECT_NE(check(i), "");
  i.dst.address = 128;
  EXPECT_EQ(check(i), "");
}

TEST_F(OperandOverlaps, OfTransposes) {
  VectorInstr i = vector(VectorOp::Transpose, DType::F16);
  i.mode = 0;
  i.dst.address = 0; // all is read first
  EXPECT_EQ(check(i), "");
  i.dst.address = 32;
  EXPECT_NE(check(i), "");
  i = masked(VectorOp::TransDataTo5HD, 0, 2);
  i.dst.type = i.src0.type = DType::F16;
  i.dstRep = i.src0Rep = 16;
  for (uint32_t k = 0; k < 16; ++k)
    i.lists[k] = i.lists[16 + k] = k * 32;
  EXPECT_EQ(check(i), "");
  i.lists[3] = 512; // of the second repeat
  EXPECT_EQ(check(i), "the block at UB byte 512, which repeat 0 writes, is yet to be read by "
                      "repeat 1");
}

TEST_F(OperandOverlaps, OfReductionsAndSelections) {
  VectorInstr i = masked(VectorOp::WholeReduceSum, 0);
  i.dstRep = 1;
  EXPECT_EQ(check(i), "");
  i.dst.address = 252; // the second result in the place of the second repeat's first value
  EXPECT_EQ(check(i), "");
  i.dst.address = 256;
  EXPECT_NE(check(i), "");
  i = masked(VectorOp::Select, 0);
  EXPECT_EQ(check(i), "");
  i.dst.address = 4096 - 32;
  EXPECT_NE(check(i), ""); // the second source
  i.dst.address = 6144;
  EXPECT_NE(check(i), ""); // the bits
}

TEST_F(OperandOverlaps, OfCopies) {
  CopyInstr i;
  i.dst = {64, 4096, Space::UB, DType::F16};
  i.src = {0, 4096, Space::UB, DType::F16};
  i.length = i.srcStride = i.dstStride = 64;
  EXPECT_EQ(check(i), "");
  i.count = 2;
  EXPECT_EQ(check(i), "source and destination overlap in part (UB bytes 0 and 64); they must be "
                      "the same or apart");
  i.srcStride = i.dstStride = 128; // one beside the other
  EXPECT_EQ(check(i), "");
  i.dst.address = 0;
  EXPECT_EQ(check(i), "");
  i.dstStride = 96;
  EXPECT_NE(check(i), "");
}

TEST_F(OperandOverlaps, OfRepeatsOfTheDestination) {
  VectorInstr i = masked(VectorOp::Adds, 8192);
  EXPECT_FALSE(overlapsItself(i));
  i.dstRep = 4;
  EXPECT_TRUE(overlapsItself(i));
  EXPECT_EQ(check(i), ""); // the later ones win
  EXPECT_EQ(itsRepeats(i), "dstRepStride is 4, but a repeat spans 8 blocks");
  i.maskLength = 32;
  EXPECT_FALSE(overlapsItself(i));
  i.maskLength = 64;
  i.dstRep = 0; // accumulates
  EXPECT_FALSE(overlapsItself(i));
  const std::string changed = "dstRepStride is 4, but a repeat spans 8 blocks, so that repeats "
                              "read what others have just changed";
  i = masked(VectorOp::MulAddDst, 8192);
  i.dstRep = 4;
  EXPECT_EQ(check(i), changed);
  i = masked(VectorOp::Add, 0);
  i.dstRep = i.src0Rep = 4;
  EXPECT_EQ(check(i), changed);
  i.dstRep = i.src0Rep = 8;
  EXPECT_EQ(check(i), "");
  i = masked(VectorOp::Duplicate, 8192);
  i.dstRep = 4; // the same value once more
  EXPECT_FALSE(overlapsItself(i));
  i.op = VectorOp::CreateVecIndex;
  EXPECT_TRUE(overlapsItself(i));
  i = masked(VectorOp::Brcb, 8192);
  i.dstRep = 7;
  EXPECT_TRUE(overlapsItself(i));
}

TEST_F(OperandOverlaps, OfInt4) {
  VectorInstr i = masked(VectorOp::Cast, 8192, 4, 128); // 128 lanes are two blocks of pairs
  i.dst.type = DType::I4;
  i.src0.type = DType::F16;
  i.mode = 0; // the rounding of none
  i.dstRep = 2;
  EXPECT_FALSE(overlapsItself(i));
  EXPECT_EQ(check(i), "");
  i.dst.address = 0; // shrinks in its place
  EXPECT_EQ(check(i), "");
  i.dst.address = 64; // over the second half of the first repeat
  EXPECT_NE(check(i), "");
  i.dstRep = 1;
  EXPECT_TRUE(overlapsItself(i));
  EXPECT_EQ(itsRepeats(i), "dstRepStride is 1, but a repeat spans 2 blocks");
  std::swap(i.dst.type, i.src0.type);
  i.dst.address = 8192;
  i.src0Rep = 2;
  i.dstRep = 8;
  EXPECT_FALSE(overlapsItself(i));
  EXPECT_EQ(check(i), "");
  i.dstRep = 4;
  EXPECT_TRUE(overlapsItself(i));
  EXPECT_EQ(itsRepeats(i), "dstRepStride is 4, but a repeat spans 8 blocks");
  i.dstRep = 8;
  i.dst.address = 0; // grows over what is yet to be read
  EXPECT_EQ(check(i), "the destination, at UB byte 0, lies over elements of the source, at 0, that "
                      "are yet to be read");
  EXPECT_NE(check(counted(i)), "");
}

} // namespace
} // namespace tilewright::ascend::isa
