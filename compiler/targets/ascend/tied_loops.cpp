// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/tied_loops.h"

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/build_program.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include <map>
#include <optional>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// Each tells ways apart, of which only so many are followed.
constexpr unsigned kMostTied = 2;

/// What says whether a loop has a turn: where it begins, a constant, and where it ends.
using Ends = std::pair<int64_t, const void*>;

/// Nothing of a loop that cores of a block take each in its own way: they count as one agent.
std::optional<Ends> endsOf(const model::Node& node) {
  if (node.kind != model::NodeKind::Loop || node.trips >= 0 || node.length.step != 0 ||
      node.isOfSomeCores || node.isEntered)
    return std::nullopt;
  auto loop = dyn_cast<tile::ForOp>(operationOf(&node));
  const std::optional<int64_t> lower =
      loop ? getConstantIntValue(loop.getLower()) : std::optional<int64_t>();
  if (!lower || getConstantIntValue(loop.getStep()).value_or(0) <= 0)
    return std::nullopt;
  return Ends{*lower, loop.getUpper().getAsOpaquePointer()};
}

void tieLoops(model::Program& program, const model::Block& block, unsigned& tied) {
  std::map<Ends, model::Node*> firsts, lasts;
  for (model::Node* node : block) {
    tieLoops(program, node->body, tied);
    tieLoops(program, node->otherwise, tied);
    const std::optional<Ends> ends = endsOf(*node);
    if (!ends)
      continue;
    model::Node* first = firsts.try_emplace(*ends, node).first->second;
    if (first == node || (first->notes == model::kNone && tied >= kMostTied))
      continue;
    if (first->notes == model::kNone) {
      first->notes = program.variables++;
      ++tied;
    }
    node->goesBy = first->notes;
    lasts[*ends] = node;
  }
  for (const auto& [ends, last] : lasts)
    last->forgets.push_back(last->goesBy);
}

} // namespace

void tieLoops(model::Program& program) {
  unsigned tied = 0;
  tieLoops(program, program.body, tied);
}

} // namespace tilewright::ascend
