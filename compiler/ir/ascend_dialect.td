// SPDX-License-Identifier: Apache-2.0
// The ascend dialect and its enums. (Enum generators write out all enums that a file includes, so this one
// includes none of tile's.)
#ifndef TILEWRIGHT_ASCEND_DIALECT
#define TILEWRIGHT_ASCEND_DIALECT

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Ascend_Dialect : Dialect {
  let name = "ascend";
  let cppNamespace = "::tilewright::ascend";
  let summary = "agents, pipes and flags of an Ascend AI core";
  let dependentDialects = ["::tilewright::tile::TileDialect"];
}

class Ascend_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tilewright::ascend";
}

def Ascend_Agent : Ascend_Enum<"Agent", "the cores of one AI core", [
  I32EnumAttrCase<"Cube", 0, "cube">,
  I32EnumAttrCase<"Vector", 1, "vector">,
]>;

def Ascend_Pipe : Ascend_Enum<"Pipe", "the queues of one agent", [
  I32EnumAttrCase<"S", 0, "s">,       // scalar unit
  I32EnumAttrCase<"V", 1, "v">,       // vector unit
  I32EnumAttrCase<"M", 2, "m">,       // matrix unit
  I32EnumAttrCase<"MTE1", 3, "mte1">, // L1 to L0A, L0B
  I32EnumAttrCase<"MTE2", 4, "mte2">, // global to L1, UB
  I32EnumAttrCase<"MTE3", 5, "mte3">, // UB to global
  I32EnumAttrCase<"FIX", 6, "fix">,   // L0C to global
  I32EnumAttrCase<"All", 7, "all">,
]>;

#endif
