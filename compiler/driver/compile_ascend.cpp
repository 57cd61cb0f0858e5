// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/compile_for_target.h"
#include "compiler/targets/ascend/pipeline.h"

namespace tilewright {
namespace {

const chips::AscendChip* chipOf(const std::string& cpu) {
  return chips::findAscendChip(cpu == "native" ? "910B2" : cpu);
}

} // namespace

std::string problemOfChip(const std::string& cpu) {
  if (chipOf(cpu))
    return "";
  std::string names;
  for (const chips::AscendChip& known : chips::ascendChips())
    names += (names.empty() ? "" : ", ") + known.name;
  return "there is no Ascend chip '" + cpu + "'; there are: " + names;
}

std::optional<Artifact> compileForAscend(const BuiltKernel& kernel, const CompileOptions& options,
                                         std::vector<Diagnostic>& diagnostics) {
  ascend::Session session;
  session.chip = chipOf(options.cpu);
  if (!session.chip) {
    diagnostics.push_back({Severity::Unsupported, {}, problemOfChip(options.cpu), {}});
    return std::nullopt;
  }
  session.automation = {
      isOn(options, "tl.ascend_auto_sync"), isOn(options, "tl.ascend_memory_planning"),
      isOn(options, "tl.ascend_auto_cv_combine"), isOn(options, "tl.ascend_auto_cross_core_sync"),
      isOn(options, "tl.ascend_auto_sync_vs")};
  session.isRelaxed = isOn(options, "tilewright.cce_auto_sync");
  session.keepStages = options.keepStages;
  session.buildLibrary = options.buildLibrary;
  session.lineDirectives = isOn(options, "tl.emit_line_directives");
  session.cancel = options.cancel;
  auto guard = kernel.lock();
  ascend::prepareContext(*kernel.module().getContext());
  return makeArtifact(kernel, session, Severity::Error, diagnostics, [&](mlir::ModuleOp module) {
    return ascend::compileModule(module, session);
  });
}

} // namespace tilewright
