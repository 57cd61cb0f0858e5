// SPDX-License-Identifier: Apache-2.0
#include "instantiations.h"

#include <cstdlib>
#include <cxxabi.h>

namespace tilewright::ascendc {

namespace {

/// The first of `wanted` behind `from` that is in no angle brackets.
size_t findOutside(const std::string& text, char wanted, size_t from = 0) {
  int depth = 0;
  for (size_t i = from; i < text.size(); ++i) {
    if (text[i] == wanted && depth == 0)
      return i;
    depth += (text[i] == '<') - (text[i] == '>');
  }
  return std::string::npos;
}

} // namespace

std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) // `a` would be taken for the code of a type, signed char
    return symbol;
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  if (!text)
    return symbol;
  std::string name(text);
  std::free(text);
  const std::string unnamed = "(anonymous namespace)::";
  for (size_t at; (at = name.find(unnamed)) != std::string::npos;)
    name.erase(at, unnamed.size());
  return name;
}

std::string plainName(const std::string& symbol) {
  std::string name = demangled(symbol), kept;
  name = name.substr(0, findOutside(name, '('));
  int depth = 0;
  for (char c : name) {
    depth += (c == '<') - (c == '>');
    if (c != '>' && depth == 0)
      kept += c;
  }
  size_t cut = kept.find_last_of(": ");
  return cut == std::string::npos ? kept : kept.substr(cut + 1);
}

std::optional<std::string> addressOf(const std::string& symbol) {
  std::string whole = demangled(symbol);
  size_t open = findOutside(whole, '(');
  if (open == std::string::npos)
    return "&::" + whole; // extern "C"
  if (whole.find_first_of("{#'") != std::string::npos || whole.find(")::") != std::string::npos)
    return {};
  std::string name = whole.substr(0, open);
  if (size_t type = findOutside(name, ' '); type != std::string::npos)
    name = name.substr(type + 1);
  return "static_cast<void (*)" + whole.substr(open) + ">(&" +
         (name.starts_with("::") ? "" : "::") + name + ")";
}

std::optional<std::string> instantiationsOf(const std::vector<std::string>& functions,
                                            const KernelKinds& kernels) {
  std::string text = "\n#line 1 \"made by tilewright-ascendc\"\nnamespace tilewright::start {\n";
  size_t count = 0;
  for (const std::string& symbol : functions) {
    if (!kernels.count(plainName(symbol)))
      continue;
    std::string whole = demangled(symbol);
    size_t open = findOutside(whole, '(');
    if (open == std::string::npos || open == 0 || whole[open - 1] != '>')
      continue; // no template
    std::optional<std::string> address = addressOf(symbol);
    if (!address)
      return {};
    text += "__attribute__((used)) static auto* const kernel" + std::to_string(count++) + " = " +
            *address + ";\n";
  }
  return text + "}\n";
}

std::string signaturesText(const std::vector<std::string>& kernels, std::string& error) {
  std::string rows;
  for (const std::string& symbol : kernels) {
    if (std::optional<std::string> address = addressOf(symbol))
      rows += "    ::tilewright::ascend::signatureOf(" + *address + "),\n";
    else
      error += "error: kernel '" + demangled(symbol) +
               "' has a type without a name, so that nobody could load it by name\n";
  }
  return "\n#line 1 \"made by tilewright-ascendc\"\nnamespace tilewright::start {\n"
         "static const ::tilewright::ascend::KernelSignature signatures[] = {\n" +
         rows +
         "};\n__attribute__((constructor)) static void startSignatures() {\n"
         "  ::tilewright::ascend::registerSignatures(signatures, signatures + " +
         std::to_string(kernels.size()) + ");\n}\n}\n";
}

} // namespace tilewright::ascendc
