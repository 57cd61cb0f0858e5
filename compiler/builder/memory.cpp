// SPDX-License-Identifier: Apache-2.0
// Allocations, views, and single elements.
#include "compiler/builder/construction.h"
#include "compiler/builder/element_types.h"
#include "compiler/builder/index_facts.h"
#include "compiler/builder/operands.h"
#include "compiler/ir/address_attribute.h"
#include "compiler/ir/known_of_call.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/place_of.h"
#include "compiler/ir/reducer_updates.h"

namespace tilewright {

using builder::BufferRecord;
using builder::FrameKind;
using builder::quoted;

namespace {

/// Whether a thread or the whole block has one: such buffers may be made by code on single
/// elements.
bool isPerThread(tile::MemorySpace space) {
  return space == tile::MemorySpace::Local || space == tile::MemorySpace::Var;
}

mlir::Type requireElement(builder::Construction& state, std::string_view name, Dtype dtype) {
  mlir::Type element = builder::elementType(dtype, state.context.get());
  if (!element)
    state.report(Severity::Unsupported,
                 quoted(name) + ": a buffer of dtype " + dtype.name() + " is not supported");
  return element;
}

Buffer makeBuffer(builder::Construction& state, std::span<const int64_t> shape, Dtype dtype,
                  std::string_view scope, tile::MemorySpace space, std::string_view name) {
  mlir::Type element = requireElement(state, name, dtype);
  if (!element)
    return {};
  auto type = tile::BufferType::get({shape.data(), shape.size()}, element, space);
  mlir::StringAttr label = name.empty() ? mlir::StringAttr() : state.ir.getStringAttr(name);
  BufferRecord record;
  record.ir = tile::AllocOp::create(state.ir, state.location(), type, label, mlir::IntegerAttr());
  record.dtype = dtype;
  record.space = space;
  record.scope = scope;
  record.name = name;
  record.shape.assign(shape.begin(), shape.end());
  return state.add(std::move(record));
}

/// False with an error if a shape is not one: negative dims, too many bits.
bool checkShape(builder::Construction& state, std::string_view name, std::span<const int64_t> shape,
                Dtype dtype) {
  if (shape.size() > 16) {
    state.error(quoted(name) + " has " + std::to_string(shape.size()) +
                " dims, but a buffer has at most 16");
    return false;
  }
  int64_t bits = dtype.bits();
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] < 0) {
      state.error("dim " + std::to_string(dim) + " of " + quoted(name) + " is " +
                  std::to_string(shape[dim]) + ", but it cannot be negative");
      return false;
    }
    if (__builtin_mul_overflow(bits, std::max<int64_t>(shape[dim], 1), &bits) ||
        bits > (int64_t(1) << 50)) {
      state.error(quoted(name) + " takes more than 128 TiB");
      return false;
    }
  }
  return true;
}

} // namespace

Buffer KernelBuilder::alloc(std::span<const int64_t> shape, Dtype dtype, std::string_view scope,
                            std::string_view name) {
  auto space = builder::parseScope(scope);
  if (!space) {
    state->error("there is no scope " + quoted(scope) + " to allocate " + quoted(name) + " in");
    return {};
  }
  // Several launches may share a workspace, which then stands outside of them.
  const bool isShared = space == tile::MemorySpace::Global && !state->isInLaunch();
  bool isAllowed = isShared              ? state->frames.size() == 1
                   : isPerThread(*space) ? state->requireLaunch("an allocation")
                                         : state->requireTileScope("an allocation");
  if (!isAllowed || !checkShape(*state, name, shape, dtype) ||
      !builder::requireNpuFor(*state, *space, "an allocation in " + std::string(scope)))
    return {};
  if (*space == tile::MemorySpace::Var && !shape.empty())
    space = tile::MemorySpace::Local;
  return makeBuffer(*state, shape, dtype, scope, *space, name);
}

Buffer KernelBuilder::allocSized(std::span<const Index> shape, Dtype dtype, std::string_view scope,
                                 std::string_view name) {
  auto space = builder::parseScope(scope);
  if (space != tile::MemorySpace::Shared && space != tile::MemorySpace::Fragment) {
    state->error(
        "the shape of " + quoted(name) + " in scope " + quoted(scope) +
        " must be known while compiling: only tiles of the block may have the extents of a "
        "call");
    return {};
  }
  if (!state->requireTileScope("an allocation"))
    return {};
  BufferRecord record;
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<mlir::Value> dims;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const std::string what = "dim " + std::to_string(dim) + " of " + quoted(name);
    const std::optional<Index> extent = state->toIndex(shape[dim], what);
    if (!extent)
      return {};
    record.shape.push_back(*extent);
    const auto* known = std::get_if<int64_t>(&*extent);
    extents.push_back(known ? *known : tile::BufferType::kDynamic);
    if (known)
      continue;
    dims.push_back(state->indexIr(*extent));
    if (tile::isKnownOfCall(dims.back()))
      continue;
    state->error(what + " must be known while compiling, or made of symbols and scalar arguments: "
                        "the memory is set aside before the blocks run");
    return {};
  }
  llvm::SmallVector<int64_t> least;
  for (int64_t extent : extents)
    least.push_back(extent == tile::BufferType::kDynamic ? 1 : extent);
  if (!checkShape(*state, name, least, dtype))
    return {};
  mlir::Type element = requireElement(*state, name, dtype);
  if (!element)
    return {};
  auto type = tile::BufferType::get(extents, element, tile::MemorySpace::Shared);
  record.ir = tile::AllocSizedOp::create(
      state->ir, state->location(), type,
      name.empty() ? mlir::StringAttr() : state->ir.getStringAttr(name), dims);
  record.dtype = dtype;
  record.space = tile::MemorySpace::Shared;
  record.scope = scope;
  record.name = name;
  return state->add(std::move(record));
}

Buffer KernelBuilder::allocVar(Dtype dtype, std::optional<Value> init, std::string_view name) {
  if (!state->requireLaunch("an allocation"))
    return {};
  Buffer buffer = makeBuffer(*state, {}, dtype, "local.var", tile::MemorySpace::Var, name);
  if (!buffer.isPoison() && init)
    store(buffer, {}, *init);
  return buffer;
}

namespace {

/// The number of bits of a shape where all dims are known.
std::optional<int64_t> bitsOf(const std::vector<Index>& shape, Dtype dtype) {
  int64_t bits = dtype.bits();
  for (const Index& dim : shape) {
    const auto* known = std::get_if<int64_t>(&dim);
    if (!known || __builtin_mul_overflow(bits, *known, &bits))
      return std::nullopt;
  }
  return bits;
}

} // namespace

Buffer KernelBuilder::view(Buffer source, std::span<const Index> shape, Dtype dtype) {
  if (!state->isUsable(source))
    return {};
  BufferRecord record = state->record(source);
  mlir::Type element = requireElement(*state, record.name, dtype);
  if (!element)
    return {};
  auto sourceType = mlir::cast<tile::BufferType>(record.ir.getType());
  if (sourceType.getStrided()) {
    state->error(quoted(record.name) +
                     " has strides of its own, so it cannot be viewed in another shape",
                 {state->allocatedHere(record)});
    return {};
  }
  std::vector<Index> dims;
  llvm::SmallVector<int64_t> fixed;
  llvm::SmallVector<mlir::Value> dynamic;
  for (size_t number = 0; number < shape.size(); ++number) {
    auto dim = state->toIndex(shape[number], "dim " + std::to_string(number) + " of a view");
    if (!dim)
      return {};
    const auto* known = std::get_if<int64_t>(&*dim);
    if (!known && record.space != tile::MemorySpace::Global) {
      state->error("a view of " + quoted(record.name) + " in scope '" + record.scope +
                       "' must have a shape that is known while building",
                   {state->allocatedHere(record)});
      return {};
    }
    if (!known)
      dynamic.push_back(state->indexIr(*dim));
    fixed.push_back(known ? *known : mlir::ShapedType::kDynamic);
    dims.push_back(*dim);
  }
  auto before = bitsOf(record.shape, record.dtype), after = bitsOf(dims, dtype);
  if (before && after && *before != *after) {
    state->error("a view of shape " + state->text(dims) + " and dtype " + dtype.name() + " has " +
                     std::to_string(*after) + " bits but " + quoted(record.name) + " has " +
                     std::to_string(*before),
                 {state->allocatedHere(record)});
    return {};
  }
  if (!after && dynamic.empty()) {
    state->error("a view of shape " + state->text(dims) + " and dtype " + dtype.name() +
                     " has more than 2^63 bits" +
                     (before ? " but " + quoted(record.name) + " has " + std::to_string(*before)
                             : std::string()),
                 {state->allocatedHere(record)});
    return {};
  }
  auto type = tile::BufferType::get(fixed, element, record.space);
  record.ir = tile::ViewOp::create(state->ir, state->location(), type, record.ir, dynamic);
  record.dtype = dtype;
  record.shape = std::move(dims);
  const Place allocated = record.place; // it has the name of what is there
  const Buffer made = state->add(std::move(record));
  state->record(made).place = allocated;
  return made;
}

// Queries: of a poisoned or foreign handle, what harms least

int KernelBuilder::rank(Buffer buffer) const {
  return int(shape(buffer).size());
}
std::vector<Index> KernelBuilder::shape(Buffer buffer) const {
  return buffer.isPoison() || !state->isOurs(buffer) ? std::vector<Index>{}
                                                     : state->record(buffer).shape;
}
Dtype KernelBuilder::dtype(Buffer buffer) const {
  return buffer.isPoison() || !state->isOurs(buffer) ? Dtype{} : state->record(buffer).dtype;
}
std::string KernelBuilder::scope(Buffer buffer) const {
  return buffer.isPoison() || !state->isOurs(buffer) ? "" : state->record(buffer).scope;
}
std::string KernelBuilder::name(Buffer buffer) const {
  return buffer.isPoison() || !state->isOurs(buffer) ? "" : state->record(buffer).name;
}

// Elements

namespace {

/// Whether a value is computed from the number of a parallel iteration.
bool dependsOnParallel(mlir::Value value, int depth = 0) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value))
    return mlir::isa<tile::ParallelOp>(argument.getOwner()->getParentOp());
  mlir::Operation* op = value.getDefiningOp();
  // Expressions of indices are small; what is deeper is let through.
  if (!op || depth > 32 || op->getNumRegions() != 0 || !mlir::isPure(op))
    return false;
  return llvm::any_of(op->getOperands(),
                      [&](mlir::Value operand) { return dependsOnParallel(operand, depth + 1); });
}

bool checkElementScope(builder::Construction& state, const BufferRecord& buffer,
                       llvm::ArrayRef<mlir::Value> indices) {
  if (buffer.space != tile::MemorySpace::Local || !state.enclosing(FrameKind::Parallel))
    return true;
  if (llvm::none_of(indices, [](mlir::Value index) { return dependsOnParallel(index); }))
    return true;
  state.error(quoted(buffer.name) +
                  " is local to a thread, so a T.Parallel variable cannot index it; "
                  "allocate it with T.alloc_fragment",
              {state.allocatedHere(buffer)});
  return false;
}

/// The IR indices of an element, or nothing after an error.
std::optional<llvm::SmallVector<mlir::Value>>
elementIndices(builder::Construction& state, Buffer buffer, std::span<const Index> given) {
  const BufferRecord& record = state.record(buffer);
  // A variable is written `v` or, as a buffer of one element, `v[0]`.
  if (record.space == tile::MemorySpace::Var && given.size() == 1)
    given = {};
  auto offsets = builder::resolveIndices(state, buffer, given);
  if (!offsets)
    return std::nullopt;
  llvm::SmallVector<mlir::Value> indices;
  for (const Index& index : *offsets)
    indices.push_back(state.indexIr(index));
  if (!checkElementScope(state, record, indices))
    return std::nullopt;
  return indices;
}

/// Whether all indices are inside of a tensor, and what was inside before; null of none.
mlir::Value isInside(builder::Construction& state, mlir::Value tensor, mlir::ValueRange indices,
                     mlir::Value before = {}) {
  mlir::OpBuilder& ir = state.ir;
  mlir::Location at = state.location();
  for (auto [dim, index] : llvm::enumerate(indices)) {
    const mlir::Value extent = ir.createOrFold<tile::DimOp>(at, tensor, int64_t(dim));
    // As a number without sign, an index below 0 is a great one.
    mlir::Value isBelow =
        mlir::arith::CmpIOp::create(ir, at, mlir::arith::CmpIPredicate::ult, index, extent);
    before = before ? mlir::arith::AndIOp::create(ir, at, before, isBelow) : isBelow;
  }
  return before;
}

/// What stands for elements beyond a buffer, in its dtype: a view may have another one than what the number was given for.
mlir::Value numberBeyond(builder::Construction& state, const BufferRecord& record,
                         const builder::Constant& given) {
  const Dtype literal = given.isReal ? Dtype::float32() : Dtype::int64();
  return state.toIr(state.addConstant(given, literal, /*isLiteral=*/true), record.dtype);
}

/// What is stored in a tile with padding: that, where an element of a tensor that the value is made of lies outside.
mlir::Value orPadding(builder::Construction& state, const BufferRecord& record, mlir::Value value) {
  llvm::SmallVector<mlir::Value> open = {value};
  llvm::DenseSet<mlir::Value> seen;
  mlir::Value inside;
  while (!open.empty()) {
    const mlir::Value next = open.pop_back_val();
    mlir::Operation* op = next.getDefiningOp();
    if (!op || !seen.insert(next).second)
      continue;
    auto load = mlir::dyn_cast<tile::LoadOp>(op);
    if (load && mlir::cast<tile::BufferType>(load.getBuffer().getType()).isGlobal())
      inside = isInside(state, load.getBuffer(), load.getIndices(), inside);
    else if (!load)
      llvm::append_range(open, op->getOperands());
  }
  if (!inside)
    return value;
  const mlir::Value padding = numberBeyond(state, record, *record.padding);
  return mlir::arith::SelectOp::create(state.ir, state.location(), inside, value, padding);
}

/// Of a tensor with a safe value: what was read, where all indices are inside, and that value elsewhere.
mlir::Value orSafeValue(builder::Construction& state, const BufferRecord& record,
                        mlir::ValueRange indices, mlir::Value read) {
  mlir::OpBuilder& ir = state.ir;
  mlir::Location at = state.location();
  mlir::Value safe = numberBeyond(state, record, *record.safeValue);
  mlir::Value inside = isInside(state, record.ir, indices);
  return inside ? mlir::arith::SelectOp::create(ir, at, inside, read, safe) : read;
}

} // namespace

void KernelBuilder::annotateReducer(Buffer tile, std::string_view op) {
  if (!state->isUsable(tile))
    return;
  mlir::Operation* alloc = state->record(tile).ir.getDefiningOp();
  if (mlir::isa_and_nonnull<tile::AllocOp, tile::AllocSizedOp>(alloc))
    alloc->setAttr("reducer", state->ir.getStringAttr(op));
}

bool KernelBuilder::isNegative(const Index& index) const {
  if (const auto* number = std::get_if<int64_t>(&index))
    return *number < 0;
  const auto& value = std::get<Value>(index);
  return !value.isPoison() && state->isOurs(value) && value.dtype().isInteger() &&
         builder::isAlwaysNegative(*state, state->indexIr(index));
}

void KernelBuilder::beginAssumption(Value condition, bool holds) {
  const bool isKnown = !condition.isPoison() && state->isOurs(condition);
  state->assumptions.emplace_back(isKnown ? state->toIr(condition) : mlir::Value(), holds);
}

void KernelBuilder::endAssumption() {
  if (!state->assumptions.empty())
    state->assumptions.pop_back();
}

bool KernelBuilder::isNeverNegative(const Index& index) const {
  if (const auto* number = std::get_if<int64_t>(&index))
    return *number >= 0;
  const auto& value = std::get<Value>(index);
  if (value.isPoison() || !state->isOurs(value) || !value.dtype().isInteger())
    return false;
  return !value.dtype().isSigned() || builder::isNeverNegative(*state, state->toIr(value));
}

bool KernelBuilder::endsUpdate() const {
  mlir::Block* block = state->ir.getInsertionBlock();
  const mlir::Block::iterator point = state->ir.getInsertionPoint();
  if (!block || point == block->begin())
    return false;
  auto store = mlir::dyn_cast<tile::StoreOp>(*std::prev(point));
  return store && tile::readOfUpdate(store);
}

void KernelBuilder::annotateOverlaps(Buffer tensor) {
  if (!state->isUsable(tensor))
    return;
  const BufferRecord& record = state->record(tensor);
  auto argument = mlir::dyn_cast<mlir::BlockArgument>(record.ir);
  if (!record.isArgument || !argument)
    return; // a call doesn't give it
  state->argumentAttributes[argument.getArgNumber()].set(tile::kOverlapsAttr,
                                                         state->ir.getUnitAttr());
}

void KernelBuilder::annotateSafeValue(Buffer buffer, Value value) {
  if (!state->isUsable(buffer) || !state->isUsable(value))
    return;
  BufferRecord& record = state->record(buffer);
  auto constant = state->constantOf(value);
  const bool isZero =
      constant && (constant->isReal ? constant->real == 0 && !std::signbit(constant->real)
                                    : constant->integer == 0);
  if (isZero && !record.safeValue)
    return; // what such reads give anyway, of tiles, too
  if (record.space != tile::MemorySpace::Global)
    state->typeError("T.annotate_safe_value takes tensors, but " + quoted(record.name) +
                         " is a tile",
                     {state->allocatedHere(record)});
  else if (!constant)
    state->error("the safe value of " + quoted(record.name) + " must be a constant");
  else if (builder::checkLiteralFits(*state, value, record) &&
           !state->setSafeValue(record, isZero ? std::nullopt : constant))
    state->error("the safe value of " + quoted(record.name) +
                 " must be given before the first use of it");
}

void KernelBuilder::annotatePadding(Buffer buffer, Value value) {
  if (!state->isUsable(buffer) || !state->isUsable(value))
    return;
  BufferRecord& record = state->record(buffer);
  if (record.space == tile::MemorySpace::Global)
    return annotateSafeValue(buffer, value);
  auto constant = state->constantOf(value);
  if (!constant)
    state->error("the padding of " + quoted(record.name) + " must be a constant");
  else if (builder::checkLiteralFits(*state, value, record))
    record.padding = constant;
}

void KernelBuilder::beginBlock() {
  state->openSafeValues();
}

void KernelBuilder::endBlock() {
  state->closeSafeValues();
}

Value KernelBuilder::load(Buffer buffer, std::span<const Index> indices) {
  if (!state->isUsable(buffer) || !state->requireLaunch("a load"))
    return {};
  auto resolved = elementIndices(*state, buffer, indices);
  if (!resolved)
    return {};
  const BufferRecord& record = state->record(buffer);
  auto type = mlir::cast<tile::BufferType>(record.ir.getType());
  auto op = tile::LoadOp::create(state->ir, state->location(), type.getScalarType(), record.ir,
                                 *resolved, /*in_bounds=*/false);
  mlir::Value read = op.getValue();
  return state->add(record.safeValue ? orSafeValue(*state, record, *resolved, read) : read,
                    record.dtype);
}

void KernelBuilder::store(Buffer buffer, std::span<const Index> indices, Value value) {
  bool isUsable = state->isUsable(value);
  if (!state->isUsable(buffer) || !isUsable || !state->requireLaunch("a store"))
    return;
  auto resolved = elementIndices(*state, buffer, indices);
  if (!resolved)
    return;
  const BufferRecord& record = state->record(buffer);
  if (!builder::checkLiteralFits(*state, value, record))
    return;
  mlir::Value converted = state->toIr(value, record.dtype);
  if (record.padding)
    converted = orPadding(*state, record, converted);
  tile::StoreOp::create(state->ir, state->location(), converted, record.ir, *resolved, false);
}

void KernelBuilder::nameValue(Value value, std::string_view name) {
  if (value.isPoison() || !state->isOurs(value))
    return;
  const builder::ValueRecord& record = state->record(value);
  // Constants stand for themselves; arguments and loop variables have names.
  if (!record.ir || record.constant || !record.name.empty())
    return;
  mlir::Value ir = record.ir;
  if (nameOf(ir.getLoc()).empty())
    ir.setLoc(named(llvm::StringRef(name.data(), name.size()), ir.getLoc()));
}

Value KernelBuilder::atomic(std::string_view kind, const Operand& target, Value value,
                            const Attributes& attributes) {
  const auto* region = std::get_if<Region>(&target);
  Buffer buffer = region ? region->buffer : std::get<Buffer>(target);
  bool isLoad = kind == "load";
  if (!state->isUsable(buffer) || (!isLoad && !state->isUsable(value)) ||
      !state->requireLaunch("an atomic operation"))
    return {};
  auto parsed = tile::symbolizeAtomicKind(llvm::StringRef(kind.data(), kind.size()));
  if (!parsed) {
    state->error("there is no atomic operation " + quoted(kind));
    return {};
  }
  const BufferRecord& record = state->record(buffer);
  if (region && !region->extents.empty()) {
    state->error("atomic_" + std::string(kind) + " of a scalar needs one element of " +
                 quoted(record.name) + ", but it got a region");
    return {};
  }
  bool isBits = *parsed == tile::AtomicKind::Or || *parsed == tile::AtomicKind::And ||
                *parsed == tile::AtomicKind::Xor;
  if (isBits && record.dtype.isFloat()) {
    state->typeError("atomic_" + std::string(kind) + " works on integers, but " +
                         quoted(record.name) + " is of dtype " + record.dtype.name(),
                     {state->allocatedHere(record)});
    return {};
  }
  auto order = builder::memoryOrder(*state, attributes);
  auto indices = elementIndices(
      *state, buffer, region ? std::span<const Index>(region->offsets) : std::span<const Index>());
  if (!indices || !order)
    return {};
  mlir::Type scalar = mlir::cast<tile::BufferType>(record.ir.getType()).getScalarType();
  bool hasResult = *parsed != tile::AtomicKind::Store;
  mlir::Value operand = isLoad ? mlir::Value() : state->toIr(value, record.dtype);
  auto op = tile::AtomicOp::create(state->ir, state->location(),
                                   hasResult ? mlir::TypeRange(scalar) : mlir::TypeRange(), *parsed,
                                   record.ir, *indices, operand, *order, /*in_bounds=*/false);
  return hasResult ? state->add(op.getPrevious(), record.dtype) : Value{};
}

} // namespace tilewright
