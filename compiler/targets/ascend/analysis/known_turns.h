// SPDX-License-Identifier: Apache-2.0
/// What is known in the turns of loops, kept from one walk of a program to the next, which leaves an insertion out. A turn that
/// begins as before goes as before up to where the insertion stands, and from where behind it all is as it was.
#pragma once

#include "compiler/targets/ascend/analysis/walk.h"

#include <map>
#include <memory>

namespace tilewright::ascend::model {

/// Of loops that stand in no other one, and of long ones.
class KnownTurns {
public:
  /// Of walks that have as many rows and bits as this one.
  explicit KnownTurns(const Program& program, const Walk& walk)
      : program(program), layout(walk.rows()) {}

  /// A walk begins, of the program as it is known, without an insertion or with all of them.
  void begin(Walk& walk, unsigned without);
  /// What the last walk went without is gone: what it has seen is what is known.
  void keep();
  /// The program changes in another way.
  void forget() {
    known.clear();
  }

private:
  struct Pass {
    const Node* loop = nullptr;
    std::vector<Turn> turns; ///< of it, and of the loops around
    /// What is known before some nodes of its body, and at its end.
    std::vector<std::shared_ptr<const States>> before;
  };

  bool walkBody(Walk& walk, const Node* loop, States& states);
  const Pass* find(const Node* loop, const std::vector<Turn>& turns, const States& states) const;
  bool areAs(const States& states, const States& others) const;
  std::shared_ptr<const States> kept(const States& states) const;
  States taken(const States& states, const Walk& walk) const;
  std::pair<size_t, size_t> placesIn(const Node* loop);

  const Program& program;
  const Layout layout;
  unsigned without = kNone;
  std::vector<bool> unused; ///< by flag: nothing of this walk sets it
  std::vector<Pass> known, walked;
  std::map<const Node*, std::pair<size_t, size_t>> places; ///< of what is left out, by loop
};

/// The first node of a block that has something of an insertion, and the one behind the last; both its end if none has.
std::pair<size_t, size_t> placesOf(const Block& block, unsigned insertion);

} // namespace tilewright::ascend::model
