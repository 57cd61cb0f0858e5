// SPDX-License-Identifier: Apache-2.0
#include "compiler/interpreter/races.h"

#include "llvm/ADT/STLExtras.h"

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

AccessKind Touches::afterOwnWrite(AccessKind kind) const {
  return kind == AccessKind::Read && !hasChanged ? AccessKind::OwnRead : kind;
}

void Touches::add(AccessKind kind, int64_t who, mlir::Operation* op) {
  if (kind == AccessKind::Write && by[size_t(AccessKind::Write)] != kNobody)
    hasChanged = true;
  if (kind == AccessKind::SameWrite)
    kind = AccessKind::Write;
  by[size_t(kind)] = hasOther(kind, who) ? kSeveral : who;
  lastAt[size_t(kind)] = op;
}

void Authors::keepIf(int64_t itsBlock, uint64_t bits) {
  if (block == itsBlock && value == bits)
    return;
  lanes.clear();
  block = itsBlock;
  value = bits;
}

void Authors::add(const ThreadPlace& place) {
  if (int64_t(lanes.size()) <= place.warp)
    lanes.resize(place.warp + 1, 0);
  lanes[place.warp] |= uint32_t(1) << (place.thread % tile::kWarpSize);
}

bool Authors::has(const ThreadPlace& place) const {
  return place.warp < int64_t(lanes.size()) &&
         ((lanes[place.warp] >> (place.thread % tile::kWarpSize)) & 1) != 0;
}

AccessKind ThreadTouches::kindIn(const Touches& touches, AccessKind kind,
                                 const ThreadPlace& place) const {
  // What orders a thread with the writer of its own party is looked at among the lanes.
  const bool isOfParty = &touches == &parties && llvm::is_contained(writers, place.party);
  return isOfParty || authors.has(place) ? touches.afterOwnWrite(kind) : kind;
}

const Touches* ThreadTouches::note(AccessKind kind, const ThreadPlace& place, mlir::Operation* op,
                                   uint64_t bits) {
  if (blockRound != place.blockRound) {
    parties = lanes = {};
    writers.clear();
    blockRound = place.blockRound;
  }
  if (kind == AccessKind::Write)
    authors = {}; // another value was there, perhaps one that no thread wrote
  authors.keepIf(place.block, bits);
  const AccessKind ofParty = kindIn(parties, kind, place);
  if (parties.findRace(ofParty, place.party))
    return &parties;
  // Another party's lanes may be forgotten: what they did is a race between parties.
  if (party != place.party || warpRound != place.warpRound)
    lanes = {}, party = place.party, warpRound = place.warpRound;
  const AccessKind ofLane = kindIn(lanes, kind, place);
  if (lanes.findRace(ofLane, place.thread))
    return &lanes;
  parties.add(ofParty, place.party, op);
  lanes.add(ofLane, place.thread, op);
  if (kind == AccessKind::Write || kind == AccessKind::SameWrite) {
    authors.add(place);
    if (!llvm::is_contained(writers, place.party))
      writers.push_back(place.party);
  }
  return nullptr;
}

} // namespace tilewright::interpreter
