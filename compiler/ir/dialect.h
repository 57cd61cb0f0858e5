// SPDX-License-Identifier: Apache-2.0
/// The tile dialect's type, attributes and enums.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include "compiler/ir/tile_dialect.h.inc"

#include "compiler/ir/tile_enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/ir/tile_attrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/ir/tile_types.h.inc"

namespace tilewright::tile {

/// Discardable attributes of kernels and of their arguments.
inline constexpr llvm::StringLiteral kKernelAttr = "tile.kernel"; // unit, on func.func
inline constexpr llvm::StringLiteral kNameAttr =
    "tile.name"; // string, on every tensor and scalar argument
inline constexpr llvm::StringLiteral kSymbolAttr =
    "tile.symbol"; // string, on index arguments after the others
inline constexpr llvm::StringLiteral kScalarAttr =
    "tile.scalar"; // string, on symbols that a scalar argument gives: its name
inline constexpr llvm::StringLiteral kDtypeAttr =
    "tile.dtype"; // type as the user wrote it, on scalar arguments
inline constexpr llvm::StringLiteral kPointeeAttr =
    "tile.pointee"; // type of the elements, on scalar arguments that are addresses
inline constexpr llvm::StringLiteral kRangeAttr =
    "tile.range"; // of a load, by the compiler: the least and the largest that it reads in any run
inline constexpr llvm::StringLiteral kShapeAttr = "tile.shape"; // affine map: symbols to dims
inline constexpr llvm::StringLiteral kStridesAttr =
    "tile.strides"; // affine map: symbols to strides in elements

} // namespace tilewright::tile
