// SPDX-License-Identifier: Apache-2.0
/// Loops of unknown length that make as many turns as one before them: what both go to is one number.
#pragma once

#include "compiler/targets/ascend/analysis/program.h"

namespace tilewright::ascend {

/// Of those in one block whose length no argument says (`for j in T.serial(counts[i])`: what copies, and what works on
/// that, go over as many rows), all but the first have a turn if that has one.
void tieLoops(model::Program& program);

} // namespace tilewright::ascend
