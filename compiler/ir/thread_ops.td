// SPDX-License-Identifier: Apache-2.0
// What a thread does for itself or with its neighbours.
#ifndef TILEWRIGHT_THREAD_OPS
#define TILEWRIGHT_THREAD_OPS

include "compiler/ir/op_base.td"

def Tile_ThreadIdOp : Tile_Op<"thread_id", [Pure]> {
  let summary = "the thread's number along one dim of `threads`; the source of all per-thread values";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<2>]>:$dim);
  let results = (outs Index:$id);
  let assemblyFormat = "$dim attr-dict";
  let hasVerifier = 1;
}

def Tile_SyncOp : Tile_Op<"sync", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the threads of the scope wait for each other, and see each other's stores";
  let description = [{ `tile.sync block`, `tile.sync warp`, `tile.sync block barrier(1, 64)`: the named barrier 1 for 64 threads. }];
  let arguments = (ins Tile_SyncScope:$scope, OptionalAttr<I64Attr>:$barrier_id, OptionalAttr<I64Attr>:$thread_count);
  let assemblyFormat = "$scope (`barrier` `(` $barrier_id^ `,` $thread_count `)`)? attr-dict";
  let hasVerifier = 1;
}

def Tile_ShuffleOp : Tile_Op<"shuffle",
    [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["value", "result"]>]> {
  let summary = "the value that another lane of the warp passes in";
  let description = [{
    `%r = tile.shuffle xor %v, %delta width 32 : f32`. Lanes are grouped by `width` (a power of 2, at most 32); a
    lane outside of the group gives the thread's own value. All threads of the warp take part.
  }];
  let arguments = (ins Tile_ShuffleKind:$kind, Tile_Scalar:$value, I32:$lane,
      DefaultValuedAttr<I64Attr, "32">:$width);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$kind $value `,` $lane (`width` $width^)? attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Tile_VoteOp : Tile_Op<"vote", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what the threads of a warp or block say to a condition";
  let description = [{ any and all give i1; ballot gives i64 (bit n is lane n; warp only); count gives i32. }];
  let arguments = (ins Tile_VoteKind:$kind, Tile_SyncScope:$scope, I1:$condition);
  let results = (outs AnyTypeOf<[I1, I32, I64]>:$result);
  let assemblyFormat = "$kind $scope $condition attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif
