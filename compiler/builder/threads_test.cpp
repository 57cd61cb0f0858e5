// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/kernel_fixture.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

class ThreadsTest : public KernelTest {
protected:
  Value one = b.constant(int64_t{1});
};

TEST_F(ThreadsTest, ShufflesAndVotesKeepDtypes) {
  launch();
  Value id = b.threadBinding(0);
  EXPECT_EQ(b.shuffle("xor", id, one).dtype(), Dtype::int32());
  EXPECT_EQ(b.vote("ballot", "warp", id).dtype(), dt("uint64"));
  EXPECT_EQ(b.vote("count", "block", id).dtype(), Dtype::int32());
  EXPECT_EQ(b.vote("any", "block", id).dtype(), Dtype::boolean());
  b.barrier("warp");
  b.barrier("block", 3, 64);
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("tile.shuffle xor"));
  EXPECT_THAT(text, HasSubstr("tile.vote ballot warp"));
  EXPECT_THAT(text, HasSubstr("tile.sync block barrier(3, 64)"));
}

TEST_F(ThreadsTest, UnknownShuffle) {
  launch();
  line().shuffle("sideways", one, one);
  expectError("there is no shuffle 'sideways': it is index, xor, up or down");
}

TEST_F(ThreadsTest, ThreadsOfIterationsAreNotKnown) {
  launch();
  std::vector<Index> extents{int64_t{32}};
  Value i = line().beginParallel(extents, {}).front();
  b.shuffle("xor", i, one);
  b.vote("any", "warp", i);
  b.endParallel();
  std::vector<std::string> expected;
  for (std::string what : {"a shuffle", "a vote of threads"})
    expected.push_back(what + " stands inside of T.Parallel, of whose iterations no thread is "
                              "known; take the thread's number, T.get_thread_binding(), in place "
                              "of the loop");
  EXPECT_THAT(messages(), testing::ElementsAreArray(expected));
}

TEST_F(ThreadsTest, WidthOfAShuffle) {
  launch();
  line().shuffle("xor", one, one, 12);
  expectError("the width of a shuffle is 12, but it must be 1, 2, 4, 8, 16 or 32");
}

TEST_F(ThreadsTest, LaneOfAShuffle) {
  launch();
  line().shuffle("xor", one, b.constant(0.5));
  expectError("the lane of a shuffle must be an integer, but it is of dtype float32");
}

TEST_F(ThreadsTest, UnknownVote) {
  launch();
  line().vote("most", "warp", one);
  expectError("there is no vote 'most': it is any, all, ballot or count");
}

TEST_F(ThreadsTest, VotesHaveTheirGroups) {
  launch();
  line().vote("ballot", "block", one);
  expectError("the vote 'ballot' is not taken by a block");
}

TEST_F(ThreadsTest, UnknownGroup) {
  launch();
  line().barrier("team");
  expectError("there is no group of threads 'team': it is warp, block or grid");
}

TEST_F(ThreadsTest, NamedBarriers) {
  launch();
  line().barrier("block", 16, 64);
  expectError("the barrier's number is 16, but it must be from 0 to 15");
}

TEST_F(ThreadsTest, NamedBarriersAreForWarps) {
  launch();
  line().barrier("block", 1, 40);
  expectError("a named barrier is for whole warps of 32 threads, not for 40 threads");
}

TEST_F(ThreadsTest, TensorsAtAddresses) {
  Value address = b.scalar("p", dt("uint64"));
  Value n = b.symbol("n", Dtype::int32());
  tensor("A", {n});
  launch();
  Buffer there = b.tensorAt(address, std::vector<Index>{n, int64_t{4}}, Dtype::float32(), {}, "P");
  b.store(there, std::vector<Index>{int64_t{0}, int64_t{1}}, one);
  b.callExtern("observe",
               std::vector<Value>{b.address(there, std::vector<Index>{int64_t{0}, int64_t{0}})},
               std::nullopt);
  EXPECT_EQ(b.callExtern("half", std::vector<Value>{b.constant(2.0)}, dt("float16")).dtype(),
            dt("float16"));
  std::string text = finishedText();
  EXPECT_THAT(text, HasSubstr("tile.tensor_at %arg0 dims(%arg2) : !tile.buffer<?x4xf32, global>"));
  EXPECT_THAT(text, HasSubstr("tile.call \"observe\"("));
}

TEST_F(ThreadsTest, FunctionsOfLibmAreCheckedBeforeTheyAreCalled) {
  launch();
  Value x = b.cast(b.threadBinding(0), Dtype::float32());
  b.callExtern("powf", std::vector<Value>{x, x}, Dtype::float32());
  b.callExtern("mypowf", std::vector<Value>{x}, Dtype::float32());
  line().callExtern("powf", std::vector<Value>{x, b.threadBinding(0)}, Dtype::float32());
  EXPECT_EQ(finish(), nullptr);
  expectError("libm's powf is float32(float32, float32), but it is called as float32(float32, "
              "int32)");
}

TEST_F(ThreadsTest, OwnFunctionsMayComeAfterTheirCalls) {
  launch();
  b.callExtern("powf", std::vector<Value>{b.threadBinding(0)}, Dtype::float32());
  b.importSource("float powf(int x) { return x; }");
  EXPECT_THAT(finishedText(), HasSubstr("tile.call \"powf\"("));
}

TEST_F(ThreadsTest, AddressesHave64Bits) {
  launch();
  line().tensorAt(b.cast(b.threadBinding(0), Dtype::int32()), std::vector<Index>{int64_t{4}},
                  Dtype::float32(), {}, "P");
  expectError("an address is an integer of 64 bits, but this is of dtype int32");
}

TEST_F(ThreadsTest, StridesOfATensorAtAnAddress) {
  Value address = b.scalar("p", dt("uint64"));
  launch();
  line().tensorAt(address, std::vector<Index>{int64_t{4}, int64_t{4}}, Dtype::float32(),
                  std::vector<Index>{int64_t{1}}, "P");
  expectError("the tensor has 2 dims but 1 strides");
}

TEST_F(ThreadsTest, ATensorAtAnAddressIsOfMemoryThatThereMayBe) {
  Value address = b.scalar("p", dt("uint64"));
  launch();
  line().tensorAt(address, std::vector<Index>{int64_t{1} << 40, int64_t{1} << 24}, Dtype::float32(),
                  {}, "");
  expectError("the tensor has more than 2^57 elements");
}

} // namespace
} // namespace tilewright
