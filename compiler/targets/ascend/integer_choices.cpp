// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/integer_choices.h"

#include <mlir/Analysis/Presburger/Simplex.h>

#include <llvm/ADT/STLExtras.h>

namespace tilewright::ascend {
namespace {

using mlir::presburger::Simplex;

/// Goes through all choices, one after the other, and leaves each at once where fractions rule it out.
class Search {
public:
  Search(unsigned variables, const std::vector<std::vector<std::vector<LinearSum>>>& choices,
         const std::vector<LinearSum>& integers, unsigned most)
      : simplex(variables), choices(choices), integers(integers), variables(variables), left(most) {
  }

  void add(const LinearSum& sum) {
    if (sum.hasRoom)
      simplex.addInequality(rowOf(sum));
  }

  bool isImpossible(size_t choice = 0) {
    if (simplex.isEmpty())
      return true;
    if (choice == choices.size() || left == 0)
      return llvm::any_of(integers, [&](const LinearSum& sum) { return isBetweenIntegers(sum); });
    --left;
    return llvm::all_of(choices[choice], [&](const std::vector<LinearSum>& alternative) {
      const unsigned before = simplex.getSnapshot();
      for (const LinearSum& sum : alternative)
        add(sum);
      const bool isSo = isImpossible(choice + 1);
      simplex.rollback(before);
      return isSo;
    });
  }

private:
  llvm::SmallVector<llvm::DynamicAPInt> rowOf(const LinearSum& sum) const {
    using llvm::DynamicAPInt; // an int64_t that is assigned to one is cut to 32 bits
    llvm::SmallVector<DynamicAPInt> row(variables + 1, DynamicAPInt(0));
    for (const auto& [variable, factor] : sum.factors)
      row[variable] = DynamicAPInt(factor);
    row[variables] = DynamicAPInt(sum.constant);
    return row;
  }

  bool isBetweenIntegers(const LinearSum& sum) {
    if (!sum.hasRoom)
      return false;
    const auto [least, most] = simplex.computeIntegerBounds(rowOf(sum));
    return least.isBounded() && most.isBounded() &&
           least.getBoundedOptimum() > most.getBoundedOptimum();
  }

  Simplex simplex;
  const std::vector<std::vector<std::vector<LinearSum>>>& choices;
  const std::vector<LinearSum>& integers;
  unsigned variables, left;
};

} // namespace

LinearSum& LinearSum::add(const LinearSum& other, int64_t times) {
  hasRoom = hasRoom && other.hasRoom;
  const auto addTo = [&](int64_t& number, int64_t more) {
    int64_t product = 0;
    hasRoom = !__builtin_mul_overflow(times, more, &product) &&
              !__builtin_add_overflow(number, product, &number) && hasRoom;
    return number;
  };
  addTo(constant, other.constant);
  for (const auto& [variable, factor] : other.factors)
    if (addTo(factors[variable], factor) == 0)
      factors.erase(variable);
  return *this;
}

bool IntegerChoices::areImpossible(unsigned most) const {
  Search search(variables, choices, integers, most);
  for (const LinearSum& sum : required)
    search.add(sum);
  return search.isImpossible();
}

} // namespace tilewright::ascend
