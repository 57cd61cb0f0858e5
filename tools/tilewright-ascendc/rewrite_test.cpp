// SPDX-License-Identifier: Apache-2.0
#include "rewrite.h"

#include <gtest/gtest.h>

namespace tilewright::ascendc {
namespace {

const std::string call = "::tilewright::ascend::prepareLaunch(";

TEST(Rewrite, LaunchBecomesCall) {
  auto r = rewrite("void f() { ns::k<float, 2><<<n, nullptr, s>>>(a, b); }", "a.cpp");
  EXPECT_TRUE(r.hasLaunches);
  EXPECT_EQ(r.host,
            "#line 1 \"a.cpp\"\nvoid f() { " + call + "ns::k<float, 2>, n, nullptr, s)(a, b); }");
  EXPECT_EQ(r.device, r.host);
}

TEST(Rewrite, KernelsAreExpressions) {
  auto launched = [](const std::string& before, const std::string& kernel) {
    std::string head = "void f() { " + before, tail = "(a); }";
    EXPECT_EQ(rewrite(head + kernel + "<<<1, nullptr, s>>>" + tail, "a.cpp").host,
              "#line 1 \"a.cpp\"\n" + head + call + kernel + ", 1, nullptr, s)" + tail);
  };
  launched("", "::k");
  launched("return ", "a::b<1>::k<c<d>>");
  launched("x = ", "object.kernels[2]");
  launched("if (x) ", "this->pick(3)->kernel");
  launched("else ", "(*kernel)");
}

TEST(Rewrite, Macros) {
  auto r = rewrite("#define LAUNCH(k, n, ...) \\\n  k<<<n, nullptr, s>>>(__VA_ARGS__)\n"
                   "# define KERNEL(name) __global__ void name() { \\\n"
                   "  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY); }\n",
                   "a.cpp");
  EXPECT_NE(r.host.find("\\\n  " + call + "k, n, nullptr, s)(__VA_ARGS__)\n"), std::string::npos)
      << r.host;
  ASSERT_EQ(r.kernels.count(""), 1u);
  EXPECT_EQ(r.kernels[""], 1);
}

TEST(Rewrite, CommentsStringsAndShiftsStay) {
  std::string text = "// k<<<1>>>(a)\nauto s = \"k<<<1>>>(a)\"; /* <<< */ int x = 1 << 3;\n"
                     "auto r = R\"x(k<<<)x\"; #define \n";
  auto r = rewrite(text, "a.cpp");
  EXPECT_FALSE(r.hasLaunches);
  EXPECT_EQ(r.host, "#line 1 \"a.cpp\"\n" + text);
}

TEST(Rewrite, HostHasNoBodiesAndKeepsLines) {
  auto r = rewrite("extern \"C\" __global__ __aicore__ void k(GM_ADDR a)\n{\n  int b;\n}\nint c;",
                   "a.cpp");
  EXPECT_EQ(r.host, "#line 1 \"a.cpp\"\nextern \"C\" __global__ __aicore__ void k(GM_ADDR a)\n"
                    "{\n\n}\nint c;");
  ASSERT_EQ(r.kernels.count("k"), 1u);
  EXPECT_EQ(r.kernels["k"], -1);
}

TEST(Rewrite, KindOfAKernel) {
  auto kind = [](const std::string& head, const std::string& body) {
    return rewrite(head + " void k(GM_ADDR a) {" + body + "}", "a.cpp").kernels["k"];
  };
  EXPECT_EQ(kind("__global__ __aicore__", "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);"), 1);
  EXPECT_EQ(kind("__global__ __aicore__", "KERNEL_TASK_TYPE(2, KERNEL_TYPE_MIX_AIC_1_1);"), 4);
  EXPECT_EQ(kind("__global__ __cube__", ""), 1);
  EXPECT_EQ(kind("__global__ __vector__", ""), 0);
  EXPECT_EQ(kind("__global__ __mix__(1, 2)", ""), 5);
  EXPECT_EQ(kind("__global__ __mix__(1, 1)", ""), 4);
}

TEST(Rewrite, StaticKernelsBecomeVisible) {
  auto r = rewrite("static __global__ __aicore__ void k() {}", "a.cpp");
  EXPECT_EQ(r.host.find("static"), std::string::npos);
}

TEST(Rewrite, Errors) {
  EXPECT_EQ(rewrite("int a;\nint b = <<<1>>>(2);", "a.cpp").errors,
            std::vector<std::string>{"a.cpp:2: error: '<<<' needs a kernel before it, and "
                                     "'>>>(arguments)' behind it"});
  EXPECT_EQ(rewrite("__global__ int a;", "a.cpp").errors,
            std::vector<std::string>{
                "a.cpp:1: error: __global__ stands before something that is no function"});
  EXPECT_EQ(rewrite("__global__ void k() { KERNEL_TASK_TYPE_DEFAULT(KERNEL_X); }", "a.cpp").errors,
            std::vector<std::string>{"a.cpp:1: error: unknown kernel type 'KERNEL_X'"});
}

} // namespace
} // namespace tilewright::ascendc
