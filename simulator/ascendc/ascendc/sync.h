// SPDX-License-Identifier: Apache-2.0
// Flags, barriers and cross-core synchronisation.
#ifndef TILEWRIGHT_ASCENDC_SYNC_H
#define TILEWRIGHT_ASCENDC_SYNC_H

#include "tensors.h"

namespace AscendC {

using TEventID = int8_t;

inline void twSetFlag(HardEvent event, int32_t id, TwPlace place) {
  twHost::issueSetFlag(twPipesOf(event).from, twPipesOf(event).to, id, place);
}
inline void twWaitFlag(HardEvent event, int32_t id, TwPlace place) {
  twHost::issueWaitFlag(twPipesOf(event).from, twPipesOf(event).to, id, place);
}
/// Ids that nobody has allocated, though they belong to the framework and the compiler.
inline void twCheckEventId(HardEvent event, int32_t id, TwPlace place) {
  if ((id == 6 || id == 7) &&
      !(twHost::agentView().eventIdsInUse[static_cast<int>(event)] >> id & 1))
    twHost::reportKernel(id == 6
                             ? "event id 6 is reserved for the framework; use 0 to 5, or ids of "
                               "AllocEventID"
                             : "event id 7 is reserved for the framework; use 0 to 5, or ids of "
                               "AllocEventID",
                         false, place);
}
template <HardEvent event> void SetFlag(int32_t id, TwPlace place = TwPlace::here()) {
  twCheckEventId(event, id, place);
  twSetFlag(event, id, place);
}
template <HardEvent event> void WaitFlag(int32_t id, TwPlace place = TwPlace::here()) {
  twWaitFlag(event, id, place);
}
template <pipe_t pipe> void PipeBarrier(TwPlace place = TwPlace::here()) {
  static_assert(pipe != PIPE_S, "PipeBarrier doesn't take PIPE_S");
  if (pipe == PIPE_ALL)
    twHost::issueBarrierAll(place);
  else
    twHost::issueBarrier(twPipeOf(pipe), place);
}

template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t flagId, TwPlace place = TwPlace::here()) {
  twHost::issueCrossSet(modeId, twPipeOf(pipe), flagId, place);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t flagId, TwPlace place = TwPlace::here()) {
  twHost::issueCrossWait(flagId, place);
}
/// What rtGetC2cCtrlAddr gives. The flags of the host have no address.
inline void SetSyncBaseAddr(uint64_t) {}
template <bool isAIVOnly = true> void SyncAll(TwPlace place = TwPlace::here()) {
  twHost::issueSyncAll(isAIVOnly, twHost::Meeting::ByFlags, place);
}
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>&, const LocalTensor<int32_t>&, const int32_t = 0,
             TwPlace place = TwPlace::here()) {
  twHost::issueSyncAll(isAIVOnly, twHost::Meeting::ByMemory, place);
}

/// The words in GM that two cores would use for this meeting.
inline uint64_t twMeetingKey(const GlobalTensor<int32_t>& workspace, int64_t slot) {
  constexpr uint64_t slotBytes = 32;
  return reinterpret_cast<uint64_t>(workspace.GetPhyAddr()) +
         static_cast<uint64_t>(slot) * slotBytes;
}
/// Vector core `blockIdx` has come to event `eventID`; IBWait of the same numbers waits for it.
template <bool isAIVOnly = true>
void IBSet(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>&, int32_t blockIdx,
           int32_t eventID, TwPlace place = TwPlace::here()) {
  if (!twHost::agentView().cube)
    twHost::issueNotice(twHost::NoticeOf::Meeting,
                        twMeetingKey(gmWorkspace, int64_t{eventID} * 256 + blockIdx), "IBSet",
                        place);
}
template <bool isAIVOnly = true>
void IBWait(const GlobalTensor<int32_t>& gmWorkspace, const LocalTensor<int32_t>&, int32_t blockIdx,
            int32_t eventID, TwPlace place = TwPlace::here()) {
  if (!twHost::agentView().cube)
    twHost::awaitNotice(twHost::NoticeOf::Meeting,
                        twMeetingKey(gmWorkspace, int64_t{eventID} * 256 + blockIdx), 1, "IBWait",
                        place);
}
/// Vector cores one after the other: block 0 goes first, NotifyNextBlock lets the next one go.
inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>&,
                                          TwPlace place = TwPlace::here()) {
  if (!twHost::agentView().cube && GetBlockIdx() == 0)
    twHost::issueNotice(twHost::NoticeOf::Meeting, twMeetingKey(gmWorkspace, 0),
                        "InitDetermineComputeWorkspace", place);
}
inline void WaitPreBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>&,
                         TwPlace place = TwPlace::here()) {
  if (!twHost::agentView().cube)
    twHost::awaitNotice(twHost::NoticeOf::Meeting, twMeetingKey(gmWorkspace, GetBlockIdx()), 1,
                        "WaitPreBlock", place);
}
inline void NotifyNextBlock(GlobalTensor<int32_t>& gmWorkspace, LocalTensor<int32_t>&,
                            TwPlace place = TwPlace::here()) {
  int64_t all = GetBlockNum() * GetSubBlockNum();
  if (!twHost::agentView().cube)
    twHost::issueNotice(twHost::NoticeOf::Meeting,
                        twMeetingKey(gmWorkspace, (GetBlockIdx() + 1) % all), "NotifyNextBlock",
                        place);
}
enum class PipeMode : uint8_t { SCALAR_MODE = 0, MTE3_MODE = 1, MAX };
/// `waitSize` vector cores go on when `arriveSize` have come.
template <PipeMode pipeMode> class GroupBarrier {
public:
  GroupBarrier(GM_ADDR groupWorkspace, uint32_t arriveSizeIn, uint32_t waitSizeIn)
      : key(reinterpret_cast<uint64_t>(groupWorkspace)), arriveSize(arriveSizeIn),
        waitSize(waitSizeIn) {}
  void Arrive(uint32_t, TwPlace place = TwPlace::here()) {
    if (!twHost::agentView().cube)
      twHost::issueNotice(twHost::NoticeOf::Meeting, key, "GroupBarrier::Arrive", place);
  }
  void Wait(uint32_t, TwPlace place = TwPlace::here()) {
    if (!twHost::agentView().cube)
      twHost::awaitNotice(twHost::NoticeOf::Meeting, key, arriveSize, "GroupBarrier::Wait", place);
  }
  uint64_t GetWorkspaceLen() const {
    constexpr uint64_t slotBytes = 512;
    return slotBytes * (arriveSize > waitSize ? arriveSize : waitSize);
  }

private:
  uint64_t key;
  uint32_t arriveSize, waitSize;
};

/// Stores are in order here.
template <MemDsbT = MemDsbT::ALL> void DataSyncBarrier() {}
template <class T, CacheLine line = CacheLine::SINGLE_CACHE_LINE, DcciDst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst, TwPlace place = TwPlace::here()) {
  bool all = line == CacheLine::ENTIRE_DATA_CACHE;
  twHost::cleanDataCache(all ? 0 : reinterpret_cast<uint64_t>(dst.GetPhyAddr()), place);
}
/// Reserved: UB is not cached.
template <class T, CacheLine = CacheLine::SINGLE_CACHE_LINE, DcciDst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const LocalTensor<T>&) {}
template <class T, class U> void DataCachePreload(const GlobalTensor<T>&, U) {}
inline void ICachePreLoad(int64_t) {}
inline void SetNextTaskStart() {}
inline void WaitPreTaskEnd() {}

} // namespace AscendC

/// The same by the names of the instructions, as older kernels and some libraries call them.
inline void set_flag(pipe_t from, pipe_t to, int32_t id,
                     AscendC::TwPlace place = AscendC::TwPlace::here()) {
  AscendC::twHost::issueSetFlag(AscendC::twPipeOf(from), AscendC::twPipeOf(to), id, place);
}
inline void wait_flag(pipe_t from, pipe_t to, int32_t id,
                      AscendC::TwPlace place = AscendC::TwPlace::here()) {
  AscendC::twHost::issueWaitFlag(AscendC::twPipeOf(from), AscendC::twPipeOf(to), id, place);
}
inline void pipe_barrier(pipe_t pipe, AscendC::TwPlace place = AscendC::TwPlace::here()) {
  if (pipe == PIPE_ALL)
    AscendC::twHost::issueBarrierAll(place);
  else
    AscendC::twHost::issueBarrier(AscendC::twPipeOf(pipe), place);
}
/// A cross-core flag: `message` has the mode in bits 4 and 5, the flag's number from bit 8 on.
inline void ffts_cross_core_sync(pipe_t pipe, uint64_t message,
                                 AscendC::TwPlace place = AscendC::TwPlace::here()) {
  AscendC::twHost::issueCrossSet(message >> 4 & 3, AscendC::twPipeOf(pipe), message >> 8 & 15,
                                 place);
}
inline void wait_flag_dev(int64_t flag, AscendC::TwPlace place = AscendC::TwPlace::here()) {
  AscendC::twHost::issueCrossWait(static_cast<uint32_t>(flag), place);
}
inline void set_ffts_base_addr(uint64_t) {}
enum cache_line_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum dcci_dst_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
inline void dcci(const volatile void* address, uint64_t line, uint64_t = 0,
                 AscendC::TwPlace place = AscendC::TwPlace::here()) {
  AscendC::twHost::cleanDataCache(
      line == ENTIRE_DATA_CACHE ? 0 : reinterpret_cast<uint64_t>(address), place);
}

#endif
