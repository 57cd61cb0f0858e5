// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/cpu/split_functions.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>

namespace tilewright::cpu {
namespace {

/// Instructions of a function that is split, and of what becomes a function.
constexpr size_t kLargeFunction = 4000;
constexpr size_t kLargestPart = 800;
constexpr size_t kSmallestPart = 120;

/// Finds blocks that only one of them is entered by: those that it dominates.
class DominatedParts {
public:
  explicit DominatedParts(llvm::Function& function) : tree(function), loops(tree) {
    for (llvm::DomTreeNode* node : llvm::post_order(&tree)) {
      size_t size = node->getBlock()->size();
      for (const llvm::DomTreeNode* child : *node)
        size += sizes.lookup(child);
      sizes[node] = size;
    }
  }

  /// The first of the blocks of a largest part that is not too large; null where there is none.
  llvm::DomTreeNode* find(llvm::ArrayRef<const llvm::BasicBlock*> refused) {
    return find(tree.getRootNode(), refused);
  }

  llvm::SmallVector<llvm::BasicBlock*> blocksOf(const llvm::DomTreeNode* node) const {
    llvm::SmallVector<llvm::BasicBlock*> blocks;
    tree.getDescendants(node->getBlock(), blocks);
    return blocks;
  }

  llvm::DominatorTree tree;

private:
  llvm::DomTreeNode* find(llvm::DomTreeNode* node,
                          llvm::ArrayRef<const llvm::BasicBlock*> refused) {
    for (llvm::DomTreeNode* child : *node) {
      const size_t size = sizes.lookup(child);
      if (size < kSmallestPart)
        continue;
      if (size <= kLargestPart && cutsNoLoop(child->getBlock()) &&
          !llvm::is_contained(refused, child->getBlock()))
        return child;
      if (llvm::DomTreeNode* found = find(child, refused))
        return found;
    }
    return nullptr;
  }

  /// Whether all loops that a part with this first block is in, and doesn't hold, are large.
  bool cutsNoLoop(const llvm::BasicBlock* first) {
    const llvm::Loop* loop = loops.getLoopFor(first);
    if (loop && loop->getHeader() == first)
      loop = loop->getParentLoop();
    return !loop || isLarge(*loop);
  }

  bool isLarge(const llvm::Loop& loop) {
    size_t size = 0;
    for (const llvm::BasicBlock* block : loop.blocks())
      size += block->size();
    return size > kLargestPart;
  }

  llvm::LoopInfo loops;
  llvm::DenseMap<const llvm::DomTreeNode*, size_t> sizes;
};

} // namespace

bool splitLargeFunction(llvm::Function& function) {
  if (function.isDeclaration() || function.getInstructionCount() < kLargeFunction)
    return false;
  llvm::SmallVector<const llvm::BasicBlock*> refused;
  bool isSplit = false;
  for (;;) {
    DominatedParts parts(function);
    const llvm::DomTreeNode* first = parts.find(refused);
    if (!first)
      return isSplit;
    const llvm::CodeExtractorAnalysisCache cache(function);
    llvm::CodeExtractor extractor(parts.blocksOf(first), &parts.tree);
    llvm::Function* made = extractor.isEligible() ? extractor.extractCodeRegion(cache) : nullptr;
    if (made) {
      made->setLinkage(llvm::GlobalValue::InternalLinkage);
      isSplit = true;
    } else {
      refused.push_back(first->getBlock());
    }
  }
}

} // namespace tilewright::cpu
