// SPDX-License-Identifier: Apache-2.0
/// Proves that every two conflicting statements are ordered, on every path and in every iteration,
/// and that every wait has its set.
#pragma once

#include "compiler/targets/ascend/analysis/conflicts.h"

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace tilewright::ascend::model {

/// Two statements whose order nothing ensures.
struct Hazard {
  const Node* earlier = nullptr;
  const Node* later = nullptr;
  /// The loop of whose iterations the later one is in a later; null if in the same of all.
  const Node* carriedBy = nullptr;
  /// Bit d: both are in the same phase of the loop around both at depth d.
  unsigned samePhases = 0;
  bool operator==(const Hazard& other) const = default;
};

enum class FaultKind : uint8_t {
  SetTwice,     ///< set again before anything waited for it
  NeverSet,     ///< waits for what nothing has set
  OnePathOnly,  ///< set (or waited for) on one path to this point, but not on another
  NotWaitedFor, ///< still set at the end
  Unbalanced,   ///< a loop's iteration sets more than it waits for, or the other way round
};

struct Fault {
  FaultKind kind = FaultKind::NeverSet;
  const Node* at = nullptr; ///< null: the end of the program
  unsigned flag = kNone;
  bool operator==(const Fault& other) const = default;
};

using NodePair = std::pair<const Node*, const Node*>;

/// Which run leaves a pair of statements unordered, or what keeps the proof from telling whether one does.
struct Finding {
  enum class Kind : uint8_t {
    Shown,      ///< this run, as far as loops and branches tell
    Turns,      ///< not all turns of `loop` are told apart
    Statements, ///< with its turns written out, too much decides it
    Cases,      ///< there are too many cases
  } kind = Kind::Shown;
  /// What values that never change are in that run; of Cases those that tell cases apart.
  Values values = {};
  const Node* loop = nullptr;
  /// In which turns of the loops around them the two are, by loop, from 0.
  std::map<const Node*, int64_t> turnsOfEarlier = {}, turnsOfLater = {};
};
using Findings = std::map<NodePair, Finding>;

struct Verdict {
  std::vector<Hazard> hazards; ///< by the later statement, in text order
  Findings findings;           ///< of their statements (`checkIterations`)
  std::vector<Fault> faults;
  /// Faults on ways through several branches, which may never be gone (of `checkIterations`).
  std::vector<Fault> unproven;
  /// Insertions between cores whose flag may be set again before the set before has been waited for: nothing
  /// keeps one core from running ahead.
  std::set<unsigned> unheld;
  /// Of separated flags (separate_flags.h): one between cores may be set before the last wait for another one of its
  /// id is over, which may then take it for the other.
  bool areMixed = false;
  bool isClean() const {
    return hazards.empty() && faults.empty();
  }
};

/// Nodes with `insertion` == `without` in their syncs count as if they were not there.
Verdict check(const Program& program, const Conflicts& conflicts, unsigned without = kNone);

/// Of runs in which no tensor is empty.
Verdict checkIfNotEmpty(const Program& program, const Conflicts& conflicts);

using WantedHazard = std::function<bool(const Hazard&)>;
/// By the number of an insertion.
using IsWantedFlag = std::function<bool(unsigned)>;

/// Of all hazards, those of the first later statement in the text that has a wanted one. Whoever covers one
/// after the other need not be told of all others each time: there may be as many as pairs of statements.
std::vector<Hazard> hazardsOfFirst(const Program& program, const Conflicts& conflicts,
                                   const WantedHazard& isWanted);

/// What keeps two flags between cores from having one id, by their indices: the one that is set, and the other.
struct CrossTimes {
  /// Where the one is set by a core that doesn't know that the last wait for the other is over.
  std::map<std::pair<unsigned, unsigned>, const Node*> untold;
  /// The one is set while the other is.
  std::set<std::pair<unsigned, unsigned>> together;
};

CrossTimes crossTimes(const Program& program, const Conflicts& conflicts);

/// Whether there is any wanted one, without an insertion, or a flag between cores that is not held and must be, or
/// an inserted flag that doesn't match: behind a wait that never ends nothing is proven.
bool hasHazard(const Program& program, const Conflicts& conflicts, const WantedHazard& isWanted,
               unsigned without, const IsWantedFlag& mustBeHeld);

} // namespace tilewright::ascend::model
