// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/printed_line.h"

#include <gtest/gtest.h>
#include <thread>

namespace tilewright::runtime {
namespace {

std::string_view print(std::string_view piece) {
  return finishedLine(piece.data(), int64_t(piece.size()));
}

TEST(PrintedLine, ComesWholeAndOnce) {
  EXPECT_EQ(print("A = ["), "");
  EXPECT_EQ(print("1, 2"), "");
  EXPECT_EQ(print("]\n"), "A = [1, 2]\n");
  EXPECT_EQ(print("begins\n"), "begins\n");
}

TEST(PrintedLine, IsOfItsThread) {
  EXPECT_EQ(print("A = ["), "");
  std::thread([] { EXPECT_EQ(print("B\n"), "B\n"); }).join();
  EXPECT_EQ(print("]\n"), "A = []\n");
}

TEST(PrintedLine, ThatItsKernelLeftIsForgotten) {
  EXPECT_EQ(print("A = ["), "");
  forgetLine();
  EXPECT_EQ(print("B\n"), "B\n");
}

} // namespace
} // namespace tilewright::runtime
