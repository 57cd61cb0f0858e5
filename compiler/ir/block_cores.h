// SPDX-License-Identifier: Apache-2.0
/// Which of the cores of a block does what stands in a kernel for an NPU: the interpreter and the Ascend target
/// both follow this.
///
/// A block has a cube core, whose vid is 0, and one or two vector cores. Outside of T.Scope
///
///   T.gemm(a, b, c)                  the cube core does it; there is one `a` and one `c` of a block
///   T.copy(u, v)                     each vector core does it with tiles of its own (`u`, `v`: in UB)
///   T.copy(c, D)                     happens once: nothing but the block's tiles is there
///   T.copy(c[vid * 16:..], D)        each vector core does it: vid says where, or (`if vid == 1`) whether
///   T.copy(c, u)                     each vector core does it
///   T.copy(u, a)                     the first vector core does it: to the block's tile it happens once
///   T.copy(u, a[vid * 16:..])        each vector core does it, as vid says
#pragma once

#include <mlir/IR/Operation.h>

namespace tilewright::npu {

enum class Doer { Cube, FirstVector, EachVector };

/// Of an operation on tiles, or a nest, outside of scopes.
Doer doerOf(mlir::Operation* op);

/// Whether a tile on chip is the block's: in a memory of the cube core, or of gemms. Of others each vector core has one.
bool isOfCube(mlir::Value buffer);

/// What an operation and those in it do to tiles.
struct Touched {
  bool ofVectors = false, ofCube = false, writesCube = false, writesGlobal = false;
};
Touched touchedBy(mlir::Operation* op);

/// Whether a number may be another one on the second vector core of a block, by what it is computed of: vid, also
/// by way of variables and of what the cores' own tiles hold.
bool differsByVid(mlir::Value number);
/// Whether loops, branches and exits around an operation may let one vector core run it more often.
bool runsByVid(mlir::Operation* op);
/// Whether vid says if an operation runs, or which numbers it has: parts of tiles, say.
bool asksVid(mlir::Operation* op);
/// Whether vector cores alone know if an operation runs, or which numbers it has: elements of their own tiles say so.
bool asksVectorTiles(mlir::Operation* op);
/// Whether what an operation writes to its tile may be something else on the second vector core, for another reason
/// than what it reads of the tile itself.
bool makesApart(mlir::Operation* op, mlir::Value tile);

} // namespace tilewright::npu
