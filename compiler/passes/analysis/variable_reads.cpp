// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/analysis/variable_reads.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright {
namespace {

/// How far it is looked back, so that a long kernel isn't gone through for each of its reads.
constexpr int kMostStatements = 200;

} // namespace

Value firstRead(tile::LoadOp load) {
  Value first = load.getResult();
  Value variable = load.getBuffer();
  if (load.getBuffer().getType().getSpace() != tile::MemorySpace::Var)
    return first;
  SmallVector<Operation*> writers;
  for (Operation* user : variable.getUsers()) {
    if (isa<tile::StoreOp>(user))
      writers.push_back(user);
    else if (!isa<tile::LoadOp>(user)) // its address may be anywhere
      return first;
  }
  Operation* at = load;
  for (int count = 0; count < kMostStatements; ++count) {
    Operation* before = at->getPrevNode();
    if (!before) {
      at = at->getParentOp();
      if (!isa<scf::IfOp>(at)) // a loop's turn before may have written it
        return first;
      continue;
    }
    at = before;
    if (llvm::any_of(writers, [&](Operation* writer) { return at->isAncestor(writer); }))
      return first;
    if (auto other = dyn_cast<tile::LoadOp>(at); other && other.getBuffer() == variable)
      first = other.getResult();
  }
  return first;
}

} // namespace tilewright
