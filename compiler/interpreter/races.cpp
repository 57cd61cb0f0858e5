// SPDX-License-Identifier: Apache-2.0
#include "compiler/interpreter/races.h"

namespace tilewright::interpreter {

bool Touches::hasOther(AccessKind kind, int64_t who) const {
  const int64_t known = by[size_t(kind)];
  return known != kNobody && known != who;
}

bool Touches::isWithAtomic(AccessKind kind, int64_t who) const {
  const bool writes = kind == AccessKind::Write || kind == AccessKind::SameWrite;
  return (writes && hasOther(AccessKind::AtomicRead, who)) ||
         ((writes || kind == AccessKind::Read) && hasOther(AccessKind::AtomicUpdate, who));
}

mlir::Operation* Touches::findRace(AccessKind kind, int64_t who) const {
  const bool isPlain = kind != AccessKind::AtomicRead && kind != AccessKind::AtomicUpdate;
  const bool writes = kind != AccessKind::Read && kind != AccessKind::AtomicRead;
  auto other = [&](AccessKind theirs) {
    return hasOther(theirs, who) ? lastAt[size_t(theirs)] : nullptr;
  };
  if (mlir::Operation* at = other(AccessKind::Write); at && kind != AccessKind::SameWrite)
    return at;
  if (mlir::Operation* at = other(AccessKind::Read); at && writes)
    return at;
  if (mlir::Operation* at = other(AccessKind::AtomicRead); at && writes && isPlain)
    return at;
  if (mlir::Operation* at = other(AccessKind::AtomicUpdate); at && isPlain)
    return at;
  return nullptr;
}

void Touches::add(AccessKind kind, int64_t who, mlir::Operation* op) {
  if (kind == AccessKind::SameWrite)
    kind = AccessKind::Write;
  by[size_t(kind)] = hasOther(kind, who) ? kSeveral : who;
  lastAt[size_t(kind)] = op;
}

const Touches* ThreadTouches::note(AccessKind kind, const ThreadPlace& place, mlir::Operation* op) {
  if (blockRound != place.blockRound) {
    *this = {};
    blockRound = place.blockRound;
  }
  if (warps.findRace(kind, place.warp))
    return &warps;
  // Another warp's lanes may be forgotten: what they did is a race between warps.
  if (warp != place.warp || warpRound != place.warpRound)
    lanes = {}, warp = place.warp, warpRound = place.warpRound;
  if (lanes.findRace(kind, place.thread))
    return &lanes;
  warps.add(kind, place.warp, op);
  lanes.add(kind, place.thread, op);
  return nullptr;
}

} // namespace tilewright::interpreter
