// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/place_of.h"

namespace tilewright {

Place placeOf(mlir::Location location) {
  // A FileLineColLoc is a range that ends where it starts.
  auto range = location->findInstanceOf<mlir::FileLineColRange>();
  if (!range)
    return {};
  auto start = int32_t(range.getStartColumn()), end = int32_t(range.getEndColumn());
  bool isOnOneLine = range.getEndLine() == range.getStartLine();
  return {range.getFilename().str(), int32_t(range.getStartLine()), start,
          isOnOneLine && end > start ? end : 0};
}

std::vector<Note> callSitesOf(mlir::Location location) {
  std::vector<Note> notes;
  // From the outside in: call sites nest in the names of the macros that they call.
  for (;;) {
    if (auto name = mlir::dyn_cast<mlir::NameLoc>(location)) {
      location = name.getChildLoc();
      continue;
    }
    auto call = mlir::dyn_cast<mlir::CallSiteLoc>(location);
    if (!call)
      return notes;
    auto name = mlir::dyn_cast<mlir::NameLoc>(call.getCallee());
    std::string called = name ? "'" + name.getName().str() + "', " : "";
    notes.insert(notes.begin(),
                 {placeOf(call.getCaller()), "in the macro " + called + "called here"});
    location = call.getCallee();
  }
}

} // namespace tilewright
