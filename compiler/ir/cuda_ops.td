// SPDX-License-Identifier: Apache-2.0
// The explicit primitives of a GPU expert: warp groups, memory barriers, asynchronous copies.
#ifndef TILEWRIGHT_CUDA_OPS
#define TILEWRIGHT_CUDA_OPS

include "compiler/ir/op_base.td"

def Cuda_Dialect : Dialect {
  let name = "cuda";
  let cppNamespace = "::tilewright::cuda";
  let summary = "warp groups, memory barriers and asynchronous copies of an NVIDIA GPU";
  let dependentDialects = ["::tilewright::tile::TileDialect"];
  let useDefaultTypePrinterParser = 1;
}

def Cuda_BarriersType : TypeDef<Cuda_Dialect, "Barriers"> {
  let mnemonic = "barriers";
  let summary = "an array of memory barriers in shared memory";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

class Cuda_Op<string mnemonic, list<Trait> traits = []> : Op<Cuda_Dialect, mnemonic, traits>;
class Cuda_SyncOp<string mnemonic, list<Trait> traits = []>
    : Cuda_Op<mnemonic, !listconcat(traits, [MemoryEffects<[MemRead, MemWrite]>])>;

def Cuda_Source : Tile_Region<"source", (ins Tile_Read:$source)>;
def Cuda_Target : Tile_Region<"target", (ins Tile_Write:$target)>;

def Cuda_WarpGroupsOp : Cuda_Op<"warp_groups",
    [SingleBlock, NoTerminator, RecursiveMemoryEffects, NoRegionArguments]> {
  let summary = "what only the listed groups of 128 threads run";
  let description = [{
    `cuda.warp_groups [0, 1] { ... }`. Inside, a tile operation is collective over the threads of these
    groups, and `tile.sync block` is not allowed: a named barrier says how many threads meet.
  }];
  let arguments = (ins DenseI64ArrayAttr:$groups);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$groups $body attr-dict";
  let hasVerifier = 1;
}

def Cuda_AllocBarriersOp : Cuda_Op<"alloc_barriers", [MemoryEffects<[MemAlloc]>]> {
  let summary = "memory barriers, each with the number of arrivals that complete a phase";
  let arguments = (ins DenseI64ArrayAttr:$arrivals);
  let results = (outs Cuda_BarriersType:$barriers);
  let assemblyFormat = "$arrivals attr-dict `:` qualified(type($barriers))";
  let hasVerifier = 1;
}

class Cuda_BarrierOp<string mnemonic, dag more = (ins)> : Cuda_SyncOp<mnemonic> {
  let arguments = !con((ins Cuda_BarriersType:$barriers, Index:$index), more);
  let hasVerifier = 1;
}

def Cuda_BarrierArriveOp : Cuda_BarrierOp<"barrier_arrive"> {
  let summary = "the thread arrives at the barrier's current phase";
  let assemblyFormat = "$barriers `[` $index `]` attr-dict `:` qualified(type($barriers))";
}

def Cuda_BarrierWaitOp : Cuda_BarrierOp<"barrier_wait", (ins I32:$parity)> {
  let summary = "waits until the phase of the given parity (0 or 1) is complete";
  let assemblyFormat = "$barriers `[` $index `]` `,` $parity attr-dict `:` qualified(type($barriers))";
}

def Cuda_BarrierExpectOp : Cuda_BarrierOp<"barrier_expect", (ins I32:$bytes)> {
  let summary = "the current phase also waits for this many bytes of asynchronous copies";
  let assemblyFormat = "$barriers `[` $index `]` `,` $bytes attr-dict `:` qualified(type($barriers))";
}

def Cuda_AsyncCopyOp : Cuda_Op<"async_copy", [AttrSizedOperandSegments]> {
  let summary = "a copy that is complete only after a wait";
  let description = [{
    With a barrier (a bulk copy by TMA) the barrier receives the bytes; the user has told it how many to expect. Without,
    the copy belongs to the group that `cuda.commit` closes and `cuda.wait_group` waits for.
  }];
  let arguments = !con(Cuda_Source.operands, Cuda_Target.operands,
      (ins Optional<Cuda_BarriersType>:$barriers, Optional<Index>:$index),
      Cuda_Source.attributes, Cuda_Target.attributes, (ins UnitAttr:$bulk));
  let assemblyFormat = !strconcat(Cuda_Source.format, " `to` ", Cuda_Target.format,
      " (`barrier` $barriers^ `[` $index `]` `:` qualified(type($barriers)))? (`bulk` $bulk^)? attr-dict");
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "const BufferRegion&":$source, "const BufferRegion&":$target,
      CArg<"::mlir::Value", "{}">:$barriers, CArg<"::mlir::Value", "{}">:$index, CArg<"bool", "false">:$bulk)>];
  let extraClassDeclaration = [{
    BufferRegion getSourceRegion();
    BufferRegion getTargetRegion();
  }];
}

def Cuda_CommitOp : Cuda_SyncOp<"commit"> {
  let summary = "closes the group of asynchronous copies made since the last commit";
  let assemblyFormat = "attr-dict";
}

def Cuda_WaitGroupOp : Cuda_SyncOp<"wait_group"> {
  let summary = "waits until at most `pending` committed groups are incomplete";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Cuda_FenceOp : Cuda_SyncOp<"fence_async"> {
  let summary = "ordinary stores to shared memory become visible to asynchronous copies";
  let assemblyFormat = "attr-dict";
}

def Cuda_SetMaxRegistersOp : Cuda_SyncOp<"set_max_registers"> {
  let summary = "the registers that a thread of this warp group may use from here on";
  let arguments = (ins I64Attr:$count);
  let assemblyFormat = "$count attr-dict";
  let hasVerifier = 1;
}

#endif
