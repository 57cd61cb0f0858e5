// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/gemm_tiles.h"

#include "compiler/ir/structure_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/micro_kernels.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Vector/IR/VectorOps.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;

/// Numbers of tile registers: sums from 0 on, then two of a, then two of b.
constexpr int64_t kFirstOfA = kTilesOfSums, kFirstOfB = kFirstOfA + 2;
constexpr int64_t kGroupBytes = 4;
/// Of the part of a that is copied.
constexpr int64_t kPartBytes = 2 * kTileRows * kTileStepsOfPart * kTileColumns * kGroupBytes;

/// Which piece of a meets which of b, of so many: of three the smallest products don't count.
ArrayRef<std::pair<int64_t, int64_t>> piecesThatMeet(int64_t pieces) {
  static constexpr std::pair<int64_t, int64_t> ofTwo[] = {{1, 1}, {1, 0}, {0, 0}, {0, 1}},
                                               ofThree[] = {{2, 0}, {1, 0}, {1, 1},
                                                            {0, 1}, {0, 2}, {0, 0}};
  if (pieces == 1)
    return ArrayRef(ofTwo).slice(2, 1);
  return pieces == 2 ? ArrayRef(ofTwo) : ArrayRef(ofThree);
}

/// What one micro-kernel multiplies, in tiles.
struct TileBlock {
  int64_t rows, columns;
};

/// Tiles of a: the first one's start, and how many bytes apart its rows are, the tiles below and those along k.
struct TilesOfA {
  Value start;
  int64_t rowBytes, tileBytes, stepBytes;
};

/// Tiles of sums: the first one's start, and how many bytes apart rows are.
struct TilesOfSums {
  Value start;
  int64_t rowBytes;
};

/// A part of the depth, in steps of one tile. Sums begin in the first part (null: this is it) and are done in the last.
struct Part {
  Value firstStep;
  int64_t steps;
  Value isFirst;
  bool isLast;
};

class TileGemm : MicroKernels {
public:
  TileGemm(tile::GemmOp op, const Machine& machine) : MicroKernels(op, machine) {}

  void lower() {
    start();
    takeStage();
    auto count = op->getAttrOfType<IntegerAttr>(kPiecesAttr);
    inPieces = count != nullptr;
    pieces = inPieces ? count.getInt() : 1;
    groups = products / group;
    depth = inPieces ? kTileColumns : tileDepth(groups);
    panelColumns = tilePanelColumns(columns);
    bytesOfRow = a.rowStride * kGroupBytes / group;
    op->getParentOfType<tile::LaunchOp>()->setAttr(kTilesAttr, builder.getUnitAttr());
    const int64_t rest = rows % kTileRows, whole = rows - rest;
    if (whole) {
      configure(kTileRows);
      if (stage)
        lowerByParts(whole);
      else
        lowerRows(whole);
    }
    if (rest) {
      tileRows = rest;
      configure(rest);
      const Value row = math.constant(whole);
      forTiles(columns, kTilesOfSums * kTileColumns, /*evenly=*/false,
               [&](Value column, int64_t width) {
                 microKernel(row, column, {1, width / kTileColumns}, inPlace(row), wholeDepth());
               });
    }
    depth = kTileColumns;
    configure(kTileRows);
    op.erase();
  }

private:
  /// Where parts of a may be copied, if the gemm does that.
  void takeStage() {
    for (Operation* note = op->getPrevNode(); note && !isa<tile::GemmOp>(note);
         note = note->getPrevNode())
      if (note->hasAttr(kStageAttr)) {
        stage =
            UnrealizedConversionCastOp::create(builder, note->getResultTypes(), note->getOperands())
                .getResult(0);
        stageOfSums = bytePointer(stage, math.constant(kPartBytes));
        note->erase();
        return;
      }
  }

  /// Tiles of so many rows, if they aren't already.
  void configure(int64_t tall) {
    const SmallVector<int64_t> wanted = {tall, depth};
    if (wanted == configured)
      return;
    configured = wanted;
    Value nowhere = LLVM::ZeroOp::create(builder, LLVM::LLVMPointerType::get(builder.getContext()));
    Operation* load = intrinsic("llvm.x86.ldtilecfg", nowhere);
    load->setAttr(kTileShapeAttr, builder.getDenseI64ArrayAttr(wanted));
  }

  Part wholeDepth() {
    return {math.constant(0), groups / depth, {}, true};
  }

  /// Tiles of a from `row` on, where they lie.
  TilesOfA inPlace(Value row) {
    if (inPieces) // one tile after the other
      return {bytePointer(a.pointer, math.mul(row, math.constant(bytesOfRow))), kLineBytes,
              kTileRows * bytesOfRow, kTileRows * kLineBytes};
    return {bytePointer(a.pointer, math.mul(row, math.constant(bytesOfRow))), bytesOfRow,
            tileRows * bytesOfRow, depth * kGroupBytes};
  }

  /// All columns for some rows: 2 x 2 tiles share what they load best; a single column of them, four rows.
  void lowerRows(int64_t count) {
    const int64_t pairs = columns / (2 * kTileColumns) * 2 * kTileColumns;
    auto block = [&](Value row, int64_t height, Value column, int64_t wide) {
      microKernel(row, column, {height / kTileRows, wide}, inPlace(row), wholeDepth());
    };
    forTiles(pairs, 2 * kTileColumns, /*evenly=*/false, [&](Value column, int64_t) {
      forTiles(count, 2 * kTileRows, /*evenly=*/false,
               [&](Value row, int64_t height) { block(row, height, column, 2); });
    });
    if (pairs < columns)
      forTiles(count, kTilesOfSums * kTileRows, /*evenly=*/false,
               [&](Value row, int64_t height) { block(row, height, math.constant(pairs), 1); });
  }

  /// Part after part of two rows of tiles, which stay in the first-level cache for all columns.
  void lowerByParts(int64_t count) {
    const int64_t parts = tileParts(groups), steps = groups / depth / parts;
    forTiles(count, 2 * kTileRows, /*evenly=*/false, [&](Value row, int64_t height) {
      if (parts > 1) {
        auto loop = scf::ForOp::create(builder, math.constant(0), math.constant(parts - 1),
                                       math.constant(1));
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(loop.getBody());
        Value number = loop.getInductionVar();
        lowerPart(row, height,
                  {math.mul(number, math.constant(steps)), steps,
                   math.equal(number, math.constant(0)), /*isLast=*/false});
      }
      Value never = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
      lowerPart(row, height,
                {math.constant((parts - 1) * steps), steps, parts > 1 ? never : Value(),
                 /*isLast=*/true});
    });
  }

  void lowerPart(Value row, int64_t height, const Part& part) {
    const TilesOfA tiles = copyToStage(row, height, part);
    forTiles(columns, 2 * kTileColumns, /*evenly=*/false, [&](Value column, int64_t width) {
      microKernel(row, column, {height / kTileRows, width / kTileColumns}, tiles, part);
    });
  }

  /// The part of these rows as tiles one after the other: all of a step, then the next.
  TilesOfA copyToStage(Value row, int64_t height, const Part& part) {
    constexpr int64_t lineBytes = kTileColumns * kGroupBytes, tileBytes = kTileRows * lineBytes;
    const int64_t tiles = height / kTileRows;
    Value from =
        bytePointer(a.pointer, math.add(math.mul(row, math.constant(bytesOfRow)),
                                        math.mul(part.firstStep, math.constant(lineBytes))));
    Type line = VectorType::get({kTileColumns}, builder.getI32Type());
    auto loop =
        scf::ForOp::create(builder, math.constant(0), math.constant(kTileRows), math.constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    for (int64_t tile = 0; tile < tiles; ++tile) {
      Value source = bytePointer(from, math.add(math.mul(number, math.constant(bytesOfRow)),
                                                math.constant(tile * kTileRows * bytesOfRow)));
      Value target = bytePointer(stage, math.add(math.mul(number, math.constant(lineBytes)),
                                                 math.constant(tile * tileBytes)));
      for (int64_t step = 0; step < part.steps; ++step) {
        Value value = LLVM::LoadOp::create(builder, line,
                                           bytePointer(source, math.constant(step * lineBytes)), 1);
        LLVM::StoreOp::create(builder, value,
                              bytePointer(target, math.constant(step * tiles * tileBytes)),
                              unsigned(lineBytes));
      }
    }
    return {stage, lineBytes, tileBytes, tiles * tileBytes};
  }

  Operation* intrinsic(const Twine& name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(builder, builder.getStringAttr(name), operands);
  }

  Value tile(int64_t number) {
    return LLVM::ConstantOp::create(builder, builder.getI8IntegerAttr(int8_t(number)));
  }

  Value wide(int64_t value) {
    return LLVM::ConstantOp::create(builder, builder.getI64IntegerAttr(value));
  }

  void load(int64_t number, Value pointer, Value rowBytes) {
    intrinsic("llvm.x86.tileloadd64", {tile(number), pointer, rowBytes});
  }
  void store(int64_t number, Value pointer, Value rowBytes) {
    intrinsic("llvm.x86.tilestored64", {tile(number), pointer, rowBytes});
  }

  static void forSums(TileBlock block, llvm::function_ref<void(int64_t, int64_t, int64_t)> body) {
    int64_t number = 0;
    for (int64_t row = 0; row < block.rows; ++row)
      for (int64_t column = 0; column < block.columns; ++column)
        body(number++, row, column);
  }

  StringRef product() {
    if (group == 2)
      return "llvm.x86.tdpbf16ps";
    const bool isSignedA = op.getARegion().type().getElementType().isSignedInteger();
    const bool isSignedB = op.getBRegion().type().getElementType().isSignedInteger();
    if (isSignedA)
      return isSignedB ? "llvm.x86.tdpbssd" : "llvm.x86.tdpbsud";
    return isSignedB ? "llvm.x86.tdpbusd" : "llvm.x86.tdpbuud";
  }

  int64_t height(TileBlock block) const {
    return block.rows * tileRows;
  }
  static int64_t width(TileBlock block) {
    return block.columns * kTileColumns;
  }

  /// c's part of a micro-kernel.
  TilesOfSums sumsInC(Value row, Value column) {
    return {sumPointer(row, column), c.rowStride * elementBytes()};
  }

  /// Between parts, each micro-kernel's sums lie in one run.
  TilesOfSums sumsInStage(Value column, TileBlock block) {
    Value before = math.mul(column, math.constant(2 * kTileRows * elementBytes()));
    return {bytePointer(stageOfSums, before), width(block) * elementBytes()};
  }

  void microKernel(Value row, Value column, TileBlock block, const TilesOfA& tiles,
                   const Part& part) {
    firstSums(row, column, block, part);
    // The panels before are as long as so many columns.
    Value startOfB = bytePointer(
        b.pointer,
        math.add(math.mul(column, math.constant(kGroupBytes * groups)),
                 math.mul(part.firstStep, math.constant(depth * kGroupBytes * panelColumns))));
    either(part.isLast ? result.isLast : Value(), [&](bool isResult) {
      const TilesOfSums target = part.isLast ? sumsInC(row, column) : sumsInStage(column, block);
      Value place = isResult ? resultPointer(row, column) : target.start;
      const int64_t turns = part.steps / pieces;
      forSteps(turns, [&](Value turn) {
        Value step = math.mul(turn, math.constant(pieces));
        multiply(bytePointer(tiles.start, math.mul(step, math.constant(tiles.stepBytes))), tiles,
                 bytePointer(startOfB,
                             math.mul(step, math.constant(depth * kGroupBytes * panelColumns))),
                 block);
        if (stage)
          askForNextPart(row, column, block, step, part);
        if (isResult)
          askForResult(place, block, turn, turns);
        else
          askForSums(target, block, turn, part);
      });
      if (isResult)
        storeResult(place, block);
      else
        forSums(block, [&](int64_t number, int64_t r, int64_t column) {
          store(number, tileOfSums(target, r, column), wide(target.rowBytes));
        });
    });
  }

  void forSteps(int64_t count, llvm::function_ref<void(Value)> body) {
    auto loop =
        scf::ForOp::create(builder, math.constant(0), math.constant(count), math.constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  /// c, or 0 where it counts as that; in later parts what the part before left.
  void firstSums(Value row, Value column, TileBlock block, const Part& part) {
    auto load = [&](const TilesOfSums& sums) {
      forSums(block, [&](int64_t number, int64_t r, int64_t column) {
        this->load(number, tileOfSums(sums, r, column), wide(sums.rowBytes));
      });
    };
    auto known = [&](bool value) -> Value {
      return arith::ConstantOp::create(builder, builder.getBoolAttr(value));
    };
    either(part.isFirst ? part.isFirst : known(true), [&](bool isFirst) {
      if (!isFirst)
        return load(sumsInStage(column, block));
      either(op.getClearAccum() ? known(true) : op.getClear(), [&](bool isClear) {
        if (!isClear)
          return load(sumsInC(row, column));
        forSums(block, [&](int64_t number, int64_t, int64_t) {
          intrinsic("llvm.x86.tilezero", tile(number));
        });
      });
    });
  }

  Value tileOfSums(const TilesOfSums& sums, int64_t row, int64_t column) {
    return bytePointer(sums.start, math.constant(row * tileRows * sums.rowBytes +
                                                 column * kTileColumns * elementBytes()));
  }

  /// The products of one step along k.
  void multiply(Value hereA, const TilesOfA& tiles, Value hereB, TileBlock block) {
    if (inPieces)
      return multiplyPieces(hereA, tiles, hereB, block);
    Value strideA = wide(tiles.rowBytes), strideB = wide(kGroupBytes * panelColumns);
    auto loadA = [&](int64_t row) {
      const int64_t number = kFirstOfA + row % 2;
      load(number, bytePointer(hereA, math.constant(row * tiles.tileBytes)), strideA);
      return number;
    };
    auto loadB = [&](int64_t column) {
      const int64_t number = kFirstOfB + column % 2;
      const int64_t inPanel = column * kTileColumns % panelColumns;
      const int64_t before = (column * kTileColumns - inPanel) * groups + inPanel;
      load(number, bytePointer(hereB, math.constant(before * kGroupBytes)), strideB);
      return number;
    };
    SmallVector<int64_t, 2> right;
    for (int64_t row = 0; row < block.rows; ++row) {
      const int64_t left = loadA(row);
      for (int64_t column = 0; column < block.columns; ++column) {
        if (row == 0 || block.columns > 2) // else they stay
          right.push_back(loadB(column));
        const int64_t ofB = block.columns > 2 ? right.back() : right[size_t(column)];
        intrinsic(product(), {tile(row * block.columns + column), tile(left), tile(ofB)});
      }
    }
  }

  /// The same of pieces: what the product before had already stays in its registers.
  void multiplyPieces(Value hereA, const TilesOfA& tiles, Value hereB, TileBlock block) {
    Value strideA = wide(tiles.rowBytes), strideB = wide(kGroupBytes * panelColumns);
    const int64_t stepOfB = depth * kGroupBytes * panelColumns;
    std::pair<int64_t, int64_t> before = {-1, -1};
    for (auto [left, right] : piecesThatMeet(pieces)) {
      for (int64_t row = 0; left != before.first && row < block.rows; ++row) {
        const int64_t offset = row * tiles.tileBytes + left * tiles.stepBytes;
        load(kFirstOfA + row, bytePointer(hereA, math.constant(offset)), strideA);
      }
      for (int64_t column = 0; right != before.second && column < block.columns; ++column) {
        const int64_t offset = column * kTileColumns * kGroupBytes + right * stepOfB;
        load(kFirstOfB + column, bytePointer(hereB, math.constant(offset)), strideB);
      }
      forSums(block, [&](int64_t number, int64_t row, int64_t column) {
        intrinsic(product(), {tile(number), tile(kFirstOfA + row), tile(kFirstOfB + column)});
      });
      before = {left, right};
    }
  }

  /// Runs `body` for the share of `count` things that one of `steps` has: their numbers.
  void forShare(int64_t count, int64_t steps, Value step, llvm::function_ref<void(Value)> body) {
    const int64_t share = int64_t(llvm::divideCeil(count, steps));
    for (int64_t number = 0; number < share; ++number)
      body(math.add(math.mul(step, math.constant(share)), math.constant(number)));
  }

  /// Asks for the part of a that will be copied next: of these rows, or the first one of those behind them, which may belong
  /// to the next turn. The columns share its rows.
  void askForNextPart(Value row, Value column, TileBlock block, Value step, const Part& part) {
    const int64_t lineBytes = depth * kGroupBytes, parts = groups / depth / part.steps;
    const int64_t next = part.isLast
                             ? height(block) * bytesOfRow - (parts - 1) * part.steps * lineBytes
                             : part.steps * lineBytes;
    Value first = builder.createOrFold<arith::DivUIOp>(
        math.mul(column, math.constant(height(block))), math.constant(columns));
    Value line = math.mul(math.add(part.firstStep, step), math.constant(lineBytes));
    const int64_t count = int64_t(llvm::divideCeil(height(block) * width(block), columns));
    for (int64_t number = 0; number < count; ++number) {
      Value here = math.add(math.add(row, first), math.constant(number));
      here = math.add(math.mul(here, math.constant(bytesOfRow)), math.constant(next));
      prefetch(builder, a.pointer, math.add(here, line));
    }
  }

  /// Asks for the lines that the last sums go to, in each step for some rows.
  void askForResult(Value start, TileBlock block, Value step, int64_t steps) {
    const int64_t bytes = width(block) * result.element.getIntOrFloatBitWidth() / 8;
    forShare(height(block), steps, step, [&](Value row) {
      for (int64_t line = 0; line < bytes; line += kLineBytes) {
        Value place = math.add(math.mul(row, result.rowBytes), math.constant(line));
        LLVM::Prefetch::create(builder, bytePointer(start, place), /*rw=*/1, /*hint=*/3,
                               /*cache=*/1);
      }
    });
  }

  /// Asks for the sums of the next micro-kernel, if this one's came from there, too.
  void askForSums(const TilesOfSums& sums, TileBlock block, Value step, const Part& part) {
    if (op.getClearAccum() && part.isLast && !part.isFirst)
      return;
    const int64_t bytes = width(block) * elementBytes();
    int64_t next = part.isLast && !stage ? height(block) * sums.rowBytes : bytes;
    if (!part.isLast)
      next = height(block) * bytes;
    forShare(height(block), part.steps / pieces, step, [&](Value row) {
      for (int64_t line = 0; line < bytes; line += kLineBytes)
        askFor(bytePointer(sums.start, math.add(math.mul(row, math.constant(sums.rowBytes)),
                                                math.constant(next + line))));
    });
  }

  /// The last sums to where the result goes.
  void storeResult(Value target, TileBlock block) {
    if (result.element != element)
      return storeNarrowResult(target, block);
    Value rowBytes = arith::IndexCastOp::create(builder, builder.getI64Type(), result.rowBytes);
    forSums(block, [&](int64_t number, int64_t row, int64_t column) {
      Value rowsBefore = math.mul(result.rowBytes, math.constant(row * tileRows));
      const int64_t columnBytes = column * kTileColumns * elementBytes();
      store(number, bytePointer(target, math.add(rowsBefore, math.constant(columnBytes))),
            rowBytes);
    });
  }

  /// By way of a place on chip, which stays in the first-level cache: there is no other from tiles to vectors.
  void storeNarrowResult(Value target, TileBlock block) {
    const int64_t rowElements = width(block);
    Value pointer = matrix(tile::BufferRegion::whole(result.stage)).pointer;
    forSums(block, [&](int64_t number, int64_t row, int64_t column) {
      store(number, constantPointer(pointer, row * tileRows * rowElements + column * kTileColumns),
            wide(rowElements * elementBytes()));
    });
    forSteps(height(block), [&](Value row) {
      Value from = elementPointer(pointer, math.mul(row, math.constant(rowElements)));
      Value to = bytePointer(target, math.mul(row, result.rowBytes));
      const unsigned bytes = result.element.getIntOrFloatBitWidth() / 8;
      for (int64_t column = 0; column < rowElements;) {
        const int64_t count = std::min<int64_t>(2 * kTileColumns, rowElements - column);
        Value narrow = narrowed(constantPointer(from, column), count);
        Type bits = VectorType::get({count}, builder.getIntegerType(8 * bytes)); // see storeVector
        narrow = arith::BitcastOp::create(builder, bits, narrow);
        LLVM::StoreOp::create(builder, narrow,
                              bytePointer(to, math.constant(column * int64_t(bytes))), bytes);
        column += count;
      }
    });
  }

  /// One or two vectors of sums in the result's type.
  Value narrowed(Value pointer, int64_t count) {
    constexpr unsigned line = 64;
    if (!result.element.isBF16()) {
      Value sums = LLVM::LoadOp::create(builder, VectorType::get({count}, element), pointer, line);
      return arith::TruncFOp::create(builder, VectorType::get({count}, result.element), sums);
    }
    // Neither products of bfloat16 nor this conversion know subnormal numbers.
    Type vector = VectorType::get({kTileColumns}, element);
    SmallVector<Value> operands = {LLVM::LoadOp::create(builder, vector, pointer, line)};
    StringRef name = "llvm.x86.avx512bf16.cvtneps2bf16.512";
    if (count > kTileColumns) { // the second goes to the upper half
      Value upper = constantPointer(pointer, kTileColumns);
      operands.insert(operands.begin(), LLVM::LoadOp::create(builder, vector, upper, line));
      name = "llvm.x86.avx512bf16.cvtne2ps2bf16.512";
    }
    return LLVM::CallIntrinsicOp::create(builder, VectorType::get({count}, result.element),
                                         builder.getStringAttr(name), operands)
        .getResult(0);
  }

  /// Of a and b: groups of elements in 32 bits, in all and in a tile.
  int64_t groups = 0, depth = 0;
  /// Tiles of a step along k, each of which meets some of the other operand's, where they are pieces of numbers.
  int64_t pieces = 1;
  bool inPieces = false;
  int64_t panelColumns = 0, bytesOfRow = 0;
  /// Of a and c.
  int64_t tileRows = kTileRows;
  SmallVector<int64_t> configured = {kTileRows, kTileColumns};
  /// Where parts of a are copied to, and sums lie between parts; null: a is read where it lies, whole.
  Value stage, stageOfSums;
};

} // namespace

int64_t tileDepth(int64_t groups) {
  int64_t depth = std::min<int64_t>(groups, kTileColumns);
  while (groups % depth)
    --depth;
  return depth < 4 ? 0 : depth; // below, an instruction multiplies hardly more than one on vectors
}

int64_t tilePanelColumns(int64_t columns) {
  return columns % (2 * kTileColumns) ? kTileColumns : 2 * kTileColumns;
}

int64_t tileParts(int64_t groups) {
  const int64_t steps = groups / kTileColumns, most = kTileStepsOfPart;
  if (groups % kTileColumns)
    return 0;
  int64_t parts = int64_t(llvm::divideCeil(steps, most));
  while (steps % parts)
    ++parts;
  return steps / parts < std::min<int64_t>(steps, most / 2) ? 0 : parts;
}

int64_t tileStageBytes(int64_t columns) {
  return kPartBytes + 2 * kTileRows * columns * kGroupBytes;
}

bool tilesAreCopied(int64_t rows, int64_t columns, int64_t groups, int64_t rowBytes) {
  constexpr int64_t fewColumns = 128, shortRow = 512;
  return rows >= 2 * kTileRows && columns >= fewColumns && rowBytes > shortRow &&
         tileParts(groups) > 0;
}

void lowerToTiles(tile::GemmOp op, const Machine& machine) {
  TileGemm(op, machine).lower();
}

SmallVector<int8_t> tileConfiguration(int64_t rows, int64_t groups) {
  SmallVector<int8_t> bytes(64, 0);
  constexpr size_t palette = 0, columnBytes = 16, rowCounts = 48;
  bytes[palette] = 1;
  for (size_t number = 0; number < 8; ++number) {
    const bool isA = number >= kFirstOfA && number < kFirstOfB, isB = number >= kFirstOfB;
    bytes[columnBytes + 2 * number] =
        int8_t(isA ? kGroupBytes * groups : kGroupBytes * kTileColumns);
    bytes[rowCounts + number] = int8_t(isB ? groups : rows);
  }
  return bytes;
}

} // namespace tilewright::cpu
