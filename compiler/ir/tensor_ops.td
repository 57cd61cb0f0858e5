// SPDX-License-Identifier: Apache-2.0
// Operations on whole tiles. All are collective: every thread of the block reaches them together, unless the
// target lies in local or var memory, which each thread fills for itself.
#ifndef TILEWRIGHT_TENSOR_OPS
#define TILEWRIGHT_TENSOR_OPS

include "compiler/ir/op_base.td"

def Tile_TileOperation : NativeOpTrait<"TileOperation"> {
  let cppNamespace = "::tilewright::tile";
}
class Tile_TensorOp<string mnemonic> : Tile_Op<mnemonic, [AttrSizedOperandSegments, Tile_TileOperation]>;

def Tile_CopySource : Tile_Region<"source", (ins Tile_Read:$source)>;
def Tile_CopyTarget : Tile_Region<"target", (ins Tile_Write:$target)>;
def Tile_UpdateTarget : Tile_Region<"target", (ins Tile_ReadWrite:$target)>;
def Tile_GemmA : Tile_Region<"a", (ins Tile_Read:$a)>;
def Tile_GemmB : Tile_Region<"b", (ins Tile_Read:$b)>;
def Tile_GemmC : Tile_Region<"c", (ins Tile_ReadWrite:$c)>;

def Tile_CopyOp : Tile_TensorOp<"copy"> {
  let summary = "copies a region to a region, converting the element type; complete when it returns";
  let description = [{
    `tile.copy %A[%m, %k] [64, 32] : !tile.buffer<..> to %As : !tile.buffer<..>`. A region that is printed without
    offsets is the whole buffer. The extents of the two sides that are not 1 correspond in order and are equal. What lies outside of a
    global source reads as `pad` (0 if absent), what lies outside of a global target is dropped. `source_in_bounds` and
    `target_in_bounds` say per dim that nothing lies outside. `ends`, of NPU kernels, cut a global source as if its dims `ended_dims`
    had no more elements. `relu` clamps at 0 on the way (Ascend's fixed-point
    pipe), `scale` (f32) multiplies what becomes float16 of int32 there; `transpose` swaps the last two dims.
  }];
  let arguments = !con(Tile_CopySource.operands, Tile_CopyTarget.operands,
      (ins Optional<Tile_Scalar>:$pad, Optional<Tile_Scalar>:$scale, Variadic<Index>:$ends),
      Tile_CopySource.attributes, Tile_CopyTarget.attributes,
      (ins OptionalAttr<DenseBoolArrayAttr>:$source_in_bounds, OptionalAttr<DenseBoolArrayAttr>:$target_in_bounds,
           OptionalAttr<DenseI64ArrayAttr>:$ended_dims, UnitAttr:$relu, UnitAttr:$transpose));
  let assemblyFormat = !strconcat(Tile_CopySource.format, " `to` ", Tile_CopyTarget.format,
      " (`pad` `(` $pad^ `:` type($pad) `)`)? (`scale` `(` $scale^ `:` type($scale) `)`)? (`ends` `(` $ends^ `)`)? attr-dict");
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "const BufferRegion&":$source, "const BufferRegion&":$target)>];
  let extraClassDeclaration = [{
    BufferRegion getSourceRegion();
    BufferRegion getTargetRegion();
    /// Where the source's dim is cut before its tensor ends; null if it isn't.
    ::mlir::Value endOf(int64_t dim);
    /// Cut as another copy is.
    void takeEnds(CopyOp other);
    /// Whether the accesses of one dim are known to be in bounds.
    bool isSourceInBounds(int64_t dim);
    bool isTargetInBounds(int64_t dim);
  }];
}

def Tile_FillOp : Tile_TensorOp<"fill"> {
  let summary = "sets every element of a region to a scalar of the element's type";
  let arguments = !con((ins Tile_Scalar:$value), Tile_CopyTarget.operands, Tile_CopyTarget.attributes,
      (ins OptionalAttr<DenseBoolArrayAttr>:$target_in_bounds));
  let assemblyFormat = !strconcat(Tile_CopyTarget.format, " `with` $value `:` type($value) attr-dict");
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "const BufferRegion&":$target)>];
  let extraClassDeclaration = [{
    BufferRegion getTargetRegion();
    bool isTargetInBounds(int64_t dim);
  }];
}

def Tile_GemmOp : Tile_TensorOp<"gemm"> {
  let summary = "c += op(a) op(b), in the precision of c's elements";
  let description = [{
    `tile.gemm %a : !tile.buffer<..>, %b : !tile.buffer<..> into %c : !tile.buffer<..> clear(%flag)`. The last two dims are the
    matrices, dims before them have extent 1. `transpose_a`: a holds [K, M]. c is taken as 0 before where `clear_accum` stands or
    `clear` (i1) is true.
  }];
  let arguments = !con(Tile_GemmA.operands, Tile_GemmB.operands, Tile_GemmC.operands, (ins Optional<I1>:$clear),
      Tile_GemmA.attributes, Tile_GemmB.attributes, Tile_GemmC.attributes,
      (ins UnitAttr:$transpose_a, UnitAttr:$transpose_b, UnitAttr:$clear_accum,
           DefaultValuedAttr<Tile_GemmPolicy, "GemmPolicy::Square">:$policy));
  let assemblyFormat = !strconcat(Tile_GemmA.format, " `,` ", Tile_GemmB.format, " `into` ", Tile_GemmC.format,
      " (`clear` `(` $clear^ `)`)? (`policy` `(` $policy^ `)`)? attr-dict");
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "const BufferRegion&":$a, "const BufferRegion&":$b, "const BufferRegion&":$c,
      CArg<"bool", "false">:$transposeA, CArg<"bool", "false">:$transposeB, CArg<"::mlir::Value", "{}">:$clear,
      CArg<"bool", "false">:$clearAccum, CArg<"GemmPolicy", "GemmPolicy::Square">:$policy)>];
  let extraClassDeclaration = [{
    BufferRegion getARegion();
    BufferRegion getBRegion();
    BufferRegion getCRegion();
  }];
}

def Tile_ReduceOp : Tile_TensorOp<"reduce"> {
  let summary = "reduces one dim of the source into the target";
  let description = [{
    The target has the source's extents without `dim`, or with extent 1 there. Without `clear` the result is
    combined once with what the target holds. NaN: max and min skip it unless `nan_propagate`.
  }];
  let arguments = !con((ins Tile_ReduceKind:$kind), Tile_CopySource.operands, Tile_UpdateTarget.operands,
      Tile_CopySource.attributes, Tile_UpdateTarget.attributes,
      (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$dim, UnitAttr:$clear, UnitAttr:$nan_propagate));
  let assemblyFormat = !strconcat("$kind ", Tile_CopySource.format, " `dim` $dim `into` ", Tile_UpdateTarget.format,
      " (`clear` $clear^)? attr-dict");
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "ReduceKind":$kind, "const BufferRegion&":$source, "const BufferRegion&":$target,
      "int64_t":$dim, "bool":$clear, CArg<"bool", "false">:$nanPropagate)>];
  let extraClassDeclaration = [{
    BufferRegion getSourceRegion();
    BufferRegion getTargetRegion();
  }];
}

def Tile_ScanOp : Tile_TensorOp<"scan"> {
  let summary = "inclusive running sum or max along one dim; all is read before anything is written";
  let arguments = !con((ins Tile_ReduceKind:$kind), Tile_CopySource.operands, Tile_CopyTarget.operands,
      Tile_CopySource.attributes, Tile_CopyTarget.attributes,
      (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$dim, UnitAttr:$reverse));
  let assemblyFormat = !strconcat("$kind ", Tile_CopySource.format, " `dim` $dim `into` ", Tile_CopyTarget.format,
      " (`reverse` $reverse^)? attr-dict");
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "ReduceKind":$kind, "const BufferRegion&":$source, "const BufferRegion&":$target,
      "int64_t":$dim, CArg<"bool", "false">:$reverse)>];
  let extraClassDeclaration = [{
    BufferRegion getSourceRegion();
    BufferRegion getTargetRegion();
  }];
}

def Tile_AtomicTileOp : Tile_TensorOp<"atomic_tile"> {
  let summary = "an atomic update of each element of the target with the source's";
  let arguments = !con((ins Tile_AtomicKind:$kind), Tile_CopySource.operands, Tile_UpdateTarget.operands,
      Tile_CopySource.attributes, Tile_UpdateTarget.attributes,
      (ins OptionalAttr<DenseBoolArrayAttr>:$source_in_bounds, OptionalAttr<DenseBoolArrayAttr>:$target_in_bounds));
  let assemblyFormat = !strconcat("$kind ", Tile_CopySource.format, " `into` ", Tile_UpdateTarget.format, " attr-dict");
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "AtomicKind":$kind, "const BufferRegion&":$source, "const BufferRegion&":$target)>];
  let extraClassDeclaration = [{
    BufferRegion getSourceRegion();
    BufferRegion getTargetRegion();
    bool isSourceInBounds(int64_t dim);
    bool isTargetInBounds(int64_t dim);
  }];
}

#endif
