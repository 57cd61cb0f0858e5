// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/link_library.h"

#include "compiler/targets/cpu/elf_stub.h"
#include "compiler/targets/cpu/external_symbols.h"

#include <lld/Common/CommonLinkerContext.h>
#include <lld/Common/Driver.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Signals.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>
#include <set>

LLD_HAS_DRIVER(elf)

namespace tilewright::cpu {
namespace {

/// A fresh folder that is gone, with its files, at the end of the scope.
class TemporaryFolder {
public:
  TemporaryFolder() {
    // /dev/shm saves the disk a write of a file that lives for milliseconds.
    llvm::SmallString<64> prefix("/dev/shm/tilewright");
    valid = !llvm::sys::fs::createUniqueDirectory(prefix, path) ||
            !llvm::sys::fs::createUniqueDirectory("tilewright", path);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    if (valid)
      llvm::consumeError(llvm::errorCodeToError(llvm::sys::fs::remove_directories(path)));
  }

  std::string file(llvm::StringRef name) const {
    return (path + "/" + name).str();
  }

  bool write(const std::string& file, llvm::StringRef content) const {
    std::error_code error;
    llvm::raw_fd_ostream stream(file, error);
    if (error)
      return false;
    stream << content;
    stream.close();
    return !stream.has_error();
  }

  bool valid = false;

private:
  llvm::SmallString<128> path;
};

uint16_t machineOf(llvm::StringRef object) {
  return uint16_t(uint8_t(object[18])) | uint16_t(uint8_t(object[19])) << 8;
}

/// The libraries that the objects need, or nothing (and `problem`) if a symbol is not allowed.
std::optional<std::set<llvm::StringRef>> neededLibraries(llvm::ArrayRef<llvm::StringRef> objects,
                                                         std::string& problem) {
  std::set<llvm::StringRef> names;
  std::set<std::string> theirs = {"_GLOBAL_OFFSET_TABLE_"};
  for (llvm::StringRef object : objects.drop_front())
    for (std::string& symbol : definedSymbols(object))
      theirs.insert(std::move(symbol));
  for (llvm::StringRef object : objects)
    for (const std::string& symbol : undefinedSymbols(object)) {
      if (theirs.count(symbol) != 0)
        continue;
      const ExternalLibrary library = findExternalSymbol(symbol);
      if (library == ExternalLibrary::None) {
        problem = "emitted code calls '" + symbol + "', which no allowed library offers";
        return std::nullopt;
      }
      if (!sharedObjectName(library).empty())
        names.insert(sharedObjectName(library));
    }
  return names;
}

bool runLinker(llvm::ArrayRef<std::string> arguments, std::string& problem) {
  // LLD keeps its state in one global context.
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(argument.c_str());
  std::string output;
  llvm::raw_string_ostream stream(output);
  const bool linked = lld::elf::link(pointers, stream, stream, /*exitEarly=*/false,
                                     /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();
  // To remove its output if the process is killed, LLD has LLVM handle the signals. At the first
  // Ctrl-C that would put back what was there before, under the handlers that others (our runtime)
  // have set since.
  llvm::sys::unregisterHandlers();
  if (!linked)
    problem = "linking the kernel's library failed: " + llvm::StringRef(output).trim().str();
  return linked;
}

} // namespace

namespace {

/// The symbols for which `isWanted` holds of their flags, in the order of the symbol table.
template <typename IsWanted>
std::vector<std::string> symbolsOf(llvm::StringRef object, IsWanted isWanted) {
  std::vector<std::string> names;
  auto file =
      llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, "kernel.o"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return names;
  }
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (flags && name && isWanted(*flags) && !name->empty())
      names.push_back(name->str());
    if (!flags)
      llvm::consumeError(flags.takeError());
    if (!name)
      llvm::consumeError(name.takeError());
  }
  return names;
}

} // namespace

std::vector<std::string> undefinedSymbols(llvm::StringRef object) {
  return symbolsOf(
      object, [](uint32_t flags) { return (flags & llvm::object::SymbolRef::SF_Undefined) != 0; });
}

std::vector<std::string> definedSymbols(llvm::StringRef object) {
  return symbolsOf(object, [](uint32_t flags) {
    return (flags & llvm::object::SymbolRef::SF_Global) != 0 &&
           (flags & llvm::object::SymbolRef::SF_Undefined) == 0;
  });
}

std::optional<std::vector<char>> linkLibrary(llvm::StringRef object, std::string& problem,
                                             llvm::StringRef own) {
  const std::vector<llvm::StringRef> objects =
      own.empty() ? std::vector{object} : std::vector{object, own};
  auto needed = neededLibraries(objects, problem);
  if (!needed)
    return std::nullopt;
  TemporaryFolder folder;
  const std::string input = folder.file("kernel.o"), output = folder.file("kernel.so");
  const std::string ownInput = folder.file("own.o");
  if (!folder.valid || !folder.write(input, object) ||
      (!own.empty() && !folder.write(ownInput, own))) {
    problem = "cannot write a temporary file to link the kernel";
    return std::nullopt;
  }
  // No build id and no name of its own: the file's name is the caller's choice. .symtab stays, for
  // gdb and perf.
  std::vector<std::string> arguments = {"ld.lld", "-shared",
                                        // A kernel's own function goes before one of the process
                                        // that has its name.
                                        "-Bsymbolic", "--threads=1", "--hash-style=gnu",
                                        "--eh-frame-hdr", "--build-id=none", "-z", "relro", "-z",
                                        "noexecstack", "-o", output, input, "--no-as-needed"};
  if (!own.empty())
    arguments.push_back(ownInput);
  for (llvm::StringRef library : *needed) {
    const std::string stub = folder.file(library);
    folder.write(stub, makeElfStub(library, machineOf(object)));
    arguments.push_back(stub);
  }
  if (!runLinker(arguments, problem))
    return std::nullopt;
  auto linked = llvm::MemoryBuffer::getFile(output);
  if (!linked) {
    problem = "cannot read back the linked kernel: " + linked.getError().message();
    return std::nullopt;
  }
  llvm::StringRef bytes = (*linked)->getBuffer();
  return std::vector<char>(bytes.begin(), bytes.end());
}

} // namespace tilewright::cpu
