// SPDX-License-Identifier: Apache-2.0
/// Kernel objects that a program loads at run time, their functions, and lists of arguments for these.
#pragma once

#include "simulator/acl/error_report.h"
#include "simulator/acl/handle_table.h"
#include "simulator/launch.h"
#include "simulator/machine/loaded_kernels.h"

#include "acl/acl_rt.h"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright::acl {

/// A shared library of kernels, made by `tilewright-ascendc build --kernel`; closed when nobody holds it any more.
struct KernelBinary {
  KernelBinary() = default;
  KernelBinary(const KernelBinary&) = delete;
  KernelBinary& operator=(const KernelBinary&) = delete;
  ~KernelBinary();

  std::string name; ///< for messages: its path
  int file = -1;    ///< its copy in memory
  void* library = nullptr;
  ascend::LoadedKernels kernels;
  std::atomic<int> launches{0}; ///< that have not ended yet
  /// Made on demand; end with the binary.
  std::mutex mutex;
  std::vector<void*> functions, argumentLists;
};

struct KernelFunction {
  std::shared_ptr<KernelBinary> binary;
  void* binaryHandle = nullptr;
  const ascend::Kernel* kernel = nullptr;
  const ascend::KernelSignature* signature = nullptr;
  uint64_t tilingKey = 0;
  std::string name; ///< as its source has it

  /// Where each argument stands in a block of all, and the bytes of that block. As in a struct of the host's C++, but
  /// at least 4 bytes apart; or, if `inSlots`, at multiples of 8.
  std::vector<size_t> offsets(bool inSlots, size_t& bytes) const;
};

/// What aclrtKernelArgsInit makes. Values are copied in when they are appended.
struct KernelArguments {
  struct Value {
    char* bytes = nullptr; ///< null: a place holder without a buffer yet
    size_t size = 0;
    bool isPlaceHolder = false;
  };

  void* functionHandle = nullptr;
  std::shared_ptr<KernelFunction> function;
  std::mutex mutex;
  std::deque<Value> values; ///< their addresses are the handles of parameters
  bool isFinal = false;
  /// The caller's memory for values, if there is one.
  char* memory = nullptr;
  size_t room = 0;

  /// Memory that lives as long as the list; null if the caller's is full.
  char* take(size_t bytes);

private:
  std::vector<std::unique_ptr<char[]>> own;
};

/// What aclrtCreateBinary makes: it holds no copy.
struct BinaryData {
  const char* data;
  size_t length;
};

struct KernelTables {
  static KernelTables& instance();
  HandleTable<KernelBinary> binaries{HandleKind::Binary};
  HandleTable<KernelFunction> functions{HandleKind::Function};
  HandleTable<KernelArguments> arguments{HandleKind::KernelArgs};
  HandleTable<BinaryData> binaryData{HandleKind::BinaryData};
};

/// Null, with the failure noted in `code`, where `handle` is none.
std::shared_ptr<KernelFunction> findFunction(const Call& call, const void* handle, aclError& code);

} // namespace tilewright::acl
