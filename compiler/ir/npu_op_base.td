// SPDX-License-Identifier: Apache-2.0
// What all instructions share: a slice is a buffer and the element that it begins at.
#ifndef TILEWRIGHT_NPU_OP_BASE
#define TILEWRIGHT_NPU_OP_BASE

include "compiler/ir/ascend_dialect.td"
include "compiler/ir/npu_dialect.td"
include "compiler/ir/op_base.td"

/// All have effects beyond their operands: they are queued, so that what waits for them may stand anywhere behind.
class Npu_Op<string mnemonic, list<Trait> traits = []>
    : Op<Npu_Dialect, mnemonic, traits # [DeclareOpInterfaceMethods<Npu_Instruction>, MemoryEffects<[MemRead, MemWrite]>]> {
  string regionDeclaration = [{ ::tilewright::tile::BufferRegion getGlobalRegion(); }];
}

/// A buffer from element `name_offset` on, counted as they lie in memory.
class Npu_Slice<string name, dag buffer> {
  dag operands = !con(buffer, !dag(ins, [Index], [name # "_offset"]));
  string format = "$" # name # " `[` $" # name # "_offset `]` `:` qualified(type($" # name # "))";
}
def Npu_Target : Npu_Slice<"target", (ins Tile_Write:$target)>;
def Npu_UpdateTarget : Npu_Slice<"target", (ins Tile_ReadWrite:$target)>;
def Npu_Source : Npu_Slice<"source", (ins Tile_Read:$source)>;
def Npu_SecondSource : Npu_Slice<"other", (ins Tile_Read:$other)>;
def Npu_Scratch : Npu_Slice<"scratch", (ins Tile_ReadWrite:$scratch)>;
def Npu_GlobalSource : Tile_Region<"source", (ins Tile_Read:$source)>;
def Npu_GlobalTarget : Tile_Region<"target", (ins Tile_Write:$target)>;

#endif
