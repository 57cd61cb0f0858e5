// SPDX-License-Identifier: Apache-2.0
#include "function_call.h"

#include "scalar_argument.h"

namespace tilewright::bindings {

namespace nb = nanobind;
using namespace runtime;

namespace {

nb::tuple numbers(std::span<const int64_t> values) {
  nb::list list;
  for (int64_t value : values)
    list.append(value);
  return nb::tuple(list);
}

/// (address, shape, strides, whether the call made it): strides of dense tensors are left empty.
nb::object tensorObject(const KernelObject& kernel, size_t param, uint64_t address,
                        const TensorView& view, std::span<const int64_t> symbols, bool isMade) {
  const Param& expected = kernel.checker.manifest().params[param];
  std::vector<int64_t> shape(expected.shape.size());
  kernel.checker.elementShape(param, symbols, shape);
  std::vector<int64_t> strides;
  if (expected.strides && view.strides)
    for (size_t dim = 0; dim < shape.size(); ++dim)
      strides.push_back(kernel.checker.elementStride(param, view, dim));
  return nb::make_tuple(address, numbers(shape), numbers(strides), isMade);
}

} // namespace

bool callFunction(const KernelObject& kernel, const uint64_t* slots,
                  std::span<const TensorView> views, std::span<const int64_t> symbols,
                  std::span<PyObject* const> given) {
  const Manifest& manifest = kernel.checker.manifest();
  try {
    nb::list arguments;
    for (size_t param = 0; param < manifest.params.size(); ++param) {
      const uint64_t slot = slots[kernel.checker.slotOf(param)];
      if (manifest.params[param].isTensor)
        arguments.append(
            tensorObject(kernel, param, slot, views[param], symbols, given[param] == nullptr));
      else
        arguments.append(decodeScalar(*manifest.params[param].type, slot));
    }
    kernel.function(*nb::tuple(arguments));
    return true;
  } catch (nb::python_error& error) {
    error.restore();
    return false;
  }
}

} // namespace tilewright::bindings
