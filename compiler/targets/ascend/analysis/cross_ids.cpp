// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/analysis/cross_ids.h"
#include "compiler/targets/ascend/analysis/flag_lives.h"

#include <algorithm>
#include <tuple>

namespace tilewright::ascend::model {
namespace {

using Untold = CrossShortage::Untold;

class CrossIds {
public:
  CrossIds(Program& program, const Conflicts& conflicts, const std::vector<Insertion>& insertions,
           const InsertOptions& options)
      : program(program), insertions(insertions), options(options), positions(program) {
    std::set<unsigned> flags; // meetings have one together
    for (unsigned i = 0; i < insertions.size(); ++i)
      if (insertions[i].isCross && flags.insert(insertions[i].firstFlag).second) {
        waiting.push_back(i);
        take(i, kNone);
      }
    if (waiting.empty())
      return;
    times = crossTimes(program, conflicts);
    // Meetings never do without their id.
    std::ranges::sort(waiting, {}, [&](unsigned i) {
      return std::tuple(insertions[i].meeting == kNone, lifeOf(i).first, i);
    });
    for (const unsigned flag : program.reserved)
      noteUser(flag);
    for (const Node& node : program.nodes)
      if (node.kind == NodeKind::Sync && node.sync.flag != kNone)
        for (unsigned slot = 0; slot < node.sync.slots(); ++slot)
          noteUser(node.sync.flag + slot);
  }

  CrossShortage run() {
    CrossShortage shortage;
    for (const unsigned each : waiting) {
      if (assign(each, shortage))
        continue;
      shortage.insertion = each;
      for (const unsigned other : waiting)
        if (other != each && areTogether(each, other))
          shortage.together.push_back(other);
      for (const unsigned other : waiting)
        take(other, kNone);
      break;
    }
    return shortage;
  }

private:
  /// What keeps an insertion from an id.
  struct Way {
    unsigned id = kNone;
    std::vector<Untold> untold;
    unsigned lastUse = 0;
    bool isBehindAll = true; ///< it comes behind all that its core must know of
    bool isOpen = true;      ///< nothing else keeps it
  };

  const Life& lifeOf(unsigned i) const {
    return positions.lives[insertions[i].firstFlag];
  }

  void noteUser(unsigned flag) {
    if (program.flags[flag].isCross)
      users.insert(program.flags[flag].id);
  }

  void take(unsigned i, unsigned id) {
    for (unsigned slot = 0; slot < insertions[i].slots; ++slot)
      program.flags[insertions[i].firstFlag + slot].id = id == kNone ? kNone : id + slot;
  }

  bool areTogether(unsigned i, unsigned j) const {
    for (unsigned a = 0; a < insertions[i].slots; ++a)
      for (unsigned b = 0; b < insertions[j].slots; ++b)
        if (areFlagsTogether(insertions[i].firstFlag + a, insertions[j].firstFlag + b))
          return true;
    return false;
  }
  bool areFlagsTogether(unsigned a, unsigned b) const {
    return times.together.contains({a, b}) || times.together.contains({b, a});
  }

  /// Of the ids from `id` on.
  Way wayTo(unsigned id, unsigned each) const {
    Way way{.id = id, .untold = {}};
    for (unsigned slot = 0; slot < insertions[each].slots; ++slot) {
      way.isOpen = way.isOpen && !users.contains(id + slot);
      for (const unsigned other : done)
        for (unsigned b = 0; b < insertions[other].slots; ++b)
          if (program.flags[insertions[other].firstFlag + b].id == id + slot)
            meet(each, insertions[each].firstFlag + slot, other, insertions[other].firstFlag + b,
                 way);
    }
    return way;
  }

  /// Two flags that are to have one id.
  void meet(unsigned each, unsigned flag, unsigned other, unsigned otherFlag, Way& way) const {
    way.isOpen = way.isOpen && !areFlagsTogether(flag, otherFlag);
    way.lastUse = std::max(way.lastUse, lifeOf(other).last);
    if (const auto found = times.untold.find({flag, otherFlag}); found != times.untold.end()) {
      way.untold.push_back({other, each, found->second});
      way.isBehindAll = way.isBehindAll && lifeOf(other).last < lifeOf(each).first;
    }
    if (const auto found = times.untold.find({otherFlag, flag}); found != times.untold.end()) {
      way.untold.push_back({each, other, found->second});
      way.isBehindAll = false;
    }
  }

  /// What its own core must know before it sets a flag again.
  std::vector<Untold> untoldOfItself(unsigned each) const {
    std::vector<Untold> untold;
    for (unsigned slot = 0; slot < insertions[each].slots; ++slot) {
      const unsigned flag = insertions[each].firstFlag + slot;
      if (const auto found = times.untold.find({flag, flag}); found != times.untold.end())
        untold.push_back({each, each, found->second});
    }
    return untold;
  }

  /// False where there is none; then with what would help.
  bool assign(unsigned each, CrossShortage& shortage) {
    shortage.untold = untoldOfItself(each);
    if (!shortage.untold.empty())
      return false;
    std::vector<Way> ways;
    unsigned best = kNone, bestUse = kNone;
    for (unsigned id = options.firstCross; id + insertions[each].slots <= options.endCross; ++id) {
      Way way = wayTo(id, each);
      if (!way.isOpen)
        continue;
      if (way.untold.empty() && way.lastUse < bestUse) {
        best = id;
        bestUse = way.lastUse;
      }
      ways.push_back(std::move(way));
    }
    if (best != kNone) {
      take(each, best);
      done.push_back(each);
      return true;
    }
    shortage.untold = wayToTell(std::move(ways));
    return false;
  }

  /// If its core knew of half of the waits before it, it could do without the other half, and cores still run apart.
  static std::vector<Untold> wayToTell(std::vector<Way> ways) {
    if (ways.empty())
      return {};
    std::ranges::sort(ways, {}, [](const Way& way) {
      return std::tuple(!way.isBehindAll, way.isBehindAll ? 0 : way.untold.size(), way.lastUse,
                        way.id);
    });
    const auto behindAll = std::ranges::count_if(ways, &Way::isBehindAll);
    return std::move(ways[static_cast<size_t>(behindAll / 2)].untold);
  }

  Program& program;
  const std::vector<Insertion>& insertions;
  const InsertOptions& options;
  const Positions positions;
  CrossTimes times;
  std::set<unsigned> users; ///< ids
  std::vector<unsigned> waiting, done;
};

} // namespace

CrossShortage assignCrossIds(Program& program, const Conflicts& conflicts,
                             const std::vector<Insertion>& insertions,
                             const InsertOptions& options) {
  return CrossIds(program, conflicts, insertions, options).run();
}

} // namespace tilewright::ascend::model
