// SPDX-License-Identifier: Apache-2.0
/// Flags that the compiler inserted before share ids. Where whoever sets an id knows that its last wait is over, the
/// k-th wait meets the k-th set of that id, so that each insertion's flag can be looked at by itself: much less of a
/// program has to do with one flag than with one id.
#pragma once

#include "compiler/targets/ascend/analysis/program.h"

namespace tilewright::ascend::model {

/// Gives each insertion (`Sync::owner`) flags of its own, with the ids that they have. Flags of no insertion stay.
void separateFlags(Program& program);

} // namespace tilewright::ascend::model
