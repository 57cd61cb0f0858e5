// SPDX-License-Identifier: Apache-2.0
/// What of a program decides whether given pairs of statements are in order. So much more of it can be written out.
///
/// What a queue knows of one statement doesn't depend on the others: all of them can go. A flag or barrier only adds to
/// what is known, so it can go as well, all ends of a flag together: then less is proven, never more. Those that stay are
/// between the two statements of a pair, or in a loop around both, on queues that lead from the one to the other.
#pragma once

#include "compiler/targets/ascend/analysis/happens_before.h"

#include <set>
#include <utility>
#include <vector>

namespace tilewright::ascend::model {

class Slice {
public:
  /// `withAllSyncs`: also what decides whether a core may run ahead of another.
  Slice(const Program& program, std::set<NodePair> pairs, bool withAllSyncs);
  /// What decides whether whoever sets the flag of an insertion between cores knows that all sets of its id before have been
  /// waited for: the same of waits in place of statements.
  static Slice ofHeld(const Program& program, unsigned insertion);
  /// The flags and meetings between cores, with the loops and branches around them, and nothing else.
  static Slice ofCores(const Program& program);

  /// Whether a hazard between two statements is one of those asked for.
  bool isAsked(const Node* earlier, const Node* later) const {
    return pairs.contains({earlier, later});
  }
  /// Whether anything of a node itself stays: of a statement also its barrier inside.
  bool keeps(const Node* node) const {
    return kept[node->id];
  }
  bool keepsAccesses(const Node* statement) const {
    return statements.contains(statement);
  }
  bool keeps(const Sync& sync, const Node* at) const;
  /// Whether anything of what the compiler inserted stays. Else it tells nothing of any of the pairs.
  bool keepsInsertion(unsigned number) const {
    return insertions.contains(number);
  }
  /// Whether a loop or branch is around what is asked about.
  bool isAround(const Node* node) const {
    return around.contains(node);
  }
  /// Whether a branch, or a statement, that stays asks for a variable.
  bool asksFor(unsigned variable) const {
    return variables.contains(variable);
  }

private:
  /// Queues, and what an agent has been told by flags between cores.
  static constexpr unsigned kPlaces = kQueues + 2;
  using Places = std::vector<bool>;

  explicit Slice(const Program& program);
  void addInterval(const Node* earlier, const Node* later);
  void findPlaces(const Program& program);
  bool leads(const Program& program, const Sync& sync) const;
  void keepFlags(const Program& program);
  void keepNodes(const Program& program);

  std::set<NodePair> pairs;
  bool withAllSyncs = false;
  std::set<const Node*> statements;
  std::set<const Node*> around; ///< the statements, or sets and waits that are asked for
  std::vector<bool> inside;     ///< by node: between the two of a pair, or in a loop with them
  /// Where what is known of earlier statements comes, and from where later ones learn.
  Places fromEarlier, toLater;
  std::vector<bool> flags; ///< that stay
  std::vector<bool> kept;  ///< by node
  std::set<unsigned> variables, insertions;
};

/// Those between the same queues together: a slice of few pairs is small.
std::vector<std::set<NodePair>> byQueues(const std::set<NodePair>& pairs);

} // namespace tilewright::ascend::model
