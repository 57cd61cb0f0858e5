// SPDX-License-Identifier: Apache-2.0
/// What stands behind aclTensor, aclIntArray, aclOpExecutor, ...; for operators, which read them in
/// their first phase.
#pragma once

#include "aclnn/acl_meta.h"

#include "simulator/acl/error_report.h"
#include "simulator/acl/handle_table.h"
#include "simulator/acl/stream.h"
#include "simulator/launch.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::acl {

/// A strided view. Dims, strides and the offset count elements; `data` is the start of the storage.
struct TILEWRIGHT_EXPORT Tensor {
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  int64_t offset = 0;
  std::vector<int64_t> storageDims;
  aclDataType dataType = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_ND;
  void* data = nullptr;

  int64_t elements() const;
  bool isEmpty() const;
  /// Row-major without gaps.
  bool isDense() const;
  /// Dense, from the start of the storage.
  bool isContiguous() const {
    return offset == 0 && isDense();
  }
  /// Elements of the storage that the view reaches, counted from the storage's start.
  int64_t reach() const;
  /// "[16, 128, 24, 192]".
  std::string shape() const;
};

TILEWRIGHT_EXPORT std::string shapeText(const std::vector<int64_t>& dims);
/// "float16", ...
TILEWRIGHT_EXPORT const char* dataTypeName(aclDataType type);

struct Scalar {
  aclDataType dataType = ACL_DT_UNDEFINED;
  std::vector<char> bytes;
};

template <class Element> using Array = std::vector<Element>;

struct TensorList {
  std::vector<const aclTensor*> elements;
};
struct ScalarList {
  std::vector<const aclScalar*> elements;
};

/// What an operator's second phase does with checked addresses: the executor's current tensors, in
/// the order of the operator's inputs and outputs. Runs on the host when the stream comes to it.
using OperatorBody = std::function<TaskOutcome(
    const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, void* workspace)>;

/// Where the tensors of a list stand among an executor's inputs (or outputs). `irIndex` counts the operator's parameters:
/// a list is one.
struct ListOfTensors {
  size_t irIndex = 0, first = 0, count = 0;
};

/// The result of an operator's first phase.
struct Executor {
  std::string operatorName;
  std::vector<std::string> inputNames;
  std::vector<std::string> outputNames;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<ListOfTensors> inputLists, outputLists; ///< of operators that take some
  uint64_t workspaceBytes = 0;
  OperatorBody body;
  // Below: set by the calls on it.
  bool isRepeatable = false;
};

/// The live objects of aclnn.
struct AclnnObjects {
  TILEWRIGHT_EXPORT static AclnnObjects& instance();
  HandleTable<Tensor> tensors{HandleKind::Tensor};
  HandleTable<Scalar> scalars{HandleKind::Scalar};
  HandleTable<Array<int64_t>> intArrays{HandleKind::IntArray};
  HandleTable<Array<float>> floatArrays{HandleKind::FloatArray};
  HandleTable<Array<bool>> boolArrays{HandleKind::BoolArray};
  HandleTable<Array<aclFloat16>> fp16Arrays{HandleKind::Fp16Array};
  HandleTable<Array<uint16_t>> bf16Arrays{HandleKind::Bf16Array};
  HandleTable<TensorList> tensorLists{HandleKind::TensorList};
  HandleTable<ScalarList> scalarLists{HandleKind::ScalarList};
  HandleTable<Executor> executors{HandleKind::Executor};
};

/// Ends an operator's first phase: hands the executor and its workspace size to the caller.
TILEWRIGHT_EXPORT aclnnStatus finishFirstPhase(Executor executor, uint64_t* workspaceSize,
                                               aclOpExecutor** handle);

/// An operator's second phase: checks workspace, executor and the tensors' addresses, enqueues the
/// body, and ends the executor unless it is repeatable.
TILEWRIGHT_EXPORT aclnnStatus runSecondPhase(const char* call, const char* operatorName,
                                             void* workspace, uint64_t workspaceSize,
                                             aclOpExecutor* executor, aclrtStream stream);

} // namespace tilewright::acl
