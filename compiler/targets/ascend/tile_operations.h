// SPDX-License-Identifier: Apache-2.0
/// Operations on tiles in UB as vector instructions, for expressions over a nest of iterations.
#pragma once

#include "compiler/targets/ascend/cast_steps.h"
#include "compiler/targets/ascend/tile_addresses.h"

#include <optional>
#include <string>

namespace tilewright::ascend {

/// The values of one expression in all iterations: rows that lie `pitch` elements apart, or a mask
/// with a bit for each element of such a tile.
struct VectorTile {
  mlir::Value buffer, offset;
  int64_t pitch = 0;
  int64_t maskBits = 0; ///< of a mask: how many bits are set or cleared; else 0
};

/// `waits`: order the instructions by barriers, for kernels without automatic flags. What can't be
/// done gives nothing and leaves a reason.
class TileOperations {
public:
  using Result = std::optional<VectorTile>;
  /// What tiles of its own are called.
  static constexpr const char *kTileName = "t", *kMaskName = "mask";

  TileOperations(mlir::ImplicitLocOpBuilder& builder, bool waits)
      : builder(builder), make(builder), waits(waits) {}
  void setShape(int64_t rows, int64_t columns) {
    this->rows = rows;
    this->columns = columns;
  }

  /// Elements between rows of a tile of its own.
  int64_t pitchOf(mlir::Type element) const;
  VectorTile makeTile(mlir::Type element);
  mlir::Type elementOf(const VectorTile& tile) const;
  /// The same bytes as other elements.
  Result viewed(const VectorTile& tile, mlir::Type element);

  VectorTile duplicate(mlir::Value scalar, mlir::Type element);
  /// Into `target`: of numbers of 8 to 32 bits.
  bool copyInto(const VectorTile& target, const VectorTile& source);
  bool fillWith(const VectorTile& target, mlir::Value scalar);
  /// 0, 1, 2, ... times the factors of row and column, each a number; plus `base` unless null.
  Result sequence(int64_t rowFactor, int64_t columnFactor, mlir::Value base);
  /// first, first + 1, ...
  void countUp(const VectorTile& target, mlir::Value first);
  /// One number for each row, or one row for all; into a new tile where `target` is null.
  Result broadcast(const VectorTile& source, bool isNumberPerRow,
                   const VectorTile* target = nullptr);

  /// Between each row and a number of its own, of `numbers`, in tiles without padding.
  void binaryByRows(npu::BinaryKind kind, const VectorTile& target, const VectorTile& source,
                    const VectorTile& numbers);

  /// Whether a tile of bytes can count as one of 16 bits.
  bool isOfPairs(const VectorTile& tile) const;

  void unary(npu::UnaryKind kind, const VectorTile& target, const VectorTile& source);
  void binary(npu::BinaryKind kind, const VectorTile& target, const VectorTile& a,
              const VectorTile& b);
  void withScalar(npu::ScalarKind kind, const VectorTile& target, const VectorTile& source,
                  mlir::Value scalar);
  void function(npu::FunctionKind kind, const VectorTile& target, const VectorTile& source,
                const VectorTile* other);
  /// And, Or or Xor (what `op` is) of the bits of integers, or of masks; into a new tile where `target`
  /// is null.
  Result bits(mlir::Operation* op, const VectorTile& a, const VectorTile& b,
              const VectorTile* target = nullptr);
  Result exclusiveBits(const VectorTile& a, const VectorTile& b,
                       const VectorTile* target = nullptr);
  /// And or Or of the bits of tiles or masks.
  Result combinedBits(npu::BinaryKind kind, const VectorTile& a, const VectorTile& b,
                      const VectorTile* target = nullptr);
  Result invertedBits(const VectorTile& tile, const VectorTile* target = nullptr);

  /// `rounding` replaces that of a step to integers, or to floats of 16 bits.
  Result convert(const VectorTile& source, mlir::Type to, std::optional<npu::Rounding> rounding,
                 const VectorTile* target);
  /// By one instruction, into `target`.
  Result castTo(const VectorTile& source, const VectorTile& target, const CastStep& step);
  /// With a tile, or with a scalar where `b` is null; into a new mask where `target` is null.
  Result compareFloats(npu::CompareMode mode, const VectorTile& a, const VectorTile* b,
                       mlir::Value scalar, const VectorTile* target = nullptr);
  /// The mask of bools, which take a byte each in memory.
  Result maskOf(const VectorTile& bools);
  /// The mask of a condition that is the same for all elements of tiles with this pitch.
  VectorTile spreadCondition(mlir::Value condition, int64_t pitch);
  bool copyMask(const VectorTile& target, const VectorTile& source);
  /// Integers of 16 or 32 bits with the other first bit: signed ones lie to each other then as unsigned ones did.
  Result withTopBitFlipped(const VectorTile& source);
  /// The same of a number.
  mlir::Value withTopBitFlipped(mlir::Value number);
  /// Of 32-bit integers.
  Result compareIntegers(mlir::arith::CmpIPredicate predicate, const VectorTile& a,
                         const VectorTile& b);
  Result select(const VectorTile& mask, const VectorTile& a, const VectorTile* b,
                mlir::Value scalar, const VectorTile& target);

  /// What comes waits for what was made.
  void barrier();

  std::string reason;

private:
  std::nullopt_t refuse(std::string text) {
    reason = std::move(text);
    return std::nullopt;
  }
  int64_t elements(int64_t pitch) const {
    return (rows - 1) * pitch + columns;
  }
  mlir::Value count(const VectorTile& tile) {
    return make.constant(elements(tile.pitch));
  }
  mlir::Value makeBuffer(int64_t size, mlir::Type element, const char* name);
  mlir::Value makeScratch(int64_t bytes);
  /// A tile or mask like `tile`, for its bits.
  VectorTile makeLike(const VectorTile& tile);
  /// 16-bit integers that a tile or mask is; nothing if they don't come out even.
  std::optional<int64_t> halvesIn(const VectorTile& tile);
  Result integersToBfloat16(const VectorTile& source, npu::Rounding rounding,
                            const VectorTile* target);
  /// All of a tile as one row.
  TileOperations asRow(const VectorTile& tile) const;
  bool fillBytes(const VectorTile& target, mlir::Value scalar);
  bool copyBytes(const VectorTile& target, const VectorTile& source);
  bool fillWide(const VectorTile& target, mlir::Value scalar);
  VectorTile filledUp(const VectorTile& tile, int64_t size);
  /// `held` numbers side by side, with more behind so that `needed` can be read.
  VectorTile numbersOf(const VectorTile& given, int64_t held, int64_t needed);

  mlir::ImplicitLocOpBuilder& builder;
  IndexMaker make;
  bool waits;
  int64_t rows = 1, columns = 1;
};

/// The comparison that takes numbers as signed ones.
mlir::arith::CmpIPredicate withSign(mlir::arith::CmpIPredicate predicate);

/// As it lies in a buffer: integers get a sign, an index is a 32-bit integer.
mlir::Type storedType(mlir::Type type);

} // namespace tilewright::ascend
