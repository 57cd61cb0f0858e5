// SPDX-License-Identifier: Apache-2.0
/// Between the language's dtypes and names of scopes, and the types of tile IR.
#pragma once

#include "compiler/ir/dialect.h"
#include "tilewright/dtype.h"

namespace tilewright::builder {

/// The type of a buffer's elements: si8, ui8, f16, i1 for bool; null where tile IR has none.
mlir::Type elementType(Dtype dtype, mlir::MLIRContext* context);

/// The type of a scalar: signless integers; null where tile IR has none.
mlir::Type scalarType(Dtype dtype, mlir::MLIRContext* context);

/// "shared", "shared.dyn", "local.fragment", "L1", ...: the memory space of a scope's name.
std::optional<tile::MemorySpace> parseScope(std::string_view scope);

} // namespace tilewright::builder
