// SPDX-License-Identifier: Apache-2.0
/// Turns nests that unpack 4-bit numbers into look-ups in a table that a register holds.
///
///   tile.parallel (%i, %j) in [32, 512] {
///     %byte = tile.load %W[%r + %i, %c + %j] in_bounds : i8      %0 = arith.extui %byte : i8 to i32
///     %1 = arith.andi %0, %c15    %2 = arith.subi %1, %c8    %3 = arith.sitofp %2 : i32 to bf16
///     tile.store %3, %low[%i, %j] in_bounds }
/// becomes, for AVX-512
///   scf.for %i = 0 to 32 { scf.for %j = 0 to 512 step 32 {
///     %bytes = llvm.load ... : vector<32xi8>    %index = arith.extui %bytes : to vector<32xi16>
///     %numbers = vpermw of %index and a constant of -8.0, ... 7.0 in turns
///     llvm.store %numbers, ... } }
///
/// As a chain of operations that is 13 on vectors for 32 numbers, as a look-up 2. What a chain computes is found by folding it
/// for all 256 bytes: anything that comes of the low 4 bits alone or of the high ones alone is a table, be it whole
/// numbers less 8 or a format of floats.
///
/// A nest must do nothing else, and reach consecutive elements with its last variable.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/machine_pass.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/vectors.h"

#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/Matchers.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferType;

/// Numbers of 16 bits in a register.
constexpr int64_t kNumbers = 32;

/// 4 bits of a byte, and what each of their values stands for.
struct NibbleTable {
  bool isHigh = false;
  SmallVector<int16_t> numbers;
};

/// A nest that looks numbers up.
class TableNest {
public:
  explicit TableNest(tile::ParallelOp nest) : nest(nest), last(nest.getInductionVars().back()) {
    moving.insert(last);
  }

  /// Whether it can be look-ups; else nothing has been changed.
  bool fits() {
    const int64_t length = nest.getStaticExtents().back();
    if (ShapedType::isDynamic(length) || length % kNumbers != 0)
      return false;
    bool stores = false;
    for (Operation& op : nest.getBodyBlock()->without_terminator()) {
      if (!take(&op))
        return false;
      stores |= isa<tile::StoreOp>(op);
    }
    return stores;
  }

  void lower() {
    ImplicitLocOpBuilder builder(nest.getLoc(), nest);
    IndexMath math(builder);
    SmallVector<Range> ranges;
    for (OpFoldResult extent : nest.getMixedExtents())
      ranges.push_back({math.constant(0), math.value(extent)});
    ranges.back().upper = math.constant(nest.getStaticExtents().back() / kNumbers);
    buildNest(builder, ranges, [&](ImplicitLocOpBuilder& inner, ValueRange at) {
      IRMapping scalars;
      scalars.map(nest.getInductionVars().drop_back(), at.drop_back());
      IndexMath innerMath(inner);
      scalars.map(last, innerMath.mul(at.back(), innerMath.constant(kNumbers)));
      for (Operation& op : nest.getBodyBlock()->without_terminator())
        emit(inner, &op, scalars);
    });
    nest.erase();
  }

private:
  bool take(Operation* op) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      return takeStore(store);
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (!load.getInBounds() || !isAlongRow(load.getBuffer(), load.getIndices()) ||
          !load.getType().isInteger(8))
        return false;
      byteOf[load] = load;
      return true;
    }
    if (op->getNumRegions() || op->getNumResults() != 1 || !isPure(op))
      return false;
    Value byte;
    bool moves = false;
    for (Value operand : op->getOperands()) {
      moves |= moving.contains(operand);
      if (Value source = byteOf.lookup(operand)) {
        if (byte && byte != source)
          return false;
        byte = source;
      }
    }
    Value result = op->getResult(0);
    if (byte) {
      byteOf[result] = byte;
      return !moves;
    }
    if (!moves)
      return true;
    // Of the last variable, only sums: element by element.
    moving.insert(result);
    return isa<arith::AddIOp>(op) &&
           moving.contains(op->getOperand(0)) != moving.contains(op->getOperand(1));
  }

  bool takeStore(tile::StoreOp store) {
    const Type element = cast<BufferType>(store.getBuffer().getType()).getElementType();
    Value byte = byteOf.lookup(store.getValue());
    if (!byte || !store.getInBounds() || !isAlongRow(store.getBuffer(), store.getIndices()) ||
        !(element.isF16() || element.isBF16()))
      return false;
    std::optional<NibbleTable> table = tableOf(store.getValue(), byte);
    if (table)
      tables[store] = *table;
    return table.has_value();
  }

  bool isAlongRow(Value buffer, ValueRange indices) const {
    const auto type = cast<BufferType>(buffer.getType());
    const bool isDense = buffer.getDefiningOp<tile::AllocOp>() || isDenseTensor(buffer);
    return isDense && !type.isPerThread() && !indices.empty() && moving.contains(indices.back()) &&
           llvm::none_of(indices.drop_back(), [&](Value index) {
             return moving.contains(index) || byteOf.contains(index);
           });
  }

  /// What `value` is for each value of `byte`, as bits; empty if it depends on more.
  SmallVector<int16_t> numbersOf(Value value, Value byte) {
    SmallVector<Operation*> chain;
    for (Operation& op : nest.getBodyBlock()->without_terminator())
      if (op.getNumResults() == 1 && op.getResult(0) != byte &&
          byteOf.lookup(op.getResult(0)) == byte)
        chain.push_back(&op);
    SmallVector<int16_t> numbers;
    for (int64_t pattern = 0; pattern < 256; ++pattern) {
      llvm::DenseMap<Value, Attribute> known;
      known[byte] = IntegerAttr::get(byte.getType(), APInt(8, uint64_t(pattern)));
      for (Operation* op : chain)
        fold(op, known);
      auto number = dyn_cast_or_null<FloatAttr>(known.lookup(value));
      if (!number)
        return {};
      numbers.push_back(int16_t(number.getValue().bitcastToAPInt().getZExtValue()));
    }
    return numbers;
  }

  static void fold(Operation* op, llvm::DenseMap<Value, Attribute>& known) {
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands()) {
      Attribute value = known.lookup(operand);
      if (!value && !matchPattern(operand, m_Constant(&value)))
        return;
      operands.push_back(value);
    }
    SmallVector<OpFoldResult> results;
    if (succeeded(op->fold(operands, results)) && results.size() == 1) {
      if (auto value = dyn_cast<Attribute>(results.front()))
        known[op->getResult(0)] = value;
      else
        known[op->getResult(0)] = known.lookup(cast<Value>(results.front()));
    }
  }

  std::optional<NibbleTable> tableOf(Value value, Value byte) {
    const SmallVector<int16_t> all = numbersOf(value, byte);
    if (all.empty())
      return std::nullopt;
    for (bool isHigh : {false, true}) {
      const int64_t mask = isHigh ? 0xf0 : 0x0f;
      if (!llvm::all_of(llvm::seq<int64_t>(0, 256),
                        [&](int64_t pattern) { return all[pattern] == all[pattern & mask]; }))
        continue;
      NibbleTable table{isHigh, {}};
      // Twice: vpermw looks at 5 bits.
      for (int64_t entry = 0; entry < kNumbers; ++entry)
        table.numbers.push_back(all[isHigh ? (entry & 15) << 4 : entry & 15]);
      return table;
    }
    return std::nullopt;
  }

  void emit(ImplicitLocOpBuilder& inner, Operation* op, IRMapping& values) {
    auto places = [&](ValueRange at) {
      return llvm::map_to_vector(at, [&](Value index) { return values.lookupOrDefault(index); });
    };
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      auto words = VectorType::get({kNumbers}, inner.getI16Type());
      Value bytes = loadVector(inner, load.getBuffer(), places(load.getIndices()), kNumbers);
      values.map(load.getResult(), arith::ExtUIOp::create(inner, words, bytes));
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      Value index = values.lookup(byteOf.lookup(store.getValue()));
      Value numbers = lookUp(inner, tables[store], index);
      auto type = VectorType::get({kNumbers}, store.getValue().getType());
      storeVector(inner, arith::BitcastOp::create(inner, type, numbers), store.getBuffer(),
                  places(store.getIndices()));
    } else if (!byteOf.contains(op->getResult(0))) {
      inner.clone(*op, values);
    }
  }

  static Value lookUp(ImplicitLocOpBuilder& inner, const NibbleTable& table, Value index) {
    auto type = cast<VectorType>(index.getType());
    if (table.isHigh) {
      Value four = arith::ConstantOp::create(
          inner, DenseElementsAttr::get(type, Attribute(inner.getI16IntegerAttr(4))));
      index = arith::ShRUIOp::create(inner, index, four);
    }
    Value numbers = arith::ConstantOp::create(
        inner, DenseElementsAttr::get(type, ArrayRef<int16_t>(table.numbers)));
    return LLVM::CallIntrinsicOp::create(inner, type,
                                         inner.getStringAttr("llvm.x86.avx512.permvar.hi.512"),
                                         ValueRange{numbers, index})
        .getResult(0);
  }

  tile::ParallelOp nest;
  Value last;
  /// Indices that go on by one with the last variable.
  llvm::DenseSet<Value> moving;
  /// The byte, as loaded, that a value comes of.
  llvm::DenseMap<Value, Value> byteOf;
  llvm::DenseMap<Operation*, NibbleTable> tables;
};

struct LowerTables : MachinePass<LowerTables> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerTables)
  static constexpr llvm::StringLiteral kArgument = "cpu-lower-tables";
  static constexpr llvm::StringLiteral kDescription =
      "turn nests that unpack 4-bit numbers into look-ups in registers";
  using MachinePass::MachinePass;
  void getDependentDialects(DialectRegistry& registry) const override {
    registry
        .insert<arith::ArithDialect, scf::SCFDialect, vector::VectorDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    if (!machine.isX86 || machine.vectorBits < 512)
      return;
    getOperation().walk([&](tile::ParallelOp nest) {
      TableNest tables(nest);
      if (tables.fits())
        tables.lower();
    });
  }
};

} // namespace

std::unique_ptr<Pass> createLowerTables(const Machine& machine) {
  return std::make_unique<LowerTables>(machine);
}

} // namespace tilewright::cpu
