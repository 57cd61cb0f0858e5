// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/kernel_manifest.h"

#include "compiler/ir/address_attribute.h"
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/needed_tensors.h"
#include "compiler/ir/place_of.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/ir/told_numbers.h"

#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>
#include <mlir/IR/AffineExpr.h>

namespace tilewright::tile {
namespace {

using namespace mlir;
namespace json = llvm::json;

/// expression = constant + sum of coefficient times symbol; false if it is no such sum.
bool addTerms(AffineExpr expression, int64_t scale, int64_t& constant,
              llvm::SmallDenseMap<unsigned, int64_t>& terms) {
  if (auto number = dyn_cast<AffineConstantExpr>(expression)) {
    constant += scale * number.getValue();
    return true;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression)) {
    terms[symbol.getPosition()] += scale;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addTerms(binary.getLHS(), scale, constant, terms) &&
           addTerms(binary.getRHS(), scale, constant, terms);
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != AffineExprKind::Mul || !factor)
    return false;
  return addTerms(binary.getLHS(), scale * factor.getValue(), constant, terms);
}

/// expression = factor times the product of symbols; false if it is no such product.
bool addFactors(AffineExpr expression, int64_t& factor, json::Array& symbols) {
  if (auto number = dyn_cast<AffineConstantExpr>(expression)) {
    factor *= number.getValue();
    return true;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression)) {
    symbols.push_back(int64_t(symbol.getPosition()));
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  return binary && binary.getKind() == AffineExprKind::Mul &&
         addFactors(binary.getLHS(), factor, symbols) &&
         addFactors(binary.getRHS(), factor, symbols);
}

/// Any expression in postfix order.
void addCode(AffineExpr expression, json::Array& code) {
  if (auto number = dyn_cast<AffineConstantExpr>(expression)) {
    code.push_back(number.getValue());
    return;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression)) {
    code.push_back(json::Object{{"symbol", int64_t(symbol.getPosition())}});
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expression);
  addCode(binary.getLHS(), code);
  addCode(binary.getRHS(), code);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return code.push_back("+");
  case AffineExprKind::Mul:
    return code.push_back("*");
  case AffineExprKind::FloorDiv:
    return code.push_back("//");
  case AffineExprKind::CeilDiv:
    return code.push_back("ceildiv");
  default:
    return code.push_back("%");
  }
}

json::Value dimToJson(AffineExpr dim) {
  int64_t constant = 0;
  llvm::SmallDenseMap<unsigned, int64_t> terms;
  if (!addTerms(dim, 1, constant, terms)) {
    int64_t factor = 1;
    json::Array symbols, code;
    if (addFactors(dim, factor, symbols) && factor > 0)
      return json::Object{{"factor", factor}, {"product", std::move(symbols)}};
    addCode(dim, code);
    return json::Object{{"code", std::move(code)}};
  }
  if (terms.empty())
    return constant;
  SmallVector<std::pair<unsigned, int64_t>> sorted(terms.begin(), terms.end());
  llvm::sort(sorted);
  json::Array list;
  for (auto [symbol, coefficient] : sorted)
    list.push_back(json::Array{coefficient, int64_t(symbol)});
  return json::Object{{"const", constant}, {"terms", std::move(list)}};
}

json::Array dimsToJson(AffineMap dims) {
  json::Array list;
  for (AffineExpr dim : dims.getResults())
    list.push_back(dimToJson(dim));
  return list;
}

/// Whether a kernel may go where an address leads: anything but arithmetic and tensors that nobody reads.
bool isFollowed(Value address) {
  return llvm::any_of(address.getUsers(), [](Operation* user) {
    const bool isOnlyMade =
        isa<TensorAtOp, ViewOp>(user) || isa_and_present<arith::ArithDialect>(user->getDialect());
    return !isOnlyMade || llvm::any_of(user->getResults(), isFollowed);
  });
}

/// Whether a kernel compares an address, as `T.isnullptr` does: then it may be 0.
bool isCompared(Value address) {
  return llvm::any_of(address.getUsers(), [](Operation* user) { return isa<arith::CmpIOp>(user); });
}

/// The extents of the row-major tensor that a kernel makes of an address; none if it makes several, gives
/// strides, or if they aren't constant.
json::Array shapeAt(Value address) {
  BufferType type;
  for (Operation* user : address.getUsers()) {
    auto made = dyn_cast<TensorAtOp>(user);
    if (!made && isa<arith::CmpIOp>(user))
      continue;
    if (!made || !made.getDims().empty() || !made.getStrides().empty() ||
        (type && type.getShape() != made.getResult().getType().getShape()))
      return {};
    type = made.getResult().getType();
  }
  return type ? json::Array(type.getShape()) : json::Array();
}

StringRef symbolOf(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return "==";
  case arith::CmpIPredicate::ne:
    return "!=";
  case arith::CmpIPredicate::slt:
    return "<";
  case arith::CmpIPredicate::sle:
    return "<=";
  case arith::CmpIPredicate::sgt:
    return ">";
  default:
    return ">=";
  }
}

json::Array conditionToJson(const Condition& condition) {
  json::Array cases;
  for (const auto& tests : condition) {
    json::Array list;
    for (const ScalarTest& test : tests)
      list.push_back(json::Array{test.argument, symbolOf(test.predicate), test.number});
    cases.push_back(std::move(list));
  }
  return cases;
}

json::Object parameterToJson(func::FuncOp kernel, const KernelArgument& argument, bool isAscend) {
  if (argument.kind == KernelArgument::Scalar) {
    json::Object scalar{
        {"kind", "scalar"}, {"name", argument.name}, {"dtype", dtypeName(argument.element)}};
    if (kernel.getArgAttr(argument.number, kAddressAttr)) {
      const Value address = kernel.getArgument(argument.number);
      scalar["used"] = isFollowed(address) && !isCompared(address);
      if (json::Array shape = shapeAt(address); !shape.empty())
        scalar["shape"] = std::move(shape);
    }
    if (argument.pointee)
      scalar["pointee"] = dtypeName(argument.pointee);
    return scalar;
  }
  json::Object tensor{
      {"kind", "tensor"},
      {"name", argument.name},
      {"dtype", dtypeName(argument.element)},
      {"shape", dimsToJson(argument.shape)},
      {"strides", argument.strides ? json::Value(dimsToJson(argument.strides)) : nullptr},
      {"align", int64_t(argument.buffer.getElementBits() + 7) / 8},
      {"used", argument.used},
      {"written", argument.written}};
  if (const std::optional<Condition> needed = neededIf(kernel, argument.number);
      needed && argument.used)
    tensor["needed_if"] = conditionToJson(*needed);
  if (kernel.getArgAttr(argument.number, kOverlapsAttr))
    tensor["overlaps"] = true;
  if (auto apart = kernel.getArgAttrOfType<DenseI64ArrayAttr>(argument.number, kApartAttr))
    tensor["apart"] = json::Array(apart.asArrayRef());
  if (isAscend && argument.written && firstOfUpdates(kernel, kernel.getArgument(argument.number)))
    tensor["updated"] = true;
  return tensor;
}

json::Array assertsToJson(func::FuncOp kernel) {
  json::Array list;
  kernel.walk([&](AssertOp op) {
    Place place = placeOf(op.getLoc());
    json::Object entry{{"message", op.told("device_assert failed")},
                       {"file", place.file},
                       {"line", int64_t(place.line)},
                       {"column", int64_t(place.column)}};
    if (op->hasAttr(kTellsAttr))
      entry["tells"] = true;
    list.push_back(std::move(entry));
  });
  return list;
}

/// With places where the runtime says what is wrong with a grid.
json::Array launchesToJson(func::FuncOp kernel, bool isAscend) {
  json::Array list;
  for (auto launch : kernel.getOps<LaunchOp>()) {
    json::Object entry{{"cooperative", waitsForBlocks(launch)}};
    const bool isChecked = isAscend || !llvm::all_of(launch.getGrid(), [](Value extent) {
                             return getConstantIntValue(extent).has_value();
                           });
    if (const Place place = placeOf(launch.getLoc()); isChecked && place.isKnown()) {
      entry["file"] = place.file;
      entry["line"] = int64_t(place.line);
      entry["column"] = int64_t(place.column);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

json::Array limitsToJson(ArrayRef<KernelArgument> arguments, ArrayRef<ArgumentLimit> limits) {
  const auto slotOf = [&](unsigned number) {
    return int64_t(llvm::find_if(arguments, [&](const KernelArgument& argument) {
                     return argument.number == number;
                   })->slot);
  };
  const auto place = [](const Place& at) {
    return at.isKnown() ? at.file + ":" + std::to_string(at.line) : std::string();
  };
  json::Array list;
  for (const ArgumentLimit& limit : limits) {
    json::Array where;
    for (const ArgumentLeast& needed : limit.where)
      where.push_back(json::Array{slotOf(needed.argument), needed.least});
    list.push_back(json::Object{{"launch", limit.launch},
                                {"slot", slotOf(limit.argument)},
                                {"most", limit.most},
                                {"where", std::move(where)},
                                {"tile", limit.tile},
                                {"fills", limit.fills},
                                {"multiplies", limit.multiplies},
                                {"tile_place", place(limit.tilePlace)},
                                {"copy_place", place(limit.copyPlace)}});
  }
  return list;
}

StringRef floatName(Type element) {
  if (element.isF16())
    return "float16";
  if (element.isBF16())
    return "bfloat16";
  if (element.isF32())
    return "float32";
  if (element.isF64())
    return "float64";
  if (isa<Float8E4M3Type>(element))
    return "float8_e4m3";
  if (isa<Float8E4M3FNType>(element))
    return "float8_e4m3fn";
  if (isa<Float8E4M3FNUZType>(element))
    return "float8_e4m3fnuz";
  if (isa<Float8E5M2Type>(element))
    return "float8_e5m2";
  if (isa<Float8E5M2FNUZType>(element))
    return "float8_e5m2fnuz";
  if (isa<Float8E8M0FNUType>(element))
    return "float8_e8m0fnu";
  if (isa<Float4E2M1FNType>(element))
    return "float4_e2m1fn";
  if (isa<UnpackedFloat4Type>(element))
    return "float4_e2m1_unpacked";
  if (isa<Float8E3M4Type>(element))
    return "float8_e3m4";
  if (isa<Float8E4M3B11FNUZType>(element))
    return "float8_e4m3b11fnuz";
  if (isa<Float6E2M3FNType>(element))
    return "float6_e2m3fn";
  if (isa<Float6E3M2FNType>(element))
    return "float6_e3m2fn";
  return "";
}

} // namespace

std::string dtypeName(Type element) {
  if (element.isIndex())
    return "int64";
  if (auto integer = dyn_cast<IntegerType>(element)) {
    if (integer.getWidth() == 1)
      return "bool";
    return (integer.isUnsigned() ? "uint" : "int") + std::to_string(integer.getWidth());
  }
  return floatName(element).str();
}

bool waitsForBlocks(Operation* launch) {
  return launch
      ->walk([](SyncOp sync) {
        return sync.getScope() == SyncScope::Grid ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

std::string makeManifest(func::FuncOp kernel, StringRef target, StringRef cpu, int64_t scratchBytes,
                         int64_t workspaceBytes, int64_t coresPerBlock, bool usesTiles,
                         ArrayRef<ArgumentLimit> limits, bool isRelaxed) {
  json::Array parameters, symbols, unread, given;
  llvm::StringMap<int64_t> numbers;
  const SmallVector<KernelArgument> arguments = kernelArguments(kernel);
  for (const KernelArgument& argument : arguments) {
    if (argument.kind != KernelArgument::Symbol)
      numbers[argument.name] = int64_t(parameters.size());
    if (!argument.scalar.empty())
      given.push_back(json::Array{int64_t(symbols.size()), numbers.lookup(argument.scalar)});
    if (argument.kind == KernelArgument::Symbol && !argument.used)
      unread.push_back(int64_t(symbols.size()));
    if (argument.kind == KernelArgument::Symbol)
      symbols.push_back(argument.name);
    else
      parameters.push_back(parameterToJson(kernel, argument, target == "ascend"));
  }
  const bool tells =
      kernel
          .walk([](AssertOp op) {
            return op->hasAttr(kTellsAttr) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  json::Object manifest{{"format", tells ? 2 : 1},
                        {"name", kernel.getName()},
                        {"target", target},
                        {"cpu", cpu},
                        {"params", std::move(parameters)},
                        {"symbols", std::move(symbols)},
                        {"unread_symbols", std::move(unread)},
                        {"scratch_bytes", scratchBytes},
                        {"workspace_bytes", workspaceBytes},
                        {"cores_per_block", coresPerBlock},
                        {"launches", launchesToJson(kernel, /*isAscend=*/target == "ascend")},
                        {"asserts", assertsToJson(kernel)}};
  if (usesTiles)
    manifest["tiles"] = true;
  if (isRelaxed)
    manifest["relaxed"] = true;
  if (!limits.empty())
    manifest["limits"] = limitsToJson(arguments, limits);
  if (!given.empty())
    manifest["scalar_symbols"] = std::move(given);
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << json::Value(std::move(manifest));
  return text;
}

} // namespace tilewright::tile
