// SPDX-License-Identifier: Apache-2.0
/// The binary interface of DLPack 1.x, as far as we use it
/// (https://dmlc.github.io/dlpack/latest/c_api.html): how frameworks hand over tensors.
/// Declarations only, written from that specification, so that no framework's headers are needed.
/// Distributions package only DLPack 0.6, which lacks the exchange API.
#pragma once

#include <cstdint>

namespace tilewright::runtime {

struct DlVersion {
  uint32_t major;
  uint32_t minor;
};

enum DlDeviceType : int32_t { DlCpu = 1, DlCuda = 2, DlCudaHost = 3, DlRocm = 10 };

struct DlDevice {
  int32_t type;
  int32_t id;
};

enum DlTypeCode : uint8_t {
  DlInt = 0,
  DlUInt = 1,
  DlFloat = 2,
  DlOpaque = 3,
  DlBfloat = 4,
  DlComplex = 5,
  DlBool = 6,
  DlFloat8E3M4 = 7,
  DlFloat8E4M3 = 8,
  DlFloat8E4M3B11FNUZ = 9,
  DlFloat8E4M3FN = 10,
  DlFloat8E4M3FNUZ = 11,
  DlFloat8E5M2 = 12,
  DlFloat8E5M2FNUZ = 13,
  DlFloat8E8M0FNU = 14,
  DlFloat6E2M3FN = 15,
  DlFloat6E3M2FN = 16,
  DlFloat4E2M1FN = 17,
};

struct DlDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  bool operator==(const DlDataType&) const = default;
};

/// `strides` count elements; null means row-major and contiguous (before version 1.2).
struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byteOffset;
};

/// What a capsule named "dltensor" holds.
struct DlManagedTensor {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManagedTensor* self);
};

/// What a capsule named "dltensor_versioned" holds; `flags` bit 0: read-only.
struct DlManagedTensorVersioned {
  DlVersion version;
  void* context;
  void (*deleter)(DlManagedTensorVersioned* self);
  uint64_t flags;
  DlTensor tensor;
};

constexpr uint64_t dlFlagReadOnly = 1;

/// The table behind `type.__dlpack_c_exchange_api__`, a capsule named "dlpack_exchange_api".
/// Functions return 0, or -1 with a Python exception set.
struct DlExchangeApi {
  DlVersion version;
  DlExchangeApi* previous; // an older major version of the table
  int (*allocate)(DlTensor* prototype, DlManagedTensorVersioned** out, void* errorContext,
                  void (*setError)(void* errorContext, const char* kind, const char* message));
  int (*managedFromObject)(void* object, DlManagedTensorVersioned** out);
  int (*objectFromManaged)(DlManagedTensorVersioned* tensor, void** object); // takes over `tensor`
  int (*borrow)(void* object, DlTensor* out);                                // may be null
  int (*currentStream)(int32_t deviceType, int32_t deviceId, void** stream);
};

} // namespace tilewright::runtime
