// SPDX-License-Identifier: Apache-2.0
// Scalars, arrays and lists of aclnn.
#include "simulator/acl/aclnn_objects.h"

#include "opdev/op_errno.h"

#include <cstring>

using namespace tilewright::acl;

namespace {

// No list or array of a sane program is longer; a wild size is refused before it is allocated.
constexpr uint64_t maxElements = uint64_t(1) << 32;

template <class Handle, class Table, class Element>
Handle* createArray(const char* name, Table& table, const Element* value, uint64_t size) {
  Handle* handle = nullptr;
  guarded(name, [&](const Call& call) -> aclnnStatus {
    if (!value && size > 0)
      return call.fail(ACLNN_ERR_PARAM_NULLPTR, "value is null but size is ", size);
    if (size > maxElements)
      return call.fail(ACLNN_ERR_PARAM_INVALID, "size is ", size, ", which is too large");
    auto array = std::make_shared<Array<Element>>(value, value + size);
    handle = static_cast<Handle*>(table.insert(array));
    return ACLNN_SUCCESS;
  });
  return handle;
}

template <class Handle, class List, class Table, class Elements>
Handle* createList(const char* name, Table& table, Elements& elements, const char* noun,
                   const auto* const* value, uint64_t size) {
  Handle* handle = nullptr;
  guarded(name, [&](const Call& call) -> aclnnStatus {
    if (!value && size > 0)
      return call.fail(ACLNN_ERR_PARAM_NULLPTR, "value is null but size is ", size);
    if (size > maxElements)
      return call.fail(ACLNN_ERR_PARAM_INVALID, "size is ", size, ", which is too large");
    for (uint64_t i = 0; i < size; ++i)
      if (!elements.find(value[i]))
        return call.fail(ACLNN_ERR_PARAM_INVALID,
                         elements.complaint(joined("value[", i, "]").c_str(), value[i], noun));
    auto list = std::make_shared<List>();
    list->elements.assign(value, value + size);
    handle = static_cast<Handle*>(table.insert(list));
    return ACLNN_SUCCESS;
  });
  return handle;
}

template <class Table>
aclnnStatus refuse(const Call& call, const Table& table, const char* parameter, const void* handle,
                   const char* noun) {
  return call.fail(handle ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_PARAM_NULLPTR,
                   table.complaint(parameter, handle, noun));
}

template <class Table>
aclnnStatus destroy(const char* name, Table& table, const char* parameter, const void* handle,
                    const char* noun) {
  return guarded(name, [&](const Call& call) -> aclnnStatus {
    return table.remove(handle) ? ACLNN_SUCCESS : refuse(call, table, parameter, handle, noun);
  });
}

template <class Table, class Size>
aclnnStatus getSize(const char* name, Table& table, const char* parameter, const void* handle,
                    const char* noun, uint64_t* size, Size&& sizeOf) {
  return guarded(name, [&](const Call& call) -> aclnnStatus {
    if (!size)
      return call.fail(ACLNN_ERR_PARAM_NULLPTR, "size is null");
    auto object = table.find(handle);
    if (!object)
      return refuse(call, table, parameter, handle, noun);
    *size = sizeOf(*object);
    return ACLNN_SUCCESS;
  });
}

template <class Table, class Elements>
aclnnStatus destroyList(const char* name, Table& table, Elements& elements, const void* handle,
                        const char* noun) {
  return guarded(name, [&](const Call& call) -> aclnnStatus {
    auto list = table.remove(handle);
    if (!list)
      return refuse(call, table, "list", handle, noun);
    for (const auto* element : list->elements)
      elements.remove(element);
    return ACLNN_SUCCESS;
  });
}

AclnnObjects& objects() {
  return AclnnObjects::instance();
}

constexpr auto vectorSize = [](const auto& array) { return uint64_t(array.size()); };
constexpr auto listSize = [](const auto& list) { return uint64_t(list.elements.size()); };

} // namespace

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  aclScalar* handle = nullptr;
  guarded("aclCreateScalar", [&](const Call& call) -> aclnnStatus {
    if (!value)
      return call.fail(ACLNN_ERR_PARAM_NULLPTR, "value is null");
    size_t bytes = aclDataTypeSize(dataType);
    if (bytes == 0)
      return call.fail(ACLNN_ERR_PARAM_INVALID, "dataType is ", int(dataType),
                       ", which no scalar can have");
    auto scalar = std::make_shared<Scalar>();
    scalar->dataType = dataType;
    scalar->bytes.resize(bytes);
    std::memcpy(scalar->bytes.data(), value, bytes);
    handle = static_cast<aclScalar*>(objects().scalars.insert(scalar));
    return ACLNN_SUCCESS;
  });
  return handle;
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return createArray<aclIntArray>("aclCreateIntArray", objects().intArrays, value, size);
}
aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return createArray<aclFloatArray>("aclCreateFloatArray", objects().floatArrays, value, size);
}
aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return createArray<aclBoolArray>("aclCreateBoolArray", objects().boolArrays, value, size);
}
aclFp16Array* aclCreateFp16Array(const aclFloat16* value, uint64_t size) {
  return createArray<aclFp16Array>("aclCreateFp16Array", objects().fp16Arrays, value, size);
}
aclBf16Array* aclCreateBf16Array(const uint16_t* value, uint64_t size) {
  return createArray<aclBf16Array>("aclCreateBf16Array", objects().bf16Arrays, value, size);
}
aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return createList<aclTensorList, TensorList>("aclCreateTensorList", objects().tensorLists,
                                               objects().tensors, "a tensor", value, size);
}
aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return createList<aclScalarList, ScalarList>("aclCreateScalarList", objects().scalarLists,
                                               objects().scalars, "a scalar", value, size);
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  return destroy("aclDestroyScalar", objects().scalars, "scalar", scalar, "a scalar");
}
aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  return destroy("aclDestroyIntArray", objects().intArrays, "array", array, "an int array");
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return destroy("aclDestroyFloatArray", objects().floatArrays, "array", array, "a float array");
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
  return destroy("aclDestroyBoolArray", objects().boolArrays, "array", array, "a bool array");
}
aclnnStatus aclDestroyFp16Array(const aclFp16Array* array) {
  return destroy("aclDestroyFp16Array", objects().fp16Arrays, "array", array, "an fp16 array");
}
aclnnStatus aclDestroyBf16Array(const aclBf16Array* array) {
  return destroy("aclDestroyBf16Array", objects().bf16Arrays, "array", array, "a bf16 array");
}
aclnnStatus aclDestroyTensorList(const aclTensorList* list) {
  return destroyList("aclDestroyTensorList", objects().tensorLists, objects().tensors, list,
                     "a tensor list");
}
aclnnStatus aclDestroyScalarList(const aclScalarList* list) {
  return destroyList("aclDestroyScalarList", objects().scalarLists, objects().scalars, list,
                     "a scalar list");
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return getSize("aclGetIntArraySize", objects().intArrays, "array", array, "an int array", size,
                 vectorSize);
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return getSize("aclGetFloatArraySize", objects().floatArrays, "array", array, "a float array",
                 size, vectorSize);
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return getSize("aclGetBoolArraySize", objects().boolArrays, "array", array, "a bool array", size,
                 vectorSize);
}
aclnnStatus aclGetFp16ArraySize(const aclFp16Array* array, uint64_t* size) {
  return getSize("aclGetFp16ArraySize", objects().fp16Arrays, "array", array, "an fp16 array", size,
                 vectorSize);
}
aclnnStatus aclGetBf16ArraySize(const aclBf16Array* array, uint64_t* size) {
  return getSize("aclGetBf16ArraySize", objects().bf16Arrays, "array", array, "a bf16 array", size,
                 vectorSize);
}
aclnnStatus aclGetTensorListSize(const aclTensorList* list, uint64_t* size) {
  return getSize("aclGetTensorListSize", objects().tensorLists, "list", list, "a tensor list", size,
                 listSize);
}
aclnnStatus aclGetScalarListSize(const aclScalarList* list, uint64_t* size) {
  return getSize("aclGetScalarListSize", objects().scalarLists, "list", list, "a scalar list", size,
                 listSize);
}
