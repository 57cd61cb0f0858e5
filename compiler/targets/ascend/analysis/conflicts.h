// SPDX-License-Identifier: Apache-2.0
/// Which earlier statements a statement must wait for.
///
/// An instance is a statement together with the phases of the loops around it whose numbers are
/// taken modulo something (double buffers), and with what the variables hold that say which part of
/// a tile is meant. A record is an instance in the past, seen from a later point: its `level` says which is the outermost of
/// its loops that has gone on since, and whether by one turn or by more, or that none has (`inSame`).
#pragma once

#include "compiler/targets/ascend/analysis/bit_set.h"
#include "compiler/targets/ascend/analysis/program.h"

#include <optional>

namespace tilewright::ascend::model {

/// The phase of each loop, by node number.
using Phases = std::vector<unsigned>;

struct Record {
  const Node* statement = nullptr;
  unsigned instance = 0;
  unsigned depth = 0; ///< of the loop that has gone on; that of no loop around it: none has
};

class Conflicts {
public:
  explicit Conflicts(const Program& program);

  /// `values`: of variables; empty: none is known.
  unsigned instanceOf(const Node* statement, const Phases& phases,
                      const std::vector<int>& values = {}) const;
  /// Where the loop at a depth has gone on: the newer a record is, the higher is its level.
  static unsigned levelOf(unsigned depth, bool isByOneTurn) {
    return 2 * depth + (isByOneTurn ? 1 : 0);
  }
  struct GoneOn {
    unsigned depth = 0;
    bool isByOneTurn = false;
  };
  static GoneOn goneOnAt(unsigned level) {
    return {level / 2, level % 2 == 1};
  }
  /// The record of an instance; `level` may be from 0 to inSame. Those of one level are side by side, in words of their own.
  unsigned recordOf(unsigned instance, unsigned level) const {
    return level * stride + instance;
  }
  unsigned inSame(unsigned instance) const {
    return levelOf(static_cast<unsigned>(instances[instance].loops.size()), /*isByOneTurn=*/false);
  }
  /// Around an instance, the outermost first.
  const std::vector<const Node*>& loopsOf(unsigned instance) const {
    return instances[instance].loops;
  }
  size_t numInstances() const {
    return instances.size();
  }
  size_t numRecords() const {
    return size_t{numLevels} * stride;
  }
  Record record(size_t number) const {
    const auto instance = static_cast<unsigned>(number % stride);
    return {instances[instance].statement, instance,
            goneOnAt(static_cast<unsigned>(number / stride)).depth};
  }
  /// Of how many levels there are records, and how many words those of a level take.
  unsigned levels() const {
    return numLevels;
  }
  size_t wordsOfLevel() const {
    return stride / kWordBits;
  }
  /// The instances of statements in `loop`.
  const BitSet& instancesIn(const Node* loop) const {
    return instancesByLoop[loop->id];
  }
  /// The depth of `loop`: 0 if it is in no other.
  unsigned depthOf(const Node* loop) const {
    return depths[loop->id];
  }
  int64_t periodOf(const Node* loop) const {
    return period[loop->id];
  }
  /// The records with which an access of `instance` conflicts: overlapping bytes, one of them
  /// written, and not ordered by the machine itself. Of global memory, or of those on chip.
  const BitSet& conflictsOf(unsigned instance, bool isGlobal) const;
  /// The records of what runs on a queue.
  const BitSet& recordsOn(Queue queue) const {
    return byQueue[queue.index()];
  }
  /// The fewest iterations of `loop` from `earlier` to a conflicting `later`, both in it, that are not of one
  /// iteration: at most its period.
  int64_t leastDistance(const Node* earlier, const Node* later, const Node* loop) const;
  /// Accesses that conflict if their bytes meet.
  struct AccessPair {
    const Access* earlier = nullptr;
    const Access* later = nullptr;
  };
  /// Those for which `later` has to wait for `earlier`: in a later iteration of `carriedBy`, or in the same of all if
  /// that is null.
  std::vector<AccessPair> meetingsOf(const Node* earlier, const Node* later,
                                     const Node* carriedBy) const;
  /// True if the loop's phase is the same in both instances, or one is of all phases.
  bool samePhase(unsigned a, unsigned b, const Node* loop) const;

private:
  struct Instance {
    const Node* statement = nullptr;
    std::vector<const Node*> loops;
    std::vector<unsigned> phases; ///< of `loops`
    std::vector<int> numbers;     ///< of the variables that it asks for; kNoValue: not known
  };
  template <typename Visit> void forEachRecord(Visit visit) const;
  void addInstances(const Node& statement);
  void addInstancesOf(Instance& instance);
  std::vector<unsigned> fewVariablesOf(const Node& statement, const Program& program) const;
  unsigned instanceWith(const Node* statement, const Phases& phases,
                        const std::vector<int>& numbers) const;
  /// The numbers of a statement's instances.
  std::pair<unsigned, unsigned> instancesOf(const Node* statement) const;
  /// What a value that never changes is, modulo something.
  struct Residue {
    int64_t modulus = 1, number = 0;
  };
  using Residues = std::map<unsigned, Residue>;
  /// What a value is that can be less than `modulus` numbers.
  std::optional<int64_t> valueBy(const Residues& residues, unsigned value) const;
  /// What a number modulo something is, if the phases and these tell.
  std::optional<int64_t> remainder(const Term& term, const Instance& instance,
                                   const Residues& residues) const;
  /// By value: modulo what the terms of two ranges take it, and 0. Empty if these are too many to try each.
  Residues firstResidues(const Range& a, const Range& b) const;
  unsigned phasesOf(const Node& loop) const;
  /// Whether an instance is of one phase of a loop around it, by that one's depth: only if its statement asks for it.
  /// The phases of any other loop are one, 0.
  bool isOfPhase(const Instance& instance, unsigned depth) const {
    return asked[instance.statement->id] >> depth & 1;
  }
  uint64_t loopsAskedBy(const Node& statement) const;
  unsigned firstAlike(unsigned number, bool isGlobal) const;
  const BitSet& conflictsByPhases(unsigned later, bool isGlobal) const;
  template <typename Visit>
  void forEachPair(unsigned later, bool isGlobal, bool byPhases, Visit visit) const;
  /// Whether no loop moves an access, or a number in it, beyond what its phase says.
  bool isOfPhases(const Access& access) const;
  /// Of two statements; those where both are, or are not, of phases only.
  std::vector<AccessPair> pairsOf(const Node& first, const Node& second, bool isGlobal,
                                  bool byPhases) const;
  bool overlap(const Range& a, const Instance& earlier, unsigned level, const Range& b,
               const Instance& later) const;
  bool canBe(unsigned value, const Residue& residue) const;
  bool overlapWith(const Residues& residues, const Range& a, const Instance& earlier,
                   unsigned level, const Range& b, const Instance& later) const;
  static std::optional<unsigned> goneOn(const Instance& earlier, unsigned level,
                                        const Instance& later, unsigned loops);
  /// By how much a number has changed that is taken modulo something, if that is known: the same in both, but for the shift.
  std::optional<int64_t> change(const Term& term, const Instance& earlier, unsigned level,
                                const Instance& later) const;
  bool isOfPhases(const Term& term) const;
  bool overlapInAll(const AccessPair& pair, unsigned earlierNumber, unsigned level,
                    unsigned laterNumber) const;

  bool areApart(const AccessPair& pair) const {
    return !apart.empty() && apart.contains(placesOf(pair));
  }
  static std::pair<unsigned, unsigned> placesOf(const AccessPair& pair) {
    return std::minmax(pair.earlier->place, pair.later->place);
  }

  Values values; ///< of the program
  std::map<std::pair<unsigned, unsigned>, Apart> apart;
  std::map<unsigned, int> toldApart;            ///< of the program
  std::vector<std::vector<unsigned>> variables; ///< by statement: those that it asks for
  std::vector<int64_t> period;
  std::vector<unsigned> depths;
  std::vector<Instance> instances;
  std::vector<unsigned> firstInstance; ///< by statement
  /// By statement: which accesses it has, bit 2 * isGlobal + isOfPhases.
  std::vector<uint8_t> kinds;
  std::vector<uint64_t> asked; ///< by statement: bit d is that of the loop around it at depth d
  unsigned numLevels = 1, stride = 0;
  std::vector<BitSet> instancesByLoop;
  std::array<BitSet, kQueues> byQueue;
  std::array<std::vector<unsigned>, 2> alike; ///< on chip, global: by instance
  mutable std::array<std::vector<std::optional<BitSet>>, 2> tables, tablesByPhases;
};

} // namespace tilewright::ascend::model
