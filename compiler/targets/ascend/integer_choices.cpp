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
         unsigned most)
      : simplex(variables), choices(choices), variables(variables), left(most) {}

  void add(const LinearSum& sum) {
    if (!sum.hasRoom)
      return;
    using llvm::DynamicAPInt; // an int64_t that is assigned to one is cut to 32 bits
    llvm::SmallVector<DynamicAPInt> row(variables + 1, DynamicAPInt(0));
    for (const auto& [variable, factor] : sum.factors)
      row[variable] = DynamicAPInt(factor);
    row[variables] = DynamicAPInt(sum.constant);
    simplex.addInequality(row);
  }

  bool isImpossible(size_t choice = 0) {
    if (simplex.isEmpty())
      return true;
    if (choice == choices.size() || left == 0)
      return false;
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
  Simplex simplex;
  const std::vector<std::vector<std::vector<LinearSum>>>& choices;
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
  Search search(variables, choices, most);
  for (const LinearSum& sum : required)
    search.add(sum);
  return search.isImpossible();
}

} // namespace tilewright::ascend
