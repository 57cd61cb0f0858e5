// SPDX-License-Identifier: Apache-2.0
// For tests: takes one synchronisation at a time out of a correct kernel. The oracle runs queue
// heads in random legal orders, with writes that land late: what is not reported must give the same
// bits in each order.
#ifndef TILEWRIGHT_ASCENDC_MUTATION_H
#define TILEWRIGHT_ASCENDC_MUTATION_H

#include "simulator/ascendc/device_buffer.h"

#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>

namespace tilewright::ascend::testing {

/// Runs the kernel and returns all that it has written.
using MutatedRun = std::function<std::vector<float>()>;

struct MutationCounts {
  int sites = 0, reported = 0, silent = 0, differs = 0, falseReports = 0, missed = 0;
};

/// Why no order of this launch shows what the report says; empty if it should show.
inline const char* reasonWithoutDifference(const std::string& findings) {
  auto says = [&](const char* part) { return findings.find(part) != std::string::npos; };
  if (says("nothing waits for it before the kernel ends") || says("more than it is waited for"))
    return "a flag stays behind, which the next kernel on the core would see";
  if (says("again before anything waited"))
    return "a flag is set twice, which the chip may lose";
  return "";
}

/// Runs the kernel without the site `text` in up to `orders` orders; true if one gives other bits.
inline bool differsWithout(const MutatedRun& run, const std::string& text,
                           const std::vector<float>& expected, int orders) {
  nextOptions() = {};
  nextOptions().threads = 1;
  nextOptions().mutedSyncTexts = {text};
  nextOptions().check = false;
  for (int seed = 1; seed <= orders; ++seed) {
    nextOptions().randomOrderSeed = static_cast<uint64_t>(seed);
    if (run() != expected)
      return true;
  }
  return false;
}

inline MutationCounts mutate(const MutatedRun& run, int orders) {
  MutationCounts counts;
  nextOptions() = {};
  nextOptions().threads = 1;
  nextOptions().countSyncs = true;
  std::vector<float> expected = run();
  EXPECT_EQ(allFindings(), "");
  std::vector<std::string> sites = lastReport().syncSites;
  counts.sites = static_cast<int>(sites.size());
  nextOptions().countSyncs = false;
  for (int seed = 1; seed <= orders; ++seed) {
    nextOptions().randomOrderSeed = static_cast<uint64_t>(seed);
    EXPECT_EQ(run(), expected) << "order " << seed;
    counts.falseReports += !lastReport().findings.empty();
  }
  for (size_t site = 0; site < sites.size(); ++site) {
    nextOptions() = {};
    nextOptions().threads = 1;
    nextOptions().mutedSync = static_cast<int64_t>(site);
    run();
    std::string findings = allFindings();
    bool differs = differsWithout(run, sites[site], expected, orders);
    bool reported = !findings.empty();
    counts.reported += reported;
    counts.silent += !reported;
    counts.differs += reported && differs;
    counts.missed += !reported && differs;
    EXPECT_TRUE(reported || !differs) << "not reported, but it matters: " << sites[site];
    if (!reported || differs)
      continue;
    std::string reason = reasonWithoutDifference(findings);
    printf("  no order shows it: %s: %s\n", sites[site].c_str(), reason.c_str());
    EXPECT_NE(reason, "") << sites[site] << "\n" << findings;
  }
  nextOptions() = {};
  return counts;
}

/// TILEWRIGHT_ORDERS is the number of orders.
inline void expectAllReported(const char* name, const MutatedRun& run) {
  const char* wanted = std::getenv("TILEWRIGHT_ORDERS");
  int orders = wanted ? atoi(wanted) : 1000;
  MutationCounts c = mutate(run, orders);
  printf("| %s | %d | %d | %d | %d | %d | %d |\n", name, c.sites, c.reported, c.differs, c.silent,
         c.missed, c.falseReports);
  EXPECT_EQ(c.missed, 0);
  EXPECT_EQ(c.falseReports, 0);
  EXPECT_GT(c.reported, 0);
}

} // namespace tilewright::ascend::testing

#endif
