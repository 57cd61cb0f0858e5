// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_library.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright::runtime {
namespace {

TEST(MemoryLibrary, APathNeverComesBack) {
  const int file = memfd_create("library", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  struct stat own = {};
  ASSERT_EQ(fstat(file, &own), 0);
  std::set<std::string> paths;
  for (int call = 0; call < 1000; ++call) {
    const std::string path = freshPathOf(file);
    EXPECT_TRUE(paths.insert(path).second) << path;
    struct stat found = {};
    ASSERT_EQ(stat(path.c_str(), &found), 0) << path;
    EXPECT_EQ(found.st_ino, own.st_ino) << path;
  }
  close(file);
}

} // namespace
} // namespace tilewright::runtime
