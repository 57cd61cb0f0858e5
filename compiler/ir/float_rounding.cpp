// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/float_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {

static constexpr int kLeastPower = -127, kNanCode = 255;

uint64_t codeOfPower(double value) {
  if (std::isnan(value) || value < 0)
    return kNanCode;
  int exponent = kLeastPower;
  if (std::isinf(value))
    exponent = -kLeastPower;
  else if (value > 0)
    exponent = std::ilogb(value) + (std::scalbn(value, -std::ilogb(value)) >= 1.5 ? 1 : 0);
  return uint64_t(std::clamp(exponent, kLeastPower, -kLeastPower) - kLeastPower);
}

double powerOfCode(uint64_t code) {
  return code == kNanCode ? std::numeric_limits<double>::quiet_NaN()
                          : std::scalbn(1.0, int(code) + kLeastPower);
}

llvm::APFloat nearestNumber(mlir::FloatType type, double value) {
  const llvm::fltSemantics& format = type.getFloatSemantics();
  if (std::isnan(value) && !llvm::APFloat::semanticsHasNaN(format))
    return llvm::APFloat::getLargest(format);
  llvm::APFloat number(value);
  bool losesInfo = false;
  number.convert(format, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  if (type.getWidth() < 16 && !std::isnan(value) && !number.isFinite())
    return llvm::APFloat::getLargest(format, std::signbit(value));
  return number;
}

} // namespace tilewright
