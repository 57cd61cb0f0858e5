// SPDX-License-Identifier: Apache-2.0
// Every constraint of the first phase: code and message; and the firing rule.
#include "operators/nsa_compress_with_cache/ascend/arguments.h"

#include "opdev/op_errno.h"

#include <gtest/gtest.h>

#include <functional>

namespace tilewright::operators {
namespace {

aclTensor* tensor(const std::vector<int64_t>& dims, aclDataType type,
                  const std::vector<int64_t>& strides = {}, aclFormat format = ACL_FORMAT_ND,
                  int64_t offset = 0) {
  return aclCreateTensor(dims.data(), dims.size(), type, strides.empty() ? nullptr : strides.data(),
                         offset, format, nullptr, 0, nullptr);
}

/// The arguments of a correct call (those of the documented example), to be changed one at a time.
struct Case {
  std::vector<int64_t> inputShape = {16, 128, 24, 192};
  std::vector<int64_t> weightShape = {32, 24};
  std::vector<int64_t> slotShape = {4};
  std::vector<int64_t> tableShape = {4, 4};
  std::vector<int64_t> cacheShape = {512, 24, 192};
  std::vector<int64_t> lengths = {32, 0, 0, 0};
  std::vector<int64_t> inputStrides, slotStrides, cacheStrides;
  aclDataType inputType = ACL_FLOAT16, weightType = ACL_FLOAT16, cacheType = ACL_FLOAT16;
  aclDataType slotType = ACL_INT32, tableType = ACL_INT32;
  aclFormat inputFormat = ACL_FORMAT_ND;
  const char* layout = "TND";
  int64_t blockSize = 32, stride = 16, lengthType = 1, pageSize = 128;
  std::vector<std::string> nulls;
  bool staleWeight = false;

  NsaCompressFault check() const {
    auto isNull = [&](const char* name) {
      return std::find(nulls.begin(), nulls.end(), name) != nulls.end();
    };
    aclTensor* input = tensor(inputShape, inputType, inputStrides, inputFormat);
    aclTensor* weight = tensor(weightShape, weightType);
    aclTensor* slots = tensor(slotShape, slotType, slotStrides);
    aclTensor* table = tensor(tableShape, tableType);
    aclTensor* cache = tensor(cacheShape, cacheType, cacheStrides);
    aclIntArray* lengthArray = aclCreateIntArray(lengths.data(), lengths.size());
    if (staleWeight)
      aclDestroyTensor(weight);
    NsaCompressObjects objects;
    NsaCompressFault fault = checkNsaCompress(
        {isNull("input") ? nullptr : input, isNull("weight") ? nullptr : weight,
         isNull("slot") ? nullptr : slots, isNull("length") ? nullptr : lengthArray,
         isNull("table") ? nullptr : table, isNull("layout") ? nullptr : layout, blockSize, stride,
         lengthType, pageSize, isNull("cache") ? nullptr : cache},
        objects);
    for (aclTensor* one : {input, weight, slots, table, cache})
      aclDestroyTensor(one);
    aclDestroyIntArray(lengthArray);
    return fault;
  }
};

struct Expectation {
  std::function<void(Case&)> change;
  aclnnStatus code;
  const char* text;
};

void expectAll(const std::vector<Expectation>& expectations) {
  for (const Expectation& expected : expectations) {
    Case changed;
    expected.change(changed);
    NsaCompressFault fault = changed.check();
    EXPECT_EQ(fault.code, expected.code) << expected.text;
    EXPECT_EQ(fault.text, expected.text);
  }
}

TEST(NsaCompressArguments, ValidCallsPass) {
  EXPECT_EQ(Case{}.check().text, "");
  for (const char* layout : {"BSH", "sbh", "BSND", "bnsd", "tnd"}) {
    Case other;
    other.layout = layout;
    EXPECT_EQ(other.check().text, "") << layout;
  }
  Case noLayout;
  noLayout.nulls = {"layout"};
  EXPECT_EQ(noLayout.check().text, "");
  Case leastRows;
  leastRows.cacheShape[0] = 127;
  EXPECT_EQ(leastRows.check().text, "");
  Case packed;
  packed.cacheShape[0] = 1; // no blocks, no least number
  packed.nulls = {"table"};
  packed.inputShape = {100, 24, 192};
  packed.lengths = {32, 0, 48, 20};
  packed.pageSize = 0;
  EXPECT_EQ(packed.check().text, "");
  Case strided;
  strided.inputStrides = {128L * 24 * 400, 24L * 400, 400, 2};
  EXPECT_EQ(strided.check().text, "");
  Case bfloat;
  bfloat.inputType = bfloat.weightType = bfloat.cacheType = ACL_BF16;
  EXPECT_EQ(bfloat.check().text, "");
  Case nchw;
  nchw.inputFormat = ACL_FORMAT_NCHW;
  EXPECT_EQ(nchw.check().text, "");
}

TEST(NsaCompressArguments, NullIs161001) {
  expectAll({
      {[](Case& c) { c.nulls = {"input"}; }, ACLNN_ERR_PARAM_NULLPTR, "input is null"},
      {[](Case& c) { c.nulls = {"weight"}; }, ACLNN_ERR_PARAM_NULLPTR, "weight is null"},
      {[](Case& c) { c.nulls = {"slot"}; }, ACLNN_ERR_PARAM_NULLPTR, "slotMapping is null"},
      {[](Case& c) { c.nulls = {"length"}; }, ACLNN_ERR_PARAM_NULLPTR, "actSeqLenOptional is null"},
      {[](Case& c) { c.nulls = {"cache"}; }, ACLNN_ERR_PARAM_NULLPTR, "outputCache is null"},
      {[](Case& c) { c.nulls = {"table", "layout"}; }, ACLNN_ERR_PARAM_NULLPTR,
       "layoutOptional is null, which it may be only with a blockTableOptional"},
  });
}

TEST(NsaCompressArguments, TypesFormatsAndStridesAre161002) {
  expectAll({
      {[](Case& c) { c.staleWeight = true; }, ACLNN_ERR_PARAM_INVALID,
       "weight is a tensor that was destroyed already"},
      {[](Case& c) { c.inputType = ACL_FLOAT; }, ACLNN_ERR_PARAM_INVALID,
       "input is float32 but must be float16 or bfloat16"},
      {[](Case& c) { c.weightType = ACL_BF16; }, ACLNN_ERR_PARAM_INVALID,
       "weight is bfloat16 but input is float16"},
      {[](Case& c) { c.cacheType = ACL_FLOAT; }, ACLNN_ERR_PARAM_INVALID,
       "outputCache is float32 but input is float16"},
      {[](Case& c) { c.slotType = ACL_INT64; }, ACLNN_ERR_PARAM_INVALID,
       "slotMapping is int64 but must be int32"},
      {[](Case& c) { c.tableType = ACL_INT64; }, ACLNN_ERR_PARAM_INVALID,
       "blockTableOptional is int64 but must be int32"},
      {[](Case& c) { c.inputFormat = ACL_FORMAT_FRACTAL_NZ; }, ACLNN_ERR_PARAM_INVALID,
       "input has format 29 but must be ND"},
      {[](Case& c) { c.inputShape[0] = 0; }, ACLNN_ERR_PARAM_INVALID,
       "input is empty: its shape is [0, 128, 24, 192]"},
      {[](Case& c) { c.cacheShape[0] = 0; }, ACLNN_ERR_PARAM_INVALID,
       "outputCache is empty: its shape is [0, 24, 192]"},
      {[](Case& c) { c.slotShape[0] = 0; }, ACLNN_ERR_PARAM_INVALID,
       "slotMapping is empty: its shape is [0]"},
      {[](Case& c) { c.slotStrides = {2}; }, ACLNN_ERR_PARAM_INVALID,
       "slotMapping has strides [2] for shape [4] but must be contiguous"},
      {[](Case& c) { c.cacheStrides = {24 * 192 + 16, 192, 1}; }, ACLNN_ERR_PARAM_INVALID,
       "outputCache has strides [4624, 192, 1] for shape [512, 24, 192] but must be contiguous"},
  });
}

TEST(NsaCompressArguments, AttributesAre561002) {
  constexpr aclnnStatus code = ACLNN_ERR_INNER_TILING_ERROR;
  expectAll({
      {[](Case& c) { c.blockSize = 40; }, code,
       "compressBlockSize is 40 but must be 16, 32, 48 or 64"},
      {[](Case& c) { c.blockSize = 80; }, code,
       "compressBlockSize is 80 but must be 16, 32, 48 or 64"},
      {[](Case& c) { c.blockSize = -16; }, code,
       "compressBlockSize is -16 but must be 16, 32, 48 or 64"},
      {[](Case& c) { c.stride = 0; }, code,
       "compressStride is 0 but must be a positive multiple of 16"},
      {[](Case& c) { c.stride = 24; }, code,
       "compressStride is 24 but must be a positive multiple of 16"},
      {[](Case& c) { c.stride = 48; }, code,
       "compressBlockSize is 32 but compressStride is 48, which is more"},
      {[](Case& c) { c.lengthType = 0; }, code,
       "actSeqLenType is 0 but only 1 (lengths) is supported"},
      {[](Case& c) { c.pageSize = 32; }, code, "pageBlockSize is 32 but must be 64 or 128"},
      {[](Case& c) { c.layout = "NTD"; }, code,
       "layoutOptional is 'NTD' but must be BSH, SBH, BSND, BNSD or TND"},
      {[](Case& c) {
         c.layout = "BSND";
         c.nulls = {"table"};
       },
       code, "layoutOptional is 'BSND' but must be TND where there is no blockTableOptional"},
  });
}

TEST(NsaCompressArguments, ShapesAre561002) {
  constexpr aclnnStatus code = ACLNN_ERR_INNER_TILING_ERROR;
  auto heads = [](Case& c, int64_t n) { c.inputShape[2] = c.weightShape[1] = c.cacheShape[1] = n; };
  auto headDim = [](Case& c, int64_t d) { c.inputShape[3] = c.cacheShape[2] = d; };
  expectAll({
      {[](Case& c) { c.inputShape = {100, 24, 192}; }, code,
       "input has shape [100, 24, 192] but must be [blockNum, pageBlockSize, N, D]"},
      {[](Case& c) { c.nulls = {"table"}; }, code,
       "input has shape [16, 128, 24, 192] but must be [T, N, D] (there is no blockTableOptional)"},
      {[](Case& c) { c.weightShape = {32}; }, code,
       "weight has shape [32] but must be [compressBlockSize, N]"},
      {[](Case& c) { c.slotShape = {4, 1}; }, code, "slotMapping has shape [4, 1] but must be [B]"},
      {[](Case& c) { c.tableShape = {16}; }, code,
       "blockTableOptional has shape [16] but must be [B, pages of a sequence]"},
      {[](Case& c) { c.cacheShape = {512, 24L * 192}; }, code,
       "outputCache has shape [512, 4608] but must be [rows, N, D]"},
      {[](Case& c) { c.pageSize = 64; }, code,
       "input has 128 tokens per page but pageBlockSize is 64"},
      {[&](Case& c) { heads(c, 65); }, code, "input has 65 heads but at most 64 are supported"},
      {[&](Case& c) { heads(c, 51); }, code,
       "input has 51 heads but more than 50 must be even in number"},
      {[&](Case& c) { headDim(c, 72); }, code,
       "input has headDim 72 but it must be a multiple of 16 and at most 256"},
      {[&](Case& c) { headDim(c, 272); }, code,
       "input has headDim 272 but it must be a multiple of 16 and at most 256"},
      {[](Case& c) { c.weightShape[0] = 16; }, code,
       "weight has 16 rows but compressBlockSize is 32"},
      {[](Case& c) { c.weightShape[1] = 8; }, code, "weight has 8 heads but input has 24"},
      {[](Case& c) { c.cacheShape[2] = 128; }, code,
       "outputCache has shape [512, 24, 128] but its last dims must be those of input, [24, 192]"},
      {[](Case& c) { c.cacheShape[0] = 126; }, code,
       "outputCache has 126 rows but must have more than 126, (blockNum * pageBlockSize - "
       "compressBlockSize) / compressStride"},
      {[](Case& c) { c.cacheShape[0] = 1; }, code,
       "outputCache has 1 rows but must have more than 126, (blockNum * pageBlockSize - "
       "compressBlockSize) / compressStride"},
      {[](Case& c) { c.lengths = {32}; }, code,
       "actSeqLenOptional has 1 lengths but slotMapping has 4 slots"},
      {[](Case& c) { c.tableShape[0] = 3; }, code,
       "blockTableOptional has 3 rows but slotMapping has 4 slots"},
      {[](Case& c) { c.lengths[2] = -1; }, code,
       "actSeqLenOptional[2] is -1 but may not be negative"},
      {[](Case& c) { c.lengths[1] = 513; }, code,
       "actSeqLenOptional[1] is 513 but there is room for 512 tokens"},
      {[](Case& c) {
         c.nulls = {"table"};
         c.inputShape = {100, 24, 192};
         c.lengths = {50, 0, 48, 20};
       },
       code, "actSeqLenOptional sums up to 118 at [3] but input has 100 tokens"},
  });
}

TEST(NsaCompressFiring, FollowsTheRule) {
  // s >= block and (s - block) is a multiple of the stride
  auto firing = firingSequences({31, 32, 33, 47, 48, 63, 64, 0}, 32, 16, false);
  ASSERT_EQ(firing.size(), 3U);
  EXPECT_EQ(firing[0].sequence, 1);
  EXPECT_EQ(firing[0].firstToken, 0);
  EXPECT_EQ(firing[1].sequence, 4);
  EXPECT_EQ(firing[1].firstToken, 16);
  EXPECT_EQ(firing[2].firstToken, 32);
  // packed: tokens count from the input's start
  firing = firingSequences({31, 32, 48}, 32, 16, true);
  ASSERT_EQ(firing.size(), 2U);
  EXPECT_EQ(firing[0].firstToken, 31);
  EXPECT_EQ(firing[1].firstToken, 31 + 32 + 16);
}

TEST(NsaCompressTables, AreCheckedForFiringSequencesOnly) {
  NsaCompressTiling tiling = {};
  tiling.cacheRows = 10;
  tiling.blockTokens = 32;
  tiling.hasBlockTable = 1;
  tiling.pageTokens = 64;
  tiling.pageCount = 5;
  tiling.tableSequenceStride = 2;
  tiling.tablePageStride = 1;
  const std::vector<NsaCompressSequence> firing = {{0, 48}, {2, 64}};
  auto check = [&](std::vector<int32_t> slots, std::vector<int32_t> table) {
    return checkTables(firing, tiling, slots.data(), table.data());
  };
  EXPECT_EQ(check({3, 3, 4}, {0, 4, 99, 99, 77, 3}), "");
  EXPECT_EQ(check({-1, 3, -1}, {0, 4, 99, 99, 77, 3}), ""); // -1: skipped
  EXPECT_EQ(
      check({3, 0, 3}, {0, 4, 0, 0, 0, 3}),
      "slotMapping[0] and slotMapping[2] are both 3 and both sequences have completed a block");
  EXPECT_EQ(check({10, 0, 3}, {0, 4, 0, 0, 0, 3}),
            "slotMapping[0] is 10 but outputCache has 10 rows");
  EXPECT_EQ(check({1, 0, -2}, {0, 4, 0, 0, 0, 3}),
            "slotMapping[2] is -2 but outputCache has 10 rows");
  EXPECT_EQ(check({1, 0, 2}, {0, 5, 0, 0, 0, 3}),
            "blockTableOptional[0, 1] is 5 but input has 5 pages");
  EXPECT_EQ(check({1, 0, 2}, {0, 4, 0, 0, 0, -1}),
            "blockTableOptional[2, 1] is -1 but input has 5 pages");
}

TEST(NsaCompressTiling, ChoosesHowToRead) {
  auto tilingOf = [](const std::vector<int64_t>& strides,
                     const std::vector<int64_t>& weightStrides) {
    NsaCompressObjects objects;
    auto& tensors = acl::AclnnObjects::instance().tensors;
    auto take = [&](aclTensor* handle) { return tensors.remove(handle); };
    objects.input = take(tensor({4, 64, 6, 32}, ACL_BF16, strides, ACL_FORMAT_ND, 5));
    objects.weight = take(tensor({32, 6}, ACL_BF16, weightStrides));
    objects.slotMapping = take(tensor({1}, ACL_INT32));
    objects.blockTable = take(tensor({1, 4}, ACL_INT32));
    objects.outputCache = take(tensor({4, 6, 32}, ACL_BF16));
    NsaCompressArguments arguments = {};
    arguments.compressBlockSize = 32;
    arguments.pageBlockSize = 64;
    return makeTiling(arguments, objects, 40, 48);
  };
  NsaCompressTiling dense = tilingOf({}, {});
  EXPECT_EQ(dense.inputRead, NsaCompressRead::Dense);
  EXPECT_EQ(dense.weightRead, NsaCompressRead::Dense);
  EXPECT_EQ(dense.inputOffset, 5);
  EXPECT_EQ(dense.headsPerTask, 4); // 40 sequences * 1 tile of 8 would leave 8 cores idle
  EXPECT_EQ(dense.taskCount, 80);
  EXPECT_EQ(tilingOf({20000, 256, 40, 1}, {}).inputRead, NsaCompressRead::Rows);
  EXPECT_EQ(tilingOf({20000, 256, 0, 1}, {}).inputRead, NsaCompressRead::Rows);
  EXPECT_EQ(tilingOf({20000, 256, 1, 6}, {}).inputRead, NsaCompressRead::Elements);
  EXPECT_EQ(tilingOf({}, {10, 1}).weightRead, NsaCompressRead::Dense);
  EXPECT_EQ(tilingOf({}, {1, 32}).weightRead, NsaCompressRead::Elements);
  EXPECT_EQ(tilingOf({}, {0, 1}).weightRead, NsaCompressRead::Elements);
}

} // namespace
} // namespace tilewright::operators
