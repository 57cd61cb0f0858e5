// SPDX-License-Identifier: Apache-2.0
// The tile dialect: its type, attributes and enums. The ops are in {structure,memory,tensor,thread}_ops.td.
#ifndef TILEWRIGHT_TILE_DIALECT
#define TILEWRIGHT_TILE_DIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/CommonAttrConstraints.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tilewright::tile";
  let summary = "kernels over tiles of buffers: the waist between front ends and targets";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    void addStructureOps();
    void addMemoryOps();
    void addTensorOps();
    void addThreadOps();
    void addTypes();
    void addAttributes();
  }];
}

class Tile_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tilewright::tile";
}

def Tile_MemorySpace : Tile_Enum<"MemorySpace", "where a buffer lives", [
  I32EnumAttrCase<"Global", 0, "global">,     // one per grid: arguments and workspaces
  I32EnumAttrCase<"Shared", 1, "shared">,     // one per block
  I32EnumAttrCase<"Fragment", 2, "fragment">, // one per block, spread over its threads' registers
  I32EnumAttrCase<"Local", 3, "local">,       // one per thread
  I32EnumAttrCase<"Var", 4, "var">,           // one per thread, a mutable scalar (rank 0)
  I32EnumAttrCase<"L1", 5, "L1">,             // Ascend, one per cube core
  I32EnumAttrCase<"L0A", 6, "L0A">,
  I32EnumAttrCase<"L0B", 7, "L0B">,
  I32EnumAttrCase<"L0C", 8, "L0C">,
  I32EnumAttrCase<"UB", 9, "UB">,             // Ascend, one per vector core
]>;

def Tile_LoopKind : Tile_Enum<"LoopKind", "how a loop may be run", [
  I32EnumAttrCase<"Serial", 0, "serial">,
  I32EnumAttrCase<"Unroll", 1, "unroll">,
  I32EnumAttrCase<"Vectorized", 2, "vectorized">,
  I32EnumAttrCase<"Pipelined", 3, "pipelined">,
  I32EnumAttrCase<"Persistent", 4, "persistent">,
]>;

def Tile_GemmPolicy : Tile_Enum<"GemmPolicy", "how warps share a gemm's result", [
  I32EnumAttrCase<"Square", 0, "square">,
  I32EnumAttrCase<"FullRow", 1, "full_row">,
  I32EnumAttrCase<"FullCol", 2, "full_col">,
]>;

def Tile_ReduceKind : Tile_Enum<"ReduceKind", "what a reduction or scan computes", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"AbsSum", 3, "abssum">,
  I32EnumAttrCase<"AbsMax", 4, "absmax">,
  I32EnumAttrCase<"BitAnd", 5, "bitand">,
  I32EnumAttrCase<"BitOr", 6, "bitor">,
  I32EnumAttrCase<"BitXor", 7, "bitxor">,
]>;

def Tile_AtomicKind : Tile_Enum<"AtomicKind", "what an atomic update computes", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Or", 3, "or">,
  I32EnumAttrCase<"Load", 4, "load">,
  I32EnumAttrCase<"Store", 5, "store">,
  I32EnumAttrCase<"And", 6, "and">,
  I32EnumAttrCase<"Xor", 7, "xor">,
]>;

def Tile_MemoryOrder : Tile_Enum<"MemoryOrder", "memory order of an atomic", [
  I32EnumAttrCase<"Relaxed", 0, "relaxed">,
  I32EnumAttrCase<"Consume", 1, "consume">,
  I32EnumAttrCase<"Acquire", 2, "acquire">,
  I32EnumAttrCase<"Release", 3, "release">,
  I32EnumAttrCase<"AcqRel", 4, "acq_rel">,
  I32EnumAttrCase<"SeqCst", 5, "seq_cst">,
]>;

def Tile_ShuffleKind : Tile_Enum<"ShuffleKind", "which lane a shuffle reads", [
  I32EnumAttrCase<"Index", 0, "index">, // lane `operand`
  I32EnumAttrCase<"Xor", 1, "xor">,     // lane id ^ operand
  I32EnumAttrCase<"Up", 2, "up">,       // lane id - operand
  I32EnumAttrCase<"Down", 3, "down">,   // lane id + operand
]>;

def Tile_VoteKind : Tile_Enum<"VoteKind", "what a vote gives", [
  I32EnumAttrCase<"Any", 0, "any">,
  I32EnumAttrCase<"All", 1, "all">,
  I32EnumAttrCase<"Ballot", 2, "ballot">,
  I32EnumAttrCase<"Count", 3, "count">,
]>;

def Tile_SyncScope : Tile_Enum<"SyncScope", "which threads meet", [
  I32EnumAttrCase<"Warp", 0, "warp">,
  I32EnumAttrCase<"Block", 1, "block">,
  I32EnumAttrCase<"Grid", 2, "grid">,
]>;

def Tile_BufferType : TypeDef<Tile_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a buffer, as the user declared it";
  let description = [{
    `!tile.buffer<64x?xf16, shared>`: dims (`?` is known at run time only), element type and memory space.
    Elements are signed and unsigned integers (`si8`, `ui8`, `si4`, ...), `i1` for bool, and floats. Without
    `strided` the elements are row-major and dense. `strided` stands on global arguments whose strides the
    argument attribute `tile.strides` gives. A pass may set `layout`: an affine map from indices to a storage
    index of the same rank or more, or `#tile.panel`.
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
    "::tilewright::tile::MemorySpace":$space, "bool":$strided, "::mlir::Attribute":$layout);
  let builders = [TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
      "::tilewright::tile::MemorySpace":$space, CArg<"bool", "false">:$strided,
      CArg<"::mlir::Attribute", "{}">:$layout),
      [{
        return $_get(elementType.getContext(), shape, elementType, space, strided, layout);
      }]>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kDynamic = ::mlir::ShapedType::kDynamic;
    int64_t getRank() const { return int64_t(getShape().size()); }
    bool isDynamicDim(int64_t dim) const { return getShape()[dim] == kDynamic; }
    bool hasStaticShape() const;
    /// The product of the dims; the shape must be static.
    int64_t getNumElements() const;
    /// Bits of one element in storage: 8 for bool, f6 and the unpacked f4, 4 for si4, ui4 and f4.
    unsigned getElementBits() const;
    /// The type of a loaded element: signless for integers.
    ::mlir::Type getScalarType() const;
    bool isGlobal() const { return getSpace() == MemorySpace::Global; }
    /// Whether each thread has its own.
    bool isPerThread() const {
      return getSpace() == MemorySpace::Local || getSpace() == MemorySpace::Var;
    }
    BufferType withLayout(::mlir::Attribute layout) const {
      return get(getShape(), getElementType(), getSpace(), getStrided(), layout);
    }
  }];
}

def Tile_UnpackedFloat4Type : TypeDef<Tile_Dialect, "UnpackedFloat4",
    [DeclareTypeInterfaceMethods<FloatTypeInterface, ["getFloatSemantics"]>]> {
  let mnemonic = "unpacked_f4E2M1FN";
  let summary = "f4E2M1FN that takes a byte in memory, its bits in the low half";
  let description = [{
    A value of it is that of an `f4E2M1FN`, of 4 bits; only buffers tell them apart. The upper half of a byte is
    written as 0 and not looked at.
  }];
}

def Tile_PanelAttr : AttrDef<Tile_Dialect, "Panel"> {
  let mnemonic = "panel";
  let summary = "dim `dim` is cut into panels of `width`; inside a panel that dim is innermost";
  let description = [{
    Element (.., i, ..) with i at `dim` lies at panel i / width, then the other dims in order, then
    i mod width. `dim` is rounded up to whole panels.
  }];
  let parameters = (ins "int64_t":$dim, "int64_t":$width);
  let assemblyFormat = "`<` `dim` `=` $dim `,` `width` `=` $width `>`";
  let genVerifyDecl = 1;
}

#endif
