// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/check_kernel.h"

#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/place_of.h"
#include "compiler/ir/tile.h"
#include "compiler/passes/analysis/fragment_sets.h"
#include "compiler/passes/analysis/thread_groups.h"
#include "compiler/targets/cpu/external_symbols.h"
#include "compiler/targets/cpu/function_overlaps.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Support/MathExtras.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferType;
using tile::MemorySpace;

/// As the user wrote it ("int4"); types without such a name as MLIR prints them.
std::string textOf(Type type) {
  std::string text = tile::dtypeName(type);
  if (!text.empty())
    return text;
  llvm::raw_string_ostream stream(text);
  stream << type;
  return text;
}

/// What a workspace in global memory may hold, in elements.
constexpr int64_t largestWorkspace = int64_t(1) << 32;

/// Why values of this type cannot be used; empty if they can.
std::string refuseBuffer(BufferType type) {
  switch (type.getSpace()) {
  case MemorySpace::L1:
  case MemorySpace::L0A:
  case MemorySpace::L0B:
  case MemorySpace::L0C:
  case MemorySpace::UB:
    return "memory " + stringifyMemorySpace(type.getSpace()).str() +
           " exists on Ascend chips, not on the cpu target";
  default:
    return type.getLayout() ? "a buffer with a layout is not supported by the cpu target" : "";
  }
}

std::string refuseGemm(tile::GemmOp op) {
  for (const tile::BufferRegion& region : {op.getARegion(), op.getBRegion(), op.getCRegion()}) {
    if (llvm::any_of(region.staticExtents(), ShapedType::isDynamic))
      return "gemm on the cpu target needs extents that are known when compiling";
    if (!region.type().hasStaticShape())
      return "gemm on the cpu target needs tiles whose shapes are known when compiling";
  }
  Type element = op.getCRegion().type().getElementType();
  if (element.isInteger(1) || (element.getIntOrFloatBitWidth() <= 8 && isa<FloatType>(element)))
    return "gemm cannot accumulate in " + textOf(element);
  return "";
}

/// `own` holds the names of the functions that the kernel brings with it.
std::string refuseCall(tile::CallOp op, const llvm::StringSet<>& own) {
  const ExternalLibrary library = findExternalSymbol(op.getCallee());
  return library == ExternalLibrary::Math || own.contains(op.getCallee())
             ? ""
             : "there is no function '" + op.getCallee().str() +
                   "' for kernels on the cpu target, which has those of libm and of "
                   "T.import_source";
}

std::string refuseAtomic(Type element) {
  if (element.getIntOrFloatBitWidth() >= 8 || element.isInteger(1))
    return "";
  return "atomic updates of " + textOf(element) + " are not supported by the cpu target; use " +
         (isa<FloatType>(element) ? "float32" : "int32");
}

bool holdsWarpOp(Operation* op) {
  return op
      ->walk([](Operation* nested) {
        return isa<tile::ShuffleOp, tile::VoteOp>(nested) ? WalkResult::interrupt()
                                                          : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The ops of tile IR that the passes of this target lower: a new one is refused until it stands here.
bool isLowered(Operation* op) {
  return isa<tile::LaunchOp, tile::ForOp, tile::WhileOp, tile::ConditionOp, tile::BreakOp,
             tile::ContinueOp, tile::ParallelOp, tile::YieldOp, tile::PrintOp, tile::AssertOp,
             tile::AllocOp, tile::AllocSizedOp, tile::ViewOp, tile::TensorAtOp, tile::AddressOp,
             tile::CallOp, tile::DimOp, tile::LoadOp, tile::StoreOp, tile::AtomicOp, tile::CopyOp,
             tile::FillOp, tile::GemmOp, tile::ReduceOp, tile::ScanOp, tile::AtomicTileOp,
             tile::ThreadIdOp, tile::SyncOp, tile::ShuffleOp, tile::VoteOp>(op);
}

/// Why this op cannot be compiled; empty if it can.
std::string refuseOp(Operation* op, const llvm::StringSet<>& own) {
  return llvm::TypeSwitch<Operation*, std::string>(op)
      .Case([](tile::LaunchOp launch) {
        return launch.getNpu() ? "a kernel with is_npu=True runs on Ascend cores, which the cpu "
                                 "target lacks; compile it with target=\"ascend\", or "
                                 "target=\"reference\""
                               : "";
      })
      .Case([](scf::IfOp choice) {
        return choice.getNumResults() != 0 && holdsWarpOp(choice)
                   ? "a shuffle or vote inside of a choice between values is not supported by the "
                     "cpu target; write it before"
                   : "";
      })
      .Case([](tile::AllocOp alloc) {
        const BufferType type = alloc.getType();
        if (type.isGlobal() && (!type.hasStaticShape() || type.getNumElements() > largestWorkspace))
          return "a workspace has at most " + std::to_string(largestWorkspace) + " elements";
        return refuseBuffer(type);
      })
      .Case([](tile::GemmOp gemm) { return refuseGemm(gemm); })
      .Case([&](tile::CallOp call) { return refuseCall(call, own); })
      .Case([](tile::AtomicOp atomic) {
        return refuseAtomic(cast<BufferType>(atomic.getBuffer().getType()).getElementType());
      })
      .Case([](tile::AtomicTileOp atomic) {
        return refuseAtomic(atomic.getTargetRegion().type().getElementType());
      })
      .Default([](Operation* other) -> std::string {
        if (isLowered(other) ||
            isa<arith::ArithDialect, math::MathDialect, scf::SCFDialect, func::FuncDialect>(
                other->getDialect()))
          return "";
        return "'" + other->getName().getStringRef().str() + "' is not supported by the cpu target";
      });
}

} // namespace

static void checkFragments(tile::LaunchOp launch, std::vector<Diagnostic>& found) {
  for (const FragmentProblem& problem : splitFragments(launch)) {
    Diagnostic made{Severity::Unsupported, placeOf(problem.op->getLoc()), problem.message, {}};
    if (problem.other)
      made.notes.push_back({placeOf(problem.other->getLoc()), problem.note});
    found.push_back(std::move(made));
  }
}

/// A function of T.tile whose destination surely overlaps an operand in part: an NPU has no order for that.
static void checkOperands(func::FuncOp kernel, std::vector<Diagnostic>& found) {
  kernel.walk([&](tile::ParallelOp nest) {
    auto function = nest->getAttrOfType<StringAttr>("function");
    if (!function)
      return;
    if (const std::optional<std::string> overlap = describeOverlap(nest, denseStrides))
      found.push_back({Severity::Error,
                       placeOf(nest.getLoc()),
                       "T.tile." + function.getValue().str() + " " + *overlap,
                       {}});
  });
}

/// What groups of threads can't do, as the passes will find it.
static void checkThreadGroups(func::FuncOp kernel, std::vector<Diagnostic>& found) {
  if (llvm::none_of(kernel.getOps<tile::LaunchOp>(), hasThreadGroups))
    return;
  OwningOpRef<func::FuncOp> own = kernel.clone(); // in which barriers are joined
  for (auto launch : own->getOps<tile::LaunchOp>()) {
    if (!hasThreadGroups(launch))
      continue;
    std::vector<ThreadGroups::Problem> problems = joinBarriers(launch);
    if (problems.empty()) {
      const ThreadGroups groups(launch);
      problems = groups.problems;
      if (problems.empty()) {
        markThreadGroups(groups.branches);
        checkFragments(launch, found);
      }
    }
    for (const ThreadGroups::Problem& problem : problems)
      found.push_back(
          {Severity::Unsupported,
           placeOf(problem.op->getLoc()),
           problem.message,
           {{placeOf(problem.branch->getLoc()),
             isa<tile::ForOp>(problem.branch) ? "the loop is here" : "the branch is here"}}});
  }
}

std::vector<Diagnostic> checkKernel(func::FuncOp kernel, const llvm::StringSet<>& own) {
  std::vector<Diagnostic> found;
  auto report = [&](Location location, std::string message) {
    if (!message.empty())
      found.push_back({Severity::Unsupported, placeOf(location), std::move(message), {}});
  };
  // Memories and operations of Ascend cores follow from a launch of these.
  for (auto launch : kernel.getOps<tile::LaunchOp>())
    if (launch.getNpu()) {
      report(launch.getLoc(), refuseOp(launch, own));
      return found;
    }
  for (BlockArgument argument : kernel.getArguments())
    if (auto type = dyn_cast<BufferType>(argument.getType()))
      report(argument.getLoc(), refuseBuffer(type));
  kernel.walk<WalkOrder::PreOrder>([&](Operation* op) { report(op->getLoc(), refuseOp(op, own)); });
  checkOperands(kernel, found);
  checkThreadGroups(kernel, found);
  // Also what all buffers of a launch take together: reuse of dead ones is not counted on.
  for (auto launch : kernel.getOps<tile::LaunchOp>()) {
    uint64_t bytes = 0, most = 0;
    tile::AllocOp largest;
    launch.walk([&](tile::AllocOp alloc) {
      if (alloc.getType().isGlobal())
        return;
      const uint64_t elements = alloc.getType().getNumElements();
      const uint64_t own =
          llvm::SaturatingMultiply<uint64_t>(elements, alloc.getType().getElementBits()) / 8;
      bytes = llvm::SaturatingAdd(bytes, own);
      if (!largest || own > most) {
        largest = alloc;
        most = own;
      }
    });
    if (bytes > kLargestScratch)
      report(largest.getLoc(), "the kernel's buffers on chip take " + std::to_string(bytes) +
                                   " bytes, the one here " + std::to_string(most) +
                                   " of them, but the cpu target has " +
                                   std::to_string(kLargestScratch) + " for a block");
  }
  return found;
}

} // namespace tilewright::cpu
