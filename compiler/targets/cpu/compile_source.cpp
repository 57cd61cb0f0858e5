// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/compile_source.h"

#include "compiler/targets/cpu/external_symbols.h"
#include "compiler/targets/cpu/link_library.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Process.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/raw_ostream.h>

namespace tilewright::cpu {
namespace {

using namespace llvm;

std::optional<std::string> findCompiler(bool isCpp) {
  if (auto chosen = sys::Process::GetEnv("TILEWRIGHT_CC"))
    return *chosen;
  constexpr StringLiteral ofC[] = {"clang", "clang-22", "cc", "gcc"};
  constexpr StringLiteral ofCpp[] = {"clang++", "clang++-22", "c++", "g++"};
  for (StringRef name : isCpp ? ofCpp : ofC)
    if (ErrorOr<std::string> found = sys::findProgramByName(name))
      return *found;
  return std::nullopt;
}

/// A file that is gone at the end of the scope.
class TemporaryFile {
public:
  explicit TemporaryFile(StringRef suffix) {
    int file = -1;
    valid = !sys::fs::createTemporaryFile("tilewright", suffix, file, path);
    if (valid)
      sys::Process::SafelyCloseFileDescriptor(file);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (valid)
      (void)sys::fs::remove(path);
  }

  std::string content() const {
    auto buffer = MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

  SmallString<128> path;
  bool valid = false;
};

/// The first line that tells of an error, without the temporary file's name.
std::string firstError(StringRef messages, StringRef path) {
  SmallVector<StringRef> lines;
  messages.split(lines, '\n');
  for (StringRef line : lines)
    if (line.contains("error:")) {
      line.consume_front(path);
      return ("source" + line).str();
    }
  return messages.take_front(200).trim().str();
}

bool needsNothingElse(StringRef object, std::string& problem) {
  for (const std::string& symbol : undefinedSymbols(object))
    if (symbol != "_GLOBAL_OFFSET_TABLE_" && findExternalSymbol(symbol) == ExternalLibrary::None) {
      problem =
          "the source of T.import_source calls '" + symbol +
          "', which kernels on the cpu target cannot: they have libm, memcpy, memset and printf";
      return false;
    }
  return true;
}

} // namespace

std::string importedSource(mlir::func::FuncOp kernel) {
  std::string text;
  if (auto sources = kernel->getAttrOfType<mlir::ArrayAttr>("ascend.sources"))
    for (mlir::Attribute source : sources)
      text += cast<mlir::StringAttr>(source).getValue().str() + "\n";
  return text;
}

std::optional<std::string> compileSource(StringRef text, const Machine& machine,
                                         std::string& problem) {
#if defined(__x86_64__)
  constexpr bool isHostX86 = true;
#else
  constexpr bool isHostX86 = false;
#endif
  if (machine.isX86 != isHostX86) {
    problem =
        "T.import_source is for kernels that run on this machine, not for '" + machine.name + "'";
    return std::nullopt;
  }
  const bool isCpp = text.contains("extern \"C\"");
  std::optional<std::string> compiler = findCompiler(isCpp);
  if (!compiler) {
    problem = "T.import_source needs a C compiler: clang or gcc, or the one in TILEWRIGHT_CC";
    return std::nullopt;
  }
  const TemporaryFile source(isCpp ? "cpp" : "c"), object("o"), messages("txt");
  std::error_code error;
  {
    raw_fd_ostream stream(source.path, error);
    if (!error)
      stream << text;
  }
  if (error || !source.valid || !object.valid || !messages.valid) {
    problem = "cannot write a temporary file for the source of T.import_source";
    return std::nullopt;
  }
  const std::vector<StringRef> arguments = {
      *compiler,         "-c", "-O2", "-fPIC",     "-fno-stack-protector",
      "-fno-math-errno", "-w", "-o",  object.path, source.path};
  const std::optional<StringRef> redirects[] = {StringRef(""), StringRef(messages.path),
                                                StringRef(messages.path)};
  std::string failure;
  const int status = sys::ExecuteAndWait(*compiler, arguments, std::nullopt, redirects,
                                         /*SecondsToWait=*/60, 0, &failure);
  if (status != 0) {
    problem = "the source of T.import_source does not compile: " +
              (failure.empty() ? firstError(messages.content(), source.path) : failure);
    return std::nullopt;
  }
  std::string bytes = object.content();
  return needsNothingElse(bytes, problem) ? std::optional(std::move(bytes)) : std::nullopt;
}

} // namespace tilewright::cpu
