// SPDX-License-Identifier: Apache-2.0
// What comes before what: meetings of threads, and atomics with an order.
#include "compiler/interpreter/machine.h"

namespace tilewright::interpreter {
namespace {

bool acquires(tile::AtomicOp op) {
  const tile::MemoryOrder order = op.getOrder();
  return op.getKind() != tile::AtomicKind::Store && order != tile::MemoryOrder::Relaxed &&
         order != tile::MemoryOrder::Release;
}

bool releases(tile::AtomicOp op) {
  const tile::MemoryOrder order = op.getOrder();
  return op.getKind() != tile::AtomicKind::Load &&
         (order == tile::MemoryOrder::Release || order == tile::MemoryOrder::AcqRel ||
          order == tile::MemoryOrder::SeqCst);
}

} // namespace

bool Machine::hasOrders(tile::LaunchOp launch) {
  bool hasRelease = false, hasAcquire = false;
  launch.walk([&](tile::AtomicOp op) {
    hasRelease |= releases(op);
    hasAcquire |= acquires(op);
  });
  return hasRelease && hasAcquire;
}

void Machine::order(llvm::ArrayRef<Agent*> agents) {
  ++meetings;
  Block& block = *agents.front()->block;
  if (followsOrders)
    shareClocks(agents);
  for (Agent* agent : agents)
    agent->meeting = meetings;
  if (agents.size() == block.agents.size()) {
    block.round = meetings;
    for (Agent* agent : agents)
      agent->known = nullptr;
    return;
  }
  // Those who met before and nobody else have theirs to themselves.
  const Knowledge* first = agents.front()->known.get();
  const bool areSame =
      first && agents.front()->known.use_count() == long(agents.size()) &&
      llvm::all_of(agents, [&](Agent* agent) { return agent->known.get() == first; });
  if (!areSame) {
    auto together = std::make_shared<Knowledge>(block.agents.size(), 0);
    const Knowledge* added = nullptr;
    for (Agent* agent : agents) {
      const Knowledge* own = agent->known.get();
      if (own && own != added)
        for (auto [all, more] : llvm::zip(*together, *own))
          all = std::max(all, more);
      added = own;
    }
    for (Agent* agent : agents)
      agent->known = together;
  }
  for (Agent* agent : agents)
    (*agent->known)[size_t(agent->thread)] = meetings;
}

ThreadPlace Machine::placeOf(const Agent& agent) {
  return {.block = agent.block->number,
          .thread = agent.thread,
          .blockRound = agent.block->round,
          .meeting = agent.meeting,
          .known = agent.known.get(),
          .others = agent.others.get()};
}

void Machine::shareClocks(llvm::ArrayRef<Agent*> agents) {
  if (llvm::all_of(agents, [&](Agent* agent) { return agent->others == agents[0]->others; }))
    return;
  auto together = std::make_shared<Clock>();
  const Clock* added = nullptr;
  for (Agent* agent : agents) {
    const Clock* own = agent->others.get();
    if (own && own != added)
      together->join(*own);
    added = own;
  }
  for (Agent* agent : agents)
    agent->others = together;
}

void Machine::synchronize(Agent& agent, tile::AtomicOp op, BufferValue& target,
                          llvm::ArrayRef<int64_t> indices) {
  if (!agent.block || target.type.isPerThread())
    return;
  for (auto [index, extent] : llvm::zip(indices, target.shape))
    if (index < 0 || index >= extent)
      return;
  Access& access = accessOf(*target.storage, target.bitOffset(indices));
  if (!access.ordered)
    access.ordered = std::make_unique<OrderedElement>();
  std::shared_ptr<const Clock>& released = access.ordered->released;
  if (acquires(op))
    acquire(agent, released);
  if (op.getKind() == tile::AtomicKind::Store) // who reads this reads nothing of writes before it
    released = nullptr;
  if (releases(op))
    release(agent, released);
}

void Machine::acquire(Agent& agent, const std::shared_ptr<const Clock>& released) {
  if (!released || released == agent.acquired)
    return;
  agent.acquired = released;
  if (const BlockTimes* own = released->find(agent.block->number);
      own && own->round == agent.block->round && own->threads) {
    const Knowledge* known = agent.known.get();
    auto together = std::make_shared<Knowledge>(*own->threads);
    if (known)
      for (auto [all, more] : llvm::zip(*together, *known))
        all = std::max(all, more);
    agent.known = std::move(together);
  }
  if (!agent.others) {
    agent.others = released;
    return;
  }
  auto together = std::make_shared<Clock>(*agent.others);
  together->join(*released);
  agent.others = std::move(together);
}

void Machine::release(Agent& agent, std::shared_ptr<const Clock>& released) {
  // What comes behind it is of another time.
  Block& block = *agent.block;
  if (running)
    order({&agent});
  else
    order(llvm::to_vector(llvm::make_pointer_range(block.agents)));
  auto clock = released ? std::make_shared<Clock>(*released) : std::make_shared<Clock>();
  if (agent.others && agent.others != released)
    clock->join(*agent.others);
  clock->join(block.number, {block.round, agent.known});
  released = std::move(clock);
}

} // namespace tilewright::interpreter
