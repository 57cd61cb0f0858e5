// SPDX-License-Identifier: Apache-2.0
#include "runtime/arguments.h"
#include "runtime/manifest.h"

#include <gtest/gtest.h>

#include <array>

namespace tilewright::runtime {
namespace {

const std::string whole = R"({"format": 1, "name": "k", "target": "cpu", "cpu": "x86-64",
  "params": [{"kind": "tensor", "name": "A", "dtype": "float16", "align": 64, "used": false, "overlaps": true, "apart": [1], "needed_if": [[[1, ">=", 3]]],
              "shape": [4, {"const": 1, "terms": [[2, 0], [-1, 1]]}, {"product": [0, 1]}],
              "strides": [1, 2, 3]},
             {"kind": "scalar", "name": "s", "dtype": "int32"}],
  "symbols": ["m", "n"], "scratch_bytes": 128, "workspace_bytes": 0, "out_idx": [-2],
  "launches": [{"cooperative": false}, {"cooperative": true}],
  "asserts": [{"message": "x < 0", "file": "k.py", "line": 3, "column": 5}]})";

TEST(Manifest, ReadsAllFields) {
  std::string error;
  auto manifest = Manifest::parse(whole, error);
  ASSERT_TRUE(manifest) << error;
  EXPECT_EQ(manifest->name, "k");
  EXPECT_EQ(manifest->scratchBytes, 128);
  EXPECT_EQ(manifest->outIdx, std::vector<int32_t>{0});
  ASSERT_EQ(manifest->launches.size(), 2u);
  EXPECT_FALSE(manifest->launches[0].isCooperative);
  EXPECT_TRUE(manifest->launches[1].isCooperative);
  EXPECT_EQ(manifest->launches[1].place, "");
  const Param& param = manifest->params[0];
  EXPECT_EQ(param.type->name, "float16");
  EXPECT_EQ(param.align, 64);
  EXPECT_FALSE(param.used);
  EXPECT_TRUE(param.mayOverlap);
  ASSERT_EQ(param.neededIf->size(), 1u);
  EXPECT_EQ(param.neededIf->front().front().comparison, ScalarTest::Comparison::AtLeast);
  EXPECT_EQ(param.apartFrom, std::vector<size_t>{1});
  EXPECT_EQ(param.shape[0].constant, 4);
  EXPECT_EQ(param.shape[1].terms, (std::vector<std::pair<int64_t, int32_t>>{{2, 0}, {-1, 1}}));
  EXPECT_TRUE(param.shape[2].isProduct);
  EXPECT_EQ(param.strides->size(), 3u);
  EXPECT_EQ(manifest->asserts[0].line, 3);
  EXPECT_FALSE(manifest->usesTiles);
}

TEST(Manifest, ReadsWhereALaunchStands) {
  std::string error;
  auto manifest = Manifest::parse(
      R"({"format": 1, "name": "k", "target": "ascend",
          "launches": [{"cooperative": false, "file": "k.py", "line": 7, "column": 2}]})",
      error);
  ASSERT_TRUE(manifest) << error;
  EXPECT_EQ(manifest->launches[0].place, "k.py:7:2");
}

std::string withLimit(const std::string& fields) {
  return R"({"format": 1, "name": "k", "target": "ascend", "symbols": ["n"],
    "params": [{"kind": "tensor", "name": "A", "dtype": "float16", "shape": [{"const": 0, "terms": [[1, 0]]}]},
               {"kind": "scalar", "name": "m", "dtype": "int8"}],
    "limits": [{)" +
         fields + "}]}";
}

const std::string soundLimit = R"("launch": 0, "slot": 1, "most": 8, "where": [[2, 3]], "tile": "a",
  "fills": true, "tile_place": "k.py:7", "copy_place": "k.py:9")";

TEST(Manifest, ReadsLimits) {
  std::string error;
  auto manifest = Manifest::parse(withLimit(soundLimit), error);
  ASSERT_TRUE(manifest) << error;
  const ArgumentLimit& limit = manifest->limits.front();
  EXPECT_EQ(limit.slot, 1U);
  EXPECT_EQ(limit.most, 8);
  EXPECT_EQ(limit.where, (std::vector<std::pair<size_t, int64_t>>{{2, 3}}));
  EXPECT_TRUE(limit.fills);
  EXPECT_EQ(limit.tilePlace + limit.copyPlace, "k.py:7k.py:9");
  const std::array<std::pair<std::string, std::string>, 3> wrong = {
      {{R"("slot": 1)", R"("slot": 0)"},
       {R"("slot": 1)", R"("slot": 3)"},
       {R"([[2, 3]])", R"([[0, 3]])"}}};
  for (const auto& [sound, other] : wrong) {
    std::string fields = soundLimit;
    fields.replace(fields.find(sound), sound.size(), other);
    EXPECT_FALSE(Manifest::parse(withLimit(fields), error)) << other;
    EXPECT_EQ(error, "manifest: 'limits' names a slot that holds no number");
  }
  EXPECT_FALSE(Manifest::parse(withLimit(R"("launch": 1)"), error));
  EXPECT_EQ(error, "manifest: 'launch' must be an integer from 0 to 0");
  EXPECT_FALSE(
      Manifest::parse(R"({"format": 1, "name": "k", "target": "ascend", "limits": [8]})", error));
  EXPECT_EQ(error, "manifest: 'limits' must hold objects");
}

/// A limit holds in its launch, where others are large enough, and a scalar has a sign.
TEST(ArgumentChecker, KeepsLimits) {
  std::string error;
  const auto manifest = Manifest::parse(withLimit(soundLimit), error);
  ASSERT_TRUE(manifest) << error;
  const auto checker = ArgumentChecker::make(*manifest, error);
  ASSERT_TRUE(checker) << error;
  const auto isKept = [&](int64_t m, int64_t n, size_t launch = 0) {
    const std::array<uint64_t, 3> slots = {0, uint64_t(m), uint64_t(n)};
    return checker->checkLimits(launch, slots, error);
  };
  EXPECT_TRUE(isKept(8, 3));
  EXPECT_TRUE(isKept(9, 2));
  EXPECT_TRUE(isKept(-1, 3));
  EXPECT_TRUE(isKept(9, 3, 1));
  EXPECT_FALSE(isKept(9, 3));
  EXPECT_EQ(error, "k: argument 1 'm' is 9, but at most 8 fits into tile 'a' (k.py:7), to which "
                   "k.py:9 copies");
}

TEST(ArgumentChecker, SaysWhichGemmALimitIsOf) {
  std::string error;
  const auto manifest = Manifest::parse(withLimit(soundLimit + R"(, "multiplies": true)"), error);
  ASSERT_TRUE(manifest) << error;
  const auto checker = ArgumentChecker::make(*manifest, error);
  ASSERT_TRUE(checker) << error;
  const std::array<uint64_t, 3> slots = {0, 9, 3};
  EXPECT_FALSE(checker->checkLimits(0, slots, error));
  EXPECT_EQ(error, "k: argument 1 'm' is 9, but at most 8 fits into tile 'a' (k.py:7), which "
                   "k.py:9 multiplies");
}

TEST(Manifest, ReadsThatTilesAreNeeded) {
  std::string error;
  auto manifest =
      Manifest::parse(R"({"format": 1, "name": "k", "target": "cpu", "tiles": true})", error);
  ASSERT_TRUE(manifest) << error;
  EXPECT_TRUE(manifest->usesTiles);
  EXPECT_FALSE(
      Manifest::parse(R"({"format": 1, "name": "k", "target": "cpu", "tiles": 1})", error));
  EXPECT_EQ(error, "manifest: 'tiles' must be true or false");
}

TEST(Manifest, OutputsAndWorkspacesAreDifferentTensors) {
  std::optional<Manifest> manifest;
  const auto errorOf = [&](std::vector<int64_t> numbers, size_t results) {
    std::string error;
    manifest = Manifest::parse(whole, error);
    EXPECT_FALSE(manifest->setOutputs(numbers, error, results));
    return error;
  };
  EXPECT_EQ(errorOf({0, -2}, 2), "k: out_idx names parameter 0, 'A', twice");
  EXPECT_EQ(errorOf({0, -2}, 0), "k: workspace_idx names parameter 0, 'A', twice");
  EXPECT_EQ(errorOf({0, -2}, 1), "k: out_idx and workspace_idx both name parameter 0, 'A'");
  EXPECT_EQ(errorOf({0, 5}, 1), "k: workspace_idx 5 is out of range for 2 parameters");
}

/// As TileLang does; on ascend tensors alone count where a number would be a scalar's.
TEST(Manifest, OutputsCountScalars) {
  std::string error;
  std::optional<Manifest> manifest = Manifest::parse(whole, error);
  ASSERT_TRUE(manifest) << error;
  EXPECT_FALSE(manifest->setOutputs(std::array<int64_t, 1>{-1}, error));
  EXPECT_EQ(error, "k: out_idx -1 is 's', which is no tensor; scalars count, too: 'A' is -2");
  for (const char* target : {"cpu", "ascend"}) {
    manifest->target = target;
    EXPECT_FALSE(manifest->setOutputs(std::array<int64_t, 1>{1}, error));
    EXPECT_EQ(error, "k: out_idx 1 is 's', which is no tensor");
    EXPECT_TRUE(manifest->setOutputs(std::array<int64_t, 1>{-2}, error)) << error;
    EXPECT_EQ(manifest->outIdx, std::vector<int32_t>{0});
  }
  EXPECT_TRUE(manifest->setOutputs(std::array<int64_t, 1>{-1}, error)) << error;
  EXPECT_EQ(manifest->outIdx, std::vector<int32_t>{0});
}

TEST(Manifest, AnyPartOfItOrAnyByteChangedIsHandled) {
  std::string error;
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(Manifest::parse(std::string_view(whole).substr(0, length), error)) << length;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (char other : {'0', '9', '"', '[', '}', ',', '-', '\0', '\xff'}) {
      std::string changed = whole;
      changed[at] = other;
      (void)Manifest::parse(changed, error);
    }
  }
}

TEST(Manifest, DeepNestingIsHandled) {
  std::string error;
  EXPECT_FALSE(Manifest::parse(std::string(1'000'000, '['), error));
  EXPECT_FALSE(Manifest::parse("{\"format\": 1, \"x\": " + std::string(100'000, '[') +
                                   std::string(100'000, ']') + "}",
                               error));
}

std::string errorAfter(std::string_view from, std::string_view to) {
  std::string changed = whole;
  size_t at = changed.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  changed.replace(at, from.size(), to);
  std::string error;
  EXPECT_FALSE(Manifest::parse(changed, error)) << from;
  return error;
}

TEST(Manifest, ReadsExpressions) {
  std::string error, changed = whole;
  changed.replace(changed.find("{\"product\": [0, 1]}"), 19,
                  R"({"code": [{"symbol": 0}, 31, "+", 32, "//", {"symbol": 1}, "*"]})");
  auto manifest = Manifest::parse(changed, error);
  ASSERT_TRUE(manifest) << error;
  const Dim& dim = manifest->params[0].shape[2];
  EXPECT_FALSE(dim.isLinear());
  EXPECT_EQ(dim.text(manifest->symbols), "((m + 31) // 32)*n");
  int64_t value = 0;
  const int64_t values[] = {65, 7};
  EXPECT_TRUE(dim.evaluate(values, value));
  EXPECT_EQ(value, 21);
  const int64_t huge[] = {INT64_MAX, 7};
  EXPECT_FALSE(dim.evaluate(huge, value));
}

TEST(Manifest, SaysWhatIsWrong) {
  for (const char* code :
       {R"({"code": []})", R"({"code": [1, 2, "+"]})", R"({"code": ["+"]})",
        R"({"code": [{"symbol": 0}, 1]})", R"({"code": [{"symbol": 0}, 1, "-"]})"})
    EXPECT_EQ(errorAfter("{\"product\": [0, 1]}", code),
              "manifest: 'shape' has code that is no expression")
        << code;
  EXPECT_EQ(errorAfter("\"name\": \"k\"", "\"name\": 3"), "manifest: 'name' must be a string");
  EXPECT_EQ(errorAfter("\"tensor\"", "\"pair\""),
            "manifest: 'kind' must be 'tensor' or 'scalar', not 'pair'");
  EXPECT_EQ(errorAfter("[[2, 0]", "[[2, 7]"),
            "manifest: 'shape' names a symbol that is not in 'symbols'");
  EXPECT_EQ(errorAfter("[[2, 0]", "[[2]"),
            "manifest: 'shape' has a term that is not [coefficient, symbol]");
  EXPECT_EQ(errorAfter("[0, 1]}", "[]}"), "manifest: 'shape' has an empty product");
  EXPECT_EQ(errorAfter("[4, {", "[\"4\", {"),
            "manifest: 'shape' must hold integers and expressions of symbols");
  EXPECT_EQ(errorAfter("[4, {", "[18446744073709551615, {"),
            "manifest: 'shape' holds an integer beyond 64 bits");
  EXPECT_EQ(errorAfter("[1, 2, 3]", "[1, 2]"),
            "manifest: 'strides' must have one entry per dim of 'shape'");
  for (const char* wrong : {"3", "[[-1, \">=\", 3]]", "[[1, \"~\", 3]]", "[[1, \">=\"]]"})
    EXPECT_EQ(errorAfter("[[1, \">=\", 3]]", wrong),
              "manifest: 'needed_if' holds what is no test of a scalar");
  EXPECT_EQ(errorAfter("[[1, \">=\", 3]]", "[[0, \">=\", 3]]"),
            "manifest: 'needed_if' names a parameter that is no integer");
  EXPECT_EQ(errorAfter("\"overlaps\": true", "\"overlaps\": 1"),
            "manifest: 'overlaps' must be true or false");
  EXPECT_EQ(errorAfter("\"apart\": [1]", "\"apart\": [-1]"),
            "manifest: 'apart' must hold numbers of parameters");
  EXPECT_EQ(errorAfter("\"align\": 64", "\"align\": 48"),
            "manifest: 'align' must be a power of two");
  EXPECT_EQ(errorAfter("[\"m\", \"n\"]", "[\"m\", \"n\", 1]"),
            "manifest: 'symbols' must hold strings");
  EXPECT_EQ(errorAfter("[\"m\", \"n\"]", "3"), "manifest: 'symbols' must be a list");
  EXPECT_EQ(errorAfter("[-2]", "[0.5]"), "manifest: 'out_idx' must hold integers");
  for (const char* wrong : {"2", "-1", "\"m\"", "0.5"})
    EXPECT_EQ(
        errorAfter("\"out_idx\"", "\"unread_symbols\": [" + std::string(wrong) + "], \"out_idx\""),
        "manifest: 'unread_symbols' must hold numbers of symbols")
        << wrong;
  for (const char* wrong : {"1", "[0]", "[2, 1]", "[0, 0]", "[0, 2]", "[-1, 1]", "[0.5, 1]"})
    EXPECT_EQ(
        errorAfter("\"out_idx\"", "\"scalar_symbols\": [" + std::string(wrong) + "], \"out_idx\""),
        "manifest: 'scalar_symbols' must hold pairs of a symbol and an integer parameter")
        << wrong;
  EXPECT_EQ(errorAfter("\"workspace_bytes\": 0", "\"cores_per_block\": 3"),
            "manifest: 'cores_per_block' must be an integer from 1 to 2");
  EXPECT_EQ(errorAfter("{\"kind\": \"scalar\", \"name\": \"s\", \"dtype\": \"int32\"}", "4"),
            "manifest: 'params' must hold objects");
  EXPECT_EQ(errorAfter("[{\"message\": \"x < 0\", \"file\": \"k.py\", \"line\": 3, \"column\": 5}]",
                       "[1]"),
            "manifest: 'asserts' must hold objects");
  for (const char* launch : {"1", "{\"cooperative\": 1}"})
    EXPECT_EQ(errorAfter("{\"cooperative\": true}", launch),
              "manifest: 'launches' must hold objects with a boolean 'cooperative'");
  EXPECT_EQ(errorAfter("[{\"cooperative\": false}, {\"cooperative\": true}]", "[]"),
            "manifest: 'launches' must have one entry at least");
  std::string dims = "[";
  for (int i = 0; i < 40; ++i)
    dims += "1, ";
  EXPECT_EQ(errorAfter("[4, {", dims + "4, {"), "manifest: 'shape' has too many dims");
}

} // namespace
} // namespace tilewright::runtime
