// SPDX-License-Identifier: Apache-2.0
#include "scalar_argument.h"

#include "tensor_access.h"

namespace tilewright::bindings {

using namespace runtime;

namespace {

std::string reprOf(PyObject* object) {
  PyObject* text = PyObject_Repr(object);
  const char* bytes = text ? PyUnicode_AsUTF8(text) : nullptr;
  std::string result = bytes ? bytes : "?";
  Py_XDECREF(text);
  PyErr_Clear();
  return result.size() > 80 ? result.substr(0, 80) + "..." : result;
}

bool fail(PyObject* kind, const ArgumentChecker& checker, size_t param, const std::string& rest) {
  PyErr_SetString(kind, (checker.subject(param) + rest).c_str());
  return false;
}

bool failKind(const ArgumentChecker& checker, size_t param, PyObject* object) {
  PyErr_Clear();
  const ElementType& type = *checker.manifest().params[param].type;
  const char* kind = type.isFloat() ? "float" : type.code == DlBool ? "boolean" : "int";
  const std::string words =
      checker.manifest().name + ": Expect arg[" + std::to_string(param) + "] to be " + kind;
  return fail(PyExc_TypeError, checker, param,
              std::string("is of type ") + Py_TYPE(object)->tp_name + " but a number for " +
                  std::string(type.name) + " was expected" + checker.inTileLang(words));
}

bool failRange(const ArgumentChecker& checker, size_t param, PyObject* object) {
  PyErr_Clear();
  return fail(PyExc_ValueError, checker, param,
              "is " + reprOf(object) + " but a value in the range of " +
                  std::string(checker.manifest().params[param].type->name) + " was expected");
}

bool encodeFloatScalar(const ArgumentChecker& checker, size_t param, PyObject* object,
                       uint64_t& slot) {
  const ElementType& type = *checker.manifest().params[param].type;
  // A string has no __float__ here, unlike in float(): PyFloat_AsDouble refuses it.
  double value = PyFloat_CheckExact(object) ? PyFloat_AS_DOUBLE(object) : PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred())
    return PyErr_ExceptionMatches(PyExc_OverflowError) ? failRange(checker, param, object)
                                                       : failKind(checker, param, object);
  auto bits = encodeFloat(type, value);
  if (!bits)
    return failRange(checker, param, object);
  slot = *bits;
  return true;
}

/// A tensor stands for its address where a kernel takes one (T.ptr, a uint64): its `data_ptr()`
/// (torch) or `ctypes.data` (NumPy). A new reference, or null without an exception.
PyObject* addressOf(PyObject* object) {
  PyObject* address = nullptr;
  if (PyObject* method = PyObject_GetAttrString(object, "data_ptr")) {
    address = PyObject_CallNoArgs(method);
    Py_DECREF(method);
  } else {
    PyErr_Clear();
    if (PyObject* memory = PyObject_GetAttrString(object, "ctypes")) {
      address = PyObject_GetAttrString(memory, "data");
      Py_DECREF(memory);
    }
  }
  PyErr_Clear();
  return address;
}

/// Whether a tensor whose address is taken is what the kernel expects there.
bool checkPointer(const ArgumentChecker& checker, size_t param, PyObject* object) {
  if (!isTensor(object))
    return true;
  TensorView view;
  TensorLease lease;
  if (!readTensor(object, view, lease)) {
    prefixError(checker.subject(param) + "can't be read as a tensor: ");
    return false;
  }
  std::string error;
  if (checker.checkPointer(param, view, error))
    return true;
  PyErr_SetString(PyExc_ValueError, error.c_str());
  return false;
}

} // namespace

bool encodeScalar(const ArgumentChecker& checker, size_t param, PyObject* object, uint64_t& slot) {
  const ElementType& type = *checker.manifest().params[param].type;
  if (type.isFloat())
    return encodeFloatScalar(checker, param, object, slot);
  if (object == Py_None && checker.manifest().params[param].isAddress) {
    slot = 0;
    std::string error;
    if (checker.checkAbsence(param, error))
      return true;
    PyErr_SetString(PyExc_ValueError, error.c_str());
    return false;
  }
  // NumPy's bool has no __index__, but it is a number with a truth value.
  bool isTruth = PyBool_Check(object) ||
                 std::string_view(Py_TYPE(object)->tp_name) == "numpy.bool" ||
                 std::string_view(Py_TYPE(object)->tp_name) == "numpy.bool_";
  if (isTruth) {
    int truth = PyObject_IsTrue(object);
    slot = truth == 1 ? 1 : 0;
    return truth >= 0;
  }
  PyObject* integer = nullptr;
  if (type.name == "uint64" && !PyLong_Check(object))
    integer = addressOf(object);
  if (integer && !checkPointer(checker, param, object)) {
    Py_DECREF(integer);
    return false;
  }
  if (!integer && PyIndex_Check(object))
    integer = PyNumber_Index(object);
  if (!integer)
    return failKind(checker, param, object);
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (overflow > 0) {
    value = int64_t(PyLong_AsUnsignedLongLong(integer));
    overflow = PyErr_Occurred() ? -1 : overflow;
  }
  Py_DECREF(integer);
  auto bits = overflow >= 0 ? encodeInteger(type, value, overflow > 0) : std::nullopt;
  if (!bits)
    return failRange(checker, param, object);
  slot = *bits;
  return true;
}

nanobind::object decodeScalar(const ElementType& type, uint64_t slot) {
  if (type.isFloat())
    return nanobind::float_(decodeFloat(type, slot));
  return nanobind::int_(int64_t(slot));
}

} // namespace tilewright::bindings
