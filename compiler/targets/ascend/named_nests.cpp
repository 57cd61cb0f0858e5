// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/named_nests.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/targets/ascend/nest_indices.h"
#include "compiler/targets/ascend/tile_operations.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using npu::CompareMode;

/// Elements of a mask's byte.
constexpr int64_t kByte = 8;

class NamedNest {
public:
  NamedNest(tile::ParallelOp nest, bool waits)
      : nest(nest), builder(nest.getLoc(), nest), make(builder), indices(nest, uniform, builder),
        tiles(builder, waits) {}

  bool expand() {
    auto name = nest->getAttrOfType<StringAttr>("function");
    const std::optional<int64_t> extent = getConstantIntValue(nest.getMixedExtents().front());
    if (!name || !extent || nest.getInductionVars().size() != 1)
      return false;
    Operation* before = nest->getPrevNode();
    for (Operation& op : nest.getBodyBlock()->without_terminator())
      if (isPure(&op) && op.getNumRegions() == 0)
        learn(op);
    const bool done = name.getValue() == "compare"  ? compare(*extent)
                      : name.getValue() == "select" ? select(*extent)
                                                    : false;
    if (done) {
      nest.erase();
      return true;
    }
    while (nest->getPrevNode() != before)
      nest->getPrevNode()->erase();
    return false;
  }

private:
  void learn(Operation& op) {
    const bool isUniform = llvm::all_of(op.getOperands(), [&](Value operand) {
      return !nest.getBody().isAncestor(operand.getParentRegion()) || uniform.contains(operand);
    });
    if (isUniform)
      builder.clone(op, uniform);
    else
      indices.add(&op);
  }

  Value scalarOf(Value value) {
    return nest.getBody().isAncestor(value.getParentRegion()) ? uniform.lookupOrNull(value) : value;
  }

  tile::StoreOp lastStore() {
    auto stores = nest.getBodyBlock()->getOps<tile::StoreOp>();
    return stores.empty() ? tile::StoreOp() : *stores.begin();
  }

  /// The tile that an element comes from, whose index goes in steps of `factor`.
  std::optional<VectorTile> tileOf(Value value, int64_t factor) {
    auto load = value.getDefiningOp<tile::LoadOp>();
    return load ? tileAt(load.getBuffer(), load.getIndices(), factor) : std::nullopt;
  }

  std::optional<VectorTile> tileAt(Value buffer, ValueRange position, int64_t factor) {
    const auto type = cast<tile::BufferType>(buffer.getType());
    if (type.getSpace() != tile::MemorySpace::UB)
      return std::nullopt;
    OpFoldResult offset = make.index(0);
    int64_t step = 0;
    for (auto [index, stride] : llvm::zip(position, ubStrides(type))) {
      const std::optional<IndexForm> form = indices.of(index);
      if (!form)
        return std::nullopt;
      step += form->factors[1] * stride;
      if (form->base)
        offset = make.add(offset, make.mul(getAsOpFoldResult(form->base), stride));
    }
    if (step != factor || !isMultipleOf(offset, npu::blockElements(type)))
      return std::nullopt;
    return VectorTile{buffer, make.value(offset), 0};
  }

  bool compare(int64_t bytes) {
    const int64_t size = bytes * kByte;
    Operation* first = nullptr;
    for (Operation& op : *nest.getBodyBlock())
      if (!first && isa<arith::CmpFOp, arith::CmpIOp>(op))
        first = &op;
    tile::StoreOp write = lastStore();
    auto mode = nest->getAttrOfType<StringAttr>("mode");
    std::optional<CompareMode> kind =
        mode ? npu::symbolizeCompareMode(mode.getValue().lower()) : std::nullopt;
    if (!first || !write || !kind)
      return false;
    tiles.setShape(1, size);
    const auto source = tileOf(first->getOperand(0), kByte);
    const auto mask = tileAt(write.getBuffer(), write.getIndices(), 1);
    Value scalar = scalarOf(first->getOperand(1));
    const auto other = scalar ? VectorTile{} : tileOf(first->getOperand(1), kByte);
    if (!source || !mask || !other)
      return false;
    VectorTile a = *source, b = *other;
    a.pitch = b.pitch = size;
    if (!takeSigns(a, b, scalar))
      return false;
    const Type element = tiles.elementOf(a);
    VectorTile target = *mask;
    target.maskBits = size;
    if (element.isSignedInteger(32)) {
      if (scalar)
        b = tiles.duplicate(scalar, element);
      if (*kind == CompareMode::EQ)
        return tiles.compareFloats(*kind, a, &b, Value(), &target).has_value();
      const auto made =
          tiles.compareIntegers(withSign(cast<arith::CmpIOp>(first).getPredicate()), a, b);
      return made && tiles.copyMask(target, *made);
    }
    if (!element.isF16() && !element.isF32()) {
      if (!asFloats(a) || (scalar ? !asFloats(scalar, element) : !asFloats(b)))
        return false;
    }
    return tiles.compareFloats(*kind, a, scalar ? nullptr : &b, scalar, &target).has_value();
  }

  /// Unsigned integers of 16 and 32 bits become signed ones that lie to each other as they did.
  bool takeSigns(VectorTile& a, VectorTile& b, Value& scalar) {
    const Type element = tiles.elementOf(a);
    if (!element.isUnsignedInteger(16) && !element.isUnsignedInteger(32))
      return true;
    const auto left = tiles.withTopBitFlipped(a);
    if (scalar)
      scalar = tiles.withTopBitFlipped(scalar);
    const auto right = scalar ? left : tiles.withTopBitFlipped(b);
    if (!left || !right)
      return false;
    a = *left;
    b = *right;
    return true;
  }

  /// The floats that hold all numbers of a type which the vector unit neither compares nor chooses between.
  Type floatsFor(Type element) {
    if (element.isBF16() || element.isSignedInteger(16))
      return builder.getF32Type();
    return element.isInteger() && element.getIntOrFloatBitWidth() == kByte
               ? Type(builder.getF16Type())
               : Type();
  }

  bool asFloats(VectorTile& tile) {
    const Type floats = floatsFor(tiles.elementOf(tile));
    const auto made = floats ? tiles.convert(tile, floats, std::nullopt, nullptr) : std::nullopt;
    tile = made.value_or(tile);
    return made.has_value();
  }

  /// The same of a number of tiles of `element`.
  bool asFloats(Value& scalar, Type element) {
    const Type floats = floatsFor(element);
    if (!floats)
      return false;
    scalar = element.isBF16()              ? builder.createOrFold<arith::ExtFOp>(floats, scalar)
             : element.isUnsignedInteger() ? builder.createOrFold<arith::UIToFPOp>(floats, scalar)
                                           : builder.createOrFold<arith::SIToFPOp>(floats, scalar);
    return true;
  }

  bool select(int64_t size) {
    tile::StoreOp write = lastStore();
    auto choice = write ? write.getValue().getDefiningOp<arith::SelectOp>() : nullptr;
    auto mode = nest->getAttrOfType<StringAttr>("mode");
    const std::optional<VectorTile> mask = maskOf();
    if (!choice || !mask)
      return false;
    const auto type = write.getBuffer().getType();
    const int64_t repeat = npu::kRepeatBytes * kByte / int64_t(type.getElementBits());
    const bool isOnce = mode && mode.getValue() == "VSEL_CMPMASK_SPR";
    const int64_t piece = isOnce ? std::min(repeat, size) : size;
    Value scalar = scalarOf(choice.getFalseValue());
    const auto a = tileOf(choice.getTrueValue(), 1);
    const auto b = scalar ? VectorTile{} : tileOf(choice.getFalseValue(), 1);
    const auto into = tileAt(write.getBuffer(), write.getIndices(), 1);
    if (!a || !b || !into)
      return false;
    const Type element = tiles.elementOf(*a);
    const bool isOfBytes = element.isInteger() && element.getIntOrFloatBitWidth() == kByte;
    if (isOfBytes && scalar && !asFloats(scalar, element))
      return false;
    for (int64_t begin = 0; begin < size; begin += piece) {
      const int64_t count = std::min(piece, size - begin);
      tiles.setShape(1, count);
      const auto part = [&](VectorTile tile) {
        if (tile.offset)
          tile.offset = make.value(make.add(getAsOpFoldResult(tile.offset), make.index(begin)));
        tile.pitch = count;
        return tile;
      };
      VectorTile bits = *mask;
      bits.maskBits = bits.pitch = count;
      if (!selectPart(bits, part(*a), part(*b), scalar, part(*into)))
        return false;
    }
    return true;
  }

  bool selectPart(const VectorTile& bits, VectorTile a, VectorTile b, Value scalar,
                  const VectorTile& into) {
    const Type element = tiles.elementOf(a);
    const unsigned width = element.getIntOrFloatBitWidth();
    if (element.isInteger() && width == kByte) {
      if (!asFloats(a) || (!scalar && !asFloats(b)))
        return false;
      const VectorTile made = tiles.makeTile(tiles.elementOf(a));
      return tiles.select(bits, a, scalar ? nullptr : &b, scalar, made) &&
             tiles.convert(made, element, std::nullopt, &into);
    }
    // The instruction takes a float16 or a float32.
    if (scalar && !scalar.getType().isF16() && !scalar.getType().isF32()) {
      b = tiles.duplicate(scalar, element);
      scalar = {};
    }
    return tiles.select(bits, a, scalar ? nullptr : &b, scalar, into).has_value();
  }

  /// Of the byte that holds element i, at index offset + i // 8 of the last dim.
  std::optional<VectorTile> maskOf() {
    for (auto load : nest.getBodyBlock()->getOps<tile::LoadOp>()) {
      const auto type = load.getBuffer().getType();
      if (type.getElementBits() != kByte || type.getSpace() != tile::MemorySpace::UB)
        continue;
      SmallVector<Value> first;
      for (Value index : load.getIndices().drop_back())
        first.push_back(scalarOf(index));
      Value last = load.getIndices().back(), before = make.constant(0);
      if (auto sum = last.getDefiningOp<arith::AddIOp>())
        for (Value part : sum->getOperands())
          if (Value fixed = scalarOf(part))
            before = fixed;
      first.push_back(before);
      if (scalarOf(last) || llvm::is_contained(first, Value()))
        return std::nullopt;
      Value offset = make.value(ubOffset(make, type, getAsOpFoldResult(first)));
      if (!isMultipleOf(offset, npu::blockElements(type)))
        return std::nullopt;
      return VectorTile{load.getBuffer(), offset, 0, 1};
    }
    return std::nullopt;
  }
  tile::ParallelOp nest;
  ImplicitLocOpBuilder builder;
  IndexMaker make;
  IRMapping uniform;
  NestIndices indices;
  TileOperations tiles;
};

} // namespace

bool expandNamedNest(tile::ParallelOp nest, bool waits) {
  return NamedNest(nest, waits).expand();
}

} // namespace tilewright::ascend
