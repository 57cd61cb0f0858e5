// SPDX-License-Identifier: Apache-2.0
// Finds functions that only the host can run. The passes of the cores need not compile what is in them.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_HOST_BODIES_H
#define TILEWRIGHT_TOOLS_ASCENDC_HOST_BODIES_H

#include "tokens.h"

#include <set>

namespace tilewright::ascendc {

using Names = std::set<std::string, std::less<>>;

/// Adds the names in a source, its macros included.
void addNames(std::string_view source, Names& names);

/// The bodies, with their brackets, of `main`, of tests of GoogleTest, and of functions that launch a kernel: what
/// stands in no class, is no template, says its type, and has no preprocessor line in it.
/// With `elsewhere`, the names in the other files of the program: also of functions that nothing else names.
std::vector<Stretch> hostBodies(std::string_view source, const std::vector<Token>& tokens,
                                const Names* elsewhere = nullptr);

} // namespace tilewright::ascendc

#endif
