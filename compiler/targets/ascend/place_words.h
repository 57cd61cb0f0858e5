// SPDX-License-Identifier: Apache-2.0
/// Places of a kernel in the words of a report.
#pragma once

#include "tilewright/place.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <string>

namespace tilewright::ascend {

/// "line 12" of the kernel's own file, "helpers.py:12" of another one, as where a macro stands; empty of an unknown place.
std::string placeWords(const Place& place, const std::string& fileOfKernel);
std::string placeWords(mlir::Operation* op);

std::string fileOf(mlir::func::FuncOp kernel);

} // namespace tilewright::ascend
