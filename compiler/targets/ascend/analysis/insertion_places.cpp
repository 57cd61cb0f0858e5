// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/insertion_places.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

bool isWaitLike(const Sync& sync) {
  return sync.kind != SyncKind::Set;
}
/// Sets stand behind waits and barriers: then they tell more.
void putWait(std::vector<Sync>& list, const Sync& sync) {
  list.insert(std::find_if_not(list.begin(), list.end(), isWaitLike), sync);
}

/// The set tells what the waits before it have told; both stand before all other sets.
void putAdjacent(std::vector<Sync>& list, const Sync& set, const Sync& wait) {
  auto at = std::find_if_not(list.begin(), list.end(), isWaitLike);
  at = list.insert(at, set);
  list.insert(at + 1, wait);
}

bool isInSameBlock(Node* a, Node* b) {
  return a->parent == b->parent && (!a->parent || isInSameArm(a->parent, a, b));
}

} // namespace

std::vector<Node*> pathTo(const Node* node) {
  std::vector<Node*> path;
  for (const Node* each = node; each; each = each->parent)
    path.push_back(const_cast<Node*>(each));
  std::reverse(path.begin(), path.end());
  return path;
}

bool isReachedByAll(const Node* node) {
  for (const Node* around = node->parent; around; around = around->parent)
    if (!around->isOfAllCores())
      return false;
  return true;
}

std::pair<Node*, Node*> siblings(const Hazard& hazard, const Node* loop) {
  const std::vector<Node*> earlier = pathTo(hazard.earlier), later = pathTo(hazard.later);
  size_t depth = 0;
  if (loop) {
    while (earlier[depth] != loop)
      ++depth;
    return {earlier[depth + 1], later[depth + 1]};
  }
  while (earlier[depth] == later[depth])
    ++depth;
  return {earlier[depth], later[depth]};
}

const Node* innermostLoop(const Hazard& hazard) {
  const std::vector<const Node*> a = loopsAround(hazard.earlier), b = loopsAround(hazard.later);
  const Node* found = nullptr;
  for (size_t depth = 0; depth < a.size() && depth < b.size() && a[depth] == b[depth]; ++depth)
    found = a[depth];
  return found;
}

void place(const Insertion& insertion) {
  Sync sync;
  sync.insertion = insertion.number;
  if (insertion.isBarrier) {
    sync.kind = insertion.isBarrierOfAll ? SyncKind::BarrierAll : SyncKind::Barrier;
    sync.queue = insertion.from;
    putWait(insertion.behind ? insertion.behind->after : insertion.waitAt->before, sync);
    return;
  }
  Sync set = sync, wait = sync;
  set.kind = SyncKind::Set;
  wait.kind = SyncKind::Wait;
  set.queue = insertion.from;
  wait.queue = insertion.to;
  set.flag = wait.flag = insertion.firstFlag;
  if (insertion.carriedBy) {
    for (unsigned slot = 0; slot < insertion.slots; ++slot) {
      set.flag = wait.flag = insertion.firstFlag + slot;
      insertion.carriedBy->before.push_back(set);
      putWait(insertion.carriedBy->after, wait);
    }
  }
  set.flag = wait.flag = insertion.firstFlag;
  if (insertion.slots > 1)
    set.turns = wait.turns = {Term{insertion.slotLoop->id, 1, insertion.slots}};
  if (insertion.setAt) {
    insertion.setAt->after.push_back(set);
    putWait(insertion.waitAt->before, wait);
  } else {
    putAdjacent(insertion.behind ? insertion.behind->after : insertion.waitAt->before, set, wait);
  }
}

void remove(Program& program, unsigned number) {
  const auto isIt = [&](const Sync& sync) { return sync.insertion == number; };
  for (Node& node : program.nodes) {
    std::erase_if(node.before, isIt);
    std::erase_if(node.after, isIt);
  }
}

bool isInSameArm(const Node* branch, Node* a, Node* b) {
  const auto isInBody = [&](Node* node) {
    return std::find(branch->body.begin(), branch->body.end(), node) != branch->body.end();
  };
  return isInBody(a) == isInBody(b);
}

Insertion withEnds(Insertion insertion, Node* setAt, Node* waitAt) {
  insertion.setAt = setAt->id < waitAt->id ? waitAt : setAt;
  insertion.waitAt = waitAt;
  return insertion;
}

Insertion atOnce(Insertion insertion) {
  insertion.setAt = nullptr;
  insertion.carriedBy = nullptr;
  insertion.slots = 1;
  insertion.slotLoop = nullptr;
  return insertion;
}

std::optional<Insertion> joined(const Insertion& a, const Insertion& b) {
  if (!(a.from == b.from) || a.carriedBy != b.carriedBy || a.slots > 1 || b.slots > 1 ||
      !isInSameBlock(a.setAt, b.setAt) || !isInSameBlock(a.waitAt, b.waitAt))
    return std::nullopt;
  Insertion both = a;
  const auto byNumber = [](const Node* x, const Node* y) { return x->id < y->id; };
  both.setAt = std::max(a.setAt, b.setAt, byNumber);
  both.waitAt = std::min(a.waitAt, b.waitAt, byNumber);
  if (!a.carriedBy && both.setAt->id >= both.waitAt->id)
    return std::nullopt;
  return both;
}

bool isSetBefore(unsigned number, const Node& node) {
  return std::ranges::any_of(node.before, [&](const Sync& sync) {
    return sync.insertion == number && sync.kind == SyncKind::Set;
  });
}

bool leadsBack(const Insertion& other, const Insertion& insertion) {
  if (insertion.isCross || other.isCross)
    return insertion.isCross && other.isCross && other.from.agent == insertion.to.agent;
  return other.from == insertion.to && other.to == insertion.from;
}

bool isNext(const Program& program, const Node* node, const Node* next) {
  const auto holds = [&](const Block& block) {
    const auto at = std::find(block.begin(), block.end(), node);
    return at != block.end() && at + 1 != block.end() && *(at + 1) == next;
  };
  const Node* parent = node->parent;
  return parent ? holds(parent->body) || holds(parent->otherwise) : holds(program.body);
}

void removeFrom(Block& block, unsigned number) {
  std::erase_if(block, [&](const Node* node) {
    return node->kind == NodeKind::Sync && node->sync.insertion == number;
  });
  for (Node* node : block) {
    removeFrom(node->body, number);
    removeFrom(node->otherwise, number);
  }
}

} // namespace tilewright::ascend::model
