// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_TOOLS_ASCENDC_OPTIONS_H
#define TILEWRIGHT_TOOLS_ASCENDC_OPTIONS_H

#include <optional>
#include <string>
#include <vector>

namespace tilewright::ascendc {

struct Options {
  std::vector<std::string> sources;
  std::string output;
  std::string compiler; ///< found if empty
  std::vector<std::string> compileFlags;
  std::vector<std::string> linkFlags;
  std::vector<std::string> precompile; ///< headers of the user for the precompiled one
  std::string runDefaults;        ///< options of TILEWRIGHT_ASCEND that the program starts with
  bool onlyLaunchHeaders = false; ///< `output` is their folder then
  bool onlyCompile = false, shared = false, kernelObject = false, verbose = false, keep = false,
       noPch = false;
  bool help = false; ///< asked for the usage; nothing else is set then
};

/// Prints what is wrong and returns nothing if the command line makes no sense.
std::optional<Options> parseOptions(int argc, char** argv);

extern const char* const usage;

} // namespace tilewright::ascendc

#endif
