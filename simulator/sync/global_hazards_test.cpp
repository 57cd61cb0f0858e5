// SPDX-License-Identifier: Apache-2.0
// Launches of many cores: what is told is what comparing all pairs would tell first, and telling it takes seconds.
#include "simulator/launch.h"
#include "simulator/sync/global_hazards.h"

#include <ctime>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <set>
#include <string>

namespace tilewright::ascend {
namespace {

constexpr uint64_t memory = 0x100000000; ///< no allocation: addresses are numbers here

using Cores = std::vector<std::unique_ptr<CoreHazards>>;

Cores makeCores(uint32_t count) {
  Cores cores;
  for (uint32_t i = 0; i < count; ++i)
    cores.push_back(std::make_unique<CoreHazards>(false, true, false, "core " + std::to_string(i)));
  return cores;
}

struct Step {
  Pipe pipe;
  AccessKind kind;
  uint64_t begin, length;
  uint32_t line;
};

void run(CoreHazards& core, const Step& step, const RemoteClockRef& known = nullptr) {
  Access access;
  access.space = Space::GM;
  access.kind = step.kind;
  access.region.begin = memory + step.begin;
  access.region.length = step.length;
  core.begin(step.pipe, {}, known, core.siteOf({"kernel.cpp", step.line}, "Step"));
  core.note(step.pipe, access);
}

Report compare(const Cores& cores, bool isOver = false) {
  std::vector<const CoreHazards*> all;
  for (const auto& core : cores)
    all.push_back(core.get());
  Report report;
  findGlobalHazards(all, false, report, isOver);
  return report;
}

double threadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Half a minute would be all pairs of accesses to one place, or more; this takes about a second.
constexpr double seconds = 12;
constexpr uint32_t manyCores = 65535;

TEST(GlobalHazards, ManyCoresThatWriteOnePlaceAreToldOnce) {
  Cores cores = makeCores(manyCores);
  for (auto& core : cores)
    run(*core, {Pipe::MTE3, AccessKind::Write, 0, 64, 20});
  const double start = threadSeconds();
  Report report = compare(cores);
  EXPECT_LT(threadSeconds() - start, seconds);
  ASSERT_EQ(report.all().size(), 1u);
  EXPECT_NE(report.all()[0].sentence.find("(core 1) and a write by Step on PIPE_MTE3 (core 0)"),
            std::string::npos);
}

TEST(GlobalHazards, ManyCoresThatReadWhatEachWritesAPartOfAreToldOnce) {
  Cores cores = makeCores(manyCores);
  for (uint32_t i = 0; i < manyCores; ++i) {
    run(*cores[i], {Pipe::MTE2, AccessKind::Read, 0, uint64_t{manyCores} * 32, 20});
    cores[i]->barrierAll();
    run(*cores[i], {Pipe::MTE3, AccessKind::Write, uint64_t{i} * 32, 32, 21});
  }
  const double start = threadSeconds();
  Report report = compare(cores);
  EXPECT_LT(threadSeconds() - start, seconds);
  ASSERT_EQ(report.all().size(), 1u);
  EXPECT_EQ(report.all()[0].place.line, 21u);
}

TEST(GlobalHazards, ManyWindowsThatLieOverEachOtherAreToldOnce) {
  Cores cores = makeCores(manyCores);
  for (uint32_t i = 0; i < manyCores; ++i)
    run(*cores[i], {Pipe::MTE3, AccessKind::Write, uint64_t{i} * 32, uint64_t{manyCores} * 32, 20});
  const double start = threadSeconds();
  Report report = compare(cores);
  EXPECT_LT(threadSeconds() - start, seconds);
  ASSERT_EQ(report.all().size(), 1u);
  const std::string& sentence = report.all()[0].sentence;
  EXPECT_NE(sentence.find("(core 1) and a write of bytes "), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("(core 0)"), std::string::npos) << sentence;
}

TEST(GlobalHazards, ManyCoresThatReadWhatNobodyHasWrittenAreCounted) {
  Cores cores = makeCores(manyCores);
  addGlobalMemory(reinterpret_cast<void*>(memory), 64);
  markUnwritten(reinterpret_cast<void*>(memory), 64);
  for (auto& core : cores) {
    run(*core, {Pipe::MTE2, AccessKind::Read, 0, 64, 20});
    core->barrierAll();
    run(*core, {Pipe::MTE3, AccessKind::Write, 0, 32, 21});
  }
  const double start = threadSeconds();
  Report report = compare(cores);
  EXPECT_LT(threadSeconds() - start, seconds);
  removeGlobalMemory(reinterpret_cast<void*>(memory));
  ASSERT_EQ(report.all().size(), 3u); // races of 20 with 21, and of 21 with itself
  EXPECT_NE(report.all()[2].sentence.find("reads GM bytes 32 to 63"), std::string::npos);
  EXPECT_EQ(report.all()[2].occurrences, manyCores);
}

TEST(GlobalHazards, EndsWhenTimeIsOver) {
  Cores cores = makeCores(2);
  for (auto& core : cores)
    run(*core, {Pipe::MTE3, AccessKind::Write, 0, 64, 20});
  EXPECT_EQ(compare(cores).all().size(), 1u);
  EXPECT_EQ(compare(cores, true).all().size(), 0u);
}

// --- random launches against all pairs ----------------------------------------------------------

/// Each finding as "line and core, line and core".
std::vector<std::string> told(const Report& report) {
  std::vector<std::string> texts;
  for (const ReportItem& item : report.all()) {
    std::string text = std::to_string(item.place.line) + " ";
    for (size_t at = item.sentence.find("(core "); at != std::string::npos;
         at = item.sentence.find("(core ", at + 1))
      text += item.sentence.substr(at, item.sentence.find(')', at) - at + 1);
    texts.push_back(text + " " + std::to_string(item.notes[0].place.line));
  }
  return texts;
}

class AllPairs {
public:
  explicit AllPairs(const Cores& cores) : cores(cores) {}

  std::vector<std::string> find(const std::vector<Step>& places) {
    for (size_t b = 0; b < places.size(); ++b)
      for (size_t a = 0; a <= b; ++a)
        compare(places[a].begin, places[b].begin);
    return texts;
  }

private:
  struct Item {
    uint32_t core;
    const GlobalAccess* access;
  };
  std::vector<std::vector<Item>> streamsAt(uint64_t begin) const {
    std::vector<std::vector<Item>> streams;
    for (uint32_t c = 0; c < cores.size(); ++c) {
      size_t first = streams.size();
      for (const GlobalAccess& a : cores[c]->globalLog) {
        if (a.region.begin != memory + begin)
          continue;
        size_t s = first;
        while (s < streams.size() &&
               (streams[s][0].access->pipe != a.pipe || streams[s][0].access->kind != a.kind))
          ++s;
        if (s == streams.size())
          streams.emplace_back();
        streams[s].push_back({c, &a});
      }
    }
    return streams;
  }
  bool isBefore(const Item& x, const Item& y) const {
    if (x.core == y.core && y.access->clock[x.access->pipe] >= x.access->epoch)
      return true;
    const Clock* known = y.access->remote ? y.access->remote->of(x.core) : nullptr;
    return known && (*known)[x.access->pipe] >= x.access->epoch;
  }
  void compare(uint64_t beginA, uint64_t beginB) {
    auto as = streamsAt(beginA), bs = streamsAt(beginB);
    for (size_t i = 0; i < as.size(); ++i)
      for (size_t j = beginA == beginB ? i : 0; j < bs.size(); ++j)
        for (const Item& y : bs[j])
          for (const Item& x : as[i]) {
            if (isBefore(x, y))
              continue;
            if (x.access != y.access && race(x, y))
              break;
          }
  }
  /// True if nothing later needs to be looked at.
  bool race(const Item& x, const Item& y) {
    AccessKind k = x.access->kind, l = y.access->kind;
    if (k == l && k != AccessKind::Write)
      return true;
    bool sameCore = x.core == y.core, samePipe = sameCore && x.access->pipe == y.access->pipe;
    if (samePipe && ((x.access->epoch < y.access->epoch ? k : l) == AccessKind::Read ||
                     x.access->epoch == y.access->epoch))
      return false;
    if (isBefore(y, x))
      return true;
    uint32_t lineX = lineOf(x), lineY = lineOf(y);
    if (!known.insert({lineX, lineY, sameCore}).second)
      return true;
    bool xFirst =
        !sameCore || x.access->epoch < y.access->epoch || x.access->pipe != y.access->pipe;
    auto text = [](const Item& i) { return "(core " + std::to_string(i.core) + ")"; };
    texts.push_back(std::to_string(xFirst ? lineY : lineX) + " " + text(xFirst ? y : x) +
                    text(xFirst ? x : y) + " " + std::to_string(xFirst ? lineX : lineY));
    return true;
  }
  uint32_t lineOf(const Item& item) const {
    return cores[item.core]->site(item.access->site).place.line;
  }

  const Cores& cores;
  std::set<std::tuple<uint32_t, uint32_t, bool>> known;
  std::vector<std::string> texts;
};

/// Cores with a few steps each at places that lie over each other; some know of cores before them.
Cores randomCores(std::mt19937& random, uint32_t numCores, uint32_t lines, unsigned knowing,
                  const std::vector<Step>& places) {
  auto upTo = [&](uint32_t n) { return random() % n; };
  Cores cores = makeCores(numCores);
  for (uint32_t c = 0; c < cores.size(); ++c) {
    auto known = std::make_shared<RemoteClock>();
    for (unsigned step = upTo(5); step > 0; --step) {
      auto next = std::make_shared<RemoteClock>(*known);
      for (uint32_t k = upTo(3); c > 0 && knowing == 1 && k > 0; --k) {
        uint32_t other = upTo(c);
        next->join(other, cores[other]->everything());
      }
      if (c > 0 && knowing == 2)
        next->join(c - 1, cores[c - 1]->everything());
      known = next;
      Step place = places[upTo(static_cast<uint32_t>(places.size()))];
      bool reads = upTo(3) == 0;
      place.pipe = reads ? Pipe::MTE2 : Pipe::MTE3;
      place.kind = reads ? AccessKind::Read : upTo(3) ? AccessKind::Write : AccessKind::Atomic;
      place.line = 10 + upTo(lines);
      run(*cores[c], place, known->begin() == known->end() ? nullptr : known);
      if (upTo(2))
        cores[c]->barrierAll();
    }
  }
  return cores;
}

std::vector<Step> placesApart(uint32_t count, uint32_t bytes) {
  std::vector<Step> places;
  places.reserve(count);
  for (uint32_t i = 0; i < count; ++i)
    places.push_back({Pipe::MTE3, AccessKind::Write, uint64_t{i} * 32, bytes, 0});
  return places;
}

TEST(GlobalHazards, TellWhatAllPairsWouldTell) {
  std::mt19937 random(7);
  size_t numTold = 0;
  for (unsigned launch = 0; launch < 200; ++launch) {
    const auto places = placesApart(1 + random() % 2, 64);
    Cores cores = randomCores(random, launch % 20 == 0 ? 150 : 20 + random() % 40, 1 + random() % 8,
                              random() % 3, places);
    const auto expected = AllPairs(cores).find(places);
    EXPECT_EQ(told(compare(cores)), expected) << "launch " << launch;
    numTold += expected.size();
  }
  EXPECT_GT(numTold, 2000u);
}

/// Which cores are named first may differ where so many places lie over each other that they aren't met in order.
std::set<std::string> linesOf(const std::vector<std::string>& told) {
  std::set<std::string> lines;
  for (const std::string& text : told)
    lines.insert(text.substr(0, text.find(' ')) + text.substr(text.rfind(' ')));
  return lines;
}

TEST(GlobalHazards, TellTheSameLinesOfManyPlaces) {
  std::mt19937 random(8);
  for (unsigned launch = 0; launch < 40; ++launch) {
    const auto places = placesApart(100, 100 * 32);
    Cores cores = randomCores(random, 20 + random() % 100, 1 + random() % 20, random() % 3, places);
    EXPECT_EQ(linesOf(told(compare(cores))), linesOf(AllPairs(cores).find(places)))
        << "launch " << launch;
  }
}

} // namespace
} // namespace tilewright::ascend
