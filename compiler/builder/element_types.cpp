// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/element_types.h"

#include <algorithm>
#include <array>

namespace tilewright::builder {
namespace {

mlir::Type floatType(ScalarKind kind, mlir::MLIRContext* context) {
  switch (kind) {
  case ScalarKind::Float16:
    return mlir::Float16Type::get(context);
  case ScalarKind::BFloat16:
    return mlir::BFloat16Type::get(context);
  case ScalarKind::Float32:
  case ScalarKind::TFloat32: // float32 in memory; only a GPU's matrix unit drops bits
    return mlir::Float32Type::get(context);
  case ScalarKind::Float64:
    return mlir::Float64Type::get(context);
  case ScalarKind::Float8E4M3:
    return mlir::Float8E4M3Type::get(context);
  case ScalarKind::Float8E4M3FN:
    return mlir::Float8E4M3FNType::get(context);
  case ScalarKind::Float8E4M3FNUZ:
    return mlir::Float8E4M3FNUZType::get(context);
  case ScalarKind::Float8E5M2:
    return mlir::Float8E5M2Type::get(context);
  case ScalarKind::Float8E5M2FNUZ:
    return mlir::Float8E5M2FNUZType::get(context);
  case ScalarKind::Float8E8M0:
    return mlir::Float8E8M0FNUType::get(context);
  case ScalarKind::Float4E2M1:
    return mlir::Float4E2M1FNType::get(context);
  case ScalarKind::Float4E2M1Unpacked:
    return tile::UnpackedFloat4Type::get(context);
  case ScalarKind::Float8E3M4:
    return mlir::Float8E3M4Type::get(context);
  case ScalarKind::Float8E4M3B11FNUZ:
    return mlir::Float8E4M3B11FNUZType::get(context);
  case ScalarKind::Float6E2M3:
    return mlir::Float6E2M3FNType::get(context);
  case ScalarKind::Float6E3M2:
    return mlir::Float6E3M2FNType::get(context);
  default:
    return {};
  }
}

int integerBits(Dtype dtype) {
  return dtype.kind() == ScalarKind::Bool ? 1 : dtype.bits();
}

struct ScopeName {
  std::string_view name;
  tile::MemorySpace space;
};

constexpr std::array<ScopeName, 14> kScopes = {{
    {"global", tile::MemorySpace::Global},
    {"shared", tile::MemorySpace::Shared},
    {"shared.dyn", tile::MemorySpace::Shared},
    {"fragment", tile::MemorySpace::Fragment},
    {"local.fragment", tile::MemorySpace::Fragment},
    {"local", tile::MemorySpace::Local},
    {"var", tile::MemorySpace::Var},
    {"local.var", tile::MemorySpace::Var},
    {"L1", tile::MemorySpace::L1},
    {"shared.l1", tile::MemorySpace::L1},
    {"L0A", tile::MemorySpace::L0A},
    {"L0B", tile::MemorySpace::L0B},
    {"L0C", tile::MemorySpace::L0C},
    {"UB", tile::MemorySpace::UB},
}};

} // namespace

mlir::Type elementType(Dtype dtype, mlir::MLIRContext* context) {
  if (dtype.lanes() != 1)
    return {};
  if (dtype.isFloat())
    return floatType(dtype.kind(), context);
  if (dtype.kind() == ScalarKind::Bool)
    return mlir::IntegerType::get(context, 1);
  auto sign = dtype.isSigned() ? mlir::IntegerType::Signed : mlir::IntegerType::Unsigned;
  return mlir::IntegerType::get(context, integerBits(dtype), sign);
}

mlir::Type scalarType(Dtype dtype, mlir::MLIRContext* context) {
  if (dtype.isFloat() || dtype.lanes() != 1)
    return elementType(dtype, context);
  return mlir::IntegerType::get(context, integerBits(dtype));
}

std::optional<tile::MemorySpace> parseScope(std::string_view scope) {
  const auto* found = std::find_if(kScopes.begin(), kScopes.end(),
                                   [&](auto& entry) { return entry.name == scope; });
  return found == kScopes.end() ? std::nullopt : std::optional(found->space);
}

} // namespace tilewright::builder
