// SPDX-License-Identifier: Apache-2.0
// Instructions that move data, the cube unit, and single elements.
#ifndef TILEWRIGHT_NPU_TRANSFER_OPS
#define TILEWRIGHT_NPU_TRANSFER_OPS

include "compiler/ir/npu_op_base.td"

def Npu_LoadUbOp : Npu_Op<"load_ub", [AttrSizedOperandSegments]> {
  let summary = "global memory to UB: DataCopyPad";
  let description = [{
    `npu.load_ub %A[%m, %n] [32, 64] : !tile.buffer<..> to %ub[%o] pitch 64 : !tile.buffer<..>`. At most one extent before the last
    is not 1: rows of the last dim, which lie `pitch` elements apart in UB. What remains of a row's last 32-byte block becomes `pad`, or undefined;
    so do `before` elements, less than a block, in front of each row. All of the source lies within the tensor.
  }];
  let arguments = !con(Npu_GlobalSource.operands, Npu_Target.operands, (ins Optional<Tile_Scalar>:$pad,
      Optional<Index>:$before), Npu_GlobalSource.attributes, (ins I64Attr:$pitch));
  let assemblyFormat = !strconcat(Npu_GlobalSource.format, " `to` ", Npu_Target.format,
      " `pitch` $pitch (`pad` `(` $pad^ `:` type($pad) `)`)? (`before` `(` $before^ `)`)? attr-dict");
  let extraClassDeclaration = regionDeclaration;
  let hasVerifier = 1;
}

def Npu_StoreUbOp : Npu_Op<"store_ub", [AttrSizedOperandSegments]> {
  let summary = "UB to global memory: DataCopyPad; all of the target lies within the tensor";
  let arguments = !con(Npu_Source.operands, Npu_GlobalTarget.operands, Npu_GlobalTarget.attributes,
      (ins I64Attr:$pitch, UnitAttr:$atomic_add));
  let assemblyFormat = !strconcat(Npu_Source.format, " `pitch` $pitch `to` ", Npu_GlobalTarget.format,
      " (`atomic_add` $atomic_add^)? attr-dict");
  let extraClassDeclaration = regionDeclaration;
  let hasVerifier = 1;
}

def Npu_LoadL1Op : Npu_Op<"load_l1", [AttrSizedOperandSegments]> {
  let summary = "global memory to L1, as fractals in columns (NZ): DataCopy with Nd2NzParams";
  let description = [{
    Element (i, j) of the source lands at `j / c0 * rows * c0 + i * c0 + j % c0` behind the target's offset, with c0 elements to 32 bytes. `rows`
    is the height of the tile in L1, a multiple of 16.
  }];
  let arguments = !con(Npu_GlobalSource.operands, Npu_Target.operands, Npu_GlobalSource.attributes, (ins I64Attr:$rows));
  let assemblyFormat = !strconcat(Npu_GlobalSource.format, " `to` ", Npu_Target.format, " `rows` $rows attr-dict");
  let extraClassDeclaration = regionDeclaration;
  let hasVerifier = 1;
}

def Npu_FillL1Op : Npu_Op<"fill_l1"> {
  let summary = "`bytes` bytes of L1 become 0: InitConstValue";
  let description = [{ `count`: how many as the kernel runs, where it may be less. }];
  let arguments = !con(Npu_Target.operands, (ins Optional<Index>:$count, I64Attr:$bytes));
  let assemblyFormat = !strconcat(Npu_Target.format, " `bytes` $bytes (`only` `(` $count^ `)`)? attr-dict");
}

def Npu_LoadL0Op : Npu_Op<"load_l0"> {
  let summary = "a rectangle of an NZ tile in L1 to L0A (ZZ) or L0B (ZN), in whole fractals: LoadData";
  let description = [{
    The rectangle begins at (row, column) of the tile, whose height is `rows`; `height` and `width` are those of the rectangle in L1.
    L0A gets it as [m, k] and L0B as [k, n]; `transpose` swaps the two first. `counts`: its rows and columns as the kernel runs, where they
    may be less than `height` and `width`; L0 has as many fractals as hold these.
  }];
  let arguments = !con(Npu_Source.operands, (ins Index:$row, Index:$column), Npu_Target.operands,
      (ins Variadic<Index>:$counts, I64Attr:$rows, I64Attr:$height, I64Attr:$width, UnitAttr:$transpose));
  let assemblyFormat = !strconcat(Npu_Source.format, " `at` `(` $row `,` $column `)` `to` ", Npu_Target.format,
      " `rows` $rows `size` $height `x` $width (`only` `(` $counts^ `)`)? (`transpose` $transpose^)? attr-dict");
  let hasVerifier = 1;
}

def Npu_A : Npu_Slice<"a", (ins Tile_Read:$a)>;
def Npu_B : Npu_Slice<"b", (ins Tile_Read:$b)>;
def Npu_C : Npu_Slice<"c", (ins Tile_ReadWrite:$c)>;

def Npu_MmadOp : Npu_Op<"mmad"> {
  let summary = "c += a * b, or c = a * b where `init` is true: Mmad";
  let description = [{
    a is [m, k] in L0A, b is [k, n] in L0B, c [m, n] in L0C as columns of 16x16 fractals. m, n and k may be any positive numbers; memory
    is touched in whole fractals. `pairs`: an even number of fractals lies in each row of a, as a transposed load of float32 leaves them.
    `counts`: m, n and k as the kernel runs, where they may be less.
  }];
  let arguments = !con(Npu_A.operands, Npu_B.operands, Npu_C.operands, (ins I1:$init, Variadic<Index>:$counts, I64Attr:$m, I64Attr:$n,
      I64Attr:$k, UnitAttr:$pairs));
  let assemblyFormat = !strconcat(Npu_A.format, " `,` ", Npu_B.format, " `into` ",
      Npu_C.format, " `size` $m `x` $n `x` $k (`only` `(` $counts^ `)`)? `init` `(` $init `)` (`pairs` $pairs^)? attr-dict");
  let hasVerifier = 1;
}

def Npu_StoreL0cOp : Npu_Op<"store_l0c", [AttrSizedOperandSegments]> {
  let summary = "L0C to global memory, converting: Fixpipe; all of the target lies within the tensor";
  let description = [{
    `rows` is the height of the tile in L0C, a multiple of 16, and `pitch` that as the kernel runs, where it may be less; `scale` converts
    int32 to float16.
  }];
  let arguments = !con(Npu_Source.operands, Npu_GlobalTarget.operands, (ins Optional<F32>:$scale, Optional<Index>:$pitch),
      Npu_GlobalTarget.attributes, (ins I64Attr:$rows, UnitAttr:$relu, UnitAttr:$atomic_add));
  let assemblyFormat = !strconcat(Npu_Source.format, " `rows` $rows (`only` `(` $pitch^ `)`)? `to` ", Npu_GlobalTarget.format,
      " (`scale` `(` $scale^ `)`)? (`relu` $relu^)? (`atomic_add` $atomic_add^)? attr-dict");
  let extraClassDeclaration = regionDeclaration;
  let hasVerifier = 1;
}

def Npu_MoveL0cOp : Npu_Op<"move_l0c", [AttrSizedOperandSegments]> {
  let summary = "L0C to L1, converting: Fixpipe, whose result stays in columns of fractals (NZ)";
  let description = [{
    `height` rows and `width` columns, a multiple of 16, of tiles that are `source_rows` and `target_rows` high. To 16 bits only: float32 to float16
    or bfloat16, and int32 to float16 by `scale`. As the kernel runs, where they may be less: its rows and columns are `counts`, and the height
    of the source is `pitch`.
  }];
  let arguments = !con(Npu_Source.operands, Npu_Target.operands, (ins Optional<F32>:$scale, Optional<Index>:$pitch, Variadic<Index>:$counts, I64Attr:$source_rows,
      I64Attr:$target_rows, I64Attr:$height, I64Attr:$width, UnitAttr:$relu));
  let assemblyFormat = !strconcat(Npu_Source.format, " `rows` $source_rows (`only` `(` $pitch^ `)`)? `to` ", Npu_Target.format,
      " `rows` $target_rows `size` $height `x` $width (`only` `(` $counts^ `)`)? (`scale` `(` $scale^ `)`)? (`relu` $relu^)? attr-dict");
  let hasVerifier = 1;
}

def Npu_CopyUbOp : Npu_Op<"copy_ub"> {
  let summary = "UB to UB, `count` rows of `bytes`, a multiple of 32: DataCopy";
  let description = [{ Rows lie `source_pitch` and `target_pitch` bytes apart. }];
  let arguments = !con(Npu_Source.operands, Npu_Target.operands,
      (ins I64Attr:$count, I64Attr:$bytes, I64Attr:$source_pitch, I64Attr:$target_pitch));
  let assemblyFormat = !strconcat(Npu_Source.format, " `to` ", Npu_Target.format,
      " `rows` $count `of` $bytes `pitch` $source_pitch `to` $target_pitch attr-dict");
}

def Npu_GetValueOp : Npu_Op<"get_value", [Tile_ElementOf<"source", "value">]> {
  let summary = "one element of UB or global memory, read by the scalar unit";
  let description = [{ `on` says of global memory which kind of core alone does it. }];
  let arguments = !con(Npu_Source.operands, (ins OptionalAttr<Ascend_Agent>:$on));
  let results = (outs Tile_Scalar:$value);
  let assemblyFormat = !strconcat(Npu_Source.format, " (`on` $on^)? attr-dict");
  let hasCanonicalizeMethod = 1;
}

def Npu_SetValueOp : Npu_Op<"set_value", [Tile_ElementOf<"target", "value">]> {
  let summary = "one element of UB or global memory, written by the scalar unit";
  let description = [{ `on` says of global memory which kind of core alone does it. }];
  let arguments = !con((ins Tile_Scalar:$value), Npu_Target.operands, (ins OptionalAttr<Ascend_Agent>:$on));
  let assemblyFormat = !strconcat("$value `to` ", Npu_Target.format, " (`on` $on^)? attr-dict");
}

def Npu_CallOp : Npu_Op<"call", [AttrSizedOperandSegments]> {
  let summary = "a function of the user's own, in Ascend C";
  let description = [{
    `arguments` are what stands between the brackets: buffers (with their offsets, in order of the buffers) and scalars. `access` says of
    each buffer what is done with it: r, w or rw, from its offset on. Pipe `all` means that nothing is known of what the function
    queues: what must come before it or after it needs a barrier of all pipes. `rows` is that of `ascend.call`.
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyTypeOf<[Tile_Scalar, Tile_BufferType]>>:$arguments, Variadic<Index>:$offsets,
      DenseI64ArrayAttr:$bytes, StrArrayAttr:$access, DefaultValuedAttr<Ascend_Pipe, "::tilewright::ascend::Pipe::All">:$queue,
      DefaultValuedAttr<Ascend_Agent, "::tilewright::ascend::Agent::Vector">:$on, OptionalAttr<DenseI64ArrayAttr>:$rows);
  let assemblyFormat = "$callee `(` ($arguments^ `:` qualified(type($arguments)))? `)` `offsets` `[` $offsets `]` `bytes` $bytes `access` $access `pipe` $queue `on` $on attr-dict";
  let hasVerifier = 1;
}

def Npu_RequireOp : Op<Npu_Dialect, "require", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "ends the kernel with a sentence about its numbers where the condition is false";
  let description = [{
    `npu.require %c "b begins at row {}, which is no multiple of 16" (%row)`: each {} stands for a number. Unlike an assertion, the kernel's
    author has not written it, so what is told is the sentence alone. `on` says which kind of core alone does what it is about.
  }];
  let arguments = (ins I1:$condition, StrAttr:$sentence, Variadic<Index>:$numbers, OptionalAttr<Ascend_Agent>:$on);
  let assemblyFormat = "$condition $sentence `(` $numbers `)` (`on` $on^)? attr-dict";
  let hasVerifier = 1;
}
def Npu_CheckPartOp : Op<Npu_Dialect, "check_part", [AttrSizedOperandSegments, MemoryEffects<[MemAlloc]>]> {
  let summary = "ends the kernel, on the host, where a part of a tile leaves the tile";
  let description = [{
    `npu.check_part "a" [8, 24] part(%o, %m, %c0, %c24) on vector`: of each dim where the part begins, and its extent. Of a store that its
    tensor may cut, `tensor` says where the tensor's part begins, its extent, and how large the tensor is, of each of its dims.
    It stands before what copies the part. Nothing of it is printed for the device. Its effect keeps it where it is, and says nothing
    of memory: what stands around it is as if it weren't there.
  }];
  let arguments = (ins StrAttr:$tile, DenseI64ArrayAttr:$shape, Variadic<Index>:$part, Variadic<Index>:$tensor, Ascend_Agent:$on,
      UnitAttr:$written, UnitAttr:$transposed);
  let assemblyFormat = "$tile $shape (`written` $written^)? `part` `(` $part `)` (`tensor` `(` $tensor^ `)`)? (`transposed` $transposed^)? `on` $on attr-dict";
  let hasVerifier = 1;
}
#endif
