// SPDX-License-Identifier: Apache-2.0
// Compressing the KV cache while two sequences grow, one token per step, through the aclnn C
// interface.
//
// Each sequence has pages of 64 tokens in one pool. When a sequence has just completed a block of
// 32 tokens (and then every 16 tokens), aclnnNsaCompressWithCache adds the block's tokens, each
// times its weight, to one compressed token, and writes it to the slot that we name. The program
// says when that happens and checks the values.
//
//   tilewright-ascendc build aclnn_nsa_compress_with_cache.cpp -o example && ./example
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "acl/acl.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int64_t blockSize = 32, stride = 16, pageSize = 64;
constexpr int64_t heads = 4, headDim = 32, rowSize = heads * headDim;
constexpr int64_t pages = 4, pagesPerSequence = 2, sequences = 2, slots = 16;

void require(int status, const char* what) {
  if (status == 0)
    return;
  const char* message = aclGetRecentErrMsg();
  std::printf("%s failed with %d: %s\n", what, status, message ? message : "");
  std::exit(1);
}

/// A tensor with its device memory.
template <class T> struct DeviceTensor {
  void* memory = nullptr;
  aclTensor* tensor = nullptr;
  size_t bytes;

  DeviceTensor(const std::vector<T>& host, const std::vector<int64_t>& shape, aclDataType type)
      : bytes(host.size() * sizeof(T)) {
    require(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    require(aclrtMemcpy(memory, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE),
            "aclrtMemcpy");
    tensor = aclCreateTensor(shape.data(), shape.size(), type, nullptr, 0, ACL_FORMAT_ND,
                             shape.data(), shape.size(), memory);
  }
  ~DeviceTensor() {
    aclDestroyTensor(tensor);
    aclrtFree(memory);
  }
  std::vector<T> read() const {
    std::vector<T> host(bytes / sizeof(T));
    require(aclrtMemcpy(host.data(), bytes, memory, bytes, ACL_MEMCPY_DEVICE_TO_HOST),
            "aclrtMemcpy");
    return host;
  }
};

/// The value of every element of a token: small integers, so that all sums are exact in float16.
float tokenValue(int64_t sequence, int64_t token) {
  return float(sequence + token % 4);
}

/// Token t of a block counts with weight 1 for even t and 2 for odd t.
float weightOf(int64_t token) {
  return token % 2 == 0 ? 1.0f : 2.0f;
}

float expectedValue(int64_t sequence, int64_t length) {
  float sum = 0;
  for (int64_t t = 0; t < blockSize; ++t)
    sum += tokenValue(sequence, length - blockSize + t) * weightOf(t);
  return sum;
}

} // namespace

int main() {
  require(aclInit(nullptr), "aclInit");
  require(aclrtSetDevice(0), "aclrtSetDevice");
  aclrtStream stream = nullptr;
  require(aclrtCreateStream(&stream), "aclrtCreateStream");

  // Sequence 0 has pages 2 and 0 of the pool, sequence 1 pages 1 and 3.
  const std::vector<int32_t> table = {2, 0, 1, 3};
  std::vector<aclFloat16> pool(pages * pageSize * rowSize);
  for (int64_t s = 0; s < sequences; ++s)
    for (int64_t t = 0; t < pagesPerSequence * pageSize; ++t)
      for (int64_t i = 0; i < rowSize; ++i)
        pool[(table[s * pagesPerSequence + t / pageSize] * pageSize + t % pageSize) * rowSize + i] =
            aclFloatToFloat16(tokenValue(s, t));
  std::vector<aclFloat16> weights(blockSize * heads);
  for (int64_t t = 0; t < blockSize; ++t)
    for (int64_t n = 0; n < heads; ++n)
      weights[t * heads + n] = aclFloatToFloat16(weightOf(t));

  int faults = 0;
  {
    DeviceTensor<aclFloat16> input(pool, {pages, pageSize, heads, headDim}, ACL_FLOAT16);
    DeviceTensor<aclFloat16> weight(weights, {blockSize, heads}, ACL_FLOAT16);
    DeviceTensor<int32_t> blockTable(table, {sequences, pagesPerSequence}, ACL_INT32);
    DeviceTensor<aclFloat16> cache(std::vector<aclFloat16>(slots * rowSize, 0),
                                   {slots, heads, headDim}, ACL_FLOAT16);

    std::vector<int64_t> lengths = {30, 60};
    int32_t nextSlot = 0;
    for (int step = 0; step < 8; ++step) {
      for (int64_t& length : lengths)
        ++length;
      // A sequence that does not fire now ignores its slot: -1 says so.
      std::vector<int32_t> slotOf(sequences, -1);
      for (int64_t s = 0; s < sequences; ++s)
        if (lengths[s] >= blockSize && (lengths[s] - blockSize) % stride == 0)
          slotOf[s] = nextSlot++;
      DeviceTensor<int32_t> slotMapping(slotOf, {sequences}, ACL_INT32);
      aclIntArray* actSeqLen = aclCreateIntArray(lengths.data(), lengths.size());
      char layout[] = "TND";
      uint64_t workspaceSize = 0;
      aclOpExecutor* executor = nullptr;
      require(aclnnNsaCompressWithCacheGetWorkspaceSize(
                  input.tensor, weight.tensor, slotMapping.tensor, actSeqLen, blockTable.tensor,
                  layout, blockSize, stride, 1, pageSize, cache.tensor, &workspaceSize, &executor),
              "aclnnNsaCompressWithCacheGetWorkspaceSize");
      void* workspace = nullptr;
      if (workspaceSize > 0)
        require(aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
      require(aclnnNsaCompressWithCache(workspace, workspaceSize, executor, stream),
              "aclnnNsaCompressWithCache");
      require(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream");
      if (workspace)
        require(aclrtFree(workspace), "aclrtFree");
      require(aclDestroyIntArray(actSeqLen), "aclDestroyIntArray");

      std::vector<aclFloat16> host = cache.read();
      for (int64_t s = 0; s < sequences; ++s) {
        if (slotOf[s] < 0)
          continue;
        float got = aclFloat16ToFloat(host[slotOf[s] * rowSize]);
        float expected = expectedValue(s, lengths[s]);
        std::printf("step %d: sequence %d has %d tokens, slot %d holds %.1f (expected %.1f)\n",
                    step, int(s), int(lengths[s]), int(slotOf[s]), got, expected);
        for (int64_t i = 0; i < rowSize; ++i)
          faults += aclFloat16ToFloat(host[slotOf[s] * rowSize + i]) != expected;
      }
    }
  }
  require(aclrtDestroyStream(stream), "aclrtDestroyStream");
  require(aclrtResetDevice(0), "aclrtResetDevice");
  require(aclFinalize(), "aclFinalize");
  std::printf(faults == 0 ? "all values are right\n" : "%d values are wrong\n", faults);
  return faults == 0 ? 0 : 1;
}
