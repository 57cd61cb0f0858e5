// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <spawn.h>
#include <sstream>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tilewright::ascendc {

namespace {

/// 0 if it can't be started. Its stderr is `messages`, if that is a file.
pid_t start(const Command& command, int messages, bool verbose) {
  if (verbose) {
    for (const std::string& a : command)
      fprintf(stderr, "%s ", a.c_str());
    fputc('\n', stderr);
  }
  std::vector<char*> arguments;
  for (const std::string& a : command)
    arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (messages >= 0)
    posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
  pid_t child = 0;
  int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    fprintf(stderr, "error: cannot start '%s': %s\n", arguments[0], strerror(error));
  return error ? 0 : child;
}

bool endsWell(pid_t child) {
  int status = 0;
  return child && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

std::string contentOf(int file) {
  std::string text;
  char part[4096];
  lseek(file, 0, SEEK_SET);
  for (ssize_t n; (n = read(file, part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(n));
  return text;
}

std::string withoutColours(std::string_view line) {
  std::string plain;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\033')
      at = std::min(line.find_first_of("mK", at), line.size() - 1);
    else
      plain += line[at];
  }
  return plain;
}

/// Lines of a compiler: those that say where an error is, the error, what belongs to it, and how many there were.
enum class Line { Context, Error, Rest, Summary };
Line kindOf(std::string_view coloured) {
  std::string line = withoutColours(coloured);
  auto has = [&](const char* text) { return line.find(text) != std::string::npos; };
  if (line.ends_with(" generated."))
    return Line::Summary;
  if (line.starts_with("In file included from") || has(": In ") || has(": At global scope"))
    return Line::Context;
  bool isError = has(": error: ") || has(": fatal error: ") || has(": warning: ");
  return isError && !line.starts_with(" ") ? Line::Error : Line::Rest;
}

} // namespace

std::string withoutRepetition(const std::vector<std::string>& messages) {
  std::set<std::string> known;
  std::string merged, block;
  auto endBlock = [&] {
    if (!block.empty() && known.insert(block).second)
      merged += block;
    block.clear();
  };
  for (const std::string& text : messages) {
    std::istringstream lines(text);
    Line before = Line::Rest;
    for (std::string line; std::getline(lines, line);) {
      Line kind = kindOf(line);
      bool begins = kind == Line::Context || kind == Line::Error;
      if (kind == Line::Summary || (begins && before != Line::Context))
        endBlock();
      if (kind != Line::Summary)
        block += line + "\n";
      before = kind;
    }
    endBlock();
  }
  return merged;
}

std::vector<Finished> runEach(const std::vector<Command>& commands, bool verbose) {
  std::vector<pid_t> children;
  std::vector<int> files;
  for (Command command : commands) {
    if (isatty(STDERR_FILENO))
      command.insert(command.begin() + 1, "-fdiagnostics-color=always");
    files.push_back(memfd_create("messages", MFD_CLOEXEC));
    children.push_back(start(command, files.back(), verbose));
  }
  std::vector<Finished> finished;
  for (size_t i = 0; i < commands.size(); ++i) {
    bool isWell = endsWell(children[i]);
    finished.push_back({isWell, contentOf(files[i])});
    close(files[i]);
  }
  return finished;
}

bool runAll(const std::vector<Command>& commands, bool verbose) {
  std::vector<pid_t> children;
  children.reserve(commands.size());
  for (const Command& command : commands)
    children.push_back(start(command, -1, verbose));
  bool isWell = true;
  for (pid_t child : children)
    isWell = endsWell(child) && isWell;
  return isWell;
}

} // namespace tilewright::ascendc
