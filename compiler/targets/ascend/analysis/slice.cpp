// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/slice.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

/// From the outermost block to the node.
std::vector<const Node*> withAncestors(const Node* node) {
  std::vector<const Node*> path;
  for (; node; node = node->parent)
    path.push_back(node);
  std::ranges::reverse(path);
  return path;
}

/// Nodes are numbered in text order.
unsigned lastIn(const Node* node) {
  unsigned last = node->id;
  for (const Block* block : {&node->body, &node->otherwise})
    if (!block->empty())
      last = std::max(last, lastIn(block->back()));
  return last;
}

template <typename Visit> void forEachSync(const Node& node, Visit visit) {
  for (const Sync& sync : node.before)
    visit(sync);
  if (node.kind == NodeKind::Sync)
    visit(node.sync);
  for (const Sync& sync : node.after)
    visit(sync);
}

unsigned remoteOf(Agent agent) {
  return kQueues + static_cast<unsigned>(agent);
}

bool isOfFlag(const Sync& sync) {
  return sync.kind == SyncKind::Set || sync.kind == SyncKind::Wait;
}

} // namespace

Slice::Slice(const Program& program)
    : inside(program.nodes.size()), fromEarlier(kPlaces), toLater(kPlaces),
      flags(program.flags.size()), kept(program.nodes.size()) {}

Slice::Slice(const Program& program, std::set<NodePair> asked, bool withAllSyncs) : Slice(program) {
  pairs = std::move(asked);
  this->withAllSyncs = withAllSyncs;
  flags.assign(flags.size(), withAllSyncs);
  for (const auto& [earlier, later] : pairs) {
    statements.insert({earlier, later});
    addInterval(earlier, later);
    fromEarlier[earlier->queue.index()] = true;
    toLater[later->queue.index()] = true;
    toLater[remoteOf(later->queue.agent)] = true;
  }
  findPlaces(program);
  if (!withAllSyncs)
    keepFlags(program);
  keepNodes(program);
}

Slice Slice::ofHeld(const Program& program, unsigned insertion) {
  Slice slice(program);
  std::vector<bool> asked(program.flags.size());
  std::vector<const Node*> sets, waits;
  for (const Node& node : program.nodes)
    forEachSync(node, [&](const Sync& sync) {
      if (sync.kind != SyncKind::Set || sync.insertion != insertion)
        return;
      for (unsigned slot = 0; slot < sync.slots(); ++slot)
        asked[sync.flag + slot] = true;
      sets.push_back(&node);
      slice.toLater[sync.queue.index()] = slice.toLater[remoteOf(sync.queue.agent)] = true;
    });
  for (size_t flag = 0; flag < asked.size(); ++flag)
    for (size_t other = 0; other < asked.size() && !asked[flag]; ++other)
      asked[flag] = asked[other] && program.flags[flag].isCross && program.flags[other].isCross &&
                    program.flags[flag].id != kNone &&
                    program.flags[flag].id == program.flags[other].id &&
                    program.flags[flag].to == program.flags[other].to;
  for (const Node& node : program.nodes)
    forEachSync(node, [&](const Sync& sync) {
      bool isAsked = false;
      for (unsigned slot = 0; isOfFlag(sync) && slot < sync.slots(); ++slot)
        isAsked = isAsked || asked[sync.flag + slot];
      if (isAsked)
        slice.flags[sync.flag] = true;
      if (isAsked && sync.kind == SyncKind::Wait) {
        waits.push_back(&node);
        slice.fromEarlier[sync.queue.index()] = true;
      }
    });
  for (const Node* wait : waits)
    for (const Node* set : sets)
      slice.addInterval(wait, set);
  slice.findPlaces(program);
  slice.keepFlags(program);
  slice.keepNodes(program);
  return slice;
}

Slice Slice::ofCores(const Program& program) {
  Slice slice(program);
  for (size_t flag = 0; flag < program.flags.size(); ++flag)
    slice.flags[flag] = program.flags[flag].isCross;
  for (const Node& node : program.nodes) {
    const SyncKind kind = node.sync.kind;
    const bool isMeeting = kind == SyncKind::Meeting || kind == SyncKind::SyncAll;
    if (node.kind != NodeKind::Sync ||
        !(isOfFlag(node.sync) ? slice.flags[node.sync.flag] : isMeeting))
      continue;
    slice.inside[node.id] = true;
  }
  slice.keepNodes(program);
  return slice;
}

/// All iterations of what holds either, or, if a loop holds both, of that.
void Slice::addInterval(const Node* earlier, const Node* later) {
  const std::vector<const Node*> a = withAncestors(earlier), b = withAncestors(later);
  around.insert(a.begin(), a.end());
  around.insert(b.begin(), b.end());
  size_t depth = 0;
  while (depth + 1 < std::min(a.size(), b.size()) && a[depth] == b[depth] &&
         a[depth]->kind != NodeKind::Loop)
    ++depth;
  const unsigned first = std::min(a[depth]->id, b[depth]->id),
                 last = std::max(lastIn(a[depth]), lastIn(b[depth]));
  std::fill(inside.begin() + first, inside.begin() + last + 1, true);
}

/// Each sync leads from some places to others; what is known goes from place to place.
void Slice::findPlaces(const Program& program) {
  std::set<std::pair<unsigned, unsigned>> edges;
  for (unsigned queue = 0; queue < kQueues; ++queue)
    edges.emplace(Queue{Queue::at(queue).agent, Pipe::S}.index(), queue);
  const auto drain = [&](Agent agent) {
    const unsigned scalar = Queue{agent, Pipe::S}.index();
    for (unsigned queue = 0; queue < kQueues; ++queue)
      if (Queue::at(queue).agent == agent)
        edges.emplace(queue, scalar);
  };
  for (const Node& node : program.nodes)
    forEachSync(node, [&](const Sync& sync) {
      if (sync.kind == SyncKind::Set) {
        const Flag& flag = program.flags[sync.flag];
        const unsigned to = flag.isCross ? remoteOf(flag.to.agent) : flag.to.index();
        edges.emplace(sync.queue.index(), to);
        if (flag.isCross)
          edges.emplace(remoteOf(sync.queue.agent), to);
      } else if (sync.kind == SyncKind::BarrierAll || sync.kind == SyncKind::Meeting) {
        drain(sync.queue.agent);
      } else if (sync.kind == SyncKind::SyncAll) {
        for (const Agent agent : {Agent::Cube, Agent::Vector}) {
          drain(agent);
          for (const Agent other : {Agent::Cube, Agent::Vector})
            edges.emplace(Queue{agent, Pipe::S}.index(), remoteOf(other));
        }
      }
    });
  for (bool isMore = true; isMore;) {
    isMore = false;
    for (const auto& [from, to] : edges) {
      isMore = isMore || (fromEarlier[from] && !fromEarlier[to]) || (toLater[to] && !toLater[from]);
      fromEarlier[to] = fromEarlier[to] || fromEarlier[from];
      toLater[from] = toLater[from] || toLater[to];
    }
  }
}

/// Whether a sync leads from an earlier statement on to a later one.
bool Slice::leads(const Program& program, const Sync& sync) const {
  const Agent agent = sync.queue.agent;
  switch (sync.kind) {
  case SyncKind::Set: {
    const Flag& flag = program.flags[sync.flag];
    const bool isFrom =
        fromEarlier[sync.queue.index()] || (flag.isCross && fromEarlier[remoteOf(agent)]);
    return isFrom && toLater[flag.isCross ? remoteOf(flag.to.agent) : flag.to.index()];
  }
  case SyncKind::Wait:
    return false; // where its set does
  case SyncKind::Barrier:
    return fromEarlier[sync.queue.index()] && toLater[sync.queue.index()];
  case SyncKind::BarrierAll:
  case SyncKind::Meeting:
  case SyncKind::SyncAll:
    return true;
  }
  return true;
}

/// What is asked for may go with a flag that is set or waited for inside; then all ends of it stay, as do the flags that
/// take turns with it.
void Slice::keepFlags(const Program& program) {
  std::vector<bool> between(flags.size()), leading(flags.size());
  const auto mark = [&](std::vector<bool>& marks, const Sync& sync) {
    for (unsigned slot = 0; slot < sync.slots(); ++slot)
      marks[sync.flag + slot] = true;
  };
  const auto isAny = [&](const std::vector<bool>& marks, const Sync& sync) {
    bool any = false;
    for (unsigned slot = 0; slot < sync.slots(); ++slot)
      any = any || marks[sync.flag + slot];
    return any;
  };
  for (const Node& node : program.nodes)
    forEachSync(node, [&](const Sync& sync) {
      if (isOfFlag(sync) && inside[node.id])
        mark(between, sync);
      if (isOfFlag(sync) && leads(program, sync))
        mark(leading, sync);
    });
  for (size_t flag = 0; flag < flags.size(); ++flag)
    flags[flag] = flags[flag] || (between[flag] && leading[flag]);
  for (bool isMore = true; isMore;) {
    const std::vector<bool> before = flags;
    for (const Node& node : program.nodes)
      forEachSync(node, [&](const Sync& sync) {
        if (isOfFlag(sync) && isAny(flags, sync))
          mark(flags, sync);
      });
    isMore = before != flags;
  }
}

bool Slice::keeps(const Sync& sync, const Node* at) const {
  if (withAllSyncs)
    return true;
  if (isOfFlag(sync))
    return flags[sync.flag];
  const unsigned queue = sync.queue.index();
  const bool isOfOther = sync.kind == SyncKind::Barrier && !(fromEarlier[queue] && toLater[queue]);
  return !isOfOther && inside[at->id];
}

/// What holds something that stays does, too, and what says how the branches go that do.
void Slice::keepNodes(const Program& program) {
  const auto keep = [&](const Node* node) {
    for (; node && !kept[node->id]; node = node->parent)
      kept[node->id] = true;
  };
  const auto keepAround = [&](const Node& node) {
    if (node.parent)
      keep(node.parent);
  };
  for (const Node& node : program.nodes) {
    bool hasSync = false;
    forEachSync(node, [&](const Sync& sync) {
      if (!keeps(sync, &node))
        return;
      hasSync = true;
      insertions.insert(sync.insertion);
    });
    if (hasSync)
      keepAround(node);
    if (node.kind == NodeKind::Sync && keeps(node.sync, &node))
      keep(&node);
    if (node.kind != NodeKind::Statement)
      continue;
    const unsigned queue = node.queue.index();
    const bool hasBarrier =
        node.hasBarrier() && inside[node.id] && fromEarlier[queue] && toLater[queue];
    if (keepsAccesses(&node) || hasBarrier || (withAllSyncs && node.hasBarrier()))
      keep(&node);
  }
  for (bool isMore = true; isMore;) {
    isMore = false;
    for (const Node& node : program.nodes)
      if (kept[node.id] && node.kind == NodeKind::If)
        variables.insert(node.variable);
      else if (keepsAccesses(&node))
        std::ranges::copy(variablesOf(node, program), std::inserter(variables, variables.end()));
      else if (kept[node.id] && node.kind == NodeKind::Assign)
        variables.insert(node.source);
      else if (kept[node.id] && node.kind == NodeKind::Loop) {
        variables.insert(node.goesBy);
        for (const TurnCondition& each : node.goesOn)
          variables.insert(each.variable);
      }
    variables.erase(kNone);
    for (const Node& node : program.nodes) {
      const unsigned assigned = node.kind == NodeKind::Assign ? node.variable : node.notes;
      if (variables.contains(assigned) && !kept[node.id]) {
        keep(&node);
        isMore = true;
      }
    }
  }
}

std::vector<std::set<NodePair>> byQueues(const std::set<NodePair>& pairs) {
  std::map<std::pair<unsigned, unsigned>, std::set<NodePair>> groups;
  for (const NodePair& pair : pairs)
    groups[{pair.first->queue.index(), pair.second->queue.index()}].insert(pair);
  std::vector<std::set<NodePair>> result;
  result.reserve(groups.size());
  for (auto& [queues, group] : groups)
    result.push_back(std::move(group));
  return result;
}

} // namespace tilewright::ascend::model
