// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/pass_session.h"

#include <mlir/Pass/PassManager.h>

#include <cstdlib>

namespace tilewright {

using namespace mlir;

PhaseTimer::~PhaseTimer() {
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  session.times.emplace_back(phase, taken.count());
}

bool verifiesPasses() {
  const char* chosen = std::getenv(kVerifyVariable);
  return chosen && *chosen != 0;
}

std::string stageText(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << '\n';
  return text;
}

bool runPass(ModuleOp module, std::unique_ptr<Pass> pass, StringRef prefix, PassSession& session) {
  StringRef name = pass->getArgument();
  name.consume_front(prefix);
  PassManager manager(module.getContext(), ModuleOp::getOperationName(),
                      PassManager::Nesting::Implicit);
  manager.enableVerifier(verifiesPasses());
  manager.addPass(std::move(pass));
  if (failed(manager.run(module))) {
    session.failedPass = name.str();
    return false;
  }
  if (session.keepStages)
    session.stages.emplace_back(name, stageText(module));
  return true;
}

bool runPasses(ModuleOp module, std::vector<std::unique_ptr<Pass>> passes, StringRef prefix,
               PassSession& session, ArrayRef<StringRef> together) {
  bool isWell = true;
  for (std::unique_ptr<Pass>& pass : passes) {
    const bool isTogether = llvm::is_contained(together, pass->getArgument());
    if (!isWell && !isTogether)
      return false;
    if (session.isCancelled()) {
      session.problem = "cancelled";
      return false;
    }
    const bool done = runPass(module, std::move(pass), prefix, session);
    if (!done && !isTogether)
      return false;
    isWell = isWell && done;
  }
  return isWell;
}

} // namespace tilewright
