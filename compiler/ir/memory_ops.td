// SPDX-License-Identifier: Apache-2.0
// Buffers: making, viewing, measuring, and single elements.
#ifndef TILEWRIGHT_MEMORY_OPS
#define TILEWRIGHT_MEMORY_OPS

include "compiler/ir/op_base.td"

def Tile_AllocOp : Tile_Op<"alloc"> {
  let summary = "a new buffer of static shape; its elements are undefined";
  let description = [{
    `%s = tile.alloc "A_shared" : !tile.buffer<64x32xf16, shared>`. The space says whose it is: shared and fragment
    are the block's, L1, L0A, L0B, L0C and UB the agent's, local and var the thread's. A global allocation is a workspace of
    the launch. `address` is the byte offset in its memory that an expert chose.
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$sym_name, OptionalAttr<I64Attr>:$address);
  let results = (outs Res<Tile_BufferType, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "($sym_name^)? (`at` $address^)? attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Tile_AllocSizedOp : Tile_Op<"alloc_sized"> {
  let summary = "a new tile whose shape a call of the kernel gives; its elements are undefined";
  let description = [{
    `%s = tile.alloc_sized "A_shared" (%n) : !tile.buffer<?x32xf16, shared>`: the dynamic dims are operands, made of the kernel's
    arguments alone, so that memory can be set aside where a thread begins with a launch's blocks. It is the block's.
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$sym_name, Variadic<Index>:$dims);
  let results = (outs Res<Tile_BufferType, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "($sym_name^)? `(` $dims `)` attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Tile_ViewOp : Tile_Op<"view", [Pure]> {
  let summary = "the same storage with another shape or element type";
  let description = [{
    `%v = tile.view %b [%n, 32] : !tile.buffer<...> to !tile.buffer<?x32xf16, global>`: the dynamic dims of the result
    are operands. Both are dense and hold the same number of bits.
  }];
  let arguments = (ins Tile_BufferType:$source, Variadic<Index>:$dims);
  let results = (outs Tile_BufferType:$result);
  let assemblyFormat = "$source (`dims` `(` $dims^ `)`)? attr-dict `:` qualified(type($source)) `to` qualified(type($result))";
  let hasVerifier = 1;
}

def Tile_TensorAtOp : Tile_Op<"tensor_at", [Pure, AttrSizedOperandSegments]> {
  let summary = "global memory at an address that the kernel has as a number";
  let description = [{
    `%t = tile.tensor_at %address dims(%n) : !tile.buffer<?x32xf32, global>`: the dynamic dims of the result are operands.
    A strided result has as many `strides`, in elements, as dims. Nobody knows whether the memory is there.
  }];
  let arguments = (ins I64:$address, Variadic<Index>:$dims, Variadic<Index>:$strides);
  let results = (outs Tile_BufferType:$result);
  let assemblyFormat = [{
    $address (`dims` `(` $dims^ `)`)? (`strides` `(` $strides^ `)`)? attr-dict `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def Tile_AddressOp : Tile_Op<"address"> {
  let summary = "the address of an element, for functions in C";
  let arguments = (ins Tile_ReadWrite:$buffer, Variadic<Index>:$indices);
  let results = (outs I64:$address);
  let assemblyFormat = "$buffer `[` $indices `]` attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Tile_CallOp : Tile_Op<"call", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "calls a function in C by its name";
  let description = [{ `%r = tile.call "tw_square"(%x) : (f32) -> f32`: numbers and addresses go in, at most one number comes out. }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyTypeOf<[AnySignlessInteger, AnyFloat]>>:$arguments);
  let results = (outs Optional<AnyTypeOf<[AnySignlessInteger, AnyFloat]>>:$result);
  let assemblyFormat = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $result)";
}

def Tile_DimOp : Tile_Op<"dim", [Pure]> {
  let summary = "the extent of one dim";
  let arguments = (ins Tile_BufferType:$buffer, ConfinedAttr<I64Attr, [IntNonNegative]>:$dim);
  let results = (outs Index:$extent);
  let assemblyFormat = "$buffer `,` $dim attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_LoadOp : Tile_Op<"load", [Tile_ElementOf<"buffer", "value">]> {
  let summary = "one element";
  let description = [{
    Outside the bounds of a global buffer it gives 0. `in_bounds` says that every index is within its dim: no
    check is needed.
  }];
  let arguments = (ins Tile_Read:$buffer, Variadic<Index>:$indices, UnitAttr:$in_bounds);
  let results = (outs Tile_Scalar:$value);
  let assemblyFormat = "$buffer `[` $indices `]` (`in_bounds` $in_bounds^)? attr-dict `:` qualified(type($buffer))";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [Tile_ElementOf<"buffer", "value">]> {
  let summary = "writes one element; outside the bounds of a global buffer it is dropped";
  let arguments = (ins Tile_Scalar:$value, Tile_Write:$buffer, Variadic<Index>:$indices, UnitAttr:$in_bounds);
  let assemblyFormat = [{
    $value `,` $buffer `[` $indices `]` (`in_bounds` $in_bounds^)? attr-dict `:` qualified(type($buffer))
  }];
  let hasVerifier = 1;
}

def Tile_AtomicOp : Tile_Op<"atomic", [AttrSizedOperandSegments]> {
  let summary = "an atomic update of one element; the result is the value before";
  let description = [{
    `%old = tile.atomic add %b[%i], %v : !tile.buffer<...>`. `load` has no value and must have a result; the result is
    optional otherwise. `is_unsigned` in max and min follows the buffer's element type.
  }];
  let arguments = (ins Tile_AtomicKind:$kind, Tile_ReadWrite:$buffer, Variadic<Index>:$indices,
      Optional<Tile_Scalar>:$value, DefaultValuedAttr<Tile_MemoryOrder, "MemoryOrder::Relaxed">:$order,
      UnitAttr:$in_bounds);
  let results = (outs Optional<Tile_Scalar>:$previous);
  let assemblyFormat = [{
    $kind $buffer `[` $indices `]` (`,` $value^ `:` type($value))? (`order` `(` $order^ `)`)?
    (`in_bounds` $in_bounds^)? attr-dict `:` qualified(type($buffer)) (`->` type($previous)^)?
  }];
  let hasVerifier = 1;
}

#endif
