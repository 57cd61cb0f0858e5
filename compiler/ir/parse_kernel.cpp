// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/parse_kernel.h"

#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/cuda_ops.h"
#include "compiler/ir/dialect.h"
#include "compiler/ir/npu_ops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace tilewright::ir {

static constexpr size_t kMaxTextBytes = size_t(64) << 20;
static constexpr size_t kMaxNesting = 128;
/// Operators of one affine map: each is a level of recursion.
static constexpr size_t kMaxAffineOperators = 256;

void registerDialects(DialectRegistry& registry) {
  registry.insert<tile::TileDialect, ascend::AscendDialect, cuda::CudaDialect, npu::NpuDialect,
                  arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect>();
}

namespace {

/// Walks the text once, without understanding more of it than strings, comments and brackets.
class NestingScanner {
public:
  explicit NestingScanner(StringRef text) : text(text) {}

  std::optional<std::string> run() {
    for (; position < text.size(); ++position) {
      char c = text[position];
      if (c == '\n') {
        ++line;
      } else if (c == '"') {
        skipString();
      } else if (c == '/' && text.substr(position).starts_with("//")) {
        skipComment();
      } else if (StringRef("([{<").contains(c)) {
        if (isIndexArray())
          return "an array of index cannot be read" + place();
        open();
      } else if (StringRef(")]}>").contains(c)) {
        close(c);
      } else if (affineDepth != 0 && StringRef("+-*").contains(c) && !isArrow() &&
                 ++affineOperators > kMaxAffineOperators) {
        return "an affine map has more than " + std::to_string(kMaxAffineOperators) + " operators" +
               place();
      } else if (affineDepth != 0 && isWordOperator() && ++affineOperators > kMaxAffineOperators) {
        return "an affine map has more than " + std::to_string(kMaxAffineOperators) + " operators" +
               place();
      }
      if (position < text.size() && !llvm::isSpace(text[position]))
        codeEnd = position + 1;
      if (depth > kMaxNesting)
        return "brackets nest deeper than " + std::to_string(kMaxNesting) + place();
    }
    return std::nullopt;
  }

private:
  std::string place() const {
    return ", line " + std::to_string(line);
  }

  bool isArrow() const {
    return text.substr(position).starts_with("->");
  }

  bool isWordOperator() const {
    StringRef rest = text.substr(position);
    return rest.starts_with("mod") || rest.starts_with("floordiv") || rest.starts_with("ceildiv");
  }

  /// `array<index: ...>`: MLIR 22 takes the width of index there, which it does not have, and crashes.
  bool isIndexArray() const {
    if (text[position] != '<' || !text.take_front(codeEnd).ends_with("array"))
      return false;
    StringRef rest = text.substr(position + 1).ltrim();
    while (rest.consume_front("//"))
      rest = rest.drop_until([](char c) { return c == '\n'; }).ltrim();
    return rest.starts_with("index");
  }

  void skipString() {
    for (++position; position < text.size() && text[position] != '"' && text[position] != '\n';
         ++position)
      if (text[position] == '\\')
        ++position;
    if (position < text.size() && text[position] == '\n')
      ++line;
  }

  void skipComment() {
    while (position < text.size() && text[position] != '\n')
      ++position;
    ++line;
  }

  void open() {
    StringRef before = text.take_front(codeEnd);
    if (text[position] == '<' && affineDepth == 0 &&
        (before.ends_with("affine_map") || before.ends_with("affine_set"))) {
      affineDepth = depth + 1;
      affineOperators = 0;
    }
    ++depth;
  }

  /// A closing bracket without an opening one is left to the parser's own message.
  void close(char c) {
    bool isArrowOrComparison = c == '>' && (text.take_front(position).ends_with("-") ||
                                            text.substr(position).starts_with(">="));
    if (isArrowOrComparison || depth == 0)
      return;
    if (affineDepth == depth)
      affineDepth = 0;
    --depth;
  }

  StringRef text;
  size_t position = 0;
  size_t line = 1;
  /// Where the last character before this one ends that is neither space nor comment.
  size_t codeEnd = 0;
  size_t depth = 0;
  /// The depth inside of the current affine map's `<`, or 0.
  size_t affineDepth = 0;
  size_t affineOperators = 0;
};

} // namespace

std::optional<std::string> refuseText(StringRef text) {
  if (text.size() > kMaxTextBytes)
    return "the IR has " + std::to_string(text.size()) + " bytes but at most " +
           std::to_string(kMaxTextBytes) + " are read, line 1";
  return NestingScanner(text).run();
}

OwningOpRef<ModuleOp> parseKernel(StringRef text, MLIRContext& context, StringRef name) {
  if (std::optional<std::string> reason = refuseText(text)) {
    emitError(FileLineColLoc::get(&context, name, 1, 1)) << *reason;
    return {};
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, name), {});
  return parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
}

} // namespace tilewright::ir
