// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mlir/IR/Dialect.h>

namespace tilewright::cpu {

/// Checks the attributes of attributes.h in IR text, which anyone may write: passes divide by some of them. It has no
/// ops and types. Only `tilewright-opt` has it: a kernel comes to the pipeline without such attributes.
class AttributeChecks : public mlir::Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AttributeChecks)
  explicit AttributeChecks(mlir::MLIRContext* context);
  static constexpr llvm::StringLiteral getDialectNamespace() {
    return llvm::StringLiteral("cpu");
  }
  mlir::LogicalResult verifyOperationAttribute(mlir::Operation* op,
                                               mlir::NamedAttribute attribute) override;
};

} // namespace tilewright::cpu
