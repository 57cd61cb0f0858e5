// SPDX-License-Identifier: Apache-2.0
// Loads a kernel by its name, gives it arguments and launches it; loaded_kernel.cpp holds the kernel.
//   tilewright-ascendc build load_kernel.cpp -o load_kernel && ./load_kernel scale.o
#include "acl/acl.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(aclError code, const char* call) {
  if (code == ACL_SUCCESS)
    return;
  const char* text = aclGetRecentErrMsg();
  fprintf(stderr, "%s\n", text ? text : call);
  exit(1);
}
#define CHECK(call) check(call, #call)

int main(int argc, char** argv) {
  uint32_t total = 8 * 1024;
  size_t bytes = total * sizeof(float);
  std::vector<float> x(total), y(total);
  for (uint32_t i = 0; i < total; ++i)
    x[i] = static_cast<float>(i % 100);

  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  aclrtStream stream;
  CHECK(aclrtCreateStream(&stream));
  void *xDevice, *yDevice;
  CHECK(aclrtMalloc(&xDevice, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&yDevice, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(xDevice, bytes, x.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));

  aclrtBinHandle binary;
  aclrtFuncHandle kernel;
  CHECK(aclrtBinaryLoadFromFile(argc > 1 ? argv[1] : "scale.o", nullptr, &binary));
  CHECK(aclrtBinaryGetFunction(binary, "scale_bias", &kernel));

  aclrtArgsHandle arguments;
  aclrtParamHandle parameter, factors;
  CHECK(aclrtKernelArgsInit(kernel, &arguments));
  CHECK(aclrtKernelArgsAppend(arguments, &xDevice, sizeof xDevice, &parameter));
  CHECK(aclrtKernelArgsAppend(arguments, &yDevice, sizeof yDevice, &parameter));
  CHECK(aclrtKernelArgsAppendPlaceHolder(arguments, &factors));
  CHECK(aclrtKernelArgsAppend(arguments, &total, sizeof total, &parameter));
  float* values; // the launch copies them to the device
  CHECK(aclrtKernelArgsGetPlaceHolderBuffer(arguments, factors, 2 * sizeof(float),
                                            reinterpret_cast<void**>(&values)));
  values[0] = 2;
  values[1] = -1;
  CHECK(aclrtKernelArgsFinalize(arguments));
  CHECK(aclrtLaunchKernelWithConfig(kernel, 8, stream, nullptr, arguments, nullptr));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtBinaryUnLoad(binary));

  CHECK(aclrtMemcpy(y.data(), bytes, yDevice, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  int wrong = 0;
  for (uint32_t i = 0; i < total; ++i)
    wrong += y[i] != x[i] * 2 - 1;
  printf("%d of %u values are wrong\n", wrong, total);
  CHECK(aclFinalize());
  return wrong != 0;
}
