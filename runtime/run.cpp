// SPDX-License-Identifier: Apache-2.0
#include "tilewright/run.h"

#include "runtime/arguments.h"
#include "runtime/cpu/launch.h"

#include <charconv>
#include <functional>

namespace tilewright {

using namespace runtime;

struct LoadedKernel::State {
  using Open = std::function<std::shared_ptr<CpuKernel>(const Manifest&)>;
  static std::shared_ptr<const State> make(std::string_view manifestText, std::string& error,
                                           const Open& open);
  bool readTensor(size_t param, const Argument& argument, TensorView& view,
                  std::string& error) const;

  std::shared_ptr<CpuKernel> code;
  ArgumentChecker checker;
};

namespace {

/// The bits of a C++ number for a parameter; nothing, and `error`, if they don't go together.
std::optional<uint64_t>
encodeNumber(const ArgumentChecker& checker, size_t param,
             const std::variant<std::monostate, bool, int64_t, uint64_t, double>& number,
             std::string& error) {
  const ElementType& type = *checker.manifest().params[param].type;
  std::optional<uint64_t> bits;
  std::string text;
  if (const auto* real = std::get_if<double>(&number)) {
    char digits[32];
    text.assign(digits, std::to_chars(digits, std::end(digits), *real).ptr);
    if (type.isFloat()) {
      bits = encodeFloat(type, *real);
    } else {
      error = checker.subject(param) + "is " + text + " but an integer for " +
              std::string(type.name) + " was expected";
      return std::nullopt;
    }
  } else if (const auto* huge = std::get_if<uint64_t>(&number)) {
    text = std::to_string(*huge);
    bits = type.isFloat() ? encodeFloat(type, double(*huge))
                          : encodeInteger(type, int64_t(*huge), true);
  } else {
    const auto* truth = std::get_if<bool>(&number);
    int64_t value = truth ? int64_t(*truth) : std::get<int64_t>(number);
    text = std::to_string(value);
    bits = type.isFloat() ? encodeFloat(type, double(value)) : encodeInteger(type, value);
  }
  if (!bits)
    error = checker.subject(param) + "is " + text + " but a value in the range of " +
            std::string(type.name) + " was expected";
  return bits;
}

} // namespace

std::shared_ptr<const LoadedKernel::State>
LoadedKernel::State::make(std::string_view manifestText, std::string& error, const Open& open) {
  auto manifest = Manifest::parse(manifestText, error);
  auto checker = manifest ? ArgumentChecker::make(*manifest, error) : std::nullopt;
  auto code = checker ? open(*manifest) : nullptr;
  return code ? std::make_shared<State>(State{std::move(code), std::move(*checker)}) : nullptr;
}

std::optional<LoadedKernel> LoadedKernel::load(std::span<const char> library,
                                               std::string_view manifest, std::string& error) {
  LoadedKernel kernel;
  kernel.state = State::make(manifest, error, [&](const Manifest& parsed) {
    return CpuKernel::fromMemory(library, parsed, error);
  });
  return kernel.state ? std::optional(kernel) : std::nullopt;
}

std::optional<LoadedKernel> LoadedKernel::loadFile(const std::string& path,
                                                   std::string_view manifest, std::string& error) {
  LoadedKernel kernel;
  kernel.state = State::make(manifest, error, [&](const Manifest& parsed) {
    return CpuKernel::fromFile(path, parsed, error);
  });
  return kernel.state ? std::optional(kernel) : std::nullopt;
}

bool LoadedKernel::State::readTensor(size_t param, const Argument& argument, TensorView& view,
                                     std::string& error) const {
  int64_t elements = 1;
  for (int64_t extent : argument.shape)
    elements *= extent;
  if (argument.elementCount >= 0 && elements != argument.elementCount) {
    error = checker.subject(param) + "has " + std::to_string(argument.elementCount) +
            " elements but its shape has " + std::to_string(elements);
    return false;
  }
  if (!argument.strides.empty() && argument.strides.size() != argument.shape.size()) {
    error = checker.subject(param) + "has " + std::to_string(argument.strides.size()) +
            " strides but " + std::to_string(argument.shape.size()) + " dims";
    return false;
  }
  const ElementType* type = ElementType::find(argument.type.name());
  view.data = argument.data;
  view.dtype = type ? DlDataType{type->code, type->bits, 1} : DlDataType{DlOpaque, 0, 1};
  view.ndim = int32_t(argument.shape.size());
  view.shape = argument.shape.data();
  view.strides = argument.strides.empty() ? nullptr : argument.strides.data();
  view.isReadOnly = argument.isReadOnly;
  view.isPresent = true;
  return true;
}

bool LoadedKernel::run(std::span<const Argument> arguments, std::string& error) const {
  const ArgumentChecker& checker = state->checker;
  const Manifest& manifest = checker.manifest();
  if (arguments.size() != manifest.params.size()) {
    error = manifest.name + ": takes " + std::to_string(manifest.params.size()) +
            " arguments, but " + std::to_string(arguments.size()) + " were given";
    return false;
  }
  std::vector<TensorView> views(arguments.size());
  std::vector<uint64_t> slots(checker.slotCount());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    bool isTensor = argument.number.index() == 0;
    if (isTensor != manifest.params[i].isTensor) {
      error = checker.subject(i) + (isTensor ? "is a tensor but a number was expected"
                                             : "is a number but a tensor was expected");
      return false;
    }
    if (!isTensor) {
      auto bits = encodeNumber(checker, i, argument.number, error);
      if (!bits)
        return false;
      slots[checker.slotOf(i)] = *bits;
      continue;
    }
    if (!state->readTensor(i, argument, views[i], error) || !checker.checkType(i, views[i], error))
      return false;
    slots[checker.slotOf(i)] = reinterpret_cast<uint64_t>(argument.data);
  }
  std::span<int64_t> symbols(reinterpret_cast<int64_t*>(slots.data() + manifest.params.size()),
                             manifest.symbols.size());
  if (!checker.solve(views, slots, symbols, error))
    return false;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (manifest.params[i].isTensor && !checker.checkShape(i, views[i], symbols, error))
      return false;
  if (!checker.checkApart(views, error))
    return false;
  TwLaunch launch{};
  LaunchResult result = runBlocks(*state->code, slots.data(), launch);
  if (result.end != LaunchEnd::Done)
    error = describe(result, manifest, launch);
  return result.end == LaunchEnd::Done;
}

void setNumThreads(int count) {
  setThreadCount(count);
}

} // namespace tilewright
