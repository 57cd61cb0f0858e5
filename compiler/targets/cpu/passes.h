// SPDX-License-Identifier: Apache-2.0
/// The passes of the CPU target, in the order of the pipeline (pipeline.cpp). Each file's header
/// shows its IR before and after.
#pragma once

#include <cstdint>
#include <memory>

namespace mlir {
class DialectRegistry;
class Pass;
} // namespace mlir

namespace tilewright::cpu {

struct Machine;

/// What the shorter exponentials have right, with all roundings.
inline constexpr unsigned kShortExpBits = 13;

std::unique_ptr<mlir::Pass> createPlaceSizedTiles();
std::unique_ptr<mlir::Pass> createSplitThreads();
std::unique_ptr<mlir::Pass> createDeepenGemms(const Machine& machine);
std::unique_ptr<mlir::Pass> createSkipStages();
/// `areShort`: exponentials have so few right bits that ties of what is computed from them are chance.
std::unique_ptr<mlir::Pass> createMarkRoundings(bool areShort = false);
std::unique_ptr<mlir::Pass> createLowerDots(const Machine& machine);
/// `fast`: where it is allowed at all.
std::unique_ptr<mlir::Pass> createMultiplyByPieces(const Machine& machine, bool fast = true);
std::unique_ptr<mlir::Pass> createMultiplyBySums(const Machine& machine);
std::unique_ptr<mlir::Pass> createPackGemmOperands(const Machine& machine);
std::unique_ptr<mlir::Pass> createPartOverlaps();
std::unique_ptr<mlir::Pass> createFunctionOverlaps();
std::unique_ptr<mlir::Pass> createStoreResults();
std::unique_ptr<mlir::Pass> createReadInPlace(const Machine& machine);
std::unique_ptr<mlir::Pass> createFuseReductions(const Machine& machine, bool fast = false);
std::unique_ptr<mlir::Pass> createPlanScratch();
std::unique_ptr<mlir::Pass> createFetchNextBlock(const Machine& machine);
std::unique_ptr<mlir::Pass> createLowerCopies(const Machine& machine);
std::unique_ptr<mlir::Pass> createLowerGemm(const Machine& machine);
std::unique_ptr<mlir::Pass> createLowerReductions(const Machine& machine);
std::unique_ptr<mlir::Pass> createLowerTables(const Machine& machine);
std::unique_ptr<mlir::Pass> createLowerParallel(const Machine& machine, bool fast = false);
std::unique_ptr<mlir::Pass> createMakeEntryPoints();
std::unique_ptr<mlir::Pass> createLowerCalls();
std::unique_ptr<mlir::Pass> createLowerPrints();
std::unique_ptr<mlir::Pass> createLowerBuffers();
std::unique_ptr<mlir::Pass> createExpandSmallFloats();
/// `bits`: as many are right of exponentials, and of quotients that are made of them.
std::unique_ptr<mlir::Pass> createExpandDivisions(const Machine& machine, unsigned bits = 22);
std::unique_ptr<mlir::Pass> createExpandExponentials(const Machine& machine, bool fast = false,
                                                     unsigned bits = 22, int64_t most = INT64_MAX);
std::unique_ptr<mlir::Pass> createFlattenControlFlow();
std::unique_ptr<mlir::Pass> createConvertToLlvm();

/// Makes the passes known to tilewright-opt by their command-line names, for the machine "avx512",
/// and the dialects that they lower to.
void registerPasses(mlir::DialectRegistry& registry);

} // namespace tilewright::cpu
