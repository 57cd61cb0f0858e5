// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace tilewright::ascendc {

namespace fs = std::filesystem;

fs::path temporaryFolder() {
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
    if (const char* folder = std::getenv(name); folder && *folder)
      return folder;
  return "/tmp";
}

fs::path workingFolder() {
  std::error_code error;
  fs::path folder = fs::current_path(error);
  return error ? fs::path() : folder;
}

fs::path absoluteOf(const fs::path& path) {
  return path.is_absolute() ? path : workingFolder() / path;
}

bool isThere(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && !error;
}

bool makeFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    fprintf(stderr, "error: cannot make the folder '%s': %s\n", folder.c_str(),
            error.message().c_str());
  return !error;
}

bool storeFile(const fs::path& file, const std::string& text) {
  errno = 0;
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close(); // a full disk shows only here
  return static_cast<bool>(out);
}

bool writeFile(const fs::path& file, const std::string& text) {
  const bool isStored = storeFile(file, text);
  if (!isStored)
    fprintf(stderr, "error: cannot write '%s': %s\n", file.c_str(), strerror(errno));
  return isStored;
}

} // namespace tilewright::ascendc
