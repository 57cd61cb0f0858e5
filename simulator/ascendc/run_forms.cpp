// SPDX-License-Identifier: Apache-2.0
// Runs the forms of call_forms.txt for test_call_forms_run.py, which writes forms.h: the variables, a
// member for each form, and their tables. Cases come from one file, and what memory was before and is
// afterwards goes to another.
#include "acl/acl.h"
#include "kernel_operator.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

using namespace AscendC;

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a part of the structure of forms.h.
#define FORMS_HEAD                                                                                 \
  Forms(const int64_t* numbers, uint8_t* memory, uint8_t* shown, TPosition local)                  \
      : numbers(numbers), memory(memory), shown(shown), local(local) {                             \
    for (int k = 0; k < 16; ++k) {                                                                 \
      to[k] = dst[k * 64];                                                                         \
      from[k] = s0[k * 64];                                                                        \
      tu0[k] = (uint64_t)to[k].GetPhyAddr();                                                       \
      tu1[k] = (uint64_t)from[k].GetPhyAddr();                                                     \
    }                                                                                              \
  }                                                                                                \
  const int64_t* numbers;                                                                          \
  uint8_t *memory, *shown;                                                                         \
  TPosition local;                                                                                 \
  template <class T> void put(T value) {                                                           \
    memset(shown, 0, 8);                                                                           \
    memcpy(shown, &value, sizeof value);                                                           \
    shown += 8;                                                                                    \
  }

#include "forms.h"

using Member = void (Forms::*)();
struct Image {
  uint8_t bytes[imageBytes];
};
inline void copyOut(uint8_t*& at, TPosition position, uint32_t bytes) {
  memcpy(at, LocalTensor<uint8_t>(position, 0, bytes).GetPhyAddr(), bytes);
  at += bytes;
}
inline void snapshot(uint8_t* at, TPosition local) {
  copyOut(at, local, localBytes);
  if (g_coreType == AIV)
    return;
  copyOut(at, TPosition::A2, 8192);
  copyOut(at, TPosition::B2, 8192);
  copyOut(at, TPosition::CO1, 8192);
  copyOut(at, TPosition::C2, 1024);
  copyOut(at, TPosition::C2PIPE2GM, 2048);
}
inline void fillLocal(GM_ADDR in, TPosition local) {
  LocalTensor<uint8_t> all(local, 0, localBytes);
  DataCopy(all, globalAt<uint8_t>(in), localBytes);
  PipeBarrier<PIPE_ALL>();
}
__global__ __aicore__ void onVector(uint32_t form, const int64_t* numbers, GM_ADDR in, GM_ADDR gm,
                                    Image* before, Image* after) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
#ifdef __DAV_VEC__
  static const Member members[] = vectorForms;
  fillLocal(in, TPosition::VECCALC);
  snapshot(before->bytes, TPosition::VECCALC);
  Forms forms(numbers, gm, after->bytes + putAt, TPosition::VECCALC);
  (forms.*members[form])();
  PipeBarrier<PIPE_ALL>();
  snapshot(after->bytes, TPosition::VECCALC);
#endif
}
__global__ __aicore__ void onCube(uint32_t form, const int64_t* numbers, GM_ADDR in, GM_ADDR gm,
                                  Image* before, Image* after) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
#ifdef __DAV_CUBE__
  static const Member members[] = cubeForms;
  fillLocal(in, TPosition::A1);
  Forms forms(numbers, gm, after->bytes + putAt, TPosition::A1);
  LoadData(forms.a2, forms.a1, LoadData2DParams(0, 8, 1, 0, 0, false, 0));
  LoadData(forms.b2, forms.s0, LoadData2DParams(0, 8, 1, 0, 0, false, 0));
  LoadData(forms.i8a2, forms.i8, LoadData2DParams(0, 8, 1, 0, 0, false, 0));
  LoadData(forms.i8b2, forms.i8, LoadData2DParams(4, 4, 1, 0, 0, false, 0));
  DataCopy(forms.bt, forms.f1, DataCopyParams(1, 16, 0, 0));
  DataCopy(forms.fb, forms.u64[256], DataCopyParams(1, 16, 0, 0));
  PipeBarrier<PIPE_ALL>();
  Mmad(forms.c0, forms.a2, forms.b2, MmadParams(32, 32, 32, 0, false, true));
  Mmad(forms.qc, forms.i8a2, forms.i8b2, MmadParams(32, 32, 32, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  snapshot(before->bytes, TPosition::A1);
  (forms.*members[form])();
  PipeBarrier<PIPE_ALL>();
  snapshot(after->bytes, TPosition::A1);
#endif
}

/// Cases: the kind of core, the form, an image, numbers. Results: what the image was, and is.
int main(int, char** arguments) {
  constexpr size_t local = localBytes, gm = GMBytes, put = 64;
  FILE* in = fopen(arguments[1], "rb");
  FILE* out = fopen(arguments[2], "wb");
  std::vector<uint8_t> images(numImages * (local + gm));
  if (fread(images.data(), 1, images.size(), in) != images.size())
    return 1;
  aclInit(nullptr);
  aclrtSetDevice(0);
  void *deviceIn = nullptr, *deviceGm = nullptr;
  aclrtMalloc(&deviceIn, local, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMalloc(&deviceGm, gm, ACL_MEM_MALLOC_HUGE_FIRST);
  int64_t head[3 + numNumbers];
  while (fread(head, 1, sizeof head, in) == sizeof head) {
    const uint8_t* image = &images[head[2] * (local + gm)];
    aclrtMemcpy(deviceIn, local, image, local, ACL_MEMCPY_HOST_TO_DEVICE);
    aclrtMemcpy(deviceGm, gm, image + local, gm, ACL_MEMCPY_HOST_TO_DEVICE);
    static Image before, after;
    before = after = Image();
    memcpy(before.bytes + sizeof before - put - gm, image + local, gm);
    if (head[0] == 0)
      onVector<<<1, nullptr, nullptr>>>(head[1], head + 3, (uint8_t*)deviceIn, (uint8_t*)deviceGm,
                                        &before, &after);
    else
      onCube<<<1, nullptr, nullptr>>>(head[1], head + 3, (uint8_t*)deviceIn, (uint8_t*)deviceGm,
                                      &before, &after);
    int64_t error = aclrtSynchronizeStream(nullptr);
    aclrtMemcpy(after.bytes + sizeof after - put - gm, gm, deviceGm, gm, ACL_MEMCPY_DEVICE_TO_HOST);
    fwrite(&error, sizeof error, 1, out);
    fwrite(&before, sizeof before, 1, out);
    fwrite(&after, sizeof after, 1, out);
  }
  return fclose(out);
}
