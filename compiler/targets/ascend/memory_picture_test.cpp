// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/memory_picture.h"

#include <gtest/gtest.h>

#include <regex>

namespace tilewright::ascend {
namespace {

struct Box {
  int left, upper, right, lower;
  bool isWithin(const Box& outer) const {
    return left >= outer.left && right <= outer.right && upper >= outer.upper &&
           lower <= outer.lower;
  }
  bool isApart(const Box& other) const {
    return left >= other.right || other.left >= right || upper >= other.lower ||
           other.upper >= lower;
  }
};

std::vector<Box> boxesOf(const std::string& svg, const std::string& what) {
  const std::regex pattern("<rect x=\"(\\d+)\" y=\"(\\d+)\" width=\"(\\d+)\" height=\"(\\d+)\" " +
                           what);
  std::vector<Box> found;
  for (std::sregex_iterator it(svg.begin(), svg.end(), pattern), end; it != end; ++it) {
    const int x = std::stoi((*it)[1]), y = std::stoi((*it)[2]);
    found.push_back({x, y, x + std::stoi((*it)[3]), y + std::stoi((*it)[4])});
  }
  return found;
}

struct Words {
  Box place;
  std::string text;
};

std::vector<Words> wordsOf(const std::string& svg) {
  const std::regex pattern("<text x=\"(\\d+)\" y=\"(\\d+)\">([^<]*)</text>");
  std::vector<Words> found;
  for (std::sregex_iterator it(svg.begin(), svg.end(), pattern), end; it != end; ++it) {
    const int x = std::stoi((*it)[1]),
              y = std::stoi((*it)[2]); // the base line, letters of 11 pixels
    found.push_back({{x, y - 9, x + 6 * static_cast<int>((*it)[3].length()), y + 2}, (*it)[3]});
  }
  return found;
}

/// A large buffer and many small ones behind it, some of them at once, two on the same bytes one after the other.
MemoryRows manySmallOnes(size_t letters) {
  MemoryRows memory{"UB", 196352, {{"big", 0, 131072, 0, 90, true, "lines 1 to 9"}}};
  for (int i = 0; i < 12; ++i)
    memory.rows.push_back({std::string(letters, static_cast<char>('a' + i)), 131072 + 32 * i, 32,
                           40 + i, 44 + i, true, "line 4"});
  memory.rows.push_back({"early", 131072, 32, 1, 2, true, "line 2"});
  memory.rows.push_back({"never", 131456, 64, INT64_MAX, -1, false, "unused"});
  return memory;
}

TEST(MemoryPicture, EachBufferIsSeenAndNamed) {
  for (const size_t letters : {1, 12, 60}) {
    const MemoryRows memory = manySmallOnes(letters);
    const std::string svg = memoryPicture({memory});
    const std::vector<Box> frames = boxesOf(svg, "fill=\"none\" stroke=\"#999\"");
    const std::vector<Box> boxes = boxesOf(svg, "fill=\"#[0-9a-f]+\" stroke=\"#555\" fill-opacity");
    ASSERT_EQ(frames.size(), 1U);
    ASSERT_EQ(boxes.size(), memory.rows.size());
    for (const Box& box : boxes) {
      EXPECT_TRUE(box.isWithin(frames[0]));
      EXPECT_GE(box.lower - box.upper, 12);
      EXPECT_GE(box.right - box.left, 4);
      for (const Box& other : boxes)
        EXPECT_TRUE(&box == &other || box.isApart(other));
    }
    const std::vector<Words> words = wordsOf(svg);
    for (const Words& one : words) {
      for (const Words& other : words)
        EXPECT_TRUE(&one == &other || one.place.isApart(other.place)) << one.text;
      const bool isWithinOne =
          std::ranges::any_of(boxes, [&](const Box& box) { return one.place.isWithin(box); });
      EXPECT_TRUE(isWithinOne || one.place.left > frames[0].right) << one.text;
    }
    for (const BufferRow& row : memory.rows) {
      const std::string name =
          letters > 26 && row.name.size() > 26 ? row.name.substr(0, 23) + "..." : row.name;
      const std::string told = name + ": " + std::to_string(row.bytes) + " bytes, " + row.lines;
      EXPECT_EQ(std::ranges::count(words, told, &Words::text), 1) << told;
    }
  }
}

/// Buffers that the user has placed on the same bytes lie over each other; each has its name all the same.
TEST(MemoryPicture, BuffersOnTheSameBytes) {
  MemoryRows memory{"UB", 1024, {}};
  for (const char* name : {"one", "other"})
    memory.rows.push_back({name, 0, 64, 0, 5, true, "line 1"});
  const std::vector<Words> words = wordsOf(memoryPicture({memory}));
  for (const char* told : {"one: 64 bytes, line 1", "other: 64 bytes, line 1"})
    EXPECT_EQ(std::ranges::count(words, told, &Words::text), 1) << told;
  EXPECT_EQ(words.size(), 2U);
}

TEST(MemoryPicture, AMemoryThatNothingUses) {
  const MemoryRows memory{"UB", 1024, {{"x", 0, 64, INT64_MAX, -1, false, "unused"}}};
  EXPECT_NE(memoryPicture({memory}).find("x: 64 bytes, unused"), std::string::npos);
}

} // namespace
} // namespace tilewright::ascend
