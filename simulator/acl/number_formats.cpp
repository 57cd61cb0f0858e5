// SPDX-License-Identifier: Apache-2.0
// Data types of the C interface: their sizes, and float16.
#include "acl/acl_base.h"

#include <bit>
#include <cmath>

size_t aclDataTypeSize(aclDataType dataType) {
  switch (dataType) {
  case ACL_INT8:
  case ACL_UINT8:
  case ACL_BOOL:
  case ACL_HIFLOAT8:
  case ACL_FLOAT8_E5M2:
  case ACL_FLOAT8_E4M3FN:
  case ACL_FLOAT8_E8M0:
    return 1;
  case ACL_FLOAT16:
  case ACL_BF16:
  case ACL_INT16:
  case ACL_UINT16:
    return 2;
  case ACL_FLOAT:
  case ACL_INT32:
  case ACL_UINT32:
  case ACL_COMPLEX32:
    return 4;
  case ACL_INT64:
  case ACL_UINT64:
  case ACL_DOUBLE:
  case ACL_COMPLEX64:
    return 8;
  case ACL_COMPLEX128:
    return 16;
  default:
    return 0;
  }
}

aclFloat16 aclFloatToFloat16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  auto sign = uint16_t(bits >> 16 & 0x8000);
  uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return sign | 0x7E00;
  if (magnitude >= 0x47800000) // 65536 and above; 65520..65535 round up to it below
    return sign | 0x7C00;
  if (magnitude < 0x38800000) { // below 2^-14: a multiple of 2^-24
    float scaled = std::bit_cast<float>(magnitude) * 16777216.0F;
    return sign | uint16_t(std::nearbyintf(scaled));
  }
  uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
  return sign | uint16_t((rounded - 0x38000000) >> 13);
}

float aclFloat16ToFloat(aclFloat16 value) {
  uint32_t sign = uint32_t(value & 0x8000) << 16;
  uint32_t exponent = value >> 10 & 0x1F;
  uint32_t mantissa = value & 0x3FF;
  if (exponent == 0x1F)
    return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13);
  if (exponent == 0) {
    float magnitude = float(mantissa) / 16777216.0F;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}
