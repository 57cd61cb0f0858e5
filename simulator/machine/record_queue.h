// SPDX-License-Identifier: Apache-2.0
// A queue that keeps its memory: std::deque allocates for each record.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_RECORD_QUEUE_H
#define TILEWRIGHT_SIMULATOR_MACHINE_RECORD_QUEUE_H

#include <cstddef>
#include <utility>
#include <vector>

namespace tilewright::ascend {

template <class T> class RecordQueue {
public:
  bool empty() const {
    return first == items.size();
  }
  size_t size() const {
    return items.size() - first;
  }
  T& front() {
    return items[first];
  }
  const T& front() const {
    return items[first];
  }
  // NOLINTBEGIN(readability-identifier-naming): named as in std::deque
  void push_back(T item) {
    if (first > size()) { // more is done than waits
      items.erase(begin() - static_cast<std::ptrdiff_t>(first), begin());
      first = 0;
    }
    items.push_back(std::move(item));
  }
  void pop_front() {
    if (++first == items.size()) {
      items.clear();
      first = 0;
    }
  }
  // NOLINTEND(readability-identifier-naming)
  auto begin() {
    return items.begin() + static_cast<std::ptrdiff_t>(first);
  }
  auto begin() const {
    return items.begin() + static_cast<std::ptrdiff_t>(first);
  }
  auto end() const {
    return items.end();
  }

private:
  std::vector<T> items;
  size_t first = 0;
};

} // namespace tilewright::ascend

#endif
