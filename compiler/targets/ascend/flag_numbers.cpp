// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/flag_numbers.h"

#include <algorithm>

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// What a term is in each of its turns. A loop of known length takes the next number each time, as if that came again
/// after all of its turns.
std::optional<model::Term> inItsTurns(model::Term term, const model::Program& program) {
  if (term.loop >= program.nodes.size())
    return std::nullopt;
  if (term.modulus == 0) {
    const int64_t all = program.nodes[term.loop].trips;
    if (all < 0 || all > kMostInTable)
      return std::nullopt;
    term.modulus = std::max<int64_t>(all, 1);
  }
  if (term.modulus > kMostInTable)
    return std::nullopt;
  std::vector<int64_t> table;
  table.reserve(static_cast<size_t>(term.modulus));
  for (int64_t rest = 0; rest < term.modulus; ++rest)
    table.push_back(term.bytes * term.ofRest(rest));
  term.bytes = 1;
  term.table = std::move(table);
  return term;
}

bool isInOrder(ArrayRef<int64_t> table) {
  for (size_t turn = 0; turn < table.size(); ++turn)
    if (table[turn] != int64_t(turn))
      return false;
  return true;
}

} // namespace

std::optional<FlagNumber> flagNumber(std::optional<IndexSum> number, const model::Program& program,
                                     int64_t last) {
  if (!number)
    return std::nullopt;
  number->simplify();
  FlagNumber result{number->constant, {}};
  int64_t most = 0;
  for (const model::Term& each : number->terms) {
    std::optional<model::Term> term = inItsTurns(each, program);
    if (!term)
      return std::nullopt;
    const auto [low, high] = std::ranges::minmax(term->table);
    result.least += low;
    most += high - low;
    for (int64_t& of : term->table)
      of -= low;
    if (isInOrder(term->table))
      term->table.clear();
    if (low != high)
      result.turns.push_back(*std::move(term));
  }
  const bool isOne = result.least >= 0 && result.least + most <= last;
  return isOne ? std::optional(std::move(result)) : std::nullopt;
}

} // namespace tilewright::ascend
