// SPDX-License-Identifier: Apache-2.0
// The explicit primitives of an Ascend expert: which agent runs what, and how pipes and agents wait.
#ifndef TILEWRIGHT_ASCEND_OPS
#define TILEWRIGHT_ASCEND_OPS

include "compiler/ir/ascend_dialect.td"
include "compiler/ir/op_base.td"

class Ascend_Op<string mnemonic, list<Trait> traits = []> : Op<Ascend_Dialect, mnemonic, traits>;
class Ascend_SyncOp<string mnemonic> : Ascend_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]>;

def Ascend_ScopeOp : Ascend_Op<"scope",
    [SingleBlock, NoTerminator, RecursiveMemoryEffects, NoRegionArguments]> {
  let summary = "what only the cube agent, or only the vector agents, run";
  let description = [{
    Code outside of any scope runs on all agents of a block, or is shared out among them by passes where
    the kernel leaves that to the compiler.
  }];
  let arguments = (ins Ascend_Agent:$agent);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$agent $body attr-dict";
  let hasVerifier = 1;
}

def Ascend_VectorIdOp : Ascend_Op<"vector_id", [Pure]> {
  let summary = "which vector agent of the block runs this: 0 or 1; 0 on the cube agent";
  let results = (outs Index:$id);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Ascend_SetFlagOp : Ascend_SyncOp<"set_flag"> {
  let summary = "queued on pipe `from`: when it gets there, event `event` between the two pipes is set";
  let arguments = (ins Ascend_Pipe:$from, Ascend_Pipe:$to, Index:$event);
  let assemblyFormat = "$from `to` $to `,` $event attr-dict";
  let hasVerifier = 1;
}

def Ascend_WaitFlagOp : Ascend_SyncOp<"wait_flag"> {
  let summary = "queued on pipe `to`: it goes on when the event is set, and clears it";
  let arguments = (ins Ascend_Pipe:$from, Ascend_Pipe:$to, Index:$event);
  let assemblyFormat = "$from `to` $to `,` $event attr-dict";
  let hasVerifier = 1;
}

def Ascend_PipeBarrierOp : Ascend_SyncOp<"pipe_barrier"> {
  let summary = "what was queued before on the pipe (or on all) is done before what is queued after";
  let arguments = (ins Ascend_Pipe:$pipe);
  let assemblyFormat = "$pipe attr-dict";
}

def Ascend_SetCrossFlagOp : Ascend_SyncOp<"set_cross_flag"> {
  let summary = "queued on `pipe`: signals flag `flag` to other agents";
  let description = [{
    mode 0: to all cube or all vector agents of the grid; 1: between the vector agents of a block; 2: between the
    cube agent and the vector agents of a block.
  }];
  let arguments = (ins Ascend_Pipe:$pipe, Index:$flag, DefaultValuedAttr<I64Attr, "2">:$mode);
  let assemblyFormat = "$pipe `,` $flag (`mode` $mode^)? attr-dict";
  let hasVerifier = 1;
}

def Ascend_WaitCrossFlagOp : Ascend_SyncOp<"wait_cross_flag"> {
  let summary = "the agent waits for the flag, or only its `pipe` does";
  let arguments = (ins Index:$flag, DefaultValuedAttr<Ascend_Pipe, "Pipe::All">:$pipe);
  let assemblyFormat = "$flag (`pipe` $pipe^)? attr-dict";
  let hasVerifier = 1;
}

def Ascend_CallExternOp : Ascend_SyncOp<"call"> {
  let summary = "a function of the user's own Ascend C, of which nothing is known but its operands";
  let description = [{
    `ascend.call "my_function" (%x, %offset, %n) [r, value]`: the operands in order; a buffer is followed by the offset of
    its first element. `access` has one word per argument of the function: r, w or rw for a buffer, value for a scalar.
    `rows` has three numbers of each buffer, if it is there: how many rows of how many elements the function touches, and how many
    elements lie from one row's first to the next one's; 0 rows where nobody knows.
    The buffers say which agents run it. The function's source is in the kernel's attribute `ascend.sources`.
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyTypeOf<[Tile_BufferType, Tile_Scalar]>>:$operands,
                       StrArrayAttr:$access, OptionalAttr<DenseI64ArrayAttr>:$rows);
  let assemblyFormat = "$callee `(` $operands `)` $access attr-dict `:` type($operands)";
  let hasVerifier = 1;
}

def Ascend_PrintfOp : Ascend_SyncOp<"printf"> {
  let summary = "prints numbers as a format of C says, without a line end of its own";
  let description = [{
    `ascend.printf "block %d: %5.2f\n"(%i, %x)`: the place holders have no length (`%ld`), which the values' types say.
  }];
  let arguments = (ins StrAttr:$format, Variadic<Tile_Scalar>:$values);
  let assemblyFormat = "$format `(` $values `)` attr-dict `:` type($values)";
  let hasVerifier = 1;
}

def Ascend_SyncAllOp : Ascend_SyncOp<"sync_all"> {
  let summary = "all agents of the grid wait for each other";
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

#endif
