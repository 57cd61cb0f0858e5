// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/place_words.h"

#include "compiler/ir/place_of.h"

#include <llvm/Support/Path.h>

namespace tilewright::ascend {

std::string fileOf(mlir::func::FuncOp kernel) {
  return kernel ? placeOf(kernel.getLoc()).file : std::string();
}

std::string placeWords(const Place& place, const std::string& fileOfKernel) {
  if (place.line <= 0)
    return "";
  const std::string number = std::to_string(place.line);
  if (place.file == fileOfKernel || fileOfKernel.empty())
    return "line " + number;
  // Of files that are called the same, the whole path.
  const llvm::StringRef name = llvm::sys::path::filename(place.file);
  const bool isAlike = name == llvm::sys::path::filename(fileOfKernel);
  return (isAlike ? place.file : name.str()) + ":" + number;
}

std::string placeWords(mlir::Operation* op) {
  auto kernel = llvm::dyn_cast<mlir::func::FuncOp>(op);
  return placeWords(placeOf(op->getLoc()),
                    fileOf(kernel ? kernel : op->getParentOfType<mlir::func::FuncOp>()));
}

} // namespace tilewright::ascend
