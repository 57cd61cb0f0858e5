// SPDX-License-Identifier: Apache-2.0
// Compare, Select, reductions, gathers, sorts and rearrangements: one row each
// (instruction_rows.h). Sums are compared in the documented order, to the last bit.
#include "kernel_operator.h"

#include "instruction_rows.h"

using namespace AscendC;
using namespace tilewright::ascend::testing;

namespace {

constexpr CMPMODE compares[] = {CMPMODE::LT, CMPMODE::GT, CMPMODE::EQ,
                                CMPMODE::LE, CMPMODE::GE, CMPMODE::NE};

#if !defined(__DAV_VEC__) && !defined(__DAV_CUBE__)
template <class V> bool holds(CMPMODE mode, V x, V y) {
  bool results[] = {x<y, x> y, x == y, x <= y, x >= y, x != y};
  return results[static_cast<int>(mode)];
}
void putBit(Image& u, uint32_t where, uint64_t index, bool value) {
  uint8_t& byte = *u.at(where, index / 8);
  byte = static_cast<uint8_t>((byte & ~(1 << index % 8)) | value << index % 8);
}
bool bitOf(Image& u, uint32_t where, uint64_t index) {
  return *u.at(where, index / 8) >> (index % 8) & 1;
}
/// Shapes that Compare takes: whole repeats of 256 bytes.
template <class T> void drawCompare(Drawing& draw) {
  draw.numForms = 2;
  drawLanes<uint8_t, T, T>(draw, false);
  draw.shape(sizeof(T), sizeof(T), sizeof(T));
  draw.s.count = 256 / sizeof(T) * (1 + draw.upTo(15));
  draw.s.lanes = 256 / sizeof(T);
  draw.s.choice = draw.upTo(std::is_same_v<T, int32_t> ? 0 : 5);
  if (std::is_same_v<T, int32_t>)
    draw.s.choice = 2;
  draw.s.scalar = static_cast<double>(loadAs<T>(draw.image.at(A, 0)));
  for (uint32_t i = 0; i < 64; ++i) // some that are equal
    std::memcpy(draw.image.at(B, i * 8), draw.image.at(A, i * 8), 8);
}

/// Neighbours are added, then their sums, each rounded to T; lanes that don't count are 0.
template <class T> double treeSum(std::vector<double> v) {
  while (v.size() > 1) {
    for (size_t i = 0; i < v.size() / 2; ++i)
      v[i] = roundTo<T>(v[2 * i] + v[2 * i + 1]);
    v.resize(v.size() / 2);
  }
  return v[0];
}
/// The lanes of one repeat of the source; excluded ones are NaN.
template <class T> std::vector<double> lanesOf(const Shape& s, Image& u, uint32_t rep) {
  constexpr uint32_t lanes = 256 / sizeof(T);
  std::vector<double> v(lanes, NAN);
  for (uint32_t lane = 0; lane < lanes; ++lane)
    if (isActive(s, rep, lane, lanes))
      v[lane] = loadAs<T>(u.at(A, laneByte(rep, lane, sizeof(T), s.aBlk, s.aRep)));
  return v;
}
double zeroIfNaN(double x) {
  return x != x ? 0 : x;
}
template <class T> double sumOf(std::vector<double> v) {
  std::transform(v.begin(), v.end(), v.begin(), zeroIfNaN);
  return treeSum<T>(v);
}
/// The first of the largest (smallest) that is there.
uint32_t indexOf(const std::vector<double>& v, bool max) {
  auto best = static_cast<uint32_t>(-1);
  for (uint32_t i = 0; i < v.size(); ++i)
    if (v[i] == v[i] &&
        (best == static_cast<uint32_t>(-1) || (max ? v[i] > v[best] : v[i] < v[best])))
      best = i;
  return best;
}
template <class T> void drawReduce(Drawing& draw) {
  draw.forms[0] = Form::Lanes;
  draw.forms[1] = Form::Bits;
  draw.numForms = 2;
  draw.specials = false;
  drawLanes<T, T, uint8_t>(draw, false);
  draw.s.dstRep = static_cast<uint16_t>(1 + draw.upTo(3));
  draw.s.choice = draw.upTo(3);
  draw.floatBytes = 0; // indices lie among the values: bytes must be the same
}
/// Results of a repeat of BlockReduce or PairReduceSum: `each` lanes make one.
template <class T, class F>
void reduceGroups(const Shape& s, Image& u, uint32_t each, uint32_t perRepeat, F f) {
  for (uint32_t rep = 0; rep < s.repeat; ++rep) {
    std::vector<double> v = lanesOf<T>(s, u, rep);
    for (uint32_t k = 0; k < v.size() / each; ++k) {
      std::vector<double> part(v.begin() + k * each, v.begin() + (k + 1) * each);
      if (indexOf(part, true) != static_cast<uint32_t>(-1))
        u.set<T>(Dst, uint64_t{rep} * s.dstRep * perRepeat + k, f(part));
    }
  }
}
template <class T> void wholeExtreme(const Shape& s, Image& u, bool max) {
  for (uint32_t rep = 0; rep < s.repeat; ++rep) {
    std::vector<double> v = lanesOf<T>(s, u, rep);
    uint32_t index = indexOf(v, max), order = s.choice;
    uint32_t unit = order < 2 ? 2 * sizeof(T) : order == 2 ? sizeof(T) : 4;
    uint8_t* out = u.at(Dst, uint64_t{rep} * s.dstRep * unit);
    uint32_t valueAt = order == 1 ? sizeof(T) : 0, indexAt = order == 0 ? sizeof(T) : 0;
    if (order != 3)
      storeAs<T>(out + valueAt, v[index]);
    if (order != 2)
      std::memcpy(out + indexAt, &index, order == 3 ? 4 : sizeof(T));
  }
}
/// All that ReduceSum and its like take: the first `count`, or repeats of `lanes`.
template <class T> std::vector<std::vector<double>> allRepeats(const Shape& given, Image& u) {
  Shape s = given;
  constexpr uint32_t lanes = 256 / sizeof(T);
  if (s.form == Form::Count) {
    s.form = Form::Counter;
    s.aRep = 8;
  }
  s.aBlk = 1;
  std::vector<std::vector<double>> all;
  for (uint32_t rep = 0; rep < repeatsOf(s, lanes); ++rep)
    all.push_back(lanesOf<T>(s, u, rep));
  return all;
}
template <class T> void drawReduceAll(Drawing& draw) {
  drawReduce<T>(draw);
  draw.s.form = draw.upTo(1) ? Form::Count : Form::Lanes;
  draw.s.aBlk = 1;
}

/// Offsets of elements (or blocks) of a region, in bytes.
void drawOffsets(Drawing& draw, uint32_t unit, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    draw.image.set<uint32_t>(Aux, i, int64_t{draw.upTo(regionBytes / unit - 2) * unit});
}
/// Scores with ties, and numbers as indices.
template <class T> void drawScores(Drawing& draw) {
  draw.specials = false;
  drawLanes<T, T, uint8_t>(draw, false);
  for (uint32_t i = 0; i < 4096; ++i) {
    if (draw.upTo(3) == 0)
      draw.image.set<T>(A, i, std::floor(draw.image.get<T>(A, i)));
    draw.image.set<uint32_t>(B, i, int64_t{i});
  }
  draw.floatBytes = 0;
}
struct Scored {
  double score;
  uint32_t index;
};
template <class T> void putPair(Image& u, uint32_t where, uint64_t i, Scored pair) {
  std::memset(u.at(where, i * 8), 0, 8);
  storeAs<T>(u.at(where, i * 8), pair.score);
  std::memcpy(u.at(where, i * 8 + 4), &pair.index, 4);
}
template <class T> Scored pairAt(Image& u, uint32_t where, uint64_t i) {
  Scored pair{loadAs<T>(u.at(where, i * 8)), 0};
  std::memcpy(&pair.index, u.at(where, i * 8 + 4), 4);
  return pair;
}
template <class T> void sortLists(Image& u, uint32_t lists, uint32_t length) {
  for (uint32_t l = 0; l < lists; ++l) {
    std::vector<Scored> pairs;
    for (uint32_t i = l * length; i < (l + 1) * length; ++i)
      pairs.push_back({u.get<T>(A, i), static_cast<uint32_t>(u.get<uint32_t>(B, i))});
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](Scored a, Scored b) { return a.score > b.score; });
    for (uint32_t i = 0; i < length; ++i)
      putPair<T>(u, Dst, l * length + i, pairs[i]);
  }
}
/// Four lists in region A, 128 pairs each at most, falling.
template <class T> void drawLists(Drawing& draw) {
  drawScores<T>(draw);
  for (uint32_t l = 0; l < 4; ++l) {
    std::vector<double> scores;
    for (uint32_t i = 0; i < 128; ++i)
      scores.push_back(roundTo<T>(draw.upTo(40) / 4.0));
    std::sort(scores.rbegin(), scores.rend());
    for (uint32_t i = 0; i < 128; ++i)
      putPair<T>(draw.image, A, l * 128 + i, {scores[i], l * 1000 + i});
  }
}
uint32_t numValid(uint32_t choice) {
  return 2 + choice % 3;
}
template <class T> void mergeLists(Image& u, const uint16_t lengths[4], uint32_t choice) {
  uint32_t taken[4] = {}, out = 0, valid = numValid(choice);
  for (;;) {
    int best = -1;
    for (uint32_t l = 0; l < valid; ++l)
      if (taken[l] < lengths[l] &&
          (best < 0 || pairAt<T>(u, A, l * 128 + taken[l]).score >
                           pairAt<T>(u, A, static_cast<uint32_t>(best) * 128 + taken[best]).score))
        best = static_cast<int>(l);
    if (best < 0)
      return;
    putPair<T>(u, Dst, out++, pairAt<T>(u, A, static_cast<uint32_t>(best) * 128 + taken[best]));
    if (++taken[best] == lengths[best] && choice >= 128)
      return; // suspended
  }
}
#endif

/// Lengths of four lists, by chance.
inline void lengthsOf(const Shape& s, uint16_t lengths[4]) {
  for (uint32_t l = 0; l < 4; ++l)
    lengths[l] = static_cast<uint16_t>(1 + (s.mask[0] >> (l * 8) & 127));
}

#define COMPARE(T)                                                                                 \
  TW_ROW(                                                                                          \
      "Compare<" #T ">",                                                                           \
      if (s.form == Form::Count)                                                                   \
          Compare(region<uint8_t>(Dst), region<T>(A), region<T>(B), compares[s.choice], s.count);  \
      else Compare(region<uint8_t>(Dst), region<T>(A), region<T>(B), compares[s.choice],           \
                   uint64_t{s.lanes}, s.repeat, s.binary()),                                       \
      forLanes(s, sizeof(T), sizeof(T), sizeof(T),                                                 \
               [&](uint64_t, uint64_t a, uint64_t b, uint64_t lane) {                              \
                 putBit(u, Dst, lane,                                                              \
                        holds(compares[s.choice], loadAs<T>(u.at(A, a)), loadAs<T>(u.at(B, b))));  \
               }),                                                                                 \
      drawCompare<T>(draw))
#define COMPARE_SCALAR(Name, T)                                                                    \
  TW_ROW(#Name "<" #T ">",                                                                         \
         if (s.form == Form::Count) Name(region<uint8_t>(Dst), region<T>(A), s.scalarOf<T>(),      \
                                         compares[s.choice], s.count);                             \
         else Name(region<uint8_t>(Dst), region<T>(A), s.scalarOf<T>(), compares[s.choice],        \
                   uint64_t{s.lanes}, s.repeat, s.unary()),                                        \
         forLanes(s, sizeof(T), sizeof(T), sizeof(T),                                              \
                  [&](uint64_t, uint64_t a, uint64_t, uint64_t lane) {                             \
                    auto x = loadAs<T>(u.at(A, a));                                                \
                    putBit(u, Dst, lane, holds(compares[s.choice], x, decltype(x)(s.scalar)));     \
                  }),                                                                              \
         drawCompare<T>(draw))
#define SELECT(T)                                                                                  \
  TW_ROW("Select<" #T ">", SELMODE mode = s.choice % 2 ? SELMODE::VSEL_TENSOR_TENSOR_MODE          \
                                                       : SELMODE::VSEL_CMPMASK_SPR;                \
         uint64_t bits[2] = {s.mask[0] COMMA s.mask[1]}; if (s.form == Form::Count) Select(        \
             region<T>(Dst), region<uint8_t>(Aux), region<T>(A), region<T>(B), mode, s.count);     \
         else if (s.form == Form::Lanes)                                                           \
             Select(region<T>(Dst), region<uint8_t>(Aux), region<T>(A), region<T>(B), mode,        \
                    uint64_t{s.lanes}, s.repeat, s.binary());                                      \
         else Select(region<T>(Dst), region<uint8_t>(Aux), region<T>(A), region<T>(B), mode, bits, \
                     s.repeat, s.binary()),                                                        \
         forLanes(s, sizeof(T), sizeof(T), sizeof(T),                                              \
                  [&](uint64_t d, uint64_t a, uint64_t b, uint64_t lane) {                         \
                    uint64_t bit = s.choice % 2 ? lane : lane % (256 / sizeof(T));                 \
                    storeAs<T>(u.at(Dst, d),                                                       \
                               loadAs<T>(bitOf(u, Aux, bit) ? u.at(A, a) : u.at(B, b)));           \
                  }),                                                                              \
         draw.numForms = 3;                                                                        \
         (drawLanes<T, T, T>(draw, false)))
#define SELECT_SCALAR(T)                                                                           \
  TW_ROW("Select<" #T "> with a scalar",                                                           \
         if (s.form == Form::Count)                                                                \
             Select(region<T>(Dst), region<uint8_t>(Aux), region<T>(A), s.scalarOf<T>(),           \
                    SELMODE::VSEL_TENSOR_SCALAR_MODE, s.count);                                    \
         else Select(region<T>(Dst), region<uint8_t>(Aux), region<T>(A), s.scalarOf<T>(),          \
                     SELMODE::VSEL_TENSOR_SCALAR_MODE, uint64_t{s.lanes}, s.repeat, s.binary()),   \
         forLanes(s, sizeof(T), sizeof(T), sizeof(T),                                              \
                  [&](uint64_t d, uint64_t a, uint64_t, uint64_t lane) {                           \
                    storeAs<T>(u.at(Dst, d),                                                       \
                               bitOf(u, Aux, lane) ? loadAs<T>(u.at(A, a)) : s.scalar);            \
                  }),                                                                              \
         draw.numForms = 2;                                                                        \
         (drawLanes<T, T, T>(draw, false)))

/// The arguments of a reduction behind its tensors: mask and repeats in either order.
#define REDUCE_FORMS(call, lanesFirst)                                                             \
  uint64_t bits[2] = {s.mask[0] COMMA s.mask[1]};                                                  \
  auto repeat = static_cast<int32_t>(s.repeat);                                                    \
  auto lanes = static_cast<int32_t>(s.lanes);                                                      \
  if (s.form == Form::Lanes)                                                                       \
    call(lanes, repeat);                                                                           \
  else                                                                                             \
    call(bits, repeat)
#define WHOLE_SUM(T)                                                                               \
  TW_ROW("WholeReduceSum<" #T ">", auto call = ([&](auto mask, int32_t repeat) {                   \
                                     WholeReduceSum<T>(region<T>(Dst), region<T>(A), mask, repeat, \
                                                       s.dstRep, s.aBlk, s.aRep);                  \
                                   });                                                             \
         REDUCE_FORMS(call, true),                                                                 \
         for (uint32_t rep = 0; rep < s.repeat; ++rep)                                             \
             u.set<T>(Dst, uint64_t{rep} * s.dstRep, sumOf<T>(lanesOf<T>(s, u, rep))),             \
         drawReduce<T>(draw))
#define WHOLE_EXTREME(Name, Kind, T, max)                                                          \
  TW_ROW(#Name "<" #T ">, ReduceRepeat",                                                           \
         auto call = ([&](auto mask, int32_t repeat) {                                             \
           if (s.choice % 2)                                                                       \
             Name<T>(region<T>(Dst), region<T>(A), mask, repeat, s.dstRep, s.aBlk, s.aRep,         \
                     static_cast<ReduceOrder>(s.choice));                                          \
           else                                                                                    \
             ReduceRepeat<ReduceType::Kind, T>(region<T>(Dst), region<T>(A), mask, repeat,         \
                                               s.dstRep, s.aBlk, s.aRep,                           \
                                               static_cast<ReduceOrder>(s.choice));                \
         });                                                                                       \
         REDUCE_FORMS(call, true), wholeExtreme<T>(s, u, max), drawReduce<T>(draw))
#define GROUPS(Name, NewName, Kind, T, each, perRepeat, result)                                    \
  TW_ROW(                                                                                          \
      #Name "<" #T ">, " #NewName,                                                                 \
      auto call = ([&](auto mask, int32_t repeat) {                                                \
        if (s.choice % 2)                                                                          \
          Name<T>(region<T>(Dst), region<T>(A), repeat, mask, s.dstRep, s.aBlk, s.aRep);           \
        else                                                                                       \
          NewName<ReduceType::Kind, T>(region<T>(Dst), region<T>(A), mask, repeat, s.dstRep,       \
                                       s.aBlk, s.aRep);                                            \
      });                                                                                          \
      REDUCE_FORMS(call, false),                                                                   \
      reduceGroups<T>(s, u, each, perRepeat, [](const std::vector<double>& v) { return result; }), \
      drawReduce<T>(draw))
#define REDUCE_ALL_SUM(T)                                                                          \
  TW_ROW(                                                                                          \
      "ReduceSum<" #T ">",                                                                         \
      if (s.form == Form::Count)                                                                   \
          ReduceSum(region<T>(Dst), region<T>(A), region<T>(Aux), static_cast<int32_t>(s.count));  \
      else ReduceSum(region<T>(Dst), region<T>(A), region<T>(Aux), static_cast<int32_t>(s.lanes),  \
                     static_cast<int32_t>(s.repeat), s.aRep),                                      \
      double sum = 0;                                                                              \
      bool first = true; for (const auto& v : allRepeats<T>(s, u)) {                               \
        sum = first ? sumOf<T>(v) : roundTo<T>(sum + sumOf<T>(v));                                 \
        first = false;                                                                             \
      } u.set<T>(Dst, 0, sum),                                                                     \
                         drawReduceAll<T>(draw))
#define REDUCE_ALL(Name, T, max)                                                                   \
  TW_ROW(#Name "<" #T ">", bool withIndex = s.choice % 2;                                          \
         if (s.form == Form::Count) Name(region<T>(Dst), region<T>(A), region<T>(Aux),             \
                                         static_cast<int32_t>(s.count), withIndex);                \
         else Name(region<T>(Dst), region<T>(A), region<T>(Aux), static_cast<int32_t>(s.lanes),    \
                   static_cast<int32_t>(s.repeat), s.aRep, withIndex),                             \
         std::vector<double> all;                                                                  \
         for (const auto& v : allRepeats<T>(s, u)) all.insert(all.end(), v.begin(), v.end());      \
         uint32_t index = indexOf(all, max); u.set<T>(Dst, 0, all[index]);                         \
         if (s.choice % 2) std::memcpy(u.at(Dst, sizeof(T)), &index, sizeof(T)),                   \
         drawReduceAll<T>(draw))
#define GATHER(T)                                                                                  \
  TW_ROW(                                                                                          \
      "Gather<" #T ">", uint64_t bits[2] = {s.mask[0] COMMA s.mask[1]};                            \
      uint32_t base = s.choice % 2 * sizeof(T); if (s.form == Form::Count)                         \
          Gather(region<T>(Dst), region<T>(A), region<uint32_t>(Aux), base, s.count);              \
      else if (s.form == Form::Lanes) Gather(region<T>(Dst), region<T>(A), region<uint32_t>(Aux),  \
                                             base, uint64_t{s.lanes}, s.repeat, s.dstRep);         \
      else Gather(region<T>(Dst), region<T>(A), region<uint32_t>(Aux), base, bits, s.repeat,       \
                  s.dstRep),                                                                       \
      forLanes(s, sizeof(T), sizeof(T), sizeof(T),                                                 \
               [&](uint64_t d, uint64_t, uint64_t, uint64_t lane) {                                \
                 auto from = static_cast<uint64_t>(u.get<uint32_t>(Aux, lane));                    \
                 std::memcpy(u.at(Dst, d), u.at(A, from + s.choice % 2 * sizeof(T)), sizeof(T));   \
               }),                                                                                 \
      draw.numForms = 3;                                                                           \
      (drawLanes<T, T, T>(draw, false)); draw.s.dstBlk = 1; draw.floatBytes = 0;                   \
      draw.s.count = std::min(draw.s.count, 4096u); drawOffsets(draw, sizeof(T), 4096))
#define GATHER_BLOCKS(T)                                                                           \
  TW_ROW("Gatherb<" #T ">",                                                                        \
         Gatherb(region<T>(Dst), region<T>(A), region<uint32_t>(Aux), s.repeat,                    \
                 GatherRepeatParams(s.dstBlk, s.dstRep)),                                          \
         for (uint32_t k = 0; k < s.repeat * 8; ++k)                                               \
             std::memcpy(u.at(Dst, (k / 8 * s.dstRep + k % 8 * s.dstBlk) * 32),                    \
                         u.at(A, static_cast<uint64_t>(u.get<uint32_t>(Aux, k))), 32),             \
         (drawLanes<T, T, T>(draw, false));                                                        \
         draw.floatBytes = 0; drawOffsets(draw, 32, 256))
/// Fixed patterns and bits; whole repeats, or `count` lanes of each.
#define GATHER_MASK(T, BitType)                                                                    \
  TW_ROW(                                                                                          \
      "GatherMask<" #T ">", uint64_t kept = 0; uint8_t pattern = s.choice % 8;                     \
      bool counter = s.choice >= 128; GatherMaskParams p(s.aBlk, s.repeat, s.aRep, s.bRep);        \
      if (pattern == 0) GatherMask(region<T>(Dst), region<T>(A), region<BitType>(Aux), counter,    \
                                   s.lanes, p, kept);                                              \
      else GatherMask(region<T>(Dst), region<T>(A), pattern, counter, s.lanes, p, kept);           \
      region<uint32_t>(B, regionBytes - 32).SetValue(0, kept),                                     \
      constexpr uint32_t whole = 256 / sizeof(T);                                                  \
      uint32_t pattern = s.choice % 8; uint32_t lanes = s.choice >= 128 ? s.lanes : whole;         \
      uint32_t kept = 0; for (uint32_t rep = 0; rep < s.repeat;                                    \
                              ++rep) for (uint32_t lane = 0; lane < lanes; ++lane) {               \
        bool wanted = pattern == 0   ? bitOf(u, Aux, uint64_t{rep} * s.bRep * 256 + lane)          \
                      : pattern <= 2 ? lane % 2 == pattern - 1                                     \
                      : pattern <= 6 ? lane % 4 == pattern - 3                                     \
                                     : true;                                                       \
        if (wanted)                                                                                \
          std::memcpy(u.at(Dst, sizeof(T) * kept++),                                               \
                      u.at(A, laneByte(rep, lane, sizeof(T), s.aBlk, s.aRep)), sizeof(T));         \
      } u.set<uint32_t>(B, regionBytes / 4 - 8, int64_t{kept}),                                    \
                         (drawLanes<T, T, uint8_t>(draw, false));                                  \
      draw.floatBytes = 0; draw.s.aBlk = 1)
#define SORTS(T)                                                                                   \
  TW_ROW(                                                                                          \
      "Sort32<" #T ">",                                                                            \
      Sort32(region<T>(Dst), region<T>(A), region<uint32_t>(B), static_cast<int32_t>(s.repeat)),   \
      sortLists<T>(u, s.repeat, 32), drawScores<T>(draw)),                                         \
      TW_ROW("Sort<" #T ", true>", LocalTensor<T> concat; auto work = region<T>(Aux);              \
             Concat(concat, region<T>(A), work, static_cast<int32_t>(s.repeat));                   \
             (Sort<T, true>(region<T>(Dst), concat, region<uint32_t>(B), work,                     \
                            static_cast<int32_t>(s.repeat))),                                      \
             sortLists<T>(u, 1, s.repeat * 32), drawScores<T>(draw)),                              \
      TW_ROW("MrgSort<" #T ">", uint16_t lengths[4]; lengthsOf(s, lengths);                        \
             MrgSortSrcList<T> lists(region<T>(A), region<T>(A, 1024), region<T>(A, 2048),         \
                                     region<T>(A, 3072));                                          \
             MrgSort(region<T>(Dst), lists,                                                        \
                     MrgSort4Info(lengths, s.choice >= 128, (1 << (2 + s.choice % 3)) - 1, 1)),    \
             uint16_t lengths[4];                                                                  \
             lengthsOf(s, lengths); mergeLists<T>(u, lengths, s.choice), drawLists<T>(draw)),      \
      TW_ROW(                                                                                      \
          "Extract<" #T ">",                                                                       \
          Extract(region<T>(Dst), region<uint32_t>(Aux), region<T>(A),                             \
                  static_cast<int32_t>(s.repeat)),                                                 \
          for (uint32_t i = 0; i < s.repeat * 32; ++i) {                                           \
            std::memcpy(u.at(Dst, i * sizeof(T)), u.at(A, i * 8), sizeof(T));                      \
            std::memcpy(u.at(Aux, i * 4), u.at(A, i * 8 + 4), 4);                                  \
          },                                                                                       \
          drawScores<T>(draw))
#define BRCB(T)                                                                                    \
  TW_ROW("Brcb<" #T ">",                                                                           \
         Brcb(region<T>(Dst), region<T>(A), s.repeat, BrcbRepeatParams(s.dstBlk, s.dstRep)),       \
         for (uint32_t k = 0; k < s.repeat * 8; ++k) for (uint32_t e = 0; e < 32 / sizeof(T); ++e) \
             std::memcpy(u.at(Dst, (k / 8 * s.dstRep + k % 8 * s.dstBlk) * 32 + e * sizeof(T)),    \
                         u.at(A, k * sizeof(T)), sizeof(T)),                                       \
         (drawLanes<T, T, T>(draw, false));                                                        \
         draw.floatBytes = 0)
/// 16 rows of a block each become columns; bytes take half a block, 32-bit elements two blocks.
#define TO_5HD(T)                                                                                  \
  TW_ROW(                                                                                          \
      "TransDataTo5HD<" #T ">", LocalTensor<T> dst[16]; LocalTensor<T> src[16];                    \
      for (uint32_t k = 0; k < 16; ++k) {                                                          \
        dst[k] = region<T>(Dst, k * 512);                                                          \
        src[k] = region<T>(A, k * 512);                                                            \
      } TransDataTo5HD<T>(dst, src,                                                                \
                          TransDataTo5HDParams(s.choice & 1, s.choice & 2, s.repeat, 2, 2)),       \
      constexpr uint32_t perBlock = sizeof(T) == 1 ? 16 : 32 / sizeof(T);                          \
      uint32_t high = sizeof(T) == 1 ? 16 : 0;                                                     \
      for (uint32_t rep = 0; rep < s.repeat;                                                       \
           ++rep) for (uint32_t r = 0; r < 16; ++r) for (uint32_t c = 0; c < perBlock; ++c) {      \
        uint32_t list = sizeof(T) == 4 ? 2 * c + r / 8 : c;                                        \
        uint32_t at = sizeof(T) == 4 ? r % 8 : r + (s.choice & 1 ? high : 0);                      \
        uint32_t from = c + (s.choice & 2 ? high : 0);                                             \
        std::memcpy(u.at(Dst, list * 512 + rep * 64 + at * sizeof(T)),                             \
                    u.at(A, r * 512 + rep * 64 + from * sizeof(T)), sizeof(T));                    \
      },                                                                                           \
      (drawLanes<T, T, T>(draw, false));                                                           \
      draw.floatBytes = 0)
#define COMMA ,

constexpr Row table[] = {
    COMPARE(half),
    COMPARE(float),
    COMPARE(int32_t),
    COMPARE_SCALAR(CompareScalar, half),
    COMPARE_SCALAR(Compares, float),
    COMPARE_SCALAR(CompareScalar, int32_t),
    SELECT(half),
    SELECT(float),
    SELECT_SCALAR(half),
    SELECT_SCALAR(float),
    WHOLE_SUM(half),
    WHOLE_SUM(float),
    WHOLE_EXTREME(WholeReduceMax, MAX, half, true),
    WHOLE_EXTREME(WholeReduceMax, MAX, float, true),
    WHOLE_EXTREME(WholeReduceMin, MIN, half, false),
    WHOLE_EXTREME(WholeReduceMin, MIN, float, false),
    GROUPS(BlockReduceSum, ReduceDataBlock, SUM, half, 16, 8, sumOf<half>(v)),
    GROUPS(BlockReduceSum, ReduceDataBlock, SUM, float, 8, 8, sumOf<float>(v)),
    GROUPS(BlockReduceMax, ReduceDataBlock, MAX, half, 16, 8, v[indexOf(v, true)]),
    GROUPS(BlockReduceMax, ReduceDataBlock, MAX, float, 8, 8, v[indexOf(v, true)]),
    GROUPS(BlockReduceMin, ReduceDataBlock, MIN, half, 16, 8, v[indexOf(v, false)]),
    GROUPS(BlockReduceMin, ReduceDataBlock, MIN, float, 8, 8, v[indexOf(v, false)]),
    GROUPS(PairReduceSum, ReducePairElem, SUM, half, 2, 64, sumOf<half>(v)),
    GROUPS(PairReduceSum, ReducePairElem, SUM, float, 2, 32, sumOf<float>(v)),
    TW_ROW("RepeatReduceSum<float>",
           RepeatReduceSum<float>(region<float>(Dst), region<float>(A),
                                  static_cast<int32_t>(s.repeat), static_cast<int32_t>(s.lanes), 0,
                                  s.aBlk, s.dstRep, s.aRep),
           for (uint32_t rep = 0; rep < s.repeat; ++rep)
               u.set<float>(Dst, uint64_t{rep} * s.dstRep, sumOf<float>(lanesOf<float>(s, u, rep))),
           drawReduce<float>(draw);
           draw.s.form = Form::Lanes),
    REDUCE_ALL_SUM(half),
    REDUCE_ALL_SUM(float),
    REDUCE_ALL(ReduceMax, half, true),
    REDUCE_ALL(ReduceMax, float, true),
    REDUCE_ALL(ReduceMin, half, false),
    REDUCE_ALL(ReduceMin, float, false),
    GATHER(half),
    GATHER(float),
    GATHER(int16_t),
    GATHER(uint32_t),
    GATHER_BLOCKS(uint16_t),
    GATHER_BLOCKS(float),
    GATHER_MASK(half, uint16_t),
    GATHER_MASK(float, uint32_t),
    GATHER_MASK(int32_t, uint32_t),
    SORTS(half),
    SORTS(float),
    BRCB(half),
    BRCB(float),
    BRCB(uint16_t),
    BRCB(int32_t),
    TO_5HD(half),
    TO_5HD(uint16_t),
    TO_5HD(int8_t),
    TO_5HD(float),
    TW_ROW("Transpose<half>", Transpose(region<half>(Dst), region<half>(A)),
           for (uint32_t i = 0; i < 256; ++i)
               std::memcpy(u.at(Dst, (i % 16 * 16 + i / 16) * 2), u.at(A, i * 2), 2),
           (drawLanes<half, half, half>(draw, false));
           draw.floatBytes = 0),
    TW_ROW(
        "BilinearInterpolation<half>", uint64_t bits[2] = {s.mask[0] COMMA s.mask[1]};
        bool each = s.choice % 2; uint8_t steps = 1 + s.choice % 5; if (s.form == Form::Lanes)
            BilinearInterpolation(region<half>(Dst), region<half>(A), region<uint32_t>(Aux),
                                  region<half>(B), uint64_t{s.lanes}, steps, each, s.dstBlk,
                                  s.dstRep * 16, s.repeat, scratch());
        else BilinearInterpolation(region<half>(Dst), region<half>(A), region<uint32_t>(Aux),
                                   region<half>(B), bits, steps, each, s.dstBlk, s.dstRep * 16,
                                   s.repeat, scratch()),
        uint32_t steps = 1 + s.choice % 5;
        for (uint32_t v = 0; v < s.repeat; ++v) for (uint32_t lane = 0; lane < 128; ++lane) {
          if (!isActive(s, v, lane, 128))
            continue;
          double sum = 0;
          for (uint32_t h = 0; h < steps; ++h) {
            uint32_t step = v * steps + h;
            auto offset = static_cast<uint64_t>(u.get<uint32_t>(Aux, step * 8 + lane / 16));
            double weight = u.get<half>(B, s.choice % 2 ? step * 8 + lane / 16 : step);
            double product = roundTo<half>(loadAs<half>(u.at(A, offset + lane % 16 * 2)) * weight);
            sum = h ? roundTo<half>(sum + product) : product;
          }
          storeAs<half>(u.at(Dst, laneByte(v, lane, 2, s.dstBlk, s.dstRep)), sum);
        },
        draw.forms[0] = Form::Lanes;
        draw.forms[1] = Form::Bits; draw.numForms = 2; draw.specials = false;
        (drawLanes<half, half, half>(draw, false)); drawOffsets(draw, 32, 256)),
};

} // namespace

__global__ __aicore__ void runSelections(uint32_t row, const Shape* shapes, uint32_t cases,
                                         GM_ADDR before, GM_ADDR after) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  runCases(table[row], shapes, cases, before, after);
}

#if !defined(__DAV_VEC__) && !defined(__DAV_CUBE__)
TEST(Rows, Selections) {
  checkTable(table, 40000,
             [](auto... arguments) { runSelections<<<1, nullptr, nullptr>>>(arguments...); });
}
#endif
