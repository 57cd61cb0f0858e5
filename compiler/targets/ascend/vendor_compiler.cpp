// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/vendor_compiler.h"

#include <cstdlib>
#include <unistd.h>

namespace tilewright::ascend {

namespace fs = std::filesystem;

/// Where versions of the toolkit have it.
static const char* const kPrograms[] = {"bin/bisheng", "compiler/bin/bisheng",
                                        "compiler/ccec_compiler/bin/bisheng",
                                        "tools/ccec_compiler/bin/bisheng"};
static const char* const kHeaders[] = {"include",
                                       "include/experiment/runtime",
                                       "include/experiment/msprof",
                                       "compiler/tikcpp",
                                       "compiler/tikcpp/tikcfw",
                                       "compiler/tikcpp/tikcfw/impl",
                                       "compiler/tikcpp/tikcfw/interface"};
static const char* const kLibraries[] = {"runtime", "ascendcl", "tiling_api", "platform",
                                         "c_sec",   "dl",       "m"};

static bool isProgram(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::optional<std::vector<std::string>> vendorCommand(const fs::path& text, const fs::path& library,
                                                      const std::string& headers) {
  for (const char* variable : {"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}) {
    const char* named = std::getenv(variable);
    if (!named || !*named)
      continue;
    const fs::path home = named;
    for (const char* program : kPrograms) {
      if (!isProgram(home / program))
        continue;
      std::vector<std::string> command = {home / program, "--npu-arch=dav-2201",
                                          "-O2",          "-fwrapv", // the language's integers wrap
                                          "-std=c++17",   "-xasc",
                                          "-fPIC",        "--shared",
                                          text,           "-o",
                                          library,        "-I" + headers};
      std::error_code ignored;
      for (const char* folder : kHeaders)
        if (fs::is_directory(home / folder, ignored))
          command.push_back("-I" + (home / folder).string());
      command.push_back("-L" + (home / "lib64").string());
      command.push_back("-Wl,-rpath," + (home / "lib64").string());
      for (const char* name : kLibraries)
        command.push_back(std::string("-l") + name);
      return command;
    }
  }
  return std::nullopt;
}

} // namespace tilewright::ascend
