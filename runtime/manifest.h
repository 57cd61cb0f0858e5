// SPDX-License-Identifier: Apache-2.0
/// What a compiled kernel says about itself (docs/kernel-abi.md).
#pragma once

#include "runtime/element_type.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright::runtime {

/// An extent or stride: `constant + sum(coefficient * symbol)`, or `constant` times the product of
/// `terms`' symbols, or any other expression, which can be checked but gives no symbol.
struct Dim {
  enum class Operation { Constant, Symbol, Add, Multiply, FloorDivide, CeilDivide, Modulo };
  /// One step of an expression in postfix order; `value` is the constant or the symbol's number.
  struct Step {
    Operation operation;
    int64_t value = 0;
    bool operator==(const Step&) const = default;
  };

  bool isProduct = false;
  int64_t constant = 0;
  std::vector<std::pair<int64_t, int32_t>>
      terms;              // coefficient (1 where it is no sum), number of the symbol
  std::vector<Step> code; // of any other expression

  bool isConstant() const {
    return terms.empty();
  }
  bool isLinear() const {
    return !isProduct && code.empty();
  }
  /// False where it overflows 64 bits, or divides by what is not positive.
  bool evaluate(std::span<const int64_t> symbols, int64_t& value) const;
  /// "2*n + 1", "m*k", "(n + 31) // 32".
  std::string text(std::span<const std::string> symbols) const;
};

/// A scalar parameter of a kernel, compared with a number.
struct ScalarTest {
  enum class Comparison { Equal, Unequal, Less, AtMost, More, AtLeast };
  size_t param = 0;
  Comparison comparison = Comparison::Equal;
  int64_t number = 0;
};

struct Param {
  bool isTensor = false;
  std::string name;
  const ElementType* type = nullptr;
  bool used = true; // of a tensor or an address: if not, None may be passed
  // Of scalars that are addresses: the type of the elements of tensors that are given for them.
  bool isAddress = false;
  const ElementType* pointee = nullptr;
  std::vector<int64_t> pointeeShape; // of the row-major tensor there, if it is known
  // The rest is of tensors only.
  std::vector<Dim> shape;
  std::optional<std::vector<Dim>> strides; // nothing: row-major and contiguous
  int64_t align = 1;                       // bytes
  bool written = false;                    // if so, no read-only memory may be passed
  /// Of a tensor that only some values of scalars have the kernel use: any of these, each of which is all of its tests.
  std::optional<std::vector<std::vector<ScalarTest>>> neededIf;
  bool mayOverlap = false;       // others in part, as the kernel says
  std::vector<size_t> apartFrom; // of parameters that may not be the same memory
};

struct DeviceAssertion {
  std::string message; // all that is told, but for the place
  std::string file;
  int32_t line = 0; // 0: no place is known
  int32_t column = 0;
  bool tells = false; // the message has {} in the place of TwLaunch.told
};

/// What a caller must know of one of a kernel's launches.
struct LaunchSpec {
  bool isCooperative = false; // its blocks wait for each other
  std::string place = "";     // "kernel.py:12:5", of T.Kernel; empty: unknown
};

/// The most that a scalar or symbol may be where a launch has blocks and others are large enough: what a kernel copies would
/// leave its tile.
struct ArgumentLimit {
  size_t launch = 0; // which one
  size_t slot = 0;   // of the number (tilewright/kernel_abi.h)
  int64_t most = 0;
  std::vector<std::pair<size_t, int64_t>> where; // slots, and the least that must be in each
  std::string tile;
  bool fills = true;                // the tile, or takes from it
  bool multiplies = false;          // or is a gemm
  std::string tilePlace, copyPlace; // "kernel.py:12"; empty: unknown
};

struct Manifest {
  std::string name;
  std::string target;
  std::string cpu;
  std::vector<Param> params;
  std::vector<std::string> symbols;
  std::vector<std::pair<int32_t, int32_t>>
      scalarSymbols;                  // numbers of symbols, and of the scalars that give them
  std::vector<int32_t> unreadSymbols; // numbers of those that only shapes and strides hold
  int64_t scratchBytes = 0;
  int64_t workspaceBytes = 0;          // of global memory, per call
  std::vector<LaunchSpec> launches{1}; // at least one; they run in this order
  int64_t coresPerBlock = 1;           // that a launch on an NPU asks for
  bool usesTiles = false;              // the code needs the tile registers of AMX
  bool isRelaxed = false;              // on the Ascend host: the vendor's compiler orders some
  std::vector<ArgumentLimit> limits;
  std::vector<DeviceAssertion> asserts;
  std::vector<int32_t> outIdx; // numbers of parameters in the order asked for, none negative

  /// Reads and checks the JSON; on failure, nothing, and `error` says what is wrong where.
  static std::optional<Manifest> parse(std::string_view json, std::string& error);
  /// Sets `outIdx`; negative numbers count from the end. They count all parameters, or, for Ascend where
  /// that names a scalar, the tensors. False, and `error`, if they name no tensors, or one twice. Behind the first
  /// `results` stand workspaces, which the error calls so.
  bool setOutputs(std::span<const int64_t> numbers, std::string& error, size_t results = SIZE_MAX);
};

} // namespace tilewright::runtime
