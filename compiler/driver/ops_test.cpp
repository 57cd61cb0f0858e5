// SPDX-License-Identifier: Apache-2.0
// Every op of the core language on the CPU target, against the reference interpreter.
#include "compiler/driver/compiled_kernel.h"
#include "compiler/interpreter/interpret.h"

#include <cmath>
#include <random>

// NOLINTBEGIN(performance-inefficient-string-concatenation): a kernel's text reads best as one sum.
namespace tilewright {
namespace {

/// A tensor of a test: its element type as tile IR names it, and its elements.
struct Tensor {
  std::string type;
  std::vector<int64_t> shape;
  /// Not empty: in elements.
  std::vector<int64_t> strides = {};
  std::vector<unsigned char> bytes = {};

  size_t elementBytes() const {
    const std::string digits = type.substr(type.find_first_of("0123456789"));
    return type[0] == 'f' && type[1] == '8' ? 1 : std::max(1, std::stoi(digits) / 8);
  }
  size_t count() const {
    size_t elements = 1;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      elements = strides.empty() ? elements * size_t(shape[dim])
                                 : elements + size_t(shape[dim] - 1) * size_t(strides[dim]);
    return elements;
  }
  bool isFloat32() const {
    return type == "f32";
  }

  /// Small numbers, positive and negative, with all bit patterns for 8-bit types.
  void randomize(unsigned seed) {
    std::mt19937 engine(seed);
    bytes.resize(count() * elementBytes());
    for (unsigned char& byte : bytes)
      byte = static_cast<unsigned char>(engine());
    std::uniform_real_distribution<float> uniform(-4, 4);
    for (size_t i = 0; i < count(); ++i) {
      const float value = uniform(engine);
      if (type == "f32") {
        std::memcpy(&bytes[4 * i], &value, 4);
      } else if (type == "f64") {
        const double wide = double(value) * 1.000001;
        std::memcpy(&bytes[8 * i], &wide, 8);
      } else if (type == "f16") {
        const auto half = static_cast<_Float16>(value);
        std::memcpy(&bytes[2 * i], &half, 2);
      } else if (type == "bf16") {
        uint32_t bits;
        std::memcpy(&bits, &value, 4);
        bits >>= 16;
        std::memcpy(&bytes[2 * i], &bits, 2);
      } else if (type == "i1") {
        bytes[i] &= 1;
      } else if (type.substr(0, 2) == "f8" && (bytes[i] & 0x7c) == 0x7c) {
        bytes[i] &= 0x43; // no NaN or infinity, whose bits are nobody's promise
      } else if (type.substr(0, 2) == "f8" && bytes[i] == 0x80) {
        bytes[i] = 0;
      }
    }
  }
};

class OpsTest : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    if (!canRun(GetParam()))
      GTEST_SKIP() << "this machine has no " << GetParam();
  }

  /// Runs `text` on the interpreter and on the CPU with the same tensors (randomized where they
  /// hold nothing), then compares all of them: floats to a relative `tolerance`, everything else
  /// bit by bit.
  void check(const std::string& text, std::vector<Tensor> tensors,
             const std::vector<int64_t>& symbols = {}, double tolerance = 0) {
    unsigned seed = 1;
    for (Tensor& tensor : tensors)
      if (tensor.bytes.empty())
        tensor.randomize(seed++);
    std::vector<Tensor> wanted = tensors;
    ASSERT_NO_FATAL_FAILURE(interpret(text, wanted));
    CompiledKernel kernel(text, GetParam());
    for (const Diagnostic& diagnostic : kernel.diagnostics)
      ADD_FAILURE() << diagnostic.message << "\n" << text;
    ASSERT_TRUE(kernel.isLoaded());
    std::vector<uint64_t> slots;
    slots.reserve(tensors.size() + symbols.size());
    for (Tensor& tensor : tensors)
      slots.push_back(slotOf(tensor.bytes));
    for (int64_t symbol : symbols)
      slots.push_back(uint64_t(symbol));
    EXPECT_EQ(kernel.run(slots), 0);
    for (size_t i = 0; i < tensors.size(); ++i)
      ASSERT_NO_FATAL_FAILURE(compare(tensors[i], wanted[i], tolerance)) << "tensor " << i << "\n"
                                                                         << text;
  }

private:
  static void interpret(const std::string& text, std::vector<Tensor>& tensors) {
    auto kernel = kernelFromText(text);
    ASSERT_NE(kernel, nullptr) << text;
    std::vector<interpreter::Argument> arguments;
    arguments.reserve(tensors.size());
    for (Tensor& tensor : tensors)
      arguments.emplace_back(
          interpreter::TensorArgument{tensor.bytes.data(), tensor.shape, tensor.strides});
    auto function = *kernel->module().getOps<mlir::func::FuncOp>().begin();
    ASSERT_TRUE(succeeded(interpreter::interpret(function, arguments))) << text;
  }

  static void compare(const Tensor& actual, const Tensor& wanted, double tolerance) {
    for (size_t i = 0; i < actual.count(); ++i) {
      const size_t width = actual.elementBytes();
      if (std::memcmp(&actual.bytes[i * width], &wanted.bytes[i * width], width) == 0)
        continue;
      double a = NAN, b = NAN;
      if (actual.type == "f32") {
        float x, y;
        std::memcpy(&x, &actual.bytes[i * 4], 4);
        std::memcpy(&y, &wanted.bytes[i * 4], 4);
        a = double(x), b = double(y);
      } else if (actual.type == "f64") {
        std::memcpy(&a, &actual.bytes[i * 8], 8);
        std::memcpy(&b, &wanted.bytes[i * 8], 8);
      } else if (actual.type == "f16" && tolerance > 0) {
        _Float16 x, y;
        std::memcpy(&x, &actual.bytes[i * 2], 2);
        std::memcpy(&y, &wanted.bytes[i * 2], 2);
        a = double(x), b = double(y);
        tolerance = std::max(tolerance, 0x1p-10);
      }
      ASSERT_FALSE(std::isnan(a) != std::isnan(b)) << "element " << i << ": " << a << ", not " << b;
      if (std::isnan(a) && std::isnan(b) && actual.type[0] == 'f' && (width >= 4 || tolerance > 0))
        continue;
      ASSERT_LE(std::abs(a - b), tolerance * std::max(1.0, std::abs(b)))
          << "element " << i << " of " << actual.type << ": " << a << ", not " << b;
    }
  }
};

/// A kernel over the given arguments ("%x: !tile.buffer<...>" without attributes) that runs `body`
/// in one block.
std::string wrap(const std::vector<std::string>& types, const std::string& body,
                 const std::string& symbols = "", const std::string& grid = "%c1") {
  std::string text = "func.func @kernel(";
  const char* names[] = {"x", "y", "z", "w"};
  for (size_t i = 0; i < types.size(); ++i)
    text += std::string(i ? ", %" : "%") + names[i] + ": " + types[i] + " {tile.name = \"" +
            names[i] + "\"" + "}";
  text += symbols + ") attributes {tile.kernel} {\n";
  for (int value : {0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 32, 64})
    text += "  %c" + std::to_string(value) + " = arith.constant " + std::to_string(value) +
            " : index\n";
  text += "  %zero = arith.constant 0.0 : f32\n  %one = arith.constant 1.0 : f32\n";
  text += "  %two = arith.constant 2.0 : f32\n  %i7 = arith.constant 7 : i32\n";
  text += "  tile.launch (%b) in (" + grid + ") threads(128) {\n" + body + "  }\n  return\n}\n";
  return text;
}

std::string buffer(const std::string& shape, const std::string& type, const std::string& space) {
  return "!tile.buffer<" + shape + (shape.empty() ? "" : "x") + type + ", " + space + ">";
}

std::string global(const std::string& shape, const std::string& type = "f32") {
  return buffer(shape, type, "global");
}

TEST_P(OpsTest, CopiesConvertElements) {
  const std::vector<std::string> types = {"f32", "f16",      "bf16",  "f64",  "si8",
                                          "ui8", "si16",     "si32",  "ui32", "si64",
                                          "i1",  "f8E4M3FN", "f8E5M2"};
  for (const std::string& from : types)
    for (const std::string& to : types) {
      const bool isNarrow = (from == "f32" || from == "f64") && to.find('i') != std::string::npos;
      if (isNarrow && to[0] == 'u')
        continue; // negative floats have no meaning there
      // Integers beyond the range of a narrow float become infinities or NaN.
      const bool fits = !(from[0] != 'f' && from != "i1" && from != "si8" && from != "ui8" &&
                          to[0] == 'f' && to.size() > 3);
      if (!fits || (to[0] == 'u' && from[0] != 'u' && from[0] != 's' && from != "i1") ||
          (from == "ui8" && to == "f8E4M3FN") ||
          (from == "f8E5M2" && to.size() > 3 && to != "bf16") ||
          (from == "f8E5M2" && (to == "si8" || to == "si16")) ||
          (from == "f8E4M3FN" && to == "si8"))
        continue;
      SCOPED_TRACE(from + " to " + to);
      check(wrap({global("37", from), global("37", to)},
                 "%s = tile.alloc \"s\" : " + buffer("37", from, "shared") + "\n" +
                     "tile.copy %x[0] [37] : " + global("37", from) +
                     " to %s : " + buffer("37", from, "shared") + "\ntile.copy %s : " +
                     buffer("37", from, "shared") + " to %y[0] [37] : " + global("37", to) + "\n"),
            {{from, {37}}, {to, {37}}});
    }
}

TEST_P(OpsTest, CopiesClampToTheTensor) {
  // Tiles that start before, cross, or lie behind the edges, with and without a pad value.
  for (int row : {-5, 0, 3, 6, 9})
    for (int column : {-3, 0, 5, 40})
      for (const char* pad : {"", " pad(%one : f32)"}) {
        SCOPED_TRACE(testing::Message() << row << ", " << column << pad);
        const std::string tile = buffer("8x20", "f32", "shared");
        check(wrap({global("9x33"), global("9x33")},
                   "%r = arith.constant " + std::to_string(row) + " : index\n%c = arith.constant " +
                       std::to_string(column) + " : index\n%s = tile.alloc \"s\" : " + tile +
                       "\ntile.copy %x[%r, %c] [8, 20] : " + global("9x33") + " to %s : " + tile +
                       pad + "\ntile.copy %s : " + tile +
                       " to %y[%c1, %c2] [8, 20] : " + global("9x33") + "\ntile.copy %s : " + tile +
                       " to %y[%c, %r] [8, 20] : " + global("9x33") + "\n"),
              {{"f32", {9, 33}}, {"f32", {9, 33}}});
      }
}

TEST_P(OpsTest, CopiesOfAnyRank) {
  const std::string tile = buffer("4x8", "f32", "shared"), cube = buffer("2x3x4", "f32", "shared");
  check(wrap({global("3x6x10"), global("6x10")},
             "%s = tile.alloc \"s\" : " + tile + "\n%q = tile.alloc \"q\" : " + cube +
                 "\ntile.copy %x[%c2, %c1, %c3] [1, 4, 8] : " + global("3x6x10") + " to %s : " +
                 tile + "\ntile.copy %s : " + tile + " to %y[%c0, %c1] [4, 8] : " + global("6x10") +
                 "\ntile.copy %x[%c1, %c4, %c7] [2, 3, 4] : " + global("3x6x10") +
                 " to %q : " + cube + "\ntile.copy %q[1, 0, 0] [1, 1, 4] : " + cube +
                 " to %y[%c5, %c0] [1, 4] : " + global("6x10") +
                 "\ntile.copy %x[%c2, %c5, %c8] [1, 1, 1] : " + global("3x6x10") +
                 " to %y[%c0, %c0] [1, 1] : " + global("6x10") + "\n"),
        {{"f32", {3, 6, 10}}, {"f32", {6, 10}}});
}

TEST_P(OpsTest, CopiesTranspose) {
  const std::string tile = buffer("5x7", "f16", "shared"), turned = buffer("7x5", "f32", "shared");
  check(wrap({global("5x7", "f16"), global("7x5")},
             "%s = tile.alloc \"s\" : " + tile + "\n%t = tile.alloc \"t\" : " + turned +
                 "\ntile.copy %x[0, 0] [5, 7] : " + global("5x7", "f16") + " to %s : " + tile +
                 "\ntile.copy %s : " + tile + " to %t : " + turned +
                 " {transpose}\ntile.copy %t : " + turned +
                 " to %y[0, 0] [7, 5] : " + global("7x5") + "\n"),
        {{"f16", {5, 7}}, {"f32", {7, 5}}});
}

TEST_P(OpsTest, FillsRegions) {
  const std::string tile = buffer("6x9", "si32", "shared");
  check(wrap({global("6x9", "si32")}, "%s = tile.alloc \"s\" : " + tile +
                                          "\n%i0 = arith.constant 0 : i32\ntile.fill %s : " + tile +
                                          " with %i0 : i32\ntile.fill %s[%c1, %c2] [3, 4] : " +
                                          tile + " with %i7 : i32\ntile.copy %s : " + tile +
                                          " to %x[0, 0] [6, 9] : " + global("6x9", "si32") + "\n"),
        {{"si32", {6, 9}}});
}

struct GemmCase {
  std::string a, b, c;
  bool transposeA, transposeB, clear;
};

TEST_P(OpsTest, GemmOfAllTypesAndTransposes) {
  for (const GemmCase& gemm :
       std::vector<GemmCase>{{"f32", "f32", "f32", true, false, false},
                             {"f32", "f32", "f32", false, true, true},
                             {"f16", "f16", "f32", true, true, false},
                             {"bf16", "bf16", "f32", false, true, false},
                             {"f64", "f64", "f64", false, false, false},
                             {"si8", "si8", "si32", false, true, false},
                             {"ui8", "si8", "si32", true, false, true},
                             {"f8E4M3FN", "f8E4M3FN", "f32", false, true, false},
                             {"f32", "f32", "f64", false, false, false}}) {
    SCOPED_TRACE(gemm.a + " " + gemm.c + (gemm.transposeA ? " A'" : "") +
                 (gemm.transposeB ? " B'" : ""));
    const std::string shapeA = gemm.transposeA ? "9x21" : "21x9";
    const std::string shapeB = gemm.transposeB ? "35x9" : "9x35";
    const std::string a = buffer(shapeA, gemm.a, "shared"), b = buffer(shapeB, gemm.b, "shared");
    const std::string c = buffer("21x35", gemm.c, "fragment");
    auto whole = [](const std::string& shape) {
      const size_t cross = shape.find('x');
      return "[0, 0] [" + shape.substr(0, cross) + ", " + shape.substr(cross + 1) + "]";
    };
    const std::string attributes = std::string(" {") + (gemm.transposeA ? "transpose_a, " : "") +
                                   (gemm.transposeB ? "transpose_b, " : "") +
                                   (gemm.clear ? "clear_accum" : "unused") + "}";
    auto dims = [](const std::string& shape) {
      const size_t cross = shape.find('x');
      return std::vector<int64_t>{std::stoi(shape.substr(0, cross)),
                                  std::stoi(shape.substr(cross + 1))};
    };
    check(wrap({global(shapeA, gemm.a), global(shapeB, gemm.b), global("21x35", gemm.c)},
               "%a = tile.alloc \"a\" : " + a + "\n%bb = tile.alloc \"b\" : " + b +
                   "\n%cc = tile.alloc \"c\" : " + c + "\ntile.copy %x" + whole(shapeA) + " : " +
                   global(shapeA, gemm.a) + " to %a : " + a + "\ntile.copy %y" + whole(shapeB) +
                   " : " + global(shapeB, gemm.b) + " to %bb : " + b +
                   "\ntile.copy %z[0, 0] [21, 35] : " + global("21x35", gemm.c) + " to %cc : " + c +
                   "\ntile.gemm %a : " + a + ", %bb : " + b + " into %cc : " + c + attributes +
                   "\ntile.copy %cc : " + c + " to %z[0, 0] [21, 35] : " + global("21x35", gemm.c) +
                   "\n"),
          {{gemm.a, dims(shapeA)}, {gemm.b, dims(shapeB)}, {gemm.c, {21, 35}}}, {}, 1e-4);
  }
}

TEST_P(OpsTest, GemmOfBfloat16InPairs) {
  // Even depths and whole vectors of columns: where the CPU has vdpbf16ps, these take it.
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true}) {
      SCOPED_TRACE(testing::Message() << transposeA << transposeB);
      const std::string shapeA = transposeA ? "10x22" : "22x10",
                        shapeB = transposeB ? "48x10" : "10x48";
      const std::string a = buffer(shapeA, "bf16", "shared"), b = buffer(shapeB, "bf16", "shared");
      const std::string c = buffer("22x48", "f32", "fragment");
      auto whole = [](std::string shape) {
        shape.replace(shape.find('x'), 1, ", ");
        return "[0, 0] [" + shape + "]";
      };
      const std::string attributes = std::string(" {") + (transposeA ? "transpose_a, " : "") +
                                     (transposeB ? "transpose_b, " : "") + "unused}";
      check(wrap({global(shapeA, "bf16"), global(shapeB, "bf16"), global("22x48")},
                 "%a = tile.alloc \"a\" : " + a + "\n%bb = tile.alloc \"b\" : " + b +
                     "\n%cc = tile.alloc \"c\" : " + c + "\ntile.copy %x" + whole(shapeA) + " : " +
                     global(shapeA, "bf16") + " to %a : " + a + "\ntile.copy %y" + whole(shapeB) +
                     " : " + global(shapeB, "bf16") + " to %bb : " + b +
                     "\ntile.copy %z[0, 0] [22, 48] : " + global("22x48") + " to %cc : " + c +
                     "\ntile.gemm %a : " + a + ", %bb : " + b + " into %cc : " + c + attributes +
                     "\ntile.copy %cc : " + c + " to %z[0, 0] [22, 48] : " + global("22x48") +
                     "\n"),
            {{"bf16", {transposeA ? 10 : 22, transposeA ? 22 : 10}},
             {"bf16", {transposeB ? 48 : 10, transposeB ? 10 : 48}},
             {"f32", {22, 48}}},
            {}, 1e-4);
    }
}

TEST_P(OpsTest, GemmOfRegionsWithConditionalClear) {
  const std::string a = buffer("2x16x8", "f32", "shared"), b = buffer("8x64", "f32", "shared");
  const std::string c = buffer("16x32", "f32", "fragment");
  for (const char* flag : {"true", "false"})
    check(wrap({global("2x16x8"), global("8x64"), global("16x32")},
               std::string("%flag = arith.constant ") + flag + "\n%a = tile.alloc \"a\" : " + a +
                   "\n%bb = tile.alloc \"b\" : " + b + "\n%cc = tile.alloc \"c\" : " + c +
                   "\ntile.copy %x[0, 0, 0] [2, 16, 8] : " + global("2x16x8") + " to %a : " + a +
                   "\ntile.copy %y[0, 0] [8, 64] : " + global("8x64") + " to %bb : " + b +
                   "\ntile.copy %z[0, 0] [16, 32] : " + global("16x32") + " to %cc : " + c +
                   "\ntile.gemm %a[%c1, 0, 0] [1, 16, 8] : " + a + ", %bb[0, %c32] [8, 32] : " + b +
                   " into %cc : " + c + " clear(%flag)\ntile.copy %cc : " + c +
                   " to %z[0, 0] [16, 32] : " + global("16x32") + "\n"),
          {{"f32", {2, 16, 8}}, {"f32", {8, 64}}, {"f32", {16, 32}}}, {}, 1e-4);
}

TEST_P(OpsTest, ParallelWithChoiceAndMath) {
  const std::string tile = buffer("16x33", "f32", "fragment");
  check(wrap({global("16x33"), global("16x33")}, "%s = tile.alloc \"s\" : " + tile +
                                                     "\ntile.copy %x[0, 0] [16, 33] : " +
                                                     global("16x33") + " to %s : " + tile + R"(
tile.parallel (%i, %j) in [16, 33] {
  %v = tile.load %s[%i, %j] : )" + tile + R"(
  %p = arith.cmpf ogt, %v, %zero : f32
  %e = math.exp %v : f32
  %t = math.tanh %v : f32
  %f = math.erf %v : f32
  %a = math.absf %v : f32
  %l = math.log %a : f32
  %r = math.rsqrt %a : f32
  %sum = arith.addf %t, %f : f32
  %sum1 = arith.addf %sum, %l : f32
  %sum2 = arith.addf %sum1, %r : f32
  %chosen = arith.select %p, %e, %sum2 : f32
  %k = arith.remui %j, %c3 : index
  %isOne = arith.cmpi eq, %k, %c1 : index
  scf.if %isOne {
    tile.store %chosen, %y[%i, %j] : )" + global("16x33") +
                                                     R"(
  } else {
    %n = arith.negf %chosen : f32
    tile.store %n, %y[%i, %j] : )" + global("16x33") +
                                                     "\n  }\n}\n"),
        {{"f32", {16, 33}}, {"f32", {16, 33}}}, {}, 1e-5);
}

TEST_P(OpsTest, EveryMathFunction) {
  const char* const unary[] = {
      "math.exp",       "math.exp2",  "math.expm1", "math.log",   "math.log2", "math.log10",
      "math.log1p",     "math.sqrt",  "math.rsqrt", "math.sin",   "math.cos",  "math.tan",
      "math.asin",      "math.acos",  "math.atan",  "math.sinh",  "math.cosh", "math.tanh",
      "math.asinh",     "math.atanh", "math.erf",   "math.floor", "math.ceil", "math.round",
      "math.roundeven", "math.trunc", "math.absf",  "arith.negf"};
  const char* const binary[] = {"math.powf",     "math.atan2",    "math.copysign",  "arith.remf",
                                "arith.maxnumf", "arith.minnumf", "arith.maximumf", "arith.divf"};
  for (const char* type : {"f32", "f64", "f16"}) {
    const std::string t(type);
    auto apply = [&](const std::string& call, const std::string& name) {
      SCOPED_TRACE(name + " of " + t);
      // Arguments in (0, 1): |x| mod 1, kept off the ends.
      const std::string text = wrap(
          {global("70", t), global("70", t), global("70", t)},
          "%half = arith.constant 0.5 : " + t + "\n%eighth = arith.constant 0.125 : " + t +
              "\ntile.parallel (%i) in [70] {\n  %x0 = tile.load %x[%i] : " + global("70", t) +
              "\n  %x1 = math.tanh %x0 : " + t + "\n  %x2 = math.absf %x1 : " + t +
              "\n  %x3 = arith.mulf %x2, %half : " + t + "\n  %a = arith.addf %x3, %eighth : " + t +
              "\n  %v = tile.load %y[%i] : " + global("70", t) + "\n  %r = " + call + " : " + t +
              "\n  tile.store %r, %z[%i] : " + global("70", t) + "\n}\n");
      check(text, {{t, {70}}, {t, {70}}, {t, {70}}}, {}, t == "f64" ? 1e-12 : 1e-5);
    };
    for (const char* name : unary)
      apply(std::string(name) + " %a", name);
    for (const char* name : binary)
      apply(std::string(name) + " %a, %v", name);
    apply("math.fma %a, %v, %a", "math.fma");
  }
}

TEST_P(OpsTest, ParallelGuardsEveryAccess) {
  // Loads before the start and past the end read 0; stores there are dropped; an index may come
  // from memory.
  check(wrap({global("50"), global("50", "si32"), global("50")},
             R"(tile.parallel (%i) in [64] {
  %before = arith.subi %i, %c5 : index
  %v = tile.load %x[%before] : )" +
                 global("50") + R"(
  %n = tile.load %y[%i] : )" +
                 global("50", "si32") + R"(
  %masked = arith.remsi %n, %i7 : i32
  %at = arith.index_cast %masked : i32 to index
  %u = tile.load %x[%at] : )" +
                 global("50") + R"(
  %s = arith.addf %u, %v : f32
  tile.store %s, %z[%i] : )" +
                 global("50") + "\n}\n"),
        {{"f32", {50}}, {"si32", {50}}, {"f32", {50}}});
}

TEST_P(OpsTest, ReducesEveryDimAndKind) {
  for (const char* type : {"f32", "f16", "bf16", "si32", "ui8", "si64"})
    for (const char* kind : {"sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor"})
      for (int dim : {0, 1, 2}) {
        const bool isFloat = std::string(type).find('f') != std::string::npos;
        if (isFloat && std::string(kind).substr(0, 3) == "bit")
          continue;
        SCOPED_TRACE(std::string(type) + " " + kind + " " + std::to_string(dim));
        const char* kept[] = {"5x70", "3x70", "3x5"};
        const std::string from = buffer("3x5x70", type, "fragment"),
                          to = buffer(kept[dim], type, "fragment");
        const std::string out = global(kept[dim], type);
        std::string whole = std::string("[0, 0] [") + kept[dim] + "]";
        whole.replace(whole.rfind('x'), 1, ", ");
        const std::vector<int64_t> dims[] = {{5, 70}, {3, 70}, {3, 5}};
        // Sums are rounded once by the reference, and float16 sums of ours go through float32.
        check(wrap({global("3x5x70", type), out},
                   "%s = tile.alloc \"s\" : " + from + "\n%t = tile.alloc \"t\" : " + to +
                       "\ntile.copy %x[0, 0, 0] [3, 5, 70] : " + global("3x5x70", type) +
                       " to %s : " + from + "\ntile.copy %y" + whole + " : " + out +
                       " to %t : " + to + "\ntile.reduce " + kind + " %s : " + from + " dim " +
                       std::to_string(dim) + " into %t : " + to + (dim == 1 ? "" : " clear") +
                       "\ntile.copy %t : " + to + " to %y" + whole + " : " + out + "\n"),
              {{type, {3, 5, 70}}, {type, dims[dim]}}, {}, 1e-5);
      }
}

TEST_P(OpsTest, ScansBothWays) {
  for (const char* type : {"f32", "si32"})
    for (const char* suffix : {"", " reverse"})
      for (int dim : {0, 1}) {
        const std::string tile = buffer("6x10", type, "shared"),
                          whole = "[0, 0] [6, 10] : " + global("6x10", type);
        check(wrap({global("6x10", type)},
                   "%s = tile.alloc \"s\" : " + tile + "\ntile.copy %x" + whole +
                       " to %s : " + tile + "\ntile.scan sum %s : " + tile + " dim " +
                       std::to_string(dim) + " into %s : " + tile + suffix +
                       "\ntile.copy %s : " + tile + " to %x" + whole + "\n"),
              {{type, {6, 10}}}, {}, 1e-5);
      }
}

TEST_P(OpsTest, LoopsBreakContinueAndVariables) {
  const std::string var = buffer("", "si32", "var"), out = global("64", "si32");
  check(wrap({out}, "%n = tile.alloc \"n\" : " + var +
                        "\n%i0 = arith.constant 0 : i32\n%i1 = arith.constant 1 : i32\n" +
                        "tile.store %i0, %n[] : " + var + R"(
tile.for %i = %c0 to %c64 step %c1 serial {
  %r = arith.remui %i, %c3 : index
  %skip = arith.cmpi eq, %r, %c1 : index
  scf.if %skip { tile.continue }
  %old = tile.load %n[] : )" +
                        var + R"(
  %new = arith.addi %old, %i1 : i32
  tile.store %new, %n[] : )" +
                        var + R"(
  tile.store %new, %x[%i] : )" +
                        out + R"(
  %many = arith.cmpi sgt, %new, %i7 : i32
  scf.if %many { tile.break }
}
tile.while {
  %v = tile.load %n[] : )" +
                        var + R"(
  %go = arith.cmpi sgt, %v, %i0 : i32
  tile.condition %go
} do {
  %v = tile.load %n[] : )" +
                        var + R"(
  %less = arith.subi %v, %i1 : i32
  tile.store %less, %n[] : )" +
                        var + R"(
  %k = arith.index_cast %v : i32 to index
  %at = arith.addi %k, %c32 : index
  tile.store %less, %x[%at] : )" +
                        out + R"(
  tile.yield
}
)"),
        {{"si32", {64}}});
}

TEST_P(OpsTest, AtomicsUpdate) {
  const std::string sums = global("4"), counts = global("4", "si32"),
                    tile = buffer("4", "f32", "shared");
  check(wrap({sums, counts, global("4")},
             R"(%i1 = arith.constant 1 : i32
%s = tile.alloc "s" : )" +
                 tile + "\ntile.copy %z[0] [4] : " + global("4") + " to %s : " + tile + R"(
tile.parallel (%i) in [8] {
  %slot = arith.remui %i, %c5 : index
  tile.atomic add %x[%slot], %one : f32 : )" +
                 sums + R"(
  %old = tile.atomic max %y[%slot], %i7 : i32 : )" +
                 counts + R"( -> i32
}
tile.atomic_tile add %s : )" +
                 tile + " into %x[0] [4] : " + sums + "\n",
             "", "%c3"),
        {{"f32", {4}}, {"si32", {4}}, {"f32", {4}}}, {}, 1e-6);
}

TEST_P(OpsTest, DynamicShapesStridesAndViews) {
  const std::string matrix = "!tile.buffer<?x?xf32, global, strided>",
                    out = "!tile.buffer<?x8xf32, global>";
  const std::string tile = buffer("4x8", "f32", "shared"), flat = buffer("32", "f32", "shared");
  const std::string text =
      "func.func @kernel(%x: " + matrix +
      " {tile.name = \"x\", tile.shape = affine_map<()[M, N] -> (M, N + 1)>, tile.strides = "
      "affine_map<()[M, N] "
      "-> (N * 2 + 3, 1)>}, %y: " +
      out + " {tile.name = \"y\", tile.shape = affine_map<()[M, N] -> (M, 8)>}, " +
      "%M: index {tile.symbol = \"M\"}, %N: index {tile.symbol = \"N\"}) attributes {tile.kernel} "
      "{\n" +
      "  %c4 = arith.constant 4 : index\n  %two = arith.constant 2.0 : f32\n" +
      "  %g = arith.ceildivui %M, %c4 : index\n  tile.launch (%b) in (%g) threads(32) {\n" +
      "    %s = tile.alloc \"s\" : " + tile + "\n    %row = arith.muli %b, %c4 : index\n" +
      "    tile.copy %x[%row, 0] [4, 8] : " + matrix + " to %s : " + tile +
      "\n    %v = tile.view %s : " + tile + " to " + flat +
      "\n    tile.parallel (%i) in [32] {\n      %e = tile.load %v[%i] : " + flat +
      "\n      %d = arith.mulf %e, %two : f32\n      tile.store %d, %v[%i] : " + flat +
      "\n    }\n    tile.copy %s : " + tile + " to %y[%row, 0] [4, 8] : " + out +
      "\n  }\n  return\n}\n";
  for (int64_t m : {1, 4, 7, 13})
    for (int64_t n : {3, 7, 20})
      check(text, {{"f32", {m, n + 1}, {2 * n + 3, 1}}, {"f32", {m, 8}}}, {m, n});
}

TEST_P(OpsTest, SmallFloatArithmeticRoundsEachStep) {
  for (const char* type : {"f16", "bf16"}) {
    const std::string t(type);
    check(wrap({global("64", t), global("64", t)},
               "tile.parallel (%i) in [64] {\n  %v = tile.load %x[%i] : " + global("64", t) +
                   "\n  %u = tile.load %y[%i] : " + global("64", t) +
                   "\n  %a = arith.mulf %v, %u : " + t + "\n  %s = arith.addf %a, %u : " + t +
                   "\n  %m = arith.maximumf %s, %v : " + t +
                   "\n  tile.store %m, %y[%i] : " + global("64", t) + "\n}\n"),
          {{t, {64}}, {t, {64}}});
  }
}

TEST_P(OpsTest, PrintsAsTheInterpreterDoes) {
  const std::string tile = buffer("3", "f16", "shared");
  const std::string text = wrap(
      {global("3", "f16")},
      "%s = tile.alloc \"s\" : " + tile + "\ntile.copy %x : " + global("3", "f16") + " to %s : " +
          tile + "\ntile.print \"only words, 100%\"\ntile.print \"one is\", %one : f32\n" +
          "tile.print \"seven is\", %i7 : i32\n%m = arith.constant -1 : i8\n" +
          "tile.print \"bits\", %m : i8 unsigned\ntile.print \"block\", %b : index\ntile.print "
          "\"\", %s : " +
          tile + "\n");
  CompiledKernel kernel(text, GetParam());
  ASSERT_TRUE(kernel.isLoaded());
  static std::string printed;
  printed.clear();
  TwLaunch launch{};
  launch.print = [](TwLaunch*, const char* what, int64_t bytes) {
    printed.append(what, size_t(bytes));
  };
  std::vector<_Float16> x = {1, 2, 3};
  const std::vector<uint64_t> slots = {slotOf(x)};
  std::vector<char> scratch(4096);
  kernel.symbol<TwBlocksFunction>("kernel_blocks")(slots.data(), scratch.data(), 0, 1, &launch);
  EXPECT_EQ(printed, "only words, 100%\none is 1.000000e+00\nseven is 7\nbits 255\nblock 0\n"
                     "s = [1.000000e+00, 2.000000e+00, 3.000000e+00]\n");
}

TEST_P(OpsTest, AssertionsStopTheKernel) {
  const std::string text = wrap(
      {global("8")}, "%x0 = tile.load %x[%c0] : " + global("8") +
                         "\n%ok = arith.cmpf olt, %x0, %two : f32\n%yes = arith.constant true\n" +
                         "tile.assert %yes, \"never\"\ntile.assert %ok, \"x is too large\"\n" +
                         "tile.store %one, %x[%c1] : " + global("8") + "\n");
  CompiledKernel kernel(text, GetParam());
  ASSERT_TRUE(kernel.isLoaded());
  std::vector<float> x(8, 0.0f);
  EXPECT_EQ(kernel.run({slotOf(x)}), 0);
  EXPECT_EQ(x[1], 1.0f);
  x = std::vector<float>(8, 5.0f);
  EXPECT_EQ(kernel.run({slotOf(x)}), 2) << "1 + the number of the assertion that failed";
  EXPECT_EQ(x[1], 5.0f) << "nothing after a failed assertion runs";
  EXPECT_NE(kernel.artifact->manifest.find("x is too large"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Levels, OpsTest, testing::Values("native", "avx2"),
                         [](const auto& info) { return info.param; });

} // namespace
} // namespace tilewright
// NOLINTEND(performance-inefficient-string-concatenation)
