// SPDX-License-Identifier: Apache-2.0
// The C++ front end: it calls the builder, and knows no rule of the language but C++'s own
// division.
#include "tilewright/language.h"

#include <limits>
#include <stdexcept>

// NOLINTBEGIN(readability-identifier-naming): the names are the language's own.
namespace tilewright::language {
namespace {

thread_local KernelBuilder* current = nullptr;

KernelBuilder& builder() {
  if (!current)
    throw std::logic_error("the tile language is used outside of T::prim_func");
  return *current;
}

KernelBuilder& at(Where where) {
  builder().at(Place::from(where));
  return builder();
}

/// Makes a builder the current one of this thread, as long as it lives.
class CurrentBuilder {
public:
  explicit CurrentBuilder(KernelBuilder& builder) : previous(current) {
    current = &builder;
  }
  ~CurrentBuilder() {
    current = previous;
  }
  CurrentBuilder(const CurrentBuilder&) = delete;
  CurrentBuilder& operator=(const CurrentBuilder&) = delete;

private:
  KernelBuilder* previous;
};

std::vector<Index> indicesOf(const std::vector<IndexEntry>& entries) {
  std::vector<Index> indices;
  indices.reserve(entries.size());
  for (const IndexEntry& entry : entries)
    indices.push_back(entry.start.index());
  return indices;
}

/// The numbers that a body gets: as many as it has parameters, poisoned where the launch or loop
/// has fewer.
std::vector<Expr> numbersFor(const detail::Body& body, const std::vector<Value>& values,
                             const char* what) {
  if (values.size() != body.parameters)
    builder().error(std::string(what) + " has " + std::to_string(values.size()) +
                    (values.size() == 1 ? " extent" : " extents") + " but its body takes " +
                    std::to_string(body.parameters));
  std::vector<Expr> numbers(values.begin(), values.end());
  numbers.resize(std::max(values.size(), body.parameters), Expr(Value{}));
  return numbers;
}

} // namespace

KernelBuilder& detail::builderAt(Where where) {
  return at(where);
}

Tile detail::allocate(const Shape& shape, Dtype dtype, std::string_view scope,
                      std::string_view name, Where where) {
  KernelBuilder& kernel = at(where);
  std::vector<int64_t> extents;
  for (const Index& extent : shape.indices()) {
    const auto* value = std::get_if<Value>(&extent);
    auto known = value ? kernel.constantValue(*value) : std::optional(std::get<int64_t>(extent));
    if (value && value->isPoison())
      return Buffer{};
    if (!known) {
      kernel.error("the shape of an allocation must be known while building the kernel");
      return Buffer{};
    }
    extents.push_back(*known);
  }
  std::string label = name.empty()
                          ? std::string(scope) + " buffer of line " + std::to_string(where.line())
                          : std::string(name);
  return kernel.alloc(extents, dtype, scope, label);
}

// Expressions

Expr::Expr(const Element& element) : content(Value{}) {
  *this = element.load();
}

Value Expr::value() const {
  struct {
    Value operator()(Value value) {
      return value;
    }
    Value operator()(bool value) {
      return builder().constant(value);
    }
    Value operator()(int64_t value) {
      return builder().constant(value);
    }
    Value operator()(double value) {
      return builder().constant(value);
    }
  } lift;
  return std::visit(lift, content);
}

Index Expr::index() const {
  if (const auto* known = std::get_if<int64_t>(&content))
    return *known;
  return value();
}

Expr DtypeName::operator()(Expr value, Where where) const {
  return cast(value, *this, where);
}

Expr binary(std::string_view op, const Expr& left, const Expr& right, Where where) {
  KernelBuilder& kernel = at(where);
  return kernel.binary(op, left.value(), right.value());
}
Expr unary(std::string_view op, const Expr& operand, Where where) {
  KernelBuilder& kernel = at(where);
  return kernel.unary(op, operand.value());
}

Expr operator/(const Placed& left, const Placed& right) {
  KernelBuilder& kernel = at(left.where);
  Value a = left.expr.value(), b = right.expr.value();
  bool isInteger = !a.isPoison() && !b.isPoison() && !a.dtype().isFloat() && !b.dtype().isFloat();
  return kernel.binary(isInteger ? "truncdiv" : "div", a, b);
}

#define TILEWRIGHT_OPERATOR(SYMBOL, NAME)                                                          \
  Expr operator SYMBOL(const Placed& left, const Placed& right) {                                  \
    return binary(NAME, left.expr, right.expr, left.where);                                        \
  }
TILEWRIGHT_OPERATOR(+, "add")
TILEWRIGHT_OPERATOR(-, "sub")
TILEWRIGHT_OPERATOR(*, "mul")
TILEWRIGHT_OPERATOR(%, "truncmod")
TILEWRIGHT_OPERATOR(&, "and")
TILEWRIGHT_OPERATOR(|, "or")
TILEWRIGHT_OPERATOR(^, "xor")
TILEWRIGHT_OPERATOR(<<, "shl")
TILEWRIGHT_OPERATOR(>>, "shr")
TILEWRIGHT_OPERATOR(<, "lt")
TILEWRIGHT_OPERATOR(<=, "le")
TILEWRIGHT_OPERATOR(>, "gt")
TILEWRIGHT_OPERATOR(>=, "ge")
TILEWRIGHT_OPERATOR(==, "eq")
TILEWRIGHT_OPERATOR(!=, "ne")
TILEWRIGHT_OPERATOR(&&, "logical_and")
TILEWRIGHT_OPERATOR(||, "logical_or")
#undef TILEWRIGHT_OPERATOR

Expr operator-(const Placed& operand) {
  return unary("neg", operand.expr, operand.where);
}
Expr operator~(const Placed& operand) {
  return unary("not", operand.expr, operand.where);
}
Expr operator!(const Placed& operand) {
  return unary("logical_not", operand.expr, operand.where);
}

Expr fma(const Expr& x, const Expr& y, const Expr& z, Where where) {
  KernelBuilder& kernel = at(where);
  return kernel.fma(x.value(), y.value(), z.value());
}
Expr cast(const Expr& value, Dtype dtype, Where where) {
  KernelBuilder& kernel = at(where);
  return kernel.cast(value.value(), dtype);
}
Expr if_then_else(const Expr& condition, const Expr& whenTrue, const Expr& whenFalse, Where where) {
  KernelBuilder& kernel = at(where);
  return kernel.select(condition.value(), whenTrue.value(), whenFalse.value());
}
Expr infinity(Dtype dtype, Where where) {
  KernelBuilder& kernel = at(where);
  // A conversion to it would saturate.
  if (dtype.kind() == ScalarKind::Float8E5M2)
    return kernel.reinterpret(kernel.constant(int64_t(0x7C), Dtype(ScalarKind::UInt8)), dtype);
  return kernel.constant(std::numeric_limits<double>::infinity(), dtype);
}

std::vector<Index> Shape::indices() const {
  std::vector<Index> all;
  all.reserve(extents.size());
  for (const Expr& extent : extents)
    all.push_back(extent.index());
  return all;
}

// Elements

Expr Element::load() const {
  if (indices.where)
    at(*indices.where);
  return builder().load(buffer, indicesOf(indices.entries));
}

Element& Element::operator=(const Placed& value) {
  at(indices.where.value_or(value.where))
      .store(buffer, indicesOf(indices.entries), value.expr.value());
  return *this;
}

Element& Element::operator=(const Element& other) {
  Expr value = other.load();
  if (indices.where)
    at(*indices.where);
  builder().store(buffer, indicesOf(indices.entries), value.value());
  return *this;
}

Region Element::region() const {
  if (indices.where)
    at(*indices.where);
  Region region{buffer, indicesOf(indices.entries), {}, {}};
  bool hasSlices = std::any_of(indices.entries.begin(), indices.entries.end(),
                               [](const IndexEntry& entry) { return entry.stop.has_value(); });
  for (const IndexEntry& entry : hasSlices ? indices.entries : std::vector<IndexEntry>()) {
    region.dropped.push_back(!entry.stop);
    if (!entry.stop)
      region.extents.emplace_back(int64_t{1});
    else
      region.extents.emplace_back(
          builder().binary("sub", entry.stop->value(), entry.start.value()));
  }
  return region;
}

// The kernel

std::string PrimFunc::messages() const {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics)
    text += render(diagnostic);
  return text;
}

PrimFunc prim_func(std::string_view name, const std::function<void()>& body, Where where) {
  KernelBuilder kernel(name, Place::from(where));
  CurrentBuilder scope(kernel);
  body();
  auto module = kernel.finish();
  return {std::move(module), kernel.diagnostics()};
}

Expr dynamic(std::string_view name, Where where) {
  return at(where).symbol(name, Dtype::int32());
}

Tile Tensor(std::string_view name, const Shape& shape, Dtype dtype, Where where) {
  KernelBuilder& kernel = at(where);
  return kernel.tensor(name, shape.indices(), dtype);
}

Expr Scalar(std::string_view name, Dtype dtype, Where where) {
  return at(where).scalar(name, dtype);
}

namespace detail {

void launch(const Shape& grid, const KernelOptions& options, const Body& body, Where where) {
  KernelBuilder& kernel = at(where);
  std::vector<Index> threads;
  if (options.threads)
    threads = options.threads->extents;
  else if (!options.is_npu)
    threads.emplace_back(int64_t{128});
  Attributes attributes;
  if (options.is_npu)
    attributes["npu"] = true;
  auto blocks = kernel.beginLaunch(grid.indices(), threads, attributes);
  if (options.is_npu && threads.empty())
    blocks.push_back(kernel.vectorId());
  body.call(numbersFor(body, blocks, "T::Kernel"));
  kernel.endLaunch();
}

void parallel(const Shape& extents, const Body& body, Where where) {
  KernelBuilder& kernel = at(where);
  auto numbers = kernel.beginParallel(extents.indices(), {});
  body.call(numbersFor(body, numbers, "T::Parallel"));
  kernel.endParallel();
}

void loop(LoopKind kind, const Expr& start, const Expr& stop, const Expr& step,
          const Attributes& attributes, const Body& body, Where where) {
  KernelBuilder& kernel = at(where);
  Value number = kernel.beginFor(kind, start.index(), stop.index(), step.index(), "", attributes);
  body.call(numbersFor(body, {number}, "a loop"));
  kernel.endFor();
}

} // namespace detail

void If(const Expr& condition, const std::function<void()>& then, Where where) {
  at(where).beginIf(condition.value());
  then();
  builder().endIf();
}

void If(const Expr& condition, const std::function<void()>& then,
        const std::function<void()>& otherwise, Where where) {
  at(where).beginIf(condition.value());
  then();
  builder().beginElse();
  otherwise();
  builder().endIf();
}

void While(const std::function<Expr()>& condition, const std::function<void()>& body, Where where) {
  at(where).beginWhile();
  Value value = condition().value();
  builder().whileCondition(value);
  body();
  builder().endWhile();
}

void Break(Where where) {
  at(where).breakLoop();
}
void Continue(Where where) {
  at(where).continueLoop();
}

// Memory

Tile alloc_shared(const Shape& shape, Dtype dtype, std::string_view name, Where where) {
  return detail::allocate(shape, dtype, "shared", name, where);
}
Tile alloc_fragment(const Shape& shape, Dtype dtype, std::string_view name, Where where) {
  return detail::allocate(shape, dtype, "fragment", name, where);
}
Tile alloc_local(const Shape& shape, Dtype dtype, std::string_view name, Where where) {
  return detail::allocate(shape, dtype, "local", name, where);
}
Variable alloc_var(Dtype dtype, std::optional<Expr> init, std::string_view name, Where where) {
  KernelBuilder& kernel = at(where);
  std::string label =
      name.empty() ? "variable of line " + std::to_string(where.line()) : std::string(name);
  return Variable(
      kernel.allocVar(dtype, init ? std::optional(init->value()) : std::nullopt, label));
}
Tile view(const Tile& source, const Shape& shape, Dtype dtype, Where where) {
  KernelBuilder& kernel = at(where);
  return kernel.view(source.buffer(), shape.indices(), dtype);
}

// Tile operations

void copy(const TileOperand& source, const TileOperand& target, Where where) {
  at(where).copy(source.operand, target.operand);
}
void annotate_safe_value(const Tile& tensor, const Expr& value, Where where) {
  KernelBuilder& kernel = at(where);
  kernel.annotateSafeValue(tensor.buffer(), value.value());
}
void fill(const TileOperand& target, const Expr& value, Where where) {
  KernelBuilder& kernel = at(where);
  kernel.fill(target.operand, value.value());
}
void clear(const TileOperand& target, Where where) {
  KernelBuilder& kernel = at(where);
  kernel.fill(target.operand, Expr(0).value(), "T.clear");
}

void gemm(const TileOperand& A, const TileOperand& B, const TileOperand& C,
          const GemmOptions& options, Where where) {
  KernelBuilder& kernel = at(where);
  kernel.gemm(A.operand, B.operand, C.operand, options.transpose_A, options.transpose_B,
              options.clear_accum.index(), {{"policy", options.policy}});
}

void reduce(std::string_view kind, const TileOperand& source, const TileOperand& target,
            int64_t dim, bool clear, Where where) {
  at(where).reduce(kind, source.operand, target.operand, dim, clear);
}
void cumsum(const TileOperand& source, const TileOperand& target, int64_t dim, bool reverse,
            Where where) {
  at(where).scan("sum", source.operand, target.operand, dim, reverse);
}
void atomic_add(const TileOperand& target, const Expr& value, Where where) {
  KernelBuilder& kernel = at(where);
  kernel.atomic("add", target.operand, value.value());
}
void atomic_add(const TileOperand& target, const Tile& source, Where where) {
  at(where).atomicTile("add", target.operand, source.buffer());
}
void sync_threads(Where where) {
  at(where).barrier();
}
Expr get_thread_binding(int dim, Where where) {
  return at(where).threadBinding(dim);
}

void print(const Expr& value, std::string_view message, Where where) {
  KernelBuilder& kernel = at(where);
  kernel.print(value.value(), message);
}
void print(const Tile& tile, std::string_view message, Where where) {
  at(where).print(tile.buffer(), message);
}

void device_assert(const Expr& condition, std::string_view message, Where where) {
  KernelBuilder& kernel = at(where);
  kernel.deviceAssert(condition.value(), message);
}

} // namespace tilewright::language
// NOLINTEND(readability-identifier-naming)
