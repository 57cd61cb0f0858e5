// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/event_numbers.h"

#include "compiler/ir/index_ranges.h"
#include "compiler/targets/ascend/turn_tables.h"

#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tilewright::ascend {

using namespace mlir;

/// 6 and 7 may be taken by the vendor's own functions.
static constexpr int64_t kEvents = 6;

EventNumbers::EventNumbers(func::FuncOp kernel) {
  TurnTables tables;
  kernel.walk([&](SetFlagOp set) {
    uint8_t& events = used[size_t(set.getFrom())][size_t(set.getTo())];
    std::optional<TurnTable> table = tables.of(set.getEvent());
    table = table ? withoutDrift(*std::move(table)) : std::nullopt;
    const IndexRange range = rangeAt(set, set.getEvent());
    for (int64_t event = 0; event < kEvents; ++event)
      if (table ? llvm::is_contained(table->values, event)
                : event >= range.low && event <= range.high)
        events |= uint8_t(1 << event);
  });
}

std::optional<int64_t> EventNumbers::free(Pipe from, Pipe to, int64_t number) const {
  for (int64_t event = 0; event < kEvents; ++event)
    if ((used[size_t(from)][size_t(to)] >> event & 1) == 0 && number-- == 0)
      return event;
  return std::nullopt;
}

void EventNumbers::order(ImplicitLocOpBuilder& builder, Pipe from, Pipe to) const {
  const std::optional<int64_t> number = free(from, to, 0);
  if (!number) {
    PipeBarrierOp::create(builder, Pipe::All);
    return;
  }
  const Value event = arith::ConstantIndexOp::create(builder, *number);
  SetFlagOp::create(builder, from, to, event);
  WaitFlagOp::create(builder, from, to, event);
}

} // namespace tilewright::ascend
