// SPDX-License-Identifier: Apache-2.0
#include "operators/nsa_compress_with_cache/ascend/arguments.h"

#include "opdev/op_errno.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

namespace tilewright::operators {
namespace {

using acl::joined;
using acl::Tensor;

constexpr int64_t blockUnit = 16; // compressBlockSize, compressStride and D are multiples of it
constexpr int64_t maxBlockSize = 64;
constexpr int64_t maxHeadDim = 256;
constexpr int64_t maxHeads = 64;
constexpr int64_t evenHeadsFrom = 50; // more heads than these must be even in number

template <class... Args> NsaCompressFault null(const Args&... args) {
  return {ACLNN_ERR_PARAM_NULLPTR, joined(args...)};
}
template <class... Args> NsaCompressFault invalid(const Args&... args) {
  return {ACLNN_ERR_PARAM_INVALID, joined(args...)};
}
template <class... Args> NsaCompressFault tilingError(const Args&... args) {
  return {ACLNN_ERR_INNER_TILING_ERROR, joined(args...)};
}

NsaCompressFault findTensor(const char* name, const aclTensor* handle,
                            std::shared_ptr<Tensor>& object) {
  auto& tensors = acl::AclnnObjects::instance().tensors;
  object = tensors.find(handle);
  return object ? NsaCompressFault{} : invalid(tensors.complaint(name, handle, "a tensor"));
}

NsaCompressFault findObjects(const NsaCompressArguments& arguments, NsaCompressObjects& objects) {
  const std::array<std::pair<const char*, const void*>, 5> required = {
      {{"input", arguments.input},
       {"weight", arguments.weight},
       {"slotMapping", arguments.slotMapping},
       {"actSeqLenOptional", arguments.actSeqLen},
       {"outputCache", arguments.outputCache}}};
  for (const auto& [name, pointer] : required)
    if (!pointer)
      return null(name, " is null");
  if (!arguments.blockTable && !arguments.layout)
    return null("layoutOptional is null, which it may be only with a blockTableOptional");
  if (auto fault = findTensor("input", arguments.input, objects.input))
    return fault;
  if (auto fault = findTensor("weight", arguments.weight, objects.weight))
    return fault;
  if (auto fault = findTensor("slotMapping", arguments.slotMapping, objects.slotMapping))
    return fault;
  if (auto fault = findTensor("outputCache", arguments.outputCache, objects.outputCache))
    return fault;
  if (arguments.blockTable)
    if (auto fault = findTensor("blockTableOptional", arguments.blockTable, objects.blockTable))
      return fault;
  auto& arrays = acl::AclnnObjects::instance().intArrays;
  objects.lengths = arrays.find(arguments.actSeqLen);
  if (!objects.lengths)
    return invalid(arrays.complaint("actSeqLenOptional", arguments.actSeqLen, "an int array"));
  return {};
}

NsaCompressFault checkFormat(const char* name, const Tensor& tensor) {
  switch (tensor.format) {
  case ACL_FORMAT_ND:
  case ACL_FORMAT_NCL:
  case ACL_FORMAT_NCHW:
  case ACL_FORMAT_NCDHW:
    return {};
  default:
    return invalid(name, " has format ", int(tensor.format), " but must be ND");
  }
}

NsaCompressFault checkTypes(const NsaCompressObjects& objects) {
  const Tensor& input = *objects.input;
  if (input.dataType != ACL_FLOAT16 && input.dataType != ACL_BF16)
    return invalid("input is ", acl::dataTypeName(input.dataType),
                   " but must be float16 or bfloat16");
  for (const auto& [name, tensor] :
       {std::pair{"weight", objects.weight}, std::pair{"outputCache", objects.outputCache}})
    if (tensor->dataType != input.dataType)
      return invalid(name, " is ", acl::dataTypeName(tensor->dataType), " but input is ",
                     acl::dataTypeName(input.dataType));
  for (const auto& [name, tensor] : {std::pair{"slotMapping", objects.slotMapping},
                                     std::pair{"blockTableOptional", objects.blockTable}})
    if (tensor && tensor->dataType != ACL_INT32)
      return invalid(name, " is ", acl::dataTypeName(tensor->dataType), " but must be int32");
  for (const auto& [name, tensor] :
       {std::pair{"input", objects.input}, std::pair{"weight", objects.weight},
        std::pair{"slotMapping", objects.slotMapping},
        std::pair{"blockTableOptional", objects.blockTable},
        std::pair{"outputCache", objects.outputCache}}) {
    if (!tensor)
      continue;
    if (auto fault = checkFormat(name, *tensor))
      return fault;
    if (tensor->isEmpty())
      return invalid(name, " is empty: its shape is ", tensor->shape());
  }
  for (const auto& [name, tensor] : {std::pair{"slotMapping", objects.slotMapping},
                                     std::pair{"outputCache", objects.outputCache}})
    if (!tensor->isDense())
      return invalid(name, " has strides ", acl::shapeText(tensor->strides), " for shape ",
                     tensor->shape(), " but must be contiguous");
  return {};
}

NsaCompressFault checkLayout(const NsaCompressArguments& arguments) {
  if (!arguments.layout)
    return {};
  std::string layout;
  for (size_t i = 0; i < 8 && arguments.layout[i]; ++i)
    layout += char(std::toupper(static_cast<unsigned char>(arguments.layout[i])));
  constexpr std::array<const char*, 5> known = {"BSH", "SBH", "BSND", "BNSD", "TND"};
  if (std::find(known.begin(), known.end(), layout) == known.end())
    return tilingError("layoutOptional is '", layout, "' but must be BSH, SBH, BSND, BNSD or TND");
  if (!arguments.blockTable && layout != "TND")
    return tilingError("layoutOptional is '", layout,
                       "' but must be TND where there is no blockTableOptional");
  return {};
}

NsaCompressFault checkAttributes(const NsaCompressArguments& arguments) {
  int64_t size = arguments.compressBlockSize;
  int64_t stride = arguments.compressStride;
  if (size <= 0 || size % blockUnit != 0 || size > maxBlockSize)
    return tilingError("compressBlockSize is ", size, " but must be 16, 32, 48 or 64");
  if (stride <= 0 || stride % blockUnit != 0)
    return tilingError("compressStride is ", stride, " but must be a positive multiple of 16");
  if (size < stride)
    return tilingError("compressBlockSize is ", size, " but compressStride is ", stride,
                       ", which is more");
  if (arguments.actSeqLenType != 1)
    return tilingError("actSeqLenType is ", arguments.actSeqLenType,
                       " but only 1 (lengths) is supported");
  if (arguments.blockTable && arguments.pageBlockSize != 64 && arguments.pageBlockSize != 128)
    return tilingError("pageBlockSize is ", arguments.pageBlockSize, " but must be 64 or 128");
  return checkLayout(arguments);
}

NsaCompressFault checkRank(const char* name, const Tensor& tensor, size_t rank,
                           const char* meaning) {
  if (tensor.dims.size() == rank)
    return {};
  return tilingError(name, " has shape ", tensor.shape(), " but must be ", meaning);
}

NsaCompressFault checkRanks(const NsaCompressObjects& objects) {
  if (objects.blockTable) {
    if (auto fault = checkRank("input", *objects.input, 4, "[blockNum, pageBlockSize, N, D]"))
      return fault;
    if (auto fault =
            checkRank("blockTableOptional", *objects.blockTable, 2, "[B, pages of a sequence]"))
      return fault;
  } else if (auto fault = checkRank("input", *objects.input, 3,
                                    "[T, N, D] (there is no blockTableOptional)")) {
    return fault;
  }
  if (auto fault = checkRank("weight", *objects.weight, 2, "[compressBlockSize, N]"))
    return fault;
  if (auto fault = checkRank("slotMapping", *objects.slotMapping, 1, "[B]"))
    return fault;
  return checkRank("outputCache", *objects.outputCache, 3, "[rows, N, D]");
}

NsaCompressFault checkHeads(int64_t heads, int64_t headDim) {
  if (heads > maxHeads)
    return tilingError("input has ", heads, " heads but at most ", maxHeads, " are supported");
  if (heads > evenHeadsFrom && heads % 2 != 0)
    return tilingError("input has ", heads, " heads but more than ", evenHeadsFrom,
                       " must be even in number");
  if (headDim % blockUnit != 0 || headDim > maxHeadDim)
    return tilingError("input has headDim ", headDim,
                       " but it must be a multiple of 16 and at most ", maxHeadDim);
  return {};
}

/// One row for each block that all pages together may hold; without pages the documentation names no number.
NsaCompressFault checkRoom(const NsaCompressArguments& arguments,
                           const NsaCompressObjects& objects) {
  if (!objects.blockTable)
    return {};
  int64_t rows = objects.outputCache->dims[0];
  int64_t tokens = objects.input->dims[0] * arguments.pageBlockSize;
  int64_t tooFew = (tokens - arguments.compressBlockSize) / arguments.compressStride;
  if (rows > tooFew)
    return {};
  return tilingError("outputCache has ", rows, " rows but must have more than ", tooFew,
                     ", (blockNum * pageBlockSize - compressBlockSize) / compressStride");
}

NsaCompressFault checkShapes(const NsaCompressArguments& arguments,
                             const NsaCompressObjects& objects) {
  if (auto fault = checkRanks(objects))
    return fault;
  const Tensor& input = *objects.input;
  const Tensor& weight = *objects.weight;
  const Tensor& cache = *objects.outputCache;
  size_t rank = input.dims.size();
  int64_t heads = input.dims[rank - 2];
  int64_t headDim = input.dims[rank - 1];
  if (objects.blockTable && input.dims[1] != arguments.pageBlockSize)
    return tilingError("input has ", input.dims[1], " tokens per page but pageBlockSize is ",
                       arguments.pageBlockSize);
  if (auto fault = checkHeads(heads, headDim))
    return fault;
  if (weight.dims[0] != arguments.compressBlockSize)
    return tilingError("weight has ", weight.dims[0], " rows but compressBlockSize is ",
                       arguments.compressBlockSize);
  if (weight.dims[1] != heads)
    return tilingError("weight has ", weight.dims[1], " heads but input has ", heads);
  if (cache.dims[1] != heads || cache.dims[2] != headDim)
    return tilingError("outputCache has shape ", cache.shape(),
                       " but its last dims must be those of input, [", heads, ", ", headDim, "]");
  int64_t batch = objects.slotMapping->dims[0];
  if (int64_t(objects.lengths->size()) != batch)
    return tilingError("actSeqLenOptional has ", objects.lengths->size(),
                       " lengths but slotMapping has ", batch, " slots");
  if (objects.blockTable && objects.blockTable->dims[0] != batch)
    return tilingError("blockTableOptional has ", objects.blockTable->dims[0],
                       " rows but slotMapping has ", batch, " slots");
  return checkRoom(arguments, objects);
}

NsaCompressFault checkLengths(const NsaCompressArguments& arguments,
                              const NsaCompressObjects& objects) {
  const std::vector<int64_t>& lengths = *objects.lengths;
  bool isPaged = objects.blockTable != nullptr;
  int64_t limit =
      isPaged ? objects.blockTable->dims[1] * arguments.pageBlockSize : objects.input->dims[0];
  int64_t total = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0)
      return tilingError("actSeqLenOptional[", i, "] is ", lengths[i], " but may not be negative");
    if (lengths[i] > limit)
      return tilingError("actSeqLenOptional[", i, "] is ", lengths[i], " but there is room for ",
                         limit, " tokens");
    total += lengths[i];
    if (!isPaged && total > limit)
      return tilingError("actSeqLenOptional sums up to ", total, " at [", i, "] but input has ",
                         limit, " tokens");
  }
  return {};
}

/// Does a gap between two bursts fit what a copy can express (32 bits, not negative)?
bool isGap(int64_t elements) {
  return elements >= 0 && elements <= INT32_MAX;
}

NsaCompressRead inputRead(const NsaCompressTiling& tiling) {
  if (tiling.inputElementStride != 1)
    return NsaCompressRead::Elements;
  bool headsAreDense = tiling.inputHeadStride == tiling.headDim || tiling.headsPerTask == 1;
  // The gap is largest for the last tile, which may have one head only.
  bool gapsFit = isGap(tiling.inputTokenStride - tiling.headsPerTask * tiling.headDim) &&
                 isGap(tiling.inputTokenStride - tiling.headDim);
  return headsAreDense && gapsFit ? NsaCompressRead::Dense : NsaCompressRead::Rows;
}

NsaCompressRead weightRead(const NsaCompressTiling& tiling) {
  bool isDense = tiling.weightHeadStride == 1 &&
                 isGap(tiling.weightTokenStride - tiling.headsPerTask) &&
                 isGap(tiling.weightTokenStride - 1);
  return isDense ? NsaCompressRead::Dense : NsaCompressRead::Elements;
}

} // namespace

NsaCompressFault checkNsaCompress(const NsaCompressArguments& arguments,
                                  NsaCompressObjects& objects) {
  if (auto fault = findObjects(arguments, objects))
    return fault;
  if (auto fault = checkTypes(objects))
    return fault;
  if (auto fault = checkAttributes(arguments))
    return fault;
  if (auto fault = checkShapes(arguments, objects))
    return fault;
  return checkLengths(arguments, objects);
}

std::vector<NsaCompressSequence> firingSequences(const std::vector<int64_t>& lengths,
                                                 int64_t blockSize, int64_t stride, bool isPacked) {
  std::vector<NsaCompressSequence> firing;
  int64_t packedStart = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    int64_t first = lengths[i] - blockSize;
    if (first >= 0 && first % stride == 0)
      firing.push_back({int64_t(i), packedStart + first});
    packedStart += isPacked ? lengths[i] : 0;
  }
  return firing;
}

NsaCompressTiling makeTiling(const NsaCompressArguments& arguments,
                             const NsaCompressObjects& objects, int64_t firingCount,
                             int64_t cores) {
  const Tensor& input = *objects.input;
  size_t rank = input.dims.size();
  NsaCompressTiling tiling = {};
  tiling.firingCount = firingCount;
  tiling.heads = input.dims[rank - 2];
  tiling.headDim = input.dims[rank - 1];
  // Few sequences: smaller tiles, so that more cores have work.
  tiling.headsPerTask = 8;
  auto tilesOf = [&](int64_t perTask) { return (tiling.heads + perTask - 1) / perTask; };
  while (tiling.headsPerTask > 1 && firingCount * tilesOf(tiling.headsPerTask) < cores)
    tiling.headsPerTask /= 2;
  tiling.headsPerTask = std::min(tiling.headsPerTask, tiling.heads);
  tiling.taskCount = firingCount * tilesOf(tiling.headsPerTask);
  tiling.blockTokens = arguments.compressBlockSize;
  tiling.cacheRows = objects.outputCache->dims[0];
  if (objects.blockTable) {
    tiling.hasBlockTable = 1;
    tiling.pageTokens = arguments.pageBlockSize;
    tiling.pageCount = input.dims[0];
    tiling.tableSequenceStride = objects.blockTable->strides[0];
    tiling.tablePageStride = objects.blockTable->strides[1];
    tiling.tableOffset = objects.blockTable->offset;
    tiling.inputPageStride = input.strides[0];
  }
  tiling.inputOffset = input.offset;
  tiling.inputTokenStride = input.strides[rank - 3];
  tiling.inputHeadStride = input.strides[rank - 2];
  tiling.inputElementStride = input.strides[rank - 1];
  tiling.weightOffset = objects.weight->offset;
  tiling.weightTokenStride = objects.weight->strides[0];
  tiling.weightHeadStride = objects.weight->strides[1];
  tiling.slotOffset = objects.slotMapping->offset;
  tiling.cacheOffset = objects.outputCache->offset;
  tiling.inputRead = inputRead(tiling);
  tiling.weightRead = weightRead(tiling);
  tiling.isBfloat16 = input.dataType == ACL_BF16;
  return tiling;
}

std::string checkTables(const std::vector<NsaCompressSequence>& sequences,
                        const NsaCompressTiling& tiling, const int32_t* slots,
                        const int32_t* table) {
  std::map<int32_t, int64_t> owners;
  for (const NsaCompressSequence& one : sequences) {
    int32_t slot = slots[tiling.slotOffset + one.sequence];
    if (slot < -1 || slot >= tiling.cacheRows)
      return joined("slotMapping[", one.sequence, "] is ", slot, " but outputCache has ",
                    tiling.cacheRows, " rows");
    auto [owner, isNew] = owners.emplace(slot, one.sequence);
    if (slot >= 0 && !isNew)
      return joined("slotMapping[", owner->second, "] and slotMapping[", one.sequence,
                    "] are both ", slot, " and both sequences have completed a block");
    if (!tiling.hasBlockTable)
      continue;
    int64_t lastPage = (one.firstToken + tiling.blockTokens - 1) / tiling.pageTokens;
    for (int64_t i = one.firstToken / tiling.pageTokens; i <= lastPage; ++i) {
      int32_t page = table[tiling.tableOffset + one.sequence * tiling.tableSequenceStride +
                           i * tiling.tablePageStride];
      if (page < 0 || page >= tiling.pageCount)
        return joined("blockTableOptional[", one.sequence, ", ", i, "] is ", page,
                      " but input has ", tiling.pageCount, " pages");
    }
  }
  return {};
}

} // namespace tilewright::operators
