// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/apart_accesses.h"

#include "compiler/ir/npu_ops.h"
#include "compiler/targets/ascend/build_program.h"
#include "compiler/targets/ascend/meeting_proof.h"

#include <algorithm>

namespace tilewright::ascend {

using namespace mlir;
using model::Node;

namespace {

/// An access of a tensor, in the program and in the kernel.
struct Touch {
  Node* node = nullptr;
  model::Access* access = nullptr;
  npu::Access origin;
  bool isDecided = false;
};

std::map<unsigned, std::vector<Touch>> touchesByTensor(model::Program& program) {
  std::map<unsigned, std::vector<Touch>> all;
  for (Node& node : program.nodes) {
    auto op = node.kind == model::NodeKind::Statement && !node.isOfNoTurn
                  ? dyn_cast<npu::Instruction>(operationOf(&node))
                  : npu::Instruction();
    SmallVector<npu::Access> origins;
    if (op)
      op.getAccesses(origins);
    for (model::Access& access : node.accesses)
      if (const unsigned number = access.number; access.isGlobal && number < origins.size())
        all[access.memory].push_back(
            {&node, &access, origins[number],
             MeetingProof::isDecidedByNumbers(op.getOperation(), origins[number])});
  }
  return all;
}

/// Whether something might have to order two accesses, and numbers might tell that nothing has.
bool isQuestion(const Touch& a, const Touch& b) {
  const bool areOfScalarUnit =
      a.node->queue == b.node->queue && a.node->queue.pipe == model::Pipe::S;
  return a.node != b.node && (a.access->isWrite || b.access->isWrite) &&
         (a.isDecided || b.isDecided) && !areOfScalarUnit;
}

unsigned loopsAroundBoth(const Node& a, const Node& b) {
  const std::vector<const Node*> ofA = loopsAround(&a), ofB = loopsAround(&b);
  return static_cast<unsigned>(std::ranges::mismatch(ofA, ofB).in1 - ofA.begin());
}

} // namespace

void findApart(func::FuncOp kernel, model::Program& program) {
  MeetingProof proof(kernel);
  unsigned places = 0;
  const auto placeOf = [&](model::Access& access) {
    if (access.place == model::kNowhere)
      access.place = places++;
    return access.place;
  };
  std::map<unsigned, std::vector<Touch>> byTensor = touchesByTensor(program);
  for (std::vector<Touch>& touches : llvm::make_second_range(byTensor))
    for (size_t second = 1; second < touches.size(); ++second)
      for (size_t first = 0; first < second; ++first) {
        Touch &a = touches[first], &b = touches[second];
        const bool areOfOneCore = a.node->queue.agent == b.node->queue.agent;
        if (isQuestion(a, b) && proof.areApart(operationOf(a.node), a.origin, operationOf(b.node),
                                               b.origin, areOfOneCore))
          program.apart.try_emplace({placeOf(*a.access), placeOf(*b.access)},
                                    loopsAroundBoth(*a.node, *b.node));
      }
}

} // namespace tilewright::ascend
