// SPDX-License-Identifier: Apache-2.0
// Operations between a tile and one row that all of its rows have in common: row by row, so that the row needn't be spread over
// a tile as large. Of short rows, or few of them, one instruction for all is faster. And those between a tile and one number for
// each row: an instruction takes it from a block of 32 bytes that is full of it.
#include "compiler/targets/ascend/nest_vectorizer.h"
#include "compiler/targets/ascend/peel_nest.h"
#include "compiler/targets/ascend/short_loops.h"

#include "compiler/ir/npu_access.h"

namespace tilewright::ascend {

using namespace mlir;

/// Bytes of a row from which an instruction for each pays, and of a tile from which another one would be much of UB.
constexpr int64_t kLongRow = 2048, kLargeTile = 32768;

bool NestVectorizer::keepsLine(const VectorTile& line) const {
  const Type element = tiles.elementOf(line);
  const int64_t bytes = columns * int64_t(element.getIntOrFloatBitWidth()) / 8;
  return rows > 1 && !element.isBF16() && bytes >= kLongRow && rows * bytes >= kLargeTile &&
         tiles.pitchOf(element) == columns;
}

NestVectorizer::Tile NestVectorizer::byLines(Operation* op, npu::BinaryKind kind) {
  const Value left = op->getOperand(0), right = op->getOperand(1);
  const auto isLine = [&](Value value) { return lines.contains(value) && !values.contains(value); };
  if (isLine(left) == isLine(right) || kind == npu::BinaryKind::MulAddDst ||
      scalarOf(isLine(left) ? right : left))
    return std::nullopt;
  const Tile whole = tileOf(isLine(left) ? right : left);
  const Type element = storedType(op->getResult(0).getType());
  if (!whole || whole->pitch != columns || whole->maskBits)
    return std::nullopt;
  const VectorTile target = targetOf(op, element);
  if (target.pitch != columns)
    return std::nullopt;
  const VectorTile line = lines.find(isLine(left) ? left : right)->second;
  {
    const OpBuilder::InsertionGuard guard(builder);
    Value row = makeLoop(builder, make.index(rows));
    nameLoop(cast<tile::ForOp>(cast<BlockArgument>(row).getOwner()->getParentOp()), "row");
    const OpFoldResult first = make.mul(row, columns);
    const auto at = [&](const VectorTile& tile) {
      return make.value(make.add(tile.offset, first));
    };
    const auto create = [&](const VectorTile& a, Value aOffset, const VectorTile& b,
                            Value bOffset) {
      npu::BinaryOp::create(builder, kind, target.buffer, at(target), a.buffer, aOffset, b.buffer,
                            bOffset, make.constant(columns), npu::RepeatAttr());
    };
    if (isLine(left))
      create(line, line.offset, *whole, at(*whole));
    else
      create(*whole, at(*whole), line, line.offset);
  }
  tiles.barrier();
  return target;
}

/// Whether an operation takes `number` beside a tile: on the right, where the order counts.
static bool takesNumber(Operation* op, Value number) {
  const std::optional<npu::BinaryKind> kind = binaryKind(op);
  if (!kind || op->getOperand(0) == op->getOperand(1))
    return false;
  return op->getOperand(1) == number ||
         (*kind != npu::BinaryKind::Sub && *kind != npu::BinaryKind::Div);
}

bool NestVectorizer::keepsNumbers(tile::LoadOp op, const VectorTile& numbers) const {
  constexpr int64_t mostBlocks = 255;
  const Type element = tiles.elementOf(numbers);
  const int64_t bits = int64_t(element.getIntOrFloatBitWidth());
  return rows > 1 && columns > 1 && !element.isBF16() && (bits == 16 || bits == 32) &&
         tiles.pitchOf(element) == columns && columns * bits / 8 / npu::kBlockBytes <= mostBlocks &&
         llvm::all_of(op.getValue().getUsers(),
                      [&](Operation* user) { return takesNumber(user, op.getValue()); });
}

NestVectorizer::Tile NestVectorizer::byRows(Operation* op, npu::BinaryKind kind) {
  Value left = op->getOperand(0), right = op->getOperand(1);
  const auto isKept = [&](Value value) {
    return rowNumbers.contains(value) && !values.contains(value);
  };
  if (isKept(left) && !isKept(right) && takesNumber(op, left))
    std::swap(left, right);
  const Type element = storedType(op->getResult(0).getType());
  if (!isKept(right) || scalarOf(left) || !takesNumber(op, right))
    return std::nullopt;
  const Tile whole = tileOf(left);
  if (!whole || whole->pitch != columns || whole->maskBits)
    return std::nullopt;
  const VectorTile target = targetOf(op, element);
  if (target.pitch != columns)
    return std::nullopt;
  tiles.binaryByRows(kind, target, *whole, rowNumbers.find(right)->second);
  return target;
}

} // namespace tilewright::ascend
