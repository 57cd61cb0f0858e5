// SPDX-License-Identifier: Apache-2.0
// What the functions of an ELF object name, themselves or through others of the object.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_OBJECT_REFERENCES_H
#define TILEWRIGHT_TOOLS_ASCENDC_OBJECT_REFERENCES_H

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilewright::ascendc {

/// Which of its undefined functions an object's function calls.
std::set<std::string> calledFrom(const std::string& path, const std::string& function);

/// A variable that is zero until code that runs at the start of a program has given it a value, and that a kernel uses.
struct LateVariable {
  std::string symbol; ///< of the variable
  std::string kernel; ///< the symbol of the first of the kernels that uses it
};

/// Such variables of an object that was compiled with -fdata-sections.
std::vector<LateVariable> lateVariables(const std::string& path,
                                        const std::vector<std::string>& kernels);
/// By symbol, file:line of the variables of an object that was compiled with -g2. Runs nm.
std::map<std::string, std::string> placesOfVariables(const std::string& path);

} // namespace tilewright::ascendc

#endif
