// SPDX-License-Identifier: Apache-2.0
#include "tilewright/place.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tilewright {
namespace {

/// A source file that lives as long as the test.
class DiagnosticTest : public testing::Test {
protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    path = std::filesystem::temp_directory_path() /
           ("tilewright_" + std::string(info->name()) + "_" + std::to_string(getpid()) + ".py");
  }
  void TearDown() override {
    std::filesystem::remove(path);
  }
  void write(const std::string& text) {
    std::ofstream(path) << text;
  }
  std::string file() const {
    return path.string();
  }
  std::filesystem::path path;
};

TEST_F(DiagnosticTest, ShowsLineAndCaret) {
  write("first\n    T.copy(A, B)\nlast\n");
  Diagnostic diagnostic{Severity::Error, {file(), 2, 5, 17}, "copy source has 128 rows", {}};
  EXPECT_EQ(render(diagnostic), file() + ":2:5: error: copy source has 128 rows\n"
                                         "        T.copy(A, B)\n"
                                         "        ^~~~~~~~~~~~\n");
}

TEST_F(DiagnosticTest, ShowsNotesInOrder) {
  write("one\ntwo\n");
  Diagnostic diagnostic{Severity::Unsupported,
                        {file(), 1, 1, 0},
                        "message",
                        {{{file(), 2, 2, 0}, "'A' was allocated here"}, {{}, "no place"}}};
  EXPECT_EQ(render(diagnostic), file() + ":1:1: unsupported: message\n    one\n    ^\n" + file() +
                                    ":2:2: note: 'A' was allocated here\n    two\n     ^\n"
                                    "note: no place\n");
}

TEST_F(DiagnosticTest, KeepsTabsAndWideCharacters) {
  write("\tx = 3 # 中文\n\"中文\" + y\n");
  Diagnostic tab{Severity::Error, {file(), 1, 2, 3}, "m", {}};
  EXPECT_EQ(render(tab), file() + ":1:2: error: m\n    \tx = 3 # 中文\n    \t^\n");
  // Columns count bytes: each of the two characters has three bytes and takes two columns.
  Diagnostic wide{Severity::Warning, {file(), 2, 12, 13}, "m", {}};
  EXPECT_EQ(render(wide), file() + ":2:12: warning: m\n    \"中文\" + y\n             ^\n");
}

TEST_F(DiagnosticTest, LeavesOutWhatCannotBeRead) {
  Diagnostic missing{Severity::Error, {file() + ".gone", 3, 1, 0}, "m", {}};
  EXPECT_EQ(render(missing), file() + ".gone:3:1: error: m\n");
  write("short\n");
  Diagnostic beyond{Severity::Error, {file(), 9, 1, 0}, "m", {}};
  EXPECT_EQ(render(beyond), file() + ":9:1: error: m\n");
  Diagnostic column{Severity::Error, {file(), 1, 40, 90}, "m", {}};
  EXPECT_EQ(render(column), file() + ":1:40: error: m\n    short\n");
}

TEST_F(DiagnosticTest, ColorsOnlyWhenAsked) {
  write("line\n");
  Diagnostic diagnostic{Severity::Error, {file(), 1, 1, 0}, "m", {}};
  EXPECT_EQ(render(diagnostic).find('\033'), std::string::npos);
  EXPECT_NE(render(diagnostic, true).find("\033[1;31merror"), std::string::npos);
}

TEST(Place, RendersWhatIsKnown) {
  EXPECT_EQ(render(Place{}), "");
  EXPECT_EQ(render(Place{"a.py", 0, 0, 0}), "a.py");
  EXPECT_EQ(render(Place{"a.py", 3, 0, 0}), "a.py:3");
  EXPECT_EQ(render(Place{"a.py", 3, 7, 0}), "a.py:3:7");
}

} // namespace
} // namespace tilewright
