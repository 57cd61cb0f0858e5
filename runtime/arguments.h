// SPDX-License-Identifier: Apache-2.0
/// Checks the arguments of a call against the manifest, and finds the symbols from the tensors'
/// shapes. No Python here: the bindings and C++ callers give the same TensorView, and get the same
/// messages.
#pragma once

#include "runtime/manifest.h"

#include <span>

namespace tilewright::runtime {

/// A tensor of the caller; `data` is the address of element 0. Strides count elements; null:
/// contiguous.
struct TensorView {
  void* data = nullptr;
  DlDevice device{DlCpu, 0};
  DlDataType dtype{DlFloat, 32, 1};
  int32_t ndim = 0;
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;
  bool isReadOnly = false;
  bool isPresent = false; // false: None, or an output still to be made
};

/// The order of use: `checkType` for each tensor given, `solve` once, `checkShape` for each tensor, `checkApart` once.
/// All return false with `error` set to a full message; nothing is allocated when all is well.
class ArgumentChecker {
public:
  /// Nothing (and `error`) if no shape or stride could ever give one of the symbols.
  static std::optional<ArgumentChecker> make(const Manifest& manifest, std::string& error);

  const Manifest& manifest() const {
    return spec;
  }
  size_t slotCount() const {
    return spec.params.size() + spec.symbols.size();
  }
  /// Where the address or value of a parameter lies among the slots.
  size_t slotOf(size_t param) const {
    return slots[param];
  }
  bool isOutput(size_t param) const {
    return outputs[param];
  }

  /// `views` has one entry per parameter (scalars absent), `symbols` one per symbol.
  bool checkType(size_t param, const TensorView& view, std::string& error) const;
  /// For None, given for a tensor or an address.
  bool checkAbsence(size_t param, std::string& error) const;
  /// For a tensor that is given for an address.
  bool checkPointer(size_t param, const TensorView& view, std::string& error) const;
  /// `slots` hold the values of the scalars.
  bool solve(std::span<const TensorView> views, std::span<const uint64_t> slots,
             std::span<int64_t> symbols, std::string& error) const;
  bool checkShape(size_t param, const TensorView& view, std::span<const int64_t> symbols,
                  std::string& error) const;

  /// Whether no tensor that is written overlaps another in part, or is one that the kernel reads elsewhere at once.
  /// After `checkShape`.
  bool checkApart(std::span<const TensorView> views, std::string& error) const;

  /// Whether the numbers keep the limits of a launch that has blocks. `slots` hold scalars and symbols, after `solve`.
  bool checkLimits(size_t launch, std::span<const uint64_t> slots, std::string& error) const;

  /// The shape in memory of an output: sub-byte elements are packed along the last dim.
  bool outputShape(size_t param, std::span<const int64_t> symbols, std::span<int64_t> shape,
                   std::string& error) const;

  /// The extents of a tensor that was checked, in elements of its type.
  void elementShape(size_t param, std::span<const int64_t> symbols, std::span<int64_t> shape) const;

  /// A stride of a tensor that is given, in elements of its type.
  int64_t elementStride(size_t param, const TensorView& view, size_t dim) const;

  /// `NAME: argument I 'PARAM' `: what every message begins with.
  std::string subject(size_t param) const;
  /// The second line of a message: the text by which users of TileLang know the error.
  std::string inTileLang(std::string_view words) const;

private:
  explicit ArgumentChecker(const Manifest& manifest);

  /// shape[dim] (or strides[dim]) of a parameter equals `equation`.
  struct Equation {
    size_t param;
    size_t dim;
    bool isStride;
  };
  bool checkMemory(size_t param, const TensorView& view, std::string& error) const;
  bool checkDtype(size_t param, const ElementType& expected, const TensorView& view,
                  std::string& error) const;
  const Dim& dimOf(const Equation& equation) const;
  std::string handle(size_t param) const;
  std::string constraint(const Equation& equation, int64_t given, int64_t wanted) const;
  int64_t givenValue(const Equation& equation, const TensorView& view) const;
  /// Whether only shapes and strides of tensors that aren't there hold a symbol: it stays 0.
  bool isNeedless(size_t symbol, std::span<const TensorView> views) const;
  /// The value of an integer or bool among the slots.
  int64_t scalarOf(size_t param, std::span<const uint64_t> slots) const;
  /// The number in a slot of a scalar or symbol.
  int64_t numberAt(size_t slot, std::span<const uint64_t> slots) const;
  /// `NAME: argument I 'PARAM' is `, or of a symbol who makes it that.
  std::string subjectAt(size_t slot) const;
  bool isNeeded(size_t param, std::span<const uint64_t> slots) const;
  /// The symbols that scalars give.
  bool takeScalars(std::span<const uint64_t> slots, std::span<int64_t> symbols, uint64_t& known,
                   std::string& error) const;
  bool solveOne(const Equation& equation, int64_t given, std::span<int64_t> symbols,
                uint64_t& known, std::string& error) const;
  bool failAbsence(size_t param, std::string& error) const;
  bool failApart(size_t param, size_t other, std::string_view what, std::string& error) const;
  bool checkStrides(size_t param, const TensorView& view, std::span<const int64_t> symbols,
                    std::string& error) const;
  bool failPacked(size_t param, const TensorView& view, std::string& error) const;
  bool failShape(size_t param, const TensorView& view, std::span<const int64_t> symbols, size_t dim,
                 std::string& error) const;
  std::string symbolValues(const Dim& dim, std::span<const int64_t> symbols) const;

  Manifest spec;
  std::vector<size_t> slots;
  std::vector<size_t> paramOf; // of each slot that a parameter has
  std::vector<bool> outputs;
  std::vector<Equation> equations; // those with symbols, in an order that solves them in one pass
};

} // namespace tilewright::runtime
