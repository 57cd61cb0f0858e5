// SPDX-License-Identifier: Apache-2.0
/// Whether the kernel's own flags between cores match, in loops of any length. Only flags count for that, so many more turns
/// can be followed than of all statements (interleave.h).
///
///   cube:   for i < n: set 0; set 0
///   vector: for i < n: wait 0           with each n from 1 on a flag is still set at the end
///
/// Of loops whose lengths aren't known, runs of many lengths are followed. Of a kernel that one of them fits nothing is said:
/// it may be made for such lengths.
#pragma once

#include "compiler/targets/ascend/analysis/interleave.h"

namespace tilewright::ascend::model {

struct CrossCounts {
  enum class Kind : uint8_t {
    Unknown, ///< too much to follow, or some lengths fit and others don't
    Match,
    Wrong,     ///< in each run that has some turns
    WrongSoFar ///< in all runs that were followed, of such a length or more
  };
  Kind kind = Kind::Unknown;
  std::vector<Fault> faults = {};
  /// WrongSoFar: of how many turns the shortest of these runs are; 0: of more than can be followed.
  int64_t turns = 0;
};

/// Of a program with all flags, each in its core's own text. Flags that nothing sets, or nothing waits for, are wrong
/// however long loops are.
CrossCounts countCrossFlags(const Program& program);

} // namespace tilewright::ascend::model
