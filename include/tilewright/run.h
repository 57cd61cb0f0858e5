// SPDX-License-Identifier: Apache-2.0
/// Runs a compiled kernel on the caller's memory, on all cores of this machine. Needs no MLIR and
/// no Python.
///
///     std::string error;
///     auto kernel = LoadedKernel::load(artifact->library, artifact->manifest, error);
///     bool done = kernel && kernel->run({{a, {m, k}}, {b, {k, n}}, {c, {m, n}}, 0.5}, error);
#pragma once

#include "tilewright/dtype.h"

#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright {

/// An argument of a call: a tensor over memory of the caller's, or a number.
class Argument {
public:
  /// A row-major tensor of a span's elements; its size must be the product of `shape`.
  template <typename T>
  Argument(std::span<T> elements, std::vector<int64_t> shape)
      : Argument(elements.data(), dtypeOf<std::remove_const_t<T>>(), std::move(shape), {},
                 int64_t(elements.size())) {
    isReadOnly = std::is_const_v<T>;
  }
  template <typename T>
  Argument(std::vector<T>& elements, std::vector<int64_t> shape)
      : Argument(std::span<T>(elements), std::move(shape)) {}
  template <typename T>
  Argument(const std::vector<T>& elements, std::vector<int64_t> shape)
      : Argument(std::span<const T>(elements), std::move(shape)) {}
  /// A tensor of any dtype, e.g. float16 as pairs of bytes. `strides` count elements; empty:
  /// row-major.
  Argument(const void* data, Dtype dtype, std::vector<int64_t> shape,
           std::vector<int64_t> strides = {}, int64_t elements = -1)
      : data(const_cast<void*>(data)), type(dtype), shape(std::move(shape)),
        strides(std::move(strides)), elementCount(elements) {}
  template <std::same_as<bool> T> Argument(T value) : number(value) {}
  template <std::floating_point T> Argument(T value) : number(double(value)) {}
  template <std::signed_integral T> Argument(T value) : number(int64_t(value)) {}
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Argument(T value) : number(uint64_t(value)) {}

private:
  friend class LoadedKernel;

  template <typename T> static constexpr Dtype dtypeOf() {
    if constexpr (std::same_as<T, bool>)
      return ScalarKind::Bool;
    else if constexpr (std::same_as<T, float>)
      return ScalarKind::Float32;
    else if constexpr (std::same_as<T, double>)
      return ScalarKind::Float64;
    else if constexpr (std::signed_integral<T>)
      return sizeof(T) == 1   ? ScalarKind::Int8
             : sizeof(T) == 2 ? ScalarKind::Int16
             : sizeof(T) == 4 ? ScalarKind::Int32
                              : ScalarKind::Int64;
    else
      return sizeof(T) == 1   ? ScalarKind::UInt8
             : sizeof(T) == 2 ? ScalarKind::UInt16
             : sizeof(T) == 4 ? ScalarKind::UInt32
                              : ScalarKind::UInt64;
  }

  void* data = nullptr;
  Dtype type;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  int64_t elementCount = -1;
  bool isReadOnly = false;
  std::variant<std::monostate, bool, int64_t, uint64_t, double> number;
};

/// A kernel for the CPU in this process. Copies share it; it may be run from several threads at once.
class LoadedKernel {
public:
  /// Loads what `compile` made. On failure, nothing, and `error` says why.
  static std::optional<LoadedKernel> load(std::span<const char> library, std::string_view manifest,
                                          std::string& error);
  /// Loads a library from a file, so that gdb and perf find its names.
  static std::optional<LoadedKernel> loadFile(const std::string& path, std::string_view manifest,
                                              std::string& error);

  /// Runs the kernel with all its parameters in order, and waits. False, with a message in `error`
  /// that names the kernel and the parameter, if an argument does not fit or the kernel failed.
  bool run(std::span<const Argument> arguments, std::string& error) const;
  bool run(std::initializer_list<Argument> arguments, std::string& error) const {
    return run(std::span(arguments.begin(), arguments.size()), error);
  }

private:
  struct State;
  std::shared_ptr<const State> state;
};

/// Threads per launch, with the caller's; 0: as many as this process may use cores.
void setNumThreads(int count);

} // namespace tilewright
