// SPDX-License-Identifier: Apache-2.0
// The npu dialect, its enums and attributes, and what every instruction can be asked. (Enum generators write out all
// enums that a file includes, so this one includes none of tile's.)
#ifndef TILEWRIGHT_NPU_DIALECT
#define TILEWRIGHT_NPU_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Npu_Dialect : Dialect {
  let name = "npu";
  let cppNamespace = "::tilewright::npu";
  let summary = "instructions of an Ascend core: one op is one statement of Ascend C";
  let dependentDialects = ["::tilewright::tile::TileDialect", "::tilewright::ascend::AscendDialect"];
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void addAttributes();
    void addTransferOps();
    void addVectorOps();
  }];
}

class Npu_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tilewright::npu";
}

def Npu_UnaryKind : Npu_Enum<"UnaryKind", "vector functions of one source", [
  I32EnumAttrCase<"Exp", 0, "exp">,
  I32EnumAttrCase<"Ln", 1, "ln">,
  I32EnumAttrCase<"Abs", 2, "abs">,
  I32EnumAttrCase<"Reciprocal", 3, "reciprocal">,
  I32EnumAttrCase<"Sqrt", 4, "sqrt">,
  I32EnumAttrCase<"Rsqrt", 5, "rsqrt">,
  I32EnumAttrCase<"Relu", 6, "relu">,
  I32EnumAttrCase<"Not", 7, "not">, // bits, of 16-bit integers
]>;

def Npu_BinaryKind : Npu_Enum<"BinaryKind", "vector functions of two sources", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Sub", 1, "sub">,
  I32EnumAttrCase<"Mul", 2, "mul">,
  I32EnumAttrCase<"Div", 3, "div">,
  I32EnumAttrCase<"Max", 4, "max">,
  I32EnumAttrCase<"Min", 5, "min">,
  I32EnumAttrCase<"And", 6, "and">, // bits, of 16-bit integers
  I32EnumAttrCase<"Or", 7, "or">,
  I32EnumAttrCase<"MulAddDst", 8, "mul_add_dst">, // dst += a * b
]>;

def Npu_ScalarKind : Npu_Enum<"ScalarKind", "vector functions of a source and a scalar", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Mul", 1, "mul">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"LeakyRelu", 4, "leaky_relu">,
  I32EnumAttrCase<"ShiftLeft", 5, "shift_left">,
  I32EnumAttrCase<"ShiftRight", 6, "shift_right">, // arithmetic for signed elements
  I32EnumAttrCase<"Axpy", 7, "axpy">,              // dst += scalar * source
]>;

/// Functions that Ascend C offers as sequences, with scratch memory: sin(dst, src, scratch, count).
def Npu_FunctionKind : Npu_Enum<"FunctionKind", "functions with scratch memory", [
  I32EnumAttrCase<"Sin", 0, "sin">,
  I32EnumAttrCase<"Cos", 1, "cos">,
  I32EnumAttrCase<"Tanh", 2, "tanh">,
  I32EnumAttrCase<"Erf", 3, "erf">,
  I32EnumAttrCase<"Power", 4, "power">,
  I32EnumAttrCase<"Xor", 5, "xor">,
  I32EnumAttrCase<"Floor", 6, "floor">,
  I32EnumAttrCase<"Round", 7, "round">,
]>;

def Npu_CompareMode : Npu_Enum<"CompareMode", "what a comparison asks", [
  I32EnumAttrCase<"LT", 0, "lt">,
  I32EnumAttrCase<"GT", 1, "gt">,
  I32EnumAttrCase<"EQ", 2, "eq">,
  I32EnumAttrCase<"LE", 3, "le">,
  I32EnumAttrCase<"GE", 4, "ge">,
  I32EnumAttrCase<"NE", 5, "ne">,
]>;

def Npu_Rounding : Npu_Enum<"Rounding", "how a cast rounds", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"Rint", 1, "rint">,   // to nearest, ties to even
  I32EnumAttrCase<"Floor", 2, "floor">,
  I32EnumAttrCase<"Ceil", 3, "ceil">,
  I32EnumAttrCase<"Round", 4, "round">, // ties away from zero
  I32EnumAttrCase<"Trunc", 5, "trunc">,
  I32EnumAttrCase<"Odd", 6, "odd">,
]>;

def Npu_ReduceKind : Npu_Enum<"ReduceKind", "what a reduction computes", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">,
]>;

def Npu_RepeatAttr : AttrDef<Npu_Dialect, "Repeat"> {
  let mnemonic = "repeat";
  let summary = "the strided form of a vector instruction";
  let description = [{
    `times` repeats of `lanes` elements each. A repeat takes 32-byte blocks that lie `blocks[i]` blocks apart in operand i, and
    the next repeat begins `strides[i]` blocks further on; the target is operand 0. `times` is at most 255.
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$times, ArrayRefParameter<"int64_t">:$blocks,
      ArrayRefParameter<"int64_t">:$strides);
  let assemblyFormat = "`<` `lanes` `=` $lanes `,` `times` `=` $times `,` `blocks` `=` `[` $blocks `]` `,` `strides` `=` `[` $strides `]` `>`";
  let genVerifyDecl = 1;
}

def Npu_Instruction : OpInterface<"Instruction"> {
  let cppNamespace = "::tilewright::npu";
  let description = [{
    What analyses ask of an instruction. Instructions of one pipe begin in order; nothing else orders them but flags and
    barriers.
  }];
  let methods = [
    InterfaceMethod<"the queue that it goes to; S: the scalar unit runs it at once",
        "::tilewright::ascend::Pipe", "getPipe">,
    InterfaceMethod<"the kind of core that has this instruction; nothing: both", "::std::optional<::tilewright::ascend::Agent>",
        "getAgent">,
    InterfaceMethod<"appends every range of memory that it reads or writes", "void", "getAccesses",
        (ins "::llvm::SmallVectorImpl<::tilewright::npu::Access>&":$accesses)>,
  ];
}

#endif
