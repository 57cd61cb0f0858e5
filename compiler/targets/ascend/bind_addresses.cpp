// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/bind_addresses.h"

#include "compiler/ir/address_attribute.h"
#include "compiler/ir/dialect.h"
#include "compiler/ir/memory_ops.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/AffineExpr.h>

namespace tilewright::ascend {
namespace {

using namespace mlir;

/// The tensors that a kernel makes of its addresses, as arguments. Their dims are expressions over its symbols, to which a
/// symbol is added for each number of the call that counts in them.
class AddressBinder {
public:
  explicit AddressBinder(func::FuncOp kernel) : kernel(kernel), context(kernel.getContext()) {
    for (BlockArgument argument : kernel.getArguments())
      if (kernel.getArgAttr(argument.getArgNumber(), tile::kSymbolAttr))
        symbols.push_back(argument);
  }

  void run() {
    const size_t before = symbols.size();
    const size_t count = kernel.getNumArguments();
    SmallVector<std::pair<BlockArgument, Tensor>> found;
    for (size_t number = 0; number < count; ++number)
      if (std::optional<Tensor> tensor = tensorOf(kernel.getArgument(unsigned(number))))
        found.emplace_back(kernel.getArgument(unsigned(number)), *tensor);
    if (symbols.size() != before)
      widenMaps();
    for (const auto& [address, tensor] : found)
      bind(address, tensor);
  }

private:
  struct Tensor {
    tile::BufferType type;
    SmallVector<AffineExpr> dims;
  };

  /// The tensor that all uses of an address make of it; nothing if they differ, have strides, or extents that no call knows.
  std::optional<Tensor> tensorOf(BlockArgument address) {
    std::optional<Tensor> tensor;
    for (Operation* user : address.getUsers()) {
      auto made = dyn_cast<tile::TensorAtOp>(user);
      if (!made || !made.getStrides().empty())
        return {};
      Tensor here{made.getResult().getType(), {}};
      auto next = made.getDims().begin();
      for (int64_t extent : here.type.getShape()) {
        const AffineExpr dim = ShapedType::isDynamic(extent)
                                   ? expressionOf(*next++)
                                   : getAffineConstantExpr(extent, context);
        if (!dim)
          return {};
        here.dims.push_back(dim);
      }
      if (tensor && (tensor->type != here.type || tensor->dims != here.dims))
        return {};
      tensor = here;
    }
    return tensor;
  }

  /// A number over the kernel's symbols; null: no call knows it.
  AffineExpr expressionOf(Value number) {
    if (std::optional<int64_t> known = getConstantIntValue(number))
      return getAffineConstantExpr(*known, context);
    if (auto cast = number.getDefiningOp<arith::IndexCastOp>())
      return isArgument(cast.getIn()) ? symbolOf(cast.getIn()) : expressionOf(cast.getIn());
    if (isArgument(number))
      return symbolOf(number);
    Operation* op = number.getDefiningOp();
    if (!isa_and_present<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
      return {};
    const AffineExpr left = expressionOf(op->getOperand(0)),
                     right = expressionOf(op->getOperand(1));
    if (!left || !right)
      return {};
    if (isa<arith::AddIOp>(op))
      return left + right;
    return isa<arith::SubIOp>(op) ? left - right : left * right;
  }

  bool isArgument(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &kernel.getBody().front();
  }

  /// Of an argument that is a symbol, or a number with a sign, which gives one.
  AffineExpr symbolOf(Value value) {
    const auto argument = cast<BlockArgument>(value);
    const auto name = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(), tile::kNameAttr);
    for (auto [number, symbol] : llvm::enumerate(symbols))
      if (symbol == argument ||
          (name && kernel.getArgAttr(symbol.getArgNumber(), tile::kScalarAttr) == name))
        return getAffineSymbolExpr(unsigned(number), context);
    const auto dtype = kernel.getArgAttrOfType<TypeAttr>(argument.getArgNumber(), tile::kDtypeAttr);
    if (!name || !dtype || !dtype.getValue().isSignedInteger())
      return {};
    const NamedAttribute given[] = {{StringAttr::get(context, tile::kSymbolAttr), name},
                                    {StringAttr::get(context, tile::kScalarAttr), name}};
    const unsigned number = kernel.getNumArguments();
    if (failed(kernel.insertArgument(number, IndexType::get(context),
                                     DictionaryAttr::get(context, given), argument.getLoc())))
      return {};
    symbols.push_back(kernel.getArgument(number));
    return getAffineSymbolExpr(unsigned(symbols.size() - 1), context);
  }

  /// What other tensors' shapes are, over all symbols that there are now.
  void widenMaps() {
    for (unsigned number = 0; number < kernel.getNumArguments(); ++number)
      for (StringRef name : {tile::kShapeAttr, tile::kStridesAttr})
        if (auto map = kernel.getArgAttrOfType<AffineMapAttr>(number, name))
          kernel.setArgAttr(number, name, mapOf(map.getValue().getResults()));
  }

  AffineMapAttr mapOf(ArrayRef<AffineExpr> dims) const {
    return AffineMapAttr::get(AffineMap::get(0, unsigned(symbols.size()), dims, context));
  }

  void bind(BlockArgument address, const Tensor& tensor) {
    const unsigned number = address.getArgNumber();
    address.setType(tensor.type);
    kernel.removeArgAttr(number, tile::kDtypeAttr);
    kernel.removeArgAttr(number, tile::kAddressAttr);
    kernel.removeArgAttr(number, tile::kPointeeAttr);
    if (!tensor.type.hasStaticShape())
      kernel.setArgAttr(number, tile::kShapeAttr, mapOf(tensor.dims));
    for (Operation* user : llvm::make_early_inc_range(address.getUsers())) {
      user->getResult(0).replaceAllUsesWith(address);
      user->erase();
    }
  }

  func::FuncOp kernel;
  MLIRContext* context;
  SmallVector<BlockArgument> symbols;
};

} // namespace

bool hasAddresses(ModuleOp module) {
  return module->walk([](tile::TensorAtOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

void bindAddresses(ModuleOp module) {
  for (func::FuncOp kernel : module.getOps<func::FuncOp>()) {
    AddressBinder(kernel).run();
    kernel.setFunctionType(FunctionType::get(
        module.getContext(), kernel.getBody().getArgumentTypes(), kernel.getResultTypes()));
  }
}

} // namespace tilewright::ascend
