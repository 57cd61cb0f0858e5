// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/convert_diagnostic.h"

#include "compiler/ir/place_of.h"

namespace tilewright {

Diagnostic convertDiagnostic(mlir::Diagnostic& from, Severity errors) {
  Diagnostic result;
  result.severity =
      from.getSeverity() == mlir::DiagnosticSeverity::Error ? errors : Severity::Warning;
  result.place = placeOf(from.getLocation());
  result.message = from.str();
  for (mlir::Diagnostic& note : from.getNotes())
    result.notes.push_back({placeOf(note.getLocation()), note.str()});
  for (Note& site : callSitesOf(from.getLocation()))
    result.notes.push_back(std::move(site));
  return result;
}

} // namespace tilewright
