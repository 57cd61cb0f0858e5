// SPDX-License-Identifier: Apache-2.0
/// In which turns of a loop the branches on its number let a statement run: what `if i < 6` does in none of the turns
/// behind the one in which its other way ran.
#pragma once

#include "compiler/targets/ascend/analysis/program.h"

namespace tilewright::ascend::model {

/// No turn of the loop in which `later` runs is behind one in which `earlier` does. True only if that is known.
bool isNeverBehind(const Node& later, const Node& earlier, const Node& loop);

} // namespace tilewright::ascend::model
