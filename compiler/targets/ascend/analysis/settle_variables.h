// SPDX-License-Identifier: Apache-2.0
/// Which way branches on variables go in iterations that are written out: `if i == 2: continue` sets one that each branch
/// behind it asks for.
#pragma once

#include "compiler/targets/ascend/analysis/unroll.h"

namespace tilewright::ascend::model {

/// Of a branch that goes one way, that way stands in its place. Of variables that loops of unknown length say nothing is
/// known.
void settleVariables(Unrolled& unrolled);

} // namespace tilewright::ascend::model
