// SPDX-License-Identifier: Apache-2.0
/// What the lowerings of tile operations share: index arithmetic that folds, loop nests, elements
/// of regions.
#pragma once

#include "compiler/ir/region.h"
#include "compiler/targets/cpu/machine.h"

#include <mlir/Dialect/LLVMIR/LLVMAttrs.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::cpu {

/// On a tile.load or tile.store: the llvm.access_group whose loop may run its iterations at once.
inline constexpr llvm::StringLiteral kAccessGroupAttr = "cpu.access_group";
/// On a loop: its llvm.loop_annotation, which lands on the branch back.
inline constexpr llvm::StringLiteral kLoopAttr = "llvm.loop_annotation";

/// Index arithmetic at one place; everything that is known folds.
class IndexMath {
public:
  explicit IndexMath(mlir::ImplicitLocOpBuilder& builder) : builder(builder) {}

  mlir::Value constant(int64_t value) const;
  mlir::Value value(mlir::OpFoldResult number) const;
  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, mlir::Value b) const;
  mlir::Value min(mlir::Value a, mlir::Value b) const;
  mlir::Value max(mlir::Value a, mlir::Value b) const;
  /// i1 values. A missing value stands for true.
  mlir::Value both(mlir::Value a, mlir::Value b) const;
  mlir::Value atMost(mlir::Value a, mlir::Value b) const;
  mlir::Value equal(mlir::Value a, mlir::Value b) const;
  /// The extent of a dim, a constant where it is static.
  mlir::Value dim(mlir::Value buffer, int64_t number) const;

private:
  mlir::ImplicitLocOpBuilder& builder;
};

/// A half-open range of a loop.
struct Range {
  mlir::Value lower, upper;
};

using NestBody = llvm::function_ref<void(mlir::ImplicitLocOpBuilder&, mlir::ValueRange)>;

/// A nest of scf.for, the last range innermost; the body is built inside the innermost.
void buildNest(mlir::ImplicitLocOpBuilder& builder, llvm::ArrayRef<Range> ranges, NestBody body);

/// As buildNest, and its iterations may run in any order or at once (but for what carriesMemory knows), in vectors that suit `machine`.
void buildParallelNest(mlir::ImplicitLocOpBuilder& builder, llvm::ArrayRef<Range> ranges,
                       NestBody body, const Machine* machine = nullptr);

/// The elements of a vector, and how many vectors go side by side; 0 leaves it to LLVM.
struct VectorShape {
  int64_t width = 0;
  int64_t sideBySide = 0;
};

/// What suits the innermost of a nest of loops; only for AVX2 anything but LLVM's choice.
/// exp is a chain of 16 operations that wait for each other, and a Zen 3 has too few of the turns one after the other
/// under way: 9.8 cycles for 8 elements in rows of 64, 8.8 with four vectors side by side. Two vectors of float32
/// become one of bfloat16 with half of the shuffles.
VectorShape chooseVectors(mlir::Operation* innermost, llvm::ArrayRef<Range> ranges,
                          const Machine& machine);

/// The element of a buffer, in bounds by construction.
mlir::Value loadElement(mlir::ImplicitLocOpBuilder& builder, mlir::Value buffer,
                        mlir::ValueRange indices);
void storeElement(mlir::ImplicitLocOpBuilder& builder, mlir::Value value, mlir::Value buffer,
                  mlir::ValueRange indices);

/// `value` of element type `from` (with signedness) as element type `to`: floats round to nearest
/// even and go to integers toward zero, saturating; integers wrap; bool is "not 0".
mlir::Value convertElement(mlir::ImplicitLocOpBuilder& builder, mlir::Value value, mlir::Type from,
                           mlir::Type to);

/// 0 of a scalar type.
mlir::Value zero(mlir::ImplicitLocOpBuilder& builder, mlir::Type type);

} // namespace tilewright::cpu
