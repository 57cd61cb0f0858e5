// SPDX-License-Identifier: Apache-2.0
/// Turns calls of functions in C into calls of declared functions.
///
///   %r = tile.call "cbrtf"(%x) : (f32) -> f32
/// becomes
///   func.func private @cbrtf(f32) -> f32
///   %r = func.call @cbrtf(%x) : (f32) -> f32
///
/// It stands after the kernel became functions, since it adds others beside them. Which names there
/// are is said by external_symbols.cpp, and checked before.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/targets/cpu/check_lowered.h"
#include "compiler/targets/cpu/passes.h"
#include "tilewright/kernel_abi.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/IR/ImplicitLocOpBuilder.h>
#include <mlir/Pass/Pass.h>

#include <cstddef>

namespace tilewright::cpu {
namespace {

using namespace mlir;

struct LowerCalls : PassWrapper<LowerCalls, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerCalls)

  StringRef getArgument() const override {
    return "cpu-lower-calls";
  }
  StringRef getDescription() const override {
    return "turn calls of functions in C into calls of declared functions";
  }

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<func::FuncDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::CallOp> calls;
    getOperation().walk([&](tile::CallOp call) { calls.push_back(call); });
    SmallVector<tile::SyncOp> barriers;
    getOperation().walk([&](tile::SyncOp sync) {
      if (sync.getScope() == tile::SyncScope::Grid)
        barriers.push_back(sync);
    });
    for (tile::SyncOp sync : barriers) {
      Value launch = launchArgument(sync);
      if (!launch)
        return signalPassFailure();
      waitForBlocks(sync, launch);
    }
    for (tile::CallOp call : calls) {
      OpBuilder builder(call);
      declare(call);
      auto made = func::CallOp::create(builder, call.getLoc(), call.getCallee(),
                                       call->getResultTypes(), call.getArguments());
      call->replaceAllUsesWith(made);
      call->erase();
    }
  }

  /// Calls TwLaunch::sync_grid.
  static void waitForBlocks(tile::SyncOp sync, Value launch) {
    ImplicitLocOpBuilder builder(sync.getLoc(), sync);
    Type pointer = launch.getType();
    Value field =
        LLVM::GEPOp::create(builder, pointer, builder.getI8Type(), launch,
                            ArrayRef<LLVM::GEPArg>(int32_t(offsetof(TwLaunch, sync_grid))),
                            LLVM::GEPNoWrapFlags::inbounds);
    Value target = LLVM::LoadOp::create(builder, pointer, field);
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {pointer});
    LLVM::CallOp::create(builder, type, ValueRange{target, launch});
    sync.erase();
  }

  void declare(tile::CallOp call) {
    if (getOperation().lookupSymbol(call.getCallee()))
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    auto type = builder.getFunctionType(call.getArguments().getTypes(), call->getResultTypes());
    func::FuncOp::create(builder, call.getLoc(), call.getCallee(), type).setPrivate();
  }
};

} // namespace

std::unique_ptr<Pass> createLowerCalls() {
  return std::make_unique<LowerCalls>();
}

} // namespace tilewright::cpu
