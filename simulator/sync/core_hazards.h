// SPDX-License-Identifier: Apache-2.0
// Clocks of the pipes of one core, the shadow of its memories, and the log of its GM accesses.
#ifndef TILEWRIGHT_SIMULATOR_SYNC_CORE_HAZARDS_H
#define TILEWRIGHT_SIMULATOR_SYNC_CORE_HAZARDS_H

#include "simulator/launch.h"
#include "simulator/memory/tensor_names.h"
#include "simulator/sync/report.h"
#include "simulator/sync/shadow.h"
#include "simulator/sync/unwritten_reads.h"

#include <map>
#include <memory>
#include <unordered_map>

namespace tilewright::ascend {

/// One access to GM, kept for the comparison at the end of the launch.
struct GlobalAccess {
  Region region;
  Clock clock; ///< what its pipe knew of its own core
  const RemoteClock* remote = nullptr;
  uint32_t epoch = 0, site = 0;
  Pipe pipe = Pipe::S;
  AccessKind kind = AccessKind::Read;
  uint16_t tensor = 0;     ///< Operand::tensor
  uint32_t scalarRead = 0; ///< of the scalar unit: number of the read; 0: a write
  /// Of the scalar unit: number of the access that brought the line into the data cache, which may
  /// be this one; noFill if it went past the cache.
  uint32_t fill = noFill;

  static constexpr uint32_t noFill = ~0u;
};

/// DataCacheCleanAndInvalid: the scalar unit's lines reach memory and are forgotten.
struct CacheClean {
  uint32_t epoch = 0; ///< of the scalar unit
  uint64_t line = 0;  ///< address; 0: all lines
};
constexpr uint64_t cacheLineBytes = 64;
constexpr uint64_t cacheLineOf(uint64_t address) {
  return address / cacheLineBytes * cacheLineBytes;
}

/// Whether the vendor's compiler orders two instructions of these pipes of a vector core by itself.
bool areOrderedByVendor(Pipe earlier, Pipe later);

extern const char* const pipeNames[numPipes]; // PIPE_V
extern const char* const pipeShort[numPipes]; // V, as in HardEvent::V_MTE3

class CoreHazards final : private ShadowVisitor {
public:
  /// `core` names the core in messages. Nothing is checked if `check` is false; clocks still run.
  CoreHazards(bool cube, bool check, bool relaxed, std::string core);

  /// A record starts on `pipe`: it comes after what the scalar unit knew when it issued it.
  void begin(Pipe pipe, const Clock& dispatch, const RemoteClockRef& remote, uint32_t site);
  /// Notes an access of the record that has begun.
  void note(Pipe pipe, const Access& access);
  /// The same for the scalar unit and GM, through its data cache or past it.
  void noteScalarGlobal(const Access& access, bool pastCache);
  /// The record that has begun works from UB byte `begin` on, besides its operands: reads of what was
  /// there before are told.
  void useReserved(Pipe pipe, uint32_t begin);
  /// The record that has begun on the scalar unit cleans a line, or all (0).
  void cleanCache(uint64_t line);

  /// What a flag tells that `pipe` sets now.
  Clock completed(Pipe pipe) const;
  void learn(Pipe pipe, const Clock& clock) {
    clocks[static_cast<unsigned>(pipe)].join(clock);
  }
  const Clock& clock(Pipe pipe) const {
    return clocks[static_cast<unsigned>(pipe)];
  }
  /// The number of the record that `pipe` has begun last.
  uint32_t epoch(Pipe pipe) const {
    return epochs[static_cast<unsigned>(pipe)];
  }
  /// PipeBarrier of one pipe.
  void barrier(Pipe pipe);
  /// PIPE_ALL, with all queues drained.
  void barrierAll();
  /// What all pipes have done so far.
  Clock everything() const;

  /// Drops what only a running core needs, when it has ended: a launch may have 65,535.
  void end();

  uint32_t siteOf(Place place, const char* what);
  const Site& site(uint32_t index) const {
    return sites[index];
  }

  Report report;
  std::vector<GlobalAccess> globalLog;
  std::vector<CacheClean> cleans; ///< in order
  const std::string core;
  bool isCube() const {
    return cube;
  }
  /// The lines that set a cross-core flag, each once with its pipe.
  struct CrossSet {
    Pipe pipe;
    uint8_t flag;
    uint32_t site;
    bool operator==(const CrossSet&) const = default;
  };
  std::vector<CrossSet> crossSets;
  void noteCrossSet(CrossSet set);
  /// What the last instruction has taken along although nothing had written it, and what became of that.
  std::vector<LocalBytes> moved;
  /// Of each byte of UB that comes of what nothing has written: the bits that don't. Empty before the first of them.
  std::vector<uint8_t> knownBits;
  /// Adds the reads of what nothing has written that are findings at the end of the core.
  void tellUnwrittenReads() {
    unwrittenElements.tellRest(report);
  }
  void noteUnwritten(Pipe pipe, const Unwritten& unwritten);
  uint64_t unwrittenReads = 0;       ///< that were told, or counted
  const char* tensorNames = nullptr; ///< LaunchRequest::tensorNames
  /// Where the kernel's tensor of that number begins, and what of its shape is known at run time only.
  void nameGlobal(uint16_t number, uint64_t begin, std::vector<int64_t> extents);
  std::optional<GlobalTensorName> globalTensor(uint16_t number) const;
  bool listsAccesses = false; ///< LaunchOptions::listAccesses
  std::vector<ListedAccess> listed;

private:
  void list(Pipe pipe, const Access* access);
  void meet(const Segment& segment, Interval overlap) override;
  void race(const char* kind, const Segment& segment, Interval overlap, Pipe other, Stamp stamp,
            bool otherWrites);
  void takeAlong(const Segment& segment, Interval overlap);
  bool isPaddingOfFractal(const Segment& segment, Interval overlap) const;
  void takeElements(const Segment& segment, Interval overlap);
  void uninitialised(const Segment& segment, Interval overlap);
  ReportItem itemOfUninitialised(const Segment& segment, Interval overlap) const;
  std::string keyOfUninitialised(const Segment& segment) const;
  void spoiled(const Segment& segment, Interval overlap);
  std::string bytesOf(Interval bytes) const;
  bool ordered(Pipe earlier, uint32_t epoch) const;
  bool autoOrdered(Pipe earlier, Pipe later) const;

  std::array<Clock, numPipes> clocks{};
  std::array<uint32_t, numPipes> epochs{};
  std::array<uint32_t, numPipes> currentSite{};
  std::array<RemoteClockRef, numPipes> remotes{};
  std::vector<RemoteClockRef> keptRemotes;
  std::array<std::unique_ptr<Shadow>, numSpaces> shadows;
  std::unordered_map<uint64_t, uint32_t> cachedLines; ///< to the access that filled them
  std::vector<Site> sites;
  /// Who had before what a site has moved on, and of which of its memories.
  struct Mover {
    uint32_t site;
    Space from;
    auto operator<=>(const Mover&) const = default;
  };
  std::map<Mover, Mover> movedBefore;
  UnwrittenReads unwrittenElements;
  /// To find a site again.
  struct SiteIndex {
    std::unordered_map<uint64_t, std::vector<uint32_t>> all;
    uint64_t lastKey[64] = {};
    uint32_t last[64] = {};
  };
  std::unique_ptr<SiteIndex> siteIndex = std::make_unique<SiteIndex>();
  struct KnownRace {
    size_t finding = 0;
    uint32_t epoch = 0; ///< of the record that was counted last
  };
  std::unordered_map<uint64_t, KnownRace> knownRaces; ///< by pair of sites
  struct GlobalTensor {
    uint64_t begin = 0;
    std::vector<int64_t> extents;
  };
  std::vector<GlobalTensor> globalTensors; ///< by number
  bool cube, check, relaxed;
  // The access being noted.
  const Access* current = nullptr;
  Pipe currentPipe = Pipe::S;
};

} // namespace tilewright::ascend

#endif
