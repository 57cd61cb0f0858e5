// SPDX-License-Identifier: Apache-2.0
// Kernels are run and compared with plain loops in double; every message has a case.
#include "compiler/interpreter/interpret.h"
#include "compiler/interpreter/storage.h"
#include "compiler/ir/parse_kernel.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tilewright::interpreter {
namespace {

class Interpreter : public testing::Test {
protected:
  Interpreter() {
    mlir::DialectRegistry registry;
    ir::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.disableMultithreading();
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic& diagnostic) {
      messages += diagnostic.str() + "\n";
      for (auto& note : diagnostic.getNotes())
        messages += "note: " + note.str() + "\n";
    });
  }

  bool run(llvm::StringRef text, llvm::ArrayRef<Argument> arguments,
           const InterpretOptions& options = {}) {
    auto module = ir::parseKernel(text, context);
    EXPECT_TRUE(module) << messages;
    if (!module)
      return false;
    auto kernel = *module->getOps<mlir::func::FuncOp>().begin();
    return succeeded(interpret(kernel, arguments, options));
  }

  /// Runs a kernel body over `%x: 64 x f32`, expecting failure with the message.
  void expectError(const std::string& body, const std::string& message,
                   const InterpretOptions& options = {}) {
    std::vector<float> x(64, 1.0F);
    messages.clear();
    EXPECT_FALSE(run(wrap(body), {TensorArgument{x.data(), {64}, {}}}, options));
    EXPECT_NE(messages.find(message), std::string::npos) << messages;
  }

  static std::string wrap(const std::string& body, const std::string& threads = "32") {
    return "func.func @kernel(%x: !tile.buffer<64xf32, global> {tile.name = \"x\"}) attributes "
           "{tile.kernel} {\n"
           "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%c64 = arith.constant "
           "64 : index\n"
           "%one = arith.constant 1.0 : f32\n"
           "tile.launch (%bx) in (%c1) threads(" +
           threads + ") {\n" + body + "\n}\nreturn\n}";
  }

  mlir::MLIRContext context;
  std::string messages;
};

std::vector<float> randomVector(size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (float& value : values)
    value = normal(generator);
  return values;
}

TEST_F(Interpreter, RunsAGemmWithRaggedEdges) {
  const int64_t m = 37, n = 29, k = 21;
  std::vector<float> a = randomVector(m * k, 1), b = randomVector(k * n, 2), c(m * n, -1);
  const char* text = R"(
func.func @gemm(%A: !tile.buffer<?x?xf32, global> {tile.name = "A", tile.shape = affine_map<()[M, N, K] -> (M, K)>},
                %B: !tile.buffer<?x?xf32, global> {tile.name = "B", tile.shape = affine_map<()[M, N, K] -> (K, N)>},
                %C: !tile.buffer<?x?xf32, global> {tile.name = "C", tile.shape = affine_map<()[M, N, K] -> (M, N)>},
                %scale: f32 {tile.name = "scale"}, %M: index {tile.symbol = "M"}, %N: index {tile.symbol = "N"},
                %K: index {tile.symbol = "K"}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %gx = arith.ceildivui %N, %c16 : index
  %gy = arith.ceildivui %M, %c16 : index
  %steps = arith.ceildivui %K, %c8 : index
  tile.launch (%bx, %by) in (%gx, %gy) threads(128) {
    %As = tile.alloc "As" : !tile.buffer<16x8xf32, shared>
    %Bs = tile.alloc "Bs" : !tile.buffer<8x16xf32, shared>
    %acc = tile.alloc "acc" : !tile.buffer<16x16xf32, fragment>
    tile.fill %acc : !tile.buffer<16x16xf32, fragment> with %zero : f32
    %row = arith.muli %by, %c16 : index
    %column = arith.muli %bx, %c16 : index
    tile.for %step = %c0 to %steps step %c1 pipelined(3) {
      %depth = arith.muli %step, %c8 : index
      tile.copy %A[%row, %depth] [16, 8] : !tile.buffer<?x?xf32, global> to %As : !tile.buffer<16x8xf32, shared>
      tile.copy %B[%depth, %column] [8, 16] : !tile.buffer<?x?xf32, global> to %Bs : !tile.buffer<8x16xf32, shared>
      tile.gemm %As : !tile.buffer<16x8xf32, shared>, %Bs : !tile.buffer<8x16xf32, shared>
        into %acc : !tile.buffer<16x16xf32, fragment>
    }
    tile.parallel (%i, %j) in [16, 16] {
      %value = tile.load %acc[%i, %j] : !tile.buffer<16x16xf32, fragment>
      %scaled = arith.mulf %value, %scale : f32
      %clamped = arith.maxnumf %scaled, %zero : f32
      tile.store %clamped, %acc[%i, %j] : !tile.buffer<16x16xf32, fragment>
    }
    tile.copy %acc : !tile.buffer<16x16xf32, fragment> to %C[%row, %column] [16, 16] : !tile.buffer<?x?xf32, global>
  }
  return
})";
  ASSERT_TRUE(run(text, {TensorArgument{a.data(), {m, k}, {}}, TensorArgument{b.data(), {k, n}, {}},
                         TensorArgument{c.data(), {m, n}, {}}, 0.5}))
      << messages;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double(a[i * k + l]) * double(b[l * n + j]);
      ASSERT_NEAR(c[i * n + j], std::max(0.5 * sum, 0.0), 1e-5) << i << ", " << j;
    }
}

TEST_F(Interpreter, RunsThreadsThatShuffleAndWait) {
  // Each warp sums its lanes by butterflies; thread 0 adds the two warps' sums after a barrier.
  std::vector<float> x = randomVector(64, 3);
  double sum = 0;
  for (float value : x)
    sum += double(value);
  std::string body = R"(
    %t = tile.thread_id 0
    %part = tile.alloc "part" : !tile.buffer<2xf32, shared>
    %total = tile.alloc "total" : !tile.buffer<f32, var>
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %v0 = tile.load %x[%t] : !tile.buffer<64xf32, global>
    tile.store %v0, %total[] : !tile.buffer<f32, var>
    tile.for %s = %c0 to %c5 step %c1 {
      %one32 = arith.constant 1 : i32
      %s32 = arith.index_cast %s : index to i32
      %delta = arith.shli %one32, %s32 : i32
      %v = tile.load %total[] : !tile.buffer<f32, var>
      %other = tile.shuffle xor %v, %delta : f32
      %both = arith.addf %v, %other : f32
      tile.store %both, %total[] : !tile.buffer<f32, var>
    }
    %warp = arith.divui %t, %c32 : index
    %lane = arith.remui %t, %c32 : index
    %isFirst = arith.cmpi eq, %lane, %c0 : index
    scf.if %isFirst {
      %v = tile.load %total[] : !tile.buffer<f32, var>
      tile.store %v, %part[%warp] : !tile.buffer<2xf32, shared>
    }
    tile.sync block
    %isZero = arith.cmpi eq, %t, %c0 : index
    scf.if %isZero {
      %p0 = tile.load %part[%c0] : !tile.buffer<2xf32, shared>
      %p1 = tile.load %part[%c1] : !tile.buffer<2xf32, shared>
      %sum = arith.addf %p0, %p1 : f32
      tile.store %sum, %x[%c0] : !tile.buffer<64xf32, global>
    })";
  std::string text = wrap(body, "64");
  text.insert(text.find("%one ="), "%c5 = arith.constant 5 : index\n");
  ASSERT_TRUE(run(text, {TensorArgument{x.data(), {64}, {}}})) << messages;
  EXPECT_NEAR(x[0], sum, 1e-4);
}

TEST_F(Interpreter, LeavesLoopsByBreakAndContinue) {
  // Adds the odd numbers below 10.
  std::vector<float> x(64, 0.0F);
  std::string body = R"(
    %c2 = arith.constant 2 : index
    %c10 = arith.constant 10 : index
    tile.for %i = %c0 to %c64 step %c1 {
      %isEnd = arith.cmpi eq, %i, %c10 : index
      scf.if %isEnd { tile.break }
      %bit = arith.remui %i, %c2 : index
      %isEven = arith.cmpi eq, %bit, %c0 : index
      scf.if %isEven { tile.continue }
      %old = tile.load %x[%c0] : !tile.buffer<64xf32, global>
      %i32 = arith.index_cast %i : index to i32
      %add = arith.sitofp %i32 : i32 to f32
      %new = arith.addf %old, %add : f32
      tile.store %new, %x[%c0] : !tile.buffer<64xf32, global>
    })";
  ASSERT_TRUE(run(wrap(body), {TensorArgument{x.data(), {64}, {}}})) << messages;
  EXPECT_EQ(x[0], 1 + 3 + 5 + 7 + 9);
}

TEST_F(Interpreter, ReducesAndScans) {
  std::vector<float> x = randomVector(64, 4);
  std::vector<float> expected = x;
  for (size_t i = 1; i < expected.size(); ++i)
    expected[i] = float(double(expected[i]) + double(expected[i - 1]));
  std::string body = R"(
    tile.scan sum %x[0] [64] : !tile.buffer<64xf32, global> dim 0 into %x[0] [64] : !tile.buffer<64xf32, global>)";
  ASSERT_TRUE(run(wrap(body), {TensorArgument{x.data(), {64}, {}}})) << messages;
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(x[i], expected[i], 1e-5);

  std::vector<float> y = randomVector(64, 5);
  float largest = *std::max_element(y.begin(), y.end());
  body = R"(
    %m = tile.alloc "m" : !tile.buffer<1xf32, fragment>
    tile.reduce max %x : !tile.buffer<64xf32, global> dim 0 into %m : !tile.buffer<1xf32, fragment> clear
    tile.copy %m : !tile.buffer<1xf32, fragment> to %x[0] [1] : !tile.buffer<64xf32, global>)";
  ASSERT_TRUE(run(wrap(body), {TensorArgument{y.data(), {64}, {}}})) << messages;
  EXPECT_EQ(y[0], largest);
}

TEST_F(Interpreter, RoundsLikeTheType) {
  auto bf16 = mlir::BFloat16Type::get(&context);
  EXPECT_EQ(roundTo(bf16, 1.00390625), 1.0); // a tie goes to the even neighbour
  EXPECT_EQ(roundTo(bf16, 1.01171875), 1.015625);
  EXPECT_EQ(roundTo(mlir::Float16Type::get(&context), 65520.0), INFINITY);
  EXPECT_EQ(roundTo(mlir::Float8E4M3FNType::get(&context), 1e6), 448.0); // 8 bits saturate
  EXPECT_EQ(roundTo(mlir::Float8E5M2Type::get(&context), -INFINITY), -57344.0);
  EXPECT_TRUE(std::isnan(roundTo(mlir::Float8E5M2Type::get(&context), NAN)));
  EXPECT_EQ(roundTo(mlir::Float4E2M1FNType::get(&context), NAN), 6.0); // has no NaN
  EXPECT_EQ(wrapTo(mlir::IntegerType::get(&context, 8), 200), -56);
}

TEST_F(Interpreter, ReportsIndicesOutOfRange) {
  expectError("%s = tile.alloc \"s\" : !tile.buffer<8xf32, shared>\n"
              "tile.for %i = %c0 to %c64 step %c1 { tile.store %one, %s[%i] : !tile.buffer<8xf32, "
              "shared> }",
              "index 8 is out of range for dim 0 of 's' with extent 8");
}

TEST_F(Interpreter, ReportsReadsOfWhatWasNeverWritten) {
  expectError("%s = tile.alloc \"s\" : !tile.buffer<8xf32, shared>\n"
              "%v = tile.load %s[%c1] : !tile.buffer<8xf32, shared>",
              "reads element [1] of 's', which was never written");
}

TEST_F(Interpreter, ReportsRacesInParallelLoops) {
  expectError(
      "tile.parallel (%i) in [4] { tile.store %one, %x[%c0] : !tile.buffer<64xf32, global> }",
      "two iterations of the parallel loop use element [0] of 'x', and one of them writes it");
}

TEST_F(Interpreter, ReducersAreUpdatedByAllIterations) {
  const std::string begin = "%q = tile.alloc \"q\" {reducer = \"sum\"} : !tile.buffer<1xf32, "
                            "fragment>\n"
                            "tile.fill %q : !tile.buffer<1xf32, fragment> with %one : f32\n"
                            "tile.parallel (%i) in [64] {\n"
                            "%a = tile.load %x[%i] : !tile.buffer<64xf32, global>\n"
                            "%b = tile.load %q[%c0] : !tile.buffer<1xf32, fragment>\n";
  const std::string end = "tile.store %s, %q[%c0] : !tile.buffer<1xf32, fragment>\n}\n";
  std::vector<float> x(64, 2.0F);
  ASSERT_TRUE(run(wrap(begin + "%s = arith.addf %a, %b : f32\n" + end +
                       "%t = tile.load %q[%c0] : !tile.buffer<1xf32, fragment>\n"
                       "tile.store %t, %x[%c1] : !tile.buffer<64xf32, global>"),
                  {TensorArgument{x.data(), {64}, {}}}))
      << messages;
  EXPECT_EQ(x[1], 129);
  const std::string race =
      "two iterations of the parallel loop use element [0] of 'q', and one of them writes it";
  expectError(begin + "%s = arith.mulf %a, %b : f32\n" + end, race);
  expectError(begin + "%s = arith.addf %b, %b : f32\n" + end, race);
}

TEST_F(Interpreter, ReportsThreadsThatWaitForever) {
  expectError("%t = tile.thread_id 0\n%isZero = arith.cmpi eq, %t, %c0 : index\n"
              "scf.if %isZero { tile.sync block }",
              "thread 0 waits here for threads that never come");
  EXPECT_NE(messages.find("thread 1 has ended"), std::string::npos) << messages;
}

TEST_F(Interpreter, ReportsThreadsThatDisagree) {
  expectError("%t = tile.thread_id 0\n%s = tile.alloc \"s\" : !tile.buffer<64xf32, shared>\n"
              "tile.copy %x[%t] [1] : !tile.buffer<64xf32, global> to %s[0] [1] : "
              "!tile.buffer<64xf32, shared>",
              "threads of a block take part in this operation with different values: 0 in thread "
              "0, 1 in thread 1");
}

TEST_F(Interpreter, ReportsEndlessKernels) {
  InterpretOptions options;
  options.maxSteps = 1000;
  expectError("%turns = arith.constant 1000000 : index\n%by = arith.constant 1 : index\n"
              "tile.for %i = %c0 to %turns step %by { %j = arith.addi %i, %i : index }",
              "kernel ran 1000 operations without coming to an end", options);
}

TEST_F(Interpreter, ReportsWhileLoopsOfTooManyTurns) {
  // Its state is another one at each turn, so no turn shows that it never ends.
  const char* counts = "%by = arith.constant 1 : i64\n%zero = arith.constant 0 : i64\n"
                       "%n = tile.alloc \"n\" : !tile.buffer<si64, var>\n"
                       "tile.store %zero, %n[] : !tile.buffer<si64, var>\n"
                       "tile.while {\n  %a = tile.load %n[] : !tile.buffer<si64, var>\n"
                       "  %goes = arith.cmpi sge, %a, %zero : i64\n  tile.condition %goes\n} do {\n"
                       "  %a = tile.load %n[] : !tile.buffer<si64, var>\n"
                       "  %b = arith.addi %a, %by : i64\n"
                       "  tile.store %b, %n[] : !tile.buffer<si64, var>\n  tile.yield\n}";
  InterpretOptions options;
  options.maxSteps = 400'000;
  options.moreSteps = "; or later";
  expectError(counts, "this loop ran 1000 turns without coming to an end; or later", options);
}

TEST_F(Interpreter, EndsWhenCancelled) {
  std::atomic<bool> cancel = true;
  InterpretOptions options;
  options.cancel = &cancel;
  expectError("tile.while { %true = arith.constant true\n tile.condition %true } do { tile.yield }",
              "interrupted", options);
}

TEST_F(Interpreter, ReportsArithmeticWithoutResult) {
  expectError("%q = arith.divui %c64, %c0 : index", "integer division of 64 by zero");
  expectError(
      "%v = arith.constant 1 : i32\n%n = arith.constant 40 : i32\n%q = arith.shli %v, %n : i32",
      "shift of a 32-bit integer by 40");
  EXPECT_EQ(messages.find("has no result"), std::string::npos) << messages; // it is told once
}

TEST_F(Interpreter, ReportsWhatItDoesNotRun) {
  expectError("scf.execute_region { scf.yield }",
              "the reference interpreter doesn't run 'scf.execute_region'");
  expectError("%two = arith.constant 2 : i32\n%p = math.fpowi %one, %two : f32, i32",
              "the reference interpreter has no result for 'math.fpowi'");
}

TEST_F(Interpreter, ReportsSizesThatDoNotFit) {
  expectError("%zero = arith.subi %c1, %c1 : index\n"
              "tile.for %i = %c0 to %c64 step %zero { tile.yield }",
              "loop has step 0 but steps must be positive");
  expectError("%c9 = arith.constant 9 : index\n"
              "%v = tile.view %x dims(%c9) : !tile.buffer<64xf32, global> to !tile.buffer<?xf32, "
              "global>",
              "view has 288 bits but 'x' has 2048");
  expectError("%s = tile.alloc \"s\" : !tile.buffer<64xf32, shared>\n"
              "%c8 = arith.constant 8 : index\n%c9 = arith.constant 9 : index\n"
              "tile.copy %x[0] [%c8] : !tile.buffer<64xf32, global> to %s[0] [%c9] : "
              "!tile.buffer<64xf32, shared>",
              "copy source has extents [8] but target has [9]");
  expectError("%a = tile.alloc \"a\" : !tile.buffer<8x8xf32, shared>\n"
              "%zero = arith.constant 0.0 : f32\n%c4 = arith.constant 4 : index\n"
              "tile.fill %a : !tile.buffer<8x8xf32, shared> with %zero : f32\n"
              "%c = tile.alloc \"c\" : !tile.buffer<8x8xf32, shared>\n"
              "tile.gemm %a[0, 0] [%c4, 8] : !tile.buffer<8x8xf32, shared>, %a : "
              "!tile.buffer<8x8xf32, shared> into %c : !tile.buffer<8x8xf32, shared>",
              "gemm of 8x8 elements, but a has 4x8 and b has 8x8");
}

TEST_F(Interpreter, ReportsSymbolsThatNoShapeGives) {
  EXPECT_FALSE(run("func.func @k(%n: index {tile.symbol = \"n\"}) attributes {tile.kernel} {\n"
                   "tile.launch (%bx) in (%n) threads(32) { tile.yield }\nreturn\n}",
                   {}));
  EXPECT_NE(messages.find("the shapes of the arguments don't give every symbol a value"),
            std::string::npos)
      << messages;
}

TEST_F(Interpreter, ReportsFailedAssertions) {
  expectError("%false = arith.constant false\ntile.assert %false, \"sizes agree\"",
              "assertion failed: sizes agree");
  expectError("%false = arith.constant false\ntile.assert %false, \"it ends here\" {tile.check}",
              "it ends here");
}

TEST_F(Interpreter, PrintsValuesAndBuffers) {
  std::vector<float> x(64, 2.0F);
  std::string printed;
  InterpretOptions options;
  options.printed = &printed;
  ASSERT_TRUE(run(
      wrap(
          "tile.print \"one is\", %one : f32\n"
          "%s = tile.alloc \"s\" : !tile.buffer<3xf32, shared>\n"
          "tile.copy %x[0] [3] : !tile.buffer<64xf32, global> to %s : !tile.buffer<3xf32, shared>\n"
          "tile.print \"\", %s : !tile.buffer<3xf32, shared>"),
      {TensorArgument{x.data(), {64}, {}}}, options))
      << messages;
  EXPECT_EQ(printed, "one is 1.000000e+00\ns = [2.000000e+00, 2.000000e+00, 2.000000e+00]\n");
}

TEST_F(Interpreter, ReportsArgumentsThatDoNotFit) {
  std::vector<float> x(64);
  EXPECT_FALSE(run(wrap(""), {}));
  EXPECT_NE(messages.find("kernel takes 1 arguments but got 0"), std::string::npos) << messages;
  EXPECT_FALSE(run(wrap(""), {TensorArgument{x.data(), {8, 8}, {}}}));
  EXPECT_NE(messages.find("argument 0 is a tensor of rank 2"), std::string::npos) << messages;
  EXPECT_FALSE(run(wrap(""), {TensorArgument{x.data(), {64}, {1, 2}}}));
  EXPECT_NE(messages.find("argument 0 has 1 dims but 2 strides"), std::string::npos) << messages;
  EXPECT_FALSE(run(wrap(""), {int64_t(1)}));
  EXPECT_NE(messages.find("argument 0 is a number but its type is"), std::string::npos) << messages;
}

TEST_F(Interpreter, DoesNotRunFunctionsInC) {
  expectError("tile.call \"observe\"(%one) : (f32) -> ()",
              "the reference interpreter does not run the C function 'observe': it has no Python "
              "reference");
}

TEST_F(Interpreter, ReadsMemoryAtAnAddress) {
  std::vector<float> x(64, 1.0F), there = {1, 2, 3, 4, 5, 6};
  std::string body = "%p = arith.constant " +
                     std::to_string(reinterpret_cast<intptr_t>(there.data())) +
                     " : i64\n"
                     "%t = tile.tensor_at %p : !tile.buffer<2x3xf32, global>\n"
                     "%v = tile.load %t[%c1, %c0] : !tile.buffer<2x3xf32, global>\n"
                     "tile.store %v, %x[%c0] : !tile.buffer<64xf32, global>\n"
                     "%q = tile.address %t[%c0, %c1] : !tile.buffer<2x3xf32, global>\n"
                     "%u = tile.tensor_at %q strides(%c1) : !tile.buffer<2xf32, global, strided>\n"
                     "%w = tile.load %u[%c1] : !tile.buffer<2xf32, global, strided>\n"
                     "tile.store %w, %x[%c1] : !tile.buffer<64xf32, global>\n";
  ASSERT_TRUE(run(wrap(body), {TensorArgument{x.data(), {64}, {}}})) << messages;
  EXPECT_EQ(x[0], 4);
  EXPECT_EQ(x[1], 3);
}

} // namespace
} // namespace tilewright::interpreter
