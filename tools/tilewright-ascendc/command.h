// SPDX-License-Identifier: Apache-2.0
// Starts other programs, several at a time.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_COMMAND_H
#define TILEWRIGHT_TOOLS_ASCENDC_COMMAND_H

#include <string>
#include <vector>

namespace tilewright::ascendc {

using Command = std::vector<std::string>;

/// Runs all at once; true if each ended with 0. `verbose` prints them first.
bool runAll(const std::vector<Command>& commands, bool verbose);
/// The same; for each, whether it ended with 0. What one prints on stderr goes to the file of that number in
/// `messages`, if it has a name.
std::vector<bool> runEach(const std::vector<Command>& commands,
                          const std::vector<std::string>& messages, bool verbose);

} // namespace tilewright::ascendc

#endif
