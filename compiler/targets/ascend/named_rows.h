// SPDX-License-Identifier: Apache-2.0
/// Which elements the iterations of a nest take of global memory, or of a tile in UB by numbers in memory, and whether they
/// are rows.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"

#include <mlir/IR/IRMapping.h>

#include <optional>

namespace tilewright::ascend {

class NamedRows {
public:
  /// An index: the nest's variable with this number, if any, plus values.
  struct Term {
    std::optional<size_t> variable;
    llvm::SmallVector<mlir::Value> bases;
  };
  /// A load, a store, or an add that the DMA can do, of one element.
  struct Access {
    mlir::Operation* op;
    mlir::Value buffer;
    llvm::SmallVector<Term> terms;
    bool isStore;
  };

  explicit NamedRows(tile::ParallelOp nest);
  static bool isKnown(tile::ParallelOp nest); ///< all extents are

  std::optional<Access> of(mlir::Operation* op);
  /// Whether the access is none that vector instructions can do: of global memory, or by numbers in memory.
  bool isApart(const Access& access);
  /// Whether the last variables of the nest go through the last dims of the buffer in one order, and all else is the same
  /// along them and known before the nest.
  bool areRows(const Access& access);
  /// Whether it is a number that is the same along the rows and known before the nest.
  bool areNumbers(const Access& access);
  /// The first of the variables that go through rows.
  size_t blockOf(const Access& access);
  /// The numbers of those that say which element it is.
  llvm::SmallVector<size_t> variablesOf(const Access& access);
  bool takesAllVariables(const Access& access) {
    return variablesOf(access).size() == extents.size();
  }
  /// Where the rows begin, if that is a number.
  std::optional<int64_t> firstColumn(const Access& access);

  bool isStored(mlir::Value buffer) {
    return storesTo(buffer) > 0;
  }
  int64_t storesTo(mlir::Value buffer);
  bool isLoaded(mlir::Value buffer);
  /// The value as iteration `row` of loops around the rows has it.
  mlir::Value remake(mlir::OpBuilder& builder, mlir::Value value, mlir::IRMapping& row);

  llvm::SmallVector<int64_t> extents;

private:
  Term termOf(mlir::Value index);
  std::optional<size_t> numberOf(mlir::Value value);
  bool isInside(mlir::Value value);
  /// Whether a value can be computed before and behind the nest for iterations of variables before `block`.
  bool isRemade(mlir::Value value, size_t block);
  void collectVariables(mlir::Value value, llvm::SmallVectorImpl<size_t>& numbers);
  bool isNumberInMemory(mlir::Value value);
  bool isKnownBefore(const Access& access);

  tile::ParallelOp nest;
  llvm::SmallVector<mlir::Value> stored, loaded; ///< storages, of all accesses
};

} // namespace tilewright::ascend
