// SPDX-License-Identifier: Apache-2.0
#include "tiling/platform/platform_ascendc.h"

#include "compiler/chips/ascend_chip.h"
#include "simulator/acl/modelled_chip.h"

#include <map>
#include <mutex>
#include <string>

namespace platform_ascendc {

namespace chips = tilewright::chips;

namespace {
const chips::AscendChip& of(const void* chip) {
  return *static_cast<const chips::AscendChip*>(chip);
}
const chips::AscendChip* find(const char* name) {
  return chips::findAscendChip(name ? name : tilewright::acl::modelledChip().socName.c_str());
}
} // namespace

PlatformAscendC::PlatformAscendC(const char* name) : chip(find(name)) {
  if (!chip)
    chip = find(nullptr);
}
uint32_t PlatformAscendC::GetCoreNumAic() const {
  return static_cast<uint32_t>(of(chip).cubeCores);
}
uint32_t PlatformAscendC::GetCoreNumAiv() const {
  return static_cast<uint32_t>(of(chip).vectorCores);
}
uint32_t PlatformAscendC::GetCoreNum() const {
  return GetCoreNumAic();
}
uint32_t PlatformAscendC::GetCoreNumVector() const {
  return 0; // cores that have a vector unit but no place in an AI core: on other chips only
}
SocVersion PlatformAscendC::GetSocVersion() const {
  bool isA3 = of(chip).socName.find("910_93") != std::string::npos;
  return isA3 ? SocVersion::ASCEND910_93 : SocVersion::ASCEND910B;
}
void PlatformAscendC::GetCoreMemSize(const CoreMemType& type, uint64_t& size) const {
  const chips::AscendChip& c = of(chip);
  switch (type) {
  case CoreMemType::L0_A:
    size = c.l0aBytes;
    return;
  case CoreMemType::L0_B:
    size = c.l0bBytes;
    return;
  case CoreMemType::L0_C:
    size = c.l0cBytes;
    return;
  case CoreMemType::L1:
    size = c.l1Bytes;
    return;
  case CoreMemType::L2:
    size = c.l2Bytes;
    return;
  case CoreMemType::UB:
    size = c.unifiedBufferBytes;
    return;
  case CoreMemType::HBM:
    size = c.memoryBytes;
    return;
  default:
    size = 0;
  }
}
uint32_t PlatformAscendC::GetLibApiWorkSpaceSize() const {
  constexpr uint32_t bytes = 16 * 1024 * 1024;
  return bytes;
}
uint32_t PlatformAscendC::CalcTschBlockDim(uint32_t sliceNum, uint32_t aicCoreNum,
                                           uint32_t aivCoreNum) const {
  if (!aicCoreNum || !aivCoreNum || aicCoreNum > aivCoreNum)
    return sliceNum;
  uint32_t ratio = aivCoreNum / aicCoreNum;
  return (sliceNum + ratio - 1) / ratio;
}

PlatformAscendC* PlatformAscendCManager::GetInstance() {
  static PlatformAscendC platform;
  return &platform;
}
PlatformAscendC* PlatformAscendCManager::GetInstance(const char* customSocVersion) {
  if (!customSocVersion || !find(customSocVersion))
    return nullptr;
  static std::mutex mutex;
  static std::map<std::string, PlatformAscendC> platforms;
  std::lock_guard lock(mutex);
  return &platforms.try_emplace(customSocVersion, customSocVersion).first->second;
}

} // namespace platform_ascendc
