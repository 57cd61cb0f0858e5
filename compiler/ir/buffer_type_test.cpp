// SPDX-License-Identifier: Apache-2.0
// What no text can say, since the parser refuses it: types that are made by calls.
#include "compiler/ir/tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(BufferType, NegativeDimsAreRefused) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect>();
  std::string message;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic& diagnostic) { message = diagnostic.str(); });
  auto refuse = [&] { return mlir::emitError(mlir::UnknownLoc::get(&context)); };
  mlir::Type f32 = mlir::Float32Type::get(&context);
  EXPECT_TRUE(tile::BufferType::getChecked(refuse, llvm::ArrayRef<int64_t>{4, 0}, f32,
                                           tile::MemorySpace::Shared));
  EXPECT_FALSE(tile::BufferType::getChecked(refuse, llvm::ArrayRef<int64_t>{4, -3}, f32,
                                            tile::MemorySpace::Shared));
  EXPECT_EQ(message, "a dim cannot be negative: -3");
}

} // namespace
} // namespace tilewright
