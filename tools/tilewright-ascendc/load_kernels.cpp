// SPDX-License-Identifier: Apache-2.0
// Loads the kernels of loaded_kernels.cpp, and prints what each call answers; test_kernel_objects.py reads it.
#include "acl/acl.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

// A kernel object may have a kernel of this name, too.
extern "C" int arguments;
int arguments = 5;

struct Tiling {
  uint8_t small;
  double large;
  int32_t list[3];
};
struct Packed { // in the order of the parameters
  void* out;
  int8_t a;
  int32_t b;
  uint16_t c;
  Tiling tiling;
  float d;
};

static int64_t* out;
static aclrtStream stream;

/// The code, and the sentence if it is not 0.
static void say(const char* what, aclError code) {
  printf("%s: %s\n", what, code ? aclGetRecentErrMsg() : "0");
}
static void values(const char* what) {
  int64_t host[16] = {};
  if (aclError code = aclrtSynchronizeStream(stream))
    return say(what, code);
  aclrtMemcpy(host, sizeof host, out, sizeof host, ACL_MEMCPY_DEVICE_TO_HOST);
  printf("%s: ", what);
  for (int64_t value : host)
    printf("%lld ", static_cast<long long>(value));
  printf("\n");
  aclrtMemset(out, sizeof host, 0, sizeof host);
}
static aclrtFuncHandle function(aclrtBinHandle binary, const char* name) {
  aclrtFuncHandle made = nullptr;
  if (aclError code = aclrtBinaryGetFunction(binary, name, &made))
    say(name, code);
  return made;
}

static void layouts(aclrtFuncHandle f) {
  size_t count = 0, offset = 0, size = 0;
  aclrtFunctionGetParamCount(f, &count);
  printf("parameters: ");
  for (size_t i = 0; i < count; ++i) {
    aclrtFunctionGetParamInfo(f, i, &offset, &size);
    printf("%zu+%zu ", offset, size);
  }
  printf("\n");
  say("no such parameter", aclrtFunctionGetParamInfo(f, count, &offset, nullptr));
  char name[16];
  say("name", aclrtGetFunctionName(f, sizeof name, name));
  printf("%s\n", name);
  say("short name", aclrtGetFunctionName(f, 9, name));

  Packed packed = {out, -3, 70000, 60000, {7, 8, {9, 10, 11}}, 12};
  say("packed",
      aclrtLaunchKernelWithHostArgs(f, 2, stream, nullptr, &packed, sizeof packed, nullptr, 0));
  values("packed");
  uint64_t slots[8] = {};
  memcpy(&slots[0], &out, 8);
  memcpy(&slots[1], &packed.a, 1);
  memcpy(&slots[2], &packed.b, 4);
  memcpy(&slots[3], &packed.c, 2);
  // The struct has 32 bytes, and fills four slots.
  uint64_t all[9] = {slots[0], slots[1], slots[2], slots[3]};
  memcpy(&all[4], &packed.tiling, sizeof packed.tiling);
  memcpy(&all[8], &packed.d, 4);
  say("slots", aclrtLaunchKernelWithHostArgs(f, 1, stream, nullptr, all, sizeof all, nullptr, 0));
  values("slots");
  void* device = nullptr;
  aclrtMalloc(&device, sizeof packed, ACL_MEM_MALLOC_HUGE_FIRST);
  packed.b = 71000;
  // Read when the kernel runs, and not before.
  aclrtMemcpyAsync(device, sizeof packed, &packed, sizeof packed, ACL_MEMCPY_HOST_TO_DEVICE,
                   stream);
  say("device", aclrtLaunchKernel(f, 1, device, sizeof packed, stream));
  values("device");
  say("device, V2", aclrtLaunchKernelV2(f, 1, device, sizeof packed, nullptr, stream));
  values("device, V2");
  void* pointers[] = {&packed.out, &packed.a, &packed.b, &packed.c, &packed.tiling, &packed.d};
  say("array", aclrtLaunchKernelWithArgsArray(f, 1, stream, nullptr, pointers));
  values("array");
  say("host memory", aclrtLaunchKernel(f, 1, &packed, sizeof packed, stream));
  say("size", aclrtLaunchKernel(f, 1, device, 24, stream));
  say("blocks", aclrtLaunchKernel(f, 0, device, sizeof packed, stream));
  say("default stream", aclrtLaunchKernel(f, 1, device, sizeof packed, nullptr));
  say("its end", aclrtSynchronizeStream(nullptr));
  values("default stream");
  say("no stream", aclrtLaunchKernel(f, 1, device, sizeof packed, f));
  say("no function", aclrtLaunchKernel(stream, 1, device, sizeof packed, stream));
  aclrtLaunchKernelAttr attribute = {ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET, {}};
  attribute.value.blockDimOffset = 4;
  aclrtLaunchKernelCfg cfg = {&attribute, 1};
  say("offset", aclrtLaunchKernelV2(f, 1, device, sizeof packed, &cfg, stream));
  attribute.id = ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE;
  say("memory", aclrtLaunchKernelV2(f, 1, device, sizeof packed, &cfg, stream));
  attribute.id = static_cast<aclrtLaunchKernelAttrId>(99);
  say("attribute", aclrtLaunchKernelV2(f, 1, device, sizeof packed, &cfg, stream));
}

static void lists(aclrtFuncHandle f, aclrtFuncHandle other) {
  aclrtArgsHandle list;
  aclrtParamHandle parameters[2], extra;
  say("init", aclrtKernelArgsInit(f, &list));
  int32_t value = 41;
  say("out", aclrtKernelArgsAppend(list, &out, sizeof out, &parameters[0]));
  say("bytes", aclrtKernelArgsAppend(list, &value, 8, &parameters[1]));
  say("too few", aclrtKernelArgsFinalize(list));
  say("value", aclrtKernelArgsAppend(list, &value, sizeof value, &parameters[1]));
  say("too many", aclrtKernelArgsAppend(list, &value, sizeof value, &extra));
  say("not final", aclrtLaunchKernelWithConfig(f, 1, stream, nullptr, list, nullptr));
  say("final", aclrtKernelArgsFinalize(list));
  say("of another", aclrtLaunchKernelWithConfig(other, 1, stream, nullptr, list, nullptr));
  say("reserve", aclrtLaunchKernelWithConfig(f, 1, stream, nullptr, list, &value));
  say("launch", aclrtLaunchKernelWithConfig(f, 1, stream, nullptr, list, nullptr));
  value = 77;
  say("update", aclrtKernelArgsParaUpdate(list, parameters[1], &value, sizeof value));
  say("again", aclrtLaunchKernelWithConfig(f, 1, stream, nullptr, list, nullptr));
  values("first values"); // the launch has its own copy
  aclrtKernelArgsFinalize(list);
  aclrtLaunchKernelWithConfig(f, 1, stream, nullptr, list, nullptr);
  values("second values");
  say("update's size", aclrtKernelArgsParaUpdate(list, parameters[1], &value, 2));
  say("no parameter", aclrtKernelArgsParaUpdate(list, &value, &value, 4));
  void* buffer;
  say("no holder", aclrtKernelArgsGetPlaceHolderBuffer(list, parameters[1], 8, &buffer));

  size_t handleBytes = 0, bytes = 0;
  aclrtKernelArgsGetHandleMemSize(f, &handleBytes);
  aclrtKernelArgsGetMemSize(f, 8 + 4, &bytes);
  printf("%zu %d\n", bytes, handleBytes > 0);
  alignas(8) char memory[16];
  std::string handle(handleBytes, '\0');
  say("own memory", aclrtKernelArgsInitByUserMem(f, handle.data(), memory, 12));
  aclrtKernelArgsAppend(handle.data(), &out, sizeof out, &parameters[0]);
  say("full", aclrtKernelArgsAppend(handle.data(), &value, sizeof value, &parameters[1]));
  aclrtKernelArgsInitByUserMem(f, handle.data(), memory, bytes);
  aclrtKernelArgsAppend(handle.data(), &out, sizeof out, &parameters[0]);
  aclrtKernelArgsAppend(handle.data(), &value, sizeof value, &parameters[1]);
  aclrtKernelArgsFinalize(handle.data());
  say("own", aclrtLaunchKernelWithConfig(f, 1, stream, nullptr, handle.data(), nullptr));
  values("own values");
}

static void
holders(aclrtFuncHandle f) { // the kernel's result goes to a place that ends with the launch
  aclrtArgsHandle list;
  aclrtParamHandle holder, parameter;
  aclrtKernelArgsInit(f, &list);
  aclrtKernelArgsAppendPlaceHolder(list, &holder);
  int32_t value = 1;
  aclrtKernelArgsAppend(list, &value, sizeof value, &parameter);
  say("no buffer", aclrtKernelArgsFinalize(list));
  void* buffer;
  say("buffer", aclrtKernelArgsGetPlaceHolderBuffer(list, holder, 8, &buffer));
  say("second buffer", aclrtKernelArgsGetPlaceHolderBuffer(list, holder, 8, &buffer));
  say("update", aclrtKernelArgsParaUpdate(list, holder, &value, 4));
  aclrtKernelArgsFinalize(list);
  aclrtLaunchKernelWithConfig(f, 1, stream, nullptr, list, nullptr);
  values("place holder");
  struct {
    void* out;
    int32_t value;
    int64_t data;
  } block = {nullptr, 3, 0};
  aclrtPlaceHolderInfo info = {0, 16};
  say("holder",
      aclrtLaunchKernelWithHostArgs(f, 1, stream, nullptr, &block, sizeof block, &info, 1));
  values("holder");
  info.dataOffset = 24;
  say("outside",
      aclrtLaunchKernelWithHostArgs(f, 1, stream, nullptr, &block, sizeof block, &info, 1));
}

static void nulls(aclrtBinHandle binary, aclrtFuncHandle f, const char* path) {
  aclrtArgsHandle list = nullptr;
  aclrtParamHandle parameter = nullptr;
  size_t size = 0;
  int value = 0;
  void* none = nullptr;
  char text[1];
  aclrtKernelArgsInit(f, &list);
  aclrtBinaryLoadOptions options = {nullptr, 1};
  aclrtBinaryLoadOption option = {static_cast<aclrtBinaryLoadOptionType>(9), {}};
  aclrtLaunchKernelCfg cfg = {nullptr, 1};
  say("", aclrtBinaryLoadFromFile(nullptr, nullptr, &binary));
  say("", aclrtBinaryLoadFromFile(path, nullptr, nullptr));
  say("", aclrtBinaryLoadFromFile(path, &options, &binary));
  options.options = &option;
  say("", aclrtBinaryLoadFromFile(path, &options, &binary));
  say("", aclrtBinaryLoadFromData(nullptr, 1, nullptr, &binary));
  say("", aclrtBinaryLoadFromData(path, 0, nullptr, &binary));
  say("", aclrtBinaryLoadFromData(path, 1, nullptr, nullptr));
  say("", aclrtCreateBinary(nullptr, 1) ? 0 : 1);
  say("", aclrtCreateBinary(path, 0) ? 0 : 1);
  say("", aclrtBinaryLoad(nullptr, nullptr));
  say("", aclrtBinaryLoad(nullptr, &binary));
  say("", aclrtBinaryGetFunction(binary, nullptr, &f));
  say("", aclrtBinaryGetFunction(binary, "wild", nullptr));
  say("", aclrtBinaryGetFunction(nullptr, "wild", &f));
  say("", aclrtBinaryGetFunctionByEntry(binary, 0, nullptr));
  say("", aclrtFunctionGetBinary(f, nullptr));
  say("", aclrtGetFunctionName(f, 1, nullptr));
  say("", aclrtGetFunctionName(nullptr, 1, text));
  say("", aclrtFunctionGetParamCount(f, nullptr));
  say("", aclrtFunctionGetParamInfo(f, 0, nullptr, nullptr));
  say("", aclrtKernelArgsInit(f, nullptr));
  say("", aclrtKernelArgsInitByUserMem(f, nullptr, text, 1));
  say("", aclrtKernelArgsInitByUserMem(f, text, nullptr, 1));
  say("", aclrtKernelArgsGetMemSize(f, 1, nullptr));
  say("", aclrtKernelArgsGetHandleMemSize(f, nullptr));
  say("", aclrtKernelArgsGetHandleMemSize(list, &size));
  say("", aclrtKernelArgsAppend(list, nullptr, 1, &parameter));
  say("", aclrtKernelArgsAppend(list, &value, 1, nullptr));
  say("", aclrtKernelArgsAppend(f, &value, 1, &parameter));
  say("", aclrtKernelArgsAppendPlaceHolder(list, nullptr));
  say("", aclrtKernelArgsGetPlaceHolderBuffer(list, parameter, 0, &none));
  say("", aclrtKernelArgsGetPlaceHolderBuffer(list, parameter, 1, nullptr));
  say("", aclrtKernelArgsParaUpdate(list, parameter, nullptr, 1));
  say("", aclrtLaunchKernel(f, 1, nullptr, 64, stream));
  say("", aclrtLaunchKernelV2(f, 1, nullptr, 64, &cfg, stream));
  say("", aclrtLaunchKernelWithConfig(f, 1, stream, nullptr, nullptr, nullptr));
  say("", aclrtLaunchKernelWithHostArgs(f, 1, stream, nullptr, nullptr, 64, nullptr, 0));
  say("", aclrtLaunchKernelWithHostArgs(f, 1, stream, nullptr, &value, 64, nullptr, 1));
  say("", aclrtLaunchKernelWithArgsArray(f, 1, stream, nullptr, nullptr));
  say("", aclrtLaunchKernelWithArgsArray(f, 1, stream, nullptr, &none));
}

int main(int, char** argv) {
  aclInit(nullptr);
  aclrtBinHandle binary = nullptr, second = nullptr;
  say("before a device", aclrtBinaryLoadFromFile(argv[1], nullptr, &binary));
  aclrtFuncHandle f = function(binary, "arguments");
  say("no context", aclrtLaunchKernelWithArgsArray(f, 1, nullptr, nullptr, nullptr));
  aclrtSetDevice(0);
  aclrtCreateStream(&stream);
  aclrtMalloc(reinterpret_cast<void**>(&out), 128, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemset(out, 128, 0, 128);
  layouts(f);
  function(binary, "argument");
  function(binary, "ns::same");
  aclrtFuncHandle whole = function(binary, "ns::same(unsigned char*, int)");
  aclrtFuncHandle real = function(binary, "ns::same(unsigned char*, float)");
  lists(whole, real);
  holders(whole);
  float three = 3;
  void* pointers[] = {&out, &three};
  aclrtLaunchKernelWithArgsArray(real, 1, stream, nullptr, pointers);
  values("overload");
  aclrtLaunchKernelWithArgsArray(function(binary, "typed<double>"), 1, stream, nullptr, pointers);
  values("template");
  aclrtLaunchKernelAttr engine = {ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE, {}};
  engine.value.engineType = ACL_RT_ENGINE_TYPE_AIV;
  aclrtLaunchKernelCfg cfg = {&engine, 1};
  say("engine", aclrtLaunchKernelWithArgsArray(whole, 1, stream, &cfg, pointers));
  nulls(binary, function(binary, "arguments"), argv[1]);
  say("entry", aclrtBinaryGetFunctionByEntry(binary, 1, &f));

  std::ifstream in(argv[1], std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  aclrtBinaryLoadOption option = {ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD, {1}};
  aclrtBinaryLoadOptions options = {&option, 1};
  say("data", aclrtBinaryLoadFromData(bytes.data(), bytes.size(), &options, &second));
  option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
  say("mode", aclrtBinaryLoadFromData(bytes.data(), bytes.size(), &options, &second));
  aclrtBinary object = aclrtCreateBinary(bytes.data(), bytes.size());
  aclrtBinHandle third = nullptr;
  say("object", aclrtBinaryLoad(object, &third));
  say("end of it", aclrtDestroyBinary(object));
  say("once more", aclrtDestroyBinary(object));
  say("unload third", aclrtBinaryUnLoad(third));
  aclrtFuncHandle wild = function(second, "wild");
  aclrtBinHandle of = nullptr;
  aclrtFunctionGetBinary(wild, &of);
  aclrtLaunchKernelWithArgsArray(wild, 1, stream, nullptr, pointers);
  say("in use", aclrtBinaryUnLoad(of));
  values("wild");
  say("unload", aclrtBinaryUnLoad(of));
  say("function gone", aclrtLaunchKernelWithArgsArray(wild, 1, stream, nullptr, pointers));
  say("twice", aclrtBinaryUnLoad(of));
  say("unload first", aclrtBinaryUnLoad(binary));
  say("text", aclrtBinaryLoadFromData("text", 4, nullptr, &binary));
  say("none", aclrtBinaryLoadFromFile("/nothing", nullptr, &binary));
  say("itself", aclrtBinaryLoadFromFile(argv[2], nullptr, &binary));
  return aclFinalize() + arguments - 5;
}
