// SPDX-License-Identifier: Apache-2.0
#include "tensor_access.h"

#include <cstring>
#include <vector>

namespace tilewright::bindings {

using namespace runtime;

namespace {

/// How tensors of one Python type are read.
struct TypeAccess {
  PyTypeObject* type;
  enum Kind { None, Exchange, ArrayStruct, Dlpack } kind;
  const DlExchangeApi* api;
};

/// NumPy's PyArrayInterface, from the documentation of the array interface protocol.
struct ArrayStruct {
  int two;
  int rank;
  char kind;
  int itemBytes;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides; // bytes
  void* data;
  PyObject* description;
};
constexpr int arrayIsNativeOrder = 0x200;
constexpr int arrayIsWriteable = 0x400;
static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));

const DlExchangeApi* exchangeApiOf(PyTypeObject* type) {
  PyObject* capsule =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  if (!capsule) {
    PyErr_Clear();
    return nullptr;
  }
  const auto* api =
      static_cast<const DlExchangeApi*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  Py_DECREF(capsule); // the table lives as long as the process
  PyErr_Clear();
  while (api && api->version.major != 1)
    api = api->version.major > 1 ? api->previous : nullptr;
  return api;
}

TypeAccess inspect(PyTypeObject* type) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (const DlExchangeApi* api = exchangeApiOf(type); api && api->borrow)
    return {type, TypeAccess::Exchange, api};
  // NumPy's scalars have the attribute too, but a scalar is no tensor that can be written.
  if (PyObject_HasAttrString(object, "__array_struct__") &&
      PyObject_HasAttrString(object, "__array_finalize__"))
    return {type, TypeAccess::ArrayStruct, nullptr};
  if (PyObject_HasAttrString(object, "__dlpack__"))
    return {type, TypeAccess::Dlpack, nullptr};
  return {type, TypeAccess::None, nullptr};
}

const TypeAccess& accessOf(PyTypeObject* type) {
  // Guarded by the GIL. The types are kept alive, so that an address is never another type's.
  static auto* known = new std::vector<TypeAccess>;
  for (const TypeAccess& access : *known)
    if (access.type == type)
      return access;
  TypeAccess found = inspect(type);
  if (found.kind == TypeAccess::None || known->size() >= 64) {
    thread_local TypeAccess unkept;
    return unkept = found;
  }
  Py_INCREF(type);
  known->push_back(found);
  return known->back();
}

/// `module.name` of a module that is already imported; a borrowed object, or null.
PyObject* loadedModule(const char* name) {
  PyObject* modules = PyImport_GetModuleDict();
  return modules ? PyDict_GetItemString(modules, name) : nullptr;
}

std::string attributeText(PyObject* object, const char* first, const char* second) {
  std::string text;
  PyObject* middle = PyObject_GetAttrString(object, first);
  PyObject* last = middle ? PyObject_GetAttrString(middle, second) : nullptr;
  const char* bytes = last && PyUnicode_Check(last) ? PyUnicode_AsUTF8(last) : nullptr;
  if (bytes)
    text = bytes;
  Py_XDECREF(last);
  Py_XDECREF(middle);
  PyErr_Clear();
  return text;
}

bool arrayType(PyObject* object, const ArrayStruct& array, DlDataType& type) {
  type.bits = uint8_t(array.itemBytes * 8);
  type.lanes = 1;
  switch (array.kind) {
  case 'b':
    type.code = DlBool;
    return true;
  case 'i':
    type.code = DlInt;
    return true;
  case 'u':
    type.code = DlUInt;
    return true;
  case 'f':
    if (array.itemBytes < 2 || array.itemBytes > 8)
      break; // an fp8 of ml_dtypes, or a long double
    type.code = DlFloat;
    return true;
  case 'c':
    type.code = DlComplex;
    return true;
  default:
    break;
  }
  // The extension types of ml_dtypes (bfloat16, fp8) are known by name only.
  std::string name = attributeText(object, "dtype", "name");
  // Its 4-bit floats take a byte each.
  const ElementType* known =
      ElementType::find(name == "float4_e2m1fn" ? "float4_e2m1_unpacked" : name);
  const bool takesByte = known && known->bits == 6;
  if (known && (takesByte ? 8 : known->bits) == array.itemBytes * 8) {
    type.code = known->code;
    type.bits = known->bits;
    return true;
  }
  if (known && known->bits == 4 && array.itemBytes == 1)
    PyErr_Format(PyExc_TypeError,
                 "its NumPy dtype '%s' takes a byte for each element, but kernels take two "
                 "elements in a byte, as int8 or uint8 of half as many",
                 name.c_str());
  else
    PyErr_Format(PyExc_TypeError, "its NumPy dtype '%s' is none of ours", name.c_str());
  return false;
}

void setError(void*, const char* kind, const char* message) {
  PyErr_Format(PyExc_RuntimeError, "%s: %s", kind, message);
}

PyObject* shapeTuple(std::span<const int64_t> shape) {
  PyObject* tuple = PyTuple_New(Py_ssize_t(shape.size()));
  for (size_t i = 0; tuple && i < shape.size(); ++i)
    PyTuple_SET_ITEM(tuple, Py_ssize_t(i), PyLong_FromLongLong(shape[i]));
  return tuple;
}

/// The type of the elements in memory: pairs of sub-byte elements are bytes, and unpacked ones, too.
DlDataType memoryType(const ElementType& type) {
  if (type.bits >= 8 && type.code != DlFloat4E2M1FN)
    return {type.code, type.bits, 1};
  return {uint8_t(type.code == DlInt ? DlInt : DlUInt), 8, 1};
}

PyObject* makeByExchange(const DlExchangeApi& api, DlDataType type, std::span<const int64_t> shape,
                         void*& data) {
  int64_t dims[largestRank];
  std::copy(shape.begin(), shape.end(), dims);
  DlTensor prototype{};
  prototype.device = {DlCpu, 0};
  prototype.ndim = int32_t(shape.size());
  prototype.dtype = type;
  prototype.shape = dims;
  DlManagedTensorVersioned* managed = nullptr;
  if (api.allocate(&prototype, &managed, nullptr, setError) != 0)
    return nullptr;
  data = static_cast<char*>(managed->tensor.data) + managed->tensor.byteOffset;
  void* object = nullptr;
  return api.objectFromManaged(managed, &object) == 0 ? static_cast<PyObject*>(object) : nullptr;
}

/// Pairs of 4-bit floats have a type of their own in frameworks that are new enough; else they are bytes.
PyObject* makeByExchange(const DlExchangeApi& api, const ElementType& type,
                         std::span<const int64_t> shape, void*& data) {
  if (type.code == DlFloat4E2M1FN && type.bits == 4) {
    if (PyObject* made = makeByExchange(api, {DlFloat4E2M1FN, 4, 2}, shape, data))
      return made;
    PyErr_Clear();
  }
  return makeByExchange(api, memoryType(type), shape, data);
}

/// The NumPy dtype object, a new reference.
PyObject* numpyType(PyObject* numpy, const ElementType& type) {
  DlDataType inMemory = memoryType(type);
  bool isExtension = inMemory.code != DlInt && inMemory.code != DlUInt &&
                     inMemory.code != DlFloat && inMemory.code != DlBool;
  std::string name = isExtension ? std::string(type.name) : nameOf(inMemory);
  if (!isExtension)
    return PyObject_CallMethod(numpy, "dtype", "s", name.c_str());
  PyObject* module = PyImport_ImportModule("ml_dtypes");
  PyObject* scalar = module ? PyObject_GetAttrString(module, name.c_str()) : nullptr;
  Py_XDECREF(module);
  if (!scalar) {
    PyErr_Format(PyExc_TypeError, "NumPy has no %s without the package ml_dtypes", name.c_str());
    return nullptr;
  }
  PyObject* dtype = PyObject_CallMethod(numpy, "dtype", "N", scalar);
  return dtype;
}

/// NumPy gives 16 bytes of alignment; where a kernel needs more, take a part of a larger array.
PyObject* makeAlignedNumpy(PyObject* numpy, PyObject* dtype, PyObject* shape, int64_t bytes,
                           int64_t align) {
  PyObject* raw = PyObject_CallMethod(numpy, "empty", "ns", Py_ssize_t(bytes + align), "uint8");
  if (!raw)
    return nullptr;
  TensorView view;
  PyObject* result = nullptr;
  {
    TensorLease lease;
    if (readTensor(raw, view, lease)) {
      int64_t skip =
          (align - int64_t(reinterpret_cast<uintptr_t>(view.data) % uintptr_t(align))) % align;
      result = PyObject_CallMethod(numpy, "ndarray", "OOOn", shape, dtype, raw, Py_ssize_t(skip));
    }
  }
  Py_DECREF(raw);
  return result;
}

PyObject* makeByNumpy(const ElementType& type, std::span<const int64_t> shape, int64_t align,
                      void*& data) {
  PyObject* numpy = PyImport_ImportModule("numpy");
  PyObject* dtype = numpy ? numpyType(numpy, type) : nullptr;
  PyObject* tuple = dtype ? shapeTuple(shape) : nullptr;
  PyObject* array = nullptr;
  if (tuple) {
    int64_t bytes = memoryType(type).bits / 8;
    for (int64_t extent : shape)
      bytes *= extent;
    array = align <= 16 ? PyObject_CallMethod(numpy, "empty", "OO", tuple, dtype)
                        : makeAlignedNumpy(numpy, dtype, tuple, bytes, align);
  }
  Py_XDECREF(tuple);
  Py_XDECREF(dtype);
  Py_XDECREF(numpy);
  TensorView view;
  TensorLease lease;
  if (array && !readTensor(array, view, lease))
    Py_CLEAR(array);
  data = view.data;
  return array;
}

/// A framework with `__dlpack__` only (e.g. JAX): it adopts an array of NumPy's.
PyObject* adopt(PyObject* like, PyObject* array) {
  PyObject* space = PyObject_CallMethod(like, "__array_namespace__", nullptr);
  if (!space && PyErr_ExceptionMatches(PyExc_AttributeError))
    PyErr_Format(PyExc_ValueError, "%s has no __array_namespace__ to make it with; pass it",
                 Py_TYPE(like)->tp_name);
  PyObject* adopted = space ? PyObject_CallMethod(space, "from_dlpack", "O", array) : nullptr;
  Py_XDECREF(space);
  return adopted;
}

} // namespace

/// Reads by one interface each.
struct Reading {
  static bool byArrayStruct(PyObject* object, TensorView& view, TensorLease& lease) {
    lease.capsule = PyObject_GetAttrString(object, "__array_struct__");
    if (!lease.capsule)
      return false;
    const auto* array =
        static_cast<const ArrayStruct*>(PyCapsule_GetPointer(lease.capsule, nullptr));
    if (!array || !arrayType(object, *array, view.dtype))
      return false;
    if ((array->flags & arrayIsNativeOrder) == 0 && array->itemBytes > 1) {
      PyErr_SetString(PyExc_ValueError, "its byte order is swapped");
      return false;
    }
    if (array->rank > largestRank) {
      PyErr_Format(PyExc_ValueError, "it has %d dims, more than 32", array->rank);
      return false;
    }
    for (int d = 0; d < array->rank; ++d) {
      if (array->strides[d] % array->itemBytes != 0 && array->shape[d] > 1) {
        PyErr_Format(PyExc_ValueError,
                     "its stride of %zd bytes at dim %d is no multiple of %d bytes",
                     array->strides[d], d, array->itemBytes);
        return false;
      }
      lease.strides[d] = array->strides[d] / array->itemBytes;
    }
    view.data = array->data;
    view.ndim = array->rank;
    view.shape = reinterpret_cast<const int64_t*>(array->shape);
    view.strides = lease.strides;
    view.isReadOnly = (array->flags & arrayIsWriteable) == 0;
    return true;
  }

  static bool byDlpack(PyObject* object, TensorView& view, TensorLease& lease) {
    PyObject* method = PyObject_GetAttrString(object, "__dlpack__");
    if (!method)
      return false;
    PyObject* none = PyTuple_New(0);
    PyObject* keywords = Py_BuildValue("{s(ii)}", "max_version", 1, 0);
    PyObject* capsule = none && keywords ? PyObject_Call(method, none, keywords) : nullptr;
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear(); // a producer from before DLPack 1.0
      capsule = PyObject_CallNoArgs(method);
    }
    Py_XDECREF(keywords);
    Py_XDECREF(none);
    Py_DECREF(method);
    if (!capsule)
      return false;
    const DlTensor* tensor = nullptr;
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
      auto* managed = static_cast<DlManagedTensorVersioned*>(
          PyCapsule_GetPointer(capsule, "dltensor_versioned"));
      PyCapsule_SetName(capsule, "used_dltensor_versioned");
      if (!isVersioned(*managed)) {
        Py_DECREF(capsule);
        return false;
      }
      lease.versioned = managed;
      tensor = &managed->tensor;
      view.isReadOnly = (managed->flags & dlFlagReadOnly) != 0;
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
      auto* managed = static_cast<DlManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
      PyCapsule_SetName(capsule, "used_dltensor");
      lease.managed = managed;
      tensor = &managed->tensor;
    } else {
      PyErr_SetString(PyExc_BufferError, "its __dlpack__ gave no DLPack capsule");
    }
    Py_DECREF(capsule);
    if (!tensor || !isPlausible(*tensor))
      return false;
    fill(view, *tensor);
    return true;
  }

  /// Whether a capsule of that name holds what its name says; else its deleter may be no function, so nothing is
  /// called, and its memory stays.
  static bool isVersioned(const DlManagedTensorVersioned& managed) {
    if (managed.version.major != 1) {
      PyErr_Format(PyExc_BufferError, "its DLPack version %u.%u is not 1.x", managed.version.major,
                   managed.version.minor);
      return false;
    }
    constexpr uint64_t mostFlags = 1 << 16, mostDevices = 256;
    constexpr uintptr_t alignment = alignof(int64_t) - 1;
    const DlTensor& tensor = managed.tensor;
    const bool isOne =
        managed.version.minor < 256 && managed.flags < mostFlags && tensor.device.type > 0 &&
        uint32_t(tensor.device.type) < mostDevices && tensor.dtype.lanes > 0 &&
        ((reinterpret_cast<uintptr_t>(tensor.shape) | reinterpret_cast<uintptr_t>(tensor.strides)) &
         alignment) == 0;
    if (!isOne)
      PyErr_SetString(PyExc_BufferError, "its DLPack capsule holds something else than a tensor");
    return isOne && isPlausible(tensor);
  }

  /// A capsule may hold anything; what is read of it must be there.
  static bool isPlausible(const DlTensor& tensor) {
    if (tensor.ndim >= 0 && tensor.ndim <= largestRank && (tensor.ndim == 0 || tensor.shape))
      return true;
    PyErr_Format(PyExc_BufferError, "its DLPack capsule has %d dims%s", int(tensor.ndim),
                 tensor.shape ? "" : " and no shape");
    return false;
  }

  static void fill(TensorView& view, const DlTensor& tensor) {
    view.data = static_cast<char*>(tensor.data) + tensor.byteOffset;
    view.device = tensor.device;
    view.dtype = tensor.dtype;
    view.ndim = tensor.ndim;
    view.shape = tensor.shape;
    view.strides = tensor.strides;
  }
};

TensorLease::~TensorLease() {
  Py_XDECREF(capsule);
  if (managed && managed->deleter)
    managed->deleter(managed);
  if (versioned && versioned->deleter)
    versioned->deleter(versioned);
}

bool isTensor(PyObject* object) {
  return accessOf(Py_TYPE(object)).kind != TypeAccess::None;
}

namespace {

bool isDense(const TensorView& view) {
  int64_t stride = 1;
  for (int32_t dim = view.ndim; view.strides && dim-- > 0; stride *= view.shape[dim])
    if (view.shape[dim] != 1 && view.strides[dim] != stride)
      return false;
  return true;
}

/// Whether PyTorch means the negative of what is in memory, with an error: so it is of the imaginary part of
/// a conjugate, of which no two elements lie side by side.
bool isNegated(PyObject* object, const TensorView& view) {
  int64_t elements = 1;
  for (int32_t dim = 0; dim < view.ndim; ++dim)
    elements *= view.shape[dim];
  if ((elements != 1 && isDense(view)) || !PyObject_HasAttrString(object, "is_neg"))
    return false;
  PyObject* said = PyObject_CallMethod(object, "is_neg", nullptr);
  const bool isSet = said && PyObject_IsTrue(said) == 1;
  Py_XDECREF(said);
  if (isSet)
    PyErr_SetString(PyExc_ValueError, "its memory holds the negatives of its elements; pass "
                                      "tensor.resolve_neg()");
  return isSet || PyErr_Occurred() != nullptr;
}

} // namespace

bool readTensor(PyObject* object, TensorView& view, TensorLease& lease) {
  const TypeAccess& access = accessOf(Py_TYPE(object));
  view.isPresent = true;
  switch (access.kind) {
  case TypeAccess::Exchange: {
    DlTensor tensor;
    if (access.api->borrow(object, &tensor) != 0)
      return false;
    Reading::fill(view, tensor);
    return !isNegated(object, view);
  }
  case TypeAccess::ArrayStruct:
    return Reading::byArrayStruct(object, view, lease);
  case TypeAccess::Dlpack:
    return Reading::byDlpack(object, view, lease) && !isNegated(object, view);
  case TypeAccess::None:
    break;
  }
  PyErr_SetString(PyExc_TypeError, "it is no tensor");
  return false;
}

void prefixError(const std::string& before) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* text = value ? PyObject_Str(value) : nullptr;
  const char* bytes = text ? PyUnicode_AsUTF8(text) : nullptr;
  PyErr_Clear();
  PyObject* kind = PyExc_ValueError;
  for (PyObject* kept : {PyExc_TypeError, PyExc_MemoryError})
    if (type && PyErr_GivenExceptionMatches(type, kept))
      kind = kept;
  // torch adds its own C++ stack from the second line on.
  std::string reason = bytes ? bytes : "?";
  PyErr_SetString(kind, (before + reason.substr(0, reason.find('\n'))).c_str());
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

bool wantsGradient(PyObject* tensor) {
  PyObject* torch = loadedModule("torch");
  PyObject* wants = torch ? PyObject_GetAttrString(tensor, "requires_grad") : nullptr;
  PyObject* records =
      wants == Py_True ? PyObject_CallMethod(torch, "is_grad_enabled", nullptr) : nullptr;
  const bool result = records == Py_True;
  Py_XDECREF(records);
  Py_XDECREF(wants);
  PyErr_Clear();
  return result;
}

PyObject* makeTensor(PyObject* like, const ElementType& type, std::span<const int64_t> shape,
                     int64_t align, void*& data) {
  PyTypeObject* framework = like ? Py_TYPE(like) : nullptr;
  if (PyObject* torch = like ? nullptr : loadedModule("torch")) {
    PyObject* tensorType = PyObject_GetAttrString(torch, "Tensor");
    if (tensorType && PyType_Check(tensorType))
      framework = reinterpret_cast<PyTypeObject*>(tensorType);
    Py_XDECREF(tensorType); // the module keeps it
    PyErr_Clear();
  }
  if (framework) {
    const TypeAccess access = accessOf(framework);
    if (access.kind == TypeAccess::Exchange)
      return makeByExchange(*access.api, type, shape, data);
    if (access.kind == TypeAccess::Dlpack) {
      PyObject* array = makeByNumpy(type, shape, align, data);
      PyObject* adopted = array ? adopt(like, array) : nullptr;
      Py_XDECREF(array);
      return adopted;
    }
  }
  return makeByNumpy(type, shape, align, data);
}

} // namespace tilewright::bindings
