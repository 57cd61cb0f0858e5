// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/tile_addresses.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/index_growth.h"
#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/passes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/Matchers.h>

#include <numeric>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

int64_t roundUp(int64_t value, int64_t unit) {
  return int64_t(llvm::alignTo(uint64_t(value), uint64_t(unit)));
}

bool isL0(Value buffer) {
  const MemorySpace space = cast<BufferType>(buffer.getType()).getSpace();
  return space == MemorySpace::L0A || space == MemorySpace::L0B;
}

bool isZero(Value number) {
  return matchPattern(number, m_AnyZeroFloat()) || matchPattern(number, m_Zero());
}

Value IndexMaker::constant(int64_t value) const {
  return arith::ConstantIndexOp::create(builder, builder.getLoc(), value);
}

Value IndexMaker::value(OpFoldResult number) const {
  if (auto value = dyn_cast<Value>(number))
    return value;
  return constant(*getConstantIntValue(number));
}

OpFoldResult IndexMaker::index(int64_t value) const {
  return builder.getIndexAttr(value);
}

OpFoldResult IndexMaker::add(OpFoldResult a, OpFoldResult b) const {
  std::optional<int64_t> left = getConstantIntValue(a), right = getConstantIntValue(b);
  if (left && right)
    return index(*left + *right);
  if (left == 0)
    return b;
  if (right == 0)
    return a;
  return arith::AddIOp::create(builder, value(a), value(b)).getResult();
}

OpFoldResult IndexMaker::sub(OpFoldResult a, OpFoldResult b) const {
  std::optional<int64_t> left = getConstantIntValue(a), right = getConstantIntValue(b);
  if (left && right)
    return index(*left - *right);
  if (right == 0)
    return a;
  return arith::SubIOp::create(builder, value(a), value(b)).getResult();
}

OpFoldResult IndexMaker::mul(OpFoldResult a, int64_t factor) const {
  if (std::optional<int64_t> left = getConstantIntValue(a))
    return index(*left * factor);
  if (factor == 1)
    return a;
  return arith::MulIOp::create(builder, value(a), constant(factor)).getResult();
}

OpFoldResult IndexMaker::product(OpFoldResult a, OpFoldResult b) const {
  if (std::optional<int64_t> left = getConstantIntValue(a))
    return *left == 0 ? index(0) : mul(b, *left);
  if (std::optional<int64_t> right = getConstantIntValue(b))
    return mul(a, *right);
  return arith::MulIOp::create(builder, value(a), value(b)).getResult();
}

OpFoldResult IndexMaker::min(OpFoldResult a, OpFoldResult b) const {
  std::optional<int64_t> left = getConstantIntValue(a), right = getConstantIntValue(b);
  if (left && right)
    return index(std::min(*left, *right));
  return arith::MinSIOp::create(builder, value(a), value(b)).getResult();
}

OpFoldResult IndexMaker::notNegative(OpFoldResult a) const {
  if (std::optional<int64_t> number = getConstantIntValue(a))
    return index(std::max<int64_t>(*number, 0));
  return arith::MaxSIOp::create(builder, value(a), constant(0)).getResult();
}

OpFoldResult IndexMaker::div(OpFoldResult a, int64_t divisor) const {
  if (std::optional<int64_t> number = getConstantIntValue(a))
    return index(*number / divisor);
  // As a multiple again where it is one: analyses follow no divisions.
  if (auto product = cast<Value>(a).getDefiningOp<arith::MulIOp>())
    if (const std::optional<int64_t> factor = getConstantIntValue(product.getRhs());
        factor && *factor % divisor == 0)
      return mul(product.getLhs(), *factor / divisor);
  return arith::DivSIOp::create(builder, value(a), constant(divisor)).getResult();
}

OpFoldResult roundUpTo(const IndexMaker& make, OpFoldResult number, int64_t unit) {
  return make.mul(make.div(make.add(number, make.index(unit - 1)), unit), unit);
}

std::optional<int64_t> remainderOf(OpFoldResult number, int64_t unit,
                                   function_ref<bool(Value)> isZero) {
  const auto known = [&](int64_t value) { return (value % unit + unit) % unit; };
  if (unit == 1)
    return 0;
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return known(*constant);
  const Value value = cast<Value>(number);
  if (isZero && isZero(value))
    return 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<tile::ForOp>(argument.getOwner()->getParentOp());
    return loop && isMultipleOf(loop.getStep(), unit) ? remainderOf(loop.getLower(), unit, isZero)
                                                      : std::nullopt;
  }
  Operation* op = value.getDefiningOp();
  const auto operand = [&](unsigned at, int64_t of) {
    return remainderOf(op->getOperand(at), of, isZero);
  };
  if (isa<arith::IndexCastOp>(op))
    return operand(0, unit);
  if (isa<arith::RemSIOp, arith::AndIOp>(op)) { // & 63 is % 64
    const std::optional<int64_t> right = getConstantIntValue(op->getOperand(1));
    const bool isMask = isa<arith::AndIOp>(op);
    if (!right || *right <= 0 || (isMask && !llvm::isMask_64(uint64_t(*right))))
      return std::nullopt;
    return (*right + (isMask ? 1 : 0)) % unit == 0 ? operand(0, unit) : std::nullopt;
  }
  if (isa<arith::SelectOp, arith::MinSIOp, arith::MaxSIOp>(op)) {
    const unsigned last = op->getNumOperands() - 1;
    const std::optional<int64_t> either = operand(last - 1, unit);
    return either == operand(last, unit) ? either : std::nullopt;
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  if (const std::optional<int64_t> factor = getConstantIntValue(op->getOperand(1));
      factor && *factor != 0 && isa<arith::MulIOp>(op)) {
    // The other factor needs what this one lacks.
    const std::optional<int64_t> rest = operand(0, unit / std::gcd(unit, *factor));
    return rest ? std::optional(known(*rest * *factor)) : std::nullopt;
  }
  const std::optional<int64_t> left = operand(0, unit), right = operand(1, unit);
  if (isa<arith::MulIOp>(op) && (left == 0 || right == 0))
    return 0;
  if (!left || !right)
    return std::nullopt;
  return known(isa<arith::AddIOp>(op)   ? *left + *right
               : isa<arith::SubIOp>(op) ? *left - *right
                                        : *left * *right);
}

bool isMultipleOf(OpFoldResult number, int64_t unit) {
  return remainderOf(number, unit) == 0;
}

/// How often a loop runs, where that is known.
static std::optional<int64_t> turnsOf(tile::ForOp loop) {
  const std::optional<int64_t> lower = getConstantIntValue(loop.getLower()),
                               upper = getConstantIntValue(loop.getUpper()),
                               step = getConstantIntValue(loop.getStep());
  if (!lower || !upper || !step || *step <= 0)
    return std::nullopt;
  return std::max<int64_t>(llvm::divideCeilSigned(*upper - *lower, *step), 0);
}

std::optional<int64_t> stepBesides(Operation* op, int64_t unit,
                                   function_ref<std::optional<int64_t>(Value)> growth) {
  for (Operation* parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    auto loop = dyn_cast<tile::ForOp>(parent);
    const std::optional<int64_t> turns = loop ? turnsOf(loop) : std::nullopt;
    if (!turns || *turns == 0)
      return std::nullopt;
    const int64_t step =
        growth(loop.getInductionVar()).value_or(0) * *getConstantIntValue(loop.getStep());
    if (*turns > 1 && step % unit != 0)
      return step;
  }
  return std::nullopt;
}

std::optional<std::string> startWithinBlock(OpFoldResult offset, BufferType type, Operation* op) {
  const auto bytes = [&](int64_t elements) {
    return std::to_string(elements * int64_t(type.getElementBits()) / 8);
  };
  const int64_t unit = npu::blockElements(type);
  const std::optional<int64_t> rest = remainderOf(offset, unit);
  if (!rest)
    if (const std::optional<int64_t> step =
            stepBesides(op, unit, [&](Value counter) { return tile::growthWith(offset, counter); }))
      return bytes(std::abs(*step)) + " bytes from where it did in the iteration before";
  if (!rest || *rest == 0)
    return std::nullopt;
  if (const std::optional<int64_t> element = getConstantIntValue(offset))
    return "at byte " + bytes(*element) + " of its buffer";
  return bytes(*rest) + " bytes behind the start of a block";
}

/// Of the first row or column of a part of `tile`, if it is known to be no multiple of `unit`, in all iterations
/// or in one of two: "begins at row 8 of a tile in L1, whose rows come in groups of 16", for a diagnostic.
static std::optional<std::string> startWithinFractal(OpFoldResult start, const std::string& what,
                                                     const std::string& tile, int64_t unit,
                                                     Operation* op) {
  const std::optional<int64_t> rest = remainderOf(start, unit);
  if (rest == 0)
    return std::nullopt;
  const std::string group = std::to_string(unit), multiple = "a multiple of " + group;
  const std::string reason = tile + ", whose " + what + "s come in groups of " + group;
  if (std::optional<int64_t> number = getConstantIntValue(start))
    return "begins at " + what + " " + std::to_string(*number) + " of " + reason;
  if (rest)
    return "begins " + std::to_string(*rest) + " " + what + "s behind " + multiple + " in " +
           reason;
  if (const std::optional<int64_t> step =
          stepBesides(op, unit, [&](Value counter) { return tile::growthWith(start, counter); }))
    return "begins " + std::to_string(std::abs(*step)) + " " + what +
           "s from where it did in the iteration before in " + reason;
  return std::nullopt;
}

/// Whether a number is computed of anything that memory holds.
static bool readsMemory(Value number) {
  Operation* op = number.getDefiningOp();
  return op && (isa<tile::LoadOp>(op) || llvm::any_of(op->getOperands(), readsMemory));
}

void requireHere(ImplicitLocOpBuilder& builder, Value condition, const std::string& sentence,
                 ValueRange numbers, Agent agent) {
  const OpBuilder::InsertionGuard guard(builder);
  // What only one kind of core can read, the other kind can't check.
  Operation* around = builder.getInsertionBlock()->getParentOp();
  if (readsMemory(condition) && !isa<ScopeOp>(around) && !around->getParentOfType<ScopeOp>()) {
    auto scope = ScopeOp::create(builder, agent);
    builder.setInsertionPointToStart(&scope.getBody().emplaceBlock());
  }
  npu::RequireOp::create(builder, condition, sentence, numbers,
                         AgentAttr::get(builder.getContext(), agent));
}

/// Whether the kernel's own numbers are multiples, as it runs.
static void requireMultiple(ImplicitLocOpBuilder& builder, OpFoldResult start, int64_t unit,
                            const std::string& sentence, Agent agent) {
  const IndexMaker make(builder);
  Value rest = arith::RemSIOp::create(builder, cast<Value>(start), make.constant(unit));
  Value isWhole = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, rest, make.constant(0));
  requireHere(builder, isWhole, sentence + ", which is no multiple of " + std::to_string(unit),
              cast<Value>(start), agent);
}

LogicalResult requireBlockStart(ImplicitLocOpBuilder& builder, Operation* op, StringRef role,
                                OpFoldResult offset, BufferType type) {
  if (const std::optional<std::string> start = startWithinBlock(offset, type, op))
    return op->emitError() << "unsupported on ascend: " << role << " begins " << *start
                           << ", but UB is accessed in blocks of 32 bytes";
  if (!isMultipleOf(offset, npu::blockElements(type)))
    requireMultiple(
        builder, offset, npu::blockElements(type),
        (role + " begins within a block of 32 bytes of UB: at element {} of its tile").str(),
        Agent::Vector);
  return success();
}

LogicalResult requireFractalStart(ImplicitLocOpBuilder& builder, Operation* op, StringRef role,
                                  const tile::BufferRegion& region, int64_t rowUnit,
                                  int64_t columnUnit) {
  const IndexMaker make(builder);
  auto [row, column] = placeInTile(make, region.offsets);
  const std::string tile = "a tile in " + stringifyMemorySpace(region.type().getSpace()).str();
  for (const auto& [start, what, unit] :
       {std::tuple(row, "row", rowUnit), std::tuple(column, "column", columnUnit)})
    if (std::optional<std::string> wrong = startWithinFractal(start, what, tile, unit, op)) {
      return op->emitError() << "unsupported on ascend: " << role << " " << *wrong;
    } else if (!isMultipleOf(start, unit)) {
      requireMultiple(builder, start, unit, (role + " begins at " + what + " {} of " + tile).str(),
                      Agent::Cube);
    }
  return success();
}

int64_t loadedRows(BufferType type, MemorySpace to, bool isTransposedOnTheWay) {
  const int64_t columns = npu::blockElements(type);
  if (!isTransposedOnTheWay)
    return kFractalSide;
  // Two fractals of 1-byte elements are transposed at once, as a square; so are two of floats on their way to L0A.
  return to == MemorySpace::L0B && type.getElementBits() == 32 ? columns
                                                               : std::max(columns, kFractalSide);
}

void growToSquares(const tile::BufferRegion& region, MemorySpace to, bool isTransposedOnTheWay) {
  const BufferType type = region.type();
  const int64_t rows = loadedRows(type, to, isTransposedOnTheWay);
  auto alloc = region.buffer.getDefiningOp<tile::AllocOp>();
  if (npu::fractalRows(type) % rows == 0 || !alloc || alloc.getAddress() ||
      !llvm::all_of(alloc->getUsers(), [](Operation* user) {
        return isa<tile::CopyOp, tile::FillOp, tile::GemmOp>(user);
      }))
    return;
  SmallVector<int64_t> shape(type.getShape());
  int64_t& height = shape[shape.size() - 2];
  height = int64_t(llvm::alignTo(uint64_t(height), uint64_t(rows)));
  alloc.getResult().setType(BufferType::get(shape, type.getElementType(), type.getSpace()));
}

LogicalResult requireLoadable(ImplicitLocOpBuilder& builder, Operation* op, StringRef role,
                              const tile::BufferRegion& region, MemorySpace to,
                              bool isTransposedOnTheWay) {
  const BufferType type = region.type();
  const int64_t columns = npu::blockElements(type);
  const int64_t rows = loadedRows(type, to, isTransposedOnTheWay);
  if (npu::fractalRows(type) % rows != 0) {
    const int64_t given = type.getShape()[type.getRank() - 2];
    return op->emitError() << "unsupported on ascend: " << role << " is a tile of " << given
                           << " rows of " << tile::dtypeName(type.getElementType()) << ", which "
                           << "is transposed on its way in squares of " << rows << "; give it "
                           << llvm::alignTo(given, rows) << " rows";
  }
  return requireFractalStart(builder, op, role, region, rows, columns);
}

Value makeTemporary(OpBuilder& builder, Location place, ArrayRef<int64_t> shape, Type element,
                    const char* name) {
  auto alloc =
      tile::AllocOp::create(builder, place, BufferType::get(shape, element, tile::MemorySpace::UB),
                            builder.getStringAttr(name), IntegerAttr());
  alloc->setAttr(kTemporaryAttr, builder.getUnitAttr());
  return alloc.getResult();
}

SmallVector<int64_t> ubStrides(BufferType type) {
  SmallVector<int64_t> strides(size_t(type.getRank()), 1);
  int64_t stride =
      type.isGlobal() ? (type.getRank() ? type.getShape().back() : 1) : npu::rowPitch(type);
  for (int64_t dim = type.getRank() - 2; dim >= 0; --dim) {
    strides[size_t(dim)] = stride;
    stride *= type.getShape()[size_t(dim)];
  }
  return strides;
}

OpFoldResult ubOffset(const IndexMaker& make, BufferType type, ArrayRef<OpFoldResult> indices) {
  OpFoldResult sum = make.index(0);
  for (auto [index, stride] : llvm::zip(indices, ubStrides(type)))
    sum = make.add(sum, make.mul(index, stride));
  return sum;
}

int64_t tileElements(BufferType type) {
  int64_t tiles = 1;
  for (int64_t dim : type.getShape().drop_back(std::min<size_t>(2, size_t(type.getRank()))))
    tiles *= dim;
  return npu::storageBytes(type) * 8 / int64_t(type.getElementBits()) / tiles;
}

OpFoldResult tileOffset(const IndexMaker& make, BufferType type, ArrayRef<OpFoldResult> indices) {
  OpFoldResult tile = make.index(0);
  for (size_t dim = 0; dim + 2 < indices.size(); ++dim)
    tile = make.add(make.mul(tile, type.getShape()[dim]), indices[dim]);
  return make.mul(tile, tileElements(type));
}

std::pair<OpFoldResult, OpFoldResult> placeInTile(const IndexMaker& make,
                                                  ArrayRef<OpFoldResult> indices) {
  if (indices.size() < 2)
    return {make.index(0), indices.empty() ? make.index(0) : indices.back()};
  return {indices[indices.size() - 2], indices.back()};
}

} // namespace tilewright::ascend
