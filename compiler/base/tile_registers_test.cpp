// SPDX-License-Identifier: Apache-2.0
#include "compiler/base/tile_registers.h"

#include <cerrno>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(TileRegisters, AreThereWhereTheSystemGivesThem) {
  std::string reason;
  EXPECT_TRUE(mayUseTiles(reason, [] { return 0; }));
  EXPECT_EQ(reason, "");
}

TEST(TileRegisters, SayWhyTheyAreRefused) {
  std::string reason;
  EXPECT_FALSE(mayUseTiles(reason, [] { return errno = ENOSPC, -1; }));
  EXPECT_EQ(reason, "a thread's stack for signals is too small for them");
  EXPECT_FALSE(mayUseTiles(reason, [] { return errno = EINVAL, -1; }));
  EXPECT_EQ(reason, "this machine or its system has none");
  EXPECT_FALSE(mayUseTiles(reason, [] { return errno = EPERM, -1; }));
  EXPECT_EQ(reason, "Operation not permitted");
}

TEST(TileRegisters, AskedForTwiceAreAnsweredAlike) {
  std::string reason;
  EXPECT_EQ(mayUseTiles(reason), mayUseTiles(reason));
}

} // namespace
} // namespace tilewright
