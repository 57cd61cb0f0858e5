// SPDX-License-Identifier: Apache-2.0
// The reference interpreter, for `_compiler.interpret`.
#include "python/bindings/interpret.h"

#include "tilewright/interpret.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <future>

namespace tilewright {
namespace nb = nanobind;
namespace {

/// (address, shape, strides in elements) of a tensor, an integer or a float.
using Tensor = std::tuple<uintptr_t, std::vector<int64_t>, std::vector<int64_t>>;
/// The same, and whether it was made for this call.
using MadeTensor = std::tuple<uintptr_t, std::vector<int64_t>, std::vector<int64_t>, bool>;
using BoundArgument = std::variant<Tensor, MadeTensor, int64_t, uint64_t, double>;

HostArgument hostArgument(const BoundArgument& argument) {
  if (const auto* integer = std::get_if<int64_t>(&argument))
    return *integer;
  if (const auto* large = std::get_if<uint64_t>(&argument)) // a uint64 beyond int64: its bits
    return int64_t(*large);
  if (const auto* real = std::get_if<double>(&argument))
    return *real;
  if (const auto* made = std::get_if<MadeTensor>(&argument)) {
    const auto& [address, shape, strides, isFresh] = *made;
    return HostTensor{reinterpret_cast<void*>(address), shape, strides,
                      isFresh}; // NOLINT(performance-no-int-to-ptr)
  }
  const auto& [address, shape, strides] = std::get<Tensor>(argument);
  return HostTensor{reinterpret_cast<void*>(address), shape,
                    strides}; // NOLINT(performance-no-int-to-ptr)
}

/// Calls a function's Python reference, on the interpreter's thread.
bool call(const nb::dict& functions, std::string_view name, const std::vector<HostNumber>& given,
          HostNumber& result, std::string& problem) {
  const nb::gil_scoped_acquire acquired;
  const std::string key(name);
  if (!functions.contains(key.c_str()))
    return false;
  try {
    nb::list arguments;
    for (const HostNumber& number : given)
      std::visit([&](auto value) { arguments.append(value); }, number);
    const nb::object made = functions[key.c_str()](*nb::tuple(arguments));
    if (nb::isinstance<nb::int_>(made))
      result = nb::cast<int64_t>(made);
    else if (!made.is_none())
      result = nb::cast<double>(nb::float_(made));
    return true;
  } catch (const std::exception& wrong) {
    problem = wrong.what();
    return false;
  }
}

/// Gives what was printed and the diagnostics. Runs beside the caller's thread, which watches for
/// Ctrl-C.
std::pair<std::string, std::vector<Diagnostic>>
interpretKernel(const std::shared_ptr<KernelModule>& kernel,
                const std::vector<BoundArgument>& arguments, const nb::dict& functions,
                bool reportsOutOfRange, const std::vector<size_t>& results,
                bool iterationsTakeTurns, bool pairsCores) {
  std::vector<HostArgument> bound;
  bound.reserve(arguments.size());
  for (const BoundArgument& argument : arguments)
    bound.push_back(hostArgument(argument));
  for (size_t number : results)
    if (auto* tensor = number < bound.size() ? std::get_if<HostTensor>(&bound[number]) : nullptr)
      tensor->isResult = true;
  std::pair<std::string, std::vector<Diagnostic>> result;
  std::atomic<bool> cancel = false;
  std::future<void> run = std::async(std::launch::async, [&] {
    interpret(
        *kernel, bound, result.second, &result.first, &cancel,
        [&](std::string_view name, const std::vector<HostNumber>& given, HostNumber& made,
            std::string& problem) { return call(functions, name, given, made, problem); },
        reportsOutOfRange, iterationsTakeTurns, pairsCores);
  });
  while (true) {
    {
      nb::gil_scoped_release release;
      if (run.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready)
        return result;
    }
    if (PyErr_CheckSignals() != 0) {
      cancel = true;
      nb::gil_scoped_release release;
      run.wait();
      break;
    }
  }
  throw nb::python_error();
}

} // namespace

void bindInterpret(nb::module_& module) {
  using nb::literals::operator""_a;
  module.def("interpret", &interpretKernel, "kernel"_a, "arguments"_a, "functions"_a = nb::dict(),
             "reports_out_of_range"_a = false, "results"_a = std::vector<size_t>(),
             "iterations_take_turns"_a = false, "pairs_cores"_a = false);
}

} // namespace tilewright
