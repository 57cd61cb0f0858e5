// SPDX-License-Identifier: Apache-2.0
/// The passes of the Ascend target. A pass is one .cpp file of its name, a `create` function here,
/// and a line in registration.cpp; docs/ascend-target.md says why they stand in this order.
#pragma once

#include <memory>

namespace mlir {
class DialectRegistry;
class Pass;
} // namespace mlir

namespace tilewright::chips {
struct AscendChip;
} // namespace tilewright::chips

namespace tilewright::ascend {

/// On a kernel: bytes of global memory that a launch needs beside its arguments; absent if none.
inline constexpr char kWorkspaceBytesAttr[] = "ascend.workspace_bytes";
/// The same for each block, behind those bytes; and on an allocation: each block has its own.
inline constexpr char kBlockWorkspaceBytesAttr[] = "ascend.block_workspace_bytes";
inline constexpr char kPerBlockAttr[] = "ascend.per_block";
/// On a launch: it was written for a GPU, so nothing says how many vector cores work for a block.
inline constexpr char kOfGpuAttr[] = "ascend.of_gpu";
/// On what writes global memory, before GuardOnce: it happens once, though both vector cores of a block come there.
inline constexpr char kOnceAttr[] = "ascend.once";
/// On a launch that could have two vector cores to a block: nothing needs the second one.
inline constexpr char kOneVectorAttr[] = "ascend.one_vector";
/// The same: the kernel doesn't tell the two apart, only the compiler does.
inline constexpr char kCoresAlikeAttr[] = "ascend.cores_alike";
/// On a launch: the kernel asks which vector core of a block it is, though perhaps only where no run comes to.
inline constexpr char kAsksVidAttr[] = "ascend.asks_vid";
/// On an allocation: the compiler's own, for the instructions of one statement.
inline constexpr char kTemporaryAttr[] = "ascend.temporary";
/// On an allocation: a variable by which StructureExits says how a loop goes on; the first of a loop has this name.
inline constexpr char kExitStateAttr[] = "ascend.exit_state";
inline constexpr char kExitStateName[] = "exit_state";
/// On a kernel: texts of Ascend C that stand before it, from T.import_source.
inline constexpr char kSourcesAttr[] = "ascend.sources";
/// Where each of them was given.
inline constexpr char kSourcePlacesAttr[] = "ascend.source_places";

std::unique_ptr<mlir::Pass> createCheckKernel(const chips::AscendChip& chip);
std::unique_ptr<mlir::Pass> createScopeCrossFlags();
std::unique_ptr<mlir::Pass> createPlaceLocals();
std::unique_ptr<mlir::Pass> createMarkStatements();
std::unique_ptr<mlir::Pass> createPlainUpdates(bool waits);
std::unique_ptr<mlir::Pass> createPairWorkspaces();
std::unique_ptr<mlir::Pass> createMarkOnce();
std::unique_ptr<mlir::Pass> createCheckScopes();
std::unique_ptr<mlir::Pass> createGuardOnce();
std::unique_ptr<mlir::Pass> createScopeVariables();
std::unique_ptr<mlir::Pass> createPartVariables();
std::unique_ptr<mlir::Pass> createMarkFreshTiles();
std::unique_ptr<mlir::Pass> createStageGlobalTiles(const chips::AscendChip& chip, bool stages);
std::unique_ptr<mlir::Pass> createFoldClears();
/// Not `always`: only of a kernel in which a copy leads from one kind of core to the other, which the compiler orders.
std::unique_ptr<mlir::Pass> createStructureExits(bool always = true);
/// `tellTurns`: of loops that stay, whose exits are branches by now, it writes how many turns they make.
std::unique_ptr<mlir::Pass> createFollowVariables(bool tellTurns = true);
/// `waits`: what becomes several operations orders them. `splits`: what stands outside of scopes is given to the cores, so
/// that vector cores may work for a tile that the kernel has put in L1.
std::unique_ptr<mlir::Pass> createPlaceBuffers(bool waits, bool splits);
/// `isAutomatic`: what is loaded comes right before its first use, as no flag of the kernel's own is between.
/// `takeTurns`: in pipelined loops, iterations use several tiles in turn, for kernels whose flags are
/// found. `splits`: the cores are told apart behind; else what is outside of scopes gets scopes.
std::unique_ptr<mlir::Pass> createAddWorkspaces(bool isAutomatic, bool takeTurns, bool splits);
std::unique_ptr<mlir::Pass> createShareVectorWork();
std::unique_ptr<mlir::Pass> createWideIndices();
std::unique_ptr<mlir::Pass> createCopyRows(const chips::AscendChip& chip);
/// `waits`: place the flags that the parts of one gemm or copy need among themselves, for kernels
/// without automatic flags.
std::unique_ptr<mlir::Pass> createExpandGemms(bool waits);
std::unique_ptr<mlir::Pass> createExpandCopies(bool waits);
std::unique_ptr<mlir::Pass> createExpandReductions();
std::unique_ptr<mlir::Pass> createBoundArguments();
std::unique_ptr<mlir::Pass> createVectorizeParallel(bool waits);
std::unique_ptr<mlir::Pass> createLazyChoices();
/// `waits`: a barrier before an element of UB is read for a vector instruction. `splits`: what stands
/// outside of scopes is made two programs.
std::unique_ptr<mlir::Pass> createExpandElements(bool waits, bool splits);
/// `isOrdered`: barriers around functions of which nothing is known.
std::unique_ptr<mlir::Pass> createExpandCalls(bool isOrdered);
std::unique_ptr<mlir::Pass> createForwardVariables();
std::unique_ptr<mlir::Pass> createCubeVid();
std::unique_ptr<mlir::Pass> createDropIdleWork();
std::unique_ptr<mlir::Pass> createPlainDivisions();
std::unique_ptr<mlir::Pass> createShareDims();
std::unique_ptr<mlir::Pass> createShareNames();
std::unique_ptr<mlir::Pass> createForwardFills();
/// Of pipelined loops: buffers in versions, and loads ahead of their use.
std::unique_ptr<mlir::Pass> createRotateBuffers(const chips::AscendChip& chip);
std::unique_ptr<mlir::Pass> createLoadAhead();
/// `isOrdered`: with barriers around what is written in buffers of the kernel's own.
std::unique_ptr<mlir::Pass> createDefinePadding(bool isOrdered);
/// `mayShare`: where buffers don't fit one behind the other, those that are never needed at once
/// share bytes.
std::unique_ptr<mlir::Pass> createPlanMemory(const chips::AscendChip& chip, bool mayShare);
/// Which flags and barriers within a core the kernel leaves to the compiler: of `ScalarUnit`, those between
/// the scalar unit and others. Parts of one statement are always ordered.
enum class WithinCores { None, ScalarUnit, All };
/// Flags and barriers of one core, and cross-core flags.
std::unique_ptr<mlir::Pass> createInsertFlags(WithinCores withinCores, bool betweenCores);
/// The switches that are off are named where they would order what nothing orders; `split`: one body becomes two
/// programs.
std::unique_ptr<mlir::Pass> createCheckHazards(WithinCores withinCores, bool betweenCores,
                                               bool split, bool isRelaxed = false);
std::unique_ptr<mlir::Pass> createWideEnds();
/// `combine`: what stands outside of scopes is split too; else it is refused where one kind of core lacks it.
std::unique_ptr<mlir::Pass> createSplitCubeVector(bool combine);
std::unique_ptr<mlir::Pass> createPlainExits();

/// Makes all passes of this folder known to tilewright-opt.
void registerPasses(mlir::DialectRegistry& registry);

} // namespace tilewright::ascend
