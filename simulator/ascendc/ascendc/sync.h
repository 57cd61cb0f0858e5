// SPDX-License-Identifier: Apache-2.0
// Flags, barriers and cross-core synchronisation.
#ifndef TILEWRIGHT_ASCENDC_SYNC_H
#define TILEWRIGHT_ASCENDC_SYNC_H

#include "tensors.h"

namespace AscendC {

using TEventID = int8_t;

inline void setFlag(HardEvent event, int32_t id, Place place) {
  host::issueSetFlag(pipesOf(event).from, pipesOf(event).to, id, place);
}
inline void waitFlag(HardEvent event, int32_t id, Place place) {
  host::issueWaitFlag(pipesOf(event).from, pipesOf(event).to, id, place);
}
/// Ids that nobody has allocated, though they belong to the framework and the compiler.
inline void checkEventId(HardEvent event, int32_t id, Place place) {
  if ((id == 6 || id == 7) && !(host::agentView().eventIdsInUse[static_cast<int>(event)] >> id & 1))
    host::reportKernel(id == 6 ? "event id 6 is reserved for the framework; use 0 to 5, or ids of "
                                 "AllocEventID"
                               : "event id 7 is reserved for the framework; use 0 to 5, or ids of "
                                 "AllocEventID",
                       false, place);
}
template <HardEvent event> void SetFlag(int32_t id, Place place = Place::here()) {
  checkEventId(event, id, place);
  setFlag(event, id, place);
}
template <HardEvent event> void WaitFlag(int32_t id, Place place = Place::here()) {
  waitFlag(event, id, place);
}
template <pipe_t pipe> void PipeBarrier(Place place = Place::here()) {
  static_assert(pipe != PIPE_S, "PipeBarrier doesn't take PIPE_S");
  if (pipe == PIPE_ALL)
    host::issueBarrierAll(place);
  else
    host::issueBarrier(pipeOf(pipe), place);
}

template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t flagId, Place place = Place::here()) {
  host::issueCrossSet(modeId, pipeOf(pipe), flagId, place);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t flagId, Place place = Place::here()) {
  host::issueCrossWait(flagId, place);
}
template <bool isAIVOnly = true> void SyncAll(Place place = Place::here()) {
  host::issueSyncAll(isAIVOnly, place);
}
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>&, const LocalTensor<int32_t>&, const int32_t = 0,
             Place place = Place::here()) {
  host::issueSyncAll(isAIVOnly, place);
}

/// Stores are in order here.
template <MemDsbT = MemDsbT::ALL> void DataSyncBarrier() {}
template <class T, CacheLine line = CacheLine::SINGLE_CACHE_LINE, DcciDst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& dst, Place place = Place::here()) {
  bool all = line == CacheLine::ENTIRE_DATA_CACHE;
  host::cleanDataCache(all ? 0 : reinterpret_cast<uint64_t>(dst.GetPhyAddr()), place);
}
/// Reserved: UB is not cached.
template <class T, CacheLine = CacheLine::SINGLE_CACHE_LINE, DcciDst = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const LocalTensor<T>&) {}
template <class T> void DataCachePreload(const GlobalTensor<T>&, int64_t) {}
inline void ICachePreLoad(int64_t) {}
inline void SetNextTaskStart() {}
inline void WaitPreTaskEnd() {}

} // namespace AscendC

#endif
