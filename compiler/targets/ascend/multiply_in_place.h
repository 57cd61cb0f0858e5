// SPDX-License-Identifier: Apache-2.0
/// T.mma: a gemm of tiles that are in L0A and L0B already.
#pragma once

#include "compiler/ir/tensor_ops.h"
#include "compiler/targets/ascend/tile_addresses.h"

namespace tilewright::ascend {

/// One npu.mmad for a gemm of operands in L0A and L0B, as they lie, into L0C, all of whose waits are the kernel's. m, n and k may
/// be numbers of the running kernel; of the tile in L0C, what lies behind m and n is undefined then, and all of it when m
/// changes. It stands before copies are expanded. A failure was reported at the gemm.
llvm::LogicalResult multiplyInPlace(tile::GemmOp gemm);

/// Whether nothing but copies out of the tile in L0C, and gemms with the very same part of it as `gemm`, knows it: then nobody
/// has anything behind that part. It holds for all of these gemms once it was asked for one.
bool isAloneInResult(tile::GemmOp gemm);

} // namespace tilewright::ascend
