// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/event_numbers.h"

#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::ascend {

using namespace mlir;

static constexpr int64_t kEvents = 8;

EventNumbers::EventNumbers(func::FuncOp kernel) {
  kernel.walk([&](SetFlagOp set) {
    uint8_t& events = used[size_t(set.getFrom())][size_t(set.getTo())];
    // A number that is not known may be any but the last two, which the language leaves alone.
    std::optional<int64_t> event = getConstantIntValue(set.getEvent());
    events |= uint8_t(event ? 1 << *event : 0x3F);
  });
}

int64_t EventNumbers::free(Pipe from, Pipe to, int64_t number) const {
  for (int64_t event = 0; event < kEvents; ++event)
    if ((used[size_t(from)][size_t(to)] >> event & 1) == 0 && number-- == 0)
      return event;
  return kEvents - 1;
}

} // namespace tilewright::ascend
