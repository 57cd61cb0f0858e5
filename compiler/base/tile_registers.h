// SPDX-License-Identifier: Apache-2.0
/// The tile registers of AMX, which Linux gives only to processes that ask for them.
#pragma once

#include <string>

namespace tilewright {

/// The system call by which a process asks: 0, or -1 and errno.
using TileRequest = int (*)();
int askForTiles();

/// Whether this process may use tile registers from now on, in all of its threads. If not, `reason` says why.
bool mayUseTiles(std::string& reason, TileRequest ask = askForTiles);

} // namespace tilewright
