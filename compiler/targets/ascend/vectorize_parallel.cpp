// SPDX-License-Identifier: Apache-2.0
/// VectorizeParallel: an element-wise nest over tiles in UB becomes vector instructions, one per
/// operation and over all iterations, or row by row; any other nest becomes loops of single
/// elements, with a remark.
///
///     tile.parallel (%i, %j) in [32, 64] {               npu.scalar mul %t[0], %x[0], %s count(2048)
///       %v = tile.load %x[%i, %j]                  ->    npu.unary exp %y[0], %t[0] count(2048)
///       tile.store exp(%v * %s), %y[%i, %j]
///     }
///
/// It stands behind what cuts vector work into halves and before ExpandElements, which takes the
/// loops. The order of a nest's iterations is free, so each operation may run over all of them
/// before the next one. NestVectorizer does the work.
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/ascend/named_nests.h"
#include "compiler/targets/ascend/nest_vectorizer.h"
#include "compiler/targets/ascend/passes.h"

using namespace mlir;

namespace tilewright::ascend {
namespace {

/// A loop over `extent` before `nest`, at the start of whose body the builder then stands.
Value makeLoop(ImplicitLocOpBuilder& builder, OpFoldResult extent) {
  const IndexMaker make(builder);
  auto loop = tile::ForOp::create(builder, make.constant(0), make.value(extent), make.constant(1));
  builder.setInsertionPointToStart(loop.getBodyBlock());
  return loop.getInductionVar();
}

/// One iteration after the other.
void makeLoopOfElements(tile::ParallelOp nest) {
  ImplicitLocOpBuilder builder(nest.getLoc(), nest);
  Value index = makeLoop(builder, nest.getMixedExtents()[0]);
  Block* body = nest.getBodyBlock();
  body->getArgument(0).replaceAllUsesWith(index);
  body->getTerminator()->erase();
  builder.getInsertionBlock()->getOperations().splice(builder.getInsertionPoint(),
                                                      body->getOperations());
  nest.erase();
}

/// A loop over the first dim; the nest over the others in it.
tile::ParallelOp peel(tile::ParallelOp nest) {
  ImplicitLocOpBuilder builder(nest.getLoc(), nest);
  SmallVector<OpFoldResult> extents = nest.getMixedExtents();
  Value index = makeLoop(builder, extents[0]);
  auto inner = tile::ParallelOp::create(builder, ArrayRef(extents).drop_front());
  Block *from = nest.getBodyBlock(), *to = inner.getBodyBlock();
  from->getArgument(0).replaceAllUsesWith(index);
  for (auto [old, made] : llvm::zip(from->getArguments().drop_front(), to->getArguments()))
    old.replaceAllUsesWith(made);
  from->getTerminator()->erase();
  to->getOperations().splice(to->begin(), from->getOperations());
  nest.erase();
  return inner;
}

class VectorizeParallel : public KernelPass<VectorizeParallel> {
public:
  static constexpr llvm::StringLiteral kArgument = "ascend-vectorize-parallel";
  static constexpr llvm::StringLiteral kDescription =
      "element-wise nests become vector instructions, others loops";

  explicit VectorizeParallel(bool waits) : waits(waits) {}

  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<npu::NpuDialect>();
  }

  void runOnOperation() override {
    SmallVector<tile::ParallelOp> nests;
    getOperation().walk([&](tile::ParallelOp nest) { nests.push_back(nest); });
    for (tile::ParallelOp nest : nests)
      lower(nest);
  }

private:
  /// As instructions over all of the nest; else over its inner dims, in loops over the outer ones;
  /// else element by element.
  void lower(tile::ParallelOp nest) {
    if (expandNamedNest(nest, waits))
      return;
    while (true) {
      const std::optional<std::string> reason = NestVectorizer(nest, waits).run();
      if (!reason)
        return;
      if (nest.getInductionVars().size() == 1) {
        nest.emitRemark() << "this nest runs element by element on the scalar unit: " << *reason;
        return makeLoopOfElements(nest);
      }
      nest = peel(nest);
    }
  }

  bool waits;
};

} // namespace

std::unique_ptr<Pass> createVectorizeParallel(bool waits) {
  return std::make_unique<VectorizeParallel>(waits);
}

} // namespace tilewright::ascend
