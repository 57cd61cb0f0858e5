// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/build_library.h"

#include "compiler/targets/ascend/vendor_compiler.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace tilewright::ascend {
namespace {

namespace fs = std::filesystem;

/// A folder that goes with its object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::error_code error;
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base && *base ? base : "/tmp") + "/tilewright-XXXXXX";
    if (mkdtemp(pattern.data()))
      path = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }
  fs::path path;
};

std::string readAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string pathFrom(const char* variable, const char* builtIn) {
  const char* chosen = std::getenv(variable);
  return chosen && *chosen ? chosen : builtIn;
}

/// Waits for the leader of a process group, and ends the group if `cancel` is set meanwhile. The status
/// is as waitpid gives it.
int waitFor(pid_t leader, const std::atomic<bool>* cancel) {
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(leader, &status, cancel ? WNOHANG : 0);
    if (ended == leader || (ended < 0 && errno != EINTR))
      return status;
    if (cancel && cancel->load(std::memory_order_relaxed))
      kill(-leader, SIGKILL);
    if (cancel)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

/// Runs a program with its output in a file; its exit code, or -1 if it can't be started. It and what
/// it starts are a process group of their own.
int run(const std::vector<std::string>& command, const fs::path& output,
        const std::atomic<bool>* cancel) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return -1;
  const int status = waitFor(child, cancel);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

std::optional<std::vector<char>> buildLibrary(const std::string& source, PassSession& session) {
  const TemporaryFolder folder;
  if (folder.path.empty()) {
    session.problem = "no temporary folder can be made for Ascend C; TMPDIR says where";
    session.isOfMachine = true;
    return std::nullopt;
  }
  const fs::path text = folder.path / "kernel.cpp", library = folder.path / "kernel.so",
                 output = folder.path / "output.txt";
  std::ofstream(text) << source;
  const std::string headers = pathFrom("TILEWRIGHT_DEVICE_HEADERS", TILEWRIGHT_DEVICE_FOLDER);
  // The same text for both: who names the host's driver wants the host.
  std::optional<std::vector<std::string>> command;
  if (!std::getenv("TILEWRIGHT_ASCENDC"))
    command = vendorCommand(text, library, headers);
  const std::string withVendor = command ? " with '" + command->front() + "'" : "";
  if (!command)
    command = {pathFrom("TILEWRIGHT_ASCENDC", TILEWRIGHT_ASCENDC_PROGRAM),
               "build",
               "--shared",
               text,
               "-o",
               library,
               "-I" + headers};
  const int code = run(*command, output, session.cancel);
  if (code < 0) {
    session.problem =
        "'" + command->front() +
        "' cannot be started; build the Ascend host, or name its tilewright-ascendc in "
        "TILEWRIGHT_ASCENDC";
    session.isOfMachine = true;
    return std::nullopt;
  }
  if (code != 0) {
    session.problem =
        "the Ascend C of this kernel does not compile" + withVendor + ":\n" + readAll(output);
    return std::nullopt;
  }
  const std::string bytes = readAll(library);
  return std::vector<char>(bytes.begin(), bytes.end());
}

} // namespace tilewright::ascend
