// SPDX-License-Identifier: Apache-2.0
// tilewright-ascendc: a compiler driver for Ascend C on the host.
#include "builder.h"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  auto options = tilewright::ascendc::parseOptions(argc, argv);
  if (!options)
    return 2;
  if (options->help) {
    fputs(tilewright::ascendc::usage, stdout);
    return 0;
  }
  try {
    return tilewright::ascendc::Builder(*options).run();
  } catch (const std::exception& error) { // of the standard library, such as when memory runs out
    fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
