// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/event_ids.h"

#include <algorithm>
#include <optional>

namespace tilewright::ascend::model {
namespace {

/// From the first set to the last wait, in text order.
struct Life {
  unsigned first = kNone, last = 0;
};

class Positions {
public:
  Positions(const Program& program, size_t numFlags) : lives(numFlags) {
    number(program.body);
  }
  std::vector<Life> lives; ///< by flag

private:
  void number(const Block& block) {
    for (const Node* node : block) {
      note(node->before);
      number(node->body);
      number(node->otherwise);
      note(node->after);
    }
  }
  void note(const std::vector<Sync>& syncs) {
    for (const Sync& sync : syncs) {
      ++position;
      if (sync.insertion == kNone || sync.flag == kNone)
        continue;
      for (unsigned slot = 0; slot < sync.slots; ++slot) {
        Life& life = lives[sync.flag + slot];
        life.first = std::min(life.first, position);
        life.last = std::max(life.last, position);
      }
    }
  }
  unsigned position = 0;
};

struct Waiting {
  unsigned insertion = 0;
  unsigned flag = 0; ///< the first of `slots`
  Life life;
};

/// True if both take ids of the same pool.
bool isSamePool(const Flag& a, const Flag& b) {
  return a.isCross == b.isCross && (a.isCross || (a.from == b.from && a.to == b.to));
}

/// The first of `slots` free ids that were used the longest ago, or kNone: so a flag is rarely set
/// again before its last wait is over.
template <typename IsFree, typename LastUse>
unsigned freeId(unsigned slots, unsigned begin, unsigned end, IsFree isFree, LastUse lastUse) {
  unsigned best = kNone, bestUse = kNone;
  for (unsigned id = begin; id + slots <= end; ++id) {
    unsigned use = 0;
    bool allFree = true;
    for (unsigned slot = 0; slot < slots; ++slot) {
      allFree = allFree && isFree(id + slot);
      use = std::max(use, lastUse(id + slot));
    }
    if (allFree && use < bestUse) {
      best = id;
      bestUse = use;
    }
  }
  return best;
}

/// Gives ids, the first of the text first.
class Assigner {
public:
  Assigner(Program& program, const std::vector<Insertion>& insertions, const InsertOptions& options,
           const std::function<std::set<unsigned>()>& unheldNow)
      : program(program), insertions(insertions), options(options), unheldNow(unheldNow),
        users(program.reserved) {
    const Positions positions(program, program.flags.size());
    for (unsigned i = 0; i < insertions.size(); ++i) {
      if (insertions[i].isBarrier)
        continue;
      waiting.push_back({i, insertions[i].firstFlag, positions.lives[insertions[i].firstFlag]});
      take(waiting.back(), kNone);
    }
    for (const Node& node : program.nodes)
      if (node.kind == NodeKind::Sync && node.sync.flag != kNone)
        for (unsigned slot = 0; slot < node.sync.slots; ++slot)
          users.insert(node.sync.flag + slot);
    std::sort(waiting.begin(), waiting.end(), [](const Waiting& a, const Waiting& b) {
      return std::pair(a.life.first, a.insertion) < std::pair(b.life.first, b.insertion);
    });
  }

  unsigned run(std::vector<Unorderable>& failures) {
    for (const Waiting& each : waiting) {
      std::set<unsigned> refused;
      if (!assign(each, refused)) {
        const Insertion& insertion = insertions[each.insertion];
        const unsigned crowded = longestInTheWay(each);
        if (crowded != kNone)
          return crowded;
        if (!insertion.isCross)
          return each.insertion;
        if (refused.empty()) {
          failures.push_back({insertion.why, "all cross-core flags are taken"});
          return kNone;
        }
        take(each, *refused.begin());
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

  /// Those that were free but may not be taken are added to `refused`.
  bool assign(const Waiting& each, std::set<unsigned>& refused) {
    const bool isCross = flagOf(each).isCross;
    std::optional<std::set<unsigned>> before;
    while (true) {
      const unsigned id = freeId(
          slotsOf(each), isCross ? options.firstCross : 0,
          isCross ? options.endCross : options.numEvents,
          [&](unsigned number) { return isFree(number, each) && !refused.contains(number); },
          [&](unsigned number) { return lastUse(number, each); });
      if (id == kNone)
        return false;
      if (!isCross || !isUsed(id, each)) {
        take(each, id);
        return true;
      }
      // Between cores the order of the text is not that of time: whoever sets an id that has been used before
      // must know that it has been waited for.
      if (!before)
        before = unheldNow();
      take(each, id);
      if (std::ranges::includes(*before, unheldNow()))
        return true;
      take(each, kNone);
      refused.insert(id);
    }
  }

  bool isUsed(unsigned id, const Waiting& each) const {
    for (unsigned slot = 0; slot < slotsOf(each); ++slot)
      if (lastUse(id + slot, each) > 0)
        return true;
    return false;
  }

  /// The one to shorten: the longest that is in the way, or this one.
  unsigned longestInTheWay(const Waiting& each) const {
    unsigned crowded = kNone, longest = 0;
    const auto consider = [&](const Waiting& candidate) {
      const unsigned length = candidate.life.last - candidate.life.first;
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
  const std::function<std::set<unsigned>()>& unheldNow;
  std::set<unsigned> users;
  std::vector<Waiting> waiting;
  std::vector<const Waiting*> done;
};

} // namespace

unsigned assignEventIds(Program& program, const std::vector<Insertion>& insertions,
                        const InsertOptions& options, std::vector<Unorderable>& failures,
                        const std::function<std::set<unsigned>()>& unheldNow) {
  return Assigner(program, insertions, options, unheldNow).run(failures);
}

} // namespace tilewright::ascend::model
