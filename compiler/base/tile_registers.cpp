// SPDX-License-Identifier: Apache-2.0
#include "compiler/base/tile_registers.h"

#include <cerrno>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace tilewright {

int askForTiles() {
#if defined(__x86_64__)
  constexpr int requestPermission = 0x1023, tileData = 18; // of Linux's <asm/prctl.h>
  return int(syscall(SYS_arch_prctl, requestPermission, tileData));
#else
  errno = ENOSYS;
  return -1;
#endif
}

bool mayUseTiles(std::string& reason, TileRequest ask) {
  if (ask() == 0)
    return true;
  switch (errno) {
  case ENOSPC: // a thread's own stack for signals would not hold the registers
    reason = "a thread's stack for signals is too small for them";
    break;
  case EINVAL:
  case ENOSYS:
  case EOPNOTSUPP:
    reason = "this machine or its system has none";
    break;
  default:
    reason = std::strerror(errno);
  }
  return false;
}

} // namespace tilewright
