// SPDX-License-Identifier: Apache-2.0
/// CheckKernel: refuses, with places, what the chip doesn't have, and warns of what may clash.
/// Changes nothing.
///
///     %x = tile.alloc "x" : !tile.buffer<64xf64, UB>
///       error: 'x' has elements of float64, which 910B2 does not have
///     %x = tile.view %y : !tile.buffer<64xsi4, UB>
///       error: this view has elements of int4, ...
///     ascend.set_flag mte2 to v, %c7
///       warning: event 7 may be taken by the vendor's own functions; 0 to 5 are the kernel's
///
/// It stands first: what is found here needs no reading of what the other passes made.
#include "compiler/chips/ascend_chip.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/kernel_arguments.h"
#include "compiler/ir/kernel_manifest.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/source_text.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

constexpr int64_t kFirstReservedEvent = 6;

std::string nameOfType(Type type) {
  std::string text = tile::dtypeName(type);
  llvm::raw_string_ostream stream(text);
  if (text.empty())
    stream << type;
  return text;
}

bool isHalfByte(Type type) {
  return type.isInteger() && type.getIntOrFloatBitWidth() == 4;
}

const std::string kInsteadOfHalfBytes =
    "; hold two of them in an int8 or uint8, and part them by T.tile.cast to int16, "
    "T.tile.bitwise_lshift and T.tile.bitwise_rshift";

class CheckKernel : public KernelPass<CheckKernel> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-check-kernel";
  static constexpr llvm::StringLiteral kDescription = "refuse what the chip doesn't have";

  explicit CheckKernel(std::string chip) : chip(std::move(chip)) {}

  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (kernel.getOps<tile::LaunchOp>().empty())
      return; // not a kernel
    for (const tile::KernelArgument& argument : tile::kernelArguments(kernel)) {
      const BlockArgument value = kernel.getArgument(argument.number);
      const Location place = isa<UnknownLoc>(value.getLoc()) ? kernel.getLoc() : value.getLoc();
      const char* what =
          argument.kind == tile::KernelArgument::Tensor ? "' has elements of " : "' is ";
      checkType(argument.element, place, "'" + argument.name + what);
    }
    kernel.walk([&](Operation* op) {
      if (auto alloc = dyn_cast<tile::AllocOp>(op))
        checkType(alloc.getType().getElementType(), op->getLoc(),
                  "'" + alloc.getSymName().value_or("a buffer").str() + "' has elements of ");
      else if (isa<tile::AllocSizedOp>(op))
        refuse(op,
               "tiles whose shape is known only when the kernel is called; give a T.alloc_shared "
               "or T.alloc_fragment constant extents, and copy a part of the tensor");
      else if (auto view = dyn_cast<tile::ViewOp>(op))
        checkType(view.getType().getElementType(), op->getLoc(), "this view has elements of ");
      else if (isa<tile::TensorAtOp, tile::AddressOp>(op))
        refuse(op, "addresses of memory as numbers, but for a T.ptr argument that T.make_tensor "
                   "makes one tensor of, with a shape of constants, arguments and "
                   "dynamic dims");
      else if (isa<tile::SyncOp>(op))
        refuse(op, "a barrier of a block's threads (T.sync_threads); a core's pipes wait for each "
                   "other at T.barrier_all() or T.pipe_barrier(pipe), cores at T.sync_all()");
      else if (isa<tile::ThreadIdOp, tile::ShuffleOp, tile::VoteOp>(op))
        refuse(op, "single threads of a block; a T.Parallel loop shares its work out");
      else if (auto call = dyn_cast<tile::CallOp>(op))
        refuse(op, "the C function '" + call.getCallee() +
                       "'; functions of Ascend C take pointers to buffers (access_ptr)");
      else if (auto set = dyn_cast<SetFlagOp>(op))
        checkFlag(set);
      else if (auto waits = dyn_cast<WaitFlagOp>(op))
        checkFlag(waits);
      else if (auto flag = dyn_cast<SetCrossFlagOp>(op))
        checkPipe(flag);
      else
        for (Value result : op->getResults())
          if (isa<FloatType>(result.getType()))
            checkType(result.getType(), op->getLoc(), "this is ");
    });
  }

private:
  void checkType(Type type, Location place, const std::string& what) {
    if (!type || !cppType(type).empty())
      return;
    // One message a place: an expression has many values.
    if (reported.insert(place).second)
      emitError(place) << "unsupported on ascend: " << what << nameOfType(type)
                       << (isHalfByte(type) ? kInsteadOfHalfBytes
                                            : ", which " + chip + " does not have");
    signalPassFailure();
  }

  void refuse(Operation* op, const Twine& what) {
    op->emitError() << "unsupported on ascend: " << what;
    signalPassFailure();
  }

  static SmallVector<Pipe> pipesOf(Agent agent) {
    if (agent == Agent::Cube)
      return {Pipe::S, Pipe::M, Pipe::MTE1, Pipe::MTE2, Pipe::MTE3, Pipe::FIX};
    return {Pipe::S, Pipe::V, Pipe::MTE2, Pipe::MTE3};
  }

  /// A flag that is never set would be waited for in vain.
  void checkPipe(SetCrossFlagOp set) {
    if (auto scope = set->getParentOfType<ScopeOp>())
      checkPipe(set, set.getPipe(), scope, "that could set this flag");
  }

  bool checkPipe(Operation* op, Pipe pipe, ScopeOp scope, StringRef toDo) {
    const SmallVector<Pipe> pipes = pipesOf(scope.getAgent());
    if (llvm::is_contained(pipes, pipe))
      return true;
    InFlightDiagnostic error = op->emitError();
    error << (scope.getAgent() == Agent::Cube ? "the cube core" : "a vector core")
          << " has no pipe '" << stringifyPipe(pipe) << "' " << toDo << ": it is one of ";
    llvm::interleave(
        pipes, [&](Pipe each) { error << stringifyPipe(each); }, [&] { error << ", "; });
    error.attachNote(scope.getLoc()) << "this T.Scope is here";
    signalPassFailure();
    return false;
  }

  /// Of a flag within a core: its core must have both pipes, or nothing would do it.
  template <typename Flag> void checkFlag(Flag flag) {
    checkEvent(flag, flag.getEvent());
    if (auto scope = flag->template getParentOfType<ScopeOp>()) {
      if (checkPipe(flag, flag.getFrom(), scope, "that could set this flag"))
        checkPipe(flag, flag.getTo(), scope, "that could wait for this flag");
      return;
    }
    const auto hasBoth = [&](Agent agent) {
      const SmallVector<Pipe> pipes = pipesOf(agent);
      return llvm::is_contained(pipes, flag.getFrom()) && llvm::is_contained(pipes, flag.getTo());
    };
    if (hasBoth(Agent::Cube) || hasBoth(Agent::Vector))
      return;
    flag.emitError() << "no core has both pipe '" << stringifyPipe(flag.getFrom()) << "' and pipe '"
                     << stringifyPipe(flag.getTo())
                     << "': cores tell each other by T.set_cross_flag and T.wait_cross_flag";
    signalPassFailure();
  }

  static void checkEvent(Operation* op, Value event) {
    const std::optional<int64_t> number = getConstantIntValue(event);
    if (number && *number >= kFirstReservedEvent)
      op->emitWarning() << "event " << *number
                        << " may be taken by the vendor's own functions; 0 to 5 are the kernel's";
  }

  std::string chip;
  DenseSet<Location> reported;
};

} // namespace

std::unique_ptr<Pass> createCheckKernel(const chips::AscendChip& chip) {
  return std::make_unique<CheckKernel>(chip.name);
}

} // namespace tilewright::ascend
