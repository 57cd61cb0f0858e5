// SPDX-License-Identifier: Apache-2.0
// Which HardEvents the cores of arch 2201 have.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_EVENTS_H
#define TILEWRIGHT_SIMULATOR_SYNC_EVENTS_H

#include "simulator/isa/instruction.h"

namespace tilewright::ascend {

/// True if a cube (or a vector) core has the event `from`_`to`.
inline bool isEventOf(bool cube, Pipe from, Pipe to) {
  auto pair = [&](Pipe a, Pipe b) { return (from == a && to == b) || (from == b && to == a); };
  bool both =
      pair(Pipe::MTE2, Pipe::MTE3) || pair(Pipe::S, Pipe::MTE2) || pair(Pipe::S, Pipe::MTE3);
  if (both)
    return true;
  if (!cube)
    return pair(Pipe::MTE2, Pipe::V) || pair(Pipe::MTE3, Pipe::V) || pair(Pipe::V, Pipe::V) ||
           pair(Pipe::V, Pipe::S);
  if (pair(Pipe::FIX, Pipe::FIX))
    return true;
  if (to == Pipe::S)
    return from == Pipe::FIX || from == Pipe::M || from == Pipe::MTE1;
  if (from == Pipe::S)
    return to == Pipe::FIX || to == Pipe::M || to == Pipe::MTE1;
  return from != to && from != Pipe::V && to != Pipe::V && !pair(Pipe::M, Pipe::MTE3);
}

} // namespace tilewright::ascend

#endif
