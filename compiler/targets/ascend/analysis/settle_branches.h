// SPDX-License-Identifier: Apache-2.0
/// What the loops and branches around a branch or statement say of what it asks: `if k >= m` inside of `if k < m` is
/// never taken. Neither the walk (happens_before.h) nor what is written out (unroll.h) compares conditions.
#pragma once

#include "compiler/targets/ascend/analysis/program.h"

namespace tilewright::ascend::model {

/// Conditions that always hold, or never, where they stand become constant ones.
void settleBranches(Program& program);

} // namespace tilewright::ascend::model
