// SPDX-License-Identifier: Apache-2.0
/// Parts of tensors in global memory as boxes, which the analyses compare dim by dim.
#pragma once

#include "compiler/ir/npu_access.h"
#include "compiler/targets/ascend/analysis/program.h"
#include "compiler/targets/ascend/index_terms.h"

namespace tilewright::ascend {

/// Adds to `result` what an access of `op` touches of its tensor. Boxes of one tensor meet if they do in each
/// dim, which holds only where each lies within the tensor's dims: of a part of which that isn't known,
/// nothing is.
void setBox(const npu::Access& access, mlir::Operation* op, IndexTerms& indices,
            model::Access& result);

} // namespace tilewright::ascend
