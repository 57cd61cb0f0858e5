// SPDX-License-Identifier: Apache-2.0
/// The state of a KernelBuilder: the IR so far, what its handles stand for, the scopes that are
/// open, and the diagnostics. The rules themselves are in the files of KernelBuilder's methods.
#pragma once

#include "compiler/builder/constant.h"
#include "compiler/ir/tile.h"
#include "tilewright/builder.h"

#include "llvm/ADT/MapVector.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <deque>

namespace tilewright {

/// Handles are numbers of records; only the builder makes and reads them.
struct HandleAccess {
  static Value value(int64_t id, Dtype dtype) {
    Value handle;
    handle.id = id;
    handle.type = dtype;
    return handle;
  }
  static Buffer buffer(int64_t id) {
    Buffer handle;
    handle.id = id;
    return handle;
  }
  static int64_t id(Value value) {
    return value.id;
  }
  static int64_t id(Buffer buffer) {
    return buffer.id;
  }
};

namespace builder {

/// The advice beside what stands in no launch.
inline constexpr std::string_view kWorkInLaunch =
    "a kernel's work stands in a launch, `with T.Kernel(blocks, threads=128) as bx:`";

struct ValueRecord {
  mlir::Value ir;                   // null for a constant
  std::optional<Constant> constant; // a literal, if `isLiteral`
  bool isLiteral = false;
  bool isIndex = false;    // int32 for promotion, but of type `index` in the IR
  bool isInt32 = false;    // an index that T.cast made: what is computed with it is int32 indeed
  mlir::AffineExpr affine; // over symbols, where it is one: what a tensor's shape may be made of
  int64_t frame = 0;       // serial number of the scope that made it
  std::string name;        // of symbols, scalars and loop variables
  Place place;
};

struct BufferRecord {
  mlir::Value ir;
  Dtype dtype;
  tile::MemorySpace space = tile::MemorySpace::Global;
  std::string scope; // as the user wrote it
  std::string name;
  std::vector<Index> shape; // constants are integers
  bool isArgument = false;
  std::optional<Constant> safeValue = std::nullopt; // what reads past the ends give, instead of 0
  /// Of a tile: what goes into it from beyond a tensor's ends, if that was said.
  std::optional<Constant> padding = std::nullopt;
  bool holdsMask = false; ///< a tile of numbers whose first bytes a function took or made as a mask
  int64_t frame = 0;
  Place place;
};

enum class FrameKind {
  Function,
  Launch,
  Loop,
  Parallel,
  If,
  Else,
  WhileCondition,
  While,
  SelectTrue,
  SelectFalse,
  Agents // a T.Scope
};

/// An open scope.
struct Frame {
  FrameKind kind;
  int64_t serial;
  std::string name; // "loop over 'k'", for messages
  Place place;
  mlir::Operation* op = nullptr;         // null where an error forbade to make one
  mlir::Block* block = nullptr;          // where the scope's ops go
  Value whenTrue;                        // SelectFalse: the value of the other side
  bool isMerged = false;                 // Parallel: it was merged into the parallel loop around it
  mlir::Operation* lastMerged = nullptr; // Parallel: the last op when the merged inner loop ended
  bool hasMerged = false;
  bool hadEarlyExit = false; // Loop, While: the state's, before it
  bool isPoisoned = false;   // its condition or bounds were in error: no value comes out
};

/// Where T.annotate_safe_value holds: a launch, or a block in it.
struct SafeValueScope {
  llvm::DenseMap<mlir::Value, size_t> uses; // of tensors, before it began
  /// By the numbers of their records, what held before.
  std::vector<std::pair<size_t, std::optional<Constant>>> before;
};

struct MacroFrame {
  std::string name;
  Place callSite;
};

/// A call of libm's function that is wrong, unless the kernel turns out to have its own of that name.
struct DoubtfulCall {
  Place place;
  std::vector<MacroFrame> macros;
  std::string name, message;
};

class Construction {
public:
  Construction(std::string_view name, Place place);

  // Errors
  void report(Severity severity, std::string message, std::vector<Note> notes = {},
              Fault fault = Fault::Value);
  void error(std::string message, std::vector<Note> notes = {}) {
    report(Severity::Error, std::move(message), std::move(notes));
  }
  void typeError(std::string message, std::vector<Note> notes = {}) {
    report(Severity::Error, std::move(message), std::move(notes), Fault::Type);
  }
  void indexError(std::string message, std::vector<Note> notes = {}) {
    report(Severity::Error, std::move(message), std::move(notes), Fault::Index);
  }
  void stateError(std::string message, std::vector<Note> notes = {}) {
    report(Severity::Error, std::move(message), std::move(notes), Fault::State);
  }
  bool hasErrors() const;

  // Scopes
  Frame& push(FrameKind kind, std::string name, mlir::Operation* op, mlir::Block* block);
  /// Closes the innermost scope, which must be of the kind; an error if it isn't.
  std::optional<Frame> pop(FrameKind kind, std::string_view what);
  bool isOpen(int64_t serial) const;
  /// What is built behind this place in its scope counts on the condition.
  void promise(mlir::Value condition) {
    promises.push_back({condition, frames.back().serial});
  }
  /// The innermost open scope of the kind.
  const Frame* enclosing(FrameKind kind) const;
  bool isInLaunch() const {
    return enclosing(FrameKind::Launch) != nullptr;
  }
  /// Errors unless ops may stand here: inside a launch.
  bool requireLaunch(std::string_view what);
  /// Errors unless a tile operation may stand here: inside a launch, outside of parallel loops.
  bool requireTileScope(std::string_view what);
  void resumeAtInnermost();

  // Safe values
  void openSafeValues();
  void closeSafeValues();
  /// False if the tensor was used in this scope before.
  bool setSafeValue(BufferRecord& tensor, std::optional<Constant> value);

  // Records, of handles that are ours
  ValueRecord& record(Value value) {
    return values[indexOfId(HandleAccess::id(value))];
  }
  const ValueRecord& record(Value value) const {
    return values[indexOfId(HandleAccess::id(value))];
  }
  BufferRecord& record(Buffer buffer) {
    return buffers[indexOfId(HandleAccess::id(buffer))];
  }
  const BufferRecord& record(Buffer buffer) const {
    return buffers[indexOfId(HandleAccess::id(buffer))];
  }
  /// Whether this builder made the handle: a front end may have kept one of another kernel.
  bool isOurs(Value value) const {
    return HandleAccess::id(value) >> 32 == identity;
  }
  bool isOurs(Buffer buffer) const {
    return HandleAccess::id(buffer) >> 32 == identity;
  }
  Value add(mlir::Value ir, Dtype dtype, bool isIndex = false, std::string_view name = {});
  Value addConstant(Constant constant, Dtype dtype, bool isLiteral = false);
  Buffer add(BufferRecord record);
  /// False for poison, silently, and for what was made in a scope that has ended, with an error.
  bool isUsable(Value value);
  bool isUsable(Buffer buffer);
  bool isUsable(const Index& index);

  // Values
  std::optional<Constant> constantOf(Value value) const {
    return record(value).constant;
  }
  /// In its own dtype; `index` where it is one.
  mlir::Value toIr(Value value);
  /// Converted to a dtype; int32 is i32 even for an index.
  mlir::Value toIr(Value value, Dtype dtype);
  mlir::Value constantIr(Constant constant, mlir::Type type);
  mlir::Value convertIr(mlir::Value value, Dtype from, Dtype to);
  /// An index value that is an integer; an error otherwise ("a loop bound must be an integer, not
  /// float32").
  std::optional<Index> toIndex(const Index& index, std::string_view what);
  mlir::OpFoldResult foldResult(const Index& index);
  mlir::Value indexIr(const Index& index);
  Index indexOf(mlir::Value value);
  mlir::Value toBool(Value value);
  /// "64", "M", or "?" for messages.
  std::string text(const Index& index) const;
  std::string text(const std::vector<Index>& shape) const;
  bool isSame(const Index& left, const Index& right) const;
  /// Whether two extents are one, or the kernel alone knows one of them.
  bool mayBeSame(const Index& left, const Index& right) const;
  /// Whether two extents are one, or the kernel alone knows both.
  bool isCountedAs(const Index& left, const Index& right) const;
  Note allocatedHere(const BufferRecord& buffer) const;

  mlir::Location location() const;

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OpBuilder ir;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::string kernelName;
  Place kernelPlace;
  Place place;
  std::vector<Diagnostic> diagnostics;
  std::vector<Fault> faults; ///< of each of `diagnostics`
  std::vector<Frame> frames;
  std::vector<MacroFrame> macros;
  std::vector<SafeValueScope> safeValueScopes; // that are open
  /// Conditions that hold, or don't, where the value counts that is being built.
  std::vector<std::pair<mlir::Value, bool>> assumptions;
  /// What T.assume and assertions say, from there to the end of their scope.
  struct Promise {
    mlir::Value condition;
    int64_t frame;
  };
  std::vector<Promise> promises;
  std::vector<DoubtfulCall> doubtfulCalls;
  std::deque<ValueRecord> values;
  std::deque<BufferRecord> buffers;
  std::vector<mlir::NamedAttrList> argumentAttributes; // tensors and scalars
  std::vector<std::string> symbolNames;
  /// Of the scalars that extents hold: by the argument's number, the symbol's.
  llvm::MapVector<size_t, size_t> symbolOfScalar;
  struct Shape {
    size_t argument;
    std::vector<mlir::AffineExpr> dims, strides;
  };
  std::vector<Shape> argumentShapes;
  std::vector<Value> blockIds;
  bool hasLaunch = false;
  // Of the launch that is open, or was last:
  bool isNpu = false;
  mlir::Value deqScale; // what T.set_deq_scale gave last
  Place launchPlace;
  size_t threadDims = 0;
  bool isFinished = false;
  bool hasEarlyExit = false; // a break or continue was built: the rest of its loop may not run

private:
  std::unique_ptr<mlir::MLIRContext> makeContext();
  static size_t indexOfId(int64_t id) {
    return size_t(id & 0xFFFFFFFF);
  }
  int64_t idOf(size_t index) const {
    return (identity << 32) | int64_t(index);
  }
  int64_t identity; // the upper half of the ids of our handles
  int64_t nextSerial = 1;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
};

/// The attribute, or null.
const Attribute* find(const Attributes& attributes, const std::string& key);

/// Whether an attribute is there and true.
bool flag(const Attributes& attributes, const std::string& key);

/// What a call gave and no rule knows goes along with the op, for passes to read. A name that the op itself uses
/// is an error: `what` is the call, for the message. A dot, which MLIR keeps for dialects, becomes `_`.
void annotate(Construction& state, mlir::Operation* op, std::string_view what,
              const Attributes& attributes, std::initializer_list<std::string_view> handled);

/// Reports those whose functions the kernel's own sources don't have.
void checkDoubtfulCalls(Construction& state);

} // namespace builder

struct KernelBuilder::State : builder::Construction {
  using Construction::Construction;
};

} // namespace tilewright
