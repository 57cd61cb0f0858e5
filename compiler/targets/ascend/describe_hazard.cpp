// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/describe_hazard.h"

#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/analysis/cases.h"
#include "compiler/targets/ascend/build_program.h"
#include "compiler/targets/ascend/operation_name.h"
#include "compiler/targets/ascend/place_words.h"

#include <llvm/ADT/TypeSwitch.h>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// Whether a load to L0 is one of a gemm's own: those of the kernel stand on another line than what they feed.
bool isOfGemm(npu::LoadL0Op load) {
  return load->getParentOfType<func::FuncOp>()
      .walk([&](npu::MmadOp gemm) {
        return gemm.getLoc() == load.getLoc() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

std::string bitwise(StringRef name) {
  return (name == "not" || name == "and" || name == "or" ? "bitwise_" + name : name).str();
}

/// Of a call, the statement that became it; a function of the kernel's own by its name.
std::string callWords(npu::CallOp call) {
  const StringRef callee = call.getCallee();
  if (call->hasAttr(kOfElementAttr)) // memory and the scalar unit's cache agree on its line
    return cast<StringAttr>(call.getAccess()[0]) == "w" ? "writing an element"
                                                        : "reading an element";
  if (callee == kDump)
    return "T.print";
  const std::string name = nameOfCall(call, callee);
  return StringRef(name).starts_with("T.tile.") ? name.substr(7) : name;
}

/// What the kernel calls it, which knows no instructions: `T.copy to UB`, and of vector instructions what they
/// compute.
std::string callOf(const model::Node* statement) {
  const auto store = [](bool adds, const char* from) {
    return std::string(adds ? "T.atomic_add from " : "T.copy from ") + from;
  };
  return llvm::TypeSwitch<Operation*, std::string>(operationOf(statement))
      .Case([](npu::LoadUbOp) { return "T.copy to UB"; })
      .Case([&](npu::StoreUbOp op) { return store(op.getAtomicAdd(), "UB"); })
      .Case([](npu::LoadL1Op) { return "T.copy to L1"; })
      .Case([](npu::FillL1Op) { return "padding of L1"; })
      .Case([](npu::LoadL0Op op) {
        const auto to = cast<tile::BufferType>(op.getTarget().getType()).getSpace();
        return isOfGemm(op) ? std::string("gemm")
                            : "T.copy to " + tile::stringifyMemorySpace(to).str();
      })
      .Case([](npu::MmadOp) { return "gemm"; })
      .Case([&](npu::StoreL0cOp op) { return store(op.getAtomicAdd(), "L0C"); })
      .Case([](npu::MoveL0cOp) { return "T.copy from L0C to L1"; })
      .Case([](npu::CopyUbOp) { return "T.copy in UB"; })
      .Case([](npu::GetValueOp) { return "reading an element"; })
      .Case([](npu::SetValueOp) { return "writing an element"; })
      .Case([](npu::CallOp op) { return callWords(op); })
      .Case([](npu::UnaryOp op) { return bitwise(npu::stringifyUnaryKind(op.getKind())); })
      .Case<npu::BinaryOp, npu::RowBinaryOp>(
          [](auto op) { return bitwise(npu::stringifyBinaryKind(op.getKind())); })
      .Case([](npu::ScalarOp op) {
        return npu::stringifyScalarKind(op.getKind()).str() + " of a scalar";
      })
      .Case([](npu::FunctionOp op) { return npu::stringifyFunctionKind(op.getKind()).str(); })
      .Case<npu::CompareOp, npu::CompareScalarOp>([](auto) { return "compare"; })
      .Case<npu::SelectOp, npu::SelectScalarOp>([](auto) { return "select"; })
      .Case([](npu::CastOp) { return "cast"; })
      .Case([](npu::DuplicateOp) { return "fill"; })
      .Case([](npu::SequenceOp) { return "arith_progression"; })
      .Case(
          [](npu::ReduceOp op) { return "reduce_" + npu::stringifyReduceKind(op.getKind()).str(); })
      .Case([](npu::BroadcastOp) { return "broadcast"; })
      .Case([](npu::TransposeOp) { return "transpose"; })
      .Default([](Operation* op) { return operationName(op); });
}

/// What one statement has to do with another before it.
enum class Relation : uint8_t { Needs, OverwritesRead, OverwritesWritten };

Relation relationOf(const model::Conflicts::AccessPair& pair) {
  if (!pair.earlier->isWrite)
    return Relation::OverwritesRead;
  return pair.later->isWrite ? Relation::OverwritesWritten : Relation::Needs;
}

/// The buffer of an access, which is that of `number` of its statement; null if that can't be told.
Value storageOf(const model::Node* statement, unsigned number) {
  auto instruction = dyn_cast<npu::Instruction>(operationOf(statement));
  SmallVector<npu::Access> accesses;
  if (instruction)
    instruction.getAccesses(accesses);
  return number < accesses.size() ? npu::storageOf(accesses[number].buffer) : Value();
}

/// Where two statements meet: ` to 'a'`, and what of the later one lies there, if that is another buffer.
std::string meetingPlace(const model::Hazard& hazard, const model::Conflicts::AccessPair& pair) {
  const Value first = storageOf(hazard.earlier, pair.earlier->number),
              second = storageOf(hazard.later, pair.later->number);
  const std::string name = first ? quotedBuffer(first) : "",
                    other = second ? quotedBuffer(second) : "";
  if (name.empty())
    return "";
  const bool isShared = first != second && !other.empty();
  return (pair.earlier->isWrite ? " to " : " of ") + name +
         (isShared ? ", where " + other + " lies, too" : "");
}

enum class Detail : uint8_t { None, Buffer, Places };

std::string statementText(const model::Node* statement, Detail detail) {
  const std::string place = detail == Detail::Places ? placeWords(operationOf(statement)) : "";
  return callOf(statement) + (place.empty() ? "" : " (" + place + ")");
}

std::string hazardText(const model::Hazard& hazard, const model::Conflicts& conflicts,
                       Detail detail) {
  // What is handed over says more than what is written over.
  std::optional<model::Conflicts::AccessPair> found;
  for (const auto& pair : conflicts.meetingsOf(hazard.earlier, hazard.later, hazard.carriedBy))
    if (!found || relationOf(pair) < relationOf(*found))
      found = pair;
  const Relation relation = found ? relationOf(*found) : Relation::Needs;
  return statementText(hazard.later, detail) +
         (relation == Relation::Needs ? " needs what " : " overwrites what ") +
         statementText(hazard.earlier, detail) +
         (hazard.carriedBy ? " of an earlier iteration" : "") +
         (relation == Relation::OverwritesRead ? " reads" : " writes") +
         (found && detail != Detail::None ? meetingPlace(hazard, *found) : "");
}

/// As the kernel's author knows it; empty if it is computed.
std::string nameOfValue(Value value) {
  if (auto dim = value.getDefiningOp<tile::DimOp>()) {
    const std::string tensor = nameOfValue(dim.getBuffer());
    return tensor.empty() ? "" : tensor + ".shape[" + std::to_string(dim.getDim()) + "]";
  }
  if (isa_and_nonnull<VectorIdOp>(value.getDefiningOp()))
    return "vid";
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return "";
  if (isa<tile::LaunchOp>(argument.getOwner()->getParentOp()))
    return "the block's number";
  auto kernel = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name = kernel ? kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), tile::kNameAttr)
                     : StringAttr();
  return name ? name.str() : "";
}

/// "n is 2", "n is at least 5".
std::string rangeText(const std::string& name, const model::Span& span) {
  const std::string low = std::to_string(span.low), high = std::to_string(span.high);
  if (span.low == span.high)
    return name + " is " + low;
  const bool hasLow = span.low > -model::kEndless, hasHigh = span.high < model::kEndless;
  if (hasLow && hasHigh)
    return name + " is from " + low + " to " + high;
  return name + (hasLow ? " is at least " + low : hasHigh ? " is at most " + high : " is any");
}

/// "a", "a and b", "a, b and c".
std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::string loopText(const model::Node* loop) {
  auto place = operationOf(loop)->getLoc()->findInstanceOf<FileLineColLoc>();
  return place ? "the loop in line " + std::to_string(place.getLine()) : "a loop";
}

} // namespace

std::string describe(const model::Hazard& hazard, const model::Conflicts& conflicts) {
  return hazardText(hazard, conflicts, Detail::None);
}

std::string describe(const model::Finding& finding, const std::map<unsigned, Value>& values) {
  using Kind = model::Finding::Kind;
  std::vector<std::string> names, ranges;
  for (const auto& [number, span] : finding.values)
    if (const auto value = values.find(number); value != values.end())
      if (const std::string name = nameOfValue(value->second); !name.empty()) {
        names.push_back(name);
        ranges.push_back(rangeText(name, span));
      }
  const std::string where = ranges.empty() ? "" : "where " + joined(ranges);
  switch (finding.kind) {
  case Kind::Shown: {
    std::vector<std::string> parts;
    if (!where.empty())
      parts.push_back(where);
    for (const auto& [loop, turn] : finding.turnsOfLater)
      if (const auto before = finding.turnsOfEarlier.find(loop);
          before != finding.turnsOfEarlier.end() && before->second != turn)
        parts.push_back("from turn " + std::to_string(before->second) + " to turn " +
                        std::to_string(turn) + " of " + loopText(loop));
    return parts.empty() ? "" : "for example " + joined(parts);
  }
  case Kind::Turns:
    return "this may be a false alarm: " + (where.empty() ? "" : where + ", ") +
           "not all turns of " + loopText(finding.loop) + " are told apart";
  case Kind::Statements:
    return "this may be a false alarm: " + (where.empty() ? "" : where + ", ") + "more than " +
           std::to_string(model::kMostUnrolled) +
           " statements, in all turns of the loops, decide it";
  case Kind::Cases:
    return "this may be a false alarm: what " + (names.empty() ? "the arguments" : joined(names)) +
           " may be makes more than " + std::to_string(model::kMostCasesAsked) + " cases";
  }
  return "";
}

std::string describeWithBuffer(const model::Hazard& hazard, const model::Conflicts& conflicts) {
  return hazardText(hazard, conflicts, Detail::Buffer);
}

std::string describeWithPlaces(const model::Hazard& hazard, const model::Conflicts& conflicts) {
  return hazardText(hazard, conflicts, Detail::Places);
}

std::string describeHold(const model::Hazard& hazard) {
  return statementText(hazard.later, Detail::Places) + " waits for " +
         statementText(hazard.earlier, Detail::Places) +
         (hazard.carriedBy ? " of an earlier iteration" : "") +
         ", so that no flag is set twice in a row";
}

std::string describe(const model::Flag& flag) {
  const std::string number = std::to_string(flag.id);
  if (flag.isCross)
    return "cross-core flag " + number + " of the " +
           (flag.to.agent == model::Agent::Cube ? "cube core" : "vector cores");
  return "event " + number + " from " + model::nameOf(flag.from.pipe) + " to " +
         model::nameOf(flag.to.pipe);
}

} // namespace tilewright::ascend
