// SPDX-License-Identifier: Apache-2.0
// Operations between a tile and one row that all of its rows have in common: row by row, so that the row needn't be spread over
// a tile as large. Of short rows, or few of them, one instruction for all is faster.
#include "compiler/targets/ascend/nest_vectorizer.h"
#include "compiler/targets/ascend/peel_nest.h"

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
    const OpFoldResult first = make.mul(makeLoop(builder, make.index(rows)), columns);
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

} // namespace tilewright::ascend
