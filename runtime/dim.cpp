// SPDX-License-Identifier: Apache-2.0
// Extents and strides as expressions of symbols.
#include "runtime/manifest.h"

namespace tilewright::runtime {

namespace {

bool apply(Dim::Operation operation, int64_t left, int64_t right, int64_t& result) {
  switch (operation) {
  case Dim::Operation::Add:
    return !__builtin_add_overflow(left, right, &result);
  case Dim::Operation::Multiply:
    return !__builtin_mul_overflow(left, right, &result);
  default:
    break;
  }
  if (right <= 0)
    return false;
  const int64_t remainder = left % right, below = left / right - (remainder < 0 ? 1 : 0);
  if (operation == Dim::Operation::Modulo)
    result = remainder < 0 ? remainder + right : remainder;
  else
    result = operation == Dim::Operation::CeilDivide && remainder != 0 ? below + 1 : below;
  return true;
}

const char* symbolOf(Dim::Operation operation) {
  switch (operation) {
  case Dim::Operation::Add:
    return " + ";
  case Dim::Operation::Multiply:
    return "*";
  case Dim::Operation::FloorDivide:
    return " // ";
  case Dim::Operation::Modulo:
    return " % ";
  default:
    return " ceildiv ";
  }
}

bool isLeaf(Dim::Operation operation) {
  return operation == Dim::Operation::Constant || operation == Dim::Operation::Symbol;
}

std::string codeText(std::span<const Dim::Step> code, std::span<const std::string> symbols) {
  struct Part {
    std::string text;
    bool isLeaf;
  };
  std::vector<Part> stack;
  for (const Dim::Step& step : code) {
    if (isLeaf(step.operation)) {
      const bool isSymbol = step.operation == Dim::Operation::Symbol;
      stack.push_back({isSymbol ? symbols[size_t(step.value)] : std::to_string(step.value), true});
      continue;
    }
    const Part right = std::move(stack.back());
    stack.pop_back();
    auto bracketed = [](const Part& part) {
      return part.isLeaf ? part.text : "(" + part.text + ")";
    };
    stack.back() = {bracketed(stack.back()) + symbolOf(step.operation) + bracketed(right), false};
  }
  return stack.back().text;
}

} // namespace

bool Dim::evaluate(std::span<const int64_t> symbols, int64_t& value) const {
  if (!code.empty()) {
    std::vector<int64_t> stack;
    for (const Step& step : code) {
      if (isLeaf(step.operation)) {
        stack.push_back(step.operation == Operation::Symbol ? symbols[size_t(step.value)]
                                                            : step.value);
        continue;
      }
      const int64_t right = stack.back();
      stack.pop_back();
      if (!apply(step.operation, stack.back(), right, stack.back()))
        return false;
    }
    value = stack.back();
    return true;
  }
  value = constant;
  bool overflows = false;
  for (auto [coefficient, symbol] : terms) {
    int64_t term = symbols[size_t(symbol)];
    if (isProduct) {
      overflows |= __builtin_mul_overflow(value, term, &value);
      continue;
    }
    overflows |= __builtin_mul_overflow(coefficient, term, &term);
    overflows |= __builtin_add_overflow(value, term, &value);
  }
  return !overflows;
}

std::string Dim::text(std::span<const std::string> symbols) const {
  if (!code.empty())
    return codeText(code, symbols);
  std::string result;
  if (isProduct && constant != 1)
    result = std::to_string(constant);
  for (auto [coefficient, symbol] : terms) {
    const std::string& name = symbols[size_t(symbol)];
    if (isProduct) {
      result += (result.empty() ? "" : "*") + name;
      continue;
    }
    result += result.empty() ? (coefficient < 0 ? "-" : "") : (coefficient < 0 ? " - " : " + ");
    const int64_t size = coefficient < 0 ? -coefficient : coefficient;
    result += (size == 1 ? "" : std::to_string(size) + "*") + name;
  }
  if (!isProduct && (constant != 0 || result.empty()))
    result += (result.empty() ? "" : " + ") + std::to_string(constant);
  return result;
}

} // namespace tilewright::runtime
