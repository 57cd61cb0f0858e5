// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/memory_picture.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tilewright::ascend {
namespace {

/// In pixels; a letter is at most so wide.
constexpr int pictureWidth = 860, leftEdge = 70, rightEdge = 530, legendEdge = 556;
constexpr int letterWidth = 7, textHeight = 12, leastHeight = 14, headHeight = 18;
constexpr size_t mostLetters = 26; // of a name in the legend

constexpr const char* colors[] = {"#9ecae1", "#fdd0a2", "#c7e9c0", "#dadaeb", "#fee391", "#fcbba1"};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

std::string attribute(const char* name, int value) {
  return std::string(" ") + name + "=\"" + std::to_string(value) + "\"";
}

std::string words(int x, int y, const std::string& text, const char* more = "") {
  return "<text" + attribute("x", x) + attribute("y", y) + more + ">" + escaped(text) + "</text>\n";
}

struct Rectangle {
  int left = 0, upper = 0, right = 0, lower = 0;
  bool meets(const Rectangle& other) const {
    return left < other.right && other.left < right && upper < other.lower && other.upper < lower;
  }
};

/// Where the numbers at which something begins or ends lie on a line of pixels: what is between two of them is as long as its
/// part of all, and at least `least`.
class Scale {
public:
  Scale(std::vector<int64_t> ends, int from, int wanted, int least) {
    std::ranges::sort(ends);
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    const int64_t all = std::max<int64_t>(ends.back() - ends.front(), 1);
    int at = from;
    for (size_t i = 0; i < ends.size(); ++i) {
      if (i > 0)
        at += std::max(least, static_cast<int>((ends[i] - ends[i - 1]) * wanted / all));
      pixels[ends[i]] = at;
    }
  }
  int of(int64_t number) const {
    return pixels.at(number);
  }
  int end() const {
    return pixels.rbegin()->second;
  }
  const std::map<int64_t, int>& all() const {
    return pixels;
  }

private:
  std::map<int64_t, int> pixels;
};

class OneMemory {
public:
  OneMemory(const MemoryRows& memory, int top) : memory(memory) {
    shapes = words(5, top + textHeight,
                   memory.name + ": " + std::to_string(memory.used()) + " of " +
                       std::to_string(memory.capacity) + " bytes",
                   " font-weight=\"bold\"");
    placeBoxes(top + headHeight);
    for (size_t i = 0; i < boxes.size(); ++i)
      drawBox(i);
    for (size_t i = 0; i < boxes.size(); ++i)
      nameWithin(i);
    addLegend();
  }
  std::string shapes;
  int lower = 0;

private:
  void placeBoxes(int top) {
    const auto& rows = memory.rows;
    // What is never used shares its bytes with others, so it stands before them.
    int64_t first = INT64_MAX, last = 0;
    for (const BufferRow& row : rows)
      if (row.isUsed) {
        first = std::min(first, row.first);
        last = std::max(last, row.last + 1);
      }
    first = std::min(first, last);
    std::vector<int64_t> addresses = {0}, steps = {first, last};
    for (const BufferRow& row : rows) {
      addresses.insert(addresses.end(), {row.address, row.address + row.bytes});
      steps.insert(steps.end(),
                   {row.isUsed ? row.first : first - 1, row.isUsed ? row.last + 1 : first});
    }
    const int height = std::clamp(28 * static_cast<int>(rows.size()), 48, 170);
    const Scale down(addresses, top, height, leastHeight);
    constexpr int width = rightEdge - leftEdge;
    const Scale across(steps, 0, width / 2,
                       std::max(width / 2 / static_cast<int>(steps.size()), 1));
    const auto x = [&](int64_t step) {
      return leftEdge + across.of(step) * width / std::max(across.end(), 1);
    };
    for (const BufferRow& row : rows)
      boxes.push_back({x(row.isUsed ? row.first : first - 1), down.of(row.address),
                       x(row.isUsed ? row.last + 1 : first), down.of(row.address + row.bytes)});
    for (const auto& [address, y] : down.all())
      shapes += words(leftEdge - 6, y + 4, std::to_string(address),
                      " text-anchor=\"end\" fill=\"#666\" font-size=\"9\"");
    lower = down.end();
    shapes += "<rect" + placeAndSize({leftEdge, top, rightEdge, lower}) +
              " fill=\"none\" stroke=\"#999\"/>\n";
  }

  static std::string placeAndSize(const Rectangle& box) {
    return attribute("x", box.left) + attribute("y", box.upper) +
           attribute("width", std::max(box.right - box.left, 1)) +
           attribute("height", std::max(box.lower - box.upper, 1));
  }

  std::string fill(size_t number) const {
    return std::string(" fill=\"") + colors[number % std::size(colors)] + "\" stroke=\"#555\"";
  }

  std::string told(const BufferRow& row) const {
    return row.name + ": " + std::to_string(row.bytes) + " bytes from " +
           std::to_string(row.address) + (row.lines.empty() ? "" : ", " + row.lines);
  }

  void drawBox(size_t number) {
    shapes += "<rect" + placeAndSize(boxes[number]) + fill(number) + " fill-opacity=\"0.8\"" +
              (memory.rows[number].isUsed ? "" : " stroke-dasharray=\"3 2\"") + "><title>" +
              escaped(told(memory.rows[number])) + "</title></rect>\n";
  }

  /// The name in its box, where it fits and lies in no other.
  void nameWithin(size_t number) {
    const std::string& name = memory.rows[number].name;
    const Rectangle& box = boxes[number];
    const int width = letterWidth * static_cast<int>(name.size()) + 4;
    const int upper = (box.upper + box.lower - textHeight) / 2;
    const Rectangle place{box.left + 2, upper, box.left + 2 + width, upper + textHeight};
    const auto isInTheWay = [&](size_t other) {
      return other != number && place.meets(boxes[other]);
    };
    bool isFree = place.right <= box.right && upper >= box.upper;
    for (size_t other = 0; other < boxes.size(); ++other)
      isFree = isFree && !isInTheWay(other);
    hasName.push_back(isFree);
    if (isFree)
      shapes += words(place.left + 2, place.lower - 3, name);
  }

  /// Beside the memory all buffers in the order of their addresses, each with a line to its box if that has no name.
  void addLegend() {
    std::vector<size_t> order(boxes.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    const auto middleOf = [&](size_t i) { return (boxes[i].upper + boxes[i].lower) / 2; };
    std::ranges::sort(order, [&](size_t a, size_t b) {
      return std::tuple(middleOf(a), boxes[a].left, a) < std::tuple(middleOf(b), boxes[b].left, b);
    });
    int next = 0;
    for (const size_t number : order) {
      const int middle = std::max(middleOf(number), next);
      next = middle + leastHeight;
      const BufferRow& row = memory.rows[number];
      if (!hasName[number])
        shapes += "<polyline points=\"" + std::to_string(boxes[number].right) + "," +
                  std::to_string(middleOf(number)) + " " + std::to_string(rightEdge + 4) + "," +
                  std::to_string(middleOf(number)) + " " + std::to_string(legendEdge - 4) + "," +
                  std::to_string(middle) +
                  "\" fill=\"none\" stroke=\"#555\" stroke-width=\"0.7\"/>\n";
      shapes += "<rect" + placeAndSize({legendEdge, middle - 4, legendEdge + 8, middle + 4}) +
                fill(number) + "/>\n";
      const bool isLong = row.name.size() > mostLetters;
      const std::string name = isLong ? row.name.substr(0, mostLetters - 3) + "..." : row.name;
      shapes += words(legendEdge + 13, middle + 4,
                      name + ": " + std::to_string(row.bytes) + " bytes" +
                          (row.lines.empty() ? "" : ", " + row.lines));
      lower = std::max(lower, middle + leastHeight / 2);
    }
  }

  const MemoryRows& memory;
  std::vector<Rectangle> boxes;
  std::vector<bool> hasName;
};

} // namespace

int64_t MemoryRows::used() const {
  int64_t end = 0;
  for (const BufferRow& row : rows)
    end = std::max(end, row.address + row.bytes);
  return end;
}

std::string memoryPicture(const std::vector<MemoryRows>& memories) {
  std::string shapes;
  int top = 6;
  for (const MemoryRows& memory : memories) {
    const OneMemory picture(memory, top);
    shapes += picture.shapes;
    top = picture.lower + 14;
  }
  shapes += words(
      leftEdge, top + textHeight,
      "to the right the program of the core, downwards addresses in bytes; neither is to scale",
      " fill=\"#666\"");
  const std::string size =
      attribute("width", pictureWidth) + attribute("height", top + textHeight + 10);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + size +
         " font-family=\"sans-serif\" font-size=\"11\">\n<rect" + size + " fill=\"white\"/>\n" +
         shapes + "</svg>\n";
}

} // namespace tilewright::ascend
