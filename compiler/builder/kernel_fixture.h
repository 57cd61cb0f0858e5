// SPDX-License-Identifier: Apache-2.0
/// For the builder's tests: kernels under construction, with a line number for each statement.
#pragma once

#include "tilewright/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {

inline Dtype dt(std::string_view name) {
  return Dtype::parse(name).value();
}

class KernelTest : public testing::Test {
protected:
  KernelBuilder b{"kernel", Place{"kernel.py", 1, 1, 0}};
  int32_t nextLine = 1;

  /// The next statement: kernel.py:LINE:5.
  KernelBuilder& line() {
    b.at({"kernel.py", ++nextLine, 5, 9});
    return b;
  }
  std::vector<Value> launch(std::vector<Index> grid = {int64_t{4}},
                            std::vector<Index> threads = {int64_t{128}}) {
    return line().beginLaunch(grid, threads);
  }
  Buffer tensor(std::string_view name, std::vector<Index> shape,
                std::string_view dtype = "float32") {
    return line().tensor(name, shape, dt(dtype));
  }
  Buffer alloc(std::string_view name, std::vector<int64_t> shape, std::string_view scope = "shared",
               std::string_view dtype = "float32") {
    return line().alloc(shape, dt(dtype), scope, name);
  }
  /// Ends the launch and the kernel.
  std::shared_ptr<KernelModule> finish() {
    b.endLaunch();
    return b.finish();
  }
  std::string finishedText(bool places = false) {
    auto kernel = finish();
    if (kernel)
      return kernel->text(places);
    std::string text = "no kernel:\n";
    for (const Diagnostic& diagnostic : b.diagnostics())
      text += render(diagnostic);
    return text;
  }
  /// The messages so far.
  std::vector<std::string> messages() const {
    std::vector<std::string> all;
    for (const Diagnostic& diagnostic : b.diagnostics())
      all.push_back(diagnostic.message);
    return all;
  }
  /// There is one error, it is this one, and it stands at the last line.
  void expectError(const std::string& message) {
    EXPECT_THAT(messages(), testing::ElementsAre(message));
    if (!b.diagnostics().empty()) {
      EXPECT_EQ(b.diagnostics()[0].place, (Place{"kernel.py", nextLine, 5, 9}));
      EXPECT_EQ(b.diagnostics()[0].severity, Severity::Error);
    }
    EXPECT_EQ(finish(), nullptr);
  }
  /// The rendered notes of the first diagnostic, without source lines.
  std::vector<std::string> notes() const {
    std::vector<std::string> all;
    if (!b.diagnostics().empty())
      for (const Note& note : b.diagnostics()[0].notes)
        all.push_back(render(note.place) + ": " + note.message);
    return all;
  }
};

} // namespace tilewright
