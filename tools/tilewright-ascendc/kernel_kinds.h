// SPDX-License-Identifier: Apache-2.0
// Which cores a kernel takes: what its source says, in itself, in functions that it calls, or at file level; else what
// it does.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_KERNEL_KINDS_H
#define TILEWRIGHT_TOOLS_ASCENDC_KERNEL_KINDS_H

#include "object_file.h"
#include "object_references.h"

#include <set>
#include <string>
#include <vector>

namespace tilewright::ascendc {

/// The rows of the kernel that `row` has but for its kinds. `objects` and their symbols are those of the host, the cube
/// pass and the vector pass. Not `isSure`: it may be another function. Adds to `used` the
/// symbols of the marks that hold for it.
std::vector<TableRow> rowsOfKernel(const TableRow& row, bool isSure, const std::string& source,
                                   ObjectReferences objects[3], const ObjectSymbols symbols[3],
                                   std::set<std::string>& used, std::string& errors);

/// Of kinds that hold for no kernel.
std::string warningsOfKinds(const ObjectSymbols symbols[3], const std::set<std::string>& used);

} // namespace tilewright::ascendc

#endif
