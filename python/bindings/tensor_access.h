// SPDX-License-Identifier: Apache-2.0
/// Tensors of Python frameworks as the runtime sees them, and new ones in the caller's framework.
/// torch by DLPack's C exchange interface, NumPy by `__array_struct__`, all others by `__dlpack__`.
/// No framework is ever imported here, but for NumPy when there is no other.
#pragma once

#include "runtime/arguments.h"

#include <Python.h>

namespace tilewright::bindings {

using runtime::TensorView;

constexpr int largestRank = 32;

/// What a call must give back when it ends: frameworks' handles, and strides that we computed.
class TensorLease {
public:
  TensorLease() = default;
  ~TensorLease();
  TensorLease(const TensorLease&) = delete;
  TensorLease& operator=(const TensorLease&) = delete;

private:
  friend bool readTensor(PyObject*, TensorView&, TensorLease&);
  friend struct Reading;
  PyObject* capsule = nullptr;
  runtime::DlManagedTensor* managed = nullptr;
  runtime::DlManagedTensorVersioned* versioned = nullptr;
  int64_t strides[largestRank]; // uninitialized: only what was computed is read
};

/// Whether the object is a tensor at all; if so, `readTensor` may be called.
bool isTensor(PyObject* object);

/// Fills `view`, which is valid while `object` and `lease` live. False with a Python exception set.
bool readTensor(PyObject* object, TensorView& view, TensorLease& lease);

/// Puts `before` in front of the pending exception's text; a TypeError or MemoryError stays one.
void prefixError(const std::string& before);

/// Whether PyTorch would now record a gradient of what is computed from the tensor.
bool wantsGradient(PyObject* tensor);

/// A new tensor in the framework of `like` (null: torch if it is loaded, else NumPy) of `shape` in
/// memory, row-major, aligned to `align` bytes; `data` gets its address. Null with a Python
/// exception set.
PyObject* makeTensor(PyObject* like, const runtime::ElementType& type,
                     std::span<const int64_t> shape, int64_t align, void*& data);

} // namespace tilewright::bindings
