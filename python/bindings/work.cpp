// SPDX-License-Identifier: Apache-2.0
#include "python/bindings/work.h"

#include "tilewright/work.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tilewright {
namespace nb = nanobind;

void bindWork(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Work>(module, "Work")
      .def_ro("flops", &Work::flops)
      .def_ro("is_upper_bound", &Work::isUpperBound)
      .def_ro("bfloat16_flops", &Work::bfloat16Flops)
      .def_ro("byte_operations", &Work::byteOperations)
      .def_ro("is_read", &Work::isRead)
      .def_ro("is_written", &Work::isWritten);
  module.def(
      "count_work",
      [](const std::string& tileText, const std::vector<std::optional<int64_t>>& arguments) {
        std::string error;
        std::optional<Work> work = countWork(tileText, arguments, error);
        if (!work)
          throw nb::value_error(error.c_str());
        return std::move(*work);
      },
      "tile_text"_a, "arguments"_a);
}

} // namespace tilewright
