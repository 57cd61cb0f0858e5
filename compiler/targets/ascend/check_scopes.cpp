// SPDX-License-Identifier: Apache-2.0
/// CheckScopes: what stands in a scope works on memories that its cores reach.
///
///   ascend.scope cube { tile.fill %u : !tile.buffer<32x32xf32, UB> }     // an error: the cube core doesn't reach UB
///   ascend.scope vector { tile.copy %u : UB to %p : L1 }                 // leaves the scope (leave_scope.h)
///
/// A copy between the memories of both kinds of core is work of both, which AddWorkspaces gives to them. It stands behind
/// PlaceBuffers, which says where tiles lie and copies them to their twins, and before GuardOnce.
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/block_cores.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/passes/analysis/buffer_name.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/crossing_places.h"
#include "compiler/targets/ascend/launch_kind.h"
#include "compiler/targets/ascend/leave_scope.h"
#include "compiler/targets/ascend/passes.h"

namespace tilewright::ascend {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

/// A memory that the cores of a scope don't reach.
bool isBeyond(MemorySpace space, Agent agent) {
  using enum MemorySpace;
  const bool isOfCube = space == L1 || space == L0A || space == L0B || space == L0C;
  return agent == Agent::Cube ? space == UB : isOfCube;
}

StringRef coresOf(Agent agent) {
  return agent == Agent::Cube ? "cube core" : "vector cores";
}

/// The tile of gemms of which PlaceBuffers has put a twin into UB; null if it is none.
tile::AllocOp twinOf(tile::AllocOp alloc) {
  auto before = dyn_cast_or_null<tile::AllocOp>(alloc->getPrevNode());
  const bool isTwin = before && before.getLoc() == alloc.getLoc() &&
                      alloc.getSymName() == before.getSymName().value_or("tile").str() + "_ub";
  return isTwin ? before : tile::AllocOp();
}

/// A tile as the kernel calls it.
std::string tileName(Value buffer) {
  Value storage = npu::storageOf(buffer);
  if (auto alloc = storage.getDefiningOp<tile::AllocOp>())
    if (tile::AllocOp ofGemms = twinOf(alloc))
      storage = ofGemms;
  const std::string name = quotedBuffer(storage);
  return name.empty() ? "a tile" : name;
}

/// Where a tile that an operation works on lies, as a sentence begins.
std::string tilePlace(Value buffer) {
  auto alloc = npu::storageOf(buffer).getDefiningOp<tile::AllocOp>();
  const StringRef space = stringifyMemorySpace(cast<BufferType>(buffer.getType()).getSpace());
  const StringRef verb = alloc && twinOf(alloc) ? " is computed with in " : " is in ";
  return tileName(buffer) + (verb + space).str();
}

struct CheckScopes : KernelPass<CheckScopes> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckScopes)
  static constexpr llvm::StringLiteral kArgument = "ascend-check-scopes";
  static constexpr llvm::StringLiteral kDescription =
      "check that what stands in a scope works on memories that its cores reach";

  void runOnOperation() override {
    SmallVector<tile::CopyOp> crossing;
    SmallVector<Operation*> others;
    getOperation().walk([&](Operation* op) {
      if (!op->getParentOfType<ScopeOp>())
        return;
      auto copy = dyn_cast<tile::CopyOp>(op);
      if (copy && crossesCores(copy))
        crossing.push_back(copy);
      else if (!isa<tile::AllocOp, tile::ViewOp, tile::DimOp>(op))
        others.push_back(op);
    });
    llvm::erase_if(crossing, [&](tile::CopyOp copy) {
      const bool isRefused = failed(checkWay(copy));
      if (isRefused)
        signalPassFailure();
      return isRefused;
    });
    leaveScopes(crossing);
    // As MarkOnce says of what stands outside.
    for (tile::CopyOp copy : crossing)
      if (mayHaveTwoVectors(copy->getParentOfType<tile::LaunchOp>()) &&
          npu::doerOf(copy) == npu::Doer::FirstVector)
        copy->setAttr(kOnceAttr, UnitAttr::get(copy.getContext()));
    DenseSet<Location> refused;
    for (Operation* op : others)
      if (failed(check(op, refused)))
        signalPassFailure();
  }

private:
  static LogicalResult checkWay(tile::CopyOp copy) {
    const Agent agent = copy->getParentOfType<ScopeOp>().getAgent();
    if (const std::optional<std::string> why = whyInScope(copy)) {
      const bool isFromCube = copy.getSource().getType().getSpace() == MemorySpace::L0C;
      return copy.emitError("unsupported on ascend: ")
             << tileName(isFromCube ? copy.getSource() : copy.getTarget()) << " goes from "
             << (isFromCube ? "L0C to UB" : "UB to L1")
             << " here, which takes both kinds of core, but the "
             << coresOf(agent == Agent::Cube ? Agent::Vector : Agent::Cube)
             << " can't come here as the " << coresOf(agent) << " of this T.Scope can: " << *why
             << "; put this copy outside of T.Scope";
    }
    return success();
  }

  /// Whether all tiles lie where only the other kind of core reaches.
  static bool isOfOthers(ArrayRef<Value> operands, Agent agent) {
    return llvm::all_of(operands, [&](Value operand) {
      const auto type = dyn_cast<BufferType>(operand.getType());
      return !type || type.isGlobal() || isBeyond(type.getSpace(), agent);
    });
  }

  /// One error of a nest or place: a statement has become several operations.
  static LogicalResult check(Operation* op, DenseSet<Location>& refused) {
    auto scope = op->getParentOfType<ScopeOp>();
    if (!scope)
      return success(); // numbers of a copy that has left it
    SmallVector<Value> operands(op->getOperands());
    if (auto gemm =
            dyn_cast<tile::GemmOp>(op)) // may multiply zeros that the kernel has no name for
      operands.insert(operands.begin(), gemm.getC());
    for (Value operand : operands) {
      const auto type = dyn_cast<BufferType>(operand.getType());
      if (!type || !isBeyond(type.getSpace(), scope.getAgent()))
        continue;
      auto nest = op->getParentOfType<tile::ParallelOp>();
      if (!refused.insert(nest ? nest.getLoc() : op->getLoc()).second)
        return failure();
      InFlightDiagnostic error = op->emitError();
      error << tilePlace(operand) << ", which the " << coresOf(scope.getAgent())
            << " of this T.Scope cannot reach";
      if (isOfOthers(operands, scope.getAgent()))
        error << ": put this into T.Scope(\"" << (scope.getAgent() == Agent::Cube ? "V" : "C")
              << "\")";
      error.attachNote(scope.getLoc()) << "T.Scope is here";
      error.attachNote(npu::storageOf(operand).getLoc())
          << tileName(operand) << " was allocated here";
      return error;
    }
    return success();
  }
};

} // namespace

std::unique_ptr<Pass> createCheckScopes() {
  return std::make_unique<CheckScopes>();
}

} // namespace tilewright::ascend
