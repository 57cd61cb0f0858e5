// SPDX-License-Identifier: Apache-2.0
/// Instructions and waits as statements of Ascend C.
#pragma once

#include "compiler/targets/ascend/source_text.h"

#include "compiler/ir/npu_ops.h"

#include <optional>

namespace tilewright::ascend {

/// How a tensor in global memory is addressed.
struct GlobalLayout {
  std::string name;                ///< of its GlobalTensor
  std::vector<Expression> strides; ///< elements, per dim
  std::vector<Expression> shape;
};

using GlobalLayouts = llvm::DenseMap<mlir::Value, GlobalLayout>;

/// The statement of one op of `npu` or `ascend`, with its semicolon; nothing for other ops. An
/// `npu.get_value` gives its expression only.
std::optional<std::string> instructionText(mlir::Operation* op, const SourceText& text,
                                           const GlobalLayouts& globals);

} // namespace tilewright::ascend
