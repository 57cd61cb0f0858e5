// SPDX-License-Identifier: Apache-2.0
#include "command.h"
#include "device_attributes.h"
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
}

TEST(Rewrite, NamesMayBeBeyondAscii) {
  auto r = rewrite("void f() { z\u00E4hlen<<<1, nullptr, s>>>(a); }", "a.cpp");
  EXPECT_EQ(r.host, "#line 1 \"a.cpp\"\nvoid f() { " + call + "z\u00E4hlen, 1, nullptr, s)(a); }");
}

TEST(Rewrite, LaunchMayStandDirectlyBehindALabel) {
  auto r = rewrite("void f() { switch (1) { case 1:k<<<1, nullptr, s>>>(a); } }", "a.cpp");
  EXPECT_EQ(r.host, "#line 1 \"a.cpp\"\nvoid f() { switch (1) { case 1: " + call +
                        "k, 1, nullptr, s)(a); } }");
}

TEST(Rewrite, TheDeviceHasNoBodiesOfTheHost) {
  auto device = [](const std::string& text) {
    return rewrite(text, "a.cpp").kernelsOnly.substr(std::string("#line 1 \"a.cpp\"\n").size());
  };
  EXPECT_EQ(device("int a;\nint main() {\n  return 0;\n}\nint b;"),
            "int a;\nint main() { __builtin_trap(); \n\n}\nint b;");
  EXPECT_EQ(device("namespace n { extern \"C\" { int* f(int a) {\nk<<<1>>>(a); } int c; } }"),
            "namespace n { extern \"C\" { int* f(int a) { __builtin_trap(); \n} int c; } }");
  EXPECT_EQ(device("TEST_F(A, B) { k<<<1>>>(a); }"), "TEST_F(A, B) { __builtin_trap(); }");
  // These stay: nothing tells that they are the host's, or a change would be seen.
  for (const std::string text :
       {"int maine() { return 1; }", "struct S { int main() { return 1; } };",
        "auto x = [] { return 1; };", "int f() { int main(1); }",
        "int main() {\n#if A\n  f();\n#endif\n}",
        "#if A\nint main() {\n#else\nint main(int) {\n#endif\n}"})
    EXPECT_EQ(device(text), text);
  std::string launches = call + "k, 1)(a)";
  EXPECT_EQ(device("auto f() { k<<<1>>>(a); }"), "auto f() { " + launches + "; }");
  EXPECT_EQ(device("template <int n> void f() { k<<<1>>>(a); }"),
            "template <int n> void f() { " + launches + "; }");
}

TEST(Rewrite, TheDeviceHasNoBodiesThatNothingNames) {
  std::string source = "int a(int x) { return x; }\nint b() { return a(1); }\n"
                       "int c() { return 2; }\nint d() { return c(); }\nint e() { return 3; }\n"
                       "#define F e()\nint g() { return 4; }\nint h() { return 5; }\n"
                       "__global__ void k() { int x = d(); }\n"
                       "__aicore__ int l() { return 6; }\n";
  Names elsewhere;
  addNames("// h\nint x = g();", elsewhere);
  std::string kept = rewrite(source, "a.cpp", &elsewhere).kernelsOnly,
              emptied = "{ __builtin_trap(); }";
  for (const char* body : {"int a(int x) ", "int b() ", "int h() "})
    EXPECT_NE(kept.find(body + emptied), std::string::npos) << body << kept;
  for (const char* function :
       {"int c() { return 2; }", "int d() { return c(); }", "int e() { return 3; }",
        "int g() { return 4; }", "__aicore__ int l() { return 6; }"})
    EXPECT_NE(kept.find(function), std::string::npos) << function << kept;
  EXPECT_EQ(rewrite(source, "a.cpp").kernelsOnly, "#line 1 \"a.cpp\"\n" + source);
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
  launched("if (a < b) ", "k<M - P < 3>");
  launched("if (a < b) x = ", "k<2>");
  launched("for (int i = 0; i < n; ++i, ", "k<2>");
  launched("int c = a < b; ++c, ", "k<2>");
  launched("if (x) { a = b < c; } ", "k<2>");
}

TEST(Rewrite, DeclaredKernelsAreNoTemplateArguments) {
  const std::string declared = "template <int N> __global__ void k(GM_ADDR x);\n"
                               "namespace ns { template <int N> __global__ void l(GM_ADDR x); }\n";
  for (const std::string kernel : {"k<2>", "k<M, N < 3>", "k<M - N < 3>", "ns::l<2>"})
    for (const std::string before : {"c = a < b, ", "for (; a < b; ++a, ", "c = f<int>(a) < b, "}) {
      const std::string head = declared + "void f() { " + before, tail = "(a); }";
      EXPECT_EQ(rewrite(head + kernel + "<<<1, nullptr, s>>>" + tail, "a.cpp").host,
                "#line 1 \"a.cpp\"\n" + head + call + kernel + ", 1, nullptr, s)" + tail);
    }
}

TEST(Rewrite, TemplateArgumentsAreExpressions) {
  for (const std::string kernel : {"k<(5>3?4:2)>",
                                   "k<(1<3)>",
                                   "k<(7>>1)>",
                                   "ns::k<(BLOCK>64), 2>",
                                   "k<1<<2>",
                                   "k<1<2>",
                                   "k<N<<2>",
                                   "k<N<2>",
                                   "k<M - P < 3>",
                                   "k<M-P<3>",
                                   "k<2 * N + 1 < 3>",
                                   "k<a[0] < 3>",
                                   "k<f(x) < 3>",
                                   "k<!N < 3>",
                                   "k<sizeof(T) < 3>",
                                   "k<T::n < 3>",
                                   "k<T, M - P < 3>",
                                   "k<T, N < 3>",
                                   "k<(a > b), M - A<int>::n < 3>",
                                   "k<M - P * f(a < b, 1)>",
                                   "k<A<int>::n < 3>",
                                   "ns::k<M - P < 3>",
                                   "o.template k<M - P < 3>",
                                   "k<3<=N>",
                                   "k<N>=2>",
                                   "k<f(1<2, 3>2)>",
                                   "k<a[1>0]>",
                                   "k<S{2>1}.n>",
                                   "k<a->n>",
                                   "k<'>'>",
                                   "k<'<'>",
                                   "k<'a'<'b'>",
                                   "k<(1<2)+(3>2)>",
                                   "k<A<B<int>>>",
                                   "k<A<(1<2)>, 1<<3>",
                                   "T::template k<(1>0)>",
                                   "o.template k<2>",
                                   "k<true<false>"}) {
    auto r = rewrite("void f() { " + kernel + "<<<1, g(a >> 1), s>>>(x); }", "a.cpp");
    EXPECT_TRUE(r.errors.empty()) << kernel;
    EXPECT_EQ(r.host,
              "#line 1 \"a.cpp\"\nvoid f() { " + call + kernel + ", 1, g(a >> 1), s)(x); }");
  }
  for (const std::string arguments : {"(5>3)", "1<<2", "A<B<int>>"}) {
    auto r = rewrite("template __global__ void k<" + arguments +
                         ">(GM_ADDR a);\n"
                         "template <> __global__ __cube__ void k<" +
                         arguments + ">(GM_ADDR) {}",
                     "a.cpp");
    EXPECT_TRUE(r.errors.empty()) << arguments;
    EXPECT_EQ(r.kernels, (KernelKinds{{"k", 1u << 1}})) << arguments;
  }
}

TEST(Rewrite, Macros) {
  auto r = rewrite("#define LAUNCH(k, n, ...) \\\n  k<<<n, nullptr, s>>>(__VA_ARGS__)\n"
                   "# define KERNEL(name) __global__ void name() { \\\n"
                   "  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY); }\n",
                   "a.cpp");
  EXPECT_NE(r.host.find("\\\n  " + call + "k, n, nullptr, s)(__VA_ARGS__)\n"), std::string::npos)
      << r.host;
  ASSERT_EQ(r.kernels.count(""), 1u);
  EXPECT_EQ(r.kernels[""], 1u << 1);
  r = rewrite("#define CASE(n) case n: ns::k_##n##_v<int><<<1, nullptr, s>>>(x)\n", "a.cpp");
  EXPECT_NE(r.host.find("case n: " + call + "ns::k_##n##_v<int>, 1, nullptr, s)(x)\n"),
            std::string::npos)
      << r.host;
}

TEST(Rewrite, HeadsInMacrosSayTheirKindInASection) {
  auto r = rewrite("#define V(n) __global__ __vector__ void n()\n#define C __cube__\n"
                   "V(a) { f(); }\n",
                   "a.cpp");
  EXPECT_TRUE(r.errors.empty());
  EXPECT_EQ(r.kernels, (KernelKinds{{"", 1u << 0}}));
  EXPECT_EQ(r.device,
            "#line 1 \"a.cpp\"\n"
            "#define V(n) __global__ __attribute__((section(\".text.tilewrightKind0\"))) void n()\n"
            "#define C __attribute__((section(\".text.tilewrightKind1\")))\nV(a) { f(); }\n");
}

TEST(Rewrite, MacrosOfSeveralKinds) {
  auto r = rewrite("#define A(name) __global__ void name() { KERNEL_TASK_TYPE_DEFAULT(KIND); }\n"
                   "#define B(name) __global__ __cube__ void name() { f(); }\n"
                   "#define C(name) __global__ void name() { f(); }\n",
                   "a.cpp");
  EXPECT_EQ(r.kernels[""], 63u | unsaidKind);
  r = rewrite("#define B(name) __global__ __cube__ void name() { f(); }\n"
              "#define M(name) __global__ __mix__(1, 2) void name() { f(); }\n",
              "a.cpp");
  EXPECT_EQ(r.kernels[""], 1u << 1 | 1u << 5);
  std::string mark = " KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_";
  EXPECT_EQ(r.device, "#line 1 \"a.cpp\"\n"
                      "#define B(name) __global__ __cube__ void name() {" +
                          mark + "AIC_ONLY); f(); }\n" +
                          "#define M(name) __global__ __mix__(1, 2) void name() {" + mark +
                          "MIX_AIC_1_2); f(); }\n");
}

TEST(Rewrite, MixedHeadsInMacros) {
  const std::pair<const char*, int> heads[] = {{"1, 2", 5}, {"1, 1", 4}, {"1, 0", 3}, {"0, 1", 2}};
  for (const auto& [numbers, kind] : heads) {
    const std::string before = "#define K(n) extern \"C\" __global__ ";
    const std::string behind = " void n(GM_ADDR x)\nK(k) { f(); }\n";
    auto r = rewrite(before + "__mix__(" + numbers + ")" + behind, "a.cpp");
    EXPECT_TRUE(r.errors.empty()) << numbers;
    EXPECT_EQ(r.kernels[""], unsaidKind);
    EXPECT_EQ(r.device, "#line 1 \"a.cpp\"\n" + before +
                            "__attribute__((section(\".text.tilewrightKind" + std::to_string(kind) +
                            "\")))" + behind);
  }
}

TEST(Rewrite, ThePreprocessorKnowsTheNumbersOfMix) {
  auto r = rewrite("#define K(n, C, V) __global__ __mix__(C, V) void n()\nK(k, 1, 2) { f(); }\n",
                   "a.cpp");
  EXPECT_TRUE(r.errors.empty());
  EXPECT_EQ(r.kernels[""], unsaidKind);
  EXPECT_EQ(r.device, "#line 1 \"a.cpp\"\n#define K(n, C, V) __global__ TW_MIX_SECTION(C, V) void "
                      "n()\nK(k, 1, 2) { f(); }\n");
  const std::string mark = " KERNEL_TASK_TYPE_DEFAULT(TW_KIND_OF_MIX(C, V));",
                    before = "#define K(n, C, V) __global__ __mix__(C, V) void n() {",
                    behind = " f(); }\n";
  r = rewrite(before + behind, "a.cpp");
  EXPECT_EQ(r.kernels[""], 63u);
  EXPECT_EQ(r.device, "#line 1 \"a.cpp\"\n" + before + mark + behind);
  r = rewrite("__global__ __mix__(C, V) void n() { }", "a.cpp");
  EXPECT_EQ(r.kernels["n"], 63u);
  EXPECT_EQ(r.device, "#line 1 \"a.cpp\"\n__global__ __mix__(C, V) void n() {" + mark + " }");
}

TEST(Rewrite, KernelsOfOtherTextsAreNoTemplateArguments) {
  Names declared;
  rewrite("template <int N> __global__ void k(GM_ADDR x);", "a.h", nullptr, &declared);
  const std::string head = "void f() { c = a < b, ", tail = "(a); }";
  EXPECT_EQ(rewrite(head + "k<2><<<1, nullptr, s>>>" + tail, "a.cpp", nullptr, &declared).host,
            "#line 1 \"a.cpp\"\n" + head + call + "k<2>, 1, nullptr, s)" + tail);
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
                    "{::tilewright::ascend::callKernelAsFunction(\"k\");\n\n} extern \"C\" "
                    "__attribute__((weak)) uint32_t aclrtlaunch_k(uint32_t tilewrightBlocks, void* "
                    "tilewrightStream, GM_ADDR a) { return "
                    "::tilewright::ascend::legacyLaunch(k)(tilewrightBlocks, tilewrightStream, a); "
                    "}\nint c;");
  ASSERT_EQ(r.kernels.count("k"), 1u);
  EXPECT_EQ(r.kernels["k"], unsaidKind);
}

TEST(Rewrite, InstancesAndSpecializations) {
  auto r = rewrite("template __global__ __aicore__ void k<int>(GM_ADDR a);\n"
                   "template <> __global__ __cube__ void k<T<char>>(GM_ADDR a) { f(); }",
                   "a.cpp");
  EXPECT_TRUE(r.errors.empty());
  EXPECT_TRUE(r.hasTemplates);
  EXPECT_EQ(r.kernels, (KernelKinds{{"k", 1u << 1}}));
}

TEST(Rewrite, LaunchersOfKernelsInC) {
  auto hasLauncher = [](const std::string& source) {
    return rewrite(source, "a.cpp").host.find("aclrtlaunch_k(") != std::string::npos;
  };
  EXPECT_TRUE(hasLauncher("extern \"C\" { int a() {} __global__ __aicore__ void k() {} }"));
  EXPECT_TRUE(hasLauncher("extern \"C\" __global__ void k(T<int, 2> a, const int b) {}"));
  EXPECT_TRUE(hasLauncher("extern \"C\" __global__ void k(T<int, (2>1)> a, T<1<<2> b) {}"));
  EXPECT_FALSE(hasLauncher("extern \"C\" __global__ void k(GM_ADDR, int b) {}"));
  EXPECT_FALSE(hasLauncher("extern \"C\" { } __global__ void k(GM_ADDR a) {}"));
  EXPECT_FALSE(hasLauncher("namespace a { __global__ void k(GM_ADDR a) {} }"));
}

TEST(Rewrite, KindOfAKernel) {
  auto kind = [](const std::string& head, const std::string& body) {
    return rewrite(head + " void k(GM_ADDR a) {" + body + "}", "a.cpp").kernels["k"];
  };
  EXPECT_EQ(kind("__global__ __aicore__", "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);"), 2u);
  EXPECT_EQ(kind("__global__ __aicore__", "KERNEL_TASK_TYPE(2, KERNEL_TYPE_MIX_AIC_1_1);"), 16u);
  EXPECT_EQ(kind("__global__ __aicore__", "KERNEL_TASK_TYPE(1, KERNEL_TYPE_AIV_ONLY);"
                                          "KERNEL_TASK_TYPE(f(2), KERNEL_TYPE_AIC_ONLY);"),
            3u);
  EXPECT_EQ(kind("__global__", "KERNEL_TASK_TYPE_DEFAULT(OF_A_MACRO);"), 63u);
  EXPECT_EQ(kind("__global__ __cube__", ""), 2u);
  EXPECT_EQ(kind("__global__ __vector__", ""), 1u);
  EXPECT_EQ(kind("__global__ __mix__(1, 2)", ""), 32u);
  EXPECT_EQ(kind("__global__ __mix__(1, 1)", ""), 16u);
  EXPECT_EQ(kind("__global__ __mix__(1, 0)", ""), 8u);
  EXPECT_EQ(kind("__global__ __mix__(0, 1)", ""), 4u);
}

TEST(Rewrite, StaticKernelsBecomeVisible) {
  auto r = rewrite("static __global__ __aicore__ void k() {}", "a.cpp");
  EXPECT_EQ(r.host.find("static"), std::string::npos);
  r = rewrite("struct S : T<int> { int a; static __global__ __aicore__ void k() {} };", "a.cpp");
  EXPECT_NE(r.host.find("static"), std::string::npos);
  r = rewrite("struct S {}; namespace a { static __global__ __aicore__ void k() {} }", "a.cpp");
  EXPECT_EQ(r.host.find("static"), std::string::npos);
}

TEST(Rewrite, Errors) {
  EXPECT_EQ(rewrite("int a;\nint b = <<<1>>>(2);", "a.cpp").errors,
            std::vector<std::string>{"a.cpp:2: error: '<<<' needs a kernel before it, and "
                                     "'>>>(arguments)' behind it"});
  EXPECT_EQ(rewrite("__global__ int a;", "a.cpp").errors,
            std::vector<std::string>{
                "a.cpp:1: error: __global__ stands before something that is no function"});
}

TEST(Messages, EachErrorOnce) {
  const std::string inBoth = "In file included from a.cpp:1:\na.h:3:5: error: no 'x'\n    3 |  x\n"
                             "a.h:2:1: note: 'y' is here\n",
                    inHost = "a.cpp:7:1: warning: 'z' is old\n",
                    inCore = "a.cpp: In function 'int f()':\na.cpp:9:1: error: no 'w'\n";
  EXPECT_EQ(withoutRepetition({inHost + inBoth + "1 warning and 1 error generated.\n",
                               inBoth + inCore + "2 errors generated.\n", inBoth}),
            inHost + inBoth + inCore);
  EXPECT_EQ(withoutRepetition({"\033[1ma.cpp:1:1: \033[0m\033[0;1;31merror: \033[0m'v'\033[0m\n1 "
                               "error generated.\n",
                               "not a compiler\n"}),
            "\033[1ma.cpp:1:1: \033[0m\033[0;1;31merror: \033[0m'v'\033[0m\nnot a compiler\n");
}

TEST(DeviceAttributes, StandInDeclarationsAndMacros) {
  auto blanked = [](const std::string& text, const std::string& attribute) {
    std::string want = text;
    size_t at = text.find(attribute);
    for (char& c : want)
      if (at != std::string::npos && &c >= &want[at] && &c < &want[at] + attribute.size() &&
          c != '\n')
        c = ' ';
    EXPECT_EQ(withoutDeviceAttributes(text), want);
  };
  for (const std::string attribute :
       {"[aicore]", "[host, aicore]", "[host,aicore]", "[ aicore , host ]", "[host,\naicore]"})
    for (const std::string before : {"inline ", "__forceinline__", "extern \"C\" __global__ ",
                                     "template <class T> ", "struct S { int a; ", ""})
      for (const std::string behind : {" void f();", "constexpr S(int x);", " ~S();", " ::T f();"})
        blanked(before + attribute + behind, attribute);
  for (const std::string head :
       {"#define D ", "#define D __forceinline__", "#define D inline ", "# define D(x) ",
        "#define D(x) x ", "#define D __attribute__((aiv)) __global__ ",
        "#define D __attribute__((aiv))", "#define D OUR_INLINE ", "#define D [[nodiscard]] "})
    blanked(head + "[aicore]\nint x;", "[aicore]");
  blanked("#define inl inline\n#define D inl [aicore]\n", "[aicore]");
  blanked("#define D inl [host, aicore]\n", "[host, aicore]");
  blanked("#define D \\\n  __forceinline__ \\\n  [host, aicore] \\\n  auto\n", "[host, aicore]");
  blanked("DECLARE([aicore], f)", "[aicore]");
  blanked("DECLARE(f, [aicore])", "[aicore]");
}

TEST(DeviceAttributes, AreNoSubscriptsCapturesOrBindings) {
  for (const std::string text : {"int x = table[host];",
                                 "int x = table[host] + a[aicore];",
                                 "table[aicore] = 3;",
                                 "f(table[host], 1); g(1, table[aicore]);",
                                 "int table[aicore];",
                                 "int t[host] = {};",
                                 "auto f = [aicore] { return 1; };",
                                 "auto f = [host, aicore](int x) { return x; };",
                                 "auto f = [host] mutable { };",
                                 "sort(a, b, [host](int x, int y) { return x < y; });",
                                 "auto [host, aicore] = pair;",
                                 "for (auto [host, aicore] : pairs) {}",
                                 "delete[] host; x = a[host] and b;",
                                 "[[aicore]] int f();",
                                 "[other] int f();",
                                 "int x = a[host][aicore];",
                                 "#define CURRENT table[host]\n",
                                 "#define AT(t) t[aicore]\n",
                                 "#define CURRENT table [host]\n",
                                 "#define CURRENT table [ aicore ]\n",
                                 "// inline [aicore] void f();\n",
                                 "const char* s = \"inline [aicore] void\";",
                                 "new int[host];",
                                 "a[host]->b(); a[host].c; a[host] ? 1 : 2;"})
    EXPECT_EQ(withoutDeviceAttributes(text), text);
}

} // namespace
} // namespace tilewright::ascendc
