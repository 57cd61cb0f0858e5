// SPDX-License-Identifier: Apache-2.0
// Reads the symbols of an ELF object, and renames those that it defines.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_OBJECT_FILE_H
#define TILEWRIGHT_TOOLS_ASCENDC_OBJECT_FILE_H

#include "kernel_table.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilewright::ascendc {

/// The kind of a kernel that says `__mix__` with numbers that there are not.
constexpr uint64_t wrongMix = 99;

struct ObjectSymbols {
  std::vector<std::string> functions;      ///< defined here and visible to others
  std::vector<std::string> localFunctions; ///< defined here for this object only
  std::vector<std::string> undefined;
  /// What KERNEL_TASK_TYPE_DEFAULT and KERNEL_TASK_TYPE left, by the symbol of the function around it, which is empty
  /// at file level, and by its own.
  std::map<std::string, std::map<std::string, KindMark>> kinds;
  std::map<std::string, uint64_t> kindsOfHeads; ///< what `__vector__` or `__cube__` of a macro said
  std::string error;                            ///< empty if the file could be read
};

ObjectSymbols readSymbols(const std::string& path);

/// Makes these local functions visible to others, under their name with `suffix`: kernels with types of unnamed
/// namespaces in their signature have names that are local to an object. Returns an error or nothing.
std::string publish(const std::string& path, const std::set<std::string>& functions,
                    const std::string& suffix);

/// Adds `suffix` to the name of each symbol that the object defines, so that two objects made of
/// the same source share nothing. Unique symbols become weak; start-up functions are dropped: they
/// belong to the host. Returns an error or nothing.
std::string privatise(const std::string& path, const std::string& suffix);

} // namespace tilewright::ascendc

#endif
