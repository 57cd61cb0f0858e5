// SPDX-License-Identifier: Apache-2.0
// The headers of older builds: `#include "aclrtlaunch_add.h"` declares the kernel `add` of another source, so that a
// host program can launch it as ACLRT_LAUNCH_KERNEL(add)(blocks, stream, arguments...).
#ifndef TILEWRIGHT_TOOLS_ASCENDC_LAUNCH_HEADERS_H
#define TILEWRIGHT_TOOLS_ASCENDC_LAUNCH_HEADERS_H

#include <map>
#include <string>
#include <string_view>

namespace tilewright::ascendc {

/// By their file names, the headers for the kernels of a source; none for kernels that are templates.
std::map<std::string, std::string> launchHeadersOf(std::string_view source);

} // namespace tilewright::ascendc

#endif
