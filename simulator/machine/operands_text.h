// SPDX-License-Identifier: Apache-2.0
// What reports say of an instruction beside the sentence: its pipe, its operands with their memories and addresses, and
// what to change.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_OPERANDS_TEXT_H
#define TILEWRIGHT_SIMULATOR_MACHINE_OPERANDS_TEXT_H

#include "simulator/isa/instruction.h"

#include <string>
#include <variant>

namespace tilewright::ascend {

using InstrRef =
    std::variant<std::monostate, const VectorInstr*, const CopyInstr*, const CubeInstr*>;

/// "on PIPE_V: dst is UB from byte 0 on (1024 bytes), ..."; bytes only where they are known, and the tensor's name
/// where the kernel has one (`tensorNames`: LaunchRequest).
std::string operandsText(Pipe pipe, InstrRef instr, const char* tensorNames);

/// What to do about `wrong`, a sentence of isa::inspect.
std::string adviceFor(const std::string& wrong);

} // namespace tilewright::ascend

#endif
