// SPDX-License-Identifier: Apache-2.0
// Launch, loops and what ends them.
#ifndef TILEWRIGHT_STRUCTURE_OPS
#define TILEWRIGHT_STRUCTURE_OPS

include "compiler/ir/op_base.td"

def Tile_LaunchOp : Tile_Op<"launch",
    [SingleBlockImplicitTerminator<"YieldOp">, HasParent<"::mlir::func::FuncOp">]> {
  let summary = "runs the body once per block of the grid";
  let description = [{
    `tile.launch (%bx, %by) in (%gx, %gy) threads(128) { ... }`: 1 to 3 grid extents (x first), and as many block
    ids (index) as region arguments. `threads` has 1 to 3 extents. With `npu` a block is one AI core: a cube
    agent and two vector agents run the body together; `threads(2)` there asks that vector work is shared out
    to the two vector agents. A kernel has one launch or several, which run one after the other: all blocks of
    one have ended, and what they stored is there, before the next begins. It declares no effects, so that one
    without any work stays.
  }];
  let arguments = (ins Variadic<Index>:$grid, DenseI64ArrayAttr:$threads, UnitAttr:$npu);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$grid, "::llvm::ArrayRef<int64_t>":$threads,
                                 CArg<"bool", "false">:$npu)>];
  let extraClassDeclaration = [{
    ::mlir::Block* getBodyBlock() { return &getBody().front(); }
    ::mlir::ValueRange getBlockIds() { return getBodyBlock()->getArguments(); }
    /// The product of `threads`; 1 if there are none.
    int64_t getThreadCount();
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator]> {
  let summary = "ends the body of a launch, loop or scope";
  let assemblyFormat = "attr-dict";
}

def Tile_ForOp : Tile_Op<"for",
    [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "a counted loop";
  let description = [{
    `tile.for %k = %lb to %ub step %s pipelined {num_stages = 3} { ... }`. The step is positive. Bounds are
    evaluated once. Nothing is carried in SSA values: what a loop changes is in buffers. `num_stages`,
    `order`, `stage`, `sync`, `group` are what the user gave for a pipelined loop; any other annotation is a
    discardable attribute.
  }];
  let arguments = (ins Index:$lower, Index:$upper, Index:$step,
      DefaultValuedAttr<Tile_LoopKind, "LoopKind::Serial">:$kind,
      DefaultValuedAttr<I64Attr, "0">:$num_stages);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$lower, "::mlir::Value":$upper, "::mlir::Value":$step,
                                 CArg<"LoopKind", "LoopKind::Serial">:$kind, CArg<"int64_t", "0">:$numStages)>];
  let extraClassDeclaration = [{
    ::mlir::Block* getBodyBlock() { return &getBody().front(); }
    ::mlir::Value getInductionVar() { return getBodyBlock()->getArgument(0); }
  }];
}

def Tile_WhileOp : Tile_Op<"while", [RecursiveMemoryEffects, NoRegionArguments]> {
  let summary = "runs `body` as long as `condition` gives true";
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins)>];
  let description = [{ `tile.while { ...; tile.condition %c } do { ... }`. }];
}

def Tile_ConditionOp : Tile_Op<"condition", [Terminator, HasParent<"WhileOp">]> {
  let summary = "ends the condition of a while";
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Tile_ParallelOp : Tile_Op<"parallel",
    [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "an element-wise nest: the iterations may run in any order, or at once";
  let description = [{
    `tile.parallel (%i, %j) in [64, %n] { ... }`. Holds loads, stores, scalar code, `scf.if`, serial loops and atomics; no tile
    operation, no pipelined loop, no barrier. A nest of parallels is one parallel (the builder merges perfect nests).
  }];
  let arguments = (ins Variadic<Index>:$extents, DenseI64ArrayAttr:$static_extents);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::ArrayRef<::mlir::OpFoldResult>":$extents)>];
  let extraClassDeclaration = [{
    ::mlir::Block* getBodyBlock() { return &getBody().front(); }
    ::mlir::ValueRange getInductionVars() { return getBodyBlock()->getArguments(); }
    ::llvm::SmallVector<::mlir::OpFoldResult> getMixedExtents();
  }];
}

def Tile_BreakOp : Tile_Op<"break"> {
  let summary = "leaves the innermost enclosing loop; what follows in the block is dead";
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_ContinueOp : Tile_Op<"continue"> {
  let summary = "goes on with the next iteration of the innermost enclosing loop";
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "prints the message and a scalar or a buffer";
  let arguments = (ins StrAttr:$message, Optional<AnyTypeOf<[Tile_Scalar, Tile_BufferType]>>:$value,
                       UnitAttr:$is_unsigned);
  let assemblyFormat = "$message (`,` $value^ `:` type($value))? (`unsigned` $is_unsigned^)? attr-dict";
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stops the kernel with the message where the condition is false";
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
  let extraClassDeclaration = [{
    /// Makes a check that no statement of the kernel asks for; its message is a sentence of its own.
    static AssertOp check(mlir::OpBuilder& builder, mlir::Location place, mlir::Value condition,
                          llvm::StringRef message);
    /// What is told where it fails: `asked` goes before what a statement of the kernel says.
    std::string told(llvm::StringRef asked);
  }];
}

#endif
