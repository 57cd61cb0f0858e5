// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/report_calls.h"

#include "compiler/ir/npu_ops.h"
#include "compiler/ir/place_of.h"

#include <llvm/ADT/StringExtras.h>

using namespace mlir;

namespace tilewright::ascend {

/// Whether a compiler speaks of a function, or of a namespace that it should be in: `tools` or `affine` of
/// tools::affine<float>.
static bool isNamedIn(StringRef words, StringRef callee) {
  callee = callee.take_until([](char letter) { return letter == '<'; });
  return llvm::any_of(llvm::split(callee, "::"), [&](StringRef name) {
    return !name.empty() && words.contains("'" + name.str());
  });
}

/// What `file.py:12:3: error: words` says of a call in line 12 of that file that is named in it;
/// empty of all else.
static StringRef errorOf(npu::CallOp call, StringRef line) {
  const auto [place, words] = line.split(": error: ");
  const Place called = placeOf(call.getLoc());
  StringRef column = place;
  const bool isHere = called.isKnown() &&
                      column.consume_front(called.file + ":" + std::to_string(called.line)) &&
                      (column.empty() || column[0] == ':');
  return isHere && isNamedIn(words, call.getCallee()) ? words : StringRef();
}

/// Why no function of that name is the one, as the compiler's notes behind an error say of each: `requires 4
/// arguments, but 2 were provided`. Empty if they don't.
static std::string reasons(StringRef notes) {
  SmallVector<StringRef> found;
  for (StringRef line : llvm::split(notes, '\n')) {
    if (line.contains(": error: "))
      break;
    const StringRef note = line.split(": note: ").second;
    StringRef why = note.split(" not viable: ").second;
    if (why.empty()) // of a template
      why = note.split(" ignored: ").second;
    if (note.starts_with("candidate ") && !why.empty() && !llvm::is_contained(found, why))
      found.push_back(why);
  }
  return (found.empty() ? "" : ": ") + llvm::join(found, "; or ");
}

bool reportCalls(func::FuncOp kernel, StringRef output) {
  bool found = false;
  kernel.walk([&](npu::CallOp call) {
    for (StringRef line : llvm::split(output, '\n')) {
      const StringRef words = errorOf(call, line);
      if (words.empty())
        continue;
      const bool isUndeclared =
          words.contains("undeclared") || words.contains("no member") || words.contains("no type");
      call.emitError() << "the call of '" << call.getCallee() << "' does not compile: " << words
                       << reasons(output.drop_front(size_t(line.end() - output.begin())))
                       << (isUndeclared ? "; T.import_source gives a kernel functions of its own"
                                        : "");
      found = true;
      return;
    }
  });
  return found;
}

} // namespace tilewright::ascend
