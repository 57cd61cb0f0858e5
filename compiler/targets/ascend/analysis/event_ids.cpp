// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/event_ids.h"
#include "compiler/targets/ascend/analysis/flag_lives.h"

#include <algorithm>

namespace tilewright::ascend::model {
namespace {

struct Waiting {
  unsigned insertion = 0;
  unsigned flag = 0; ///< the first of `slots`
  Life life;
};

/// True if both take ids of the same pool.
bool isSamePool(const Flag& a, const Flag& b) {
  return !a.isCross && !b.isCross && a.from == b.from && a.to == b.to;
}

/// Gives ids, the first of the text first.
class Assigner {
public:
  Assigner(Program& program, const std::vector<Insertion>& insertions, const InsertOptions& options)
      : program(program), insertions(insertions), options(options), users(program.reserved) {
    const Positions positions(program);
    for (unsigned i = 0; i < insertions.size(); ++i) {
      if (insertions[i].isBarrier || insertions[i].isCross)
        continue;
      waiting.push_back({i, insertions[i].firstFlag, positions.lives[insertions[i].firstFlag]});
      take(waiting.back(), kNone);
    }
    for (const Node& node : program.nodes)
      if (node.kind == NodeKind::Sync && node.sync.flag != kNone)
        for (unsigned slot = 0; slot < node.sync.slots(); ++slot)
          users.insert(node.sync.flag + slot);
    std::sort(waiting.begin(), waiting.end(), [](const Waiting& a, const Waiting& b) {
      return std::pair(a.life.first, a.insertion) < std::pair(b.life.first, b.insertion);
    });
  }

  unsigned run() {
    for (const Waiting& each : waiting) {
      if (!assign(each)) {
        const unsigned crowded = longestInTheWay(each);
        return crowded != kNone ? crowded : each.insertion;
      }
      done.push_back(&each);
    }
    return kNone;
  }

private:
  unsigned slotsOf(const Waiting& each) const {
    return insertions[each.insertion].slots;
  }
  const Flag& flagOf(const Waiting& each) const {
    return program.flags[each.flag];
  }

  void take(const Waiting& each, unsigned id) {
    for (unsigned slot = 0; slot < slotsOf(each); ++slot)
      program.flags[each.flag + slot].id = id == kNone ? kNone : id + slot;
  }

  /// Whether `other` has an id of the pool that `each` takes ids of.
  bool hasId(const Waiting& other, unsigned id, const Waiting& each) const {
    const unsigned first = flagOf(other).id;
    return isSamePool(flagOf(other), flagOf(each)) && id >= first && id < first + slotsOf(other);
  }

  bool isFree(unsigned id, const Waiting& each) const {
    return std::ranges::none_of(users,
                                [&](unsigned user) {
                                  return isSamePool(program.flags[user], flagOf(each)) &&
                                         program.flags[user].id == id;
                                }) &&
           std::ranges::none_of(done, [&](const Waiting* other) {
             return hasId(*other, id, each) && other->life.last > each.life.first;
           });
  }

  unsigned lastUse(unsigned id, const Waiting& each) const {
    unsigned last = 0;
    for (const Waiting* other : done)
      if (hasId(*other, id, each))
        last = std::max(last, other->life.last);
    return last;
  }

  bool assign(const Waiting& each) {
    const unsigned id = freeId(
        slotsOf(each), 0, options.numEvents, [&](unsigned number) { return isFree(number, each); },
        [&](unsigned number) { return lastUse(number, each); });
    if (id != kNone)
      take(each, id);
    return id != kNone;
  }

  /// The one to shorten: the longest that is in the way, or this one.
  unsigned longestInTheWay(const Waiting& each) const {
    unsigned crowded = kNone, longest = 0;
    const auto consider = [&](const Waiting& candidate) {
      const unsigned length = candidate.life.length();
      if (insertions[candidate.insertion].setAt && length + 1 > longest &&
          isSamePool(flagOf(candidate), flagOf(each))) {
        longest = length + 1;
        crowded = candidate.insertion;
      }
    };
    consider(each);
    for (const Waiting* other : done)
      if (other->life.last > each.life.first)
        consider(*other);
    return crowded;
  }

  Program& program;
  const std::vector<Insertion>& insertions;
  const InsertOptions& options;
  std::set<unsigned> users;
  std::vector<Waiting> waiting;
  std::vector<const Waiting*> done;
};

} // namespace

unsigned assignEventIds(Program& program, const std::vector<Insertion>& insertions,
                        const InsertOptions& options) {
  return Assigner(program, insertions, options).run();
}

} // namespace tilewright::ascend::model
