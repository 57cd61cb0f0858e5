// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpu/library.h"
#include "runtime/memory_library.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace tilewright::runtime {

namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kHostMachine = EM_X86_64;
constexpr const char* kHostName = "x86-64";
#elif defined(__aarch64__)
constexpr Elf64_Half kHostMachine = EM_AARCH64;
constexpr const char* kHostName = "AArch64";
#endif

/// Whether the file is a library for processors of another architecture.
bool isForOtherProcessors(const char* path) {
  Elf64_Ehdr header{};
  std::ifstream file(path, std::ios::binary);
  return file.read(reinterpret_cast<char*>(&header), sizeof header) &&
         std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine != kHostMachine;
}

} // namespace

std::string refusalOfTiles(const Manifest& manifest, TileRequest ask) {
  std::string reason;
  if (!manifest.usesTiles || mayUseTiles(reason, ask))
    return "";
  return manifest.name + ": compiled for '" + manifest.cpu +
         "' with AMX, whose tile registers this process doesn't get: " + reason +
         "; compile it for the CPU 'cooperlake' or 'avx512', which have none";
}

CpuKernel::~CpuKernel() {
  if (handle)
    dlclose(handle);
  if (memoryFile >= 0)
    close(memoryFile);
}

bool CpuKernel::open(const char* path, std::string& error) {
  if (spec.target != "cpu") {
    error = spec.name + ": made for target '" + spec.target + "' but 'cpu' was expected";
    return false;
  }
  if (error = refusalOfTiles(spec); !error.empty())
    return false;
  handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    if (isForOtherProcessors(path)) {
      error = spec.name + ": compiled for '" + spec.cpu + "', but this machine's processor is " +
              kHostName;
      return false;
    }
    error = spec.name + ": can't load the kernel library: " + (reason ? reason : "unknown reason");
    return false;
  }
  for (size_t number = 0; number < parts.size(); ++number) {
    const std::string suffix = number == 0 ? "" : "_" + std::to_string(number);
    const std::string grid = spec.name + "_grid" + suffix, blocks = spec.name + "_blocks" + suffix;
    CpuLaunch& part = parts[number];
    part.isCooperative = spec.launches[number].isCooperative;
    part.grid = reinterpret_cast<TwGridFunction>(dlsym(handle, grid.c_str()));
    part.blocks = reinterpret_cast<TwBlocksFunction>(dlsym(handle, blocks.c_str()));
    if (part.grid && part.blocks)
      continue;
    error =
        spec.name + ": the kernel library has no function '" + (part.grid ? blocks : grid) + "'";
    return false;
  }
  return true;
}

std::shared_ptr<CpuKernel> CpuKernel::fromFile(const std::string& path, const Manifest& manifest,
                                               std::string& error) {
  std::shared_ptr<CpuKernel> kernel(new CpuKernel(manifest));
  // A name without a slash would be searched for in the system's folders.
  std::string exact = path.find('/') == std::string::npos ? "./" + path : path;
  if (kernel->open(exact.c_str(), error))
    return kernel;
  // Folders of users are mounted "noexec" on some clusters: there, memory does.
  std::ifstream file(exact, std::ios::binary);
  std::vector<char> library{std::istreambuf_iterator<char>(file), {}};
  std::string secondError;
  return library.empty() ? nullptr : fromMemory(library, manifest, secondError);
}

std::shared_ptr<CpuKernel> CpuKernel::fromMemory(std::span<const char> library,
                                                 const Manifest& manifest, std::string& error) {
  std::shared_ptr<CpuKernel> kernel(new CpuKernel(manifest));
  int file = memfd_create(manifest.name.c_str(), MFD_CLOEXEC);
  if (file < 0) {
    error = manifest.name + ": can't make a file in memory: " + std::strerror(errno);
    return nullptr;
  }
  for (size_t written = 0; written < library.size();) {
    ssize_t count = write(file, library.data() + written, library.size() - written);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      error = manifest.name + ": can't write a file in memory: " + std::strerror(errno);
      close(file);
      return nullptr;
    }
    written += size_t(count);
  }
  kernel->memoryFile = file; // stays open: debuggers look there
  return kernel->open(freshPathOf(file).c_str(), error) ? kernel : nullptr;
}

} // namespace tilewright::runtime
