// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/micro_kernels.h"

#include "compiler/targets/cpu/attributes.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::cpu {

using namespace mlir;
using tile::BufferRegion;
using tile::BufferType;

MicroKernels::MicroKernels(tile::GemmOp op, const Machine& machine)
    : op(op), builder(op.getLoc(), op), math(builder), machine(machine),
      element(op.getCRegion().type().getScalarType()), asksAhead(gemmAsksAhead(machine)) {
  if (auto packed = op->getAttrOfType<IntegerAttr>(kPackedAttr)) {
    isPacked = true;
    group = packed.getInt();
  }
}

void MicroKernels::start() {
  result = takeResultPlace(op);
  nextA = takeNextTile(op, "a");
  nextB = takeNextTile(op, "b");
  a = matrix(op.getARegion());
  b = matrix(op.getBRegion());
  c = matrix(op.getCRegion());
  const SmallVector<int64_t> extentsC = op.getCRegion().staticExtents();
  const SmallVector<int64_t> extentsA = op.getARegion().staticExtents();
  rows = extentsC[extentsC.size() - 2];
  columns = extentsC.back();
  products = op.getTransposeA() ? extentsA[extentsA.size() - 2] : extentsA.back();
}

Matrix MicroKernels::matrix(const BufferRegion& region) {
  const BufferType type = region.type();
  Value offset = math.constant(0);
  int64_t stride = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    offset = math.add(offset, math.mul(math.value(region.offsets[dim]), math.constant(stride)));
    stride *= type.getShape()[dim];
  }
  auto pointerType = LLVM::LLVMPointerType::get(builder.getContext());
  Value base = UnrealizedConversionCastOp::create(builder, pointerType, region.buffer).getResult(0);
  Value start = elementPointer(base, offset, type.getScalarType());
  return {start, type.getShape().back()};
}

Value MicroKernels::elementPointer(Value base, Value index, Type type) {
  Value wide = arith::IndexCastOp::create(builder, builder.getI64Type(), index);
  return LLVM::GEPOp::create(builder, base.getType(), type ? type : element, base, ValueRange(wide),
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value MicroKernels::constantPointer(Value base, int64_t index) {
  return LLVM::GEPOp::create(builder, base.getType(), element, base,
                             ArrayRef<LLVM::GEPArg>(int32_t(index)),
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value MicroKernels::bytePointer(Value base, Value bytes) {
  return elementPointer(base, bytes, builder.getI8Type());
}

unsigned MicroKernels::elementBytes() const {
  return element.getIntOrFloatBitWidth() / 8;
}

Value MicroKernels::sumPointer(Value row, Value column) {
  return elementPointer(c.pointer, math.add(math.mul(row, math.constant(c.rowStride)), column));
}

Value MicroKernels::resultPointer(Value row, Value column) {
  if (!result)
    return {};
  const int64_t bytes = result.element.getIntOrFloatBitWidth() / 8;
  return bytePointer(result.address, math.add(math.mul(row, result.rowBytes),
                                              math.mul(column, math.constant(bytes))));
}

void MicroKernels::forTiles(int64_t count, int64_t step, bool evenly,
                            llvm::function_ref<void(Value, int64_t)> body) {
  int64_t whole = count / step, rest = count % step, halfRest = 0;
  if (evenly && whole > 0 && rest > 0 && rest < step / 2) {
    --whole;
    halfRest = (step + rest) / 2;
    rest += step - halfRest;
  }
  if (whole == 1) {
    body(math.constant(0), step);
  } else if (whole > 1) {
    auto loop = scf::ForOp::create(builder, math.constant(0), math.constant(whole * step),
                                   math.constant(step));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar(), step);
  }
  if (rest)
    body(math.constant(whole * step), rest);
  if (halfRest)
    body(math.constant(whole * step + rest), halfRest);
}

void MicroKernels::either(Value condition, llvm::function_ref<void(bool)> body) {
  std::optional<int64_t> known = condition ? getConstantIntValue(condition) : 0;
  if (known)
    return body(*known != 0);
  auto branch = scf::IfOp::create(builder, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (bool holds : {true, false}) {
    builder.setInsertionPointToStart(holds ? branch.thenBlock() : branch.elseBlock());
    body(holds);
  }
}

void MicroKernels::askFor(Value pointer) {
  LLVM::Prefetch::create(builder, pointer, /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

void MicroKernels::askForResult(Value row, int64_t count, Value column, int64_t width) {
  if (!asksAhead)
    return;
  either(result.isLast, [&](bool isLast) {
    if (!isLast)
      return;
    const int64_t bytes = width * result.element.getIntOrFloatBitWidth() / 8;
    Value start = resultPointer(row, column);
    for (int64_t r = 0; r < count; ++r)
      for (int64_t line = 0; line < bytes; line += kLineBytes) {
        Value place = math.add(math.mul(result.rowBytes, math.constant(r)), math.constant(line));
        LLVM::Prefetch::create(builder, bytePointer(start, place), /*rw=*/1, /*hint=*/3,
                               /*cache=*/1);
      }
  });
}

void MicroKernels::storeResult(Value sum, Value target, int64_t r, int64_t offset) {
  const auto width = cast<VectorType>(sum.getType()).getNumElements();
  const unsigned bits = result.element.getIntOrFloatBitWidth();
  if (result.element.isBF16() && group == 2) {
    // Neither vdpbf16ps nor this conversion knows subnormal numbers.
    Type narrow = VectorType::get({width}, result.element);
    StringAttr name =
        builder.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16." + Twine(32 * width));
    sum = LLVM::CallIntrinsicOp::create(builder, narrow, name, ValueRange(sum)).getResult(0);
  } else if (result.element != element) {
    sum = arith::TruncFOp::create(builder, VectorType::get({width}, result.element), sum);
  }
  if (result.element != element) // as bits: see storeVector
    sum = arith::BitcastOp::create(builder, VectorType::get({width}, builder.getIntegerType(bits)),
                                   sum);
  Value place = math.add(math.mul(result.rowBytes, math.constant(r)),
                         math.constant(offset * int64_t(bits) / 8));
  LLVM::StoreOp::create(builder, sum, bytePointer(target, place), bits / 8);
}

void MicroKernels::fetchNext(Value row, int64_t count, Value column, int64_t width) {
  if (nextA && op.getARegion().type().isGlobal()) {
    fetchNextRun(row, count, column, width);
  } else if (nextA) {
    Value bytes = math.mul(column, math.constant(products * nextA.elementBytes));
    Value part = builder.createOrFold<arith::DivUIOp>(bytes, math.constant(columns));
    const int64_t share = products * nextA.elementBytes * width / columns;
    for (int64_t r = 0; r < count; ++r) {
      Value here = math.mul(math.add(row, math.constant(r)), nextA.rowBytes);
      for (int64_t line = 0; line < std::max<int64_t>(share, 1); line += kLineBytes)
        prefetch(builder, nextA.address, math.add(here, math.add(part, math.constant(line))));
    }
  }
  if (nextB) {
    Value first = builder.createOrFold<arith::DivUIOp>(math.mul(row, math.constant(products)),
                                                       math.constant(rows));
    Value start = math.mul(column, math.constant(nextB.elementBytes));
    const int64_t bytes = width * nextB.elementBytes;
    for (int64_t r = 0; r < int64_t(llvm::divideCeil(products * count, rows)); ++r) {
      Value here = math.mul(math.add(first, math.constant(r)), nextB.rowBytes);
      for (int64_t line = 0; line < bytes; line += kLineBytes)
        prefetch(builder, nextB.address, math.add(here, math.add(start, math.constant(line))));
    }
  }
}

void MicroKernels::fetchNextRun(Value row, int64_t count, Value column, int64_t width) {
  const int64_t bytes = llvm::divideCeil(products * nextA.elementBytes, nextA.turns);
  const int64_t ofColumn = count * bytes / columns;
  Value start =
      math.add(math.mul(row, math.constant(bytes)), math.mul(column, math.constant(ofColumn)));
  if (nextA.turn)
    start = math.add(start, math.mul(nextA.turn, math.constant(rows * bytes)));
  for (int64_t line = 0; line < std::max<int64_t>(width * ofColumn, 1); line += kLineBytes)
    prefetch(builder, nextA.address, math.add(start, math.constant(line)), CacheLevel::First);
}

} // namespace tilewright::cpu
