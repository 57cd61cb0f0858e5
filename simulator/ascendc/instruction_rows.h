// SPDX-License-Identifier: Apache-2.0
// Property tests of vector instructions, one row each: a row has the call (for the vector core's
// pass) and a plain reference for bytes of UB (for the host's pass, where the rest is tests). Each
// row runs with random shapes, masks, repeats and strides, all checks on; then the image of UB that
// the kernel leaves is compared with what the reference makes of the same image, byte by byte, so
// that lanes which a mask excludes and memory beside the tensors count as well.
#ifndef TILEWRIGHT_ASCENDC_INSTRUCTION_ROWS_H
#define TILEWRIGHT_ASCENDC_INSTRUCTION_ROWS_H

#include "kernel_operator.h"

#include <cstring>

namespace tilewright::ascend::testing {

/// UB in a test: the destination, two sources, and a region for offsets and masks;
/// then GM to read from and to write to.
constexpr uint32_t regionBytes = 16384, ubBytes = 4 * regionBytes, imageBytes = 6 * regionBytes;
enum Region : uint32_t { Dst, A, B, Aux, GmIn, GmOut };

template <class T> AscendC::LocalTensor<T> region(uint32_t which, uint32_t firstByte = 0) {
  return AscendC::LocalTensor<T>(AscendC::TPosition::VECCALC, which * regionBytes + firstByte,
                                 (regionBytes - firstByte) / sizeof(T));
}
/// Temporary memory, outside of the image: what is in it behind a call means nothing.
inline AscendC::LocalTensor<uint8_t> scratch() {
  return AscendC::LocalTensor<uint8_t>(AscendC::TPosition::VECCALC, ubBytes, regionBytes);
}

/// How the lanes of a call are chosen.
enum class Form : uint8_t { Count, Lanes, Bits, Counter };

/// One call: what a row draws at random. Strides are in blocks of 32 bytes.
struct Shape {
  Form form = Form::Count;
  bool inPlace = false;      ///< the first source is the destination
  uint32_t count = 0;        ///< elements, of Count and Counter
  uint32_t lanes = 0;        ///< of each repeat
  uint64_t mask[2] = {0, 0}; ///< lanes of Bits
  uint32_t repeat = 1;
  uint16_t dstBlk = 1, aBlk = 1, bBlk = 1, dstRep = 8, aRep = 8, bRep = 8;
  double scalar = 0;
  uint32_t choice = 0;   ///< for the row to use: rounding mode, pattern, and so on
  uint8_t* gm = nullptr; ///< the regions GmIn and GmOut

  template <class T> AscendC::GlobalTensor<T> global(uint32_t which, uint32_t firstByte = 0) const {
    AscendC::GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<T*>(gm + (which - GmIn) * regionBytes + firstByte));
    return tensor;
  }

  template <class T> T scalarOf() const {
    return static_cast<T>(scalar);
  }
  AscendC::BinaryRepeatParams binary() const {
    return {static_cast<uint8_t>(dstBlk), static_cast<uint8_t>(aBlk), static_cast<uint8_t>(bBlk),
            static_cast<uint8_t>(dstRep), static_cast<uint8_t>(aRep), static_cast<uint8_t>(bRep)};
  }
  AscendC::UnaryRepeatParams unary() const {
    return {dstBlk, aBlk, static_cast<uint8_t>(dstRep), static_cast<uint8_t>(aRep)};
  }
  Region first() const {
    return inPlace ? Dst : A;
  }
};

struct Image;
struct Drawing;
/// A row: the name in messages, the call, and what it means.
struct Row {
  const char* name;
  void (*issue)(const Shape&);
  void (*reference)(const Shape&, Image&);
  void (*draw)(Drawing&);
};

/// The kernel of a table of rows: each case has its image of UB before and after.
inline void runCases(const Row& row, const Shape* shapes, uint32_t cases, GM_ADDR before,
                     GM_ADDR after) {
  AscendC::GlobalTensor<uint8_t> in, out;
  in.SetGlobalBuffer(before);
  out.SetGlobalBuffer(after);
  AscendC::LocalTensor<uint8_t> all(AscendC::TPosition::VECCALC, 0, ubBytes);
  for (uint32_t k = 0; k < cases; ++k) {
    AscendC::DataCopy(all, in[k * imageBytes], ubBytes);
    AscendC::PipeBarrier<PIPE_ALL>();
    Shape shape = shapes[k];
    shape.gm = after + k * imageBytes + ubBytes;
    row.issue(shape);
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::DataCopy(out[k * imageBytes], all, ubBytes);
    AscendC::PipeBarrier<PIPE_ALL>();
  }
}

} // namespace tilewright::ascend::testing

#define TW_UNWRAP(...) __VA_ARGS__
#if defined(__DAV_VEC__) || defined(__DAV_CUBE__)

/// A row whose call and reference are statements over `s`.
#define TW_ROW(name, issueStatements, referenceStatements, drawing)                                \
  Row {                                                                                            \
    name, [](const Shape& s) { issueStatements; }, nullptr, nullptr                                \
  }
/// The four forms of a call. `templates` are the template arguments of the form that leaves the
/// mask register alone, `lane` is the type that fills a repeat.
#define TW_FORMS(Name, templates, lane, params, ...)                                               \
  switch (s.form) {                                                                                \
  case Form::Count:                                                                                \
    Name(__VA_ARGS__, static_cast<int32_t>(s.count));                                              \
    break;                                                                                         \
  case Form::Lanes:                                                                                \
    Name(__VA_ARGS__, uint64_t{s.lanes}, static_cast<uint8_t>(s.repeat), params);                  \
    break;                                                                                         \
  case Form::Bits: {                                                                               \
    uint64_t mask[2] = {s.mask[0], s.mask[1]};                                                     \
    Name(__VA_ARGS__, mask, static_cast<uint8_t>(s.repeat), params);                               \
    break;                                                                                         \
  }                                                                                                \
  case Form::Counter:                                                                              \
    SetMaskCount();                                                                                \
    SetVectorMask<lane, MaskMode::COUNTER>(0, s.count);                                            \
    Name<TW_UNWRAP templates>(__VA_ARGS__, MASK_PLACEHOLDER, 1, params);                           \
    SetMaskNorm();                                                                                 \
    ResetMask();                                                                                   \
  }

#else

#include "simulator/ascendc/device_buffer.h"
#include "simulator/ascendc/row_references.h"

#define TW_ROW(name, issueStatements, referenceStatements, drawing)                                \
  Row {                                                                                            \
    name, nullptr, [](const Shape& s, Image& u) { referenceStatements; },                          \
        [](Drawing& draw) { drawing; }                                                             \
  }

#endif
#endif
