// SPDX-License-Identifier: Apache-2.0
// NsaCompressWithCache on vector cores. A task is one sequence and up to 8 heads:
//   outputCache[slot, n, :] = sum over the block's tokens t of float(input[t, n, :]) *
//   float(weight[t, n])
// Tokens come in groups of 8, which never straddle a page (all sizes are multiples of 16). A group
// is cast to float, multiplied by its weights (each spread over a 32-byte block, which every block
// of its head's row reads) and added as a tree; the groups are added in order. One rounding to
// nearest even at the end.
#include "kernel_operator.h"

#include "operators/nsa_compress_with_cache/ascend/tiling.h"

using namespace AscendC;

namespace {

constexpr int32_t groupTokens = 8;
constexpr int32_t weightLanes = 8;     // heads of a task at most; floats of a 32-byte block
constexpr int32_t weightRow = 16;      // elements of a token's weights in UB: 32 bytes
constexpr int32_t lanesPerRepeat = 64; // floats
constexpr int32_t floatsPerBlock = 8;

template <typename T> class NsaCompress {
public:
  __aicore__ inline explicit NsaCompress(const NsaCompressTiling& tiling) : tiling(tiling) {}

  __aicore__ inline void init(GM_ADDR input, GM_ADDR weight, GM_ADDR slots, GM_ADDR table,
                              GM_ADDR cache, GM_ADDR sequences) {
    inputGm.SetGlobalBuffer((__gm__ T*)input);
    weightGm.SetGlobalBuffer((__gm__ T*)weight);
    slotGm.SetGlobalBuffer((__gm__ int32_t*)slots);
    tableGm.SetGlobalBuffer((__gm__ int32_t*)table);
    cacheGm.SetGlobalBuffer((__gm__ T*)cache);
    sequenceGm.SetGlobalBuffer((__gm__ int64_t*)sequences);
    uint32_t tile = uint32_t(tiling.headsPerTask * tiling.headDim);
    pipe.InitBuffer(inputQueue, 2, groupTokens * tile * sizeof(T));
    pipe.InitBuffer(outputQueue, 1, tile * sizeof(T));
    pipe.InitBuffer(weightQueue, 1, uint32_t(tiling.blockTokens) * weightRow * sizeof(T));
    pipe.InitBuffer(productBuffer, groupTokens * tile * sizeof(float));
    pipe.InitBuffer(sumBuffer, tile * sizeof(float));
    pipe.InitBuffer(weightBuffer, uint32_t(tiling.blockTokens) * weightLanes * sizeof(float));
    pipe.InitBuffer(spreadBuffer,
                    uint32_t(tiling.blockTokens) * weightLanes * floatsPerBlock * sizeof(float));
  }

  /// Tasks that share a head tile follow each other, so that its weights are loaded once per core.
  __aicore__ inline void process() {
    int64_t core = GetBlockIdx();
    int64_t cores = GetBlockNum();
    int64_t loadedTile = -1;
    for (int64_t task = tiling.taskCount * core / cores;
         task < tiling.taskCount * (core + 1) / cores; ++task) {
      int64_t headTile = task / tiling.firingCount;
      firstHead = headTile * tiling.headsPerTask;
      heads = int32_t(tiling.heads - firstHead < tiling.headsPerTask ? tiling.heads - firstHead
                                                                     : tiling.headsPerTask);
      if (headTile != loadedTile)
        loadWeights();
      loadedTile = headTile;
      compress(task % tiling.firingCount);
    }
  }

private:
  /// Leaves weight[t, firstHead + i] in all 8 floats of block t * 8 + i of spreadBuffer.
  __aicore__ inline void loadWeights() {
    LocalTensor<float> weights = weightBuffer.Get<float>();
    int32_t tokens = int32_t(tiling.blockTokens);
    if (tiling.weightRead == NsaCompressRead::Dense) {
      LocalTensor<T> raw = weightQueue.AllocTensor<T>();
      DataCopyExtParams rows{uint16_t(tokens), uint32_t(heads * sizeof(T)),
                             uint32_t((tiling.weightTokenStride - heads) * sizeof(T)), 0, 0};
      DataCopyPadExtParams<T> padding{true, 0, uint8_t(weightRow - heads), T(0)};
      DataCopyPad(raw, weightGm[tiling.weightOffset + firstHead], rows, padding);
      weightQueue.EnQue(raw);
      LocalTensor<T> loaded = weightQueue.DeQue<T>();
      Cast(weights, loaded, RoundMode::CAST_NONE, uint64_t(weightLanes), uint8_t(tokens),
           UnaryRepeatParams{1, 1, 1, 1});
      weightQueue.FreeTensor(loaded);
      PipeBarrier<PIPE_V>();
    } else {
      waitForVector();
      for (int32_t t = 0; t < tokens; ++t)
        for (int32_t i = 0; i < weightLanes; ++i)
          weights.SetValue(t * weightLanes + i, i < heads ? weightAt(t, firstHead + i) : 0.0f);
      letVectorRead();
    }
    LocalTensor<float> spread = spreadBuffer.Get<float>();
    waitForVector();
    for (int32_t t = 0; t < tokens; ++t)
      for (int32_t i = 0; i < heads; ++i)
        Duplicate(spread[(t * weightLanes + i) * floatsPerBlock],
                  weights.GetValue(t * weightLanes + i), floatsPerBlock);
    PipeBarrier<PIPE_V>();
  }

  __aicore__ inline float weightAt(int64_t token, int64_t head) {
    T value = weightGm.GetValue(tiling.weightOffset + token * tiling.weightTokenStride +
                                head * tiling.weightHeadStride);
    if constexpr (std::is_same<T, bfloat16_t>::value)
      return ToFloat(value);
    else
      return float(value);
  }

  __aicore__ inline void compress(int64_t firing) {
    int64_t sequence = sequenceGm.GetValue(2 * firing);
    int64_t firstToken = sequenceGm.GetValue(2 * firing + 1);
    int64_t slot = slotGm.GetValue(tiling.slotOffset + sequence);
    if (slot < 0 || slot >= tiling.cacheRows || !pagesAreValid(sequence, firstToken))
      return; // the host side reports them; the kernel never leaves its memory
    LocalTensor<float> sum = sumBuffer.Get<float>();
    for (int32_t group = 0; group * groupTokens < tiling.blockTokens; ++group) {
      loadGroup(tokenAddress(sequence, firstToken + group * groupTokens));
      addGroup(sum, group);
    }
    LocalTensor<T> result = outputQueue.AllocTensor<T>();
    Cast(result, sum, RoundMode::CAST_RINT, uint32_t(heads * tiling.headDim));
    outputQueue.EnQue(result);
    PipeBarrier<PIPE_V>(); // the next task overwrites the sum
    LocalTensor<T> ready = outputQueue.DeQue<T>();
    DataCopy(cacheGm[tiling.cacheOffset + (slot * tiling.heads + firstHead) * tiling.headDim],
             ready, uint32_t(heads * tiling.headDim));
    outputQueue.FreeTensor(ready);
  }

  __aicore__ inline int64_t pageAt(int64_t sequence, int64_t token) {
    return tableGm.GetValue(tiling.tableOffset + sequence * tiling.tableSequenceStride +
                            token / tiling.pageTokens * tiling.tablePageStride);
  }

  __aicore__ inline bool pagesAreValid(int64_t sequence, int64_t firstToken) {
    if (!tiling.hasBlockTable)
      return true;
    for (int64_t token = firstToken; token < firstToken + tiling.blockTokens;
         token += groupTokens) {
      int64_t page = pageAt(sequence, token);
      if (page < 0 || page >= tiling.pageCount)
        return false;
    }
    return true;
  }

  /// The element of the input where token `token` starts, at the task's first head.
  __aicore__ inline int64_t tokenAddress(int64_t sequence, int64_t token) {
    int64_t address = tiling.inputOffset + firstHead * tiling.inputHeadStride;
    if (!tiling.hasBlockTable)
      return address + token * tiling.inputTokenStride;
    return address + pageAt(sequence, token) * tiling.inputPageStride +
           token % tiling.pageTokens * tiling.inputTokenStride;
  }

  /// Enqueues 8 tokens as [8, heads, D].
  __aicore__ inline void loadGroup(int64_t address) {
    LocalTensor<T> group = inputQueue.AllocTensor<T>();
    int32_t row = int32_t(tiling.headDim);
    DataCopyPadExtParams<T> noPadding{false, 0, 0, T(0)};
    if (tiling.inputRead == NsaCompressRead::Dense) {
      DataCopyExtParams tokens{uint16_t(groupTokens), uint32_t(heads * row * sizeof(T)),
                               uint32_t((tiling.inputTokenStride - heads * row) * sizeof(T)), 0, 0};
      DataCopyPad(group, inputGm[address], tokens, noPadding);
    } else if (tiling.inputRead == NsaCompressRead::Rows) {
      DataCopyExtParams one{1, uint32_t(row * sizeof(T)), 0, 0, 0};
      for (int32_t t = 0; t < groupTokens; ++t)
        for (int32_t n = 0; n < heads; ++n)
          DataCopyPad(group[(t * heads + n) * row],
                      inputGm[address + t * tiling.inputTokenStride + n * tiling.inputHeadStride],
                      one, noPadding);
    } else {
      waitForVector();
      for (int32_t t = 0; t < groupTokens; ++t)
        for (int32_t n = 0; n < heads; ++n)
          for (int32_t d = 0; d < row; ++d)
            group.SetValue((t * heads + n) * row + d,
                           inputGm.GetValue(address + t * tiling.inputTokenStride +
                                            n * tiling.inputHeadStride +
                                            d * tiling.inputElementStride));
      letVectorRead();
    }
    inputQueue.EnQue(group);
  }

  /// sum = (group 0) or sum + (group): the weighted tokens of the group that was enqueued last.
  __aicore__ inline void addGroup(const LocalTensor<float>& sum, int32_t group) {
    LocalTensor<float> products = productBuffer.Get<float>();
    LocalTensor<float> spread = spreadBuffer.Get<float>();
    int32_t row = int32_t(tiling.headDim);
    int32_t tile = heads * row;
    LocalTensor<T> tokens = inputQueue.DeQue<T>();
    Cast(products, tokens, RoundMode::CAST_NONE, uint32_t(groupTokens * tile));
    inputQueue.FreeTensor(tokens);
    PipeBarrier<PIPE_V>();
    // One repeat per head; its 8 blocks all read the same block of spread weights.
    uint8_t rowBlocks = uint8_t(row / floatsPerBlock);
    BinaryRepeatParams strides{1, 1, 0, rowBlocks, rowBlocks, 1};
    for (int32_t t = 0; t < groupTokens; ++t) {
      LocalTensor<float> weights = spread[(group * groupTokens + t) * weightLanes * floatsPerBlock];
      for (int32_t d = 0; d < row; d += lanesPerRepeat) {
        uint64_t lanes = uint64_t(row - d < lanesPerRepeat ? row - d : lanesPerRepeat);
        LocalTensor<float> part = products[t * tile + d];
        Mul(part, part, weights, lanes, uint8_t(heads), strides);
      }
    }
    PipeBarrier<PIPE_V>();
    Add(products, products, products[4 * tile], 4 * tile);
    PipeBarrier<PIPE_V>();
    Add(products, products, products[2 * tile], 2 * tile);
    PipeBarrier<PIPE_V>();
    if (group == 0) {
      Add(sum, products, products[tile], tile);
    } else {
      Add(products, products, products[tile], tile);
      PipeBarrier<PIPE_V>();
      Add(sum, sum, products, tile);
    }
    PipeBarrier<PIPE_V>();
  }

  /// The scalar unit waits until all vector instructions are done.
  __aicore__ inline void waitForVector() {
    int32_t event = int32_t(GetTPipePtr()->FetchEventID(HardEvent::V_S));
    SetFlag<HardEvent::V_S>(event);
    WaitFlag<HardEvent::V_S>(event);
  }

  /// Vector instructions that follow see what the scalar unit wrote.
  __aicore__ inline void letVectorRead() {
    int32_t event = int32_t(GetTPipePtr()->FetchEventID(HardEvent::S_V));
    SetFlag<HardEvent::S_V>(event);
    WaitFlag<HardEvent::S_V>(event);
  }

  const NsaCompressTiling& tiling;
  int64_t firstHead = 0;
  int32_t heads = 0;
  TPipe pipe;
  TQue<TPosition::VECIN, 2> inputQueue;
  TQue<TPosition::VECIN, 1> weightQueue;
  TQue<TPosition::VECOUT, 1> outputQueue;
  TBuf<TPosition::VECCALC> productBuffer, sumBuffer, weightBuffer, spreadBuffer;
  GlobalTensor<T> inputGm, weightGm, cacheGm;
  GlobalTensor<int32_t> slotGm, tableGm;
  GlobalTensor<int64_t> sequenceGm;
};

template <typename T>
__aicore__ inline void run(GM_ADDR input, GM_ADDR weight, GM_ADDR slots, GM_ADDR table,
                           GM_ADDR cache, GM_ADDR sequences, const NsaCompressTiling& tiling) {
  NsaCompress<T> operation(tiling);
  operation.init(input, weight, slots, table, cache, sequences);
  operation.process();
}

} // namespace

extern "C" __global__ __aicore__ void nsa_compress_with_cache(GM_ADDR input, GM_ADDR weight,
                                                              GM_ADDR slots, GM_ADDR table,
                                                              GM_ADDR cache, GM_ADDR sequences,
                                                              NsaCompressTiling tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  if (tiling.isBfloat16)
    run<bfloat16_t>(input, weight, slots, table, cache, sequences, tiling);
  else
    run<half>(input, weight, slots, table, cache, sequences, tiling);
}
