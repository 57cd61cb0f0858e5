// SPDX-License-Identifier: Apache-2.0
/// `check`, more closely where it finds something.
#pragma once

#include "compiler/targets/ascend/analysis/happens_before.h"

namespace tilewright::ascend::model {

/// As `check`, but hazards and faults that no iteration has are left out, where unrolling can tell. Where flags
/// don't match, branches that ask the same go the same way. If flags are mixed, the rest of the verdict means nothing.
Verdict checkIterations(const Program& program, const Conflicts& conflicts);

} // namespace tilewright::ascend::model
