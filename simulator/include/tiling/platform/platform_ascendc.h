// SPDX-License-Identifier: Apache-2.0
/// What a host program asks about the chip: here, about the one that the simulator models.
#ifndef TILEWRIGHT_TILING_PLATFORM_ASCENDC_H
#define TILEWRIGHT_TILING_PLATFORM_ASCENDC_H

#include <cstdint>

#define TILEWRIGHT_PLATFORM __attribute__((visibility("default")))

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B, L0_C, L1, L2, UB, HBM, RESERVED };
enum class SocVersion {
  ASCEND910 = 0,
  ASCEND910B,
  ASCEND310P,
  ASCEND310B,
  ASCEND910_93,
  RESERVED_VERSION
};

class TILEWRIGHT_PLATFORM PlatformAscendC {
public:
  /// `name` is a chip ("Ascend910B1") or null for the modelled one.
  explicit PlatformAscendC(const char* name = nullptr);

  uint32_t GetCoreNumAic() const;
  uint32_t GetCoreNumAiv() const;
  /// AI cores: those with a cube.
  uint32_t GetCoreNum() const;
  uint32_t GetCoreNumVector() const;
  SocVersion GetSocVersion() const;
  /// Bytes of a memory, of one core or (L2, HBM) of the chip.
  void GetCoreMemSize(const CoreMemType& type, uint64_t& size) const;
  uint32_t GetLibApiWorkSpaceSize() const;
  /// Blocks of a launch with `sliceNum` parts.
  uint32_t CalcTschBlockDim(uint32_t sliceNum, uint32_t aicCoreNum, uint32_t aivCoreNum) const;

private:
  const void* chip;
};

class TILEWRIGHT_PLATFORM PlatformAscendCManager {
public:
  static PlatformAscendC* GetInstance();
  /// Null if there is no chip of that name.
  static PlatformAscendC* GetInstance(const char* customSocVersion);
};

} // namespace platform_ascendc

#undef TILEWRIGHT_PLATFORM
#endif
