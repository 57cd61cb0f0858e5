// SPDX-License-Identifier: Apache-2.0
// tilewright-ascendc: a compiler driver for Ascend C on the host.
#include "builder.h"

#include <cstdio>

int main(int argc, char** argv) {
  auto options = tilewright::ascendc::parseOptions(argc, argv);
  if (!options)
    return 2;
  if (options->help) {
    fputs(tilewright::ascendc::usage, stdout);
    return 0;
  }
  return tilewright::ascendc::Builder(*options).run();
}
