// SPDX-License-Identifier: Apache-2.0
// From the caller's arguments to the machine.
#include "compiler/interpreter/interpret.h"
#include "compiler/interpreter/machine.h"

#include "mlir/IR/AffineMap.h"

#include <functional>
#include <numeric>

namespace tilewright::interpreter {
namespace {

/// Finds the symbols from shapes and strides: a dim that is one unknown symbol times a constant plus known
/// terms gives it. Repeats as long as anything is found.
mlir::LogicalResult solveSymbols(mlir::func::FuncOp kernel, llvm::ArrayRef<Argument> arguments,
                                 llvm::SmallVectorImpl<std::optional<int64_t>>& symbols) {
  auto evaluate = [&](mlir::AffineExpr expression, llvm::ArrayRef<int64_t> values) {
    llvm::SmallVector<mlir::AffineExpr> replacements;
    for (int64_t value : values)
      replacements.push_back(mlir::getAffineConstantExpr(value, kernel.getContext()));
    auto folded = mlir::dyn_cast<mlir::AffineConstantExpr>(
        mlir::simplifyAffineExpr(expression.replaceSymbols(replacements), 0, symbols.size()));
    return folded ? folded.getValue() : 0;
  };
  auto isDivided = [](mlir::AffineExpr expression) {
    bool found = false;
    expression.walk([&](mlir::AffineExpr part) {
      found |= part.getKind() == mlir::AffineExprKind::FloorDiv ||
               part.getKind() == mlir::AffineExprKind::CeilDiv ||
               part.getKind() == mlir::AffineExprKind::Mod;
    });
    return found;
  };
  auto solve = [&](mlir::AffineExpr expression, int64_t extent) {
    if (isDivided(expression))
      return false;
    int unknown = -1;
    llvm::SmallVector<int64_t> zero, one, two;
    for (auto [number, value] : llvm::enumerate(symbols)) {
      bool isUnknown = !value && expression.isFunctionOfSymbol(number);
      if (isUnknown && unknown >= 0)
        return false;
      if (isUnknown)
        unknown = int(number);
      zero.push_back(value.value_or(0));
      one.push_back(value.value_or(isUnknown ? 1 : 0));
      two.push_back(value.value_or(isUnknown ? 2 : 0));
    }
    if (unknown < 0)
      return false;
    int64_t base = evaluate(expression, zero), slope = evaluate(expression, one) - base;
    if (slope == 0 || (extent - base) % slope != 0 || evaluate(expression, two) - base != 2 * slope)
      return false;
    symbols[unknown] = (extent - base) / slope;
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [number, argument] : llvm::enumerate(arguments)) {
      auto* tensor = std::get_if<TensorArgument>(&argument);
      auto solveAll = [&](llvm::StringRef attribute, llvm::ArrayRef<int64_t> values) {
        if (auto map = kernel.getArgAttrOfType<mlir::AffineMapAttr>(number, attribute))
          for (auto [expression, value] : llvm::zip(map.getValue().getResults(), values))
            changed |= solve(expression, value);
      };
      if (tensor) {
        solveAll(tile::kShapeAttr, tensor->shape);
        solveAll(tile::kStridesAttr, tensor->strides);
      }
    }
  }
  // One that the body doesn't read needs none: it is that of a tensor that isn't there.
  size_t next = 0;
  for (unsigned number = 0; number < kernel.getNumArguments(); ++number)
    if (kernel.getArgAttr(number, tile::kSymbolAttr)) {
      std::optional<int64_t>& symbol = symbols[next++];
      if (!symbol && kernel.getArgument(number).use_empty())
        symbol = 0;
    }
  return mlir::success(llvm::all_of(symbols, [](auto& symbol) { return symbol.has_value(); }));
}

} // namespace

mlir::LogicalResult Machine::bind(llvm::ArrayRef<Argument> arguments) {
  llvm::SmallVector<std::optional<int64_t>> symbols;
  size_t count = 0;
  for (unsigned number = 0; number < kernel.getNumArguments(); ++number)
    if (kernel.getArgAttr(number, tile::kSymbolAttr))
      symbols.emplace_back();
    else
      ++count;
  if (arguments.size() != count)
    return kernel.emitError("kernel takes ") << count << " arguments but got " << arguments.size();
  if (failed(solveSymbols(kernel, arguments, symbols)))
    return kernel.emitError("the shapes of the arguments don't give every symbol a value");
  llvm::DenseMap<void*, std::shared_ptr<Storage>> storages; // one for a tensor that is given twice
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    mlir::Value value = kernel.getArgument(number);
    if (auto* tensor = std::get_if<TensorArgument>(&argument)) {
      auto type = llvm::dyn_cast<tile::BufferType>(value.getType());
      if (!type || type.getRank() != int64_t(tensor->shape.size()))
        return kernel.emitError("argument ")
               << number << " is a tensor of rank " << tensor->shape.size() << " but its type is "
               << value.getType();
      if (!tensor->strides.empty() && tensor->strides.size() != tensor->shape.size())
        return kernel.emitError("argument ")
               << number << " has " << tensor->shape.size() << " dims but "
               << tensor->strides.size() << " strides";
      auto name = kernel.getArgAttrOfType<mlir::StringAttr>(number, tile::kNameAttr);
      std::shared_ptr<Storage>& storage = storages[tensor->data];
      if (!storage && tensor->isFresh)
        storage =
            std::make_shared<Storage>(tensor->data,
                                      std::accumulate(tensor->shape.begin(), tensor->shape.end(),
                                                      int64_t(1), std::multiplies<>()),
                                      type.getElementBits());
      else if (!storage)
        storage = std::make_shared<Storage>(tensor->data);
      BufferValue bound{type, llvm::to_vector(tensor->shape), llvm::to_vector(tensor->strides),
                        storage, name ? name.str() : "argument"};
      if (tensor->strides.empty())
        bound.strides = rowMajorStrides(bound.shape);
      launchBuffers.try_emplace(value, std::move(bound));
      continue;
    }
    if (llvm::isa<tile::BufferType>(value.getType()))
      return kernel.emitError("argument ")
             << number << " is a number but its type is " << value.getType();
    Scalar bound;
    if (auto* integer = std::get_if<int64_t>(&argument))
      bound = {wrapTo(value.getType(), *integer), double(*integer)};
    else
      bound.real = std::get<double>(argument);
    if (auto real = llvm::dyn_cast<mlir::FloatType>(value.getType()))
      bound.real = roundTo(real, bound.real);
    launchScalars[value] = bound;
  }
  for (auto [number, symbol] : llvm::enumerate(symbols))
    launchScalars[kernel.getArgument(count + number)] = {*symbol, 0};
  return mlir::success();
}

void Machine::tellUnwritten(llvm::ArrayRef<Argument> arguments) {
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    auto* tensor = std::get_if<TensorArgument>(&argument);
    if (!tensor || !tensor->isFresh || !tensor->isResult)
      continue;
    const BufferValue& result = launchBuffers[kernel.getArgument(number)];
    int64_t count = 0, unwritten = 0;
    llvm::SmallVector<int64_t> first;
    (void)forEachPosition(result.shape, [&](llvm::ArrayRef<int64_t> position) {
      ++count;
      if (result.storage->isWritten(result.bitOffset(position), result.type.getElementBits()))
        return mlir::success();
      if (unwritten++ == 0)
        first = llvm::to_vector(position);
      return mlir::success();
    });
    if (unwritten == 0)
      continue;
    auto warning = mlir::emitWarning(kernel.getArgument(number).getLoc()) << "'" << result.name;
    if (unwritten == count)
      warning << "' is given back, but nothing has written it: its " << count
              << (count == 1 ? " element holds" : " elements hold");
    else {
      warning << "' is given back, but " << unwritten << " of its " << count
              << " elements were never written, the first of them [";
      llvm::interleaveComma(first, warning);
      warning << (unwritten == 1 ? "]: it holds" : "]: they hold");
    }
    warning << " what was in memory before";
  }
}

mlir::LogicalResult interpret(mlir::func::FuncOp kernel, llvm::ArrayRef<Argument> arguments,
                              const InterpretOptions& options) {
  Machine machine(kernel, options);
  if (failed(machine.bind(arguments)) || failed(machine.run()))
    return mlir::failure();
  machine.tellUnwritten(arguments);
  return mlir::success();
}

} // namespace tilewright::interpreter
