// SPDX-License-Identifier: Apache-2.0
/// Hazards in the words of users.
#pragma once

#include "compiler/passes/analysis/buffer_name.h"
#include "compiler/targets/ascend/analysis/happens_before.h"

#include <mlir/IR/Value.h>

#include <string>

namespace tilewright::ascend {

/// On inserted waits: what they are for.
inline constexpr char kWhyAttr[] = "ascend.why";
/// The same for all ends of one flag, and of no other.
inline constexpr char kWhyNumberAttr[] = "ascend.why_number";
/// On calls that are part of reading or writing an element.
inline constexpr char kOfElementAttr[] = "ascend.of_element";
/// What prints a tile or tensor.
inline constexpr llvm::StringLiteral kDump = "AscendC::DumpTensor";

/// "exp needs what T.copy to UB of an earlier iteration writes"; of what isn't read, but written over, "overwrites what
/// ... writes", or "... reads". `conflicts` are those of the hazard's program, here and below.
std::string describe(const model::Hazard& hazard, const model::Conflicts& conflicts);
/// The same, with the kernel's name of the buffer: "... writes to 'a'".
std::string describeWithBuffer(const model::Hazard& hazard, const model::Conflicts& conflicts);
/// The same, with both places: "exp (line 6) needs what T.copy to UB (line 5) writes to 'a'".
std::string describeWithPlaces(const model::Hazard& hazard, const model::Conflicts& conflicts);

/// In which run a hazard is one, "for example where n is 2", or what was too large to tell whether it is; may be empty.
/// `values`: what the numbers of values that never change stand for.
std::string describe(const model::Finding& finding, const std::map<unsigned, mlir::Value>& values);

/// With places, too, as a flag's reason that only keeps one core from running ahead of the other.
std::string describeHold(const model::Hazard& hazard);

/// "event 3 from MTE2 to V".
std::string describe(const model::Flag& flag);

} // namespace tilewright::ascend
