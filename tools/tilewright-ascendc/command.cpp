// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tilewright::ascendc {

namespace {

/// 0 if it can't be started.
pid_t start(const Command& command, const std::string& messages) {
  std::vector<char*> arguments;
  for (const std::string& a : command)
    arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!messages.empty())
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0666);
  pid_t child = 0;
  int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    fprintf(stderr, "error: cannot start '%s': %s\n", arguments[0], strerror(error));
  return error ? 0 : child;
}

} // namespace

std::vector<bool> runEach(const std::vector<Command>& commands,
                          const std::vector<std::string>& messages, bool verbose) {
  std::vector<pid_t> children;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (verbose) {
      for (const std::string& a : commands[i])
        fprintf(stderr, "%s ", a.c_str());
      fputc('\n', stderr);
    }
    children.push_back(start(commands[i], i < messages.size() ? messages[i] : ""));
  }
  std::vector<bool> isWell;
  for (pid_t child : children) {
    int status = 0;
    isWell.push_back(child && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                     WEXITSTATUS(status) == 0);
  }
  return isWell;
}

bool runAll(const std::vector<Command>& commands, bool verbose) {
  std::vector<bool> isWell = runEach(commands, {}, verbose);
  return std::find(isWell.begin(), isWell.end(), false) == isWell.end();
}

} // namespace tilewright::ascendc
