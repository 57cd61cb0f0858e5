// SPDX-License-Identifier: Apache-2.0
/// Ids of flags between cores. The order of the text is not that of time there: two flags have one id where whoever
/// sets the one knows that the other has been waited for, in every run. So no flag counts, and no wait meets the set
/// of another flag.
#pragma once

#include "compiler/targets/ascend/analysis/insert_flags.h"

namespace tilewright::ascend::model {

/// Why a flag finds no id.
struct CrossShortage {
  /// Its index among the insertions; kNone: all have ids.
  unsigned insertion = kNone;
  /// Indices of those that are set while it is.
  std::vector<unsigned> together;
  /// With these it finds one: the core that sets one flag must know that another one has been waited for.
  struct Untold {
    unsigned waited = 0, set = 0; ///< indices
    const Node* at = nullptr;     ///< where it is set
  };
  std::vector<Untold> untold;
};

CrossShortage assignCrossIds(Program& program, const Conflicts& conflicts,
                             const std::vector<Insertion>& insertions,
                             const InsertOptions& options);

} // namespace tilewright::ascend::model
