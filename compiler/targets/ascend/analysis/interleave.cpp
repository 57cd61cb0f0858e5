// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/interleave.h"
#include "compiler/targets/ascend/analysis/settle_variables.h"

#include <algorithm>
#include <deque>
#include <map>

namespace tilewright::ascend::model {
namespace {

constexpr std::array<Agent, 2> kAgents = {Agent::Cube, Agent::Vector};

bool isCross(const Program& program, const Sync& sync) {
  return sync.flag != kNone && program.flags[sync.flag].isCross;
}

bool isMeeting(const Node& node) {
  return node.kind == NodeKind::Sync &&
         (node.sync.kind == SyncKind::SyncAll || node.sync.kind == SyncKind::Meeting);
}

/// Whose a statement or sync is; of a meeting of all, both.
bool isOf(Agent agent, const Node& node) {
  if (node.kind == NodeKind::Statement)
    return node.queue.agent == agent;
  if (node.kind == NodeKind::Sync)
    return node.sync.kind == SyncKind::SyncAll || node.sync.queue.agent == agent;
  const auto isIt = [&](const Node* inner) { return isOf(agent, *inner); };
  return std::any_of(node.body.begin(), node.body.end(), isIt) ||
         std::any_of(node.otherwise.begin(), node.otherwise.end(), isIt);
}

bool linksAgents(const Program& program, const Node& node) {
  if (node.kind == NodeKind::Sync)
    return isMeeting(node) || isCross(program, node.sync);
  const auto links = [&](const Node* inner) { return linksAgents(program, *inner); };
  return std::any_of(node.body.begin(), node.body.end(), links) ||
         std::any_of(node.otherwise.begin(), node.otherwise.end(), links);
}

class Interleaver {
public:
  explicit Interleaver(const Unrolled& unrolled) : source(unrolled) {
    result.program.flags = unrolled.program.flags;
    result.program.values = unrolled.program.values;
    result.program.apart = unrolled.program.apart;
    for (const Agent agent : kAgents)
      for (const Node* node : unrolled.program.body)
        if (isOf(agent, *node))
          left(agent).push_back(node);
  }

  Interleaved run() {
    bool goesOn = true;
    while (goesOn) {
      goesOn = advance(Agent::Cube);
      goesOn |= advance(Agent::Vector);
      goesOn = goesOn || meet();
    }
    const bool isStuck = !left(Agent::Cube).empty() || !left(Agent::Vector).empty();
    for (const Agent agent : kAgents)
      if (!left(agent).empty() && left(agent).front()->sync.flag == kNone)
        return std::move(
            result); // A meeting of all cores that the other kind doesn't reach here: unknown.
    for (const Agent agent : kAgents)
      if (!left(agent).empty())
        fault(FaultKind::NeverSet, left(agent).front());
    for (const auto& [flag, sets] : tokens)
      if (!sets.empty() && !isStuck)
        fault(FaultKind::NotWaitedFor, sets.front().at);
    return std::move(result);
  }

private:
  /// A set that nothing has waited for yet; in the result each has a flag of its own.
  struct Token {
    unsigned flag = kNone;
    const Node* at = nullptr;
  };

  std::deque<const Node*>& left(Agent agent) {
    return queues[static_cast<size_t>(agent)];
  }

  void fault(FaultKind kind, const Node* at) {
    result.faults.push_back({kind, source.origins[at->id], at->sync.flag});
  }

  /// Runs an agent until it waits, or has set a flag for which the other may wait; false if it can't go on.
  bool advance(Agent agent) {
    bool any = false;
    while (!left(agent).empty()) {
      const Node* node = left(agent).front();
      if (isMeeting(*node))
        return any;
      if (node->kind == NodeKind::Sync && isCross(source.program, node->sync)) {
        if (!link(node))
          return any;
      } else {
        copy(node, agent, result.program.body, nullptr);
      }
      left(agent).pop_front();
      any = true;
      if (node->kind == NodeKind::Sync && isCross(source.program, node->sync) &&
          node->sync.kind == SyncKind::Set)
        return any;
    }
    return any;
  }

  /// All wait for all, wherever in its own text each does.
  bool meet() {
    for (const Agent agent : kAgents)
      if (left(agent).empty() || !isMeeting(*left(agent).front()))
        return false;
    add(left(Agent::Cube).front(), result.program.body, nullptr)->sync.kind = SyncKind::SyncAll;
    left(Agent::Cube).pop_front();
    left(Agent::Vector).pop_front();
    return true;
  }

  /// A set or wait of a flag between agents; false if nothing has set it.
  bool link(const Node* node) {
    std::deque<Token>& sets = tokens[node->sync.flag];
    Sync sync = node->sync;
    if (sync.kind == SyncKind::Set) {
      const Flag flag = source.program.flags[sync.flag];
      sync.flag = result.program.addFlag(flag.from, flag.to, flag.id, /*isCross=*/true);
      sets.push_back({sync.flag, node});
    } else if (!sets.empty()) {
      sync.flag = sets.front().flag;
      sets.pop_front();
    } else {
      return false;
    }
    add(node, result.program.body, nullptr)->sync = sync;
    return true;
  }

  Node* add(const Node* from, Block& block, Node* parent) {
    result.origins.push_back(source.origins[from->id]);
    Node* node = result.program.add(block, parent, from->kind);
    node->tag = from->tag;
    return node;
  }

  /// What `agent` does of it.
  void copy(const Node* from, Agent agent, Block& block, Node* parent) {
    if (!isOf(agent, *from))
      return;
    Node* node = add(from, block, parent);
    node->queue = from->queue;
    node->accesses = from->accesses;
    node->turnsAround = from->turnsAround;
    node->sync = from->sync;
    for (const Node* inner : from->body)
      copy(inner, agent, node->body, node);
    for (const Node* inner : from->otherwise)
      copy(inner, agent, node->otherwise, node);
  }

  const Unrolled& source;
  std::array<std::deque<const Node*>, 2> queues;
  std::map<unsigned, std::deque<Token>> tokens; ///< by flag of the source
  Interleaved result;
};

/// Flags may fit or not.
std::optional<Interleaved> interleaveTurns(std::optional<Unrolled> unrolled) {
  if (!unrolled)
    return std::nullopt;
  settleVariables(*unrolled);
  for (const Node* node : unrolled->program.body)
    if (node->kind != NodeKind::Sync && linksAgents(unrolled->program, *node))
      return std::nullopt;
  Interleaved result = Interleaver(*unrolled).run();
  result.cut = std::move(unrolled->cut);
  return result;
}

} // namespace

std::optional<Interleaved> interleaveFlags(const Program& program, const Slice& slice, size_t most,
                                           int64_t longest, const Values& values,
                                           int64_t mostUnknown) {
  return interleaveTurns(unrollFirstOf(program, most, longest, &slice, values, mostUnknown));
}

std::optional<Interleaved> interleave(const Program& program, size_t most, const Values& values,
                                      int64_t mostUnknown) {
  std::optional<Interleaved> result =
      interleaveTurns(unrollFirst(program, most, nullptr, values, mostUnknown));
  const auto links = [&](const Node* loop) { return linksAgents(program, *loop); };
  if (result && !result->faults.empty() && std::ranges::any_of(result->cut, links))
    return std::nullopt;
  return result;
}

} // namespace tilewright::ascend::model
