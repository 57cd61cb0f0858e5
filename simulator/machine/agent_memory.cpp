// SPDX-License-Identifier: Apache-2.0
// Whether what an instruction touches is there: in its core's memories, in GM, in its tensor.
#include "simulator/machine/agent.h"
#include "simulator/memory/global_memory.h"
#include "simulator/memory/tensor_names.h"

namespace tilewright::ascend {

namespace {
std::string hexAddress(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}
} // namespace

std::vector<ReportNote> Agent::workingNotes(const std::string& advice) const {
  return {{{}, operandsText(working.pipe, working.instr, hazards.tensorNames)}, {{}, advice}};
}

void Agent::failBeyond(Space space, uint16_t number, Interval bytes, bool isWritten, Place place) {
  std::optional<TensorName> tensor = tensorNamed(hazards.tensorNames, number);
  if (!tensor)
    return;
  int64_t begin = 0;
  if (space != Space::GM) { // addresses on chip have 32 bits: one before the tensor is a large one
    begin = static_cast<int32_t>(static_cast<uint32_t>(bytes.begin - tensor->begin));
  } else if (std::optional<GlobalTensorName> global = hazards.globalTensor(number)) {
    begin = static_cast<int64_t>(bytes.begin - global->begin);
    tensor = std::move(global->tensor);
  } else {
    return;
  }
  const auto length = static_cast<int64_t>(bytes.end - bytes.begin);
  if (std::string text = outsideOf(*tensor, begin, begin + length, isWritten); !text.empty())
    fail(std::move(text), place, faultStatus());
}

void Agent::checkVersion(const Access& access, uint32_t site) {
  if (access.tensor >= versions.size() || !options.check)
    return;
  const Interval first = versions[access.tensor], hull = access.region.hull();
  const uint64_t bytes = first.end - first.begin;
  if (bytes == 0 || hull.begin < first.begin || hull.end <= hull.begin)
    return;
  const uint64_t begin = hull.begin - first.begin, end = hull.end - first.begin;
  const bool isOfAll = begin % bytes == 0 && end % bytes == 0;
  if (begin / bytes != (end - 1) / bytes && !isOfAll)
    failBeyond(access.space, access.tensor, hull, access.kind != AccessKind::Read,
               hazards.site(site).place);
}

void Agent::failWithoutMemory(const char* what, bool writes, Place place) {
  fail(std::string(what) + (writes ? " writes to" : " reads") +
           " a LocalTensor that has no memory [" + (writes ? "ErrorWrite1" : "ErrorRead1") + "]",
       place, faultStatus(),
       workingNotes("let it be what AllocTensor, DeQue or TBuf::Get gives, or "
                    "LocalTensor(position, address, size)"));
}

void Agent::checkLocal(const Access& access, uint32_t site) {
  auto s = static_cast<unsigned>(access.space);
  Interval hull = access.region.hull();
  const Site& where = hazards.site(site);
  const char* verb = access.kind == AccessKind::Read ? " reads " : " writes ";
  if (!context.base[s])
    fail(std::string(where.what) + verb + spaceNames[s] + ", which a " +
             (view.cube ? "cube" : "vector") + " core doesn't have",
         where.place, faultStatus(),
         workingNotes("cube cores and vector cores have memories of their own; what both need goes "
                      "through GM"));
  if ((hull.end > spaceBytes[s] || hull.begin > hull.end) && access.tensor != 0)
    failBeyond(access.space, access.tensor, hull, access.kind != AccessKind::Read, where.place);
  if (hull.end > spaceBytes[s] || hull.begin > hull.end)
    fail(std::string(where.what) + verb + spaceNames[s] + " bytes " + std::to_string(hull.begin) +
             " to " + std::to_string(hull.end - 1) + ", but " + spaceNames[s] + " has " +
             std::to_string(spaceBytes[s]) + " bytes [" +
             (access.kind == AccessKind::Read ? "ErrorRead3" : "ErrorWrite2") + "]",
         where.place, faultStatus(),
         workingNotes("use a smaller tile or a lower address, or a smaller repeat or stride"));
}

void Agent::checkGlobal(const Access& access, uint32_t site) {
  Interval hull = access.region.hull();
  if (access.kind == AccessKind::Read && !pending.empty() && hull.begin < pendingHull.end &&
      pendingHull.begin < hull.end)
    commitAtomics();
  uint64_t version = globalMemoryVersion();
  if (version == cachedVersion && hull.begin >= cachedRange.begin && hull.end <= cachedRange.end)
    return;
  const Site& where = hazards.site(site);
  const char* verb = access.kind == AccessKind::Read ? " reads " : " writes ";
  const char* code = access.kind == AccessKind::Read ? "ErrorRead1" : "ErrorWrite1";
  int32_t error = faultStatus();
  const bool isAllocated = findGlobalRange(hull.begin, cachedRange);
  if ((!isAllocated || hull.end > cachedRange.end) && access.tensor != 0) {
    cachedVersion = 0;
    failBeyond(access.space, access.tensor, hull, access.kind != AccessKind::Read, where.place);
  }
  if (!isAllocated) {
    cachedVersion = 0;
    fail(std::string(where.what) + verb + "GM at " + hexAddress(hull.begin) +
             ", which belongs to no allocation [" + code + "]",
         where.place, error,
         workingNotes("check the kernel's arguments and the offset into the GlobalTensor; memory "
                      "comes from aclrtMalloc"));
  }
  if (options.device >= 0 && cachedRange.device >= 0 && cachedRange.device != options.device) {
    cachedVersion = 0;
    fail(std::string(where.what) + verb + "GM at " + hexAddress(hull.begin) +
             ", which is memory of device " + std::to_string(cachedRange.device) +
             ", but the kernel runs on device " + std::to_string(options.device) + " [" + code +
             "]",
         where.place, error,
         workingNotes("launch it on a stream of that device, or call aclrtMalloc while device " +
                      std::to_string(options.device) + " is set"));
  }
  cachedVersion = version;
  if (hull.end > cachedRange.end)
    fail(std::string(where.what) + verb + "GM bytes " +
             std::to_string(hull.begin - cachedRange.begin) + " to " +
             std::to_string(hull.end - 1 - cachedRange.begin) + " of an allocation of " +
             std::to_string(cachedRange.end - cachedRange.begin) + " bytes at " +
             hexAddress(cachedRange.begin) + " [" + code + "]",
         where.place, error,
         workingNotes("shorten it by " + std::to_string(hull.end - cachedRange.end) +
                      " bytes, as for the last tile, or allocate as many more"));
}

void Agent::checkGivenSize(const Operand& tensor, const Access& access, uint32_t site,
                           bool takesBlocks) {
  if (tensor.bytes == 0 || tensor.space != Space::GM || !options.check)
    return;
  const uint64_t end = access.region.hull().end;
  if (end <= tensor.address + tensor.bytes)
    return;
  constexpr uint64_t block = 32;
  const bool isRounded = takesBlocks && access.kind == AccessKind::Read && tensor.bytes > 1 &&
                         access.region.length % block == 0 &&
                         end < tensor.address + tensor.bytes + block;
  if (isRounded)
    return;
  const Site& where = hazards.site(site);
  complain(
      std::string(where.what) + (access.kind == AccessKind::Read ? " reads" : " writes") +
          " GM up to byte " + std::to_string(end - 1 - cachedRange.begin) +
          " of an allocation, which is behind the elements that SetGlobalBuffer gave the tensor",
      false, where.place,
      workingNotes("give SetGlobalBuffer the number of elements that the kernel touches, or "
                   "touch fewer"));
}

} // namespace tilewright::ascend
