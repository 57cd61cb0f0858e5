// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/convert_diagnostic.h"

#include "mlir/IR/Location.h"

namespace tilewright {

Place placeOf(mlir::Location location) {
  if (auto place = location->findInstanceOf<mlir::FileLineColLoc>())
    return {place.getFilename().str(), int32_t(place.getLine()), int32_t(place.getColumn()), 0};
  return {};
}

Diagnostic convertDiagnostic(mlir::Diagnostic& from, Severity errors) {
  Diagnostic result;
  result.severity =
      from.getSeverity() == mlir::DiagnosticSeverity::Error ? errors : Severity::Warning;
  result.place = placeOf(from.getLocation());
  result.message = from.str();
  for (mlir::Diagnostic& note : from.getNotes())
    result.notes.push_back({placeOf(note.getLocation()), note.str()});
  return result;
}

} // namespace tilewright
