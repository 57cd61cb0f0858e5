// SPDX-License-Identifier: Apache-2.0
// aclTensor: making, reading and ending it.
#include "simulator/acl/aclnn_objects.h"

#include "opdev/op_errno.h"

#include <algorithm>

namespace tilewright::acl {

AclnnObjects& AclnnObjects::instance() {
  static AclnnObjects* objects =
      new AclnnObjects; // outlives every static object that may still call
  return *objects;
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

bool Tensor::isEmpty() const {
  return std::count(dims.begin(), dims.end(), 0) > 0;
}

bool Tensor::isDense() const {
  int64_t expected = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != expected)
      return false;
    expected *= dims[i];
  }
  return true;
}

int64_t Tensor::reach() const {
  if (isEmpty())
    return 0;
  int64_t last = offset;
  for (size_t i = 0; i < dims.size(); ++i)
    last += (dims[i] - 1) * strides[i];
  return last + 1;
}

std::string shapeText(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

std::string Tensor::shape() const {
  return shapeText(dims);
}

const char* dataTypeName(aclDataType type) {
  switch (type) {
  case ACL_FLOAT:
    return "float32";
  case ACL_FLOAT16:
    return "float16";
  case ACL_INT8:
    return "int8";
  case ACL_INT32:
    return "int32";
  case ACL_UINT8:
    return "uint8";
  case ACL_INT16:
    return "int16";
  case ACL_UINT16:
    return "uint16";
  case ACL_UINT32:
    return "uint32";
  case ACL_INT64:
    return "int64";
  case ACL_UINT64:
    return "uint64";
  case ACL_DOUBLE:
    return "float64";
  case ACL_BOOL:
    return "bool";
  case ACL_BF16:
    return "bfloat16";
  case ACL_INT4:
    return "int4";
  case ACL_COMPLEX64:
    return "complex64";
  case ACL_COMPLEX128:
    return "complex128";
  default:
    return "another type";
  }
}

namespace {

constexpr uint64_t maxDims = 25;

/// The product of all dims, at most INT64_MAX / 16; otherwise false.
bool countElements(const std::vector<int64_t>& dims, int64_t& count) {
  count = 1;
  for (int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count) || count > INT64_MAX / 16)
      return false;
  return true;
}

std::string readDims(const char* name, const int64_t* dims, uint64_t number,
                     std::vector<int64_t>& result) {
  if (number > maxDims)
    return joined(name, "Num is ", number, " but may be at most ", maxDims);
  if (!dims && number > 0)
    return joined(name, " is null but ", name, "Num is ", number);
  result.assign(dims, dims + number);
  int64_t count = 0;
  if (!countElements(result, count))
    return joined(name, " is ", shapeText(result), ", which is negative or too large");
  return {};
}

struct TensorArguments {
  const int64_t* viewDims;
  uint64_t viewDimsNum;
  aclDataType dataType;
  const int64_t* stride;
  int64_t offset;
  aclFormat format;
  const int64_t* storageDims;
  uint64_t storageDimsNum;
  void* data;
};

std::string readStrides(const int64_t* stride, Tensor& tensor) {
  tensor.strides.assign(tensor.dims.size(), 1);
  if (!stride) {
    for (size_t i = tensor.dims.size(); i-- > 1;)
      tensor.strides[i - 1] = tensor.strides[i] * std::max<int64_t>(tensor.dims[i], 1);
    return {};
  }
  tensor.strides.assign(stride, stride + tensor.dims.size());
  int64_t last = tensor.offset;
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    int64_t span = 0;
    if (tensor.strides[i] < 0)
      return joined("stride is ", shapeText(tensor.strides), " but may not be negative");
    if (__builtin_mul_overflow(std::max<int64_t>(tensor.dims[i] - 1, 0), tensor.strides[i],
                               &span) ||
        __builtin_add_overflow(last, span, &last) || last > INT64_MAX / 16)
      return joined("stride ", shapeText(tensor.strides), " of dims ", tensor.shape(),
                    " is too large");
  }
  return {};
}

/// Fills `tensor`; returns what is wrong, or nothing.
std::string makeTensor(const TensorArguments& arguments, Tensor& tensor) {
  if (std::string error =
          readDims("viewDims", arguments.viewDims, arguments.viewDimsNum, tensor.dims);
      !error.empty())
    return error;
  if (arguments.offset < 0 || arguments.offset > INT64_MAX / 32)
    return joined("offset is ", arguments.offset, ", which is negative or too large");
  tensor.offset = arguments.offset;
  if (std::string error = readStrides(arguments.stride, tensor); !error.empty())
    return error;
  tensor.dataType = arguments.dataType;
  tensor.format = arguments.format;
  tensor.data = arguments.data;
  bool hasStorage = arguments.storageDims && arguments.storageDimsNum > 0;
  if (std::string error = readDims("storageDims", arguments.storageDims, arguments.storageDimsNum,
                                   tensor.storageDims);
      !error.empty())
    return error;
  if (!hasStorage) {
    tensor.storageDims = tensor.dims;
    return {};
  }
  int64_t storage = 0;
  countElements(tensor.storageDims, storage);
  if (tensor.reach() > storage)
    return joined("the view reaches element ", tensor.reach() - 1, " but storageDims ",
                  shapeText(tensor.storageDims), " has ", storage, " elements");
  return {};
}

aclnnStatus noTensor(const Call& call, const aclTensor* tensor) {
  return call.fail(tensor ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_PARAM_NULLPTR,
                   AclnnObjects::instance().tensors.complaint("tensor", tensor, "a tensor"));
}

/// Runs `read(tensor)` on a live tensor, after checking the places for its results.
template <class Read>
aclnnStatus readTensor(const char* name, const aclTensor* handle, bool resultsAreNull,
                       Read&& read) {
  return guarded(name, [&](const Call& call) -> aclnnStatus {
    if (resultsAreNull)
      return call.fail(ACLNN_ERR_PARAM_NULLPTR, "a pointer for a result is null");
    std::shared_ptr<Tensor> tensor = AclnnObjects::instance().tensors.find(handle);
    if (!tensor)
      return noTensor(call, handle);
    read(*tensor);
    return ACLNN_SUCCESS;
  });
}

void copyOut(const std::vector<int64_t>& values, int64_t** result, uint64_t* number) {
  *result = new int64_t[values.size()];
  std::copy(values.begin(), values.end(), *result);
  *number = values.size();
}

} // namespace
} // namespace tilewright::acl

using namespace tilewright::acl;

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* tensorData) {
  aclTensor* handle = nullptr;
  guarded("aclCreateTensor", [&](const Call& call) -> aclnnStatus {
    auto tensor = std::make_shared<Tensor>();
    std::string error = makeTensor({viewDims, viewDimsNum, dataType, stride, offset, format,
                                    storageDims, storageDimsNum, tensorData},
                                   *tensor);
    if (!error.empty())
      return call.fail(ACLNN_ERR_PARAM_INVALID, error);
    handle = static_cast<aclTensor*>(AclnnObjects::instance().tensors.insert(tensor));
    return ACLNN_SUCCESS;
  });
  return handle;
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum,
                          aclDataType dataType, const int64_t* stride, int64_t offset,
                          aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                          void* tensorDataAddr) {
  return guarded("aclInitTensor", [&](const Call& call) -> aclnnStatus {
    std::shared_ptr<Tensor> object = AclnnObjects::instance().tensors.find(tensor);
    if (!object)
      return noTensor(call, tensor);
    Tensor fresh;
    std::string error = makeTensor({viewDims, viewDimsNum, dataType, stride, offset, format,
                                    storageDims, storageDimsNum, tensorDataAddr},
                                   fresh);
    if (!error.empty())
      return call.fail(ACLNN_ERR_PARAM_INVALID, error);
    *object = std::move(fresh);
    return ACLNN_SUCCESS;
  });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  return guarded("aclDestroyTensor", [&](const Call& call) -> aclnnStatus {
    return AclnnObjects::instance().tensors.remove(tensor) ? ACLNN_SUCCESS : noTensor(call, tensor);
  });
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  return readTensor("aclGetViewShape", tensor, !viewDims || !viewDimsNum,
                    [&](const Tensor& object) { copyOut(object.dims, viewDims, viewDimsNum); });
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims,
                               uint64_t* storageDimsNum) {
  return readTensor(
      "aclGetStorageShape", tensor, !storageDims || !storageDimsNum,
      [&](const Tensor& object) { copyOut(object.storageDims, storageDims, storageDimsNum); });
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue,
                              uint64_t* stridesNum) {
  return readTensor(
      "aclGetViewStrides", tensor, !stridesValue || !stridesNum,
      [&](const Tensor& object) { copyOut(object.strides, stridesValue, stridesNum); });
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return readTensor("aclGetViewOffset", tensor, !offset,
                    [&](const Tensor& object) { *offset = object.offset; });
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return readTensor("aclGetFormat", tensor, !format,
                    [&](const Tensor& object) { *format = object.format; });
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return readTensor("aclGetDataType", tensor, !dataType,
                    [&](const Tensor& object) { *dataType = object.dataType; });
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  return readTensor("aclSetRawTensorAddr", tensor, false,
                    [&](Tensor& object) { object.data = addr; });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return readTensor("aclGetRawTensorAddr", tensor, !addr,
                    [&](const Tensor& object) { *addr = object.data; });
}
