// SPDX-License-Identifier: Apache-2.0
/// ScopeCrossFlags: each flag between cores that stands outside of T.Scope gets the scope of the kind of core that sets
/// it, or waits for it, in a kernel that has work for both (flag_cores.h).
///
///   ascend.set_cross_flag fix, 0      ascend.scope cube { ascend.set_cross_flag fix, 0 }
///   tile.copy %D to %d                tile.copy %D to %d      // the vector cores do that
///   ascend.wait_cross_flag 0          ascend.scope vector { ascend.wait_cross_flag 0 }
///
/// It stands first: what is done by hand goes on in the order of the kernel's own statements.
#include "compiler/ir/flag_cores.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;

struct ScopeCrossFlags : KernelPass<ScopeCrossFlags> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScopeCrossFlags)
  static constexpr llvm::StringLiteral kArgument = "ascend-scope-cross-flags";
  static constexpr llvm::StringLiteral kDescription =
      "say which kind of core each flag between cores is of";

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<AscendDialect>();
  }

  void runOnOperation() override {
    const npu::CrossFlagCores cores(getOperation());
    if (!cores.isOfBoth)
      return; // one kind of core does all
    for (const auto* flags : {&cores.sets, &cores.waits})
      for (const npu::CrossFlagCores::Flag& flag : *flags)
        if (!flag.isScoped)
          putIntoScope(flag);
  }

private:
  void putIntoScope(const npu::CrossFlagCores::Flag& flag) {
    if (!flag.agent) {
      flag.op->emitError()
          << "no statement before this one says whether the cube core or the vector cores "
          << (isa<SetCrossFlagOp>(flag.op) ? "set" : "wait for")
          << " this flag: put it into T.Scope(\"C\") or T.Scope(\"V\")";
      return signalPassFailure();
    }
    OpBuilder builder(flag.op);
    auto scope = ScopeOp::create(builder, flag.op->getLoc(), *flag.agent);
    Block& body = scope.getBody().emplaceBlock();
    flag.op->moveBefore(&body, body.end());
  }
};

} // namespace

std::unique_ptr<Pass> createScopeCrossFlags() {
  return std::make_unique<ScopeCrossFlags>();
}

} // namespace tilewright::ascend
