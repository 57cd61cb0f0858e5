// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/library.h"

#include <cerrno>
#include <gtest/gtest.h>

namespace tilewright::runtime {
namespace {

Manifest manifestOf(bool usesTiles) {
  Manifest manifest;
  manifest.name = "matmul";
  manifest.cpu = "sapphirerapids";
  manifest.usesTiles = usesTiles;
  return manifest;
}

TEST(CpuLibrary, SaysWhoRefusesTilesAndWhatHelps) {
  EXPECT_EQ(refusalOfTiles(manifestOf(true), [] { return errno = EPERM, -1; }),
            "matmul: compiled for 'sapphirerapids' with AMX, whose tile registers this process "
            "doesn't get: Operation "
            "not permitted; compile it for the CPU 'cooperlake' or 'avx512', which have none");
}

TEST(CpuLibrary, AsksForTilesOnlyWhereTheyAreNeeded) {
  EXPECT_EQ(refusalOfTiles(manifestOf(true), [] { return 0; }), "");
  EXPECT_EQ(refusalOfTiles(manifestOf(false), [] { return errno = EPERM, -1; }), "");
}

} // namespace
} // namespace tilewright::runtime
