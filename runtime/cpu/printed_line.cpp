// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/printed_line.h"

#include <string>

namespace tilewright::runtime {

namespace {

thread_local std::string line;
thread_local bool isFinished = false;

} // namespace

std::string_view finishedLine(const char* text, int64_t bytes) {
  if (isFinished)
    forgetLine();
  line.append(text, size_t(bytes));
  isFinished = line.ends_with('\n');
  return isFinished ? std::string_view(line) : std::string_view();
}

void forgetLine() {
  line.clear();
  isFinished = false;
}

} // namespace tilewright::runtime
