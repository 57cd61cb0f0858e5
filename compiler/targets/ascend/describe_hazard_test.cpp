// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/parse_kernel.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/targets/ascend/describe_hazard.h"

#include <gtest/gtest.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using model::Finding;

TEST(DescribeFinding, NamesTheCaseAndWhatWasTooLarge) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  DialectRegistry registry;
  ir::registerDialects(registry);
  context.appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module =
      ir::parseKernel("func.func @f(%n: index {tile.name = \"n\"}, %m: index {tile.name = \"m\"}, "
                      "%A: !tile.buffer<?x4xf32, global> {tile.name = \"A\"}) {\n"
                      "%c0 = arith.constant 0 : index\n"
                      "%d = tile.dim %A, 0 : !tile.buffer<?x4xf32, global>\n"
                      "tile.for %i = %c0 to %n step %d {\n}\nreturn\n}\n",
                      context);
  ASSERT_TRUE(module);
  func::FuncOp kernel = *module->getOps<func::FuncOp>().begin();
  model::Node loop;
  std::map<unsigned, Value> values{{1, kernel.getArgument(0)}, {2, kernel.getArgument(1)}};
  kernel.walk([&](tile::ForOp op) {
    op->setLoc(FileLineColLoc::get(&context, "kernel.py", 12, 1));
    loop.tag = op;
    values[3] = op.getStep();
  });
  using enum Finding::Kind;
  const auto text = [&](const Finding& finding) { return describe(finding, values); };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({.values = {{1, {2, 2}}, {2, {5, model::kEndless}}, {3, {-model::kEndless, 0}}}}),
            "for example where n is 2, m is at least 5 and A.shape[0] is at most 0");
  EXPECT_EQ(
      text({.values = {{1, {2, 4}}}, .turnsOfEarlier = {{&loop, 0}}, .turnsOfLater = {{&loop, 2}}}),
      "for example where n is from 2 to 4 and from turn 0 to turn 2 of the loop in line 12");
  EXPECT_EQ(
      text({.kind = Turns, .values = {{1, {7, 7}}}, .loop = &loop}),
      "this may be a false alarm: where n is 7, not all turns of the loop in line 12 are told "
      "apart");
  EXPECT_EQ(text({.kind = Statements, .values = {{1, {5, model::kEndless}}}}),
            "this may be a false alarm: where n is at least 5, more than 400 statements, in all "
            "turns of the loops, decide it");
  EXPECT_EQ(text({.kind = Cases, .values = {{1, {0, 9}}, {2, {0, 9}}}}),
            "this may be a false alarm: what n and m may be makes more than 200 cases");
  EXPECT_EQ(text({.kind = Cases}),
            "this may be a false alarm: what the arguments may be makes more than 200 cases");
}

} // namespace
} // namespace tilewright::ascend
