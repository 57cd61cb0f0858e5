// SPDX-License-Identifier: Apache-2.0
#include "kernel_call.h"

#include "function_call.h"
#include "interrupt.h"
#include "runtime/cpu/launch.h"
#include "runtime/cpu/printed_line.h"
#include "scalar_argument.h"
#include "tensor_access.h"

namespace tilewright::bindings {

using namespace runtime;

namespace {

/// An array on the stack, or on the heap where a kernel has very many parameters.
template <typename T, size_t inlineCount> class CallArray {
public:
  explicit CallArray(size_t count) {
    if (count > inlineCount) {
      heap = std::make_unique<T[]>(count);
      items = heap.get();
    }
  }
  T& operator[](size_t i) {
    return items[i];
  }
  T* data() {
    return items;
  }

private:
  T local[inlineCount];
  std::unique_ptr<T[]> heap;
  T* items = local;
};

constexpr size_t usualParams = 8;

bool isFinalizing() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// One call, from Python's arguments to its result.
class Call {
public:
  explicit Call(const KernelObject& kernel)
      : kernel(kernel), checker(kernel.checker), spec(checker.manifest()),
        given(spec.params.size()), views(spec.params.size()), leases(spec.params.size()),
        slots(checker.slotCount()) {
    for (size_t i = 0; i < spec.params.size(); ++i)
      given[i] = nullptr;
  }

  ~Call() {
    Py_XDECREF(made);
  }

  bool bind(PyObject* const* arguments, size_t count, PyObject* keywords) {
    size_t keywordCount = keywords ? size_t(PyDict_GET_SIZE(keywords)) : 0;
    makesOutputs = count + keywordCount == spec.params.size() - spec.outIdx.size();
    if (!makesOutputs && count + keywordCount != spec.params.size())
      return failCount(count + keywordCount);
    if (spec.outIdx.empty())
      makesOutputs = false;
    size_t next = 0;
    for (size_t i = 0; i < spec.params.size() && next < count; ++i)
      if (!makesOutputs || !checker.isOutput(i))
        given[i] = arguments[next++];
    if (keywordCount > 0 && !bindKeywords(keywords))
      return false;
    for (const int64_t output : spec.outIdx) // a place that the caller leaves empty
      if (given[size_t(output)] == Py_None)
        given[size_t(output)] = nullptr;
    return true;
  }

  bool convert() {
    for (size_t i = 0; i < spec.params.size(); ++i) {
      PyObject* object = given[i];
      if (!object)
        continue; // an output to be made
      if (!spec.params[i].isTensor) {
        if (!encodeScalar(checker, i, object, slots[checker.slotOf(i)]))
          return false;
        continue;
      }
      if (object != Py_None && !read(i, object))
        return false;
      if (!checker.checkType(i, views[i], error))
        return fail(PyExc_ValueError);
      slots[checker.slotOf(i)] = reinterpret_cast<uint64_t>(views[i].data);
    }
    auto* symbols = reinterpret_cast<int64_t*>(slots.data() + spec.params.size());
    symbolValues = {symbols, spec.symbols.size()};
    if (!checker.solve({views.data(), spec.params.size()}, {slots.data(), checker.slotCount()},
                       symbolValues, error))
      return fail(PyExc_ValueError);
    for (size_t i = 0; i < spec.params.size(); ++i)
      if (spec.params[i].isTensor && !checker.checkShape(i, views[i], symbolValues, error))
        return fail(PyExc_ValueError);
    if (!checker.checkApart({views.data(), spec.params.size()}, error))
      return fail(PyExc_ValueError);
    return !kernel.device ||
           kernel.device->checkLimits({slots.data(), checker.slotCount()}, checker, error) ||
           fail(PyExc_ValueError);
  }

  /// Warns at the first call where PyTorch would record a gradient: nothing that a kernel computes has one.
  bool checkGradients() {
    if (!kernel.isNew.load(std::memory_order_relaxed))
      return true;
    kernel.isNew.store(false, std::memory_order_relaxed);
    for (size_t i = 0; i < spec.params.size(); ++i)
      if (given[i] && spec.params[i].isTensor && wantsGradient(given[i])) {
        error = checker.subject(i) + "requires a gradient, but what a kernel computes has none; " +
                "call it under torch.no_grad() or in a torch.autograd.Function";
        return warn(error);
      }
    return true;
  }

  /// Makes the outputs, or takes those given: `made` is what the call gives.
  bool makeOutputs() {
    size_t count = spec.outIdx.size();
    if (count == 0) {
      // As each language's own compiler has it.
      made = spec.target == "ascend" ? PyList_New(0) : Py_NewRef(Py_None);
      return made != nullptr;
    }
    if (count > 1 && !(made = PyList_New(Py_ssize_t(count))))
      return false;
    for (size_t k = 0; k < count; ++k) {
      auto param = size_t(spec.outIdx[k]);
      PyObject* output = given[param] ? Py_NewRef(given[param]) : makeOutput(param);
      if (!output)
        return false;
      if (count > 1)
        PyList_SET_ITEM(made, Py_ssize_t(k), output);
      else
        made = output;
    }
    return true;
  }

  /// Bytes of each tensor, from its shape; they lie from its address on.
  bool launchOnDevice() {
    std::vector<uint64_t> bytes(spec.params.size());
    auto isReadOnly = std::make_unique<bool[]>(spec.params.size());
    for (size_t i = 0; i < spec.params.size(); ++i) {
      if (!spec.params[i].isTensor || slots[checker.slotOf(i)] == 0)
        continue;
      int64_t shape[largestRank];
      std::span<int64_t> dims(shape, spec.params[i].shape.size());
      checker.elementShape(i, symbolValues, dims);
      uint64_t elements = 1;
      for (int64_t dim : dims)
        elements *= uint64_t(dim);
      bytes[i] = (elements * uint64_t(spec.params[i].type->bits) + 7) / 8;
      isReadOnly[i] = views[i].isReadOnly;
    }
    InterruptibleLaunch interruptible;
    const volatile int32_t& stop = interruptible.launch().stop;
    std::vector<std::string> warnings;
    threadState = PyEval_SaveThread();
    const bool done =
        kernel.device->launch(slots.data(), checker.slotCount(), checker, bytes,
                              {isReadOnly.get(), spec.params.size()}, stop, warnings, error);
    PyEval_RestoreThread(threadState);
    for (const std::string& warning : warnings)
      if (!warnOfRun(warning))
        return false;
    if (!done && stop != 0)
      return failInterrupted();
    return done || fail(PyExc_RuntimeError);
  }

  bool launch() {
    if (kernel.device)
      return launchOnDevice();
    if (kernel.function.is_valid())
      return callFunction(kernel, slots.data(), {views.data(), spec.params.size()}, symbolValues,
                          {given.data(), spec.params.size()});
    InterruptibleLaunch interruptible;
    TwLaunch& launch = interruptible.launch();
    LaunchOptions options;
    options.print = printToPython;
    if (interruptible.isOnMainThread()) {
      options.poll = pollSignals;
      options.pollContext = this;
    }
    threadState = PyEval_SaveThread();
    LaunchResult result = runBlocks(*kernel.code, slots.data(), launch, options);
    PyEval_RestoreThread(threadState);
    if (result.end == LaunchEnd::Done)
      return true;
    if (result.end == LaunchEnd::Stopped)
      return failInterrupted();
    error = describe(result, spec, launch);
    return fail(result.end == LaunchEnd::OutOfMemory ? PyExc_MemoryError : PyExc_RuntimeError);
  }

  PyObject* takeResult() {
    return std::exchange(made, nullptr);
  }

private:
  bool fail(PyObject* kind) {
    PyErr_SetString(kind, error.c_str());
    return false;
  }

  /// False if warnings are errors.
  static bool warn(const std::string& message) {
    PyObject* errors = PyImport_ImportModule("tilewright.errors");
    PyObject* kind = errors ? PyObject_GetAttrString(errors, "TilewrightWarning") : nullptr;
    const bool isWarned = kind && PyErr_WarnEx(kind, message.c_str(), 1) == 0;
    Py_XDECREF(kind);
    Py_XDECREF(errors);
    return isWarned;
  }

  /// Of what the host has found in a run, at its place in the kernel. False if warnings are errors.
  static bool warnOfRun(const std::string& text) {
    PyObject* errors = PyImport_ImportModule("tilewright.errors");
    PyObject* warned =
        errors ? PyObject_CallMethod(errors, "warn_of_run", "s", text.c_str()) : nullptr;
    Py_XDECREF(errors);
    Py_XDECREF(warned);
    return warned != nullptr;
  }

  /// With what Python's handler raises, or KeyboardInterrupt if that raises nothing.
  static bool failInterrupted() {
    if (!PyErr_Occurred() && PyErr_CheckSignals() == 0)
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    return false;
  }

  bool failCount(size_t count) {
    auto names = [&](bool withOutputs) {
      std::string text;
      for (size_t i = 0; i < spec.params.size(); ++i)
        if (withOutputs || !checker.isOutput(i))
          text += (text.empty() ? "" : ", ") + spec.params[i].name;
      return text;
    };
    size_t inputs = spec.params.size() - spec.outIdx.size();
    error = spec.name + ": takes " + std::to_string(inputs) +
            (inputs == 1 ? " argument (" : " arguments (") + names(false) + ")";
    if (!spec.outIdx.empty())
      error +=
          ", or " + std::to_string(spec.params.size()) + " with the outputs (" + names(true) + ")";
    error += ", but " + std::to_string(count) + (count == 1 ? " was given" : " were given");
    const std::string wanted = std::to_string(inputs);
    error += checker.inTileLang(spec.name + ": num_args should be " + wanted +
                                "; expected: " + wanted + ", got: " + std::to_string(count));
    return fail(PyExc_TypeError);
  }

  bool bindKeywords(PyObject* keywords) {
    PyObject* key;
    PyObject* value;
    for (Py_ssize_t at = 0; PyDict_Next(keywords, &at, &key, &value);) {
      const char* name = PyUnicode_AsUTF8(key);
      size_t param = 0;
      while (name && param < spec.params.size() && spec.params[param].name != name)
        ++param;
      if (!name || param == spec.params.size()) {
        error = spec.name + ": has no parameter '" + (name ? name : "?") + "'; it has: ";
        for (size_t i = 0; i < spec.params.size(); ++i)
          error += (i > 0 ? ", " : "") + spec.params[i].name;
        return fail(PyExc_TypeError);
      }
      if (given[param]) {
        error = checker.subject(param) + "is given twice";
        return fail(PyExc_TypeError);
      }
      given[param] = value;
    }
    for (size_t i = 0; i < spec.params.size(); ++i)
      if (!given[i] && !(makesOutputs && checker.isOutput(i))) {
        error = checker.subject(i) + "is missing";
        return fail(PyExc_TypeError);
      }
    return true;
  }

  bool read(size_t param, PyObject* object) {
    if (!isTensor(object)) {
      error = checker.subject(param) + "is of type " + Py_TYPE(object)->tp_name +
              " but a tensor was expected (torch, NumPy, or one with __dlpack__)";
      if (checker.isOutput(param))
        error += "; with " + std::to_string(spec.params.size()) +
                 " arguments, the outputs are among them";
      error += checker.inTileLang(spec.name + ": Expect arg[" + std::to_string(param) +
                                  "] to be pointer");
      return fail(PyExc_TypeError);
    }
    if (readTensor(object, views[param], leases[param])) {
      if (!framework)
        framework = object;
      return true;
    }
    prefixError(checker.subject(param) + "can't be read as a tensor: ");
    return false;
  }

  PyObject* makeOutput(size_t param) {
    const Param& expected = spec.params[param];
    if (expected.shape.size() > size_t(largestRank)) {
      error = checker.subject(param) + "has more than 32 dims";
      fail(PyExc_ValueError);
      return nullptr;
    }
    if (expected.strides) {
      error = checker.subject(param) + "has strides of its own, so it can't be made: pass it";
      fail(PyExc_ValueError);
      return nullptr;
    }
    int64_t shape[largestRank];
    std::span<int64_t> dims(shape, expected.shape.size());
    if (!checker.outputShape(param, symbolValues, dims, error)) {
      fail(PyExc_ValueError);
      return nullptr;
    }
    void* data = nullptr;
    PyObject* output = makeTensor(framework, *expected.type, dims, expected.align, data);
    if (!output)
      prefixError(checker.subject(param) + "can't be made: ");
    slots[checker.slotOf(param)] = reinterpret_cast<uint64_t>(data);
    return output;
  }

  static bool pollSignals(void* context) {
    auto* self = static_cast<Call*>(context);
    PyEval_RestoreThread(self->threadState);
    bool isRaised = PyErr_CheckSignals() != 0;
    self->threadState = PyEval_SaveThread();
    return isRaised;
  }

  static void printToPython(TwLaunch*, const char* text, int64_t bytes) {
    const std::string_view line = finishedLine(text, bytes);
    if (line.empty())
      return;
    if (isFinalizing())
      return; // a daemon thread's kernel at exit: taking the GIL would end the thread midway
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject* string = PyUnicode_DecodeUTF8(line.data(), Py_ssize_t(line.size()), "replace");
    PyObject* out = PySys_GetObject("stdout");
    if (!string || !out || out == Py_None || PyFile_WriteObject(string, out, Py_PRINT_RAW) != 0)
      PyErr_Clear();
    Py_XDECREF(string);
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(state);
  }

  const KernelObject& kernel;
  const ArgumentChecker& checker;
  const Manifest& spec;
  CallArray<PyObject*, usualParams> given; // borrowed; null: an output to be made
  CallArray<TensorView, usualParams> views;
  CallArray<TensorLease, usualParams> leases;
  CallArray<uint64_t, 2 * usualParams> slots;
  std::span<int64_t> symbolValues;
  PyObject* framework = nullptr; // the first tensor given: outputs are made as it is
  PyObject* made = nullptr;
  PyThreadState* threadState = nullptr;
  bool makesOutputs = false;
  std::string error;
};

} // namespace

PyObject* callKernel(const KernelObject& kernel, PyObject* const* arguments, size_t count,
                     PyObject* keywords) {
  Call call(kernel);
  if (!call.bind(arguments, count, keywords) || !call.convert() || !call.checkGradients() ||
      !call.makeOutputs() || !call.launch())
    return nullptr;
  return call.takeResult();
}

} // namespace tilewright::bindings
