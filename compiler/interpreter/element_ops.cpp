// SPDX-License-Identifier: Apache-2.0
// Ops on scalars and on single elements.
#include "compiler/interpreter/machine.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/reducer_updates.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <bit>
#include <cmath>
#include <limits>

namespace tilewright::interpreter {

mlir::LogicalResult Machine::runScalar(Agent& agent, mlir::Operation& op) {
  using mlir::LogicalResult;
  return llvm::TypeSwitch<mlir::Operation*, LogicalResult>(&op)
      .Case([&](tile::AllocOp alloc) { return runAlloc(agent, alloc); })
      .Case([&](tile::AllocSizedOp alloc) { return runAllocSized(agent, alloc); })
      .Case([&](tile::ViewOp view) { return runView(agent, view); })
      .Case([&](tile::LoadOp load) { return runLoad(agent, load); })
      .Case([&](tile::StoreOp store) { return runStore(agent, store); })
      .Case([&](tile::AtomicOp atomic) { return runAtomic(agent, atomic); })
      .Case([&](tile::PrintOp print) { return runPrint(agent, print); })
      .Case<tile::SyncOp>([](auto) { return mlir::success(); })
      .Case([&](tile::TensorAtOp tensor) { return runTensorAt(agent, tensor); })
      .Case([&](tile::AddressOp address) {
        BufferValue& from = buffer(agent, address.getBuffer());
        int64_t bits = from.bitOffset(integers(agent, address.getIndices()));
        auto base = reinterpret_cast<int64_t>(from.storage->bytes());
        agent.scalars[address.getAddress()] = {base + bits / 8, 0};
        return mlir::success();
      })
      .Case([&](tile::CallOp call) { return runCall(agent, call); })
      .Case([&](tile::DimOp dim) {
        agent.scalars[dim.getExtent()] = {buffer(agent, dim.getBuffer()).shape[dim.getDim()], 0};
        return mlir::success();
      })
      .Case([&](tile::ThreadIdOp id) -> LogicalResult {
        auto launch = id->getParentOfType<tile::LaunchOp>();
        int64_t linear = agent.thread;
        for (int64_t dim = 0; dim < int64_t(id.getDim()); ++dim)
          linear /= launch.getThreads()[dim];
        bool isLast = id.getDim() + 1 == launch.getThreads().size();
        agent.scalars[id.getId()] = {isLast ? linear : linear % launch.getThreads()[id.getDim()],
                                     0};
        return mlir::success();
      })
      .Case([&](tile::AssertOp check) -> LogicalResult {
        if (scalar(agent, check.getCondition()).integer)
          return mlir::success();
        return check.emitError(check.told("assertion failed"));
      })
      .Default([&](mlir::Operation* other) -> LogicalResult {
        if (llvm::isa<tile::TileDialect>(other->getDialect()))
          return runTile(agent, *other);
        if (llvm::isa<ascend::AscendDialect>(other->getDialect()))
          return runNpuOp(agent, *other);
        llvm::DenseSet<mlir::Operation*> done;
        return compute(agent, *other, done);
      });
}

mlir::LogicalResult Machine::runCall(Agent& agent, tile::CallOp op) {
  std::vector<Number> given;
  for (mlir::Value argument : op.getArguments()) {
    const Scalar value = scalar(agent, argument);
    if (llvm::isa<mlir::FloatType>(argument.getType()))
      given.emplace_back(value.real);
    else
      given.emplace_back(value.integer);
  }
  memory.changeUnseen();
  Number result;
  std::string problem = "it has no Python reference";
  if (!options.call || !options.call(op.getCallee(), given, result, problem))
    return op.emitError("the reference interpreter does not run the C function '")
           << op.getCallee() << "': " << problem;
  if (!op.getResult())
    return mlir::success();
  mlir::Type type = op.getResult().getType();
  const auto* integer = std::get_if<int64_t>(&result);
  const double real = integer ? double(*integer) : std::get<double>(result);
  Scalar& made = agent.scalars[op.getResult()];
  if (auto format = llvm::dyn_cast<mlir::FloatType>(type))
    made.real = roundTo(format, real);
  else
    made.integer = wrapTo(type, integer ? *integer : int64_t(real));
  return mlir::success();
}

/// What a tile may hold, as on the CPU: more would take the interpreter minutes.
static constexpr uint64_t kLargestTileBytes = uint64_t(1) << 28;

mlir::LogicalResult Machine::runAlloc(Agent& agent, tile::AllocOp op) {
  tile::BufferType type = op.getType();
  if (type.isGlobal() && launchBuffers.contains(op.getBuffer()))
    return mlir::success(); // the first block made it, for all
  const uint64_t bytes =
      llvm::SaturatingMultiply<uint64_t>(type.getNumElements(), type.getElementBits()) / 8;
  if (!type.isGlobal() && bytes > kLargestTileBytes)
    return op.emitError("this tile takes ") << bytes << " bytes, but the reference interpreter has "
                                            << kLargestTileBytes << " for a tile";
  BufferValue made{type, llvm::to_vector(type.getShape()), rowMajorStrides(type.getShape()),
                   std::make_shared<Storage>(type.getNumElements(), type.getElementBits()),
                   op.getSymName() ? op.getSymName()->str() : "buffer"};
  bool isPrivate = type.isPerThread() || !agent.block ||
                   (agentsDiffer && ownerOf(op.getBuffer()) == Owner::Vector);
  (type.isGlobal() ? launchBuffers
   : isPrivate     ? agent.buffers
                   : agent.block->buffers)
      .insert_or_assign(op.getBuffer(), std::move(made));
  return mlir::success();
}

mlir::LogicalResult Machine::runAllocSized(Agent& agent, tile::AllocSizedOp op) {
  const tile::BufferType type = op.getBuffer().getType();
  const std::string name = op.getSymName() ? op.getSymName()->str() : "buffer";
  llvm::SmallVector<int64_t> shape = llvm::to_vector(type.getShape());
  const llvm::SmallVector<int64_t> dims = integers(agent, op.getDims());
  size_t next = 0;
  uint64_t elements = 1;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (extent == tile::BufferType::kDynamic)
      extent = dims[next++];
    if (extent < 0)
      return op.emitError("dim ") << dim << " of '" << name << "' is " << extent
                                  << ", but it cannot be negative";
    elements = llvm::SaturatingMultiply(elements, uint64_t(extent));
  }
  const uint64_t bytes = llvm::SaturatingMultiply<uint64_t>(elements, type.getElementBits()) / 8;
  if (bytes > kLargestTileBytes)
    return op.emitError("this tile takes ") << bytes << " bytes, but the reference interpreter has "
                                            << kLargestTileBytes << " for a tile";
  BufferValue made{type, shape, rowMajorStrides(shape),
                   std::make_shared<Storage>(int64_t(elements), type.getElementBits()), name};
  (agent.block ? agent.block->buffers : agent.buffers)
      .insert_or_assign(op.getBuffer(), std::move(made));
  return mlir::success();
}

mlir::LogicalResult Machine::runView(Agent& agent, tile::ViewOp op) {
  BufferValue made = buffer(agent, op.getSource());
  int64_t sourceBits = made.type.getElementBits();
  for (int64_t extent : made.shape)
    sourceBits *= extent;
  made.type = op.getType();
  made.shape = llvm::to_vector(made.type.getShape());
  llvm::SmallVector<int64_t> dims = integers(agent, op.getDims());
  size_t next = 0;
  int64_t bits = made.type.getElementBits();
  for (int64_t& extent : made.shape) {
    if (extent == tile::BufferType::kDynamic)
      extent = dims[next++];
    bits *= extent;
  }
  if (bits != sourceBits)
    return op.emitError("view has ")
           << bits << " bits but '" << made.name << "' has " << sourceBits;
  made.strides = rowMajorStrides(made.shape);
  agent.buffers.insert_or_assign(op.getResult(), std::move(made));
  return mlir::success();
}

mlir::LogicalResult Machine::runTensorAt(Agent& agent, tile::TensorAtOp op) {
  auto type = llvm::cast<tile::BufferType>(op.getResult().getType());
  int64_t address = scalar(agent, op.getAddress()).integer;
  BufferValue made{type, llvm::to_vector(type.getShape()), integers(agent, op.getStrides()),
                   std::make_shared<Storage>(reinterpret_cast<void*>(address), /*isWild=*/true),
                   "tensor"};
  llvm::SmallVector<int64_t> dims = integers(agent, op.getDims());
  size_t next = 0;
  for (int64_t& extent : made.shape)
    if (extent == tile::BufferType::kDynamic)
      extent = dims[next++];
  if (!type.getStrided())
    made.strides = rowMajorStrides(made.shape);
  agent.buffers.insert_or_assign(op.getResult(), std::move(made));
  return mlir::success();
}

mlir::LogicalResult Machine::runLoad(Agent& agent, tile::LoadOp op) {
  const bool outer = std::exchange(isAtomic, isAtomic || tile::isUpdate(op));
  auto value =
      read(op, buffer(agent, op.getBuffer()), integers(agent, op.getIndices()), op.getInBounds());
  isAtomic = outer;
  if (failed(value))
    return mlir::failure();
  agent.scalars[op.getValue()] = value->value_or(Scalar());
  return mlir::success();
}

mlir::LogicalResult Machine::runStore(Agent& agent, tile::StoreOp op) {
  const bool outer = std::exchange(isAtomic, isAtomic || tile::readOfUpdate(op));
  const mlir::LogicalResult result =
      write(op, buffer(agent, op.getBuffer()), integers(agent, op.getIndices()),
            scalar(agent, op.getValue()), op.getInBounds());
  isAtomic = outer;
  return result;
}

namespace {

/// What an atomic leaves behind.
Scalar combine(tile::AtomicKind kind, mlir::Type elementType, Scalar before, Scalar operand) {
  auto real = llvm::dyn_cast<mlir::FloatType>(elementType);
  bool isUnsigned = elementType.isUnsignedInteger();
  auto less = [&](int64_t a, int64_t b) { return isUnsigned ? uint64_t(a) < uint64_t(b) : a < b; };
  switch (kind) {
  case tile::AtomicKind::Load:
    return before;
  case tile::AtomicKind::Store:
    return operand;
  case tile::AtomicKind::Or:
    return {before.integer | operand.integer, 0};
  case tile::AtomicKind::And:
    return {before.integer & operand.integer, 0};
  case tile::AtomicKind::Xor:
    return {before.integer ^ operand.integer, 0};
  case tile::AtomicKind::Add:
    if (real)
      return {0, roundTo(real, before.real + operand.real)};
    if (elementType.isInteger(1)) // a sum that isn't 0 is true
      return {before.integer | operand.integer, 0};
    return {wrapTo(elementType, int64_t(uint64_t(before.integer) + uint64_t(operand.integer))), 0};
  case tile::AtomicKind::Max:
    if (real)
      return {0, std::fmax(before.real, operand.real)};
    return less(before.integer, operand.integer) ? operand : before;
  case tile::AtomicKind::Min:
    if (real)
      return {0, std::fmin(before.real, operand.real)};
    return less(operand.integer, before.integer) ? operand : before;
  }
  llvm_unreachable("all kinds are listed");
}

} // namespace

mlir::LogicalResult Machine::runAtomic(Agent& agent, tile::AtomicOp op) {
  const bool outer = std::exchange(isAtomic, true); // atomics don't race with each other
  BufferValue& target = buffer(agent, op.getBuffer());
  llvm::SmallVector<int64_t> indices = integers(agent, op.getIndices());
  if (op.getKind() == tile::AtomicKind::Store && !op.getPrevious()) { // nothing need be there
    const mlir::LogicalResult stored =
        write(op, target, indices, scalar(agent, op.getValue()), op.getInBounds());
    isAtomic = outer;
    if (followsOrders)
      synchronize(agent, op, target, indices);
    return stored;
  }
  auto before = read(op, target, indices, op.getInBounds());
  mlir::LogicalResult result = before;
  if (succeeded(before)) {
    Scalar operand = op.getValue() ? scalar(agent, op.getValue()) : Scalar();
    if (*before && op.getKind() != tile::AtomicKind::Load)
      result = write(op, target, indices,
                     combine(op.getKind(), target.type.getElementType(), **before, operand));
    if (op.getPrevious())
      agent.scalars[op.getPrevious()] = before->value_or(Scalar());
  }
  isAtomic = outer;
  if (followsOrders)
    synchronize(agent, op, target, indices);
  return result;
}

mlir::LogicalResult Machine::runAtomicTile(Agent& agent, tile::AtomicTileOp op) {
  auto source = window(agent, op.getSourceRegion()), target = window(agent, op.getTargetRegion());
  if (failed(source) || failed(target))
    return mlir::failure();
  const mlir::Type from = source->buffer->type.getElementType(),
                   to = target->buffer->type.getElementType();
  const auto extents = tile::withoutUnitExtents(source->extents);
  std::vector<Scalar> operands; // all of them first: source and target may overlap
  auto readAt = [&](llvm::ArrayRef<int64_t> position) -> mlir::LogicalResult {
    auto operand = read(op, *source->buffer, source->at(spread(position, source->extents)));
    if (failed(operand))
      return mlir::failure();
    Scalar converted = convert(asStored(from, operand->value_or(Scalar())), from, to);
    converted.integer = wrapTo(to, converted.integer);
    operands.push_back(converted);
    return mlir::success();
  };
  if (failed(forEachPosition(extents, readAt)))
    return mlir::failure();
  auto next = operands.begin();
  return forEachPosition(extents, [&](llvm::ArrayRef<int64_t> position) -> mlir::LogicalResult {
    const Scalar operand = *next++;
    isAtomic = true;
    llvm::scope_exit leave([&] { isAtomic = false; });
    const auto place = target->at(spread(position, target->extents));
    auto before = read(op, *target->buffer, place);
    if (failed(before))
      return mlir::failure();
    if (!*before)
      return mlir::success();
    return write(op, *target->buffer, place, combine(op.getKind(), to, **before, operand));
  });
}

/// A number as C's printf writes it by "%e"; the sign of a NaN says nothing.
static void showReal(llvm::raw_ostream& out, double value) {
  if (std::isnan(value))
    out << "nan";
  else if (std::isinf(value))
    out << (value < 0 ? "-inf" : "inf");
  else
    out << value;
}

mlir::LogicalResult Machine::runPrint(Agent& agent, tile::PrintOp op) {
  auto tile = op.getValue() ? llvm::dyn_cast<tile::BufferType>(op.getValue().getType())
                            : tile::BufferType();
  auto printing = op->getAttrOfType<mlir::IntegerAttr>("thread");
  bool isBlocks = tile && !tile.isPerThread() && !tile.isGlobal();
  if (isBlocks && threadsDiffer && agent.thread != (printing ? printing.getInt() : 0))
    return mlir::success();
  std::string text;
  llvm::raw_string_ostream out(text);
  out << op.getMessage();
  auto show = [&](mlir::Type type, Scalar value) {
    if (llvm::isa<mlir::FloatType>(type))
      showReal(out, value.real);
    else if (type.isUnsignedInteger() || (op.getIsUnsigned() && type.isInteger()))
      out << unsignedBits(value.integer, type.getIntOrFloatBitWidth());
    else
      out << value.integer;
  };
  if (mlir::Value what = op.getValue()) {
    out << (op.getMessage().empty() ? "" : " ");
    if (auto type = llvm::dyn_cast<tile::BufferType>(what.getType())) {
      BufferValue& shown = buffer(agent, what);
      auto name = op->getAttrOfType<mlir::StringAttr>(tile::kNameAttr);
      out << (name ? name.str() : shown.name) << " = [";
      bool isFirst = true;
      auto limit = op->getAttrOfType<mlir::IntegerAttr>("count");
      int64_t left = limit ? limit.getInt() : std::numeric_limits<int64_t>::max();
      if (failed(forEachPosition(shown.shape,
                                 [&](llvm::ArrayRef<int64_t> position) -> mlir::LogicalResult {
                                   if (left-- <= 0)
                                     return mlir::success();
                                   auto value = read(op, shown, position);
                                   if (failed(value))
                                     return mlir::failure();
                                   out << (std::exchange(isFirst, false) ? "" : ", ");
                                   show(type.getElementType(), value->value_or(Scalar()));
                                   return mlir::success();
                                 })))
        return mlir::failure();
      out << "]";
    } else {
      show(what.getType(), scalar(agent, what));
    }
  }
  out << "\n";
  if (options.printed)
    *options.printed += text;
  else
    llvm::outs() << text;
  return mlir::success();
}

mlir::LogicalResult Machine::shuffle(llvm::ArrayRef<Agent*> agents, tile::ShuffleOp op) {
  int64_t width = op.getWidth(), count = int64_t(agents.size());
  std::vector<Scalar> results;
  for (int64_t lane = 0; lane < count; ++lane) {
    int64_t base = lane / width * width, operand = scalar(*agents[lane], op.getLane()).integer;
    int64_t from = lane;
    switch (op.getKind()) {
    case tile::ShuffleKind::Index:
      from = base + (operand & (width - 1));
      break;
    case tile::ShuffleKind::Xor:
      from = lane ^ operand;
      break;
    case tile::ShuffleKind::Up:
      from = lane - operand;
      break;
    case tile::ShuffleKind::Down:
      from = lane + operand;
      break;
    }
    bool isInGroup = from >= base && from < std::min(base + width, count);
    results.push_back(scalar(*agents[isInGroup ? from : lane], op.getValue()));
  }
  for (auto [agent, result] : llvm::zip(agents, results))
    agent->scalars[op.getResult()] = result;
  return mlir::success();
}

mlir::LogicalResult Machine::vote(llvm::ArrayRef<Agent*> agents, tile::VoteOp op) {
  uint64_t ballot = 0;
  int64_t count = 0;
  for (auto [lane, agent] : llvm::enumerate(agents))
    if (scalar(*agent, op.getCondition()).integer) {
      ++count;
      if (lane < 64)
        ballot |= uint64_t(1) << lane;
    }
  int64_t result = 0;
  switch (op.getKind()) {
  case tile::VoteKind::Any:
    result = count > 0;
    break;
  case tile::VoteKind::All:
    result = count == int64_t(agents.size());
    break;
  case tile::VoteKind::Ballot:
    result = int64_t(ballot);
    break;
  case tile::VoteKind::Count:
    result = count;
    break;
  }
  for (Agent* agent : agents)
    agent->scalars[op.getResult()] = {result, 0};
  return mlir::success();
}

} // namespace tilewright::interpreter
