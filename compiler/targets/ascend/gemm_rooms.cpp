// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/gemm_rooms.h"

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/npu_access.h"

#include <map>

namespace tilewright::ascend {

using namespace mlir;

static constexpr int64_t kFractalBytes = 512;

GemmRoom gemmRoom(func::FuncOp kernel, tile::MemorySpace space) {
  std::map<int64_t, int64_t> placed; // ends by starts
  int64_t others = 0;
  kernel.walk([&](tile::AllocOp alloc) {
    if (alloc.getType().getSpace() != space)
      return;
    const int64_t bytes =
        int64_t(llvm::alignTo(uint64_t(npu::storageBytes(alloc.getType())), kFractalBytes));
    if (std::optional<uint64_t> address = alloc.getAddress())
      placed[int64_t(*address)] = std::max(placed[int64_t(*address)], int64_t(*address) + bytes);
    else
      others += bytes;
  });
  placed[GemmRoom::kBytes] = GemmRoom::kBytes;
  int64_t behind = 0, gap = 0, end = 0;
  for (const auto& [first, last] : placed) {
    if (first - behind > gap)
      gap = first - behind, end = first;
    behind = std::max(behind, last);
  }
  const int64_t half = std::max<int64_t>(gap - others, 0) / 2 / kFractalBytes * kFractalBytes;
  return {(end - 2 * half) / kFractalBytes * kFractalBytes, half};
}

} // namespace tilewright::ascend
