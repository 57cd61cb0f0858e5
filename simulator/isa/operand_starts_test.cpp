// SPDX-License-Identifier: Apache-2.0
// Operands that start where the documentation doesn't let them.
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

} // namespace
} // namespace tilewright::ascend::isa
