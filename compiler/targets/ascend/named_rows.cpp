// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/named_rows.h"

#include "compiler/ir/npu_access.h"
#include "compiler/targets/ascend/copy_routes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

bool NamedRows::isKnown(tile::ParallelOp nest) {
  const std::optional<SmallVector<int64_t>> known = getConstantIntValues(nest.getMixedExtents());
  return known && llvm::all_of(*known, [](int64_t extent) { return extent > 0; });
}

NamedRows::NamedRows(tile::ParallelOp nest)
    : extents(*getConstantIntValues(nest.getMixedExtents())), nest(nest) {
  nest.walk([&](Operation* op) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      stored.push_back(npu::storageOf(store.getBuffer()));
    else if (auto atomic = dyn_cast<tile::AtomicOp>(op))
      stored.push_back(npu::storageOf(atomic.getBuffer()));
    else if (auto load = dyn_cast<tile::LoadOp>(op))
      loaded.push_back(npu::storageOf(load.getBuffer()));
  });
}

int64_t NamedRows::storesTo(Value buffer) {
  return llvm::count(stored, npu::storageOf(buffer));
}

bool NamedRows::isLoaded(Value buffer) {
  return llvm::is_contained(loaded, npu::storageOf(buffer));
}

bool NamedRows::isInside(Value value) {
  return nest.getBody().isAncestor(value.getParentRegion());
}

std::optional<size_t> NamedRows::numberOf(Value value) {
  for (auto [number, variable] : llvm::enumerate(nest.getInductionVars()))
    if (value == variable)
      return number;
  return std::nullopt;
}

/// What the DMA can do while it stores.
static bool isPlainAdd(tile::AtomicOp atomic) {
  const bool isUsed = atomic.getPrevious() && !atomic.getPrevious().use_empty();
  return atomic.getKind() == tile::AtomicKind::Add && !isUsed &&
         atomic.getBuffer().getType().isGlobal() &&
         isAddedByDma(atomic.getBuffer().getType().getElementType());
}

std::optional<NamedRows::Access> NamedRows::of(Operation* op) {
  auto load = dyn_cast_or_null<tile::LoadOp>(op);
  auto store = dyn_cast_or_null<tile::StoreOp>(op);
  auto atomic = dyn_cast_or_null<tile::AtomicOp>(op);
  if (!load && !store && !(atomic && isPlainAdd(atomic)))
    return std::nullopt;
  Access access{op,
                load    ? load.getBuffer()
                : store ? store.getBuffer()
                        : atomic.getBuffer(),
                {},
                !load};
  for (Value index : load ? load.getIndices() : store ? store.getIndices() : atomic.getIndices())
    access.terms.push_back(termOf(index));
  return access;
}

/// A variable is taken out of sums; what else names one stays in the bases.
NamedRows::Term NamedRows::termOf(Value index) {
  if (const std::optional<size_t> number = numberOf(index))
    return {number, {}};
  auto sum = index.getDefiningOp<arith::AddIOp>();
  if (sum && isInside(index)) {
    Term left = termOf(sum.getLhs());
    const Term right = termOf(sum.getRhs());
    if (!left.variable || !right.variable) {
      if (!left.variable)
        left.variable = right.variable;
      left.bases.append(right.bases);
      return left;
    }
  }
  return {std::nullopt, isConstantIntValue(index, 0) ? SmallVector<Value>() : SmallVector{index}};
}

bool NamedRows::isNumberInMemory(Value value) {
  Operation* op = value.getDefiningOp();
  return op && isInside(value) &&
         (isa<tile::LoadOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
            return isNumberInMemory(operand);
          }));
}

bool NamedRows::isApart(const Access& access) {
  const auto type = cast<BufferType>(access.buffer.getType());
  return type.isGlobal() || llvm::any_of(access.terms, [&](const Term& term) {
           return llvm::any_of(term.bases, [&](Value base) { return isNumberInMemory(base); });
         });
}

bool NamedRows::isRemade(Value value, size_t block) {
  if (const std::optional<size_t> number = numberOf(value))
    return *number < block;
  if (!isInside(value))
    return true;
  Operation* op = value.getDefiningOp();
  auto load = dyn_cast_or_null<tile::LoadOp>(op);
  if (!op || op->getNumRegions() != 0 || (load ? isStored(load.getBuffer()) : !isPure(op)))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) { return isRemade(operand, block); });
}

void NamedRows::collectVariables(Value value, SmallVectorImpl<size_t>& numbers) {
  if (const std::optional<size_t> number = numberOf(value))
    numbers.push_back(*number);
  else if (Operation* op = value.getDefiningOp(); op && isInside(value))
    for (Value operand : op->getOperands())
      collectVariables(operand, numbers);
}

SmallVector<size_t> NamedRows::variablesOf(const Access& access) {
  SmallVector<size_t> numbers;
  for (const Term& term : access.terms) {
    if (term.variable)
      numbers.push_back(*term.variable);
    for (Value base : term.bases)
      collectVariables(base, numbers);
  }
  llvm::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

size_t NamedRows::blockOf(const Access& access) {
  const auto isBlock = [&](size_t first) {
    std::optional<size_t> last;
    for (const Term& term : access.terms) {
      if (!llvm::all_of(term.bases, [&](Value base) { return isRemade(base, first); }))
        return false;
      if (!term.variable || *term.variable < first)
        continue;
      if (last && *last >= *term.variable)
        return false;
      last = term.variable;
    }
    return true;
  };
  size_t block = extents.size();
  while (block > 0 && isBlock(block - 1))
    --block;
  return block;
}

bool NamedRows::areRows(const Access& access) {
  const auto type = cast<BufferType>(access.buffer.getType());
  if (access.terms.empty() || type.getStrided())
    return false;
  const std::optional<size_t> last = access.terms.back().variable;
  if (!last || *last < blockOf(access) || extents[*last] == 1)
    return false;
  if (type.isGlobal())
    return true;
  // Rows of UB that instructions take begin at blocks, and end with one or with all of the row where they are written.
  const int64_t unit = npu::blockElements(type);
  const std::optional<int64_t> first = firstColumn(access);
  return type.getSpace() == MemorySpace::UB && first && *first % unit == 0 &&
         (!access.isStore || extents[*last] % unit == 0 ||
          *first + extents[*last] == type.getShape().back());
}

bool NamedRows::areNumbers(const Access& access) {
  const SmallVector<size_t> variables = variablesOf(access);
  return !access.isStore && blockOf(access) <= extents.size() && isKnownBefore(access) &&
         !llvm::is_contained(variables, extents.size() - 1);
}

bool NamedRows::isKnownBefore(const Access& access) {
  return llvm::all_of(access.terms, [&](const Term& term) {
    return llvm::all_of(term.bases, [&](Value base) { return isRemade(base, extents.size()); });
  });
}

std::optional<int64_t> NamedRows::firstColumn(const Access& access) {
  int64_t first = 0;
  for (Value base : access.terms.back().bases) {
    const std::optional<int64_t> number = getConstantIntValue(base);
    if (!number)
      return std::nullopt;
    first += *number;
  }
  return first;
}

Value NamedRows::remake(OpBuilder& builder, Value value, IRMapping& row) {
  if (Value known = row.lookupOrNull(value))
    return known;
  Operation* op = value.getDefiningOp();
  if (!op || !isInside(value))
    return value;
  for (Value operand : op->getOperands())
    remake(builder, operand, row);
  builder.clone(*op, row);
  return row.lookup(value);
}

} // namespace tilewright::ascend
