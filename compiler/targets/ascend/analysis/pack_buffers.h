// SPDX-License-Identifier: Apache-2.0
/// Addresses in one memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::ascend::model {

struct Buffer {
  std::string name;
  int64_t bytes = 0;
  /// From the first to the last use, both included, in any numbering of the text.
  int64_t first = 0, last = 0;
  std::optional<int64_t> pinned; ///< where the user wants it, whatever lies there
  bool isTemporary = false;      ///< the compiler's own, of one pipe's instructions
};

struct Packing {
  std::vector<int64_t> addresses; ///< by buffer
  int64_t end = 0;                ///< behind the last byte that is used
};

/// One behind the other in the order given, temporaries last, around what is pinned.
Packing packInOrder(const std::vector<Buffer>& buffers, int64_t alignment);

/// The same, but temporaries that are never live at once may share bytes with each other.
Packing packWithTemporaries(const std::vector<Buffer>& buffers, int64_t alignment);

/// Buffers that are never live at once may share bytes. The best of several greedy orders.
Packing packByLife(const std::vector<Buffer>& buffers, int64_t alignment);

/// In order if that fits, for shared bytes make instructions wait; else by life or, where buffers may not
/// share, only temporaries do.
Packing pack(const std::vector<Buffer>& buffers, int64_t alignment, int64_t capacity,
             bool mayShare);

/// The buffers that are live at the point where the most bytes are, the largest first.
std::vector<size_t> liveAtPeak(const std::vector<Buffer>& buffers);

} // namespace tilewright::ascend::model
