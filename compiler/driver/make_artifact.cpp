// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/compile_for_target.h"
#include "compiler/driver/convert_diagnostic.h"
#include "compiler/passes/pass_session.h"

namespace tilewright {

bool isOn(const CompileOptions& options, std::string_view key) {
  for (const auto& [name, value] : options.passConfigs)
    if (name == key) {
      if (const auto* flag = std::get_if<bool>(&value))
        return *flag;
      const auto* number = std::get_if<int64_t>(&value);
      return number && *number != 0;
    }
  return false;
}

std::optional<int64_t> numberOf(const CompileOptions& options, std::string_view key) {
  for (const auto& [name, value] : options.passConfigs)
    if (const auto* number = std::get_if<int64_t>(&value); number && name == key)
      return *number;
  return std::nullopt;
}

std::optional<Artifact> makeArtifact(const BuiltKernel& kernel, PassSession& session,
                                     Severity errors, std::vector<Diagnostic>& diagnostics,
                                     llvm::function_ref<bool(mlir::ModuleOp)> compileModule) {
  mlir::ModuleOp module = kernel.module();
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic& diagnostic) {
    Diagnostic found = convertDiagnostic(diagnostic, errors);
    // An element that is read and written may be wrong twice.
    const bool isKnown = llvm::any_of(diagnostics, [&](const Diagnostic& other) {
      return other.place == found.place && other.message == found.message;
    });
    if (!isKnown)
      diagnostics.push_back(std::move(found));
  });
  if (!compileModule(module)) {
    if (!session.problem.empty())
      diagnostics.push_back(
          {session.isOfMachine ? Severity::Error : Severity::Internal, {}, session.problem, {}});
    return std::nullopt;
  }
  return Artifact{.name = kernel.name(),
                  .library = std::move(session.library),
                  .manifest = std::move(session.manifest),
                  .header = std::move(session.header),
                  .stages = std::move(session.stages),
                  .times = std::move(session.times)};
}

} // namespace tilewright
