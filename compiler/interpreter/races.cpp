// SPDX-License-Identifier: Apache-2.0
#include "compiler/interpreter/races.h"

namespace tilewright::interpreter {

bool Touches::hasOther(AccessKind kind, int64_t who) const {
  const int64_t known = by[size_t(kind)];
  return known != kNobody && known != who;
}

bool Touches::isWithAtomic(AccessKind kind, int64_t who) const {
  const bool writes = kind == AccessKind::Write || kind == AccessKind::SameWrite;
  const bool reads = kind == AccessKind::Read || kind == AccessKind::OwnRead;
  return (writes && hasOther(AccessKind::AtomicRead, who)) ||
         ((writes || reads) && hasOther(AccessKind::AtomicUpdate, who));
}

mlir::Operation* Touches::findRace(AccessKind kind, int64_t who) const {
  const bool isPlain = kind != AccessKind::AtomicRead && kind != AccessKind::AtomicUpdate;
  const bool writes = kind == AccessKind::Write || kind == AccessKind::SameWrite ||
                      kind == AccessKind::AtomicUpdate;
  const bool isOfOneValue =
      kind == AccessKind::OwnRead || (kind == AccessKind::SameWrite && !hasChanged);
  auto other = [&](AccessKind theirs) {
    return hasOther(theirs, who) ? lastAt[size_t(theirs)] : nullptr;
  };
  if (mlir::Operation* at = other(AccessKind::Write);
      at && kind != AccessKind::SameWrite && !isOfOneValue)
    return at;
  if (mlir::Operation* at = other(AccessKind::OwnRead); at && writes && !isOfOneValue)
    return at;
  if (mlir::Operation* at = other(AccessKind::Read); at && writes)
    return at;
  if (mlir::Operation* at = other(AccessKind::AtomicRead); at && writes && isPlain)
    return at;
  if (mlir::Operation* at = other(AccessKind::AtomicUpdate); at && isPlain)
    return at;
  return nullptr;
}

AccessKind Touches::afterOwnWrites(AccessKind kind, int64_t who) const {
  const bool isWriter = who < kTold && ((writers >> who) & 1) != 0;
  return kind == AccessKind::Read && isWriter && !hasChanged ? AccessKind::OwnRead : kind;
}

void Touches::add(AccessKind kind, int64_t who, mlir::Operation* op) {
  if (kind == AccessKind::Write && by[size_t(AccessKind::Write)] != kNobody)
    hasChanged = true;
  if (kind == AccessKind::SameWrite)
    kind = AccessKind::Write;
  if (kind == AccessKind::Write && who < kTold)
    writers |= uint64_t(1) << who;
  by[size_t(kind)] = hasOther(kind, who) ? kSeveral : who;
  lastAt[size_t(kind)] = op;
}

const Touches* ThreadTouches::note(AccessKind kind, const ThreadPlace& place, mlir::Operation* op) {
  if (blockRound != place.blockRound) {
    *this = {};
    blockRound = place.blockRound;
  }
  const AccessKind ofWarp = warps.afterOwnWrites(kind, place.warp);
  if (warps.findRace(ofWarp, place.warp))
    return &warps;
  // Another warp's lanes may be forgotten: what they did is a race between warps.
  if (warp != place.warp || warpRound != place.warpRound)
    lanes = {}, warp = place.warp, warpRound = place.warpRound;
  const int64_t lane = place.thread % kWarpSize;
  const AccessKind ofLane = lanes.afterOwnWrites(kind, lane);
  if (lanes.findRace(ofLane, lane))
    return &lanes;
  warps.add(ofWarp, place.warp, op);
  lanes.add(ofLane, lane, op);
  return nullptr;
}

} // namespace tilewright::interpreter
