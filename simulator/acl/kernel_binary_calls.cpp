// SPDX-License-Identifier: Apache-2.0
/// Loading kernel objects, and finding their functions.
#include "simulator/acl/kernel_binary.h"

#include "simulator/acl/kernel_run.h"
#include "simulator/object_seal.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

namespace tilewright::acl {

KernelTables& KernelTables::instance() {
  static auto* tables = new KernelTables; // outlives every thread
  return *tables;
}

KernelBinary::~KernelBinary() {
  if (library) {
    ascend::unregisterKernels(kernels);
    dlclose(library);
  }
  if (file >= 0)
    close(file);
}

std::vector<size_t> KernelFunction::offsets(bool inSlots, size_t& bytes) const {
  constexpr size_t slot = 8, least = 4;
  std::vector<size_t> all;
  bytes = 0;
  auto alignTo = [&](size_t unit) { bytes = (bytes + unit - 1) / unit * unit; };
  for (size_t i = 0; i < signature->count; ++i) {
    const ascend::KernelParameter& parameter = signature->parameters[i];
    alignTo(std::max(inSlots ? slot : least, parameter.alignment));
    all.push_back(bytes);
    bytes += parameter.size;
  }
  if (inSlots)
    alignTo(slot);
  return all;
}

std::shared_ptr<KernelFunction> findFunction(const Call& call, const void* handle, aclError& code) {
  KernelTables& tables = KernelTables::instance();
  std::shared_ptr<KernelFunction> function = tables.functions.find(handle);
  if (!function)
    code = call.fail(ACL_ERROR_RT_INVALID_HANDLE,
                     tables.functions.complaint("funcHandle", handle, "a kernel function"));
  return function;
}

namespace {

constexpr const char* howToMakeOne =
    "; tilewright-ascendc build --kernel makes kernel objects for this host";

/// The system's loader believes what a file says of itself, so whatever has changed since the object was built is refused
/// before.
aclError checkWhole(const Call& call, const std::string& name, std::string_view data) {
  if (!data.starts_with(ELFMAG))
    return call.fail(ACL_ERROR_INVALID_FILE, name, " is no ELF object", howToMakeOne);
  ascend::ObjectSeal seal;
  if (ascend::findSeal(data, seal)) {
    if (ascend::checksumOf(data.substr(0, seal.length)) == seal.checksum)
      return ACL_SUCCESS;
    return call.fail(ACL_ERROR_INVALID_FILE, name,
                     " is damaged: its bytes are not those that were built (their checksum differs)"
                     "; build it or copy it again");
  }
  Elf64_Ehdr header = {};
  std::memcpy(&header, data.data(), std::min(sizeof header, data.size()));
  uint64_t table = uint64_t(header.e_shnum) * header.e_shentsize;
  bool isCut = data.size() < sizeof header || header.e_shoff > data.size() ||
               table > data.size() - header.e_shoff;
  if (isCut)
    return call.fail(ACL_ERROR_INVALID_FILE_SIZE, name, " is cut off: it has ", data.size(),
                     " bytes, but its sections are listed behind them; build it or copy it again");
  return call.fail(ACL_ERROR_INVALID_FILE, name,
                   " has no seal at its end: it was cut off or changed, or is no kernel object",
                   howToMakeOne);
}

/// Opens a copy: the file may be built again, and loaded again, while this one is in use.
bool openCopy(KernelBinary& binary, const char* data, size_t length, std::string& error) {
  binary.file = memfd_create("kernel", MFD_CLOEXEC);
  for (size_t at = 0; binary.file >= 0 && at < length;) {
    ssize_t written = write(binary.file, data + at, length - at);
    if (written <= 0) {
      error = std::strerror(errno);
      return false;
    }
    at += size_t(written);
  }
  // Not /proc/self: who looks for lines opens it from another process.
  std::string path = joined("/proc/", getpid(), "/fd/", binary.file);
  binary.kernels =
      ascend::collectKernels([&] { binary.library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); });
  if (!binary.library) {
    error = dlerror();
    if (error.starts_with(path + ": "))
      error = error.substr(path.size() + 2);
  }
  return binary.library;
}

aclError checkOptions(const Call& call, const aclrtBinaryLoadOptions* options) {
  if (!options || options->numOpt == 0)
    return ACL_SUCCESS;
  if (!options->options)
    return call.invalid("options->options is null, but options->numOpt is not 0");
  for (size_t i = 0; i < options->numOpt; ++i) {
    int type = options->options[i].type;
    if (type == ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE)
      return call.fail(ACL_ERROR_FEATURE_UNSUPPORTED, "option ", i,
                       " is for kernels of AI CPUs, which the host does not model");
    if (type != ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD && type != ACL_RT_BINARY_LOAD_OPT_MAGIC)
      return call.invalid(joined("option ", i, " has the unknown type ", type));
  }
  return ACL_SUCCESS;
}

aclError load(const Call& call, const std::string& name, const char* data, size_t length,
              aclrtBinHandle* handle) {
  if (aclError code = checkWhole(call, name, {data, length}))
    return code;
  auto binary = std::make_shared<KernelBinary>();
  binary->name = name;
  std::string error;
  if (!openCopy(*binary, data, length, error))
    return call.fail(ACL_ERROR_INVALID_FILE, name, " cannot be loaded: ", error, howToMakeOne);
  if (binary->kernels.isOfOtherHeaders)
    return call.fail(ACL_ERROR_INVALID_FILE, name,
                     " was built with the headers of another version of the Ascend host; build it "
                     "again with this one's tilewright-ascendc");
  if (binary->kernels.signatures.empty())
    return call.fail(ACL_ERROR_INVALID_FILE, name, " holds no kernels that can be found by name",
                     howToMakeOne);
  *handle = KernelTables::instance().binaries.insert(binary);
  return ACL_SUCCESS;
}

const ascend::KernelSignature* signatureOf(const KernelBinary& binary,
                                           const ascend::Kernel& kernel) {
  for (auto [first, last] : binary.kernels.signatures)
    for (const ascend::KernelSignature* s = first; s != last; ++s)
      if (s->host == kernel.host)
        return s;
  return nullptr;
}

/// The kernels of a binary that can be called, each by the row of its default kind.
std::vector<const ascend::Kernel*> kernelsOf(const KernelBinary& binary) {
  std::vector<const ascend::Kernel*> found;
  for (auto [first, last] : binary.kernels.kernels)
    for (const ascend::Kernel* k = first; k != last; ++k)
      if (!k->isKeyed && signatureOf(binary, *k))
        found.push_back(k);
  return found;
}

std::string nameOf(const ascend::Kernel& kernel) {
  std::string name = sourceName(kernel.name);
  constexpr std::string_view result = "void "; // of a template
  return name.starts_with(result) ? name.substr(result.size()) : name;
}
/// A name as the linker has it fits, and one as the source has it: `ns::k<int>`, with or without parameters.
bool hasName(const ascend::Kernel& kernel, const std::string& wanted) {
  std::string name = nameOf(kernel);
  return kernel.name == wanted || name == wanted || name.starts_with(wanted + "(");
}

aclError makeFunction(aclrtBinHandle handle, const std::shared_ptr<KernelBinary>& binary,
                      const ascend::Kernel& kernel, uint64_t tilingKey, aclrtFuncHandle* made) {
  auto function = std::make_shared<KernelFunction>();
  function->binary = binary;
  function->binaryHandle = handle;
  function->kernel = &kernel;
  function->signature = signatureOf(*binary, kernel);
  function->tilingKey = tilingKey;
  function->name = nameOf(kernel);
  *made = KernelTables::instance().functions.insert(std::move(function));
  std::lock_guard lock(binary->mutex);
  binary->functions.push_back(*made);
  return ACL_SUCCESS;
}

std::shared_ptr<KernelBinary> findBinary(const Call& call, const void* handle, aclError& code) {
  KernelTables& tables = KernelTables::instance();
  std::shared_ptr<KernelBinary> binary = tables.binaries.find(handle);
  if (!binary)
    code = call.fail(ACL_ERROR_RT_INVALID_HANDLE,
                     tables.binaries.complaint("binHandle", handle, "a kernel binary"));
  return binary;
}

/// Names for a message.
std::string listed(const std::vector<const ascend::Kernel*>& kernels) {
  std::set<std::string> names;
  for (const ascend::Kernel* kernel : kernels)
    names.insert(nameOf(*kernel));
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

aclError getFunction(const Call& call, aclrtBinHandle binHandle, const char* kernelName,
                     aclrtFuncHandle* funcHandle) {
  if (!kernelName)
    return call.null("kernelName");
  if (!funcHandle)
    return call.null("funcHandle");
  aclError code = ACL_SUCCESS;
  std::shared_ptr<KernelBinary> binary = findBinary(call, binHandle, code);
  if (!binary)
    return code;
  std::vector<const ascend::Kernel*> all = kernelsOf(*binary), fitting;
  std::copy_if(all.begin(), all.end(), std::back_inserter(fitting),
               [&](const ascend::Kernel* k) { return hasName(*k, kernelName); });
  if (fitting.size() == 1)
    return makeFunction(binHandle, binary, *fitting[0], 0, funcHandle);
  if (fitting.empty())
    return call.fail(ACL_ERROR_KERNEL_NOT_FOUND, binary->name, " has no kernel '", kernelName,
                     "'; it has ", listed(all));
  return call.fail(ACL_ERROR_KERNEL_NOT_FOUND, binary->name, " has several kernels '", kernelName,
                   "': ", listed(fitting));
}

aclError getFunctionByEntry(const Call& call, aclrtBinHandle binHandle, uint64_t funcEntry,
                            aclrtFuncHandle* funcHandle) {
  if (!funcHandle)
    return call.null("funcHandle");
  aclError code = ACL_SUCCESS;
  std::shared_ptr<KernelBinary> binary = findBinary(call, binHandle, code);
  if (!binary)
    return code;
  std::vector<const ascend::Kernel*> all = kernelsOf(*binary);
  if (all.size() != 1)
    return call.fail(ACL_ERROR_KERNEL_NOT_FOUND, "a tiling key (", funcEntry,
                     ") names a function only where there is one kernel, but ", binary->name,
                     " has ", all.size(), ": ", listed(all));
  return makeFunction(binHandle, binary, *all[0], funcEntry, funcHandle);
}

aclError unload(const Call& call, aclrtBinHandle binHandle) {
  KernelTables& tables = KernelTables::instance();
  aclError code = ACL_SUCCESS;
  std::shared_ptr<KernelBinary> binary = findBinary(call, binHandle, code);
  if (!binary)
    return code;
  if (int launches = binary->launches)
    return call.invalid(joined("binHandle is in use: ", launches,
                               launches == 1 ? " of its launches has" : " of its launches have",
                               " not ended; synchronise their streams first"));
  tables.binaries.remove(binHandle);
  std::lock_guard lock(binary->mutex);
  for (void* handle : binary->argumentLists)
    tables.arguments.remove(handle);
  for (void* handle : binary->functions)
    tables.functions.remove(handle);
  return ACL_SUCCESS;
}

} // namespace
} // namespace tilewright::acl

using namespace tilewright::acl;

aclError aclrtBinaryLoadFromFile(const char* binPath, aclrtBinaryLoadOptions* options,
                                 aclrtBinHandle* binHandle) {
  return guarded("aclrtBinaryLoadFromFile", [&](const Call& call) -> aclError {
    if (!binPath)
      return call.null("binPath");
    if (!binHandle)
      return call.null("binHandle");
    if (aclError code = checkOptions(call, options))
      return code;
    std::ifstream in(binPath, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (!in || bytes.empty())
      return call.fail(ACL_ERROR_INVALID_FILE, "binPath '", binPath, "' cannot be read");
    return load(call, joined("'", binPath, "'"), bytes.data(), bytes.size(), binHandle);
  });
}

aclError aclrtBinaryLoadFromData(const void* data, size_t length,
                                 const aclrtBinaryLoadOptions* options, aclrtBinHandle* binHandle) {
  return guarded("aclrtBinaryLoadFromData", [&](const Call& call) -> aclError {
    if (!data)
      return call.null("data");
    if (length == 0)
      return call.invalid("length is 0");
    if (!binHandle)
      return call.null("binHandle");
    if (aclError code = checkOptions(call, options))
      return code;
    return load(call, "data", static_cast<const char*>(data), length, binHandle);
  });
}

aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle) {
  return guarded("aclrtBinaryUnLoad", [&](const Call& call) { return unload(call, binHandle); });
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, const char* kernelName,
                                aclrtFuncHandle* funcHandle) {
  return guarded("aclrtBinaryGetFunction", [&](const Call& call) {
    return getFunction(call, binHandle, kernelName, funcHandle);
  });
}

aclError aclrtBinaryGetFunctionByEntry(aclrtBinHandle binHandle, uint64_t funcEntry,
                                       aclrtFuncHandle* funcHandle) {
  return guarded("aclrtBinaryGetFunctionByEntry", [&](const Call& call) {
    return getFunctionByEntry(call, binHandle, funcEntry, funcHandle);
  });
}

aclError aclrtFunctionGetBinary(const aclrtFuncHandle funcHandle, aclrtBinHandle* binHandle) {
  return guarded("aclrtFunctionGetBinary", [&](const Call& call) -> aclError {
    if (!binHandle)
      return call.null("binHandle");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<KernelFunction> function = findFunction(call, funcHandle, code);
    if (function)
      *binHandle = function->binaryHandle;
    return code;
  });
}

aclError aclrtGetFunctionName(aclrtFuncHandle funcHandle, uint32_t maxLen, char* name) {
  return guarded("aclrtGetFunctionName", [&](const Call& call) -> aclError {
    if (!name)
      return call.null("name");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<KernelFunction> function = findFunction(call, funcHandle, code);
    if (!function)
      return code;
    if (function->name.size() >= maxLen)
      return call.invalid(joined("maxLen is ", maxLen, ", but '", function->name,
                                 "' and its end take ", function->name.size() + 1, " bytes"));
    std::memcpy(name, function->name.c_str(), function->name.size() + 1);
    return ACL_SUCCESS;
  });
}

aclError aclrtFunctionGetParamCount(const void* func, size_t* paramCount) {
  return guarded("aclrtFunctionGetParamCount", [&](const Call& call) -> aclError {
    if (!paramCount)
      return call.null("paramCount");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<KernelFunction> function = findFunction(call, func, code);
    if (function)
      *paramCount = function->signature->count;
    return code;
  });
}

aclError aclrtFunctionGetParamInfo(const void* func, size_t paramIndex, size_t* paramOffset,
                                   size_t* paramSize) {
  return guarded("aclrtFunctionGetParamInfo", [&](const Call& call) -> aclError {
    if (!paramOffset)
      return call.null("paramOffset");
    aclError code = ACL_SUCCESS;
    std::shared_ptr<KernelFunction> function = findFunction(call, func, code);
    if (!function)
      return code;
    if (paramIndex >= function->signature->count)
      return call.invalid(joined("paramIndex is ", paramIndex, ", but kernel '", function->name,
                                 "' has ", function->signature->count, " parameters"));
    size_t bytes = 0;
    *paramOffset = function->offsets(false, bytes)[paramIndex];
    if (paramSize)
      *paramSize = function->signature->parameters[paramIndex].size;
    return ACL_SUCCESS;
  });
}

aclrtBinary aclrtCreateBinary(const void* data, size_t dataLen) {
  aclrtBinary made = nullptr;
  guarded("aclrtCreateBinary", [&](const Call& call) -> aclError {
    if (!data)
      return call.null("data");
    if (dataLen == 0)
      return call.invalid("dataLen is 0");
    made = KernelTables::instance().binaryData.insert(
        std::make_shared<BinaryData>(BinaryData{static_cast<const char*>(data), dataLen}));
    return ACL_SUCCESS;
  });
  return made;
}

aclError aclrtDestroyBinary(aclrtBinary binary) {
  return guarded("aclrtDestroyBinary", [&](const Call& call) -> aclError {
    auto& table = KernelTables::instance().binaryData;
    if (!table.remove(binary))
      return call.fail(ACL_ERROR_RT_INVALID_HANDLE,
                       table.complaint("binary", binary, "data of a kernel binary"));
    return ACL_SUCCESS;
  });
}

aclError aclrtBinaryLoad(const aclrtBinary binary, aclrtBinHandle* binHandle) {
  return guarded("aclrtBinaryLoad", [&](const Call& call) -> aclError {
    if (!binHandle)
      return call.null("binHandle");
    auto& table = KernelTables::instance().binaryData;
    std::shared_ptr<BinaryData> object = table.find(binary);
    if (!object)
      return call.fail(ACL_ERROR_RT_INVALID_HANDLE,
                       table.complaint("binary", binary, "data of a kernel binary"));
    return load(call, "binary", object->data, object->length, binHandle);
  });
}
