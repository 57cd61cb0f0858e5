// SPDX-License-Identifier: Apache-2.0
// The temporary memory that advanced functions take: all of the tensor that they are given, as their number of steps
// depends on its size.
#include "simulator/isa/vector.h"

#include <cstring>

namespace tilewright::ascend::isa {

namespace {

bool usesScratch(const VectorInstr& i) {
  const bool works = i.form == VectorForm::Count ? i.count != 0 : i.repeat != 0;
  return works && (i.scratch.bytes != 0 || i.scratch.isWithoutMemory);
}

/// One byte for a tensor that has no memory, which is told by that.
uint64_t scratchBytes(const VectorInstr& i) {
  return i.scratch.isWithoutMemory ? 1 : i.scratch.bytes;
}

} // namespace

std::string addScratch(const VectorInstr& i, AccessList& list) {
  if (!usesScratch(i))
    return {};
  const unsigned others = list.count;
  addFlat(list, i.scratch, scratchBytes(i), AccessKind::Write);
  Access& own = list.items[others];
  own.undefined = true;
  own.movedFrom.isScratch = true;
  for (unsigned k = 0; k < others && !i.scratch.isWithoutMemory; ++k) {
    const Access& other = list.items[k];
    if (other.space != own.space || !other.region.overlaps(own.region))
      continue;
    const Interval a = other.region.hull(), b = own.region.hull();
    return "its temporary memory, UB bytes " + std::to_string(b.begin) + " to " +
           std::to_string(b.end - 1) + ", overlaps what it " +
           (other.kind == AccessKind::Read ? "reads" : "writes") + ", UB bytes " +
           std::to_string(a.begin) + " to " + std::to_string(a.end - 1);
  }
  return {};
}

void spoilScratch(const VectorInstr& i, const Context& context) {
  constexpr int noNumber = 0xFF; // NaN, as where nothing has written
  if (usesScratch(i))
    std::memset(context.at(i.scratch), noNumber, i.scratch.bytes);
}

} // namespace tilewright::ascend::isa
