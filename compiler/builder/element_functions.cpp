// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/element_functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <limits>

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

/// Bits of a float's significand; 0: none of those that integers are rounded to by a mode.
int significandBits(Dtype to) {
  if (to == Dtype::float32())
    return 24;
  return to == Dtype(ScalarKind::Float16) ? 11 : to == Dtype(ScalarKind::BFloat16) ? 8 : 0;
}

/// An integer as a float that may have no room for it: the nearest one, or its neighbour on the side that
/// the mode asks for.
Value roundedFromInteger(const ElementCall& call, Value value, llvm::StringRef mode) {
  KernelBuilder& kernel = call.kernel;
  const Dtype from = value.dtype(), to = call.target;
  const bool isFull = from.bits() == 64;
  const Dtype wide = isFull ? from : Dtype(ScalarKind::Int64);
  value = kernel.cast(value, wide);
  Value nearest = kernel.cast(value, to), back = kernel.cast(nearest, wide);
  Value isAbove = kernel.binary("gt", back, value), isBelow = kernel.binary("lt", back, value);
  if (isFull) { // of 64 bits the float may be one above all integers
    const double end = std::ldexp(1.0, from.isSigned() ? 63 : 64);
    isAbove = kernel.binary("or", isAbove,
                            kernel.binary("ge", nearest, kernel.cast(kernel.constant(end), to)));
    // -infinity is below all of them, too, though it becomes the least one.
    const double least = -std::numeric_limits<double>::infinity();
    Value isLeast = kernel.binary("eq", nearest, kernel.cast(kernel.constant(least), to));
    isBelow = kernel.binary("or", isBelow, isLeast);
  }
  const Dtype sameBits(to.bits() == 32 ? ScalarKind::Int32 : ScalarKind::Int16);
  Value bits = kernel.reinterpret(nearest, sameBits);
  const auto neighbour = [&](std::string_view op) {
    return kernel.reinterpret(kernel.binary(op, bits, kernel.constant(int64_t{1}, sameBits)), to);
  };
  Value inner = neighbour("sub"), outer = neighbour("add"); // of the same sign
  Value isNegative = kernel.binary("lt", nearest, kernel.cast(kernel.constant(0.0), to));
  if (mode == "CAST_FLOOR")
    return kernel.select(isAbove, kernel.select(isNegative, outer, inner), nearest);
  if (mode == "CAST_CEIL")
    return kernel.select(isBelow, kernel.select(isNegative, inner, outer), nearest);
  if (mode == "CAST_TRUNC")
    return kernel.select(kernel.select(isNegative, isBelow, isAbove), inner, nearest);
  // As far from both: away from zero.
  Value distance = kernel.binary("sub", value, back);
  Value other = kernel.binary("sub", kernel.cast(outer, wide), value);
  Value isTie = kernel.binary("eq", distance, other);
  Value isInner = kernel.select(isNegative, isAbove, isBelow);
  return kernel.select(kernel.binary("and", isTie, isInner), outer, nearest);
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
  bool isNearest = mode == "CAST_NONE" || mode == "CAST_RINT";
  if (from.isInteger() && from.bits() - int(from.isSigned()) > significandBits(to) &&
      significandBits(to) > 0 && !isNearest)
    return roundedFromInteger(call, value, mode);
  if (!from.isFloat() || from == Dtype::boolean())
    return call.kernel.cast(value, to);
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
  all["silu"] = one([](const ElementCall& call) { // x / (1 + e ** -x)
    Value x = call.source(0);
    if (!call.dtypes[0].isFloat()) // -x may have no place among its integers
      x = call.kernel.cast(x, Dtype::float32());
    Value decay = call.kernel.unary("exp", call.kernel.unary("neg", x));
    return call.kernel.binary("div", x, call.kernel.binary("add", decay, call.number(1)));
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
