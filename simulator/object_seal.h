// SPDX-License-Identifier: Apache-2.0
// The seal of a kernel object: its length and a checksum, behind its last byte. The system's loader maps a file that is
// cut off or damaged without a word, and the program dies where it uses it.
#ifndef TILEWRIGHT_SIMULATOR_OBJECT_SEAL_H
#define TILEWRIGHT_SIMULATOR_OBJECT_SEAL_H

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tilewright::ascend {

struct ObjectSeal {
  char mark[16];
  uint64_t length; ///< of what stands before it
  uint64_t checksum;
};

/// Differs whenever one byte does (FNV-1a).
inline uint64_t checksumOf(std::string_view bytes) {
  uint64_t sum = 0xcbf29ce484222325;
  for (char c : bytes)
    sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return sum;
}

inline ObjectSeal sealOf(std::string_view object) {
  return {{'T', 'w', '-', 'k', 'e', 'r', 'n', 'e', 'l', '-', 'o', 'b', 'j', '-', '1', '\n'},
          object.size(),
          checksumOf(object)};
}

/// Finds the seal of an object, behind which there may be more: a caller's buffer may be larger. False if there is none
/// that belongs there.
inline bool findSeal(std::string_view data, ObjectSeal& seal) {
  const ObjectSeal like = sealOf({});
  std::string_view mark(like.mark, sizeof like.mark);
  size_t at = data.rfind(mark);
  if (at == std::string_view::npos || data.size() - at < sizeof seal)
    return false;
  std::memcpy(&seal, data.data() + at, sizeof seal);
  return seal.length == at;
}

} // namespace tilewright::ascend

#endif
