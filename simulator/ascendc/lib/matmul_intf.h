// SPDX-License-Identifier: Apache-2.0
// The Matmul object: C = A * B (+ bias), tile by tile, matrices in GM in rows. In a mixed kernel the
// vector cores ask and the cube core computes; in a cube kernel the object computes where it is
// called. Tiles are loaded, multiplied and stored one after the other, without double buffering.
#ifndef TILEWRIGHT_ASCENDC_LIB_MATMUL_INTF_H
#define TILEWRIGHT_ASCENDC_LIB_MATMUL_INTF_H

#include "../kernel_operator.h"

enum class CubeFormat : uint8_t { ND, NZ, ZN, ZZ, NN, VECTOR, ND_ALIGN };

namespace matmul {

using AscendC::DType;
using AscendC::GlobalTensor;
using AscendC::LocalTensor;
using AscendC::Place;
using AscendC::TPosition;
namespace host = tilewright::ascend;

template <TPosition position, CubeFormat matrixFormat, class Element, bool isTransposed = false>
struct MatmulType {
  static constexpr TPosition pos = position;
  static constexpr CubeFormat format = matrixFormat;
  static constexpr bool isTrans = isTransposed;
  using T = Element;
};
struct MatmulConfig {
  bool doNorm = true, doMultiDataLoad = false;
};
constexpr MatmulConfig CFG_NORM = {true, false};
constexpr MatmulConfig CFG_MDL = {false, true};

/// What a vector core asks of its cube core.
struct MatmulRequest {
  uint64_t a = 0, b = 0, bias = 0, c = 0;
  bool transposeA = false, transposeB = false, addsToC = false;
  int32_t orgM = 0, orgN = 0, orgKa = 0,
          orgKb = 0;           ///< sizes of the whole matrices: pitches of rows
  int32_t m = 0, n = 0, k = 0; ///< what is computed
  int32_t baseM = 0, baseN = 0, baseK = 0;
  int32_t tile = -1; ///< number of the tile; -1: all
  int32_t object = 0;
  bool ends = false;
};

inline int32_t least(int32_t a, int32_t b) {
  return a < b ? a : b;
}
inline uint32_t ceilDiv(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}

template <class AType, class BType, class CType, class BiasType = CType,
          const MatmulConfig& config = CFG_NORM>
class Matmul {
  using A = typename AType::T;
  using B = typename BType::T;
  using C = typename CType::T;
  using Bias = typename BiasType::T;
  using Sum = std::conditional_t<std::is_integral_v<A>, int32_t, float>;
  static_assert(AType::pos == TPosition::GM && BType::pos == TPosition::GM &&
                    CType::pos == TPosition::GM,
                "the host's Matmul takes and gives matrices in GM");
  static_assert(AType::format == CubeFormat::ND && BType::format == CubeFormat::ND &&
                    CType::format == CubeFormat::ND,
                "the host's Matmul takes and gives rows (ND)");
  static constexpr uint32_t k0 = 32 / sizeof(A);

public:
  void Init(const TCubeTiling* tiling, AscendC::TPipe* = nullptr) {
    r.orgM = tiling->M;
    r.orgN = tiling->N;
    r.orgKa = tiling->Ka;
    r.orgKb = tiling->Kb;
    r.m = tiling->singleCoreM;
    r.n = tiling->singleCoreN;
    r.k = tiling->singleCoreK;
    r.baseM = tiling->baseM;
    r.baseN = tiling->baseN;
    r.baseK = tiling->baseK;
  }
  void SetOrgShape(int32_t m, int32_t n, int32_t k) {
    SetOrgShape(m, n, k, k);
  }
  void SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) {
    r.orgM = m;
    r.orgN = n;
    r.orgKa = ka;
    r.orgKb = kb;
  }
  void SetSingleShape(int32_t m, int32_t n, int32_t k) {
    r.m = m;
    r.n = n;
    r.k = k;
  }
  /// The sizes of a part at the edge; -1 leaves one as it is.
  void SetTail(int32_t m = -1, int32_t n = -1, int32_t k = -1) {
    r.m = m > 0 ? m : r.m;
    r.n = n > 0 ? n : r.n;
    r.k = k > 0 ? k : r.k;
  }
  void SetTensorA(const GlobalTensor<A>& gm, bool isTransposed = false) {
    r.a = reinterpret_cast<uint64_t>(gm.GetPhyAddr());
    r.transposeA = isTransposed;
    next = 0;
  }
  void SetTensorB(const GlobalTensor<B>& gm, bool isTransposed = false) {
    r.b = reinterpret_cast<uint64_t>(gm.GetPhyAddr());
    r.transposeB = isTransposed;
    next = 0;
  }
  void SetBias(const GlobalTensor<Bias>& gm) {
    r.bias = reinterpret_cast<uint64_t>(gm.GetPhyAddr());
  }
  void DisableBias() {
    r.bias = 0;
  }
  void ClearBias() {
    r.bias = 0;
  }
  template <bool sync = true>
  void IterateAll(const GlobalTensor<C>& gm, uint8_t enAtomic = 0, bool = false, bool = false,
                  Place place = Place::here()) {
    r.c = reinterpret_cast<uint64_t>(gm.GetPhyAddr());
    r.addsToC = enAtomic != 0;
    r.tile = -1;
    ask(place);
  }
  /// One tile after the other, along n first; false behind the last.
  template <bool sync = true> bool Iterate(bool = false) {
    return next++ < static_cast<int32_t>(ceilDiv(r.m, r.baseM) * ceilDiv(r.n, r.baseN));
  }
  template <bool sync = true>
  void GetTensorC(const GlobalTensor<C>& gm, uint8_t enAtomic = 0, bool = false,
                  Place place = Place::here()) {
    r.c = reinterpret_cast<uint64_t>(gm.GetPhyAddr());
    r.addsToC = enAtomic != 0;
    r.tile = next - 1;
    ask(place);
  }
  void End(Place place = Place::here()) {
    if (ended || !host::agentView().mixed || host::agentView().cube)
      return;
    ended = true;
    r.ends = true;
    ask(place);
    r.ends = false;
  }
  void SetSubBlockIdx(uint8_t) {}
  void SetWorkspace(GM_ADDR) {}

  /// For the headers alone.
  void setObject(int32_t number) {
    r.object = number;
  }
  void run(const MatmulRequest& request, Place place) {
    int32_t columns = static_cast<int32_t>(ceilDiv(request.n, request.baseN));
    int32_t tiles = columns * static_cast<int32_t>(ceilDiv(request.m, request.baseM));
    for (int32_t t = 0; t < tiles; ++t)
      if (request.tile < 0 || request.tile == t)
        runTile(request, t / columns * request.baseM, t % columns * request.baseN, place);
  }

private:
  void ask(Place place) {
    if (r.baseM <= 0 || r.baseN <= 0 || r.baseK <= 0)
      host::failKernel("Matmul: the tiling has no baseM, baseN, baseK", place);
    const host::AgentView& view = host::agentView();
    if (view.cube) {
      if (!view.mixed)
        run(r, place);
      return;
    }
    if (!view.mixed)
      host::failKernel("Matmul needs a cube core; make the kernel a mixed one", place);
    void** mail = host::groupMail();
    mail[view.subBlockIdx] = &r;
    host::issueNotice(reinterpret_cast<uint64_t>(mail), "Matmul", place);
    host::awaitNotice(reinterpret_cast<uint64_t>(mail) + 1 + view.subBlockIdx, 1, false, "Matmul",
                      place);
  }

  template <class T> static GlobalTensor<T> global(uint64_t address, uint64_t element = 0) {
    GlobalTensor<T> t;
    t.SetGlobalBuffer(reinterpret_cast<T*>(address) + element);
    return t;
  }
  static void barrier(Place place) {
    host::issueBarrierAll(place);
  }

  void runTile(const MatmulRequest& q, int32_t mAt, int32_t nAt, Place place) {
    bool plain = sizeof(A) == 2 || (!q.transposeA && q.transposeB);
    if (!plain)
      host::failKernel(
          "unsupported: Matmul of 8-bit and 32-bit types takes A as it is and B transposed", place);
    int32_t m = least(q.baseM, q.m - mAt), n = least(q.baseN, q.n - nAt);
    LocalTensor<Sum> sum(TPosition::CO1, 0, ceilDiv(m, 16) * 16 * ceilDiv(n, 16) * 16);
    LocalTensor<Sum> bias(TPosition::C2, 0, ceilDiv(n, 16) * 16);
    if (q.bias)
      loadBias(q, nAt, n, bias, place);
    for (int32_t kAt = 0; kAt < q.k; kAt += q.baseK) {
      int32_t k = least(q.baseK, q.k - kAt);
      loadA(q, mAt, kAt, m, k, place);
      loadB(q, nAt, kAt, n, k, place);
      barrier(place);
      AscendC::MmadParams p(static_cast<uint16_t>(m), static_cast<uint16_t>(n),
                            static_cast<uint16_t>(k), 0, false, kAt == 0);
      p.disableGemv = true;
      LocalTensor<A> a(TPosition::A2, 0, l0Bytes / sizeof(A));
      LocalTensor<B> b(TPosition::B2, 0, l0Bytes / sizeof(B));
      if (kAt == 0 && q.bias)
        AscendC::Mmad(sum, a, b, bias, p, place);
      else
        AscendC::Mmad(sum, a, b, p, place);
      barrier(place);
    }
    store(q, mAt, nAt, m, n, sum, place);
    barrier(place);
  }
  static constexpr uint32_t l0Bytes = 64 * 1024, l1BytesB = 256 * 1024, l1BytesBias = 480 * 1024;

  /// Rows [row, row + rows) and columns [column, ...) of a matrix to fractals in L1.
  template <class T>
  LocalTensor<T> toL1(uint64_t matrix, int32_t pitch, int32_t row, int32_t column, int32_t rows,
                      int32_t columns, uint32_t l1Byte, Place place) {
    LocalTensor<T> l1(TPosition::A1, l1Byte, (256 * 1024 - 32 * 1024) / sizeof(T));
    AscendC::Nd2NzParams p(1, static_cast<uint16_t>(rows), static_cast<uint16_t>(columns), 0,
                           static_cast<uint32_t>(pitch),
                           static_cast<uint16_t>(ceilDiv(rows, 16) * 16), 1, 0);
    AscendC::DataCopy(l1, global<T>(matrix, static_cast<uint64_t>(row) * pitch + column), p, place);
    barrier(place);
    return l1;
  }
  void loadA(const MatmulRequest& q, int32_t mAt, int32_t kAt, int32_t m, int32_t k, Place place) {
    uint32_t m1 = ceilDiv(m, 16), k1 = ceilDiv(k, k0);
    auto l1 = q.transposeA ? toL1<A>(q.a, q.orgM, kAt, mAt, k, m, 0, place)
                           : toL1<A>(q.a, q.orgKa, mAt, kAt, m, k, 0, place);
    LocalTensor<A> a(TPosition::A2, 0, l0Bytes / sizeof(A));
    for (uint32_t i = 0; i < m1; ++i)
      if (q.transposeA)
        AscendC::LoadData(a[i * k1 * 16 * k0], l1,
                          AscendC::LoadData2DParams(i * k1, k1, 1, 0, 0, true, 0), place);
      else
        AscendC::LoadData(a[i * k1 * 16 * k0], l1,
                          AscendC::LoadData2DParams(i, k1, m1, 0, 0, false, 0), place);
  }
  void loadB(const MatmulRequest& q, int32_t nAt, int32_t kAt, int32_t n, int32_t k, Place place) {
    uint32_t n1 = ceilDiv(n, 16), k1 = ceilDiv(k, k0);
    auto l1 = q.transposeB ? toL1<B>(q.b, q.orgKb, nAt, kAt, n, k, l1BytesB, place)
                           : toL1<B>(q.b, q.orgN, kAt, nAt, k, n, l1BytesB, place);
    LocalTensor<B> b(TPosition::B2, 0, l0Bytes / sizeof(B));
    for (uint32_t i = 0; i < k1; ++i)
      if (q.transposeB)
        AscendC::LoadData(b[i * n1 * 16 * k0], l1,
                          AscendC::LoadData2DParams(i * n1, n1, 1, 0, 0, false, 0), place);
      else
        AscendC::LoadData(b[i * n1 * 16 * k0], l1,
                          AscendC::LoadData2DParams(i, n1, k1, 0, 0, true, 0), place);
  }
  void loadBias(const MatmulRequest& q, int32_t nAt, int32_t n, const LocalTensor<Sum>& bias,
                Place place) {
    static_assert(sizeof(Bias) == sizeof(Sum) || !std::is_same_v<Bias, Sum>, "");
    if (!std::is_same_v<Bias, Sum>)
      host::failKernel("unsupported: Matmul with a bias of another type than the sums", place);
    LocalTensor<Sum> l1(TPosition::A1, l1BytesBias, 1024);
    AscendC::CopyInstr copy;
    copy.pipe = AscendC::Pipe::MTE2;
    copy.dst = l1.operand();
    copy.src = global<Sum>(q.bias, static_cast<uint64_t>(nAt)).operand();
    copy.length = static_cast<uint64_t>(n) * sizeof(Sum);
    copy.padRight = static_cast<uint16_t>((64 - copy.length % 64) % 64);
    host::issueCopy(copy, place);
    barrier(place);
    AscendC::DataCopy(bias, l1, AscendC::DataCopyParams(1, ceilDiv(n * sizeof(Sum), 64) * 2, 0, 0),
                      place);
  }
  void store(const MatmulRequest& q, int32_t mAt, int32_t nAt, int32_t m, int32_t n,
             const LocalTensor<Sum>& sum, Place place) {
    AscendC::FixpipeParamsV220 p(static_cast<uint16_t>(n), static_cast<uint16_t>(m),
                                 static_cast<uint16_t>(ceilDiv(m, 16) * 16),
                                 static_cast<uint32_t>(q.orgN), false);
    p.quantPre = std::is_same_v<C, Sum>          ? NoQuant
                 : std::is_same_v<C, half>       ? F322F16
                 : std::is_same_v<C, bfloat16_t> ? F322BF16
                                                 : NoQuant;
    if (q.addsToC)
      AscendC::SetAtomicAdd<C>();
    AscendC::Fixpipe<C, Sum>(global<C>(q.c, static_cast<uint64_t>(mAt) * q.orgN + nAt), sum, p,
                             place);
    if (q.addsToC)
      AscendC::SetAtomicNone();
  }

  MatmulRequest r;
  int32_t next = 0;
  bool ended = false;
};
template <class AType, class BType, class CType, class BiasType = CType,
          const MatmulConfig& config = CFG_NORM>
using MatmulImpl = Matmul<AType, BType, CType, BiasType, config>;

// --- registration ---------------------------------------------------------------------------

/// Numbers the objects in their order and gives each the tiling behind it, if there is one.
struct ObjectNumbers {
  int32_t count = 0;
  void* last = nullptr;
  void (*init)(void*, const TCubeTiling*) = nullptr;

  template <class Object> void add(Object& object) {
    object.setObject(count++);
    last = &object;
    init = [](void* o, const TCubeTiling* tiling) { static_cast<Object*>(o)->Init(tiling); };
  }
  void add(TCubeTiling* tiling) {
    init(last, tiling);
  }
  void add(const TCubeTiling* tiling) {
    init(last, tiling);
  }
};
inline void runObject(int32_t, const MatmulRequest&, Place) {}
template <class Object, class... Rest>
void runObject(int32_t number, const MatmulRequest& request, Place place, Object& object,
               Rest&&... rest) {
  if constexpr (!std::is_pointer_v<Object>) {
    if (number == request.object)
      object.run(request, place);
    runObject(number + 1, request, place, rest...);
  } else { // a tiling
    runObject(number, request, place, rest...);
  }
}
/// The cube core's part: it serves until its vector cores end.
template <class... Objects> void serve(Place place, Objects&&... objects) {
  void** mail = host::groupMail();
  auto key = reinterpret_cast<uint64_t>(mail);
  for (uint32_t running = 2; running > 0;) {
    if (!host::awaitNotice(key, 1, true, "Matmul", place))
      return;
    for (uint32_t core = 0; core < 2; ++core) {
      if (!mail[core])
        continue;
      const MatmulRequest request = *static_cast<MatmulRequest*>(mail[core]);
      mail[core] = nullptr;
      running -= request.ends;
      if (!request.ends)
        runObject(0, request, place, objects...);
      host::issueNotice(key + 1 + core, "Matmul", place);
      break;
    }
  }
}
/// True on a cube core of a mixed kernel, which is done with the kernel then.
template <class... Objects> bool registerObjects(Place place, Objects&&... objects) {
  const host::AgentView& view = host::agentView();
  ObjectNumbers numbers;
  (numbers.add(objects), ...);
  if (!view.cube || !view.mixed)
    return false;
  serve(place, objects...);
  return true;
}

} // namespace matmul

namespace AscendC {
using matmul::Matmul;
using matmul::MatmulImpl;
using matmul::MatmulType;
} // namespace AscendC

/// The object (with its tiling, or more pairs of both) takes part from here on. A mixed kernel's cube
/// core doesn't come behind this line.
#define REGIST_MATMUL_OBJ(pipe, workspace, ...)                                                    \
  do {                                                                                             \
    (void)(pipe);                                                                                  \
    (void)(workspace);                                                                             \
    if (::matmul::registerObjects(::matmul::Place::here(), __VA_ARGS__))                           \
      return;                                                                                      \
  } while (false)

#endif
