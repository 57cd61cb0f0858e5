// SPDX-License-Identifier: Apache-2.0
/// VectorizeParallel: an element-wise nest over tiles in UB becomes vector instructions, one per
/// operation; any other nest becomes loops of single elements, with a remark.
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
#include "compiler/targets/ascend/nest_vectorizer.h"
#include "compiler/targets/ascend/passes.h"

using namespace mlir;

namespace tilewright::ascend {
namespace {

/// One loop per dim, one iteration after the other.
void makeLoops(tile::ParallelOp nest) {
  ImplicitLocOpBuilder builder(nest.getLoc(), nest);
  const IndexMaker make(builder);
  SmallVector<Value> indices;
  for (OpFoldResult extent : nest.getMixedExtents()) {
    auto loop =
        tile::ForOp::create(builder, make.constant(0), make.value(extent), make.constant(1));
    indices.push_back(loop.getInductionVar());
    builder.setInsertionPointToStart(loop.getBodyBlock());
  }
  Block* body = nest.getBodyBlock();
  for (auto [argument, index] : llvm::zip(body->getArguments(), indices))
    argument.replaceAllUsesWith(index);
  Block* target = builder.getInsertionBlock();
  body->getTerminator()->erase();
  target->getOperations().splice(builder.getInsertionPoint(), body->getOperations());
  nest.erase();
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
    for (tile::ParallelOp nest : nests) {
      NestVectorizer vectorizer(nest, waits);
      if (std::optional<std::string> reason = vectorizer.obstacle()) {
        nest.emitRemark() << "this nest runs element by element on the scalar unit: " << *reason;
        makeLoops(nest);
        continue;
      }
      vectorizer.run();
    }
  }

private:
  bool waits;
};

} // namespace

std::unique_ptr<Pass> createVectorizeParallel(bool waits) {
  return std::make_unique<VectorizeParallel>(waits);
}

} // namespace tilewright::ascend
