// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <cstdio>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tilewright::ascendc {

bool runAll(const std::vector<Command>& commands, bool verbose) {
  std::vector<pid_t> children;
  bool allWell = true;
  for (const Command& command : commands) {
    std::vector<char*> arguments;
    for (const std::string& a : command)
      arguments.push_back(const_cast<char*>(a.c_str()));
    arguments.push_back(nullptr);
    if (verbose) {
      for (const std::string& a : command)
        fprintf(stderr, "%s ", a.c_str());
      fputc('\n', stderr);
    }
    pid_t child = 0;
    int error = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (error) {
      fprintf(stderr, "error: cannot start '%s': %s\n", arguments[0], strerror(error));
      allWell = false;
      continue;
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    allWell = allWell && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return allWell;
}

} // namespace tilewright::ascendc
