// SPDX-License-Identifier: Apache-2.0
// The Matmul object: C = A * B (+ bias), tile by tile. In a mixed kernel the vector cores ask and the cube core computes;
// in a cube kernel the object computes where it is called. Matrices of a vector core's UB go through GM, as they do on
// the chip, in memory of the object's own. Calls return when their result is there.
#ifndef TILEWRIGHT_ASCENDC_LIB_MATMUL_INTF_H
#define TILEWRIGHT_ASCENDC_LIB_MATMUL_INTF_H

#include "matmul_tiles.h"

#include "../ascendc/letters_begin.h"

enum class LayoutMode : uint8_t { NONE, BSNGD, SBNGD, BNGS1S2, NORMAL };

namespace matmul {

template <TPosition position, CubeFormat matrixFormat, class Element, bool isTransposed = false,
          LayoutMode layoutOfBatches = LayoutMode::NONE, bool isShared = false>
struct MatmulType {
  static constexpr TPosition pos = position;
  static constexpr CubeFormat format = matrixFormat;
  static constexpr bool isTrans = isTransposed;
  static constexpr LayoutMode layout = layoutOfBatches;
  using T = Element;
};
struct MatmulConfig {
  bool doNorm = true, doMultiDataLoad = false;
};
constexpr MatmulConfig CFG_NORM = {true, false};
constexpr MatmulConfig CFG_MDL = {false, true};
constexpr MatmulConfig CFG_IBSHARE_NORM = {true, false};

/// Notices of a block's vector cores to its cube core, and back: one key for each vector core, since the mail of one that
/// asks lies there before its notice has come, while that of the other core comes.
constexpr uint32_t vectorCores = 2;
inline uint64_t keyOfRequests() {
  return reinterpret_cast<uint64_t>(twHost::groupMail());
}
inline uint64_t keyOfAnswers() {
  return keyOfRequests() + vectorCores;
}

/// GM of an object's own, as large as was needed so far. What was too small stays to the launch's end: another core
/// that got it now would seem to share it.
class MatmulScratch {
public:
  uint64_t ofSize(uint64_t wanted) {
    if (wanted > bytes) {
      address = twHost::allocateForLaunch(wanted);
      bytes = wanted;
    }
    return address;
  }

private:
  uint64_t address = 0, bytes = 0;
};

template <class AType, class BType, class CType, class BiasType = CType,
          const MatmulConfig& config = CFG_NORM>
class Matmul {
  using A = typename AType::T;
  using B = typename BType::T;
  using C = typename CType::T;
  using Bias = typename BiasType::T;
  using Sum = std::conditional_t<std::is_integral_v<A>, int32_t, float>;
  static constexpr bool isInL1(TPosition p) {
    return AscendC::twSpaceOf(p) == AscendC::TwSpace::L1;
  }
  static constexpr bool isInUb(TPosition p) {
    return AscendC::twSpaceOf(p) == AscendC::TwSpace::UB;
  }
  template <class Type> static constexpr bool isInput() {
    return (Type::pos == TPosition::GM || isInL1(Type::pos) || isInUb(Type::pos)) &&
           (Type::format == CubeFormat::ND || Type::format == CubeFormat::NZ ||
            Type::format == CubeFormat::VECTOR) &&
           Type::layout == LayoutMode::NONE;
  }
  static_assert(
      isInput<AType>() && isInput<BType>(),
      "unsupported: the host's Matmul takes A and B from GM, UB or L1 (A1, B1, TSCM), in rows "
      "(ND) or fractals (NZ), without batches");
  static_assert((!isInL1(AType::pos) || AType::format == CubeFormat::NZ) &&
                    (!isInL1(BType::pos) || BType::format == CubeFormat::NZ),
                "matrices of a Matmul in L1 are fractals; say CubeFormat::NZ");
  static_assert(
      (CType::pos == TPosition::GM || CType::pos == TPosition::CO2 || isInUb(CType::pos)) &&
          (CType::format == CubeFormat::ND || CType::format == CubeFormat::ND_ALIGN ||
           CType::format == CubeFormat::NZ) &&
          CType::layout == LayoutMode::NONE,
      "unsupported: the host's Matmul gives C to GM or UB, in rows (ND) or fractals (NZ), "
      "without batches");
  static_assert(
      std::is_same_v<A, B> && (std::is_same_v<A, half> || std::is_same_v<A, bfloat16_t> ||
                               std::is_same_v<A, float> || std::is_same_v<A, int8_t>),
      "unsupported: the host's Matmul multiplies two matrices of half, bfloat16_t, float or "
      "int8_t");

public:
  void Init(const TCubeTiling* tiling, AscendC::TPipe* = nullptr) {
    orgM = tiling->M;
    orgN = tiling->N;
    orgKa = tiling->Ka;
    orgKb = tiling->Kb;
    orgNc = 0;
    r.m = tiling->singleCoreM;
    r.n = tiling->singleCoreN;
    r.k = tiling->singleCoreK;
    r.baseM = tiling->baseM;
    r.baseN = tiling->baseN;
    r.baseK = tiling->baseK;
    r.alongMFirst = tiling->iterateOrder == 0;
  }
  void SetOrgShape(int32_t m, int32_t n, int32_t k) {
    SetOrgShape(m, n, k, k);
  }
  /// `nC`: columns of C, if these are others than those of B.
  void SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb, int32_t nC = 0) {
    orgM = m;
    orgN = n;
    orgKa = ka;
    orgKb = kb;
    orgNc = nC;
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
  void SetTensorA(const GlobalTensor<A>& gm, bool isTransposed = false,
                  TwPlace place = TwPlace::here()) {
    setInput<AType>(r.a, reinterpret_cast<uint64_t>(gm.GetPhyAddr()), isTransposed, "A", place);
  }
  void SetTensorB(const GlobalTensor<B>& gm, bool isTransposed = false,
                  TwPlace place = TwPlace::here()) {
    setInput<BType>(r.b, reinterpret_cast<uint64_t>(gm.GetPhyAddr()), isTransposed, "B", place);
  }
  /// A matrix of singleCoreM x singleCoreK in UB or L1: set the sizes first.
  void SetTensorA(const LocalTensor<A>& local, bool isTransposed = false,
                  TwPlace place = TwPlace::here()) {
    setLocal<AType>(r.a, local, scratchA, r.m, r.k, isTransposed, "A", place);
  }
  /// A matrix of singleCoreK x singleCoreN in UB or L1.
  void SetTensorB(const LocalTensor<B>& local, bool isTransposed = false,
                  TwPlace place = TwPlace::here()) {
    setLocal<BType>(r.b, local, scratchB, r.k, r.n, isTransposed, "B", place);
  }
  void SetBias(const GlobalTensor<Bias>& gm, TwPlace place = TwPlace::here()) {
    r.bias = reinterpret_cast<uint64_t>(gm.GetPhyAddr());
    if constexpr (!std::is_same_v<Bias, Sum>)
      widenBias(gm, place);
  }
  void SetBias(const LocalTensor<Bias>& local, TwPlace place = TwPlace::here()) {
    if constexpr (std::is_same_v<Bias, Sum>)
      r.bias = toGm(local, scratchBias, static_cast<uint64_t>(r.n) * sizeof(Bias), place);
    else
      widenBias(local, place);
  }
  void DisableBias() {
    r.bias = 0;
  }
  void ClearBias() {
    r.bias = 0;
  }
  void SetHF32(bool enable = false, int32_t transMode = 0) {
    r.hf32 = enable;
    r.hf32TiesToZero = transMode != 0;
  }
  /// The bits of a float, for a C of half or int8_t.
  void SetQuantScalar(uint64_t scale) {
    r.scale = scale;
    r.scales = 0;
  }
  void SetQuantVector(const GlobalTensor<uint64_t>& scales) {
    r.scales = reinterpret_cast<uint64_t>(scales.GetPhyAddr());
  }

  template <bool sync = true>
  void IterateAll(const GlobalTensor<C>& gm, uint8_t enAtomic = 0, bool = false, bool = false,
                  bool = false, TwPlace place = TwPlace::here()) {
    toGlobal(gm, enAtomic, -1, false, place);
  }
  /// Rows of C follow each other in UB, each filled up to 32 bytes.
  template <bool sync = true>
  void IterateAll(const LocalTensor<C>& local, uint8_t enAtomic = 0,
                  TwPlace place = TwPlace::here()) {
    toLocal(local, enAtomic, -1, true, place);
  }
  /// Goes to the next tile, along the axis that the tiling's iterateOrder names; false behind the last.
  template <bool sync = true>
  bool Iterate(bool enPartialSum = false, TwPlace place = TwPlace::here()) {
    if (enPartialSum)
      twHost::failKernel(
          "unsupported: Iterate with partial sums; use IterateAll or GetTensorC with "
          "enAtomic, which add to GM",
          place);
    checkTiling(place);
    return next++ < r.tilesAlongM() * r.tilesAlongN();
  }
  /// The tile that Iterate has come to: at its place in C, or (`enSequentialWrite`) at the start of the tensor.
  template <bool sync = true>
  void GetTensorC(const GlobalTensor<C>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                  TwPlace place = TwPlace::here()) {
    toGlobal(gm, enAtomic, next - 1, enSequentialWrite, place);
  }
  template <bool sync = true>
  void GetTensorC(const LocalTensor<C>& local, uint8_t enAtomic = 0, bool enSequentialWrite = false,
                  TwPlace place = TwPlace::here()) {
    toLocal(local, enAtomic, next - 1, enSequentialWrite, place);
  }
  void WaitIterateAll() {}
  void WaitGetTensorC() {}
  /// Frees nothing here: the object may be used again, and the cube core serves until its vector cores are done.
  void End() {}
  void SetSubBlockIdx(uint8_t) {}
  void SetWorkspace(GM_ADDR) {}
  template <class T> void SetWorkspace(const GlobalTensor<T>&) {}
  void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}

  /// For the headers alone.
  void setObject(int32_t number) {
    r.object = number;
  }
  void run(const MatmulRequest& request, TwPlace place) {
    MatmulTiles<A, B, C>(request, place).run();
  }

private:
  template <class Type>
  void setInput(MatmulOperand& o, uint64_t address, bool isTransposed, const char* name,
                TwPlace place) {
    if (isTransposed && !Type::isTrans) {
      char text[160];
      twHost::formatText(
          text, sizeof text,
          "Matmul: %s is transposed, but its MatmulType doesn't say that it may be; set "
          "the type's isTrans",
          name);
      twHost::reportKernel(text, true, place);
    }
    o.address = address;
    o.isInL1 = false;
    o.format = Type::format;
    o.isTransposed = isTransposed;
    o.pitch = 0; // of a matrix in GM, by the original shape, which may be set later
    next = 0;
  }
  template <class Type, class T>
  void setLocal(MatmulOperand& o, const LocalTensor<T>& local, MatmulScratch& scratch, int32_t rows,
                int32_t columns, bool isTransposed, const char* name, TwPlace place) {
    if (isTransposed)
      std::swap(rows, columns); // as it is stored
    bool isNz = Type::format == CubeFormat::NZ;
    uint64_t elements = isNz ? uint64_t{roundUp(static_cast<uint32_t>(rows), 16)} *
                                   roundUp(static_cast<uint32_t>(columns), 32 / sizeof(T))
                             : uint64_t(rows) * static_cast<uint64_t>(columns);
    bool inL1 = isInL1(local.GetPosition());
    if (inL1 && !twHost::agentView().cube)
      twHost::failKernel(
          "unsupported: Matmul with a matrix in L1 on a vector core; take it from UB "
          "or GM",
          place);
    uint64_t address =
        inL1 ? local.operand().address : toGm(local, scratch, elements * sizeof(T), place);
    setInput<Type>(o, address, isTransposed, name, place);
    o.isInL1 = inL1;
    o.pitch = isNz ? static_cast<int32_t>(roundUp(static_cast<uint32_t>(rows), 16)) : columns;
  }
  /// What is in UB, to GM.
  template <class T>
  uint64_t toGm(const LocalTensor<T>& local, MatmulScratch& scratch, uint64_t bytes,
                TwPlace place) {
    constexpr uint64_t unit = 32;
    uint64_t address = scratch.ofSize((bytes + unit - 1) / unit * unit);
    twHost::issueBarrierAll(place);
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer(reinterpret_cast<T*>(address));
    AscendC::twCopyBursts(gm.operand(), local.operand(), 1, (bytes + unit - 1) / unit * unit, 0, 0,
                          place);
    twHost::issueBarrierAll(place);
    return address;
  }
  /// The sums' type takes a bias of its own type.
  template <class Tensor> void widenBias(const Tensor& bias, TwPlace place) {
    uint64_t address = scratchBias.ofSize(static_cast<uint64_t>(r.n) * sizeof(Sum));
    for (int32_t i = 0; i < r.n; ++i)
      reinterpret_cast<Sum*>(address)[i] =
          static_cast<Sum>(static_cast<float>(bias.GetValue(static_cast<uint32_t>(i), place)));
    r.bias = address;
  }

  void toGlobal(const GlobalTensor<C>& gm, uint8_t enAtomic, int32_t tile, bool isTile,
                TwPlace place) {
    int32_t columns = orgNc > 0 ? orgNc : orgN;
    r.c.address = reinterpret_cast<uint64_t>(gm.GetPhyAddr());
    r.c.format = CType::format;
    r.c.isTile = isTile;
    checkTiling(place);
    r.c.pitch = pitchOfC(isTile ? tileM(tile) : orgM, isTile ? tileN(tile) : columns, false);
    r.addsToC = enAtomic != 0;
    r.tile = tile;
    ask(place);
  }
  void toLocal(const LocalTensor<C>& local, uint8_t enAtomic, int32_t tile, bool isTile,
               TwPlace place) {
    if (enAtomic != 0)
      twHost::failKernel("unsupported: Matmul adds to C in GM only", place);
    if (twHost::agentView().cube)
      twHost::failKernel("Matmul: a cube core has no UB for C; take it to GM, or make the kernel a "
                         "mixed one",
                         place);
    checkTiling(place);
    bool isNz = CType::format == CubeFormat::NZ;
    auto rows = static_cast<uint32_t>(tile < 0 ? r.m : tileM(tile));
    auto columns = static_cast<uint32_t>(tile < 0 ? r.n : tileN(tile));
    constexpr uint32_t n0 = sizeof(C) == 1 ? 32 : 16, unit = 32 / sizeof(C);
    r.c.pitch = pitchOfC(static_cast<int32_t>(rows), static_cast<int32_t>(columns), true);
    uint64_t bytes = uint64_t(r.c.pitch) * (isNz ? roundUp(columns, n0) : rows) * sizeof(C);
    r.c.address = scratchC.ofSize(bytes);
    r.c.format = CType::format;
    r.c.isTile = tile >= 0;
    r.addsToC = false;
    r.tile = tile;
    ask(place);
    GlobalTensor<C> gm;
    gm.SetGlobalBuffer(reinterpret_cast<C*>(r.c.address));
    twHost::issueBarrierAll(place);
    if (isTile) {
      AscendC::twCopyBursts(local.operand(), gm.operand(), 1, bytes, 0, 0, place);
    } else { // at its place among the other tiles
      uint32_t pitch = isNz ? roundUp(static_cast<uint32_t>(r.m), 16)
                            : roundUp(static_cast<uint32_t>(r.n), unit);
      auto m = static_cast<uint32_t>(indexM(tile) * r.baseM),
           n = static_cast<uint32_t>(indexN(tile) * r.baseN);
      uint64_t length = uint64_t(r.c.pitch) * (isNz ? n0 : 1) * sizeof(C);
      uint64_t full = uint64_t{pitch} * (isNz ? n0 : 1) * sizeof(C);
      AscendC::twCopyBursts(local[isNz ? n * pitch + m * n0 : m * pitch + n].operand(),
                            gm.operand(), isNz ? ceilDiv(columns, n0) : rows, length, 0,
                            static_cast<int64_t>(full - length), place);
    }
    twHost::issueBarrierAll(place);
  }
  static int32_t pitchOfC(int32_t rows, int32_t columns, bool isLocal) {
    constexpr uint32_t unit = 32 / sizeof(C);
    return static_cast<int32_t>(CType::format == CubeFormat::NZ ? roundUp(rows, 16)
                                : isLocal || CType::format == CubeFormat::ND_ALIGN
                                    ? roundUp(columns, unit)
                                    : columns);
  }
  int32_t indexM(int32_t tile) const {
    return r.alongMFirst ? tile % r.tilesAlongM() : tile / r.tilesAlongN();
  }
  int32_t indexN(int32_t tile) const {
    return r.alongMFirst ? tile / r.tilesAlongM() : tile % r.tilesAlongN();
  }
  int32_t tileM(int32_t tile) const {
    return std::min(r.baseM, r.m - indexM(tile) * r.baseM);
  }
  int32_t tileN(int32_t tile) const {
    return std::min(r.baseN, r.n - indexN(tile) * r.baseN);
  }

  /// Elements between rows of a matrix in GM, or rows of its columns of fractals.
  static int32_t pitchOf(const MatmulOperand& o, int32_t rows, int32_t columns) {
    if (o.pitch)
      return o.pitch;
    if (o.isTransposed)
      std::swap(rows, columns);
    return o.format == CubeFormat::NZ
               ? static_cast<int32_t>(roundUp(static_cast<uint32_t>(rows), 16))
               : columns;
  }
  void checkTiling(TwPlace place) const {
    if (r.baseM <= 0 || r.baseN <= 0 || r.baseK <= 0)
      twHost::failKernel("Matmul: the tiling has no baseM, baseN, baseK", place);
  }
  void ask(TwPlace place) {
    const twHost::AgentView& view = twHost::agentView();
    if (!view.cube && !view.mixed)
      twHost::failKernel("Matmul needs a cube core; make the kernel a mixed one", place);
    if (view.cube && view.mixed)
      return;
    if (!r.a.address && !r.a.isInL1)
      twHost::failKernel("Matmul: no A; call SetTensorA", place);
    if (!r.b.address && !r.b.isInL1)
      twHost::failKernel("Matmul: no B; call SetTensorB", place);
    MatmulOperand a = r.a, b = r.b;
    r.a.pitch = pitchOf(r.a, orgM, orgKa);
    r.b.pitch = pitchOf(r.b, orgKb, orgN);
    if (view.cube)
      run(r, place);
    else
      send(place);
    r.a = a;
    r.b = b;
  }
  void send(TwPlace place) {
    const uint32_t core = twHost::agentView().subBlockIdx;
    twHost::groupMail()[core] = &r;
    twHost::issueNotice(twHost::NoticeOf::Request, keyOfRequests() + core, "Matmul", place);
    twHost::awaitNotice(twHost::NoticeOf::Request, keyOfAnswers() + core, 1, "Matmul", place);
  }

  MatmulRequest r;
  int32_t orgM = 0, orgN = 0, orgKa = 0, orgKb = 0, orgNc = 0;
  int32_t next = 0;
  MatmulScratch scratchA, scratchB, scratchC, scratchBias;
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
inline void runObject(int32_t, const MatmulRequest&, TwPlace) {}
template <class Object, class... Rest>
void runObject(int32_t number, const MatmulRequest& request, TwPlace place, Object& object,
               Rest&&... rest) {
  if constexpr (!std::is_pointer_v<Object>) {
    if (number == request.object)
      object.run(request, place);
    runObject(number + 1, request, place, rest...);
  } else { // a tiling
    runObject(number, request, place, rest...);
  }
}
/// The cube core's part: it serves until its vector cores are done.
template <class... Objects> void serve(TwPlace place, Objects&&... objects) {
  for (;;) {
    const int32_t core = twHost::awaitRequest(keyOfRequests(), vectorCores, "Matmul", place);
    if (core < 0)
      return;
    const MatmulRequest request = *static_cast<MatmulRequest*>(twHost::groupMail()[core]);
    runObject(0, request, place, objects...);
    twHost::issueNotice(twHost::NoticeOf::Request, keyOfAnswers() + static_cast<uint32_t>(core),
                        "Matmul", place);
  }
}
/// True on a cube core of a mixed kernel, which is done with the kernel then.
template <class... Objects> bool registerObjects(TwPlace place, Objects&&... objects) {
  const twHost::AgentView& view = twHost::agentView();
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
    if (::matmul::registerObjects(::tilewright::ascend::Place::here(), __VA_ARGS__))               \
      return;                                                                                      \
  } while (false)

#include "../ascendc/letters_end.h"

#endif
