// SPDX-License-Identifier: Apache-2.0
/// MLIR's diagnostics as ours.
#pragma once

#include "tilewright/place.h"

#include "mlir/IR/Diagnostics.h"

namespace tilewright {

/// `errors` is the kind of fault that an error is: the user's where the interpreter runs a kernel,
/// internal where a pass fails after all checks.
Diagnostic convertDiagnostic(mlir::Diagnostic& from, Severity errors);

} // namespace tilewright
