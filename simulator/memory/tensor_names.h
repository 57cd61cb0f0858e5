// SPDX-License-Identifier: Apache-2.0
// What the kernel of a tile language calls its tensors, so that findings name them and their elements. A kernel in
// Ascend C has no such names.
#ifndef TILEWRIGHT_SIMULATOR_MEMORY_TENSOR_NAMES_H
#define TILEWRIGHT_SIMULATOR_MEMORY_TENSOR_NAMES_H

#include "simulator/memory/region.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::ascend {

struct TensorName {
  std::string name;
  uint64_t begin = 0; ///< of what lies on chip: its first byte
  int64_t bits = 0;   ///< of an element
  int64_t pitch = 0;  ///< elements from row to row of the last dim; 0: elements don't lie in rows
  std::vector<int64_t> shape; ///< negative: known at run time only
  int64_t versions =
      1; ///< so many of this shape lie one behind the other, for turns of a loop that overlap

  /// "(32, 64)", with ? for what is not known.
  std::string shapeText() const;
  /// "[30, 0]": the element that so many bytes from the first one are a part of; empty if its place says nothing.
  /// The first index may be negative, or beyond the shape.
  std::string elementAt(int64_t offset) const;
  /// "[30, 0]" or "[30, 0] to [37, 59]", for bytes from `begin` to before `end`; empty like elementAt.
  std::string elementsAt(int64_t begin, int64_t end) const;
  /// Puts in what is known at run time only, in the order of the dims.
  void fillShape(const std::vector<int64_t>& extents);
  /// The bytes of one version, with what lies between its rows; nothing if a dim isn't known.
  std::optional<int64_t> bytes() const;
  /// From one version to the next.
  std::optional<int64_t> bytesOfVersion() const;
};

/// `text` is as the launch gives it (tilewrightAscendTensorNames in launch.h), `number` counts from 1. Nothing if there
/// is no such one.
std::optional<TensorName> tensorNamed(const char* text, uint16_t number);

/// Of each tensor in versions, by its number, the bytes of the first one; empty of others, and if there are none at all.
std::vector<Interval> versionsIn(const char* text);

/// " of 'a'", or nothing.
std::string ofTensor(const char* text, uint16_t number);

/// A tensor in global memory, whose first byte lies at `begin`.
struct GlobalTensorName {
  TensorName tensor;
  uint64_t begin = 0;
};

/// "'a' is written at [100], but its shape is (64)" for bytes from `begin` to before `end`, counted from its first one;
/// empty if they all are its own, and of one version, or if it can't be told.
std::string outsideOf(const TensorName& tensor, int64_t begin, int64_t end, bool isWritten);

} // namespace tilewright::ascend

#endif
