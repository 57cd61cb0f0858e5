// SPDX-License-Identifier: Apache-2.0
// Instructions of the vector unit, and short sequences of them that are one statement.
#ifndef TILEWRIGHT_NPU_VECTOR_OPS
#define TILEWRIGHT_NPU_VECTOR_OPS

include "compiler/ir/npu_op_base.td"

/// How many elements an instruction takes: `count` from each offset on, or the blocks that `repeat` says.
defvar Npu_Shape = (ins Optional<Index>:$count, OptionalAttr<Npu_RepeatAttr>:$repeat);
defvar Npu_ShapeFormat = " (`count` `(` $count^ `)`)? (`repeat` $repeat^)? attr-dict";

class Npu_VectorOp<string mnemonic, list<Trait> traits = []> : Npu_Op<mnemonic, traits> {
  let hasVerifier = 1;
}

def Npu_UnaryOp : Npu_VectorOp<"unary"> {
  let summary = "target = f(source), element by element: Exp, Abs, ...";
  let arguments = !con((ins Npu_UnaryKind:$kind), Npu_Target.operands, Npu_Source.operands, Npu_Shape);
  let assemblyFormat = !strconcat("$kind ", Npu_Target.format, " `,` ", Npu_Source.format, Npu_ShapeFormat);
}

def Npu_BinaryOp : Npu_VectorOp<"binary"> {
  let summary = "target = f(source, other), element by element: Add, Mul, ...";
  let arguments = !con((ins Npu_BinaryKind:$kind), Npu_UpdateTarget.operands, Npu_Source.operands,
      Npu_SecondSource.operands, Npu_Shape);
  let assemblyFormat = !strconcat("$kind ", Npu_Target.format, " `,` ", Npu_Source.format, " `,` ", Npu_SecondSource.format,
      Npu_ShapeFormat);
}

def Npu_ScalarOp : Npu_VectorOp<"scalar", [Tile_ElementOf<"source", "value">]> {
  let summary = "target = f(source, value), element by element: Adds, Muls, ...";
  let arguments = !con((ins Npu_ScalarKind:$kind), Npu_UpdateTarget.operands, Npu_Source.operands, (ins Tile_Scalar:$value), Npu_Shape);
  let assemblyFormat = !strconcat("$kind ", Npu_Target.format, " `,` ", Npu_Source.format, " `,` $value", Npu_ShapeFormat);
}

def Npu_FunctionOp : Npu_VectorOp<"function", [AttrSizedOperandSegments]> {
  let summary = "target = f(source) or f(source, other), with scratch memory: Sin, Power, ...";
  let arguments = !con((ins Npu_FunctionKind:$kind), Npu_Target.operands, Npu_Source.operands,
      (ins Arg<Optional<Tile_BufferType>, "", [MemRead]>:$other, Optional<Index>:$other_offset), Npu_Scratch.operands,
      (ins I64Attr:$scratch_bytes, Index:$count));
  let assemblyFormat = !strconcat("$kind ", Npu_Target.format, " `,` ", Npu_Source.format,
      " (`,` $other^ `[` $other_offset `]` `:` qualified(type($other)))? `scratch` ", Npu_Scratch.format,
      " `of` $scratch_bytes `count` `(` $count `)` attr-dict");
}

def Npu_CompareOp : Npu_VectorOp<"compare"> {
  let summary = "one bit per element, 8 to a byte of the target: Compare";
  let description = [{ Takes whole repeats: the sources' bytes are a multiple of 256. }];
  let arguments = !con((ins Npu_CompareMode:$mode), Npu_Target.operands, Npu_Source.operands, Npu_SecondSource.operands,
      (ins Index:$count));
  let assemblyFormat = !strconcat("$mode ", Npu_Target.format, " `,` ", Npu_Source.format, " `,` ", Npu_SecondSource.format,
      " `count` `(` $count `)` attr-dict");
}

def Npu_CompareScalarOp : Npu_VectorOp<"compare_scalar", [Tile_ElementOf<"source", "value">]> {
  let summary = "compare with a scalar on the right: CompareScalar";
  let arguments = !con((ins Npu_CompareMode:$mode), Npu_Target.operands, Npu_Source.operands, (ins Tile_Scalar:$value, Index:$count));
  let assemblyFormat = !strconcat("$mode ", Npu_Target.format, " `,` ", Npu_Source.format, " `,` $value `count` `(` $count `)` attr-dict");
}

def Npu_Mask : Npu_Slice<"mask", (ins Tile_Read:$mask)>;

def Npu_SelectOp : Npu_VectorOp<"select"> {
  let summary = "where the mask's bit is 1 the source, else `other`: Select of two tensors";
  let arguments = !con(Npu_Target.operands, Npu_Mask.operands, Npu_Source.operands, Npu_SecondSource.operands, (ins Index:$count));
  let assemblyFormat = !strconcat(Npu_Target.format, " `,` ", Npu_Mask.format, " `,` ", Npu_Source.format, " `,` ",
      Npu_SecondSource.format, " `count` `(` $count `)` attr-dict");
}

def Npu_SelectScalarOp : Npu_VectorOp<"select_scalar", [Tile_ElementOf<"source", "value">]> {
  let summary = "where the mask's bit is 1 the source, else the scalar: Select";
  let arguments = !con(Npu_Target.operands, Npu_Mask.operands, Npu_Source.operands, (ins Tile_Scalar:$value, Index:$count));
  let assemblyFormat = !strconcat(Npu_Target.format, " `,` ", Npu_Mask.format, " `,` ", Npu_Source.format,
      " `,` $value `count` `(` $count `)` attr-dict");
}

def Npu_CastOp : Npu_VectorOp<"cast"> {
  let summary = "target = source in the target's element type: Cast";
  let arguments = !con(Npu_Target.operands, Npu_Source.operands, (ins Npu_Rounding:$rounding), Npu_Shape);
  let assemblyFormat = !strconcat(Npu_Target.format, " `,` ", Npu_Source.format, " $rounding", Npu_ShapeFormat);
}

def Npu_DuplicateOp : Npu_VectorOp<"duplicate", [Tile_ElementOf<"target", "value">]> {
  let summary = "every element of the target is the scalar: Duplicate";
  let arguments = !con(Npu_Target.operands, (ins Tile_Scalar:$value), Npu_Shape);
  let assemblyFormat = !strconcat(Npu_Target.format, " `,` $value", Npu_ShapeFormat);
}

def Npu_SequenceOp : Npu_VectorOp<"sequence", [Tile_ElementOf<"target", "first">]> {
  let summary = "first, first + step, first + 2 step, ...: CreateVecIndex where step is 1, else ArithProgression";
  let arguments = !con(Npu_Target.operands, (ins Tile_Scalar:$first, Tile_Scalar:$step, Index:$count));
  let assemblyFormat = !strconcat(Npu_Target.format, " `,` $first `step` $step `:` type($step) `count` `(` $count `)` attr-dict");
}

def Npu_ReduceOp : Npu_VectorOp<"reduce", [AttrSizedOperandSegments]> {
  let summary = "a [rows, columns] tile to one number per row (dim 1) or per column (dim 0), with scratch memory";
  let description = [{
    Rows lie `pitch` elements apart. The target's numbers lie side by side. Without `clear` the result is combined with what the target held.
    `counts(%m x %n)`: so many rows and columns, which the kernel knows as it runs, at most `size`. Of none the result is what the reduction begins with.
  }];
  let arguments = !con((ins Npu_ReduceKind:$kind), Npu_UpdateTarget.operands, Npu_Source.operands, Npu_Scratch.operands,
      (ins I64Attr:$scratch_bytes, I64Attr:$rows, I64Attr:$columns, I64Attr:$pitch, I64Attr:$dim, UnitAttr:$clear,
      Optional<Index>:$row_count, Optional<Index>:$column_count));
  let assemblyFormat = !strconcat("$kind ", Npu_Target.format, " `,` ", Npu_Source.format, " `scratch` ", Npu_Scratch.format,
      " `of` $scratch_bytes `size` $rows `x` $columns (`counts` `(` $row_count^ `x` $column_count `)`)? `pitch` $pitch `dim` $dim (`clear` $clear^)? attr-dict");
}

def Npu_BroadcastOp : Npu_VectorOp<"broadcast"> {
  let summary = "one number per row (dim 1) or per column (dim 0) to a tile of [rows, columns], with scratch memory";
  let arguments = !con(Npu_Target.operands, Npu_Source.operands, Npu_Scratch.operands,
      (ins I64Attr:$scratch_bytes, I64Attr:$rows, I64Attr:$columns, I64Attr:$pitch, I64Attr:$dim));
  let assemblyFormat = !strconcat(Npu_Target.format, " `,` ", Npu_Source.format, " `scratch` ", Npu_Scratch.format,
      " `of` $scratch_bytes `size` $rows `x` $columns `pitch` $pitch `dim` $dim attr-dict");
}

def Npu_RowBinaryOp : Npu_VectorOp<"row_binary"> {
  let summary = "target = f(source, number of the row), of a tile of [rows, columns]: Add, Sub, Mul, Div, Max, Min";
  let description = [{
    The numbers, of `other`, lie side by side, and rows at most 255 blocks of 32 bytes apart. They become blocks of scratch memory first.
  }];
  let arguments = !con((ins Npu_BinaryKind:$kind), Npu_Target.operands, Npu_Source.operands, Npu_SecondSource.operands, Npu_Scratch.operands,
      (ins I64Attr:$scratch_bytes, I64Attr:$rows, I64Attr:$columns));
  let assemblyFormat = !strconcat("$kind ", Npu_Target.format, " `,` ", Npu_Source.format, " `,` ", Npu_SecondSource.format, " `scratch` ",
      Npu_Scratch.format, " `of` $scratch_bytes `size` $rows `x` $columns attr-dict");
}

def Npu_TransposeOp : Npu_VectorOp<"transpose"> {
  let summary = "a [rows, columns] tile of 2-byte elements, both multiples of 16, to [columns, rows]";
  let arguments = !con(Npu_Target.operands, Npu_Source.operands, (ins I64Attr:$rows, I64Attr:$columns));
  let assemblyFormat = !strconcat(Npu_Target.format, " `,` ", Npu_Source.format, " `size` $rows `x` $columns attr-dict");
}

#endif
