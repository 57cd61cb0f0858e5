// SPDX-License-Identifier: Apache-2.0
// System calls that a kernel's code makes itself, by an instruction: they could end the program or its thread without a
// word, or start a process. Linux can hand them to a handler.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_SYSTEM_CALLS_H
#define TILEWRIGHT_SIMULATOR_MACHINE_SYSTEM_CALLS_H

#include <csignal>

namespace tilewright::ascend {

/// From now on, or no longer, the calling thread gets SIGSYS for system calls outside of the C library while
/// catchSystemCalls is on. False if the system can't do it.
bool watchSystemCalls(bool isOn);
/// Whether Linux keeps the number of the processor in the calling thread's memory (restartable sequences). It ends a program
/// that has damaged that place, before any handler; the C library does without. True if it has changed.
bool watchProcessorNumber(bool isOn);
/// For the calling thread, while a kernel's code runs on it.
void catchSystemCalls(bool isOn);
/// From the handler: makes the call for those who may.
void passSystemCall(const siginfo_t& info, void* context);
/// The code at the address lies in the same file as `kernelCode`.
bool isInKernelsFile(const void* address, const void* kernelCode);

} // namespace tilewright::ascend

#endif
