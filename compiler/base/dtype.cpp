// SPDX-License-Identifier: Apache-2.0
#include "tilewright/dtype.h"

#include <array>
#include <charconv>

namespace tilewright {
namespace {

enum class Family : uint8_t { Bool, Signed, Unsigned, Float };

struct Entry {
  ScalarKind kind;
  std::string_view name;
  int bits;
  Family family;
};

constexpr std::array<Entry, 28> kEntries = {{
    {ScalarKind::Bool, "bool", 8, Family::Bool},
    {ScalarKind::Int4, "int4", 4, Family::Signed},
    {ScalarKind::Int8, "int8", 8, Family::Signed},
    {ScalarKind::Int16, "int16", 16, Family::Signed},
    {ScalarKind::Int32, "int32", 32, Family::Signed},
    {ScalarKind::Int64, "int64", 64, Family::Signed},
    {ScalarKind::UInt4, "uint4", 4, Family::Unsigned},
    {ScalarKind::UInt8, "uint8", 8, Family::Unsigned},
    {ScalarKind::UInt16, "uint16", 16, Family::Unsigned},
    {ScalarKind::UInt32, "uint32", 32, Family::Unsigned},
    {ScalarKind::UInt64, "uint64", 64, Family::Unsigned},
    {ScalarKind::Float16, "float16", 16, Family::Float},
    {ScalarKind::BFloat16, "bfloat16", 16, Family::Float},
    {ScalarKind::Float32, "float32", 32, Family::Float},
    {ScalarKind::Float64, "float64", 64, Family::Float},
    {ScalarKind::Float8E4M3, "float8_e4m3", 8, Family::Float},
    {ScalarKind::Float8E4M3FN, "float8_e4m3fn", 8, Family::Float},
    {ScalarKind::Float8E4M3FNUZ, "float8_e4m3fnuz", 8, Family::Float},
    {ScalarKind::Float8E5M2, "float8_e5m2", 8, Family::Float},
    {ScalarKind::Float8E5M2FNUZ, "float8_e5m2fnuz", 8, Family::Float},
    {ScalarKind::Float8E8M0, "float8_e8m0fnu", 8, Family::Float},
    {ScalarKind::Float4E2M1, "float4_e2m1fn", 4, Family::Float},
    {ScalarKind::Float8E3M4, "float8_e3m4", 8, Family::Float},
    {ScalarKind::Float8E4M3B11FNUZ, "float8_e4m3b11fnuz", 8, Family::Float},
    {ScalarKind::Float6E2M3, "float6_e2m3fn", 6, Family::Float},
    {ScalarKind::Float6E3M2, "float6_e3m2fn", 6, Family::Float},
    {ScalarKind::Float4E2M1Unpacked, "float4_e2m1_unpacked", 8, Family::Float},
    {ScalarKind::TFloat32, "tfloat32", 32, Family::Float},
}};

struct Alias {
  std::string_view name;
  ScalarKind kind;
};

constexpr std::array<Alias, 12> kAliases = {{
    {"half", ScalarKind::Float16},
    {"float", ScalarKind::Float32},
    {"double", ScalarKind::Float64},
    {"short", ScalarKind::Int16},
    {"int", ScalarKind::Int32},
    {"long", ScalarKind::Int64},
    {"uint", ScalarKind::UInt32},
    {"boolean", ScalarKind::Bool},
    {"float8_e8m0", ScalarKind::Float8E8M0},
    {"float4_e2m1", ScalarKind::Float4E2M1},
    {"e4m3_float8", ScalarKind::Float8E4M3},
    {"e5m2_float8", ScalarKind::Float8E5M2},
}};

constexpr const Entry& entryOf(ScalarKind kind) {
  return kEntries[size_t(kind)];
}

constexpr bool entriesAreInOrder() {
  for (size_t i = 0; i < kEntries.size(); ++i)
    if (size_t(kEntries[i].kind) != i)
      return false;
  return true;
}
static_assert(entriesAreInOrder(), "entryOf indexes the table by the kind");

std::optional<ScalarKind> parseScalar(std::string_view name) {
  for (const Entry& entry : kEntries)
    if (entry.name == name)
      return entry.kind;
  for (const Alias& alias : kAliases)
    if (alias.name == name)
      return alias.kind;
  return std::nullopt;
}

} // namespace

std::optional<Dtype> Dtype::parse(std::string_view name) {
  if (auto kind = parseScalar(name))
    return Dtype(*kind);
  size_t x = name.rfind('x');
  if (x == std::string_view::npos)
    return std::nullopt;
  std::string_view digits = name.substr(x + 1);
  int lanes = 0;
  auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), lanes);
  bool isPowerOfTwo = lanes >= 2 && lanes <= 64 && (lanes & (lanes - 1)) == 0;
  if (status != std::errc() || end != digits.data() + digits.size() || !isPowerOfTwo ||
      digits.front() == '0')
    return std::nullopt;
  if (auto kind = parseScalar(name.substr(0, x)))
    return Dtype(*kind, lanes);
  return std::nullopt;
}

std::string Dtype::name() const {
  std::string text(entryOf(scalarKind).name);
  return laneCount == 1 ? text : text + "x" + std::to_string(laneCount);
}

int Dtype::bits() const {
  return entryOf(scalarKind).bits;
}

bool Dtype::isFloat() const {
  return entryOf(scalarKind).family == Family::Float;
}

bool Dtype::isSigned() const {
  Family family = entryOf(scalarKind).family;
  return family == Family::Signed || family == Family::Float;
}

} // namespace tilewright
