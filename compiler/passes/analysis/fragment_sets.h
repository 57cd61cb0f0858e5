// SPDX-License-Identifier: Apache-2.0
/// Which fragments of a launch sets of threads must each have for themselves, and what then has no meaning.
#pragma once

#include "compiler/passes/analysis/fragment_uses.h"

#include <string>

namespace tilewright {

/// Fragments that meet in operations, and the smallest sets of threads that their uses tell apart.
struct FragmentFamily {
  llvm::SmallVector<size_t> fragments;
  llvm::SmallVector<const FragmentUse*> uses; ///< of one of them; views, too
  llvm::SmallVector<llvm::BitVector> sets;    ///< of each use: who comes there
  unsigned count = 0;                         ///< of sets

  bool has(size_t fragment) const {
    return llvm::is_contained(fragments, fragment);
  }
};

/// What a launch does that fragments can't, with a way out.
struct FragmentProblem {
  mlir::Operation* op;
  std::string message;
  mlir::Operation* other = nullptr; ///< where the threads part
  std::string note = {};
};

/// Whether threads use it that don't take part in all that is written there.
bool isOfSomeThreads(FragmentUses& uses, size_t fragment);

/// The fragments that can't stay one, in families.
std::vector<FragmentFamily> familiesOf(FragmentUses& uses, std::vector<FragmentProblem>& problems);

/// The sets that ever write a fragment of a family.
llvm::BitVector writersOf(const FragmentFamily& family, size_t fragment);

/// The stores by which an operation changes more than the family: each set of threads may do the rest with
/// fragments of its own. Nothing where it isn't so.
std::optional<llvm::SmallVector<mlir::Operation*>>
storesElsewhere(const FragmentUses& uses, const FragmentFamily& family, mlir::Operation* op);

/// Finds what several sets do together where they don't have the same numbers.
void checkFamily(FragmentUses& uses, const FragmentFamily& family, tile::LaunchOp launch,
                 std::vector<FragmentProblem>& problems);

/// Gives sets of threads fragments of their own (split_fragments.cpp); gives what can't be, and changes nothing then but
/// where fragments are made.
std::vector<FragmentProblem> splitFragments(tile::LaunchOp launch);

} // namespace tilewright
