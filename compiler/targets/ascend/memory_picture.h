// SPDX-License-Identifier: Apache-2.0
/// A picture of the memories on chip: which buffer takes which bytes of one, and when.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::ascend {

struct BufferRow {
  std::string name;
  int64_t address = 0, bytes = 0;
  /// Numbers of operations in text order, from the first to the last that may need it; of one that is used.
  int64_t first = 0, last = 0;
  bool isUsed = true;
  std::string lines; ///< "lines 5 to 7", "unused"; may be empty
};

struct MemoryRows {
  std::string name; ///< "UB"
  int64_t capacity = 0;
  std::vector<BufferRow> rows;

  int64_t used() const; ///< bytes up to the end of the last buffer
};

/// SVG. Across a memory goes the program that uses it, downwards its addresses. Neither is to scale: whatever is small has a
/// least size, so that each buffer can be seen, and beside the memory stand its name, bytes and lines.
std::string memoryPicture(const std::vector<MemoryRows>& memories);

} // namespace tilewright::ascend
