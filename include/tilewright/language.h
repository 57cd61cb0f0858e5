// SPDX-License-Identifier: Apache-2.0
/// The tile language in C++: kernels that read like the Python ones, over tilewright/builder.h.
///
///     namespace T = tilewright::language;
///     auto kernel = T::prim_func("scale", [&] {
///       auto A = T::Tensor("A", {M, N}, T::float16);
///       T::Kernel({T::ceildiv(M, 64)}, {.threads = 128}, [&](T::Expr bx) {
///         auto tile = T::alloc_shared({64, N}, T::float16);
///         T::copy(A[{bx * 64, 0}], tile);
///         T::Parallel({64, N}, [&](T::Expr i, T::Expr j) { tile[{i, j}] = tile[{i, j}] * 2; });
///         T::copy(tile, A[{bx * 64, 0}]);
///       });
///     });
///
/// The names are those of the Python language. Errors carry the C++ place: std::source_location
/// comes in by default arguments of functions, and of the implicit conversion of an operator's
/// operands. `/` and `%` of integers truncate as in C++; `T::floordiv` and `T::floormod` are
/// Python's.
#pragma once

#include "tilewright/builder.h"

#include <concepts>
#include <functional>
#include <initializer_list>
#include <source_location>

// NOLINTBEGIN(readability-identifier-naming): the names are the language's own.
namespace tilewright::language {

using Where = std::source_location;

class Expr;
class Element;

/// A dtype that casts: `T::float16(x)`.
struct DtypeName : Dtype {
  constexpr DtypeName(ScalarKind kind) : Dtype(kind) {}
  Expr operator()(Expr value, Where where = Where::current()) const;
};
inline constexpr DtypeName boolean{ScalarKind::Bool}, int8{ScalarKind::Int8},
    int16{ScalarKind::Int16}, int32{ScalarKind::Int32}, int64{ScalarKind::Int64},
    uint8{ScalarKind::UInt8}, uint16{ScalarKind::UInt16}, uint32{ScalarKind::UInt32},
    uint64{ScalarKind::UInt64}, float16{ScalarKind::Float16}, bfloat16{ScalarKind::BFloat16},
    float32{ScalarKind::Float32}, float64{ScalarKind::Float64},
    float8_e4m3fn{ScalarKind::Float8E4M3FN}, float8_e5m2{ScalarKind::Float8E5M2};

/// A scalar of the kernel, or a number that becomes one where it meets the kernel.
class Expr {
public:
  Expr(Value value) : content(value) {}
  Expr(bool value) : content(value) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Expr(T value) : content(int64_t(value)) {}
  template <std::floating_point T> Expr(T value) : content(double(value)) {}
  /// Loads the element.
  Expr(const Element& element);

  /// In the kernel that is being built.
  Value value() const;
  Index index() const;

private:
  std::variant<Value, bool, int64_t, double> content;
};

/// An operand with the place where it stands: the place comes in by the implicit conversion.
struct Placed {
  template <typename T>
    requires std::convertible_to<const T&, Expr>
  Placed(const T& operand, Where where = Where::current()) : expr(operand), where(where) {}
  Expr expr;
  Where where;
};

/// Any operator or function of `KernelBuilder::binary` and `unary`.
Expr binary(std::string_view op, const Expr& left, const Expr& right,
            Where where = Where::current());
Expr unary(std::string_view op, const Expr& operand, Where where = Where::current());

Expr operator+(const Placed& left, const Placed& right);
Expr operator-(const Placed& left, const Placed& right);
Expr operator*(const Placed& left, const Placed& right);
Expr operator/(const Placed& left, const Placed& right);
Expr operator%(const Placed& left, const Placed& right);
Expr operator&(const Placed& left, const Placed& right);
Expr operator|(const Placed& left, const Placed& right);
Expr operator^(const Placed& left, const Placed& right);
Expr operator<<(const Placed& left, const Placed& right);
Expr operator>>(const Placed& left, const Placed& right);
Expr operator<(const Placed& left, const Placed& right);
Expr operator<=(const Placed& left, const Placed& right);
Expr operator>(const Placed& left, const Placed& right);
Expr operator>=(const Placed& left, const Placed& right);
Expr operator==(const Placed& left, const Placed& right);
Expr operator!=(const Placed& left, const Placed& right);
Expr operator&&(const Placed& left, const Placed& right); // both sides are computed
Expr operator||(const Placed& left, const Placed& right);
Expr operator-(const Placed& operand);
Expr operator~(const Placed& operand);
Expr operator!(const Placed& operand);

#define TILEWRIGHT_FUNCTION(NAME)                                                                  \
  inline Expr NAME(const Expr& x, Where where = Where::current()) {                                \
    return unary(#NAME, x, where);                                                                 \
  }
TILEWRIGHT_FUNCTION(abs)
TILEWRIGHT_FUNCTION(exp)
TILEWRIGHT_FUNCTION(exp2)
TILEWRIGHT_FUNCTION(exp10)
TILEWRIGHT_FUNCTION(log)
TILEWRIGHT_FUNCTION(log2)
TILEWRIGHT_FUNCTION(log10)
TILEWRIGHT_FUNCTION(log1p)
TILEWRIGHT_FUNCTION(sqrt)
TILEWRIGHT_FUNCTION(rsqrt)
TILEWRIGHT_FUNCTION(sigmoid)
TILEWRIGHT_FUNCTION(tanh)
TILEWRIGHT_FUNCTION(sin)
TILEWRIGHT_FUNCTION(cos)
TILEWRIGHT_FUNCTION(tan)
TILEWRIGHT_FUNCTION(erf)
TILEWRIGHT_FUNCTION(floor)
TILEWRIGHT_FUNCTION(ceil)
TILEWRIGHT_FUNCTION(round)
TILEWRIGHT_FUNCTION(nearbyint)
TILEWRIGHT_FUNCTION(trunc)
TILEWRIGHT_FUNCTION(isnan)
TILEWRIGHT_FUNCTION(isinf)
TILEWRIGHT_FUNCTION(isfinite)
#undef TILEWRIGHT_FUNCTION

#define TILEWRIGHT_FUNCTION(NAME)                                                                  \
  inline Expr NAME(const Expr& x, const Expr& y, Where where = Where::current()) {                 \
    return binary(#NAME, x, y, where);                                                             \
  }
TILEWRIGHT_FUNCTION(min)
TILEWRIGHT_FUNCTION(max)
TILEWRIGHT_FUNCTION(pow)
TILEWRIGHT_FUNCTION(fmod)
TILEWRIGHT_FUNCTION(floordiv)
TILEWRIGHT_FUNCTION(floormod)
TILEWRIGHT_FUNCTION(ceildiv)
#undef TILEWRIGHT_FUNCTION

/// x * y + z with one rounding, as `KernelBuilder::fma`.
Expr fma(const Expr& x, const Expr& y, const Expr& z, Where where = Where::current());
Expr cast(const Expr& value, Dtype dtype, Where where = Where::current());
/// Both values are computed.
Expr if_then_else(const Expr& condition, const Expr& whenTrue, const Expr& whenFalse,
                  Where where = Where::current());
Expr infinity(Dtype dtype, Where where = Where::current());

/// One entry of an index list: a number, or a slice [start, stop).
struct Slice {
  Expr start, stop;
};
inline Slice slice(Expr start, Expr stop) {
  return {start, stop};
}

struct IndexEntry {
  template <typename T>
    requires std::convertible_to<const T&, Expr>
  IndexEntry(const T& index) : start(index) {}
  IndexEntry(const Slice& slice) : start(slice.start), stop(slice.stop) {}
  Expr start;
  std::optional<Expr> stop;
};

/// `{i, j}` in `A[{i, j}]`.
struct Indices {
  Indices() = default;
  Indices(std::initializer_list<IndexEntry> entries, Where where = Where::current())
      : entries(entries), where(where) {}
  std::vector<IndexEntry> entries;
  std::optional<Where> where;
};

/// `{M, N}`: extents of a shape or grid.
struct Shape {
  Shape(std::initializer_list<Expr> extents) : extents(extents) {}
  std::vector<Expr> extents;
  std::vector<Index> indices() const;
};

/// `A[{i, j}]`: an element to load or store, or the tile that starts there, or, with slices, a
/// region.
class Element {
public:
  Element(Buffer buffer, Indices indices) : buffer(buffer), indices(std::move(indices)) {}
  Element(const Element&) = default;
  /// Stores.
  Element& operator=(const Placed& value);
  Element& operator=(const Element& other);
  Element& operator+=(const Placed& value) {
    return *this = Placed(binary("add", *this, value.expr, value.where), value.where);
  }
  Element& operator-=(const Placed& value) {
    return *this = Placed(binary("sub", *this, value.expr, value.where), value.where);
  }
  Element& operator*=(const Placed& value) {
    return *this = Placed(binary("mul", *this, value.expr, value.where), value.where);
  }

  Expr load() const;
  Region region() const;

private:
  Buffer buffer;
  Indices indices;
};

/// A tensor, or memory on the chip.
class Tile {
public:
  Tile(Buffer buffer) : handle(buffer) {}
  Element operator[](Indices indices) const {
    return {handle, std::move(indices)};
  }
  Buffer buffer() const {
    return handle;
  }

private:
  Buffer handle;
};

/// A mutable scalar: loads where it is used, stores where it is assigned.
class Variable : public Element {
public:
  explicit Variable(Buffer buffer) : Element(buffer, Indices()) {}
  using Element::operator=;
};

/// What a tile operation takes: a whole tile, a region of one, or the tile that starts at an
/// element.
struct TileOperand {
  TileOperand(const Tile& tile) : operand(tile.buffer()) {}
  TileOperand(const Element& element) : operand(element.region()) {}
  tilewright::Operand operand;
};

// The kernel

/// A finished kernel, or the errors that forbid it.
struct PrimFunc {
  std::shared_ptr<KernelModule> module; // null after errors
  std::vector<Diagnostic> diagnostics;
  explicit operator bool() const {
    return module != nullptr;
  }
  /// All diagnostics as text.
  std::string messages() const;
};

/// Builds a kernel: `body` declares its arguments and launches. The functions below work inside of
/// it; elsewhere they throw std::logic_error.
PrimFunc prim_func(std::string_view name, const std::function<void()>& body,
                   Where where = Where::current());

/// A dim that is read off the arguments at each call.
Expr dynamic(std::string_view name, Where where = Where::current());
Tile Tensor(std::string_view name, const Shape& shape, Dtype dtype, Where where = Where::current());
Expr Scalar(std::string_view name, Dtype dtype, Where where = Where::current());

struct Threads {
  Threads(int64_t count) : extents{count} {}
  Threads(std::initializer_list<int64_t> extents) : extents(extents.begin(), extents.end()) {}
  std::vector<Index> extents;
};
struct KernelOptions {
  std::optional<Threads> threads = {}; // 128 if absent
  /// A block is an AI core: the body gets the block's number and, without `threads`, the vector
  /// core's.
  bool is_npu = false;
};
struct PipelinedOptions {
  int64_t num_stages = 0;
};

namespace detail {
/// A body with one to three (or more) Exprs as parameters.
struct Body {
  size_t parameters = 0;
  std::function<void(const std::vector<Expr>&)> call;

  template <typename F> static Body of(F body) {
    if constexpr (std::invocable<F, Expr, Expr, Expr, Expr>)
      return {4, [body](const std::vector<Expr>& v) { body(v[0], v[1], v[2], v[3]); }};
    else if constexpr (std::invocable<F, Expr, Expr, Expr>)
      return {3, [body](const std::vector<Expr>& v) { body(v[0], v[1], v[2]); }};
    else if constexpr (std::invocable<F, Expr, Expr>)
      return {2, [body](const std::vector<Expr>& v) { body(v[0], v[1]); }};
    else {
      static_assert(std::invocable<F, Expr>, "a body takes one to four T::Expr");
      return {1, [body](const std::vector<Expr>& v) { body(v[0]); }};
    }
  }
};
/// The builder of the kernel that is being written, told of the place.
KernelBuilder& builderAt(Where where);
Tile allocate(const Shape& shape, Dtype dtype, std::string_view scope, std::string_view name,
              Where where);
void launch(const Shape& grid, const KernelOptions& options, const Body& body, Where where);
void parallel(const Shape& extents, const Body& body, Where where);
void loop(LoopKind kind, const Expr& start, const Expr& stop, const Expr& step,
          const Attributes& attributes, const Body& body, Where where);
} // namespace detail

/// The body gets one block id per grid extent, x first.
template <typename F>
void Kernel(const Shape& grid, const KernelOptions& options, F body,
            Where where = Where::current()) {
  detail::launch(grid, options, detail::Body::of(std::move(body)), where);
}
/// The body gets one number per extent.
template <typename F> void Parallel(const Shape& extents, F body, Where where = Where::current()) {
  detail::parallel(extents, detail::Body::of(std::move(body)), where);
}
template <typename F>
void Pipelined(const Expr& count, const PipelinedOptions& options, F body,
               Where where = Where::current()) {
  detail::loop(LoopKind::Pipelined, 0, count, 1, {{"num_stages", options.num_stages}},
               detail::Body::of(std::move(body)), where);
}
template <typename F>
void serial(const Expr& start, const Expr& stop, const Expr& step, F body,
            Where where = Where::current()) {
  detail::loop(LoopKind::Serial, start, stop, step, {}, detail::Body::of(std::move(body)), where);
}
template <typename F> void serial(const Expr& count, F body, Where where = Where::current()) {
  detail::loop(LoopKind::Serial, 0, count, 1, {}, detail::Body::of(std::move(body)), where);
}
template <typename F> void unroll(const Expr& count, F body, Where where = Where::current()) {
  detail::loop(LoopKind::Unroll, 0, count, 1, {}, detail::Body::of(std::move(body)), where);
}
template <typename F> void vectorized(const Expr& count, F body, Where where = Where::current()) {
  detail::loop(LoopKind::Vectorized, 0, count, 1, {}, detail::Body::of(std::move(body)), where);
}
void If(const Expr& condition, const std::function<void()>& then, Where where = Where::current());
void If(const Expr& condition, const std::function<void()>& then,
        const std::function<void()>& otherwise, Where where = Where::current());
void While(const std::function<Expr()>& condition, const std::function<void()>& body,
           Where where = Where::current());
void Break(Where where = Where::current());
void Continue(Where where = Where::current());

// Memory: shapes are known while building; `name` is for messages and debuggers

Tile alloc_shared(const Shape& shape, Dtype dtype, std::string_view name = "",
                  Where where = Where::current());
Tile alloc_fragment(const Shape& shape, Dtype dtype, std::string_view name = "",
                    Where where = Where::current());
Tile alloc_local(const Shape& shape, Dtype dtype, std::string_view name = "",
                 Where where = Where::current());
Variable alloc_var(Dtype dtype, std::optional<Expr> init = {}, std::string_view name = "",
                   Where where = Where::current());
Tile view(const Tile& source, const Shape& shape, Dtype dtype, Where where = Where::current());

// Tile operations

struct GemmOptions {
  bool transpose_A = false;
  bool transpose_B = false;
  Expr clear_accum = false;
  int64_t policy = 0; // GemmWarpPolicy: 0 Square, 1 FullRow, 2 FullCol
};

void copy(const TileOperand& source, const TileOperand& target, Where where = Where::current());
/// What copies and single reads give past the ends of a tensor, instead of 0; before the first use of it.
void annotate_safe_value(const Tile& tensor, const Expr& value, Where where = Where::current());
void fill(const TileOperand& target, const Expr& value, Where where = Where::current());
void clear(const TileOperand& target, Where where = Where::current());
void gemm(const TileOperand& A, const TileOperand& B, const TileOperand& C,
          const GemmOptions& options = {}, Where where = Where::current());
/// `kind`: sum max min abssum absmax bitand bitor bitxor.
void reduce(std::string_view kind, const TileOperand& source, const TileOperand& target,
            int64_t dim = -1, bool clear = true, Where where = Where::current());
inline void reduce_sum(const TileOperand& source, const TileOperand& target, int64_t dim = -1,
                       bool clear = true, Where where = Where::current()) {
  reduce("sum", source, target, dim, clear, where);
}
inline void reduce_max(const TileOperand& source, const TileOperand& target, int64_t dim = -1,
                       bool clear = true, Where where = Where::current()) {
  reduce("max", source, target, dim, clear, where);
}
inline void reduce_min(const TileOperand& source, const TileOperand& target, int64_t dim = -1,
                       bool clear = true, Where where = Where::current()) {
  reduce("min", source, target, dim, clear, where);
}
void cumsum(const TileOperand& source, const TileOperand& target, int64_t dim = 0,
            bool reverse = false, Where where = Where::current());
void atomic_add(const TileOperand& target, const Expr& value, Where where = Where::current());
void atomic_add(const TileOperand& target, const Tile& source, Where where = Where::current());
void sync_threads(Where where = Where::current());
Expr get_thread_binding(int dim = 0, Where where = Where::current());
void print(const Expr& value, std::string_view message = "", Where where = Where::current());
void print(const Tile& tile, std::string_view message = "", Where where = Where::current());
void device_assert(const Expr& condition, std::string_view message = "",
                   Where where = Where::current());

} // namespace tilewright::language
// NOLINTEND(readability-identifier-naming)
