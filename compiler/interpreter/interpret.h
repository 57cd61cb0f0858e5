// SPDX-License-Identifier: Apache-2.0
/// Runs tile IR directly: the meaning of each op, in plain code, and the reference that targets are
/// compared with. It is a step machine: a block has agents (one per thread where the kernel tells
/// threads apart, else one), each with its own stack of scopes, which may wait for each other and
/// go on later. It checks every index, reads of what was never written, and races of
/// blocks, threads and iterations of a `tile.parallel`; what it finds are errors at the op's place.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

namespace tilewright::interpreter {

/// Memory of the caller: `data` holds elements as the buffer type stores them (4-bit elements in
/// pairs, the low half first).
struct TensorArgument {
  void* data = nullptr;
  std::vector<int64_t> shape;
  /// In elements; empty for row-major.
  std::vector<int64_t> strides;
  /// Made for this call (dense): an element holds nothing before the kernel writes it.
  bool isFresh = false;
  /// A fresh one that the caller is given: a warning says what the kernel has not written of it.
  bool isResult = false;
};
/// Integers and bools as int64_t, floats as double.
using Argument = std::variant<TensorArgument, int64_t, double>;

/// A function in C that a kernel calls, as something that runs here: numbers and addresses in, a number
/// out. False, and a sentence in `problem`, where there is none of that name or it failed.
using Number = std::variant<int64_t, double>;
using ExternalFunction = std::function<bool(std::string_view name, const std::vector<Number>& given,
                                            Number& result, std::string& problem)>;

struct InterpretOptions {
  ExternalFunction call;
  /// Ops that may be run before the kernel counts as endless; a while loop that takes more than one in kStepsPerTurn of it
  /// as turns does, too.
  int64_t maxSteps = kMostSteps;
  static constexpr int64_t kMostSteps = 2'000'000'000, kStepsPerTurn = 400;
  /// What is said of more of them: how to have more.
  std::string moreSteps;
  const std::atomic<bool>* cancel = nullptr;
  /// An error where a load, store or atomic of one element leaves a tensor, as on a device without checked
  /// accesses; else it gives 0 or is dropped. Operations on tiles have safe edges in any case.
  bool reportsOutOfRange = false;
  /// The iterations of a tile.parallel run one after the other, by the kernel's word: what they share is no race.
  bool iterationsTakeTurns = false;
  /// Receives what tile.print says; stdout if absent.
  std::string* printed = nullptr;
};

/// Runs the kernel's grid, block by block. `arguments` are those of the function in order, without
/// the symbols, which are taken from the shapes. Fails after an error, which the context's
/// diagnostic handler receives.
mlir::LogicalResult interpret(mlir::func::FuncOp kernel, llvm::ArrayRef<Argument> arguments,
                              const InterpretOptions& options = {});

} // namespace tilewright::interpreter
