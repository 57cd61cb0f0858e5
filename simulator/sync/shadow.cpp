// SPDX-License-Identifier: Apache-2.0
#include "simulator/sync/shadow.h"

#include <algorithm>

namespace tilewright::ascend {

bool Segment::sameHistory(const Segment& other) const {
  if (written != other.written || undefined != other.undefined || !(movedFrom == other.movedFrom) ||
      spoiledBy != other.spoiledBy || readerMask != other.readerMask)
    return false;
  if (written && (writer != other.writer || !(write == other.write)))
    return false;
  for (unsigned p = 0; p < numPipes; ++p)
    if ((readerMask >> p & 1) && !(reads[p] == other.reads[p]))
      return false;
  return true;
}

Shadow::Shadow(uint32_t bytes) : bytes(bytes) {
  reset();
}

void Shadow::reset() {
  segments.assign(1, Segment{});
  segments[0].end = bytes;
}

size_t Shadow::find(uint64_t address) const {
  size_t low = 0, high = segments.size();
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    (segments[middle].begin <= address ? low : high) = middle;
  }
  return low;
}

namespace {
void apply(Segment& s, const Access& access, Pipe pipe, Stamp stamp) {
  if (access.kind == AccessKind::Read) {
    s.readerMask |= static_cast<uint8_t>(1u << static_cast<unsigned>(pipe));
    s.reads[static_cast<unsigned>(pipe)] = stamp;
    return;
  }
  s.write = stamp;
  s.writer = pipe;
  s.written = true;
  s.undefined = access.undefined;
  s.movedFrom = access.movedFrom;
  s.spoiledBy = 0;
  s.readerMask = 0;
}

void push(std::vector<Segment>& out, const Segment& s) {
  if (s.begin == s.end)
    return;
  if (!out.empty() && out.back().sameHistory(s))
    out.back().end = s.end;
  else
    out.push_back(s);
}
} // namespace

void Shadow::spoil(uint32_t begin, uint32_t site) {
  size_t first = find(begin);
  if (segments[first].begin < begin && segments[first].written) {
    segments.insert(segments.begin() + static_cast<std::ptrdiff_t>(first), segments[first]);
    segments[first].end = segments[first + 1].begin = begin;
  }
  for (size_t k = first; k < segments.size(); ++k)
    if (segments[k].begin >= begin && segments[k].written)
      segments[k].spoiledBy = site + 1;
}

void Shadow::note(const Access& access, Pipe pipe, Stamp stamp, ShadowVisitor& visitor) {
  const Region& r = access.region;
  if (r.empty())
    return;
  if (r.inner == 1 && r.outer == 1)
    noteInterval({r.begin, r.begin + r.length}, access, pipe, stamp, visitor);
  else
    noteMany(access, pipe, stamp, visitor);
}

void Shadow::noteInterval(Interval at, const Access& access, Pipe pipe, Stamp stamp,
                          ShadowVisitor& visitor) {
  size_t first = find(at.begin);
  Segment& only = segments[first];
  if (only.begin == at.begin && only.end == at.end) {
    visitor.meet(only, at);
    apply(only, access, pipe, stamp);
    return;
  }
  scratch.clear();
  size_t i = first;
  for (; i < segments.size() && segments[i].begin < at.end; ++i) {
    const Segment& s = segments[i];
    Segment part = s;
    if (s.begin < at.begin) {
      part.end = static_cast<uint32_t>(at.begin);
      push(scratch, part);
    }
    part = s;
    part.begin = std::max(s.begin, static_cast<uint32_t>(at.begin));
    part.end = std::min(s.end, static_cast<uint32_t>(at.end));
    visitor.meet(s, {part.begin, part.end});
    apply(part, access, pipe, stamp);
    push(scratch, part);
    if (s.end > at.end) {
      part = s;
      part.begin = static_cast<uint32_t>(at.end);
      push(scratch, part);
    }
  }
  auto from = segments.begin() + static_cast<std::ptrdiff_t>(first);
  size_t old = i - first, fresh = scratch.size(), common = std::min(old, fresh);
  std::copy_n(scratch.begin(), common, from);
  if (fresh > old)
    segments.insert(from + static_cast<std::ptrdiff_t>(old),
                    scratch.begin() + static_cast<std::ptrdiff_t>(common), scratch.end());
  else if (old > fresh)
    segments.erase(from + static_cast<std::ptrdiff_t>(fresh),
                   from + static_cast<std::ptrdiff_t>(old));
}

void Shadow::noteMany(const Access& access, Pipe pipe, Stamp stamp, ShadowVisitor& visitor) {
  intervals.clear();
  access.region.intervals(intervals);
  if (intervals.size() == 1) {
    noteInterval(intervals[0], access, pipe, stamp, visitor);
    return;
  }
  // One sweep over the touched stretch; a splice at a time would be quadratic.
  size_t first = find(intervals.front().begin);
  scratch.clear();
  size_t next = 0;
  size_t i = first;
  for (; i < segments.size() && segments[i].begin < intervals.back().end; ++i) {
    Segment rest = segments[i];
    while (next < intervals.size() && intervals[next].begin < segments[i].end) {
      Interval at = intervals[next];
      Segment part = rest;
      if (rest.begin < at.begin) {
        part.end = static_cast<uint32_t>(at.begin);
        push(scratch, part);
        part.begin = part.end;
      }
      part.end = std::min(segments[i].end, static_cast<uint32_t>(at.end));
      visitor.meet(segments[i], {part.begin, part.end});
      rest.begin = part.end;
      apply(part, access, pipe, stamp);
      push(scratch, part);
      if (at.end > segments[i].end)
        break;
      ++next;
    }
    push(scratch, rest);
  }
  auto from = segments.begin() + static_cast<std::ptrdiff_t>(first);
  auto behind = segments.begin() + static_cast<std::ptrdiff_t>(i);
  auto at = segments.erase(from, behind);
  segments.insert(at, scratch.begin(), scratch.end());
}

} // namespace tilewright::ascend
