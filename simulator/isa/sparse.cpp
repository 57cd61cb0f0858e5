// SPDX-License-Identifier: Apache-2.0
// LoadDataWithSparse: a dense B, two of each four elements of a sparse one, and the indices that say
// which: 2 bits each, the first in the lowest bits. Mmad takes the two elements of A that they name.
#include "simulator/isa/cube.h"
#include "simulator/memory/local_memory.h"

#include <cstring>

namespace tilewright::ascend::isa {

constexpr uint32_t indexBytes = fractalBytes / 4;

std::string inspectLoadSparse(const CubeInstr& i, AccessList& list) {
  if (!i.repeat)
    return {};
  if (i.transpose)
    return "LoadDataWithSparse can't transpose";
  if (i.dst.space != Space::L0B)
    return "LoadDataWithSparse writes B2";
  if (auto e = alignedTo(i.dst, "dst", fractalBytes, true); !e.empty())
    return e;
  for (const Operand* o : {&i.a, &i.b}) {
    if (auto e = alignedTo(*o, o == &i.a ? "src" : "idx", rowBytes); !e.empty())
      return e;
    uint64_t unit = o == &i.a ? fractalBytes : indexBytes;
    Region r;
    r.begin = o->address + i.startIndex * unit;
    r.length = unit;
    r.inner = i.repeat;
    r.innerStride = static_cast<int64_t>(i.srcStride * unit);
    list.add(*o, r, AccessKind::Read);
  }
  Region dst;
  dst.begin = i.dst.address;
  dst.length = fractalBytes;
  dst.inner = i.repeat;
  dst.innerStride = int64_t{i.dstGap + 1} * fractalBytes;
  list.add(i.dst, dst, AccessKind::Write);
  return {};
}

void runLoadSparse(const CubeInstr& i, const Context& context) {
  context.sparseIndices.resize(spaceBytes[static_cast<unsigned>(Space::L0B)] / 4);
  for (uint32_t r = 0; r < i.repeat; ++r) {
    uint64_t from = i.startIndex + uint64_t{r} * i.srcStride;
    uint64_t to = uint64_t{r} * (i.dstGap + 1) * fractalBytes;
    std::memcpy(context.at(i.dst) + to, context.at(i.a) + from * fractalBytes, fractalBytes);
    std::memcpy(&context.sparseIndices[(i.dst.address + to) / 4],
                context.at(i.b) + from * indexBytes, indexBytes);
  }
}

} // namespace tilewright::ascend::isa
