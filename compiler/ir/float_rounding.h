// SPDX-License-Identifier: Apache-2.0
/// Numbers in the formats of floats: what a conversion gives.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

#include <cstdint>

namespace tilewright {

/// The nearest number of the format, ties to even. What is too large gives infinity, and in a format of less than 16
/// bits its largest number, as NaN does where it has none. Not of float8_e8m0fnu.
llvm::APFloat nearestNumber(mlir::FloatType type, double value);

/// float8_e8m0fnu holds powers of 2 from -127 on by their exponents, and NaN as 255. APFloat isn't asked: it
/// has no ties to even for it, and takes NaN for 2^127. The nearest power of 2, from 1.5 on the upper one; NaN for
/// what is below 0, which the format can't say (OCP Microscaling 1.0, 5.4.1).
uint64_t codeOfPower(double value);
double powerOfCode(uint64_t code);

} // namespace tilewright
