// SPDX-License-Identifier: Apache-2.0
// What an expert says to an Ascend core: scopes, flags, addresses, and the routes of copies.
#include "compiler/builder/construction.h"
#include "compiler/builder/operands.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/print_format.h"

namespace tilewright {

using builder::BufferRecord;
using builder::Construction;
using builder::FrameKind;
using builder::quoted;
using builder::Side;
using tile::MemorySpace;

namespace {

/// "mte2" of "MTE2" or "PIPE_MTE2".
std::string plainPipe(std::string_view given) {
  std::string name = llvm::StringRef(given.data(), given.size()).lower();
  return llvm::StringRef(name).starts_with("pipe_") ? name.substr(5) : name;
}

std::optional<ascend::Pipe> parsePipe(Construction& state, std::string_view given) {
  auto pipe = ascend::symbolizePipe(plainPipe(given));
  if (!pipe)
    state.error("there is no pipe " + quoted(given) +
                ": it is s, v, m, mte1, mte2, mte3, fix or, for a barrier, all");
  return pipe;
}

bool requireNpu(Construction& state, std::string_view what) {
  if (!state.requireTileScope(what))
    return false;
  if (state.isNpu)
    return true;
  state.stateError(std::string(what) + " needs T.Kernel with is_npu=True",
                   {{state.launchPlace, "T.Kernel is here"}});
  return false;
}

/// The number of a flag, at most `last`; nothing after an error.
std::optional<mlir::Value> flagNumber(Construction& state, const Index& given,
                                      const std::string& what, int64_t last) {
  if (!state.isUsable(given))
    return std::nullopt;
  auto number = state.toIndex(given, what);
  if (!number)
    return std::nullopt;
  const auto* known = std::get_if<int64_t>(&*number);
  if (known && (*known < 0 || *known > last)) {
    state.error(what + " is " + std::to_string(*known) + ", but the numbers are 0 to " +
                std::to_string(last));
    return std::nullopt;
  }
  return state.indexIr(*number);
}

struct FlagEnds {
  ascend::Pipe from, to;
  mlir::Value event;
};

std::optional<FlagEnds> resolveFlag(Construction& state, std::string_view what,
                                    std::string_view from, std::string_view to,
                                    const Index& event) {
  if (!requireNpu(state, what))
    return std::nullopt;
  auto source = parsePipe(state, from), target = parsePipe(state, to);
  auto number = flagNumber(state, event, "the event of " + std::string(what), 7);
  if (!source || !target || !number)
    return std::nullopt;
  if (*source == ascend::Pipe::All || *target == ascend::Pipe::All) {
    state.error(std::string(what) + " is between two single pipes, not all");
    return std::nullopt;
  }
  if (*source == *target) {
    state.error(std::string(what) + " has pipe " + quoted(from) +
                " on both sides; use T.pipe_barrier");
    return std::nullopt;
  }
  return FlagEnds{*source, *target, *number};
}

bool isCubeMemory(MemorySpace space) {
  return space == MemorySpace::L1 || space == MemorySpace::L0A || space == MemorySpace::L0B ||
         space == MemorySpace::L0C;
}

/// Whether a tile goes from one memory to the other; those placed by use may be any.
bool isRoute(MemorySpace from, MemorySpace to) {
  auto isPlacedByUse = [](MemorySpace space) {
    return space == MemorySpace::Shared || space == MemorySpace::Fragment ||
           space == MemorySpace::Local || space == MemorySpace::Var;
  };
  if (isPlacedByUse(from))
    return true;
  switch (from) {
  case MemorySpace::Global:
    return isPlacedByUse(to) || to == MemorySpace::L1 || to == MemorySpace::UB;
  case MemorySpace::L1:
    return isPlacedByUse(to) || to == MemorySpace::L0A || to == MemorySpace::L0B;
  case MemorySpace::UB:
    return isPlacedByUse(to) || to == MemorySpace::Global || to == MemorySpace::UB ||
           to == MemorySpace::L1;
  case MemorySpace::L0C:
    return isPlacedByUse(to) || to == MemorySpace::Global || to == MemorySpace::UB ||
           to == MemorySpace::L1;
  default:
    return false;
  }
}

/// What lies between two memories that no copy joins.
std::string wayBetween(MemorySpace from, MemorySpace to) {
  const auto name = [](MemorySpace space) { return tile::stringifyMemorySpace(space).str(); };
  if (to == MemorySpace::L0A || to == MemorySpace::L0B) {
    if (from == MemorySpace::L0A || from == MemorySpace::L0B)
      return "only gemms read " + name(from) + ", and only copies from L1 fill " + name(to);
    return "it goes through L1";
  }
  if (from == MemorySpace::Global && to == MemorySpace::Global)
    return "it goes through a tile in UB (T.alloc_ub)";
  if (to == MemorySpace::L0C)
    return "a gemm writes it";
  if (from == MemorySpace::L1)
    return "only gemms read L1: load a tile in UB (T.alloc_ub) instead, from where this one was";
  return "only gemms read it";
}

/// Whether a copy brings what cores have to the others, by way of global memory: in a scope, those that have it
/// bring it.
bool isHandedOver(MemorySpace from, MemorySpace to) {
  const bool isPlacedByUse = from == MemorySpace::Shared || from == MemorySpace::Fragment;
  return (to == MemorySpace::L1 && (from == MemorySpace::UB || isPlacedByUse)) ||
         (to == MemorySpace::UB && (from == MemorySpace::L0C || isPlacedByUse));
}

std::string memoryName(const BufferRecord& buffer) {
  if (buffer.space == MemorySpace::Global)
    return "global memory";
  return tile::stringifyMemorySpace(buffer.space).str();
}

} // namespace

namespace builder {

bool requireNpuFor(Construction& state, MemorySpace space, std::string_view what) {
  bool isOfNpu = isCubeMemory(space) || space == MemorySpace::UB;
  if (!isOfNpu || state.isNpu)
    return true;
  state.stateError(std::string(what) + " needs T.Kernel with is_npu=True",
                   {{state.launchPlace, "T.Kernel is here"}});
  return false;
}

bool checkRoute(Construction& state, const Side& source, const Side& target) {
  if (!state.isNpu)
    return true;
  const BufferRecord &from = state.record(source.buffer), &to = state.record(target.buffer);
  if (!isRoute(from.space, to.space)) {
    state.error("there is no copy from " + quoted(from.name) + " in " + memoryName(from) + " to " +
                    quoted(to.name) + " in " + memoryName(to) + "; " +
                    wayBetween(from.space, to.space),
                {state.allocatedHere(from), state.allocatedHere(to)});
    return false;
  }
  return checkAgent(state, source) &&
         (isHandedOver(from.space, to.space) || checkAgent(state, target));
}

bool isScaledStore(const Construction& state, const Side& source, const Side& target) {
  const BufferRecord &from = state.record(source.buffer), &to = state.record(target.buffer);
  const bool isAccumulator = from.space == MemorySpace::L0C || from.space == MemorySpace::Fragment;
  return state.isNpu && isAccumulator && from.dtype == Dtype::int32() &&
         to.dtype == Dtype(ScalarKind::Float16);
}

mlir::Value visibleScale(Construction& state) {
  mlir::Value scale = state.deqScale;
  if (!scale || scale.getParentRegion()->isAncestor(state.ir.getInsertionBlock()->getParent()))
    return scale;
  state.error("the scale of this copy is a value of a loop or branch that has ended; call "
              "T.set_deq_scale here");
  return {};
}

bool checkAgent(Construction& state, const Side& side, bool isOfVectors) {
  const Frame* scope = state.enclosing(FrameKind::Agents);
  if (!scope || !scope->op)
    return true;
  bool isCubeScope = mlir::cast<ascend::ScopeOp>(scope->op).getAgent() == ascend::Agent::Cube;
  const BufferRecord& record = state.record(side.buffer);
  bool isOther = isCubeScope ? record.space == MemorySpace::UB : isCubeMemory(record.space);
  if (!isOther)
    return true;
  state.error(quoted(record.name) + " is in " + memoryName(record) + ", which the " +
                  (isCubeScope ? "cube core" : "vector cores") + " of this T.Scope cannot reach" +
                  (isCubeScope   ? ": put this into T.Scope(\"V\")"
                   : isOfVectors ? ""
                                 : ": put this into T.Scope(\"C\")"),
              {{scope->place, "T.Scope is here"}, state.allocatedHere(record)});
  return false;
}

} // namespace builder

void KernelBuilder::annotateAddress(Buffer buffer, int64_t bytes) {
  if (!state->isUsable(buffer) || !requireNpu(*state, "T.annotate_address"))
    return;
  const BufferRecord& record = state->record(buffer);
  auto alloc = record.ir.getDefiningOp<tile::AllocOp>();
  if (!alloc || record.space == MemorySpace::Global) {
    state->error("T.annotate_address needs an allocation on the chip, but " + quoted(record.name) +
                     " is none",
                 {state->allocatedHere(record)});
    return;
  }
  if (bytes < 0 || bytes % 32 != 0) {
    state->error("the address of " + quoted(record.name) + " is " + std::to_string(bytes) +
                 ", but it must be " + (bytes < 0 ? "0 or a positive" : "a") +
                 " multiple of 32 bytes");
    return;
  }
  if (const std::optional<uint64_t> given = alloc.getAddress(); given && int64_t(*given) != bytes) {
    state->error("T.annotate_address gives " + quoted(record.name) + " the address " +
                     std::to_string(bytes) + ", but it has been given " + std::to_string(*given),
                 {state->allocatedHere(record)});
    return;
  }
  alloc.setAddress(bytes);
}

void KernelBuilder::annotateLayout(Buffer buffer, std::string_view layout) {
  if (!state->isUsable(buffer) || !requireNpu(*state, "T.annotate_layout"))
    return;
  const BufferRecord& record = state->record(buffer);
  auto alloc = record.ir.getDefiningOp<tile::AllocOp>();
  bool isTile = record.space == MemorySpace::L1 || record.space == MemorySpace::Shared;
  if (!alloc || !isTile) {
    state->error("T.annotate_layout takes tiles in L1, but " + quoted(record.name) + " is in " +
                     memoryName(record),
                 {state->allocatedHere(record)});
    return;
  }
  alloc->setAttr("layout", state->ir.getStringAttr(layout));
}

Value KernelBuilder::vectorId() {
  if (!requireNpu(*state, "a vector core's number"))
    return {};
  return state->add(ascend::VectorIdOp::create(state->ir, state->location()), Dtype::int32(), true);
}

void KernelBuilder::beginScope(std::string_view agent) {
  auto parsed = agent == "C"   ? std::optional(ascend::Agent::Cube)
                : agent == "V" ? std::optional(ascend::Agent::Vector)
                               : std::nullopt;
  if (!parsed)
    state->error("T.Scope is \"C\" or \"V\", not " + quoted(agent));
  bool isAllowed = requireNpu(*state, "T.Scope");
  if (const builder::Frame* outer = state->enclosing(FrameKind::Agents)) {
    state->stateError("T.Scope stands inside of another T.Scope",
                      {{outer->place, "the other T.Scope is here"}});
    isAllowed = false;
  }
  if (!parsed || !isAllowed) {
    state->push(FrameKind::Agents, "T.Scope", nullptr, nullptr);
    return;
  }
  auto scope = ascend::ScopeOp::create(state->ir, state->location(), *parsed);
  mlir::Block& body = scope.getBody().emplaceBlock();
  state->push(FrameKind::Agents, "T.Scope", scope, &body);
}

void KernelBuilder::endScope() {
  state->pop(FrameKind::Agents, "T.Scope");
}

void KernelBuilder::setFlag(std::string_view from, std::string_view to, const Index& event,
                            std::string_view name) {
  if (auto flag = resolveFlag(*state, name, from, to, event))
    ascend::SetFlagOp::create(state->ir, state->location(), flag->from, flag->to, flag->event);
}

void KernelBuilder::waitFlag(std::string_view from, std::string_view to, const Index& event,
                             std::string_view name) {
  if (auto flag = resolveFlag(*state, name, from, to, event))
    ascend::WaitFlagOp::create(state->ir, state->location(), flag->from, flag->to, flag->event);
}

void KernelBuilder::pipeBarrier(std::string_view pipe) {
  if (!requireNpu(*state, plainPipe(pipe) == "all" ? "T.barrier_all" : "T.pipe_barrier"))
    return;
  if (auto parsed = parsePipe(*state, pipe))
    ascend::PipeBarrierOp::create(state->ir, state->location(), *parsed);
}

void KernelBuilder::setCrossFlag(std::string_view pipe, const Index& flag, int64_t mode) {
  if (!requireNpu(*state, "T.set_cross_flag"))
    return;
  auto parsed = parsePipe(*state, pipe);
  auto number = flagNumber(*state, flag, "the flag of T.set_cross_flag", 15);
  if (!parsed || !number)
    return;
  if (*parsed == ascend::Pipe::All) {
    state->error("T.set_cross_flag is queued on a single pipe, not all");
    return;
  }
  if (mode < 0 || mode > 2) {
    state->error("the mode of T.set_cross_flag is " + std::to_string(mode) +
                 ", but it must be 0, 1 or 2");
    return;
  }
  ascend::SetCrossFlagOp::create(state->ir, state->location(), *parsed, *number, uint64_t(mode));
}

void KernelBuilder::waitCrossFlag(const Index& flag, std::string_view pipe) {
  if (!requireNpu(*state, "T.wait_cross_flag"))
    return;
  auto parsed = parsePipe(*state, pipe.empty() ? "all" : pipe);
  auto number = flagNumber(*state, flag, "the flag of T.wait_cross_flag", 15);
  if (parsed && number)
    ascend::WaitCrossFlagOp::create(state->ir, state->location(), *number, *parsed);
}

void KernelBuilder::syncAll() {
  if (requireNpu(*state, "T.sync_all"))
    ascend::SyncAllOp::create(state->ir, state->location());
}

void KernelBuilder::setDeqScale(Value scale) {
  if (!requireNpu(*state, "T.set_deq_scale") || !state->isUsable(scale))
    return;
  state->deqScale = state->toIr(scale, Dtype::float32());
}

void KernelBuilder::printFormatted(std::string_view format, std::span<const Value> values) {
  if (!requireNpu(*state, "T.printf"))
    return;
  const std::vector<tile::FormatPart> parts =
      tile::splitFormat(llvm::StringRef(format.data(), format.size()));
  if (parts.size() != values.size() + 1) {
    state->error("T.printf has " + std::to_string(values.size()) + " arguments for " +
                 std::to_string(parts.size() - 1) + " place holders");
    return;
  }
  llvm::SmallVector<mlir::Value> operands;
  for (size_t number = 0; number < values.size(); ++number) {
    if (!state->isUsable(values[number]))
      return;
    const Dtype dtype = values[number].dtype();
    if (dtype.isFloat() && !parts[number].isFloat()) {
      state->error("argument " + std::to_string(number) + " of T.printf is " + dtype.name() +
                   ", but " + parts[number].flags + parts[number].conversion +
                   " prints an integer");
      return;
    }
    const bool isConverted = parts[number].isFloat() && !dtype.isFloat();
    operands.push_back(isConverted ? state->toIr(values[number], Dtype::float32())
                                   : state->toIr(values[number]));
  }
  ascend::PrintfOp::create(state->ir, state->location(),
                           llvm::StringRef(format.data(), format.size()), operands);
}

void KernelBuilder::callExternal(std::string_view function,
                                 std::span<const std::variant<Value, Pointer>> arguments,
                                 std::string_view calledAs) {
  if (!requireNpu(*state, "T.call_extern"))
    return;
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Attribute> access;
  llvm::SmallVector<int64_t> rows;
  bool hasRows = false;
  for (const auto& argument : arguments) {
    if (const auto* value = std::get_if<Value>(&argument)) {
      if (!state->isUsable(*value))
        return;
      operands.push_back(state->toIr(*value));
      access.push_back(state->ir.getStringAttr("value"));
      continue;
    }
    const auto& pointer = std::get<Pointer>(argument);
    auto offset = state->toIndex(pointer.offset, "the offset of a pointer");
    if (!state->isUsable(pointer.buffer) || !offset)
      return;
    operands.push_back(state->record(pointer.buffer).ir);
    operands.push_back(state->indexIr(*offset));
    access.push_back(state->ir.getStringAttr(pointer.access));
    rows.append({pointer.rows, pointer.elements, pointer.pitch});
    hasRows |= pointer.rows > 0;
  }
  auto call = ascend::CallExternOp::create(
      state->ir, state->location(), llvm::StringRef(function.data(), function.size()), operands,
      state->ir.getArrayAttr(access),
      hasRows ? state->ir.getDenseI64ArrayAttr(rows) : mlir::DenseI64ArrayAttr());
  if (!calledAs.empty())
    call->setAttr(ascend::kCalledAsAttr,
                  state->ir.getStringAttr(llvm::StringRef(calledAs.data(), calledAs.size())));
}

void KernelBuilder::importSource(std::string_view text) {
  const auto append = [&](const char* name, mlir::Attribute last) {
    llvm::SmallVector<mlir::Attribute> all;
    if (auto before = state->function->getAttrOfType<mlir::ArrayAttr>(name))
      all.append(before.begin(), before.end());
    all.push_back(last);
    state->function->setAttr(name, state->ir.getArrayAttr(all));
  };
  append("ascend.sources", state->ir.getStringAttr(llvm::StringRef(text.data(), text.size())));
  append("ascend.source_places", mlir::LocationAttr(state->location()));
}

} // namespace tilewright
