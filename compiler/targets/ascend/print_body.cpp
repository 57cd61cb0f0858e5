// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/print_body.h"

#include "compiler/ir/index_ranges.h"
#include "compiler/ir/place_of.h"
#include "compiler/targets/ascend/operation_name.h"
#include "compiler/targets/ascend/print_scalars.h"
#include "compiler/targets/ascend/value_names.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/AffineExpr.h>

namespace tilewright::ascend {

using namespace mlir;
using tile::BufferType;

/// An affine expression of the symbols, whose names are given.
static Expression affineExpression(AffineExpr expression, ArrayRef<std::string> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return {std::to_string(constant.getValue())};
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return {symbols[symbol.getPosition()]};
  auto binary = cast<AffineBinaryOpExpr>(expression);
  const Expression left = affineExpression(binary.getLHS(), symbols);
  const Expression right = affineExpression(binary.getRHS(), symbols);
  const char* symbol = "+";
  int precedence = Expression::kSum;
  if (binary.getKind() != AffineExprKind::Add) {
    symbol = binary.getKind() == AffineExprKind::Mul   ? "*"
             : binary.getKind() == AffineExprKind::Mod ? "%"
                                                       : "/";
    precedence = Expression::kProduct;
  }
  return {left.within(precedence) + " " + symbol + " " + right.within(precedence + 1), precedence};
}

static Expression times(const Expression& left, const Expression& right) {
  if (left.text == "1")
    return right;
  if (right.text == "1")
    return left;
  int64_t a = 0, b = 0;
  if (llvm::to_integer(left.text, a) && llvm::to_integer(right.text, b))
    return {std::to_string(a * b)};
  return {left.within(Expression::kProduct) + " * " + right.within(Expression::kProduct + 1),
          Expression::kProduct};
}

static std::vector<Expression> denseStrides(ArrayRef<Expression> shape) {
  std::vector<Expression> strides(shape.size());
  Expression stride{"1"};
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride = times(shape[dim], stride);
  }
  return strides;
}

void BodyPrinter::bindTensor(Value value, const tile::KernelArgument& argument,
                             ArrayRef<tile::KernelArgument> all, func::FuncOp kernel,
                             const std::string& address) {
  SmallVector<std::string> symbols;
  for (const tile::KernelArgument& other : all)
    if (other.kind == tile::KernelArgument::Symbol)
      symbols.push_back(text.text(kernel.getArgument(other.number)));
  GlobalLayout layout;
  layout.name = text.freshName(argument.name);
  for (AffineExpr dim : argument.shape.getResults())
    layout.shape.push_back(affineExpression(dim, symbols));
  if (argument.strides)
    for (AffineExpr stride : argument.strides.getResults())
      layout.strides.push_back(affineExpression(stride, symbols));
  else
    layout.strides = denseStrides(layout.shape);
  const std::string type = cppType(argument.element);
  text.line("GlobalTensor<" + type + "> " + layout.name + ";");
  text.line(layout.name + ".SetGlobalBuffer((__gm__ " + type + "*)" + address + ");");
  if (argument.buffer && !argument.strides)
    nameGlobal(layout, argument.name, argument.buffer);
  globals[value] = std::move(layout);
}

unsigned BodyPrinter::nameTensor(StringRef name, BufferType type, int64_t address, int64_t pitch,
                                 int64_t versions) {
  const bool isWord =
      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_' || c < 0; });
  if (name.empty() || !isWord)
    return 0;
  names += name.str() + (versions > 1 ? "*" + std::to_string(versions) : "") + " " +
           std::to_string(address) + " " + std::to_string(type.getElementBits()) + " " +
           std::to_string(pitch);
  for (const int64_t extent : type.getShape())
    names += " " + std::to_string(ShapedType::isDynamic(extent) ? -1 : extent);
  names += ";";
  return ++named;
}

void BodyPrinter::nameGlobal(const GlobalLayout& layout, StringRef name, BufferType type) {
  if (!text.isForHost())
    return;
  const int64_t last = type.getRank() == 0 ? 0 : type.getShape().back();
  const int64_t pitch = type.getRank() == 1 ? 1 : ShapedType::isDynamic(last) ? 0 : last;
  std::string extents;
  for (auto [dim, extent] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(extent))
      extents += ", " + layout.shape[dim].text;
  text.line("TW_NAME_TENSOR(" + layout.name + ", " +
            std::to_string(nameTensor(name, type, 0, pitch)) + extents + ");");
}

GlobalLayout BodyPrinter::denseLayout(const std::string& name, BufferType type,
                                      ValueRange dims) const {
  GlobalLayout layout;
  layout.name = name;
  size_t next = 0;
  for (int64_t extent : type.getShape())
    layout.shape.push_back(ShapedType::isDynamic(extent) ? text.expression(dims[next++])
                                                         : Expression{std::to_string(extent)});
  layout.strides = denseStrides(layout.shape);
  return layout;
}

void BodyPrinter::declare(Value value, const Expression& expression) {
  const StringRef called = nameOfVariable(value);
  const std::string name = called.empty() ? text.ownName(nameByUse(value)) : text.freshName(called);
  text.line("const " + cppType(value.getType()) + " " + name + " = " + expression.text + ";");
  text.bindName(value, name);
}

bool BodyPrinter::printBlock(Block& block) {
  for (Operation& op : block)
    if (!print(&op))
      return false;
  return true;
}

bool BodyPrinter::printGrid(Block& block) {
  for (Operation& op : block) {
    auto launch = dyn_cast<tile::LaunchOp>(op);
    if (!launch) {
      // What launches share in global memory, and tensors seen with another shape, are the device function's.
      if (!isa<func::ReturnOp, tile::AllocOp, tile::ViewOp>(op) && !print(&op))
        return false;
      continue;
    }
    for (size_t dim = 0; dim < 3; ++dim)
      text.line("grid[" + std::to_string(dim) + "] = " +
                (dim < launch.getGrid().size() ? text.text(launch.getGrid()[dim]) : "1") + ";");
  }
  return true;
}

/// Whether a choice takes or leaves what a number goes into: C++ computes only what it takes.
static bool isChosen(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand& use) {
    Operation* user = use.getOwner();
    if (isa<arith::SelectOp>(user))
      return use.getOperandNumber() != 0 || isChosen(user->getResult(0));
    return isPure(user) && user->getNumResults() == 1 && isChosen(user->getResult(0));
  });
}

/// A division by 0 is told of by the line of the text, which must be the division's own.
static bool needsOwnLine(Operation* op) {
  const Place place = placeOf(op->getLoc()),
              use = placeOf(op->getResult(0).use_begin()->getOwner()->getLoc());
  return (place.line != use.line || place.file != use.file) && !isChosen(op->getResult(0));
}

/// Of tensors of which one is empty nothing is told: their grid has most likely no block.
bool BodyPrinter::divides(Operation* op) const {
  const bool isOne =
      mayDivideByZero(op) &&
      !IndexRanges(/*leastDim=*/1).rangeOf(op->getOperand(1)).isWithin(1, IndexRange().high);
  return isOne ||
         llvm::any_of(op->getOperands(), [&](Value each) { return dividing.contains(each); });
}

/// `bx * 64`
static bool isIndexArithmetic(Operation* op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) &&
         op->getResult(0).getType().isIndex();
}

/// Whether a value without a name is used once, in its own block.
static bool isUsedOnce(Value result) {
  // A check is there for the host alone, and the text is the same with and without.
  SmallVector<Operation*> users;
  for (Operation* user : result.getUsers())
    if (!isa<npu::CheckPartOp>(user))
      users.push_back(user);
  return users.empty() || (users.size() == 1 && users[0]->getBlock() == result.getParentBlock() &&
                           !isa<tile::ForOp, tile::WhileOp>(users[0]));
}

/// Where a value is computed anew at each use: constants, `bx * 64`, and what is used once, in its own block.
static bool standsInline(Operation* op, const Expression& expression) {
  constexpr size_t shortest = 12;
  // A compiler of C++ takes some 256 brackets in one another, and each is of two letters at least.
  constexpr size_t longest = 400;
  if (isa<arith::ConstantOp>(op))
    return true;
  Value result = op->getResult(0);
  if (expression.text.size() > longest || !nameOfVariable(result).empty())
    return false;
  return (isIndexArithmetic(op) && expression.text.size() <= shortest) || isUsedOnce(result);
}

/// The last statement that has a value in its text, if all of them stand in the value's block; else null.
static Operation* lastTextWith(Value value) {
  constexpr size_t most = 64;
  Operation* last = value.getDefiningOp();
  if (value.use_empty())
    return nullptr;
  llvm::SmallSetVector<Value, 8> within;
  within.insert(value);
  for (size_t number = 0; number < within.size(); ++number)
    for (Operation* user : within[number].getUsers()) {
      if (user->getBlock() != value.getParentBlock() || isa<tile::ForOp, tile::WhileOp>(user) ||
          within.size() > most)
        return nullptr;
      if (last->isBeforeInBlock(user))
        last = user;
      if (!isPure(user) || user->getNumResults() == 0)
        continue;
      if (!isa<arith::ArithDialect, math::MathDialect>(user->getDialect()))
        return nullptr;
      Value result = user->getResult(0);
      if (nameOfVariable(result).empty() && (isIndexArithmetic(user) || isUsedOnce(result)))
        within.insert(result);
    }
  return last;
}

/// Whether something behind `first` assigns to a variable, up to the text of `last`.
static bool isAssignedBetween(Value variable, Operation* first, Operation* last) {
  int left = 1000; // of a kernel without loops, all statements of which may read the same variable
  for (Operation* op = first->getNextNode();; op = op->getNextNode()) {
    // An assignment computes its value, and a branch its condition, before anything else.
    if (op == last && isa<tile::StoreOp, scf::IfOp>(op))
      return false;
    const WalkResult found = op->walk([&](Operation* inner) {
      const bool mayAssign =
          !isa<tile::LoadOp>(inner) && llvm::is_contained(inner->getOperands(), variable);
      return mayAssign || --left < 0 ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (found.wasInterrupted())
      return true;
    if (op == last)
      return false;
  }
}

/// Whether a read of a variable needs no name: it has the same value wherever it would be written.
static bool isReadInPlace(tile::LoadOp load) {
  auto variable = load.getBuffer().getDefiningOp<tile::AllocOp>();
  const bool isSameType = variable && cppType(load.getValue().getType()) ==
                                          cppType(variable.getType().getElementType());
  // The text of an array's element asks for its index, too, which may be another variable.
  if (!isSameType || !variable.getType().isPerThread() || variable.getType().getRank() != 0 ||
      !nameOfVariable(load.getValue()).empty())
    return false;
  Operation* last = lastTextWith(load.getValue());
  return last && !isAssignedBetween(variable, load, last);
}

bool BodyPrinter::print(Operation* op) {
  if (isa<tile::YieldOp, func::ReturnOp>(op) || (isa<npu::CheckPartOp>(op) && !text.isForHost()))
    return true;
  const bool isVariable = op->getNumResults() == 1 && !nameOfVariable(op->getResult(0)).empty();
  if (auto load = dyn_cast<tile::LoadOp>(op); load && isReadInPlace(load)) {
    text.bind(load.getValue(), {element(load.getBuffer(), load.getIndices())});
    return true;
  }
  if (!isa<arith::ConstantOp, tile::AllocOp>(op) && (!isPure(op) || isVariable))
    text.at(op->getLoc());
  if (printStructure(op) || printBuffers(op))
    return true;
  if (failed)
    return false;
  if (printValue(op))
    return true;
  op->emitError() << "unsupported on ascend: " << operationName(op)
                  << " has no statement in Ascend C"
                  << (isa<math::FmaOp>(op) ? "; write x * y + z, which rounds twice" : "");
  return false;
}

/// `TW_PART("a", true, false, {{o, m, 8}, {0, 24, 24}}, {});`, which the vendor's compiler reads as nothing.
void BodyPrinter::printCheck(npu::CheckPartOp check) {
  std::string part, tensor;
  for (auto [dim, size] : llvm::enumerate(check.getShape()))
    part += (dim == 0 ? "{" : ", {") + text.text(check.getPart()[2 * dim]) + ", " +
            text.text(check.getPart()[2 * dim + 1]) + ", " + std::to_string(size) + "}";
  const ValueRange numbers = check.getTensor();
  for (size_t at = 0; at < numbers.size(); at += 3)
    tensor += (at == 0 ? "{" : ", {") + text.text(numbers[at]) + ", " + text.text(numbers[at + 1]) +
              ", " + text.text(numbers[at + 2]) + "}";
  const auto word = [](bool is) { return is ? ", true" : ", false"; };
  text.line("TW_PART(\"" + check.getTile().str() + "\"" + word(check.getWritten()) +
            word(check.getTransposed()) + ", {" + part + "}, {" + tensor + "});");
}

bool BodyPrinter::printValue(Operation* op) {
  if (auto id = dyn_cast<VectorIdOp>(op)) {
    text.bindName(id, vectorName);
    return true;
  }
  if (std::optional<std::string> statement = instructionText(op, text, globals)) {
    if (op->getNumResults() == 1)
      declare(op->getResult(0), {*statement});
    else
      text.line(*statement);
    return true;
  }
  if (op->getNumResults() != 1)
    return false;
  std::optional<Expression> expression = scalarExpression(op, text);
  if (!expression)
    return false;
  if (op->use_empty())
    return true;
  const bool mayFail = divides(op);
  if (standsInline(op, *expression) && !(mayFail && needsOwnLine(op))) {
    text.bind(op->getResult(0), *expression);
    if (mayFail)
      dividing.insert(op->getResult(0));
    return true;
  }
  if (mayFail)
    text.at(op->getLoc());
  declare(op->getResult(0), *expression);
  return true;
}

} // namespace tilewright::ascend
