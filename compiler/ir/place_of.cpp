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

llvm::StringRef nameOf(mlir::Location location) {
  // The names of macros stand further in, at their call sites.
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(location))
    return name.getName();
  if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location))
    for (mlir::Location part : fused.getLocations())
      if (llvm::StringRef name = nameOf(part); !name.empty())
        return name;
  return "";
}

mlir::Location named(llvm::StringRef name, mlir::Location location) {
  return mlir::NameLoc::get(mlir::StringAttr::get(location.getContext(), name), location);
}

std::vector<Note> callSitesOf(mlir::Location location) {
  std::vector<Note> notes;
  // From the outside in: call sites nest in the names of the macros that they call.
  for (;;) {
    if (auto name = mlir::dyn_cast<mlir::NameLoc>(location)) {
      location = name.getChildLoc();
      continue;
    }
    if (auto fused = mlir::dyn_cast<mlir::FusedLoc>(location)) {
      location = fused.getLocations().front();
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
