// SPDX-License-Identifier: Apache-2.0
/// Event ids by lifetime.
#pragma once

#include "compiler/targets/ascend/analysis/insert_flags.h"

namespace tilewright::ascend::model {

/// Gives the flags of `insertions` within one agent their ids: two flags between the same two pipes share one if
/// one's waits stand before the other's sets. Ids that the program uses itself between the two pipes
/// are left alone. Where ids don't reach, returns the index of the insertion with the longest life
/// that is in the way, or of one that lives as short as can be and still finds no id. kNone: all have ids.
unsigned assignEventIds(Program& program, const std::vector<Insertion>& insertions,
                        const InsertOptions& options);

} // namespace tilewright::ascend::model
