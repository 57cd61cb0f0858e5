// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/element_functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

namespace tilewright::builder {

Value ElementCall::number(double value) const {
  return target.isFloat() ? kernel.constant(value, target)
                          : kernel.constant(int64_t(value), target);
}

std::string ElementCall::mode(std::string_view otherwise) const {
  const Attribute* given = find(attributes, "mode");
  return given ? std::get<std::string>(*given) : std::string(otherwise);
}

namespace {

constexpr unsigned kFirst = 1, kSecond = 2, kBoth = 3;

ElementFunction unary(std::string_view op) {
  return {1, kFirst, 0,
          [op](const ElementCall& call) { return call.kernel.unary(op, call.source(0)); }};
}

/// Of two tiles, or a tile and a scalar on the right.
ElementFunction binary(std::string_view op, unsigned scalars = kSecond, unsigned tiles = kBoth) {
  return {2, tiles, scalars, [op](const ElementCall& call) {
            Value left = call.source(0), right = call.source(1);
            return call.kernel.binary(op, left, right);
          }};
}

ElementFunction onIntegers(ElementFunction function) {
  function.integersOnly = true;
  return function;
}

Value leakyRelu(const ElementCall& call) {
  Value x = call.source(0), slope = call.source(1);
  Value isNegative = call.kernel.binary("lt", x, call.number(0));
  return call.kernel.select(isNegative, call.kernel.binary("mul", x, slope), x);
}

/// dst += a * b.
Value multiplyAdd(const ElementCall& call) {
  Value before = call.old();
  return call.kernel.binary("add", before,
                            call.kernel.binary("mul", call.source(0), call.source(1)));
}

Value clamped(const ElementCall& call) {
  Value low = call.kernel.binary("max", call.source(0), call.source(1));
  return call.kernel.binary("min", low, call.source(2));
}

/// first + step * i, with the target's precision in each operation.
Value progression(const ElementCall& call) {
  Value i = call.kernel.cast(call.position(), call.target);
  Value first = call.source(0);
  if (call.sources.size() == 1)
    return call.kernel.binary("add", first, i);
  return call.kernel.binary("add", first, call.kernel.binary("mul", call.source(1), i));
}

// Masks: bit k of byte b is element 8 b + k

std::optional<std::string> comparison(const ElementCall& call) {
  std::string mode = call.mode("");
  auto op = llvm::StringSwitch<std::string>(mode)
                .Case("EQ", "eq")
                .Case("NE", "ne")
                .Case("GT", "gt")
                .Case("GE", "ge")
                .Case("LT", "lt")
                .Case("LE", "le")
                .Default("");
  if (!op.empty())
    return op;
  call.kernel.error("there is no comparison '" + mode + "': it is EQ, NE, GT, GE, LT or LE");
  return std::nullopt;
}

Value compared(const ElementCall& call) {
  auto op = comparison(call);
  if (!op)
    return {};
  KernelBuilder& kernel = call.kernel;
  Value byte = kernel.constant(int64_t{0}, Dtype::uint8());
  Value start = kernel.binary("mul", call.variables[0], kernel.constant(int64_t{8}));
  for (int64_t bit = 0; bit < 8; ++bit) {
    Value at = kernel.binary("add", start, kernel.constant(bit));
    Value left = call.sources[0](at), right = kernel.cast(call.sources[1](at), call.dtypes[0]);
    Value flag = kernel.cast(kernel.binary(*op, left, right), Dtype::uint8());
    Value shift = kernel.constant(bit, Dtype::uint8());
    byte = kernel.binary("or", byte, kernel.binary("shl", flag, shift));
  }
  return byte;
}

Value selected(const ElementCall& call) {
  KernelBuilder& kernel = call.kernel;
  std::string mode = call.mode("VSEL_TENSOR_TENSOR_MODE");
  Value i = call.variables[0];
  if (mode == "VSEL_CMPMASK_SPR") // one mask for every repeat of 256 bytes
    i = kernel.binary("floormod", i, kernel.constant(int64_t{256 * 8 / call.target.bits()}));
  else if (mode != "VSEL_TENSOR_TENSOR_MODE" && mode != "VSEL_TENSOR_SCALAR_MODE") {
    kernel.error("there is no select mode '" + mode +
                 "': it is VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE or VSEL_TENSOR_TENSOR_MODE");
    return {};
  }
  Value eight = kernel.constant(int64_t{8});
  Value byte = kernel.cast(call.sources[0](kernel.binary("floordiv", i, eight)), Dtype::int32());
  Value bit = kernel.cast(kernel.binary("floormod", i, eight), Dtype::int32());
  Value one = kernel.constant(int64_t{1}, Dtype::int32());
  Value flag = kernel.binary("and", kernel.binary("shr", byte, bit), one);
  Value isSet = kernel.binary("ne", flag, kernel.constant(int64_t{0}, Dtype::int32()));
  return kernel.select(isSet, call.source(1), call.source(2));
}

// Casts

/// Rounds to an integral value.
Value rounded(const ElementCall& call, Value value, llvm::StringRef mode) {
  auto op = llvm::StringSwitch<std::string_view>(mode)
                .Cases({"CAST_NONE", "CAST_RINT"}, "nearbyint")
                .Case("CAST_FLOOR", "floor")
                .Case("CAST_CEIL", "ceil")
                .Case("CAST_ROUND", "round")
                .Default("trunc");
  return call.kernel.unary(op, value);
}

/// A narrower float with a rounding of its own.
Value narrowed(const ElementCall& call, Value value, llvm::StringRef mode) {
  auto rounding = llvm::StringSwitch<mlir::arith::RoundingMode>(mode)
                      .Case("CAST_FLOOR", mlir::arith::RoundingMode::downward)
                      .Case("CAST_CEIL", mlir::arith::RoundingMode::upward)
                      .Case("CAST_ROUND", mlir::arith::RoundingMode::to_nearest_away)
                      .Default(mlir::arith::RoundingMode::toward_zero);
  Value plain = call.kernel.cast(value, call.target);
  if (plain.isPoison())
    return plain;
  if (auto op = call.state.record(plain).ir.getDefiningOp<mlir::arith::TruncFOp>())
    op.setRoundingmode(rounding);
  return plain;
}

/// Towards zero, and what that loses makes the last bit 1: rounding once more is as if from the whole number.
Value roundedToOdd(const ElementCall& call, Value value) {
  KernelBuilder& kernel = call.kernel;
  if (value.dtype() != Dtype::float32() || call.target != Dtype(ScalarKind::Float16)) {
    call.state.report(Severity::Error,
                      "T.tile.cast has CAST_ODD from float32 to float16, not from " +
                          value.dtype().name() + " to " + call.target.name());
    return {};
  }
  Value cut = narrowed(call, value, "CAST_TRUNC");
  Value isInexact = kernel.binary("ne", kernel.cast(cut, value.dtype()), value);
  Value one = kernel.constant(int64_t{1}, Dtype(ScalarKind::Int16));
  Value bits = kernel.binary("or", kernel.reinterpret(cut, Dtype(ScalarKind::Int16)), one);
  return kernel.select(isInexact, kernel.reinterpret(bits, call.target), cut);
}

Value converted(const ElementCall& call) {
  static const llvm::StringMap<int> modes = {{"CAST_NONE", 0}, {"CAST_RINT", 1},  {"CAST_FLOOR", 2},
                                             {"CAST_CEIL", 3}, {"CAST_ROUND", 4}, {"CAST_TRUNC", 5},
                                             {"CAST_ODD", 6}};
  std::string mode = call.mode("CAST_NONE");
  if (!modes.contains(mode)) {
    call.kernel.error("there is no cast mode '" + mode +
                      "': it is CAST_NONE, RINT, FLOOR, CEIL, ROUND, TRUNC or ODD");
    return {};
  }
  Value value = call.sources[0](std::nullopt);
  if (mode == "CAST_ODD")
    return roundedToOdd(call, value);
  Dtype from = value.dtype(), to = call.target;
  if (!from.isFloat() || from == Dtype::boolean())
    return call.kernel.cast(value, to);
  bool isNearest = mode == "CAST_NONE" || mode == "CAST_RINT";
  if (!to.isFloat())
    return call.kernel.cast(rounded(call, value, mode), to);
  if (from == to)
    return mode == "CAST_NONE" ? value : rounded(call, value, mode);
  bool narrows = to.bits() < from.bits();
  return isNearest || !narrows ? call.kernel.cast(value, to) : narrowed(call, value, mode);
}

llvm::StringMap<ElementFunction> makeFunctions() {
  llvm::StringMap<ElementFunction> all;
  for (const char* op : {"add", "sub", "mul", "div", "max", "min"})
    all[op] = binary(op);
  all["pow"] = binary("pow", 0);
  all["bitwise_and"] = onIntegers(binary("and", 0));
  all["bitwise_or"] = onIntegers(binary("or", 0));
  all["bitwise_xor"] = onIntegers(binary("xor", 0));
  all["bitwise_lshift"] = onIntegers(binary("shl", kSecond, kFirst));
  all["bitwise_rshift"] = onIntegers(binary("shr", kSecond, kFirst));
  all["clamp_max"] = binary("min", kSecond, kFirst);
  all["clamp_min"] = binary("max", kSecond, kFirst);
  for (const char* op : {"exp", "abs", "sqrt", "rsqrt", "sigmoid", "sin", "cos"})
    all[op] = unary(op);
  all["ln"] = unary("log");
  all["bitwise_not"] = onIntegers(unary("not"));
  all["round"] = unary("nearbyint");
  auto one = [](auto make) { return ElementFunction{1, kFirst, 0, make}; };
  all["reciprocal"] = one([](const ElementCall& call) {
    return call.kernel.binary("div", call.number(1), call.source(0));
  });
  all["relu"] = one([](const ElementCall& call) {
    return call.kernel.binary("max", call.source(0), call.number(0));
  });
  all["silu"] = one([](const ElementCall& call) {
    Value x = call.source(0);
    return call.kernel.binary("mul", x, call.kernel.unary("sigmoid", x));
  });
  all["leaky_relu"] = {2, kFirst, kSecond, leakyRelu};
  all["axpy"] = {2, kFirst, kSecond, multiplyAdd};
  all["mul_add_dst"] = {2, kBoth, 0, multiplyAdd};
  all["clamp"] = {3, kFirst, kSecond | 4, clamped};
  all["createvecindex"] = {1, 0, kFirst, progression};
  all["createvecindex"].isSequence = true;
  all["arith_progression"] = {2, 0, kBoth, progression};
  all["arith_progression"].isSequence = true;
  all["broadcast"] = one([](const ElementCall& call) { return call.source(0); });
  all["broadcast"].broadcasts = true;
  all["compare"] = {2, kBoth, kSecond, compared};
  all["compare"].perByte = true;
  all["compare"].ownDtypes = 1;
  all["compare"].maskTile = 0;
  all["select"] = {3, kFirst | kSecond | 4, 4, selected};
  all["select"].isSequence = true;
  all["select"].ownDtypes = 1;
  all["select"].maskTile = 1;
  all["cast"] = {1, kFirst, 0, converted};
  all["cast"].converts = true;
  return all;
}

} // namespace

const ElementFunction* findElementFunction(std::string_view name) {
  static const llvm::StringMap<ElementFunction> functions = makeFunctions();
  auto found = functions.find(llvm::StringRef(name.data(), name.size()));
  return found == functions.end() ? nullptr : &found->second;
}

} // namespace tilewright::builder
