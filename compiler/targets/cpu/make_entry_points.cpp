// SPDX-License-Identifier: Apache-2.0
/// Replaces the kernel by the functions that the runtime calls (tilewright/kernel_abi.h): two for each
/// of its launches.
///
///   func.func @f(%A: !tile.buffer<?xf32, global>, %n: index) { tile.launch (%bx) in (%g) { ... } }
/// becomes
///   func.func @f_grid(%slots: !llvm.ptr, %grid: !llvm.ptr) { ... llvm.store %g, %grid ... }
///   func.func @f_blocks(%slots, %scratch, %begin: i64, %end: i64, %launch) {
///     %A = builtin.unrealized_conversion_cast %pointer, %n, %c1
///       : (!llvm.ptr, index, index) to !tile.buffer<?xf32, global>
///     tile.for %b = %begin to %end step 1 { ... %bx = %b mod %g ... }
///   }
///
/// The second launch becomes @f_grid_1 and @f_blocks_1. Each function gets what its launch needs of what
/// stands before it.
///
/// A launch whose gemms use tiles (gemm_tiles.h) configures them before its blocks and releases them behind. Memory that was
/// set aside for its tiles (place_sized_tiles.cpp) is freed there.
///
/// From here on a buffer is a pointer, its dims and its strides, held together by a cast until
/// LowerBuffers. It stands after the tile operations are loops, so that the launch's body is moved
/// once.
#include "compiler/base/libm_functions.h"
#include "compiler/ir/kernel_arguments.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/gemm_tiles.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/stream_stores.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Pass/Pass.h>
#include <mlir/Transforms/RegionUtils.h>

#include <algorithm>
#include <map>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::KernelArgument;

class EntryPoints {
public:
  explicit EntryPoints(func::FuncOp kernel)
      : kernel(kernel), builder(kernel.getLoc(), kernel), math(builder),
        arguments(tile::kernelArguments(kernel)),
        pointer(LLVM::LLVMPointerType::get(kernel.getContext())) {}

  void make() {
    for (auto [number, each] : llvm::enumerate(kernel.getOps<tile::LaunchOp>())) {
      launch = each;
      suffix = number == 0 ? "" : "_" + std::to_string(number);
      makeGrid();
      makeBlocks();
    }
    for (StringRef name : {kScratchBytesAttr, kWorkspaceBytesAttr})
      if (Attribute bytes = kernel->getAttr(name))
        kernel->getParentOp()->setAttr(name, bytes);
    if (!configurations.empty())
      kernel->getParentOp()->setAttr(kTilesAttr, builder.getUnitAttr());
    kernel.erase();
  }

private:
  /// Holds what `needed` (values before the launch) takes to compute.
  func::FuncOp startFunction(StringRef what, ArrayRef<Type> inputs,
                             const llvm::SetVector<Value>& needed) {
    builder.setInsertionPoint(kernel);
    auto function = func::FuncOp::create(builder, (kernel.getName() + what + suffix).str(),
                                         builder.getFunctionType(inputs, {}));
    Block* entry = function.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    readSlots(entry->getArgument(0));
    for (Operation* op : opsFor(needed))
      builder.clone(*op, mapping);
    return function;
  }

  /// The ops of the kernel's body that compute these values, in their order.
  SmallVector<Operation*> opsFor(llvm::SetVector<Value> needed) {
    SmallVector<Operation*> ops;
    for (Operation* op = launch->getPrevNode(); op; op = op->getPrevNode()) {
      if (isa<tile::LaunchOp>(op) ||
          llvm::none_of(op->getResults(), [&](Value value) { return needed.contains(value); }))
        continue;
      needed.insert(op->operand_begin(), op->operand_end());
      getUsedValuesDefinedAbove(op->getRegions(), needed);
      ops.push_back(op);
    }
    std::reverse(ops.begin(), ops.end());
    return ops;
  }

  llvm::SetVector<Value> neededByGrid() {
    return {launch.getGrid().begin(), launch.getGrid().end()};
  }
  llvm::SetVector<Value> neededByBlocks() {
    llvm::SetVector<Value> needed = neededByGrid();
    getUsedValuesDefinedAbove(launch->getRegions(), needed);
    return needed;
  }

  Value slot(Value slots, unsigned number) {
    return LLVM::GEPOp::create(builder, pointer, builder.getI64Type(), slots,
                               ArrayRef<LLVM::GEPArg>(int32_t(number)),
                               LLVM::GEPNoWrapFlags::inbounds);
  }

  /// Maps the kernel's arguments to what stands in their slots.
  void readSlots(Value slots) {
    mapping.clear();
    SmallVector<Value> symbols;
    for (const KernelArgument& argument : arguments)
      if (argument.kind == KernelArgument::Symbol) {
        Value wide =
            LLVM::LoadOp::create(builder, builder.getI64Type(), slot(slots, argument.slot));
        Value symbol = arith::IndexCastOp::create(builder, builder.getIndexType(), wide);
        symbols.push_back(symbol);
        mapping.map(kernel.getArgument(argument.number), symbol);
      }
    for (const KernelArgument& argument : arguments) {
      Value old = kernel.getArgument(argument.number);
      if (argument.kind == KernelArgument::Scalar)
        mapping.map(old, readScalar(slot(slots, argument.slot), old.getType()));
      else if (argument.kind == KernelArgument::Tensor)
        mapping.map(old, readTensor(slot(slots, argument.slot), argument, symbols));
    }
  }

  Value readScalar(Value address, Type type) {
    if (type.isIndex()) {
      Value wide = LLVM::LoadOp::create(builder, builder.getI64Type(), address);
      return arith::IndexCastOp::create(builder, type, wide);
    }
    if (type.isInteger(1)) {
      Value byte = LLVM::LoadOp::create(builder, builder.getI8Type(), address);
      return convertElement(builder, byte, builder.getIntegerType(8, false), type);
    }
    if (type.getIntOrFloatBitWidth() == 8) {
      Value byte = LLVM::LoadOp::create(builder, builder.getI8Type(), address);
      return type.isInteger() ? byte : arith::BitcastOp::create(builder, type, byte).getResult();
    }
    return LLVM::LoadOp::create(builder, type, address);
  }

  Value readTensor(Value address, const KernelArgument& argument, ValueRange symbols) {
    SmallVector<Value> parts{LLVM::LoadOp::create(builder, pointer, address)};
    SmallVector<Value> dims, strides;
    for (AffineExpr dim : argument.shape.getResults())
      dims.push_back(evaluate(dim, symbols));
    if (argument.strides) {
      for (AffineExpr stride : argument.strides.getResults())
        strides.push_back(evaluate(stride, symbols));
    } else {
      strides.assign(dims.size(), Value());
      Value stride = math.constant(1);
      for (size_t dim = dims.size(); dim-- > 0; stride = math.mul(stride, dims[dim]))
        strides[dim] = stride;
    }
    llvm::append_range(parts, dims);
    llvm::append_range(parts, strides);
    return UnrealizedConversionCastOp::create(builder, argument.buffer, parts).getResult(0);
  }

  Value evaluate(AffineExpr expression, ValueRange symbols) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expression))
      return math.constant(constant.getValue());
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
      return symbols[symbol.getPosition()];
    auto binary = cast<AffineBinaryOpExpr>(expression);
    Value left = evaluate(binary.getLHS(), symbols), right = evaluate(binary.getRHS(), symbols);
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      return math.add(left, right);
    case AffineExprKind::Mul:
      return math.mul(left, right);
    case AffineExprKind::Mod:
      return arith::RemSIOp::create(builder, left, right);
    case AffineExprKind::FloorDiv:
      return arith::FloorDivSIOp::create(builder, left, right);
    default:
      return arith::CeilDivSIOp::create(builder, left, right);
    }
  }

  SmallVector<Value> gridExtents() {
    SmallVector<Value> extents;
    for (Value extent : launch.getGrid())
      extents.push_back(mapping.lookup(extent));
    return extents;
  }

  void makeGrid() {
    func::FuncOp function = startFunction("_grid", {pointer, pointer}, neededByGrid());
    Value grid = function.getArgument(1);
    SmallVector<Value> extents = gridExtents();
    extents.resize(3, math.constant(1));
    for (auto [number, extent] : llvm::enumerate(extents)) {
      Value wide = arith::IndexCastOp::create(builder, builder.getI64Type(), extent);
      LLVM::StoreOp::create(builder, wide, slot(grid, unsigned(number)));
    }
    func::ReturnOp::create(builder);
  }

  void makeBlocks() {
    Type wide = builder.getI64Type();
    func::FuncOp function =
        startFunction("_blocks", {pointer, pointer, wide, wide, pointer}, neededByBlocks());
    function->setAttr(kBlocksAttr, builder.getUnitAttr());
    const bool onTiles = launch->hasAttr(kTilesAttr);
    if (onTiles) {
      function->setAttr(kTilesAttr, builder.getUnitAttr());
      configureTiles(kTileRows, kTileColumns);
    }
    SmallVector<Value> extents = gridExtents();
    Value begin =
        arith::IndexCastOp::create(builder, builder.getIndexType(), function.getArgument(2));
    Value end =
        arith::IndexCastOp::create(builder, builder.getIndexType(), function.getArgument(3));
    auto loop = tile::ForOp::create(builder, begin, end, math.constant(1));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBodyBlock());
      Value rest = loop.getInductionVar();
      for (auto [number, extent] : llvm::enumerate(extents)) {
        const bool isLast = number + 1 == extents.size();
        mapping.map(launch.getBlockIds()[number],
                    isLast ? rest : arith::RemUIOp::create(builder, rest, extent).getResult());
        if (!isLast)
          rest = arith::DivUIOp::create(builder, rest, extent);
      }
      for (Operation& op : launch.getBodyBlock()->without_terminator())
        builder.clone(op, mapping);
    }
    if (onTiles) {
      completeTiles(function);
      LLVM::CallIntrinsicOp::create(builder, builder.getStringAttr("llvm.x86.tilerelease"),
                                    ValueRange());
    }
    for (tile::CallOp call : llvm::to_vector(function.getOps<tile::CallOp>()))
      if (call.getCallee() == "malloc")
        tile::CallOp::create(builder, Type(), "free", call.getResult());
    if (streams()) // what went past the caches is there when the launch ends
      LLVM::CallIntrinsicOp::create(builder, builder.getStringAttr("llvm.x86.sse.sfence"),
                                    ValueRange());
    func::ReturnOp::create(builder);
  }

  /// From here on this thread's tiles have these shapes (gemm_tiles.h).
  void configureTiles(int64_t rows, int64_t groups) {
    Value address =
        LLVM::AddressOfOp::create(builder, pointer, configuration(rows, groups).getSymName());
    LLVM::CallIntrinsicOp::create(builder, builder.getStringAttr("llvm.x86.ldtilecfg"), address);
  }

  /// The constant that ldtilecfg reads.
  LLVM::GlobalOp configuration(int64_t rows, int64_t groups) {
    LLVM::GlobalOp& known = configurations[{rows, groups}];
    if (known)
      return known;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(kernel->getParentOfType<ModuleOp>().getBody());
    const SmallVector<int8_t> bytes = tileConfiguration(rows, groups);
    auto shape = RankedTensorType::get({int64_t(bytes.size())}, builder.getI8Type());
    const std::string name =
        (kernel.getName() + "_tiles_" + Twine(rows) + "_" + Twine(groups)).str();
    known = LLVM::GlobalOp::create(
        builder, LLVM::LLVMArrayType::get(builder.getI8Type(), unsigned(bytes.size())),
        /*isConstant=*/true, LLVM::Linkage::Internal, name,
        DenseElementsAttr::get(shape, ArrayRef(bytes)), /*alignment=*/64);
    return known;
  }

  /// Whether code of others runs there, as Python's that prints: it may use tiles, too.
  static bool callsOthers(Operation* op) {
    auto call = dyn_cast<tile::CallOp>(op);
    return isa<tile::PrintOp>(op) || (call && !findLibmFunction(call.getCallee()));
  }

  /// Gives configurations inside of a launch their addresses, and repeats the launch's where others may have had theirs.
  void completeTiles(func::FuncOp function) {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Operation*> ops;
    function.walk([&](Operation* op) {
      if (op->hasAttr(kTileShapeAttr) || callsOthers(op))
        ops.push_back(op);
    });
    for (Operation* op : ops) {
      builder.setInsertionPointAfter(op);
      auto shape = op->getAttrOfType<DenseI64ArrayAttr>(kTileShapeAttr);
      configureTiles(shape ? shape[0] : kTileRows, shape ? shape[1] : kTileColumns);
      if (shape)
        op->erase();
    }
  }

  bool streams() {
    return launch
        .walk([](Operation* op) {
          auto store = dyn_cast<LLVM::StoreOp>(op);
          return op->hasAttr(kStreamAttr) || (store && store.getNontemporal())
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  func::FuncOp kernel;
  ImplicitLocOpBuilder builder;
  IndexMath math;
  SmallVector<KernelArgument> arguments;
  Type pointer;
  tile::LaunchOp launch; // the one whose functions are being made
  std::string suffix;    // of their names
  std::map<std::pair<int64_t, int64_t>, LLVM::GlobalOp> configurations; // by rows and groups
  IRMapping mapping;
};

struct MakeEntryPoints : PassWrapper<MakeEntryPoints, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MakeEntryPoints)

  StringRef getArgument() const override {
    return "cpu-make-entry-points";
  }
  StringRef getDescription() const override {
    return "replace a kernel by the functions that the runtime calls";
  }
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(tile::kKernelAttr))
        EntryPoints(kernel).make();
  }
};

} // namespace

std::unique_ptr<Pass> createMakeEntryPoints() {
  return std::make_unique<MakeEntryPoints>();
}

} // namespace tilewright::cpu
