// SPDX-License-Identifier: Apache-2.0
/// Initialisation, devices and contexts, and the tables of live handles.
#pragma once

#include "simulator/acl/error_report.h"
#include "simulator/acl/handle_table.h"
#include "simulator/acl/stream.h"

#include <memory>
#include <mutex>
#include <vector>

namespace tilewright::acl {

/// A context: the default stream of a device for some threads.
struct Context {
  int device = 0;
  bool isPrimary = false;
  std::shared_ptr<Stream> defaultStream;
};

/// All state of the process.
struct Runtime {
  static Runtime& instance();

  HandleTable<Context> contexts{HandleKind::Context};
  HandleTable<Stream> streams{HandleKind::Stream};
  HandleTable<Event> events{HandleKind::Event};

  std::mutex mutex;
  int initCount = 0;
  bool wasFinalized = false;
  /// Per device: how often it was set, and its primary context's handle.
  struct Device {
    int useCount = 0;
    void* primary = nullptr;
  };
  std::vector<Device> devices;

private:
  Runtime();
};

/// The calling thread's context, or null with the failure noted (107002).
std::shared_ptr<Context> currentContext(const Call& call);
/// The context's handle as the calling thread holds it.
void*& currentContextHandle();

/// The stream that `handle` names (null: the default stream), or null with the failure noted in
/// `code`.
std::shared_ptr<Stream> findStream(const Call& call, aclrtStream handle, aclError& code);

/// Waits for all streams of a device. Failures of their tasks are not reported.
void drainDevice(int device);
/// Waits for `stream` and returns what its tasks failed with; `timeoutMs` < 0: no limit of its own.
aclError synchronize(const Call& call, Stream& stream, int timeoutMs, aclError timeoutCode);

/// Makes a context with its default stream on `device`.
void* makeContext(int device, bool isPrimary);

} // namespace tilewright::acl
