// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/kernel_fixture.h"

namespace tilewright {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

class AssertionsTest : public KernelTest {};

TEST_F(AssertionsTest, PrintsAndAsserts) {
  Value u = line().scalar("u", dt("uint8"));
  launch();
  Buffer S = alloc("S", {4});
  line().print(S, "tile");
  line().print(u, "scalar");
  line().print(std::monostate{}, "here");
  line().deviceAssert(b.binary("gt", u, b.constant(int64_t{3})), "too small");
  line().barrier();
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("tile.print \"scalar\", %arg0 : i8 unsigned"));
  EXPECT_THAT(text, HasSubstr("tile.assert %2, \"too small\""));
  EXPECT_THAT(text, ContainsRegex("tile.sync +block"));
}

TEST_F(AssertionsTest, ChecksWhatIsAssumedOfArgumentsAlone) {
  Value u = line().scalar("u", dt("int32"));
  const std::vector<Value> ids = launch({int64_t{4}}, {int64_t{32}});
  Buffer S = alloc("S", {4}, "shared", "int32");
  line().assume(b.binary("gt", u, b.constant(int64_t{3})));
  line().assume(b.binary("gt", ids[0], b.constant(int64_t{3})));
  line().assume(b.binary("gt", b.load(S, std::vector<Index>{int64_t{0}}), b.constant(int64_t{3})));
  line().assume(b.constant(true));
  const std::string text = finishedText();
  EXPECT_EQ(text.find("tile.assert"), text.rfind("tile.assert"));
  EXPECT_THAT(text, HasSubstr("\"T.assume does not hold\""));
}

TEST_F(AssertionsTest, WaitsAreMarked) {
  Value u = line().scalar("u", dt("int32"));
  launch();
  line().waitUntil(b.binary("gt", u, b.constant(int64_t{3})), "never ends");
  EXPECT_THAT(finishedText(), HasSubstr("\"never ends\" {tile.check, tile.wait}"));
}

TEST_F(AssertionsTest, RefusesWaitsForElements) {
  Value u = line().scalar("u", dt("int32"));
  launch();
  b.beginParallel(std::vector<Index>{int64_t{4}}, {});
  line().waitUntil(b.binary("gt", u, b.constant(int64_t{3})), "never ends");
  b.endParallel();
  EXPECT_THAT(messages(),
              ElementsAre("a wait for a memory barrier stands inside of T.Parallel, which "
                          "holds code on single elements only"));
}

TEST_F(AssertionsTest, RefusesWhatIsAssumedAndNeverHolds) {
  launch();
  line().assume(b.constant(false));
  expectError("the condition of T.assume never holds");
}

TEST_F(AssertionsTest, RefusesFalseAssertions) {
  launch();
  line().deviceAssert(b.constant(false), "never");
  expectError("the assertion is always false: never");
}

} // namespace
} // namespace tilewright
