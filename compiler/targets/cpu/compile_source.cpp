// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/compile_source.h"

#include "compiler/ir/thread_ops.h"
#include "compiler/targets/cpu/external_symbols.h"
#include "compiler/targets/cpu/link_library.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/ObjCopy/ConfigManager.h>
#include <llvm/ObjCopy/ObjCopy.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Process.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

namespace tilewright::cpu {
namespace {

using namespace llvm;

std::optional<std::string> findCompiler(bool isCpp) {
  if (auto chosen = sys::Process::GetEnv("TILEWRIGHT_CC"))
    return chosen;
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
      valid = !sys::Process::SafelyCloseFileDescriptor(file);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (valid)
      llvm::consumeError(llvm::errorCodeToError(sys::fs::remove(path)));
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

/// The object that the compiler makes of the text, which may define functions in `own` that aren't
/// those of C's library.
std::optional<std::string> runCompiler(StringRef text, ArrayRef<std::string> own,
                                       std::string& problem) {
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
  std::vector<StringRef> arguments = {
      *compiler,         "-c", "-O2", "-fPIC",     "-fno-stack-protector",
      "-fno-math-errno", "-w", "-o",  object.path, source.path};
  std::vector<std::string> options;
  for (const std::string& name : own)
    options.push_back("-fno-builtin-" + name);
  arguments.insert(arguments.end(), options.begin(), options.end());
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
  return object.content();
}

/// Those of the functions that mean something to LLVM, or that it calls itself.
std::vector<std::string> namesOfLibraries(ArrayRef<std::string> functions) {
  const Triple triple(sys::getProcessTriple());
  const TargetLibraryInfoImpl library(triple);
  std::vector<std::string> found;
  for (const std::string& name : functions)
    if (LibFunc known;
        library.getLibFunc(name, known) || findExternalSymbol(name) != ExternalLibrary::None)
      found.push_back(name);
  return found;
}

/// The object with other names for these functions, where they are defined and where they are called.
std::optional<std::string> hide(StringRef object, ArrayRef<std::string> names,
                                std::string& problem) {
  objcopy::ConfigManager config;
  std::vector<std::string> hidden;
  for (const std::string& name : names)
    hidden.push_back(hiddenName(name));
  for (auto [name, other] : zip(names, hidden))
    config.Common.SymbolsToRename[name] = other;
  auto file = object::ObjectFile::createObjectFile(MemoryBufferRef(object, "own.o"));
  SmallString<0> bytes;
  raw_svector_ostream stream(bytes);
  Error error = file ? objcopy::executeObjcopyOnBinary(config, **file, stream) : file.takeError();
  if (error) {
    problem =
        "cannot rename functions of the source of T.import_source: " + toString(std::move(error));
    return std::nullopt;
  }
  return bytes.str().str();
}

} // namespace

std::string importedSource(mlir::func::FuncOp kernel) {
  std::string text;
  if (auto sources = kernel->getAttrOfType<mlir::ArrayAttr>("ascend.sources"))
    for (mlir::Attribute source : sources)
      text += cast<mlir::StringAttr>(source).getValue().str() + "\n";
  return text;
}

std::string hiddenName(StringRef name) {
  return ("tilewright_own_" + name).str();
}

std::optional<OwnCode> compileSource(StringRef text, const Machine& machine, std::string& problem) {
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
  OwnCode own;
  std::optional<std::string> object = runCompiler(text, {}, problem);
  if (object) {
    own.functions = definedSymbols(*object);
    own.hidden = namesOfLibraries(own.functions);
  }
  // Once more, so that the source's own calls aren't folded as if they were the library's.
  if (object && !own.hidden.empty()) {
    object = runCompiler(text, own.hidden, problem);
    if (object)
      object = hide(*object, own.hidden, problem);
  }
  if (!object || !needsNothingElse(*object, problem))
    return std::nullopt;
  own.object = std::move(*object);
  return own;
}

void callHidden(mlir::ModuleOp module, const OwnCode& own) {
  StringSet<> hidden;
  hidden.insert_range(own.hidden);
  module.walk([&](tile::CallOp call) {
    if (hidden.contains(call.getCallee()))
      call.setCallee(hiddenName(call.getCallee()));
  });
}

} // namespace tilewright::cpu
