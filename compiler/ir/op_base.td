// SPDX-License-Identifier: Apache-2.0
// What the op groups share.
#ifndef TILEWRIGHT_OP_BASE
#define TILEWRIGHT_OP_BASE

include "compiler/ir/tile_dialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_Scalar : AnyTypeOf<[AnySignlessInteger, Index, AnyFloat], "a scalar">;
def Tile_Read : Arg<Tile_BufferType, "", [MemRead]>;
def Tile_Write : Arg<Tile_BufferType, "", [MemWrite]>;
def Tile_ReadWrite : Arg<Tile_BufferType, "", [MemRead, MemWrite]>;

/// `scalar` has the type that an element of `buffer` has when loaded.
class Tile_ElementOf<string buffer, string scalar>
    : TypesMatchWith<"the value's type is that of the buffer's elements", buffer, scalar,
                     "::llvm::cast<::tilewright::tile::BufferType>($_self).getScalarType()">;

/// A rectangular part of a buffer: the operands and attributes of one region, for `arguments`. In C++ it is
/// read with `get<Name>Region()`, a BufferRegion. A static offset or extent is in the attribute; `kDynamic` there takes the
/// next operand.
class Tile_Region<string name, dag buffer> {
  dag operands = !con(buffer, !dag(ins,
      [Variadic<Index>, Variadic<Index>],
      [name # "_offsets", name # "_extents"]));
  dag attributes = !dag(ins, [DenseI64ArrayAttr, DenseI64ArrayAttr],
      ["static_" # name # "_offsets", "static_" # name # "_extents"]);
  string format = "custom<Region>($" # name # ", $" # name # "_offsets, $" # name # "_extents, $static_"
      # name # "_offsets, $static_" # name # "_extents, type($" # name # "))";
}

#endif
