// SPDX-License-Identifier: Apache-2.0
// Loads to L0A and L0B, fills, Mmad in all types and Fixpipe in all conversions: one row each, with
// random parameters, against plain host code. The kernel copies the memories of its core out before
// and after (through GetPhyAddr); the reference makes the one from the other.
#include "kernel_operator.h"

#include "instruction_rows.h"

using namespace AscendC;
using namespace tilewright::ascend::testing;

/// The numbers that a row draws.
struct Numbers {
  uint32_t start, repeat, stride, gap, fractalGap;
  uint32_t m, n, k;
  uint32_t choice;
  uint32_t height, width, channels, filterW, filterH, strideW, strideH, dilationW, dilationH;
  uint32_t mStart, kStart;
  uint8_t padding[4];
  float scale;
  GM_ADDR gm;
};
namespace {

enum Memory : uint32_t { L1, L0A, L0B, L0C, OutGm };
constexpr uint32_t memoryBytes[] = {128 * 1024, 65536, 65536, 128 * 1024, 256 * 1024};
constexpr uint32_t firstByte(uint32_t which) {
  uint32_t sum = 0;
  for (uint32_t k = 0; k < which; ++k)
    sum += memoryBytes[k];
  return sum;
}
constexpr uint32_t allBytes = firstByte(OutGm) + memoryBytes[OutGm];

template <class T> constexpr uint32_t k0 = 32 / sizeof(T);
constexpr uint32_t ceilDiv(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}

template <class T> LocalTensor<T> l1(uint32_t byte = 0) {
  return LocalTensor<T>(TPosition::A1, byte, (memoryBytes[L1] - byte) / sizeof(T));
}
template <class T> LocalTensor<T> l0a() {
  return LocalTensor<T>(TPosition::A2, 0, memoryBytes[L0A] / sizeof(T));
}
template <class T> LocalTensor<T> l0b() {
  return LocalTensor<T>(TPosition::B2, 0, memoryBytes[L0B] / sizeof(T));
}
template <class T> LocalTensor<T> l0c() {
  return LocalTensor<T>(TPosition::CO1, 0, memoryBytes[L0C] / sizeof(T));
}
constexpr uint32_t secondHalf = 65536; ///< of L1: what goes to L0B

/// Fractals of L1 as they are to L0A and L0B, and a product.
template <class T, class C> void multiply(const Numbers& s, const MmadParams& p) {
  uint32_t k1 = ceilDiv(s.k, k0<T>);
  LoadData(l0a<T>(), l1<T>(), LoadData2DParams(0, ceilDiv(s.m, 16) * k1, 1, 0, 0, false, 0));
  LoadData(l0b<T>(), l1<T>(secondHalf),
           LoadData2DParams(0, ceilDiv(s.n, 16) * k1, 1, 0, 0, false, 0));
  PipeBarrier<PIPE_ALL>();
  Mmad(l0c<C>(), l0a<T>(), l0b<T>(), p);
  PipeBarrier<PIPE_ALL>();
}
inline MmadParams mmadParams(const Numbers& s, bool initialise = true) {
  MmadParams p(s.m, s.n, s.k, 0, false, initialise);
  p.disableGemv = true;
  return p;
}
template <class T> LoadData3DParamsV2<T> imageParams(const Numbers& s) {
  LoadData3DParamsV2<T> p;
  for (int k = 0; k < 4; ++k)
    p.padList[k] = s.padding[k];
  p.l1H = s.height;
  p.l1W = s.width;
  p.channelSize = s.channels;
  p.mExtension = s.m;
  p.kExtension = s.k;
  p.mStartPt = s.mStart;
  p.kStartPt = s.kStart;
  p.strideW = s.strideW;
  p.strideH = s.strideH;
  p.filterW = s.filterW;
  p.filterH = s.filterH;
  p.dilationFilterW = s.dilationW;
  p.dilationFilterH = s.dilationH;
  p.padValue = static_cast<T>(3);
  return p;
}

struct Memories;
struct Draw;
struct CubeRow {
  const char* name;
  void (*issue)(const Numbers&);
  void (*reference)(const Numbers&, Memories&);
  void (*draw)(Draw&);
};
#if defined(__DAV_VEC__) || defined(__DAV_CUBE__)
#define CUBE_ROW(name, issueStatements, referenceStatements, drawing)                              \
  CubeRow {                                                                                        \
    name, [](const Numbers& s) { issueStatements; }, nullptr, nullptr                              \
  }
#else
#define CUBE_ROW(name, issueStatements, referenceStatements, drawing)                              \
  CubeRow {                                                                                        \
    name, nullptr, [](const Numbers& s, Memories& u) { referenceStatements; },                     \
        [](Draw& draw) { drawing; }                                                                \
  }

struct Memories {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(allBytes);
  uint8_t* at(Memory which, uint64_t byte = 0) {
    return &bytes.at(firstByte(which) + byte);
  }
};
struct Draw {
  explicit Draw(unsigned seed) : random(seed) {}
  uint32_t from(uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random() % (most - least + 1));
  }
  template <class T> void fill() {
    for (uint32_t k = 0; k < memoryBytes[L1] / sizeof(T); ++k)
      storeAs<T>(u.at(L1, k * sizeof(T)), static_cast<double>(random() % 17) - 8);
  }
  std::mt19937 random;
  Numbers s{};
  Memories u;
};

/// The fractals of a plain or transposing load: `squares` fractals a step.
void drawLoad(Draw& draw, uint32_t squares) {
  draw.fill<uint8_t>();
  for (uint32_t k = 0; k < memoryBytes[L1]; ++k)
    *draw.u.at(L1, k) = static_cast<uint8_t>(draw.random());
  draw.s.start = draw.from(0, 9);
  draw.s.repeat = draw.from(1, 12);
  draw.s.stride = draw.from(0, 8 / squares);
  draw.s.gap = squares == 1 ? draw.from(0, 3) : draw.from(squares - 1, 4);
  draw.s.fractalGap = 0;
}
void drawImage(Draw& draw) {
  Numbers& s = draw.s;
  draw.fill<half>();
  s.height = draw.from(1, 9);
  s.width = draw.from(1, 9);
  s.channels = draw.from(1, 40);
  for (uint8_t& p : s.padding)
    p = static_cast<uint8_t>(draw.from(0, 2));
  s.filterW = draw.from(1, std::min(3u, s.width));
  s.filterH = draw.from(1, std::min(3u, s.height));
  s.strideW = draw.from(1, 3);
  s.strideH = draw.from(1, 3);
  s.dilationW = s.filterW > 1 && (s.filterW - 1) * 2 + 1 <= s.width ? draw.from(1, 2) : 1;
  s.dilationH = s.filterH > 1 && (s.filterH - 1) * 2 + 1 <= s.height ? draw.from(1, 2) : 1;
  s.m = 16 * draw.from(1, 4);
  s.k = 16 * draw.from(1, 5);
  s.mStart = draw.from(0, 20);
  s.kStart = 16 * draw.from(0, 3);
}
/// Element (m, k) of the matrix that LoadData3D makes of the image.
template <class T> double imageElement(const Numbers& s, Memories& u, uint32_t m, uint32_t k) {
  uint32_t wide =
      (s.width + s.padding[0] + s.padding[1] - (s.filterW - 1) * s.dilationW - 1) / s.strideW + 1;
  uint32_t high =
      (s.height + s.padding[2] + s.padding[3] - (s.filterH - 1) * s.dilationH - 1) / s.strideH + 1;
  uint32_t place = s.mStart + m, column = s.kStart + k;
  uint32_t block = column / k0<T>, inBlock = column % k0<T>;
  uint32_t fx = block % s.filterW, fy = block / s.filterW % s.filterH,
           c1 = block / (s.filterW * s.filterH);
  if (place >= wide * high || c1 * k0<T> >= s.channels)
    return 0;
  int x = static_cast<int>(place % wide * s.strideW + fx * s.dilationW) - s.padding[0];
  int y = static_cast<int>(place / wide * s.strideH + fy * s.dilationH) - s.padding[2];
  if (x < 0 || y < 0 || x >= static_cast<int>(s.width) || y >= static_cast<int>(s.height))
    return 3;
  uint64_t element =
      ((uint64_t{c1} * s.height + static_cast<uint32_t>(y)) * s.width + static_cast<uint32_t>(x)) *
          k0<T> +
      inBlock;
  return loadAs<T>(u.at(L1, element * sizeof(T)));
}
/// Writes a rows x columns matrix to L0A: rows of fractals, each row-major.
template <class T, class F> void toL0A(Memories& u, uint32_t rows, uint32_t columns, F element) {
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t c = 0; c < columns; ++c) {
      uint64_t fractal = uint64_t{r / 16} * ceilDiv(columns, k0<T>) + c / k0<T>;
      storeAs<T>(u.at(L0A, fractal * 512 + (r % 16 * k0<T> + c % k0<T>)*sizeof(T)), element(r, c));
    }
}

void drawProduct(Draw& draw, uint32_t mostK) {
  draw.s.m = draw.from(1, 70);
  draw.s.n = draw.from(1, 70);
  draw.s.k = draw.from(1, mostK);
  draw.s.choice = draw.from(0, 255);
}
/// A[m, k] and B[k, n] as L0A and L0B hold them.
template <class T> double aOf(const Numbers& s, Memories& u, uint32_t m, uint32_t k) {
  uint64_t fractal = uint64_t{m / 16} * ceilDiv(s.k, k0<T>) + k / k0<T>;
  return static_cast<double>(
      loadAs<T>(u.at(L0A, fractal * 512 + (m % 16 * k0<T> + k % k0<T>)*sizeof(T))));
}
template <class T> double bOf(const Numbers& s, Memories& u, uint32_t k, uint32_t n) {
  uint64_t fractal = uint64_t{k / k0<T>} * ceilDiv(s.n, 16) + n / 16;
  return static_cast<double>(
      loadAs<T>(u.at(L0B, fractal * 512 + (n % 16 * k0<T> + k % k0<T>)*sizeof(T))));
}
/// The loads of multiply(), then `times` products on top of each other. Small integers: exact.
template <class T, class C> void product(const Numbers& s, Memories& u, int times = 1) {
  uint32_t k1 = ceilDiv(s.k, k0<T>);
  std::memcpy(u.at(L0A), u.at(L1), uint64_t{512} * ceilDiv(s.m, 16) * k1);
  std::memcpy(u.at(L0B), u.at(L1, secondHalf), uint64_t{512} * ceilDiv(s.n, 16) * k1);
  uint32_t m16 = ceilDiv(s.m, 16) * 16, n16 = ceilDiv(s.n, 16) * 16;
  for (uint32_t n = 0; n < n16; ++n)
    for (uint32_t m = 0; m < m16; ++m) {
      double sum = 0;
      for (uint32_t k = 0; k < s.k && m < s.m; ++k)
        sum += aOf<T>(s, u, m, k) * bOf<T>(s, u, k, n);
      storeAs<C>(u.at(L0C, (uint64_t{n / 16} * m16 * 16 + m * 16 + n % 16) * 4), sum * times);
    }
}
double l0cOf(const Numbers& s, Memories& u, uint32_t m, uint32_t n, bool integer) {
  uint8_t* at = u.at(L0C, (uint64_t{n / 16} * ceilDiv(s.m, 16) * 256 + m * 16 + n % 16) * 4);
  return integer ? static_cast<double>(loadAs<int32_t>(at)) : loadAs<float>(at);
}
/// Fixpipe of the product to rows of GM (`choice` even) or to fractals.
template <class C, class Out> void convert(const Numbers& s, Memories& u, float scale) {
  bool rows = s.choice % 2 == 0, relu = s.choice / 2 % 2;
  constexpr uint32_t c0 = sizeof(Out) == 4 ? 16 : 32 / sizeof(Out);
  for (uint32_t m = 0; m < s.m; ++m)
    for (uint32_t n = 0; n < s.n; ++n) {
      double x = l0cOf(s, u, m, n, std::is_integral_v<C>);
      x = scale == 1 ? x : roundTo<float>(roundTo<float>(x) * scale);
      x = relu ? std::max(x, 0.0) : x;
      if (sizeof(Out) == 1)
        x = static_cast<double>(saturate<int8_t>(std::nearbyint(x)));
      uint64_t at = rows ? uint64_t{m} * s.stride + n
                         : n / c0 * (uint64_t{s.stride} * 32 / sizeof(Out)) + m * c0 + n % c0;
      storeAs<Out>(u.at(OutGm, at * sizeof(Out)), x);
    }
}
void drawFixpipe(Draw& draw, uint32_t mostK, uint32_t size) {
  drawProduct(draw, mostK);
  bool rows = draw.s.choice % 2 == 0;
  uint32_t m16 = ceilDiv(draw.s.m, 16) * 16;
  draw.s.stride = rows ? draw.s.n + draw.from(0, 9) : m16 * (size == 4 ? 2 : 1) + draw.from(0, 3);
  draw.s.scale = 0.25f;
}
#endif

#define LOAD(T, memory, destination)                                                               \
  CUBE_ROW("LoadData<" #T "> to " #memory,                                                         \
           LoadData(destination<T>(), l1<T>(),                                                     \
                    LoadData2DParams(s.start, s.repeat, s.stride, 0, s.gap, false, 0)),            \
           for (uint32_t r = 0; r < s.repeat; ++r) std::memcpy(                                    \
               u.at(memory, r*(s.gap + 1) * 512), u.at(L1, (s.start + r * s.stride) * 512), 512),  \
           drawLoad(draw, 1))
/// Squares of `side` elements, of `fractals` fractals each.
#define LOAD_TRANSPOSED(T, side, fractals)                                                         \
  CUBE_ROW(                                                                                        \
      "LoadDataWithTranspose<" #T ">",                                                             \
      LoadDataWithTranspose(                                                                       \
          l0b<T>(), l1<T>(),                                                                       \
          LoadData2dTransposeParams(s.start, s.repeat, s.stride, s.gap, s.fractalGap)),            \
      std::vector<uint8_t> from(u.at(L1), u.at(L1) + secondHalf);                                  \
      for (uint32_t r = 0; r < s.repeat; ++r) for (uint32_t y = 0; y < side;                       \
                                                   ++y) for (uint32_t x = 0; x < side; ++x) {      \
        auto inSquare = [](uint32_t row, uint32_t column) {                                        \
          return (row / 16 + column / k0<T>)*512 + row % 16 * 32 + column % k0<T> * sizeof(T);     \
        };                                                                                         \
        std::memcpy(u.at(L0B, r * (s.gap + 1) * 512 + inSquare(x, y)),                             \
                    &from.at((s.start + r * s.stride) * fractals * 512 + inSquare(y, x)),          \
                    sizeof(T));                                                                    \
      },                                                                                           \
      drawLoad(draw, fractals))
#define MMAD(T, C)                                                                                 \
  CUBE_ROW("Mmad<" #T ", " #C ">", (multiply<T, C>(s, mmadParams(s))), (product<T, C>(s, u)),      \
           draw.fill<T>();                                                                         \
           drawProduct(draw, 100)),                                                                \
      CUBE_ROW("Mmad<" #T ", " #C "> accumulates", (multiply<T, C>(s, mmadParams(s)));             \
               Mmad(l0c<C>(), l0a<T>(), l0b<T>(), mmadParams(s, false)), (product<T, C>(s, u, 2)), \
               draw.fill<T>();                                                                     \
               drawProduct(draw, 100))
#define FIXPIPE(T, C, Out, quant, scaleOf)                                                         \
  CUBE_ROW("Fixpipe<" #Out ", " #C ">, " #quant, (multiply<T, C>(s, mmadParams(s)));               \
           GlobalTensor<Out> out; out.SetGlobalBuffer((__gm__ Out*)s.gm);                          \
           FixpipeParamsV220 p(s.n, s.m, ceilDiv(s.m, 16) * 16, s.stride, s.choice / 2 % 2);       \
           p.quantPre = quant; std::memcpy(&p.deqScalar, &s.scale, 4);                             \
           if (s.choice % 2 == 0)(Fixpipe<Out, C>(out, l0c<C>(), p));                              \
           else(Fixpipe<Out, C, CFG_NZ>(out, l0c<C>(), p)), (product<T, C>(s, u));                 \
           (convert<C, Out>(s, u, scaleOf)), draw.fill<T>(); (drawFixpipe(draw, 60, sizeof(Out))))

static_assert(allBytes == 640 * 1024);

constexpr CubeRow table[] = {
    LOAD(half, L0A, l0a),
    LOAD(float, L0B, l0b),
    LOAD(int8_t, L0A, l0a),
    CUBE_ROW("LoadData<half> transposed",
             LoadData(l0b<half>(), l1<half>(),
                      LoadData2DParams(s.start, s.repeat, s.stride, 0, s.gap, true, 0)),
             for (uint32_t r = 0; r < s.repeat; ++r) for (uint32_t e = 0; e < 256; ++e)
                 std::memcpy(u.at(L0B, r*(s.gap + 1) * 512 + (e % 16 * 16 + e / 16) * 2),
                             u.at(L1, (s.start + r * s.stride) * 512 + e * 2), 2),
             drawLoad(draw, 1)),
    LOAD_TRANSPOSED(half, 16, 1),
    LOAD_TRANSPOSED(int8_t, 32, 2),
    LOAD_TRANSPOSED(float, 16, 2),
    CUBE_ROW("LoadData3D<half> to L0A", LoadData(l0a<half>(), l1<half>(), imageParams<half>(s)),
             toL0A<half>(u, s.m, s.k,
                         [&](uint32_t m, uint32_t k) { return imageElement<half>(s, u, m, k); }),
             drawImage(draw)),
    CUBE_ROW("LoadData3D<half> to L0A transposed", auto p = imageParams<half>(s);
             p.enTranspose = true;
             LoadData(l0a<half>(), l1<half>(), p),
             toL0A<half>(u, s.k, s.m,
                         [&](uint32_t k, uint32_t m) { return imageElement<half>(s, u, m, k); }),
             drawImage(draw)),
    CUBE_ROW("LoadData3D<float> to L0A transposed", auto p = imageParams<float>(s);
             p.enTranspose = true;
             LoadData(l0a<float>(), l1<float>(), p),
             toL0A<float>(u, s.k, s.m,
                          [&](uint32_t k, uint32_t m) { return imageElement<float>(s, u, m, k); }),
             drawImage(draw)),
    CUBE_ROW(
        "LoadData3D<half> to L0B", LoadData(l0b<half>(), l1<half>(), imageParams<half>(s)),
        for (uint32_t m = 0; m < s.m; ++m) for (uint32_t k = 0; k < s.k; ++k) {
          uint64_t fractal = uint64_t{m / 16} * (s.k / 16) + k / 16;
          storeAs<half>(u.at(L0B, fractal * 512 + (k % 16 * 16 + m % 16) * 2),
                        imageElement<half>(s, u, m, k));
        },
        drawImage(draw)),
    CUBE_ROW(
        "LoadData3D<float> to L0B", LoadData(l0b<float>(), l1<float>(), imageParams<float>(s)),
        for (uint32_t m = 0; m < s.m; ++m) for (uint32_t k = 0; k < s.k; ++k) {
          uint64_t fractal = uint64_t{m / 8} * (s.k / 16) + k / 16;
          storeAs<float>(u.at(L0B, fractal * 512 + (k % 16 * 8 + m % 8) * 4),
                         imageElement<float>(s, u, m, k));
        },
        drawImage(draw)),
    // The image's size and padding from registers, everything else packed.
    CUBE_ROW("LoadData3D with SetFmatrix, SetLoadDataPaddingValue, LoadData3DParamsV2Pro",
             SetFmatrix(s.height, s.width, s.padding, FmatrixMode::FMATRIX_RIGHT);
             SetLoadDataPaddingValue(half(3)); SetLoadDataBoundary(0); LoadData3DParamsV2Pro p;
             p.channelSize = s.channels; p.fMatrixCtrl = true;
             p.extConfig =
                 s.k | uint64_t{s.m} << 16 | uint64_t{s.kStart} << 32 | uint64_t{s.mStart} << 48;
             p.filterConfig = s.strideW | s.strideH << 8 | s.filterW << 16 | s.filterH << 24 |
                              uint64_t{s.dilationW} << 32 | uint64_t{s.dilationH} << 40;
             LoadData(l0a<half>(), l1<half>(), p),
             toL0A<half>(u, s.m, s.k,
                         [&](uint32_t m, uint32_t k) { return imageElement<half>(s, u, m, k); }),
             drawImage(draw)),
    CUBE_ROW(
        "SetLoadDataRepeat", SetLoadDataRepeat(LoadDataRepeatParam(2, 3, s.choice % 2));
        LoadData(l0a<half>(), l1<half>(), imageParams<half>(s)), std::vector<uint8_t> all;
        for (uint32_t r = 0; r < 3; ++r) {
          Numbers window = s;
          (s.choice % 2 ? window.kStart : window.mStart) += r * 32;
          toL0A<half>(u, s.m, s.k,
                      [&](uint32_t m, uint32_t k) { return imageElement<half>(window, u, m, k); });
          all.insert(all.end(), u.at(L0A), u.at(L0A) + s.m * s.k * 2);
        } std::memcpy(u.at(L0A), all.data(), all.size()),
        drawImage(draw);
        draw.s.choice = draw.from(0, 1)),
    CUBE_ROW("InitConstValue<half>, Fill",
             InitConstValueParams<half> p(s.repeat, s.m, s.gap, half(s.scale));
             if (s.choice % 2) InitConstValue(l0b<half>(), p);
             else Fill(l0b<half>(), p),
             for (uint32_t r = 0; r < s.repeat; ++r) for (uint32_t e = 0; e < s.m * 256; ++e)
                 storeAs<half>(u.at(L0B, r*(s.m + s.gap) * 512 + e * 2), s.scale),
             drawLoad(draw, 1);
             draw.s.m = draw.from(1, 4); draw.s.scale = 1.5f; draw.s.choice = draw.from(0, 1)),
    CUBE_ROW("InitConstValue<half> of L1",
             InitConstValueParams<half> p(s.repeat, s.m, s.gap, half(s.scale));
             InitConstValue(l1<half>(), p),
             for (uint32_t r = 0; r < s.repeat; ++r) for (uint32_t e = 0; e < s.m * 16; ++e)
                 storeAs<half>(u.at(L1, r*(s.m + s.gap) * 32 + e * 2), s.scale),
             drawLoad(draw, 1);
             draw.s.m = draw.from(1, 4); draw.s.scale = 1.5f),
    MMAD(half, float),
    MMAD(bfloat16_t, float),
    MMAD(float, float),
    MMAD(int8_t, int32_t),
    // 13 bits of a float are too many for HF32: ties go to even, or to zero.
    CUBE_ROW(
        "Mmad<float> with SetHF32Mode, SetHF32TransMode", SetHF32Mode(true);
        SetHF32TransMode(s.choice % 2); SetMMLayoutTransform(s.choice % 3 == 0);
        (multiply<float, float>(s, mmadParams(s)));
        SetHF32Mode(false), uint32_t k1 = ceilDiv(s.k, 8);
        auto rounded =
            [&](Memory from, uint64_t byte, Memory to, uint64_t count) {
              for (uint64_t e = 0; e < count; ++e) {
                double x = loadAs<float>(u.at(from, byte + e * 4)) * 2048;
                double below = std::floor(x);
                double nearest =
                    x - below == 0.5 && s.choice % 2 ? std::trunc(x) : std::nearbyint(x);
                storeAs<float>(u.at(to, e * 4), nearest / 2048);
              }
            };
        std::vector<uint8_t> l1Before(u.at(L1), u.at(L1) + memoryBytes[L1]);
        rounded(L1, 0, L1, ceilDiv(s.m, 16) * k1 * 128);
        rounded(L1, secondHalf, L0B, ceilDiv(s.n, 16) * k1 * 128);
        std::memcpy(u.at(L1, secondHalf), u.at(L0B), ceilDiv(s.n, 16) * k1 * 512);
        (product<float, float>(s, u)); std::memcpy(u.at(L1), l1Before.data(), l1Before.size());
        std::memcpy(u.at(L0A), u.at(L1), ceilDiv(s.m, 16) * k1 * 512);
        std::memcpy(u.at(L0B), u.at(L1, secondHalf), ceilDiv(s.n, 16) * k1 * 512),
        drawProduct(draw, 3); // 1 + x/4096, x in 0 to 4: half steps of HF32; exact sums
        for (uint32_t e = 0; e < memoryBytes[L1] / 4; ++e)
            storeAs<float>(draw.u.at(L1, e * 4), 1 + draw.from(0, 4) / 4096.0)),
    // The indices say which two of four elements of A each pair of B meets.
    CUBE_ROW(
        "MmadWithSparse, LoadDataWithSparse", uint32_t mBlocks = ceilDiv(s.m, 16);
        uint32_t nBlocks = ceilDiv(s.n, 16);
        LoadData(l0a<int8_t>(), l1<int8_t>(),
                 LoadData2DParams(0, mBlocks*(s.k / 32), 1, 0, 0, false, 0));
        LoadDataWithSparse(l0b<int8_t>(), l1<int8_t>(secondHalf), l1<uint8_t>(secondHalf + 32768),
                           LoadData2DParams(0, nBlocks*(s.k / 64), 1, 0, 0, false, 0));
        PipeBarrier<PIPE_ALL>();
        MmadWithSparse(l0c<int32_t>(), l0a<int8_t>(), l0b<int8_t>(), mmadParams(s)),
        uint32_t m16 = ceilDiv(s.m, 16) * 16;
        uint32_t n1 = ceilDiv(s.n, 16);
        std::memcpy(u.at(L0A), u.at(L1), m16 / 16 * (s.k / 32) * 512);
        std::memcpy(u.at(L0B), u.at(L1, secondHalf), n1*(s.k / 64) * 512);
        for (uint32_t n = 0; n < n1 * 16; ++n) for (uint32_t m = 0; m < m16; ++m) {
          int32_t sum = 0;
          for (uint32_t j = 0; j < s.k / 2 && m < s.m; ++j) {
            uint32_t at = (j / 32 * n1 + n / 16) * 512 + n % 16 * 32 + j % 32;
            auto b = static_cast<int8_t>(*u.at(L0B, at));
            uint32_t index = *u.at(L1, secondHalf + 32768 + at / 4) >> (at % 4 * 2) & 3;
            sum += b * static_cast<int32_t>(aOf<int8_t>(s, u, m, j / 2 * 4 + j % 2 + index));
          }
          storeAs<int32_t>(u.at(L0C, (n / 16 * m16 * 16 + m * 16 + n % 16) * 4), sum);
        },
        draw.fill<int8_t>();
        drawProduct(draw, 1); draw.s.k = 64 * draw.from(1, 3);
        for (uint32_t e = 0; e < 32768; ++e) { // four indices of 0, 1, 2
          uint32_t byte = 0;
          for (uint32_t q = 0; q < 4; ++q)
            byte |= draw.from(0, 2) << (2 * q);
          *draw.u.at(L1, secondHalf + 32768 + e) = static_cast<uint8_t>(byte);
        }),
    FIXPIPE(half, float, float, NoQuant, 1),
    FIXPIPE(half, float, half, F322F16, 1),
    FIXPIPE(bfloat16_t, float, bfloat16_t, F322BF16, 1),
    FIXPIPE(int8_t, int32_t, int32_t, NoQuant, 1),
    FIXPIPE(int8_t, int32_t, half, DEQF16, s.scale),
    FIXPIPE(int8_t, int32_t, int8_t, REQ8, s.scale),
    FIXPIPE(half, float, int8_t, QF322B8_PRE, s.scale),
};

} // namespace

__global__ __aicore__ void runCube(uint32_t row, Numbers numbers, GM_ADDR l1Image, uint8_t* before,
                                   uint8_t* after) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  GlobalTensor<uint8_t> in;
  in.SetGlobalBuffer(l1Image);
  DataCopy(l1<uint8_t>(), in, memoryBytes[L1]);
  PipeBarrier<PIPE_ALL>();
  const void* memories[] = {l1<uint8_t>().GetPhyAddr(), l0a<uint8_t>().GetPhyAddr(),
                            l0b<uint8_t>().GetPhyAddr(), l0c<uint8_t>().GetPhyAddr()};
  for (uint32_t k = L1; k <= L0C; ++k)
    std::memcpy(before + firstByte(k), memories[k], memoryBytes[k]);
  table[row].issue(numbers);
  PipeBarrier<PIPE_ALL>();
  for (uint32_t k = L1; k <= L0C; ++k)
    std::memcpy(after + firstByte(k), memories[k], memoryBytes[k]);
}

#if !defined(__DAV_VEC__) && !defined(__DAV_CUBE__)
TEST(Rows, Cube) {
  catchLaunches();
  nextOptions() = {};
  nextOptions().threads = 1;
  const char* wanted = std::getenv("TILEWRIGHT_ROW_CASES");
  int cases = wanted ? std::atoi(wanted) : 6;
  unsigned seed = 50000;
  for (uint32_t row = 0; row < sizeof table / sizeof *table; ++row)
    for (int k = 0; k < cases; ++k, ++seed) {
      Draw draw(seed);
      table[row].draw(draw);
      DeviceBuffer<uint8_t> in(
          std::vector<uint8_t>(draw.u.at(L1), draw.u.at(L1) + memoryBytes[L1])),
          out(memoryBytes[OutGm]);
      draw.s.gm = out.gm();
      Memories before, after;
      runCube<<<1, nullptr, nullptr>>>(row, draw.s, in.gm(), before.bytes.data(),
                                       after.bytes.data());
      ASSERT_EQ(allFindings(), "") << table[row].name << ", seed " << seed;
      std::memcpy(after.at(OutGm), out.data.data(), out.size());
      table[row].reference(draw.s, before);
      for (uint32_t i = 0; after.bytes != before.bytes && i < allBytes; ++i)
        ASSERT_EQ(after.bytes[i], before.bytes[i]) << table[row].name << ", seed " << seed
                                                   << ": byte " << i << " of L1, L0A, L0B, L0C, GM";
    }
}
#endif
