// SPDX-License-Identifier: Apache-2.0
/// What a reduction does with two values.
#pragma once

#include "compiler/ir/tensor_ops.h"

#include <mlir/Dialect/Vector/IR/VectorOps.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::cpu {

/// What is computed, on scalars or vectors.
class Combiner {
public:
  /// `element` has signedness; floats narrower than float32 become float32.
  Combiner(tile::ReduceKind kind, mlir::Type element, bool propagateNan);

  mlir::Type type() const {
    return accumulator;
  }

  bool takesMagnitudes() const {
    return kind == tile::ReduceKind::AbsSum || kind == tile::ReduceKind::AbsMax;
  }

  /// What leaves everything as it is, of type `type` (the accumulator's, or a vector of it).
  mlir::Value identity(mlir::ImplicitLocOpBuilder& builder, mlir::Type type) const;

  /// An element as it enters: widened, and without its sign for the kinds of absolute values.
  mlir::Value enter(mlir::ImplicitLocOpBuilder& builder, mlir::Value value) const;

  mlir::Value combine(mlir::ImplicitLocOpBuilder& builder, mlir::Value a, mlir::Value b) const;

  /// As combine, where `sum` began as the identity and has taken values only so: it is no NaN unless NaN is propagated,
  /// which makes a maximum or minimum of floats one instruction where combine is three.
  mlir::Value accumulate(mlir::ImplicitLocOpBuilder& builder, mlir::Value sum,
                         mlir::Value value) const;

  /// The halves of a vector combined, until `count` lanes are left.
  mlir::Value combineHalves(mlir::ImplicitLocOpBuilder& builder, mlir::Value lanes,
                            int64_t count) const;

  /// The lanes of a vector combined. Maximum and minimum of floats by halves: LLVM goes lane by lane, since
  /// it takes their order to matter.
  mlir::Value reduceLanes(mlir::ImplicitLocOpBuilder& builder, mlir::Value lanes) const;

private:
  /// Magnitudes are unsigned: that of the lowest integer is the largest.
  bool comparesUnsigned() const {
    return isUnsigned || kind == tile::ReduceKind::AbsMax;
  }

  llvm::APFloat floatIdentity() const;

  llvm::APInt integerIdentity() const;

  mlir::vector::CombiningKind lanesKind() const;

  tile::ReduceKind kind;
  mlir::Type element;
  bool propagateNan, isFloat, isUnsigned;
  mlir::Type accumulator;
};

} // namespace tilewright::cpu
