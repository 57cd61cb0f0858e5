// SPDX-License-Identifier: Apache-2.0
#include "precompiled.h"
#include "command.h"
#include "files.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace tilewright::ascendc {

namespace fs = std::filesystem;

namespace {

/// Time and size of a file, as text; empty if it isn't there.
std::string stampOf(const fs::path& file) {
  std::error_code error;
  auto time = fs::last_write_time(file, error);
  if (error)
    return {};
  return std::to_string(time.time_since_epoch().count()) + " " +
         std::to_string(fs::file_size(file, error));
}

fs::path programOf(const std::string& compiler) {
  const char* path = std::getenv("PATH");
  std::stringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    if (fs::path program = fs::canonical(fs::path(folder) / compiler, error); !error)
      return program;
  }
  return compiler;
}

std::string prefixText(const PrecompiledHeader& header) {
  std::string text;
  if (header.isForAllPasses)
    text += "#define TILEWRIGHT_KINDS_LATER\n";
  for (const char* name : {"algorithm", "cmath", "cstdint", "cstdio", "cstdlib", "cstring",
                           "fstream", "iostream", "memory", "string", "vector"})
    text += std::string("#include <") + name + ">\n";
  text += "#include \"kernel_operator.h\"\n#include \"acl/acl.h\"\n";
  for (const std::string& name : header.more)
    text += "#include \"" + name + "\"\n";
  if (header.isForAllPasses)
    text += "#undef TILEWRIGHT_KINDS_LATER\n";
  return text;
}

fs::path cacheFolder() {
  const char* ours = std::getenv("TILEWRIGHT_CACHE_DIR");
  const char* cacheHome = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path cache = cacheHome ? fs::path(cacheHome) : fs::path(home ? home : "/tmp") / ".cache";
  cache = ours && *ours ? fs::path(ours) / "ascendc" : cache / "tilewright/ascendc";
  std::error_code error;
  fs::create_directories(cache, error);
  if (fs::is_directory(cache, error) && access(cache.c_str(), W_OK | X_OK) == 0)
    return cache;
  return temporaryFolder() / ("tilewright-ascendc-" + std::to_string(getuid()));
}

/// The files that a compiler has listed as a rule of make.
std::vector<std::string> filesOfRule(const fs::path& rule) {
  std::ifstream in(rule);
  std::vector<std::string> files;
  std::string word;
  auto end = [&] {
    if (!word.empty() && word.back() != ':')
      files.push_back(word);
    word.clear();
  };
  for (char c; in.get(c);) {
    if (c == '\\' && in.peek() == ' ')
      word += static_cast<char>(in.get());
    else if (c == ' ' || c == '\n' || c == '\\')
      end();
    else
      word += c;
  }
  end();
  return files;
}

/// A folder of the cache with one precompiled header in it.
class Entry {
public:
  explicit Entry(const PrecompiledHeader& header) : header(header) {
    std::string key = header.compiler + prefixText(header);
    for (const std::string& flag : header.flags)
      key += " " + flag;
    char name[32];
    snprintf(name, sizeof name, "%016zx", std::hash<std::string>{}(key));
    folder = cacheFolder() / name;
  }
  ~Entry() {
    if (lock >= 0)
      close(lock);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  /// Each line of `inputs` is a file's stamp and its name.
  bool isFresh() const {
    std::ifstream in(folder / "inputs");
    if (!in || !isThere(result()))
      return false;
    for (std::string line; std::getline(in, line);) {
      size_t name = line.find(' ', line.find(' ') + 1) + 1;
      if (name == 0 || stampOf(line.substr(name)) + " " != line.substr(0, name))
        return false;
    }
    return true;
  }
  /// From here on, and until this object ends, no other process makes the same. False if nothing can be kept here.
  bool lockIt() {
    std::error_code error;
    fs::create_directories(folder, error);
    lock = open((folder / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    return lock >= 0 && flock(lock, LOCK_EX) == 0;
  }
  bool writePrefix() const {
    return storeFile(folder / "prefix.h", prefixText(header));
  }
  /// Says why there is none; the build does without.
  void warn() const {
    fprintf(
        stderr,
        "warning: cannot write the cache '%s': %s; set TILEWRIGHT_CACHE_DIR to a folder that you "
        "may write, or each build takes longer\n",
        folder.parent_path().c_str(), strerror(errno));
  }
  Command command() const {
    Command c = {header.compiler, "-x", "c++-header"};
    c.insert(c.end(), header.flags.begin(), header.flags.end());
    if (header.isClang) // else each source instantiates what the headers need
      c.push_back("-fpch-instantiate-templates");
    c.insert(c.end(),
             {folder / "prefix.h", "-MD", "-MF", folder / "rule", "-o", folder / "unfinished"});
    return c;
  }
  void keep() const {
    std::ofstream inputs(folder / "unfinished.inputs");
    std::vector<std::string> files = filesOfRule(folder / "rule");
    files.push_back(programOf(header.compiler).string());
    for (const std::string& file : files)
      inputs << stampOf(file) << " " << file << "\n";
    inputs.close();
    std::error_code error;
    fs::remove(folder / "inputs", error);
    fs::rename(folder / "unfinished", result(), error);
    fs::rename(folder / "unfinished.inputs", folder / "inputs", error);
  }
  /// After a compiler has failed to write what it needs some ten megabytes for.
  bool isDiskFull() const {
    constexpr uintmax_t needed = 64 << 20;
    std::error_code error;
    fs::remove(folder / "unfinished", error);
    const fs::space_info space = fs::space(folder, error);
    errno = ENOSPC;
    return !error && space.available < needed;
  }
  std::vector<std::string> options() const {
    std::vector<std::string> options = {"-include", folder / "prefix.h"};
    if (header.isClang)
      options = {"-include-pch", result()};
    if (header.isForAllPasses)
      options.insert(options.end(), {"-include", "ascendc/core_kind.h"});
    return options;
  }

private:
  fs::path result() const {
    return folder / (header.isClang ? "prefix.pch" : "prefix.h.gch");
  }
  const PrecompiledHeader& header;
  fs::path folder;
  int lock = -1;
};

} // namespace

std::vector<std::vector<std::string>>
preparePrecompiled(const std::vector<PrecompiledHeader>& headers, bool verbose) {
  struct Missing {
    std::unique_ptr<Entry> entry;
    std::vector<std::string>& options;
  };
  std::vector<std::vector<std::string>> options(headers.size());
  std::vector<Missing> missing;
  std::vector<Command> commands;
  bool isWarned = false;
  auto doWithout = [&](const Entry& entry, std::vector<std::string>& ofHeader) {
    ofHeader.clear();
    if (!std::exchange(isWarned, true))
      entry.warn();
  };
  for (size_t i = 0; i < headers.size(); ++i) {
    auto entry = std::make_unique<Entry>(headers[i]);
    options[i] = entry->options();
    if (entry->isFresh())
      continue;
    const bool isLocked = entry->lockIt();
    if (isLocked && entry->isFresh())
      continue;
    if (!isLocked || !entry->writePrefix()) {
      doWithout(*entry, options[i]);
      continue;
    }
    commands.push_back(entry->command());
    missing.push_back({std::move(entry), options[i]});
  }
  std::vector<Finished> finished = runEach(commands, verbose);
  for (size_t i = 0; i < finished.size(); ++i) {
    const Missing& made = missing[i];
    if (!finished[i].isWell && made.entry->isDiskFull()) {
      doWithout(*made.entry, made.options);
      continue;
    }
    fputs(finished[i].messages.c_str(), stderr);
    if (!finished[i].isWell)
      return {};
    made.entry->keep();
  }
  return options;
}

} // namespace tilewright::ascendc
