// SPDX-License-Identifier: Apache-2.0
// Templates of kernels get their arguments where the host launches them. The passes of the cores, which don't have
// these functions, are told from the host's object.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_INSTANTIATIONS_H
#define TILEWRIGHT_TOOLS_ASCENDC_INSTANTIATIONS_H

#include "rewrite.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::ascendc {

/// The name in C++, without `(anonymous namespace)::`, which no source can say and none needs to.
std::string demangled(const std::string& symbol);

/// `ns::k<int>(unsigned char*)` is a kernel called `k`.
std::string plainName(const std::string& symbol);

/// C++ for the address of the kernel with that symbol; nothing if a type of it has no name that could be written there:
/// a lambda's, or one of a function.
std::optional<std::string> addressOf(const std::string& symbol);

/// C++ that makes the same kernels of templates as the host has among its `functions`; nothing if a type of one has no
/// name that could be written there.
std::optional<std::string> instantiationsOf(const std::vector<std::string>& functions,
                                            const KernelKinds& kernels);

/// C++ for the host's pass that tells the parameters of kernels, for those who load them by name. Adds to `error`.
std::string signaturesText(const std::vector<std::string>& kernels, std::string& error);

} // namespace tilewright::ascendc

#endif
