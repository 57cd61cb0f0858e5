// SPDX-License-Identifier: Apache-2.0
// What a thread does with its neighbours, and what lies outside of the language: addresses and
// functions in C.
#include "compiler/base/libm_functions.h"
#include "compiler/builder/construction.h"
#include "compiler/builder/element_types.h"
#include "compiler/builder/operands.h"
#include "compiler/ir/thread_groups.h"

namespace tilewright {

using builder::BufferRecord;
using builder::quoted;

namespace {

std::optional<tile::SyncScope> syncScope(builder::Construction& state, std::string_view scope) {
  auto parsed = tile::symbolizeSyncScope(llvm::StringRef(scope.data(), scope.size()));
  if (!parsed)
    state.error("there is no group of threads " + quoted(scope) + ": it is warp, block or grid");
  return parsed;
}

/// Errors unless what threads do with their neighbours may stand here: outside of parallel loops, whose iterations
/// no thread is named for.
bool requireThreads(builder::Construction& state, std::string_view what) {
  const builder::Frame* parallel = state.enclosing(builder::FrameKind::Parallel);
  if (!parallel)
    return state.requireTileScope(what);
  state.stateError(std::string(what) +
                       " stands inside of T.Parallel, of whose iterations no thread is known; take "
                       "the thread's number, T.get_thread_binding(), in place of the loop",
                   {{parallel->place, "T.Parallel is here"}});
  return false;
}

} // namespace

Value KernelBuilder::shuffle(std::string_view kind, Value value, Value lane, int64_t width) {
  bool isUsable = state->isUsable(value);
  if (!state->isUsable(lane) || !isUsable || !requireThreads(*state, "a shuffle"))
    return {};
  auto parsed = tile::symbolizeShuffleKind(llvm::StringRef(kind.data(), kind.size()));
  if (!parsed) {
    state->error("there is no shuffle " + quoted(kind) + ": it is index, xor, up or down");
    return {};
  }
  if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
    state->error("the width of a shuffle is " + std::to_string(width) +
                 ", but it must be 1, 2, 4, 8, 16 or 32");
    return {};
  }
  if (!lane.dtype().isInteger()) {
    state->typeError("the lane of a shuffle must be an integer, but it is of dtype " +
                     lane.dtype().name());
    return {};
  }
  Dtype dtype = value.dtype();
  auto op =
      tile::ShuffleOp::create(state->ir, state->location(), *parsed, state->toIr(value, dtype),
                              state->toIr(lane, Dtype::int32()), uint64_t(width));
  return state->add(op.getResult(), dtype);
}

Value KernelBuilder::vote(std::string_view kind, std::string_view scope, Value condition) {
  if (!state->isUsable(condition) || !requireThreads(*state, "a vote of threads"))
    return {};
  auto parsed = tile::symbolizeVoteKind(llvm::StringRef(kind.data(), kind.size()));
  auto group = syncScope(*state, scope);
  if (!parsed)
    state->error("there is no vote " + quoted(kind) + ": it is any, all, ballot or count");
  if (!parsed || !group)
    return {};
  bool isBallot = *parsed == tile::VoteKind::Ballot, isCount = *parsed == tile::VoteKind::Count;
  if (*group == tile::SyncScope::Grid || (isBallot && *group != tile::SyncScope::Warp) ||
      (isCount && *group != tile::SyncScope::Block)) {
    state->error("the vote " + quoted(kind) + " is not taken by a " + std::string(scope));
    return {};
  }
  Dtype dtype = isBallot ? Dtype(ScalarKind::UInt64) : isCount ? Dtype::int32() : Dtype::boolean();
  auto op = tile::VoteOp::create(state->ir, state->location(),
                                 builder::scalarType(dtype, state->context.get()), *parsed, *group,
                                 state->toBool(condition));
  return state->add(op.getResult(), dtype);
}

void KernelBuilder::barrier(std::string_view scope, std::optional<int64_t> number,
                            std::optional<int64_t> threadCount) {
  auto group = syncScope(*state, scope);
  if (!group ||
      !state->requireTileScope(*group == tile::SyncScope::Block ? "T.sync_threads" : "a barrier"))
    return;
  if (number && (*number < 0 || *number > 15)) {
    state->error("the barrier's number is " + std::to_string(*number) +
                 ", but it must be from 0 to 15");
    return;
  }
  if (threadCount && (*threadCount < tile::kWarpSize || *threadCount % tile::kWarpSize != 0)) {
    state->error("a named barrier is for whole warps of 32 threads, not for " +
                 std::to_string(*threadCount) + " threads");
    return;
  }
  mlir::IntegerAttr id, count;
  if (number && threadCount) {
    id = state->ir.getI64IntegerAttr(*number);
    count = state->ir.getI64IntegerAttr(*threadCount);
  }
  tile::SyncOp::create(state->ir, state->location(), *group, id, count);
}

// Addresses and functions in C

Buffer KernelBuilder::tensorAt(Value address, std::span<const Index> shape, Dtype dtype,
                               std::span<const Index> strides, std::string_view name) {
  if (!state->isUsable(address))
    return {};
  if (!address.dtype().isInteger() || address.dtype().bits() != 64) {
    state->typeError("an address is an integer of 64 bits, but this is of dtype " +
                     address.dtype().name());
    return {};
  }
  mlir::Type element = builder::elementType(dtype, state->context.get());
  if (!element) {
    state->report(Severity::Unsupported, "a tensor of dtype " + dtype.name() + " is not supported");
    return {};
  }
  if (!strides.empty() && strides.size() != shape.size()) {
    state->error("the tensor has " + std::to_string(shape.size()) + " dims but " +
                 std::to_string(strides.size()) + " strides");
    return {};
  }
  BufferRecord record;
  llvm::SmallVector<int64_t> fixed;
  llvm::SmallVector<mlir::Value> dims, steps;
  for (const Index& extent : shape) {
    auto dim = state->toIndex(extent, "a dim of a tensor");
    if (!dim)
      return {};
    const auto* known = std::get_if<int64_t>(&*dim);
    if (!known)
      dims.push_back(state->indexIr(*dim));
    fixed.push_back(known ? *known : mlir::ShapedType::kDynamic);
    record.shape.push_back(*dim);
  }
  for (const Index& step : strides) {
    auto stride = state->toIndex(step, "a stride of a tensor");
    if (!stride)
      return {};
    steps.push_back(state->indexIr(*stride));
  }
  if (!builder::hasFewElements(*state, name, fixed))
    return {};
  auto type = tile::BufferType::get(fixed, element, tile::MemorySpace::Global, !steps.empty());
  mlir::Value number = state->toIr(address, address.dtype());
  record.ir = tile::TensorAtOp::create(state->ir, state->location(), type, number, dims, steps);
  record.dtype = dtype;
  record.scope = "global";
  record.name = name;
  return state->add(std::move(record));
}

Value KernelBuilder::address(Buffer buffer, std::span<const Index> indices) {
  if (!state->isUsable(buffer) || !state->requireLaunch("an address"))
    return {};
  auto offsets = builder::resolveIndices(*state, buffer, indices);
  if (!offsets)
    return {};
  llvm::SmallVector<mlir::Value> resolved;
  for (const Index& index : *offsets)
    resolved.push_back(state->indexIr(index));
  mlir::Value number =
      tile::AddressOp::create(state->ir, state->location(), state->record(buffer).ir, resolved);
  return state->add(number, Dtype(ScalarKind::UInt64));
}

namespace {

std::string prototype(std::optional<Dtype> result, llvm::ArrayRef<Dtype> arguments) {
  std::string text = (result ? result->name() : "void") + "(";
  for (auto [number, dtype] : llvm::enumerate(arguments))
    text += (number ? ", " : "") + dtype.name();
  return text + ")";
}

/// A source of the kernel's own may have another function of that name.
bool mayBeImported(mlir::func::FuncOp kernel, llvm::StringRef name) {
  auto sources = kernel->getAttrOfType<mlir::ArrayAttr>("ascend.sources");
  return sources && llvm::any_of(sources.getAsRange<mlir::StringAttr>(),
                                 [&](auto source) { return source.getValue().contains(name); });
}

} // namespace

Value KernelBuilder::callExtern(std::string_view name, std::span<const Value> arguments,
                                std::optional<Dtype> result) {
  if (!state->requireLaunch("a call of a function in C"))
    return {};
  llvm::SmallVector<mlir::Value> operands;
  for (Value argument : arguments) {
    if (!state->isUsable(argument))
      return {};
    operands.push_back(state->toIr(argument, argument.dtype()));
  }
  const auto known = state->isNpu ? std::nullopt : findLibmFunction(name);
  if (known) {
    llvm::SmallVector<Dtype> given;
    for (Value argument : arguments)
      given.push_back(argument.dtype());
    if (!llvm::equal(given, known->arguments) || (result && *result != known->result))
      state->doubtfulCalls.push_back({state->place, state->macros, std::string(name),
                                      "libm's " + std::string(name) + " is " +
                                          prototype(known->result, known->arguments) +
                                          ", but it is called as " + prototype(result, given)});
  }
  mlir::Type type = result ? builder::scalarType(*result, state->context.get()) : mlir::Type();
  if (result && !type) {
    state->report(Severity::Unsupported,
                  "a scalar of dtype " + result->name() + " is not supported");
    return {};
  }
  auto op = tile::CallOp::create(state->ir, state->location(), type,
                                 llvm::StringRef(name.data(), name.size()), operands);
  return type ? state->add(op.getResult(), *result) : Value{};
}

void builder::checkDoubtfulCalls(Construction& state) {
  for (const DoubtfulCall& call : state.doubtfulCalls) {
    if (mayBeImported(state.function, call.name))
      continue;
    state.place = call.place;
    state.macros = call.macros;
    state.error(call.message);
  }
}

} // namespace tilewright
