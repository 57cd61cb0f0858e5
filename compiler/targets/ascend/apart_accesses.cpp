// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/apart_accesses.h"

#include "compiler/ir/npu_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/build_program.h"
#include "compiler/targets/ascend/meeting_proof.h"

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <llvm/ADT/MapVector.h>

#include <algorithm>

namespace tilewright::ascend {

using namespace mlir;
using model::Node;

namespace {

/// Of tiles there are more pairs than of tensors.
constexpr MeetingProof::Limits kOfTiles{.asked = 100, .steps = 50}, kOfTensors,
    kOfBranches{.asked = 100, .steps = 50};

/// An access in the program and in the kernel.
struct Touch {
  Node* node = nullptr;
  model::Access* access = nullptr;
  npu::Access origin;
  bool isDecided = false;

  MeetingProof::Use use() const {
    return {operationOf(node), origin};
  }
};

/// Whether all of a tile is touched, whatever the numbers are.
bool isWhole(const npu::Access& access) {
  return !access.region && access.offset && isConstantIntValue(access.offset, 0) && !access.rows &&
         !access.piece &&
         access.bytes ==
             npu::storageBytes(cast<tile::BufferType>(npu::storageOf(access.buffer).getType()));
}

/// What stands in a branch that numbers never let run touches nothing.
void dropIdle(model::Program& program, MeetingProof& proof) {
  llvm::DenseMap<Block*, bool> known;
  for (Node& node : program.nodes) {
    auto op = node.kind == model::NodeKind::Statement && !node.accesses.empty()
                  ? dyn_cast<npu::Instruction>(operationOf(&node))
                  : npu::Instruction();
    if (!op || !op->getParentOfType<scf::IfOp>())
      continue;
    SmallVector<npu::Access> origins;
    op.getAccesses(origins);
    const auto [isIdle, isNew] = known.try_emplace(op->getBlock());
    if (isNew)
      isIdle->second = proof.neverRuns(op, origins);
    if (isIdle->second)
      node.accesses.clear();
  }
}

/// Whether nothing is known of which part of a tile is touched.
bool isAnywhere(const model::Access& access) {
  const auto isOfVariable = [](const model::Term& term) { return term.variable != model::kNone; };
  return !access.isGlobal && (llvm::any_of(access.terms, isOfVariable) ||
                              (access.terms.empty() && access.begin == access.bufferBegin &&
                               access.end == access.bufferEnd));
}

/// By tensor, or by tile.
llvm::MapVector<Value, std::vector<Touch>> touchesByStorage(model::Program& program) {
  llvm::MapVector<Value, std::vector<Touch>> all;
  for (Node& node : program.nodes) {
    auto op = node.kind == model::NodeKind::Statement && !node.isOfNoTurn
                  ? dyn_cast<npu::Instruction>(operationOf(&node))
                  : npu::Instruction();
    SmallVector<npu::Access> origins;
    if (op)
      op.getAccesses(origins);
    for (model::Access& access : node.accesses)
      if (const unsigned number = access.number;
          number < origins.size() && !access.isRelease && !isWhole(origins[number]) &&
          (access.isGlobal || MeetingProof::isFollowedOnChip(op, origins[number])))
        all[npu::storageOf(origins[number].buffer)].push_back(
            {&node, &access, origins[number],
             isAnywhere(access) ||
                 MeetingProof::isDecidedByNumbers(op.getOperation(), origins[number])});
  }
  return all;
}

/// Whether more than the branches and loops around a part of a tile decides what it is.
bool isPlacedByNumbers(const npu::Access& access) {
  return ShapedType::isDynamic(access.bytes) || !getConstantIntValue(access.offset);
}

/// Whether something might have to order two accesses, and numbers might tell that nothing has.
bool isQuestion(const Touch& a, const Touch& b) {
  const bool areOfScalarUnit =
      a.node->queue == b.node->queue && a.node->queue.pipe == model::Pipe::S;
  return (a.access->isWrite || b.access->isWrite) && (a.isDecided || b.isDecided) &&
         (a.access->isGlobal || isPlacedByNumbers(a.origin) || isPlacedByNumbers(b.origin)) &&
         !areOfScalarUnit && a.access->memory == b.access->memory;
}

SmallVector<Operation*> loopsAroundBoth(const Node& a, const Node& b) {
  const std::vector<const Node*> ofA = loopsAround(&a), ofB = loopsAround(&b);
  const auto end = std::ranges::mismatch(ofA, ofB).in1;
  SmallVector<Operation*> loops;
  for (const Node* loop : llvm::make_range(ofA.begin(), end))
    loops.push_back(operationOf(loop));
  return loops;
}

/// Whether a loop's number has a part in what an instruction is given.
bool isMovedBy(Operation* loop, Operation* instruction) {
  auto counted = dyn_cast<tile::ForOp>(loop);
  if (!counted)
    return false;
  SmallVector<Value> open(instruction->getOperands());
  DenseSet<Value> seen;
  while (!open.empty()) {
    const Value value = open.pop_back_val();
    if (value == counted.getInductionVar())
      return true;
    Operation* op = value.getDefiningOp();
    if (op && loop->isProperAncestor(op) && seen.insert(value).second)
      llvm::append_range(open, op->getOperands());
  }
  return false;
}

/// When two accesses never meet: in one turn of the loops around both, or of the outer ones.
model::Apart whenApart(const Touch& a, const Touch& b, MeetingProof& proof) {
  const bool areOfOneCore = a.node->queue.agent == b.node->queue.agent;
  const SmallVector<Operation*> loops = loopsAroundBoth(*a.node, *b.node);
  model::Apart apart{static_cast<unsigned>(loops.size()), 0};
  if (a.node != b.node && proof.areApart(a.use(), b.use(), {loops, loops.size()}, areOfOneCore))
    apart.when |= uint64_t{1} << loops.size();
  const auto isMoved = [&](Operation* loop) {
    return isMovedBy(loop, operationOf(a.node)) || isMovedBy(loop, operationOf(b.node));
  };
  for (size_t depth = loops.size(); depth-- > 0;)
    if (isMoved(loops[depth]) && proof.areApart(a.use(), b.use(), {loops, depth}, areOfOneCore))
      apart.when |= uint64_t{1} << depth;
  return apart;
}

} // namespace

void findApart(func::FuncOp kernel, model::Program& program) {
  MeetingProof ofTiles(kernel, kOfTiles), ofTensors(kernel, kOfTensors);
  MeetingProof ofBranches(kernel, kOfBranches);
  dropIdle(program, ofBranches);
  unsigned places = 0;
  const auto placeOf = [&](model::Access& access) {
    if (access.place == model::kNowhere)
      access.place = places++;
    return access.place;
  };
  llvm::MapVector<Value, std::vector<Touch>> all = touchesByStorage(program);
  for (std::vector<Touch>& touches : llvm::make_second_range(all))
    for (size_t second = 0; second < touches.size(); ++second)
      for (size_t first = 0; first <= second; ++first) {
        Touch &a = touches[first], &b = touches[second];
        if (!isQuestion(a, b))
          continue;
        const model::Apart apart = whenApart(a, b, a.access->isGlobal ? ofTensors : ofTiles);
        if (apart.when == 0)
          continue;
        const unsigned ofA = placeOf(*a.access), ofB = placeOf(*b.access);
        program.apart.try_emplace(std::minmax(ofA, ofB), apart);
      }
}

} // namespace tilewright::ascend
