// SPDX-License-Identifier: Apache-2.0
// `[aicore]`, `[host, aicore]`: where a function runs, as the compiler of the chip has it in brackets.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_DEVICE_ATTRIBUTES_H
#define TILEWRIGHT_TOOLS_ASCENDC_DEVICE_ATTRIBUTES_H

#include <string>
#include <string_view>

namespace tilewright::ascendc {

/// The source with blanks in their places. Subscripts, captures and bindings with such names stay.
std::string withoutDeviceAttributes(std::string_view source);

} // namespace tilewright::ascendc

#endif
