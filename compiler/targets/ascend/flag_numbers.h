// SPDX-License-Identifier: Apache-2.0
/// The numbers of flags that a kernel sets by hand, by the turns of the loops around.
#pragma once

#include "compiler/targets/ascend/index_terms.h"

namespace tilewright::ascend {

struct FlagNumber {
  int64_t least = 0;
  std::vector<model::Term> turns; ///< what they add to that, as `model::Sync` has it
};

/// Of a number that is always one of 0 to `last`, and known in each turn; `program` has the loops.
std::optional<FlagNumber> flagNumber(std::optional<IndexSum> number, const model::Program& program,
                                     int64_t last);

} // namespace tilewright::ascend
