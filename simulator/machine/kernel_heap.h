// SPDX-License-Identifier: Apache-2.0
// The memory that a kernel's code takes with malloc or new. A core has no heap; that of the host would let a kernel
// damage what the machine itself has there. So kernels have one of their own, in which the first pieces
// of a core, and large ones, end where pages begin that fault: a write past their end, or to what was freed, stops the
// kernel at its line. Of the many others (heap_slabs.h) it is found later.
#ifndef TILEWRIGHT_SIMULATOR_MACHINE_KERNEL_HEAP_H
#define TILEWRIGHT_SIMULATOR_MACHINE_KERNEL_HEAP_H

#include "simulator/machine/kernel_api.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilewright::ascend {

struct CoreHeap;

/// For a core that takes no more. `keeps`: its kernel has ended well, and what it has not freed may be in use by others;
/// a kernel that was ended has had no chance to free anything.
void endHeap(CoreHeap*& heap, bool keeps);
/// What is wrong with an access to `address`, if it belongs to a piece or to what is around one; else empty.
std::string sentenceOfHeapFault(const void* address);
/// Of all pieces, for the state of a kernel. 0 if somebody takes or gives memory now.
uint64_t fingerprintOfKernelHeap();

// What tilewright-ascendc puts in the place of the C and C++ functions in a kernel's code.
extern "C" TILEWRIGHT_EXPORT void* tilewrightKernelMalloc(size_t bytes);
extern "C" TILEWRIGHT_EXPORT void* tilewrightKernelCalloc(size_t count, size_t bytes);
extern "C" TILEWRIGHT_EXPORT void* tilewrightKernelRealloc(void* piece, size_t bytes);
extern "C" TILEWRIGHT_EXPORT void* tilewrightKernelAligned(size_t alignment, size_t bytes);
extern "C" TILEWRIGHT_EXPORT int tilewrightKernelMemalign(void** piece, size_t alignment,
                                                          size_t bytes);
/// These two throw std::bad_alloc.
extern "C" TILEWRIGHT_EXPORT void* tilewrightKernelNew(size_t bytes);
extern "C" TILEWRIGHT_EXPORT void* tilewrightKernelNewAligned(size_t bytes, size_t alignment);
/// Takes what a library has made with malloc, too.
extern "C" TILEWRIGHT_EXPORT void tilewrightKernelFree(void* piece);

} // namespace tilewright::ascend

#endif
