// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/separate_flags.h"

namespace tilewright::ascend::model {

void separateFlags(Program& program) {
  // Of an insertion, the first and the last id; between the same queues they stand side by side.
  struct Range {
    unsigned first = kNone, last = 0, made = 0;
  };
  std::map<std::pair<unsigned, std::pair<unsigned, unsigned>>, Range> ranges;
  const auto rangeOf = [&](const Sync& sync) -> Range& {
    const Flag& flag = program.flags[sync.flag];
    return ranges[{sync.owner, {flag.from.index(), flag.to.index()}}];
  };
  const auto isOwned = [](const Node& node) {
    return node.kind == NodeKind::Sync && node.sync.flag != kNone && node.sync.owner != kNone;
  };
  for (const Node& node : program.nodes)
    if (isOwned(node)) {
      Range& range = rangeOf(node.sync);
      range.first = std::min(range.first, node.sync.flag);
      range.last = std::max(range.last, node.sync.flag + node.sync.slots() - 1);
    }
  for (auto& [key, range] : ranges) {
    range.made = static_cast<unsigned>(program.flags.size());
    for (unsigned flag = range.first; flag <= range.last; ++flag) {
      const Flag own = program.flags[flag];
      program.flags.push_back(own);
    }
  }
  for (Node& node : program.nodes)
    if (isOwned(node)) {
      const Range& range = rangeOf(node.sync);
      node.sync.flag = range.made + (node.sync.flag - range.first);
    }
}

} // namespace tilewright::ascend::model
