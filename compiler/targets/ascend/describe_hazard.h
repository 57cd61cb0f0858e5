// SPDX-License-Identifier: Apache-2.0
/// Hazards in the words of users.
#pragma once

#include "compiler/targets/ascend/analysis/happens_before.h"

#include <string>

namespace tilewright::ascend {

/// On inserted waits: what they are for.
inline constexpr char kWhyAttr[] = "ascend.why";
/// The same for all ends of one flag, and of no other.
inline constexpr char kWhyNumberAttr[] = "ascend.why_number";

/// "exp needs what T.copy to UB of an earlier iteration writes".
std::string describe(const model::Hazard& hazard);
/// The same, with the kernel's name of the buffer: "... writes to 'a'".
std::string describeWithBuffer(const model::Hazard& hazard);

/// Of a hazard between the two steps of one copy between the cores, which go through memory of the compiler's own, what
/// the two do: "the cube core stores 'c' and the vector cores load it". Else empty.
std::string describeSteps(const model::Hazard& hazard);

/// As a flag's reason that only keeps one core from running ahead of the other.
std::string describeHold(const model::Hazard& hazard);

/// "event 3 from MTE2 to V".
std::string describe(const model::Flag& flag);

} // namespace tilewright::ascend
