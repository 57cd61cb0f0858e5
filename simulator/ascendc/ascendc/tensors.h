// SPDX-License-Identifier: Apache-2.0
// LocalTensor and GlobalTensor: an address, an element type, a size. Access by the scalar unit.
#ifndef TILEWRIGHT_ASCENDC_TENSORS_H
#define TILEWRIGHT_ASCENDC_TENSORS_H

#include "enums.h"

#include "../../machine/kernel_api.h"

namespace AscendC {

namespace twHost = tilewright::ascend;

struct ShapeInfo {
  uint8_t shapeDim = 0, originalShapeDim = 0;
  uint32_t shape[8] = {}, originalShape[8] = {};
  DataFormat dataFormat = DataFormat::ND;
  ShapeInfo() = default;
  ShapeInfo(uint8_t dims, const uint32_t sizes[], DataFormat format = DataFormat::ND)
      : shapeDim(dims), originalShapeDim(dims), dataFormat(format) {
    for (uint8_t i = 0; i < dims && i < 8; ++i)
      shape[i] = originalShape[i] = sizes[i];
  }
};

/// Elements of `T` in `bytes` bytes, and back; int4 packs two in a byte.
template <class T> constexpr uint64_t twElementsIn(uint64_t bytes) {
  return std::is_same_v<T, int4b_t> ? bytes * 2 : bytes / sizeof(T);
}
template <class T> constexpr uint64_t twBytesIn(uint64_t elements) {
  return std::is_same_v<T, int4b_t> ? elements / 2 : elements * sizeof(T);
}

template <class T> class LocalTensor;
template <class T> class GlobalTensor;
template <class T> struct TwTensorExpression;
template <class T> struct TwTensorComparison;

/// Where a scalar is: reads and writes go through the machine, which checks them.
template <class T> class TwElementReference {
public:
  TwElementReference(const twHost::Operand& operand, TwPlace place)
      : operand(operand), place(place) {}
  operator T() const {
    return *static_cast<const T*>(twHost::scalarAccess(operand, sizeof(T), false, place));
  }
  TwElementReference& operator=(T value) {
    *static_cast<T*>(twHost::scalarAccess(operand, sizeof(T), true, place)) = value;
    return *this;
  }
  TwElementReference& operator=(const TwElementReference& other) {
    return *this = static_cast<T>(other);
  }
  TwElementReference(const TwElementReference&) = default;

private:
  twHost::Operand operand;
  TwPlace place;
};

template <class T> class LocalTensor {
public:
  using PrimType = T;

  LocalTensor() = default;
  LocalTensor(TPosition position, uint32_t address, uint32_t tileSize)
      : address(address), bytes(static_cast<uint32_t>(twBytesIn<T>(tileSize))), position(position),
        buffer(ofNoQueue) {}
  explicit LocalTensor(uint32_t address) : address(address), buffer(ofNoQueue) {}
  LocalTensor(const LocalTensor&) = default;
  LocalTensor& operator=(const LocalTensor&) = default;
  /// dst = a + b and its like, on all of dst.
  void operator=(const TwTensorExpression<T>& expression);
  /// dst = a < b and its like: one bit for each element.
  template <class U> void operator=(const TwTensorComparison<U>& comparison);

  LocalTensor operator[](uint32_t offset) const {
    LocalTensor part = *this;
    uint64_t skipped = twBytesIn<T>(offset); // in 64 bits: a huge offset must not come out small
    part.address += static_cast<uint32_t>(skipped);
    part.bytes = bytes > skipped ? bytes - static_cast<uint32_t>(skipped) : 0;
    part.pastEnd = pastEnd || (bytes != 0 && skipped >= bytes) || address + skipped > UINT32_MAX;
    return part;
  }
  T GetValue(uint32_t index, TwPlace place = TwPlace::here()) const {
    return *static_cast<const T*>(twHost::scalarAccess(at(index), sizeof(T), false, place));
  }
  template <class U = T>
  void SetValue(uint32_t index, U value, TwPlace place = TwPlace::here()) const {
    *static_cast<T*>(twHost::scalarAccess(at(index), sizeof(T), true, place)) =
        static_cast<T>(value);
  }
  TwElementReference<T> operator()(uint32_t index, TwPlace place = TwPlace::here()) const {
    return {at(index), place};
  }
  template <class U> LocalTensor<U> ReinterpretCast() const {
    LocalTensor<U> other;
    other.address = address;
    other.bytes = bytes;
    other.position = position;
    other.buffer = buffer;
    other.pastEnd = pastEnd;
    other.nameNumber = nameNumber;
    return other;
  }
  uint32_t GetSize() const {
    return static_cast<uint32_t>(twElementsIn<T>(bytes));
  }
  void SetSize(uint32_t elements) {
    bytes = static_cast<uint32_t>(twBytesIn<T>(elements));
  }
  uint32_t GetLength() const {
    return bytes;
  }
  void SetBufferLen(uint32_t length) {
    bytes = length;
  }
  T* GetPhyAddr(uint32_t offset = 0) const {
    return reinterpret_cast<T*>(twHost::agentView().memory[static_cast<int>(twSpaceOf(position))] +
                                address + twBytesIn<T>(offset));
  }
  TPosition GetPosition() const {
    return position;
  }
  void SetShapeInfo(const ShapeInfo& info) {
    shape = info;
  }
  ShapeInfo GetShapeInfo() const {
    return shape;
  }
  void SetUserTag(int32_t newTag) {
    tag = newTag;
  }
  int32_t GetUserTag() const {
    return tag;
  }
  twHost::Operand operand() const {
    return {address, pastEnd ? 1u : bytes, twSpaceOf(position), TwDTypeOf<T>::value,
            0,       buffer >= 0,          !hasMemory(),        nameNumber};
  }

  // For the headers alone.
  uint32_t address = 0;
  uint32_t bytes = 0;
  TPosition position = TPosition::VECCALC;
  static constexpr int16_t ofNoQueue = -1, ofNothing = -2;
  int16_t buffer = ofNothing; ///< of its queue
  bool hasMemory() const {
    return buffer != ofNothing;
  }
  bool pastEnd = false;
  uint16_t nameNumber = 0; ///< twHost::Operand::tensor

private:
  template <class U> friend class LocalTensor;

  twHost::Operand at(uint32_t index) const {
    twHost::Operand o = operand();
    uint64_t skipped = twBytesIn<T>(index);
    o.address += skipped;
    if (o.bytes)
      o.bytes = o.bytes > skipped ? o.bytes - skipped : 1;
    return o;
  }

  int32_t tag = 0;
  ShapeInfo shape;
};

template <class T> class GlobalTensor {
public:
  using PrimType = T;

  void SetGlobalBuffer(__gm__ T* buffer) {
    pointer = buffer;
    size = 0;
    end = 0;
  }
  void SetGlobalBuffer(__gm__ T* buffer, uint64_t elements) {
    pointer = buffer;
    size = elements;
    constexpr uint64_t most = uint64_t{1} << 48; // more is none
    end = elements && elements < most ? reinterpret_cast<uint64_t>(buffer) + twBytesIn<T>(elements)
                                      : 0;
  }
  GlobalTensor operator[](uint64_t offset) const {
    GlobalTensor part = *this;
    part.pointer = reinterpret_cast<T*>(addressOf(offset));
    part.size = size > offset ? size - offset : 0;
    return part;
  }
  T GetValue(uint64_t index, TwPlace place = TwPlace::here()) const {
    return *static_cast<const T*>(twHost::scalarAccess(at(index), sizeof(T), false, place));
  }
  void SetValue(uint64_t index, T value, TwPlace place = TwPlace::here()) const {
    *static_cast<T*>(twHost::scalarAccess(at(index), sizeof(T), true, place)) = value;
  }
  TwElementReference<T> operator()(uint64_t index, TwPlace place = TwPlace::here()) const {
    return {at(index), place};
  }
  __gm__ T* GetPhyAddr(uint64_t offset = 0) const {
    return (*this)[offset].pointer;
  }
  uint64_t GetSize() const {
    return size;
  }
  /// For the headers alone: it begins here, and is the kernel's tensor of that number (twHost::Operand::tensor), whose
  /// extents that no name says are these.
  template <class... Extents> void twName(uint16_t number, Extents... extents) {
    nameNumber = number;
    const int64_t all[] = {static_cast<int64_t>(extents)..., 0};
    twHost::noteTensor(number, reinterpret_cast<uint64_t>(pointer), all, sizeof...(extents));
  }
  void SetShapeInfo(const ShapeInfo& info) {
    shape = info;
  }
  ShapeInfo GetShapeInfo() const {
    return shape;
  }
  /// A hint for the timing model: with CACHE_MODE_DISABLE, a tensor leaves L2 to others.
  template <CacheRwMode access = CacheRwMode::RW> void SetL2CacheHint(CacheMode mode) {
    auto directions = static_cast<uint8_t>(access);
    l2Bypass =
        mode == CacheMode::CACHE_MODE_DISABLE ? l2Bypass | directions : l2Bypass & ~directions;
  }
  twHost::Operand operand() const {
    return operandAt(reinterpret_cast<uint64_t>(pointer));
  }

private:
  twHost::Operand at(uint64_t index) const {
    return operandAt(addressOf(index));
  }
  /// Its bytes are 0 where SetGlobalBuffer gave no size, and 1 behind the end of what it gave.
  twHost::Operand operandAt(uint64_t address) const {
    const uint64_t left = end == 0 ? 0 : end > address ? end - address : 1;
    return {address, left, TwSpace::GM, TwDTypeOf<T>::value, l2Bypass, false, false, nameNumber};
  }
  /// Offsets may be negative. One that doesn't fit into 64 bits leads to where nothing is.
  uint64_t addressOf(uint64_t offset) const {
    constexpr uint64_t nowhere = ~uint64_t{0} << 12;
    auto elements = static_cast<int64_t>(offset);
    int64_t skipped = elements / 2;
    if (!std::is_same_v<T, int4b_t> &&
        __builtin_mul_overflow(elements, static_cast<int64_t>(sizeof(T)), &skipped))
      return nowhere;
    return reinterpret_cast<uint64_t>(pointer) + static_cast<uint64_t>(skipped);
  }

  __gm__ T* pointer = nullptr;
  uint64_t size = 0;
  uint64_t end = 0; ///< address behind the elements that SetGlobalBuffer gave; 0: it gave no number
  uint8_t l2Bypass = 0;
  uint16_t nameNumber = 0;
  ShapeInfo shape;
};

inline int64_t GetBlockIdx() {
  return twHost::agentView().blockIdx;
}
inline int64_t GetBlockNum() {
  return twHost::agentView().blockNum;
}
inline int64_t GetSubBlockIdx() {
  return twHost::agentView().subBlockIdx;
}
inline int64_t GetSubBlockNum() {
  return twHost::agentView().subBlockNum;
}
inline int64_t GetTaskRation() {
  return twHost::agentView().subBlockNum;
}
inline int64_t GetTaskRatio() {
  return twHost::agentView().subBlockNum;
}
inline void InitSocState() {
  twHost::maskState() = {};
  twHost::storeState() = {};
  twHost::agentView().padKnown = false;
}

} // namespace AscendC

inline int64_t get_block_idx() {
  return AscendC::twHost::agentView().blockIdx;
}
inline int64_t get_block_num() {
  return AscendC::twHost::agentView().blockNum;
}
inline int64_t get_subblockid() {
  return AscendC::twHost::agentView().subBlockIdx;
}
inline int64_t get_subblockdim() {
  return AscendC::twHost::agentView().subBlockNum;
}

#endif
