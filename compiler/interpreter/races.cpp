// SPDX-License-Identifier: Apache-2.0
#include "compiler/interpreter/races.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

namespace tilewright::interpreter {

static bool isAtomic(AccessKind kind) {
  return kind == AccessKind::AtomicRead || kind == AccessKind::AtomicUpdate;
}

static bool isWrite(AccessKind kind) {
  return kind == AccessKind::Write || kind == AccessKind::SameWrite ||
         kind == AccessKind::AtomicUpdate;
}

bool Touches::hasOther(AccessKind kind, int64_t who) const {
  const int64_t known = by[size_t(kind)];
  return known != kNobody && known != who;
}

bool Touches::isWithAtomic(AccessKind kind, int64_t who) const {
  return (kind == AccessKind::Write && hasOther(AccessKind::AtomicRead, who)) ||
         (!isAtomic(kind) && hasOther(AccessKind::AtomicUpdate, who));
}

mlir::Operation* Touches::findRace(AccessKind kind, int64_t who) const {
  auto other = [&](AccessKind theirs) {
    return hasOther(theirs, who) ? lastAt[size_t(theirs)] : nullptr;
  };
  if (mlir::Operation* at = other(AccessKind::Write))
    return at;
  if (mlir::Operation* at = other(AccessKind::Read); at && isWrite(kind))
    return at;
  if (mlir::Operation* at = other(AccessKind::AtomicRead); at && kind == AccessKind::Write)
    return at;
  if (mlir::Operation* at = other(AccessKind::AtomicUpdate); at && !isAtomic(kind))
    return at;
  return nullptr;
}

void Touches::add(AccessKind kind, int64_t who, mlir::Operation* op) {
  by[size_t(kind)] = hasOther(kind, who) ? kSeveral : who;
  lastAt[size_t(kind)] = op;
}

/// Kinds of touches by another block with which one races where nothing orders them.
static llvm::ArrayRef<AccessKind> rivalsOf(AccessKind kind) {
  static constexpr AccessKind ofWrite[] = {AccessKind::Write, AccessKind::Read,
                                           AccessKind::AtomicRead, AccessKind::AtomicUpdate};
  static constexpr AccessKind ofRead[] = {AccessKind::Write, AccessKind::AtomicUpdate};
  static constexpr AccessKind ofUpdate[] = {AccessKind::Write, AccessKind::Read};
  switch (kind) {
  case AccessKind::Read:
    return ofRead;
  case AccessKind::AtomicRead:
    return llvm::ArrayRef(ofWrite).take_front();
  case AccessKind::AtomicUpdate:
    return ofUpdate;
  default:
    return ofWrite;
  }
}

/// Whether a touch, but for the thread's own, is ordered before what the thread does now.
bool BlockTouches::isBefore(const Touch& touch, const ThreadPlace& place) {
  const bool isOwn = touch.block == place.block;
  if (isOwn && place.isWhole)
    return true;
  const BlockTimes* times = place.others && !isOwn ? place.others->find(touch.block) : nullptr;
  const Knowledge* known = isOwn ? place.known : times ? times->threads.get() : nullptr;
  const int64_t round = isOwn ? place.blockRound : times ? times->round : -1;
  if (round > touch.meeting)
    return true;
  if (touch.warp == kWhole)
    return false;
  uint32_t lanes = touch.lanes;
  if (isOwn && touch.warp == place.warp())
    lanes &= ~place.lane();
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto thread = size_t(touch.warp * tile::kWarpSize + llvm::countr_zero(lanes));
    if (!known || (*known)[thread] <= touch.meeting)
      return false;
  }
  return true;
}

std::optional<Race> BlockTouches::note(AccessKind kind, const ThreadPlace& place,
                                       mlir::Operation* op) {
  for (AccessKind theirs : rivalsOf(kind))
    for (const Touch& before : llvm::reverse(touches[size_t(theirs)]))
      if (before.block != place.block && !isBefore(before, place))
        return Race{before.op, isAtomic(kind) || isAtomic(theirs)};
  add(kind, place, op);
  return std::nullopt;
}

void BlockTouches::add(AccessKind kind, const ThreadPlace& place, mlir::Operation* op) {
  auto& same = touches[size_t(kind)];
  const Touch touch{op, place.block, place.isWhole ? place.blockRound : place.meeting,
                    place.isWhole ? kWhole : place.warp(), place.isWhole ? 0 : place.lane()};
  // What the block did last stands near the end: only where blocks take turns others did something since then.
  constexpr int kMostOthers = 64;
  int others = 0;
  for (size_t at = same.size(); at-- > 0;) {
    if (same[at].block != place.block) {
      if (++others == kMostOthers)
        break;
      continue;
    }
    if (same[at].warp == touch.warp && same[at].meeting == touch.meeting) {
      same[at].lanes |= touch.lanes;
      same[at].op = op;
      return;
    }
    // Who comes after this touch comes after one that is before it.
    if (isBefore(same[at], place))
      same.erase(same.begin() + at);
  }
  same.push_back(touch);
}

void Authors::keepIf(int64_t itsBlock, uint64_t bits) {
  if (block == itsBlock && value == bits)
    return;
  lanes.clear();
  block = itsBlock;
  value = bits;
}

void Authors::add(const ThreadPlace& place) {
  if (int64_t(lanes.size()) <= place.warp())
    lanes.resize(place.warp() + 1, 0);
  lanes[place.warp()] |= place.lane();
}

bool Authors::has(const ThreadPlace& place) const {
  return place.warp() < int64_t(lanes.size()) && (lanes[place.warp()] & place.lane()) != 0;
}

/// Whether a touch, of a write the value that it finds or leaves, and one before it may give two results where
/// nothing orders them.
bool ThreadTouches::conflicts(AccessKind kind, uint64_t bits, const Touch& before) {
  switch (before.kind) {
  case AccessKind::Write:
  case AccessKind::SameWrite:
    if (kind == AccessKind::OwnRead)
      return before.isOther(bits);
    return kind != AccessKind::SameWrite;
  case AccessKind::OwnRead:
    return kind == AccessKind::SameWrite ? before.isOther(bits) : isWrite(kind);
  case AccessKind::Read:
    return isWrite(kind);
  case AccessKind::AtomicRead:
    return isWrite(kind) && !isAtomic(kind);
  case AccessKind::AtomicUpdate:
    return !isAtomic(kind);
  }
  return true;
}

/// Whether a touch, but for the thread's own, is ordered before what the thread does now.
bool ThreadTouches::isBefore(const Touch& touch, const ThreadPlace& place) {
  uint32_t lanes = touch.warp == place.warp() ? touch.lanes & ~place.lane() : touch.lanes;
  if (lanes != 0 && !place.known)
    return false;
  for (; lanes != 0; lanes &= lanes - 1)
    if (!place.isAfter(touch.warp * tile::kWarpSize + llvm::countr_zero(lanes), touch.meeting))
      return false;
  return true;
}

/// Whether someone who wrote `bits` did so before what a thread does now.
bool ThreadTouches::isAfterWriter(const ThreadPlace& place, uint64_t bits) const {
  return place.known && llvm::any_of(touches, [&](const Touch& touch) {
           if (touch.kind != AccessKind::Write || touch.bits != bits)
             return false;
           for (uint32_t lanes = touch.lanes; lanes != 0; lanes &= lanes - 1)
             if (place.isAfter(touch.warp * tile::kWarpSize + llvm::countr_zero(lanes),
                               touch.meeting))
               return true;
           return false;
         });
}

std::optional<Race> ThreadTouches::note(AccessKind kind, const ThreadPlace& place,
                                        mlir::Operation* op, uint64_t bits) {
  if (blockRound != place.blockRound) {
    touches.clear();
    blockRound = place.blockRound;
  }
  if (kind == AccessKind::Write)
    authors = {}; // another value was there, perhaps one that no thread wrote
  authors.keepIf(place.block, bits);
  if (kind == AccessKind::Read && (authors.has(place) || isAfterWriter(place, bits)))
    kind = AccessKind::OwnRead;
  for (const Touch& before : llvm::reverse(touches))
    if (conflicts(kind, bits, before) && !isBefore(before, place))
      return Race{before.op, isAtomic(kind) || isAtomic(before.kind)};
  if (kind == AccessKind::SameWrite)
    kind = AccessKind::Write;
  if (kind == AccessKind::Write)
    authors.add(place);
  add(kind, place, op, bits);
  return std::nullopt;
}

void ThreadTouches::add(AccessKind kind, const ThreadPlace& place, mlir::Operation* op,
                        uint64_t bits) {
  if (kind != AccessKind::Write && kind != AccessKind::OwnRead)
    bits = 0; // says nothing
  /// So many values that were read before are remembered: what changes in each turn of a loop is no list without end.
  constexpr int kMostValues = 3;
  int values = 0;
  for (size_t at = touches.size(); at-- > 0;) {
    Touch& touch = touches[at];
    if (touch.kind != kind || touch.warp != place.warp())
      continue;
    const bool isOther = touch.isOther(bits);
    if (touch.meeting == place.meeting && (!isOther || touch.lanes == place.lane())) {
      touch.isSeveral = isOther;
      touch.bits = bits;
      touch.lanes |= place.lane();
      touch.op = op;
      return;
    }
    // Who comes after this touch comes after one that is before it.
    if (isBefore(touch, place) &&
        !(isOther && kind == AccessKind::OwnRead && ++values < kMostValues))
      touches.erase(touches.begin() + at);
  }
  touches.push_back({op, place.meeting, place.warp(), bits, place.lane(), kind});
}

} // namespace tilewright::interpreter
