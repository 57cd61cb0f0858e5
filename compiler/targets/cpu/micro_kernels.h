// SPDX-License-Identifier: Apache-2.0
/// What the lowerings of tile.gemm to micro-kernels share: where its matrices are, tiles of rows and columns, where the
/// last sums go, and what is asked for meanwhile.
#pragma once

#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/cpu/fetch_ahead.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/store_results.h"

namespace tilewright::cpu {

/// A matrix in memory: where it starts, and how many elements apart its rows are.
struct Matrix {
  mlir::Value pointer;
  int64_t rowStride = 0;
};

/// A gemm that becomes micro-kernels, each of which computes some rows and columns of c.
class MicroKernels {
protected:
  MicroKernels(tile::GemmOp op, const Machine& machine);

  /// Takes what earlier passes announced before the gemm, and finds its matrices. Before all else.
  void start();

  Matrix matrix(const tile::BufferRegion& region);

  /// `base` plus a number of elements of `type`, which is c's where nothing is said.
  mlir::Value elementPointer(mlir::Value base, mlir::Value index, mlir::Type type = {});
  /// `base` plus a constant number of elements of c.
  mlir::Value constantPointer(mlir::Value base, int64_t index);
  mlir::Value bytePointer(mlir::Value base, mlir::Value bytes);
  /// Of an element of c.
  unsigned elementBytes() const;
  /// Where c's element in this row and column is.
  mlir::Value sumPointer(mlir::Value row, mlir::Value column);
  /// Where the result of an element goes.
  mlir::Value resultPointer(mlir::Value row, mlir::Value column);

  /// Runs `body` for every tile of `count` in steps of `step`, as a loop if there are several, and
  /// for what is left. `evenly`: a small rest makes two tiles of equal size with the last whole one,
  /// since few accumulators do not hide the latency of an instruction.
  void forTiles(int64_t count, int64_t step, bool evenly,
                llvm::function_ref<void(mlir::Value, int64_t)> body);

  /// Runs `body` for whether `condition` (i1) holds, on both sides of a branch if that isn't known. Null: it doesn't.
  void either(mlir::Value condition, llvm::function_ref<void(bool)> body);

  /// Asks for the line at `pointer`, for the first-level cache.
  void askFor(mlir::Value pointer);
  /// The lines that the last sums go to, to be written.
  void askForResult(mlir::Value row, int64_t count, mlir::Value column, int64_t width);
  /// Asks for this micro-kernel's share of the next tiles: of its rows of a the part that its columns are of
  /// all columns, and of its columns of b the rows that its rows are of all rows.
  void fetchNext(mlir::Value row, int64_t count, mlir::Value column, int64_t width);

  /// A vector of last sums, of so many columns from `offset` on in row `r` from where `target` is, as elements of the result.
  void storeResult(mlir::Value sum, mlir::Value target, int64_t r, int64_t offset);

  tile::GemmOp op;
  mlir::ImplicitLocOpBuilder builder;
  IndexMath math;
  const Machine& machine;
  mlir::Type element;
  /// b is in panels of vectors; it and a hold groups of so many elements, which count as one of 32 bits.
  bool isPacked = false;
  int64_t group = 1;
  /// A micro-kernel asks for the c of the rows after its own, and for the lines of its result.
  bool asksAhead;
  Matrix a, b, c;
  NextTile nextA, nextB;
  ResultPlace result;
  /// Of c, and of the products of one of its elements.
  int64_t rows = 0, columns = 0, products = 0;

private:
  /// Of an a that is read in place, which is one run of memory: of this turn's part of it the part that the
  /// micro-kernel's rows and columns are of all. Into the first-level cache, and so the second: on a Zen 4 requests
  /// for the second one alone gain little here.
  void fetchNextRun(mlir::Value row, int64_t count, mlir::Value column, int64_t width);
};

} // namespace tilewright::cpu
