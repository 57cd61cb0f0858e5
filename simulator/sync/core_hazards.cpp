// SPDX-License-Identifier: Apache-2.0
#include "simulator/sync/core_hazards.h"
#include "simulator/memory/local_memory.h"
#include "simulator/memory/tensor_names.h"
#include "simulator/sync/advice.h"
#include "simulator/sync/events.h"

#include <algorithm>
#include <cstring>

namespace tilewright::ascend {

const char* const pipeNames[numPipes] = {"PIPE_S",    "PIPE_V",    "PIPE_M",  "PIPE_MTE1",
                                         "PIPE_MTE2", "PIPE_MTE3", "PIPE_FIX"};
const char* const pipeShort[numPipes] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};

CoreHazards::CoreHazards(bool cube, bool check, bool relaxed, std::string core)
    : core(std::move(core)), cube(cube), check(check), relaxed(relaxed) {
  for (unsigned s = 1; s < numSpaces; ++s)
    if (check && isCubeSpace(static_cast<Space>(s)) == cube)
      shadows[s] = std::make_unique<Shadow>(spaceBytes[s]);
}

uint32_t CoreHazards::siteOf(Place place, const char* what) {
  uint64_t key =
      (reinterpret_cast<uint64_t>(place.file) * 31 + place.line) * 0x9E3779B97F4A7C15ull ^
      reinterpret_cast<uint64_t>(what);
  unsigned slot = (key >> 8) & 63;
  if (siteIndex->lastKey[slot] == key) {
    const Site& s = sites[siteIndex->last[slot]];
    if (s.place.line == place.line && s.place.file == place.file && s.what == what)
      return siteIndex->last[slot];
  }
  uint32_t found = ~0u;
  for (uint32_t index : siteIndex->all[key]) {
    const Site& s = sites[index];
    if (s.place.line == place.line && s.place.file == place.file && s.what == what)
      found = index;
  }
  if (found == ~0u) {
    found = static_cast<uint32_t>(sites.size());
    sites.push_back({place, what});
    siteIndex->all[key].push_back(found);
  }
  siteIndex->lastKey[slot] = key;
  siteIndex->last[slot] = found;
  return found;
}

void CoreHazards::end() {
  for (auto& shadow : shadows)
    shadow.reset();
  siteIndex.reset();
  cachedLines = {};
  knownRaces = {};
  globalLog.shrink_to_fit();
  cleans.shrink_to_fit();
  sites.shrink_to_fit();
}

void CoreHazards::begin(Pipe pipe, const Clock& dispatch, const RemoteClockRef& remote,
                        uint32_t site) {
  auto p = static_cast<unsigned>(pipe);
  clocks[p].join(dispatch);
  ++epochs[p];
  currentSite[p] = site;
  if (remotes[p] != remote) {
    remotes[p] = remote;
    if (keptRemotes.empty() || keptRemotes.back() != remote)
      keptRemotes.push_back(remote);
  }
}

Clock CoreHazards::completed(Pipe pipe) const {
  auto p = static_cast<unsigned>(pipe);
  Clock clock = clocks[p];
  clock[pipe] = epochs[p];
  return clock;
}

void CoreHazards::barrier(Pipe pipe) {
  list(pipe, nullptr);
  clocks[static_cast<unsigned>(pipe)][pipe] = epochs[static_cast<unsigned>(pipe)];
}

Clock CoreHazards::everything() const {
  Clock all;
  for (unsigned p = 0; p < numPipes; ++p)
    all.known[p] = epochs[p];
  all.known[Clock::scalarReads] = clocks[0].known[Clock::scalarReads];
  return all;
}

void CoreHazards::barrierAll() {
  Clock all = everything();
  for (Clock& clock : clocks)
    clock = all;
}

/// An access, or a barrier of the pipe.
void CoreHazards::list(Pipe pipe, const Access* access) {
  if (!listsAccesses)
    return;
  const auto p = static_cast<unsigned>(pipe);
  ListedAccess one;
  one.place = sites.empty() ? Place{} : sites[currentSite[p]].place;
  one.pipe = static_cast<uint8_t>(pipe);
  one.isCube = cube;
  one.isBarrier = !access;
  std::vector<Interval> runs;
  if (access) {
    one.space = static_cast<uint8_t>(access->space);
    one.isWrite = access->kind != AccessKind::Read;
    access->region.intervals(runs);
  }
  for (const Interval& run : runs)
    one.bytes.emplace_back(run.begin, run.end);
  listed.push_back(std::move(one));
}

void CoreHazards::note(Pipe pipe, const Access& access) {
  list(pipe, &access);
  if (!check)
    return;
  auto p = static_cast<unsigned>(pipe);
  if (access.space == Space::GM) {
    globalLog.push_back({access.region, clocks[p], remotes[p].get(), epochs[p], currentSite[p],
                         pipe, access.kind, access.tensor});
    return;
  }
  Shadow* shadow = shadows[static_cast<unsigned>(access.space)].get();
  if (!shadow)
    return;
  current = &access;
  currentPipe = pipe;
  shadow->note(access, pipe, {epochs[p], currentSite[p]}, *this);
}

void CoreHazards::nameGlobal(uint16_t number, uint64_t begin, std::vector<int64_t> extents) {
  if (globalTensors.size() <= number)
    globalTensors.resize(number + 1u);
  globalTensors[number] = {begin, std::move(extents)};
}

std::optional<GlobalTensorName> CoreHazards::globalTensor(uint16_t number) const {
  std::optional<TensorName> tensor = tensorNamed(tensorNames, number);
  if (!tensor || number >= globalTensors.size() || globalTensors[number].begin == 0)
    return std::nullopt;
  tensor->fillShape(globalTensors[number].extents);
  return GlobalTensorName{std::move(*tensor), globalTensors[number].begin};
}

void CoreHazards::useReserved(Pipe pipe, uint32_t begin) {
  Shadow* shadow = shadows[static_cast<unsigned>(Space::UB)].get();
  if (check && shadow)
    shadow->spoil(begin, currentSite[static_cast<unsigned>(pipe)]);
}

void CoreHazards::noteCrossSet(CrossSet set) {
  constexpr size_t mostKept = 64;
  if (check && crossSets.size() < mostKept &&
      std::find(crossSets.begin(), crossSets.end(), set) == crossSets.end())
    crossSets.push_back(set);
}

namespace {
/// Fills a region with as many of these as are alike, and gives their number: to note one by one is quadratic.
size_t takeEven(Region& region, const LocalBytes* runs, size_t count) {
  region.begin = runs[0].begin;
  region.length = runs[0].end - runs[0].begin;
  auto isAlike = [&](const LocalBytes& run) {
    return run.space == runs[0].space && run.from == runs[0].from &&
           run.end - run.begin == region.length;
  };
  size_t taken = 1;
  if (count > 1 && isAlike(runs[1]) && runs[1].begin > runs[0].begin)
    region.innerStride = static_cast<int64_t>(runs[1].begin - runs[0].begin);
  while (region.innerStride && taken < count && isAlike(runs[taken]) &&
         runs[taken].begin == runs[taken - 1].begin + static_cast<uint64_t>(region.innerStride))
    ++taken;
  region.inner = static_cast<uint32_t>(taken);
  return taken;
}
} // namespace

void CoreHazards::noteUnwritten(Pipe pipe, const Unwritten& unwritten) {
  auto noteRuns = [&](const std::vector<LocalBytes>& runs, AccessKind kind) {
    for (size_t k = 0; k < runs.size();) {
      Access access;
      access.space = runs[k].space;
      access.kind = kind;
      access.undefined = kind == AccessKind::Write;
      access.movedFrom = runs[k].from;
      k += takeEven(access.region, &runs[k], runs.size() - k);
      note(pipe, access);
    }
  };
  noteRuns(unwritten.moved, AccessKind::Write);
  noteRuns(unwritten.used, AccessKind::Read);
  for (uint16_t origin : unwritten.dropped)
    unwrittenElements.drop(origin);
  for (const auto& [origin, other] : unwritten.joined)
    unwrittenElements.join(origin, other);
  if (knownBits.empty() && unwritten.knownBits.empty())
    return;
  knownBits.resize(spaceBytes[static_cast<unsigned>(Space::UB)]);
  for (const LocalBytes& bytes : unwritten.moved)
    if (bytes.space == Space::UB)
      std::fill(knownBits.begin() + static_cast<std::ptrdiff_t>(bytes.begin),
                knownBits.begin() + static_cast<std::ptrdiff_t>(bytes.end), uint8_t{0});
  for (const auto& [at, bits] : unwritten.knownBits)
    knownBits[at] = bits;
}

void CoreHazards::noteScalarGlobal(const Access& access, bool pastCache) {
  if (!check)
    return list(Pipe::S, &access);
  note(Pipe::S, access);
  if (access.kind == AccessKind::Read)
    globalLog.back().scalarRead = ++clocks[0].known[Clock::scalarReads];
  if (pastCache)
    return;
  auto self = static_cast<uint32_t>(globalLog.size() - 1);
  auto [line, isNew] = cachedLines.try_emplace(cacheLineOf(access.region.begin), self);
  globalLog.back().fill = line->second;
}

void CoreHazards::cleanCache(uint64_t line) {
  if (!check)
    return;
  cleans.push_back({epochs[static_cast<unsigned>(Pipe::S)], line});
  if (line)
    cachedLines.erase(line);
  else
    cachedLines.clear();
}

bool areOrderedByVendor(Pipe earlier, Pipe later) {
  auto isPair = [&](Pipe a, Pipe b) {
    return (earlier == a && later == b) || (earlier == b && later == a);
  };
  return isPair(Pipe::V, Pipe::V) || isPair(Pipe::V, Pipe::S) || isPair(Pipe::S, Pipe::MTE2) ||
         isPair(Pipe::S, Pipe::MTE3);
}

bool CoreHazards::autoOrdered(Pipe earlier, Pipe later) const {
  return relaxed && !cube && areOrderedByVendor(earlier, later);
}

bool CoreHazards::ordered(Pipe earlier, uint32_t epoch) const {
  auto p = static_cast<unsigned>(currentPipe);
  bool sameRecord = earlier == currentPipe && epoch == epochs[p];
  return sameRecord || epoch <= clocks[p][earlier] || autoOrdered(earlier, currentPipe);
}

void CoreHazards::meet(const Segment& s, Interval overlap) {
  bool writes = current->kind != AccessKind::Read;
  if (s.written) {
    // In one pipe, the scalar unit is in order, and the cube unit accumulates safely.
    bool inOrder = s.writer == currentPipe && (s.writer == Pipe::S || s.writer == Pipe::M);
    if (!inOrder && !ordered(s.writer, s.write.epoch))
      race(writes ? "writes" : "reads", s, overlap, s.writer, s.write, true);
  }
  if (!writes) {
    if (((!s.written || s.undefined) && current->isMoved) || (s.undefined && current->takesMoved))
      takeAlong(s, overlap);
    else if ((!s.written || s.undefined) && current->isByElements)
      takeElements(s, overlap);
    else if ((!s.written || s.undefined) && !current->mayBeUninitialised &&
             !isPaddingOfFractal(s, overlap))
      uninitialised(s, overlap);
    else if (s.spoiledBy)
      spoiled(s, overlap);
    return;
  }
  if (!s.readerMask)
    return;
  for (unsigned p = 0; p < numPipes; ++p) {
    auto reader = static_cast<Pipe>(p);
    // A later write of the same pipe comes after the read; a scalar read ends before the next
    // issue.
    if (!(s.readerMask >> p & 1) || reader == currentPipe || reader == Pipe::S)
      continue;
    if (!ordered(reader, s.reads[p].epoch))
      race("writes", s, overlap, reader, s.reads[p], false);
  }
}

/// "UB bytes 0 to 255 of 'a'", of the access that is being noted.
std::string CoreHazards::bytesOf(Interval bytes) const {
  return std::string(spaceNames[static_cast<unsigned>(current->space)]) + " bytes " +
         std::to_string(bytes.begin) + " to " + std::to_string(bytes.end - 1) +
         ofTensor(tensorNames, current->tensor);
}

void CoreHazards::race(const char* verb, const Segment&, Interval overlap, Pipe other, Stamp stamp,
                       bool otherWrites) {
  auto p = static_cast<unsigned>(currentPipe), q = static_cast<unsigned>(other);
  const Site& mine = sites[currentSite[p]];
  const Site& theirs = sites[stamp.site];
  // An instruction in place reads and writes the same bytes: it is told and counted once.
  uint64_t pair = (uint64_t{currentSite[p]} << 32 | stamp.site) * 2 + otherWrites;
  auto [seen, isNew] = knownRaces.try_emplace(pair);
  const bool isCounted = !isNew && seen->second.epoch == epochs[p];
  seen->second.epoch = epochs[p];
  if (isCounted)
    return;
  if (!isNew) {
    report.countAgain(seen->second.finding);
    return;
  }
  std::string key = std::string("race ") + verb + (otherWrites ? "w " : "r ") + mine.place.file +
                    std::to_string(mine.place.line) + mine.what + theirs.place.file +
                    std::to_string(theirs.place.line) + theirs.what;
  ReportItem item;
  item.place = mine.place;
  item.sentence = std::string(mine.what) + " on " + pipeNames[p] + " " + verb + " " +
                  bytesOf(overlap) + " while " + theirs.what + " on " + pipeNames[q] +
                  " may still be " + (otherWrites ? "writing" : "reading") + " them (" + core +
                  ") [" + (verb[0] == 'r' ? "ErrorSync2" : "ErrorSync1") + "]";
  item.notes.push_back({theirs.place, std::string("the ") + (otherWrites ? "write" : "read") +
                                          " by " + theirs.what + " is here"});
  const Advice words(mine.place);
  std::string advice;
  if (other == currentPipe)
    advice = words.barrier(currentPipe) + " between them";
  else if (!isEventOf(isCube(), other, currentPipe))
    advice = words.barrierOfAll() + " between them";
  else
    advice = words.setFlag(other, currentPipe, "id") + " after line " +
             std::to_string(theirs.place.line) + " and " +
             words.waitFlag(other, currentPipe, "id") + " before line " +
             std::to_string(mine.place.line);
  item.notes.push_back({{}, "add " + advice, words.switchWithinCores()});
  if (!cube && areOrderedByVendor(other, currentPipe))
    item.notes.push_back({{}, "the vendor's compiler orders these two by itself", words.relaxed()});
  seen->second.finding = report.add(key, std::move(item));
}

void CoreHazards::takeAlong(const Segment& s, Interval overlap) {
  const uint32_t mine = currentSite[static_cast<unsigned>(currentPipe)];
  const bool wasMoved = s.movedFrom.space != Space::GM;
  const bool isOwn = wasMoved && s.write.site == mine; // a sum of products, in a loop
  moved.push_back({current->space,
                   overlap.begin,
                   overlap.end,
                   {.space = isOwn ? s.movedFrom.space : current->space,
                    .isOutside = s.movedFrom.isOutside,
                    .isLeft = s.movedFrom.isLeft,
                    .origin = s.movedFrom.origin}});
  if ((wasMoved || s.movedFrom.isLeft) && !isOwn)
    movedBefore.insert_or_assign({mine, current->space}, Mover{s.write.site, s.movedFrom.space});
}

/// Copies from L1 to GM take whole tiles, with the rows and columns behind m and n that Fixpipe left there.
bool CoreHazards::isPaddingOfFractal(const Segment& s, Interval overlap) const {
  constexpr uint64_t fractalBytes = 512;
  return s.undefined && s.movedFrom.space == Space::L0C && current->space == Space::L1 &&
         currentPipe == Pipe::MTE3 && overlap.end - overlap.begin < fractalBytes;
}

void CoreHazards::takeElements(const Segment& s, Interval overlap) {
  uint16_t origin = s.undefined ? s.movedFrom.origin : uint16_t{0};
  if (!origin) {
    if (!knownBits.empty())
      std::fill(knownBits.begin() + static_cast<std::ptrdiff_t>(overlap.begin),
                knownBits.begin() + static_cast<std::ptrdiff_t>(overlap.end), uint8_t{0});
    origin = unwrittenElements.add(keyOfUninitialised(s), itemOfUninitialised(s, overlap));
  }
  if (!origin)
    return uninitialised(s, overlap);
  moved.push_back(
      {current->space, overlap.begin, overlap.end, {.space = current->space, .origin = origin}});
}

void CoreHazards::uninitialised(const Segment& s, Interval overlap) {
  moved.clear(); // it is told here, and once
  ++unwrittenReads;
  // A chip stores what a tile has behind its data, and many kernels let it.
  const bool isLet = relaxed && (currentPipe == Pipe::MTE3 || currentPipe == Pipe::FIX);
  if (s.undefined && s.movedFrom.origin) {
    const Site& user = sites[currentSite[static_cast<unsigned>(currentPipe)]];
    if (isLet)
      unwrittenElements.letThrough(s.movedFrom.origin, user);
    else
      unwrittenElements.tell(s.movedFrom.origin, user, report);
    return;
  }
  ReportItem item = itemOfUninitialised(s, overlap);
  item.isError = !isLet;
  report.add(keyOfUninitialised(s), std::move(item));
}

std::string CoreHazards::keyOfUninitialised(const Segment& s) const {
  const Site& mine = sites[currentSite[static_cast<unsigned>(currentPipe)]];
  return "uninit " + std::string(mine.place.file) + std::to_string(mine.place.line) + mine.what +
         (s.undefined ? "u" : "");
}

ReportItem CoreHazards::itemOfUninitialised(const Segment& s, Interval overlap) const {
  auto p = static_cast<unsigned>(currentPipe);
  const Site& mine = sites[currentSite[p]];
  const bool wasMoved = s.movedFrom.space != Space::GM;
  const bool isScratch = s.undefined && s.movedFrom.isScratch;
  const bool isBehindProduct = s.undefined && !wasMoved && s.movedFrom.isLeft;
  ReportItem item;
  item.place = mine.place;
  item.sentence = std::string(mine.what) + " on " + pipeNames[p] + " reads " + bytesOf(overlap) +
                  (wasMoved          ? std::string(", to which ") + sites[s.write.site].what +
                                           " has moved what nothing has written ("
                   : isScratch       ? std::string(", which ") + sites[s.write.site].what +
                                           " has used as temporary memory ("
                   : isBehindProduct ? std::string(", which ") + sites[s.write.site].what +
                                           " has left undefined, as they lie behind its m and n ("
                   : s.undefined     ? ", which are padding without a value ("
                                     : ", which nothing has written (") +
                  core + ") [ErrorRead2]";
  if (wasMoved)
    item.notes.push_back({sites[s.write.site].place,
                          std::string(sites[s.write.site].what) +
                              " is here; write all that it takes before, or use less of it"});
  else if (isScratch)
    item.notes.push_back({sites[s.write.site].place,
                          std::string(sites[s.write.site].what) +
                              " is here; give it temporary memory of its own, or write these "
                              "bytes again behind it"});
  else if (isBehindProduct)
    item.notes.push_back({sites[s.write.site].place,
                          std::string(sites[s.write.site].what) +
                              " is here; it makes whole groups of 16 rows and columns, of which "
                              "those behind m and n have no value: multiply more, or read less"});
  else if (s.undefined)
    item.notes.push_back({sites[s.write.site].place,
                          "the copy that left the padding is here; set "
                          "isPad and paddingValue, or read fewer elements"});
  else if (current->space == Space::L0A || current->space == Space::L0B)
    item.notes.push_back({{}, "load as many fractals as m, n and k ask for, or multiply fewer"});
  else if (current->space == Space::L0C)
    item.notes.push_back({{},
                          std::string("the first product that goes there must not add to what it "
                                      "holds (") +
                              Advice(mine.place).beginsSum() + "), or read less"});
  else
    item.notes.push_back({{},
                          std::string("write them first, by ") + Advice(mine.place).fill() +
                              ", or read fewer elements"});
  constexpr unsigned mostSteps = 4;
  auto before = movedBefore.find({s.write.site, s.movedFrom.space});
  for (unsigned step = 0; wasMoved && step < mostSteps && before != movedBefore.end(); ++step) {
    const Site& from = sites[before->second.site];
    item.notes.push_back(
        {from.place, std::string("it takes that from ") + from.what + ", which is here"});
    before = movedBefore.find(before->second);
  }
  return item;
}

void CoreHazards::spoiled(const Segment& s, Interval overlap) {
  auto p = static_cast<unsigned>(currentPipe);
  const Site &mine = sites[currentSite[p]], &theirs = sites[s.spoiledBy - 1];
  ReportItem item;
  item.place = mine.place;
  item.isError = false;
  item.sentence = std::string(mine.what) + " on " + pipeNames[p] + " reads " + bytesOf(overlap) +
                  ", which " + theirs.what + " may have overwritten (" + core + ")";
  item.notes.push_back({theirs.place, std::string(theirs.what) +
                                          " with this mode works in the last 8 KiB of UB; keep "
                                          "what is needed behind it below byte 188416"});
  report.add("spoiled " + std::string(mine.place.file) + std::to_string(mine.place.line) +
                 mine.what,
             std::move(item));
}

} // namespace tilewright::ascend
