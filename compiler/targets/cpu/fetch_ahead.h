// SPDX-License-Identifier: Apache-2.0
/// Fetching the next turn's tiles of a pipelined loop while this turn's are multiplied: what
/// `T.Pipelined(..., num_stages=2)` asks for, on a machine whose caches do the buffering.
///
/// PackGemmOperands knows where a gemm's operands come from and announces, before the gemm, where those of the
/// loop's next turn are:
///
///   %next, %stride = builtin.unrealized_conversion_cast %address, %bytes : !llvm.ptr, index
///     to !llvm.ptr, index {cpu.ahead = "b", cpu.element_bytes = 4}
///
/// A gemm in loops inside the pipelined one reads a tile in place in each of their turns: there the cast also holds the
/// number of the turn, and {cpu.turns = 8} says how many share the tile: one run of memory, a part for each turn.
///
/// LowerGemm takes the announcements and spreads prefetches over its micro-kernels. An address past the end
/// of a tensor, in the last turn, does no harm: a prefetch never faults.
#pragma once

#include "compiler/ir/tensor_ops.h"

#include <mlir/IR/IRMapping.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>

namespace tilewright::cpu {

/// What an op costs, in arithmetic operations: a function of `math` as many as a polynomial has.
int64_t operationCost(mlir::Operation* op);

/// Bytes that a cache brings at once.
inline constexpr int64_t kLineBytes = 64;

/// A matrix in global memory that will be read soon: its first element, bytes from row to row, and of an
/// element. Each of `turns` of the gemm asks for a part of it, this one for part `turn`.
struct NextTile {
  mlir::Value address;
  mlir::Value rowBytes;
  int64_t elementBytes = 0;
  mlir::Value turn = {};
  int64_t turns = 1;
  explicit operator bool() const {
    return bool(address);
  }
};

/// Values as they will be when a variable, of a loop or a launch, is greater by a step. They are computed anew, from
/// the variable on.
class NextTurn {
public:
  /// `variable` belongs to the region of `scope`.
  NextTurn(mlir::ImplicitLocOpBuilder& builder, mlir::Operation* scope, mlir::Value variable,
           mlir::Value step);

  /// The same if it stays. Null if `value` depends on more than the variable: on memory, or on an inner region.
  mlir::Value of(mlir::Value value);

private:
  mlir::ImplicitLocOpBuilder& builder;
  mlir::Operation* scope;
  mlir::IRMapping known;
};

/// Whether a buffer is a tensor of the kernel whose elements lie densely, by the sizes of its dims.
bool isDenseTensor(mlir::Value buffer);

/// Says, at the builder's place, where the source of `copy` is in the next turn of the pipelined loop around
/// it. `copy` brings a matrix from global memory, whose rows are along `rowDim`. The builder may stand in loops of
/// constant bounds inside that loop. Does nothing where there is no such loop, or where the place can't be foreseen.
void announceNextTile(mlir::ImplicitLocOpBuilder& builder, tile::CopyOp copy, unsigned rowDim,
                      llvm::StringRef operand);

/// Takes back what was announced before `gemm` of its operand "a" or "b".
NextTile takeNextTile(tile::GemmOp gemm, llvm::StringRef operand);

/// How near a line comes.
enum class CacheLevel { First, Second };

/// Asks for the line at `address` plus `bytes`.
void prefetch(mlir::ImplicitLocOpBuilder& builder, mlir::Value address, mlir::Value bytes,
              CacheLevel level = CacheLevel::Second);

} // namespace tilewright::cpu
