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

struct Finished {
  bool isWell = false;  ///< it ended with 0
  std::string messages; ///< what it printed on stderr
};
std::vector<Finished> runEach(const std::vector<Command>& commands, bool verbose);

/// The messages of several compilations of one source: each error or warning once, with what belongs to it.
std::string withoutRepetition(const std::vector<std::string>& messages);

} // namespace tilewright::ascendc

#endif
