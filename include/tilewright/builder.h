// SPDX-License-Identifier: Apache-2.0
/// The kernel builder: every construct of the tile language as one call. It is the one place that
/// knows the language's rules (extents of a copy, dtype promotion, what may nest in what), and both
/// front ends, Python and `tilewright/language.h`, are thin layers over it.
///
/// Errors never throw: a wrong call records a Diagnostic with the place given by `at`, and returns
/// a poisoned handle (`isPoison()`); a call with a poisoned operand is silent and returns poison,
/// so that one mistake gives one message. `finish` returns nothing if any error was recorded.
///
/// No MLIR type appears here. Handles are small, copyable, and valid as long as their builder (or
/// the kernel that it finished).
#pragma once

#include "tilewright/dtype.h"
#include "tilewright/place.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright {

class KernelBuilder;
class KernelModule;
struct HandleAccess; // the builder's own way into its handles

/// A scalar of the kernel: an IR value, or a constant that folds. Loop variables and block ids have
/// dtype int32 for promotion, but are computed in 64 bits.
class Value {
public:
  Value() = default;
  bool isPoison() const {
    return id < 0;
  }
  Dtype dtype() const {
    return type;
  }

private:
  friend struct HandleAccess;
  int64_t id = -1;
  Dtype type;
};

/// A buffer of the kernel: a tensor argument, an allocation, or a view of one.
class Buffer {
public:
  Buffer() = default;
  bool isPoison() const {
    return id < 0;
  }

private:
  friend struct HandleAccess;
  int64_t id = -1;
};

/// An integer that may be known now or only in the kernel.
using Index = std::variant<int64_t, Value>;

/// A rectangular part of a buffer. `extents` is empty for an element load `A[i, j]`, which in a
/// copy means "the tile that starts here" and takes the extents of the other side
/// (reference/tilelang.md 1.5). An extent of 1 with `dropped` true came from an integer index
/// beside slices.
struct Region {
  Buffer buffer;
  std::vector<Index> offsets;
  std::vector<Index> extents;
  std::vector<bool> dropped;
};
using Operand = std::variant<Buffer, Region>;
/// An argument of a function on tiles: a tile or a scalar.
using TileArgument = std::variant<Buffer, Region, Value>;

/// Keyword arguments that a call passes on as attributes, e.g. {"num_stages", 3}.
using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;
using Attributes = std::map<std::string, Attribute>;

enum class LoopKind { Serial, Unroll, Vectorized, Pipelined, Persistent };

/// A kind of wrong use, for front ends whose language has a class for each: a value, a dtype or kind of
/// operand, an index, or the state that the kernel is in.
enum class Fault { Value, Type, Index, State };

class KernelBuilder {
public:
  explicit KernelBuilder(std::string_view name, Place place = {});
  ~KernelBuilder();
  KernelBuilder(KernelBuilder&&) noexcept;
  KernelBuilder& operator=(KernelBuilder&&) noexcept;

  /// Sets the place of all that follows.
  void at(Place place);
  const Place& place() const;
  /// Pushes and pops the call site of an inlined macro: errors inside show both places.
  void enterMacro(std::string_view name, Place callSite);
  void leaveMacro();

  // Errors
  void error(std::string message, std::vector<Note> notes = {});
  const std::vector<Diagnostic>& diagnostics() const;
  /// Of each of `diagnostics`, what kind of wrong use it is.
  const std::vector<Fault>& faults() const;
  bool hasErrors() const;

  // Arguments, in the order of the signature
  /// An integer that is bound from the shapes (or strides) of the arguments at each call.
  Value symbol(std::string_view name, Dtype dtype);
  /// Row-major unless `strides` (in elements) is given.
  Buffer tensor(std::string_view name, std::span<const Index> shape, Dtype dtype,
                std::span<const Index> strides = {}, std::string_view scope = "global");
  Value scalar(std::string_view name, Dtype dtype);
  /// An address: a tensor given for it must have elements of `pointee`, if that is said.
  Value pointer(std::string_view name, std::optional<Dtype> pointee = std::nullopt);

  // Launch
  /// Opens the kernel body; gives one block id per grid extent. `threads` has 1 to 3 entries.
  std::vector<Value> beginLaunch(std::span<const Index> grid, std::span<const Index> threads,
                                 const Attributes& attributes = {});
  void endLaunch();
  Value threadBinding(int dim);
  /// What thread `lane` of the warp passes in, or for "xor", "up" and "down" the one at that
  /// distance; "index" otherwise. Lanes are grouped by `width`.
  Value shuffle(std::string_view kind, Value value, Value lane, int64_t width = 32);
  /// kind: any all (of a warp or block), ballot (of a warp: uint64), count (of a block: int32).
  Value vote(std::string_view kind, std::string_view scope, Value condition);
  Value blockBinding(int dim);

  // Memory
  /// Scopes: shared, fragment, local, global (workspace); Ascend: L1, L0A, L0B, L0C, UB.
  Buffer alloc(std::span<const int64_t> shape, Dtype dtype, std::string_view scope,
               std::string_view name);
  /// A mutable scalar of a thread (or a block, outside thread code).
  Buffer allocVar(Dtype dtype, std::optional<Value> init, std::string_view name);
  Buffer view(Buffer source, std::span<const Index> shape, Dtype dtype);
  /// Global memory at an address (an integer of 64 bits), row-major unless `strides` is given.
  /// Nothing is checked about it.
  Buffer tensorAt(Value address, std::span<const Index> shape, Dtype dtype,
                  std::span<const Index> strides, std::string_view name);
  /// The address of an element, as uint64.
  Value address(Buffer buffer, std::span<const Index> indices);
  int rank(Buffer buffer) const;
  std::vector<Index> shape(Buffer buffer) const;
  Dtype dtype(Buffer buffer) const;
  std::string scope(Buffer buffer) const;
  std::string name(Buffer buffer) const;

  /// The byte offset of an allocation in its memory, as an expert chose it.
  void annotateAddress(Buffer buffer, int64_t bytes);
  /// The order of an L1 tile's elements, as an expert chose it: zn, nz or col_major.
  void annotateLayout(Buffer buffer, std::string_view layout);
  /// What copies and single reads give past the ends of a tensor, instead of 0: a constant that its dtype holds.
  /// Stands before the first use of the tensor in its launch or block, to whose end it holds.
  void annotateSafeValue(Buffer buffer, Value value);
  /// What copies and stores of a tensor's elements to a tile put there from beyond the tensor's ends. Of a tensor, as
  /// annotateSafeValue.
  void annotatePadding(Buffer buffer, Value value);
  /// A block of a launch, in which nothing else changes.
  void beginBlock();
  void endBlock();
  /// The tensor may overlap others in part: a call isn't refused for that. Of no meaning for what isn't an argument.
  void annotateOverlaps(Buffer tensor);
  /// Iterations of a parallel loop may combine elements of the tile with what they have, by `op`: sum max min
  /// bitand bitor bitxor. Written as q[i] = q[i] + x, this is no race.
  void annotateReducer(Buffer tile, std::string_view op);
  /// As `alloc`, of a tile of the block whose extents need not be known while building: they are integers, symbols,
  /// scalar arguments, or made of these. Of scope shared or fragment, which are one here.
  Buffer allocSized(std::span<const Index> shape, Dtype dtype, std::string_view scope,
                    std::string_view name = {});
  /// Whether an index is known to be negative always, as the bounds of loops, the branches around, and what was
  /// promised or asserted tell: then it counts from the end.
  bool isNegative(const Index& index) const;
  /// Whether an index is known to be 0 or more always.
  bool isNeverNegative(const Index& index) const;
  /// Whether the store that was just built ends such an update.
  bool endsUpdate() const;

  // Scalars
  Value constant(bool value);
  /// Without a dtype, a literal: an integer takes the dtype of the operand that it meets (int32 or
  /// int64 if alone), a real number is float32 (float64 beside one).
  Value constant(int64_t value, std::optional<Dtype> dtype = {});
  /// A literal that may lie beyond int64: it is a uint64 then, and meets no integer of another dtype.
  Value constant(uint64_t value);
  Value constant(double value, std::optional<Dtype> dtype = {});
  /// The value of an integer or bool that is known while building.
  std::optional<int64_t> constantValue(Value value) const;
  /// Whether any value is known while building, a real one, too.
  bool isConstant(Value value) const;
  /// add sub mul div floordiv floormod truncdiv truncmod ceildiv min max pow shl shr and or xor,
  /// lt le gt ge eq ne, logical_and logical_or, fmod atan2 copysign; dtypes are promoted by the
  /// language's rules (compiler/builder/promotion.h).
  Value binary(std::string_view op, Value left, Value right);
  /// neg not abs exp exp2 exp10 log log2 log10 log1p expm1 sqrt rsqrt sigmoid tanh sinh cosh sin
  /// cos tan asin acos atan asinh acosh atanh erf floor ceil round nearbyint trunc isnan isinf
  /// isfinite logical_not popcount clz.
  Value unary(std::string_view op, Value operand);
  /// x * y + z, rounded once where their common dtype is a float of 16 bits or more, which literals take; else as
  /// `binary` multiplies and adds.
  Value fma(Value x, Value y, Value z);
  Value cast(Value value, Dtype dtype);
  /// The value of the same bits in another dtype of equal width.
  Value reinterpret(Value value, Dtype dtype);
  /// Both values are computed. For a lazy choice (if_then_else, `a if c else b`, `and`, `or`): what
  /// is built between `beginSelect` and `elseSelect` runs only where the condition is true, what
  /// follows up to `endSelect` only where it is false.
  Value select(Value condition, Value whenTrue, Value whenFalse);
  /// What is built up to the end, in any case, counts only where the condition is what `holds` says: a side of `select`.
  /// Then an index may be negative there always, and count from the end.
  void beginAssumption(Value condition, bool holds);
  void endAssumption();
  void beginSelect(Value condition);
  void elseSelect(Value whenTrue);
  Value endSelect(Value whenFalse);
  Value load(Buffer buffer, std::span<const Index> indices);
  void store(Buffer buffer, std::span<const Index> indices, Value value);
  /// What the kernel's author calls a value that has no name yet: text that people read keeps it.
  void nameValue(Value value, std::string_view name);

  // Tile operations: shapes, dtypes and scopes are checked here
  /// `pad` is what lies outside of a global source; 0 if absent.
  void copy(const Operand& source, const Operand& target, const Attributes& attributes = {},
            std::optional<Value> pad = {});
  /// `name` is what the call is written as, for messages.
  void fill(const Operand& target, Value value, std::string_view name = "T.fill");
  /// C += op(A) op(B); `clear_accum` may be a value.
  void gemm(const Operand& a, const Operand& b, const Operand& c, bool transposeA, bool transposeB,
            Index clearAccum = int64_t{0}, const Attributes& attributes = {});
  /// kind: sum max min abssum absmax bitand bitor bitxor. `realShape`: only so many elements of each
  /// of the last dims take part, from the first on; 0 means all.
  void reduce(std::string_view kind, const Operand& source, const Operand& target, int64_t dim,
              bool clear, const Attributes& attributes = {}, std::span<const Index> realShape = {});
  void scan(std::string_view kind, const Operand& source, const Operand& target, int64_t dim,
            bool reverse);
  /// T.tile.<function>(target, arguments...): an element-wise nest over the target. Tiles have the
  /// target's extents or as many elements, or are broadcast: one number per row ([rows] or
  /// [rows, 1]) or per column ([1, columns]). Attributes: `count` (only so many elements), `mode`
  /// (of `cast`, `compare`, `select`), `axis` (of `broadcast`). The nest carries the function's
  /// name, so that a target may use an instruction for it. docs/dialects.md lists the functions.
  void compute(std::string_view function, const Operand& target,
               std::span<const TileArgument> arguments, const Attributes& attributes = {});
  /// One element: add max min and or xor load store; gives the value before.
  Value atomic(std::string_view kind, const Operand& target, Value value,
               const Attributes& attributes = {});
  /// Every element of the target with the source's (extents as in `copy`): add max min.
  void atomicTile(std::string_view kind, const Operand& target, const Operand& source,
                  const Attributes& attributes = {});
  /// A tile of the block is printed by one thread: that of the attribute "thread", else the first.
  /// `name` is what the user calls it.
  void print(const std::variant<std::monostate, Value, Buffer>& what, std::string_view message,
             const Attributes& attributes = {}, std::string_view name = "T.print");
  void deviceAssert(Value condition, std::string_view message);
  /// The threads wait until the condition holds, which is asked again when others have gone on.
  void waitUntil(Value condition, std::string_view message);
  /// What the user promises. Unless `isChecked` is false it is checked as `deviceAssert` does where that costs nothing:
  /// right in the launch, of arguments and symbols alone.
  void assume(Value condition, bool isChecked = true);
  /// scope: warp block grid. A named barrier has a number and is for `threadCount` threads.
  void barrier(std::string_view scope = "block", std::optional<int64_t> number = {},
               std::optional<int64_t> threadCount = {});
  /// Calls a function in C; without a result dtype it gives nothing (poison).
  Value callExtern(std::string_view name, std::span<const Value> arguments,
                   std::optional<Dtype> result);

  // Control
  Value beginFor(LoopKind kind, Index start, Index stop, Index step, std::string_view name,
                 const Attributes& attributes = {});
  void endFor();
  std::vector<Value> beginParallel(std::span<const Index> extents,
                                   std::span<const std::string> names,
                                   const Attributes& attributes = {});
  void endParallel();
  void beginIf(Value condition);
  void beginElse();
  void endIf();
  /// The condition is computed between beginWhile and whileCondition, the body follows.
  void beginWhile();
  void whileCondition(Value condition);
  void endWhile();
  void breakLoop();
  void continueLoop();

  // Ascend: in a launch with the attribute `npu`. Pipes: s v m mte1 mte2 mte3 fix, in any case.
  /// Which vector core of the block runs this: 0 or 1.
  Value vectorId();
  /// What only the cube core ("C") or only the vector cores ("V") of a block run.
  void beginScope(std::string_view agent);
  void endScope();
  /// `name`: what the language calls it (T.init_flag sets many).
  void setFlag(std::string_view from, std::string_view to, const Index& event,
               std::string_view name = "T.set_flag");
  void waitFlag(std::string_view from, std::string_view to, const Index& event,
                std::string_view name = "T.wait_flag");
  /// Of one pipe, or of all.
  void pipeBarrier(std::string_view pipe);
  void setCrossFlag(std::string_view pipe, const Index& flag, int64_t mode);
  void waitCrossFlag(const Index& flag, std::string_view pipe);
  void syncAll();
  /// Copies from int32 in L0C to float16 in global memory that follow multiply by `scale`.
  void setDeqScale(Value scale);

  /// A function of the user's own Ascend C. An argument is a value, or a buffer from `offset` on that it
  /// reads ("r"), writes ("w") or both ("rw"): all of it, or only the first elements of some rows, `pitch`
  /// elements apart.
  struct Pointer {
    Buffer buffer;
    Index offset;
    std::string access;
    int64_t rows = 0; ///< 0: nobody knows which
    int64_t elements = 0, pitch = 0;
  };
  /// As printf of C, on an NPU; place holders have no length, and there is one for each value.
  void printFormatted(std::string_view format, std::span<const Value> values);
  /// `calledAs`: how messages call it, where that isn't its name.
  void callExternal(std::string_view function,
                    std::span<const std::variant<Value, Pointer>> arguments,
                    std::string_view calledAs = {});
  /// Source text that stands before the kernel.
  void importSource(std::string_view text);

  /// Verifies and gives the kernel, or nothing if there were errors (see `diagnostics`).
  std::shared_ptr<KernelModule> finish();

private:
  struct State;
  std::unique_ptr<State> state;
};

/// A finished kernel: its tile IR, and what a caller must know. Whoever works on it in another thread
/// shares it by `shared_from_this`.
class KernelModule : public std::enable_shared_from_this<KernelModule> {
public:
  virtual ~KernelModule() = default;
  virtual std::string name() const = 0;
  /// The tile IR as text, with or without places.
  virtual std::string text(bool places = false) const = 0;
};

} // namespace tilewright
