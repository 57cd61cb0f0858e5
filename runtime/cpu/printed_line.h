// SPDX-License-Identifier: Apache-2.0
/// What a kernel prints comes in pieces, an element at a time; blocks print side by side.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright::runtime {

/// Keeps the pieces of this thread's line until one ends it; gives the whole line then, else nothing. Good until the
/// thread's next call.
std::string_view finishedLine(const char* text, int64_t bytes);

/// Drops the pieces of a line that was never ended: its kernel was.
void forgetLine();

} // namespace tilewright::runtime
