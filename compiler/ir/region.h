// SPDX-License-Identifier: Apache-2.0
/// A rectangular part of a buffer, as tile operations take it.
#pragma once

#include "compiler/ir/dialect.h"
#include "mlir/IR/Builders.h"

namespace tilewright::tile {

/// `buffer[offset ... offset + extent)` per dim. Offsets and extents are integer attributes or
/// index values.
struct BufferRegion {
  mlir::Value buffer;
  llvm::SmallVector<mlir::OpFoldResult> offsets;
  llvm::SmallVector<mlir::OpFoldResult> extents;

  BufferType type() const {
    return llvm::cast<BufferType>(buffer.getType());
  }
  /// The whole of a buffer of static shape.
  static BufferRegion whole(mlir::Value buffer);
  /// The extents as integers, kDynamic where they are values.
  llvm::SmallVector<int64_t> staticExtents() const;
  llvm::SmallVector<int64_t> staticOffsets() const;
  /// Whether it covers a buffer of static shape from end to end.
  bool isWhole() const;
};

/// Joins the parts in which an op holds a region.
BufferRegion makeRegion(mlir::Value buffer, mlir::ValueRange offsets, mlir::ValueRange extents,
                        llvm::ArrayRef<int64_t> staticOffsets,
                        llvm::ArrayRef<int64_t> staticExtents);

/// The parts of a region, for builders of ops.
struct RegionParts {
  explicit RegionParts(const BufferRegion& region);
  llvm::SmallVector<mlir::Value> offsets, extents;
  llvm::SmallVector<int64_t> staticOffsets, staticExtents;
};

/// Extents that are statically 1 removed.
llvm::SmallVector<int64_t> withoutUnitExtents(llvm::ArrayRef<int64_t> extents);

/// "64x32" for messages, with `?` for what is not static.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// Equal, or not known to differ.
bool mayEqual(int64_t left, int64_t right);
bool mayEqual(llvm::ArrayRef<int64_t> left, llvm::ArrayRef<int64_t> right);

/// The two sides' extents agree in order, leaving out those that are 1.
llvm::LogicalResult verifySameExtents(mlir::Operation* op, llvm::StringRef leftRole,
                                      llvm::ArrayRef<int64_t> left, llvm::StringRef rightRole,
                                      llvm::ArrayRef<int64_t> right);

/// Ranks agree, extents aren't negative, and what is known to lie outside of an on-chip buffer is
/// refused. `role` names the region in messages ("copy source").
llvm::LogicalResult verifyRegion(mlir::Operation* op, llvm::StringRef role,
                                 const BufferRegion& region);

/// The region of these parts if they fit together (as many operands as unknown numbers) and it
/// verifies.
mlir::FailureOr<BufferRegion> verifiedRegion(mlir::Operation* op, llvm::StringRef role,
                                             mlir::Value buffer, mlir::ValueRange offsets,
                                             mlir::ValueRange extents,
                                             llvm::ArrayRef<int64_t> staticOffsets,
                                             llvm::ArrayRef<int64_t> staticExtents);

mlir::ParseResult parseRegion(mlir::OpAsmParser& parser,
                              mlir::OpAsmParser::UnresolvedOperand& buffer,
                              llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand>& offsets,
                              llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand>& extents,
                              mlir::DenseI64ArrayAttr& staticOffsets,
                              mlir::DenseI64ArrayAttr& staticExtents, mlir::Type& type);
void printRegion(mlir::OpAsmPrinter& printer, mlir::Operation* op, mlir::Value buffer,
                 mlir::OperandRange offsets, mlir::OperandRange extents,
                 mlir::DenseI64ArrayAttr staticOffsets, mlir::DenseI64ArrayAttr staticExtents,
                 mlir::Type type);

} // namespace tilewright::tile
