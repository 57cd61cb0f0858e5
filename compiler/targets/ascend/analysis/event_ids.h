// SPDX-License-Identifier: Apache-2.0
/// Event ids by lifetime.
#pragma once

#include "compiler/targets/ascend/analysis/insert_flags.h"

#include <functional>
#include <set>

namespace tilewright::ascend::model {

/// Gives the flags of `insertions` their ids: two flags between the same two pipes share one if
/// one's waits stand before the other's sets. Ids that the program uses itself between the two pipes
/// are left alone. Where ids don't reach, returns the index of the insertion with the longest life
/// that is in the way, or of one that lives as short as can be and still finds no id; cross-core flags
/// that find none are added to `failures`. kNone: all have ids. `unheldNow` gives the insertions between
/// cores whose flags may be set twice in a row, with the ids that there are.
unsigned assignEventIds(Program& program, const std::vector<Insertion>& insertions,
                        const InsertOptions& options, std::vector<Unorderable>& failures,
                        const std::function<std::set<unsigned>()>& unheldNow);

} // namespace tilewright::ascend::model
