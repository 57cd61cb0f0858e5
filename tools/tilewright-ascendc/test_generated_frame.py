# SPDX-License-Identifier: Apache-2.0
"""A file as TileLang for Ascend generates it is built and run. Needs a build of the simulator."""

import shutil
from pathlib import Path

import pytest
from built_driver import DRIVER, needs_driver, run

pytestmark = needs_driver

# What the generated file includes; the real one is the templates' of that project.
TEMPLATES = """
#include "kernel_operator.h"
namespace Catlass {}
namespace tl::ascend {
template <class T>
__aicore__ void transpose(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src) {
  __ubuf__ T *to[16], *from[16];
  for (int i = 0; i < 16; ++i) {
    to[i] = (__ubuf__ T*)dst[i * 16].GetPhyAddr();
    from[i] = (__ubuf__ T*)src[i * 16].GetPhyAddr();
  }
  AscendC::TransDataTo5HDParams params;
  params.repeatTimes = 1;
  AscendC::TransDataTo5HDImpl<T>(to, from, params);
  AscendC::PipeBarrier<PIPE_V>();
}
} // namespace tl::ascend
"""
HOST = """
#include "acl/acl.h"
#include "runtime/rt_ffts.h"
#include <cstdio>
#include <vector>
extern "C" void call(uint8_t*, uint8_t*, uint8_t*, int64_t, aclrtStream);
template <class T> T* upload(const std::vector<T>& host) {
  void* device = nullptr;
  aclrtMalloc(&device, host.size() * sizeof(T), ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(device, host.size() * sizeof(T), host.data(), host.size() * sizeof(T),
              ACL_MEMCPY_HOST_TO_DEVICE);
  return static_cast<T*>(device);
}
int main() {
  uint64_t address = 0;
  uint32_t length = 0;
  if (rtGetC2cCtrlAddr(&address, &length) != RT_ERROR_NONE || address == 0 || length == 0)
    return 1;
  if (rtGetC2cCtrlAddr(nullptr, &length) != ACL_ERROR_RT_PARAM_INVALID)
    return 2;
  std::printf("%s\\n", aclGetRecentErrMsg());
  if (rtGetC2cCtrlAddr(&address, nullptr) != ACL_ERROR_RT_PARAM_INVALID)
    return 3;
  std::printf("%s\\n", aclGetRecentErrMsg());
  aclInit(nullptr);
  aclrtSetDevice(0);
  constexpr int rows = 96, size = rows * 16, results = size / 2;
  auto value = [](int i) { return i * 7 % 11 - 5; };
  std::vector<aclFloat16> a(size), b(size);
  for (int i = 0; i < size; ++i)
    a[i] = aclFloatToFloat16(value(i));
  auto *aDevice = upload(a), *bDevice = upload(b);
  float* cDevice = upload(std::vector<float>(results));
  call((uint8_t*)aDevice, (uint8_t*)bDevice, (uint8_t*)cDevice, rows, nullptr);
  int status = aclrtSynchronizeStream(nullptr), wrong = 0;
  std::vector<float> c(results);
  aclrtMemcpy(b.data(), size * 2, bDevice, size * 2, ACL_MEMCPY_DEVICE_TO_HOST);
  aclrtMemcpy(c.data(), results * 4, cDevice, results * 4, ACL_MEMCPY_DEVICE_TO_HOST);
  for (int part = 0; part < rows / 16; ++part)
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j) {
        wrong += aclFloat16ToFloat(b[part * 256 + i * 16 + j]) != value(part * 256 + j * 16 + i);
        float sum = 0; // the first of a block's two parts times itself
        for (int k = 0; k < 16; ++k)
          sum += value(part * 256 + k * 16 + i) * value(part * 256 + j * 16 + k);
        wrong += part % 2 == 0 && c[part / 2 * 256 + i * 16 + j] != sum;
      }
  std::printf("status %d, %d wrong\\n", status, wrong);
}
"""


@pytest.mark.parametrize("compiler", ["clang++-22", "g++-12"])
def test_generated_frame(tmp_path: Path, compiler: str) -> None:
    """Its includes, its kernel and its host function are as they were generated."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    templates = tmp_path / "tl_templates" / "ascend"
    templates.mkdir(parents=True)
    (templates / "common.h").write_text(TEMPLATES)
    (tmp_path / "host.cpp").write_text(HOST)
    frame = Path(__file__).with_name("generated_frame.cpp")
    program = tmp_path / "program"
    host, options = tmp_path / "host.cpp", (f"-I{tmp_path}", "--cxx", compiler)
    built = run(DRIVER, "build", frame, host, "-o", program, *options)
    assert built.returncode == 0, built.stderr
    answer = run(program)
    assert answer.stdout.splitlines() == [
        "rtGetC2cCtrlAddr: addr is null [107000]",
        "rtGetC2cCtrlAddr: len is null [107000]",
        "status 0, 0 wrong",
    ], answer.stderr
    assert answer.stderr == ""
