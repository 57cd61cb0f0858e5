// SPDX-License-Identifier: Apache-2.0
// The module `tilewright._runtime`: loads and calls compiled kernels. Links no LLVM.
// python/tilewright/_runtime.pyi is its interface.
#include "kernel_call.h"
#include "runtime/cpu/launch.h"
#include "runtime/cpu/peaks.h"
#include "runtime/sha256.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <thread>

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewright::bindings {

using namespace runtime;

namespace {

KernelObject loadForAscend(nb::handle library, const Manifest& manifest, ArgumentChecker checker) {
  std::string error;
  std::shared_ptr<AscendKernel> device;
  if (nb::isinstance<nb::bytes>(library)) {
    auto bytes = nb::cast<nb::bytes>(library);
    device = AscendKernel::fromMemory({static_cast<const char*>(bytes.data()), bytes.size()},
                                      manifest, error);
  } else {
    device = AscendKernel::fromFile(nb::cast<std::string>(library), manifest, error);
  }
  if (!device) {
    PyErr_SetString(PyExc_OSError, error.c_str());
    throw nb::python_error();
  }
  return {nullptr, std::move(checker), {}, std::move(device)};
}

KernelObject load(nb::handle library, const std::string& manifestText,
                  const std::optional<std::vector<int64_t>>& outIdx, size_t results) {
  std::string error;
  auto manifest = Manifest::parse(manifestText, error);
  if (!manifest || (outIdx && !manifest->setOutputs(*outIdx, error, results)))
    throw nb::value_error(error.c_str());
  auto checker = ArgumentChecker::make(*manifest, error);
  if (!checker)
    throw nb::value_error(error.c_str());
  if (PyCallable_Check(library.ptr()) != 0)
    return {nullptr, std::move(*checker), nb::borrow(library)};
  if (manifest->target == "ascend")
    return loadForAscend(library, *manifest, std::move(*checker));
  std::shared_ptr<CpuKernel> code;
  if (nb::isinstance<nb::bytes>(library)) {
    auto bytes = nb::cast<nb::bytes>(library);
    code = CpuKernel::fromMemory({static_cast<const char*>(bytes.data()), bytes.size()}, *manifest,
                                 error);
  } else {
    code = CpuKernel::fromFile(nb::cast<std::string>(library), *manifest, error);
  }
  if (!code) {
    PyErr_SetString(PyExc_OSError, error.c_str());
    throw nb::python_error();
  }
  return {std::move(code), std::move(*checker)};
}

/// tp_call, so that a call makes no nanobind argument records; subclasses inherit it.
PyObject* call(PyObject* self, PyObject* arguments, PyObject* keywords) {
  if (!nb::inst_ready(self)) {
    PyErr_SetString(PyExc_RuntimeError, "this Kernel was not initialized");
    return nullptr;
  }
  try {
    return callKernel(*nb::inst_ptr<KernelObject>(self), PySequence_Fast_ITEMS(arguments),
                      size_t(PyTuple_GET_SIZE(arguments)), keywords);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& problem) {
    PyErr_SetString(PyExc_RuntimeError, problem.what());
    return nullptr;
  }
}

PyType_Slot kernelSlots[] = {{Py_tp_call, reinterpret_cast<void*>(call)}, {0, nullptr}};

/// An integer, or the expression as text.
nb::object dimObject(const Dim& dim, const Manifest& manifest) {
  if (dim.isConstant())
    return nb::int_(dim.constant);
  return nb::str(dim.text(manifest.symbols).c_str());
}

nb::list paramList(const KernelObject& kernel) {
  const Manifest& manifest = kernel.checker.manifest();
  nb::list params;
  for (size_t i = 0; i < manifest.params.size(); ++i) {
    const Param& param = manifest.params[i];
    nb::dict entry;
    entry["kind"] = param.isTensor ? "tensor" : "scalar";
    entry["name"] = param.name;
    entry["dtype"] = std::string(param.type->name);
    entry["is_output"] = kernel.checker.isOutput(i);
    if (param.isTensor) {
      nb::list shape;
      for (const Dim& dim : param.shape)
        shape.append(dimObject(dim, manifest));
      entry["shape"] = nb::tuple(shape);
      entry["is_written"] = param.written;
    }
    params.append(entry);
  }
  return params;
}

} // namespace
} // namespace tilewright::bindings

NB_MODULE(_runtime, m) {
  using namespace tilewright::bindings;
  using namespace tilewright::runtime;
  using tilewright::mayUseTiles;
  // Kernels that daemon threads hold at exit are no leak that a user could mend.
  nb::set_leak_warnings(false);
  m.doc() = "Loads and calls compiled kernels; knows nothing of the compiler.";
  nb::class_<KernelObject>(m, "Kernel", nb::type_slots(kernelSlots), nb::is_weak_referenceable())
      .def(
          "__init__",
          [](KernelObject* self, nb::handle library, const std::string& manifest,
             const std::optional<std::vector<int64_t>>& outIdx, std::optional<size_t> results) {
            new (self) KernelObject(load(library, manifest, outIdx, results.value_or(SIZE_MAX)));
          },
          "library"_a, "manifest"_a, "out_idx"_a = nb::none(), "results"_a = nb::none())
      .def_prop_ro("name", [](const KernelObject& self) { return self.checker.manifest().name; })
      .def_prop_ro("cpu", [](const KernelObject& self) { return self.checker.manifest().cpu; })
      .def_prop_ro("out_idx",
                   [](const KernelObject& self) { return self.checker.manifest().outIdx; })
      .def_prop_ro("symbols",
                   [](const KernelObject& self) { return self.checker.manifest().symbols; })
      .def_prop_ro("params", &paramList);
  m.def("sha256", [](const nb::bytes& bytes) {
    return sha256({static_cast<const char*>(bytes.data()), bytes.size()});
  });
  m.def("sha256_file", &sha256OfFile, "path"_a);
  m.def("refusal_of_tiles", [] {
    std::string reason;
    return mayUseTiles(reason) ? std::nullopt : std::optional(reason);
  });
  m.def("set_num_threads", &setThreadCount, "count"_a);
  m.def("get_num_threads", &threadCount);
  m.def("measure_peaks", [] {
    MachinePeaks peaks;
    {
      nb::gil_scoped_release release;
      peaks = measurePeaks();
    }
    nb::dict result;
    result["flops"] = peaks.flopsPerSecond;
    result["bfloat16_flops"] = peaks.bfloat16FlopsPerSecond;
    result["byte_operations"] = peaks.byteOperationsPerSecond;
    result["bytes"] = peaks.bytesPerSecond;
    return result;
  });
}
