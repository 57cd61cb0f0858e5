// SPDX-License-Identifier: Apache-2.0
// Random calls on the builder: whatever a front end passes on, nothing crashes, and the builder's
// own rules catch all that the verifier would refuse.
#include "compiler/builder/kernel_fixture.h"

#include <random>

namespace tilewright {
namespace {

class RandomKernel {
public:
  explicit RandomKernel(unsigned seed) : random(seed) {}

  /// Builds one kernel; the diagnostics that no kernel may cause.
  std::vector<std::string> build() {
    declare();
    std::vector<Index> grid{index(), index()};
    b.at({"kernel.py", ++line, 1, 0});
    keep(b.beginLaunch(grid, std::vector<Index>{int64_t{128}}));
    for (const char* scope : {"shared", "fragment"})
      for (const char* element : {"float16", "float32"})
        buffers.push_back(b.alloc(std::vector<int64_t>{8, 8}, dt(element), scope, scope));
    buffers.push_back(b.alloc(std::vector<int64_t>{8}, dt("float32"), "fragment", "row"));
    body(pick(3));
    b.endLaunch();
    bool isBuilt = b.finish() != nullptr;
    EXPECT_EQ(isBuilt, !b.hasErrors());
    std::vector<std::string> internal;
    for (const Diagnostic& diagnostic : b.diagnostics()) {
      EXPECT_TRUE(diagnostic.place.isKnown()) << diagnostic.message;
      if (diagnostic.severity == Severity::Internal)
        internal.push_back(diagnostic.message);
    }
    return internal;
  }
  bool hasErrors() const {
    return b.hasErrors();
  }

private:
  std::mt19937 random;
  KernelBuilder b{"kernel", Place{"kernel.py", 1, 1, 0}};
  std::vector<Value> values;
  std::vector<Buffer> buffers;
  int32_t line = 1;

  int pick(int count) {
    return int(random() % unsigned(count));
  }
  /// Mostly well-formed kernels reach further.
  bool rarely() {
    return pick(40) == 0;
  }
  template <typename T> const T& any(const std::vector<T>& from) {
    return from[size_t(pick(int(from.size())))];
  }
  void keep(const std::vector<Value>& more) {
    values.insert(values.end(), more.begin(), more.end());
  }

  Dtype dtype() {
    static const std::vector<std::string> names{"float32", "float16", "bfloat16",     "int32",
                                                "int8",    "uint8",   "int64",        "bool",
                                                "float64", "uint32",  "float8_e4m3fn"};
    return rarely() ? Dtype(ScalarKind(pick(28)), rarely() ? 4 : 1) : dt(any(names));
  }
  int64_t extent() {
    return std::vector<int64_t>{1, 4, 8, 8, 8, 16}[size_t(pick(6))];
  }
  Value value() {
    switch (pick(values.empty() ? 3 : 8)) {
    case 0:
      return b.constant(int64_t(pick(20)) - (rarely() ? 30 : 0));
    case 1:
      return b.constant(double(pick(100)) / 7);
    case 2:
      return b.constant(int64_t(pick(100)), rarely() ? dtype() : dt("int32"));
    default:
      return any(values);
    }
  }
  Index index() {
    if (pick(2) == 0 || values.empty())
      return rarely() ? int64_t(pick(40)) - 20 : int64_t(pick(4));
    return any(values);
  }
  std::vector<int64_t> shape() {
    std::vector<int64_t> dims(size_t(1 + pick(2) + (rarely() ? 2 : 0)));
    for (int64_t& dim : dims)
      dim = extent();
    return dims;
  }

  void declare() {
    keep({b.symbol("M", dt("int32")), b.scalar("s", dt("float32")), b.scalar("n", dt("int32")),
          b.scalar("u", dt("uint8"))});
    for (const char* name : {"A", "B"}) {
      std::vector<Index> dims;
      for (int64_t dim : shape())
        dims.emplace_back(dim);
      if (pick(2) == 0)
        dims.emplace_back(values[0]);
      buffers.push_back(b.tensor(name, dims, dt(pick(2) ? "float16" : "float32")));
    }
  }

  std::vector<Index> indices(Buffer buffer) {
    std::vector<Index> all(size_t(std::max(0, b.rank(buffer) + (rarely() ? pick(3) - 1 : 0))));
    for (Index& entry : all)
      entry = index();
    return all;
  }
  Operand operand() {
    Buffer buffer = any(buffers);
    int kind = pick(3);
    if (kind == 0)
      return buffer;
    Region region{buffer, indices(buffer), {}, {}};
    if (kind == 1)
      return region;
    for (size_t i = 0; i < region.offsets.size(); ++i) {
      region.extents.push_back(pick(3) == 0 ? index() : Index(extent()));
      region.dropped.push_back(false);
    }
    return region;
  }

  void scalarStatement() {
    static const std::vector<std::string> binary{
        "add", "sub", "mul", "div", "floordiv", "floormod",    "truncdiv",   "truncmod", "ceildiv",
        "min", "max", "pow", "shl", "shr",      "and",         "or",         "xor",      "lt",
        "le",  "gt",  "ge",  "eq",  "ne",       "logical_and", "logical_or", "fmod",     "atan2"};
    static const std::vector<std::string> unary{
        "neg",     "not",   "abs",   "logical_not", "popcount", "clz",   "exp",     "exp10",
        "sigmoid", "rsqrt", "floor", "round",       "isnan",    "isinf", "isfinite"};
    switch (pick(8)) {
    case 0:
      return keep({b.unary(any(unary), value())});
    case 5:
      return keep({b.fma(value(), value(), value())});
    case 1:
      return keep({b.cast(value(), dtype())});
    case 2:
      return keep({b.select(value(), value(), value())});
    case 3:
      return keep({b.reinterpret(value(), dtype())});
    case 4:
      b.beginSelect(value());
      scalarStatement();
      b.elseSelect(value());
      scalarStatement();
      return keep({b.endSelect(value())});
    default:
      return keep({b.binary(any(binary), value(), value())});
    }
  }

  void elementStatement() {
    Buffer buffer = any(buffers);
    switch (pick(5)) {
    case 0:
      return keep({b.load(buffer, indices(buffer))});
    case 1:
      return b.store(buffer, indices(buffer), value());
    case 2:
      return keep(
          {b.atomic(pick(2) ? "add" : "max", Region{buffer, indices(buffer), {}, {}}, value())});
    case 3:
      return b.print(value(), "v");
    default:
      return b.deviceAssert(value(), "m");
    }
  }

  void tileStatement() {
    static const std::vector<std::string> scopes{"shared", "fragment", "local",  "UB",
                                                 "L0C",    "global",   "nowhere"};
    static const std::vector<std::string> kinds{"sum",    "max",    "min",  "abssum",
                                                "absmax", "bitand", "bitor"};
    switch (pick(11)) {
    case 0:
      return buffers.push_back(
          b.alloc(shape(), dtype(), rarely() ? any(scopes) : scopes[size_t(pick(2))], "S"));
    case 1:
      return b.fill(operand(), value());
    case 2:
      return b.gemm(operand(), operand(), operand(), pick(2), pick(2),
                    rarely() ? index() : Index(int64_t{0}));
    case 3:
      return b.reduce(any(kinds), operand(), operand(), pick(3) - 1, pick(2));
    case 4:
      return b.scan(pick(2) ? "sum" : "max", operand(), operand(), pick(3) - 1, pick(2));
    case 5:
      return b.atomicTile("add", operand(), operand());
    case 6:
      return buffers.push_back(
          b.view(any(buffers), std::vector<Index>{index(), int64_t{8}}, dtype()));
    case 7:
      return b.barrier();
    case 8:
      return b.annotateSafeValue(any(buffers), value());
    case 9:
      return pick(2) ? b.beginBlock() : b.endBlock();
    default:
      return b.copy(operand(), operand());
    }
  }

  void body(int depth) {
    for (int i = pick(4); i >= 0; --i) {
      b.at({"kernel.py", ++line, 1, 0});
      int kind = pick(depth > 0 ? 14 : 9);
      if (kind < 3)
        scalarStatement();
      else if (kind < 6)
        elementStatement();
      else if (kind < 9)
        tileStatement();
      else
        nested(kind, depth - 1);
    }
  }

  void nested(int kind, int depth) {
    if (kind == 9) {
      keep({b.beginFor(LoopKind(pick(5)), index(), index(), rarely() ? index() : Index(int64_t{1}),
                       "k")});
      body(depth);
      if (rarely())
        b.breakLoop();
      b.endFor();
    } else if (kind == 10 || kind == 11) {
      std::vector<Index> extents{Index(extent()), index()};
      extents.resize(1 + size_t(pick(2)));
      keep(b.beginParallel(extents, {}));
      body(depth);
      b.endParallel();
    } else if (kind == 12) {
      b.beginIf(value());
      body(depth);
      if (pick(2)) {
        b.beginElse();
        body(depth);
      }
      b.endIf();
    } else {
      b.beginWhile();
      scalarStatement();
      b.whileCondition(value());
      body(depth);
      b.endWhile();
    }
  }
};

TEST(RandomCalls, OnlyTheRulesRefuse) {
  int built = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomKernel kernel(seed);
    EXPECT_THAT(kernel.build(), testing::IsEmpty()) << "seed " << seed;
    built += kernel.hasErrors() ? 0 : 1;
  }
  // Both ways out are met.
  EXPECT_GT(built, 50);
  EXPECT_LT(built, 2950);
}

} // namespace
} // namespace tilewright
