// SPDX-License-Identifier: Apache-2.0
/// Nests whose bodies become vectors of our own, where LLVM's vectoriser would not find them or finds worse ones.
///
/// Rows of bfloat16 go by pairs on x86-64. On AVX-512 32 elements are one vector of 32-bit words, of which one shift
/// makes the even elements in float32, and one mask the odd ones:
///
///   %w = llvm.load ... : vector<16xi32>
///   %even = arith.shli %w, 16      %odd = arith.andi %w, 0xffff0000
///
/// A value of n lanes then holds the even elements of n, and behind them the odd ones; what is computed lane by lane
/// doesn't mind, nor does a reduction of all lanes. Widening in order takes twice as many operations, and loads.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/cpu/float_formats.h"
#include "compiler/targets/cpu/machine.h"

#include <llvm/ADT/DenseSet.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::cpu {

/// Whether a nest reads or writes what lies apart (kApartAttr). Only VectorBody knows such vectors, and LowerBuffers such
/// elements: whatever else makes vectors of accesses leaves the nest as it is.
bool isApart(tile::ParallelOp nest);

/// A nest, and what of its body moves along its last variable.
class VectorNest {
public:
  VectorNest(tile::ParallelOp nest, const Machine& machine);

  /// Whether all of the body can be done once a row or on vectors: loads and stores that `mayAccess` agrees to, of
  /// consecutive elements, and arithmetic.
  bool fits(llvm::function_ref<bool(mlir::Operation*)> mayAccess);

  /// Of a nest that fits: whether it gains by going by pairs, `count` lanes at once; it must where elements lie apart
  /// (kApartAttr).
  bool goesByPairs(int64_t count) const;

  /// In vector operations for 2 vectors of float32: what it would gain so. Nothing if it can't.
  std::optional<int64_t> gainByPairs(int64_t count) const;

  /// The most lanes that divide a row, four vectors at best.
  int64_t lanesOfRow();

  /// What it takes to part two vectors of float32, or to join them.
  int64_t shufflesOfFloats() const {
    return hasWideVectors ? 2 : 4;
  }

  int64_t columns() {
    return nest.getStaticExtents().back();
  }

  bool isMoving(mlir::Value value) const {
    return moving.contains(value);
  }

  tile::ParallelOp nest;
  /// Of a vector of float32.
  int64_t lanes;
  /// A store that won't be made, if any: what it is given is only reduced.
  tile::StoreOp unstored;

private:
  bool take(mlir::Operation* op, llvm::function_ref<bool(mlir::Operation*)> mayAccess);
  bool isAlongRow(mlir::Value buffer, mlir::ValueRange indices) const;
  bool isOnVectors(mlir::Operation* op) const;
  bool isFineForPairs(mlir::Operation* op) const;

  bool hasPairs;
  /// AVX-512.
  bool hasWideVectors;
  /// Values that differ along a row.
  llvm::DenseSet<mlir::Value> moving;
};

/// Emits a nest's body on vectors.
class VectorBody {
public:
  /// `byPairs` only where the nest may go so. `roundsNatively`: the machine's own rounding to bfloat16 will do, which
  /// takes subnormal numbers as 0. Nothing where elements lie apart and these vectors don't hold them so.
  static std::optional<VectorBody> make(VectorNest& nest, int64_t lanes, bool byPairs,
                                        bool roundsNatively = false);

  /// One op on one vector; gives what it stores. `values` holds vectors, `indices` scalars. What `isDead` names is not
  /// stored.
  mlir::Value step(mlir::ImplicitLocOpBuilder& builder, mlir::Operation& op,
                   mlir::IRMapping& indices, mlir::IRMapping& values,
                   tile::StoreOp dead = {}) const;

  /// Elements of a vector here.
  const int64_t lanes;

  /// Vectors of what stays along a row and meets what moves; `known` maps such values to those of the row.
  void spreadInvariants(mlir::ImplicitLocOpBuilder& builder, const mlir::IRMapping& known,
                        mlir::IRMapping& values) const;

private:
  VectorBody(VectorNest& nest, int64_t lanes, bool byPairs, bool roundsNatively)
      : lanes(lanes), nest(nest), byPairs(byPairs), roundsNatively(roundsNatively) {}

  mlir::Value spread(mlir::ImplicitLocOpBuilder& builder, mlir::Value value) const;
  mlir::Value vectorOf(mlir::ImplicitLocOpBuilder& builder, mlir::Value value,
                       const mlir::IRMapping& scalars, mlir::IRMapping& values) const;
  mlir::Value load(mlir::ImplicitLocOpBuilder& builder, tile::LoadOp op, mlir::ValueRange at) const;
  void store(mlir::ImplicitLocOpBuilder& builder, mlir::Value value, tile::StoreOp op,
             mlir::ValueRange at) const;
  bool convertsWithAccess(mlir::Operation& op) const;
  mlir::Value toBfloat(mlir::ImplicitLocOpBuilder& builder, mlir::Value value, Rounding how) const;

  VectorNest& nest;
  bool byPairs, roundsNatively;
};

/// Emits a nest as loops over vectors, one with bfloat16 in it or, if `isFast`, one of what goes faster by whole vectors
/// then; false, with nothing done, if it doesn't fit or wouldn't gain.
bool emitOnVectors(mlir::ImplicitLocOpBuilder& builder, tile::ParallelOp nest,
                   const Machine& machine, bool isFast);

} // namespace tilewright::cpu
