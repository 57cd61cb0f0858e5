// SPDX-License-Identifier: Apache-2.0
#include "runtime/arguments.h"

#include "runtime/tensor_overlap.h"

#include <algorithm>
#include <tuple>

namespace tilewright::runtime {

namespace {

constexpr size_t largestSymbolCount = 64;
/// Compilers rely on it: no sum or product of a few indices overflows 64 bits (docs/kernel-abi.md).
constexpr int64_t largestSymbol = int64_t(1) << 48;

std::string tupleText(std::span<const int64_t> values) {
  std::string text = "(";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(values[i]);
  return text + (values.size() == 1 ? ",)" : ")");
}

std::string deviceName(DlDevice device) {
  switch (device.type) {
  case DlCpu:
    return "cpu";
  case DlCuda:
    return "cuda:" + std::to_string(device.id);
  case DlRocm:
    return "rocm:" + std::to_string(device.id);
  default:
    return "DLPack type " + std::to_string(device.type) + ":" + std::to_string(device.id);
  }
}

bool isEmpty(const TensorView& view) {
  return std::ranges::any_of(std::span(view.shape, view.ndim), [](int64_t n) { return n == 0; });
}

bool contains(std::span<const size_t> numbers, size_t number) {
  return std::ranges::find(numbers, number) != numbers.end();
}

/// Whether the size of this dim counts bytes of several elements each.
bool isPacked(const ElementType& type, const TensorView& view, size_t dim) {
  return type.bits < 8 && (view.dtype.bits == 8 || view.dtype.lanes > 1) &&
         dim + 1 == size_t(view.ndim);
}

/// A stride of the view in elements of `type`: where these are packed in bytes, all strides but the last count bytes. Those
/// of one byte are neighbours, whatever its stride says.
int64_t strideOf(const ElementType& type, const TensorView& view, size_t dim) {
  int64_t stride = 1;
  if (view.strides)
    stride = view.strides[dim];
  else
    for (size_t d = dim + 1; d < size_t(view.ndim); ++d)
      stride *= view.shape[d];
  const size_t last = size_t(view.ndim) - 1;
  if (!isPacked(type, view, last))
    return stride;
  if (dim < last)
    return stride * type.elementsPerByte();
  return view.shape[last] <= 1 ? 1 : stride;
}

/// The number of elements of `type` in the last dim of a view, when sub-byte elements are packed in
/// bytes.
int64_t unpacked(const ElementType& type, const TensorView& view, size_t dim, int64_t size) {
  return isPacked(type, view, dim) ? size * type.elementsPerByte() : size;
}

} // namespace

ArgumentChecker::ArgumentChecker(const Manifest& manifest)
    : spec(manifest), slots(manifest.params.size()), outputs(manifest.params.size()) {
  for (bool tensors : {true, false})
    for (size_t i = 0; i < spec.params.size(); ++i)
      if (spec.params[i].isTensor == tensors) {
        slots[i] = paramOf.size();
        paramOf.push_back(i);
      }
  for (int32_t param : spec.outIdx)
    outputs[param] = true;
}

std::optional<ArgumentChecker> ArgumentChecker::make(const Manifest& manifest, std::string& error) {
  if (manifest.symbols.size() > largestSymbolCount) {
    error = manifest.name + ": " + std::to_string(manifest.symbols.size()) +
            " symbols, but at most " + std::to_string(largestSymbolCount) + " are supported";
    return std::nullopt;
  }
  ArgumentChecker checker(manifest);
  // Order the equations so that each has at most one symbol that those before it do not give.
  std::vector<Equation> rest;
  for (size_t i = 0; i < manifest.params.size(); ++i) {
    const Param& param = manifest.params[i];
    for (size_t d = 0; d < param.shape.size(); ++d) {
      if (!param.shape[d].isConstant() && param.shape[d].code.empty())
        rest.push_back({i, d, false});
      if (param.strides && !(*param.strides)[d].isConstant() && (*param.strides)[d].code.empty())
        rest.push_back({i, d, true});
    }
  }
  // Dims that are a symbol come first, so that messages blame the others.
  std::ranges::sort(rest, {}, [&](const Equation& equation) {
    const Dim& dim = checker.dimOf(equation);
    bool isSum =
        dim.terms.size() > 1 || dim.constant != (dim.isProduct ? 1 : 0) || dim.terms[0].first != 1;
    return std::make_tuple(equation.isStride, dim.terms.size() > 1, isSum, equation.param,
                           equation.dim);
  });
  uint64_t known = 0;
  for (auto [symbol, param] : manifest.scalarSymbols)
    known |= uint64_t(1) << symbol;
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i = 0; i < rest.size();) {
      uint64_t wanted = 0;
      for (auto [coefficient, symbol] : checker.dimOf(rest[i]).terms)
        wanted |= uint64_t(1) << symbol;
      wanted &= ~known;
      if ((wanted & (wanted - 1)) != 0) {
        ++i;
        continue;
      }
      known |= wanted;
      checker.equations.push_back(rest[i]);
      rest.erase(rest.begin() + ptrdiff_t(i));
      progress = true;
    }
  }
  for (size_t s = 0; s < manifest.symbols.size(); ++s) {
    if ((known >> s & 1) == 0) {
      error = manifest.name + ": symbol '" + manifest.symbols[s] +
              "' can't be found from the shapes and strides of the arguments";
      return std::nullopt;
    }
  }
  return checker;
}

std::string ArgumentChecker::subject(size_t param) const {
  return spec.name + ": argument " + std::to_string(param) + " '" + spec.params[param].name + "' ";
}

std::string ArgumentChecker::inTileLang(std::string_view words) const {
  return "\nin TileLang's words: " + std::string(words);
}

std::string ArgumentChecker::handle(size_t param) const {
  return spec.name + "." + spec.params[param].name + "_handle";
}

std::string ArgumentChecker::constraint(const Equation& equation, int64_t given,
                                        int64_t wanted) const {
  return inTileLang("Argument " + handle(equation.param) +
                    (equation.isStride ? ".strides[" : ".shape[") + std::to_string(equation.dim) +
                    "] has an unsatisfied constraint: " + std::to_string(given) +
                    " == " + std::to_string(wanted));
}

const Dim& ArgumentChecker::dimOf(const Equation& equation) const {
  const Param& param = spec.params[equation.param];
  return equation.isStride ? (*param.strides)[equation.dim] : param.shape[equation.dim];
}

bool ArgumentChecker::checkMemory(size_t param, const TensorView& view, std::string& error) const {
  if (view.device.type != DlCpu && view.device.type != DlCudaHost) {
    error = subject(param) + "is on device " + deviceName(view.device) + " but cpu was expected" +
            inTileLang(handle(param) + ".device_type mismatch [expected: 1 (CPU)], got: " +
                       std::to_string(view.device.type));
    return false;
  }
  if (!view.data && !isEmpty(view)) {
    error = subject(param) + "has no memory (is it a fake tensor?)" +
            inTileLang(spec.name + "." + spec.params[param].name +
                       " is expected to have non-NULL data pointer, but got NULL");
    return false;
  }
  return true;
}

bool ArgumentChecker::checkDtype(size_t param, const ElementType& expected, const TensorView& view,
                                 std::string& error) const {
  if (isAccepted(expected, view.dtype))
    return true;
  const std::string name(expected.name);
  error = subject(param) + "has dtype " + nameOf(view.dtype) + " but " + name + " was expected" +
          inTileLang(handle(param) + ".dtype is expected to be " + name +
                     ", but got incompatible dtype");
  return false;
}

bool ArgumentChecker::checkAbsence(size_t param, std::string& error) const {
  if ((!spec.params[param].used || spec.params[param].neededIf) && !outputs[param])
    return true; // what scalars say, `solve` asks them
  return failAbsence(param, error);
}

bool ArgumentChecker::failAbsence(size_t param, std::string& error) const {
  error = subject(param) + "is None but the kernel uses it" +
          inTileLang(handle(param) + " is expected to have non-NULL pointer");
  return false;
}

// How the memory lies behind an address is the kernel's matter; but a tensor of the very shape of the
// kernel's own is meant to be that.
bool ArgumentChecker::checkPointer(size_t param, const TensorView& view, std::string& error) const {
  const Param& expected = spec.params[param];
  if ((expected.pointee && !checkDtype(param, *expected.pointee, view, error)) ||
      !checkMemory(param, view, error))
    return false;
  if (!std::ranges::equal(expected.pointeeShape, std::span(view.shape, size_t(view.ndim))) ||
      checkStrides(param, view, {}, error))
    return true;
  const std::string hint = "; or give T.make_tensor its strides";
  error.insert(std::min(error.find('\n'), error.size()), hint);
  return false;
}

bool ArgumentChecker::checkType(size_t param, const TensorView& view, std::string& error) const {
  const Param& expected = spec.params[param];
  if (!view.isPresent)
    return checkAbsence(param, error);
  if (size_t(view.ndim) != expected.shape.size()) {
    error = subject(param) + "has " + std::to_string(view.ndim) + " dims, shape " +
            tupleText({view.shape, size_t(view.ndim)}) + ", but " +
            std::to_string(expected.shape.size()) +
            (expected.shape.size() == 1 ? " dim was expected" : " dims were expected") +
            inTileLang(handle(param) + ".ndim is expected to equal " +
                       std::to_string(expected.shape.size()) + ", but got mismatched ndim");
    return false;
  }
  if (!checkDtype(param, *expected.type, view, error) || !checkMemory(param, view, error))
    return false;
  if (view.isReadOnly && (outputs[param] || expected.written)) {
    error = subject(param) + "is read-only but the kernel writes it";
    return false;
  }
  if (reinterpret_cast<uintptr_t>(view.data) % uintptr_t(expected.align) != 0 && !isEmpty(view)) {
    auto past = reinterpret_cast<uintptr_t>(view.data) % uintptr_t(expected.align);
    error = subject(param) + "starts " + std::to_string(past) + " bytes past a multiple of " +
            std::to_string(expected.align) + " but an alignment of " +
            std::to_string(expected.align) + " bytes was expected";
    return false;
  }
  return true;
}

int64_t ArgumentChecker::givenValue(const Equation& equation, const TensorView& view) const {
  const Param& param = spec.params[equation.param];
  if (!equation.isStride)
    return unpacked(*param.type, view, equation.dim, view.shape[equation.dim]);
  return strideOf(*param.type, view, equation.dim);
}

int64_t ArgumentChecker::elementStride(size_t param, const TensorView& view, size_t dim) const {
  return strideOf(*spec.params[param].type, view, dim);
}

bool ArgumentChecker::solveOne(const Equation& equation, int64_t given, std::span<int64_t> symbols,
                               uint64_t& known, std::string& error) const {
  const Dim& dim = dimOf(equation);
  int32_t wanted = -1;
  __int128 rest = dim.constant;
  __int128 coefficient = dim.isProduct ? 1 : 0;
  for (auto [factor, symbol] : dim.terms) {
    if ((known >> symbol & 1) == 0) {
      if ((wanted >= 0 && (wanted != symbol || dim.isProduct)))
        return true; // two unknowns, or a square: another equation must give it
      wanted = symbol;
      coefficient = dim.isProduct ? 1 : coefficient + factor;
    } else if (dim.isProduct) {
      rest *= symbols[symbol];
    } else {
      rest += __int128(factor) * symbols[symbol];
    }
  }
  if (wanted < 0)
    return true; // only to be checked, see checkShape
  __int128 dividend = dim.isProduct ? given : given - rest;
  __int128 divisor = dim.isProduct ? rest : coefficient;
  if (divisor == 0)
    return true; // 0 * k == given says nothing about k
  __int128 value = dividend / divisor;
  if (dividend % divisor != 0 || value < 0 || value > INT64_MAX) {
    error = subject(equation.param) + (equation.isStride ? "has stride " : "has size ") +
            std::to_string(given) + " at dim " + std::to_string(equation.dim) + " but " +
            dim.text(spec.symbols) + " was expected, which no integer '" + spec.symbols[wanted] +
            "' >= 0 gives";
    return false;
  }
  if (value > largestSymbol) {
    error = subject(equation.param) + "makes '" + spec.symbols[wanted] + "' " +
            std::to_string(int64_t(value)) + ", but at most " + std::to_string(largestSymbol) +
            " is supported";
    return false;
  }
  symbols[wanted] = int64_t(value);
  known |= uint64_t(1) << wanted;
  return true;
}

int64_t ArgumentChecker::scalarOf(size_t param, std::span<const uint64_t> slots) const {
  const ElementType& type = *spec.params[param].type;
  const int unused = 64 - int(type.bits);
  const uint64_t bits = slots[slotOf(param)] << unused;
  return type.code == DlInt ? int64_t(bits) >> unused : int64_t(bits >> unused);
}

bool ArgumentChecker::isNeeded(size_t param, std::span<const uint64_t> slots) const {
  const auto holds = [&](const ScalarTest& test) {
    const int64_t value = scalarOf(test.param, slots);
    switch (test.comparison) {
    case ScalarTest::Comparison::Equal:
      return value == test.number;
    case ScalarTest::Comparison::Unequal:
      return value != test.number;
    case ScalarTest::Comparison::Less:
      return value < test.number;
    case ScalarTest::Comparison::AtMost:
      return value <= test.number;
    case ScalarTest::Comparison::More:
      return value > test.number;
    default:
      return value >= test.number;
    }
  };
  return std::ranges::any_of(*spec.params[param].neededIf,
                             [&](const auto& tests) { return std::ranges::all_of(tests, holds); });
}

bool ArgumentChecker::takeScalars(std::span<const uint64_t> slots, std::span<int64_t> symbols,
                                  uint64_t& known, std::string& error) const {
  for (auto [symbol, param] : spec.scalarSymbols) {
    const int64_t value = scalarOf(size_t(param), slots);
    if (value < 0 || value > largestSymbol) {
      error = subject(size_t(param)) + "is an extent, which must be 0 to " +
              std::to_string(largestSymbol) + ", but it is " + std::to_string(value);
      return false;
    }
    symbols[size_t(symbol)] = value;
    known |= uint64_t(1) << symbol;
  }
  return true;
}

bool ArgumentChecker::solve(std::span<const TensorView> views, std::span<const uint64_t> slots,
                            std::span<int64_t> symbols, std::string& error) const {
  for (size_t i = 0; i < spec.params.size(); ++i)
    if (spec.params[i].neededIf && !views[i].isPresent && !outputs[i] && isNeeded(i, slots))
      return failAbsence(i, error);
  if (symbols.empty())
    return true;
  const uint64_t all = symbols.size() == 64 ? ~uint64_t(0) : (uint64_t(1) << symbols.size()) - 1;
  uint64_t known = 0;
  if (!takeScalars(slots, symbols, known, error))
    return false;
  // One pass does, unless an absent tensor forces another order. The stride of a dim of one element is arbitrary: it gives
  // a symbol only where nothing else does, and is multiplied by an index of 0 then.
  for (bool takesArbitrary : {false, true})
    for (uint64_t before = ~known; known != all && known != before;) {
      before = known;
      for (const Equation& equation : equations) {
        const TensorView& view = views[equation.param];
        if (!view.isPresent)
          continue;
        const bool isArbitrary = equation.isStride && view.shape[equation.dim] == 1;
        int64_t given = givenValue(equation, view);
        if (isArbitrary && (given < 0 || given > largestSymbol))
          given = 1;
        std::string ignored;
        if ((!isArbitrary || takesArbitrary) &&
            !solveOne(equation, given, symbols, known, isArbitrary ? ignored : error) &&
            !isArbitrary)
          return false;
      }
    }
  if (known == all)
    return true;
  for (size_t s = 0; s < symbols.size(); ++s)
    if ((known >> s & 1) == 0 && !isNeedless(s, views)) {
      error = spec.name + ": symbol '" + spec.symbols[s] +
              "' can't be found from the shapes and strides of the arguments given";
      return false;
    }
  return true;
}

bool ArgumentChecker::isNeedless(size_t symbol, std::span<const TensorView> views) const {
  if (std::ranges::find(spec.unreadSymbols, int32_t(symbol)) == spec.unreadSymbols.end())
    return false;
  return std::ranges::none_of(equations, [&](const Equation& equation) {
    const bool isAsked = views[equation.param].isPresent || outputs[equation.param];
    return isAsked && std::ranges::any_of(dimOf(equation).terms, [&](const auto& term) {
             return size_t(term.second) == symbol;
           });
  });
}

std::string ArgumentChecker::symbolValues(const Dim& dim, std::span<const int64_t> symbols) const {
  std::string text;
  for (auto [coefficient, symbol] : dim.terms) {
    std::string entry = spec.symbols[symbol] + " = " + std::to_string(symbols[symbol]);
    if (text.find(entry) == std::string::npos)
      text += (text.empty() ? "" : ", ") + entry;
  }
  return text;
}

bool ArgumentChecker::failShape(size_t param, const TensorView& view,
                                std::span<const int64_t> symbols, size_t dim,
                                std::string& error) const {
  const Param& expected = spec.params[param];
  std::string want;
  for (size_t d = 0; d < expected.shape.size(); ++d)
    want += (d > 0 ? ", " : "") + expected.shape[d].text(spec.symbols);
  want = "(" + want + (expected.shape.size() == 1 ? ",)" : ")");
  error = subject(param) + "has shape " + tupleText({view.shape, size_t(view.ndim)}) + " but " +
          want + " was expected at dim " + std::to_string(dim);
  if (!expected.shape[dim].isConstant())
    error += ", where " + symbolValues(expected.shape[dim], symbols);
  int64_t wanted = 0;
  const bool isKnown = expected.shape[dim].evaluate(symbols, wanted);
  if (const int count = expected.type->elementsPerByte(); count > 1) {
    error += " (" + std::to_string(count) + " elements of " + std::string(expected.type->name) +
             " in a byte";
    if (isKnown && isPacked(*expected.type, view, dim))
      error += ", so " + std::to_string((wanted + count - 1) / count) + " bytes";
    error += ")";
  }
  if (isKnown)
    error += constraint({param, dim, false}, unpacked(*expected.type, view, dim, view.shape[dim]),
                        wanted);
  return false;
}

bool ArgumentChecker::checkShape(size_t param, const TensorView& view,
                                 std::span<const int64_t> symbols, std::string& error) const {
  const Param& expected = spec.params[param];
  if (!view.isPresent)
    return true;
  for (size_t d = 0; d < expected.shape.size(); ++d) {
    int64_t wanted;
    bool fits = expected.shape[d].evaluate(symbols, wanted);
    int64_t given = unpacked(*expected.type, view, d, view.shape[d]);
    // A packed last dim of odd size has a half-used byte.
    bool isRoundedUp = given != view.shape[d] && given - wanted > 0 &&
                       given - wanted < expected.type->elementsPerByte();
    if (!fits || (given != wanted && !isRoundedUp))
      return failShape(param, view, symbols, d, error);
  }
  return checkStrides(param, view, symbols, error);
}

/// Elements of bytes that lie apart have no stride.
bool ArgumentChecker::failPacked(size_t param, const TensorView& view, std::string& error) const {
  error =
      subject(param) + "has strides " + tupleText({view.strides, size_t(view.ndim)}) +
      " for shape " + tupleText({view.shape, size_t(view.ndim)}) +
      ", but the bytes of its last dim hold " +
      std::to_string(spec.params[param].type->elementsPerByte()) +
      " elements each and must be neighbours; give a contiguous copy, as .contiguous() makes one";
  return false;
}

bool ArgumentChecker::checkStrides(size_t param, const TensorView& view,
                                   std::span<const int64_t> symbols, std::string& error) const {
  const Param& expected = spec.params[param];
  if ((!view.strides && !expected.strides) || isEmpty(view))
    return true;
  int64_t contiguous = 1;
  for (size_t d = size_t(view.ndim); d-- > 0;) {
    int64_t wanted = contiguous;
    bool fits = !expected.strides || (*expected.strides)[d].evaluate(symbols, wanted);
    int64_t given = strideOf(*expected.type, view, d);
    contiguous *= unpacked(*expected.type, view, d, view.shape[d]);
    const bool isOfBytes = isPacked(*expected.type, view, d);
    if (isOfBytes && given != 1)
      return failPacked(param, view, error);
    if ((view.shape[d] == 1 && !isOfBytes) || (fits && given == wanted))
      continue;
    std::string text = subject(param) + "has ";
    text += view.strides ? "strides " + tupleText({view.strides, size_t(view.ndim)})
                         : std::string("contiguous strides");
    text += " for shape " + tupleText({view.shape, size_t(view.ndim)}) + " but stride " +
            std::to_string(wanted) + " was expected at dim " + std::to_string(d);
    error = text +
            (expected.strides ? ""
                              : " (a contiguous tensor; give a contiguous copy, as .contiguous() "
                                "makes one, or declare "
                                "the parameter as a T.StridedTensor)") +
            constraint({param, d, true}, given, wanted);
    return false;
  }
  return true;
}

bool ArgumentChecker::failApart(size_t param, size_t other, std::string_view what,
                                std::string& error) const {
  error = subject(param) + std::string(what) + " argument " + std::to_string(other) + " '" +
          spec.params[other].name + "'";
  return false;
}

bool ArgumentChecker::checkApart(std::span<const TensorView> views, std::string& error) const {
  const auto counts = [&](size_t i) {
    return spec.params[i].isTensor && spec.params[i].used && views[i].isPresent &&
           !isEmpty(views[i]);
  };
  const auto isWritten = [&](size_t i) { return spec.params[i].written || outputs[i]; };
  for (size_t i = 0; i < spec.params.size(); ++i)
    for (size_t other = 0; isWritten(i) && counts(i) && other < spec.params.size(); ++other) {
      const Param &written = spec.params[i], &second = spec.params[other];
      const bool isDone = other == i || (isWritten(other) && other < i);
      if (isDone || !counts(other) || written.mayOverlap || second.mayOverlap)
        continue;
      const TensorOverlap overlap = compareTensors(views[i], views[other]);
      if (overlap == TensorOverlap::InPart) {
        failApart(i, other, "is written, and overlaps in part", error);
        error += "; let them be the same or apart, or have the kernel say "
                 "T.annotate_restrict_buffers(" +
                 written.name + ", " + second.name + ")";
        return false;
      }
      if (overlap == TensorOverlap::Same &&
          (contains(written.apartFrom, other) || contains(second.apartFrom, i))) {
        failApart(i, other, "is the same memory as", error);
        error += ", but the kernel reads other elements of it while it writes these";
        return false;
      }
    }
  return true;
}

int64_t ArgumentChecker::numberAt(size_t slot, std::span<const uint64_t> slots) const {
  return slot < paramOf.size() ? scalarOf(paramOf[slot], slots) : int64_t(slots[slot]);
}

std::string ArgumentChecker::subjectAt(size_t slot) const {
  if (slot < paramOf.size())
    return subject(paramOf[slot]) + "is ";
  const auto symbol = int32_t(slot - paramOf.size());
  for (auto [number, param] : spec.scalarSymbols)
    if (number == symbol)
      return subject(size_t(param)) + "is ";
  for (const Equation& equation : equations)
    for (auto [factor, number] : dimOf(equation).terms)
      if (number == symbol)
        return subject(equation.param) + "makes '" + spec.symbols[size_t(symbol)] + "' ";
  return spec.name + ": '" + spec.symbols[size_t(symbol)] + "' is ";
}

bool ArgumentChecker::checkLimits(size_t launch, std::span<const uint64_t> slots,
                                  std::string& error) const {
  for (const ArgumentLimit& limit : spec.limits) {
    const int64_t given = numberAt(limit.slot, slots);
    const auto isLarge = [&](const auto& needed) {
      return numberAt(needed.first, slots) >= needed.second;
    };
    if (limit.launch != launch || given <= limit.most || !std::ranges::all_of(limit.where, isLarge))
      continue;
    error = subjectAt(limit.slot) + std::to_string(given) + ", but at most " +
            std::to_string(limit.most) + " fits into tile '" + limit.tile + "'";
    if (!limit.tilePlace.empty())
      error += " (" + limit.tilePlace + ")";
    if (!limit.copyPlace.empty() && limit.multiplies)
      error += ", which " + limit.copyPlace + " multiplies";
    else if (!limit.copyPlace.empty())
      error += (limit.fills ? ", to which " : ", from which ") + limit.copyPlace + " copies";
    return false;
  }
  return true;
}

bool ArgumentChecker::outputShape(size_t param, std::span<const int64_t> symbols,
                                  std::span<int64_t> shape, std::string& error) const {
  const Param& expected = spec.params[param];
  int64_t total = 1;
  for (size_t d = 0; d < expected.shape.size(); ++d) {
    bool fits = expected.shape[d].evaluate(symbols, shape[d]) && shape[d] >= 0;
    if (fits && d + 1 == expected.shape.size())
      shape[d] =
          (shape[d] + expected.type->elementsPerByte() - 1) / expected.type->elementsPerByte();
    if (!fits) {
      error = subject(param) + "would have size " + expected.shape[d].text(spec.symbols) + " = " +
              std::to_string(shape[d]) + " at dim " + std::to_string(d) + ", where " +
              symbolValues(expected.shape[d], symbols);
      return false;
    }
    if (__builtin_mul_overflow(total, shape[d], &total) || total > INT64_MAX / 8) {
      error = subject(param) + "would have more than 2^60 elements";
      return false;
    }
  }
  return true;
}

void ArgumentChecker::elementShape(size_t param, std::span<const int64_t> symbols,
                                   std::span<int64_t> shape) const {
  for (size_t d = 0; d < spec.params[param].shape.size(); ++d)
    spec.params[param].shape[d].evaluate(symbols, shape[d]);
}

} // namespace tilewright::runtime
