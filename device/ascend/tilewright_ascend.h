// SPDX-License-Identifier: Apache-2.0
// What emitted Ascend C includes: short sequences of instructions that are one statement of a kernel.
// C++17; nothing in it but the documented Ascend C of arch 2201.
#ifndef TILEWRIGHT_ASCEND_H
#define TILEWRIGHT_ASCEND_H

#include "kernel_operator.h"

// On the host each instruction knows the place of the statement, so that findings name it.
#ifdef TILEWRIGHT_ASCEND
#define TW_PLACE , ::tilewright::ascend::Place place = ::tilewright::ascend::Place::here()
#define TW_HERE , place
// ... and its findings name the kernel's tensors.
#define TW_TENSOR(number) , number
#define TW_NAME_TENSOR(tensor, ...) tensor.twName(__VA_ARGS__)
/// Ends the kernel with a sentence where the condition is false.
#define TW_REQUIRE(condition, ...)                                                                 \
  ((condition) ? (void)0                                                                           \
               : ::AscendC::twFailRequirement(::tilewright::ascend::Place::here(), __VA_ARGS__))
/// Gives each turn of a loop without a bound a place, also where its body leaves nothing to be done.
#define TW_TURN() asm volatile("nop")
#define TW_TENSOR_NAMES(names) ::tilewright::ascend::tilewrightAscendTensorNames(names)
/// Ends the kernel if a part leaves its tile: `TW_PART(name, is written, is transposed, {{first, extent, size}, ..}, {})`.
#define TW_PART(...) ::AscendC::twRequirePart(::tilewright::ascend::Place::here(), __VA_ARGS__)
#else
#define TW_PLACE
#define TW_HERE
#define TW_TENSOR(number)
#define TW_NAME_TENSOR(tensor, ...)
#define TW_REQUIRE(...) ascendc_assert(__VA_ARGS__)
#define TW_TURN()
#define TW_TENSOR_NAMES(names)
#define TW_PART(...)
#endif

#include "tilewright_cube.h"
#include "tilewright_raw.h"
#include "tilewright_scalar.h"
#include "tilewright_transfer.h"
#include "tilewright_vector.h"

#endif
