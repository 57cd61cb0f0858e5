// SPDX-License-Identifier: Apache-2.0
/// How much a kernel does in one launch: what `tilewright profile` sets its times against.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct Work {
  /// Float operations; a multiply-add counts as two. Nothing if a loop's length depends on data.
  std::optional<double> flops;
  /// Branches that depend on data were counted as their larger side.
  bool isUpperBound = false;
  /// Of `flops`, those of gemms of bfloat16, and those of gemms of 8-bit integers.
  double bfloat16Flops = 0, byteOperations = 0;
  /// Per parameter in the order of the signature: a tensor that is read, that is written.
  std::vector<bool> isRead, isWritten;
};

/// `tileText` is a kernel's tile IR (stage `tile`); `arguments` what is known of its arguments:
/// integers for scalars, in the order of the signature, and then for symbols. Nothing, with a
/// message in `error`, if the text is no kernel.
std::optional<Work> countWork(std::string_view tileText,
                              const std::vector<std::optional<int64_t>>& arguments,
                              std::string& error);

} // namespace tilewright
