// SPDX-License-Identifier: Apache-2.0
// The operator through its C interface, against a reference in double that shares nothing with it.
#include "acl/acl.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

float decode(uint16_t bits, bool isBfloat16) {
  return isBfloat16 ? std::bit_cast<float>(uint32_t(bits) << 16)
                    : float(std::bit_cast<_Float16>(bits));
}
uint16_t encode(float value, bool isBfloat16) {
  if (!isBfloat16)
    return std::bit_cast<uint16_t>(_Float16(value));
  auto bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

/// One call: shapes, strides, host data. Strides count elements.
struct Problem {
  bool isBfloat16 = false;
  bool isPaged = true;
  int64_t heads = 2, headDim = 16, blockSize = 32, stride = 16, pageSize = 64, pages = 4,
          tablePages = 3, rows = 15;
  std::vector<int64_t> lengths;
  std::vector<int32_t> slots, table;
  std::vector<int64_t> inputStrides,
      weightStrides; ///< of the view; [page, token, head, d] or [token, head, d]
  int64_t inputOffset = 0, weightOffset = 0, slotOffset = 0, cacheOffset = 0;
  std::vector<uint16_t> input, weight, cache; ///< the storages

  std::vector<int64_t> inputShape() const {
    if (isPaged)
      return {pages, pageSize, heads, headDim};
    return {pages * pageSize, heads, headDim};
  }
  size_t inputIndex(int64_t sequence, int64_t token, int64_t packedStart, int64_t head,
                    int64_t d) const {
    if (!isPaged)
      return size_t(inputOffset + (packedStart + token) * inputStrides[0] + head * inputStrides[1] +
                    d * inputStrides[2]);
    int64_t page = table[size_t(sequence * tablePages + token / pageSize)];
    return size_t(inputOffset + page * inputStrides[0] + token % pageSize * inputStrides[1] +
                  head * inputStrides[2] + d * inputStrides[3]);
  }
};

int64_t reach(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
              int64_t offset) {
  int64_t last = offset;
  for (size_t i = 0; i < shape.size(); ++i)
    last += (shape[i] - 1) * strides[i];
  return last + 1;
}

std::vector<int64_t> dense(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Runs the operator on the device; `status` gets the first code that is not 0.
class DeviceRun {
public:
  explicit DeviceRun(const Problem& problem) : problem(problem) {
    input = make(problem.input, problem.inputShape(), problem.inputStrides, problem.inputOffset,
                 type());
    weight = make(problem.weight, {problem.blockSize, problem.heads}, problem.weightStrides,
                  problem.weightOffset, type());
    auto batch = int64_t(problem.lengths.size());
    std::vector<int32_t> slotStorage(size_t(problem.slotOffset), -7);
    slotStorage.insert(slotStorage.end(), problem.slots.begin(), problem.slots.end());
    slots = make(slotStorage, {batch}, {1}, problem.slotOffset, ACL_INT32);
    if (problem.isPaged)
      table =
          make(problem.table, {batch, problem.tablePages}, {problem.tablePages, 1}, 0, ACL_INT32);
    std::vector<int64_t> cacheShape = {problem.rows, problem.heads, problem.headDim};
    cache = make(problem.cache, cacheShape, dense(cacheShape), problem.cacheOffset, type());
    cacheMemory = memories.back();
    lengths = aclCreateIntArray(problem.lengths.data(), problem.lengths.size());
  }
  ~DeviceRun() {
    for (aclTensor* tensor : {input, weight, slots, table, cache})
      if (tensor)
        aclDestroyTensor(tensor);
    aclDestroyIntArray(lengths);
    for (void* memory : memories)
      aclrtFree(memory);
  }

  aclnnStatus run() {
    char layout[] = "TND";
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    aclnnStatus status = aclnnNsaCompressWithCacheGetWorkspaceSize(
        input, weight, slots, lengths, table, layout, problem.blockSize, problem.stride, 1,
        problem.pageSize, cache, &bytes, &executor);
    if (status != 0)
      return status;
    void* workspace = nullptr;
    if (bytes > 0 && aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0)
      memories.push_back(workspace);
    status = aclnnNsaCompressWithCache(workspace, bytes, executor, nullptr);
    return status != 0 ? status : aclrtSynchronizeStream(nullptr);
  }

  std::vector<uint16_t> result() const {
    std::vector<uint16_t> host(problem.cache.size());
    EXPECT_EQ(aclrtMemcpy(host.data(), host.size() * 2, cacheMemory, host.size() * 2,
                          ACL_MEMCPY_DEVICE_TO_HOST),
              0);
    return host;
  }

private:
  aclDataType type() const {
    return problem.isBfloat16 ? ACL_BF16 : ACL_FLOAT16;
  }
  template <class Element>
  aclTensor* make(const std::vector<Element>& data, const std::vector<int64_t>& shape,
                  const std::vector<int64_t>& strides, int64_t offset, aclDataType dataType) {
    void* memory = nullptr;
    size_t bytes = data.size() * sizeof(Element);
    EXPECT_EQ(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    EXPECT_EQ(aclrtMemcpy(memory, bytes, data.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    memories.push_back(memory);
    auto storage = int64_t(data.size());
    aclTensor* tensor = aclCreateTensor(shape.data(), shape.size(), dataType, strides.data(),
                                        offset, ACL_FORMAT_ND, &storage, 1, memory);
    EXPECT_NE(tensor, nullptr);
    return tensor;
  }

  const Problem& problem;
  aclTensor *input = nullptr, *weight = nullptr, *slots = nullptr, *table = nullptr,
            *cache = nullptr;
  aclIntArray* lengths = nullptr;
  void* cacheMemory = nullptr;
  std::vector<void*> memories;
};

/// Compares the whole cache: rows that fired within one step of the type and the error of float
/// sums, all other elements bit by bit.
void expectReference(const Problem& problem, const std::vector<uint16_t>& actual) {
  std::vector<bool> isWritten(problem.cache.size(), false);
  int64_t packedStart = 0;
  for (size_t b = 0; b < problem.lengths.size(); ++b) {
    int64_t length = problem.lengths[b];
    int64_t first = length - problem.blockSize;
    bool fires = first >= 0 && first % problem.stride == 0 && problem.slots[b] >= 0;
    for (int64_t n = 0; fires && n < problem.heads; ++n)
      for (int64_t d = 0; d < problem.headDim; ++d) {
        double sum = 0;
        double largest = 0;
        for (int64_t j = 0; j < problem.blockSize; ++j) {
          double x =
              decode(problem.input[problem.inputIndex(int64_t(b), first + j, packedStart, n, d)],
                     problem.isBfloat16);
          double w =
              decode(problem.weight[size_t(problem.weightOffset + j * problem.weightStrides[0] +
                                           n * problem.weightStrides[1])],
                     problem.isBfloat16);
          sum += x * w;
          largest = std::max(largest, std::abs(x * w));
        }
        size_t at = size_t(problem.cacheOffset +
                           (problem.slots[b] * problem.heads + n) * problem.headDim + d);
        isWritten[at] = true;
        double got = decode(actual[at], problem.isBfloat16);
        double step = std::ldexp(std::max(std::abs(sum), 1e-4), problem.isBfloat16 ? -7 : -10);
        double tolerance = step + double(problem.blockSize) * std::ldexp(largest, -24);
        ASSERT_NEAR(got, sum, tolerance) << "sequence " << b << " head " << n << " d " << d;
      }
    packedStart += problem.isPaged ? 0 : length;
  }
  for (size_t i = 0; i < actual.size(); ++i)
    if (!isWritten[i]) {
      ASSERT_EQ(actual[i], problem.cache[i]) << "element " << i << " of the cache changed";
    }
}

template <class T> T pick(std::mt19937& random, std::vector<T> choices) {
  return choices[random() % choices.size()];
}

void fill(std::mt19937& random, std::vector<uint16_t>& data, bool isBfloat16) {
  std::uniform_real_distribution<float> values(-2, 2);
  for (uint16_t& value : data)
    value = encode(values(random), isBfloat16);
}

/// Dense strides, or one of the views that the operator must read in place.
std::vector<int64_t> inputView(std::mt19937& random, const Problem& problem) {
  std::vector<int64_t> strides = dense(problem.inputShape());
  size_t rank = strides.size();
  switch (random() % 6) {
  case 0: // a gap behind each head
    strides[rank - 2] = problem.headDim + 16;
    break;
  case 1: // a gap behind each token
    strides[rank - 3] += 48;
    break;
  case 2: // one head for all
    strides[rank - 2] = 0;
    return strides;
  case 3: // heads are innermost
    strides[rank - 1] = problem.heads;
    strides[rank - 2] = 1;
    return strides;
  default:
    return strides;
  }
  strides[rank - 3] = std::max(strides[rank - 3], strides[rank - 2] * problem.heads);
  if (rank == 4)
    strides[0] = strides[1] * problem.pageSize;
  return strides;
}

Problem randomProblem(uint32_t seed) {
  std::mt19937 random(seed);
  Problem p;
  p.isBfloat16 = random() % 2;
  p.isPaged = random() % 4 != 0;
  p.heads = pick<int64_t>(random, {1, 2, 5, 8, 13, 24, 50, 52, 64});
  p.headDim = pick<int64_t>(random, p.heads > 24 ? std::vector<int64_t>{16, 48}
                                                 : std::vector<int64_t>{16, 64, 96, 192, 256});
  p.blockSize = pick<int64_t>(random, {16, 32, 48, 64});
  p.stride = std::min(p.blockSize, pick<int64_t>(random, {16, 32, 48, 64}));
  p.pageSize = p.isPaged && random() % 4 == 0 ? 128 : 64;
  p.pages = 4;
  p.tablePages = 3;
  auto batch = size_t(random() % 5 + 1);
  int64_t room = p.isPaged ? p.tablePages * p.pageSize : p.pages * p.pageSize / int64_t(batch);
  for (size_t b = 0; b < batch; ++b) {
    int64_t length =
        random() % 3 ? p.blockSize + int64_t(random() % 8) * p.stride : int64_t(random() % 200);
    p.lengths.push_back(std::min(length, room));
  }
  p.rows = p.isPaged ? (p.pages * p.pageSize - p.blockSize) / p.stride + 1 : int64_t(batch);
  p.rows += int64_t(random() % 3);
  for (size_t b = 0; b < batch; ++b)
    p.slots.push_back(int32_t(b));
  std::shuffle(p.slots.begin(), p.slots.end(), random);
  if (random() % 4 == 0)
    p.slots[0] = -1;
  for (size_t i = 0; i < batch * size_t(p.tablePages); ++i)
    p.table.push_back(int32_t(random() % uint64_t(p.pages)));
  p.inputStrides = inputView(random, p);
  p.inputOffset = pick<int64_t>(random, {0, 0, 16, 37});
  p.weightStrides = pick<std::vector<int64_t>>(
      random, {{p.heads, 1}, {p.heads, 1}, {p.heads + 5, 1}, {1, p.blockSize}, {0, 1}});
  p.weightOffset = pick<int64_t>(random, {0, 3});
  p.slotOffset = pick<int64_t>(random, {0, 2});
  p.cacheOffset = pick<int64_t>(random, {0, 16});
  p.input.resize(size_t(reach(p.inputShape(), p.inputStrides, p.inputOffset)));
  p.weight.resize(size_t(reach({p.blockSize, p.heads}, p.weightStrides, p.weightOffset)));
  p.cache.resize(size_t(p.cacheOffset + p.rows * p.heads * p.headDim));
  fill(random, p.input, p.isBfloat16);
  fill(random, p.weight, p.isBfloat16);
  fill(random, p.cache, p.isBfloat16);
  return p;
}

class NsaCompress : public testing::Test {
protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(aclInit(nullptr), 0);
    ASSERT_EQ(aclrtSetDevice(0), 0);
  }
  static void TearDownTestSuite() {
    aclFinalize();
  }
};

class NsaCompressSeeds : public NsaCompress, public testing::WithParamInterface<uint32_t> {};

TEST_P(NsaCompressSeeds, FollowsTheReference) {
  Problem problem = randomProblem(GetParam());
  DeviceRun run(problem);
  ASSERT_EQ(run.run(), 0) << aclGetRecentErrMsg();
  expectReference(problem, run.result());
}
INSTANTIATE_TEST_SUITE_P(Recorded, NsaCompressSeeds, testing::Range(0U, 40U));

Problem smallProblem() {
  Problem p = randomProblem(3);
  p.isPaged = true;
  p.heads = 2;
  p.headDim = 16;
  p.blockSize = 32;
  p.stride = 16;
  p.pageSize = 64;
  p.lengths = {32, 33, 48};
  p.slots = {1, 1, 0};
  p.table = {0, 1, 2, 3, 0, 1, 2, 3, 0};
  p.rows = 15;
  p.inputStrides = dense(p.inputShape());
  p.weightStrides = {2, 1};
  p.inputOffset = p.weightOffset = p.slotOffset = p.cacheOffset = 0;
  p.input.assign(size_t(4 * 64 * 32), encode(1, p.isBfloat16));
  p.weight.assign(64, encode(1, p.isBfloat16));
  p.cache.assign(size_t(p.rows * 32), encode(1, p.isBfloat16));
  return p;
}

// As in the documented example: all ones give the number of tokens, and nothing else changes. Two
// sequences may share a slot as long as only one of them fires.
TEST_F(NsaCompress, OnesGiveTheBlockSize) {
  Problem problem = smallProblem();
  DeviceRun run(problem);
  ASSERT_EQ(run.run(), 0) << aclGetRecentErrMsg();
  std::vector<uint16_t> result = run.result();
  for (size_t i = 0; i < result.size(); ++i)
    ASSERT_EQ(decode(result[i], problem.isBfloat16), i < 64 ? 32 : 1) << i;
}

TEST_F(NsaCompress, NothingFires) {
  Problem problem = smallProblem();
  problem.lengths = {1, 31, 47};
  DeviceRun run(problem);
  ASSERT_EQ(run.run(), 0) << aclGetRecentErrMsg();
  EXPECT_EQ(run.result(), problem.cache);
}

TEST_F(NsaCompress, WrongTablesAreErrorsAndWriteNothing) {
  struct Fault {
    std::vector<int32_t> slots, table;
    const char* text;
  };
  const std::vector<int32_t> goodTable = {0, 1, 2, 3, 0, 1, 2, 3, 0};
  for (const Fault& fault :
       {Fault{{15, 1, 0}, goodTable, "slotMapping[0] is 15 but outputCache has 15 rows"},
        Fault{{-2, 1, 0}, goodTable, "slotMapping[0] is -2 but outputCache has 15 rows"},
        Fault{{2, 1, 2},
              goodTable,
              "slotMapping[0] and slotMapping[2] are both 2 and both sequences have completed a "
              "block"},
        Fault{{1, 1, 0},
              {4, 1, 2, 3, 0, 1, 2, 3, 0},
              "blockTableOptional[0, 0] is 4 but input has 4 pages"}}) {
    Problem problem = smallProblem();
    problem.slots = fault.slots;
    problem.table = fault.table;
    DeviceRun run(problem);
    EXPECT_EQ(run.run(), ACL_ERROR_RT_VECTOR_CORE_EXCEPTION);
    const char* text = aclGetRecentErrMsg();
    EXPECT_EQ(text ? std::string(text) : "",
              std::string("aclrtSynchronizeStream: aclnnNsaCompressWithCache: ") + fault.text +
                  " [507035]");
    EXPECT_EQ(run.result(), problem.cache);
  }
}

TEST_F(NsaCompress, FirstPhaseReportsThroughTheCInterface) {
  char layout[] = "TND";
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  auto call = [&](uint64_t* size, aclOpExecutor** handle) {
    return aclnnNsaCompressWithCacheGetWorkspaceSize(nullptr, nullptr, nullptr, nullptr, nullptr,
                                                     layout, 32, 16, 1, 128, nullptr, size, handle);
  };
  EXPECT_EQ(call(&bytes, &executor), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_STREQ(aclGetRecentErrMsg(),
               "aclnnNsaCompressWithCacheGetWorkspaceSize: input is null [161001]");
  EXPECT_EQ(call(nullptr, &executor), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_STREQ(aclGetRecentErrMsg(),
               "aclnnNsaCompressWithCacheGetWorkspaceSize: workspaceSize is null [161001]");
  EXPECT_EQ(call(&bytes, nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_STREQ(aclGetRecentErrMsg(),
               "aclnnNsaCompressWithCacheGetWorkspaceSize: executor is null [161001]");
}

} // namespace
