// SPDX-License-Identifier: Apache-2.0
/// Whether two statements can touch the same elements of a tensor in one turn of the loops around both, or on the two
/// vector cores of a block, by all that the kernel computes their places from: what a guard leaves lies in parts beside
/// each other, of which often only one has any element. What the analyses know of an access (its least and greatest
/// numbers) can't tell.
#pragma once

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/npu_access.h"
#include "compiler/targets/ascend/integer_choices.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <optional>

namespace tilewright::ascend {

class MeetingProof {
public:
  explicit MeetingProof(mlir::func::FuncOp kernel);

  /// Whether numbers decide if, or where, an access happens: else there is nothing to prove here.
  static bool isDecidedByNumbers(mlir::Operation* op, const npu::Access& access);
  /// Whether two accesses of one tensor never meet. False also where that isn't known.
  bool areApart(mlir::Operation* earlier, const npu::Access& first, mlir::Operation* later,
                const npu::Access& second, bool areOfOneCore);
  /// Whether vector core `vid` and the other one of its block never meet in `op` and `other`, in whatever turns.
  bool areApartOnVectors(int64_t vid, mlir::Operation* op, const npu::Access& access,
                         mlir::Operation* other, const npu::Access& itsAccess);

private:
  IndexRanges ranges;
  unsigned questions = 0;
};

} // namespace tilewright::ascend
