// SPDX-License-Identifier: Apache-2.0
#include "runtime/ascend/kernel.h"

#include "runtime/ascend/acl_interface.h"
#include "runtime/memory_library.h"
#include "tilewright/kernel_abi.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace tilewright::runtime {
namespace {

/// Device memory of one launch, and its stream; all goes at the end.
class DeviceMemory {
public:
  explicit DeviceMemory(const AclInterface& acl) : acl(acl) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    if (stream)
      acl.destroyStream(stream);
    for (void* memory : blocks)
      acl.release(memory);
  }

  void* allocate(size_t bytes, int32_t& code) {
    void* memory = nullptr;
    code = acl.allocate(&memory, std::max<size_t>(bytes, 1), 0);
    if (code == 0)
      blocks.push_back(memory);
    return memory;
  }
  void* makeStream(int32_t& code) {
    code = acl.createStream(&stream);
    return stream;
  }

private:
  const AclInterface& acl;
  std::vector<void*> blocks;
  void* stream = nullptr;
};

/// The first extent of a grid that divides by zero.
constexpr int64_t kNoExtents = INT64_MIN;

/// Why a grid can't be launched; empty if it can.
std::string refusalOfGrid(const int64_t (&extents)[3], int64_t coresPerBlock) {
  if (extents[0] == kNoExtents)
    return "an extent of the grid divides an integer by zero";
  if (std::any_of(extents, extents + 3, [](int64_t extent) { return extent < 0; }))
    return "the grid is (" + std::to_string(extents[0]) + ", " + std::to_string(extents[1]) + ", " +
           std::to_string(extents[2]) +
           ") but extents from 0 on, of less than 2^62 blocks, were expected";
  if (std::find(extents, extents + 3, 0) != extents + 3)
    return "";
  const std::string ofTwo = coresPerBlock == 1 ? "" : " of two vector cores each";
  std::string blocks;
  int64_t cores = coresPerBlock;
  for (const int64_t extent : extents) {
    blocks += (blocks.empty() ? "" : " x ") + std::to_string(extent);
    cores = cores > TW_ASCEND_MOST_CORES / extent ? TW_ASCEND_MOST_CORES + 1 : cores * extent;
  }
  if (cores <= TW_ASCEND_MOST_CORES)
    return "";
  while (blocks.ends_with(" x 1"))
    blocks.resize(blocks.size() - 4);
  return "the grid has " + blocks + " blocks" + ofTwo + ", but a launch has at most " +
         std::to_string(TW_ASCEND_MOST_CORES) + (ofTwo.empty() ? "" : " cores");
}

/// What the host has found in a launch: both are the caller's.
struct Findings {
  static void tell(void* to, const char* text, bool isError) {
    if (isError)
      static_cast<Findings*>(to)->add(text);
    else
      static_cast<Findings*>(to)->warnings.emplace_back(text);
  }
  void add(const char* text) {
    constexpr unsigned most = 20;
    if (++count <= most)
      errors += text;
    else
      more = "... and " + std::to_string(count - most) + " more\n";
  }
  std::string errors, more;
  std::vector<std::string> warnings;
  unsigned count = 0;
};

} // namespace

AscendKernel::AscendKernel(const Manifest& manifest) : spec(manifest) {}

AscendKernel::~AscendKernel() {
  // The library stays: the host's runtime keeps the kernels that it registered.
  if (memoryFile >= 0)
    close(memoryFile);
}

bool AscendKernel::open(const std::string& path, std::string& error) {
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    error = spec.name + ": can't load the kernel library: " + (reason ? reason : "unknown reason");
    return false;
  }
  grid = reinterpret_cast<decltype(grid)>(dlsym(handle, (spec.name + "_grid").c_str()));
  start = reinterpret_cast<decltype(start)>(dlsym(handle, (spec.name + "_launch").c_str()));
  workspace =
      reinterpret_cast<decltype(workspace)>(dlsym(handle, (spec.name + "_workspace").c_str()));
  if (!grid || !start || !findGrids()) {
    error = spec.name + ": the kernel library has no function '" + spec.name +
            (start ? "_grid'" : "_launch'");
    return false;
  }
  acl = std::make_unique<AclInterface>();
  if (acl->load(handle, error))
    return true;
  error = spec.name + ": " + error;
  return false;
}

bool AscendKernel::findGrids() {
  grids.assign(1, grid);
  if (spec.launches.size() < 2)
    return true;
  for (size_t i = 0; i < spec.launches.size(); ++i) {
    const std::string name = spec.name + "_" + std::to_string(i) + "_grid";
    grids.resize(i);
    grids.push_back(reinterpret_cast<GridFunction>(dlsym(handle, name.c_str())));
    if (!grids.back())
      return false;
  }
  return true;
}

/// Why one of the launches has a grid that no launch can have, with its place; empty if none has.
std::string AscendKernel::refusalOf(const uint64_t* slots) const {
  for (size_t i = 0; i < grids.size(); ++i) {
    int64_t extents[3] = {1, 1, 1};
    grids[i](slots, extents);
    // Of several launches the common grid counts cores, and what is too much it says itself.
    const std::string reason = refusalOfGrid(extents, grids.size() > 1 ? 1 : spec.coresPerBlock);
    const std::string place = i < spec.launches.size() ? spec.launches[i].place : "";
    if (!reason.empty())
      return std::string(place.empty() ? spec.name : place)
                 .append(place.empty() ? ": " : ": error: ") +
             reason;
  }
  return "";
}

std::shared_ptr<AscendKernel> AscendKernel::fromFile(const std::string& path,
                                                     const Manifest& manifest, std::string& error) {
  std::shared_ptr<AscendKernel> kernel(new AscendKernel(manifest));
  // A name without a slash would be searched for in the system's folders.
  const std::string exact = path.find('/') == std::string::npos ? "./" + path : path;
  return kernel->open(exact, error) ? kernel : nullptr;
}

std::shared_ptr<AscendKernel> AscendKernel::fromMemory(std::span<const char> library,
                                                       const Manifest& manifest,
                                                       std::string& error) {
  std::shared_ptr<AscendKernel> kernel(new AscendKernel(manifest));
  const int file = memfd_create(manifest.name.c_str(), MFD_CLOEXEC);
  kernel->memoryFile = file;
  size_t written = 0;
  while (file >= 0 && written < library.size()) {
    const ssize_t count = write(file, library.data() + written, library.size() - written);
    if (count < 0 && errno != EINTR)
      break;
    written += size_t(std::max<ssize_t>(count, 0));
  }
  if (file < 0 || written < library.size()) {
    error = manifest.name + ": can't make a file in memory: " + std::strerror(errno);
    return nullptr;
  }
  return kernel->open(freshPathOf(file), error) ? kernel : nullptr;
}

bool AscendKernel::checkLimits(std::span<const uint64_t> slots, const ArgumentChecker& checker,
                               std::string& error) const {
  if (spec.limits.empty())
    return true;
  for (size_t i = 0; i < grids.size(); ++i) {
    int64_t extents[3] = {1, 1, 1};
    grids[i](slots.data(), extents);
    const bool hasBlocks =
        std::all_of(extents, extents + 3, [](int64_t extent) { return extent > 0; });
    if (hasBlocks && !checker.checkLimits(i, slots, error))
      return false;
  }
  return true;
}

bool AscendKernel::launch(const uint64_t* slots, size_t slotCount, const ArgumentChecker& checker,
                          std::span<const uint64_t> bytes, std::span<const bool> isReadOnly,
                          const volatile int32_t& stop, std::vector<std::string>& warnings,
                          std::string& error) const {
  auto fail = [&](const std::string& what, int32_t code) {
    error = spec.name + ": " + what + acl->reason(code);
    return false;
  };
  if (!acl->prepare(error)) {
    error = spec.name + ": " + error;
    return false;
  }
  int64_t extents[3] = {1, 1, 1};
  grid(slots, extents);
  error = refusalOf(slots);
  if (const std::string reason = refusalOfGrid(extents, spec.coresPerBlock);
      error.empty() && !reason.empty())
    error = spec.name + ": " + reason;
  if (!error.empty())
    return false;
  if (std::find(extents, extents + 3, 0) != extents + 3)
    return true;
  const int64_t cores = spec.coresPerBlock * extents[0] * extents[1] * extents[2];
  DeviceMemory memory(*acl);
  int32_t code = 0;
  std::vector<uint64_t> device(slots, slots + slotCount);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (!spec.params[i].isTensor)
      continue;
    const size_t slot = checker.slotOf(i);
    void* copy = memory.allocate(bytes[i], code);
    if (code == 0 && bytes[i] > 0)
      code = acl->copy(copy, bytes[i], reinterpret_cast<const void*>(slots[slot]), bytes[i],
                       AclInterface::kHostToDevice);
    if (code != 0)
      return fail("", code);
    device[slot] = reinterpret_cast<uint64_t>(copy);
  }
  const int64_t spaceBytes = workspace ? workspace(extents) : spec.workspaceBytes;
  void* space = memory.allocate(size_t(spaceBytes), code);
  void* stream = code == 0 ? memory.makeStream(code) : nullptr;
  if (code != 0)
    return fail("", code);
  Findings findings;
  if (acl->setStopFlag)
    acl->setStopFlag(&stop);
  if (acl->setListener)
    acl->setListener(&Findings::tell, &findings);
  if (acl->setRelaxed)
    acl->setRelaxed(spec.isRelaxed);
  start(device.data(), space, uint32_t(cores), stream);
  if (acl->setRelaxed)
    acl->setRelaxed(false);
  if (acl->setStopFlag)
    acl->setStopFlag(nullptr);
  if (acl->setListener)
    acl->setListener(nullptr, nullptr);
  code = acl->synchronize(stream);
  warnings = std::move(findings.warnings);
  if (code != 0 && !findings.errors.empty()) {
    error = spec.name + ": the kernel failed: " + findings.errors + findings.more;
    error.pop_back(); // the last line's end
    return false;
  }
  if (code != 0)
    return fail("the kernel failed: ", code);
  for (size_t i = 0; i < bytes.size() && code == 0; ++i)
    if (spec.params[i].isTensor && bytes[i] > 0 && !isReadOnly[i]) {
      const size_t slot = checker.slotOf(i);
      code = acl->copy(reinterpret_cast<void*>(slots[slot]), bytes[i],
                       reinterpret_cast<const void*>(device[slot]), bytes[i],
                       AclInterface::kDeviceToHost);
    }
  if (code != 0)
    return fail("", code);
  return true;
}

} // namespace tilewright::runtime
