// SPDX-License-Identifier: Apache-2.0
/// Gemms that add to what vector instructions have made: nothing leads into L0C, so the product gets a tile of
/// its own there, and the vector unit adds it.
///
///   tile.parallel ... { %c *= ... }
///   tile.for %k = ... { tile.gemm %a, %b into %c }
/// becomes
///   tile.parallel ... { %c *= ... }
///   tile.for %k = ... { tile.gemm %a, %b into %product clear(%first) }
///   tile.copy %product to %product_ub
///   tile.parallel (%i, %j) in ... { %c[%i, %j] += %product_ub[%i, %j] }
///
/// Loops and gemms behind that add to the same part, with nothing else between that uses the tile, are of one
/// product. Where the first gemm is known to clear the tile, the product is copied to it instead; where only
/// the kernel knows, the vector unit clears it before.
///
/// Vector instructions take tiles of a known size. So of a part whose extents the kernel knows as it runs, the product comes
/// to a tile of zeros, and all of that is added; or, where nothing is known to have written all of the tile, to
/// the part in a tile of its own.
#pragma once

#include "compiler/targets/ascend/zero_products.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tilewright::ascend {

class ProductJoiner {
public:
  /// `waits`: what becomes several operations orders them.
  ProductJoiner(ZeroProducts& zeroProducts, bool waits)
      : zeroProducts(zeroProducts), waits(waits) {}

  /// `gemm` writes `tile` or a view of it.
  llvm::LogicalResult join(mlir::func::FuncOp kernel, mlir::Value tile, tile::GemmOp gemm);

private:
  ZeroProducts& zeroProducts;
  bool waits;
};

} // namespace tilewright::ascend
