// SPDX-License-Identifier: Apache-2.0
/// What is in order in a kernel that has flags between its cores of its own, or meetings in each kind of core's text:
/// both texts are followed as the flags let the cores go on (analysis/interleave.h). So a flag to the other core and one
/// back order what a core does before the first and behind the second, too.
///
/// Where the lengths of loops aren't known, the first turns stand for all, and runs of few turns are followed besides.
#pragma once

#include "compiler/targets/ascend/analysis/interleave.h"
#include "compiler/targets/ascend/build_program.h"

#include <functional>
#include <memory>

namespace tilewright::ascend {

class OwnOrder {
public:
  explicit OwnOrder(mlir::func::FuncOp kernel);

  /// All flags between the cores, and what they order.
  const ModelOfKernel& model() const {
    return *shown;
  }
  /// Whether the texts can be followed.
  bool isFollowed() const {
    return !runs.empty();
  }
  /// Whether they tell of all turns of all loops.
  bool isComplete() const {
    return runs.front()->order.cut.empty();
  }
  /// What doesn't match, in a run of as many turns as possible: then nothing is told of the order.
  const std::vector<model::Fault>& faults() const {
    return runs.front()->order.faults;
  }
  using Visit = std::function<void(const model::Hazard&, const model::Conflicts&)>;
  void forEachHazard(const Visit& visit) const;
  /// Whether the runs tell of a hazard of the same kernel: of all, or its statements meet in turns that are written out.
  bool tellsOf(const model::Hazard& hazard, const model::Conflicts& conflicts) const;
  /// Leaves out an insertion of the compiler's own, by its number, if nothing is out of order without it that was in order
  /// with all of them.
  bool leaveOut(unsigned insertion);
  /// Whether runs of a few turns are those of all lengths: these differ in one number only.
  bool areOfAllLengths() const;

private:
  struct Run {
    model::Interleaved order;
    model::Conflicts conflicts;
    std::optional<model::Verdict> verdict; ///< with all insertions
    explicit Run(model::Interleaved from) : order(std::move(from)), conflicts(order.program) {}
  };
  void addMeetings() const;

  std::unique_ptr<ModelOfKernel> shown;
  /// The first one is of as many turns as possible.
  std::vector<std::unique_ptr<Run>> runs;
  using OperationPair = std::pair<mlir::Operation*, mlir::Operation*>;
  /// Of the first run, if that isn't all: on chip, and in global memory.
  mutable std::optional<std::array<std::set<OperationPair>, 2>> meetings;
};

} // namespace tilewright::ascend
