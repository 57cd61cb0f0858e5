// SPDX-License-Identifier: Apache-2.0
/// SHA-256 (FIPS 180-4), so that cache entries are trusted only when their digest fits. Our own,
/// because loading a cached kernel must not load libcrypto (3 MB, 3 ms).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright::runtime {

class Sha256 {
public:
  void update(const void* data, size_t bytes);
  /// 64 lower-case hexadecimal digits; call once.
  std::string finish();

private:
  void compress(const uint8_t* block);

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending{};
  uint64_t total = 0;
};

std::string sha256(std::string_view bytes);

/// The digest of a file's content; nothing if it can't be read.
std::optional<std::string> sha256OfFile(const std::string& path);

} // namespace tilewright::runtime
