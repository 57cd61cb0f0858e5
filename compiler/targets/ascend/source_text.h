// SPDX-License-Identifier: Apache-2.0
/// Ascend C as it grows: lines with indentation, names, and where each line comes from.
#pragma once

#include "compiler/ir/dialect.h"
#include "tilewright/place.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

#include <string>

namespace tilewright::ascend {

/// An expression of C++, and how tightly its outermost operator binds.
struct Expression {
  std::string text;
  int precedence = kAtom;

  static constexpr int kAtom = 100, kProduct = 80, kSum = 70, kShift = 60, kRelation = 50,
                       kEquality = 45, kAnd = 40, kXor = 35, kOr = 30, kBoth = 28, kEither = 26,
                       kChoice = 20;
  /// In brackets if its operator binds less than `least`.
  std::string within(int least) const {
    return precedence < least ? "(" + text + ")" : text;
  }
};

/// How the text names the kernel's lines.
enum class LineStyle {
  Comments,   ///< `// gemm.py:12`, for people
  Directives, ///< `#line 12 "gemm.py"`, so that the host's findings name the kernel's lines
};

class SourceText {
public:
  explicit SourceText(LineStyle style);

  /// One line; empty: a blank one.
  void line(const std::string& text = "");
  void open(const std::string& text) {
    beginNames();
    openBegun(text);
  }
  /// What `open` does, in two steps, for a bracket whose head has a name of its own.
  void beginNames() {
    scopes.push_back(history.size());
  }
  void openBegun(const std::string& text) {
    line(text);
    ++depth;
  }
  /// Brackets stand for no line of the kernel; names of what they hold are free again.
  void close(const std::string& text = "}") {
    --depth;
    endNames();
    write(text);
  }
  void openElse() {
    write("else {");
    beginNames();
    ++depth;
  }
  /// What follows comes from this place: a comment says so where that differs from what came
  /// before, a directive where the compiler would count a line of the text as another one.
  void at(mlir::Location location);

  /// A name that is like `wanted` and free; never one of C++'s or of our headers.
  std::string freshName(llvm::StringRef wanted) {
    return nameLike(wanted, /*isOwn=*/false);
  }
  /// The same for what has no name in the kernel: never one that the kernel has anywhere.
  std::string ownName(llvm::StringRef wanted) {
    return nameLike(wanted, /*isOwn=*/true);
  }
  /// No name of the text's own from here on.
  void reserve(llvm::StringRef name) {
    taken[name] = 1;
  }
  /// The kernel calls something so.
  void keep(llvm::StringRef name);
  /// How the text calls a function: `tilewright::power` for one of device/ascend whose name the kernel has, too.
  std::string function(llvm::StringRef name) const;

  void bind(mlir::Value value, Expression expression) {
    values[value] = std::move(expression);
  }
  void bindName(mlir::Value value, std::string name) {
    values[value] = {std::move(name), Expression::kAtom};
  }
  const Expression* find(mlir::Value value) const {
    auto found = values.find(value);
    return found == values.end() ? nullptr : &found->second;
  }
  /// The expression of a value that was bound.
  const Expression& expression(mlir::Value value) const;
  /// Its text, to stand between commas.
  std::string text(mlir::Value value) const {
    return expression(value).text;
  }

  bool isForHost() const {
    return style == LineStyle::Directives;
  }

  /// The variable that a division by 0 sets from here on, which gives 1 then; else it is a fault.
  void setZeroFlag(std::string name) {
    flag = std::move(name);
  }
  /// Empty: there is none.
  const std::string& zeroFlag() const {
    return flag;
  }
  std::string take() {
    return std::move(result);
  }

private:
  void write(const std::string& text);
  std::string nameLike(llvm::StringRef wanted, bool isOwn);
  void take(llvm::StringRef name, int count);
  void endNames();
  /// Has the next line of the text counted as the kernel's line that `at` said.
  void countAsCurrent();

  LineStyle style;
  std::string result;
  std::string flag;
  int depth = 0;
  Place current;              ///< the line of the kernel that `at` said last
  Place counted;              ///< what the compiler takes the next line of the text for
  llvm::StringMap<int> taken; ///< names, and how many ask for each
  llvm::StringSet<> kept;     ///< names that the kernel has
  std::vector<std::pair<std::string, int>> history; ///< of `taken`: what stood there before
  std::vector<size_t> scopes;                       ///< where each open bracket's history begins
  llvm::DenseMap<mlir::Value, Expression> values;
};

/// Words of the user's as they stand in a string of C++ that is a format: `50%` becomes `50%%`;
/// a NUL, at which a format would end, the words `\0`.
std::string inFormat(llvm::StringRef words);

/// `half`, `float`, `int8_t`, ...: of a scalar or of a buffer's elements; empty if Ascend C has
/// none.
std::string cppType(mlir::Type type);

} // namespace tilewright::ascend
